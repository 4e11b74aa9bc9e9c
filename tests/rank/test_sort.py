"""The exact order of complete galleries: that of a stable sort of float64 scores, whatever the float32 product is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from tests.worlds import World, canonical, tied_world, worlds
from vsebench.rank import order as ordering
from vsebench.rank import sort_kernels
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import BOTH, Tops, Which


def order(scorer: Scorer, k: int, start: int = 0, stop: int | None = None) -> Tops:
    """The order of some queries."""
    return ordering.order(scorer, np.arange(start, scorer.shape[0] if stop is None else stop), k)


def check(scorer: Scorer, k: int, scores: npt.NDArray[Any], **options: Any) -> None:
    """Items and ties are those of a plain stable sort."""
    found = order(scorer, k, **options)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert found.items.tolist() == want.tolist()
    sorted_scores = np.take_along_axis(scores, want, 1)
    tied = np.zeros(want.shape, bool)
    tied[:, 1:] = sorted_scores[:, 1:] == sorted_scores[:, :-1]
    assert found.tied.tolist() == tied.tolist()


@given(worlds(), st.sampled_from(BOTH), st.integers(1, 10))
def test_small_worlds_full_of_ties(world: World, side: Which, k: int) -> None:
    scores, scorer = world.scores[side], world.system.both[side]
    k = min(k, scores.shape[1])
    check(scorer, k, scores)
    check(Matrix(scores), k, scores)
    want = [oracle.ordering(row.tolist(), range(len(row)), set())[:k] for row in scores]
    assert order(scorer, k).items.tolist() == want


@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("k", [1, 7, 300, 900])
@pytest.mark.parametrize("reach", [1, 3, 1000])
def test_a_large_gallery(reach: int, k: int, side: Which) -> None:
    world = tied_world(900, 901, 4, reach, seed=reach)
    check(world.system.both[side], k, world.scores[side][:20], stop=20)


def near_ties(n: int, m: int, dim: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Unit vectors in clusters: inside a cluster float32 scores do not distinguish them."""
    x = rng.standard_normal((n, dim))
    y = np.repeat(rng.standard_normal((m // 10, dim)), 10, 0) + 1e-7 * rng.standard_normal((m, dim))
    return [(v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32) for v in (x, y)]  # type: ignore[return-value]


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("k", [5, 100, 1000])
def test_near_ties_are_settled_in_float64(k: int, cosine: bool, rng: np.random.Generator) -> None:
    x, y = near_ties(30, 1000, 96, rng)
    if cosine:
        x, y = x * rng.uniform(0.01, 100, (30, 1)).astype(np.float32), y * 3
    scorer = Dot(x, y, cosine)
    scores = canonical(scorer)
    plain = np.argsort(-(x @ y.T), axis=1, kind="stable")[:, :k]
    assert (plain != np.argsort(-scores, axis=1, kind="stable")[:, :k]).any()  # float32 scores give another order
    check(scorer, k, scores)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("k", [10, 64, 65, 600])
def test_any_errors_within_the_bound_leave_the_order(k: int, cosine: bool, rng: np.random.Generator) -> None:
    """Scores are moved by nearly the bound, up or down at random."""
    x, y = (rng.standard_normal((n, 64)).astype(np.float32) for n in (25, 600))
    scorer, queries = Dot(x, y, cosine), np.arange(25)
    scores = canonical(scorer)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    for bound_of in (ordering.float32_bound, ordering.float64_bound):
        bound = bound_of(scorer, queries)
        tile = (scores + 0.98 * bound.base[:, None] * rng.choice([-1, 1], scores.shape)).astype(np.float32)
        found = ordering.best_of(tile, k, bound)
        assert ordering.resolve_near_ties(scorer, found, queries, k, bound, None).items.tolist() == want.tolist()


def test_scores_that_are_nearly_equal_are_computed_again(rng: np.random.Generator) -> None:
    """In float32 all scores are near-ties; float64 products, centred, leave no order open."""
    x = (0.05 + 1e-4 * rng.standard_normal((40, 96))).astype(np.float32)
    y = (0.05 + 1e-4 * rng.standard_normal((500, 96))).astype(np.float32)
    scorer, queries = Dot(x, y), np.arange(40)
    scored = 0

    class Counted(Dot):
        def pairs(self, rows: Any, cols: Any, threads: int) -> Any:
            nonlocal scored
            scored += len(rows)
            return super().pairs(rows, cols, threads)

    scores = canonical(scorer)
    for k in (5, 500):
        found = order(Counted(x, y), k)
        assert found.items.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    assert scored < 2 * scores.size / ordering.MIN_SCORES_PER_NEAR_TIE
    for gallery in (np.arange(100, 400), np.sort(rng.choice(500, 90, replace=False))):
        found = ordering.complete_order(scorer, queries[3:9], 20, gallery)
        want = np.argsort(-scores[3:9][:, gallery], axis=1, kind="stable")[:, :20]
        assert found.items.tolist() == want.tolist()


@pytest.mark.parametrize("exchanged", [False, True])
def test_blocks_do_not_matter(exchanged: bool, rng: np.random.Generator) -> None:
    x, y = near_ties(70, 300, 40, rng)
    scorer = Dot(y, x) if exchanged else Dot(x, y)
    n = len(scorer.x)
    all_queries = order(scorer, 60)
    for edges in ([0, 1, 2, n], [0, n // 2, n], list(range(n + 1))):
        for a, b in pairwise(edges):
            part = order(scorer, 60, a, b)
            assert part.items.tolist() == all_queries.items[a:b].tolist()
            assert part.tied.tolist() == all_queries.tied[a:b].tolist()


@pytest.mark.parametrize("k", [1, 30, 250, 500])
@pytest.mark.parametrize("shape", ["ascending", "descending", "constant", "narrow", "far", "signs", "huge", "outlier"])
def test_rows_that_are_hard_to_sort(shape: str, k: int, rng: np.random.Generator) -> None:
    n = 500
    row = {
        "ascending": np.arange(n),
        "descending": -np.arange(n),
        "constant": np.full(n, 0.3),
        "narrow": 0.9 + 1e-5 * rng.random(n),
        "far": rng.choice([1e-300, 1e-30, 1.0, 1e30, 1e300], n) * rng.standard_normal(n),
        "signs": rng.choice([-1.0, -0.0, 0.0, 1.0], n),
        "huge": rng.standard_normal(n) * 1e305,
        "outlier": np.where(np.arange(n) == 77, 1e9, rng.random(n)),
    }[shape].astype(np.float64)[None]
    with np.errstate(over="ignore"):
        check(Matrix(row), k, row)
        single = row.astype(np.float32)
    if np.isfinite(single).all():
        check(Matrix(single), k, single)
        assert ordering.largest(single, k).tolist() == np.argsort(-single, axis=1, kind="stable")[:, :k].tolist()


@given(worlds(), st.integers(1, 10))
def test_the_largest_of_a_row(world: World, k: int) -> None:
    rows = world.scores[0].astype(np.float32)
    k = min(k, rows.shape[1])
    assert ordering.largest(rows, k).tolist() == np.argsort(-rows, axis=1, kind="stable")[:, :k].tolist()


@pytest.mark.parametrize("k", [1, 10, 64, 65, 900])
def test_the_largest_of_a_long_row(k: int, rng: np.random.Generator) -> None:
    rows = np.maximum(rng.integers(-50, 50, (6, 3000)), 0).astype(np.float32)
    rows[0], rows[1] = np.arange(3000), -np.arange(3000)
    rows[2, 5:9] = -np.inf
    assert ordering.largest(rows, k).tolist() == np.argsort(-rows, axis=1, kind="stable")[:, :k].tolist()


def test_inputs_are_not_changed(rng: np.random.Generator) -> None:
    scores = rng.standard_normal((5, 40)).astype(np.float32)
    copy = scores.copy()
    scores.flags.writeable = False
    for scorer in System(Matrix(scores)).both:
        order(scorer, 3)
    ordering.largest(scores, 3)
    assert (scores == copy).all()


def test_a_run_of_near_ties_ends_behind_the_k_best() -> None:
    ordered = np.linspace(1, 0, 1001, dtype=np.float32)[None]  # every two neighbours are near-ties, those in 3 are not
    room = np.empty((500, 3), np.int32)
    error = np.float32(0), np.full(1, 0.0012, np.float32)
    found = [sort_kernels.find_runs(ordered, np.array([1001]), k, *error, room) for k in (10, 1001)]
    assert found == [(1, 12), (1, 1001)]
