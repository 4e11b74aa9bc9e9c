"""The formats of NumPy: ``.npy`` is memory-mapped, ``.npz`` is described by the headers of its arrays.

A folder of clip-retrieval has ``.npy`` files too. Nothing that is pickled is ever read.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import BadInput
from .arrow_tables import read_columns
from .ids import id_array
from .raw import Array, Member, dtype_name
from .regular import WRITE_AGAIN, reading, unpickle

_SHARDS = {"img_emb": "image_embeddings", "text_emb": "text_embeddings"}  # folders of clip-retrieval, and their arrays
_IMAGE = ("image_id", "image_ids", "image_path", "img_path", "file_path", "file_name", "filename")
_TEXT = ("caption_id", "text_id", "caption_ids", "text_ids")


def npy_member(path: Path) -> Member:
    """The array of an .npy file, under the file's name.

    Raises:
        BadInput: no readable header, pickled objects, or the file is shorter or longer than it declares.
    """
    with reading(path, "the file has no readable .npy header"), path.open("rb") as stream:
        shape, dtype = _header(stream, path.stat().st_size, path, "the file")
    if dtype.hasobject:
        loaded = f"np.load({str(path)!r}, allow_pickle=True)"
        listed = f"if you trust the file: np.save('NEW.npy', np.array({loaded}.tolist()))"
        what = "holds pickled Python objects" + ", such as a dict" * (shape == ())
        fix = unpickle(f"{loaded}.item()") if shape == () else listed
        raise BadInput(f"{what}, which are never read because they could run code", where=path, fix=fix)

    def load() -> Array:
        with reading(path, "cannot be memory-mapped"):
            array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
            return array

    return Member(path.name, shape, dtype_name(dtype), 0, load)


def npy_members(path: Path) -> list[Member]:
    """The one array of an .npy file as a list, see ``npy_member``."""
    return [npy_member(path)]


def npz_members(path: Path) -> list[Member]:
    """The arrays of an .npz file, in the order of the archive.

    Raises:
        BadInput: the archive is damaged or encrypted, a name occurs twice, or the size of an array is not what its
            header declares.
    """
    found: list[Member] = []
    with reading(path, "is a truncated or damaged .npz"), zipfile.ZipFile(path) as archive:
        entries = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        twice = [name for name, n in Counter(info.filename for info in entries).items() if n > 1]
        if twice:
            raise BadInput(f"holds '{twice[0]}' more than once", where=path, fix="save every array once")
        again = cache(partial(zipfile.ZipFile, path))  # once, as an archive may have thousands; closed with its members
        for info in entries:
            name = info.filename.removesuffix(".npy")
            with reading(path, f"array '{name}' has no readable .npy header"), archive.open(info) as stream:
                shape, dtype = _header(stream, info.file_size, path, f"array '{name}'")

            def load(name: str = name, info: zipfile.ZipInfo = info) -> Array:
                with reading(path, f"array '{name}' is damaged"), again().open(info) as stream:
                    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
                    stream.read(1)  # the checksum is compared at the end of the member
                    return array

            found.append(Member(name, shape, dtype_name(dtype), info.file_size, load))
    return found


def _header(stream: IO[bytes], size: int, path: Path, what: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of the array in a stream of ``size`` bytes; raises BadInput unless it has that size."""
    first = np.lib.format.read_magic(stream) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    declared, held = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if not dtype.hasobject and (declared != held or min(shape, default=0) < 0):  # pickles have no fixed size
        declares = f"{what} declares shape {shape} {dtype_name(dtype)} ({declared:,} bytes)"
        why = "truncated" if held < declared else "damaged, or several arrays in one file"
        raise BadInput(f"{declares} but holds {held:,} bytes of data: {why}", where=path, fix=WRITE_AGAIN)
    return shape, dtype


def folder_members(folder: Path) -> list[Member]:
    """The vectors of a clip-retrieval folder, a batch a shard, and the ids in the table ``metadata``."""
    out: list[Member] = []
    rows: list[int] = []
    for stem, name in _SHARDS.items():
        with reading(folder, f"has no shards {stem}/{stem}_N.npy, with N a number"):
            files = sorted((int(path.stem.rpartition("_")[2]), path) for path in (folder / stem).glob(f"{stem}_*.npy"))
        parts = [replace(npy_member(path), sources=(path,)) for _, path in files]
        if [n for n, _ in files] != list(range(len(files))) or len({m.shape[1:] for m in parts}) != 1:
            what = ", ".join(f"{n} {m.shape}" for (n, _), m in zip(files, parts, strict=True))[:200] or "none"
            fix = f"write all shards with the same model, numbered from 0: {stem}_0.npy, {stem}_1.npy, ..."
            raise BadInput(f"has missing shards, or shards of different widths: {what}", where=folder / stem, fix=fix)
        out += [replace(m, name=f"{name}_{n}" if len(parts) > 1 else name) for n, m in enumerate(parts)]
        rows.append(sum(m.shape[0] if m.shape else 0 for m in parts))
    table = folder / "metadata"
    columns = read_columns(table, [*_IMAGE, *_TEXT]) if table.is_dir() else {}
    images, texts = (next((columns[name] for name in names if name in columns), None) for names in (_IMAGE, _TEXT))
    for name, values, n in (("image_ids", images, 0), ("image_id_of_text", images, 1), ("text_ids", texts, 1)):
        if values is not None and len(values) == rows[n] and None not in values:
            ids = partial(id_array, values, name, table)
            out.append(Member(name, (len(values),), "str", 0, ids, sources=tuple(table.iterdir())))
        elif values is not None and (len(values) not in rows or None in values):
            what = f"has {len(values):,} rows for {rows[0]:,} image rows and {rows[1]:,} text rows"
            raise BadInput(what, where=table, fix="write the metadata of the same run again, or remove the folder")
    return out
