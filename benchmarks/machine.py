"""The machine: time and memory of this process and of commands, cores, versions."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
POLL = 0.01  # seconds between two looks at the memory of a command


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of this process and of the commands that it has run, and the result of ``work``."""
    wall, cpu = time.perf_counter(), _cpu()
    found = work()
    used = _cpu() - cpu
    return time.perf_counter() - wall, used, found


def _cpu() -> float:
    """CPU seconds of this process and of the commands that it has run."""
    of_commands = os.times()[2:4]
    return time.process_time() + sum(of_commands)


def _of_proc(name: str, file: str = "/proc/self/status") -> float:
    """A size in MiB of a file of ``/proc``; NaN where it cannot be read."""
    try:
        lines = Path(file).read_text().splitlines()
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), float("nan"))
    except OSError:
        return float("nan")


def added_mib(work: Callable[[], Any]) -> tuple[float | None, Any]:
    """Peak resident memory of ``work`` above that before it in MiB, None where it is unknown; and its result."""
    before = _of_proc("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    except OSError:
        before = float("nan")
    found = work()
    added = _of_proc("VmHWM") - before
    return (added if added == added else None), found


def available_gb() -> float:
    """Memory that could be used without swapping, in units of 10**9 bytes; 0 where it is unknown."""
    found = _of_proc("MemAvailable", "/proc/meminfo") * 2**20 / 1e9
    return found if found == found else 0.0


def limit_memory(gigabytes: float) -> None:
    """Make allocations beyond it fail in this process, without affecting others."""
    import resource

    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def run_command(*arguments: str) -> float:
    """Run ``vsebench`` with arguments; its peak memory in MiB, without the pages of files that it maps.

    Raises:
        RuntimeError: it failed; the message is the end of its error output.
    """
    command, peak = [sys.executable, "-m", "vsebench", *arguments], 0.0
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT)
        while child.poll() is None:
            own = sum(_of_proc(name, f"/proc/{child.pid}/status") for name in ("RssAnon", "RssShmem"))
            peak = max(peak, own)  # of a process that has ended it is NaN, which is not larger
            time.sleep(POLL)
        errors.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {errors.read().strip()[-2000:]}")
    return peak


def described() -> dict[str, Any]:
    """Cores, CPU, memory, BLAS and versions."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "available_gb": round(available_gb(), 1),
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def versions(packages: list[str]) -> Mapping[str, str]:
    """The versions of the packages that are installed, with the commit of this checkout."""
    out = {}
    for name in packages:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""
    if commit and "vsebench" in out:
        out["vsebench"] += f" (commit {commit})"
    return out
