"""Image files: the file of an image id, and reading one."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingPackage, count_of, first_line, install
from ..log import note
from ..memory import text_array
from ..options import spell
from ..types import Ids, Int
from .ids import match
from .regular import check_file

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
MAX_PIXELS = 50_000_000  # 200 MB decoded
USED_BITS = 12  # a 16-bit image that uses no more of them may be white at 4,095 or at 65,535
BITS_PER_SAMPLE, PHOTOMETRIC, SAMPLE_FORMAT = 258, 262, 339  # tags of TIFF
_OPENING = threading.Lock()  # all threads share the warning filters


@dataclass(frozen=True)
class ImageFiles:
    """The files of the images of a split.

    Attributes:
        paths: (image,) the file of every image.
        unused: how many other images the folder has.
    """

    paths: tuple[Path, ...]
    unused: int


@dataclass(frozen=True)
class Packed:
    """An image inside another file: a row of a table, or a file of an archive.

    Attributes:
        path: the table or archive.
        name: where in it, for messages.
        place: likewise as a number; reading is fastest in its order.
        read: gives its bytes; raises BadInput.
    """

    path: Path
    name: str
    place: int
    read: Callable[[], bytes]

    def __str__(self) -> str:
        return f"{self.path}: {self.name}"


def find_images(folder: Path, image_ids: Ids, names: Mapping[str, str] | None = None) -> ImageFiles:
    """The file of every image, in a folder or in folders inside it.

    Paths below the folder are compared with the ids by ``ids.match``: as they are, or if none is equal all without
    folders, endings, COCO prefixes and leading zeros, as ``391895`` and ``val/COCO_val2014_000000391895.jpg``.

    Args:
        folder: searched for files; hidden files are ignored.
        image_ids: (image,) int64 or unicode.
        names: the name of the file of an id, by the id as a string, for ids that do not name it.

    Raises:
        BadInput: no such folder, one without images, ids without a file or with several, or two ids of one file.
    """
    files = listed(folder)
    found = match_images(files, folder, image_ids, names)
    return ImageFiles(tuple(folder / file for file in found), len(files) - len(found))


def match_images(
    files: Sequence[str], folder: Path, image_ids: Ids, names: Mapping[str, str] | None = None
) -> list[str]:
    """The one of some files that belongs to every image id; arguments and errors as for ``find_images``."""
    at = files_of(files, image_ids, names)
    if len(lost := np.flatnonzero(at < 0)):
        scope, first = f"of the {len(at):,} images", str(image_ids[lost[0]])
        what = f"{count_of(len(lost), f'{scope} has', f'{scope} have')} no unique file (first: "
        fix = f"give a folder with every image once (it has {files[0]}), or the names of the files in "
        fix += spell("captions", "FILE")
        raise BadInput(f"{what}{(names or {}).get(first, first)})", where=folder, fix=fix)
    order = np.argsort(at, kind="stable")
    if len(same := np.flatnonzero(np.diff(at[order]) == 0)):
        one, other = image_ids[order[same[0]]], image_ids[order[same[0] + 1]]
        what = f"images '{one}' and '{other}' are the same file: {files[at[order[same[0]]]]}"
        raise BadInput(what, where=folder, fix="give every image one id")
    return [files[place] for place in at.tolist()]


def files_of(files: Sequence[str], image_ids: Ids, names: Mapping[str, str] | None = None) -> Int:
    """(image,) int64 index of the file of every image id, -1 without one, by ``ids.match``."""
    wanted = [(names or {}).get(image, image) for image in map(str, image_ids.tolist())]
    return match(text_array(wanted, "ids") if names else image_ids, text_array(files, "names of files"))[0]


def read_image(path: Path | Packed, small: int | None = None) -> Any:
    """The pixels of a file as an RGB image of Pillow; a rotation that the file only asks for is not applied.

    Only ``FORMATS`` are read: others run programs (EPS) or are decoders that are rarely used. The size that the file
    states is checked before a pixel is decoded. Grey values of 12 or 16 bits are scaled to 8 bits, with a note.

    Args:
        path: the file; its name says nothing about its format.
        small: a JPEG may be decoded at a smaller size, with sides of at least so many pixels; None: as it is.

    Raises:
        BadInput: it is missing, no regular file, truncated, no image, or has more than ``MAX_PIXELS``; its pixels are
            numbers without a stated range (32 bits, floats, signed).
        MissingPackage: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPackage("image files need Pillow", fix=install("clip")) from error
    fix = "copy the file again, or leave the image and its captions out"
    where = str(path)
    if isinstance(path, Path):
        check_file(path, fix)
    try:
        with _opened(Image, path if isinstance(path, Path) else io.BytesIO(path.read())) as file:
            pixels = file.width * file.height
            if pixels > MAX_PIXELS:
                what = f"has {pixels:,} pixels; at most {MAX_PIXELS:,} are decoded"
                raise BadInput(what, where=where, fix="save it smaller, or leave the image and its captions out")
            if small is not None:
                file.draft("RGB", (small, small))
            return (_in_8_bits(file, Image) or file).convert("RGB")
    except BadInput as error:
        error.where = error.where or where
        raise
    except Image.UnidentifiedImageError:
        what = f"cannot be read as an image (not {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, or damaged)"
        raise BadInput(what, where=where, fix=fix) from None
    # Pillow raises errors of many classes for damaged files: OSError, SyntaxError, ValueError, struct.error, ...
    except Exception as error:
        raise BadInput(f"cannot be read as an image ({first_line(error)})", where=where, fix=fix) from error


def _in_8_bits(file: Any, engine: Any) -> Any | None:
    """A grey image of more bits as one of 8, its high bits; None for an image that has 8 bits or fewer.

    Raises BadInput.

    Pillow clips these values at 255.
    """
    tags = getattr(file, "tag_v2", {})
    bits = 12 if 12 in tags.get(BITS_PER_SAMPLE, ()) else 16
    deep = file.mode.startswith("I;16") or (file.mode == "I" and file.format == "PNG")  # the latter by older Pillows
    if not deep and (file.mode in ("I", "F") or any(kind != 1 for kind in tags.get(SAMPLE_FORMAT, ()))):
        kind = {"F": "floating-point", "I": "32-bit or signed"}.get(file.mode, "signed")
        what = f"has {kind} pixels, and the values of black and white are unknown"
        raise BadInput(what, fix="save it with 8 bits per pixel, 0 for black and 255 for white")
    if not deep:
        return None
    values = np.asarray(file).astype(np.int32)
    if bits > USED_BITS and 0 < values.max() < 1 << USED_BITS:
        what = f"has 16 bits per pixel and no value above {values.max():,}: the value of white is unknown"
        raise BadInput(what, fix="save it with 8 bits per pixel, or scale its values so that white is 65,535")
    if tags.get(PHOTOMETRIC) == 0:  # white is 0, which Pillow leaves as it is
        values = (1 << bits) - 1 - values
    note("grey images with more than 8 bits per pixel are scaled to 8 bits")
    return engine.fromarray((values >> (bits - 8)).astype(np.uint8))


def _opened(engine: Any, path: Path | io.BytesIO) -> Any:
    """An image after reading its header; warnings of Pillow are errors elsewhere, or harmless."""
    with _OPENING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return engine.open(path, formats=FORMATS)


def listed(folder: Path) -> list[str]:
    """The paths of the images below a folder, as they are written there, sorted."""
    if not folder.is_dir():
        what = "this is a file" if folder.exists() else "image folder not found"
        raise BadInput(what, where=folder, fix="give the folder that has the image files")
    files = sorted(walk(folder))
    if not files:
        what = f"no images in this folder or its subfolders ({', '.join(ENDINGS)})"
        raise BadInput(what, where=folder, fix="give the folder that has the image files")
    return files


def walk(folder: Path, endings: tuple[str, ...] = ENDINGS) -> Iterator[str]:
    """The paths of the files with these endings below a folder, without hidden ones; a circle of links ends."""
    seen: set[str] = set()
    for here, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(here).relative_to(folder)
        for name in names:
            if not name.startswith(".") and name.lower().endswith(endings):
                yield (below / name).as_posix()
