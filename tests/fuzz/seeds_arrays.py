"""Valid files of vectors in every format, made here: what changed inputs begin with."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.embedding_files import FULL, IMAGE_IDS, IMAGES, OWNER, TEXT_IDS, TEXTS
from tests.fuzz import contract

CAPTIONS = np.array(["a dog", "the dog runs", "two men", "men at chess", "a tree", "a child", "sea", "the blue sea"])
WIDE = {**FULL, "captions": CAPTIONS, "image_ids": np.array(["a.jpg", "b.jpg", "c.jpg", "d.jpg"])}
SCORES = {"scores": IMAGES @ TEXTS.T, "image_ids": IMAGE_IDS, "text_ids": TEXT_IDS}
LABELS = {"labels": np.arange(12.0).reshape(4, 3), "image_ids": IMAGE_IDS}


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(arrays: Mapping[str, Any], packed: bool = False) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **arrays)
    return stream.getvalue()


def npy_files() -> list[bytes]:
    """Arrays that are vectors, scores, labels, ids and truth values."""
    bits = np.array([True, False, True, False])
    arrays = (IMAGES, TEXTS.astype(">f8"), SCORES["scores"], LABELS["labels"], IMAGE_IDS, WIDE["image_ids"], bits)
    return [npy(array) for array in arrays] + [npy(np.asfortranarray(TEXTS.astype(np.float16)))]


def npz_files() -> list[bytes]:
    """Embeddings, scores and labels, plain and compressed."""
    return [npz(FULL), npz(WIDE, True), npz(SCORES), npz(LABELS), npz({"image_embeddings": IMAGES})]


def rows_of_an_index() -> list[bytes]:
    found = np.array([[1, 0, 2], [2, -1, -1]])
    return [npy(found), npz({"I": found, "D": np.float32([[3, 2, 2], [1, -9, -9]])}), npz({"labels": found}, True)]


def npz_members() -> list[bytes]:
    """The same as the members of an archive, see ``loaders.members``."""
    sets: tuple[Mapping[str, Any], ...] = (FULL, WIDE, SCORES, LABELS)
    return [contract.pack({f"{name}.npy": npy(array) for name, array in arrays.items()}) for arrays in sets]


def safetensors_files() -> list[bytes]:
    """Embeddings, scores and half-precision vectors."""
    import torch
    from safetensors.torch import save

    half = {"images": torch.from_numpy(IMAGES).bfloat16(), "texts": torch.from_numpy(TEXTS).half()}
    whole = [{name: torch.from_numpy(np.array(array)) for name, array in x.items()} for x in (FULL, SCORES, LABELS)]
    return [save(half), *(save(tensors, {"format": "pt"}) for tensors in whole)]


def torch_file(value: Any, **options: Any) -> bytes:
    import torch

    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


def _tensors() -> list[Any]:
    import torch

    full = {name: torch.from_numpy(np.array(array)) for name, array in FULL.items()}
    listed = {**full, "image_ids": IMAGE_IDS.tolist(), "text_ids": [f"t{i}" for i in TEXT_IDS]}
    return [full, listed, {"model": {"image": full["image_embeddings"].bfloat16()}}, torch.from_numpy(SCORES["scores"])]


def torch_files() -> list[bytes]:
    """Dictionaries of tensors and a tensor, also in the format before torch 1.6."""
    return [torch_file(value) for value in _tensors()] + [
        torch_file(_tensors()[1], _use_new_zipfile_serialization=False)
    ]


def torch_members() -> list[bytes]:
    """The same as the members of an archive."""
    found = []
    for value in _tensors():
        with zipfile.ZipFile(io.BytesIO(torch_file(value))) as archive:
            names = [name for name in archive.namelist() if not name.startswith("archive/.")]
            found.append(contract.pack({name: archive.read(name) for name in names}))
    return found


def hdf5_files() -> list[bytes]:
    """Embeddings, in groups, compressed, with strings, and scores."""
    import h5py

    def file(arrays: Mapping[str, Any], **options: Any) -> bytes:
        stream = io.BytesIO()
        with h5py.File(stream, "w") as out:
            for name, array in arrays.items():
                text = array.dtype.kind == "U"
                out.create_dataset(name, data=array.astype(object) if text else array, **({} if text else options))
        return stream.getvalue()

    grouped = {f"test/{name}": array for name, array in FULL.items()}
    return [file(FULL), file(WIDE), file(grouped, compression="gzip", chunks=True), file(SCORES), file(LABELS)]


def _tables() -> list[Any]:
    import pyarrow as pa

    rows = range(len(IMAGES) + len(TEXTS))
    columns: dict[str, Any] = {
        "id": [*IMAGE_IDS.tolist(), *TEXT_IDS.tolist()],
        "modality": ["image" if row < len(IMAGES) else "text" for row in rows],
        "embedding": [*IMAGES.tolist(), *TEXTS.tolist()],
        "image_id": [*[None] * len(IMAGES), *IMAGE_IDS[OWNER].tolist()],
        "caption": [*[None] * len(IMAGES), *CAPTIONS.tolist()],
    }
    plain = pa.table(columns)
    small = pa.list_(pa.float32(), 3)
    typed = {**columns, "id": [str(i) for i in columns["id"]], "embedding": pa.array(columns["embedding"], small)}
    one = {"id": IMAGE_IDS, "embedding": pa.array(IMAGES.tolist(), pa.large_list(pa.float16()))}
    return [plain, pa.table(typed), pa.table(one), pa.table({"id": IMAGE_IDS, "category": ["a", "b", "a,b", None]})]


def parquet_files() -> list[bytes]:
    """Tables of both modalities and of one, and a table of labels; not compressed, compressed, in several groups."""
    import pyarrow.parquet

    def file(table: Any, **options: Any) -> bytes:
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table, stream, **options)
        return stream.getvalue()

    plain = [file(table, compression="none", use_dictionary=False) for table in _tables()]
    return [*plain, file(_tables()[1], row_group_size=5)]


def arrow_files() -> list[bytes]:
    """The same tables as IPC files and as an IPC stream."""
    import pyarrow as pa

    def file(table: Any, new: Any) -> bytes:
        stream = io.BytesIO()
        with new(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
        return stream.getvalue()

    return [file(table, pa.ipc.new_file) for table in _tables()[:3]] + [file(_tables()[1], pa.ipc.new_stream)]


def mat_files() -> list[bytes]:
    """MATLAB 5 files with cells of texts, plain and compressed, and scores."""
    import scipy.io

    def file(arrays: Mapping[str, Any], **options: Any) -> bytes:
        stream = io.BytesIO()
        cells = {name: x.astype(object) if x.dtype.kind == "U" else x for name, x in arrays.items()}
        scipy.io.savemat(stream, cells, **options)
        return stream.getvalue()

    return [file(FULL), file(WIDE), file(WIDE, do_compression=True), file(SCORES), file(LABELS)]


def vector_lines() -> list[bytes]:
    """The tables of both modalities and of one as JSON lines."""
    rows = [[{k: v for k, v in row.items() if v is not None} for row in t.to_pylist()] for t in _tables()[:3]]
    return ["".join(json.dumps(row) + "\n" for row in table).encode() for table in rows]


def clip_retrieval_folders() -> list[bytes]:
    """Folders of one shard and of two, the second with metadata."""
    import pyarrow as pa
    import pyarrow.parquet

    stream = io.BytesIO()
    table = pa.table({"image_id": IMAGE_IDS[OWNER], "caption_id": TEXT_IDS, "caption": CAPTIONS})
    pyarrow.parquet.write_table(table, stream, compression="none")
    one = {"img_emb/img_emb_0.npy": npy(IMAGES), "text_emb/text_emb_0.npy": npy(TEXTS)}
    two = {
        "img_emb/img_emb_0.npy": npy(IMAGES[:3]), "img_emb/img_emb_1.npy": npy(IMAGES[3:].astype(np.float64)),
        "text_emb/text_emb_0.npy": npy(TEXTS), "metadata/metadata_0.parquet": stream.getvalue(),
    }  # fmt: skip
    return [contract.pack(one), contract.pack(two)]


def precomputed_folders() -> list[bytes]:
    """Folders of precomputed features: vectors, sets of regions, and images that are repeated."""
    captions = "\n".join(CAPTIONS.tolist()).encode() + b"\n"
    regions = np.arange(4 * 2 * 3, dtype=np.float32).reshape(4, 2, 3)
    repeated = npy(np.repeat(IMAGES[:2], 5, axis=0)), b"a\nb\nc\nd\ne\n" * 2
    parts = ((npy(IMAGES), captions), (npy(regions), captions), repeated)
    sets = [[part] * 3 for part in parts] + [list(parts)]
    return [
        contract.pack({
            name: data
            for stem, pair in zip(("train", "dev", "test"), one, strict=True)
            for name, data in zip((f"{stem}_ims.npy", f"{stem}_caps.txt"), pair, strict=True)
        })
        for one in sets
    ]  # fmt: skip


def corpora() -> list[bytes]:
    """Captions in which document frequencies are counted: JSON lines, and annotations of COCO."""
    lines = [b'{"image_id": 1, "caption": "a dog runs"}', b'{"image_id": 2, "caption": "the dog"}']
    return [b"\n".join(lines), b'{"annotations": [%b]}' % b", ".join(lines)]


def checkpoints() -> list[bytes]:
    """A checkpoint of the trainer with a tiny model."""
    import tempfile
    from pathlib import Path

    import torch

    from train_reference.checkpoint import Checkpoint, save
    from train_reference.config import Config, Model
    from train_reference.data import SPECIAL
    from train_reference.model import build

    config, words = Config(model=Model(text="mean", dim=2, word_dim=2)), (*SPECIAL, "a", "dog")
    torch.manual_seed(0)
    model = build(config, "vectors", 2, len(words))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "best.safetensors"
        save(Checkpoint(config, words, 2, "vectors", "", [{"epoch": 1, "RSum": 0.5}], {}), path, model)
        return [path.read_bytes()]
