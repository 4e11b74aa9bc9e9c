"""Data sets of scenes in the COCO layout: PNG images, and annotations as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import MissingPackage, UsageError, install, unknown
from ..files.atomic import locked, make_folder, refused, write_folder
from ..files.regular import expanded
from ..options import public
from .folder import CAPTIONS, SCENES, check_content
from .settings import CAPTIONS as CAPTIONS_AN_IMAGE
from .settings import PARTS, Part
from .store import StoredScenes, open_scenes
from .world import SHAPES

Record = dict[str, Any]
Progress = Callable[[int, int], None]
PROGRESS_STEP = 20  # images between two reports of progress


@public
def export_scenes(
    name: str, out: str | os.PathLike[str], *, part: Part | None = None, progress: Progress | None = None
) -> Path:
    """Write scenes in the layout of COCO.

    For every part ``annotations/captions_PART.json``, ``annotations/instances_PART.json`` and
    ``images/PART/NAME-000017.png``. Ids are integers from 1, and no two parts share one: the image of row i has the id
    i + 1, its captions 5 i + 1 to 5 i + 5. Categories are shapes. An instance is an object: its ``bbox`` (left, top,
    width, height) is in pixels, ``area`` is the area of the box, and ``attributes`` has colour, size and texture.

    Args:
        name: the data set, built here.
        out: a folder that is made, or is empty; it appears complete or not at all.
        part: ``train``, ``val`` or ``test``; all three by default.
        progress: called with the number of images that are written, and of all.

    Returns:
        The folder.

    Raises:
        UsageError: no such data set, or the folder is not empty.
        MissingPackage: the data set is not built, or Pillow is not installed.
        BadInput: the data set is damaged.
        DiskError: the system refuses to write.
    """
    try:
        import PIL.Image  # noqa: F401 (known before anything is written)
    except ImportError as error:
        raise MissingPackage("PNG images need Pillow", fix=install("scenes")) from error
    if part is not None and part not in PARTS:
        raise unknown("part", part, PARTS)
    stored, target = open_scenes(name), expanded(out).resolve()
    parts = PARTS if part is None else (part,)
    if target.is_dir() and any(target.iterdir()):
        raise UsageError("is not empty", where=out, fix="give a new folder, or remove what is in it")
    if target == Path.cwd():
        raise UsageError("is the current folder", where=out, fix="give a new folder")
    if target.exists() and not target.is_dir():
        raise UsageError("is a file", where=out, fix="give a new folder")
    check_content(stored.name, CAPTIONS, SCENES, "images.npy")
    try:
        make_folder(target.parent)
        lock = locked(target.parent / f".{target.name}.lock", "the folder is being written")
        with lock, write_folder(target) as partial:
            _write(stored, partial, parts, progress)
    except OSError as error:
        raise refused(error.filename or out, error) from error
    return target


def _write(stored: StoredScenes, folder: Path, parts: tuple[Part, ...], progress: Progress | None) -> None:
    from PIL import Image

    (folder / "annotations").mkdir()
    done, total = 0, sum(stored.settings.sizes[part] for part in parts)
    for part in parts:
        head = {"info": {"description": stored.name, "split": part}, "licenses": []}
        captions = {"images": _images(stored, part), "annotations": _captions(stored, part)}
        _write_json(folder / "annotations" / f"captions_{part}.json", head, captions)
        categories = [{"id": n, "name": shape, "supercategory": "shape"} for n, shape in enumerate(SHAPES, 1)]
        instances = {"images": _images(stored, part), "annotations": _instances(stored, part), "categories": categories}
        _write_json(folder / "annotations" / f"instances_{part}.json", head, instances)
        (folder / "images" / part).mkdir(parents=True)
        for image in _images(stored, part):
            pixels = Image.fromarray(stored.images[image["id"] - 1])
            pixels.save(folder / "images" / part / image["file_name"])
            done += 1
            if progress is not None and done % PROGRESS_STEP == 0:
                progress(done, total)


def _write_json(path: Path, head: Record, lists: Mapping[str, Iterable[Record]]) -> None:
    """Write an object with lists of records, one a line, which are never all in memory."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(head)[:-1])
        for key, records in lists.items():
            stream.write(f', "{key}": [')
            for n, record in enumerate(records):
                stream.write(("," if n else "") + "\n" + json.dumps(record))
            stream.write("\n]")
        stream.write("}\n")


def _lines(stored: StoredScenes, file: str, part: Part, each: int) -> Iterator[Record]:
    """The records of a part, ``each`` per image."""
    images = stored.part(part)
    with (stored.folder / file).open(encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, images.start * each, images.stop * each))


def _images(stored: StoredScenes, part: Part) -> Iterator[Record]:
    size, images = stored.settings.size, stored.part(part)
    for row, scene in enumerate(_lines(stored, SCENES, part, 1), images.start):
        yield {"id": row + 1, "file_name": f"{scene['id']}.png", "width": size, "height": size}


def _captions(stored: StoredScenes, part: Part) -> Iterator[Record]:
    first = stored.part(part).start * CAPTIONS_AN_IMAGE
    for row, caption in enumerate(_lines(stored, CAPTIONS, part, CAPTIONS_AN_IMAGE), first):
        image = row // CAPTIONS_AN_IMAGE + 1
        yield {"id": row + 1, "image_id": image, "caption": caption["caption"], "kind": caption["kind"]}


def _instances(stored: StoredScenes, part: Part) -> Iterator[Record]:
    number = _objects_before(stored, part)
    for row, scene in enumerate(_lines(stored, SCENES, part, 1), stored.part(part).start):
        for group in scene["groups"]:
            for left, top, right, bottom in group["boxes"]:
                number += 1
                yield {
                    "id": number,
                    "image_id": row + 1,
                    "category_id": SHAPES.index(group["shape"]) + 1,
                    "bbox": [left, top, right - left, bottom - top],
                    "area": (right - left) * (bottom - top),
                    "iscrowd": 0,
                    "attributes": {key: group[key] for key in ("colour", "size", "texture")},
                }


def _objects_before(stored: StoredScenes, part: Part) -> int:
    """The number of objects in all images before a part."""
    before = PARTS[: PARTS.index(part)]
    scenes = (scene for p in before for scene in _lines(stored, SCENES, p, 1))
    return sum(group["number"] for scene in scenes for group in scene["groups"])
