"""``vsebench metrics``: every metric with its formula, range, direction and source."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from .talk import Json, NoProgress, Quiet, Talk, cells, command


@command
def run(
    name: Annotated[str | None, typer.Argument(help="A metric, as in --metrics; all of them without it.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """List the metrics, or explain one."""
    talk = Talk(as_json, quiet, no_progress)
    from ..metrics import FAMILIES, GRADED, GRADED_FAMILIES, REGISTRY, VIEWS, WHOLE, parse
    from ..relevance.graded import GRADED as RELEVANCES

    graded_views = {g.name: f"{g.title}; needs {g.needs}" for g in RELEVANCES.values()}
    graded_views["matrix"] = "a file of gains; needs --gains FILE.npy"
    views = VIEWS | graded_views
    if name is not None:
        metric = parse(name)
        if metric.view not in views:
            from ..registry import unknown

            raise unknown("view", metric.view, views)
        facts = {"metric": str(metric), **_facts(metric.family), "view": views[metric.view]}
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
                "views": VIEWS,
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
        ("views, put in front of a name as in eccv:R@1", VIEWS),
        ("views of graded relevance; cider when none is named, or the first of --gains", graded_views),
        ("words for --metrics", {k: ", ".join(v) for k, v in families.items()} | WHOLE),
    ):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", show_header=False)
        for key, value in rows.items():
            table.add_row(*cells(key, value))
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
