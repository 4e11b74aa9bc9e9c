"""The options of an evaluation, each declared once: type, default, allowed values, help and panel.

``vsebench.evaluate`` has the same names and defaults (a test compares them), and ``vsebench eval`` is made of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import UsageError, printable
from ..options import INPUT, MEASURED, RESULT, check, option, spell
from ..rank.ties import TIES

if TYPE_CHECKING:
    from ..metrics.suites import Names
    from ..sets.match import Captions
    from ..types import PathLike, ReportProgress, TestSet

MOST = 100  # items a query that a report keeps
INTERVALS = ("bca", "percentile")
KEPT = 10  # and that one which a command writes as JSON keeps by default
DEPTH = 100  # items a query in the file of ``save_run``
# Of a Dask scheduler: a host and a port, after the name of a protocol or not.
ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+):\d{1,5}", re.ASCII)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """What to evaluate, and how; ``vsebench.evaluate`` documents the fields. ``images`` is FILE of the command line.

    Raises:
        UsageError: a value that is not allowed.
    """

    # fmt: off
    images: Any = None
    texts: PathLike | Any = option(None, "Text vectors, when FILE has those of the images only.", INPUT)
    scores: Any = option(None, "A score matrix, a row an image; or one as i2t=FILE.", INPUT)
    run: Any = option(None, "Retrieved lists: TREC or JSON; i2t=FILE, or rank:FILE for its rank column. Repeatable.",
        INPUT)
    fuse: Any = option(None, "Another system, whose scores are added; of --run its ranks. Repeatable.")
    rerank: Any = option(None, "Scores of a second stage for the top of every ranking: i2t=FILE, t2i=FILE. Repeatable.")
    index: Any = option(None, "A saved FAISS index, its lists re-ranked: i2t=FILE, t2i=FILE:nprobe=16. Repeatable.")
    split: TestSet | str | None = option(None, "coco-5k, coco-1k, f30k or custom; by ids by default.", INPUT, "NAME")
    image_key: str | None = option(None, "Name of the image array in FILE.", value="NAME")
    text_key: str | None = option(None, "Name of the text array in FILE.", value="NAME")
    scores_key: str | None = option(None, "Name of the score array.", value="NAME")
    image_ids: PathLike | Any = option(None, "Ids of image rows: .npy, a JSON list, or a text with one a line.")
    text_ids: PathLike | Any = option(None, "The same of text rows.")
    query_ids: PathLike | Any = option(None, "The same where the image rows are queries, and the text rows a corpus.")
    corpus_ids: PathLike | Any = option(None, "The same of the corpus.")
    image_id_of_text: Any = None
    trust: bool = option(False, "Evaluate input at chance or misread all the same.", INPUT)
    metrics: Names | None = option(None,
        "Names, suites (recall, 1k, eccv, cxc, cs, ncs, sr, ndcg) or all, separated by commas.", MEASURED, "NAMES")
    gains: Any = option((), "Graded relevance: a kind of `vsebench metrics`, or a file; cider by default. Repeatable.",
        MEASURED, "KIND")
    judgements: Any = option((), "Your judgements: FILE, NAME=FILE, NAME=i2t:FILE, NAME=labels:FILE. Repeatable.",
        MEASURED)
    level: float = option(1.0, "Of --judgements: the smallest grade of a positive.", value="GRADE", of="judgements")
    captions: Captions | None = option(None, "The captions, for splits whose captions are not known.", MEASURED)
    direction: Literal["both", "i2t", "t2i"] = option("both", "", MEASURED, allowed=("both", "i2t", "t2i"))
    similarity: str = option("auto", "", MEASURED, allowed=("auto", "cosine", "dot"))
    ties: str = option("index", "Rule for equal scores", MEASURED, allowed=tuple(TIES))
    ci: float = option(95, "Level of the intervals in percent; 0 for none.", MEASURED, "PERCENT")
    save_run: PathLike | None = option(None,
        "Write the top of every ranking: JSON, or TREC runs (.trec, .run, .txt), one a direction.", RESULT)
    only: str | None = option(None,
        "Evaluate a part as a gallery of its own: lang=de by a column of --captions, or FILE:COLUMN=VALUE.",
        value="COLUMN=VALUE")
    human_data: PathLike | None = option(None,
        "Folder of the CxC ratings, for --metrics cxc-intra (image-image, text-text).", value="FOLDER",
        flags=("--human-data", "--data"))
    no_positive: str = option("skip", "Queries without positives count as none, or as a miss", allowed=("skip", "miss"))
    short_lists: str = option("refuse", "Metrics deeper than the retrieved lists are refused, or count a miss",
        allowed=("refuse", "miss"))
    captions_per_image: int | None = option(None, "Texts an image, in order, for files without ids.", least=1)
    depth: int | None = option(None, f"Items a query in --save-run; {DEPTH} by default.", least=1, of="save_run")
    lists: int | None = option(None,
        f"Items a query to keep in the report, with scores and gains, for its page; {KEPT} by default in JSON.",
        least=0, most=MOST, compare=False)
    weights: str | None = option(None, "Of --fuse: one a system, the first for FILE; all 1 by default.",
        value="W,W,...", of="fuse")
    normalise: str | None = option(None,
        "Correct hubness: csls:k=10, dsl:beta=100 or qb:beta=20; with other queries qb:BANK.npz:beta=20.", value="RULE")
    combine: str = option("replace", "Of --rerank: the second scores alone, or add:WEIGHT times them to the first.",
        value="RULE", of="rerank")
    rerank_depth: int | None = option(None,
        "Of --rerank: items a query; by default as many as every query has scores for.", least=1, of="rerank")
    resamples: int = option(1000, "Resamples an interval is made of.", least=10, most=1_000_000)
    seed: int = option(0, "Fixes what is drawn at random.", least=0, most=2**63 - 1)
    interval: Literal["bca", "percentile"] = option("bca", "How the interval is read off", allowed=INTERVALS)
    threads: int | None = option(None, "Threads of the kernels; never changes a result.", least=1, most=1024)
    backend: str = option("auto",
        "What ranks: auto, numpy, torch (torch:cpu, torch:cuda:1) or faiss; never changes a digit.", value="NAME")
    engine: str = option("local", "Where it is computed (docs/backends.md); never changes a digit",
        allowed=("local", "dask"))
    scheduler: str | None = option(None, "Of --engine dask: a running scheduler; by default one on this machine.",
        value="ADDRESS", of="engine=dask")
    workers: int | None = option(None, "Of --engine dask: processes on this machine; 2 by default.", least=1, most=1024,
        of="engine=dask")
    resume: bool = option(False, "Of --engine dask: continue an evaluation that was ended.", of="engine=dask")
    progress: ReportProgress | None = option(None, "", compare=False)
    # fmt: on

    def __post_init__(self) -> None:
        from .. import types
        from ..metrics.suites import Names, words
        from ..rank import backends
        from ..sets.match import Captions

        check(self, {**vars(types), "Names": Names, "Captions": Captions})
        backends.check(self.backend, here=self.engine == "local")
        if isinstance(self.gains, str) and not words(self.gains):
            raise UsageError(f"{spell('gains')} is empty", fix="name a kind of gains, such as cider, or leave it out")
        if self.scheduler is not None and self.workers is not None:
            what = f"{spell('workers')} has no meaning with {spell('scheduler')}, whose workers are started already"
            raise UsageError(what, fix="leave it out")
        if self.scheduler is not None and not ADDRESS.fullmatch(self.scheduler):
            what = f"{spell('scheduler')} is '{printable(self.scheduler[:80])}', no address"
            raise UsageError(what, fix="give a host and a port, such as tcp://10.0.0.1:8786")
