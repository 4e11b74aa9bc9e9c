"""Back-ends: what computes the scores and ranks them.

All of them give the same ranks, lists and orders: the float32 scores of a back-end only have to be within the error
bound of the canonical scores (``rank.scorers``), and near-ties are decided by these.

``BACKENDS`` is the one table of them. A back-end ranks by three functions; numpy's are the reference:

- ``scan`` (``count.Scan``): counts for the ranks of relevant items, in one pass over the scores;
- ``order`` (``order.Order``): the k best of some queries, for graded metrics. None: the reference.
- ``lists`` (``order.Order``): the top of every ranking. None: the reference.

A back-end may list only the top of rankings (``Order.deepest``). Ranks of relevant items are then those in its lists;
deeper ranks are counted by the reference (``evaluation.engines.route``).

A name may have a device behind a colon, as in ``torch:cpu`` or ``torch:cuda:1``.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .. import environment
from ..environment import has_driver
from ..errors import MissingPackage, UsageError, closest, first_line, install
from ..options import spell
from .count import Scan, scan_tiles
from .order import Order, queries_together

AUTO = "auto"


@dataclass(frozen=True)
class Ranker:
    """The functions of a back-end, see the module."""

    scan: Scan
    order: Order | None = None
    lists: Order | None = None


@dataclass(frozen=True)
class Backend:
    """One back-end.

    Attributes:
        words: what it computes with, as shown by ``vsebench doctor``.
        make: makes its functions; imports what it needs. Takes the device, or None, if ``devices``.
        module: name of the module it needs besides numpy and numba, or None.
        install: the extra that has it, or its own name on the package index; None without a module.
        packages: what may install the module; their versions are in the provenance of a report.
        devices: a name may say on which device, as in ``torch:cuda:1``.
    """

    words: str
    make: Callable[..., Ranker]
    module: str | None = None
    install: str | None = None
    packages: tuple[str, ...] = ()
    devices: bool = False

    @property
    def installed(self) -> bool:
        """Whether its module can be found."""
        return self.module is None or importlib.util.find_spec(self.module) is not None


def about_device(name: str) -> dict[str, str]:
    """For the provenance: ``device``, the GPU that a back-end uses, with its driver; empty if it uses none.

    Args:
        name: of ``chosen``.
    """
    backend, device = parts(name)
    if backend == "torch" and (device or "").startswith("cuda"):
        from .torch_backend.settings import described

        return {"device": f"{described(device)}, driver {_driver()}"}
    if backend == "faiss" and has_driver():
        from .faiss_index import device as of_faiss

        return {"device": f"{of_faiss()[1]}, driver {_driver()}"}
    return {}


def _driver() -> str:
    """The version of the driver, as Linux has it."""
    try:
        found = re.search(r"\b\d+\.\d+(\.\d+)?\b", environment.DRIVERS[0].read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    return found[0] if found else "of unknown version"


def _numpy() -> Ranker:
    return Ranker(scan_tiles)


def _faiss() -> Ranker:
    from .faiss_index import Indexes

    indexes = Indexes()
    lists = Order(partial(indexes.order, ties=True), queries_together, indexes.deepest, "a FAISS index")
    return Ranker(scan_tiles, Order(indexes.order, queries_together), lists)


def _torch(device: str | None) -> Ranker:
    from .torch_backend import order, scan, settings

    found = settings.device_of(device)
    if (failed := settings.fault(found)) is not None:
        fix = f"use {spell('backend', 'numpy')}, or {failed.fix}"
        raise UsageError(f"{spell('backend')} is 'torch:{found}', and torch fails on it: {failed.what}", fix=fix)
    if found.type == "cpu":  # its orders take 1.7 times the time of the reference
        return Ranker(partial(scan.scan, found))
    by = Order(partial(order.order_of, found), order.together)
    return Ranker(partial(scan.scan, found), by, by)


BACKENDS: dict[str, Backend] = {
    "numpy": Backend("numpy and numba on the processor: the reference", _numpy),
    "faiss": Backend(
        "a flat index of FAISS, on the first GPU or the processor: top-k lists only",
        _faiss,
        "faiss",
        "cpu",
        ("faiss-cpu", "faiss-gpu", "faiss-gpu-cuvs", "faiss-cuda", "faiss-gpu-cu11", "faiss-gpu-cu12"),
    ),
    "torch": Backend("tensors of torch, on a GPU or the processor", _torch, "torch", "torch", ("torch",), True),
}


def parts(name: str) -> tuple[str, str | None]:
    """A back-end and the device behind the colon, or None.

    Raises:
        UsageError: an unknown back-end or device.
    """
    backend, colon, device = name.partition(":")
    if backend not in BACKENDS:
        near = closest(backend, [AUTO, *BACKENDS])
        fix = f"use {near[0]}" if near else f"use {AUTO}, {', '.join(BACKENDS)}"
        raise UsageError(f"{spell('backend')} is '{name}'", fix=fix)
    if colon and not (BACKENDS[backend].devices and re.fullmatch(r"cpu|cuda(:\d{1,3})?", device, re.ASCII)):
        several = f"use {backend}, {backend}:cpu, {backend}:cuda or {backend}:cuda:1"
        raise UsageError(
            f"{spell('backend')} is '{name}'", fix=several if BACKENDS[backend].devices else f"use {backend}"
        )
    return backend, device or None


def check(name: str, here: bool = True) -> None:
    """Raise UsageError for unknown back-ends, MissingPackage if a package is not installed.

    Args:
        name: of a back-end, or ``auto``.
        here: whether this machine ranks; packages of another one are not known.

    Raises:
        UsageError: an unknown name.
        MissingPackage: its package is not installed.
    """
    if name == AUTO:
        return
    backend = parts(name)[0]
    found = BACKENDS[backend]
    if here and not found.installed:
        fix = "pip install torch" if found.install == "torch" else install(str(found.install))
        raise MissingPackage(f"the back-end {backend} needs {found.module}", fix=fix)


def chosen(name: str) -> tuple[str, str]:
    """The name of the back-end that will be used, with its device if any, and why.

    ``auto`` takes torch where it finds a GPU that works. Torch is imported only if the driver of a GPU is found.

    Args:
        name: of a back-end, or ``auto``.

    Raises:
        UsageError: a device that this machine does not have.
    """
    if name != AUTO:
        return _with_device(name), "requested"
    if not has_driver():
        return "numpy", "no NVIDIA driver found"
    if not BACKENDS["torch"].installed:
        return "numpy", "there is an NVIDIA driver, but torch is not installed"
    try:
        from .torch_backend.settings import device_of, fault

        found = device_of(None)
        failed = None if found.type == "cpu" else fault(found)
    except Exception as error:  # a broken installation raises anything
        return "numpy", f"there is an NVIDIA driver, but torch cannot be imported: {first_line(error)}"
    if failed is not None:
        return "numpy", f"torch fails on the GPU: {failed.what}; {failed.fix}"
    return (f"torch:{found}", "torch finds a GPU") if found.type != "cpu" else ("numpy", "torch finds no GPU")


def _with_device(name: str) -> str:
    backend, device = parts(name)
    if not BACKENDS[backend].devices:
        return backend
    from .torch_backend.settings import device_of

    return f"{backend}:{device_of(device)}"


def ranker(name: str) -> Ranker:
    """The functions of a back-end, or of the one that ``auto`` chooses.

    Raises:
        UsageError, MissingPackage: as ``check`` and ``chosen``.
    """
    check(name)
    backend, device = parts(chosen(name)[0])
    found = BACKENDS[backend]
    return found.make(device) if found.devices else found.make()
