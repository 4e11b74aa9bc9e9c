"""Tiles, threads and the scale of scores change no digit; files and ids are in ``tests/sets`` and ``test_doors``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.worlds import World, worlds
from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot, Matrix, Scorer
from vsebench.rank.ties import TIES
from vsebench.types import Observation


def flat(observed: dict[Any, Observation]) -> dict[str, list[Any]]:
    """All fields of observations, as lists."""
    out: dict[str, list[Any]] = {}
    for d, o in observed.items():
        for name, r in o.ranks.items():
            ends = [] if r.extremes is None else [e.tolist() for e in r.extremes]
            out[f"{d} {name}"] = [r.rank.tolist(), r.tied.tolist(), ends]
        if o.top is not None:
            out[f"{d} top"] = [o.top.items.tolist(), o.top.scores.tolist()]
    return out


def ranked(scorer: Scorer, requests: list[Targets], scores: bool = True, **options: Any) -> dict[str, list[Any]]:
    """Ranks of the requests and the top ten in both directions, with or without their scores."""
    observed = flat(observe(scorer, requests, depth={"i2t": 10, "t2i": 10}, **options))
    assert {"i2t top", "t2i top"} <= set(observed)
    return observed if scores else {k: v[:1] if k.endswith(" top") else v for k, v in observed.items()}


@given(worlds(), st.integers(1, 8), st.integers(1, 11), st.integers(1, 3), st.sampled_from(sorted(TIES)))
def test_any_tile_of_a_small_world(world: World, height: int, width: int, threads: int, ties: str) -> None:
    scorer = Dot(world.images, world.captions)
    requests = [Targets("x", r) for r in world.judged.values()]
    default = ranked(scorer, requests, ties=ties, threads=1)
    assert ranked(scorer, requests, ties=ties, tile_shape=(height, width), threads=threads) == default


@given(worlds(), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_powers_of_two_change_nothing(world: World, a: int, b: int, cosine: bool) -> None:
    requests = [Targets("x", r) for r in world.judged.values()]
    plain = ranked(Dot(world.images, world.captions, cosine), requests, scores=cosine)
    scaled = Dot(np.ldexp(world.images, a), np.ldexp(world.captions, b), cosine)
    assert ranked(scaled, requests, scores=cosine) == plain


@given(worlds())
def test_an_increasing_transform_changes_nothing(world: World) -> None:
    scores = world.scores("i2t")
    requests = [Targets("x", r) for r in world.judged.values()]
    plain = ranked(Matrix(scores), requests, scores=False)
    for other in (scores**3 - 5, np.exp(scores / 4), 1e-300 * scores, scores * 2.0**900):
        assert ranked(Matrix(other), requests, scores=False) == plain


# Reports: files and ids
