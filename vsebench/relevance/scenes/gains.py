"""Gains of scenes: the truth of every caption with every image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import UsageError, count_of
from ...scenes.encode import FACTS_COUNT
from ...types import Direction, Int, Split, Vectors
from ..checks import as_pairs, check_range
from ..gains import Progress
from .source import fingerprint, truth_of
from .truth import Truth


@dataclass(frozen=True, eq=False)
class TruthGains:
    """F-score of the facts that a caption states and those of a scene, see ``vsebench.scenes.facts.truth``.

    Attributes:
        truth: of all pairs.
        settings: the fingerprint of the scenes and facts.
        notes: captions that state nothing.
    """

    truth: Truth
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    name: str = "truth"
    lowest: float = 0.0
    rows_affordable: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """See ``Gains.shape``."""
        return len(self.truth.scenes), len(self.truth.facts)

    def rows(self, direction: Direction, start: int, stop: int) -> Vectors:
        """See ``Gains.rows``."""
        check_range(self.shape, direction, start, stop)
        return self.truth.rows(direction, start, stop)

    def at(self, direction: Direction, queries: Int, items: Int) -> Vectors:
        """See ``Gains.at``."""
        images, captions = as_pairs(self.shape, direction, queries, items)
        return self.truth.pairs(images, captions).reshape(np.shape(items))


def load(
    split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None = None
) -> TruthGains:
    """The truth of the captions of a split of scenes.

    Args, see ``kinds.declare.Loader``:
        split: of scenes; strings are not needed.
        argument: None.
        settings: there are none.
        progress: not called, as there is nothing to prepare.

    Raises:
        UsageError: an argument, or a split of other data.
        MissingPackage: the data set is not built here.
        BadInput: it is damaged, or the split has other ids.
    """
    if argument is not None:
        raise UsageError(f"truth takes no '{argument}'", fix="write truth alone")
    truth = truth_of(split)
    none = int((truth.facts[:, FACTS_COUNT] == 0).sum())
    stating = count_of(none, "caption states", "captions state")
    notes = (f"{stating} no fact: truth 0 with every image",) if none else ()
    return TruthGains(truth, {"scenes": fingerprint(truth)}, notes)
