"""Values of published code and of definitions (tests/golden/graded.json, each with its origin)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import graded_worlds
from tests.oracle_graded import World
from vsebench.graded.engine import GradedValues
from vsebench.metrics import Metric, parse
from vsebench.metrics.discounted import discounted_gain, label_distance
from vsebench.metrics.gain_order import gain_order
from vsebench.metrics.tau import kendall
from vsebench.types import DIRECTIONS, TestSet

Golden = Callable[[str], dict[str, Any]]


def world_of(scores: Any, gains: Any, captions_per_image: int) -> World:
    n, m = np.shape(scores)
    split = TestSet.captioned("custom", np.arange(n), np.arange(m), np.arange(m) // captions_per_image)
    return World(split, np.array(scores, float), np.array(gains, float))


def measured(world: World, *names: str) -> dict[tuple[Metric, str], GradedValues]:
    """By metric and direction, as the stored values."""
    found = graded_worlds.measured(world, *names)
    return {(m, DIRECTIONS[side]): values for (m, side), values in found.items()}


def test_cs_at_3_6x6(golden: Golden) -> None:
    case = golden("cs_at_3_6x6")
    world = world_of(case["inputs"]["sims"], case["inputs"]["relevance"], 1)
    found = measured(world, "CS@3", "CS[tau=a]@3", "CS[tau=c]@3", "CS[captions=all]@3")
    for d in DIRECTIONS:
        assert found[parse("CS@3"), d].mean == pytest.approx(case["expected"][d])
        assert found[parse("CS@3"), d].values.tolist() == pytest.approx(case["expected"][f"{d}_per_query"])
        assert found[parse("CS[captions=all]@3"), d].values.tolist() == found[parse("CS@3"), d].values.tolist()
        for variant in "ac":
            mean = found[parse(f"CS[tau={variant}]@3"), d].mean
            assert mean == pytest.approx(case["variants"][f"tau_{variant}"][d], abs=1e-15)


def test_tau_with_relevance_ties(golden: Golden) -> None:
    case = golden("tau_with_relevance_ties")
    gains = np.array([case["inputs"]["relevance"]], np.float32)
    want = {"b": case["expected"]["tau_b"], "a": case["variants"]["tau_a"], "c": case["variants"]["tau_c"]}
    for variant, value in want.items():
        five = np.array([5])
        found = kendall(gain_order(gains, five), np.zeros(gains.shape, bool), five, [5], variant)
        assert found[0, 0] == pytest.approx(value, rel=1e-15)


def test_cs_constant_relevance(golden: Golden) -> None:
    case = golden("cs_constant_relevance")
    scores, relevance = (np.array(case["inputs"][key]) for key in ("sims", "relevance"))
    split = TestSet.captioned("custom", np.arange(2), np.arange(3), np.array([0, 1, 1]))
    found = measured(World(split, scores, relevance), "CS[captions=all]@3")[parse("CS[captions=all]@3"), "i2t"]
    assert np.isnan(found.values[0]) and found.values[1] == case["expected"]["per_query"][1]
    assert (found.mean, found.undefined) == (case["expected"]["mean_skip_nan"], case["expected"]["n_undefined"])


def ncs(world: World, ks: list[int], bracket: str = "") -> dict[str, float]:
    found = measured(world, *(f"NCS{bracket}@{k}" for k in ks))
    return {f"{d}_N@{m.k}": 100 * values.mean for (m, d), values in found.items()}


def test_ncs_6x30_with_gt(golden: Golden) -> None:
    case = golden("ncs_6x30_with_gt")
    world = world_of(case["inputs"]["sims"], np.array(case["inputs"]["phi_caps_by_images"]).T, 5)
    ours = ncs(world, case["inputs"]["ks"])
    assert sum(ours.values()) == pytest.approx(case["expected"]["Nsum"], rel=1e-6)
    for key, value in ours.items():
        assert value == pytest.approx(case["expected"][key], rel=1e-6)
        assert value == pytest.approx(case["official"]["values"][key], rel=1e-6)


def test_ncs_subset_of_images(golden: Golden) -> None:
    # The ideal gains are those of the gallery; the published code takes captions outside the gallery as well.
    case = golden("ncs_subset_of_images")
    gains = np.array(case["inputs"]["phi_caps_by_images_full_rows"])[: case["inputs"]["gallery_captions"]]
    ours = ncs(world_of(case["inputs"]["sims"], gains.T, 5), case["inputs"]["ks"])
    assert sum(ours.values()) == pytest.approx(case["expected"]["Nsum"], rel=1e-6)
    for key, value in ours.items():
        assert value == pytest.approx(case["expected"][key], rel=1e-6)
    assert ours["i2t_N@1"] != pytest.approx(case["official"]["i2t"]["1"], rel=1e-2)


def test_ideal_gains_of_a_block_are_those_of_its_gallery(golden: Golden) -> None:
    case = golden("ncs_subset_of_images")
    gains = np.array(case["inputs"]["phi_caps_by_images_full_rows"]).T
    all_scores = np.zeros((6, 30))
    all_scores[:3, :15] = case["inputs"]["sims"]
    all_gains = np.zeros((6, 30))
    all_gains[:3] = gains
    split = TestSet.captioned("custom", np.arange(6), np.arange(30), np.arange(30) // 5, fold=np.arange(6) // 3)
    names = [f"NCS[on=block]@{k}" for k in case["inputs"]["ks"]]
    found = measured(World(split, all_scores, all_gains), *names)
    for (metric, d), values in found.items():
        assert 100 * values.mean == pytest.approx(case["expected"][f"{d}_N@{metric.k}"], rel=1e-6)


def test_semantic_recall_6x30(golden: Golden) -> None:
    case = golden("semantic_recall_6x30")
    world = world_of(case["inputs"]["sims"], np.array(case["inputs"]["phi_caps_by_images"]).T, 5)
    for key, want in case["expected"].items():
        direction, m, k = key.split("_")
        name = f"SR[m={m[1:]}]@{k[1:]}"
        found = measured(world, name)
        assert 100 * found[parse(name), direction].mean == pytest.approx(want["SR"])
    by_image(world, "SR", case["official"]["values"])


def by_image(world: World, stem: str, expected: dict[str, float]) -> None:
    """Official values, which count images: keys such as ``t2i_m2_nongt_k5``."""
    assert expected
    for key, want in expected.items():
        direction, m, ground_truth, k = key.split("_")
        name = f"{stem}[m={m[1:]},unit=image,gt={'in' if ground_truth == 'gt' else 'out'}]@{k[1:]}"
        assert 100 * measured(world, name)[parse(name), direction].mean == pytest.approx(want), key


def test_recall_any_hit_extended_set_6x30(golden: Golden) -> None:
    case = golden("semantic_recall_6x30")
    world = world_of(case["inputs"]["sims"], np.array(case["inputs"]["phi_caps_by_images"]).T, 5)
    by_image(world, "R", golden("recall_any_hit_extended_set_6x30")["expected"])


def test_ndcg_mld_2x6(golden: Golden) -> None:
    case = golden("ndcg_mld_2x6")
    vectors, n = np.array(case["inputs"]["embeddings"]), case["inputs"]["n_query"]
    distance, ks = np.array(case["inputs"]["label_distance"]), case["inputs"]["ks"]
    scores = -((vectors[:n, None] - vectors[None, n:]) ** 2).sum(2)
    # Two "images" are the queries, six "captions" the gallery: squared Euclidean scores, gains 1 / (1 + d).
    world = World(TestSet.captioned("custom", np.arange(2), np.arange(6), np.arange(6) % 2), scores, 1 / (1 + distance))
    found = measured(world, *(f"{stem}@{k}" for stem in ("nDCG", "MLD") for k in ks))
    order = np.argsort(-scores, axis=1, kind="stable")
    best = -np.sort(-1 / (1 + distance), axis=1)
    retrieved = np.take_along_axis(1 / (1 + distance), order, 1)
    complete = np.full(n, distance.shape[1])
    direct = discounted_gain(retrieved, complete, best, ks).mean(0)
    means = label_distance(np.take_along_axis(distance, order, 1), complete, ks).mean(0)
    for i, k in enumerate(ks):
        assert found[parse(f"nDCG@{k}"), "i2t"].mean == pytest.approx(case["expected"]["ndcg"][str(k)], rel=1e-6)
        assert direct[i] == pytest.approx(case["expected"]["ndcg"][str(k)], rel=1e-12)
        want = case["expected"]["mean_label_distance"][str(k)]
        assert found[parse(f"MLD@{k}"), "i2t"].mean == pytest.approx(want, rel=1e-6)
        assert means[i] == pytest.approx(want, rel=1e-12)


def test_kendall_full_ranking_4x8(golden: Golden) -> None:
    case = golden("kendall_full_ranking_4x8")
    world = world_of(case["inputs"]["sims"], case["inputs"]["relevance"], case["inputs"]["captions_per_image"])
    found = measured(world, "Kendall", "Kendall[tau=b]")
    for d in DIRECTIONS:
        assert found[parse("Kendall"), d].mean == pytest.approx(case["expected"][d])
        assert found[parse("Kendall[tau=b]"), d].mean == pytest.approx(case["variants"]["tau_b"][d])
