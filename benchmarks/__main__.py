"""``python -m benchmarks NAME...``: measure tasks, or with ``--quick`` compare their values."""

from __future__ import annotations

import argparse
import json
import sys

from vsebench.errors import MissingPackage

from . import run, table
from .inputs import COCO_IMAGES, Inputs


def chosen(names: list[str]) -> list[str]:
    """The tasks of groups, and single ones, as in ``peers/ranx``; groups whose package is missing are left out."""
    out = []
    for name in names or run.GROUPS:
        group = name.partition("/")[0]
        if group not in run.GROUPS:
            sys.exit(f"there are no benchmarks '{name}'; there are {', '.join(run.GROUPS)}")
        try:
            found = run.tasks(group)
        except MissingPackage as error:
            print(f"skipped  {group}: {error.what}", file=sys.stderr)
            continue
        if name not in (group, *found):
            sys.exit(f"there is no task '{name}'; there are {', '.join(found)}")
        out += [name] if name in found else found
    return out


def check(names: list[str]) -> bool:
    """Print a line for every task: whether its values are the same as those of the library; False if some differ."""
    equal = True
    for row in run.rows_of(names, *run.QUICK, repeats=1, quick=True):
        name, differences = row["name"], row["differences"]
        if row["left_out"]:
            line = f"skipped  {name}: {row['left_out']}"
        elif differences:
            line = f"DIFFERS  {name}: {'; '.join(differences)}"
        elif row["numbers"]:
            line = f"equal    {name}: {row['numbers']:,} numbers, by {row['largest']:.1e}"
        else:
            line = f"ran      {name}"
        print(line, flush=True)
        equal &= not differences
    return equal


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    words = "\n".join(f"  {name:12} {what}" for name, (_, what) in run.GROUPS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog=f"names:\n{words}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="a group, or one of its tasks: peers/ranx")
    parser.add_argument("--quick", action="store_true", help="small sizes, no timing: exit 1 where values differ")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    parser.add_argument("--images", type=int, default=COCO_IMAGES, help="goals are for 5,000")
    parser.add_argument("--dim", type=int, nargs="+", default=[Inputs.dim], help="goals are for 1,024")
    parser.add_argument("--repeats", type=int, default=5, help="at least, unless a minute has passed")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if min(given.images, given.repeats, *given.dim) < 1:
        parser.error("--images, --dim and --repeats are 1 or more")
    if given.child:
        run.child(*given.child)
        return
    names = chosen(given.names)
    equal = check(names) if given.quick else True
    for dim in () if given.quick else given.dim:
        record = run.run(names, given.images, dim, given.repeats)
        equal &= not any(row["differences"] for row in record["rows"].values())
        # a row of a peer has the times of the library with it
        asked = {**record, "rows": {name: row for name, row in record["rows"].items() if name in names}}
        print(json.dumps(asked, indent=1) if given.json else table.text(record))
    sys.exit(int(not equal))


if __name__ == "__main__":
    main()
