"""Candidates of every query: ranks and lists among some items, against rankings by sorting of these items alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from tests.messages import Refuses
from tests.worlds import World, relevance, stored, tied_world, worlds
from vsebench.errors import UsageError
from vsebench.metrics import parse
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, Matrix, System
from vsebench.rank.ties import TIES
from vsebench.types import BOTH, EVERYTHING, Both, Candidates, Observation, Relevance

KINDS = ["random", "one", "none", "all"]
METRICS = ["R@1", "R@3", "Recall@2", "R-P", "mAP@R"]  # with a value if no positive can be retrieved


def some_items(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> dict[int, list[int]]:
    """Query -> items in any order, some of them twice."""
    n, m = shape
    size = {"random": rng.integers(0, m + 2, n), "one": np.ones(n), "none": np.zeros(n), "all": np.full(n, m)}[kind]
    if kind == "random":
        return {q: rng.integers(0, m, int(k)).tolist() for q, k in enumerate(size)}
    return {q: rng.permutation(m)[: int(k)].tolist() for q, k in enumerate(size)}


@st.composite
def cases(draw: st.DrawFn) -> tuple[World, Both[Candidates]]:
    """Allowed items of every kind, with or without folds and excluded items; positives lie in the fold of a query."""
    world = draw(worlds())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    folded, without, kind = draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([*KINDS, "no limit"]))
    folds = [np.sort(rng.integers(0, 2, n)) for n in world.scores[0].shape]
    judged, found = list(world.judged), []
    for side in BOTH:
        shape = world.scores[side].shape
        allowed = None if kind == "no limit" else stored(some_items(kind, shape, rng), shape)
        excluded = stored({q: rng.integers(0, shape[1], q % 3) for q in range(shape[0])}, shape) if without else None
        fold = (folds[side], folds[1 - side]) if folded else None
        found.append(Candidates(fold, excluded, allowed))
        if fold is not None:
            inside = {
                q: [g for g in items if fold[0][q] == fold[1][g]] for q, items in oracle.positives(judged[side]).items()
            }
            judged[side] = relevance(inside, {q: 1 for q in inside})
    return replace(world, judged=(judged[0], judged[1])), (found[0], found[1])


def expected(judged: Relevance, among: Candidates, gallery: int) -> Relevance:
    """Excluded positives are none, those that are not allowed are missing; a query without any is in ``without``."""
    items, missing, without = {}, {}, []
    for i, (q, own) in enumerate(oracle.positives(judged).items()):
        out = set() if among.excluded is None else oracle.entries(among.excluded, q)
        positive = [g for g in own if g not in out]
        items[q] = [g for g in positive if g in oracle.candidates_of(q, gallery, among)]
        missing[q] = int(judged.missing[i]) + len(positive) - len(items[q])
        without += [q] if not items[q] and not missing[q] else []
    return replace(relevance(items, missing), without=np.array(without, np.int64))


def check(system: System, world: World, among: Both[Candidates], **options: Any) -> None:
    """Judgements, ranks under every tie rule, values and lists are those of the oracle."""
    targets = [[Targets("x", *one), Targets("y", one[0])] for one in zip(world.judged, among, strict=True)]
    for ties in TIES:
        depth = (3, 100) if ties == "index" else (0, 0)
        observed = observe(system, (targets[0], targets[1]), ties=ties, depth=depth, among=among, **options)
        for side in BOTH:
            scores, found, own = world.scores[side], observed[side], among[side]
            gallery, ranks = scores.shape[1], observed[side].ranks["x"]
            want = expected(world.judged[side], own, gallery)
            for name, numbers in vars(want).items():
                assert name == "name" or np.array_equal(getattr(ranks.relevance, name), numbers), name
            assert ranks.relevance.unreachable == want.missing.sum() and ranks.depth is None
            assert ranks.rank.tolist() == oracle.ranks(scores, want, own, ties)
            assert ranks.tied.tolist() == oracle.tied(scores, want, own)
            for end, rule in zip(ranks.extremes or (), ("optimistic", "pessimistic"), strict=False):
                assert end.tolist() == oracle.ranks(scores, want, own, rule)
            assert found.ranks["y"].rank.tolist() == oracle.ranks(scores, world.judged[side], EVERYTHING, ties)
            if ties == "index":
                check_lists(found, scores, own, depth[side])
            if ties != "expected" and own.fold is None and len(want.queries):
                for name in METRICS:
                    stem, at, k = name.partition("@")
                    key = (stem + at, int(k)) if k.isdigit() else (name, 0)
                    value = parse(name).per_query(ranks).mean()
                    assert value == pytest.approx(oracle.value(*key, scores, want, own, ties)), name


def check_lists(found: Observation, scores: oracle.Scores, among: Candidates, depth: int) -> None:
    assert found.top is not None and found.top.ties is not None
    for q, row in enumerate(scores.tolist()):
        best = oracle.ordering(row, oracle.candidates_of(q, len(row), among), set())[:depth]
        part = slice(*found.top.start[q : q + 2])
        assert found.top.of_query(q).tolist() == best
        assert found.top.ties[part].tolist() == [i > 0 and row[g] == row[best[i - 1]] for i, g in enumerate(best)]
        if among.allowed is not None:
            assert found.top.scored[part].tolist() == [row[g] for g in best]  # type: ignore[index]


@given(cases())
def test_every_kind(case: tuple[World, Both[Candidates]]) -> None:
    world, among = case
    check(world.system, world, among, threads=1)


@given(cases())
def test_every_kind_of_a_matrix(case: tuple[World, Both[Candidates]]) -> None:
    world, among = case
    check(System(Matrix(world.scores[0])), world, among, threads=1)


@pytest.mark.parametrize("kind", [*KINDS, "no limit"])
def test_a_larger_world(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several blocks and threads; a query has up to 70 positives, so that queries are ordered and counted."""
    monkeypatch.setattr(ordering, "BATCH_PAIRS", 1 << 10)
    rng, world = np.random.default_rng(len(kind)), tied_world(90, 200, 3, 2, seed=4, positives=70)
    among = []
    for side in BOTH:
        shape = world.scores[side].shape
        allowed = None if kind == "no limit" else stored(some_items(kind, shape, rng), shape)
        excluded = stored({q: rng.permutation(shape[1])[: q % 90] for q in range(shape[0])}, shape)
        among.append(Candidates(None, excluded, allowed))
    for system in (world.system, System(Matrix(world.scores[0]), Matrix(world.scores[1].copy()))):
        check(system, world, (among[0], among[1]), threads=3)


@pytest.mark.parametrize("scorer_of", ["dot", "cosine", "float64"])
def test_all_items_as_allowed_ones_change_nothing(scorer_of: str, rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal((n, 12)).astype(np.float32) for n in (40, 150))
    system = System(Matrix(rng.standard_normal((40, 150))) if scorer_of == "float64" else Dot(x, y, scorer_of != "dot"))
    judged = [relevance({q: rng.permutation(m)[:3] for q in range(n)}) for n, m in ((40, 150), (150, 40))]
    every = [Candidates(allowed=stored({q: range(m) for q in range(n)}, (n, m))) for n, m in ((40, 150), (150, 40))]
    rows, columns = ([Targets("x", r, c)] for r, c in zip(judged, every, strict=True))
    found = observe(system, (rows, columns), depth=(150, 7), among=(every[0], every[1]))
    wanted = observe(system, ([Targets("x", judged[0])], [Targets("x", judged[1])]), depth=(150, 7))
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one.ranks["x"].rank, other.ranks["x"].rank)
        assert one.top is not None and other.top is not None
        for name in ("start", "entries", "ties", "scores"):
            mine, theirs = getattr(one.top, name), getattr(other.top, name)
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), name


def test_a_reference_that_is_left_out_and_a_subset() -> None:
    """As CIRR is measured: the reference is item 0, the subset its other five members, the target item 3."""
    scores = np.array([[0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1]])  # reference, m2, another item, m1, m3, m4, m5
    judged, reference = relevance({0: [3]}), stored({0: [0]}, (1, 7))
    kinds = {
        "gallery": EVERYTHING,
        "without the reference": Candidates(excluded=reference),
        "subset": Candidates(excluded=reference, allowed=stored({0: [0, 1, 3, 4, 5, 6]}, (1, 7))),
    }
    rows = [Targets(name, judged, among) for name, among in kinds.items()]
    found = observe(System(Matrix(scores)), (rows, []), depth=(3, 0), among=(kinds["subset"], EVERYTHING))[0]
    assert [ranks.rank.tolist() for ranks in found.ranks.values()] == [[4], [3], [2]]
    hits = {f"R@{k}": parse(f"R@{k}").per_query(found.ranks["subset"]).tolist() for k in (1, 2, 3)}
    assert hits == {"R@1": [0], "R@2": [1], "R@3": [1]}
    assert found.top is not None and found.top.entries.tolist() == [1, 3, 4]


def test_candidates_of_another_size_are_refused(refuses: Refuses) -> None:
    judged, system = relevance({0: [1], 2: [2]}), System(Matrix(np.eye(3)))
    wrong = Candidates(allowed=stored({0: [1]}, (3, 4)))
    refuses(UsageError, observe, system, ([Targets("x", judged, wrong)], []))
    refuses(UsageError, observe, system, ([], [Targets("x", judged, Candidates(fold=(np.arange(3), np.arange(2))))]))
    refuses(UsageError, observe, system, ([], []), among=(EVERYTHING, wrong))
    refuses(UsageError, Targets, "x", judged, Candidates(excluded=stored({}, (2, 3))))


def test_the_given_array_is_not_changed() -> None:
    given = stored({0: [2, 0, 2], 1: [1]}, (2, 3))
    before = [x.copy() for x in (given.data, given.indices, given.indptr)]
    among = Candidates(allowed=given)
    assert among.allowed is not None and among.allowed.indices.tolist() == [0, 2, 1] and among.allowed.data.all()
    assert all(map(np.array_equal, before, (given.data, given.indices, given.indptr)))
    some = among.take(np.array([1, 0]), slice(1, 3))
    assert some.allowed is not None and some.allowed.toarray().tolist() == [[True, False], [False, True]]


def test_excluded_items_of_another_fold_are_not_subtracted() -> None:
    fold = np.array([0, 0, 1, 1])
    among = Candidates((np.zeros(1, np.int64), fold), stored({0: [2, 3]}, (1, 4)))
    for scores in ([0.1, 0.5, 0.9, 0.8], [0.5, 0.1, 0.9, 0.8]):
        system = System(Matrix(np.array([scores])))
        found, _ = observe(system, ([Targets("x", relevance({0: [0]}), among)], []))
        assert found.ranks["x"].rank.tolist() == [1 + (scores[1] > scores[0])]
