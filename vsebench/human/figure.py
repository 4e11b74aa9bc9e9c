"""Correlations with human judgements as a figure: a panel for every set of pairs, a point with an interval each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, printable
from ..options import spell
from ..results.charts import converted, missing
from .correlation import COEFFICIENTS, Row, Study, interval_note, label

SUFFIXES = (".png", ".svg", ".html")
COLOURS = ["#3b6fb6", "#c8553d", "#4a8c5f"]


def check_path(path: Path) -> Path:
    """``path`` if a figure can be written there.

    Raises:
        UsageError: another ending, or a folder that does not exist.
        MissingPackage: altair or vl-convert-python is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"figures end in {', '.join(SUFFIXES)}", where=path, fix="end the name in .png, .svg or .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix=f"create {path.parent} first")
    if (lacking := missing()) is not None:
        raise lacking
    return path


def write(study: Study, path: Path) -> None:
    """Draw a study to a path that ``check_path`` accepts, atomically."""
    from ..files.atomic import write_atomically

    kind = path.suffix.lower()[1:]
    content = converted(chart(study).to_json(), kind, scale=2)
    with write_atomically(path) as stream:
        stream.write(_without_tags(content.decode()).encode() if kind == "html" else content)


def _without_tags(page: str) -> str:
    """A page whose script has no ``<`` in its data: a name could end the script."""
    start = page.index("{", page.index("spec ="))
    spec, length = json.JSONDecoder().raw_decode(page[start:])
    return page[:start] + json.dumps(spec).replace("<", "\\u003c") + page[start + length :]


def chart(study: Study) -> Any:
    """An altair chart: a panel for every set of pairs, a line for every relevance, colours for the coefficients.

    Raises:
        UsageError: no correlation is defined.
    """
    import altair as alt

    kinds = [name.split(" ")[0] for name in COEFFICIENTS.values()]
    panels = {title: _marks(rows, kinds) for title, rows in study.groups().items()}
    panels = {title: points for title, points in panels.items() if points}
    if not panels:
        raise UsageError("no correlation is defined, so there is nothing to draw", fix=f"leave {spell('figure')} out")
    charts: list[Any] = []
    for title, points in panels.items():
        last = len(charts) == len(panels) - 1
        scale = alt.Scale(zero=False, nice=True)
        x = {"title": "correlation × 100" if last else None, "scale": scale}
        base = alt.Chart(alt.Data(values=points)).encode(
            y=alt.Y("relevance:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False)),
            yOffset=alt.YOffset("coefficient:N", sort=kinds, scale=alt.Scale(paddingOuter=0.5)),
            color=alt.Color(
                "coefficient:N", title=None, scale=alt.Scale(domain=kinds, range=COLOURS),
                legend=alt.Legend(orient="top", symbolOpacity=1),
            ),
        )  # fmt: skip
        bars = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", **x), x2="high:Q")
        dots = base.mark_point(filled=True, size=28, opacity=1).encode(x=alt.X("value:Q", **x))
        heading = alt.TitleParams(printable(title), anchor="start", fontSize=12, fontWeight="normal")
        charts.append(alt.layer(bars, dots).properties(title=heading, width=440, height=alt.Step(9)))
    below = f"Bars: {interval_note(study)}" if study.level is not None else ""
    title = alt.TitleParams(study.title, subtitle=below, anchor="start", offset=12)
    both = alt.vconcat(*charts, spacing=14, title=title)
    return both.resolve_scale(x="shared").configure_view(stroke="#d0d0d0").configure_axisX(gridColor="#ececec")


def _marks(rows: Sequence[Row], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """The marks of one panel; coefficients that are undefined have none."""
    return [
        {
            "relevance": printable(label(row.relevance)),
            "coefficient": kind,
            "value": 100 * c.value,
            "low": 100 * (c.interval[0] if c.interval else c.value),
            "high": 100 * (c.interval[1] if c.interval else c.value),
        }
        for row in rows
        for kind, c in zip(kinds, (row.coefficients[name] for name in COEFFICIENTS), strict=True)
        if c.value is not None
    ]
