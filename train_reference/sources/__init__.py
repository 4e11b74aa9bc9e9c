"""The sources of training data: ``SOURCES``, the one table.

A source is a function ``open(config: Config, bar) -> {"train": Part, "val": Part, "test": Part}`` in a file of its
own, and says by ``fits`` which names it opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vsebench.errors import UsageError
from vsebench.scenes.settings import is_name

from ..config import Config
from ..data import Bar, Part, PartName
from .files import OF_CAPTIONS, OF_VECTORS, open_images, open_vectors
from .precomp import is_folder, open_precomp
from .scenes import open_scenes_data


@dataclass(frozen=True)
class Source:
    """One source: what it is called in messages, which names it opens, and how."""

    title: str
    fits: Callable[[str], bool]
    open: Callable[[Config, Bar], dict[PartName, Part]]


# In the order in which they are tried.
SOURCES: tuple[Source, ...] = (
    Source("scenes, such as scenes-10k", is_name, open_scenes_data),
    Source("a folder with train_ims.npy and train_caps.txt", is_folder, open_precomp),
    Source(
        "a file of vectors, such as features.npz, with its captions",
        lambda name: name.lower().endswith(OF_VECTORS),
        open_vectors,
    ),
    Source(
        "a file of captions, such as dataset_coco.json, with a folder of images",
        lambda name: name.lower().endswith(OF_CAPTIONS),
        open_images,
    ),
)


def open_source(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The parts of a source; raises UsageError for unknown names and settings it does not take; as the source."""
    for source in SOURCES:
        if source.fits(config.data.name):
            for name in ("captions", "key") if source.open is not open_vectors else ():
                if value := getattr(config.data, name):
                    what = f"data.{name} is '{value}', and {config.data.name} is no file of vectors"
                    raise UsageError(what, fix="leave it out, or give a file of vectors")
            return source.open(config, bar)
    raise UsageError(f"no data '{config.data.name}'", fix=f"give {'; '.join(source.title for source in SOURCES)}")
