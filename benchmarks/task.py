"""The record of a task: what is timed, what its time is compared with, its goals, and what it needs."""

from __future__ import annotations

import importlib
import importlib.util
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vsebench.errors import MissingPackage

from .inputs import Inputs
from .machine import available_gb

GROUPS = {
    "ranking": "exact ranks, lists, an evaluation, and commands",
    "metrics": "metrics of gains, full reports, intervals",
    "relevance": "gains of all pairs: tokens, CIDEr-D, SPICE",
    "backends": "reports by every back-end that is installed",
    "scale": "lists of 50,000 to 200,000 candidates",
    "large": "a command on files of 1,000,000 captions, 4.2 GB",
    "compilation": "what the first command after installation compiles",
    "peers": "other implementations (pip install --group peers)",
    "losses": "training steps with every loss (vsebench[train])",
}


FLOAT32 = 5e-4  # two of 5,000 queries: near-ties that float32 orders differently; less than one query of a small set


class Outcome(NamedTuple):
    """What a timed function returns, where it has something to say.

    Attributes:
        values: by name, a mean, (query,) values or (query, k) retrieved items; where their queries can differ, the last
            word of the name is the direction.
        scale: cost of all queries over that of the queries measured; 1 when all were.
        fixed: seconds that do not grow with the queries.
        measured: quantities that the function has measured itself, in place of those of the process.
        notes: of what was found, for the table.
    """

    values: Mapping[str, Any] = {}
    scale: float = 1.0
    fixed: float = 0.0
    measured: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()


Work = Callable[[], Any]  # returns an Outcome, or anything else, which is ignored


@dataclass(frozen=True)
class Floor:
    """What the time is a multiple of: it is timed before and after every repetition, in the same process.

    Attributes:
        unit: of the multiples.
        make: makes the function that is timed.
    """

    unit: str
    make: Callable[[Inputs], Work]


def product(given: Inputs) -> Work:
    """One float32 product of all vectors into an existing array."""
    images, captions = given.world[:2]
    out = np.zeros((len(images), len(captions)), np.float32)
    return lambda: np.matmul(images, captions.T, out=out)


F = Floor("F", product)


@dataclass(frozen=True)
class Peer:
    """What another implementation, or another way, has in common with a task of the library.

    Attributes:
        of: that task; its time is x.
        tolerance: largest difference of two values; of retrieved items, of their scores. None: not compared.
        package: distribution to install, empty for loops that are part of the benchmarks.
        start: what is in memory when the time starts.
        differs: how its definitions differ from ours.
        part: fraction of the queries that are measured at the full size; the cost of the others is the same.
    """

    of: str
    tolerance: float | None
    package: str = ""
    start: str = ""
    differs: str = ""
    part: float = 1.0


@dataclass(frozen=True)
class Needs:
    """What must be there.

    Attributes:
        modules: top-level modules.
        gb: available memory at the full size, in units of 10**9 bytes; the process gets little more.
        full: the task exists at the full size only.
    """

    modules: tuple[str, ...] = ()
    gb: float = 0.0
    full: bool = False

    def missing(self, given: Inputs) -> str:
        """What is missing, or an empty string."""
        for module in self.modules:
            if importlib.util.find_spec(module) is None:
                return f"module '{module}' is not installed"
        if self.full and not given.complete:
            return "of all images of COCO 5K only"
        if given.complete and self.gb > (free := available_gb()):
            return f"{free:.1f} GB of memory available, {self.gb:g} GB needed"
        return ""


@dataclass(frozen=True)
class Task:
    """One row.

    Attributes:
        name: of the row, unique in its group.
        words: what is computed.
        make: makes the function that is timed; imports and what users do once are outside of it.
        floor: what the time is a multiple of, None where ``peer`` has it or nothing.
        goal: such as ``<= 1.3 F, <= 200 MiB``, of the full size. Quantities: ``s``, ``CPU s``, ``MiB``; the unit of the
            floor and x, also with ``CPU`` in front; ``x MiB``.
        needs: what must be there.
        peer: the task is another way to compute what a task of ours computes.
        once: only the first run is what is measured.
    """

    name: str
    words: str
    make: Callable[[Inputs], Work]
    floor: Floor | None = F
    goal: str = ""
    needs: Needs = field(default_factory=Needs)
    peer: Peer | None = None
    once: bool = False


def tasks(group: str) -> dict[str, Task]:
    """Group and name, as in ``peers/ranx`` -> task. Raises MissingPackage where the tasks themselves need one."""
    try:
        module = importlib.import_module(f"benchmarks.{group}")
    except ModuleNotFoundError as error:
        raise MissingPackage(f"benchmarks of {group} need {error.name}", fix=f"pip install {error.name}") from None
    return {f"{group}/{task.name}": task for task in module.TASKS}


def find(name: str) -> Task:
    """The task of a name as in ``tasks``; KeyError for another one."""
    return tasks(name.partition("/")[0])[name]


def judge(goal: str, found: Mapping[str, float | None]) -> list[bool]:
    """Whether the parts of a goal are met, of those whose quantity is known."""
    met = []
    for part in filter(None, goal.split(", ")):
        sign, limit, unit = re.fullmatch(r"([<>]=) ([\d.]+) (.+)", part.replace("_", "")).groups()  # type: ignore[union-attr]
        if (value := found.get(unit)) is not None:
            met.append((operator.le if sign == "<=" else operator.ge)(value, float(limit)))
    return met
