"""Agreement with human judgements as tables, a document and a figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingPackage, UsageError

if TYPE_CHECKING:
    from ..human.agreement import Resampling, Statistic
    from ..human.protocols import Row
    from ..human.study import Study

SCHEMA = "vsebench/correlation/1"
UNDEFINED = "—"
STATISTICS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}
DATA_TITLES = {"cxc": "CxC", "flickr8k": "Flickr8k"}
FIGURES = (".png", ".svg", ".html")
COLOURS = ["#3b6fb6", "#c8553d", "#4a8c5f"]


@dataclass(frozen=True)
class Section:
    """One table: a title, headings, and rows of texts."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections(study: Study) -> list[Section]:
    """A table for every set of pairs, a row a relevance; and one for the sampled correlation of models."""
    found = []
    for title, rows in _groups(study).items():
        headings = ("relevance", *(_heading(name, rows[0]) for name in STATISTICS))
        cells = tuple((_label(row.relevance), *(_cell(row.statistics[name]) for name in STATISTICS)) for row in rows)
        found.append(Section(title, headings, cells))
    sampled = [row for row in study.rows if row.sampled]
    if sampled:
        models = dict.fromkeys(row.relevance for row in sampled)
        tasks = list(dict.fromkeys(row.task for row in sampled))
        lines = []
        for model in models:
            of = {row.task: row.sampled for row in sampled if row.relevance == model and row.sampled}
            mean = sum(s[0] for s in of.values()) / len(of)
            lines.append(
                (_label(model), *(f"{100 * of[t][0]:.2f} ± {100 * of[t][1]:.2f}" for t in tasks), f"{100 * mean:.2f}")
            )
        found.append(Section("CxC correlation · sampled Spearman ρ", ("model", *tasks, "mean"), tuple(lines)))
    return found


def footnotes(study: Study, how: Resampling) -> list[str]:
    """What has to be said below the tables."""
    notes = ["Correlations are printed times 100."]
    if how.resamples:
        notes[0] += f" Brackets: {_intervals(how)}."
    sampled = next((row.sampled for row in study.rows if row.sampled), None)
    if sampled:
        notes.append(
            f"Sampled: mean ± standard deviation of {sampled[3]:,} samples, each of half of the queries with one rated "
            f"item a query (Parekh et al., 2021); seed {how.seed}."
        )
    if any(s.value is None for row in study.rows for s in row.statistics.values()):
        notes.append(f"{UNDEFINED} undefined: one side has the same value for all of these pairs.")
    return notes


def to_json(study: Study, how: Resampling) -> dict[str, Any]:
    """The document of schema ``vsebench/correlation/1``: fractions, null where a correlation is undefined."""
    return {
        "schema": SCHEMA,
        "data": study.data,
        "intervals": None
        if not how.resamples
        else {
            "method": "percentile bootstrap",
            "confidence": how.confidence,
            "resamples": how.resamples,
            "over": how.over,
            "seed": how.seed,
        },
        "settings": study.settings,
        "notes": list(study.notes),
        "rows": [_row(row) for row in study.rows],
    }


def check_figure(path: Path) -> Path:
    """``path`` if a figure can be written there.

    Raises:
        UsageError: another ending, or a folder that does not exist.
        MissingPackage: altair or vl-convert-python is not installed.
    """
    if path.suffix.lower() not in FIGURES:
        raise UsageError(f"figures end in {', '.join(FIGURES)}", where=path, fix="end the name in .png, .svg or .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError("cannot be written: no such folder", where=path, fix=f"create {path.parent} first")
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"a figure needs {error.name}", fix="pip install 'vsebench[report]'") from error
    return path


def write_figure(study: Study, how: Resampling, path: Path) -> None:
    """Draw every correlation as a point with its interval, to a path that ``check_figure`` accepts, atomically."""
    import vl_convert

    from ..data.atomic import write_atomically

    document = figure(study, how).to_json()
    kind = path.suffix.lower()
    if kind == ".png":
        content: bytes = vl_convert.vegalite_to_png(document, scale=2)
    else:
        convert = vl_convert.vegalite_to_svg if kind == ".svg" else vl_convert.vegalite_to_html
        content = convert(document).encode()
    with write_atomically(path) as stream:
        stream.write(content)


def figure(study: Study, how: Resampling) -> Any:
    """An altair chart: a panel for every set of pairs, a line for every relevance, colours for the coefficients."""
    import altair as alt

    kinds = [name.split(" ")[0] for name in STATISTICS.values()]
    panels = {title: _drawn(rows, kinds) for title, rows in _groups(study).items()}
    panels = {title: points for title, points in panels.items() if points}
    if not panels:
        raise UsageError("no correlation is defined, so there is nothing to draw", fix="leave --figure out")
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
        heading = alt.TitleParams(title, anchor="start", fontSize=12, fontWeight="normal")
        charts.append(alt.layer(bars, dots).properties(title=heading, width=440, height=alt.Step(9)))
    title = f"Agreement with human judgements · {DATA_TITLES[study.data]}"
    below = f"Bars: {_intervals(how)}" if how.resamples else ""
    chart = alt.vconcat(*charts, spacing=14, title=alt.TitleParams(title, subtitle=below, anchor="start", offset=12))
    return chart.resolve_scale(x="shared").configure_view(stroke="#d0d0d0").configure_axisX(gridColor="#ececec")


def _drawn(rows: list[Row], kinds: list[str]) -> list[dict[str, Any]]:
    """The marks of one panel; coefficients that are undefined have none."""
    return [
        {
            "relevance": _label(row.relevance),
            "coefficient": kind,
            "value": 100 * s.value,
            "low": 100 * (s.interval[0] if s.interval else s.value),
            "high": 100 * (s.interval[1] if s.interval else s.value),
        }
        for row in rows
        for kind, s in zip(kinds, (row.statistics[name] for name in STATISTICS), strict=True)
        if s.value is not None
    ]


def _label(relevance: str) -> str:
    """The name in tables and figures: of a file only its last part."""
    return ":".join(part.rpartition("/")[2] or part for part in relevance.split(":"))


def _intervals(how: Resampling) -> str:
    return (
        f"{100 * how.confidence:g} % percentile bootstrap over {how.over}, {how.resamples:,} resamples, seed {how.seed}"
    )


def _groups(study: Study) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in study.rows:
        judged = "" if row.points == row.pairs else f", {row.points:,} judgements"
        subset = "" if row.subset == "all" else f" · {row.subset}"
        title = f"{DATA_TITLES[study.data]} {row.task}{subset} · {row.pairs:,} pairs{judged}"
        groups.setdefault(title, []).append(row)
    return groups


def _heading(name: str, row: Row) -> str:
    return f"{STATISTICS[name]}-{row.tau}" if name == "kendall" else STATISTICS[name]


def _cell(statistic: Statistic) -> str:
    if statistic.value is None:
        return UNDEFINED
    text = f"{100 * statistic.value:.2f}"
    if statistic.interval is None:
        return text
    return f"{text} [{100 * statistic.interval[0]:.2f}, {100 * statistic.interval[1]:.2f}]"


def _row(row: Row) -> dict[str, Any]:
    def shown(statistic: Statistic) -> dict[str, Any]:
        return {"value": statistic.value, "interval": None if statistic.interval is None else list(statistic.interval)}

    document: dict[str, Any] = {
        "task": row.task,
        "subset": row.subset,
        "relevance": row.relevance,
        "pairs": row.pairs,
        "points": row.points,
        **{name: shown(row.statistics[name]) for name in STATISTICS},
        "sampled_spearman": None,
    }
    document["kendall"]["variant"] = row.tau
    if row.sampled is not None:
        mean, deviation, queries, samples = row.sampled
        document["sampled_spearman"] = {"mean": mean, "sd": deviation, "queries": queries, "samples": samples}
    return document
