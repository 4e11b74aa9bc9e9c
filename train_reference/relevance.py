"""Graded relevance inside a batch, for losses that take a degree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import UsageError
from vsebench.relevance import SOURCES, load_gains, parse_spec
from vsebench.relevance.gains import Gains, Progress
from vsebench.types import Int, Split

from .config import Loss
from .losses import DEGREES

OF_CAPTIONS = [name for name, source in SOURCES.items() if source.load is not None and source.compares_captions]
CANDIDATES = 256  # captions among which the nearest ones of a caption are searched


def degrees(gains: Gains, loss: Loss) -> Callable[[Int, Int], npt.NDArray[Any]]:
    """A function of the images (b,) and captions (b,) of a batch: (b, b) float32, row = image, column = caption.

    The caption at a place belongs to the image at the same place. With ``loss.reference`` ``caption`` the rows are the
    captions themselves, and the gains are those of ``load`` with it. The degree is ``loss.scale`` times the gain; with
    ``loss.own`` ``one`` it is at most 1, and 1 for a caption and its image. Gains that are 1 / (1 + distance), such as
    ``wmd``, become 1 - distance, because losses on label distances take 1 - degree for the distance.
    """
    distance = gains.name in SOURCES and SOURCES[gains.name].from_distance

    def degree(images: Int, captions: Int) -> npt.NDArray[Any]:
        # A row a caption: consecutive pairs of one caption take less time.
        rows = captions if loss.reference == "caption" else images
        found = gains.at("t2i", captions, np.broadcast_to(rows, (len(captions), len(rows)))).T
        values = 2 - 1 / np.maximum(found, 1e-6) if distance else found
        values = np.asarray(values * loss.scale, np.float32)
        if loss.own == "one":
            np.minimum(values, 1.0, out=values)  # no caption is more relevant than those of the image itself
            values[images[:, None] == images[None, :]] = 1.0
        return values

    return degree


def check_range(loss: Loss, expected: str | None) -> None:
    """Refuse degrees outside the range that a loss declares, as far as the kind of gains tells theirs.

    Args:
        loss: the configuration.
        expected: a name of ``losses.DEGREES``, or None for any.

    Raises:
        UsageError: naming both ranges.
    """
    if expected is None:
        return
    kind, (low, high) = SOURCES[parse_spec(loss.relevance).kind], DEGREES[expected]
    ends = [-math.inf, 1.0] if kind.from_distance else [kind.low, kind.high]
    known = sorted(loss.scale * end for end in ends if end is not None)
    given = [min(end, 1.0) for end in known] if loss.own == "one" else known
    if all(low <= end <= high for end in given):
        return
    what = f"loss '{loss.name}' expects a degree from {low:g} to {high:g} ({expected}), and loss.relevance"
    what += f" '{loss.relevance}' with loss.scale={loss.scale:g} gives {' to '.join(f'{end:g}' for end in given)}"
    largest = max(map(abs, known))
    scale = f"loss.scale={loss.scale * high / largest:g}, or " if low >= -1 and 0 < largest < math.inf else ""
    raise UsageError(what, fix=f"set {scale}loss.relevance to gains of that range")


def load(loss: Loss, split: Split, progress: Progress | None = None) -> Gains:
    """The gains ``loss.relevance`` of the training captions, by their specification as for ``--gains``.

    Document frequencies are those of the training captions. With ``loss.reference`` ``caption`` every caption stands
    for an image of its own.

    Raises:
        UsageError: gains that are not computed from captions, with ``reference`` ``caption``.
        UsageError, BadInput, MissingPackage: as ``vsebench.relevance.load_gains``.
    """
    spec = parse_spec(loss.relevance)
    if loss.reference == "caption":
        if spec.kind not in OF_CAPTIONS:
            what = f"loss.reference is 'caption', and loss.relevance '{loss.relevance}' is of images"
            raise UsageError(what, fix=f"use {', '.join(OF_CAPTIONS)}, or loss.reference=image")
        own = np.arange(len(split.caption_ids))
        split = Split(split.name, split.caption_ids, split.caption_ids, own, split.captions)
    return load_gains(spec, split, progress)


def nearest(gains: Gains, image_of: Int, reference: str = "image") -> Callable[[Int, int, np.random.Generator], Int]:
    """A function that completes a batch: captions that are relevant to the images of those that are in it.

    Kim et al., CVPR 2019, section 4.2: a batch has the nearest neighbours of its anchor. Here the captions of a batch
    are its anchors in turn, and the neighbours of one are the most relevant of ``CANDIDATES`` random captions of other
    images, as searching all of them would take longer than the step.
    """

    def near(captions: Int, count: int, rng: np.random.Generator) -> Int:
        anchors = rng.choice(captions, min(len(captions), max(1, count // 5)), replace=False)
        candidates = rng.choice(len(image_of), min(CANDIDATES, len(image_of)), replace=False)
        candidates = candidates[~np.isin(image_of[candidates], image_of[captions])]
        rows = anchors if reference == "caption" else image_of[anchors]
        found = gains.at("t2i", candidates, np.broadcast_to(rows, (len(candidates), len(rows)))).T
        ranked = np.argsort(-found, axis=1, kind="stable")
        # The best candidate of every anchor first, then the second of every one, and so on, each caption once.
        chosen = candidates[ranked.T.ravel()]
        _, first = np.unique(chosen, return_index=True)
        return np.asarray(chosen[np.sort(first)][:count], np.int64)

    return near
