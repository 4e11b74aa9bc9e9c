"""Tiles, threads and the scale of scores change no digit; files and ids are in ``tests/sets`` and ``test_doors``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests.doors import DOORS, MARKS, SAME, same_through_doors, through, world
from tests.evaluation.engines import N
from tests.worlds import World, worlds
from vsebench.rank.count import observe
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.rank.ties import TIES


def ranked(scorer: Scorer, world: World, scores: bool = True, **options: Any) -> dict[str, list[Any]]:
    """Ranks of the judgements and the top ten of rows and columns, with or without their scores, as lists."""
    out: dict[str, list[Any]] = {}
    for side, o in enumerate(observe(System(scorer), world.targets, depth=(10, 10), **options)):
        for name, r in o.ranks.items():
            ends = [] if r.extremes is None else [e.tolist() for e in r.extremes]
            out[f"{side} {name}"] = [r.rank.tolist(), r.tied.tolist(), ends]
        assert o.top is not None
        out[f"{side} top"] = [o.top.items.tolist(), *([o.top.scores.tolist()] if scores else [])]
    return out


@given(worlds(), st.integers(1, 8), st.integers(1, 11), st.integers(1, 3), st.sampled_from(sorted(TIES)))
def test_any_tile_of_a_small_world(world: World, height: int, width: int, threads: int, ties: str) -> None:
    for scorer in (world.system.forward, Matrix(world.scores[0])):
        default = ranked(scorer, world, ties=ties, threads=1)
        assert ranked(scorer, world, ties=ties, tile_shape=(height, width), threads=threads) == default


@given(worlds(), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_powers_of_two_change_nothing(world: World, a: int, b: int, cosine: bool) -> None:
    plain = ranked(Dot(world.images, world.captions, cosine), world, scores=cosine)
    scaled = Dot(np.ldexp(world.images, a), np.ldexp(world.captions, b), cosine)
    assert ranked(scaled, world, scores=cosine) == plain


@given(worlds())
def test_an_increasing_transform_changes_nothing(world: World) -> None:
    scores = world.scores[0]
    plain = ranked(Matrix(scores), world, scores=False)
    for other in (scores**3 - 5, np.exp(scores / 4), 1e-300 * scores, scores * 2.0**900):
        assert ranked(Matrix(other), world, scores=False) == plain


# Reports: files and ids


@pytest.fixture(scope="module", params=[(4, 0), (2, 1)], ids=["small integers", "few scores"])
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A world, and the report of its arrays with one thread."""
    found = world(*request.param)
    arrays = found["images"], found["captions"]
    return {**found, "wanted": vb.evaluate(*arrays, gains=found["gains"], similarity="dot", threads=1, **SAME)}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in DOORS])
def test_values_are_those_of_arrays_with_one_thread(
    name: str, made: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    more = {"scheduler": request.getfixturevalue("cluster").scheduler_address} if name == "Dask" else {}
    same_through_doors([name], made, tmp_path, made["wanted"], **more)


SECOND = np.random.default_rng(3).integers(0, 12, (N, 2 * N)).astype(float)
STAGES: dict[str, dict[str, Any]] = {
    "csls": {"normalise": "csls:k=4"},
    "querybank": {"normalise": "qb:beta=0.2"},
    "dual softmax": {"normalise": "dsl:beta=0.2"},
    "fused": {"fuse": [SECOND], "weights": "2,1"},
    "re-ranked": {"rerank": {"i2t": SECOND, "t2i": SECOND}, "rerank_depth": 9},
}


@pytest.mark.parametrize("stage", STAGES)
def test_values_of_further_stages(stage: str, made: dict[str, Any], tmp_path: Path) -> None:
    wanted = through("threads", made, tmp_path, **STAGES[stage])
    assert [r.value for r in wanted.results] != [r.value for r in made["wanted"].results]
    same_through_doors(("npz", "matrix", "torch", "faiss", "small tiles"), made, tmp_path, wanted, **STAGES[stage])
    lists = {**STAGES[stage], "metrics": "R@1,hubness"}  # what an index is searched for
    same_through_doors(("torch", "faiss"), made, tmp_path, through("threads", made, tmp_path, **lists), **lists)
