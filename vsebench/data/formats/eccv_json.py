"""Retrieved lists by query: query id -> item ids, best first, or item ids with scores; as JSON, and in memory.

The package eccv_caption works with the first, pytrec_eval and ranx with the second.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import BadInput, UsageError
from ...options import spell
from ...types import DIRECTIONS
from ..regular import reading
from .raw import FileLists, Order, tied

LAYOUT = (
    'write {"i2t": {"<image id>": [caption ids, best first]}, "t2i": {"<caption id>": [image ids]}}, '
    "or {item id: score} for a list"
)


def read_eccv_json(stream: IO[str], where: Path, order: Order = "score") -> FileLists:
    """Retrieved lists of a JSON file, of both directions or of one that the file does not state.

    Raises:
        UsageError: as ``of_value``.
        BadInput: the text is not JSON or has a key twice; or as ``of_value``.
    """
    text = stream.read()
    with reading(where, "is not valid JSON", LAYOUT):
        data = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, where))
    return of_value(data, where, order)


def of_value(data: Any, where: Path, order: Order = "score") -> FileLists:
    """Lists by direction, or under the key ``""`` when the value is a single mapping of queries; ids as strings.

    Args:
        data: query id -> item ids, best first, or -> {item id: score}, whose items are ordered by descending score,
            then as they stand; or such mappings under ``i2t`` and ``t2i``.
        where: for messages.
        order: ``score``.

    Raises:
        UsageError: an ``order`` of ranks, which the lists do not have.
        BadInput: another shape, an id that occurs twice, a list that is empty, a score that is no finite number.
    """
    if order != "score":
        what = f"{spell('run_order', order)} has no meaning for lists without a rank column"
        raise UsageError(what, where=where, fix="leave it out: the lists are read best first, or by their scores")
    if not isinstance(data, Mapping):
        raise BadInput(f"is a {_kind(data)}, not a mapping of queries", where=where, fix=LAYOUT)
    if not data:
        raise BadInput("holds no lists", where=where, fix=LAYOUT)
    extra = [key for key in data if key not in DIRECTIONS]
    if len(extra) == len(data):
        data = {"": data}
    elif extra:
        raise BadInput(f"has the key '{extra[0]}' beside i2t and t2i", where=where, fix=LAYOUT)
    lists: dict[str, dict[str, list[str]]] = {}
    equal: dict[str, dict[str, list[int]]] = {}
    for key in ("", *DIRECTIONS):
        if key in data:
            lists[key], positions = _by_query(data[key], f"{key}: " if key else "", where)
            equal |= {} if positions is None else {key: positions}
    note = "lists of items with scores are ordered by score, then as they stand"
    return FileLists(lists, equal, (note,) if equal else ())


def _once(pairs: list[tuple[str, Any]], where: Path) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="keep one list a query")
    return out


def _by_query(data: Any, head: str, where: Path) -> tuple[dict[str, list[str]], dict[str, list[int]] | None]:
    """The lists of one mapping, and their ties; None of lists without scores."""
    if not isinstance(data, Mapping):
        raise BadInput(f"{head}is a {_kind(data)}, not a mapping of queries", where=where, fix=LAYOUT)
    if not data:
        raise BadInput(f"{head}holds no lists", where=where, fix=LAYOUT)
    lists: dict[str, list[str]] = {}
    equal: dict[str, list[int]] = {}
    with_scores = {query for query, items in data.items() if isinstance(items, Mapping)}
    if len(with_scores) not in (0, len(data)):
        first = next(query for query in data if query not in with_scores)
        what = f"{head}query '{first}' has no scores, and {len(with_scores):,} of {len(data):,} queries have them"
        raise BadInput(what, where=where, fix="give the items of every query with scores, or of none")
    for query, items in _once([(str(query).strip(), items) for query, items in data.items()], where).items():
        what = f"{head}query '{query}'"
        if with_scores:
            items, scores = _best_first(what, items, where)
            if positions := tied(scores):
                equal[query] = positions
        lists[query] = _items(what, items, where)
    return lists, equal if with_scores else None


def _best_first(what: str, items: Mapping[Any, Any], where: Path) -> tuple[list[Any], list[float]]:
    """The items of a list and their scores, by descending score."""
    scores = {}
    for item, score in items.items():
        try:
            scores[item] = float(score)
        except (TypeError, ValueError, OverflowError):
            scores[item] = math.nan
        if not math.isfinite(scores[item]):
            fix = "give every item a number, the largest to the best"
            raise BadInput(f"{what}, item '{item}': {score!r:.60} is not a finite number", where=where, fix=fix)
    ordered = sorted(scores, key=lambda item: -scores[item])
    return ordered, [scores[item] for item in ordered]


def _items(what: str, items: Any, where: Path) -> list[str]:
    if not isinstance(items, (list, tuple, np.ndarray)):
        what = f"{what} has a {_kind(items)}, not a list of ids or a mapping of ids to scores"
        raise BadInput(what, where=where, fix=LAYOUT)
    if not len(items):
        raise BadInput(f"{what} has an empty list", where=where, fix="leave the query out or give it items")
    first: dict[str, int] = {}
    for rank, item in enumerate(items, 1):
        if not isinstance(item, (Integral, str)) or isinstance(item, bool):
            raise BadInput(f"{what}, rank {rank}: {item!r:.60} is not an id", where=where, fix=LAYOUT)
        name = str(item).strip()
        if name in first:
            fix = "keep each item once a query: a repeated one would count twice"
            raise BadInput(f"{what} lists item '{name}' twice, at ranks {first[name]} and {rank}", where=where, fix=fix)
        first[name] = rank
    return list(first)


def _kind(value: Any) -> str:
    """What a value is called, in JSON or in Python."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = ((Mapping, "mapping"), (list, "list"), (str, "string"), ((int, float), "number"))
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)
