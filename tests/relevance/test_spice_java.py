"""Which Java and which jars are taken, what is refused, and how much memory Java is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.relevance.spice import build as spice_build
from vsebench.text import java as spice_java

posix = pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("VSEBENCH_JAVA", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(spice_java, "package_file", lambda package, relative: None)
    monkeypatch.setattr(
        "shutil.which", lambda name: str(found) if (found := tmp_path / "bin" / name).exists() else None
    )
    return tmp_path


def program(path: Path, script: str) -> Path:
    """A shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def java(home: Path, version: str, *, library: bool = True, place: str = "lib/server") -> Path:
    """Something that says it is a Java."""
    major = "1.8" if version.startswith("1.8") else version.split(".")[0]
    said = f"    java.home = {home}\n    java.version = {version}\n    java.specification.version = {major}"
    if library:
        (home / place).mkdir(parents=True)
        (home / place / spice_java._LIBRARY).write_bytes(b"")
    return program(home / "bin" / "java", f"cat >&2 <<'X'\nProperty settings:\n{said}\nX")


@posix
@pytest.mark.parametrize(
    ("version", "major", "place"),
    [("1.8.0_402", 8, "jre/lib/amd64/server"), ("11.0.2", 11, "lib/server"), ("25.0.2", 25, "lib/server")],
)
def test_a_java_folder_and_its_program_are_understood(bare, version, major, place):
    home = bare / "a java"
    path = java(home, version, place=place)
    for asked in (home, path):
        found = spice_java.find_java(asked)
        assert (found.major, found.version, found.home) == (major, version, home)
        assert found.library == home / place / spice_java._LIBRARY


@posix
def test_the_order_in_which_java_is_looked_for(bare, monkeypatch):
    homes = {name: bare / name for name in ("asked", "variable", "package", "home")}
    for home in homes.values():
        java(home, "17.0.1")
    java_on_path = java(bare / "path", "21.0.1")
    (bare / "bin" / "java").symlink_to(java_on_path)
    assert spice_java.find_java().major == 21
    monkeypatch.setenv("JAVA_HOME", str(homes["home"]))
    assert spice_java.find_java().home == homes["home"]
    monkeypatch.setattr(spice_java, "package_file", lambda package, relative: homes["package"] / "bin" / "java")
    assert spice_java.find_java().home == homes["package"]
    monkeypatch.setenv("VSEBENCH_JAVA", str(homes["variable"]))
    assert spice_java.find_java().home == homes["variable"]
    assert spice_java.find_java(str(homes["asked"])).home == homes["asked"]


def test_no_java_names_the_command(refuses):
    assert refuses(MissingPackage, spice_java.find_java).fix is not None


@posix
@pytest.mark.parametrize("version", ["7.0.1", "26.0.1"])
def test_a_java_too_old_or_new_is_refused(bare, version, refuses):
    java(bare / "java", version)
    refuses(MissingPackage, spice_java.find_java, bare / "java")


@posix
def test_things_that_are_no_java(bare, monkeypatch, refuses):
    refuses(UsageError, spice_java.find_java, bare / "nowhere")
    monkeypatch.setenv("VSEBENCH_JAVA", str(bare / "nowhere"))
    refuses(UsageError, spice_java.find_java)
    program(bare / "other", "echo hello")
    (bare / "text").write_text("no program")
    java(bare / "half", "17.0.1", library=False)
    for name in ("other", "text", "half"):
        refuses(MissingPackage, spice_java.find_java, bare / name)


def test_the_heap_follows_the_free_memory(monkeypatch, refuses):
    gib = 1 << 30
    for free, threads, heap in ((100 * gib, 2, 3 * gib), (100 * gib, 8, 6 * gib), (4 * gib, 2, 2 * gib), (gib, 2, gib)):
        monkeypatch.setattr(spice_java, "free_memory", lambda free=free: free)
        assert spice_java.choose_heap(threads=threads) == heap
    assert spice_java.choose_heap("1.5G") == 3 * gib // 2
    refuses(UsageError, spice_java.choose_heap, "lots")
    refuses(UsageError, spice_java.choose_heap, "100M")


def test_the_jars(bare, monkeypatch, refuses, pinned):
    monkeypatch.setenv("HOME", str(bare / "home"))
    monkeypatch.delenv("VSEBENCH_SPICE_JARS", raising=False)
    package, names = bare / "site/spice", (spice_build.CODE, spice_build.MODELS)
    monkeypatch.setattr(spice_build, "package_file", lambda name, relative: package / "spice-1.0.jar")
    maven = bare / "home/.m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0"
    with pytest.raises(MissingPackage) as caught:
        spice_build.class_path()
    pinned(str(caught.value).replace(str(bare), "HERE"))
    for folder in (maven, package / "lib"):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).touch()
        found = spice_build.class_path()
        assert found == [str(path) for path in (package / "spice-1.0.jar", *(folder / name for name in names))]
    (bare / "mine").mkdir()
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(bare / "mine"))
    refuses(BadInput, spice_build.class_path)
    (package / "lib" / "Meteor-1.5.jar").touch()
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", f"{bare / 'mine'}:{maven}")
    assert spice_build.class_path()[1:] == [str(package / "lib" / "Meteor-1.5.jar"), *(str(maven / n) for n in names)]
    monkeypatch.setattr(spice_build, "package_file", lambda name, relative: None)
    refuses(MissingPackage, spice_build.class_path)
