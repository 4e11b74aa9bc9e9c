"""Text and JSON from a file, plain or gzip, with errors that name the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..memory import JSON_BYTES, require
from .arrow_tables import as_lines
from .formats import FORMATS
from .regular import WEB_PAGE, check_file, reading, unpacked

# Other kinds of files, by their first bytes: what they are, and what to do.
_OTHER_KINDS = {
    b"PK\x03\x04": ("a zip archive", "unpack it and give the .json file inside"),
    b"\x80": ("a pickle, which can run code when it is read", "export the {holds} as JSON lines"),
    b"\x93NUMPY": ("a numpy array", "give a file of {holds}"),
    b"version https://git-lfs": ("a git-lfs pointer, not the file itself", "run: git lfs pull"),
    **dict.fromkeys(WEB_PAGE, ("a web page, perhaps the error page of a failed download", "download the file again")),
}


def read_text(path: str | os.PathLike[str], holds: str = "captions") -> str:
    """The content of a file of captions, or what it ``holds``; its first bytes say how it is read.

    gzip is unpacked, and the rows of a parquet or arrow table become JSON lines.

    Raises:
        BadInput: the file is missing, not regular, unreadable, empty, binary, truncated or not UTF-8, or needs more
            memory than is free.
        MissingPackage: a table without the package that reads it.
    """
    path = Path(path)
    data = _bytes(path, holds)
    if table := next((kind for kind in (FORMATS["parquet"], FORMATS["arrow"]) if data.startswith(kind.starts)), None):
        table.require(path)
        return as_lines(path)
    head = data[:64].lstrip()
    for start, (kind, fix) in _OTHER_KINDS.items():
        if head.lower().startswith(start.lower()):
            raise BadInput(f"this is {kind}", where=path, fix=fix.format(holds=holds))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 text (byte {error.start})", where=path, fix="save it as UTF-8") from error
    if not text.strip():  # also with nothing but a byte order mark
        raise BadInput("the file is empty", where=path, fix=f"give a file that holds {holds}")
    return text


def text_lines(text: str) -> list[str]:
    """The lines of a text, ended by LF or CR LF; form feeds, U+2028 and the like are part of a line."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def parse_json(text: str, where: str | os.PathLike[str]) -> Any:
    """One JSON document.

    Raises:
        BadInput: not JSON (with line and column), or nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            where=where,
            fix="check that the file is complete, and copy or download it again",
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, endless brackets
        what = "JSON nested too deeply or with numbers of too many digits"
        raise BadInput(what, where=where, fix="give a file of captions") from error


def field(record: Any, name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """``record[name]``, checked to be of ``kind`` (bool is no int).

    Raises:
        BadInput: ``record`` is no object, the field is missing, or it has another type.
    """
    if not isinstance(record, dict):
        what = f"a JSON object is expected, found {shown(record)}"
        raise BadInput(what, where=where, fix=f"give an object with a field '{name}'")
    if name not in record:
        what = f"field '{name}' is missing (fields found: {', '.join(list(record)[:8]) or 'none'})"
        raise BadInput(what, where=where, fix=f"give every record a field '{name}'")
    value = record[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = " or ".join(_WORDS[k] for k in (kind if isinstance(kind, tuple) else (kind,)))
        what = f"field '{name}' is {shown(value)}, expected {expected}"
        raise BadInput(what, where=where, fix=f"write {expected} in its place")
    return value


_WORDS: dict[type, str] = {int: "an integer", float: "a number", str: "a text", list: "a list", dict: "an object"}


def shown(value: Any) -> str:
    """A value for a message, cut to 40 characters."""
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."


def _bytes(path: Path, holds: str) -> bytes:
    check_file(path, f"give the file with the {holds}")
    require(JSON_BYTES * path.stat().st_size, path)
    with reading(path, fix="copy or download it again"), path.open("rb") as raw:
        content = unpacked(raw).read()
    require(JSON_BYTES * len(content), path)  # gzip shrinks captions to a tenth
    return content
