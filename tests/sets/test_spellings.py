"""Ids in other spellings, ids of both sides, numbers in place of image_of_text, and names of arrays."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from tests.worlds import world
from vsebench.errors import BadInput, UsageError
from vsebench.files.ids import match

N = 60
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 16)).astype(np.float32)
OWNER = np.repeat(np.arange(N), 5)
Y = (X[OWNER] + RNG.standard_normal((5 * N, 16))).astype(np.float32)
NAMES = np.array([f"café {i:03d}, take 0.wav" for i in range(N)])
RIGHT = [r.value for r in vb.evaluate(X, Y, metrics="R@1", ci=0).results]


def values(path: Path, **options: Any) -> list[float]:
    return [r.value for r in vb.evaluate(path, metrics="R@1", ci=0, **options).results]


SPELLINGS: dict[str, Any] = {
    "": lambda name: unicodedata.normalize("NFD", f" {name}"),
    "without folders": lambda name: f"/data/audio/{name}",
    "without file endings": lambda name: name.replace(".wav", ".FLAC"),
    "without folders and file endings": lambda name: f"a/{name.removesuffix('.wav')}",
}


@pytest.mark.parametrize("words", SPELLINGS)
@pytest.mark.parametrize("count", [1, 2, N])
def test_one_spelling_is_found_and_said(words: str, count: int) -> None:
    ids = np.array([SPELLINGS[words](name) for name in NAMES[:count]])
    found, how = match(ids, NAMES)
    assert found.tolist() == list(range(count)) and how == words
    with_captions = np.array([f"{name}#{k}" for name in ids for k in range(2)])
    known = np.array([f"{name}#{k}" for name in NAMES for k in range(2)])
    assert match(with_captions, known)[0].tolist() == list(range(2 * count))


@pytest.mark.parametrize(
    ("ids", "known", "at"),
    [
        (["20#0", "3#1"], ["003#1", "020#0"], [1, 0]),
        (["a.b", "a.c"], ["a.b.jpg", "a.c.jpg", "a.jpg"], [0, 1]),
        (["007", "8.0", "+9"], [9, 8, 7], [2, 1, 0]),  # integers on one side
        ([7, 8, 1000], ["0007", "0008", "1000"], [0, 1, 2]),
        (["007", "7", "8"], [7, 8], [0, 0, 1]),  # two spellings of one integer
        (["cafe\u0301", "caf\u00e9", "x"], ["x", "caf\u00e9"], [1, 1, 0]),
        (["5000", "total"], [5000, 5001], [0, -1]),  # one odd id does not change how the others are read
        (["COCO_val2014_000000391895.jpg", "val2014/COCO_val2014_000000000042.jpg"], [42, 391895], [1, 0]),
        (["COCO_val2014:sentid:770337"], [1, 770337], [1]),
    ],
)
def test_zeros_points_and_integers(ids: list[Any], known: list[Any], at: list[int]) -> None:
    assert match(np.array(ids), np.array(known))[0].tolist() == at


@pytest.mark.parametrize(
    ("ids", "known", "at"),
    [
        (["a", "b"], ["a.wav", "a.mp3"], [-1, -1]),  # a fits both
        (["a.wav", "a.mp3"], ["a", "b"], [-1, -1]),
        (["007", "7"], ["7", "07"], [-1, 0]),
        ([7], ["007", "07"], [-1]),
        (["x.wav"], ["y.wav"], [-1]),
        (["cat0.png", "cat1.jpg"], ["cat0.jpg", "cat1.jpg"], [-1, 1]),  # some ids are equal: the others are other items
        (["p0.v2"], ["p0.v1"], [-1]),
        (["p0.v2", "p1.v2"], ["p0", "p1"], [-1, -1]),  # a version is no file ending
        (["a.B", "b.C"], ["a.b", "b.c"], [-1, -1]),
    ],
)
def test_what_is_not_one_to_one_or_no_spelling_is_another_item(ids: list[Any], known: list[Any], at: list[int]) -> None:
    found, how = match(np.array(ids), np.array(known))
    assert how == "" and found.tolist() == at


def test_most_ids_in_one_spelling_leave_the_missing_one_named() -> None:
    stems = np.array([name.removesuffix(".wav") for name in NAMES])
    stems[7] = "another"
    found, how = match(stems, NAMES)
    assert how == "without file endings" and np.flatnonzero(found != np.arange(N)).tolist() == [7] and found[7] == -1


@pytest.mark.parametrize("texts", [lambda n: n, lambda n: n.replace(".wav", ""), lambda n: f"a/{n}"])
@pytest.mark.parametrize(("files", "name"), [(1, ""), (2, "ids"), (2, "names"), (2, "video_name")])
def test_the_same_ids_on_both_sides(texts: Any, files: int, name: str, tmp_path: Path, refuses: Refuses) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.permutation(N), rng.permutation(5 * N)
    of_images, of_texts = NAMES[a], np.array([texts(NAMES[OWNER[i]]) for i in b])
    if files == 1:
        np.savez(
            tmp_path / "e.npz", image_embeddings=X[a], text_embeddings=Y[b], image_ids=of_images, text_ids=of_texts
        )
        given: dict[str, Any] = {}
    else:
        np.savez(tmp_path / "e.npz", video_embeddings=X[a], **{name: of_images})
        np.savez(tmp_path / "t.npz", text_embeddings=Y[b], ids=of_texts)
        given = {"texts": tmp_path / "t.npz"}
    assert values(tmp_path / "e.npz", **given) == RIGHT
    refuses(UsageError, values, tmp_path / "e.npz", captions_per_image=5, **given)


COUNTS = (np.arange(N) + 1) % 3 + 2
FORMS = {
    "counts": COUNTS,
    "ends": np.cumsum(COUNTS) - 1,
    "past the ends": np.cumsum(COUNTS),
}


@pytest.mark.parametrize(
    ("name", "form"),
    [("captions_per_image", "counts"), ("captions_per_video", "counts"), ("cut_off_points", "ends"),
     ("cut_off_points", "past the ends")],
)  # fmt: skip
def test_numbers_in_place_of_image_of_text(name: str, form: str, tmp_path: Path) -> None:
    owner = np.repeat(np.arange(N), COUNTS)
    texts = Y[: len(owner)]
    np.savez(tmp_path / "e.npz", image_embeddings=X[:N], text_embeddings=texts, **{name: FORMS[form]})
    np.savez(tmp_path / "right.npz", image_embeddings=X, text_embeddings=texts, image_of_text=owner)
    options = {"trust": True}
    assert values(tmp_path / "e.npz", **options) == values(tmp_path / "right.npz", **options)


def test_ones_are_counts_only_under_a_name_of_counts(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=X, text_embeddings=Y[::5], captions_per_video=np.ones(N, int))
    right = [r.value for r in vb.evaluate(X, Y[::5], metrics="R@1", ci=0, captions_per_image=1).results]
    assert values(tmp_path / "e.npz") == right


@pytest.mark.parametrize("name", ["image_id_of_text", "image_index", "image_of_text", "in memory"])
def test_ones_are_the_image_of_every_text(name: str, tmp_path: Path) -> None:
    scores = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7], [0.2, 0.1, 0.0]])
    ids = {"image_ids": [0, 1, 2], "text_ids": [10, 11, 12]}
    given: dict[str, Any] = {"scores": scores, **ids, "image_id_of_text": [1, 1, 1]}
    if name != "in memory":
        np.savez(tmp_path / "a.npz", scores=scores, **ids, **{name: [1, 1, 1]})
        given = {"scores": tmp_path / "a.npz"}
    with pytest.warns(UserWarning):  # two images have no text
        report = vb.evaluate(**given, metrics="R@1", ci=0, trust=True)
    assert [(r.n, r.value) for r in report.results] == [(1, 1.0), (3, 1.0)]


@pytest.mark.parametrize(
    ("images", "texts", "more"),
    [
        (3, 4, {"captions_per_video": [2, 2, 2]}),
        (3, 4, {"captions_per_video": [1, 1]}),
        (3, 4, {"captions_per_video": [1, 1, 1, 1]}),
        (3, 5, {"cut_off_points": [0, 2, 3]}),  # first rows
        (3, 4, {"image_of_text": [2, 1, 1]}),  # numbers of texts under another name
        (N, 7, {"image_ids": np.arange(N), "text_ids": np.arange(7)}),  # numbers that some texts share with images
    ],
)
def test_numbers_that_name_no_image(images: int, texts: int, more: dict, tmp_path: Path, refuses: Refuses) -> None:
    np.savez(tmp_path / "e.npz", image_embeddings=X[:images], text_embeddings=Y[:texts], **more)
    refuses(BadInput, values, tmp_path / "e.npz")


@pytest.mark.parametrize(
    "names",
    [
        ("X", "Y", "X_ids", "Y_ids"),
        ("clips_emb", "said_emb", "clips_ids", "said_ids"),
        ("X", "Y", "X_names", "Y_ids"),
        ("X", "Y", "filenames", "Y_ids"),
        ("X", "Y", "names", "Y_ids"),
    ],
)
def test_ids_are_taken_beside_named_arrays(names: tuple[str, ...], tmp_path: Path) -> None:
    a = RNG.permutation(N)
    images, texts, of_images, of_texts = names
    arrays = {images: X[a], texts: Y, of_images: NAMES[a], of_texts: NAMES[OWNER]}
    np.savez(tmp_path / "e.npz", **arrays)
    assert values(tmp_path / "e.npz", image_key=images, text_key=texts) == RIGHT
    single = {images: X[a], texts: Y[::5][a], "ids": NAMES[a]}  # one array for both sides
    np.savez(tmp_path / "s.npz", **single)
    right = [r.value for r in vb.evaluate(X, Y[::5], metrics="R@1", ci=0, captions_per_image=1).results]
    assert values(tmp_path / "s.npz", image_key=images, text_key=texts) == right


@pytest.mark.parametrize("side", ["video", "audio"])
def test_names_of_other_media(side: str, tmp_path: Path) -> None:
    a = RNG.permutation(N)
    arrays = {f"{side}_embeddings": X[a], "text_embeddings": Y, f"{side}_ids": NAMES[a], "text_ids": NAMES[OWNER]}
    np.savez(tmp_path / "e.npz", **arrays)
    assert values(tmp_path / "e.npz") == RIGHT


def test_a_square_matrix_says_what_its_rows_are_taken_for() -> None:
    report = vb.evaluate(scores=X @ Y[::5].T, metrics="R@1", ci=0, captions_per_image=1)
    assert "a square matrix without ids: its rows are read as images and its columns as texts" in report.notes


def test_judgements_do_without_an_image_of_their_own(tmp_path: Path, refuses: Refuses) -> None:
    texts, made = {i: [i % 5, (i + 1) % 5] for i in range(12)}, world(12, 1, dim=8)
    vectors = made.images[:5], made.texts
    given: dict[str, Any] = {"judgements": {"mine": {"t2i": texts}}}
    report = vb.evaluate(*vectors, **given, metrics="mine:R@1,mine:mAP,mine:nDCG@3", ci=0)
    first = (vectors[1].astype(float) @ (vectors[0] / np.linalg.norm(vectors[0], axis=1)[:, None]).T).argmax(axis=1)
    assert report["mine:R@1", "t2i"].value == np.mean([first[i] in texts[i] for i in range(12)])
    assert "texts have no image: only judgements define relevance" in report.notes
    assert report.warnings == ()
    for metrics in (None, "R@1"):
        assert str(vb.evaluate(*vectors, **given, metrics=metrics, ci=0).results[0].metric).startswith("mine:")
    refuses(UsageError, vb.evaluate, *vectors, **given, metrics="gt:R@1", ci=0)
    refuses(BadInput, vb.evaluate, *vectors, metrics="R@1", ci=0)
    reports = []
    for noise in (0.0, 2.0):
        noisy = made.texts + noise * np.random.default_rng(1).standard_normal(made.texts.shape)
        vb.evaluate(vectors[0], noisy, **given, metrics="mine:R@1", resamples=50).save(tmp_path / "r.json")
        reports.append(vb.load(tmp_path / "r.json"))
    assert reports[0]["mine:R@1", "t2i"].interval is not None
    assert any("paired by row number" in note for note in vb.compare(*reports, permutations=50).notes)
    reports[0].to_html()


def test_systems_in_other_orders_are_warned_of() -> None:
    rng = np.random.default_rng(4)
    order, texts = rng.permutation(N), Y.reshape(N, 5, -1)
    noisy = texts + 0.5 * rng.standard_normal(texts.shape)
    one = vb.evaluate(X, Y, metrics="R@1", ci=0)
    same, other = (vb.evaluate(X[o], noisy[o].reshape(-1, 16), metrics="R@1", ci=0) for o in (np.arange(N), order))
    assert vb.compare({"A": one, "B": same}, permutations=50).warnings == ()
    with pytest.warns(vb.VsebenchWarning, match="A and B "):
        vb.compare({"A": one, "B": other}, permutations=50)
