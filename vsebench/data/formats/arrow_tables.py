"""Parquet and arrow tables: one row an item; the column ``modality`` is image or text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from ...memory import Growth
from .guard import BOMB_BYTES, reading
from .ids import as_ids, id_array
from .raw import Array, RawEmbeddings, RawSide

VECTORS = "embedding"  # the column of the vectors, unless another is named
_NEEDED = ("id", "modality", VECTORS)
_LAYOUT = "write the columns id, modality (image or text), embedding and, for texts, image_id"
_MODALITIES = {"image": "image", "text": "text", "caption": "text"}
_BATCH = 8192  # rows read together
_FILE_START = b"ARROW1"  # of an IPC file; an IPC stream starts with a message


def read_parquet(path: Path, vectors: str = VECTORS) -> RawEmbeddings:
    """Embeddings from a parquet table with the columns ``id``, ``modality`` (image, text or caption), ``embedding``
    (a list of floats, all of one length; or the column ``vectors``) and optionally ``image_id`` (of a text: the image
    it belongs to) and ``caption`` (of a text: what it says).

    Raises:
        BadInput: the file is damaged, a column is missing or of the wrong type, a value is missing.
    """
    return _read_table(path, _parquet_batches(path, None, vectors), "parquet")


def read_arrow(path: Path, vectors: str = VECTORS) -> RawEmbeddings:
    """Embeddings from an arrow table (IPC file or IPC stream) with the columns that ``read_parquet`` describes.

    Raises:
        BadInput: the file is damaged, a column is missing or of the wrong type, a value is missing.
    """
    return _read_table(path, _arrow_batches(path, None, vectors), "arrow")


def parquet_side(path: Path, side: str, vectors: str = VECTORS) -> RawSide:
    """The vectors of one modality, ``image`` or ``text``, of a parquet table that has no others.

    Its columns are those of ``read_parquet``; ``modality`` may be left out.

    Raises:
        BadInput: as ``read_parquet``, or there are rows of the other modality.
    """
    return _one_side(_columns(path, _parquet_batches(path, side, vectors), side), side, path)


def arrow_side(path: Path, side: str, vectors: str = VECTORS) -> RawSide:
    """The same of an arrow table."""
    return _one_side(_columns(path, _arrow_batches(path, side, vectors), side), side, path)


def parquet_sides(path: Path) -> frozenset[str]:
    """The modalities of the rows of a parquet table; none when it does not say (no column ``modality``)."""
    import pyarrow.parquet

    with _reading_table(path), pyarrow.parquet.ParquetFile(path) as file:
        if "modality" not in file.schema_arrow.names:
            return frozenset()
        return _sides_in(file.iter_batches(batch_size=_BATCH, columns=["modality"]))


def arrow_sides(path: Path) -> frozenset[str]:
    """The same of an arrow table."""
    with _reading_table(path), _arrow_reader(path) as (schema, batches):
        return _sides_in(batches) if "modality" in schema.names else frozenset()


def _sides_in(batches: Iterable[Any]) -> frozenset[str]:
    """The modalities of some batches; unknown words as both, so that the reader names them."""
    words: set[Any] = set()
    for batch in batches:
        column = batch.column("modality")
        column.validate(full=True)  # the format itself does not check offsets
        words |= {word if isinstance(word, str) else None for word in column.to_pylist()}
    return frozenset(side for word in words for side in ([_MODALITIES[word]] if word in _MODALITIES else _SIDES))


@contextmanager
def _reading_table(path: Path) -> Iterator[None]:
    import pyarrow as pa

    with reading(path, "is a truncated or damaged table", pa.ArrowException, OSError, ValueError, KeyError):
        yield


def _columns(path: Path, batches: Iterator[Any], only: str | None) -> dict[str, dict[str, list[Any]]]:
    """Side -> column -> values, embeddings as arrays, one a batch; ``only``: the side of rows without a modality."""
    import pyarrow as pa

    columns: dict[str, dict[str, list[Any]]] = {
        side: {"id": [], "embedding": [], "image_id": [], "caption": []} for side in _SIDES
    }
    row, width = 0, None
    growth = Growth(path, path.stat().st_size, large=BOMB_BYTES)
    with _reading_table(path):
        for batch in batches:
            if batch.num_rows == 0:
                continue
            stated = "modality" in batch.schema.names
            modality = _modalities(pa, batch, row, path) if stated else np.full(batch.num_rows, only)
            vectors = _vectors(pa, batch, row, path)
            if width is not None and vectors.shape[1] != width:
                raise _ragged(path, row, vectors.shape[1], width)
            width = vectors.shape[1]
            texts = (batch.column(n).nbytes for n in ("id", "image_id", "caption") if n in batch.schema.names)
            growth.add(vectors.nbytes + 2 * sum(texts))
            for side in _SIDES:
                mask = modality == side
                columns[side]["embedding"].append(vectors[mask])
                for name in ("id", "image_id", "caption"):
                    if name in batch.schema.names:
                        values = batch.column(name).to_pylist()
                        columns[side][name].extend(values[at] for at in np.flatnonzero(mask))
            row += len(modality)
    for side in _SIDES if only is None else (only,):
        if not columns[side]["id"]:
            raise BadInput(f"has no row whose modality is '{side}' ({row:,} rows)", where=path, fix=_LAYOUT)
    return columns


def _read_table(path: Path, batches: Iterator[Any], kind: str) -> RawEmbeddings:
    columns = _columns(path, batches, None)
    images, texts = (_one_side(columns, side, path) for side in _SIDES)
    return RawEmbeddings(
        images.vectors, texts.vectors, images.ids, texts.ids, texts.image_of_text, kind, (path,), texts.notes, "ids",
        texts.captions,
    )  # fmt: skip


def _one_side(columns: dict[str, dict[str, list[Any]]], side: str, path: Path) -> RawSide:
    own = columns[side]
    vectors, ids = np.concatenate(own["embedding"]), _ids(own["id"], "id", path)
    if side == "image":
        return RawSide(vectors, ids)
    image_of, captions = own["image_id"], own["caption"]
    notes = () if image_of else ("no column image_id: the image of every text is not given",)
    if image_of and all(value is None for value in image_of):
        image_of = []
    image_of_text = _ids(image_of, "image_id", path) if image_of else None
    strings = tuple(captions) if captions and all(isinstance(value, str) for value in captions) else None
    return RawSide(vectors, ids, image_of_text, strings, "ids", notes)


_SIDES = ("image", "text")


def _parquet_batches(path: Path, only: str | None, vectors: str) -> Iterator[Any]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        names = _check_columns(file.schema_arrow, path, only, vectors)
        for batch in parquet_batches(file, names, path):
            yield _as_declared(batch, vectors)


def parquet_batches(file: Any, names: list[str] | None, path: Path) -> Iterator[Any]:
    """Some columns (None: all) of an open parquet file in batches, once the size that it declares is checked.

    Raises:
        BadInput: it is far more than the file has.
    """
    # The sizes of its columns are not read: pyarrow ends the process where their statistics are damaged.
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    growth, declared = Growth(path, path.stat().st_size, large=BOMB_BYTES), sum(g.total_byte_size for g in groups)
    if declared > growth.harmless:
        growth.add(declared)
    yield from file.iter_batches(batch_size=_BATCH, columns=names)


def _arrow_batches(path: Path, only: str | None, vectors: str) -> Iterator[Any]:
    with _arrow_reader(path) as (schema, batches):
        names = _check_columns(schema, path, only, vectors)
        for batch in batches:
            batch.validate(full=True)  # the format itself does not check offsets
            yield _as_declared(batch.select(names), vectors)


def _as_declared(batch: Any, vectors: str) -> Any:
    """A batch whose column of vectors has the usual name."""
    return batch.rename_columns([VECTORS if name == vectors else name for name in batch.schema.names])


@contextmanager
def _arrow_reader(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches of an IPC file or stream."""
    import pyarrow as pa

    with path.open("rb") as stream:
        is_file = stream.read(len(_FILE_START)) == _FILE_START
    with pa.OSFile(str(path)) as source:  # not mapped: a file that is truncated meanwhile would end the process
        if is_file:
            file = pa.ipc.open_file(source)
            yield file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            reader = pa.ipc.open_stream(source)
            yield reader.schema, iter(reader)


def _check_columns(schema: Any, path: Path, only: str | None, vectors: str) -> list[str]:
    """The columns to read; ``only``: the modality of all rows, if the table does not have to say it."""
    needed = [name for name in _NEEDED if name != "modality" or only is None or name in schema.names]
    needed = [vectors if name == VECTORS else name for name in needed]
    for name in needed:
        if schema.names.count(name) != 1:
            found = ", ".join(f"{field.name} ({field.type})" for field in list(schema)[:12])
            fix = f"{_LAYOUT}, or name the column of the vectors: --image-key and --text-key"
            raise BadInput(f"has no column '{name}'; it has {found or 'none'}", where=path, fix=fix)
    return [*needed, *(name for name in ("image_id", "caption") if schema.names.count(name) == 1)]


def _modalities(pa: Any, batch: Any, row: int, path: Path) -> Array:
    names = batch.column("modality").to_pylist()
    for at, name in enumerate(names):
        if not isinstance(name, str) or name not in _MODALITIES:
            raise BadInput(f"row {row + at}: modality is {name!r}, not image, text or caption", where=path, fix=_LAYOUT)
    return np.array([_MODALITIES[name] for name in names], dtype=np.str_)


def _vectors(pa: Any, batch: Any, row: int, path: Path) -> Array:
    column = batch.column("embedding")
    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not pa.types.is_floating(kind.value_type):
        what = f"column 'embedding' is {kind}, expected a list of float16, float32 or float64"
        raise BadInput(what, where=path, fix=_LAYOUT)
    if column.null_count:
        at = column.is_valid().to_pylist().index(False)
        raise BadInput(f"row {row + at} has no embedding", where=path, fix="give every row a vector")
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
    else:
        lengths = np.asarray(column.value_lengths())
        width = int(lengths[0]) if len(lengths) else 0
        if (lengths != width).any():
            at = int(np.flatnonzero(lengths != width)[0])
            raise _ragged(path, row + at, int(lengths[at]), width)
    flat = column.flatten()
    if flat.null_count:
        at = flat.is_valid().to_pylist().index(False) // width
        what = f"row {row + at} has a missing value in its embedding"
        raise BadInput(what, where=path, fix="give every row a vector")
    out: Array = flat.to_numpy(zero_copy_only=False).reshape(len(column), width)
    return out


def _ragged(path: Path, row: int, found: int, first: int) -> BadInput:
    return BadInput(
        f"row {row} has an embedding of {found} values, the rows before it have {first}",
        where=path,
        fix="give every row a vector of the same length",
    )


def _ids(values: list[Any], name: str, path: Path) -> Array:
    kinds = {type(value) for value in values}
    if kinds not in ({int}, {str}, {bytes}, {float}):
        bad = next((v for v in values if type(v) is not type(values[0])), values[0])
        what = "has missing values" if type(None) in kinds else f"holds {bad!r} among other types"
        raise BadInput(f"column '{name}' {what}", where=path, fix="give every row one integer or string id")
    with reading(path, f"column '{name}' cannot be read", OverflowError):
        return as_ids(id_array(values, name, path), name, path)
