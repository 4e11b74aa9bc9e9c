"""``python -m benchmarks NAME...``: measure tasks, or with ``--quick`` compare their values."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace

from vsebench.errors import MissingPackage

from . import run, table
from .inputs import COCO_IMAGES, Inputs
from .task import GROUPS, tasks


def positive(text: str) -> int:
    """An integer from 1, for options; ValueError for anything else."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def chosen(names: list[str]) -> list[str]:
    """The tasks of groups, and single ones, as in ``peers/ranx``; groups whose package is missing are left out."""
    out = []
    for name in names or GROUPS:
        group = name.partition("/")[0]
        if group not in GROUPS:
            sys.exit(f"there are no benchmarks '{name}'; there are {', '.join(GROUPS)}")
        try:
            found = tasks(group)
        except MissingPackage as error:
            print(f"skipped  {group}: {error.what}", file=sys.stderr)
            continue
        if name not in (group, *found):
            sys.exit(f"there is no task '{name}'; there are {', '.join(found)}")
        out += [name] if name in found else found
    return out


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    words = "\n".join(f"  {name:12} {what}" for name, what in GROUPS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog=f"names:\n{words}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="a group, or one of its tasks: peers/ranx")
    parser.add_argument("--quick", action="store_true", help="small sizes, no timing: exit 1 where values differ")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--images", type=positive, default=COCO_IMAGES, help="goals are for 5,000")
    parser.add_argument("--dim", type=positive, nargs="+", default=[Inputs.dim], help="goals are for 1,024")
    parser.add_argument("--repeats", type=positive, default=5, help="at least, unless a minute has passed")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        run.child(given.child)
        return
    names = chosen(given.names)
    if given.quick:
        found = []
        for one in run.check(names):
            found.append(one)
            print(json.dumps(asdict(one)) if given.json else one, flush=True)
        sys.exit(int(any(one.found.differences for one in found)))
    records = [run.run(names, given.images, dim, given.repeats) for dim in given.dim]
    for record in records:
        # a row of a peer has the times of the library with it
        asked = replace(record, rows={name: row for name, row in record.rows.items() if name in names})
        print(json.dumps(asdict(asked), indent=1) if given.json else table.text(record))
    sys.exit(int(any(row.differences for record in records for row in record.rows.values())))


if __name__ == "__main__":
    main()
