"""Arrays that are no embeddings: values, shapes, dtypes."""

from __future__ import annotations

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import bare, npz, pair, spoiled

X, Y = good.vectors()
STRUCTURED = np.zeros(good.IMAGES, [("a", "f4"), ("b", "f4")])
HALF = {"image_embeddings": np.round(X).astype(np.float16), "text_embeddings": np.round(Y).astype(np.float16)}
with np.errstate(over="ignore"):
    OVERFLOWN = (X * 1e5).astype(np.float16)

CASES = [
    Case(
        "NaN in an image",
        lambda f: npz(f, **spoiled("image", 7, np.nan)),
        3,
        "e.npz: image row 7 (id 1007) holds nan in column 3",
    ),
    Case(
        "infinity in a text",
        lambda f: npz(f, **spoiled("text", 299, -np.inf)),
        3,
        "e.npz: text row 299 (id 5299) holds -inf in column 3",
    ),
    Case(
        "float16 overflow",
        lambda f: npz(f, image_embeddings=OVERFLOWN),
        3,
        "e.npz: image row 0 (id 1000) holds -inf in column 3 (60 such rows)",
    ),
    Case(
        "float64 beyond float32",
        lambda f: npz(f, image_embeddings=X.astype(np.float64) * 1e60),
        3,
        "e.npz: image row 0 (id 1000) has 1.34e+60 as its largest entry (60 such rows); lengths",
    ),
    Case(
        "float64 below float32",
        lambda f: npz(f, text_embeddings=Y.astype(np.float64) * 1e-60),
        3,
        "e.npz: text row 0 (id 5000) has 1.38e-60 as its largest entry (300 such rows); lengths",
    ),
    Case(
        "zero image vector",
        lambda f: npz(f, **spoiled("image", 12, 0, slice(None))),
        3,
        "e.npz: image row 12 (id 1012) is all zeros: it has no direction to compare",
    ),
    Case(
        "zero text vectors without ids",
        lambda f: bare(f, X, np.zeros_like(Y)),
        3,
        "e.npz: text row 0 is all zeros (300 such rows): it has no direction to compare",
    ),
    Case(
        "negative zero",
        lambda f: npz(f, **spoiled("text", 3, -0.0, slice(None))),
        3,
        "e.npz: text row 3 (id 5003) is all zeros: it has no direction to compare",
    ),
    Case(
        "dimensions differ",
        lambda f: npz(f, image_embeddings=X[:, :8]),
        3,
        "e.npz: image vectors have 8 numbers and text vectors 16",
    ),
    Case(
        "region features",
        lambda f: npz(f, image_embeddings=np.ones((good.IMAGES, 36, 32), np.float32)),
        3,
        "e.npz: image array has shape (60, 36, 32): 36 vectors of 32 numbers for each of 60",
    ),
    Case(
        "region features in a pair",
        lambda f: pair(f, np.ones((60, 36, 32), np.float32), Y),
        3,
        "images.npy: image array has shape (60, 36, 32): 36 vectors of 32 numbers for each of 60",
    ),
    Case(
        "1-D vectors",
        lambda f: npz(f, text_embeddings=Y[:, 0]),
        3,
        "e.npz: text array has shape (300,), expected (rows, dim)",
    ),
    Case(
        "0-D vectors",
        lambda f: npz(f, text_embeddings=np.float32(3)),
        3,
        "e.npz: text array has shape (), expected (rows, dim)",
    ),
    Case(
        "4-D vectors",
        lambda f: npz(f, image_embeddings=X.reshape(60, 2, 2, 4)),
        3,
        "e.npz: image array has shape (60, 2, 2, 4), expected (rows, dim)",
    ),
    Case("no image at all", lambda f: bare(f, X[:0], Y[:0]), 3, "e.npz: image array is empty: shape (0, 16)"),
    Case("no column at all", lambda f: bare(f, X[:, :0], Y[:, :0]), 3, "e.npz: image array is empty: shape (60, 0)"),
    Case(
        "integers",
        lambda f: npz(f, image_embeddings=(X * 100).astype(np.int64)),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is int64, expected float16, float32 or float64",
    ),
    Case(
        "quantised to bytes",
        lambda f: npz(f, text_embeddings=(Y * 10).astype(np.int8)),
        3,
        "e.npz: array 'text_embeddings' (300, 16) is int8, expected float16, float32 or float64",
    ),
    Case(
        "booleans",
        lambda f: npz(f, image_embeddings=X > 0),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is bool, expected float16, float32 or float64",
    ),
    Case(
        "complex numbers",
        lambda f: npz(f, image_embeddings=X.astype(np.complex64)),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is complex64, expected float16, float32 or",
    ),
    Case(
        "strings",
        lambda f: npz(f, image_embeddings=X.astype(str)),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is str, expected float16, float32 or float64",
    ),
    Case(
        "dates",
        lambda f: npz(f, image_embeddings=np.zeros((60, 16), "datetime64[s]")),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is datetime64[s], expected float16, float32 or",
    ),
    Case(
        "structured",
        lambda f: npz(f, image_embeddings=STRUCTURED),
        3,
        "e.npz: array 'image_embeddings' (60,) is structured, expected float16, float32 or float64",
    ),
    Case(
        "long double",
        lambda f: npz(f, image_embeddings=X.astype(np.longdouble)),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is float128, expected float16, float32 or float64",
    ),
    Case(
        "object array",
        lambda f: npz(f, image_embeddings=X.astype(object)),
        3,
        "e.npz: array 'image_embeddings' (60, 16) is object, expected float16, float32 or float64",
    ),
    Case(
        "length 1e-30",
        lambda f: npz(f, image_embeddings=X * np.float32(1e-30)),
        3,
        "e.npz: image row 0 (id 1000) has 1.34e-30 as its largest entry (60 such rows); lengths",
    ),
    Case(
        "length 1e30",
        lambda f: npz(f, text_embeddings=Y * np.float32(1e30)),
        3,
        "e.npz: text row 0 (id 5000) has 1.38e+30 as its largest entry (300 such rows); lengths",
    ),
    Case(
        "one vector huge as an inner product",
        lambda f: [*npz(f, **spoiled("text", 0, 3e38)), "--similarity", "dot"],
        3,
        "e.npz: text row 0 (id 5000) has 3e+38 as its largest entry; lengths from 1e-15 to 1e+15",
    ),
    Case(
        "float16 ties",
        lambda f: npz(f, **HALF),
        0,
        "· i2t: 9.7% of the relevant items (gt) tie exactly with another candidate",
    ),
    Case(
        "collapsed vectors",
        lambda f: npz(f, text_embeddings=np.ones_like(Y)),
        3,
        "e.npz: recall is at chance: image-to-text R@1 of 60 sampled images is 0.0% as read (R@10 0.0%, where",
    ),
    Case(
        "collapsed vectors, trusted",
        lambda f: [*npz(f, text_embeddings=np.ones_like(Y)), "--trust"],
        0,
        "(collapsed scores); by tie rule (--ties) R@1 is 0.00 to 100.00",
    ),
    Case("big-endian", lambda f: npz(f, image_embeddings=X.astype(">f4")), 0, "image_of_text holds image rows"),
    Case("Fortran order", lambda f: npz(f, image_embeddings=np.asfortranarray(X)), 0, "image_of_text holds image rows"),
    Case(
        "one dimension",
        lambda f: npz(f, image_embeddings=X[:, :1], text_embeddings=Y[:, :1]),
        0,
        "(collapsed scores); by tie rule (--ties)",
    ),
    Case(
        "one image",
        lambda f: bare(f, X[:1], Y[:5]),
        0,
        "warning: R@5, R@10: k is larger than a gallery of 1; everything counts as retrieved",
    ),
    Case(
        "image rows five times",
        lambda f: bare(f, np.repeat(X, 5, axis=0), Y),
        0,
        "every image row is repeated 5 times: 300 rows de-duplicated to 60",
    ),
    Case(
        "image rows five times with ids",
        lambda f: bare(f, np.repeat(X, 5, axis=0), Y, image_ids=np.repeat(np.arange(60), 5)),
        0,
        "every image row is repeated 5 times: 300 rows de-duplicated to 60",
    ),
    Case(
        "image rows five times with an owner by row",
        lambda f: bare(f, np.repeat(X, 5, axis=0), Y, image_of_text=np.arange(300)),
        0,
        "every image row is repeated 5 times: 300 rows de-duplicated to 60",
    ),
]
