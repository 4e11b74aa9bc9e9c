"""The file formats, each declared once, and the format of a file, by its content.

A new format is a reader in a separate file and one entry here. A reader describes the arrays of a file from its
header (``Member``) and reads data only when one of them is loaded.
"""

from __future__ import annotations

import codecs
import os
import re
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..errors import BadInput, MissingPackage, install
from .arrow_tables import FILE_START, PARQUET_START, line_members, shards_of, table_members
from .hdf5_file import hdf5_members, mat_members
from .npy import folder_members, npy_members, npz_members
from .raw import Member
from .regular import WEB_PAGE, WRITE_AGAIN, is_folder, reading, remembered, unpickle
from .safetensors_file import safetensors_members
from .torch_file import LEGACY_START, torch_members

# The length of a JSON header, uint64, and its start.
_SAFETENSORS = re.compile(rb".{3}[\0-\5]\0{4}\{", re.S)
_HDF5 = re.compile(rb"(.{512}|.{1024}|.{2048})?\x89HDF\r\n\x1a\n", re.S)  # perhaps after a user block
# An object with numbers under a name such as embedding, before any object inside it.
_VECTOR_LINES = re.compile(
    rb'(\xef\xbb\xbf)?\s*\{(?:[^{}\[\]]|\[[^{}\[\]]*\])*?"[^"]*(?:emb|vec|feat)[^"]*"\s*:\s*\[\s*-?[0-9.]', re.I
)
_COLUMNS = "columns `id`, `modality`, `embedding`, optional `image_id` and `caption`"


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        name: unique; the ``format`` in reports and in ``vsebench inspect``.
        words: what a file of this format is, for messages.
        suffix: its usual suffix, for messages and documentation. Files are recognised by content, never by name.
        others: other suffixes; they distinguish a file of gains from the name of a kind of gains.
        holds: what such a file contains, for documentation; empty when it is no format of embeddings.
        starts: the first bytes of such a file, several when there are variants.
        in_zip: for zip archives: a pattern that the name of a member has; the last format that fits decides.
        header: for other files: a pattern of their first 4096 bytes.
        arrays: reader of the arrays of a file, or None.
        single: the file holds one array, which has no name in it.
        table: a column has the vectors of both modalities, and others may be pairs, labels or captions.
        package: import name of the optional package that reads it, or None.
        extra: extra of vsebench that installs ``package``.
    """

    name: str
    words: str
    suffix: str = ""
    holds: str = ""
    others: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()
    in_zip: str | None = None
    header: re.Pattern[bytes] | None = None
    arrays: Callable[[Path], list[Member]] | None = None
    single: bool = False
    table: bool = False
    package: str | None = None
    extra: str | None = None

    @property
    def keyed(self) -> bool:
        """Whether the file holds arrays under names."""
        return self.arrays is not None and not self.single

    @property
    def matrix(self) -> bool:
        """Whether the file is one of arrays and no table."""
        return self.arrays is not None and not self.table

    def require(self, path: Path) -> None:
        """Raise MissingPackage, naming the file, when the package that reads this format cannot be imported."""
        if self.package is None:
            return
        try:
            import_module(self.package)
        except ImportError:
            fix = install(str(self.extra))
            raise MissingPackage(f"reading {self.words} needs {self.package}", where=path, fix=fix) from None


FORMATS: dict[str, Format] = {
    kind.name: kind
    for kind in (
        Format(
            "npz", "an .npz archive", ".npz",
            "`image_embeddings`, `text_embeddings`; optional `image_ids`, `text_ids`, `image_of_text`, `captions`",
            in_zip=r"\.npy$", arrays=npz_members,
        ),
        Format(
            "npy", "a single .npy array", ".npy",
            "image vectors; a second `.npy` file holds the text vectors; both are memory-mapped if they are float32",
            starts=(b"\x93NUMPY",), arrays=npy_members, single=True,
        ),
        Format(
            "safetensors", "a safetensors file", ".safetensors", "tensors with the names above",
            header=_SAFETENSORS, arrays=safetensors_members, package="safetensors", extra="formats",
        ),
        Format(
            "torch", "a torch file", ".pt", "a dictionary of tensors, read with `weights_only=True`",
            others=(".pth",), starts=(LEGACY_START,), in_zip=r"(^|/)data\.pkl$", arrays=torch_members,
            package="torch", extra="train",
        ),
        Format(
            "hdf5", "an HDF5 file", ".h5", "data sets with the names above",
            others=(".hdf5",), header=_HDF5, arrays=hdf5_members, package="h5py", extra="formats",
        ),
        Format(
            "mat", "a MATLAB 5 file", ".mat", "matrices with the names above; files of version 7.3 are HDF5",
            starts=(b"MATLAB 5.0",), arrays=mat_members,
        ),
        Format(
            "parquet", "a parquet table", ".parquet", _COLUMNS,
            starts=(PARQUET_START,), arrays=table_members, table=True, package="pyarrow", extra="formats",
        ),
        Format(
            "arrow", "an arrow table", ".arrow", _COLUMNS,
            starts=(FILE_START, b"\xff\xff\xff\xff"), arrays=table_members, table=True,
            package="pyarrow", extra="formats",
        ),
        Format(
            "jsonl", "JSON lines of vectors", ".jsonl", "one object per line with these fields",
            header=_VECTOR_LINES, arrays=line_members, table=True, package="pyarrow", extra="formats",
        ),
        Format(
            "clip-retrieval", "a folder of shards", "",
            "clip-retrieval shards: `img_emb/img_emb_0.npy`, `text_emb/text_emb_0.npy`, ...; ids from `metadata/`",
            arrays=folder_members, package="pyarrow", extra="formats",
        ),
        Format("folder", "a folder"),
        Format("gzip", "gzip-compressed", starts=(b"\x1f\x8b",)),
        Format("json", "a JSON file"),
        Format("text", "a text file"),
    )
}  # fmt: skip


def suffixes(formats: Collection[Format]) -> str:
    """The usual suffixes of formats for a message: ``.npz, .npy or .h5``."""
    *most, last = dict.fromkeys(kind.suffix for kind in formats if kind.suffix)
    return f"{', '.join(most)} or {last}" if most else last


def array_suffixes() -> str:
    """The usual suffixes of the formats of arrays, without tables, for a message."""
    return suffixes([kind for kind in FORMATS.values() if kind.matrix])


def array_endings() -> tuple[str, ...]:
    """All suffixes of the formats of arrays, without tables."""
    known = (ending for kind in FORMATS.values() if kind.matrix for ending in (kind.suffix, *kind.others))
    return tuple(filter(None, known))


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
        raise BadInput("is empty (0 bytes)", where=path, fix=WRITE_AGAIN)
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
        what = "is a pickle" if pickled else f"has the file ending of a pickle ({path.suffix})"
        fix = unpickle(f"pickle.load(open({str(path)!r}, 'rb'))")
        raise BadInput(
            f"{what}; reading a pickle can run any code, so vsebench never reads pickles", where=path, fix=fix
        )
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
        raise BadInput("is an archive without any array", where=path, fix=WRITE_AGAIN)
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
        what = f"has an unknown format, and is not UTF-8 text (byte {odd}; it starts with {head[:8]!r})"
        raise BadInput(what, where=path, fix=f"save text as UTF-8, and arrays as {suffixes(FORMATS.values())}")
    start = text.lstrip()[:200].lower()
    if start.encode().startswith(WEB_PAGE):
        what = "is a web page, perhaps the error page of a failed download"
        raise BadInput(what, where=path, fix="download it again")
    return FORMATS["json" if start.startswith(("{", "[")) else "text"]
