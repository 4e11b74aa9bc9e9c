"""What ``vsebench leaderboard diff``, ``drift`` and ``export`` say."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import Result

from tests import leaderboard_worlds as worlds
from tests.leaderboard_worlds import edit, run
from vsebench.leaderboard import diff, submit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def two(tmp_path) -> tuple[Path, Path]:
    """A folder, and a copy of it with changes."""
    old = worlds.folder(tmp_path / "old")
    worlds.report().save(tmp_path / "R.json")
    submit.add(tmp_path / "R.json", "Same", folder=old)
    worlds.write(old / "suites" / "small.json", worlds.suite())
    new = tmp_path / "new"
    shutil.copytree(old, new)
    table = json.loads(json.dumps(worlds.TABLE))
    table["rows"][0]["cells"][0] = "50.5"
    table["rows"][0]["cells"][7] = None
    del table["rows"][1]
    worlds.write(new / "published" / "doe2020thing-table-1.json", table)
    submit.add(tmp_path / "R.json", "New", folder=new)
    suite = worlds.suite()
    suite["claims"][0]["verdict"] = "holds here"
    for one in suite["runs"].values():
        one["signature"] = one["signature"].replace("vsebench:0.1.0", "vsebench:0.2.0")
    worlds.write(new / "suites" / "small.json", suite)
    return old, new


def test_diff_of_folders(two):
    old, new = two
    found = diff.against(new, str(old))
    assert found.added == ("new-custom",) and found.removed == ("doe2020thing-table-1-02",)
    assert [(m.metric, m.direction, m.old, m.new) for m in found.moved] == [
        ("R@1", "i2t", 0.5, 0.505), ("MedR", "i2t", 1.5, None),
    ]  # fmt: skip
    assert found.moved[0].delta == pytest.approx(0.005)
    assert found.measured == tuple(
        (f"small-scenes-10k-{v}", "vsebench 0.1.0", "vsebench 0.2.0") for v in ("mh", "sh")
    )  # fmt: skip
    assert found.verdicts == (("hardest-negative", "scenes-10k", "undecided", "holds here"),)
    assert diff.against(old, str(old)).empty


def test_diff_as_a_command(two):
    old, new = two
    done = run("leaderboard", "diff", "--folder", str(new), "--against", str(old))
    assert done.exit_code == 0
    (line,) = [line for line in done.stdout.splitlines() if "50.50" in line]
    assert line.split() == ["doe2020thing-table-1-01", "R@1", "image→text", "50.00", "50.50", "+0.5"]
    document = json.loads(run("leaderboard", "diff", "--folder", str(new), "--against", str(old), "--json").stdout)
    assert document["schema"] == "vsebench/leaderboard-diff/1" and document["added"] == ["new-custom"]
    done = run("leaderboard", "diff", "--folder", str(new), "--against", str(new))
    assert "".join(done.stdout.split()) == f"Nothingchangedagainst{new}."


def test_diff_against_a_commit(two):
    old, new = two
    repository = old.parent / "repository"
    board = repository / "deep" / "boards"
    shutil.copytree(old, board)

    def git(*words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, "-C", str(repository), *words], check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    shutil.rmtree(board)
    shutil.copytree(new, board)
    assert diff.against(board, "HEAD").to_dict() == {**diff.against(new, str(old)).to_dict(), "against": "HEAD"}
    done = run("leaderboard", "diff", "--folder", str(board), "--against", "nowhere")
    assert done.exit_code == 2 and "neither a folder nor a commit" in done.stderr
    assert run("leaderboard", "diff", "--folder", str(board), "--against", "--output=x").exit_code == 2
    (board / "suites" / "link.json").symlink_to("/etc/passwd")
    git("add", "-A")
    git("commit", "-qm", "a link that leads out of the folder")
    (board / "suites" / "link.json").unlink()
    done = run("leaderboard", "diff", "--folder", str(board))
    assert done.exit_code == 3 and "suites/link.json" in done.stderr


def test_export(two):
    def export(*words: str) -> str:
        return run("leaderboard", "export", *words, "--folder", str(two[0])).stdout

    rows = list(csv.DictReader(io.StringIO(export())))
    first = rows[0]
    assert (first["id"], float(first["value"]), first["printed"]) == ("doe2020thing-table-1-01", 0.5, "50.0")
    assert {row["level"] for row in rows} == {"published", "recomputed", "reproduced"}
    document = json.loads(export("--to", "json"))
    assert sum(len(e["values"]) for e in document["entries"]) == len(rows)
    assert {row["benchmark"] for row in csv.DictReader(io.StringIO(export("--benchmark", "custom")))} == {"custom"}
    text = export("--to", "markdown", "--benchmark", "coco-5k")
    assert "**51.0**" in text and "As printed in the papers" in text
    assert run("leaderboard", "export", "--to", "xml", "--folder", str(two[0])).exit_code == 2
    done = run("leaderboard", "export", "--benchmark", "coco-5", "--folder", str(two[0]))
    assert done.exit_code == 2 and "coco-5k" in done.stderr


def test_export_to_a_file_of_that_ending(two, tmp_path):
    starts = {"a.md": "###", "a.tex": "% needs", "a.json": "{", "a.csv": "id,level", "a.html": "<!doctype"}
    for name, start in starts.items():
        assert run("leaderboard", "export", "--folder", str(two[0]), "-o", str(tmp_path / name)).exit_code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    done = run("leaderboard", "export", "--folder", str(two[0]), "-o", str(tmp_path / "a.pdf"))
    assert done.exit_code == 2 and not (tmp_path / "a.pdf").exists()
    to = run("leaderboard", "export", "--folder", str(two[0]), "-o", str(tmp_path / "a.pdf"), "--to", "csv")
    assert to.exit_code == 0 and (tmp_path / "a.pdf").read_text(encoding="utf-8").startswith("id,level")


@pytest.mark.parametrize("name", ["papers.json", "entries/same-custom.json", "published/doe2020thing-table-1.json"])
def test_an_export_replaces_no_file_of_the_leaderboards(two, name):
    before = (two[0] / name).read_bytes()
    done = run("leaderboard", "export", "--folder", str(two[0]), "-o", str(two[0] / name))
    assert done.exit_code == 2 and "is an input" in done.stderr and (two[0] / name).read_bytes() == before


# Drift


@pytest.fixture
def suite(tmp_path) -> Path:
    """The folder of a suite of two runs, with their reports."""
    folder = tmp_path / "suite"
    summary = worlds.suite(seeds=(0,), claims=False)
    for i, name in enumerate(summary["runs"]):
        (folder / name).mkdir(parents=True)
        worlds.report(1.5, i).save(folder / name / "result.json")
    worlds.write(folder / "suite.json", summary | {"suite": "smoke"})
    return folder


@pytest.fixture
def board(suite, tmp_path) -> Path:
    """A folder with the numbers of that suite stored."""
    folder = worlds.folder(tmp_path / "board")
    done = drift(suite, folder)
    assert done.exit_code == 3 and "store them first" in done.stderr
    assert drift(suite, folder, "--update").exit_code == 0
    return folder


def drift(suite: Path, board: Path, *more: str) -> Result:
    return run("leaderboard", "drift", str(suite), "--folder", str(board), *more)


def test_a_suite_that_did_not_change(suite, board):
    done = drift(suite, board)
    assert (done.exit_code, done.stdout) == (0, "18 numbers of 2 runs: 0 moved; 0 runs drifted\n")


def shift(board: Path, by: float, count: int = 1) -> list[dict]:
    """Move so many stored numbers of the first run away from what is measured; gives all of its numbers."""
    path = board / "baselines" / "smoke.json"
    stored = json.loads(path.read_text())
    numbers = next(iter(stored["runs"].values()))
    for one in numbers[:count]:
        one["value"] += by
    path.write_text(json.dumps(stored))
    return numbers


def test_one_number_that_moves_is_drift(suite, board):
    name = "scenes-10k/mh-seed0"
    (first, *_) = shift(board, 0.004)
    done = drift(suite, board)
    assert done.exit_code == 1 and f"drift of {name}: see why" in done.stderr
    assert done.stdout.splitlines() == [
        f"{name} R@1 (i2t): stored {first['value']:.6g}, found {first['value'] - 0.004:.6g}",
        "18 numbers of 2 runs: 1 moved; 1 run drifted",
    ]
    document = json.loads(drift(suite, board, "--json").stdout)
    assert (document["drifted"], len(document["moved"])) == ([name], 1)


def test_rounding_of_a_sum_is_no_drift(suite, board):
    shift(board, 1e-8, 9)
    assert drift(suite, board).exit_code == 0


def test_drift_names_what_is_other_than_when_the_numbers_were_stored(suite, board):
    edit(suite / "suite.json", lambda d: d["machine"].update(processor="Zen, AVX2"))
    drift(suite, board, "--update")
    assert json.loads((board / "baselines" / "smoke.json").read_text())["machine"]["processor"] == "Zen, AVX2"
    edit(suite / "suite.json", lambda d: d["machine"].update(processor="Core, AVX512"))
    edit(suite / "suite.json", lambda d: d["versions"].update(vsebench="0.2.0"))
    assert drift(suite, board).stderr == ""
    shift(board, 0.1)
    said = drift(suite, board).stderr
    assert "processor was Zen, AVX2, is Core, AVX512" in said and "vsebench was 0.1.0, is 0.2.0" in said


def test_what_is_said_of_processors_is_what_was_compared():
    pages = ["docs/leaderboards.md", "docs/training.md", "docs/cli.md", "CHANGELOG.md"]
    sources = ["vsebench/leaderboard/drift.py", "vsebench/cli/leaderboard.py", "train_reference/config.py"]
    for name in (*pages, *sources):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert "SSE4, AVX2 and AVX-512" in text and "the same numbers on every processor" not in text, name


def test_a_run_that_is_missing_is_drift(suite, board):
    edit(board / "baselines" / "smoke.json", lambda d: d["runs"].update(other=d["runs"].pop(next(iter(d["runs"])))))
    done = drift(suite, board)
    assert done.exit_code == 1 and "other: was not measured" in done.stdout
    assert "scenes-10k/mh-seed0: is not stored" in done.stdout


def test_a_suite_that_cannot_be_compared(suite, board):
    edit(suite / "suite.json", lambda d: d.update(complete=False))
    done = drift(suite, board)
    assert done.exit_code == 3 and "is not complete" in done.stderr
    edit(suite / "suite.json", lambda d: d.update(complete=True))
    for text in ('{"schema": "x"}', "[]", "3", "", "[" * 100_000):
        (board / "baselines" / "smoke.json").write_text(text)
        assert drift(suite, board).exit_code == 3
    edit(next(suite.glob("*/*/result.json")), lambda d: d["results"][0].update(value=d["results"][0]["value"] + 0.01))
    done = drift(suite, board)
    assert done.exit_code == 3 and "per-query values give" in done.stderr
