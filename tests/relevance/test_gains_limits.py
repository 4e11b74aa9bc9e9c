"""Negative gains count as zero on request, and are otherwise refused by metrics that add gains up."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.evaluation.test_graded_eval import world
from tests.graded_worlds import FakeGains, large_world, run
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.evaluation.plan import _no_value, leave_out
from vsebench.log import Log
from vsebench.metrics import parse
from vsebench.rank.scorers import Matrix, System
from vsebench.relevance import load_gains, parse_spec
from vsebench.types import DIRECTIONS, Vectors

Array = np.ndarray[Any, Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Gains of the world of ``world()``, some of them negative."""
    path = tmp_path / "g.npy"
    np.save(path, np.random.default_rng(0).normal(0.3, 0.4, (12, 60)).astype(np.float32))
    return path


def test_rows_and_pairs_are_cut_at_zero(file: Path, log: Log) -> None:
    split, _, _ = world()
    plain, cut = load_gains(f"{file}", split), load_gains(f"{file}:negative=zero", split)
    assert plain.settings.get("negative") is None
    assert cut.settings == {**plain.settings, "negative": "zero"}
    assert log.notes[-1] == "matrix: gains below zero count as zero (negative=zero)"
    for direction in DIRECTIONS:
        own, all_own = (cut, plain) if direction == "i2t" else (cut.T, plain.T)
        rows = own.rows(2, 5)
        assert rows.tolist() == np.maximum(all_own.rows(2, 5), 0).tolist()
        items = np.array([[4, 0], [1, 11], [7, 7]])
        assert own.at(np.arange(2, 5), items).tolist() == np.take_along_axis(rows, items, 1).tolist()
    assert plain.rows(0, 12).min() < 0 == cut.rows(0, 12).min()


def test_a_metric_by_name_is_refused_before_anything_is_measured(file: Path, refuses: Refuses) -> None:
    split, images, captions = world()
    for metrics in ("ncs", "NCS@1", "all,nDCG@5", "matrix:NCS@1"):
        options = {"split": split, "metrics": metrics, "gains": (str(file),)}
        assert f"{np.load(file).min():.4g}" in refuses(BadInput, vsebench.evaluate, images, captions, **options).what


def test_all_measures_what_the_gains_allow(file: Path) -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="all", gains=(str(file),))
    names = {str(r.metric) for r in report.results}
    assert {"matrix:Kendall", "matrix:CS@100", "matrix:SR@1", "matrix:R@1", "R@1"} <= names
    assert not [n for n in names if "NCS" in n or "nDCG" in n or "Nsum" in n]
    note = next(n for n in report.notes if "left out: gains of 'matrix' go down to" in n)
    assert note.startswith("matrix:NCS@1, ")
    at_zero = vsebench.evaluate(images, captions, split=split, metrics="all", gains=(f"{file}:negative=zero",))
    assert {"matrix:NCS@1", "matrix:nDCG@5", "matrix:Nsum"} <= {str(r.metric) for r in at_zero.results}


def test_gains_that_no_metric_uses_are_named_and_the_setting_is_checked(file: Path, refuses: Refuses) -> None:
    split, images, captions = world()
    report = vsebench.evaluate(images, captions, split=split, metrics="cider:NCS@1", gains=("cider", str(file)))
    assert "gains='matrix': no metric uses it; write the view in front, as in matrix:cs" in report.notes
    zeros = np.zeros((len(images), len(captions)), np.float32)  # of which no metric has a value
    refuses(BadInput, vsebench.evaluate, images, captions, split=split, metrics="matrix:CS@5", gains=zeros)
    for text in ("sentence:negative=maybe", "cider:negative=zero", "g.npy:negative=maybe"):
        refuses(UsageError, parse_spec, text)


@dataclass(frozen=True, eq=False)
class PairsOnly(FakeGains):
    rows_affordable: bool = False

    def rows(self, start: int, stop: int) -> Vectors:
        """Refused."""
        raise UsageError("rows would take hours")


def test_pairs_are_computed_where_rows_are_refused(log: Log, refuses: Refuses) -> None:
    w = large_world(30, 3, seed=5)
    system = System(Matrix(w.scores))
    metrics = [parse(name) for name in ("CS@20", "CS[captions=all,gt=out]@20")]
    pairs_only = {"cider": PairsOnly(w.gains)}
    found = run(system, w.split, metrics, pairs_only)
    want = run(system, w.split, metrics, {"cider": FakeGains(w.gains)})
    for key, values in want.items():
        assert found[key].values.tolist() == pytest.approx(values.values.tolist(), abs=0, nan_ok=True)
    refused = functools.partial(_no_value, pairs_only, {})
    for name in ("Kendall", "NCS@1", "SR@1"):
        m, why = parse(f"cider:{name}"), "it reads every pair, and 'cider' needs hours for all pairs"
        assert leave_out([m, *metrics], [], refused) == metrics and log.notes[-1] == f"{m} left out: {why}"
        refuses(BadInput, leave_out, [m], [m], refused)
        refuses(UsageError, run, system, w.split, [m], pairs_only)
    assert leave_out(metrics, [], refused) == metrics
