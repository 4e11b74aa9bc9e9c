"""Files that a user names: regular ones, with one error for anything else and for whatever fails when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsebench.errors import BadInput
from vsebench.files.regular import check_file, read_bytes, reading


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "link.json").symlink_to("a.json")
    assert read_bytes(tmp_path / "a.json", "fix") == read_bytes(tmp_path / "link.json", "fix") == b"{}"
    (tmp_path / "loop").symlink_to("loop")
    for path, what in (
        (tmp_path, "this is a folder"),
        (tmp_path / "b.json", "no such file"),
        (tmp_path / "loop", "is a link to a missing file"),
        (Path("/dev/zero"), "is no regular file"),
        (tmp_path / ("x" * 3000), "cannot be opened"),
    ):
        with pytest.raises(BadInput, match=what):
            check_file(path, "fix")


def test_the_advice_for_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "gone").symlink_to("nowhere")
    assert read_bytes(tmp_path / "a.json", "fix", missing="make it first") == b"{}"
    for path, what, fix in (
        (tmp_path / "aa.json", "no such file", "make it first"),
        (tmp_path / "no" / "a.json", "no such file", "make it first"),
        (tmp_path, "this is a folder", "fix"),
        (tmp_path / "gone", "is a link to a missing file (nowhere)", "repair the link"),
    ):
        with pytest.raises(BadInput) as caught:
            read_bytes(path, "fix", missing="make it first")
        assert (caught.value.what, caught.value.fix) == (what, fix)


def test_what_a_library_raises_is_one_error_of_the_file() -> None:
    for error, what in (
        (OSError(5, "Input/output error"), "f.npz: cannot be read (Input/output error)"),
        (KeyError("a"), "f.npz: cannot be read ('a')"),
        (MemoryError(), "f.npz: does not fit into memory"),
        (BadInput("is a pickle", where="f.npz"), "f.npz: is a pickle"),
    ):
        with pytest.raises(BadInput) as caught, reading("f.npz"):
            raise error
        assert str(caught.value).startswith(what), str(caught.value)
    with pytest.raises(KeyboardInterrupt), reading("f.npz"):
        raise KeyboardInterrupt
