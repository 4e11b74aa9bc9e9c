"""Rank correlation between scores and gains: the Coherent Score, and Kendall's tau of complete rankings."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Bool, Float, Int
from .declare import Option, metric
from .gain_order import GainOrder
from .tau import VARIANTS, kendall

FORMULAS = "; ".join(f"tau-{name} = {formula}" for name, formula in VARIANTS.items())


@metric(
    "CS@{k}",
    formula="Kendall's tau between scores and gains of the k items retrieved first",
    cite=("zhou2020ladder",),
    options={"tau": Option(("b", "a", "c"), FORMULAS)},
    captions="first",
    low=-1.0,
    ks=(100, 200, 1000),
    least_k=2,
)
def coherent_score(gain_order: GainOrder, tied: Bool, count: Int, ks: Sequence[int], tau: str) -> Float:
    """Coherent Score: how far the order of the top k agrees with their relevance (Zhou et al., AAAI 2020).

    Items outside the top k do not count: the expected list is the same k items in the order of their gains. A
    query has no value when all its k gains (or all scores) are equal; tau-a is 0 then. As in the authors' evaluation,
    tau is tau-b, the ground truth is among the candidates, and one caption an image takes part (``captions=first``).
    """
    return kendall(gain_order, tied, count, ks, tau)


@metric(
    "Kendall",
    formula="Kendall's tau between scores and gains of the complete gallery",
    cite=("li2022bcls",),
    options={"tau": Option(("a", "b", "c"), FORMULAS)},
    low=-1.0,
    depth="all",
    expected="same",
)
def kendall_tau(gain_order: GainOrder, tied: Bool, count: Int, tau: str) -> Float:
    """Kendall's tau between every query's ranking of its gallery and the gains (BCLS, eq. 2 and table VI)."""
    return kendall(gain_order, tied, count, [int(count.max(initial=1))], tau)
