"""How to measure: everything an evaluation can be told besides its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import UsageError
from ..rank.order import check_ties
from ..report.model import Resampling
from ..types import DIRECTIONS, Direction

Progress = Callable[[int, int], None]
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        metrics: names, families or ``all``; None for the headline families of the split.
        directions: which side asks.
        similarity: ``auto``, ``cosine`` or ``dot``.
        ties: tie rule, see ``rank.order.TIES``.
        empty: queries that the judgements cover but that have no positive: ``skip`` them, or count a ``miss``.
        short: metrics that look deeper than a retrieved list: ``refuse`` them, or count a ``miss``.
        captions_per_image: for files without ids: texts an image, in order.
        trust: evaluate even if the file looks misread.
        depth: also list the top items of every query, this many.
        threads: of the kernels; never changes a result.
        gains: graded relevances, such as ``spice`` or ``sentence:NAME``; CIDEr-D when none is named.
        caption_texts: a file of captions, for splits whose captions are not known here.
        human_data: folder of the CxC ratings, for ``cxc-intra``.
        ci: level of the bootstrap intervals in percent; 0 for no intervals.
        resamples: how many resamples an interval is made of.
        seed: fixes the resamples.
        interval: ``percentile`` or ``bca``.
        progress: called with (done, in all) while scores stream by.
    """

    metrics: str | Sequence[str] | None = None
    directions: tuple[Direction, ...] = DIRECTIONS
    similarity: str = "auto"
    ties: str = "index"
    empty: str = "skip"
    short: str = "refuse"
    captions_per_image: int | None = None
    trust: bool = False
    depth: int | None = None
    threads: int | None = None
    gains: tuple[str, ...] = ()
    caption_texts: PathLike | None = None
    human_data: PathLike | None = None
    ci: float = 95.0
    resamples: int = 1000
    seed: int = 0
    interval: str = "percentile"
    progress: Progress | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("similarity", self.similarity, ("auto", "cosine", "dot")),
            ("empty", self.empty, ("skip", "miss")),
            ("short", self.short, ("refuse", "miss")),
        ):
            if value not in allowed:
                raise UsageError(f"{name} is '{value}'", fix=f"use {', '.join(allowed)}")
        check_ties(self.ties)
        if not self.directions or any(d not in DIRECTIONS for d in self.directions):
            raise UsageError(f"directions are {self.directions}", fix="use i2t, t2i or both")
        self.resampling()  # refuse a wrong level before anything is read

    def resampling(self) -> Resampling | None:
        """How intervals are made, or None without them."""
        if self.ci == 0:
            return None
        return Resampling(self.ci, self.resamples, self.seed, self.interval)  # type: ignore[arg-type]
