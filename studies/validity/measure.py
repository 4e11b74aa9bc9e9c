"""Every system by every metric: values, bootstrap samples of the images, and what is true of its first results.

A metric has one value a direction, and the mean of both; a sum over both directions (RSum) has only that. All values
are oriented: more is better, so that ranks count negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import vsebench
from studies.validity.systems import Oracle, System, vectors
from studies.validity.world import World
from vsebench.evaluation.intervals import column, population
from vsebench.metrics import Metric, parse
from vsebench.report.report import Report
from vsebench.stats.bootstrap import resample
from vsebench.stats.columns import Column, evaluate, prepare
from vsebench.types import DIRECTIONS, Float, Split, Vectors

GAINS = ("truth", "cider")
# All metrics that the split has, and those that leave the ground truth out of rankings and ideals.
METRICS = ("all", *(f"{gains}:{name}[gt=out]@10" for gains in GAINS for name in ("NCS", "nDCG")))
SMALL = 100  # images of a small test set
DRAWS = 200  # small test sets
FIRST = 10  # results of a query that the quality of a system is judged by

Key = tuple[str, str]  # name of a metric; i2t, t2i or both


@dataclass(frozen=True, eq=False)
class Measured:
    """The systems by all metrics.

    Attributes:
        systems: what was measured.
        keys: metrics and directions, the columns.
        values: (system, key) float64 on all images.
        samples: (resample, system, key) float32 on resampled images, the same for all systems.
        small: (draw, system, key) float32 on the queries of ``SMALL`` images; all items are candidates.
        quality: by name (system,) float64, see ``quality_of``.
        wrong: (system, 2) float64 by direction: share of the queries whose first result is none of the ground truth.
        wrong_but_true: (system, 2) float64: share of these whose first result is true.
        images: how many there are.
        signature: of the evaluation.
    """

    systems: tuple[System, ...]
    keys: tuple[Key, ...]
    values: Float
    samples: npt.NDArray[np.float32]
    small: npt.NDArray[np.float32]
    quality: dict[str, Float]
    wrong: Float
    wrong_but_true: Float
    images: int
    signature: str

    def at(self, key: Key) -> int:
        """The column of a key."""
        return self.keys.index(key)


def measure(
    world: World, systems: Sequence[System], oracle: Oracle, resamples: int, said: Callable[[str], None]
) -> Measured:
    """Evaluate all systems.

    Args:
        world: scenes and captions.
        systems: of ``systems.family_systems`` and others.
        oracle: of the world.
        resamples: number of bootstrap samples.
        said: gets a line of progress.
    """
    keys: tuple[Key, ...] = ()
    rows, quality, errors = [], [], []
    for number, system in enumerate(systems, 1):
        images, captions = vectors(system, oracle)
        # Influences of the images as candidates come with the intervals, which are made anew below for all systems.
        report = vsebench.evaluate(
            images, captions, split=world.split, metrics=list(METRICS), gains=list(GAINS), similarity="dot",
            trust=True, resamples=10,
        )  # fmt: skip
        keys, row = sampled(report, world.split, resamples)
        rows.append(row)
        scores = images @ captions.T
        quality.append(quality_of(scores, world))
        errors.append(errors_of(scores, world))
        if number % 10 == 0 or number == len(systems):
            said(f"{number} of {len(systems)} systems")
    values, samples, small = (np.stack(part, axis=-2) for part in zip(*rows, strict=True))
    wrong, true = (np.array(part) for part in zip(*errors, strict=True))
    named = {name: np.array([q[name] for q in quality]) for name in quality[0]}
    return Measured(
        tuple(systems), keys, values, samples, small, named, wrong, true, len(world.split.image_ids), report.signature
    )


def sampled(
    report: Report, split: Split, resamples: int
) -> tuple[tuple[Key, ...], tuple[Float, npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """The oriented values of a report: on all images (key,), on resampled ones and on few (draw, key)."""
    results = {(parse(str(r.metric)), r.direction): r for r in (*report.parts, *report.results)}
    columns = {key: column(r, split) for key, r in results.items() if r.per_query is not None}
    place = {key: n for n, key in enumerate(columns)}
    sums: dict[tuple[Metric, str], dict[int, float]] = {}
    for r in report.results:
        metric = parse(str(r.metric))
        parts = metric.parts() or (metric,)
        weight = 1.0 if metric.parts() else 0.5
        if r.direction is None or r.direction == "i2t":
            sums[metric, "both"] = {place[part, d]: weight for part in parts for d in DIRECTIONS}
        if r.direction is not None:
            sums[metric, r.direction] = {place[metric, r.direction]: 1.0}
    sign = np.array([1.0 if metric.higher_is_better else -1.0 for metric, _ in sums])
    width = len(columns)
    images = population(split)
    with_candidates = prepare(list(columns.values()), images, list(sums.values()))
    samples = resample(with_candidates, resamples, 0)[:, width:]
    queries = prepare([_without_influence(c) for c in columns.values()], images, list(sums.values()))
    once = np.ones((1, images.images))
    chosen = np.zeros((DRAWS, images.images))
    rng = np.random.default_rng(0)
    for row in chosen:
        row[rng.choice(images.images, min(SMALL, images.images), replace=False)] = 1
    values = evaluate(queries, once, once)[0, width:]
    small = evaluate(queries, chosen, chosen)[:, width:]
    keys = tuple((str(metric), direction) for metric, direction in sums)
    return keys, (sign * values, (sign * samples).astype(np.float32), (sign * small).astype(np.float32))


def _without_influence(values: Column) -> Column:
    return Column(values.values, values.image, values.folded, values.median)


def quality_of(scores: Vectors, world: World) -> dict[str, float]:
    """What a user gets from a system, from the complete truth and without a metric of the library; mean of directions.

    Returns:
        ``truth of the first``: mean truth of the first result; ``truth of ten``: mean truth of the first ten;
        ``true of ten``: share of the first ten that are true of the query.
    """
    found = []
    for axis in (1, 0):
        ten = np.argpartition(-scores, FIRST - 1, axis=axis).take(range(FIRST), axis=axis)
        best = np.expand_dims(scores.argmax(axis=axis), axis)
        gains = [np.take_along_axis(world.truth, items, axis=axis).mean() for items in (best, ten)]
        found.append((*gains, np.take_along_axis(world.entails, ten, axis=axis).mean()))
    names = ("truth of the first", "truth of ten", "true of ten")
    return dict(zip(names, map(float, np.mean(found, axis=0)), strict=True))


def errors_of(scores: Vectors, world: World) -> tuple[list[float], list[float]]:
    """By direction: share of queries whose first result is not of the ground truth; share of these where it is true."""
    image_of = world.split.image_of
    caption, image = scores.argmax(axis=1), scores.argmax(axis=0)
    errors = []
    for wrong, true in (
        (image_of[caption] != np.arange(len(caption)), world.entails[np.arange(len(caption)), caption]),
        (image != image_of, world.entails[image, np.arange(len(image))]),
    ):
        errors.append((float(wrong.mean()), float(true[wrong].mean()) if wrong.any() else float("nan")))
    return [e[0] for e in errors], [e[1] for e in errors]
