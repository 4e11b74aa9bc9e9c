"""The document of a report as pydantic models: what is allowed where. Unknown fields and NaN are refused."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..types import Direction

JOINT_SCHEMA = "vsebench/joint/1"


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
        queries: packed indices into the images (i2t, i2i) or captions (t2i, t2t); None for all of them in order.
        values: packed, one a query.
        influence: two packed arrays, one number an image: what it adds to the mean as a candidate, see
            ``model.Result``; None where it is not known.
    """

    metric: str
    direction: Direction
    queries: str | None
    values: str
    influence: tuple[str, str] | None = None


class PerQueryDocument(_Strict):
    """All per-query values of a report; arrays are packed, see ``packed``.

    Attributes:
        images, captions: ids.
        image_of: for every caption the index of its image.
        caption_rows: of a custom split with ids: for every caption its row among the text vectors; or None.
        fold: for every image the number of its fold, or None.
        columns: the values.
    """

    images: str
    captions: str
    image_of: str
    caption_rows: str | None = None
    fold: str | None
    columns: list[ColumnDocument]


class ListsDocument(_Strict):
    """The top of the rankings of one direction; arrays are packed, row after row, see ``lists.Lists``.

    Attributes:
        k: items a query.
        items: gallery indices plus 1, and 0 behind the end of a list.
        kind: the gains, None without any.
    """

    direction: Literal["i2t", "t2i"]
    k: int = Field(ge=1, le=100)
    items: str
    scores: str | None
    kind: str | None
    gains: str | None
    truth_gains: str | None


class ReportDocument(_Strict):
    """A report."""

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


class SystemDocument(_Strict):
    """One system of a joint table."""

    name: str
    report: ReportDocument


class JointDocument(_Strict):
    """A joint table: the reports of several systems, which ``vsebench compare`` reads like as many files."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["vsebench/joint/1"] = Field(alias="schema")
    split: str
    columns: list[str]
    warnings: list[str]
    systems: list[SystemDocument] = Field(min_length=1)
