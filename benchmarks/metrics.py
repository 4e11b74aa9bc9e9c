"""``python -m benchmarks.metrics``: graded metrics against their floor and against plain loops."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import VsebenchError
from vsebench.types import Split

from . import captions, harness, synthetic
from .harness import Usage
from .rows import HEADINGS, Row

KS = (100, 500, 1000, 5000)
QUICK_IMAGES, DIM, RESAMPLES = 400, 1024, 10_000
SAMPLE = 150  # queries a direction that the loops are timed and compared on
COHERENT = tuple(f"CS[captions=all]@{k}" for k in KS)
# what is measured, the limit in multiples of F
TASKS: dict[str, tuple[str, tuple[str, ...], float | None]] = {
    "held": (f"CS@{','.join(map(str, KS))}, both directions, scores and gains in memory", COHERENT, 2.5),
    "cs": ("the same from vectors", COHERENT, None),
    "first": ("CS@100,1000, first captions, both directions", ("CS@100", "CS@1000"), None),
    "top": (
        "NCS, SR, nDCG @1,5,10, both directions",
        tuple(f"{m}@{k}" for m in ("NCS", "SR", "nDCG") for k in (1, 5, 10)),
        None,
    ),
    "kendall": ("Kendall of whole galleries, both directions", ("Kendall",), None),
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
    "report": ("full report from vectors and raw captions, SPICE from cached tuples", FULL, 5.5),
    "all": ("`--metrics all --gains cider,spice`: with Kendall of whole galleries", ("all",), None),
}
Array = npt.NDArray[Any]


class MatrixGains:
    """Gains in memory, in both orientations: skewed as those of CIDEr-D are, some of them zero."""

    name, settings, notes, lowest, rows_affordable = "cider", {}, (), 0.0, True  # type: ignore[var-annotated]

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
    """What a child process measures."""
    from vsebench.graded.run import run
    from vsebench.metrics import parse
    from vsebench.rank.scorers import Matrix

    if name in (*REPORTS, "features", "resamples"):
        return report(name, images, repeats)
    world, scorer, split, gains = prepared(images)
    if name == "held":
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
    bare = harness.resident_mib()
    harness.forget_peak()
    work()
    peak = harness.resident_mib(peak=True)
    usage = harness.interleaved(work, harness.Floor(world.images, world.captions), repeats)
    return dataclasses.replace(usage, added_mib=None if peak is None or bare is None else peak - bare)


def report(name: str, images: int, repeats: int) -> Usage:
    """The whole way from vectors and strings to a report, or what of it is needed to ask for gains ("features").

    Raises:
        VsebenchError: the tuples of SPICE have not been built.
    """
    from vsebench import evaluate
    from vsebench.relevance.kinds import load_gains, parse_spec

    world = synthetic.world(images, DIM)
    split, _ = captions.load(images)
    names = ("cider", "spice")

    def load() -> None:
        for view in names:
            load_gains(parse_spec(view), split)

    def whole() -> None:
        asked = ",".join(REPORTS[name][1])
        evaluate(world.images, world.captions, split=split, metrics=asked, gains=names).to_json()

    load()
    work = load if name == "features" else resamples(world, split) if name == "resamples" else whole
    return _measured(work, world, repeats)


def resamples(world: synthetic.World, split: Split) -> Callable[[], None]:
    """Intervals of all metrics that have values of queries, from 10,000 resamples of the images."""
    from vsebench import evaluate
    from vsebench.evaluation import intervals
    from vsebench.stats import bootstrap
    from vsebench.stats.columns import prepare

    asked = ",".join(REPORTS["report"][1])
    report = evaluate(world.images, world.captions, split=split, metrics=asked, gains=("cider", "spice"), ci=0)
    columns = [intervals.column(r, split) for r in report.results if r.per_query is not None]

    def work() -> None:
        ready = prepare(columns, intervals.population(split), [])
        bootstrap.percentile(bootstrap.resample(ready, RESAMPLES, 0, None), 0.95)

    return work


def products(scorer: Any) -> None:
    """The scores of both directions as graded metrics compute them, block by block, and nothing else."""
    from vsebench.graded.tasks import MOST_QUERIES, tile_scores
    from vsebench.numeric.parallel import default_threads, one_blas_thread, spread
    from vsebench.rank import full_order

    threads = default_threads()
    with one_blas_thread():
        for direction in ("i2t", "t2i"):
            n, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
            step = max(1, min(tile_scores(threads) // gallery, MOST_QUERIES))

            def part(start: int, stop: int, _: int, step: int = step, d: Any = direction, g: int = gallery) -> None:
                out = np.empty(step * g, np.float32)
                for a in range(start, stop, step):
                    full_order.rows_of(scorer, d, a, min(a + step, stop), out)

            spread(part, n, threads)


def loops(scores: Array, gains: Array, ks: Sequence[int]) -> Array:
    """(query, ks) tau-b one query and one k at a time, by scipy, from rows of scores and gains."""
    from scipy.stats import kendalltau

    out = np.empty((len(scores), len(ks)))
    for q, (s, g) in enumerate(zip(scores, gains, strict=True)):
        order = np.argsort(-s, kind="stable")
        for i, k in enumerate(ks):
            top = order[:k]
            out[q, i] = kendalltau(s[top], g[top]).statistic
    return out


def against_loops(images: int) -> tuple[float, dict[str, float]]:
    """Seconds that the loops need for all queries, extrapolated, and the largest differences to ours."""
    from vsebench.graded.run import run
    from vsebench.metrics import parse

    _, scorer, split, gains = prepared(images)
    ks = [k for k in KS if k <= images] or [images // 2, images]
    names = [f"CS[captions=all]@{k}" for k in ks]
    found = run(scorer, split, [parse(m) for m in (*names, "NCS@10")], {"cider": gains})
    seconds, off = 0.0, {}
    for direction in ("i2t", "t2i"):
        n, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
        some = np.sort(np.random.default_rng(1).choice(n, min(SAMPLE, n), replace=False))
        rows, cols = np.repeat(some, gallery), np.tile(np.arange(gallery), len(some))
        exact = scorer.pairs(*((rows, cols) if direction == "i2t" else (cols, rows)), 2).reshape(len(some), gallery)
        own = (gains.values if direction == "i2t" else gains.transposed)[some]
        start = time.perf_counter()
        want = loops(exact, own, ks)
        seconds += (time.perf_counter() - start) / len(some) * n
        for i, m in enumerate(names):
            ours = found[parse(m), direction].values[some]  # type: ignore[index]
            off[f"{m} {direction}"] = float(np.abs(ours - want[:, i]).max())
        top = np.take_along_axis(own, np.argsort(-exact, axis=1, kind="stable")[:, :10], 1).astype(float).sum(1)
        best = -np.sort(-own, axis=1)[:, :10].astype(float).sum(1)
        ours = found[parse("NCS@10"), direction].values[some]  # type: ignore[index]
        off[f"NCS@10 {direction}"] = float(np.abs(ours - top / best).max())
    return seconds, off


def in_child(name: str, images: int, repeats: int) -> Usage | str:
    """``task`` in a fresh process; the reason when something that it needs is not installed or built."""
    command = [sys.executable, "-m", "benchmarks.metrics", "--task", name]
    command += ["--images", str(images), "--repeats", str(repeats)]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return found if isinstance(found, str) else Usage(**found)


def table(images: int, repeats: int, quick: bool) -> tuple[list[Row], list[str]]:
    """All rows and notes."""
    rows = [Row(f"-- dim {DIM}: {images:,} x {images * synthetic.CAPTIONS:,}, gains in memory")]
    product = _usage("product", images, repeats)
    rows.append(Row("F: float32 product", product.floor, product.floor_cpu, 1.0, 1.0, "F"))
    rows.append(_row("two products in blocks, nothing else", product, None, quick))
    coherent = None
    for name, (what, _, limit) in TASKS.items():
        usage = _usage(name, images, repeats)
        rows += [_row(what, usage, limit, quick), _memory(usage, quick)]
        if name == "held":  # what the loops are given, too
            coherent = usage
    seconds, off = against_loops(images)
    if coherent is not None:
        ratio = seconds / coherent.seconds
        met = None if quick else ratio >= 30
        rows.append(Row("loops over the same: scipy, a query and a k at a time (E)", seconds, ratio=ratio, unit="x",
                        goal="" if quick else ">= 30 x", met=met))  # fmt: skip
    rows += _reports(images, repeats, quick)
    notes = [
        "two products: one for each direction; F is one product of the same vectors on all cores",
        f"(E) extrapolated from {SAMPLE} queries a direction, scores given: the loops make no product",
        f"largest difference to the loops: {max(off.values()):.1e} over {len(off)} metrics and directions",
    ]
    return rows, notes


def _reports(images: int, repeats: int, quick: bool) -> list[Row]:
    rows = [Row(f"-- {captions.load(images)[1]}")]
    features = in_child("features", images, repeats)
    if isinstance(features, str):
        return [*rows, Row(f"  full report: not measured ({features})")]
    rows.append(_row("features of CIDEr-D and graphs of SPICE, from captions and tuples", features, None, quick))
    for name, (what, _, limit) in REPORTS.items():
        usage = _usage(name, images, repeats)
        rows += [_row(what, usage, limit, quick), _memory(usage, quick)]
        rest = usage.ratio - features.ratio
        goal, met = ("", None) if limit is None or quick else ("<= 4 F", rest <= 4)
        rows.append(Row("  of it beside the features", ratio=rest, unit="F", goal=goal, met=met))
    usage = _usage("resamples", images, repeats)
    row = _row(f"intervals of all its metrics, {RESAMPLES:,} resamples", usage, None, quick)
    met = None if quick else usage.seconds <= 5
    return [*rows, dataclasses.replace(row, goal="" if quick else "<= 5 s", met=met), _memory(usage, quick)]


def _usage(name: str, images: int, repeats: int) -> Usage:
    found = in_child(name, images, repeats)
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def _memory(usage: Usage, quick: bool) -> Row:
    met = None if quick or usage.added_mib is None else usage.added_mib <= 200
    return Row("  memory over the inputs", mib=usage.added_mib, goal="" if quick else "<= 200 MiB", met=met)


def _row(what: str, usage: Usage, limit: float | None, quick: bool) -> Row:
    goal, met = ("", None) if limit is None or quick else (f"<= {limit:g} F", usage.ratio <= limit)
    cpu = usage.cpu / usage.floor_cpu if usage.floor_cpu else None
    return Row(what, usage.seconds, usage.cpu, usage.ratio, cpu, "F", None, goal, met)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metrics", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; goals do not apply")
    parser.add_argument("--check", action="store_true", help="only compare numbers; exit 1 on a difference")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--images", type=int, default=synthetic.COCO_IMAGES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    images = QUICK_IMAGES if arguments.quick or arguments.check else arguments.images
    if arguments.task:
        try:
            harness.report_usage(task(arguments.task, arguments.images, arguments.repeats))
        except VsebenchError as error:
            print(json.dumps(error.what))
        return
    if arguments.check:
        products(prepared(images)[1])  # that what is timed runs at all
        _, off = against_loops(images)
        print(
            "\n".join(f"{'ok ' if x < 1e-12 else 'BAD'} {name}: differs by at most {x:.1e}" for name, x in off.items())
        )
        sys.exit(int(max(off.values()) >= 1e-12))
    rows, notes = table(images, arguments.repeats, arguments.quick)
    if arguments.json:
        print(
            json.dumps(
                {"machine": harness.machine(), "rows": [dataclasses.asdict(r) for r in rows], "notes": notes}, indent=2
            )
        )
        return
    print("  ".join(f"{name}: {value}" for name, value in harness.machine().items()) + "\n")
    print(harness.table(HEADINGS, [r.cells() for r in rows]) + "\n")
    print("\n".join(f"* {note}" for note in notes))


if __name__ == "__main__":
    main()
