"""Files of scene-graph tuples: JSON lines that stand for themselves, gzip when the name ends in .gz.

The first line says what the file is: ``{"format": "vsebench/spice-tuples/1", "tools": ..., "captions": n,
"words": m}``. Then n lines ``{"caption": text, "tuples": [[...], ...]}``, or ``{"caption": text, "broken": why}``
for a caption that the parser failed on, and m lines ``{"word": w, "synsets": [ids]}``: every word of the tuples.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...data.textfile import parse_json, read_text, shown
from ...errors import BadInput
from .tuples import TOOLS, Tuples, normal, words

FORMAT = "vsebench/spice-tuples/1"
Item = tuple[str, ...]
Known = dict[Item, Item]


def pack(tuples: Tuples, *, compress: bool) -> bytes:
    """The file's content; the same tuples give the same bytes."""
    head = {"format": FORMAT, "tools": TOOLS, "captions": len(tuples.texts), "words": len(tuples.synsets)}
    records: list[dict[str, Any]] = [head]
    for text, found in zip(tuples.texts, tuples.tuples, strict=True):
        why = tuples.broken.get(text)
        records.append({"caption": text, "tuples": found} if why is None else {"caption": text, "broken": why})
    records += [{"word": word, "synsets": sorted(tuples.synsets[word])} for word in sorted(tuples.synsets)]
    data = "".join(json.dumps(record) + "\n" for record in records).encode()  # ASCII: half characters survive
    return gzip.compress(data, mtime=0) if compress else data


def unpack(path: Path) -> Tuples:
    """Read and check a file of tuples; 25,000 captions in about 0.4 s.

    Raises:
        BadInput: unreadable, another kind of file, truncated, made by other tools, or a line that is no caption
            or word; the message names the first such line.
    """
    with _no_collection():
        return _unpack(path)


def _unpack(path: Path) -> Tuples:
    records = _records(read_text(path), path)
    head = records[0][1]
    if isinstance(head, list) and all(isinstance(item, list) for item in head):
        raise BadInput(
            "holds rows of tuples, without their captions and synsets",
            where=path,
            fix="add --synsets FILE (a word, a tab and its METEOR synset ids a line), and the captions of the rows: "
            "--split NAME or --captions FILE",
        )
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise BadInput(
            f"this is no file of SPICE tuples: the first line is {shown(head)}",
            where=path,
            fix="give a file made by vsebench relevance export spice, "
            "or a file of tuple lists together with --synsets and --split",
        )
    if head.get("tools") != TOOLS:
        raise BadInput(
            f"the tuples were made by other tools ({shown(head.get('tools'))}, here {TOOLS})",
            where=path,
            fix="export them again with this version of vsebench",
        )
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
    if (len(texts), len(synsets)) != (head.get("captions"), head.get("words")):
        raise BadInput(
            f"holds {len(texts):,} captions and {len(synsets):,} words where its first line says "
            f"{shown(head.get('captions'))} and {shown(head.get('words'))}",
            where=path,
            fix="copy or export it again, it is not complete",
        )
    require_synsets(texts, known, synsets, str(path))
    return Tuples(tuple(texts), tuple(texts.values()), synsets, broken)


def checked(value: Any, at: str, known: Known) -> tuple[Item, ...]:
    """JSON tuple lists as tuples; ``known`` holds every distinct one, which makes equal tuples one object.

    Raises:
        BadInput: not a list of lists of one to three texts.
    """
    if not isinstance(value, list):
        raise BadInput(f"tuples are {shown(value)}, expected a list of lists of words", where=at)
    found = []
    for item in value:
        try:
            key = tuple(item) if type(item) is list else None
            hit = None if key is None else known.get(key)
        except TypeError:  # a list in it, which cannot be looked up
            key = hit = None
        if hit is None:
            if key is None or not 1 <= len(key) <= 3 or not all(type(word) is str for word in key):
                raise BadInput(f"{shown(item)} is no tuple: one to three words are expected", where=at)
            hit = known[key] = key
        found.append(hit)
    return tuple(found)


def synset_ids(value: Any, at: str) -> frozenset[int]:
    """JSON list of synset ids as a set.

    Raises:
        BadInput: not a list of whole numbers that are not negative.
    """
    if not isinstance(value, list) or not all(type(i) is int and 0 <= i < 1 << 62 for i in value):
        raise BadInput(f"synsets are {shown(value)}, expected whole numbers", where=at)
    return frozenset(value)


def require_synsets(
    texts: Mapping[str, tuple[Item, ...]], known: Known, synsets: Mapping[str, frozenset[int]], where: str
) -> None:
    """Refuse tuples with a word that has no line of synsets.

    Raises:
        BadInput: naming such a word and its caption.
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


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Half the time of reading would go into looking for cycles among a hundred thousand lists that have none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _records(text: str, path: Path) -> list[tuple[int, Any]]:
    """(line number, document) of every line that is not empty."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:  # all at once is three times as fast
        together = json.loads("[" + ",".join(line for _, line in lines) + "]")
    except (ValueError, RecursionError):
        together = []
    if len(together) == len(lines):
        return [(number, record) for (number, _), record in zip(lines, together, strict=True)]
    return [(number, parse_json(line, f"{path}: line {number}")) for number, line in lines]


def _text(value: Any, what: str, at: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"'{what}' is {shown(value)}, expected a text", where=at)
    return value
