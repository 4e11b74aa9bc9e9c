"""Captions as a table in a text file, separated by commas, tabs, semicolons or bars, or as JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator

from ..errors import BadInput, count_of
from .caption_records import Record, find_fields
from .textfile import parse_json, shown

SEPARATORS = "\t|;,"


def is_table(text: str) -> bool:
    """Whether the first line names columns, among them a caption and an image."""
    return text.lstrip()[:1] not in ("{", "[") and find_fields(table_header(text)) is not None


def table_records(text: str, where: str) -> Iterator[Record]:
    """The rows by the names of columns, with their line numbers. Quotes as spreadsheets write them.

    Where a caption is the second of two columns, all behind the first separator is the caption. Quotes in a table of
    bars or tabs are part of a value where each line has as many values as there are names.

    Raises:
        BadInput: a row has more or fewer values than there are names, or quotes are not closed (with its line number).
    """
    separator = _separator(text)
    names: list[str] = []
    line = 1
    try:
        for number, values in _rows(text, separator):
            at, line = f"line {line}", number + 1
            if not any(value.strip() for value in values):
                continue
            if not names:
                names = values
                continue
            if len(names) == 2 < len(values):
                values = [values[0], separator.join(values[1:])]
            if len(values) != len(names):
                raise BadInput(
                    f"{count_of(len(values), 'value')}, and line 1 names {count_of(len(names), 'column')}",
                    where=f"{where}: {at}",
                    fix='put captions that contain the separator in quotes, as in "a dog, a cat"',
                )
            yield at, dict(zip(names, values, strict=True))
    except csv.Error as error:
        fix = "close the quotes, and write quotes inside a caption twice"
        raise BadInput(f"not a table ({error})", where=f"{where}: line {line}", fix=fix) from None


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the last line of every row, and its values."""
    lines = re.split("\r\n|\n|\r", text.strip("\r\n"))
    if separator in "\t|" and len({line.count(separator) for line in lines if line.strip()}) == 1:
        for number, line in enumerate(lines, 1):
            yield number, [_unquoted(value.strip() if separator == "|" else value) for value in line.split(separator)]
        return
    # Flickr30K's results.csv has a space behind every bar.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=separator == "|"
    )
    for values in reader:
        yield reader.line_num, values


def _unquoted(value: str) -> str:
    closed = re.fullmatch(r'"((?:[^"]|"")*)"', value)
    return closed[1].replace('""', '"') if closed else value


def table_header(text: str) -> list[str]:
    """The names of the columns, as the first line has them."""
    return next(csv.reader([_first_line(text)], delimiter=_separator(text), skipinitialspace=True), [])


def _separator(text: str) -> str:
    first = _first_line(text)
    return next((mark for mark in SEPARATORS if mark in first), ",")


def _first_line(text: str) -> str:
    """Lines of old spreadsheets end with a carriage return alone."""
    return re.split("[\n\r]", text.lstrip("\n\r"), maxsplit=1)[0][:100_000]


def is_jsonl(text: str) -> bool:
    """Whether the first line is a JSON object that has the fields of a caption or is followed by another object."""
    first, *rest = text.lstrip().split("\n", 1)
    if len(first) > 1_000_000:  # a complete document on one line
        return False
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict):
        return False
    return find_fields(record) is not None or (bool(rest) and rest[0].lstrip().startswith("{"))


def jsonl_records(text: str, where: str) -> Iterator[Record]:
    """The objects of the lines, with their line numbers; raises BadInput for a line that is no JSON object."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = parse_json(line, f"{where}: line {number}")
            if not isinstance(record, dict):
                what = f"a JSON object is expected, found {shown(record)}"
                raise BadInput(what, where=f"{where}: line {number}", fix="write one JSON object a line")
            yield f"line {number}", record
