"""What a model is trained on: images, captions, and which belongs to which, in three parts.

A source (see ``sources``) gives a ``Part`` for train, val and test: its split
(ids, captions, image of every caption) and its images, which give the input of the image encoder for some rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.utils.rnn import pad_sequence

from vsebench.errors import BadInput, UsageError, count_of
from vsebench.files.store import fingerprint
from vsebench.relevance import SOURCES, load_gains, parse_spec
from vsebench.relevance.sources import LABELS
from vsebench.text.ptb import tokenise
from vsebench.types import Int, TestSet
from vsebench.unimodal.labels import label_distance_of
from vsebench.unimodal.queries import Selection

from .config import Config, Loss
from .model import PAD
from .own_file import spelled

PartName = Literal["train", "val", "test"]
PARTS: tuple[PartName, ...] = ("train", "val", "test")
START, END, OTHER = 1, 2, 3
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
OF_CAPTIONS = [name for name, source in SOURCES.items() if source.load is not None and source.compares_captions]
COMPARED = 64  # images whose vectors tell data of the same ids apart
CANDIDATES = 256  # captions among which the nearest ones of a caption are searched
Batch = dict[str, Any]
Pairs = Callable[[Int, Int], npt.NDArray[Any]]  # (a,) and (b,) items -> (a, b) numbers
Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]  # a progress bar under some words


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a part, whose rows are read when a batch needs them.

    Attributes:
        array: (row, width) vectors, perhaps in a memory map; of pixels (image, height, width, 3) uint8, image files
            (``ImageFiles``), or the features of a network that is not trained, (image, features).
        kind: ``vectors``, ``regions`` (sets of vectors) or ``pixels``.
        where: the file of the array, for messages.
        start: (image,) int64 the row of every image, of regions its first one; None: image i is row i.
        stop: (image,) int64 of regions the row behind the last one.
        regions: of an array in a file, how many of its rows are one row there; 1 where they are rows of their own.
    """

    array: Any
    kind: str = "vectors"
    where: Path | None = None
    start: Int | None = None
    stop: Int | None = None
    regions: int = 1

    @property
    def width(self) -> int:
        """Length of an input vector; of pixels the number of channels."""
        return 3 if self.kind == "pixels" else int(self.array.shape[-1])

    def __len__(self) -> int:
        return len(self.array if self.start is None else self.start)

    def take(self, images: Int) -> Batch:
        """The input of the image encoder for some images (image,): ``images``, and of regions ``mask``, see ``model``.

        Pixels of an array have values from -1 to 1.

        Raises:
            BadInput: a number of these images is not finite, or an image file cannot be read.
        """
        rows = images if self.start is None else self.start[images]
        if self.kind == "pixels":
            pixels = torch.from_numpy(self.array[rows])
            uint8 = pixels.dtype == torch.uint8
            return {"images": pixels.permute(0, 3, 1, 2).float() / 127.5 - 1 if uint8 else pixels}
        mask = None
        if self.stop is not None:
            count = self.stop[images] - rows
            place = np.arange(int(count.max()))
            mask = place < count[:, None]
            rows = np.minimum(rows[:, None] + place, len(self.array) - 1)
        taken = np.asarray(self.array[rows], np.float32)
        if mask is not None:
            taken[~mask] = 0
        if not (finite := np.isfinite(taken).all(axis=-1)).all():
            row = int(rows[~finite][0]) // self.regions
            what = f"row {row} has features that are not numbers or are infinite"
            raise BadInput(what, where=self.where, fix="compute the features of this image again")
        return {"images": torch.from_numpy(taken), **({} if mask is None else {"mask": torch.from_numpy(mask)})}

    def states(self) -> list[str]:
        """Of pixels: for every image a text that changes when its pixels or their crop do."""
        if isinstance(self.array, np.ndarray):
            return [hashlib.sha256(image.tobytes()).hexdigest() for image in self.array]
        found: list[str] = self.array.states()
        return found


def of_features(array: npt.NDArray[Any], where: Path, index: Int) -> Images:
    """The images ``index`` (image,) of features (row, width), or of sets of features (row, region, width)."""
    if array.ndim == 2:
        return Images(array, "vectors", where, index)
    regions = array.shape[1]
    flat = array.reshape(-1, array.shape[2])
    return Images(flat, "regions", where, index * regions, (index + 1) * regions, regions)


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a data set.

    Attributes:
        split: ids and captions.
        images: in the order of the split.
        labels: (image, ...) labels of the images, whose distances a model without captions is trained on; else None.
        label_distance: of the labels, as for ``vsebench.evaluate_unimodal``.
    """

    split: TestSet
    images: Images
    labels: npt.NDArray[Any] | None = None
    label_distance: str | None = None

    @property
    def captions(self) -> tuple[str, ...]:
        """(caption,) the captions as written."""
        return self.split.columns.texts or ()


def identity(parts: dict[PartName, Part]) -> str:
    """A text that differs between data of other ids, captions, or images: of vectors some images are read."""
    read: list[Any] = []
    for part in parts.values():
        ids = (part.split.rows.ids, part.split.columns.ids, part.split.owners)
        read += [*(list(map(str, of.tolist())) for of in ids), part.captions]
        if part.images.kind != "pixels":
            some = np.unique(np.linspace(0, len(part.images) - 1, COMPARED).astype(np.int64))
            read.append(part.images.take(some)["images"].numpy().tobytes())
    return fingerprint(*read)[:16]


def no_bar(words: str) -> AbstractContextManager[None]:
    """No progress bar."""
    return nullcontext()


@dataclass(frozen=True, eq=False)
class Loader:
    """Batches of pairs of a caption and its image, in an order that the seed and the epoch decide.

    Without captions a batch has images: those of its first half are anchors, and those of the second their candidates.

    Attributes:
        part: of the data.
        words: for every caption the numbers of its words; None without captions.
        config: has the pairs in a batch (the last one of an epoch is left out when it is smaller), how many of them are
            near the others by relevance, and the settings of the degree.
        relevance: of ``relevance_of``, where it is needed.
        graded: whether the loss takes a degree.
        processes: among which every batch is divided: pairs that are left over are left out of it.
    """

    part: Part
    words: Sequence[Sequence[int]] | None
    config: Config
    relevance: Pairs | None = None
    graded: bool = False
    processes: int = 1

    @property
    def image_of(self) -> Int:
        """The image of every item of an epoch: of every caption; of every image itself."""
        return np.arange(len(self.part.images)) if self.words is None else self.part.split.owners

    @property
    def items(self) -> int:
        """The captions of an epoch, or the images."""
        return len(self.image_of)

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return max(1, self.items // self.config.train.batch)

    def order(self, epoch: int) -> Iterator[Int]:
        """For every step of an epoch the (b,) captions of its batch, or its images."""
        batch, neighbours = self.config.train.batch, self.config.loss.neighbours
        rng = np.random.default_rng([self.config.train.seed, epoch])
        items, unit = rng.permutation(self.items), self.processes * (2 if self.words is None else 1)
        for step in range(self.steps):
            rows = items[step * batch :][: batch - neighbours]
            if neighbours:
                rows = np.concatenate([rows, self.near(rows, batch - len(rows), rng)])
            yield rows[: len(rows) - len(rows) % unit].astype(np.int64)

    def near(self, items: Int, count: int, rng: np.random.Generator) -> Int:
        """Items (at most ``count``,) that complete a batch: they are relevant to those (b,) that are in it.

        Kim et al., CVPR 2019, section 4.2: a batch has the nearest neighbours of its anchor. Here the captions of a
        batch are its anchors in turn, and the neighbours of one are the most relevant of ``CANDIDATES`` random captions
        of other images, as searching all of them would take longer than the step.
        """
        assert self.relevance is not None
        first = items[: self.config.train.batch // 2] if self.words is None else items
        anchors = rng.choice(first, min(len(first), max(1, count // 5)), replace=False)
        candidates = rng.choice(self.items, min(CANDIDATES, self.items), replace=False)
        candidates = candidates[~np.isin(self.image_of[candidates], self.image_of[items])]
        ranked = np.argsort(-self.relevance(anchors, candidates), axis=1, kind="stable")
        # The best candidate of every anchor first, then the second of every one, and so on, each caption once.
        chosen = candidates[ranked.T.ravel()]
        _, places = np.unique(chosen, return_index=True)
        return np.asarray(chosen[np.sort(places)][:count], np.int64)

    def __call__(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch; the next one is chosen and prepared by a thread while one is used."""
        batches = map(self.make, self.order(epoch))
        with ThreadPoolExecutor(max_workers=1) as worker:
            waiting = worker.submit(next, batches, None)
            while (batch := waiting.result()) is not None:
                waiting = worker.submit(next, batches, None)
                yield batch

    def make(self, items: Int) -> Batch:
        """One batch: inputs of the encoders, ``positive`` (same image), and ``degree`` where the loss takes it.

        Both are (b, b), row = image, column = caption; the caption at a place belongs to the image at the same place.
        The degree is ``loss.scale`` times the gain; with ``loss.own_degree`` ``one`` it is at most 1, and 1 for a
        caption and its image.
        """
        images, loss = self.image_of[items], self.config.loss
        batch: Batch = {"items": items, **self.part.images.take(images)}
        rows, columns = np.split(items, 2) if self.words is None else (items, items)
        positive = self.image_of[rows][:, None] == self.image_of[columns]
        batch["positive"] = torch.from_numpy(positive)
        if self.words is not None:
            batch["words"], batch["lengths"] = padded([self.words[c] for c in items.tolist()])
        if self.graded and self.relevance is not None:
            degree = np.asarray(self.relevance(rows, columns) * loss.scale, np.float32)
            if loss.own_degree == "one":
                np.minimum(degree, 1.0, out=degree)  # no caption is more relevant than those of the image itself
                degree[positive] = 1.0
            batch["degree"] = torch.from_numpy(degree)
        return batch


# Words


@dataclass(frozen=True)
class Vocabulary:
    """The words that have a vector; all others share that of ``<unk>``.

    Attributes:
        words: (word,) the four special ones, then the words of the training captions by frequency.
    """

    words: tuple[str, ...]

    def encode(self, captions: Sequence[str]) -> list[list[int]]:
        """For every caption the numbers of its words, between those of ``<start>`` and ``<end>``."""
        number = {word: n for n, word in enumerate(self.words)}
        return [[START, *(number.get(word, OTHER) for word in words), END] for words in words_of(tuple(captions))]


@lru_cache(maxsize=1)  # the vocabulary and the first epoch read the same training captions
def words_of(captions: tuple[str, ...]) -> list[list[str]]:
    """Lower-case words by the rules of the Penn Treebank, without punctuation, as on the COCO evaluation server."""
    return tokenise(captions).lists()


def vocabulary_of(captions: Sequence[str], count: int) -> Vocabulary:
    """The vocabulary of training captions.

    Args:
        captions: the training captions.
        count: how often a word must occur.

    Raises:
        BadInput: no word occurs so often.
    """
    found = Counter(word for words in words_of(tuple(captions)) for word in words)
    words = [word for word, n in sorted(found.items(), key=lambda item: (-item[1], item[0])) if n >= count]
    if not words:
        what = f"no word occurs {count_of(count, 'time')} in the training captions"
        raise BadInput(what, fix=f"put spaces between their words, or add {spelled('data.word_count', 1)}")
    return Vocabulary((*SPECIAL, *words))


def padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of one batch as (caption, word) int64 filled up with ``PAD``, and their lengths (caption,) int64."""
    found = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    return found, torch.tensor([len(row) for row in rows])


# Graded relevance, for losses that take a degree


def relevance_of(loss: Loss, part: Part) -> Pairs:
    """A function of captions (a,) and (b,): (a, b) the gains ``loss.relevance`` of the latter for images of the former.

    With ``loss.degree_of`` ``caption`` they are gains for the captions themselves. The gains ``labels`` are those of
    images (a,) and (b,), 1 - the distance of their labels. Gains that are 1 / (1 + distance), such as ``wmd``,
    become 1 - distance, because losses on label distances take 1 - degree for the distance. Document frequencies are
    those of the training captions.

    Raises:
        UsageError: gains that are not computed from captions, with ``degree_of`` ``caption``; no labels.
        UsageError, BadInput, MissingPackage: as ``vsebench.relevance.load_gains``.
    """
    if loss.relevance == LABELS:
        return _of_labels(part)
    spec, split = parse_spec(loss.relevance), part.split
    if loss.degree_of == "caption":  # every caption stands for an image of its own
        if spec.kind not in OF_CAPTIONS:
            what = f"loss.degree_of is 'caption', and loss.relevance '{loss.relevance}' is of images"
            raise UsageError(what, fix=f"use {', '.join(OF_CAPTIONS)}, or loss.degree_of=image")
        own = np.arange(len(split.columns.ids))
        split = TestSet.captioned(split.name, split.columns.ids, split.columns.ids, own, split.columns.texts)
    image_of = split.owners
    gains = load_gains(spec, split).T
    distance = gains.name in SOURCES and SOURCES[gains.name].from_distance

    def pairs(rows: Int, captions: Int) -> npt.NDArray[Any]:
        # A row a caption: consecutive pairs of one caption take less time.
        found = gains.at(captions, np.broadcast_to(image_of[rows], (len(captions), len(rows)))).T
        return 2 - 1 / np.maximum(found, 1e-6) if distance else found

    return pairs


def _of_labels(part: Part) -> Pairs:
    """1 - the label distance of two images; raises UsageError where the images have no labels."""
    if part.labels is None:
        raise UsageError(
            "the images have no labels", where=part.split.name, fix=f"name them: {spelled('data.labels', 'FILE')}"
        )
    distance = label_distance_of(part.labels, part.label_distance)
    distance.check(len(part.images))

    def pairs(rows: Int, columns: Int) -> npt.NDArray[Any]:
        every = np.broadcast_to(np.arange(len(columns)), (len(rows), len(columns)))
        return 1 - distance.of(Selection(len(part.images), rows, columns, False), slice(None), every)[0]

    return pairs
