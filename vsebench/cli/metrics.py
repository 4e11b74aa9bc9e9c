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
    from ..metrics import FAMILIES, REGISTRY, VIEWS, parse

    if name is not None:
        metric = parse(name)
        if metric.view not in VIEWS:
            from ..registry import unknown

            raise unknown("view", metric.view, VIEWS)
        facts = {"metric": str(metric), **_facts(metric.family), "view": VIEWS[metric.view]}
        if talk.json:
            talk.emit(facts)
        else:
            _explain(facts, talk)
        return
    metrics = [_facts(f) for f in REGISTRY]
    if talk.json:
        talk.emit({"metrics": metrics, "views": VIEWS, "families": {k: list(v) for k, v in FAMILIES.items()}})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="metrics", title_justify="left")
    for heading in ("name", "also", "range", "better", "formula"):
        table.add_column(heading)
    for f in metrics:
        table.add_row(*cells(f["name"], ", ".join(f["aliases"]), f["range"], f["better"], f["formula"]))
    talk.out.print(table)
    for title, rows in (
        ("views, put in front of a name as in eccv:R@1", VIEWS),
        ("families for --metrics", {k: ", ".join(v) for k, v in FAMILIES.items()}),
    ):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", show_header=False)
        for key, value in rows.items():
            table.add_row(*cells(key, value))
        talk.out.print(table)


def _facts(family: Any) -> dict[str, Any]:
    from ..metrics.declare import DEPTHS

    high = "gallery" if family.high is None else f"{family.high:g}"
    return {
        "name": family.template.replace("{k}", "k"),
        "aliases": [a.replace("{k}", "k") for a in family.aliases],
        "range": f"{family.low:g} to {high}",
        "better": "higher" if family.higher_is_better else "lower",
        "unit": family.unit,
        "formula": family.formula,
        "looks_at": DEPTHS[family.depth],
        "definition": inspect.cleandoc(family.doc),
        "cite": list(family.cite),
    }


def _explain(facts: dict[str, Any], talk: Talk) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for key in ("metric", "formula", "range", "better", "unit", "looks_at", "view", "definition", "cite"):
        value = facts[key]
        table.add_row(*cells(key.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value)))
    talk.out.print(table)
