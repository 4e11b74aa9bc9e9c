"""Equality with the package eccv_caption on the judgements of COCO 5K, to 1e-12.

The package evaluates retrieved lists, here those of this library, as deep as the metrics need (50 is more than the
largest R; the five folds are ranked one by one).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench
from tests.gates import gate
from tests.worlds import without_zero_rows
from vsebench.rank.order import top_lists
from vsebench.rank.scorers import Dot, System
from vsebench.results.report import Report
from vsebench.types import DIRECTIONS, Direction, Ids, TestSet

KS = (1, 5, 10)
DEPTH = 50
TARGETS = ["coco_5k_recalls", "cxc_recalls", "eccv_rprecision", "eccv_map_at_r", "eccv_r1"]
OUR_NAME = {"eccv_map_at_r": "eccv:mAP@R", "eccv_rprecision": "eccv:R-P", "eccv_r1": "eccv:R@1"}
OUR_NAME |= {f"{theirs}_r{k}": f"{ours}R@{k}" for k in KS
             for theirs, ours in (("coco_5k", ""), ("coco_1k", "1k:"), ("cxc", "cxc:"), ("eccv", "eccv:"))}  # fmt: skip

Vectors = npt.NDArray[np.float32]
Lists = dict[Direction, dict[int, list[int]]]


def random_vectors(coco: TestSet) -> tuple[Vectors, Vectors]:
    """Vectors of a weak model: captions are their images plus noise."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((len(coco.rows.ids), 16))
    y = x[coco.image_of] + 1.2 * rng.standard_normal((len(coco.columns.ids), 16))
    return x.astype(np.float32), y.astype(np.float32)


def tied_vectors(coco: TestSet) -> tuple[Vectors, Vectors]:
    """Vectors of small integers, with a few hundred different scores for thousands of items: nearly all of them tie."""
    rng = np.random.default_rng(4)
    x = rng.integers(-9, 10, (len(coco.rows.ids), 4))
    y = x[coco.image_of] + rng.integers(-4, 5, (len(coco.columns.ids), 4))
    return without_zero_rows(x), without_zero_rows(y)


def ranked(scorer: Dot, images: Ids, captions: Ids, depth: int) -> Lists:
    """direction -> query id -> item ids best first."""
    found: Lists = {}
    sides = (DIRECTIONS, System(scorer).both, (images, captions), (captions, images))
    for direction, own, queries, gallery in zip(*sides, strict=True):
        rows = gallery[top_lists(own, depth, threads=2).items].tolist()
        found[direction] = dict(zip(queries.tolist(), rows, strict=True))
    return found


@pytest.fixture(scope="module")
def package(eccv_package: Any) -> Any:
    return eccv_package.Metrics()


def theirs(metrics: Any, lists: Lists, targets: list[str]) -> dict[str, dict[str, float]]:
    metrics.set_i2t_retrieved_items(lists["i2t"])
    metrics.set_t2i_retrieved_items(lists["t2i"])
    return metrics.compute_all_metrics(target_metrics=targets, Ks=KS)  # type: ignore[no-any-return]


def compare(report: Report, scores: dict[str, dict[str, float]]) -> None:
    for name, by_direction in scores.items():
        for d in DIRECTIONS:
            assert abs(report[OUR_NAME[name], d].value - by_direction[d]) < 1e-12, (name, d)


def evaluate(x: Vectors, y: Vectors, coco: TestSet) -> Report:
    return vsebench.evaluate(x, y, split=coco, metrics="all", similarity="dot", trust=True)


@pytest.fixture(scope="module", params=gate([random_vectors, tied_vectors], tied_vectors), ids=["random", "ties"])
def case(request: pytest.FixtureRequest, coco: TestSet) -> tuple[Vectors, Vectors, Report]:
    make: Callable[[TestSet], tuple[Vectors, Vectors]] = request.param
    x, y = make(coco)
    return x, y, evaluate(x, y, coco)


@pytest.mark.slow
def test_5k_cxc_and_eccv(case: tuple[Vectors, Vectors, Report], coco: TestSet, package: Any) -> None:
    x, y, report = case
    lists = ranked(Dot(x, y), coco.rows.ids, coco.columns.ids, DEPTH)
    scores = theirs(package, lists, TARGETS)
    recalls = theirs(package, lists, ["eccv_recalls"])  # the package omits them where mAP@R is requested as well
    assert len(scores) == 9 and len(recalls) == 3
    compare(report, scores | recalls)
    assert 0.001 < report["eccv:mAP@R", "i2t"].value < 0.9
    ends = report["R@1", "t2i"].ties
    assert ends is None or ends[0] > ends[1]


@pytest.mark.slow
def test_1k(case: tuple[Vectors, Vectors, Report], coco: TestSet, package: Any) -> None:
    # Each fold is ranked by itself: the package removes items of other folds from a list, and here there are none.
    x, y, report = case
    both: Lists = {"i2t": {}, "t2i": {}}
    for fold in range(5):
        images, captions = (np.flatnonzero(of == fold) for of in coco.folds)
        assert (len(images), len(captions)) == (1000, 5000)
        for d, found in ranked(
            Dot(x[images], y[captions]), coco.rows.ids[images], coco.columns.ids[captions], 10
        ).items():
            both[d].update(found)
    scores = theirs(package, both, ["coco_1k_recalls"])
    assert len(scores) == 3
    compare(report, scores)


@pytest.mark.slow
def test_query_counts(case: tuple[Vectors, Vectors, Report]) -> None:
    report = case[2]
    assert [report["eccv:mAP@R", d].n for d in DIRECTIONS] == [1261, 1332]
    assert [(report["cxc:R@1", d].n, report["cxc:R@1", d].undefined) for d in DIRECTIONS] == [(5000, 0), (24972, 28)]
    assert [(report["1k:R@1", d].n, report["R@1", d].n) for d in DIRECTIONS] == [(5000, 5000), (25000, 25000)]
    assert any("judgements 'eccv' (i2t): 2 positives are not in the gallery" in note for note in report.notes)
