"""Files of scene-graph tuples: the format of this package, and rows of tuples that were parsed elsewhere.

The format of this package is JSON lines, gzip when the name ends in .gz.

The first line is the header ``{"format": "vsebench/spice-tuples/1", "tools": ..., "captions": n, "words": m}``. Then
come n lines ``{"caption": text, "tuples": [[...], ...]}``, or ``{"caption": text, "broken": reason}`` for a caption
that the parser failed on, and m lines ``{"word": w, "synsets": [ids]}``, one for every word of the tuples.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...data.textfile import parse_json, read_text, shown
from ...errors import BadInput, count_of
from ...options import spell
from .tuples import TOOLS, Tuples, normal, select, words

FORMAT = "vsebench/spice-tuples/1"
AGAIN = "correct the line, or export the file again"
Item = tuple[str, ...]
Known = dict[Item, Item]


def pack(tuples: Tuples, *, compress: bool) -> bytes:
    """The content of a file; the same tuples give the same bytes."""
    header = {"format": FORMAT, "tools": TOOLS, "captions": len(tuples.texts), "words": len(tuples.synsets)}
    records: list[dict[str, Any]] = [header]
    for text, found in zip(tuples.texts, tuples.tuples, strict=True):
        why = tuples.broken.get(text)
        records.append({"caption": text, "tuples": found} if why is None else {"caption": text, "broken": why})
    records += [{"word": word, "synsets": sorted(tuples.synsets[word])} for word in sorted(tuples.synsets)]
    data = "".join(json.dumps(record) + "\n" for record in records).encode()  # ASCII, so that lone surrogates survive
    return gzip.compress(data, mtime=0) if compress else data


def unpack(path: Path) -> Tuples:
    """Read and check a file of tuples.

    Raises:
        BadInput: unreadable, another kind of file, truncated, made with other tools, or a line that is neither a
            caption nor a word; the first such line is named.
    """
    lines = [(number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    records = [(number, parse_json(line, f"{path}: line {number}")) for number, line in lines]
    header = records[0][1]
    if isinstance(header, list) and all(isinstance(item, list) for item in header):
        raise BadInput(
            "has rows of tuples, without their captions and synsets",
            where=path,
            fix=f"add {spell('synsets', 'FILE')} (a word, a tab, its METEOR synset ids), and the captions of the rows: "
            f"{spell('split', 'NAME')} or {spell('captions', 'FILE')}",
        )
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadInput(
            f"this is not a file of SPICE tuples: the first line is {shown(header)}",
            where=path,
            fix="give a file made by vsebench relevance export spice, "
            f"or a file of tuple lists together with {spell('synsets')} and {spell('split')}",
        )
    if header.get("tools") != TOOLS:
        what = f"the tuples were made with other tools ({shown(header.get('tools'))}, here {TOOLS})"
        raise BadInput(what, where=path, fix="export them again with this version of vsebench")
    texts: dict[str, tuple[Item, ...]] = {}
    broken: dict[str, str] = {}
    synsets: dict[str, frozenset[int]] = {}
    known: Known = {}
    for number, record in records[1:]:
        at = f"{path}: line {number}"
        if not isinstance(record, dict) or not ("caption" in record) != ("word" in record):
            raise BadInput(f"neither a caption nor a word: {shown(record)}", where=at, fix="export the file again")
        if "word" in record:
            synsets[_text(record["word"], "word", at)] = synset_ids(record.get("synsets"), at)
            continue
        text = _text(record["caption"], "caption", at)
        if text != normal(text) or text in texts:
            raise BadInput(f"caption {shown(text)} is repeated or has odd spaces", where=at, fix="export it again")
        if "broken" in record:
            broken[text] = _text(record["broken"], "broken", at)
        texts[text] = () if "broken" in record else checked(record.get("tuples"), at, known)
    if (len(texts), len(synsets)) != (header.get("captions"), header.get("words")):
        raise BadInput(
            f"has {count_of(len(texts), 'caption')} and {count_of(len(synsets), 'word')}, its first line declares "
            f"{shown(header.get('captions'))} and {shown(header.get('words'))}",
            where=path,
            fix="copy or export it again, it is not complete",
        )
    require_synsets(texts, known, synsets, str(path))
    return Tuples(tuple(texts), tuple(texts.values()), synsets, broken)


def checked(value: Any, at: str, known: Known) -> tuple[Item, ...]:
    """Lists of words as tuples; equal tuples become one object, which ``known`` maps to itself.

    Raises:
        BadInput: not a list of lists of one to three strings.
    """
    if not isinstance(value, list):
        raise BadInput(f"tuples are {shown(value)}, expected a list of lists of words", where=at, fix=AGAIN)
    found = []
    for item in value:
        try:
            key = tuple(item) if type(item) is list else None
            hit = None if key is None else known.get(key)
        except TypeError:  # a list inside it is not hashable
            key = hit = None
        if hit is None:
            if key is None or not 1 <= len(key) <= 3 or not all(type(word) is str for word in key):
                raise BadInput(f"{shown(item)} is not a tuple: one to three words are expected", where=at, fix=AGAIN)
            hit = known[key] = key
        found.append(hit)
    return tuple(found)


def synset_ids(value: Any, at: str) -> frozenset[int]:
    """A list of synset ids as a set.

    Raises:
        BadInput: not a list of non-negative integers.
    """
    if not isinstance(value, list) or not all(type(i) is int and 0 <= i < 1 << 62 for i in value):
        raise BadInput(f"synsets are {shown(value)}, expected integers", where=at, fix=AGAIN)
    return frozenset(value)


def require_synsets(
    texts: Mapping[str, tuple[Item, ...]], known: Known, synsets: Mapping[str, frozenset[int]], where: str
) -> None:
    """Check that every word of the tuples has an entry of synsets.

    Raises:
        BadInput: a word has none; it and its caption are named.
    """
    for item in known:
        for word in words(item):
            if word not in synsets:
                caption = next(text for text, found in texts.items() if item in found)
                raise BadInput(
                    f"no synsets for the word {shown(word)} of caption {shown(caption)}",
                    where=where,
                    fix="give the synsets of every word, an empty list for a word without any",
                )


def _text(value: Any, what: str, at: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"'{what}' is {shown(value)}, expected a text", where=at, fix=AGAIN)
    return value


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
    known: Known = {}
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for number, (line, caption) in enumerate(zip(lines, captions, strict=True), 1):
        at = f"{where}: line {number}"
        items, text = checked(parse_json(line, at), at, known), normal(caption)
        if found.setdefault(text, items) != items:
            what = f"caption {shown(text)} has other tuples here than in an earlier row"
            raise BadInput(what, where=at, fix="check that the rows are in the order of the split")
    table = read_synsets(synsets)
    require_synsets(found, known, table, os.fspath(synsets))
    return select(Tuples(tuple(found), tuple(found.values()), table), found)


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
        if not tab or not all(part.isdecimal() and len(part) < 18 for part in parts):
            raise BadInput(
                f"{shown(line)} is not a line of synsets",
                where=f"{os.fspath(path)}: line {number}",
                fix="give a word, a tab, and synset ids separated by spaces",
            )
        if word in table:
            where = f"{os.fspath(path)}: line {number}"
            raise BadInput(f"word {shown(word)} occurs twice", where=where, fix="give every word one line")
        table[word] = frozenset(map(int, parts))
    return table
