"""The table of a benchmark: rows with goals, notes, and the options of every benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from . import check, harness
from .harness import Usage

HEADINGS = ("what", "seconds", "CPU s", "wall", "CPU", "MiB", "goal", "met")
MEMORY_GOAL = 200.0  # MiB over the inputs


@dataclass(frozen=True)
class Row:
    """One line: what was measured, its cost, alone and as a multiple, and the goal.

    Attributes:
        what: words.
        seconds: wall time.
        cpu: CPU time.
        ratio: wall time as a multiple of F (``unit`` "F") or of the library (``unit`` "x"), or None.
        cpu_ratio: CPU time as such a multiple.
        unit: ``F`` or ``x``.
        mib: memory over the inputs.
        goal: in words, or empty.
        met: whether the goal is met, None where there is none.
    """

    what: str
    seconds: float | None = None
    cpu: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    unit: str = ""
    mib: float | None = None
    goal: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        """The line as text."""

        def number(x: float | None, form: str, unit: str = "") -> str:
            return "" if x is None else f"{x:{form}}{unit}"

        form = ".2f" if self.unit == "F" else ".1f"
        return (
            self.what,
            number(self.seconds, ".3f"),
            number(self.cpu, ".3f"),
            number(self.ratio, form, f" {self.unit}"),
            number(self.cpu_ratio, form, f" {self.unit}"),
            number(self.mib, ",.0f"),
            self.goal,
            {True: "yes", False: "NO", None: ""}[self.met],
        )


@dataclass
class Bench:
    """The rows and notes of one run.

    Attributes:
        images: size of the test set.
        repeats: timed repetitions of a row.
        quick: the size is small.
        goals: whether goals apply to the rows that are added.
    """

    images: int
    repeats: int
    quick: bool
    goals: bool = True
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: Row, goal: str = "", met: bool = False) -> None:
        """Add a row, with its goal if there is one and goals apply."""
        self.rows.append(replace(row, goal=goal, met=met) if goal and self.goals else row)

    def floor(self, usage: Usage) -> None:
        """Add the row of F, as measured with ``usage``."""
        self.add(Row("F: float32 product", usage.floor, usage.floor_cpu, 1.0, 1.0, "F"))

    def against_floor(self, what: str, usage: Usage, limit: float | None = None) -> None:
        """Add a row as a multiple of F, which should be at most ``limit``."""
        cpu = usage.cpu / usage.floor_cpu if usage.floor_cpu else None
        row = Row(what, usage.seconds, usage.cpu, usage.ratio, cpu, "F")
        self.add(row, "" if limit is None else f"<= {limit:g} F", usage.ratio <= (limit or 0))

    def memory(self, what: str, mib: float | None, goal: float = MEMORY_GOAL) -> None:
        """Add a row of memory, if it is known."""
        if mib is not None:
            self.add(Row(what, mib=mib), f"<= {goal:g} MiB", mib <= goal)

    def against_us(self, what: str, theirs: Usage, ours: Usage, times: float = 0, memory: float = 0) -> None:
        """Add a row of a peer as a multiple of the time of the library, which should be at least ``times``.

        Its memory is a row as well if it should be at least ``memory`` times that of the library.
        """
        ratio = theirs.seconds / ours.seconds
        row = Row(what, theirs.seconds, theirs.cpu, ratio, theirs.cpu / ours.cpu, "x", theirs.added_mib)
        self.add(row, f">= {times:,g} x" if times else "", ratio >= times)
        if memory and theirs.added_mib and ours.added_mib:
            ratio = theirs.added_mib / ours.added_mib
            self.add(Row("  its memory over ours", ratio=ratio, unit="x"), f">= {memory:g} x", ratio >= memory)

    def print(self, as_json: bool) -> None:
        """Print the table with the machine and the notes, or one JSON object."""
        machine = harness.machine()
        if as_json:
            rows = [asdict(r) for r in self.rows]
            print(json.dumps({"machine": machine, "quick": self.quick, "rows": rows, "notes": self.notes}, indent=2))
            return
        print("  ".join(f"{name}: {value}" for name, value in machine.items()) + "\n")
        print(_table([HEADINGS, *(r.cells() for r in self.rows)]) + "\n")
        print("\n".join(f"* {note}" for note in self.notes))


def parser(name: str, description: str | None, repeats: int) -> argparse.ArgumentParser:
    """The options of every benchmark."""
    out = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    out.add_argument("--quick", action="store_true", help="small sizes; goals do not apply")
    out.add_argument("--check", action="store_true", help="only compare numbers; exit 1 on a difference")
    out.add_argument("--json", action="store_true", help="print one JSON object")
    out.add_argument("--repeats", type=positive, default=repeats, help="timed repetitions of the library's rows")
    return out


def positive(text: str) -> int:
    """An integer from 1, for options; ValueError for anything else."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def print_comparisons(found: Sequence[check.Comparison], as_json: bool) -> int:
    """Print comparisons; return 1 when anything differs."""
    print(json.dumps([asdict(c) for c in found], indent=2) if as_json else "\n".join(map(str, found)))
    return int(any(c.differences for c in found))


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Text columns, the first flush left, the others flush right; a rule below the first row."""
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join((cells[0].ljust(width[0]), *(c.rjust(w) for c, w in zip(cells[1:], width[1:], strict=True)))).rstrip()
        for cells in (rows[0], ["-" * w for w in width], *rows[1:])
    ]
    return "\n".join(lines)
