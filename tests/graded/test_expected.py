"""``--ties expected``: the mean of a metric over all orders of tied items, against every order of small worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import vsebench
from tests import oracle, oracle_graded
from tests.graded_worlds import large_world, measured, spec_of
from tests.messages import Refuses
from tests.worlds import relevance, stored
from vsebench.errors import UsageError
from vsebench.metrics import families, parse
from vsebench.rank.count import Targets, count
from vsebench.rank.scorers import Matrix, System
from vsebench.types import EVERYTHING, Candidates, TestSet, Which

BINARY = ["R@1", "R@2", "R@4", "R@9", "Recall@1", "Recall@3", "P@2", "MeanR", "MRR", "MRR@2", "R-P", "mAP@R"]
GRADED = [
    "NCS@1", "NCS@3", "NCS[gt=out]@2", "nDCG@1", "nDCG@4", "nDCG[gt=out]@2", "SR[m=2]@1", "SR[m=2]@3",
    "SR[m=1,unit=image]@2", "SR[m=2,gt=out]@2", "R[m=2]@1", "R[m=3]@2", "R[m=2,gt=out]@1", "R[m=1,unit=image]@2",
    "nDCG[gain=exp]@2", "NCS[captions=first]@2", "NCS[on=folds]@2", "MLD@1", "MLD@3", "Kendall", "Kendall[tau=b]",
]  # fmt: skip


def orders(scores: Sequence[float], among: Sequence[int]) -> Iterator[list[int]]:
    """Every order of some items that puts higher scores first."""
    ranked = sorted(among, key=lambda g: -scores[g])
    ties = [list(group) for _, group in groupby(ranked, key=lambda g: scores[g])]
    for parts in product(*(permutations(tie) for tie in ties)):
        yield [g for part in parts for g in part]


@st.composite
def judged(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """(query, 6) scores with many ties, relevant items of some queries, and candidates of several kinds."""
    queries = draw(st.integers(1, 4))
    scores = draw(hnp.arrays(np.float32, (queries, 6), elements=st.sampled_from([0.0, 1.0, 2.0])))
    kind = draw(st.sampled_from(["all", "fold", "without", "allowed"]))
    allowed: dict[int, Any] = {q: range(6) for q in range(queries)}
    candidates: Any = EVERYTHING
    if kind == "fold":
        folds = np.sort(draw(hnp.arrays(np.int64, queries, elements=st.integers(0, 1))))
        candidates = Candidates(fold=(folds, np.array([0, 0, 0, 1, 1, 1])))
        allowed = {q: range(3 * f, 3 * f + 3) for q, f in enumerate(folds.tolist())}
    if kind == "without":
        candidates = Candidates(excluded=stored({q: [q] for q in range(queries)}, (queries, 6)))
        allowed = {q: [g for g in range(6) if g != q] for q in range(queries)}
    if kind == "allowed":
        allowed = {q: draw(st.sets(st.integers(0, 5), min_size=1)) for q in range(queries)}
        candidates = Candidates(allowed=stored(allowed, (queries, 6)))
    rows = {q: draw(st.lists(st.sampled_from(sorted(a)), min_size=1, unique=True)) for q, a in allowed.items()}
    missing = draw(st.dictionaries(st.integers(0, queries - 1), st.integers(0, 2)))
    return scores, relevance({q: sorted(r) for q, r in rows.items()}, missing), candidates


@settings(max_examples=60)
@given(judged())
def test_metrics_of_judgements_are_means_over_all_orders(case: tuple[Any, Any, Any]) -> None:
    scores, judgements, candidates = case
    targets = [Targets("x", judgements, candidates)]
    ranks = count(System(Matrix(scores)), (targets, []), ties="expected")[0]["x"]
    want: dict[str, list[float]] = {name: [] for name in BINARY}
    for i, (query, relevant) in enumerate(oracle.positives(judgements).items()):
        among = oracle.candidates_of(query, 6, candidates)
        every = list(orders(scores[query].tolist(), among))
        size = len(relevant) + int(judgements.missing[i])
        for name in BINARY:
            stem, at, k = name.partition("@")
            key, depth = (stem + at, int(k)) if k.isdigit() else (name, 0)
            each = [oracle.PER_QUERY[key](order, set(relevant), size, depth) for order in every]
            want[name].append(sum(each) / len(each))
    for name in BINARY:
        assert parse(name).per_query(ranks).tolist() == pytest.approx(want[name], abs=1e-12), name


@st.composite
def small_worlds(draw: st.DrawFn) -> oracle_graded.World:
    """Three images and five captions in two folds, scores with ties, gains of label distances or with rows of zeros."""
    image_of = np.array([0, 0, 1, 1, 2])
    split = TestSet.captioned("custom", np.arange(3), np.arange(5), image_of, fold=np.array([0, 0, 1]))
    scores = draw(hnp.arrays(np.float64, (3, 5), elements=st.sampled_from([0.0, 0.5, 1.0])))
    gains = draw(hnp.arrays(np.float64, (3, 5), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    return oracle_graded.World(split, scores, gains)


def mean_over_orders(world: oracle_graded.World, name: str, side: Which) -> dict[int, float]:
    """Query -> mean of the oracle's values over all orders of tied items; scores become places in an order."""
    spec = spec_of(parse(name))
    if spec.stem == "Kendall":
        return world.values(spec, side)  # pairs of equal scores are neither concordant nor discordant
    queries, items = world.items(oracle_graded.Spec(spec.stem), side, None)
    found: dict[int, float] = {}
    for query in queries:
        row = [world.pair(world.scores, side, query, g) for g in items]
        each = []
        for order in orders(row, items):
            untied = world.scores.copy()
            place = np.empty(len(items))
            place[order] = -np.arange(len(items))
            untied[(query, slice(None)) if side == 0 else (slice(None), query)] = place
            one = replace(world, scores=untied).values(spec, side)
            if query in one:
                each.append(one[query])
        if each:
            found[query] = sum(each) / len(each)
    return found


@settings(max_examples=20, deadline=None)
@given(small_worlds(), st.lists(st.sampled_from(GRADED), min_size=1, max_size=3, unique=True))
def test_metrics_of_gains_are_means_over_all_orders(world: oracle_graded.World, names: list[str]) -> None:
    if "nDCG[gain=exp]@2" in names:
        names, world.gains = ["nDCG[gain=exp]@2"], np.ceil(4 * world.gains)
    if any(n.startswith("MLD") for n in names):
        world.gains[world.gains == 0] = 0.125  # a gain of 0 is not that of a label distance
    for (m, side), got in measured(world, *names, expected=True).items():
        want = mean_over_orders(world, m.name, side)
        assert got.index.tolist() == sorted(want)
        assert got.values.tolist() == pytest.approx([want[q] for q in sorted(want)], abs=1e-12, nan_ok=True), str(m)


def test_without_ties_nothing_changes(rng: np.random.Generator) -> None:
    world = large_world(20, 3, seed=8)
    world.scores[:] = rng.permutation(world.scores.size).reshape(world.scores.shape)
    names = [n for n in GRADED if not n.startswith("MLD") and "gain=exp" not in n]
    plain, expected = measured(world, *names), measured(world, *names, expected=True, block=7, threads=2)
    assert all(np.array_equal(plain[key].values, expected[key].values, equal_nan=True) for key in plain)
    x, y = rng.standard_normal((20, 8)), rng.standard_normal((100, 8))
    reports = [vsebench.evaluate(x, y, metrics=BINARY, ties=t, ci=0, trust=True) for t in ("index", "expected")]
    assert [r.value for r in reports[0].results] == [r.value for r in reports[1].results]


def test_all_scores_equal() -> None:
    # two images: R@1 of both orders is 1 and 0, 1 / rank is 1 and 1/2
    one = np.ones((2, 1))
    report = vsebench.evaluate(one, one, metrics="R@1,MRR,MeanR", captions_per_image=1, ties="expected")
    assert [r.value for r in report.results] == [0.5, 0.5, 0.75, 0.75, 1.5, 1.5]
    # a collapsed model of 5,000 images finds a caption of five by chance
    scores = np.zeros((1, 25_000), np.float32)
    targets = [Targets("x", relevance({0: range(5)}))]
    ranks = count(System(Matrix(scores)), (targets, []), ties="expected")[0]["x"]
    assert parse("R@1").per_query(ranks) == pytest.approx(5 / 25_000, rel=1e-12)
    missed = np.prod([(24_995 - i) / (25_000 - i) for i in range(10)])
    assert parse("R@10").per_query(ranks) == pytest.approx(1 - missed, rel=1e-9)
    assert parse("MeanR").per_query(ranks) == pytest.approx(25_001 / 6)


def test_metrics_without_a_closed_form_are_left_out_or_refused(rng: np.random.Generator, refuses: Refuses) -> None:
    without = {f.template for f in families() if f.expected is None and f.compute and not f.of_lists}
    assert without == {"MedR", "mAP@{k}", "CS@{k}"}
    x = rng.standard_normal((20, 8))
    options: dict[str, Any] = {"ties": "expected", "ci": 0, "captions_per_image": 1}
    report = vsebench.evaluate(x, x, **options)
    assert [str(r.metric) for r in report.results if r.direction != "t2i"] == ["R@1", "R@5", "R@10", "MeanR", "RSum"]
    note = "MedR left out: no closed form of the mean over the orders of tied items (ties='expected')"
    assert note in report.notes and "|ties:expected|" in report.signature
    refuses(UsageError, vsebench.evaluate, x, x, metrics="R@1,MedR", **options)
    world = large_world(8, 2, seed=1)
    refuses(UsageError, measured, world, "CS@5", expected=True)


def test_graded_metrics_in_a_report(tmp_path: Any) -> None:
    np.save(tmp_path / "gains.npy", np.array([[1.0, 0.0], [0.5, 1.0]]))
    options: dict[str, Any] = {"gains": str(tmp_path / "gains.npy"), "captions_per_image": 1, "ci": 0, "trust": True}
    one = np.ones((2, 1))
    names = ["matrix:NCS@1", "matrix:nDCG@2"]
    report = vsebench.evaluate(one, one, metrics=names, ties="expected", **options)
    assert report["matrix:NCS@1", "i2t"].per_query.tolist() == [0.5, 0.75]
    assert "|ties:expected|" in report.signature and not any("ties" in n for n in report.notes)
    by_rank = vsebench.evaluate(one, one, metrics=names, ties="optimistic", **options)
    assert "|ties:index|" in by_rank.signature
    assert "ties applies to binary judgements only: graded metrics order ties by index" in by_rank.notes


def test_mean_is_called_expected(refuses: Refuses) -> None:
    refuses(UsageError, vsebench.evaluate, np.eye(2), np.eye(2), captions_per_image=1, ties="mean")
