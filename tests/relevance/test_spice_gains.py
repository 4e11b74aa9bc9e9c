"""SPICE of all pairs: the oracle, the counts of the tool, human ratings, the cache, and errors."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_spice as oracle
from tests.messages import Refuses
from tests.relevance.test_spice_graph import Item, items, tables
from tests.spice_fake import store_tuples
from tests.word_world import split_of, whole
from vsebench.errors import MissingPackage, UsageError
from vsebench.log import Log
from vsebench.relevance import load_gains
from vsebench.relevance.gains import Gains
from vsebench.relevance.spice.file import Tuples, normal
from vsebench.relevance.spice.spice import gains
from vsebench.types import TestSet


@st.composite
def worlds(draw: st.DrawFn) -> tuple[TestSet, Tuples, list[list[Item]]]:
    """Captions of few words, so that many tuples match; captions repeat, images may have no captions."""
    parsed = draw(st.lists(st.lists(items, max_size=5), min_size=1, max_size=5))
    images = draw(st.integers(1, 4))
    which = draw(st.lists(st.integers(0, len(parsed) - 1), min_size=1, max_size=7))
    image_of = draw(st.lists(st.integers(0, images - 1), min_size=len(which), max_size=len(which)))
    tuples = Tuples(tuple(f"t {i}" for i in range(len(parsed))), tuple(map(tuple, parsed)), draw(tables))
    split = split_of([f" t  {i} " for i in which], image_of, images)
    return split, tuples, [parsed[i] for i in which]


@given(worlds(), st.sampled_from(["in", "out"]), st.integers(1, 3), st.sampled_from("123"))
def test_all_pairs_are_those_of_the_definition(world: Any, own: str, block: int, threads: str) -> None:
    split, tuples, captions = world
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_NUM_THREADS", threads)
        made = gains(split, tuples, own=own)
    images = len(split.rows.ids)
    want = oracle.matrix(captions, split.image_of.tolist(), images, tuples.synsets, own == "out")
    got = whole(made, block)
    assert got.tolist() == [[float(np.float32(float(f))) for f in row] for row in want]


def tiny(own: str = "in") -> Gains:
    """Two images: one with captions ``a`` and ``b``, one with the empty caption; a third without any."""
    tuples = Tuples(
        ("a", "b", ""), ((("x",), ("x", "y", "be on")), (("x",),), ()), {w: frozenset() for w in ("x", "y", "on")}
    )
    return gains(split_of(["a", "b", "  "], [0, 0, 1], 3), tuples, own=own)


def test_worked_values_and_notes(log: Log) -> None:
    made = tiny()
    # a: x, y, x-y-on; b: x; both together: as a
    assert whole(made, 2).tolist() == [[1.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert (made.name, made.shape) == ("spice", (3, 3))
    assert list(made.settings) == ["text", "own", "tuples"]
    assert (made.settings["text"], made.settings["own"]) == ("original", "in")
    assert log.notes == ["1 caption without a tuple, and gain 0 with every image"]
    made = tiny("out")
    assert whole(made, 1).tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert made.settings["own"] == "out"


def test_the_tuples_are_part_of_the_settings() -> None:
    split = split_of(["a"], [0], 1)
    one = gains(split, Tuples(("a",), ((("x",),),), {"x": frozenset({5})}))
    same = gains(split, Tuples(("a",), ((("x",),),), {"x": frozenset({5}), "unused": frozenset()}))
    other = gains(split, Tuples(("a",), ((("x", "x"),),), {"x": frozenset({5})}))
    assert one.settings["tuples"] == same.settings["tuples"] != other.settings["tuples"]


def test_captions_that_the_parser_failed_on_are_counted_separately(log: Log) -> None:
    tuples = Tuples(("a", "b", "c"), ((), (), (("x",),)), {"x": frozenset()}, {"b": "stack overflow"})
    gains(split_of(["a", "b", "c"], [0, 0, 0], 1), tuples)
    said = ("could not be parsed", "without a tuple")
    assert log.notes == [f"1 caption {what}, and gain 0 with every image" for what in said]


# ---------------------------------------------------------------- from the cache


@pytest.fixture
def parsed(cache: Path) -> Tuples:
    """Two captions in a cache of their own."""
    tuples = Tuples(
        ("a cat", "dogs"), ((("cat",),), (("dog",), ("dog", "big"))), {w: frozenset() for w in ("cat", "dog", "big")}
    )
    store_tuples(tuples)
    return tuples


def test_errors_name_the_command_and_ptb_looks_up_tokenised_captions(parsed: Tuples, refuses: Refuses) -> None:
    split = split_of(["a cat", "a bird"], [0, 1], 2)
    refuses(MissingPackage, load_gains, "spice", split)
    named = TestSet.captioned("f30k", split.rows.ids, split.columns.ids, split.image_of, split.columns.texts)
    refuses(MissingPackage, load_gains, "spice:text=ptb", named)
    refuses(UsageError, load_gains, "spice:x", split)
    refuses(UsageError, load_gains, "spice:own=half", split)
    split = split_of(["A cat.", "Dogs !"], [0, 1], 2)
    made = load_gains("spice:text=ptb", split)
    assert made.settings["text"] == "ptb"
    assert made.rows(0, 2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    refuses(MissingPackage, load_gains, "spice", split)


# ---------------------------------------------------------------- COCO 5K


@pytest.fixture(scope="module")
def parsed_coco(real_data: Path) -> list[tuple[Item, ...]]:
    with gzip.open(real_data / "spice/coco5k.tuples.jsonl.gz", "rt", encoding="utf-8") as file:
        return [tuple(map(tuple, json.loads(line))) for line in file]


@pytest.fixture(scope="module")
def coco_spice(real_data: Path, coco5k: TestSet, parsed_coco: list[tuple[Item, ...]]) -> Gains:
    """SPICE of COCO 5K from stored tuples."""
    with gzip.open(real_data / "spice/synsets.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    unique = {normal(caption): found for caption, found in zip(coco5k.columns.texts or (), parsed_coco, strict=True)}
    tuples = Tuples(tuple(unique), tuple(unique.values()), {w: frozenset(map(int, s.split())) for w, s in lines})
    return gains(coco5k, tuples)


@pytest.mark.real_data
def test_the_counts_of_the_tool(coco_spice: Gains, real_data: Path) -> None:
    with gzip.open(real_data / "spice/coco5k_pairs.tsv.gz", "rt") as file:
        stock = list(csv.DictReader(file, delimiter="\t"))
    caption, image, tp, fp, fn = (np.array([int(r[k]) for r in stock]) for k in ("caption", "image", "tp", "fp", "fn"))
    assert len(stock) == 1_000
    p = coco_spice.values
    assert (p.caption_size[caption] == tp + fp).all()
    assert (p.image_size[image] == tp + fn).all()
    exact = 2 * tp / (2 * tp + fp + fn)
    assert np.abs(exact - [float(r["f"]) for r in stock]).max() < 1e-12
    want = exact.astype(np.float32)
    assert np.array_equal(coco_spice.T.at(caption, image[:, None])[:, 0], want)
    assert np.array_equal(coco_spice.at(image, caption[:, None])[:, 0], want)


@pytest.mark.real_data
def test_agreement_with_human_ratings(coco_spice: Gains, agreement: Any) -> None:
    assert agreement(coco_spice) == pytest.approx([0.7295, 0.5337], abs=5e-5)
