"""``python -m benchmarks.ranking``: exact ranking and measuring, against its floor, its goals and its peers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from vsebench.errors import MissingPackage

from . import check, harness, synthetic
from .harness import Usage
from .peers import eccv
from .rows import HEADINGS, Row

GOAL_DIM = 1024  # the goals are stated for this dimension and the full size
QUICK_IMAGES = 500
SAMPLE = 0.05  # share of the queries that the vsepp-style loop is timed on
HELP_GOAL = 0.5
MEMORY_GOAL = 200.0


class Bench:
    """The rows and notes of one run."""

    def __init__(self, arguments: argparse.Namespace, folder: Path):
        self.images = QUICK_IMAGES if arguments.quick else synthetic.COCO_IMAGES
        self.quick, self.full, self.repeats, self.folder = arguments.quick, arguments.full, arguments.repeats, folder
        self.rows: list[Row] = []
        self.notes: list[str] = []

    def goal(self, dim: int, text: str, met: bool) -> tuple[str, bool | None]:
        """The goal where it applies."""
        return (text, met) if dim == GOAL_DIM and not self.quick else ("", None)

    def against_floor(self, what: str, dim: int, usage: Usage, limit: float) -> None:
        """A row that is a multiple of F, and its memory."""
        text, met = self.goal(dim, f"<= {limit:g} F", usage.ratio <= limit)
        cpu_ratio = usage.cpu / usage.floor_cpu if usage.floor_cpu else None
        self.rows.append(Row(what, usage.seconds, usage.cpu, usage.ratio, cpu_ratio, "F", None, text, met))
        if usage.added_mib is not None:
            added = usage.added_mib - usage.code_mib
            text, met = self.goal(dim, f"<= {MEMORY_GOAL:g} MiB", added <= MEMORY_GOAL)
            self.rows.append(Row("  memory over the inputs", mib=added, goal=text, met=met))
            self.rows.append(Row("  beside it, imported modules", mib=usage.code_mib))

    def against_us(
        self, what: str, dim: int, theirs: Usage, ours: Usage, times: float | None, memory: float | None
    ) -> None:
        """A row of a peer, as a multiple of the library's time (and memory)."""
        ratio = theirs.seconds / ours.seconds
        text, met = self.goal(dim, f">= {times:g} x", ratio >= times) if times else ("", None)
        self.rows.append(
            Row(what, theirs.seconds, theirs.cpu, ratio, theirs.cpu / ours.cpu, "x", theirs.added_mib, text, met)
        )
        if memory and theirs.added_mib and ours.added_mib:
            ratio = theirs.added_mib / ours.added_mib
            text, met = self.goal(dim, f">= {memory:g} x", ratio >= memory)
            self.rows.append(Row("  its memory over ours", ratio=ratio, unit="x", goal=text, met=met))


def dimension(bench: Bench, dim: int, peers: bool) -> None:
    """All rows of one dimension."""
    world = synthetic.world(bench.images, dim)
    path = bench.folder / f"embeddings_{dim}.npz"
    world.save(path)
    given = {"path": str(path), "coco": world.coco}
    bench.rows.append(Row(f"-- dim {dim}: {len(world.images):,} x {len(world.captions):,}, inputs {world.mib:.0f} MiB"))
    ranks = harness.in_child("observe", **given, repeats=bench.repeats)
    bench.rows.append(Row("F: float32 product", ranks.floor, ranks.floor_cpu, 1.0, 1.0, "F"))
    bench.against_floor("exact ranks, all R@K, both directions", dim, ranks, 1.3)
    whole = harness.in_child("evaluate", path=str(path), split=world.split_name, repeats=bench.repeats)
    loading = float(whole.detail["loading"])
    bench.rows.append(Row("loading: read, audit, match", loading, float(whole.detail["loading_cpu"])))
    bench.against_floor(f"evaluation, all {whole.detail['metrics']} results", dim, whole, 3.0)
    command_line(bench, world, path)
    if peers:
        against_peers(bench, dim, given, ranks, world.split_name)
    path.unlink()


def command_line(bench: Bench, world: synthetic.World, path: Path) -> None:
    """The real command in fresh processes."""
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
    bench.rows.append(Row("command: vsebench eval --metrics binary", wall, cpu, ratio, None, "F", peak - world.mib))


def _medians(used: list[Usage]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, peak MiB."""
    return (
        statistics.median(u.seconds for u in used),
        statistics.median(u.cpu for u in used),
        statistics.median(u.added_mib or 0.0 for u in used),
    )


def against_peers(bench: Bench, dim: int, given: dict[str, object], ranks: Usage, split: str) -> None:
    """Peers, slowest last."""
    scan = harness.in_child("scan", **given, repeats=0)
    bench.against_us("scan-style: one float32 matrix, argsort", dim, scan, ranks, None, None)
    share = 1.0 if bench.full or bench.quick else SAMPLE
    vsepp = harness.in_child("vsepp", **given, repeats=0, share=share)
    detail = vsepp.detail
    seconds = detail["prepare"] + detail["query"] * detail["scale"]
    scaled = Usage(seconds, vsepp.cpu * seconds / vsepp.seconds, added_mib=vsepp.added_mib)
    name = "vsepp-style: float64, one query at a time"
    if share < 1:
        name += " (E)"
        bench.notes.append(
            f"(E) extrapolated: the vsepp-style loop ran on {share:.0%} of the queries ({vsepp.seconds:.1f} s); "
            "--full runs all of them"
        )
    bench.against_us(name, dim, scaled, ranks, 30, None)
    official(bench, dim, given, split)


def official(bench: Bench, dim: int, given: dict[str, object], split: str) -> None:
    """The eccv_caption package, when it is there and fits."""
    try:
        eccv.official()
    except MissingPackage as error:
        bench.notes.append(f"eccv_caption row left out: {error.what}")
        return
    free = harness.available_gb()
    if not bench.quick and free < eccv.NEEDED_GB:
        bench.notes.append(f"eccv_caption row left out: {free:.1f} GB of memory available, {eccv.NEEDED_GB} GB needed")
        return
    same = {
        "path": given["path"],
        "split": split,
        "repeats": bench.repeats,
        "metrics": eccv.OUR_NAMES if bench.images == 5_000 else "binary",
        "ci": 0,  # the package has no intervals
    }
    # Before and after the peer: it takes minutes, and a shared machine changes its pace in between.
    before = harness.in_child("evaluate", **same)
    found = harness.in_child("eccv", **given, repeats=0)
    after = harness.in_child("evaluate", **same)
    ours_now = dataclasses.replace(
        before, seconds=(before.seconds + after.seconds) / 2, cpu=(before.cpu + after.cpu) / 2
    )
    bench.rows.append(Row("evaluation, the values that eccv_caption has", ours_now.seconds, ours_now.cpu))
    lists, measured = found.detail["lists"], found.detail["measure"]
    bench.against_us("eccv_caption with its dictionaries", dim, found, ours_now, 50, 10)
    bench.notes.append(f"eccv_caption: {lists:.1f} s for rankings and dictionaries, {measured:.1f} s for the metrics")
    if not bench.quick:
        ours = {(m, d): float(v) for m, d, v in after.detail["values"]}
        theirs = {(m, d): float(v) for m, d, v in found.detail["values"]}
        off = [abs(ours[key] - value) for key, value in theirs.items() if key in ours]
        bench.notes.append(f"{len(off)} values of eccv_caption differ from ours by at most {max(off):.1e}")


def help_time(bench: Bench) -> None:
    """How long a person waits for the help text."""
    command = [sys.executable, "-m", "vsebench", "--help"]
    used = [harness.of_command(command) for _ in range(5)]
    wall, cpu, peak = _medians(used)
    met = None if bench.quick else wall < HELP_GOAL
    bench.rows.append(Row("command: vsebench --help", wall, cpu, mib=peak, goal=f"< {HELP_GOAL:g} s", met=met))


def run(arguments: argparse.Namespace) -> Bench:
    """Everything asked for."""
    dims = [64] if arguments.quick else arguments.dim
    with tempfile.TemporaryDirectory(prefix="vsebench-bench-") as folder:
        bench = Bench(arguments, Path(folder))
        for step in _steps(bench, dims, not arguments.no_peers):
            step()
    bench.notes += [
        "F is timed before and after every repetition; ratios are medians over repetitions, in the same process",
        "wall ratios suffer from other load on the machine, CPU ratios less",
        "MiB: peak beyond the vectors and beyond what was resident after the imports (compiled kernels count); "
        "of a command: everything beyond the vectors; of a peer: everything beyond the vectors and numpy",
        "peers run once, sort in one thread, and multiply with all threads of the BLAS; 'x' is their cost over ours",
    ]
    if bench.quick:
        bench.notes.append("quick size: fixed costs dominate, so no goal applies")
    return bench


def _steps(bench: Bench, dims: list[int], peers: bool) -> Iterator[Callable[[], None]]:
    for i, dim in enumerate(dims):
        yield lambda dim=dim, i=i: dimension(bench, dim, peers and i == 0)  # type: ignore[misc]
    yield lambda: help_time(bench)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranking", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, under half a minute; goals do not apply")
    parser.add_argument("--check", action="store_true", help="only compare numbers; exit 1 on a difference")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--dim", type=int, nargs="+", default=[1024, 384], help="dimensions; peers run on the first")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--full", action="store_true", help="run the vsepp-style loop on every query")
    parser.add_argument("--repeats", type=int, default=5, help="timed repetitions of the library's rows")
    arguments = parser.parse_args()
    if arguments.check:
        sys.exit(show_check(arguments.json))
    machine = harness.machine()
    bench = run(arguments)
    if arguments.json:
        rows = [asdict(r) for r in bench.rows]
        print(json.dumps({"machine": machine, "quick": arguments.quick, "rows": rows, "notes": bench.notes}, indent=2))
        return
    print("  ".join(f"{name}: {value}" for name, value in machine.items()))
    print()
    print(harness.table(HEADINGS, [r.cells() for r in bench.rows]))
    print()
    for note in bench.notes:
        print(f"* {note}")


def show_check(as_json: bool) -> int:
    """Print the comparisons; 1 when anything differs."""
    found = check.run()
    if as_json:
        print(json.dumps([asdict(c) for c in found], indent=2))
    else:
        print("\n".join(map(str, found)))
    return int(any(c.differences for c in found))


if __name__ == "__main__":
    main()
