"""Which entries may stand in one table: those of one test set and kind of metric that were measured alike.

Alike are numbers that agree in the fields of their signatures that can move a digit (``signature.rules``). What papers
print has no signature: it is taken to follow the protocol of its test set, where ``benchmarks`` says what that is, and
stands in one table with what was measured so; else it has a table of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from .. import signature
from ..errors import UsageError
from ..relevance.sources import SOURCES, is_gains
from .benchmarks import BENCHMARKS, described, on_page, page_of
from .facts import FAMILIES, facts
from .schema import Entry, Key, Side

PRINTED = "as printed"  # the rules of numbers of papers, and of those measured by the protocol of their test set

T = TypeVar("T")
SIDES: tuple[Side | None, ...] = ("i2t", "t2i", "i2i", "t2t", "mean", None)


@dataclass(frozen=True)
class Group:
    """Entries and columns of one table.

    Attributes:
        benchmark: name of the test set, whose page it is on.
        family: kind of metric, see ``facts.FAMILIES``; of graded metrics the gains.
        rules: how they were measured: ``PRINTED``, or the fields of their signatures that can move a digit.
        columns: those of one direction together.
        entries: with the numbers of these columns alone.
        apart: the fields of the rules that distinguish it from other groups of its test set and kind of metric; empty
            for ``PRINTED``, and where it is the only one.
    """

    benchmark: str
    family: str
    rules: str
    columns: tuple[Key, ...]
    entries: tuple[Entry, ...]
    apart: str = ""


def groups(entries: Iterable[Entry]) -> list[Group]:
    """All tables in their order: by test set, those with numbers of papers first, then kind of metric and rules."""
    found: dict[tuple[str, str, str], dict[str, tuple[Entry, list[Key]]]] = {}
    for entry in entries:
        for key in entry.values:
            page, alike = page_of(entry.benchmark, key[0]), rules(entry, key[0])
            if alike == described(page).protocol:
                alike = PRINTED
            place = page, facts(key[0]).family, alike
            found.setdefault(place, {}).setdefault(entry.id, (entry, []))[1].append(key)
    tables = []
    for (benchmark, family, alike), members in found.items():
        others = [key[2] for key in found if key[:2] == (benchmark, family) and key[2] != PRINTED]
        apart = "" if alike == PRINTED else _apart(alike, others)
        some = tuple(_part(entry, keys, benchmark) for entry, keys in members.values())
        columns = ordered(key for entry in some for key in entry.values)
        tables.append(Group(benchmark, family, alike, columns, some, apart))
    return sorted(tables, key=_place)


def _part(entry: Entry, keys: Iterable[Key], page: str) -> Entry:
    """An entry with some of its numbers alone, named as on a page: ``1k:R@1`` is ``R@1`` on that of COCO 1K."""
    names = {(on_page(metric, page), direction): (metric, direction) for metric, direction in keys}

    def kept(of: Mapping[Key, T]) -> dict[Key, T]:
        return {name: of[key] for name, key in names.items() if key in of}

    return replace(entry, values=kept(entry.values), doubts=kept(entry.doubts), changes=kept(entry.changes))


def _apart(own: str, every: Iterable[str]) -> str:
    """The fields of some rules that not all rules have, in words; two different rules give different words."""
    common = set.intersection(*(set(rules.split("|")) for rules in every))
    return ", ".join(field.replace(":", " ", 1) for field in own.split("|") if field not in common)


def _place(group: Group) -> tuple[int, str, bool, int, str, str]:
    known, families = list(BENCHMARKS), list(FAMILIES)
    return (
        known.index(group.benchmark) if group.benchmark in known else len(known), group.benchmark,
        group.rules != PRINTED,
        families.index(group.family) if group.family in families else len(families), group.family, group.rules,
    )  # fmt: skip


def rules(entry: Entry, metric: str) -> str:
    """The fields of the signature that can move a digit of a metric, in alphabetical order; ``PRINTED`` for a paper."""
    if not entry.signature:
        return PRINTED
    try:
        fields = signature.rules(entry.signature)
    except UsageError:
        return entry.signature
    view = metric.partition(":")[0] if ":" in metric else "gt"
    others = {*SOURCES, *(() if is_gains(view) else ("captions",))} - {view}
    kept = {
        key: text for key, text in fields.items() if key not in others and (key == view or not text.startswith("own#"))
    }
    return "|".join(f"{key}:{text}" for key, text in sorted(kept.items()))


def version(entry: Entry) -> str:
    """The version of vsebench in the signature; empty without one."""
    found = re.search(r"(?:^|\|)vsebench:([^|]*)", entry.signature)
    return found[1] if found else ""


def ordered(columns: Iterable[Key]) -> tuple[Key, ...]:
    """Columns without repetition: by direction, then as they come, the ks of one metric ascending."""
    every = list(dict.fromkeys(columns))
    stems = list(dict.fromkeys(metric.partition("@")[0] for metric, _ in every))

    def place(column: Key) -> tuple[int, int, int]:
        metric, direction = column
        stem, _, depth = metric.partition("@")
        return SIDES.index(direction), stems.index(stem), int(depth) if depth.isdigit() else 0

    return tuple(sorted(every, key=place))
