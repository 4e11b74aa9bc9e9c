"""The top of every ranking: the oracle's order, and rank <= k exactly for the items of the list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from tests.messages import Refuses
from tests.worlds import World, canonical, relevance, tied_world, worlds
from vsebench.errors import UsageError
from vsebench.rank import count as counting
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import Both, Float, Int, Tops


def check(scorer: Scorer, world: World, depth: Both[int]) -> None:
    """Items and scores are those of a full sort, cut at the depth."""
    observed = observe(System(scorer), world.targets, depth=depth)
    for found, scores, judged, k in zip(observed, world.scores, world.judged, depth, strict=True):
        top, gallery = found.top, range(scores.shape[1])
        assert (top is None) == (k == 0)
        if top is not None:
            assert top.items.tolist() == [oracle.ordering(row.tolist(), gallery, set())[:k] for row in scores]
            assert np.array_equal(top.scores, np.take_along_axis(scores, top.items, 1))
            assert rank_agrees(top, oracle.positives(judged), found.ranks["x"].rank.tolist())


def rank_agrees(top: Tops, positives: dict[int, list[int]], rank: list[int]) -> bool:
    """rank <= k if and only if the item is in the list, and then at exactly that rank."""
    pairs = [(q, g) for q, items in positives.items() for g in items]
    k = top.items.shape[1]
    return all(
        (r <= k) == (g in top.items[q]) and (r > k or top.items[q, r - 1] == g)
        for (q, g), r in zip(pairs, rank, strict=True)
    )


@given(worlds(), st.integers(1, 12), st.integers(1, 12))
def test_lists_and_ranks_agree(world: World, a: int, b: int) -> None:
    check(world.system.forward, world, (a, b))


@given(worlds(reach=1), st.integers(1, 12))
def test_lists_of_a_matrix(world: World, k: int) -> None:
    check(Matrix(world.scores[0]), world, (k, k))


# The buffer of a query has room for 2 k + 128 candidates: these galleries overflow it, most of them with near-ties.
@pytest.mark.parametrize("reach", [1, 3, 40])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_lists_of_a_large_gallery(reach: int, k: int) -> None:
    world = tied_world(40, 1500, 3, reach, seed=reach)
    check(world.system.forward, world, (k, k))
    check(Matrix(world.scores[0].astype(np.float32)), world, (k, 0))


@pytest.mark.parametrize("order", ["ascending", "descending", "constant"])
def test_gallery_in_the_worst_order(order: str) -> None:
    # Ascending scores replace the complete buffer again and again; constant ones fill it with ties.
    line = {"ascending": np.arange(2000.0), "descending": -np.arange(2000.0), "constant": np.zeros(2000)}[order]
    for scorer in (Matrix(line[None, :]), Matrix(line[:, None]).T):
        top = ordering.top_lists(scorer, 7, threads=1)
        assert top.items.tolist() == [[1999 - i for i in range(7)] if order == "ascending" else list(range(7))]


# With k = 3 tiles are float32 products, with k = 150 rounded float64 ones; small tiles do not have complete galleries.
@pytest.mark.parametrize("tile_shape", [None, (25, 130)])
@pytest.mark.parametrize("k", [3, 150])
def test_near_ties_are_in_float64_order(k: int, tile_shape: tuple[int, int] | None) -> None:
    rng = np.random.default_rng(k)
    images, captions = ((1 + 1e-6 * rng.standard_normal((n, 48))).astype(np.float32) for n in (200, 900))
    scorer = Dot(images, captions)
    scores = canonical(scorer)
    observed = observe(System(scorer), ([], []), depth=(k, k), tile_shape=tile_shape)
    for found, own in zip(observed, (scores, scores.T), strict=True):
        want = np.argsort(-own, axis=1, kind="stable")[:, :k]
        assert found.top is not None and np.array_equal(found.top.items, want)
        assert np.array_equal(found.top.scores, np.take_along_axis(own, want, 1))


def test_scores_are_computed_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[int] = []
    pairs = Dot.pairs

    def counted(self: Dot, rows: Int, cols: Int, threads: int) -> Float:
        scored.append(len(rows))
        return pairs(self, rows, cols, threads)

    monkeypatch.setattr(Dot, "pairs", counted)
    vectors = np.linspace(1, 2, 40, dtype=np.float32)[:, None]  # no near-ties
    top = ordering.top_lists(Dot(vectors, vectors), 30, threads=1)
    assert top.items[0].tolist() == list(range(39, 9, -1)) and not sum(scored)
    assert np.array_equal(top.cut(2).scores[:, 0], vectors[:, 0] * 2.0) and sum(scored) == 80


def test_depth_is_clipped_to_the_gallery() -> None:
    system = tied_world(5, 8, 2, 1, seed=3).system
    for found, shape in zip(observe(system, ([], []), depth=(10**9, 6)), ((5, 8), (8, 5)), strict=True):
        assert found.top is not None and found.top.items.shape == shape
        assert all(sorted(row) == list(range(len(row))) for row in found.top.items.tolist())


def test_observations_of_the_requests_alone() -> None:
    world = tied_world(5, 8, 2, 1, seed=3)
    assert [(o.ranks, o.top) for o in observe(world.system, ([], []))] == [({}, None)] * 2
    rows, columns = observe(world.system, ([], []), depth=(0, 1))
    assert rows.top is None and columns.top is not None
    rows, columns = observe(world.system, (world.targets[0], []))
    assert set(rows.ranks) == {"x"} and not columns.ranks and rows.top is columns.top is None


@pytest.mark.parametrize("k", [0, -1])
def test_a_depth_below_one_is_refused(k: int, refuses: Refuses) -> None:
    refuses(UsageError, ordering.top_lists, tied_world(5, 8, 2, 1, seed=3).system.forward, k, threads=1)


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("kind", ["vectors", "cosine", "matrix", "reordered matrix"])
@pytest.mark.parametrize("k", [7, 70])
def test_galleries_in_pieces(exchanged: bool, kind: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    images, texts = (rng.integers(1, 4, (n, 6)).astype(np.float32) for n in (150, 400))  # near-ties and ties
    scorer: Scorer = Dot(images, texts, kind == "cosine")
    if "matrix" in kind:
        order = (rng.permutation(150), rng.permutation(400)) if kind == "reordered matrix" else (None, None)
        scorer = Matrix(images @ texts.T, *order)
    scorer = scorer.T if exchanged else scorer
    scores = canonical(scorer)
    monkeypatch.setattr(ordering, "TILE_ITEMS", 23)
    monkeypatch.setattr(ordering, "TILE_QUERIES", 17)
    monkeypatch.setattr(ordering, "MIN_SCORES_PER_NEAR_TIE", 2)
    found = ordering.top_lists(scorer, k, threads=2)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    # the same from the tiles in which relevant items are counted: narrower than lists are deep, the last ones of all
    monkeypatch.setattr(ordering, "GROUP_QUERIES", 11)
    monkeypatch.setattr(counting, "STRIP_COLUMNS", 22)
    targets = [Targets("x", relevance({0: [1], 149: [2, 149]}))]
    for shape in ((40, 30), (150, 400), (7, 101)):
        seen = observe(System(scorer), (targets, []), depth=(k, 0), threads=2, tile_shape=shape)[0]
        other = observe(System(scorer.T), ([], targets), depth=(0, k), threads=2, tile_shape=shape)[1]
        for top in (seen.top, other.top):
            assert top is not None and np.array_equal(top.items, want) and np.array_equal(top.tied, found.tied)
    assert np.array_equal(found.items, want)
    assert np.array_equal(found.scores, np.take_along_axis(scores, want, 1))
    best = np.take_along_axis(scores, want, 1)
    assert np.array_equal(found.tied[:, 1:], best[:, 1:] == best[:, :-1])


@pytest.mark.parametrize("k", [5, 70, 100])
def test_parts_of_a_gallery_of_which_queries_keep_different_numbers_of_items(k: int, rng: np.random.Generator) -> None:
    """One query keeps all items of a part, and the others few: what is behind their last one is no item."""
    bound = ordering.ErrorBound(0.0, np.full(40, 0.1), ordering.FLOAT32_PRODUCTS)
    scores = [rng.integers(-50, 50, (40, n)).astype(np.float32) for n in (3000, 500)]
    for part in scores:
        part[3] = 7
    items, values, count, least = ordering.candidates(scores[0], k, bound)
    other, others, number, _ = ordering.candidates(scores[1], k, bound, least)
    (found, _, size), _ = ordering._joined([(items, values, count), (other + 3000, others, number)], k, bound)
    assert (size <= count + number).all() and (size >= k).all() and size[3] == 3500
    for query, row in enumerate(np.hstack(scores)):
        best = np.sort(row)[-k]
        assert set(np.flatnonzero(row >= best)) <= set(found[query, : size[query]].tolist()) <= set(range(3500))


def test_near_ties_that_fill_the_memory_are_settled_early(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    images, texts = ((1 + 1e-6 * rng.standard_normal((n, 16))).astype(np.float32) for n in (60, 900))
    scorer, settled = Dot(images, texts), list[int]()
    complete = ordering.complete_order
    monkeypatch.setattr(ordering, "MAX_KEPT_PER_K", 1)
    monkeypatch.setattr(ordering, "SPARE_ITEMS", 8)
    monkeypatch.setattr(ordering, "complete_order", lambda *arguments: settled.append(1) or complete(*arguments))
    targets = [Targets("x", relevance({0: [1]}))]
    top = observe(System(scorer), (targets, []), depth=(5, 0), tile_shape=(60, 100))[0].top
    want = np.argsort(-canonical(scorer), axis=1, kind="stable")[:, :5]
    assert top is not None and np.array_equal(top.items, want)
    assert len(settled) == 1


def test_lists_that_take_much_memory_are_made_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    world = tied_world(40, 700, 3, 3, seed=1)
    want = observe(world.system, world.targets, depth=(9, 0))[0].top
    monkeypatch.setattr(ordering, "MAX_LIST_BYTES", 40 * (18 + ordering.SPARE_ITEMS) * 8 - 1)
    monkeypatch.setattr(ordering.Lists, "add", None)  # not called
    found = observe(world.system, world.targets, depth=(9, 0))[0].top
    assert want is not None and found is not None and np.array_equal(want.items, found.items)


@pytest.mark.parametrize("threads", [1, 2])
def test_near_ties_in_the_first_tiles_and_the_best_items_in_the_last(threads: int) -> None:
    rng = np.random.default_rng(3)
    n, dim = 5000, 16
    gallery = (rng.standard_normal(dim) + 1e-6 * rng.standard_normal((n, dim))).astype(np.float32)
    gallery[-100:] = 3 * rng.standard_normal((100, dim))
    queries = (gallery[-100:] + rng.standard_normal((100, dim))).astype(np.float32)
    scorer = Dot(queries, gallery)
    exact = canonical(scorer)
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :10]
    assert np.array_equal(ordering.order(scorer, np.arange(100), 10).items, expected)
    targets = [Targets("x", relevance({q: [n - 100 + q] for q in range(100)}))]
    found, _ = observe(System(scorer), (targets, []), depth=(10, 0), tile_shape=(100, 500), threads=threads)
    assert found.top is not None and np.array_equal(found.top.items, expected)
    _, found = observe(System(scorer.T), ([], targets), depth=(0, 10), tile_shape=(500, 100), threads=threads)
    assert found.top is not None and np.array_equal(found.top.items, expected)
