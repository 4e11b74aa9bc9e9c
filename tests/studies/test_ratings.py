"""Simulated ratings of scenes: the same digits everywhere, and the judgements made of them."""

from __future__ import annotations

import hashlib

import numpy as np

from studies.validity.ratings import judged, rated, ratings_of, sampled
from vsebench.scenes.draws import Draws
from vsebench.types import Split


def test_ratings_are_the_same_on_every_machine(scenes_split: Split) -> None:
    gains = np.float32(np.arange(200) * 37 % 97 / 97)
    chosen = sampled(gains, np.arange(200) < 5, Draws(0, "a", 1))
    assert chosen.tolist() == [0, 1, 2, 3, 4, 55, 76, 152, 173, 102, 123, 165, 18, 64, 162]
    scores = rated(gains[:9], np.array([0.0, 0.1, -0.1]), Draws(0, "b", 1))
    assert scores.dtype == np.int8 and scores.tolist() == [
        [0, 1, 0], [4, 5, 3], [5, 5, 5], [2, 2, 0], [4, 4, 5], [3, 5, 4], [2, 2, 2], [4, 5, 4], [0, 2, 0]
    ]  # fmt: skip
    made = b"".join(np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes() for a in ratings_of(scenes_split))
    assert hashlib.sha256(made).hexdigest()[:16] == "180f92ca904547fa"


def test_judged_are_the_pairs_rated_three_or_more(scenes_split: Split) -> None:
    images, captions, scores = ratings_of(scenes_split)
    pairs = zip(images.tolist(), captions.tolist(), scores.tolist(), strict=True)
    good = {(image, caption) for image, caption, of_pair in pairs if sum(of_pair) >= 3 * len(of_pair)}
    assert set(zip(*(x.tolist() for x in np.nonzero(judged(scenes_split))), strict=True)) == good
