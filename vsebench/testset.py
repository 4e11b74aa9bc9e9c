"""Test sets: the rows and the columns that are ranked for each other, and the row that a column was written for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .errors import UsageError, count_of

Ids = npt.NDArray[Any]  # int64 or unicode, (item,)
Int = npt.NDArray[np.int64]
Which = Literal[0, 1]  # of the sides of a test set: the rows, the columns


@dataclass(frozen=True, eq=False)
class Side:
    """The items of one side of a test set.

    Attributes:
        name: what an item is, as in messages: ``image``, ``caption``.
        ids: (item,) int64 or unicode, unique, in the order of the test set.
        texts: (item,) strings in Unicode NFC, or None when they are not loaded or not known.
        places: (item,) int64, the row of every item in the user's file; None when that is its index.
    """

    name: str
    ids: Ids
    texts: tuple[str, ...] | None = None
    places: Int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def plural(self) -> str:
        """What several items are."""
        return f"{self.name[:-1]}ies" if self.name.endswith("y") else f"{self.name}s"

    def have(self, n: int) -> str:
        """The number of some items with a verb: ``1 image has``, ``2 images have``."""
        return count_of(n, f"{self.name} has", f"{self.plural} have")


@dataclass(frozen=True, eq=False)
class TestSet:
    """Rows and columns, and what is known of the two before judgements and gains.

    Attributes:
        name: ``coco-5k``, ``custom``.
        rows, columns: the sides.
        image_of: (column,) int64, the row that a column was written for; None where columns have no row of their own.
        folds: (row,) and (column,) int64, the folds of both, or None.
        in_folds: every query is ranked within its fold.
        ordered: whether the order of rows without ids is known, see ``sets.placing``.
    """

    __test__ = False  # pytest collects no class of this name

    name: str
    rows: Side
    columns: Side
    image_of: Int | None = None
    folds: tuple[Int, Int] | None = None
    in_folds: bool = False
    ordered: bool = True

    @property
    def sides(self) -> tuple[Side, Side]:
        """The rows and the columns."""
        return self.rows, self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self.rows), len(self.columns)

    @property
    def counts(self) -> str:
        """The same in words."""
        return " and ".join(f"{len(side):,} {side.plural}" for side in self.sides)

    def side(self, name: str) -> Side:
        """The side whose items have a name."""
        return self.rows if self.rows.name == name else self.columns

    @property
    def owners(self) -> Int:
        """(column,) int64, ``image_of``; raises UsageError where columns have no row of their own."""
        if self.image_of is None:
            row, column = (side.name for side in self.sides)
            what = f"the {row} that a {column} was written for is not known in split '{self.name}'"
            fix = "measure judgements, as in NAME:R@1, or give image_of_text (the image row or image id of every text)"
            raise UsageError(what, fix=fix)
        return self.image_of

    @cached_property
    def units(self) -> tuple[Int, Int]:
        """(row,) and (column,) int64 units of resampling: a row with its columns, else every item is its own."""
        rows, columns = self.shape
        own = np.arange(rows, rows + columns) if self.image_of is None else self.image_of
        return np.arange(rows), own
