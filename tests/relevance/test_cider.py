"""CIDEr-D and plain CIDEr: the formula, published values, equal bits in both directions, edge cases."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import oracle_cider
from tests.messages import Refuses
from tests.word_world import whole
from vsebench.errors import BadInput, UsageError
from vsebench.log import Log
from vsebench.numeric.parallel import spread
from vsebench.relevance import load_gains
from vsebench.relevance.cider import cider as cider_features
from vsebench.relevance.cider.cider import corpus_df, grams
from vsebench.relevance.gains import Gains, Spec
from vsebench.text.ptb import tokenise
from vsebench.types import TestSet

WHITESPACE = {"tokens": "whitespace"}


def load(split: TestSet, settings: dict[str, str]) -> Gains:
    return load_gains(Spec("cider", None, settings), split)


def split_of(references: list[list[str]]) -> TestSet:
    """A split whose images have these captions."""
    texts = tuple(c for captions in references for c in captions)
    image_of = np.repeat(np.arange(len(references)), [len(r) for r in references])
    return TestSet.captioned("custom", np.arange(len(references)), np.arange(len(texts)) + 100, image_of, texts)


def by_definition(split: TestSet, variant: str = "d", own: str = "in") -> np.ndarray:
    """(caption, image) float64 values of the oracle, on white-space tokens."""
    tokens, n_image = [t.lower().split() for t in split.columns.texts or ()], len(split.rows.ids)
    captions = [np.flatnonzero(split.image_of == i).tolist() for i in range(n_image)]
    df = oracle_cider.document_frequency([[tokens[c] for c in mine] for mine in captions])

    def value(c: int, mine: list[int]) -> float:
        references = [tokens[r] for r in mine if own == "in" or r != c]
        return oracle_cider.cider(tokens[c], references, df, n_image, variant)

    return np.array([[value(c, mine) for mine in captions] for c in range(len(tokens))])


WORDS = ["a", "b", "c", "d", "e"]
CAPTION = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
REFERENCES = st.lists(st.lists(CAPTION, min_size=1, max_size=4), min_size=1, max_size=7)


@given(REFERENCES, st.sampled_from(["d", "plain"]), st.sampled_from(["in", "out"]))
@example([[" ".join(f"w{i % 97}" for i in range(1000)), "a dog"], ["a cat w1 w2 w3"], ["w5 w6 w7"]], "d", "in")
def test_the_formula(references: list[list[str]], variant: str, own: str) -> None:
    split = split_of(references)
    gains = load(split, {**WHITESPACE, "variant": variant, "own": own})
    assert np.allclose(whole(gains).T, by_definition(split, variant, own), rtol=0, atol=2e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.1]), st.sampled_from([0.0, 0.4]))
def test_values_do_not_depend_on_the_arrangement_of_features(seed: int, frequent: float, dense: float) -> None:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, 31) ** -1.2
    words = [f"w{i}" for i in range(30)]
    references = [
        [" ".join(rng.choice(words, rng.integers(0, 12), p=weight / weight.sum())) for _ in range(rng.integers(1, 4))]
        for _ in range(8)
    ]
    split = split_of(references)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cider_features, "MIN_IMAGE_FRACTION", frequent)
        patch.setattr(cider_features, "MIN_CAPTION_FRACTION", dense)
        patch.setattr(cider_features, "TABLE_BYTES", 3 * 8 * 8 * 20)  # room for some lengths, not for all
        gains = load(split, WHITESPACE)
        assert np.allclose(whole(gains).T, by_definition(split), rtol=0, atol=2e-6)


def test_golden_9x3(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("cider_pairwise_9x3")
    split = split_of(case["inputs"]["refs"])
    for variant in ("d", "plain"):
        found = whole(load(split, {**WHITESPACE, "variant": variant})).T
        assert found == pytest.approx(np.array(case["expected"][variant]), abs=1e-6)


def test_golden_edge_cases(golden: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    case = golden("cider_edge_cases")
    references, expected = case["inputs"]["refs"], case["expected"]
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"image_id": i, "captions": captions}) for i, captions in enumerate(references)]
    corpus.write_text("\n".join(lines))
    # The frequencies of the three images, so that further captions do not change them.
    split = split_of([*references, ["", "man", "unseen words entirely"], ["a purple zebra rests on mars"]])
    gains = load(split, {**WHITESPACE, "df": str(corpus)})
    found = whole(gains).T
    assert found[9, 0] == expected["empty_hypothesis"]
    assert found[10, 0] == pytest.approx(expected["one_word_hyp"], abs=1e-6)
    assert found[11, 0] == expected["unseen_words"]
    assert found[12, 4] == pytest.approx(expected["hyp_equals_only_ref"], abs=1e-6)
    assert gains.settings["df"].startswith("corpus.jsonl#")


def test_edge_cases_are_noted(log: Log) -> None:
    references = [["a dog runs on grass", "", "the dog"], ["a cat sits on grass"], ["a bird sits on the fence"]]
    gains = load(split_of(references), {"own": "out"})
    whole(gains)
    assert log.notes == [
        "cider: 1 caption has no tokens (first: id 101): CIDEr 0, also as a reference",
        "cider: 1 caption has fewer than 4 tokens; longer n-grams count as 0",
        "cider: 2 n-grams occur with every image of the split: weight 0",
        "cider: 2 images have only one caption, and gain 0 with it (own=out)",
    ]
    assert not whole(load(split_of([["a dog runs", "a dog"]]), {})).any()
    assert any("there is one image in the split" in note for note in log.notes)
    split = TestSet.captioned("custom", np.arange(3), np.arange(2), np.array([0, 2]), ("a dog runs", "a cat runs fast"))
    assert not whole(load(split, WHITESPACE))[1].any()
    assert "cider: 1 image has no captions, and gain 0 with every caption" in log.notes


def test_captions_may_be_in_any_order() -> None:
    split = split_of([["a dog runs", "the dog eats"], ["a cat sits", "the cat sleeps here"], ["one bird", "birds fly"]])
    order = np.array([5, 0, 3, 1, 4, 2])
    captions = tuple((split.columns.texts or ())[i] for i in order)
    mixed = TestSet.captioned("custom", split.rows.ids, split.columns.ids[order], split.image_of[order], captions)
    assert pytest.approx(whole(load(split, WHITESPACE)).T[order], abs=1e-6) == whole(load(mixed, WHITESPACE)).T


def test_several_threads() -> None:
    rng = np.random.default_rng(4)
    references = [[" ".join(rng.choice(list("abcdefghij"), 8)) for _ in range(3)] for _ in range(60)]
    gains = load(split_of(references), WHITESPACE)
    want = gains.T.rows(0, 180)
    fresh = load(split_of(references), WHITESPACE)
    got = np.empty_like(want)

    def work(start: int, stop: int, part: int) -> None:
        got[start:stop] = fresh.T.rows(start, stop)

    spread(work, 180, 4)
    assert np.array_equal(got, want)


def test_errors(refuses: Refuses) -> None:
    split = split_of([["a dog"], ["a cat"]])
    refuses(UsageError, load_gains, "cider:x", split)
    refuses(UsageError, load, split, {"own": "half"})
    refuses(UsageError, load, split, {"tokens": "ptbb"})
    bare = TestSet.captioned("custom", np.arange(1), np.arange(1), np.array([0]))
    refuses(BadInput, load, bare, {})


# Real captions.


@pytest.mark.slow
@pytest.mark.real_data
def test_pycocoevalcap_on_real_pairs(coco5k: TestSet) -> None:
    if find_spec("pycocoevalcap") is None:
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[text]')")
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    gains = load(coco5k, {})
    tokenised = [" ".join(tokens) for tokens in tokenise(coco5k.columns.texts).lists()]
    for caption in np.random.default_rng(20).integers(0, len(tokenised), 5).tolist():
        scorer = CiderScorer(n=4, sigma=6.0)
        for image in range(len(coco5k.rows.ids)):
            scorer += (tokenised[caption], [tokenised[c] for c in np.flatnonzero(coco5k.image_of == image).tolist()])
        _, theirs = scorer.compute_score()
        assert np.abs(gains.T.rows(caption, caption + 1)[0] - theirs).max() < 1e-6


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("settings", "everyone", "others"),
    [
        ({"tokens": "ptb"}, 0.7384, 0.4871),
        ({"tokens": "whitespace"}, 0.7346, 0.4537),
        ({"tokens": "whitespace", "variant": "plain"}, 0.7345, 0.4583),
        ({"tokens": "whitespace", "own": "out"}, 0.3928, 0.4537),
    ],
)
def test_agreement_with_human_judgements(
    coco5k: TestSet, agreement: Any, settings: dict[str, str], everyone: float, others: float
) -> None:
    assert agreement(load(coco5k, settings)) == pytest.approx([everyone, others], abs=5.1e-5)


# Document frequencies for CIDEr that are counted in a corpus.


CORPUS = [["a dog runs", "the dog"], ["a cat runs"], ["a bird"], ["the sea", "a dog in the sea"]]
EVALUATED = [["a dog runs in the park", "a dog"], ["the cat", "a cat runs in the sea"]]


@pytest.mark.parametrize("kind", ["jsonl", "json", "jsonl.gz"])
def test_frequencies_of_a_corpus(tmp_path: Path, kind: str) -> None:
    pairs = [(i, caption) for i, captions in enumerate(CORPUS) for caption in captions]
    rows = [{"image_id": i, "id": n, "caption": caption} for n, (i, caption) in enumerate(pairs)]
    lines = "\n".join(map(json.dumps, rows)).encode()
    path = tmp_path / f"corpus.{kind}"
    path.write_bytes(
        {"jsonl": lines, "jsonl.gz": gzip.compress(lines), "json": json.dumps({"annotations": rows}).encode()}[kind]
    )
    gains = load(split_of(EVALUATED), {**WHITESPACE, "df": str(path)})
    tokens = [[c.split() for c in captions] for captions in EVALUATED]
    df = oracle_cider.document_frequency([[c.split() for c in captions] for captions in CORPUS])
    want = [[oracle_cider.cider(c, r, df, len(CORPUS)) for r in tokens] for mine in tokens for c in mine]
    assert pytest.approx(np.array(want), abs=2e-6) == whole(gains).T
    assert gains.settings["df"].startswith(path.name + "#") and len(gains.settings["df"]) == len(path.name) + 13


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"annotations": {}}'),
        ("a.json", '{"annotations": []}'),
        ("a.json", "[1, 2]"),
        ("a.jsonl", '{"image_id": 1, "caption": 5}'),
        ("a.jsonl", '{"image_id": 1, "captions": ["a"]}\n{"captions": ["b"]}'),
        ("none.jsonl", None),
    ],
)  # fmt: skip
def test_errors_name_the_file(tmp_path: Path, name: str, content: str | None, refuses: Refuses) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    refuses(BadInput, corpus_df, path, "ptb", grams(tokenise(["a dog"], "ptb")))
