"""The provenance of a report: versions, machine, inputs and time. Nothing here moves a digit."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..data.regular import sha256_of

if TYPE_CHECKING:
    from ..report.report import Report

PACKAGES = ("numpy", "scipy", "numba", "eccv-caption", "pycocoevalcap")


@dataclasses.dataclass(frozen=True)
class Clock:
    """When an evaluation began."""

    at: str
    started: float


def start() -> Clock:
    """The time now, in UTC."""
    return Clock(datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), time.perf_counter())


def attach(
    report: Report, clock: Clock, threads: int | None, sources: Sequence[Path], backend: str = "numpy",
    engine: str = "local", settings: Mapping[str, Any] | None = None,
) -> Report:  # fmt: skip
    """The report with its provenance: files that were read, the back-end that ranked them, where, and the options."""
    from ..numeric import compiled
    from ..numeric.parallel import default_threads
    from ..rank import backends

    used = backends.chosen(backend)[0]
    provenance = {
        "vsebench": __version__,
        "started": clock.at,
        "seconds": round(time.perf_counter() - clock.started, 3),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": versions((*PACKAGES, *backends.BACKENDS[used.partition(":")[0]].packages)),
        "threads": threads or default_threads(),
        "backend": used,
        **backends.about_device(used),
        "engine": engine,
        "settings": dict(settings or {}),
        "inputs": [describe(p) for p in sources if p.is_file()],
    }
    return dataclasses.replace(report, notes=(*report.notes, *compiled.notes()), provenance=provenance)


def with_command(report: Report) -> Report:
    """The report with the command line in its provenance, for reports of the command line."""
    return dataclasses.replace(report, provenance={"command": command_line(), **report.provenance})


def command_line() -> list[str]:
    """The command as typed, without the folder of the program."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Installed versions; absent packages are left out."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(path: Path) -> dict[str, Any]:
    """Name, size and sha256 of an input file."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
