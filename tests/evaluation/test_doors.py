"""Every way in gives the same values: files, arrays, matrices, lists, back-ends, threads, tiles, workers, batches.

The worlds have vectors of small integers, so that scores tie and are exact in every type.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.evaluation.engines import METRICS, N
from vsebench.evaluation import cuts
from vsebench.graded import engine as graded
from vsebench.rank import count
from vsebench.results.report import Report

WORLDS = ("small integers", "few scores")
SAME: dict[str, Any] = {"captions_per_image": 2, "metrics": METRICS, "resamples": 20, "trust": True}
SMALL = ((count, "TILE_COLUMNS", 37), (count, "TILE_BYTES", 8 << 10), (graded, "MOST_SCORES", 2000))
Door = Callable[[Path, dict[str, Any]], dict[str, Any] | Report]
DOORS: dict[str, Door] = {}
SPLIT = vb.Split("custom", np.arange(N), np.arange(2 * N), np.arange(2 * N) // 2)


def door(name: str, *marks: pytest.MarkDecorator) -> Callable[[Door], Door]:
    """Add a door: of a folder and a world, the arguments of ``evaluate``, or a report."""

    def add(function: Door) -> Door:
        DOORS[name] = function
        MARKS[name] = marks
        return function

    return add


MARKS: dict[str, tuple[pytest.MarkDecorator, ...]] = {}


def arrays(world: dict[str, Any]) -> dict[str, Any]:
    return {"image_embeddings": world["images"], "text_embeddings": world["captions"]}


@door("npz")
def _npz(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    np.savez(folder / "e.npz", **arrays(world))
    return {"images": folder / "e.npz"}


@door("mapped npy")
def _npy(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    np.save(folder / "i.npy", world["images"].astype(np.float16))
    np.save(folder / "t.npy", world["captions"])
    return {"images": folder / "i.npy", "texts": folder / "t.npy"}


@door("HDF5")
def _hdf5(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(folder / "e.h5", "w") as file:
        for name, array in arrays(world).items():
            file[name] = array
    return {"images": folder / "e.h5"}


@door("safetensors")
def _safetensors(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    numpy.save_file(arrays(world), folder / "e.safetensors")
    return {"images": folder / "e.safetensors"}


@door("torch file")
def _torch_file(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.save({name: torch.from_numpy(array) for name, array in arrays(world).items()}, folder / "e.pt")
    return {"images": folder / "e.pt"}


@door("float64 and strided")
def _strided(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    wide = np.zeros((2 * N, world["images"].shape[1]))
    wide[::2] = world["images"]
    return {"images": wide[::2], "texts": np.asfortranarray(world["captions"])}


@door("matrix")
def _matrix(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    return {"scores": world["scores"]}


@door("matrix in a file, a direction each")
def _matrices(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    np.save(folder / "one.npy", world["scores"].astype(np.float32))
    np.save(folder / "two.npy", world["scores"])
    return {"scores": {"i2t": folder / "one.npy", "t2i": folder / "two.npy"}}


@door("lists in files")
def _lists(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    vb.evaluate(scores=world["scores"], **SAME | {"metrics": "R@1", "ci": 0}, save_run=folder / "r.trec", depth=2 * N)
    return {"run": {d: folder / f"r.{d}.trec" for d in ("i2t", "t2i")}, "split": SPLIT}


@door("lists in memory")
def _lists_in_memory(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    """Best first, with scores, which say what ties."""
    run: dict[str, dict[str, dict[str, float]]] = {}
    for direction, scores in (("i2t", world["scores"]), ("t2i", world["scores"].T)):
        order = np.argsort(-scores, axis=1, kind="stable")
        run[direction] = {str(q): {str(item): scores[q, item] for item in row} for q, row in enumerate(order)}
    return {"run": run, "split": SPLIT}


@door("threads")
def _threads(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    return {"images": world["images"], "texts": world["captions"], "threads": 3}


@door("small tiles")
def _tiles(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    return {"images": world["images"], "texts": world["captions"], "threads": 2}


@door("torch")
def _torch(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    pytest.importorskip("torch", reason="torch is not installed")
    return {"images": world["images"], "texts": world["captions"], "backend": "torch:cpu"}


@door("faiss")
def _faiss(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    pytest.importorskip("faiss", reason="faiss is not installed")
    return {"images": world["images"], "texts": world["captions"], "backend": "faiss"}


@door("Dask", pytest.mark.slow)
def _dask(folder: Path, world: dict[str, Any]) -> dict[str, Any]:
    np.savez(folder / "e.npz", **arrays(world))
    np.save(folder / "gains.npy", world["gains"])
    return {"images": folder / "e.npz", "gains": str(folder / "gains.npy"), "engine": "dask"}


@door("batches")
def _batches(folder: Path, world: dict[str, Any]) -> Report:
    options = {name: value for name, value in SAME.items() if name != "trust"}
    validation = vb.Accumulator(gains=world["gains"], similarity="dot", **options)
    for rows in np.array_split(np.random.default_rng(0).permutation(2 * N), 7):
        validation.update(world["images"][rows // 2], world["captions"][rows], rows)
    return validation.compute()


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Vectors, the matrix of their scores, gains, and the report of the arrays with one thread."""
    rng = np.random.default_rng(WORLDS.index(request.param))
    most = 4 if request.param == "small integers" else 2
    images = rng.integers(1 - most, most, (N, 6)).astype(np.float32)
    captions = np.repeat(images, 2, axis=0) + rng.integers(1 - most, most, (2 * N, 6)).astype(np.float32)
    captions[~captions.any(axis=1), 0] = images[~images.any(axis=1), 0] = 1
    scores = images.astype(np.float64) @ captions.T.astype(np.float64)
    found = {"images": images, "captions": captions, "scores": scores, "gains": rng.integers(0, 9, scores.shape) / 4}
    wanted = vb.evaluate(images, captions, gains=found["gains"], similarity="dot", threads=1, **SAME)
    return {**found, "wanted": wanted}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in DOORS])
def test_values_are_those_of_arrays_with_one_thread(
    name: str, world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    if name == "small tiles":
        for module, constant, value in SMALL:
            monkeypatch.setattr(module, constant, value)
    found = DOORS[name](tmp_path, world)
    if not isinstance(found, Report):
        if name == "Dask":
            monkeypatch.setattr(cuts, "SCORES", N * 2 * N // 6)  # six shards a pass
            found["scheduler"] = request.getfixturevalue("cluster").scheduler_address
        vectors = {} if {"scores", "run"} & set(found) else {"similarity": "dot"}
        same = {key: value for key, value in SAME.items() if "split" not in found or key != "captions_per_image"}
        found = vb.evaluate(**{"gains": world["gains"], **found}, **vectors, **same)
    wanted: Report = world["wanted"]
    assert [(str(r.metric), r.direction) for r in found.results] == [
        (str(r.metric), r.direction) for r in wanted.results
    ]
    for one, other in zip(found.results, wanted.results, strict=True):
        key = str(one.metric), one.direction
        assert one.value == other.value and one.interval == other.interval, key
        assert (one.per_query is None) == (other.per_query is None), key
        if one.per_query is not None:
            assert np.array_equal(one.per_query, other.per_query, equal_nan=True), key
