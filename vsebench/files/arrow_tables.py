"""Tables: parquet, arrow and JSON lines, one row an item; the column ``modality`` is image or text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..log import warn
from ..memory import require
from ..options import spell
from ..types import Int
from .ids import id_array
from .raw import Array, Member
from .regular import reading

VECTORS = ("embedding", "embeddings", "vector", "vectors", "emb", "features")  # the first is taken without a name
# The other columns of a table with modalities: their names as arrays, of a side.
_NAMES = {"id": "{}_ids", "modality": "", "image_id": "image_id_of_text", "caption": "captions"}
_SINGULAR = ("image_id", "text_id", "caption_id")  # columns of other tables; the arrays have the plural as name
_LAYOUT = "write the columns id, modality (image or text), embedding and, for texts, image_id"
_NO_IMAGE_ID = "no column image_id: the image of every text is not given"
_MODALITIES = {"image": "image", "text": "text", "caption": "text"}
_BATCH_ROWS = 8192  # rows read at a time
PARQUET_START = b"PAR1"
SHARD = re.compile(
    r"(?P<table>.*?)(?P<number>[0-9]+)-of-(?P<of>[0-9]+)(?:-[0-9a-f]{16})?\.(?:parquet|arrow|csv|tsv|jsonl?)(?:\.gz)?"
)
FILE_START = b"ARROW1"  # of an IPC file; an IPC stream starts with a message


class _Table(NamedTuple):
    """A table: its path, its pyarrow schema, and a function that gives batches of some columns."""

    path: Path
    schema: Any
    batches: Callable[[list[str]], Iterator[Any]]


def table_members(path: Path) -> list[Member]:
    """The columns of a table as arrays: vectors, lists of one length a row, and others.

    A table that says the ``modality`` of its rows (image, text or caption) has the columns ``id``, ``embedding`` and,
    of texts, ``image_id`` (the image it belongs to) and ``caption`` (what it says); its arrays have the usual names of
    each side. Vectors in another column X are ``X/image`` and ``X/text``. The columns of other tables are arrays under
    their own names. The table is parquet, an arrow IPC file or an arrow IPC stream.

    Raises:
        BadInput: the file is damaged, has no vectors, or a row is of another modality.
    """

    def batches(names: list[str]) -> Iterator[Any]:
        with _table(path) as (_, each):
            yield from each(names)

    with _table(path) as (schema, _):
        table = _Table(path, schema, batches)
    say_shard(path)
    return _members(table)


def line_members(path: Path) -> list[Member]:
    """The fields of JSON lines as arrays, like ``table_members``.

    Raises:
        BadInput: the file is damaged, or as ``table_members``.
    """
    import pyarrow.json

    require(4 * path.stat().st_size, path)
    with reading(path, "is a damaged file of JSON lines", "write one JSON object a line, with the same fields in each"):
        table = pyarrow.json.read_json(path, pyarrow.json.ReadOptions(block_size=1 << 26))
    return _members(_Table(path, table.schema, lambda names: iter(table.select(names).to_batches(_BATCH_ROWS))))


def _members(table: _Table) -> list[Member]:
    """The arrays of a table, see ``table_members``."""
    path, schema = table.path, table.schema
    types = {field.name: field.type for field in schema if schema.names.count(field.name) == 1}
    stated = "modality" in types
    vectors = [name for name, kind in types.items() if _is_vector(kind) and name not in _NAMES]
    if not vectors or (stated and "id" not in types):
        missing = "'id'" if vectors else f"'{VECTORS[0]}' or other lists of numbers"
        found = ", ".join(f"{field.name} ({field.type})" for field in list(schema)[:12]) or "none"
        fix = f"{_LAYOUT}, or give the column of the vectors: {spell('image_key')} and {spell('text_key')}"
        raise BadInput(f"has no column {missing}; it has {found}", where=path, fix=fix)
    others = [name for name in types if name not in vectors and (not stated or name in _NAMES)]
    known = _read(table, [name for name in _NAMES if name in others] or [*others, *vectors][:1])
    sides = np.full(len(next(iter(known.values()))), "")
    if stated:
        sides = _modalities(known["modality"].to_pylist(), path)
    usual = next((name for name in VECTORS if name in vectors), "")
    widths = {name: _width(table, name) for name in vectors}
    load = cache(lambda name: _vectors(table, name, widths[name], sides))
    out: list[Member] = []
    for side in dict.fromkeys(sides.tolist()):
        at = np.flatnonzero(sides == side)
        for name in vectors:
            number = np.dtype(types[name].value_type.to_pandas_dtype())
            shape, loaded = (len(at), widths[name]), partial(lambda name, side: load(name)[side], name, side)
            array = f"{name}/{side}{'_embeddings' * (name == usual)}" if stated else name
            note = _NO_IMAGE_ID if side == "text" and "image_id" not in types else ""
            out.append(Member(array, shape, number.name, math.prod(shape) * number.itemsize, loaded, note))
        for name in others:
            array = _NAMES[name] if stated else f"{name}s" if name in _SINGULAR else name
            empty = int(np.asarray(known[name].is_null())[at].sum()) if name in known else 0
            if name == "modality" or empty == len(at) or (side == "image" and name != "id"):
                continue
            kind = _dtype(types[name]) + (" with missing values" if empty else "")
            out.append(Member(array.format(side), (len(at),), kind, 0, partial(_plain, table, name, at)))
    return out


def _is_vector(kind: Any) -> bool:
    import pyarrow.types as pa

    lists = pa.is_list(kind) or pa.is_large_list(kind) or pa.is_fixed_size_list(kind)
    return bool(lists and (pa.is_floating(kind.value_type) or pa.is_integer(kind.value_type)))


def _dtype(kind: Any) -> str:
    """The plain name of a type, see ``Member``."""
    import pyarrow.types as pa

    kind = kind.value_type if pa.is_dictionary(kind) else kind
    names = {"str": (pa.is_string, pa.is_large_string), "bytes": (pa.is_binary,), "int64": (pa.is_integer,)}
    names["float64"] = (pa.is_floating,)
    return next((name for name, fits in names.items() if any(fit(kind) for fit in fits)), str(kind))


def shards_of(folder: Path) -> list[Path]:
    """The shards of the one table in a folder, by the numbers in their names: parquet files, or ``part-0-of-3.csv``.

    Raises:
        BadInput: their names say that there are more of them, or that they are of several tables.
    """
    with reading(folder, "cannot be listed", "check the permissions"):
        files = [path for path in folder.iterdir() if not path.name.startswith(".")]
    found = [path for path in files if path.suffix == ".parquet"] or [p for p in files if SHARD.fullmatch(p.name)]
    return complete(found, folder)


def complete(shards: list[Path], where: Path) -> list[Path]:
    """The files of one table by the numbers in their names; raises BadInput as ``shards_of``."""
    found = sorted(shards, key=lambda path: ([int(n) for n in re.findall(r"[0-9]+", path.name)], path.name))
    named = [part for path in found if (part := SHARD.fullmatch(path.name))]
    tables = list(dict.fromkeys((part["table"], part["of"]) for part in named))
    if len(tables) > 1:
        what = f"has {len(tables):,} tables: {', '.join(f'{table}*-of-{total}' for table, total in tables)}"
        fix = "give the file of one table, or move the shards of each table into a separate folder"
        raise BadInput(what, where=where, fix=fix)
    if named and len(named) == len(found) != int(named[0]["of"]):
        there = {int(part["number"]) for part in named}
        first = next(n for n in range(len(named) + 1) if n not in there)
        what = f"has {len(found):,} of {int(named[0]['of']):,} shards (number {first} is missing)"
        raise BadInput(what, where=where, fix="copy or download the other shards into the folder")
    return found


def say_shard(path: Path) -> None:
    """Warn of a file that is one of several shards of a table."""
    if (part := SHARD.fullmatch(path.name)) and int(part["of"]) > 1:
        warn(f"{path.name} is one of {int(part['of']):,} shards of a table: give the folder to read all of them")


@contextmanager
def _table(path: Path) -> Iterator[tuple[Any, Callable[[list[str]], Iterator[Any]]]]:
    """The schema of a table and its batches with some columns, every error of reading as BadInput."""
    import pyarrow as pa
    import pyarrow.parquet

    with reading(path, "is a truncated or damaged table"):
        if path.is_dir():
            shards = shards_of(path)
            with _table(shards[0]) as (schema, _):
                yield schema, lambda names: _batches_of(shards, schema, names)
            return
        with pa.OSFile(str(path)) as source:  # not mapped: a file that is truncated meanwhile would end the process
            start = source.read(len(FILE_START))
            source.seek(0)
            if start.startswith(PARQUET_START):
                file = pyarrow.parquet.ParquetFile(source)
                yield file.schema_arrow, lambda names: file.iter_batches(batch_size=_BATCH_ROWS, columns=names)
                return
            of_file = start == FILE_START
            reader = pa.ipc.open_file(source) if of_file else pa.ipc.open_stream(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if of_file else iter(reader)
            yield reader.schema, lambda names: _validated(batches, names)


def _batches_of(shards: list[Path], schema: Any, names: list[str]) -> Iterator[Any]:
    """The batches of all shards of a table; raises BadInput for one with other columns."""
    for path in shards:
        with _table(path) as (found, batches):
            if not found.equals(schema):
                what = f"has the columns {', '.join(found.names)}, and {shards[0].name} {', '.join(schema.names)}"
                raise BadInput(what, where=path, fix="keep only the shards of one table in the folder")
            yield from batches(names)


def _validated(batches: Iterator[Any], names: list[str]) -> Iterator[Any]:
    for batch in batches:
        batch.validate(full=True)  # the format itself does not check offsets
        yield batch.select(names)


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """A parquet file of pyarrow; raises BadInput if it is damaged."""
    import pyarrow.parquet

    with reading(path, "is a truncated or damaged table"), pyarrow.parquet.ParquetFile(path) as file:
        yield file


def read_columns(
    path: Path, names: list[str] | None = None, fits: Callable[[Any], bool] = lambda kind: True
) -> dict[str, list[Any]]:
    """The columns of a table by name, None for missing values.

    Args:
        path: the table.
        names: columns to read if the file has them; all by default. ``a.b`` reads the field b of a column alone.
        fits: whether columns of a type are read.

    Raises:
        BadInput: the file is damaged.
    """
    with _table(path) as (schema, batches):
        known = [field.name for field in schema if fits(field.type)]
        named = known if names is None else names
        wanted = {name if name in known else name.partition(".")[0]: name for name in named}
        columns: dict[str, list[Any]] = {name: [] for name in known if name in wanted}
        for batch in batches([wanted[name] for name in columns]) if columns else ():
            for name, values in columns.items():
                values += batch.column(name).to_pylist()
    return columns


def has_vectors(path: Path) -> bool:
    """Whether a column of a table holds lists of numbers; raises BadInput for a damaged file."""
    with _table(path) as (schema, _):
        return any(_is_vector(field.type) for field in schema)


def plain_columns(path: Path) -> dict[str, list[Any]]:
    """The columns of a table by name, except vectors, structs and bytes (such as images).

    Raises:
        BadInput: the file is damaged.
    """
    import pyarrow.types as pa

    left_out = (_is_vector, pa.is_binary, pa.is_large_binary, pa.is_struct)
    return read_columns(path, fits=lambda kind: not any(is_kind(kind) for is_kind in left_out))


def _read(table: _Table, names: list[str]) -> dict[str, Any]:
    """Columns of a table as arrays of pyarrow."""
    import pyarrow as pa

    parts = list(table.batches(names))
    return {n: pa.chunked_array([part.column(n) for part in parts], table.schema.field(n).type) for n in names}


def _plain(table: _Table, name: str, rows: Int) -> Array:
    """Some rows of a column of numbers or strings; raises BadInput for missing values."""
    with reading(table.path, f"column '{name}' cannot be read"):
        values = _read(table, [name])[name].take(rows).to_pylist()
        if None in values:
            raise BadInput(f"column '{name}' has missing values", where=table.path, fix="give every row one")
        return id_array(values, name, table.path)


def _width(table: _Table, name: str) -> int:
    """The numbers in the first row of a column of vectors."""
    column = next((batch.column(name) for batch in table.batches([name]) if batch.num_rows), None)
    return 0 if column is None else len(column[0].as_py() or ())


def _modalities(names: list[Any], path: Path) -> Array:
    for at, name in enumerate(names):
        if not isinstance(name, str) or name not in _MODALITIES:
            raise BadInput(f"row {at}: modality is {name!r}, not image, text or caption", where=path, fix=_LAYOUT)
    return np.array([_MODALITIES[name] for name in names], dtype=np.str_)


def _vectors(table: _Table, name: str, width: int, sides: Array) -> dict[str, Array]:
    """The vectors of each side, (row, width)."""
    parts: dict[str, list[Array]] = {side: [] for side in dict.fromkeys(sides.tolist())}
    row = 0
    for batch in table.batches([name]):
        block = _block(batch.column(name), name, row, width, table.path)
        for side, found in parts.items():
            found.append(block[sides[row : row + len(block)] == side])
        row += len(block)
    return {side: np.concatenate(found) for side, found in parts.items()}


def _block(column: Any, name: str, row: int, width: int, path: Path) -> Array:
    if column.null_count:
        at = column.is_valid().to_pylist().index(False)
        raise BadInput(f"row {row + at} has no {name}", where=path, fix="give every row a vector")
    lengths = np.full(len(column), width) if hasattr(column.type, "list_size") else np.asarray(column.value_lengths())
    if (lengths != width).any():
        at = int(np.flatnonzero(lengths != width)[0])
        what = f"row {row + at}: {name} has {lengths[at]} values, and {width} in the rows before it"
        raise BadInput(what, where=path, fix="give every row a vector of the same length")
    flat = column.flatten()
    if flat.null_count:
        at = flat.is_valid().to_pylist().index(False) // width
        raise BadInput(f"row {row + at} has a missing value in its {name}", where=path, fix="give every row a vector")
    out: Array = flat.to_numpy(zero_copy_only=False).reshape(len(column), width)
    return out
