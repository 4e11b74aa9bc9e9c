"""``vsebench encode``: embeddings of images and captions, by the reference trainer or by a pretrained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError, count_of
from .command import command
from .terminal import Terminal
from .train import trainer

if TYPE_CHECKING:
    from ..pretrained.names import Named

RESUME = "interrupted; the same command goes on after the last finished part"


@command
def run(
    terminal: Terminal,
    model: Annotated[
        str,
        typer.Argument(
            help="open_clip:NAME/WEIGHTS, sentence-transformers:NAME or the folder of such a model; or a checkpoint or "
            "the folder of a run of train-reference."
        ),
    ],
    images: Annotated[Path | None, typer.Option(help="The folder of images, for a pretrained model.")] = None,
    captions: Annotated[
        Path | None,
        typer.Option(help="Their captions: .csv, .tsv, .jsonl, COCO annotations or a Karpathy file."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="coco-5k, f30k or another declared split: its images, and its captions; or a set of `vsebench choice`."
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Of a checkpoint: other data than those it was trained on.")] = None,
    part: Annotated[
        str | None,
        typer.Option(help="Of a checkpoint: train, val or test (the default). Of --captions: a value of field split."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The .npz file; by default it has the name of the model.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Images or captions that a pretrained model encodes at once; 64.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads of a pretrained model on the CPU; by default all.")
    ] = None,
) -> None:
    """Encode images and captions into a file for `vsebench eval`.

    A pretrained model needs --images, and --captions or --split; after an interrupt the same command goes on where it
    was. A checkpoint of train-reference has its data.

    vsebench encode open_clip:ViT-B-32/laion2b_s34b_b79k --images val2014 --split coco-5k
    """
    from ..pretrained import names

    named = names.find(model)
    if named is None:
        given = {"images": images, "captions": captions, "split": split, "batch": batch, "threads": threads}
        _checkpoint(terminal, Path(model), data, part, output, device, given)
        return
    if data is not None:
        raise UsageError("--data has no meaning for a pretrained model", fix="give --images and --captions or --split")
    if images is None:
        raise UsageError(
            "the folder of images is not given", fix="give --images DIR, and --captions FILE or --split NAME"
        )
    options = {"captions": captions, "split": split, "part": part, "device": device, "threads": threads}
    _pretrained(terminal, named, model, images, output, batch, options)


def _pretrained(
    terminal: Terminal,
    named: Named,
    model: str,
    images: Path,
    output: Path | None,
    batch: int | None,
    options: dict[str, Any],
) -> None:
    from ..pretrained.encode import BATCH, encode

    target = output or Path(f"{named.slug}-{Path(options['split'] or 'custom').name}.npz")
    try:
        with terminal.progress("encoding") as update:
            found = encode(model, images, batch=batch or BATCH, output=target, progress=update, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(RESUME) from None
    for note in found.notes:
        terminal.note(f"· {note}")
    counts = {"images": len(found.images.ids), "captions": len(found.captions.ids), "split": found.split.name}
    if terminal.json:
        document = {"file": str(target), **counts, "kind": "embeddings"}
        terminal.emit({**document, "encoder": found.about, "notes": list(found.notes)})
    else:
        terminal.say(f"{target}: {_counted(counts)} of {counts['split']}")
        terminal.note(f"· float32 vectors of length 1, {found.images.dim:,} numbers, by {found.about['model']}")


def _counted(counts: dict[str, Any]) -> str:
    return f"{count_of(counts['images'], 'image')} and {count_of(counts['captions'], 'caption')}"


def _checkpoint(
    terminal: Terminal,
    checkpoint: Path,
    data: str | None,
    part: str | None,
    output: Path | None,
    device: str,
    given: dict[str, Any],
) -> None:
    for name, value in given.items():
        if value is not None:
            from ..pretrained.names import HOW

            if not checkpoint.exists():
                raise UsageError(f"'{checkpoint}' is no model, and no such file exists", fix=f"give {HOW}")
            what = f"--{name} has no meaning for '{checkpoint}', which is no pretrained model"
            raise UsageError(what, fix=f"leave it out for a checkpoint of train-reference, or give {HOW}")
    part = part or "test"
    encoder = trainer("encode")
    target = output or Path(f"{checkpoint.stem or 'embeddings'}-{part}.npz")
    with terminal.progress("encoding") as update:
        result, chosen = encoder.encode(checkpoint, data, part, target, device=device, update=update)
    split = chosen.split
    counts = {"images": len(split.image_ids), "captions": len(split.caption_ids), "split": split.name}
    if terminal.json:
        terminal.emit({"file": str(target), **counts, "kind": "scores" if "scores" in result else "embeddings"})
    else:
        terminal.say(f"{target}: {_counted(counts)} of {split.name}")
