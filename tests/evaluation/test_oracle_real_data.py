"""Text embeddings of COCO 5K: known ranges of recall, and the oracle on a sample of queries.

The image vectors are made from captions and object labels; no image was encoded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests import oracle
from tests.worlds import relevance
from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot
from vsebench.types import DIRECTIONS, Direction, Relevance

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


@pytest.fixture(scope="module", params=["images", "images_zeroshot"])
def label_proxy(request: pytest.FixtureRequest, real_data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of images made from object labels, thousands of them equal to another one, and of all captions."""
    (images,) = vectors(real_data, "coco5k_label_proxy.npz", request.param)
    (captions,) = vectors(real_data, "coco5k_minilm_proxy.npz", "captions")
    assert len(np.unique(images, axis=0)) < 3000
    return images, captions


def check(x: np.ndarray, y: np.ndarray, judged: Relevance, rules: tuple[str, ...]) -> None:
    """Ranks of the queries under some tie rules, and their top 20, against a complete sort."""
    d = judged.direction
    scorer = Dot(x.astype(np.float32), y.astype(np.float32))
    # float16 vectors are multiples of 2^-24: float64 products of unit vectors are exact in any order of summation.
    sides = (x.astype(np.float64), y.astype(np.float64))
    queries, gallery = sides if d == "i2t" else sides[::-1]
    scores = {int(q): (gallery @ queries[q]).tolist() for q in judged.queries}
    for ties in rules:
        observed = observe(scorer, [Targets("x", judged)], ties=ties, depth={d: 20})[d]
        rank, top = iter(observed.ranks["x"].rank.tolist()), observed.top
        for q, items in oracle.positives(judged).items():
            order = oracle.ordering(scores[q], range(len(gallery)), set(items), ties)
            assert [next(rank) for _ in items] == [order.index(g) + 1 for g in items]
            if ties == "index":
                assert top.items[q].tolist() == order[:20]
                assert top.scores[q].tolist() == [scores[q][g] for g in order[:20]]
        if d == "t2i":
            assert observed.ranks["x"].tied.mean() > 0.2


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_many_exact_ties(label_proxy: tuple[np.ndarray, np.ndarray], direction: Direction) -> None:
    """A few queries, each with its ground truth and three other items."""
    images, captions = label_proxy
    rng = np.random.default_rng(1)
    size, n, gallery = (8, 5000, 25000) if direction == "i2t" else (40, 25000, 5000)
    few = sorted(rng.choice(n, size, replace=False).tolist())
    x, y = (images[few], captions) if direction == "i2t" else (images, captions[few])
    own = [[*range(5 * q, 5 * q + 5)] if direction == "i2t" else [q // 5] for q in few]
    items = {q: [*given, *rng.choice(gallery, 3, replace=False).tolist()] for q, given in enumerate(own)}
    check(x, y, relevance(direction, items), ("index", "optimistic", "pessimistic"))
