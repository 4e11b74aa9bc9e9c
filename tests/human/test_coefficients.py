"""Correlations against scipy, weights against repetition, and intervals that depend on the seed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vsebench.errors import BadInput, UsageError
from vsebench.human.coefficients import Points, agreement, bootstrap, interval
from vsebench.report.correlation import COEFFICIENTS, Tau
from vsebench.report.model import Resampling
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
def test_a_weight_is_a_repetition(pairs: list[tuple[int, int]], tau: Tau, data: st.DataObject) -> None:
    x, y = np.array(pairs, float).T
    weights = [np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))) for _ in range(18)]
    seen = Points(x, y, tau).under(lambda i: weights[i].astype(np.int32), len(weights), np.arange(len(x)))
    for i, w in enumerate(weights):
        want = by_scipy(np.repeat(x, w), np.repeat(y, w), tau)
        check([None if np.isnan(v) else float(v) for v in seen[:, i]], want)


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


def world(rng: np.random.Generator) -> tuple[Points, Int, Int]:
    """60 pairs of 12 images with two judges each."""
    pair = np.repeat(np.arange(60), 2)
    y = rng.integers(1, 5, 120).astype(float)
    return Points(np.repeat(rng.integers(0, 9, 60), 2) + y / 2, y), pair, pair // 5


@pytest.mark.parametrize("over", ["images", "pairs"])
def test_intervals_are_those_of_drawing_clusters(rng: np.random.Generator, over: Any) -> None:
    points, pair, image = world(rng)
    found = agreement(points, pair, image, Resampling(80, 40, 3), over)
    cluster = image if over == "images" else pair
    members = [np.flatnonzero(cluster == c) for c in range(int(cluster.max()) + 1)]
    draw = bootstrap(3, len(members))
    values = []
    for number in range(40):
        chosen = np.concatenate([np.tile(members[c], n) for c, n in enumerate(draw(number).tolist())])
        assert draw(number).sum() == len(members)
        values.append(by_scipy(points.x[chosen], points.y[chosen], "b"))
    for k, name in enumerate(COEFFICIENTS):
        want = np.quantile(np.array(values, float)[:, k], [0.1, 0.9])
        assert found[name].interval == pytest.approx(want.tolist(), abs=1e-12)


def test_threads_and_seed(rng: np.random.Generator) -> None:
    points, pair, image = world(rng)
    runs = [agreement(points, pair, image, Resampling(95, 50, seed), threads=t) for seed, t in ((0, 1), (0, 3), (1, 1))]
    assert runs[0] == runs[1] != runs[2]
    assert all(s.interval is not None and s.interval[0] < s.value < s.interval[1] for s in runs[0].values() if s.value)


def test_a_constant_side_is_undefined_and_samples_without_spread_are_left_out() -> None:
    each = np.arange(4)
    flat = agreement(Points(np.full(4, 0.1), each), each, each, Resampling(resamples=20))
    assert all(s.value is None and s.interval is None for s in flat.values())
    rare = agreement(Points(np.array([0, 0, 0, 1.0]), each), each, each, Resampling(resamples=200))
    assert all(s.value is not None and s.interval is not None for s in rare.values())
    assert interval(np.array([np.nan, 0.5]), 0.9) is None


def test_what_is_refused() -> None:
    with pytest.raises(BadInput, match=r"columns of shapes \(2,\) and \(3,\) cannot be correlated"):
        Points(np.zeros(2), np.zeros(3))
    with pytest.raises(BadInput, match=r"point 1 is \(nan, 0.0\), which is not finite"):
        Points(np.array([0, np.nan]), np.zeros(2))
    with pytest.raises(UsageError, match="over is 'captions'"):
        agreement(Points(np.arange(2), np.arange(2)), np.arange(2), np.arange(2), over="captions")  # type: ignore[arg-type]
