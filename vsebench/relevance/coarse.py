"""Coarse-to-fine relevance: a cheap gain everywhere, a costly one where the cheap one says it may matter.

Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020: the degree of a pair is that of a sentence
encoder (BERT) where the cosine of mean word vectors (CBoW) exceeds 0.8, and the latter elsewhere. Code published with
the paper puts 0 elsewhere instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import UsageError
from ..types import Direction, Int, Split, Vectors
from .gains import Gains, Progress, choice

ELSEWHERE = ("cheap", "zero")
ABOVE = "above="
GRAMMAR = "write coarse:CHEAP:above=NUMBER:COSTLY, such as coarse:bow:glove.txt:above=0.8:sentence:all-MiniLM-L6-v2"
MANY = 0.05  # share of a row's pairs from which computing the whole row is no dearer


@dataclass(frozen=True, eq=False)
class CoarseToFine:
    """g = costly where cheap > threshold, elsewhere cheap (or 0).

    Attributes:
        cheap: asked for every pair.
        costly: asked only where ``cheap`` exceeds the threshold.
        threshold: compared in float32, as gains are.
        elsewhere: ``cheap`` or ``zero``.
        name: ``coarse``.

    Raises:
        UsageError: the two are about different numbers of images or captions, a threshold that is not finite, or
            another word for ``elsewhere``.
    """

    cheap: Gains
    costly: Gains
    threshold: float
    elsewhere: str = "cheap"
    name: str = "coarse"

    def __post_init__(self) -> None:
        choice({"elsewhere": self.elsewhere}, "elsewhere", ELSEWHERE)
        if not math.isfinite(self.threshold):
            raise UsageError(f"threshold {self.threshold}", fix="give a finite number")
        if self.cheap.shape != self.costly.shape:
            raise UsageError(
                f"{self.cheap.name} has gains of {self.cheap.shape} images and captions, {self.costly.name} of "
                f"{self.costly.shape}",
                fix="load both for the same split",
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return self.cheap.shape

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """Those of both, and the threshold."""
        parts = {}
        for role, gains in (("cheap", self.cheap), ("costly", self.costly)):
            parts[role] = gains.name
            parts.update({f"{role}.{key}": value for key, value in gains.settings.items()})
        return {**parts, "above": f"{self.threshold:g}", "elsewhere": self.elsewhere}

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of both, each once."""
        return tuple(dict.fromkeys((*self.cheap.notes, *self.costly.notes)))

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """(query, gallery) float32 gains of queries ``start:stop``; raises UsageError when there are no such."""
        out = self.cheap.rows(direction, start, stop)
        fine = out > np.float32(self.threshold)
        if self.elsewhere == "zero":
            out[~fine] = 0.0
        if fine.mean(dtype=np.float64) > MANY and not getattr(self.costly, "pairs_only", False):
            out[fine] = self.costly.rows(direction, start, stop)[fine]
        elif fine.any():
            query, item = np.nonzero(fine)
            out[fine] = self.costly.at(direction, query + start, item[:, None])[:, 0]
        return out

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """(query, k) float32 gains of ``items`` for ``queries``, bit for bit those of ``rows``.

        Raises:
            UsageError: an index outside.
        """
        out = self.cheap.at(direction, queries, items)
        fine = out > np.float32(self.threshold)
        if self.elsewhere == "zero":
            out[~fine] = 0.0
        if fine.any():
            query, place = np.nonzero(fine)
            chosen = np.asarray(queries)[query], np.asarray(items)[query, place][:, None]
            out[fine] = self.costly.at(direction, *chosen)[:, 0]
        return out


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> CoarseToFine:
    """Both gains of ``CHEAP:above=NUMBER:COSTLY``, each as if asked for by itself.

    Args:
        split: with its captions.
        argument: for example ``bow:glove.txt:idf=yes:above=0.8:sentence:all-MiniLM-L6-v2:own=one``.
        settings: ``elsewhere`` (cheap, zero).
        progress: told the share that is done, half of it for each.

    Raises:
        UsageError: the argument is not of that form, or what it names does not exist.
        BadInput, MissingPackage: as the two say.
    """
    from .kinds import load_gains

    cheap, threshold, costly = read_argument(argument)
    halves: list[Progress | None] = [None, None]
    if progress is not None:
        told = progress
        halves = [lambda share: told(share / 2), lambda share: told(0.5 + share / 2)]
    return CoarseToFine(
        load_gains(cheap, split, halves[0]),
        load_gains(costly, split, halves[1]),
        threshold,
        choice(settings, "elsewhere", ELSEWHERE),
    )


def read_argument(argument: str | None) -> tuple[str, float, str]:
    """The cheap specification, the threshold and the costly specification; cut at the first ``above=``.

    Raises:
        UsageError: a part is missing, or the threshold is no finite number.
    """
    parts = (argument or "").split(":")
    cut = next((at for at, part in enumerate(parts) if part.startswith(ABOVE)), 0)
    cheap, costly = ":".join(parts[:cut]), ":".join(parts[cut + 1 :])
    if not cheap or not costly:
        raise UsageError(f"coarse:{argument or ''} does not name a cheap and a costly relevance", fix=GRAMMAR)
    text = parts[cut].removeprefix(ABOVE)
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise UsageError(f"coarse: above is '{text[:40]}', which is no number", fix=GRAMMAR)
    return cheap, threshold, costly
