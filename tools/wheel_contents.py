"""``python -m tools.wheel_contents FILE.whl``: the wheel holds every file of the packages, and says what it needs."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import vsebench

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("vsebench", "train_reference")


def main(wheel: Path) -> None:
    """Every check; an error is a failure."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert wheel.name == f"vsebench-{vsebench.__version__}-py3-none-any.whl", wheel
    info = f"vsebench-{vsebench.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as opened:
        inside = set(opened.namelist())
        metadata = opened.read(f"{info}/METADATA").decode()
        assert "vsebench = vsebench.cli:main" in opened.read(f"{info}/entry_points.txt").decode()
    assert {name.split("/")[0] for name in inside} == {*PACKAGES, info}, "other folders"
    here = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert not here - inside, f"not in the wheel: {sorted(here - inside)}"
    assert {"vsebench/py.typed", "train_reference/py.typed", f"{info}/licenses/LICENSE"} <= inside
    extras = set(re.findall(r"(?m)^Provides-Extra: (.*)$", metadata))
    assert extras == set(project["optional-dependencies"]), extras
    assert f"Requires-Python: {project['requires-python']}" in metadata
    print(f"{wheel.name}: {len(inside)} files, all that are in the packages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
