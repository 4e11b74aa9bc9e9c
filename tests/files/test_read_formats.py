"""Files of safetensors, HDF5, torch, parquet and arrow, and folders of shards, are read into the same arrays."""

from __future__ import annotations

import contextlib
import gc
import json
import pickle
import struct
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.embedding_files import FULL, IMAGE_IDS, IMAGES, OWNER, TEXT_IDS, TEXTS, same
from tests.messages import Pinned, Refuses
from tests.notes import with_notes
from vsebench.errors import BadInput, LowMemory, MissingPackage
from vsebench.files import read
from vsebench.files.formats import FORMATS, sniff
from vsebench.files.hdf5_file import hdf5_members
from vsebench.files.npy import npy_members
from vsebench.files.read import group

read_embeddings = partial(with_notes, read.read_embeddings)

# --- safetensors, hdf5, torch ----------------------------------------------------------------------------


def test_safetensors(tmp_path: Path) -> None:
    numpy_io = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "e.safetensors"
    numpy_io.save_file(FULL, path, metadata={"made": "here"})
    raw = read_embeddings(path)
    same(raw, "safetensors")
    assert isinstance(raw.images.base, np.memmap)


@pytest.mark.parametrize("length", [384, 640, 1152])
def test_a_length_of_the_header_that_looks_like_a_pickle(tmp_path: Path, length: int) -> None:
    numpy_io = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "e.safetensors"
    for spare in range(length):
        numpy_io.save_file(FULL, path, metadata={"spare": " " * spare})
        if path.read_bytes()[:8] == length.to_bytes(8, "little"):
            break
    else:
        pytest.fail("no header of this length")
    same(read_embeddings(path), "safetensors")


def test_safetensors_bfloat16_and_float8(tmp_path: Path, refuses: Refuses) -> None:
    pytest.importorskip("safetensors")
    bits = (IMAGES.view(np.uint32) >> 16).astype("<u2")
    path = tmp_path / "e.safetensors"

    def write(dtype: str, size: int) -> None:
        tensors = {
            "images": {"dtype": "BF16", "shape": [4, 3], "data_offsets": [0, 24]},
            "texts": {"dtype": dtype, "shape": [4, 3], "data_offsets": [24, 24 + size]},
        }
        head = json.dumps(tensors).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + (bits.tobytes() * 2)[: 24 + size])

    write("BF16", 24)
    raw = read_embeddings(path)
    assert raw.images.dtype == np.float32
    assert np.array_equal(raw.images.view(np.uint32), bits.astype(np.uint32) << 16)
    write("BOOL", 12)
    refuses(BadInput, read_embeddings, path)
    write("F8_E4M3", 12)
    refuses(BadInput, read_embeddings, path)


def test_hdf5(tmp_path: Path, refuses: Refuses) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "e.h5"
    with h5py.File(path, "w") as file:
        for name, array in FULL.items():
            file[f"test/{name}"] = array
    same(read_embeddings(path), "hdf5")
    with h5py.File(path, "a") as file:
        file["train/images"] = IMAGES
        file["train/image_ids"] = IMAGE_IDS
    refuses(BadInput, read_embeddings, path)
    same(read_embeddings(path, image_key="test/image_embeddings"), "hdf5")


def test_hdf5_strings(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "e.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["images"], file["texts"] = IMAGES, TEXTS
        file["image_ids"] = ["a.jpg", "b.jpg", "\u00e9.jpg", "d.jpg"]
        file["text_ids"] = np.array([b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8"])
    raw = read_embeddings(path)
    assert raw.image_ids is not None and raw.image_ids.tolist() == ["a.jpg", "b.jpg", "\u00e9.jpg", "d.jpg"]
    assert raw.text_ids is not None and raw.text_ids.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


HDF5 = {
    "plain": (TEXTS, {}),
    "big endian": (TEXTS.astype(">f8"), {}),
    "half": (TEXTS.astype(np.float16), {}),
    "gzip": (TEXTS, {"chunks": (7, 2), "compression": "gzip", "shuffle": True, "fletcher32": True}),
    "chunked": (TEXTS, {"chunks": (7, 3)}),
    "empty": (TEXTS[:0], {}),
    "integers": (OWNER, {}),
    "bytes": (np.array([f"id {i}".encode() for i in OWNER]), {}),
    "strings": ([f"é{i}" for i in OWNER], {}),
    "utf-8": (np.array(["é1".encode(), "猫3".encode()]), {}),
    "scalar": (np.float32(3), {}),
    "truth": (OWNER % 2 == 0, {}),
}


@pytest.mark.parametrize("how", [{}, {"libver": "latest"}, {"userblock_size": 1024}], ids=str)
def test_every_kind_of_array_is_that_of_h5py(how, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w", **how) as file:
        for name, (array, options) in HDF5.items():
            file.create_dataset(f"group/{name}", data=array, **options)
    members = {member.base: member for member in hdf5_members(tmp_path / "a.h5")}
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(members) == set(HDF5)
        for name, member in members.items():
            node = file[f"group/{name}"]
            want = node.asstr("utf-8")[...].astype(str) if name in ("strings", "bytes", "utf-8") else node[...]
            found = member.load()
            assert np.array_equal(found, want) and found.dtype == want.dtype and found.shape == member.shape, name


def test_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(array.copy()) for name, array in FULL.items()}
    for path, old in ((tmp_path / "e.pt", False), (tmp_path / "old.pt", True)):
        torch.save(tensors, path, _use_new_zipfile_serialization=not old)
        assert sniff(path).name == "torch"
        same(read_embeddings(path), "torch")
    torch.save({"data": {**tensors, "image_ids": IMAGE_IDS.tolist()}, "epoch": 3}, tmp_path / "n.pt")
    same(read_embeddings(tmp_path / "n.pt"), "torch")
    half = {"images": torch.nn.Parameter(tensors["image_embeddings"].bfloat16()), "texts": tensors["text_embeddings"]}
    torch.save(half, tmp_path / "h.pt")
    raw = read_embeddings(tmp_path / "h.pt")
    assert raw.images.dtype == np.float32 and np.allclose(raw.images, IMAGES, rtol=2**-7)


NAMES = [f"{name}.jpg" for name in IMAGE_IDS]


def matlab_7_3(path: Path, arrays: dict[str, Any]) -> None:
    """A file as MATLAB writes it with ``-v7.3``: axes reversed, cells in ``#refs#``."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            kind, values = b"double", array.T
            if array.dtype.kind == "O":
                kind, values = b"cell", np.empty(array.T.shape, h5py.ref_dtype)
                for at, text in np.ndenumerate(array.T):
                    cell = file.create_dataset(
                        f"#refs#/{name}{at}", data=np.frombuffer(text.encode("utf-16-le"), "<u2")
                    )
                    values[at] = cell.ref
            file.create_dataset(name, data=values).attrs["MATLAB_class"] = np.bytes_(kind)


@pytest.mark.parametrize("version", ["5", "7", "7.3"])
def test_matlab(tmp_path: Path, version: str, refuses: Refuses) -> None:
    """Two axes everywhere, ids as double or as cells of texts; both versions have the shapes that MATLAB shows."""
    import scipy.io

    path, cells = tmp_path / "e.mat", np.array(NAMES, object)[None]
    said = np.array([f"caption é {n}" for n in range(8)], object)[:, None]
    arrays = {**FULL, "image_ids": cells, "text_ids": TEXT_IDS[None].astype(float), "captions": said}
    arrays["image_of_text"] = cells[:, OWNER]
    if version == "7.3":
        matlab_7_3(path, arrays)
    else:
        scipy.io.savemat(path, arrays, do_compression=version == "7")
    raw = read_embeddings(path)
    assert raw.format == ("hdf5" if version == "7.3" else "mat") and raw.notes == ()
    assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS)
    assert raw.image_ids is not None and raw.image_ids.tolist() == NAMES
    assert raw.text_ids is not None and raw.text_ids.tolist() == TEXT_IDS.tolist()
    assert raw.image_of_text is not None and raw.image_of_text.tolist() == cells[0][OWNER].tolist()
    assert raw.captions == tuple(said[:, 0])
    path.write_bytes(path.read_bytes()[:700])
    refuses(BadInput, read_embeddings, path)


def test_matlab_5_without_numbers(tmp_path: Path, refuses: Refuses) -> None:
    import scipy.io

    cells = np.array([[1.0], [2.0], [3.0], [4.0]], object)
    for change in ({"images": IMAGES * 1j}, {"image_ids": cells}):
        scipy.io.savemat(tmp_path / "e.mat", {"images": IMAGES, "texts": TEXTS, **change})
        refuses(BadInput, read_embeddings, tmp_path / "e.mat")


def by_parts(kind: str) -> list[dict[str, Any]]:
    """Files of images and of texts: vectors under their ids, or batches of vectors and of ids."""
    if kind == "ids":
        return [
            dict(zip(NAMES, IMAGES, strict=True)),
            {f"{NAMES[o]}#{n}": t for n, (o, t) in enumerate(zip(OWNER, TEXTS, strict=True))},
        ]
    texts = {f"text_embeddings/{n}": part for n, part in enumerate(np.array_split(TEXTS, 3))}
    return [
        {"images/1": IMAGES[3:], "images/0": IMAGES[:3]},
        {**texts, "text_ids/0": TEXT_IDS[:6], "text_ids/1": TEXT_IDS[6:]},
    ]


@pytest.mark.parametrize("kind", ["ids", "batches"])
@pytest.mark.parametrize("ending", [".npz", ".h5", ".pt"])
def test_arrays_in_parts(tmp_path: Path, ending: str, kind: str) -> None:
    parts = by_parts(kind)
    paths = [tmp_path / f"images{ending}", tmp_path / f"texts{ending}", tmp_path / f"both{ending}"]
    both = {f"{side}/{k}": v for side, one in zip(("images", "texts"), parts, strict=True) for k, v in one.items()}
    for path, arrays in zip(paths, (*parts, both if kind == "ids" else {**parts[0], **parts[1]}), strict=True):
        if ending == ".npz":
            np.savez(path, **arrays)
        elif ending == ".h5":
            h5py = pytest.importorskip("h5py")
            with h5py.File(path, "w") as file:
                for name, array in arrays.items():
                    file[name] = array
        else:
            torch = pytest.importorskip("torch")
            torch.save({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, path)
    for raw in (read_embeddings(paths[0], texts=paths[1]), read_embeddings(paths[2])):
        order = list(range(4)) if raw.image_ids is None else [raw.image_ids.tolist().index(name) for name in NAMES]
        assert np.array_equal(raw.images[order], IMAGES) and len(raw.texts) == 8
        assert raw.text_ids is not None and len(raw.text_ids) == 8 and (raw.image_ids is None) == (kind == "batches")


def test_torch_lists(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    images, texts = torch.from_numpy(IMAGES.copy()), torch.from_numpy(TEXTS.copy())
    ids = {"image_ids": [NAMES[:3], NAMES[3:]], "text_ids": TEXT_IDS.tolist()}
    torch.save({"images": list(images), "text_embeddings": list(texts.split(3)), **ids}, tmp_path / "e.pt")
    raw = read_embeddings(tmp_path / "e.pt")
    assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS)
    assert raw.notes == (
        "'images' is 4 arrays of one row: 'images/0', ...",
        "'text_embeddings' is 3 batches: 'text_embeddings/0', ...",
    )
    assert raw.image_ids is not None and raw.image_ids.tolist() == NAMES and raw.text_ids is not None
    torch.save({"images": IMAGES.tolist(), "texts": texts}, tmp_path / "f.pt")
    assert np.array_equal(read_embeddings(tmp_path / "f.pt").images, IMAGES)


def test_torch_files_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    torch = pytest.importorskip("torch")
    path, texts = tmp_path / "a.pt", torch.ones(2, 2)
    for content in (texts, [1, 2], {"images": texts.to_sparse(), "texts": texts}):
        torch.save(content, path)
        refuses(BadInput, read_embeddings, path)


@pytest.mark.parametrize(
    ("module", "data"),
    [
        ("safetensors", struct.pack("<Q", 2) + b"{}"),
        ("h5py", b"\x89HDF\r\n\x1a\n" + b"\0" * 99),
        ("pyarrow", b"PAR1" + b"\0" * 99),
        ("torch", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."),
    ],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, module, data, refuses):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "e.bin").write_bytes(data)
    refuses(MissingPackage, read_embeddings, tmp_path / "e.bin")


def table(pa: Any, **change: Any) -> Any:
    columns = {
        "id": [*IMAGE_IDS.tolist(), *TEXT_IDS.tolist()],
        "modality": ["image"] * 4 + ["caption"] * 8,
        "embedding": [row.tolist() for row in (*IMAGES, *TEXTS)],
        "image_id": [None] * 4 + IMAGE_IDS[OWNER].tolist(),
    }
    columns["embedding"] = pa.array(columns["embedding"], pa.list_(pa.float32()))
    columns.update(change)
    return pa.table({name: value for name, value in columns.items() if value is not None})


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "fixed"])
def test_tables(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "e"
    data = table(pa)
    if kind == "fixed":
        small = pa.array([r.tolist() for r in (*IMAGES, *TEXTS)], pa.list_(pa.float32(), 3))
        data = table(pa, embedding=small, image_id=[None] * 4 + IMAGE_IDS[OWNER].astype(float).tolist())
    if kind in ("parquet", "fixed"):
        pq.write_table(data, path, row_group_size=5)
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(path, data.schema) as sink:
            sink.write_table(data, max_chunksize=5)
    raw = read_embeddings(path)
    assert raw.format == ("parquet" if kind in ("parquet", "fixed") else "arrow") and raw.notes == ()
    assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS)
    assert raw.images.dtype == np.float32
    assert raw.image_ids is not None and np.array_equal(raw.image_ids, IMAGE_IDS)
    assert raw.image_of_text is not None and np.array_equal(raw.image_of_text, IMAGE_IDS[OWNER])
    pq.write_table(data.rename_columns(["id", "modality", "vec", "image_id"]), path)
    assert np.array_equal(read_embeddings(path, text_key="vec").texts, TEXTS)
    for name, rows in (("i", data.slice(0, 4)), ("t", data.slice(4))):  # one side each, which nothing states
        pq.write_table(rows.drop_columns(["modality"]), tmp_path / name)
    raw = read_embeddings(tmp_path / "i", texts=tmp_path / "t")
    assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS) and raw.format == "parquet pair"
    assert raw.image_of_text is not None and np.array_equal(raw.image_of_text, IMAGE_IDS[OWNER]) and raw.holds == "ids"


def test_tables_that_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "e.parquet"
    floats = pa.list_(pa.float32())
    cases: list[dict[str, Any]] = [
        {"id": None},
        {"modality": ["image"] * 12},
        {"embedding": [[1]] * 12},
        {"embedding": ["1"] * 12},
        {"embedding": pa.array([[1.0]] * 11 + [[None]], floats)},
        {"id": [None, *range(11)]},
        {"image_id": [None] * 5 + list(range(7))},
    ]
    for change in cases:
        pq.write_table(table(pa, **change), path)
        refuses(BadInput, read_embeddings, path)
    pq.write_table(table(pa, image_id=None), path)
    assert read_embeddings(path).notes == ("no column image_id: the image of every text is not given",)


def test_json_lines(tmp_path: Path, refuses: Refuses) -> None:
    pytest.importorskip("pyarrow")
    said = [f"caption {n}" for n in range(8)]
    images = [{"id": str(i), "embedding": v} for i, v in zip(IMAGE_IDS, IMAGES.tolist(), strict=True)]
    texts = [
        {"id": f"t{i}", "embedding": v, "image_id": int(IMAGE_IDS[o]), "caption": words}
        for i, v, o, words in zip(TEXT_IDS, TEXTS.tolist(), OWNER, said, strict=True)
    ]
    both = [{"modality": "image", **row} for row in images] + [{"modality": "text", **row} for row in texts]

    def write(name: str, rows: list[dict[str, Any]]) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return tmp_path / name

    path = write("e.jsonl", both)
    for raw in (read_embeddings(path), read_embeddings(write("i.jsonl", images), texts=write("t.jsonl", texts))):
        assert raw.format in ("jsonl", "jsonl pair") and raw.holds == "ids" and raw.captions == tuple(said)
        assert np.array_equal(raw.images, IMAGES) and np.array_equal(raw.texts, TEXTS)
        assert raw.image_ids is not None and np.array_equal(raw.image_ids, IMAGE_IDS)
        assert raw.image_of_text is not None and np.array_equal(raw.image_of_text, IMAGE_IDS[OWNER])
    pairs = [
        {"image_id": row["image_id"], "image_embedding": IMAGES[o].tolist(), "text_embedding": row["embedding"]}
        for o, row in zip(OWNER, texts, strict=True)
    ]
    raw = read_embeddings(write("pairs.jsonl", pairs))
    assert np.array_equal(raw.images, IMAGES[OWNER]) and np.array_equal(raw.texts, TEXTS)
    assert raw.image_ids is not None and np.array_equal(raw.image_ids, IMAGE_IDS[OWNER])
    path.write_bytes(path.read_bytes()[:-20])
    refuses(BadInput, read_embeddings, path)


# --- clip-retrieval folders ------------------------------------------------------------------------------


def folder(root: Path, shards: int = 12) -> Path:
    """One image row and two text rows a shard; the numbers are their place."""
    for side, rows in (("img_emb", 1), ("text_emb", 2)):
        (root / side).mkdir(parents=True)
        for n in range(shards):
            np.save(root / side / f"{side}_{n}.npy", np.full((rows, 3), n, np.float16))
    return root


def test_shards_in_numeric_order(tmp_path: Path) -> None:
    raw = read_embeddings(folder(tmp_path / "f"))
    assert raw.format == "clip-retrieval" and raw.images.dtype == np.float16 and len(raw.sources) == 24
    assert raw.images[:, 0].tolist() == list(range(12)) and raw.texts.shape == (24, 3)
    assert raw.image_ids is None and "12 batches" in raw.notes[0] and "12 batches" in raw.notes[1]


def test_shards_that_do_not_fit(tmp_path: Path, refuses: Refuses) -> None:
    root = folder(tmp_path / "f", 3)
    shards = root / "text_emb"
    for name, array in (("2", np.zeros((2, 4), np.float16)), ("2", np.zeros((2, 3), int)), ("1", None), ("00", TEXTS)):
        if array is None:
            (shards / f"text_emb_{name}.npy").unlink()
        else:
            np.save(shards / f"text_emb_{name}.npy", array)
        refuses(BadInput, read_embeddings, root)
    for file in shards.iterdir():
        file.unlink()
    refuses(BadInput, read_embeddings, root)
    shards.rmdir()
    refuses(BadInput, read_embeddings, root)


def test_metadata_gives_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    root = folder(tmp_path / "f", 2)
    (root / "metadata").mkdir()
    for n in range(2):
        columns = {"caption": ["x", "y"], "image_id": [n, n], "caption_id": [f"{n}#0", f"{n}#1"]}
        pq.write_table(pa.table(columns), root / "metadata" / f"metadata_{n}.parquet")
    raw = read_embeddings(root)
    assert raw.image_ids is None and raw.image_of_text is not None and raw.image_of_text.tolist() == [0, 0, 1, 1]
    assert raw.text_ids is not None and raw.text_ids.tolist() == ["0#0", "0#1", "1#0", "1#1"]
    pq.write_table(pa.table({"image_id": [1]}), root / "metadata" / "metadata_1.parquet")
    refuses(BadInput, read_embeddings, root)
    (root / "metadata" / "metadata_1.parquet").write_bytes(b"PAR1")
    refuses(BadInput, read_embeddings, root)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refuses(MissingPackage, read_embeddings, root)


# --- handles ---------------------------------------------------------------------------------------------


def written(path: Path) -> Path:
    """The arrays of ``FULL`` in the format of an ending."""
    arrays = {name: array.copy() for name, array in FULL.items()}
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.update(arrays)
    elif path.suffix == ".pt":
        torch = pytest.importorskip("torch")
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
    elif path.suffix == ".mat":
        pytest.importorskip("scipy.io").savemat(path, arrays)
    else:
        pytest.importorskip("safetensors.numpy").save_file(arrays, path)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="counts the open files of the process")
@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ending", [".npz", ".h5", ".pt", ".mat", ".safetensors"])
def test_no_file_stays_open(ending: str, tmp_path: Path) -> None:
    """Neither without a collection of garbage, nor after an error; memory maps live as long as their arrays."""
    path, other = written(tmp_path / f"a{ending}"), tmp_path / f"b{ending}"
    other.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    read_embeddings(path)  # imports what it needs
    opened = Path("/proc/self/fd")
    gc.disable()
    try:
        before = sorted(opened.iterdir())
        raw = read_embeddings(path)
        assert ending == ".safetensors" or sorted(opened.iterdir()) == before
        del raw
        with contextlib.suppress(BadInput):
            read_embeddings(other)
        assert sorted(opened.iterdir()) == before
    finally:
        gc.enable()


def test_absurd_shapes_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    """What a header declares, without data behind it."""
    import scipy.io

    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["texts"] = TEXTS
        file.create_dataset("images", (10**9, 512), "f4", chunks=(1024, 512))
    scipy.io.savemat(tmp_path / "a.mat", {"images": IMAGES.astype(float), "texts": TEXTS})
    data = bytearray((tmp_path / "a.mat").read_bytes())
    at = data.find(struct.pack("<iiii", 5, 8, *IMAGES.shape)) + 8
    data[at : at + 8] = struct.pack("<ii", 2**30, 2**30)
    (tmp_path / "a.mat").write_bytes(data)
    np.save(tmp_path / "a.npy", IMAGES)
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes() * 2)  # two arrays, one after the other
    for name in ("a.h5", "a.mat", "a.npy"):
        texts = tmp_path / "a.npy" if name == "a.npy" else None
        with pytest.raises(BadInput) as caught:
            read_embeddings(tmp_path / name, texts=texts)
        assert caught.value.where == str(tmp_path / name)
        assert isinstance(caught.value, LowMemory) == (name != "a.npy")


# --- the table of formats --------------------------------------------------------------------------------


def test_every_entry_of_the_table_can_be_used() -> None:
    for name, kind in FORMATS.items():
        assert kind.name == name and kind.words
        assert bool(kind.arrays) == bool(kind.holds), "a format that is documented can be read"
        assert (kind.package is None) == (kind.extra is None)
        assert not kind.single or kind.arrays


def table_of_shards(folder: Path, parts: int = 3, **change: Any) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    columns = {"image_embeddings": list(rng.random((30, 4))), "text_embeddings": list(rng.random((30, 4))), **change}
    table = pyarrow.table({"image_ids": [f"i{n}" for n in range(30)], **columns})
    folder.mkdir(exist_ok=True)
    parquet.write_table(table, folder.parent / "one.parquet")
    for n in range(parts):
        parquet.write_table(table.slice(n * 30 // parts, 30 // parts), folder / f"part-{n:05}-of-{parts:05}.parquet")


def test_a_folder_of_shards_is_one_table(tmp_path: Path, pinned: Pinned, refuses: Refuses) -> None:
    table_of_shards(tmp_path / "folder")
    one, all_of = read_embeddings(tmp_path / "one.parquet"), read_embeddings(tmp_path / "folder")
    for a, b in zip((*one.arrays, one.image_ids), (*all_of.arrays, all_of.image_ids), strict=True):
        assert np.array_equal(a, b)
    assert one.image_ids is not None and not all_of.warnings
    pinned(read_embeddings(tmp_path / "folder" / "part-00001-of-00003.parquet").warnings[0])
    shards = sorted((tmp_path / "folder").iterdir())
    refuses(BadInput, group, [(None, path) for path in shards])
    shards[1].unlink()
    refuses(BadInput, read_embeddings, tmp_path / "folder")


def test_shards_of_several_tables_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    table_of_shards(tmp_path / "test", 1)
    table_of_shards(tmp_path / "train", 1, other=list(range(30)))
    assert not read_embeddings(tmp_path / "train" / "part-00000-of-00001.parquet").warnings
    for name in ("test", "train"):
        (tmp_path / name / "part-00000-of-00001.parquet").replace(tmp_path / f"{name}-00000-of-00001.parquet")
    (tmp_path / "one.parquet").unlink()
    refuses(BadInput, read_embeddings, tmp_path)
    for n, name in enumerate(("test", "train")):  # as shards of one table
        (tmp_path / f"{name}-00000-of-00001.parquet").replace(tmp_path / f"all-{n:05}-of-00002.parquet")
    with pytest.raises(BadInput):
        read_embeddings(tmp_path).images.sum()


@pytest.mark.parametrize("sizes", [(3, 3, 3, 3), (2, 5, 3, 4), (5, 1, 7, 3)])
def test_a_list_of_several_vectors_an_item_is_no_list_of_batches(
    sizes: tuple[int, ...], tmp_path: Path, refuses: Refuses
) -> None:
    torch = pytest.importorskip("torch")
    parts = [torch.arange(float(6 * n)).reshape(n, 6) + 1 for n in sizes]
    torch.save({"image_embeddings": parts, "text_embeddings": torch.ones(12, 6)}, tmp_path / "a.pt")
    refuses(BadInput, read_embeddings, tmp_path / "a.pt")
    torch.save({"image_embeddings": torch.cat(parts), "text_embeddings": torch.ones(12, 6)}, tmp_path / "a.pt")
    assert read_embeddings(tmp_path / "a.pt").images.shape == (sum(sizes), 6)


def test_arrays_and_numbers_of_numpy_in_a_torch_file(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    ids = np.array(["b", "a", "c"])
    arrays = {"image_embeddings": np.eye(3, dtype="f4"), "text_embeddings": torch.eye(3), "rsum": np.float64(1.5)}
    torch.save({**arrays, "image_ids": ids, "text_ids": ids.astype(object)}, tmp_path / "a.pt")
    raw = read_embeddings(tmp_path / "a.pt")
    assert np.array_equal(raw.images, np.eye(3)) and raw.image_ids.tolist() == raw.text_ids.tolist() == ids.tolist()
    torch.save({"image_embeddings": Path("x")}, tmp_path / "a.pt")
    with pytest.raises(BadInput):
        read_embeddings(tmp_path / "a.pt")


def test_the_advice_for_objects_of_python_is_followed(tmp_path, monkeypatch, refuses):
    """What the fix says is run as it stands, and the file that it writes is read."""
    monkeypatch.chdir(tmp_path)
    arrays = {"image_embeddings": np.eye(3), "text_embeddings": np.eye(3), "image_ids": np.array(["a", "b", "c"])}
    np.save("dict.npy", arrays)  # type: ignore[arg-type]
    np.savez("dict.npz", arrays)  # type: ignore[arg-type]
    Path("dict.pkl").write_bytes(pickle.dumps(arrays))
    for name in ("dict.npy", "dict.npz", "dict.pkl"):
        Path("NEW.npz").unlink(missing_ok=True)
        caught = refuses(BadInput, npy_members if name == "dict.npy" else read_embeddings, Path(name))
        exec(str(caught.fix).partition(": ")[2], {"np": np, "pickle": pickle})
        assert np.array_equal(read_embeddings("NEW.npz").images, np.eye(3))
    np.savez("ids.npz", **arrays | {"image_ids": arrays["image_ids"].astype(object)})
    caught = refuses(BadInput, read_embeddings, "ids.npz")
    saved = dict(arrays)
    exec(str(caught.fix).rpartition(": ")[2], {"np": np}, saved)
    np.savez("ids.npz", **saved)
    assert read_embeddings("ids.npz").image_ids.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["struct", "cells"])
def test_structs_and_cells_of_matlab_are_refused_with_their_way_out(name, tmp_path, refuses):
    from scipy.io import savemat

    cells = np.empty((3, 1), object)
    cells[:, 0] = list(np.eye(3))
    given = {"data": {"image_features": np.eye(3), "text_features": np.eye(3)}}
    savemat(tmp_path / "a.mat", given if name == "struct" else {"image_features": cells, "text_features": cells})
    refuses(BadInput, read_embeddings, tmp_path / "a.mat")
    savemat(tmp_path / "a.mat", given["data"])
    assert read_embeddings(tmp_path / "a.mat").images.shape == (3, 3)
