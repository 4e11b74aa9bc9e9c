"""Small worlds: images and captions with integer vectors, and judgements of both as queries.

Scores of integer vectors have many ties and are the same in every order of summation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from tests import oracle
from vsebench.rank.count import Targets
from vsebench.rank.scorers import Dot, Scorer, System
from vsebench.types import Both, Candidates, Relevance, TestSet


def relevance(
    items: Mapping[int, Iterable[int]], missing: Mapping[int, int] | None = None, name: str = "gt"
) -> Relevance:
    """Judgements from query -> items and query -> number of missing positives; other queries are not judged."""
    absent = missing or {}
    queries = sorted(q for q in {*items, *absent} if len(set(items.get(q, ()))) + absent.get(q, 0) > 0)
    rows = [sorted(set(items.get(q, ()))) for q in queries]
    return Relevance(
        name,
        np.array(queries, np.int64),
        np.cumsum([0, *map(len, rows)]),
        np.array([g for row in rows for g in row], np.int64),
        np.array([absent.get(q, 0) for q in queries], np.int64),
    )


def stored(items: Mapping[int, Iterable[int]], shape: tuple[int, int]) -> csr_array:
    """(query, gallery) from query -> items, one after the other as they are, with values of any kind."""
    rows = [list(items.get(q, ())) for q in range(shape[0])]
    flat = np.array([g for row in rows for g in row], np.int64)
    return csr_array((np.arange(len(flat)) - 1.0, flat, np.cumsum([0, *map(len, rows)])), shape=shape)


def own(split: TestSet) -> Both[Relevance]:
    """The ground truth: the captions of an image, the image of a caption."""
    rows = {i: np.flatnonzero(split.image_of == i).tolist() for i in range(len(split.rows.ids))}
    return relevance(rows), relevance({c: [int(i)] for c, i in enumerate(split.image_of)})


@dataclass(frozen=True, eq=False)
class World:
    """Vectors of images and captions, and judgements of both as queries."""

    images: npt.NDArray[np.float32]
    captions: npt.NDArray[np.float32]
    judged: Both[Relevance]

    @cached_property
    def scores(self) -> Both[oracle.Scores]:
        """(image, caption) and (caption, image) exact scores."""
        found = oracle.scores64(self.images, self.captions)
        return found, found.T

    @property
    def system(self) -> System:
        """The inner products."""
        return System(Dot(self.images, self.captions))

    @property
    def targets(self) -> Both[list[Targets]]:
        """The judgements as view ``x``."""
        rows, columns = ([Targets("x", r)] for r in self.judged)
        return rows, columns

    def __repr__(self) -> str:
        judged = [oracle.positives(r) for r in self.judged]
        return f"World(images={self.images.tolist()}, captions={self.captions.tolist()}, judged={judged})"


def canonical(scorer: Scorer) -> oracle.Scores:
    """(row, column) float64 scores, pair by pair."""
    rows, columns = np.indices(scorer.shape).reshape(2, -1)
    return scorer.pairs(rows, columns, 1).reshape(scorer.shape)


def without_zero_rows(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """float32 vectors; a row of zeros becomes (1, 0, ...), because vectors of length zero are refused."""
    out = vectors.astype(np.float32)
    out[~out.any(axis=1), 0] = 1
    return out


@st.composite
def worlds(draw: st.DrawFn, images: int = 7, captions: int = 10, reach: int = 2) -> World:
    """Up to so many images and captions; queries have several positives, some of which are not in the gallery."""
    n, m, dim = draw(st.integers(1, images)), draw(st.integers(1, captions)), draw(st.integers(1, 4))
    cell = st.integers(-reach, reach)
    x = without_zero_rows(draw(hnp.arrays(np.int8, (n, dim), elements=cell)))
    y = without_zero_rows(draw(hnp.arrays(np.int8, (m, dim), elements=cell)))
    judged = []
    for queries, gallery in ((n, m), (m, n)):
        some = st.sets(st.integers(0, gallery - 1), min_size=1, max_size=min(4, gallery))
        items = draw(st.dictionaries(st.integers(0, queries - 1), some, min_size=1, max_size=queries))
        missing = {q: absent for q in items if (absent := draw(st.sampled_from([0, 0, 0, 1, 3])))}
        judged.append(relevance(items, missing))
    return World(x, y, (judged[0], judged[1]))


@st.composite
def splits(draw: st.DrawFn, images: int = 6, folds: bool = True) -> TestSet:
    """A split with captions in the order of their images, at least one an image, in folds if ``folds``."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=images))
    n = len(counts)
    image_of = np.repeat(np.arange(n), counts)
    fold = None
    if folds:
        fold = np.cumsum(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    return TestSet.captioned("custom", np.arange(n) + 100, np.arange(len(image_of)) + 1000, image_of, fold=fold)


def same_fold(split: TestSet) -> Both[Candidates]:
    """Only items of the query's fold are candidates."""
    sides: Any = split.folds
    return Candidates(fold=sides), Candidates(fold=sides[::-1])


def tied_world(n: int, m: int, dim: int, reach: int, seed: int, positives: int = 4) -> World:
    """A larger world with many ties; its gallery is wider than one strip of the counting loop."""
    rng = np.random.default_rng(seed)
    x = without_zero_rows(rng.integers(-reach, reach + 1, (n, dim)))
    y = without_zero_rows(rng.integers(-reach, reach + 1, (m, dim)))
    judged = []
    for queries, gallery in ((n, m), (m, n)):
        chosen = rng.choice(queries, min(queries, 40), replace=False).tolist()
        items = {q: rng.choice(gallery, rng.integers(1, positives + 1), replace=False).tolist() for q in chosen}
        judged.append(relevance(items, {q: int(rng.integers(0, 2)) for q in chosen}))
    return World(x, y, (judged[0], judged[1]))


def per_query_columns(report: Any) -> dict[str, list[Any]]:
    """The per-query values of a report as columns, in the order in which they are written to files."""
    columns: dict[str, list[Any]] = {"metric": [], "direction": [], "query": [], "value": []}
    for result in report.results:
        if result.per_query is not None:
            columns["metric"] += [str(result.metric)] * len(result.per_query)
            columns["direction"] += [result.direction] * len(result.per_query)
            columns["query"] += result.queries.tolist()
            columns["value"] += result.per_query.tolist()
    if not all(isinstance(q, int) for q in columns["query"]):
        columns["query"] = [str(q) for q in columns["query"]]
    return columns


WORDS = ["a", "man", "dog", "rides", "red", "bike", "on", "the", "street", "two", "children", "play", "ball", "water"]


@dataclass(frozen=True, eq=False)
class Model:
    """Vectors (image, dim) and (caption, dim) of a model; captions follow their images, ids are 0, 1, ..."""

    images: npt.NDArray[np.float32]
    texts: npt.NDArray[np.float32]
    split: TestSet

    @property
    def vectors(self) -> dict[str, npt.NDArray[np.float32]]:
        """The first two arguments of ``evaluate``."""
        return {"images": self.images, "texts": self.texts}

    @property
    def cosines(self) -> npt.NDArray[np.float64]:
        """(image, caption) float64."""
        sides = (side.astype(np.float64) for side in (self.images, self.texts))
        x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        return np.asarray(x @ y.T)

    @property
    def ids(self) -> dict[str, list[str]]:
        """Words: ``im07``, and ``im07#1`` for its second caption."""
        own = self.split.image_of.tolist()
        texts = [f"im{i:02}#{n - own.index(i)}" for n, i in enumerate(own)]
        return {"image_ids": [f"im{i:02}" for i in range(len(self.images))], "text_ids": texts}

    def save(self, path: Path, **change: Any) -> Path:
        """As .npz with the ids that are words."""
        arrays = {"image_embeddings": self.images, "text_embeddings": self.texts, **self.ids}
        np.savez(path, **{**arrays, **change})
        return path


def world(
    images: int = 60, each: int = 2, noise: float = 1.0, seed: int = 0, dim: int = 8, common: float = 0.0
) -> Model:
    """A model whose captions, ``each`` an image, are their image plus noise; ``common`` makes hubs."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(images), each)
    x = rng.standard_normal((images, dim)) + common
    y = x[owner] + noise * rng.standard_normal((len(owner), dim))
    captions = tuple(" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in owner)
    split = TestSet.captioned("custom", np.arange(images), np.arange(len(owner)), owner, captions)
    return Model(x.astype(np.float32), y.astype(np.float32), split)
