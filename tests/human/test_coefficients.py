"""Correlations of all points and of those without a cluster against scipy; intervals and their coverage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.human.coefficients import Points, agreement, interval
from vsebench.human.correlation import COEFFICIENTS, Tau
from vsebench.types import Float, Int

columns = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=2, max_size=40)


def by_scipy(x: Float, y: Float, tau: Tau) -> list[float | None]:
    """Pearson, Spearman and Kendall; None where a side is constant."""
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return [None, None, None]
    found = stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y, variant=tau)
    return [float(f.statistic) for f in found]


def check(found: list[float | None], want: list[float | None]) -> None:
    assert [f is None for f in found] == [w is None for w in want]
    assert [f for f in found if f is not None] == pytest.approx([w for w in want if w is not None], abs=1e-12)


def whole(points: Points) -> list[float | None]:
    each = np.arange(len(points.x))
    return [agreement(points, each, each)[name].value for name in COEFFICIENTS]


@given(columns, st.sampled_from(["b", "c"]))
def test_equal_to_scipy_under_ties(pairs: list[tuple[int, int]], tau: Tau) -> None:
    x, y = np.array(pairs, float).T
    check(whole(Points(x, y, tau)), by_scipy(x, y, tau))


@given(columns, st.sampled_from(["b", "c"]), st.data())
def test_every_cluster_is_left_out(pairs: list[tuple[int, int]], tau: Tau, data: st.DataObject) -> None:
    x, y = np.array(pairs, float).T
    drawn = data.draw(st.lists(st.integers(0, 6), min_size=len(x), max_size=len(x)))
    cluster = np.unique(drawn, return_inverse=True)[1]
    seen = Points(x, y, tau).without(cluster)
    for c in range(cluster.max() + 1):
        left = cluster != c
        check([None if np.isnan(v) else float(v) for v in seen[:, c]], by_scipy(x[left], y[left], tau))


@pytest.mark.parametrize("tau", ["b", "c"])
def test_many_points(rng: np.random.Generator, tau: Tau) -> None:
    y = np.round(rng.random(5000) * 5, 2)
    for x in (rng.random(5000) + y, np.round(y + rng.normal(size=5000)), 1e6 + y.astype(np.float32)):
        check(whole(Points(x, y, tau)), by_scipy(x, y, tau))


def test_the_golden_case(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("pearson_cxc_tiny")
    human, metric, gt = (np.array(case["inputs"][k], float) for k in ("human", "metric", "is_gt"))
    free = gt == 0
    for name, x, y in (
        ("all", metric, human), ("non_gt", metric[free], human[free]),
        ("binary_all", gt, human), ("binary_non_gt", gt[free], human[free]),
    ):  # fmt: skip
        check(whole(Points(x, y))[:1], [case["expected"][name]])


def world(rng: np.random.Generator, images: int = 12) -> tuple[Points, Int, Int]:
    """Five pairs an image with two judges each; images, pairs and judges differ by a normal variate each."""
    pair = np.repeat(np.arange(5 * images), 2)
    image = pair // 5
    x, y = (
        rng.normal(size=images)[image] + common + rng.normal(size=5 * images)[pair]
        for common in [rng.normal(size=5 * images)[pair]] * 2
    )
    return Points(x, np.round(2 * (y + rng.normal(size=len(y))))), pair, image


@pytest.mark.parametrize("over", ["images", "pairs"])
def test_intervals_are_those_of_leaving_out_clusters(rng: np.random.Generator, over: Any) -> None:
    points, pair, image = world(rng)
    found = agreement(points, pair, image, 80, over)
    cluster = image if over == "images" else pair
    g = int(cluster.max()) + 1
    left = [cluster != c for c in range(g)]
    z = np.arctanh(np.array([by_scipy(points.x[k], points.y[k], "b") for k in left], float))
    error = np.sqrt((g - 1) / g * ((z - z.mean(axis=0)) ** 2).sum(axis=0))
    for k, name in enumerate(COEFFICIENTS):
        middle, half = np.arctanh(found[name].value or 0.0), stats.t(g - 1).ppf(0.9) * error[k]
        assert found[name].interval == pytest.approx(np.tanh([middle - half, middle + half]).tolist(), abs=1e-12)


def test_intervals_cover_the_value_of_the_population() -> None:
    """200 worlds of 60 images: the values of 20,000 images are inside about 95 % of the intervals."""
    rng = np.random.default_rng(5)
    points, pair, image = world(rng, 20_000)
    truth = {name: c.value or 0.0 for name, c in agreement(points, pair, image).items()}
    inside = dict.fromkeys(truth, 0)
    for _ in range(200):
        for name, c in agreement(*world(rng, 60), 95).items():
            assert c.interval is not None
            inside[name] += c.interval[0] < truth[name] < c.interval[1]
    assert all(184 <= n <= 197 for n in inside.values()), inside


def test_a_constant_side_is_undefined_and_a_cluster_that_decides_leaves_no_interval() -> None:
    each = np.arange(4)
    flat = agreement(Points(np.full(4, 0.1), each), each, each, 95)
    assert all(s.value is None and s.interval is None for s in flat.values())
    rare = agreement(Points(np.array([0, 0, 0, 1.0]), each), each, each, 95)
    assert all(s.value is not None and s.interval is None for s in rare.values())
    assert agreement(Points(each, each), each, each, 95)["kendall"].interval == (pytest.approx(1), 1)
    assert interval(0.5, np.array([0.5]), 0.9) is None


def test_what_is_refused(refuses: Refuses) -> None:
    refuses(BadInput, Points, np.zeros(2), np.zeros(3))
    refuses(BadInput, Points, np.array([0, np.nan]), np.zeros(2))
    refuses(UsageError, agreement, Points(np.arange(2), np.arange(2)), np.arange(2), np.arange(2), over="captions")
