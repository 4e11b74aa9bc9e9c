"""Rankings by sorting, and metrics by a loop over the sorted list.

Shares no code with the library but its data types. Queries are treated one at a time, so that the code can be checked
by reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.types import Candidates, Relevance

Scores = npt.NDArray[np.float64]  # (query, gallery)


def scores64(queries: npt.ArrayLike, gallery: npt.ArrayLike) -> Scores:
    """(query, gallery) float64 inner products, element by element; exact for small integers in any order."""
    x, y = np.asarray(queries, np.float64), np.asarray(gallery, np.float64)
    out = np.zeros((len(x), len(y)))
    for d in range(x.shape[1]):
        out += x[:, d, None] * y[None, :, d]
    return out


def positives(relevance: Relevance) -> dict[int, list[int]]:
    """Query index -> its relevant items that are in the gallery."""
    return {
        int(q): relevance.items[relevance.indptr[i] : relevance.indptr[i + 1]].tolist()
        for i, q in enumerate(relevance.queries)
    }


def candidates_of(query: int, gallery: int, candidates: Candidates) -> list[int]:
    """The items that may be returned for a query."""
    found = set(range(gallery))
    if candidates.fold is not None:
        found = {g for g in found if candidates.fold[1][g] == candidates.fold[0][query]}
    if candidates.excluded is not None:
        found -= entries(candidates.excluded, query)
    if candidates.allowed is not None:
        found &= entries(candidates.allowed, query)
    return sorted(found)


def entries(matrix: Any, row: int) -> set[int]:
    """The columns that are stored in a row of a sparse matrix."""
    return {int(c) for c in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]}


def ordering(score: Sequence[float], among: Iterable[int], relevant: set[int], ties: str = "index") -> list[int]:
    """Items best first. Ties: lower index, as of docid-desc; or the relevant ones first or last."""
    sign = {"index": 0, "docid-desc": 0, "expected": 0, "optimistic": -1, "pessimistic": 1}[ties]
    return sorted(among, key=lambda g: (-score[g], sign * (g in relevant), g))


def query_ranks(score: Sequence[float], among: list[int], relevant: list[int], ties: str) -> dict[int, int]:
    """Relevant item -> 1-based rank under a tie rule."""
    order = ordering(score, among, set(relevant), ties)
    return {g: order.index(g) + 1 for g in relevant}


def ranks(scores: Scores, relevance: Relevance, candidates: Candidates, ties: str) -> list[int]:
    """Rank of every pair, in the order of the relevance's pairs. ``scores`` are (query, gallery)."""
    out: list[int] = []
    for query, relevant in positives(relevance).items():
        row = scores[query].tolist()
        found = query_ranks(row, candidates_of(query, len(row), candidates), relevant, ties)
        out += [found[g] for g in relevant]
    return out


def tied(scores: Scores, relevance: Relevance, candidates: Candidates) -> list[bool]:
    """For every pair: whether another candidate has exactly its score."""
    out = []
    for query, relevant in positives(relevance).items():
        row = scores[query].tolist()
        among = candidates_of(query, len(row), candidates)
        out += [sum(row[g] == row[own] for g in among) > 1 for own in relevant]
    return out


def recall_any(order: list[int], relevant: set[int], size: int, k: int) -> float:
    """1 if a relevant item is in the top k, else 0."""
    return float(any(g in relevant for g in order[:k]))


def recall_fraction(order: list[int], relevant: set[int], size: int, k: int) -> float:
    """Fraction of the relevant items that is in the top k."""
    return len(relevant & set(order[:k])) / size


def first_hit(order: list[int], relevant: set[int]) -> int:
    """Rank of the first relevant item."""
    return next(rank for rank, g in enumerate(order, 1) if g in relevant)


def r_precision(order: list[int], relevant: set[int], size: int, k: int) -> float:
    """Fraction of the relevant items that is in the top R."""
    return len(relevant & set(order[:size])) / size


def map_at_r(order: list[int], relevant: set[int], size: int, k: int) -> float:
    """Sum of the precisions at the ranks of relevant items in the top R, divided by R."""
    hits, total = 0, Fraction(0)
    for rank, g in enumerate(order[:size], 1):
        if g in relevant:
            hits += 1
            total += Fraction(hits, rank)
    return float(total / size)


def average_precision(order: list[int], relevant: set[int], size: int, k: int) -> float:
    """Sum of the precisions at the ranks of relevant items in the top k, divided by the number of relevant items."""
    places = [at for at, item in enumerate(order[:k], 1) if item in relevant]
    return math.fsum(found / at for found, at in enumerate(places, 1)) / size


PER_QUERY: dict[str, Callable[[list[int], set[int], int, int], float]] = {
    "R@": recall_any,
    "Recall@": recall_fraction,
    "MedR": lambda order, relevant, size, k: float(first_hit(order, relevant)),
    "MeanR": lambda order, relevant, size, k: float(first_hit(order, relevant)),
    "MRR": lambda order, relevant, size, k: 1.0 / first_hit(order, relevant),
    "MRR@": lambda order, relevant, size, k: 1.0 / at if (at := first_hit(order, relevant)) <= k else 0.0,
    "P@": lambda order, relevant, size, k: len(relevant & set(order[:k])) / k,
    "R-P": r_precision,
    "Judged@": lambda order, judged, size, k: len(judged & set(order[:k])) / k,
    "mAP@R": map_at_r,
    "mAP": lambda order, relevant, size, k: average_precision(order, relevant, size, len(order)),
    "mAP@": average_precision,
}


def aggregate(name: str, values: Sequence[float]) -> float:
    """Mean over queries; the median is that of ranks from 0, rounded down, plus 1."""
    if name != "MedR":
        return math.fsum(values) / len(values)
    zero_based = sorted(v - 1 for v in values)
    middle = len(zero_based) // 2
    if len(zero_based) % 2:
        return float(math.floor(zero_based[middle]) + 1)
    return float(math.floor((zero_based[middle - 1] + zero_based[middle]) / 2) + 1)


def value(
    name: str, k: int, scores: Scores, relevance: Relevance, candidates: Candidates, ties: str = "index"
) -> float:
    """A metric in one direction. With folds: the mean over folds of the folds' own values."""
    by_fold: dict[int, list[float]] = {}
    for i, (query, relevant) in enumerate(positives(relevance).items()):
        row = scores[query].tolist()
        order = ordering(row, candidates_of(query, len(row), candidates), set(relevant), ties)
        fold = 0 if candidates.fold is None else int(candidates.fold[0][query])
        size = len(relevant) + int(relevance.missing[i])
        by_fold.setdefault(fold, []).append(PER_QUERY[name](order, set(relevant), size, k))
    return math.fsum(aggregate(name, v) for v in by_fold.values()) / len(by_fold)
