"""Real captions, and what people have said of them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vsebench.relevance.gains import Gains
from vsebench.types import TestSet


@pytest.fixture(scope="session")
def coco5k(real_data: Path) -> TestSet:
    """The COCO 5K test split of the data folder, with its captions."""
    rows = [json.loads(line) for line in (real_data / "coco5k" / "captions.jsonl").open(encoding="utf-8")]
    ids = [np.array([row[key] for row in rows]) for key in ("image_id", "caption_id")]
    return TestSet.captioned(
        "coco-5k", ids[0][::5], ids[1], np.arange(25_000) // 5, tuple(row["caption"] for row in rows)
    )


@pytest.fixture(scope="session")
def agreement(real_data: Path, coco5k: TestSet) -> Callable[[Gains], list[float]]:
    """Pearson of gains with the SITS judgements of CxC: of all 44,833 pairs, and of those that are no ground truth."""
    with gzip.open(real_data / "cxc" / "sits_test.csv.gz", "rt", encoding="utf-8") as stream:
        rated = list(csv.DictReader(stream))
    assert len(rated) == 44_833
    caption, image = ({int(x): k for k, x in enumerate(ids)} for ids in (coco5k.columns.ids, coco5k.rows.ids))
    captions = np.array([caption[int(row["caption"].rsplit(":", 1)[1])] for row in rated])
    images = np.array([[image[int(row["image"].split("_")[-1].split(".")[0])]] for row in rated])
    score = np.array([float(row["agg_score"]) for row in rated])
    other = np.array([row["sampling_method"] != "c2i_original" for row in rated])

    def pearson(gains: Gains) -> list[float]:
        value = gains.T.at(captions, images)[:, 0].astype(np.float64)
        return [float(np.corrcoef(value[of], score[of])[0, 1]) for of in (score > -1, other)]

    return pearson
