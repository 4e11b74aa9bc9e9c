"""``vsebench agree``: rankings, their agreement, and the queries that metrics disagree about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import vsebench
from tests import oracle_stats as oracle
from tests import reports
from tests.commands import document, refused
from tests.messages import Pinned
from vsebench.analysis.agree import MAX_PAIRS
from vsebench.metrics import parse
from vsebench.results.render import Result


def agreed(systems: Any, **options: Any) -> Result:
    return vsebench.agree(systems, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Four models of about one quality."""
    return reports.files(tmp_path_factory.mktemp("four"), ada=1.0, bob=1.05, cleo=1.1, dan=1.15)


def test_taus_are_those_of_the_printed_values(four: list[str]) -> None:
    got = document("agree", *four)
    assert got == agreed(four).to_dict()
    values, loaded = {}, [vsebench.load(path) for path in four]
    for m in got["tables"]["rankings"]:
        name = m["metric"] if m["direction"] is None else f"{m['metric']} {m['direction']}"
        better = 1 if parse(m["metric"]).higher_is_better else -1
        values[name] = [better * report[m["metric"], m["direction"]].value for report in loaded]
        assert sorted(re.split(" [>=] ", m["best to worst"])) == sorted(got["systems"])
    pairs = got["tables"]["pairs"]
    assert len(pairs) == len(values) * (len(values) - 1) // 2
    for pair in pairs:
        want = oracle.tau_b(values[pair["first"]], values[pair["second"]])
        assert pair["tau"] == (None if want is None else pytest.approx(want))
        assert pair["concordant"] + pair["discordant"] + pair["tied"] == 6
        assert pair["low"] is None or -1 - 1e-9 <= pair["low"] <= pair["high"] <= 1 + 1e-9
    assert any(p["tau"] is not None and p["tau"] < 1 for p in pairs)


def test_disagreements_are_real(four: list[str]) -> None:
    got = document("agree", *four, "--pair", "MRR,Recall@5", "--direction", "i2t", "--top", "3")
    rows = got["tables"]["disagreements"]
    assert got["queries"] == reports.IMAGES and 0 < len(rows) <= min(3, got["discordant"])
    loaded = {Path(path).stem: vsebench.load(path) for path in four}
    for worst in rows:
        assert worst["metrics"] == ["MRR i2t", "Recall@5 i2t"] and "caption" not in worst
        assert list(worst["values"]) == list(loaded)  # by name, whatever the names are
        pairs = list(worst["values"].values())
        assert any((a[0] - b[0]) * (a[1] - b[1]) < 0 for a in pairs for b in pairs)
        for name, report in loaded.items():
            at = report["MRR", "i2t"].queries.tolist().index(int(worst["query"]))
            assert worst["values"][name] == [report[m, "i2t"].per_query[at] for m in ("MRR", "Recall@5")]
    amounts = [worst["disagreement"] for worst in rows]
    assert amounts == sorted(amounts, reverse=True)


def test_nested_metrics_never_disagree(four: list[str]) -> None:
    # by the first relevant item, R@1 and R@5 cannot order two systems in opposite ways on a query
    found = agreed(four, metrics="R@1,R@5")
    assert found.to_dict()["discordant"] == 0 and "disagreements" not in found.to_dict()["tables"]
    assert "never order two systems in opposite ways" in str(found)


def test_pairs_that_agree_fully_are_not_those_that_agree_least(four: list[str], tmp_path: Path) -> None:
    """Systems in one order by all metrics: there is no table of pairs, but their number."""
    names = "R@1,R@5,MRR,MeanR,mAP@R,R-P"
    study = vsebench.agree(reports.files(tmp_path, a=0.5, b=1.0, c=2.0), metrics=names, resamples=20)
    equal = sum(pair["tau"] == 1 for pair in study.records())
    (pairs,) = (one for one in study.tables if one.name == "pairs")
    assert equal == len(study.records()) > MAX_PAIRS and not pairs.shown
    assert len(study.to_frame()) == equal and f"{equal} pairs order the systems in the same way" in str(study)
    few = vsebench.agree(four, metrics=names, resamples=20, most=20)
    (pairs,) = (one for one in few.tables if one.name == "pairs")
    shown = [pair[2].value for i, pair in enumerate(pairs.rows) if i not in pairs.hidden]
    assert 0 < len(shown) <= 20 and max(shown) < 1


def test_threads_and_seed(four: list[str]) -> None:
    one, two, other = (agreed(four, **more).to_dict() for more in ({"threads": 1}, {"threads": 2}, {"seed": 2}))
    assert one == two != other
    assert agreed(four, metrics="R@1,MedR,RSum").tables


@pytest.mark.parametrize("args", ["--metrics RSum", "--pair R@1", "--pair R@1,RSum", "--direction both", "two"])
def test_what_is_refused(four: list[str], args: str, pinned: Pinned) -> None:
    systems = four[:2] if args == "two" else [*four, *args.split()]
    pinned(refused("agree", *systems))
