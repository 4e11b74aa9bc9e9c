"""The sources of training data: ``SOURCES``, the one table, and ``open_data``, which finds one by name.

A source is a function ``open(config: Config, bar) -> {"train": Part, "val": Part, "test": Part}`` in a file of its
own, and says by ``fits`` which names it opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vsebench.errors import BadInput, UsageError
from vsebench.files.regular import expanded
from vsebench.relevance.sources import LABELS
from vsebench.scenes.settings import is_name
from vsebench.types import TestSet
from vsebench.unimodal.files import align, read_labels_array

from ..config import Config
from ..data import Bar, Part, PartName, no_bar
from ..own_file import spelled
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
        lambda name: name.lower().removesuffix(".gz").endswith(OF_CAPTIONS),
        open_images,
    ),
)


def _open(config: Config, bar: Bar) -> dict[PartName, Part]:
    """The parts of a source; raises UsageError for unknown names and settings it does not take; as the source."""
    for source in SOURCES:
        if source.fits(config.data.name):
            for name in ("captions", "key") if source.open is not open_vectors else ():
                if value := getattr(config.data, name):
                    what = f"data.{name} is '{value}', and {config.data.name} is no file of vectors"
                    raise UsageError(what, fix="leave it out, or give a file of vectors")
            return source.open(config, bar)
    raise UsageError(f"no data '{config.data.name}'", fix=f"give {'; '.join(source.title for source in SOURCES)}")


def open_data(config: Config, bar: Bar = no_bar) -> dict[PartName, Part]:
    """The parts of the data that a configuration names; training captions are cut to ``data.first``.

    Where ``loss.relevance`` is ``labels``, the images have those of ``data.labels``, or those that the source knows.

    Raises:
        UsageError: an unknown name, or settings that do not fit.
        MissingPackage: the data are not here; the message has the command to get them.
        BadInput: a damaged file, or parts with images of different widths.
    """
    labels, parts = config.loss.relevance == LABELS, _open(config, bar)
    kinds = {name: f"{part.images.kind} of width {part.images.width}" for name, part in parts.items()}
    for name, kind in kinds.items():
        if kind != kinds["train"]:
            what = f"the images of {name} are {kind}, and those of train {kinds['train']}"
            raise BadInput(what, where=config.data.name, fix="encode all images alike")
    if labels and not config.data.labels and parts["train"].labels is None:
        raise UsageError(
            f"{config.data.name} has no labels of its images", fix=f"name their file: {spelled('data.labels', 'FILE')}"
        )
    if labels and config.data.labels:
        read = read_labels_array(expanded(config.data.labels))
        if read.image_ids is None:
            raise BadInput("has labels without ids", where=read.where, fix="save the ids of the images: image_ids")
        parts = {n: replace(p, labels=align(read, p.split.rows.ids).values) for n, p in parts.items()}
    return {**parts, "train": _first(parts["train"], config.data.first)}


def _first(part: Part, share: float) -> Part:
    """The part with the first captions only; images without a caption stay, and are never drawn."""
    split = part.split
    count = max(2, round(len(split.columns.ids) * share))
    if count >= len(split.columns.ids):
        return part
    kept = TestSet.captioned(
        split.name, split.rows.ids, split.columns.ids[:count], split.owners[:count], part.captions[:count]
    )
    return replace(part, split=kept)
