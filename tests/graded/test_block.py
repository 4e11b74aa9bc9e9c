"""What a block of queries computes for its metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.graded_worlds import FakeGains
from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.graded.engine import run
from vsebench.metrics import metric, parse
from vsebench.metrics.declare import Option
from vsebench.rank.scorers import Dot
from vsebench.types import Direction, Split


@pytest.mark.parametrize("images", [20, 100, 200])
@pytest.mark.parametrize(
    "names", [("Kendall",), ("CS@1000", "nDCG@10"), ("Kendall", "SR[m=2]@5", "CS@100", "nDCG@300")]
)
def test_gains_are_made_once(images: int, names: tuple[str, ...]) -> None:
    """Also where metrics read the complete ranking of a small gallery."""
    made: list[int] = []

    class Counted(FakeGains):
        def rows(self, direction: Direction, start: int, stop: int) -> Any:
            found = super().rows(direction, start, stop)
            made.append(found.size)
            return found

    rng = np.random.default_rng(images)
    one = np.arange(images)
    dot = Dot(*(rng.normal(size=(images, 8)).astype(np.float32) for _ in range(2)))
    gains = {"cider": Counted(rng.random((images, images)))}
    run(dot, Split("custom", one, one, one), [parse(name) for name in names], gains)
    assert sum(made) <= 2 * images**2


@pytest.mark.usefixtures("new_metrics")
def test_a_metric_may_read_the_gain_order_and_the_pseudo_positives(refuses: Refuses) -> None:
    """A new metric gets the fields it reads, and its lowest gain is checked whatever it reads."""

    def both(gain_order: Any, pseudo_positive: Any, ks: Any) -> Any:
        assert (np.sort(gain_order.items, axis=1) < pseudo_positive.shape[1]).all()
        return np.stack([pseudo_positive[:, :k].sum(1) for k in ks], 1)

    def ideal_alone(ideal: Any, ks: Any) -> Any:
        return np.stack([ideal[:, :k].sum(1) for k in ks], 1)

    facts: dict[str, Any] = {"formula": "x", "cite": (), "ks": (5,)}
    metric("Both@{k}", options={"m": Option(("5",), "x", number=True)}, **facts)(both)
    metric("IdealAlone@{k}", lowest_gain=0.0, **facts)(ideal_alone)
    rng = np.random.default_rng(1)
    one = np.arange(300)
    split = Split("custom", one, one, one)
    dot = Dot(*(rng.normal(size=(300, 8)).astype(np.float32) for _ in range(2)))
    gains = {"cider": FakeGains(rng.normal(size=(300, 300)))}
    found = run(dot, split, [parse("cider:Both@5"), parse("SR[m=5]@5")], gains)
    assert all(np.isfinite(v.values).all() for v in found.values())
    refuses(BadInput, run, dot, split, [parse("cider:IdealAlone@5")], gains)
