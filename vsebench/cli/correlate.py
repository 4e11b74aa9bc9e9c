"""``vsebench correlate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..evaluation.options import Options
from .blocks import Result, options_of
from .command import command
from .results import deliver, output_formats
from .terminal import Terminal


@command
@options_of(Result)
@options_of(Options, ("ci", "seed"))
def run(
    terminal: Terminal,
    data: Annotated[
        str,
        typer.Argument(help="Which judgements: cxc (Crisscrossed Captions) or flickr8k (experts and CrowdFlower)."),
    ],
    gains: Annotated[
        str | None,
        typer.Option(
            help="Relevances, separated by commas: binary, the gains of `vsebench metrics`, meteor, rouge, bleu-1 to "
            "bleu-4. By default those that need nothing else."
        ),
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="A model: its vectors of COCO 5K, in any format of `vsebench eval`.")
    ] = None,
    texts: Annotated[
        Path | None, typer.Option(help="The text vectors, when that file has those of the images only.")
    ] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in that file.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in that file.")] = None,
    similarity: Annotated[str, typer.Option(help="Of the model's vectors: cosine or dot.")] = "cosine",
    tasks: Annotated[
        str | None,
        typer.Option(help="Some of sits, sts, sis (cxc) or expert, crowdflower (flickr8k); by default all."),
    ] = None,
    human_data: Annotated[
        Path | None,
        typer.Option(
            "--human-data",
            "--data",
            help="Folder with the judgements; else VSEBENCH_HUMAN_DATA, else `human` in the cache.",
        ),
    ] = None,
    over: Annotated[
        str,
        typer.Option(help="What the intervals leave out at a time: an image with all its pairs (images), or pairs."),
    ] = "images",
    figure: Annotated[Path | None, typer.Option(help="Also draw it: .png, .svg or .html.")] = None,
    java: Annotated[str | None, typer.Option(help="A Java folder or program for METEOR.")] = None,
    style: str | None = None,
    output: Path | None = None,
    **more: Any,
) -> None:
    """Correlate relevances, or a model, with human judgements: Pearson, Spearman and Kendall with intervals."""
    from ..human import figure as drawing
    from ..human.study import correlate

    formats = output_formats(terminal, style, output)
    if figure is not None:
        drawing.check_path(figure)
    study = correlate(
        data, gains=gains, embeddings=embeddings, texts=texts, image_key=image_key, text_key=text_key,
        similarity=similarity, tasks=tasks, human_data=human_data, over=over,  # type: ignore[arg-type]
        java=java, bar=terminal.progress, **more,
    )  # fmt: skip
    try:
        if figure is not None:
            drawing.write(study, figure)
    finally:  # a disk that is full for the figure loses no result
        deliver(terminal, study, formats, output)
