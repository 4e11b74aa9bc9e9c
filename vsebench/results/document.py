"""The JSON document of a report: its schema, how it is written, and how it is read back."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from .. import signature as signatures
from ..errors import BadInput, UsageError
from ..files.formats import sniff
from ..files.ids import places
from ..files.regular import check_file, read_bytes
from ..memory import JSON_BYTES, require
from ..numeric.parallel import each
from ..options import of_command
from ..sets.stored import DECLARED
from ..types import ONE_WAY, QUERIES, QUERIES_OF, SIDES, Direction, TestSet
from .model import NOTHING, SIDE, Lists, Measurement, MetricName, Resampling, plain
from .packed import numbers, pack, unpack

Parse = Callable[[str], MetricName]  # the metric of a name; raises UsageError for an unknown one
SCHEMA, JOINT_SCHEMA = "vsebench/report/1", "vsebench/joint/2"
FIX = "give a report, as vsebench eval FILE -o A.json writes it"
AGAIN = "write the report again with vsebench eval FILE -o A.json"
_KIND = re.compile(rb'\s*\{\s*"schema"\s*:\s*"vsebench/([\w-]+)/')


class _Strict(BaseModel):
    """Unknown fields and NaN are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


class ResultDocument(_Strict):
    """One entry of ``results`` or ``parts``."""

    metric: str
    direction: Direction | None
    value: float
    n: int = Field(ge=0)
    undefined: int = Field(ge=0)
    interval: tuple[float, float] | None

    def read(self, parse: Parse) -> Measurement:
        """The result without per-query values."""
        return Measurement(parse(self.metric), self.direction, self.value, self.n, self.undefined, self.interval)


class ColumnDocument(_Strict):
    """The values of one metric in one direction.

    Attributes:
        queries: packed indices into the images (i2t, i2i), captions (t2i, t2t) or queries; None: all, in order.
        values: packed, one a query.
        influence: two packed arrays, one number an image: what it adds to the mean as a candidate, see
            ``model.Measurement``; None if unknown.
    """

    metric: str
    direction: Direction
    queries: str | None
    values: str
    influence: tuple[str, str] | None = None

    def read(self, result: Measurement, items: TestSet) -> Measurement:
        """The result with its per-query values; raises BadInput."""
        name, ids = f"per_query: {self.metric} {self.direction}", items.side(SIDE[self.direction]).ids
        at = np.arange(len(ids))
        if self.queries is not None:
            at = numbers(self.queries, name, len(ids), below=len(ids), fewer=True)
            if len(np.unique(at)) != len(at):
                raise BadInput(f"{name} has a query twice", fix=AGAIN)
        values = numbers(self.values, name, len(at)).astype(np.float64)
        halves = [numbers(half, name, len(items.rows)).astype(np.float64) for half in self.influence or ()]
        return replace(result, queries=ids[at], per_query=values, influence=np.array(halves) if halves else None)


class PerQueryDocument(_Strict):
    """All per-query values of a report; arrays are packed, see ``packed``.

    Attributes:
        images, captions: ids; of queries and a corpus theirs.
        image_of: for every caption the index of its image; None if captions belong to no image.
        caption_rows: of a custom split with ids: for every caption its row among the text vectors; or None.
        numbered: sides without ids: their ``images`` or ``captions`` are row numbers.
        fold: for every image the number of its fold, or None.
        columns: the values.
    """

    images: str
    captions: str
    image_of: str | None
    caption_rows: str | None = None
    numbered: list[str] = []
    fold: str | None
    columns: list[ColumnDocument]

    def items(self, split: str) -> TestSet:
        """The items; ``split`` is their name. Raises BadInput."""
        images, captions = unpack(self.images), unpack(self.captions)
        most = np.iinfo(np.int64).max
        fold = None if self.fold is None else numbers(self.fold, "fold", len(images), below=most)
        owner = None if self.image_of is None else numbers(self.image_of, "image_of", len(captions), below=len(images))
        items = TestSet.captioned(
            split, images, captions, owner, None, fold, split in DECLARED and DECLARED[split].in_folds
        )
        rows = None
        if self.caption_rows is not None:
            rows = numbers(self.caption_rows, "caption_rows", len(captions), below=len(captions))
            if len(np.unique(rows)) != len(rows):
                raise BadInput("caption_rows has a row twice", fix=AGAIN)
        names = QUERIES if any(column.direction == ONE_WAY for column in self.columns) else SIDES["i2t"]
        first, second = (
            replace(side, name=name, numbered=name in self.numbered)
            for side, name in zip(items.sides, names, strict=True)
        )
        return replace(items, rows=first, columns=replace(second, places=rows))

    def restore(self, results: Sequence[Measurement], items: TestSet, parse: Parse) -> tuple[Measurement, ...]:
        """``results`` with their per-query values; raises BadInput."""
        columns = {(str(parse(c.metric)), c.direction): c for c in self.columns}
        named = [(str(r.metric), r.direction) for r in results]
        if len(columns) != len(self.columns) or not columns.keys() <= set(named):
            raise BadInput("per_query: the columns do not match the results", fix=AGAIN)
        found = [(r, columns.get(key)) for r, key in zip(results, named, strict=True)]  # type: ignore[arg-type]
        return tuple(r if column is None else column.read(r, items) for r, column in found)


class ListsDocument(_Strict):
    """The top of the rankings of one direction; arrays are packed, row after row, see ``model.Lists``.

    Attributes:
        k: items a query.
        items: gallery indices plus 1, and 0 behind the end of a list.
        kind: the gains, None without any.
    """

    direction: Literal["i2t", "t2i", "query2corpus"]
    k: int = Field(ge=1, le=100)
    items: str
    scores: str | None
    kind: str | None
    gains: str | None
    truth_gains: str | None

    def read(self, items: TestSet) -> Lists:
        """The lists; raises BadInput."""
        queries, gallery = (len(items.side(SIDE[d])) for d in (self.direction, QUERIES_OF[self.direction]))
        name, shape = f"lists ({self.direction})", (queries, self.k)
        if (self.gains is None) != (self.truth_gains is None):
            raise BadInput(f"{name} has only one of gains and truth_gains", fix=AGAIN)
        found = numbers(self.items, name, queries * self.k, below=gallery + 1).reshape(shape) + NOTHING
        floats = [
            None if text is None else numbers(text, name, int(np.prod(of))).astype(np.float32).reshape(of)
            for text, of in ((self.scores, shape), (self.gains, shape), (self.truth_gains, (queries,)))
        ]
        return Lists(self.direction, found, floats[0], self.kind, *floats[1:])


def _finite(found: dict[str, Any]) -> dict[str, Any]:
    """Any values of JSON, which has no NaN."""
    json.dumps(found, allow_nan=False)
    return found


class ReportDocument(_Strict):
    """A report; with ``model``, what was evaluated, it is an entry of a leaderboard."""

    schema_: Literal["vsebench/report/1"] = Field(alias="schema")
    split: str
    signature: str
    provenance: Annotated[dict[str, Any], AfterValidator(_finite)]
    warnings: list[str]
    intervals: Resampling | None = None
    results: list[ResultDocument]
    parts: list[ResultDocument] = []
    per_query: PerQueryDocument | None = None
    lists: list[ListsDocument] = []
    model: Any = None

    def read(self, parse: Parse) -> dict[str, Any]:
        """What a ``Report`` is made of; raises BadInput or UsageError without the name of its file."""
        signatures.read(self.signature)  # raises if it is none
        provenance = dict(self.provenance)
        notes = provenance.pop("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise BadInput("provenance.notes is not a list of strings", fix=AGAIN)
        if len({one.direction for one in self.lists}) < len(self.lists):
            raise BadInput("lists: a direction occurs twice", fix=AGAIN)
        results = tuple(result.read(parse) for result in (*self.results, *self.parts))
        items = None if self.per_query is None else self.per_query.items(self.split)
        if self.per_query is not None and items is not None:
            results = self.per_query.restore(results, items, parse)
        return {
            "split": self.split, "signature": self.signature, "provenance": provenance, "items": items,
            "results": results[: len(self.results)], "parts": results[len(self.results) :], "intervals": self.intervals,
            "lists": () if items is None else tuple(one.read(items) for one in self.lists),
            "notes": tuple(notes), "warnings": tuple(self.warnings),
        }  # fmt: skip


class SystemDocument(_Strict):
    """One system of a table of several."""

    name: str
    report: ReportDocument


def _named_once(systems: list[SystemDocument]) -> list[SystemDocument]:
    again = [name for name, number in Counter(one.name for one in systems).items() if number > 1]
    if again:
        raise ValueError(f"two systems are called '{again[0]}'")
    return systems


class JointDocument(_Strict):
    """A table with the reports of several systems, which ``vsebench compare`` reads like as many files."""

    schema_: Literal["vsebench/joint/2"] = Field(alias="schema")
    split: str
    notes: list[str]
    warnings: list[str]
    tables: dict[str, list[dict[str, Any]]]
    systems: Annotated[list[SystemDocument], Field(min_length=1), AfterValidator(_named_once)]


def read(path: Path, parse: Parse) -> list[tuple[str | None, dict[str, Any]]]:
    """The report of a file without a name, or the systems of a table with theirs: what a ``Report`` is made of.

    Args:
        path: the file.
        parse: ``vsebench.metrics.parse``, which this package does not import.

    Raises:
        BadInput: not JSON, another schema, an unknown metric, or a field that is missing, unknown or out of range
            (named).
    """
    check_file(path, FIX)
    _refuse_vectors(path)
    require(JSON_BYTES * path.stat().st_size, path, "give a report without per-query values, or free memory")
    data = read_bytes(path, FIX)
    found = _KIND.match(data)
    kind = "report" if found is None else found[1].decode()
    if kind not in ("report", "joint"):
        raise BadInput(f"is a '{kind}' document, not a report", where=path, fix=FIX)
    schema, model = (JOINT_SCHEMA, JointDocument) if kind == "joint" else (SCHEMA, ReportDocument)
    try:
        document = model.model_validate_json(data)
        if isinstance(document, JointDocument):
            return [(system.name, system.report.read(parse)) for system in document.systems]
        return [(None, document.read(parse))]
    except ValidationError as error:
        raise BadInput(f"is not a {schema} document: {_fault(error)}", where=path, fix=FIX) from None
    except (BadInput, UsageError) as error:
        raise BadInput(error.what, where=path, fix=error.fix or FIX) from None


def _fault(error: ValidationError) -> str:
    """The first error of a document: the field, the problem, and the value."""
    one = error.errors(include_url=False)[0]
    place, given = ".".join(map(str, one["loc"])) or "document", one["input"]
    what = one["msg"].replace("Input should be", "expected").replace("Extra inputs are", "this field is")
    what = what.removeprefix("Value error, ").partition("\n")[0]
    plain_value = isinstance(given, (str, int, float)) and one["type"] != "json_invalid"
    return f"{place}: {what[:1].lower()}{what[1:]}" + (f" (found {str(given)[:80]!r})" if plain_value else "")


def _refuse_vectors(path: Path) -> None:
    """Name a file of embeddings or scores that is given in place of a report; raises BadInput."""
    try:
        kind = sniff(path)
    except BadInput:
        return  # the JSON reader reports the error
    if kind.arrays is not None:
        command = f"vsebench eval {shlex.quote(str(path))} -o {shlex.quote(f'{path.stem}.json')}"
        made = command if of_command() else f"vsebench.evaluate({str(path)!r})"
        raise BadInput(f"is {kind.words}, not a report", where=path, fix=f"evaluate it first: {made}")


def write(report: Mapping[str, Any], per_query: bool = True) -> dict[str, Any]:
    """The document of a report as plain values, checked against its schema.

    Args:
        report: the fields of a ``Report``.
        per_query: also ``parts``, the packed per-query values, which ``vsebench.analysis`` needs, and ``lists``.
    """
    items, results, intervals = report["items"], report["results"], report["intervals"]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "split": report["split"],
        "signature": report["signature"],
        "provenance": {**report["provenance"], "notes": list(report["notes"])},
        "warnings": list(report["warnings"]),
        "intervals": None if intervals is None else asdict(intervals),
        "results": _results(results),
    }
    if per_query and items is not None:
        document["parts"] = _results(report["parts"])
        document["per_query"] = _per_query(items, (*results, *report["parts"]))
        document |= {"lists": list(map(_list, report["lists"]))} if report["lists"] else {}
    ReportDocument.model_validate(document)
    return document


def _results(results: Iterable[Measurement]) -> list[dict[str, Any]]:
    return [plain(r, "metric", "direction", "value", "n", "undefined", "interval") for r in results]


def _per_query(items: TestSet, results: Sequence[Measurement]) -> dict[str, Any]:
    """The values of all results that have some; their queries are among ``items``."""

    def column(result: Measurement) -> dict[str, Any]:
        ids = items.side(SIDE[result.direction]).ids  # type: ignore[index]
        at = places(ids, result.queries)  # type: ignore[arg-type]
        found = {
            **plain(result, "metric", "direction"),
            "queries": None if np.array_equal(at, np.arange(len(ids))) else pack(at),
            "values": pack(result.per_query),  # type: ignore[arg-type]
        }
        return found | ({} if result.influence is None else {"influence": [pack(half) for half in result.influence]})

    rows, numbered = items.columns.places, [side.name for side in items.sides if side.numbered]
    return {
        "images": pack(items.rows.ids),
        "captions": pack(items.columns.ids),
        "image_of": None if items.image_of is None else pack(items.image_of),
        **({} if rows is None else {"caption_rows": pack(rows)}),
        **({"numbered": numbered} if numbered else {}),
        "fold": None if items.row_folds is None else pack(items.row_folds),
        "columns": each(column, [r for r in results if r.per_query is not None and r.queries is not None]),
    }


def _list(top: Lists) -> dict[str, Any]:
    arrays: Mapping[str, Any] = {"scores": top.scores, "gains": top.gains, "truth_gains": top.truth_gains}
    found = {name: None if array is None else pack(array.ravel()) for name, array in arrays.items()}
    first = {"direction": top.direction, "k": top.items.shape[1], "items": pack((top.items - NOTHING).ravel())}
    return {**first, "scores": found.pop("scores"), "kind": top.kind, **found}
