"""``vsebench demo``: two systems on COCO 5K at full size, with its captions and judgements, without a model."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .results import Output
from .terminal import Terminal

if TYPE_CHECKING:
    from ..types import Vectors

OWN = Path("vsebench-demo")  # files of an earlier demo are replaced in this folder only
SYSTEMS = {"lsa-128": 128, "lsa-64": 64}  # dimensions
METRICS = "recall,eccv,NCS@10"
WORDS = """\
These vectors come from text, not from a vision model: each caption is compared with the other four captions of an
image (LSA vectors of the words, 128 and 64 dimensions), never with itself. They run the full task of 5,000 images x
25,000 captions without leakage. Their values describe no model."""


def run(terminal: Terminal, *, out: Path = OWN) -> None:
    """Build two systems from the captions of COCO 5K, evaluate them, and write a page that compares them.

    Args:
        out: folder for the vectors, the two reports and page.html.
    """
    import numpy as np

    import vsebench

    from ..errors import MissingPackage, UsageError
    from ..evaluation.assemble import with_command
    from ..evaluation.options import DEFAULT_KEPT_ITEMS
    from ..files.atomic import make_folder, write_atomically
    from ..sets.catalogue import load_split

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
        images, captions = standin_vectors(split.columns.texts or (), dim)
        with write_atomically(file, "wb") as stream:
            np.savez(
                stream, image_embeddings=images, text_embeddings=captions, image_ids=split.rows.ids,
                text_ids=split.columns.ids, image_of_text=split.owners,
            )  # fmt: skip
        with terminal.progress(f"ranking {name} (the first run compiles the kernels)") as progress:
            report = vsebench.evaluate(file, metrics=METRICS, lists=DEFAULT_KEPT_ITEMS, progress=progress)
        reports[name] = with_command(report)
        reports[name].save(out / f"{name}.json")
    Output(terminal).deliver(vsebench.compare(reports, tests=False))
    page = f"{shown}: tables, charts and single queries of both; open it in a browser"
    try:
        vsebench.page(reports).save(shown)
    except MissingPackage as error:
        page = f"No page was written: {error.what} ({error.fix})"
    if not terminal.json:
        program = "vsebench" if shutil.which("vsebench") else sys.argv[0]
        saved = " ".join(str(out / f"{name}.json") for name in SYSTEMS)
        commands = (
            f"  {program} compare {saved}\n"
            f"  {program} eval YOUR_EMBEDDINGS.npz        (the arrays of a file: {program} inspect {file})"
        )
        terminal.say(f"\n{WORDS}\n\n{page}\n\nTry next:\n{commands}")


def standin_vectors(captions: Sequence[str], dim: int) -> tuple[Vectors, Vectors]:
    """Image and caption vectors whose inner product compares a caption with the other four captions of an image.

    Each caption gets a unit vector of latent semantic analysis (TF-IDF, truncated SVD; Deerwester et al., 1990). Block
    j of an image is the normalised sum of the vectors of its captions except the j-th; caption j of an image has its
    vector in block j, and zeros in the four other blocks.

    Args:
        captions: (image * 5,) strings, the five of an image consecutive.
        dim: width of a block.

    Returns:
        images (image, 5 * dim) and captions (image * 5, 5 * dim), float32.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    from ..numeric import elementary
    from ..numeric.parallel import one_blas_thread

    column: dict[str, int] = {}
    word, ends = list[int](), [0]
    for caption in captions:
        word += [column.setdefault(w, len(column)) for w in re.findall("[a-z0-9]+", caption.lower())]
        ends.append(len(word))
    weights = csr_array((np.ones(len(word)), word, ends), shape=(len(captions), len(column)))
    weights.sum_duplicates()
    df = np.bincount(weights.indices, minlength=len(column))
    weights.data *= (elementary.log((1 + len(captions)) / (1 + df)) + 1)[weights.indices]
    length = np.sqrt(np.asarray((weights * weights).sum(axis=1)))
    weights.data /= np.repeat(length, np.diff(weights.indptr))
    with one_blas_thread():  # 1.5 Lanczos vectors for every singular vector: a quarter faster than the default of 2
        start, lanczos = np.ones(limit := min(weights.shape)), min(dim + max(dim // 2, 20), limit - 1)
        _, _, basis = svds(weights, k=dim, v0=start, ncv=lanczos, return_singular_vectors="vh")
    t = weights @ basis.T
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    own = t.reshape(-1, 5, dim)
    images, placed = np.empty(own.shape, np.float32), np.zeros((len(own), 5, 5, dim), np.float32)
    for j in range(5):
        # The sum of the others, not the sum of all minus the j-th: not even a rounding error of the j-th remains.
        others = np.delete(own, j, axis=1).sum(axis=1)
        images[:, j] = others / np.linalg.norm(others, axis=1, keepdims=True)
        placed[:, j, j] = own[:, j]
    return images.reshape(len(own), -1), placed.reshape(len(t), -1)
