"""Recognises the format of a file by its first bytes, never by its name."""

from __future__ import annotations

import codecs
import os
import re
import zipfile
from pathlib import Path

from ..errors import BadInput
from .arrow_tables import shards_of
from .formats import FORMATS, Format, suffixes
from .regular import AGAIN, WEB_PAGE, is_folder, reading, remembered, unpickle

_HEAD = 4096
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@remembered
def sniff(path: Path) -> Format:
    """The format of the file or folder at ``path``, an entry of ``FORMATS``.

    Raises:
        BadInput: it is missing, unreadable, empty, not a regular file, a pickle, a saved web page, a git-lfs
            pointer, or in no known format.
    """
    if is_folder(path):
        clip = any((path / name).is_dir() for name in ("img_emb", "text_emb"))
        parquet = any(shard.suffix == ".parquet" for shard in shards_of(path))
        return FORMATS["clip-retrieval" if clip else "parquet" if parquet else "folder"]
    with reading(path, fix="check the permissions and the disk"), path.open("rb") as stream:
        head = stream.read(_HEAD)
        size = os.fstat(stream.fileno()).st_size
    if not head:
        raise BadInput("is empty (0 bytes)", where=path, fix=AGAIN)
    return _format(path, head, size)


def expect(path: Path, found: Format, readable: bool, expected: str, fix: str) -> None:
    """Raise BadInput unless a file of format ``found`` is ``readable`` here; ``expected``: what it should be."""
    if not readable:
        if found.name == "gzip":
            fix = "unpack it with gunzip first"
        raise BadInput(f"is {found.words}, not {expected}", where=path, fix=fix)


def _format(path: Path, head: bytes, size: int) -> Format:
    by_start = next((kind for kind in FORMATS.values() if head.startswith(kind.starts)), None)
    by_header = next((kind for kind in FORMATS.values() if kind.header is not None and kind.header.match(head)), None)
    # Legacy torch files are pickles too, and torch reads them without running code. The length of a safetensors header
    # may look like the start of a pickle.
    pickled = by_start is None and by_header is None and head[0] == 0x80 and len(head) > 1 and head[1] <= 5
    if pickled or path.suffix.lower() in (".pkl", ".pickle"):
        what = "is a pickle" if pickled else f"is named as a pickle ({path.suffix})"
        fix = unpickle(f"pickle.load(open({str(path)!r}, 'rb'))")
        raise BadInput(f"{what}; pickles can run any code when they are read, so they never are", where=path, fix=fix)
    if by_start is not None:
        return by_start
    if head.startswith(_ZIP):
        return _zip_format(path)
    if by_header is not None:
        return by_header
    return _text_format(path, head, size)


def _zip_format(path: Path) -> Format:
    with reading(path, "is a truncated or damaged zip archive"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    for kind in reversed(FORMATS.values()):
        if kind.in_zip is not None and any(re.search(kind.in_zip, name) for name in names):
            return kind
    if not names:
        raise BadInput("is an archive without any array", where=path, fix=AGAIN)
    what = f"is a zip archive without arrays (it holds {', '.join(names[:3])})"
    raise BadInput(what, where=path, fix="unpack it and give the file inside")


def _text_format(path: Path, head: bytes, size: int) -> Format:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput("is UTF-16 text, which vsebench does not read", where=path, fix="save it as UTF-8")
    if head.startswith(b"version https://git-lfs"):
        raise BadInput("is a git-lfs pointer, not the data itself", where=path, fix="run `git lfs pull`")
    try:
        # A character may be cut at the end of the head, so only a complete file is decoded to its last byte.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=size <= _HEAD)
        odd = head.find(b"\0")
    except UnicodeDecodeError as error:
        text, odd = "", error.start
    if odd >= 0:
        what = f"is in no format that vsebench reads, and no UTF-8 text (byte {odd}; it starts with {head[:8]!r})"
        raise BadInput(what, where=path, fix=f"save text as UTF-8, and arrays as {suffixes(FORMATS.values())}")
    start = text.lstrip()[:200].lower()
    if start.encode().startswith(WEB_PAGE):
        what = "is a web page, perhaps the error page of a failed download"
        raise BadInput(what, where=path, fix="download it again")
    return FORMATS["json" if start.startswith(("{", "[")) else "text"]
