"""Retrieved lists as JSON, the layout that the package eccv_caption works with: query id -> item ids, best first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

from ...errors import BadInput, UsageError
from ...memory import memory_limit, size
from ...options import spell
from ...types import DIRECTIONS
from .guard import reading
from .raw import FileLists, Order

Lists = dict[str, list[str]]
LAYOUT = 'write {"i2t": {"<image id>": [caption ids, best first]}, "t2i": {"<caption id>": [image ids]}}'
_EXPANSION = 16  # bytes in memory for every character of JSON, at most


def read_eccv_json(stream: IO[str], where: Path, order: Order = "score") -> FileLists:
    """Retrieved lists of a JSON file, of both directions or of one that the file does not state.

    Raises:
        UsageError: an ``order`` of ranks, which the lists do not have: they are best first.
        BadInput: as ``parse_json``, or the text is too long for the free memory.
    """
    if order != "score":
        what = f"{spell('run_order', order)} has no meaning for JSON lists, which have no ranks"
        raise UsageError(what, where=where, fix="leave it out: the lists are read best first")
    limit = memory_limit() // _EXPANSION
    text = stream.read(limit + 1)
    if len(text) > limit:
        what = f"is longer than {limit:,} characters, which need {size(limit * _EXPANSION)} of memory: no more is free"
        raise BadInput(what, where=where, fix="give shorter lists or a TREC run")
    return FileLists(parse_json(text, where))


def parse_json(text: str, where: Path) -> dict[str, Lists]:
    """Lists by direction, or under the key ``""`` when the text is a single mapping; ids as strings.

    Raises:
        BadInput: the text is not JSON or has another shape, a key or an item occurs twice, a list is empty.
    """
    with reading(where, "is not valid JSON", json.JSONDecodeError, ValueError, RecursionError, fix=LAYOUT):
        data = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where))
    if not isinstance(data, dict):
        raise BadInput(f"is a JSON {_json_name(data)}, not an object", where=where, fix=LAYOUT)
    if not data:
        raise BadInput("holds no lists", where=where, fix=LAYOUT)
    if not any(key in data for key in DIRECTIONS):
        return {"": _mapping(data, "", where)}
    extra = [key for key in data if key not in DIRECTIONS]
    if extra:
        raise BadInput(f"has the key '{extra[0]}' beside i2t and t2i", where=where, fix=LAYOUT)
    return {key: _mapping(data[key], f"{key}: ", where) for key in DIRECTIONS if key in data}


def _object(pairs: list[tuple[str, Any]], where: Path) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="keep one list a query")
    return out


def _mapping(data: Any, head: str, where: Path) -> Lists:
    if not isinstance(data, dict):
        raise BadInput(f"{head}is a JSON {_json_name(data)}, not an object", where=where, fix=LAYOUT)
    if not data:
        raise BadInput(f"{head}holds no lists", where=where, fix=LAYOUT)
    found = _object([(query.strip(), items) for query, items in data.items()], where)
    return {query: _items(f"{head}query '{query}'", items, where) for query, items in found.items()}


def _items(what: str, items: Any, where: Path) -> list[str]:
    if not isinstance(items, list):
        raise BadInput(f"{what} has a JSON {_json_name(items)}, not a list of ids", where=where, fix=LAYOUT)
    if not items:
        raise BadInput(f"{what} has an empty list", where=where, fix="leave the query out or give it items")
    first: dict[str, int] = {}
    for rank, item in enumerate(items, 1):
        if not isinstance(item, (int, str)) or isinstance(item, bool):
            raise BadInput(f"{what}, rank {rank}: {item!r:.60} is not an id", where=where, fix=LAYOUT)
        name = str(item).strip()
        if name in first:
            fix = "keep each item once a query: a repeated one would count twice"
            raise BadInput(f"{what} lists item '{name}' twice, at ranks {first[name]} and {rank}", where=where, fix=fix)
        first[name] = rank
    return list(first)


def _json_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = ((dict, "object"), (list, "list"), (str, "string"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")
