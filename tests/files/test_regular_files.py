"""Files that a user names: regular ones, with one error for anything else and for whatever fails when they are read."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, DiskError
from vsebench.files.lock import locked
from vsebench.files.regular import check_file, read_bytes, reading


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
    code = "import sys, pathlib; from vsebench.files.lock import locked\nwith locked(pathlib.Path(sys.argv[1]), ''):\n"
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
