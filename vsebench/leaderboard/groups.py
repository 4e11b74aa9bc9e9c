"""Which entries may stand in one table: those of one test set, level and kind of metric, measured alike.

Numbers that were measured under rules that can move a digit (fields of the signature) are in tables of their own. What
papers print has no signature; it has tables of its own, which say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .. import signature
from ..errors import UsageError
from ..relevance.sources import SOURCES, is_gains
from .benchmarks import BENCHMARKS, page_of
from .facts import FAMILIES, facts
from .schema import LEVELS, Entry, Level

Key = tuple[str, str | None]  # of a number: metric, direction
SIDES = ("i2t", "t2i", "i2i", "t2t", "mean", None)


@dataclass(frozen=True)
class Group:
    """Entries and columns of one table.

    Attributes:
        benchmark: name of the test set, whose page it is on.
        family: kind of metric, see ``facts.FAMILIES``; of graded metrics the gains.
        level: of all its entries.
        rules: the fields of their signatures that can move a digit of these metrics; empty for published numbers.
        columns: those of one direction together.
        entries: each has at least one of the columns.
        beside: submitted entries with numbers of these columns, in a table of published numbers; they are not compared.
        apart: the fields of the rules that distinguish it from other groups of its test set, level and kind of metric;
            empty for published numbers, and where it is the only one.
    """

    benchmark: str
    family: str
    level: Level
    rules: str
    columns: tuple[Key, ...]
    entries: tuple[Entry, ...]
    apart: str = ""
    beside: tuple[Entry, ...] = ()


def groups(entries: Iterable[Entry]) -> list[Group]:
    """All tables in their order: by test set, then level (published first), kind of metric and rules."""
    found: dict[tuple[str, Level, str, str], dict[str, tuple[Entry, list[Key]]]] = {}
    for entry in entries:
        for value in entry.values:
            key = (
                page_of(entry.benchmark, value.metric),
                entry.level,
                facts(value.metric).family,
                rules(entry, value.metric),
            )
            own = found.setdefault(key, {}).setdefault(entry.id, (entry, []))
            own[1].append((value.metric, value.direction))
    tables = []
    for (benchmark, level, family, alike), members in found.items():
        others = [key[3] for key in found if key[:3] == (benchmark, level, family)]
        columns = ordered(column for _, own in members.values() for column in own)
        some = tuple(entry for entry, _ in members.values())
        measured = [key for key in found if key[:3] == (benchmark, "submitted", family) and level == "published"]
        pairs = [pair for key in measured for pair in found[key].values()]
        beside = {entry.id: entry for entry, has in pairs if set(columns) & set(has)}
        tables.append(
            Group(benchmark, family, level, alike, columns, some, _apart(alike, others), tuple(beside.values()))
        )
    return sorted(tables, key=_place)


def _apart(own: str, every: Iterable[str]) -> str:
    """The fields of some rules that not all rules have, in words; two different rules give different words."""
    common = set.intersection(*(set(rules.split("|")) for rules in every))
    return ", ".join(field.replace(":", " ", 1) for field in own.split("|") if field not in common)


def _place(group: Group) -> tuple[int, str, int, int, str, str]:
    known, families = list(BENCHMARKS), list(FAMILIES)
    return (
        known.index(group.benchmark) if group.benchmark in known else len(known), group.benchmark,
        list(LEVELS).index(group.level),
        families.index(group.family) if group.family in families else len(families), group.family, group.rules,
    )  # fmt: skip


def rules(entry: Entry, metric: str) -> str:
    """The fields of the signature that can move a digit of a metric, in alphabetical order; empty for a paper."""
    if not entry.signature:
        return ""
    try:
        fields = signature.rules(entry.signature)
    except UsageError:
        return entry.signature
    view = metric.partition(":")[0] if ":" in metric else "gt"
    graded = is_gains(view)
    others = {*SOURCES, *(() if graded else ("captions",))} - {view}
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
