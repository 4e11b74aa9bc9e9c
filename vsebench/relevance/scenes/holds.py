"""The gains ``holds``: the share of the facts of a caption that hold in a scene; 1 exactly where it ``entails``."""

from __future__ import annotations

from collections.abc import Mapping

from ...types import Split
from ..gains import Gains, Progress
from .shares import gains_of, holds
from .truth import truth_of


def load(split: Split, argument: None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """The gains of a split of scenes, which needs no strings; see ``kinds.declare.Loader``.

    Raises:
        UsageError, MissingPackage, BadInput: as ``truth.truth_of``.
    """
    return gains_of("holds", split, holds(truth_of(split)))
