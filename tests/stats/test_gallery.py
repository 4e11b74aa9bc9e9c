"""The influence of images as candidates in intervals and tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests.messages import Pinned
from vsebench.errors import BadInput
from vsebench.evaluation import assemble
from vsebench.metrics import parse
from vsebench.results.model import Measurement, Resampling
from vsebench.results.report import Report
from vsebench.stats import bootstrap
from vsebench.stats.columns import Column, Population, contributions, evaluate, influence, prepare
from vsebench.stats.columns import scaled as in_scale
from vsebench.types import TestSet

IMAGES = 400


def halves(rng: np.random.Generator, shared: float, own: float) -> np.ndarray:
    """Two halves with a common part, and parts of their own."""
    common = shared * rng.standard_normal(IMAGES)
    return np.stack([common / 2 + own * rng.standard_normal(IMAGES) for _ in range(2)])


@pytest.mark.parametrize("shared", [0.0, 0.01, 0.1])
def test_the_variance_is_that_of_the_definition(rng: np.random.Generator, shared: float) -> None:
    own, both = 0.05 * rng.standard_normal(IMAGES), halves(rng, shared, 0.02)
    own -= own.mean()
    a, b = both - both.mean(axis=1, keepdims=True)
    wanted = (own**2).sum() + max(0.0, 2 * (own * (a + b)).sum() + 4 * (a * b).sum())
    scaled = in_scale(own, both, np.array([0, IMAGES]))
    assert ((own + scaled) ** 2).sum() == pytest.approx(wanted)
    assert scaled.sum() == pytest.approx(0, abs=1e-12)


def test_halves_that_agree_are_not_changed_and_those_that_do_not_add_nothing(rng: np.random.Generator) -> None:
    own = rng.standard_normal(IMAGES)
    own -= own.mean()
    half = rng.standard_normal(IMAGES)
    half -= half.mean()
    half -= own * (half @ own) / (own @ own)  # of no correlation with the queries
    edges = np.array([0, IMAGES])
    np.testing.assert_allclose(in_scale(own, np.stack([half, half]), edges), 2 * half, atol=1e-12)
    opposite = in_scale(own, np.stack([half, -0.5 * half]), edges)
    np.testing.assert_allclose(opposite, 0, atol=1e-7)
    np.testing.assert_array_equal(in_scale(own, np.zeros((2, IMAGES)), edges), 0)


def test_resamples_have_the_variance_of_queries_and_candidates(rng: np.random.Generator) -> None:
    values, image = rng.random(2 * IMAGES), np.repeat(np.arange(IMAGES), 2)
    column = Column(values, image, influence=halves(rng, 0.002, 0.0005))
    population = Population(IMAGES)
    ready = prepare([column, replace(column, influence=None)], population, [{0: 1.0, 1: -1.0}])
    samples = bootstrap.resample(ready, 4000, 1)
    own = contributions(replace(column, values=values - values.mean()), population)
    added = influence([column], [1.0], population)
    assert added is not None
    assert samples[:, 0].std() == pytest.approx(np.sqrt(((own + added) ** 2).sum()), rel=0.05)
    assert samples[:, 1].std() == pytest.approx(np.sqrt((own**2).sum()), rel=0.05)
    once = np.ones((1, IMAGES))
    np.testing.assert_allclose(evaluate(ready, once, once)[0], [values.mean(), values.mean(), 0], atol=1e-12)
    np.testing.assert_allclose(samples[:, 2], 0, atol=1e-12)  # of a sum with a part without influences: none


def test_folds_are_centred_each(rng: np.random.Generator) -> None:
    both = rng.random((2, 6))
    scaled = in_scale(np.zeros(6), both, np.array([0, 2, 6]))
    assert scaled[:2].sum() == pytest.approx(0, abs=1e-12)
    assert scaled[2:].sum() == pytest.approx(0, abs=1e-12)


def report(noise: float, seed: int = 0, images: int = 60, metrics: str = "matrix:NCS@5,matrix:Nsum,R@1") -> Report:
    world, rng = np.random.default_rng(5), np.random.default_rng(seed)
    vectors = world.standard_normal((images, 8))
    captions = np.repeat(vectors, 5, axis=0)
    gains = world.gamma(2, 1, (images, 1)) * np.maximum(0, vectors @ captions.T)  # images rich in detail
    noisy = captions + noise * rng.standard_normal(captions.shape)
    return vsebench.evaluate(vectors, noisy, metrics=metrics, gains=gains.astype(np.float32))


def test_reports_keep_the_influences(tmp_path: Path) -> None:
    made = report(1.0)
    made.save(tmp_path / "A.json")
    read = vsebench.load(str(tmp_path / "A.json"))
    for direction in ("i2t", "t2i"):
        ours, theirs = made["matrix:NCS@5", direction].influence, read["matrix:NCS@5", direction].influence
        assert ours is not None and np.abs(ours).max() > 0
        np.testing.assert_array_equal(ours, theirs)
    assert read["R@1", "i2t"].influence is None


def test_intervals_are_wider_than_those_of_the_queries_alone() -> None:
    made = report(1.0)
    result = made["matrix:NCS@5", "t2i"]
    low, high = result.interval or (0, 0)
    column = Column(result.per_query, np.repeat(np.arange(60), 5))  # type: ignore[arg-type]
    alone = bootstrap.percentile(bootstrap.resample(prepare([column], Population(60)), 1000, 0), 0.95)[0]
    assert high - low > 1.1 * (alone[1] - alone[0])


def test_ends_stay_in_the_range_of_the_metric() -> None:
    split = TestSet.captioned("custom", np.arange(IMAGES), np.arange(IMAGES), np.arange(IMAGES))
    values = np.ones(IMAGES)
    values[:3] = 0.9
    added = np.full((2, IMAGES), -1e-4)
    added[:, 5:8] = 0.01
    metric, queries = parse("matrix:nDCG@10"), split.rows.ids
    single = Measurement(metric, "i2t", values.mean(), IMAGES, queries=queries, per_query=values, influence=added)
    (result,) = assemble.add({(metric, "i2t"): single}, {}, split, Resampling(95.0, 1000, 0, "bca")).values()
    assert result.interval is not None
    assert result.interval[0] < values.mean()
    assert result.interval[1] == 1, "it would be larger"


def test_damaged_influences_are_refused(tmp_path: Path, pinned: Pinned) -> None:
    made = report(1.0)
    short = replace(made, results=tuple(replace(r, influence=np.zeros((2, 3))) for r in made.results if r.direction))
    with pytest.raises(BadInput) as caught:
        short.save(tmp_path / "A.json")
        vsebench.load(str(tmp_path / "A.json"))
    pinned(caught.value)


@pytest.mark.parametrize("differing", [3, 5, 6])
def test_few_images_that_differ_are_never_more_significant_than_their_permutations(differing: int) -> None:
    """With n images that differ the smallest p-value is 2 / 2^n, whatever the influences are."""
    first = report(0.5)
    worse = []
    for result in (*first.results, *first.parts):
        values = np.array(result.per_query) if result.per_query is not None else None
        if values is not None and result.direction == "t2i":
            values[: 5 * differing] *= 0.5
        elif values is not None:
            values[:differing] *= 0.5
        moved = result.influence
        if moved is not None:
            moved = moved + 0.001 * np.random.default_rng(3).standard_normal(moved.shape)
        worse.append(replace(result, per_query=values, influence=moved))
    n = len(first.results)
    second = replace(first, results=tuple(worse[:n]), parts=tuple(worse[n:]))
    compared = vsebench.compare([first, second], metrics="matrix:NCS@5", correction="none")
    for test in compared.records():
        assert test["differing"] == differing and test["p"] >= 2 / 2**differing


def test_a_comparison_does_not_depend_on_the_order_of_the_images() -> None:
    first, second = report(0.5), report(0.9, seed=1)
    items, order = second.items, np.random.default_rng(2).permutation(60)
    assert items is not None
    back = np.empty(60, np.int64)
    back[order] = np.arange(60)
    moved = replace(
        second,
        items=replace(items, rows=items.rows.take(order), image_of=back[items.image_of]),
        results=tuple(
            r if r.influence is None else replace(r, influence=r.influence[:, order]) for r in second.results
        ),
        parts=tuple(r if r.influence is None else replace(r, influence=r.influence[:, order]) for r in second.parts),
    )
    plain, same = vsebench.compare([first, second], force=True), vsebench.compare([first, moved], force=True)
    for a, b in zip(plain.records(), same.records(), strict=True):
        assert a["p"] == b["p"]
        for name in ("difference", "low", "high"):
            assert a[name] == pytest.approx(b[name])
