"""Bootstrap over images: every resample against loops, intervals against scipy, and what must not change them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests import oracle_stats as oracle
from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.results.model import Resampling
from vsebench.stats import bootstrap
from vsebench.stats.columns import Column, Population, evaluate, prepare, without_image
from vsebench.types import TestSet


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Population, list[Column]]:
    """A few images, maybe in folds, and columns over some of their queries."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    images = sum(sizes)
    fold = np.repeat(np.arange(len(sizes)), sizes) if draw(st.booleans()) else None
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        owner = draw(st.lists(st.integers(0, images - 1), min_size=1, max_size=12))
        value = st.integers(1, 9) if draw(st.booleans()) else st.floats(0, 1, width=32)
        values = draw(st.lists(value, min_size=len(owner), max_size=len(owner)))
        columns.append(
            Column(
                np.array(values, float), np.array(owner), folded=fold is not None and draw(st.booleans())
            )
        )  # fmt: skip
    return Population(images, fold), columns


def by_loops(population: Population, column: Column, images: list[int]) -> float:
    values, owner = column.values.tolist(), column.image.tolist()
    if column.folded and population.fold is not None:
        found = oracle.folded(values, owner, images, population.fold.tolist())
    else:
        found = oracle.value(values, owner, images)
    return math.nan if found is None else found


@given(worlds(), st.integers(0, 2**63 - 1))
def test_every_resample_is_that_of_the_loops(world: tuple[Population, list[Column]], seed: int) -> None:
    population, columns = world
    parts = list(range(len(columns)))
    samples = bootstrap.resample(prepare(columns, population, [dict.fromkeys(parts, 1.0)]), 6, seed)
    sizes = [population.images] if population.fold is None else np.bincount(population.fold).tolist()
    for r in range(6):
        plain, inside = oracle.drawn(seed, r, [population.images]), oracle.drawn(seed, r, sizes)
        want = [by_loops(population, c, inside if c.folded else plain) for c in columns]
        assert samples[r] == pytest.approx([*want, sum(want)], abs=1e-9, nan_ok=True)


@given(worlds())
def test_leaving_out_an_image(world: tuple[Population, list[Column]]) -> None:
    population, columns = world
    left = without_image(prepare(columns, population))
    images = list(range(population.images))
    for i in images:
        want = [by_loops(population, c, [j for j in images if j != i]) for c in columns]
        assert left[i] == pytest.approx(want, abs=1e-9, nan_ok=True)


def large_population(rng: np.random.Generator, images: int = 300) -> tuple[Population, list[Column]]:
    captions = np.repeat(np.arange(images), 5)
    some = np.sort(rng.choice(len(captions), 400, replace=False))
    rank = np.floor(rng.exponential(9, len(captions))) + 1
    return Population(images, np.arange(images) // 100), [
        Column((rank <= 5).astype(float), captions),
        Column(rank, captions),
        Column(1 / rank, captions, folded=True),
        Column(rank, captions, folded=True),
        Column(rng.random(400), captions[some]),
    ]


def test_threads_blocks_and_company_change_nothing(rng: np.random.Generator, monkeypatch: Any) -> None:
    population, columns = large_population(rng)
    ready = prepare(columns, population, [{0: 1.0, 4: 1.0}])
    first = bootstrap.resample(ready, 700, seed=3, threads=1)
    assert (bootstrap.resample(ready, 700, seed=3, threads=3) == first).all()
    assert (bootstrap.resample(ready, 50, seed=3) == first[:50]).all()
    alone = [bootstrap.resample(prepare([c], population), 700, seed=3)[:, 0] for c in columns]
    assert (np.stack(alone, axis=1) == first[:, :5]).all(), "a metric's interval is the same in any company"
    monkeypatch.setattr(bootstrap, "_BLOCK_BYTES", 8 * 300 * 7)
    assert (bootstrap.resample(ready, 700, seed=3) == first).all()
    assert (bootstrap.resample(ready, 700, seed=4) != first).any()


def test_resamples_are_pinned() -> None:
    # Computed by the loops of the oracle; the same on every machine and with every numpy.
    ready = prepare([Column(np.arange(10.0), np.arange(10))], Population(10))
    want = [sum(oracle.drawn(7, r, [10])) / 10 for r in range(4)]
    assert bootstrap.resample(ready, 4, 7)[:, 0].tolist() == pytest.approx(want)
    assert oracle.drawn(7, 0, [10]) == PINNED


PINNED = [9, 3, 8, 7, 9, 4, 0, 9, 7, 5]


def test_sums_do_not_depend_on_the_order_of_addition(rng: np.random.Generator) -> None:
    values = rng.random(2000)
    ready = prepare([Column(values, np.arange(2000))], Population(2000))
    weights = rng.integers(0, 4, (3, 2000)).astype(float)
    backwards = prepare([Column(values[::-1].copy(), np.arange(2000))], Population(2000))
    same = evaluate(backwards, weights[:, ::-1].copy(), None)
    assert (evaluate(ready, weights, None) == same).all()
    assert evaluate(ready, np.ones((1, 2000)), None)[0, 0] == pytest.approx(values.mean(), abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_are_those_of_scipy(rng: np.random.Generator, ours: str, theirs: Any) -> None:
    values = rng.exponential(1, 60) ** 1.5  # skewed, so that the two methods differ
    want = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=theirs, rng=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    ready = prepare([Column(values, np.arange(60))], Population(60))
    samples = bootstrap.resample(ready, 20_000, 0)
    got = bootstrap.bca(ready, samples, 0.95)[0] if ours == "bca" else bootstrap.percentile(samples, 0.95)[0]
    width = want.high - want.low
    assert got == pytest.approx([want.low, want.high], abs=0.03 * width)
    other = bootstrap.percentile(samples, 0.95)[0]
    assert ours == "percentile" or abs(other[1] - got[1]) > 0.05 * width


def test_captions_of_an_image_are_one_observation(rng: np.random.Generator) -> None:
    image_value = rng.random(200)
    captions = np.repeat(np.arange(200), 5)
    population = Population(200)
    alike = Column(image_value[captions], captions)
    single = Column(image_value, np.arange(200))
    ends = bootstrap.percentile(bootstrap.resample(prepare([alike, single], population), 500, 0), 0.95)
    assert ends[0] == pytest.approx(ends[1]), "repeating an image five times tells nothing new"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.5, 2))
def test_the_interval_of_symmetric_data_holds_the_value(away: list[float], centre: float) -> None:
    values = np.array([centre + x for x in away] + [centre - x for x in away])
    ready = prepare([Column(values, np.arange(len(values)))], Population(len(values)))
    low, high = bootstrap.percentile(bootstrap.resample(ready, 400, 0), 0.95)[0]
    assert low - 1e-9 <= centre <= high + 1e-9
    assert values.min() - 1e-9 <= low and high <= values.max() + 1e-9


def test_coverage(rng: np.random.Generator) -> None:
    covered = {"percentile": 0, "bca": 0}
    worlds_drawn, images = 400, 80
    captions = np.repeat(np.arange(images), 5)
    for world in range(worlds_drawn):
        ease = rng.beta(2, 2, images)  # how easy an image is; its captions share it
        hits = (rng.random(len(captions)) < ease[captions]).astype(float)
        ready = prepare([Column(hits, captions)], Population(images))
        samples = bootstrap.resample(ready, 300, world)
        ends = {"percentile": bootstrap.percentile(samples, 0.95)[0], "bca": bootstrap.bca(ready, samples, 0.95)[0]}
        for method, (low, high) in ends.items():
            covered[method] += low <= 0.5 <= high
    assert all(0.92 <= n / worlds_drawn <= 0.975 for n in covered.values()), covered


def test_few_queries_may_be_absent_from_a_resample() -> None:
    column = Column(np.array([0.2, 0.8]), np.array([0, 1]))
    samples = bootstrap.resample(prepare([column], Population(6)), 400, 0)
    assert np.isnan(samples).any()
    low, high = bootstrap.percentile(samples, 0.9)[0]
    assert (low, high) == pytest.approx((0.2, 0.8))
    assert np.isnan(bootstrap.percentile(np.full((10, 1), np.nan), 0.9)).all()


def report(**options: Any) -> vsebench.Report:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 6))
    y = np.repeat(x, 5, 0) + rng.standard_normal((200, 6))
    split = TestSet.captioned("custom", np.arange(40), np.arange(200), np.arange(200) // 5, fold=np.arange(40) // 20)
    return vsebench.evaluate(x, y, split=split, **options)


def test_intervals_of_a_report_are_the_quantiles_of_its_resamples() -> None:
    done = report(metrics="R@1,1k:MeanR,RSum", seed=5, resamples=200, interval="percentile")
    result = done["R@1", "t2i"]
    values, owner = result.per_query.tolist(), np.repeat(np.arange(40), 5).tolist()
    want = [oracle.value(values, owner, oracle.drawn(5, r, [40])) for r in range(200)]
    assert result.interval == pytest.approx(np.quantile(want, [0.025, 0.975]))
    result = done["1k:MeanR", "i2t"]
    fold = (np.arange(40) // 20).tolist()
    values = result.per_query.tolist()
    want = [oracle.folded(values, list(range(40)), oracle.drawn(5, r, [20, 20]), fold) for r in range(200)]
    assert result.interval == pytest.approx(np.quantile(want, [0.025, 0.975]))
    parts = {(str(p.metric), p.direction): p for p in (*done.parts, *done.results)}
    sums = np.zeros(200)
    for name in ("R@1", "R@5", "R@10"):
        for direction, owners in (("i2t", list(range(40))), ("t2i", owner)):
            part = parts[name, direction].per_query.tolist()
            sums += [oracle.value(part, owners, oracle.drawn(5, r, [40])) for r in range(200)]
    assert done["RSum"].interval == pytest.approx(np.quantile(sums, [0.025, 0.975]))


def test_intervals_may_be_left_out_or_of_another_level() -> None:
    none = report(metrics="R@1", ci=0)
    assert none.intervals is None and all(r.interval is None for r in none.results)
    wide, narrow = (report(metrics="R@1", ci=level)["R@1", "t2i"].interval for level in (99, 50))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", vsebench.VsebenchWarning)
        alone = vsebench.evaluate(np.eye(1), np.ones((5, 1)), metrics="R@1,RSum", interval="bca")
    assert [r.interval for r in alone.results] == [None] * 3, "one image has no interval, and no warning of numpy"
    bca = report(metrics="R@1,MedR,RSum", interval="bca")
    assert bca.intervals == Resampling(method="bca")
    for result in bca.results:
        if str(result.metric) == "MedR":
            assert result.interval is None
        else:
            assert result.interval[0] <= result.value <= result.interval[1]
    assert not any("no interval" in note for note in bca.notes)


def test_a_constant_metric_has_its_value_as_interval() -> None:
    x = np.repeat(np.eye(20), 3, axis=0)
    done = vsebench.evaluate(np.eye(20), x, captions_per_image=3, metrics="Recall@1,R-P,MRR,MeanR")
    assert done["Recall@1", "i2t"].value == pytest.approx(1 / 3)
    assert all(r.interval == (r.value, r.value) for r in done.results)


@pytest.mark.parametrize(
    "options",
    [{"ci": 100}, {"ci": 0.95}, {"ci": 0.999}, {"ci": -1}, {"resamples": 2}, {"seed": -3}, {"interval": "exact"}],
)
def test_settings_that_are_refused(options: dict[str, Any], refuses: Refuses) -> None:
    refuses(UsageError, report, **options)


def test_misses_count_in_the_interval(rng: np.random.Generator) -> None:
    # two images whose judged captions are below the level: as misses they are queries with the value 0
    x = rng.standard_normal((12, 4))
    mine = {"i2t": {i: {i: float(i < 10)} for i in range(12)}}
    done = vsebench.evaluate(
        x, x, captions_per_image=1, judgements={"mine": mine}, metrics="mine:R@1", direction="i2t", no_positive="miss"
    )
    result = done["mine:R@1", "i2t"]
    assert (result.n, len(result.per_query), result.value) == (12, 12, pytest.approx(10 / 12))
    assert np.mean(result.per_query) == pytest.approx(result.value)
    assert result.interval[0] < 10 / 12 < result.interval[1]
