"""What is asked of an evaluation by labels: metrics by name, similarity, who competes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import UsageError
from ..registry import unknown
from ..report.model import Resampling
from ..types import Direction, Modality
from .nearest import SIMILARITIES

VIEW = "labels"
KS = (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
STEMS = ("nDCG", "MLD")
DIRECTION: dict[Modality, Direction] = {"image": "i2i", "caption": "t2t"}
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        metrics: ``nDCG@k`` and ``MLD@k`` for any k, with or without ``labels:``; a bare name stands for all of ``KS``,
            None or ``all`` for both.
        similarity: ``euclidean``, ``cosine`` or ``dot``, how embeddings are ranked.
        keep_queries: leave the other queries in the gallery.
        modality: what the items are; decides the direction, ``i2i`` or ``t2t``.
        threads: never changes a result.
        resampling: how intervals are made (queries are resampled), or None for none.
        block: queries looked at together; never changes a result.
        progress: called with (done, in all).
    """

    metrics: str | Sequence[str] | None = None
    similarity: str = "euclidean"
    keep_queries: bool = False
    modality: Modality = "image"
    threads: int | None = None
    resampling: Resampling | None = field(default_factory=Resampling)
    block: int | None = None
    progress: Progress | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise UsageError(f"similarity is '{self.similarity}'", fix=f"use {', '.join(SIMILARITIES)}")
        if self.modality not in DIRECTION:
            raise UsageError(f"modality is '{self.modality}'", fix="use image or caption")
        self.asked()

    def asked(self) -> list[tuple[str, int]]:
        """The metrics as (stem, k); raises UsageError for an unknown one."""
        return parse_metrics(self.metrics)


def parse_metrics(words: str | Sequence[str] | None) -> list[tuple[str, int]]:
    """Metric names as (stem, k), in order, without repeats; raises UsageError for an unknown one."""
    listed = words.split(",") if isinstance(words, str) else list(words or ["all"])
    found: list[tuple[str, int]] = []
    for word in (w.strip() for w in listed):
        name = word.removeprefix(f"{VIEW}:")
        stem, at, k = name.partition("@")
        stems = list(STEMS) if name.lower() in ("all", VIEW) else [s for s in STEMS if s.lower() == stem.lower()]
        if not stems or (at and not re.fullmatch("[1-9][0-9]{0,8}", k)):
            if stems:
                raise UsageError(
                    f"k of '{word}' is '{k}'", fix=f"give a whole number of at least 1, as in {stems[0]}@10"
                )
            raise unknown("metric of labels", word, [f"{s}@{k}" for s in STEMS for k in (10, 100)])
        found += [(s, int(k)) for s in stems] if at else [(s, k) for s in stems for k in KS]
    return list(dict.fromkeys(found))
