"""HDF5 files: every kind of array, and damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vsebench.errors import BadInput
from vsebench.files.hdf5_file import hdf5_members

h5py = pytest.importorskip("h5py")

RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((50, 8)).astype(np.float32)
ARRAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (VECTORS, {}),
    "big endian": (VECTORS.astype(">f8"), {}),
    "half": (VECTORS.astype(np.float16), {}),
    "gzip": (VECTORS, {"chunks": (7, 3), "compression": "gzip", "shuffle": True, "fletcher32": True}),
    "chunked": (VECTORS, {"chunks": (7, 8)}),
    "empty": (np.empty((0, 8), np.float32), {}),
    "integers": (np.arange(50), {}),
    "bytes": (np.array([f"id {i}".encode() for i in range(50)]), {}),
    "strings": (np.array([f"é{i}" for i in range(50)], dtype=h5py.string_dtype()), {}),
    "scalar": (np.float32(3), {}),
    "truth": (np.arange(50) % 2 == 0, {}),
}


@pytest.mark.parametrize("how", [{}, {"libver": "latest"}, {"userblock_size": 1024}], ids=str)
def test_every_kind_of_array_is_that_of_h5py(how: dict[str, Any], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", **how) as file:
        for name, (array, options) in ARRAYS.items():
            file.create_dataset(f"group/{name}", data=array, **options)
    members = {member.base: member for member in hdf5_members(tmp_path / "a.h5")}
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(members) == set(ARRAYS)
        for name, member in members.items():
            node = file[f"group/{name}"]
            want = node.asstr()[...].astype(str) if name in ("strings", "bytes") else node[...]
            found = member.load()
            assert np.array_equal(found, want) and found.dtype == want.dtype and found.shape == member.shape, name


def test_damaged_files_end_with_an_error_or_an_array(tmp_path: Path) -> None:
    """Bytes changed at random in small files of both layouts."""
    rng = np.random.default_rng(1)
    for how in ({}, {"libver": "latest"}):
        with h5py.File(tmp_path / "a.h5", "w", **how) as file:
            file.create_dataset("a", data=VECTORS[:4], chunks=(2, 8), compression="gzip")
            file["ids"] = [f"id {i}" for i in range(4)]
        good = (tmp_path / "a.h5").read_bytes()
        for _ in range(5):
            data = bytearray(good)
            for at in rng.integers(0, len(data), 20):
                data[at] = rng.integers(256)
            (tmp_path / "b.h5").write_bytes(bytes(data))
            try:
                for member in hdf5_members(tmp_path / "b.h5"):
                    member.load()
            except BadInput as error:
                assert "b.h5" in str(error) and "fix: " in str(error)


def test_ids_as_bytes_of_one_length_are_utf_8(tmp_path: Path) -> None:
    names = ["é1", "ß2", "猫3"]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["image_ids"] = np.array([name.encode() for name in names])
    assert hdf5_members(tmp_path / "a.h5")[0].load().tolist() == names
