"""Coarse-to-fine gains: values, bits, the grammar, and how many costly gains are computed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.messages import Refuses
from tests.word_world import TABLE, lines_of, matrix_gains, saved, whole
from vsebench.errors import UsageError
from vsebench.numeric.parallel import one_blas_thread
from vsebench.relevance import coarse, load_gains, parse_spec
from vsebench.relevance.coarse import coarse_to_fine, read_argument
from vsebench.types import TestSet

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
LEVELS = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.8, 1.0])


@st.composite
def pairs_of_gains(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(SHAPES)
    arrays = hnp.arrays(np.float32, shape, elements=LEVELS.map(float).map(lambda x: float(np.float32(x))))
    return draw(arrays), draw(arrays)


@given(pairs_of_gains(), LEVELS, st.sampled_from(["cheap", "zero"]), st.sampled_from([0.0, 0.05, 2.0]))
def test_values_by_the_definition(
    both: tuple[np.ndarray, np.ndarray], threshold: float, elsewhere: str, fraction: float
) -> None:
    cheap, costly = both
    default, coarse.ROW_FRACTION = coarse.ROW_FRACTION, fraction
    try:
        gains = coarse_to_fine(matrix_gains(cheap), matrix_gains(costly), threshold, elsewhere)
        want = np.where(cheap > np.float32(threshold), costly, cheap if elsewhere == "cheap" else np.float32(0))
        assert np.array_equal(whole(gains), want)
    finally:
        coarse.ROW_FRACTION = default


@pytest.mark.parametrize("sides", [(0, 0), (0, 1), (1, None), (None, 0), (None, None)])
def test_queries_that_either_leaves_out(sides: tuple[Any, Any]) -> None:
    rng, shape = np.random.default_rng(0), (6, 9)
    masks = [tuple(rng.random(n) < 0.5 if side == own else None for side, n in enumerate(shape)) for own in sides]
    cheap, costly = (replace(matrix_gains(np.zeros(shape, np.float32)), no_queries=mask) for mask in masks)
    gains = coarse_to_fine(cheap, costly, 0.5, "cheap")
    for side, found in enumerate((gains.no_query, gains.T.no_query)):
        known = [mask[side] for mask in masks if mask[side] is not None]
        assert (found is None) == (not known)
        assert found is None or np.array_equal(found, np.any(known, axis=0))


class Counting:
    """Gains that count the computed rows and pairs."""

    name, lowest, no_queries = "counting", None, (None, None)

    def __init__(self, values: np.ndarray, rows_affordable: bool = True) -> None:
        self.inner, self.rows_affordable = matrix_gains(values), rows_affordable
        self.shape, self.settings = self.inner.shape, {"x": "1"}
        self.n_rows = self.n_pairs = 0

    @property
    def T(self) -> Any:
        return self.inner.T

    def rows(self, start: int, stop: int) -> np.ndarray:
        assert self.rows_affordable
        self.n_rows += stop - start
        return self.inner.rows(start, stop)

    def at(self, queries: np.ndarray, items: np.ndarray) -> np.ndarray:
        self.n_pairs += items.size
        return self.inner.at(queries, items)


def test_costly_gains_are_computed_above_the_threshold_only() -> None:
    cheap = np.zeros((4, 100), np.float32)
    cheap[1, 7] = cheap[2, 3] = 0.9
    costly = Counting(np.ones((4, 100), np.float32))
    gains = coarse_to_fine(matrix_gains(cheap), costly, 0.8)
    assert gains.rows(0, 4).sum() == 2
    assert (costly.n_rows, costly.n_pairs) == (0, 2)
    gains.at(np.array([1, 3]), np.array([[7, 8], [7, 8]]))
    assert (costly.n_rows, costly.n_pairs) == (0, 3)
    gains.rows(3, 4)
    assert (costly.n_rows, costly.n_pairs) == (0, 3)
    cheap += 0.85
    assert coarse_to_fine(matrix_gains(cheap), costly, 0.8).rows(0, 4).min() == 1
    assert (costly.n_rows, costly.n_pairs) == (4, 3)
    dear = Counting(np.ones((4, 100), np.float32), rows_affordable=False)
    assert coarse_to_fine(matrix_gains(cheap), dear, 0.8).rows(0, 4).min() == 1
    assert dear.n_pairs == 400
    assert not coarse_to_fine(dear, costly, 0.8).rows_affordable


def test_name_and_settings() -> None:
    cheap, costly = Counting(np.zeros((2, 3))), matrix_gains(np.zeros((2, 3)))
    costly = replace(costly, settings={"file": "g.npy"})
    gains = coarse_to_fine(cheap, costly, 0.8)
    assert gains.name == "coarse" and gains.shape == (2, 3)
    assert dict(gains.settings) == {
        "cheap": "counting", "cheap.x": "1", "costly": "matrix", "costly.file": "g.npy", "above": "0.8",
        "elsewhere": "cheap",
    }  # fmt: skip


def test_grammar(refuses: Refuses) -> None:
    spec = parse_spec("coarse:elsewhere=zero:bow:a/b.txt:idf=yes:above=0.8:sentence:me/model:own=one")
    assert spec.kind == "coarse" and dict(spec.settings) == {"elsewhere": "zero"}
    assert read_argument(spec.argument) == ("bow:a/b.txt:idf=yes", 0.8, "sentence:me/model:own=one")
    assert parse_spec("coarse:bow:v:above=-1e-1:cider").argument == "bow:v:above=-1e-1:cider"
    nested = read_argument("bow:v:above=0.5:coarse:cider:above=2:sentence")
    assert nested == ("bow:v", 0.5, "coarse:cider:above=2:sentence")
    for text in ("coarse", "coarse:bow:v", "coarse:above=0.8:cider", "coarse:bow:v:above=0.8"):
        caught = refuses(UsageError, read_argument, parse_spec(text).argument)
        assert caught.fix is not None and caught.fix.startswith("write coarse:CHEAP:above=NUMBER:COSTLY")
    for number in ("high", "", "nan", "inf"):
        refuses(UsageError, read_argument, f"bow:v:above={number}:cider")
    refuses(UsageError, parse_spec, "coarse:elsewhere=here:bow:v:above=0.8:cider")


def test_from_files(tmp_path: Path, rng: np.random.Generator, refuses: Refuses) -> None:
    table = saved(tmp_path / "v.txt", lines_of(TABLE))
    texts = ("the cat", "a cat sat", "the dog", "dog sat", "the the")
    split = TestSet.captioned("custom", np.arange(2), np.arange(5), np.array([0, 0, 0, 1, 1]), texts)
    np.save(tmp_path / "e.npy", rng.standard_normal((5, 8)).astype(np.float32))
    cheap, costly = f"bow:{table}", f"sentence:{tmp_path / 'e.npy'}:own=out"
    gains = load_gains(f"coarse:{cheap}:above=0.8:{costly}", split)
    with one_blas_thread():
        parts = [load_gains(spec, split).T.rows(0, 5) for spec in (cheap, costly)]
        got = gains.T.rows(0, 5)
    assert np.array_equal(got, np.where(parts[0] > np.float32(0.8), parts[1], parts[0]))
    refuses(UsageError, load_gains, "coarse:bows:x:above=0.8:cider", split)
