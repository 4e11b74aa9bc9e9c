"""Suites of the reference trainer: their summaries (``suite.json``) as entries of level reproduced, and the claims."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import count_of
from .benchmarks import slug
from .schema import Entry, Model, Value

LEVEL = 0.95
TRAINED = "trained by vsebench train-reference with the loss {}"
OBJECTS = "coco-objects"
# What a model reads of an image: as ``data.features`` of its run says, else by its data (``train_reference.sources``).
FEATURES = {"pixels": "pixels", "regions": "region features", "vectors": "vectors"}
IMAGES = {OBJECTS: "object annotations", "scenes-10k": FEATURES["regions"]}


class _Open(BaseModel):
    """A part of a file that another program writes: further fields are ignored."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, populate_by_name=True)


class Run(_Open):
    """One run: its values are means of both directions, fractions as fractions."""

    data: str
    variant: str
    loss: str
    seed: int
    epochs: int
    seconds: float
    values: dict[str, float]
    signature: str
    config: dict[str, Any]


class Part(_Open):
    """A difference of a claim, see ``train_reference.claims``."""

    says: str
    metric: str
    above: float
    difference: float
    low: float | None
    high: float | None
    seeds: tuple[float, ...]
    verdict: str


class Claim(_Open):
    """A claim of a paper on some data, with its verdict."""

    claim: str
    paper: str
    says: str
    data: str
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


def entries_of(suite: Suite) -> list[Entry]:
    """One entry a data set and variant: means over the seeds, with their interval where there are several."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in suite.runs.values():
        groups.setdefault((run.data, run.variant), []).append(run)
    return [_entry(suite, data, variant, runs) for (data, variant), runs in groups.items()]


def _entry(suite: Suite, data: str, variant: str, runs: list[Run]) -> Entry:
    runs = sorted(runs, key=lambda run: run.seed)
    shared = [name for name in runs[0].values if all(name in run.values for run in runs)]
    values = []
    for name in shared:
        mean, ends = over_seeds([run.values[name] for run in runs])
        direction: Literal["mean"] | None = None if name.rpartition(":")[2] in ("RSum", "Nsum", "NsumN") else "mean"
        values.append(Value(metric=name, direction=direction, value=mean, interval=ends))
    seeds = ", ".join(str(run.seed) for run in runs)
    split = re.search(r"split:([^|#]+)", runs[0].signature)
    first = runs[0]
    facts = {
        "suite": suite.suite, "data": data, "loss": first.loss, "seeds": seeds,
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
    command = f"vsebench train-reference --suite {suite.suite} --out runs/suite-{suite.suite}"
    if data == OBJECTS:  # a suite runs on it only where its files are named
        command += " --data coco-objects:FILE --set data.images=FILE"
    return Entry(
        id=slug(f"{suite.suite} {data} {variant}".replace("%", "pc")), level="reproduced",
        model=Model(name=variant, image_input=image_input(first), description=TRAINED.format(first.loss)),
        benchmark=split[1] if split else data, signature=first.signature, values=tuple(values), facts=facts,
        reproduce=(command,),
        notes=(f"Means of both directions{'' if len(runs) == 1 else f' and of {len(runs)} seeds'}.",),
    )  # fmt: skip


def image_input(run: Run) -> str:
    """What the model of a run reads of an image; empty where it is not known."""
    data = run.config.get("data")
    stated = str(data.get("features")) if isinstance(data, dict) else ""
    return FEATURES.get(stated, IMAGES.get(run.data, ""))


def over_seeds(values: list[float]) -> tuple[float, tuple[float, float] | None]:
    """The mean over seeds with its interval of Student's t (95 %); None with one seed.

    The interval is of the seeds alone: the test images are the same for all of them.
    """
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, None
    from scipy import stats

    low, high = (q * stats.sem(values) + mean for q in stats.t.interval(LEVEL, len(values) - 1))  # equal: no spread
    return round(mean, 6), (round(float(low), 6), round(float(high), 6))
