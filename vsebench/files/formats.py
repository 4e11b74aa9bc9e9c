"""The file formats, each declared once.

A new format is a reader in a file of its own and one entry here. A reader describes the arrays of a file from its
header (``Member``) and reads data only when one of them is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..errors import MissingPackage
from .arrow_tables import FILE_START, PARQUET_START, line_members, table_members
from .hdf5_file import hdf5_members, mat_members
from .npy import folder_members, npy_members, npz_members
from .raw import Member
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
        others: other suffixes; by these a file of gains is told from the name of a kind of gains.
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
            fix = f"pip install 'vsebench[{self.extra}]'"
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
            "image vectors; a second `.npy` file holds the text vectors; both are memory-mapped where they are float32",
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
            "jsonl", "JSON lines of vectors", ".jsonl", "an object a line with these fields",
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
