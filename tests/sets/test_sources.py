"""Sources of captions, recognised by content; the cache folder and the writing of files."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, DiskError, UsageError
from vsebench.files.atomic import write_atomically
from vsebench.files.cache import cache_dir
from vsebench.files.textfile import read_text
from vsebench.sets.caption_files import from_file


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


def karpathy_image(i: int, sentences: int = 5, split: str = "test", coco: bool = True) -> dict[str, Any]:
    image: dict[str, Any] = {"filename": f"{i}.jpg", "split": split}
    image["sentences"] = [{"raw": f"image {i} text {j}", "sentid": 100 * i + j} for j in range(sentences)]
    image["sentids"] = [100 * i + j for j in range(sentences)]
    return {**image, "cocoid": i} if coco else image


# --- the atomic file ---------------------------------------------------------------------------------------


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "old")
    with pytest.raises(KeyboardInterrupt), write_atomically(path, "w") as stream:
        stream.write("half")
        raise KeyboardInterrupt
    assert path.read_text(encoding="utf-8") == "old"
    with write_atomically(path, "w") as stream:
        stream.write("né\n")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_bytes() == "né\n".encode()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_atomic_file_keeps_links_and_permissions(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    with write_atomically(link) as stream:
        stream.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with write_atomically(tmp_path / "b") as stream:
        stream.write(b"")
    plain = tmp_path / "c"
    plain.touch()
    assert (tmp_path / "b").stat().st_mode == plain.stat().st_mode  # as any new file, not readable by the owner only


def test_places_that_cannot_be_written_are_named(tmp_path: Path, pinned: Pinned) -> None:
    for path in (tmp_path, Path("/dev/null"), tmp_path / "no" / "x"):
        with pytest.raises(UsageError) as caught, write_atomically(path):
            pass
        pinned(caught.value)
    with write_atomically(tmp_path / "yes" / "x", parents=True) as stream:
        stream.write(b"1")
    assert (tmp_path / "yes" / "x").read_bytes() == b"1"


def test_a_full_disk_is_named_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    path = write(tmp_path / "a.txt", "old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError) as error, write_atomically(path, "w") as stream:
        stream.write("half")
    pinned(error.value)
    assert path.read_text(encoding="utf-8") == "old" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_the_cache_folder_follows_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    assert cache_dir() == tmp_path / "cache" and not cache_dir().exists()
    monkeypatch.setenv("VSEBENCH_CACHE", "~/somewhere")
    assert cache_dir() == Path.home() / "somewhere"
    monkeypatch.setenv("VSEBENCH_CACHE", " ")
    assert cache_dir().name == "vsebench"


# --- files of captions -------------------------------------------------------------------------------------


def test_karpathy_files_keep_the_first_five_sentences_of_test_images(tmp_path: Path) -> None:
    images = [karpathy_image(3, 6), karpathy_image(1, split="val"), karpathy_image(2)]
    rows = from_file(write(tmp_path / "k.json", {"images": images, "dataset": "coco"}))
    assert rows.image_id.tolist() == [3] * 5 + [2] * 5
    assert rows.caption_id.tolist() == [300, 301, 302, 303, 304, 200, 201, 202, 203, 204]
    assert rows.captions is not None and rows.captions[4] == "image 3 text 4"
    rows = from_file(write(tmp_path / "f.json", {"images": [karpathy_image(4, coco=False)]}))
    assert rows.caption_id.tolist() == [f"4.jpg#{j}" for j in range(5)]


def test_official_annotations_give_the_wanted_captions_in_their_order(tmp_path: Path, refuses: Refuses) -> None:
    notes = [{"id": i, "image_id": i // 10, "caption": f"c{i}"} for i in range(40)]
    path = write(tmp_path / "a.json", {"annotations": notes, "images": []})
    rows = from_file(path, np.array([31, 2]))
    assert rows.image_id.tolist() == [3, 0] and rows.captions == ("c31", "c2")
    refuses(BadInput, from_file, path, np.array([31, 99]))


LINES = [{"caption_id": 10 + i, "image_id": 7, "caption": f"words {i}"} for i in range(5)]
BAD_FILES: dict[str, bytes] = {
    "empty": b" \n",
    "zip": b"PK\x03\x04rest",
    "pickle": b"\x80\x04\x95",
    "page": b"<!DOCTYPE html><html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\n",
    "binary": b"{\xff\xfe",
    "gzip": gzip.compress(b'{"a": 1}' * 99)[:-9],
    "truncated": b'{"images": [{"split": "test", "sent',
    "nested": b"[" * 100_000,
    "number": b"[" + b"9" * 5000 + b"]",
    "list": b"[1, 2]",
    "other": b'{"info": 1}',
    "lines": b'{"id": 1, "text": "a dog"}\n{"id": 2, "text": "a cat"}\n',
    "instances": b'{"annotations": [{"id": 1, "category_id": 2}]}',
    "untested": json.dumps({"images": [karpathy_image(1, split="val")]}).encode(),
    "short": json.dumps({"images": [karpathy_image(1, 0)]}).encode(),
    "no raw": json.dumps({"images": [{**karpathy_image(1), "sentences": [{}] * 5}]}).encode(),
    "line": lines(LINES).encode() + b'{"caption_id": 3, "image',
    "field": lines([*LINES, {"caption_id": 99, "caption": "x"}]).encode(),
    "text": lines([{"caption_id": 1, "image_id": 1, "caption": None}]).encode(),
    "record": lines(LINES).encode() + b"[1]\n",
    "huge id": lines([{"caption_id": 10**30, "image_id": 1, "caption": ""}]).encode(),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused_by_name(tmp_path: Path, content: bytes, refuses: Refuses) -> None:
    path = tmp_path / "captions.json"
    path.write_bytes(content)
    caught = refuses(BadInput, from_file, path, np.array([1]))
    assert str(caught).startswith(str(path))


def test_missing_files_name_a_neighbour(tmp_path: Path, refuses: Refuses) -> None:
    write(tmp_path / "captions.jsonl", "x")
    refuses(BadInput, read_text, tmp_path / "caption.jsonl")
    refuses(BadInput, read_text, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    refuses(BadInput, read_text, tmp_path / "pipe")
