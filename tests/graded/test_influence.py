"""The influence of images as candidates: every query measured again without every image, one at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_graded
from tests.graded.test_engine import FOLDED, NAMES
from tests.graded_worlds import FakeGains, check, graded_worlds, large_world, measured, run, spec_of
from vsebench.graded.influence import random_order
from vsebench.metrics import parse
from vsebench.rank.order import top_lists
from vsebench.rank.scorers import Dot, Matrix, System
from vsebench.types import BOTH, Float, Tops, Which


def expected(world: oracle_graded.World, name: str, side: Which, sample: int = 1000) -> Float:
    """(2, image) influences by their definition."""
    spec, split = spec_of(parse(name)), world.split
    n = len(split.rows.ids)
    place = random_order(split.rows.ids)
    folds: list[int | None] = [None]
    if spec.on != "split":
        folds = sorted(set(split.row_folds.tolist()))[: 1 if spec.on == "block" else None]
    out = np.zeros((2, n))
    for fold in folds:
        queries, gallery = world.items(spec, side, fold)
        own = {q: q if side == 0 else int(split.image_of[q]) for q in queries}
        values = {q: world.value(spec, side, q, gallery, fold) for q in queries}
        ids = split.rows.ids if side == 0 else split.columns.ids
        turn = np.argsort(random_order(ids[np.array(queries, int)]))
        known = [queries[i] for i in turn[:sample] if not math.isnan(values[queries[i]])]
        part = np.zeros((2, n))
        for image in {int(i) for i in (split.image_of[gallery] if side == 0 else gallery)}:
            less = replace(world, removed=image)
            kept = less.items(spec, side, fold)[1]
            for q in known:
                if own[q] == image:
                    continue
                if spec.stem in ("CS", "Kendall"):
                    left = world.value(spec, side, q, gallery, fold, image)
                else:
                    left = less.value(spec, side, q, kept, fold)
                part[place[own[q]] % 2, image] += 0 if math.isnan(left) else values[q] - left
        out += part / max(1, len(known)) / len(folds)
    return out


def agree(world: oracle_graded.World, *names: str, sample: int = 1000, **options: object) -> None:
    found = measured(world, *names, influence=True, **options)
    for name in names:
        for side in BOTH:
            got = found[parse(name), side]
            np.testing.assert_allclose(got.influence, expected(world, name, side, sample), atol=1e-10, err_msg=name)


@given(graded_worlds(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
def test_small_worlds_full_of_ties(world: oracle_graded.World, names: list[str]) -> None:
    if len(world.split.rows.ids) < 3:
        names = [n for n in names if "gt=out" not in n] or ["NCS@1"]
    agree(world, *names)


@given(graded_worlds(), st.lists(st.sampled_from(FOLDED), min_size=1, max_size=3, unique=True))
def test_small_worlds_in_folds(world: oracle_graded.World, names: list[str]) -> None:
    agree(world, *names)


def test_a_larger_world() -> None:
    agree(large_world(15, 3, seed=2), *NAMES, *FOLDED, threads=2, block=7)


def test_values_do_not_change_with_influences() -> None:
    world = large_world(30, 2, seed=4)
    plain, more = measured(world, *NAMES), measured(world, *NAMES, influence=True)
    for key, values in plain.items():
        np.testing.assert_array_equal(values.values, more[key].values)
        assert values.influence is None


def test_blocks_and_threads_change_no_digit() -> None:
    rng = np.random.default_rng(3)
    world = large_world(40, 3, seed=5)
    images = rng.standard_normal((40, 8)).astype(np.float32)
    captions = rng.standard_normal((len(world.split.image_of), 8)).astype(np.float32)
    gains = {"cider": FakeGains(world.gains)}
    metrics, test = [parse(n) for n in NAMES if "SR[m=70]" not in n], world.split
    results = [
        run(System(Dot(images, captions)), test, metrics, gains, threads=threads, block=block, influence=True)
        for threads, block in ((1, None), (2, 5), (2, 64))
    ]
    for key, values in results[0].items():
        for other in results[1:]:
            np.testing.assert_array_equal(values.influence, other[key].influence)


def test_lists_that_are_deep_enough_have_the_same_influences_as_scores() -> None:
    world = large_world(20, 2, seed=6)
    gains, metrics = {"cider": FakeGains(world.gains)}, [parse("NCS@3"), parse("SR@2")]
    scores = world.scores + np.arange(world.scores.size).reshape(world.scores.shape) * 1e-6  # no ties
    system = System(Matrix(scores))
    wanted = run(system, world.split, metrics, gains, influence=True)
    most = int(np.bincount(world.split.image_of).max())

    def lists(extra: int) -> dict[Which, Tops]:
        depths = 3 + extra, 3 + min(extra, 1)
        return {side: top_lists(system.both[side], depths[side], threads=1) for side in BOTH}

    found = run(lists(most), world.split, metrics, gains, influence=True)
    for key, values in wanted.items():
        np.testing.assert_array_equal(values.influence, found[key].influence)


def test_metrics_that_read_deep_have_none() -> None:
    found = measured(large_world(120, 1, seed=7), "NCS@101", "NCS@100", influence=True)
    assert found[parse("NCS@101"), 0].influence is None
    assert found[parse("NCS@100"), 0].influence is not None


def test_label_distances_too_large_for_the_sums_have_none() -> None:
    world = large_world(12, 1, seed=7, lowest=1)
    for least, known in ((1e-3, True), (1e-6, False)):
        small = replace(world, gains=np.where(world.gains < 0.3, least, np.minimum(world.gains, 1)))
        found = measured(small, "wmd:MLD@2", influence=True)
        assert all((values.influence is not None) == known for values in found.values())


def test_the_random_order_follows_the_ids() -> None:
    ids = np.arange(3000)
    place = random_order(ids)
    assert sorted(place.tolist()) == list(range(3000))
    order = np.random.default_rng(0).permutation(3000)
    np.testing.assert_array_equal(random_order(ids[order]), place[order])
    np.testing.assert_array_equal(random_order(ids.astype(str)), place)
    assert 0.45 < (place[:1500] < 1000).sum() / 1000 < 0.55
    assert 0.45 < (place[:1500] % 2).mean() < 0.55


@pytest.mark.parametrize("name", ["NCS@3", "CS[captions=all]@50", "Kendall"])
def test_a_sample_of_the_queries(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in (("MAX_SAMPLE_PLACES", 1), ("MAX_SAMPLE_PLACES_TAU", 1), ("MIN_SAMPLED_QUERIES", 28)):
        monkeypatch.setattr(f"vsebench.graded.influence.{limit}", value)
    world = large_world(20, 3, seed=9)
    agree(world, name, sample=28)


@pytest.mark.parametrize("images", [1, 2])
def test_one_or_two_images(images: int) -> None:
    agree(large_world(images, 2, seed=8, folds=1), "NCS@1", "SR@2", "CS@3", "nDCG@2")


def test_exponential_gains_are_those_of_the_grades() -> None:
    world = large_world(20, 3, seed=4, lowest=1)
    world.gains = np.ceil(3 * world.gains)
    agree(world, "cider:nDCG[gain=exp]@5", "cider:nDCG@5")


@pytest.mark.parametrize("n", [5, 20])
def test_items_that_cannot_be_retrieved_are_ideal_ones(n: int) -> None:
    world, rng = large_world(n, 2, seed=12, folds=1), np.random.default_rng(12)
    sizes = zip(world.scores.shape, (3, 12), strict=True)
    images, captions = (rng.integers(0, 3, shape) * rng.integers(0, 16, shape) / 8 for shape in sizes)
    world = replace(world, outside=(images, captions))
    names = ["nDCG@1", "nDCG@5", "nDCG@14", "NCS@5", "NCS@14", "nDCG[gt=out]@5"]
    check(world, *names, block=3)
    agree(world, *names, block=3)
