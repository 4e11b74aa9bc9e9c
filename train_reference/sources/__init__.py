"""The sources of training data: ``SOURCES``, the one table.

A source is a function ``open(config: Config, bar) -> {"train": Part, "val": Part, "test": Part}`` in a file of its
own, and says by ``fits`` which names it opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vsebench.errors import UsageError

from ..config import Config
from ..data import Bar, Part, PartName
from . import karpathy, precomp, scenes, vectors


@dataclass(frozen=True)
class Source:
    """One source: what it is called in messages, which names it opens, and how."""

    title: str
    fits: Callable[[str], bool]
    open: Callable[[Config, Bar], dict[PartName, Part]]


# In the order in which they are tried.
SOURCES: tuple[Source, ...] = (
    Source("scenes, such as scenes-10k", scenes.fits, scenes.open_scenes_data),
    Source("a folder with train_ims.npy and train_caps.txt", precomp.fits, precomp.open_precomp),
    Source("a file of vectors, such as features.npz, with its captions", vectors.fits, vectors.open_vectors),
    Source("a Karpathy file, such as dataset_coco.json", karpathy.fits, karpathy.open_karpathy),
)


def open_source(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The parts of a source; raises UsageError where no source opens the name, else as the source."""
    for source in SOURCES:
        if source.fits(config.data.name):
            return source.open(config, bar)
    raise UsageError(f"no data '{config.data.name}'", fix=f"give {'; '.join(source.title for source in SOURCES)}")
