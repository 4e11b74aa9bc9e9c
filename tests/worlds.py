"""Small worlds to rank in: integer vectors, where ties abound and every order of summation gives the same score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests import oracle
from vsebench.types import Direction, Relevance, SameFold, Split


def relevance(
    direction: Direction,
    items: Mapping[int, Iterable[int]],
    missing: Mapping[int, int] | None = None,
    name: str = "gt",
) -> Relevance:
    """Judgements from plain lists; queries without any positive are left out."""
    lost = missing or {}
    queries = sorted(q for q in {*items, *lost} if len(set(items.get(q, ()))) + lost.get(q, 0) > 0)
    rows = [sorted(set(items.get(q, ()))) for q in queries]
    return Relevance(
        name,
        direction,
        np.array(queries, np.int64),
        np.cumsum([0, *map(len, rows)]),
        np.array([g for row in rows for g in row], np.int64),
        np.array([lost.get(q, 0) for q in queries], np.int64),
    )


def own(split: Split, direction: Direction) -> Relevance:
    """An image's own captions, and a caption's own image."""
    if direction == "t2i":
        return relevance("t2i", {c: [int(i)] for c, i in enumerate(split.image_of)})
    return relevance("i2t", {i: np.flatnonzero(split.image_of == i).tolist() for i in range(len(split.image_ids))})


@dataclass(frozen=True, eq=False)
class World:
    """Vectors of both sides and judgements of both directions."""

    images: npt.NDArray[np.float32]
    captions: npt.NDArray[np.float32]
    judged: dict[Direction, Relevance]

    def scores(self, direction: Direction) -> oracle.Scores:
        """(query, gallery) exact scores."""
        sides = (self.images, self.captions)
        return oracle.scores64(*(sides if direction == "i2t" else sides[::-1]))

    def __repr__(self) -> str:
        judged = {d: oracle.positives(r) for d, r in self.judged.items()}
        return f"World(images={self.images.tolist()}, captions={self.captions.tolist()}, judged={judged})"


def without_zero_rows(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """float32 vectors; a row of zeros becomes (1, 0, ...), because the audit refuses zero vectors."""
    out = vectors.astype(np.float32)
    out[~out.any(axis=1), 0] = 1
    return out


@st.composite
def worlds(draw: st.DrawFn, images: int = 7, captions: int = 10, reach: int = 2) -> World:
    """Up to so many images and captions; several positives a query, some of them not in the gallery."""
    n, m, dim = draw(st.integers(1, images)), draw(st.integers(1, captions)), draw(st.integers(1, 4))
    cell = st.integers(-reach, reach)
    x = without_zero_rows(draw(hnp.arrays(np.int8, (n, dim), elements=cell)))
    y = without_zero_rows(draw(hnp.arrays(np.int8, (m, dim), elements=cell)))
    judged: dict[Direction, Relevance] = {}
    directions: tuple[tuple[Direction, int, int], ...] = (("i2t", n, m), ("t2i", m, n))
    for direction, queries, gallery in directions:
        some = st.sets(st.integers(0, gallery - 1), min_size=1, max_size=min(4, gallery))
        items = draw(st.dictionaries(st.integers(0, queries - 1), some, min_size=1, max_size=queries))
        missing = {q: lost for q in items if (lost := draw(st.sampled_from([0, 0, 0, 1, 3])))}
        judged[direction] = relevance(direction, items, missing)
    return World(x, y, judged)


@st.composite
def splits(draw: st.DrawFn, images: int = 6, folds: bool = True) -> Split:
    """A split in which every image has at least one caption, captions follow their images, maybe in folds."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=images))
    n = len(counts)
    image_of = np.repeat(np.arange(n), counts)
    fold = None
    if folds:
        fold = np.cumsum(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    return Split("custom", np.arange(n) + 100, np.arange(len(image_of)) + 1000, image_of, fold=fold)


def same_fold(split: Split, direction: Direction) -> SameFold:
    """Only items of the query's fold are candidates."""
    sides = (split.fold, split.caption_fold)
    return SameFold(*(sides if direction == "i2t" else sides[::-1]))  # type: ignore[arg-type]


def crowd(n: int, m: int, dim: int, reach: int, seed: int, positives: int = 4) -> World:
    """A larger world with many ties: wider than one strip of the counting loop, several tiles if asked for."""
    rng = np.random.default_rng(seed)
    x = without_zero_rows(rng.integers(-reach, reach + 1, (n, dim)))
    y = without_zero_rows(rng.integers(-reach, reach + 1, (m, dim)))
    judged: dict[Direction, Relevance] = {}
    sides: tuple[tuple[Direction, int, int], ...] = (("i2t", n, m), ("t2i", m, n))
    for direction, queries, gallery in sides:
        asked = rng.choice(queries, min(queries, 40), replace=False).tolist()
        items = {q: rng.choice(gallery, rng.integers(1, positives + 1), replace=False).tolist() for q in asked}
        judged[direction] = relevance(direction, items, {q: int(rng.integers(0, 2)) for q in asked})
    return World(x, y, judged)


def per_query_columns(report: Any) -> dict[str, list[Any]]:
    """All per-query values of a report as columns of plain values, in the order they are written to files."""
    columns: dict[str, list[Any]] = {"metric": [], "direction": [], "query": [], "value": []}
    for result in report.results:
        if result.per_query is not None:
            columns["metric"] += [str(result.metric)] * len(result.per_query)
            columns["direction"] += [result.direction] * len(result.per_query)
            columns["query"] += [str(q) for q in result.queries.tolist()]
            columns["value"] += result.per_query.tolist()
    return columns
