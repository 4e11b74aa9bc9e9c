"""Nearest neighbours: the order of float64 distances, for any block size, number of threads and scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests import oracle_unimodal as oracle
from tests.messages import Refuses
from tests.worlds import canonical
from vsebench.errors import BadInput, UsageError
from vsebench.rank.order import float64_bound, order
from vsebench.unimodal.scorers import SIMILARITIES, Distance, nearest, scorer_of

Vectors = npt.NDArray[np.float32]


def lists(
    queries: Vectors, gallery: Vectors, k: int, similarity: str = "euclidean", own: bool = False
) -> npt.NDArray[np.int64]:
    every = np.arange(len(queries))
    return nearest(scorer_of(queries, gallery, similarity), every, k, every if own else None)


def check(vectors: Vectors, similarity: str, k: int) -> None:
    """Every item is a query, with all others as candidates."""
    n = len(vectors)
    found = lists(vectors, vectors, k, similarity, own=True)
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
    vectors = (rng.standard_normal((60, 5)) + offset).astype(np.float32)
    check(vectors, "euclidean", 10)
    scorer = scorer_of(vectors[:20], vectors[20:] * np.float32(1.001), "euclidean")
    other = scorer_of(vectors[20:] * np.float32(1.001), vectors[:20], "euclidean")
    assert np.array_equal(canonical(scorer).T, canonical(scorer.T)) and np.array_equal(scorer.T.error, other.error)
    for own in (scorer, scorer.T, scorer.take(np.arange(3, 9), slice(1, 30))):
        assert isinstance(own, Distance)
        for wide, bound in ((False, own.error), (True, float64_bound(own, np.arange(len(own.x))).base)):
            error = np.abs(own.tile(slice(None), slice(None), wide=wide) - canonical(own))
            assert (error <= bound[:, None]).all()
    assert np.array_equal(np.argsort(-canonical(scorer), axis=1, kind="stable"), order(scorer, np.arange(20), 40).items)


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e12])
def test_any_scale(rng: np.random.Generator, scale: float) -> None:
    check((rng.standard_normal((30, 6)) * scale).astype(np.float32), "euclidean", 8)


def test_a_far_query_and_a_tiny_gallery(rng: np.random.Generator) -> None:
    gallery = (rng.standard_normal((50, 3)) * 1e-3).astype(np.float32)
    queries = np.array([[4096.0, 0.0, 0.0], [0.0, -1e4, 3.0]], np.float32)
    found = lists(queries, gallery, 50)
    # Summed coordinate by coordinate, as in the library for three of them.
    exact = [[sum((float(a) - float(b)) ** 2 for a, b in zip(q, g, strict=True)) for g in gallery] for q in queries]
    assert found.tolist() == np.argsort(np.array(exact), axis=1, kind="stable").tolist()


def test_equal_vectors_are_at_distance_zero() -> None:
    one = np.array([[0.1, 0.7, 1e5]], np.float32)
    assert lists(one, np.repeat(one, 5, axis=0), 5).tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_blocks_change_nothing(rng: np.random.Generator, similarity: str) -> None:
    vectors = rng.integers(-3, 4, (200, 6)).astype(np.float32) + np.float32(0.1)
    want = lists(vectors, vectors, 20, similarity, own=True)
    scorer = scorer_of(vectors, vectors, similarity)
    for block in (1, 7, 64):
        parts = [np.arange(a, min(a + block, 200)) for a in range(0, 200, block)]
        assert np.array_equal(np.concatenate([nearest(scorer, some, 20, some) for some in parts]), want)


def test_queries_outside_the_gallery(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((30, 4)).astype(np.float32)
    found = lists(vectors[:5], vectors[5:], 25)
    rows = vectors.astype(np.float64).tolist()
    assert (found + 5).tolist() == [oracle.ranking(rows, q, range(5, 30)) for q in range(5)]


def test_vectors_that_are_refused(refuses: Refuses) -> None:
    refuses(UsageError, scorer_of, np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), "l2")
    refuses(BadInput, scorer_of, np.eye(3, dtype=np.float32), np.full((1, 1), 1e20, np.float32), "euclidean")
