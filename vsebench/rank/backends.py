"""Back-ends: what computes the scores and ranks them.

All of them give the same ranks, lists and orders: the float32 scores of a back-end only have to be within the error
bound of the canonical scores (``rank.exact``), and near-ties are decided by these.

``BACKENDS`` is the one table of them. A back-end ranks by two functions, with those of numpy as the reference:

- ``scan`` (``observe.Scan``): counts for the ranks of relevant items, and top lists, in one pass over the scores;
- ``order`` (``full_order.OrderOf``): the k best of some queries, for graded metrics. None: from blocks of scores of
  both directions (``graded.tasks``).

A back-end that finds only the top of every ranking has ``listed`` in addition, and its ``order`` is of that depth too:
where the metrics read deeper, the functions of the reference are used (``evaluation.depths``).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import MissingPackage, UsageError
from ..registry import closest
from ..types import Direction, Observation
from . import observe
from .full_order import OrderOf

AUTO = "auto"
NVIDIA = Path("/proc/driver/nvidia/version")  # there where the driver of a GPU is loaded


@dataclass(frozen=True)
class Listed:
    """What ranks up to a depth.

    Attributes:
        observe: as ``observe.observe``, for ranks up to a depth (``listed.Indexes.observe``).
        deepest: the largest depth for the size of a gallery.
        name: what makes the lists, as in "a FAISS index".
    """

    observe: Callable[..., dict[Direction, Observation]]
    deepest: Callable[[int], int]
    name: str


@dataclass(frozen=True)
class Ranker:
    """The functions of a back-end, see the module."""

    scan: observe.Scan
    order: OrderOf | None = None
    listed: Listed | None = None


@dataclass(frozen=True)
class Backend:
    """One back-end.

    Attributes:
        words: what it computes with, as shown by ``vsebench doctor``.
        make: makes its functions; imports what it needs.
        module: name of the module it needs besides numpy and numba, or None.
        extra: the extra of vsebench that installs the module, or None.
        packages: what may install the module; their versions are in the provenance of a report.
    """

    words: str
    make: Callable[[], Ranker]
    module: str | None = None
    extra: str | None = None
    packages: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether its module can be found."""
        return self.module is None or importlib.util.find_spec(self.module) is not None


def _numpy() -> Ranker:
    return Ranker(observe.scan_tiles)


def _faiss() -> Ranker:
    from .listed import Indexes
    from .top_certified import deepest

    indexes = Indexes(driver=NVIDIA.exists())
    return Ranker(observe.scan_tiles, indexes.order_of, Listed(indexes.observe, deepest, "a FAISS index"))


BACKENDS: dict[str, Backend] = {
    "numpy": Backend("numpy and numba on the processor: the reference", _numpy),
    "faiss": Backend(
        "a flat index of FAISS, on the first GPU or the processor: lists of the top of every ranking",
        _faiss,
        "faiss",
        "cpu",
        ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12"),
    ),
}


def check(name: str) -> None:
    """Refuse a name that is no back-end, or whose package is not installed.

    Raises:
        UsageError: an unknown name.
        MissingPackage: its package is not installed.
    """
    if name == AUTO:
        return
    if name not in BACKENDS:
        near = closest(name, [AUTO, *BACKENDS])
        fix = f"use {near[0]}" if near else f"use {AUTO}, {', '.join(BACKENDS)}"
        raise UsageError(f"--backend is '{name}'", fix=fix)
    found = BACKENDS[name]
    if not found.installed:
        raise MissingPackage(f"the back-end {name} needs {found.module}", fix=f"pip install 'vsebench[{found.extra}]'")


def chosen(name: str) -> tuple[str, str]:
    """The name of the back-end that will be used, and why.

    Args:
        name: of a back-end, or ``auto``.
    """
    if name != AUTO:
        return name, "requested"
    return "numpy", "no GPU"


def ranker(name: str) -> Ranker:
    """The functions of a back-end, or of the one that ``auto`` chooses.

    Raises:
        UsageError, MissingPackage: as ``check``.
    """
    check(name)
    return BACKENDS[chosen(name)[0]].make()
