"""``vsebench demo``: the whole task at real size, on real captions and real judgements, without a model."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from .talk import Json, NoProgress, Quiet, Talk, command

WORDS = """\
This is a text stand-in, not a vision model. No picture was seen: the vector of an image is made from its own
other captions (LSA vectors of COCO's words), so that the full task of 5,000 images x 25,000 captions can be
run, with nothing leaked, and read like the report of a real model. Its numbers say nothing about any model."""


@command
def run(
    out: Annotated[Path, typer.Option(help="Folder for embeddings.npz and report.json.")] = Path("vsebench-demo"),
    as_json: Json = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Build a text stand-in for COCO 5K from the installed packages, write embeddings.npz, and evaluate it."""
    talk = Talk(as_json, quiet, no_progress)
    import numpy as np

    import vsebench

    from ..data.atomic import write_atomically
    from ..data.splits import catalogue as splits
    from ..data.splits import synthetic as standin
    from ..errors import UsageError
    from ..evaluation.provenance import with_command
    from ..report.terminal import show

    if out.exists() and not out.is_dir():
        raise UsageError("is a file, not a folder", where=out, fix="give another --out")
    talk.note("reading the COCO 5K test captions and judgements from the installed packages ...")
    split = splits.load_split("coco-5k", captions=True)
    talk.note("making the text stand-in (TF-IDF, truncated SVD) ...")
    images, captions = standin.standin_embeddings(split)
    file = out / "embeddings.npz"
    with write_atomically(file, "wb", parents=True) as stream:
        np.savez(
            stream,
            image_embeddings=images,
            text_embeddings=captions,
            image_ids=split.image_ids,
            text_ids=split.caption_ids,
            image_of_text=split.image_of,
        )
    talk.note(f"wrote {file}; evaluating it like any other file (the first run compiles the ranking kernels) ...")
    with talk.progress("ranking") as progress:
        report = with_command(vsebench.evaluate(file, progress=progress))
    text = report.to_json()
    with write_atomically(out / "report.json", "w") as stream:
        stream.write(text + "\n")
    for warning in report.warnings:
        talk.warn(warning)
    if talk.json:
        talk.emit(text)
    else:
        show(report.grids(), talk.out)
        talk.out.print()
        talk.out.print(WORDS)
        talk.out.print("\nTry next:")
        program = "vsebench" if shutil.which("vsebench") else sys.argv[0]
        talk.out.print(f"  {program} eval {file} --metrics all --json", markup=False, soft_wrap=True)
        talk.out.print(
            f"  {program} eval YOUR_EMBEDDINGS.npz        (what a file may hold: {program} inspect {file})",
            markup=False,
            soft_wrap=True,
        )
