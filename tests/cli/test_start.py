"""Environments in which other packages would end the process: each has one message and a documented exit code."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vsebench
from leaderboards.entries import Model, add, read
from leaderboards.site import numbers_csv
from tests import leaderboard_worlds as worlds
from tests import reports
from tests.commands import cli, refused
from tests.hostile import good
from vsebench.cli.results import write_per_query
from vsebench.environment import THREADS
from vsebench.errors import csv_cell, printable


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


# One process, which has a child for every case; what these print is in files.
CHILDREN = """
import json, os, sys, tempfile
import numba, pandas, scipy.special, scipy.stats, vsebench.analysis.compare, vsebench.evaluation.run
import vsebench.rank.count
from vsebench.cli import main
found = []
for args, kind, encoding in json.load(sys.stdin):
    files = [tempfile.TemporaryFile() for _ in range(2)]
    child = os.fork()
    if child == 0:
        reader, pipe = os.pipe()
        os.close(reader)
        out = {"file": files[0].fileno, "full": lambda: os.open("/dev/full", os.O_WRONLY), "pipe": lambda: pipe}
        if kind == "closed":
            os.close(1)
            sys.stdout = None
        else:
            os.dup2(out[kind](), 1)
            sys.stdout.reconfigure(encoding=encoding)
        os.dup2(files[1].fileno(), 2)
        sys.argv = ["vsebench", *args]
        main()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found.append([code, *(os.pread(f.fileno(), 1 << 20, 0).decode("latin-1") for f in files)])
print(json.dumps(found))
"""
SHOWN = {
    ("html", "ascii"): "&#20889;",
    ("terminal", "ascii"): "?",
    ("csv", "ascii"): "&#20889;",
    ("latex", "latin-1"): "é",
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_streams_and_exit_codes_of_a_process(tmp_path, pinned):
    """What fits into a buffer fails when it is flushed; help and version are printed outside any command."""
    given, file = good.npz(tmp_path), str(tmp_path / "written.json")
    (tmp_path / "bad.npz").write_bytes(b"\x80\x04nonsense")
    few = ["--format"]
    compare = ["compare", *reports.files(tmp_path, 写=0.3, é=0.9), *few]
    evaluate, metrics, version = [*given, "--metrics", "R@1", "--json", "-q"], ["metrics", "R@1"], ["--version"]
    full = [evaluate, [*metrics, "--json"], metrics, version, ["--help"]]
    cases = [(words, "full", "utf-8") for words in full]
    cases += [(words, "closed", "utf-8") for words in (metrics, version, [*metrics, "--json"])]
    cases += [(["inspect", given[1], *more], "pipe", "utf-8") for more in ([], ["--json"])]
    cases += [([*evaluate, "-o", file], "closed", ""), (["eval", str(tmp_path / "bad.npz")], "file", "utf-8")]
    cases += [([*compare, style], "file", encoding) for style, encoding in SHOWN]
    program = [sys.executable, "-c", CHILDREN]
    done = subprocess.run(program, input=json.dumps(cases), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for some in (found[:5], found[5:8]):
        assert {code for code, *_ in some} == {6} and len({err for *_, err in some}) == 1
        pinned(some[0][2])
    assert found[8:11] == [[0, "", ""]] * 3 and Path(file).stat().st_size > 100, "a file is written without stdout"
    code, out, err = found[11]
    assert (code, out) == (3, "") and err.startswith("error: ") and "\x1b" not in err
    for expected, (code, out, err) in zip(SHOWN.values(), found[12:], strict=True):
        assert code == 0 and expected in out, err


@pytest.mark.parametrize("line", ["data build own --from c.jsonl", "cache", "data build scenes-tiny"])
def test_a_cache_that_is_a_circle_of_links(tmp_path, monkeypatch, line, pinned):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c.jsonl").write_text('{"image": "a.jpg", "caption": "a man"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "a"))
    done = cli(*line.split(), code=None)
    assert done.code in (3, 6)
    pinned(done.err)
    if line == "cache":  # what is computed is not lost with such a cache
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
    split = vsebench.TestSet.captioned("custom", ids, ids, np.arange(3))
    report = vsebench.evaluate(np.eye(3), np.eye(3), split=split, metrics="R@1", trust=True, ci=0)
    write_per_query(report.per_query(), tmp_path / "q.csv")
    assert sorted({row["query"] for row in csv.DictReader((tmp_path / "q.csv").open())}) == ["'=1+1", "-5", "a"]
