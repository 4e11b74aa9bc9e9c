"""What is encoded: the images of a set, wherever they are stored, and its captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import BadInput, UsageError
from ..files import store
from ..files.captions import lines_of, with_image_files
from ..files.image_files import Packed, find_images, match_images
from ..files.regular import expanded, read_once
from ..log import logged
from ..options import spell
from ..sets import catalogue
from ..sets.choices import layouts
from ..sets.match import with_captions
from ..sets.packed_images import packed_images
from ..types import PathLike, TestSet

Image = Path | Packed


@dataclass(frozen=True, eq=False)
class Inputs:
    """The images and captions of a set.

    Attributes:
        split: the ids, the strings, and the image of every caption.
        images: where every image is.
        unused: how many images are there that the split does not have.
        notes: decisions made when they were read.
    """

    split: TestSet
    images: Sequence[Image]
    unused: int
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Images and captions."""
        return len(self.images) + len(self.split.columns.ids)

    def identity(self) -> str:
        """Sixteen digits of the ids, the captions, and the files of the images (size and time)."""
        ids = [ids.tolist() for ids in (self.split.rows.ids, self.split.columns.ids, self.split.owners)]
        return store.fingerprint(
            *(list(map(str, side)) for side in ids),
            self.split.columns.texts or (),
            [state_of(image) for image in self.images],
        )[:16]


def read_inputs(images: PathLike, captions: PathLike | None, split: str | None, part: str | None) -> Inputs:
    """The images and captions of a set; arguments and errors as for ``encode``."""
    with logged() as log, read_once():
        found = _read(images, captions, split, part)
    return replace(found, notes=tuple(log.notes))


def _read(images: PathLike, captions: PathLike | None, split: str | None, part: str | None) -> Inputs:
    where = expanded(images)
    names: dict[str, str] = {}
    packed = None
    if split is not None:
        if part is not None:
            raise UsageError(f"{spell('part')} cannot be combined with {spell('split')}", fix="leave one of them out")
        chosen = _of_split(split, captions)
    elif captions is not None:
        chosen, names = _of_file(expanded(captions), part)
    if (packed := packed_images(where)) is None:
        if split is None and captions is None:
            fix = f"give {spell('captions', 'FILE')}, or {spell('split', 'NAME')} for a declared split"
            raise UsageError("the captions of the images are not given", fix=fix)
        found = find_images(where, chosen.rows.ids, names)
        return Inputs(chosen, found.paths, found.unused)
    if split is None and captions is None:
        rows = packed.captions(part)
        image_ids, image_of = rows.images()
        chosen, names = TestSet.captioned("custom", image_ids, rows.caption_id, image_of, rows.captions), packed.names
    matched = match_images(list(packed.images), where, chosen.rows.ids, names)
    return Inputs(chosen, [packed.images[name] for name in matched], len(packed.images) - len(matched))


def state_of(image: Image) -> str:
    """What changes when an image does; raises BadInput."""
    path = image.path if isinstance(image, Packed) else image
    try:
        state = path.stat()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", where=path, fix="check permissions") from error
    place = f" {image.place}" if isinstance(image, Packed) else ""
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}{place}"


def _of_split(split: str, captions: PathLike | None) -> TestSet:
    choices = split not in catalogue.names() and layouts.is_known(split)
    known = layouts.load(split).split if choices else catalogue.load_split(split, captions=captions is None)
    return with_captions(known, None if captions is None else Path(captions))


def _of_file(path: Path, part: str | None) -> tuple[TestSet, dict[str, str]]:
    """The items of a file of captions, and the names of image files that it states."""
    if lines_of(path) is not None:
        what = "captions without ids do not say which image they belong to"
        raise UsageError(
            what, where=path, fix=f"add {spell('split', 'NAME')}, or give a table with the columns image and caption"
        )
    rows, names = with_image_files(path, part)
    image_ids, image_of = rows.images()
    return TestSet.captioned("custom", image_ids, rows.caption_id, image_of, rows.captions), names
