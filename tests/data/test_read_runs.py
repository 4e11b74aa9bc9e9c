"""Retrieved lists are read best first, without repeated items, with ids of one type a modality."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsebench.data.formats.eccv_json import of_value
from vsebench.data.formats.raw import RawLists
from vsebench.data.formats.trec import parse_trec
from vsebench.data.runs import read_runs
from vsebench.errors import BadInput, UsageError

BOTH = {"i2t": {"391895": [2, 1], "522418": [3]}, "t2i": {"1": [391895], "2": [522418, 391895]}}


def write(path: Path, content: Any) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def refused(path: Path, *words: str, error: type[Exception] = BadInput, **kwargs: Any) -> None:
    with pytest.raises(error) as caught:
        read_runs([path], **kwargs)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "fix: " in message and str(path) in message


# --- JSON ------------------------------------------------------------------------------------------------


def check_both(raw: RawLists) -> None:
    assert raw.lists == {
        "i2t": {391895: [2, 1], 522418: [3]},
        "t2i": {1: [391895], 2: [522418, 391895]},
    }


def test_json_holds_both_directions(tmp_path: Path) -> None:
    raw = read_runs(write(tmp_path / "r.json", BOTH))
    check_both(raw)
    assert raw.format == "eccv-json" and raw.sources == (tmp_path / "r.json",) and raw.notes == ()
    check_both(read_runs([write(tmp_path / "r.gz", gzip.compress(json.dumps(BOTH).encode()))]))
    check_both(read_runs([write(tmp_path / "bom.json", b"\xef\xbb\xbf" + json.dumps(BOTH).encode())]))


def test_json_of_two_files(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", BOTH["i2t"]), write(tmp_path / "2", BOTH["t2i"])
    check_both(read_runs([one, two], ["i2t", "t2i"]))
    assert list(read_runs([one, two]).lists) == ["?0", "?1"]
    assert list(read_runs([one, two], [None, "t2i"]).lists) == ["?0", "t2i"]
    check_both(read_runs([write(tmp_path / "3", {"i2t": BOTH["i2t"]}), two], ["i2t", "t2i"]))
    with pytest.raises(BadInput, match=f"holds i2t, as does {one}"):
        read_runs([one, two], ["i2t", "i2t"])
    refused(write(tmp_path / "4", BOTH), "holds i2t and t2i, but was given as i2t", "leave out", directions=["i2t"])
    with pytest.raises(UsageError, match="1 direction for 2 runs"):
        read_runs([one, two], ["i2t"])
    with pytest.raises(UsageError, match="no run was given"):
        read_runs([])


def test_ids_are_numbers_only_when_all_of_their_kind_are(tmp_path: Path) -> None:
    lists = {"i2t": {"1": ["2", 3]}, "t2i": {"5": ["1", "a.jpg"], "007": ["1"]}}
    raw = read_runs([write(tmp_path / "r", lists)])
    assert raw.lists == {"i2t": {"1": ["2", "3"]}, "t2i": {"5": ["1", "a.jpg"], "007": ["1"]}}
    raw = read_runs([write(tmp_path / "r", {"a.jpg": ["2", 3], "\u56fe": [4]})])
    assert raw.lists == {"?0": {"a.jpg": [2, 3], "\u56fe": [4]}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"i2t": {}}', ("i2t: holds no lists",)),
        ('{"i2t": [1]}', ("i2t: is a list, not a mapping of queries",)),
        ('{"1": {}}', ("query '1' has an empty list",)),
        ('{"1": null}', ("query '1' has a null, not a list of ids or a mapping of ids to scores",)),
        ('{"1": 3}', ("query '1' has a number",)),
        ('{"1": {"2": 0.5, "3": "high"}}', ("query '1', item '3': 'high' is not a finite number",)),
        ('{"1": {"2": 0.5, "3": NaN}}', ("query '1', item '3': nan is not a finite number",)),
        ('{"1": {"2": 0.5, "3": null}}', ("query '1', item '3': None is not a finite number",)),
        ('{"1": {"2": 0.5, " 2": 0.4}}', ("query '1' lists item '2' twice, at ranks 1 and 2",)),
        ('{"1": {"2": 0.5}, "2": [1]}', ("query '2' has no scores, and 1 of 2 queries have them",)),
        ('{"1": [true]}', ("rank 1: True is not an id",)),
        ('{"1": [NaN]}', ("rank 1: nan is not an id",)),
        ('{"1": [[1]]}', ("rank 1: [1] is not an id",)),
        ('{"1": [5, 6, "5"]}', ("query '1' lists item '5' twice, at ranks 1 and 3", "count twice")),
        ('{"i2t": {"1": [5, 5]}}', ("i2t: query '1' lists item '5' twice",)),
        ('{"1": [1]} x', ("is not valid JSON (Extra data",)),
    ],
)
def test_json_that_is_refused(tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    refused(write(tmp_path / "r.json", content), *words)


# --- TREC ------------------------------------------------------------------------------------------------

RUN = """391895 Q0 770337 1 0.9 model
391895\tQ0\t771687\t2\t0.8\tmodel

522418 Q0 681330 0 0.5 model
522418 Q0 686718 1 0.5 model
"""


def test_trec(tmp_path: Path) -> None:
    expected = {391895: [770337, 771687], 522418: [681330, 686718]}
    raw = read_runs([write(tmp_path / "run.txt", RUN)], ["i2t"])
    assert raw.lists == {"i2t": expected} and raw.format == "trec"
    assert raw.notes == ("run.txt: lists are ordered by the rank column, which agrees with the scores",)
    packed = write(tmp_path / "run.gz", gzip.compress(RUN.replace("\n", "\r\n").encode()))
    assert read_runs([packed]).lists == {"?0": expected}
    mixed = read_runs([packed, write(tmp_path / "r", {"1": [2]})], ["i2t", "t2i"])
    assert mixed.format == "trec + eccv-json"


@pytest.mark.parametrize(
    ("lines", "order"),
    [
        (["q Q0 a 1 0.1 t", "q Q0 b 2 0.9 t"], ["b", "a"]),
        (["q Q0 a 2 0.5 t", "q Q0 b 1 0.5 t", "q Q0 c 9 1e3 t"], ["c", "b", "a"]),
        (["q Q0 a 0 0.5 t", "q Q0 b 0 0.5 t"], ["a", "b"]),
        (["q Q0 a 5 0.9 t", "q Q0 b 6 0.5 t"], ["a", "b"]),
    ],
)
def test_scores_decide_where_ranks_contradict(lines: list[str], order: list[str]) -> None:
    found = parse_trec(lines, Path("run"))
    assert found.lists == {"": {"q": order}}
    assert found.notes == ("lists are ordered by score, then rank: the ranks of query 'q' contradict its scores",)


DISTANCES = ["q Q0 a 1 0.1 t", "q Q0 b 2 0.9 t", "q Q0 c 3 0.9 t", "p Q0 a 1 3 t", "p Q0 b 2 4 t", "o Q0 a 1 1 t"]


def test_scores_that_ascend_with_the_rank_are_doubted() -> None:
    found = parse_trec(DISTANCES, Path("run"))
    assert found.doubt == "the scores of 2 of 2 queries are smallest at rank 1: they look like distances"
    assert found.lists[""] == {"q": ["b", "c", "a"], "p": ["b", "a"], "o": ["a"]}, "as trec_eval orders them"
    assert parse_trec([*DISTANCES[:3], "p Q0 a 1 4 t", "p Q0 b 2 3 t"], Path("run")).doubt is None
    for calm in (["q Q0 a 1 1 t", "q Q0 b 2 1 t"], ["q Q0 a 0 1 t", "q Q0 b 0 2 t"], ["q Q0 a 1 9 t", "q Q0 b 2 8 t"]):
        assert parse_trec(calm, Path("run")).doubt is None


def test_the_rank_column_orders_a_run_where_it_is_asked_for(tmp_path: Path) -> None:
    found = parse_trec(DISTANCES[::-1], Path("run"), "rank")
    assert found.lists[""] == {"q": ["a", "b", "c"], "p": ["a", "b"], "o": ["a"]}
    assert found.tied == {"": {"q": [2]}} and found.doubt is None
    assert found.notes == ("lists are ordered by the rank column alone",)
    with pytest.raises(BadInput, match="query 'q' has rank 1 twice, in lines 1 and 2"):
        parse_trec(["q Q0 a 1 0.1 t", "q Q0 b 1 0.9 t"], Path("run"), "rank")
    with pytest.raises(UsageError, match="run_order='rank' has no meaning for lists without a rank column"):
        read_runs([write(tmp_path / "r", {"1": [2]})], ["i2t"], "rank")
    path = write(tmp_path / "run.txt", "\n".join(DISTANCES))
    assert read_runs(path).doubts == ((path, found_doubt := parse_trec(DISTANCES, path).doubt),) and found_doubt
    assert read_runs(path, (), "rank").doubts == ()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q Q0 a 1 0.5 t\nq Q0 b 2 0.4 t x\n", ("line 2 has 7 columns",)),
        ("q Q0 a 1 inf t\n", ("line 1: score 'inf'",)),
        ("q Q0 a 1 0.9 t\nq Q0 b 2 0.8 t\nq Q0 a 3 0.7 t\n", ("query 'q' lists item 'a' twice, in lines 1 and 3",)),
        (b"q Q0 a 1 0.5 t\n" * 400 + b"\xff\xfe\n", ("is not readable text",)),
        (gzip.compress(b"q Q0 a\0 1 0.5 t\n", mtime=0), ("line 1 holds binary data",)),
        (gzip.compress(RUN.encode(), mtime=0)[:12] + b"\xff" * 30, ("is not readable text",)),
    ],
)
def test_trec_that_is_refused(tmp_path: Path, content: Any, words: tuple[str, ...]) -> None:
    refused(write(tmp_path / "run", content), *words)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 9), min_size=1, unique=True), min_size=1))
def test_both_formats_give_the_same_lists(lists: dict[int, list[int]]) -> None:
    lines = [
        f"{query} Q0 {item} {rank} {-rank} t" for query, items in lists.items() for rank, item in enumerate(items, 1)
    ]
    trec = parse_trec(lines, Path("run")).lists[""]
    assert trec == of_value(lists, Path("run")).lists[""]
    assert trec == {str(query): [str(item) for item in items] for query, items in lists.items()}
