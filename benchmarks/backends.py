"""Tasks of the same report by every installed back-end, as multiples of numpy; every value is the same."""

from __future__ import annotations

from functools import partial

from vsebench.rank import backends

from .inputs import Inputs
from .task import F, Outcome, Peer, Task, Work

# Times the wall time of numpy. What ``top`` reads FAISS lists itself, as a second way to the same digits.
GOALS = {"full by faiss": 1.3, "binary by torch:cpu": 2.5, "full by torch:cpu": 1.5}
GRADED = ("CS[captions=all]@100", "CS[captions=all]@1000", "ncs", "sr", "R@1", "R@5", "R@10", "ndcg")
REPORTS: dict[str, tuple[str, ...]] = {
    "binary": ("binary",),
    "full": ("binary", *(f"cider:{m}" for m in GRADED)),
    "top": ("R@1", "R@5", "R@10", "cider:CS[captions=all]@50"),
}


def names() -> list[str]:
    """The back-ends that are installed, numpy first; torch on the processor, and on a GPU where there is one."""
    found = [name for name, b in backends.BACKENDS.items() if b.installed and not b.devices]
    torch = {"torch:cpu", backends.chosen("torch")[0]} if backends.BACKENDS["torch"].installed else set()
    return [*found, *sorted(torch)]


def report(given: Inputs, backend: str, which: str) -> Work:
    """A report from vectors and captions, without intervals."""
    from vsebench import evaluate

    images, captions = given.world[:2]
    split, metrics = given.captions, ",".join(REPORTS[which])

    def work() -> Outcome:
        found = evaluate(images, captions, split=split, metrics=metrics, gains=("cider",), ci=0, backend=backend)
        values = {f"mean {r.metric} {r.direction}": r.value for r in found.results}
        every = {f"{r.metric} {r.direction}": r.per_query for r in found.results if r.per_query is not None}
        return Outcome({**values, **every})

    return work


def _task(which: str, backend: str) -> Task:
    name, first = f"{which} by {backend}", backend == "numpy"
    goal = f"<= {GOALS[name]:g} x" if name in GOALS else ""
    peer = None if first else Peer(f"backends/{which} by numpy", 0.0)
    words = ", ".join(REPORTS[which]) if first else ""
    return Task(name, words, partial(report, backend=backend, which=which), F if first else None, goal, peer=peer)


TASKS = tuple(_task(which, backend) for which in REPORTS for backend in names())
