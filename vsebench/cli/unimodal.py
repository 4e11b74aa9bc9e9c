"""``vsebench unimodal``: retrieval inside one modality, judged by continuous labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..evaluation.options import Options
from .blocks import INTERVAL, options_of
from .command import command
from .results import report_options
from .terminal import Terminal


@command
@report_options
@options_of(Options, ("ci", *INTERVAL, "interval"))
def run(
    terminal: Terminal,
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
    **more: Any,
) -> Any:
    """Rank items of one modality by their vectors, and judge the lists by labels: nDCG and mean label distance."""
    import vsebench

    from ..evaluation.provenance import with_command

    with terminal.progress("ranking") as progress:
        report = vsebench.evaluate_unimodal(
            file, labels, label_distance=label_distance, labels_are=labels_are, queries=queries,
            keep_queries=keep_queries, modality=modality, metrics=metrics, similarity=similarity, key=key,
            labels_key=labels_key, progress=progress, **more,
        )  # fmt: skip
    return with_command(report)
