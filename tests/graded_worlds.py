"""Small worlds with graded relevance, and gains of a matrix in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests import oracle_graded
from tests.worlds import splits
from vsebench.graded import engine
from vsebench.graded.engine import Found
from vsebench.graded.rankings import plan
from vsebench.metrics import Metric, parse
from vsebench.rank.scorers import Dot, Matrix, System
from vsebench.types import BOTH, EVERYTHING, Bool, Both, Candidates, Int, TestSet, Tops, Vectors, Which


@dataclass(frozen=True, eq=False)
class FakeGains:
    """Gains of a matrix (image, caption) in memory."""

    values: npt.NDArray[Any]
    name: str = "cider"
    settings: Mapping[str, str] = field(default_factory=dict)
    lowest: float | None = None
    rows_affordable: bool = True
    no_query: Bool | None = None
    of_judgements: bool = False
    outside: Both[Any] = (None, None)  # (query, any), of both sides

    @property
    def T(self) -> FakeGains:
        """(caption, image)."""
        return replace(self, values=self.values.T, outside=self.outside[::-1])

    def outside_of(self, queries: Int) -> Vectors:
        """(query, any) float32, descending."""
        if self.outside[0] is None:
            return np.zeros((len(queries), 0), np.float32)
        return -np.sort(-self.outside[0][queries].astype(np.float32), axis=1)

    @property
    def shape(self) -> tuple[int, int]:
        """(images, captions)."""
        return self.values.shape[0], self.values.shape[1]

    def rows(self, start: int, stop: int) -> Vectors:
        """(query, gallery) float32."""
        assert 0 <= start < stop <= len(self.values)
        return self.values[start:stop].astype(np.float32)

    def at(self, queries: Int, items: Int) -> Vectors:
        """(query, k) float32."""
        return self.values[queries[:, None], items].astype(np.float32)


@st.composite
def graded_worlds(draw: st.DrawFn, lowest: int = 0) -> oracle_graded.World:
    """A split in folds, tied scores, and tied gains, which are multiples of 1/4 and exact in float32."""
    split = draw(splits(images=5))
    shape = (len(split.rows.ids), len(split.columns.ids))
    scores = draw(hnp.arrays(np.int64, shape, elements=st.integers(-3, 3))) / 2
    gains = draw(hnp.arrays(np.int64, shape, elements=st.integers(lowest, 4))) / 4
    return oracle_graded.World(split, scores, gains)


def large_world(n: int, per_image: int, seed: int, folds: int = 4, lowest: int = 0) -> oracle_graded.World:
    """A larger world with many ties; some images have one caption more."""
    rng = np.random.default_rng(seed)
    image_of = np.sort(np.concatenate([np.repeat(np.arange(n), per_image), rng.integers(0, n, n // 3)]))
    split = TestSet.captioned(
        "custom", np.arange(n), np.arange(len(image_of)), image_of, fold=np.arange(n) * folds // n
    )
    shape = (n, len(image_of))
    return oracle_graded.World(split, rng.integers(0, 40, shape) / 8, rng.integers(lowest, 12, shape) / 8)


def vector_world(cosine: bool = False) -> tuple[System, oracle_graded.World]:
    """A large world, and vectors of small integers in its shape."""
    world, rng = large_world(70, 3, seed=5), np.random.default_rng(5)
    images, captions = (rng.integers(-4, 5, (n, 24)).astype(np.float32) for n in world.scores.shape)
    return System(Dot(images, captions, cosine)), world


def run(
    ranked: System | Mapping[Which, Tops], test: TestSet, metrics: Sequence[Metric], gains: Mapping[str, Any],
    sides: Sequence[Which] = BOTH, expected: bool = False, influence: bool = False,
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING), **options: Any,
) -> Found:  # fmt: skip
    """Plan and measure."""
    rankings = plan(metrics, test, sides, expected, influence, candidates)
    return engine.run(ranked, rankings, gains, **options)


def same_found(one: Found, other: Found) -> None:
    """Values, queries and influences are equal, bit for bit."""
    assert one.keys() == other.keys()
    for key, found in one.items():
        assert np.array_equal(found.values, other[key].values, equal_nan=True), key
        assert np.array_equal(found.index, other[key].index), key
        mine, others = found.influence, other[key].influence
        assert (mine is None) == (others is None), key
        assert mine is None or others is None or np.array_equal(mine, others, equal_nan=True), key


def same_values(system: System, world: oracle_graded.World, names: Iterable[str], **options: Any) -> None:
    """The values of a world are equal with other options of ``run``."""
    metrics, gains = [parse(name) for name in names], {"cider": FakeGains(world.gains)}
    for influence in (False, True):
        given: dict[str, Any] = {"threads": 2, "influence": influence}
        wanted = run(system, world.split, metrics, gains, **given)
        same_found(run(system, world.split, metrics, gains, **given, **options), wanted)


def measured(world: oracle_graded.World, *names: str, **options: Any) -> Found:
    """Values of the library, from the score matrix."""
    gains = {view: FakeGains(world.gains, view, outside=world.outside) for view in {parse(n).view for n in names}}
    metrics, options = [parse(n) for n in names], {"candidates": world.candidates, **options}
    return run(System(Matrix(world.scores)), world.split, metrics, gains, **options)


def spec_of(metric: Metric) -> oracle_graded.Spec:
    """The metric as the oracle takes it."""
    stem = metric.template.partition("@")[0]
    given = {key: metric.option(key) for key in metric.family.options}
    m = int(given.pop("m", "5"))
    return oracle_graded.Spec(stem, metric.k, m=m, **given)


def check(world: oracle_graded.World, *names: str, **options: Any) -> None:
    """The values of the library are those of the oracle, query by query, in both directions."""
    import pytest

    found = measured(world, *names, **options)
    assert set(found) == {(parse(n), side) for n in names for side in BOTH}
    for (metric, side), ours in found.items():
        want = world.values(spec_of(metric), side)
        assert ours.index.tolist() == list(want), metric
        assert ours.values.tolist() == pytest.approx(list(want.values()), abs=1e-9, nan_ok=True), str(metric)
