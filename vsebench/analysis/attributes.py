"""Attributes of queries: caption length, number of positives, or a column of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, UsageError
from ..files.captions import lines_of
from ..files.columns import of_items
from ..files.records import missing
from ..options import spell
from ..relevance.sources import is_gains
from ..results.model import SIDE
from ..sets.match import Captions, is_file, with_captions
from ..types import DIRECTIONS, ONE_WAY, Direction, Float, Modality, TestSet


class NotApplicable(UsageError):
    """The queries of a metric have no such attribute; the queries of other metrics may have it."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of images or captions.

    Attributes:
        name: in headings.
        side: modality of the items.
        numbers: (item,) float64, NaN if unknown; or None.
        labels: (item,) tuples of strings, none or several an item; or None.
        integer: the finite numbers are integers.
    """

    name: str
    side: Modality
    numbers: Float | None = None
    labels: tuple[tuple[str, ...], ...] | None = None
    integer: bool = False

    @property
    def size(self) -> int:
        """Number of items."""
        values = self.labels if self.numbers is None else self.numbers
        return 0 if values is None else len(values)

    def of_queries(self, split: TestSet, direction: Direction) -> Attribute:
        """The attribute of the queries of a direction: of a caption's image, or the mean over an image's captions.

        Raises:
            NotApplicable: labels of captions, for images, which have several captions; items of the other side without
                ``image_of``.
        """
        side = SIDE[direction]
        if side == self.side:
            return self
        if split.image_of is None:
            what = f"'{self.name}' describes {self.side}s, and the report does not say which image a caption belongs to"
            raise NotApplicable(what, fix=f"slice {spell('direction', 'i2t' if self.side == 'image' else 't2i')}")
        if side == "caption":
            numbers = None if self.numbers is None else self.numbers[split.owners]
            labels = None if self.labels is None else tuple(self.labels[i] for i in split.owners.tolist())
            return Attribute(self.name, side, numbers, labels, self.integer)
        if self.numbers is None:
            what = f"'{self.name}' is a label of captions, and an image has several"
            raise NotApplicable(what, fix=f"slice {spell('direction', 't2i')}")
        known = ~np.isnan(self.numbers)
        image_of, images = split.owners[known], len(split.rows.ids)
        count = np.bincount(image_of, minlength=images)
        total = np.bincount(image_of, weights=self.numbers[known], minlength=images)
        mean = np.divide(total, count, out=np.full(images, np.nan), where=count > 0)
        return Attribute(f"mean {self.name}", side, mean)


def caption_length(split: TestSet, captions: Captions | None = None) -> Attribute:
    """Words of every caption, separated by white space.

    Args:
        split: the test set.
        captions: a file of them or the strings, see ``data.captions.with_captions``; None when they are known.

    Raises:
        BadInput: the file has no ids and no order to match its captions by.
        BadInput, UsageError, MissingPackage: as ``with_captions``.
    """
    ids = split.columns.ids
    path = Path(captions) if captions is not None and is_file(captions) else None
    unnamed = captions is not None and (path is None or lines_of(path) is not None)  # without ids
    if unnamed and split.name == "custom" and not split.columns.numbered and split.columns.places is None:
        # Such a report has the captions in the order of their ids and does not hold the order of the vectors.
        what = f"has no ids, and the report has {len(ids):,} captions with ids such as {ids[0]}"
        other = f"{spell('by', 'column')} {spell('file', 'FILE')}"
        fix = f"give JSON lines with these ids (.jsonl), or a column of lengths with {other}"
        raise BadInput(what, where=path or "captions", fix=fix)
    strings = with_captions(split, captions).columns.texts or ()
    words = np.array([len(caption.split()) for caption in strings], np.float64)
    return Attribute("words in the caption", "caption", words, integer=True)


def positives(split: TestSet, view: str, direction: Direction) -> Attribute:
    """Relevant items of every query by a set of judgements, retrievable or not.

    Raises:
        NotApplicable: gains instead of judgements, or intra-modal queries.
        UsageError: judgements of another split.
        MissingPackage: their package is not installed.
    """
    from .. import relevance

    if direction not in (*DIRECTIONS, ONE_WAY):
        what = f"positives are counted for cross-modal queries only, not for {direction}"
        raise NotApplicable(what, fix=f"slice {spell('direction', 'i2t')} or t2i")
    if is_gains(view):
        raise NotApplicable(
            f"'{view}' are gains: there are no positives to count", fix="slice a metric of gt, eccv or cxc"
        )
    if view not in relevance.judgements():
        what = f"reports do not hold judgements, so the positives of '{view}' cannot be counted"
        raise NotApplicable(what, fix=f"slice by a column of {spell('file', 'FILE')} with their number")
    judged = relevance.load(view, split, "i2t" if direction == ONE_WAY else direction)
    numbers = np.full(len(split.side(SIDE[direction]).ids), np.nan)
    numbers[judged.queries] = judged.size
    return Attribute(f"positives ({judged.name})", SIDE[direction], numbers, integer=True)


def from_file(path: Path, column: str | None, split: TestSet, *, several: bool) -> Attribute:
    """A column of a CSV, TSV, parquet or JSON-lines file (plain or gzip), matched by id.

    Args:
        path: the file; one of its columns has ids of images or captions (``id``, ``image_id``, ``caption_id`` ...).
        column: to slice by; None for ``category``, ``label`` or the only other one.
        split: the items.
        several: a value may be several labels, separated by commas, semicolons or bars.

    Raises:
        BadInput: unreadable, no column of ids, ids that are not in the split, an id that occurs twice.
        UsageError: no such column.
        MissingPackage: parquet without pyarrow.
    """
    name, side, values = of_items(path, column, split)
    known = [v for v in values if not missing(v)]
    if known and not several and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        try:
            numbers = np.array([np.nan if missing(v) else float(v) for v in values])
        except OverflowError:  # an integer beyond the range of float64
            what = f"column '{name}' has a number beyond 1.8e308"
            raise BadInput(what, where=path, fix="scale the numbers") from None
        finite = numbers[np.isfinite(numbers)]
        return Attribute(name, side, numbers, integer=bool((finite == np.floor(finite)).all()))
    labels = tuple(() if missing(v) else _labels(v, several) for v in values)
    return Attribute(name, side, labels=labels)


def _labels(value: Any, several: bool) -> tuple[str, ...]:
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(dict.fromkeys(str(v).strip() for v in value))
    text = str(value)
    if several:
        for mark in ";|":
            text = text.replace(mark, ",")
        return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    return (text.strip(),)
