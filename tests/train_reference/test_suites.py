"""Suites of training runs: runs that are kept, resumed and refused, losses that do not learn, verdicts on claims."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import vsebench as vb
from tests.commands import invoke as cli
from vsebench.errors import BadInput, Diverged, UsageError
from vsebench.files.lock import locked
from vsebench.leaderboard import suites as leaderboard
from vsebench.leaderboard.suites import results_of

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.training import DATA, begun, small  # noqa: E402
from train_reference import claims, config, run_suite, suites  # noqa: E402
from train_reference.claims import FAILS, HOLDS, OPEN, Claim, Part  # noqa: E402
from train_reference.losses import get_loss, loss_names  # noqa: E402
from train_reference.suites import DEEP, Planned, Suite  # noqa: E402

SMOKE = [sys.executable, "-m", "vsebench", "train-reference", "--suite", "smoke"]


def tiny(loss: str, **train: object) -> config.Config:
    """A run of a second."""
    return small(loss={"name": loss}, train={"epochs": 2, **train})


def runs_of(**train: object) -> list[Planned]:
    return [
        Planned(DATA, "untrained", tiny("mh", epochs=0)),
        Planned(DATA, "sh", tiny("sh", **train)),
        Planned(DATA, "info_nce", tiny("info_nce", **train)),
    ]


def suite_of(runs: list[Planned], **facts: bool) -> Suite:
    return Suite("two", "two losses", lambda losses: runs, **facts)


@pytest.fixture(autouse=True)
def metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics for the scenes of these tests."""
    monkeypatch.setitem(DEEP, DATA, 5)


def run(suite: Suite, out: Path, resume: bool = False) -> tuple[dict, list[str]]:
    notes: list[str] = []
    return run_suite.run_suite(suite, out, resume=resume, say=notes.append), notes


def without_time(summary: dict) -> dict:
    """A summary without what differs between two equal suites."""
    runs = {name: {k: v for k, v in run.items() if k != "seconds"} for name, run in summary["runs"].items()}
    return {k: v for k, v in summary.items() if k not in ("started", "seconds", "runs")} | {"runs": runs}


def test_the_summary_has_the_values_of_the_reports(tmp_path):
    summary, _ = run(suite_of(runs_of()), tmp_path / "s")
    assert summary == json.loads((tmp_path / "s" / "suite.json").read_text())
    assert summary["complete"] and list(summary["runs"]) == [p.name for p in runs_of()]
    entry = summary["runs"][f"{DATA}/sh-seed0"]
    report = vb.load(tmp_path / "s" / DATA / "sh-seed0" / "result.json")
    both = [report["match:NCS@10", d].value for d in ("i2t", "t2i")]
    assert entry["values"]["match:NCS@10"] == pytest.approx(np.mean(both), abs=1e-6)
    assert entry["values"]["RSum"] == pytest.approx(report["RSum"].value, abs=1e-6)
    assert entry["results"] == results_of(report) and len(entry["results"]) == len(report.results)
    assert all(result["spread"] is not None for result in entry["results"])
    assert entry["epochs"] == 2 and entry["config"]["loss"]["name"] == "sh" and entry["degree"] == ""
    log = [json.loads(line)["RSum"] for line in (tmp_path / "s" / DATA / "sh-seed0" / "log.jsonl").open()]
    assert entry["best_epoch"] == 1 + log.index(max(log))
    assert len(report["R@1", "t2i"].per_query) == len(report.items.caption_ids)
    headings, rows = run_suite.headline(summary)
    assert headings == ["run", "R@1", "RSum", "match:NCS@10", "entails:mAP@R"]
    assert rows[1][0] == "sh" and float(rows[1][2]) == pytest.approx(100 * entry["values"]["RSum"], abs=0.06)


def test_finished_runs_are_kept_and_stopped_ones_go_on(tmp_path, monkeypatch):
    whole, _ = run(suite_of(runs_of()), tmp_path / "whole")
    trained, real = [], run_suite.train

    def stopping(settings, folder, **options):
        trained.append(folder.name)
        if len(trained) == 3:  # the last run is stopped after its first epoch
            real(config.override(settings, train_epochs=1), folder, **options)
            (folder / "result.json").unlink()
            raise KeyboardInterrupt
        return real(settings, folder, **options)

    monkeypatch.setattr(run_suite, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        run(suite_of(runs_of()), tmp_path / "parts")
    half = json.loads((tmp_path / "parts" / "suite.json").read_text())
    assert len(half["runs"]) == 2 and not half["complete"]
    with pytest.raises(UsageError, match="holds runs already"):
        run(suite_of(runs_of()), tmp_path / "parts")
    summary, notes = run(suite_of(runs_of()), tmp_path / "parts", resume=True)
    assert trained[3:] == ["info_nce-seed0"]
    assert any("resumed after epoch 1 of 2" in note for note in notes)
    assert without_time(summary) == without_time(whole)


@pytest.mark.nightly
def test_several_runs_at_a_time_have_the_same_results(tmp_path):
    """In processes of their own, where metrics of the data of these tests are not declared: with scenes-tiny."""
    planned = [replace(p, config=config.override(p.config, train_epochs=min(1, p.config.train.epochs)))
               for p in suites.get_suite("smoke").runs(None)[:3]]  # fmt: skip
    suite = suite_of(planned)
    one, _ = run(suite, tmp_path / "one")
    notes: list[str] = []
    two = run_suite.run_suite(suite, tmp_path / "two", jobs=2, say=notes.append)
    assert without_time(one) == without_time(two) and list(two["runs"]) == [p.name for p in planned]
    assert sorted(note.split(",")[0] for note in notes if " of 3" in note) == ["1 of 3", "2 of 3", "3 of 3"]


def test_a_run_of_other_settings_is_refused(tmp_path):
    run(suite_of(runs_of()), tmp_path / "s")
    with pytest.raises(UsageError, match="other settings than the suite has now"):
        run(suite_of(runs_of(lr=0.5)), tmp_path / "s", resume=True)


def test_a_damaged_summary_is_named(tmp_path):
    (tmp_path / "suite.json").write_text("{")
    with pytest.raises(BadInput, match=r"suite\.json"):
        run(suite_of(runs_of()), tmp_path, resume=True)


@pytest.mark.nightly
def test_a_killed_suite_goes_on(tmp_path):
    out = tmp_path / "smoke"
    process = subprocess.Popen([*SMOKE, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    second = out / "scenes-tiny" / "info_nce-seed0" / "log.jsonl"
    begun(process, second.exists)
    process.kill()
    process.wait()
    planned = suites.get_suite("smoke").runs(None)
    notes: list[str] = []
    summary = run_suite.run_suite(
        replace(suites.get_suite("smoke"), runs=lambda losses: planned[:2], must_learn=False), out,
        resume=True, say=notes.append,
    )  # fmt: skip
    assert notes[0] == "scenes-tiny/untrained-seed0: finished before"
    assert any("resumed after epoch" in note for note in notes)
    assert summary["complete"] and summary["runs"]["scenes-tiny/info_nce-seed0"]["epochs"] == 16


def command_of(suite: Suite, monkeypatch, *options: str):
    monkeypatch.setitem(suites.SUITES, "two", suite)
    return cli("train-reference", "--suite", "two", *options)


def test_a_loss_that_does_not_learn_gives_exit_code_1(tmp_path, monkeypatch):
    """With a learning rate of almost 0 the first model stays: its RSum is that of the untrained one."""
    still = suite_of(runs_of(lr=1e-30), must_learn=True)
    found = command_of(still, monkeypatch, "--out", str(tmp_path / "still"), "--json")
    assert found.exit_code == 1
    learned = json.loads(found.stdout)["learned"]
    assert [(entry["loss"], entry["improved"]) for entry in learned] == [("sh", False), ("info_nce", False)]
    assert learned[0]["value"] == learned[0]["untrained"]
    assert "sh does not improve RSum" in found.stderr


def test_a_suite_that_learns_prints_its_table(tmp_path, monkeypatch):
    good = suite_of([*runs_of()[:1], Planned(DATA, "sh", tiny("sh", epochs=8, lr=0.02))], must_learn=True)
    found = command_of(good, monkeypatch, "--out", str(tmp_path / "good"))
    assert found.exit_code == 0, found.stderr
    assert "match:NCS@10" in found.stdout and "untrained" in found.stdout
    assert command_of(good, monkeypatch, "--loss", "mh").exit_code == 2
    assert command_of(good, monkeypatch, "--data", "scenes-tiny").exit_code == 2
    assert cli("train-reference", "--suite", "smoek").exit_code == 2


@pytest.fixture
def sh_diverges(monkeypatch) -> list[str]:
    """Runs of the loss sh diverge while the list is empty; it has the runs that were trained."""
    trained, real = [], run_suite.train

    def diverging(settings, folder, **options):
        if settings.loss.name == "sh" and "cured" not in trained:
            raise Diverged("the loss is nan in epoch 2, in the batch of captions 7, 8, ...", fix="lower it")
        trained.append(folder.name)
        return real(settings, folder, **options)

    monkeypatch.setattr(run_suite, "train", diverging)
    return trained


def test_a_run_that_diverges_is_noted_and_the_suite_goes_on(tmp_path, sh_diverges):
    name = f"{DATA}/sh-seed0"
    summary, notes = run(suite_of(runs_of()), tmp_path)
    assert summary == json.loads((tmp_path / "suite.json").read_text())
    assert summary["complete"] and list(summary["runs"]) == [f"{DATA}/untrained-seed0", f"{DATA}/info_nce-seed0"]
    lost = summary["diverged"][name]
    assert (lost["data"], lost["variant"], lost["loss"], lost["seed"]) == (DATA, "sh", "sh", 0)
    assert lost["message"] == "the loss is nan in epoch 2, in the batch of captions 7, 8, ..."
    assert summary["notes"] == [f"{name} diverged: {lost['message']}"]
    assert f"  diverged: {lost['message']}" in notes
    again, _ = run(suite_of(runs_of()), tmp_path, resume=True)
    assert again["diverged"][name]["message"] == lost["message"]  # tried again, in vain
    sh_diverges[:] = ["cured"]
    found, _ = run(suite_of(runs_of()), tmp_path, resume=True)
    assert sh_diverges == ["cured", "sh-seed0"]  # the others were finished
    assert found["diverged"] == {} and found["notes"] == []
    whole, _ = run(suite_of(runs_of()), tmp_path / "whole")
    assert found["runs"][name]["values"] == whole["runs"][name]["values"]


def test_a_real_run_that_diverges(tmp_path):
    """The sum of such margins is finite for three pairs and above float32 for a batch: infinite in the first step."""
    large = config.from_dict({**tiny("sh").to_dict(), "loss": {"name": "sh", "settings": {"margin": 2e37}}})
    summary, _ = run(suite_of([Planned(DATA, "sh", large), runs_of()[0]]), tmp_path)
    assert "the loss is inf in epoch 1" in summary["diverged"][f"{DATA}/sh-seed0"]["message"]
    assert list(summary["runs"]) == [f"{DATA}/untrained-seed0"]


def test_a_loss_that_diverges_fails_the_suite_in_which_all_must_learn(tmp_path, monkeypatch, sh_diverges):
    runs = [*runs_of()[:2], Planned(DATA, "info_nce", tiny("info_nce", epochs=8, lr=0.02))]
    found = command_of(suite_of(runs, must_learn=True), monkeypatch, "--out", str(tmp_path / "a"), "--json")
    assert found.exit_code == 1
    assert f"{DATA}/sh-seed0 diverged: the loss is nan" in found.stderr
    assert [entry["loss"] for entry in json.loads(found.stdout)["learned"]] == ["info_nce"]
    other = command_of(suite_of(runs), monkeypatch, "--out", str(tmp_path / "b"))
    assert other.exit_code == 0 and "diverged" in other.stderr


def test_claims_that_need_a_run_that_diverged_are_left_out(tmp_path, monkeypatch, sh_diverges):
    needs = Claim("needs", "paper", "sh is better", (Part("sh - info_nce", (("sh", 1.0), ("info_nce", -1.0)), "R@1"),))
    other = Claim("other", "paper", "it learns", (Part("x", (("info_nce", 1.0), ("untrained", -1.0)), "R@1"),))
    elsewhere = Claim("elsewhere", "paper", "-", (Part("x", (("sh", 1.0), ("mh", -1.0)), "R@1"),))  # mh is not planned
    monkeypatch.setattr(claims, "CLAIMS", (needs, other, elsewhere))
    runs = [Planned(DATA, p.variant, config.override(p.config, train_seed=seed)) for seed in (0, 1) for p in runs_of()]
    found = command_of(suite_of(runs, claims=True), monkeypatch, "--out", str(tmp_path / "s"))
    assert found.exit_code == 0, found.stderr
    summary = json.loads((tmp_path / "s" / "suite.json").read_text())
    assert [c["claim"] for c in summary["claims"]] == ["other"] and summary["verdicts"] == 2
    (lost,) = summary["left_out"]
    because = f"{DATA}/sh-seed0, {DATA}/sh-seed1 diverged"
    assert (lost["claim"], lost["data"], lost["because"]) == ("needs", DATA, because)
    assert f"not judged: sh is better ({DATA}); {because}" in found.stdout


def test_the_suites_have_every_loss_and_every_claim(monkeypatch):
    smoke = suites.get_suite("smoke").runs(None)
    assert {p.variant for p in smoke} == {"untrained", *loss_names()}
    assert len({(p.config.model, p.config.train.batch) for p in smoke}) == 1
    assert {p.config.train.epochs for p in smoke[1:]} == {16}
    small = suites.get_suite("small").runs(None)
    assert len({p.name for p in small}) == len(small)
    complete = [p.config.train for p in small if p.config.data.first == 1]
    assert len({(t.epochs, t.patience, t.decay_every, t.batch, t.lr) for t in complete}) == 1
    of = {p.variant: p.config for p in small}
    euclidean = [of[name] for name in of if "euclidean" in name]
    assert [(c.model.similarity, c.loss.settings["similarity"]) for c in euclidean] == [("euclidean", "euclidean")] * 2
    assert {c.model.dim for c in euclidean} == {128, suites.SMALL_DIM}
    assert of["mh-25%"].train.patience == 2 * complete[0].patience  # twice the epochs of a quarter: half of the steps
    assert of["mh-25%"].train.epochs == 2 * complete[0].epochs
    assert (
        len(claims.complete([(p.data, p.variant) for p in small], claims.CLAIMS)) + suites.get_suite("small").elsewhere
        == 10
    )
    for seed in suites.SEEDS:
        there = {p.variant for p in small if p.config.train.seed == seed}
        assert there >= {name for c in claims.CLAIMS for part in c.parts for name, _ in part.weights}
    for plan in small:
        unknown = set(plan.config.loss.settings) - set(get_loss(plan.config.loss.name).settings)
        assert not unknown and plan.config.loss.warmup < plan.config.train.epochs
    assert {name.partition(" ")[0] for name in suites.DESIGNED} <= set(loss_names())


# claims


def report(rng: np.random.Generator, quality: float) -> vb.Report:
    """A report of made-up embeddings; the same noise for every quality, so that pairs differ by it alone."""
    images = rng.standard_normal((60, 8))
    texts = quality * np.repeat(images, 2, axis=0) + rng.standard_normal((120, 8))
    return vb.evaluate(images, texts, captions_per_image=2, metrics="R@1,R@5,R@10,RSum", ci=0)


def made_up(better: float, worse: float, seeds: int = 3) -> dict:
    return {
        ("scenes-tiny", name, seed): report(np.random.default_rng(seed), quality)
        for name, quality in (("a", better), ("b", worse))
        for seed in range(seeds)
    }


def one(equal: bool = False, metric: str = "R@1") -> tuple[Claim, ...]:
    return (Claim("x", "paper", "a is better", (Part("a - b", (("a", 1.0), ("b", -1.0)), metric, equal),)),)


@pytest.mark.parametrize(
    ("better", "worse", "equal", "verdict"),
    [
        (3.0, 0.5, False, HOLDS),
        (0.5, 3.0, False, FAILS),
        (1.0, 1.0, False, OPEN),
        (1.0, 1.0, True, HOLDS),
        (1.0, 1.03, True, OPEN),
        (0.5, 3.0, True, FAILS),
    ],
)
def test_verdicts_of_made_up_results(better, worse, equal, verdict):
    (found,) = claims.judge(made_up(better, worse), one(equal), 1)
    assert found["verdict"] == verdict
    assert found["data"] == "scenes-tiny" and len(found["parts"][0]["seeds"]) == 3


def test_equal_is_a_share_of_the_other_value():
    reports = made_up(1.0, 1.05)
    (found,) = claims.judge(reports, one(equal=True), 1)
    other = [run_suite.means(reports["scenes-tiny", "b", seed])["R@1"] for seed in range(3)]
    assert found["parts"][0]["above"] == pytest.approx(-0.05 * np.mean(other), abs=1e-6)


def shifted(by: float, seeds: int = 3) -> dict:
    """Reports of which those of a have R@1 lower by nearly the same amount for every image and seed."""
    rng, found = np.random.default_rng(3), {}
    for seed in range(seeds):
        found["scenes-tiny", "a", seed] = report(np.random.default_rng(seed), 3.0)
        found["scenes-tiny", "b", seed] = report(np.random.default_rng(seed), 3.0)
        for direction in ("i2t", "t2i"):
            values = found["scenes-tiny", "a", seed]["R@1", direction].per_query
            values -= by + rng.normal(0, by / 10, len(values))
    return found


def test_a_difference_that_is_surely_below_0_is_lower_and_not_equal():
    """Within 5 % of the other value, however many verdicts there are."""
    (found,) = claims.judge(shifted(0.01), one(equal=True), 1000)
    (part,) = found["parts"]
    assert part["above"] < part["low"] < part["high"] < 0
    assert part["lower"] and part["verdict"] == found["verdict"] == FAILS
    (other,) = claims.judge(shifted(0.01), one(), 10**12)
    assert not other["parts"][0]["lower"]


def test_the_difference_is_that_of_the_reports():
    reports = made_up(2.0, 1.0)
    for metric in ("R@1", "RSum"):
        (found,) = claims.judge(reports, one(metric=metric), 1)
        for seed, difference in enumerate(found["parts"][0]["seeds"]):
            a, b = (run_suite.means(reports["scenes-tiny", name, seed])[metric] for name in "ab")
            assert difference == pytest.approx(a - b, abs=1e-6)


def test_images_without_a_query_of_a_metric_add_nothing():
    """The variance over images, against a bootstrap over images of the mean of the queries that there are.

    A third of the images have no caption, and so no query image-to-text; the others have one to three captions.
    """
    rng = np.random.default_rng(5)
    owner = np.repeat(np.arange(120), rng.integers(1, 4, 120))
    vectors = rng.standard_normal((180, 8))
    texts = vectors[owner] + 0.8 * rng.standard_normal((len(owner), 8))
    split = vb.Split("custom", np.arange(180), np.arange(len(owner)), owner)
    found = vb.evaluate(vectors, texts, split=split, metrics="R@1,mAP@R", ci=0, trust=True)
    for metric in ("R@1", "mAP@R"):
        i2t, t2i = (found[metric, way] for way in ("i2t", "t2i"))
        assert (len(i2t.per_query), len(t2i.per_query)) == (120, len(owner))
        given = claims.contributions(found, metric)
        assert given.shape == (180,) and given.mean() == pytest.approx((i2t.value + t2i.value) / 2, abs=1e-12)
        assert given[120:] == pytest.approx(np.full(60, given.mean()), abs=1e-12)
        means = []
        for _ in range(4000):
            times = np.bincount(rng.integers(0, 180, 180), minlength=180)
            both = ((times[:120], i2t.per_query), (times[owner], t2i.per_query))
            means.append(np.mean([(w * v).sum() / w.sum() for w, v in both]))
        assert given.std(ddof=1) / 180**0.5 == pytest.approx(np.std(means), rel=0.05)


def test_one_seed_decides_nothing():
    (found,) = claims.judge(made_up(3.0, 0.5, seeds=1), one(), 1)
    assert found["verdict"] == OPEN and found["parts"][0]["low"] is None


def test_a_claim_without_its_runs_is_left_out():
    reports = {key: value for key, value in made_up(3.0, 0.5).items() if key[1] == "a"}
    assert claims.judge(reports, one(), 1) == []


def test_levels_are_corrected_for_all_verdicts_and_all_parts():
    """The same difference decides at 95 %, and not among many verdicts; among many parts it still holds."""
    reports = made_up(2.0, 1.0)
    (up,), (down,) = one(), (Claim("x", "paper", "b is better", (Part("b - a", (("b", 1.0), ("a", -1.0)), "R@1"),)),)
    for claim, verdict, more in ((up, HOLDS, HOLDS), (down, FAILS, OPEN)):
        verdicts = 1
        while claims.judge(reports, (claim,), 2 * verdicts)[0]["verdict"] == verdict:  # as many as it bears
            verdicts *= 2
        (found,) = claims.judge(reports, (claim,), verdicts)
        assert found["levels"] == {"holds": 1 - 0.05 / verdicts, "fails": 1 - 0.05 / verdicts}
        assert found["verdict"] == verdict
        (among,) = claims.judge(reports, (claim,), 2 * verdicts)
        assert among["verdict"] == OPEN and among["parts"][0]["low"] == found["parts"][0]["low"]
        (many,) = claims.judge(reports, (replace(claim, parts=claim.parts * 2),), verdicts)
        assert many["levels"]["fails"] == pytest.approx(1 - 0.05 / verdicts / 2)
        assert many["verdict"] == more


def test_parts_say_which_losses_were_trained_on_their_gains():
    """The degree of b is from the gains of the metric, that of a from others."""
    rng = np.random.default_rng(0)
    images, gains = rng.standard_normal((30, 8)), rng.random((30, 60))
    texts = np.repeat(images, 2, axis=0) + rng.standard_normal((60, 8))
    found = vb.evaluate(images, texts, captions_per_image=2, metrics="R@1,matrix:NCS@10", gains=[gains], ci=0)
    reports = {("scenes-tiny", name, seed): found for name in "ab" for seed in (0, 1)}
    degrees = {("scenes-tiny", "a"): "holds", ("scenes-tiny", "b"): "matrix", ("other", "a"): "matrix"}
    for metric, trained in (("matrix:NCS@10", ["b"]), ("R@1", [])):
        assert claims.judge(reports, one(metric=metric), 1, degrees)[0]["parts"][0]["trained"] == trained
    assert suites.degree_of(suites.configured("bcls", "scenes-10k")) == "match"
    assert suites.degree_of(suites.configured("sam", "scenes-10k")) == "cider"
    assert suites.degree_of(suites.configured("mh", "scenes-10k")) == ""


def test_a_part_that_fails_decides():
    assert claims.together([HOLDS, HOLDS]) == HOLDS
    assert claims.together([HOLDS, OPEN]) == OPEN
    assert claims.together([OPEN, FAILS, HOLDS]) == FAILS


def test_reports_of_other_images_are_refused():
    reports = made_up(3.0, 0.5)
    rng = np.random.default_rng(0)
    images = rng.standard_normal((30, 8))
    reports["scenes-tiny", "b", 2] = vb.evaluate(images, images, captions_per_image=1, metrics="R@1", ci=0)
    with pytest.raises(BadInput, match="other test images"):
        claims.judge(reports, one(), 1)


def decided(differences: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The interval of differences (seed, image)."""
    variances = (differences.mean(axis=1).var(ddof=1), differences.mean(axis=0).var(ddof=1))
    ends, _ = claims.decide(differences.mean(), variances, differences.shape, level)
    return ends


def test_the_interval_is_that_of_t_without_variance_of_images():
    """Differences that are the same for every image: the t interval of the seeds, from scipy."""
    seeds = np.array([0.1, 0.2, 0.4])
    for level in (0.95, 0.999):
        expected = stats.t.interval(level, 2, loc=seeds.mean(), scale=stats.sem(seeds))
        assert decided(np.repeat(seeds[:, None], 50, axis=1), level) == pytest.approx(expected)


def test_the_interval_covers_the_true_difference():
    """Effects of seeds and of images are drawn; 95 % of the intervals must cover 0, at least about that."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        noise = rng.normal(0, 0.3, (3, 200))
        found = rng.normal(0, 0.02, (3, 1)) + rng.normal(0, 0.3, (1, 200)) + noise
        low, high = decided(found)
        covered += low <= 0 <= high
    assert covered >= 0.93 * 400


@pytest.fixture(scope="module")
def judged(cache, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The summary of a suite of tiny runs with claims, of which the runs of one loss alone are made."""
    runs = [
        Planned(DATA, loss, small(loss={"name": loss, "relevance": "match"}, train={"epochs": 3, "seed": seed, **more}))
        for seed in (0, 1, 2)
        for loss, more in (("sh", {"lr": 0.02}), ("bcls", {"lr": 0.01, "patience": 1}), ("mh", {}))
    ]
    better = Claim("better", "paper", "bcls is better", tuple(
        Part("bcls - sh", (("bcls", 1.0), ("sh", -1.0)), metric, equal)
        for metric, equal in (("RSum", False), ("match:Kendall", False), ("R@1", True), ("entails:mAP@R", False))
    ))  # fmt: skip
    other = Claim("other", "paper", "mh is better", (Part("mh - sh", (("mh", 1.0), ("sh", -1.0)), "R@1"),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DEEP, DATA, 5)
        patch.setattr(claims, "CLAIMS", (better, other))
        suite = Suite("three", "-", lambda losses: (
            [p for p in runs if losses is None or p.variant in losses]), claims=True)  # fmt: skip
        folder = tmp_path_factory.mktemp("judged")
        return run_suite.run_suite(suite, folder, losses=["sh", "bcls"], say=lambda text: None)


def test_a_suite_in_parts_is_judged_at_the_levels_of_the_complete_one(judged):
    assert judged["verdicts"] == 2 and [c["claim"] for c in judged["claims"]] == ["better"]
    assert judged["claims"][0]["levels"] == pytest.approx({"holds": 0.975, "fails": 1 - 0.05 / 8})


def test_intervals_can_be_computed_again_from_the_summary(judged):
    """From the variances and counts of the file, by the formula of the docstring; and the variances from the seeds."""
    stored = json.loads(json.dumps(judged))
    for part in stored["claims"][0]["parts"]:
        of = {name: part["variances"][name] / part["counts"][name] for name in ("seeds", "images")}
        assert part["counts"] == {"seeds": 3, "images": 10} and min(of.values()) > 0
        freedom = sum(of.values()) ** 2 / (of["seeds"] ** 2 / 2 + of["images"] ** 2 / 9)
        low, high = stats.t.interval(0.95, freedom, loc=part["difference"], scale=sum(of.values()) ** 0.5)
        assert (part["low"], part["high"]) == pytest.approx((low, high), abs=1e-6)
        assert part["variances"]["seeds"] == pytest.approx(np.var(part["seeds"], ddof=1), rel=1e-3)
        counts, variances = tuple(part["counts"].values()), tuple(part["variances"].values())
        verdicts = {claims.decide(part["difference"], variances, counts, level, part["above"])[1]
                    for level in stored["claims"][0]["levels"].values()}  # fmt: skip
        assert part["verdict"] in verdicts or part["lower"]


def test_an_interrupted_suite_stops_its_processes(tmp_path):
    """Runs that are being trained in processes of their own end with the first SIGINT, and --resume continues."""
    out = tmp_path / "smoke"
    process = subprocess.Popen(
        [*SMOKE, "--jobs", "2", "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    begun(process, lambda: list(out.glob("*/*/log.jsonl")))
    started = time.monotonic()
    process.send_signal(signal.SIGINT)  # not to the processes of the runs
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert time.monotonic() - started < 60
    unfinished = [path for path in (out / "scenes-tiny").iterdir() if not (path / "result.json").exists()]
    assert unfinished
    for path in unfinished:  # no process trains in them
        with locked(path / ".lock", "in use"):
            pass


def test_the_command_of_an_entry_on_objects_has_the_settings_of_its_run():
    stored = Path("leaderboards/suites/small_coco-objects.json").read_text(encoding="utf-8")
    stored = leaderboard.Suite.model_validate_json(stored)
    for entry in leaderboard.entries_of(stored):
        run = stored.runs[f"coco-objects/{entry.model.name}-seed0"]
        words = shlex.split(entry.model.reproduce[1])[2:]
        options = list(zip(words[::2], words[1::2], strict=True))
        found = config.configured(run.loss, assignments=[value for name, value in options if name == "--set"])
        assert ("--loss", run.loss) in options and ("--data", "coco-objects") in options
        expected = {**run.config, "data": {**run.config["data"], "name": "scenes-10k", "images": ""}}
        for part, of in found.to_dict().items():
            assert of == of | {key: value for key, value in expected[part].items() if key in of}
