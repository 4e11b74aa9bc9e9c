"""Facts of the project that are stated in several places agree. ``make wheel`` checks what the wheel holds."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import vsebench
from tools import release
from vsebench import errors
from vsebench.cli import doctor

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCE: Any = errors._source  # before the fixture of all tests replaces it
EXTRAS = set(PROJECT["project"]["optional-dependencies"])


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", r)[0] for r in requirements}


def test_the_extra_all():
    """It has every extra but gpu, whose faiss and that of cpu exclude each other."""
    (everything,) = PROJECT["project"]["optional-dependencies"]["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == EXTRAS - {"all", "gpu"}


def test_the_extras_are_explained_in_one_table():
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| .* \| (.*) \|$", page))
    assert set(rows) == EXTRAS
    for extra, requirements in PROJECT["project"]["optional-dependencies"].items():
        if extra != "all":
            assert set(re.findall(r"`([^`]+)`", rows[extra])) == names(requirements) - {"tomli"}, extra
    pinned = [
        r for group in PROJECT["project"]["optional-dependencies"].values() for r in group if re.match(r"[\w.-]+==", r)
    ]
    assert {name for name in names(pinned) if f"`{name}`" in page.split("## Extras")[1]} == names(pinned)


def test_classifiers_are_what_ci_runs():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (jobs,) = re.findall(r"(?m)^        os: (\[.*\])\n        python: (\[.*\])$", text)
    runs_on, versions_run = (set(re.findall(r"[\w.-]+", words)) for words in jobs)
    systems = {"ubuntu": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}
    stated = PROJECT["project"]["classifiers"]
    versions = {c.rpartition(" ")[2] for c in stated if re.search(r":: 3\.\d+$", c)}
    assert versions == versions_run
    assert {c.partition(" :: ")[2] for c in stated if c.startswith("Operating System")} == {
        systems[system.removesuffix("-latest")] for system in runs_on
    }
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    ends = [min(versions, key=lambda v: int(v[2:])), max(versions, key=lambda v: int(v[2:]))]
    assert len(re.findall(rf"(?m)^\| \w+, Python {ends[0]} to {ends[1]} \|", page)) == len(runs_on)
    assert min(versions, key=lambda v: int(v[2:])) == PROJECT["project"]["requires-python"].removeprefix(">=")


def test_the_readme_of_a_release_has_links_that_work_elsewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = release.absolute(text, "https://example.org/us/vsebench", "v1.2.3")
    links = re.findall(r"\]\(([^)\s]+)\)", made)
    root = "https://example.org/us/vsebench/blob/v1.2.3/"
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", made)
    assert pictures == ["https://example.org/us/vsebench/raw/v1.2.3/docs/static/report_page.webp"]
    assert len(links) == len(re.findall(r"\]\(([^)\s]+)\)", text)) > 20
    for link in links:
        assert link.startswith(("https://", "http://", "#")), link
        if link.startswith(root):
            assert (ROOT / link.removeprefix(root).partition("#")[0]).exists(), link
    assert f"{root}docs/report.md#the-page" in links
    assert release.absolute(made, "https://example.org/us/vsebench", "v1.2.3") == made


def test_a_release_is_prepared(tmp_path, pinned):
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"## [{vsebench.__version__}] - 2026-12-01\n", encoding="utf-8")
    readme = tmp_path / "README.md"
    if release.UNRELEASED in readme.read_text(encoding="utf-8"):
        with pytest.raises(SystemExit) as caught:
            release.prepare(tmp_path, "https://example.org/us/vsebench", f"v{vsebench.__version__}")
        pinned(str(caught.value).replace(vsebench.__version__, "VERSION"))
        readme.write_text(readme.read_text(encoding="utf-8").replace(release.UNRELEASED, ""), encoding="utf-8")
    release.prepare(tmp_path, "https://example.org/us/vsebench", f"v{vsebench.__version__}")
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Changelog"] == f"https://example.org/us/vsebench/blob/v{vsebench.__version__}/CHANGELOG.md"
    assert project["optional-dependencies"] == PROJECT["project"]["optional-dependencies"]
    with pytest.raises(SystemExit) as caught:
        release.prepare(tmp_path, "https://example.org/us/vsebench", "v9.9.9")
    pinned(str(caught.value).replace(vsebench.__version__, "VERSION"))
    (tmp_path / "CHANGELOG.md").write_text(f"## [{vsebench.__version__}] - Unreleased\n", encoding="utf-8")
    with pytest.raises(SystemExit) as caught:
        release.prepare(tmp_path, "https://example.org/us/vsebench", f"v{vsebench.__version__}")
    pinned(str(caught.value).replace(vsebench.__version__, "VERSION"))


def test_every_optional_package_is_imported():
    """An extra for code that does not exist yet would be a promise."""
    modules = {"eccv-caption": "eccv_caption", "vl-convert-python": "vl_convert", "POT": "ot", "jpype1": "jpype"}
    modules |= {"sentence-transformers": "sentence_transformers", "Pillow": "PIL", "open_clip_torch": "open_clip"}
    modules |= {"faiss-cpu": "faiss", "faiss-gpu": "faiss"}
    sources = "".join(p.read_text() for top in ("vsebench", "train_reference") for p in (ROOT / top).rglob("*.py"))
    for extra, requirements in PROJECT["project"]["optional-dependencies"].items():
        for name in names(requirements) - {"vsebench"}:
            module = modules.get(name, name)
            assert re.search(rf"\b(import|from) {module}\b|[\"']{module}[\"']", sources), f"{name} of extra {extra}"


def test_doctor_lists_every_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    in_extras = {name for requirements in extras.values() for name in names(requirements)} - {"vsebench"}
    in_extras -= {"tomli"}  # part of Python 3.11 and newer
    known = dict(doctor.OPTIONAL)
    monkeypatch.setitem(doctor.OPTIONAL, "no-such-package", ("report", "figures"))
    listed = {finding.name: finding for finding in doctor.examine()}
    assert in_extras - {"faiss-cpu", "faiss-gpu"} | {"faiss"} <= set(listed)
    for name, (extra, _) in known.items():
        assert name in names(extras[extra])
    absent = listed["no-such-package"]
    assert (absent.state, absent.detail) == ("absent", "not installed (figures)")
    assert absent.fix == "pip install 'vsebench[report]'"


def test_one_version():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "vsebench/__init__.py"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^version: (.*)$", citation) == [vsebench.__version__]


def test_changelog_lists_this_version_and_its_numbers():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"(?m)^## ", changelog)[1:]
    (own,) = [v for v in versions if v.startswith(f"[{vsebench.__version__}]")]
    assert own is versions[0] or versions[0].startswith("[Unreleased]")
    for version in versions:
        assert "\n### Numbers\n" in version, f"no Numbers section under '{version.splitlines()[0]}'"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'vsebench[text]'"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "pip install -e '/a b[text]'"),
        ({"url": "file:///dist/vsebench.whl", "archive_info": {}}, "pip install '/dist/vsebench.whl[text]'"),
        (
            {"url": "https://host/vsebench.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            "pip install 'vsebench[text] @ git+https://host/vsebench.git'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
    monkeypatch.setattr(errors, "_source", SOURCE.__wrapped__)
    assert errors.install("text") == command


def test_every_extra_that_an_error_message_names_exists():
    named = {
        extra
        for package in ("vsebench", "train_reference")
        for path in (ROOT / package).rglob("*.py")
        for found in re.findall(r"\binstall\(\W([a-z]+)\W\)|vsebench\[([a-z, ]+)\]", path.read_text(encoding="utf-8"))
        for extra in re.split(r", *", "".join(found))
    }
    assert named - EXTRAS == set()
    assert "train" in named
