"""Reports: what they hold, their JSON, the table layout and per-query values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench
from tests import reports
from tests.messages import Pinned, Refuses
from tests.worlds import per_query_columns
from vsebench.cli.results import check_per_query, write_per_query
from vsebench.errors import BadInput, UsageError
from vsebench.metrics import parse
from vsebench.results import terminal
from vsebench.results.document import SCHEMA
from vsebench.results.model import Measurement, fixed, printed
from vsebench.results.report import Report, read
from vsebench.types import TestSet


@pytest.fixture(scope="module")
def report() -> Report:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((10, 6))
    y = np.repeat(x, 5, 0) + rng.standard_normal((50, 6))
    split = TestSet.captioned(
        "custom", np.arange(10) + 70, np.arange(50) + 900, np.arange(50) // 5, fold=np.arange(10) // 5
    )
    return vsebench.evaluate(x, y, split=split, metrics="all")


def test_a_report_is_a_mapping_of_names_and_directions(report: Report) -> None:
    assert list(report) == [(str(r.metric), r.direction) for r in report.results]
    assert len(set(report)) == len(report.results) and all(key in report for key in report)
    found = dict(report)
    assert list(found) == list(report) and all(found[key] is report[key] for key in found)
    known = ("RSum", ("RSum", None), ("r@1", "i2t"), "R@1 i2t", ("1k:R@1", "t2i"))
    absent = ("R@1", ("R@1", None), "R@7 i2t", ("eccv:R@1", "i2t"), 0, None, ())
    assert [key in report for key in (*known, *absent)] == [True] * len(known) + [False] * len(absent)


def test_results_are_in_the_order_of_the_request() -> None:
    report = vsebench.evaluate(np.eye(3), np.eye(3), captions_per_image=1, metrics="MRR,RSum,R@1")
    assert [(str(r.metric), r.direction) for r in report.results] == [
        ("MRR", "i2t"), ("MRR", "t2i"), ("RSum", None), ("R@1", "i2t"), ("R@1", "t2i"),
    ]  # fmt: skip


def test_the_document(report: Report) -> None:
    data = json.loads(report.to_json())
    assert list(data) == [
        "schema", "split", "signature", "provenance", "warnings", "intervals", "results", "parts", "per_query",
    ]  # fmt: skip
    assert list(json.loads(report.to_json(per_query=False))) == list(data)[:-2]
    assert data["schema"] == SCHEMA == "vsebench/report/1"
    assert data["split"] == "custom" and data["signature"] == report.signature
    first = data["results"][0]
    assert first == {
        "metric": "R@1", "direction": "i2t", "value": report["R@1", "i2t"].value, "n": 10, "undefined": 0,
        "interval": list(report["R@1", "i2t"].interval),
    }  # fmt: skip
    assert {r["direction"] for r in data["results"] if r["metric"].endswith("RSum")} == {None}
    assert data["provenance"]["notes"] == list(report.notes)


def damaged(report: Report, change: Any) -> str:
    data = json.loads(report.to_json())
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(schema="vsebench/report/2"),
        lambda d: d.pop("signature"),
        lambda d: d.update(mood="good"),
        lambda d: d["results"][0].update(direction="t2v"),
        lambda d: d["results"][1].update(value="high"),
        lambda d: d["results"][1].update(n=-1),
        lambda d: d["results"][2].pop("metric"),
        lambda d: d["results"][0].update(value=float("nan")),
    ],
)
def test_damaged_documents_are_refused(report: Report, tmp_path: Path, change: Any, refuses: Refuses) -> None:
    path = tmp_path / "report.json"
    path.write_text(damaged(report, change), encoding="utf-8")
    refuses(BadInput, read, path, parse)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 1}'])
def test_other_files_are_refused(tmp_path: Path, text: str, refuses: Refuses) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    refuses(BadInput, read, path, parse)
    refuses(BadInput, read, tmp_path / "absent.json", parse)


def test_documents_of_other_commands_are_named(tmp_path: Path, refuses: Refuses) -> None:
    items = [{"image": "a", "captions": ["a", "b"]}]
    vsebench.choice([[1.0, 0.0]], set=items, ci=0).save(tmp_path / "choices.json")
    for function in (vsebench.load, vsebench.compare):
        refuses(BadInput, function, tmp_path / "choices.json")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_result_is_a_finite_number(value: float, refuses: Refuses) -> None:
    refuses(UsageError, Measurement, parse("R@1"), "i2t", value, 3)


def test_per_query_values(report: Report, tmp_path: Path) -> None:
    table = per_query_columns(report)
    assert list(table) == ["metric", "direction", "query", "value"]
    assert len({len(column) for column in table.values()}) == 1
    assert not any(name.endswith("RSum") for name in table["metric"])
    rows = [(q, v) for m, d, q, v in zip(*table.values(), strict=True) if (m, d) == ("R@1", "t2i")]
    assert [q for q, _ in rows] == list(range(900, 950))  # numbers, as the ids are
    assert np.mean([v for _, v in rows]) == pytest.approx(report["R@1", "t2i"].value)
    for r in report.results:
        if r.per_query is not None and str(r.metric) not in ("MedR", "1k:MedR"):
            assert np.mean(r.per_query) == pytest.approx(r.value)  # folds are of equal size here
    path = check_per_query(tmp_path / "values.csv")
    write_per_query(report.per_query(), path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "metric,direction,query,value" and len(lines) == len(table["value"]) + 1
    assert list(tmp_path.iterdir()) == [path]
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'vsebench[formats]')")
    write_per_query(report.per_query(), check_per_query(tmp_path / "values.parquet"))
    got = pd.read_parquet(tmp_path / "values.parquet")
    assert {c: got[c].tolist() for c in got.columns} == table


@pytest.mark.parametrize(
    ("images", "captions", "kind"),
    [([7, 5], [2, 3], "int64"), (["b", "a"], [2, 3], "str"), (["007", "a"], ["5", "x"], "str")],
)
def test_ids_of_queries_are_integers_where_all_of_them_are(
    images: list[object], captions: list[object], kind: str, tmp_path: Path
) -> None:
    split = TestSet.captioned("custom", np.array(images), np.array(captions), np.arange(2))
    values = vsebench.evaluate(np.eye(2), np.eye(2), split=split, metrics="R@1", ci=0).per_query()
    expected = [q if kind == "int64" else str(q) for q in [*images, *captions]]
    assert values["query"].tolist() == expected
    for name in ("values.csv", "values.csv.gz", "values.parquet"):
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'vsebench[formats]')")
        write_per_query(values, tmp_path / name)
        read = pd.read_csv(tmp_path / name) if ".csv" in name else pd.read_parquet(tmp_path / name)
        assert read["query"].tolist() == expected and (read["query"].dtype == np.int64) == (kind == "int64")


@pytest.mark.parametrize("name", ["values.xlsx", "absent/values.csv"])
def test_per_query_paths_that_are_refused(tmp_path: Path, name: str, refuses: Refuses) -> None:
    refuses(UsageError, check_per_query, tmp_path / name)


def test_the_table(report: Report) -> None:
    full, folds, words = report.tables
    assert full.title == "custom · ground truth" and folds.title == "COCO 1K (mean of 5 folds)"
    assert [column.heading for column in full.columns] == ["metric", "image→text", "text→image", "sum", "queries"]
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in full.cells}
    assert rows["R@1"][::3] == [f"{100 * report['R@1', 'i2t'].value:.2f}", "10 / 50"]
    assert rows["RSum"] == ["", "", f"{100 * report['RSum'].value:.2f}", ""]
    assert "MedR ↓" in rows and "MeanR ↓" in rows
    assert words.literal == report.signature and "In brackets: 95 % BCa bootstrap" in words.notes[0]
    one = vsebench.evaluate(np.eye(3), np.eye(3), captions_per_image=1, metrics="R@1", direction="t2i")
    assert [column.heading for column in one.tables[0].columns] == ["metric", "text→image", "queries"]


@pytest.mark.parametrize("decimals", [1, 2, 4])
def test_halves_are_rounded_away_from_zero(decimals: int) -> None:
    """Every decimal number that ends in 5 one digit further, and what a sum of floats makes of it (an ulp beside)."""
    for whole in range(5, 20_000, 10):
        value, up = whole / 10 ** (decimals + 1), whole // 10 + 1
        expected = f"{up // 10**decimals}.{up % 10**decimals:0{decimals}}"
        for near in (value, np.nextafter(value, 0), np.nextafter(value, np.inf)):
            assert (fixed(near, decimals), fixed(-near, decimals)) == (expected, f"-{expected}")
        assert fixed(value / 100, decimals, times=100) == expected
    assert [fixed(v, 2) for v in (math.inf, math.nan, 1e300, -0.0)] == ["inf", "nan", f"{1e300:.2f}", "-0.00"]


def test_numbers_as_printed() -> None:
    assert [printed(v, "fraction") for v in (0.33925, 0.79525, -0.00005)] == ["33.93", "79.53", "-0.01"]
    assert [printed(v, "fraction") for v in (0.361, 5.12345)] == ["36.10", "512.35"]
    assert [printed(v, "rank") for v in (3.0, 1.25, 12345.0)] == ["3", "1.3", "12,345"]
    assert [printed(v, "distance") for v in (1.25, 0.123456, 12345.0)] == ["1.25", "0.1235", "1.235e+04"]


def test_ties_of_a_few_duplicate_captions_are_a_note(rng: np.random.Generator, pinned: Pinned) -> None:
    x = rng.standard_normal((300, 32))
    y = np.repeat(x, 5, axis=0) + 0.3 * rng.standard_normal((1500, 32))
    y[5] = y[0]
    report = vsebench.evaluate(x, y, metrics="R@1,MeanR,MedR", ci=0)
    # no printed value depends on them
    assert report.warnings == () and not any("tie" in n for n in report.notes)
    y[[0, 5]], y[1:5] = x[0], -x[0]  # now the first image finds its caption first, or that of the second
    (note,) = (n for n in vsebench.evaluate(x, y, metrics="R@1", ci=0).notes if "tie" in n)
    assert note.startswith("i2t: 0.4% of") and note.endswith("R@1 is 99.67 to 100.00")
    pinned(note)


def test_ties_are_those_of_the_judgements_whose_value_depends_on_them(rng: np.random.Generator) -> None:
    """The captions 0 and 1 of every image are equal: one of two values of mine is right, and none of gt changes."""
    x = rng.standard_normal((40, 32))
    y = np.repeat(x, 5, axis=0) + 0.3 * rng.standard_normal((200, 32))
    y[::5] = y[1::5] = x
    mine = {str(i): [str(5 * i + 1)] for i in range(40)}
    report = vsebench.evaluate(x, y, metrics="R@10,mine:R@1", judgements={"mine": mine}, direction="i2t", ci=0)
    assert report["mine:R@1", "i2t"].ties == (1, 0) and report["R@10", "i2t"].ties is None
    (line,) = (text for text in (*report.notes, *report.warnings) if "tie exactly" in text)
    assert "(mine)" in line and "(gt)" not in line and "100.0%" in line
    both = vsebench.evaluate(x, y, metrics="MeanR,mine:R@1", judgements={"mine": mine}, direction="i2t", ci=0)
    assert both["mine:R@1", "i2t"].ties == (1, 0)


def test_ties_are_reported_with_bounds() -> None:
    x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    report = vsebench.evaluate(x, x, captions_per_image=1, image_ids=[0, 1, 2], metrics="R@1,MeanR")
    assert report["R@1", "i2t"].ties == pytest.approx((1, 1 / 3))
    assert report["MeanR", "i2t"].ties == pytest.approx((1, 5 / 3))
    assert report["R@1", "i2t"].value == pytest.approx(2 / 3)
    assert [w.partition(";")[0] for w in report.warnings] == [
        f"{d}: 66.7% of the relevant items (gt) tie exactly with another candidate" for d in ("i2t", "t2i")
    ]
    assert all(w.endswith("R@1 is 33.33 to 100.00") for w in report.warnings)
    assert not any("tie" in note for note in report.notes)
    distinct = vsebench.evaluate(np.eye(3), np.eye(3) + 0.1 * np.arange(9).reshape(3, 3), captions_per_image=1)
    assert distinct["R@1", "i2t"].ties is None and not any("tie" in w for w in distinct.warnings)


@pytest.mark.parametrize("images", [1, 2])
def test_intervals_are_explained_where_there_are_some(images: int) -> None:
    from rich.console import Console

    console = Console(record=True, width=100)
    terminal.show(reports.report(0.1, world=reports.split(images), metrics="R@1").tables, console)
    assert ("In brackets" in console.export_text()) == (images > 1)
