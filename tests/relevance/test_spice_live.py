"""The official parser on Java gives the tuples and synsets of the test data."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.gates import gate
from vsebench.errors import MissingPackage
from vsebench.relevance.spice import build as spice_build
from vsebench.relevance.spice import file as tuple_cache
from vsebench.relevance.spice.file import normal
from vsebench.text import java as spice_java

pytestmark = pytest.mark.java

Rows = list[tuple[str, list[list[str]]]]
# Written for this test; the tuples are those of the official tools.
SENTENCES = {
    "A man is riding a brown horse.": [["man", "horse", "ride"], ["horse", "brown"], ["horse"], ["man"]],
    "A man rides two brown horses.": [["man", "horse", "ride"], ["horse", "brown"], ["horse", "two"], ["horse"],
                                      ["man"]],
    ".": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed jars and an empty cache; skips when something is missing."""
    try:
        if find_spec("jpype") is None:
            raise MissingPackage("package 'jpype1' is not installed")
        spice_java.find_java()
        jars = spice_build.class_path()
    except MissingPackage as error:
        print(error)
        pytest.skip(str(error.what))
    monkeypatch.setenv("VSEBENCH_SPICE_JARS", str(Path(jars[-1]).parent))
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def stored(real_data: Path) -> Callable[[str], Rows]:
    """``stored("coco5k")``: captions and their stored tuples."""

    def lines(path: str) -> list[str]:
        data = (real_data / path).read_bytes()
        return (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8").rstrip("\n").split("\n")

    def rows(name: str) -> Rows:
        if name == "flickr8k":
            texts = dict(line.split("\t") for line in lines("flickr8k/Flickr8k.token.txt.gz"))
            pairs = [line.split("\t") for line in lines("spice/flickr8k.tuples.tsv.gz")]
            return [(texts[key], json.loads(tuples)) for key, tuples in pairs]
        source, target = {
            "coco5k": ("coco5k/captions.jsonl", "spice/coco5k.tuples.jsonl.gz"),
            "f30k": ("f30k/test.jsonl", "spice/f30k_test.tuples.jsonl.gz"),
        }[name]
        texts_ = [json.loads(line)["caption"] for line in lines(source)]
        return list(zip(texts_, map(json.loads, lines(target)), strict=True))

    return rows


@pytest.fixture
def synsets(real_data: Path) -> dict[str, frozenset[int]]:
    with gzip.open(real_data / "spice/synsets.tsv.gz", "rt", encoding="utf-8") as stream:
        pairs = [line.rstrip("\n").split("\t") for line in stream]
    return {word: frozenset(map(int, ids.split())) for word, ids in pairs}


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", gate(["both", "coco5k", "f30k", "flickr8k"], "both"))
def test_captions_give_the_stored_tuples(stored, synsets, name):
    """Every tuple, their order, and the synsets of every word: of twenty captions, nightly of two hundred."""
    rows = stored("coco5k")[:10] + stored("f30k")[:10] if name == "both" else stored(name)
    rows = rows[:: max(len(rows) // 200, 1)][:200]
    done = spice_build.build([caption for caption, _ in rows])
    assert (done.broken, done.parsed) == ({}, done.captions)
    found = tuple_cache.load_tuples(caption for caption, _ in rows)
    parsed = [[list(item) for item in found.tuples[found.row[normal(caption)]]] for caption, _ in rows]
    assert parsed == [tuples for _, tuples in rows]
    assert found.synsets == {word: synsets[word] for word in found.synsets}


@pytest.mark.slow
def test_a_few_sentences_and_one_that_java_fails_on():
    done = spice_build.build([*SENTENCES, "", "half a letter \ud800"])
    assert done.parsed == 5
    assert done.broken.keys() == {"half a letter \ud800"}
    found = tuple_cache.load_tuples(SENTENCES)
    assert [[list(item) for item in items] for items in found.tuples] == list(SENTENCES.values())
    assert found.synsets.keys() == {"man", "horse", "ride", "brown", "two"}
    assert min(map(len, found.synsets.values())) > 0


@pytest.mark.slow
def test_the_worker_ends_with_its_parent():
    """A parent that is killed closes the worker's stdin, which has to end the worker."""
    settings = spice_build._settings(None, "1G", 1, lambda _: None)
    worker = spice_build.Worker(settings)
    try:
        worker._process.stdin.close()
        limit = time.monotonic() + 30
        while worker._process.poll() is None and time.monotonic() < limit:
            time.sleep(0.05)
        assert worker._process.returncode == 0
    finally:
        worker.close()


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.name == "nt", reason="needs a memory limit that Java keeps")
def test_a_sentence_too_long_for_the_memory_is_isolated():
    sentence = "A man on a horse near a dog with a hat " * 40
    noted: list[str] = []
    done = spice_build.build(["A man is riding a brown horse.", sentence], heap="512M", threads=1, note=noted.append)
    assert list(done.broken) == [normal(sentence)]
    assert "Java ran out of memory (more: java_heap)" in done.broken[normal(sentence)]
    assert tuple_cache.load_tuples(["A man is riding a brown horse."]).tuples[0]
