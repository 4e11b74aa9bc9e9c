"""Simulated ratings of scenes: the protocol, judgements made of them, and correlations with them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import Result

import vsebench
from tests import commands
from tests.conftest import SCENES
from vsebench import relevance
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.relevance.kinds import load_gains
from vsebench.relevance.scenes.ratings import Ratings, rated, ratings_of, sampled
from vsebench.scenes.draws import Draws
from vsebench.types import DIRECTIONS, Direction, Float, Split


@pytest.fixture
def ratings(scenes_split: Split) -> Ratings:
    return ratings_of(scenes_split)


@pytest.fixture
def gains(scenes_split: Split) -> Float:
    """(image, caption) ``match``."""
    return np.asarray(load_gains("match", scenes_split).rows("i2t", 0, len(scenes_split.image_ids)), np.float64)


def test_the_pairs_are_sampled_by_match(scenes_split: Split, ratings: Ratings, gains: Float) -> None:
    pairs = list(zip(ratings.image.tolist(), ratings.caption.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) and ratings.match.tolist() == [gains[pair] for pair in pairs]
    for image in range(len(scenes_split.image_ids)):
        chosen = ratings.caption[ratings.image == image]
        own = np.flatnonzero(scenes_split.image_of == image)
        assert chosen[:5].tolist() == own.tolist() and not np.isin(chosen[5:], own).any()
        assert (scenes_split.image_of[chosen] == image).tolist() == ratings.own[ratings.image == image].tolist()
        others = np.sort(np.delete(gains[image], own))[::-1]
        high, middle = (
            others[3],
            others[max(3, round(0.1 * len(others))) - 1],
        )  # the 4th, and the last of the best tenth
        values = gains[image, chosen[5:]]
        among = [(values >= high).sum(), ((values < high) & (values >= middle)).sum(), (values < middle).sum()]
        assert among[0] == 4 and among[1] == min(3, ((others < high) & (others >= middle)).sum()) and among[2] == 3


def test_ratings_follow_match_with_errors(built_scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(built_scenes))
    found = [ratings_of(vsebench.load_split(f"{SCENES}-{part}")) for part in ("train", "val", "test")]
    scores = np.concatenate([r.scores for r in found])
    gains = np.concatenate([r.match for r in found]).astype(np.float64)
    assert scores.shape[1] == 5 and set(np.unique(scores)) == set(range(6))
    inside = (gains > 0.2) & (gains < 0.5)  # so far from the ends that few ratings are cut off
    error = scores[inside] / 5 - 1.5 * gains[inside, None]
    assert abs(error.mean()) < 0.03
    # The deviations of a rater's bias, of an error, and of rounding to a fifth.
    assert np.isclose(error.std(), np.sqrt(0.05**2 + 0.15**2 + 0.2**2 / 12), rtol=0.15)
    assert stats.pearsonr(gains, scores.mean(1))[0] < 0.99


def test_ratings_are_the_same_on_every_machine() -> None:
    gains = np.float32(np.arange(200) * 37 % 97 / 97)
    chosen = sampled(gains, np.arange(200) < 5, Draws(0, "a", 1))
    assert chosen.tolist() == [0, 1, 2, 3, 4, 55, 76, 152, 173, 102, 123, 165, 18, 64, 162]
    scores = rated(gains[:9], np.array([0.0, 0.1, -0.1]), Draws(0, "b", 1))
    assert scores.dtype == np.int8 and scores.tolist() == [
        [0, 1, 0],
        [4, 5, 3],
        [5, 5, 5],
        [2, 2, 0],
        [4, 4, 5],
        [3, 5, 4],
        [2, 2, 2],
        [4, 5, 4],
        [0, 2, 0],
    ]


def test_agreement_of_raters_is_krippendorffs(ratings: Ratings) -> None:
    units = ratings.scores[:60].tolist()
    small = Ratings(ratings.image[:60], ratings.caption[:60], ratings.own[:60], ratings.match[:60], ratings.scores[:60])
    observed = np.mean([(a - b) ** 2 for unit in units for a, b in permutations(unit, 2)])
    expected = np.mean([(a - b) ** 2 for a, b in permutations([x for unit in units for x in unit], 2)])
    assert np.isclose(small.alpha, 1 - observed / expected)
    assert 0.5 < ratings.alpha < 0.9


def test_other_orders_were_not_rated(scenes_split: Split) -> None:
    s = scenes_split
    with pytest.raises(BadInput, match="items that were not rated, or another order"):
        ratings_of(Split(s.name, s.image_ids, s.caption_ids[::-1], s.image_of[::-1]))
    with pytest.raises(UsageError, match="truth is known of scenes"):
        relevance.load("judged", Split("custom", s.image_ids, s.caption_ids, s.image_of), "t2i")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_judged_are_the_pairs_rated_three_or_more(scenes_split: Split, ratings: Ratings, direction: Direction) -> None:
    expected: dict[int, list[int]] = {}
    queries = set()
    for image, caption, scores in zip(ratings.image, ratings.caption, ratings.scores.tolist(), strict=True):
        query, item = (image, caption) if direction == "i2t" else (caption, image)
        queries.add(int(query))
        if sum(scores) >= 3 * len(scores):
            expected.setdefault(int(query), []).append(int(item))
    found = relevance.load("judged", scenes_split, direction)
    ends = list(zip(found.indptr, found.indptr[1:], strict=False))
    assert {int(q): found.items[a:b].tolist() for q, (a, b) in zip(found.queries, ends, strict=True)} == {
        query: sorted(items) for query, items in expected.items()
    }
    assert found.skipped == len(queries) - len(expected)
    assert str(relevance.JUDGEMENTS["judged"].identity(scenes_split)).startswith("ratings#")


def test_incomplete_judgements_punish_a_perfect_model(scenes_split: Split, gains: Float) -> None:
    report = vsebench.evaluate(
        scores=gains, split=scenes_split.name, metrics="judged:mAP@R,judged:R@1,entails:R@1", ci=0
    )
    # It ranks by match, as the raters do; pairs as good as those that were found similar were not rated.
    assert report["judged:mAP@R", "i2t"].value < 0.9
    assert report["judged:R@1", "t2i"].value < 1


def correlate(*args: str | Path) -> Result:
    return commands.invoke("correlate", f"{SCENES}-test", *args)


def rows(*args: str | Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = commands.document("correlate", f"{SCENES}-test", *args, "--ci", "0")["rows"]
    return {(r["task"], r["subset"], r["relevance"]): r for r in found}


def test_correlations_are_those_of_scipy(scenes_split: Split, ratings: Ratings) -> None:
    found = rows("--gains", "match,cider,binary")
    assert len(found) == 2 * 2 * 3
    mean = ratings.scores.mean(1)
    cider = load_gains("cider", scenes_split).rows("i2t", 0, 22)[ratings.image, ratings.caption]
    values = {"match": ratings.match, "cider": cider, "binary": ratings.own.astype(float)}
    for (task, subset, relevance_name), row in found.items():
        pairs = np.full(len(mean), True) if subset == "all" else ~ratings.own
        x, y = values[relevance_name][pairs], (mean if task == "Judged" else ratings.match)[pairs]
        assert row["pairs"] == row["points"] == pairs.sum()
        if relevance_name == "binary" and subset != "all":
            assert row["pearson"]["value"] is None
            continue
        for name, oracle in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
            assert np.isclose(row[name]["value"], oracle(x, y)[0], atol=1e-9)
    assert found["Match", "all", "match"]["pearson"]["value"] == pytest.approx(1)
    assert found["Judged", "all", "match"]["pearson"]["value"] < 0.98


def test_the_raters_are_described_and_tasks_can_be_chosen(scenes_split: Split, ratings: Ratings) -> None:
    done = correlate("--gains", "match", "--tasks", "judged", "--ci", "0")
    assert f"with an agreement of {ratings.alpha:.2f} (Krippendorff's alpha, intervals)" in done.stderr
    assert f"{SCENES}-test Judged · {len(ratings.image)} pairs" in done.stdout and "Match" not in done.stdout
    study = vsebench.correlate(scenes_split.name, gains="match", ci=0)
    assert study.title == f"Agreement with simulated judgements · {scenes_split.name}"


def test_embeddings_are_correlated_with_ratings(scenes_split: Split, ratings: Ratings, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    images, texts = random.standard_normal((22, 8)), random.standard_normal((110, 8))
    np.savez(tmp_path / "model.npz", images=images, texts=texts, image_ids=scenes_split.image_ids)
    a, b = images[ratings.image].astype(np.float32), texts[ratings.caption].astype(np.float32)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    found = rows("--embeddings", tmp_path / "model.npz")
    assert set(found) == {(t, s, "model.npz") for t in ("Match", "Judged") for s in ("all", "non-GT")}
    row = found["Judged", "all", "model.npz"]
    assert np.isclose(row["spearman"]["value"], stats.spearmanr(cosine, ratings.scores.mean(1))[0], atol=1e-4)
    assert row["sampled_spearman"] is None


def test_what_is_refused(scenes_split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'scenes-10k' is no split of scenes\n  fix: name a part of a data set"):
        vsebench.correlate("scenes-10k")
    with pytest.raises(UsageError, match=r"unknown task of .*'sits'"):
        vsebench.correlate(scenes_split.name, tasks="sits")
    with pytest.raises(UsageError, match="human_data has no meaning for scenes"):
        vsebench.correlate(scenes_split.name, human_data=tmp_path)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    with pytest.raises(MissingPackage, match=f"vsebench data build {SCENES}"):
        vsebench.correlate(scenes_split.name, gains="match")
