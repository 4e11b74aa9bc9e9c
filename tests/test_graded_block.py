"""What a block of queries looks up for its metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.graded_worlds import FakeGains
from vsebench.errors import BadInput
from vsebench.graded.run import run
from vsebench.metrics import parse
from vsebench.rank.scorers import Dot
from vsebench.types import Direction, Split


@pytest.mark.parametrize("images", [20, 100, 200])
@pytest.mark.parametrize(
    "names", [("Kendall",), ("CS@1000", "nDCG@10"), ("Kendall", "SR[m=2]@5", "CS@100", "nDCG@300")]
)
def test_gains_are_made_once(images: int, names: tuple[str, ...]) -> None:
    """Also where a gallery is so small that all of it is the top of a ranking."""
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


def test_a_metric_may_look_at_the_order_and_the_extended_ground_truth() -> None:
    """What a metric of one's own asks for is there, and its limit on gains is kept, whatever it looks at."""
    from vsebench.metrics.graded import graded

    from vsebench.metrics.declare import GRADED, Option

    def both(falling: Any, members: Any, ks: Any) -> Any:
        assert (np.sort(falling.items, axis=1) < members.shape[1]).all()
        return np.stack([members[:, :k].sum(1) for k in ks], 1)

    def ideal_alone(ideal: Any, ks: Any) -> Any:
        return np.stack([ideal[:, :k].sum(1) for k in ks], 1)

    how: dict[str, Any] = {"formula": "x", "cite": (), "ks": (5,)}
    items, aliases = dict(GRADED._items), dict(GRADED._aliases)
    try:
        graded("Both@{k}", options={"m": Option(("5",), "x", number=True)}, **how)(both)
        graded("IdealAlone@{k}", lowest_gain=0.0, **how)(ideal_alone)
        rng = np.random.default_rng(1)
        one = np.arange(300)
        split = Split("custom", one, one, one)
        dot = Dot(*(rng.normal(size=(300, 8)).astype(np.float32) for _ in range(2)))
        gains = {"cider": FakeGains(rng.normal(size=(300, 300)))}
        found = run(dot, split, [parse("cider:Both@5"), parse("SR[m=5]@5")], gains)
        assert all(np.isfinite(v.values).all() for v in found.values())
        with pytest.raises(BadInput, match="it takes none below 0"):
            run(dot, split, [parse("cider:IdealAlone@5")], gains)
    finally:
        GRADED._items, GRADED._aliases = items, aliases
