"""Ranks of the relevant items against ranks by sorting, in worlds with many ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests import oracle
from tests.worlds import (
    World,
    canonical,
    own,
    relevance,
    same_fold,
    splits,
    stored,
    tied_world,
    without_zero_rows,
    worlds,
)
from vsebench.rank import count as counting
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, count, observe
from vsebench.rank.order import REFERENCE
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.rank.ties import TIES
from vsebench.types import Both, Candidates


def check(
    system: System,
    scores: oracle.Scores,
    targets: Both[list[Targets]],
    **options: Any,
) -> None:
    """Ranks, tie flags and extremes of rows and of columns are those of the oracle; ``scores`` are (row, column)."""
    for ties in TIES:
        observed = observe(system, targets, ties=ties, **{"threads": 1, **options})
        for own_scores, requests, found in zip((scores, scores.T), targets, observed, strict=True):
            for request in requests:
                judged, got = request.relevance, found.ranks[request.view]
                assert got.rank.tolist() == oracle.ranks(own_scores, judged, request.candidates, ties)
                tied = oracle.tied(own_scores, judged, request.candidates)
                assert got.rank.dtype == np.int64 and got.tied.tolist() == tied
                assert (got.extremes is None) == (not any(tied))
                ends = got.extremes or (got.rank, got.rank)
                for end, rule in zip(ends, ("optimistic", "pessimistic"), strict=True):
                    assert end.tolist() == oracle.ranks(own_scores, judged, request.candidates, rule)


@given(worlds())
def test_every_tie_rule(world: World) -> None:
    check(world.system, world.scores[0], world.targets)


@given(worlds(reach=1))
def test_every_tie_rule_of_a_matrix(world: World) -> None:
    check(System(Matrix(world.scores[0].astype(np.float32))), world.scores[0], world.targets)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float64"])
def test_matrices_of_numbers_that_float32_does_not_have(dtype: str, rng: np.random.Generator) -> None:
    scores = 2**24 + rng.integers(0, 6, (40, 90))
    check(System(Matrix(scores.astype(dtype))), scores.astype(np.float64), tied_world(40, 90, 1, 1, seed=1).targets)


@given(splits(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_folds(split: Any, dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = without_zero_rows(rng.integers(-2, 3, (len(split.rows.ids), dim)))
    y = without_zero_rows(rng.integers(-2, 3, (len(split.columns.ids), dim)))
    world = World(x, y, own(split))
    rows, columns = (
        [Targets("fold", r, inside), Targets("all", r)]
        for r, inside in zip(world.judged, same_fold(split), strict=True)
    )
    check(world.system, world.scores[0], (rows, columns))
    observed = observe(world.system, (rows, columns))
    for found, query_fold in zip(observed, split.folds, strict=True):
        fold = found.ranks["fold"].fold
        assert fold is not None and fold.tolist() == query_fold.tolist()


@st.composite
def with_excluded(draw: st.DrawFn) -> tuple[World, Both[list[Targets]]]:
    """Disjoint relevant and excluded items; some queries exclude nothing."""
    world = draw(worlds())
    requests: Both[list[Targets]] = [], []
    for side, judged in enumerate(world.judged):
        chosen = {}
        for query, items in oracle.positives(judged).items():
            others = sorted(set(range(world.scores[side].shape[1])) - set(items))
            if others:
                chosen[query] = draw(st.sets(st.sampled_from(others), max_size=3))
        excluded = stored(chosen, world.scores[side].shape)
        if excluded.nnz:
            requests[side].append(Targets("without", judged, Candidates(excluded=excluded)))
            requests[side].append(Targets("all", judged))
    return world, requests


@given(with_excluded())
def test_without(case: tuple[World, Both[list[Targets]]]) -> None:
    world, requests = case
    check(world.system, world.scores[0], requests)


@given(with_excluded())
def test_without_is_masking(case: tuple[World, Both[list[Targets]]]) -> None:
    world, targets = case
    for scorer, scores, requests in zip(world.system.both, world.scores, targets, strict=True):
        for request in requests[:1]:
            masked = scores.astype(np.float32)
            masked[request.candidates.excluded.nonzero()] = -np.inf  # type: ignore[union-attr]
            for ties in TIES:
                without = count(System(scorer), ([request], []), ties=ties)[0]["without"]
                of_masked = count(System(Matrix(masked)), ([Targets("x", request.relevance)], []), ties=ties)[0]["x"]
                assert without.rank.tolist() == of_masked.rank.tolist()
                assert without.tied.tolist() == of_masked.tied.tolist()


def dense_requests(n: int, m: int, seed: int) -> Both[list[Targets]]:
    """Many relevant items of most queries, few or none of others; folds, and many excluded items."""
    rng = np.random.default_rng(seed)
    share = np.resize([0, 0.02, 0.4, 0.95], n)[:, None] * np.resize([0.3, 1, 1], m)
    drawn = rng.random((n, m))
    fold = np.arange(n) * 2 // n, np.arange(m) * 2 // m
    requests: Both[list[Targets]] = [], []
    for side in (0, 1):
        kept, out = (x.T if side else x for x in (drawn < share, drawn > 1 - share / 3))
        folds = fold[::-1] if side else fold
        inside = kept & np.equal.outer(*folds)
        positive, own_positive = (
            relevance({q: np.flatnonzero(row) for q, row in enumerate(x) if row.any()}, name=name)
            for name, x in (("labels", kept), ("inside", inside))
        )
        requests[side].extend(
            (
                Targets("all", positive),
                Targets("without", positive, Candidates(excluded=csr_array(out & ~kept))),
                Targets("fold", own_positive, Candidates(fold=folds)),
            )
        )
    return requests


@pytest.mark.parametrize("kind", ["ties", "near-ties", "matrix", "matrix of ties"])
def test_queries_with_many_relevant_items(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordered (the default) and counted: both are the ranks by sorting."""
    n, m = 45, 70
    monkeypatch.setattr(counting, "MAX_COUNTED_PAIRS", 6)
    monkeypatch.setattr(ordering, "BLOCK_SCORES", 1 << 9)
    rng = np.random.default_rng(len(kind))
    x, y = (without_zero_rows(rng.integers(-2, 3, (size, 4))) for size in (n, m))
    if kind == "near-ties":  # of float32 sums, not of float64 ones
        x[:, 0], y[:, 0] = 1, 4096 + rng.integers(0, 3, m) / 1024
        x[:, 1:], y[:, 1:] = x[:, 1:] / 4096, y[:, 1:] / 4096
    scores = oracle.scores64(x, y)
    system = System(Dot(x, y))
    if kind.startswith("matrix"):
        scores = rng.integers(0, 3 if "ties" in kind else 10**6, (n, m)).astype(np.float64)
        system = System(Matrix(scores))
    targets = dense_requests(n, m, seed=len(kind))
    assert all(counting._many(t).any() for own in targets for t in own)
    check(system, scores, targets)
    for ties in TIES:
        ordered, counted = (count(system, targets, ties=ties, threads=2, dense=o) for o in (REFERENCE, None))
        for one, other in ((a[view], b[view]) for a, b in zip(ordered, counted, strict=True) for view in a):
            assert one.rank.tolist() == other.rank.tolist() and one.tied.tolist() == other.tied.tolist()
            assert (one.groups is None) == (other.groups is None)
            for field in vars(one.groups or ()) if one.groups else ():
                assert np.array_equal(getattr(one.groups, field), getattr(other.groups, field)), field


@pytest.mark.parametrize(
    ("n", "m", "dim", "reach"), [(300, 700, 3, 2), (30, 1100, 2, 1), (600, 40, 4, 3), (257, 256, 9, 5)]
)
def test_wider_than_a_strip(n: int, m: int, dim: int, reach: int) -> None:
    world = tied_world(n, m, dim, reach, seed=n, positives=2)
    for system in (world.system, System(Matrix(world.scores[0]))):
        check(system, world.scores[0], world.targets)


def flat(kind: str, rng: np.random.Generator) -> Scorer:
    """Scores that float32 products do not distinguish."""
    x, y = (rng.standard_normal((n, 16)).astype(np.float32) for n in (70, 300))
    if kind == "all vectors equal":
        return Dot(np.ones_like(x), np.ones_like(y))
    if kind == "scores close together":  # a standard deviation of 1e-3 about 1
        x[:], y[:, 1:] = np.eye(16)[0] + 1e-4 * x, 1e-3 * y[:, 1:]
        y[:, 0] = 1 + 1e-3 * rng.integers(-3, 4, 300)
        return Dot(x, y, cosine=True)
    dtype = np.float32 if "32" in kind else np.float64
    return Matrix(np.full((70, 300), 0.3, dtype))


@pytest.mark.parametrize("tile_shape", [None, (70, 300), (1, 300), (70, 1), (9, 130)])
@pytest.mark.parametrize("kind", ["all vectors equal", "scores close together", "one number 32", "one number 64"])
def test_more_open_pairs_than_a_thread_keeps(
    kind: str, tile_shape: tuple[int, int] | None, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel goes on where its list was full, at any row, pair and column."""
    world, scorer = tied_world(70, 300, 1, 1, seed=3), flat(kind, rng)
    resolve, resolved = counting.Counter.resolve, list[int]()

    def counted(counter: Any, pair: Any, *rest: Any) -> Any:
        resolved.append(len(pair))
        return resolve(counter, pair, *rest)

    monkeypatch.setattr(counting.Counter, "resolve", counted)
    monkeypatch.setattr(counting, "BATCH_PAIRS", 256)
    check(System(scorer), canonical(scorer), world.targets, tile_shape=tile_shape, threads=2)
    assert (not resolved) if isinstance(scorer, Matrix) else (len(resolved) > 30 and max(resolved) <= 256)


def same_ranks(one: Both[Any], other: Both[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.ranks.keys() == b.ranks.keys()
        for view, found in a.ranks.items():
            assert np.array_equal(found.rank, b.ranks[view].rank) and np.array_equal(found.tied, b.ranks[view].tied)
        assert (a.top is None) == (b.top is None)
        assert a.top is None or (np.array_equal(a.top.items, b.top.items) and np.array_equal(a.top.tied, b.top.tied))


@pytest.mark.parametrize("kind", ["dot", "cosine", "float32", "float64", "float16, reordered", "column-major"])
def test_sides_can_be_exchanged(kind: str, rng: np.random.Generator) -> None:
    """A scorer and its transpose rank the same, in one scan and in two, and so do copies of both."""
    world = tied_world(60, 400, 3, 2, seed=1)
    n, m = world.scores[0].shape
    scorer: Scorer = Dot(world.images, world.captions, kind == "cosine")
    if kind not in ("dot", "cosine"):
        orders = (rng.permutation(n), rng.permutation(m)) if "reordered" in kind else (None, None)
        given = world.scores[0].astype(kind[:7] if "float" in kind else "float64", order="F" if "col" in kind else "C")
        scorer = Matrix(given, *orders)
        assert canonical(scorer.T).tolist() == scorer.T.tile(slice(None), slice(None)).tolist()
    assert np.array_equal(canonical(scorer).T, canonical(scorer.T)) and scorer.T.shape == (m, n)
    rows, columns = world.targets
    wanted = observe(System(scorer), (rows, columns), depth=(7, 3), threads=1)
    for system in (System(scorer, scorer.T), System(scorer, Matrix(canonical(scorer).T.copy()))):
        for tile_shape in (None, (17, 130)):
            same_ranks(observe(system, (rows, columns), depth=(7, 3), tile_shape=tile_shape, threads=2), wanted)
    same_ranks(observe(System(scorer.T), (columns, rows), depth=(3, 7), threads=1), wanted[::-1])


def test_scores_of_both_sides_are_ranked_as_two_systems() -> None:
    one, other = tied_world(60, 400, 3, 2, seed=1), tied_world(60, 400, 3, 2, seed=2)
    rows, columns = one.targets
    for forward, backward in (
        (one.system.forward, other.system.backward),
        (Matrix(one.scores[0]), Matrix(other.scores[1].astype(np.float32))),
    ):
        system = System(forward, backward)
        found = observe(system, (rows, columns), depth=(7, 3), tile_shape=(13, 50))
        each = (forward, rows, 7), (backward, columns, 3)
        of_rows, of_columns = (observe(System(s), (targets, []), depth=(k, 0))[0] for s, targets, k in each)
        same_ranks(found, (of_rows, of_columns))
        some = system.take(np.arange(3, 50, 2), slice(20, 90))
        assert np.array_equal(canonical(some.forward), canonical(forward)[3:50:2, 20:90])
        assert np.array_equal(canonical(some.backward), canonical(backward)[20:90, 3:50:2])


def test_several_requests_in_one_pass_equal_single_requests() -> None:
    world, other = tied_world(60, 400, 3, 2, seed=1), tied_world(60, 400, 3, 2, seed=2)
    rows, columns = ([Targets("a", r), Targets("b", s)] for r, s in zip(world.judged, other.judged, strict=True))
    several = count(world.system, (rows, columns))
    for scorer, targets, found in zip(world.system.both, (rows, columns), several, strict=True):
        for t in targets:
            alone = count(System(scorer), ([t], []))[0][t.view]
            assert np.array_equal(alone.rank, found[t.view].rank) and np.array_equal(alone.tied, found[t.view].tied)


def test_excluded_items_of_queries_that_are_ordered_alone() -> None:
    """One query has many relevant items and an exclusion, the other one neither."""
    scores = np.random.default_rng(0).permutation(200).reshape(2, 100).astype(np.float64)
    targets = Targets("x", relevance({0: range(70), 1: [3]}), Candidates(excluded=stored({0: [80]}, (2, 100))))
    check(System(Matrix(scores)), scores, ([targets], []))
