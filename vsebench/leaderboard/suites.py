"""Suites of the reference trainer: their summaries (``suite.json``) as entries of level reproduced, and the claims.

The interval of a reproduced number has two sources of error, and its variance is their sum: that of the seeds, divided
by their number, and that over the test images, which is not divided, as they are the same for all seeds. What differs
at random between images and seeds together is in both, so that an interval is rather too wide.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import statistics
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import count_of
from ..evaluation.intervals import Key as ResultKey
from ..evaluation.intervals import column, key_of, population
from ..relevance.sources import LABELS
from ..results.model import Result
from ..results.report import Report
from ..results.table import Value
from ..stats.columns import standard_error
from ..types import DIRECTIONS, Direction
from .benchmarks import slug
from .facts import facts
from .schema import Entry, Key, Model, Side, number

Spread = tuple[float, float | None]  # a value of a run, with its standard error over test images
LEVEL = 0.95
INTERVALS = "intervals"  # the fact of an entry that says what they are of, or ``NONE`` and why there are none
NONE = "none: "
ONE_SEED = "one seed gives no interval"
NO_SPREAD = "the summary of the suite has no spread over test images, and seeds alone would give too short intervals"
TRAINED = "trained by vsebench train-reference with the loss {}"
OBJECTS = "coco-objects"
# What a model reads of an image: as ``data.features`` of its run says, else by its data (``train_reference.sources``).
FEATURES = {"pixels": "pixels", "regions": "region features", "vectors": "vectors"}
CHANGED = (  # settings of the runs on objects that are not those of a single run, beside the loss
    ("data", "first"), ("model", "similarity"), ("train", "epochs"), ("train", "patience"), ("train", "decay_every"),
    ("train", "threads"), ("train", "seed"),
)  # fmt: skip
IMAGES = {OBJECTS: "object annotations", "scenes-10k": FEATURES["regions"]}


class _Open(BaseModel):
    """A part of a file that another program writes: further fields are ignored."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, populate_by_name=True)


class RunResult(_Open):
    """A result of a run: ``spread`` is its standard error over test images, None where it is not known."""

    metric: str
    direction: Direction | None
    value: float
    spread: float | None = Field(default=None, ge=0)


class Run(_Open):
    """One run: its values are means of both directions, fractions as fractions; ``results`` has every direction."""

    data: str
    variant: str
    loss: str
    seed: int
    epochs: int
    seconds: float
    values: dict[str, float]
    results: tuple[RunResult, ...] = ()
    signature: str
    config: dict[str, Any]


class Part(_Open):
    """A difference of a claim, see ``studies.claims``; ``variants`` are those that are compared, where it has them."""

    says: str
    variants: tuple[str, ...] = ()
    metric: str
    above: float
    difference: float
    low: float | None
    high: float | None
    seeds: tuple[float, ...]
    trained: tuple[str, ...]
    lower: bool
    verdict: str


class Claim(_Open):
    """A claim of a paper on some data, with its verdict."""

    claim: str
    paper: str
    says: str
    data: str
    levels: dict[str, float]
    verdict: str
    parts: tuple[Part, ...]


class LeftOut(_Open):
    """A claim that cannot be judged on some data."""

    claim: str
    data: str
    because: str


class Suite(_Open):
    """The summary of a suite."""

    schema_: Literal["vsebench/suite/1"] = Field(alias="schema")
    suite: str
    complete: bool
    started: str
    seeds: tuple[int, ...]
    notes: tuple[str, ...] = ()
    versions: dict[str, str]
    machine: dict[str, Any]
    python: str
    seconds: float
    runs: dict[str, Run]
    claims: tuple[Claim, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def results_of(report: Report) -> list[dict[str, Any]]:
    """The numbers of a report as ``results`` of its run in a summary.

    The spread of a mean, and of a sum of means, is over test images as queries: an image as a candidate of the queries
    of other images is taken as fixed.
    """
    known = {key_of(r): r for r in (*report.results, *report.parts)}

    def spread(result: Result) -> float | None:
        metric = key_of(result)[0]
        parts: list[ResultKey] = [(part, d) for part in metric.parts() for d in DIRECTIONS] or [key_of(result)]
        found = [known[key] for key in parts if key in known and known[key].per_query is not None]
        split = report.items
        if split is None or len(found) < len(parts) or metric.family.aggregate == "floor-median":
            return None
        return round(standard_error([column(r, split) for r in found], population(split)), 9)

    return [
        {"metric": str(r.metric), "direction": r.direction, "value": round(r.value, 6), "spread": spread(r)}
        for r in report.results
    ]


def entries_of(suite: Suite) -> list[Entry]:
    """One entry a data set and variant: means over the seeds, with intervals where both sources of error are known."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in suite.runs.values():
        groups.setdefault((run.data, run.variant), []).append(run)
    return [_entry(suite, data, variant, runs) for (data, variant), runs in groups.items()]


def _entry(suite: Suite, data: str, variant: str, runs: list[Run]) -> Entry:
    runs = sorted(runs, key=lambda run: run.seed)
    values = {key: _value(key, numbers) for key, numbers in _numbers(runs).items()}
    seeds, several = ", ".join(str(run.seed) for run in runs), len(runs) > 1
    known = f"95 %, over {len(runs)} seeds and the test images as queries"
    if any(value.interval is None for value in values.values()):
        known = NONE + (NO_SPREAD if several else ONE_SEED)
    first = runs[0]
    provenance = {
        "suite": suite.suite, "data": data, "loss": first.loss, "seeds": seeds,
        INTERVALS: known,
        "epochs": ", ".join(dict.fromkeys(str(run.epochs) for run in runs)),
        "training time": f"{sum(run.seconds for run in runs):.0f} s for {count_of(len(runs), 'run')}",
        "versions": ", ".join(f"{name} {version}" for name, version in suite.versions.items()),
        "Python": suite.python,
        "machine": ", ".join(f"{key} {value}" for key, value in suite.machine.items()),
        "begun": suite.started,
    } | {
        f"{part}.{key}": str(value)
        for part, settings in first.config.items() if isinstance(settings, dict)
        for key, value in settings.items()
        if not (part == "train" and key == "seed") and value not in ("", None)
    }  # fmt: skip
    return Entry(
        id=slug(f"{suite.suite} {data} {variant}".replace("%", "pc")), level="reproduced",
        model=Model(name=variant, setting=setting(first), image_input=image_input(first),
                    description=TRAINED.format(first.loss), reproduce=_commands(suite, first),
                    notes=(f"Means of {len(runs)} seeds.",) if several else ()),
        benchmark=_benchmark(first), signature=first.signature, values=values, facts=provenance,
    )  # fmt: skip


def _benchmark(run: Run) -> str:
    """The test set of a run; that of images alone has the name of its data."""
    if f"|{LABELS}:" in run.signature:
        return f"{run.data}-images"
    split = re.search(r"split:([^|#]+)", run.signature)
    return split[1] if split else run.data


def _commands(suite: Suite, run: Run) -> tuple[str, ...]:
    """The suite again; of objects, which it no longer has, the data and one run with the settings that differ."""
    if run.data != OBJECTS:
        return (f"vsebench train-reference --suite {suite.suite} --out runs/suite-{suite.suite}",)
    folder, loss = f"runs/{run.variant}", run.config["loss"]
    given = {
        **{f"{part}.{key}": run.config[part][key] for part, key in CHANGED},
        **{f"loss.{key}": value for key, value in loss.items() if key not in ("name", "fingerprint", "settings")},
        **{f"loss.settings.{key}": value for key, value in loss["settings"].items()},
    }
    words = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    settings = " ".join(f"--set {key}={shlex.quote(word)}" for key, word in words.items())
    return (
        f"python -m studies.coco_objects {run.config['data']['images']} dataset_coco.json {OBJECTS}",
        f"vsebench train-reference --loss {run.loss} --data {OBJECTS} --out {folder} {settings}",
        f"vsebench eval {folder} --metrics {','.join(run.values)}",
    )


def _numbers(runs: list[Run]) -> dict[Key, list[Spread]]:
    """What all runs have, one a run; of summaries without ``results`` the means of both directions."""
    found: dict[Key, list[Spread]] = {}
    complete = all(run.results for run in runs)
    for run in runs:
        if complete:
            for one in run.results:
                found.setdefault((one.metric, one.direction), []).append((one.value, one.spread))
        else:
            for name, value in run.values.items():
                side: Side | None = None if name.rpartition(":")[2] in ("RSum", "Nsum", "NsumN") else "mean"
                found.setdefault((name, side), []).append((value, None))
    return {key: numbers for key, numbers in found.items() if len(numbers) == len(runs)}


def _value(key: Key, numbers: list[Spread]) -> Value:
    """The mean over the runs, with an interval inside the range of the metric."""
    mean, ends = estimate([value for value, _ in numbers], [spread for _, spread in numbers])
    if ends is not None:
        known = facts(key[0])
        ends = (max(known.low, ends[0]), ends[1] if known.high is None else min(known.high, ends[1]))
    return number(key, mean, ends)


def setting(run: Run) -> str:
    """What is unusual in the training data of a run; empty where nothing is."""
    data = run.config.get("data")
    share = data.get("first", 1) if isinstance(data, dict) else 1
    parts = ["object labels"] if run.data == OBJECTS else []
    parts += [f"{100 * share:.3g} % of training captions"] if isinstance(share, int | float) and share < 1 else []
    return ", ".join(parts)


def image_input(run: Run) -> str:
    """What the model of a run reads of an image; empty where it is not known."""
    data = run.config.get("data")
    stated = str(data.get("features")) if isinstance(data, dict) else ""
    return FEATURES.get(stated, IMAGES.get(run.data, ""))


def estimate(values: list[float], spreads: list[float | None]) -> tuple[float, tuple[float, float] | None]:
    """The mean over seeds with its interval (95 %) over seeds and test images; None where a source of error is unknown.

    The quantile is that of Student's t with the degrees of freedom of Welch and Satterthwaite, those of the images
    taken as infinite.
    """
    mean, known = sum(values) / len(values), [spread for spread in spreads if spread is not None]
    if len(values) < 2 or len(known) < len(values):
        return mean, None
    from scipy import stats

    of_seeds = statistics.variance(values) / len(values)
    total = of_seeds + sum(spread**2 for spread in known) / len(known)
    ratio = total / of_seeds if of_seeds else math.inf
    half = float(stats.t.ppf((1 + LEVEL) / 2, (len(values) - 1) * ratio * ratio)) * math.sqrt(total)
    return round(mean, 6), (round(mean - half, 6), round(mean + half, 6))
