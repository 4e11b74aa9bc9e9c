"""What a model is trained on: images, captions, and which belongs to which, in three parts.

``open_data`` finds the source by name, see ``sources``. A source gives a ``Part`` for train, val and test: its split
(ids, captions, image of every caption) and its images, which give the input of the image encoder for some rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch

from vsebench.errors import BadInput, count_of
from vsebench.types import Int, Split

from . import text
from .config import Config

PartName = Literal["train", "val", "test"]
PARTS: tuple[PartName, ...] = ("train", "val", "test")
Batch = dict[str, Any]
Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]  # a progress bar under some words


class Images(Protocol):
    """The images of a part.

    Attributes:
        width: length of an input vector; of pixels the number of channels.
        kind: ``vectors``, ``regions`` (sets of vectors) or ``pixels``.
    """

    @property
    def width(self) -> int:
        """See above."""

    @property
    def kind(self) -> str:
        """See above."""

    def __len__(self) -> int: ...

    def take(self, rows: Int, training: bool = False) -> Batch:
        """The input for images ``rows`` (image,): ``images``, and for sets of vectors ``mask``; see ``model``.

        ``training`` allows random crops.
        """


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a data set: its split with captions, and the images in the order of the split."""

    split: Split
    images: Images

    def __post_init__(self) -> None:
        if len(self.images) != len(self.split.image_ids):
            what = f"{count_of(len(self.images), 'image')} and {count_of(len(self.split.image_ids), 'image id')}"
            raise BadInput(what, where=self.split.name, fix="give one row of features an image")
        if self.split.captions is None:
            raise BadInput("no captions", where=self.split.name, fix="give the captions of every part")

    @property
    def captions(self) -> tuple[str, ...]:
        """(caption,) the captions as written."""
        return self.split.captions or ()


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector an image, (image, width) float32, or the same number for every image, (image, region, width).

    The array may be a memory map of the file ``where``; of several vectors an image ``kind`` is ``regions``.
    """

    array: npt.NDArray[Any]
    kind: str = "vectors"
    where: Path | None = None

    @property
    def width(self) -> int:
        """Length of a vector."""
        return int(self.array.shape[-1])

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Int, training: bool = False) -> Batch:
        """See ``Images.take``.

        Raises:
            BadInput: a number of these images is not finite.
        """
        taken = np.asarray(self.array[rows], np.float32)
        if not (finite := np.isfinite(taken).reshape(len(taken), -1).all(axis=1)).all():
            what = f"image {rows[~finite][0]} has features that are not numbers or are infinite"
            raise BadInput(what, where=self.where, fix="compute the features of this image again")
        images = torch.from_numpy(taken)
        return {
            "images": images,
            **({"mask": torch.ones(images.shape[:2], dtype=torch.bool)} if images.ndim == 3 else {}),
        }


@dataclass(frozen=True, eq=False)
class Regions:
    """A set of vectors an image.

    Attributes:
        array: (region, width) float32, those of an image consecutive.
        start: (image + 1,) int64: image i has the regions from ``start[i]`` to before ``start[i + 1]``.
    """

    array: npt.NDArray[Any]
    start: Int
    kind: str = "regions"

    @property
    def width(self) -> int:
        """Length of a vector."""
        return int(self.array.shape[1])

    def __len__(self) -> int:
        return len(self.start) - 1

    def take(self, rows: Int, training: bool = False) -> Batch:
        """See ``Images.take``."""
        count = self.start[rows + 1] - self.start[rows]
        most = int(count.max())
        place = np.arange(most)
        index = np.minimum(self.start[rows][:, None] + place, len(self.array) - 1)
        mask = place < count[:, None]
        vectors = np.asarray(self.array[index], np.float32) * mask[:, :, None]
        return {"images": torch.from_numpy(vectors), "mask": torch.from_numpy(mask)}


@dataclass(frozen=True, eq=False)
class Pixels:
    """Images of one size: (image, height, width, 3) uint8, perhaps in a memory map."""

    array: npt.NDArray[Any]
    kind: str = "pixels"
    width: int = 3

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Int, training: bool = False) -> Batch:
        """See ``Images.take``; values from -1 to 1."""
        pixels = torch.from_numpy(np.ascontiguousarray(self.array[rows])).permute(0, 3, 1, 2)
        return {"images": pixels.float() / 127.5 - 1}


def no_bar(words: str) -> AbstractContextManager[None]:
    """No progress bar."""
    return nullcontext()


def open_data(config: Config, bar: Bar = no_bar) -> dict[PartName, Part]:
    """The parts of the data that a configuration names; training captions are cut to ``data.first``.

    Raises:
        UsageError: an unknown name, or settings that do not fit.
        MissingPackage: the data are not here; the message has the command to get them.
        BadInput: a damaged file.
    """
    from .sources import open_source

    parts = open_source(config, bar)
    return {**parts, "train": _first(parts["train"], config.data.first)}


def _first(part: Part, share: float) -> Part:
    """The part with the first captions only; images without a caption stay, and are never drawn."""
    split = part.split
    count = max(2, round(len(split.caption_ids) * share))
    if count >= len(split.caption_ids):
        return part
    kept = Split(split.name, split.image_ids, split.caption_ids[:count], split.owners[:count], part.captions[:count])
    return Part(kept, part.images)


@dataclass(frozen=True, eq=False)
class Loader:
    """Batches of pairs of a caption and its image, in an order that the seed and the epoch decide.

    Attributes:
        part: of the data.
        words: for every caption the numbers of its words.
        batch: pairs in a batch; the last one of an epoch is left out when it is smaller.
        seed: of the order.
        degree: (rows of images, rows of captions) -> (b, b) relevance, for losses that take it.
        neighbours: pairs of a batch that are near the others by relevance, chosen by ``near``.
        near: (caption, count, generator) -> captions; there may be fewer than ``count``.
        processes: among which every batch is divided: pairs that are left over are left out of it.
    """

    part: Part
    words: Sequence[Sequence[int]]
    batch: int
    seed: int
    degree: Callable[[Int, Int], npt.NDArray[Any]] | None = None
    neighbours: int = 0
    near: Callable[[Int, int, np.random.Generator], Int] | None = None
    processes: int = 1

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return max(1, len(self.words) // self.batch)

    def order(self, epoch: int) -> Iterator[Int]:
        """For every step of an epoch the (b,) captions of its batch."""
        rng = np.random.default_rng([self.seed, epoch])
        captions = rng.permutation(len(self.words))
        for step in range(self.steps):
            rows = captions[step * self.batch :][: self.batch - self.neighbours]
            if self.neighbours and self.near is not None:
                rows = np.concatenate([rows, self.near(rows, self.batch - len(rows), rng)])
            yield rows[: len(rows) - len(rows) % self.processes].astype(np.int64)

    def __call__(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch; the next one is chosen and prepared by a thread while one is used."""
        order = self.order(epoch)
        with ThreadPoolExecutor(max_workers=1) as worker:
            waiting: Future[Batch] = worker.submit(self._next, order)
            for _ in range(self.steps - 1):
                batch, waiting = waiting.result(), worker.submit(self._next, order)
                yield batch
            yield waiting.result()

    def _next(self, order: Iterator[Int]) -> Batch:
        return self.make(next(order))

    def make(self, captions: Int) -> Batch:
        """One batch: inputs of both encoders, ``positive`` (same image), and ``degree`` where it is wanted."""
        images = self.part.split.owners[captions]
        words, lengths = text.padded([self.words[c] for c in captions.tolist()])
        batch = {
            "captions": captions,
            "words": words,
            "lengths": lengths,
            **self.part.images.take(images, training=True),
        }
        batch["positive"] = torch.from_numpy(images[:, None] == images[None, :])
        if self.degree is not None:
            batch["degree"] = torch.from_numpy(self.degree(images, captions))
        return batch
