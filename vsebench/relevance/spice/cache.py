"""Scene-graph tuples in the user cache, and their export and import.

All tuples are lines of one file, which only grows (see ``file``). One process at a time appends to it, under a lock;
whoever reads it takes the complete lines. The words of a caption are written before the caption, so that what a killed
process leaves is always a file of tuples.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ...errors import BadInput
from ...files import store
from ...files.atomic import locked, make_folder, refused, write_atomically
from .file import (
    ANY,
    FORMAT,
    TOOLS,
    NotParsed,
    Tuples,
    caption_lines,
    complete,
    pack,
    read_lines,
    select,
    unique,
    word_lines,
)

KIND = "spice"  # of the entry in the cache


def load_tuples(texts: Iterable[str], source: str = ANY, text: str = "original") -> Tuples:
    """The tuples of captions, from the user cache.

    Args:
        texts: captions; they are made ``normal`` and distinct, in the order of first occurrence.
        source, text: for the error, see ``NotParsed``.

    Raises:
        NotParsed: some are not parsed yet.
        BadInput: the stored file is damaged.
    """
    wanted = unique(texts)
    found = stored()
    missing = sum(caption not in found.row for caption in wanted)
    if missing:
        raise NotParsed(f"SPICE tuples: {missing:,} of {len(wanted):,} captions are not parsed", source, text)
    return select(found, wanted)


def stored() -> Tuples:
    """All captions in the cache.

    Raises:
        BadInput: the stored file is damaged.
    """
    path = store.get(KIND, _key())
    if path is None:
        return Tuples((), (), {})
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[1:-1]  # behind the last end of a line: being written
        return complete(read_lines(enumerate(lines, 2), path), path)
    except ValueError as error:
        what = error.what if isinstance(error, BadInput) else str(error)
        fix = "run: vsebench cache clear spice, and build or import the tuples again"
        raise BadInput(f"the stored tuples are damaged ({what})", where=path, fix=fix) from error


def identity() -> str:
    """A text that changes when the stored tuples of a caption do; captions may have been added to them."""
    path = store.get(KIND, _key())
    if path is None:
        return ""
    with path.open(encoding="utf-8") as stream:
        return stream.readline()


@contextlib.contextmanager
def writing(note: Callable[[str], object] = lambda _: None) -> Iterator[Callable[[Tuples], None]]:
    """Hold the lock of the cache; gives the function that appends tuples. A caption with tuples keeps these.

    Args:
        note: called with a line when another process holds the lock, whose end is then awaited.

    Raises:
        DiskError: the cache cannot be written.
    """
    path = store.root() / KIND / _key()
    make_folder(path.parent)
    with locked(path.parent / ".writing", "SPICE tuples are being stored", waiting=note):
        if not path.exists():
            with write_atomically(path) as stream:
                header = {"format": FORMAT, "tools": TOOLS, "made": secrets.token_hex(8)}
                stream.write(json.dumps(header).encode() + b"\n")
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # the line that a killed process was writing

        written: set[str] = set()  # lines of words

        def append(tuples: Tuples) -> None:
            new = [line for line in word_lines(tuples) if line not in written]
            written.update(new)
            try:
                with path.open("r+b") as stream:  # not "ab", which would make a file that was removed meanwhile
                    stream.seek(0, os.SEEK_END)
                    stream.write("".join((*new, *caption_lines(tuples))).encode())
            except OSError as error:
                raise refused(path, error) from error

        yield append
        store.trim(keep={path})


def add_agreeing(tuples: Tuples, source: str | os.PathLike[str], note: Callable[[str], object] = lambda _: None) -> int:
    """Add those imported tuples that the cache lacks; returns the number of their captions.

    Raises:
        BadInput: a caption has other tuples in the cache; ``source`` is named.
        DiskError: the cache cannot be written.
    """
    with writing(note) as append:
        cached = stored()
        new = []
        for text, items in zip(tuples.texts, tuples.tuples, strict=True):
            if text not in cached.row or (text in cached.broken and text not in tuples.broken):
                new.append(text)
            elif text not in cached.broken and text not in tuples.broken and cached.tuples[cached.row[text]] != items:
                fix = "run: vsebench cache clear spice  (when those of the file are the right ones)"
                raise BadInput(f"caption '{text[:60]}' has other tuples in the cache", where=source, fix=fix)
        append(select(tuples, new))
    return len(new)


def export_tuples(path: str | os.PathLike[str], tuples: Tuples) -> None:
    """Write tuples to a file, for another machine; gzip when the name ends in .gz.

    Raises:
        DiskError: the file cannot be written.
    """
    data = pack(tuples, compress=Path(path).suffix == ".gz")
    with write_atomically(path) as stream:
        stream.write(data)


def _key() -> str:
    return f"{store.fingerprint(TOOLS)[:8]}.jsonl"
