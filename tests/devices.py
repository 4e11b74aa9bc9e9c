"""What tests of the torch back-end share: devices, and scans that must agree. Importing it needs no torch."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Scorer

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


def same_observations(scorer: Scorer, requests: list[Targets], device: Any, **options: Any) -> None:
    """Ranks and lists of the scan of a device are those of the reference."""
    from vsebench.rank.order import Order
    from vsebench.rank.torch_backend import order, scan

    want = observe(scorer, requests, threads=2, **options)
    found = observe(
        scorer,
        requests,
        threads=2,
        scan=partial(scan.scan, device),
        order=Order(partial(order.order_of, device)),
        **options,
    )
    assert set(found) == set(want)
    for direction, expected in want.items():
        assert set(found[direction].ranks) == set(expected.ranks)
        for view, ranks in expected.ranks.items():
            got = found[direction].ranks[view]
            assert np.array_equal(got.rank, ranks.rank) and np.array_equal(got.tied, ranks.tied), (direction, view)
        assert (found[direction].top is None) == (expected.top is None)
        if expected.top is not None:
            top = found[direction].top
            assert np.array_equal(top.items, expected.top.items) and top.items.dtype == expected.top.items.dtype
            assert np.array_equal(top.scores, expected.top.scores)
