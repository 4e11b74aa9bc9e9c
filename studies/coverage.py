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

import vsebench
from vsebench import Report, Split

STORED = Path(__file__).resolve().parent.parent / "docs" / "coverage.json"
SIZES = {200: 1000, 1000: 400}  # images of a test set -> number of test sets
CAPTIONS = 5
BINARY = ("R@1", "R@5", "R@10", "RSum", "MRR", "MeanR", "eccv:R@1", "eccv:Recall@10", "eccv:R-P", "eccv:mAP@R")
GRADED = (
    "cider:NCS@1", "cider:NCS@10", "cider:Nsum", "cider:NCS[gt=out]@10", "cider:NsumN", "cider:SR@1", "cider:SR@10",
    "cider:R@1", "cider:R@10", "cider:nDCG@10", "cider:CS@100", "cider:CS[captions=all]@100", "cider:Kendall",
)  # fmt: skip
OURS = {"eccv:": "given:", "cider:": "matrix:"}  # the views of judgements and of gains that are given
LATENT = np.random.default_rng(11).standard_normal((60, 24))  # kinds of images
Array = npt.NDArray[Any]


class TestSet(NamedTuple):
    """One sample: its split, (image, caption) float32 gains, and (images, captions) of equally good systems."""

    split: Split
    gains: Array
    systems: tuple[tuple[Array, Array], ...]


def draw(images: int, rng: np.random.Generator) -> TestSet:
    """A fresh test set with two systems."""

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
    return TestSet(Split("custom", np.arange(images), np.arange(len(image_of)), image_of), gains, systems)


def evaluate(test: TestSet, system: int) -> Report:
    """All metrics of one system, with intervals; positives are the written pairs and those of large gain."""
    positive = test.gains > 0.4
    positive[test.split.image_of, np.arange(positive.shape[1])] = True
    return vsebench.evaluate(
        *test.systems[system], split=test.split, metrics=[_renamed(name, OURS) for name in (*BINARY, *GRADED)],
        gains=[test.gains], similarity="dot", judgements={"given": positive}, trust=True, threads=1,
    )  # fmt: skip


def _renamed(name: str, views: dict[str, str]) -> str:
    for old, new in views.items():
        name = name.replace(old, new)
    return name


def one(images: int, number: int) -> dict[str, tuple[float, float, float, float]]:
    """Metric and direction -> value, ends of the interval, and p-value of the comparison of the two systems."""
    test = draw(images, np.random.default_rng((images, number)))
    first, second = (evaluate(test, system) for system in (0, 1))
    names = [str(m) for m in dict.fromkeys(r.metric for r in first.results)]
    compared = vsebench.compare(
        [first, second], metrics=names, correction="none", permutations=1000, resamples=10, threads=1
    )

    def name(metric: Any, direction: str | None) -> str:
        return f"{_renamed(str(metric), {new: old for old, new in OURS.items()})} {direction or 'both'}"

    rows = [compared.rows[t.row] for t in compared.tests]
    p = {name(row.metric, row.direction): t.p for row, t in zip(rows, compared.tests, strict=True)}
    found = {}
    for r in first.results:
        key = name(r.metric, r.direction)
        found[key] = r.value, *(r.interval or (np.nan, np.nan)), 1.0 if p[key] is None else float(p[key])
    return found


def table(images: int, sets: int, workers: int) -> dict[str, dict[str, float]]:
    """Coverage, width and level of every metric at one size."""
    every: list[dict[str, tuple[float, float, float, float]]] = []
    with ProcessPoolExecutor(workers) as pool:
        for done, found in enumerate(pool.map(partial(one, images), range(sets), chunksize=5), 1):
            every.append(found)
            if done % 20 == 0:
                print(f"{images} images: {done} of {sets} test sets", file=sys.stderr, flush=True)
    rows = {}
    for name in every[0]:
        value, low, high, p = np.array([found[name] for found in every]).T
        expected, spread = value.mean(), value.std(ddof=1)
        rows[name] = {
            "value": float(expected),
            "coverage": float(((low <= expected) & (expected <= high)).mean()),
            "width": float((high - low).mean() / (2 * 1.96 * spread)) if spread else float("nan"),
            "level": float((p <= 0.05).mean()),
        }
    return rows


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
    found = {n: table(n, sets, given.workers) for n, sets in sizes.items()}
    for n, rows in found.items():
        print(f"\n{sizes[n]} test sets of {n} images")
        print(f"{'metric':34s} {'value':>7s} {'coverage':>9s} {'width':>6s} {'level':>6s}")
        for name, row in rows.items():
            print(f"{name:34s} {row['value']:7.3f} {row['coverage']:9.1%} {row['width']:6.2f} {row['level']:6.1%}")
    if given.write:
        sets, rows = ({str(n): x for n, x in by.items()} for by in (sizes, found))
        document = {"version": vsebench.__version__, "sets": sets, "rows": rows}
        STORED.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
