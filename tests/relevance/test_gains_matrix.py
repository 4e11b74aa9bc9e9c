"""Gains from a file or an array: orientation, ids, half precision, memory maps, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import vsebench
from tests.messages import Refuses
from tests.word_world import matrix_gains, whole
from vsebench.errors import BadInput, UsageError
from vsebench.log import Log
from vsebench.relevance import load_gains, parse_spec
from vsebench.relevance.matrix import Stored
from vsebench.types import TestSet

SPLIT = TestSet.captioned("custom", np.array([5, 3]), np.array([70, 71, 72]), np.array([0, 0, 1]))
ROUNDED = ("matrix: float64: rounded to float32",)
PLACED = "matrix: g.npy: no image and text ids: rows are assumed to be in the order of the evaluated items"
VALUES = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, 7.5]])
FINITE = st.floats(-1e6, 1e6, width=32)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=FINITE))
def test_rows_and_pairs_are_copies_of_the_matrix(values: np.ndarray) -> None:
    gains = matrix_gains(values)
    assert np.array_equal(whole(gains), values.astype(np.float32))
    assert gains.T.rows(0, values.shape[1]).flags.c_contiguous
    kept = values.astype(np.float32)
    gains = matrix_gains(kept)
    for some in (gains.rows(0, 1), gains.T.rows(0, 1), gains.at(np.array([0]), np.array([[0]]))):
        some[...] = 9
    assert np.array_equal(kept, values.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("transposed", [False, True])
def test_files_in_either_orientation(tmp_path: Path, dtype: type, transposed: bool, log: Log) -> None:
    path = tmp_path / "g.npy"
    np.save(path, (VALUES.T if transposed else VALUES).astype(dtype))
    gains = load_gains(str(path), SPLIT)
    assert isinstance(gains.values, Stored)
    assert gains.shape == (2, 3) and gains.name == "matrix"
    assert log.notes in ([PLACED], [PLACED, *ROUNDED])
    assert np.array_equal(gains.rows(0, 2), VALUES.astype(dtype).astype(np.float32))
    assert np.array_equal(gains.T.rows(1, 3), VALUES.T[1:].astype(dtype).astype(np.float32))
    assert gains.settings["rows"] == ("captions" if transposed else "images")
    base = gains.values.values
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_a_square_matrix_is_ambiguous(tmp_path: Path, log: Log) -> None:
    split = TestSet.captioned("custom", np.arange(2), np.arange(2), np.array([0, 1]))
    np.save(tmp_path / "g.npy", VALUES[:, :2])
    gains = load_gains(str(tmp_path / "g.npy"), split)
    square = "matrix: the matrix of gains is square: its rows are read as images (else add :rows=captions)"
    assert log.notes == [square, PLACED, *ROUNDED]
    log.weights.clear()
    assert np.array_equal(gains.rows(0, 2), VALUES[:, :2])
    chosen = load_gains(f"{tmp_path / 'g.npy'}:rows=captions", split)
    assert log.notes == [PLACED, *ROUNDED]
    assert np.array_equal(chosen.rows(0, 2), VALUES[:, :2].T)
    assert chosen.settings != gains.settings


def test_a_file_with_names_and_ids(tmp_path: Path, log: Log, refuses: Refuses) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, gains=VALUES[::-1][:, [2, 0, 1]], image_ids=np.array([3, 5]), text_ids=np.array([72, 70, 71]))
    gains = load_gains(str(path), SPLIT)
    assert np.array_equal(gains.rows(0, 2), VALUES)
    assert np.array_equal(gains.T.rows(1, 2), VALUES.T[1:2])
    assert np.array_equal(gains.T.at(np.array([2, 0]), np.array([[1, 0], [0, 0]])), [[7.5, 2.0], [0.5, 0.5]])
    np.savez(path, gains=VALUES, image_ids=np.array([3, 6]))
    refuses(BadInput, load_gains, str(path), SPLIT)
    np.savez(path, mine=VALUES)
    log.weights.clear()
    load_gains(str(path), SPLIT)
    assert log.notes == [
        "matrix: gains are read from 'mine', the only two-dimensional array",
        PLACED.replace("npy", "npz"),
        *ROUNDED,
    ]
    np.savez(path, mine=VALUES, other=VALUES)
    refuses(BadInput, load_gains, str(path), SPLIT)


@pytest.mark.parametrize(("value", "dtype"), [(np.nan, np.float32), (-np.inf, np.float16), (1e300, np.float64)])
def test_values_that_are_not_finite_are_refused(tmp_path: Path, value: float, dtype: type, refuses: Refuses) -> None:
    values = VALUES.astype(dtype)
    values[1, 2] = value
    for name, array in (("g.npy", values), ("t.npy", values.T)):
        np.save(tmp_path / name, array)
        refuses(BadInput, load_gains, str(tmp_path / name), SPLIT)
    refuses(BadInput, matrix_gains, values)


def test_the_wrong_array_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "g.npy"
    for array in (
        VALUES[:, :2], VALUES[0], VALUES.astype(np.complex64), np.array([[object()]]), VALUES * 1e-310, VALUES * 1e300,
    ):  # fmt: skip
        np.save(path, array, allow_pickle=True)
        refuses(BadInput, load_gains, str(path), SPLIT)
    np.save(path, VALUES.astype(np.int8))
    assert load_gains(str(path), SPLIT).rows(0, 2).tolist() == np.trunc(VALUES).tolist()
    for name in (f"{path}:rows=captions", str(tmp_path / "g2.npy")):
        refuses(BadInput, load_gains, name, SPLIT)


def test_the_signature_depends_on_the_content() -> None:
    other = VALUES.copy()
    other[0, 0] += 1e-9
    settings = [dict(matrix_gains(v).settings) for v in (VALUES, VALUES.copy(), other, VALUES.astype(np.float32))]
    assert settings[0] == settings[1]
    assert len({s["sha256"] for s in settings}) == 3


def test_specifications(refuses: Refuses) -> None:
    spec = parse_spec("a/b.npz:rows=captions")
    assert (spec.kind, spec.argument, dict(spec.settings)) == ("matrix", "a/b.npz", {"rows": "captions"})
    for text in ("b.npy:row=captions", "b.npy:rows=texts", "matrix", "g.npy:negative=zero:negative=keep",
                 "cider:own=in:own=out"):  # fmt: skip
        refuses(UsageError, load_gains, text, SPLIT)


def test_only_zeros_and_ones_are_of_judgements(rng: np.random.Generator) -> None:
    gains = (rng.random((4, 8)) > 0.5).astype(float)
    assert matrix_gains(gains).of_judgements and matrix_gains(np.zeros((4, 8))).of_judgements
    gains[3, 7] = 0.5
    assert not matrix_gains(gains).of_judgements


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float64])
def test_zeros_and_ones_have_no_pseudo_positives(dtype: Any, rng: np.random.Generator, refuses: Refuses) -> None:
    images = rng.standard_normal((60, 16))
    texts = np.repeat(images, 5, axis=0) + 1.5 * rng.standard_normal((300, 16))
    truth = (np.arange(300) // 5 == np.arange(60)[:, None]).astype(dtype)
    report = vsebench.evaluate(images, texts, gains=truth, ci=0, metrics="gt:nDCG@5,graded")
    for direction in ("i2t", "t2i"):
        assert report["matrix:nDCG@5", direction].value == report["gt:nDCG@5", direction].value
    left = [note for note in report.notes if "gains of 'matrix' are only 0 and 1: these are binary judgements" in note]
    assert len(left) == 1 and "matrix:SR@5, " in left[0] and "nDCG" not in left[0]
    refuses(BadInput, vsebench.evaluate, images, texts, gains=truth, ci=0, metrics="matrix:R[unit=image]@1")
