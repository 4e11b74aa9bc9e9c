"""Measures tasks, each in a process of its own, or compares their values on small inputs in this one."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vsebench.errors import VsebenchError

from . import machine
from .compare import Compared, compare
from .inputs import Inputs
from .task import Outcome, Task, Work, find, tasks

QUICK, QUICK_PART = Inputs(300, 64, quick=True), 0.2  # the part of peers of which a part is measured
LEAST, MOST = 1.0, 60.0  # seconds for which a task is repeated
PACKAGES = ("vsebench", "scipy", "numba", "torch")


@dataclass(frozen=True)
class Usage:
    """Cost of a task: the least of all repetitions.

    Attributes:
        wall, cpu: seconds of all queries, CPU time of all threads and commands together.
        mib: peak memory of the first run beyond the inputs and the imported modules, None where it is not known or a
            part was measured.
        floor, floor_cpu: of the floor, 0 without one.
        part: fraction of the queries that were measured.
        notes: of the task.
    """

    wall: float
    cpu: float
    mib: float | None = None
    floor: float = 0.0
    floor_cpu: float = 0.0
    part: float = 1.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """What was measured of one task.

    Attributes:
        name: of the task, with its group.
        usage: its cost.
        version: of the package of a peer.
        ours: cost of the task of the library that a peer is compared with.
        numbers, largest, differences: of their values, see ``Compared``.
    """

    name: str
    usage: Usage
    version: str = ""
    ours: Usage | None = None
    numbers: int = 0
    largest: float = 0.0
    differences: tuple[str, ...] = ()

    def quantities(self, task: Task) -> dict[str, float | None]:
        """What goals are about, by the names of ``Task.goal``."""
        u = self.usage
        found = {"s": u.wall, "CPU s": u.cpu, "MiB": u.mib}
        if task.floor is not None:
            found |= {task.floor.unit: u.wall / u.floor, f"CPU {task.floor.unit}": u.cpu / u.floor_cpu}
        if self.ours is not None:
            found |= {"x": u.wall / self.ours.wall, "CPU x": u.cpu / self.ours.cpu}
            found["x MiB"] = u.mib / self.ours.mib if u.mib is not None and self.ours.mib else None
        return found


@dataclass
class Record:
    """One run: where, with what, of which size, the rows, and what is left out.

    Attributes:
        machine: as ``machine.described``.
        versions: of the packages.
        images, dim: size of the test set, five captions an image, and of the vectors.
        rows: by name.
        left_out: name -> reason.
    """

    machine: dict[str, Any]
    versions: Mapping[str, str]
    images: int
    dim: int
    rows: dict[str, Row] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def in_order(names: Sequence[str]) -> Iterator[str]:
    """The names, and those of the tasks that they are compared with, which come first."""
    seen = set[str]()
    for name in names:
        peer = find(name).peer
        for one in ([peer.of] if peer else []) + [name]:
            if one not in seen:
                seen.add(one)
                yield one


def run(names: Sequence[str], images: int, dim: int, repeats: int) -> Record:
    """Measure tasks; rows whose values differ from ours say so."""
    packages = {t.peer.package for t in tasks("peers").values() if t.peer and t.peer.package} - {*PACKAGES}
    record = Record(machine.described(), machine.versions([*PACKAGES, *sorted(packages)]), images, dim)
    with tempfile.TemporaryDirectory(prefix="vsebench-values-") as folder:
        for name in in_order(names):
            task, file = find(name), Path(folder) / f"{name.replace('/', ' ')}.npz"
            given = Inputs(images, dim, part=task.peer.part if task.peer else 1.0)
            if reason := task.needs.missing(given) or _alone(task, record):
                record.left_out[name] = reason
                continue
            print(f"measuring {name}", file=sys.stderr, flush=True)
            try:
                usage = _in_child(name, given, repeats, file)
            except RuntimeError as error:
                record.left_out[name] = str(error).strip().splitlines()[-1]
                continue
            record.rows[name] = _row(name, task, given, usage, record, file)
    return record


def _alone(task: Task, record: Record) -> str:
    """Why a peer has nothing to be compared with, or an empty string."""
    return "" if task.peer is None or task.peer.of in record.rows else f"{task.peer.of} is left out"


def _row(name: str, task: Task, given: Inputs, usage: Usage, record: Record, file: Path) -> Row:
    if task.peer is None:
        return Row(name, usage)
    of = task.peer.of
    with np.load(file.with_name(f"{of.replace('/', ' ')}.npz")) as ours, np.load(file) as theirs:
        found = compare(task.peer, given, dict(ours), dict(theirs))
    return Row(name, usage, record.versions.get(task.peer.package, ""), record.rows[of].usage, *found)


def _in_child(name: str, given: Inputs, repeats: int, file: Path) -> Usage:
    """Run ``child`` in a fresh process; raises RuntimeError when it fails."""
    asked = {"name": name, "images": given.images, "dim": given.dim, "part": given.part, "repeats": repeats}
    command = [sys.executable, "-m", "benchmarks", "--child", json.dumps({**asked, "file": str(file)})]
    done = subprocess.run(command, cwd=machine.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:] or f"{name} ended with {done.returncode}")
    found = json.loads(done.stdout.splitlines()[-1])
    if isinstance(found, str):
        raise RuntimeError(found)
    return Usage(**{**found, "notes": tuple(found["notes"])})


def child(asked: dict[str, Any]) -> None:
    """Measure one task in this process: print its usage, or what is missing, and store its values."""
    task = find(asked["name"])
    given = Inputs(asked["images"], asked["dim"], part=asked["part"])
    if task.needs.gb:
        machine.limit_memory(1.2 * task.needs.gb)
    try:
        usage, values = measure(task, given, asked["repeats"])
    except VsebenchError as error:
        print(json.dumps(error.what))
        return
    np.savez(asked["file"], **{name: np.asarray(value) for name, value in values.items()})
    print(json.dumps(dataclasses.asdict(usage)))


def measure(task: Task, given: Inputs, repeats: int) -> tuple[Usage, Mapping[str, Any]]:
    """Memory and values of a first run, then repetitions, with the floor before and after each."""
    given.world, given.split  # noqa: B018 (in memory before memory and time are measured)
    work = task.make(given)
    mib, (wall, cpu, outcome) = machine.added_mib(lambda: cost(work))
    runs, floors = [(wall, cpu)], [(0.0, 0.0)]
    floor = task.floor.make(given) if task.floor else None
    if floor:
        floor()  # the first product also starts the threads of the BLAS
        floors = [cost(floor)[:2]]
    started = time.perf_counter()
    while not task.once and (spent := time.perf_counter() - started) < MOST:
        if len(runs) > repeats and spent >= LEAST:
            break
        runs.append(cost(work)[:2])
        if floor:
            floors.append(cost(floor)[:2])
    least = [min(column) for column in (*zip(*runs, strict=True), *zip(*floors, strict=True))]
    mib = mib if outcome.scale == 1 else None
    found = {"s": least[0], "CPU s": least[1], "MiB": mib, **outcome.measured}
    usage = Usage(found["s"], found["CPU s"], found["MiB"], *least[2:], 1 / outcome.scale, outcome.notes)
    return usage, outcome.values


def cost(work: Work) -> tuple[float, float, Outcome]:
    """Wall and CPU seconds of all queries, and what the function has returned."""
    wall, cpu, found = machine.timed(work)
    outcome = found if isinstance(found, Outcome) else Outcome()
    every = outcome.fixed + (wall - outcome.fixed) * outcome.scale
    return every, cpu * every / wall, outcome


@dataclass(frozen=True)
class Checked:
    """What was found of one task on small inputs; ``skipped`` is the reason why it did not run."""

    name: str
    found: Compared = Compared()  # noqa: RUF009
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"skipped  {self.name}: {self.skipped}"
        numbers, largest, differences = self.found
        if differences:
            return f"DIFFERS  {self.name}: {'; '.join(differences)}"
        return f"equal    {self.name}: {numbers:,} numbers, by {largest:.1e}" if numbers else f"ran      {self.name}"


def check(names: Sequence[str], find: Callable[[str], Task] = find) -> Iterator[Checked]:
    """Run tasks once, and compare the values of peers with ours."""
    values = dict[str, Mapping[str, Any]]()
    for name in in_order(names):
        task = find(name)
        partial = task.peer is not None and task.peer.part < 1
        given = dataclasses.replace(QUICK, part=QUICK_PART) if partial else QUICK
        reason = task.needs.missing(given)
        if reason or (task.peer and task.peer.of not in values):
            yield Checked(name, skipped=reason or f"{task.peer.of} has not run")  # type: ignore[union-attr]
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a k above the small gallery
                values[name] = cost(task.make(given))[2].values
        except VsebenchError as error:
            yield Checked(name, skipped=error.what)
            continue
        yield Checked(name, compare(task.peer, given, values[task.peer.of], values[name]) if task.peer else Compared())
