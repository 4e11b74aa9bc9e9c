"""Ways in: files, arrays, matrices, lists, back-ends, threads, tiles, workers and batches give the same values.

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
from vsebench.evaluation import engines
from vsebench.graded import engine as graded
from vsebench.rank import count
from vsebench.results.report import Report

SAME: dict[str, Any] = {"captions_per_image": 2, "metrics": METRICS, "resamples": 20, "trust": True}
SMALL = ((count, "TILE_COLUMNS", 37), (count, "TILE_BYTES", 8 << 10), (graded, "MAX_BLOCK_SCORES", 2000))
Door = Callable[[Path, dict[str, Any]], dict[str, Any] | Report]
DOORS: dict[str, Door] = {}
SPLIT = vb.TestSet.captioned("custom", np.arange(N), np.arange(2 * N), np.arange(2 * N) // 2)


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


def _how(**options: Any) -> Door:
    """The arrays, evaluated in another way."""
    return lambda folder, world: {"images": world["images"], "texts": world["captions"], **options}


door("threads")(_how(threads=3))
door("small tiles")(_how(threads=2))
door("torch")(_how(backend="torch:cpu"))
door("faiss")(_how(backend="faiss"))


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


def world(most: int, seed: int) -> dict[str, Any]:
    """Vectors of integers up to ``most``, the matrix of their scores, and gains."""
    rng = np.random.default_rng(seed)
    images = rng.integers(1 - most, most, (N, 6)).astype(np.float32)
    captions = np.repeat(images, 2, axis=0) + rng.integers(1 - most, most, (2 * N, 6)).astype(np.float32)
    captions[~captions.any(axis=1), 0] = images[~images.any(axis=1), 0] = 1
    scores = images.astype(np.float64) @ captions.T.astype(np.float64)
    return {"images": images, "captions": captions, "scores": scores, "gains": rng.integers(0, 9, scores.shape) / 4}


def through(name: str, world: dict[str, Any], folder: Path, **options: Any) -> Report:
    """The report of a world by one door; the door "Dask" needs the address of a scheduler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(folder / "cache"))
        for module, constant, value in SMALL if name == "small tiles" else ():
            patch.setattr(module, constant, value)
        patch.setattr(engines, "SHARD_SCORES", N * 2 * N // 6)  # six shards a pass
        if name in ("torch", "faiss"):
            pytest.importorskip(name, reason=f"{name} is not installed")
        found = DOORS[name](folder, world)
        if isinstance(found, Report):
            return found
        vectors = {} if {"scores", "run"} & set(found) else {"similarity": "dot"}
        same = {key: value for key, value in SAME.items() if "split" not in found or key != "captions_per_image"}
        return vb.evaluate(**{"gains": world["gains"], **found, **vectors, **same, **options})


def same_through_doors(names: Any, world: dict[str, Any], folder: Path, wanted: Report, **options: Any) -> None:
    """Values, those of queries, and intervals are equal by every door, bit for bit."""
    for name in names:
        found = through(name, world, folder, **options)
        assert [(str(r.metric), r.direction) for r in found.results] == [
            (str(r.metric), r.direction) for r in wanted.results
        ]
        for one, other in zip(found.results, wanted.results, strict=True):
            key = name, str(one.metric), one.direction
            assert one.value == other.value and one.interval == other.interval, key
            assert (one.per_query is None) == (other.per_query is None), key
            if one.per_query is not None:
                assert np.array_equal(one.per_query, other.per_query, equal_nan=True), key
