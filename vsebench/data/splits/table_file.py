"""Captions as a table in a text file: comma-separated values, or separated by tabs, semicolons or bars."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from ...errors import BadInput, count_of
from .records import Record, find_fields

SEPARATORS = "\t|;,"


def is_table(text: str) -> bool:
    """Whether the first line names columns, among them a caption and an image."""
    return text.lstrip()[:1] not in ("{", "[") and find_fields(table_header(text)) is not None


def table_records(text: str, where: str) -> Iterator[Record]:
    """The rows by the names of columns, with their line numbers. Quotes as spreadsheets write them.

    Raises:
        BadInput: a row has more or fewer values than there are names, or quotes are not closed (with its line number).
    """
    separator = _separator(text)
    # Flickr30K's results.csv has a space behind every bar.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=separator == "|"
    )
    names: list[str] = []
    line = 1
    try:
        for values in reader:
            at, line = f"line {line}", reader.line_num + 1
            if not any(value.strip() for value in values):
                continue
            if not names:
                names = values
            elif len(values) != len(names):
                raise BadInput(
                    f"{count_of(len(values), 'value')}, and line 1 names {count_of(len(names), 'column')}",
                    where=f"{where}: {at}",
                    fix='put captions that contain the separator in quotes, as in "a dog, a cat"',
                )  # fmt: skip
            else:
                yield at, dict(zip(names, values, strict=True))
    except csv.Error as error:
        fix = "close the quotes, and write quotes inside a caption twice"
        raise BadInput(f"not a table ({error})", where=f"{where}: line {line}", fix=fix) from None


def table_header(text: str) -> list[str]:
    """The names of the columns, as the first line has them."""
    return next(csv.reader([_first_line(text)], delimiter=_separator(text), skipinitialspace=True), [])


def _separator(text: str) -> str:
    first = _first_line(text)
    return next((mark for mark in SEPARATORS if mark in first), ",")


def _first_line(text: str) -> str:
    """Lines of old spreadsheets end with a carriage return alone."""
    return re.split("[\n\r]", text.lstrip("\n\r"), maxsplit=1)[0][:100_000]
