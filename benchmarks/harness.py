"""Measuring time, CPU time and memory of a task, with the float32 product of the same size.

A task runs in a process of its own. Its memory is measured in the first run; then it is repeated, and the product is
timed before and after every repetition, because the load of a shared machine affects both.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20


@dataclass(frozen=True)
class Usage:
    """Time and memory of a task.

    Attributes:
        seconds: median wall time of a repetition.
        cpu: median CPU time of a repetition, all threads together.
        floor: median wall time of the product around the repetitions, 0 when it was not measured.
        floor_cpu: median CPU time of the product.
        ratio: median over repetitions of wall time over the mean of the two products around it.
        added_mib: peak resident memory beyond the bare interpreter with numpy and beyond the input vectors;
            None when unknown. It counts everything else: modules, kernels, buffers, copies.
        code_mib: the part of it that was resident before the task ran (modules).
        repeats: number of timed repetitions.
        detail: what the task returned in its last repetition.
    """

    seconds: float
    cpu: float
    floor: float = 0.0
    floor_cpu: float = 0.0
    ratio: float = 0.0
    added_mib: float | None = None
    code_mib: float = 0.0
    repeats: int = 1
    detail: dict[str, Any] = field(default_factory=dict)


class Floor:
    """F: one float32 product into an existing array.

    Args:
        images: (image, dim) float32.
        captions: (caption, dim) float32.
    """

    def __init__(self, images: npt.NDArray[Any], captions: npt.NDArray[Any]):
        self.images, self.captions = images, captions
        self.out = np.zeros((len(images), len(captions)), np.float32)
        self.measure()  # the first product also starts the threads of the BLAS

    def measure(self) -> tuple[float, float]:
        """Wall and CPU seconds of one product."""
        return timed(lambda: np.matmul(self.images, self.captions.T, out=self.out))[:2]


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of this process, and the result of ``work``."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return time.perf_counter() - wall, time.process_time() - cpu, found


def interleaved(work: Callable[[], Any], floor: Floor | None, repeats: int) -> Usage:
    """Repeat ``work``, with a product before and after every repetition."""
    walls, cpus, floors, ratios = [], [], [], []
    found = None
    before = floor.measure() if floor else (0.0, 0.0)
    for _ in range(repeats):
        wall, cpu, found = timed(work)
        walls.append(wall)
        cpus.append(cpu)
        if floor:
            after = floor.measure()
            floors += [before, after]
            ratios.append(2 * wall / (before[0] + after[0]))
            before = after
    return Usage(
        statistics.median(walls),
        statistics.median(cpus),
        statistics.median(f for f, _ in floors) if floors else 0.0,
        statistics.median(f for _, f in floors) if floors else 0.0,
        statistics.median(ratios) if ratios else 0.0,
        repeats=repeats,
        detail=found if isinstance(found, dict) else {},
    )


def resident_mib(peak: bool = False) -> float | None:
    """Resident memory of this process now, or its peak since ``forget_peak``; None where it cannot be read."""
    name = "VmHWM:" if peak else "VmRSS:"
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def forget_peak() -> None:
    """Reset the peak to the resident memory now, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def available_gb() -> float:
    """Memory that could be used without swapping, in units of 10**9 bytes; 0 where it is unknown."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 / 1e9
    except OSError:
        pass
    return 0.0


def added_mib(work: Callable[[], Any]) -> float | None:
    """Peak resident memory of one run of ``work`` above the resident memory before it; None where it is unknown."""
    before = resident_mib()
    forget_peak()
    work()
    peak = resident_mib(peak=True)
    return None if before is None or peak is None else peak - before


def child(module: str, *arguments: str) -> Any:
    """The last line that a module prints in a fresh process, parsed as JSON.

    Raises:
        RuntimeError: the process failed; the message is the end of its error output.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:4])} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def in_child(task: str, **options: Any) -> Usage:
    """Run a task of ``benchmarks.tasks`` in a fresh process; raises RuntimeError when it fails."""
    return Usage(**child("tasks", task, json.dumps(options)))


def report_usage(usage: Usage) -> None:
    """Print the usage for ``child``."""
    print(json.dumps(asdict(usage)))


def of_command(command: Sequence[str]) -> Usage:
    """Wall time, CPU time and peak memory (all of it, in ``added_mib``) of a command; RuntimeError when it fails."""
    # From a small process: the peak that the system reports for a child is never below that of its parent.
    return in_child("command", command=list(command))


def command_usage(command: Sequence[str]) -> Usage:
    """The usage of a command that is run from this process; RuntimeError when it fails."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {errors.read().strip()[-2000:]}")
    per_mib = MIB if sys.platform == "darwin" else 1024
    return Usage(wall, used.ru_utime + used.ru_stime, added_mib=used.ru_maxrss / per_mib)


def machine() -> dict[str, Any]:
    """Cores, CPU, memory, BLAS and versions."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": model,
        "cores": cores,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "available_gb": round(available_gb(), 1),
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
