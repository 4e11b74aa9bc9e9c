"""Reading the JSON document of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from ..data.textfile import check_file
from ..errors import BadInput, UsageError
from . import values
from .model import MetricName, Resampling, Result
from .report import SCHEMA, Report
from .schema import ReportDocument, ResultDocument

Parse = Callable[[str], MetricName]  # the metric of a name; raises UsageError for an unknown one
_FIX = "give a report written by --json"


def read(path: Path, parse: Parse) -> Report:
    """Read a report, with its per-query values when it has them.

    Args:
        path: the file.
        parse: ``vsebench.metrics.parse``, which this package does not import.

    Raises:
        BadInput: not JSON, another schema, an unknown metric, or a field that is missing, unknown or out of range
            (named).
    """
    check_file(path, _FIX)
    try:
        document = ReportDocument.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", where=path, fix=_FIX) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "document"
        raise BadInput(f"is not a {SCHEMA} document: {place}: {first['msg']}", where=path, fix=_FIX) from None
    try:
        return _report(document, parse)
    except (BadInput, UsageError) as error:
        raise BadInput(error.what, where=path, fix=error.fix or _FIX) from None


def _report(document: ReportDocument, parse: Parse) -> Report:
    provenance = dict(document.provenance)
    notes = tuple(provenance.pop("notes", ()))
    results, parts = _results(document.results, parse), _results(document.parts, parse)
    items = None
    if document.per_query is not None:
        items = values.read(document.per_query, document.split)
        everything = values.restore(document.per_query, items, [*results, *parts], parse)
        results, parts = everything[: len(results)], everything[len(results) :]
    intervals = None if document.intervals is None else Resampling(**document.intervals.model_dump())
    warnings = tuple(document.warnings)
    return Report(document.split, document.signature, results, warnings, notes, provenance, intervals, parts, items)


def _results(documents: Sequence[ResultDocument], parse: Parse) -> tuple[Result, ...]:
    return tuple(Result(parse(r.metric), r.direction, r.value, r.n, r.undefined, r.interval) for r in documents)
