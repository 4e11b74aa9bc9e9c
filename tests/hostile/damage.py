"""Ways to damage a file."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile import good
from tests.hostile.good import arrays, raw

X, Y = good.vectors()
MARKER = "executed"


class Bomb:
    """Unpickling this creates the file ``executed`` in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder / MARKER),)


def good_bytes(packed: bool = False) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **arrays())
    return stream.getvalue()


def cut(folder: Path, share: float) -> list[str]:
    data = good_bytes()
    return raw(folder, "e.npz", data[: int(share * len(data))])


def flipped(folder: Path, packed: bool) -> list[str]:
    """A .npz with one bit turned in the middle of the image vectors."""
    data = bytearray(good_bytes(packed))
    data[2000] ^= 4
    return raw(folder, "e.npz", bytes(data))


def zipped(folder: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> list[str]:
    with zipfile.ZipFile(folder / "e.npz", "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return ["eval", str(folder / "e.npz")]


def npy(array: Any, shape: tuple[int, ...] | None = None, descr: str | None = None) -> bytes:
    """An .npy, with a header that may claim another shape or dtype."""
    stream = io.BytesIO()
    header = {"descr": descr or array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    data: bytes = array.tobytes()
    return stream.getvalue() + data


def folder_of(path: Path) -> list[str]:
    path.mkdir()
    return ["eval", str(path)]


def shards(folder: Path, images: list[int], texts: list[int]) -> list[str]:
    """A clip-retrieval folder with these shard numbers."""
    for side, numbers, array in (("img_emb", images, X), ("text_emb", texts, Y)):
        (folder / side).mkdir()
        for number in numbers:
            np.save(folder / side / f"{side}_{number}.npy", array)
    return ["eval", str(folder)]


def two_files(folder: Path, second: bytes) -> list[str]:
    """A good .npy of images beside ``second``."""
    np.save(folder / "i.npy", X)
    (folder / "t.npy").write_bytes(second)
    return ["eval", str(folder / "i.npy"), "--texts", str(folder / "t.npy")]
