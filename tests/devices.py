"""What tests of the torch back-end share: devices, and scans that must agree. Importing it needs no torch."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Scorer, System
from vsebench.types import Both

NO_GPU = "no CUDA device"


def _cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(not _cuda(), reason=NO_GPU)]
DEVICES = ("cpu", pytest.param("cuda", marks=needs_gpu))

GRADED = (
    "cider:CS@30", "cider:CS[captions=all]@100", "cider:Kendall[gt=out]", "cider:NCS@5", "cider:SR[m=4]@3",
    "cider:nDCG[on=folds]@5", "cider:CS[on=block]@20",
)  # fmt: skip


def same_observations(scorer: Scorer, targets: Both[list[Targets]], device: Any, **options: Any) -> None:
    """Ranks and lists of the scan of a device are those of the reference."""
    from vsebench.rank.order import Order
    from vsebench.rank.torch_backend import order, scan

    by: dict[str, Any] = {"scan": partial(scan.scan, device), "order": Order(partial(order.order_of, device))}
    wanted, found = (observe(System(scorer), targets, threads=2, **options, **how) for how in ({}, by))
    for side, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert set(one.ranks) == set(other.ranks)
        for view, want in other.ranks.items():
            got = one.ranks[view]
            assert np.array_equal(got.rank, want.rank) and np.array_equal(got.tied, want.tied), (side, view)
        assert (one.top is None) == (other.top is None)
        if one.top is not None and other.top is not None:
            assert np.array_equal(one.top.items, other.top.items) and one.top.items.dtype == other.top.items.dtype
            assert np.array_equal(one.top.scores, other.top.scores)
