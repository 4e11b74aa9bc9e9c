"""Whether a suite that was run again gives the stored numbers, within their stated intervals.

A processor or a version of torch that rounds in another way gives other digits, and training amplifies them. A run has
drifted when more than ``SHARE`` of its numbers are outside the stored 95 % intervals over test images, or when a number
is missing. Measured with the smoke suite: torch and MKL on SSE4 in place of AVX-512 moved 198 of 255 numbers, 3 of
them beyond their interval, one each of three runs of 17 numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ..analysis.systems import load
from ..data.atomic import write_atomically
from ..data.regular import read_bytes
from ..data.run_folder import RESULT, SUMMARY
from ..errors import BadInput
from ..report.faults import faults_of
from ..report.model import Resampling
from .schema import Strict
from .submitted import intervals
from .suites import Suite

SCHEMA: Literal["vsebench/baseline/1"] = "vsebench/baseline/1"
SHARE = 1 / 3


class Stored(Strict):
    """A stored number: metric and direction (None for a sum), value, and the ends of its interval."""

    metric: str
    direction: str | None
    value: float
    low: float
    high: float


class Baseline(Strict):
    """The stored numbers of a suite, by run."""

    schema_: Literal["vsebench/baseline/1"] = Field(alias="schema", default=SCHEMA)
    suite: str
    versions: dict[str, str]
    runs: dict[str, tuple[Stored, ...]]


@dataclass(frozen=True)
class Drift:
    """One number of a run that is not what is stored.

    Attributes:
        run: its name.
        name: metric and direction, or the empty text for a run that is missing.
        stored, found: values; None where there is none.
        low, high: the stored interval.
        beyond: outside the interval, or missing.
    """

    run: str
    name: str
    stored: float | None
    found: float | None
    low: float | None
    high: float | None
    beyond: bool

    @property
    def words(self) -> str:
        """What changed, as a sentence."""
        if self.stored is None:
            return f"{self.run} {self.name}: is not stored".replace(" :", ":")
        if self.found is None:
            return f"{self.run} {self.name}: was not measured".replace(" :", ":")
        ends = f"[{self.low:.6g}, {self.high:.6g}]"
        side = "outside" if self.beyond else "inside"
        return f"{self.run} {self.name}: stored {self.stored:.6g}, found {self.found:.6g}, {side} its interval {ends}"


def measured(folder: Path) -> Baseline:
    """The numbers of a suite that was run, from the reports of its runs: their values are checked with every query.

    Args:
        folder: of the suite, with ``suite.json`` and a folder a run.

    Raises:
        BadInput: no such suite, not complete, or a damaged report.
    """
    path = folder / SUMMARY
    fix = "run it: vsebench train-reference --suite smoke --out FOLDER"
    if not path.exists():
        raise BadInput("no such file", where=path, fix=fix)
    try:
        suite = Suite.model_validate_json(read_bytes(path, fix))
    except ValidationError as error:
        raise BadInput(faults_of(error)[0], where=path, fix="run the suite again") from None
    if not suite.complete:
        raise BadInput("is not complete", where=path, fix="finish the suite: --resume")
    runs = {}
    for name in suite.runs:
        runs[name] = _numbers(folder / name / RESULT)
    return Baseline(suite=suite.suite, versions=suite.versions, runs=runs)


def _numbers(path: Path) -> tuple[Stored, ...]:
    """The numbers of a report with intervals over its images, made here: the reports of suites have none."""
    report = load(path)
    ends = intervals(report, Resampling())
    found = []
    for r in report.results:
        own = ends.get((str(r.metric), r.direction))
        if own is not None:
            low, high = min(own[0], r.value), max(own[1], r.value)
            found.append(Stored(metric=str(r.metric), direction=r.direction, value=r.value, low=low, high=high))
    if not found:
        raise BadInput("has no per-query values to make intervals of", where=path, fix="run the suite again")
    return tuple(found)


def read(path: Path) -> Baseline:
    """The stored numbers of a file; raises BadInput."""
    fix = "store them first: vsebench leaderboard drift FOLDER --update"
    if not path.exists():
        raise BadInput("no such file", where=path, fix=fix)
    try:
        return Baseline.model_validate_json(read_bytes(path, fix))
    except ValidationError as error:
        raise BadInput(faults_of(error)[0], where=path, fix="store them again with --update") from None


def write(baseline: Baseline, path: Path) -> None:
    """Store the numbers of a suite: one a line."""
    lines = []
    for run, values in baseline.runs.items():
        rows = ",\n".join(f"   {json.dumps(_plain(v))}" for v in values)
        lines.append(f"  {json.dumps(run)}: [\n{rows}\n  ]")
    head = f' "schema": {json.dumps(SCHEMA)},\n "suite": {json.dumps(baseline.suite)},\n'
    head += f' "versions": {json.dumps(baseline.versions)},\n "runs": {{\n'
    with write_atomically(path, "w", parents=True) as stream:
        stream.write("{\n" + head + ",\n".join(lines) + "\n }\n}\n")


def _plain(value: Stored) -> dict[str, Any]:
    return {k: round(v, 9) if isinstance(v, float) else v for k, v in value.model_dump().items()}


def compare(stored: Baseline, now: Baseline) -> list[Drift]:
    """Every number that is not the stored one; also what is missing on either side."""
    found: list[Drift] = []
    for run in dict.fromkeys([*stored.runs, *now.runs]):
        if run not in stored.runs or run not in now.runs:
            there = 0.0
            old, new = (None, there) if run not in stored.runs else (there, None)
            found.append(Drift(run, "", old, new, None, None, True))
        else:
            found += _of_run(run, stored.runs[run], now.runs[run])
    return found


def _of_run(run: str, stored: tuple[Stored, ...], now: tuple[Stored, ...]) -> Iterator[Drift]:
    old, new = ({(v.metric, v.direction): v for v in values} for values in (stored, now))
    for key in dict.fromkeys([*old, *new]):
        name = f"{key[0]} ({key[1]})" if key[1] else key[0]
        before, after = old.get(key), new.get(key)
        if before is None or after is None:
            yield Drift(run, name, None if before is None else before.value, None if after is None else after.value,
                        None, None, True)  # fmt: skip
        elif abs(before.value - after.value) > 1e-8:
            beyond = not before.low - 1e-8 <= after.value <= before.high + 1e-8
            yield Drift(run, name, before.value, after.value, before.low, before.high, beyond)


def drifted(found: Sequence[Drift], now: Baseline, share: float = SHARE) -> list[str]:
    """The names of the runs that drifted.

    Args:
        found: from ``compare``.
        now: the suite that was run again.
        share: of the numbers of a run that may be outside their intervals; 0 for none.
    """
    names = []
    for run in dict.fromkeys(d.run for d in found):
        own = [d for d in found if d.run == run and d.beyond]
        missing = any(d.low is None for d in own)
        if missing or len(own) > share * len(now.runs.get(run, ())):
            names.append(run)
    return names
