"""Finding the jars and fetching missing ones: by Maven, from a server that stops, and when both fail."""

from __future__ import annotations

import hashlib
import http.server
import os
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from vsebench.errors import BadInput, DiskError, MissingPackage
from vsebench.relevance.spice.parser import install as spice_install

CODE, MODELS = spice_install.CODE, spice_install.MODELS
posix = pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No Maven and no jars: an empty home, path and cache."""
    for name in ("VSEBENCH_SPICE_JARS", "VSEBENCH_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
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


@pytest.fixture
def jars(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with fakes of both CoreNLP jars, whose checksums are accepted; pycocoevalcap likewise."""
    folder = bare / "right"
    folder.mkdir()
    names = [CODE, MODELS, "spice-1.0.jar", "Meteor-1.5.jar", "SceneGraphParser-1.0.jar"]
    for name in names:
        jar(folder / name, name)
        monkeypatch.setitem(spice_install.SHA256, name, hashlib.sha256((folder / name).read_bytes()).hexdigest())
    for name in (CODE, MODELS):
        monkeypatch.setitem(spice_install.CONTENT, name, spice_install.content_sha256(folder / name))
    package = bare / "site" / "spice"
    (package / "lib").mkdir(parents=True)
    (package / "spice-1.0.jar").write_bytes((folder / "spice-1.0.jar").read_bytes())
    for name in names[3:]:
        (package / "lib" / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setattr(spice_install, "package_file", lambda name, relative: package / "spice-1.0.jar")
    return folder


def jar(path: Path, content: str, year: int = 2016) -> Path:
    """A small jar."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a/B.class", (year, 1, 1, 0, 0, 0)), content)
        archive.writestr("META-INF/MANIFEST.MF", str(year))
    return path


def copy(source: Path, target: Path) -> Path:
    """Copy both CoreNLP jars."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (CODE, MODELS):
        (target / name).write_bytes((source / name).read_bytes())
    return target


def test_installed_jars_are_found(bare, jars, monkeypatch):
    maven = bare / "home/.m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0"
    assert spice_install.find() is None
    for place in (spice_install.tools_folder(), maven, bare / "site/spice/lib"):
        copy(jars, place)
        assert spice_install.find() == place
    copy(jars, bare / "mine")
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", os.pathsep.join(map(str, (bare / "none", bare / "mine"))))
    assert spice_install.find() == bare / "mine"
    found = spice_install.class_path()
    assert [Path(p).name for p in found] == [
        "spice-1.0.jar", "Meteor-1.5.jar", "SceneGraphParser-1.0.jar", CODE, MODELS]  # fmt: skip
    assert found[-1] == str(bare / "mine" / MODELS)


def test_a_folder_without_both_jars(bare, jars, monkeypatch):
    (copy(jars, bare / "mine") / MODELS).unlink()
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(bare / "mine"))
    with pytest.raises(BadInput, match=r"VSEBENCH_SPICE_JARS is '.*mine', which does not have both"):
        spice_install.find()


def test_a_jar_packed_at_another_time_is_the_same(bare, jars, monkeypatch):
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(copy(jars, bare / "mine")))
    before = (bare / "mine" / CODE).read_bytes()
    assert jar(bare / "mine" / CODE, CODE, 2020).read_bytes() != before
    spice_install.class_path()


def test_another_or_a_damaged_jar_is_refused(bare, jars, monkeypatch):
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(copy(jars, bare / "mine")))
    jar(bare / "mine" / MODELS, "CoreNLP 4")
    with pytest.raises(BadInput, match="the jar is another version") as caught:
        spice_install.class_path()
    assert caught.value.where == str(bare / "mine" / MODELS)
    (bare / "mine" / MODELS).write_bytes(b"half a jar")
    with pytest.raises(BadInput, match="the jar is damaged"):
        spice_install.class_path()


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setattr(spice_install, "package_file", lambda name, relative: None)
    with pytest.raises(MissingPackage, match="package 'pycocoevalcap' is not installed") as caught:
        spice_install.class_path()
    assert caught.value.fix == "pip install 'vsebench[spice]'"


# Fetching


def maven(bare: Path, jars: Path, script: str = "") -> None:
    """A Maven that copies from ``jars``."""
    program(
        bare / "bin" / "mvn",
        f'{script}\nfor a in "$@"; do case $a in -DoutputDirectory=*) out=${{a#*=}};; -Dartifact=*:models) m=-models;; '
        f'esac; done\nmkdir -p "$out"; cp "{jars}/stanford-corenlp-3.6.0$m.jar" "$out"; echo "$@" >> "{bare}/calls"',
    )


@posix
def test_maven_fetches_into_the_cache(bare, jars):
    maven(bare, jars)
    noted: list[str] = []
    folder = spice_install.fetch(noted.append)
    assert folder == spice_install.tools_folder() == bare / "cache/tools/corenlp-3.6.0"
    assert {path.name for path in folder.iterdir()} == {CODE, MODELS}
    assert [CODE in noted[0], MODELS in noted[1]] == [True, True]
    assert spice_install.class_path()[-2:] == [str(folder / CODE), str(folder / MODELS)]
    calls = (bare / "calls").read_text().split("\n")
    assert "dependency:copy -Dartifact=edu.stanford.nlp:stanford-corenlp:3.6.0:jar:models" in calls[1]
    assert sorted(p.name for p in (bare / "site/spice/lib").iterdir()) == ["Meteor-1.5.jar", "SceneGraphParser-1.0.jar"]


@posix
def test_only_missing_jars_are_fetched(bare, jars):
    folder = copy(jars, spice_install.tools_folder())
    (folder / MODELS).unlink()
    maven(bare, jars)
    spice_install.fetch()
    assert "models" in (bare / "calls").read_text()
    assert (bare / "calls").read_text().count("\n") == 1


@posix
def test_wrong_jars_from_maven_are_not_kept(bare, jars):
    (bare / "wrong").mkdir()
    for name in (CODE, MODELS):
        jar(bare / "wrong" / name, "other")
    maven(bare, bare / "wrong")
    with pytest.raises(BadInput, match="the jar is another version"):
        spice_install.fetch()
    assert not (spice_install.tools_folder() / CODE).exists()


class Server(http.server.BaseHTTPRequestHandler):
    """Serves ``content``, to every connection at most as many bytes as ``most`` says."""

    content = b""
    most: list[int] = []  # noqa: RUF012 (replaced by the fixture)
    status = 200
    requests = 0

    def do_GET(self) -> None:
        """Answer."""
        type(self).requests += 1
        if self.status != 200:
            self.send_error(self.status)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content[: self.most.pop(0) if self.most else None])

    def log_message(self, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Server]]:
    """A local server in place of Stanford's."""
    handler = type("Own", (Server,), {"most": []})
    running = http.server.HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    monkeypatch.setattr(spice_install, "STANFORD", f"http://127.0.0.1:{running.server_port}/corenlp-full.zip")
    monkeypatch.setattr(spice_install.time, "sleep", lambda seconds: None)
    yield handler
    running.shutdown()
    running.server_close()


def archive(bare: Path, jars: Path) -> bytes:
    """What Stanford serves: a zip with both jars in a folder."""
    with zipfile.ZipFile(bare / "served.zip", "w") as packed:
        for name in (CODE, MODELS):
            packed.write(jars / name, f"corenlp-full/{name}")
    return (bare / "served.zip").read_bytes()


def test_without_maven_the_jars_come_from_stanford(bare, jars, server):
    server.content = archive(bare, jars)
    noted: list[str] = []
    folder = spice_install.fetch(noted.append)
    assert {path.name for path in folder.iterdir()} == {CODE, MODELS}
    assert any("corenlp-full.zip" in line for line in noted)
    spice_install.class_path()


def test_a_connection_that_ends_early_is_tried_again(bare, server):
    server.content, server.most = bytes(range(256)) * 40, [3000, 1 << 30]
    spice_install.download(spice_install.STANFORD, bare / "file", lambda _: None)
    assert (bare / "file").read_bytes() == server.content
    assert server.requests == 2 and sorted(path.name for path in bare.iterdir() if "file" in path.name) == ["file"]


@posix
def test_a_failure_names_the_commands(bare, jars, server):
    server.status = 404
    program(bare / "bin" / "mvn", "echo '[ERROR] no network'; exit 1")
    with pytest.raises(MissingPackage) as caught:
        spice_install.fetch()
    assert "Maven failed: [ERROR] no network" in caught.value.what
    assert "answers 404" in caught.value.what
    assert caught.value.fix is not None
    assert "mvn dependency:copy -Dartifact=$a" in caught.value.fix
    assert str(spice_install.tools_folder()) in caught.value.fix


def test_a_server_that_fails_is_tried_five_times(bare, server):
    server.status = 503
    with pytest.raises(MissingPackage, match="cannot be fetched: the server answers 503"):
        spice_install.download(spice_install.STANFORD, bare / "file", lambda _: None)
    assert server.requests == 5


def test_a_damaged_archive_is_not_kept(bare, jars, server):
    server.content = archive(bare, jars)[:-50]
    with pytest.raises(BadInput, match="the download is damaged"):
        spice_install.fetch()
    assert list(spice_install.tools_folder().iterdir()) == []


def test_offline_nothing_is_fetched(jars, monkeypatch):
    monkeypatch.setenv("VSEBENCH_OFFLINE", "1")
    with pytest.raises(MissingPackage, match="VSEBENCH_OFFLINE forbids"):
        spice_install.fetch()


def test_a_full_disk(bare, monkeypatch):
    monkeypatch.setattr(spice_install, "SPACE", 10**18)
    with pytest.raises(DiskError, match=r"GB are free, 1000000000\.0 GB are needed"):
        spice_install.fetch()
