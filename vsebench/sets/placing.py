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
from .declared import DECLARED


def suggestion(n_image: int, n_text: int) -> str:
    """One sentence on rows without ids whose numbers are exactly those of a declared split; else empty."""
    split = next(
        (s for s in DECLARED.values() if s.built_as == s.name and (s.images, s.captions) == (n_image, n_text)), None
    )
    if split is None:
        return ""
    return (
        f"{n_image:,} images and {n_text:,} texts are the numbers of {split.name}: give {spell('split', split.name)} "
        f"if the rows are those of this set in its order (Karpathy's), or {spell('split', 'custom')} if they are not"
    )


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
