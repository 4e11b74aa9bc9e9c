"""The tables of ``docs/benchmarks.md``, made of the stored run of the peers.

``python -m benchmarks peers --json > docs/benchmarks.json`` stores it, and ``python -m docs.generate`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from .machine import ROOT
from .run import Record, Row, Usage
from .table import EXTRAPOLATED
from .task import find, judge, tasks

STORED = ROOT / "docs" / "benchmarks.json"
COLUMNS = (
    "peer", "what it computes", "from", "time", "vsebench, the same", "times slower: wall, CPU", "goal",
    "MiB over the inputs: peer, vsebench",
)  # fmt: skip


def read(stored: str) -> Record:
    """The record of the JSON of ``python -m benchmarks peers --json``."""
    fields = json.loads(stored)
    rows = {name: _row(row) for name, row in fields.pop("rows").items()}
    return Record(**fields, rows=rows)


def _row(fields: dict[str, Any]) -> Row:
    usages = {name: Usage(**fields[name]) if fields[name] else None for name in ("usage", "ours")}
    return Row(**{**fields, **usages, "differences": tuple(fields["differences"])})


def stored_parts() -> tuple[str, str, str]:
    """The parts of the page that are made of the stored record."""
    return parts(read(STORED.read_text(encoding="utf-8")))


def parts(record: Record) -> tuple[str, str, str]:
    """Where it was measured and the times; whether the values are the same; definitions that differ, and versions."""
    peers = tasks("peers")
    rows = [(row, ours) for name, row in record.rows.items() if name in peers and (ours := row.ours)]
    size = f"{record.images:,} images, {5 * record.images:,} captions and vectors of {record.dim:,} numbers"
    left_out = "; ".join(f"{name} ({reason})" for name, reason in record.left_out.items()) or "none"
    times = f"Here: {size}, on {_machine(record.machine)}.\n\n{_lines(COLUMNS, (_cells(*row) for row in rows))}"
    values = _lines(("peer", "numbers compared", "largest difference", "tolerance"), (_compared(r) for r, _ in rows))
    differ = "".join(f"- **{task.name}**: {task.peer.differs}\n" for task in peers.values() if task.peer)
    names = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    versions = f"Python {record.machine['python']}, numpy {record.machine['numpy']}, {names}.\n"
    return (
        f"{times}\n(E): {EXTRAPOLATED}. Left out: {left_out}.\n",
        values,
        f"{differ}\n## Versions\n\n{versions}",
    )


def _lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heading, ["---"] * len(heading), *rows))


def _machine(machine: dict[str, Any]) -> str:
    load = machine["load"] or 0.0
    busy = f". Other work ran at the same time (load {load:g} at the start): times are longer than on an idle machine"
    return f"{machine['cores']} cores of {machine['cpu']}, {machine['blas']}{busy if load > machine['cores'] else ''}"


def _cells(row: Row, ours: Usage) -> tuple[str, ...]:
    """The row of a peer."""
    task, used = find(row.name), row.usage
    assert task.peer is not None
    wall, _, memory = [*task.goal.partition(", ")]
    mib = "-" if used.mib is None or ours.mib is None else f"{used.mib:,.0f}, {ours.mib:,.0f}"
    return (
        f"{task.name}{' (E)' if used.part < 1 else ''}",
        task.words,
        task.peer.start,
        _seconds(used.wall),
        f"{_seconds(ours.wall)} ({ours.wall / ours.floor:.2f} F)",
        f"{_times(used.wall / ours.wall)}, {_times(used.cpu / ours.cpu)}",
        _goal(wall, row) or "-",
        f"{mib} (goal {_goal(memory, row)})" if memory else mib,
    )


def _goal(goal: str, row: Row) -> str:
    """Goal and whether it is met, empty without one."""
    number = goal.removeprefix(">= ").partition(" ")[0]
    met = judge(goal, row.quantities(find(row.name)))
    return f"{float(number):,g}: {'met' if met[0] else '**not met**'}" if met else ""


def _compared(row: Row) -> tuple[str, ...]:
    """The row of a peer in the table of values."""
    peer, off = find(row.name).peer, "0" if row.largest == 0 else f"{row.largest:.0e}"
    assert peer is not None
    name = row.name.removeprefix("peers/")
    return name, f"{row.numbers:,}", f"{off} (of scores)" if name.startswith("faiss") else off, f"{peer.tolerance:.0e}"


def _seconds(x: float) -> str:
    return f"{x / 3600:,.1f} h" if x >= 7200 else f"{x:,.0f} s" if x >= 20 else f"{x:.2f} s"


def _times(x: float) -> str:
    return f"{x:,.0f}" if x >= 20 else f"{x:.2f}" if x < 2 else f"{x:.1f}"
