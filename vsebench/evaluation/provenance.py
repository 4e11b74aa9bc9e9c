"""The provenance of a report: versions, machine, inputs and time. Nothing here moves a digit."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import count_of
from ..files.regular import sha256_of

if TYPE_CHECKING:
    from ..results.report import Report

PACKAGES = ("numpy", "scipy", "numba", "eccv-caption", "pycocoevalcap")


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def attach(
    report: Report, started: datetime.datetime, threads: int | None, sources: Sequence[Path], backend: str = "numpy",
    engine: str = "local", settings: Mapping[str, Any] | None = None,
) -> Report:  # fmt: skip
    """The report with its provenance: files that were read, the back-end that ranked them, where, and the options.

    Args:
        report: what is in its provenance already, ``of_workers``, takes the place of the back-end of this process.
        started, threads, sources, backend, engine, settings: of the evaluation.
    """
    from ..numeric import compiled
    from ..numeric.parallel import default_threads
    from ..rank import backends

    ranked, packages = dict(report.provenance), [*PACKAGES]
    if not ranked:
        used = backends.chosen(backend)[0]
        ranked = {"backend": used, **backends.about_device(used)}
        packages += backends.BACKENDS[used.partition(":")[0]].packages
    provenance = {
        "vsebench": __version__,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((now() - started).total_seconds(), 3),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": versions(tuple(packages)),
        "threads": threads or default_threads(),
        **ranked,
        "engine": engine,
        "settings": dict(settings or {}),
        "inputs": [describe(p) for p in sources if p.is_file()],
    }
    return dataclasses.replace(report, notes=(*report.notes, *compiled.notes()), provenance=provenance)


def of_workers(requested: str, used: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """For the provenance: the back-ends that other processes ranked with, and how many of them with each device.

    Args:
        requested: the name that the user gave, for results that were computed before.
        used: of every worker, its back-end and its device in words.
    """
    counted = sorted(Counter(used).items())
    named = ", ".join(dict.fromkeys(backend for (backend, _), _ in counted))
    workers = [
        {"workers": number, "backend": backend, **({"device": device} if device else {})}
        for (backend, device), number in counted
    ]
    return {"backend": named or requested, "workers": workers}


def ranked_by(facts: Mapping[str, Any]) -> str:
    """``of_workers`` in a sentence; empty for another provenance, which anyone may have written."""
    workers = facts.get("workers")
    parts = []
    for one in workers if isinstance(workers, list) else []:
        if isinstance(one, dict) and isinstance(number := one.get("workers"), int):
            device = f" ({one['device']})" if one.get("device") else ""
            parts.append(f"{one.get('backend')} on {count_of(number, 'worker')}{device}")
    return "; ".join(parts)


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
