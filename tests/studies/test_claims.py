"""The study of claims: verdicts on made-up results and on small suites, and their intervals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import vsebench as vb
from vsebench.errors import BadInput

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from leaderboards import site  # noqa: E402
from leaderboards.entries import read  # noqa: E402
from leaderboards.tables import rankings  # noqa: E402
from studies import claims, suites  # noqa: E402
from studies.claims import FAILS, HOLDS, OPEN, Part, part_of  # noqa: E402
from studies.suites import Planned, Suite  # noqa: E402
from tests.training import DATA, METRICS, small  # noqa: E402
from train_reference import config  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all tests of this file, in which the scenes are built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.getbasetemp() / "cache-of-training"))
        yield


def test_the_suites_have_the_runs_of_every_claim():
    for name in ("small", "ablations"):
        planned = suites.get_suite(name).runs
        for seed in (0, 1, 2):
            there = [("scenes-10k", p.variant) for p in planned if p.config.train.seed == seed]
            judged = [claim for _, claim in claims.complete(there, claims.claims_of(name))]
            assert judged == list(claims.claims_of(name))
    stated = [claim["claim"] for claim in json.loads(Path("leaderboards/claims.json").read_text(encoding="utf-8"))]
    assert stated == [*claims.claims_of("small"), *claims.claims_of("ablations")]
    assert len(claims.claims_of("small")) + claims.ELSEWHERE == 10


def test_parts_are_read_from_words():
    assert part_of("mh - sh: R@1") == Part("mh - sh", (("mh", 1.0), ("sh", -1.0)), "R@1")
    assert part_of("ladder = mh: match:CS@100") == Part(
        "ladder - mh", (("ladder", 1.0), ("mh", -1.0)), "match:CS@100", equal=True
    )
    assert part_of("means |\n a,b-1 -\n c: RSum") == Part("means", (("a", 0.5), ("b-1", 0.5), ("c", -1.0)), "RSum")
    assert part_of("x | a - b - c + d: R@1").weights == (("a", 1.0), ("b", -1.0), ("c", -1.0), ("d", 1.0))


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


def one(equal: bool = False, metric: str = "R@1") -> dict[str, tuple[Part, ...]]:
    return {"x": (Part("a - b", (("a", 1.0), ("b", -1.0)), metric, equal),)}


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
    other = [suites.means(reports["scenes-tiny", "b", seed])["R@1"] for seed in range(3)]
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
            a, b = (suites.means(reports["scenes-tiny", name, seed])[metric] for name in "ab")
            assert difference == pytest.approx(a - b, abs=1e-6)


def test_images_without_a_query_of_a_metric_add_nothing():
    """The variance over images, against a bootstrap over images of the mean of the queries that there are.

    A third of the images have no caption, and so no query image-to-text; the others have one to three captions.
    """
    rng = np.random.default_rng(5)
    owner = np.repeat(np.arange(120), rng.integers(1, 4, 120))
    vectors = rng.standard_normal((180, 8))
    texts = vectors[owner] + 0.8 * rng.standard_normal((len(owner), 8))
    split = vb.TestSet.captioned("custom", np.arange(180), np.arange(len(owner)), owner)
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
    up, down = one(), {"x": (Part("b - a", (("b", 1.0), ("a", -1.0)), "R@1"),)}
    for claim, verdict, more in ((up, HOLDS, HOLDS), (down, FAILS, OPEN)):
        verdicts = 1
        while claims.judge(reports, claim, 2 * verdicts)[0]["verdict"] == verdict:  # as many as it bears
            verdicts *= 2
        (found,) = claims.judge(reports, claim, verdicts)
        assert found["levels"] == {"holds": 1 - 0.05 / verdicts, "fails": 1 - 0.05 / verdicts}
        assert found["verdict"] == verdict
        (among,) = claims.judge(reports, claim, 2 * verdicts)
        assert among["verdict"] == OPEN and among["parts"][0]["low"] == found["parts"][0]["low"]
        (many,) = claims.judge(reports, {"x": claim["x"] * 2}, verdicts)
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
    assert suites.gains_of(config.configured("bcls")) == "match"
    assert suites.gains_of(config.configured("sam")) == "cider"
    assert suites.gains_of(config.configured("mh")) == ""


def test_a_part_that_fails_decides():
    assert claims.together([HOLDS, HOLDS]) == HOLDS
    assert claims.together([HOLDS, OPEN]) == OPEN
    assert claims.together([OPEN, FAILS, HOLDS]) == FAILS


def test_reports_of_other_images_are_refused(refuses):
    reports = made_up(3.0, 0.5)
    rng = np.random.default_rng(0)
    images = rng.standard_normal((30, 8))
    reports["scenes-tiny", "b", 2] = vb.evaluate(images, images, captions_per_image=1, metrics="R@1", ci=0)
    refuses(BadInput, claims.judge, reports, one(), 1)


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
        Planned(
            loss, small(loss={"name": loss, "relevance": "match"}, train={"epochs": 3, "seed": seed, **more}), METRICS
        )
        for seed in (0, 1, 2)
        for loss, more in (("sh", {"lr": 0.02}), ("bcls", {"lr": 0.01, "patience": 1}), ("mh", {}))
    ]
    texts = ("bcls - sh: RSum", "bcls - sh: match:Kendall", "bcls = sh: R@1", "bcls - sh: entails:mAP@R")
    stated = {"better": tuple(map(part_of, texts)), "other": (part_of("mh - sh: R@1"),)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "claims_of", lambda name: stated)
        patch.setattr(claims, "ELSEWHERE", 0)
        patch.setattr(claims, "get_suite", lambda name: Suite(name, tuple(runs)))
        folder = tmp_path_factory.mktemp("judged")
        suites.run_suite(Suite("three", tuple(p for p in runs if p.variant != "mh")), folder)
        found = claims.study(folder)
        assert found == json.loads((folder / "suite.json").read_text()) and found["left_out"] == []
        lost = found["runs"].pop(f"{DATA}/bcls-seed1")
        found["diverged"][f"{DATA}/bcls-seed1"] = {**lost, "message": "the loss is nan"}
        (folder / "suite.json").write_text(json.dumps(found))
        again = claims.study(folder)
        return {**found, "again": again}


def test_a_suite_in_parts_is_judged_at_the_levels_of_the_complete_one(judged):
    assert judged["verdicts"] == 2 and [c["claim"] for c in judged["claims"]] == ["better"]
    assert judged["again"]["claims"] == [] and judged["again"]["verdicts"] == 2
    (lost,) = judged["again"]["left_out"]
    assert (lost["claim"], lost["data"], lost["because"]) == ("better", DATA, f"{DATA}/bcls-seed1 diverged")
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


def tiny(plan: Planned) -> Planned:
    """A run of the suite of ablations in a second, on small scenes."""
    changes = [f"data.name={DATA}", "data.word_count=2", "model.dim=8", "model.word_dim=8", "train.epochs=2",
               "train.batch=20", f"loss.neighbours={min(4, plan.config.loss.neighbours)}", "loss.warmup=0"]  # fmt: skip
    return replace(plan, config=config.assign(plan.config, changes), metrics=plan.metrics.replace(*SHALLOW))


SHALLOW = ("CS@100", "CS@5")  # of 10 test images
SOME = ("ladder", "ladder-L=1", "ladder-L=3")


@pytest.mark.parametrize("variants", [SOME, pytest.param(None, marks=pytest.mark.nightly)])
def test_ablations_stand_on_the_site_beside_the_numbers_of_the_papers(variants, tmp_path, monkeypatch):
    planned = [tiny(p) for p in suites.get_suite("ablations").runs if p.config.train.seed < 2]
    planned = [p for p in planned if variants is None or p.variant in variants or p.variant.startswith("images-")]
    suite = Suite("ablations", tuple(planned))
    shallow = {name: tuple(replace(p, metric=p.metric.replace(*SHALLOW)) for p in parts)
               for name, parts in claims.claims_of("ablations").items()}  # fmt: skip
    monkeypatch.setattr(claims, "get_suite", lambda name: suite)
    monkeypatch.setattr(claims, "claims_of", lambda name: shallow)
    suites.run_suite(suite, tmp_path / "runs")
    found = claims.study(tmp_path / "runs")
    judged = {claim["claim"]: claim for claim in found["claims"]}
    assert judged["layout"]["parts"][0]["trained"] == ["images-log_ratio", "images-dense_triplet"]
    folder = tmp_path / "leaderboards"
    shutil.copytree("leaderboards", folder, ignore=shutil.ignore_patterns("suites"))
    (folder / "suites").mkdir()
    shutil.copy(tmp_path / "runs" / "suite.json", folder / "suites" / "ablations.json")
    board = read(folder)
    boards = site.build(board, rankings(board))
    page = boards["claims.html"].decode()
    for name, claim in judged.items():
        section = page.partition(f'id="{name}"')[2].partition("</section>")[0]
        assert claim["verdict"] in section and "Suite ablations" in section
        assert "Published numbers" in section or name == "layout"
        values = section.partition("means over seeds and both directions")[2].partition("</table>")[0]
        of = {variant for part in claim["parts"] for variant in part["variants"]}
        assert values.count("<tr") == len(of) + 1 and all(variant in values for variant in of)
    expected = ["ladder-levels", "layout"] if variants is SOME else list(shallow)
    assert list(judged) == expected
    images = boards[f"{DATA}-images.html"].decode()
    assert "images-log_ratio-squared" in images and "nDCG@10" in images and "pixels" in images
