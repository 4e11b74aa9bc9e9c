"""``vsebench metrics``: the list, a metric, a suite, and names that do not exist."""

from __future__ import annotations

import pytest

from tests.commands import cli, document, refused
from tests.messages import Pinned
from vsebench.metrics import families, parse
from vsebench.metrics.suites import INTRA, SUITES
from vsebench.relevance import judgements

LISTED = [s for s in SUITES.values() if s.name != INTRA]


def test_metrics_lists_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # formulas in one line
    found = document("metrics")
    for key, graded in (("metrics", False), ("graded_metrics", True)):
        assert [m["name"] for m in found[key]] == [f.template.replace("{k}", "k") for f in families(graded=graded)]
    assert found["views"] == {name: j.meaning for name, j in judgements().items()} and found["families"] == {
        s.name: list(s.metrics) for s in LISTED
    }
    assert {"cider", "spice", "matrix"} <= set(found["graded_views"])
    text = cli("metrics").out
    assert all(m["name"] in text and m["formula"][:30] in text for m in found["metrics"])


@pytest.mark.parametrize("name", ["R@7", "RV@7", "eccv:mAP@R", "MedR", "1k:RSum"])
def test_a_metric_is_explained(name: str) -> None:
    facts = document("metrics", name)
    assert facts["metric"] == name.replace("RV", "R")
    assert all(facts[key] for key in ("formula", "range", "better", "looks_at", "view", "unit"))
    assert facts["formula"][:20] in cli("metrics", name).out


@pytest.mark.parametrize(
    ("name", "metric", "usual"),
    [
        ("R@k", "R@k", [1, 5, 10]),
        ("eccv:R@K", "eccv:R@k", [1, 5, 10]),
        ("MLD", "cider:MLD@k", [1, 5, 10]),
        ("spice:CS[tau=a]@k", "spice:CS[tau=a]@k", [100, 200, 1000]),
        ("SR@{k}", "cider:SR@k", [1, 5, 10]),
        ("R", "R@k", [1, 5, 10]),
        ("MedR", "MedR", []),
    ],
)
def test_a_metric_without_its_k_is_explained(name: str, metric: str, usual: list[int]) -> None:
    facts = document("metrics", name)
    assert (facts["metric"], facts["usual_k"]) == (metric, usual)
    text = cli("metrics", name).out
    assert text.split()[:2] == ["metric", metric] and ("usual k" in text) == bool(usual)


@pytest.mark.parametrize("name", [*(s.name for s in LISTED), "spice:ncs", "NDCG"])
def test_a_suite_is_explained(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = document("metrics", name)
    view, _, stem = name.rpartition(":")
    suite = SUITES[stem.lower()]
    assert found["family"] == name.lower() and found["meaning"] == suite.meaning
    if not suite.graded:
        assert found["metrics"] == list(suite.metrics)
    else:
        assert found["metrics"] == [f"{view or 'cider'}:{m}" for m in suite.metrics]
        assert view or found["view"].startswith("cider, or the first of --gains")
    text = cli("metrics", name).out
    assert found["meaning"] in text and all(m in text for m in found["metrics"])


def test_words_for_many_metrics_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    binary, graded, both = (document("metrics", name) for name in ("binary", "graded", "all"))
    assert {parse(m).view for m in binary["metrics"]} == set(judgements())
    assert {parse(m).view for m in graded["metrics"]} == {"cider"} and "cider:CS@100" in graded["metrics"]
    assert sorted(both["metrics"]) == sorted(binary["metrics"] + graded["metrics"])
    text = cli("metrics", "all").out
    assert both["meaning"] in text and "eccv:mAP@R" in text and "cider:NsumN" in text
    intra = document("metrics", "CxC-intra")
    assert intra["family"] == INTRA and "cxc:R@1" in intra["metrics"] and "docs/which-metric.md" in intra["meaning"]
    assert INTRA in cli("metrics").out


@pytest.mark.parametrize("name", ["eccv:cs", "eccc:cs", "medr@", "eccc:R@1", "foo@k", "cs@1"])
def test_an_unknown_metric_suggests_others(name: str, pinned: Pinned) -> None:
    pinned(refused("metrics", name))
