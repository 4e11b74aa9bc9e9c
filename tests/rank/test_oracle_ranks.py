"""Ranks of the relevant items against ranks by sorting, in worlds with many ties."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from tests.worlds import World, own, relevance, same_fold, splits, tied_world, without_zero_rows, worlds
from vsebench.rank import count as counting
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, count
from vsebench.rank.observe import observe
from vsebench.rank.order import REFERENCE
from vsebench.rank.scorers import Dot, Matrix
from vsebench.rank.ties import TIES
from vsebench.types import DIRECTIONS, EVERYTHING, Candidates, Direction, Relevance


def check(
    scorer: Dot | Matrix,
    scores: dict[Direction, oracle.Scores],
    requests: list[Targets],
    rules: tuple[str, ...] = tuple(TIES),
) -> None:
    """Ranks, tie flags and extremes of the requests are those of the oracle."""
    for ties in rules:
        observed = observe(scorer, requests, ties=ties, threads=1)
        for request in requests:
            judged = request.relevance
            got = observed[judged.direction].ranks[request.view]
            want = [float(r) for r in oracle.ranks(scores[judged.direction], judged, request.candidates, ties)]
            assert got.rank.tolist() == pytest.approx(want, rel=1e-14), (request.view, ties)
            assert got.rank.dtype == (np.float64 if ties == "mean-rank" else np.int64)
            tied = oracle.tied(scores[judged.direction], judged, request.candidates)
            assert got.tied.tolist() == tied
            assert (got.extremes is None) == (not any(tied))
            for end, rule in enumerate(("optimistic", "pessimistic")):
                ends = oracle.ranks(scores[judged.direction], judged, request.candidates, rule)
                assert (got.rank if got.extremes is None else got.extremes[end]).tolist() == pytest.approx(
                    [float(r) for r in ends]
                )


def both(world: World) -> dict[Direction, oracle.Scores]:
    return {d: world.scores(d) for d in DIRECTIONS}


@given(worlds())
def test_every_tie_rule(world: World) -> None:
    check(Dot(world.images, world.captions), both(world), [Targets("x", r) for r in world.judged.values()])


@given(worlds(reach=1))
def test_every_tie_rule_of_a_matrix(world: World) -> None:
    scores = world.scores("i2t")
    check(Matrix(scores.astype(np.float32)), both(world), [Targets("x", r) for r in world.judged.values()])


@given(splits(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_folds(split, dim: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    x = without_zero_rows(rng.integers(-2, 3, (len(split.image_ids), dim)))
    y = without_zero_rows(rng.integers(-2, 3, (len(split.caption_ids), dim)))
    requests = [Targets("fold", own(split, d), same_fold(split, d)) for d in DIRECTIONS]
    requests += [Targets("all", own(split, d)) for d in DIRECTIONS]
    check(Dot(x, y), both(World(x, y, {})), requests)
    for d in DIRECTIONS:
        fold = observe(Dot(x, y), requests)[d].ranks["fold"].fold
        query_fold = split.fold if d == "i2t" else split.caption_fold
        assert fold is not None and fold.tolist() == query_fold.tolist()


@st.composite
def with_excluded(draw: st.DrawFn) -> tuple[World, list[Targets]]:
    """Disjoint relevant and excluded items; some queries exclude nothing."""
    world = draw(worlds())
    requests = []
    for direction, gallery in (("i2t", len(world.captions)), ("t2i", len(world.images))):
        judged = world.judged[direction]  # type: ignore[index]
        chosen = {}
        for query, items in oracle.positives(judged).items():
            others = sorted(set(range(gallery)) - set(items))
            if others:
                chosen[query] = draw(st.sets(st.sampled_from(others), max_size=3))
        excluded = relevance(direction, chosen, name="own")  # type: ignore[arg-type]
        if len(excluded.queries):
            requests.append(Targets("without", judged, Candidates(excluded=excluded)))
            requests.append(Targets("all", judged))
    return world, requests


@given(with_excluded())
def test_without(case: tuple[World, list[Targets]]) -> None:
    world, requests = case
    if requests:
        check(Dot(world.images, world.captions), both(world), requests)


@given(with_excluded())
def test_without_is_masking(case: tuple[World, list[Targets]]) -> None:
    world, requests = case
    for request in requests:
        if request.excluded is None:
            continue
        masked = world.scores(request.relevance.direction).astype(np.float32)
        for query, excluded in oracle.positives(request.excluded).items():
            masked[query, excluded] = -np.inf
        image_rows = masked if request.relevance.direction == "i2t" else masked.T
        d = request.relevance.direction
        for ties in TIES:
            without = observe(Dot(world.images, world.captions), [request], ties=ties)[d].ranks["without"]
            of_masked = observe(Matrix(image_rows), [Targets("x", request.relevance)], ties=ties)[d].ranks["x"]
            assert without.rank.tolist() == of_masked.rank.tolist()
            assert without.tied.tolist() == of_masked.tied.tolist()


def dense_requests(n: int, m: int, seed: int) -> list[Targets]:
    """Many relevant items of most queries, few or none of others; folds, and many excluded items."""
    rng = np.random.default_rng(seed)
    share = np.resize([0, 0.02, 0.4, 0.95], n)[:, None] * np.resize([0.3, 1, 1], m)
    drawn = rng.random((n, m))
    fold = np.arange(n) * 2 // n, np.arange(m) * 2 // m
    requests = []
    for d in DIRECTIONS:
        kept, out = (x if d == "i2t" else x.T for x in (drawn < share, drawn > 1 - share / 3))
        own_fold, other_fold = fold if d == "i2t" else fold[::-1]
        inside = kept & (own_fold[:, None] == other_fold)
        positive, own_positive, excluded = (
            relevance(d, {q: np.flatnonzero(row) for q, row in enumerate(x) if row.any()}, name=name)  # type: ignore[misc]
            for name, x in (("labels", kept), ("inside", inside), ("excluded", out & ~kept))
        )
        requests += [
            Targets("all", positive),
            Targets("without", positive, Candidates(excluded=excluded)),
            Targets("fold", own_positive, Candidates(fold=(own_fold, other_fold))),
        ]
    return requests


@pytest.mark.parametrize("kind", ["ties", "near-ties", "matrix", "matrix of ties"])
def test_queries_with_many_relevant_items(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordered (the default) and counted: both are the ranks by sorting."""
    n, m = 45, 70
    monkeypatch.setattr(counting, "MANY_PAIRS", 6)
    monkeypatch.setattr(ordering, "PART", 1 << 9)
    rng = np.random.default_rng(len(kind))
    x, y = (without_zero_rows(rng.integers(-2, 3, (size, 4))) for size in (n, m))
    if kind == "near-ties":  # of float32 sums, not of float64 ones
        x[:, 0], y[:, 0] = 1, 4096 + rng.integers(0, 3, m) / 1024
        x[:, 1:], y[:, 1:] = x[:, 1:] / 4096, y[:, 1:] / 4096
    scores = oracle.scores64(x, y)
    scorer: Dot | Matrix = Dot(x, y)
    if kind.startswith("matrix"):
        scores = rng.integers(0, 3 if "ties" in kind else 10**6, (n, m)).astype(np.float64)
        scorer = Matrix(scores)
    requests = dense_requests(n, m, seed=len(kind))
    assert all(counting._many(r).any() for r in requests)
    rules = ("index", "optimistic", "pessimistic")
    check(scorer, {"i2t": scores, "t2i": scores.T}, requests, rules)
    for ties in TIES:
        ordered, counted = (count(scorer, requests, ties=ties, threads=2, dense=o) for o in (REFERENCE, None))
        for request in requests:
            one, other = (o[request.key] for o in (ordered, counted))
            assert one.rank.tolist() == other.rank.tolist() and one.tied.tolist() == other.tied.tolist()
            assert (one.groups is None) == (other.groups is None)
            for field in vars(one.groups or ()) if one.groups else ():
                assert np.array_equal(getattr(one.groups, field), getattr(other.groups, field)), field


@pytest.mark.parametrize(
    ("n", "m", "dim", "reach"), [(300, 700, 3, 2), (30, 1100, 2, 1), (600, 40, 4, 3), (257, 256, 9, 5)]
)
def test_wider_than_a_strip(n: int, m: int, dim: int, reach: int) -> None:
    world = tied_world(n, m, dim, reach, seed=n, positives=2)
    requests = [Targets("x", r) for r in world.judged.values()]
    rules = ("index", "optimistic", "pessimistic")  # enumerating the orders of a tie of hundreds takes too long
    for scorer in (Dot(world.images, world.captions), Matrix(world.scores("i2t"))):
        check(scorer, both(world), requests, rules)


def test_the_expected_rank_is_the_mean_over_all_orders() -> None:
    # The oracle enumerates sets of ranks; here every order of a tie is enumerated.
    for size, relevant in ((2, 1), (3, 2), (4, 2), (5, 3), (5, 5)):
        ranks = [sorted(order.index(item) + 1 for item in range(relevant)) for order in permutations(range(size))]
        mean = np.mean(ranks, axis=0)
        assert [float(r) for r in oracle.expected_ranks(size, relevant)] == pytest.approx(mean.tolist())
        scorer = Matrix(np.zeros((1, size), np.float32))
        judged = relevance("i2t", {0: range(size - relevant, size)})
        got = observe(scorer, [Targets("x", judged)], ties="mean-rank")["i2t"].ranks["x"]
        assert got.rank.tolist() == pytest.approx(mean.tolist())


def test_several_requests_in_one_pass_equal_single_requests() -> None:
    world = tied_world(60, 400, 3, 2, seed=1)
    other = tied_world(60, 400, 3, 2, seed=2)
    scorer = Dot(world.images, world.captions)
    kinds: list[tuple[str, Relevance, Candidates]] = []
    for w, name in ((world, "a"), (other, "b")):
        kinds += [(name, r, EVERYTHING) for r in w.judged.values()]
    all_ranks = observe(scorer, [Targets(*k) for k in kinds])
    for name, judged, candidates in kinds:
        single = observe(scorer, [Targets(name, judged, candidates)])
        one, several = single[judged.direction].ranks[name], all_ranks[judged.direction].ranks[name]
        assert one.rank.tolist() == several.rank.tolist()
        assert one.tied.tolist() == several.tied.tolist()


def test_excluded_items_of_queries_that_are_ordered_alone() -> None:
    """One query has many relevant items and an exclusion, the other one neither."""
    scores = np.random.default_rng(0).permutation(200).reshape(2, 100).astype(np.float64)
    targets = Targets(
        "x", relevance("i2t", {0: range(70), 1: [3]}), Candidates(excluded=relevance("i2t", {0: [80]}, name="e"))
    )
    check(Matrix(scores), {"i2t": scores, "t2i": scores.T}, [targets])
