"""Rows without ids whose numbers are those of a declared split, or nearly: what they may be, and what is missing."""

from __future__ import annotations

from ..options import spell
from .declared import DECLARED, DeclaredSplit

BATCHES = (*(2**i for i in range(3, 13)), 96, 100, 192, 200, 384, 400, 500)  # usual sizes of a data loader
FOLD = (1_000, 5_000)  # images and captions
NEAR = 0.02  # rows that may be missing or too many, as a share of the split


def suggestion(n_image: int, n_text: int) -> str:
    """One sentence for the user; empty when the numbers are not those of a declared split, nor nearly.

    Args:
        n_image: number of image rows.
        n_text: number of text rows.
    """
    for split in (s for s in DECLARED.values() if s.built_as == s.name):
        if (n_image, n_text) == (split.images, split.captions):
            name = split.name
            also = " and of a fold of COCO 1K" if (n_image, n_text) == FOLD else ""
            return (
                f"{_counts(n_image, n_text)} are the numbers of {name}{also}: give {spell('split', name)} if the rows "
                "are those of this set in its order (Karpathy's), for its judgements and captions, or "
                f"{spell('split', 'custom')} if they are not"
            )
        cause = _cause(n_image, n_text, split)
        if cause:
            numbers = f"the {split.images:,} and {split.captions:,} of {split.name}"
            return f"{_counts(n_image, n_text)} are nearly {numbers}: {cause}"
    return ""


def _counts(n_image: int, n_text: int) -> str:
    return f"{n_image:,} images and {n_text:,} texts"


def _cause(n_image: int, n_text: int, split: DeclaredSplit) -> str:
    """Why the rows may be those of a split, though their numbers differ; empty when they are too different."""
    images, texts = split.images, split.captions
    if n_image == n_text == texts and n_text not in (s.images for s in DECLARED.values()):
        return (
            "every image was encoded once for each of its texts, and its rows differ (dropout or random crops?); "
            "encode in evaluation mode and save every image once"
        )
    if n_image == images and n_text == 25_010:
        return "ten images of COCO have six captions, and the split has the first five of every image"
    if (n_image, n_text) == (1_014, 5_070):
        return "these are the numbers of Flickr30K's validation set"
    dropped = [_batches(n, all_rows) for n, all_rows in ((n_image, images), (n_text, texts)) if n < all_rows]
    if n_image <= images and n_text <= texts and dropped and all(dropped):
        sizes = " or ".join(str(b) for b in dropped[0])
        return (
            "the last rows are missing, as a data loader with drop_last=True leaves them out "
            f"(batches of {sizes}); set drop_last=False"
        )
    if abs(n_image - images) > NEAR * images or abs(n_text - texts) > NEAR * texts:
        return ""
    if n_image >= images and n_text >= texts:
        return (
            "rows occur twice, as a distributed sampler repeats some so that all processes have as many; keep the "
            f"first {images:,} and {texts:,} in order"
        )
    return "some items were not encoded, or lost; encode all, or give image_ids and text_ids to find which"


def _batches(n: int, all_rows: int) -> list[int]:
    """The sizes of complete batches that hold ``n`` of ``all_rows`` rows and leave less than one batch."""
    return sorted(b for b in BATCHES if n == all_rows // b * b)
