"""Systems on several test sets: means, their intervals and tests, places, and names of reports."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.types import ONE_WAY

NOISE = {"A": 0.5, "B": 0.55, "C": 1.2}


def report(folder: Path, noise: float, seed: int, queries: int) -> vb.Report:
    rng = np.random.default_rng(seed)
    items, own = rng.standard_normal((2 * queries, 6)), rng.permutation(2 * queries)[:queries]
    vectors = items[own] + noise * np.random.default_rng([seed, int(100 * noise)]).standard_normal((queries, 6))
    ids = {"query_ids": [f"s{seed}q{n}" for n in range(queries)], "corpus_ids": [f"d{n}" for n in range(2 * queries)]}
    path = folder / "vectors.npz"
    np.savez(path, query_embeddings=vectors, corpus_embeddings=items, **ids)
    judged = {q: {f"d{d}": 1} for q, d in zip(ids["query_ids"], own.tolist(), strict=True)}
    return vb.evaluate(path, judgements={f"of-set-{seed}": judged}, trust=True)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, vb.Report]:
    folder = tmp_path_factory.mktemp("sets")
    sets = product(NOISE, (1, 2, 3))
    found = {f"{system}:set{seed}": report(folder, NOISE[system], seed, 30 + 10 * seed) for system, seed in sets}
    del found["C:set3"]
    return found


def of(reports: dict[str, vb.Report], system: str, seed: int) -> Any:
    return np.asarray(reports[f"{system}:set{seed}"]["nDCG@10", ONE_WAY].per_query)


def test_means_and_intervals_are_those_of_the_sets(given: dict[str, vb.Report]):
    found = vb.compare_sets(given, metrics="nDCG@10")
    assert (found.systems, found.sets, found.averaged) == (("A", "B", "C"), ("set1", "set2", "set3"), ("set1", "set2"))
    for row in found.rows:
        values = [of(given, row.system, seed) for seed in (1, 2)]
        assert row.mean == pytest.approx(np.mean([v.mean() for v in values]), abs=1e-12)
        # The variance of a mean of independent sets is the sum of theirs over the square of their number.
        error = np.sqrt(sum(v.var(ddof=1) / len(v) for v in values)) / 2
        assert row.interval == pytest.approx((row.mean - 1.96 * error, row.mean + 1.96 * error), abs=0.35 * error)
    assert [row.values[2] is None for row in found.rows] == [False, False, True]


def test_places_are_those_of_tests_of_the_mean(given: dict[str, vb.Report]):
    found = vb.compare_sets(given, metrics="nDCG@10", seed=3)
    assert {row.system: row.place for row in found.rows} == {"A": 1, "B": 1, "C": 3}
    by_pair = {(t.first, t.second): t for t in found.tests}
    rng = np.random.default_rng(0)
    for (first, second), test in by_pair.items():
        changes = [(of(given, second, s) - of(given, first, s)) / len(of(given, first, s)) / 2 for s in (1, 2)]
        flat = np.concatenate(changes)
        swapped = rng.choice([-1, 1], (20_000, len(flat))) @ flat
        p = (np.abs(swapped) >= abs(flat.sum()) - 1e-12).mean()
        assert test.difference == pytest.approx(flat.sum(), abs=1e-12)
        assert test.p == pytest.approx(p, abs=0.015)


def test_files_in_folders_of_systems(given: dict[str, vb.Report], tmp_path: Path):
    files = []
    for name, one in given.items():
        system, _, of_set = name.partition(":")
        (tmp_path / system).mkdir(exist_ok=True)
        one.save(tmp_path / system / f"{of_set}.json")
        files.append(tmp_path / system / f"{of_set}.json")
    text = cli("compare-sets", *files, "--metrics", "ndcg@10", "--format", "csv").out
    assert text.splitlines()[1].startswith("A,nDCG@10,query2corpus,set1,") and ",mean," in text
    assert "place" in cli("compare-sets", *files).out


def test_what_has_no_mean_is_refused(given: dict[str, vb.Report], tmp_path: Path, pinned: Refuses):
    a, b = given["A:set1"], given["B:set2"]
    other = report(tmp_path, 0.5, 1, 35)
    for reports, metrics in (
        ({"A": a, "B": b}, None), ({"A:x": a, "B:y": b}, None), ({"A:x": a, "B:x": given["B:set1"]}, "MedR"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            vb.compare_sets(reports, metrics=metrics)
        pinned(caught.value)
    with pytest.raises((BadInput, UsageError)) as refused:
        vb.compare_sets({"A:x": a, "B:x": other}, force=True)
    pinned(refused.value)


def test_what_is_not_alike_is_not_averaged(given: dict[str, vb.Report], pinned: Refuses):
    """Kinds of gains are other quantities, a report stands for one system and set, and rules are those of all sets."""
    x = np.random.default_rng(0).standard_normal((30, 6))
    gains = np.random.default_rng(1).random((30, 30))
    kinds = [
        vb.evaluate(
            x, x, captions_per_image=1, metrics="nDCG@10", gains=g, captions=[f"a photo of {n}" for n in range(30)]
        )
        for g in ("cider", gains)
    ]
    twice = {f"{name}{mark}set1": given[f"{name}:set1"] for name in "AB" for mark in ":/"}
    for reports in ({f"{s}:{n}": kinds[n] for s in "AB" for n in (0, 1)}, twice):
        with pytest.raises(UsageError) as caught:
            vb.compare_sets(reports, metrics="nDCG@10")
        pinned(caught.value)
    other = vb.evaluate(x, x, captions_per_image=1, metrics="R@1", ties="pessimistic")
    one = vb.evaluate(x[:20], x[:20], captions_per_image=1, metrics="R@1")
    with pytest.warns(vb.VsebenchWarning, match="ties"):
        vb.compare_sets({f"{s}:{n}": r for s in "AB" for n, r in (("x", other), ("y", one))}, metrics="R@1")
