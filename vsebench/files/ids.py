"""Ids in one of two forms: int64 when all are integers, unicode otherwise; and what different spellings share."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import composed, stripped
from ..errors import BadInput
from ..memory import text_array
from ..types import Ids, Int

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_INT64_MAX = np.iinfo(np.int64).max
# The fix for ids of another type.
AS_STRINGS = "save ids as integers or as strings of numpy: {name} = np.array({name}).astype(str)"
# Endings of media and of arrays of features. What follows any other dot belongs to the name: p0.v2.
_MEDIA = (
    r"\.(?:jpe?g|jfif|png|gif|webp|bmp|tiff?|heic|avif|svg|mp4|m4v|avi|webm|mkv|mov|mpe?g|wmv|flv|3gp|wav|mp3|flac|ogg"
    r"|opus|m4a|aac|np[yz]|pt|h5)"
)
_ENDING = re.compile(_MEDIA + r"(?=(?:#[^./\\]*)?\Z)", re.I)  # the number of a caption may follow
# A number as tools write it: 391895.0, +391895, 000391895.jpg, val2014/COCO_val2014_000000391895.jpg, and the caption
# ids of CxC, COCO_val2014:sentid:770337. At most 18 digits, which always fit int64.
_NUMBER = re.compile(
    rf"(?:.*[/\\])?[+]?(?:COCO_[a-z0-9]+[_:](?:sentid:)?)?0*([0-9]{{1,18}})(?:\.0*|{_MEDIA})?", re.I | re.S
)
_FOLDERS = re.compile(r"\A.*[/\\](?=.)", re.S)  # at the beginning alone, or a long id is searched from every place
_PREFIX = re.compile(r"\ACOCO_[a-z0-9]+[_:](?:sentid:)?0*(?=[0-9])|\A0+(?=[0-9])", re.I)
# M-BEIR saves ids SET:NUMBER beside vectors as SET * BASE + NUMBER, with a base for queries and one for items.
MBEIR_BASES = (500_000, 10_000_000)
_OF_MBEIR = re.compile(r"([0-9]{1,4}):([0-9]{1,7})")
_INTEGER = re.compile(r"\A[+]?0*([0-9]{1,18})(?:\.0*)?\Z")

# What a spreadsheet makes of ids that begin with = or - (errors of formulas) and of long numbers (7.90012E+17).
_DESTROYED = re.compile(r"#(?:NAME\?|VALUE!|REF!|DIV/0!|NULL!|NUM!|N/A)|[0-9](?:[.,][0-9]+)?E\+[0-9]{2,}", re.I)


def _without(*patterns: re.Pattern[str]) -> Callable[[str], str]:
    return lambda text: reduce(lambda left, pattern: pattern.sub("", left).strip(), patterns, text)


without_ending = _without(_ENDING)

# What may be dropped from all ids of both sides if none are equal, the least first.
_DROPPED: dict[str, Callable[[str], str]] = {
    "file endings": without_ending,
    "folders": _without(_FOLDERS),
    "folders and file endings": _without(_FOLDERS, _ENDING),
    "folders, file endings, COCO prefixes and leading zeros": _without(_FOLDERS, _ENDING, _PREFIX),
}


def is_decimal(text: str) -> bool:
    """Whether ``text`` is how an int64 >= 0 prints: ``391895``, not ``0391895`` or ``+1``."""
    return _DECIMAL.fullmatch(text) is not None and int(text) <= _INT64_MAX


def as_ids(array: npt.ArrayLike, name: str, where: Path | str) -> Ids:
    """Ids in canonical form.

    Args:
        array: (item,), (item, 1) or (1, item) integers, integral floats, bytes (UTF-8) or strings.
        name: the array's name, for messages.
        where: the file, for messages.

    Returns:
        (item,) int64 when the ids are numbers or strings that are all plain decimal numbers, else unicode.

    Raises:
        BadInput: another dtype or shape, fractions, numbers outside int64, bytes that are not UTF-8, strings with
            characters that Unicode does not have, ids that a spreadsheet destroyed.
    """
    ids = np.asarray(array)
    if ids.ndim == 2 and 1 in ids.shape:  # as MATLAB has them
        ids = ids.ravel()
    if ids.ndim != 1:
        raise BadInput(f"'{name}' has shape {ids.shape}", where=where, fix="save ids as one 1-D array, one id per row")
    kind = ids.dtype.kind
    if kind == "u" and len(ids) and int(ids.max()) > _INT64_MAX:
        raise BadInput(f"'{name}' holds {int(ids.max())}, which is not an int64", where=where, fix="use smaller ids")
    if kind in "iu":
        return ids.astype(np.int64)
    if kind == "f":
        return _from_floats(ids, name, where)
    if kind == "U":
        _check_code_points(ids, name, where)
    if kind == "S":
        ids = _decoded(ids.tolist(), name, where)
    elif kind != "U":
        what = f"'{name}' has dtype {ids.dtype}; ids are integers or strings"
        raise BadInput(what, where=where, fix=AS_STRINGS.format(name=name))
    ids = stripped(ids)
    refuse_destroyed(ids.tolist(), where, lambda row: f"'{name}'[{row}]")
    if all(is_decimal(text) for text in ids.tolist()):
        return ids.astype(np.int64)
    return ids.astype(ids.dtype.newbyteorder("="))


def refuse_destroyed(ids: Sequence[Any], where: Path | str, spot: Callable[[int], str]) -> None:
    """Refuse ids that a spreadsheet has overwritten with an error or with the beginning of a long number.

    Args:
        ids: (item,) of any type; only strings are looked at.
        where: the file, or the line of the file, for messages.
        spot: gives the words for a row in messages.

    Raises:
        BadInput: such an id; the message has the first.
    """
    row = next((k for k, text in enumerate(ids) if isinstance(text, str) and _DESTROYED.fullmatch(text.strip())), None)
    if row is not None:
        what = f"{spot(row)} is '{ids[row]}', which a spreadsheet writes instead of an id or a long number"
        fix = "take the ids from the original file; to edit a table in a spreadsheet, import its ids as text"
        raise BadInput(what, where=where, fix=fix)


def id_array(values: Sequence[Any], name: str, where: Path | str) -> npt.NDArray[Any]:
    """The ids of a column, all of one type, as an array; raises BadInput as ``memory.text_array`` and ``as_ids`` do."""
    if values and isinstance(values[0], bytes):
        return _decoded(values, name, where)
    return text_array(values, name, where) if values and isinstance(values[0], str) else np.array(values)


def canonical(ids: Ids) -> Ids:
    """What different spellings of the same ids have in common, to compare the ids of two sources.

    Args:
        ids: (item,) int64 or unicode.

    Returns:
        (item,) int64 when every id is a number, maybe as a decimal fraction, with a sign, zeros or spaces, or inside
        the name of a COCO or Flickr file; else unicode without surrounding white space and without folders.
    """
    if ids.dtype.kind != "U":
        return ids
    texts = [text.strip().strip("\ufeff") for text in ids.tolist()]
    numbers = [_NUMBER.fullmatch(text) for text in texts]
    if all(numbers):
        return np.array([int(found[1]) for found in numbers if found], np.int64)
    return text_array([_FOLDERS.sub("", text) for text in texts], "ids")


def places(ids: Ids, wanted: Ids) -> Int:
    """(wanted,) int64: the index in ``ids`` of each of ``wanted``, -1 for those that are not among them."""
    if len(ids) == len(wanted) and np.array_equal(ids, wanted):
        return np.arange(len(ids), dtype=np.int64)
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    if ids.dtype.kind != wanted.dtype.kind:
        ids, wanted = ids.astype(np.str_), wanted.astype(np.str_)
    order = np.argsort(ids, kind="stable")
    at = order[np.searchsorted(ids[order], wanted).clip(max=len(ids) - 1)]
    return np.where(ids[at] == wanted, at, -1).astype(np.int64)


def numbered(ids: Ids, base: int) -> Ids:
    """Ids ``SET:NUMBER`` as the integers that M-BEIR makes of them; unchanged if one is of another form."""
    found = [_OF_MBEIR.fullmatch(text) for text in (ids.tolist() if ids.dtype.kind == "U" else [""])]
    numbers = [(int(one[1]), int(one[2])) for one in found if one]
    if len(numbers) < len(found) or not all(number < base for _, number in numbers):
        return ids
    return np.array([subset * base + number for subset, number in numbers], np.int64)


def match(ids: Ids, known: Ids, base: int = 0) -> tuple[Int, str]:
    """The positions of ids among the ids of another source.

    Ids are compared in Unicode NFC, without spaces around them. If one side has integers, digits of the other side are
    integers (``007``, ``7.0``). Only if no two ids are equal, folders, endings of media files, COCO prefixes and
    leading zeros are dropped from all ids of both sides, and only if different ids of a side stay different.

    Args:
        ids: (item,) int64 or unicode; they may repeat.
        known: (known,) int64 or unicode.
        base: of ``MBEIR_BASES``, if ids ``SET:NUMBER`` of one side may be integers of the other.

    Returns:
        (item,) int64 index in ``known``, -1 for ids that are not in it; and for a note the dropped parts, such as
        ``without file endings``, or an empty string.
    """
    kinds = {ids.dtype.kind, known.dtype.kind}
    if base and len(kinds) == 2 and (first := numbered(ids, base)).dtype == (second := numbered(known, base)).dtype:
        at = places(second, first)
        return at, f"as in M-BEIR: SET:NUMBER is SET * {base:,} + NUMBER" if (at >= 0).any() else ""
    at = places(known, ids)
    if (at >= 0).all() or not len(known) or kinds == {"i"}:
        return at, ""
    sides = (ids, known)

    def changed(change: Callable[[str], str], texts: Sequence[list[str]]) -> list[list[str]]:
        """The texts of each side in another form; integers have one form."""
        return [old if ids.dtype.kind == "i" else list(map(change, old)) for ids, old in zip(sides, texts, strict=True)]

    mine, theirs = plain = changed(_plain, [side.astype(np.str_).tolist() for side in sides])
    if "i" in kinds:
        mine, theirs = plain = changed(lambda text: _INTEGER.sub(r"\1", text), plain)
    count, row = Counter(theirs), {text: place for place, text in enumerate(theirs)}
    for lost in np.flatnonzero(at < 0).tolist():
        at[lost] = row[mine[lost]] if count[mine[lost]] == 1 else -1
    if (at >= 0).any():
        return at, ""

    different = [len(np.unique(side)) for side in (ids, known)]

    def compared(change: Callable[[str], str]) -> Int:
        forms = changed(change, plain)
        if "i" in kinds and not any(map(str.isdecimal, forms[ids.dtype.kind == "i"])):  # no integer among the texts
            return np.full(len(ids), -1, np.int64)
        if [len(set(form)) for form in forms] != different:
            return np.full(len(ids), -1, np.int64)
        return places(text_array(forms[1], "ids"), text_array(forms[0], "ids"))

    dropped = {words: compared(change) for words, change in _DROPPED.items()}
    words, at = max(dropped.items(), key=lambda one: int((one[1] >= 0).sum()))
    return at, f"without {words}" if (at >= 0).any() else ""


def _plain(text: str) -> str:
    return composed(text).strip().strip("\ufeff")


def counts_rows(ids: Ids) -> bool:
    """Whether ids are row numbers, from 0, in any order: items without ids have these."""
    return ids.dtype.kind == "i" and bool((np.sort(ids) == np.arange(len(ids))).all())


def _from_floats(ids: Ids, name: str, where: Path | str) -> Ids:
    exact = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
    bad = ~(np.isfinite(ids) & (np.abs(ids) <= exact) & (ids == np.floor(ids)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = ids[row]
        too_large = bool(np.isfinite(value)) and abs(value) > exact
        why = f"too large to be exact in {ids.dtype.name}" if too_large else "not an integer"
        raise BadInput(f"'{name}'[{row}] = {value} is {why}", where=where, fix="save ids as int64 or strings")
    return ids.astype(np.int64)


def as_strings(array: npt.NDArray[Any], name: str, where: Path | str) -> tuple[str, ...]:
    """Captions of an array of strings or of bytes, in its order; raises BadInput for bytes that are not UTF-8."""
    array = array.ravel()
    return tuple((_decoded(array.tolist(), name, where) if array.dtype.kind == "S" else array).tolist())


def _check_code_points(ids: Ids, name: str, where: Path | str) -> None:
    """Refuse strings that no Python string can be made of: the characters in a file are any 32 bits."""
    if not ids.size or not ids.dtype.itemsize:
        return
    numbers = np.ascontiguousarray(ids).view(ids.dtype.byteorder.replace("|", "=") + "u4").reshape(len(ids), -1)
    bad = (numbers > sys.maxunicode).any(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadInput(f"'{name}'[{row}] is not Unicode", where=where, fix="write or download the file again")


def _decoded(values: Sequence[bytes], name: str, where: Path | str) -> Ids:
    names: list[str] = []
    for row, raw in enumerate(values):
        try:
            names.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise BadInput(f"'{name}'[{row}] = {raw!r} is not UTF-8", where=where, fix="save ids as UTF-8") from None
    return text_array(names, name, where)
