"""Parts of a scan and of graded rankings: joined in any order they have the bits of one pass over everything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle
from tests.graded.test_engine import FOLDED, NAMES
from tests.graded_worlds import FakeGains, graded_worlds, large_world, run, same_found, vector_world
from tests.worlds import World, own, relevance, same_fold, splits, stored, tied_world, worlds
from vsebench.evaluation.engines import counted, join, kept_by, kept_of, measured
from vsebench.graded.engine import Found as Measured
from vsebench.graded.engine import collect
from vsebench.graded.influence import Out
from vsebench.graded.rankings import plan, together
from vsebench.metrics import Metric, parse
from vsebench.rank.backends import ranker
from vsebench.rank.count import Counter, Scan, Targets, count, make_counters, scan_tiles
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import BOTH, EVERYTHING, Both, Candidates, Ranks, TestSet

Edges = list[tuple[int, int]]
Found = Both[dict[str, Ranks]]


def cut(n: int, seed: int, most: int = 5) -> Edges:
    """Random ranges that together are 0 to n, in a random order."""
    rng = np.random.default_rng(seed)
    inner = rng.choice(np.arange(1, n), min(n - 1, int(rng.integers(0, most))), replace=False) if n > 1 else []
    edges = list(itertools.pairwise([0, *sorted(int(x) for x in inner), n]))
    return [edges[i] for i in rng.permutation(len(edges))]


def in_parts(
    system: System, targets: Both[Sequence[Targets]], rows: Edges, columns: Edges, ties: str = "index",
    threads: int = 1, by: Scan = scan_tiles,
) -> Found:  # fmt: skip
    """The counts of every range of rows by itself, as in another process, and all of them joined.

    Where the directions have scores of their own, the rows of the second one are the columns.
    """

    def scan(scorer: Scorer, own: Sequence[Counter], others: Sequence[Counter], *_: object) -> None:
        first = scorer is system.forward
        served = targets if system.separate is None else (targets[0 if first else 1], ())
        for part in rows if first else columns:
            counters = make_counters(scorer, served[0], threads), make_counters(scorer.T, served[1], threads)
            join(kept_of(own, others, part), counted(by, scorer, counters, threads, part))

    return count(system, targets, ties=ties, threads=1, scan=scan, dense=None)


def same(one: Found, other: Found) -> None:
    for mine, others in zip(one, other, strict=True):
        assert mine.keys() == others.keys()
        for view, ranks in mine.items():
            assert np.array_equal(ranks.rank, others[view].rank) and np.array_equal(ranks.tied, others[view].tied)


@given(worlds(), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["index", "optimistic"]))
def test_a_scan_in_parts(world: World, seed: int, cosine: bool, ties: str) -> None:
    system = System(Dot(world.images, world.captions, cosine))
    n, m = system.forward.shape
    found = in_parts(system, world.targets, cut(n, seed), cut(m, seed + 1), ties)
    same(found, count(system, world.targets, ties=ties, threads=1))


@given(splits(), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_folds_and_matrices_in_parts(split: TestSet, seed: int, ordered: bool, two: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = len(split.rows.ids), len(split.columns.ids)
    orders = (rng.permutation(n), rng.permutation(m)) if ordered else (None, None)
    forward, other = (Matrix(rng.integers(0, 4, (n, m)).astype(np.float64), *orders) for _ in range(2))
    system = System(forward, other.T if two else None)
    rows, columns = (
        [Targets("1k", r, fold), Targets("gt", r)] for r, fold in zip(own(split), same_fold(split), strict=True)
    )
    same(in_parts(system, (rows, columns), cut(n, seed), cut(m, seed + 1)), count(system, (rows, columns), threads=1))


def test_excluded_and_allowed_items_in_parts() -> None:
    rng = np.random.default_rng(3)
    system = System(Matrix(rng.integers(0, 3, (9, 14)).astype(np.float32)))
    judged = [relevance({0: [1, 2], 7: [3]}), relevance({2: [8, 0], 13: [4]})]
    excluded = [stored({0: [5], 7: [4, 13]}, (9, 14)), stored({2: [3, 4]}, (14, 9))]
    allowed = [stored({0: [2, 5, 6]}, (9, 14)), stored({2: [0], 13: range(9)}, (14, 9))]
    rows, columns = (
        [Targets("x", r, Candidates(excluded=e)), Targets("y", r, Candidates(excluded=e, allowed=a)), Targets("z", r)]
        for r, e, a in zip(judged, excluded, allowed, strict=True)
    )
    images, captions = [(4, 9), (0, 1), (1, 4)], [(9, 14), (0, 3), (3, 9)]
    same(in_parts(system, (rows, columns), images, captions), count(system, (rows, columns)))


@pytest.mark.parametrize(("threads", "backend"), [(1, "numpy"), (3, "numpy"), (2, "torch:cpu")])
def test_a_larger_scan_in_parts(threads: int, backend: str) -> None:
    if backend != "numpy":
        pytest.importorskip("torch", reason="torch is not installed")
    world = tied_world(150, 700, 6, 2, seed=8)
    edges, by = (cut(150, 4, 9), cut(700, 5, 9)), ranker(backend).scan
    found = in_parts(world.system, world.targets, *edges, threads=threads, by=by)
    same(found, count(world.system, world.targets, threads=2))
    for ranks, scores, judged in zip(found, world.scores, world.judged, strict=True):
        assert ranks["x"].rank.tolist() == oracle.ranks(scores, judged, EVERYTHING, "index")


def in_ranges(
    system: System, test: TestSet, metrics: list[Metric], gains: dict[str, FakeGains], seed: int, **options: bool
) -> Measured:
    """Every part measured by itself, as in another process, and all of them joined."""

    shares = together(plan(metrics, test, BOTH, **options))
    parts = [
        (i, queries, measured(other, system.both[other[0].side], gains, 1, queries))
        for i, other in enumerate(shares)
        for queries in cut(len(other[0].queries), seed + i)
    ]
    rankings = plan(metrics, test, BOTH, **options)
    own, out = together(rankings), {ranking: Out(ranking) for ranking in rankings}
    for j in np.random.default_rng(seed).permutation(len(parts)):
        i, queries, arrays = parts[j]
        join(kept_by(own[i], out, queries), arrays)
    return collect(rankings, out)


@given(
    graded_worlds(), st.lists(st.sampled_from(NAMES + FOLDED), min_size=1, max_size=6, unique=True),
    st.integers(0, 2**32 - 9), st.booleans(),
)  # fmt: skip
def test_graded_metrics_in_parts(world: object, names: list[str], seed: int, influence: bool) -> None:
    scores, test, values = world.scores, world.split, world.gains  # type: ignore[attr-defined]
    metrics, gains = [parse(name) for name in names], {"cider": FakeGains(values)}
    system = System(Matrix(scores))
    expected = run(system, test, metrics, gains, threads=1, influence=influence)
    same_found(in_ranges(system, test, metrics, gains, seed, influence=influence), expected)


def test_graded_metrics_of_a_larger_world_in_parts() -> None:
    system, world = vector_world()
    metrics, gains = [parse(name) for name in (*NAMES, *FOLDED)], {"cider": FakeGains(world.gains)}
    for influence in (False, True):
        expected = run(system, world.split, metrics, gains, threads=2, influence=influence)
        same_found(in_ranges(system, world.split, metrics, gains, 11, influence=influence), expected)


def test_influences_that_are_too_large_in_any_part_are_left_out() -> None:
    world = large_world(24, 2, seed=7, lowest=1)
    values = np.minimum(world.gains, 1) / np.where(np.arange(world.gains.shape[1]) == 3, 1e7, 1)
    metrics, gains = [parse("wmd:MLD@3"), parse("wmd:CS@3")], {"wmd": FakeGains(values, "wmd")}
    system = System(Matrix(world.scores))
    expected = run(system, world.split, metrics, gains, threads=1, influence=True)
    same_found(in_ranges(system, world.split, metrics, gains, 2, influence=True), expected)
    assert {(m.template, found.influence is None) for (m, _), found in expected.items()} >= {("MLD@{k}", True)}
    assert any(found.influence is not None for found in expected.values())
