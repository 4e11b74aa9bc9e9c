"""The dictionaries that evaluation tools of information retrieval read: ``{query: {item: relevance or score}}``."""

from __future__ import annotations

import numpy as np

from ..inputs import Array, Inputs

OF_LISTS = "R@1, R@5, R@10, Recall@100, R-P, nDCG@10"
Judged = dict[str, dict[str, int]]
Retrieved = dict[str, dict[str, float]]


def key(index: int) -> str:
    """The id of a query or item; all have one length, as ranx compiles its code again for every length."""
    return f"{index:06d}"


def retrieved(items: Array, scores: Array) -> Retrieved:
    """The run of (query, k) items and scores."""
    return {
        key(query): dict(zip(map(key, row), values, strict=True))
        for query, (row, values) in enumerate(zip(items.tolist(), scores.tolist(), strict=True))
    }


def binary(given: Inputs, direction: str) -> Judged:
    """The judgements of the captions written for the image."""
    own, others = given.labels(direction)
    order = np.argsort(others, kind="stable")
    first, last = np.searchsorted(others[order], own), np.searchsorted(others[order], own, side="right")
    return {
        key(query): dict.fromkeys(map(key, order[a:b].tolist()), 1)
        for query, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
    }


def graded(given: Inputs, direction: str) -> Judged:
    """The judgements with integer gains above 0."""
    image, caption, gain = given.judgements
    query, item = (image, caption) if direction == "i2t" else (caption, image)
    out: Judged = {}
    for q, i, g in zip(query.tolist(), item.tolist(), gain.tolist(), strict=True):
        out.setdefault(key(q), {})[key(i)] = g
    return out
