"""``--engine dask``: memory of the workers, and pages of mapped files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.memory import resident
from vsebench import memory
from vsebench.data.formats import spool
from vsebench.errors import BadInput, DeviceFault, LowMemory, VsebenchError
from vsebench.evaluation import cuts, dask_engine, dask_work, inputs, shards
from vsebench.evaluation.options import Given, Options
from vsebench.evaluation.plan import make_plan

pytestmark = pytest.mark.slow  # clusters are started


def test_own_workers_are_not_ended_for_mapped_files() -> None:
    """The limit of a worker of Dask counts pages of mapped files, which are no memory that is taken."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    with dask_engine._client(Options(engine="dask", workers=1)) as client:
        client.wait_for_workers(1, timeout=60)
        assert [w["memory_limit"] for w in client.scheduler_info()["workers"].values()] == [0]


def test_a_worker_keeps_no_pages_of_mapped_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not memory.used_memory():
        pytest.skip("the memory of a process is known on Linux")
    monkeypatch.setattr(spool, "SHARE", 1 << 62)  # nothing is small enough to be read into memory
    rng = np.random.default_rng(0)
    images = rng.standard_normal((400, 512), dtype=np.float32)
    texts = np.repeat(images, 50, axis=0) + rng.random((20_000, 512), np.float32)
    for name, array in (("i.npy", images), ("t.npy", texts)):  # 1 and 39 MiB
        np.save(tmp_path / name, array)
    paths = str(tmp_path / "i.npy"), str(tmp_path / "t.npy")
    options = Options(metrics="R@1", ci=0, captions_per_image=50)
    given = Given(images=paths[0], texts=paths[1])
    data = inputs.read(given, options)
    plan = make_plan(data, options)
    job = shards.make_job(shards.source_of(given, options), data, plan, options)
    shards.compute(job, cuts.shards_of(plan, data)[0])
    kept = shards._kept[0].data.scorer
    assert kept is not None
    after = resident()
    memory.release(*kept.mapped)
    assert after - resident() < 5
    kept.mapped[1].sum()
    assert resident() - after > 30, "a page that is read counts"


@pytest.mark.parametrize(
    ("error", "memory", "elsewhere"),
    [
        (LowMemory("needs 2 GiB"), None, True),
        (LowMemory("needs 2 GiB"), 1 << 30, False),
        (DeviceFault("its products are wrong"), 1 << 30, True),
        (BadInput("not a number"), None, False),
    ],
)
def test_what_another_worker_may_compute(
    error: VsebenchError, memory: int | None, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(name="w", address="tcp://w"))

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(shards, "compute", fail)
    job: Any = SimpleNamespace(options=SimpleNamespace(budget=memory), command=False)
    with pytest.raises(dask_work.Failed if elsewhere else type(error)) as found:
        dask_work.attempt(job, cuts.Shard("scan", "i2t", 0, (0, 9), (0, 9)))
    assert not elsewhere or found.value.args == ("w", "tcp://w", error.what)
