"""The document of a report as pydantic models: what is allowed where, and what is wrong with a document, as sentences.

Unknown fields and NaN are refused.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..types import Direction

JOINT_SCHEMA = "vsebench/joint/2"
# By the type of the error, without the ending that says what was given; fields in braces are those of its context.
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is no field that is known here",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected {le} or less",
    "string_too_short": "is too short, expected at least {min_length} character(s)",
    "string_too_long": "is too long, expected at most {max_length} characters",
    "string_pattern_mismatch": "is not of the form {pattern}",
    "too_short": "has {actual_length} elements, expected at least {min_length}",
    "too_long": "has more elements than the {max_length} expected",
    "finite_number": "expected a finite number",
    "none_required": "expected null",
}
_KINDS = {
    "string": "a text", "int": "an integer", "float": "a number", "bool": "true or false", "list": "a list",
    "tuple": "a list", "dict": "an object", "model": "an object",
}  # fmt: skip


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ResultDocument(_Strict):
    """One entry of ``results`` or ``parts``."""

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


class ColumnDocument(_Strict):
    """The values of one metric in one direction.

    Attributes:
        queries: packed indices into the images (i2t, i2i), captions (t2i, t2t) or queries; None: all, in order.
        values: packed, one a query.
        influence: two packed arrays, one number an image: what it adds to the mean as a candidate, see
            ``model.Measurement``; None where it is not known.
    """

    metric: str
    direction: Direction
    queries: str | None
    values: str
    influence: tuple[str, str] | None = None


class PerQueryDocument(_Strict):
    """All per-query values of a report; arrays are packed, see ``packed``.

    Attributes:
        images, captions: ids; of queries and a corpus theirs.
        image_of: for every caption the index of its image; None where captions have none of their own.
        caption_rows: of a custom split with ids: for every caption its row among the text vectors; or None.
        numbered: sides whose items have no ids: ``images`` or ``captions`` are numbers of rows.
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


class ListsDocument(_Strict):
    """The top of the rankings of one direction; arrays are packed, row after row, see ``lists.Lists``.

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


class ReportDocument(_Strict):
    """A report; with ``model``, what was evaluated, it is an entry of a leaderboard."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["vsebench/report/1"] = Field(alias="schema")
    split: str
    signature: str
    provenance: dict[str, Any]
    warnings: list[str]
    intervals: IntervalsDocument | None = None
    results: list[ResultDocument]
    parts: list[ResultDocument] = []
    per_query: PerQueryDocument | None = None
    lists: list[ListsDocument] = []
    model: Any = None


class SystemDocument(_Strict):
    """One system of a joint table."""

    name: str
    report: ReportDocument


class JointDocument(_Strict):
    """A joint table: the reports of several systems, which ``vsebench compare`` reads like as many files."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["vsebench/joint/2"] = Field(alias="schema")
    split: str
    notes: list[str]
    warnings: list[str]
    tables: dict[str, list[dict[str, Any]]]
    systems: list[SystemDocument] = Field(min_length=1)


def faults_of(error: Any) -> list[str]:
    """One sentence a fault of a pydantic ``ValidationError``: the field, what is wrong, and the value."""
    found = []
    for one in error.errors(include_url=False):
        place = ".".join(map(str, one["loc"])) or "document"
        given = one.get("input")
        said = isinstance(given, (dict, list, tuple)) or given is None or one["type"] == "json_invalid"
        shown = "" if said else f" (found {str(given)[:80]!r})"
        found.append(f"{place}: {_sentence(one)}{shown}")
    return found


def _sentence(one: Any) -> str:
    kind, context = str(one["type"]), one.get("ctx", {})
    if kind == "value_error":  # raised by a model of ours, in our words
        return str(context["error"])
    if kind == "json_invalid":
        numbers = re.findall(r"\d+", str(context.get("error", "")))[-2:]
        return "is no JSON" + (f" (line {numbers[0]}, column {numbers[1]})" if len(numbers) == 2 else "")
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(**context)
    expected = _KINDS.get(kind.partition("_")[0])
    return "is not valid" if expected is None else f"expected {expected}"
