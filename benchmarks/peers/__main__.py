"""``python -m benchmarks.peers``: other implementations of the same metrics, on the same inputs."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import harness, synthetic
from ..bench import Bench, Row, parser, positive, print_comparisons
from ..check import Comparison
from ..harness import Usage
from . import document
from .compare import Compared, compare
from .inputs import Inputs, Outcome
from .table import PEERS, Peer

QUICK_IMAGES, CHECK_IMAGES, DIM, QUICK_DIM = 500, 300, 1024, 64
RUNS, SHORT = 3, 60.0  # a peer runs so often where it takes fewer seconds, and once otherwise
CHECK_FRACTION = 0.2  # of the queries of peers that are slow


def missing(peer: Peer, quick: bool) -> str:
    """Why a peer cannot be measured here, or an empty string."""
    for module in peer.modules:
        if importlib.util.find_spec(module) is None:
            return f"module '{module}' is not installed"
    free = harness.available_gb()
    if peer.needed_gb and not quick and free < peer.needed_gb:
        return f"{free:.1f} GB of memory available, {peer.needed_gb:g} GB needed"
    return ""


def installed(peer: Peer) -> str:
    """The version of its package, empty for loops and where it is not known."""
    try:
        return version(peer.package) if peer.package else ""
    except PackageNotFoundError:
        return ""


def check(peer: Peer, world: synthetic.World) -> Comparison:
    """Compare all values that a peer can compute, without timing."""
    given = Inputs(world, CHECK_FRACTION if peer.fraction < 1 else 1.0, thorough=True)
    name = f"{peer.name}: {peer.computes}"
    if reason := missing(peer, quick=True):
        return Comparison(name, 0, skipped=reason)
    return compare(peer, given, peer.ours(given)().values, peer.work(given)().values).named(name)


def checks(names: list[str]) -> list[Comparison]:
    """Compare every peer on small inputs."""
    world = synthetic.world(CHECK_IMAGES, QUICK_DIM)
    return [check(PEERS[name], world) for name in names]


def child(options: dict[str, Any]) -> Usage:
    """Measure one side of one row in this process: its memory and values in the first run, then repetitions."""
    peer, out = PEERS[options["peer"]], Path(options["out"])
    world = synthetic.load(Path(options["path"]), options["coco"])
    if peer.needed_gb and options["side"] == "theirs":
        _limit_memory(1.2 * peer.needed_gb)
    given = Inputs(world, options["fraction"])
    work = (peer.ours if options["side"] == "ours" else peer.work)(given)
    before = harness.resident_mib()
    harness.forget_peak()
    wall, cpu, outcome = harness.timed(work)
    peak = harness.resident_mib(peak=True)
    np.savez(out, **{name: np.asarray(value) for name, value in outcome.values.items()})
    times = [(wall, cpu)]
    while options["side"] == "theirs" and wall < SHORT and len(times) < RUNS:
        times.append(harness.timed(work)[:2])
    usage = Usage(*sorted(times)[len(times) // 2])
    if options["repeats"]:
        usage = harness.interleaved(work, harness.Floor(world.images, world.captions), options["repeats"])
    added = None if before is None or peak is None else peak - before
    return dataclasses.replace(usage, added_mib=added, detail=_extrapolation(outcome))


def _limit_memory(gigabytes: float) -> None:
    """Make allocations beyond it fail in this process, without affecting others."""
    import resource

    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _extrapolation(outcome: Outcome) -> dict[str, float]:
    return {"scale": outcome.scale, "fixed": outcome.fixed}


def extrapolated(usage: Usage) -> Usage:
    """The cost of all queries."""
    scale, fixed = usage.detail["scale"], usage.detail["fixed"]
    seconds = fixed + (usage.seconds - fixed) * scale
    return dataclasses.replace(usage, seconds=seconds, cpu=usage.cpu * seconds / usage.seconds)


def measure(peer: Peer, world: synthetic.World, path: Path, quick: bool, repeats: int) -> document.Measured:
    """One row: the library, the peer, the comparison of their values, and F around the peer."""
    given = Inputs(world, 1.0 if quick else peer.fraction)
    shared = {"peer": peer.name, "path": str(path), "coco": world.coco, "fraction": given.fraction}
    files = {side: path.with_name(f"{side}.npz") for side in ("ours", "theirs")}
    ours, theirs = (
        Usage(**harness.child("peers", "--child", json.dumps({**shared, "side": side, "out": str(file), "repeats": n})))
        for (side, file), n in zip(files.items(), (repeats, 0), strict=True)
    )
    found = _compared(peer, given, files)
    scale = theirs.detail["scale"]
    theirs = extrapolated(theirs)
    return document.Measured(
        peer.name, peer.package, installed(peer), theirs.seconds, theirs.cpu,
        theirs.added_mib if scale == 1 else None, ours.seconds, ours.cpu, ours.added_mib, ours.floor, ours.floor_cpu,
        1 / scale, found.numbers, found.largest, found.differences,
    )  # fmt: skip


def _compared(peer: Peer, given: Inputs, files: dict[str, Path]) -> Compared:
    with np.load(files["ours"]) as ours, np.load(files["theirs"]) as theirs:
        return compare(peer, given, dict(ours), dict(theirs))


def table(names: list[str], images: int, dim: int, quick: bool, repeats: int) -> document.Record:
    """All rows; those whose values differ have no times."""
    record = document.Record(harness.machine(), document.versions(), images, dim, quick)
    with tempfile.TemporaryDirectory(prefix="vsebench-peers-") as folder:
        world = synthetic.world(images, dim)
        path = Path(folder) / "embeddings.npz"
        world.save(path)
        for name in names:
            if reason := missing(PEERS[name], quick):
                record.left_out[name] = reason
                continue
            print(f"measuring {name}", file=sys.stderr, flush=True)
            try:
                record.rows.append(measure(PEERS[name], world, path, quick, repeats))
            except RuntimeError as error:
                record.left_out[name] = str(error).strip().splitlines()[-1]
    return record


def show(record: document.Record, as_json: bool) -> None:
    """Print the record: two lines a row, the library and the peer."""
    if as_json:
        print(document.text(record), end="")
        return
    bench = Bench(record.images, 0, record.quick, goals=not record.quick)
    for r in record.rows:
        peer = PEERS[r.name]
        bench.add(Row(f"-- {r.name}: {peer.computes}"))
        bench.against_floor("  vsebench", r.library)
        what = f"  {r.name}{' (E)' if r.measured < 1 else ''}"
        if r.differences:
            bench.add(Row(f"{what}: values differ, no time"))
        else:
            bench.against_us(what, r.peer, r.library, peer.goal or 0, peer.memory_goal or 0)
        bench.notes.append(f"{r.name}: {r.numbers:,} numbers compared, largest difference {r.largest:.1e}")
        bench.notes += [f"DIFFERS: {line}" for line in r.differences]
    bench.notes += [f"{name} left out: {reason}" for name, reason in record.left_out.items()]
    bench.notes += [f"(E) {document.EXTRAPOLATED}", document.MEMORY]
    bench.notes += ["quick size: fixed costs dominate, so no goal applies"] if record.quick else []
    bench.print(as_json=False)


def main() -> None:
    """Command line."""
    options = parser("peers", __doc__, 3)
    options.add_argument("--only", nargs="+", choices=list(PEERS), metavar="PEER", help=f"of {', '.join(PEERS)}")
    options.add_argument("--dim", type=positive, help=f"dimension, default {DIM} (--quick {QUICK_DIM})")
    options.add_argument("--write", action="store_true", help=f"write docs/{document.STORED.name} and the page of it")
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        harness.report_usage(child(json.loads(given.child)))
        return
    names = given.only or list(PEERS)
    if given.write and (given.quick or given.check or given.only or given.dim not in (None, DIM)):
        options.error("--write needs the complete table: leave out --quick, --check, --only and --dim")
    found = checks(names)  # values before times
    if given.check or any(c.differences for c in found):
        sys.exit(print_comparisons(found, given.json))
    images = QUICK_IMAGES if given.quick else synthetic.COCO_IMAGES
    dim = given.dim or (QUICK_DIM if given.quick else DIM)
    record = table(names, images, dim, given.quick, given.repeats)
    show(record, given.json)
    if any(r.differences for r in record.rows):
        sys.exit(1)
    if given.write:
        document.write(record)


if __name__ == "__main__":
    main()
