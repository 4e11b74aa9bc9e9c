"""``python -m benchmarks.relevance``: gains of all pairs, compared with the float32 product and a peer."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.errors import MissingPackage, VsebenchError
from vsebench.numeric.parallel import default_threads, spread
from vsebench.rank.order import largest
from vsebench.relevance import load_gains
from vsebench.relevance.gains import Gains
from vsebench.text import tokenise as tokens
from vsebench.types import DIRECTIONS, Direction, Split

from . import captions, harness, synthetic
from .bench import Bench, Row, parser, print_comparisons
from .check import Comparison
from .harness import Usage
from .peers import coco_cider

DIM, BLOCK, DEPTH = 1024, 512, 100
QUICK_IMAGES = 300
PEER_GOAL = 50_000.0

Array = npt.NDArray[Any]
Work = Callable[[], Any]


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

    def from_captions(direction: Direction) -> Work:
        return lambda: all_rows(load_gains("cider", split), direction)

    def lists(direction: Direction) -> Work:
        gains = ready(load_gains("cider", split))
        return lambda: all_rows(gains, direction, lambda rows: largest(rows, DEPTH))

    def spice(direction: Direction) -> Work:
        from vsebench.relevance import load_gains

        return rows(load_gains("spice", split), direction)

    return {
        "ptb": lambda: lambda: tokens.tokenise(texts, "ptb"),
        "load": lambda: lambda: load_gains("cider", split),
        "rows t2i": lambda: rows(load_gains("cider", split), "t2i"),
        "rows i2t": lambda: rows(load_gains("cider", split), "i2t"),
        "captions t2i": lambda: from_captions("t2i"),
        "captions i2t": lambda: from_captions("i2t"),
        "ideal t2i": lambda: lists("t2i"),
        "ideal i2t": lambda: lists("i2t"),
        "spice t2i": lambda: spice("t2i"),
        "spice i2t": lambda: spice("i2t"),
    }


def measure(name: str, images: int, repeats: int) -> Usage:
    """Memory of a first run, then repetitions between products; called in a child process.

    Raises:
        VsebenchError: a package or data that the task needs is missing.
    """
    split, _ = captions.load(images)
    load_gains("cider", captions.synthetic_captions(20)).rows("t2i", 0, 1)  # imports modules and loads kernels
    prepare = tasks(split)[name]
    added = harness.added_mib(lambda: prepare()())
    world = synthetic.world(images, DIM)
    usage = harness.interleaved(prepare(), harness.Floor(world.images, world.captions), repeats)
    return dataclasses.replace(usage, added_mib=added, detail={})


def peer_seconds(split: Split) -> tuple[float, float]:
    """Seconds of pycocoevalcap for one caption against every image, and the largest difference from ours.

    Raises:
        MissingPackage: it is not installed.
    """
    tokenised = [" ".join(words) for words in tokens.tokenise(split.captions or ()).lists()]
    caption = len(tokenised) // 2
    gains = load_gains("cider", split)
    start = time.perf_counter()
    theirs = coco_cider.rows(tokenised, split, caption)
    seconds = time.perf_counter() - start
    ours = gains.rows("t2i", caption, caption + 1)[0]
    return seconds, float(np.abs(ours - theirs).max())


def checks(images: int = QUICK_IMAGES) -> list[Comparison]:
    """Compare with the peer, the other direction and a full sort."""
    split, _ = captions.load(images)
    gains = load_gains("cider", split)
    t2i, i2t = gains.rows("t2i", 0, gains.shape[1]), gains.rows("i2t", 0, gains.shape[0])
    found = [_compared("CIDEr-D rows of both directions, bit for bit", t2i, i2t.T, 0.0), _against_peer(split)]
    for direction, values in (("t2i", t2i), ("i2t", i2t)):
        order = np.argsort(-values.astype(np.float64), axis=1, kind="stable")[:, :DEPTH]
        found.append(_compared(f"ideal lists {direction} against a full sort", largest(values, DEPTH), order, 0.0))
    return found


def _against_peer(split: Split) -> Comparison:
    name = "CIDEr-D against pycocoevalcap, one caption with every image"
    try:
        _, worst = peer_seconds(split)
    except MissingPackage as error:
        return Comparison(name, 0, skipped=error.what)
    wrong = () if worst < 1e-6 else (f"largest difference {worst:.2e}",)
    return Comparison(name, len(split.image_ids), wrong)


def _compared(name: str, ours: Array, theirs: Array, tolerance: float) -> Comparison:
    wrong = np.argwhere(~(np.abs(ours.astype(np.float64) - theirs) <= tolerance))
    first = tuple(f"{at}: {ours[tuple(at)]!r}, {theirs[tuple(at)]!r}" for at in wrong.tolist()[:5])
    return Comparison(name, ours.size, first)


def table(images: int, repeats: int, quick: bool, with_peer: bool) -> Bench:
    """All rows and notes."""
    bench = Bench(images, repeats, quick, goals=not quick)
    split, words = captions.load(images)
    bench.add(Row(f"-- {len(split.image_ids):,} x {len(split.caption_ids):,} pairs, {words.partition(':')[0]}"))
    bench.notes += [words] if ":" in words else []
    add(bench, "Penn Treebank tokens", "ptb")
    add(bench, "CIDEr-D: captions to features", "load")
    rows = [add(bench, f"CIDEr-D: all rows {d}, from features", f"rows {d}") for d in ("t2i", "i2t")]
    complete = [add(bench, f"CIDEr-D: all rows {d}, from captions", f"captions {d}", 1.3) for d in ("t2i", "i2t")]
    lists = [add(bench, f"ideal top-{DEPTH} {d}, with the rows", f"ideal {d}") for d in ("t2i", "i2t")]
    measured = [u for u in (*rows, *lists) if u is not None]
    if len(measured) == 4:
        wall, cpu, floors, cpu_floors = (sum(values[2:]) - sum(values[:2]) for values in (
            [u.seconds for u in measured], [u.cpu for u in measured], [u.ratio for u in measured],
            [u.cpu / u.floor_cpu for u in measured]))  # fmt: skip
        row = Row(f"ideal top-{DEPTH}, both directions, on top of the rows", wall, cpu, floors, cpu_floors, "F")
        bench.add(row, "<= 1 F", floors <= 1)
    add(bench, "SPICE: all rows t2i, from stored graphs", "spice t2i", 0.25)
    add(bench, "SPICE: all rows i2t, from stored graphs", "spice i2t", 0.25)
    if complete[0] is not None and with_peer:
        peer(bench, split, complete[0])
    bench.notes += [
        f"F is the float32 product of this size at dimension {DIM}, timed before and after every repetition",
        "other load on the machine affects wall ratios more than CPU ratios",
        f"rows are computed in blocks of up to {BLOCK} on {default_threads()} threads, and dropped",
        "memory: peak of the first run above the resident memory with captions and compiled kernels",
    ]
    if quick:
        bench.notes.append("quick size: fixed costs dominate, so no goal applies")
        bench.notes += [str(comparison) for comparison in checks()]
    return bench


def add(bench: Bench, what: str, name: str, limit: float | None = None) -> Usage | None:
    """Measure a task and add its row, and its memory if it starts from captions; a note if it cannot run."""
    found = harness.child("relevance", "--child", json.dumps([name, bench.images, bench.repeats]))
    if isinstance(found, str):
        bench.notes.append(f"row '{what}' left out: {found}")
        return None
    usage = Usage(**found)
    bench.against_floor(what, usage, limit)
    if name.startswith("captions"):
        bench.memory("  memory over the captions", usage.added_mib)
    return usage


def peer(bench: Bench, split: Split, ours: Usage) -> None:
    """Add a row of pycocoevalcap, which scores one caption with one image, extrapolated from one caption."""
    try:
        seconds, worst = peer_seconds(split)
    except MissingPackage as error:
        bench.notes.append(f"row of pycocoevalcap left out: {error.what}")
        return
    seconds *= len(split.caption_ids)
    bench.against_us("pycocoevalcap Cider, tokens given (E)", Usage(seconds, seconds), ours, PEER_GOAL)
    bench.notes.append(
        f"(E) extrapolated from one caption with {len(split.image_ids):,} images, in one thread; "
        f"its values differ from ours by at most {worst:.1e}; x is its cost over ours from captions to t2i rows"
    )


def main() -> None:
    """Command line."""
    options = parser("relevance", __doc__, 5)
    options.add_argument("--no-peers", action="store_true", help="leave the peer out")
    options.add_argument("--child", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        try:
            harness.report_usage(measure(*json.loads(arguments.child)))
        except (VsebenchError, ModuleNotFoundError) as error:
            print(json.dumps(str(error).replace("\n  fix: ", "; ")))
        return
    if arguments.check:
        sys.exit(print_comparisons(checks(), arguments.json))
    images = QUICK_IMAGES if arguments.quick else synthetic.COCO_IMAGES
    table(images, arguments.repeats, arguments.quick, not arguments.no_peers).print(arguments.json)


if __name__ == "__main__":
    main()
