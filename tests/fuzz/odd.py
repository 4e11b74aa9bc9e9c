"""Well-formed files of odd content, as Hypothesis strategies: dtypes, shapes, byte orders, names and declared sizes."""

from __future__ import annotations

import functools
import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz import seeds_arrays

Draw = Callable[[st.SearchStrategy[Any]], Any]
DTYPES = (
    "<f4", ">f4", "<f8", ">f2", "<i8", ">i4", "u8", "i1", "?", "U5", ">U2", "S4", "U0", "S0", "O", "M8[s]",
    "m8[D]", "c8", "V6",
    "f4,i2",
)  # fmt: skip
SHAPES = (
    *((4, 3), (8, 3), (4, 8), (4,), (8,), (), (0,), (0, 3)),
    *((4, 0), (1, 1), (4, 1), (2, 2, 3), (4, 4), (40, 3), (20, 2)),
)
PLACES = ([48, 144], [48, 48], [0, 48], [48, 52], [48, 240], [144, 48], [48], [48, 1 << 60])
NAMES = (
    "image_embeddings", "text_embeddings", "image_ids", "text_ids", "image_of_text", "image_index", "captions",
    "scores", "labels", "encoder", "images", "texts", "test/images", "x", "IMG", "é", "ids", "",
)  # fmt: skip
FILLS = (0, 1, -1, np.nan, np.inf, -np.inf, 1e-40, 1e38, 1e300, 2**63 - 1, 255)


@st.composite
def arrays(draw: Draw) -> Any:
    """An array of any dtype and shape: counted up, constant, or of one odd value among others."""
    dtype, shape = np.dtype(draw(st.sampled_from(DTYPES))), draw(st.sampled_from(SHAPES))
    numbers = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    numbers += draw(st.sampled_from((0, 1, 5000)))
    fill = draw(st.sampled_from(FILLS))
    how = draw(st.sampled_from(("count", "all", "one")))
    if how == "all":
        numbers[...] = fill
    elif how == "one" and numbers.size:
        numbers.flat[draw(st.integers(0, numbers.size - 1))] = fill
    return _cast(numbers, dtype)


def _cast(numbers: Any, dtype: Any) -> Any:
    if dtype.kind in "OVMm" or dtype.names:
        out = np.zeros(numbers.shape, dtype)
        if dtype.kind == "O":
            out[...] = "x"
        return out
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


def contents() -> st.SearchStrategy[dict[str, Any]]:
    """Arrays by name, of which some may be those of a valid file."""
    valid = st.sampled_from((seeds_arrays.FULL, seeds_arrays.WIDE, seeds_arrays.SCORES, seeds_arrays.LABELS))
    changes = st.dictionaries(st.sampled_from(NAMES), arrays(), min_size=1, max_size=3)
    return st.builds(lambda one, two: {**one, **two}, valid, changes)


@st.composite
def npy_files(draw: Draw) -> bytes:
    """An .npy file whose header may declare another shape, dtype, order or version than the data have."""
    array = draw(arrays())
    if draw(st.booleans()):
        return seeds_arrays.npy(array)
    huge = ((1 << 40, 1 << 40), (1 << 62, 8), (-1, 3), (1 << 31,), (0, 1 << 60), (True, 3), (4, 3), (1,) * 40)
    header = {
        "descr": draw(st.sampled_from((*DTYPES, "<f9", "<U1000000000", "", "V0", [["a", "<f4"]]))),
        "fortran_order": draw(st.sampled_from((False, True, 0, None))),
        "shape": draw(st.sampled_from((*SHAPES, *huge))),
    }
    text = repr(header).replace("'<f4'", draw(st.sampled_from(("'<f4'", "b'<f4'", "('<f4', (2,))", "'f'*9")))).encode()
    version = draw(st.sampled_from((b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\xff\xff")))
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(text) + draw(st.sampled_from((0, 0, 0, -1, 900))))
    return b"\x93NUMPY" + version + size + text + array.tobytes()


@st.composite
def npz_files(draw: Draw) -> bytes:
    """An archive with odd members: repeated names, other methods and flags, false sizes, bytes in front or behind."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", draw(st.sampled_from((0, 8, 12, 14)))) as archive:
        for name, array in draw(contents()).items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), seeds_arrays.npy(array))
        if draw(st.integers(0, 4)) == 0:
            name = draw(st.sampled_from(("x.npy", "a/", "../e.npy", "a.txt")))
            archive.writestr(zipfile.ZipInfo(name), draw(npy_files()))
    data = bytearray(stream.getvalue())
    kind = draw(st.sampled_from(("as it is", "size", "flag", "method", "twice", "front", "behind")))
    entry = data.index(b"PK\1\2") if b"PK\1\2" in data else 0
    if kind == "size":
        sizes = st.sampled_from((0, 9, 1 << 31, 0xFFFFFFFF))
        data[entry + 20 : entry + 28] = struct.pack("<II", draw(sizes), draw(sizes))
    elif kind == "flag":
        data[entry + 8] ^= draw(st.sampled_from((1, 8, 32, 64)))
    elif kind == "method":
        data[entry + 10] = draw(st.sampled_from((1, 9, 12, 14, 93, 99)))
    elif kind == "twice":
        data = data.replace(b"text_ids", b"image_of")
    return (b"#!x" * (kind == "front")) + bytes(data) + (b"PK\5\6x" * (kind == "behind"))


def _tensor(array: Any) -> Any:
    import torch

    try:
        return torch.from_numpy(np.ascontiguousarray(array))
    except (TypeError, ValueError):
        return array.ravel().tolist()


@st.composite
def torch_files(draw: Draw) -> bytes:
    """Dictionaries of odd tensors: sparse, complex, quantised, expanded, with gradients, on no device; and lists."""
    found: dict[Any, Any] = {name: _tensor(array) for name, array in draw(contents()).items()}
    odd = _odd_tensors()
    found[draw(st.sampled_from((*NAMES, 1, None, ("a", 1))))] = draw(st.sampled_from(odd))
    return seeds_arrays.torch_file(draw(st.sampled_from((found, found, {"model": found}, odd[0]))))


@functools.cache
def _odd_tensors() -> tuple[Any, ...]:
    import torch

    floats = torch.arange(12.0).reshape(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kinds of tensors that torch will change
        odd = (torch.quantize_per_tensor(floats, 0.1, 0, torch.qint8), torch.nested.nested_tensor([floats, floats[:2]]))
    return (
        *odd,
        floats.to_sparse(), floats.to(torch.complex64).conj(), torch.zeros(1).expand(1 << 40, 16),
        torch.nn.Parameter(floats),
        floats.T, floats[::2], torch.imag(floats * 1j).neg(),
        floats.to(torch.float8_e4m3fn), torch.empty(4, 3, device="meta"),
        torch.zeros(1).expand(4, 3),
        [1, 1 << 70], ["a", 1], [], ("a", "b" * 999), {1: {2: {3: floats}}},
        None, 1.5, "x",
    )  # fmt: skip


@st.composite
def safetensors_files(draw: Draw) -> bytes:
    """A header that may declare odd dtypes, shapes, places and names."""
    import json

    header: dict[str, Any] = {"image_embeddings": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}}
    name = draw(st.sampled_from((*NAMES, "__metadata__")))
    header[name] = {
        "dtype": draw(st.sampled_from(("F32", "F64", "BF16", "F8_E4M3", "BOOL", "I64", "U64", "C64", "", 1))),
        "shape": draw(st.sampled_from(([8, 3], [4, 3], [0, 3], [], [1 << 40, 1 << 40], [-1], [8, 3, 1], "x"))),
        "data_offsets": draw(st.sampled_from(PLACES)),
    }
    text = json.dumps(header).encode() + b" " * draw(st.sampled_from((0, 5)))
    size = len(text) + draw(st.sampled_from((0, 0, 0, -1, 8, 1 << 40)))
    return struct.pack("<Q", size) + text + bytes(draw(st.sampled_from((48, 144, 240, 0))))


@st.composite
def hdf5_files(draw: Draw) -> bytes:
    """Odd data sets: dtypes, empty ones, links, strings of any length, chunks, objects that are no data."""
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name, array in draw(contents()).items():
            if not name:
                continue
            value = array.astype(object) if array.dtype.kind == "U" else array
            chunks = True if draw(st.booleans()) and array.ndim else None
            try:
                file.create_dataset(name, data=value, fillvalue=None, chunks=chunks)
            except (TypeError, ValueError):
                file[name] = np.float64(1)
        kind = draw(st.integers(0, 5))
        if kind == 0:
            file["link"] = h5py.SoftLink("/nowhere")
        elif kind == 1:
            file["loop"] = h5py.SoftLink("/loop")
        elif kind == 2:
            file["empty"] = h5py.Empty("f4")
        elif kind == 3:
            file.create_dataset("captions_of", (1 << 40, 1 << 20), "f4", chunks=(1, 1 << 10))
        elif kind == 4:
            file["kind"] = np.dtype("i4,f8")
    return stream.getvalue()


@st.composite
def tables(draw: Draw) -> Any:
    """A table with odd columns: types, missing values, lists of other lengths, dictionaries, names given twice."""
    import pyarrow as pa

    def column(*choices: Any) -> Any:
        return pa.array(*draw(st.sampled_from(choices)))

    two = [[1.0, 2.0], [3.0, 4.0]]
    lists = (pa.list_(pa.float32(), 2), pa.large_list(pa.float16()), pa.list_view(pa.float32()))
    columns = {
        "id": column(
            ([1, 2],), (["a", "b"],), ([None, 1],), ([b"a", b"\xff"],), ([1.5, 2.0],), ([[1], [2]],), ([1, 1],),
            (["a", "b"], pa.large_string()), ([2**63, 1], pa.uint64()), ([True, False],), ([{"x": 1}] * 2,),
        ),
        "modality": column(
            (["image", "text"],), (["image", None],), ([1, 2],), (["image", "text"], pa.large_string()),
            ([[1], [2]],), ([b"image", b"text"],), ([{"x": 1}] * 2,),
        ),
        "embedding": column(
            (two,), *((two, kind) for kind in lists), ([[1.0], [1.0, 2.0]],), ([None, [1.0]],), ([[None], [1.0]],),
            ([[], []],), ([[1], [2]],), ([[[1.0]], [[1.0]]],), (["a", "b"],), ([[float("nan"), 1.0], [1.0, 2.0]],),
            ([None, None], pa.list_(pa.float32(), 2)), ([[], []], pa.list_(pa.float32(), 0)),
        ),
        "image_id": column(([None, 1],), ([None, "a"],), ([1, 2],), ([None, 1.5],), ([None, b"a"],)),
        "caption": column(([None, "a"],), ([None, 1],), ([None, b"\xff"],)),
        "category": column((["a", "b"],), ([["a"], None],), ([{"x": 1}, None],), ([1.5, None],), ([10**15, 2],)),
    }  # fmt: skip
    names = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=6))
    base = ["id", "modality", "embedding"] if draw(st.booleans()) else []
    chosen = [*base, *(name for name in names if name not in base or draw(st.integers(0, 5)) == 0)]
    found = [columns[name] for name in chosen]
    if draw(st.integers(0, 3)) == 0:
        found = [a.dictionary_encode() if pa.types.is_string(a.type) else a for a in found]
    return pa.Table.from_arrays(found, names=chosen)


@st.composite
def parquet_files(draw: Draw) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    stream = io.BytesIO()
    table = draw(tables())
    try:
        options = {"compression": draw(st.sampled_from(("none", "zstd"))), "store_schema": draw(st.booleans())}
        pyarrow.parquet.write_table(table, stream, **options)
    except (pa.ArrowException, NotImplementedError):  # a type that parquet does not have
        return seeds_arrays.parquet_files()[0]
    return stream.getvalue()


@st.composite
def arrow_files(draw: Draw) -> bytes:
    """An odd table as an arrow file or stream."""
    import pyarrow as pa

    stream, table = io.BytesIO(), draw(tables())
    with draw(st.sampled_from((pa.ipc.new_file, pa.ipc.new_stream)))(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


# The strategies by the names of targets.
FILES: dict[str, Callable[[], st.SearchStrategy[bytes]]] = {
    "npy": npy_files, "npz": npz_files, "torch": torch_files, "safetensors": safetensors_files, "hdf5": hdf5_files,
    "parquet": parquet_files, "arrow": arrow_files,
}  # fmt: skip
