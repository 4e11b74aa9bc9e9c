"""Files of one modality: vectors, labels and queries, matched by id, and the errors of faulty files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.messages import Refuses
from tests.notes import with_notes
from vsebench import evaluate_unimodal
from vsebench.errors import BadInput, UsageError
from vsebench.results.report import Report
from vsebench.unimodal.files import read_labels_array, read_vectors
from vsebench.unimodal.labels import read_labels
from vsebench.unimodal.queries import read_queries

X = np.arange(12, dtype=np.float32).reshape(4, 3)
IDS = np.array([7, 5, 9, 6])


def test_vectors_of_every_name(tmp_path: Path, refuses: Refuses) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.float16))
    read = read_vectors(tmp_path / "x.npy", "image")
    assert np.array_equal(read.values, X) and read.values.dtype == np.float32 and read.image_ids is None
    for name in ("embeddings", "features", "image_embeddings", "images"):
        np.savez(tmp_path / "x.npz", **{name: X, "ids": IDS})
        read = read_vectors(tmp_path / "x.npz", "image")
        assert np.array_equal(read.values, X) and read.image_ids is not None and read.image_ids.tolist() == IDS.tolist()
    np.savez(tmp_path / "x.npz", images=X, captions=2 * X, image_ids=IDS, caption_ids=IDS + 1)
    read = read_vectors(tmp_path / "x.npz", "caption")
    assert np.array_equal(read.values, 2 * X) and read.image_ids is not None and read.image_ids[0] == 8
    np.savez(tmp_path / "x.npz", deep=X, ids=IDS)
    assert with_notes(read_vectors, tmp_path / "x.npz", "image").notes == (
        "image vectors are read from 'deep', the only two-dimensional array",
    )
    np.savez(tmp_path / "x.npz", one=X, two=2 * X)
    assert np.array_equal(read_vectors(tmp_path / "x.npz", "image", "two").values, 2 * X)
    refuses(BadInput, read_vectors, tmp_path / "x.npz", "image")
    np.savez(tmp_path / "y.npz", text_embeddings=X, ids=IDS)
    assert np.array_equal(read_vectors(tmp_path / "y.npz", "caption").values, X)
    refuses(BadInput, read_vectors, tmp_path / "y.npz", "image")
    np.savez(tmp_path / "y.npz", clip_features=X)
    assert np.array_equal(read_vectors(tmp_path / "y.npz", "caption").values, X), "clip may be the model"
    refuses(UsageError, read_vectors, tmp_path / "x.npy", "image", "one")
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    assert with_notes(read_vectors, tmp_path / "x.npy", "image").notes == (
        "vectors are float64 in the file and ranked as float32",
    )


def test_vectors_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "x.npy"
    for array in (
        np.zeros((2, 3, 4), np.float32),
        np.zeros((0, 3), np.float32),
        X.astype(int),
        np.where(X == 4, np.nan, X),
        X * np.float32(1e20),
    ):
        np.save(path, array)
        refuses(BadInput, read_vectors, path, "image")
    np.savez(tmp_path / "x.npz", images=X, image_ids=IDS[:3])
    refuses(BadInput, read_vectors, tmp_path / "x.npz", "image")
    np.savez(tmp_path / "x.npz", images=X, image_ids=[1, 2, 1, 3])
    refuses(BadInput, read_vectors, tmp_path / "x.npz", "image")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    refuses(BadInput, read_vectors, tmp_path / "x.csv", "image")


def test_labels_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "y.npz"
    for array in (np.array([["a", "b"]]), np.array(3.0), np.zeros((4, 0))):
        np.savez(path, labels=array)
        refuses(BadInput, read_labels_array, path)
    np.savez(path, a=X, b=X)
    refuses(BadInput, read_labels_array, path)
    assert read_labels_array(path, key="a").values.shape == X.shape


def test_the_shape_decides_the_distance(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "y.npy"

    def kind(array: np.ndarray, label_distance: str | None = None) -> str:
        np.save(path, array)
        return read_labels(path, label_distance, None).name.partition("#")[0]

    assert kind(np.zeros((4, 3))) == kind(np.zeros((4, 2, 3))) == kind(np.zeros(4)) == "euclidean"
    assert kind(np.zeros((4, 4)), "precomputed") == "precomputed"
    assert kind(np.zeros((4, 4)), "euclidean") == "euclidean"
    assert kind(np.zeros((4, 2, 2), int), "miou") == "miou"
    assert kind(np.zeros((4, 2, 2), int), "miou:ignore=255") == "miou,ignore=255"
    refuses(UsageError, kind, np.zeros((4, 4)))
    refuses(UsageError, kind, np.zeros((4, 2, 2), int))
    refuses(UsageError, kind, np.zeros((4, 4)), "precompute")
    refuses(UsageError, kind, np.zeros((4, 4)), "euclidean:squared")
    refuses(UsageError, kind, np.zeros((4, 2, 2), int), "miou:void=1")
    refuses(UsageError, kind, np.zeros((4, 4)), "wmd")
    refuses(UsageError, kind, np.zeros((4, 4)), "wmd:words.txt:tokens=x")
    refuses(UsageError, read_labels, path, "wmd:words.txt", None, key="x")


def test_labels_are_matched_by_id(tmp_path: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    vectors, labels = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    ids, order = np.array([31, 2, 15, 8, 4, 77]), rng.permutation(6)
    distances = np.linalg.norm(labels[:, None] - labels[None], axis=2)
    np.savez(tmp_path / "x.npz", images=vectors, image_ids=ids)
    np.savez(tmp_path / "plain.npz", labels=labels)
    np.savez(tmp_path / "mixed.npz", labels=labels[order], image_ids=ids[order])
    np.savez(tmp_path / "named.npz", labels=labels[order], image_ids=ids[order].astype(str))
    np.savez(
        tmp_path / "more.npz", labels=np.concatenate([[[9, 9]], labels[order]]), ids=np.concatenate([[1], ids[order]])
    )
    np.savez(tmp_path / "distances.npz", distances=distances[np.ix_(order, order)], ids=ids[order])

    def evaluate(name: str, **options: str) -> Report:
        return evaluate_unimodal(tmp_path / "x.npz", tmp_path / name, metrics="MLD@3", ci=0, **options)  # type: ignore[arg-type]

    def measured(name: str, **options: str) -> float:
        return evaluate(name, **options).results[0].value

    want = measured("plain.npz")
    for name in ("mixed.npz", "named.npz", "more.npz"):
        assert measured(name) == want
    assert measured("distances.npz", label_distance="precomputed") == pytest.approx(want, abs=1e-12)
    (tmp_path / "q.txt").write_text("15\n4\n", encoding="utf-8")
    report = evaluate("mixed.npz", queries=str(tmp_path / "q.txt"))
    assert "labels are matched to the items by id" in report.notes
    assert report.results[0].queries is not None and report.results[0].queries.tolist() == [15, 4]
    assert [i["file"] for i in report.provenance["inputs"]] == ["x.npz", "mixed.npz", "q.txt"]
    np.savez(tmp_path / "few.npz", labels=labels[1:], ids=ids[1:])
    refuses(BadInput, measured, "few.npz")
    np.savez(tmp_path / "few.npz", labels=labels[1:])
    refuses(BadInput, measured, "few.npz")


def test_queries_by_number_and_by_file(tmp_path: Path, refuses: Refuses) -> None:
    def queries(text: str, ids: np.ndarray | None = None) -> list[int]:
        (tmp_path / "q.txt").write_text(text, encoding="utf-8")
        return read_queries(str(tmp_path / "q.txt"), 4, ids).tolist()

    assert read_queries("2", 4, None).tolist() == [0, 1]
    assert queries("3\n\n 0 \n") == [3, 0]
    assert queries("6\n7\n", IDS) == [3, 0]
    assert queries("b\na\n", np.array(["a", "b", "c"])) == [1, 0]
    for array, want in ((np.array([2, 0]), [2, 0]), (np.array([True, False, False, True]), [0, 3])):
        np.save(tmp_path / "q.npy", array)
        assert read_queries(str(tmp_path / "q.npy"), 4, None).tolist() == want
    refuses(BadInput, queries, "b\n")
    refuses(BadInput, queries, "7\n8\n", IDS)
    refuses(BadInput, queries, "\n")
    np.save(tmp_path / "q.npy", np.array([True, False]))
    refuses(BadInput, read_queries, str(tmp_path / "q.npy"), 4, None)
    np.save(tmp_path / "q.npy", np.array(["a", None], dtype=object), allow_pickle=True)
    refuses(BadInput, read_queries, str(tmp_path / "q.npy"), 4, None)
    for number in ("0", "4", "9" * 30):
        refuses(UsageError, read_queries, number, 4, None)
    refuses(BadInput, read_queries, str(tmp_path / "missing.txt"), 4, None)
    np.savez(tmp_path / "q.npz", a=X)
    refuses(BadInput, read_queries, str(tmp_path / "q.npz"), 4, None)
