"""Reads retrieved lists: TREC runs and JSON (``formats.table.LIST_FORMATS``), plain or gzip, and mappings in memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import BadInput, UsageError, count_of
from ..memory import JSON_BYTES, require
from ..types import Direction, is_path
from .formats.eccv_json import of_value
from .formats.ids import is_decimal
from .formats.raw import FileLists, Order, RawLists
from .formats.sniff import expect, sniff
from .formats.table import LIST_FORMATS
from .regular import reading, unpacked

_Lists = dict[str, list[str]]
_Ties = dict[str, list[int]]
_HEAD = 65536  # characters that are searched for the first one that is not white space


def read_runs(
    given: Sequence[str | os.PathLike[str] | Mapping[Any, Any]] | str | os.PathLike[str],
    directions: Sequence[Direction | None] = (), order: Order = "score",
) -> RawLists:  # fmt: skip
    """Retrieved lists of one or both directions.

    Args:
        given: one file or more, or mappings of queries to items (``eccv_json.of_value``). A TREC run holds one
            direction; JSON one (a mapping from query to items) or both (under the keys ``i2t`` and ``t2i``).
        directions: for each its direction, or None. Without one, the lists of a file that does not state
            its direction are returned under ``?0``, ``?1``, the index of the file in ``given``.
        order: what orders the items of a TREC run: the score, largest first, or the rank.

    Raises:
        BadInput: a file is unreadable or malformed, a list is empty or repeats an item, two files hold one
            direction.
        UsageError: no path, not one direction a path, or ``order`` for lists without ranks.
    """
    runs = [given] if isinstance(given, (str, os.PathLike)) else given
    if not runs:
        raise UsageError("no run was given", fix="give at least one file")
    if directions and len(directions) != len(runs):
        raise UsageError(
            f"{count_of(len(directions), 'direction')} for {count_of(len(runs), 'run')}",
            fix="give one direction a run",
        )
    named = directions or [None] * len(runs)
    files = [
        Path(run) if is_path(run) else Path(f"<run {direction}>") for run, direction in zip(runs, named, strict=True)
    ]
    lists: dict[str, _Lists] = {}
    tied: dict[str, _Ties] = {}
    origin: dict[str, Path] = {}
    formats: list[str] = []
    notes: list[str] = []
    doubts: list[tuple[Path, str]] = []
    for at, (run, path) in enumerate(zip(runs, files, strict=True)):
        found, name = _read(path, order) if is_path(run) else (of_value(run, path, order), "mapping")
        formats.append(name)
        doubts += [] if found.doubt is None else [(path, found.doubt)]
        notes.extend(f"{path.name}: {note}" for note in found.notes)
        for key, own in _keys(found, named[at], at, path).items():
            if key in lists:
                raise BadInput(f"holds {key}, as does {origin[key]}", where=path, fix="give one file a direction")
            lists[key], origin[key] = found.lists[own], path
            if own in found.tied:
                tied[key] = found.tied[own]
    with_ids, tied_with_ids = _with_ids(lists, tied)
    return RawLists(
        with_ids, " + ".join(dict.fromkeys(formats)), tuple(files), tuple(notes), tied_with_ids, tuple(doubts)
    )


def _keys(found: FileLists, direction: Direction | None, at: int, path: Path) -> dict[str, str]:
    """What the lists of a file are called among those of all files -> in the file."""
    if "" in found.lists:
        return {direction or f"?{at}": ""}
    if direction is not None and list(found.lists) != [direction]:
        what = f"states that it holds {' and '.join(found.lists)}, but was given as {direction}"
        raise BadInput(what, where=path, fix=f"leave out '{direction}='")
    return {key: key for key in found.lists}


def _read(path: Path, order: Order) -> tuple[FileLists, str]:
    """The lists of a file, and the name of its format."""
    kind = sniff(path)
    readable = kind.name in ("text", "json", "gzip")
    expect(path, kind, readable, "retrieved lists", "give a TREC run or eccv-style JSON")
    require(JSON_BYTES * path.stat().st_size, path, "store shorter lists, or free memory")
    with _open(path) as stream:
        start = stream.read(_HEAD).lstrip()[:1]
    lists = next(f for f in LIST_FORMATS if not f.starts or start in f.starts)
    with _open(path) as stream:
        return lists.read(stream, path, order), lists.name


@contextmanager
def _open(path: Path) -> Iterator[IO[str]]:
    with (
        reading(path, "is not readable text"),
        path.open("rb") as raw,
        io.TextIOWrapper(unpacked(raw), encoding="utf-8-sig") as text,
    ):
        yield text


def _with_ids(
    lists: dict[str, _Lists], tied: dict[str, _Ties]
) -> tuple[dict[str, dict[int | str, list[int | str]]], dict[str, dict[int | str, list[int]]]]:
    # All ids of one kind become numbers or none does, so that 5 and "05" can never be in one set.
    numeric: dict[str, bool] = {}
    for key, one in lists.items():
        query, item = _kinds(key)
        numeric[query] = numeric.get(query, True) and all(map(is_decimal, one))
        names = {name for items in one.values() for name in items}
        numeric[item] = numeric.get(item, True) and all(map(is_decimal, names))
    out: dict[str, dict[int | str, list[int | str]]] = {}
    out_tied: dict[str, dict[int | str, list[int]]] = {}
    for key, one in lists.items():
        query, item = _kinds(key)
        as_query, as_item = (int if numeric[kind] else str for kind in (query, item))
        out[key] = {as_query(name): [as_item(i) for i in items] for name, items in one.items()}
        if key in tied:
            out_tied[key] = {as_query(name): positions for name, positions in tied[key].items()}
    return out, out_tied


def _kinds(key: str) -> tuple[str, str]:
    """The kind of the queries and of the items of a direction."""
    return {"i2t": ("image", "caption"), "t2i": ("caption", "image")}.get(key, (f"{key} query", f"{key} item"))
