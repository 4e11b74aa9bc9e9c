"""Small runs of the trainer, for its tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

from train_reference import config

DATA = "scenes-40-size16"
METRICS = "R@1,R@5,R@10,RSum,match:NCS@10,match:CS@5,match:Kendall,match:nDCG@10,entails:mAP@R"  # of a suite on them
SMALL = {
    "data": {"name": DATA, "word_count": 2},
    "model": {"dim": 8, "word_dim": 8},
    "train": {"epochs": 1, "batch": 20, "threads": 1},
}
OPTIONS = ["--data", DATA, "--batch", "20"]  # the same, for the command line
for _name in ("model.dim=8", "model.word_dim=8", "data.word_count=2", "train.threads=1"):
    OPTIONS += ["--set", _name]


def small(**sections: dict) -> config.Config:
    """A configuration that takes a second, with other values in some sections."""
    return config.from_dict({name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in config.SECTIONS})


def begun(process: subprocess.Popen[Any], files: Callable[[], object]) -> None:
    """Wait until ``files`` finds something that a process writes, or the process has ended."""
    deadline = time.monotonic() + 240
    while not files() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def silent(text: str) -> None:
    """Say nothing."""
