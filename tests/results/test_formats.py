"""Results as text, notebook table, data frame, LaTeX, Markdown, HTML and JSON: the same methods for every result."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench
from docs.generate import commands
from tests import human_files, reports
from tests.messages import Refuses
from vsebench.analysis.agree import agree
from vsebench.analysis.compare import compare
from vsebench.analysis.page import page
from vsebench.analysis.slices import slice
from vsebench.cli import PANELS
from vsebench.cli.signatures import GIVEN, PYTHON, Command
from vsebench.errors import BadInput, UsageError
from vsebench.human.study import correlate
from vsebench.results.render import Result
from vsebench.results.report import Report
from vsebench.results.table import Column, Table, Text, Value
from vsebench.results.terminal import show, text

NAMES = ("report", "comparison", "agreement", "slices", "study", "page", "choices")
COLUMNS = {
    "report": ["metric", "direction", "value", "low", "high", "n", "undefined", "unit"],
    "comparison": [
        "first", "second", "metric", "direction", "difference", "low", "high", "n", "differing", "exact", "wins",
        "ties", "losses", "p", "standardised", "superiority", "error", "first_value", "second_value", "winner",
        "corrected", "detectable",
    ],
    "agreement": ["first", "second", "tau", "low", "high", "concordant", "discordant", "tied"],
    "slices": ["metric", "direction", "by", "slice", "images", "n", "system", "value", "low", "high"],
    "page": ["metric", "direction", "value", "low", "high", "n", "undefined", "unit"],
    "choices": [
        "part", "measure", "category", "n", "order_blind", "system", "value", "low", "high", "ties", "images",
        "averaged", "chance",
    ],
    "study": ["task", "subset", "relevance", "coefficient", "value", "low", "high", "pairs", "points", "variant"],
}  # fmt: skip

FEW: dict[str, Any] = {"permutations": 100, "resamples": 20}
CHOICES = [{"image": str(n), "captions": ["a", "b"]} for n in range(2)]


@pytest.fixture(scope="module")
def three() -> list[Report]:
    return [reports.report(noise, seed, metrics="R@1,MedR,RSum") for seed, noise in enumerate((0.3, 0.9, 3.0))]


@pytest.fixture(scope="module")
def results(three: list[Report], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = human_files.flickr8k(tmp_path_factory.mktemp("human"))
    return {
        "report": three[0],
        "comparison": compare(three, permutations=100, resamples=20),
        "agreement": agree(three, resamples=20),
        "slices": slice(three, "positives", resamples=20),
        "study": correlate("flickr8k", gains="binary", human_data=folder),
        "page": page(three[0], resamples=20),
        "choices": vsebench.choice({"A": np.eye(2), "B": np.eye(2)[::-1]}, set=CHOICES, resamples=20),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_result_has_every_format(results: dict[str, Result], name: str, tmp_path: Path, refuses: Refuses) -> None:
    result = results[name]
    grids = [table for table in result.tables if table.shown and table.rows]
    frame = result.to_frame()
    assert list(frame.columns) == COLUMNS[name] and len(frame) > 0
    assert str(result).count("─\n") == len(grids) and not any(line.endswith(" ") for line in str(result).split("\n"))
    assert result.to_latex().count(r"\begin{tabular}") == (1 if name == "comparison" else len(grids))
    assert result.to_markdown().count("| ---") >= len(grids)
    assert result._repr_html_().count("<table>") == result.to_html().count("<table>") == len(grids)
    assert result.to_html().startswith("<!doctype html>") and "<html" not in result._repr_html_()
    assert json.loads(result.to_json())["schema"].startswith("vsebench/")
    for ending, content in (
        ("json", result.to_json()), ("tex", result.to_latex()), ("md", result.to_markdown()), ("html", result.to_html())
    ):  # fmt: skip
        path = tmp_path / f"result.{ending}"
        result.save(path)
        assert path.read_text(encoding="utf-8").rstrip("\n") == content.rstrip("\n")
    refuses(UsageError, result.save, tmp_path / "result.xlsx")


def test_the_frame_of_a_report(three: list[Report]) -> None:
    frame = three[1].to_frame().set_index(["metric", "direction"])
    result = three[1]["R@1", "i2t"]
    row = frame.loc["R@1", "i2t"]
    assert (row.value, row.n, row.undefined, row.unit) == (result.value, result.n, 0, "fraction")
    assert (row.low, row.high) == result.interval
    assert three[1].to_frame().query("metric == 'RSum'").direction.isna().all()


def test_the_frame_of_a_comparison(results: dict[str, Result]) -> None:
    frame: pd.DataFrame = results["comparison"].to_frame()
    document = json.loads(results["comparison"].to_json())
    assert frame.equals(pd.DataFrame(document["tables"]["tests"]))
    assert set(frame["first"]) | set(frame["second"]) == {"A", "B", "C"}
    assert (frame.difference - (frame.second_value - frame.first_value)).abs().max() < 1e-9


def test_reports_are_files_or_objects(three: list[Report], tmp_path: Path, refuses: Refuses) -> None:
    named = dict(zip(("good", "worse", "bad"), three, strict=True))
    files = [Path(reports.write(tmp_path / f"{name}.json", report)) for name, report in named.items()]
    few: dict[str, Any] = {"metrics": ["R@1"], **FEW}
    want = compare(files, **few).to_json()
    for given in ([str(f) for f in files], named, [f"good={files[0]}", *files[1:]]):
        assert compare(given, **few).to_json() == want
    assert compare([three[0], files[1]], metrics="R@1", permutations=10).systems == ("A", "worse")
    found, of_file = (slice(given, "positives", resamples=20) for given in ({"good": three[0]}, files[0]))
    assert found.to_dict() == of_file.to_dict()
    assert slice(three[0], by="positives", resamples=20).systems == ("A",)
    (tmp_path / "values.json").write_text(json.dumps(three[0].document()), encoding="utf-8")
    assert compare([f"good={tmp_path}/values.json", *files[1:]], **few).to_json() == want
    bare = vsebench.load(reports.write(tmp_path / "bare.json", three[0], per_query=False))
    refuses(BadInput, compare, [three[0], bare])


COMMANDS = {name: found for panel in PANELS.values() for name, found in panel.items() if isinstance(found, Command)}


@pytest.mark.parametrize("name", [name for name, found in COMMANDS.items() if not found.function.startswith("cli.")])
def test_a_command_has_the_arguments_of_its_function(name: str) -> None:
    """Every option of an analysis has the default of the argument, and a help from the docstring."""
    options = {p.name: p for p in dict(commands())[f"vsebench {name}"].params}
    for parameter in inspect.signature(Command.load(COMMANDS[name].function)).parameters.values():
        if parameter.name in (*PYTHON, *GIVEN) or parameter.name.endswith("key"):
            continue
        option = options[parameter.name]
        if parameter.default is parameter.empty:
            assert option.required, parameter.name
        else:
            assert option.help and option.default in (parameter.default, None), parameter.name


@pytest.mark.parametrize("width", [30, 50, 70, 90, 200])
def test_a_terminal_of_any_width(results: dict[str, Result], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for result in results.values():
        literal = {table.literal for table in result.tables if table.literal}
        lines = [line for line in str(result).split("\n") if line not in literal]
        assert max(map(len, lines)) <= width


def test_numbers_are_folded_last() -> None:
    from rich.console import Console

    row = "word " * 6, Text("123,456.78", None, "[100,000.00, 200,000.00]")
    table = Table(columns=(Column("a heading of many words", words=True), Column("value")), rows=(row, row))
    console = Console(record=True, width=28)
    show([table], console)
    drawn = console.export_text()
    assert drawn.count("123,456.78") == 2 and max(map(len, drawn.splitlines())) <= 28
    assert text([Table(notes=("only words",), literal="a:b|" * 60)]).endswith("a:b|" * 60)


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_the_best_two_values(higher_is_better: bool) -> None:
    sign = 1 if higher_is_better else -1

    def marked(*values: float | None) -> str:
        column = [Value(v if v is None else sign * v, higher_is_better=higher_is_better) for v in values]
        cells = Table("t", "", (Column("a"),), tuple((v,) for v in column), best="column").cells
        return "".join("b" if c.best else "s" if c.second else "-" for (c,) in cells)

    assert marked(0.2, 0.5, None, 0.4) == "-b-s" and marked(0.5, 0.5, 0.1) == "bbs"
    assert marked(0.5, 0.4, None) == "b--"  # of two the second is the other one
    assert marked(0.5, 0.5, 0.5) == "bbb" and marked(0.5, None, None) == "---"
    assert marked(0.5, 0.49999, 0.3, 0.30001) == "bbss"  # equal as printed


def test_intervals_are_left_out_or_shown_on_request(three: list[Report]) -> None:
    for result in (compare(three, permutations=100, ci=0), agree(three, ci=0), slice(three[0], "positives", ci=0)):
        assert all(row["low"] is None for row in result.records()) and "bootstrap" not in str(result)
    for shown in (compare(three, permutations=100, intervals=True), compare(three, tests=False, intervals=True)):
        assert "bootstrap interval over images" in shown.to_markdown() and "r@{ }l" in shown.to_latex()
        low = f"[{100 * three[0]['R@1', 'i2t'].interval[0]:.2f}, "
        assert low in shown.to_latex() and low in str(shown)


def test_the_second_best_is_underlined(three: list[Report]) -> None:
    """In a table of values and a comparison, in every format."""
    values = sorted((100 * r["R@1", "i2t"].value for r in three), reverse=True)
    assert len(set(values)) == 3
    first, second, third = (f"{value:.2f}" for value in values)
    for result in (compare(three, metrics="R@1", tests=False), compare(three, metrics="R@1", permutations=100)):
        assert f"\\textbf{{{first}}}" in result.to_latex() and f"\\underline{{{second}}}" in result.to_latex()
        assert f"**{first}**" in result.to_markdown() and f"<u>{second}</u>" in result.to_markdown()
        assert f"<b>{first}</b>" in result.to_html() and f"<u>{second}</u>" in result.to_html()
        for written in (result.to_latex(), result.to_markdown(), result.to_html()):
            assert third in written and f"{{{third}}}" not in written and f">{third}</u>" not in written
            assert "Bold: best, underlined: second best." in written
    two = compare(three[:2], metrics="R@1", tests=False).to_markdown()
    assert "<u>" not in two and "Bold: best." in two
