"""Parquet and arrow tables: one row an item; the column ``modality`` is image or text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..memory import require
from ..options import spell
from .ids import as_ids, id_array
from .raw import Array, RawArray, RawEmbeddings
from .regular import reading

VECTORS = "embedding"  # the column of the vectors, unless another is named
_NEEDED = ("id", "modality", VECTORS)
_LAYOUT = "write the columns id, modality (image or text), embedding and, for texts, image_id"
_SIDES = ("image", "text")
_MODALITIES = {"image": "image", "text": "text", "caption": "text"}
_BATCH = 8192  # rows read together
PARQUET_START = b"PAR1"
FILE_START = b"ARROW1"  # of an IPC file; an IPC stream starts with a message


def read_table(path: Path, vectors: str = VECTORS) -> RawEmbeddings:
    """Embeddings from a table with the columns ``id``, ``modality`` (image, text or caption), ``embedding`` (a list of
    floats, all of one length; or the column ``vectors``) and optionally ``image_id`` (of a text: the image it belongs
    to) and ``caption`` (of a text: what it says). The table is parquet, an arrow IPC file or an arrow IPC stream.

    Raises:
        BadInput: the file is damaged, a column is missing or of the wrong type, a value is missing.
    """
    columns = _columns(path, None, vectors)
    images, texts = (_one_side(columns, side, path) for side in _SIDES)
    return RawEmbeddings(
        images.values, texts.values, images.image_ids, texts.text_ids, texts.image_of_text, texts.format, (path,),
        texts.notes, "ids", texts.captions,
    )  # fmt: skip


def table_side(path: Path, side: str, vectors: str = VECTORS) -> RawArray:
    """The vectors of one modality, ``image`` or ``text``, of a table that has no others.

    Its columns are those of ``read_table``; ``modality`` may be left out.

    Raises:
        BadInput: as ``read_table``, or there are rows of the other modality.
    """
    return _one_side(_columns(path, side, vectors), side, path)


def table_sides(path: Path) -> frozenset[str]:
    """The modalities of the rows of a table, both for unknown words; none when it does not say (no ``modality``)."""
    words: set[Any] = set()
    with _table(path) as (schema, batches):
        for batch in batches(["modality"]) if "modality" in schema.names else ():
            words |= {word if isinstance(word, str) else None for word in batch.column("modality").to_pylist()}
    return frozenset(side for word in words for side in ([_MODALITIES[word]] if word in _MODALITIES else _SIDES))


def is_parquet(path: Path) -> bool:
    """Whether a table is in the format parquet."""
    with path.open("rb") as stream:
        return stream.read(len(PARQUET_START)) == PARQUET_START


@contextmanager
def _table(path: Path) -> Iterator[tuple[Any, Callable[[list[str]], Iterator[Any]]]]:
    """The schema of a table and its batches with some columns, every error of reading as BadInput."""
    import pyarrow as pa
    import pyarrow.parquet

    with reading(path, "is a truncated or damaged table"):
        if is_parquet(path):
            with pyarrow.parquet.ParquetFile(path) as file:
                yield file.schema_arrow, lambda names: file.iter_batches(batch_size=_BATCH, columns=names)
            return
        with path.open("rb") as stream:
            is_file = stream.read(len(FILE_START)) == FILE_START
        with pa.OSFile(str(path)) as source:  # not mapped: a file that is truncated meanwhile would end the process
            reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else iter(reader)
            yield reader.schema, lambda names: _validated(batches, names)


def _validated(batches: Iterator[Any], names: list[str]) -> Iterator[Any]:
    for batch in batches:
        batch.validate(full=True)  # the format itself does not check offsets
        yield batch.select(names)


def schema_of(path: Path) -> tuple[Any, list[int]]:
    """The schema of a parquet file of pyarrow, and the number of rows of every row group; raises BadInput."""
    with _parquet(path) as file:
        counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        return file.schema_arrow, counts


def read_group(path: Path, column: str, group: int) -> Any:
    """One column of a row group of a parquet file, an array of pyarrow; ``a.b`` has the field b of column a alone.

    Raises:
        BadInput: the file is damaged.
    """
    with _parquet(path) as file:
        return file.read_row_group(group, columns=[column]).column(0)


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow.parquet

    with (
        reading(path, "is a truncated or damaged table"),
        pyarrow.parquet.ParquetFile(path) as file,
    ):
        yield file


def read_columns(path: Path, names: list[str] | None = None) -> dict[str, list[Any]]:
    """The columns of a table by name, None for missing values; ``names``: those to read that it has, all by default.

    Of a column of a parquet file ``a.b`` reads the field b alone, as objects with that field.

    Raises:
        BadInput: the file is damaged.
    """
    with _table(path) as (schema, batches):
        known = schema.names
        named = known if names is None else names
        wanted = {name if name in known else name.partition(".")[0]: name for name in named}
        columns: dict[str, list[Any]] = {name: [] for name in known if name in wanted}
        for batch in batches([wanted[name] for name in columns]) if columns else ():
            for name, values in columns.items():
                values += batch.column(name).to_pylist()
    return columns


def _columns(path: Path, only: str | None, vectors: str) -> dict[str, dict[str, list[Any]]]:
    """Side -> column -> values, embeddings as arrays, one a batch; ``only``: the side of rows without a modality."""
    columns: dict[str, dict[str, list[Any]]] = {
        side: {"id": [], VECTORS: [], "image_id": [], "caption": []} for side in _SIDES
    }
    row, width = 0, None
    with _table(path) as (schema, batches):
        for batch in batches(_check_columns(schema, path, only, vectors)):
            if batch.num_rows == 0:
                continue
            others = [name for name in ("id", "image_id", "caption") if name in batch.schema.names]
            stated = "modality" in batch.schema.names
            modality = _modalities(batch, row, path) if stated else np.full(batch.num_rows, only)
            found = _vectors(batch.column(vectors), row, path)
            if width is not None and found.shape[1] != width:
                raise _ragged(path, row, found.shape[1], width)
            width = found.shape[1]
            require(2 * found.nbytes, path)
            for side in _SIDES:
                mask = modality == side
                columns[side][VECTORS].append(found[mask])
                for name in others:
                    values = batch.column(name).to_pylist()
                    columns[side][name].extend(values[at] for at in np.flatnonzero(mask))
            row += len(modality)
    for side in _SIDES if only is None else (only,):
        if not columns[side]["id"]:
            raise BadInput(f"has no row whose modality is '{side}' ({row:,} rows)", where=path, fix=_LAYOUT)
    return columns


def _one_side(columns: dict[str, dict[str, list[Any]]], side: str, path: Path) -> RawArray:
    own, kind = columns[side], "parquet" if is_parquet(path) else "arrow"
    vectors, ids = np.concatenate(own[VECTORS]), _ids(own["id"], "id", path)
    if side == "image":
        return RawArray(vectors, ids, format=kind)
    image_of, captions = own["image_id"], own["caption"]
    notes = () if image_of else ("no column image_id: the image of every text is not given",)
    if image_of and all(value is None for value in image_of):
        image_of = []
    image_of_text = _ids(image_of, "image_id", path) if image_of else None
    strings = tuple(captions) if captions and all(isinstance(value, str) for value in captions) else None
    return RawArray(vectors, None, ids, image_of_text, kind, (path,), notes, "ids", strings)


def _check_columns(schema: Any, path: Path, only: str | None, vectors: str) -> list[str]:
    """The columns to read; ``only``: the modality of all rows, if the table does not have to say it."""
    needed = [name for name in _NEEDED if name != "modality" or only is None or name in schema.names]
    needed = [vectors if name == VECTORS else name for name in needed]
    for name in needed:
        if schema.names.count(name) != 1:
            found = ", ".join(f"{field.name} ({field.type})" for field in list(schema)[:12])
            fix = f"{_LAYOUT}, or name the column of the vectors: {spell('image_key')} and {spell('text_key')}"
            raise BadInput(f"has no column '{name}'; it has {found or 'none'}", where=path, fix=fix)
    return [*needed, *(name for name in ("image_id", "caption") if schema.names.count(name) == 1)]


def _modalities(batch: Any, row: int, path: Path) -> Array:
    names = batch.column("modality").to_pylist()
    for at, name in enumerate(names):
        if not isinstance(name, str) or name not in _MODALITIES:
            raise BadInput(f"row {row + at}: modality is {name!r}, not image, text or caption", where=path, fix=_LAYOUT)
    return np.array([_MODALITIES[name] for name in names], dtype=np.str_)


def _vectors(column: Any, row: int, path: Path) -> Array:
    import pyarrow as pa

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
    with reading(path, f"column '{name}' cannot be read"):
        return as_ids(id_array(values, name, path), name, path)
