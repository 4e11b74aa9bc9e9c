"""The sources of training data: ``SOURCES``, the one table.

A source is a function ``open(data: config.Data, bar) -> {"train": Part, "val": Part, "test": Part}`` in a file of its
own, and says by ``fits`` which names it opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vsebench.errors import UsageError

from ..config import Data
from ..data import Bar, Part, PartName
from . import scenes


@dataclass(frozen=True)
class Source:
    """One source: what it is called in messages, which names it opens, and how."""

    title: str
    fits: Callable[[str], bool]
    open: Callable[[Data, Bar], dict[PartName, Part]]


# In the order in which they are tried.
SOURCES: tuple[Source, ...] = (Source("scenes, such as scenes-10k", scenes.fits, scenes.open_scenes_data),)


def open_source(data: Data, bar: Bar) -> dict[PartName, Part]:
    """The parts of a source; raises UsageError where no source opens the name, else as the source."""
    for source in SOURCES:
        if source.fits(data.name):
            return source.open(data, bar)
    raise UsageError(f"no data '{data.name}'", fix=f"give {'; '.join(source.title for source in SOURCES)}")
