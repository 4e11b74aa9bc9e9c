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
from tests.worlds import World, tied_world, worlds
from vsebench.rank import full_order
from vsebench.rank.scorers import Dot, Matrix, Scorer
from vsebench.types import DIRECTIONS, Direction


def order(
    scorer: Scorer, direction: Direction, k: int, start: int = 0, stop: int | None = None, spoil: float = 0.0
) -> full_order.Order:
    """The order of some queries; ``spoil`` moves the scores of the tile by random amounts up to that size."""
    queries, gallery = scorer.shape if direction == "i2t" else scorer.shape[::-1]
    stop = queries if stop is None else stop
    tile = full_order.rows_of(scorer, direction, start, stop, np.empty((stop - start) * gallery, scorer.dtype))
    if spoil:
        tile += spoil * np.random.default_rng(1).uniform(-1, 1, tile.shape).astype(tile.dtype)
    return full_order.order_rows(
        scorer, direction, tile, np.arange(start, stop), k, full_order.measured_bound(scorer, direction, tile, start)
    )


def canonical(scorer: Scorer, direction: Direction) -> npt.NDArray[np.float64]:
    """(query, gallery) float64 scores, pair by pair."""
    n, m = scorer.shape
    found = scorer.pairs(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), 1).reshape(n, m)
    return found if direction == "i2t" else found.T


def check(scorer: Scorer, direction: Direction, k: int, scores: npt.NDArray[Any], **options: Any) -> None:
    """Items and ties are those of a plain stable sort."""
    found = order(scorer, direction, k, **options)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert found.items.tolist() == want.tolist()
    sorted_scores = np.take_along_axis(scores, want, 1)
    tied = np.zeros(want.shape, bool)
    tied[:, 1:] = sorted_scores[:, 1:] == sorted_scores[:, :-1]
    assert found.tied.tolist() == tied.tolist()


@given(worlds(), st.sampled_from(DIRECTIONS), st.integers(1, 10))
def test_small_worlds_full_of_ties(world: World, direction: Direction, k: int) -> None:
    scores = world.scores(direction)
    k = min(k, scores.shape[1])
    check(Dot(world.images, world.captions), direction, k, scores)
    check(Matrix(world.scores("i2t")), direction, k, scores)
    want = [oracle.ordering(row.tolist(), range(len(row)), set())[:k] for row in scores]
    assert order(Dot(world.images, world.captions), direction, k).items.tolist() == want


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("k", [1, 7, 300, 900])
@pytest.mark.parametrize("reach", [1, 3, 1000])
def test_a_large_gallery(reach: int, k: int, direction: Direction) -> None:
    world = tied_world(900, 901, 4, reach, seed=reach)
    scores = world.scores(direction)[:20]
    check(Dot(world.images, world.captions), direction, k, scores, stop=20)


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
    scores = canonical(scorer, "i2t")
    plain = np.argsort(-(x @ y.T), axis=1, kind="stable")[:, :k]
    assert (plain != np.argsort(-scores, axis=1, kind="stable")[:, :k]).any()  # float32 scores give another order
    check(scorer, "i2t", k, scores)


@pytest.mark.parametrize("spoil", [1e-6, 1e-4])
@pytest.mark.parametrize("k", [10, 200, 600])
def test_the_error_of_the_product_is_measured(k: int, spoil: float, rng: np.random.Generator) -> None:
    # The bound follows from the measured error, so the order does not depend on the precision of the product.
    x, y = (rng.standard_normal((n, 64)).astype(np.float32) / 8 for n in (25, 600))
    scorer = Dot(x, y)
    tile = full_order.rows_of(scorer, "i2t", 0, 25, np.empty(25 * 600, np.float32))
    tile += spoil * rng.uniform(-1, 1, tile.shape).astype(np.float32)
    measured = full_order.measured_bound(scorer, "i2t", tile, 0)
    rigorous = scorer.error()[0]
    assert (measured.base <= rigorous + 1e-36).all()
    wide = full_order.ErrorBound(
        measured.rate, np.full(25, measured.rate * full_order.FLOOR * np.linalg.norm(x, axis=1).max() * 12)
    )
    found = full_order.order_rows(scorer, "i2t", tile, np.arange(len(tile)), k, wide)
    assert found.items.tolist() == np.argsort(-canonical(scorer, "i2t"), axis=1, kind="stable")[:, :k].tolist()


def test_a_bound_that_is_too_small_is_widened(rng: np.random.Generator) -> None:
    x, y = near_ties(30, 1000, 96, rng)
    scorer = Dot(x, y)
    tile = full_order.rows_of(scorer, "i2t", 0, 30, np.empty(30_000, np.float32))
    too_small = full_order.ErrorBound(1e-8, np.full(30, 1e-9))
    found = full_order.order_rows(scorer, "i2t", tile, np.arange(len(tile)), 1000, too_small)
    assert found.items.tolist() == np.argsort(-canonical(scorer, "i2t"), axis=1, kind="stable").tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_blocks_do_not_matter(direction: Direction, rng: np.random.Generator) -> None:
    x, y = near_ties(70, 300, 40, rng)
    scorer = Dot(x, y)
    n = scorer.shape[0 if direction == "i2t" else 1]
    all_queries = order(scorer, direction, 60)
    for edges in ([0, 1, 2, n], [0, n // 2, n], list(range(n + 1))):
        for a, b in pairwise(edges):
            part = order(scorer, direction, 60, a, b)
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
        check(Matrix(row), "i2t", k, row)
        single = row.astype(np.float32)
    if np.isfinite(single).all():
        check(Matrix(single), "i2t", k, single)
        assert full_order.largest(single, k).tolist() == np.argsort(-single, axis=1, kind="stable")[:, :k].tolist()


@given(worlds(), st.integers(1, 10))
def test_the_largest_of_a_row(world: World, k: int) -> None:
    rows = world.scores("i2t").astype(np.float32)
    k = min(k, rows.shape[1])
    assert full_order.largest(rows, k).tolist() == np.argsort(-rows, axis=1, kind="stable")[:, :k].tolist()


@pytest.mark.parametrize("k", [1, 10, 64, 65, 900])
def test_the_largest_of_a_long_row(k: int, rng: np.random.Generator) -> None:
    rows = np.maximum(rng.integers(-50, 50, (6, 3000)), 0).astype(np.float32)
    rows[0], rows[1] = np.arange(3000), -np.arange(3000)
    rows[2, 5:9] = -np.inf
    assert full_order.largest(rows, k).tolist() == np.argsort(-rows, axis=1, kind="stable")[:, :k].tolist()


def test_inputs_are_not_changed(rng: np.random.Generator) -> None:
    scores = rng.standard_normal((5, 40)).astype(np.float32)
    copy = scores.copy()
    scores.flags.writeable = False
    for direction in DIRECTIONS:
        order(Matrix(scores), direction, 3)
    full_order.largest(scores, 3)
    assert (scores == copy).all()
