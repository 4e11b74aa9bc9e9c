"""``python -m benchmarks NAME...``: measure tasks, or with ``--quick`` compare their values."""

from __future__ import annotations

import argparse
import json
import sys

from vsebench.errors import MissingPackage

from . import run, table
from .inputs import COCO_IMAGES, Inputs


def positive(text: str) -> int:
    """An integer from 1, for options; ValueError for anything else."""
    if int(text) < 1:
        raise ValueError
    return int(text)


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


def checked(name: str, found: run.Compared, skipped: str) -> str:
    """A line of ``--quick``."""
    if skipped:
        return f"skipped  {name}: {skipped}"
    if found.differences:
        return f"DIFFERS  {name}: {'; '.join(found.differences)}"
    return (
        f"equal    {name}: {found.numbers:,} numbers, by {found.largest:.1e}" if found.numbers else f"ran      {name}"
    )


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    words = "\n".join(f"  {name:12} {what}" for name, (_, what) in run.GROUPS.items())
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
        run.child(*given.child)
        return
    names, differ = chosen(given.names), False
    if given.quick:
        for name, found, skipped in run.check(names):
            differ |= bool(found.differences)
            line = json.dumps({"name": name, **found._asdict(), "skipped": skipped})
            print(line if given.json else checked(name, found, skipped), flush=True)
        sys.exit(int(differ))
    for dim in given.dim:
        record = run.run(names, given.images, dim, given.repeats)
        differ |= any(row["differences"] for row in record["rows"].values())
        # a row of a peer has the times of the library with it
        asked = {**record, "rows": {name: row for name, row in record["rows"].items() if name in names}}
        print(json.dumps(asked, indent=1) if given.json else table.text(record))
    sys.exit(int(differ))


if __name__ == "__main__":
    main()
