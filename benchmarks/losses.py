"""``python -m benchmarks.losses``: a training step with every loss, compared with one of MH and with naive forms."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import sys
from collections.abc import Callable
from typing import Any

from vsebench.errors import MissingPackage

from . import harness
from .bench import Bench, Row, parser, print_comparisons
from .check import Comparison
from .harness import Usage

DIM = 1024
SIZES = (128, 512)
GOALS = {"ladder": 1.2, "kendall_sw_hs": 1.5, "log_ratio": 1.2}
REAL = {"sam": "cider", "ladder": "match", "kendall_sw_hs": "match", "log_ratio": "match"}
REAL_GOAL = 1.3  # times the complete step of MH
PAIRS = 1280  # of the complete steps that are timed together
SLOW = ("kendall", "dense_triplet", "kendall_sw")  # repeated less
CHECKED = 24  # pairs in the batches that are compared
TOLERANCE = 1e-9  # relative, float64
Work = Callable[[], object]


def interleaved(work: Work, floor: Work, repeats: int) -> Usage:
    """Repeat ``work`` between two repetitions of ``floor``; medians, and the ratios to the mean of the two."""
    ours, ratios = [], []
    before = harness.timed(floor)[:2]
    for _ in range(repeats):
        ours.append(harness.timed(work)[:2])
        after = harness.timed(floor)[:2]
        ratios.append([2 * x / (y + z) for x, y, z in zip(ours[-1], before, after, strict=True)])
        before = after
    wall, cpu, ratio, of_cpu = (statistics.median(x) for x in (*zip(*ours, strict=True), *zip(*ratios, strict=True)))
    return Usage(wall, cpu, ratio=ratio, repeats=repeats, detail={"cpu_ratio": of_cpu})


def add(bench: Bench, what: str, usage: Usage, limit: float | None = None) -> None:
    """Add a row as a multiple of MH. Goals apply to CPU time, which other load on the machine affects less."""
    ratio = usage.detail["cpu_ratio"]
    row = Row(what, usage.seconds, usage.cpu, usage.ratio, ratio, "x", usage.added_mib)
    bench.add(row, f"<= {limit:g} x" if limit else "", ratio <= (limit or 0))


def batch(b: int, dim: int, dtype: Any = None, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Vectors (b, dim) of images and of captions, positives and degrees (b, b): 2-5 % of the degrees are tied."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    images = torch.randn(b, dim, generator=rng, dtype=dtype or torch.float32)
    captions = images + 12 * torch.randn(b, dim, generator=rng, dtype=images.dtype)
    points = torch.nn.functional.normalize(torch.randn(b, 16, generator=rng, dtype=images.dtype), dim=1)
    degree = ((points @ points.T).clamp(-1, 1) * 1000).round() / 1000
    degree.fill_diagonal_(1.0)
    return images.requires_grad_(), captions.requires_grad_(), torch.eye(b, dtype=torch.bool), degree


def ready(name: str) -> Callable[..., Any]:
    """A loss, or a naive form after ``naive:``, as a function of scores, positives and degrees."""
    from train_reference.losses import get_loss

    from .peers.loss_loops import FORMS

    if name.startswith("naive:"):
        naive = FORMS[name.removeprefix("naive:")][0]
        return lambda scores, positive, degree: naive(scores, degree)
    entry = get_loss(name)
    if entry.needs_degree:
        return lambda scores, positive, degree: entry.function(scores, positive, degree=degree)
    return lambda scores, positive, degree: entry.function(scores, positive)


def step(name: str, data: tuple[Any, ...]) -> Callable[[], tuple[Any, Any]]:
    """A function that computes the value and the gradients of both vectors: normalise, product, loss, and back."""
    import torch
    from torch.nn.functional import normalize

    images, captions, positive, degree = data
    function = ready(name)

    def work() -> tuple[Any, Any]:
        value = function(normalize(images, dim=1) @ normalize(captions, dim=1).T, positive, degree)
        return value, torch.autograd.grad(value, (images, captions))

    return work


def checks() -> list[Comparison]:
    """Values and gradients of the library's losses and of the naive forms, in float64."""
    import torch

    from .peers.loss_loops import FORMS

    found = []
    for form in FORMS:
        wrong: list[str] = []
        for seed in range(3):
            data = batch(CHECKED, 32, torch.float64, seed)
            ours, theirs = (step(name, data)() for name in (form.split()[0], f"naive:{form}"))
            for what, x, y in (
                ("value", ours[0], theirs[0]),
                *zip(("images", "captions"), ours[1], theirs[1], strict=True),
            ):
                off = ((x - y).abs().max() / y.abs().max().clamp(min=1e-12)).item()
                wrong += [] if off <= TOLERANCE else [f"{what}, batch {seed}: by {off:.1e}, relatively"]
        found.append(Comparison(f"{form} against {FORMS[form][1]}: value and gradients", 9, tuple(wrong)))
    return found


def size(bench: Bench, b: int) -> None:
    """Add the rows of one size of the batch."""
    from train_reference.losses import loss_names

    from .peers.loss_loops import FORMS

    data, complete = batch(b, DIM), Complete(bench, b)
    bench.add(Row(f"-- batch {b}, dim {DIM}: normalise, product, loss, forward and backward"))
    mh = step("mh", data)
    add(bench, "mh", interleaved(mh, mh, bench.repeats))
    complete.add("mh", "cider")
    for name in loss_names():
        if name == "mh":
            continue
        usage = compared(name, mh, data, bench.repeats if name not in SLOW else 3)
        add(bench, name, usage, GOALS.get(name))
        if name in REAL:
            complete.add(name, REAL[name], REAL_GOAL)
        if b == max(SIZES):
            bench.memory(f"  {name}: memory over the batch", usage.added_mib)
    if b == max(SIZES):
        return
    for form, (_, what) in FORMS.items():
        add(bench, f"naive {form.split()[0]}: {what}", compared(f"naive:{form}", mh, data, 3))


def compared(name: str, mh: Work, data: tuple[Any, ...], repeats: int) -> Usage:
    """Memory of a second step, then steps between steps of MH."""
    work = step(name, data)
    work()
    added = harness.added_mib(work)
    return dataclasses.replace(interleaved(work, mh, repeats), added_mib=added)


class Complete:
    """Complete steps with a size of the batch: batches from the loader and its thread, encoders, loss, Adam."""

    def __init__(self, bench: Bench, b: int):
        self.bench, self.b, self.scenes = bench, b, "scenes-1k" if bench.quick else "scenes-10k"
        self.mh = self._steps(self._prepared("mh", "cider"))

    def _prepared(self, loss: str, relevance: str) -> Any:
        from train_reference import config, train
        from train_reference.data import no_bar

        wanted = {"name": loss, "relevance": relevance, "own": "one"}
        given = {"data": {"name": self.scenes}, "loss": wanted, "train": {"threads": 1, "batch": self.b}}
        return train.prepare(config.from_dict(given), no_bar)

    @property
    def _count(self) -> int:
        return max(2, PAIRS // self.b)

    def _steps(self, run: Any) -> Work:
        from train_reference import train

        batches = itertools.chain.from_iterable(map(run.loader, itertools.count()))

        def work() -> None:
            for given in itertools.islice(batches, self._count):
                train.step(run, given, 0)

        return work

    def add(self, loss: str, relevance: str, limit: float | None = None) -> None:
        """Add rows of steps with a loss, and of the loader alone, as multiples of those with MH."""
        repeats = 2 if self.bench.quick else 7
        what = f"  {self._count} complete steps on {self.scenes}"
        if loss == "mh":
            add(self.bench, what, interleaved(self.mh, self.mh, repeats))
            return
        run = self._prepared(loss, relevance)
        work, rows = self._steps(run), list(itertools.islice(run.loader.order(0), self._count))
        work()
        add(self.bench, f"{what}, degrees of {relevance}", interleaved(work, self.mh, repeats), limit)

        def make() -> None:
            for captions in rows:
                run.loader.make(captions)

        add(
            self.bench, "    of it making the batches, in the thread of the loader", interleaved(make, self.mh, repeats)
        )


def table(repeats: int, quick: bool) -> Bench:
    """All rows and notes."""
    import torch

    torch.set_num_threads(1)
    bench = Bench(0, repeats, quick, goals=not quick)
    for b in (32,) if quick else SIZES:
        size(bench, b)
    bench.notes += [
        "complete steps: of the default encoders, with batches that a thread makes; multiples of such steps of MH",
        f"x is the time over that of MH, which is timed before and after every step; torch {torch.__version__}",
        "one thread, and goals apply to CPU time: other load on the machine affects it less",
        "MiB: peak of the resident memory during a step, above that before it",
    ]
    return bench


def main() -> None:
    """Command line."""
    options = parser("losses", __doc__, 31)
    arguments = options.parse_args()
    try:
        if arguments.check:
            sys.exit(print_comparisons(checks(), arguments.json))
        table(5 if arguments.quick else arguments.repeats, arguments.quick).print(arguments.json)
    except MissingPackage as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
