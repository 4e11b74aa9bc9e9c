"""``tools.drift``: every number of a suite that is not the stored one is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import leaderboard_worlds as worlds
from tests.leaderboard_worlds import ROOT, edit
from tools import drift
from vsebench.errors import BadInput

RUN = "scenes-10k/mh-seed0"


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a suite of two runs, with its numbers stored."""
    monkeypatch.setattr(drift, "STORED", tmp_path)
    folder = tmp_path / "suite"
    summary = worlds.suite(seeds=(0,), claims=False)
    for i, name in enumerate(summary["runs"]):
        (folder / name).mkdir(parents=True)
        worlds.report(1.5, i, metrics="R@1,RSum").save(folder / name / "result.json")
    worlds.write(folder / "suite.json", summary | {"suite": "smoke"})
    assert drift.main([str(folder), "--update"]) == 0
    return folder


def test_every_number_that_moves_is_named(suite, capsys):
    assert drift.main([str(suite)]) == 0 and capsys.readouterr().out == "no number moved\n"
    edit(suite / "suite.json", lambda d: d["versions"].update(vsebench="0.2.0"))
    stored = json.loads((suite.parent / "smoke.json").read_text())["runs"][RUN]
    for by, said in ((1e-8, []), (0.004, ["R@1 i2t", "R@1 t2i"])):
        for key in ("R@1 i2t", "R@1 t2i"):
            edit(suite.parent / "smoke.json", lambda d, key=key, by=by: d["runs"][RUN].update({key: stored[key] + by}))
        assert drift.main([str(suite)]) == bool(said)
        lines = [f"{RUN} {key}: stored {stored[key] + by:.6g}, found {stored[key]:.6g}" for key in said]
        lines += ["vsebench was 0.1.0, is 0.2.0"] if said else ["no number moved"]
        assert capsys.readouterr().out.splitlines() == lines


def test_a_run_that_is_missing_is_drift(suite, capsys):
    edit(suite.parent / "smoke.json", lambda d: d["runs"].update(other=d["runs"].pop(RUN)))
    assert drift.main([str(suite)]) == 1
    said = capsys.readouterr().out
    assert "other R@1 i2t: was not measured" in said and f"{RUN} R@1 i2t: is not stored" in said


def test_a_suite_that_cannot_be_compared(suite, refuses):
    (suite.parent / "smoke.json").unlink()
    refuses(SystemExit, drift.main, [str(suite)])
    edit(suite / RUN / "result.json", lambda d: d["results"][0].update(value=d["results"][0]["value"] + 0.01))
    refuses(BadInput, drift.main, [str(suite)])
    (suite / "suite.json").unlink()
    refuses(SystemExit, drift.main, [str(suite)])


def test_the_pages_name_the_processors_that_were_compared():
    for name in ("docs/training.md", "tools/drift.py", "train_reference/config.py"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert "SSE4, AVX2 and AVX-512" in text and "the same numbers on every processor" not in text, name
