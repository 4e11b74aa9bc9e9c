"""Submitted entries: a report with what was evaluated, from whose per-query values every number is computed again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.consistency import check
from ..errors import BadInput
from ..evaluation.intervals import Key, add, column, key_of, label, population
from ..results.model import Result
from ..results.report import Report
from ..stats.columns import contributions
from ..types import DIRECTIONS, Float, Split
from .schema import Entry, Model, number

CLOSE = 1e-6  # of an end of an interval that is computed again, relative to 1 or to the end


def entry_of(report: Report, model: Model, id: str) -> Entry:
    """The entry of a report.

    Raises:
        BadInput: its values contradict each other, a number does not follow from per-query values, or its name is no
            id.
        UsageError: no signature.
    """
    check(report)
    results = {key_of(r): r for r in (*report.parts, *report.results)}
    stated = {key_of(r): [part for part in parts_of(key_of(r)) if part in results] for r in report.results}
    for key, parts in stated.items():
        if any(results[one].per_query is None for one in parts or [key]):
            fix = "make the report again: vsebench eval FILE -o RESULT.json (without --no-per-query)"
            raise BadInput(f"{label(key)} has no per-query values, from which it is computed again", fix=fix)
    names = {key: (str(key[0]), key[1]) for key in stated}
    facts = {"evaluated by": f"vsebench {report.provenance.get('vsebench', 'of an unknown version')}"}
    for words, name in (("evaluated on", "started"), ("added on", "added")):
        facts |= {words: str(report.provenance[name])[:10]} if name in report.provenance else {}
    return Entry(
        id=id, level="submitted", model=model, benchmark=report.split, signature=report.signature, facts=facts,
        values={names[key]: number(names[key], float(r.value), r.interval, r.n)
                for key in stated for r in (results[key],)},
        changes={names[key]: _changes([results[one] for one in parts or [key]], report.items)
                 for key, parts in stated.items() if report.items is not None and _is_mean(key)},
    )  # fmt: skip


def _is_mean(key: Key) -> bool:
    """Whether single images add to it: not to a median, and to graded metrics also as candidates."""
    return not key[0].graded and key[0].family.aggregate != "floor-median"


def _changes(parts: Sequence[Result], items: Split) -> Float:
    """(image,) float64: what every image adds to the sum of some means."""
    people = population(items)
    return np.asarray(np.sum([contributions(column(part, items), people) for part in parts], axis=0))


def wrong_intervals(report: Report) -> list[str]:
    """The intervals that are not those of the per-query values, a sentence each with both."""
    again = {key_of(r): r.interval for r in resampled(report).results}
    found = []
    for result in report.results:
        says, gives = result.interval or (), again[key_of(result)] or ()
        if len(says) != len(gives) or any(
            abs(a - b) > CLOSE * max(1.0, abs(b)) for a, b in zip(says, gives, strict=True)
        ):
            said, given = ("[{:.6g}, {:.6g}]".format(*pair) if pair else "none" for pair in (says, gives))
            found.append(f"{label(key_of(result))}: its interval is {said}, and its per-query values give {given}")
    return found


def text_of(report: Report, model: Model) -> bytes:
    """The file of an entry: a report on few lines, without the lists, of which no number is computed."""
    document = report.document()
    document.pop("lists", None)
    per_query = document.pop("per_query")
    document |= {"model": model.model_dump(mode="json", exclude_defaults=True)}
    lines = ",\n".join(line(column) for column in per_query.pop("columns"))
    head, rest = line(document).removesuffix("}"), line(per_query).removesuffix("}")
    return f'{head},\n"per_query":{rest},"columns":[\n{lines}\n]}}}}\n'.encode("utf-8", "surrogatepass")


def line(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def resampled(report: Report) -> Report:
    """The report with the intervals that its per-query values give; without ``intervals`` with none."""
    bare = {key_of(r): replace(r, interval=None) for r in (*report.parts, *report.results)}
    if report.intervals is not None and report.items is not None:
        sums = {key: [part for part in parts_of(key) if part in bare] for key in bare if parts_of(key)}
        bare = add(bare, sums, report.items, report.intervals)
    return replace(report, results=tuple(bare[key_of(r)] for r in report.results))


def parts_of(key: Key) -> list[Key]:
    """What a sum adds up, in both directions; nothing for others."""
    return [(part, d) for part in key[0].parts() for d in DIRECTIONS] if key[1] is None else []
