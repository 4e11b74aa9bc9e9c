"""``vsebench unimodal``: retrieval inside one modality, judged by continuous labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .results import report_format
from .shared import (
    Interval,
    NoPerQuery,
    PerQuery,
    ReportCi,
    ReportOutput,
    ReportStyle,
    Resamples,
    Seed,
    Threads,
    deliver_report,
)
from .terminal import Json, NoProgress, Quiet, Terminal, command


@command
def run(
    file: Annotated[Path, typer.Argument(help="Vectors of one modality: .npy, .npz, .safetensors, .pt or .h5.")],
    labels: Annotated[Path, typer.Option(help="Continuous labels of the items: an array, or captions for wmd.")],
    label_distance: Annotated[
        str | None,
        typer.Option(help="euclidean, precomputed, miou[:ignore=N] or wmd:VECTORS; by default the shape decides."),
    ] = None,
    labels_are: Annotated[
        str | None, typer.Option(help="classes or numbers, for one value an item; strings are classes.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="How many of the first items are queries, or a file that names them; all.")
    ] = None,
    keep_queries: Annotated[
        bool, typer.Option("--keep-queries", help="The other queries stay in the gallery.")
    ] = False,
    modality: Annotated[str | None, typer.Option(help="image (the default) or caption.")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="nDCG@k and MLD@k; nDCG and MLD are those at k = 1, 10, 20, ... 100; both.")
    ] = None,
    similarity: Annotated[str, typer.Option(help="euclidean, cosine or dot.")] = "euclidean",
    key: Annotated[
        str | None, typer.Option("--key", "--image-key", "--text-key", help="Name of the array in FILE.")
    ] = None,
    labels_key: Annotated[str | None, typer.Option(help="Name of the array in the file of labels.")] = None,
    per_query: PerQuery = None,
    output: ReportOutput = None,
    style: ReportStyle = "terminal",
    ci: ReportCi = 95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    interval: Interval = "bca",
    no_per_query: NoPerQuery = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Rank items of one modality by their vectors, and judge the lists by labels: nDCG and mean label distance."""
    terminal = Terminal(as_json, quiet, no_progress)
    import vsebench

    from ..evaluation.provenance import with_command
    from ..report.per_query import check_path

    chosen = report_format(terminal, style, output)
    if per_query is not None:
        check_path(per_query)
    with terminal.progress("ranking") as progress:
        report = vsebench.evaluate_unimodal(
            file, labels, label_distance=label_distance, labels_are=labels_are, queries=queries,
            keep_queries=keep_queries, modality=modality, metrics=metrics, similarity=similarity, key=key,
            labels_key=labels_key, ci=ci, resamples=resamples, seed=seed, interval=interval, threads=threads,
            progress=progress,
        )  # fmt: skip
    deliver_report(terminal, with_command(report), output, per_query, no_per_query, chosen)
