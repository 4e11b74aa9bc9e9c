"""Orders, lists and ranks are exact whatever the rounding errors of the BLAS: vectors that make them large."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hard_vectors import faults, hard_vectors, outliers
from vsebench.rank import order as ordering
from vsebench.rank import scorers
from vsebench.rank.scorers import Dot


def test_hard_vectors() -> None:
    """With the kernels of this processor; those of others are in ``tests/numeric/test_any_processor.py``."""
    assert faults() == []


@pytest.mark.parametrize("dim", [3, 100, 1024])
def test_errors_stay_within_the_bounds(dim: int, rng: np.random.Generator) -> None:
    for name, images, captions, exact in (*hard_vectors(dim, rng), *outliers(dim)):
        scorer = Dot(images, captions)
        for k in (1, len(captions)):
            queries = np.arange(len(images))
            tile, bound = ordering.float64_rows(scorer, queries, None)
            if k == 1:
                bound = ordering.float32_bound(scorer, queries)
                tile = scorer.tile(slice(None), slice(None))
            error = tile.astype(np.float64) - exact
            if k > 1:  # a number is subtracted from all scores of a query
                error = tile - (exact - exact[:, :1]) - tile[:, :1].astype(np.float64)
            allowed = bound.rate * (np.abs(tile) + np.abs(tile[:, :1]) * (k > 1)) + (1 + (k > 1)) * bound.base[:, None]
            assert (np.abs(error) <= allowed).all(), (name, k)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_rows_in_threads_are_the_scores(wide: bool, cosine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorers, "THREAD_SCORES", 21)  # three items of the gallery at a time
    monkeypatch.setenv("VSEBENCH_NUM_THREADS", "3")
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal((n, 16)).astype(np.float32) for n in (20, 35))
    queries = np.array([1, 4, 5, 9, 12, 17, 19])
    found = scorers.rows_in_threads(Dot(x, y, cosine), queries, wide=wide)
    if cosine:
        x, y = (a / np.linalg.norm(a.astype(np.float64), axis=1, keepdims=True) for a in (x, y))
    scores = x.astype(np.float64) @ y.astype(np.float64).T
    assert np.allclose(found, scores[queries], rtol=0, atol=1e-13 if wide else 1e-5)
