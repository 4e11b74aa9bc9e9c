"""Word mover's distance against the linear programme that defines it, its lower bounds, and the gains."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_gains
from tests.messages import Refuses
from tests.word_world import lines_of, saved, split_of, whole
from vsebench.errors import MissingPackage, UsageError, VsebenchError
from vsebench.relevance import load_gains, parse_spec
from vsebench.relevance.gains import Gains
from vsebench.relevance.wmd import word_mover as wmd
from vsebench.relevance.wmd.word_mover import Transport
from vsebench.types import TestSet

pytest.importorskip("ot", reason="POT is not installed (pip install 'vsebench[wmd]')")

VOCABULARY = [f"w{i}" for i in range(14)]
TABLE = {
    word: np.random.default_rng(i).standard_normal(6).astype(np.float32).tolist() for i, word in enumerate(VOCABULARY)
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("wmd") / "v.txt", lines_of(TABLE))


def crowd(rng: np.random.Generator, n: int, n_image: int) -> tuple[list[list[str]], TestSet]:
    """Random captions; some repeat, one has no word with a vector."""
    captions = [rng.choice([*VOCABULARY, "unknown"], rng.integers(1, 8)).tolist() for _ in range(n)]
    captions[1], captions[n // 2] = captions[0][::-1], ["unknown"]
    return captions, split_of([" ".join(c) for c in captions], np.sort(rng.integers(0, n_image, n)).tolist())


def load(vectors: Path, split: TestSet, rest: str = "") -> Gains:
    return load_gains(f"wmd:{vectors}:tokens=whitespace{rest}", split)


CAPTION = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7)


@given(CAPTION, CAPTION)
def test_one_distance(vectors: Path, x: list[str], y: list[str]) -> None:
    transport = load(vectors, split_of([" ".join(x), " ".join(y)], [0, 0])).values.transport
    a, b = transport.bag_of.tolist()
    want = oracle_gains.word_mover(x, y, TABLE)
    got = transport.distance(a, b)
    assert got == transport.distance(b, a)
    assert abs(got - want) < 1e-7
    assert transport.lower(a)[b] <= got and transport.lower(b)[a] <= got
    if sorted(x) == sorted(y):
        assert got == 0
    # With a limit, the distance or a lower bound that exceeds the limit.
    for limit in (0.0, got / 2, got, got * 2):
        value = transport.distance(a, b, limit)
        assert value == got or limit < value <= got


def test_a_repeated_caption_is_the_same_distribution(vectors: Path) -> None:
    transport = load(vectors, split_of(["w1 w2", "w2 w1 w1 w2", "w1 w1 w2"], [0, 0, 0])).values.transport
    assert transport.bag_of.tolist() == [0, 0, 1]


@pytest.mark.parametrize("own", ["in", "out"])
def test_gains_by_the_definition(vectors: Path, own: str, rng: np.random.Generator) -> None:
    captions, split = crowd(rng, 24, 7)
    gains = load(vectors, split, f":own={own}")
    n_image, n_caption = gains.shape
    assert (n_image, n_caption) == (len(split.rows.ids), 24)
    want = np.zeros((n_image, n_caption))
    for i in range(n_image):
        for j in range(n_caption):
            members = [m for m in range(n_caption) if split.image_of[m] == i and not (own == "out" and m == j)]
            distance = oracle_gains.set_distance([captions[m] for m in members], [captions[j]], TABLE)
            want[i, j] = 1 / (1 + distance)
    got = whole(gains)
    assert np.abs(got - want).max() < 1e-6
    assert not got[:, 12].any()  # no word with a vector


def test_rows_of_a_large_split_are_refused(vectors: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    assert load(vectors, split_of(["w1", "w2"], [0, 1])).rows_affordable
    monkeypatch.setattr(wmd, "MAX_PAIRS", 3)
    gains = load(vectors, split_of(["w1", "w2"], [0, 1]))
    refuses(UsageError, gains.rows, 0, 1)
    assert not gains.rows_affordable
    assert gains.at(np.array([0]), np.array([[0]])) == 1


def test_errors(vectors: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    split = split_of(["w1", "w2"], [0, 1])
    refuses(UsageError, load_gains, "wmd", split)
    refuses(UsageError, parse_spec, "wmd:v:top=5")
    transport = load(vectors, split_of(["w1 w2", "w3 w4"], [0, 0])).values.transport
    failing = Transport(**{**vars_of(transport), "solver": lambda *_: (None, 0.0, None, None, 3)})
    refuses(VsebenchError, failing.distance, 0, 1)
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setitem(sys.modules, "ot.lp.emd_wrap", None)
    refuses(MissingPackage, load, vectors, split)


def vars_of(transport: Transport) -> dict[str, Any]:
    return {f: getattr(transport, f) for f in ("start", "word", "mass", "vectors", "bag_of", "solver")}
