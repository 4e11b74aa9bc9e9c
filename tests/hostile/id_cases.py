"""Ids and image_of_text that do not fit, images and texts exchanged, rows in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import arrays, bare, npz

X, Y = good.vectors()
OWNER = np.arange(good.TEXTS) // good.TIMES
MAJOR = Y.reshape(good.IMAGES, good.TIMES, -1).swapaxes(0, 1).reshape(good.TEXTS, -1)
SHUFFLED = np.random.default_rng(3).permutation(good.IMAGES)
NAMES = np.array([f"фото-{i:03}-写真" for i in range(good.IMAGES)])
CUSTOM = ("--split", "custom")
COCO = ("eccv_caption",)


def changed(name: str, row: int | slice, value: Any) -> dict[str, Any]:
    """``{name: array}`` with one entry replaced."""
    array = arrays()[name].copy()
    array[row] = value
    return {name: array}


def coco(folder: Path, *more: str, images: Any = slice(None), texts: Any = slice(None), **change: Any) -> list[str]:
    """A file of COCO 5K, two numbers a vector, or some of its rows."""
    from vsebench.data.splits import catalogue as splits

    split = splits.load_split("coco-5k")
    angle = np.linspace(0, 6, len(split.image_ids))
    circle = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    full = {
        "image_embeddings": circle[images],
        "text_embeddings": circle[split.image_of][texts],
        "image_ids": split.image_ids[images],
        "text_ids": split.caption_ids[texts],
        "image_of_text": None,
    }
    return [*npz(folder, **{**full, **{k: v(full[k]) for k, v in change.items()}}), *more]


def swap(folder: Path) -> list[str]:
    """COCO ids with the sides exchanged."""
    command = coco(folder)
    with np.load(command[1]) as file:
        a = dict(file)
    return npz(
        folder,
        image_embeddings=a["text_embeddings"],
        text_embeddings=a["image_embeddings"],
        image_ids=a["text_ids"],
        text_ids=a["image_ids"],
        image_of_text=None,
    )


def replaced(row: int, value: Any) -> Any:
    """A function that replaces one entry."""

    def change(array: Any) -> Any:
        out = array.copy()
        out[row] = value
        return out

    return change


CASES = [
    Case(
        "image id twice",
        lambda f: npz(f, **changed("image_ids", 9, 1003)),
        3,
        "e.npz: 1 image id occurs more than once (first: 1003, in rows 3 and 9)",
    ),
    Case(
        "text id twice",
        lambda f: npz(f, **changed("text_ids", 299, 5000)),
        3,
        "e.npz: 1 text id occurs more than once (first: 5000, in rows 0 and 299)",
    ),
    Case("fewer ids than rows", lambda f: npz(f, image_ids=np.arange(59)), 3, "e.npz: 59 image ids for 60 image rows"),
    Case(
        "more text ids than rows", lambda f: npz(f, text_ids=np.arange(301)), 3, "e.npz: 301 text ids for 300 text rows"
    ),
    Case(
        "2-D ids", lambda f: npz(f, image_ids=np.arange(120).reshape(60, 2)), 3, "e.npz: 'image_ids' has shape (60, 2)"
    ),
    Case(
        "ids with fractions",
        lambda f: npz(f, image_ids=np.arange(60) + 0.5),
        3,
        "e.npz: 'image_ids'[0] = 0.5 is not an integer",
    ),
    Case(
        "ids beyond int64",
        lambda f: npz(f, image_ids=np.arange(60, dtype=np.uint64) + np.uint64(2**63)),
        3,
        "e.npz: 'image_ids' holds 9223372036854775867, which is not an int64",
    ),
    Case(
        "ids as objects",
        lambda f: npz(f, image_ids=np.array([str(i) for i in range(60)], object)),
        3,
        "e.npz: array 'image_ids' (60,) is object; ids are integers or strings",
    ),
    Case(
        "ids that are no UTF-8",
        lambda f: npz(f, image_ids=np.array([b"\xff%d" % i for i in range(60)])),
        3,
        "e.npz: 'image_ids'[0] = b'\\xff0' is not UTF-8",
    ),
    Case(
        "image_of_text out of range",
        lambda f: npz(f, **changed("image_of_text", 17, 60)),
        3,
        "e.npz: image_of_text[17] = 60 is neither an image row (60 rows) nor an image id",
    ),
    Case(
        "image_of_text negative",
        lambda f: npz(f, **changed("image_of_text", 0, -1)),
        3,
        "e.npz: image_of_text[0] = -1 is neither an image row (60 rows) nor an image id",
    ),
    Case(
        "image_of_text out of range without ids",
        lambda f: npz(f, image_ids=None, **changed("image_of_text", 4, 77)),
        3,
        "e.npz: image_of_text[4] = 77 is not an image row (there are 60) and the file has no image",
    ),
    Case(
        "image_of_text too short",
        lambda f: npz(f, image_of_text=OWNER[:-1]),
        3,
        "e.npz: image_of_text has 299 entries for 300 text rows",
    ),
    Case(
        "image_of_text of the images",
        lambda f: npz(f, image_of_text=np.arange(60)),
        3,
        "e.npz: images and texts look swapped: image_of_text has 60 entries, as many as there are",
    ),
    Case(
        "image_of_text as names without ids",
        lambda f: bare(f, X, Y, image_of_text=OWNER.astype(str) + np.array("x")),
        3,
        "e.npz: image_of_text[0] = 0x is not an image row (there are 60) and the file has no image",
    ),
    Case(
        "image_of_text empty",
        lambda f: npz(f, image_of_text=OWNER[:0]),
        3,
        "e.npz: image_of_text has 0 entries for 300 text rows",
    ),
    Case(
        "image without a text",
        lambda f: npz(f, **changed("image_of_text", slice(5, 10), 0)),
        0,
        "1 of the 60 images has no text (first: image row 1 (id 1001)): candidates in",
    ),
    Case(
        "sides exchanged, by shape",
        lambda f: bare(f, Y, X),
        3,
        "e.npz: images and texts look swapped: 300 image rows and 60 text rows",
    ),
    Case(
        "four texts an image",
        lambda f: bare(f, X, Y[:240]),
        3,
        "e.npz: 240 texts for 60 images, and no image_of_text that gives the image of every",
    ),
    Case(
        "wrong number of rows",
        lambda f: bare(f, X, Y[:-1]),
        3,
        "e.npz: 299 texts for 60 images, and no image_of_text that gives the image of every",
    ),
    Case(
        "texts image by image within captions",
        lambda f: bare(f, X, MAJOR),
        3,
        "e.npz: recall is at chance: image-to-text R@1 of 60 sampled images is 3.3% as read (R@10 15.0%, where",
    ),
    Case(
        "texts in that order, trusted",
        lambda f: [*bare(f, X, MAJOR), "--trust"],
        0,
        "warning: recall is at chance: image-to-text R@1 of 60 sampled images is 3.3% as read",
    ),
    Case(
        "image_of_text of the wrong order",
        lambda f: npz(f, text_embeddings=MAJOR, text_ids=None, image_ids=None),
        3,
        "e.npz: recall is at chance: image-to-text R@1 of 60 sampled images is 3.3% as read (R@10 15.0%, where",
    ),
    Case(
        "image ids of another order",
        lambda f: npz(f, image_ids=NAMES[SHUFFLED], image_of_text=NAMES[SHUFFLED[SHUFFLED]][OWNER]),
        3,
        "e.npz: recall is below chance: image-to-text R@1 of 60 sampled images is 0.0% as read",
    ),
    Case(
        "image_of_text of ids or rows",
        lambda f: npz(f, image_ids=SHUFFLED, image_of_text=SHUFFLED[OWNER]),
        3,
        "e.npz: image_of_text can be read as image rows and as image ids, which differ for",
    ),
    Case(
        "ids that do not give the image",
        lambda f: npz(f, image_of_text=None),
        3,
        "e.npz: the ids do not give the image of a text: image ids such as '1000' and text ids such as",
    ),
    Case(
        "unicode ids", lambda f: npz(f, image_ids=NAMES, image_of_text=NAMES[OWNER]), 0, "image_of_text holds image ids"
    ),
    Case(
        "ids with NUL inside",
        lambda f: npz(f, image_ids=np.array([f"a\0{i}" for i in range(60)])),
        0,
        "image_of_text holds image rows",
    ),
    Case(
        "very long ids",
        lambda f: npz(f, image_ids=np.array(["x" * 5000 + str(i % 30) for i in range(60)])),
        3,
        "e.npz: 30 image ids occur more than once (first:",
    ),
    Case(
        "ids with markup and escapes",
        lambda f: npz(f, image_ids=np.array(["[bold]\x1b[31m"] * 60)),
        3,
        "e.npz: 1 image id occurs more than once (first: [bold]\\x1b[31m, in rows 0 and 1)",
    ),
    Case(
        "COCO sides exchanged, by ids",
        swap,
        3,
        "e.npz: images and texts look swapped: the image ids are COCO caption ids and the text ids",
        COCO,
    ),
    Case(
        "COCO sides exchanged, split named",
        lambda f: [*swap(f), "--split", "coco-5k"],
        3,
        "e.npz: images and texts look swapped: the image ids are the other side's ids of 'coco-5k'",
        COCO,
    ),
    Case(
        "COCO image missing",
        lambda f: coco(f, images=slice(1, None)),
        3,
        "e.npz: 1 of the 5,000 image ids of split 'coco-5k' is missing (first: 391895)",
        COCO,
    ),
    Case(
        "COCO captions missing",
        lambda f: coco(f, "--split", "coco-5k", texts=slice(0, 24000)),
        3,
        "e.npz: 1,000 of the 25,000 text ids of split 'coco-5k' are missing (first: 79580)",
        COCO,
    ),
    Case(
        "COCO caption unknown",
        lambda f: coco(f, text_ids=replaced(3, 1)),
        3,
        "e.npz: 1 of the 25,000 text ids of split 'coco-5k' is missing (first: 776154); 1 text",
        COCO,
    ),
    Case(
        "COCO id twice",
        lambda f: coco(f, image_ids=replaced(1, 391895)),
        3,
        "e.npz: 1 image id occurs more than once (first: 391895, in rows 0 and 1)",
        COCO,
    ),
    Case(
        "COCO rows short, no ids",
        lambda f: [*bare(f, X, Y), "--split", "coco-5k"],
        3,
        "e.npz: 60 image rows, but split 'coco-5k' has 5,000 images",
        COCO,
    ),
    Case(
        "COCO exchanged, no ids",
        lambda f: [*bare(f, np.ones((25000, 2), "f2"), np.ones((5000, 2), "f2")), "--split", "coco-5k"],
        3,
        "e.npz: images and texts look swapped: 25,000 image rows and 5,000 text rows for 'coco-5k'",
        COCO,
    ),
    Case(
        "names where COCO has numbers",
        lambda f: [*npz(f, image_ids=NAMES), "--split", "coco-5k"],
        3,
        "e.npz: image ids such as 'фото-000-写真' are not ids of split 'coco-5k' (such as '391895')",
        COCO,
    ),
    Case(
        "unknown image ids as coco-5k",
        lambda f: [*npz(f), "--split", "coco-5k"],
        3,
        "e.npz: 5,000 of the 5,000 image ids of split 'coco-5k' are missing (first: 391895); 60",
        COCO,
    ),
    Case(
        "part of COCO",
        lambda f: coco(f, images=slice(0, 60), texts=slice(0, 300)),
        3,
        "e.npz: 4,940 of the 5,000 image ids of split 'coco-5k' are missing (first: 75162)",
        COCO,
    ),
    Case(
        "part of COCO as custom",
        lambda f: coco(f, *CUSTOM, images=slice(0, 60), texts=slice(0, 300)),
        0,
        "the image of every text is known from the COCO ids",
        COCO,
    ),
    Case(
        "texts of absent images",
        lambda f: coco(f, *CUSTOM, images=slice(0, 50), texts=slice(0, 300)),
        3,
        "e.npz: 50 texts belong to images that are not in the file (first: caption 254612 of image",
        COCO,
    ),
]
