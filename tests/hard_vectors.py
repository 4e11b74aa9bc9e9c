"""Vectors that are hard for float32 products: are they ranked exactly, by this BLAS?

All numbers are integers times a power of two, small enough for their inner products to be exact in float64 in any order
of summation, so that the orders are known. In float32 they are rounded at every step, most of them in one direction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.worlds import relevance
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, System

Vectors = npt.NDArray[Any]
IMAGES, CAPTIONS = 71, 131


def integers(dim: int, rng: np.random.Generator) -> Iterator[tuple[str, Vectors, Vectors]]:
    """Names, and (image, dim) and (caption, dim) int64 vectors; the sums of their products are below 2^53."""

    def near(mean: int, spread: int) -> list[Vectors]:
        """A large common mean and small differences."""
        return [mean + rng.integers(-spread, spread + 1, (n, dim)) for n in (IMAGES, CAPTIONS)]

    for mean, spread in ((52_429, 2), (52_429, 300), (1 << 18, 1)):
        yield f"mean {mean} +- {spread}", *near(mean, spread)
    images, captions = near(52_429, 2)
    captions[rng.permutation(CAPTIONS)[:90]] = captions[0]  # one point of the gallery, and a few beside it
    yield "few distinct", images, captions
    images, captions = near(0, 1 << 16)
    yield "one length", *(rng.permuted(np.tile(x[0], (len(x), 1)), axis=1) for x in (images, captions))
    sizes = 2 ** rng.integers(0, 18, dim)
    yield "magnitudes", *(part * sizes for part in near(0, 3))
    # Terms that cancel but for the last digits.
    images, captions = near(1 << 17, 3)
    images[:, dim // 2 : dim // 2 * 2] *= -1
    yield "cancellation", images, captions


def outliers(dim: int) -> Iterator[tuple[str, Vectors, Vectors, Vectors]]:
    """As ``hard_vectors``: products have one term and no error but for one caption, whose error this BLAS makes large.

    A caption with one term scores between the exact score of that caption and its float32 product.
    """
    images = np.full((6, dim), 16_001)
    constant = 16_001 - np.arange(3000)
    exact = dim * 16_001 * constant
    made = images.astype(np.float32) @ np.repeat(constant[:, None], dim, axis=1).astype(np.float32).T
    error = made[0].astype(np.float64) / exact - 1
    for name, at in (("too high", int(error.argmax())), ("too low", int(error.argmin()))):
        captions = np.zeros((3000, dim), np.int64)
        captions[np.arange(3000), np.arange(3000) % dim] = 1_000_000 + 1000 * np.arange(3000)
        captions[at] = constant[at]
        captions[at - 1] = 0
        captions[at - 1, 0] = round((1 + error[at] / 2) * exact[at] / 16_001)
        vectors = (x.astype(np.float32) for x in (images, captions))
        yield f"one product is {name} by {error[at]:.1e}", *vectors, (images @ captions.T).astype(np.float64)


def hard_vectors(dim: int, rng: np.random.Generator) -> Iterator[tuple[str, Vectors, Vectors, Vectors]]:
    """Names, image and caption vectors in float32, and their exact scores (image, caption) in float64."""
    for name, images, captions in integers(dim, rng):
        exact = images @ captions.T
        assert (np.abs(images) @ np.abs(captions).T).max() < 2**53
        scores = exact * 2.0**-40
        yield name, *((x * 2.0**-20).astype(np.float32) for x in (images, captions)), scores
    # Products below the normal range of float32: the numbers that give the lengths meet zeros.
    small = [rng.integers(-9, 10, (n, dim)) for n in (IMAGES, CAPTIONS)]
    sides = [np.hstack([x * 2.0**-73, np.zeros((len(x), 2))]).astype(np.float32) for x in small]
    sides[0][:, -1] = sides[1][:, -2] = 2.0**-40
    yield "subnormal", *sides, (small[0] @ small[1].T) * 2.0**-146


def order(scorer: Dot, k: int, edges: Iterable[int]) -> Vectors:
    """(query, k) the k best of some queries, made in blocks."""
    parts = [ordering.order(scorer, np.arange(a, b), k) for a, b in itertools.pairwise(edges)]
    return np.concatenate([part.items for part in parts])


def wrong(images: Vectors, captions: Vectors, exact: Vectors, cosine: bool = False) -> bool:
    """Whether an order, a list or a rank is not that of the exact scores."""
    system = System(Dot(images, captions, cosine))
    n, m = exact.shape
    best = [np.argsort(-s, axis=1, kind="stable") for s in (exact, exact.T)]
    for k in (1, 10, min(n, m, 71)):  # on both sides of MAX_SHALLOW_DEPTH
        for scorer, want in zip(system.both, best, strict=True):
            orders = [order(scorer, k, edges) for edges in ((0, len(want)), range(4))]
            if any(not np.array_equal(found, want[: len(found), :k]) for found in orders):
                return True
    judged = relevance({i: [7 * i % m, 0] for i in range(n)}), relevance({c: [c % n] for c in range(m)})
    rows, columns = ([Targets("x", r)] for r in judged)
    for shape in (None, (9, 70)):
        seen = observe(system, (rows, columns), depth=(10, 10), threads=2, tile_shape=shape)
        for found, relevant, want in zip(seen, judged, best, strict=True):
            place = np.argsort(want, axis=1)[relevant.queries[relevant.query_of], relevant.items]
            if not np.array_equal(found.ranks["x"].rank, place + 1):
                return True
            if found.top is None or not np.array_equal(found.top.items, want[:, :10]):
                return True
    return False


def faults() -> list[str]:
    """What is wrong of all of them."""
    found = []
    for dim in (16, 1024):
        rng = np.random.default_rng(dim)
        for name, images, captions, exact in itertools.chain(hard_vectors(dim, rng), outliers(dim)):
            sides = (False, True) if name == "one length" else (False,)
            found += [f"{name}, {dim=}, {cosine=}" for cosine in sides if wrong(images, captions, exact, cosine)]
    return found
