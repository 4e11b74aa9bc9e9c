"""The figures of the study (Altair, SVG) and the tables of its page, from the stored numbers alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.validity.findings import EVEN, EVEN_FAMILIES, JUDGED_BY
from studies.validity.systems import FAMILIES, MIXED
from vsebench.files.atomic import write_atomically

STORED = Path(__file__).resolve().parents[2] / "leaderboards/studies/metric_validity.json"
Record = dict[str, Any]
# Okabe and Ito's colours, which differ for colour-blind readers, and a shape each.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
TEXT = 13  # font size in px

TITLES = {
    "noise": "noise", "removed": "missing attributes", "popularity": "popularity bias", "hubness": "hubness",
    "vague": "bias to vague captions", "pair": "overfitting to the pairs",
}  # fmt: skip
OF_GAINS = ("NCS@10", "NCS[gt=out]@10", "nDCG@10", "SR@10", "CS@100", "Kendall")
# Rows of figures: judged by the written captions, by simulated ratings, by pooled judgements, by what is true; gains.
ROWS = (
    *("R@1", "R@5", "R@10", "RSum", "MRR", "mAP@R", "MedR", "MeanR"),
    *("judged:R@1", "judged:mAP@R", "pooled:R@1", "pooled:mAP@R", "entails:R@1", "entails:R-P", "entails:mAP@R"),
    *(f"{gains}:{name}" for gains in ("cider", "holds", "match") for name in OF_GAINS),
)
METRICS = (  # rows of the table
    "R@1", "RSum", "mAP@R", "MedR", "MeanR", "judged:mAP@R", "pooled:mAP@R", "entails:mAP@R", "cider:NCS@10",
    "cider:NCS[gt=out]@10", "cider:CS@100", "cider:Kendall", "holds:NCS@10", "match:NCS@10", "match:Kendall",
)  # fmt: skip
QUALITIES = {
    "holds of the first": "mean holds of the first", "holds of ten": "mean holds of the first ten",
    "true of ten": "true ones of the first ten", "match of ten": "mean match of the first ten",
}  # fmt: skip
HEADS = {
    "noise": " |noise", "removed": "missing|attributes", "popularity": "popularity|bias", "hubness": " |hubness",
    "vague": "bias to|vague captions", "pair": "overfitting|to the pairs", MIXED: "across|families",
}  # fmt: skip
LINES = {JUDGED_BY: QUALITIES[JUDGED_BY]}
LINES |= {name: name for name in ("R@1", "entails:mAP@R", "cider:NCS@10", "cider:NCS[gt=out]@10")}


def write(record: Record, folder: Path) -> None:
    """Draw all figures of a document into a folder, ``metric_validity_NAME.svg``."""
    import vl_convert

    for name, make in CHARTS.items():
        content = vl_convert.vegalite_to_svg(make(record).to_json())
        with write_atomically(folder / f"metric_validity_{name}.svg", "w") as stream:
            stream.write(content + "\n")


def by_system(record: Record, names: Iterable[str]) -> pd.DataFrame:
    """A row a system: ``family``, ``level``, and the values of metrics (both directions) or qualities."""
    about = record["systems"]
    frame = pd.DataFrame(about["systems"])
    values = np.array(frame["values"].tolist()), np.array(frame["quality"].tolist())
    for name in names:
        known = name in about["quality"]
        column = about["quality"].index(name) if known else about["metrics"].index(f"{name} both")
        frame[name] = values[known][:, column]
    return frame[["family", "level", *names]]


def families(record: Record) -> list[str]:
    """The families of a document, in order."""
    found = {s["family"] for s in record["systems"]["systems"]}
    return [f for f in FAMILIES if f in found]


def _marks(field: str, domain: list[str], colours: Sequence[str], shapes: Sequence[str] = SHAPES) -> Record:
    """Channels that give every value of a field a colour and a shape."""
    import altair as alt

    ranges = {"color": (alt.Color, colours), "shape": (alt.Shape, shapes)}
    return {
        name: channel(f"{field}:N", sort=domain, title=None, scale=alt.Scale(domain=domain, range=[*of[: len(domain)]]))
        for name, (channel, of) in ranges.items()
    }


def strengths(record: Record) -> Any:
    """By family: what metrics say while a corruption grows, relative to the base."""
    import altair as alt

    means = by_system(record, LINES).groupby(["family", "level"])[list(LINES)].agg(lambda x: sum(x) / len(x))
    base, points = means.loc["base", 0], []
    for name, title in LINES.items():
        for family in families(record):
            by_level = {0: base[name], **means.loc[family, name]}
            points += [{"family": TITLES[family], "level": level, "metric": title, "value": 100 * (x / base[name])}
                       for level, x in by_level.items()]  # fmt: skip
    steps = alt.Axis(values=[*range(max(point["level"] for point in points) + 1)], format="d")
    colours = ("#000000", COLOURS[1], COLOURS[0], COLOURS[4], COLOURS[2])
    return _styled(
        alt.Chart(alt.Data(values=points), width=205, height=150)
        .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=2)
        .encode(
            x=alt.X("level:Q", title="strength of the corruption", axis=steps),
            y=alt.Y("value:Q", title="% of the base", scale=alt.Scale(zero=True)),
            **_marks("metric", list(LINES.values()), colours),
            facet=alt.Facet("family:N", columns=3, title=None, sort=[TITLES[f] for f in FAMILIES]),
        )
    )


def order(record: Record) -> Any:
    """A table of tau between a metric's order and the true order, by family."""
    import altair as alt

    columns, plain = [*families(record), MIXED], {"domain": False, "ticks": False}
    known = {name: name for name in ROWS} | {f"quality: {name}": title for name, title in QUALITIES.items()}
    cells = [
        {"metric": title, "family": HEADS[f], "tau": found[f][0], "text": _tau(found[f][0])}
        for name, title in known.items() if (found := record["order"].get(name, {}).get("both"))
        for f in columns if f in found
    ]  # fmt: skip
    heads = alt.Axis(orient="top", labelAngle=0, labelExpr="split(datum.label, '|')", labelPadding=20, **plain)
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X("family:N", sort=[HEADS[f] for f in columns], title=None, axis=heads),
        y=alt.Y("metric:N", sort=list(known.values()), title=None, axis=alt.Axis(**plain)),
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=["#D55E00", "#F7F7F7", "#0072B2"])
    squares = base.mark_rect(stroke="white").encode(
        color=alt.Color("tau:Q", scale=scale, title="tau", legend=alt.Legend(gradientLength=240))
    )
    labels = base.mark_text(fontSize=TEXT).encode(
        text="text:N", color=alt.condition("abs(datum.tau) > 0.7", alt.value("white"), alt.value("black"))
    )
    return _styled(alt.layer(squares, labels).properties(width=92 * len(columns), height=alt.Step(22)))


def _tau(value: float) -> str:
    return f"{value:+.2f}".replace("+1.00", "1").replace("-1.00", "−1").replace("+0.", ".").replace("-0.", "−.")


def images(record: Record) -> Any:
    """How many images tell neighbouring systems apart: the median with its interval, and the median of every family."""
    import altair as alt

    domain = [10, 10_000]

    def inside(value: float | None) -> float:
        return domain[1] if value is None else min(max(value, domain[0]), domain[1])

    points, lines = [], []
    for name in ROWS:
        found = record["images needed"].get(name, {})
        for family in (f for f in EVEN_FAMILIES if f in found):
            needed = inside(found[family]["images"][0])
            points.append({"metric": name, "family": TITLES[family], "images": needed})
        if EVEN in found:
            middle, low, high = map(inside, found[EVEN]["images"])
            lines.append({"metric": name, "images": middle, "low": low, "high": high})
    label = "datum.value == 10000 ? '10,000+' : format(datum.value, ',')"
    ticks = alt.Axis(labelOverlap=False, values=[10, 30, 100, 300, 1000, 3000, 10000], labelExpr=label)
    x = {"title": None, "scale": alt.Scale(type="log", domain=domain), "axis": ticks}
    y = alt.Y("metric:N", sort=list(ROWS), title=None, axis=alt.Axis(grid=True))
    marks = _marks("family", [TITLES[f] for f in EVEN_FAMILIES], COLOURS)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=55, opacity=0.75)
    dots = dots.encode(x=alt.X("images:Q", **x), y=y, **marks)
    all_of_them = alt.Chart(alt.Data(values=lines)).encode(y=y)
    bars = all_of_them.mark_rule(strokeWidth=7, color="#bbbbbb").encode(x=alt.X("low:Q", **x), x2="high:Q")
    middles = all_of_them.mark_tick(thickness=3, size=15, color="black").encode(x=alt.X("images:Q", **x))
    return _styled(alt.layer(bars, middles, dots).properties(width=560, height=alt.Step(20)))


def quality(record: Record) -> Any:
    """Metrics against the mean of holds of the first ten results, a point a system."""
    import altair as alt

    shown = ("R@1", "pooled:mAP@R", "entails:mAP@R", "cider:NCS@10", "cider:NCS[gt=out]@10", "holds:NCS@10")
    systems = by_system(record, [JUDGED_BY, *shown]).query("family != 'base'").replace(TITLES | {MIXED: "several"})
    points = [
        {"metric": name, "good": s[JUDGED_BY], "value": s[name], "family": s["family"]}
        for name in shown for s in systems.to_dict("records")
    ]  # fmt: skip
    domain = [TITLES[f] for f in families(record)]
    colours, shapes = ([*of[: len(domain)], last] for of, last in ((COLOURS, "#999999"), (SHAPES, "circle")))
    return _styled(
        alt.Chart(alt.Data(values=points), width=200, height=190)
        .mark_point(size=26, filled=True, opacity=0.8)
        .encode(
            x=alt.X("good:Q", title=QUALITIES[JUDGED_BY], scale=alt.Scale(zero=False)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            **_marks("family", [*domain, "several"], colours, shapes),
            facet=alt.Facet("metric:N", columns=3, title=None, sort=list(shown)),
        )
        .resolve_scale(y="independent")
    )


def _styled(chart: Any) -> Any:
    """Sizes of text, a white background, light grids; room for fonts that are wider than labels are computed with."""
    return (
        chart.properties(background="white", padding={"left": 40, "top": 8, "right": 30, "bottom": 8})
        .configure(font="sans-serif", aria=False)
        .configure_axis(labelFontSize=TEXT, titleFontSize=TEXT, titleFontWeight="normal", gridColor="#e8e8e8",
                        labelLimit=220)
        .configure_header(labelFontSize=TEXT + 1, labelFontWeight="bold")
        .configure_legend(labelFontSize=TEXT, titleFontSize=TEXT, orient="bottom", labelLimit=260, symbolSize=90,
                          columnPadding=26)
        .configure_view(stroke="#d0d0d0")
    )  # fmt: skip


CHARTS: dict[str, Callable[[Record], Any]] = {
    "strength": strengths, "order": order, "images": images, "quality": quality
}  # fmt: skip


def stored_table() -> str:
    """The table of the stored numbers; ``python -m docs.generate`` writes it into the page."""
    return table(json.loads(STORED.read_text(encoding="utf-8")))


def table(record: Record) -> str:
    """Tau by family, and the images needed, in Markdown."""
    heads = ("metric", "uniform", "uniform, 100 images", "vague", "pairs", "across", "images needed")
    rows: list[Sequence[str]] = [heads, ["---"] * len(heads)]
    for m in METRICS:
        taus, needed = record["order"][m]["both"], record["images needed"][m][EVEN]["images"]
        shown = [interval(taus[family]) for family in ("vague", "pair", MIXED)]
        rows.append([f"`{m}`", interval(taus[EVEN]), signed(taus[EVEN][3]), *shown, _bracketed(*map(count, needed))])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def signed(value: float) -> str:
    """Two decimals, and a minus sign that is one."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def interval(found: Sequence[float]) -> str:
    """A value with its interval, the first three numbers: 0.93 [0.90, 0.95]."""
    return _bracketed(*map(signed, found[:3]))


def _bracketed(value: str, low: str, high: str) -> str:
    """A value and its interval, between whose ends no line is broken."""
    return f"{value} [{low},\N{NO-BREAK SPACE}{high}]"


def count(value: float | None) -> str:
    """A number of images, two digits of it; ``no number`` if none suffices."""
    if value is None or math.isinf(value):
        return "no number"
    return f"{round(value, -max(0, len(str(round(value))) - 2)):,.0f}"
