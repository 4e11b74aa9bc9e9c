"""Tuples that were parsed elsewhere and stand row for row beside the captions of a split."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...data.textfile import parse_json, read_text, shown
from ...errors import BadInput
from .file import Known, checked, require_synsets
from .tuples import Tuples, normal, select


def read_rows(path: str | os.PathLike[str], synsets: str | os.PathLike[str], captions: Sequence[str]) -> Tuples:
    """Tuple lists beside captions, and a table of synsets; plain or gzip.

    Args:
        path: one JSON list of tuples a line, line i for caption i; made by SPICE 1.0 with CoreNLP 3.6.0.
        synsets: ``word <TAB> METEOR synset ids, separated by spaces`` a line, for every word of a tuple.
        captions: as they were parsed, repetitions included.

    Raises:
        BadInput: the numbers of rows differ, a line is malformed, equal captions have different tuples, or a word
            has no synsets.
    """
    where = os.fspath(path)
    lines = read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != len(captions):
        raise BadInput(
            f"{len(lines):,} rows of tuples for {len(captions):,} captions",
            where=where,
            fix="give the split (or file of captions) that the rows were made from",
        )
    known: Known = {}
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for number, (line, caption) in enumerate(zip(lines, captions, strict=True), 1):
        at = f"{where}: line {number}"
        items, text = checked(parse_json(line, at), at, known), normal(caption)
        if found.setdefault(text, items) != items:
            raise BadInput(
                f"caption {shown(text)} has other tuples here than in an earlier row",
                where=at,
                fix="check that the rows are in the order of the split",
            )
    table = read_synsets(synsets)
    require_synsets(found, known, table, os.fspath(synsets))
    return select(Tuples(tuple(found), tuple(found.values()), table), found)


def read_synsets(path: str | os.PathLike[str]) -> dict[str, frozenset[int]]:
    """A table of ``word <TAB> ids``; a word without synsets has nothing behind the tab.

    Raises:
        BadInput: a line without a tab, with something that is no whole number, or a word that stands twice.
    """
    table: dict[str, frozenset[int]] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip("\r\n"):
            continue
        word, tab, ids = line.rstrip("\r").partition("\t")
        parts = ids.split()
        if not tab or not all(part.isdecimal() and len(part) < 18 for part in parts):
            raise BadInput(
                f"{shown(line)} is no line of synsets",
                where=f"{os.fspath(path)}: line {number}",
                fix="give a word, a tab, and synset ids separated by spaces",
            )
        if word in table:
            raise BadInput(f"word {shown(word)} stands twice", where=f"{os.fspath(path)}: line {number}")
        table[word] = frozenset(map(int, parts))
    return table
