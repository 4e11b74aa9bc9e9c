"""Embeddings made from captions: their definition, and that no caption is compared with itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.sets.synthetic import blocks, lsa, standin_embeddings, tfidf, unit
from vsebench.types import TestSet

THINGS = ["cat", "dog", "horse", "boat", "kite", "pizza", "clock", "train", "bench", "zebra", "cake", "sheep"]
PLACES = ["grass", "street", "beach", "table", "snow", "kitchen"]


def toy(n: int = 12, order: np.ndarray | None = None) -> TestSet:
    """Each image is a thing at a place; five wordings."""
    captions, image_of = [], []
    for i in range(n):
        a, b = THINGS[i], PLACES[i % len(PLACES)]
        captions += [
            f"A {a} on the {b}.",
            f"one {a} near {b}",
            f"the {a}, a {b}",
            f"{b} with {a}",
            f"{a.upper()} and {b}!",
        ]
        image_of += [i] * 5
    order = np.arange(5 * n) if order is None else order
    return TestSet.captioned("toy", np.arange(n), order, np.array(image_of)[order], tuple(captions[i] for i in order))


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_a_caption_does_not_touch_its_own_block(image: int, j: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = unit(rng.standard_normal((20, 3)))
    other = t.copy()
    other[5 * image + j] = unit(rng.standard_normal((1, 3)))[0]
    (before, _), (after, _) = blocks(t), blocks(other)
    same = (before == after).reshape(4, 5, 3).all(axis=2)
    assert same[image, j]  # to the last bit
    assert not np.delete(same[image], j).any()  # every other block of the image changes
    assert np.delete(same, image, axis=0).all()


def test_one_product_compares_a_caption_with_the_other_four(rng: np.random.Generator) -> None:
    t = unit(rng.standard_normal((20, 3)))
    images, captions = blocks(t)
    assert images.shape == (4, 15) and captions.shape == (20, 15) and images.dtype == captions.dtype == np.float32
    for i in range(4):
        for c in range(20):
            others = [5 * i + k for k in range(5) if k != c % 5]
            mean = t[others].sum(axis=0)
            assert images[i] @ captions[c] == pytest.approx(t[c] @ mean / np.linalg.norm(mean), abs=1e-6)
    assert np.allclose(np.linalg.norm(captions, axis=1), 1, atol=1e-6)
    assert np.allclose(np.linalg.norm(images, axis=1), np.sqrt(5), atol=1e-6)


def test_tfidf_by_hand() -> None:
    weights = tfidf(["A cat, a CAT!", "a dog's", "...?"]).toarray()
    assert weights.shape == (3, 4)  # a cat dog s
    a, rare = np.log(4 / 3) + 1, np.log(4 / 2) + 1
    first = np.array([2 * a, 2 * rare, 0, 0])
    second = np.array([a, 0, rare, rare])
    assert np.allclose(weights[0], first / np.linalg.norm(first), atol=1e-15)
    assert np.allclose(weights[1], second / np.linalg.norm(second), atol=1e-15)
    assert not weights[2].any()


def test_lsa_is_the_truncated_svd() -> None:
    rng = np.random.default_rng(3)
    captions = [" ".join(rng.choice(THINGS + PLACES, 6)) for _ in range(40)]
    t = lsa(captions, 4)
    full = tfidf(captions).toarray()
    _, values, basis = np.linalg.svd(full)
    assert values[3] - values[4] > 1e-3  # else the subspace is not unique
    wanted = unit(full @ basis[:4].T)
    assert np.allclose(t @ t.T, wanted @ wanted.T, atol=1e-9)
    assert np.array_equal(t, lsa(captions, 4))


def test_captions_without_words_get_a_unit_vector() -> None:
    t = lsa(["a cat", "???", "a dog", "", "two dogs run"], 2)
    assert t[1].tolist() == t[3].tolist() == [1.0, 0.0]
    assert np.allclose(np.linalg.norm(t, axis=1), 1)
    opposite = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 0]])
    assert np.isfinite(blocks(opposite)[0]).all() and blocks(opposite)[0].reshape(5, 2).any(axis=1).all()


def test_the_stand_in_finds_the_right_image_and_follows_the_order_of_the_split(rng: np.random.Generator) -> None:
    split = toy()
    images, captions = standin_embeddings(split, dim=16)
    assert images.shape == (12, 80) and captions.shape == (60, 80) and images.flags.c_contiguous
    assert np.array_equal((images @ captions.T).argmax(axis=0), split.image_of)
    # Images interleaved, the five captions of each still in their order: the same vectors, row by row.
    order = np.argsort(rng.permutation(np.repeat(np.arange(12), 5)), kind="stable")
    place = np.empty(60, np.int64)
    place[order] = np.arange(60)
    mixed_images, mixed_captions = standin_embeddings(toy(order=place), dim=16)
    assert np.allclose(mixed_images @ mixed_captions.T, (images @ captions.T)[:, place], atol=1e-5)


def test_inputs_that_are_refused(refuses: Refuses) -> None:
    split = toy()
    bare = TestSet.captioned("toy", split.rows.ids, split.columns.ids, split.image_of)
    refuses(UsageError, standin_embeddings, bare)
    odd = TestSet.captioned(
        "toy", split.rows.ids, split.columns.ids[:-1], split.image_of[:-1], split.columns.texts[:-1]
    )
    refuses(UsageError, standin_embeddings, odd)
    for dim in (0, 500):
        refuses(UsageError, standin_embeddings, split, dim=dim)
    refuses(BadInput, lsa, ["?", "!"], 1)
