"""Submitted reports: an entry file, and beside it the report with the values of every query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..analysis.consistency import aggregates
from ..evaluation.intervals import add, key_of
from ..results.model import Resampling
from ..results.report import Report
from ..types import DIRECTIONS
from .schema import PER_QUERY_ENDING, Entry, File, Model, Value

PER_QUERY = f"{PER_QUERY_ENDING}.json"
LARGEST = 4 << 20  # bytes of a per-query file
CLOSE = 1e-9  # of a value that is computed again, relative to 1 or to the value
CLOSE_ENDS = 1e-6  # of an end of an interval


def values_of(report: Report) -> tuple[Value, ...]:
    """The numbers of a report."""
    return tuple(
        Value(metric=str(r.metric), direction=r.direction, value=float(r.value), interval=r.interval, n=r.n)
        for r in report.results
    )


def differences(entry: Entry, report: Report) -> list[str]:
    """What the per-query values do not reproduce, a sentence each with both numbers; empty when all agree.

    Args:
        entry: its numbers and intervals.
        report: with per-query values; of its own numbers only the signature and how intervals are made are used.
    """
    pairs = {"signature": (entry.signature, report.signature), "benchmark": (entry.benchmark, report.split)}
    found = [
        f"{name}: the entry says '{says}', the per-query file '{has}'"
        for name, (says, has) in pairs.items()
        if says != has
    ]
    if report.items is None:
        return [*found, "the per-query file has no per-query values"]
    again, ends = aggregates(report), intervals(report, report.intervals)
    queries = {(str(r.metric), r.direction): r.n for r in (*report.parts, *report.results)}
    for value in entry.values:
        key = value.metric, value.direction
        if key not in again:
            found.append(f"{value.name}: the per-query file has no values of it")
            continue
        if not abs(again[key] - value.value) <= CLOSE * max(1.0, abs(value.value)):
            found.append(
                f"{value.name}: the entry says {value.value:.12g}, its per-query values give {again[key]:.12g}"
            )
        now = ends.get(key)
        if (now is None) != (value.interval is None):
            says, gives = ("an interval", "none") if now is None else ("no interval", "one")
            found.append(f"{value.name}: the entry says {says}, its per-query values give {gives}")
        elif any(
            abs(a - b) > CLOSE_ENDS * max(1.0, abs(b)) for a, b in zip(now or (), value.interval or (), strict=True)
        ):
            said, given = ("[{:.6g}, {:.6g}]".format(*pair) for pair in (value.interval or (), now or ()))
            found.append(f"{value.name}: the entry says the interval {said}, its per-query values give {given}")
        if (n := queries.get(key)) is not None and value.n is not None and value.n != n:
            found.append(f"{value.name}: the entry says {value.n:,} queries, the per-query file has {n:,}")
    return found


def intervals(report: Report, how: Resampling | None) -> Mapping[tuple[str, str | None], tuple[float, float] | None]:
    """The intervals of all results, computed from the per-query values.

    Args:
        report: with per-query values.
        how: level, number, seed and method of the resamples; None gives no intervals.
    """
    if how is None or report.items is None:
        return {}
    results = {key_of(r): r for r in (*report.parts, *report.results)}
    sums = {
        (metric, None): [(part, d) for part in metric.parts() for d in DIRECTIONS if (part, d) in results]
        for metric, direction in results
        if direction is None and metric.parts()
    }
    found = add(results, sums, report.items, how)  # type: ignore[arg-type]
    return {(str(metric), direction): r.interval for (metric, direction), r in found.items()}


def entry_of(report: Report, id: str, model: Model, per_query: File, facts: Mapping[str, str], **more: Any) -> Entry:
    """The entry of a report.

    Args:
        report: with per-query values.
        id: of the entry.
        model: what was evaluated.
        per_query: the file of the report.
        facts: provenance beyond that of the report, name -> text.
        **more: further fields of ``Entry``: notes, reproduce.
    """
    provenance = report.provenance
    own = {"evaluated by": f"vsebench {provenance.get('vsebench', 'of an unknown version')}"}
    own |= {"evaluated on": str(provenance["started"])[:10]} if "started" in provenance else {}
    return Entry(
        id=id, level="recomputed", model=model, benchmark=report.split, signature=report.signature,
        values=values_of(report), per_query=per_query, facts={**own, **facts}, **more,
    )  # fmt: skip


def per_query_text(report: Report) -> str:
    """The report as a per-query file: on few lines, without lists, names of files and facts of the machine."""
    document = report.document()
    document["provenance"] = {
        key: value
        for key, value in document["provenance"].items()
        if key in ("vsebench", "started", "python", "packages")
    }
    document.pop("lists", None)  # no number is computed from them, and they are larger than everything else
    per_query = document.pop("per_query")
    lines = ",\n".join(_line(column) for column in per_query.pop("columns"))
    head, rest = _line(document).removesuffix("}"), _line(per_query).removesuffix("}")
    return f'{head},"per_query":{rest},"columns":[\n{lines}\n]}}}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def sha256(data: bytes) -> str:
    """The hash of a file, as in ``File``."""
    return hashlib.sha256(data).hexdigest()


def text_of(entry: Entry) -> str:
    """The file of an entry: one line a number."""
    document = entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    document = {"schema": entry.schema_, **{key: value for key, value in document.items() if key != "schema"}}
    lines = []
    for key, value in document.items():
        if key == "values":
            rows = ",\n".join(f"  {json.dumps(v, ensure_ascii=False, allow_nan=False)}" for v in value)
            lines.append(f' "values": [\n{rows}\n ]')
        else:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1).replace("\n", "\n ")
            lines.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"
