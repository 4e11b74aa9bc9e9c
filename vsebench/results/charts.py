"""Charts of results: curves over k and bars, one panel each, as SVG for a page or files for a paper.

A panel is a list of numbers; Altair describes how it is drawn and vl-convert draws it, without a browser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import MissingPackage, UsageError, printable
from ..options import check_word
from ..relevance.sources import SOURCES
from ..types import Direction
from .format import ARROWS
from .model import MetricName

COLOURS = ("#3b6fb6", "#c8553d", "#4a8c5f", "#8a6fc0", "#d08300", "#d95f8c", "#2e9c84", "#7d8a2e")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-left", "triangle-right")
FORMATS = ("svg", "png", "pdf")
WIDTH, HEIGHT = 330, 190
INK = "#222222"
_NAME = 40  # characters of a name in a legend
_LINES = r"split(datum.label, '\n')"  # of the label of a group of bars
Ends = tuple[float, float] | None
Points = Mapping[tuple[MetricName, Direction | None], Sequence[tuple[float, Ends]]]


@dataclass(frozen=True)
class Mark:
    """One number of one system.

    Attributes:
        system: index.
        x: k of a curve; the label of a group of bars.
        value: fraction, or rank where the unit of the panel is no fraction.
        interval: of the value, or None.
        n: queries of a group of bars, printed below its label; None where they are not counted.
    """

    system: int
    x: int | str
    value: float
    interval: tuple[float, float] | None = None
    n: int | None = None


@dataclass(frozen=True)
class Panel:
    """One chart.

    Attributes:
        name: of a file, such as ``gt-recall-i2t``.
        title: above it.
        kind: ``curve`` over k (on a logarithmic axis), or groups of ``bars``.
        x, y: titles of the axes.
        marks: the numbers.
        percent: values are fractions, drawn times 100.
    """

    name: str
    title: str
    kind: Literal["curve", "bars"]
    x: str
    y: str
    marks: tuple[Mark, ...]
    percent: bool = True


def heading(view: str) -> str:
    """A source of relevance, as charts and tables call it."""
    return SOURCES[view].title if view in SOURCES else view


def curves(points: Points) -> list[Panel]:
    """A panel for every metric that was measured for several k, in every direction.

    Args:
        points: metric and direction -> (value, interval or None) of every system.
    """
    groups: dict[tuple[str, str, Direction], list[MetricName]] = {}
    for metric, direction in points:
        if metric.k is not None and direction is not None:
            groups.setdefault((metric.view, metric.template, direction), []).append(metric)
    panels = []
    for (view, template, way), group in groups.items():
        group.sort(key=lambda metric: metric.k or 0)
        if len(group) < 2:
            continue
        marks = tuple(Mark(i, m.k or 0, *point) for m in group for i, point in enumerate(points[m, way]))
        name, unit = template.format(k="k"), group[0].unit
        arrow = "" if group[0].higher_is_better else " ↓"
        y = f"{name} × 100" if unit == "fraction" else name
        title = f"{name}{arrow} · {heading(view)} · {ARROWS[way]}"
        panels.append(Panel(file_of(view, name, way), title, "curve", "k", y, marks, unit == "fraction"))
    return panels


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
        return MissingPackage(f"charts need {error.name}", fix="pip install 'vsebench[report]'")
    return None


def svg(panel: Panel, systems: Sequence[str]) -> str:
    """A panel for a page: lines and words take the colour of the text around it."""
    return converted(json.dumps(chart(panel, systems, ink="currentColor").to_dict()), "svg").decode()


def write(panels: Sequence[Panel], systems: Sequence[str], folder: Path, kind: str) -> list[Path]:
    """One file a panel, with a legend where there are several systems; the files written.

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
    from ..files.atomic import check_writable, make_folder, write_atomically

    make_folder(folder)
    written = []
    for panel in panels:
        spec = json.dumps(chart(panel, systems, ink=INK).to_dict())
        path = folder / f"{panel.name}.{kind}"
        check_writable(path)
        with write_atomically(path) as stream:
            stream.write(converted(spec, kind, ppi=300, scale=1))
        written.append(path)
    return written


def converted(spec: str, kind: str, **resolution: float) -> bytes:
    """A file of a chart; the resolution is that of PNG, see ``vl_convert.vegalite_to_png``."""
    import vl_convert

    found = getattr(vl_convert, f"vegalite_to_{kind}")(spec, **(resolution if kind == "png" else {}))
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
        what = "there is nothing to draw: no metric was measured for several k, and no slice has enough queries"
        raise UsageError(what, fix="evaluate more metrics, such as R@1,R@5,R@10")
    drawn = [_drawn(panel, systems, INK) for panel in panels]
    return _styled(drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=2, spacing=28), INK)


def chart(panel: Panel, systems: Sequence[str], *, ink: str) -> Any:
    """A panel as an altair chart, with a legend of several systems; ``ink`` is the colour of lines and words."""
    return _styled(_drawn(panel, systems, ink), ink)


def _drawn(panel: Panel, systems: Sequence[str], ink: str) -> Any:
    import altair as alt

    names = short_names(systems, _NAME)
    rows = [_row(mark, panel, names) for mark in panel.marks]
    base = alt.Chart(alt.Data(values=rows))
    columns = max(1, WIDTH // (30 + 7 * max(map(len, names))))
    legend = alt.Legend(orient="top", title=None, symbolOpacity=1, labelLimit=WIDTH - 30, columns=columns)
    shown = legend if len(names) > 1 else None
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    colour = alt.Color("system:N", scale=alt.Scale(domain=names, range=colours), legend=shown, sort=names)
    axis = {"title": printable(panel.y), "scale": alt.Scale(zero=panel.kind == "bars", nice=True)}
    y, low = alt.Y("value:Q", **axis), alt.Y("low:Q", **axis)
    if panel.kind == "curve":
        ks = sorted({mark.x for mark in panel.marks}, key=int)
        x = alt.X(
            "x:Q", title=panel.x, scale=alt.Scale(type="log", nice=False, padding=12),
            axis=alt.Axis(values=ks, format="d", grid=False),
        )  # fmt: skip
        shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
        shape = alt.Shape("system:N", scale=alt.Scale(domain=names, range=shapes), legend=shown, sort=names)
        layers = [
            base.mark_rule(strokeWidth=2, opacity=0.4).encode(x=x, y=low, y2="high:Q", color=colour),
            base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour),
            base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
        ]
    else:
        order = list(dict.fromkeys(_label(mark) for mark in panel.marks))
        x = alt.X(
            "x:N", title=printable(panel.x), sort=order, scale=alt.Scale(paddingInner=0.22),
            axis=alt.Axis(labelAngle=0, labelOverlap=True, labelLimit=90, labelExpr=_LINES, grid=False),
        )  # fmt: skip
        beside = alt.XOffset("system:N", sort=names, scale=alt.Scale(domain=names, paddingInner=0.06))
        bars = base.mark_bar().encode(x=x, y=y, xOffset=beside, color=colour)
        rules = base.mark_rule(strokeWidth=1.2, color=ink, opacity=0.75)
        layers = [bars, rules.encode(x=x, y=low, y2="high:Q", xOffset=beside)]
    head, _, below = printable(panel.title).partition(" · ")
    title = alt.TitleParams(
        head, anchor="start", fontSize=13, fontWeight=600, color=ink, limit=WIDTH,
        subtitle=[below] if below else [], subtitleColor=ink, subtitleFontSize=11,
    )  # fmt: skip
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)


def _styled(drawn: Any, ink: str) -> Any:
    font = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
    paper = "transparent" if ink == "currentColor" else "white"
    return (
        drawn.configure(font=font, background=paper, aria=False, padding=4)
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
    x = mark.x if panel.kind == "curve" else _label(mark)
    return {"system": names[mark.system], "x": x, "value": times * mark.value, "low": times * low, "high": times * high}


def _label(mark: Mark) -> str:
    """The label of a group of bars; a long one, such as "7.8 to below 9.4", takes two lines, and its queries one."""
    text = printable(str(mark.x))
    if len(text) > 9:
        text = text.replace(" to below ", " to\n< ").replace(" to ", " to\n")
    return text if mark.n is None else f"{text}\n({mark.n:,})"


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Names as they may be shown, at most so long, and different: two that are cut to the same text get a number."""
    short = [name if len(name := printable(n)) <= most else f"{name[: most - 1]}…" for n in names]
    return [name if short.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(short)]
