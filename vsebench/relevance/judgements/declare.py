"""The declaration of one set of relevance judgements, and judgements from pairs of a query and a positive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from ...errors import BadInput
from ...files.pairs import Pairs
from ...types import NONE, Direction, Int, Relevance, Split

Counts = tuple[int, int, int]  # queries, positives, positives that are not in the gallery


@dataclass(frozen=True)
class Judgements:
    """One set of binary relevance judgements: which candidates are positives of which query.

    Attributes:
        name: as in metric names, e.g. ``eccv`` in ``eccv:mAP@R``.
        title: the full name.
        heading: printed above a table of results.
        meaning: one line: which candidates are positives, and which candidates are ranked.
        rule: when a candidate is a positive of a query.
        judged_by: who made the judgements.
        cite: citation key of ``docs/references.md``.
        reference: the publication.
        load: ``load(split, direction)`` gives the judgements of a split; raises UsageError for a split that was not
            judged, MissingPackage when the judgements are not installed, BadInput when their files are damaged.
        identity: ``identity(split)`` gives, for the signature, the source of the judgements and eight hexadecimal
            digits of the SHA-256 of their files; None when nothing but the split matters, or nothing is installed.
        splits: names of the splits that were judged, or patterns of names such as ``scenes-*``; empty for every split.
        folds: whether only the items of the query's fold are candidates, as in COCO 1K; needs a split with folds.
        grades: ``grades(split, direction)`` gives the judged pairs with their grades; None: every positive has 1.
        notes: what was decided when they were read.
        counts: by direction the published numbers of queries, positives, and positives that are not in the gallery.
    """

    name: str
    title: str
    heading: str
    meaning: str
    rule: str
    judged_by: str
    cite: str
    reference: str
    load: Callable[[Split, Direction], Relevance]
    identity: Callable[[Split], str | None]
    splits: tuple[str, ...] = ()
    folds: bool = False
    grades: Callable[[Split, Direction], Pairs] | None = None
    notes: tuple[str, ...] = ()
    counts: Mapping[Direction, Counts] = field(default_factory=dict)

    def covers(self, split: str) -> bool:
        """Whether a split of this name was judged."""
        return not self.splits or any(fnmatchcase(split, pattern) for pattern in self.splits)


def from_pairs(name: str, direction: Direction, query: Int, item: Int, judged: Int = NONE) -> Relevance:
    """Judgements as compressed rows, one row a query that has positives.

    Args:
        name: of the judgements.
        direction: ``i2t``, ``t2i``, ``i2i`` or ``t2t``.
        query: (pair,) int64 query indices, in any order.
        item: (pair,) int64 gallery indices, or -1 for a positive that is not in the gallery.
        judged: query indices that the judgements cover, with or without positives, in any order.

    Raises:
        BadInput: a negative query, an item below -1, or a pair that occurs twice.
    """
    query, item = np.asarray(query, np.int64), np.asarray(item, np.int64)
    if len(query) and (query.min() < 0 or item.min() < -1):
        raise BadInput(f"judgements '{name}' ({direction}) hold negative indices", fix="count indices from 0")
    queries = np.unique(query)
    missing = np.bincount(np.searchsorted(queries, query[item < 0]), minlength=len(queries))
    query, item = query[item >= 0], item[item >= 0]
    order = np.lexsort((item, query))
    query, item = query[order], item[order]
    repeated = np.flatnonzero((np.diff(query) == 0) & (np.diff(item) == 0))
    if len(repeated):
        what = f"judgements '{name}' ({direction}) list item {item[repeated[0]]} twice for query {query[repeated[0]]}"
        raise BadInput(what, fix="list every positive once")
    found = np.bincount(np.searchsorted(queries, query), minlength=len(queries))
    indptr = np.concatenate([[0], np.cumsum(found)])
    return Relevance(name, direction, queries, indptr, item, missing, np.setdiff1d(judged, queries))
