"""Graded metrics among the candidates of every query, against loops over the scores and gains of these alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracle_graded
from tests.graded.test_engine import FOLDED, NAMES
from tests.graded.test_expected import GRADED, mean_over_orders, small_worlds
from tests.graded_worlds import FakeGains, check, graded_worlds, large_world, measured, run, same_found, vector_world
from tests.worlds import canonical, stored
from vsebench.metrics import parse
from vsebench.rank import order as ordering
from vsebench.rank.scorers import Matrix, System
from vsebench.types import BOTH, EVERYTHING, Candidates

MORE = ("R[m=2,gt=out]@3", "SR[m=2,unit=image,on=folds]@4", "Kendall[captions=first]", "NCS[captions=first,gt=out]@3")


def restricted(world: oracle_graded.World, kind: str, seed: int, without: bool, folded: bool) -> oracle_graded.World:
    """Random allowed items (or one of a query, none, all, no limit), excluded ones, and folds of their own."""
    rng, found = np.random.default_rng(seed), []
    n, m = world.scores.shape
    folds = [np.sort(rng.integers(0, 2, size)) for size in (n, m)]
    for side, shape in ((0, (n, m)), (1, (m, n))):
        few = {"random": rng.random(shape) < rng.random((shape[0], 1)), "none": np.zeros(shape), "all": np.ones(shape)}
        few["one"] = np.arange(shape[1]) == rng.integers(0, shape[1], (shape[0], 1))
        rows = {q: np.flatnonzero(row) for q, row in enumerate(few.get(kind, few["all"]))}
        allowed = None if kind == "no limit" else stored(rows, shape)
        excluded = stored({q: rng.integers(0, shape[1], q % 4) for q in range(shape[0])}, shape) if without else None
        found.append(Candidates((folds[side], folds[1 - side]) if folded else None, excluded, allowed))
    return replace(world, candidates=(found[0], found[1]))


@given(
    graded_worlds(), st.lists(st.sampled_from((*NAMES, *FOLDED, *MORE)), min_size=1, max_size=5, unique=True),
    st.sampled_from(["random", "one", "none", "all", "no limit"]), st.integers(0, 2**32 - 1),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_small_worlds_full_of_ties(
    world: oracle_graded.World, names: list[str], kind: str, seed: int, without: bool, folded: bool
) -> None:
    check(restricted(world, kind, seed, without, folded), *names)


@settings(max_examples=20, deadline=None)
@given(small_worlds(), st.sampled_from(GRADED), st.sampled_from(["random", "no limit"]), st.integers(0, 99))
def test_means_over_all_orders_of_ties(world: oracle_graded.World, name: str, kind: str, seed: int) -> None:
    world.gains[world.gains == 0] = 0.125 if name.startswith("MLD") else 0
    world = restricted(world, kind, seed, True, seed % 2 > 0)
    for (m, side), got in measured(world, name, expected=True).items():
        want = mean_over_orders(world, m.name, side)
        assert got.index.tolist() == sorted(want)
        assert got.values.tolist() == pytest.approx([want[q] for q in sorted(want)], abs=1e-12, nan_ok=True)


@given(graded_worlds(lowest=1), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_label_distance(world: oracle_graded.World, k: int, seed: int) -> None:
    check(restricted(world, "random", seed, True, False), f"wmd:MLD@{k}")


@given(graded_worlds(lowest=-4), st.sampled_from(["CS[captions=all]@5", "Kendall", "SR[m=2]@3", "R[m=1]@2"]))
def test_negative_gains(world: oracle_graded.World, name: str) -> None:
    check(restricted(world, "random", 3, True, False), name)


@pytest.mark.parametrize(("kind", "without"), [("random", False), ("random", True), ("no limit", True)])
def test_all_metrics_of_a_larger_world(kind: str, without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "BATCH_PAIRS", 1 << 9)
    world = restricted(large_world(60, 3, seed=1), kind, 1, without, False)
    check(world, *NAMES, *FOLDED, *MORE, "CS[captions=all]@100", "NCS@150", "SR[m=70]@80", threads=2, block=13)


def test_vectors_and_their_scores_have_the_same_values() -> None:
    system, world = vector_world(cosine=True)
    world = restricted(world, "random", 5, True, False)
    metrics, gains = [parse(name) for name in (*NAMES, *FOLDED)], {"cider": FakeGains(world.gains)}
    of_vectors = run(system, world.split, metrics, gains, candidates=world.candidates)
    matrix = System(Matrix(canonical(system.forward)))
    same_found(of_vectors, run(matrix, world.split, metrics, gains, candidates=world.candidates, block=9, threads=2))


@pytest.mark.parametrize("expected", [False, True])
def test_all_items_as_allowed_ones_change_nothing(expected: bool) -> None:
    system, world = vector_world()
    names = [n for n in (*NAMES, *FOLDED) if not expected or parse(n).has_expectation]
    metrics, gains = [parse(name) for name in names], {"cider": FakeGains(world.gains)}
    every = restricted(world, "all", 0, False, False).candidates
    wanted = run(system, world.split, metrics, gains, expected=expected)
    same_found(run(system, world.split, metrics, gains, expected=expected, candidates=every), wanted)


def test_images_without_captions_are_among_all_candidates() -> None:
    """They take places among the images with the largest gains, with all items allowed as without a limit."""
    world = large_world(12, 2, seed=3)
    kept = np.flatnonzero(world.split.image_of % 3 > 0)
    split = replace(
        world.split, columns=world.split.columns.take(kept), image_of=world.split.image_of[kept], folds=None
    )  # type: ignore[index]
    world = oracle_graded.World(split, world.scores[:, kept], world.gains[:, kept])
    found = [measured(w, "SR[m=3,unit=image]@5") for w in (world, restricted(world, "all", 0, False, False))]
    same_found(*found)


def test_no_influence_of_images_that_are_not_candidates_everywhere() -> None:
    world = large_world(20, 2, seed=6)
    rows = restricted(world, "random", 2, False, False).candidates[0]
    found = measured(replace(world, candidates=(rows, EVERYTHING)), "NCS@3", "Kendall", influence=True)
    assert [found[parse(n), side].influence is None for n in ("NCS@3", "Kendall") for side in BOTH] == [True, False] * 2


def test_queries_without_candidates_have_no_value() -> None:
    world = large_world(20, 2, seed=6)
    n, m = world.scores.shape
    rows = Candidates(allowed=stored({q: range(4) for q in range(1, n)}, (n, m)))
    found = measured(replace(world, candidates=(rows, EVERYTHING)), "NCS@3", "nDCG@3", "SR[m=2,unit=image]@2")
    for one in (found[parse(name), 0] for name in ("NCS@3", "nDCG@3", "SR[m=2,unit=image]@2")):
        assert np.flatnonzero(np.isnan(one.values)).tolist() == [0] and one.undefined == 1
