"""The options of ``vsebench.evaluate`` as a record, with their allowed values; a test compares names and defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import UsageError, printable
from ..options import check, option, spell
from ..rank.ties import TIES

if TYPE_CHECKING:
    from ..metrics.suites import Names
    from ..sets.match import Captions
    from ..types import PathLike, ReportProgress, TestSet

MAX_KEPT_ITEMS = 100  # items a query that a report keeps
DIRECTION_CHOICES = ("both", "i2t", "t2i", "query2corpus")  # of the direction
INTERVALS = ("bca", "percentile")
DEFAULT_KEPT_ITEMS = 10  # and that one which a command writes as JSON keeps by default
SAVED_RUN_DEPTH = 100  # items a query in the file of ``save_run``
# Of a Dask scheduler: a host and a port, after the name of a protocol or not.
ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):\d{1,5}", re.ASCII)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """What to evaluate, and how; ``vsebench.evaluate`` documents the fields. ``images`` is FILE of the command line.

    Raises:
        UsageError: a value that is not allowed.
    """

    images: Any = option(None, compare=False)
    texts: PathLike | Any = None
    scores: Any = None
    run: Any = None
    fuse: Any = None
    rerank: Any = None
    index: Any = None
    split: TestSet | str | PathLike | None = None
    image_key: str | None = None
    text_key: str | None = None
    scores_key: str | None = None
    image_ids: PathLike | Any = None
    text_ids: PathLike | Any = None
    query_ids: PathLike | Any = None
    corpus_ids: PathLike | Any = None
    image_id_of_text: Any = option(None, compare=False)
    trust: bool = False
    metrics: Names | None = None
    gains: Any = ()
    judgements: Any = ()
    level: float = option(1.0, of="judgements")
    candidates: Any = ()
    exclude: Any = ()
    captions: Captions | None = None
    direction: Literal["both", "i2t", "t2i", "query2corpus"] = option("both", allowed=DIRECTION_CHOICES)
    similarity: str = option("auto", allowed=("auto", "cosine", "dot"))
    ties: str = option("index", allowed=tuple(TIES))
    ci: float = 95.0
    save_run: PathLike | None = None
    only: str | None = None
    human_data: PathLike | None = None
    no_positive: str = option("skip", allowed=("skip", "miss"))
    short_lists: str = option("refuse", allowed=("refuse", "miss"))
    captions_per_image: int | None = option(None, least=1)
    depth: int | None = option(None, least=1, of="save_run")
    lists: int | None = option(None, least=0, most=MAX_KEPT_ITEMS, compare=False)
    weights: str | None = option(None, of="fuse")
    normalise: str | None = None
    combine: str = option("replace", of="rerank")
    rerank_depth: int | None = option(None, least=1, of="rerank")
    resamples: int = option(1000, least=10, most=1_000_000)
    seed: int = option(0, least=0, most=2**63 - 1)
    interval: Literal["bca", "percentile"] = option("bca", allowed=INTERVALS)
    threads: int | None = option(None, least=1, most=1024)
    backend: str = "auto"
    engine: str = option("local", allowed=("local", "dask"))
    scheduler: str | None = option(None, of="engine=dask")
    workers: int | None = option(None, least=1, most=1024, of="engine=dask")
    resume: bool = option(False, of="engine=dask")
    progress: ReportProgress | None = option(None, compare=False)

    def __post_init__(self) -> None:
        from .. import types
        from ..metrics.suites import Names, words
        from ..rank import backends
        from ..sets.match import Captions

        check(self, {**vars(types), "Names": Names, "Captions": Captions})
        backends.check(self.backend, here=self.engine == "local")
        if isinstance(self.gains, str) and not words(self.gains):
            raise UsageError(f"{spell('gains')} is empty", fix="give a kind of gains, such as cider, or leave it out")
        if self.scheduler is not None and self.workers is not None:
            what = f"{spell('workers')} cannot be combined with {spell('scheduler')}, which has its own workers"
            raise UsageError(what, fix="leave it out")
        if self.scheduler is not None and not ADDRESS.fullmatch(self.scheduler):
            what = f"{spell('scheduler')} is '{printable(self.scheduler[:80])}', which is not an address"
            raise UsageError(what, fix="give a host and a port, such as tcp://10.0.0.1:8786")
