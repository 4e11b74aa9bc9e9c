"""Equality with trec_eval, through pytrec_eval, for the metrics that both have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests import oracle
from tests.worlds import World, relevance, worlds
from vsebench.metrics import parse
from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot
from vsebench.types import Ranks, Relevance

pytrec_eval = pytest.importorskip(
    "pytrec_eval", reason="pytrec_eval is not installed (pip install pytrec-eval-terrier)"
)

SAME = {"success_1": "R@1", "success_5": "R@5", "success_10": "R@10", "recip_rank": "MRR", "Rprec": "R-P",
        "recall_5": "Recall@5", "recall_10": "Recall@10", "recall_100": "Recall@100",
        "map": "mAP", "map_cut_5": "mAP@5", "map_cut_10": "mAP@10"}  # fmt: skip


def trec(judged: Relevance, lists: dict[int, list[int]]) -> dict[str, dict[str, float]]:
    """The values of trec_eval. Negative ranks are the scores, so that its own tie rule never applies."""
    qrel: dict[str, dict[str, int]] = {}
    for i, (query, items) in enumerate(oracle.positives(judged).items()):
        missing = {f"not in the gallery {n}": 1 for n in range(int(judged.missing[i]))}
        qrel[str(query)] = {str(g): 1 for g in items} | missing
    run = {str(q): {str(g): float(-rank) for rank, g in enumerate(lists[q])} for q in oracle.positives(judged)}
    measures = {"success", "recip_rank", "Rprec", "recall", "map", "map_cut.5,10"}
    return pytrec_eval.RelevanceEvaluator(qrel, measures).evaluate(run)  # type: ignore[no-any-return]


def compare(ranks: Ranks, values: dict[str, dict[str, float]], skip: frozenset[str] = frozenset()) -> None:
    queries = [str(q) for q in ranks.relevance.queries]
    for theirs, ours in SAME.items():
        if theirs not in skip:
            got = parse(ours).per_query(ranks)
            assert got.tolist() == pytest.approx([values[q][theirs] for q in queries], abs=1e-12), ours


def check(x: Any, y: Any, judged: dict[Any, Relevance]) -> None:
    n, m = len(x), len(y)
    observed = observe(Dot(x, y), [Targets("x", r) for r in judged.values()], depth={"i2t": m, "t2i": n})
    for d, relevant in judged.items():
        top = observed[d].top
        lists = {int(q): top.items[q].tolist() for q in relevant.queries}
        compare(observed[d].ranks["x"], trec(relevant, lists))


@given(worlds())
@settings(max_examples=25)
def test_small_worlds(world: World) -> None:
    check(world.images, world.captions, world.judged)


def test_trec_eval_has_the_order_of_the_list() -> None:
    # trec_eval orders tied scores by document name; ranks are never tied.
    judged = relevance("i2t", {0: [0, 7]})
    values = trec(judged, {0: [3, 0, 9, 7, 1]})
    assert values["0"]["recip_rank"] == 0.5
    assert values["0"]["Rprec"] == 0.5
    assert values["0"]["success_1"] == 0
