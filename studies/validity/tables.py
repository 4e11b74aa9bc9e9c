"""The tables of ``docs/studies/metric_validity.md``, of the stored numbers; ``python -m docs.generate`` writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.validity.figures import HEADS, QUALITIES, families
from studies.validity.findings import ALL, EVEN, EVEN_FAMILIES, JUDGED_BY, PLAIN
from studies.validity.systems import MIXED

STORED = Path(__file__).resolve().parents[2] / "leaderboards/studies/metric_validity.json"
METRICS = (
    "R@1", "R@10", "RSum", "mAP@R", "MedR", "MeanR", "judged:mAP@R", "pooled:mAP@R", "entails:R@1", "entails:mAP@R",
    "cider:NCS@10", "cider:NCS[gt=out]@10", "cider:CS@100", "cider:Kendall", "holds:NCS@10", "holds:Kendall",
    "match:NCS@10", "match:Kendall",
)  # fmt: skip
Record = dict[str, Any]


def tables(record: Record) -> tuple[str, str, str]:
    """Tau and images needed; agreement with the quality that systems are judged by, by family; with all qualities."""
    return _order(record), _of_families(record), _of_qualities(record)


def stored_tables() -> tuple[str, str, str]:
    """The tables of the stored numbers."""
    return tables(json.loads(STORED.read_text(encoding="utf-8")))


def _order(record: Record) -> str:
    heads = ("alike", "alike, few images", "vague", "pairs", "across", "images needed")
    rows = {}
    for m in METRICS:
        taus, needed = record["order"][m]["both"], record["images needed"][m][EVEN]["images"]
        shown = [interval(taus[family]) for family in ("vague", "pair", MIXED)]
        rows[m] = [interval(taus[EVEN]), signed(taus[EVEN][3]), *shown, _bracketed(*map(count, needed))]
    return _table(heads, rows)


def _of_families(record: Record) -> str:
    found = families(record)
    shown = [*(f for f in found if f not in EVEN_FAMILIES), MIXED, *(f for f in found if f in EVEN_FAMILIES)]
    heads = [HEADS[g].replace("|", " ").strip() if g != MIXED else "several" for g in shown]
    return _table(heads, {m: [interval(record["quality"][m][JUDGED_BY][g]) for g in shown] for m in METRICS})


def _of_qualities(record: Record) -> str:
    heads = [*QUALITIES.values(), f"{QUALITIES[JUDGED_BY]}, without cue and bias"]
    columns = [*((name, ALL) for name in QUALITIES), (JUDGED_BY, PLAIN)]
    return _table(heads, {m: [interval(record["quality"][m][q][g]) for q, g in columns] for m in METRICS})


def _table(heads: Sequence[str], rows: dict[str, list[str]]) -> str:
    lines = [("metric", *heads), ["---"] * (len(heads) + 1), *([f"`{m}`", *cells] for m, cells in rows.items())]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def signed(value: float) -> str:
    """Two decimals, and a minus sign that is one."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def interval(found: Sequence[float]) -> str:
    """A value with its interval, the first three numbers: 0.93 [0.90, 0.95]."""
    return _bracketed(*map(signed, found[:3]))


def _bracketed(value: str, low: str, high: str) -> str:
    """A value and its interval, between whose ends no line is broken."""
    return f"{value} [{low},\N{NO-BREAK SPACE}{high}]"


def count(value: float | None) -> str:
    """A number of images, two digits of it; ``no number`` where none suffices."""
    if value is None or math.isinf(value):
        return "no number"
    return f"{round(value, -max(0, len(str(round(value))) - 2)):,.0f}"
