"""Holm and Benjamini-Hochberg: worked by hand, against scipy, and their order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.stats.correction import CORRECTIONS, benjamini_hochberg, holm, none

P = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    # ascending: .005 x 4, .01 x 3, .03 x 2, .04 x 1, never falling
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # .005 x 4/1, .01 x 4/2, .03 x 4/3, .04 x 4/4, never rising from the right
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert none(p).tolist() == p
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert all(f([]).tolist() == [] for f in CORRECTIONS.values())


@given(P)
def test_scipy_agrees_on_bh(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(scipy.stats.false_discovery_control(p, method="bh"))


@given(P)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]) -> None:
    for alpha in (0.01, 0.05, 0.2):
        rejected: set[int] = set()
        for step, i in enumerate(np.argsort(p, kind="stable").tolist()):
            if p[i] * (len(p) - step) > alpha:
                break
            rejected.add(i)
        assert set(np.flatnonzero(holm(p) <= alpha).tolist()) == rejected


@pytest.mark.parametrize("p", [[-0.1], [1.1], [float("nan")], [[0.1]]])
def test_other_numbers_are_refused(p: list[float], refuses: Refuses) -> None:
    for correct in CORRECTIONS.values():
        refuses(UsageError, correct, p)
