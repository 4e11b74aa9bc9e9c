"""``python -m benchmarks.backends``: the same report by every installed back-end, compared with numpy."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from vsebench.errors import VsebenchError
from vsebench.rank import backends

from . import captions, harness, synthetic
from .bench import Bench, Row, parser, positive, print_comparisons
from .check import Comparison
from .harness import Usage

QUICK_IMAGES, DIM = 400, 1024
# Times the wall time of numpy. What `top` reads FAISS lists itself, as a second way to the same digits.
LIMITS = {("full", "faiss"): 1.3, ("binary", "torch:cpu"): 2.5, ("full", "torch:cpu"): 1.5}
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


def report(backend: str, which: str, images: int) -> Any:
    """The report of a test set of the size of ``images``."""
    from vsebench import evaluate

    world = synthetic.world(images, DIM)
    split, _ = captions.load(images)
    metrics = ",".join(REPORTS[which])

    def work() -> Any:
        return evaluate(
            world.images, world.captions, split=split, metrics=metrics, gains=("cider",), ci=0, backend=backend
        )

    return world, work


def differences(images: int) -> list[Comparison]:
    """Values of every query of every back-end that are not those of numpy."""
    found = []
    for which in ("full", "top"):
        first, *others = (report(name, which, images)[1]() for name in names())
        for name, other in zip(names()[1:], others, strict=True):
            differ = [
                f"{ours.metric} {ours.direction}"
                for ours, theirs in zip(first.results, other.results, strict=True)
                if ours.value != theirs.value
                or (ours.per_query is not None and not np.array_equal(ours.per_query, theirs.per_query, equal_nan=True))
            ]
            found.append(Comparison(f"{which} report by {name}", len(first.results), tuple(differ)))
    return found


def table(images: int, repeats: int, quick: bool) -> Bench:
    """All rows and notes."""
    bench = Bench(images, repeats, quick, goals=not quick)
    bench.add(Row(f"-- dim {DIM}: {images:,} x {images * synthetic.CAPTIONS:,}, {captions.load(images)[1]}"))
    for which, metrics in REPORTS.items():
        bench.add(Row(f"-- {', '.join(metrics)}"))
        reference: Usage | None = None
        for name in names():
            usage = measured(bench, name, which)
            reference = reference or usage
            ratio, cpu = usage.seconds / reference.seconds, usage.cpu / reference.cpu
            row = Row(name, usage.seconds, usage.cpu, ratio, cpu, "x", usage.added_mib)
            limit = LIMITS.get((which, name))
            bench.add(row, f"<= {limit:g} x" if limit else "", ratio <= (limit or 0))
    bench.notes += ["multiples are of numpy; the memory is that of the process, not of a GPU"]
    return bench


def measured(bench: Bench, name: str, which: str) -> Usage:
    """A report by a back-end, in a fresh process."""
    options = ("--task", name, which, "--images", str(bench.images), "--repeats", str(bench.repeats))
    found = harness.child("backends", *options)
    if isinstance(found, str):
        raise VsebenchError(found)
    return Usage(**found)


def main() -> None:
    """Command line."""
    options = parser("backends", __doc__, 3)
    options.add_argument("--images", type=positive, default=synthetic.COCO_IMAGES)
    options.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    images = QUICK_IMAGES if arguments.quick or arguments.check else arguments.images
    if arguments.task:
        try:
            world, work = report(*arguments.task, images)
            added = harness.added_mib(work)
            usage = harness.interleaved(work, harness.Floor(world.images, world.captions), arguments.repeats)
            harness.report_usage(usage if added is None else Usage(**{**vars(usage), "added_mib": added}))
        except VsebenchError as error:
            print(json.dumps(error.what))
        return
    if arguments.check:
        sys.exit(print_comparisons(differences(images), arguments.json))
    table(images, arguments.repeats, arguments.quick).print(arguments.json)


if __name__ == "__main__":
    main()
