"""What metrics read of ranks, ranks from retrieved lists, and what the ranking refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests import oracle
from tests.graded_worlds import same_values, vector_world
from tests.messages import Refuses
from tests.worlds import World, own, relevance, same_fold, splits, stored, tied_world, worlds
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.numeric.parallel import default_threads
from vsebench.rank import backends
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, Matrix, System, choose, rows_of
from vsebench.rank.tops import place
from vsebench.rank.tops import ranks as ranks_of_lists
from vsebench.types import NO_INDICES, UNRANKED, Candidates, Embeddings, Ranks, Tops


def ranks_of(rows: dict[int, dict[int, int]], missing: dict[int, int] | None = None) -> Ranks:
    """Ranks from query -> {item: rank}."""
    judged = relevance(rows, missing)
    rank = [rows[q][g] for q, items in oracle.positives(judged).items() for g in items]
    return Ranks(judged, np.array(rank, np.int64), np.zeros(len(rank), bool))


def test_best_within_ordered() -> None:
    ranks = ranks_of({0: {4: 7, 5: 2, 9: 3}, 3: {1: 1}, 8: {2: 5, 3: 4}}, {3: 2, 9: 1})
    assert ranks.relevance.queries.tolist() == [0, 3, 8, 9]
    assert ranks.relevance.size.tolist() == [3, 3, 2, 1]
    assert ranks.relevance.unreachable == 3
    assert ranks.best().tolist() == [2, 1, 4, UNRANKED]
    assert ranks.within(3).tolist() == [2, 1, 0, 0]
    assert ranks.within(ranks.relevance.size).tolist() == [2, 1, 0, 0]
    rank, place = ranks.ordered()
    assert rank.tolist() == [2, 3, 7, 1, 4, 5]
    assert place.tolist() == [1, 2, 3, 1, 1, 2]


@given(worlds(), st.integers(1, 12))
def test_complete_lists_give_the_ranks_of_the_scores(world: World, k: int) -> None:
    n, m = world.scores[0].shape
    for seen, judged in zip(observe(world.system, world.targets, depth=(m, n)), world.judged, strict=True):
        direct, top = seen.ranks["x"], seen.top
        assert top is not None
        complete = ranks_of_lists(top, judged)
        assert complete.rank.tolist() == direct.rank.tolist()
        assert complete.depth is not None and (complete.depth == top.gallery).all()
        cut = ranks_of_lists(top.cut(k), judged)
        assert cut.rank.tolist() == [r if r <= k else UNRANKED for r in direct.rank.tolist()]
        assert cut.depth is not None and (cut.depth == min(k, top.gallery)).all()


@given(splits(), st.integers(0, 2**32 - 1))
def test_a_fold_is_filtered_from_complete_lists(split, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    n, m = len(split.rows.ids), len(split.columns.ids)
    rows, columns = ([Targets("1k", *t)] for t in zip(own(split), same_fold(split), strict=True))
    system = System(Matrix(rng.integers(0, 5, (n, m)).astype(np.float64)))
    for seen, (t,) in zip(observe(system, (rows, columns), depth=(m, n)), (rows, columns), strict=True):
        assert seen.top is not None
        got, want = ranks_of_lists(seen.top, t.relevance, t.candidates), seen.ranks["1k"]
        assert got.rank.tolist() == want.rank.tolist()
        assert got.fold is not None and want.fold is not None and got.fold.tolist() == want.fold.tolist()


def test_a_query_without_a_list_has_an_empty_one() -> None:
    judged = relevance({0: [1], 2: [0, 3]})
    ranks = ranks_of_lists(Tops.ragged([NO_INDICES, NO_INDICES, np.array([3, 1])], 4), judged)
    assert ranks.rank.tolist() == [UNRANKED, UNRANKED, 1]
    assert ranks.depth is not None and ranks.depth.tolist() == [0, 2]


def test_ties_of_lists_and_items_that_are_no_candidates() -> None:
    """The items 5 and 2 tie, 2 and 4 do not; without item 2 the items 5 and 4 do not tie."""
    lists = Tops.ragged([np.array([7, 5, 2, 4, 6])], 8, [np.array([False, False, True, False, True])])
    judged = relevance({0: [1, 2, 5, 6]})
    found = {ties: ranks_of_lists(lists, judged, ties=ties).rank.tolist() for ties in ("optimistic", "pessimistic")}
    assert found == {"optimistic": [UNRANKED, 2, 3, 4], "pessimistic": [UNRANKED, 2, 3, 5]}
    without = Candidates(excluded=stored({0: [2, 7]}, (1, 8)))
    placed = place(lists, relevance({0: [4, 5, 6]}), without)
    assert placed.counts.tolist() == [[1, 0, 1], [0, 0, 1], [1, 0, 0]] and placed.depth.tolist() == [3]


@pytest.mark.parametrize(
    "rule",
    ["pesimistic", "zzz"],
)
def test_unknown_tie_rules_are_refused(rule: str, refuses: Refuses) -> None:
    refuses(UsageError, observe, System(Matrix(np.eye(2))), ([], []), ties=rule)


@pytest.mark.parametrize("length", [1e-20, 1e20])
def test_lengths_that_float32_cannot_multiply_are_refused(length: float, refuses: Refuses) -> None:
    refuses(BadInput, Dot, np.ones((2, 1), np.float32), np.array([[1.0], [length], [1.0]], np.float32))


def test_similarity_is_chosen_from_the_lengths() -> None:
    unit = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)

    def pair(scale: float) -> tuple[Embeddings, Embeddings]:
        return Embeddings("image", np.arange(2), unit * scale), Embeddings("caption", np.arange(2), unit)

    for scale, similarity, cosine, note in (
        (
            1.0,
            "auto",
            False,
            "vectors have unit length (lengths 1 to 1): compared by inner product, which is the cosine up to rounding",
        ),
        (1.0005, "auto", False, "vectors have unit length"),
        (
            2.0,
            "auto",
            True,
            "vectors do not have unit length (lengths 1 to 2): compared by cosine; "
            "similarity='dot' uses them as they are",
        ),
        (2.0, "dot", False, "inner product as requested (lengths 1 to 2)"),
        (1.0, "cosine", True, "cosine as requested"),
    ):
        scorer, decision = choose(*pair(scale), similarity)
        assert scorer.cosine is cosine
        assert scorer.name == ("cosine" if cosine else "dot")
        assert decision.startswith(note)


def test_threads_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    monkeypatch.setenv("VSEBENCH_NUM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("VSEBENCH_NUM_THREADS", "many")
    refuses(UsageError, default_threads)
    monkeypatch.delenv("VSEBENCH_NUM_THREADS")
    assert default_threads() >= 1


def test_progress_ends_at_the_end() -> None:
    world = tied_world(9, 50, 2, 1, seed=0)
    calls: list[tuple[int, int]] = []
    observe(world.system, world.targets, tile_shape=(4, 20), progress=lambda *found: calls.append(found))
    assert calls == [(i, 9) for i in range(1, 10)]  # three rows of tiles by three


@pytest.mark.parametrize("cosine", [False, True])
def test_float64_scores_are_those_of_the_exchanged_sides(cosine: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-2, 3, (n, 6)).astype(np.float32) + np.float32(0.1) for n in (12, 60))
    one, other = Dot(x, y, cosine).T, Dot(y, x, cosine)
    assert np.array_equal(rows_of(one, slice(None), wide=True), rows_of(other, slice(None), wide=True))


NAMES = ("cider:CS@30", "cider:CS[captions=all]@100", "cider:Kendall[gt=out]", "cider:NCS@5", "cider:SR[m=4]@3")


@pytest.mark.parametrize(
    "name", ["nmpy", "x", "numpy:cpu", "torch:gpu", "torch:", "torch:cuda:", "torch:cuda:x", "torch:cpu:0"]
)
def test_unknown_name(name: str, refuses: Refuses) -> None:
    refuses(UsageError, vb.evaluate, np.eye(3), np.eye(3), captions_per_image=1, backend=name)


def test_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    absent = dataclasses.replace(backends.BACKENDS["numpy"], module="no_such_module", install="gpu")
    monkeypatch.setitem(backends.BACKENDS, "numpy", absent)
    refuses(MissingPackage, vb.evaluate, np.eye(3), np.eye(3), captions_per_image=1, backend="numpy")


def test_orders_of_another_back_end_give_the_same_values() -> None:
    same_values(*vector_world(), NAMES, block=16, order=ordering.Order(ordering.order))
