"""Building data sets of scenes: all files are written into a hidden folder, which is renamed, and splits are stored.

A build that is interrupted leaves nothing, one that is killed the hidden folder, which the next build removes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import islice
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import BadInput, DiskError, MissingPackage, UsageError
from ..files.atomic import locked, make_folder, refused, write_atomically, write_folder
from ..files.caption_rows import CaptionRows
from ..files.regular import sha256_of
from ..memory import require, size
from ..options import public
from ..sets.stored import declaration, declare, store, stored_path
from .content import KINDS
from .folder import (
    ABOUT,
    CAPTIONS,
    FACTS_KIND,
    HEADER_BYTES,
    SCENES,
    SCHEMA,
    arrays,
    check_content,
    command,
    encode_facts,
    encode_scene,
    folder_of,
    header,
    lock_of,
    read_about,
    root,
)
from .regions import regions
from .render import render
from .sample import Draws, scenes
from .settings import CAPTIONS as CAPTIONS_AN_IMAGE
from .settings import GENERATOR_VERSION, PARTS, Part, Settings, of_split, parse, split_name
from .store import StoredScenes, caption_line, open_scenes, scene_line
from .wording import captions
from .world import Scene

Progress = Callable[[int, int], None]
TEXT_BYTES = 3_500  # bytes per image in the line files and in the splits
MAX_MEAN_REGIONS = 12  # regions per image
CAPTION_BYTES = 800  # memory per caption while its split is stored
MAX_NAME_LENGTH = 200  # characters; file names add to it and may have 255
PROGRESS_STEP = 20  # images between two reports of progress


@public
def build_scenes(
    name: str = "scenes",
    *,
    images: int | None = None,
    seed: int | None = None,
    size: int | None = None,
    near: float | None = None,
    tail: float | None = None,
    wrong: float | None = None,
    generic: float | None = None,
    noise: float | None = None,
    miss: float | None = None,
    leaks: bool | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> StoredScenes:
    """Generate a data set of scenes in the cache, with its splits ``NAME-train``, ``NAME-val`` and ``NAME-test``.

    What is there is not built again. Same settings, same bytes.

    Args:
        name: the data set, which states its settings: ``scenes-tiny``, ``scenes-10k``, ``scenes-2500-seed3-size32``; or
            ``scenes``, with settings as arguments (without any it is ``scenes-10k``).
        images, seed, size, near, tail, wrong, generic, noise, miss, leaks: see ``vsebench.scenes.settings.Settings``,
            with defaults for all others.
        replace: build it again when it is there.
        progress: called with the number of images that are done, and of all.

    >>> import vsebench
    >>> scenes = vsebench.build_scenes("scenes-tiny")
    >>> scenes.images.shape
    (200, 64, 64, 3)

    Raises:
        UsageError: no name of scenes, or a setting out of its range.
        BadInput: the data set is there, but damaged or of another version of the generator.
        DiskError: another process builds it, there is too little space, or the system refuses to write.
    """
    given = {
        "images": images, "seed": seed, "size": size, "near": near, "tail": tail, "wrong": wrong, "generic": generic,
        "noise": noise, "miss": miss, "leaks": leaks,
    }  # fmt: skip
    settings = settings_of_name(name, {key: value for key, value in given.items() if value is not None})
    build(settings, replace=replace, progress=progress)
    return open_scenes(settings.name)


def settings_of_name(name: str, given: Mapping[str, Any]) -> Settings:
    """The settings of a name; of ``scenes`` those that are given.

    Raises:
        UsageError: no name of scenes, settings besides a name that has them, or one out of its range.
    """
    if name != "scenes":
        if given:
            what = f"{next(iter(given))} is given, but the name '{name}' already has all settings"
            raise UsageError(what, fix=f"write scenes instead of '{name}', or no settings")
        split = of_split(name)
        return parse(name if split is None else split[0])
    return Settings(**given)


def build(settings: Settings, *, replace: bool = False, progress: Progress | None = None) -> Path:
    """Build a data set of scenes and its three splits.

    Args:
        settings: of the data set.
        replace: build it again when it is there.
        progress: called with the number of images that are done and of all.

    Returns:
        The folder of the data set.

    Raises:
        UsageError: a name with too many digits.
        BadInput: the data set is there, but damaged or of another version of the generator.
        DiskError: another process builds it, there is too little space, or the system refuses to write.
    """
    name = settings.name
    if len(name) > MAX_NAME_LENGTH:
        what = f"'{name[:80]}...' has {len(name)} characters; names of scenes have at most {MAX_NAME_LENGTH}"
        raise UsageError(what, fix="give numbers with fewer digits")
    folder = folder_of(name)
    if not replace and _is_built(name) and not _unstored(name):
        return folder  # also if nothing can be written
    try:
        make_folder(root())
        with locked(lock_of(name), f"'{name}' is being built"):
            if replace or not _is_built(name):
                with write_folder(folder) as partial:
                    _check_room(settings)
                    _write_files(partial, settings, progress)
                    for part in PARTS:  # of an older data set of this name
                        stored_path(split_name(name, part)).unlink(missing_ok=True)
            _store_splits(settings)
    except OSError as error:
        raise refused(error.filename or folder, error) from error
    return folder


def _is_built(name: str) -> bool:
    try:
        read_about(name)
    except MissingPackage:
        return False
    return True


def _check_room(settings: Settings) -> None:
    """Refuse what does not fit on the disk, or its splits into memory."""
    row = sum(prod(shape) * int(descr[-1]) for descr, shape in arrays(settings).values())
    facts, regions = (prod(arrays(settings)[f][1]) for f in ("facts.npy", "regions.npy"))
    needed = settings.images * (row + 4 * facts + MAX_MEAN_REGIONS * 4 * (regions + 4) + TEXT_BYTES)
    free = shutil.disk_usage(root()).free
    if needed > free:
        what = f"'{settings.name}' needs about {size(needed)} of disk space, but {size(free)} are free"
        fix = "free space, set VSEBENCH_CACHE to a folder on another disk, or build fewer or smaller images"
        raise DiskError(what, where=root(), fix=fix)
    require(CAPTIONS_AN_IMAGE * max(settings.sizes.values()) * CAPTION_BYTES, fix="build fewer images")


def _write_files(partial: Path, settings: Settings, progress: Progress | None) -> None:
    """Write all files of a data set into a folder, ``about.json`` last."""
    shapes, count = arrays(settings), 0
    with contextlib.ExitStack() as stack:
        streams = {file: stack.enter_context((partial / file).open("wb")) for file in (*shapes, SCENES, CAPTIONS)}
        for file in shapes:
            streams[file].write(bytes(HEADER_BYTES))
        streams["region_start.npy"].write(bytes(8))
        for image, scene in enumerate(scenes(settings)):
            if progress is not None and image % PROGRESS_STEP == 0:
                progress(image, settings.images)
            count = add_image(streams, settings, image, scene, count)
        for file, (descr, shape) in shapes.items():
            rows = (streams[file].tell() - HEADER_BYTES) // (prod(shape) * int(descr[-1]))
            streams[file].seek(0)
            streams[file].write(header(descr, (rows, *shape)))
        for stream in streams.values():
            stream.flush()
            os.fsync(stream.fileno())
    if progress is not None:
        progress(settings.images, settings.images)
    _write_about(partial, settings, count)


def add_image(streams: Mapping[str, IO[bytes]], settings: Settings, image: int, scene: Scene, before: int) -> int:
    """Write one image to the end of all files.

    Args:
        streams: the files, by their names.
        settings: of the data set.
        image: its number.
        scene: what it shows.
        before: the number of regions of all images before it.

    Returns:
        The number of regions, including this image's.
    """
    name, part = settings.name, settings.part_of(image)
    found = regions(scene, settings, Draws(settings.seed, "regions", image))
    after = before + len(found.boxes)
    described = captions(scene, image, settings)
    lines = (caption_line(name, image, number, part, caption) for number, caption in enumerate(described))
    for file, piece in (
        ("images.npy", render(scene, settings.size, Draws(settings.seed, "pixels", image)).tobytes()),
        ("scenes.npy", encode_scene(scene).tobytes()),
        ("facts.npy", b"".join(encode_facts(c.content.facts, c.content.kind).tobytes() for c in described)),
        ("regions.npy", found.vectors.astype("<f4").tobytes()),
        ("boxes.npy", found.boxes.astype("<f4").tobytes()),
        ("region_start.npy", np.array(after, "<i8").tobytes()),
        (SCENES, scene_line(name, image, part, scene, settings.size).encode()),
        (CAPTIONS, "".join(lines).encode()),
    ):
        streams[file].write(piece)
    return after


def _write_about(partial: Path, settings: Settings, count: int) -> None:
    """Write what a data set is: its settings and numbers (``count`` regions), and the SHA-256 of every file."""
    kinds = np.bincount(np.load(partial / "facts.npy", mmap_mode="r")[:, FACTS_KIND], minlength=len(KINDS))
    files = sorted(partial.iterdir())
    about = {
        "schema": SCHEMA,
        "name": settings.name,
        "generator": GENERATOR_VERSION,
        "settings": asdict(settings),
        "parts": {part: {"first": settings.start(part), "images": settings.sizes[part]} for part in PARTS},
        "numbers": {
            "images": settings.images,
            "captions": settings.images * CAPTIONS_AN_IMAGE,
            "regions": count,
            **{f"{kind} captions": int(count) for kind, count in zip(KINDS, kinds, strict=True)},
        },
        "files": {path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in files},
    }
    with write_atomically(partial / ABOUT, "w") as stream:
        stream.write(json.dumps(about, indent=1) + "\n")


def _unstored(name: str) -> list[Part]:
    """The parts with splits that are not stored, or damaged."""
    found: list[Part] = []
    for part in PARTS:
        try:
            declaration(split_name(name, part))
        except BadInput:  # also if there is no file
            found.append(part)
    return found


def _store_splits(settings: Settings) -> None:
    """Store those splits of a data set that are not there, or damaged."""
    for part in _unstored(settings.name):
        split, rows = split_name(settings.name, part), _rows(settings, part)
        store(stored_path(split), rows, asdict(declare(split, rows)))


def _rows(settings: Settings, part: Part) -> CaptionRows:
    """The captions of a part."""
    check_content(settings.name, CAPTIONS)
    first = settings.start(part) * CAPTIONS_AN_IMAGE
    count = settings.sizes[part] * CAPTIONS_AN_IMAGE
    keys = ("image_id", "caption_id", "caption")
    found: dict[str, list[str]] = {key: [] for key in keys}  # facts would take far more memory
    with (folder_of(settings.name) / CAPTIONS).open(encoding="utf-8") as lines:
        for record in map(json.loads, islice(lines, first, first + count)):
            for key in keys:
                found[key].append(record[key])
    image_id, caption_id = np.array(found["image_id"]), np.array(found["caption_id"])
    return CaptionRows(image_id, caption_id, tuple(found["caption"]), command(settings.name))
