"""Small versions of the images in a folder, for a page: bounded in number and size."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput, MissingPackage, count_of, install, printable
from ..files.image_files import Packed, files_of, listed, read_image
from ..files.raw import format_id
from ..files.regular import expanded
from ..sets.packed_images import packed_images
from ..types import TestSet

SIDE = 144  # pixels of the longer side
QUALITY = 62  # of JPEG
MAX_IMAGES = 1_500  # images
BUDGET = 4_500_000  # bytes of JPEG
MAX_NAMED_FILES = 3  # files that cannot be read, in a note


def make(
    where: str | os.PathLike[str], split: TestSet, wanted: Sequence[int]
) -> tuple[dict[int, bytes], tuple[str, ...]]:
    """Thumbnails of the images that are wanted, the first ones first, and notes about those that are left out.

    Args:
        where: the images, as for ``vsebench.encode``.
        split: the test set.
        wanted: indices of images.

    Returns:
        Index of an image -> JPEG bytes; notes.

    Raises:
        BadInput: no such folder or file, or none of its images is one of the split.
        MissingPackage: Pillow is not installed, or pyarrow for parquet.
    """
    path = expanded(where)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingPackage("thumbnails need Pillow", fix=install("report")) from None
    files = _files(path, split)
    if not files:
        what = f"has no image of the split (such as '{printable(format_id(split.rows.ids[0]))}.jpg')"
        raise BadInput(what, where=path, fix="name the files after the image ids, and give every image once")
    made: dict[int, bytes] = {}
    unreadable: list[str] = []
    size = 0
    for image in (i for i in wanted if i in files):
        if len(made) == MAX_IMAGES or size >= BUDGET:
            break
        try:
            small = read_image(files[image], 2 * SIDE)
        except BadInput as error:
            unreadable.append(f"{str(files[image]).removeprefix(f'{path}/')} {error.what}")
            continue
        small.thumbnail((SIDE, SIDE))
        stream = io.BytesIO()
        small.save(stream, "JPEG", quality=QUALITY, optimize=True)
        made[image] = stream.getvalue()
        size += len(made[image])
    notes = []
    if len(made) + len(unreadable) < len(files):
        notes.append(f"To keep the page small, it has thumbnails of {len(made):,} of {len(files):,} images.")
    if len(files) < len(split.rows.ids):
        notes.append(f"{len(files):,} of {len(split.rows.ids):,} images have a file.")
    if unreadable:
        shown_ones = "; ".join(unreadable[:MAX_NAMED_FILES]) + ("; ..." if len(unreadable) > MAX_NAMED_FILES else "")
        notes.append(f"{count_of(len(unreadable), 'image file')} cannot be read: {printable(shown_ones)}.")
    return made, tuple(notes)


def _files(path: Path, split: TestSet) -> dict[int, Path | Packed]:
    """Index of an image -> its file."""
    packed = packed_images(path)
    names = listed(path) if packed is None else list(packed.images)
    found = enumerate(files_of(names, split.rows.ids, None if packed is None else packed.names).tolist())
    return {at: path / names[of] if packed is None else packed.images[names[of]] for at, of in found if of >= 0}
