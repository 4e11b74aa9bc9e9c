"""``pytrec_eval``: the C code of trec_eval on dictionaries of judgements and runs."""

from __future__ import annotations

import statistics

from vsebench.types import DIRECTIONS

from ..inputs import Inputs
from ..task import FLOAT32, Needs, Outcome, Peer, Task, Work
from . import dictionaries

BINARY = {"success_1": "R@1", "success_5": "R@5", "success_10": "R@10", "recall_100": "Recall@100", "Rprec": "R-P"}
GRADED = {"ndcg_cut_10": "nDCG@10"}


def from_lists(given: Inputs) -> Work:
    """Metrics of retrieved lists, with the dictionaries."""
    from pytrec_eval import RelevanceEvaluator

    given.lists, given.judgements  # noqa: B018 (in memory before the time is measured)
    asked = {"success.1,5,10", "recall.100", "Rprec"}, {"ndcg_cut.10"}

    def work() -> Outcome:
        values = {}
        for direction in DIRECTIONS:
            run = dictionaries.retrieved(*given.lists[direction])
            judged = dictionaries.binary(given, direction), dictionaries.graded(given, direction)
            for qrel, measures, names in zip(judged, asked, (BINARY, GRADED), strict=True):
                found = RelevanceEvaluator(qrel, measures).evaluate(run)
                for theirs, ours in names.items():
                    values[f"{ours} {direction}"] = statistics.fmean(one[theirs] for one in found.values())
        return Outcome(values)

    return work


TASK = Task(
    "pytrec_eval", dictionaries.OF_LISTS, from_lists, None, "", Needs(("pytrec_eval",)),
    Peer(
        "metrics/lists", FLOAT32, "pytrec-eval-terrier", "lists of 100",
        "Scores are rounded to float32 and equal ones are ordered by the id, from last to first; gains must be "
        "integers.",
    ),
)  # fmt: skip
