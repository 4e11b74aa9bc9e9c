"""What a file is, by its first bytes and never by its name."""

from __future__ import annotations

import codecs
import os
import stat
import zipfile
from pathlib import Path
from typing import Literal

from ...errors import BadInput
from ...registry import closest

Kind = Literal[
    "folder", "npy", "npz", "torch", "torch-legacy", "safetensors", "hdf5", "parquet", "arrow",
    "arrow-stream", "gzip", "json", "text",
]  # fmt: skip

_HEAD = 4096
_HDF5 = b"\x89HDF\r\n\x1a\n"
_LEGACY_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_CONVERT = (
    "convert it where you made it: np.savez('embeddings.npz', image_embeddings=..., text_embeddings=...,"
    " image_ids=..., text_ids=...)"
)
_AGAIN = "write or download the file again"
_STARTS: tuple[tuple[bytes, Kind], ...] = (
    (b"\x93NUMPY", "npy"),
    (_LEGACY_TORCH, "torch-legacy"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow-stream"),
    (b"\x1f\x8b", "gzip"),
)
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"MATLAB 5.0", "a MATLAB 5 file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def sniff(path: Path) -> Kind:
    """The kind of file or folder at ``path``.

    Raises:
        BadInput: it is missing, unreadable, empty, not a regular file, a pickle, a saved web page, a git-lfs
            pointer, or nothing known.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be opened ({error})", where=str(path)[:300], fix="check the path") from None
    if stat.S_ISDIR(mode):
        return "folder"
    if not stat.S_ISREG(mode):
        raise BadInput(
            f"is {_special(mode)}, not a regular file",
            where=path,
            fix="write the data to a file on disk first",
        )
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        reason = "no permission to read it" if isinstance(error, PermissionError) else f"cannot be read ({error})"
        raise BadInput(reason, where=path, fix="check the permissions and the disk") from None
    if not head:
        raise BadInput("is empty (0 bytes)", where=path, fix=_AGAIN)
    return _kind(path, head, size)


def expect(path: Path, kind: Kind, allowed: tuple[Kind, ...], wanted: str, fix: str) -> None:
    """Refuse a file whose kind is not one of ``allowed``; ``wanted`` says in words what would do."""
    if kind not in allowed:
        if kind == "gzip":
            fix = "unpack it with gunzip first"
        raise BadInput(f"is {_WORDS[kind]}, not {wanted}", where=path, fix=fix)


_WORDS: dict[Kind, str] = {
    "folder": "a folder", "npy": "a single .npy array", "npz": "an .npz archive", "torch": "a torch file",
    "torch-legacy": "a torch file", "safetensors": "a safetensors file", "hdf5": "an HDF5 file",
    "parquet": "a parquet table", "arrow": "an arrow table", "arrow-stream": "an arrow table",
    "gzip": "gzip-compressed", "json": "a JSON file", "text": "a text file",
}  # fmt: skip


def _kind(path: Path, head: bytes, size: int) -> Kind:
    pickled = head[0] == 0x80 and len(head) > 1 and head[1] <= 5 and not head.startswith(_LEGACY_TORCH)
    if pickled or path.suffix.lower() in (".pkl", ".pickle"):
        what = "is a pickle" if pickled else f"is named as a pickle ({path.suffix})"
        raise BadInput(
            f"{what}; pickles can run any code when they are read, so they never are",
            where=path,
            fix=_CONVERT,
        )
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(path)
    if any(head[at : at + 8] == _HDF5 for at in (0, 512, 1024, 2048)):
        return "hdf5"
    if len(head) > 8 and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 10**8:
        return "safetensors"
    for start, words in _FOREIGN:
        if head.startswith(start):
            raise BadInput(f"is {words}, which vsebench does not read", where=path, fix=_CONVERT)
    return _text_kind(path, head, size)


def _zip_kind(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"is a truncated or damaged zip archive ({error})", where=path, fix=_AGAIN) from None
    if any(name.endswith("/data.pkl") or name == "data.pkl" for name in names):
        return "torch"
    if any(name.endswith(".npy") for name in names):
        return "npz"
    if not names:
        raise BadInput("is an archive without any array", where=path, fix=_AGAIN)
    raise BadInput(
        f"is a zip archive without arrays (it holds {', '.join(names[:3])})",
        where=path,
        fix="unpack it and give the file inside",
    )


def _text_kind(path: Path, head: bytes, size: int) -> Kind:
    if head.startswith(b"version https://git-lfs"):
        raise BadInput("is a git-lfs pointer, not the data itself", where=path, fix="run `git lfs pull`")
    try:
        # A character may be cut at the end of the head, so only a whole file is decoded to its last byte.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=size <= _HEAD)
        clean = "\0" not in text
    except UnicodeDecodeError:
        text, clean = "", False
    if not clean:
        raise BadInput(
            f"is not in a format vsebench knows (it starts with {head[:8]!r})",
            where=path,
            fix="give .npz, .npy, .safetensors, .pt, .h5, .parquet or .arrow",
        )
    start = text.lstrip()[:200].lower()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise BadInput(
            "is a web page, perhaps the error page of a failed download", where=path, fix="download it again"
        )
    return "json" if start.startswith(("{", "[")) else "text"


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _missing(path: Path) -> BadInput:
    if path.is_symlink():
        return BadInput(f"is a link to a missing file ({path.readlink()})", where=path, fix="mend the link")
    folder = path.parent
    if not folder.is_dir():
        return BadInput("does not exist", where=path, fix=f"check the path: there is no folder '{folder}'")
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        names = []
    near = closest(path.name, names)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else "check the path"
    return BadInput("does not exist", where=path, fix=hint)
