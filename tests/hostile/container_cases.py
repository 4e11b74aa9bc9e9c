"""Files that are cut or damaged, have wrong headers, or have another format."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile import good
from tests.hostile.damage import Bomb, cut, flipped, folder_of, npy, shards, two_files, zipped
from tests.hostile.good import Case, npz, raw

X, Y = good.vectors()


def safetensors(folder: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """A safetensors file with a changed header."""
    header: dict[str, Any] = {}
    start = 0
    for name, array in (("image_embeddings", X), ("text_embeddings", Y)):
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    change(header)
    text = json.dumps(header).encode()
    return raw(folder, "e.safetensors", struct.pack("<Q", len(text)) + text + X.tobytes() + Y.tobytes())


def parquet(folder: Path, share: float = 1.0, **change: Any) -> list[str]:
    """A parquet table, or a share of it, with changed columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {
        "id": [*range(60), *range(300)],
        "modality": ["image"] * 60 + ["text"] * 300,
        "embedding": [*X.tolist(), *Y.tolist()],
        "image_id": [*range(60), *(np.arange(300) // 5).tolist()],
    }
    columns.update(change)
    stream = io.BytesIO()
    pq.write_table(pa.table({k: v for k, v in columns.items() if v is not None}), stream)
    data = stream.getvalue()
    return raw(folder, "e.parquet", data[: int(share * len(data))])


def hdf5(folder: Path, share: float = 1.0, **change: Any) -> list[str]:
    import h5py

    path = folder / "e.h5"
    with h5py.File(path, "w") as file:
        for name, array in good.arrays(**change).items():
            file[name] = array
    data = path.read_bytes()
    return raw(folder, "e.h5", data[: int(share * len(data))])


def outside(folder: Path) -> list[str]:
    """An HDF5 data set whose data is another file."""
    import h5py

    (folder / "secret").write_bytes(X.tobytes())
    with h5py.File(folder / "e.h5", "w") as file:
        file["text_embeddings"] = Y
        external = [(str(folder / "secret"), 0, X.nbytes)]
        file.create_dataset("image_embeddings", X.shape, "f4", external=external)
    return ["eval", str(folder / "e.h5")]


def torch_file(folder: Path, share: float = 1.0, content: Any = None, legacy: bool = False) -> list[str]:
    import torch

    if content is None:
        content = {"image_embeddings": torch.from_numpy(X), "text_embeddings": torch.from_numpy(Y)}
    stream = io.BytesIO()
    torch.save(content, stream, _use_new_zipfile_serialization=not legacy)
    data = stream.getvalue()
    return raw(folder, "e.pt", data[: int(share * len(data))])


def expanded(folder: Path) -> list[str]:
    """One number that claims to be 4 TB."""
    import torch

    claimed = torch.ones(1).expand(10**6, 10**6)
    return torch_file(folder, content={"image_embeddings": claimed, "text_embeddings": torch.ones(2, 2)})


def texts(name: str = "text_embeddings", **change: Any) -> Callable[[dict[str, Any]], None]:
    """Change the description of a tensor in a header."""
    return lambda header: header[name].update(change)


ST, PA, H5, PT = ("safetensors",), ("pyarrow",), ("h5py",), ("torch",)
LONG = struct.pack("<Q", 1 << 26) + b'{"a":'

CASES = [
    Case("safetensors shape lies", lambda f: safetensors(f, texts("image_embeddings", shape=[10**9, 16])), needs=ST),
    Case("safetensors offsets outside", lambda f: safetensors(f, texts(data_offsets=[0, 10**12])), needs=ST),
    Case("safetensors dtype unknown", lambda f: safetensors(f, texts(dtype="F33")), needs=ST),
    Case("safetensors header cut", lambda f: raw(f, "e.safetensors", LONG), needs=ST),
    Case("parquet cut", lambda f: parquet(f, 0.7), needs=PA),
    Case("parquet footer cut", lambda f: parquet(f, 0.999), needs=PA),
    Case("parquet without modality", lambda f: parquet(f, modality=None), needs=PA),
    Case("parquet of another modality", lambda f: parquet(f, modality=["sound"] * 360), needs=PA),
    Case("parquet ragged", lambda f: parquet(f, embedding=[[1.0], *[[1.0, 2.0]] * 359]), needs=PA),
    Case("parquet with a null", lambda f: parquet(f, embedding=[None, *[[1.0, 2.0]] * 359]), needs=PA),
    Case("parquet with NaN", lambda f: parquet(f, embedding=[[1.0, float("nan")], *[[1.0, 2.0]] * 359]), needs=PA),
    Case("arrow of garbage", lambda f: raw(f, "e.arrow", b"ARROW1\0\0" + bytes(99)), needs=PA),
    Case("arrow stream of garbage", lambda f: raw(f, "e.arrow", b"\xff\xff\xff\xff\xff\xff\xff\x7f"), needs=PA),
    Case("h5 cut", lambda f: hdf5(f, 0.5), needs=H5),
    Case("h5 of a signature only", lambda f: raw(f, "e.h5", b"\x89HDF\r\n\x1a\n"), needs=H5),
    Case("h5 with data outside", outside, needs=H5),
    Case("h5 of integers", lambda f: hdf5(f, image_embeddings=np.ones((60, 16), int)), needs=H5),
    Case("torch cut", lambda f: torch_file(f, 0.6), needs=PT),
    Case("torch legacy cut", lambda f: torch_file(f, 0.6, legacy=True), needs=PT),
    Case("torch malicious", lambda f: torch_file(f, content={"image_embeddings": Bomb(f)}), needs=PT),
    Case("torch legacy malicious", lambda f: torch_file(f, content={"x": Bomb(f)}, legacy=True), needs=PT),
    Case("torch of a number", lambda f: torch_file(f, content=5), needs=PT),
    Case("torch expanded", expanded, needs=PT),
]

ODD = b"\0\1\2\3"
CUTS = (0.001, 0.01, 0.5, 0.99, 0.9999)
IMAGES_ONLY = {"image_embeddings.npy": npy(X)}

CASES += [
    *(Case(f"npz cut at {share:.0%}", partial(cut, share=share)) for share in CUTS),
    Case("flipped bit, stored", lambda f: flipped(f, False)),
    Case("flipped bit, deflated", lambda f: flipped(f, True)),
    Case("npy header lies, too many rows", lambda f: two_files(f, npy(Y, (4000, 16)))),
    Case("npy header lies, too few rows", lambda f: two_files(f, npy(Y, (30, 16)))),
    Case("npy header lies, astronomical", lambda f: two_files(f, npy(Y, (10**15, 10**15)))),
    Case("npy header lies, negative", lambda f: two_files(f, npy(Y, (-1, 16)))),
    Case("npy header runs code", lambda f: two_files(f, npy(Y, descr="__import__('os').getcwd()"))),
    Case("npy header nested", lambda f: two_files(f, b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535)),
    Case("npy of nothing but magic", lambda f: two_files(f, b"\x93NUMPY")),
    Case("npy of a later version", lambda f: two_files(f, b"\x93NUMPY\x09\x00" + b" " * 64)),
    Case("npy cut", lambda f: two_files(f, npy(Y)[:-4])),
    Case("npy of objects", lambda f: two_files(f, npy(np.zeros((300, 16)), descr="|O"))),
    Case("texts of the wrong kind", lambda f: two_files(f, b"PK\x05\x06" + bytes(18))),
    Case("npz member header lies", lambda f: zipped(f, {**IMAGES_ONLY, "text_embeddings.npy": npy(Y, (9, 16))})),
    Case("npz without texts", lambda f: zipped(f, IMAGES_ONLY)),
    Case("npz of nothing", lambda f: raw(f, "e.npz", b"PK\x05\x06" + bytes(18))),
    Case("zip without arrays", lambda f: zipped(f, {"readme.txt": b"hello"})),
    Case("malicious pickle", lambda f: raw(f, "e.npz", pickle.dumps(Bomb(f)))),
    Case("malicious pickle, protocol 0", lambda f: raw(f, "e.pkl", pickle.dumps(Bomb(f), protocol=0))),
    Case("malicious object array", lambda f: npz(f, image_embeddings=np.array([[Bomb(f)] * 2] * 60, object))),
    Case("malicious ids", lambda f: npz(f, image_ids=np.array([Bomb(f)] * 60, object))),
    Case("zero bytes", lambda f: raw(f, "e.npz", b"")),
    Case("git-lfs pointer", lambda f: raw(f, "e.npz", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
    Case("error page", lambda f: raw(f, "e.npz", b"<!DOCTYPE html><title>404</title>")),
    Case("random bytes", lambda f: raw(f, "e.npz", bytes(range(200, 256)) * 9)),
    Case("text", lambda f: raw(f, "e.npz", b"0.1 0.2 0.3\n")),
    Case("gzip", lambda f: raw(f, "e.npz.gz", b"\x1f\x8b\x08" + bytes(30))),
    Case("picture", lambda f: raw(f, "e.npz", b"\x89PNG\r\n\x1a\n" + bytes(30))),
    Case("missing file", lambda f: ["eval", str(f / "none.npz")]),
    Case("missing file with a neighbour", lambda f: ["eval", npz(f, "embeddings.npz")[1][:-1]]),
    Case("missing folder", lambda f: ["eval", str(f / "gone" / "e.npz")]),
    Case("name too long", lambda f: ["eval", str(f / ("x" * 5000))]),
    Case("device", lambda f: ["eval", "/dev/zero"]),
    Case("empty folder", lambda f: folder_of(f / "shards")),
    Case("folder without a shard", lambda f: shards(f, [], [0])),
    Case("shard left out", lambda f: shards(f, [0, 2], [0])),
    Case("name with brackets", lambda f: raw(f, "[bold]x[red].npz", ODD)),
    Case("name with a newline", lambda f: raw(f, "two\nlines.npz", ODD)),
    Case("name with an escape", lambda f: raw(f, "\x1b[31mred\x07.npz", ODD)),
    Case("name in unicode", lambda f: raw(f, "вектор 🐈.npz", ODD)),
    Case("name in no encoding", lambda f: raw(f, os.fsdecode(b"\xff\xfe.npz"), ODD)),
]
