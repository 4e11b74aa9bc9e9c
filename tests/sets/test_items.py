"""One row an item: equal rows are one image; near rows, padding and transposed arrays are refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError, VsebenchError
from vsebench.files.raw import Raw
from vsebench.log import logged
from vsebench.sets import items
from vsebench.types import TestSet

WHERE = Path("e.npz")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)).astype(np.float32)
Y = RNG.standard_normal((200, 6)).astype(np.float32)
IDS = np.arange(40) + 100
FIVE = np.repeat(np.arange(40), 5)
TEXTS = np.arange(200)


def aligned(
    images: Any = X[FIVE], texts: Any = Y, captions_per_image: int | None = None, **ids: Any
) -> SimpleNamespace:
    """The aligned form of a file, by default one in which every image row is repeated five times."""
    with logged() as log:
        raw = Raw((images, texts), sources=(WHERE,), **ids)
        found, (images, captions) = items.align_embeddings(raw, None, captions_per_image)
    return SimpleNamespace(split=found.split, images=images, captions=captions, notes=log.notes, warnings=log.warnings)


def rounded(vectors: np.ndarray, dtype: str) -> np.ndarray:
    """Vectors that were stored in another precision."""
    if dtype == "bfloat16":
        bits = vectors.astype(np.float32).view(np.uint32) + np.uint32(0x8000)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32)
    return vectors.astype(dtype).astype(np.float32)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"image_ids": np.repeat(IDS, 5)},
        {"image_of_text": np.arange(200)},
        {"image_of_text": FIVE},
        {"image_ids": np.repeat(IDS, 5), "image_of_text": np.repeat(IDS, 5), "text_ids": np.arange(200)},
    ],
)
def test_repeated_rows_are_one_image(change: dict[str, Any]) -> None:
    ready = aligned(**change)
    assert np.array_equal(ready.images.vectors, X) and np.array_equal(ready.split.image_of, FIVE)
    assert "image rows repeat, one for each text: 200 rows are 40 images" in ready.notes


@pytest.mark.parametrize("counts", [np.full(40, 2), np.full(40, 20), np.arange(40) % 8 + 1])
def test_rows_that_repeat_in_any_order_and_number(counts: np.ndarray) -> None:
    owner = RNG.permutation(np.repeat(np.arange(40), counts))
    texts = RNG.standard_normal((len(owner), 6)).astype(np.float32)
    ready = aligned(X[owner], texts)
    assert len(ready.split.rows.ids) == 40
    assert np.array_equal(ready.images.vectors[ready.split.image_of], X[owner])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "last bit"])
@pytest.mark.parametrize("number", [None, 1, 5])
def test_rows_that_repeat_nearly_are_refused_and_one_with_ids(number: int | None, dtype: str, refuses: Refuses) -> None:
    rng = np.random.default_rng(1)
    owner = rng.permutation(FIVE)
    images = X[owner]
    some = np.arange(200) > 190 if dtype == "last bit" else rng.random(200) < 0.5  # of another batch
    images[some] = np.nextafter(images[some], np.float32(9)) if dtype == "last bit" else rounded(images[some], dtype)
    refuses(BadInput, aligned, images, Y, number)
    ready = aligned(images, Y, image_ids=IDS[owner])
    assert len(ready.split.rows.ids) == 40
    assert np.array_equal(ready.split.rows.ids[ready.split.image_of], IDS[owner])
    first = np.unique(owner, return_index=True)[1]
    given = aligned(images[first], Y, image_of_text=owner)
    assert np.array_equal(given.split.image_of, owner) and np.array_equal(given.images.vectors, images[first])


def test_vectors_that_are_all_near_each_other_are_not_rows_of_pairs() -> None:
    narrow = (1 + 0.003 * RNG.standard_normal((60, 6))).astype(np.float32)
    assert len(aligned(narrow, Y[:60], 1).split.rows.ids) == 60
    with pytest.raises(BadInput):  # all equal: a collapsed model is no gallery of one image
        aligned(np.ones_like(narrow), Y[:60])


def test_few_equal_images_are_one_unless_their_texts_are_given() -> None:
    images = X.copy()
    images[:4] = images[4:8]
    ready = aligned(images=images, texts=Y[:40], image_of_text=np.arange(40))
    assert len(ready.split.rows.ids) == 40 and not any("repeat" in note for note in ready.notes)
    merged = aligned(images=images, texts=Y[:40])
    assert np.array_equal(merged.images.vectors[merged.split.image_of], images)
    assert merged.split.rows.ids.tolist() == [0, 1, 2, 3, *range(8, 40)], "the rows that are kept"


def test_equal_images_of_a_test_set_with_as_many_are_its_images() -> None:
    images = X.copy()
    images[3] = images[8]
    split = TestSet.captioned("mine", IDS, np.arange(40), np.arange(40))
    with logged() as log:
        _, (ready, _) = items.align_embeddings(Raw((images, Y[:40]), sources=(WHERE,)), split)
        assert not any("repeat" in note for note in log.notes)
        pairs, _ = items.align_embeddings(
            Raw((X[FIVE], Y), sources=(WHERE,)), TestSet.captioned("five", IDS, TEXTS, FIVE)
        )
    assert np.array_equal(ready.vectors, images) and len(pairs.split.rows) == 40


STEP = np.eye(1, 6, dtype=np.float32)
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)
FAILED, WHOLE = Y.copy(), Y.copy()
FAILED[[3, 51, 102, 155]] = 0  # inside of images
WHOLE[10:15] = 0  # all captions of an image
REFUSED: dict[str, dict[str, Any]] = {
    "rows with ids of their own": {"image_ids": np.arange(200)},
    "ids of pairs, on both sides": {"image_ids": np.arange(200), "text_ids": np.arange(200)},
    "one id of several images, as that of a class": {"images": X, "texts": Y[:40], "image_ids": np.arange(40) // 2},
    "texts that repeat have several images": {"images": X, "texts": np.repeat(Y[:20], 2, axis=0)},
    "rows that are near and nearer": {
        "images": np.concatenate([UNIT, UNIT + np.float32(0.001) * STEP, UNIT + np.float32(0.04) * STEP]),
        "texts": Y[:120],
    },
    "rows of zeros inside of images": {"images": X, "texts": FAILED},
    "rows of zeros, all captions of an image": {"images": X, "texts": WHOLE},
    "a row of one number": {
        "images": np.tile(X, (1, 2)),
        "texts": np.concatenate([np.tile(Y[1:], (1, 2)), -np.ones((1, 12), np.float32)]),
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, refuses: Refuses) -> None:
    refuses(BadInput, aligned, **REFUSED[name])


def test_rows_with_ids_of_their_own_are_not_removed() -> None:
    named = aligned(image_ids=np.arange(200), text_ids=np.array([f"{i}#0" for i in range(200)]))
    assert len(named.split.rows.ids) == 200


def test_text_ids_that_name_images_come_before_pairs() -> None:
    names, order = np.array([f"v{i}" for i in range(40)]), RNG.permutation(200)
    numbers = np.arange(200) % 5
    for texts in ([f"{names[FIVE[i]]}#{numbers[i]}" for i in order], [str(names[FIVE[i]]) for i in order]):
        ready = aligned(texts=Y[order], image_ids=names[FIVE], text_ids=np.array(texts))
        image = ready.split.rows.ids[ready.split.image_of]
        row = {y.tobytes(): i for i, y in enumerate(Y)}
        assert [names[FIVE[row[v.tobytes()]]] for v in ready.captions.vectors] == image.tolist()


@pytest.mark.parametrize("captions_per_image", [None, 5])
def test_rows_of_a_pair_beside_the_number_of_captions(captions_per_image: int | None, refuses: Refuses) -> None:
    report = vb.evaluate(X[FIVE], Y, metrics="R@1", ci=0, captions_per_image=captions_per_image)
    assert report["R@1", "t2i"].value == vb.evaluate(X, Y, metrics="R@1", ci=0)["R@1", "t2i"].value
    refuses(UsageError, vb.evaluate, X[FIVE], Y, metrics="R@1", ci=0, captions_per_image=1)


def padded(fill: float, most: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """(image, caption, dim) texts, and (image, caption) which of them exist."""
    there = np.arange(most) < (np.arange(40) % (most - 1) + 2)[:, None]
    texts = np.full((40, most, 6), fill, np.float32)
    texts[there] = RNG.standard_normal((int(there.sum()), 6))
    return texts, there


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("form", ["blocks", "rows", "owners", "ids", "ids and owners"])
def test_padded_captions_are_refused_and_right_without_them(fill: float, form: str, refuses: Refuses) -> None:
    texts, there = padded(fill)
    owner, six = np.repeat(np.arange(40), there.sum(axis=1)), np.repeat(np.arange(40), 6)
    given: dict[str, Any] = {
        "blocks": {"texts": texts},
        "rows": {},
        "owners": {"image_of_text": six},
        "ids": {"image_ids": IDS, "text_ids": np.array([f"{i}#{k}" for i in IDS for k in range(6)])},
        "ids and owners": {"text_ids": np.arange(240), "image_of_text": IDS[six], "image_ids": IDS},
    }[form]
    refuses(BadInput, aligned, images=X, **{"texts": texts.reshape(-1, 6), **given})
    ready = aligned(images=X, texts=texts[there], image_of_text=owner)
    assert np.array_equal(ready.split.image_of, owner) and np.array_equal(ready.captions.vectors, texts[there])


def test_three_dimensional_texts(refuses: Refuses) -> None:
    texts, there = padded(7.5)
    refuses(BadInput, aligned, images=X, texts=texts)  # one vector is the last of many images
    texts[~there] = RNG.standard_normal((int((~there).sum()), 6))
    ready = aligned(images=X, texts=texts)
    assert np.array_equal(ready.captions.vectors, texts.reshape(-1, 6)) and len(set(ready.split.image_of)) == 40
    assert "texts of shape (40, 6, 6) are read as (image, caption, dim)" in ready.notes
    refuses(BadInput, aligned, images=np.repeat(X[:, None], 3, axis=1), texts=texts)


@pytest.mark.parametrize("fill", [-np.inf, -1e4, 0.0, np.nan])
@pytest.mark.parametrize("known", [{"captions_per_image": 6}, {"image_id_of_text": np.repeat(np.arange(40), 6)}])
def test_columns_of_padded_captions_are_refused(fill: float, known: dict[str, Any], refuses: Refuses) -> None:
    texts, there = padded(0.0)
    full = (X @ texts.reshape(-1, 6).T).astype(np.float32)
    scores = np.where(there.ravel(), full, np.float32(fill))
    of: dict[str, Any] = {"metrics": "R@1,Recall@5", "ci": 0}
    refused = refuses(BadInput, vb.evaluate, scores=scores, **known, **of)
    assert "image_id_of_text" in str(refused.fix)
    owner = np.repeat(np.arange(40), there.sum(axis=1))
    right = vb.evaluate(scores=full[:, there.ravel()], image_id_of_text=owner, **of)
    best = owner[full[:, there.ravel()].argmax(axis=1)]
    assert right["R@1", "i2t"].value == (best == np.arange(40)).mean()


@pytest.mark.parametrize("fill", [-100.0, 0.0, -np.inf])
@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize("share", [slice(20, 40), slice(0, 10), slice(7, 8)])
def test_shares_of_processes_are_refused_in_every_direction(fill, side, share, refuses):
    scores = (X @ Y.T).astype(np.float32)
    if side == "rows":
        scores[share] = fill
    else:
        scores[:, 5 * share.start : 5 * share.stop] = fill
    for direction in ("both", "i2t", "t2i"):
        refused = refuses(BadInput, vb.evaluate, scores=scores, metrics="R@1", ci=0, direction=direction)
        assert "direction=" not in str(refused.fix) and "trust" not in str(refused.fix)


def test_reference_images_that_are_no_candidates_are_last() -> None:
    scores, of = (X @ Y.T).astype(np.float32), {"metrics": "R@1,R@40", "ci": 0, "direction": "t2i"}
    best = scores.argmax(axis=0)
    reports = []
    for lowest in (-np.inf, -1e3):
        scores[best, np.arange(200)] = lowest
        reports.append(vb.evaluate(scores=scores.copy(), **of))
    assert reports[0]["R@1", "t2i"].value == reports[1]["R@1", "t2i"].value
    assert reports[0]["R@40", "t2i"].value == 1
    for report, value in zip(reports, ("-inf", "-1000, far below all others"), strict=True):
        assert any(note.startswith(f"200 scores are {value}: these pairs are ranked last") for note in report.notes)


NORMED = Y[:40] / np.linalg.norm(Y[:40], axis=1, keepdims=True)
TURNED: dict[str, dict[str, Any]] = {
    "five texts an image": {"texts": Y.T},
    "one text per image": {"texts": Y[:40].T},
    "one, and said so": {"texts": Y[:40].T, "captions_per_image": 1},
    "as many numbers as ids": {"texts": Y[:40].T, "image_ids": IDS, "text_ids": np.arange(40), "image_of_text": IDS},
    "ids that name the images": {
        "texts": Y.T, "image_ids": IDS, "text_ids": np.array([f"{i}#{k}" for i in IDS for k in range(5)])},
    "columns of unit length": {"images": UNIT[:4].T, "texts": NORMED[:4].T, "captions_per_image": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_transposed_arrays_are_refused(name: str, refuses: Refuses) -> None:
    given = {"images": X.T, **TURNED[name]}
    refuses(BadInput, aligned, **given)
    images, texts = given.pop("images").T, given.pop("texts").T
    if len(texts) == len(images):
        given = {"image_ids": given.get("image_ids"), "image_of_text": given.get("image_ids", np.arange(len(images)))}
    assert np.array_equal(aligned(images, texts, **given).captions.vectors, texts)


@pytest.mark.parametrize("ids", [{}, {"image_ids": IDS, "text_ids": IDS}, {"image_of_text": np.arange(40)}])
def test_square_arrays_whose_columns_have_unit_length_are_refused(ids: dict[str, Any], refuses: Refuses) -> None:
    images, texts = (RNG.standard_normal((40, 40)) for _ in range(2))
    unit = [(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for rows in (images, texts)]
    refuses(BadInput, aligned, unit[0].T, unit[1].T, None if ids else 1, **ids)
    assert np.array_equal(aligned(*unit, None if ids else 1, **ids).images.vectors, unit[0])


def test_fewer_items_than_numbers_need_the_image_of_every_text() -> None:
    wide = aligned(images=X[:4], texts=Y[:4], image_of_text=np.arange(4))
    assert wide.images.vectors.shape == (4, 6) and not wide.warnings
    assert aligned(images=X[:4], texts=Y[:20]).images.vectors.shape == (4, 6)


READINGS = ("repeat", "shuffle", "pad", "transpose", "endings", "gather", "shift")


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(6))
def test_a_changed_world_has_the_right_value_or_none(reading: str, seed: int, tmp_path: Path) -> None:
    """Following the options that a refusal names never gives another value."""
    rng = np.random.default_rng(seed)
    n, times, dim = int(rng.integers(60, 120)), int(rng.integers(2, 6)), 24
    images = rng.standard_normal((n, dim)).astype(np.float32)
    owner = np.repeat(np.arange(n), times)
    texts = (images[owner] + rng.uniform(0.5, 1.2) * rng.standard_normal((n * times, dim))).astype(np.float32)
    right = vb.evaluate(images, texts, metrics="R@1", ci=0, captions_per_image=times)
    ids = np.array([f"{i}.jpg" for i in range(n)])
    file: dict[str, Any] = {"image_embeddings": images, "text_embeddings": texts}
    options: dict[str, Any] = {} if times == 5 else {"captions_per_image": times}
    if reading == "repeat":
        file["image_embeddings"], options = images[owner], {}
    elif reading == "shuffle":
        a, b = rng.permutation(n), rng.permutation(n * times)
        file = {"image_embeddings": images[a], "text_embeddings": texts[b]}
        file |= {"image_ids": ids[a], "text_ids": ids[owner[b]]}
        options = {}
    elif reading == "pad":
        blocks = np.zeros((n, times + 1, dim), np.float32)
        blocks[:, :times] = texts.reshape(n, times, dim)
        file["text_embeddings"], options = blocks, {}
    elif reading == "transpose":
        file = {name: array.T for name, array in file.items()}
    elif reading == "endings":
        file |= {"image_ids": ids, "text_ids": np.array([f"{i}" if seed % 2 else f"a/{i}.JPG" for i in owner])}
        options = {}
    elif reading == "gather":
        count = int(rng.integers(2, 9))
        file = {name: np.concatenate([array[k::count] for k in range(count)]) for name, array in file.items()}
    else:
        start = int(rng.integers(0, n // 2))
        file["image_embeddings"] = np.concatenate([images[:start], images[start + 1 :], images[-1:]])
    np.savez(tmp_path / "e.npz", **file)
    tried = [options]
    while tried:
        given = tried.pop()
        try:
            found = vb.evaluate(tmp_path / "e.npz", metrics="R@1", ci=0, **given)
        except VsebenchError as error:
            proposed = str(error.fix)
            if "captions_per_image=" in proposed and "captions_per_image" not in given:
                number = int(proposed.split("captions_per_image=")[1].split(" ")[0].rstrip("),.;"))
                tried.append({**given, "captions_per_image": number})
            continue
        assert [r.value for r in found.results] == [r.value for r in right.results], (given, found.notes)


def test_constant_lines() -> None:
    scores = np.arange(200.0).reshape(10, 20)
    assert not items.constant_lines(scores).any()
    scores[3] = scores[7] = -1
    assert np.flatnonzero(items.constant_lines(scores)).tolist() == [3, 7]
    scores[7] = -2  # not one number in all of them
    assert not items.constant_lines(scores).any()
    few = np.zeros((6, 20))
    few[:, ::2] = 1
    few[2] = 0  # a number that other rows have too
    assert not items.constant_lines(few).any()


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_score_matrices_of_pairs_are_refused(noise: float, refuses: Refuses) -> None:
    images = (X[FIVE] * (1 + noise * np.random.default_rng(1).standard_normal((200, 6)))).astype(np.float32)
    for scores, number in ((images @ Y.T, None), (images @ Y.T, 1), (images @ Y.T, 5), (Y @ images.T, 1)):
        refuses(BadInput, vb.evaluate, scores=scores, metrics="R@1", ci=0, captions_per_image=number)
    known = {"image_ids": np.arange(40), "image_id_of_text": FIVE}
    assert vb.evaluate(scores=X @ Y.T, **known, metrics="R@1", ci=0).results
