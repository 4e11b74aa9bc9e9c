"""``vsebench demo``: two systems on COCO 5K at full size, with its captions and judgements, without a model."""

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
SYSTEMS = {"lsa-128": 128, "lsa-64": 64}  # dimensions
METRICS = "recall,eccv,NCS@10"
WORDS = """\
These vectors are computed from text, not by a vision model, and without the pictures: a caption is compared with the
other captions of an image (LSA vectors of COCO's words, of 128 and of 64 dimensions), never with itself. So the full
task of 5,000 images x 25,000 captions can be run without leakage, and the reports have the form of those of models.
Their values describe no model."""


@command
def run(
    terminal: Terminal,
    out: Annotated[
        Path, typer.Option(help="Folder for the vectors and the report of each system, and page.html.")
    ] = OWN,
) -> None:
    """Compute vectors of two systems from the captions of COCO 5K, evaluate their files, and write a page of both."""
    import numpy as np

    import vsebench

    from ..errors import MissingPackage, UsageError
    from ..evaluation.options import KEPT
    from ..evaluation.provenance import with_command
    from ..files.atomic import make_folder, write_atomically
    from ..sets.catalogue import load_split
    from ..sets.synthetic import standin_embeddings

    if out.exists() and not out.is_dir():
        raise UsageError("is a file, not a folder", where=out, fix="give another --out")
    shown = out / "page.html"
    for path in (*(out / f"{name}{ending}" for name in SYSTEMS for ending in (".npz", ".json")), shown):
        if out != OWN and path.exists():
            raise UsageError("exists, and the demo would replace it", where=path, fix="give another --out")
    make_folder(out)
    terminal.note("reading the COCO 5K test captions and judgements from the installed packages ...")
    split = load_split("coco-5k", captions=True)
    reports = {}
    for name, dim in SYSTEMS.items():
        file = out / f"{name}.npz"
        terminal.note(f"computing vectors of {dim} dimensions from the captions (TF-IDF, truncated SVD): {file}")
        images, captions = standin_embeddings(split, dim)
        with write_atomically(file, "wb") as stream:
            np.savez(
                stream, image_embeddings=images, text_embeddings=captions, image_ids=split.rows.ids,
                text_ids=split.columns.ids, image_of_text=split.owners,
            )  # fmt: skip
        with terminal.progress(f"ranking {name} (the first run compiles the kernels)") as progress:
            report = vsebench.evaluate(file, metrics=METRICS, lists=KEPT, progress=progress)
        reports[name] = with_command(report)
        reports[name].save(out / f"{name}.json")
    deliver(terminal, vsebench.joint(reports), full=False)
    page = f"{shown}: tables, charts and single queries of both; open it in a browser"
    try:
        vsebench.page(reports).save(shown)
    except MissingPackage as error:
        page = f"There is no page: {error.what} ({error.fix})"
    if not terminal.json:
        program = "vsebench" if shutil.which("vsebench") else sys.argv[0]
        saved = " ".join(str(out / f"{name}.json") for name in SYSTEMS)
        commands = (
            f"  {program} compare {saved}\n"
            f"  {program} eval YOUR_EMBEDDINGS.npz        (the arrays of a file: {program} inspect {file})"
        )
        terminal.say(f"\n{WORDS}\n\n{page}\n\nTry next:\n{commands}")
