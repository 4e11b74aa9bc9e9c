"""The figures of the study, drawn from its numbers with Altair and written as SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.validity.findings import EVEN, EVEN_FAMILIES, JUDGED_BY
from studies.validity.systems import FAMILIES, MIXED, TITLES
from vsebench.files.atomic import write_atomically

Record = dict[str, Any]

# Okabe and Ito's colours, which differ for colour-blind readers, and a shape each.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
TEXT = 13  # font size in px

OF_GAINS = ("NCS@10", "NCS[gt=out]@10", "nDCG@10", "SR@10", "CS@100", "Kendall")
# Rows: judged by the written captions, by simulated ratings, by pooled judgements, by what is true; gains.
ROWS = (
    *("R@1", "R@5", "R@10", "RSum", "MRR", "mAP@R", "MedR", "MeanR"),
    *("judged:R@1", "judged:mAP@R", "pooled:R@1", "pooled:mAP@R", "entails:R@1", "entails:R-P", "entails:mAP@R"),
    *(f"{gains}:{name}" for gains in ("cider", "holds", "match") for name in OF_GAINS),
)
QUALITIES = {
    "holds of the first": "mean holds of the first",
    "holds of ten": "mean holds of the first ten",
    "true of ten": "true ones of the first ten",
    "match of ten": "mean match of the first ten",
}
HEADS = {
    "noise": " |noise", "removed": "missing|attributes", "popularity": "popularity|bias", "hubness": " |hubness",
    "vague": "bias to|vague captions", "pair": "overfitting|to the pairs", MIXED: "across|families",
}  # fmt: skip
LINES = {
    JUDGED_BY: QUALITIES[JUDGED_BY],
    **{name: name for name in ("R@1", "entails:mAP@R", "cider:NCS@10", "cider:NCS[gt=out]@10")},
}


def write(record: Record, folder: Path) -> None:
    """Draw all figures of a document into a folder, ``metric_validity_NAME.svg``."""
    import vl_convert

    for name, make in CHARTS.items():
        content = vl_convert.vegalite_to_svg(make(record).to_json())
        with write_atomically(folder / f"metric_validity_{name}.svg", "w") as stream:
            stream.write(content + "\n")


def values_of(record: Record, name: str, direction: str = "both") -> list[float]:
    """The values of a metric, or of a quality, by system."""
    systems = record["systems"]
    if name in systems["quality"]:
        return [s["quality"][systems["quality"].index(name)] for s in systems["systems"]]
    return [s["values"][systems["metrics"].index(f"{name} {direction}")] for s in systems["systems"]]


def families(record: Record) -> list[str]:
    """The families of a document, in order."""
    found = {s["family"] for s in record["systems"]["systems"]}
    return [f for f in FAMILIES if f in found]


def strengths(record: Record) -> Any:
    """By family: what metrics say while a corruption grows, relative to the base."""
    import altair as alt

    systems = record["systems"]["systems"]
    points = []
    for name, title in LINES.items():
        values = values_of(record, name)
        for family in families(record):
            for level in sorted({s["level"] for s in systems if s["family"] == family} | {0}):
                at = [n for n, s in enumerate(systems) if _is(s, family, level)]
                base = [n for n, s in enumerate(systems) if _is(s, family, 0)]
                ratio = sum(values[n] for n in at) / len(at) / (sum(values[n] for n in base) / len(base))
                points.append({"family": TITLES[family], "level": level, "metric": title, "value": 100 * ratio})
    titles = list(LINES.values())
    colours = alt.Scale(domain=titles, range=["#000000", COLOURS[1], COLOURS[0], COLOURS[4], COLOURS[2]])
    shapes = alt.Scale(domain=titles, range=list(SHAPES[: len(titles)]))
    last = max(point["level"] for point in points)
    chart = (
        alt.Chart(alt.Data(values=points), width=205, height=150)
        .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=2)
        .encode(
            x=alt.X(
                "level:Q", title="strength of the corruption", axis=alt.Axis(values=[*range(last + 1)], format="d")
            ),
            y=alt.Y("value:Q", title="% of the base", scale=alt.Scale(zero=True)),
            color=alt.Color("metric:N", scale=colours, title=None, sort=titles),
            shape=alt.Shape("metric:N", scale=shapes, title=None, sort=titles),
            facet=alt.Facet("family:N", columns=3, title=None, sort=[TITLES[f] for f in FAMILIES]),
        )
    )
    return _styled(chart)


def _is(system: Record, family: str, level: int) -> bool:
    return bool(system["family"] == (family if level else "base") and system["level"] == level)


def order(record: Record) -> Any:
    """A table of tau between a metric's order and the true order, by family."""
    import altair as alt

    columns = [*families(record), MIXED]
    names = HEADS
    plain = {"domain": False, "ticks": False}
    known = {**{name: name for name in ROWS}, **{f"quality: {name}": title for name, title in QUALITIES.items()}}
    rows = list(known.values())
    cells = [
        {"metric": title, "family": names[f], "tau": found[f][0], "text": _tau(found[f][0])}
        for name, title in known.items()
        if (found := record["order"].get(name, {}).get("both"))
        for f in columns
        if f in found
    ]
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X(
            "family:N", sort=[names[f] for f in columns], title=None,
            axis=alt.Axis(orient="top", labelAngle=0, labelExpr="split(datum.label, '|')", labelPadding=20, **plain),
        ),
        y=alt.Y("metric:N", sort=rows, title=None, axis=alt.Axis(**plain)),
    )  # fmt: skip
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
    points, lines = [], []
    for name in ROWS:
        found = record["images needed"].get(name, {})
        for family in (f for f in EVEN_FAMILIES if f in found):
            points.append(
                {"metric": name, "family": TITLES[family], "images": _inside(found[family]["images"][0], domain)}
            )
        if EVEN in found:
            middle, low, high = (_inside(n, domain) for n in found[EVEN]["images"])
            lines.append({"metric": name, "images": middle, "low": low, "high": high})
    titles = [TITLES[f] for f in EVEN_FAMILIES]
    ticks = alt.Axis(
        labelOverlap=False,
        values=[10, 30, 100, 300, 1000, 3000, 10000],
        labelExpr="datum.value == 10000 ? '10,000+' : format(datum.value, ',')",
    )
    x = {"title": None, "scale": alt.Scale(type="log", domain=domain), "axis": ticks}
    y = alt.Y("metric:N", sort=list(ROWS), title=None, axis=alt.Axis(grid=True))
    colours, shapes = (alt.Scale(domain=titles, range=list(r[: len(titles)])) for r in (COLOURS, SHAPES))
    dots = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("images:Q", **x), y=y,
        color=alt.Color("family:N", sort=titles, title=None, scale=colours),
        shape=alt.Shape("family:N", sort=titles, title=None, scale=shapes),
    ).mark_point(filled=True, size=55, opacity=0.75)  # fmt: skip
    all_of_them = alt.Chart(alt.Data(values=lines)).encode(y=y)
    bars = all_of_them.mark_rule(strokeWidth=7, color="#bbbbbb").encode(x=alt.X("low:Q", **x), x2="high:Q")
    middles = all_of_them.mark_tick(thickness=3, size=15, color="black").encode(x=alt.X("images:Q", **x))
    return _styled(alt.layer(bars, middles, dots).properties(width=560, height=alt.Step(20)))


def _inside(value: float | None, domain: list[int]) -> float:
    return domain[1] if value is None else min(max(value, domain[0]), domain[1])


def quality(record: Record) -> Any:
    """Metrics against the mean of holds of the first ten results, a point a system."""
    import altair as alt

    shown = ("R@1", "pooled:mAP@R", "entails:mAP@R", "cider:NCS@10", "cider:NCS[gt=out]@10", "holds:NCS@10")
    systems = record["systems"]["systems"]
    good = values_of(record, JUDGED_BY)
    names = {**TITLES, "base": "base", MIXED: "several"}
    domain = [*(TITLES[f] for f in families(record)), "several"]
    points = [
        {"metric": name, "good": good[n], "value": v, "family": names[s["family"]]}
        for name in shown
        for n, (s, v) in enumerate(zip(systems, values_of(record, name), strict=True))
        if s["family"] != "base"
    ]
    colours = alt.Scale(domain=domain, range=[*COLOURS[: len(domain) - 1], "#999999"])
    shapes = alt.Scale(domain=domain, range=[*SHAPES[: len(domain) - 1], "circle"])
    chart = (
        alt.Chart(alt.Data(values=points), width=200, height=190)
        .mark_point(size=26, filled=True, opacity=0.8)
        .encode(
            x=alt.X("good:Q", title=QUALITIES[JUDGED_BY], scale=alt.Scale(zero=False)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            color=alt.Color("family:N", sort=domain, title=None, scale=colours),
            shape=alt.Shape("family:N", sort=domain, title=None, scale=shapes),
            facet=alt.Facet("metric:N", columns=3, title=None, sort=list(shown)),
        )
        .resolve_scale(y="independent")
    )
    return _styled(chart)


def _styled(chart: Any) -> Any:
    """Sizes of text, a white background, light grids."""
    return (
        # Room for fonts that are wider than the one that the sizes of labels are computed with.
        chart.properties(background="white", padding={"left": 40, "top": 8, "right": 30, "bottom": 8})
        .configure(font="sans-serif", aria=False)
        .configure_axis(
            labelFontSize=TEXT, titleFontSize=TEXT, titleFontWeight="normal", gridColor="#e8e8e8", labelLimit=220
        )
        .configure_header(labelFontSize=TEXT + 1, labelFontWeight="bold")
        .configure_legend(
            labelFontSize=TEXT, titleFontSize=TEXT, orient="bottom", labelLimit=260, symbolSize=90, columnPadding=26
        )
        .configure_view(stroke="#d0d0d0")
    )


CHARTS: dict[str, Callable[[Record], Any]] = {
    "strength": strengths,
    "order": order,
    "images": images,
    "quality": quality,
}
