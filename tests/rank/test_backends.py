"""Back-ends: their table, the one that is chosen, and the same values as the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vsebench as vb
from tests.graded_worlds import same_values, vector_world
from tests.messages import Refuses
from vsebench.errors import MissingPackage, UsageError
from vsebench.rank import backends
from vsebench.rank import order as ordering

NAMES = ("cider:CS@30", "cider:CS[captions=all]@100", "cider:Kendall[gt=out]", "cider:NCS@5", "cider:SR[m=4]@3")


@pytest.mark.parametrize(
    "name", ["nmpy", "x", "numpy:cpu", "torch:gpu", "torch:", "torch:cuda:", "torch:cuda:x", "torch:cpu:0"]
)
def test_unknown_name(name: str, refuses: Refuses) -> None:
    refuses(UsageError, vb.evaluate, np.eye(3), np.eye(3), captions_per_image=1, backend=name)


def test_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    absent = dataclasses.replace(backends.BACKENDS["numpy"], module="no_such_module", install="'vsebench[gpu]'")
    monkeypatch.setitem(backends.BACKENDS, "numpy", absent)
    refuses(MissingPackage, vb.evaluate, np.eye(3), np.eye(3), captions_per_image=1, backend="numpy")


def test_orders_of_another_back_end_give_the_same_values() -> None:
    same_values(*vector_world(), NAMES, block=16, order=ordering.Order(ordering.order))
