"""Do the intervals cover? Fresh test sets are drawn, and how often an interval has the expected value is counted.

    python -m studies.coverage                 print the table (an hour on two cores)
    python -m studies.coverage --write         also store it in docs/coverage.json, which docs/statistics.md shows
    python -m studies.coverage --sets 40 --images 100    a quick look

Images have a place in a latent space and are more or less rich in detail; captions are near their image. Gains fall
with the distance to the image and grow with its detail, so some images are relevant to many captions. A system is a
noisy copy of the latent space. Every test set is a fresh sample of images, captions and noise. The expected value of a
metric is its mean over all test sets of a size. Two systems with noise of the same law are equally good, so a test at
5 % should call 5 % of them different.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import vsebench
from vsebench import TestSet
from vsebench.files.atomic import write_atomically

STORED = Path(__file__).resolve().parent.parent / "docs" / "coverage.json"
SIZES = {200: 1000, 1000: 400}  # images of a test set -> number of test sets
CAPTIONS = 5
BINARY = ("R@1", "R@5", "R@10", "RSum", "MRR", "MeanR", "eccv:R@1", "eccv:Recall@10", "eccv:R-P", "eccv:mAP@R")
GRADED = (
    "cider:NCS@1", "cider:NCS@10", "cider:Nsum", "cider:NCS[gt=out]@10", "cider:NsumN", "cider:SR@1", "cider:SR@10",
    "cider:R@1", "cider:R@10", "cider:nDCG@10", "cider:CS@100", "cider:CS[captions=all]@100", "cider:Kendall",
)  # fmt: skip
# By the name with given judgements and gains in place of those of COCO
METRICS = {name.replace("eccv:", "given:").replace("cider:", "matrix:"): name for name in (*BINARY, *GRADED)}
LATENT = np.random.default_rng(11).standard_normal((60, 24))  # kinds of images
Array = npt.NDArray[Any]


class World(NamedTuple):
    """One sample: its split, (image, caption) float32 gains, and (images, captions) of equally good systems."""

    split: TestSet
    gains: Array
    systems: tuple[tuple[Array, Array], ...]


def draw(images: int, rng: np.random.Generator) -> World:
    """A fresh world with two systems."""

    def unit(x: Array) -> Array:
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    popularity = 1 / np.arange(1, len(LATENT) + 1)
    kind = rng.choice(len(LATENT), images, p=popularity / popularity.sum())
    place = 0.8 * LATENT[kind] + 0.7 * rng.standard_normal((images, LATENT.shape[1]))
    detail = rng.gamma(4, 0.25, images)
    image_of = np.repeat(np.arange(images), CAPTIONS)
    caption = place[image_of] + 0.6 * rng.standard_normal((images * CAPTIONS, LATENT.shape[1]))
    gains = (np.maximum(0, unit(place) @ unit(caption).T - 0.1) ** 4 * detail[:, None]).astype(np.float32)
    noisy = ((unit(x + 0.9 * rng.standard_normal(x.shape)).astype(np.float32) for x in (place, caption)) for _ in "ab")
    systems = tuple(map(tuple, noisy))
    return World(TestSet.captioned("custom", np.arange(images), np.arange(len(image_of)), image_of), gains, systems)


def one(images: int, number: int) -> pd.DataFrame:
    """By metric and direction: ``value``, ``low``, ``high`` and ``p`` of the comparison of the two systems.

    Positives of the judgements are the written pairs and those of large gain.
    """
    test = draw(images, np.random.default_rng((images, number)))
    positive = test.gains > 0.4
    positive[test.split.image_of, np.arange(positive.shape[1])] = True
    reports = [
        vsebench.evaluate(
            *system, split=test.split, metrics=list(METRICS), gains=[test.gains], similarity="dot",
            judgements={"given": positive}, trust=True, threads=1,
        ) for system in test.systems
    ]  # fmt: skip
    names = [str(m) for m in dict.fromkeys(r.metric for r in reports[0].results)]
    compared = vsebench.compare(reports, metrics=names, correction="none", permutations=1000, resamples=10, threads=1)
    p = {(row["metric"], row["direction"]): row["p"] for row in compared.records("tests")}
    found = {
        f"{METRICS[str(r.metric)]} {r.direction or 'both'}":
            (r.value, *(r.interval or (np.nan, np.nan)), 1.0 if (of := p[str(r.metric), r.direction]) is None else of)
        for r in reports[0].results
    }  # fmt: skip
    return pd.DataFrame.from_dict(found, "index", float, ["value", "low", "high", "p"])


def table(images: int, sets: int, workers: int) -> pd.DataFrame:
    """Every metric at one size: mean ``value``, ``coverage``, and ``level`` (the share of significant tests).

    ``width`` is the mean width of the intervals, relative to 2 x 1.96 standard deviations of the value.
    """
    samples = []
    with ProcessPoolExecutor(workers) as pool:
        for done, found in enumerate(pool.map(partial(one, images), range(sets), chunksize=5), 1):
            samples.append(found)
            if done % 20 == 0:
                print(f"{images} images: {done} of {sets} test sets", file=sys.stderr, flush=True)
    rows = {}
    for name in samples[0].index:
        value, low, high, p = np.array([found.loc[name] for found in samples]).T
        expected, spread = value.mean(), value.std(ddof=1)
        covered = (low <= expected) & (expected <= high)
        width = (high - low).mean() / (2 * 1.96 * spread) if spread else np.nan
        rows[name] = {"value": expected, "coverage": covered.mean(), "width": width, "level": (p <= 0.05).mean()}
    return pd.DataFrame.from_dict(rows, "index")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and store it with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, help="one size of the test sets; default: 200 and 1,000")
    parser.add_argument("--sets", type=int, help="number of test sets; default: 1,000 of 200 images, 400 of 1,000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"store the table in {STORED.name}")
    given = parser.parse_args(arguments)
    sizes = SIZES if given.images is None else {given.images: SIZES.get(given.images, 200)}
    sizes = {n: given.sets or sets for n, sets in sizes.items()}
    tables = {n: table(n, sets, given.workers) for n, sets in sizes.items()}
    for n, shown in tables.items():
        print(f"\n{sizes[n]} test sets of {n} images\n{shown.round(3).to_string()}")
    if given.write:
        rows = {n: shown.to_dict("index") for n, shown in tables.items()}
        document = {"version": vsebench.__version__, "sets": sizes, "rows": rows}
        with write_atomically(STORED, "w") as stream:
            stream.write(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
