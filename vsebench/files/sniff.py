"""Recognises the format of a file by its first bytes, never by its name."""

from __future__ import annotations

import codecs
import os
import re
import zipfile
from pathlib import Path

from ..errors import BadInput
from .arrow_tables import shards_of
from .clip_retrieval import is_folder_of_shards
from .formats import FORMATS, Format, suffixes
from .regular import AGAIN, WEB_PAGE, is_folder, reading, unpickle

_HEAD = 4096
_CONVERT = (
    "convert it where you made it: np.savez('embeddings.npz', image_embeddings=..., text_embeddings=...,"
    " image_ids=..., text_ids=...)"
)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
# Formats that are not read, by their first bytes.
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def sniff(path: Path) -> Format:
    """The format of the file or folder at ``path``, an entry of ``FORMATS``.

    Raises:
        BadInput: it is missing, unreadable, empty, not a regular file, a pickle, a saved web page, a git-lfs
            pointer, or in no known format.
    """
    if is_folder(path):
        of_vectors = "clip-retrieval" if is_folder_of_shards(path) else "parquet" if shards_of(path) else "folder"
        return FORMATS[of_vectors]
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
    for start, words in _FOREIGN:
        if head.startswith(start):
            raise BadInput(f"is {words}, which vsebench does not read", where=path, fix=_CONVERT)
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
    if head.startswith(b"version https://git-lfs"):
        raise BadInput("is a git-lfs pointer, not the data itself", where=path, fix="run `git lfs pull`")
    try:
        # A character may be cut at the end of the head, so only a complete file is decoded to its last byte.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=size <= _HEAD)
        clean = "\0" not in text
    except UnicodeDecodeError:
        text, clean = "", False
    if not clean:
        what = f"is in no format that vsebench reads (it starts with {head[:8]!r})"
        raise BadInput(what, where=path, fix=f"give {suffixes(FORMATS.values())}")
    start = text.lstrip()[:200].lower()
    if start.encode().startswith(WEB_PAGE):
        what = "is a web page, perhaps the error page of a failed download"
        raise BadInput(what, where=path, fix="download it again")
    return FORMATS["json" if start.startswith(("{", "[")) else "text"]
