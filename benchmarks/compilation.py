"""Tasks of what the first command after installation compiles, in an empty cache of numba."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from functools import partial
from typing import Any

from .inputs import Inputs
from .task import Needs, Outcome, Task, Work


def compiled(given: Inputs, metrics: str) -> Work:
    """An evaluation; measured are the CPU seconds of its compilations, kernels compiled more than once are notes."""
    os.environ["NUMBA_CACHE_DIR"] = given.folder.name  # before numba is imported
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

    (images, captions), split = given.world[:2], given.captions

    def work() -> Outcome:
        with event.install_listener("numba:compile", Listener()):
            evaluate(images, captions, split=split, metrics=metrics)
        notes = [f"--metrics {metrics}: {kernels.total()} compilations"]
        notes += [f"{name} {n} times" for name, n in kernels.items() if n > 1 and not name.startswith("numba.")]
        return Outcome(measured={"CPU s": sum(seconds)}, notes=(", ".join(notes),))

    return work


TASKS = tuple(
    Task(f"--metrics {metrics}", "compilation in a new environment", partial(compiled, metrics=metrics), None,
         f"<= {goal} CPU s", Needs(full=True), once=True)
    for metrics, goal in (("recall", 3), ("cs,ncs", 8))
)  # fmt: skip
