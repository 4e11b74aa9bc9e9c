"""Every way in gives the same values, with and without further stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.doors import DOORS, MARKS, SAME, same_through_doors, through, world
from tests.evaluation.engines import N


@pytest.fixture(scope="module", params=[(4, 0), (2, 1)], ids=["small integers", "few scores"])
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A world, and the report of its arrays with one thread."""
    found = world(*request.param)
    arrays = found["images"], found["captions"]
    return {**found, "wanted": vb.evaluate(*arrays, gains=found["gains"], similarity="dot", threads=1, **SAME)}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in DOORS])
def test_values_are_those_of_arrays_with_one_thread(
    name: str, made: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    more = {"scheduler": request.getfixturevalue("cluster").scheduler_address} if name == "Dask" else {}
    same_through_doors([name], made, tmp_path, made["wanted"], **more)


SECOND = np.random.default_rng(3).integers(0, 12, (N, 2 * N)).astype(float)
STAGES: dict[str, dict[str, Any]] = {
    "csls": {"normalise": "csls:k=4"},
    "querybank": {"normalise": "qb:beta=0.2"},
    "dual softmax": {"normalise": "dsl:beta=0.2"},
    "fused": {"fuse": [SECOND], "weights": "2,1"},
    "re-ranked": {"rerank": {"i2t": SECOND, "t2i": SECOND}, "rerank_depth": 9},
}


@pytest.mark.parametrize("stage", STAGES)
def test_values_of_further_stages(stage: str, made: dict[str, Any], tmp_path: Path) -> None:
    wanted = through("threads", made, tmp_path, **STAGES[stage])
    assert [r.value for r in wanted.results] != [r.value for r in made["wanted"].results]
    same_through_doors(("npz", "matrix", "torch", "faiss", "small tiles"), made, tmp_path, wanted, **STAGES[stage])
    lists = {**STAGES[stage], "metrics": "R@1,hubness"}  # what an index is searched for
    same_through_doors(("torch", "faiss"), made, tmp_path, through("threads", made, tmp_path, **lists), **lists)
