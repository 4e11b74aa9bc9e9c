"""One row an item: rows that repeat, padding and transposed arrays; what is put right, and what is refused."""

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
from vsebench.sets import align, items

WHERE = Path("e.npz")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)).astype(np.float32)
Y = RNG.standard_normal((200, 6)).astype(np.float32)
IDS = np.arange(40) + 100
FIVE = np.repeat(np.arange(40), 5)


def aligned(
    images: Any = X[FIVE], texts: Any = Y, captions_per_image: int | None = None, **ids: Any
) -> SimpleNamespace:
    """The aligned form of a file, by default one in which every image row is repeated five times."""
    with logged() as log:
        raw = Raw((images, texts), sources=(WHERE,), **ids)
        found, (images, captions) = align.align_embeddings(raw, None, captions_per_image)
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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("counts", [np.full(40, 5), np.arange(40) % 8 + 1])
def test_rows_that_repeat_nearly_in_any_order_and_number(counts: np.ndarray, dtype: str) -> None:
    owner = RNG.permutation(np.repeat(np.arange(40), counts))
    images = X[owner]
    some = RNG.random(len(owner)) < 0.5  # of another batch
    images[some] = rounded(images[some], dtype)
    ready = aligned(images=images, texts=Y[: len(owner)])
    assert len(ready.split.rows.ids) == 40
    assert np.array_equal(np.unique(owner, return_index=True)[0][owner], owner)
    groups = {(int(a), int(b)) for a, b in zip(owner, ready.split.image_of, strict=True)}
    assert len(groups) == 40 == len({a for a, _ in groups}) == len({b for _, b in groups})


def test_few_equal_images_are_images_of_their_own(refuses: Refuses) -> None:
    images = X.copy()
    images[:4] = images[4:8]
    ready = aligned(images=images, texts=Y[:40], image_of_text=np.arange(40))
    assert len(ready.split.rows.ids) == 40 and not any("repeat" in note for note in ready.notes) and not ready.warnings
    refused = refuses(BadInput, aligned, images=images, texts=Y[:40])
    assert "captions_per_image" not in str(refused.fix)
    (warning,) = (words for words in aligned(images, Y[:40], 1).warnings if "equal" in words)
    assert warning.startswith("4 image rows equal another exactly, of 40")


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
    "no padding, inside of images": {"images": X, "texts": FAILED},
    "no padding, all captions of an image": {"images": X, "texts": WHOLE},
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
def test_padded_captions_are_left_out(fill: float, form: str) -> None:
    texts, there = padded(fill)
    owner, six = np.repeat(np.arange(40), there.sum(axis=1)), np.repeat(np.arange(40), 6)
    given: dict[str, Any] = {
        "blocks": {"texts": texts},
        "rows": {},
        "owners": {"image_of_text": six},
        "ids": {"image_ids": IDS, "text_ids": np.array([f"{i}#{k}" for i in IDS for k in range(6)])},
        "ids and owners": {"text_ids": np.arange(240), "image_of_text": IDS[six], "image_ids": IDS},
    }[form]
    ready = aligned(images=X, **{"texts": texts.reshape(-1, 6), **given})
    assert np.array_equal(ready.split.image_of, owner) and np.array_equal(ready.captions.vectors, texts[there])
    assert any(f"{(~there).sum()} text rows are all zeros or NaN, of 240" in note for note in ready.notes)


def test_one_vector_at_the_ends_of_images_is_padding(refuses: Refuses) -> None:
    texts, there = padded(7.5)
    ready = aligned(images=X, texts=texts)
    assert np.array_equal(ready.captions.vectors, texts[there])
    assert any(f"{(~there).sum()} text rows are one vector" in note for note in ready.notes)
    texts[5, 0] = 7.5  # also a caption
    assert len(aligned(images=X, texts=texts).captions.vectors) == 240
    texts[5, 0] = texts[6, 0]
    texts[6] = 7.5  # all captions of an image
    assert len(aligned(images=X, texts=texts).captions.vectors) == 240
    texts, _ = padded(0.0)
    refuses(BadInput, aligned, images=np.repeat(X[:, None], 3, axis=1), texts=texts)


@pytest.mark.parametrize("fill", [-np.inf, -1e4, 0.0, np.nan])
@pytest.mark.parametrize("known", [{"captions_per_image": 6}, {"image_id_of_text": np.repeat(np.arange(40), 6)}])
def test_columns_of_padded_captions_are_left_out(fill: float, known: dict[str, Any]) -> None:
    texts, there = padded(0.0)
    full = (X @ texts.reshape(-1, 6).T).astype(np.float32)
    scores = np.where(there.ravel(), full, np.float32(fill))
    of: dict[str, Any] = {"metrics": "R@1,Recall@5", "ci": 0, "image_ids": np.arange(40)}
    if "captions_per_image" in known:
        del of["image_ids"]
    found = vb.evaluate(scores=scores, **known, **of)
    owner = np.repeat(np.arange(40), there.sum(axis=1))
    given: dict[str, Any] = {**of, "image_ids": np.arange(40), "image_id_of_text": owner}
    right = vb.evaluate(scores=full[:, there.ravel()], **given)
    assert [r.value for r in found.results] == [r.value for r in right.results]
    assert any("hold no scores, of 240: captions that are padding, left out" in note for note in found.notes)


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
    assert "200 scores are -inf: these pairs are ranked last" in reports[0].notes


def test_transposed_arrays() -> None:
    ready = aligned(images=X.T, texts=Y.T)
    assert np.array_equal(ready.images.vectors, X) and np.array_equal(ready.split.image_of, FIVE)
    assert "the arrays are (dim, item), (6, 40) and (6, 200): transposed" in ready.notes
    by_ids = aligned(images=X.T, texts=Y[:40].T, image_ids=IDS, text_ids=np.arange(40), image_of_text=IDS)
    assert np.array_equal(by_ids.images.vectors, X)
    texts = Y[:40] / np.linalg.norm(Y[:40], axis=1, keepdims=True)
    assert aligned(UNIT.T, texts.T, 1).images.vectors.shape == (40, 6)
    same = aligned(X.T, Y.T, image_ids=IDS, text_ids=np.array([f"{i}#{k}" for i in IDS for k in range(5)]))
    assert np.array_equal(same.images.vectors, X)


@pytest.mark.parametrize("ids", [{}, {"image_ids": IDS, "text_ids": IDS}, {"image_of_text": np.arange(40)}])
def test_square_arrays_are_transposed_where_columns_have_unit_length(ids: dict[str, Any]) -> None:
    images, texts = (RNG.standard_normal((40, 40)) for _ in range(2))
    unit = [(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for rows in (images, texts)]
    for sides, said in (((unit[0].T, unit[1].T), True), (unit, False)):
        found = aligned(*sides, None if ids else 1, **ids)
        assert np.array_equal(found.images.vectors, unit[0])
        assert ("the arrays are (dim, item), (40, 40) and (40, 40): transposed" in found.notes) == said


def test_where_the_axes_are_not_known(refuses: Refuses) -> None:
    refused = refuses(BadInput, aligned, images=X.T, texts=Y[:40].T)
    assert "captions_per_image" not in str(refused.fix)
    (warning,) = aligned(X.T, Y[:40].T, 1).warnings
    assert warning.startswith("6 items of 40 dimensions are unusual")
    wide = aligned(images=X[:4], texts=Y[:20], image_of_text=FIVE[:20])  # fewer items than dimensions, and known
    assert wide.images.vectors.shape == (4, 6) and not wide.warnings


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
    images = (X[FIVE] * (1 + noise * RNG.standard_normal((200, 6)))).astype(np.float32)
    for scores, number in ((images @ Y.T, None), (images @ Y.T, 1), (images @ Y.T, 5), (Y @ images.T, 1)):
        refuses(BadInput, vb.evaluate, scores=scores, metrics="R@1", ci=0, captions_per_image=number)
    known = {"image_ids": np.arange(40), "image_id_of_text": FIVE}
    assert vb.evaluate(scores=X @ Y.T, **known, metrics="R@1", ci=0).results
