"""Retrieved lists in memory have the values, the checks and the messages of files with the same content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vsebench as vb
from tests.messages import Refuses
from vsebench.errors import VsebenchError

IMAGES, EACH = 5, 2
TEXTS = IMAGES * EACH
SPLIT = vb.TestSet.captioned(
    "own", np.array([f"im{n}" for n in range(IMAGES)]), np.arange(100, 100 + TEXTS), np.arange(TEXTS) // EACH
)
METRICS = "R@1,R@2,MRR,mAP,gt:nDCG@3"
Scores = dict[str, dict[Any, dict[Any, float]]]
SAME: dict[str, Any] = {"split": SPLIT, "metrics": METRICS, "trust": True, "ci": 0}


def of_matrix(matrix: np.ndarray[Any, Any]) -> Scores:
    """The runs of both directions of scores (image, caption), items in the order of the split."""
    sides = (SPLIT.rows.ids.tolist(), SPLIT.columns.ids.tolist())
    return {
        direction: {q: dict(zip(items, row, strict=True)) for q, row in zip(queries, scores.tolist(), strict=True)}
        for direction, queries, items, scores in (("i2t", *sides, matrix), ("t2i", *sides[::-1], matrix.T))
    }


def trec(path: Path, run: dict[Any, dict[Any, float]], columns: int) -> Path:
    """A run as lines, the ranks in the order of the items."""
    form = "{q} Q0 {item} {rank} {score!r} own\n" if columns == 6 else "{q} {item} {score!r}\n"
    rows = [(q, item, rank, s) for q, items in run.items() for rank, (item, s) in enumerate(items.items(), 1)]
    path.write_text("".join(form.format(q=q, item=item, rank=rank, score=s) for q, item, rank, s in rows))
    return path


def assert_same(one: vb.Report, other: vb.Report) -> None:
    assert one.signature == other.signature
    for a, b in zip(one.results, other.results, strict=True):
        assert (str(a.metric), a.direction, a.value) == (str(b.metric), b.direction, b.value)
        assert np.array_equal(a.per_query, b.per_query, equal_nan=True)


@settings(max_examples=25, deadline=None)
@given(
    scores=st.lists(st.integers(-2, 3), min_size=IMAGES * TEXTS, max_size=IMAGES * TEXTS),
    columns=st.sampled_from((3, 6)),
)
def test_scores_by_item_are_a_trec_run(
    tmp_path_factory: pytest.TempPathFactory, scores: list[int], columns: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    runs = of_matrix(np.array(scores, float).reshape(IMAGES, TEXTS) / 4)
    files: Any = {d: trec(folder / f"{d}.trec", run, columns) for d, run in runs.items()}
    wanted, found = vb.evaluate(run=files, **SAME), vb.evaluate(run=runs, **SAME)
    assert_same(found, wanted)
    assert_same(vb.evaluate(run={"i2t": runs["i2t"], "t2i": files["t2i"]}, **SAME), wanted)
    (folder / "both.json").write_text(json.dumps(runs))
    assert_same(vb.evaluate(run=folder / "both.json", **SAME), wanted)
    # An oracle: items by descending score, then by their place in the run.
    for n, (query, items) in enumerate(runs["i2t"].items()):
        order = sorted(items, key=lambda item: (-items[item], item))
        first = next(rank for rank, item in enumerate(order, 1) if (item - 100) // EACH == int(query[2:]))
        assert found["MRR", "i2t"].per_query[n] == 1 / first


def test_lists_are_best_first() -> None:
    runs = of_matrix(np.random.default_rng(0).permutation(IMAGES * TEXTS).reshape(IMAGES, TEXTS))
    lists = {d: {q: sorted(i, key=i.__getitem__, reverse=True) for q, i in run.items()} for d, run in runs.items()}
    wanted = vb.evaluate(run=runs, **SAME)
    assert_same(vb.evaluate(run=lists, **SAME), wanted)
    arrays = {d: {np.str_(q): np.array(items) for q, items in run.items()} for d, run in lists.items()}
    assert_same(vb.evaluate(run=arrays, **SAME), wanted)
    assert not vb.evaluate(run=lists, **SAME).provenance["inputs"]
    one = vb.evaluate(run={"i2t": runs["i2t"]}, engine="dask", **SAME)  # lists have nothing for workers
    assert one["R@1", "i2t"].value == wanted["R@1", "i2t"].value
    assert any("were evaluated in one process" in note for note in one.notes)
    assert one.provenance["engine"] == "local"


GOOD = {"im0": [100, 101], "im1": [102, 100]}
WRONG: dict[str, Any] = {
    "no directions": GOOD,
    "no mapping": {"i2t": 5},
    "several mappings": [{"i2t": GOOD}],
    "a number": 5,
    "a set": {"i2t": {"im0": {100, 101}}},
    "an empty list": {"i2t": {"im0": []}},
    "no list": {"i2t": {}},
    "an item twice": {"i2t": {"im0": [100, 101, "100"]}},
    "a query twice": {"t2i": {100: ["im0"], "100": ["im1"]}},
    "an unknown item": {"i2t": {"im0": [100, 7]}},
    "an unknown query": {"i2t": {**GOOD, "im7": [100]}},
    "a score that is none": {"i2t": {"im0": {100: 0.5, 101: float("nan")}}},
    "scores of some": {"i2t": {**GOOD, "im2": {100: 0.5}}},
    "swapped": {"t2i": GOOD},
    "ranks, which have no meaning": {"rank:i2t": GOOD},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case: str, refuses: Refuses) -> None:
    refuses(VsebenchError, vb.evaluate, run=WRONG[case], split=SPLIT, metrics="R@1", trust=True)
