"""The table of peers: the comparison finds what differs. ``make bench-check`` compares their values with ours."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from benchmarks import synthetic
from benchmarks.harness import Usage
from benchmarks.peers import __main__ as command
from benchmarks.peers import document
from benchmarks.peers.compare import compare
from benchmarks.peers.inputs import Inputs, sample
from benchmarks.peers.table import PEERS

IMAGES, DIM = 60, 16


@pytest.fixture(scope="module")
def world():
    return synthetic.world(IMAGES, DIM)


@pytest.fixture(scope="module")
def given(world):
    return Inputs(world)


def test_a_peer_that_is_not_installed_is_left_out_with_the_reason(world):
    peer = dataclasses.replace(PEERS["ranx"], modules=("no_such_module",))
    assert "'no_such_module' is not installed" in command.check(peer, world).skipped
    large = dataclasses.replace(PEERS["scan loops"], needed_gb=1e6)
    assert command.missing(large, quick=True) == "" and "memory available" in command.missing(large, quick=False)


def test_a_difference_above_the_tolerance_is_found(given):
    peer = dataclasses.replace(PEERS["vsepp loops"], tolerance=1e-3)
    ours = {
        "R@1 i2t": np.r_[np.ones(30), np.zeros(30)],
        "MedR i2t": np.repeat([1.0, 2, 3, 9], 15),
        "x t2i": np.arange(3.0),
    }
    same = {"R@1 i2t": 0.5005, "MedR i2t": 2.0, "x t2i": [0.0, 1.0, 2.001]}
    found = compare(peer, given, ours, same)
    assert found.numbers == 5 and found.differences == () and found.largest == pytest.approx(5e-4)
    for name, other in (("R@1 i2t", 0.502), ("MedR i2t", 3.0), ("x t2i", [0.0, 1.0, 2.1]), ("R@1 i2t", float("nan"))):
        assert [d.split(":")[0].strip() for d in compare(peer, given, ours, {**same, name: other}).differences] == [
            f"{name} (2,)" if name == "x t2i" else name
        ]
    assert compare(peer, given, ours, {"R@2 i2t": 1.0}).differences == (
        "R@2 i2t: the library has no such value",
        "the peer has given no value",
    )
    assert compare(peer, given, ours, {}).differences == ("the peer has given no value",)


def test_a_mean_over_a_part_is_compared_with_the_same_queries(world):
    part = Inputs(world, 0.1)
    assert part.queries("i2t").tolist() == sample(60, 0.1).tolist() == [0, 11, 23, 35, 47, 59]
    assert part.queries("t2i").tolist()[4:7] == [4, 55, 56] and part.scale == 10
    ours = {"MeanR i2t": np.arange(60.0), "MeanR t2i": np.arange(300.0)}
    theirs = {"MeanR i2t": (0 + 11 + 23 + 35 + 47 + 59) / 6, "MeanR t2i": (0 + 11 + 23 + 35 + 47 + 59) / 6 * 5 + 2}
    assert compare(PEERS["vsepp loops"], part, ours, theirs).differences == ()


def test_retrieved_items_may_differ_by_near_ties_only():
    captions = np.stack([[1, 1 - 2**-24, 1 - 2**-23, 0.5, -0.5], np.zeros(5)], 1).astype(np.float32)
    images = np.array([[1.0, 0.0]], np.float32)
    given = Inputs(synthetic.World(images, captions, np.arange(1), np.arange(5), False))
    peer = PEERS["faiss k=10"]
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
    assert given.gains.sum() == gain.sum() and (given.gains[image, caption] == gain).all()
    scores = given.world.images.astype(float) @ given.world.captions.T.astype(float)
    items, found = given.lists["i2t"]
    assert items.shape == (60, 100) and (items == np.argsort(-scores, axis=1, kind="stable")[:, :100]).all()
    assert np.allclose(found, np.take_along_axis(scores, items, 1), rtol=0, atol=1e-12)


def test_extrapolation_leaves_out_the_fixed_part():
    part = Usage(3.0, 6.0, detail={"scale": 10.0, "fixed": 1.0})
    assert (command.extrapolated(part).seconds, command.extrapolated(part).cpu) == (21.0, 42.0)


def test_one_row_is_measured_in_processes_of_its_own(world, tmp_path):
    path = tmp_path / "embeddings.npz"
    world.save(path)
    row = command.measure(PEERS["scan loops"], world, path, True, 1)
    assert row.differences == () and row.numbers == 10 and row.measured == 1
    assert min(row.seconds, row.our_seconds, row.floor) > 0


def test_the_command_refuses_to_store_a_part_of_the_table(monkeypatch, capsys):
    for option in ("--quick", "--check", "--only ranx", "--dim 64"):
        monkeypatch.setattr("sys.argv", ["peers", "--write", *option.split()])
        with pytest.raises(SystemExit, match="2"):
            command.main()
        assert "--write needs the complete table" in capsys.readouterr().err


def test_the_command_ends_with_1_when_values_differ(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["peers", "--check", "--json", "--only", "scan loops"])
    with pytest.raises(SystemExit, match="0"):
        command.main()
    assert json.loads(capsys.readouterr().out)[0]["differences"] == []
    monkeypatch.setitem(PEERS, "scan loops", dataclasses.replace(PEERS["scan loops"], tolerance=-1.0))
    with pytest.raises(SystemExit, match="1"):
        command.main()
    assert len(json.loads(capsys.readouterr().out)[0]["differences"]) == 10


def rows_of(page, heading):
    """The cells of every row of the table with this heading."""
    lines = page[page.index(heading) :].splitlines()
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines[2 : lines.index("")]]


def test_the_stored_table_is_complete_and_says_where_it_was_measured():
    stored = json.loads(document.STORED.read_text(encoding="utf-8"))
    assert {r["name"] for r in stored["rows"]} | set(stored["left_out"]) == set(PEERS)
    assert not stored["quick"] and (stored["images"], stored["dim"]) == (synthetic.COCO_IMAGES, command.DIM)
    assert stored["machine"]["cpu"] and stored["machine"]["cores"] >= 1
    for row in stored["rows"]:
        peer = PEERS[row["name"]]
        assert row["differences"] == [] and row["numbers"] > 0 and row["largest"] <= peer.tolerance, peer.name
        assert not peer.package or stored["versions"][peer.package] == row["version"]
        assert (row["mib"] is None) == (row["measured"] < 1)
    assert not re.search(r"20\d\d-\d\d-\d\d|(?<![\w.])/\w", json.dumps(stored)), "no date, and no path from the root"


def test_the_page_states_the_stored_numbers():
    page = document.stored_page()
    stored = {r["name"]: r for r in json.loads(document.STORED.read_text(encoding="utf-8"))["rows"]}
    measured = rows_of(page, "| peer | what it computes |")
    assert len(measured) == len(stored)
    for cells, (name, row) in zip(measured, stored.items(), strict=True):
        assert cells[0] == name + (" (E)" if row["measured"] < 1 else "")
        wall, cpu = (float(x.replace(",", "")) for x in cells[5].split(", "))
        assert wall == pytest.approx(row["seconds"] / row["our_seconds"], rel=0.03)
        assert cpu == pytest.approx(row["cpu"] / row["our_cpu"], rel=0.03)
        floors = float(re.search(r"\(([\d.]+) F\)", cells[4])[1])
        assert floors == pytest.approx(row["our_seconds"] / row["floor"], abs=0.006)
        if PEERS[name].goal:
            assert cells[6].endswith("**not met**") == (row["seconds"] / row["our_seconds"] < PEERS[name].goal)
    assert [cells[0] for cells in rows_of(page, "| peer | numbers compared |")] == list(stored)
    assert all(f"- **{p.name}**: {p.difference}\n" in page for p in PEERS.values())


def test_a_record_is_read_as_it_was_written():
    stored = document.STORED.read_text(encoding="utf-8")
    assert document.text(document.read(stored)) == stored
    record = dataclasses.replace(document.read(stored), rows=[], left_out={"ranx": "module 'ranx' is not installed"})
    assert "Left out: ranx (module 'ranx' is not installed)." in document.page(record)
