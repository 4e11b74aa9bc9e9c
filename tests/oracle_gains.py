"""Graded relevances by their definitions, in plain loops; shares no code with the library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

Row = Sequence[float]


def cosine(x: Row, y: Row) -> float:
    """0 when one of them is zero."""
    lengths = math.sqrt(math.fsum(a * a for a in x)) * math.sqrt(math.fsum(b * b for b in y))
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


def caption_cosine(
    vectors: Sequence[Row], image_of: Sequence[int], n_image: int, agg: str, own: str
) -> list[list[float]]:
    """(image, caption) gains."""
    out = []
    for image in range(n_image):
        row = []
        for j, vector in enumerate(vectors):
            own_image = image_of[j] == image
            members = [m for m, i in enumerate(image_of) if i == image and not (own == "out" and m == j)]
            values = [cosine(vectors[m], vector) for m in members]
            if own == "one" and own_image:
                row.append(1.0)
            elif not values:
                row.append(0.0)
            elif agg == "mean":
                row.append(math.fsum(values) / len(values))
            else:
                row.append(max(values) if agg == "max" else values[0])
        out.append(row)
    return out


def bag_vector(words: Sequence[str], table: dict[str, Row], idf: dict[str, float] | None = None) -> list[float]:
    """The mean vector of the words that have one, zeros when none has."""
    known = [w for w in words if w in table]
    dim = len(next(iter(table.values())))
    weight = [1.0 if idf is None else idf[w] for w in known]
    n = max(len(known), 1)
    return [math.fsum(f * table[w][k] for f, w in zip(weight, known, strict=True)) / n for k in range(dim)]


def idf(captions: Sequence[Sequence[str]], image_of: Sequence[int], n_image: int) -> dict[str, float]:
    """log(images / images that have the word in a caption)."""
    seen: dict[str, set[int]] = {}
    for words, image in zip(captions, image_of, strict=True):
        for word in words:
            seen.setdefault(word, set()).add(image)
    return {word: math.log(n_image / len(images)) for word, images in seen.items()}


def word_mover(x: Sequence[str], y: Sequence[str], table: dict[str, Row]) -> float:
    """The optimal transport of two captions as the linear programme that defines it."""
    from scipy.optimize import linprog

    a, b = (Counter(w for w in words if w in table) for words in (x, y))
    if not a or not b:
        return math.inf
    left, right = [n / a.total() for n in a.values()], [n / b.total() for n in b.values()]
    cost = [math.dist(table[u], table[v]) for u in a for v in b]
    equal: list[list[Any]] = []
    for i in range(len(left)):
        equal.append([1.0 if p // len(right) == i else 0.0 for p in range(len(cost))])
    for j in range(len(right)):
        equal.append([1.0 if p % len(right) == j else 0.0 for p in range(len(cost))])
    done = linprog(cost, A_eq=equal, b_eq=left + right, method="highs")
    assert done.status == 0, done.message
    return float(done.fun)


def set_distance(xs: Sequence[Sequence[str]], ys: Sequence[Sequence[str]], table: dict[str, Row]) -> float:
    """The sum of minima in both directions; captions without a word vector are left out."""
    known = [[c for c in side if any(w in table for w in c)] for side in (xs, ys)]
    if not known[0] or not known[1]:
        return math.inf
    distance = [[word_mover(x, y, table) for y in known[1]] for x in known[0]]
    return math.fsum(min(row) for row in distance) + math.fsum(min(column) for column in zip(*distance, strict=True))
