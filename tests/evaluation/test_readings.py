"""Rows without ids in another order: gathered, displaced, and consistent orders that lose the captions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests import worlds
from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.evaluation import misread
from vsebench.types import TestSet

N, TIMES = 200, 5
OWNER = np.repeat(np.arange(N), TIMES)


@pytest.fixture
def world() -> tuple[np.ndarray, np.ndarray]:
    made = worlds.world(N, TIMES, 0.8, seed=20, dim=32)
    return made.images, made.texts


def evaluate(images: np.ndarray, texts: np.ndarray, **options: Any) -> vb.Report:
    return vb.evaluate(images, texts, metrics="R@1", ci=0, **options)


@pytest.mark.parametrize("sides", ["both", "images", "texts"])
@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("processes", [2, 3, 5, 8, 16])
def test_gathered_rows_are_named(
    world: tuple[np.ndarray, np.ndarray], processes: int, sides: str, shares: bool, refuses: Refuses
) -> None:
    images, texts = world
    if sides != "texts":
        images = images[gathered(N, processes, shares)]
    if sides != "images":
        texts = texts[gathered(N * TIMES, processes, shares)]
    refuses(BadInput, evaluate, images, texts)


def gathered(n: int, processes: int, shares: bool) -> np.ndarray:
    """(row,) the items in the order of a sampler that deals them in turn, or of shares whose rows alternate."""
    parts = -(-n // processes) if shares else processes
    return np.argsort(np.arange(n) % parts, kind="stable")


@given(st.integers(1, 90), st.integers(1, 9), st.booleans(), st.integers(1, 3))
def test_gathered_rows_are_those_of_a_sampler(n: int, processes: int, shares: bool, together: int) -> None:
    expected = (gathered(n, processes, shares)[:, None] * together + np.arange(together)).ravel()
    assert (
        misread.dealt(np.arange(n * together), n * together, processes, shares, together).tolist() == expected.tolist()
    )


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("side,start", [("images", 0), ("images", 60), ("images", 170), ("texts", 0), ("texts", 100)])
def test_rows_that_are_shifted(
    world: tuple[np.ndarray, np.ndarray], start: int, by: int, side: str, refuses: Refuses
) -> None:
    arrays = dict(zip(("images", "texts"), world, strict=True))
    rows, at = arrays[side], start * (TIMES if side == "texts" else 1)
    moved = np.roll(rows[at:], -by, axis=0)
    arrays[side] = np.concatenate([rows[:at], moved])
    refuses(BadInput, evaluate, **arrays)


def test_few_images_with_captions(world: tuple[np.ndarray, np.ndarray], refuses: Refuses) -> None:
    images, texts = world
    split = TestSet.captioned("custom", np.arange(60), np.arange(200), OWNER[:200])
    refuses(BadInput, evaluate, images[:60], np.roll(texts[:200], -5, axis=0), split=split)


@pytest.mark.parametrize("sides", ["both", "images", "texts"])
@pytest.mark.parametrize("order", [(1, 0, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)])
def test_blocks_of_processes_in_another_order(
    world: tuple[np.ndarray, np.ndarray], order: tuple[int, ...], sides: str, refuses: Refuses
) -> None:
    moved = [np.concatenate([np.array_split(rows, 4)[block] for block in order]) for rows in world]
    images, texts = (
        new if sides in ("both", side) else old
        for side, old, new in zip(("images", "texts"), world, moved, strict=True)
    )
    if sides == "both":  # the same order on both sides is another test set, without known captions
        assert not evaluate(images, texts).warnings
        return
    refuses(BadInput, evaluate, images, texts)


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("seed", range(5))
def test_rows_in_order_are_not_refused(noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.standard_normal((N, 32))
    images[1::2] = images[::2] + 0.3 * rng.standard_normal((N // 2, 32))  # neighbours are alike, as frames of a video
    texts = images[OWNER] + noise * rng.standard_normal((N * TIMES, 32))
    assert not evaluate(images, texts).warnings


def test_ids_decide(world: tuple[np.ndarray, np.ndarray]) -> None:
    images, texts = world
    order = gathered(N, 4, False)
    ids = {"image_ids": order, "text_ids": np.arange(N * TIMES), "image_id_of_text": OWNER}
    assert evaluate(images[order], texts, **ids)["R@1", "t2i"].value == evaluate(images, texts)["R@1", "t2i"].value


WORDS = ["dog", "cat", "horse", "boat", "train", "kite", "pizza", "snow", "beach", "street", "child", "woman", "player"]


@pytest.fixture
def told(rng: np.random.Generator) -> tuple[TestSet, np.ndarray, np.ndarray]:
    """A data set of one's own whose captions say what is in the images, and vectors that know it."""
    n, times = 120, 2
    there = rng.random((n, len(WORDS))) < 0.2
    there[:, 0] |= ~there.any(axis=1)
    owner = np.repeat(np.arange(n), times)
    captions = tuple(" ".join(np.array(WORDS)[there[i]]) for i in owner)
    images = there @ rng.standard_normal((len(WORDS), 24)) + 0.7 * rng.standard_normal((n, 24))
    texts = images[owner] + 0.5 * rng.standard_normal((n * times, 24))
    ids = np.array([f"{int(i)}.jpg" for i in rng.permutation(n)])
    return TestSet.captioned("mine", ids, np.arange(n * times), owner, captions), images, texts


def test_captions_of_other_images_are_noticed(told: tuple[TestSet, np.ndarray, np.ndarray], refuses: Refuses) -> None:
    split, images, texts = told
    assert not evaluate(images, texts, split=split).warnings
    blocks = texts.reshape(len(images), 2, -1)
    sorted_by_id = np.argsort(split.rows.ids)
    refuses(BadInput, evaluate, images[sorted_by_id], blocks[sorted_by_id].reshape(texts.shape), split=split)
    shuffled = np.random.default_rng(1).permutation(len(images))
    refuses(BadInput, evaluate, images[shuffled], blocks[shuffled].reshape(texts.shape), split=split)
    (warning,) = evaluate(images[shuffled], blocks[shuffled].reshape(texts.shape), split=split, trust=True).warnings
    assert warning.startswith("captions of 'mine' with similar wording")
