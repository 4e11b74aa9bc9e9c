"""Metrics of label distances by their definitions, in loops. Shares no code with the library."""

from __future__ import annotations

import math
from collections.abc import Sequence

Matrix = Sequence[Sequence[float]]


def squared(a: Sequence[float], b: Sequence[float]) -> float:
    """Squared Euclidean distance."""
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Inner product."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def distance(similarity: str, a: Sequence[float], b: Sequence[float]) -> float:
    """A number that is smaller for items that rank higher."""
    if similarity == "euclidean":
        return squared(a, b)
    if similarity == "dot":
        return -dot(a, b)
    return -dot(a, b) / math.sqrt(dot(a, a)) / math.sqrt(dot(b, b))


def ranking(vectors: Matrix, query: int, gallery: Sequence[int], similarity: str = "euclidean") -> list[int]:
    """The gallery without the query, nearest first, ties by the order of the gallery."""
    others = [g for g in gallery if g != query]
    return sorted(others, key=lambda g: (distance(similarity, vectors[query], vectors[g]), g))


def ndcg(retrieved: Sequence[float], candidates: Sequence[float], k: int) -> float:
    """nDCG of label distances d: the gain is 2 to the power of -log2(d + 1)."""
    total = best = 0.0
    for rank, (found, ideal) in enumerate(zip(retrieved[:k], sorted(candidates)[:k], strict=True), start=1):
        total += 2 ** -math.log2(found + 1) / math.log2(rank + 1)
        best += 2 ** -math.log2(ideal + 1) / math.log2(rank + 1)
    return total / best


def mean(values: Sequence[float], k: int) -> float:
    """Mean of the first k."""
    return sum(values[:k]) / len(values[:k])


def mask_distance(a: Sequence[int], b: Sequence[int], ignore: Sequence[int] = ()) -> float:
    """1 - mIoU of two lists of class numbers; negative and ignored classes are no labels."""
    pixels = [(x, y) for x, y in zip(a, b, strict=True) if x >= 0 and y >= 0 and x not in ignore and y not in ignore]
    classes = {c for pair in pixels for c in pair}
    ious = []
    for c in classes:
        both = sum(x == c and y == c for x, y in pixels)
        either = sum(x == c or y == c for x, y in pixels)
        ious.append(both / either)
    return 1 - sum(ious) / len(ious)


def first_relevant(vectors: Matrix, positives: dict[int, set[int]]) -> dict[int, int]:
    """Rank of the first relevant item by inner product; the query is no candidate."""
    out = {}
    for query, relevant in positives.items():
        order = ranking(vectors, query, range(len(vectors)), "dot")
        out[query] = 1 + min(order.index(g) for g in relevant)
    return out
