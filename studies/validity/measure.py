"""Every system by every metric: values, bootstrap samples of the images, and what is true of its first results.

A metric has one value a direction, and the mean of both; a sum over both directions (RSum) has only that. All values
are oriented: more is better, so that ranks count negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import vsebench
from studies.validity.systems import Oracle, System, World, vectors
from vsebench import Report, TestSet, parse
from vsebench.evaluation.assemble import column, population
from vsebench.stats import kernels
from vsebench.stats.bootstrap import resample
from vsebench.stats.columns import Column, evaluate, plain_values, prepare
from vsebench.types import DIRECTIONS, Float, Vectors

GAINS = ("holds", "match", "cider")
# All metrics that the split has, and those that leave the ground truth out of rankings and ideals.
METRICS = ("all", *(f"{gains}:{name}[gt=out]@10" for gains in GAINS for name in ("NCS", "nDCG")))
SMALL, DRAWS = 100, 200  # images of a small test set, and how many there are
FIRST = 10  # results of a query that the quality of a system is judged by
QUALITIES = ("holds of the first", "holds of ten", "true of ten", "match of ten")  # see ``quality_of``
Key = tuple[str, str]  # name of a metric; i2t, t2i or both


@dataclass(frozen=True, eq=False)
class Measured:
    """The systems by all metrics."""

    systems: tuple[System, ...]
    keys: tuple[Key, ...]
    values: Any  # (system, key) float64 on all images
    samples: Any  # (resample, system, key) float32 on resampled images, the same for all systems
    small: Any  # (draw, system, key) float32 on the queries of ``SMALL`` images; all items are candidates
    quality: dict[str, Any]  # by name (system,) float64, see ``quality_of``
    wrong: Any  # (system, 2) float64 by direction: share of the queries whose first result is not of the ground truth
    wrong_but_true: Any  # (system, 2) float64: share of these whose first result is true
    images: int  # how many there are
    signature: str  # of the evaluation

    @property
    def both(self) -> dict[str, int]:
        """The columns that are the mean, or the sum, of both directions, by the name of the metric."""
        return {metric: k for k, (metric, direction) in enumerate(self.keys) if direction == "both"}


def measure(
    systems: Sequence[System],
    oracle: Oracle,
    judgements: Mapping[str, Any],
    resamples: int,
    said: Callable[[str], None],
) -> Measured:
    """Evaluate all systems with so many bootstrap samples; ``said`` gets a line of progress."""
    world, rows = oracle.world, []
    for number, system in enumerate(systems, 1):
        images, captions = vectors(system, oracle)
        # Influences of the images as candidates come with the intervals, which are made anew for all systems.
        report = vsebench.evaluate(
            images, captions, split=world.split, metrics=list(METRICS), gains=list(GAINS),
            judgements=judgements, similarity="dot", trust=True, resamples=10,
        )  # fmt: skip
        keys, oriented = sampled(report, world.split, resamples)
        scores = images @ captions.T
        rows.append((*oriented, list(quality_of(scores, world).values()), errors_of(scores, world)))
        if number % 10 == 0 or number == len(systems):
            said(f"{number} of {len(systems)} systems")
    values, samples, small, quality, errors = zip(*rows, strict=True)
    quality = dict(zip(QUALITIES, np.stack(quality, axis=1), strict=True))
    arrays = np.stack(values), np.stack(samples, axis=1), np.stack(small, axis=1), quality, *np.stack(errors, axis=1)
    return Measured(tuple(systems), keys, *arrays, len(world.split.rows.ids), report.signature)


def sampled(report: Report, split: TestSet, resamples: int) -> tuple[tuple[Key, ...], tuple[Any, Any, Any]]:
    """The oriented values of a report: on all images (key,), on resampled ones and on few (draw, key)."""
    results = {(parse(str(r.metric)), r.direction): r for r in (*report.parts, *report.results)}
    columns = {key: column(r, split) for key, r in results.items() if r.per_query is not None}
    place = {key: n for n, key in enumerate(columns)}
    sums: dict[Any, dict[int, float]] = {}
    for r in report.results:
        metric = parse(str(r.metric))
        parts, weight = metric.parts() or (metric,), 1.0 if metric.parts() else 0.5
        if r.direction is None or r.direction == "i2t":
            sums[metric, "both"] = {place[part, d]: weight for part in parts for d in DIRECTIONS}
        if r.direction is not None:
            sums[metric, r.direction] = {place[metric, r.direction]: 1.0}
    sign = np.array([1.0 if metric.higher_is_better else -1.0 for metric, _ in sums])
    width, images = len(columns), population(split)
    samples = resample(prepare(list(columns.values()), images, list(sums.values())), resamples, 0)[:, width:]
    alone = [Column(c.values, c.image, c.folded, c.median) for c in columns.values()]  # without candidates
    queries = prepare(alone, images, list(sums.values()))
    chosen = np.zeros((DRAWS, images.images))
    rng = np.random.default_rng(0)
    for row in chosen:
        row[rng.choice(images.images, min(SMALL, images.images), replace=False)] = 1
    values = plain_values(queries)[width:]
    small = evaluate(queries, chosen, chosen)[:, width:]
    drawn = np.empty((resamples, images.images))
    kernels.draw_counts(np.uint64(0), 0, images.edges(False), drawn)  # as ``resample`` draws them
    for into, weights in ((samples, drawn), (small, chosen)):
        found = {n: _medians(c, weights) for n, c in enumerate(columns.values()) if c.median}
        for at, parts in enumerate(sums.values()):
            if found.keys() >= parts.keys():
                into[:, at] = sum(weight * found[n] for n, weight in parts.items())
    keys = tuple((str(metric), direction) for metric, direction in sums)
    return keys, (sign * values, (sign * samples).astype(np.float32), (sign * small).astype(np.float32))


def _medians(ranks: Column, weights: Float) -> Float:
    """(draw,) float64 ``MedR`` if every image counts as often as its weight; ``vsebench`` does not resample it."""
    often = (row.astype(np.int64)[ranks.image] for row in weights)
    return np.array([np.floor(np.median(np.repeat(ranks.values, n)) - 1) + 1 for n in often])


def quality_of(scores: Vectors, world: World) -> dict[str, float]:
    """What a user gets from a system, from all facts and without a metric of the library; mean of both directions.

    ``holds of the first``: mean of ``holds`` of the first result; ``holds of ten``: of the first ten; ``true of ten``:
    share of the first ten of which all facts hold; ``match of ten``: mean of ``match`` of the first ten, which is large
    if captions state most of what is in the scene. A caption that states no fact is no query.
    """
    found = []
    for axis, queries in ((1, np.arange(len(scores))), (0, np.flatnonzero(world.stated))):
        asked, holds, match, entails = (
            x.take(queries, axis=1 - axis) for x in (scores, world.holds, world.match, world.entails)
        )
        ten = np.argpartition(-asked, FIRST - 1, axis=axis).take(range(FIRST), axis=axis)
        best = np.expand_dims(asked.argmax(axis=axis), axis)
        pairs = ((holds, best), (holds, ten), (entails, ten), (match, ten))
        found.append([np.take_along_axis(gains, items, axis=axis).mean() for gains, items in pairs])
    return dict(zip(QUALITIES, map(float, np.mean(found, axis=0)), strict=True))


def errors_of(scores: Vectors, world: World) -> tuple[list[float], list[float]]:
    """By direction: share of queries whose first result is not of the ground truth; share of these where it is true."""
    images, captions = map(np.arange, scores.shape)
    errors = []
    for image, caption in ((images, scores.argmax(axis=1)), (scores.argmax(axis=0), captions)):
        wrong, true = world.split.image_of[caption] != image, world.entails[image, caption]
        errors.append((float(wrong.mean()), float(true[wrong].mean()) if wrong.any() else float("nan")))
    return [e[0] for e in errors], [e[1] for e in errors]
