"""What the tasks start from: vectors, captions, judgements, gains and retrieved lists, each made once."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vsebench import TestSet, load_split
from vsebench.errors import MissingPackage
from vsebench.types import DIRECTIONS

CAPTIONS, COCO_IMAGES = 5, 5_000  # captions of an image, images of COCO 5K
SIGNAL = 64  # latent dimensions that images and captions have in common
DEPTH = 100  # of retrieved lists

Array = npt.NDArray[Any]


class World(NamedTuple):
    """Vectors and ids: (image, dim) and (caption, dim) float32, five captions an image; (image,) and (caption,) ids."""

    images: Array
    captions: Array
    image_ids: Array
    caption_ids: Array


class BothWays(NamedTuple):
    """(image, caption) and (caption, image) float32 values of gains, see ``relevance.gains.Values``."""

    by_row: Array
    by_column: Array

    @property
    def T(self) -> BothWays:
        """Rows and columns exchanged."""
        return BothWays(self.by_column, self.by_row)

    def rows(self, start: int, stop: int) -> Array:
        """(row, column) float32."""
        return self.by_row[start:stop]

    def pairs(self, rows: Array, columns: Array) -> Array:
        """(pair,) float32."""
        return np.asarray(self.by_row[rows, columns])


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of tasks.

    Attributes:
        images: size of the test set.
        dim: of the vectors.
        quick: the size is small; tasks compute every value that can be compared, not only those that are timed.
        part: fraction of the images that are queries, 0 to 1; their captions are the queries of the other direction.
    """

    images: int = COCO_IMAGES
    dim: int = 1024
    quick: bool = False
    part: float = 1.0

    @property
    def complete(self) -> bool:
        """Whether these are all images of COCO 5K, which the goals are stated for."""
        return self.images == COCO_IMAGES

    @cached_property
    def coco(self) -> TestSet | None:
        """COCO 5K, None without its package."""
        try:
            return load_split("coco-5k")
        except MissingPackage:
            return None

    @cached_property
    def world(self) -> World:
        """Vectors with a low-rank signal: recalls like those of a trained model, no exact ties.

        An image and its captions have one latent point of ``SIGNAL`` numbers in common; noise is added for every item,
        and one random projection to ``dim`` numbers is applied to all. With all of COCO 5K, points of images that are
        positives of each other are moved together until ECCV mAP@R is about 0.15, as with an early model: at random
        points the judged pairs would have much lower ranks than with any model.
        """
        n, captions, rng = self.images, self.images * CAPTIONS, np.random.default_rng(0)
        weight, points = np.arange(1, SIGNAL + 1) ** -0.35, rng.standard_normal((n, SIGNAL))
        if self.coco is not None and self.complete:
            points = _moved_together(points, self.coco)
        points *= weight
        images = points + 0.8 * weight * rng.standard_normal(points.shape)
        texts = np.repeat(points, CAPTIONS, axis=0) + 1.1 * weight * rng.standard_normal((captions, SIGNAL))
        projection = rng.standard_normal((SIGNAL, self.dim)) / np.sqrt(SIGNAL)
        ids = (self.coco.rows.ids, self.coco.columns.ids) if self.coco else (np.arange(n), np.arange(captions))
        return World(unit(images @ projection), unit(texts @ projection), ids[0][:n], ids[1][:captions])

    @cached_property
    def split(self) -> TestSet:
        """COCO 5K, or a custom split with five folds for a part of it."""
        if self.complete and self.coco is not None:
            return self.coco
        image_of = np.repeat(np.arange(self.images), CAPTIONS)
        return TestSet.captioned("custom", *self.world[2:], image_of, fold=np.arange(self.images) * 5 // self.images)

    @cached_property
    def captions(self) -> TestSet:
        """The first images of COCO 5K with their captions. Raises MissingPackage if these are not installed."""
        coco = load_split("coco-5k", captions=True)
        if self.complete:
            return coco
        kept = np.flatnonzero(coco.image_of < self.images)
        texts = tuple(coco.columns.texts[i] for i in kept)
        return TestSet.captioned(
            "custom", coco.rows.ids[: self.images], coco.columns.ids[kept], coco.image_of[kept], texts
        )

    @cached_property
    def folder(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for files, which is removed with the inputs."""
        return tempfile.TemporaryDirectory(prefix="vsebench-bench-")

    @cached_property
    def file(self) -> str:
        """The embedding file that ``vsebench eval`` reads."""
        path, (images, texts, ids, text_ids) = f"{self.folder.name}/embeddings.npz", self.world
        ids_of = {"image_ids": ids, "text_ids": text_ids, "image_of_text": np.repeat(ids, CAPTIONS)}
        np.savez(path, image_embeddings=images, text_embeddings=texts, **ids_of)
        return path

    @property
    def scale(self) -> float:
        """Number of queries over number of queries measured."""
        return self.images / len(self.queries("i2t"))

    def queries(self, direction: str) -> Array:
        """(query,) int64 indices of the queries that are measured: those of evenly spread images."""
        images = np.unique(np.linspace(0, self.images - 1, max(1, round(self.part * self.images))).astype(np.int64))
        return images if direction == "i2t" else (images[:, None] * CAPTIONS + np.arange(CAPTIONS)).ravel()

    def sides(self, direction: str) -> tuple[Array, Array]:
        """(query, dim) and (gallery, dim) float32 vectors of all queries and of the gallery."""
        return self.world[:2] if direction == "i2t" else self.world[1::-1]

    def labels(self, direction: str) -> tuple[Array, Array]:
        """(query,) and (gallery,) int64: items with one label belong to one image."""
        both = (np.arange(self.images), np.repeat(np.arange(self.images), CAPTIONS))
        return both if direction == "i2t" else both[::-1]

    @cached_property
    def lists(self) -> dict[str, tuple[Array, Array]]:
        """Direction -> (query, DEPTH) int64 gallery indices and float64 inner products of all queries, best first."""
        out = {}
        for direction in DIRECTIONS:
            queries, gallery = (side.astype(np.float64) for side in self.sides(direction))
            found = []
            for start in range(0, len(queries), 500):
                scores = queries[start : start + 500] @ gallery.T
                items = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
                found.append((items, np.take_along_axis(scores, items, axis=1)))
            items, scores = map(np.concatenate, zip(*found, strict=True))
            out[direction] = items, scores
        return out

    @cached_property
    def judgements(self) -> tuple[Array, Array, Array]:
        """(pair,) image, caption and integer gain: 3 for captions of the image, 1 or 2 for those of three others."""
        n, others, rng = self.images, 3, np.random.default_rng(1)
        shuffled = np.stack([rng.permutation(n) for _ in range(others)], axis=1)
        image = np.repeat(np.arange(n), (others + 1) * CAPTIONS)
        of = np.repeat(np.column_stack((shuffled, np.arange(n))), CAPTIONS, axis=1)
        caption = (of * CAPTIONS + np.tile(np.arange(CAPTIONS), others + 1)).ravel()
        gain = np.where(np.repeat(np.arange(n), of.shape[1]) == of.ravel(), 3, rng.integers(1, 3, of.size))
        _, first = np.unique(image * (n * CAPTIONS) + caption, return_index=True)
        return image[first], caption[first], gain[first]

    @cached_property
    def judged(self) -> Array:
        """(image, caption) float32 gains of ``judgements``, 0 elsewhere."""
        image, caption, gain = self.judgements
        out = np.zeros((self.images, self.images * CAPTIONS), np.float32)
        out[image, caption] = gain
        return out

    @cached_property
    def gains(self) -> Any:
        """Gains in memory with a distribution like that of CIDEr-D; some are zero."""
        from vsebench.relevance.gains import Gains

        rng, captions = np.random.default_rng(0), self.images * CAPTIONS
        values = np.empty((self.images, captions), np.float32)
        for i, row in enumerate(values):
            row[:] = np.exp(1.2 * rng.standard_normal(captions, dtype=np.float32) - 3)
            row[rng.random(captions, dtype=np.float32) < 0.014] = 0
            row[i * CAPTIONS : (i + 1) * CAPTIONS] += 3
        return Gains("cider", {}, values.shape, BothWays(values, np.ascontiguousarray(values.T)), lowest=0.0)


def _moved_together(points: Array, split: TestSet) -> Array:
    """(image, SIGNAL) points after three steps towards the mean of the images that ECCV Caption and CxC link."""
    import scipy.sparse

    from vsebench import relevance

    linked = scipy.sparse.coo_matrix(points.shape[:1] * 2)
    for name in ("eccv", "cxc"):
        judged = relevance.load(name, split, "i2t")
        pair = (judged.queries[judged.query_of], split.image_of[judged.items])
        linked = linked + scipy.sparse.coo_matrix((np.ones(len(pair[0])), pair), shape=linked.shape)
    linked = ((linked + linked.T) > 0).astype(float).tolil()
    linked.setdiag(0)
    step = linked.tocsr()
    step = scipy.sparse.diags(1 / np.maximum(np.asarray(step.sum(1)).ravel(), 1)) @ step
    for _ in range(3):
        points = points + 1.5 * (step @ points)
        points /= np.sqrt((points**2).mean(1, keepdims=True))
    return np.asarray(points)


def unit(x: Array) -> Array:
    """(row, dim) float32 rows of unit length."""
    return np.ascontiguousarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)
