"""Values of graded metrics: equal to loops over single queries, for any block size and number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_graded
from tests.graded_worlds import FakeGains, check, graded_worlds, large_world, measured, run, same_found
from tests.messages import Refuses
from tests.worlds import tied_world
from vsebench.errors import BadInput, UsageError
from vsebench.metrics import metric, parse
from vsebench.metrics.declare import Option
from vsebench.rank.order import top_lists
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import TestSet, Tops, Which

NAMES = (
    "CS@3", "CS@2", "CS[captions=all]@4", "CS[tau=a]@3", "CS[tau=c,captions=all,gt=out]@5", "Kendall",
    "Kendall[tau=b,gt=out]", "NCS@1", "NCS@3", "NCS[gt=out]@2", "NCS[gt=out]@3", "SR[m=2]@3",
    "SR[m=3,gt=out]@2", "SR[m=2,unit=image]@3", "SR[m=1,unit=image,gt=out]@4", "R[m=2]@2", "R[m=2,unit=image]@3",
    "nDCG@3", "nDCG[gt=out]@2", "nDCG[captions=first]@9",
)  # fmt: skip
FOLDED = ("CS[on=folds]@3", "NCS[on=folds]@2", "Kendall[on=block]", "SR[m=2,unit=image,on=folds]@3", "nDCG[on=block]@2")


def no_candidates(world: oracle_graded.World) -> bool:
    """Whether queries have no candidates without their ground truth; the oracle divides by their number."""
    return len(world.split.rows.ids) < 2


@given(graded_worlds(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
def test_small_worlds_full_of_ties(world: oracle_graded.World, names: list[str]) -> None:
    if no_candidates(world):
        names = [n for n in names if "gt=out" not in n] or ["NCS@1"]
    check(world, *names)


@given(graded_worlds(), st.lists(st.sampled_from(FOLDED), min_size=1, max_size=5, unique=True))
def test_small_worlds_in_folds(world: oracle_graded.World, names: list[str]) -> None:
    check(world, *names)


@given(graded_worlds(lowest=-4), st.sampled_from(["CS[captions=all]@5", "Kendall", "SR[m=2]@3", "R[m=1,gt=in]@2"]))
def test_negative_gains(world: oracle_graded.World, name: str) -> None:
    check(world, name)


@given(graded_worlds(lowest=1), st.integers(1, 9))
def test_label_distance(world: oracle_graded.World, k: int) -> None:
    check(world, f"wmd:MLD@{k}")


def test_all_metrics_of_a_larger_world() -> None:
    check(large_world(60, 3, seed=1), *NAMES, *FOLDED, "CS[captions=all]@100", "NCS@150", "SR[m=70]@80", threads=2)


@pytest.mark.parametrize("scorer_of", ["dot", "cosine", "float32", "float64"])
def test_blocks_and_threads_change_nothing(scorer_of: str) -> None:
    world = large_world(90, 4, seed=2)
    n, m = world.scores.shape
    vectors = tied_world(n, m, 6, 40, seed=3)
    scorers: dict[str, Scorer] = {
        "dot": vectors.system.forward,
        "cosine": Dot(vectors.images, vectors.captions, cosine=True),
        "float32": Matrix(world.scores.astype(np.float32)),
        "float64": Matrix(world.scores),
    }
    system = System(scorers[scorer_of], scorers["dot"].T if scorer_of == "float32" else None)
    metrics = [parse(name) for name in (*NAMES, *FOLDED)]
    gains = {"cider": FakeGains(world.gains)}
    default = run(system, world.split, metrics, gains, threads=1)
    for block, threads in ((1, 2), (7, 3), (89, 1), (10**6, 2), (None, 5)):
        same_found(default, run(system, world.split, metrics, gains, threads=threads, block=block))
    # The other metrics of a run do not change a metric.
    for one in metrics:
        alone = run(system, world.split, [one], gains, threads=1)
        for key, values in alone.items():
            assert np.array_equal(values.values, default[key].values, equal_nan=True), str(one)


def lists_of(system: System, depth: int) -> dict[Which, Tops]:
    rows, columns = (top_lists(scorer, depth, threads=1) for scorer in system.both)
    return {0: rows, 1: columns}


def test_lists_that_are_deep_enough_give_the_same() -> None:
    world = large_world(50, 3, seed=5)
    rng = np.random.default_rng(5)
    world.scores[:] = rng.permutation(world.scores.size).reshape(world.scores.shape)
    metrics = [parse(name) for name in (*NAMES, *FOLDED)]
    gains = {"cider": FakeGains(world.gains)}
    system, test = System(Matrix(world.scores)), world.split
    same_found(run(system, test, metrics, gains), run(lists_of(system, 10**6), test, metrics, gains))
    shallow = [parse(name) for name in ("NCS@3", "CS[captions=all]@6", "NCS[gt=out]@2", "SR[m=4]@5")]
    same_found(run(system, test, shallow, gains), run(lists_of(system, 7), test, shallow, gains))


def test_values_have_their_queries_and_folds() -> None:
    world = large_world(20, 3, seed=6)
    found = measured(world, "CS@3", "NCS@2", "NCS[on=folds]@2", "NCS[on=block]@2")
    first = found[parse("CS@3"), 1]
    assert first.index.tolist() == np.unique(world.split.image_of, return_index=True)[1].tolist()
    assert first.gallery == 20
    assert found[parse("NCS@2"), 0].gallery == len(world.split.columns.ids)
    folds = found[parse("NCS[on=folds]@2"), 1]
    fold = np.concatenate([np.full(len(r.queries), r.fold) for r in folds.rankings])
    assert fold.tolist() == world.split.folds[1].tolist()  # type: ignore[union-attr]
    assert folds.mean == pytest.approx(np.mean([folds.values[fold == f].mean() for f in range(4)]))
    block = found[parse("NCS[on=block]@2"), 0]
    assert block.index.tolist() == [0, 1, 2, 3, 4] and block.gallery == int((fold == 0).sum())
    assert np.array_equal(block.values, found[parse("NCS[on=folds]@2"), 0].values[:5])


def test_coco_1k_is_its_folds() -> None:
    world = large_world(20, 3, seed=7)
    split = world.split
    declared = TestSet.captioned(
        "coco-1k", split.rows.ids, split.columns.ids, split.image_of, fold=split.row_folds, in_folds=True
    )
    coco_1k = measured(oracle_graded.World(declared, world.scores, world.gains), "NCS@2")[parse("NCS@2"), 1]
    folds = measured(world, "NCS[on=folds]@2")[parse("NCS[on=folds]@2"), 1]
    assert np.array_equal(coco_1k.values, folds.values) and coco_1k.mean == folds.mean


def test_undefined_queries_are_left_out_and_counted() -> None:
    world = large_world(20, 3, seed=8)
    world.gains[4] = 0.5
    world.gains[7] = 0
    found = measured(world, "CS[captions=all]@10", "NCS@5", "nDCG@5")
    cs, ncs, ndcg = (found[parse(n), 0] for n in ("CS[captions=all]@10", "NCS@5", "nDCG@5"))
    assert np.flatnonzero(np.isnan(cs.values)).tolist() == [4, 7] and cs.undefined == 2
    assert cs.mean == pytest.approx(np.nanmean(cs.values))
    assert ncs.values[4] == 1.0 and ncs.values[7] == 0.0 and ncs.undefined == 0  # a row of zeros scores 0 and stays
    assert ndcg.values[7] == 0.0 and ndcg.values[4] == 1.0 and ndcg.undefined == 0


ZERO_RULE = ("NCS@3", "nDCG@3", "SR[m=2]@3", "SR[m=2,unit=image]@3", "R[m=2]@3", "R[m=2,unit=image]@3")


@pytest.mark.parametrize("gt", ["in", "out"])
def test_one_rule_for_queries_whose_gains_are_all_zero(gt: str) -> None:
    world = large_world(20, 3, seed=8)
    own = np.flatnonzero(world.split.image_of == 7)
    world.gains[7] = world.gains[:, own] = 0
    if gt == "out":
        world.gains[7, own] = 1.0  # no candidate
    names = [n.replace("[", "[gt=out,").replace("@3", "[gt=out]@3" if "[" not in n else "@3") for n in ZERO_RULE]
    names = list(ZERO_RULE) if gt == "in" else names
    found = measured(world, *names, f"CS[captions=all,gt={gt}]@5", f"CS[captions=all,tau=a,gt={gt}]@5")
    for m in map(parse, names):
        for got, queries in ((found[m, 0], [7]), (found[m, 1], own.tolist())):
            assert got.undefined == 0 and (got.values[queries] == 0).all() and (got.values > 0).any()
    tau_b, tau_a = (found[parse(f"CS[captions=all,{tau}gt={gt}]@5"), 0] for tau in ("", "tau=a,"))
    assert np.isnan(tau_b.values[7]) and tau_a.values[7] == 0


@pytest.mark.parametrize("largest", [0.0, -0.25])
def test_no_gain_of_zero_or_below_is_a_positive(largest: float) -> None:
    world = large_world(20, 3, seed=8)
    world.gains[7] = -np.abs(world.gains[7]) - 0.5
    world.gains[7, np.argmax(world.scores[7])] = largest
    found = measured(world, "SR[m=1]@1", "R[m=1]@1")
    assert [found[parse(n), 0].values[7] for n in ("SR[m=1]@1", "R[m=1]@1")] == [0, 0]


def test_fewer_positives_than_m() -> None:
    world = large_world(20, 3, seed=8)
    ranked = np.argsort(-world.scores[7], kind="stable")
    world.gains[7] = 0
    world.gains[7, ranked[[0, 30]]] = 0.5
    found = measured(world, "SR[m=5]@5", "R[m=5]@1", "R[m=5]@40", "SR[m=5]@40")
    assert [found[parse(n), 0].values[7] for n in ("SR[m=5]@5", "R[m=5]@1", "SR[m=5]@40")] == [0.5, 1, 1]


def test_without_any_candidate_there_is_no_value() -> None:
    split = TestSet.captioned("custom", np.arange(1), np.arange(2), np.zeros(2, np.int64))
    world = oracle_graded.World(split, np.ones((1, 2)), np.ones((1, 2)))
    names = [f"{stem}[gt=out]@1" for stem in ("NCS", "nDCG", "SR", "R", "MLD")]
    for got in measured(world, *(f"cider:{n}" for n in names)).values():
        assert np.isnan(got.values).all()


def test_a_k_beyond_the_gallery_is_cut() -> None:
    world = large_world(12, 2, seed=9)
    found = measured(world, "CS@12", "CS@4000", "NCS@10000000", "SR[m=3]@9999", "nDCG@77")
    assert np.array_equal(found[parse("CS@12"), 0].values, found[parse("CS@4000"), 0].values)
    assert found[parse("CS@4000"), 0].gallery == 12
    assert (found[parse("NCS@10000000"), 1].values == 1).all()
    assert (found[parse("SR[m=3]@9999"), 1].values == 1).all()


def test_progress_ends_at_the_number_of_blocks() -> None:
    world = large_world(30, 2, seed=10)
    calls: list[tuple[int, int]] = []
    measured(world, "CS@5", "NCS@3", threads=2, block=7, progress=lambda done, n: calls.append((done, n)))
    assert sorted(calls) == [(i + 1, len(calls)) for i in range(len(calls))]


def refused_run(name: str, view: str = "cider", gain: float | None = None, folds: bool = True) -> object:
    """A run of one metric, whose gains have a number."""
    world = large_world(9, 2, seed=11)
    split = world.split if folds else TestSet.captioned("custom", np.arange(9), np.arange(21), world.split.image_of)
    if gain is not None:
        world.gains[(2, 5) if gain < 0 else ...] = gain
    return run(System(Matrix(world.scores)), split, [parse(name)], {view: FakeGains(world.gains)})


REFUSED: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "a metric of positives": (UsageError, {"name": "R@1"}),
    "no folds": (UsageError, {"name": "NCS[on=folds]@1", "folds": False}),
    **{f"below 0 of {name}": (BadInput, {"name": f"{name}@21", "gain": -0.25}) for name in ("NCS", "nDCG", "MLD")},
    "no distances, 0": (BadInput, {"name": "wmd:MLD@3", "view": "wmd", "gain": 0.0}),
    "no distances, 1.5": (BadInput, {"name": "wmd:MLD@3", "view": "wmd", "gain": 1.5}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, refuses: Refuses) -> None:
    error, given = REFUSED[case]
    refuses(error, refused_run, **given)


# What a block of queries computes for its metrics.


@pytest.mark.parametrize("images", [20, 100, 200])
@pytest.mark.parametrize(
    "names", [("Kendall",), ("CS@1000", "nDCG@10"), ("Kendall", "SR[m=2]@5", "CS@100", "nDCG@300")]
)
def test_gains_are_made_once(images: int, names: tuple[str, ...]) -> None:
    """Also where metrics read the complete ranking of a small gallery."""
    made: list[int] = []

    class Counted(FakeGains):
        def rows(self, start: int, stop: int) -> Any:
            found = super().rows(start, stop)
            made.append(found.size)
            return found

    rng = np.random.default_rng(images)
    one = np.arange(images)
    dot = System(Dot(*(rng.normal(size=(images, 8)).astype(np.float32) for _ in range(2))))
    gains = {"cider": Counted(rng.random((images, images)))}
    run(dot, TestSet.captioned("custom", one, one, one), [parse(name) for name in names], gains)
    assert sum(made) <= 2 * images**2


@pytest.mark.usefixtures("new_metrics")
def test_a_metric_may_read_the_gain_order_and_the_pseudo_positives(refuses: Refuses) -> None:
    """A new metric gets the fields it reads, and its lowest gain is checked whatever it reads."""

    def both(gain_order: Any, pseudo_positive: Any, ks: Any) -> Any:
        assert (np.sort(gain_order.items, axis=1) < pseudo_positive.shape[1]).all()
        return np.stack([pseudo_positive[:, :k].sum(1) for k in ks], 1)

    def ideal_alone(ideal: Any, ks: Any) -> Any:
        return np.stack([ideal[:, :k].sum(1) for k in ks], 1)

    facts: dict[str, Any] = {"formula": "x", "cite": (), "ks": (5,)}
    metric("Both@{k}", options={"m": Option(("5",), "x", number=True)}, **facts)(both)
    metric("IdealAlone@{k}", lowest_gain=0.0, **facts)(ideal_alone)
    rng = np.random.default_rng(1)
    one = np.arange(300)
    test = TestSet.captioned("custom", one, one, one)
    dot = System(Dot(*(rng.normal(size=(300, 8)).astype(np.float32) for _ in range(2))))
    gains = {"cider": FakeGains(rng.normal(size=(300, 300)))}
    found = run(dot, test, [parse("cider:Both@5"), parse("SR[m=5]@5")], gains)
    assert all(np.isfinite(v.values).all() for v in found.values())
    refuses(BadInput, run, dot, test, [parse("cider:IdealAlone@5")], gains)
