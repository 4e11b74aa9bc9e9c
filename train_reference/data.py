"""What a model is trained on: images, captions, and batches of pairs, with how relevant each is to the others."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.utils.rnn import pad_sequence

import vsebench as vb
from vsebench.errors import BadInput, UsageError, count_of
from vsebench.files import read_image
from vsebench.relevance import load_gains

from .config import LABELS, Config
from .losses import DEGREES

PartName = Literal["train", "val", "test"]
PARTS: tuple[PartName, ...] = ("train", "val", "test")
Int = npt.NDArray[np.int64]
WORKERS = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))  # which read image files
MEAN, STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)  # of ImageNet, as torchvision has them
START, END, OTHER = 1, 2, 3
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
CANDIDATES = 256  # captions among which the nearest ones of a caption are searched
Batch = dict[str, Any]
Pairs = Callable[[Int, Int], npt.NDArray[Any]]  # (a,) rows and (b,) columns -> (a, b) numbers


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a part, whose rows are read when a batch needs them. The array has (row, width) vectors or (row,
    region, width) sets of them, perhaps in a memory map; (row, height, width, 3) uint8 pixels; or (row, features) of a
    network of pixels that is not trained. Or it is ``ImageFiles``."""

    array: Any
    kind: str = "vectors"  # or "regions", "pixels"
    where: Path | None = None  # the file of the array, for messages
    start: Int | None = None  # (image,) the row of every image; None: image i is row i
    stop: Int | None = None  # (image,) of sets of different sizes, the row behind the last one of every image

    @property
    def width(self) -> int:
        """Length of an input vector; of pixels the number of channels."""
        return 3 if self.kind == "pixels" else int(self.array.shape[-1])

    def __len__(self) -> int:
        return len(self.array if self.start is None else self.start)

    def take(self, images: Int) -> dict[str, torch.Tensor]:
        """The input of the image encoder for images (image,), of sets of vectors with ``mask``; raises BadInput."""
        rows = images if self.start is None else self.start[images]
        if self.kind == "pixels":
            pixels = torch.from_numpy(self.array[rows])
            return {"images": pixels.permute(0, 3, 1, 2).float() / 127.5 - 1 if pixels.dtype == torch.uint8 else pixels}
        mask = np.ones((len(rows), *self.array.shape[1:-1]), bool)
        if self.stop is not None:
            count = self.stop[images] - rows
            place = np.arange(int(count.max()))
            mask = place < count[:, None]
            rows = np.minimum(rows[:, None] + place, len(self.array) - 1)
        taken = np.asarray(self.array[rows], np.float32)
        taken[~mask] = 0
        finite = np.isfinite(taken).all(axis=tuple(range(rows.ndim, taken.ndim)))
        if not finite.all():
            what = f"row {int(rows[~finite][0])} has features that are NaN or infinite"
            raise BadInput(what, where=self.where, fix="compute the features of this image again")
        found = {"images": torch.from_numpy(taken), "mask": torch.from_numpy(mask)}
        return found if self.kind == "regions" else {"images": found["images"]}


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a data set."""

    split: vb.TestSet  # ids and captions
    images: Images  # in the order of the split
    labels: npt.NDArray[Any] | None = None  # (image, ...) whose distances a model of images alone is trained on
    distance: str = "euclidean"  # of two labels; or "miou" of masks

    @property
    def captions(self) -> tuple[str, ...]:
        """(caption,) the captions as written."""
        return self.split.columns.texts or ()


def identity(parts: dict[PartName, Part]) -> str:
    """A text that differs between data of other ids, captions, or images: of vectors some are read."""
    found = hashlib.sha256()
    for part in parts.values():
        split = part.split
        found.update(repr([split.rows.ids.tolist(), split.columns.ids.tolist(), split.owners.tolist()]).encode())
        found.update(repr(part.captions).encode())
        if part.images.kind != "pixels":
            some = np.unique(np.linspace(0, len(part.images) - 1, 64).astype(np.int64))
            found.update(part.images.take(some)["images"].numpy().tobytes())
    return found.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Image files that are read when a batch needs them: resized, cropped and normalised as by torchvision."""

    paths: tuple[Path, ...]
    crop: str  # center; ten: corners and centre, and all of them mirrored; random: see ``random_crop``
    resize: int = 256  # length of the shorter side, in pixels
    side: int = 224  # of a crop

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: Int) -> npt.NDArray[np.float32]:
        """(image, 3, side, side), or (image, 10, 3, side, side); the images of a batch decide its random crops."""
        seeds = np.random.SeedSequence(rows.tolist()).spawn(len(rows))
        pixels = np.stack(list(WORKERS.map(self.read, rows.tolist(), seeds))).astype(np.float32) / 255
        found: npt.NDArray[np.float32] = np.moveaxis((pixels - MEAN) / STD, -1, -3)
        return found if self.crop == "ten" else found[:, 0]

    def read(self, row: int, seed: np.random.SeedSequence) -> npt.NDArray[np.uint8]:
        """(crop, side, side, 3) the crops of one image."""
        image = read_image(self.paths[row])
        if self.crop == "random":
            return random_crop(image, self.side, np.random.default_rng(seed))[None]
        width, height = (max(self.resize, int(self.resize * length / min(image.size))) for length in image.size)
        pixels = np.asarray(image.resize((width, height), 2))  # bilinear
        right, bottom = width - self.side, height - self.side
        places = [(round(right / 2), round(bottom / 2))]
        if self.crop == "ten":
            places = [(0, 0), (right, 0), (0, bottom), (right, bottom), *places]
        views = (pixels, pixels[:, ::-1]) if self.crop == "ten" else (pixels,)
        return np.stack([view[y : y + self.side, x : x + self.side] for view in views for x, y in places])


def random_crop(image: Any, side: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """A part of 8 to 100 % of the area, 3/4 to 4/3 as wide as high, mirrored in half of the cases."""
    width, height = image.size
    w = h = min(width, height)
    for _ in range(10):
        area, ratio = width * height * rng.uniform(0.08, 1), np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        sides = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
        if 0 < sides[0] <= width and 0 < sides[1] <= height:
            w, h = sides
            break
    x, y = int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))
    pixels = np.asarray(image.resize((side, side), 2, box=(x, y, x + w, y + h)))
    return pixels[:, ::-1] if rng.integers(2) else pixels


def vocabulary_of(captions: Sequence[str], count: int) -> tuple[str, ...]:
    """The special words, then those that occur ``count`` times in captions, by frequency; raises BadInput for none."""
    found = Counter(word for words in vb.tokenise(captions).lists() for word in words)
    words = [word for word, n in sorted(found.items(), key=lambda item: (-item[1], item[0])) if n >= count]
    if not words:
        what = f"no word occurs {count_of(count, 'time')} in the training captions"
        raise BadInput(what, fix="put spaces between their words, or set data.word_count=1")
    return (*SPECIAL, *words)


class Words:
    """Captions as input of the caption encoder: the numbers of their words, between those of ``<start>`` and ``<end>``.
    Words are lower-case Penn Treebank tokens without punctuation, as on the COCO evaluation server."""

    def __init__(self, vocabulary: Sequence[str], captions: Sequence[str]) -> None:
        number = {word: n for n, word in enumerate(vocabulary)}
        lists = vb.tokenise(captions).lists()
        self.rows = [[START, *(number.get(word, OTHER) for word in words), END] for words in lists]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, captions: Int) -> dict[str, torch.Tensor]:
        """``words`` (caption, word) int64, filled up with 0, and their ``lengths`` (caption,) int64."""
        rows = [torch.tensor(self.rows[c]) for c in captions.tolist()]
        return {"words": pad_sequence(rows, batch_first=True), "lengths": torch.tensor([len(row) for row in rows])}


@dataclass(frozen=True, eq=False)
class Loader:
    """Batches of pairs of an image and a second item, in an order that the seed and the epoch decide. The second item
    is a caption of the image, so that an epoch has every caption once. In a model of images alone it is another image:
    those of the first half of a batch are anchors, and those of the second their candidates."""

    part: Part
    second: Words | Images  # the second items: captions, or the images themselves
    config: Config
    processes: int = 1  # among which every batch is divided: pairs that are left over are left out of it

    @cached_property
    def relevance(self) -> Pairs | None:
        """The degree of relevance of pairs, if the loss takes one or batches have neighbours."""
        graded = self.config.loss.entry.needs_degree or self.config.loss.neighbours
        return relevance_of(self.config, self.part) if graded else None

    @property
    def alone(self) -> bool:
        """Whether the second items are images."""
        return self.second is self.part.images

    @property
    def image_of(self) -> Int:
        """(item,) the image of every second item."""
        return np.arange(len(self.second)) if self.alone else self.part.split.owners

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return max(1, len(self.second) // self.config.train.batch)

    @property
    def unit(self) -> int:
        """The number of items in a batch is a multiple of it."""
        return self.processes * (2 if self.alone else 1)

    def order(self, epoch: int) -> Iterator[Int]:
        """For every step of an epoch the items of its batch; a last batch that is smaller is left out."""
        batch, neighbours = self.config.train.batch, self.config.loss.neighbours
        rng = np.random.default_rng([self.config.train.seed, epoch])
        items = rng.permutation(len(self.second))
        for step in range(self.steps):
            rows = items[step * batch :][: batch - neighbours]
            if neighbours:
                rows = np.concatenate([rows, self.near(rows, batch - len(rows), rng)])
            yield rows[: len(rows) - len(rows) % self.unit].astype(np.int64)

    def near(self, items: Int, count: int, rng: np.random.Generator) -> Int:
        """Items (at most ``count``,) that complete a batch: they are relevant to those (b,) that are in it. Kim et al.,
        CVPR 2019, section 4.2: a batch has the nearest neighbours of its anchor. Here they are the most relevant of
        ``CANDIDATES`` random captions of other images, as searching all takes longer than the step."""
        assert self.relevance is not None
        first = items[: self.config.train.batch // 2] if self.alone else items
        anchors = rng.choice(first, min(len(first), max(1, count // 5)), replace=False)
        candidates = rng.choice(len(self.second), min(CANDIDATES, len(self.second)), replace=False)
        candidates = candidates[~np.isin(self.image_of[candidates], self.image_of[items])]
        ranked = np.argsort(-self.relevance(anchors, candidates), axis=1, kind="stable")
        chosen = candidates[ranked.T.ravel()]  # the best ones of all anchors, then the second ones, and so on
        _, at = np.unique(chosen, return_index=True)
        return np.asarray(chosen[np.sort(at)][:count], np.int64)

    def __call__(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch; the next one is prepared by a thread while one is used."""
        batches = map(self.make, self.order(epoch))
        with ThreadPoolExecutor(max_workers=1) as worker:
            waiting = worker.submit(next, batches, None)
            while (batch := waiting.result()) is not None:
                waiting = worker.submit(next, batches, None)
                yield batch

    def make(self, items: Int) -> Batch:
        """One batch of b pairs: ``rows`` (images), ``columns`` (second items), and (b, b) ``positive`` and ``degree``.
        The degree is ``loss.scale`` times the gain; with ``loss.own_degree`` ``one`` at most 1, and 1 if positive.

        Raises UsageError if it is outside of the range that the loss expects.
        """
        loss, (rows, columns) = self.config.loss, np.split(items, 2) if self.alone else (items, items)
        images = self.image_of[rows]
        batch: Batch = {"items": items, "rows": self.part.images.take(images), "columns": self.second.take(columns)}
        positive = images[:, None] == self.image_of[columns]
        batch["positive"] = torch.from_numpy(positive)
        if loss.entry.needs_degree and self.relevance is not None:
            degree = np.asarray(self.relevance(rows, columns) * loss.scale, np.float32)
            if loss.own_degree == "one":
                np.minimum(degree, 1.0, out=degree)  # no caption is more relevant than those of the image itself
                degree[positive] = 1.0
            self.check(degree)
            batch["degree"] = torch.from_numpy(degree)
        return batch

    def check(self, degree: npt.NDArray[Any]) -> None:
        """Refuse degrees outside of the range that the loss declares; of CIDEr-D also those that end at 1."""
        loss = self.config.loss
        if (expected := loss.entry.degree) is None:
            return
        (low, high), (least, most) = DEGREES[expected], (float(degree.min()), float(degree.max()))
        if least < low - 1e-4 or most > high + 1e-4 or (expected == "cider" and most <= 1):
            what = f"loss '{loss.name}' expects a degree from {low:g} to {high:g}, and it is {least:.3g} to {most:.3g}"
            raise UsageError(what, fix="set loss.relevance to gains of that range, or another loss.scale")


def relevance_of(config: Config, part: Part) -> Pairs:
    """(a, b) gains ``loss.relevance`` of the captions (b,) for the images of the captions (a,). With ``loss.degree_of``
    ``caption`` they are gains for the captions (a,) themselves; ``labels`` are 1 - the distance of the labels of
    images. Gains of ``wmd``, 1 / (1 + distance), become 1 - distance, as losses on label distances expect. Document
    frequencies are those of the training captions."""
    loss, split = config.loss, part.split
    if loss.relevance == LABELS:
        return lambda rows, columns: 1 - distances(part, rows, columns)
    if loss.degree_of == "caption":  # every caption stands for an image of its own
        ids = split.columns.ids
        split = vb.TestSet.captioned(f"captions of {split.name}", ids, ids, np.arange(len(ids)), split.columns.texts)
    try:
        image_of, gains = split.owners, load_gains(loss.relevance, split).T
    except UsageError as error:
        if loss.degree_of == "caption":  # of gains of images
            error.also("set loss.degree_of=image")
        raise

    def pairs(rows: Int, captions: Int) -> npt.NDArray[Any]:
        found = gains.at(captions, np.broadcast_to(image_of[rows], (len(captions), len(rows)))).T
        return 2 - 1 / np.maximum(found, 1e-6) if gains.name == "wmd" else found

    return pairs


def distances(part: Part, rows: Int, columns: Int) -> npt.NDArray[Any]:
    """(a, b) the distances of the labels of images (a,) and (b,): Euclidean, or 1 - mean intersection over union."""
    assert part.labels is not None
    one, other = (part.labels[side].reshape(len(side), -1) for side in (rows, columns))
    if part.distance == "euclidean":
        return np.asarray(np.linalg.norm(one[:, None] - other, axis=2))
    overlaps = []
    for label in np.unique(part.labels):  # those that neither image has do not count
        a, b = (one == label).astype(np.float32), (other == label).astype(np.float32)
        both = a @ b.T
        union = a.sum(1)[:, None] + b.sum(1) - both
        overlaps.append(np.where(union > 0, both / np.maximum(union, 1), np.nan))
    return np.asarray(1 - np.nanmean(overlaps, axis=0))
