"""Whether the main claims of the papers hold for the runs of a suite: ``CLAIMS``, the one table, and ``judge``.

A claim has one or more parts; each is a difference between variants, such as the R@1 of mh less that of sh, as means of
both directions, and must be above a limit. The interval of a difference has two sources of error, and its variance is
their sum (two-way random effects):

- seeds: the variance of the differences of the seeds, divided by their number;
- images: the variance over the test images of the mean over seeds, divided by their number. Queries of one image are
  one unit; an image without a query of a metric does not vary. An image as a candidate of other queries is taken as
  fixed.

What differs at random between images and seeds together is in both, so that an interval is rather too wide than too
narrow: in simulations with three seeds and 1,000 images 93 to 99 % of them have the true difference.

The quantile is that of Student's t with the degrees of freedom of Welch and Satterthwaite. A part holds when its
interval is above the limit. It does not hold when an interval at the level of Bonferroni, with the number of parts, is
below it: a claim of many parts has as many chances not to hold. A claim holds when all parts do, does not hold when one
part does not, and is undecided otherwise. With one seed no variance of seeds is known, and every claim is undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import vsebench as vb
from vsebench.errors import BadInput
from vsebench.evaluation.intervals import column
from vsebench.report.report import Report
from vsebench.stats.columns import per_image
from vsebench.types import Float

from .suites import SMALL_DIM, measures

Verdict = Literal["holds here", "does not hold here", "undecided"]
HOLDS: Verdict = "holds here"
FAILS: Verdict = "does not hold here"
OPEN: Verdict = "undecided"
LEVEL = 0.95
EQUAL = 0.02  # R@1 that is at most this much lower counts as equal
Key = tuple[str, str, int]  # data, variant, seed


@dataclass(frozen=True)
class Part:
    """A difference between variants that must be above a limit.

    Attributes:
        says: what is compared, for a table.
        weights: of the variants; the difference is the weighted sum of their values.
        metric: by its word, see ``suites.Measures.of``.
        above: the limit, as a fraction; of RSum as the sum of six fractions.
    """

    says: str
    weights: tuple[tuple[str, float], ...]
    metric: str
    above: float = 0.0


@dataclass(frozen=True)
class Claim:
    """The main claim of a paper.

    Attributes:
        name: short.
        paper: where it is claimed.
        says: in one sentence.
        parts: all of which must hold.
    """

    name: str
    paper: str
    says: str
    parts: tuple[Part, ...]


def _less(first: str, second: str, metric: str, above: float = 0.0) -> Part:
    return Part(f"{first} - {second}", ((first, 1.0), (second, -1.0)), metric, above)


def _drop(first: str, second: str, metric: str) -> Part:
    """How much less ``first`` loses with short embeddings than ``second``."""
    short = f"-dim{SMALL_DIM}"
    weights = ((first + short, 1.0), (first, -1.0), (second + short, -1.0), (second, 1.0))
    return Part(f"change of {first} - change of {second}, dim 128 to {SMALL_DIM}", weights, metric)


CLAIMS = (
    Claim(
        "hardest-negative", "VSE++ (BMVC 2018)", "The hardest negative gives higher recall than all negatives",
        (_less("mh", "sh", "R@1"), _less("mh", "sh", "RSum")),
    ),
    Claim(
        "coherent", "Ladder loss (AAAI 2020)", "The ladder raises the coherent score, at equal recall",
        (_less("ladder", "mh", "graded:CS"), _less("ladder", "mh", "R@1", above=-EQUAL)),
    ),
    Claim(
        "little-data", "SAM (WACV 2022)", "The adaptive margin wins with little training data",
        tuple(_less(f"sam-{share}", f"mh-{share}", metric)
              for share in ("3%", "5%", "10%", "25%") for metric in ("RSum", "graded:NCS@10")),
    ),
    Claim(
        "ranking-of-all", "BCLS (arXiv 2210.11319)", "BCLS orders the complete gallery better than losses of pairs",
        tuple(_less("bcls", other, metric)
              for other in ("mh", "triplet_sn") for metric in ("graded:Kendall", "complete")),
    ),
    Claim(
        "label-distance", "Log-ratio (CVPR 2019)", "The log-ratio loss gives higher nDCG than triplets of labels",
        tuple(_less("log_ratio", other, "graded:nDCG@10") for other in ("dense_triplet", "nearest_triplet")),
    ),
    Claim(
        "short-embeddings", "Log-ratio (CVPR 2019)", "The log-ratio loss loses less with short embeddings",
        tuple(_drop("log_ratio", other, "graded:nDCG@10") for other in ("dense_triplet", "nearest_triplet")),
    ),
)  # fmt: skip


def judge(reports: Mapping[Key, Path | Report], claims: tuple[Claim, ...] = CLAIMS) -> list[dict[str, Any]]:
    """Every claim on every data set that has all of its variants.

    Args:
        reports: of (data, variant, seed) the report with per-query values, or its file.
        claims: which ones.

    Returns:
        A record a claim and data set: ``claim``, ``paper``, ``says``, ``data``, ``verdict`` and ``parts``, each with
        ``says``, ``metric``, ``above``, ``difference``, ``low``, ``high`` (fractions, None with one seed), ``seeds``
        (the difference of every seed) and ``verdict``.

    Raises:
        BadInput: a report lacks a metric, or the reports of a data set are of different images.
    """
    loaded = _loaded(reports)
    out = []
    for data in dict.fromkeys(key[0] for key in reports):
        there = {variant for found, variant, _ in reports if found == data}
        for claim in claims:
            if all(name in there for part in claim.parts for name, _ in part.weights):
                parts = [_judged(part, data, loaded, len(claim.parts)) for part in claim.parts]
                out.append({
                    "claim": claim.name, "paper": claim.paper, "says": claim.says, "data": data,
                    "verdict": together([p["verdict"] for p in parts]), "parts": parts,
                })  # fmt: skip
    return out


def left_out(
    planned: Collection[tuple[str, str]], lost: Mapping[tuple[str, str], list[str]], claims: tuple[Claim, ...] = CLAIMS
) -> list[dict[str, Any]]:
    """The claims that cannot be judged because runs are lost.

    Args:
        planned: (data, variant) of all runs.
        lost: (data, variant) -> the names of its runs that diverged.
        claims: which ones.

    Returns:
        A record a claim and data set: ``claim``, ``paper``, ``says``, ``data`` and ``because``.
    """
    out = []
    for data in dict.fromkeys(data for data, _ in sorted(planned)):
        for claim in claims:
            needed = dict.fromkeys((data, name) for part in claim.parts for name, _ in part.weights)
            runs = [name for key in needed for name in lost.get(key, ())]
            if runs and all(key in planned for key in needed):
                out.append({
                    "claim": claim.name, "paper": claim.paper, "says": claim.says, "data": data,
                    "because": f"{', '.join(runs)} diverged",
                })  # fmt: skip
    return out


def together(verdicts: list[Verdict]) -> Verdict:
    """The verdict of a claim from those of its parts."""
    if FAILS in verdicts:
        return FAILS
    return HOLDS if all(v == HOLDS for v in verdicts) else OPEN


def _loaded(reports: Mapping[Key, Path | Report]) -> dict[Key, Report]:
    """The reports, which have the same images where they are of the same data; raises BadInput."""
    found: dict[Key, Report] = {}
    first: dict[str, Any] = {}
    for key, given in reports.items():
        found[key] = given if isinstance(given, Report) else vb.load(given)
        items, where = found[key].items, "/".join(map(str, key))
        if items is None:
            raise BadInput("has no per-query values", where=where, fix="run the suite again")
        if not np.array_equal(first.setdefault(key[0], items.image_ids), items.image_ids):
            raise BadInput("is of other test images", where=where, fix="run the suite again")
    return found


def _judged(part: Part, data: str, reports: Mapping[Key, Report], parts: int) -> dict[str, Any]:
    """The difference of a part with its interval; ``parts`` is the number of those of its claim."""
    metric = measures(data).of(part.metric)
    names = [name for name, _ in part.weights]
    seeds = sorted(set.intersection(*({s for d, v, s in reports if (d, v) == (data, name)} for name in names)))
    differences = np.stack([
        sum(weight * contributions(reports[data, name, seed], metric) for name, weight in part.weights)
        for seed in seeds
    ])  # fmt: skip
    mean, ends = interval(differences)
    _, wide = interval(differences, 1 - (1 - LEVEL) / parts)
    verdict = OPEN
    if ends is not None and ends[0] > part.above:
        verdict = HOLDS
    elif wide is not None and wide[1] < part.above:
        verdict = FAILS
    return {
        "says": part.says, "metric": metric, "above": part.above, "difference": round(mean, 6),
        "low": None if ends is None else round(ends[0], 6), "high": None if ends is None else round(ends[1], 6),
        "seeds": [round(float(d.mean()), 6) for d in differences], "verdict": verdict,
    }  # fmt: skip


def interval(differences: Float, level: float = LEVEL) -> tuple[float, tuple[float, float] | None]:
    """The mean of differences (seed, image) and its interval over seeds and images; None with one seed or image."""
    from scipy import stats

    mean = float(differences.mean())
    n_seeds, n_images = differences.shape
    if n_seeds < 2 or n_images < 2:
        return mean, None
    of_seeds = float(differences.mean(axis=1).var(ddof=1)) / n_seeds
    of_images = float(differences.mean(axis=0).var(ddof=1)) / n_images
    total = of_seeds + of_images
    if total == 0:
        return mean, (mean, mean)
    freedom = total**2 / (of_seeds**2 / (n_seeds - 1) + of_images**2 / (n_images - 1))
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * total**0.5
    return mean, (mean - half, mean + half)


def contributions(report: Report, metric: str) -> Float:
    """(image,) numbers whose mean is the value of a metric: its mean over directions; of RSum their sum of recalls.

    An image adds to the value of a direction how far its queries are from it, as a share of all queries. One without a
    query of the metric adds nothing: its number is the value itself, and not 0, which would be as far from the others
    as the worst query.
    """
    if metric == "RSum":
        parts = [_of_directions(report, f"R@{k}") for k in (1, 5, 10)]
        return np.asarray(2 * np.sum(parts, axis=0), np.float64)
    return _of_directions(report, metric)


def _of_directions(report: Report, metric: str) -> Float:
    found = [r for r in (*report.results, *report.parts) if str(r.metric) == metric]
    found = list({r.direction: r for r in found}.values())
    items = report.items
    if not found or items is None:
        raise BadInput(
            f"has no values of {metric}", where=report.split, fix="evaluate it with the metrics of the suite"
        )
    total = np.zeros(len(items.image_ids))
    for result in found:
        if result.queries is None or result.per_query is None:
            raise BadInput(f"has no per-query values of {metric}", where=report.split, fix="run the suite again")
        sums, queries = per_image(column(result, items), len(total))
        value = sums.sum() / queries.sum()
        total += value + (sums - value * queries) * (len(total) / queries.sum())
    return np.asarray(total / len(found))
