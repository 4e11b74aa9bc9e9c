"""Embeddings computed from captions alone, so that an evaluation can be run without a model.

They use no pixels. The vectors of an image are computed from its captions, and a caption is compared with the vector
that the *other four* captions of an image give, so that no caption is compared with itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, UsageError
from ..numeric import elementary
from ..numeric.parallel import one_blas_thread
from ..options import spell
from ..types import Float, TestSet, Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CAPTIONS_PER_IMAGE = 5
DIM = 128
_WORD = re.compile(r"[a-z0-9]+")


def standin_embeddings(split: TestSet, dim: int = DIM) -> tuple[Vectors, Vectors]:
    """Image and caption vectors whose inner product compares a caption with the image's other captions.

    Each caption gets a unit LSA vector t (TF-IDF, truncated SVD; Deerwester et al., 1990). With j = 0-4 the index
    of a caption among those of its image, an image vector has five blocks, block j being the
    normalised sum of the vectors of its captions except the j-th; a caption vector has t in block j and zeros
    elsewhere. The same input gives the same vectors up to the last bits of the machine's linear algebra.

    Args:
        split: a split with its captions, five for every image.
        dim: width of a block.

    Returns:
        images (image, 5 * dim) and captions (caption, 5 * dim), float32, in the order of the split.

    Raises:
        UsageError: the split has no captions or not five captions for every image, or ``dim`` does not fit.
    """
    if split.columns.texts is None:
        raise UsageError(f"split '{split.name}' was loaded without captions", fix="load it with captions=True")
    counts = np.bincount(split.owners, minlength=len(split.rows.ids))
    odd = np.flatnonzero(counts != CAPTIONS_PER_IMAGE)
    if len(odd):
        raise UsageError(
            f"the stand-in needs {CAPTIONS_PER_IMAGE} captions for every image; image {split.rows.ids[odd[0]]} "
            f"has {counts[odd[0]]}",
            fix="use coco-5k or f30k",
        )
    by_image = np.argsort(split.owners, kind="stable")  # (image * 5,) captions, grouped, in their own order
    t = lsa(split.columns.texts, dim)[by_image]
    images, grouped = blocks(t)
    captions = np.empty_like(grouped)
    captions[by_image] = grouped
    return images, captions


def blocks(t: Float) -> tuple[Vectors, Vectors]:
    """Spread unit caption vectors over five blocks, leaving the j-th caption out of block j of its image.

    Args:
        t: (image * 5, dim) float64 unit rows, the five captions of an image consecutive.

    Returns:
        images (image, 5 * dim) and captions (image * 5, 5 * dim), float32.
    """
    n, dim = len(t) // CAPTIONS_PER_IMAGE, t.shape[1]
    own = t.reshape(n, CAPTIONS_PER_IMAGE, dim)
    images = np.empty((n, CAPTIONS_PER_IMAGE, dim), np.float32)
    captions = np.zeros((n, CAPTIONS_PER_IMAGE, CAPTIONS_PER_IMAGE, dim), np.float32)
    for j in range(CAPTIONS_PER_IMAGE):
        # The sum of the others, not the sum of all minus the j-th: so not even a rounding error of the j-th remains.
        others = own[:, [i for i in range(CAPTIONS_PER_IMAGE) if i != j]].sum(axis=1)
        images[:, j] = unit(others)
        captions[:, j, j] = own[:, j]
    return images.reshape(n, -1), captions.reshape(n * CAPTIONS_PER_IMAGE, -1)


def lsa(captions: Sequence[str], dim: int) -> Float:
    """Unit vectors of latent semantic analysis.

    Args:
        captions: (caption,) strings.
        dim: number of dimensions, at most the number of captions, and of distinct words, less two.

    Returns:
        (caption, dim) float64; a caption without words gets the first unit vector.

    Raises:
        UsageError: ``dim`` does not fit.
        BadInput: no caption has a word.
    """
    from scipy.sparse.linalg import svds

    weights = tfidf(captions)
    limit = min(weights.shape) - 2
    if not 1 <= dim <= limit:
        raise UsageError(
            f"dim {dim} is not between 1 and {limit}", fix=f"choose a smaller {spell('dim')} or more captions"
        )
    # 1.5 Lanczos vectors for every singular vector: a quarter faster than the default of 2.
    lanczos = min(dim + max(dim // 2, 20), limit + 1)
    start = np.ones(min(weights.shape))
    with one_blas_thread():
        _, _, basis = svds(weights, k=dim, v0=start, ncv=lanczos, return_singular_vectors="vh")
    basis = basis[::-1]  # largest singular value first
    largest = basis[np.arange(dim), np.abs(basis).argmax(axis=1)]
    basis = basis * np.where(largest < 0, -1.0, 1.0)[:, None]
    out: Float = unit(np.asarray(weights @ basis.T))
    return out


def tfidf(captions: Sequence[str]) -> csr_array[Any, Any]:
    """Unit TF-IDF rows: counts of words [a-z0-9]+ in lower case, times log((1 + n) / (1 + df)) + 1.

    Returns:
        (caption, word) float64, words in order of first appearance; a row without words is zero.

    Raises:
        BadInput: no caption has a word.
    """
    from scipy.sparse import csr_array

    column: dict[str, int] = {}
    word: list[int] = []
    ends = [0]
    for caption in captions:
        word += [column.setdefault(w, len(column)) for w in _WORD.findall(caption.lower())]
        ends.append(len(word))
    if not column:
        raise BadInput("no caption holds a word of letters a-z or digits", fix="give captions in English")
    counts = csr_array((np.ones(len(word)), word, ends), shape=(len(captions), len(column)))
    counts.sum_duplicates()
    df = np.bincount(counts.indices, minlength=len(column))
    row = np.repeat(np.arange(len(captions)), np.diff(counts.indptr))
    data = counts.data * (elementary.log((1 + len(captions)) / (1 + df)) + 1)[counts.indices]
    length = np.sqrt(np.bincount(row, weights=data * data, minlength=len(captions)))
    return csr_array((data / length[row], counts.indices, counts.indptr), shape=counts.shape)


def unit(rows: Float) -> Float:
    """Rows scaled to length 1; a row of (almost) zeros becomes the first unit vector, so that none is zero."""
    length = np.linalg.norm(rows, axis=1)
    tiny = length < 1e-9
    out = rows / np.where(tiny, 1.0, length)[:, None]
    out[tiny] = 0.0
    out[tiny, 0] = 1.0
    return out
