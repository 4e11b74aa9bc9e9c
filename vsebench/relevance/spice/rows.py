"""Tuples that were parsed elsewhere, saved row by row in the order of some captions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...data.textfile import parse_json, read_text, shown
from ...errors import BadInput, count_of
from .file import Known, checked, require_synsets
from .tuples import Tuples, normal, select


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
