"""The page ``docs/benchmarks.md``, made of the stored table of the peers.

``python -m benchmarks peers --json > docs/benchmarks.json`` stores it, and ``python -m docs.generate`` makes the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
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
INTRODUCTION = """# Benchmarks: other implementations

Other implementations of the same metrics get the same inputs as vsebench. Their values are compared with ours before
any time counts. In a checkout `python -m benchmarks peers` makes this table for your machine (`vsebench[text]`, and
`pip install --group peers`, which needs pip 25.1); `--quick` only compares values. `benchmarks/README.md`
describes the other benchmarks.
"""
METHOD = """
F is the time of the float32 matrix product of the same vectors alone, measured around every run of vsebench. The table
has the median of three runs, for peers that take more than a minute the only one; a new table has the least of a minute
or of five runs. vsebench is warm, and the compilation of kernels of both is not counted. Loops in Python use one core,
matrix products use all. The BLAS in the package of FAISS may not know the processor and is then up to four times
slower, so it gets the kernels of numpy's BLAS (`OPENBLAS_CORETYPE`). Memory is the peak beyond the inputs and the
imported modules; it is not given where a part was measured.

Goals are for wall time on two idle cores, and are judged by the wall time that was measured. On a busy machine that is
uncertain. In two complete runs with a load of 7 to 15, ratios of wall time differed by up to a factor of two. Those of
CPU time differed by less than a third in all rows but one (torchmetrics hit rate, 1.7 times). CPU time does not count
that vsebench uses all cores and loops in Python use one.
"""
VALUES = """## Are the values the same?

Differences are absolute below 1 and relative above. Where a peer rounds scores to float32, a few queries have near-ties
in another order; retrieved items that differ have scores that differ by no more than the tolerance. `--quick` compares
the same on 300 images, where a recall that differs by one query is refused.
"""


def read(stored: str) -> Record:
    """The record of the JSON of ``python -m benchmarks peers --json``."""
    fields = json.loads(stored)
    rows = {name: _row(row) for name, row in fields.pop("rows").items()}
    return Record(**fields, rows=rows)


def _row(fields: dict[str, Any]) -> Row:
    usages = {name: Usage(**fields[name]) if fields[name] else None for name in ("usage", "ours")}
    return Row(**{**fields, **usages, "differences": tuple(fields["differences"])})


def stored_page() -> str:
    """The page of the stored record."""
    return "".join(page(read(STORED.read_text(encoding="utf-8"))))


def page(record: Record) -> Iterator[str]:
    """The page of a record, in pieces."""
    peers = tasks("peers")
    rows = [(row, ours) for name, row in record.rows.items() if name in peers and (ours := row.ours)]
    size = f"{record.images:,} images, {5 * record.images:,} captions and vectors of {record.dim:,} numbers"
    yield f"{INTRODUCTION}\nHere: {size}, on {_machine(record.machine)}.\n\n"
    yield from _lines(COLUMNS, (_cells(*row) for row in rows))
    left_out = "; ".join(f"{name} ({reason})" for name, reason in record.left_out.items()) or "none"
    yield f"\n(E): {EXTRAPOLATED}. Left out: {left_out}.\n{METHOD}\n{VALUES}\n"
    yield from _lines(("peer", "numbers compared", "largest difference", "tolerance"), (_compared(r) for r, _ in rows))
    yield "\n## Definitions that differ\n\n"
    yield from (f"- **{task.name}**: {task.peer.differs}\n" for task in peers.values() if task.peer)
    names = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    yield f"\n## Versions\n\nPython {record.machine['python']}, numpy {record.machine['numpy']}, {names}.\n"


def _lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    for cells in (heading, ["---"] * len(heading), *rows):
        yield f"| {' | '.join(cells)} |\n"


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
