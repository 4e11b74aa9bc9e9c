"""``vsebench demo``: an evaluation of COCO 5K at full size, with its captions and judgements, without a model."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from .command import command
from .results import deliver
from .terminal import Terminal

OWN = Path("vsebench-demo")  # files of an earlier demo are replaced in this folder only
WORDS = """\
These vectors are computed from text, not by a vision model, and without the pictures: a caption is compared with the
other captions of an image (LSA vectors of COCO's words), never with itself. So the full task of 5,000 images x 25,000
captions can be run without leakage, and the report has the form of that of a model. Its values describe no model."""


@command
def run(
    terminal: Terminal,
    out: Annotated[Path, typer.Option(help="Folder for embeddings.npz and report.json.")] = OWN,
) -> None:
    """Compute vectors from the captions of COCO 5K, write them to embeddings.npz, and evaluate that file."""
    import numpy as np

    import vsebench

    from ..errors import UsageError
    from ..evaluation.provenance import with_command
    from ..files.atomic import make_folder, write_atomically
    from ..sets.catalogue import load_split
    from ..sets.synthetic import standin_embeddings

    if out.exists() and not out.is_dir():
        raise UsageError("is a file, not a folder", where=out, fix="give another --out")
    file, result = out / "embeddings.npz", out / "report.json"
    for path in (file, result):
        if out != OWN and path.exists():
            raise UsageError("exists, and the demo would replace it", where=path, fix="give another --out")
    make_folder(out)
    terminal.note("reading the COCO 5K test captions and judgements from the installed packages ...")
    split = load_split("coco-5k", captions=True)
    terminal.note("computing vectors from the captions (TF-IDF, truncated SVD) ...")
    images, captions = standin_embeddings(split)
    with write_atomically(file, "wb") as stream:
        np.savez(
            stream, image_embeddings=images, text_embeddings=captions, image_ids=split.image_ids,
            text_ids=split.caption_ids, image_of_text=split.owners,
        )  # fmt: skip
    terminal.note(f"wrote {file}; evaluating it like any other file (the first run compiles the ranking kernels) ...")
    with terminal.progress("ranking") as progress:
        report = vsebench.evaluate(file, progress=progress)
    deliver(terminal, with_command(report), output=result)
    if not terminal.json:
        program = "vsebench" if shutil.which("vsebench") else sys.argv[0]
        commands = (
            f"  {program} eval {file} --metrics all --json\n"
            f"  {program} eval YOUR_EMBEDDINGS.npz        (the arrays of a file: {program} inspect {file})"
        )
        terminal.say(f"\n{WORDS}\n\nTry next:\n{commands}")
