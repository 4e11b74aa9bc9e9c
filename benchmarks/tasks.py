"""The tasks of ``benchmarks.ranking``, one function each; the harness runs ``python -m benchmarks.tasks NAME OPTIONS``.

A task function imports what it needs and returns the function to be timed. Its process does nothing else, so that its
memory can be measured.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import harness, synthetic
from .synthetic import World

Work = Callable[[], Any]


def observe(world: World) -> Work:
    """Exact ranks of the written captions and R@K, median and mean rank, both directions."""
    from vsebench.metrics import parse
    from vsebench.rank.count import Targets
    from vsebench.rank.observe import observe
    from vsebench.rank.scorers import Dot
    from vsebench.relevance import load
    from vsebench.types import DIRECTIONS

    split = world.split()
    requests = [Targets("gt", load("gt", split, d)) for d in DIRECTIONS]
    names = ("R@1", "R@5", "R@10", "MedR", "MeanR")

    def work() -> dict[str, float]:
        observed = observe(Dot(world.images, world.captions), requests)
        out = {}
        for d in DIRECTIONS:
            for name in names:
                values = parse(name).per_query(observed[d].ranks["gt"])
                out[f"{name} {d}"] = float(values.mean())
        return out

    return work


def vsepp(world: World, fraction: float) -> Work:
    """VSE++-style evaluation of a fraction of the queries."""
    from .peers import vsepp_style

    return lambda: vsepp_style.run(world.images, world.captions, fraction)


def scan(world: World) -> Work:
    """SCAN-style evaluation."""
    from .peers import scan_style

    return lambda: scan_style.run(world.images, world.captions)


def eccv(world: World) -> Work:
    """The official package, from embeddings to values."""
    import resource

    from .peers import eccv as peer

    # Fail in this process if the memory is not available, without affecting others.
    limit = int(1.2 * peer.NEEDED_GB * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return lambda: peer.run(world.images, world.captions, world.image_ids, world.caption_ids)


TASKS: dict[str, Callable[..., Work]] = {"observe": observe, "vsepp": vsepp, "scan": scan, "eccv": eccv}


def on_world(task: str, path: Path, coco: bool, repeats: int, **options: Any) -> harness.Usage:
    """Measure a task on vectors in memory. With ``repeats`` 0 the first run is the only one."""
    bare = harness.resident_mib()
    world = synthetic.load(path, coco)
    work = TASKS[task](world, **options)
    ready = harness.resident_mib()
    harness.forget_peak()
    first = harness.interleaved(work, None, 1)
    levels = (bare, ready, harness.resident_mib(peak=True))
    if not repeats:
        return _with_memory(first, levels, world.mib)
    usage = harness.interleaved(work, harness.Floor(world.images, world.captions), repeats)
    return _with_memory(usage, levels, world.mib)


def evaluate(path: Path, split: str, repeats: int, metrics: str = "binary", ci: float = 95.0) -> harness.Usage:
    """Measure ``--metrics binary`` (or others) on a file in a warm process; loading is timed apart, in ``detail``."""
    bare = harness.resident_mib()
    from vsebench.evaluation import inputs
    from vsebench.evaluation.request import request
    from vsebench.evaluation.run import run_evaluation

    asked = request({"images": path, "split": split, "metrics": metrics, "ci": ci})

    def load() -> inputs.System:
        return inputs.read(asked)

    modules = harness.resident_mib()
    harness.forget_peak()
    data = load()
    assert data.vectors is not None
    images, captions = (side.vectors for side in data.vectors)
    size = (images.nbytes + captions.nbytes) / harness.MIB
    run_evaluation(data, asked)
    levels = (bare, None if modules is None else modules + size, harness.resident_mib(peak=True))

    def work() -> dict[str, Any]:
        report, _ = run_evaluation(data, asked)
        report.to_json(per_query=False)
        values = [[str(r.metric), r.direction, r.value] for r in report.results if r.direction]
        return {"values": values, "metrics": len(report.results)}

    usage = harness.interleaved(work, harness.Floor(images, captions), repeats)
    loading = harness.interleaved(load, None, repeats)
    detail = {**usage.detail, "loading": loading.seconds, "loading_cpu": loading.cpu}
    return _with_memory(dataclasses.replace(usage, detail=detail), levels, size)


def _with_memory(
    usage: harness.Usage, levels: tuple[float | None, float | None, float | None], inputs: float
) -> harness.Usage:
    """``usage`` with the memory between a bare interpreter, everything loaded, and the peak of the first run."""
    bare, ready, peak = levels
    if bare is None or ready is None or peak is None:
        return usage
    return dataclasses.replace(usage, added_mib=peak - bare - inputs, code_mib=ready - bare - inputs)


def main() -> None:
    """Entry point of a child process."""
    task, options = sys.argv[1], json.loads(sys.argv[2])
    if task == "command":
        usage = harness.command_usage(**options)
    else:
        path = Path(options.pop("path"))
        usage = evaluate(path, **options) if task == "evaluate" else on_world(task, path, **options)
    harness.report_usage(usage)


if __name__ == "__main__":
    main()
