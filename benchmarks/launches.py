"""What a report asks of a device: operations, waits, bytes, products and sorted numbers, counted on the processor.

The tensor code of a GPU runs on the processor, with the block sizes of a GPU. Every operation of torch that is no view
is at least one launch there; sorts, selections and index operations are several. One that the processor has to wait
for (a size that depends on values, a number that is read) is a wait. Gains and Kendall's tau are no part of it: the
compiled kernels compute them.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from vsebench.rank import backends
from vsebench.rank.full_order import OrderOf
from vsebench.rank.torch_backend import count, order, scan, settings, top, vectors

WAITS = ("aten.nonzero", "aten._local_scalar_dense", "aten.masked_select", "aten.equal", "aten.bincount")
NO_WORK = ("aten.empty", "aten.new_empty", "aten._unsafe_view", "aten.detach")
COLUMNS = {
    "operations": "{:,.0f}", "waits": "{:,.0f}", "MiB to device": "{:,.1f}", "MiB to host": "{:,.1f}",
    "float32 Gflop": "{:,.0f}", "float64 Gflop": "{:,.0f}", "sorted millions": "{:,.1f}",
}  # fmt: skip


class Counting(TorchDispatchMode):
    """Adds what happens inside to ``found``."""

    def __init__(self, found: Counter[str]):
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(function)
        view = any(r.alias_info is not None and not r.alias_info.is_write for r in function._schema.returns)
        if not view and not name.startswith(NO_WORK):
            self.found["operations"] += 1
        self.found["waits"] += name.startswith(WAITS)
        if name.startswith("aten.mm"):
            x, y = args[:2]
            self.found[f"{str(x.dtype).removeprefix('torch.')} Gflop"] += 2e-9 * x.numel() * y.shape[1]
        if name.startswith(("aten.sort", "aten.topk")):
            self.found["sorted millions"] += args[0].numel() / 1e6
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def counted() -> Iterator[dict[str, Counter[str]]]:
    """By pass, what evaluations inside ask of a device; they rank by its code whatever back-end they name."""
    passes: dict[str, Counter[str]] = {}
    lock = threading.Lock()
    now = threading.local()

    def counting(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        with lock:  # what several threads ask of a device is added one after the other
            now.found = passes.setdefault(name, Counter())
            with Counting(now.found):
                return work(*arguments)

    def moved(where: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(values: Any, *device: Any) -> Any:
            made = work(values, *device)
            now.found["operations"] += 1
            now.found["waits"] += where == "MiB to host"
            now.found[where] += made.nbytes / (1 << 20)
            return made

        return call

    def scan_of(scorer: Any, counters: Any, depth: Any, _: int, *rest: Any) -> Any:
        # one thread, as on a GPU: what another thread does is not counted
        return counting("ranks and lists", scan.scan, device, scorer, counters, depth, 1, *rest)

    def order_of(scorer: Any, direction: str, *rest: Any) -> Any:
        return counting(f"orders, {direction}", order.order_of, device, scorer, direction, *rest)

    device = torch.device("cpu")
    ranker = backends.Ranker(scan_of, OrderOf(order_of, order.together))
    with contextlib.ExitStack() as stack:
        for module in (count, order, scan, top, vectors):
            for name, where in (("tensor", "MiB to device"), ("host", "MiB to host")):
                if work := getattr(module, name, None):
                    stack.enter_context(mock.patch.object(module, name, moved(where, work)))
        stack.enter_context(mock.patch.dict(settings.SIZES, {"cpu": settings.SIZES["cuda"]}))
        stack.enter_context(mock.patch.object(vectors, "KEPT_DOUBLE", 1 << 40))
        stack.enter_context(mock.patch.object(backends, "ranker", lambda _: ranker))
        yield passes


def lines(passes: dict[str, Counter[str]]) -> list[str]:
    """A table of them, with their sum."""
    total: Counter[str] = Counter()
    for found in passes.values():
        total.update(found)
    rows = [["pass", *COLUMNS]]
    for name, found in (*passes.items(), ("all", total)):
        rows.append([name, *(form.format(found[key]) for key, form in COLUMNS.items())])
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, width, strict=True)))
        for row in rows
    ]
