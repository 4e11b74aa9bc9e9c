"""Built splits: one compressed .npz each in the cache; the captions are read only on request."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...errors import BadInput
from ..atomic import write_atomically
from ..cache import cache_dir
from .rows import CaptionRows

FORMAT = 1


def stored_path(name: str) -> Path:
    """The file in the cache that holds split ``name``, whether or not it exists."""
    return cache_dir() / "splits" / f"{name}.npz"


def store(path: Path, rows: CaptionRows) -> None:
    """Write caption rows with their captions; the file appears complete or not at all.

    Raises:
        BadInput: there are no captions, or a caption is not Unicode.
        DiskError: the cache folder cannot be written.
    """
    if rows.captions is None:
        raise BadInput("the source holds ids but no captions", where=rows.origin)
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
            text_end=np.cumsum([len(t) for t in rows.captions], dtype=np.int64),
        )


def restore(path: Path, *, captions: bool) -> CaptionRows:
    """Read what ``store`` wrote; without ``captions`` that part of the file is not touched.

    Raises:
        BadInput: the file is damaged or was written by another version.
    """
    fix = f"build it again: vsebench data build {path.stem} --force --from FILE"
    try:
        with np.load(path, allow_pickle=False) as archive:
            if int(archive["format"]) != FORMAT:
                raise BadInput(f"written in format {int(archive['format'])}, not {FORMAT}", where=path, fix=fix)
            image_id, caption_id = archive["image_id"], archive["caption_id"]
            strings: tuple[str, ...] | None = None
            if captions:
                text, ends = archive["text"].tobytes().decode("utf-8"), archive["text_end"].tolist()
                strings = tuple(text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True))
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput("the stored split is damaged", where=path, fix=fix) from error
    return CaptionRows(image_id, caption_id, strings, str(path))
