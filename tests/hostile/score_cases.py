"""Arrays that are no score matrices."""

from __future__ import annotations

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import npz, raw, scores

S = good.good_scores()
TWO = np.array([[2.0, 1.0]], np.float32)


def spoiled(row: int, column: int, value: float) -> good.Array:
    """The good scores with one entry replaced."""
    out = S.copy()
    out[row, column] = value
    return out


CASES = [
    Case(
        "scores transposed",
        lambda f: scores(f, S.T),
        3,
        "scores.npy: score matrix has shape (300, 60) and looks transposed (300 image rows and 60",
    ),
    Case(
        "scores NaN",
        lambda f: scores(f, spoiled(4, 9, np.nan)),
        3,
        "scores.npy: image (score) row 4 holds nan in column 9",
    ),
    Case(
        "scores minus infinity",
        lambda f: scores(f, spoiled(59, 299, -np.inf)),
        3,
        "scores.npy: image (score) row 59 holds -inf: pairs that were never scored",
    ),
    Case(
        "scores 1-D",
        lambda f: scores(f, S.ravel()),
        3,
        "scores.npy: array 'scores.npy' has shape (18000,); scores are two-dimensional",
    ),
    Case(
        "scores 3-D",
        lambda f: scores(f, S[None]),
        3,
        "scores.npy: array 'scores.npy' has shape (1, 60, 300); scores are two-dimensional",
    ),
    Case(
        "scores 0-D",
        lambda f: scores(f, np.array(1, np.float32)),
        3,
        "scores.npy: array 'scores.npy' has shape (); scores are two-dimensional",
    ),
    Case("scores empty", lambda f: scores(f, S[:0]), 3, "scores.npy: score matrix is empty: shape (0, 300)"),
    Case(
        "scores without columns", lambda f: scores(f, S[:, :0]), 3, "scores.npy: score matrix is empty: shape (60, 0)"
    ),
    Case(
        "scores of odd shape",
        lambda f: scores(f, S[:, :-7]),
        3,
        "scores.npy: 293 texts for 60 images, and no image_of_text that gives the image of every",
    ),
    Case(
        "scores of integers",
        lambda f: scores(f, (S * 100).astype(int)),
        3,
        "scores.npy: array 'scores.npy' (60, 300) is int64, expected float16, float32 or float64",
    ),
    Case(
        "scores of objects",
        lambda f: scores(f, np.array([[None, 1]], object)),
        3,
        "scores.npy: holds pickled Python objects, which are never read: they could run code",
    ),
    Case(
        "scores of text",
        lambda f: scores(f, np.array([["a", "b"]])),
        3,
        "scores.npy: array 'scores.npy' (1, 2) is str, expected float16, float32 or float64",
    ),
    Case(
        "scores shape and split differ",
        lambda f: scores(f, S, "--split", "coco-5k"),
        3,
        "scores.npy: 60 image rows, but split 'coco-5k' has 5,000 images",
        ("eccv_caption",),
    ),
    Case(
        "scores and ids transposed",
        lambda f: ["eval", "--scores", npz(f, image_embeddings=None, text_embeddings=None, scores=S.T)[1]],
        3,
        "e.npz: score matrix has shape (300, 60) and there are 60 image ids; the matrix looks",
    ),
    Case(
        "embeddings given as scores",
        lambda f: ["eval", "--scores", npz(f)[1]],
        3,
        "e.npz: has no scores under a known name; it holds image_embeddings (60, 16) float32,",
    ),
    Case(
        "scores given as embeddings",
        lambda f: ["eval", scores(f, S)[2]],
        3,
        "scores.npy: holds one array (60, 300), five columns a row: this looks like a score matrix",
    ),
    Case(
        "npz of scores given as embeddings",
        lambda f: npz(f, image_embeddings=None, text_embeddings=None, scores=S),
        3,
        "e.npz: has no image vectors and no text vectors under a known name; it holds image_ids",
    ),
    Case(
        "scores in JSON",
        lambda f: ["eval", "--scores", raw(f, "s.json", b"[[1, 2], [3, 4]]")[1]],
        3,
        "s.json: is a JSON file, not a score matrix",
    ),
    Case(
        "scores in float16",
        lambda f: scores(f, S.round().astype(np.float16)),
        0,
        "warning: scores are float16: many pairs tie that have different scores in float32; save float32 scores",
    ),
    Case(
        "scores of one image",
        lambda f: scores(f, TWO, "--captions-per-image", "2"),
        0,
        "taken to be 2 texts an image, in order",
    ),
    Case(
        "scores of 1e300",
        lambda f: scores(f, S.astype(np.float64) * 1e300),
        0,
        "taken to be five texts an image, in order",
    ),
]
