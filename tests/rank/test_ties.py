"""Near-ties and exact ties: rankings have the order of the float64 products, whatever the float32 products are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from tests import oracle
from tests.worlds import canonical, relevance
from vsebench.rank.count import Targets, observe
from vsebench.rank.kernels import LANES, dot64
from vsebench.rank.scorers import Dot, Matrix, System, norms, product_bound

DIM = 1024
GALLERY = 700
TILES = [None, (1, 9), (3, 37), (5, 256), (2, 699), (64, 700)]

Int = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def near() -> tuple[Int, Int]:
    """Integer vectors (5, 1024) and (700, 1024) whose inner products agree to a few parts in a billion.

    All are below 2^20, so that the products and their sums stay below 2^53: int64 and float64 are both exact,
    while float32 keeps 24 of the up to 50 bits. Every tenth gallery vector repeats an earlier one exactly.
    """
    rng = np.random.default_rng(7)
    base = rng.integers(-(2**19), 2**19, DIM)
    gallery = np.repeat(base[None], GALLERY, 0)
    for row in gallery:
        row[rng.choice(DIM, 3, replace=False)] += rng.integers(-2, 3, 3)
    for i in range(10, GALLERY, 10):
        gallery[i] = gallery[rng.integers(0, i)]
    queries = base + rng.integers(-3, 4, (5, DIM))
    assert np.abs(queries).max() * np.abs(gallery).max() * DIM < 2**53
    return queries, gallery


@pytest.fixture(scope="module")
def exact_scores(near: tuple[Int, Int]) -> list[list[int]]:
    queries, gallery = near
    return (queries @ gallery.T).tolist()  # type: ignore[no-any-return]


def as_vectors(integers: Int) -> npt.NDArray[np.float32]:
    out = np.ldexp(integers.astype(np.float32), -24)
    assert (np.ldexp(out.astype(np.float64), 24) == integers).all()
    return out


def test_float32_products_give_another_order(near: tuple[Int, Int], exact_scores: list[list[int]]) -> None:
    queries, gallery = map(as_vectors, near)
    rough = queries @ gallery.T
    for row, score in zip(rough, exact_scores, strict=True):
        assert np.argsort(-row, kind="stable").tolist() != oracle.ordering(score, range(GALLERY), set())
        spread = (max(score) - min(score)) / max(score)
        assert 0 < spread < 1e-7
        assert len(set(score)) < GALLERY


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("transposed", [False, True])
def test_near_ties_follow_the_exact_order(
    near: tuple[Int, Int], exact_scores: list[list[int]], tile: tuple[int, int] | None, transposed: bool
) -> None:
    queries, gallery = map(as_vectors, near)
    judged = relevance({q: range(q, GALLERY, 23) for q in range(len(queries))})  # some thirty a query
    system, targets = System(Dot(queries, gallery)), ([Targets("x", judged)], [])
    tile, depth, side = None if tile is None else tile[:: -1 if transposed else 1], (50, 0), int(transposed)
    if transposed:
        system, targets, depth = System(system.forward.T), targets[::-1], depth[::-1]
    for ties in ("index", "optimistic", "pessimistic"):
        observed = observe(system, targets, depth=depth, ties=ties, tile_shape=tile, threads=2)[side]
        rank = iter(observed.ranks["x"].rank.tolist())
        for q, items in oracle.positives(judged).items():
            want = oracle.query_ranks(exact_scores[q], list(range(GALLERY)), items, ties)
            assert [next(rank) for _ in items] == [int(want[g]) for g in items]
        top = observed.top
        assert top is not None
        for q, score in enumerate(exact_scores):
            assert top.items[q].tolist() == oracle.ordering(score, range(GALLERY), set())[:50]
            assert top.scores[q].tolist() == [score[g] * 2.0**-48 for g in top.items[q].tolist()]


def test_cosine_of_vectors_of_any_length() -> None:
    # cos(q, c) orders like (q.c)|q.c| / |c|^2, which is a fraction of integers and therefore exact.
    rng = np.random.default_rng(11)
    queries = rng.integers(-50, 51, (6, 40))
    gallery = rng.integers(-50, 51, (300, 40)) * rng.integers(1, 30, (300, 1))
    gallery[7], gallery[250] = gallery[100] * 4, gallery[100] * 16  # powers of two: exactly the same cosine
    product, square = queries @ gallery.T, (gallery**2).sum(1)
    exact = [[Fraction(int(p) * abs(int(p)), int(s)) for p, s in zip(row, square, strict=True)] for row in product]
    for row in exact:
        distinct = np.array(sorted({float(v) for v in row}))
        assert len(distinct) == len(set(row)) == 298
        assert np.diff(distinct).min() > 1e-9  # far above the rounding of float64
    judged = relevance({q: range(0, 300, 7) for q in range(6)})
    system = System(Dot(queries.astype(np.float32), gallery.astype(np.float32), cosine=True))
    for tile in (None, (2, 33)):
        observed = observe(system, ([Targets("x", judged)], []), depth=(300, 0), tile_shape=tile)[0]
        assert observed.top is not None
        for q, row in enumerate(exact):
            order = sorted(range(300), key=lambda g: (-row[g], g))
            assert observed.top.items[q].tolist() == order
            got = observed.ranks["x"].rank[q * 43 : (q + 1) * 43].tolist()
            assert got == [order.index(g) + 1 for g in range(0, 300, 7)]
        cosines = product / np.sqrt((queries**2).sum(1)[:, None] * square)
        assert np.allclose(observed.top.scores, -np.sort(-cosines, 1), rtol=1e-14)


def test_random_vectors_are_in_float64_order() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 384)).astype(np.float32)
    y = rng.standard_normal((900, 384)).astype(np.float32)
    scores = x.astype(np.float64) @ y.astype(np.float64).T
    assert np.diff(np.sort(scores, 1)).min() > 1e-11 and np.diff(np.sort(scores.T, 1)).min() > 1e-11
    observed = observe(System(Dot(x, y)), ([], []), depth=(900, 40))
    for found, s in zip(observed, (scores, scores.T), strict=True):
        top = found.top
        assert top is not None and (top.items == np.argsort(-s, 1)).all()
        assert np.allclose(top.scores, -np.sort(-s, 1), rtol=0, atol=1e-11)


@pytest.mark.parametrize("dim", [1, 7, 8, 9, 16, 383])
def test_the_canonical_product_is_correct_and_symmetric(dim: int) -> None:
    rng = np.random.default_rng(dim)
    x, y = rng.standard_normal((2, dim)).astype(np.float32)
    exact = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True)), Fraction(0))
    lane = np.empty(LANES)
    assert dot64(x, y, lane) == dot64(y, x, lane)
    assert abs(Fraction(float(dot64(x, y, lane))) - exact) <= Fraction(float(np.abs(x) @ np.abs(y))) * dim / 2**52
    assert norms(x[None])[0] == pytest.approx(float(np.linalg.norm(x.astype(np.float64))), rel=1e-14)


def test_canonical_cosines_are_those_of_the_exchanged_sides() -> None:
    rng = np.random.default_rng(1)
    x, y = ((rng.standard_normal((n, 33)) * rng.uniform(0.1, 30, (n, 1))).astype(np.float32) for n in (40, 90))
    for cosine in (False, True):
        scores = canonical(Dot(x, y, cosine))
        for exchanged in (Dot(y, x, cosine), Dot(x, y, cosine).T):
            assert (scores == canonical(exchanged).T).all()
    lengths = (np.linalg.norm(a.astype(np.float64), axis=1) for a in (x, y))
    expected = (x.astype(np.float64) @ y.astype(np.float64).T) / np.multiply.outer(*lengths)
    assert scores == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("dim", [3, 64, 1000])
def test_float32_errors_stay_within_the_bound(dim: int) -> None:
    rng = np.random.default_rng(dim)
    x = np.abs(rng.standard_normal((50, dim))).astype(np.float32)  # one sign: rounding errors add up
    y = np.abs(rng.standard_normal((400, dim))).astype(np.float32)
    for cosine in (False, True):
        scorer = Dot(x, y, cosine=cosine)
        for own in (scorer, scorer.T):
            error = np.abs(own.tile(slice(None), slice(None)) - canonical(own))
            assert (error <= own.error[:, None]).all() and (error <= scorer.error.max()).all()
    assert 0 < product_bound(dim) < dim * 1e-6


def test_equal_scores() -> None:
    one = np.full((6, 5), 0.3, np.float32)
    judged = relevance({c: [c] for c in range(6)})
    for ties, want in (
        ("index", [1, 2, 3, 4, 5, 6]),
        ("optimistic", [1] * 6),
        ("pessimistic", [6] * 6),
    ):
        ranks = observe(System(Dot(one, one)), ([], [Targets("x", judged)]), ties=ties)[1].ranks["x"]
        assert ranks.rank.tolist() == want
        assert ranks.tied.all()


def test_the_magnitude_of_the_smallest_integer() -> None:
    assert Matrix(np.full((2, 2), -128, np.int8)).magnitude == 128
