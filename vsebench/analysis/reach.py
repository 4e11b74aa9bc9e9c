"""How small corrected p-values can become, and how many permutations that takes.

The smallest p-value of B random permutations is 1 / (1 + B); where they are all counted, it is 2 / 2^n for n images
that differ. Correcting m tests makes the smallest p-value of a table m times as large (Holm), or m / j times as large
if j p-values are that small (Benjamini-Hochberg). If the result is above alpha, no difference can be significant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import count_of
from ..options import spell
from ..report.comparison import Rules, Test
from ..stats.correction import CORRECTIONS
from ..stats.paired import smallest_p

LEAST = 10_000  # permutations of a table with few tests
MOST = 100_000  # bounds the time of a table with many
_BELOW = 4  # the smallest corrected p-value is at most this part of alpha, as far as MOST allows


def permutations_for(tests: int, rules: Rules) -> int:
    """How many permutations let one test of ``tests`` become significant on its own."""
    return min(MOST, max(LEAST, math.ceil(_BELOW * _needed(tests, rules) / LEAST) * LEAST))


def unreachable(tests: Sequence[Test], rules: Rules) -> list[str]:
    """A warning if no test, or none on its own, can become significant whatever the values are.

    Args:
        tests: those with a p-value.
        rules: how they were made.
    """
    differing = [t.differing for t in tests]
    if not any(differing):  # equal systems
        return []
    bounds = np.array([smallest_p(n, rules.permutations) for n in differing])
    m, bound = len(bounds), float(bounds.min())
    alone = bound if rules.correction == "none" else min(1.0, m * bound)
    if alone <= rules.alpha:
        return []
    if bound > 1 / (1 + rules.permutations):  # every permutation is counted
        images = count_of(max(differing), "image")
        why = f"the systems differ on at most {images}, so no p-value is below {bound:.3g}"
        fix = "more images"
    else:
        why = f"the smallest p-value of {rules.permutations:,} permutations is {bound:.3g}"
        fix = f"{spell('permutations', _needed(m, rules))} or more"
    if m > 1 and rules.correction != "none":
        why += f", {alone:.3g} after the correction of {m:,} tests"
        fix += f" or fewer {spell('metrics')}"
    if CORRECTIONS[rules.correction](bounds).min() > rules.alpha:
        return [f"no difference can be significant: {why}; use {fix}"]
    smallest = m * np.sort(bounds) / np.arange(1, m + 1) <= rules.alpha
    together = int(np.argmax(smallest)) + 1
    return [f"fewer than {together:,} differences cannot be significant: {why}; use {fix}"]


def _needed(tests: int, rules: Rules) -> int:
    """The fewest random permutations whose smallest p-value is not above alpha after the correction."""
    return math.ceil((1 if rules.correction == "none" else tests) / rules.alpha)
