"""Input whose recall is at or below chance is refused and its cause named; bad models that work are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, hypergeom

import vsebench
from tests.messages import Pinned, Refuses
from tests.worlds import world
from vsebench.errors import BadInput
from vsebench.evaluation.inputs import Input
from vsebench.evaluation.misread import (
    CHANCE_P_VALUE,
    SAVE_IDS_WITH_ROWS,
    Sample,
    Suspicion,
    positives_by_image,
    suspect,
)
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import DIRECTIONS, NO_INDICES, Direction, Float, Int, TestSet, Tops

Array = npt.NDArray[np.float32]
SIZES = [50, 60, 120, 300]


def split(n: int, times: int = 5) -> TestSet:
    return TestSet.captioned("custom", np.arange(n), np.arange(n * times), np.arange(n * times) // times)


def model(n: int, times: int = 5, noise: float = 0.6, seed: int = 1, dim: int = 16) -> tuple[Array, Array]:
    made = world(n, times, noise, seed, dim)
    return made.images, made.texts


def major(texts: Array, times: int = 5) -> Array:
    """First text of every image, then the second of every image, ..."""
    return texts.reshape(-1, times, texts.shape[1]).swapaxes(0, 1).reshape(len(texts), -1)


def suspicions(
    scorer: Scorer, items: TestSet, rows: tuple[Int | None, Int | None] = (None, None)
) -> list[Suspicion | None]:
    data = Input(items, System(scorer), Path("file"), rows=rows)
    return [suspect(data, positives_by_image(data.split, direction)) for direction in DIRECTIONS]


def found(x: Array, y: Array, times: int = 5, rows: tuple[Int | None, Int | None] = (None, None)) -> list[Any]:
    """What is suspected of vectors in both directions: None, or the words of the cause, empty without one."""
    return [cause(s) for s in suspicions(Dot(x, y, cosine=True), split(len(x), times), rows)]


def cause(suspicion: Suspicion | None) -> str | None:
    """The words of the reading that explains it, empty without one; None where nothing is suspected."""
    if suspicion is None:
        return None
    words = re.search("; (with .*) it would be ", suspicion[0])
    return words[1] if words else ""


# The test of chance.


def sample(rank: Int, gallery: int) -> Sample:
    """One relevant item a query, and one query an image."""
    n = np.arange(len(rank))
    return of_ranks(rank.astype(np.float64), (rank - 0.5) / gallery, n**0, n, gallery * n**0, gallery)


def of_ranks(best: Float, mean: Float, size: Int, units: Int, depth: Int, gallery: int) -> Sample:
    """A sample without the items at the ends of its rankings."""
    return Sample((NO_INDICES, NO_INDICES), (NO_INDICES, NO_INDICES), units, best, mean, size, depth, gallery)


def test_chance_is_the_hypergeometric_one() -> None:
    size = np.array([1, 5, 5, 7])
    s = of_ranks(np.full(4, 3.0), np.full(4, 0.5), size, np.arange(4), np.full(4, 60), 60)
    for k in (1, 10, 30):
        assert_allclose(s.chance(k), np.mean([1 - hypergeom.pmf(0, 60, r, k) for r in size]))
    assert s.recall(2) == 0 and s.recall(3) == 1
    listed = of_ranks(np.full(4, 3.0), np.full(4, 0.5), size, np.arange(4), np.array([2, 5, 20, 60]), 60)
    expected = [1 - hypergeom.pmf(0, 60, r, k) for r, k in zip(size, (2, 5, 10, 10), strict=True)]
    assert_allclose(listed.chance(10), np.mean(expected))


def test_p_values_at_chance_are_at_most_uniform() -> None:
    rng = np.random.default_rng(0)
    p = np.array([sample(rng.integers(1, 501, 100), 500).p_value for _ in range(400)])
    for level in (CHANCE_P_VALUE, 0.1):
        assert (p < level).sum() <= binom.ppf(0.9999, 400, level)
    # All captions of an image have one rank: still 100 independent images.
    ranks = [np.repeat(rng.integers(1, 501, 100), 5) for _ in range(400)]
    first, ones = np.arange(0, 500, 5), np.ones(500, np.int64)
    whole = [of_ranks(r.astype(float), (r - 0.5) / 500, ones, first, 500 * ones, 500) for r in ranks]
    assert sum(s.p_value < CHANCE_P_VALUE for s in whole) <= binom.ppf(0.9999, 400, CHANCE_P_VALUE)


def test_a_few_percent_of_a_large_gallery_are_above_chance() -> None:
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 5001, 512)
    assert sample(rank, 5000).at_chance
    rank[:10] = 1
    assert not sample(rank, 5000).at_chance
    assert sample(5001 - np.minimum(rank, 2500), 5000).at_chance


# What is refused.


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_random_vectors_are_at_chance_without_a_cause(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, 8)).astype(np.float32), rng.standard_normal((5 * n, 8)).astype(np.float32)
    assert "" in found(x, y) and set(found(x, y)) <= {"", None}
    rows = rng.permutation(n), rng.permutation(5 * n)
    assert set(found(x, y, rows=rows)) <= {"", None}


@pytest.mark.parametrize("n", SIZES)
def test_collapsed_vectors_are_at_chance(n: int) -> None:
    x, y = model(n)
    one = np.ones_like(y)
    for images, texts in ((x, one), (np.ones_like(x), y), (np.ones_like(x), one)):
        assert found(images, texts) == [""] * 2


RUNS = "with the texts stored as {1} runs of {0} (first text of every image, then second, ...)"
# What is done to images, texts and their rows, and the words of the cause.
CAUSES: dict[str, tuple[Callable[[Array, Array, Int, Int], tuple[Any, ...]], str]] = {
    "negated": (lambda x, y, p, q: (x, -y), "with the scores negated"),
    "runs": (lambda x, y, p, q: (x, major(y, len(y) // len(x))), RUNS),
    "images reversed": (lambda x, y, p, q: (x[::-1], y), "with the images in reverse order"),
    "texts reversed": (lambda x, y, p, q: (x, y[::-1]), "with the images in reverse order"),
    "ids of images": (lambda x, y, p, q: (x[p], y, (p, None)),
                      "with the images in the order of the file and their ids ignored"),
    "ids of texts": (lambda x, y, p, q: (x, y[q], (None, q)), "with the texts in order, {1} for each image"),
}  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("case", CAUSES)
def test_the_cause_is_named(case: str, times: int, n: int) -> None:
    change, words = CAUSES[case]
    rng = np.random.default_rng(2)
    images, texts, *rows = change(*model(n, times), rng.permutation(n), rng.permutation(times * n))
    assert found(images, texts, times, *rows) == [words.format(n, times)] * 2


def test_distances_are_negated() -> None:
    x, y = model(60)
    assert [cause(s) for s in suspicions(Matrix(1 - x @ y.T), split(60))] == ["with the scores negated"] * 2


@pytest.mark.parametrize("side", ["images", "texts"])
@pytest.mark.parametrize("text", [False, True])
def test_rows_sorted_by_id_are_found(side: str, text: bool) -> None:
    n, rng = 120, np.random.default_rng(3)
    x, y = model(n)
    image_ids, caption_ids = rng.choice(10**6, n, replace=False), rng.choice(10**6, 5 * n, replace=False)
    items = TestSet.captioned("custom", image_ids, caption_ids, np.arange(5 * n) // 5)
    ids = image_ids if side == "images" else caption_ids
    order = np.argsort(ids.astype(str) if text else ids)
    vectors = (x[order], y) if side == "images" else (x, y[order])
    both = suspicions(Dot(*vectors, cosine=True), items)
    words = f"with the {side} in ascending " + ("order of the ids as text" if text else "id order")
    assert [cause(s) for s in both] == [words] * 2
    assert [s and s[1] for s in both] == [SAVE_IDS_WITH_ROWS] * 2


# What is not refused.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("n", [*SIZES, 1500])
def test_a_correct_file_passes(n: int, noise: float, seed: int) -> None:
    """Also of a weak model: at a noise of 8 R@1 is 1 % (1,500 images) to 14 % (50 images)."""
    assert found(*model(n, noise=noise, seed=seed, dim=64)) == [None, None]


def test_a_model_that_works_for_few_items_passes() -> None:
    n, rng = 1000, np.random.default_rng(0)
    x, y = rng.standard_normal((n, 32)), rng.standard_normal((5 * n, 32))
    y[: n // 2] = np.repeat(x[: n // 10], 5, axis=0)  # R@1 of 10 %, the others at random
    assert found(x.astype(np.float32), y.astype(np.float32)) == [None, None]


def test_vectors_that_differ_little_pass() -> None:
    """float32 products cannot tell these scores apart, float64 can."""
    x, y = model(100, dim=64)
    assert found(1000 + x, 1000 + y) == [None, None]


def test_small_splits_are_not_checked() -> None:
    x, y = model(49)
    assert found(x, major(y)) == [None, None]
    assert found(*model(1)) == [None, None]


def test_scores_of_images_that_do_not_compare_pass_in_one_direction() -> None:
    """Every image has an offset of its own, as scores of cross-attention may: captions then prefer some images."""
    x, y = model(300, noise=3.0, dim=64)
    scores = x @ y.T + 1e4 * np.random.default_rng(0).standard_normal((300, 1))
    i2t, t2i = suspicions(Matrix(scores), split(300))
    assert i2t is None and t2i is not None
    assert vsebench.evaluate(scores=scores, direction="i2t", metrics="R@1", ci=0)["R@1", "i2t"].value > 0.1


def test_images_without_captions_and_uneven_numbers() -> None:
    n, rng = 200, np.random.default_rng(0)
    image_of = np.sort(rng.integers(0, n - 60, 700))
    x, _ = model(n)
    y = (x[image_of] + 0.3 * rng.standard_normal((700, 16))).astype(np.float32)
    items = TestSet.captioned("custom", np.arange(n), np.arange(700), image_of)
    assert suspicions(Dot(x, y, cosine=True), items) == [None, None]
    both = suspicions(Dot(x[::-1].copy(), y, cosine=True), items)
    assert all("reverse" in (cause(s) or "") for s in both)


# Score matrices and retrieved lists.


def test_score_matrices_are_checked_too() -> None:
    x, y = model(100)
    assert suspicions(Matrix(x @ y.T), split(100)) == [None, None]
    rows = np.random.default_rng(0).permutation(100)
    assert suspicions(Matrix((x @ y.T)[rows], np.argsort(rows)), split(100), (np.argsort(rows), None)) == [None, None]
    assert None not in suspicions(Matrix(x @ major(y).T), split(100))


def lists(order: Int, items: TestSet, direction: Direction) -> Suspicion | None:
    """What is suspected of retrieved lists, (query, depth)."""
    gallery = len(items.columns.ids if direction == "i2t" else items.rows.ids)
    missing = len(items.rows.ids if direction == "i2t" else items.columns.ids) - len(order)
    found = {direction: Tops.ragged([*order, *[order[0, :0]] * missing], gallery)}
    return suspect(Input(items, None, Path("file"), lists=found), positives_by_image(items, direction))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("depth", [10, 100])
def test_retrieved_lists_are_checked(direction: Direction, depth: int) -> None:
    n, rng = 500, np.random.default_rng(0)
    x, y = model(n)
    image_ids = rng.choice(10**6, n, replace=False)
    items = TestSet.captioned("custom", image_ids, np.arange(5 * n), np.arange(5 * n) // 5)
    scores = x @ y.T if direction == "i2t" else y @ x.T
    order = np.argsort(-scores, axis=1)
    assert lists(order[:, :depth], items, direction) is None
    assert lists(order[: len(order) // 3, :1], items, direction) is None, "some queries, one item"
    backwards = lists(order[:, :depth][:, ::-1], items, direction)
    assert cause(backwards) == "with the lists reversed" and "larger means more similar" in backwards[1]
    last = lists(order[:, ::-1][:, :depth], items, direction)
    assert cause(last) == ""
    random = lists(rng.permuted(order, axis=1)[:, :depth], items, direction)
    assert random is not None and cause(random) == "" and "untrained" in random[1]
    # The model's rows are images in the order of the split; the writer took them to be sorted by id.
    named = np.argsort(image_ids)
    wrong = np.empty_like(order) if direction == "i2t" else named[order]
    if direction == "i2t":
        wrong[named] = order
    sorted_by_id = lists(wrong[:, :depth], items, direction)
    assert cause(sorted_by_id) == "with the images in the order of the split, but ids in ascending id order"


# From files.


def write(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "e.npz", **arrays)
    return folder / "e.npz"


def test_the_error_names_both_readings_and_trust_makes_it_a_warning(tmp_path: Path, pinned: Pinned) -> None:
    x, y = model(100)
    file = write(tmp_path, images=x, texts=major(y))
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(file, ci=0)
    assert caught.value.where == str(file)
    pinned(caught.value)
    report = vsebench.evaluate(file, trust=True, ci=0)
    assert caught.value.what in report.warnings
    assert report["R@1", "t2i"].value < 0.1


def test_a_file_with_wrong_ids(tmp_path: Path, refuses: Refuses) -> None:
    x, y = model(100)
    wrong, owner = np.random.default_rng(4).permutation(100), np.arange(500) // 5
    named = np.array([f"n{i:03}" for i in range(100)])
    for ids in (wrong, named):  # rows are given, ids do not matter
        file = write(tmp_path, images=x, texts=y, image_ids=ids, image_index=owner)
        assert vsebench.evaluate(file, ci=0)["R@1", "t2i"].value > 0.5
    file = write(tmp_path, images=x, texts=y, image_ids=named[wrong], image_of_text=named[owner])
    refuses(BadInput, vsebench.evaluate, file, ci=0)


def test_arrays_in_memory_are_checked_too(refuses: Refuses) -> None:
    x, y = model(100)
    refuses(BadInput, vsebench.evaluate, x, major(y), ci=0)
    assert any("recall is at chance" in w for w in vsebench.evaluate(x, major(y), trust=True, ci=0).warnings)


# Queries and documents with judgements, and no image of a text.

JUDGED, QUERIES = 80, 120


def judged(change: Callable[[dict[str, Any]], Any] = dict, metric: str = "mine:R@1", ids: bool = True) -> Any:
    """The value of documents, two of which are relevant to every query, after a change of the arguments."""
    rng = np.random.default_rng(3)
    documents = rng.standard_normal((JUDGED, 12))
    relevant = np.stack([rng.permutation(JUDGED)[:2] for _ in range(QUERIES)])
    queries = documents[relevant].sum(axis=1) + 0.3 * rng.standard_normal((QUERIES, 12))
    names = [f"d{n}" for n in range(JUDGED)], [f"q{n}" for n in range(QUERIES)]
    given: dict[str, Any] = {"images": documents, "texts": queries}
    mine: Any = np.zeros((QUERIES, JUDGED))
    mine[np.arange(QUERIES)[:, None], relevant] = 1
    if ids:
        given |= {"image_ids": names[0], "text_ids": names[1]}
        mine = {"t2i": {names[1][q]: {names[0][d]: 1 for d in two} for q, two in enumerate(relevant.tolist())}}
    change(given)
    return vsebench.evaluate(judgements={"mine": mine}, direction="t2i", metrics=metric, ci=0, **given)


@pytest.mark.parametrize("metric", ["mine:R@1", "mine:nDCG@10"])
def test_judged_queries_are_refused_where_ids_and_rows_differ(metric: str, refuses: Refuses) -> None:
    assert judged(metric=metric)[metric, "t2i"].value > 0.8

    def changed(key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Any]:
        return lambda given: given.update({key: change(given[key])})

    for key, change in [
        ("image_ids", lambda ids: ids[::-1]),
        ("text_ids", lambda ids: [*np.random.default_rng(0).permutation(ids)]),
        ("images", lambda rows: -rows),
        ("images", lambda rows: np.random.default_rng(0).standard_normal(rows.shape)),
    ]:
        refuses(BadInput, judged, changed(key, change), metric)


@pytest.mark.parametrize("side", ["images", "texts"])
def test_judged_rows_without_ids_are_tested_for_their_order(side: str, refuses: Refuses) -> None:
    assert judged(ids=False)["mine:R@1", "t2i"].value > 0.8
    for change in (
        lambda rows: rows[::-1],
        lambda rows: np.concatenate([rows[::2], rows[1::2]]),
        lambda rows: np.concatenate([rows[:30], rows[29:-1]]),
    ):
        refuses(BadInput, judged, lambda given, change=change: given.update({side: change(given[side])}), ids=False)
