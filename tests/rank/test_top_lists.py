"""The top of the rankings that a report keeps: items, scores and gains of a full sort, and their way through a file."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vsebench as vb
from vsebench.errors import BadInput, UsageError

IMAGES, CAPTIONS = 7, 21
OWNER = np.repeat(np.arange(IMAGES), 3)
RNG = np.random.default_rng(5)
SCORES = RNG.integers(0, 9, (IMAGES, CAPTIONS)).astype(np.float64)  # ties abound
GAINS = RNG.random((IMAGES, CAPTIONS)).astype(np.float32)


def evaluate(**options):
    given = {"scores": SCORES, "captions_per_image": 3, "metrics": "R@1", "trust": True, "ci": 0, "lists": 4}
    return vb.evaluate(**{**given, **options})


def sorted_top(scores, k):
    """Best first, the lower index first where scores are equal."""
    return np.array([sorted(range(len(row)), key=lambda i: (-row[i], i))[:k] for row in scores.tolist()])


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_items_scores_and_gains(direction):
    report = evaluate(metrics="R@1,NCS@5", gains=GAINS)
    (found,) = [top for top in report.lists if top.direction == direction]
    scores, gains, owner = SCORES, GAINS, np.equal.outer(np.arange(IMAGES), OWNER)
    if direction == "t2i":
        scores, gains, owner = scores.T, gains.T, owner.T
    top = sorted_top(scores, 4)
    assert np.array_equal(found.items, top)
    assert np.array_equal(found.scores, np.take_along_axis(scores, top, 1).astype(np.float32))
    assert np.array_equal(found.gains, np.take_along_axis(gains, top, 1))
    assert np.array_equal(found.truth_gains, np.where(owner, gains, 0).max(1))
    assert found.kind == "matrix"


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_beyond_float32_are_at_the_ends_of_its_range():
    scores = SCORES.copy()
    scores[:, 4], scores[2, 1] = -1e300, 1e39
    (found,) = evaluate(scores=scores, direction="i2t", lists=CAPTIONS).lists
    assert np.array_equal(found.items, sorted_top(scores, CAPTIONS))
    most = np.float32((2 - 2**-23) * 2.0**127)
    assert found.scores[2, 0] == most and (found.scores[:, -1] == -most).all()
    assert json.loads(json.dumps(found.scores.tolist(), allow_nan=False))


def test_nothing_is_kept_unless_it_is_asked_for():
    report = evaluate(lists=0)
    assert report.lists == () and "lists" not in report.document()


def test_without_gains_and_in_one_direction():
    (found,) = evaluate(direction="t2i").lists
    assert found.direction == "t2i" and found.kind is found.gains is found.truth_gains is None


def test_a_file_gives_them_back(tmp_path):
    report = evaluate(metrics="R@1,NCS@5", gains=GAINS, lists=100)  # clipped to the gallery
    report.save(tmp_path / "a.json")
    again = vb.load(tmp_path / "a.json")
    assert [top.items.shape for top in again.lists] == [(IMAGES, CAPTIONS), (CAPTIONS, IMAGES)]
    for a, b in zip(report.lists, again.lists, strict=True):
        assert (a.direction, a.kind) == (b.direction, b.kind)
        for name in ("items", "scores", "gains", "truth_gains"):
            assert (
                np.array_equal(getattr(a, name), getattr(b, name)) and getattr(b, name).dtype == getattr(a, name).dtype
            )
    assert "lists" not in json.loads(report.to_json(per_query=False))


def test_retrieved_lists_that_end_early(tmp_path):
    run = {str(c): [int(i) for i in order[: 1 + c % 3]] for c, order in enumerate(sorted_top(SCORES.T, IMAGES))}
    (tmp_path / "run.json").write_text(json.dumps({"t2i": run}))
    split = vb.TestSet.captioned("custom", np.arange(IMAGES), np.arange(CAPTIONS), OWNER)
    report = evaluate(scores=None, captions_per_image=None, split=split, run=tmp_path / "run.json")
    report.save(tmp_path / "a.json")
    (found,) = vb.load(tmp_path / "a.json").lists
    assert found.scores is None
    assert [[i for i in row if i >= 0] for row in found.items.tolist()] == list(run.values())


def test_the_saved_run_keeps_its_depth(tmp_path):
    for depth in (2, 6):
        report = evaluate(save_run=tmp_path / "run.json", depth=depth)
        assert report.lists[0].items.shape == (IMAGES, 4)
        assert {len(row) for row in json.loads((tmp_path / "run.json").read_text())["i2t"].values()} == {depth}


@pytest.mark.parametrize("lists", [-1, 101])
def test_too_many(lists, refuses):
    refuses(UsageError, evaluate, lists=lists)


def test_lists_that_no_page_would_show_are_left_out(coco, monkeypatch):
    vectors = np.random.default_rng(0).standard_normal((30_000, 4)).astype(np.float32)
    found = vb.evaluate(vectors[:5000], vectors[5000:], split="coco-1k", metrics="R@1", lists=3, trust=True, ci=0)
    assert not found.lists and "per-query lists are not kept: coco-1k ranks its folds" in found.notes
    monkeypatch.setattr("vsebench.evaluation.plan.MAX_PAGE_ITEMS", 9)
    found = evaluate(lists=3)
    assert not found.lists and "images and captions, more than 9" in found.notes[-1]


@pytest.mark.parametrize(
    "change",
    [
        {"items": "u1:AAAA"},
        {"k": 3},
        {"gains": None},
        {"direction": "t2i"},
        {"scores": "u1:eJxjYGBgAAAABAAB"},
        {"k": 0},
    ],
)  # fmt: skip
def test_damaged_lists_are_refused(tmp_path, change, refuses):
    document = json.loads(evaluate(metrics="R@1,NCS@5", gains=GAINS).to_json())
    document["lists"][0] |= change
    (tmp_path / "a.json").write_text(json.dumps(document))
    refuses(BadInput, vb.load, tmp_path / "a.json")


def test_an_item_that_does_not_exist_is_refused(tmp_path, refuses):
    document = json.loads(evaluate().to_json())
    document["lists"][1]["items"] = document["lists"][0]["items"]
    document["lists"][1] |= {"k": 4}
    (tmp_path / "a.json").write_text(json.dumps(document))
    refuses(BadInput, vb.load, tmp_path / "a.json")
