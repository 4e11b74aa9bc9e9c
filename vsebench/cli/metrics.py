"""``vsebench metrics``: every metric with its formula, range, direction and source."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from .talk import Json, NoProgress, Quiet, Talk, cells, command


@command
def run(
    name: Annotated[
        str | None, typer.Argument(help="A metric or a family, as in --metrics; all of them without it.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """List the metrics, or explain one, or a family of them."""
    talk = Talk(as_json, quiet, no_progress)
    from ..errors import UsageError
    from ..evaluation.measure import INTRA
    from ..metrics import FAMILIES, GRADED, GRADED_FAMILIES, MEANINGS, REGISTRY, WHOLE, parse
    from ..metrics.declare import separate
    from ..relevance import JUDGEMENTS
    from ..relevance.kinds import GAINS

    binary_views = {name: judgements.meaning for name, judgements in JUDGEMENTS.items()}
    graded_views = {name: f"{kind.title}; needs {kind.needs}" for name, kind in GAINS.items()}
    views = binary_views | graded_views
    if name is not None:
        named = separate(name)
        if len(named) > 1:
            raise UsageError(f"'{name}' are {len(named)} names", fix=f"give one at a time: vsebench metrics {named[0]}")
        family = _family(name, views)
        if family is not None:
            talk.emit(family) if talk.json else _explain_family(family, talk)
            return
        metric = parse(name)
        facts = {"metric": str(metric), **_facts(metric.family), "view": _known(metric.view, views)}
        if talk.json:
            talk.emit(facts)
        else:
            _explain(facts, talk)
        return
    metrics, graded = [_facts(f) for f in REGISTRY], [_facts(f) for f in GRADED]
    families = FAMILIES | GRADED_FAMILIES
    if talk.json:
        talk.emit(
            {
                "metrics": metrics,
                "graded_metrics": graded,
                "views": binary_views,
                "graded_views": graded_views,
                "families": {k: list(v) for k, v in families.items()},
            }
        )
        return
    from rich import box
    from rich.table import Table

    for title, listed in (
        ("metrics of who is relevant", metrics),
        ("metrics of how relevant, as in cider:NCS@10; options in brackets, as in CS\\[tau=a]@100", graded),
    ):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
        for heading in ("name", "also", "range", "better", "formula"):
            table.add_column(heading)
        for f in listed:
            table.add_row(*cells(f["name"], ", ".join(f["aliases"]), f["range"], f["better"], f["formula"]))
        talk.out.print(table)
    for title, rows in (
        ("views, put in front of a name as in eccv:R@1", binary_views),
        ("views of graded relevance; cider when none is named, or the first of --gains", graded_views),
        ("words for --metrics", _words(families) | {INTRA: MEANINGS[INTRA]} | WHOLE),
    ):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", show_header=False)
        for key, value in rows.items():
            table.add_row(*cells(key, value))
        talk.out.print(table)


def _words(families: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: ", ".join(members) for name, members in families.items()}


def _known(view: str, views: Mapping[str, str]) -> str:
    """What a view is."""
    if view not in views:
        from ..registry import unknown

        raise unknown("view", view, views)
    return views[view]


def _family(word: str, views: Mapping[str, str]) -> dict[str, Any] | None:
    """What a word of ``--metrics`` stands for, None when it is no family."""
    from ..evaluation.graded import KNOWN, suits
    from ..evaluation.intra import METRICS, THRESHOLD, VIEW
    from ..evaluation.measure import INTRA
    from ..metrics import GRADED_FAMILIES, MEANINGS, WHOLE, expand, members, parse
    from ..metrics.declare import DEFAULT_GAINS
    from ..relevance import JUDGEMENTS

    word = word.strip()
    lower = word.lower()
    if lower in WHOLE:
        held = expand(lower, list(JUDGEMENTS), [DEFAULT_GAINS], KNOWN, lambda metric: suits(metric, {}))
        each, gains = "those of the split, here of coco-5k", f"{DEFAULT_GAINS}, or those of --gains"
        through = {"all": f"{each}; {gains}", "binary": each, "graded": gains}[lower]
        return {"family": lower, "meaning": WHOLE[lower], "view": through, "metrics": [str(m) for m in held]}
    names = tuple(f"{VIEW}:{name}" for name in METRICS) if lower == INTRA else members(word)
    if names is None:
        return None
    view, _, stem = word.rpartition(":")
    through = _known(view or parse(names[0]).view, views)
    if lower == INTRA:
        ratings = " and ".join(f"{at:g} between {side}s" for side, at in THRESHOLD.items())
        through = f"Crisscrossed Captions ratings of at least {ratings}; the query itself does not compete"
    elif not view and stem.lower() in GRADED_FAMILIES:
        through = f"{DEFAULT_GAINS}, or the first of --gains ({DEFAULT_GAINS}: {through})"
    family = f"{view}:{stem.lower()}" if view else lower
    return {"family": family, "meaning": MEANINGS[stem.lower()], "view": through, "metrics": list(names)}


def _explain_family(facts: dict[str, Any], talk: Talk) -> None:
    from rich.table import Table

    from ..metrics import WHOLE, parse

    table = Table.grid(padding=(0, 2))
    for key in ("family", "meaning", "view"):
        table.add_row(*cells(key, facts[key]))
    if facts["family"] in WHOLE:  # too many for a line each
        by_view: dict[str, list[str]] = {}
        for name in facts["metrics"]:
            by_view.setdefault(parse(name).view, []).append(name)
        for view, names in by_view.items():
            table.add_row(*cells(view, ", ".join(names)))
    else:
        for name in facts["metrics"]:
            table.add_row(*cells(name, parse(name).family.formula))
    talk.out.print(table)


def _facts(family: Any) -> dict[str, Any]:
    from ..metrics.declare import DEPTHS

    high = "no bound" if family.unit == "distance" else "gallery" if family.high is None else f"{family.high:g}"
    return {
        "name": family.template.replace("{k}", "k"),
        "aliases": [a.replace("{k}", "k") for a in family.aliases],
        "range": f"{family.low:g} to {high}",
        "better": "higher" if family.higher_is_better else "lower",
        "unit": family.unit,
        "formula": family.formula,
        "looks_at": DEPTHS[family.depth],
        "options": {
            key: {"values": [*o.words, *(["a whole number"] if o.number else [])], "meaning": o.formula}
            for key, o in family.options.items()
        },
        "definition": inspect.cleandoc(family.doc),
        "cite": list(family.cite),
    }


def _explain(facts: dict[str, Any], talk: Talk) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for key in ("metric", "formula", "range", "better", "unit", "looks_at", "view", "definition", "cite"):
        value = facts[key]
        if key == "view":
            for option, o in facts["options"].items():
                table.add_row(*cells(f"[{option}=...]", f"{', '.join(o['values'])}: {o['meaning']}"))
        table.add_row(*cells(key.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value)))
    talk.out.print(table)
