"""``python -m benchmarks.metrics``: graded metrics, compared with their floor and with loops over scipy."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import VsebenchError
from vsebench.types import Split

from . import captions, harness, synthetic
from .bench import Bench, Row, parser, positive, print_comparisons
from .check import Comparison
from .harness import Usage
from .peers.scipy_tau import loops

KS = (100, 500, 1000, 5000)
QUICK_IMAGES, DIM, RESAMPLES = 400, 1024, 10_000
SAMPLE = 150  # queries a direction that the loops are timed and compared on
COHERENT = tuple(f"CS[captions=all]@{k}" for k in KS)
# name -> (description, metrics, limit in multiples of F)
TASKS: dict[str, tuple[str, tuple[str, ...], float | None]] = {
    "memory": (f"CS@{','.join(map(str, KS))}, both directions, scores and gains in memory", COHERENT, 2.5),
    "cs": ("the same from vectors", COHERENT, None),
    "first": ("CS@100,1000, first captions, both directions", ("CS@100", "CS@1000"), None),
    "top": (
        "NCS, SR, nDCG @1,5,10, both directions",
        tuple(f"{m}@{k}" for m in ("NCS", "SR", "nDCG") for k in (1, 5, 10)),
        None,
    ),
    "kendall": ("Kendall of complete galleries, both directions", ("Kendall",), None),
}
# A full report: every metric of binary relevance, and these of CIDEr-D and SPICE, both directions, with intervals.
FULL = (
    "binary",
    *(
        f"{v}:{m}"
        for v in ("cider", "spice")
        for m in (*COHERENT, "ncs", "sr", "R@1", "R@5", "R@10", "ndcg", "nDCG@100")
    ),
)
REPORTS: dict[str, tuple[str, tuple[str, ...], float | None]] = {
    "report": ("full report from vectors and raw captions, SPICE from cached tuples", FULL, 8.0),
    "all": ("`--metrics all --gains cider,spice`: with Kendall of complete galleries", ("all",), 12.0),
}
Array = npt.NDArray[Any]


class MatrixGains:
    """Gains in memory, in both orientations, with a distribution like that of CIDEr-D; some are zero."""

    name, settings, notes, lowest, rows_affordable, no_query = "cider", {}, (), 0.0, True, {}  # type: ignore[var-annotated]

    def __init__(self, images: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        captions = images * synthetic.CAPTIONS
        self.values = np.empty((images, captions), np.float32)
        for i in range(images):
            row = np.exp(1.2 * rng.standard_normal(captions, dtype=np.float32) - 3)
            row[rng.random(captions, dtype=np.float32) < 0.014] = 0
            row[i * synthetic.CAPTIONS : (i + 1) * synthetic.CAPTIONS] += 3
            self.values[i] = row
        self.transposed = np.ascontiguousarray(self.values.T)
        self.shape = self.values.shape

    def rows(self, direction: str, start: int, stop: int) -> Array:
        """(query, gallery) float32."""
        return (self.values if direction == "i2t" else self.transposed)[start:stop]

    def at(self, direction: str, queries: Array, items: Array) -> Array:
        """(query, k) float32."""
        return np.asarray((self.values if direction == "i2t" else self.transposed)[queries[:, None], items])


def prepared(images: int) -> tuple[synthetic.World, Any, Any, MatrixGains]:
    """Vectors, scorer, split and gains."""
    from vsebench.rank.scorers import Dot

    world = synthetic.world(images, DIM)
    return world, Dot(world.images, world.captions), world.split(), MatrixGains(images)


def task(name: str, images: int, repeats: int) -> Usage:
    """Measure a task; called in a child process."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Matrix

    if name in (*REPORTS, "features", "resamples"):
        return report(name, images, repeats)
    world, scorer, split, gains = prepared(images)
    if name == "memory":
        scorer = Matrix(world.images @ world.captions.T)
    if name == "product":
        work: Callable[[], Any] = lambda: products(scorer)  # noqa: E731
    else:
        metrics = [parse(m) for m in TASKS[name][1]]

        def work() -> dict[str, float]:
            found = run(scorer, split, metrics, {"cider": gains})
            return {f"{m} {d}": v.mean for (m, d), v in found.items()}

    return _measured(work, world, repeats)


def _measured(work: Callable[[], Any], world: synthetic.World, repeats: int) -> Usage:
    """Memory of a first run, then repetitions between products."""
    added = harness.added_mib(work)
    usage = harness.interleaved(work, harness.Floor(world.images, world.captions), repeats)
    return dataclasses.replace(usage, added_mib=added)


def report(name: str, images: int, repeats: int) -> Usage:
    """Measure a report from vectors and captions, loading the gains ("features"), or intervals ("resamples").

    Raises:
        VsebenchError: the tuples of SPICE are not built.
    """
    from vsebench import evaluate
    from vsebench.relevance import load_gains, parse_spec

    world = synthetic.world(images, DIM)
    split, _ = captions.load(images)
    names = ("cider", "spice")

    def load() -> None:
        for view in names:
            load_gains(parse_spec(view), split)

    def complete() -> None:
        metrics = ",".join(REPORTS[name][1])
        evaluate(world.images, world.captions, split=split, metrics=metrics, gains=names).to_json()

    load()
    work = load if name == "features" else resamples(world, split) if name == "resamples" else complete
    return _measured(work, world, repeats)


def resamples(world: synthetic.World, split: Split) -> Callable[[], None]:
    """Intervals of all metrics with per-query values, from 10,000 resamples of the images."""
    from vsebench import evaluate
    from vsebench.evaluation import intervals
    from vsebench.stats import bootstrap
    from vsebench.stats.columns import prepare

    metrics = ",".join(REPORTS["report"][1])
    report = evaluate(world.images, world.captions, split=split, metrics=metrics, gains=("cider", "spice"), ci=0)
    columns = [intervals.column(r, split) for r in report.results if r.per_query is not None]

    def work() -> None:
        ready = prepare(columns, intervals.population(split), [])
        bootstrap.percentile(bootstrap.resample(ready, RESAMPLES, 0, None), 0.95)

    return work


def products(scorer: Any) -> None:
    """Compute the scores of both directions in blocks, as for graded metrics, without measuring."""
    from vsebench.graded.engine import MOST_QUERIES, block_scores
    from vsebench.numeric.parallel import default_threads, one_blas_thread, spread
    from vsebench.rank.scorers import rows_of

    threads = default_threads()
    with one_blas_thread():
        for direction in ("i2t", "t2i"):
            n, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
            step = max(1, min(block_scores(threads) // gallery, MOST_QUERIES))

            def part(start: int, stop: int, _: int, step: int = step, d: Any = direction) -> None:
                for a in range(start, stop, step):
                    rows_of(scorer, d, slice(a, min(a + step, stop)))

            spread(part, n, threads)


def against_loops(images: int) -> tuple[float, dict[str, float]]:
    """Seconds of the loops for all queries, extrapolated, and the largest differences from ours."""
    from vsebench.graded.engine import run
    from vsebench.metrics import parse

    _, scorer, split, gains = prepared(images)
    ks = [k for k in KS if k <= images] or [images // 2, images]
    names = [f"CS[captions=all]@{k}" for k in ks]
    found = run(scorer, split, [parse(m) for m in (*names, "NCS@10")], {"cider": gains})
    seconds, off = 0.0, {}
    for direction in ("i2t", "t2i"):
        n, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
        sample = np.sort(np.random.default_rng(1).choice(n, min(SAMPLE, n), replace=False))
        rows, cols = np.repeat(sample, gallery), np.tile(np.arange(gallery), len(sample))
        exact = scorer.pairs(*((rows, cols) if direction == "i2t" else (cols, rows)), 2).reshape(len(sample), gallery)
        own = (gains.values if direction == "i2t" else gains.transposed)[sample]
        start = time.perf_counter()
        expected = loops(exact, own, ks)
        seconds += (time.perf_counter() - start) / len(sample) * n
        for i, m in enumerate(names):
            ours = found[parse(m), direction].values[sample]
            off[f"{m} {direction}"] = float(np.abs(ours - expected[:, i]).max())
        top = np.take_along_axis(own, np.argsort(-exact, axis=1, kind="stable")[:, :10], 1).astype(float).sum(1)
        best = -np.sort(-own, axis=1)[:, :10].astype(float).sum(1)
        ours = found[parse("NCS@10"), direction].values[sample]
        off[f"NCS@10 {direction}"] = float(np.abs(ours - top / best).max())
    return seconds, off


def table(images: int, repeats: int, quick: bool) -> Bench:
    """All rows and notes."""
    bench = Bench(images, repeats, quick, goals=not quick)
    bench.add(Row(f"-- dim {DIM}: {images:,} x {images * synthetic.CAPTIONS:,}, gains in memory"))
    product = measured(bench, "product")
    bench.floor(product)
    bench.against_floor("two products in blocks, nothing else", product)
    times = {}
    for name, (what, _, limit) in TASKS.items():
        usage = measured(bench, name)
        times[name] = usage.seconds
        bench.against_floor(what, usage, limit)
        bench.memory("  memory over the inputs", usage.added_mib)
    seconds, off = against_loops(images)
    ratio = seconds / times["memory"]
    what = "loops over the same: scipy, a query and a k at a time (E)"
    bench.add(Row(what, seconds, ratio=ratio, unit="x"), ">= 35 x", ratio >= 35)
    reports(bench)
    bench.notes += [
        "two products: one for each direction; F is one product of the same vectors on all cores",
        f"(E) extrapolated from {SAMPLE} queries a direction, scores given: the loops compute no product",
        f"largest difference to the loops: {max(off.values()):.1e} over {len(off)} metrics and directions",
    ]
    return bench


def reports(bench: Bench) -> None:
    """Add the rows of full reports."""
    bench.add(Row(f"-- {captions.load(bench.images)[1]}"))
    try:
        features = measured(bench, "features")
    except VsebenchError as error:
        bench.add(Row(f"  full report: not measured ({error.what})"))
        return
    bench.against_floor("features of CIDEr-D and graphs of SPICE, from captions and tuples", features)
    for name, (what, _, limit) in REPORTS.items():
        usage = measured(bench, name)
        bench.against_floor(what, usage, limit)
        bench.memory("  memory over the inputs", usage.added_mib, 250)
        bench.add(Row("  of it beside the features", ratio=usage.ratio - features.ratio, unit="F"))
    usage = measured(bench, "resamples")
    what = f"intervals of all its metrics, {RESAMPLES:,} resamples"
    cpu = usage.cpu / usage.floor_cpu if usage.floor_cpu else None
    bench.add(Row(what, usage.seconds, usage.cpu, usage.ratio, cpu, "F"), "<= 5 s", usage.seconds <= 5)
    bench.memory("  memory over the inputs", usage.added_mib)


def measured(bench: Bench, name: str) -> Usage:
    """``task`` in a fresh process; raises VsebenchError when something that it needs is not installed or built."""
    options = ("--task", name, "--images", str(bench.images), "--repeats", str(bench.repeats))
    found = harness.child("metrics", *options)
    if isinstance(found, str):
        raise VsebenchError(found)
    return Usage(**found)


def main() -> None:
    """Command line."""
    options = parser("metrics", __doc__, 3)
    options.add_argument("--images", type=positive, default=synthetic.COCO_IMAGES)
    options.add_argument("--task", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    images = QUICK_IMAGES if arguments.quick or arguments.check else arguments.images
    if arguments.task:
        try:
            harness.report_usage(task(arguments.task, arguments.images, arguments.repeats))
        except VsebenchError as error:
            print(json.dumps(error.what))
        return
    if arguments.check:
        products(prepared(images)[1])  # checks that the timed function runs
        _, off = against_loops(images)
        found = [Comparison(name, SAMPLE, () if x < 1e-12 else (f"by {x:.1e}",)) for name, x in off.items()]
        sys.exit(print_comparisons(found, arguments.json))
    table(images, arguments.repeats, arguments.quick).print(arguments.json)


if __name__ == "__main__":
    main()
