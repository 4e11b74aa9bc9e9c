"""Vectors that are no embeddings: values, shapes, dtypes."""

from __future__ import annotations

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import bare, npz, pair, spoiled

X, Y = good.vectors()
STRUCTURED = np.zeros(good.IMAGES, [("a", "f4"), ("b", "f4")])
HALF = {"image_embeddings": np.round(X).astype(np.float16), "text_embeddings": np.round(Y).astype(np.float16)}

CASES = [
    Case("NaN in an image", lambda f: npz(f, **spoiled("image", 7, np.nan)), 3, "?"),
    Case("infinity in a text", lambda f: npz(f, **spoiled("text", 299, -np.inf)), 3, "?"),
    Case("float16 overflow", lambda f: npz(f, image_embeddings=(X * 1e5).astype(np.float16)), 3, "?"),
    Case("float64 beyond float32", lambda f: npz(f, image_embeddings=X.astype(np.float64) * 1e60), 3, "?"),
    Case("float64 below float32", lambda f: npz(f, text_embeddings=Y.astype(np.float64) * 1e-60), 3, "?"),
    Case("zero image vector", lambda f: npz(f, **spoiled("image", 12, 0, slice(None))), 3, "?"),
    Case("zero text vectors without ids", lambda f: bare(f, X, np.zeros_like(Y)), 3, "?"),
    Case("negative zero", lambda f: npz(f, **spoiled("text", 3, -0.0, slice(None))), 3, "?"),
    Case("dimensions differ", lambda f: npz(f, image_embeddings=X[:, :8]), 3, "?"),
    Case("region features", lambda f: npz(f, image_embeddings=np.ones((good.IMAGES, 36, 32), np.float32)), 3, "?"),
    Case("region features in a pair", lambda f: pair(f, np.ones((60, 36, 32), np.float32), Y), 3, "?"),
    Case("1-D vectors", lambda f: npz(f, text_embeddings=Y[:, 0]), 3, "?"),
    Case("0-D vectors", lambda f: npz(f, text_embeddings=np.float32(3)), 3, "?"),
    Case("4-D vectors", lambda f: npz(f, image_embeddings=X.reshape(60, 2, 2, 4)), 3, "?"),
    Case("no image at all", lambda f: bare(f, X[:0], Y[:0]), 3, "?"),
    Case("no column at all", lambda f: bare(f, X[:, :0], Y[:, :0]), 3, "?"),
    Case("integers", lambda f: npz(f, image_embeddings=(X * 100).astype(np.int64)), 3, "?"),
    Case("quantised to bytes", lambda f: npz(f, text_embeddings=(Y * 10).astype(np.int8)), 3, "?"),
    Case("booleans", lambda f: npz(f, image_embeddings=X > 0), 3, "?"),
    Case("complex numbers", lambda f: npz(f, image_embeddings=X.astype(np.complex64)), 3, "?"),
    Case("strings", lambda f: npz(f, image_embeddings=X.astype(str)), 3, "?"),
    Case("dates", lambda f: npz(f, image_embeddings=np.zeros((60, 16), "datetime64[s]")), 3, "?"),
    Case("structured", lambda f: npz(f, image_embeddings=STRUCTURED), 3, "?"),
    Case("long double", lambda f: npz(f, image_embeddings=X.astype(np.longdouble)), 3, "?"),
    Case("object array", lambda f: npz(f, image_embeddings=X.astype(object)), 3, "?"),
    Case("length 1e-30", lambda f: npz(f, image_embeddings=X * np.float32(1e-30)), 3, "?"),
    Case("length 1e30", lambda f: npz(f, text_embeddings=Y * np.float32(1e30)), 3, "?"),
    Case("one vector huge as an inner product", lambda f: [*npz(f, **spoiled("text", 0, 3e38)), "--similarity", "dot"], 3, "?"),
    Case("float16 ties", lambda f: npz(f, **HALF), 0, "?"),
    Case("collapsed vectors", lambda f: npz(f, text_embeddings=np.ones_like(Y)), 0, "?"),
    Case("big-endian", lambda f: npz(f, image_embeddings=X.astype(">f4")), 0, "?"),
    Case("Fortran order", lambda f: npz(f, image_embeddings=np.asfortranarray(X)), 0, "?"),
    Case("one dimension", lambda f: npz(f, image_embeddings=X[:, :1], text_embeddings=Y[:, :1]), 0, "?"),
    Case("one image", lambda f: bare(f, X[:1], Y[:5]), 0, "?"),
    Case("image rows five times", lambda f: bare(f, np.repeat(X, 5, axis=0), Y), 0, "?"),
    Case(
        "image rows five times with ids",
        lambda f: bare(f, np.repeat(X, 5, axis=0), Y, image_ids=np.repeat(np.arange(60), 5)),
        0,
        "?",
    ),
    Case(
        "image rows five times with an owner by row",
        lambda f: bare(f, np.repeat(X, 5, axis=0), Y, image_of_text=np.arange(300)),
        0,
        "?",
    ),
]
