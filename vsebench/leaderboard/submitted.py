"""Submitted entries: a report with what was evaluated, from whose per-query values every number is computed again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..analysis.consistency import check
from ..errors import BadInput
from ..evaluation.intervals import Key, add, key_of, label
from ..metrics import parse
from ..results.document import report_of
from ..results.report import Report
from ..types import DIRECTIONS
from .schema import Entry, EntryDocument, Model, Value

CLOSE = 1e-6  # of an end of an interval that is computed again, relative to 1 or to the end


def entry_of(document: EntryDocument, id: str) -> Entry:
    """The entry of a file.

    Raises:
        BadInput: its values contradict each other, or a number does not follow from per-query values.
        UsageError: an unknown metric, or no signature.
        ValidationError: its name is no id, or it has no values.
    """
    report = report_of(document, parse)
    check(report)
    results = {key_of(r): r for r in (*report.parts, *report.results)}
    for key in map(key_of, report.results):
        needed = [part for part in parts_of(key) if part in results] or [key]
        if any(results[one].per_query is None for one in needed):
            fix = "make the report again: vsebench eval FILE -o RESULT.json (without --no-per-query)"
            raise BadInput(f"{label(key)} has no per-query values, from which it is computed again", fix=fix)
    values = tuple(
        Value(metric=str(r.metric), direction=r.direction, value=float(r.value), interval=r.interval, n=r.n)
        for r in report.results
    )
    facts = {"evaluated by": f"vsebench {report.provenance.get('vsebench', 'of an unknown version')}"}
    for words, name in (("evaluated on", "started"), ("added on", "added")):
        facts |= {words: str(report.provenance[name])[:10]} if name in report.provenance else {}
    return Entry(
        id=id, level="submitted", model=document.model, benchmark=report.split, signature=report.signature,
        values=values, facts=facts,
    )  # fmt: skip


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
