"""A cluster of Dask, and small files with many ties, for tests of ``--engine dask``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vsebench.evaluation import engines

N = 90  # images, with two captions each
METRICS = "recall,MedR,mAP@R,matrix:NCS@5,matrix:CS@10,matrix:nDCG@20,matrix:Kendall,matrix:SR[m=3]@5"
SETTINGS: dict[str, Any] = {"captions_per_image": 2, "resamples": 20, "metrics": METRICS, "trust": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of small integers, whose scores have many ties, and gains in steps of 1/4."""
    rng = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("engine")
    images = rng.integers(-3, 4, (N, 6)).astype(np.float32)
    captions = np.repeat(images, 2, axis=0) + rng.integers(-2, 3, (2 * N, 6))
    captions[~captions.any(axis=1), 0] = images[~images.any(axis=1), 0] = 1
    np.savez(path / "e.npz", image_embeddings=images, text_embeddings=captions.astype(np.float32))
    np.save(path / "scores.npy", rng.integers(0, 30, (N, 2 * N)).astype(np.float32))
    np.save(path / "gains.npy", rng.integers(0, 9, (N, 2 * N)).astype(np.float32) / 4)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, so that no shards are found that another test has left, and six shards a pass."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(engines, "SHARD_SCORES", N * 2 * N // 6)
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A scheduler and two workers, which start again when they are killed."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as found:
        yield found
