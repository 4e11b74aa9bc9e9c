"""Scene-graph tuples in the user cache, and their export and import.

The cache has *packs*: each is a complete file of tuples (see ``file``), so that several builds can add packs at the
same time and packs can be merged at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ...data import store
from ...data.atomic import write_atomically
from ...errors import BadInput
from .file import pack, unpack
from .tuples import BUILD, TOOLS, NotParsed, Tuples, merge, select, unique

KIND = "spice"  # of entries in the cache


def load_tuples(texts: Iterable[str], build: str = BUILD) -> Tuples:
    """The tuples of captions, from the user cache.

    Args:
        texts: captions; they are made ``normal`` and distinct, in the order of first occurrence.
        build: the command that parses them, for the error.

    Raises:
        NotParsed: some are not parsed yet.
        BadInput: a stored file is damaged.
    """
    wanted = unique(texts)
    found = stored(wanted)
    missing = sum(text not in found.row for text in wanted)
    if missing:
        raise NotParsed(f"SPICE tuples: {missing:,} of {len(wanted):,} captions are not parsed", build)
    return select(found, wanted)


def stored(wanted: Iterable[str] | None = None) -> Tuples:
    """All captions in the cache, or at least the wanted (normal) captions that are in it.

    Raises:
        BadInput: a stored file is damaged.
    """
    while True:
        packs: list[Tuples] = []
        remaining = None if wanted is None else set(wanted)
        try:
            for entry in reversed(pack_files()):
                if remaining is not None and not remaining:
                    break
                content = read_pack(entry.path)
                if remaining is None or not remaining.isdisjoint(content.texts):
                    store.touch(entry.path)
                    packs.append(content)
                    # A caption that the parser failed on may have tuples in another pack.
                    parsed = (t for t in content.texts if t not in content.broken)
                    remaining = None if remaining is None else remaining.difference(parsed)
        except FileNotFoundError:  # another process has merged it into another pack: start again
            continue
        return merge(packs)


def pack_files() -> list[store.Entry]:
    """The packs made by these versions of the tools, least recently used first."""
    return [entry for entry in store.entries(KIND) if entry.key.startswith(_prefix())]


def read_pack(path: Path) -> Tuples:
    """One pack.

    Raises:
        FileNotFoundError: it was removed.
        BadInput: it is damaged.
    """
    try:
        return unpack(path)
    except BadInput as error:
        if not path.exists():
            raise FileNotFoundError(path) from error
        fix = "remove this file and build again: vsebench relevance build spice"
        raise BadInput(f"the stored tuples are damaged ({error.what})", where=path, fix=fix) from error


def add(tuples: Tuples) -> Path:
    """Add tuples to the cache as a pack; returns its path.

    Raises:
        DiskError: the cache cannot be written.
    """
    data = pack(tuples, compress=True)
    key = f"{_prefix()}{store.fingerprint(data)[:32]}.jsonl.gz"
    return store.put(KIND, key, lambda stream: stream.write(data))


def add_agreeing(tuples: Tuples, source: str | os.PathLike[str]) -> int:
    """Add those imported tuples that the cache lacks; returns the number of their captions.

    Raises:
        BadInput: a caption has other tuples in the cache; ``source`` is named.
        DiskError: the cache cannot be written.
    """
    cached = stored(tuples.texts)
    new = []
    for text, items in zip(tuples.texts, tuples.tuples, strict=True):
        if text not in cached.row or (text in cached.broken and text not in tuples.broken):
            new.append(text)
        elif text not in cached.broken and text not in tuples.broken and cached.tuples[cached.row[text]] != items:
            fix = "run: vsebench relevance clear spice  (when those of the file are the right ones)"
            raise BadInput(f"caption '{text[:60]}' has other tuples in the cache", where=source, fix=fix)
    if new:
        add(select(tuples, new))
    return len(new)


def compact(most: int = 8, size: int = 4 << 20) -> None:
    """Merge the packs smaller than ``size`` bytes into one when there are more than ``most`` of them.

    Safe while other processes read and write: the merged pack exists before any of the others is removed.
    """
    small = [entry for entry in pack_files() if entry.size < size]
    if len(small) <= most:
        return
    try:
        merged = merge([read_pack(entry.path) for entry in small])
    except (FileNotFoundError, BadInput):  # another process merges them, or reading will name the damaged file
        return
    path = add(merged)
    for entry in small:
        if entry.path != path:
            store.remove(entry.path)


def export_tuples(path: str | os.PathLike[str], tuples: Tuples) -> None:
    """Write tuples to a file, for another machine; gzip when the name ends in .gz.

    Raises:
        DiskError: the file cannot be written.
    """
    data = pack(tuples, compress=Path(path).suffix == ".gz")
    with write_atomically(path) as stream:
        stream.write(data)


def _prefix() -> str:
    return store.fingerprint(TOOLS)[:8] + "-"
