"""A relevance by name as a function of pairs: ``binary``, the graded relevances, and the scores of captioning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import MissingPackage, unknown
from ..log import logged, note
from ..numeric.parallel import one_blas_thread
from ..relevance.captioning import TITLES, pair_scores
from ..relevance.gains import Spec
from ..relevance.sources import SOURCES, load_gains, named_sources, parse_spec, source_of
from ..types import Float, Int, TestSet
from .protocols import PairGain, Task

BINARY = "binary"
BLOCK_PAIRS = 1 << 20  # pairs in one call; large, as some gains process all items in every call


@dataclass(frozen=True, eq=False)
class OfPairs:
    """One relevance over the items of a task: its values by pair, and the settings that change its values."""

    name: str
    gain: PairGain
    settings: tuple[tuple[str, str], ...] = ()


def check(name: str) -> str:
    """The name, if there is such a relevance.

    Raises:
        UsageError: unknown gains (with close matches), or a wrong setting.
    """
    head = name.strip().partition(":")[0]
    if head not in (BINARY, *TITLES) or head != name.strip():
        if source_of(head) is None:
            raise unknown("relevance", name.strip(), [BINARY, *named_sources(), *TITLES])
        parse_spec(name)
    return name.strip()


def fits(name: str, task: Task) -> bool:
    """Whether a relevance has values for these pairs: scores of captioning are defined for caption-image pairs only."""
    return name not in TITLES or task.sides == ("caption", "image")


def needs_captions(name: str) -> bool:
    """Whether a relevance is made from the captions as strings."""
    return name != BINARY and (name in TITLES or SOURCES[parse_spec(name).kind].captions != "unused")


def open_source(name: str, task: Task, java: str | None = None) -> OfPairs:
    """A relevance over the split of a task.

    Args:
        name: ``binary`` (1 for the caption's own image, else 0), a specification of a graded relevance, or a score of
            captioning. Without settings, ``cider`` on a split of Flickr8k takes document frequencies as published: the
            references of an image count once for every rating of it.
        task: the split, and the pairs, which change the document frequencies only.
        java: a Java folder or program for METEOR.

    Raises:
        UsageError, BadInput, MissingPackage: as ``relevance.load_gains`` and ``captioning.pair_scores``.
    """
    if name == BINARY:
        return OfPairs(name, lambda images, captions: (task.origin[captions] == images).astype(np.float64))
    if name in TITLES:
        strings, references = task.split.columns.texts or (), task.references

        def score(images: Int, captions: Int) -> Float:
            return pair_scores(name, strings, references, captions, images, java=java)

        return OfPairs(name, score)
    spec = parse_spec(name)
    if spec.kind == "cider" and "df" not in spec.settings and task.split.name.startswith("flickr8k"):
        return _over_ratings(name, spec, task)
    return _graded(name, spec, task.split)


def _graded(name: str, spec: Spec, split: TestSet) -> OfPairs:
    try:
        gains = load_gains(spec, split)
    except MissingPackage as error:
        if spec.kind != "spice" or not split.name.startswith("flickr8k"):
            raise
        fix = "run: cut -f2 Flickr8k.token.txt > texts.txt, and vsebench spice --captions texts.txt"
        raise MissingPackage(error.what, fix=fix) from error

    def gain(images: Int, captions: Int) -> Float:
        with one_blas_thread():
            starts = range(0, len(images), BLOCK_PAIRS)
            parts = [gains.at(images[s : s + BLOCK_PAIRS], captions[s : s + BLOCK_PAIRS, None])[:, 0] for s in starts]
        return np.concatenate(parts).astype(np.float64)

    return OfPairs(name, gain, tuple(gains.settings.items()))


def _over_ratings(name: str, spec: Spec, task: Task) -> OfPairs:
    """The gains of a split with a separate image for every rating."""
    split, references = task.split, task.references
    ratings = task.right.tolist()
    copies = [c for image in ratings for c in references[image]]
    image_of = np.repeat(np.arange(len(ratings)), [len(references[image]) for image in ratings])
    listed = set(copies)
    spare = [c for c in range(len(split.columns.ids)) if c not in listed]
    rows = np.array(copies + spare, np.int64)
    strings = split.columns.texts or ()
    image_of = np.concatenate([image_of, np.full(len(spare), len(ratings))])
    captions = tuple(strings[c] for c in rows.tolist())
    wide = TestSet.captioned(
        split.name, np.arange(len(ratings) + bool(spare)), np.arange(len(rows)), image_of, captions
    )
    first_copy = np.full(len(split.columns.ids), -1, np.int64)
    first_copy[rows[::-1]] = np.arange(len(rows))[::-1]
    first_rating = np.full(len(split.rows.ids), -1, np.int64)
    first_rating[task.right[::-1]] = np.arange(len(ratings))[::-1]
    with logged():
        inner = _graded(name, spec, wide)
    _graded(name, spec, split)  # for its notes: the copies would count a caption many times
    note(f"cider: document frequencies over {len(ratings):,} rated pairs, as published")
    settings = tuple((k, "ratings" if k == "df" else v) for k, v in inner.settings)
    return replace(
        inner,
        gain=lambda images, captions: inner.gain(first_rating[images], first_copy[captions]),
        settings=settings,
    )
