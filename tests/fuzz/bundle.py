"""Several files as one input: what readers of folders are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

MARK = b"\n%%FILE "  # before the name of a file, which ends with its line
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,2}")
MOST = 16  # files


def pack(files: Mapping[str, bytes]) -> bytes:
    """Files by name as one input."""
    return b"".join(MARK + name.encode() + b"\n" + data for name, data in files.items())


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an input; those whose names could leave the folder are left out."""
    found: dict[str, bytes] = {}
    for part in data.split(MARK)[1 : MOST + 1]:
        name, _, content = part.partition(b"\n")
        text = name.decode("ascii", "replace")
        if _NAME.fullmatch(text):
            found[text] = content
    return found


def write(data: bytes, folder: Path) -> Path:
    """Write the files of an input below a folder, which is returned."""
    folder.mkdir(exist_ok=True)
    for name, content in unpack(data).items():
        path = folder / name
        if any((folder / parent).is_file() for parent in Path(name).parents if parent.name) or path.is_dir():
            continue  # one name is a file and a folder
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
