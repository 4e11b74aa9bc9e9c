"""``--engine dask`` with back-ends that only the workers have: their devices, what is missing there, the provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import vsebench as vb
from tests.commands import cli
from tests.evaluation.engines import SETTINGS
from tests.gates import gate
from tests.messages import Pinned, Refuses
from tests.reports import same_reports
from vsebench.errors import MissingPackage, UsageError
from vsebench.evaluation import assemble
from vsebench.rank import backends


@pytest.fixture(autouse=True)
def bare(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No torch and FAISS where the command runs."""
    for name in ("torch", "faiss"):
        monkeypatch.setitem(backends.BACKENDS, name, replace(backends.BACKENDS[name], module="not_installed_here"))


def with_gpus(count: int, dask_worker: Any) -> None:
    """Let a worker find so many GPUs, on which numpy ranks; it is started as for the one of its number."""
    import os
    from dataclasses import replace

    import torch

    from vsebench.rank import backends
    from vsebench.rank.torch_backend import settings

    os.environ["LOCAL_RANK"] = str(dask_worker.name)
    torch.cuda.is_available = lambda: count > 0
    torch.cuda.device_count = lambda: count
    settings.described = lambda name: f"GPU of {name}"
    settings.fault = lambda _: None
    backends.has_driver = lambda: True
    backends._driver = lambda: "1.2"

    def make(device: str | None) -> backends.Ranker:
        settings.device_of(device)
        return backends._numpy()

    backends.BACKENDS["torch"] = replace(backends.BACKENDS["torch"], make=make)


def without(module: str) -> None:
    """Let a worker not have the package of a back-end."""
    from dataclasses import replace

    from vsebench.rank import backends

    backends.BACKENDS[module] = replace(backends.BACKENDS[module], module="not_installed")


Started = Callable[..., str]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Starts two workers, in which a function is called; gives the address of their scheduler."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    for name in ("LOCAL_RANK", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, memory_limit=0
    ) as cluster:

        def start(function: Any = None, *arguments: Any) -> str:
            if function is not None:
                with distributed.Client(cluster, set_as_default=False) as client:
                    client.run(function, *arguments)
            return str(cluster.scheduler_address)

        yield start


def given(folder: Path, **more: Any) -> dict[str, Any]:
    return {**SETTINGS, "gains": str(folder / "gains.npy"), "images": folder / "e.npz", **more}


@pytest.mark.parametrize("backend", gate(["torch", "torch:cuda", "auto"], "auto"))
def test_workers_take_the_gpus_of_their_rank(backend: str, folder: Path, started: Started, tmp_path: Path) -> None:
    where = started(with_gpus, 2)
    found = vb.evaluate(**given(folder, engine="dask", scheduler=where, backend=backend))
    same_reports(found, vb.evaluate(**given(folder)))
    assert found.provenance["backend"] == "torch:cuda:0, torch:cuda:1"
    assert found.provenance["workers"] == [
        {"workers": 1, "backend": f"torch:cuda:{n}", "device": f"GPU of cuda:{n}, driver 1.2"} for n in range(2)
    ]
    assert vb.load(saved(found, tmp_path)).provenance == json.loads(json.dumps(found.provenance))
    said = "torch:cuda:0 on 1 worker (GPU of cuda:0, driver 1.2); torch:cuda:1 on 1 worker (GPU of cuda:1, driver 1.2)"
    assert assemble.ranked_by(found.provenance) == said
    vb.page(found, ci=0).save(tmp_path / "page.html")
    assert f"ranked by {said}" in (tmp_path / "page.html").read_text(encoding="utf-8")


def saved(report: Any, folder: Path) -> Path:
    report.save(folder / "report.json")
    return folder / "report.json"


def without_host(said: object) -> str:
    """A message without the worker and its machine."""
    return re.sub(r"worker \w \(.*?\)", "worker N (HOST)", str(said))


def test_a_number_is_that_of_every_worker(folder: Path, started: Started, pinned: Pinned) -> None:
    where = started(with_gpus, 2)
    found = vb.evaluate(**given(folder, engine="dask", scheduler=where, backend="torch:cuda:1"))
    device = "GPU of cuda:1, driver 1.2"
    assert found.provenance["workers"] == [{"workers": 2, "backend": "torch:cuda:1", "device": device}]
    with pytest.raises(UsageError) as caught:
        vb.evaluate(**given(folder, engine="dask", scheduler=where, backend="torch:cuda:2"))
    pinned(without_host(caught.value))


def test_what_workers_do_not_have(folder: Path, started: Started, pinned: Pinned) -> None:
    """A device or package that is named ends the run; ``auto`` takes numpy there."""
    where = started()
    elsewhere = {"engine": "dask", "scheduler": where}
    own = vb.evaluate(**given(folder, **elsewhere))
    assert own.provenance["backend"] == "numpy"
    assert own.provenance["workers"] == [{"workers": 2, "backend": "numpy"}]
    with pytest.raises(UsageError) as caught:
        vb.evaluate(**given(folder, **elsewhere, backend="torch:cuda"))
    assert caught.value.where == "engine='dask'"
    pinned(without_host(caught.value))
    words = ["eval", str(folder / "e.npz"), "--captions-per-image", "2", "--metrics", "R@1", "--trust", "--ci", "0"]
    pinned(without_host(cli(*words, "--engine", "dask", "--scheduler", where, "--backend", "torch:cuda", code=2).err))
    started(without, "faiss")
    with pytest.raises(MissingPackage) as missing:
        vb.evaluate(**given(folder, **elsewhere, backend="faiss"))
    pinned(without_host(missing.value))
    assert str(missing.value.fix).endswith("[cpu]'")


def test_without_workers_the_package_is_needed_here(folder: Path, refuses: Refuses) -> None:
    for backend in ("torch", "torch:cuda", "faiss"):
        refuses(MissingPackage, vb.evaluate, **given(folder, backend=backend))
    refuses(UsageError, vb.evaluate, **given(folder, backend="torch:tpu", engine="dask"))


def test_shards_that_were_finished_before_name_no_worker() -> None:
    assert assemble.of_workers("torch:cuda", []) == {"backend": "torch:cuda", "workers": []}
    for facts in ({}, {"workers": 3}, {"workers": [3, {"workers": "x"}, {}]}, {"workers": []}):
        assert assemble.ranked_by(facts) == ""
