"""Files that are cut, flipped, lying, exploding, or something else altogether."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile import good
from tests.hostile.case import Case
from tests.hostile.good import arrays, npz, raw

X, Y = good.vectors()
MARKER = "executed"


class Bomb:
    """Unpickling this creates the file ``executed`` in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder / MARKER),)


def whole(folder: Path, **change: Any) -> bytes:
    """The bytes of a good .npz."""
    path = Path(npz(folder, "whole.npz", **change)[1])
    data = path.read_bytes()
    path.unlink()
    return data


def cut(folder: Path, share: float) -> list[str]:
    """A .npz of which only a share has arrived."""
    data = whole(folder)
    return raw(folder, "e.npz", data[: int(share * len(data))])


def flipped(folder: Path, packed: bool) -> list[str]:
    """A .npz with one bit turned in the middle of the image vectors."""
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **arrays())
    data = bytearray(stream.getvalue())
    data[2000] ^= 4
    return raw(folder, "e.npz", bytes(data))


def zipped(folder: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> list[str]:
    """An archive of given bytes."""
    with zipfile.ZipFile(folder / "e.npz", "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return ["eval", str(folder / "e.npz")]


def npy(array: Any, shape: tuple[int, ...] | None = None, descr: str | None = None) -> bytes:
    """An .npy, with a header that may claim another shape or dtype."""
    stream = io.BytesIO()
    header = {"descr": descr or array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + array.tobytes()


def bomb(folder: Path) -> list[str]:
    """A few kilobytes that declare 3.2 GB, in every place that declares anything."""
    data = npy(np.zeros(100_000, np.float32), (50_000_000, 16))
    command = zipped(folder, {"image_embeddings.npy": data, "text_embeddings.npy": npy(Y)}, zipfile.ZIP_DEFLATED)
    path = Path(command[1])
    blob, size = bytearray(path.read_bytes()), len(data) - 400_000 + 3_200_000_000
    struct.pack_into("<I", blob, 22, size)
    struct.pack_into("<I", blob, blob.index(b"PK\x01\x02") + 24, size)
    path.write_bytes(blob)
    return command


def real_bomb(folder: Path) -> list[str]:
    """320 MB of zeros in 300 kB."""
    path, block = folder / "e.npz", bytes(1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("text_embeddings.npy", npy(Y))
        with archive.open("image_embeddings.npy", "w") as stream:
            stream.write(npy(np.zeros(0, np.float32), (305 << 14, 16)))
            for _ in range(305):
                stream.write(block)
    return ["eval", str(path)]


def many(folder: Path) -> list[str]:
    """An archive of thousands of arrays."""
    return zipped(folder, {f"a{i}.npy": b"" for i in range(5000)})


def pickled_npz(folder: Path) -> list[str]:
    """Object arrays that would run code."""
    return npz(folder, image_embeddings=np.array([[Bomb(folder)] * 2] * 60, object))


def pickled_ids(folder: Path) -> list[str]:
    """Only the ids would run code."""
    return npz(folder, image_ids=np.array([Bomb(folder)] * 60, object))


def fifo(folder: Path) -> list[str]:
    """A named pipe that nobody writes to."""
    os.mkfifo(folder / "e.npz")
    return ["eval", str(folder / "e.npz")]


def folder_of(path: Path) -> list[str]:
    """An empty folder."""
    path.mkdir()
    return ["eval", str(path)]


def shards(folder: Path, images: list[int], texts: list[int]) -> list[str]:
    """A clip-retrieval folder with these shard numbers."""
    for side, numbers, array in (("img_emb", images, X), ("text_emb", texts, Y)):
        (folder / side).mkdir()
        for number in numbers:
            np.save(folder / side / f"{side}_{number}.npy", array)
    return ["eval", str(folder)]


def odd_name(folder: Path, name: str) -> list[str]:
    """A damaged file with a name that could do things to a terminal."""
    return raw(folder, name, b"\0\1\2\3")


def two_files(folder: Path, second: bytes) -> list[str]:
    """A good .npy of images beside ``second``."""
    np.save(folder / "i.npy", X)
    (folder / "t.npy").write_bytes(second)
    return ["eval", str(folder / "i.npy"), "--texts", str(folder / "t.npy")]


IMAGES_ONLY = {"image_embeddings.npy": npy(X)}

CASES = [
    *(Case(f"npz cut at {share:.0%}", lambda f, s=share: cut(f, s), 3, "?") for share in (0.001, 0.01, 0.5, 0.99, 0.9999)),
    Case("flipped bit, stored", lambda f: flipped(f, False), 3, "?"),
    Case("flipped bit, deflated", lambda f: flipped(f, True), 3, "?"),
    Case("npy header lies, too many rows", lambda f: two_files(f, npy(Y, (4000, 16))), 3, "?"),
    Case("npy header lies, too few rows", lambda f: two_files(f, npy(Y, (30, 16))), 3, "?"),
    Case("npy header lies, astronomical", lambda f: two_files(f, npy(Y, (10**15, 10**15))), 3, "?"),
    Case("npy header lies, negative", lambda f: two_files(f, npy(Y, (-1, 16))), 3, "?"),
    Case("npy header runs code", lambda f: two_files(f, npy(Y, descr="__import__('os').getcwd()")), 3, "?"),
    Case("npy header nested", lambda f: two_files(f, b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), 3, "?"),
    Case("npy of nothing but magic", lambda f: two_files(f, b"\x93NUMPY"), 3, "?"),
    Case("npy cut", lambda f: two_files(f, npy(Y)[:-4]), 3, "?"),
    Case("npy of objects", lambda f: two_files(f, npy(np.zeros((300, 16)), descr="|O")), 3, "?"),
    Case("texts of the wrong kind", lambda f: two_files(f, b"PK\x05\x06" + bytes(18)), 3, "?"),
    Case("npz member header lies", lambda f: zipped(f, {**IMAGES_ONLY, "text_embeddings.npy": npy(Y, (9, 16))}), 3, "?"),
    Case("npz without texts", lambda f: zipped(f, IMAGES_ONLY), 3, "?"),
    Case("npz of nothing", lambda f: raw(f, "e.npz", b"PK\x05\x06" + bytes(18)), 3, "?"),
    Case("zip without arrays", lambda f: zipped(f, {"readme.txt": b"hello"}), 3, "?"),
    Case("zip bomb that lies", bomb, 3, "?"),
    Case("zip bomb", real_bomb, 3, "?"),
    Case("five thousand members", many, 3, "?"),
    Case("malicious pickle", lambda f: raw(f, "e.npz", pickle.dumps(Bomb(f))), 3, "?"),
    Case("malicious pickle, protocol 0", lambda f: raw(f, "e.pkl", pickle.dumps(Bomb(f), protocol=0)), 3, "?"),
    Case("malicious object array", pickled_npz, 3, "?"),
    Case("malicious ids", pickled_ids, 3, "?"),
    Case("zero bytes", lambda f: raw(f, "e.npz", b""), 3, "?"),
    Case("git-lfs pointer", lambda f: raw(f, "e.npz", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), 3, "?"),
    Case("error page", lambda f: raw(f, "e.npz", b"<!DOCTYPE html><title>404</title>"), 3, "?"),
    Case("random bytes", lambda f: raw(f, "e.npz", bytes(range(200, 256)) * 9), 3, "?"),
    Case("text", lambda f: raw(f, "e.npz", b"0.1 0.2 0.3\n"), 3, "?"),
    Case("gzip", lambda f: raw(f, "e.npz.gz", b"\x1f\x8b\x08" + bytes(30)), 3, "?"),
    Case("picture", lambda f: raw(f, "e.npz", b"\x89PNG\r\n\x1a\n" + bytes(30)), 3, "?"),
    Case("missing file", lambda f: ["eval", str(f / "none.npz")], 3, "?"),
    Case("missing file with a neighbour", lambda f: ["eval", npz(f, "embeddings.npz")[1][:-1]], 3, "?"),
    Case("missing folder", lambda f: ["eval", str(f / "gone" / "e.npz")], 3, "?"),
    Case("name too long", lambda f: ["eval", str(f / ("x" * 5000))], 3, "?"),
    Case("name with NUL", lambda f: ["eval", str(f / "e\0.npz")], 3, "?"),
    Case("named pipe", fifo, 3, "?"),
    Case("device", lambda f: ["eval", "/dev/zero"], 3, "?"),
    Case("empty folder", lambda f: folder_of(f / "shards"), 3, "?"),
    Case("folder without a shard", lambda f: shards(f, [], [0]), 3, "?"),
    Case("shard left out", lambda f: shards(f, [0, 2], [0]), 3, "?"),
    Case("name with brackets", lambda f: odd_name(f, "[bold]x[/bold].npz"), 3, "?"),
    Case("name with a newline", lambda f: odd_name(f, "two\nlines.npz"), 3, "?"),
    Case("name with an escape", lambda f: odd_name(f, "\x1b[31mred\x07.npz"), 3, "?"),
    Case("name in unicode", lambda f: odd_name(f, "вектор 🐈.npz"), 3, "?"),
    Case("name in no encoding", lambda f: odd_name(f, os.fsdecode(b"\xff\xfe.npz")), 3, "?"),
]
