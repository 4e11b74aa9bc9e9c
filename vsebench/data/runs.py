"""Retrieved lists: TREC runs and the JSON that eccv_caption works with, plain or gzip-compressed."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import BadInput, UsageError
from ..types import DIRECTIONS, Direction
from .formats.guard import memory_limit, reading
from .formats.ids import is_decimal
from .formats.raw import RawRun
from .formats.sniff import expect, sniff
from .formats.trec import parse_trec

_Lists = dict[str, list[str]]
_Ties = dict[str, list[int]]
_LAYOUT = 'write {"i2t": {"<image id>": [caption ids, best first]}, "t2i": {"<caption id>": [image ids]}}'
_LONGEST_LINE = 65536
_TEXT_ERRORS = (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError, OSError)


def read_runs(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    directions: Sequence[Direction | None] = (),
) -> RawRun:
    """Retrieved lists of one or both directions.

    Args:
        paths: one file or more. A TREC run holds one direction; JSON one (a mapping from query to items) or
            both (under the keys ``i2t`` and ``t2i``).
        directions: for every path what it holds, or None. The list of a file that neither says nor was told
            its direction becomes ``?0``, ``?1``, by its place in ``paths``.

    Raises:
        BadInput: a file is unreadable or malformed, a list is empty or repeats an item, two files hold one
            direction.
        UsageError: no path, or not one direction a path.
    """
    files = [Path(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    if not files:
        raise UsageError("no run was given", fix="give at least one file")
    if directions and len(directions) != len(files):
        raise UsageError(f"{len(directions)} directions for {len(files)} runs", fix="give one direction a run")
    lists: dict[str, _Lists] = {}
    tied: dict[str, _Ties] = {}
    origin: dict[str, Path] = {}
    formats: list[str] = []
    notes: list[str] = []
    for at, path in enumerate(files):
        found, ties, kind, note = _read(path)
        formats.append(kind)
        notes.extend(f"{path.name}: {note}" for note in note)
        for key, one in _directed(found, directions[at] if directions else None, at, path).items():
            if key in lists:
                raise BadInput(f"holds {key}, as does {origin[key]}", where=path, fix="give one file a direction")
            lists[key], origin[key] = one, path
            if ties is not None:
                tied[key] = ties
    named, again = _with_ids(lists, tied)
    return RawRun(named, " + ".join(dict.fromkeys(formats)), tuple(files), tuple(notes), again)


def _directed(found: dict[str, _Lists], direction: Direction | None, at: int, path: Path) -> dict[str, _Lists]:
    if "" in found:
        return {direction or f"?{at}": found[""]}
    if direction is not None and list(found) != [direction]:
        raise BadInput(
            f"says itself that it holds {' and '.join(found)}, but was given as {direction}",
            where=path,
            fix=f"leave out '{direction}='",
        )
    return found


def _read(path: Path) -> tuple[dict[str, _Lists], _Ties | None, str, list[str]]:
    kind = sniff(path)
    expect(path, kind, ("text", "json", "gzip"), "retrieved lists", "give a TREC run or eccv-style JSON")
    with _open(path) as stream:
        start = stream.read(_LONGEST_LINE).lstrip()[:1]
    with _open(path) as stream:
        if start not in ("{", "["):
            lists, ties, note = parse_trec(_lines(stream, path), path)
            return {"": lists}, ties, "trec", [note]
        limit = memory_limit() // 16  # parsed JSON takes many times its text
        text = stream.read(limit + 1)
        if len(text) > limit:
            raise BadInput(f"is longer than {limit:,} characters", where=path, fix="give shorter lists or a TREC run")
        return parse_json(text, path), None, "eccv-json", []


@contextmanager
def _open(path: Path) -> Iterator[IO[str]]:
    with reading(path, "is not readable text", *_TEXT_ERRORS), path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
            yield text


def _lines(stream: IO[str], path: Path) -> Iterator[str]:
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise BadInput(
                f"line {number} is longer than {_LONGEST_LINE:,} characters",
                where=path,
                fix="give a TREC run",
            )
        yield line


def parse_json(text: str, where: Path) -> dict[str, _Lists]:
    """Lists by direction, or under the key ``""`` when the text is a single mapping; ids as strings.

    Raises:
        BadInput: the text is not JSON or has another shape, a key or an item occurs twice, a list is empty.
    """
    with reading(where, "is not valid JSON", json.JSONDecodeError, ValueError, RecursionError, fix=_LAYOUT):
        data = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where))
    if not isinstance(data, dict):
        raise BadInput(f"is a JSON {_json_name(data)}, not an object", where=where, fix=_LAYOUT)
    if not data:
        raise BadInput("holds no lists", where=where, fix=_LAYOUT)
    if not any(key in data for key in DIRECTIONS):
        return {"": _mapping(data, "", where)}
    extra = [key for key in data if key not in DIRECTIONS]
    if extra:
        raise BadInput(f"has the key '{extra[0]}' beside i2t and t2i", where=where, fix=_LAYOUT)
    return {key: _mapping(data[key], f"{key}: ", where) for key in DIRECTIONS if key in data}


def _object(pairs: list[tuple[str, Any]], where: Path) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="keep one list a query")
    return out


def _mapping(data: Any, head: str, where: Path) -> _Lists:
    if not isinstance(data, dict):
        raise BadInput(f"{head}is a JSON {_json_name(data)}, not an object", where=where, fix=_LAYOUT)
    if not data:
        raise BadInput(f"{head}holds no lists", where=where, fix=_LAYOUT)
    return {query: _items(f"{head}query '{query}'", items, where) for query, items in data.items()}


def _items(who: str, items: Any, where: Path) -> list[str]:
    if not isinstance(items, list):
        raise BadInput(f"{who} has a JSON {_json_name(items)}, not a list of ids", where=where, fix=_LAYOUT)
    if not items:
        raise BadInput(f"{who} has an empty list", where=where, fix="leave the query out or give it items")
    first: dict[str, int] = {}
    for place, item in enumerate(items, 1):
        if not isinstance(item, (int, str)) or isinstance(item, bool):
            raise BadInput(f"{who}, place {place}: {item!r:.60} is not an id", where=where, fix=_LAYOUT)
        name = str(item)
        if name in first:
            raise BadInput(
                f"{who} lists item '{name}' twice, at places {first[name]} and {place}",
                where=where,
                fix="keep each item once a query: a repeated one would count twice",
            )
        first[name] = place
    return list(first)


def _json_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = ((dict, "object"), (list, "list"), (str, "string"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")


def _with_ids(
    lists: dict[str, _Lists], tied: dict[str, _Ties]
) -> tuple[dict[str, dict[int | str, list[int | str]]], dict[str, dict[int | str, list[int]]]]:
    # All ids of one kind become numbers or none does, so that 5 and "05" can never meet in one set.
    numeric: dict[str, bool] = {}
    for key, one in lists.items():
        query, item = _kinds(key)
        numeric[query] = numeric.get(query, True) and all(map(is_decimal, one))
        names = {name for items in one.values() for name in items}
        numeric[item] = numeric.get(item, True) and all(map(is_decimal, names))
    out: dict[str, dict[int | str, list[int | str]]] = {}
    again: dict[str, dict[int | str, list[int]]] = {}
    for key, one in lists.items():
        query, item = _kinds(key)
        as_query, as_item = (int if numeric[kind] else str for kind in (query, item))
        out[key] = {as_query(name): [as_item(i) for i in items] for name, items in one.items()}
        if key in tied:
            again[key] = {as_query(name): places for name, places in tied[key].items()}
    return out, again


def _kinds(key: str) -> tuple[str, str]:
    return {"i2t": ("image", "caption"), "t2i": ("caption", "image")}.get(key, (f"{key} query", f"{key} item"))
