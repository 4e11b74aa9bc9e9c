"""Captions to compute relevance from: those of COCO 5K, or synthetic ones."""

from __future__ import annotations

import numpy as np

from vsebench.errors import MissingPackage
from vsebench.types import Split

from .synthetic import CAPTIONS


def load(images: int) -> tuple[Split, str]:
    """The first images of COCO 5K with their captions, and a description; synthetic captions without the package."""
    from vsebench.sets.catalogue import load_split

    try:
        coco = load_split("coco-5k", captions=True)
    except MissingPackage as error:
        return synthetic_captions(images), f"synthetic captions: {error.what}"
    return (coco if images == len(coco.image_ids) else part(coco, images)), "captions of COCO 5K"


def part(split: Split, images: int) -> Split:
    """The first images of a split and their captions."""
    keep = np.flatnonzero(split.image_of < images)
    texts = split.captions or ()
    return Split(
        "custom", split.image_ids[:images], split.caption_ids[keep], split.image_of[keep],
        tuple(texts[i] for i in keep.tolist()),
    )  # fmt: skip


def synthetic_captions(images: int) -> Split:
    """Five captions an image of about ten words, some of them common to the captions of an image; Zipf frequencies."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(8000)])
    share = 1 / np.arange(1, len(words) + 1)
    share /= share.sum()
    texts = []
    for _ in range(images):
        theme = rng.choice(words, 12, p=share)
        for length in rng.normal(10.5, 2.3, CAPTIONS).round().clip(5, 30).astype(int):
            chosen = np.where(rng.random(length) < 0.4, rng.choice(theme, length), rng.choice(words, length, p=share))
            texts.append(" ".join(chosen) + ".")
    n = np.arange(images * CAPTIONS)
    return Split("custom", np.arange(images), n, n // CAPTIONS, tuple(texts))
