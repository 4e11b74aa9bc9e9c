"""One reader of records: CSV, TSV, JSON, JSON lines, parquet and arrow, plain or gzip, as a data frame.

``records(path, kind)`` detects the format of a file once. Cells of a text stay as written; cells of JSON and of
tables keep their types; ``fields`` finds columns by the names in ``kinds.KINDS``.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, count_of
from .arrow_tables import plain_columns, say_shard, shards_of
from .formats import expect, sniff
from .kinds import KINDS, Kind, Rows
from .regular import is_folder, remembered
from .textfile import TEXTS, format_field, parse_document, read_text, text_lines

if TYPE_CHECKING:
    import pandas as pd

_DOCUMENT = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")
# 01 is a label. Words for a missing number are labels in a column that holds anything but numbers.
_NUMBER = re.compile(r"[-+]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?)", re.I)
_NOT_A_NUMBER = frozenset(("na", "n/a", "nan", "null", "none"))
MAX_EXACT_INTEGER = 1 << 53  # float64 holds all integers up to it; larger ones are read as names


@remembered
def records(path: str | os.PathLike[str], kind: str) -> pd.DataFrame:
    """The records of a file, or of a folder with the shards of a table.

    Args:
        path: the file.
        kind: its content, an entry of ``KINDS`` with the names of columns, see ``fields``.

    Returns:
        A row a record, of objects. ``attrs`` has the file (``where``), what a label of the index is called in messages
        (``at``, such as ``line {}``), and the ``layout``: ``table`` of a text with names of columns, or a function.

    Raises:
        BadInput: the file is unreadable, malformed (with the line), or of another kind.
        MissingPackage: a table without the package that reads it.
    """
    path, layout = Path(path), KINDS[kind]
    if not is_folder(path):
        say_shard(path)
        return of_file(path, layout)
    if not (shards := shards_of(path)):
        raise BadInput("this is a folder", where=path, fix=f"give the file with the {layout.words}")
    tables = [of_file(shard, layout) for shard in shards]
    for shard, table in zip(shards, tables, strict=True):
        if list(table) != list(tables[0]):
            what = f"has the columns {', '.join(table)}, and {shards[0].name} {', '.join(tables[0])}"
            raise BadInput(what, where=shard, fix="keep only the shards of one table in the folder")
    columns = {name: [cell for table in tables for cell in table[name]] for name in tables[0]}
    return frame(columns, path, "row {}", layout=tables[0].attrs["layout"])


def of_file(path: Path, layout: Kind) -> pd.DataFrame:
    """The records of one file, also of a shard; see ``records``."""
    found = sniff(path)
    if found.name in ("parquet", "arrow"):
        found.require(path)
        return frame(plain_columns(path), path, "row {}")
    expect(path, found, found.name in TEXTS, f"a file of {layout.words}", layout.fix)
    return of_text(read_text(path, layout.words), layout, os.fspath(path))


def of_text(text: str, kind: Kind, where: str) -> pd.DataFrame:
    """The records in a text; raises BadInput."""
    if text.lstrip()[:1] in ("{", "[") and (not kind.alone or _DOCUMENT.match(text) or _is_json(text)):
        document, numbers = parse_document(text, where)
        if numbers is None or any(layout(document) is not None for layout in kind.documents):
            return of_document(document, kind, where)
        refuse_other(document, where, "line {}", numbers)
        return frame(document, where, "line {}", numbers)
    first = re.split("[\n\r]", text.lstrip("\n\r"), maxsplit=1)[0][:100_000]
    mark = next((mark for mark in kind.marks if mark in first), ",")
    names = next(csv.reader([first], delimiter=mark, skipinitialspace=True), []) if mark != " " else first.split()
    if kind.lines is None or kind.named_by(names):
        return _table(text, mark, where)
    lines = text_lines(text)
    try:
        found = kind.lines(lines) or ()
    except BadInput as error:
        raise BadInput(error.what, where=where, fix=error.fix or kind.fix) from None
    count = len(next(iter(found.values()), ())) if isinstance(found, dict) else len(found)
    numbers = [n for n, line in enumerate(lines, 1) if count == len(lines) or line.strip()]
    return frame(found, where, "line {}", numbers, kind.lines.__name__)


def of_document(document: Any, kind: Kind, where: str) -> pd.DataFrame:
    """The records of a JSON document, or of such a value in memory; raises BadInput for a document of another kind."""
    listed = document
    if isinstance(document, dict) and kind.named_by(document) and "results" not in document:  # a record, or columns
        values = [list(v.values()) if isinstance(v, dict) else v for v in document.values()]
        if all(isinstance(v, list) for v in values) and len(set(map(len, values))) == 1:
            return frame(dict(zip(document, values, strict=True)), where, "row {}")
        listed = [document]
    else:
        try:
            for layout in kind.documents:
                if (found := layout(document)) is not None:
                    refuse_other(found, where, "record {}")
                    return frame(found, where, "record {}", layout=layout.__name__)
        except BadInput as error:
            raise BadInput(error.what, where=where, fix=error.fix or kind.json or kind.fix) from None
        if isinstance(document, dict):
            inside = [
                value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)
            ]
            listed = inside[0] if len(inside) == 1 else document if kind.needs else [document]
    if isinstance(listed, list) and (not listed or isinstance(listed[0], dict)):
        refuse_other(listed, where, "record {}")
        return frame(listed, where, "record {}")
    what = f"JSON, but {format_field(document)}"
    if isinstance(document, dict):
        what = f"a JSON object with the fields {', '.join(list(document)[:8]) or '(none)'}"
    raise BadInput(f"not a file of {kind.words}: {what}", where=where, fix=kind.json or kind.fix)


def frame(
    rows: Rows, where: str | os.PathLike[str], at: str, index: Sequence[Any] | None = None, layout: str = ""
) -> pd.DataFrame:
    """Records or columns as a data frame of objects, see ``records``."""
    import pandas as pd

    if isinstance(rows, Mapping) and "place" in rows:
        rows, index, at = {name: cells for name, cells in rows.items() if name != "place"}, rows["place"], "place {}"
    names = list(rows) if isinstance(rows, Mapping) else list(dict.fromkeys(name for row in rows for name in row))
    cells = [rows[name] if isinstance(rows, Mapping) else [row.get(name) for row in rows] for name in names]
    found = pd.DataFrame(dict(enumerate(cells)), index=index, dtype=object)
    found.columns = pd.Index(names, dtype=object)  # names may hold what no UTF-8 has
    if index is None:
        found.index += 1
    found.attrs = {"where": os.fspath(where), "at": at, "layout": layout}
    return found


def spot(found: pd.DataFrame, row: int) -> str:
    """The file and the place of a record, for messages."""
    return f"{found.attrs['where']}: {str(found.attrs['at']).format(found.index[row])}"


def refuse_other(listed: Any, where: str, at: str, index: Sequence[int] | None = None) -> None:
    """Refuse records that are not objects; columns are fine; raises BadInput."""
    row = (
        next((k for k, one in enumerate(listed) if not isinstance(one, dict)), None)
        if isinstance(listed, list)
        else None
    )
    if row is not None:
        what = f"a JSON object is expected, found {format_field(listed[row])}"
        place = at.format(row + 1 if index is None else index[row])
        raise BadInput(what, where=f"{where}: {place}", fix="write one JSON object per record")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _table(text: str, mark: str, where: str) -> pd.DataFrame:
    """The rows of a table by the names of columns. Quotes as spreadsheets write them; raises BadInput.

    If a caption is the last of at most two columns, all behind the first separator is the caption. Quotes in a table of
    bars or tabs are part of a value if each line has as many values as there are names.
    """
    names: list[str] = []
    numbers, rows, line = [], [], 1
    try:
        for last, values in _rows(text, mark):
            number, line = line, last + 1
            if not any(value.strip() for value in values):
                continue
            if not names:
                names = [value.strip() for value in values]
                if twice := [name for name in names if name and names.count(name) > 1]:
                    what = f"has two columns '{twice[0]}'"
                    raise BadInput(what, where=f"{where}: line {number}", fix="give every column its own name")
                continue
            if len(names) <= 2 and len(names) < len(values):
                values = [*values[: len(names) - 1], mark.join(values[len(names) - 1 :])]
            if len(values) != len(names):
                raise BadInput(
                    f"{count_of(len(values), 'value')}, but line 1 has {count_of(len(names), 'column name')}",
                    where=f"{where}: line {number}",
                    fix='put captions that contain the separator in quotes, as in "a dog, a cat"',
                )
            numbers.append(number)
            rows.append(values)
    except csv.Error as error:
        fix = "close the quotes, and write quotes inside a caption twice"
        raise BadInput(f"not a table ({error})", where=f"{where}: line {line}", fix=fix) from None
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return frame(
        {name: list(column) for name, column in zip(names, columns, strict=True) if name},
        where,
        "line {}",
        numbers,
        "table",
    )


def _rows(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the last line of every row, and its values."""
    lines = re.split("\r\n|\n|\r", text.strip("\r\n"))
    if mark == " ":
        yield from ((number, line.split()) for number, line in enumerate(lines, 1))
    elif mark in "\t|" and len({line.count(mark) for line in lines if line.strip()}) == 1:
        for number, line in enumerate(lines, 1):
            yield number, [_unquoted(value.strip() if mark == "|" else value) for value in line.split(mark)]
    else:  # Flickr30K's results.csv has a space behind every bar
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=mark == "|")
        yield from ((reader.line_num, values) for values in reader)


def _unquoted(value: str) -> str:
    closed = re.fullmatch(r'"((?:[^"]|"")*)"', value)
    return closed[1].replace('""', '"') if closed else value


# --- cells -------------------------------------------------------------------------------------------------


def missing(value: Any) -> bool:
    """Whether a cell has no value."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )


def text_of(value: Any) -> str:
    """A cell as text; a float that is an integer as that integer, as tables with missing values have them."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def typed(found: pd.DataFrame, name: str) -> list[Any]:
    """The cells of a column: in a text numbers if all are numbers, or say that one is missing; else as written."""
    cells = [None if missing(value) else value.strip() if isinstance(value, str) else value for value in found[name]]
    if found.attrs["layout"] != "table":
        return cells
    texts = [text for text in cells if isinstance(text, str) and text.lower() not in _NOT_A_NUMBER]
    if not texts or not all(map(_NUMBER.fullmatch, texts)):
        return cells
    if any(text.lstrip("+-").isdecimal() and abs(int(text)) > MAX_EXACT_INTEGER for text in texts):
        return cells  # such as ids of users
    return [_number(cell) if isinstance(cell, str) else cell for cell in cells]


def _number(text: str) -> float | None:
    if text.lower() in _NOT_A_NUMBER:
        return None
    return int(text) if text.lstrip("+-").isdecimal() else float(text)
