"""``python -m benchmarks.relevance``: gains of all pairs, against the float32 product and a peer."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import MissingPackage, VsebenchError
from vsebench.numeric.parallel import default_threads, spread
from vsebench.rank.full_order import largest
from vsebench.relevance.cider import gains as cider
from vsebench.relevance.gains import Gains
from vsebench.text import tokenise as tokens
from vsebench.types import DIRECTIONS, Direction, Split

from . import captions, harness, synthetic
from .check import Comparison
from .harness import Usage
from .rows import HEADINGS, Row

DIM, BLOCK, DEPTH = 1024, 512, 100
QUICK_IMAGES = 300
MEMORY_GOAL, PEER_GOAL = 200.0, 50_000.0

Array = npt.NDArray[Any]
Work = Callable[[], Any]


# The measured tasks.


def all_rows(gains: Gains, direction: Direction, use: Callable[[Array], Any] = len) -> None:
    """Compute all gains of one direction in blocks of rows on all threads, and call ``use`` on every block."""
    n, gallery = gains.shape if direction == "i2t" else gains.shape[::-1]
    height = max(1, min(BLOCK, (10 << 20) // (4 * gallery)))

    def work(start: int, stop: int, _part: int) -> None:
        for first in range(start, stop, height):
            use(gains.rows(direction, first, min(first + height, stop)))

    spread(work, n, default_threads())


def tasks(split: Split) -> dict[str, Callable[[], Work]]:
    """Name -> function that prepares the task and returns the timed function."""
    texts = split.captions or ()

    def ready(gains: Gains) -> Gains:
        for direction in DIRECTIONS:
            gains.rows(direction, 0, 1)
        return gains

    def rows(gains: Gains, direction: Direction) -> Work:
        ready(gains)
        return lambda: all_rows(gains, direction)

    def whole(direction: Direction) -> Work:
        return lambda: all_rows(cider.load(split, None, {}), direction)

    def lists(direction: Direction) -> Work:
        gains = ready(cider.load(split, None, {}))
        return lambda: all_rows(gains, direction, lambda rows: largest(rows, DEPTH))

    def spice(direction: Direction) -> Work:
        from vsebench.relevance.kinds import load_gains

        return rows(load_gains("spice", split), direction)

    return {
        "ptb": lambda: lambda: tokens.tokenise(texts, "ptb"),
        "load": lambda: lambda: cider.load(split, None, {}),
        "rows t2i": lambda: rows(cider.load(split, None, {}), "t2i"),
        "rows i2t": lambda: rows(cider.load(split, None, {}), "i2t"),
        "strings t2i": lambda: whole("t2i"),
        "strings i2t": lambda: whole("i2t"),
        "ideal t2i": lambda: lists("t2i"),
        "ideal i2t": lambda: lists("i2t"),
        "spice t2i": lambda: spice("t2i"),
        "spice i2t": lambda: spice("i2t"),
    }


def measure(name: str, images: int, repeats: int) -> Usage:
    """Run in a child process: memory of a first run, then repetitions between products.

    Raises:
        VsebenchError: something that the task needs is missing.
    """
    split, _ = captions.load(images)
    cider.load(captions.invented(20), None, {}).rows("t2i", 0, 1)  # loads modules and kernels before memory is read
    before = harness.resident_mib()
    harness.forget_peak()
    work = tasks(split)[name]()
    work()
    peak = harness.resident_mib(peak=True)
    world = synthetic.world(images, DIM)
    usage = harness.interleaved(work, harness.Floor(world.images, world.captions), repeats)
    added = None if before is None or peak is None else peak - before
    return dataclasses.replace(usage, added_mib=added, detail={})


def in_child(name: str, images: int, repeats: int) -> Usage | str:
    """Measure in a new process; the reason as text when something is not installed or built."""
    command = [sys.executable, "-m", "benchmarks.relevance", "--child", json.dumps([name, images, repeats])]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return found if isinstance(found, str) else Usage(**found)


# The peer.


def peer_seconds(split: Split) -> tuple[float, float]:
    """Seconds of pycocoevalcap for one caption against every image, and the largest difference from ours.

    Raises:
        MissingPackage: it is not installed.
    """
    try:
        from pycocoevalcap.cider.cider_scorer import CiderScorer
    except ImportError as error:
        raise MissingPackage("package 'pycocoevalcap' is not installed", fix="pip install 'vsebench[text]'") from error
    tokenised = [" ".join(words) for words in tokens.tokenise(split.captions or ()).lists()]
    caption = len(tokenised) // 2
    gains = cider.load(split, None, {})
    first, own = gains.features.captions_of
    start = time.perf_counter()
    scorer = CiderScorer(n=4, sigma=cider.SIGMA)
    for image in range(len(split.image_ids)):
        scorer += (tokenised[caption], [tokenised[c] for c in own[first[image] : first[image + 1]].tolist()])
    _, theirs = scorer.compute_score()
    seconds = time.perf_counter() - start
    ours = gains.rows("t2i", caption, caption + 1)[0]
    return seconds, float(np.abs(ours - theirs).max())


# Correctness.


def checks(images: int = QUICK_IMAGES) -> list[Comparison]:
    """Compare with the peer, the Java tokeniser, the other direction and a full sort."""
    split, _ = captions.load(images)
    gains = cider.load(split, None, {})
    t2i, i2t = gains.rows("t2i", 0, gains.shape[1]), gains.rows("i2t", 0, gains.shape[0])
    found = [_compared("CIDEr-D rows of both directions, bit for bit", t2i, i2t.T, 0.0), _against_peer(split)]
    for direction, values in (("t2i", t2i), ("i2t", i2t)):
        order = np.argsort(-values.astype(np.float64), axis=1, kind="stable")[:, :DEPTH]
        found.append(_compared(f"ideal lists {direction} against a full sort", largest(values, DEPTH), order, 0.0))
    return [*found, _against_java(split)]


def _against_peer(split: Split) -> Comparison:
    name = "CIDEr-D against pycocoevalcap, one caption with every image"
    try:
        _, worst = peer_seconds(split)
    except MissingPackage as error:
        return Comparison(name, 0, skipped=error.what)
    wrong = () if worst < 1e-6 else (f"largest difference {worst:.2e}",)
    return Comparison(name, len(split.image_ids), wrong)


def _against_java(split: Split) -> Comparison:
    name = "ptb tokens against the Java tokeniser"
    texts = split.captions or ()
    try:
        theirs = tokens.tokenise(texts, "ptb-java").lists()
    except VsebenchError as error:
        return Comparison(name, 0, skipped=error.what)
    ours = tokens.tokenise(texts, "ptb").lists()
    wrong = tuple(f"{t!r}: {a}, peer {b}" for t, a, b in zip(texts, ours, theirs, strict=True) if a != b)
    return Comparison(name, len(texts), wrong)


def _compared(name: str, ours: Array, theirs: Array, tolerance: float) -> Comparison:
    wrong = np.argwhere(~(np.abs(ours.astype(np.float64) - theirs) <= tolerance))
    first = tuple(f"{at}: {ours[tuple(at)]!r}, {theirs[tuple(at)]!r}" for at in wrong.tolist()[:5])
    return Comparison(name, ours.size, first)


# The table.


@dataclasses.dataclass
class Bench:
    """The rows and notes of one run."""

    images: int
    quick: bool
    repeats: int
    rows: list[Row] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, what: str, name: str, limit: float | None = None, memory: bool = False) -> Usage | None:
        """Measure a task and add it to the table, or a note when it cannot run."""
        usage = in_child(name, self.images, self.repeats)
        if isinstance(usage, str):
            self.notes.append(f"row '{what}' left out: {usage}")
            return None
        self.row(what, usage.seconds, usage.cpu, usage.ratio, usage.cpu / usage.floor_cpu, limit)
        if memory and usage.added_mib is not None:
            goal, met = self.goal(f"<= {MEMORY_GOAL:g} MiB", usage.added_mib <= MEMORY_GOAL)
            self.rows.append(Row("  memory over the captions", mib=usage.added_mib, goal=goal, met=met))
        return usage

    def row(self, what: str, wall: float, cpu: float, ratio: float, cpu_ratio: float, limit: float | None) -> None:
        """Add a row with multiples of F."""
        goal, met = self.goal(f"<= {limit:g} F", ratio <= limit) if limit else ("", None)
        self.rows.append(Row(what, wall, cpu, ratio, cpu_ratio, "F", None, goal, met))

    def goal(self, text: str, met: bool) -> tuple[str, bool | None]:
        """The goal, at full size."""
        return ("", None) if self.quick else (text, met)


def run(arguments: argparse.Namespace) -> Bench:
    """The whole table."""
    bench = Bench(QUICK_IMAGES if arguments.quick else synthetic.COCO_IMAGES, arguments.quick, arguments.repeats)
    split, words = captions.load(bench.images)
    n = f"{len(split.image_ids):,} x {len(split.caption_ids):,}"
    bench.rows.append(Row(f"-- {n} pairs, {words.partition(':')[0]}"))
    if ":" in words:
        bench.notes.append(words)
    bench.add("Penn Treebank tokens", "ptb")
    bench.add("CIDEr-D: captions to features", "load")
    rows = [bench.add(f"CIDEr-D: all rows {d}, from features", f"rows {d}") for d in ("t2i", "i2t")]
    whole = bench.add("CIDEr-D: all rows t2i, from captions", "strings t2i", 1.3, memory=True)
    bench.add("CIDEr-D: all rows i2t, from captions", "strings i2t", 1.3, memory=True)
    lists = [bench.add(f"ideal top-{DEPTH} {d}, with the rows", f"ideal {d}") for d in ("t2i", "i2t")]
    known = [u for u in (*rows, *lists) if u is not None]
    if len(known) == 4:
        alone = [sum(values[2:]) - sum(values[:2]) for values in (
            [u.seconds for u in known], [u.cpu for u in known], [u.ratio for u in known],
            [u.cpu / u.floor_cpu for u in known])]  # fmt: skip
        bench.row(f"ideal top-{DEPTH}, both directions, on top of the rows", *alone, 1.0)  # type: ignore[misc]
    bench.add("SPICE: all rows t2i, from stored graphs", "spice t2i", 0.25)
    bench.add("SPICE: all rows i2t, from stored graphs", "spice i2t", 0.25)
    if whole is not None and not arguments.no_peers:
        peer(bench, split, whole)
    bench.notes += [
        f"F is the float32 product of this size at dimension {DIM}, timed before and after every repetition",
        "wall ratios suffer from other load on the machine, CPU ratios less",
        f"rows are computed in blocks of up to {BLOCK} on {default_threads()} threads, and dropped",
        "memory: peak of the first run above the resident memory with captions and compiled kernels",
    ]
    if bench.quick:
        bench.notes.append("quick size: fixed costs dominate, so no goal applies")
        bench.notes += [str(comparison) for comparison in checks()]
    return bench


def peer(bench: Bench, split: Split, ours: Usage) -> None:
    """pycocoevalcap, which scores one caption with one image: extrapolated from one caption with all of them."""
    try:
        seconds, worst = peer_seconds(split)
    except MissingPackage as error:
        bench.notes.append(f"row of pycocoevalcap left out: {error.what}")
        return
    seconds *= len(split.caption_ids)
    ratio = seconds / ours.seconds
    goal, met = bench.goal(f">= {PEER_GOAL:,.0f} x", ratio >= PEER_GOAL)
    bench.rows.append(Row("pycocoevalcap Cider, tokens given (E)", seconds, seconds, ratio, seconds / ours.cpu, "x",
                          None, goal, met))  # fmt: skip
    bench.notes.append(
        f"(E) extrapolated from one caption with {len(split.image_ids):,} images, in one thread; "
        f"its values differ from ours by at most {worst:.1e}; x is its cost over ours from captions to t2i rows"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and the comparisons; goals do not apply")
    parser.add_argument("--check", action="store_true", help="only compare numbers; exit 1 on a difference")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-peers", action="store_true", help="leave the peer out")
    parser.add_argument("--repeats", type=int, default=5, help="timed repetitions")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        try:
            print(json.dumps(asdict(measure(*json.loads(arguments.child)))))
        except (VsebenchError, ModuleNotFoundError) as error:
            print(json.dumps(str(error).replace("\n  fix: ", "; ")))
        return
    if arguments.check:
        found = checks()
        print(json.dumps([asdict(c) for c in found], indent=2) if arguments.json else "\n".join(map(str, found)))
        sys.exit(int(any(c.differences for c in found)))
    machine = harness.machine()
    bench = run(arguments)
    if arguments.json:
        rows = [asdict(r) for r in bench.rows]
        print(json.dumps({"machine": machine, "quick": arguments.quick, "rows": rows, "notes": bench.notes}, indent=2))
        return
    print("  ".join(f"{name}: {value}" for name, value in machine.items()) + "\n")
    print(harness.table(HEADINGS, [r.cells() for r in bench.rows]) + "\n")
    print("\n".join(f"* {note}" for note in bench.notes))


if __name__ == "__main__":
    main()
