"""The scene-graph tuples of captions: in files, and in the user cache.

A tuple is ``(object,)``, ``(object, attribute)`` or ``(subject, object, relation)``. A file has JSON lines, gzip when
the name ends in .gz. The first line is the header ``{"format": "vsebench/spice-tuples/1", "tools": ..., "captions": n,
"words": m}``. Then come m lines ``{"word": w, "synsets": [ids]}``, one for every word of the tuples, and n lines
``{"caption": text, "tuples": [[...], ...]}``, or ``{"caption": text, "broken": reason}`` for a caption that the parser
failed on.

The cache is one such file, which only grows and declares no numbers. One process at a time appends to it, under a lock.
Readers skip an incomplete last line. The words of a caption are written before the caption, so a killed process leaves
a valid file.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...arrays import composed
from ...errors import BadInput, MissingPackage, count_of
from ...files import store
from ...files.atomic import locked, make_folder, refused, write_atomically
from ...files.textfile import format_field, parse_json, read_text
from ...options import spell
from ...types import TestSet

# What the tuples depend on.
TOOLS = "SPICE 1.0; CoreNLP 3.6.0 tokenize,ssplit,parse,lemma; METEOR 1.5"
BUILD = "vsebench spice"
ANY_SPLIT = "--split NAME"
KIND = "spice"  # of the entry in the cache
FORMAT = "vsebench/spice-tuples/1"
CORRECT_LINE = "correct the line, or export the file again"
Item = tuple[str, ...]


def origin(test: TestSet) -> str:
    """The option that gives the captions of a split."""
    return "--captions FILE" if test.name == "custom" else f"--split {test.name}"


@dataclass(frozen=True)
class Tuples:
    """The tuples of distinct captions and the synsets of their words.

    Attributes:
        texts: (caption,) distinct captions in the form in which they were parsed, see ``normal``.
        tuples: (caption,) tuples of a caption in the order of the parser, with repetitions.
        synsets: METEOR synset ids of every word of a tuple; a word is an element of a tuple, a relation without its
            leading "be ". A word that METEOR lacks has none.
        broken: captions that the parser failed on, and the reason; they have no tuples.
    """

    texts: tuple[str, ...]
    tuples: tuple[tuple[tuple[str, ...], ...], ...]
    synsets: Mapping[str, frozenset[int]]
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Caption -> its index in ``texts``."""
        return {text: i for i, text in enumerate(self.texts)}


def normal(text: str) -> str:
    """A caption as it is parsed: in Unicode NFC, without white space at the ends, runs of white space as one space."""
    return " ".join(composed(text).split())


def unique(texts: Iterable[str]) -> list[str]:
    """The distinct normal forms of captions, in the order of first occurrence."""
    return list(dict.fromkeys(map(normal, texts)))


def words(item: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a tuple with synsets to compare: its elements, a relation without its leading "be "."""
    return (*item[:2], item[2].removeprefix("be ")) if len(item) == 3 else item


def select(tuples: Tuples, texts: Iterable[str]) -> Tuples:
    """The given (normal, distinct) captions, in that order, and the synsets of their words.

    Raises:
        KeyError: a caption is missing.
    """
    texts = tuple(texts)
    chosen = tuple(tuples.tuples[tuples.row[text]] for text in texts)
    distinct = {item for items in chosen for item in items}
    used = {word for item in distinct for word in words(item)}
    broken = {text: tuples.broken[text] for text in texts if text in tuples.broken}
    return Tuples(texts, chosen, {word: tuples.synsets[word] for word in sorted(used)}, broken)


def export_tuples(path: str | os.PathLike[str], tuples: Tuples) -> None:
    """Write tuples to a file, for another machine; gzip when the name ends in .gz. The same tuples give the same bytes.

    Raises:
        DiskError: the file cannot be written.
    """
    header = {"format": FORMAT, "tools": TOOLS, "captions": len(tuples.texts), "words": len(tuples.synsets)}
    data = "".join((_line(header), *_word_lines(tuples), *_caption_lines(tuples))).encode()
    with write_atomically(path) as stream:
        stream.write(gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def _caption_lines(tuples: Tuples) -> list[str]:
    """A line for every caption. It is ASCII, so that lone surrogates survive."""
    rows = zip(tuples.texts, tuples.tuples, strict=True)
    why = tuples.broken
    return [_line({"caption": t, "broken": why[t]} if t in why else {"caption": t, "tuples": f}) for t, f in rows]


def _word_lines(tuples: Tuples) -> list[str]:
    """A line for every word with its synsets."""
    return [_line({"word": word, "synsets": sorted(tuples.synsets[word])}) for word in sorted(tuples.synsets)]


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record) + "\n"


def unpack(path: Path) -> Tuples:
    """Read and check a file of tuples.

    Raises:
        BadInput: unreadable, another kind of file, truncated, made with other tools, or a line that is neither a
            caption nor a word; the first such line is named.
    """
    lines = [(number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    header = parse_json(lines[0][1], f"{path}: line {lines[0][0]}")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        what = f"this is not a file made by vsebench spice -o: the first line is {format_field(header)}"
        options = f"{spell('synsets', 'FILE')}, and {spell('split', 'NAME')} or {spell('captions', 'FILE')}"
        raise BadInput(what, where=path, fix=f"if it has a list of tuples for every caption, add {options}")
    if header.get("tools") != TOOLS:
        what = f"the tuples were made with other tools ({format_field(header.get('tools'))}, here {TOOLS})"
        raise BadInput(what, where=path, fix="export them again with this version of vsebench")
    found = read_lines(lines[1:], path)
    counts = header.get("captions"), header.get("words")
    if (len(found.texts), len(found.synsets)) != counts:
        what = f"{count_of(len(found.texts), 'caption')} and {count_of(len(found.synsets), 'word')} are in it, "
        what += f"its first line declares {format_field(counts[0])} and {format_field(counts[1])}"
        raise BadInput(what, where=path, fix="copy or export it again: it is not complete")
    return complete(found, path)


def read_lines(lines: Iterable[tuple[int, str]], path: Path) -> Tuples:
    """Captions and words in the lines (number, text) of a file; the first tuples of a caption replace its failures.

    Raises:
        BadInput: a line that is neither a caption nor a word.
    """
    texts: dict[str, tuple[Item, ...]] = {}
    broken: dict[str, str] = {}
    synsets: dict[str, frozenset[int]] = {}
    known: dict[Item, Item] = {}
    for number, line in lines:
        at = f"{path}: line {number}"
        match parse_json(line, at):
            case {"word": str(word), "synsets": ids}:
                if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < 1 << 62 for i in ids):
                    raise BadInput(f"synsets are {format_field(ids)}, expected integers", where=at, fix=CORRECT_LINE)
                synsets[word] = frozenset(ids)
            case {"caption": str(caption), "broken": str(why)}:
                if (text := normal(caption)) not in texts or text in broken:
                    texts[text], broken[text] = (), why
            case {"caption": str(caption), "tuples": value}:
                if (text := normal(caption)) not in texts or text in broken:
                    texts[text] = _items(value, at, known)
                    broken.pop(text, None)
            case other:
                raise BadInput(
                    f"neither a caption nor a word: {format_field(other)}", where=at, fix="export the file again"
                )
    return Tuples(tuple(texts), tuple(texts.values()), synsets, broken)


def complete(tuples: Tuples, where: str | os.PathLike[str]) -> Tuples:
    """The tuples, where every word of them has synsets.

    Raises:
        BadInput: a word has none; it and its caption are named.
    """
    for item in {item for items in tuples.tuples for item in items}:
        for word in words(item):
            if word not in tuples.synsets:
                text = next(t for t, items in zip(tuples.texts, tuples.tuples, strict=True) if item in items)
                what = f"no synsets for the word {format_field(word)} of caption {format_field(text)}"
                fix = "give the synsets of every word, an empty list for a word without any"
                raise BadInput(what, where=where, fix=fix)
    return tuples


def _items(value: Any, at: str, known: dict[Item, Item]) -> tuple[Item, ...]:
    """Lists of words as tuples; equal tuples become one object, which ``known`` maps to itself."""
    items = value if isinstance(value, list) else [value]
    if items is not value or not all(isinstance(x, list) and {*map(type, x)} == {str} and len(x) < 4 for x in items):
        raise BadInput(
            f"{format_field(value)} is not a list of tuples of one to three words", where=at, fix=CORRECT_LINE
        )
    return tuple(known.setdefault(item, item) for item in map(tuple, value))


def read_rows(path: str | os.PathLike[str], synsets: str | os.PathLike[str], captions: Sequence[str]) -> Tuples:
    """Read tuples in the order of captions, and a table of synsets; plain or gzip.

    Args:
        path: one JSON list of tuples a line, line i for caption i; made with SPICE 1.0 and CoreNLP 3.6.0.
        synsets: ``word <TAB> METEOR synset ids, separated by spaces`` a line, for every word of a tuple.
        captions: as they were parsed, with repetitions.

    Raises:
        BadInput: the numbers of rows differ, a line is malformed, equal captions have different tuples, or a word
            has no synsets.
    """
    where = os.fspath(path)
    lines = read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != len(captions):
        what = f"{count_of(len(lines), 'row')} of tuples for {count_of(len(captions), 'caption')}"
        raise BadInput(what, where=where, fix="give the split (or file of captions) that the rows were made from")
    known: dict[Item, Item] = {}
    found: dict[str, tuple[Item, ...]] = {}
    for number, (line, caption) in enumerate(zip(lines, captions, strict=True), 1):
        at = f"{where}: line {number}"
        items, text = _items(parse_json(line, at), at, known), normal(caption)
        if found.setdefault(text, items) != items:
            what = f"caption {format_field(text)} has other tuples here than in an earlier row"
            raise BadInput(what, where=at, fix="check that the rows are in the order of the split")
    return select(complete(Tuples(tuple(found), tuple(found.values()), read_synsets(synsets)), synsets), found)


def read_synsets(path: str | os.PathLike[str]) -> dict[str, frozenset[int]]:
    """Read a table of ``word <TAB> ids``; a word without synsets has nothing after the tab.

    Raises:
        BadInput: a line without a tab, an id that is not an integer, or a word that occurs twice.
    """
    table: dict[str, frozenset[int]] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip("\r\n"):
            continue
        word, tab, ids = line.rstrip("\r").partition("\t")
        parts = ids.split()
        if word in table or not tab or not all(part.isdecimal() and len(part) < 18 for part in parts):
            fix = "give every word one line: the word, a tab, and synset ids separated by spaces"
            what = f"{format_field(line)} is not a word with its synsets, or repeats a word"
            raise BadInput(what, where=f"{os.fspath(path)}: line {number}", fix=fix)
        table[word] = frozenset(map(int, parts))
    return table


# In the cache


def load_tuples(texts: Iterable[str], source: str = ANY_SPLIT, text: str = "original") -> Tuples:
    """The tuples of captions, from the user cache.

    Args:
        texts: captions; they are made ``normal`` and distinct, in the order of first occurrence.
        source: the option that gives the captions, for the error.
        text: the form that is parsed, ``original`` or ``ptb``, for the error.

    Raises:
        MissingPackage: some are not parsed yet; the message has the command.
        BadInput: the stored file is damaged.
    """
    wanted = unique(texts)
    found = stored()
    if missing := sum(caption not in found.row for caption in wanted):
        what = f"SPICE tuples: {missing:,} of {len(wanted):,} captions are not parsed"
        command = f"{BUILD} {source}{' --text ptb' if text == 'ptb' else ''}"
        raise MissingPackage(what, fix=f"run: {command}  (about 60 captions a second, once)")
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
        fix = "run: vsebench cache spice --clear, and parse or read the captions again"
        raise BadInput(f"the stored tuples are damaged ({what})", where=path, fix=fix) from error


@contextlib.contextmanager
def writing(note: Callable[[str], object] = lambda _: None) -> Iterator[Callable[[Tuples], None]]:
    """Hold the lock of the cache; gives the function that appends tuples. A caption with tuples keeps these.

    Args:
        note: called with a line before waiting for another process that holds the lock.

    Raises:
        DiskError: the cache cannot be written.
    """
    path = store.root() / KIND / _key()
    make_folder(path.parent)
    with locked(path.parent / ".writing", "SPICE tuples are being stored", waiting=note):
        if not path.exists():
            with write_atomically(path) as stream:
                stream.write(_line({"format": FORMAT, "tools": TOOLS}).encode())
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)  # the line that a killed process was writing

        written: set[str] = set()  # lines of words

        def append(tuples: Tuples) -> None:
            new = [line for line in _word_lines(tuples) if line not in written]
            written.update(new)
            try:
                with path.open("r+b") as stream:  # not "ab", which would make a file that was removed meanwhile
                    stream.seek(0, os.SEEK_END)
                    stream.write("".join((*new, *_caption_lines(tuples))).encode())
            except OSError as error:
                raise refused(path, error) from error

        yield append


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
                fix = "run: vsebench cache spice --clear  (if the file has the right tuples)"
                raise BadInput(f"caption '{text[:60]}' has other tuples in the cache", where=source, fix=fix)
        append(select(tuples, new))
    return len(new)


def _key() -> str:
    return f"{store.fingerprint(TOOLS)[:8]}.jsonl"
