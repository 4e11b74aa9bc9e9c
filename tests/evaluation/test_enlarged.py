"""Galleries with images that belong to no query: ranks, metrics, intervals and gains against oracles without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests import oracle
from vsebench.relevance import load, load_gains
from vsebench.types import EVERYTHING

WORDS = ["a", "man", "dog", "runs", "red", "ball", "on", "grass", "with", "two", "cats", "near", "the", "blue", "car"]
METRICS = "R@1,R@2,MedR,MeanR,mAP@R,R-P"


def enlarged(
    rng: np.random.Generator, images: int, others: int, each: int, dim: int = 3, high: int = 2
) -> tuple[Any, ...]:
    """Small integer vectors, so that ties abound; the images without a caption are anywhere in the gallery."""
    owners = np.sort(rng.permutation(images + others)[:images])
    image_of = np.repeat(owners, each)[rng.permutation(images * each)]
    captions = tuple(" ".join(rng.choice(WORDS, 6)) for _ in image_of)
    split = vb.TestSet.captioned("custom", np.arange(images + others), np.arange(len(image_of)), image_of, captions)
    vectors = [rng.integers(-high, high + 1, (n, dim)).astype(np.float32) for n in (images + others, len(image_of))]
    for side in vectors:
        side[~side.any(axis=1)] = 1
    return split, *vectors


@given(
    st.integers(0, 2**32),
    st.integers(2, 6),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from(["index", "optimistic", "pessimistic"]),
)
def test_ranks_and_metrics_are_those_of_sorted_lists(seed: int, images: int, others: int, each: int, ties: str) -> None:
    split, image, caption = enlarged(np.random.default_rng(seed), images, others, each)
    options = {"similarity": "dot", "ties": ties, "trust": True, "ci": 0}
    sides = vb.Embeddings("image", split.rows.ids, image), vb.Embeddings("text", split.columns.ids, caption)
    report = vb.evaluate(*sides, split=split, metrics=METRICS, **options)  # by ids: equal vectors are other items
    scores = oracle.scores64(image, caption)
    for direction in ("i2t", "t2i"):
        judged = load("gt", split, direction)
        assert len(judged.queries) == (images if direction == "i2t" else images * each) and judged.skipped == 0
        rows = scores if direction == "i2t" else scores.T
        for name in METRICS.split(","):
            result = report[name, direction]
            expected = oracle.value(name.rstrip("12"), result.metric.k or 0, rows, judged, EVERYTHING, ties)
            assert result.n == len(judged.queries) and np.isclose(result.value, float(expected), rtol=1e-12)


def test_images_without_a_caption_are_no_queries_and_no_misses() -> None:
    split, image, caption = enlarged(np.random.default_rng(4), 5, 7, 2)
    options = {"split": split, "metrics": "R@1,mAP@R,MedR", "similarity": "dot", "trust": True, "ci": 0}
    skipped, missed = (vb.evaluate(image, caption, no_positive=word, **options) for word in ("skip", "miss"))
    assert [(r.value, r.n, r.undefined) for r in skipped.results] == [
        (r.value, r.n, r.undefined) for r in missed.results
    ]
    assert skipped["R@1", "i2t"].n == 5 and skipped["R@1", "i2t"].undefined == 0


@pytest.mark.parametrize("gains", ["cider", "cider:own=out", "wmd"])
def test_gains_of_captions_are_those_without_these_images(gains: str, tmp_path: Path) -> None:
    """Image-to-text does not change; text-to-image is that of a gain of 0 with every image that has no caption."""
    pytest.importorskip("ot") if gains == "wmd" else None
    rng = np.random.default_rng(8)
    split, image, caption = enlarged(rng, 7, 5, 3, dim=6, high=9)
    vectors = (" ".join([word, *map("{:.3f}".format, rng.standard_normal(4))]) for word in WORDS)
    (tmp_path / "words.txt").write_text("\n".join(vectors) + "\n", encoding="utf-8")
    chosen = f"wmd:{tmp_path / 'words.txt'}" if gains == "wmd" else gains
    view = gains.partition(":")[0]
    options = {"gains": chosen, "similarity": "dot", "trust": True, "ci": 0}
    own = np.unique(split.image_of)
    small = vb.TestSet.captioned(
        "custom", split.rows.ids[own], split.columns.ids, np.searchsorted(own, split.image_of), split.columns.texts
    )
    names = f"{view}:NCS@3,{view}:nDCG@5,{view}:CS@4"
    report = vb.evaluate(image, caption, split=split, metrics=names, **options)
    without = vb.evaluate(image[own], caption, split=small, metrics=names, **options)
    for name in names.split(","):
        big, less = report[name, "i2t"], without[name, "i2t"]
        assert big.n == less.n == 7 and big.value == less.value and big.queries.tolist() == small.rows.ids.tolist()
    scores = oracle.scores64(caption, image)
    wide = np.zeros((len(split.rows.ids), len(caption)))
    wide[own] = load_gains(chosen, small).rows(0, 7)
    expected = []
    for q, row in enumerate(scores):
        order = oracle.ordering(row.tolist(), range(len(row)), set())
        ideal = np.sort(wide[:, q])[::-1][:3].sum()
        expected.append(wide[order[:3], q].sum() / ideal if ideal else 0.0)
    assert np.allclose(report[f"{view}:NCS@3", "t2i"].per_query, expected, rtol=1e-5)


def test_intervals_are_those_of_resampled_images() -> None:
    """The ends of percentile intervals, against resamples of the images that have captions, within their own noise."""
    rng = np.random.default_rng(1)
    split, image, caption = enlarged(rng, 400, 1200, 2, dim=8, high=50)
    caption = image[split.image_of] + rng.integers(-55, 56, caption.shape).astype(np.float32)
    options = {"split": split, "metrics": "R@1", "similarity": "dot", "interval": "percentile", "resamples": 4000}
    report = vb.evaluate(image, caption, **options)
    for direction in ("i2t", "t2i"):
        result = report["R@1", direction]
        owner = result.queries if direction == "i2t" else split.image_of[result.queries]
        by_image = [result.per_query[owner == i] for i in np.unique(split.image_of)]
        sums, counts = (np.array([f(v) for v in by_image]) for f in (np.sum, len))
        draws = rng.integers(0, len(sums), (4000, len(sums)))
        ends = np.percentile(sums[draws].sum(1) / counts[draws].sum(1), [2.5, 97.5])
        assert result.interval is not None and np.allclose(result.interval, ends, atol=0.006)
