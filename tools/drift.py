"""``python -m tools.drift FOLDER [--update]``: whether a suite that was run again gives the stored numbers.

The runs of the smoke suite compute in float64 and in one thread. Processors and versions of torch round the last digits
of a product in their own ways. The code for x86 with SSE4, AVX2 and AVX-512 was compared: training amplified the
difference to 1e-11 of a weight, and all numbers were the same; in float32 it reached 0.6 of a weight, and 184 of 255
numbers moved. Other machines were not compared. ``--update`` stores the numbers instead.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import vsebench as vb

STORED = Path(__file__).resolve().parents[1] / "leaderboards" / "baselines"
CLOSE = 1e-6  # numbers that differ by less are the same: sums of the values of queries round too


def measured(folder: Path) -> dict[str, Any]:
    """The numbers of a suite by run, and what computed them; a report is checked with its queries when it is read."""
    file = folder / "suite.json"
    if not file.is_file():
        raise SystemExit(f"{file} is not there\n  fix: run python -m studies.suites NAME --out {folder}")
    about = json.loads(file.read_text(encoding="utf-8"))
    reports = {run: vb.load(folder / run / "result.json") for run in about["runs"]}
    runs = {run: {key: round(value, 9) for key, value in found.to_dict().items()} for run, found in reports.items()}
    return {"suite": about["suite"], "versions": about["versions"], "machine": about["machine"], "runs": runs}


def moved(stored: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """A sentence for every number that is not the stored one, or that only one side has."""
    for run in dict.fromkeys([*stored["runs"], *now["runs"]]):
        old, new = (side["runs"].get(run, {}) for side in (stored, now))
        for key in dict.fromkeys([*old, *new]):
            if key not in old:
                yield f"{run} {key}: is not stored"
            elif key not in new:
                yield f"{run} {key}: was not measured"
            elif not abs(old[key] - new[key]) <= CLOSE:
                yield f"{run} {key}: stored {old[key]:.6g}, found {new[key]:.6g}"


def main(arguments: list[str]) -> int:
    """Compare, or store; returns 1 where a number moved or is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.drift")
    parser.add_argument("folder", type=Path, help="of a suite of studies.suites")
    parser.add_argument("--update", action="store_true", help="store the numbers of this run")
    given = parser.parse_args(arguments)
    now = measured(given.folder)
    path = STORED / f"{now['suite']}.json"
    if given.update:
        path.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    elif not path.is_file():
        raise SystemExit(f"{path} does not exist\n  fix: store the numbers with --update")
    stored = json.loads(path.read_text(encoding="utf-8"))
    found = list(moved(stored, now))
    before, after = ({**one["versions"], **one["machine"]} for one in (stored, now))
    if found:
        found += [f"{key} was {before[key]}, is {after.get(key)}" for key in before if before[key] != after.get(key)]
    print("\n".join(found) or "no number moved")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
