"""``python -m benchmarks.ranking``: exact ranking and measuring, compared with its floor, its goals and its peers."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from vsebench.errors import MissingPackage

from . import check, harness, synthetic
from .bench import Bench, Row, parser, positive, print_comparisons
from .harness import Usage
from .peers import eccv

GOAL_DIM = 1024  # the goals are stated for this dimension and the full size
QUICK_IMAGES = 500
SAMPLE = 0.05  # fraction of the queries that the vsepp-style loop is timed on
HELP_GOAL = 0.5  # seconds


def dimension(bench: Bench, dim: int, folder: Path, peers: bool, full: bool) -> None:
    """Add all rows of one dimension."""
    bench.goals = dim == GOAL_DIM and not bench.quick
    world = synthetic.world(bench.images, dim)
    path = folder / f"embeddings_{dim}.npz"
    world.save(path)
    given = {"path": str(path), "coco": world.coco}
    bench.add(Row(f"-- dim {dim}: {len(world.images):,} x {len(world.captions):,}, inputs {world.mib:.0f} MiB"))
    ranks = harness.in_child("observe", **given, repeats=bench.repeats)
    bench.floor(ranks)
    with_memory(bench, "exact ranks, all R@K, both directions", ranks, 1.3)
    evaluation = harness.in_child("evaluate", path=str(path), split=world.split_name, repeats=bench.repeats)
    detail = evaluation.detail
    bench.add(Row("loading: read, audit, match", float(detail["loading"]), float(detail["loading_cpu"])))
    with_memory(bench, f"evaluation, all {detail['metrics']} results", evaluation, 1.5)
    command_line(bench, world, path)
    if peers:
        against_peers(bench, given, ranks, full)
        official(bench, given, world.split_name)
    path.unlink()


def with_memory(bench: Bench, what: str, usage: Usage, limit: float) -> None:
    """Add a row as a multiple of F, and its memory."""
    bench.against_floor(what, usage, limit)
    if usage.added_mib is not None:
        bench.memory("  memory over the inputs", usage.added_mib - usage.code_mib)
        bench.add(Row("  beside it, imported modules", mib=usage.code_mib))


def command_line(bench: Bench, world: synthetic.World, path: Path) -> None:
    """Add a row of the command ``vsebench eval`` in fresh processes."""
    floor = harness.Floor(world.images, world.captions)
    command = [sys.executable, "-m", "vsebench", "eval", str(path), "--split", world.split_name]
    command += ["--metrics", "binary", "--json", "--quiet"]
    used, ratios = [], []
    for _ in range(1 if bench.quick else 3):
        before = floor.measure()[0]
        used.append(harness.of_command(command))
        ratios.append(2 * used[-1].seconds / (before + floor.measure()[0]))
    wall, cpu, peak = _medians(used)
    ratio = statistics.median(ratios)
    bench.add(Row("command: vsebench eval --metrics binary", wall, cpu, ratio, None, "F", peak - world.mib))


def _medians(used: list[Usage]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, peak MiB."""
    return (
        statistics.median(u.seconds for u in used),
        statistics.median(u.cpu for u in used),
        statistics.median(u.added_mib or 0.0 for u in used),
    )


def against_peers(bench: Bench, given: dict[str, Any], ranks: Usage, full: bool) -> None:
    """Add rows of the simple peers, the slowest last."""
    scan = harness.in_child("scan", **given, repeats=0)
    bench.against_us("scan-style: one float32 matrix, argsort", scan, ranks)
    fraction = 1.0 if full or bench.quick else SAMPLE
    vsepp = harness.in_child("vsepp", **given, repeats=0, fraction=fraction)
    detail = vsepp.detail
    seconds = detail["prepare"] + detail["query"] * detail["scale"]
    scaled = Usage(seconds, vsepp.cpu * seconds / vsepp.seconds, added_mib=vsepp.added_mib)
    name = "vsepp-style: float64, one query at a time"
    if fraction < 1:
        name += " (E)"
        bench.notes.append(
            f"(E) extrapolated: the vsepp-style loop ran on {fraction:.0%} of the queries ({vsepp.seconds:.1f} s); "
            "--full runs all of them"
        )
    bench.against_us(name, scaled, ranks, 30)


def official(bench: Bench, given: dict[str, Any], split: str) -> None:
    """Add a row of the eccv_caption package, if it is installed and its memory is available."""
    try:
        eccv.official()
    except MissingPackage as error:
        bench.notes.append(f"eccv_caption row left out: {error.what}")
        return
    free = harness.available_gb()
    if not bench.quick and free < eccv.NEEDED_GB:
        bench.notes.append(f"eccv_caption row left out: {free:.1f} GB of memory available, {eccv.NEEDED_GB} GB needed")
        return
    metrics = eccv.OUR_NAMES if bench.images == synthetic.COCO_IMAGES else "binary"
    same = {
        "path": given["path"],
        "split": split,
        "repeats": bench.repeats,
        "metrics": metrics,
        "ci": 0,
    }  # no intervals
    # Before and after the peer, which takes minutes: the load of a shared machine changes in between.
    before = harness.in_child("evaluate", **same)
    found = harness.in_child("eccv", **given, repeats=0)
    after = harness.in_child("evaluate", **same)
    seconds, cpu = (before.seconds + after.seconds) / 2, (before.cpu + after.cpu) / 2
    bench.add(Row("evaluation, the values that eccv_caption has", seconds, cpu))
    lists, measured = found.detail["lists"], found.detail["measure"]
    ours = dataclasses.replace(before, seconds=seconds, cpu=cpu)
    bench.against_us("eccv_caption with its dictionaries", found, ours, 50, 10)
    bench.notes.append(f"eccv_caption: {lists:.1f} s for rankings and dictionaries, {measured:.1f} s for the metrics")
    if not bench.quick:
        values, theirs = ({(m, d): float(v) for m, d, v in u.detail["values"]} for u in (after, found))
        off = [abs(values[key] - value) for key, value in theirs.items() if key in values]
        bench.notes.append(f"{len(off)} values of eccv_caption differ from ours by at most {max(off):.1e}")


def help_time(bench: Bench) -> None:
    """Add a row of the time of the help text."""
    bench.goals = not bench.quick
    wall, cpu, peak = _medians([harness.of_command([sys.executable, "-m", "vsebench", "--help"]) for _ in range(5)])
    bench.add(Row("command: vsebench --help", wall, cpu, mib=peak), f"< {HELP_GOAL:g} s", wall < HELP_GOAL)


def main() -> None:
    """Command line."""
    options = parser("ranking", __doc__, 5)
    options.add_argument(
        "--dim", type=positive, nargs="+", default=[1024, 384], help="dimensions; peers run on the first"
    )
    options.add_argument("--no-peers", action="store_true", help="leave the peers out")
    options.add_argument("--full", action="store_true", help="run the vsepp-style loop on every query")
    arguments = options.parse_args()
    if arguments.check:
        sys.exit(print_comparisons(check.run(), arguments.json))
    quick = arguments.quick
    bench = Bench(QUICK_IMAGES if quick else synthetic.COCO_IMAGES, arguments.repeats, quick)
    with tempfile.TemporaryDirectory(prefix="vsebench-bench-") as folder:
        for i, dim in enumerate([64] if quick else arguments.dim):
            dimension(bench, dim, Path(folder), not arguments.no_peers and i == 0, arguments.full)
        help_time(bench)
    bench.notes += [
        "F is timed before and after every repetition; ratios are medians over repetitions, in the same process",
        "other load on the machine affects wall ratios more than CPU ratios",
        "MiB: peak beyond the vectors and beyond what was resident after the imports (compiled kernels count); "
        "of a command: everything beyond the vectors; of a peer: everything beyond the vectors and numpy",
        "peers run once, sort in one thread, and multiply with all threads of the BLAS; 'x' is their cost over ours",
    ]
    bench.notes += ["quick size: fixed costs dominate, so no goal applies"] if quick else []
    bench.print(arguments.json)


if __name__ == "__main__":
    main()
