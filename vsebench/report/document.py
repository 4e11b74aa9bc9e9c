"""The report document on disk: its schema, reading and writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BadInput
from .model import SCHEMA, Report, Result


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ResultDocument(_Strict):
    """One entry of ``results``."""

    metric: str
    direction: Literal["i2t", "t2i"] | None
    value: float
    n: int = Field(ge=0)
    undefined: int = Field(ge=0)
    interval: tuple[float, float] | None


class ReportDocument(_Strict):
    """A whole report."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["vsebench/report/1"] = Field(alias="schema")
    split: str
    signature: str
    provenance: dict[str, Any]
    warnings: list[str]
    results: list[ResultDocument]


def dumps(report: Report) -> str:
    """The report as indented JSON text, checked against its schema."""
    document = report.to_json()
    ReportDocument.model_validate(document)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def read(path: Path) -> Report:
    """Read a report back.

    Raises:
        BadInput: not JSON, another schema, or a field that is missing, unknown or out of range (named).
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
    provenance = dict(document.provenance)
    notes = tuple(provenance.pop("notes", ()))
    results = tuple(Result(r.metric, r.direction, r.value, r.n, r.undefined, r.interval) for r in document.results)
    return Report(document.split, document.signature, results, tuple(document.warnings), notes, provenance)
