"""Finding the jars, refusing others, and fetching missing ones from a server."""

from __future__ import annotations

import http.server
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from vsebench.errors import BadInput, DiskError, MissingPackage
from vsebench.relevance.spice.parser import install as spice_install

CODE, MODELS = spice_install.CODE, spice_install.MODELS


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No jars: an empty home and cache."""
    for name in ("VSEBENCH_SPICE_JARS", "VSEBENCH_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def jars(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with fakes of both CoreNLP jars, whose checksums are accepted; pycocoevalcap likewise."""
    folder = bare / "right"
    folder.mkdir()
    names = [CODE, MODELS, "spice-1.0.jar", "Meteor-1.5.jar", "SceneGraphParser-1.0.jar"]
    for name in names:
        jar(folder / name, name)
        monkeypatch.setitem(spice_install.CONTENT, name, spice_install.content_sha256(folder / name))
    package = bare / "site" / "spice"
    (package / "lib").mkdir(parents=True)
    (package / "spice-1.0.jar").write_bytes((folder / "spice-1.0.jar").read_bytes())
    for name in names[3:]:
        (package / "lib" / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setattr(spice_install, "package_file", lambda name, relative: package / "spice-1.0.jar")
    return folder


def jar(path: Path, content: str, year: int = 2016) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a/B.class", (year, 1, 1, 0, 0, 0)), content)
        archive.writestr("META-INF/MANIFEST.MF", str(year))
    return path


def copy(source: Path, target: Path) -> Path:
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


def test_missing_other_and_damaged_jars_are_refused(bare, jars, monkeypatch, refuses):
    (copy(jars, bare / "one") / MODELS).unlink()
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(bare / "one"))
    refuses(BadInput, spice_install.find)
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(copy(jars, bare / "mine")))
    before = (bare / "mine" / CODE).read_bytes()
    assert jar(bare / "mine" / CODE, CODE, 2020).read_bytes() != before
    spice_install.class_path()  # a jar packed at another time is the same
    jar(bare / "mine" / MODELS, "CoreNLP 4")
    caught = refuses(BadInput, spice_install.class_path)
    assert caught.where == str(bare / "mine" / MODELS)
    (bare / "mine" / MODELS).write_bytes(b"half a jar")
    refuses(BadInput, spice_install.class_path)
    monkeypatch.setattr(spice_install, "package_file", lambda name, relative: None)
    refuses(MissingPackage, spice_install.class_path)


# Fetching


class Server(http.server.BaseHTTPRequestHandler):
    """Serves the files of ``folder``, all but the last bytes of each when ``cut``."""

    folder = Path()
    cut = 0
    asked: list[str] = []  # noqa: RUF012 (replaced by the fixture)

    def do_GET(self) -> None:
        """Answer."""
        name = self.path.rpartition("/")[2]
        self.asked.append(name)
        if not (self.folder / name).is_file():
            self.send_error(404)
            return
        content = (self.folder / name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - self.cut])

    def log_message(self, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def server(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Server]]:
    """A local server in place of Stanford's."""
    handler = type("Own", (Server,), {"asked": [], "folder": bare / "served"})
    running = http.server.HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    monkeypatch.setattr(spice_install, "STANFORD", f"http://127.0.0.1:{running.server_port}/software/corenlp.zip")
    yield handler
    running.shutdown()
    running.server_close()


def pack(jars: Path, folder: Path, *names: str) -> Path:
    """The archive of some jars, as the server has it."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "corenlp.zip", "w") as archive:
        for name in names:
            archive.write(jars / name, f"corenlp/{name}")
    return folder / "corenlp.zip"


def test_jars_are_fetched_into_the_cache(bare, jars, server):
    pack(jars, server.folder, CODE, MODELS)
    noted: list[str] = []
    found = spice_install.class_path(noted.append)
    folder = spice_install.tools_folder()
    assert folder == bare / "cache/tools/corenlp-3.6.0"
    assert found[-2:] == [str(folder / CODE), str(folder / MODELS)]
    assert {path.name for path in folder.iterdir()} == {CODE, MODELS}
    assert noted == [f"fetching {spice_install.STANFORD} into {folder}"]
    assert spice_install.class_path() == found and server.asked == ["corenlp.zip"]  # once


@pytest.mark.parametrize("damage", ["cut", "without models"])
def test_a_damaged_download_is_not_kept(jars, server, damage, pinned):
    pack(jars, server.folder, CODE, *([MODELS] if damage == "cut" else []))
    server.cut = 10 if damage == "cut" else 0
    with pytest.raises(BadInput) as caught:
        spice_install.fetch()
    assert caught.value.where == spice_install.STANFORD
    pinned(caught.value.what)
    assert not list(spice_install.tools_folder().glob("*.zip")) and spice_install.find() is None


def test_another_version_in_the_archive_is_refused(jars, server, refuses):
    jar(jars / MODELS, "other")
    pack(jars, server.folder, CODE, MODELS)
    refuses(BadInput, spice_install.class_path)


def test_a_failure_names_the_address_and_the_commands(server, pinned):
    with pytest.raises(MissingPackage) as caught:
        spice_install.fetch()
    pinned(str(caught.value).replace(spice_install.STANFORD, "URL"))


def test_offline_or_where_no_folder_can_be_made_nothing_is_fetched(bare, monkeypatch, refuses):
    monkeypatch.setenv("VSEBENCH_OFFLINE", "1")
    refuses(MissingPackage, spice_install.fetch)
    monkeypatch.delenv("VSEBENCH_OFFLINE")
    (bare / "file").write_text("")
    monkeypatch.setenv("VSEBENCH_CACHE", str(bare / "file"))
    refuses(DiskError, spice_install.fetch)
