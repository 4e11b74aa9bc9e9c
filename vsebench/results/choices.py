"""Choices between captions: shares of right choices by category, with intervals, ties and a text-only baseline."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..errors import count_of
from ..options import spell
from .format import bracketed, interval_words, printed, signed
from .grid import Cell, Grid, cells, text_only
from .model import Resampling, plain
from .render import Rendered, record

SCHEMA = "vsebench/choices/1"
MEAN, ALL = "mean of categories", "all items"
BASELINE = "text only"
RULE = (
    "A choice is right if its score is higher than every other; a tie is wrong. Order-blind: the most that scores can "
    "reach that ignore the order of words."
)


@dataclass(frozen=True)
class Share:
    """The share of right choices of a system, or the difference of two, for a category, their mean or all items.

    Attributes:
        part: of a set that is published as several, else empty.
        measure: ``accuracy``, or of two images ``text``, ``image`` or ``group``.
        category: its name, ``MEAN`` or ``ALL``.
        system: a system, the baseline, or ``B − A``.
        value: a fraction.
        interval: (low, high), or None.
        ties: items that would be right if a tie were; None of a mean or a difference.
        n, images: items, and images that they are resampled by.
        averaged: whether the mean of categories has this one.
        chance: the share of random scores.
        order_blind: the most that scores can reach that ignore the order of words.
    """

    part: str
    measure: str
    category: str
    system: str
    value: float
    interval: tuple[float, float] | None
    ties: int | None
    n: int
    images: int
    averaged: bool
    chance: float
    order_blind: float


@dataclass(frozen=True, repr=False)
class Choices(Rendered):
    """How often systems choose the right caption.

    Attributes:
        name: of the set.
        systems: their names.
        baseline: the name of the text-only baseline, or None.
        shares: by part, measure, category and system; below the systems the differences of the others to the first, of
            one system to the baseline.
        signature: the items, the scores and the rule for ties, in one line.
        how: the resampling of the intervals, None without them.
        top: how many categories of a table are shown.
        notes: what was decided.
        warnings: what may be wrong.
    """

    heading: ClassVar = "Choices of {name}"
    name: str
    systems: tuple[str, ...]
    baseline: str | None
    shares: tuple[Share, ...]
    signature: str
    how: Resampling | None
    top: int = 30
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __getitem__(self, key: str | tuple[str, ...]) -> Share:
        """The first share with these words: ``result["all items"]``, ``result["text", "all items", "clip"]``."""
        wanted = {key} if isinstance(key, str) else {*key}
        found = (s for s in self.shares if wanted <= {s.part, s.measure, s.category, s.system})
        share = next(found, None)
        if share is None:
            raise KeyError(key)
        return share

    def grids(self) -> list[Grid]:
        """One table a part and measure, of at most ``top`` categories; then how to read them."""
        tables: dict[tuple[str, str], dict[str, list[Share]]] = {}
        for s in self.shares:
            tables.setdefault((s.part, s.measure), {}).setdefault(s.category, []).append(s)
        chance = sorted({printed(s.chance, "fraction") for s in self.shares}, key=float)
        words = f"Shares are printed times 100. {RULE} Chance: {' to '.join(dict.fromkeys((chance[0], chance[-1])))}."
        if self.how is not None:
            words += f" {interval_words(self.how)}."
        shown = [self._grid(part, measure, rows) for (part, measure), rows in tables.items()]
        return [*shown, text_only(words, literal=self.signature)]

    def _grid(self, part: str, measure: str, rows: dict[str, list[Share]]) -> Grid:
        left_out = [name for name in rows if name not in (MEAN, ALL)][self.top :]
        lines = []
        for category, row in rows.items():
            if category not in left_out:
                label = category + " (not in the mean)" * (not row[0].averaged)
                head = cells(label, f"{row[0].n:,}", printed(row[0].order_blind, "fraction"))
                lines.append((*head, *map(self._cell, row)))
        ties = ", ".join(f"{s.system} {s.ties:,}" for s in rows[ALL] if s.ties is not None)
        notes = [f"Ties: {ties} of {rows[ALL][0].n:,} items."]
        if left_out:
            counted = count_of(len(left_out), "category is", "categories are")
            notes.append(f"{counted} not shown ({spell('top')}).")
        title = " · ".join(filter(None, (self.name, part, "" if measure == "accuracy" else f"{measure} score")))
        headings = ("category", "items", "order-blind", *(share.system for share in rows[ALL]))
        return Grid(title, headings, 1, tuple(lines), tuple(notes))

    def _cell(self, share: Share) -> Cell:
        text = printed if share.system in (*self.systems, self.baseline) else signed
        return Cell(text(share.value, "fraction"), aside=bracketed(share.interval, "fraction"))

    def records(self) -> list[dict[str, Any]]:
        """One a share, with the fields of ``Share``; in place of the interval ``low`` and ``high``."""
        return [record(facts) for facts in self._facts()]

    def _facts(self) -> list[dict[str, Any]]:
        return [plain(share, *(field.name for field in fields(Share))) for share in self.shares]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/choices/1``: fractions as fractions."""
        return {
            "schema": SCHEMA,
            "set": self.name,
            **plain(self, "systems", "baseline", "signature"),
            "intervals": self.how and plain(self.how, "level", "resamples", "seed"),
            **plain(self, "notes", "warnings"),
            "shares": self._facts(),
        }
