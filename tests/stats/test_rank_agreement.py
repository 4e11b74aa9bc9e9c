"""Kendall's tau between rankings of systems, its intervals, and how far metrics disagree about queries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests import oracle_stats as oracle
from tests.memory import peak
from vsebench.stats import rank_agreement as agreement

VALUES = hnp.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=st.integers(0, 4))


@given(VALUES)
def test_tau_is_that_of_counting_and_of_scipy(values: np.ndarray) -> None:
    taus = agreement.tau_b(agreement.orders(values))
    for i in range(values.shape[1]):
        for j in range(values.shape[1]):
            want = oracle.tau_b(values[:, i].tolist(), values[:, j].tolist())
            assert taus[i, j] == pytest.approx(np.nan if want is None else want, nan_ok=True)
            if want is not None:
                assert taus[i, j] == pytest.approx(scipy.stats.kendalltau(values[:, i], values[:, j]).statistic)


def test_intervals_are_quantiles_of_the_resampled_taus(rng: np.random.Generator) -> None:
    samples = rng.normal(size=(300, 5, 3)) + np.arange(5)[:, None]
    got = agreement.tau_intervals(samples, 0.9)
    for i in range(3):
        for j in range(3):
            taus = [oracle.tau_b(s[:, i].tolist(), s[:, j].tolist()) for s in samples]
            assert got[i, j] == pytest.approx(np.quantile(taus, [0.05, 0.95]))
    assert (got == got.transpose(1, 0, 2)).all() and (got[0, 0] == 1).all()


def test_a_metric_that_ties_all_systems_has_no_tau() -> None:
    values = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    taus = agreement.tau_b(agreement.orders(values))
    assert taus[0, 0] == 1 and np.isnan(taus[0, 1]) and np.isnan(taus[1, 1])


def test_disagreement_by_hand() -> None:
    first = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])  # (system, query): the first system wins queries 0 and 2
    second = np.array([[0.0, 0.0, 3.0], [4.0, 4.0, 0.0]])  # the second wins 0 and 1
    amount, opposite = agreement.disagreement(first, second)
    scale = np.sqrt(2 / 3) * np.sqrt((16 + 16 + 9) / 3)
    assert amount == pytest.approx([4 / scale, 0, 0])
    assert opposite.tolist() == [1, 0, 0]


def test_blocks_change_nothing(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [
        rng.random((2, systems, queries)) for systems, queries in ((2, 1), (12, 1), (7, 13), (20, 301), (3, 9001))
    ]
    samples = [rng.integers(0, 4, (301, 6, 5)).astype(float), rng.random((40, 3, 2))]
    samples[0][::3, 0, 0] = np.nan

    def found() -> list[bytes]:
        arrays = [a for world in worlds for a in agreement.disagreement(*world)]
        arrays += [agreement.tau_intervals(s, 0.9) for s in samples]
        return [a.tobytes() for a in arrays]

    monkeypatch.setattr(agreement, "_BLOCK_VALUES", 1 << 30)
    once = found()
    for block in (1 << 12, 5000, 1 << 16):
        monkeypatch.setattr(agreement, "_BLOCK_VALUES", block)
        assert found() == once


def test_the_sum_of_squares_is_that_of_numpy(rng: np.random.Generator) -> None:
    first, second = rng.random((2, 12, 5000))
    a, b = np.triu_indices(12, 1)
    gaps = [values[a] - values[b] for values in (first, second)]
    product = np.prod([gap / np.sqrt((gap**2).mean()) for gap in gaps], axis=0)
    amount, opposite = agreement.disagreement(first, second)
    assert amount == pytest.approx(np.maximum(-product, 0).sum(axis=0), rel=1e-12)
    assert opposite.tolist() == (product < 0).sum(axis=0).tolist()


def test_memory(rng: np.random.Generator) -> None:
    # all pairs at once: 181 and 206 MiB
    first, second = rng.random((2, 20, 25_000))
    assert peak(lambda: agreement.disagreement(first, second)) < 64
    samples = rng.random((10_000, 10, 20))
    assert peak(lambda: agreement.tau_intervals(samples, 0.95)) < 64
    few, many = rng.random((2, 40, 25_000))
    assert peak(lambda: agreement.disagreement(few, many)) < 64
