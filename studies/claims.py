"""Whether the claims of the papers hold for the runs of a suite: ``CLAIMS``, the one table, and ``judge``.

    vsebench train-reference --suite small --jobs 2 --out runs/small
    python -m studies.claims runs/small
    cp runs/small/suite.json leaderboards/suites/small.json
    vsebench leaderboard build

The main claims are judged on the suite ``small``, and those of tables of settings on ``ablations``. The verdicts become
part of ``suite.json``, which the leaderboards publish.

A claim has one or more parts; each is a difference between variants, such as the R@1 of mh less that of sh, as means of
both directions, and must be above a limit. The interval of a difference has two sources of error, and its variance is
their sum (two-way random effects):

- seeds: the variance of the differences of the seeds, divided by their number;
- images: the variance over the test images of the mean over seeds, divided by their number. Queries of one image are
  one unit; an image without a query of a metric does not vary. An image as a candidate of other queries is taken as
  fixed.

What differs at random between images and seeds together is in both, so that an interval is rather too wide than too
narrow: in simulations with three seeds and 1,000 images 93 to 99 % of them have the true difference.

The quantile is that of Student's t with the degrees of freedom of Welch and Satterthwaite; tables print the interval of
95 %. Verdicts are read from wider ones, at the levels of Bonferroni (``levels``), because there are many of them:

- A part holds when its interval is above its limit, at the level for all verdicts that the suite has: every claim,
  also where a run of the suite leaves losses out, and those on other data (``ELSEWHERE``). A claim holds when all
  of its parts do.
- It does not hold when an interval is below its limit, at the level for all verdicts and all parts of the claim: a
  claim of many parts has as many chances not to hold. A claim does not hold when one part does not.
- A value counts as equal down to ``EQUAL`` of the other value, the mean of its seeds, whose own error is left out of
  the limit. A difference whose interval of 95 % is below 0 is ``lower`` in any case, and the part does not hold: no
  correction makes two values equal.

Otherwise a claim is undecided; so is every claim with one seed, as no variance of seeds is known.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import vsebench as vb
from train_reference.suites import get_suite
from vsebench.errors import BadInput
from vsebench.evaluation.intervals import column
from vsebench.files.atomic import write_atomically
from vsebench.files.run_folder import RESULT, SUMMARY
from vsebench.results.report import Report
from vsebench.stats.columns import per_image
from vsebench.types import Float

Verdict = Literal["holds here", "does not hold here", "undecided"]
HOLDS: Verdict = "holds here"
FAILS: Verdict = "does not hold here"
OPEN: Verdict = "undecided"
LEVEL = 0.95
ELSEWHERE = 4  # verdicts of leaderboards/suites/small_coco-objects.json, which are published beside those of a suite
EQUAL = 0.95  # of another value: what is lower is not equal
Key = tuple[str, str, int]  # data, variant, seed
SOURCES = ("seeds", "images")  # of errors
COHERENT = "match:CS@100"
EUCLIDEAN = "log_ratio-euclidean"  # as the paper proposes for this loss alone: embeddings are not normalised
SHORT = 16  # dimensions of embeddings that are much shorter
SAMPLERS, TAUS = ("random", "hard", "soft"), (3, 5, 10)  # of SAM


@dataclass(frozen=True)
class Part:
    """A difference between variants that must be above a limit: 0, or what counts as equal.

    Attributes:
        says: what is compared, for a table.
        weights: of the variants; the difference is the weighted sum of their values.
        metric: its name.
        equal: whether a value of at least ``EQUAL`` times that of the variants with negative weights is enough.
    """

    says: str
    weights: tuple[tuple[str, float], ...]
    metric: str
    equal: bool = False


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

    @property
    def facts(self) -> dict[str, str]:
        """What its records begin with."""
        return {"claim": self.name, "paper": self.paper, "says": self.says}


def _less(first: str, second: str, metric: str, equal: bool = False) -> Part:
    return Part(f"{first} - {second}", ((first, 1.0), (second, -1.0)), metric, equal)


def _drop(first: str, second: str, metric: str) -> Part:
    """How much less ``first`` loses with short embeddings than ``second``."""
    short = f"-dim{SHORT}"
    weights = ((first + short, 1.0), (first, -1.0), (second + short, -1.0), (second, 1.0))
    return Part(f"change of {first} - change of {second}, dim 128 to {SHORT}", weights, metric)


def _mean(says: str, more: Iterable[str], less: Iterable[str], metric: str) -> Part:
    """The mean of some variants less that of as many others."""
    first, second = tuple(more), tuple(less)
    weights = [(name, 1 / len(first)) for name in first] + [(name, -1 / len(second)) for name in second]
    return Part(says, tuple(weights), metric)


def _sam(samplers: Iterable[str] = SAMPLERS, taus: Iterable[int] = TAUS, kept: str = "") -> list[str]:
    """The variants of SAM of some samplers and tau: with the triplet, or ``-alone``."""
    return [f"sam-{sampler}-tau={tau}{kept}" for sampler in samplers for tau in taus]


SMALL = (
    Claim(
        "hardest-negative", "VSE++ (BMVC 2018)", "The hardest negative gives higher recall than all negatives",
        (_less("mh", "sh", "R@1"), _less("mh", "sh", "RSum")),
    ),
    Claim(
        "coherent", "Ladder loss (AAAI 2020)", "The ladder raises the coherent score, at equal recall",
        (_less("ladder", "mh", COHERENT), _less("ladder", "mh", "R@1", equal=True)),
    ),
    Claim(
        "little-data", "SAM (WACV 2022)", "The adaptive margin wins with little training data",
        tuple(_less(f"sam-{share}", f"mh-{share}", metric)
              for share in ("3%", "5%", "10%", "25%") for metric in ("RSum", "match:NCS@10")),
    ),
    Claim(
        "ranking-of-all", "BCLS (arXiv 2210.11319)", "BCLS orders the complete gallery better than losses of pairs",
        tuple(_less("bcls", other, metric)
              for other in ("mh", "triplet_sn") for metric in ("match:Kendall", "entails:mAP@R")),
    ),
    Claim(
        "label-distance", "Log-ratio (CVPR 2019)", "The log-ratio loss gives higher nDCG than triplets of labels",
        tuple(_less(EUCLIDEAN, other, "match:nDCG@10") for other in ("dense_triplet", "nearest_triplet")),
    ),
    Claim(
        "short-embeddings", "Log-ratio (CVPR 2019)", "The log-ratio loss loses less with short embeddings",
        tuple(_drop(EUCLIDEAN, other, "match:nDCG@10") for other in ("dense_triplet", "nearest_triplet")),
    ),
)  # fmt: skip
ABLATIONS = (
    Claim(
        "ladder-weight", "Ladder loss (AAAI 2020)", "A larger weight of the second level raises the coherent score",
        (_less("ladder", "ladder-beta2=0", COHERENT), _less("ladder-beta2=1", "ladder", COHERENT)),
    ),
    Claim(
        "ladder-levels", "Ladder loss (AAAI 2020)",
        "A second level raises the coherent score of the first hundred, and a third one keeps it",
        (_less("ladder", "ladder-L=1", COHERENT), _less("ladder-L=3", "ladder", COHERENT, equal=True)),
    ),
    Claim(
        "parts-of-bcls", "BCLS (arXiv 2210.11319)", "Both losses of BCLS together retrieve better than either alone",
        tuple(_less("bcls", other, metric)
              for other in ("triplet_sn", "kendall_sw_hs") for metric in ("RSum", "entails:mAP@R")),
    ),
    Claim(
        "soft-negatives", "SAM (WACV 2022)", "Soft negatives are on average the best for the adaptive margin",
        tuple(_mean(f"soft - {other}, mean over tau", _sam(("soft",)), _sam((other,)), metric)
              for other in ("random", "hard") for metric in ("RSum", "match:NCS@10")),
    ),
    Claim(
        "larger-tau", "SAM (WACV 2022)", "A larger tau, which is a smaller margin, gives higher recall and NCS",
        tuple(_mean("tau 10 - tau 3, mean over samplers", _sam(taus=(10,)), _sam(taus=(3,)), metric)
              for metric in ("RSum", "match:NCS@10")),
    ),
    Claim(
        "kept-triplet", "SAM (WACV 2022)", "The original triplet complements the adaptive margin",
        (_mean("with - without the triplet, mean over samplers and tau", _sam(), _sam(kept="-alone"), "RSum"),),
    ),
    Claim(
        "layout", "Log-ratio (CVPR 2019)", "Images alone: log-ratio gives higher nDCG of layouts than triplets",
        tuple(_less("images-log_ratio", f"images-{other}", "labels:nDCG@10")
              for other in ("dense_triplet", "nearest_triplet")),
    ),
)  # fmt: skip
CLAIMS = {"small": SMALL, "ablations": ABLATIONS}  # by suite


def complete(there: Iterable[tuple[str, str]], claims: tuple[Claim, ...]) -> list[tuple[str, Claim]]:
    """Every claim on every data set that has all of its variants; ``there`` has (data, variant)."""
    found = dict.fromkeys(there)
    return [
        (data, claim)
        for data in dict.fromkeys(data for data, _ in found) for claim in claims
        if all((data, name) in found for part in claim.parts for name, _ in part.weights)
    ]  # fmt: skip


def judge(
    reports: Mapping[Key, Path | Report],
    claims: tuple[Claim, ...],
    verdicts: int,
    degrees: Mapping[tuple[str, str], str] | None = None,
) -> list[dict[str, Any]]:
    """Every claim on every data set that has all of its variants.

    Args:
        reports: of (data, variant, seed) the report with per-query values, or its file.
        claims: which ones.
        verdicts: for how many verdicts the levels are corrected.
        degrees: (data, variant) -> the gains from which its loss takes a degree, see ``suites.gains_of``.

    Returns:
        A record a claim and data set: ``claim``, ``paper``, ``says``, ``data``, ``levels``, ``verdict`` and ``parts``,
        each with ``says``, ``variants``, ``metric``, ``above`` (the limit), ``difference``, ``low``, ``high``
        (fractions, at 95 %; None with one seed), ``variances`` and ``counts`` of seeds and images, from which
        ``decide`` gives the interval at any level, ``seeds`` (the difference of every seed), ``trained`` (the compared
        variants whose loss takes a degree from the gains of the metric), ``lower`` and ``verdict``.

    Raises:
        BadInput: a report lacks a metric, or the reports of a data set are of different images.
    """
    loaded = _loaded(reports)
    out = []
    for data, claim in complete((key[:2] for key in reports), claims):
        at = levels(verdicts, len(claim.parts))
        parts = [_judged(part, data, loaded, at, degrees or {}) for part in claim.parts]
        verdict = together([p["verdict"] for p in parts])
        out.append({**claim.facts, "data": data, "levels": at, "verdict": verdict, "parts": parts})
    return out


def left_out(
    planned: Collection[tuple[str, str]], lost: Mapping[tuple[str, str], list[str]], claims: tuple[Claim, ...]
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
    for data, claim in complete(planned, claims):
        needed = dict.fromkeys((data, name) for part in claim.parts for name, _ in part.weights)
        runs = [name for key in needed for name in lost.get(key, ())]
        if runs:
            out.append({**claim.facts, "data": data, "because": f"{', '.join(runs)} diverged"})
    return out


def levels(verdicts: int, parts: int) -> dict[str, float]:
    """The levels at which a claim of so many parts holds and does not hold, of so many verdicts."""
    return {"holds": 1 - (1 - LEVEL) / verdicts, "fails": 1 - (1 - LEVEL) / (verdicts * parts)}


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


def _judged(
    part: Part, data: str, reports: Mapping[Key, Report], at: dict[str, float], degrees: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """The difference of a part with its interval and its verdict, from numbers as they are stored."""
    metric = part.metric
    names = [name for name, _ in part.weights]
    seeds = sorted(set.intersection(*({s for d, v, s in reports if (d, v) == (data, name)} for name in names)))
    values = {name: np.stack([contributions(reports[data, name, s], metric) for s in seeds]) for name in names}
    differences = np.asarray(sum(weight * values[name] for name, weight in part.weights))
    less = sum(weight * float(values[name].mean()) for name, weight in part.weights if weight < 0)
    above = round((1 - EQUAL) * less, 6) if part.equal else 0.0
    difference, counts = round(float(differences.mean()), 6), (differences.shape[0], differences.shape[1])
    variances = (_variance(differences.mean(axis=1)), _variance(differences.mean(axis=0)))
    ends, _ = decide(difference, variances, counts, LEVEL)
    _, holds = decide(difference, variances, counts, at["holds"], above)
    _, fails = decide(difference, variances, counts, at["fails"], above)
    lower = part.equal and ends is not None and ends[1] < 0
    return {
        "says": part.says, "variants": names, "metric": metric, "above": above, "difference": difference,
        "low": None if ends is None else round(ends[0], 6), "high": None if ends is None else round(ends[1], 6),
        "variances": dict(zip(SOURCES, variances, strict=True)), "counts": dict(zip(SOURCES, counts, strict=True)),
        "seeds": [round(float(d.mean()), 6) for d in differences],
        "trained": [name for name in names if degrees.get((data, name)) == metric.partition(":")[0]],
        "lower": lower, "verdict": FAILS if lower or fails == FAILS else holds if holds == HOLDS else OPEN,
    }  # fmt: skip


def _variance(values: Float) -> float:
    """The variance of a sample; 0 of one value."""
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def decide(
    difference: float, variances: tuple[float, float], counts: tuple[int, int], level: float, above: float = 0.0
) -> tuple[tuple[float, float] | None, Verdict]:
    """The interval of a difference, and what it says of a limit.

    Args:
        difference: the mean over seeds and images.
        variances: over seeds of the means over images, and over images of the means over seeds.
        counts: of seeds and images.
        level: of the interval, such as 0.95.
        above: the limit.

    Returns:
        The ends, None with one seed or image; and whether the interval is above the limit, below it or neither.
    """
    from scipy import stats

    if min(counts) < 2:
        return None, OPEN
    of_seeds, of_images = (variance / count for variance, count in zip(variances, counts, strict=True))
    total, half = of_seeds + of_images, 0.0
    if total > 0:
        freedom = total**2 / (of_seeds**2 / (counts[0] - 1) + of_images**2 / (counts[1] - 1))
        half = float(stats.t.ppf((1 + level) / 2, freedom)) * total**0.5
    low, high = difference - half, difference + half
    return (low, high), HOLDS if low > above else FAILS if high < above else OPEN


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


def study(folder: Path) -> dict[str, Any]:
    """Judge the claims on the runs of a suite, and write them into its summary.

    Args:
        folder: of the suite; all of its runs are finished, or diverged.

    Returns:
        The summary with ``claims`` (``judge``), ``left_out`` and ``verdicts``, for how many the levels are corrected.

    Raises:
        SystemExit: the suite is not complete.
        BadInput: as ``judge``.
    """
    file = folder / SUMMARY
    summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not summary.get("complete"):
        raise SystemExit(f"{folder / SUMMARY} is not complete\n  fix: finish the suite with --resume")
    runs, diverged = summary["runs"], summary["diverged"]
    lost: dict[tuple[str, str], list[str]] = {}
    for name, run in diverged.items():
        lost.setdefault((run["data"], run["variant"]), []).append(name)
    planned = [(run["data"], run["variant"]) for run in (*runs.values(), *diverged.values())]
    there = {name: run for name, run in runs.items() if (run["data"], run["variant"]) not in lost}
    reports = {(run["data"], run["variant"], run["seed"]): folder / name / RESULT for name, run in there.items()}
    degrees = {(run["data"], run["variant"]): run["degree"] for run in there.values()}
    claims = CLAIMS.get(summary["suite"], ())
    whole = complete(((p.config.data.name, p.variant) for p in get_suite(summary["suite"]).runs), claims)
    summary["verdicts"] = len(whole) + ELSEWHERE
    summary["claims"] = judge(reports, claims, summary["verdicts"], degrees)
    summary["left_out"] = left_out(planned, lost, claims)
    with write_atomically(folder / SUMMARY, "w") as stream:
        stream.write(json.dumps(summary, indent=1) + "\n")
    return summary


def main() -> None:
    """Print the verdicts, a line each."""
    parser = argparse.ArgumentParser(prog="studies.claims", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of a suite of vsebench train-reference")
    summary = study(parser.parse_args().folder)
    for one in summary["claims"]:
        print(f"{one['verdict']}: {one['says']} ({one['data']})")
    for one in summary["left_out"]:
        print(f"not judged: {one['says']} ({one['data']}); {one['because']}")


if __name__ == "__main__":
    main()
