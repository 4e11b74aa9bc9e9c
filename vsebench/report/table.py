"""Reports -> Table: the only layout logic. Renderers draw what this decides."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Report, Result

VIEW_TITLES: dict[str, str] = {
    "gt": "ground truth",
    "1k": "COCO 1K (mean of 5 folds)",
    "eccv": "ECCV Caption",
    "cxc": "CxC",
}


@dataclass(frozen=True)
class Section:
    """One block of rows under a title: (metric, i2t, t2i, both, queries)."""

    title: str
    rows: tuple[tuple[str, str, str, str, str], ...]


def number(result: Result | None) -> str:
    """A value as printed: fractions times 100 with two decimals, ranks with one (or none when whole)."""
    if result is None:
        return ""
    if result.unit == "rank":
        return f"{result.value:,.0f}" if float(result.value).is_integer() else f"{result.value:,.1f}"
    return f"{100 * result.value:.2f}"


def sections(report: Report) -> list[Section]:
    """Results grouped by view, one row a metric, directions side by side."""
    views: dict[str, dict[str, dict[str | None, Result]]] = {}
    for result in report.results:
        view, _, name = result.metric.rpartition(":")
        views.setdefault(view or "gt", {}).setdefault(name, {})[result.direction] = result
    out = []
    for view, metrics in views.items():
        rows = []
        for name, by in metrics.items():
            counts = [f"{by[d].n:,}" for d in ("i2t", "t2i") if d in by]
            arrow = "" if next(iter(by.values())).higher_is_better else " ↓"
            rows.append(
                (
                    name + arrow,
                    number(by.get("i2t")),
                    number(by.get("t2i")),
                    number(by.get(None)),
                    " / ".join(counts),
                )
            )
        title = VIEW_TITLES.get(view, view)
        out.append(Section(f"{report.split} · {title}" if view == "gt" else title, tuple(rows)))
    return out
