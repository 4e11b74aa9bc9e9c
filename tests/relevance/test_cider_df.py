"""Document frequencies for CIDEr that are counted in a corpus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests import oracle_cider
from tests.messages import Refuses
from tests.relevance.test_cider import WHITESPACE, load, split_of
from tests.word_world import whole
from vsebench.errors import BadInput
from vsebench.relevance.cider.frequencies import corpus_df
from vsebench.relevance.cider.ngrams import grams
from vsebench.text.tokenise import tokenise


def corpus_file(path: Path, references: list[list[str]]) -> Path:
    """JSON lines, one caption a line."""
    lines = [{"image_id": i, "caption": c} for i, captions in enumerate(references) for c in captions]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


CORPUS = [["a dog runs", "the dog"], ["a cat runs"], ["a bird"], ["the sea", "a dog in the sea"]]
EVALUATED = [["a dog runs in the park", "a dog"], ["the cat", "a cat runs in the sea"]]


@pytest.mark.parametrize("kind", ["jsonl", "annotations", "gz"])
def test_frequencies_of_a_corpus(tmp_path: Path, kind: str) -> None:
    path = corpus_file(tmp_path / "corpus.jsonl", CORPUS)
    if kind == "gz":
        packed = tmp_path / "corpus.jsonl.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    elif kind == "annotations":
        rows = [{"image_id": i, "id": 0, "caption": c} for i, captions in enumerate(CORPUS) for c in captions]
        path = tmp_path / "captions.json"
        path.write_text(json.dumps({"annotations": rows}, indent=1))
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
