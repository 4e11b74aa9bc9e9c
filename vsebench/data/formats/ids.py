"""Ids in one of two forms: int64 when all are integers, unicode otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import BadInput
from ...types import Ids

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_INT64_MAX = np.iinfo(np.int64).max


def is_decimal(text: str) -> bool:
    """Whether ``text`` is how an int64 >= 0 prints: ``391895``, not ``0391895`` or ``+1``."""
    return _DECIMAL.fullmatch(text) is not None and int(text) <= _INT64_MAX


def as_ids(array: npt.ArrayLike, name: str, where: Path | str) -> Ids:
    """Ids in canonical form.

    Args:
        array: (item,) or (item, 1) integers, integral floats, bytes (UTF-8) or strings.
        name: the array's name, for messages.
        where: the file, for messages.

    Returns:
        (item,) int64 when the ids are numbers or strings that are all plain decimal numbers, else unicode.

    Raises:
        BadInput: another dtype or shape, fractions, numbers outside int64, bytes that are not UTF-8.
    """
    ids = np.asarray(array)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1:
        raise BadInput(f"'{name}' has shape {ids.shape}", where=where, fix="save ids as one 1-D array, one id a row")
    kind = ids.dtype.kind
    if kind == "u" and len(ids) and int(ids.max()) > _INT64_MAX:
        raise BadInput(f"'{name}' holds {int(ids.max())}, which is not an int64", where=where, fix="use smaller ids")
    if kind in "iu":
        return ids.astype(np.int64)
    if kind == "f":
        return _from_floats(ids, name, where)
    if kind == "S":
        ids = _decoded(ids, name, where)
    elif kind != "U":
        fix = f"save them as integers or fixed-width strings, as in np.savez(..., {name}=np.array([...]))"
        raise BadInput(f"'{name}' has dtype {ids.dtype}; ids are integers or strings", where=where, fix=fix)
    if all(is_decimal(text) for text in ids.tolist()):
        return ids.astype(np.int64)
    return ids.astype(ids.dtype.newbyteorder("="))


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


def _decoded(ids: Ids, name: str, where: Path | str) -> Ids:
    names: list[str] = []
    for row, raw in enumerate(ids.tolist()):
        try:
            names.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise BadInput(f"'{name}'[{row}] = {raw!r} is not UTF-8", where=where, fix="save ids as UTF-8") from None
    return np.array(names, dtype=np.str_)
