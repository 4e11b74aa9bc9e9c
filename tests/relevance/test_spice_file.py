"""Tuples in files and in the cache: round trips, and one clear error for a bad line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spice_fake import store_tuples
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.relevance.spice import file as tuple_cache
from vsebench.relevance.spice.file import (
    FORMAT,
    TOOLS,
    Tuples,
    normal,
    read_rows,
    read_synsets,
    unique,
    unpack,
    words,
)

SYNSETS = {"man": frozenset({3, 1}), "horse": frozenset({7}), "ride": frozenset(), "brown": frozenset({2**40})}
SMALL = Tuples(
    ("A man rides.", "a brown horse", ""),
    ((("man",), ("man", "horse", "be ride")), (("horse", "brown"), ("horse",), ("horse",)), ()),
    SYNSETS,
)


pytestmark = pytest.mark.usefixtures("cache")


def lines(*records: Any, head: dict[str, Any] | None = None) -> str:
    """A file of tuples with a matching header."""
    count = {"captions": sum("caption" in r for r in records), "words": sum("word" in r for r in records)}
    first = {"format": FORMAT, "tools": TOOLS, **count, **(head or {})}
    return "".join(json.dumps(record) + "\n" for record in (first, *records))


CAPTION = {"caption": "a man", "tuples": [["man"]]}
MAN = {"word": "man", "synsets": [1, 3]}


@pytest.mark.parametrize("name", ["tuples.jsonl", "tuples.jsonl.gz"])
def test_export_and_import_are_inverse(tmp_path, name):
    path = tmp_path / name
    tuple_cache.export_tuples(path, SMALL)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert unpack(path) == SMALL
    before = path.read_bytes()
    tuple_cache.export_tuples(path, Tuples(SMALL.texts, SMALL.tuples, dict(reversed(SYNSETS.items()))))
    assert path.read_bytes() == before


WORD = st.text(min_size=1, max_size=5)


@given(st.dictionaries(st.text(max_size=12).map(normal), st.one_of(st.text(), st.lists(st.lists(WORD, min_size=1,
       max_size=3).map(tuple), max_size=4).map(tuple)), max_size=6))  # fmt: skip
def test_any_string_survives_the_file(tmp_path_factory, content):
    broken = {text: why for text, why in content.items() if isinstance(why, str)}
    tuples = tuple(() if text in broken else found for text, found in content.items())
    used = {word for found in tuples for item in found for word in words(item)}
    whole = Tuples(tuple(content), tuples, {word: frozenset({len(word)}) for word in used}, broken)
    path = tmp_path_factory.mktemp("any") / "tuples.jsonl.gz"
    tuple_cache.export_tuples(path, whole)
    assert unpack(path) == whole


def test_normal_white_space_and_the_words_of_a_tuple():
    assert normal("  A man\n\ton a\u00a0horse. ") == "A man on a horse."
    assert unique(["b", " a  b", "a b ", "b"]) == ["b", "a b"]
    assert words(("man",)) == ("man",)
    assert words(("man", "be tall")) == ("man", "be tall")
    assert words(("man", "horse", "be on")) == ("man", "horse", "on")
    assert words(("be man", "horse", "behind")) == ("be man", "horse", "behind")


def test_load_gives_the_wanted_captions_in_their_order():
    store_tuples(SMALL)
    loaded = tuple_cache.load_tuples([" a brown\nhorse", "", "a brown horse"])
    assert loaded.texts == ("a brown horse", "")
    assert loaded.tuples == (SMALL.tuples[1], ())
    assert loaded.synsets == {"horse": frozenset({7}), "brown": frozenset({2**40})}
    assert loaded.row == {"a brown horse": 0, "": 1}


def test_missing_captions_name_the_command(refuses):
    store_tuples(SMALL)
    refuses(MissingPackage, tuple_cache.load_tuples, ["a brown horse", "a cat", "a dog", " a dog"], "--split f30k")
    refuses(MissingPackage, tuple_cache.load_tuples, ["a cat"])


def test_tuples_stay_and_replace_a_failure_of_the_parser():
    failed = Tuples(("a brown horse", "x"), ((), ()), {}, {"a brown horse": "bad day", "x": "y"})
    for content in (failed, SMALL, failed):
        store_tuples(content)
    store_tuples(Tuples(("a brown horse",), ((("horse",),),), {"horse": SYNSETS["horse"]}))
    found = tuple_cache.stored()
    assert set(found.texts) == {*SMALL.texts, "x"}
    assert found.broken == {"x": "y"}
    assert tuple_cache.load_tuples(SMALL.texts) == SMALL


def test_imported_tuples_that_contradict_the_cache_are_refused(tmp_path, refuses):
    assert tuple_cache.add_agreeing(SMALL, "file") == 3
    assert tuple_cache.add_agreeing(SMALL, "file") == 0
    other = Tuples(("a cat", "a brown horse"), ((), (("horse",),)), SYNSETS)
    caught = refuses(BadInput, tuple_cache.add_agreeing, other, tmp_path / "file")
    assert caught.where == str(tmp_path / "file")
    assert "a cat" not in tuple_cache.stored().texts


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<html>",
        "[1]\n",
        '{"caption_id": 1}\n',
        "{\n",
        lines(CAPTION, MAN, head={"tools": "SPICE 2"}),
        lines(CAPTION, MAN, head={"captions": 2}),
        lines(CAPTION, MAN)[:-3],
        lines(CAPTION, MAN).rsplit("\n", 2)[0],
        lines(CAPTION),
        lines(CAPTION, CAPTION, MAN),
        lines({"caption": 5, "tuples": []}),
        lines({"caption": "a"}),
        lines({"caption": "a", "tuples": "b"}),
        lines({"caption": "a", "tuples": ["b"]}),
        lines({"caption": "a", "tuples": [[]]}),
        lines({"caption": "a", "tuples": [["b", "c", "d", "e"]]}),
        lines({"caption": "a", "tuples": [["b", 5]]}),
        lines({"caption": "a", "tuples": [[["b"]]]}),
        lines({"caption": "a", "broken": 5}),
        lines({"word": "a", "synsets": [1.5]}),
        lines({"word": "a", "synsets": [-1]}),
        lines({"word": "a", "synsets": [True]}),
        lines({"word": "a"}),
        lines({"other": "a"}),
        lines(CAPTION, MAN) + "5\n",
    ],
)
def test_errors_of_files(tmp_path, content, refuses):
    path = tmp_path / "tuples.jsonl"
    path.write_text(content, encoding="utf-8")
    caught = refuses(BadInput, unpack, path)
    assert str(caught.where).startswith(str(path))


def test_a_missing_folder_and_a_truncated_gzip(tmp_path, refuses):
    refuses(UsageError, tuple_cache.export_tuples, tmp_path / "no" / "file", SMALL)
    path = tmp_path / "tuples.jsonl.gz"
    tuple_cache.export_tuples(path, SMALL)
    path.write_bytes(path.read_bytes()[:-9])
    refuses(BadInput, unpack, path)


# Rows in the order of captions


def rows(tmp_path: Path, tuples: list[str], synsets: str, captions: list[str]) -> Tuples:
    """Read rows from plain tuples and packed synsets."""
    (tmp_path / "t.jsonl").write_text("".join(line + "\n" for line in tuples), encoding="utf-8")
    (tmp_path / "s.tsv.gz").write_bytes(gzip.compress(synsets.encode()))
    return read_rows(tmp_path / "t.jsonl", tmp_path / "s.tsv.gz", captions)


def test_rows_in_the_order_of_captions(tmp_path):
    found = rows(tmp_path, ['[["man"]]', "[]", '[["man"]]'], "man\t3 1\nother\t\n", ["a  man", "b", "a man"])
    assert found == Tuples(("a man", "b"), ((("man",),), ()), {"man": frozenset({1, 3})})


@pytest.mark.parametrize(
    ("tuples", "synsets"),
    [
        (["[]"], "man\t1\n"),
        (["[]", "[]", "[]"], "man\t1\n"),
        (["[]", "{"], "man\t1\n"),
        (["[]", '["man"]'], "man\t1\n"),
        (["[]", '[["man"]]'], "horse\t1\n"),
        (["[]", "[]"], "man 1\n"),
        (["[]", "[]"], "man\t1\nx\t1,2\n"),
        (["[]", "[]"], "man\t1\nman\t2\n"),
    ],
)
def test_errors_of_rows(tmp_path, tuples, synsets, refuses):
    refuses(BadInput, rows, tmp_path, tuples, synsets, ["a", "b"])


def test_equal_captions_must_have_equal_rows_and_a_word_may_be_a_space(tmp_path, refuses):
    refuses(BadInput, rows, tmp_path, ['[["man"]]', "[]"], "man\t1\n", ["a", " a"])
    (tmp_path / "s.tsv").write_text(" \t5\nx y\t\n", encoding="utf-8")
    assert read_synsets(tmp_path / "s.tsv") == {" ": frozenset({5}), "x y": frozenset()}


@pytest.mark.real_data
def test_the_tuples_of_the_test_data_survive_an_export(real_data, tmp_path):
    captions = [json.loads(line)["caption"] for line in (real_data / "f30k/test.jsonl").open(encoding="utf-8")]
    folder = real_data / "spice"
    found = read_rows(folder / "f30k_test.tuples.jsonl.gz", folder / "synsets.tsv.gz", captions)
    assert (len(found.texts), found.broken) == (4999, {})
    tuple_cache.export_tuples(tmp_path / "f.jsonl.gz", found)
    assert unpack(tmp_path / "f.jsonl.gz") == found
