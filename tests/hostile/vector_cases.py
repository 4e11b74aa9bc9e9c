"""Arrays that are no embeddings or no score matrices: values, shapes, dtypes."""

from __future__ import annotations

import numpy as np

from tests.hostile import good
from tests.hostile.good import Case, bare, npz, pair, raw, scores, spoiled

X, Y = good.vectors()
STRUCTURED = np.zeros(good.IMAGES, [("a", "f4"), ("b", "f4")])
HALF = {"image_embeddings": np.round(X).astype(np.float16), "text_embeddings": np.round(Y).astype(np.float16)}
with np.errstate(over="ignore"):
    OVERFLOWN = (X * 1e5).astype(np.float16)

CASES = [
    Case("NaN in an image", lambda f: npz(f, **spoiled("image", 7, np.nan))),
    Case("infinity in a text", lambda f: npz(f, **spoiled("text", 299, -np.inf))),
    Case("float16 overflow", lambda f: npz(f, image_embeddings=OVERFLOWN)),
    Case("float64 beyond float32", lambda f: npz(f, image_embeddings=X.astype(np.float64) * 1e60)),
    Case("float64 below float32", lambda f: npz(f, text_embeddings=Y.astype(np.float64) * 1e-60)),
    Case("zero image vector", lambda f: npz(f, **spoiled("image", 12, 0, slice(None)))),
    Case("zero text vectors without ids", lambda f: bare(f, X, np.zeros_like(Y))),
    Case("negative zero", lambda f: npz(f, **spoiled("text", 3, -0.0, slice(None)))),
    Case("dimensions differ", lambda f: npz(f, image_embeddings=X[:, :8])),
    Case("region features", lambda f: npz(f, image_embeddings=np.ones((good.IMAGES, 36, 32), np.float32))),
    Case("region features in a pair", lambda f: pair(f, np.ones((60, 36, 32), np.float32), Y)),
    Case("1-D vectors", lambda f: npz(f, text_embeddings=Y[:, 0])),
    Case("0-D vectors", lambda f: npz(f, text_embeddings=np.float32(3))),
    Case("4-D vectors", lambda f: npz(f, image_embeddings=X.reshape(60, 2, 2, 4))),
    Case("no image at all", lambda f: bare(f, X[:0], Y[:0])),
    Case("no column at all", lambda f: bare(f, X[:, :0], Y[:, :0])),
    Case("integers", lambda f: npz(f, image_embeddings=(X * 100).astype(np.int64))),
    Case("quantised to bytes", lambda f: npz(f, text_embeddings=(Y * 10).astype(np.int8))),
    Case("booleans", lambda f: npz(f, image_embeddings=X > 0)),
    Case("complex numbers", lambda f: npz(f, image_embeddings=X.astype(np.complex64))),
    Case("strings", lambda f: npz(f, image_embeddings=X.astype(str))),
    Case("dates", lambda f: npz(f, image_embeddings=np.zeros((60, 16), "datetime64[s]"))),
    Case("structured", lambda f: npz(f, image_embeddings=STRUCTURED)),
    Case("long double", lambda f: npz(f, image_embeddings=X.astype(np.longdouble))),
    Case("object array", lambda f: npz(f, image_embeddings=X.astype(object))),
    Case("length 1e-30", lambda f: npz(f, image_embeddings=X * np.float32(1e-30))),
    Case("length 1e30", lambda f: npz(f, text_embeddings=Y * np.float32(1e30))),
    Case("one vector huge as an inner product", lambda f: [*npz(f, **spoiled("text", 0, 3e38)), "--similarity", "dot"]),
    Case("float16 ties", lambda f: npz(f, **HALF), code=0),
    Case("collapsed vectors", lambda f: npz(f, text_embeddings=np.ones_like(Y))),
    Case("collapsed vectors, trusted", lambda f: [*npz(f, text_embeddings=np.ones_like(Y)), "--trust"], code=0),
    Case("big-endian", lambda f: npz(f, image_embeddings=X.astype(">f4")), code=0),
    Case("Fortran order", lambda f: npz(f, image_embeddings=np.asfortranarray(X)), code=0),
    Case("one dimension", lambda f: npz(f, image_embeddings=X[:, :1], text_embeddings=Y[:, :1]), code=0),
    Case("one image", lambda f: bare(f, X[:1], Y[:5]), code=0),
    Case("image rows five times", lambda f: bare(f, np.repeat(X, 5, axis=0), Y), code=0),
]

S = good.good_scores()
TWO = np.array([[2.0, 1.0]], np.float32)
NO_VECTORS = {"image_embeddings": None, "text_embeddings": None}


def odd(row: int, column: int, value: float) -> good.Array:
    out = S.copy()
    out[row, column] = value
    return out


CASES += [
    Case("scores transposed", lambda f: scores(f, S.T)),
    Case("scores NaN", lambda f: scores(f, odd(4, 9, np.nan))),
    Case("scores infinity", lambda f: scores(f, odd(59, 299, np.inf))),
    Case("scores minus infinity", lambda f: scores(f, odd(59, 299, -np.inf)), code=0),
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
