"""Benchmarks: what is measured and compared, and that differences are found. ``make bench-check`` runs every task."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import run, table
from benchmarks.inputs import Inputs, World
from benchmarks.run import Outcome, Task, compare, find, judge, tasks

PEER = Task("", "", lambda given: print, of="ranking/ranks", tolerance=1e-3)


@pytest.fixture(scope="module")
def given():
    return Inputs(60, 16)


def test_what_is_missing_leaves_a_task_out(given):
    def missing(given, **needs):
        return dataclasses.replace(PEER, **needs).missing(given)

    assert "'no_such_module' is not installed" in missing(given, modules=("no_such_module",))
    assert missing(given, full=True, gb=1e6) == "of all images of COCO 5K only"
    assert missing(given, gb=1e6) == "" and "memory available" in missing(Inputs(), gb=1e6)


def test_a_goal_is_judged_by_the_quantities_that_are_known():
    found = {"F": 1.31, "MiB": 200.0, "x": 49_999.0, "x MiB": None}
    assert judge("<= 1.3 F, <= 200 MiB", found) == [False, True]
    assert judge(">= 50_000 x, >= 10 x MiB", found) == [False] and judge("", found) == []
    for task in map(find, command.chosen([])):
        for goal in filter(None, task.goal.split(", ")):
            units = {"s", "CPU s", "MiB", *(("x", "x MiB") if task.of else ())}
            units |= {task.unit, f"CPU {task.unit}"} if task.floor else set()
            assert re.fullmatch(r"[<>]= [\d._]+ (.+)", goal)[1] in units, task.name


def test_a_difference_above_the_tolerance_is_found(given):
    ours = {
        "R@1 i2t": np.r_[np.ones(30), np.zeros(30)],
        "MedR i2t": np.repeat([1.0, 2, 3, 9], 15),
        "x t2i": np.array([0, 1, 2, np.nan]),
    }
    same = {"R@1 i2t": 0.5005, "MedR i2t": 2.0, "x t2i": [0.0, 1.0, 2.001, np.nan]}
    found = compare(PEER, given, ours, same)
    assert found.numbers == 6 and found.differences == () and found.largest == pytest.approx(5e-4)
    others = ("R@1 i2t", 0.502), ("MedR i2t", 3.0), ("x t2i", [0.0, 1.0, 2.1, np.nan]), ("R@1 i2t", float("nan"))
    for name, other in others:
        assert [d.split(":")[0].strip() for d in compare(PEER, given, ours, {**same, name: other}).differences] == [
            f"{name}(2,)" if name == "x t2i" else name
        ]
    assert compare(PEER, given, ours, {"R@2 i2t": 1.0}).differences == (
        "R@2 i2t: the library has no such value",
        "the peer has given no value",
    )


def test_a_mean_over_a_part_is_compared_with_the_same_queries():
    part = Inputs(60, 16, part=0.1)
    assert part.queries("i2t").tolist() == [0, 11, 23, 35, 47, 59]
    assert part.queries("t2i").tolist()[4:7] == [4, 55, 56] and part.scale == 10
    ours = {"MeanR i2t": np.arange(60.0), "MeanR t2i": np.arange(300.0)}
    theirs = {"MeanR i2t": (0 + 11 + 23 + 35 + 47 + 59) / 6, "MeanR t2i": (0 + 11 + 23 + 35 + 47 + 59) / 6 * 5 + 2}
    assert compare(PEER, part, ours, theirs).differences == ()


def test_retrieved_items_may_differ_by_near_ties_only():
    captions = np.stack([[1, 1 - 2**-24, 1 - 2**-23, 0.5, -0.5], np.zeros(5)], 1).astype(np.float32)
    given, peer = Inputs(1, 2), dataclasses.replace(PEER, tolerance=1e-6)
    vars(given)["world"] = World(np.array([[1.0, 0.0]], np.float32), captions, np.arange(1), np.arange(5))
    ours = {"top i2t": np.array([[0, 1, 2]])}
    swapped = compare(peer, given, ours, {"top i2t": np.array([[1, 0, 2]])})
    assert swapped.differences == () and swapped.largest == 2**-24
    for wrong in ([0, 1, 3], [0, 3, 2], [0, 0, 2]):
        assert compare(peer, given, ours, {"top i2t": np.array([wrong])}).differences


def test_judgements_and_lists_are_those_of_their_definition(given):
    image, caption, gain = given.judgements
    assert len(set(zip(image.tolist(), caption.tolist(), strict=True))) == len(image)
    own = caption // 5 == image
    assert own.sum() == 300 and set(gain[own]) == {3} and set(gain[~own]) == {1, 2}
    assert given.judged.sum() == gain.sum() and (given.judged[image, caption] == gain).all()
    scores = given.world.images.astype(float) @ given.world.captions.T.astype(float)
    items, found = given.lists["i2t"]
    assert items.shape == (60, 100) and (items == np.argsort(-scores, axis=1, kind="stable")[:, :100]).all()
    assert np.allclose(found, np.take_along_axis(scores, items, 1), rtol=0, atol=1e-12)


def test_the_least_of_all_runs_counts_and_extrapolation_leaves_out_the_fixed_part(monkeypatch, given):
    runs = iter([(3.0, 6.0), (4.0, 2.0), (3.0, 5.0), (2.0, 5.0), (2.5, 1.0)])
    monkeypatch.setattr(run, "timed", lambda work: (*next(runs), work()))
    monkeypatch.setattr(run, "LEAST_SECONDS", 0.0)
    task = Task("", "", lambda given: lambda: Outcome({"x": 1.0}, 10, 1), floor=lambda given: lambda: Outcome(scale=2))
    usage, values = run.measure(task, given, 1)
    # first run: 1 + 2 * 10 s, floor 8 s, second run: the same wall time, less CPU, floor 4 s
    assert [usage[name] for name in ("wall", "cpu", "floor", "floor_cpu")] == [21.0, 35.0, 4.0, 4.0]
    assert usage["part"] == 0.1 and usage["mib"] is None and values == {"x": 1.0}


def test_one_row_is_measured_in_processes_of_its_own():
    record = run.run(["peers/scan loops"], 60, 16, 1)
    ours, row = record["rows"].values()
    assert (ours["name"], row["name"]) == ("ranking/ranks", "peers/scan loops") and row["ours"] == ours["usage"]
    assert row["differences"] == () and row["numbers"] == 10 and row["usage"]["part"] == 1
    assert min(row["usage"]["wall"], ours["usage"]["wall"], ours["usage"]["floor"]) > 0
    shown = table.text(record)
    assert re.search(r"peers/scan loops: R@1, .* [\d.]+ x +[\d.]+ x", shown) and "goals are for 5,000 images" in shown


def test_the_command_ends_with_1_when_values_differ(monkeypatch, capsys, pinned):
    with pytest.raises(SystemExit, match="0"):
        command.main(["peers/scan loops", "--quick"])
    ran, equal = capsys.readouterr().out.splitlines()
    assert ran == "ran      ranking/ranks" and equal.startswith("equal    peers/scan loops: 10 numbers, by ")
    task = find("peers/scan loops")
    wrong = dataclasses.replace(task, tolerance=-1.0)
    monkeypatch.setattr("benchmarks.peers.TASKS", (wrong,))
    with pytest.raises(SystemExit, match="1"):
        command.main(["peers/scan loops", "--quick"])
    assert capsys.readouterr().out.count("; ") == 9
    for name in ("peer", "peers/x"):
        with pytest.raises(SystemExit) as caught:
            command.main([name, "--quick"])
        pinned(caught.value)


def test_the_tables_of_the_page_have_the_stored_numbers():
    stored = table.STORED.read_text(encoding="utf-8")
    record = json.loads(stored)
    assert {*record["rows"], *record["left_out"]} >= {*tasks("peers")}
    assert (record["images"], record["dim"]) == (5_000, 1024)
    assert not re.search(r"20\d\d-\d\d-\d\d|(?<![\w.])/\w", stored), "no date, and no path from the root"
    page = "".join(table.parts(record))
    for name, row in record["rows"].items():
        task, wall, short = find(name), row["usage"]["wall"] / row["ours"]["wall"], name.removeprefix("peers/")
        assert row["differences"] == [] and row["numbers"] > 0 and row["largest"] <= task.tolerance, name
        assert not task.package or record["versions"][task.package] == row["version"]
        cells = re.search(rf"\| {re.escape(short)}(?: \(E\))? \| {re.escape(task.words)} \|.*", page)[0].split(" | ")
        assert float(cells[5].split(", ")[0].replace(",", "")) == pytest.approx(wall, rel=0.03)
        if task.goal:
            limit = float(re.match(r">= ([\d._]+)", task.goal)[1])
            assert cells[6].endswith("**not met**") == (wall < limit)
        assert f"- **{short}**: {task.differs}\n" in page
