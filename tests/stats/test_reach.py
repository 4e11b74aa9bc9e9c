"""Whether any test of a table can be significant: against tests in which every image speaks for the same system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsebench.analysis.tests_between import MAX_PERMUTATIONS, MIN_PERMUTATIONS, Rules, permutations_for, unreachable
from vsebench.stats import paired


def every_image_agrees(differing: list[int], permutations: int) -> list[float]:
    """The p-values of tests of so many images that differ, all in favour of the second system: none can be smaller."""
    out = []
    for images in differing:
        changes = np.zeros((50, 1))
        changes[:images] = 1.0
        p, exact = paired.permutation_test(changes, permutations, 0)
        # chance may find the extreme again among random permutations; the bound is that it does not
        out.append(float(p[0]) if exact[0] else 1 / (permutations + 1))
    return out


def oracle(p: list[float], correction: str) -> list[float]:
    """Corrected p-values by the definitions of the procedures: the least alpha that rejects a hypothesis."""
    order, m = sorted(range(len(p)), key=p.__getitem__), len(p)
    out = [1.0] * m
    for place, i in enumerate(order):
        if correction == "none":
            out[i] = p[i]
        elif correction == "holm":
            out[i] = min(1.0, max((m - j) * p[order[j]] for j in range(place + 1)))
        else:
            out[i] = min(m * p[order[j]] / (j + 1) for j in range(place, m))
    return out


@given(
    st.lists(st.integers(0, 14), min_size=1, max_size=12),
    st.sampled_from([10, 99, 1000]),
    st.sampled_from(["holm", "bh", "none"]),
    st.sampled_from([0.3, 0.05, 0.01]),
)
def test_the_warning_is_there_when_nothing_can_be_significant(
    differing: list[int], permutations: int, correction: Any, alpha: float
) -> None:
    rules = Rules(permutations, correction, alpha)
    p = every_image_agrees(differing, permutations)
    assert [paired.smallest_p(n, permutations) for n in differing] == pytest.approx(p)
    found = unreachable(p, rules, "few images" * any(differing), "more images")
    if not any(differing):
        assert found == []
    elif min(oracle(p, correction)) > alpha:
        assert len(found) == 1 and found[0].startswith("no difference can be significant: ")
    elif min(oracle([min(p), *[1.0] * (len(p) - 1)], correction)) > alpha:  # one alone cannot, several can
        assert correction == "bh" and found[0].startswith("fewer than ")
        together = int(found[0].split()[2])
        least = sorted(p)
        for some in (together - 1, together):
            alone = oracle([*least[:some], *[1.0] * (len(p) - some)], correction)
            assert (min(alone) <= alpha) == (some == together)
    else:
        assert found == []


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_permutations_are_enough_and_bounded(correction: Any) -> None:
    for tests in (1, 6, 132, 756, 5000):
        for alpha in (0.05, 0.01):
            rules = Rules(correction=correction, alpha=alpha)
            made = permutations_for(tests, rules)
            assert MIN_PERMUTATIONS <= made <= MAX_PERMUTATIONS
            smallest = oracle([1 / (made + 1), *[1.0] * (tests - 1)], correction) if tests < 200 else None
            if smallest is not None:
                assert min(smallest) <= alpha / 2
