"""Simulated ratings of scenes: the same digits everywhere, and judgements that only the study knows."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from studies.validity.pool import registered
from studies.validity.ratings import JUDGED, rated, ratings_of, sampled
from vsebench import relevance
from vsebench.errors import UsageError
from vsebench.scenes.draws import Draws
from vsebench.types import DIRECTIONS, Split


def test_ratings_are_the_same_on_every_machine(scenes_split: Split) -> None:
    gains = np.float32(np.arange(200) * 37 % 97 / 97)
    chosen = sampled(gains, np.arange(200) < 5, Draws(0, "a", 1))
    assert chosen.tolist() == [0, 1, 2, 3, 4, 55, 76, 152, 173, 102, 123, 165, 18, 64, 162]
    scores = rated(gains[:9], np.array([0.0, 0.1, -0.1]), Draws(0, "b", 1))
    assert scores.dtype == np.int8 and scores.tolist() == [
        [0, 1, 0], [4, 5, 3], [5, 5, 5], [2, 2, 0], [4, 4, 5], [3, 5, 4], [2, 2, 2], [4, 5, 4], [0, 2, 0]
    ]  # fmt: skip
    assert JUDGED.identity(scenes_split) == "ratings#0fc67520"
    made = b"".join(np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes() for a in ratings_of(scenes_split))
    assert hashlib.sha256(made).hexdigest()[:16] == "180f92ca904547fa"


def test_judged_are_the_pairs_rated_three_or_more_and_only_the_study_has_them(scenes_split: Split) -> None:
    images, captions, scores = ratings_of(scenes_split)
    pairs = list(zip(images.tolist(), captions.tolist(), strict=True))
    good = {pair for pair, of_pair in zip(pairs, scores.tolist(), strict=True) if sum(of_pair) >= 3 * len(of_pair)}
    with registered(JUDGED):
        assert list(relevance.judgements_of(scenes_split)) == ["gt", "entails", "judged"]
        for direction in DIRECTIONS:
            found = relevance.load("judged", scenes_split, direction)
            listed = zip(np.repeat(found.queries, np.diff(found.indptr)).tolist(), found.items.tolist(), strict=True)
            assert {pair if direction == "i2t" else pair[::-1] for pair in listed} == good
            assert found.skipped == len(set(pair[direction == "t2i"] for pair in pairs)) - len(found.queries)
    with pytest.raises(UsageError, match="unknown judgements 'judged'"):
        relevance.load("judged", scenes_split, "i2t")
