"""Equality with eccv_caption on the real COCO 5K judgements, to 1e-12.

That package scores retrieved lists; it is given this library's canonical lists. The fast tests give every
metric lists that are just deep enough (50 covers the largest R; the five folds are ranked one by one), the
slow one gives complete rankings of 25,000 captions and 5,000 images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench
from tests.worlds import without_zero_rows
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot
from vsebench.report.report import Report
from vsebench.types import DIRECTIONS, Direction, Split

KS = (1, 5, 10)
DEPTH = 50
TARGETS = ["coco_5k_recalls", "cxc_recalls", "eccv_rprecision", "eccv_map_at_r", "eccv_r1"]
OUR_NAME = {"eccv_map_at_r": "eccv:mAP@R", "eccv_rprecision": "eccv:R-P", "eccv_r1": "eccv:R@1"}
OUR_NAME |= {f"{theirs}_r{k}": f"{ours}R@{k}" for k in KS
             for theirs, ours in (("coco_5k", ""), ("coco_1k", "1k:"), ("cxc", "cxc:"), ("eccv", "eccv:"))}  # fmt: skip

Vectors = npt.NDArray[np.float32]


def random_vectors(coco: Split) -> tuple[Vectors, Vectors]:
    """A weak model: an image and its captions share a direction."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((len(coco.image_ids), 16))
    y = x[coco.image_of] + 1.2 * rng.standard_normal((len(coco.caption_ids), 16))
    return x.astype(np.float32), y.astype(np.float32)


def tied_vectors(coco: Split) -> tuple[Vectors, Vectors]:
    """Small integers: a few hundred different scores for thousands of items, so that nearly all of them tie."""
    rng = np.random.default_rng(4)
    x = rng.integers(-9, 10, (len(coco.image_ids), 4))
    y = x[coco.image_of] + rng.integers(-4, 5, (len(coco.caption_ids), 4))
    return without_zero_rows(x), without_zero_rows(y)


class Lists(dict[int, list[int]]):
    """Query id -> item ids best first, made when asked for: complete rankings as lists would take gigabytes."""

    def __init__(self, items: npt.NDArray[Any], queries: npt.NDArray[Any], gallery: npt.NDArray[Any]) -> None:
        super().__init__()
        self.items_, self.gallery = items, np.array(gallery.tolist(), object)
        self.row = {int(q): i for i, q in enumerate(queries)}

    def __missing__(self, query: int) -> list[int]:
        return self.gallery[self.items_[self.row[int(query)]]].tolist()  # type: ignore[no-any-return]


def ranked(scorer: Dot, split: Split, depth: int) -> dict[Direction, Lists]:
    seen = observe(scorer, [], depth={"i2t": depth, "t2i": depth})
    sides = {"i2t": (split.image_ids, split.caption_ids), "t2i": (split.caption_ids, split.image_ids)}
    return {d: Lists(seen[d].top.items, *sides[d]) for d in DIRECTIONS}


@pytest.fixture(scope="module")
def package(eccv_package: Any) -> Any:
    """Their metrics with their judgements loaded."""
    return eccv_package.Metrics()


def theirs(metrics: Any, lists: dict[Direction, Lists], targets: list[str]) -> dict[str, dict[str, float]]:
    metrics.set_i2t_retrieved_items(lists["i2t"])
    metrics.set_t2i_retrieved_items(lists["t2i"])
    return metrics.compute_all_metrics(target_metrics=targets, Ks=KS)  # type: ignore[no-any-return]


def compare(report: Report, scores: dict[str, dict[str, float]]) -> None:
    for name, by_direction in scores.items():
        for d in DIRECTIONS:
            assert abs(report[OUR_NAME[name], d].value - by_direction[d]) < 1e-12, (name, d)


def evaluate(x: Vectors, y: Vectors, coco: Split) -> Report:
    return vsebench.evaluate(x, y, split=coco, metrics="all", similarity="dot", trust=True)


@pytest.fixture(scope="module", params=[random_vectors, tied_vectors], ids=["random", "ties"])
def case(request: pytest.FixtureRequest, coco: Split) -> tuple[Vectors, Vectors, Report]:
    make: Callable[[Split], tuple[Vectors, Vectors]] = request.param
    x, y = make(coco)
    return x, y, evaluate(x, y, coco)


def test_5k_cxc_and_eccv(case: tuple[Vectors, Vectors, Report], coco: Split, package: Any) -> None:
    x, y, report = case
    lists = ranked(Dot(x, y), coco, DEPTH)
    scores = theirs(package, lists, TARGETS)
    recalls = theirs(package, lists, ["eccv_recalls"])  # not computed when mAP@R is asked for as well
    assert len(scores) == 9 and len(recalls) == 3
    compare(report, scores | recalls)
    assert 0.001 < report["eccv:mAP@R", "i2t"].value < 0.9
    ends = report["R@1", "t2i"].ties
    assert ends is None or ends[0] > ends[1]


def test_1k(case: tuple[Vectors, Vectors, Report], coco: Split, package: Any) -> None:
    # Each fold ranked by itself: the package drops items of other folds from a list, and here there are none.
    x, y, report = case
    assert coco.fold is not None and coco.caption_fold is not None
    both: dict[Direction, dict[int, list[int]]] = {"i2t": {}, "t2i": {}}
    for fold in range(5):
        images, captions = np.flatnonzero(coco.fold == fold), np.flatnonzero(coco.caption_fold == fold)
        assert (len(images), len(captions)) == (1000, 5000)
        top = observe(Dot(x[images], y[captions]), [], depth={"i2t": 10, "t2i": 10})
        for d, queries, gallery in (
            ("i2t", coco.image_ids[images], coco.caption_ids[captions]),
            ("t2i", coco.caption_ids[captions], coco.image_ids[images]),
        ):
            rows = gallery[top[d].top.items].tolist()  # type: ignore[index]
            both[d].update(zip(queries.tolist(), rows, strict=True))  # type: ignore[index]
    scores = theirs(package, both, ["coco_1k_recalls"])  # type: ignore[arg-type]
    assert len(scores) == 3
    compare(report, scores)


def test_query_counts(case: tuple[Vectors, Vectors, Report]) -> None:
    report = case[2]
    assert [report["eccv:mAP@R", d].n for d in DIRECTIONS] == [1261, 1332]
    assert [(report["cxc:R@1", d].n, report["cxc:R@1", d].undefined) for d in DIRECTIONS] == [(5000, 0), (24972, 28)]
    assert [(report["1k:R@1", d].n, report["R@1", d].n) for d in DIRECTIONS] == [(5000, 5000), (25000, 25000)]
    assert "eccv i2t: 2 positives are not in the gallery and count as not found" in report.warnings


@pytest.mark.slow
@pytest.mark.timeout(1800)  # minutes of the package filtering 125 million places of a list, for every k
def test_complete_rankings(case: tuple[Vectors, Vectors, Report], coco: Split, package: Any) -> None:
    x, y, report = case
    lists: dict[Direction, Lists] = {}
    for d, asking, asked, queries, gallery in (
        ("i2t", x, y, coco.image_ids, coco.caption_ids),
        ("t2i", y, x, coco.caption_ids, coco.image_ids),
    ):
        # In slices, and in two bytes an item, to stay within a small machine.
        items = np.empty((len(asking), len(asked)), np.uint16)
        for start in range(0, len(asking), 1000):
            part = Dot(asking[start : start + 1000], asked)
            items[start : start + 1000] = observe(part, [], depth={"i2t": len(asked)})["i2t"].top.items
        lists[d] = Lists(items, queries, gallery)  # type: ignore[index]
    scores = theirs(package, lists, [*TARGETS, "coco_1k_recalls"]) | theirs(package, lists, ["eccv_recalls"])
    assert len(scores) == 14
    compare(report, scores)
