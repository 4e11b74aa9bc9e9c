"""Nearest neighbours: the order of float64 distances, for any block size, number of threads and scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests import oracle_unimodal as oracle
from vsebench.errors import UsageError
from vsebench.unimodal.nearest import SIMILARITIES, neighbours

Vectors = npt.NDArray[np.float32]


def check(vectors: Vectors, similarity: str, k: int, **how: int) -> None:
    """Every item is a query, with all others as candidates."""
    n = len(vectors)
    found = neighbours(vectors, vectors, k, similarity, own=np.arange(n), **how)
    rows = vectors.astype(np.float64).tolist()
    assert found.tolist() == [oracle.ranking(rows, q, range(n), similarity)[:k] for q in range(n)]


@st.composite
def tied_vectors(draw: st.DrawFn) -> Vectors:
    """Vectors of few distinct small integers: there are many ties, and every distance is exact."""
    shape = (draw(st.integers(2, 14)), draw(st.integers(1, 5)))
    return draw(arrays(np.float32, shape, elements=st.integers(-2, 2).map(float)))


@given(tied_vectors(), st.data())
def test_ties_go_to_the_lower_index(vectors: Vectors, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(vectors) - 1))
    check(vectors, "euclidean", k)
    filled = vectors.copy()
    filled[~filled.any(axis=1), 0] = 1.0  # rows of zeros have no cosine
    check(filled, "dot", k)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("dim", [1, 31, 32, 70])
def test_random_vectors(rng: np.random.Generator, similarity: str, dim: int) -> None:
    vectors = rng.standard_normal((40, dim)).astype(np.float32)
    if dim == 1 and similarity == "cosine":
        vectors = np.concatenate([vectors, np.ones_like(vectors)], axis=1)
    for k in (1, 7, 39):
        check(vectors, similarity, k)


@pytest.mark.parametrize("offset", [0.0, 300.0, 1e6])
def test_vectors_far_from_the_origin(rng: np.random.Generator, offset: float) -> None:
    # A float32 product does not distinguish these items; float64 distances do.
    check((rng.standard_normal((60, 5)) + offset).astype(np.float32), "euclidean", 10)


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e12])
def test_any_scale(rng: np.random.Generator, scale: float) -> None:
    check((rng.standard_normal((30, 6)) * scale).astype(np.float32), "euclidean", 8)


def test_a_far_query_and_a_tiny_gallery(rng: np.random.Generator) -> None:
    gallery = (rng.standard_normal((50, 3)) * 1e-3).astype(np.float32)
    queries = np.array([[4096.0, 0.0, 0.0], [0.0, -1e4, 3.0]], np.float32)
    found = neighbours(queries, gallery, 50)
    # Summed coordinate by coordinate, as in the library for three of them.
    exact = [[sum((float(a) - float(b)) ** 2 for a, b in zip(q, g, strict=True)) for g in gallery] for q in queries]
    assert found.tolist() == np.argsort(np.array(exact), axis=1, kind="stable").tolist()


def test_equal_vectors_are_at_distance_zero() -> None:
    one = np.array([[0.1, 0.7, 1e5]], np.float32)
    assert neighbours(one, np.repeat(one, 5, axis=0), 5).tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_blocks_and_threads_change_nothing(rng: np.random.Generator, similarity: str) -> None:
    vectors = rng.integers(-3, 4, (200, 6)).astype(np.float32) + np.float32(0.1)
    own = np.arange(200)
    want = neighbours(vectors, vectors, 20, similarity, own, threads=1)
    for threads, block in ((1, 1), (2, 7), (3, 64), (2, None)):
        got = neighbours(vectors, vectors, 20, similarity, own, threads=threads, block=block)
        assert np.array_equal(got, want)


def test_queries_outside_the_gallery(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((30, 4)).astype(np.float32)
    found = neighbours(vectors[:5], vectors[5:], 25)
    rows = vectors.astype(np.float64).tolist()
    assert (found + 5).tolist() == [oracle.ranking(rows, q, range(5, 30)) for q in range(5)]
    # -1 means the same
    assert np.array_equal(neighbours(vectors[:5], vectors[5:], 25, own=np.full(5, -1)), found)


def test_some_queries_are_in_the_gallery(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((12, 3)).astype(np.float32)
    outside = rng.standard_normal((1, 3)).astype(np.float32)
    for similarity in SIMILARITIES:
        both = neighbours(np.concatenate([vectors[:1], outside]), vectors, 11, similarity, own=np.array([0, -1]))
        assert 0 not in both[0] and len(set(both[0].tolist())) == 11
        assert np.array_equal(both[1], neighbours(outside, vectors, 12, similarity)[0, :11])


def test_progress_counts_the_queries(rng: np.random.Generator) -> None:
    calls: list[tuple[int, int]] = []
    vectors = rng.standard_normal((20, 3)).astype(np.float32)
    neighbours(vectors, vectors, 3, threads=1, block=6, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(6, 20), (12, 20), (18, 20), (20, 20)]


def test_arguments_that_are_refused() -> None:
    vectors = np.eye(3, dtype=np.float32)
    with pytest.raises(UsageError, match="list length 3 for 2 candidates\n  fix: use 1 to 2"):
        neighbours(vectors, vectors, 3, own=np.arange(3))
    with pytest.raises(UsageError, match="list length 0 for 3"):
        neighbours(vectors, vectors, 0)
    with pytest.raises(UsageError, match="similarity is 'l2'\n  fix: use euclidean, cosine, dot"):
        neighbours(vectors, vectors, 1, "l2")
