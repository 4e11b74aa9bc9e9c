"""Back-ends: their table, the one that is chosen, and the same values as the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vsebench as vb
from tests.graded_worlds import FakeGains, large_world
from vsebench.errors import MissingPackage, UsageError
from vsebench.graded.run import run
from vsebench.metrics import parse
from vsebench.rank import backends, full_order
from vsebench.rank.scorers import Dot

NAMES = ("cider:CS@30", "cider:CS[captions=all]@100", "cider:Kendall[gt=out]", "cider:NCS@5", "cider:SR[m=4]@3")


@pytest.mark.parametrize(
    ("name", "message"),
    [("nmpy", "--backend is 'nmpy' (fix: use numpy)"), ("x", "--backend is 'x' (fix: use auto, numpy")],
)
def test_unknown_name(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        vb.evaluate(np.eye(3), np.eye(3), captions_per_image=1, backend=name)
    assert f"{caught.value.what} (fix: {caught.value.fix})".startswith(message)


def test_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = dataclasses.replace(backends.BACKENDS["numpy"], module="no_such_module", install="'vsebench[gpu]'")
    monkeypatch.setitem(backends.BACKENDS, "numpy", absent)
    with pytest.raises(MissingPackage, match=r"the back-end numpy needs no_such_module") as caught:
        vb.evaluate(np.eye(3), np.eye(3), captions_per_image=1, backend="numpy")
    assert caught.value.fix == "pip install 'vsebench[gpu]'"


def test_report_names_the_back_end() -> None:
    report = vb.evaluate(np.eye(3), np.eye(3), captions_per_image=1, metrics="R@1", ci=0, backend="numpy")
    assert report.provenance is not None and report.provenance["backend"] == "numpy"


def test_orders_block_by_block_give_the_values_of_shared_products() -> None:
    world = large_world(70, 3, seed=5)
    rng = np.random.default_rng(5)
    images, captions = (rng.integers(-4, 5, (n, 24)).astype(np.float32) for n in world.scores.shape)
    metrics, gains = [parse(name) for name in NAMES], {"cider": FakeGains(world.gains)}
    scorer = Dot(images, captions)
    expected = run(scorer, world.split, metrics, gains, threads=2)
    others = [b for name, b in backends.BACKENDS.items() if b.installed and name != "numpy"]
    orders = [ranker.order for b in others if (ranker := b.make("cpu") if b.devices else b.make()).order is not None]
    for order_of in (full_order.order_of, *orders):
        found = run(scorer, world.split, metrics, gains, threads=2, block=16, order_of=order_of)
        for key, values in expected.items():
            assert np.array_equal(found[key].values, values.values, equal_nan=True), key
