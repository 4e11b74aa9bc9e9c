"""Word mover's distance against the linear programme that defines it; pruning never changes a value."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_gains
from tests.word_world import lines_of, saved, split_of
from vsebench.errors import BadInput, MissingPackage, UsageError, VsebenchError
from vsebench.relevance.kinds import load_gains, parse_spec
from vsebench.relevance.wmd import gains as wmd
from vsebench.relevance.wmd.transport import Transport, between_sets, distances
from vsebench.types import DIRECTIONS, Split

pytest.importorskip("ot", reason="POT is not installed (pip install 'vsebench[wmd]')")

VOCABULARY = [f"w{i}" for i in range(14)]
TABLE = {
    word: np.random.default_rng(i).standard_normal(6).astype(np.float32).tolist() for i, word in enumerate(VOCABULARY)
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("wmd") / "v.txt", lines_of(TABLE))


def crowd(rng: np.random.Generator, n: int, n_image: int) -> tuple[list[list[str]], Split]:
    """Random captions; some repeat, some have no known word."""
    captions = [rng.choice([*VOCABULARY, "unknown"], rng.integers(1, 8)).tolist() for _ in range(n)]
    captions[1], captions[n // 2] = captions[0][::-1], ["unknown"]
    return captions, split_of([" ".join(c) for c in captions], np.sort(rng.integers(0, n_image, n)).tolist())


def load(vectors: Path, split: Split, rest: str = "") -> wmd.WordMover:
    gains = load_gains(f"wmd:{vectors}:tokens=whitespace{rest}", split)
    assert isinstance(gains, wmd.WordMover)
    return gains


CAPTION = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7)


@given(CAPTION, CAPTION)
def test_one_distance(vectors: Path, x: list[str], y: list[str]) -> None:
    transport = load(vectors, split_of([" ".join(x), " ".join(y)], [0, 0])).transport
    a, b = transport.bag_of.tolist()
    want = oracle_gains.word_mover(x, y, TABLE)
    got = transport.distance(a, b)
    assert got == transport.distance(b, a)
    assert abs(got - want) < 1e-7
    assert transport.lower(a)[b] <= got and transport.lower(b)[a] <= got
    if sorted(x) == sorted(y):
        assert got == 0
    # With a limit it is the distance, or a lower bound that exceeds the limit.
    for limit in (0.0, got / 2, got, got * 2):
        value = transport.distance(a, b, limit)
        assert value == got or limit < value <= got


def test_a_repeated_caption_is_the_same_distribution(vectors: Path) -> None:
    transport = load(vectors, split_of(["w1 w2", "w2 w1 w1 w2", "w1 w1 w2"], [0, 0, 0])).transport
    assert transport.bag_of.tolist() == [0, 0, 1]


@pytest.mark.parametrize("own", ["in", "out"])
def test_gains_by_the_definition(vectors: Path, own: str, rng: np.random.Generator) -> None:
    captions, split = crowd(rng, 24, 7)
    gains = load(vectors, split, f":own={own}")
    n_image, n_caption = gains.shape
    assert (n_image, n_caption) == (len(split.image_ids), 24)
    want = np.zeros((n_image, n_caption))
    for i in range(n_image):
        for j in range(n_caption):
            members = [m for m in range(n_caption) if split.image_of[m] == i and not (own == "out" and m == j)]
            away = oracle_gains.set_distance([captions[m] for m in members], [captions[j]], TABLE)
            want[i, j] = 1 / (1 + away)
    got = gains.rows("i2t", 0, n_image)
    assert got.dtype == np.float32
    assert np.abs(got - want).max() < 1e-6
    assert np.array_equal(gains.rows("t2i", 0, n_caption), got.T)
    assert np.array_equal(gains.rows("t2i", 5, 9), got.T[5:9])
    assert not got[:, 12].any()  # no known word
    queries, items = np.array([3, 0, 3]), rng.integers(0, n_caption, (3, 5))
    assert np.array_equal(gains.at("i2t", queries, items), got[queries[:, None], items])


@pytest.mark.parametrize("own", ["in", "out"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("k", [1, 3, 100])
def test_the_best_are_those_of_a_full_sort(vectors: Path, own: str, direction: Any, k: int) -> None:
    _, split = crowd(np.random.default_rng(k), 60, 15)
    gains = load(vectors, split, f":own={own}")
    n = gains.shape[0] if direction == "i2t" else gains.shape[1]
    rows = gains.rows(direction, 0, n)
    shares: list[float] = []
    top = gains.top(direction, k, progress=shares.append)
    k = min(k, rows.shape[1])
    order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    assert np.array_equal(top.items, order)
    assert np.array_equal(top.scores, np.take_along_axis(rows, order, 1).astype(np.float64))
    assert shares[-1] == 1 and len(shares) == n
    some = gains.top(direction, k, np.array([4, 2]))
    assert np.array_equal(some.items, top.items[[4, 2]])


def test_bounds_spare_most_of_the_work(vectors: Path) -> None:
    _, split = crowd(np.random.default_rng(0), 300, 60)
    gains = load(vectors, split)
    solved = [0]

    def counted(*arguments: Any) -> Any:
        solved[0] += 1
        return gains.transport.solver(*arguments)

    watched = Transport(**{**vars_of(gains.transport), "solver": counted})
    dataclasses.replace(gains, transport=watched).top("t2i", 3, np.arange(20))
    assert 0 < solved[0] < 0.2 * 20 * 300


def test_label_distance_of_images(vectors: Path, rng: np.random.Generator) -> None:
    captions, split = crowd(rng, 30, 6)
    a, b = np.array([0, 1, 2, 3, 3, 5]), np.array([1, 0, 4, 3, 5, 2])
    shares: list[float] = []
    got = wmd.wmd_distance(split, a, b, str(vectors), tokens="whitespace", progress=shares.append)
    sets = [[captions[m] for m in np.flatnonzero(split.image_of == i)] for i in range(6)]
    want = [oracle_gains.set_distance(sets[i], sets[j], TABLE) for i, j in zip(a, b, strict=True)]
    assert np.abs(got - want).max() < 1e-6
    assert got[0] == got[1] and got[3] == 0 and shares[-1] == 1
    with pytest.raises(UsageError, match="give two rows below 6 a pair"):
        wmd.wmd_distance(split, a, b[:2], str(vectors))
    with pytest.raises(UsageError, match="give two rows below 6 a pair"):
        wmd.wmd_distance(split, a, b + 1, str(vectors))
    lonely = split_of(["w1", "unknown"], [0, 1])
    with pytest.raises(BadInput, match="image 1 has no caption with a word that has a vector"):
        wmd.wmd_distance(lonely, np.array([0]), np.array([1]), str(vectors))


def test_pruned_sets_equal_the_full_table(vectors: Path, rng: np.random.Generator) -> None:
    _, split = crowd(rng, 40, 5)
    transport = load(vectors, split).transport
    bags = np.flatnonzero(transport.filled)
    for _ in range(20):
        x, y = rng.choice(bags, rng.integers(1, 7)), rng.choice(bags, rng.integers(1, 7))
        full = distances(transport, np.repeat(x, len(y)), np.tile(y, len(x))).reshape(len(x), len(y))
        assert between_sets(transport, x, y) == full.min(axis=1).sum() + full.min(axis=0).sum()


def test_rows_of_a_large_split_are_refused(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gains = load(vectors, split_of(["w1", "w2"], [0, 1]))
    monkeypatch.setattr(wmd, "MOST_PAIRS", 3)
    with pytest.raises(UsageError, match="wmd of all 2 x 2 pairs would take hours"):
        gains.rows("i2t", 0, 1)
    assert gains.at("i2t", np.array([0]), np.array([[0]])) == 1


def test_what_is_wrong_is_said(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_of(["w1", "w2"], [0, 1])
    gains = load(vectors, split)
    with pytest.raises(UsageError, match="ask for at least one"):
        gains.top("i2t", 0)
    with pytest.raises(UsageError, match="image 2 of 2"):
        gains.top("i2t", 1, np.array([2]))
    with pytest.raises(UsageError, match="wmd needs a file of word vectors"):
        load_gains("wmd", split)
    with pytest.raises(UsageError, match="unknown setting of wmd 'top'"):
        parse_spec("wmd:v:top=5")
    transport = load(vectors, split_of(["w1 w2", "w3 w4"], [0, 0])).transport
    failing = Transport(**{**vars_of(transport), "solver": lambda *_: (None, 0.0, None, None, 3)})
    with pytest.raises(VsebenchError, match=r"POT found no optimal transport of 2 words to 2 \(code 3\)"):
        failing.distance(0, 1)
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setitem(sys.modules, "ot.lp.emd_wrap", None)
    with pytest.raises(MissingPackage) as caught:
        load(vectors, split)
    assert caught.value.fix == "pip install 'vsebench[wmd]'"


def vars_of(transport: Transport) -> dict[str, Any]:
    return {f: getattr(transport, f) for f in ("start", "word", "mass", "vectors", "bag_of", "solver")}
