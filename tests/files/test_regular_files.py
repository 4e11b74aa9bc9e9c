"""Files that a user names: regular ones, with one error for anything else and for whatever fails when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput
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
