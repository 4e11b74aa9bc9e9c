"""Reading the JSON document of a report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from ..errors import BadInput, UsageError
from ..files.formats import sniff
from ..files.regular import check_file, read_bytes
from ..memory import JSON_BYTES, require
from ..options import of_command
from . import lists, values
from .model import Measurement, MetricName, Resampling
from .report import SCHEMA, Report
from .schema import JOINT_SCHEMA, JointDocument, ReportDocument, ResultDocument, faults_of

Parse = Callable[[str], MetricName]  # the metric of a name; raises UsageError for an unknown one
_FIX = "give a report, as vsebench eval FILE -o A.json writes it"
_KIND = re.compile(rb'\s*\{\s*"schema"\s*:\s*"vsebench/([\w-]+)/')
# Other documents: what is in them, and what writes them.
OTHERS = {
    "agreement": ("the agreement of metrics", "vsebench agree"),
    "choices": ("choices", "vsebench choice"),
    "comparison": ("a comparison", "vsebench compare"),
    "correlation": ("correlations", "vsebench correlate"),
    "description": ("the description of a split", "vsebench data describe"),
    "doctor": ("findings about this machine", "vsebench doctor"),
    "inspect": ("what a file holds", "vsebench inspect"),
    "slices": ("slices", "vsebench slice"),
}


def read(path: Path, parse: Parse) -> Report:
    """Read a report, with its per-query values when it has them.

    Args:
        path: the file.
        parse: ``vsebench.metrics.parse``, which this package does not import.

    Raises:
        BadInput: not JSON, another schema, an unknown metric, or a field that is missing, unknown or out of range
            (named); or a joint table, which holds several reports.
    """
    found = read_all(path, parse)
    if found[0][0] is not None:
        names = ", ".join(str(name) for name, _ in found)
        spoken = len({report.split for _, report in found}) > 1
        fix = "give it to vsebench compare"
        if spoken:
            reads = "vsebench show and vsebench export read" if of_command() else "vb.compare(FILE, tests=False) reads"
            fix = f"give the report of one language; {reads} the table"
        what = f"holds the reports of {len(found)} {'languages' if spoken else 'systems'}: {names}"
        raise BadInput(what, where=path, fix=fix)
    return found[0][1]


def read_all(path: Path, parse: Parse) -> list[tuple[str | None, Report]]:
    """The report of a file without a name, or the systems of a joint table with theirs; otherwise as ``read``."""
    check_file(path, _FIX)
    _refuse_vectors(path)
    require(JSON_BYTES * path.stat().st_size, path, "give a report without per-query values, or free memory")
    data = read_bytes(path, _FIX)
    kind = _kind(data)
    if kind in OTHERS:
        holds, command = OTHERS[kind]
        raise BadInput(f"holds {holds}, written by {command}, and no report", where=path, fix=_FIX)
    joint = kind == "joint"
    try:
        model = JointDocument if joint else ReportDocument
        document = model.model_validate_json(data)
    except ValidationError as error:
        schema = JOINT_SCHEMA if joint else SCHEMA
        raise BadInput(f"is not a {schema} document: {faults_of(error)[0]}", where=path, fix=_FIX) from None
    try:
        if isinstance(document, JointDocument):
            return [(system.name, report_of(system.report, parse)) for system in document.systems]
        return [(None, report_of(document, parse))]
    except (BadInput, UsageError) as error:
        raise BadInput(error.what, where=path, fix=error.fix or _FIX) from None


def _kind(data: bytes) -> str:
    """The kind of a document, of which the schema is the first field; empty for any other."""
    found = _KIND.match(data)
    return found[1].decode() if found is not None else ""


def _refuse_vectors(path: Path) -> None:
    """Name a file of embeddings or scores that is given in place of a report; raises BadInput."""
    try:
        kind = sniff(path)
    except BadInput:
        return  # the reader of JSON says what is wrong
    if kind.arrays is not None:
        command = f"vsebench eval {shlex.quote(str(path))} -o {shlex.quote(f'{path.stem}.json')}"
        made = command if of_command() else f"vsebench.evaluate({str(path)!r})"
        raise BadInput(f"is {kind.words}, not a report", where=path, fix=f"evaluate it, and give the report: {made}")


def report_of(document: ReportDocument, parse: Parse) -> Report:
    """The report of a document; raises BadInput or UsageError without the name of its file."""
    provenance = dict(document.provenance)
    notes = provenance.pop("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise BadInput("provenance.notes is no list of texts", fix="write the report again")
    results, parts = _results(document.results, parse), _results(document.parts, parse)
    items = None
    if document.per_query is not None:
        items = values.read(document.per_query, document.split)
        everything = values.restore(document.per_query, items, [*results, *parts], parse)
        results, parts = everything[: len(results)], everything[len(results) :]
    intervals = None if document.intervals is None else Resampling(**document.intervals.model_dump())
    tops = () if items is None else lists.read(document.lists, items)
    return Report(
        document.split, document.signature, results, provenance, intervals, parts, items, tops,
        notes=tuple(notes), warnings=tuple(document.warnings),
    )  # fmt: skip


def _results(documents: Sequence[ResultDocument], parse: Parse) -> tuple[Measurement, ...]:
    return tuple(Measurement(parse(r.metric), r.direction, r.value, r.n, r.undefined, r.interval) for r in documents)
