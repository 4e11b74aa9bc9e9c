"""Search for inputs that break a reader, guided by coverage: ``python -m tests.fuzz --target npz --seconds 60``.

A process a target runs atheris. It begins with valid inputs that are made here and the cases of ``cases/TARGET``, and
goes on after a fault; every kind of fault is written to the folder of faults once, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

CASES = Path(__file__).parent / "cases"
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vsebench", "train_reference")  # what is instrumented, but for their kernels
TIMEOUT = 60  # seconds after which an input ends its process
MEMORY = 6144  # MiB, likewise


def main() -> int:
    """Run what the command line asks for; 1 when a fault was found, 2 when there is nothing to run."""
    given = _arguments()
    if given.inside:
        _search(given.target[0], given.seconds, given.corpus, given.faults)
    from tests.fuzz.targets import TARGETS

    if given.list:
        print("\n".join(f"{target.name:16} {target.content}" for target in TARGETS.values()))
        return 0
    names = list(TARGETS) if given.target == ["all"] else given.target
    if unknown := [name for name in names if name not in TARGETS]:
        print(f"unknown target '{unknown[0]}'\n  fix: give one of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    if given.replay:
        for file in given.replay:
            TARGETS[names[0]](file.read_bytes())
            print(f"{file}: as it should be")
        return 0
    if not importlib.util.find_spec("atheris"):
        version = ".".join(map(str, sys.version_info[:2]))
        fix = f"pip install --group fuzz; it has wheels for Linux, and maybe none for Python {version}"
        print(f"atheris is not installed\n  fix: {fix}", file=sys.stderr)
        return 2
    found = sum(_run(TARGETS[name], given.seconds, given.corpus, given.faults) for name in names)
    return min(found, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", default="all", type=lambda text: text.split(","), help="names, or all")
    parser.add_argument("--seconds", type=int, default=60, help="for every target")
    parser.add_argument("--corpus", type=Path, help="folder in which inputs that reach new code are kept")
    parser.add_argument("--faults", type=Path, default=ROOT / "build" / "fuzz", help="folder for inputs that break")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="run these inputs only")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(target: Target, seconds: int, corpus: Path | None, faults: Path) -> int:
    """Search in a process of its own; the number of new files with faults."""
    if target.missing is not None:
        print(f"{target.name:16} left out: {target.missing} is not installed")
        return 0
    faults.mkdir(parents=True, exist_ok=True)
    before, start = set(faults.iterdir()), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        inputs = (corpus or Path(folder)) / target.name
        inputs.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.fuzz", "--inside", "--target", target.name, "--seconds", str(seconds)]
        command += ["--corpus", str(inputs), "--faults", str(faults)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    hits = re.findall(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    edges = re.findall(r" cov: (\d+)", done.stderr)
    new = sorted(path for path in set(faults.glob(f"{target.name}-*")) - before if path.suffix != ".txt")
    reached = f"{int(edges[-1]) if edges else 0:6,} edges"
    print(
        f"{target.name:16} {int(hits[-1]) if hits else 0:9,} inputs {reached} {len(new):3} faults"
        f" {time.monotonic() - start:5.0f} s", flush=True,
    )  # fmt: skip
    for path in new:
        print(f"  python -m tests.fuzz --target {target.name} --replay {path}")
    if done.returncode and not new:
        print(done.stderr[-3000:], file=sys.stderr)
    return len(new) or int(done.returncode != 0)


def _search(name: str, seconds: int, corpus: Path, faults: Path) -> None:
    """Search in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES), exclude=_kernels()):
        target = importlib.import_module("tests.fuzz.targets").TARGETS[name]
        seeds = target.seeds()
        for seed in [*seeds, *(path.read_bytes() for path in sorted((CASES / name).glob("*")))]:
            (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
        known: set[str] = set()

        def one(data: bytes) -> None:
            try:
                target(data)
            except Exception as error:
                _keep(name, data, error, faults, known)

        options = [
            f"-max_total_time={seconds}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", "-print_final_stats=1",
            f"-artifact_prefix={faults / name}-", f"-max_len={max(4096, 2 * max(map(len, seeds)))}",
        ]  # fmt: skip
        atheris.Setup([sys.argv[0], *options, str(corpus)], one)
        atheris.Fuzz()


def _kernels() -> list[str]:
    """The modules with kernels, which numba could not compile once they are instrumented."""
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    found = (path for path in files if "njit(" in path.read_text(encoding="utf-8"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]


def _keep(name: str, data: bytes, error: Exception, faults: Path, known: set[str]) -> None:
    """Write an input that broke its reader, unless its fault is known: the same error at the same line."""
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    own = [f for f in frames if "/vsebench/" in f.filename or "/train_reference/" in f.filename] or frames
    place = f"{type(cause).__name__} {own[-1].filename}:{own[-1].lineno}"
    if place in known:
        return
    known.add(place)
    path = faults / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    command = f"python -m tests.fuzz --target {name} --replay {path}"
    text = "".join(traceback.format_exception(error))
    path.with_name(path.name + ".txt").write_text(f"{command}\n\n{place}\n{text}", encoding="utf-8", errors="replace")


if __name__ == "__main__":
    sys.exit(main())
