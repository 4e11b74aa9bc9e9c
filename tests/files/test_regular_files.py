"""Files that a user names: regular ones, one error for anything else, written complete or not at all, and locks."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, DiskError, UsageError
from vsebench.files.atomic import locked, write_atomically
from vsebench.files.regular import cache_dir, check_file, read_bytes, reading
from vsebench.files.textfile import read_text


def test_what_is_no_regular_file(tmp_path: Path, pinned: Pinned) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to("a.json")
    assert read_bytes(tmp_path / "a.json", "fix") == read_bytes(tmp_path / "link.json", "fix") == b"{}"
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path, tmp_path / "b.json", tmp_path / "loop", Path("/dev/zero"), tmp_path / ("x" * 3000)):
        with pytest.raises(BadInput) as caught:
            check_file(path, "fix")
        pinned(caught.value.what)


def test_the_advice_for_a_missing_file(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "gone").symlink_to("nowhere")
    assert read_bytes(tmp_path / "a.json", "fix", missing="make it first") == b"{}"
    for path in (tmp_path / "aa.json", tmp_path / "no" / "a.json", tmp_path, tmp_path / "gone"):
        refuses(BadInput, read_bytes, path, "fix", missing="make it first")


def test_what_a_library_raises_is_one_error_of_the_file(pinned: Pinned) -> None:
    own = BadInput("is a pickle", where="f.npz")
    for error in (OSError(5, "Input/output error"), KeyError("a"), MemoryError(), own):
        with pytest.raises(BadInput) as caught, reading("f.npz"):
            raise error
        pinned(caught.value)
    with pytest.raises(KeyboardInterrupt), reading("f.npz"):
        raise KeyboardInterrupt


def test_missing_texts_name_a_neighbour(tmp_path, refuses):
    (tmp_path / "captions.jsonl").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "caption.jsonl", tmp_path, tmp_path / "pipe"):
        refuses(BadInput, read_text, path)


def test_the_cache_folder_follows_its_variable(tmp_path, monkeypatch):
    for given, wanted in ((tmp_path / "cache", tmp_path / "cache"), ("~/somewhere", Path.home() / "somewhere")):
        monkeypatch.setenv("VSEBENCH_CACHE", str(given))
        assert cache_dir() == wanted and not cache_dir().exists()
    monkeypatch.setenv("VSEBENCH_CACHE", " ")
    assert cache_dir().name == "vsebench"


# Files that are written complete or not at all.


def test_a_file_appears_complete_or_not_at_all(tmp_path, monkeypatch, pinned):
    """After an interrupt, and on a full disk, which is named with the file."""
    (path := tmp_path / "a.txt").write_text("old")
    with pytest.raises(KeyboardInterrupt), write_atomically(path, "w") as stream:
        stream.write("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    with write_atomically(path, "w") as stream:
        stream.write("né\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "né\n".encode()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError) as error, write_atomically(path, "w") as stream:
        stream.write("half")
    pinned(error.value)
    assert path.read_bytes() == "né\n".encode() and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_atomic_file_keeps_links_and_permissions(tmp_path):
    (path := tmp_path / "a.txt").write_text("old")
    path.chmod(0o640)
    (link := tmp_path / "link").symlink_to(path)
    with write_atomically(link) as stream:
        stream.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with write_atomically(tmp_path / "b") as stream:
        stream.write(b"")
    (plain := tmp_path / "c").touch()
    assert (tmp_path / "b").stat().st_mode == plain.stat().st_mode  # as any new file, not readable by the owner only


def test_places_that_cannot_be_written_are_named(tmp_path, pinned):
    for path in (tmp_path, Path("/dev/null"), tmp_path / "no" / "x"):
        with pytest.raises(UsageError) as caught, write_atomically(path):
            pass
        pinned(caught.value)
    with write_atomically(tmp_path / "yes" / "x", parents=True) as stream:
        stream.write(b"1")
    assert (tmp_path / "yes" / "x").read_bytes() == b"1"


# Locks between processes: refusing, waiting, and what a killed process leaves.


posix = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked here")


def wait(path: Path, said: list[str]) -> bool:
    with locked(path, "it is used", waiting=said.append):
        return path.exists()


@posix
def test_one_process_at_a_time(tmp_path: Path, pinned: Pinned) -> None:
    path, said = tmp_path / ".lock", []
    with ThreadPoolExecutor(2) as others:
        with locked(path, "it is used"):
            with pytest.raises(DiskError) as caught, locked(path, "it is used"):
                raise AssertionError
            pinned(caught.value)
            waiting = [others.submit(wait, path, said) for _ in range(2)]
            while len(said) < 2:
                assert not any(one.done() for one in waiting)
        assert [one.result() for one in waiting] == [True, True]
    assert said == ["it is used by another process; waiting for it"] * 2
    assert list(tmp_path.iterdir()) == []


@posix
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = "import sys, pathlib; from vsebench.files.atomic import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1]), ''):\n"
    code += "    print('locked', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path / ".lock")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"locked\n"
    with pytest.raises(DiskError), locked(tmp_path / ".lock", "it is used"):
        raise AssertionError
    process.kill()
    process.wait()
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path / ".lock", "it is used"):
        pass
    assert list(tmp_path.iterdir()) == []
