"""What files may hold, as pydantic models: unknown fields and NaN are refused; entries, and their numbers in range."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from ..errors import BadInput, UsageError
from ..results.schema import ReportDocument
from ..results.table import Value
from ..types import Float
from .facts import facts

SLACK = 1e-6  # of a range: gains are float32
LONGEST = 20_000  # characters of a name or note
ID, LONGEST_ID = r"^[a-z0-9][a-z0-9._-]*$", 100  # of an entry: the name of its file and page
ENTRIES = "entries"  # the folder of submitted entries
Level = Literal["published", "submitted", "reproduced"]
Side = Literal["i2t", "t2i", "i2i", "t2t", "mean"]  # mean: of both directions
Key = tuple[str, Side | None]  # of a number: metric and direction, which is None for a sum, or where there is none

LEVELS: dict[Level, str] = {
    "published": "printed in a paper, or in a file of results that a project publishes; nothing was measured here",
    "submitted": "a report with the values of every query, from which all numbers are computed again here",
    "reproduced": "trained and evaluated by the reference trainer of this repository",
}


class Strict(BaseModel):
    """A model without unknown fields, NaN and changes."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, populate_by_name=True)


def _known(name: str) -> str:
    try:
        facts(name)
    except UsageError as error:
        raise ValueError(f"{error.what}{f'; {error.fix}' if error.fix else ''}") from None
    return name


MetricName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_known)]


class Model(Strict):
    """What was evaluated.

    Attributes:
        name: of the model.
        setting: what distinguishes it from others of this name: training data, hyper-parameters.
        image_input: what it reads of an image, such as pixels, region features or object annotations; empty where it is
            not known.
        url: of its code or paper, or the empty text.
        description: free text.
        notes: sentences.
        reproduce: commands that give the numbers again.
    """

    name: str = Field(min_length=1, max_length=LONGEST, pattern=r"\S")
    setting: str = Field(default="", max_length=LONGEST)
    image_input: str = Field(default="", max_length=100)
    url: str = Field(default="", max_length=2000)
    description: str = Field(default="", max_length=LONGEST)
    notes: tuple[str, ...] = ()
    reproduce: tuple[str, ...] = ()

    @field_validator("url")
    @classmethod
    def _is_link(cls, url: str) -> str:
        if url and not (url.isprintable() and re.fullmatch(r"https?://[^\s/?#]\S*", url)):
            raise ValueError(f"'{url[:60]}' is no link; write it as in https://example.org/model")
        return url


class EntryDocument(ReportDocument):
    """The file of a submitted entry: a report, and what was evaluated."""

    model: Model


@dataclass(frozen=True)
class Entry:
    """One system on one test set.

    Attributes:
        id: of its page and its file.
        level: where the numbers come from.
        model: what was evaluated.
        benchmark: the test set, see ``benchmarks``.
        values: the numbers by metric and direction, as ``number`` makes them.
        signature: how it was measured; empty where it is not known, as in papers.
        paper, table, row: of published numbers; the keys of ``papers.json`` are the papers.
        facts: provenance, name -> text.
        doubts: what contradicts a number within its row, a sentence each.
        changes: what every image adds to a number, (image,); only of numbers of which it is known.

    Raises:
        BadInput: an id that is no name of a file, or no values.
    """

    id: str
    level: Level
    model: Model
    benchmark: str
    values: Mapping[Key, Value]
    signature: str = ""
    paper: str = ""
    table: str = ""
    row: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    doubts: Mapping[Key, str] = field(default_factory=dict)
    changes: Mapping[Key, Float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(ID, self.id) or len(self.id) > LONGEST_ID:
            fix = f"write small letters, digits, '.', '_' and '-', at most {LONGEST_ID}, as in vsepp-coco-5k"
            raise BadInput(f"id: '{self.id:.110}' is no name of an entry", fix=fix)
        if not self.values:
            raise BadInput("there are no values", fix="name at least one metric")

    def sound(self, key: Key) -> Value | None:
        """A number; None where there is none, or its row contradicts it."""
        return None if key in self.doubts else self.values.get(key)


def number(
    key: Key,
    value: float,
    interval: tuple[float, float] | None = None,
    n: int | None = None,
    printed: str = "",
    note: str = "",
) -> Value:
    """A number of an entry.

    Args:
        key: canonical name of the metric, see ``facts``, and direction.
        value: fractions as fractions, also those that papers print as percentages; ranks as ranks.
        interval: its ends, or None.
        n: number of queries, or None where it is not known.
        printed: the text in the paper.
        note: about this number.

    Raises:
        BadInput: it is out of the range of its metric, or outside its interval.
    """
    known, ends = facts(key[0]), interval or (value, value)
    name = " ".join(part for part in key if part)
    for one in (value, *ends):
        if not (known.low - SLACK <= one <= (math.inf if known.high is None else known.high + SLACK)):
            most = "no bound" if known.high is None else f"{known.high:g}"
            hint = "; is it a percentage?" if known.high == 1 and 1 < one <= 100 else ""
            raise BadInput(f"{name} is {one:g}, and its range is {known.low:g} to {most}{hint}")
    if not ends[0] - SLACK <= value <= ends[1] + SLACK:
        raise BadInput(f"{name} is {value:g}, outside its interval {ends[0]:g} to {ends[1]:g}")
    more = {"n": n, "printed": printed, "note": note}
    return Value(value, known.form, interval, known.higher_is_better, text=printed, facts=more)


class PaperNote(Strict):
    """What to know about some numbers of a paper; it stands below the tables that show them.

    Attributes:
        says: a sentence without its full stop.
        benchmarks: the test sets of the numbers; all if empty.
        kinds: the kinds of their metrics, see ``facts.FAMILIES``; all if empty.
    """

    says: str = Field(min_length=1, max_length=LONGEST)
    benchmarks: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def is_of(self, benchmark: str, kind: str) -> bool:
        """Whether it is of numbers of this test set and kind."""
        return benchmark in (self.benchmarks or (benchmark,)) and kind in (self.kinds or (kind,))


class Paper(Strict):
    """A citation.

    Attributes:
        name: short, as in tables.
        authors, title, venue: as in a list of references.
        url: of the paper.
        notes: about its numbers.
    """

    name: str
    authors: str
    title: str
    venue: str
    url: str
    notes: tuple[PaperNote, ...] = ()


class Papers(Strict):
    """The file ``papers.json``."""

    schema_: Literal["vsebench/papers/1"] = Field(alias="schema")
    papers: dict[str, Paper]


class StatedClaim(Strict):
    """A claim of a paper with the numbers that it rests on.

    Attributes:
        claim: its name in the suites of the trainer.
        paper: key in ``papers.json``.
        says: in one sentence.
        where: the tables or figures.
        metrics: metric and direction of the numbers to show.
        entries: ids of published entries.
    """

    claim: str
    paper: str
    says: str
    where: str
    metrics: tuple[tuple[str, Side | None], ...] = ()
    entries: tuple[str, ...] = ()


class StatedClaims(Strict):
    """The file ``claims.json``."""

    schema_: Literal["vsebench/claims/1"] = Field(alias="schema")
    claims: tuple[StatedClaim, ...]
