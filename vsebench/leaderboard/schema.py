"""What an entry may hold, as pydantic models: unknown fields, NaN and values out of range are refused."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from ..errors import UsageError
from ..results.schema import ReportDocument
from .facts import facts

SLACK = 1e-6  # of a range: gains are float32
LONGEST = 20_000  # characters of a name or note
ID, LONGEST_ID = r"^[a-z0-9][a-z0-9._-]*$", 100  # of an entry: the name of its file and page
ENTRIES = "entries"  # the folder of submitted entries
Level = Literal["published", "submitted", "reproduced"]
Side = Literal["i2t", "t2i", "i2i", "t2t", "mean"]  # mean: of both directions

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


class Value(Strict):
    """One number.

    Attributes:
        metric: canonical name, see ``facts``.
        direction: None for a sum over both directions, or a number without one.
        value: fractions as fractions, also those that papers print as percentages; ranks as ranks.
        interval: its ends, or None.
        n: number of queries, or None where it is not known.
        printed: the text in the paper.
        note: about this number.
    """

    metric: MetricName
    direction: Side | None
    value: float
    interval: tuple[float, float] | None = None
    n: int | None = Field(default=None, ge=0)
    printed: str = Field(default="", max_length=40)
    note: str = Field(default="", max_length=LONGEST)

    @property
    def name(self) -> str:
        """Metric and direction as in messages: ``R@1 i2t``."""
        return f"{self.metric} {self.direction}" if self.direction else self.metric

    @model_validator(mode="after")
    def _in_range(self) -> Value:
        known = facts(self.metric)
        ends = self.interval or (self.value, self.value)
        for number in (self.value, *ends):
            if number < known.low - SLACK or (known.high is not None and number > known.high + SLACK):
                most = "no bound" if known.high is None else f"{known.high:g}"
                hint = "; is it a percentage?" if known.high == 1 and 1 < number <= 100 else ""
                raise ValueError(f"{self.name} is {number:g}, and its range is {known.low:g} to {most}{hint}")
        if not ends[0] - SLACK <= self.value <= ends[1] + SLACK:
            raise ValueError(f"{self.name} is {self.value:g}, outside its interval {ends[0]:g} to {ends[1]:g}")
        return self


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

    name: str = Field(min_length=1, max_length=LONGEST)
    setting: str = Field(default="", max_length=LONGEST)
    image_input: str = Field(default="", max_length=100)
    url: str = Field(default="", max_length=2000)
    description: str = Field(default="", max_length=LONGEST)
    notes: tuple[str, ...] = ()
    reproduce: tuple[str, ...] = ()

    @field_validator("url")
    @classmethod
    def _is_link(cls, url: str) -> str:
        if url and not (url.startswith(("https://", "http://")) and url.isprintable() and " " not in url):
            raise ValueError(f"'{url[:60]}' is no link; begin it with https://")
        if url and not _has_host(url):
            raise ValueError(f"'{url[:60]}' has no valid host; write it as in https://example.org/model")
        return url


def _has_host(url: str) -> bool:
    """Whether a link has a host that a browser can look up: a name, or an address, with a port from 0 to 65535."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # both raise ValueError
        if "[" in parts.netloc:
            ipaddress.IPv6Address(host)
            return True
    except ValueError:
        return False
    return re.fullmatch(r"[\w-]+(\.[\w-]+)*\.?", host) is not None


class EntryDocument(ReportDocument):
    """The file of a submitted entry: a report, and what was evaluated."""

    model: Model


class Entry(Strict):
    """One system on one test set.

    Attributes:
        id: of its page and its file.
        level: where the numbers come from.
        model: what was evaluated.
        benchmark: the test set, see ``benchmarks``.
        signature: how it was measured; empty where it is not known, as in papers.
        values: the numbers; a metric and direction at most once.
        paper, table, row: of published numbers; the keys of ``papers.json`` are the papers.
        facts: provenance, name -> text.
    """

    id: str = Field(pattern=ID, max_length=LONGEST_ID)
    level: Level
    model: Model
    benchmark: str = Field(min_length=1, max_length=200)
    signature: str = Field(default="", max_length=LONGEST)
    values: tuple[Value, ...]
    paper: str = Field(default="", max_length=100)
    table: str = Field(default="", max_length=100)
    row: str = Field(default="", max_length=100)
    facts: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Entry:
        if not self.values:
            raise ValueError("there are no values")
        seen = set()
        for value in self.values:
            if (value.metric, value.direction) in seen:
                raise ValueError(f"{value.name} is listed twice")
            seen.add((value.metric, value.direction))
        return self

    def value_of(self, metric: str, direction: str | None) -> Value | None:
        """The number of a metric and direction, None without one."""
        return next((v for v in self.values if (v.metric, v.direction) == (metric, direction)), None)


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
