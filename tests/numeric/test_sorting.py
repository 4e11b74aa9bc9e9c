"""Rows in order: numpy's stable sort, whatever the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsebench.numeric.elementary import MAX_NUMPY_SORT, ascending, order

Array = npt.NDArray[Any]
NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False), st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45])
)


def check(values: Array, count: Array) -> None:
    """Positions and numbers are those of a stable sort of the first ``count`` numbers of every row."""
    places, ordered = order(values, count)
    for row, n, place, out in zip(values, count.tolist(), places, ordered, strict=True):
        want = np.argsort(-row[:n], kind="stable")
        assert place[:n].tolist() == want.tolist()
        assert out[:n].tolist() == row[want].tolist()


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=40), min_size=1, max_size=5), st.booleans())
def test_any_numbers(rows: list[list[float]], long: bool) -> None:
    width = MAX_NUMPY_SORT + 40 if long else max(map(len, rows))
    rows = [row * (width // len(row)) if long else row for row in rows]
    values = np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    check(values, np.array([len(row) for row in rows]))


@pytest.mark.parametrize("width", [1, 2, 700, MAX_NUMPY_SORT, MAX_NUMPY_SORT + 1, 20_000])
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


@given(st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 5), max_size=30), st.integers(1, 10))
def test_integers_ascending(numbers: list[int], most: int) -> None:
    last = np.array(numbers, np.int64)
    first = np.arange(len(last)) * 7 % most
    expected = sorted(range(len(last)), key=lambda i: (last[i], first[i], i))
    assert ascending(first, last).tolist() == expected
