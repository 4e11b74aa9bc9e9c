"""Merged scene graphs and matching tuples: worked cases and the oracle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_spice as oracle
from vsebench.relevance.spice.encode import build, encode
from vsebench.relevance.spice.file import Tuples
from vsebench.relevance.spice.spice import gains
from vsebench.types import TestSet

Item = tuple[str, ...]
Synsets = dict[str, frozenset[int]]
WORDS = "ant bee cow dog elk fox gnu hen".split()  # noqa: SIM905
items = st.one_of(
    st.tuples(st.sampled_from(WORDS)),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from([*WORDS, "be ant", "be elk"])),
)
tables = st.fixed_dictionaries({word: st.frozensets(st.integers(0, 7), max_size=4) for word in WORDS})


def graph(captions: list[list[Item]], synsets: Synsets) -> list[list[list[str]]]:
    """The tuples of the graph of some captions, merged in their order; every concept as its sorted words."""
    encoded = encode(captions, synsets)
    merged_graph = build(encoded, np.array([0, len(captions)]), np.arange(len(captions)))
    ptr, words = merged_graph.concepts.indptr.tolist(), merged_graph.concepts.indices.tolist()
    concepts = [sorted(encoded.words[w] for w in words[a:b]) for a, b in pairwise(ptr)]
    return sorted([concepts[c] for c in row if c >= 0] for row in merged_graph.tuples.tolist())


def merged(captions: list[list[Item]], **synsets: set[int]) -> list[list[list[str]]]:
    """The graph of captions whose words have no synsets but the given ones."""
    words = {w for c in captions for t in c for word in t for w in (word, word.removeprefix("be "))}
    return graph(captions, {word: frozenset(synsets.get(word, set())) for word in words})


def scored(candidate: list[Item], references: list[list[Item]], synsets: Synsets) -> tuple[float, float, float]:
    """F of a candidate against references, and the sizes of both graphs."""
    captions = [candidate, *references]
    names = tuple(str(i) for i in range(len(captions)))
    split = TestSet.captioned(
        "custom", np.arange(2), np.arange(len(captions)), np.array([1] + [0] * len(references)), names
    )
    made = gains(split, Tuples(names, tuple(map(tuple, captions)), synsets))
    f = made.T.at(np.array([0]), np.array([[0]]))[0, 0]
    return float(f), float(made.values.caption_size[0]), float(made.values.image_size[0])


@given(st.lists(st.lists(items, max_size=8), max_size=5), tables)
def test_graphs_are_those_of_the_definition(captions: list[list[Item]], synsets: Synsets) -> None:
    assert graph(captions, synsets) == oracle.named(oracle.scene(captions, synsets))


@pytest.mark.parametrize(
    ("captions", "synsets", "graph"),
    [
        # Repeated tuples count once; a leading "be" is removed from relations only.
        ([[("cat",), ("cat", "red"), ("cat", "mat", "on")]] * 3, {}, "cat; cat mat on; cat red; mat"),
        ([[("x y", "y", "be on"), ("x y", "y", "on"), ("y", "be z", "be be at")]], {},
         "be_z; x_y; x_y y on; y; y be_z be_at"),
        # A word joins the most similar node: d shares 1 of 3 synsets with a, 1 of 2 with b and c; the first on ties.
        ([[("a",), ("b",), ("c",), ("d",)]], {"a": {1, 5}, "b": {2}, "c": {3}, "d": {1, 2, 3}}, "a; b,d; c"),
        ([[("a",), ("b",), ("d",)]], {"a": {1}, "b": {2}, "d": {1, 2}}, "a,d; b"),
        ([[("d",)], [("a",)], [("b",)]], {"a": {1}, "b": {2}, "d": {1, 2}}, "a,b,d"),  # the order of captions matters
        # Synsets of a merged node are united: b brings 2 to a, where c finds it; d: 1 of 4 with {a, b}, 2 of 4 with x.
        ([[("a",), ("b",), ("c",)]], {"a": {1}, "b": {1, 2}, "c": {2}}, "a,b,c"),
        ([[("a",), ("b",), ("x",), ("d",)]], {"a": {1, 2}, "b": {1, 2}, "x": {3, 4, 5}, "d": {1, 3, 4}}, "a,b; d,x"),
        # Attributes merge inside their node, relations between the same two nodes in the same direction.
        ([[("cat", "red"), ("dog", "crimson"), ("cat", "crimson"), ("cat", "dark")]],
         {"red": {1}, "crimson": {1}, "dark": {1, 2}}, "cat; cat crimson,dark,red; dog; dog crimson"),
        ([[("a", "b", "by"), ("b", "a", "near"), ("a", "b", "near"), ("a", "a", "by")]],
         {"by": {1}, "near": {1}}, "a; a a by; a b by,near; b; b a near"),
    ],
)  # fmt: skip
def test_worked_graphs(captions: list[list[Item]], synsets: dict[str, set[int]], graph: str) -> None:
    found = [" ".join(",".join(words).replace(" ", "_") for words in item) for item in merged(captions, **synsets)]
    assert sorted(found) == graph.split("; ")


def test_a_pair_worked_by_hand() -> None:
    # The references merge to one concept {cat}, which is similar to kitty.
    candidate: list[Item] = [("kitty", "red"), ("kitty", "mat", "sit on"), ("two",)]
    references: list[list[Item]] = [[("cat", "red"), ("cat", "big"), ("cat", "mat", "on")], [("kitty", "two")]]
    words = ("kitty", "cat", "red", "big", "mat", "sit on", "on", "two")
    synsets = {word: frozenset({1} if word in ("kitty", "cat") else ()) for word in words}
    # candidate: kitty, mat, two, kitty-red, kitty-mat-sit on
    # reference: cat, mat, cat-red, cat-big, cat-two, cat-mat-on
    assert scored(candidate, references, synsets) == (np.float32(6 / 11), 5, 6)


def test_recall_beyond_one() -> None:
    synsets = {"a": frozenset({1}), "b": frozenset({2}), "c": frozenset({1, 2})}
    assert scored([("a",), ("b",)], [[("c",)]], synsets) == (np.float32(4 / 3), 2, 1)


def test_empty_graphs_score_zero() -> None:
    synsets: Synsets = {"a": frozenset()}
    assert scored([], [[("a",)]], synsets) == (0, 0, 1)
    assert scored([("a",)], [], synsets) == (0, 1, 0)
    assert scored([], [[]], synsets) == (0, 0, 0)
