"""The printed table: one layout for all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .run import Record, Row
from .task import Task, find, judge

HEADINGS = ("what", "seconds", "CPU s", "wall", "CPU", "MiB", "goal", "met")
EXTRAPOLATED = "measured on a part of the queries and extrapolated: the cost of every query is the same"
NOTES = (
    "the least of all repetitions; F, the float32 product of the same vectors, is timed before and after each of them",
    "other load on the machine affects wall time more than CPU time",
    "MiB: peak of the first run beyond the inputs and the imported modules; compiled kernels count",
    "x is the time over that of the task of the library that computes the same",
    f"(E) {EXTRAPOLATED}",
)


def text(record: Record) -> str:
    """The table, with the machine and notes."""
    goals = record.images == 5_000 and record.dim == 1024
    lines = [_cells(row, find(name), goals) for name, row in record.rows.items()]
    notes = [*NOTES, *(f"{name} left out: {reason}" for name, reason in record.left_out.items())]
    notes += [] if goals else ["goals are for 5,000 images and 1,024 dimensions"]
    for name, row in record.rows.items():
        notes += row.usage.notes
        notes += [f"{name}: {row.numbers:,} numbers compared, by {row.largest:.1e}"] if row.numbers else []
        notes += [f"DIFFERS: {name}: {line}" for line in row.differences]
    place = "  ".join(f"{name}: {value}" for name, value in record.machine.items())
    size = f"{record.images:,} images, {5 * record.images:,} captions, {record.dim:,} dimensions"
    return "\n".join((place, size, "", *aligned([HEADINGS, *lines]), "", *(f"* {note}" for note in notes)))


def _cells(row: Row, task: Task, goals: bool) -> tuple[str, ...]:
    name = f"{row.name}{' (E)' if row.usage.part < 1 else ''}: {task.words}".removesuffix(": ")
    if row.differences:
        return (name, "values differ, no time", *[""] * 6)
    found = row.quantities(task)
    unit = "x" if row.ours else task.floor.unit if task.floor else ""
    ratios = [found.get(key) for key in (unit, f"CPU {unit}")]
    return (
        name,
        f"{row.usage.wall:.3f}",
        f"{row.usage.cpu:.3f}",
        *("" if ratio is None else f"{ratio:,.2f} {unit}" for ratio in ratios),
        "" if row.usage.mib is None else f"{row.usage.mib:,.0f}",
        task.goal if goals else "",
        ", ".join("yes" if met else "NO" for met in judge(task.goal, found)) if goals else "",
    )


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Text columns, the first flush left, the others flush right; a rule below the first row."""
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for cells in (rows[0], ["-" * w for w in width], *rows[1:]):
        others = (c.rjust(w) for c, w in zip(cells[1:], width[1:], strict=True))
        yield "  ".join((cells[0].ljust(width[0]), *others)).rstrip()
