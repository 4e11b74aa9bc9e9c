"""Rows in order: numpy's stable sort, whatever the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsebench.numeric.sort import SHORT, order
from vsebench.numeric.sort_kernels import pack

Array = npt.NDArray[Any]
NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45]),
)


def check(values: Array, count: Array) -> None:
    """Positions and numbers are those of a stable sort of the first ``count`` numbers of every row."""
    places, ordered = order(values, count)
    for row, n, place, out in zip(values, count.tolist(), places, ordered, strict=True):
        want = np.argsort(-row[:n], kind="stable")
        assert place[:n].tolist() == want.tolist()
        assert out[:n].tolist() == row[want].tolist()


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=40), min_size=1, max_size=5))
def test_any_numbers(rows: list[list[float]]) -> None:
    values = np.zeros((len(rows), max(map(len, rows))), np.float32)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    check(values, np.array([len(row) for row in rows]))


@pytest.mark.parametrize("width", [1, 2, 700, SHORT, SHORT + 1, 20_000])
@pytest.mark.parametrize("shape", ["normal", "skewed", "few values", "heavy tails", "one apart", "rising", "masked"])
def test_long_rows(shape: str, width: int, rng: np.random.Generator) -> None:
    normal = rng.standard_normal((2, width))
    values = {
        "normal": normal,
        "skewed": np.exp(2 * normal),
        "few values": np.round(normal),
        "heavy tails": normal / np.maximum(np.abs(rng.standard_normal((2, width))), 1e-12),
        "one apart": np.where(np.arange(width) == width // 3, 1e30, normal),
        "rising": np.arange(2 * width).reshape(2, width) + 0 * normal,
        "masked": np.where(rng.random((2, width)) < 0.01, -np.inf, normal),
    }[shape].astype(np.float32)
    check(values, np.array([width, width // 2]))


def test_an_empty_row_is_left_alone() -> None:
    places, ordered = order(np.ones((2, 3), np.float32), np.array([0, 0]))
    assert places.shape == ordered.shape == (2, 1)


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_keys_keep_the_order(numbers: list[float]) -> None:
    values = np.array([numbers], np.float32)
    n = values.shape[1]
    for kind in (np.uint32, np.uint64):
        keys = np.empty((1, n), kind)
        pack(values, np.array([n]), 6, keys)
        codes = (keys[0] >> kind(6)).astype(np.int64)
        assert (keys[0] & kind(63)).tolist() == list(range(n))
        down = np.argsort(-values[0], kind="stable")
        assert (np.diff(codes[down]) >= 0).all()
        same = values[0][down][1:] == values[0][down][:-1]
        assert (np.diff(codes[down])[same] == 0).all()


@pytest.mark.parametrize("shape", ["scores", "gains"])
def test_keys_tell_most_numbers_apart(shape: str, rng: np.random.Generator) -> None:
    """What makes the sort fast: few numbers share an integer, so little is left to settle."""
    values = rng.normal(0.1, 0.05, (1, 5000)).astype(np.float32)
    if shape == "gains":
        values = np.exp(3 * rng.standard_normal((1, 5000)) - 4).astype(np.float32)
    keys = np.empty((1, 5000), np.uint32)
    pack(values, np.array([5000]), 13, keys)
    assert len(np.unique(keys >> np.uint32(13))) > 4000
