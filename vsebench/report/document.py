"""The report document on disk: its schema, reading and writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadInput, UsageError
from ..types import Direction
from . import values
from .model import SCHEMA, MetricName, Report, Resampling, Result

Parse = Callable[[str], MetricName]  # the metric of a name; raises UsageError for an unknown one


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ResultDocument(_Strict):
    """One entry of ``results``."""

    metric: str
    direction: Direction | None
    value: float
    n: int = Field(ge=0)
    undefined: int = Field(ge=0)
    interval: tuple[float, float] | None


class IntervalsDocument(_Strict):
    """How the intervals were made."""

    level: float
    resamples: int
    seed: int
    method: Literal["percentile", "bca"]


class ReportDocument(_Strict):
    """A whole report."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["vsebench/report/1"] = Field(alias="schema")
    split: str
    signature: str
    provenance: dict[str, Any]
    warnings: list[str]
    intervals: IntervalsDocument | None = None
    results: list[ResultDocument]
    parts: list[ResultDocument] = []
    per_query: values.PerQueryDocument | None = None


def dumps(report: Report, per_query: bool = True) -> str:
    """The report as indented JSON text, checked against its schema.

    Args:
        report: the report.
        per_query: whether to add ``parts`` and ``per_query``, which ``vsebench compare`` and others need.
    """
    document = report.to_json()
    section = values.write(report) if per_query else None
    if section is not None:
        document["parts"] = [r.to_json() for r in report.parts]
        document["per_query"] = section
    ReportDocument.model_validate(document)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def read(path: Path, parse: Parse) -> Report:
    """Read a report back, with its per-query values when it has them.

    Args:
        path: the file.
        parse: ``vsebench.metrics.parse``, which this package does not import.

    Raises:
        BadInput: not JSON, another schema, an unknown metric, or a field that is missing, unknown or out of range
            (named).
    """
    try:
        document = ReportDocument.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(
            f"cannot be read ({error.strerror})", where=path, fix="give a report written by --json"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "document"
        raise BadInput(
            f"is not a {SCHEMA} document: {place}: {first['msg']}",
            where=path,
            fix="give a report written by --json",
        ) from None
    try:
        return _report(document, parse)
    except (BadInput, UsageError) as error:
        raise BadInput(error.what, where=path, fix=error.fix or "give a report written by --json") from None


def _report(document: ReportDocument, parse: Parse) -> Report:
    provenance = dict(document.provenance)
    notes = tuple(provenance.pop("notes", ()))
    results, parts = _results(document.results, parse), _results(document.parts, parse)
    asked = None
    if document.per_query is not None:
        asked = values.read(document.per_query, document.split)
        everything = values.restore(document.per_query, asked, [*results, *parts], parse)
        results, parts = everything[: len(results)], everything[len(results) :]
    intervals = None if document.intervals is None else Resampling(**document.intervals.model_dump())
    return Report(
        document.split,
        document.signature,
        results,
        tuple(document.warnings),
        notes,
        provenance,
        intervals,
        parts,
        asked,
    )


def _results(documents: Sequence[ResultDocument], parse: Parse) -> tuple[Result, ...]:
    return tuple(Result(parse(r.metric), r.direction, r.value, r.n, r.undefined, r.interval) for r in documents)
