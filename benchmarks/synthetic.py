"""Seeded embeddings with recalls like those of a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import MissingPackage
from vsebench.types import Split

CAPTIONS = 5
SIGNAL = 64  # latent dimensions that images and captions have in common
COCO_IMAGES = 5_000

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class World:
    """Vectors and ids of one synthetic test set.

    Attributes:
        images: (image, dim) float32.
        captions: (caption, dim) float32, five for every image, in order.
        image_ids: (image,) int64, COCO ids when ``coco``.
        caption_ids: (caption,) int64.
        coco: whether the ids are those of COCO 5K (or its first images).
    """

    images: Array
    captions: Array
    image_ids: Array
    caption_ids: Array
    coco: bool

    @property
    def mib(self) -> float:
        """Size of the vectors in MiB."""
        return (self.images.nbytes + self.captions.nbytes) / 2**20

    @property
    def split_name(self) -> str:
        """The ``--split`` of the file: ``coco-5k``, or ``custom`` for a part of it."""
        return "coco-5k" if self.coco and len(self.images) == COCO_IMAGES else "custom"

    def split(self) -> Split:
        """The declared split COCO 5K, or a custom split with five folds."""
        if self.split_name == "coco-5k":
            from vsebench.sets.catalogue import load_split

            return load_split("coco-5k")
        n = len(self.images)
        image_of = np.repeat(np.arange(n), CAPTIONS)
        return Split("custom", self.image_ids, self.caption_ids, image_of, fold=np.arange(n) * 5 // n)

    def save(self, path: Path) -> None:
        """Write the embedding file that ``vsebench eval`` reads."""
        image_of_text = self.image_ids[np.arange(len(self.captions)) // CAPTIONS]
        np.savez(
            path, image_embeddings=self.images, text_embeddings=self.captions, image_ids=self.image_ids,
            text_ids=self.caption_ids, image_of_text=image_of_text,
        )  # fmt: skip


def load(path: Path, coco: bool) -> World:
    """Read a file written by ``World.save``."""
    with np.load(path, allow_pickle=False) as file:
        names = ("image_embeddings", "text_embeddings", "image_ids", "text_ids")
        images, captions, image_ids, caption_ids = (file[name] for name in names)
        return World(images, captions, image_ids, caption_ids, coco)


def world(images: int, dim: int, seed: int = 0) -> World:
    """Unit-norm float32 vectors with a low-rank signal: recalls like those of a trained model, no exact ties.

    An image and its captions have one latent point of ``SIGNAL`` numbers in common; noise is added for every item, and
    one random projection to ``dim`` numbers is applied to all. With all of COCO 5K, points of images that are
    positives of each other are moved together until ECCV mAP@R is about 0.15, as with an early model: at random points
    the judged pairs would have much lower ranks than with any model.
    """
    rng = np.random.default_rng(seed)
    weight = np.arange(1, SIGNAL + 1) ** -0.35
    ids = _ids(images)
    shared = rng.standard_normal((images, SIGNAL))
    if ids[2] and images == COCO_IMAGES:
        shared = _moved_together(shared)
    shared *= weight
    own_image = shared + 0.8 * weight * rng.standard_normal((images, SIGNAL))
    own_caption = np.repeat(shared, CAPTIONS, axis=0)
    own_caption = own_caption + 1.1 * weight * rng.standard_normal((images * CAPTIONS, SIGNAL))
    projection = rng.standard_normal((SIGNAL, dim)) / np.sqrt(SIGNAL)
    return World(_unit(own_image @ projection), _unit(own_caption @ projection), *ids)


def _moved_together(points: Array) -> Array:
    """(image, SIGNAL) points after three steps towards the mean of the images that ECCV Caption and CxC link."""
    import scipy.sparse

    from vsebench import load_split, relevance

    split = load_split("coco-5k")
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


def tied_world(images: int, dim: int, seed: int = 0) -> World:
    """Vectors of -1, 0 and 1: every score is a small integer, exact in any precision, and most are tied."""
    rng = np.random.default_rng(seed)
    base = rng.integers(-1, 2, (images, dim))
    noise = rng.integers(-1, 2, (images * CAPTIONS, dim))
    keep = rng.random((images * CAPTIONS, dim)) < 0.6
    captions = np.where(keep, np.repeat(base, CAPTIONS, axis=0), noise)
    base[:, 0] = captions[:, 0] = 1  # no vector is all zeros
    return World(base.astype(np.float32), captions.astype(np.float32), *_ids(images))


def _unit(x: Array) -> Array:
    return np.ascontiguousarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)


def _ids(images: int) -> tuple[Array, Array, bool]:
    """The ids of the first images of COCO 5K and their captions, or row numbers without the package."""
    from vsebench.sets.catalogue import load_split

    try:
        coco = load_split("coco-5k")
    except MissingPackage:
        return np.arange(images), np.arange(images * CAPTIONS), False
    return coco.image_ids[:images], coco.caption_ids[: images * CAPTIONS], True
