"""Text and JSON from a file, plain or gzip, with errors that name the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..memory import JSON_BYTES, require
from .formats import expect, sniff
from .regular import check_file, reading, unpacked

TEXT_BYTES = 12  # in memory for a byte of text that is read as records, and for a line or comma of it
CELL_BYTES = 350
TEXTS = ("text", "json", "jsonl", "gzip")  # names of the formats that are text


def read_text(path: str | os.PathLike[str], holds: str = "captions") -> str:
    """The text in a file of captions, or of what it ``holds``; gzip is unpacked.

    Raises:
        BadInput: the file is missing, of another format, empty, binary, truncated or not UTF-8, or needs more memory
            than is free.
    """
    path, again = Path(path), f"give a file that holds {holds}"
    check_file(path, f"give the file with the {holds}")
    kind = sniff(path)
    expect(path, kind, kind.name in TEXTS, f"a file of {holds}", again)
    require(JSON_BYTES * path.stat().st_size, path)
    with reading(path, fix="copy or download it again"), path.open("rb") as raw:
        data = unpacked(raw).read()
    cells = data.count(b"\n") + data.count(b",")
    require(TEXT_BYTES * len(data) + CELL_BYTES * cells, path)  # gzip shrinks captions to a tenth
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 text (byte {error.start})", where=path, fix="save it as UTF-8") from error
    if not text.strip():  # also with nothing but a byte order mark
        raise BadInput("the file is empty", where=path, fix=again)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadInput(f"line {line} holds binary data", where=path, fix=again)
    return text


def text_lines(text: str) -> list[str]:
    """The lines of a text, ended by LF or CR LF; form feeds, U+2028 and the like are part of a line."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def parse_json(text: str, where: str | os.PathLike[str]) -> Any:
    """One JSON document, in which no object has a key twice.

    Raises:
        BadInput: not JSON (with line and column), nested too deeply, or a key that is there twice.
    """
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where))
    except BadInput:
        raise
    except json.JSONDecodeError as error:
        raise BadInput(
            f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            where=where,
            fix="check that the file is complete, and copy or download it again",
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, endless brackets
        what = "JSON is nested too deeply or has numbers with too many digits"
        raise BadInput(what, where=where, fix="write an array of objects, or one object per line") from error


def _object(pairs: list[tuple[str, Any]], where: str | os.PathLike[str]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"has the key '{twice}' twice in one object", where=where, fix="give every entry one key")
    return found


def parse_document(text: str, where: str | os.PathLike[str]) -> tuple[Any, list[int] | None]:
    """One JSON document and None, or the objects of JSON lines and the numbers of their lines; raises BadInput."""
    try:
        return parse_json(text, where), None
    except BadInput as error:
        if getattr(error.__cause__, "msg", "") != "Extra data":
            raise
    numbers = [n for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    found = [parse_json(line, f"{where}: line {n}") for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    return found, numbers


def field(record: Any, name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """``record[name]``, checked to be of ``kind`` (bool is no int).

    Raises:
        BadInput: ``record`` is not an object, the field is missing, or it has another type.
    """
    if not isinstance(record, dict):
        what = f"a JSON object is expected, found {format_field(record)}"
        raise BadInput(what, where=where, fix=f"give an object with a field '{name}'")
    if name not in record:
        what = f"field '{name}' is missing (fields found: {', '.join(list(record)[:8]) or 'none'})"
        raise BadInput(what, where=where, fix=f"give every record a field '{name}'")
    value = record[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = " or ".join(_WORDS[k] for k in (kind if isinstance(kind, tuple) else (kind,)))
        what = f"field '{name}' is {format_field(value)}, expected {expected}"
        raise BadInput(what, where=where, fix=f"write {expected} instead")
    return value


_WORDS: dict[type, str] = {int: "an integer", float: "a number", str: "a text", list: "a list", dict: "an object"}


def format_field(value: Any) -> str:
    """A value for a message, cut to 40 characters."""
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."
