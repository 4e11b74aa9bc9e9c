"""Text embeddings of COCO 5K: known ranges of recall, and the oracle on a sample of queries.

The image vectors are made from captions and object labels; no image was encoded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vsebench
from vsebench.types import DIRECTIONS

pytestmark = pytest.mark.real_data

# R@1, R@5, R@10 in percent of 5,000 image vectors (each the mean of four captions of an image) against the fifth
# captions, as computed by other code: the ends are the pessimistic and the optimistic tie rule. A float32 product
# does not resolve one near-tie and gives an optimistic i2t R@1 of 36.18.
RANGES = {
    "i2t": {"R@1": (36.10, 36.16), "R@5": (59.62, 59.66), "R@10": (70.20, 70.26)},
    "t2i": {"R@1": (41.92, 41.92), "R@5": (65.16, 65.16), "R@10": (75.04, 75.04)},
}


def vectors(folder: Path, name: str, *keys: str) -> list[np.ndarray]:
    with np.load(folder / "proxy" / name, allow_pickle=False) as file:
        return [file[k] for k in keys]


def test_one_caption_an_image(real_data: Path) -> None:
    images, captions, which = vectors(real_data, "coco5k_minilm_proxy.npz", "images", "captions", "text_gallery")
    report, low, high = (
        vsebench.evaluate(images, captions[which], captions_per_image=1, metrics="recall", ties=ties)
        for ties in ("index", "pessimistic", "optimistic")
    )
    for d in DIRECTIONS:
        for name, (bottom, top) in RANGES[d].items():
            assert bottom - 1e-9 <= 100 * report[name, d].value <= top + 1e-9
            assert 100 * low[name, d].value == pytest.approx(bottom, abs=1e-9)
            assert 100 * high[name, d].value == pytest.approx(top, abs=1e-9)
            if (ends := report[name, d].ties) is not None:
                assert ends == (high[name, d].value, low[name, d].value)
