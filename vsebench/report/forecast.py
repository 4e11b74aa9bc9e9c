"""Forecasts: what an evaluation by several workers will take."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..errors import count_of
from ..memory import size
from .grid import Grid, cells, text_only
from .model import plain
from .render import Rendered

SCHEMA = "vsebench/forecast/1"


def duration(seconds: float) -> str:
    """Seconds as a person reads them, such as ``45 s``, ``12 min`` or ``3.4 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 else "below 1 s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


@dataclass(frozen=True)
class Pass:
    """What is computed from one pass over the scores.

    Attributes:
        what: ``ranks and lists`` or ``graded metrics``, with the direction of the queries.
        shards: pieces whose results are written to files here.
        pieces: what the shards are computed in; more where a worker combines those of a shard.
        scores: how many scores are computed.
        bytes: of the results of all shards, which come here.
        seconds: of one worker.
    """

    what: str
    shards: int
    pieces: int
    scores: int
    bytes: int
    seconds: float


@dataclass(frozen=True, repr=False)
class Forecast(Rendered):
    """What an evaluation by several workers will take.

    Attributes:
        name: of the split.
        passes: what is computed.
        workers: how many there are.
        machine: where the speed was measured.
        read: bytes of the input files, which every worker reads.
        notes: what was decided.
    """

    heading: ClassVar = "Plan of an evaluation of {name}"
    name: str
    passes: tuple[Pass, ...]
    workers: int
    machine: str
    read: int
    notes: tuple[str, ...] = ()

    @property
    def hours(self) -> float:
        """The work of all passes divided among the workers, as far as there are pieces for them."""
        return sum(one.seconds / min(self.workers, one.pieces) for one in self.passes) / 3600

    def grids(self) -> list[Grid]:
        """The passes, and the sums."""
        rows = [
            cells(p.what, f"{p.shards:,}", f"{p.pieces:,}", f"{p.scores:,}", size(p.bytes), duration(p.seconds))
            for p in self.passes
        ]
        headings = ("pass", "shards", "pieces", "scores", "results", "time of one worker")
        said = (
            f"{count_of(self.workers, 'worker')}: {duration(3600 * self.hours)}, by pieces that were computed on "
            f"{self.machine}. Every worker reads {size(self.read)} of input; the results that come here are "
            f"{size(self.bytes)}."
        )
        return [Grid(self.title, headings, 1, tuple(rows)), text_only(said)]

    @property
    def bytes(self) -> int:
        """Of the results of all shards."""
        return sum(one.bytes for one in self.passes)

    def records(self) -> list[dict[str, Any]]:
        """One a pass."""
        return [plain(one, *(field.name for field in fields(Pass))) for one in self.passes]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/forecast/1``."""
        sums = {"hours": self.hours, "bytes": self.bytes}
        known = plain(self, "name", "workers", "machine", "read", "notes")
        return {"schema": SCHEMA, **known, **sums, "passes": self.records()}
