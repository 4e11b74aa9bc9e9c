"""Ids and image_of_text that do not fit, images and texts exchanged, rows in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile import good
from tests.hostile.good import Case, arrays, bare, npz

X, Y = good.vectors()
OWNER = np.arange(good.TEXTS) // good.TIMES
MAJOR = Y.reshape(good.IMAGES, good.TIMES, -1).swapaxes(0, 1).reshape(good.TEXTS, -1)
SHUFFLED = np.random.default_rng(3).permutation(good.IMAGES)
NAMES = np.array([f"фото-{i:03}-写真" for i in range(good.IMAGES)])
LETTERS = OWNER.astype(str) + np.array("x")
TWICE = NAMES[SHUFFLED[SHUFFLED]]
SPLIT = ("--split", "coco-5k")
CUSTOM = ("--split", "custom")
COCO = ("eccv_caption",)


def changed(name: str, row: int | slice, value: Any) -> dict[str, Any]:
    """``{name: array}`` with one entry replaced."""
    array = arrays()[name].copy()
    array[row] = value
    return {name: array}


def coco(folder: Path, *more: str, images: Any = slice(None), texts: Any = slice(None), **change: Any) -> list[str]:
    """A file of COCO 5K, two numbers a vector, or some of its rows."""
    from vsebench.sets import catalogue as splits

    split = splits.load_split("coco-5k")
    angle = np.linspace(0, 6, len(split.rows.ids))
    circle = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    full = {
        "image_embeddings": circle[images],
        "text_embeddings": circle[split.image_of][texts],
        "image_ids": split.rows.ids[images],
        "text_ids": split.columns.ids[texts],
        "image_of_text": None,
    }
    return [*npz(folder, **{**full, **{k: v(full[k]) for k, v in change.items()}}), *more]


def part(images: int) -> dict[str, slice]:
    """The first images, and the texts of sixty."""
    return {"images": slice(images), "texts": slice(300)}


def swap(folder: Path) -> list[str]:
    """COCO ids with the sides exchanged."""
    with np.load(coco(folder)[1]) as file:
        a = dict(file)
    other = {"image": "text", "text": "image"}
    sides = {f"{side}_{what}": a[f"{other[side]}_{what}"] for side in other for what in ("embeddings", "ids")}
    return npz(folder, **sides, image_of_text=None)


def replaced(row: int, value: Any) -> Any:
    """A function that replaces one entry."""

    def change(array: Any) -> Any:
        out = array.copy()
        out[row] = value
        return out

    return change


CASES = [
    Case("image id twice", lambda f: npz(f, **changed("image_ids", 9, 1003))),
    Case("text id twice", lambda f: npz(f, **changed("text_ids", 299, 5000))),
    Case("fewer ids than rows", lambda f: npz(f, image_ids=np.arange(59))),
    Case("more text ids than rows", lambda f: npz(f, text_ids=np.arange(301))),
    Case("2-D ids", lambda f: npz(f, image_ids=np.arange(120).reshape(60, 2))),
    Case("ids with fractions", lambda f: npz(f, image_ids=np.arange(60) + 0.5)),
    Case("ids beyond int64", lambda f: npz(f, image_ids=np.arange(60, dtype=np.uint64) + np.uint64(2**63))),
    Case("ids as objects", lambda f: npz(f, image_ids=np.array([str(i) for i in range(60)], object))),
    Case("ids that are no UTF-8", lambda f: npz(f, image_ids=np.array([b"\xff%d" % i for i in range(60)]))),
    Case("image_of_text out of range", lambda f: npz(f, **changed("image_of_text", 17, 60))),
    Case("image_of_text negative", lambda f: npz(f, **changed("image_of_text", 0, -1))),
    Case("image_of_text out of range without ids", lambda f: npz(f, image_ids=None, **changed("image_of_text", 4, 77))),
    Case("image_of_text too short", lambda f: npz(f, image_of_text=OWNER[:-1])),
    Case("image_of_text of the images", lambda f: npz(f, image_of_text=np.arange(60))),
    Case("image_of_text as names without ids", lambda f: bare(f, X, Y, image_of_text=LETTERS)),
    Case("image_of_text empty", lambda f: npz(f, image_of_text=OWNER[:0])),
    Case("image without a text", lambda f: npz(f, **changed("image_of_text", slice(5, 10), 0)), code=0),
    Case("sides exchanged, by shape", lambda f: bare(f, Y, X)),
    Case("four texts an image", lambda f: bare(f, X, Y[:240])),
    Case("wrong number of rows", lambda f: bare(f, X, Y[:-1])),
    Case("texts image by image within captions", lambda f: bare(f, X, MAJOR)),
    Case("texts in that order, trusted", lambda f: [*bare(f, X, MAJOR), "--trust"], code=0),
    Case("image_of_text of the wrong order", lambda f: npz(f, text_embeddings=MAJOR, text_ids=None, image_ids=None)),
    Case("image ids of another order", lambda f: npz(f, image_ids=NAMES[SHUFFLED], image_of_text=TWICE[OWNER])),
    Case("image_of_text of ids or rows", lambda f: npz(f, image_ids=SHUFFLED, image_of_text=SHUFFLED[OWNER])),
    Case("ids that do not give the image", lambda f: npz(f, image_of_text=None)),
    Case("unicode ids", lambda f: npz(f, image_ids=NAMES, image_of_text=NAMES[OWNER]), code=0),
    Case("ids with NUL inside", lambda f: npz(f, image_ids=np.array([f"a\0{i}" for i in range(60)])), code=0),
    Case("very long ids", lambda f: npz(f, image_ids=np.array(["x" * 5000 + str(i % 30) for i in range(60)]))),
    Case("ids with markup and escapes", lambda f: npz(f, image_ids=np.array(["[bold]\x1b[31m"] * 60))),
    Case("COCO sides exchanged, by ids", swap, needs=COCO),
    Case("COCO sides exchanged, split named", lambda f: [*swap(f), *SPLIT], needs=COCO),
    Case("COCO image missing", lambda f: coco(f, images=slice(1, None)), needs=COCO),
    Case("COCO captions missing", lambda f: coco(f, *SPLIT, texts=slice(0, 24000)), needs=COCO),
    Case("COCO caption unknown", lambda f: coco(f, text_ids=replaced(3, 1)), needs=COCO),
    Case("COCO id twice", lambda f: coco(f, image_ids=replaced(1, 391895)), needs=COCO),
    Case("COCO rows short, no ids", lambda f: [*bare(f, X, Y), *SPLIT], needs=COCO),
    Case("COCO exchanged, no ids", lambda f: [*bare(f, np.ones((25000, 2)), np.ones((5000, 2))), *SPLIT], needs=COCO),
    Case("names where COCO has numbers", lambda f: [*npz(f, image_ids=NAMES), *SPLIT], needs=COCO),
    Case("unknown image ids as coco-5k", lambda f: [*npz(f), *SPLIT], needs=COCO),
    Case("part of COCO", lambda f: coco(f, **part(60)), needs=COCO),
    Case("part of COCO as custom", lambda f: coco(f, *CUSTOM, **part(60)), code=0, needs=COCO),
    Case("texts of absent images", lambda f: coco(f, *CUSTOM, **part(50)), needs=COCO),
]
