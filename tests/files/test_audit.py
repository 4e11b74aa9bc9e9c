"""The checks of vectors and scores, one fault at a time, on arrays of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.files import raw
from vsebench.files.raw import Raw, check_vectors, format_id
from vsebench.log import logged
from vsebench.rank.scorers import Dot
from vsebench.sets.items import align_embeddings
from vsebench.types import TestSet

WHERE = Path("e.npz")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)).astype(np.float32)
Y = RNG.standard_normal((200, 6)).astype(np.float32)
IDS = np.arange(40) + 100


def check(images: np.ndarray, texts: np.ndarray = Y, image_ids: np.ndarray | None = None) -> None:
    check_vectors(images, texts, WHERE, image_ids, None)


def with_row(row: int, value: float, dtype: str = "float32") -> np.ndarray:
    """X with one row filled."""
    out = X.astype(dtype)
    out[row] = value
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_the_first_bad_row_is_named(dtype: str, refuses: Refuses) -> None:
    check(X.astype(dtype), Y.astype(dtype), IDS)
    check(np.asfortranarray(X.astype(dtype)), Y[::-1].astype(dtype))
    for value in (np.nan, np.inf, -np.inf):
        images = with_row(7, value, dtype)
        images[31] = np.nan
        refuses(BadInput, check, images)
        refuses(BadInput, check, images[:31], image_ids=IDS)
        refuses(BadInput, check, X, np.concatenate([Y.astype(dtype), images]))


@pytest.mark.parametrize("most", [raw.CHUNK_NUMBERS, 0], ids=["blocks", "rows"])
def test_rows_that_no_scorer_can_multiply(most: int, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    monkeypatch.setattr(raw, "CHUNK_NUMBERS", most)
    refuses(BadInput, check, with_row(3, 0))
    refuses(BadInput, check, with_row(3, -0.0), image_ids=IDS)
    refuses(BadInput, check, X, np.zeros_like(Y))
    refuses(BadInput, check, with_row(39, np.nan))
    for value in (1e-30, 1e30, -1e30, 3e38, 1e-40):
        refuses(BadInput, check, with_row(9, value))
    with np.errstate(all="raise"):
        for value in (1e300, 1e-300, 1e39):
            refuses(BadInput, check, with_row(9, value, "float64"))


def test_the_safe_range_is_that_of_the_scorer() -> None:
    for scale in (1.1e-15, 1e14):
        vectors = np.full((2, 6), scale, np.float32)
        check(vectors)
        assert Dot(vectors, np.eye(6, dtype=np.float32)).shape == (2, 6)  # vectors that pass are accepted


def test_rounding_of_float64_is_noted_when_it_changes_a_value() -> None:
    for finer in (0.0, 1e-12):
        with logged() as log:
            align_embeddings(Raw((X + np.float64(finer), Y), sources=(WHERE,)), None)
        assert ("image vectors are float64: rounded to float32" in log.notes) == (finer > 0)


def test_in_order_counts_rows(refuses: Refuses) -> None:
    split = TestSet.captioned("custom", IDS, np.arange(200), np.arange(200) // 5)
    ready, _ = align_embeddings(Raw((X, Y), sources=(WHERE,)), split)
    assert ready.split is split and ready.rows == (None, None)
    refuses(BadInput, align_embeddings, Raw((X[:39], Y), sources=(WHERE,)), split)


def test_long_ids_are_cut() -> None:
    assert format_id("x" * 60) == "x" * 60
    assert format_id("x" * 61) == "x" * 59 + "…" and format_id(391895) == "391895"
