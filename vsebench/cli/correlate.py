"""``vsebench correlate``: how far relevances, and a model, agree with human judgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .talk import Json, NoProgress, Quiet, Talk, cells, command

if TYPE_CHECKING:
    from ..human.agreement import Resampling
    from ..human.study import Study


@command
def run(
    data: Annotated[
        str,
        typer.Argument(help="Which judgements: cxc (Crisscrossed Captions) or flickr8k (experts and CrowdFlower)."),
    ],
    gains: Annotated[
        str | None,
        typer.Option(
            help="Relevances, separated by commas: binary, cider, spice, sentence:MODEL, bow:FILE, wmd:FILE, FILE.npy "
            "(settings as in cider:tokens=whitespace), meteor, rouge, bleu-1 to bleu-4. By default those that need "
            "nothing else."
        ),
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="A model: its vectors of COCO 5K, in any format of `vsebench eval` (cxc only).")
    ] = None,
    texts: Annotated[Path | None, typer.Option(help="The text vectors, when that file is an .npy of images.")] = None,
    image_key: Annotated[str | None, typer.Option(help="Name of the image array in that file.")] = None,
    text_key: Annotated[str | None, typer.Option(help="Name of the text array in that file.")] = None,
    similarity: Annotated[str, typer.Option(help="Of the model's vectors: cosine or dot.")] = "cosine",
    tasks: Annotated[
        str | None, typer.Option(help="Some of sits, sts, sis (cxc) or expert, crowdflower (flickr8k); all by default.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the judgements; else VSEBENCH_HUMAN_DATA, else `human` in the cache."),
    ] = None,
    ci: Annotated[
        float, typer.Option(min=0, max=99.99, help="Level of the bootstrap intervals in percent; 0 for none.")
    ] = 95,
    resamples: Annotated[int, typer.Option(min=2, max=1_000_000, help="Resamples an interval is made of.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Fixes the resamples.")] = 0,
    over: Annotated[
        str, typer.Option(help="What is resampled: images (all pairs of an image together) or pairs.")
    ] = "images",
    figure: Annotated[Path | None, typer.Option(help="Also draw it: .png, .svg or .html.")] = None,
    java: Annotated[str | None, typer.Option(help="A Java folder or program for METEOR.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=1024, help="Threads; never changes a result.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Correlate relevances, or a model, with what people said: Pearson, Spearman and Kendall with intervals."""
    talk = Talk(as_json, quiet, no_progress)
    from ..errors import UsageError
    from ..human import study
    from ..human.agreement import Resampling
    from ..report import correlation

    if embeddings is None:
        for flag, value in (("--texts", texts), ("--image-key", image_key), ("--text-key", text_key)):
            if value is not None:
                raise UsageError(f"{flag} has no meaning without --embeddings", fix="leave it out")
    if similarity not in ("cosine", "dot"):
        raise UsageError(f"--similarity is '{similarity}'", fix="use cosine or dot")
    if over not in ("images", "pairs"):
        raise UsageError(f"--over is '{over}'", fix="use images or pairs")
    if figure is not None:
        correlation.check_figure(figure)
    how = Resampling(resamples if ci else 0, seed, over, ci / 100 if ci else 0.95, threads)  # type: ignore[arg-type]
    model = None
    if embeddings is not None:
        model = study.Model(embeddings, texts, image_key, text_key, similarity)  # type: ignore[arg-type]
    done = study.run(
        data, _names(gains), model, tasks=_names(tasks), folder=folder, how=how, java=java, bar=talk.progress
    )
    for note in done.notes:
        talk.note(f"· {note}")
    if figure is not None:
        correlation.write_figure(done, how, figure)
    if talk.json:
        talk.emit(correlation.to_json(done, how))
    else:
        _show(done, how, talk)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _show(done: Study, how: Resampling, talk: Talk) -> None:
    from rich import box
    from rich.table import Table

    from ..report import correlation

    for section in correlation.sections(done):
        table = Table(
            title=section.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
        )
        for k, heading in enumerate(section.headings):
            table.add_column(heading, justify="right" if k else "left", overflow="fold")
        for row in section.rows:
            table.add_row(*cells(*row))
        talk.out.print(table)
    for note in correlation.footnotes(done, how):
        talk.out.print(note, style="dim", markup=False, soft_wrap=True)
