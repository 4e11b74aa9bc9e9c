"""Prepares a checkout for a release: checks the tag, and makes the links of the README work on a package page.

``python -m tools.release https://HOST/OWNER/NAME v0.1.0`` changes README.md and pyproject.toml in place; the workflow
``publish`` runs it before it builds. Links of the README are relative in the repository, so that they lead to the pages
of the same commit; a package page has no such pages, so those of a release are links to its tag. A picture is linked as
its bytes (``raw``), as the page of a file (``blob``) is none.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from vsebench import __version__

UNRELEASED = "There is no release on PyPI yet"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def absolute(text: str, repository: str, tag: str) -> str:
    """A page of the root of the repository with its relative links as links to the files of a tag."""
    return LINK.sub(lambda m: f"{m[1]}{m[2]}({repository}/{'raw' if m[1] else 'blob'}/{tag}/{m[3]})", text)


def prepare(root: Path, repository: str, tag: str) -> None:
    """Change the files of a checkout; ends the program with a sentence where the tag is not of this version."""
    if tag != f"v{__version__}":
        sys.exit(f"the tag is {tag}, and the version is {__version__}: tag the commit v{__version__}")
    dated = rf"(?m)^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(dated, (root / "CHANGELOG.md").read_text("utf-8")):
        sys.exit(f"CHANGELOG.md has no date of {__version__}: replace 'Unreleased' by it")
    readme, project = root / "README.md", root / "pyproject.toml"
    page = readme.read_text("utf-8")
    if UNRELEASED in page:
        sys.exit(f"README.md says '{UNRELEASED}': replace it by the command that installs the release")
    readme.write_text(absolute(page, repository, tag), "utf-8")
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Leaderboards": "leaderboards/README.md"}
    urls = [f'{name} = "{repository}/blob/{tag}/{path}"' for name, path in pages.items()]
    table = "\n".join(["[project.urls]", f'Repository = "{repository}"', *urls])
    text = project.read_text("utf-8")
    project.write_text(text.replace("[project.scripts]", f"{table}\n\n[project.scripts]", 1), "utf-8")


if __name__ == "__main__":
    prepare(Path(__file__).resolve().parents[1], sys.argv[1].rstrip("/"), sys.argv[2])
