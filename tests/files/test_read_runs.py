"""Retrieved lists are read best first, without repeated items, with ids of one type a modality."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.files.pairs import LISTS, Pairs
from vsebench.files.read_pairs import read_pairs

BOTH = {"i2t": {"391895": [2, 1], "522418": [3]}, "t2i": {"1": [391895], "2": [522418, 391895]}}


def write(path: Path, content: Any) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def read(given: Any, direction: Any = None, **more: Any) -> list[Pairs]:
    return read_pairs(given, direction, LISTS, both=None, where="<run>", **more)


def lists_of(pairs: Pairs) -> dict[Any, list[Any]]:
    """query id -> item ids, best first."""
    out: dict[Any, list[Any]] = {query: [] for query in pairs.queries[pairs.given].tolist()}
    for query, item in zip(pairs.queries[pairs.query].tolist(), pairs.items[pairs.item].tolist(), strict=True):
        out[query].append(item)
    return out


def of_lines(lines: list[str], folder: Path, order: Any = "score") -> Pairs:
    """The lists of the lines of a run."""
    (pairs,) = read(write(folder / "run", "\n".join(lines)), order=order)
    assert pairs.direction is None and pairs.format == "trec"
    return pairs


def ties_of(pairs: Pairs) -> int:
    """Items with the score of the one before."""
    same = np.diff(pairs.query) == 0
    return 0 if pairs.number is None else int((same & (np.diff(pairs.number) == 0)).sum())


# --- JSON ------------------------------------------------------------------------------------------------


def check_both(found: list[Pairs]) -> None:
    assert {pairs.direction: lists_of(pairs) for pairs in found} == {
        "i2t": {391895: [2, 1], 522418: [3]},
        "t2i": {1: [391895], 2: [522418, 391895]},
    }


def test_json_holds_both_directions(tmp_path: Path) -> None:
    found = read(write(tmp_path / "r.json", BOTH))
    check_both(found)
    assert {(pairs.format, pairs.notes) for pairs in found} == {("eccv-json", ())}
    check_both(read(write(tmp_path / "r.gz", gzip.compress(json.dumps(BOTH).encode()))))
    check_both(read(write(tmp_path / "bom.json", b"\xef\xbb\xbf" + json.dumps(BOTH).encode())))
    check_both(read(BOTH))


def test_json_of_one_direction(tmp_path: Path, refuses: Refuses) -> None:
    one = write(tmp_path / "1", BOTH["i2t"])
    assert [(p.direction, lists_of(p)) for p in read(one)] == [(None, {391895: [2, 1], 522418: [3]})]
    assert [p.direction for p in read(one, "t2i")] == ["t2i"]
    assert [p.direction for p in read(write(tmp_path / "3", {"i2t": BOTH["i2t"]}), "i2t")] == ["i2t"]
    refuses(BadInput, read, write(tmp_path / "4", BOTH), direction="i2t")


def test_ids_are_numbers_when_all_of_a_side_are(tmp_path: Path) -> None:
    found = read(write(tmp_path / "r", {"5": ["1", "a.jpg"], "007": ["1"]}))
    assert lists_of(found[0]) == {"5": ["1", "a.jpg"], "007": ["1"]}
    found = read(write(tmp_path / "r", {"a.jpg": ["2", 3], "\u56fe": [4]}))
    assert lists_of(found[0]) == {"a.jpg": [2, 3], "\u56fe": [4]}
    assert lists_of(read({"a": [2.0, np.int64(3), np.str_(" 4 ")]})[0]) == {"a": [2, 3, 4]}


@pytest.mark.parametrize(
    "content",
    [
        '{"i2t": {}}',
        '{"i2t": [1]}',
        '{"1": {}}',
        '{"1": null}',
        '{"1": 3}',
        '{"1": {"2": 0.5, "3": "high"}}',
        '{"1": {"2": 0.5, "3": NaN}}',
        '{"1": {"2": 0.5, "3": null}}',
        '{"1": {"2": 0.5, " 2": 0.4}}',
        '{"1": {"2": 0.5}, "2": [1]}',
        '{"1": [true]}',
        '{"1": [NaN]}',
        '{"1": [[1]]}',
        '{"1": [5, 6, "5"]}',
        '{"i2t": {"1": [5, 5]}}',
        '{"1": [1]} x',
    ],
)
def test_json_that_is_refused(tmp_path: Path, content: str, refuses: Refuses) -> None:
    refuses(BadInput, read, write(tmp_path / "r.json", content))


# --- TREC ------------------------------------------------------------------------------------------------

RUN = """391895 Q0 770337 1 0.9 model
391895\tQ0\t771687\t2\t0.8\tmodel

522418 Q0 681330 0 0.5 model
522418 Q0 686718 1 0.5 model
"""


def test_trec(tmp_path: Path) -> None:
    expected = {391895: [770337, 771687], 522418: [681330, 686718]}
    (found,) = read(write(tmp_path / "run.txt", RUN), "i2t")
    assert lists_of(found) == expected and (found.format, found.direction) == ("trec", "i2t")
    assert found.notes == ("run.txt: lists are ordered by the rank column, which agrees with the scores",)
    packed = write(tmp_path / "run.gz", gzip.compress(RUN.replace("\n", "\r\n").encode()))
    assert lists_of(read(packed)[0]) == expected


@pytest.mark.parametrize(
    ("lines", "order"),
    [
        (["q Q0 a 1 0.1 t", "q Q0 b 2 0.9 t"], ["b", "a"]),
        (["q Q0 a 2 0.5 t", "q Q0 b 1 0.5 t", "q Q0 c 9 1e3 t"], ["c", "b", "a"]),
        (["q Q0 a 0 0.5 t", "q Q0 b 0 0.5 t"], ["a", "b"]),
        (["q Q0 a 5 0.9 t", "q Q0 b 6 0.5 t"], ["a", "b"]),
    ],
)
def test_scores_decide_where_ranks_contradict(lines: list[str], order: list[str], tmp_path: Path) -> None:
    found = of_lines(lines, tmp_path)
    assert lists_of(found) == {"q": order}
    assert found.notes == ("run: lists are ordered by score, then rank: the ranks of query 'q' contradict its scores",)


DISTANCES = ["q Q0 a 1 0.1 t", "q Q0 b 2 0.9 t", "q Q0 c 3 0.9 t", "p Q0 a 1 3 t", "p Q0 b 2 4 t", "o Q0 a 1 1 t"]


@pytest.mark.parametrize("order", ["score", "docid-desc"])
def test_ranks_in_the_place_of_scores_are_doubted(order: Any, tmp_path: Path) -> None:
    for first in (0, 1):
        lines = [f"{query}\t{item}\t{rank}" for query in "qp" for rank, item in enumerate("cab", first)]
        assert of_lines(lines, tmp_path, order=order).doubt.endswith("they look like ranks")
    assert not of_lines([*lines, "o\ta\t2"], tmp_path, order=order).doubt
    (found,) = read(write(tmp_path / "named", "\n".join(["query\titem\trank", *lines])), order=order)
    assert not found.doubt and lists_of(found) == {"q": ["c", "a", "b"], "p": ["c", "a", "b"]}


def test_scores_that_ascend_with_the_rank_are_doubted(tmp_path: Path) -> None:
    found = of_lines(DISTANCES, tmp_path)
    assert found.doubt == "the scores of 2 of 2 queries are smallest at rank 1: they look like distances"
    assert lists_of(found) == {"q": ["b", "c", "a"], "p": ["b", "a"], "o": ["a"]}, "as trec_eval orders them"
    assert of_lines(DISTANCES, tmp_path, order="docid-desc").doubt == found.doubt
    assert not of_lines([*DISTANCES[:3], "p Q0 a 1 4 t", "p Q0 b 2 3 t"], tmp_path).doubt
    for calm in (["q Q0 a 1 1 t", "q Q0 b 2 1 t"], ["q Q0 a 0 1 t", "q Q0 b 0 2 t"], ["q Q0 a 1 9 t", "q Q0 b 2 8 t"]):
        assert not of_lines(calm, tmp_path).doubt


def test_the_rank_column_orders_a_run_where_it_is_asked_for(tmp_path: Path, refuses: Refuses) -> None:
    found = of_lines(DISTANCES[::-1], tmp_path, "rank")
    assert lists_of(found) == {"q": ["a", "b", "c"], "p": ["a", "b"], "o": ["a"]}
    assert ties_of(found) == 1 and not found.doubt
    assert found.notes == ("run: lists are ordered by the rank column only",)
    refuses(BadInput, of_lines, ["q Q0 a 1 0.1 t", "q Q0 b 1 0.9 t"], tmp_path, "rank")
    for run in ({"1": [2]}, {"1": {2: 0.5}}, [("1", 2, 0.5)], write(tmp_path / "three", "q a 0.5\n")):
        refuses(UsageError, read, run, order="rank")


@pytest.mark.parametrize(
    "content",
    [
        "q Q0 a 1 0.5 t\nq Q0 b 2 0.4 t x\n",
        "q Q0 a x 0.5 t\n",
        "q Q0 a 1.5 0.5 t\n",
        f"q Q0 a {10**400} 0.5 t\n",
        "q a high\nq b higher\n",
        "image_id,caption_id,score\n1,2,0.5\n",
        "query,item,score\n1,,0.5\n",
        "query,item,score\n1,2,0.5\n1,3,\n",
        "query,item,rank\n1,2,first\n",
        "q Q0 a 1 inf t\n",
        "q Q0 a 1 0.9 t\nq Q0 b 2 0.8 t\nq Q0 a 3 0.7 t\n",
        pytest.param(b"q Q0 a 1 0.5 t\n" * 400 + b"\xff\xfe\n", id="not UTF-8"),
        pytest.param(gzip.compress(b"q Q0 a\0 1 0.5 t\n", mtime=0), id="binary"),
        pytest.param(gzip.compress(RUN.encode(), mtime=0)[:12] + b"\xff" * 30, id="damaged gzip"),
    ],
)
def test_trec_that_is_refused(tmp_path: Path, content: Any, refuses: Refuses) -> None:
    refuses(BadInput, read, write(tmp_path / "run", content))


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 9), min_size=1, unique=True), min_size=1))
def test_every_form_gives_the_same_lists(tmp_path_factory: pytest.TempPathFactory, lists: dict[int, list[int]]) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows = [(query, item, rank) for query, items in lists.items() for rank, item in enumerate(items, 1)]
    forms: list[Any] = [
        lists,
        {query: {item: -rank for rank, item in enumerate(items, 1)} for query, items in lists.items()},
        [(query, item) for query, item, _ in rows],
        [(query, str(item), -rank) for query, item, rank in rows],
        [{"query": query, "item": item, "score": -rank} for query, item, rank in rows],
        write(folder / "6", "".join(f"{q} Q0 {i} {r} {-r} t\n" for q, i, r in rows)),
        write(folder / "3", "query item score\n" + "".join(f"{q}\t{i} {-r}\n" for q, i, r in reversed(rows))),
        write(folder / "commas", "".join(f"{q},{i},{-r}\n" for q, i, r in reversed(rows))),
        write(folder / "csv", "score,item,query\n" + "".join(f"{-r},{i},{q}\n" for q, i, r in reversed(rows))),
        write(folder / "tsv", "query_id\tdoc_id\trank\n" + "".join(f"{q}\t{i}\t{r}\n" for q, i, r in reversed(rows))),
        write(folder / "jsonl", "".join(json.dumps({"qid": q, "docid": i, "sim": -r}) + "\n" for q, i, r in rows)),
        write(folder / "json", [[q, str(i), -r] for q, i, r in rows]),
        write(folder / "records", [{"image_id": q, "caption_id": i, "score": -r} for q, i, r in rows]),
    ]
    for form in forms:
        (found,) = read(form, "i2t")
        assert lists_of(found) == lists, form


# --- The end of a list -----------------------------------------------------------------------------------

LISTED = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "y"), ("c", "x")]


def with_ends(form: str, counts: dict[str, int], folder: Path, at: int | None = None) -> Any:
    """Lists a, b, c of one or two items in a form, with some -1 behind each, or in place ``at``."""
    rows = {q: [i for own, i in LISTED if own == q] for q in "abc"}
    for query, count in counts.items():
        place = len(rows[query]) if at is None else at
        rows[query][place:place] = ["-1"] * count
    flat = [(q, i, rank) for q, items in rows.items() for rank, i in enumerate(items, 1)]
    score = {"lowest": -3.4028235e38, "zero": 0.0, "nan": float("nan"), "-inf": -float("inf")}
    if form == "json":
        return write(folder / "r.json", {q: [-1 if i == "-1" else i for i in items] for q, items in rows.items()})
    if form == "memory":
        return {q: np.array(items) for q, items in rows.items()}
    if form == "pairs":
        return [(q, i) for q, i, _ in flat]
    if form == "csv":
        return write(folder / "r.csv", "query,item,rank\n" + "".join(f"{q},{i},{r}\n" for q, i, r in flat))
    numbers = [(q, i, r, score.get(form, 1 - r / 10) if i == "-1" else 1 - r / 10) for q, i, r in flat]
    return write(folder / "r.txt", "".join(f"{q} Q0 {i} {r} {s} t\n" for q, i, r, s in numbers))


FORMS = ("json", "memory", "pairs", "csv", "six", "lowest", "zero", "nan", "-inf")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("counts", [{"a": 1}, {"b": 1}, {"c": 3}, {"a": 2, "b": 1, "c": 1}])
def test_minus_1_ends_a_list(form: str, counts: dict[str, int], tmp_path: Path) -> None:
    (found,) = read(with_ends(form, counts, tmp_path))
    assert lists_of(found) == {"a": ["x", "y"], "b": ["x"], "c": ["y", "x"]}
    said = [note for note in found.notes if "end with -1" in note]
    assert len(said) == 1 and f"{len(counts)} of 3 lists end with -1 (the index found no more items)" in said[0]
    assert found.ended == len(counts)
    (plain,) = read(with_ends(form, {}, tmp_path))
    assert not plain.ended and not any("-1" in note for note in plain.notes)


@pytest.mark.parametrize("form", ("json", "memory", "pairs", "csv", "six"))
@pytest.mark.parametrize(("query", "at"), [("a", 0), ("a", 1), ("b", 0), ("c", 1)])
def test_minus_1_before_other_items_is_refused(
    form: str, query: str, at: int, tmp_path: Path, refuses: Refuses
) -> None:
    refuses(BadInput, read, with_ends(form, {query: 1}, tmp_path, at))


def test_a_list_of_nothing_but_ends_is_empty() -> None:
    (found,) = read({"a": [-1, -1], "b": ["x", -1]})
    assert lists_of(found) == {"a": [], "b": ["x"]} and found.ended == 2


# --- of other packages -----------------------------------------------------------------------------------

FOUND = {"q1": {"d7": 0.83, "d2": 0.81}, "q2": {"d2": 0.5}}
SEARCHED = [
    {"query_id": q, "query": "bus", "results": [{"corpus_id": d, "score": s} for d, s in items.items()]}
    for q, items in FOUND.items()
]
PUBLISHED: dict[str, Any] = {
    "mteb": {"mteb_model_meta": {"model_name": "org/m", "revision": "abc"}, "default": {"test": FOUND}},
    "mteb without a model": {"default": {"test": FOUND}},
    "mteb without levels": FOUND,
    "sentence-transformers": "".join(json.dumps(record) + "\n" for record in SEARCHED),
    "sentence-transformers, one query": json.dumps(SEARCHED[0]) + "\n",
    "sentence-transformers as JSON": SEARCHED,
    "M-BEIR": "q1 Q0 d7 1 0.83 clip 0\nq1 Q0 d2 2 0.81 clip 0\nq2 Q0 d2 1 0.5 clip 0\n",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_runs_as_other_packages_write_them(name: str, tmp_path: Path) -> None:
    (pairs,) = read(write(tmp_path / "run.json", PUBLISHED[name]))
    want = {q: list(items) for q, items in FOUND.items()}
    assert lists_of(pairs) == ({"q1": want["q1"]} if "one query" in name else want)
    assert pairs.number is not None and pairs.number[:2].tolist() == [0.83, 0.81]


def test_predictions_of_several_sets_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    sets = {"en": {"test": FOUND, "dev": {}}, "de": {"test": {"q2": {"d1": 1.0}}, "dev": FOUND}}
    file = write(tmp_path / "p.json", sets)
    refuses(BadInput, read, file)
    assert lists_of(read(file, part=("de", "test"))[0]) == {"q2": ["d1"]}
    assert lists_of(read(file, part=("en",))[0]) == lists_of(read(file, part=("dev",))[0]) == lists_of(read(FOUND)[0])
    refuses(BadInput, read, file, part=("de",))
    refuses(BadInput, read, file, part=("fr",))
    refuses(BadInput, read, write(tmp_path / "q.json", FOUND), part=("de",))
    refuses(BadInput, read, write(tmp_path / "r.json", SEARCHED), part=("de",))


def test_qrels_of_m_beir_have_the_task_behind(tmp_path: Path) -> None:
    (pairs,) = read_pairs(write(tmp_path / "qrels.txt", "9:1 0 9:7 1 0\n9:1 0 9:8 0 0\n"), None)
    assert (pairs.queries.tolist(), pairs.items.tolist(), pairs.grade.tolist()) == (["9:1"], ["9:7", "9:8"], [1, 0])
