"""``vsebench metrics``: every metric with its formula, range, direction and source."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .terminal import Terminal, listing

if TYPE_CHECKING:
    from ..metrics import Metric
    from ..results.table import Table

ANY_K = 10


def run(terminal: Terminal, names: Sequence[str]) -> None:
    """List the metrics, or explain some, or a suite of them.

    Args:
        names: metrics or suites, as for --metrics; lists all metrics by default.
    """
    from ..metrics import families
    from ..metrics.declare import HUBNESS, separate
    from ..metrics.suites import ALL, INTRA, SUITES
    from ..relevance.sources import judgements, kinds_of_gains

    judged = {j.name: j.meaning for j in judgements().values()}
    gains = {g.name: f"{g.title}, written {g.form}; needs {g.needs}" for g in kinds_of_gains().values()}
    lists = [_facts(f) for f in families() if f.of_lists]
    views = {**judged, **gains, HUBNESS: "none: they count what is retrieved, relevant or not"}
    if names:
        found = [_about(word, views) for name in names for word in separate(name) or [name]]
        terminal.answer(
            found[0] if len(found) == 1 else found,
            *(_explained_suite(facts) if "family" in facts else _explained(facts) for facts in found),
        )
        return
    binary, graded = ([_facts(f) for f in families(graded=g)] for g in (False, True))
    suites = {s.name: s.metrics for s in SUITES.values()}
    document = {
        "metrics": binary,
        "graded_metrics": graded,
        "hubness_metrics": lists,
        "views": judged,
        "graded_views": gains,
        "families": {k: list(v) for k, v in suites.items() if k != INTRA},
    }
    described = {k: ", ".join(v) for k, v in suites.items() if k != INTRA} | {INTRA: SUITES[INTRA].meaning}
    tables = [
        listing(
            ("name", "also", "range", "better", "formula"),
            [(f["name"], ", ".join(f["aliases"]), f["range"], f["better"], f["formula"]) for f in listed],
            title,
        )
        for title, listed in (
            ("metrics of binary judgements", binary),
            ("graded metrics, as in cider:NCS@10; options in brackets, as in CS[tau=a]@100", graded),
            ("metrics of hubness, without relevance", lists),
        )
    ]
    of_gains = "put in front of a graded metric (default: the first of --gains, else cider)"
    tables += [
        listing((word, "meaning"), meanings.items(), title)
        for word, title, meanings in (
            ("view", "views, put in front of a name as in eccv:R@1", judged),
            ("gains", f"kinds of gains, {of_gains}", gains),
            ("word", "words for --metrics", described | ALL),
        )
    ]
    terminal.answer(document, *tables)


def _about(word: str, views: Mapping[str, str]) -> dict[str, Any]:
    """The facts of a metric, or of a suite, which has the key ``family``."""
    suite = _suite(word, views)
    if suite is not None:
        return suite
    metric, written = _metric(word)
    return {"metric": written, **_facts(metric.family), "view": _known(metric.view, views)}


def _metric(word: str) -> tuple[Metric, str]:
    """A metric and its name; any of its ks stands for it where the word has none, as in ``R@k`` and ``MLD``."""
    from ..errors import UsageError
    from ..evaluation.request import refuse_gains
    from ..metrics import parse

    refuse_gains(word.strip())
    try:
        metric = parse(word)
    except UsageError:
        stem, at, tail = word.strip().partition("@")
        if at and tail not in ("k", "K", "{k}"):
            raise
        try:
            metric = parse(f"{stem}@{ANY_K}")
        except UsageError:
            pass
        else:
            return metric, str(metric).replace(f"@{ANY_K}", "@k")
        raise
    return metric, str(metric)


def _known(view: str, views: Mapping[str, str]) -> str:
    """The meaning of a view."""
    if view not in views:
        from ..errors import unknown

        raise unknown("view", view, views)
    return views[view]


def _suite(word: str, views: Mapping[str, str]) -> dict[str, Any] | None:
    """The metrics of a word of ``--metrics`` that is no metric, None when it is one."""
    from ..evaluation.intra import THRESHOLD
    from ..evaluation.plan import suits
    from ..metrics import parse
    from ..metrics.declare import DEFAULT_GAINS
    from ..metrics.suites import ALL, INTRA, SUITES, expand, members
    from ..relevance import judgements

    word = word.strip()
    lower = word.lower()
    if lower in ALL:
        found = expand(lower, list(judgements()), [DEFAULT_GAINS], lambda metric: suits(metric, {}))
        each, gains = "those of the split, here of coco-5k", f"{DEFAULT_GAINS}, or those of --gains"
        through = {"all": f"{each}; {gains}", "binary": each, "graded": gains}[lower]
        return {"family": lower, "meaning": ALL[lower], "view": through, "metrics": [str(m) for m in found]}
    names = members(word)
    if names is None:
        return None
    view, _, stem = word.rpartition(":")
    suite = SUITES[stem.lower()]
    through = _known(view or parse(names[0]).view, views)
    if suite.name == INTRA:
        ratings = " and ".join(f"{at:g} between {side}s" for side, at in THRESHOLD.items())
        through = f"Crisscrossed Captions ratings of at least {ratings}; the query itself is not a candidate"
    elif not view and suite.graded:
        through = f"{DEFAULT_GAINS}, or the first of --gains ({DEFAULT_GAINS}: {through})"
    name = f"{view}:{suite.name}" if view else suite.name
    return {"family": name, "meaning": suite.meaning, "view": through, "metrics": list(names)}


def _explained_suite(facts: dict[str, Any]) -> Table:
    from ..metrics import parse
    from ..metrics.suites import ALL

    rows = [(key, facts[key]) for key in ("meaning", "view")]
    if facts["family"] in ALL:  # too many for a line each
        by_view: dict[str, list[str]] = {}
        for name in facts["metrics"]:
            by_view.setdefault(parse(name).view, []).append(name)
        rows += [(view, ", ".join(names)) for view, names in by_view.items()]
    else:
        rows += [(name, parse(name).family.formula) for name in facts["metrics"]]
    return listing(("suite", facts["family"]), rows)


def _facts(family: Any) -> dict[str, Any]:
    from ..metrics.declare import DEPTHS

    high = (
        "no bound"
        if family.unit in ("distance", "number")
        else "gallery"
        if family.high is None
        else f"{family.high:g}"
    )
    return {
        "name": family.template.replace("{k}", "k"),
        "aliases": [a.replace("{k}", "k") for a in family.aliases],
        "range": f"{family.low:g} to {high}".replace("-inf", "no bound"),
        "better": "higher" if family.higher_is_better else "lower",
        "unit": family.unit,
        "formula": family.formula,
        "usual_k": list(family.ks),
        "looks_at": DEPTHS[family.depth],
        "options": {
            key: {"values": [*o.words, *(["an integer"] if o.number else [])], "meaning": o.formula}
            for key, o in family.options.items()
        },
        "definition": inspect.cleandoc(family.doc),
        "cite": list(family.cite),
    }


def _explained(facts: dict[str, Any]) -> Table:
    shown = {key: facts[key] for key in ("formula", "range", "better", "unit")}
    shown |= {"usual k": ", ".join(map(str, facts["usual_k"])), "looks at": facts["looks_at"]}
    shown |= {f"[{name}=...]": f"{', '.join(o['values'])}: {o['meaning']}" for name, o in facts["options"].items()}
    shown |= {"view": facts["view"], "cite": ", ".join(facts["cite"])}
    paragraphs = [" ".join(one.split()) for one in facts["definition"].replace("``", "").split("\n\n")]
    rows = [(key, text) for key, text in shown.items() if text]
    return listing(("metric", facts["metric"]), rows, notes=tuple(paragraphs))
