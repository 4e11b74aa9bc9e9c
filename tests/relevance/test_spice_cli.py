"""``vsebench spice`` and ``vsebench cache``: parse, write, read, show and clear, with a fake worker instead of Java."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.commands import cli, document
from tests.hostile import good
from tests.spice_fake import fake_worker, requested
from vsebench.files import store
from vsebench.relevance.spice import build as spice_build
from vsebench.relevance.spice import file as tuple_cache
from vsebench.text import java as spice_java

RECORDS = [
    {"image": "a.jpg", "caption_index": 0, "caption": "a man"},
    {"image": "a.jpg", "caption_index": 1, "caption": "a  horse "},
    {"image": "b.jpg", "caption_index": 0, "caption": "a man"},
]


@pytest.fixture(autouse=True)
def log(tmp_path, cache, monkeypatch):
    """A fake worker that logs to the folder."""
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setattr(spice_build, "COMMAND", fake_worker(folder))
    monkeypatch.setattr(spice_build, "_settings", lambda java, heap, threads, note: {})
    return folder


@pytest.fixture
def captions(tmp_path):
    """A file of three captions, two of them distinct."""
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return str(path)


def test_build_parses_a_file_once(captions, log):
    found = document("spice", "--captions", captions)
    assert 0 < found.pop("seconds") < 60
    assert found == {"captions": 2, "before": 0, "parsed": 2, "broken": []}
    store.clear()
    first = cli("spice", "--captions", captions)
    assert re.match(r"spice: 2 distinct captions, 0 parsed before, 2 now in \d+ s \(\d+ a second\)\n", first.out)
    again = cli("spice", "--captions", captions)
    assert again.out == "spice: 2 distinct captions, 2 parsed before, 0 now\n"
    assert sorted(requested(log)) == sorted(["a horse", "a man"] * 2)


def test_build_from_lines_and_from_ptb_tokens(tmp_path, log):
    path = tmp_path / "captions.txt"
    path.write_text("A Man's horse.\n\nTwo dogs!\n", encoding="utf-8")
    assert document("spice", "--captions", str(path))["parsed"] == 2
    assert document("spice", "--captions", str(path), "--text", "ptb")["parsed"] == 2
    assert sorted(requested(log)) == ["A Man's horse.", "Two dogs!", "a man 's horse", "two dogs"]


def test_broken_captions_are_reported_by_text(tmp_path, pinned):
    path = tmp_path / "captions.txt"
    path.write_text("a man\na BROKEN horse\n", encoding="utf-8")
    pinned(cli("spice", "--captions", str(path)).err)
    found = document("spice", "--captions", str(path))
    assert found["broken"] == [{"caption": "a BROKEN horse", "why": "NullPointerException: null"}]
    assert (found["before"], found["parsed"]) == (1, 1)
    assert "2 captions, 1 broken" in cli("cache").words


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 2),
        (("--split", "coco-5k", "--captions", "x"), 2),
        (("--split", "coco-6k"), 2),
        (("--captions", "nowhere.txt"), 3),
        (("--split", "coco-5k", "--text", "loud"), 2),
        (("-o", "x.gz"), 3),
        (("--from", "x", "--split", "coco-5k"), 2),
        (("--from", "x", "--synsets", "y"), 2),
        (("--from", "nowhere.gz"), 3),
    ],
)
def test_wrong_arguments(args, code, pinned):
    pinned(cli("spice", *args, code=code).err)


def test_missing_tools_name_the_command(captions, monkeypatch, pinned):
    monkeypatch.undo()
    monkeypatch.setenv("VSEBENCH_CACHE", str(Path(captions).parent / "cache"))
    monkeypatch.setattr(spice_java, "package_file", lambda package, relative: None)
    monkeypatch.delenv("VSEBENCH_JAVA", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    for found in (object(), None):
        monkeypatch.setattr("importlib.util.find_spec", lambda name, found=found: found)
        pinned(cli("spice", "--captions", captions, code=4).err)


def test_a_parser_that_does_not_work_is_explained(captions, log, pinned):
    (log / "fatal").touch()
    pinned(cli("spice", "--captions", captions, code=4).err)
    (log / "fatal").unlink()
    cli("spice", "--captions", captions, "--java-heap", "4G")


def test_list(captions):
    assert "0 bytes in" in cli("cache").out
    assert document("cache")["kinds"] == []
    cli("spice", "--captions", captions)
    store.put("spice-graphs", "abc", lambda stream: stream.write(b"x" * 2000))
    shown = cli("cache").words
    assert "spice 2 captions" in shown
    assert "spice-graphs 1 file 2.0 KiB" in shown
    found = document("cache")
    assert found["folder"] == str(store.root())
    assert [kind["kind"] for kind in found["kinds"]] == ["spice", "spice-graphs"]
    assert found["kinds"][0]["content"] == "2 captions"


def test_clear(captions, pinned):
    cli("spice", "--captions", captions)
    pinned(cli("cache", "spicy", "--clear", code=2).err)
    assert len(tuple_cache.stored().texts) == 2
    assert document("cache", "--clear")["removed"] == 1
    assert tuple_cache.stored().texts == ()
    assert cli("cache", "spice", "--clear").out == "removed 0 files, 0 bytes\n"


def test_export_and_import(captions, tmp_path, monkeypatch, log):
    cli("spice", "--captions", captions)
    file = str(tmp_path / "tuples.jsonl.gz")
    assert cli("spice", "-o", file).out == f"2 captions are in {file}\n"
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "elsewhere"))
    assert document("spice", "--from", file) == {"captions": 2, "words": 3, "broken": 0, "new": 2}
    assert cli("spice", "--from", file).out == "2 captions were read, 0 of them new\n"
    assert document("spice", "--captions", captions)["before"] == 2
    assert len(requested(log)) == 2


def test_captions_are_parsed_and_written(captions, tmp_path):
    cli("spice", "--captions", captions)
    found = document("spice", "--captions", captions, "--text", "ptb", "-o", tmp_path / "t.jsonl")
    assert (found["parsed"], found["written"]) == (0, 2), "the captions are the same in either form"


ROWS = '[["man"]]\n[["horse"]]\n[["man"]]\n'


def test_rows_of_tuples_are_imported(captions, tmp_path, pinned):
    (tmp_path / "t.jsonl").write_text(ROWS, encoding="utf-8")
    (tmp_path / "s.tsv").write_text("man\t1 2\nhorse\t\n", encoding="utf-8")
    args = ("spice", "--from", str(tmp_path / "t.jsonl"), "--synsets", str(tmp_path / "s.tsv"))
    assert document(*args, "--captions", captions)["captions"] == 2
    loaded = tuple_cache.load_tuples(["a horse", "a man"])
    assert loaded.tuples == ((("horse",),), (("man",),))
    (tmp_path / "t.jsonl").write_text(ROWS.replace("horse", "cow"), encoding="utf-8")
    pinned(cli(*args, "--captions", captions, code=3).err)


def test_rows_of_tuples_need_synsets(captions, tmp_path, pinned):
    (tmp_path / "t.jsonl").write_text(ROWS, encoding="utf-8")
    for words, code in (((), 3), (("--captions", captions), 2)):
        pinned(cli("spice", "--from", str(tmp_path / "t.jsonl"), *words, code=code).err)


@pytest.mark.parametrize("gains", ["spice", "spice:text=ptb", "coarse:spice:above=0.1:spice"])
def test_an_evaluation_names_the_command_with_its_captions(tmp_path, gains, pinned):
    file, listed = good.npz(tmp_path)[1], tmp_path / "my captions.txt"
    listed.write_text("".join(f"cat {i}\n" for i in range(300)), encoding="utf-8")
    args = ["eval", file, "--gains", gains, "--captions", str(listed), "--metrics", "cs"]
    pinned(cli(*args, code=4).err)


def test_progress_in_lines(captions, monkeypatch):
    monkeypatch.setattr("vsebench.cli.terminal.PROGRESS_SECONDS", 0.001)
    result = cli("spice", "--captions", captions)
    assert re.search(r"^parsing 3 .*: (. of 2 \(\d+%\), )?0 s", result.err, re.MULTILINE)
    cli("cache", "--clear")
    assert "parsing" not in cli("spice", "--captions", captions, "--quiet").err
