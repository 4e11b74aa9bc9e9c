"""Coarse-to-fine gains: a cheap gain for every pair, replaced by a costly one if the cheap one exceeds a threshold.

Zhou et al., Ladder Loss for Coherent Visual-Semantic Embedding, AAAI 2020: the degree of a pair comes from a sentence
encoder (BERT) if the cosine of mean word vectors (CBoW) exceeds 0.8, else it is that cosine. Code published with
the paper sets the gain to 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..errors import UsageError
from ..types import Bool, Int, TestSet, Vectors
from .gains import Gains, Values
from .sources import load_gains

ABOVE = ":above="
GRAMMAR = "write coarse:CHEAP:above=NUMBER:COSTLY, such as coarse:bow:glove.txt:above=0.8:sentence:all-MiniLM-L6-v2"
ROW_FRACTION = 0.05  # of the pairs of a row: from here on computing the row costs no more than computing the pairs


@dataclass(frozen=True, eq=False)
class CoarseToFine(Values):
    """g = costly where cheap > threshold, elsewhere cheap (or 0).

    Attributes:
        cheap: computed for every pair.
        costly: computed where ``cheap`` exceeds the threshold.
        threshold: rounded to float32, as gains are.
        elsewhere: ``cheap`` or ``zero``.
    """

    cheap: Gains
    costly: Gains
    threshold: float
    elsewhere: str

    def rows(self, start: int, stop: int) -> Vectors:
        """See ``Values.rows``."""
        out, above = self._divided(self.cheap.rows(start, stop))
        if above.size and above.mean(dtype=np.float64) > ROW_FRACTION and self.costly.rows_affordable:
            out[above] = self.costly.rows(start, stop)[above]
        elif above.any():
            row, column = np.nonzero(above)
            out[above] = self.costly.at(row + start, column[:, None])[:, 0]
        return out

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """See ``Values.pairs``."""
        out, above = self._divided(self.cheap.at(rows, columns[:, None])[:, 0])
        if above.any():
            out[above] = self.costly.at(rows[above], columns[above, None])[:, 0]
        return out

    @property
    def T(self) -> CoarseToFine:
        """See ``Values.T``."""
        return replace(self, cheap=self.cheap.T, costly=self.costly.T)

    def _divided(self, cheap: Vectors) -> tuple[Vectors, Bool]:
        """The cheap gains, replaced above the threshold."""
        above = cheap > np.float32(self.threshold)
        if self.elsewhere == "zero":
            cheap[~above] = 0.0
        return cheap, above


def coarse_to_fine(cheap: Gains, costly: Gains, threshold: float, elsewhere: str = "cheap") -> Gains:
    """The combination of two gains of the same items, see ``CoarseToFine``."""
    settings = {}
    for role, gains in (("cheap", cheap), ("costly", costly)):
        settings[role] = gains.name
        settings.update({f"{role}.{key}": value for key, value in gains.settings.items()})
    settings.update(above=f"{threshold:g}", elsewhere=elsewhere)
    left_out = [[x for x in side if x is not None] for side in zip(cheap.no_queries, costly.no_queries, strict=True)]
    rows, columns = (np.any(parts, axis=0) if parts else None for parts in left_out)
    values = CoarseToFine(cheap, costly, threshold, elsewhere)
    # Where rows of the costly ones are not affordable, these are computed for pairs.
    return Gains("coarse", settings, cheap.shape, values, None, cheap.rows_affordable, no_queries=(rows, columns))


def load(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """Both gains of ``CHEAP:above=NUMBER:COSTLY``, each loaded as by its own specification.

    Args, see ``sources.Loader``:
        argument: for example ``bow:glove.txt:idf=yes:above=0.8:sentence:all-MiniLM-L6-v2:own=one``.
        settings: ``elsewhere`` (cheap, zero).

    Raises:
        UsageError: the argument is not of that form, or names an unknown kind or setting.
        BadInput, MissingPackage: from loading either of the two.
    """
    cheap, threshold, costly = read_argument(argument)
    return coarse_to_fine(load_gains(cheap, test), load_gains(costly, test), threshold, settings["elsewhere"])


def read_argument(argument: str | None) -> tuple[str, float, str]:
    """The cheap specification, the threshold and the costly specification; divided at the first ``above=``.

    Raises:
        UsageError: a part is missing, or the threshold is not a finite number.
    """
    cheap, _, rest = (argument or "").partition(ABOVE)
    text, _, costly = rest.partition(":")
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not cheap or not costly or not math.isfinite(threshold):
        what = f"coarse:{argument or ''} is not a cheap relevance, a number, and a costly relevance"
        raise UsageError(what, fix=GRAMMAR)
    return cheap, threshold, costly
