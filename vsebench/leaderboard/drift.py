"""Whether a suite that was run again gives the stored numbers.

The runs of the smoke suite compute in float64 and in one thread. Processors and versions of torch round the last digits
of a product in their own ways. The code for x86 with SSE4, AVX2 and AVX-512 was compared: training amplified the
difference to 1e-11 of a weight, and all numbers were the same; in float32 it reached 0.6 of a weight, and 184 of 255
numbers moved. Other machines were not compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ..analysis.systems import load
from ..data.atomic import write_atomically
from ..data.regular import read_bytes
from ..data.run_folder import RESULT, SUMMARY
from ..errors import BadInput
from ..options import spell
from ..report.schema import faults_of
from .diff import Moved, changed
from .schema import Strict, Value
from .suites import Suite

SCHEMA: Literal["vsebench/baseline/2"] = "vsebench/baseline/2"
M = TypeVar("M", bound=BaseModel)
CLOSE = 1e-6  # numbers that differ by less are the same: sums of the values of queries round too


class Baseline(Strict):
    """The stored numbers of a suite, by run, and what computed them."""

    schema_: Literal["vsebench/baseline/2"] = Field(alias="schema", default=SCHEMA)
    suite: str
    versions: dict[str, str]
    machine: dict[str, Any]
    runs: dict[str, tuple[Value, ...]]


def measured(folder: Path) -> Baseline:
    """The numbers of a suite that was run, from the reports of its runs: their values are checked with every query.

    Args:
        folder: of the suite, with ``suite.json`` and a folder a run.

    Raises:
        BadInput: no such suite, not complete, or a damaged report.
    """
    path = folder / SUMMARY
    fix = "run it: vsebench train-reference --suite smoke --out FOLDER"
    suite = _read(path, Suite, fix, "run the suite again")
    if not suite.complete:
        raise BadInput("is not complete", where=path, fix=f"finish the suite: {spell('resume', True)}")
    runs = {}
    for name in suite.runs:  # the numbers of a report, without their intervals
        found = load(folder / name / RESULT).results
        runs[name] = tuple(Value(metric=str(r.metric), direction=r.direction, value=r.value) for r in found)
    return Baseline(suite=suite.suite, versions=suite.versions, machine=suite.machine, runs=runs)


def read(path: Path) -> Baseline:
    """The stored numbers of a file; raises BadInput."""
    fix = "store them first: vsebench leaderboard drift FOLDER --update"
    return _read(path, Baseline, fix, f"store them again with {spell('update', True)}")


def _read(path: Path, model: type[M], missing: str, again: str) -> M:
    try:
        return model.model_validate_json(read_bytes(path, missing, missing=missing))
    except ValidationError as error:
        raise BadInput(faults_of(error)[0], where=path, fix=again) from None


def write(baseline: Baseline, path: Path) -> None:
    """Store the numbers of a suite: one a line."""
    lines = []
    for run, values in baseline.runs.items():
        plain = [{"metric": v.metric, "direction": v.direction, "value": round(v.value, 9)} for v in values]
        rows = ",\n".join(f"   {json.dumps(one)}" for one in plain)
        lines.append(f"  {json.dumps(run)}: [\n{rows}\n  ]")
    head = f' "schema": {json.dumps(SCHEMA)},\n "suite": {json.dumps(baseline.suite)},\n'
    head += f' "versions": {json.dumps(baseline.versions)},\n "machine": {json.dumps(baseline.machine)},\n "runs": {{\n'
    with write_atomically(path, "w", parents=True) as stream:
        stream.write("{\n" + head + ",\n".join(lines) + "\n }\n}\n")


def compare(stored: Baseline, now: Baseline) -> list[Moved]:
    """Every number that is not the stored one, with the name of its run as id; one without a metric is of a run that is
    missing on either side."""
    found: list[Moved] = []
    for run in dict.fromkeys([*stored.runs, *now.runs]):
        if run in stored.runs and run in now.runs:
            found += changed(run, stored.runs[run], now.runs[run], CLOSE)
        else:
            old, new = (0.0 if run in one.runs else None for one in (stored, now))
            found.append(Moved(run, "", None, old, new))
    return found


def words(moved: Moved) -> str:
    """What changed, as a sentence."""
    what = f"{moved.id} {moved.name}".strip()
    if moved.old is None:
        return f"{what}: is not stored"
    if moved.new is None:
        return f"{what}: was not measured"
    return f"{what}: stored {moved.old:.6g}, found {moved.new:.6g}"


def conditions(stored: Baseline, now: Baseline) -> list[str]:
    """What the stored numbers were computed with that is other now, a phrase each."""
    old, new = ({**one.versions, **one.machine} for one in (stored, now))
    return [f"{key} was {old[key]}, is {new.get(key)}" for key in old if old[key] != new.get(key)]
