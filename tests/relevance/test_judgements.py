"""Binary judgements: ground truth, ECCV Caption and CxC by id, judgements from pairs, and their table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import Refuses
from vsebench import relevance
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.metrics import parse
from vsebench.relevance.gains import Grades, of_pairs
from vsebench.relevance.matrix import of_matrix
from vsebench.relevance.sources import Source
from vsebench.sets import stored as wheels
from vsebench.types import DIRECTIONS, Both, Direction, Relevance, Side, TestSet


def as_sets(judged: Relevance) -> dict[int, set[int]]:
    return {
        int(q): set(judged.items[judged.indptr[i] : judged.indptr[i + 1]].tolist())
        for i, q in enumerate(judged.queries)
    }


def identities(split: TestSet) -> dict[str, str]:
    found = {name: judged.identity(split) for name, judged in relevance.judgements_of(split).items()}
    return {name: identity for name, identity in found.items() if identity is not None}


@pytest.fixture
def uneven() -> TestSet:
    """Three images with two, one and three captions, not in runs."""
    return TestSet.captioned("custom", np.arange(3), np.arange(10, 16), np.array([2, 0, 2, 1, 0, 2]))


def test_ground_truth_of_any_split(uneven: TestSet) -> None:
    assert list(relevance.judgements_of(uneven)) == ["gt"] and identities(uneven) == {}
    i2t, t2i = relevance.load("gt", uneven, "i2t"), relevance.load("gt", uneven, "t2i")
    assert as_sets(i2t) == {0: {1, 4}, 1: {3}, 2: {0, 2, 5}}
    assert as_sets(t2i) == {0: {2}, 1: {0}, 2: {2}, 3: {1}, 4: {0}, 5: {2}}
    assert (i2t.name, i2t.skipped, i2t.unreachable) == ("gt", 0, 0)


# Queries, positives, and positives not in the gallery: captions 144675 of image 575916 and 467259 of image 421999.
COUNTS: dict[str, Both[tuple[int, int, int]]] = {
    "eccv": ((1_261, 22_550, 2), (1_332, 11_279, 0)),
    "cxc": ((5_000, 35_585, 0), (24_972, 35_585, 0)),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_judgements_have_the_published_counts_and_the_right_pairs(
    coco: TestSet, name: str, direction: Direction
) -> None:
    judged, counts = relevance.load(name, coco, direction), COUNTS[name][DIRECTIONS.index(direction)]
    assert (len(judged.queries), int(judged.size.sum()), judged.unreachable) == counts
    side = {"i2t": "image_to_caption", "t2i": "caption_to_image"}[direction]
    lists = json.loads(wheels.judgement_file(f"{name}_{side}.json").read_text(encoding="utf-8"))
    query, gallery = (coco.rows.ids, coco.columns.ids) if direction == "i2t" else (coco.columns.ids, coco.rows.ids)
    known = set(gallery.tolist())
    wanted = {int(q): known.intersection(items) for q, items in lists.items()}
    seen = {int(query[q]): {int(gallery[i]) for i in items} for q, items in as_sets(judged).items()}
    assert seen == wanted


def test_skipped_and_unreachable(coco: TestSet) -> None:
    skipped = {(n, d): relevance.load(n, coco, d).skipped for n in ("gt", "eccv", "cxc") for d in DIRECTIONS}
    assert {k: v for k, v in skipped.items() if v} == {("cxc", "t2i"): 28}
    eccv = relevance.load("eccv", coco, "i2t")
    assert set(coco.rows.ids[eccv.queries[eccv.missing > 0]].tolist()) == {575916, 421999}
    assert not np.isin([144675, 467259], coco.columns.ids).any()


def test_judgements_are_matched_by_id(coco: TestSet, rng: np.random.Generator) -> None:
    order, other = rng.permutation(5000), rng.permutation(25000)
    place = np.argsort(order)
    mixed = TestSet.captioned("coco-5k", coco.rows.ids[order], coco.columns.ids[other], place[coco.image_of[other]])
    for direction in DIRECTIONS:
        a, b = relevance.load("eccv", coco, direction), relevance.load("eccv", mixed, direction)
        query, item = (order, other) if direction == "i2t" else (other, order)
        moved = {int(query[q]): {int(item[i]) for i in items} for q, items in as_sets(b).items()}
        assert moved == as_sets(a)


def test_names_and_errors(coco, uneven, monkeypatch, refuses):
    assert list(relevance.judgements_of(coco)) == ["gt", "1k", "eccv", "cxc"]
    found = identities(coco)
    assert set(found) == {"eccv", "cxc"}
    assert all(v.startswith("eccv_caption#") and len(v) == len("eccv_caption#") + 8 for v in found.values())
    one = TestSet.captioned("coco-1k", coco.rows.ids, coco.columns.ids, coco.image_of)
    assert list(relevance.judgements_of(one)) == ["gt"] and identities(one) == {}
    for name, split, direction in (("eccv", one, "i2t"), ("ecv", coco, "i2t"), ("gt", coco, "i2i")):
        refuses(UsageError, relevance.load, name, split, direction)
    part = TestSet.captioned("coco-5k", coco.rows.ids[1:], coco.columns.ids[5:], coco.image_of[5:] - 1)
    for split in (part, TestSet.captioned("coco-5k", np.array(["a"]), np.array(["b"]), np.array([0]))):
        refuses(BadInput, relevance.load, "cxc", split, "i2t")
    monkeypatch.setattr(wheels, "package_file", lambda package, relative: None)
    refuses(MissingPackage, relevance.load, "cxc", coco, "t2i")
    assert identities(coco) == {}


@pytest.mark.parametrize("pairs", [[(3, 2), (3, 5), (3, 2)], [(-1, 2)], [(1, -2)]])
def test_invalid_pairs_are_refused(pairs: list[tuple[int, int]], refuses: Refuses) -> None:
    query, item = np.array(pairs).T
    refuses(BadInput, of_pairs, "x", (9, 9), query, item)


@given(st.dictionaries(st.integers(0, 30), st.sets(st.integers(0, 20))), st.randoms())
def test_pairs_in_any_order(lists: dict[int, set[int]], random: Any) -> None:
    pairs = [(q, i) for q, items in lists.items() for i in items]
    random.shuffle(pairs)
    array = np.array(pairs, np.int64).reshape(-1, 2)
    judged = of_pairs("x", (34, 21), array[:, 0], array[:, 1], judged=31 + np.arange(3)).positives
    assert as_sets(judged) == {q: items for q, items in lists.items() if items}
    assert judged.skipped == 3 and judged.unreachable == 0


def test_pairs_outside_the_gallery_are_missing() -> None:
    judged = of_pairs("x", (6, 4), np.array([5, 0, 5, 5]), np.array([-1, -1, 3, -1])).positives
    assert judged.queries.tolist() == [0, 5] and judged.missing.tolist() == [1, 2] and judged.size.tolist() == [1, 3]


def test_the_table_of_judgements() -> None:
    assert list(relevance.judgements()) == ["gt", "1k", "eccv", "cxc", "entails"]
    assert "agg_score >= 3" in relevance.SOURCES["cxc"].rule
    for name, j in relevance.judgements().items():
        assert j.name == name
        assert all((j.title, j.meaning, j.rule, j.cite))
    assert [name for name, j in relevance.judgements().items() if j.folds] == ["1k"]


def test_folds_have_the_positives_of_the_ground_truth(uneven: TestSet) -> None:
    for direction in DIRECTIONS:
        assert relevance.load("1k", uneven, direction) is relevance.load("gt", uneven, direction)


def test_a_set_of_judgements_is_one_declaration_and_one_entry(uneven: TestSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(test: TestSet) -> Both[Grades]:
        own, shape = np.arange(len(test.rows)), test.shape
        return of_pairs("first", shape, own, own), of_pairs("first", shape[::-1], own, own)

    declared = Source(
        name="first", title="First", meaning="", rule="equal index", grades=load,
        identity=lambda test: "first#00000000", splits=("custom",),
    )  # fmt: skip
    monkeypatch.setitem(relevance.SOURCES, "first", declared)
    assert list(relevance.judgements_of(uneven)) == ["gt", "first"]
    assert identities(uneven) == {"first": "first#00000000"}
    assert as_sets(relevance.load("first", uneven, "i2t")) == {0: {0}, 1: {1}, 2: {2}}
    assert str(parse("first:R@1")) == "first:R@1"


def test_a_test_set_says_what_its_items_are_and_belong_to(uneven: TestSet, refuses: Refuses) -> None:
    folds = np.array([0, 0, 1])
    test = TestSet.captioned(uneven.name, uneven.rows.ids, uneven.columns.ids, uneven.image_of, fold=folds)
    assert [side.name for side in test.sides] == ["image", "caption"] and test.shape == (3, 6)
    assert [of.tolist() for of in test.units] == [[0, 1, 2], [2, 0, 2, 1, 0, 2]]
    assert test.folds is not None and [of.tolist() for of in test.folds] == [[0, 0, 1], [1, 0, 1, 0, 0, 1]]
    videos = TestSet("mine", Side("video", np.arange(2)), Side("query", np.arange(3)))
    assert [of.tolist() for of in videos.units] == [[0, 1], [2, 3, 4]]  # every item is its own
    refuses(UsageError, relevance.SOURCES["gt"].positives, videos)
    refuses(BadInput, of_matrix, videos, np.ones((2, 4)))
