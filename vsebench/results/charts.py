"""Charts of results: curves over k and slices, one panel each, as SVG for a page or files for a paper.

A panel is a list of numbers; Altair describes how it is drawn and vl-convert draws it, without a browser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import MissingPackage, UsageError, install, printable
from ..options import check_word
from ..relevance.sources import heading, in_folds
from ..types import Direction
from .model import ARROWS, Measurement, MetricName
from .table import arrow

COLOURS = ("#3b6fb6", "#c8553d", "#4a8c5f", "#8a6fc0", "#d08300", "#d95f8c", "#2e9c84", "#7d8a2e")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-left", "triangle-right")
FORMATS = ("svg", "png", "pdf")
DASHES = ([1, 0], [5, 3], [1.5, 2.5], [9, 3, 2, 3])  # of the lines of directions, in their order
WIDTH, HEIGHT = 330, 250
STEP, LABELS = 12, 90  # height of a system in a slice, and width of the labels of slices
INK = "#222222"
DEEPEST = 100  # k of a curve of recall
MIN_DEPTHS = 3  # depths of a curve
PADDING = {"left": 14, "top": 4, "right": 4, "bottom": 4}  # words are wider in other fonts
_NAME = 40  # characters of a name in a legend


@dataclass(frozen=True)
class Mark:
    """One number of one system.

    Attributes:
        system: index.
        x: k of a curve, or the label of a slice.
        value: fraction, or rank if the unit of the panel is not a fraction.
        interval: of the value, or None.
        group: the direction of a curve, or the heading of slices.
        dot: it is a point, not only one that the line of its curve passes.
    """

    system: int
    x: int | str
    value: float
    interval: tuple[float, float] | None = None
    group: str = ""
    dot: bool = True


@dataclass(frozen=True)
class Panel:
    """One chart.

    Attributes:
        name: of a file, such as ``gt-recall-k``.
        title: above it.
        kind: ``curve`` over k (on a logarithmic axis), or ``slices`` from top to bottom.
        x, y: titles of the axis of k or slices, and of the axis of values.
        marks: the numbers.
        percent: values are fractions, drawn times 100.
    """

    name: str
    title: str
    kind: Literal["curve", "slices"]
    x: str
    y: str
    marks: tuple[Mark, ...]
    percent: bool = True


def curves(results: Mapping[tuple[MetricName, Direction | None], Sequence[Measurement]]) -> list[Panel]:
    """A panel for every metric with values at three depths or more, with all its directions.

    Values of R@k are known for all k up to 100 where MedR was measured, from the ranks of its queries.

    Args:
        results: metric and direction -> one result a system.
    """
    groups: dict[tuple[str, str, bool, bool], list[Mark]] = {}
    recalls = {(m.view, way): found for (m, way), found in results.items() if m.template == "R@{k}"}
    for (metric, way), found in results.items():
        if way is None:
            continue
        if metric.k is not None:
            name, better, percent = metric.template.format(k="k"), metric.higher_is_better, metric.unit == "fraction"
            marks = [Mark(i, metric.k, r.value, r.interval, ARROWS[way]) for i, r in enumerate(found)]
        elif metric.template == "MedR" and not in_folds(metric.view):
            name, better, percent = "R@k", True, True
            marks = _recall(found, recalls.get((metric.view, way), found), ARROWS[way])
        else:
            continue
        groups.setdefault((metric.view, name, better, percent), []).extend(marks)
    panels = []
    for (view, name, better, percent), marks in groups.items():
        if len({mark.x for mark in marks}) >= MIN_DEPTHS:
            ways = list(dict.fromkeys(mark.group for mark in marks))
            title = " · ".join([name + arrow(better), heading(view), *(ways if len(ways) == 1 else [])])
            y = f"{name}{' × 100' * percent}"
            panels.append(Panel(file_of(view, name), title, "curve", "k", y, tuple(marks), percent))
    return panels


def _recall(medians: Sequence[Measurement], recalls: Sequence[Measurement], group: str) -> list[Mark]:
    """R@k for every k up to the largest rank, and up to 10: ``recalls`` also count queries without ranks."""
    ranks = [r.per_query for r in medians if r.per_query is not None]
    if len(ranks) < len(medians):
        return []
    deepest = int(min(DEEPEST, max(10, *(of.max() for of in ranks))))
    return [
        Mark(i, k, float((of <= k).sum() / recalls[i].n), None, group, dot=False)
        for i, of in enumerate(ranks)
        for k in range(1, deepest + 1)
    ]


def file_of(*words: str) -> str:
    """A name of a file: letters, digits and hyphens."""
    joined = "-".join(words).lower()
    return "-".join(filter(None, "".join(c if c.isascii() and c.isalnum() else "-" for c in joined).split("-")))


def missing() -> MissingPackage | None:
    """The package that charts lack, or None."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        return MissingPackage(f"charts need {error.name}", fix=install("report"))
    return None


def svg(panel: Panel, systems: Sequence[str]) -> str:
    """A panel for a page: lines and words take the colour of the text around it."""
    return _converted(_styled(_drawn(panel, systems, "currentColor"), "currentColor"), "svg").decode()


def write(panels: Sequence[Panel], systems: Sequence[str], folder: Path, kind: str) -> list[Path]:
    """Write one file per panel, with a legend for several systems; returns the files.

    Args:
        panels: the charts.
        systems: names.
        folder: of the files, which is made.
        kind: ``svg``, ``png`` (300 dots an inch) or ``pdf``.

    Raises:
        UsageError: another kind.
        MissingPackage: altair or vl-convert-python is not installed.
        DiskError: a file cannot be written.
    """
    check_word("figure_format", kind, FORMATS)
    if (lacking := missing()) is not None:
        raise lacking
    from ..files.atomic import make_folder, write_atomically

    make_folder(folder)
    written = [folder / f"{panel.name}.{kind}" for panel in panels]
    for panel, path in zip(panels, written, strict=True):
        with write_atomically(path) as stream:
            stream.write(_converted(plot([panel], systems), kind))
    return written


def _converted(drawn: Any, kind: str) -> bytes:
    """A file of an altair chart."""
    import vl_convert

    more = {"ppi": 300, "scale": 1} if kind == "png" else {}
    found = getattr(vl_convert, f"vegalite_to_{kind}")(json.dumps(drawn.to_dict()), **more)
    return found.encode() if isinstance(found, str) else bytes(found)


def plot(panels: Sequence[Panel], systems: Sequence[str]) -> Any:
    """All panels as one altair chart, two beside each other.

    Raises:
        UsageError: there are none.
        MissingPackage: altair is not installed.
    """
    if (lacking := missing()) is not None:
        raise lacking
    import altair as alt

    if not panels:
        what = f"there is nothing to draw: no metric has {MIN_DEPTHS} depths, and no slice has enough queries"
        raise UsageError(what, fix="evaluate a metric at more depths, such as R@1,R@5,R@10")
    drawn = [_drawn(panel, systems, INK) for panel in panels]
    return _styled(drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=2, spacing=28), INK)


def _drawn(panel: Panel, systems: Sequence[str], ink: str) -> Any:
    import altair as alt

    names = short_names(systems, _NAME)
    columns = max(1, WIDTH // (30 + 7 * max(map(len, names))))
    legend = alt.Legend(orient="top", title=None, symbolOpacity=1, labelLimit=WIDTH - 30, columns=columns)
    shown = legend if len(names) > 1 else None
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    colour = alt.Color("system:N", scale=alt.Scale(domain=names, range=colours), legend=shown, sort=names)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    shape = alt.Shape("system:N", scale=alt.Scale(domain=names, range=shapes), legend=shown, sort=names)
    head, _, below = printable(panel.title).partition(" · ")
    title = alt.TitleParams(
        head, anchor="start", fontSize=13, fontWeight=600, color=ink, limit=WIDTH,
        subtitle=[below] if below else [], subtitleColor=ink, subtitleFontSize=11,
    )  # fmt: skip
    data = alt.Data(values=[_row(mark, panel, names) for mark in panel.marks])
    layers = (_curve if panel.kind == "curve" else _slices)(panel, names, colour, shape)
    if panel.kind == "curve":
        return alt.layer(*layers, data=data).properties(title=title, width=WIDTH, height=HEIGHT)
    header = alt.Header(labelOrient="top", labelAnchor="start", labelPadding=2, labelFontSize=11, labelColor=ink)
    row = alt.Row("group:N", title=None, header=header, sort=[printable(mark.group) for mark in panel.marks])
    rows = (
        alt.layer(*layers)
        .properties(width=WIDTH - LABELS, height=alt.Step(min(STEP, 2 * STEP // len(names) + 2)))
        .facet(row=row, data=data)
    )
    return rows.resolve_scale(y="independent").properties(title=title, spacing=12)


def _curve(panel: Panel, names: Sequence[str], colour: Any, shape: Any) -> list[Any]:
    """Lines, dashed from the second direction on, with points and their intervals."""
    import altair as alt

    every, measured = ([m.x for m in panel.marks if m.dot in dots] for dots in ((True, False), (True,)))
    ticks = {int(k) for k in measured} | {10**i for i in range(7) if 10**i <= max(map(int, every))}
    x = alt.X(
        "x:Q", title=panel.x, scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(values=sorted(ticks), format="d", grid=False),
    )  # fmt: skip
    y, low = (alt.Y(f"{name}:Q", title=printable(panel.y), scale=alt.Scale(zero=False)) for name in ("value", "low"))
    ways = list(dict.fromkeys(mark.group for mark in panel.marks))
    dashes = alt.Legend(orient="bottom-right", title=None, symbolType="stroke", symbolSize=500, offset=6)
    dash = alt.StrokeDash(
        "group:N", sort=ways, scale=alt.Scale(domain=ways, range=list(DASHES[: len(ways)])),
        legend=dashes if len(ways) > 1 else None,
    )  # fmt: skip
    base = alt.Chart()
    points = base.transform_filter("datum.dot")
    return [
        base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour, strokeDash=dash),
        points.mark_rule(strokeWidth=2, opacity=0.4).encode(x=x, y=low, y2="high:Q", color=colour),
        points.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
    ]


def _slices(panel: Panel, names: Sequence[str], colour: Any, shape: Any) -> list[Any]:
    """Points with their intervals, a row a slice."""
    import altair as alt

    order = list(dict.fromkeys(printable(str(mark.x)) for mark in panel.marks))
    y = alt.Y("x:N", title=None, sort=order, axis=alt.Axis(labelLimit=170, grid=True, ticks=False))
    beside = alt.YOffset("system:N", sort=names, scale=alt.Scale(domain=list(names)))
    axis = {"title": printable(panel.y), "scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=6)}
    x, low = alt.X("value:Q", **axis), alt.X("low:Q", **axis)
    base = alt.Chart()
    return [
        base.mark_rule(strokeWidth=2, opacity=0.4).encode(x=low, x2="high:Q", y=y, yOffset=beside, color=colour),
        base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, yOffset=beside, color=colour, shape=shape),
    ]


def _styled(drawn: Any, ink: str) -> Any:
    font = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
    paper = "transparent" if ink == "currentColor" else "white"
    return (
        drawn.configure(font=font, background=paper, aria=False, padding=PADDING)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink, titleColor=ink, domainColor=ink, tickColor=ink, gridColor=ink, gridOpacity=0.12,
            domainOpacity=0.5, tickOpacity=0.5, labelFontSize=11, titleFontSize=11, titleFontWeight="normal",
            titlePadding=9,
        )
        .configure_legend(labelColor=ink, labelFontSize=11)
    )  # fmt: skip


def _row(mark: Mark, panel: Panel, names: Sequence[str]) -> dict[str, Any]:
    times = 100 if panel.percent else 1
    low, high = mark.interval or (mark.value, mark.value)
    return {
        "system": names[mark.system], "x": mark.x if panel.kind == "curve" else printable(str(mark.x)),
        "value": times * mark.value, "low": times * low, "high": times * high, "group": printable(mark.group),
        "dot": mark.dot,
    }  # fmt: skip


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Names as they may be shown, at most so long, and different: two that are cut to the same text get a number."""
    short = [name if len(name := printable(n)) <= most else f"{name[: most - 1]}…" for n in names]
    return [name if short.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(short)]
