"""Arrays that are no score matrices."""

from __future__ import annotations

import numpy as np

from tests.hostile import good
from tests.hostile.good import Case, npz, raw, scores

S = good.good_scores()
TWO = np.array([[2.0, 1.0]], np.float32)
NO_VECTORS = {"image_embeddings": None, "text_embeddings": None}


def spoiled(row: int, column: int, value: float) -> good.Array:
    out = S.copy()
    out[row, column] = value
    return out


CASES = [
    Case("scores transposed", lambda f: scores(f, S.T)),
    Case("scores NaN", lambda f: scores(f, spoiled(4, 9, np.nan))),
    Case("scores infinity", lambda f: scores(f, spoiled(59, 299, np.inf))),
    Case("scores minus infinity", lambda f: scores(f, spoiled(59, 299, -np.inf)), code=0),
    Case("scores 1-D", lambda f: scores(f, S.ravel())),
    Case("scores 3-D", lambda f: scores(f, S[None])),
    Case("scores 0-D", lambda f: scores(f, np.array(1, np.float32))),
    Case("scores empty", lambda f: scores(f, S[:0])),
    Case("scores without columns", lambda f: scores(f, S[:, :0])),
    Case("scores of odd shape", lambda f: scores(f, S[:, :-7])),
    Case("scores of integers", lambda f: scores(f, (S * 100).astype(int))),
    Case("scores of objects", lambda f: scores(f, np.array([[None, 1]], object))),
    Case("scores of text", lambda f: scores(f, np.array([["a", "b"]]))),
    Case("scores shape and split differ", lambda f: scores(f, S, "--split", "coco-5k"), needs=("eccv_caption",)),
    Case("scores and ids transposed", lambda f: ["eval", "--scores", npz(f, **NO_VECTORS, scores=S.T)[1]]),
    Case("embeddings given as scores", lambda f: ["eval", "--scores", npz(f)[1]]),
    Case("scores given as embeddings", lambda f: ["eval", scores(f, S)[2]]),
    Case("npz of scores given as embeddings", lambda f: npz(f, **NO_VECTORS, scores=S)),
    Case("scores in JSON", lambda f: ["eval", "--scores", raw(f, "s.json", b"[[1, 2], [3, 4]]")[1]]),
    Case("scores in float16", lambda f: scores(f, S.round().astype(np.float16)), code=0),
    Case("scores of one image", lambda f: scores(f, TWO, "--captions-per-image", "2"), code=0),
    Case("scores of 1e300", lambda f: scores(f, S.astype(np.float64) * 1e300), code=0),
]
