"""The scene-graph tuples of captions: parsed once, kept in the user cache, carried from group to group in a file.

A tuple is ``(object,)``, ``(object, attribute)`` or ``(subject, object, relation)``. The store holds packs: each
is a complete file of tuples (see ``spice_file``) that stands for itself, so that packs can be added by several
builders at once and merged at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...data import store
from ...data.atomic import write_atomically
from ...errors import BadInput, MissingPackage

KIND = "spice"
# What the tuples depend on. The tools are checked to be these (spice_install), so no jar is needed to find a pack.
TOOLS = "SPICE 1.0; CoreNLP 3.6.0 tokenize,ssplit,parse,lemma; METEOR 1.5"
BUILD = "vsebench relevance build spice --split NAME"


class NotParsed(MissingPackage):
    """Captions that the parser has not seen yet.

    Args:
        what: how many.
        build: the command that parses them.
    """

    def __init__(self, what: str, build: str = BUILD):
        self.build = build
        super().__init__(what, fix=f"run: {build}  (about 60 captions a second, once)")

    def about(self, which: str) -> NotParsed:
        """The same, by someone who knows where the captions come from: ``--split NAME`` or ``--captions FILE``."""
        text = "ptb" if self.build.endswith(" --text ptb") else "original"
        return NotParsed(self.what, build_command(which, text))


def build_command(which: str, text: str = "original") -> str:
    """The command that parses captions: ``which`` is ``--split NAME`` or ``--captions FILE``."""
    return f"vsebench relevance build spice {which}" + (" --text ptb" if text == "ptb" else "")


@dataclass(frozen=True)
class Tuples:
    """The tuples of unique captions and the synsets of their words.

    Attributes:
        texts: (caption,) unique captions as they were parsed, see ``normal``.
        tuples: (caption,) tuples of a caption in the parser's order, repetitions included.
        synsets: METEOR synset ids of every word of a tuple; a word is an element of a tuple, a relation without
            its leading "be ". A word that METEOR does not know has none.
        broken: the captions that the parser failed on, and why; they have no tuples.
    """

    texts: tuple[str, ...]
    tuples: tuple[tuple[tuple[str, ...], ...], ...]
    synsets: Mapping[str, frozenset[int]]
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Caption -> its place in ``texts``."""
        return {text: i for i, text in enumerate(self.texts)}


def normal(text: str) -> str:
    """The caption as it is parsed: white space at the ends removed, runs of it one space."""
    return " ".join(text.split())


def words(item: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a tuple whose synsets are compared: its elements, a relation without its leading "be "."""
    return (*item[:2], item[2].removeprefix("be ")) if len(item) == 3 else item


def load_tuples(texts: Iterable[str], build: str = BUILD) -> Tuples:
    """The tuples of captions, from the user cache.

    Args:
        texts: captions; they are made ``normal`` and unique, in the order of their first occurrence.
        build: the command that parses them, for the message.

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


def unique(texts: Iterable[str]) -> list[str]:
    """The normal form of captions, each once, in the order of first occurrence."""
    return list(dict.fromkeys(map(normal, texts)))


def stored(wanted: Iterable[str] | None = None) -> Tuples:
    """What the cache holds: everything, or at least those of the wanted (normal) captions that are there.

    Raises:
        BadInput: a file of the store is damaged.
    """
    while True:
        packs: list[Tuples] = []
        left = None if wanted is None else set(wanted)
        try:
            for entry in reversed(pack_files()):
                if left is not None and not left:
                    break
                content = read_pack(entry.path)
                if left is None or not left.isdisjoint(content.texts):
                    store.touch(entry.path)
                    packs.append(content)
                    # A caption the parser failed on may have been parsed since, in another file.
                    known = (t for t in content.texts if t not in content.broken)
                    left = None if left is None else left.difference(known)
        except FileNotFoundError:  # merged into another file by a builder meanwhile
            continue
        return merge(packs)


def pack_files() -> list[store.Entry]:
    """The files of the store that these tools have made, longest unused first."""
    return [entry for entry in store.entries(KIND) if entry.key.startswith(_prefix())]


def read_pack(path: Path) -> Tuples:
    """One file of the store.

    Raises:
        FileNotFoundError: it has gone.
        BadInput: it is damaged.
    """
    from .file import unpack

    try:
        return unpack(path)
    except BadInput as error:
        if not path.exists():
            raise FileNotFoundError(path) from error
        raise BadInput(
            f"the stored tuples are damaged ({error.what})",
            where=path,
            fix="remove this file and build again: vsebench relevance build spice",
        ) from error


def add(tuples: Tuples) -> Path:
    """Put tuples into the store, in a file of their own.

    Raises:
        UsageError: the cache cannot be written.
    """
    from .file import pack

    data = pack(tuples, compress=True)
    key = f"{_prefix()}{store.fingerprint(data)[:32]}.jsonl.gz"
    return store.put(KIND, key, lambda stream: stream.write(data))


def add_agreeing(tuples: Tuples, source: str | os.PathLike[str]) -> int:
    """Put the tuples from elsewhere that the store lacks into it; returns of how many captions.

    Raises:
        BadInput: a caption has other tuples in the store; ``source`` is named.
        UsageError: the cache cannot be written.
    """
    here = stored(tuples.texts)
    new = []
    for text, items in zip(tuples.texts, tuples.tuples, strict=True):
        if text not in here.row or (text in here.broken and text not in tuples.broken):
            new.append(text)
        elif text not in here.broken and text not in tuples.broken and here.tuples[here.row[text]] != items:
            raise BadInput(
                f"caption '{text[:60]}' has other tuples in the cache",
                where=source,
                fix="run: vsebench relevance clear spice  (when those of the file are the right ones)",
            )
    if new:
        add(select(tuples, new))
    return len(new)


def compact(most: int = 8, size: int = 4 << 20) -> None:
    """Merge the files of the store smaller than ``size`` bytes when there are more than ``most`` of them.

    Safe beside other builders and readers: the merged file is there before the first of its parts goes.
    """
    small = [entry for entry in pack_files() if entry.size < size]
    if len(small) <= most:
        return
    try:
        merged = merge([read_pack(entry.path) for entry in small])
    except (FileNotFoundError, BadInput):  # someone else is at it, or a reader will name the damage
        return
    path = add(merged)
    for entry in small:
        if entry.path != path:
            store.remove(entry.path)


def merge(packs: Iterable[Tuples]) -> Tuples:
    """All captions of several ``Tuples``, each once; tuples win over a failure."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    broken: dict[str, str] = {}
    synsets: dict[str, frozenset[int]] = {}
    for content in packs:
        for text, items in zip(content.texts, content.tuples, strict=True):
            if text in content.broken:
                if text not in found:
                    broken.setdefault(text, content.broken[text])
                    found[text] = ()
            elif text not in found or text in broken:
                broken.pop(text, None)
                found[text] = items
        synsets.update(content.synsets)
    return Tuples(tuple(found), tuple(found.values()), synsets, broken)


def select(tuples: Tuples, texts: Iterable[str]) -> Tuples:
    """Only the given (normal, unique) captions, in that order, and the synsets of their words.

    Raises:
        KeyError: a caption is not among them.
    """
    texts = tuple(texts)
    chosen = tuple(tuples.tuples[tuples.row[text]] for text in texts)
    distinct = {item for items in chosen for item in items}
    used = {word for item in distinct for word in words(item)}
    broken = {text: tuples.broken[text] for text in texts if text in tuples.broken}
    return Tuples(texts, chosen, {word: tuples.synsets[word] for word in sorted(used)}, broken)


def export_tuples(path: str | os.PathLike[str], tuples: Tuples) -> None:
    """Write tuples to a file, for another machine or group; gzip when the name ends in .gz.

    Raises:
        UsageError: the file cannot be written.
    """
    from .file import pack

    data = pack(tuples, compress=Path(path).suffix == ".gz")
    with write_atomically(path) as stream:
        stream.write(data)


def import_tuples(path: str | os.PathLike[str]) -> Tuples:
    """Read a file that ``export_tuples`` has made; nothing is stored (see ``add``).

    Raises:
        BadInput: not such a file, truncated, or a bad line, which is named.
    """
    from .file import unpack

    return unpack(Path(path))


def _prefix() -> str:
    return store.fingerprint(TOOLS)[:8] + "-"
