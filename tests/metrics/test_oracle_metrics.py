"""Every metric, from vectors to the report, against the oracle's loop over a sorted list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests import oracle
from tests.messages import Refuses
from tests.worlds import World, own, relevance, same_fold, splits, without_zero_rows, worlds
from vsebench.evaluation.binary import measure
from vsebench.metrics import parse
from vsebench.rank.count import count
from vsebench.types import DIRECTIONS, EVERYTHING, Direction, Ranks, TestSet

NAMES = ["R@1", "R@2", "R@7", "R@1000", "Recall@1", "Recall@3", "Recall@1000", "MedR", "MeanR", "MRR", "R-P", "mAP@R"]
RULES = ["index", "optimistic", "pessimistic"]


def oracle_name(name: str) -> tuple[str, int]:
    """The oracle's key and k of a metric's name."""
    stem, at, k = name.partition("@")
    return (stem + at, int(k)) if k.isdigit() else (name, 0)


def a_split(n: int, m: int) -> TestSet:
    """Any split with so many images and captions: only its ids are read."""
    return TestSet.captioned("custom", np.arange(n), np.arange(m), np.arange(m) % n) if m >= n else TestSet.captioned(
        "custom", np.arange(n), np.arange(n), np.arange(n)
    )  # fmt: skip


@given(worlds(), st.sampled_from(RULES))
def test_metrics_of_any_judgements(world: World, ties: str) -> None:
    observed = count(world.system, world.targets, ties=ties)
    split = a_split(*(len(v) for v in (world.images, world.captions)))
    for d, ranks, scores, judged in zip(DIRECTIONS, observed, world.scores, world.judged, strict=True):
        for name in NAMES:
            got = measure(parse(name), ranks["x"], split, d, "skip")
            want = oracle.value(*oracle_name(name), scores, judged, EVERYTHING, ties)
            assert got.value == pytest.approx(want, rel=1e-12), (name, d)
            assert got.n == len(judged.queries)
            assert got.per_query is not None and len(got.per_query) == got.n
            if got.ties is not None:
                for end, rule in zip(got.ties, ("optimistic", "pessimistic"), strict=True):
                    extreme = oracle.value(*oracle_name(name), scores, judged, EVERYTHING, rule)
                    assert end == pytest.approx(extreme, rel=1e-12), (name, d, rule)


@st.composite
def embedded_splits(draw: st.DrawFn) -> tuple[TestSet, World]:
    split = draw(splits())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dim = draw(st.integers(1, 3))
    x = without_zero_rows(rng.integers(-2, 3, (len(split.rows.ids), dim)))
    y = without_zero_rows(rng.integers(-2, 3, (len(split.columns.ids), dim)))
    return split, World(x, y, own(split))


@given(embedded_splits(), st.sampled_from(RULES))
def test_a_report_with_folds(case: tuple[TestSet, World], ties: str) -> None:
    split, world = case
    names = ["R@1", "R@5", "R@10", "Recall@2", "MedR", "MeanR", "MRR", "R-P", "mAP@R", "mAP", "mAP@3"]
    metrics = ["RSum", "1k:RSum", "mR", "1k:mR", *names, *(f"1k:{n}" for n in names)]
    report = vsebench.evaluate(
        world.images, world.captions, split=split, metrics=metrics, ties=ties, similarity="dot", trust=True
    )
    total = {"": 0.0, "1k:": 0.0}
    sides = (DIRECTIONS, world.scores, world.judged, same_fold(split))
    for d, scores, judged, fold in zip(*sides, strict=True):
        for view, candidates in (("", EVERYTHING), ("1k:", fold)):
            for name in names:
                want = oracle.value(*oracle_name(name), scores, judged, candidates, ties)
                assert report[view + name, d].value == pytest.approx(want, rel=1e-12), (view + name, d)
                if name in ("R@1", "R@5", "R@10"):
                    total[view] += want
    for view, want in total.items():
        assert report[f"{view}RSum"].value == pytest.approx(want, rel=1e-12)
        assert report[f"{view}mR"].value == pytest.approx(want / 6, rel=1e-12)
        assert report[f"{view}RSum"].direction is None


def ranks_of(rows: dict[int, dict[int, int]], missing: dict[int, int] | None = None, skipped: int = 0) -> Ranks:
    """Ranks from query -> {item: rank}."""
    judged = relevance(rows, missing)
    rank = [rows[q][g] for q, items in oracle.positives(judged).items() for g in items]
    object.__setattr__(judged, "without", len(rows) + np.arange(skipped))
    return Ranks(judged, np.array(rank), np.zeros(len(rank), bool))


def test_worked_values() -> None:
    ranks = ranks_of({0: {1: 1, 2: 3, 3: 9}, 1: {5: 2}, 2: {7: 4, 8: 5}}, missing={1: 1})
    want = {
        "R@1": [1, 0, 0],
        "R@4": [1, 1, 1],
        "Recall@1": [1 / 3, 0, 0],
        "Recall@4": [2 / 3, 1 / 2, 1 / 2],
        "MedR": [1, 2, 4],
        "MeanR": [1, 2, 4],
        "MRR": [1, 1 / 2, 1 / 4],
        "R-P": [2 / 3, 1 / 2, 0],
        "mAP@R": [(1 + 2 / 3) / 3, 1 / 4, 0],
        "MRR@2": [1, 1 / 2, 0],
        "P@4": [1 / 2, 1 / 4, 1 / 4],
        "Recall[over=min]@1": [1, 0, 0],
        "Recall[over=min]@4": [2 / 3, 1 / 2, 1 / 2],
    }
    for name, values in want.items():
        assert parse(name).per_query(ranks).tolist() == pytest.approx(values), name


def test_the_denominators_of_average_precision() -> None:
    """Relevance 0 1 1 0 0 1 of four relevant items, by the codes of CIRCO, trec_eval and torchmetrics."""
    ranks = ranks_of({0: {1: 2, 2: 3, 3: 6}}, missing={0: 1})
    want = {2: (0.25, 0.125, 0.5), 5: (7 / 24, 7 / 24, 7 / 12), 6: (5 / 12, 5 / 12, 5 / 9)}
    for k, values in want.items():
        found = [parse(f"mAP[over={over}]@{k}").per_query(ranks)[0] for over in ("min", "all", "found")]
        assert found == pytest.approx(values), k


@pytest.mark.parametrize(
    ("best", "median"), [([1, 2], 1), ([1, 2, 3], 2), ([1, 4], 2), ([2, 3, 4, 5], 3), ([7], 7), ([1, 1, 9, 9], 5)]
)
def test_the_median_is_rounded_down(best: list[int], median: int) -> None:
    ranks = ranks_of({q: {q: r} for q, r in enumerate(best)})
    n = len(best)
    assert measure(parse("MedR"), ranks, a_split(n, n), "i2t", "skip").value == median


def test_queries_without_positives_are_skipped_or_missed(refuses: Refuses) -> None:
    ranks = ranks_of({0: {0: 1}, 1: {1: 2}}, skipped=2)
    split = a_split(4, 4)
    skip = measure(parse("R@1"), ranks, split, "i2t", "skip")
    miss = measure(parse("R@1"), ranks, split, "i2t", "miss")
    assert (skip.value, skip.n, skip.undefined) == (0.5, 2, 2)
    assert (miss.value, miss.n, miss.undefined) == (0.25, 4, 0)
    refuses(vsebench.VsebenchError, measure, parse("MeanR"), ranks, split, "i2t", "miss")


def test_a_direction_without_positives_is_refused(refuses: Refuses) -> None:
    refuses(vsebench.VsebenchError, measure, parse("R@1"), ranks_of({}), a_split(1, 1), "i2t", "skip")


@pytest.mark.parametrize("name", ["RSum", "cider:NCS@1"])
def test_sums_and_graded_metrics_have_no_values_of_ranks(name: str, refuses: Refuses) -> None:
    refuses(vsebench.VsebenchError, parse(name).per_query, ranks_of({0: {0: 1}}))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_direction_alone_gives_the_same_numbers(direction: Direction, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((15, 8)), rng.standard_normal((75, 8))
    both = vsebench.evaluate(x, y, metrics="all")
    one = vsebench.evaluate(x, y, metrics="all", direction=direction)
    assert one.document(per_query=False)["results"] == [
        r for r in both.document(per_query=False)["results"] if r["direction"] == direction
    ]


def test_a_mean_of_a_sum_is_a_sixth_of_it_everywhere(rng: np.random.Generator) -> None:
    x = rng.standard_normal((30, 8))
    reports = [
        vsebench.evaluate(
            x, x + noise * rng.standard_normal((30, 8)), captions_per_image=1, metrics="RSum,mR", resamples=50
        )
        for noise in (1.0, 1.4)
    ]
    rsum, mean = (reports[0][name].interval or (0, 0) for name in ("RSum", "mR"))
    assert 6 * np.array(mean) == pytest.approx(np.array(rsum), abs=0.05)
    tests = vsebench.compare(reports, metrics="RSum,mR").to_frame("tests").set_index("metric")
    assert 6 * tests.difference["mR"] == pytest.approx(tests.difference["RSum"])
    assert tests.p["mR"] == tests.p["RSum"]
    assert "mR" not in {str(r.metric) for r in vsebench.evaluate(x, x, captions_per_image=1, metrics="all").results}
