"""Rank correlation with graded relevance: the Coherent Score, and Kendall's tau of whole rankings."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Bool, Float, Int
from .declare import Option
from .gain_order import Fall
from .graded import graded
from .tau import VARIANTS, kendall

FORMULAS = "; ".join(f"tau-{name} = {formula}" for name, formula in VARIANTS.items())


@graded(
    "CS@{k}",
    formula="Kendall's tau between scores and gains of the k items retrieved first",
    cite=("zhou2020ladder",),
    options={"tau": Option(("b", "a", "c"), FORMULAS)},
    captions="first",
    low=-1.0,
    ks=(100, 200, 1000),
    least_k=2,
)
def coherent_score(falling: Fall, tied: Bool, count: Int, ks: Sequence[int], tau: str) -> Float:
    """Coherent Score: how far the order of the top k agrees with their relevance (Zhou et al., AAAI 2020).

    Items outside the top k play no part: the expected list is the same k items in the order of their gains. A
    query has no value when all its k gains (or all scores) are equal; tau-a is 0 then. As in the authors' evaluation,
    tau is tau-b, the ground truth is among the candidates, and one caption an image takes part (``captions=first``).
    """
    return kendall(falling, tied, count, ks, tau)


@graded(
    "Kendall",
    formula="Kendall's tau between scores and gains of the whole gallery",
    cite=("li2022bcls",),
    options={"tau": Option(("a", "b", "c"), FORMULAS)},
    low=-1.0,
    depth="all",
)
def kendall_tau(falling: Fall, tied: Bool, count: Int, tau: str) -> Float:
    """Kendall's tau of every query's ranking of the whole gallery against its gains (BCLS, eq. 2 and table VI)."""
    return kendall(falling, tied, count, [int(count.max(initial=1))], tau)
