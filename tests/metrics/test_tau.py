"""Kendall's tau at every depth of a ranking: equal to two loops over pairs and to scipy, in any order and size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests import oracle_graded
from vsebench.metrics.gain_order import gain_order
from vsebench.metrics.tau import kendall, pair_counts

Array = npt.NDArray[Any]
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-15, "equal_nan": True}


def ties_of(scores: Array) -> Array:
    """Which items have the score of the one before; the scores are descending."""
    tied = np.zeros(scores.shape, bool)
    tied[:, 1:] = scores[:, 1:] == scores[:, :-1]
    return tied


def ours(scores: Array, gains: Array, ks: list[int], variant: str) -> Array:
    count = np.full(len(scores), scores.shape[1])
    return kendall(gain_order(gains.astype(np.float32), count), ties_of(scores), count, ks, variant)


def by_scipy(scores: Array, gains: Array, ks: list[int], variant: str) -> Array:
    from scipy.stats import kendalltau

    with np.errstate(all="ignore"):
        rows = [
            [kendalltau(s[:k], g[:k], variant=variant).statistic for k in ks]
            for s, g in zip(scores, gains, strict=True)
        ]
    return np.array(rows, float)


@st.composite
def lists(draw: st.DrawFn) -> tuple[Array, Array]:
    """Descending scores, and gains, of up to a dozen items, most of them tied."""
    n = draw(st.integers(1, 12))
    scores = draw(hnp.arrays(np.int64, (1, n), elements=st.integers(0, 4)))
    gains = draw(hnp.arrays(np.int64, (1, n), elements=st.integers(-2, 2)))
    return -np.sort(-scores, axis=1), gains


@given(lists(), st.sampled_from("abc"))
def test_two_loops_over_all_pairs(ranked: tuple[Array, Array], variant: str) -> None:
    scores, gains = ranked
    ks = list(range(1, scores.shape[1] + 2))
    want = [oracle_graded.tau(scores[0, :k].tolist(), gains[0, :k].tolist(), variant) for k in ks]
    assert ours(scores, gains, ks, variant)[0].tolist() == pytest.approx(want, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("variant", ["b", "c"])
@pytest.mark.parametrize(
    ("n", "scores_of", "gains_of"), [(60, 6, 4), (400, 10**6, 10**6), (400, 30, 10**6), (400, 10**6, 3)]
)
def test_every_k_equals_scipy(n: int, scores_of: int, gains_of: int, variant: str, rng: np.random.Generator) -> None:
    scores = -np.sort(-rng.integers(0, scores_of, (2, n)), axis=1)
    gains = rng.integers(-gains_of // 2, gains_of, (2, n)).astype(np.float32)
    ks = list(range(2, n + 1, 1 if n < 100 else 13))
    assert np.allclose(ours(scores, gains, ks, variant), by_scipy(scores, gains, ks, variant), **EXACT)


@pytest.mark.parametrize("n", [64, 8191, 8192, 8193, 13_000])
@pytest.mark.parametrize("kinds", [7, 10**6])
def test_lists_of_more_than_one_chunk_of_ranks(n: int, kinds: int, rng: np.random.Generator) -> None:
    scores = -np.sort(-rng.integers(0, 10**7, (1, n)), axis=1)
    gains = rng.integers(0, kinds, (1, n)).astype(np.float32)
    ks = [n, 2, n // 2, 63, n]
    assert np.allclose(ours(scores, gains, ks, "b"), by_scipy(scores, gains, ks, "b"), **EXACT)


@pytest.mark.parametrize("shape", ["ascending", "descending", "close", "far", "steps", "signs"])
def test_gains_that_are_hard_to_sort(shape: str, rng: np.random.Generator) -> None:
    n = 700
    gains = {
        "ascending": np.arange(n),
        "descending": -np.arange(n),
        "close": 1 + rng.integers(0, 200, n) * 2.0**-23,  # they differ in the last bits only
        "far": rng.choice([1e-38, 1e-30, 1.0, 1e38], n) * rng.random(n),
        "steps": np.arange(n) // 100,
        "signs": rng.choice([-1.0, -0.0, 0.0, 1.0], n),
    }[shape].astype(np.float32)[None]
    scores = -np.arange(float(n))[None]
    ks = [2, 10, 99, n]
    assert np.allclose(ours(scores, gains, ks, "b"), by_scipy(scores, gains, ks, "b"), **EXACT)


def test_the_parts_of_a_count() -> None:
    scores = np.array([[9, 8, 8, 7, 7]])
    gains = np.array([[3, 3, 1, 2, 2]])
    five = np.array([5])
    counts = pair_counts(gain_order(gains.astype(np.float32), five), ties_of(scores), five, [5, 2])
    # Tied in gain: 9 with the first 8. Concordant: 9 with three others, the first 8 with both 7s. Discordant: the
    # second 8 with both 7s. Tied in score: the two 8s, and the two 7s, which are tied in gain as well.
    assert counts[0].tolist() == [[5 - 2, 2, 2, 3, 3], [0, 0, 1, 2, 1]]


def test_depths_in_any_order_and_twice(rng: np.random.Generator) -> None:
    scores = -np.sort(-rng.integers(0, 50, (3, 90)), axis=1)
    gains = rng.integers(0, 9, (3, 90))
    by_one = {k: ours(scores, gains, [k], "b")[:, 0].tolist() for k in (5, 40, 90)}
    together = ours(scores, gains, [90, 5, 40, 5], "b")
    assert [together[:, i].tolist() for i in range(4)] == [by_one[90], by_one[5], by_one[40], by_one[5]]


def test_lists_of_different_lengths(rng: np.random.Generator) -> None:
    scores = -np.sort(-rng.integers(0, 9, (4, 30)), axis=1)
    gains = rng.integers(0, 9, (4, 30)).astype(np.float32)
    count = np.array([1, 2, 17, 30])
    found = kendall(gain_order(gains, count), ties_of(scores), count, [10, 30], "b")
    for q, n in enumerate(count):
        for i, k in enumerate((10, 30)):
            m = min(n, k)
            assert found[q, i] == pytest.approx(
                oracle_graded.tau(scores[q, :m].tolist(), gains[q, :m].tolist(), "b"), nan_ok=True
            )


def test_perfect_reversed_and_undefined() -> None:
    scores, ascending = -np.arange(50.0)[None], np.arange(50.0)[None]
    for variant in "abc":
        assert ours(scores, -ascending, [2, 50], variant).tolist() == [[1.0, 1.0]]
        assert ours(scores, ascending, [2, 50], variant).tolist() == [[-1.0, -1.0]]
    constant = np.zeros((1, 50))
    for variant in "bc":
        assert np.isnan(ours(scores, constant, [50], variant)).all()
        assert np.isnan(ours(constant, ascending, [50], variant)).all()
    assert ours(scores, constant, [50], "a").tolist() == [[0.0]]
    assert np.isnan(ours(scores, ascending, [1], "a")).all()


@pytest.mark.parametrize("n", [70, 900, 6500])
@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_long_runs_of_equal_scores(n: int, zeros: float, rng: np.random.Generator) -> None:
    """A masked matrix: the items that were not reranked share one score."""
    scores = np.where(np.arange(n) < n // 10, -np.arange(n), -n).astype(float)
    scores[n // 2 : n // 2 + n // 5] = -n + 0.5
    scores = -np.sort(-scores)[None]
    gains = np.where(rng.random((1, n)) < zeros, 0, rng.integers(1, n, (1, n))).astype(np.float32)
    ks = [n // 10 + 3, n // 4, n // 2 + 1, n]
    for variant in ("b", "c"):
        assert ours(scores, gains, ks, variant) == pytest.approx(by_scipy(scores, gains, ks, variant), abs=1e-14)


@pytest.mark.parametrize("run", [3, 65, 400])
@pytest.mark.parametrize("kinds", [3, 10**6])
def test_runs_of_equal_scores_short_and_long(run: int, kinds: int, rng: np.random.Generator) -> None:
    n = 1000
    scores = -(np.arange(n) // run)[None]
    gains = rng.integers(0, kinds, (1, n)) * (rng.random((1, n)) < 0.5)
    ks = [2, run - 1, run + 1, n // 2, n]
    assert np.allclose(ours(scores, gains, ks, "b"), by_scipy(scores, gains, ks, "b"), **EXACT)
