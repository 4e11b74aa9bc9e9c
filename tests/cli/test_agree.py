"""``vsebench agree``: rankings, their agreement, and the queries that metrics disagree about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import vsebench
from tests import oracle_stats as oracle
from tests import reports
from tests.commands import document, invoke, refused
from tests.messages import Pinned
from vsebench.analysis import systems
from vsebench.metrics import parse

FEW = ("--resamples", 60)


def found(*args: object) -> dict[str, Any]:
    return document("agree", *args, *FEW)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Four models of about one quality."""
    return reports.files(tmp_path_factory.mktemp("four"), ada=1.0, bob=1.05, cleo=1.1, dan=1.15)


def test_taus_are_those_of_the_printed_values(four: list[str]) -> None:
    document = found(*four)
    values = {}
    loaded = [s.report for s in systems.load_systems(four)]
    for m in document["tables"]["rankings"]:
        name = m["metric"] if m["direction"] is None else f"{m['metric']} {m['direction']}"
        better = 1 if parse(m["metric"]).higher_is_better else -1
        values[name] = [better * report[m["metric"], m["direction"]].value for report in loaded]
        assert sorted(re.split(" [>=] ", m["best to worst"])) == sorted(document["systems"])
    document["pairs"] = document["tables"]["pairs"]
    assert len(document["pairs"]) == len(values) * (len(values) - 1) // 2
    for pair in document["pairs"]:
        a, b = values[pair["first"]], values[pair["second"]]
        assert pair["tau"] == (None if (want := oracle.tau_b(a, b)) is None else pytest.approx(want))
        assert pair["concordant"] + pair["discordant"] + pair["tied"] == 6
        if pair["low"] is not None:
            assert -1 - 1e-9 <= pair["low"] <= pair["high"] <= 1 + 1e-9
    assert any(p["tau"] is not None and p["tau"] < 1 for p in document["pairs"])


def test_disagreements_are_real(four: list[str]) -> None:
    document = found(*four, "--pair", "MRR,Recall@5", "--direction", "i2t", "--top", "3")
    rows = document["tables"]["disagreements"]
    assert document["queries"] == reports.IMAGES and 0 < len(rows) <= min(3, document["discordant"])
    loaded = {s.name: s.report for s in systems.load_systems(four)}
    amounts = []
    for worst in rows:
        assert worst["metrics"] == ["MRR i2t", "Recall@5 i2t"]
        assert list(worst["values"]) == list(loaded)  # by name, whatever the names are
        pairs = list(worst["values"].values())
        opposite = [(a[0] - b[0]) * (a[1] - b[1]) < 0 for a in pairs for b in pairs]
        assert any(opposite) and "caption" not in worst
        amounts.append(worst["disagreement"])
        for name, report in loaded.items():
            first, second = worst["values"][name]
            at = report["MRR", "i2t"].queries.tolist().index(int(worst["query"]))
            assert first == report["MRR", "i2t"].per_query[at]
            assert second == report["Recall@5", "i2t"].per_query[at]
    assert amounts == sorted(amounts, reverse=True)


def test_nested_metrics_never_disagree(four: list[str]) -> None:
    # by the first relevant item, R@1 and R@5 cannot order two systems in opposite ways on a query
    document = found(*four, "--metrics", "R@1,R@5")
    assert document["discordant"] == 0 and "disagreements" not in document["tables"]
    assert (
        "order no two systems in opposite ways on any of" in invoke("agree", *four, "--metrics", "R@1,R@5", *FEW).stdout
    )


def test_the_screen(four: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # headings in one line
    text = " ".join(invoke("agree", *four, "--metrics", "R@1,MedR,RSum", *FEW).stdout.split())
    assert "how the metrics order 4 systems" in text and "best to worst" in text
    assert "tau between the rankings" in text and "alike / opposite / tied" in text
    many = " ".join(invoke("agree", *four, "--most", "4", *FEW).stdout.split())
    assert "the 4 of " in many and "pairs of metrics that agree least" in many
    assert "tau between the rankings" not in many
    page = invoke("agree", *four, "--metrics", "R@1,MedR", "--format", "html", *FEW).stdout
    assert page.startswith("<!doctype html>") and "Agreement of metrics on custom" in page


def test_pairs_that_agree_fully_are_not_those_that_agree_least(four: list[str], tmp_path: Path) -> None:
    """Systems in one order by all metrics: there is no table of pairs, but their number."""
    names = "R@1,R@5,MRR,MeanR,mAP@R,R-P"
    study = vsebench.agree(reports.files(tmp_path, a=0.5, b=1.0, c=2.0), metrics=names, resamples=20)
    equal = sum(pair.tau == 1 for pair in study.pairs)
    (pairs,) = (one for one in study.tables() if one.name == "pairs")
    assert equal == len(study.pairs) > study.most and not pairs.shown
    assert len(study.to_frame()) == equal and f"{equal} pairs order the systems in the same way" in str(study)
    few = vsebench.agree(four, metrics=names, resamples=20, most=20)
    (pairs,) = (one for one in few.tables() if one.name == "pairs")
    shown = [pair[2].value for i, pair in enumerate(pairs.rows) if i not in pairs.hidden]
    assert 0 < len(shown) <= 20 and max(shown) < 1


def test_threads_and_seed(four: list[str]) -> None:
    assert found(*four, "--threads", "1") == found(*four, "--threads", "2")
    assert found(*four) != found(*four, "--seed", "2")


@pytest.mark.parametrize(
    "args", [["--metrics", "RSum"], ["--pair", "R@1"], ["--pair", "R@1,RSum"], ["--direction", "both"]]
)
def test_what_is_refused(four: list[str], args: list[str], pinned: Pinned) -> None:
    pinned(refused("agree", *four, *args, *FEW))


def test_two_systems_are_too_few(four: list[str], pinned: Pinned) -> None:
    pinned(refused("agree", *four[:2], *FEW))
