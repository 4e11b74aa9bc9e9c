"""``ranx``: compiled metrics of dictionaries of judgements and runs."""

from __future__ import annotations

import warnings
from typing import Any

from vsebench.types import DIRECTIONS

from ..inputs import Array, Inputs
from ..task import Needs, Outcome, Peer, Task, Work
from . import dictionaries

BINARY = {"hit_rate@1": "R@1", "hit_rate@5": "R@5", "hit_rate@10": "R@10", "recall@100": "Recall@100",
          "r-precision": "R-P"}  # fmt: skip
GRADED = {"ndcg@10": "nDCG@10"}


def from_lists(given: Inputs) -> Work:
    """Metrics of retrieved lists, with the dictionaries; the compilation of its kernels is not timed."""
    given.lists, given.judgements  # noqa: B018 (in memory before the time is measured)
    first, second = map(dictionaries.key, (0, 1))
    _measure({first: {first: 1}}, {first: {first: 1.0, second: 0.5}}, {**BINARY, **GRADED})

    def work() -> Outcome:
        values: dict[str, float] = {}
        for direction in DIRECTIONS:
            run = _run(*given.lists[direction])
            for judged, names in ((dictionaries.binary, BINARY), (dictionaries.graded, GRADED)):
                found = _measure(judged(given, direction), run, names)
                values |= {f"{name} {direction}": value for name, value in found.items()}
        return Outcome(values)

    return work


def _run(items: Array, scores: Array) -> Any:
    from ranx import Run

    return Run(dictionaries.retrieved(items, scores))


def _measure(judged: dictionaries.Judged, run: Any, names: dict[str, str]) -> dict[str, float]:
    from ranx import Qrels, Run, evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba, about the hash of ids
        run = Run(run) if isinstance(run, dict) else run
        found = evaluate(Qrels(judged), run, list(names))
    found = found if isinstance(found, dict) else dict.fromkeys(names, found)  # one name: a number
    return {ours: float(found[theirs]) for theirs, ours in names.items()}


TASK = Task(
    "ranx", dictionaries.OF_LISTS, from_lists, None, "", Needs(("ranx",)),
    Peer(
        "metrics/lists", 1e-9, "ranx", "lists of 100",
        "Equal scores keep the order in which they were inserted. Items that are not in a list count as not found, "
        "so reciprocal ranks are not compared. The first call compiles, which takes up to half a minute and is "
        "not counted.",
    ),
)  # fmt: skip
