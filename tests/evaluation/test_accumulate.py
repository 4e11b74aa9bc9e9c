"""Vectors of a validation loop: any order and any batches give the report of all rows at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.sets.catalogue import build

RNG = np.random.default_rng(3)
IMAGES = RNG.standard_normal((20, 8)).astype(np.float32)
CAPTIONS = (np.repeat(IMAGES, 5, axis=0) + RNG.standard_normal((100, 8))).astype(np.float32)
OWNER = np.arange(100) // 5
OPTIONS: dict[str, Any] = {"metrics": "R@1,R@5,MedR,RSum", "ci": 0}
SPLIT = vb.TestSet.captioned("mine", 100 + RNG.permutation(20), 500 + RNG.permutation(100), OWNER)


def vse_recall(images: np.ndarray, captions: np.ndarray, k: int) -> tuple[float, float]:
    """Recall as the loop of VSE++ computes it: an image at a time, five captions an image in order."""
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    captions = captions / np.linalg.norm(captions, axis=1, keepdims=True)
    scores = images.astype(np.float64) @ captions.astype(np.float64).T
    i2t = [min(np.flatnonzero(np.argsort(-row) // 5 == i)) < k for i, row in enumerate(scores)]
    t2i = [np.flatnonzero(np.argsort(-column) == c // 5)[0] < k for c, column in enumerate(scores.T)]
    return float(np.mean(i2t)), float(np.mean(t2i))


def by_rows(batches: int, **options: Any) -> vb.Accumulator:
    """As a loader of VSE++: an item is a caption with its image, shuffled."""
    accumulator = vb.Accumulator(**{**OPTIONS, **options})
    for ids in np.array_split(RNG.permutation(100), batches):
        accumulator.update(IMAGES[ids // 5], CAPTIONS[ids], ids)
    return accumulator


@pytest.mark.parametrize("batches", [1, 7, 100])
@pytest.mark.parametrize("split", [None, "custom", SPLIT])
def test_batches_of_repeated_images_in_any_order(batches: int, split: Any) -> None:
    report = by_rows(batches, split=split).compute()
    for k in (1, 5):
        assert (report[f"R@{k}", "i2t"].value, report[f"R@{k}", "t2i"].value) == vse_recall(IMAGES, CAPTIONS, k)
    at_once = vb.evaluate(IMAGES, CAPTIONS, split=split, trust=True, **OPTIONS)
    assert report.signature == at_once.signature
    assert [r.value for r in report.results] == [r.value for r in at_once.results]


@pytest.mark.parametrize("split", [None, SPLIT, "mine"])
def test_batches_with_ids_of_the_split(split: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    ids = zip(SPLIT.rows.ids[OWNER].tolist(), SPLIT.columns.ids.tolist(), strict=True)
    lines = (json.dumps({"image_id": image, "caption_id": n, "caption": f"thing {n}"}) for image, n in ids)
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    if split == "mine":
        build("mine", tmp_path / "mine.jsonl")
    pairs, apart = vb.Accumulator(split, **OPTIONS), vb.Accumulator(SPLIT, **OPTIONS)
    for rows in np.array_split(RNG.permutation(100), 9):
        pairs.update(
            IMAGES[rows // 5], CAPTIONS[rows],
            image_ids=SPLIT.rows.ids[rows // 5], text_ids=SPLIT.columns.ids[rows].tolist(),
        )  # fmt: skip
        apart.update(texts=CAPTIONS[rows], text_ids=SPLIT.columns.ids[rows])
    for rows in np.array_split(RNG.permutation(20), 3):
        apart.update(IMAGES[rows], image_ids=SPLIT.rows.ids[rows])
    assert (len(pairs), len(apart)) == (100, 100)
    expected = vb.evaluate(IMAGES, CAPTIONS, split=SPLIT, trust=True, **OPTIONS)
    for accumulator in (pairs, apart):
        assert [r.value for r in accumulator.compute().results] == [r.value for r in expected.results]
    strings = vb.Accumulator(**OPTIONS)
    strings.update(
        IMAGES[OWNER], CAPTIONS, image_ids=[f"{i}.jpg" for i in OWNER], text_ids=[f"c{i}" for i in range(100)]
    )
    assert strings.compute()["R@1", "i2t"].value == expected["R@1", "i2t"].value


def test_batches_are_copied_and_reset_starts_anew() -> None:
    accumulator = vb.Accumulator(**OPTIONS)
    images, captions = IMAGES[OWNER].copy(), CAPTIONS.astype(np.float64)
    accumulator.update(images, captions, range(100))
    images[:], captions[:] = 0, 0
    first = accumulator.compute()
    accumulator.update(IMAGES[OWNER[90:]], CAPTIONS[90:], np.arange(90, 100))  # a sampler that pads repeats rows
    assert [r.value for r in accumulator.compute().results] == [r.value for r in first.results]
    accumulator.reset()
    assert len(accumulator) == 0
    accumulator.update(IMAGES[OWNER][:50], CAPTIONS[:50], np.arange(50))
    assert accumulator.compute()["R@1", "i2t"].n == 10


def test_options_are_read_once() -> None:
    accumulator = by_rows(1, metrics=(name for name in ("R@1",)), ci=np.float32(0))
    first, second = accumulator.compute(), accumulator.compute()
    assert [str(r) for r in first.results] == [str(r) for r in second.results] and len(first.results) == 2


def test_of_repeated_images_the_first_is_kept_in_any_order() -> None:
    noisy = (IMAGES[OWNER] + 1e-3 * RNG.standard_normal((100, 8))).astype(np.float32)
    expected = vb.evaluate(noisy[::5], CAPTIONS, trust=True, split="custom", metrics="MeanR", ci=0).results
    for order in (np.arange(100), np.arange(100)[::-1], RNG.permutation(100)):
        accumulator = vb.Accumulator(metrics="MeanR", ci=0)
        for ids in np.array_split(order, 6):
            accumulator.update(noisy[ids], CAPTIONS[ids], ids)
        assert [r.value for r in accumulator.compute().results] == [r.value for r in expected]


def test_values_for_a_logger() -> None:
    report = by_rows(3, metrics="R@1,cider:NCS@5,RSum", captions=[f"thing {i}" for i in range(100)], ci=95).compute()
    logged = report.to_dict(prefix="val/")
    assert list(logged) == ["val/R@1 i2t", "val/R@1 t2i", "val/cider:NCS@5 i2t", "val/cider:NCS@5 t2i", "val/RSum"]
    assert {type(x) for x in logged.values()} == {float}
    assert logged["val/R@1 i2t"] == report["R@1", "i2t"].value
    assert logged["val/RSum"] == report["RSum"].value
    assert next(iter(report.to_dict(prefix=""))) == "R@1 i2t"
    assert report.document()["schema"] == "vsebench/report/1"


def added(*batches: dict[str, Any], split: Any = None) -> Callable[[], object]:
    def run() -> object:
        accumulator = vb.Accumulator(split, **OPTIONS)
        for batch in batches:
            accumulator.update(**batch)
        return accumulator.compute()

    return run


ROWS = {"images": IMAGES[OWNER], "texts": CAPTIONS, "ids": np.arange(100)}
PAIRS = {k: ROWS[k] for k in ("images", "texts")} | {"image_ids": OWNER, "text_ids": np.arange(100)}


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (lambda: vb.Accumulator(metrcs="R@1"), UsageError),
        (lambda: vb.Accumulator(metrics="rr@1"), UsageError),
        (lambda: vb.Accumulator("coco5k"), UsageError),
        (lambda: vb.Accumulator(ci="95"), UsageError),
        (lambda: vb.Accumulator(scores=1), UsageError),
        (lambda: vb.Accumulator(SPLIT, captions_per_image=5), UsageError),
        (added(), BadInput),
        (added({}), UsageError),
        (added({"images": IMAGES, "texts": CAPTIONS}), UsageError),
        (added({**ROWS, "image_ids": OWNER}), UsageError),
        (added({**ROWS, "imgs": 1}), UsageError),
        (added({**ROWS, "images": IMAGES}), UsageError),
        (added({**ROWS, "texts": CAPTIONS[:, :4]}), BadInput),
        (added({**ROWS, "ids": np.arange(100) / 1}), UsageError),
        (added({**ROWS, "ids": np.arange(100) - 1}), BadInput),
        (added({**ROWS, "ids": SPLIT.columns.ids}, split=SPLIT), BadInput),
        (added(ROWS, {**ROWS, "images": -IMAGES[OWNER]}), BadInput),
        (added(ROWS, PAIRS), UsageError),
        (added(PAIRS, {**PAIRS, "image_ids": OWNER[::-1]}), BadInput),
        (added({"images": IMAGES, "image_ids": OWNER[::5]}), UsageError),
        (added({**PAIRS, "image_ids": OWNER + 7}, split=SPLIT), BadInput),
        (added({k: v[:98] for k, v in ROWS.items()}), BadInput),
        (added({k: v[5:] for k, v in ROWS.items()}), BadInput),
        (added({k: v[:96] for k, v in ROWS.items()}, split=SPLIT), BadInput),
        (added({k: ROWS[k] for k in ("texts", "ids")}), BadInput),
        (lambda: vb.Accumulator(image_ids=OWNER), UsageError),
        (lambda: vb.Accumulator(SPLIT, text_ids=np.arange(100)), UsageError),
        (lambda: vb.Accumulator(image_id_of_text=OWNER), UsageError),
    ],
)  # fmt: skip
def test_what_is_refused(run: Callable[[], object], error: type[Exception], refuses: Refuses) -> None:
    refuses(error, run)


@pytest.mark.parametrize("option", ["judgements", "gains", "captions"])
def test_rows_without_ids_are_refused_where_ids_name_the_items(option: str, refuses: Refuses) -> None:
    """A loader that shuffles has another order every epoch; the rows of captions say which item a row is of."""
    rng = np.random.default_rng(0)
    x, ids = rng.standard_normal((8, 4)), np.array([f"i{n}" for n in range(8)])
    square = np.eye(8)
    given: dict[str, Any] = {
        "judgements": {"metrics": "mine:R@1", "judgements": {"mine": square.astype(int)}},
        "gains": {"metrics": "matrix:NCS@2", "gains": [square]},
        "captions": {"metrics": "cider:NCS@2", "captions": [f"a thing of {n}" for n in range(8)]},
    }[option]
    validation = vb.Accumulator(ci=0, captions_per_image=1, **given)
    validation.update(x, x, image_ids=ids, text_ids=ids)
    refuses(BadInput, validation.compute)
    found = []
    for order in (np.arange(8), rng.permutation(8)):
        validation.reset()
        validation.update(x[order], x[order], order)
        found.append(validation.compute().to_dict())
    assert found[0] == found[1]


NAMED = vb.TestSet.captioned("mine", [f"caf\u00e9{n}" for n in range(20)], [str(n) for n in range(99)] + ["x"], OWNER)


@pytest.mark.parametrize(
    "options",
    [
        {"judgements": {"mine": {"i2t": {7: [500]}}}, "metrics": "mine:R@1"},
        {"judgements": {"mine": np.eye(3)}, "metrics": "mine:R@1"},
        {"gains": [np.ones((3, 4))], "metrics": "matrix:NCS@2"},
        {"gains": "gains.npz", "metrics": "matrix:NCS@2"},
        {"captions": ["a dog"] * 7, "metrics": "cider:NCS@2"},
    ],
)
def test_ids_of_other_items_are_refused_before_training(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("gains.npz", gains=np.ones((20, 100)), image_ids=np.arange(20), text_ids=np.arange(100))
    refuses(BadInput, vb.Accumulator, SPLIT, **options)


def test_ids_are_compared_as_those_of_files(refuses: Refuses) -> None:
    """Integers equal their digits, strings in NFC and NFD are one id; anything else raises in ``update``."""
    own, other = vb.Accumulator(NAMED, **OPTIONS), vb.Accumulator(**OPTIONS)
    for rows in np.array_split(np.arange(100), 6):
        images = [f"cafe\u0301{n}" for n in OWNER[rows]]
        texts = rows if rows[-1] < 99 else NAMED.columns.ids[rows]
        own.update(IMAGES[OWNER[rows]], CAPTIONS[rows], image_ids=images, text_ids=texts)
        texts = np.array(texts).astype(str).astype(object)  # as in a table
        other.update(IMAGES[OWNER[rows]], CAPTIONS[rows], image_ids=images, text_ids=texts)
    expected = vb.evaluate(IMAGES, CAPTIONS, split=NAMED, trust=True, **OPTIONS)
    for report in (own.compute(), other.compute()):
        assert [r.value for r in report.results] == [r.value for r in expected.results]
    for wrong in (np.full(100, 0.5), np.zeros((100, 2), int), np.zeros(100, bool), np.array([None] * 100)):
        refuses(UsageError, vb.Accumulator(**OPTIONS).update, IMAGES[OWNER], CAPTIONS, image_ids=OWNER, text_ids=wrong)


def test_a_model_that_is_not_trained_is_measured() -> None:
    noise = RNG.standard_normal((2, 500, 8)).astype(np.float32)
    accumulator = vb.Accumulator(metrics="R@1", ci=0, captions_per_image=1)
    for ids in np.array_split(RNG.permutation(500), 4):
        accumulator.update(noise[0][ids], noise[1][ids], ids)
    assert accumulator.compute()["R@1", "i2t"].value < 0.05
