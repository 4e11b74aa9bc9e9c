"""The recipes of docs/extending.md work as printed, in the files that the page names.

The fences tagged ``python recipe=NAME file=PATH`` are put into that file of a copy of the packages: a new file, or the
end of a table of an existing one. Those without a file are the test, which pytest runs in the copy.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREEN = 60  # lines; a recipe that does not fit on one screen is too long
TABLE_ENDS = ("# isort: on\n", "    )\n}  # fmt: skip\n")  # of the tables of files that recipes add a line to
FENCE = re.compile(r"(?ms)^```(?:python|toml) recipe=(\S+)(?: file=(\S+))?\n(.*?)^```$")
Parts = list[tuple[str, str]]  # the file of a fence, empty for the test, and its code


def recipes(text: str) -> dict[str, Parts]:
    """The fences of every recipe, by name, in order."""
    found: dict[str, Parts] = {}
    for name, file, code in FENCE.findall(text):
        found.setdefault(name, []).append((file, code))
    return found


RECIPES = recipes((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))
# Tests of the repository that check a recipe as well, and the file that they name until it has the second definition.
CHECKED_BY = {
    "metric": ("tests/metrics/test_contract.py", "AP] or tested", "tests/oracle.py"),
    "graded-metric": ("tests/metrics/test_graded_names.py", "range_and_oracle and TopGain", "tests/oracle_graded.py"),
    "loss": ("tests/train_reference/test_losses.py", "squared_hinge", ""),
}


def test_recipes_are_found_in_order():
    text = "a\n```python recipe=x file=a/b.py\none\n```\n```python\nno\n```\n```python recipe=x\ntwo\n```\n"
    assert recipes(text) == {"x": [("a/b.py", "one\n"), ("", "two\n")]}
    known = {"metric", "graded-metric", "gains", "judgements", "published", "plugin", "loss", "option", "format"}
    assert set(RECIPES) == known


def put(code: str, path: Path) -> None:
    """Write code to a new file, or into an existing one: imports at the top, others at the end of its table."""
    path.parent.mkdir(exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    imports = "from __future__ import annotations\n"
    end = next((end for end in TABLE_ENDS if end in text), None)
    if path.name != "__init__.py" and text and code.startswith("from "):
        text = text.replace(imports, f"{imports}{code}", 1)
    elif end is not None:
        entry = code if end.startswith("#") else f"{code.rstrip().removesuffix('  # fmt: skip')},\n"
        text = text.replace(end, f"{entry}{end}", 1)
    else:
        text += code
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and the tests with all recipes, and a distribution with the plug-in."""
    folder = tmp_path_factory.mktemp("recipes")
    for package in ("vsebench", "train_reference", "tests"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    torch = importlib.util.find_spec("torch") is not None
    for name, parts in RECIPES.items():
        for file, code in parts if torch or name != "loss" else ():
            if file:
                put(code, folder / file)
    about = folder / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    declared = RECIPES["plugin"][0][1]
    (about / "entry_points.txt").write_text(declared.replace("project.entry-points.", "").replace('"', ""))
    return folder


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=240)


@pytest.mark.slow
def test_recipes_run(copy: Path) -> None:
    """The tests of the recipes, and those of the repository that check them, pass; without a second definition not."""
    files, chosen = [], ["recipe"]
    for name, parts in RECIPES.items():
        if any("import torch" in code for _, code in parts) and importlib.util.find_spec("torch") is None:
            continue
        assert sum(len(code.splitlines()) for _, code in parts) <= SCREEN
        test = "".join(code for file, code in parts if not file and not code.startswith("["))
        assert "def test_" in test, f"recipe '{name}' tests nothing"
        files.append(f"test_recipe_{name.replace('-', '_')}.py")
        here = f"import vsebench\n\nassert vsebench.__file__.startswith({str(copy)!r})\n"
        (copy / files[-1]).write_text(here + test, encoding="utf-8")
        tests, names, second = CHECKED_BY.get(name, ("", "", ""))
        if tests and second in {"", *(file for file, _ in parts)}:
            files.append(tests)
            chosen.append(f"({Path(tests).stem} and ({names}))")
    done = run(copy, *files, "-k", " or ".join(chosen))
    assert done.returncode == 0, done.stdout + done.stderr
    seconds = [checked for checked in CHECKED_BY.values() if checked[2]]
    for _, _, second in seconds:
        shutil.copy(ROOT / second, copy / second)
    words = " or ".join(f"({Path(tests).stem} and ({names}))" for tests, names, _ in seconds)
    done = run(copy, *(tests for tests, _, _ in seconds), "-k", words)
    assert done.returncode == 1, done.stdout + done.stderr
    for tests, _, second in seconds:
        assert second in done.stdout and f"FAILED {tests}" in done.stdout, done.stdout
