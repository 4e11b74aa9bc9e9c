"""Tasks of exact ranking and of evaluations of binary relevance, both directions, and of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vsebench.types import DIRECTIONS, Direction, Observation

from .inputs import Inputs
from .machine import run_command
from .task import F, Needs, Outcome, Task, Work

KS = (1, 5, 10)
METRICS = ("R@1", "R@5", "R@10", "Recall@10", "MedR", "MeanR", "MRR", "R-P", "mAP@R")
# Name of a metric in the package eccv_caption -> name in vsebench.
OFFICIAL: dict[str, str] = {
    **{f"coco_5k_r{k}": f"R@{k}" for k in KS},
    **{f"coco_1k_r{k}": f"1k:R@{k}" for k in KS},
    **{f"cxc_r{k}": f"cxc:R@{k}" for k in KS},
    **{f"eccv_r{k}": f"eccv:R@{k}" for k in KS},
    "eccv_rprecision": "eccv:R-P",
    "eccv_map_at_r": "eccv:mAP@R",
}


def per_query(observed: dict[Direction, Observation], names: tuple[str, ...]) -> dict[str, Any]:
    """Values of every query of metrics of the captions written for the image."""
    from vsebench.metrics import parse

    return {
        f"{name} {direction}": parse(name).per_query(found.ranks["gt"])
        for direction, found in observed.items()
        for name in names
    }


def ranks(given: Inputs) -> Work:
    """Exact ranks of the captions written for the image, and all metrics of them."""
    observe = _observer(given)
    return lambda: Outcome(per_query(observe(None), METRICS))


def top(given: Inputs, k: int) -> Work:
    """The first k of every query, and the exact ranks."""
    observe = _observer(given)

    def work() -> Outcome:
        return Outcome({f"top {d}": found.top.items for d, found in observe(k).items() if found.top is not None})

    return work


def _observer(given: Inputs) -> Callable[[int | None], dict[Direction, Observation]]:
    from vsebench.rank.count import Targets
    from vsebench.rank.observe import observe
    from vsebench.rank.scorers import Dot
    from vsebench.relevance import load

    requests = [Targets("gt", load("gt", given.split, d)) for d in DIRECTIONS]

    def observed(k: int | None) -> dict[Direction, Observation]:
        scorer = Dot(*given.world[:2])
        return observe(scorer, requests, depth=None if k is None else dict.fromkeys(DIRECTIONS, k))

    return observed


def evaluation(given: Inputs, reading: bool, metrics: str = "binary", ci: float = 95.0) -> Work:
    """The steps of ``vsebench eval FILE``: reading and matching alone, or what follows."""
    from vsebench.evaluation import inputs
    from vsebench.evaluation.request import request
    from vsebench.evaluation.run import run_evaluation

    asked = request({"images": given.file, "split": given.split_name, "metrics": metrics, "ci": ci})
    if reading:
        return lambda: inputs.read(asked)
    data = inputs.read(asked)

    def work() -> Outcome:
        report, _ = run_evaluation(data, asked)
        report.to_json(per_query=False)
        values = {f"{r.metric} {r.direction}": r.value for r in report.results}
        return Outcome(values, notes=(f"binary metrics: {len(values)} results",) if ci else ())

    return work


def command(given: Inputs) -> Work:
    """``vsebench eval`` in a process of its own."""
    arguments = ["eval", given.file, "--split", given.split_name, "--metrics", "binary", "--json", "--quiet"]
    return lambda: Outcome(measured={"MiB": run_command(*arguments) - sum(x.nbytes for x in given.world[:2]) / 2**20})


def shown_help(given: Inputs) -> Work:
    """The help text in a process of its own."""
    return lambda: Outcome(measured={"MiB": run_command("--help")})


SAME = partial(evaluation, reading=False, metrics=",".join(OFFICIAL.values()), ci=0)
TASKS = (
    Task("ranks", "exact ranks, and all metrics of them", ranks, F, "<= 1.3 F, <= 200 MiB"),
    Task("first 10", "the first 10 of every query, and exact ranks", partial(top, k=10)),
    Task("first 1000", "the first 1,000 of every query, and exact ranks", partial(top, k=1000)),
    Task("loading", "reading, audit and matching of a file", partial(evaluation, reading=True), None),
    Task("binary", "--metrics binary, with intervals", partial(evaluation, reading=False), F, "<= 1.5 F, <= 200 MiB"),
    Task("official", "the values of eccv_caption", SAME, needs=Needs(("eccv_caption",), full=True)),
    Task("command", "command: vsebench eval --metrics binary", command),
    Task("help", "command: vsebench --help", shown_help, None, "<= 0.5 s"),
)
