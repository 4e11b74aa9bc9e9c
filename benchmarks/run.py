"""Measures tasks, each in a process of its own, or compares their values on small inputs in this one."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import json
import operator
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from vsebench.errors import MissingPackage, VsebenchError

from .inputs import Inputs

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {  # name -> the module with its tasks, and what they are
    "ranking": ("library", "exact ranks, lists, an evaluation, and commands"),
    "metrics": ("library", "metrics of gains, full reports, intervals"),
    "relevance": ("library", "gains of all pairs: tokens, CIDEr-D, SPICE"),
    "backends": ("library", "reports by every installed back-end"),
    "scale": ("library", "lists of 50,000 to 200,000 candidates"),
    "large": ("library", "a command on files of 1,000,000 captions, 4.2 GB"),
    "compilation": ("library", "what the first command after installation compiles"),
    "peers": ("peers", "other implementations (pip install --group peers)"),
    "losses": ("losses", "training steps with every loss (vsebench[train])"),
}
QUICK, QUICK_PART = (300, 64), 0.2  # images and dimensions; the part of peers of which a part is measured
LEAST_SECONDS, MOST_SECONDS = 1.0, 60.0  # for which a task is repeated
PACKAGES = ("vsebench", "scipy", "numba", "torch")
FLOAT32 = 5e-4  # two of 5,000 queries: near-ties that float32 orders differently; less than one query of a small set


class Outcome(NamedTuple):
    """What a timed function returns if it has something to say.

    Attributes:
        values: by name, a mean, (query,) values or (query, k) retrieved items; if their queries can differ, the last
            word of the name is the direction.
        scale: cost of all queries over that of the queries measured.
        fixed: seconds that do not grow with the queries.
        measured: quantities that the function has measured itself, in place of those of the process.
        notes: for the table.
    """

    values: Mapping[str, Any] = {}
    scale: float = 1.0
    fixed: float = 0.0
    measured: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()


Work = Callable[[], Any]  # returns an Outcome, or anything else, which is ignored


def product(given: Inputs) -> Work:
    """One float32 product of all vectors into an existing array."""
    images, captions = given.world[:2]
    out = np.zeros((len(images), len(captions)), np.float32)
    return lambda: np.matmul(images, captions.T, out=out)


@dataclasses.dataclass(frozen=True)
class Task:
    """One row: what is timed, what its time is compared with, its goal, and what it needs."""

    name: str  # group and name, as in ``peers/ranx``
    words: str  # what is computed
    make: Callable[[Inputs], Work]  # makes the function that is timed; imports and what users do once are outside of it
    # Such as ``<= 1.3 F, <= 200 MiB``, of the full size. Quantities: ``s``, ``CPU s``, ``MiB``, ``x MiB``; the unit of
    # the floor and x, also with ``CPU`` in front.
    goal: str = ""
    floor: Callable[[Inputs], Work] | None = product  # timed before and after every repetition: times are multiples
    unit: str = "F"  # of the multiples
    modules: tuple[str, ...] = ()  # top-level modules that must be installed
    gb: float = 0.0  # memory needed at the full size, in units of 10**9 bytes; the process gets little more
    full: bool = False  # the task exists at the full size only
    once: bool = False  # only the first run is measured, with nothing compiled before
    of: str = ""  # of a peer: the task of the library that computes the same; its time is x
    tolerance: float | None = None  # largest difference of values; of retrieved items, of their scores; None: any
    package: str = ""  # distribution to install, empty for loops that are part of the benchmarks
    start: str = ""  # what is in memory when the time starts
    differs: str = ""  # how its definitions differ from ours
    part: float = 1.0  # of the queries that are measured at the full size; the cost of the others is the same

    def missing(self, given: Inputs) -> str:
        """What is missing, or an empty string."""
        for module in self.modules:
            if importlib.util.find_spec(module) is None:
                return f"module '{module}' is not installed"
        if self.full and not given.complete:
            return "of all images of COCO 5K only"
        free = psutil.virtual_memory().available / 1e9
        return f"{free:.1f} GB of memory available, {self.gb:g} GB needed" if given.complete and self.gb > free else ""


def tasks(group: str) -> dict[str, Task]:
    """The tasks of a group by name. Raises MissingPackage if the tasks themselves need one."""
    try:
        module = importlib.import_module(f"benchmarks.{GROUPS[group][0]}")
    except ModuleNotFoundError as error:
        raise MissingPackage(f"benchmarks of {group} need {error.name}", fix=f"pip install {error.name}") from None
    return {task.name: task for task in module.TASKS if task.name.startswith(f"{group}/")}


def find(name: str) -> Task:
    """The task of a name; KeyError for another one."""
    return tasks(name.partition("/")[0])[name]


def timed(work: Work) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of this process and its commands, and the result of ``work``."""
    wall, cpu = time.perf_counter(), time.process_time() + sum(os.times()[2:4])
    found = work()
    return time.perf_counter() - wall, time.process_time() + sum(os.times()[2:4]) - cpu, found


def cost(work: Work) -> tuple[float, float, Outcome]:
    """Wall and CPU seconds of all queries, and what the function has returned."""
    wall, cpu, found = timed(work)
    outcome = found if isinstance(found, Outcome) else Outcome()
    every = outcome.fixed + (wall - outcome.fixed) * outcome.scale
    return every, cpu * every / wall, outcome


def memory(name: str) -> float:
    """A size of this process in MiB, from ``/proc``; NaN if it cannot be read."""
    try:
        found = re.search(rf"^{name}:\s+(\d+)", Path("/proc/self/status").read_text(), re.M)
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else float("nan")


def run_command(*arguments: str) -> float:
    """Run ``vsebench`` with arguments; its peak memory in MiB, without the pages of files that it maps.

    Raises:
        RuntimeError: it failed; the message is the end of its error output.
    """
    peak = 0
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "vsebench", *arguments]
        child = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT)
        while child.poll() is None:
            used = child.memory_info()
            peak = max(peak, used.rss - used.shared)
            time.sleep(0.01)
        errors.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {errors.read().strip()[-2000:]}")
    return peak / 2**20


def measure(task: Task, given: Inputs, repeats: int) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The least cost of all repetitions and the values; memory is that of the first run beyond what was there before.

    The cost: ``wall`` and ``cpu`` seconds of all queries, with all threads and commands; ``mib``, None if it is unknown
    or only a part was measured; ``floor`` and ``floor_cpu``, 0 without a floor; ``part`` of the queries; ``notes``.
    """
    given.world, given.split  # noqa: B018 (in memory before memory and time are measured)
    work, before = task.make(given), memory("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    except OSError:
        before = float("nan")
    wall, cpu, outcome = cost(work)
    mib: float | None = memory("VmHWM") - before
    runs, floors, started = [(wall, cpu)], [(0.0, 0.0)], time.perf_counter()
    if floor := task.floor(given) if task.floor else None:
        floor()  # the first product also starts the threads of the BLAS
        floors = [cost(floor)[:2]]
    while not task.once and (spent := time.perf_counter() - started) < MOST_SECONDS:
        if len(runs) > repeats and spent >= LEAST_SECONDS:
            break
        runs.append(cost(work)[:2])
        floors += [cost(floor)[:2]] if floor else []
    least = [min(column) for column in (*zip(*runs, strict=True), *zip(*floors, strict=True))]
    mib = mib if outcome.scale == 1 and mib == mib else None
    found = {"s": least[0], "CPU s": least[1], "MiB": mib, **outcome.measured}
    usage = dict(zip(("wall", "cpu", "mib", "floor", "floor_cpu"), (*found.values(), *least[2:]), strict=True))
    return {**usage, "part": 1 / outcome.scale, "notes": list(outcome.notes)}, outcome.values


def child(name: str, images: int, dim: int, repeats: int, file: str) -> None:
    """Measure one task in this process: print its cost, or what is missing, and store its values."""
    task = find(name)
    if task.gb:  # allocations beyond it fail in this process, without affecting others
        resource.setrlimit(resource.RLIMIT_DATA, (int(1.2e9 * task.gb),) * 2)
    try:
        usage, values = measure(task, Inputs(images, dim, part=task.part), repeats)
    except VsebenchError as error:
        print(json.dumps(error.what))
        return
    np.savez(file, **{key: np.asarray(value) for key, value in values.items()})
    print(json.dumps(usage))


def rows_of(names: Sequence[str], images: int, dim: int, repeats: int, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Measure tasks, and the tasks that they are compared with before them; with ``quick`` only their values.

    Rows have the name, why the task is left out, its cost (``usage``), that of the task it is compared with (``ours``),
    and the fields of ``Compared``.
    """
    usage, values = dict[str, Any](), dict[str, Mapping[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="vsebench-values-") as folder:
        for name in dict.fromkeys(one for asked in names for one in (find(asked).of, asked) if one):
            task, found = find(name), Compared()
            given = Inputs(images, dim, quick, QUICK_PART if quick and task.part < 1 else task.part)
            left_out = task.missing(given) or (f"{task.of} has not run" if task.of and task.of not in values else "")
            try:
                if quick and not left_out:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of a k above the small gallery
                        usage[name], values[name] = None, cost(task.make(given))[2].values
                elif not left_out:
                    usage[name], values[name] = in_process(task, given, repeats, folder)
            except VsebenchError as error:
                left_out = error.what
            if task.of and not left_out:
                found = compare(task, given, values[task.of], values[name])
            costs = {"usage": usage.get(name), "ours": usage.get(task.of)}
            yield {"name": name, "left_out": left_out, **costs, **found._asdict()}


def in_process(task: Task, given: Inputs, repeats: int, folder: str) -> tuple[Any, Mapping[str, Any]]:
    """Measure a task in a process of its own; its values stay in a file until they are read.

    Raises:
        VsebenchError: it failed; ``what`` is the reason.
    """
    print(f"measuring {task.name}", file=sys.stderr, flush=True)
    file = f"{folder}/{task.name.replace('/', ' ')}.npz"
    asked = json.dumps([task.name, given.images, given.dim, repeats, file])
    command, env = [sys.executable, "-m", "benchmarks", "--child", asked], dict(os.environ)
    env |= {"NUMBA_CACHE_DIR": f"{file} kernels"} if task.once else {}  # an empty cache: everything is compiled
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    usage = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr.strip() or task.name
    if isinstance(usage, str):
        raise VsebenchError(usage.splitlines()[-1])
    return usage, np.load(file)


def run(names: Sequence[str], images: int, dim: int, repeats: int) -> dict[str, Any]:
    """Measure tasks; returns the machine, versions, size, a row by name, and what is left out with the reason."""
    packages = sorted({task.package for task in tasks("peers").values()} - {"", *PACKAGES})
    record: dict[str, Any] = {**surroundings([*PACKAGES, *packages]), "images": images, "dim": dim}
    rows, left_out = record["rows"], record["left_out"] = {}, dict[str, str]()
    for row in rows_of(names, images, dim, repeats):
        if reason := row.pop("left_out"):
            left_out[row["name"]] = reason
        else:
            rows[row["name"]] = row | {"version": record["versions"].get(find(row["name"]).package, "")}
    return record


class Compared(NamedTuple):
    """How many numbers were compared; their largest difference, of retrieved items of their scores; those too large."""

    numbers: int = 0
    largest: float = 0.0
    differences: tuple[str, ...] = ()


def compare(task: Task, given: Inputs, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Compared:
    """Compare the values of a peer with those of the library.

    Values of ours of one query each are restricted to the queries that the peer measured, and averaged if the peer
    has a mean. A difference of numbers above 1 is relative. Two values that are not numbers (NaN) are equal.
    Nothing is compared without a tolerance, or if neither has a value.
    """
    if task.tolerance is None or not (ours or theirs):
        return Compared()
    numbers, largest, wrong = 0, 0.0, []
    for name, value in theirs.items():
        if name not in ours:
            wrong.append(f"{name}: the library has no such value")
            continue
        a, b, direction = np.asarray(ours[name]), np.asarray(value), name.split()[-1]
        if a.ndim and a.shape != b.shape:
            a = a[given.queries(direction)]
        if a.ndim and not b.ndim:  # the published median rank is the floor of the median of ranks from 0, plus 1
            a = np.asarray(np.floor(np.median(a - 1)) + 1 if name.startswith("MedR") else a.mean())
        if a.shape != b.shape:
            raise ValueError(f"{name}: values of shape {a.shape}, peer {b.shape}")
        off = _of_scores(direction, given, a, b) if b.ndim == 2 else np.abs(a - b) / np.maximum(1, np.abs(b))
        off = np.where(np.isnan(a) & np.isnan(b), 0, off)
        numbers, largest = numbers + b.size, max(largest, float(np.max(off, initial=0)))
        for at in np.argwhere(~(np.atleast_1d(off) <= task.tolerance))[:5].tolist():
            where = tuple(at) if b.ndim else ()
            wrong.append(f"{name}{where or ''}: {a[where]}, peer {b[where]}")
    if not numbers:
        wrong.append("the peer has given no value")
    return Compared(numbers, largest, tuple(wrong))


def _of_scores(direction: str, given: Inputs, ours: Any, theirs: Any) -> Any:
    """(query, k) differences of the float64 scores of the items at the same place; 1 if a list repeats an item."""
    queries, gallery = given.sides(direction)
    off, listed = np.zeros(ours.shape), np.sort(theirs, axis=1)
    for q in np.flatnonzero((ours != theirs).any(axis=1)):
        off[q] = np.abs((gallery[ours[q]].astype(np.float64) - gallery[theirs[q]]) @ queries[q].astype(np.float64))
    off[(listed[:, 1:] == listed[:, :-1]).any(1)] = 1
    return off


def judge(goal: str, found: Mapping[str, float | None]) -> list[bool]:
    """Whether the parts of a goal are met, of those whose quantity is known."""
    met = []
    for part in filter(None, goal.split(", ")):
        sign, limit, unit = re.fullmatch(r"([<>]=) ([\d.]+) (.+)", part.replace("_", "")).groups()
        if (value := found.get(unit)) is not None:
            met.append((operator.le if sign == "<=" else operator.ge)(value, float(limit)))
    return met


def quantities(row: Mapping[str, Any], task: Task) -> dict[str, float | None]:
    """What goals are about, by the names of ``Task.goal``."""
    u, ours = row["usage"], row["ours"]
    found = {"s": u["wall"], "CPU s": u["cpu"], "MiB": u["mib"]}
    if task.floor is not None:
        found |= {task.unit: u["wall"] / u["floor"], f"CPU {task.unit}": u["cpu"] / u["floor_cpu"]}
    if ours is not None:
        found |= {"x": u["wall"] / ours["wall"], "CPU x": u["cpu"] / ours["cpu"]}
        found["x MiB"] = u["mib"] / ours["mib"] if u["mib"] is not None and ours["mib"] else None
    return found


def surroundings(packages: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The machine, and the versions of installed packages with the commit of this checkout."""
    model, versions = platform.processor() or platform.machine(), {}
    if Path("/proc/cpuinfo").is_file():
        found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
        model = found[1].strip() if found else model
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if commit and "vsebench" in versions:
        versions["vsebench"] += f" (commit {commit})"
    machine = {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(psutil.getloadavg()[0], 2),
        "available_gb": round(psutil.virtual_memory().available / 1e9, 1),
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    return {"machine": machine, "versions": versions}
