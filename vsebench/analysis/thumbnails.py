"""Small versions of the images in a folder, for a page: bounded in number and size."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import BadInput, MissingPackage, count_of, printable
from ..files.audit import shown
from ..files.image_files import ENDINGS, read_image
from ..types import Split

SIDE = 144  # pixels of the longer side
QUALITY = 62  # of JPEG
MOST = 1_500  # images
BUDGET = 4_500_000  # bytes of JPEG
NAMED = 3  # files that cannot be read, in a note


def check(folder: str | os.PathLike[str]) -> Path:
    """``folder`` if it is one; raises BadInput."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise BadInput("is no folder", where=path, fix="give the folder with the image files")
    return path


def make(
    folder: str | os.PathLike[str], split: Split, wanted: Sequence[int]
) -> tuple[dict[int, bytes], tuple[str, ...]]:
    """Thumbnails of the images that are wanted, the first ones first, and notes about those that are left out.

    Args:
        folder: with the files, also in folders below it.
        split: whose images; a file is that of an image when its name, its name without the ending, or the number at
            the end of it is the id.
        wanted: indices of images.

    Returns:
        Index of an image -> JPEG bytes; notes.

    Raises:
        BadInput: no such folder, or none of its files is an image of the split.
        MissingPackage: Pillow is not installed.
    """
    path = check(folder)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingPackage("thumbnails need Pillow", fix="pip install 'vsebench[report]'") from None
    files = _files(path, split)
    if not files:
        what = f"has no image of the split (such as '{printable(shown(split.image_ids[0]))}.jpg')"
        raise BadInput(what, where=path, fix="name the files after the image ids")
    made: dict[int, bytes] = {}
    unreadable: list[str] = []
    size = 0
    for image in (i for i in wanted if i in files):
        if len(made) == MOST or size >= BUDGET:
            break
        try:
            small = read_image(files[image], 2 * SIDE)
        except BadInput as error:
            unreadable.append(f"{files[image].relative_to(path).as_posix()} {error.what}")
            continue
        small.thumbnail((SIDE, SIDE))
        stream = io.BytesIO()
        small.save(stream, "JPEG", quality=QUALITY, optimize=True)
        made[image] = stream.getvalue()
        size += len(made[image])
    notes = []
    if len(made) + len(unreadable) < len(files):
        notes.append(f"The page has thumbnails of {len(made):,} of {len(files):,} images, to bound its size.")
    if len(files) < len(split.image_ids):
        notes.append(f"The folder has files of {len(files):,} of {len(split.image_ids):,} images.")
    if unreadable:
        shown_ones = "; ".join(unreadable[:NAMED]) + ("; ..." if len(unreadable) > NAMED else "")
        notes.append(f"{count_of(len(unreadable), 'image file')} cannot be read: {printable(shown_ones)}.")
    return made, tuple(notes)


def _files(folder: Path, split: Split) -> dict[int, Path]:
    """Index of an image -> its file."""
    place = {str(name): i for i, name in enumerate(split.image_ids.tolist())}
    numbers = split.image_ids.dtype.kind == "i"
    found: dict[int, Path] = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS):
        names = [path.name, path.stem, path.relative_to(folder).as_posix()]
        digits = re.search(r"[0-9]+$", path.stem)
        if numbers and digits:
            names.append(str(int(digits[0])))
        at = next((place[name] for name in names if name in place), None)
        if at is not None:
            found.setdefault(at, path)
    return found
