"""Vectors of the demonstration: their definition, by which no caption is compared with itself."""

from __future__ import annotations

import numpy as np
import pytest

from vsebench.cli.demo import standin_vectors

WORDS = ["cat", "dog", "horse", "boat", "kite", "pizza", "clock", "train", "grass", "street", "beach", "table"]


def test_one_product_compares_a_caption_with_the_other_four(rng: np.random.Generator) -> None:
    captions = [" ".join(rng.choice(WORDS, 4)).capitalize() + "!" for _ in range(40)]
    counts = np.array([[caption.lower().rstrip("!").split().count(w) for w in WORDS] for caption in captions])
    weights = counts * (np.log(41 / (1 + (counts > 0).sum(axis=0))) + 1)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    basis = np.linalg.svd(weights)[2][:4]
    t = weights @ basis.T
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    images, texts = standin_vectors(captions, 4)
    assert images.shape == (8, 20) and texts.shape == (40, 20) and images.dtype == texts.dtype == np.float32
    for i in range(8):
        for c in range(40):
            mean = t[[5 * i + k for k in range(5) if k != c % 5]].sum(axis=0)
            assert images[i] @ texts[c] == pytest.approx(t[c] @ mean / np.linalg.norm(mean), abs=1e-5)
