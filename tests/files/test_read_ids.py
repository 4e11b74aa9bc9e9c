"""Ids of many dtypes are converted to int64 or unicode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.files.ids import as_ids, canonical
from vsebench.sets.caption_files import from_file


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.array([1, 2], np.uint8), [1, 2]),
        (np.array([1, 2], ">i4"), [1, 2]),
        (np.array([1.0, 391895.0]), [1, 391895]),
        (np.array([[1], [2]]), [1, 2]),
        (np.array(["391895", "0"]), [391895, 0]),
        (np.array([b"7", b"8"]), [7, 8]),
        (np.array(["391895", "007"]), ["391895", "007"]),
        (np.array(["-1", "2"]), ["-1", "2"]),
        (np.array(["1", "9223372036854775808"]), ["1", "9223372036854775808"]),
        (np.array(["\u0661", "2"]), ["\u0661", "2"]),
        (np.array(["caf\u00e9", "cafe\u0301"]), ["caf\u00e9", "cafe\u0301"]),
        (np.array(["\u56fe\u7247.jpg".encode()]), ["\u56fe\u7247.jpg"]),
    ],
)
def test_ids_are_numbers_or_names(given: np.ndarray, expected: list[Any]) -> None:
    before = given.copy()
    ids = as_ids(given, "image_ids", "f.npz")
    assert ids.tolist() == expected and ids.dtype.kind in "iU"
    assert ids.dtype.kind != "i" or ids.dtype == np.int64
    assert np.array_equal(given, before)


@pytest.mark.parametrize(
    "given", [np.array([1.0, np.nan]), np.array([2.0**25], np.float32), np.array(5), np.array([True])]
)
def test_ids_that_are_refused(given: np.ndarray, refuses: Refuses) -> None:
    refuses(BadInput, as_ids, given, "image_ids", "f.npz")


@pytest.mark.timeout(20)  # a second; a search of the folder from every place of an id would take hours
def test_folders_of_long_ids_are_left_out() -> None:
    long = "x" * 300_000
    ids = np.array([f"a/b\\{long}1", f"a//{long}2", f"{long}3/", "/", "a//", "b"])
    assert canonical(ids).tolist() == [f"{long}1", f"{long}2", f"{long}3/", "/", "/", "b"]


@pytest.mark.parametrize("name", ["#NAME?", "#VALUE!", "#REF!", "#N/A", "7.90012E+17", "1,2e+15"])
def test_ids_that_a_spreadsheet_destroyed(name: str, tmp_path: Path, refuses: Refuses) -> None:
    refuses(BadInput, as_ids, np.array(["a", name]), "image_ids", "f.npz")
    rows = [("image", "caption"), ("a", "a dog"), (name, "a cat")]
    (tmp_path / "captions.csv").write_text("".join(f'"{a}","{b}"\n' for a, b in rows))
    refuses(BadInput, from_file, tmp_path / "captions.csv")


@pytest.mark.parametrize("name", ["#1", "NAME?", "1E5", "e+10", "3E+1x", "#NAME"])
def test_ids_that_look_a_little_like_it(name: str) -> None:
    assert as_ids(np.array(["a", name]), "image_ids", "f.npz").tolist() == ["a", name]
