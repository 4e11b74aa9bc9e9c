"""A small file of embeddings, and the checks of what its reader returns or refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((4, 3)).astype(np.float32)
TEXTS = RNG.standard_normal((8, 3)).astype(np.float32)
OWNER = np.repeat(np.arange(4), 2)
IMAGE_IDS = np.array([391895, 522418, 184613, 318219])
TEXT_IDS = np.arange(100, 108)
FULL = {
    "image_embeddings": IMAGES,
    "text_embeddings": TEXTS,
    "image_ids": IMAGE_IDS,
    "text_ids": TEXT_IDS,
    "image_of_text": OWNER,
}


def same(raw: Any, kind: str) -> None:
    """The arrays of FULL came back."""
    assert raw.format == kind
    assert np.array_equal(raw.images, IMAGES) and raw.images.dtype == np.float32
    assert np.array_equal(raw.texts, TEXTS)
    for found, expected in ((raw.image_ids, IMAGE_IDS), (raw.text_ids, TEXT_IDS), (raw.image_of_text, OWNER)):
        assert found is not None and found.dtype == np.int64 and np.array_equal(found, expected)


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def save_deflated(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    return path
