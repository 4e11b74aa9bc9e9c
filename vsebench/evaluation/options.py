"""The options of an evaluation, each declared once: type, default, allowed values, help and panel.

``vsebench.evaluate`` has the same names and defaults (a test compares them), and ``vsebench eval`` is made of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, printable
from ..options import INPUT, MEASURED, RESULT, Fields, option, spell
from ..rank.ties import TIES, check_ties

if TYPE_CHECKING:
    from ..metrics.suites import Names
    from ..sets.captions import Captions
    from ..types import GainsLike, JudgementsLike, PathLike, ReportProgress

MOST = 100  # items a query that a report keeps
KEPT = 10  # and that one which a command writes as JSON keeps by default
DEPTH = 100  # items a query in the file of ``save_run``
# Of a Dask scheduler: a host and a port, after the name of a protocol or not.
ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):\d{1,5}", re.ASCII)


@dataclass(frozen=True, kw_only=True, eq=False)
class Given(Fields):
    """What is evaluated: files or arrays. ``images`` is the argument FILE of the command line.

    The fields have no check of their own, see ``evaluation.request``.
    """

    images: Any = None
    texts: Any = option(None, "Text vectors, when FILE has those of the images only.", INPUT, reads=Path, value="FILE")
    scores: Any = option(
        None, "A score matrix, a row an image; or one as i2t=FILE.", INPUT, reads=list[str], value="FILE"
    )
    run: Any = option(
        None, "Retrieved lists: TREC or JSON; i2t=FILE, or rank:FILE for its rank column. Repeatable.", INPUT,
        reads=list[str], value="FILE",
    )  # fmt: skip
    fuse: Any = option(
        None, "Another system, whose scores are added; of --run its ranks. Repeatable.", reads=list[str], value="FILE"
    )
    rerank: Any = option(
        None, "Scores of a second stage for the top of every ranking: i2t=FILE, t2i=FILE. Repeatable.",
        reads=list[str], value="FILE",
    )  # fmt: skip
    split: Any = option(None, "coco-5k, coco-1k, f30k or custom; by ids by default.", INPUT, reads=str, value="NAME")
    image_key: str | None = option(None, "Name of the image array in FILE.", reads=str, value="NAME")
    text_key: str | None = option(None, "Name of the text array in FILE.", reads=str, value="NAME")
    scores_key: str | None = option(None, "Name of the score array.", reads=str, value="NAME")
    image_ids: Any = None
    text_ids: Any = None
    image_id_of_text: Any = None


@dataclass(frozen=True, kw_only=True)
class Options(Fields):
    """How to evaluate; ``vsebench.evaluate`` documents the fields.

    Raises:
        UsageError: a value that is not allowed.
    """

    trust: bool = option(False, "Evaluate input at chance or misread all the same.", INPUT)
    metrics: Names | None = option(
        None, "Names, suites (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) or all, separated by commas.", MEASURED,
        reads=str, value="NAMES",
    )  # fmt: skip
    gains: GainsLike = option(
        (), "Graded relevance: a kind of `vsebench metrics`, or a file; cider by default. Repeatable.", MEASURED,
        reads=list[str], value="KIND",
    )  # fmt: skip
    judgements: JudgementsLike = option(
        (), "Judgements of yours: NAME=FILE, NAME=i2t:FILE, NAME=labels:FILE. Repeatable.", MEASURED,
        reads=list[str], value="FILE",
    )  # fmt: skip
    level: float = option(
        1.0, "Of --judgements: the smallest grade of a positive.", reads=float, value="GRADE",
        of="judgements",
    )  # fmt: skip
    captions: Captions | None = option(
        None, "The captions, for splits whose captions are not known.", MEASURED, reads=Path, value="FILE"
    )
    direction: str = option("both", "", MEASURED, value="WORD", allowed=("both", "i2t", "t2i"))
    similarity: str = option("auto", "", MEASURED, value="WORD", allowed=("auto", "cosine", "dot"))
    ties: str = option("index", "Rule for equal scores", MEASURED, value="WORD", allowed=tuple(TIES))
    ci: float = option(95, "Level of the intervals in percent; 0 for none.", MEASURED, reads=float, value="PERCENT")
    save_run: PathLike | None = option(
        None, "Write the top of every ranking: JSON, or TREC runs (.trec, .run, .txt), one a direction.", RESULT,
        reads=Path, value="FILE",
    )  # fmt: skip
    only: str | None = option(
        None, "Evaluate a part as a gallery of its own: lang=de by a column of --captions, or FILE:COLUMN=VALUE.",
        reads=str, value="COLUMN=VALUE",
    )  # fmt: skip
    human_data: PathLike | None = option(
        None, "Folder of the CxC ratings, for --metrics cxc-intra (image-image, text-text).", reads=Path,
        value="FOLDER", flags=("--human-data", "--data"),
    )  # fmt: skip
    no_positive: str = option(
        "skip", "Queries without positives count as none, or as a miss", value="WORD", allowed=("skip", "miss")
    )
    short_lists: str = option(
        "refuse", "Metrics deeper than the retrieved lists are refused, or count a miss", value="WORD",
        allowed=("refuse", "miss"),
    )  # fmt: skip
    captions_per_image: int | None = option(
        None, "Texts an image, in order, for files without ids.", reads=int, value="N", least=1
    )
    depth: int | None = option(
        None, f"Items a query in --save-run; {DEPTH} by default.", reads=int, value="N", least=1, of="save_run"
    )
    lists: int | None = option(
        None, f"Items a query to keep in the report, with scores and gains, for its page; {KEPT} by default in JSON.",
        reads=int, value="N", least=0, most=MOST, compare=False,
    )  # fmt: skip
    weights: str | None = option(
        None, "Of --fuse: one a system, the first for FILE; all 1 by default.", reads=str, value="W,W,...", of="fuse"
    )
    normalise: str | None = option(
        None, "Correct hubness: csls:k=10, dsl:beta=100 or qb:beta=20; with other queries qb:BANK.npz:beta=20.",
        reads=str, value="RULE",
    )  # fmt: skip
    combine: str = option(
        "replace", "Of --rerank: the second scores alone, or add:WEIGHT times them to the first.", value="RULE",
        of="rerank",
    )  # fmt: skip
    rerank_depth: int | None = option(
        None, "Of --rerank: items a query; by default as many as every query has scores for.", reads=int, value="N",
        least=1, of="rerank",
    )  # fmt: skip
    resamples: int = option(1000, "Resamples an interval is made of.", value="N", least=10, most=1_000_000)
    seed: int = option(0, "Fixes what is drawn at random.", value="N", least=0, most=2**63 - 1)
    interval: str = option("bca", "How the interval is read off", value="WORD", allowed=("bca", "percentile"))
    threads: int | None = option(
        None, "Threads of the kernels; never changes a result.", reads=int, value="N", least=1, most=1024
    )
    backend: str = option(
        "auto", "What ranks: auto, numpy, torch (torch:cpu, torch:cuda:1) or faiss; never changes a digit.",
        value="NAME",
    )  # fmt: skip
    engine: str = option(
        "local", "Where it is computed (docs/backends.md); never changes a digit", value="WORD",
        allowed=("local", "dask"),
    )  # fmt: skip
    scheduler: str | None = option(
        None, "Of --engine dask: a running scheduler; by default one on this machine.", reads=str, value="ADDRESS",
        of="engine=dask",
    )  # fmt: skip
    workers: int | None = option(
        None, "Of --engine dask: processes on this machine; 2 by default.", reads=int, value="N", least=1, most=1024,
        of="engine=dask",
    )  # fmt: skip
    resume: bool = option(False, "Of --engine dask: continue an evaluation that was ended.", of="engine=dask")
    progress: ReportProgress | None = option(None, "", compare=False)

    def __post_init__(self) -> None:
        from ..metrics.suites import words
        from ..rank import backends

        check_ties(self.ties)
        super().__post_init__()
        backends.check(self.backend, here=self.engine == "local")
        if isinstance(self.gains, str) and not words(self.gains):
            raise UsageError(f"{spell('gains')} is empty", fix="name a kind of gains, such as cider, or leave it out")
        if self.scheduler is not None and self.workers is not None:
            what = f"{spell('workers')} has no meaning with {spell('scheduler')}, whose workers are started already"
            raise UsageError(what, fix="leave it out")
        if self.scheduler is not None and not ADDRESS.fullmatch(self.scheduler):
            what = f"{spell('scheduler')} is '{printable(self.scheduler[:80])}', no address"
            raise UsageError(what, fix="give a host and a port, such as tcp://10.0.0.1:8786")
