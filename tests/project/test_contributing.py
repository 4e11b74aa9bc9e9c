"""The recipes of CONTRIBUTING.md work as they are printed.

The fences tagged ``python recipe=NAME`` are put one after the other into a file, and pytest runs it.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREEN = 60  # lines; a recipe that does not fit on one screen is too long


def recipes(text: str) -> dict[str, str]:
    """Code of every recipe, by name, its fences joined in order."""
    found: dict[str, list[str]] = {}
    for name, code in re.findall(r"(?ms)^```python recipe=(\S+)\n(.*?)^```$", text):
        found.setdefault(name, []).append(code)
    return {name: "\n".join(parts) for name, parts in found.items()}


RECIPES = recipes((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def test_recipes_are_found_and_joined():
    text = "a\n```python recipe=x\none\n```\n```python\nno\n```\n```python recipe=x\ntwo\n```\n"
    assert recipes(text) == {"x": "one\n\ntwo\n"}
    known = {"metric", "graded-metric", "gains", "judgements", "published", "plugin", "loss", "option", "format"}
    assert set(RECIPES) == known


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_recipe_runs(name, tmp_path):
    code = RECIPES[name]
    if "import torch" in code and importlib.util.find_spec("torch") is None:
        pytest.skip(f"recipe '{name}' needs torch, which is not installed (extra: train)")
    assert len(code.splitlines()) <= SCREEN
    assert "def test_" in code, f"recipe '{name}' tests nothing"
    file, settings = tmp_path / f"test_recipe_{name.replace('-', '_')}.py", tmp_path / "pytest.ini"
    file.write_text(code, encoding="utf-8")
    settings.write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(settings), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
