"""The validity study: its systems and statistics, a tiny run of all of it, and the stored numbers and page."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from studies.validity import __main__ as study
from studies.validity import figures, findings, measure
from studies.validity.measure import QUALITIES, Measured, errors_of, quality_of
from studies.validity.systems import (
    FAMILIES,
    LEVELS,
    MIXED,
    REMOVABLE,
    Corruption,
    Oracle,
    System,
    World,
    decomposed,
    family_systems,
    match,
    mixed_systems,
    pool_systems,
    pooled,
    vectors,
)
from tests import oracle_scenes, scene_worlds
from vsebench.scenes.facts import UNSAID, Facts
from vsebench.scenes.settings import GENERATOR_VERSION
from vsebench.stats.columns import Column
from vsebench.types import TestSet

ROOT = Path(__file__).parents[2]
STORED = ROOT / study.NUMBERS
PAGE = ROOT / study.PAGES / "metric_validity.md"
N = 40  # images


@pytest.fixture(scope="module")
def world() -> World:
    _, _, scenes, facts = scene_worlds.world()
    image_of = np.repeat(np.arange(N), 5)
    return World(TestSet.captioned("custom", np.arange(N), np.arange(5 * N), image_of), scenes[:N], facts[: 5 * N])


@pytest.fixture(scope="module")
def oracle(world) -> Oracle:
    return Oracle(world)


def scores_of(system, oracle):
    images, captions = vectors(system, oracle)
    return images.astype(np.float64) @ captions.T.astype(np.float64)


# systems


def stated_without(facts: Facts, removed: set[str]) -> Facts:
    """The facts of a caption that are not of a removed kind."""
    kinds = {kind: UNSAID for kind in removed & {"shape", "colour", "size", "texture", "number"}}
    mentions = tuple(replace(mention, **kinds) for mention in facts.mentions)
    relations = () if "relations" in removed else facts.relations
    return Facts(mentions, relations, UNSAID if "background" in removed else facts.background)


@pytest.mark.parametrize("removed", [set(), {"colour"}, {"number", "relations"}, {"background", "shape", "texture"}])
def test_what_a_system_does_not_see_never_matches(world, removed):
    shown, stated, _, _ = scene_worlds.world()
    found = match(world, frozenset(removed))
    for i, c in np.random.default_rng(0).integers(0, (N, 5 * N), (300, 2)).tolist():
        matched = oracle_scenes.matched(stated_without(stated[c], removed), shown[i])
        facts = 5 * len(shown[i].groups) + 1 + len(shown[i].relations)
        expected = 2 * matched / (oracle_scenes.stated(stated[c]) + facts)
        assert found[i, c] == pytest.approx(expected, abs=1e-12)
    if not removed:
        own = [oracle_scenes.entails(stated[c], shown[c // 5]) for c in range(5 * N)]
        assert world.entails[world.split.image_of, np.arange(5 * N)].tolist() == own


def test_the_oracle_embedding_has_match_as_inner_products(world):
    images, captions = decomposed(world.match, N)
    assert images.shape == (N, N) and captions.shape == (5 * N, N)
    # What is left out has singular values below 3.2e-5 = sqrt(1e-9) of the largest: two scenes of the world are alike.
    assert np.linalg.norm(images @ captions.T - world.match, 2) <= 3.2e-5 * np.linalg.norm(world.match, 2)
    images, captions = decomposed(world.match, 8)
    best = np.linalg.svd(world.match, compute_uv=False)[8:]  # Eckart and Young: no matrix of rank 8 is nearer
    assert np.linalg.norm(images @ captions.T - world.match) == pytest.approx(np.sqrt((best**2).sum()))


def test_a_system_is_better_when_nothing_is_stronger_and_something_weaker():
    base = Corruption()
    shape, both = frozenset({"shape"}), frozenset({"shape", "size"})
    assert base.better_than(Corruption(noise=0.9)) and not Corruption(noise=0.9).better_than(base)
    assert not base.better_than(base)
    assert Corruption(removed=shape).better_than(Corruption(removed=both))
    assert not Corruption(removed=shape).better_than(Corruption(removed=frozenset({"size"})))
    assert not Corruption(pair=0.1, hubness=0.5).better_than(Corruption(pair=0.2, hubness=0.4))
    assert Corruption(pair=0.1, hubness=0.4).better_than(Corruption(pair=0.2, hubness=0.4, vague=0.1))


def test_levels_of_a_family_are_in_their_true_order():
    systems = family_systems(3)
    assert len({s.name for s in systems}) == len(systems) == 1 + sum(len(levels) - 1 for levels in LEVELS.values())
    for family in FAMILIES:
        chain = [systems[0], *(s for s in systems if s.family == family)]
        assert all(a.corruption.better_than(b.corruption) for n, a in enumerate(chain) for b in chain[n + 1 :])
    assert systems[-1].corruption.as_json() == {"noise": 0.8, "pair": LEVELS["pair"][-1]}
    for system in mixed_systems(30):
        assert system.level == len(system.corruption.as_json()) - (system.corruption.noise == 0.8)
        assert systems[0].corruption.better_than(replace(system.corruption, noise=max(0.8, system.corruption.noise)))


def test_biases_add_a_number_to_all_scores_of_a_candidate(oracle):
    plain = System("x", 0, 0, Corruption(noise=0.0))
    base = scores_of(plain, oracle)
    for kind in ("popularity", "vague"):
        added = scores_of(replace(plain, corruption=Corruption(noise=0.0, **{kind: 0.5})), oracle) - base
        of_image, of_caption = added.mean(axis=1, keepdims=True), added.mean(axis=0, keepdims=True)
        assert np.allclose(added, of_image + of_caption - added.mean(), atol=1e-5) and added.std() > 0.01
        if kind == "vague":
            assert stats.spearmanr(of_caption[0], oracle.world.stated)[0] < -0.99
            assert stats.spearmanr(of_image[:, 0], oracle.world.shown)[0] > 0.99


def test_hubness_and_the_cue_of_the_pairs_do_what_they_say(oracle):
    def of(**corruption):
        return scores_of(System("x", 0, 0, Corruption(noise=0.0, **corruption)), oracle)

    def most_frequent_first_result(scores):
        return np.bincount(scores.argmax(axis=0), minlength=N).max()

    assert most_frequent_first_result(of(hubness=0.95)) > 3 * most_frequent_first_result(of())
    found = [(of(pair=share).argmax(axis=0) == oracle.world.split.image_of).mean() for share in (0.0, 0.2, 0.6)]
    assert found[0] < found[1] < found[2] == 1


def test_noise_is_drawn_anew_for_every_system_and_is_the_same_again(oracle):
    first, again, other = (scores_of(System("noise", 1, seed, Corruption()), oracle) for seed in (0, 0, 1))
    assert (first == again).all() and not np.allclose(first, other)


# pooled judgements and what users get


def test_pooled_judgements_are_the_true_ones_among_the_first_and_the_written_pairs(world, oracle):
    systems = pool_systems()[:2]
    found = pooled(oracle, systems, depth=3)
    image_of = world.split.image_of
    scores = [s.T if d == "t2i" else s for d in ("i2t", "t2i") for s in (scores_of(x, oracle) for x in systems)]
    for place, (direction, table) in enumerate({"i2t": found["i2t"], "t2i": found["t2i"].T}.items()):
        true = world.entails if direction == "i2t" else world.entails.T
        for q in range(len(table)):
            first = {int(c) for s in scores[2 * place : 2 * place + 2] for c in np.argsort(-s[q], kind="stable")[:3]}
            written = np.flatnonzero(image_of == q).tolist() if direction == "i2t" else [image_of[q]]
            assert set(np.flatnonzero(table[q])) == {c for c in first if true[q, c]} | set(written)


def test_quality_and_errors_of_first_results(world, rng):
    scores = rng.standard_normal(world.match.shape).astype(np.float32)
    by_hand: dict[str, list[float]] = {name: [] for name in QUALITIES}
    wrong, true = [], []
    shown, stated, _, _ = scene_worlds.world()
    held = np.array([[oracle_scenes.matched(f, s) for f in stated[: 5 * N]] for s in shown[:N]])
    counts = np.array([oracle_scenes.stated(f) for f in stated[: 5 * N]])
    holds, true_ones = held / np.maximum(counts, 1), (held == counts) & (counts > 0)
    assert (counts == 0).any() and np.array_equal(true_ones, world.entails)
    everything, stating = range(N), np.flatnonzero(counts)  # captions that state nothing are no queries
    for s, h, t, e, queries, written in (
        (scores, holds, world.match, true_ones, everything, [set(range(5 * i, 5 * i + 5)) for i in range(N)]),
        (scores.T, holds.T, world.match.T, true_ones.T, stating, [{c // 5} for c in range(5 * N)]),
    ):
        order = [sorted(range(len(row)), key=lambda j, row=row: -row[j]) for row in s]
        by_hand["holds of the first"].append(np.mean([h[q, order[q][0]] for q in queries]))
        for name, table in (("holds of ten", h), ("true of ten", e), ("match of ten", t)):
            by_hand[name].append(np.mean([table[q, j] for q in queries for j in order[q][:10]]))
        errors = [q for q, o in enumerate(order) if o[0] not in written[q]]
        wrong.append(len(errors) / len(order))
        true.append(np.mean([e[q, order[q][0]] for q in errors]))
    assert quality_of(scores, world) == pytest.approx({name: np.mean(values) for name, values in by_hand.items()})
    assert errors_of(scores, world) == (pytest.approx(wrong), pytest.approx(true))


# statistics


def measured(values, systems, samples=None):
    """Systems with one metric; the samples of the images all agree, unless they are given."""
    values = np.asarray(values, float)[:, None]
    samples = np.repeat(values[None], 20, axis=0) if samples is None else samples
    quality = {findings.JUDGED_BY: values[:, 0]}
    nothing = np.zeros((len(systems), 2))
    return Measured(
        tuple(systems), (("R@1", "both"),), values, samples, samples[:5], quality, nothing, nothing, 100, "s"
    )


def test_tau_is_that_of_scipy_within_a_family(rng):
    systems = family_systems(0)
    values = rng.permutation(len(systems)) + 0.5
    found = findings.recovered(measured(values, systems))["R@1"]["both"]
    for family in FAMILIES:
        at = [n for n, s in enumerate(systems) if s.family in (family, "base")]
        expected = stats.kendalltau([-systems[n].level for n in at], values[at])[0]
        assert found[family] == pytest.approx([expected] * 4, abs=1e-6)
    pairs = {f: len(LEVELS[f]) * (len(LEVELS[f]) - 1) / 2 for f in findings.EVEN_FAMILIES}
    expected = sum(found[f][0] * n for f, n in pairs.items()) / sum(pairs.values())
    assert found[findings.EVEN][0] == pytest.approx(expected, abs=1e-6)


def test_systems_of_one_strength_have_no_order_and_ties_count_as_neither():
    systems = [*family_systems(0), *family_systems(1)]
    groups = findings.true_pairs(tuple(systems))
    levels = len(LEVELS["noise"])
    assert groups["noise"].shape[1] == 4 * levels * (levels - 1) / 2
    assert MIXED not in groups
    ties = findings.recovered(measured(np.ones(len(systems)), systems))["R@1"]["both"]
    assert all(found[:3] == [0, 0, 0] for found in ties.values())


def test_mixed_systems_are_compared_across_families():
    systems = (*family_systems(0), *mixed_systems(20))
    pairs = findings.true_pairs(systems)[MIXED]
    for a, b in pairs.T.tolist():
        first, second = systems[a], systems[b]
        assert first.corruption.better_than(second.corruption)
        assert MIXED in (first.family, second.family) and first.family != "base"
    assert pairs.shape[1] > 20


def test_the_images_needed_give_the_power_that_was_asked_for(rng):
    """Paired tests on simulated test sets of that size find the difference in 80 of 100."""
    mean, deviation, images = 0.05, 0.4, 1000
    needed = findings.images_needed(np.array(mean), np.array(deviation / math.sqrt(images)), images)
    n = round(float(needed))
    sets = mean + deviation * rng.standard_normal((4000, n))
    found = np.abs(sets.mean(axis=1)) > 1.96 * sets.std(axis=1, ddof=1) / math.sqrt(n)
    assert 0.77 < found.mean() < 0.83
    assert findings.images_needed(np.array([0.0, -1.0]), np.ones(2), images).tolist() == [math.inf, math.inf]


def test_neighbours_that_a_metric_has_in_the_opposite_order_need_no_number(rng):
    systems = family_systems(0)
    level = np.array([s.level for s in systems], float)
    noise = 0.1 * rng.standard_normal((500, len(systems), 1)).astype(np.float32)
    upwards = findings.sizes_needed(measured(level, systems, level[None, :, None] + noise))["R@1"]["noise"]
    assert upwards == {"images": [None, None, None], "right": 0.0, "wrong": 1.0}
    downwards = findings.sizes_needed(measured(-level, systems, -level[None, :, None] + noise))["R@1"]["noise"]
    assert (downwards["right"], downwards["wrong"]) == (1.0, 0.0)
    assert downwards["images"][0] == pytest.approx(100 * 2.8016**2 * 2 * 0.1**2, rel=0.15)


def test_agreement_of_metrics_and_systems_of_equal_quality():
    systems = family_systems(0)[:4]
    one = measured([4.0, 3.0, 2.0, 1.0], systems)
    both = replace_metrics(one, np.array([[4.0, 1.0], [3.0, 2.0], [2.0, 4.0], [1.0, 3.0]]))
    found = findings.agreement_of(both, "R@1", "R@5")
    assert found["tau"][0] == pytest.approx(stats.kendalltau([4, 3, 2, 1], [1, 2, 4, 3])[0])
    assert (found["clear"], found["opposite"], found["pairs"]) == (1.0, pytest.approx(5 / 6), 6)
    equal = findings.of_equal_quality(
        replace(both, quality={findings.JUDGED_BY: np.array([0.5, 0.504, 0.6, 0.7])}), ["R@5"]
    )
    assert equal["pairs"] == 1 and equal["R@5 both"]["apart"] == [1.0, 1.0, 1.0]
    quality = findings.agreement_with_quality(both)["R@5"][findings.JUDGED_BY][findings.ALL]
    assert quality == pytest.approx([stats.kendalltau([4, 3, 2, 1], [1, 2, 4, 3])[0]] * 3)


def test_agreement_within_groups_is_that_of_scipy(rng):
    systems = [*family_systems(0), *mixed_systems(12)]
    one = measured(rng.permutation(len(systems)) + 0.5, systems)
    quality = rng.permutation(len(systems)) + 0.5
    found = findings.agreement_with_quality(replace(one, quality={"q": quality}))["R@1"]["q"]
    assert set(found) == {findings.ALL, findings.PLAIN, *FAMILIES, MIXED}
    inside = {
        findings.PLAIN: [not (s.corruption.pair or s.corruption.vague) for s in systems],
        "hubness": [s.family in ("base", "hubness") for s in systems],
        MIXED: [s.family == MIXED for s in systems],
    }
    for name, at in inside.items():
        assert 3 < sum(at) < len(systems)
        expected = stats.kendalltau(one.values[at, 0], quality[at])[0]
        assert found[name] == pytest.approx([expected] * 3, abs=1e-6)


def test_an_interval_of_tau_has_its_value_inside_and_covers_it(rng):
    assert findings.tau_interval(0.8, np.full(50, 0.8)) == pytest.approx([0.8] * 3)
    low, high = findings.tau_interval(0.99, rng.uniform(0.7, 0.9, 500))[1:]  # all resamples are below it
    assert 0.9 < low < 0.99 < high <= 1
    value, low, high = findings.tau_interval(-1.0, rng.uniform(-1, -0.9, 500))
    assert value == low == -1 < high < -0.8
    # Of a tau of 0.6, 2 p - 1 of the share p = 0.8 of 200 pairs that are drawn one by one.
    covered = 0
    for share in rng.binomial(200, 0.8, 400) / 200:
        _, low, high = findings.tau_interval(2 * share - 1, 2 * rng.binomial(200, share, 300) / 200 - 1)
        covered += low <= 0.6 <= high
    assert 0.92 < covered / 400 < 0.98


def replace_metrics(one, values):
    samples = np.repeat(values[None], 20, axis=0)
    return replace(one, keys=(("R@1", "both"), ("R@5", "both")), values=values, samples=samples, small=samples)


# the numbers, the figures and the page


@pytest.mark.slow
def test_a_tiny_study_runs_to_its_figures(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    study.main(["--quick", "--out", str(tmp_path)])
    out = capsys.readouterr()
    assert out.out == "" and "16 of 16" in out.err
    record = json.loads((tmp_path / study.NUMBERS).read_text(encoding="utf-8"))
    assert record["schema"] == study.SCHEMA and "split:scenes-tiny-test" in record["signature"]
    assert {"R@1", "entails:mAP@R", "judged:R@1", "pooled:mAP@R", "cider:CS@100", "match:NCS@10"} <= set(
        record["order"]
    )
    systems = record["systems"]["systems"]
    assert len(systems) == 16 and all(len(s["values"]) == len(record["systems"]["metrics"]) for s in systems)
    check_figures(tmp_path / study.PAGES)
    assert figures.table(record).count("\n| `") == len(figures.METRICS)
    # The values are those of one evaluation of the same vectors.
    base, metrics = systems[0], record["systems"]["metrics"]
    found = {name: base["values"][metrics.index(f"R@1 {name}")] for name in ("i2t", "t2i", "both")}
    assert found["both"] == pytest.approx((found["i2t"] + found["t2i"]) / 2, abs=1e-3)
    assert found["i2t"] == pytest.approx(1 - base["wrong"][0], abs=1e-3)


def check_figures(folder):
    for name in figures.CHARTS:
        drawn = (folder / f"metric_validity_{name}.svg").read_text(encoding="utf-8")
        sizes = [float(x) for x in re.findall(r'font-size="([\d.]+)px"', drawn)]
        assert drawn.startswith("<svg") and min(sizes) >= 11


def intervals(value):
    """All numbers with an interval of the stored numbers, as the page writes them."""
    if isinstance(value, dict):
        return {text for item in value.values() for text in intervals(item)}
    lists = isinstance(value, list) and len(value) >= 3 and all(isinstance(x, float) for x in value)
    return {figures.interval(value)} if lists else set()


def test_the_page_has_the_stored_numbers():
    record, text = json.loads(STORED.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    assert figures.table(record) in text, "run python -m docs.generate"
    named = re.findall(r"−?[\d.]+ \[−?[\d.]+,\s−?[\d.]+\]", text.replace(figures.table(record), ""))
    assert len(named) > 10 and set(named) <= intervals(record), "read the sentences of the page again"
    assert record["signature"] in text and sorted(re.findall(r"!\[.*?\]\((.*?)\)", text)) == sorted(
        f"metric_validity_{name}.svg" for name in figures.CHARTS
    )
    check_figures(PAGE.parent)


def test_the_stored_numbers_are_those_of_the_full_study():
    record = json.loads(STORED.read_text(encoding="utf-8"))
    settings = record["settings"]
    assert record["schema"] == study.SCHEMA and STORED.read_text(encoding="utf-8") == study.text(record) + "\n"
    assert settings["generator"] == GENERATOR_VERSION, "the scenes have changed: run make study"
    assert (settings["split"], len(settings["seeds"])) == (study.FULL.split, study.FULL.seeds)
    assert settings["levels"] == {f: list(levels) for f, levels in LEVELS.items()}
    assert settings["resamples"] == study.FULL.resamples and settings["removable"] == list(REMOVABLE)
    expected = [s for seed in settings["seeds"] for s in family_systems(seed)] + mixed_systems(study.FULL.mixed)
    assert [s["name"] for s in record["systems"]["systems"]] == [s.name for s in expected]
    for by_direction in record["order"].values():
        for value, *rest in (found for families in by_direction.values() for found in families.values()):
            assert -1 <= value <= 1 and (not rest or rest[0] <= rest[1])
    assert all(name in record["order"] for name in (*figures.METRICS, *figures.ROWS))


def test_every_interval_of_the_stored_numbers_has_its_value_inside():
    record = json.loads(STORED.read_text(encoding="utf-8"))
    by_name = [*record["quality"].values(), *(by for name, by in record["order"].items() if "quality" not in name)]
    found = [x for by in by_name for families in by.values() for x in families.values()]
    found += [pair["tau"] for pair in record["false negatives"]["agreement"].values()]
    needed = [x["images"] for by in record["images needed"].values() for x in by.values()]
    found += [[math.inf if x is None else x for x in images] for images in needed]
    assert len(found) > 3500 and not [x for x in found if not x[1] <= x[0] <= x[2]]


def test_medians_are_those_of_the_repeated_queries() -> None:
    ranks, image = np.array([3.0, 1.0, 4.0, 9.0]), np.array([0, 0, 1, 2])
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0], [2.0, 0.0, 1.0]])
    found = measure._medians(Column(ranks, image, median=True), weights)
    assert found.tolist() == [3.0, 4.0, 3.0]  # of 1 3 4 9, 4 4 9 and 1 1 3 3 9
