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
from ..types import Int, Modality, Split
from .declared import DECLARED

SIDES: tuple[Modality, ...] = ("image", "caption")
Rows = tuple[Int | None, Int | None]  # (image,) and (caption,) row of every item, None where it is the index


class Unordered(Split):
    """A split whose items came in batches: no order of rows is known, so that only ids say whose a row is."""


def with_places(split: Split, rows: Rows) -> Split:
    """The split that knows the order in which the evaluated images and captions were given.

    Args:
        split: the items.
        rows: the row of every item in what is evaluated.
    """
    image, caption = (None if r is None or (np.diff(r) > 0).all() else ranks(r) for r in rows)
    if all(order is None for order in (image, caption, *split.places)):
        return split  # judgements are kept by split
    return replace(split, places=(image, caption))


def order(split: Split, side: Modality) -> Int | None:
    """(item,) int64: the row of every item among rows without ids; None where it is the index of the item.

    Raises:
        BadInput: no order is known.
    """
    if isinstance(split, Unordered):
        what = f"rows without {side} ids are given beside vectors that came in batches, in the order of a loader"
        raise BadInput(
            what,
            fix="give files with image_ids and text_ids (captions: JSON lines), or update() the rows of the captions",
        )
    return split.places[side == "caption"] if split.name == "custom" else None


def order_note(what: str, sides: Sequence[Modality], split: Split) -> str:
    """A note on the order in which rows without ids are read; empty where all have ids.

    Args:
        what: what has them, such as the name of a file.
        sides: whose ids are missing.
        split: the items.
    """
    if not sides:
        return ""
    words = " and ".join("text" if side == "caption" else side for side in sides)
    if split.name == "custom":
        return f"{what}: {in_order(words, 'those that are evaluated')}"
    other = any(split.places[side == "caption"] is not None for side in sides)
    differs = "; those that are evaluated have another order" * other
    return f"{what}: {in_order(words, split.name, own_order(split.name))}{differs}"


def own_order(name: str) -> str:
    """What the order of a test set is that has one of its own."""
    return "Karpathy order" if name in DECLARED else "that of the file it was built from"


def in_order(side: str, name: str, order: str = "") -> str:
    """How rows without ids are read: what they are of, whose order it is, and what that order is."""
    return f"no {side} ids: rows are taken to be in the order of {name}{f' ({order})' if order else ''}"


def ranks(rows: Int) -> Int:
    """The places of rows among each other: of rows that are left out other files have none."""
    return np.argsort(np.argsort(rows)).astype(np.int64)
