"""Properties of every metric of binary judgements, read from the table: a declared metric is tested."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests import oracle
from tests.messages import Refuses
from tests.worlds import relevance
from vsebench.evaluation.binary import measure
from vsebench.metrics import Family, Metric, families, metric, metric_sum, parse
from vsebench.metrics.declare import DEPTHS, known_names
from vsebench.metrics.suites import SUITES
from vsebench.relevance import judgements
from vsebench.types import UNRANKED, Ranks, Relevance, TestSet

EVERY, BINARY = families(), families(graded=False)
NAMES = known_names(graded=False)
PER_QUERY = [m for m in map(parse, [*NAMES, "R@2", "Recall@3"]) if m.family.compute is not None]
SUMS = [m for m in map(parse, NAMES) if m.family.compute is None]
ALL = [*PER_QUERY, *SUMS]
GALLERY = 6
JUDGED = {
    "one": relevance({0: [2]}),
    "two": relevance({0: [1, 4]}),
    "most": relevance({0: [0, 1, 3, 5]}),
    "one of three is not in the gallery": relevance({0: [1, 4]}, {0: 1}),
}


def identify(value: object) -> str:
    return str(value)


def ranked(judged: Relevance, order: tuple[int, ...]) -> Ranks:
    """Ranks of one query whose ranking is this order of the gallery."""
    rank = np.array([order.index(g) + 1 for g in judged.items.tolist()], np.int64)
    return Ranks(judged, rank, np.zeros(len(rank), bool))


def per_query(m: Metric, judged: Relevance, order: tuple[int, ...]) -> float:
    values = m.per_query(ranked(judged, order))
    assert values.shape == (1,) and values.dtype == np.float64
    return float(values[0])


def better(m: Metric, a: float, b: float) -> bool:
    """Whether a is at least as good as b."""
    return a >= b if m.family.higher_is_better else a <= b


def orders() -> Iterator[tuple[int, ...]]:
    return permutations(range(GALLERY))


def test_every_metric_is_tested() -> None:
    assert {m.template for m in ALL} == {f.template for f in BINARY}
    stems = {m.name.split("@")[0] + "@" if m.family.takes_k else m.name for m in PER_QUERY}
    lacking = sorted(stems ^ set(oracle.PER_QUERY))
    assert not lacking, f"{', '.join(lacking)}: define the same metrics in PER_QUERY of tests/oracle.py, by plain loops"


@pytest.mark.parametrize("m", ALL, ids=identify)
@pytest.mark.parametrize("view", sorted(judgements()))
def test_the_name_parses_back(m: Metric, view: str) -> None:
    in_view = Metric(m.template, m.k, view)
    assert parse(str(in_view)) == in_view
    assert str(parse(str(in_view))) == str(in_view)


@pytest.mark.parametrize(
    "family", [*BINARY, *families(graded=True)], ids=lambda f: f"{'graded ' * f.graded}{f.template}"
)
def test_facts_are_declared(family: Family) -> None:
    assert family.formula and "\n" not in family.formula
    assert family.cite and all(key == key.strip().lower() for key in family.cite)
    assert family.depth in DEPTHS
    assert family.takes_k == bool(family.ks) and all(k >= family.least_k for k in family.ks)
    assert all(option.words and option.formula for option in family.options.values())
    assert family.high is None or family.high > family.low
    assert family.graded or family.unit == ("rank" if family.high is None else "fraction")
    if family.compute is None:
        parts = [parse(f"cider:{name}" if family.graded else name).family for name in family.parts]
        assert parts and all(part.compute is not None for part in parts)
        assert family.high in (1, 2 * sum(part.high or 0 for part in parts))
    else:
        assert not family.parts and (family.needs or not family.graded)
        first = family.doc.strip().splitlines()[0]
        assert first.endswith(".") and len(first) > 20


@pytest.mark.parametrize("family", BINARY, ids=lambda f: f.template)
def test_aliases_mean_the_same(family: Family) -> None:
    for alias in family.aliases:
        assert parse(alias.format(k=4)) == parse(family.template.format(k=4))


def test_suites_of_the_command_line_have_known_metrics() -> None:
    for suite in SUITES.values():
        prefix = "cider:" if suite.graded else ""
        assert [str(parse(prefix + n)) for n in suite.metrics] == [prefix + n for n in suite.metrics]


@pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED.keys())
@pytest.mark.parametrize("m", PER_QUERY, ids=identify)
def test_range_and_extremes(m: Metric, judged: Relevance) -> None:
    relevant = judged.items.tolist()
    perfect = (*relevant, *(g for g in range(GALLERY) if g not in relevant))
    values = [per_query(m, judged, order) for order in orders()]
    high = GALLERY if m.family.high is None else m.family.high
    assert all(m.family.low <= v <= high for v in values)
    best, worst = per_query(m, judged, perfect), per_query(m, judged, perfect[::-1])
    assert all(better(m, best, v) and better(m, v, worst) for v in values)
    if not judged.unreachable and (m.k or GALLERY) >= len(relevant):
        high = len(relevant) / (m.k or 1) if m.template in ("P@{k}", "Judged@{k}") else m.family.high
        assert best == (m.family.low if m.family.unit == "rank" else high)
    if m.k is None:
        assert best != worst


@pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED.keys())
@pytest.mark.parametrize("m", PER_QUERY, ids=identify)
def test_moving_a_relevant_item_up_never_hurts(m: Metric, judged: Relevance) -> None:
    relevant = set(judged.items.tolist())
    for order in orders():
        before = per_query(m, judged, order)
        for i in range(1, GALLERY):
            if order[i] in relevant and order[i - 1] not in relevant:
                up = (*order[: i - 1], order[i], order[i - 1], *order[i + 1 :])
                assert better(m, per_query(m, judged, up), before)


@given(st.permutations(range(GALLERY)), st.permutations(range(GALLERY)), st.sampled_from(sorted(JUDGED)))
def test_the_numbering_of_gallery_items_does_not_matter(order: list[int], renamed: list[int], which: str) -> None:
    judged = JUDGED[which]
    other = relevance({0: [renamed[g] for g in judged.items.tolist()]}, {0: int(judged.missing[0])})
    for m in PER_QUERY:
        assert per_query(m, judged, tuple(order)) == per_query(m, other, tuple(renamed[g] for g in order))


@pytest.mark.parametrize("m", PER_QUERY, ids=identify)
def test_nothing_is_read_below_the_declared_depth(m: Metric) -> None:
    # Ranks below the declared depth may be unknown: the value must be the same.
    for judged in JUDGED.values():
        for order in list(orders())[::7]:
            ranks = ranked(judged, order)
            depths = {"k": m.k or 0, "R": int(judged.size[0]), "best": int(ranks.best()[0]), "all": GALLERY}
            depth = depths[m.family.depth]
            known = np.where(ranks.rank <= depth, ranks.rank, UNRANKED)
            assert m.per_query(Ranks(judged, known, ranks.tied)).tolist() == m.per_query(ranks).tolist()


@pytest.mark.parametrize("m", PER_QUERY, ids=identify)
def test_inputs_are_not_changed(m: Metric) -> None:
    ranks = ranked(JUDGED["most"], (5, 4, 3, 2, 1, 0))
    before = ranks.rank.copy()
    m.per_query(ranks)
    assert ranks.rank.tolist() == before.tolist()
    ranks.rank.flags.writeable = False
    m.per_query(ranks)


@pytest.mark.parametrize("m", PER_QUERY, ids=identify)
def test_the_order_of_queries_does_not_matter(m: Metric) -> None:
    rows = {0: [1, 4], 1: [0], 2: [2, 3, 5]}
    rank = {0: [3, 1], 1: [6], 2: [2, 4, 5]}

    def value(queries: list[int]) -> float:
        judged = relevance({i: rows[q] for i, q in enumerate(queries)})
        ranks = Ranks(judged, np.array([r for q in queries for r in rank[q]]), np.zeros(6, bool))
        split = TestSet.captioned("custom", np.arange(3), np.arange(6), np.arange(6) % 3)
        return measure(m, ranks, split, "i2t", "skip").value

    assert {round(value([0, 1, 2]), 12)} == {round(value(list(p)), 12) for p in permutations(range(3))}


@pytest.mark.parametrize("m", SUMS, ids=identify)
def test_sums_add_up_their_parts_in_both_directions(m: Metric, rng: np.random.Generator) -> None:
    x = rng.standard_normal((12, 6))
    y = np.repeat(x, 5, 0) + 0.7 * rng.standard_normal((60, 6))
    split = TestSet.captioned("custom", np.arange(12), np.arange(60), np.arange(60) // 5, fold=np.arange(12) // 4)
    for view in ("gt", "1k"):
        total = parse(f"{view}:{m}")
        report = vsebench.evaluate(x, y, split=split, metrics=[str(total), *map(str, total.parts())])
        parts = [report[str(p), d].value for p in total.parts() for d in ("i2t", "t2i")]
        assert report[str(total)].value == pytest.approx(m.weight * sum(parts), rel=1e-14)
        assert 0 < report[str(total)].value <= (m.family.high or 0)
    perfect = vsebench.evaluate(np.eye(12), np.repeat(np.eye(12), 5, 0), metrics=[str(m)])
    assert perfect[str(m)].value == m.family.high


@pytest.mark.usefixtures("new_metrics")
def test_a_name_cannot_be_declared_twice(refuses: Refuses) -> None:
    for declare in (
        lambda: metric("R-P", depth="R", formula="x", cite=("x",))(lambda ranks: np.zeros(1)),
        lambda: metric("New", depth="R", formula="x", cite=("x",), aliases=("RV@{k}",))(lambda ranks: np.zeros(1)),
        lambda: metric_sum("RSum", parts=("R@1",), formula="x", cite=("x",)),
        lambda: metric("CS@{k}", formula="x", cite=("x",), ks=(1,))(lambda gains, ks: gains),
        lambda: metric_sum("Nsum", parts=("NCS@1",), formula="x", cite=("x",)),
    ):
        refuses(vsebench.VsebenchError, declare)
    assert families() == EVERY
