"""Document frequencies for CIDEr: counted in a corpus, or read from a file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests import oracle_cider
from tests.messages import Pinned
from tests.relevance.test_cider import WHITESPACE, load, split_of
from tests.word_world import whole
from vsebench.errors import BadInput, UsageError
from vsebench.relevance.cider.frequencies import corpus_df, save_df


def corpus_file(path: Path, references: list[list[str]]) -> Path:
    """JSON lines, one caption a line."""
    lines = [{"image_id": i, "caption": c} for i, captions in enumerate(references) for c in captions]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


CORPUS = [["a dog runs", "the dog"], ["a cat runs"], ["a bird"], ["the sea", "a dog in the sea"]]
EVALUATED = [["a dog runs in the park", "a dog"], ["the cat", "a cat runs in the sea"]]


@pytest.mark.parametrize("kind", ["jsonl", "npz", "json", "annotations", "gz"])
def test_frequencies_of_a_corpus(tmp_path: Path, kind: str) -> None:
    path = corpus_file(tmp_path / "corpus.jsonl", CORPUS)
    if kind in ("npz", "json"):
        path = save_df(tmp_path / f"df.{kind}", corpus_df(path, "whitespace"))
    elif kind == "gz":
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
        ("a.json", '{"df": {"a": 3}, "images": 2, "tokens": "ptb", "format": "x"}'),
        ("a.json", '{"df": {"a b c d e": 1}, "images": 2, "tokens": "ptb"}'),
        ("a.json", '{"df": {"a": 1.5}, "images": 2, "tokens": "ptb"}'),
        ("a.json", '{"df": [], "images": 2, "tokens": "ptb"}'),
        ("a.json", '{"df": {"a": 1}, "images": 2, "tokens": "whitespace"}'),
        ("a.json", "[1, 2]"),
        ("a.jsonl", '{"image_id": 1, "caption": 5}'),
        ("a.jsonl", '{"image_id": 1, "captions": ["a"]}\n{"captions": ["b"]}'),
        ("a.npz", "PK"),
        ("none.npz", None),
        ("none.jsonl", None),
    ],
)  # fmt: skip
def test_errors_name_the_file(tmp_path: Path, name: str, content: str | None, pinned: Pinned) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput) as caught:
        corpus_df(path, "ptb")
    pinned(caught.value)


def test_other_npz_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    with pytest.raises(BadInput, match="not a file of document frequencies"):
        corpus_df(tmp_path / "other.npz", "ptb")
    good = save_df(tmp_path / "df.npz", corpus_df(corpus_file(tmp_path / "c.jsonl", CORPUS), "ptb"))
    with np.load(good) as held:
        arrays = dict(held)
    arrays["parent"] = arrays["parent"][::-1].copy()
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(BadInput, match="the n-grams are damaged"):
        corpus_df(tmp_path / "bad.npz", "ptb")


def test_frequencies_are_saved_as_npz_or_json_only(tmp_path: Path) -> None:
    found = corpus_df(corpus_file(tmp_path / "c.jsonl", CORPUS), "ptb")
    with pytest.raises(UsageError, match=r"not saved as '.pkl'"):
        save_df(tmp_path / "df.pkl", found)
