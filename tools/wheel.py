"""Checks of a built wheel; an error is a failure.

``python -m tools.wheel FILE.whl``: it holds every file of the packages, and says what it needs.
``python tools/wheel.py`` in an environment with the wheel alone: commands run, and a file is evaluated, without extras.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import vsebench

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("vsebench", "train_reference")


def contents(wheel: Path) -> None:
    """The files and the metadata of a wheel."""
    project, name = (ROOT / "pyproject.toml").read_text(encoding="utf-8"), f"vsebench-{vsebench.__version__}"
    assert wheel.name == f"{name}-py3-none-any.whl", wheel
    info = f"{name}.dist-info"
    with zipfile.ZipFile(wheel) as opened:
        inside = set(opened.namelist())
        metadata = opened.read(f"{info}/METADATA").decode()
        assert "vsebench = vsebench.cli:main" in opened.read(f"{info}/entry_points.txt").decode()
    assert {name.split("/")[0] for name in inside} == {*PACKAGES, info}, "other folders"
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    here = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert not here - inside, f"not in the wheel: {sorted(here - inside)}"
    assert {"vsebench/py.typed", "train_reference/py.typed", f"{info}/licenses/LICENSE"} <= inside
    table = project.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    extras = set(re.findall(r"(?m)^Provides-Extra: (.*)$", metadata))
    assert extras == set(re.findall(r"(?m)^([\w-]+) = ", table)), extras
    assert f"Requires-Python: {re.search('requires-python = .(.*).', project)[1]}" in metadata
    print(f"{wheel.name}: {len(inside)} files, all that are in the packages")


def installed() -> None:
    """The commands of the installed package, away from the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rng = np.random.default_rng(0)
        images, of_text = rng.normal(size=(20, 8)), np.repeat(np.arange(20), 5)
        texts = images[of_text] + rng.normal(size=(100, 8))
        np.savez("small.npz", image_embeddings=images, text_embeddings=texts, image_of_text=of_text)
        for words in ("--help", "metrics", "eval small.npz --split custom", "eval small.npz --split custom --json"):
            command = [Path(sys.executable).with_name("vsebench"), *words.split()]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            assert printed, words
        assert json.loads(printed)["results"], "a report without results"
        subprocess.run([sys.executable, "-c", "import train_reference"], check=True)
    print(vsebench.__version__, "from", vsebench.__file__)


if __name__ == "__main__":
    contents(Path(sys.argv[1])) if len(sys.argv) > 1 else installed()
