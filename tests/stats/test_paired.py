"""Paired tests: exact ones against enumeration and scipy, random ones against exact ones, effects by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_stats as oracle
from tests.memory import peak
from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.stats import paired
from vsebench.stats.columns import Column, Population
from vsebench.stats.paired import CORRECTIONS, benjamini_hochberg, holm, none


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Column, Column, int]:
    """Two systems on the same queries of up to seven images."""
    images = draw(st.integers(1, 7))
    owner = draw(st.lists(st.integers(0, images - 1), min_size=1, max_size=14))
    value = draw(st.sampled_from([st.integers(0, 1), st.integers(1, 6), st.floats(0, 1, width=16)]))
    first, second = (draw(st.lists(value, min_size=len(owner), max_size=len(owner))) for _ in range(2))
    image = np.array(owner)
    return Column(np.array(first, float), image), Column(np.array(second, float), image), images


@given(pairs())
def test_exact_p_values_are_those_of_all_swaps(pair: tuple[Column, Column, int]) -> None:
    first, second, images = pair
    changes = paired.contributions(first, second, Population(images))
    assert changes.sum() == pytest.approx(second.values.mean() - first.values.mean(), abs=1e-9)
    p, exact = paired.permutation_test(changes[:, None], 128, 0)
    assert exact[0]
    assert p[0] == pytest.approx(oracle.swap_p(first.values.tolist(), second.values.tolist(), first.image.tolist()))


@given(pairs(), st.integers(0, 100))
def test_which_system_comes_first_does_not_matter(pair: tuple[Column, Column, int], seed: int) -> None:
    first, second, images = pair
    population = Population(images)
    there, back = (
        paired.permutation_test(paired.contributions(a, b, population)[:, None], 60, seed)[0][0]
        for a, b in ((first, second), (second, first))
    )
    assert there == back
    changes = paired.contributions(first, second, population)
    one, other = paired.effect(first, second, changes, True), paired.effect(second, first, -changes, True)
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.superiority + other.superiority == pytest.approx(1)
    lower = paired.effect(first, second, changes, False)
    assert (lower.wins, lower.losses) == (one.losses, one.wins)
    sign = None if one.standardised is None else -one.standardised
    assert other.standardised == lower.standardised == sign


def test_scipy_agrees(rng: np.random.Generator) -> None:
    x, y = rng.random((2, 9))
    image = np.arange(9)
    want = scipy.stats.permutation_test(
        (x, y), lambda a, b: np.mean(b) - np.mean(a), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    changes = paired.contributions(Column(x, image), Column(y, image), Population(9))
    p, exact = paired.permutation_test(changes[:, None], 1000, 0)
    assert exact[0] and p[0] == pytest.approx(want)


def test_random_swaps_come_close_to_all_swaps(rng: np.random.Generator) -> None:
    changes = rng.normal(0.2, 1, (14, 3))
    exact, known = paired.permutation_test(changes, 2**14, 0)
    near, random = paired.permutation_test(changes, 2**14 - 1, 0)
    assert known.all() and not random.any()
    assert near == pytest.approx(exact, abs=0.015)


def test_folds_weigh_alike() -> None:
    # fold 0 has one image, fold 1 has three: an image of fold 0 weighs three times as much
    image, fold = np.arange(4), np.array([0, 1, 1, 1])
    first = Column(np.zeros(4), image, folded=True)
    second = Column(np.array([1.0, 1.0, 0.0, 0.0]), image, folded=True)
    changes = paired.contributions(first, second, Population(4, fold))
    assert changes.tolist() == pytest.approx([1 / 2, 1 / 6, 0, 0])


def test_threads_and_company_change_nothing(rng: np.random.Generator) -> None:
    changes = rng.normal(0.05, 1, (200, 4))
    first, _ = paired.permutation_test(changes, 999, seed=5, threads=1)
    assert (paired.permutation_test(changes, 999, seed=5, threads=3)[0] == first).all()
    assert [paired.permutation_test(changes[:, [i]], 999, seed=5)[0][0] for i in range(4)] == first.tolist()
    assert (paired.permutation_test(changes, 999, seed=6)[0] != first).any()


def two_systems(images: int, differing: int, rng: np.random.Generator) -> list[Column]:
    """Two systems whose values differ on so many images."""
    image = np.repeat(np.arange(images), 2)
    first = np.floor(rng.exponential(9, 2 * images)) + 1
    second = np.where(np.isin(image, rng.permutation(images)[:differing]), first + 5, first)
    return [Column(v, image) for v in (first, second)]


@pytest.mark.parametrize("differing", [9, 60])
def test_blocks_change_nothing(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, differing: int) -> None:
    columns = two_systems(60, differing, rng)
    changes = np.stack([paired.contributions(*columns, Population(60)), rng.normal(0.1, 1, 60)], axis=1)

    def found(threads: int) -> list[float]:
        p, exact = paired.permutation_test(changes, 700, 4, threads)
        return [*p.tolist(), *exact.tolist()]

    once = found(1)
    assert once[2] == (differing == 9)
    for block in (1, 3 * 8 * 64, 100 * 8 * 64):
        monkeypatch.setattr(paired, "_BLOCK_BYTES", block)
        assert found(1) == found(3) == once
    monkeypatch.setattr(paired, "_ALL_BLOCKS_BYTES", 1)
    assert found(2) == once


def test_memory_of_all_swaps(rng: np.random.Generator) -> None:
    random = rng.normal(0.1, 1, (5000, 1))
    paired.permutation_test(random, 10, 0)  # compiles
    # all 10,000 swaps of 5,000 images together are 381 MiB
    assert peak(lambda: paired.permutation_test(random, 10_000, 0, threads=2)) < 64
    assert peak(lambda: paired.permutation_test(random, 10_000, 0, threads=64)) < 64
    changes = np.zeros((5000, 1))
    changes[:18] = rng.normal(0.1, 1, (18, 1))  # 36 MiB of swaps, and twice as much of what is made of them
    assert peak(lambda: paired.permutation_test(changes, 2**18, 0)) < 8


def test_equal_systems_are_equal(rng: np.random.Generator) -> None:
    column = Column(rng.random(30), np.arange(30))
    changes = paired.contributions(column, column, Population(30))
    assert paired.permutation_test(changes[:, None], 100, 0)[0].tolist() == [1.0]
    assert paired.effect(column, column, changes, True) == paired.Effect(0.0, 0.5, 0, 30, 0, 0.0)


def test_p_values_are_uniform_when_there_is_no_difference(rng: np.random.Generator) -> None:
    found = []
    captions = np.repeat(np.arange(40), 5)
    for world in range(200):
        ease = rng.random((2, 40))  # systems differ on images, never on average
        first, second = ((rng.random(200) < e[captions]).astype(float) + rng.random(200) * 1e-3 for e in ease)
        changes = paired.contributions(Column(first, captions), Column(second, captions), Population(40))
        found.append(paired.permutation_test(changes[:, None], 199, world)[0][0])
    assert scipy.stats.kstest(found, "uniform").pvalue > 0.01


def test_effects_by_hand() -> None:
    image = np.array([0, 0, 1, 2])
    first, second = (Column(np.array(v), image) for v in ([0.0, 0.0, 1.0, 0.5], [1.0, 0.0, 0.0, 1.0]))
    changes = paired.contributions(first, second, Population(4))  # image 3 has no query
    assert changes.tolist() == pytest.approx([1 / 4, -1 / 4, 1 / 8, 0])
    got = paired.effect(first, second, changes, True)
    assert (got.wins, got.ties, got.losses, got.superiority) == (2, 1, 1, (2 + 0.5) / 4)
    differences = [1 / 4, -1 / 4, 1 / 8]
    assert got.standardised == pytest.approx(np.mean(differences) / np.std(differences, ddof=1))
    assert got.error == pytest.approx(np.std(differences, ddof=1) * np.sqrt(len(differences)))
    constant = paired.effect_of_images(np.full(5, 0.1))
    assert constant.standardised is None and (constant.wins, constant.superiority) == (5, 1.0)


P = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    # ascending: .005 x 4, .01 x 3, .03 x 2, .04 x 1, never falling
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # .005 x 4/1, .01 x 4/2, .03 x 4/3, .04 x 4/4, never rising from the right
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert none(p).tolist() == p
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert all(f([]).tolist() == [] for f in CORRECTIONS.values())


@given(P)
def test_scipy_agrees_on_bh(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(scipy.stats.false_discovery_control(p, method="bh"))


@given(P)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]) -> None:
    for alpha in (0.01, 0.05, 0.2):
        rejected: set[int] = set()
        for step, i in enumerate(np.argsort(p, kind="stable").tolist()):
            if p[i] * (len(p) - step) > alpha:
                break
            rejected.add(i)
        assert set(np.flatnonzero(holm(p) <= alpha).tolist()) == rejected


@pytest.mark.parametrize("p", [[-0.1], [1.1], [float("nan")], [[0.1]]])
def test_other_numbers_are_refused(p: list[float], refuses: Refuses) -> None:
    for correct in CORRECTIONS.values():
        refuses(UsageError, correct, p)


@pytest.mark.parametrize(("n", "smallest"), [(52, 0.1166), (1000, 0.0266), (5000, 0.0119), (7064, 0.0100)])
def test_the_smallest_difference_that_is_found(n: int, smallest: float) -> None:
    """At a standard deviation of .3; a test of so many queries finds it in four of five samples."""
    assert paired.detectable(0.3 / np.sqrt(n)) == pytest.approx(smallest, abs=5e-5)
    rng = np.random.default_rng(0)
    samples = rng.normal(paired.detectable(0.3 / np.sqrt(52)), 0.3, (4000, 52))
    z = samples.mean(axis=1) / (samples.std(axis=1, ddof=1) / np.sqrt(52))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("sizes", [(3, 3), (1, 5), (4, 2), (9, 8)])
def test_scipy_agrees_on_runs_that_are_divided_anew(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    a, b = rng.normal(0, 1, sizes[0]), rng.normal(0.5, 1, sizes[1])
    both, number = np.concatenate([a, b]), math.comb(sum(sizes), sizes[0])
    chosen = [list(c) for c in combinations(range(sum(sizes)), sizes[0])]
    found = [abs(both[c].mean() - np.delete(both, c).mean()) for c in chosen]
    wanted = float(np.mean(np.array(found) >= abs(a.mean() - b.mean()) - 1e-12))
    if min(sizes) > 1:
        every = scipy.stats.permutation_test(
            (a, b), lambda x, y, axis: np.abs(x.mean(axis) - y.mean(axis)), n_resamples=np.inf, alternative="greater"
        )
        assert wanted == pytest.approx(every.pvalue)
    p, smallest, exact = paired.permutation_test_of_runs(a, b, 10_000, 0)
    assert exact == (number <= 10_000) and p >= smallest
    assert p == pytest.approx(wanted, abs=1e-12 if exact else 0.015)
    assert smallest == ((1 + (sizes[0] == sizes[1])) / number if exact else 1 / 10_001)
    # the most extreme runs have this p-value, and equal ones have 1
    extreme = paired.permutation_test_of_runs(-np.arange(1.0, sizes[0] + 1), np.full(sizes[1], 9.0), 10_000, 0)[0]
    assert extreme == pytest.approx(smallest) or not exact
    assert paired.permutation_test_of_runs([0.1 + 0.2] * sizes[0], [0.3] * sizes[1], 10_000, 0)[0] == 1


def test_scipy_agrees_on_intervals_of_runs() -> None:
    a, b = np.random.default_rng(1).normal(0, 1, 4), np.random.default_rng(2).normal(2, 3, 6)
    assert paired.t_interval(a, 90) == pytest.approx(scipy.stats.t.interval(0.9, 3, a.mean(), scipy.stats.sem(a)))
    welch = scipy.stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.9)
    assert paired.welch_interval(a, b, 90) == pytest.approx((welch.low, welch.high))
    assert paired.welch_interval([0.5, 0.5], [0.7, 0.7], 95) == pytest.approx((0.2, 0.2))
    assert paired.t_interval(a[:1], 95) is paired.t_interval(a, 0) is paired.welch_interval(a[:1], b, 95) is None


@pytest.mark.parametrize(("difference", "queries"), [(0.1166, 52), (0.0266, 999), (0.01, 7064)])
def test_the_queries_that_a_difference_needs(difference: float, queries: int) -> None:
    assert paired.queries_needed(difference, 0.3) == pytest.approx(queries, abs=1)
