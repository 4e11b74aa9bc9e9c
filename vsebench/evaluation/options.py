"""The options of an evaluation, with the names and defaults of ``vsebench eval``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy.typing as npt

from ..data.captions import Captions
from ..errors import UsageError, printable
from ..memory import parse_size
from ..metrics.suites import Names, words
from ..rank import backends
from ..rank.order import check_ties
from ..report.model import Resampling
from ..types import DIRECTIONS, Direction

Progress = Callable[[int, int], None]
PathLike = str | os.PathLike[str]
# Of specifications, files and matrices (image, caption); a string holds several specifications, separated by commas.
GainsLike = str | os.PathLike[str] | npt.ArrayLike | Sequence[str | os.PathLike[str] | npt.ArrayLike] | None

ALLOWED: dict[str, tuple[str, ...]] = {
    "direction": ("both", "i2t", "t2i"),
    "similarity": ("auto", "cosine", "dot"),
    "no_positive": ("skip", "miss"),
    "short_lists": ("refuse", "miss"),
    "run_order": ("score", "rank"),
    "interval": ("bca", "percentile"),
    "engine": ("local", "dask"),
}
PART_GRAMMAR = "write COLUMN=VALUE, such as lang=de, or FILE:COLUMN=VALUE"
MOST = 100  # items a query that a report keeps
MAX_WORKERS = 1024
# Of a Dask scheduler: a host and a port, after the name of a protocol or not.
ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):\d{1,5}", re.ASCII)


@dataclass(frozen=True)
class Options:
    """How to evaluate; ``vsebench.evaluate`` documents the fields.

    Raises:
        UsageError: a value that is not allowed.
    """

    metrics: Names | None = None
    gains: GainsLike = ()
    captions: Captions | None = None
    human_data: PathLike | None = None
    direction: str = "both"
    similarity: str = "auto"
    ties: str = "index"
    no_positive: str = "skip"
    short_lists: str = "refuse"
    captions_per_image: int | None = None
    trust: bool = False
    depth: int | None = None
    ci: float = 95.0
    resamples: int = 1000
    seed: int = 0
    interval: str = "bca"
    threads: int | None = None
    progress: Progress | None = field(default=None, compare=False)
    run_order: str = "score"
    lists: int = 0
    backend: str = backends.AUTO
    memory: str | int | None = None
    engine: str = "local"
    scheduler: str | None = None
    workers: int | None = None
    resume: bool = False
    only: str | None = None

    def __post_init__(self) -> None:
        check_allowed({name: getattr(self, name) for name in ALLOWED})
        check_ties(self.ties)
        backends.check(self.backend)
        if not 0 <= self.lists <= MOST:
            raise UsageError(f"--lists is {self.lists}", fix=f"give 0 to {MOST} items, such as 10")
        if isinstance(self.gains, str) and not words(self.gains):
            raise UsageError("--gains is empty", fix="name a kind of gains, such as cider, or leave it out")
        self._check_engine()
        _ = self.resampling, self.budget, self.part  # what is wrong is refused before anything is read

    def _check_engine(self) -> None:
        given = {"--scheduler": self.scheduler, "--workers": self.workers, "--resume": self.resume or None}
        for flag, value in given.items():
            if value is not None and self.engine == "local":
                raise UsageError(f"{flag} has no meaning without --engine dask", fix="add it, or leave this out")
        if self.scheduler is not None and self.workers is not None:
            what = "--workers has no meaning with --scheduler, whose workers are started already"
            raise UsageError(what, fix="leave it out")
        if self.workers is not None and self.workers > MAX_WORKERS:
            fix = f"give 1 to {MAX_WORKERS:,}, at most the cores of this machine"
            raise UsageError(f"--workers is {self.workers}", fix=fix)
        if self.scheduler is not None and not ADDRESS.fullmatch(self.scheduler):
            raise UsageError(
                f"--scheduler is '{printable(self.scheduler[:80])}', no address",
                fix="give a host and a port, such as tcp://10.0.0.1:8786",
            )

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions to measure."""
        return DIRECTIONS if self.direction == "both" else (self.direction,)  # type: ignore[return-value]

    @property
    def budget(self) -> int | None:
        """Bytes of memory that the process may take, None for what is free."""
        return None if self.memory is None else parse_size(str(self.memory), "--memory")

    @property
    def part(self) -> tuple[Path | None, str, set[str]]:
        """Of ``only``: the file if one is named, the column, and the values; raises UsageError for another form."""
        if self.only is None:
            return None, "", set()
        head, equals, tail = self.only.partition("=")
        wanted = {value.strip() for value in tail.split(",") if value.strip()}
        file, _, column = head.rpartition(":")
        if not equals or not wanted or not column.strip():
            raise UsageError(f"--only is '{self.only}'", fix=PART_GRAMMAR)
        return Path(file).expanduser() if file else None, column.strip(), wanted

    @property
    def resampling(self) -> Resampling | None:
        """How intervals are made, or None without them."""
        if self.ci == 0:
            return None
        return Resampling(self.ci, self.resamples, self.seed, self.interval)  # type: ignore[arg-type]


def check_allowed(given: dict[str, str]) -> None:
    """Refuse values that an option does not take; raises UsageError naming the option as on the command line."""
    for name, value in given.items():
        allowed = ALLOWED[name]
        if value not in allowed:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} is '{value}'", fix=f"use {', '.join(allowed[:-1])} or {allowed[-1]}")
