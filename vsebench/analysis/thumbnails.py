"""Small versions of the images in a folder, for a page: bounded in number and size."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.audit import shown
from ..errors import BadInput, MissingPackage, count_of, printable
from ..types import Split

SIDE = 144  # pixels of the longer side
QUALITY = 62  # of JPEG
MOST = 1_500  # images
BUDGET = 4_500_000  # bytes of JPEG
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")


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
        from PIL import Image
    except ImportError:
        raise MissingPackage("thumbnails need Pillow", fix="pip install 'vsebench[report]'") from None
    files = _files(path, split)
    if not files:
        what = f"has no image of the split (such as '{printable(shown(split.image_ids[0]))}.jpg')"
        raise BadInput(what, where=path, fix="name the files after the image ids")
    made: dict[int, bytes] = {}
    unreadable, size = 0, 0
    for image in (i for i in wanted if i in files):
        if len(made) == MOST or size >= BUDGET:
            break
        data = _thumbnail(Image, files[image])
        if data is None:
            unreadable += 1
            continue
        made[image] = data
        size += len(data)
    notes = []
    if len(made) + unreadable < len(files):
        notes.append(f"The page has thumbnails of {len(made):,} of {len(files):,} images, to bound its size.")
    if len(files) < len(split.image_ids):
        notes.append(f"The folder has files of {len(files):,} of {len(split.image_ids):,} images.")
    if unreadable:
        notes.append(f"{count_of(unreadable, 'image file')} cannot be read.")
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


def _thumbnail(engine: Any, path: Path) -> bytes | None:
    """A small JPEG of a file, None where it cannot be read."""
    try:
        with engine.open(path) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded at a smaller size
            image.thumbnail((SIDE, SIDE))
            stream = io.BytesIO()
            image.convert("RGB").save(stream, "JPEG", quality=QUALITY, optimize=True)
            return stream.getvalue()
    except (OSError, ValueError, SyntaxError, engine.DecompressionBombError):
        return None
