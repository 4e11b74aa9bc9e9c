"""The study of coverage runs, and its test sets are as it says."""

from __future__ import annotations

import numpy as np

from studies import coverage


def test_a_test_set_is_measured_with_all_metrics():
    found = coverage.one(30, 0)
    names = {name.rpartition(" ")[0] for name in found}
    assert names == {*coverage.BINARY, *coverage.GRADED}
    for name, (value, low, high, p) in found.items():
        assert 0 <= p <= 1 and (np.isnan(low) or low <= value <= high), name
    assert coverage.one(30, 0) == found and coverage.one(30, 1) != found


def test_relevance_grows_with_the_place_in_the_latent_space():
    test = coverage.draw(40, np.random.default_rng(0))
    own = test.gains[test.split.image_of, np.arange(len(test.split.image_of))]
    assert own.mean() > 3 * test.gains.mean() and test.gains.min() >= 0
