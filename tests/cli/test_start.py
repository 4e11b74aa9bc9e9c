"""Environments in which other packages would end the process: each has one message and a documented exit code."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import numpy as np
import pytest

import vsebench
from leaderboards.entries import Model, add, read
from leaderboards.site import numbers_csv
from tests import leaderboard_worlds as worlds
from tests.commands import cli, refused
from vsebench.environment import THREADS
from vsebench.errors import csv_cell, printable
from vsebench.results import per_query


@pytest.mark.parametrize("value", ["0", "many", "-1", "1.5", "", "9999999"])
@pytest.mark.parametrize("name", THREADS)
def test_numbers_of_threads(monkeypatch, name, value, pinned):
    monkeypatch.setenv(name, value)
    pinned(refused("metrics", "R@1"))


def test_numbers_of_threads_that_are_right(monkeypatch):
    for name in THREADS:
        monkeypatch.setenv(name, "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    cli("metrics", "R@1")


@pytest.mark.skipif(sys.platform == "win32", reason="no shell here")
@pytest.mark.parametrize("more", [["metrics", "R@1"], ["--version"], ["metrics", "R@1", "--json"]])
def test_a_result_that_is_printed_nowhere(more):
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "vsebench", *more]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 6 and done.stderr.splitlines() == [
        "error: the result was not printed: stdout is closed",
        "  fix: send it to a file (> FILE), or name one with --output",
    ]


@pytest.mark.parametrize("line", ["data build own --from c.jsonl", "cache list", "data build scenes-tiny"])
def test_a_cache_that_is_a_circle_of_links(tmp_path, monkeypatch, line, pinned):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c.jsonl").write_text('{"image": "a.jpg", "caption": "a man"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "a"))
    done = cli(*line.split(), code=None)
    assert done.code in (3, 6)
    pinned(done.err)
    if line == "cache list":  # what is computed is not lost with such a cache
        images, captions = np.eye(6), [f"a man number {i}" for i in range(6)]
        options = {"captions_per_image": 1, "metrics": "cider:NCS@1", "trust": True, "captions": captions}
        assert vsebench.evaluate(images, images + 0.1, **options).results


def test_cells_of_csv():
    quoted = ["=1+1", "+SUM(A1)", "-2+3", "@cmd", "\tx", "\rx", '=HYPERLINK("http://x","y")', "--", "-1-"]
    assert [csv_cell(text) for text in quoted] == [f"'{printable(text)}" for text in quoted]
    for same in ("-0.5", "+3", "-1e-3", "-.5", "-", "", "a=b", "x", "1-2", -0.5, 3, None):
        assert csv_cell(same) == same
    assert csv_cell("a\x1b[31m\nb") == "a\\x1b[31m\\nb"


def test_formulas_in_tables_are_text(tmp_path):
    folder = worlds.folder(tmp_path / "board")
    worlds.report().save(tmp_path / "A.json")
    add(tmp_path / "A.json", Model('=HYPERLINK("http://x","y")', "@a"), folder, "formula")
    table = csv.DictReader(io.StringIO(numbers_csv(read(folder)).decode()))
    rows = [row for row in table if row["id"] == "formula"]
    assert rows and {(r["model"], r["setting"]) for r in rows} == {('\'=HYPERLINK("http://x","y")', "'@a")}
    report = vsebench.load(tmp_path / "A.json")
    compared = vsebench.compare({"=cmd": report, "B": report}, permutations=20, resamples=20).to_csv()
    cells = [cell for line in csv.reader(io.StringIO(compared)) for cell in line]
    assert "'=cmd" in cells and not any(cell.startswith("=") for cell in cells)


def test_formulas_in_ids_are_text_in_per_query_values(tmp_path):
    ids = np.array(["=1+1", "-5", "a"])
    split = vsebench.Split("custom", ids, ids, np.arange(3))
    report = vsebench.evaluate(np.eye(3), np.eye(3), split=split, metrics="R@1", trust=True, ci=0)
    per_query.write(report.per_query(), tmp_path / "q.csv")
    assert sorted({row["query"] for row in csv.DictReader((tmp_path / "q.csv").open())}) == ["'=1+1", "-5", "a"]
