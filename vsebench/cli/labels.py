"""``vsebench eval FILE --labels LABELS``: lists of one modality, judged by continuous labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .talk import Talk

if TYPE_CHECKING:
    from ..report.model import Report, Result


def run(
    talk: Talk,
    file: Path,
    labels: Path,
    *,
    label_distance: str | None = None,
    queries: str | None = None,
    keep_queries: bool = False,
    modality: str = "image",
    metrics: str | None = None,
    similarity: str = "auto",
    key: str | None = None,
    labels_key: str | None = None,
    threads: int | None = None,
    ci: float = 95.0,
    resamples: int = 1000,
    seed: int = 0,
    interval: str = "percentile",
    per_query: Path | None = None,
    output: Path | None = None,
    no_per_query: bool = False,
) -> None:
    """Rank, judge and report; the body of the command.

    Args:
        talk: how the command speaks.
        file: vectors of one modality.
        labels: labels of the items.
        label_distance: ``euclidean``, ``precomputed``, ``miou[:ignore=N]`` or ``wmd:VECTORS``; None goes by the shape.
        queries: how many of the first items are queries, or a file that names them; None: all.
        keep_queries: the other queries stay in the gallery.
        modality: ``image`` or ``caption``.
        metrics: ``nDCG@k``, ``MLD@k``, their bare names, or ``all``.
        similarity: ``auto`` (Euclidean), ``euclidean``, ``cosine`` or ``dot``.
        key, labels_key: names of the arrays in the files.
        threads: never changes a result.
        ci, resamples, seed, interval: of the intervals over queries; ``ci`` 0 for none.
        per_query: a file for per-query values, which the caller has checked.
        output: a file for the JSON report, which the caller has checked.
        no_per_query: leave per-query values out of the JSON.
    """
    from ..evaluation import provenance
    from ..report import document
    from ..report import per_query as per_query_file
    from ..report.model import Resampling
    from ..unimodal.evaluate import evaluate_file
    from ..unimodal.plan import Options

    clock = provenance.start()
    how = None if ci == 0 else Resampling(ci, resamples, seed, interval)  # type: ignore[arg-type]
    with talk.progress("ranking") as progress:
        options = Options(
            metrics=metrics,
            similarity="euclidean" if similarity == "auto" else similarity,
            keep_queries=keep_queries,
            modality=modality,  # type: ignore[arg-type]
            threads=threads,
            resampling=how,
            progress=progress,
        )
        done: Any = evaluate_file(
            file, labels, how=label_distance, queries=queries, key=key, labels_key=labels_key, options=options
        )
    report: Report = provenance.attach(done, clock, threads).report
    for note in report.notes:
        talk.note(f"· {note}")
    for warning in report.warnings:
        talk.warn(warning)
    text = document.dumps(report, not no_per_query) if talk.json or output is not None else ""
    if per_query is not None:
        per_query_file.write(report, per_query)
    if output is not None:
        from ..data.atomic import write_atomically

        with write_atomically(output, "w") as stream:
            stream.write(text + "\n")
    if talk.json:
        talk.emit(text)
    else:
        show(report, talk)


def refuse(given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing beside ``--labels``: flag -> its value, None or False when it was not given."""
    from ..errors import UsageError

    for flag, value in given.items():
        if value is not None and value is not False and value != []:
            raise UsageError(f"{flag} has no meaning with --labels", fix="leave it out")


def show(report: Report, talk: Talk) -> None:
    """Print one row a list length, nDCG and mean label distance side by side."""
    from rich import box
    from rich.table import Table

    from ..report.table import interval_words
    from .talk import cells

    rows: dict[str, dict[str, Result]] = {}
    for result in report.results:
        stem, _, k = result.metric.name.partition("@")
        rows.setdefault(k, {})[stem] = result
    table = Table(
        title="judged by labels", title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False
    )
    stems = list(dict.fromkeys(stem for by in rows.values() for stem in by))
    headings = {"nDCG": "nDCG@k", "MLD": "mean label distance@k ↓"}
    table.add_column("k", justify="right")
    for stem in stems:
        table.add_column(headings[stem], justify="right", overflow="fold", min_width=6)
    table.add_column("queries", justify="right", style="dim")
    for k, by in rows.items():
        table.add_row(*cells(k, *(_printed(by.get(s)) for s in stems), f"{next(iter(by.values())).n:,}"))
    talk.out.print(table)
    words = "nDCG is printed times 100, label distances as they are (↓ lower is better)."
    if report.intervals is not None and any(r.interval for r in report.results):
        words += f" {interval_words(report.intervals).replace('over images', 'over queries')}."
    talk.out.print(words, style="dim")
    talk.out.print(report.signature, style="dim", soft_wrap=True, highlight=False)


def _printed(result: Result | None) -> str:
    """A value and its interval: nDCG times 100 with two decimals, distances with four digits that count."""
    if result is None:
        return ""

    def number(value: float) -> str:
        return f"{100 * value:.2f}" if result.unit == "fraction" else f"{value:.4g}"

    if result.interval is None:
        return number(result.value)
    low, high = map(number, result.interval)
    return f"{number(result.value)} [{low}, {high}]"
