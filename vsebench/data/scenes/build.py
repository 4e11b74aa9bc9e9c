"""Building data sets of scenes, so that an interrupted build can continue.

Everything is written into a hidden folder. After every chunk of images its files are flushed to disk, and then
``progress.json`` records their sizes: a build continues there, and discards what was written later. ``about.json`` is
written last, the folder renamed, and the splits are stored.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...arguments import public
from ...errors import BadInput, DiskError, MissingPackage, UsageError
from ...memory import require, size
from ...scenes.content import KINDS
from ...scenes.encode import FACTS_KIND
from ...scenes.sample import scenes
from ...scenes.settings import CAPTIONS as CAPTIONS_AN_IMAGE
from ...scenes.settings import GENERATOR, PARTS, Part, Settings, of_split, parse, split_name
from ..atomic import make_folder, refused, write_atomically
from ..lock import locked
from ..splits import own
from ..splits.rows import CaptionRows
from ..splits.stored import store, stored_path
from .arrays import HEADER, header
from .chunks import add_image, empty, images_a_chunk
from .folder import (
    ABOUT,
    CAPTIONS,
    SCENES,
    SCHEMA,
    arrays,
    check_content,
    command,
    folder_of,
    lock_of,
    old_of,
    partial_of,
    read_about,
    root,
    sha256,
)
from .store import StoredScenes, open_scenes

Progress = Callable[[int, int], None]
PROGRESS = "progress.json"
TEXT = 3_500  # bytes of an image in the files of lines and in the splits
REGIONS = 12  # of an image, at most on average
CAPTION_MEMORY = 800  # bytes of a caption while its split is stored
LONGEST_NAME = 200  # characters; the names of files are longer, and may have 255
STEP = 20  # images between two reports of progress


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
    force: bool = False,
    progress: Progress | None = None,
) -> StoredScenes:
    """Generate a data set of scenes in the cache, with its splits ``NAME-train``, ``NAME-val`` and ``NAME-test``.

    An interrupted build continues when it is called again; what is there is not built again. Same settings, same bytes.

    Args:
        name: the data set, which states its settings: ``scenes-tiny``, ``scenes-10k``, ``scenes-2500-seed3-size32``; or
            ``scenes``, with settings as arguments (without any it is ``scenes-10k``).
        images, seed, size, near, tail, wrong, generic, noise, miss, leaks: see ``vsebench.scenes.settings.Settings``,
            whose defaults hold for what is not given.
        force: build it again when it is there.
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
    settings = named(name, {key: value for key, value in given.items() if value is not None})
    build(settings, force=force, progress=progress)
    return open_scenes(settings.name)


def named(name: str, given: Mapping[str, Any]) -> Settings:
    """The settings of a name; of ``scenes`` those that are given.

    Raises:
        UsageError: no name of scenes, settings besides a name that has them, or one out of its range.
    """
    if name != "scenes":
        if given:
            what = f"--{next(iter(given))} is given, and the name '{name}' has all settings"
            raise UsageError(what, fix=f"write scenes in place of '{name}', or no such options")
        split = of_split(name)
        return parse(name if split is None else split[0])
    return Settings(**given)


def build(settings: Settings, *, force: bool = False, progress: Progress | None = None) -> Path:
    """Build a data set of scenes and its three splits; what an interrupted build has left is used.

    Args:
        settings: of the data set.
        force: build it again when it is there.
        progress: called with the number of images that are done and of all.

    Returns:
        The folder of the data set.

    Raises:
        UsageError: a name with too many digits.
        BadInput: the data set is there, but damaged or of another version of the generator.
        DiskError: another process builds it, there is too little space, or the system refuses to write.
    """
    name = settings.name
    if len(name) > LONGEST_NAME:
        what = f"'{name[:80]}...' has {len(name)} characters, and names of scenes at most {LONGEST_NAME}"
        raise UsageError(what, fix="give numbers with fewer digits")
    folder, partial = folder_of(name), partial_of(name)
    if not force and _is_built(name) and not _unstored(name):
        return folder  # also where nothing can be written
    try:
        make_folder(root())
        with locked(lock_of(name), f"'{name}' is being built"):
            shutil.rmtree(old_of(name), ignore_errors=True)
            if force or not _is_built(name):
                if not _is_complete(partial, name):
                    _check_room(settings, partial)
                    _write_files(partial, settings, progress)
                _put_in_place(partial, name)
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


def _is_complete(partial: Path, name: str) -> bool:
    """Whether nothing is left to do but to rename the folder."""
    try:
        read_about(name, partial)
    except (MissingPackage, BadInput):
        return False
    return True


def _check_room(settings: Settings, partial: Path) -> None:
    """Refuse what does not fit on the disk, or its splits into memory."""
    row = sum(prod(shape) * int(descr[-1]) for descr, shape in arrays(settings).values())
    facts, regions = (prod(arrays(settings)[f][1]) for f in ("facts.npy", "regions.npy"))
    needed = settings.images * (row + 4 * facts + REGIONS * 4 * (regions + 4) + TEXT)
    there = sum(path.stat().st_size for path in partial.iterdir()) if partial.is_dir() else 0
    free = shutil.disk_usage(root()).free
    if needed - there > free:
        what = f"'{settings.name}' needs some {size(needed)} of disk space, and {size(free)} are free"
        fix = "free space, set VSEBENCH_CACHE to a folder on another disk, or build fewer or smaller images"
        raise DiskError(what, where=root(), fix=fix)
    require(CAPTIONS_AN_IMAGE * max(settings.sizes.values()) * CAPTION_MEMORY, fix="build fewer images")


@dataclass(frozen=True)
class _Done:
    """How far a build has come: images and their regions, and the bytes of every file."""

    images: int
    regions: int
    sizes: dict[str, int]


def _write_files(partial: Path, settings: Settings, progress: Progress | None) -> None:
    """Write all files of a data set into a folder, ``about.json`` last."""
    done = _resumed(partial, settings)
    chunk = images_a_chunk(settings)
    with contextlib.ExitStack() as stack:
        streams = {file: stack.enter_context((partial / file).open("r+b")) for file in done.sizes}
        for file, stream in streams.items():
            stream.truncate(done.sizes[file])
            stream.seek(done.sizes[file])
        drawn = islice(scenes(settings), done.images, None)
        for first in range(done.images, settings.images, chunk):
            pieces, count, regions = empty([*done.sizes]), min(chunk, settings.images - first), done.regions
            for image, scene in enumerate(islice(drawn, count), first):
                if progress is not None and image % STEP == 0:
                    progress(image, settings.images)
                regions = add_image(pieces, settings, image, scene, regions)
            for file, stream in streams.items():
                stream.write(b"".join(pieces[file]))
                _flush(stream)
            done = _Done(first + count, regions, {file: stream.tell() for file, stream in streams.items()})
            _record(partial, settings, done)
        for file, (descr, shape) in arrays(settings).items():
            rows = (done.sizes[file] - HEADER) // (prod(shape) * int(descr[-1]))
            streams[file].seek(0)
            streams[file].write(header(descr, (rows, *shape)))
            _flush(streams[file])
    if progress is not None:
        progress(settings.images, settings.images)
    _write_about(partial, settings, done)


def _flush(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _resumed(partial: Path, settings: Settings) -> _Done:
    """How far an earlier build has come; else a folder with files without content."""
    files = (*arrays(settings), SCENES, CAPTIONS)
    try:
        record = json.loads((partial / PROGRESS).read_text(encoding="utf-8"))
        done = _Done(record["images"], record["regions"], record["sizes"])
        same = (record["generator"], record["name"], set(done.sizes)) == (GENERATOR, settings.name, set(files))
        if same and all((partial / file).stat().st_size >= done.sizes[file] for file in files):
            return done
    except (OSError, ValueError, KeyError, TypeError):
        pass  # it ended before the first chunk
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for file in files:
        start = bytes(HEADER) if file in arrays(settings) else b""
        (partial / file).write_bytes(start + bytes(8) if file == "region_start.npy" else start)
    return _Done(0, 0, {file: (partial / file).stat().st_size for file in files})


def _record(partial: Path, settings: Settings, done: _Done) -> None:
    record = {"generator": GENERATOR, "name": settings.name, **asdict(done)}
    with write_atomically(partial / PROGRESS, "w") as stream:
        stream.write(json.dumps(record))


def _write_about(partial: Path, settings: Settings, done: _Done) -> None:
    """Write what a data set is: its settings and numbers, and the SHA-256 of every file."""
    kinds = np.bincount(np.load(partial / "facts.npy", mmap_mode="r")[:, FACTS_KIND], minlength=len(KINDS))
    captions = settings.images * CAPTIONS_AN_IMAGE
    about = {
        "schema": SCHEMA,
        "name": settings.name,
        "generator": GENERATOR,
        "settings": asdict(settings),
        "parts": {part: {"first": settings.start(part), "images": settings.sizes[part]} for part in PARTS},
        "numbers": {
            "images": settings.images,
            "captions": captions,
            "regions": done.regions,
            **{f"{kind} captions": int(count) for kind, count in zip(KINDS, kinds, strict=True)},
        },
        "files": {file: {"bytes": done.sizes[file], "sha256": sha256(partial / file)} for file in sorted(done.sizes)},
    }
    with write_atomically(partial / ABOUT, "w") as stream:
        stream.write(json.dumps(about, indent=1) + "\n")


def _put_in_place(partial: Path, name: str) -> None:
    """Rename the folder of a complete build; an older data set of this name and its splits are removed."""
    kept = {ABOUT, *read_about(name, partial)["files"]}
    for path in partial.iterdir():  # the record of progress, and temporary files of a build that was killed
        if path.name not in kept:
            path.unlink()
    for part in PARTS:
        stored_path(split_name(name, part)).unlink(missing_ok=True)
    folder = folder_of(name)
    if folder.exists():
        folder.rename(old_of(name))
    partial.rename(folder)
    shutil.rmtree(old_of(name), ignore_errors=True)


def _unstored(name: str) -> list[Part]:
    """The parts whose splits are not stored, or damaged."""
    found: list[Part] = []
    for part in PARTS:
        try:
            own.declared(split_name(name, part))
        except (UsageError, BadInput):
            found.append(part)
    return found


def _store_splits(settings: Settings) -> None:
    """Store those splits of a data set that are not there, or damaged."""
    for part in _unstored(settings.name):
        split, rows = split_name(settings.name, part), _rows(settings, part)
        store(stored_path(split), rows, asdict(own.declare(split, rows)))


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
