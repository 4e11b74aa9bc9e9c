"""Whether the claims of the papers (the tables ``claims`` of ``studies/runs``) hold for the runs of a suite.

    python -m studies.suites small --jobs 2 --out runs/small
    python -m studies.claims runs/small
    cp runs/small/suite.json leaderboards/suites/small.json
    python -m leaderboards build

A claim has one or more parts. Each is a difference between variants, such as the R@1 of mh less that of sh, as means of
both directions, and must be above a limit. The variance of a difference is the sum of two (two-way random effects): the
variance of the differences of the seeds, and the variance over the test images of the mean over seeds, each divided by
their number. Queries of one image are one unit (``suites.per_image``). What differs at random between images and seeds
together is in both, so intervals are rather too wide: in simulations with three seeds and 1,000 images 93 to 99 % of
them have the true difference. The quantile is Student's t with the degrees of freedom of Welch and Satterthwaite.

Verdicts are read from wider intervals than those of 95 % that tables print, at the levels of Bonferroni:

- A part holds when its interval is above its limit, at the level for all verdicts of the suite and those on other data
  (``ELSEWHERE``). A claim holds when all of its parts do.
- It does not hold when an interval is below its limit, at the level for all verdicts and all parts of the claim. A
  claim does not hold when one part does not.
- A value counts as equal down to ``EQUAL`` of the other value, the mean of its seeds. A difference whose interval of
  95 % is below 0 is ``lower`` in any case, and the part does not hold.

Otherwise a claim is undecided; so is every claim with one seed, as no variance of seeds is known.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import vsebench as vb
from train_reference.config import read_toml
from vsebench.errors import BadInput, VsebenchError
from vsebench.types import Float

from .suites import RESULT, SUMMARY, TABLES, get_suite, per_image, write_summary

HOLDS, FAILS, OPEN = "holds here", "does not hold here", "undecided"
LEVEL = 0.95
ELSEWHERE = 4  # verdicts of leaderboards/suites/small_coco-objects.json, which are published beside those of a suite
EQUAL = 0.95  # of another value: what is lower is not equal
Key = tuple[str, str, int]  # data, variant, seed
Claims = Mapping[str, tuple["Part", ...]]  # by name
SOURCES = ("seeds", "images")  # of errors


@dataclass(frozen=True)
class Part:
    """A difference between variants that must be above a limit: 0, or what counts as equal."""

    says: str  # what is compared, for a table
    weights: tuple[tuple[str, float], ...]  # of the variants; the difference is the weighted sum of their values
    metric: str
    equal: bool = False  # whether ``EQUAL`` times the value of the variants with negative weights is enough


def variants_of(parts: Iterable[Part]) -> list[str]:
    """The variants that are compared in any part."""
    return list(dict.fromkeys(variant for part in parts for variant, _ in part.weights))


def claims_of(suite: str) -> dict[str, tuple[Part, ...]]:
    """The claims of a suite, from its table."""
    table = read_toml(TABLES / f"{suite}.toml").get("claims", {})
    return {name: tuple(map(part_of, texts)) for name, texts in table.items()}


def part_of(text: str) -> Part:
    """A part as tables write it: ``mh - sh: R@1``, ``ladder = mh: R@1``, ``WORDS | a,b - c,d: METRIC``."""
    words, _, rest = text.rpartition("|")
    expression, _, metric = (piece.strip() for piece in rest.partition(": "))
    terms = re.split(r"\s([-+=])\s", f" + {expression}")[1:]
    weights = []
    for sign, variants in zip(terms[::2], terms[1::2], strict=True):
        names = [name.strip() for name in variants.split(",")]
        weights += [(name, (1 if sign == "+" else -1) / len(names)) for name in names]
    equal = "=" in terms[::2]
    return Part(words.strip() or expression.replace(" = ", " - "), tuple(weights), metric, equal)


def complete(there: Iterable[tuple[str, str]], claims: Claims) -> list[tuple[str, str]]:
    """(data, claim) of every claim on every data set that has all of its variants; ``there`` has (data, variant)."""
    found: dict[str, set[str]] = {}
    for data, variant in there:
        found.setdefault(data, set()).add(variant)
    return [
        (data, name) for data in found for name, parts in claims.items() if found[data].issuperset(variants_of(parts))
    ]


def judge(
    reports: Mapping[Key, vb.Report],
    claims: Claims,
    verdicts: int,
    degrees: Mapping[tuple[str, str], str] | None = None,
) -> list[dict[str, Any]]:
    """Every claim on every data set that has all of its variants, at levels that are corrected for so many verdicts.

    Args:
        reports: of (data, variant, seed) the report with per-query values.
        claims: which ones.
        verdicts: how many.
        degrees: (data, variant) -> the gains from which its loss takes a degree, see ``suites.gains_of``.

    Returns:
        A record a claim and data set: ``claim``, ``data``, ``levels``, ``verdict`` and ``parts``, each with ``says``,
        ``variants``, ``metric``, ``above`` (the limit), ``difference``, ``low``, ``high`` (fractions, at 95 %; None
        with one seed), ``variances`` and ``counts`` of seeds and images, from which ``decide`` gives the interval at
        any level, ``seeds`` (the difference of every seed), ``trained`` (the compared variants whose loss takes a
        degree from the gains of the metric), ``lower`` and ``verdict``.

    Raises:
        BadInput: a report lacks a metric, or the reports of a data set are of different images.
    """
    first: dict[str, Any] = {}
    for key, report in reports.items():
        ids = None if report.items is None else report.items.rows.ids
        if ids is None or not np.array_equal(first.setdefault(key[0], ids), ids):
            where = "/".join(map(str, key))
            raise BadInput("has no per-query values, or other test images", where=where, fix="run the suite again")
    out = []
    for data, name in complete((key[:2] for key in reports), claims):
        parts = claims[name]
        levels = {"holds": 1 - (1 - LEVEL) / verdicts, "fails": 1 - (1 - LEVEL) / (verdicts * len(parts))}
        found = [_judged(part, data, reports, levels, degrees or {}) for part in parts]
        verdict = together([part["verdict"] for part in found])
        out.append({"claim": name, "data": data, "levels": levels, "verdict": verdict, "parts": found})
    return out


def together(verdicts: list[str]) -> str:
    """The verdict of a claim from those of its parts."""
    return FAILS if FAILS in verdicts else HOLDS if all(v == HOLDS for v in verdicts) else OPEN


def _judged(
    part: Part, data: str, reports: Mapping[Key, vb.Report], levels: dict[str, float], degrees: Mapping[Any, str]
) -> dict[str, Any]:
    """The difference of a part with its interval and its verdict, from numbers as they are stored."""
    metric, names = part.metric, [name for name, _ in part.weights]
    seeds = sorted(set.intersection(*({s for d, v, s in reports if (d, v) == (data, name)} for name in names)))
    values = {name: np.stack([contributions(reports[data, name, s], metric) for s in seeds]) for name in names}
    differences = np.asarray(sum(weight * values[name] for name, weight in part.weights))
    less = sum(weight * float(values[name].mean()) for name, weight in part.weights if weight < 0)
    above = round((1 - EQUAL) * less, 6) if part.equal else 0.0
    difference, counts = round(float(differences.mean()), 6), differences.shape
    means = differences.mean(axis=1), differences.mean(axis=0)
    variances = tuple(float(d.var(ddof=1)) if len(d) > 1 else 0.0 for d in means)
    ends, _ = decide(difference, variances, counts, LEVEL)
    holds, fails = (decide(difference, variances, counts, levels[name], above)[1] for name in ("holds", "fails"))
    low, high = (None, None) if ends is None else (round(end, 6) for end in ends)
    lower = part.equal and ends is not None and ends[1] < 0
    return {
        "says": part.says, "variants": names, "metric": metric, "above": above, "difference": difference,
        "low": low, "high": high,
        "variances": dict(zip(SOURCES, variances, strict=True)), "counts": dict(zip(SOURCES, counts, strict=True)),
        "seeds": [round(float(d.mean()), 6) for d in differences],
        "trained": [name for name in names if degrees.get((data, name)) == metric.partition(":")[0]],
        "lower": lower, "verdict": FAILS if lower or fails == FAILS else holds if holds == HOLDS else OPEN,
    }  # fmt: skip


def decide(
    difference: float, variances: tuple[float, ...], counts: tuple[int, ...], level: float, above: float = 0.0
) -> tuple[tuple[float, float] | None, str]:
    """The interval of a difference, None with one seed or image; and whether it is above a limit, below it or neither.

    ``variances`` are over seeds, of the means over images, and over images, of the means over seeds.
    """
    if min(counts) < 2:
        return None, OPEN
    of_seeds, of_images = (variance / count for variance, count in zip(variances, counts, strict=True))
    total, half = of_seeds + of_images, 0.0
    if total > 0:
        freedom = total**2 / (of_seeds**2 / (counts[0] - 1) + of_images**2 / (counts[1] - 1))
        half = float(stats.t.ppf((1 + level) / 2, freedom)) * total**0.5
    low, high = difference - half, difference + half
    return (low, high), HOLDS if low > above else FAILS if high < above else OPEN


def contributions(report: vb.Report, metric: str) -> Float:
    """(image,) numbers whose mean is the value of a metric: its mean over directions, or a sum."""
    ways = list(dict.fromkeys(r.direction for r in (*report.results, *report.parts) if str(r.metric) == metric))
    if not ways:
        fix = "evaluate it with the metrics of the suite"
        raise BadInput(f"has no values of {metric}", where=report.split, fix=fix)
    return np.asarray(np.mean([per_image(report, metric, way) for way in ways], axis=0))


def study(folder: Path) -> dict[str, Any]:
    """Judge the claims on the runs of a finished suite, and write them into its summary.

    Returns:
        The summary with ``claims`` (``judge``), ``left_out`` and ``verdicts``, for how many the levels are corrected.

    Raises:
        SystemExit: the suite is not finished.
        BadInput: as ``judge``.
    """
    file = folder / SUMMARY
    if not file.is_file():
        raise SystemExit(f"{file} is not there\n  fix: run python -m studies.suites NAME --out {folder}")
    summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    lost: dict[tuple[str, str], list[str]] = {}
    for name, run in summary["diverged"].items():
        lost.setdefault((run["data"], run["variant"]), []).append(name)
    runs = {name: (run["data"], run["variant"]) for name, run in summary["runs"].items()}
    there = {name: (key, summary["runs"][name]) for name, key in runs.items() if key not in lost}
    reports = {(*key, run["seed"]): vb.load(folder / name / RESULT) for name, (key, run) in there.items()}
    claims = claims_of(summary["suite"])
    whole = complete(((p.config.data.name, p.variant) for p in get_suite(summary["suite"]).runs), claims)
    summary["verdicts"] = len(whole) + ELSEWHERE
    degrees = {key: run["degree"] for key, run in there.values()}
    summary["claims"] = judge(reports, claims, summary["verdicts"], degrees)
    summary["left_out"] = [
        {"claim": name, "data": data, "because": f"{', '.join(gone)} diverged"}
        for data, name in complete((*runs.values(), *lost), claims)
        if (gone := [run for variant in variants_of(claims[name]) for run in lost.get((data, variant), ())])
    ]
    write_summary(summary, folder)
    return summary


def main() -> None:
    """Print the verdicts, a line each."""
    parser = argparse.ArgumentParser(prog="python -m studies.claims", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of a suite of studies.suites")
    try:
        summary = study(parser.parse_args().folder)
    except VsebenchError as error:
        raise SystemExit(str(error)) from None
    for one in summary["claims"]:
        print(f"{one['verdict']}: {one['claim']} ({one['data']})")
    for one in summary["left_out"]:
        print(f"not judged: {one['claim']} ({one['data']}); {one['because']}")


if __name__ == "__main__":
    main()
