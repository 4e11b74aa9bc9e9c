"""Built splits: one compressed .npz each in the cache; the captions are read only on request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..files.atomic import write_atomically
from ..files.cache import cache_dir, file_stem, split_of
from ..files.caption_rows import CaptionRows
from ..files.regular import reading
from ..scenes.settings import of_split

FORMAT = 1


def stored_path(name: str) -> Path:
    """The file in the cache that holds split ``name``, whether or not it exists."""
    return cache_dir() / "splits" / f"{file_stem(name)}.npz"


def stored_names() -> list[str]:
    """The splits with a file in the cache, sorted."""
    folder = stored_path("any").parent
    try:
        return sorted(
            split_of(path.stem) for path in folder.iterdir() if path.suffix == ".npz" and not path.name.startswith(".")
        )
    except OSError:
        return []


def store(path: Path, rows: CaptionRows, about: dict[str, Any] | None = None) -> None:
    """Write caption rows with their captions; the file appears complete or not at all.

    Args:
        path: the file.
        rows: in the order of the split.
        about: plain values, for ``read_about``.

    Raises:
        BadInput: there are no captions, or a caption is not Unicode.
        DiskError: the cache folder cannot be written.
    """
    if rows.captions is None:
        raise BadInput("holds ids but no captions", where=rows.origin, fix="give a file that holds captions")
    try:
        text = np.frombuffer("".join(rows.captions).encode("utf-8"), np.uint8)
    except UnicodeEncodeError as error:
        raise BadInput("a caption holds half of a surrogate pair", where=rows.origin, fix="save it as UTF-8") from error
    with write_atomically(path, parents=True) as stream:
        np.savez_compressed(
            stream,
            format=np.asarray(FORMAT),
            image_id=rows.image_id,
            caption_id=rows.caption_id,
            # One string and the end of every caption in it: numpy keeps no strings of varying length without pickle.
            text=text,
            others=np.zeros(0, rows.image_id.dtype) if rows.others is None else rows.others,
            text_end=np.cumsum([len(t) for t in rows.captions], dtype=np.int64),
            about=np.frombuffer(json.dumps(about).encode(), np.uint8),
        )


def restore(path: Path, *, captions: bool) -> CaptionRows:
    """Read what ``store`` wrote; without ``captions`` that part of the file is not touched.

    Raises:
        BadInput: the file is damaged or was written by another version.
    """
    with _opened(path) as archive:
        image_id, caption_id = archive["image_id"], archive["caption_id"]
        others = archive.get("others")
        strings: tuple[str, ...] | None = None
        if captions:
            text, ends = archive["text"].tobytes().decode("utf-8"), archive["text_end"].tolist()
            strings = tuple(text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    return CaptionRows(image_id, caption_id, strings, str(path), others)


def read_about(path: Path) -> dict[str, Any]:
    """The plain values that ``store`` was given; ids and captions are not read. Raises BadInput as ``restore``."""
    with _opened(path) as archive:
        about = json.loads(archive["about"].tobytes())
        if not isinstance(about, dict):
            raise ValueError("no object")
        return about


def rebuild(name: str) -> str:
    """The command that stores a split again."""
    scenes = of_split(name)
    return f"vsebench data build {scenes[0]} --force" if scenes else f"vsebench data build {name} --force --from FILE"


def damaged(path: Path) -> BadInput:
    """The error for a file that ``store`` did not write."""
    fix = f"build it again: {rebuild(split_of(path.stem))}"
    return BadInput("the stored split is damaged", where=path, fix=fix)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The archive, with every error of reading as BadInput."""
    again = damaged(path)
    damage = reading(path, again.what, again.fix or "")
    with damage, path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        if int(archive["format"]) != FORMAT:
            raise BadInput(f"written in format {int(archive['format'])}, not {FORMAT}", where=path, fix=again.fix)
        yield archive
