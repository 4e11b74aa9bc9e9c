"""``python -m benchmarks.compilation``: what the first run after installation compiles."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter
from typing import Any

from . import captions, harness, synthetic
from .bench import Bench, Row, parser

DIM, QUICK_IMAGES = 1024, 400
GOALS = {"recall": 3.0, "cs,ncs": 8.0}  # CPU seconds


def measure(metrics: str, images: int) -> dict[str, Any]:
    """Evaluate with an empty cache: CPU seconds and number of compilations, and kernels compiled more than once."""
    from numba.core import event

    from vsebench import evaluate

    running, seconds, kernels = threading.local(), list[float](), Counter[str]()

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            running.began = [*getattr(running, "began", []), time.thread_time()]

        def on_end(self, given: Any) -> None:
            began = running.began.pop()
            if not running.began:  # a compilation contains those of the functions that are called
                seconds.append(time.thread_time() - began)
            function = given.data["dispatcher"].py_func
            kernels[f"{function.__module__.removeprefix('vsebench.')}.{function.__name__}"] += 1

    world, (split, _) = synthetic.world(images, DIM), captions.load(images)
    with event.install_listener("numba:compile", Listener()):
        evaluate(world.images, world.captions, split=split, metrics=metrics)
    twice = {name: n for name, n in kernels.items() if n > 1 and not name.startswith("numba.")}
    return {"seconds": sum(seconds), "compilations": kernels.total(), "twice": twice}


def table(images: int, quick: bool) -> Bench:
    """A row for every set of metrics; the kernels that are compiled more than once are notes."""
    bench = Bench(images, 1, quick, goals=not quick)
    for metrics, goal in GOALS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            found = harness.child("compilation", "--child", json.dumps([metrics, images]))
        what = f"--metrics {metrics}: {found['compilations']} compilations in a new environment"
        bench.add(Row(what, cpu=found["seconds"]), f"<= {goal:g} CPU s", found["seconds"] <= goal)
        bench.notes += [f"--metrics {metrics} compiles {name} {n} times" for name, n in found["twice"].items()]
    return bench


def main() -> None:
    """Command line."""
    options = parser("compilation", __doc__, 1)
    options.add_argument("--child", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        print(json.dumps(measure(*json.loads(arguments.child))))
        return
    images = QUICK_IMAGES if arguments.quick else synthetic.COCO_IMAGES
    table(images, arguments.quick).print(arguments.json)


if __name__ == "__main__":
    main()
