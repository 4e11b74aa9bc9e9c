"""The published protocols: which pairs are compared with which references and which human scores.

CxC SITS: the caption against the image's captions, all 44,833 pairs of the test file, or pairs that are not ground
truth (``non-GT``). With Pearson's r it is table 1 of Biten et al., Is An Image Worth Five Sentences?, WACV 2022. For
STS and SIS no protocol of a relevance is published; here a caption is replaced by its image and an image by its
captions: STS is the mean of gain(image of a, b) and gain(image of b, a), SIS the mean gain of the captions of either
image about the other.

Flickr8k: Hessel et al., CLIPScore, EMNLP 2021, appendix A, after Anderson et al., SPICE, ECCV 2016. Expert: pairs whose
caption is one of the references are left out, and each of the three judgements is a point (tau-c). CrowdFlower: every
pair stays, and a caption that is rated for an image is taken out of the references of that image (tau-b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..arrays import frozen
from ..errors import BadInput, count_of
from ..files.ids import match
from ..types import Bool, Float, Int, Modality, TestSet
from .coefficients import Points, agreement
from .correlation import Over, Row, Tau
from .cxc import TASKS, CxcRatings
from .flickr8k import Flickr8k, Rated

PairGain = Callable[[Int, Int], Float]  # (pair,) image and caption indices of a split -> (pair,) float64 gains
UNREFERENCED = "(captions that are not references)"


@dataclass(frozen=True, eq=False)
class Task:
    """Rated pairs of a split.

    Attributes:
        name: ``SITS``, ``STS``, ``SIS``, ``Expert`` or ``CrowdFlower``.
        split: images with their references, and every caption that is rated.
        sides: modalities of the left and the right item of a pair.
        left, right: (pair,) int64 indices in the split.
        human: (pair, judge) float64 scores; each is a point.
        origin: (caption,) int64 index of the image a caption was written for, -1 for none of these. Differs from the
            split's ``image_of`` for rated captions that are not references.
        subsets: by name, which pairs count; None for all.
        tau: the variant of Kendall's coefficient that is published.
    """

    name: str
    split: TestSet
    sides: tuple[Modality, Modality]
    left: Int
    right: Int
    human: Float
    origin: Int
    subsets: dict[str, Bool | None] = field(default_factory=lambda: {"all": None})
    tau: Tau = "b"

    @cached_property
    def image(self) -> Int:
        """(pair,) int64 index of the image that a pair is left out with: of the right item, else of the left."""
        if self.sides[1] == "image" and self.sides[0] == "caption":
            return self.right
        return self.left if self.sides[0] == "image" else self.split.owners[self.left]

    @cached_property
    def references(self) -> list[list[int]]:
        """For every image the indices of its captions."""
        found: list[list[int]] = [[] for _ in self.split.rows.ids]
        for caption, image in enumerate(self.split.owners.tolist()):
            found[image].append(caption)
        return found


def cxc_task(ratings: CxcRatings, split: TestSet) -> Task:
    """The pairs of a file of CxC as indices in a split.

    Raises:
        BadInput: the file rates items that the split does not have.
    """
    sides = TASKS[ratings.task]
    columns = []
    for side, ids in zip(sides, (ratings.first, ratings.second), strict=True):
        found, _ = match(ids, split.side(side).ids)
        strange = ids[found < 0]
        if len(strange):
            counted = count_of(len(np.unique(strange)), f"{side} that is", f"{side}s that are")
            raise BadInput(
                f"rates {counted} not in split '{split.name}' (first: {strange[0]})",
                where=ratings.where,
                fix="give the file of the test half, and a split with all of its items (coco-5k)",
            )
        columns.append(found)
    subsets: dict[str, Bool | None] = {"all": None}
    if ratings.same_image.any() and not ratings.same_image.all():
        subsets["non-GT"] = ~ratings.same_image
    left, right = columns
    origin = frozen(split.owners)
    return Task(ratings.task.upper(), split, sides, left, right, ratings.score[:, None], origin, subsets)


def flickr8k_tasks(data: Flickr8k) -> tuple[Task, Task]:
    """Expert and CrowdFlower."""
    text = data.captions
    written: dict[int, list[int]] = {}
    for caption, image in enumerate(data.image_of.tolist()):
        written.setdefault(image, []).append(caption)

    def judged(rated: Rated) -> list[tuple[int, int]]:
        return list(zip(rated.image.tolist(), rated.caption.tolist(), strict=True))

    kept = [text[c] not in {text[r] for r in written.get(i, [])} for i, c in judged(data.expert)]
    expert = _flickr8k("Expert", data, data.expert, np.flatnonzero(kept), written, "c")
    left = {i: list(written.get(i, [])) for i in set(data.crowd.image.tolist())}
    for image, caption in judged(data.crowd):
        same = next((r for r in left[image] if text[r] == text[caption]), None)
        if same is not None:
            left[image].remove(same)
    every = np.arange(len(data.crowd.image))
    return expert, _flickr8k("CrowdFlower", data, data.crowd, every, left, "b")


def values(task: Task, gain: PairGain) -> Float:
    """(pair,) float64 values of a relevance for the pairs of a task."""
    if task.sides == ("caption", "image"):
        return gain(task.right, task.left)
    # both directions in one call, as some relevances process all items for every call
    ahead, back = (task.left, task.right), (task.right, task.left)
    image, other = (np.concatenate(both) for both in zip(ahead, back, strict=True))
    if task.sides == ("caption", "caption"):
        both = gain(task.split.owners[image], other)
    else:
        both = _about(task, gain, image, other)
    mean: Float = both.reshape(2, -1).mean(0)
    return mean


def correlations(task: Task, relevance: str, x: Float, level: float | None = None, over: Over = "images") -> list[Row]:
    """One row for every subset of the pairs: how values correlate with the human scores.

    Args:
        task, relevance, x: the rated pairs, the name of the values, and the values, (pair,) float64.
        level, over: as for ``agreement``.
    """
    found = []
    for subset, mask in task.subsets.items():
        pairs = np.arange(len(x)) if mask is None else np.flatnonzero(mask)
        judges = task.human.shape[1]
        points = Points(np.repeat(x[pairs], judges), task.human[pairs].reshape(-1), task.tau)
        pair, image = np.repeat(pairs, judges), np.repeat(task.image[pairs], judges)
        coefficients = agreement(points, pair, image, level, over)
        found.append(Row(task.name, subset, relevance, len(pairs), len(pair), task.tau, coefficients))
    return found


def _about(task: Task, gain: PairGain, image: Int, other: Int) -> Float:
    """(pair,) mean gain of the captions of ``other`` about ``image``."""
    count = np.array([len(r) for r in task.references])
    captions = np.concatenate([task.references[i] for i in other.tolist()])
    pair_of = np.repeat(np.arange(len(image)), count[other])
    total = np.bincount(pair_of, gain(image[pair_of], captions), len(image))
    return np.asarray(total / count[other], np.float64)


def _flickr8k(name: str, data: Flickr8k, rated: Rated, kept: Int, references: dict[int, list[int]], tau: Tau) -> Task:
    images = np.unique(rated.image[kept])
    pairs = [(i, c) for i in images.tolist() for c in references[i]]
    listed = {c for _, c in pairs}
    spare = [c for c in np.unique(rated.caption[kept]).tolist() if c not in listed]
    ids: list[str] = [data.images[i] for i in images.tolist()]
    image_of = [*np.searchsorted(images, [i for i, _ in pairs]).tolist(), *([len(ids)] * len(spare))]
    captions = np.array([*(c for _, c in pairs), *spare], np.int64)
    row = {c: k for k, c in enumerate(captions.tolist())}
    strings, image_ids = (
        tuple(data.captions[c] for c in captions.tolist()),
        np.array(ids + [UNREFERENCED] * bool(spare)),
    )
    split = TestSet.captioned(f"flickr8k-{name.lower()}", image_ids, captions, np.array(image_of, np.int64), strings)
    origin = data.image_of[captions]
    place = np.searchsorted(images, origin).clip(max=len(images) - 1)
    left = np.array([row[c] for c in rated.caption[kept].tolist()], np.int64)
    right = np.searchsorted(images, rated.image[kept]).astype(np.int64)
    written_for = frozen(np.where(images[place] == origin, place, -1))
    return Task(name, split, ("caption", "image"), left, right, rated.scores[kept], written_for, tau=tau)
