"""Captions to compute relevance from: those of COCO 5K, or invented ones."""

from __future__ import annotations

import numpy as np

from vsebench.errors import MissingPackage
from vsebench.types import Split

from .synthetic import CAPTIONS


def load(images: int) -> tuple[Split, str]:
    """The first images of COCO 5K with their captions, and what they are; invented ones without the package."""
    from vsebench.data.splits import catalogue as splits

    try:
        whole = splits.load_split("coco-5k", captions=True)
    except MissingPackage as error:
        return part(invented(images), images), f"invented captions: {error.what}"
    return (whole if images == len(whole.image_ids) else part(whole, images)), "captions of COCO 5K"


def part(whole: Split, images: int) -> Split:
    """The first images and their captions."""
    keep = np.flatnonzero(whole.image_of < images)
    texts = whole.captions or ()
    return Split(
        "custom", whole.image_ids[:images], whole.caption_ids[keep], whole.image_of[keep],
        tuple(texts[i] for i in keep.tolist()),
    )  # fmt: skip


def invented(images: int) -> Split:
    """Five captions an image, of about ten words that they share in part; words as rare as real ones."""
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
