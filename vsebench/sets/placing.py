"""Rows without ids, beside the items that are evaluated: which row is of which item, and the note that says so.

One rule for all that is given beside the vectors or scores of an evaluation: matrices, labels, vectors, captions. Rows
are in the order of a test set that has one of its own; of a custom one they are in the order of the rows that are
evaluated, as the user does not see the order of its items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import BadInput
from ..options import spell
from ..types import Int, Modality, TestSet
from .declared import DECLARED, DeclaredSplit

BATCHES = (*(2**i for i in range(3, 13)), 96, 100, 192, 200, 384, 400, 500)  # usual sizes of a data loader
FOLD = (1_000, 5_000)  # images and captions
NEAR = 0.02  # rows that may be missing or too many, as a share of the split


def suggestion(n_image: int, n_text: int) -> str:
    """One sentence for the user; empty when the numbers are not those of a declared split, nor nearly.

    Args:
        n_image: number of image rows.
        n_text: number of text rows.
    """
    for split in (s for s in DECLARED.values() if s.built_as == s.name):
        if (n_image, n_text) == (split.images, split.captions):
            name = split.name
            also = " and of a fold of COCO 1K" if (n_image, n_text) == FOLD else ""
            return (
                f"{_counts(n_image, n_text)} are the numbers of {name}{also}: give {spell('split', name)} if the rows "
                "are those of this set in its order (Karpathy's), for its judgements and captions, or "
                f"{spell('split', 'custom')} if they are not"
            )
        cause = _cause(n_image, n_text, split)
        if cause:
            numbers = f"the {split.images:,} and {split.captions:,} of {split.name}"
            return f"{_counts(n_image, n_text)} are nearly {numbers}: {cause}"
    return ""


def _counts(n_image: int, n_text: int) -> str:
    return f"{n_image:,} images and {n_text:,} texts"


def _cause(n_image: int, n_text: int, split: DeclaredSplit) -> str:
    """Why the rows may be those of a split, though their numbers differ; empty when they are too different."""
    images, texts = split.images, split.captions
    if n_image == n_text == texts and n_text not in (s.images for s in DECLARED.values()):
        return (
            "every image was encoded once for each of its texts, and its rows differ (dropout or random crops?); "
            "encode in evaluation mode and save every image once"
        )
    if n_image == images and n_text == 25_010:
        return "ten images of COCO have six captions, and the split has the first five of every image"
    if (n_image, n_text) == (1_014, 5_070):
        return "these are the numbers of Flickr30K's validation set"
    dropped = [_batches(n, all_rows) for n, all_rows in ((n_image, images), (n_text, texts)) if n < all_rows]
    if n_image <= images and n_text <= texts and dropped and all(dropped):
        sizes = " or ".join(str(b) for b in dropped[0])
        return (
            "the last rows are missing, as a data loader with drop_last=True leaves them out "
            f"(batches of {sizes}); set drop_last=False"
        )
    if abs(n_image - images) > NEAR * images or abs(n_text - texts) > NEAR * texts:
        return ""
    if n_image >= images and n_text >= texts:
        return (
            "rows occur twice, as a distributed sampler repeats some so that all processes have as many; keep the "
            f"first {images:,} and {texts:,} in order"
        )
    return "some items were not encoded, or lost; encode all, or give image_ids and text_ids to find which"


def _batches(n: int, all_rows: int) -> list[int]:
    """The sizes of complete batches that hold ``n`` of ``all_rows`` rows and leave less than one batch."""
    return sorted(b for b in BATCHES if n == all_rows // b * b)


SIDES: tuple[Modality, ...] = ("image", "caption")
Rows = tuple[Int | None, Int | None]  # (image,) and (caption,) row of every item, None where it is the index


def in_one_order(splits: Sequence[TestSet]) -> TestSet:
    """The first of some splits with the same items; the rows of a custom one have no order if theirs differ."""
    first, *others = splits
    pairs = [(a.places, b.places) for other in others for a, b in zip(first.sides, other.sides, strict=True)]
    same = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
    if same or first.name != "custom":
        return first
    return replace(first, ordered=False)


def with_places(split: TestSet, rows: Rows) -> TestSet:
    """The split that knows the order in which the evaluated images and captions were given.

    Args:
        split: the items.
        rows: the row of every item in what is evaluated.
    """
    places = [None if r is None or (np.diff(r) > 0).all() else ranks(r) for r in rows]
    if all(order is None for order in (*places, *(side.places for side in split.sides))):
        return split  # judgements are kept by split
    first, second = (replace(side, places=order) for side, order in zip(split.sides, places, strict=True))
    return replace(split, rows=first, columns=second)


def order(test: TestSet, side: str) -> Int | None:
    """(item,) int64: the row of every item among rows without ids; None where it is the index of the item.

    Raises:
        BadInput: no order is known.
    """
    if not test.ordered:
        what = f"rows without {side} ids: the items have no order (vectors came in batches, or scores in two orders)"
        fix = "give files with image_ids and text_ids (captions: JSON lines), or update() the rows of the captions; "
        fix += f"of two score matrices {spell('direction', 'i2t')} reads one"
        raise BadInput(what, fix=fix)
    return test.side(side).places if test.name == "custom" else None


def order_note(what: str, sides: Sequence[str], test: TestSet) -> str:
    """A note on the order in which rows without ids are read; empty where all have ids.

    Args:
        what: what has them, such as the name of a file.
        sides: the names of those whose ids are missing.
        test: the items.
    """
    if not sides:
        return ""
    words = " and ".join("text" if side == "caption" else side for side in sides)
    if test.name == "custom":
        return f"{what}: {in_order(words, 'those that are evaluated')}"
    other = any(test.side(side).places is not None for side in sides)
    differs = "; those that are evaluated have another order" * other
    return f"{what}: {in_order(words, test.name, own_order(test.name))}{differs}"


def own_order(name: str) -> str:
    """What the order of a test set is that has one of its own."""
    return "Karpathy order" if name in DECLARED else "that of the file it was built from"


def in_order(side: str, name: str, order: str = "") -> str:
    """How rows without ids are read: what they are of, whose order it is, and what that order is."""
    return f"no {side} ids: rows are taken to be in the order of {name}{f' ({order})' if order else ''}"


def ranks(rows: Int) -> Int:
    """The places of rows among each other: of rows that are left out other files have none."""
    return np.argsort(np.argsort(rows)).astype(np.int64)
