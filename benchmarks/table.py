"""The printed table, and the tables of ``docs/exactness.md``, made of a record of ``run.run``.

``python -m benchmarks peers --json > docs/benchmarks.json`` stores the record, ``python -m docs.generate`` the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .run import ROOT, Task, find, judge, quantities, tasks

STORED = ROOT / "docs" / "benchmarks.json"
HEADINGS = ("what", "seconds", "CPU s", "wall", "CPU", "MiB", "goal", "met")
EXTRAPOLATED = "measured on a part of the queries and extrapolated: the cost of every query is the same"
NOTES = (
    "the least of all repetitions; F, the float32 product of the same vectors, is timed before and after each of them",
    "other load on the machine affects wall time more than CPU time",
    "MiB: peak of the first run beyond the inputs and the imported modules; compiled kernels count",
    "x is the time over that of the task of the library that computes the same",
    f"(E) {EXTRAPOLATED}",
)
Row = dict[str, Any]


def text(record: dict[str, Any]) -> str:
    """The table, with the machine and notes."""
    goals, rows = record["images"] == 5_000 and record["dim"] == 1024, record["rows"]
    notes = [*NOTES, *(f"{name} left out: {reason}" for name, reason in record["left_out"].items())]
    notes += [] if goals else ["goals are for 5,000 images and 1,024 dimensions"]
    for name, row in rows.items():
        notes += row["usage"]["notes"]
        notes += [f"{name}: {row['numbers']:,} numbers compared, by {row['largest']:.1e}"] if row["numbers"] else []
        notes += [f"DIFFERS: {name}: {line}" for line in row["differences"]]
    lines = [HEADINGS, *(_printed(row, find(name), goals) for name, row in rows.items())]
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * w for w in width))
    shown = ("  ".join((c[0].ljust(width[0]), *map(str.rjust, c[1:], width[1:]))).rstrip() for c in lines)
    place = "  ".join(f"{name}: {value}" for name, value in record["machine"].items())
    size = f"{record['images']:,} images, {5 * record['images']:,} captions, {record['dim']:,} dimensions"
    return "\n".join((place, size, "", *shown, "", *(f"* {note}" for note in notes)))


def _printed(row: Row, task: Task, goals: bool) -> tuple[str, ...]:
    """The cells of a row on the terminal."""
    used, found, unit = row["usage"], quantities(row, task), "x" if row["ours"] else task.unit if task.floor else ""
    name = f"{row['name']}{' (E)' if used['part'] < 1 else ''}: {task.words}".removesuffix(": ")
    if row["differences"]:
        return name, "values differ, no time", *[""] * 6
    ratios = ("" if x is None else f"{x:,.2f} {unit}" for x in (found.get(unit), found.get(f"CPU {unit}")))
    met = ", ".join("yes" if met else "NO" for met in judge(task.goal, found))
    mib = "" if used["mib"] is None else f"{used['mib']:,.0f}"
    return name, f"{used['wall']:.3f}", f"{used['cpu']:.3f}", *ratios, mib, *((task.goal, met) if goals else ("", ""))


def parts(record: dict[str, Any]) -> tuple[str, str, str]:
    """Where it was measured and the times; whether the values are the same; definitions that differ, and versions."""
    peers, machine, load = tasks("peers"), record["machine"], record["machine"]["load"] or 0.0
    rows = [(row, peers[name]) for name, row in record["rows"].items() if name in peers]
    busy = f". Other work ran at the same time (load {load:g} at the start): times are longer than on an idle machine"
    left_out = "; ".join(f"{name} ({reason})" for name, reason in record["left_out"].items()) or "none"
    place = (
        f"Here: {record['images']:,} images, {5 * record['images']:,} captions and vectors of {record['dim']:,} "
        f"numbers, on {machine['cores']} cores of {machine['cpu']}, {machine['blas']}"
        f"{busy if load > machine['cores'] else ''}."
    )
    times = _lines(
        ("peer", "what it computes", "from", "time", "vsebench, the same", "times slower: wall, CPU", "goal",
         "MiB over the inputs: peer, vsebench"), (_timed(*row) for row in rows),
    )  # fmt: skip
    values = _lines(("peer", "numbers compared", "largest difference", "tolerance"), (_compared(*row) for row in rows))
    differ = "".join(f"- **{name.removeprefix('peers/')}**: {task.differs}\n" for name, task in peers.items())
    used = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return (
        f"{place}\n\n{times}\n(E): {EXTRAPOLATED}. Left out: {left_out}.\n",
        values,
        f"{differ}\n## Versions\n\nPython {machine['python']}, numpy {machine['numpy']}, {used}.\n",
    )


def _lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heading, ["---"] * len(heading), *rows))


def _timed(row: Row, task: Task) -> tuple[str, ...]:
    """The row of a peer in the table of times."""
    used, ours, found = row["usage"], row["ours"], quantities(row, task)
    name = f"{task.name.removeprefix('peers/')}{' (E)' if used['part'] < 1 else ''}"
    ratios = (f"{x:,.0f}" if x >= 20 else f"{x:.2f}" if x < 2 else f"{x:.1f}" for x in (found["x"], found["CPU x"]))
    wall, memory = (
        f"{float(goal.split()[1]):,g}: {'met' if judge(goal, found)[0] else '**not met**'}" if goal else ""
        for goal in task.goal.partition(", ")[::2]
    )
    mib = "-" if used["mib"] is None or ours["mib"] is None else f"{used['mib']:,.0f}, {ours['mib']:,.0f}"
    library = f"{_seconds(ours['wall'])} ({ours['wall'] / ours['floor']:.2f} F)"
    mib += f" (goal {memory})" if memory else ""
    return name, task.words, task.start, _seconds(used["wall"]), library, ", ".join(ratios), wall or "-", mib


def _compared(row: Row, task: Task) -> tuple[str, ...]:
    """The row of a peer in the table of values."""
    name, off = task.name.removeprefix("peers/"), f"{row['largest']:.0e}" if row["largest"] else "0"
    return name, f"{row['numbers']:,}", off + " (of scores)" * name.startswith("faiss"), f"{task.tolerance:.0e}"


def _seconds(x: float) -> str:
    return f"{x / 3600:,.1f} h" if x >= 7200 else f"{x:,.0f} s" if x >= 20 else f"{x:.2f} s"
