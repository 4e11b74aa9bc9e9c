"""Files of captions: records with named fields -> caption rows, with the image, the id and the part of each."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput, UsageError, count_of
from ..memory import text_array
from ..options import spell
from ..types import Ids
from .caption_rows import CaptionRows, first_captions
from .ids import as_ids, refuse_destroyed
from .kinds import KINDS, LAYOUT
from .read import read_captions
from .records import frame, missing, records, spot
from .regular import expanded, remembered
from .textfile import format_field

if TYPE_CHECKING:
    import pandas as pd

KARPATHY_CAPTIONS = 5  # captions used per image, as usual; 10 of COCO's 5,000 images have six
ALL_PARTS = "all"  # selects all parts
_LIST = re.compile(r"\s*\[\s*(?:[\"'].*[\"']\s*,?\s*)?\]\s*", re.S)
_LISTS = ("captions", "sentences", "descriptions", "encap")  # names of fields of all captions of an image


Record = tuple[str, Mapping[str, Any]]  # its place, such as "line 7", and its fields


@dataclass(frozen=True)
class Fields:
    """The names of the fields of a file, None for those it does not have; captions may be in several.

    Without a field of the image it is what the id of a caption begins with, before ``#``.
    """

    captions: tuple[str, ...] = ("caption",)
    image: str | None = "image"
    caption_id: str | None = None
    index: str | None = None
    part: str | None = None


def find_fields(names: Iterable[str]) -> Fields | None:
    """The role of every field by its name; None without a caption, or without both image and id."""
    names = [name for name in names if isinstance(name, str)]
    found = KINDS["captions"].find(names)
    image, caption_id = found.get("image"), found.get("caption_id")
    wide = found.get("wide", ())
    one = found.get("caption") or (None if wide else found.get("described"))
    captions = wide if one is None else (one,)
    several = len(captions) > 1 or (one is not None and one.strip().lower() in _LISTS)
    plain = caption_id is not None and caption_id.strip().lower() == "id"
    if several and plain:
        image, caption_id = image or caption_id, None  # a record is an image with all its captions
    if not captions or (image is None and (caption_id is None or plain)):
        return None
    lower = {name.strip().lower(): name for name in reversed(names)}
    if {"image", "caption_index"} <= lower.keys():  # Flickr30K has no ids of captions: both are one
        image, caption_id = lower["image"], None
    return Fields(captions, image, caption_id, found.get("index"), found.get("part"))


def caption_rows(found: pd.DataFrame, fields: Fields, part: str | None = None) -> CaptionRows:
    """One row a caption, in the order of the records; further fields are ignored.

    A caption may also be a list of captions; an image with an empty list is a candidate that belongs to no query.
    Without ids of captions the id is ``<image id>#<index>``, with the index of the record, or a count of the
    captions of the image from 0. Ids are numbers when all of them are.

    Args:
        found: records, one a caption or one an image.
        fields: from ``find_fields``.
        part: value of the field ``split``; None for all records, as ``ALL_PARTS`` if no part has this name.

    Raises:
        BadInput: a field is missing or of another type, a caption id occurs twice (the message lists the records), or
            there is no record.
    """
    where, parts = found.attrs["where"], parts_of(found, fields)
    _refuse_class_ids(found, fields)
    if part is not None and parts and (part != ALL_PARTS or ALL_PARTS in parts):
        found = found[found[fields.part].map(str) == part]
    image_ids: list[int | str] = []
    caption_ids: list[int | str] = []
    captions: list[str] = []
    others: dict[int | str, None] = {}
    seen: dict[int | str, int] = {}
    for row, (image, said, names) in enumerate(_records(found, fields)):
        if not said:
            others[image] = None
        for caption, name in zip(said, names, strict=True):
            if not isinstance(caption, str):
                what = f"a caption is {format_field(caption)}, expected text"
                raise BadInput(what, where=spot(found, row), fix="write it in quotes")
            if name in seen:
                other = spot(found, seen[name]).removeprefix(f"{where}: ")
                what = f"caption id {format_field(name)} is already used by {other}"
                fix = "give every caption its own id, or leave the ids out"
                raise BadInput(what, where=spot(found, row), fix=fix)
            seen[name] = row
            image_ids.append(image)
            caption_ids.append(name)
            captions.append(caption)
    if not captions:
        words = (
            f"part '{part}' ({fields.part} is {', '.join(parts[:6])})"
            if parts and part and not len(found)
            else "caption"
        )
        fix = f"give a file that holds captions, or another {spell('part')}"
        raise BadInput(f"holds no {words}", where=where, fix=fix)
    captioned = set(image_ids)
    without = [name for name in others if name not in captioned]
    images = _ids([*image_ids, *without], "image ids", where)  # together: ids are numbers when all of them are
    own_image, other_images = images[: len(image_ids)], images[len(image_ids) :]
    return CaptionRows(own_image, _ids(caption_ids, "ids", where), tuple(captions), where, other_images)


def record_rows(listed: Iterable[Record], fields: Fields, where: str, part: str | None = None) -> CaptionRows:
    """``caption_rows`` of records, each with its place for messages."""
    pairs = list(listed)
    return caption_rows(frame([one for _, one in pairs], where, "{}", [at for at, _ in pairs]), fields, part)


def with_caption_ids(found: pd.DataFrame) -> pd.DataFrame:
    """Records of a caption each with the column ``caption_id``, counted for each image if there is none."""
    fields = find_fields(found)
    if fields is None or fields.caption_id is not None or found[fields.image].map(str).is_unique:
        return found
    names = [ids for *_, ids in _records(found, fields)]
    return found.assign(caption_id=[ids[0] for ids in names]) if all(len(ids) == 1 for ids in names) else found


def parts_of(found: pd.DataFrame, fields: Fields) -> list[str]:
    """The distinct values of the field ``split``, none without it."""
    return list(dict.fromkeys(map(str, found[fields.part]))) if fields.part in found else []


def files_of(found: pd.DataFrame, fields: Fields) -> dict[str, str]:
    """Names of image files, by the id of the image as a string; empty without a separate field for them."""
    name = KINDS["captions"].find(name for name in found if name != fields.image).get("file")
    if name is None or fields.image is None:
        return {}
    pairs = zip(found[fields.image], found[name], strict=True)
    return {str(image).strip(): file.strip() for image, file in pairs if isinstance(file, str)}


def no_fields(found: pd.DataFrame) -> BadInput:
    """The error for records in which ``find_fields`` finds nothing."""
    if found.attrs["layout"] == "with_ids":
        what = "has captions without ids, but the image of every caption is needed"
        return BadInput(what, where=found.attrs["where"], fix=f"write the column names in the first line: {LAYOUT}")
    listed = ", ".join(str(name) for name in list(found)[:12]) or "of nothing"
    return BadInput(f"has the fields {listed}, not a caption and its image", where=found.attrs["where"], fix=LAYOUT)


def _refuse_class_ids(found: pd.DataFrame, fields: Fields) -> None:
    """Refuse an image id that several files share: it is a class, such as a person."""
    file = KINDS["captions"].find(name for name in found if name != fields.image).get("file")
    if file is None or fields.image not in found:
        return
    paths: dict[str, str] = {}
    for row, (image, path) in enumerate(zip(map(str, found[fields.image]), map(str, found[file]), strict=True)):
        if paths.setdefault(image, path) != path:
            what = f"'{image}' in '{fields.image}' is also used for {paths[image]}, so it is not an image id"
            fix = f"leave '{fields.image}' out, or call it label"
            raise BadInput(what, where=spot(found, row), fix=fix)


def _records(found: pd.DataFrame, fields: Fields) -> Iterator[tuple[int | str, list[Any], list[int | str]]]:
    """For every record: the id of its image, its captions, and their ids."""
    counted: dict[int | str, int] = {}
    nothing = [None] * len(found)
    columns_read = (fields.image, fields.caption_id, fields.index, *fields.captions)
    images, ids, numbers, *columns = (found[name].tolist() if name in found else nothing for name in columns_read)
    for row, (image, record_ids, number, *columns_of_text) in enumerate(
        zip(images, ids, numbers, *columns, strict=True)
    ):
        captions = _captions(columns_of_text, fields, found, row)
        several = record_ids if isinstance(record_ids, list) and len(record_ids) == len(captions) else [record_ids]
        names = [_id(one, fields.caption_id, found, row) for one in several] if fields.caption_id is not None else []
        name = _before_mark(names, found, row) if fields.image is None else _image(image, fields.image, found, row)
        if fields.caption_id is None:
            first = counted.get(name, 0) if fields.index is None else _integer(number, fields.index, found, row)
            counted[name] = first + len(captions)
            names = [f"{name}#{first + k}" for k in range(len(captions))]
        yield name, captions, names if len(names) == len(captions) else names[:1] * len(captions)


def _captions(sentences: list[Any], fields: Fields, found: pd.DataFrame, row: int) -> list[Any]:
    """The captions of a record, from one field or list, or from several fields; some may be empty."""
    if len(sentences) > 1:
        return [one for one in sentences if not missing(one)]
    (one,) = sentences
    if isinstance(one, str):
        for read in (json.loads, ast.literal_eval) if _LIST.fullmatch(one) else ():  # a list as JSON or Python write it
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                listed = read(one.strip())
                if isinstance(listed, list) and all(isinstance(x, str) for x in listed):
                    return listed
        return [one]
    if hasattr(one, "tolist"):
        one = one.tolist()
    if not isinstance(one, list):
        raise _no_value(one, fields.captions[0], "a text or a list", found, row)
    return one


def _image(value: Any, name: str, found: pd.DataFrame, row: int) -> int | str:
    """The id of the image of a record."""
    if isinstance(value, list):
        if len(value) != 1:
            what = f"field '{name}' lists {count_of(len(value), 'image')}: a caption of a data set has one"
            fix = f"give the images of a caption as judgements of your vectors: {spell('judgements', 'NAME=FILE')}"
            raise BadInput(what, where=spot(found, row), fix=fix)
        (value,) = value
    return _id(value, name, found, row)


def _before_mark(names: Sequence[int | str], found: pd.DataFrame, row: int) -> str:
    """The image of a caption by its id."""
    image, mark, _ = (name := str(names[0])).partition("#")
    if not mark:
        fix = f"add a column with the image of every caption; {LAYOUT}"
        raise BadInput(f"caption id {format_field(name)} has no image id before #", where=spot(found, row), fix=fix)
    return image


def _integer(value: Any, name: str, found: pd.DataFrame, row: int) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) < 19:
        return int(value.strip())
    if not isinstance(value, int) or isinstance(value, bool):
        raise _no_value(value, name, "an integer", found, row)
    return value


def _id(value: Any, name: str | None, found: pd.DataFrame, row: int) -> int | str:
    """An id, stripped; a float that is an integer is that integer, as tables with missing values have them."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, (int, str)) or isinstance(value, bool):
        raise _no_value(value, name, "an integer or a text", found, row)
    if isinstance(value, int):
        return value
    if not (value := value.strip()):
        fix = "give every caption an id and the id of its image"
        raise BadInput(f"field '{name}' is empty", where=spot(found, row), fix=fix)
    if "#" in value or "+" in value:
        refuse_destroyed([value], spot(found, row), lambda _: f"field '{name}'")
    return value


def _no_value(value: Any, name: str | None, expected: str, found: pd.DataFrame, row: int) -> BadInput:
    what = (
        f"field '{name}' is missing"
        if missing(value)
        else f"field '{name}' is {format_field(value)}, expected {expected}"
    )
    return BadInput(what, where=spot(found, row), fix=f"give every record a field '{name}', {expected}")


def _ids(values: Sequence[int | str], name: str, where: str) -> Ids:
    if all(isinstance(value, int) for value in values):
        return np.asarray(values)
    return as_ids(text_array([str(value) for value in values], name, where), name, where)


# --- files -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CaptionFile:
    """A file of captions as records: of a caption, of an image, or of a caption without ids."""

    found: pd.DataFrame

    @cached_property
    def fields(self) -> Fields:
        """What its fields are; raises BadInput if it has no caption, or no image."""
        if (fields := find_fields(self.found)) is None:
            raise no_fields(self.found)
        return fields

    @property
    def karpathy(self) -> bool:
        """Whether it is a file like Karpathy's."""
        return bool(self.found.attrs["layout"] == "karpathy")

    @property
    def lines(self) -> tuple[str, ...] | None:
        """The captions of a file without any ids, in its order; else None."""
        alone = list(self.found)
        if len(alone) != 1 or find_fields([*alone, "image"]) is None:
            return None
        texts = self.found[alone[0]].tolist()
        return tuple(texts) if all(isinstance(text, str) for text in texts) else None

    @property
    def parts(self) -> list[str]:
        """The parts it has, in the order of the file; none when it has no such field."""
        return parts_of(self.found, self.fields)

    @property
    def images(self) -> dict[str, str]:
        """The image files that it states with their ids, by the id as a string."""
        return files_of(self.found, self.fields)

    def rows(self, part: str | None = None, first: int | None = None) -> CaptionRows:
        """All captions, or the captions of a part; by default the test images of a Karpathy file.

        Args:
            part: see above.
            first: the first so many captions of every image, if all images have as many.
        """
        rows = caption_rows(self.found, self.fields, part or ("test" if self.karpathy else None))
        enough = first is not None and np.bincount(rows.images()[1]).min() >= first
        return first_captions(rows, first) if first is not None and enough else rows


@remembered
def caption_file(path: str | os.PathLike[str]) -> CaptionFile:
    """A file of captions, plain or gzip; raises BadInput, MissingPackage."""
    return CaptionFile(records(path, "captions"))


def from_file(path: str | os.PathLike[str]) -> CaptionRows:
    """The caption rows of a file; of a Karpathy file the first five captions of its test images.

    Raises:
        BadInput: unreadable, malformed, truncated or another kind of file.
    """
    file = caption_file(path)
    return file.rows(None, KARPATHY_CAPTIONS if file.karpathy else None)


def with_image_files(path: str | os.PathLike[str], part: str | None = None) -> tuple[CaptionRows, dict[str, str]]:
    """All captions of a file for a custom data set, and the names of the image files in it, by image.

    Args:
        path: a file of captions.
        part: captions with this value in the field ``split``, ``all`` for every part; by default ``test`` of
            a Karpathy file and all of others, which then must not have several parts.

    Raises:
        BadInput: unreadable, malformed, truncated, another kind of file, or without the part.
        UsageError: a part of a file without parts, or no choice among several parts.
    """
    file = caption_file(path)
    check_part(os.fspath(path), part, file.parts, not file.karpathy)
    return file.rows(part), file.images


def all_of_file(path: str | os.PathLike[str], part: str | None = None) -> CaptionRows:
    """The captions of ``with_image_files``."""
    return with_image_files(path, part)[0]


def check_part(path: str, part: str | None, parts: list[str], chooses: bool = True) -> None:
    """Refuse a part of captions without parts, and with ``chooses`` no part of several; raises UsageError."""
    if part is not None and not parts:
        raise UsageError(
            f"{spell('part')} is '{part}', and the file has no field split", where=path, fix="leave it out"
        )
    if part is None and chooses and len(parts) > 1:
        what = f"holds {len(parts)} parts: {', '.join(parts[:6])}"
        raise UsageError(
            what, where=path,
            fix=f"choose one with {spell('part', 'test' if 'test' in parts else parts[0])}, or {ALL_PARTS}",
        )  # fmt: skip


def lines_of(path: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """The captions of a file without ids, in its order: arrays, or a text with one a line; else None."""
    arrays = read_captions(path)
    if arrays is None:
        return caption_file(path).lines
    return arrays[1] if arrays[0] is None else None


def table_of_captions(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The captions of a file of any form, a row each; of a Karpathy file the first five of every image.

    Args:
        path: the file.

    Returns:
        A table with the columns ``image_id``, ``caption_id``, ``caption``, ``part`` (None without parts) and ``file``
        (the name of the image file, None if the file does not state it). An image without a caption is a row behind the
        others of its part, with None for the caption and its id.

    Raises:
        BadInput: unreadable, malformed, another kind of file, or only some captions have a part.
        MissingPackage: the package that reads this format is not installed.
    """
    import pandas as pd

    source, tables = caption_file(expanded(path)), []
    stated = [not missing(part) for part in source.found[source.fields.part]] if source.parts else []
    if any(stated) and not all(stated):
        at = spot(source.found, stated.index(False))
        raise BadInput(
            "lacks the field split, which other records have", where=at, fix="give every caption its part, or none"
        )
    for part in source.parts if any(stated) else [ALL_PARTS]:
        rows = source.rows(part, KARPATHY_CAPTIONS if source.karpathy else None)
        others = [] if rows.others is None else rows.others.tolist()
        none = [None] * len(others)
        columns = {
            "image_id": [*rows.image_id.tolist(), *others],
            "caption_id": [*rows.caption_id.tolist(), *none],
            "caption": [*(rows.captions or ()), *none],
            "part": part if any(stated) else None,
        }
        tables.append(pd.DataFrame(columns, dtype=object))
    found = pd.concat(tables, ignore_index=True)
    place = {str(image): n for n, image in enumerate(source.rows(ALL_PARTS).images()[0].tolist())}
    found = found.iloc[np.argsort(found["image_id"].map(lambda image: place[str(image)]), kind="stable")]
    return found.assign(file=[source.images.get(str(image)) for image in found["image_id"]])
