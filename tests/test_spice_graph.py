"""Scene graphs and the scores of given pairs: worked cases, the oracle, and the classes of the tool itself."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_spice as oracle
from tests import spice_jar
from vsebench.errors import BadInput
from vsebench.relevance.spice import graph as spice_graph
from vsebench.relevance.spice.encode import encode
from vsebench.relevance.spice.graph import Score, graph, pair_scores, score_pairs
from vsebench.relevance.spice.tuples import Tuples, normal

Item = tuple[str, ...]
WORDS = "ant bee cow dog elk fox gnu hen".split()  # noqa: SIM905
items = st.one_of(
    st.tuples(st.sampled_from(WORDS)),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from([*WORDS, "be ant", "be elk"])),
)
tables = st.fixed_dictionaries({word: st.frozensets(st.integers(0, 7), max_size=4) for word in WORDS})


def world(captions: list[list[Item]], synsets: dict[str, frozenset[int]]) -> Tuples:
    """Captions called ``0``, ``1``, ... with these tuples."""
    return Tuples(tuple(map(str, range(len(captions)))), tuple(map(tuple, captions)), synsets)


def merged(captions: list[list[Item]], **synsets: set[int]) -> list[list[list[str]]]:
    """The graph of captions over words that mean nothing but themselves unless synsets are given."""
    words = {w for c in captions for t in c for word in t for w in (word, word.removeprefix("be "))}
    table = {word: frozenset(synsets.get(word, set())) for word in words}
    made = graph(world(captions, table), [str(i) for i in range(len(captions))])
    return sorted([sorted(concept) for concept in item] for item in made)


@given(st.lists(st.lists(items, max_size=8), max_size=5), tables)
def test_graphs_are_those_of_the_definition(captions: list[list[Item]], synsets: dict[str, frozenset[int]]) -> None:
    want = oracle.named(oracle.scene(captions, synsets))
    made = graph(world(captions, synsets), [str(i) for i in range(len(captions))])
    assert sorted([sorted(concept) for concept in item] for item in made) == want


@given(st.lists(st.lists(items, max_size=6), min_size=1, max_size=5), tables, st.data())
def test_pairs_are_those_of_the_definition(
    captions: list[list[Item]], synsets: dict[str, frozenset[int]], data: st.DataObject
) -> None:
    names = st.sampled_from([str(i) for i in range(len(captions))])
    pairs = data.draw(st.lists(st.tuples(names, st.lists(names, max_size=4)), max_size=5))
    scores = score_pairs(world(captions, synsets), [c for c, _ in pairs], [r for _, r in pairs], threads=2)
    for p, (candidate, references) in enumerate(pairs):
        one = oracle.scene([captions[int(candidate)]], synsets)
        many = oracle.scene([captions[int(r)] for r in references], synsets)
        for name, size in (("All", None), ("Object", 1), ("Attribute", 2), ("Relation", 3)):
            left, right = ([t for t in side if size in (None, len(t))] for side in (one, many))
            tp, n, m = oracle.counts(left, right)
            got = scores[name].one(p)
            assert (got.tp, got.fp, got.fn) == (tp, n - tp, m - tp)
            if size is not None and m == 0:
                assert (got.precision, got.recall, got.f) == (None, None, None)
                assert not scores[name].defined[p]
            else:
                assert got.f == pytest.approx(float(oracle.f_score(tp, n, m)), abs=1e-15)
                assert scores[name].f[p] == got.f


def test_repeated_tuples_count_once() -> None:
    assert merged([[("cat",), ("cat", "red"), ("cat", "mat", "on")]] * 3) == [
        [["cat"]], [["cat"], ["mat"], ["on"]], [["cat"], ["red"]], [["mat"]],
    ]  # fmt: skip


def test_a_leading_be_is_cut_from_relations_only() -> None:
    got = merged([[("be x", "y", "be on"), ("be x", "y", "on"), ("y", "be z", "be be at")]])
    assert [["be x"], ["y"], ["on"]] in got
    assert [["y"], ["be z"], ["be at"]] in got
    assert len(got) == 5


def test_a_word_joins_the_most_similar_node_and_the_first_on_ties() -> None:
    # new word d shares 1 of 3 synsets with a, 1 of 2 with b, 1 of 2 with c
    got = merged([[("a",), ("b",), ("c",), ("d",)]], a={1, 5}, b={2}, c={3}, d={1, 2, 3})
    assert got == [[["a"]], [["b", "d"]], [["c"]]]
    got = merged([[("a",), ("b",), ("d",)]], a={1}, b={2}, d={1, 2})
    assert got == [[["a", "d"]], [["b"]]]


def test_synsets_of_a_merged_node_are_united() -> None:
    # b brings synset 2 to the node of a, so that c finds it there; two words with the same synset count it once
    assert merged([[("a",), ("b",), ("c",)]], a={1}, b={1, 2}, c={2}) == [[["a", "b", "c"]]]
    got = merged([[("a",), ("b",), ("x",), ("d",)]], a={1, 2}, b={1, 2}, x={3, 4, 5}, d={1, 3, 4})
    assert got == [[["a", "b"]], [["d", "x"]]]  # d: 1 of 4 with {a, b}, 2 of 4 with {x}


def test_attributes_merge_inside_their_node_only() -> None:
    red = {"red": {1}, "crimson": {1}, "dark": {1, 2}}
    got = merged([[("cat", "red"), ("dog", "crimson"), ("cat", "crimson"), ("cat", "dark")]], **red)
    assert got == [[["cat"]], [["cat"], ["crimson", "dark", "red"]], [["dog"]], [["dog"], ["crimson"]]]


def test_relations_merge_between_the_same_two_nodes_only() -> None:
    near = {"by": {1}, "near": {1}}
    got = merged([[("a", "b", "by"), ("b", "a", "near"), ("a", "b", "near"), ("a", "a", "by")]], **near)
    relations = [t for t in got if len(t) == 3]
    assert relations == [[["a"], ["a"], ["by"]], [["a"], ["b"], ["by", "near"]], [["b"], ["a"], ["near"]]]


def test_the_order_of_captions_matters() -> None:
    table = {"a": {1}, "b": {2}, "d": {1, 2}}
    assert merged([[("a",)], [("b",)], [("d",)]], **table) == [[["a", "d"]], [["b"]]]
    assert merged([[("d",)], [("a",)], [("b",)]], **table) == [[["a", "b", "d"]]]


def test_a_pair_worked_by_hand() -> None:
    # One concept {cat, kitty} in the references; "red", a colour, is alone there, "big" is no colour.
    captions: list[list[Item]] = [
        [("kitty", "red"), ("kitty", "mat", "sit on"), ("two",)],
        [("cat", "red"), ("cat", "big"), ("cat", "mat", "on")],
        [("kitty", "two")],
    ]
    words = ("kitty", "cat", "red", "big", "mat", "sit on", "on", "two")
    synsets = {word: frozenset({1} if word in ("kitty", "cat") else ()) for word in words}
    got = pair_scores(world(captions, synsets), "0", [" 1", "2 "])
    # candidate: kitty, mat, two, kitty-red, kitty-mat-sit on
    # reference: cat, mat, cat-red, cat-big, cat-two, cat-mat-on
    assert got["All"] == Score(3, 2, 3, 3 / 5, 3 / 6, 6 / 11)
    assert got["Object"] == Score(2, 1, 0, 2 / 3, 1.0, 4 / 5)
    assert got["Attribute"] == Score(1, 0, 2, 1.0, 1 / 3, 2 / 4)
    assert got["Relation"] == Score(0, 1, 1, 0.0, 0.0, 0.0)
    assert got["Color"] == Score(1, 0, 0, 1.0, 1.0, 1.0)
    assert got["Size"] == Score(0, 0, 1, 0.0, 0.0, 0.0)
    assert got["Cardinality"] == Score(0, 0, 1, 0.0, 0.0, 0.0)
    assert list(got) == ["All", "Object", "Attribute", "Relation", "Cardinality", "Color", "Size"]


def test_a_merged_attribute_is_no_colour() -> None:
    captions: list[list[Item]] = [[("cat", "gray"), ("cat", "grey")], [("cat", "gray")]]
    tuples = world(captions, {"cat": frozenset(), "gray": frozenset({1}), "grey": frozenset({1})})
    assert pair_scores(tuples, "0", ["1"])["Color"] == Score(0, 0, 1, 0.0, 0.0, 0.0)
    assert pair_scores(tuples, "1", ["0"])["Color"] == Score(0, 1, 0, None, None, None)


def test_recall_beyond_one() -> None:
    captions: list[list[Item]] = [[("a",), ("b",)], [("c",)]]
    tuples = world(captions, {"a": frozenset({1}), "b": frozenset({2}), "c": frozenset({1, 2})})
    assert pair_scores(tuples, "0", ["1"])["All"] == Score(2, 0, -1, 1.0, 2.0, 4 / 3)


def test_empty_sides_score_zero() -> None:
    tuples = world([[], [("a",)]], {"a": frozenset()})
    assert pair_scores(tuples, "0", ["1"])["All"] == Score(0, 0, 1, 0.0, 0.0, 0.0)
    assert pair_scores(tuples, "1", [])["All"] == Score(0, 1, 0, 0.0, 0.0, 0.0)
    assert pair_scores(tuples, "0", ["0"])["All"] == Score(0, 0, 0, 0.0, 0.0, 0.0)
    assert pair_scores(tuples, "0", [])["Object"] == Score(0, 0, 0, None, None, None)
    assert {name: len(s.tp) for name, s in score_pairs(tuples, [], []).items()}.keys() >= {"All", "Color"}


def test_errors_name_what_is_missing() -> None:
    tuples = world([[("a", "b")]], {"a": frozenset()})
    with pytest.raises(BadInput, match=r"synset table has no word 'b'\n  fix: import the tuples together with"):
        graph(tuples, ["0"])
    with pytest.raises(BadInput, match=r"1 of 2 captions have no SPICE tuples \(first: 'no such'\)"):
        graph(tuples, ["0", "no  such"])
    with pytest.raises(BadInput, match="1 candidates for 0 reference sets"):
        score_pairs(tuples, ["0"], [])
    with pytest.raises(BadInput, match="a SPICE tuple has 4 elements"):
        encode([[("a", "a", "a", "a")]], {})
    with pytest.raises(BadInput, match="a SPICE tuple has 0 elements"):
        encode([[()]], {})
    with pytest.raises(BadInput, match=r"no word 'q' and 1 more"):
        encode([[("q", "r", "be a")]], {"a": frozenset()})


def test_the_word_lists_are_those_of_the_tool() -> None:
    spec = find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[spice]')")
    jar = Path(next(iter(spec.submodule_search_locations))) / "spice" / "spice-1.0.jar"
    listed = {w for name in ("NUMBERS", "COLORS", "SIZES") for w in getattr(spice_graph, name)}
    assert text_constants(zipfile.ZipFile(jar).read("edu/anu/spice/TupleFilter.class")) == listed


def text_constants(code: bytes) -> set[str]:
    """The string constants of a Java class file."""
    widths = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 18: 4}
    texts, used, at, number = {}, [], 10, 1
    while number < int.from_bytes(code[8:10], "big"):
        tag, two = code[at], int.from_bytes(code[at + 1 : at + 3], "big")
        if tag == 1:
            texts[number] = code[at + 3 : at + 3 + two].decode()
            at += 2 + two
        else:
            used += [two] if tag == 8 else []
            at += widths[tag]
        at, number = at + 1, number + (2 if tag in (5, 6) else 1)
    return {texts[i] for i in used}


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.real_data
def test_the_tool_itself_agrees_on_every_subscore(coco_tuples: tuple[list[str], list[list[Item]], Tuples]) -> None:
    if missing := [name for name in spice_jar.NEEDED if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed (pip install 'vsebench[spice]')")
    texts, parsed, tuples = coco_tuples
    rng = np.random.default_rng(3)
    pairs = [(int(c), int(c) // 5 if n % 3 == 0 else int(rng.integers(5000))) for n, c in
             enumerate(rng.integers(0, 25000, 1000))]  # fmt: skip
    cases = [[parsed[c], [parsed[r] for r in range(5 * i, 5 * i + 5)]] for c, i in pairs]
    done = subprocess.run(
        [sys.executable, spice_jar.__file__], input=json.dumps(cases), capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    scores = score_pairs(tuples, [texts[c] for c, _ in pairs], [texts[5 * i : 5 * i + 5] for _, i in pairs])
    differ = 0
    for p, row in enumerate(json.loads(done.stdout)):
        for name, want in row.items():
            s = scores[name].one(p)
            assert (s.f is None) == (want[5] is None)
            differ += [s.tp, s.fp, s.fn, s.precision, s.recall, s.f] != pytest.approx(want, abs=1e-12)
    # The tool walks sets in the order of memory addresses: one pair in tens of thousands depends on it.
    assert differ <= 2


@pytest.fixture(scope="session")
def coco_tuples(real_data: Path) -> tuple[list[str], list[list[Item]], Tuples]:
    """The captions of COCO 5K, their tuples row by row, and both as ``Tuples``."""
    texts = [json.loads(line)["caption"] for line in (real_data / "coco5k/captions.jsonl").open(encoding="utf-8")]
    with gzip.open(real_data / "spice/coco5k.tuples.jsonl.gz", "rt", encoding="utf-8") as file:
        parsed = [[tuple(item) for item in json.loads(line)] for line in file]
    synsets = {}
    with gzip.open(real_data / "spice/synsets.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            word, _, ids = line.rstrip("\n").partition("\t")
            synsets[word] = frozenset(map(int, ids.split()))
    unique = {normal(text): tuple(items) for text, items in zip(texts, parsed, strict=True)}
    return texts, parsed, Tuples(tuple(unique), tuple(unique.values()), synsets)
