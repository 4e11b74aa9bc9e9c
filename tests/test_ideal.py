"""Ideal lists: the order of a full stable sort, whatever the size, the ties, the threads and the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.test_cider import split_of
from vsebench.errors import UsageError
from vsebench.relevance import ideal
from vsebench.relevance.cider import gains as cider
from vsebench.types import DIRECTIONS, Direction, Int, Vectors


class Held:
    """Gains that are a matrix (image, caption) in memory."""

    name, settings, notes = "held", {}, ()  # type: ignore[var-annotated]

    def __init__(self, values: np.ndarray):
        self.values = np.asarray(values, np.float32)
        self.shape: tuple[int, int] = self.values.shape  # type: ignore[assignment]

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        return np.array((self.values if direction == "i2t" else self.values.T)[start:stop])

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        return np.take_along_axis(self.rows(direction, 0, 10**9)[queries], items, 1)


def check(values: np.ndarray, k: int, threads: int = 1) -> None:
    """Both directions against a stable sort."""
    for direction in DIRECTIONS:
        matrix = np.asarray(values if direction == "i2t" else values.T, np.float64)
        want = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
        found = ideal.top(Held(values), direction, k, threads)
        assert found.items.dtype == np.int64 and found.scores.dtype == np.float64
        assert np.array_equal(found.items, want)
        assert np.array_equal(found.scores, np.take_along_axis(matrix, want, 1))


FEW = st.sampled_from(np.array([-np.inf, -2, -0.0, 0.0, 1e-40, 0.5, 3, np.inf], np.float32).tolist())


@given(
    npst.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=FEW),
    st.integers(1, 45),
    st.sampled_from([0, 12, 10**9]),
)
def test_every_size_and_tie(values: np.ndarray, k: int, many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ideal, "MANY", many)
        check(values, k)


@pytest.mark.parametrize("kind", ["random", "rising", "falling", "constant", "mostly zero", "two values"])
@pytest.mark.parametrize("k", [1, 10, 100, 900])
def test_long_rows(kind: str, k: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal((12, 4000)).astype(np.float32)
    values = {
        "random": values,
        "rising": np.sort(values, 1),
        "falling": -np.sort(values, 1),
        "constant": np.full_like(values, 0.25),
        "mostly zero": np.where(rng.random(values.shape) < 0.01, values, 0),
        "two values": (values > 1).astype(np.float32),
    }[kind]
    check(values, k)


def test_a_sample_that_misleads(rng: np.random.Generator) -> None:
    # The places that are sampled hold the largest values, so too few reach the threshold.
    values = rng.random((3, 2560)).astype(np.float32)
    values[:, ::10] += 5
    check(values, 200)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_and_blocks_do_not_matter(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ideal, "BLOCK_BYTES", 4 * 130 * 3)
    check(np.random.default_rng(3).integers(0, 9, (61, 130)), 5, threads)


def test_depth_is_clipped_and_checked() -> None:
    assert ideal.top(Held(np.zeros((2, 3))), "i2t", 10).items.tolist() == [[0, 1, 2]] * 2
    with pytest.raises(UsageError, match="list depth 0 is below 1"):
        ideal.top(Held(np.zeros((2, 3))), "i2t", 0)


def test_of_cider() -> None:
    gains = cider.load(split_of([["a dog runs", "the dog"], ["a cat runs"], ["a bird flies by"]]), None, {})
    for direction in DIRECTIONS:
        n = gains.shape[0 if direction == "i2t" else 1]
        found, matrix = ideal.top(gains, direction, 2), gains.rows(direction, 0, n)
        assert np.array_equal(found.items, np.argsort(-matrix, axis=1, kind="stable")[:, :2])


def test_progress_ends_at_one() -> None:
    told: list[float] = []
    ideal.top(Held(np.zeros((50, 3))), "i2t", 1, threads=2, progress=told.append)
    assert max(told) == 1.0 and all(0 < share <= 1 for share in told)
