"""``--engine dask``: memory of the workers."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.messages import Pinned
from vsebench.errors import BadInput, DeviceFault, LowMemory, WorkersLost
from vsebench.evaluation import cuts, dask_engine, shards
from vsebench.evaluation.request import request

pytestmark = pytest.mark.slow  # clusters are started


def test_own_workers_are_not_ended_for_mapped_files() -> None:
    """The limit of a worker of Dask counts pages of mapped files, which are no memory that is taken."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    with dask_engine._client(request({"engine": "dask", "workers": 1})) as client:
        client.wait_for_workers(1, timeout=60)
        assert [w["memory_limit"] for w in client.scheduler_info()["workers"].values()] == [0]


@pytest.mark.parametrize("error", [LowMemory("needs 2 GiB"), DeviceFault("wrong products"), RuntimeError("CUDA error")])
def test_what_another_worker_may_compute(error: Exception, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    with pytest.raises(WorkersLost) as caught:
        attempted(error, monkeypatch)
    pinned(re.sub(r"worker \w \(.*?\)", "worker N (HOST)", str(caught.value)))
    wrong = attempted(BadInput("not a number", where="f.npz", fix="mend it"), monkeypatch)
    assert isinstance(wrong, BadInput) and (wrong.where, wrong.fix) == ("f.npz", "mend it")
    assert re.fullmatch(r"on worker w \(.*\): not a number", wrong.what)


def attempted(error: Exception, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a task gives whose shard fails."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(name="w"))

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(shards, "compute", fail)
    job: Any = SimpleNamespace(command=False)
    return dask_engine.attempt(cuts.Shard("scan", "i2t", 0, (0, 9), (0, 9)), job)
