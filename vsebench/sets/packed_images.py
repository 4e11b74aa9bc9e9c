"""Images inside parquet files, as hub data sets are stored, or in tar archives (webdataset), with their captions.

Every image has a name and is read alone, like a file of a folder, so no other code knows how it is stored.
"""

from __future__ import annotations

import re
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files.arrow_tables import parquet_file, read_columns
from ..files.caption_rows import CaptionRows
from ..files.captions import Fields, Record, check_part, record_rows
from ..files.formats import FORMATS
from ..files.image_files import ENDINGS, Packed, walk
from ..files.kinds import CAPTION, PART
from ..files.regular import check_file, reading
from ..files.textfile import format_field, parse_json, text_lines
from ..log import note
from ..options import spell

ENDINGS_OF_PACKED = (".parquet", ".tar")
COLUMNS = ("image", "img", "jpg", "png")  # of images in a table; the first one present
# Fields with the id of an image; the first one present is used. The name of the file that a table states comes before
# the second ones, which only count the images in many data sets.
IDS = ("cocoid", "image_id", "file_name", "filename", "image_name")
NUMBER_COLUMNS = ("key", "__key__", "id", "img_id", "imgid")
Found = tuple[int | str, str, Packed, Mapping[str, Any]]  # id, name, image, and the fields beside it in lower case
_HUB = re.compile(r"(\w+)-\d+-of-\d+\.parquet")  # train-00000-of-00002.parquet
_MAX_CAPTION_BYTES = 1 << 20  # captions of an image
_COPY_AGAIN = "copy or download it again"


@dataclass(frozen=True, eq=False)
class PackedImages:
    """The images of some parquet files or archives.

    Attributes:
        where: the file, or the folder of files.
        images: by name, in order.
        records: where every image is, and its fields: ``image`` (its id), and ``caption`` and ``split`` if it has them.
        names: of every image, by its id as a string.
        others: all fields except the images, for messages.
    """

    where: Path
    images: dict[str, Packed]
    records: list[Record]
    names: dict[str, str]
    others: tuple[str, ...]

    def captions(self, part: str | None = None) -> CaptionRows:
        """One row a caption, with the ids ``<image id>#0``, ``<image id>#1``, ...

        Args:
            part: images with this value in the field ``split``, or ``all``; by default the images of the files
                ``PART-...parquet``.

        Raises:
            BadInput: there are no captions, or an image has none.
            UsageError: there are no parts, or no choice among several.
        """
        where = str(self.where)
        if not any("caption" in record for _, record in self.records):
            what = f"has no captions next to its images; it has {', '.join(self.others) or 'nothing else'}"
            fix = f"call them caption, captions, text or sentences, or give {spell('captions', 'FILE')}"
            raise BadInput(what, where=where, fix=fix)
        parts = [str(record.get("split")) for _, record in self.records]
        check_part(where, part, list(dict.fromkeys(parts)) if any(part != "None" for part in parts) else [])
        return record_rows(self.records, Fields(part="split"), where, part)


def packed_images(path: Path) -> PackedImages | None:
    """The images in parquet or tar files (one, or a folder of them); None for a folder of image files.

    Raises:
        BadInput: a damaged file, none with an image, or two images of one name.
        MissingPackage: parquet without pyarrow.
    """
    files = _files(path)
    images: dict[str, Packed] = {}
    records: list[Record] = []
    names: dict[str, str] = {}
    others: dict[str, None] = {}
    for file in files:
        check_file(file, _COPY_AGAIN)
        for key, name, image, fields in (_of_archive if file.suffix.lower() == ".tar" else _of_table)(file):
            if name in images or str(key) in names:
                other = images[name] if name in images else images[names[str(key)]]
                fix = "store every image once, with all its captions and its own id"
                raise BadInput(f"image '{key}' is also in {other}", where=str(image), fix=fix)
            images[name], names[str(key)] = image, name
            of_file = _HUB.fullmatch(file.name)
            record = {"image": key, "caption": _first(fields, CAPTION), "split": _first(fields, PART)}
            record["split"] = record["split"] or (of_file and of_file[1])
            at = str(image).removeprefix(f"{path}: ").removeprefix(f"{path}/")
            records.append((at, {key: value for key, value in record.items() if value is not None}))
            others |= dict.fromkeys(fields)
    if files and not images:
        what = f"holds no image ({', '.join(ENDINGS)} in archives, rows in tables)"
        raise BadInput(what, where=files[0], fix="give files with images")
    return PackedImages(path, images, records, names, tuple(others)) if files else None


def _files(path: Path) -> list[Path]:
    if path.suffix.lower() in ENDINGS_OF_PACKED and not path.is_dir():
        return [path]
    if not path.is_dir() or next(walk(path), None):
        return []
    found = sorted(walk(path, ENDINGS_OF_PACKED))
    kind = next((kind for kind in ENDINGS_OF_PACKED if any(name.lower().endswith(kind) for name in found)), "")
    return [path / name for name in found if name.lower().endswith(kind)]


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first field that has a value; white space around a text is not part of it."""
    values = (fields.get(name) for name in names)
    stripped = (value.strip() if isinstance(value, str) else value for value in values)
    return next((value for value in stripped if value is not None and value != ""), None)


def _of_archive(path: Path) -> Iterator[Found]:
    """The images KEY.jpg of an archive, with the captions of KEY.txt, one a line, and the fields of KEY.json."""
    images: dict[str, Packed] = {}
    texts: dict[str, tarfile.TarInfo] = {}
    fields: dict[str, dict[str, Any]] = {}
    damaged = reading(path, "is a truncated or damaged tar archive", _COPY_AGAIN)
    with damaged, tarfile.open(path, "r:") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            hidden = any(part.startswith(".") and part != ".." for part in name.split("/"))
            if not member.isreg() or member.issparse() or hidden:
                continue
            if name.lower().endswith(ENDINGS):
                read = partial(_bytes_at, path, member.offset_data, member.size)
                images[name] = Packed(path, name, member.offset_data, read)
            elif name.lower().endswith((".txt", ".json")):
                texts[name] = member
        key_of = _keys(path, [*images], [*texts])
        for name, member in texts.items():
            key, kind = key_of(name), name.rpartition(".")[2].lower()
            if len(name) == len(key) + 1 + len(kind):
                fields.setdefault(key, {}).update(_fields_of_member(path, name, kind, member, archive))
    for name, image in images.items():
        known = fields.get(key := key_of(name), {})
        stated = _first(known, IDS)
        yield (key if stated is None else stated), (name if stated is None else str(stated)), image, known


def _keys(path: Path, images: Sequence[str], texts: Sequence[str]) -> Callable[[str], str]:
    """What the names of an image and of its captions share: all before the first dot, as webdataset writes them.

    Raises BadInput.

    Names with several dots are split at the last one if the first one gives two images a key, or captions another
    name than KEY.txt, and if the last one is one to one.
    """

    def first(name: str) -> str:
        folder, slash, base = name.rpartition("/")
        return f"{folder}{slash}{base.partition('.')[0]}"

    def last(name: str) -> str:
        return name.rpartition(".")[0]

    firsts, lasts = ({key_of(name): name for name in images} for key_of in (first, last))
    if len(firsts) == len(images) and all(first(name) == last(name) for name in texts):
        return first
    if len(lasts) == len(images) and all(last(name) in lasts for name in texts):
        note(f"names of {path.name} are split at their last dot: {images[0]} is image '{last(images[0])}'")
        return last
    for name in images:
        if (other := firsts[first(name)]) != name:
            what = f"also image '{first(name)}', as {other} is: a name ends at its first dot"
            fix = "store every image once, or rename them: one dot in a name, before its ending"
            raise BadInput(what, where=f"{path}: {name}", fix=fix)
    return first


def _fields_of_member(
    path: Path, name: str, kind: str, member: tarfile.TarInfo, archive: tarfile.TarFile
) -> dict[str, Any]:
    where, stream = f"{path}: {name}", archive.extractfile(member)
    if member.size > _MAX_CAPTION_BYTES or stream is None:
        raise BadInput(f"takes {member.size:,} bytes, too many for captions", where=where, fix="store only captions")
    try:
        text = stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 text (byte {error.start})", where=where, fix="save it as UTF-8") from error
    if kind == "txt":
        return {"text": [line for line in text_lines(text) if line.strip()]}
    record = parse_json(text, where)
    if not isinstance(record, dict):
        raise BadInput(
            f"a JSON object is expected, found {format_field(record)}", where=where, fix="write one object per file"
        )
    return {key.strip().lower(): value for key, value in record.items()}


def _bytes_at(path: Path, start: int, size: int) -> bytes:
    with reading(path, fix=_COPY_AGAIN), path.open("rb") as stream:
        stream.seek(start)
        return stream.read(size)


def _of_table(path: Path) -> Iterator[Found]:
    """The rows of a parquet file."""
    FORMATS["parquet"].require(path)
    with parquet_file(path) as file:
        schema, counts = file.schema_arrow, [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    lower = {name.strip().lower(): name for name in reversed(schema.names)}
    column = next((lower[name] for name in COLUMNS if name in lower), None)
    if column is None:
        what = f"has no column '{COLUMNS[0]}'; it has {', '.join(schema.names[:12])}"
        raise BadInput(what, where=path, fix="give the column of the images this name")
    kind = str(schema.field(column).type)
    parts = dict(re.findall(r"(\w+): (\w+)", kind)) if kind.startswith("struct") else {"": kind}
    if parts.get("bytes", parts.get("")) not in ("binary", "large_binary"):
        what = f"column '{column}' is {kind}, expected the bytes of image files, or a struct of bytes and path"
        raise BadInput(what, where=path, fix="store the images themselves, as a data set of the hub does")
    texts = [
        lower[name] for name in (*CAPTION, *PART, *IDS, *NUMBER_COLUMNS) if name in lower and lower[name] != column
    ]
    values = read_columns(path, [*texts, *([f"{column}.path"] if "path" in parts else [])])
    stated = [str((cell or {}).get("path") or "") for cell in values.pop(column, [])]
    fields = {name.strip().lower(): cells for name, cells in values.items()}
    bytes_of = f"{column}.bytes" if "bytes" in parts else column
    groups, lock = lru_cache(maxsize=2)(partial(_group, path, bytes_of)), threading.Lock()
    for group, (stop, count) in enumerate(zip(accumulate(counts), counts, strict=True)):
        for row in range(stop - count, stop):
            read = partial(_cell, groups, lock, (group, row - stop + count), f"{path}: row {row}")
            image = Packed(path, f"row {row}", row, read)
            beside = {name: cells[row] for name, cells in fields.items()}
            file = stated[row].replace("\\", "/").rpartition("/")[2] if stated else ""
            known = {"": file, "row": f"{path.stem}/{row}", **beside}
            key = _first(known, (*IDS, "", *NUMBER_COLUMNS, "row"))
            yield key, str(key), image, beside


def _group(path: Path, column: str, group: int) -> Any:
    """One column of a row group, an array of pyarrow; ``a.b`` has the field b of column a alone."""
    with parquet_file(path) as file:
        return file.read_row_group(group, columns=[column]).column(0)


def _cell(groups: Any, lock: threading.Lock, at: tuple[int, int], where: str) -> bytes:
    with lock:  # one thread reads a group, the others wait for it
        found = groups(at[0])[at[1]].as_py()
    found = found["bytes"] if isinstance(found, dict) else found
    if found is None:
        fix = "store the bytes of every image, not only its path, or leave the row out"
        raise BadInput("has no image", where=where, fix=fix)
    return bytes(found)
