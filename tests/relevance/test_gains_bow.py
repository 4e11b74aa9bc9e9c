"""Reading word vectors from text files, and the cosines of their means."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_gains
from tests.messages import Refuses
from tests.word_world import TABLE, lines_of, saved, split_of, whole
from vsebench.errors import BadInput, UsageError
from vsebench.log import Log
from vsebench.numeric.parallel import one_blas_thread
from vsebench.relevance import load_gains
from vsebench.relevance.embedding import bow
from vsebench.relevance.embedding.bow import read_word_vectors
from vsebench.types import TestSet


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
def test_forms_of_the_file(tmp_path: Path, name: str, header: bool, end: str) -> None:
    lines = lines_of(TABLE)
    path = saved(tmp_path / name, [f"{len(lines)} 3", *lines] if header else lines, end)
    words, vectors = read_word_vectors(path, ["the", "cat", "absent", "Dog"])
    assert words == ("cat", "the") and vectors.dtype == np.float32
    assert np.array_equal(vectors, [TABLE["cat"], TABLE["the"]])


def test_tabs_words_with_spaces_and_other_letters(tmp_path: Path) -> None:
    tabs = saved(tmp_path / "t.txt", ["cat\t1\t2", "dog\t3\t4"])
    assert np.array_equal(read_word_vectors(tabs, ["dog"])[1], [[3, 4]])
    path = saved(tmp_path / "s.txt", ["cat 1 2", ". . 5 6", ". 7 8", "at name@domain.com 9 10"])
    words, vectors = read_word_vectors(path, [".", "at"])  # neither ". ." nor "at name@domain.com"
    assert words == (".",) and np.array_equal(vectors, [[7, 8]])
    path = tmp_path / "v.txt"
    path.write_text("naïve 1 2\n猫 3 4\n[ 5 6\n<unk> 7 8", encoding="utf-8")  # no last line break
    words, vectors = read_word_vectors(path, ["猫", "naïve", "<unk>", "["])
    assert dict(zip(words, vectors.tolist(), strict=True)) == {
        "naïve": [1, 2], "猫": [3, 4], "[": [5, 6], "<unk>": [7, 8],
    }  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        ["cat 1 2 3", "dog 1 2"],
        ["cat 1 2", "dog 1 2 3"],
        ["2 3", "cat 1 2 3", "dog 1 2 3 4"],
        ["cat 1 2", "dog 1 x"],
        ["cat 1 2", "dog 1 nan"],
        ["cat 1 2", "dog 1 1e39"],
        ["dog 1 2", "cat 1 2", "dog 1 3"],
        ["cat", "dog"],
        ["3 2", "cat 1 2", "dog 1 2"],
        ["1 2", "cat 1 2", "dog 1 2"],
        ["400000 300"],
        ["2 2", "cat \x00\x01"],
        ["<!DOCTYPE html>"],
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, lines: list[str], refuses: Refuses) -> None:
    for name in ("v.txt", "v.gz"):
        if lines[0].startswith("<") and name == "v.gz":
            continue
        path = saved(tmp_path / name, lines)
        refuses(BadInput, read_word_vectors, path, ["cat", "dog"])


def test_other_files_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    for name, data in (
        ("e.txt", b""),
        ("z.txt", b"PK\x03\x04abc"),
        ("c.gz", gzip.compress(b"cat 1 2\ndog 3 4\n")[:-9]),
        ("l.txt", b"a " + b"1" * (bow.MAX_LINE_BYTES + 9)),
    ):
        (tmp_path / name).write_bytes(data)
        refuses(BadInput, read_word_vectors, tmp_path / name, ["cat"])
    for path in (tmp_path, tmp_path / "missing.txt"):
        refuses(BadInput, read_word_vectors, path, ["cat"])


WORDS = st.lists(st.sampled_from([*TABLE, "zebra"]), max_size=5)


@given(
    st.lists(st.tuples(WORDS, st.integers(0, 3)), min_size=1, max_size=8),
    st.sampled_from(["max", "mean", "first"]),
    st.sampled_from(["in", "one", "out"]),
    st.booleans(),
)
def test_values_by_the_definition(
    tmp_path_factory: pytest.TempPathFactory, world: list[tuple[list[str], int]], agg: str, own: str, weighted: bool
) -> None:
    captions, image_of = [["cat"], *(words for words, _ in world)], [0, *(image for _, image in world)]
    path = saved(tmp_path_factory.getbasetemp() / "bow.txt", lines_of(TABLE))
    split = split_of([" ".join(words).title() for words in captions], image_of)
    n_image = len(split.rows.ids)
    spec = f"bow:{path}:tokens=whitespace:agg={agg}:own={own}:idf={'yes' if weighted else 'no'}"
    idf = oracle_gains.idf(captions, image_of, n_image) if weighted else None
    vectors = [oracle_gains.bag_vector(words, TABLE, idf) for words in captions]
    want = np.array(oracle_gains.caption_cosine(vectors, image_of, n_image, agg, own))
    assert np.abs(whole(load_gains(spec, split)) - want).max() < 1e-6


def test_words_without_a_vector_are_noted(tmp_path: Path, log: Log) -> None:
    path = saved(tmp_path / "v.txt", lines_of(TABLE))
    split = split_of(["The cat!", "A zebra, a zebra.", "the dog"], [0, 0, 1])
    gains = load_gains(f"bow:{path}", split)
    assert log.notes == [
        "bow: 2 of 5 distinct words (50.0% of all) have no vector and are left out (most frequent: 'a', 'zebra')",
        "bow: 1 caption has no word with a vector, and gain 0 (first: caption row 1)",
    ]
    with one_blas_thread():
        assert not gains.T.rows(1, 2).any()
    assert dict(gains.settings) == {
        "vectors": gains.settings["vectors"], "tokens": "ptb", "idf": "no", "agg": "max", "own": "in",
    }  # fmt: skip
    assert gains.settings["vectors"].startswith("v.txt#") and gains.name == "bow"
    gains = load_gains(f"bow:{path}:idf=yes", split_of(["the cat", "a dog"], [0, 0]))
    assert log.notes[-1] == "bow: every word occurs in the captions of every image: with idf all gains are 0"
    assert not whole(gains).any()


def test_the_signature_depends_on_the_used_words_only(tmp_path: Path) -> None:
    split = split_of(["the cat"], [0])
    first = load_gains(f"bow:{saved(tmp_path / 'v.txt', lines_of(TABLE))}", split).settings["vectors"]
    more = saved(tmp_path / "v.txt", lines_of({**TABLE, "bird": [1, 2, 3]}))
    assert load_gains(f"bow:{more}", split).settings["vectors"] == first
    other = saved(tmp_path / "v.txt", lines_of({**TABLE, "cat": [1, 2, 3]}))
    assert load_gains(f"bow:{other}", split).settings["vectors"] != first


def test_errors_name_what_is_missing(tmp_path: Path, refuses: Refuses) -> None:
    path, split = saved(tmp_path / "v.txt", lines_of(TABLE)), split_of(["a cat"], [0])
    refuses(UsageError, load_gains, "bow", split)
    refuses(BadInput, load_gains, f"bow:{path}", split_of(["un chat"], [0]))
    refuses(BadInput, load_gains, f"bow:{path}", TestSet.captioned("custom", np.arange(1), np.arange(1), np.array([0])))
    refuses(UsageError, load_gains, f"bow:{path}:idf=maybe", split)
