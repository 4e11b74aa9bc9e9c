"""The declaration of one set of relevance judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ...types import Direction, Relevance, Split

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
        positives: name of the set whose positives are used; its own name unless only the candidates differ.
        load: ``load(split, direction)`` gives the judgements of a split; raises UsageError for a split that was not
            judged, MissingPackage when the judgements are not installed, BadInput when their files are damaged.
        identity: ``identity(split)`` gives, for the signature, the source of the judgements and eight hexadecimal
            digits of the SHA-256 of their files; None when nothing but the split matters, or nothing is installed.
        splits: names of the splits that were judged, or patterns of names such as ``scenes-*``; empty for every split.
        folds: whether only the items of the query's fold are candidates, as in COCO 1K; needs a split with folds.
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
    positives: str
    load: Callable[[Split, Direction], Relevance]
    identity: Callable[[Split], str | None]
    splits: tuple[str, ...] = ()
    folds: bool = False
    counts: Mapping[Direction, Counts] = field(default_factory=dict)

    def covers(self, split: str) -> bool:
        """Whether a split of this name was judged."""
        return not self.splits or any(fnmatchcase(split, pattern) for pattern in self.splits)
