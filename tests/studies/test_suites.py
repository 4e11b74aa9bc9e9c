"""Suites of training runs: runs that are kept and refused, losses that do not learn."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import vsebench as vb
from leaderboards.entries import read
from tests import leaderboard_worlds as worlds
from vsebench.errors import Diverged, UsageError
from vsebench.files.atomic import locked

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from studies import suites  # noqa: E402
from studies.suites import Planned, Suite  # noqa: E402
from tests.training import DATA, METRICS, begun, small  # noqa: E402
from train_reference import config  # noqa: E402
from train_reference.losses import get_loss, loss_names  # noqa: E402

SMOKE = [sys.executable, "-m", "studies.suites", "smoke"]


def tiny(loss: str, **train: object) -> config.Config:
    """A run of a second."""
    return small(loss={"name": loss}, train={"epochs": 2, **train})


def runs_of(**train: object) -> list[Planned]:
    return [
        Planned("untrained", tiny("mh", epochs=0), METRICS),
        Planned("sh", tiny("sh", **train), METRICS),
        Planned("info_nce", tiny("info_nce", **train), METRICS),
    ]


def suite_of(runs: list[Planned], **facts: bool) -> Suite:
    return Suite("two", tuple(runs), **facts)


def without_time(summary: dict) -> dict:
    """A summary without what differs between two equal suites."""
    runs = {name: {k: v for k, v in run.items() if k != "seconds"} for name, run in summary["runs"].items()}
    return {k: v for k, v in summary.items() if k not in ("started", "seconds", "runs")} | {"runs": runs}


def test_the_summary_has_the_values_of_the_reports(tmp_path):
    summary = suites.run_suite(suite_of(runs_of()), tmp_path / "s")
    assert summary == json.loads((tmp_path / "s" / "suite.json").read_text())
    assert list(summary["runs"]) == [p.name for p in runs_of()]
    entry = summary["runs"][f"{DATA}/sh-seed0"]
    report = vb.load(tmp_path / "s" / DATA / "sh-seed0" / "result.json")
    both = [report["match:NCS@10", d].value for d in ("i2t", "t2i")]
    assert entry["values"]["match:NCS@10"] == pytest.approx(np.mean(both), abs=1e-6)
    assert entry["values"]["RSum"] == pytest.approx(report["RSum"].value, abs=1e-6)
    assert entry["results"] == suites.results_of(report) and len(entry["results"]) == len(report.results)
    assert all(result["spread"] is not None for result in entry["results"])
    facts = {"epochs": 2, "degree": "", "loss": "sh", "variant": "sh", "seed": 0, "data": DATA}
    assert entry == entry | facts and entry["seconds"] >= 0 and entry["config"]["loss"]["name"] == "sh"
    log = [json.loads(line)["RSum"] for line in (tmp_path / "s" / DATA / "sh-seed0" / "log.jsonl").open()]
    assert entry["best_epoch"] == 1 + log.index(max(log))


def test_the_spread_of_a_report_is_that_of_its_bootstrap():
    report = worlds.report(images=400)
    found = {(r["metric"], r["direction"]): r for r in suites.results_of(report)}
    assert len(found) == len(report.results) == 9
    for result in report.results:
        one = found[str(result.metric), result.direction]
        assert one["value"] == pytest.approx(result.value, abs=1e-6)
        if str(result.metric) == "MedR":
            assert one["spread"] is None  # no mean over images
        else:
            low, high = result.interval
            assert one["spread"] == pytest.approx((high - low) / 3.92, rel=0.2)
    hits = report["R@1", "t2i"].per_query.reshape(400, 5).mean(axis=1)
    assert found["R@1", "t2i"]["spread"] == pytest.approx(hits.std(ddof=1) / 20, abs=1e-8)


def test_finished_runs_are_kept_and_stopped_ones_go_on(tmp_path, monkeypatch):
    whole = suites.run_suite(suite_of(runs_of()), tmp_path / "whole")
    trained, real = [], suites.train

    def stopping(settings, folder, **options):
        trained.append((folder.name, options["resume"]))
        if len(trained) == 3:  # the last run is stopped after its first epoch
            real(config.override(settings, {"train.epochs": 1}), folder, **options)
            (folder / "result.json").unlink()
            raise KeyboardInterrupt
        return real(settings, folder, **options)

    monkeypatch.setattr(suites, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        suites.run_suite(suite_of(runs_of()), tmp_path / "parts")
    assert not (tmp_path / "parts" / "suite.json").exists()
    summary = suites.run_suite(suite_of(runs_of()), tmp_path / "parts")
    assert trained[3:] == [("info_nce-seed0", True)]
    assert without_time(summary) == without_time(whole)


@pytest.mark.nightly
def test_several_runs_at_a_time_have_the_same_results(tmp_path):
    suite = suite_of(runs_of())
    one, two = (suites.run_suite(suite, tmp_path / str(jobs), jobs) for jobs in (1, 2))
    assert without_time(one) == without_time(two) and list(two["runs"]) == [p.name for p in suite.runs]


def test_a_run_of_other_settings_is_refused(tmp_path, refuses):
    suites.run_suite(suite_of(runs_of()[:2]), tmp_path / "s")
    refuses(UsageError, suites.run_suite, suite_of(runs_of(lr=0.5)), tmp_path / "s")


@pytest.mark.nightly
def test_a_killed_suite_goes_on(tmp_path):
    out = tmp_path / "smoke"
    process = subprocess.Popen([*SMOKE, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    second = out / "scenes-tiny" / "info_nce-seed0" / "log.jsonl"
    begun(process, second.exists)
    process.kill()
    process.wait()
    suite = suites.get_suite("smoke")
    summary = suites.run_suite(replace(suite, runs=suite.runs[:2], must_learn=False), out)
    assert summary["runs"]["scenes-tiny/info_nce-seed0"]["epochs"] == 16


def command_of(suite: Suite, monkeypatch, *options: str) -> int:
    monkeypatch.setattr(suites, "get_suite", lambda name, losses=None: suite)
    return suites.main(["two", *options])


def warning(capsys) -> str:
    return next(line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: "))


def test_a_loss_that_does_not_learn_gives_exit_code_1(tmp_path, monkeypatch, capsys, pinned):
    """With a learning rate of almost 0 the first model stays: its RSum is that of the untrained one."""
    assert command_of(suite_of(runs_of(lr=1e-30), must_learn=True), monkeypatch, "--out", str(tmp_path)) == 1
    learned = json.loads((tmp_path / "suite.json").read_text())["learned"]
    assert [(entry["loss"], entry["improved"]) for entry in learned] == [("sh", False), ("info_nce", False)]
    assert learned[0]["value"] == learned[0]["untrained"]
    pinned(warning(capsys))


def test_a_suite_that_learns_prints_its_table(tmp_path, monkeypatch, capsys):
    assert suites.main(["smoek"]) == 2
    good = suite_of([*runs_of()[:1], Planned("sh", tiny("sh", epochs=8, lr=0.02), METRICS)], must_learn=True)
    capsys.readouterr()
    assert command_of(good, monkeypatch, "--out", str(tmp_path)) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "R@1", "RSum", "match:NCS@10", "entails:mAP@R"] and rows[0].split()[0] == "untrained"
    value = json.loads((tmp_path / "suite.json").read_text())["runs"][f"{DATA}/sh-seed0"]["values"]["RSum"]
    assert float(rows[1].split()[2]) == pytest.approx(100 * value, abs=0.06)


@pytest.fixture
def sh_diverges(monkeypatch) -> list[str]:
    """Runs of the loss sh diverge while the list is empty; it has the runs that were trained."""
    trained, real = [], suites.train

    def diverging(settings, folder, **options):
        if settings.loss.name == "sh" and "cured" not in trained:
            raise Diverged("the loss is nan in epoch 2, in the batch of captions 7, 8, ...", fix="lower it")
        trained.append(folder.name)
        return real(settings, folder, **options)

    monkeypatch.setattr(suites, "train", diverging)
    return trained


def test_a_run_that_diverges_is_noted_and_the_suite_goes_on(tmp_path, sh_diverges):
    name = f"{DATA}/sh-seed0"
    summary = suites.run_suite(suite_of(runs_of()), tmp_path)
    assert list(summary["runs"]) == [f"{DATA}/untrained-seed0", f"{DATA}/info_nce-seed0"]
    lost = summary["diverged"][name]
    assert (lost["data"], lost["variant"], lost["loss"], lost["seed"]) == (DATA, "sh", "sh", 0)
    assert lost["message"] == "the loss is nan in epoch 2, in the batch of captions 7, 8, ..."
    again = suites.run_suite(suite_of(runs_of()), tmp_path)
    assert again["diverged"][name]["message"] == lost["message"]  # tried again, in vain
    sh_diverges[:] = ["cured"]
    found = suites.run_suite(suite_of(runs_of()), tmp_path)
    assert sh_diverges == ["cured", "sh-seed0"]  # the others were finished
    assert found["diverged"] == {}


def test_a_real_run_that_diverges(tmp_path):
    """The sum of such margins is finite for three pairs and above float32 for a batch: infinite in the first step."""
    large = config.from_dict({**tiny("sh").to_dict(), "loss": {"name": "sh", "settings": {"margin": 2e37}}})
    summary = suites.run_suite(suite_of([Planned("sh", large, METRICS), runs_of()[0]]), tmp_path)
    assert "the loss is inf in epoch 1" in summary["diverged"][f"{DATA}/sh-seed0"]["message"]
    assert list(summary["runs"]) == [f"{DATA}/untrained-seed0"]


def test_a_loss_that_diverges_fails_the_suite_in_which_all_must_learn(
    tmp_path, monkeypatch, sh_diverges, capsys, pinned
):
    runs = [*runs_of()[:2], Planned("info_nce", tiny("info_nce", epochs=8, lr=0.02), METRICS)]
    assert command_of(suite_of(runs, must_learn=True), monkeypatch, "--out", str(tmp_path)) == 1
    pinned(warning(capsys))
    learned = json.loads((tmp_path / "suite.json").read_text())["learned"]
    assert [entry["loss"] for entry in learned] == ["info_nce"]
    assert command_of(suite_of(runs), monkeypatch, "--out", str(tmp_path)) == 0


def test_the_suites_have_every_loss_and_every_claim():
    smoke = suites.get_suite("smoke").runs
    assert {p.variant for p in smoke} == {"untrained", *loss_names()}
    assert len({(p.config.model, p.config.train.batch) for p in smoke}) == 1
    assert {p.config.train.epochs for p in smoke[1:]} == {16}
    small = suites.get_suite("small").runs
    assert len({p.name for p in small}) == len(small)
    complete = [p.config.train for p in small if p.config.data.first == 1]
    assert len({(t.epochs, t.patience, t.decay_every, t.batch, t.lr) for t in complete}) == 1
    of = {p.variant: p.config for p in small}
    euclidean = [of[name] for name in of if "euclidean" in name]
    assert [(c.model.similarity, c.loss.settings["similarity"]) for c in euclidean] == [("euclidean", "euclidean")] * 2
    assert {c.model.dim for c in euclidean} == {128, 16}
    assert of["mh-25%"].train.patience == 2 * complete[0].patience  # twice the epochs of a quarter: half of the steps
    assert of["mh-25%"].train.epochs == 2 * complete[0].epochs
    for plan in small:
        unknown = set(plan.config.loss.settings) - set(get_loss(plan.config.loss.name).settings)
        assert not unknown and plan.config.loss.warmup < plan.config.train.epochs
    designed = {p.config.loss.name: p.config.train.select for p in smoke}
    assert (designed["mh"], designed["bcls"], designed["sam"]) == ("RSum", "match:Kendall", "match:NCS@10")


def test_every_ablation_is_a_loss_that_can_be_computed():
    planned = suites.get_suite("ablations").runs
    assert len({p.name for p in planned}) == len(planned) == 111
    changed = {(p.config.loss.name, str(p.config.loss.settings), p.config.model.text) for p in planned}
    assert len(changed) == 37, "no two variants are the same"
    for plan in planned[:37]:
        assert plan.config.loss.entry.settings
    assert {p.config.loss.name for p in suites.get_suite("ablations", ["sam"]).runs} == {"sam"}


def test_an_interrupted_suite_stops_its_processes(tmp_path):
    """Runs that are being trained in processes of their own end with the first SIGINT; the same command continues."""
    out = tmp_path / "smoke"
    process = subprocess.Popen([*SMOKE, "--jobs", "2", "--out", str(out)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
    begun(process, lambda: list(out.glob("*/*/log.jsonl")))
    started = time.monotonic()
    process.send_signal(signal.SIGINT)  # not to the processes of the runs
    _, said = process.communicate(timeout=120)
    assert process.returncode != 0, said
    assert time.monotonic() - started < 60
    unfinished = [path for path in (out / "scenes-tiny").iterdir() if not (path / "result.json").exists()]
    assert unfinished
    for path in unfinished:  # no process trains in them
        with locked(path / ".lock", "in use"):
            pass


def test_the_command_of_an_entry_on_objects_has_the_settings_of_its_run():
    board = read(worlds.BOARD)
    stored = board.suites["small_coco-objects"]["runs"]
    for entry in (e for e in board.entries if "coco-objects" in e.id):
        run = stored[f"coco-objects/{entry.model.name}-seed0"]
        words = shlex.split(entry.model.reproduce)[2:]
        options = list(zip(words[::2], words[1::2], strict=True))
        found = config.configured(run["loss"], assignments=[value for name, value in options if name == "--set"])
        assert ("--loss", run["loss"]) in options and ("--data", "coco-objects") in options
        expected = {**run["config"], "data": {**run["config"]["data"], "name": "scenes-10k", "images": ""}}
        for part, of in found.to_dict().items():
            assert of == of | {key: value for key, value in expected[part].items() if key in of}


def test_a_suite_needs_runs_and_losses_of_different_names(tmp_path, refuses):
    refuses(UsageError, suites.get_suite, "ablations", ["mh"])
    assert suites.get_suite("small", ["mh"])
    body = "return (scores - scores.diagonal()).clamp(min=0).masked_fill(positive, 0).sum()"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.py").write_text(f"def f(scores, positive, *, reduction='sum'):\n    {body}\n")
    refuses(UsageError, suites.get_suite, "smoke", [str(tmp_path / folder / "my.py:f") for folder in ("a", "b")])
