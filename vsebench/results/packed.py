"""Arrays as short strings inside JSON: ``kind:base64``, zlib-compressed, little-endian, exact.

Kinds are ``u1 u2 u4 i4 i8`` (integers), ``f4 f8`` (floats) and ``text`` (a JSON list of strings).
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..memory import text_array

KINDS = ("u1", "u2", "u4", "i4", "i8", "f4", "f8")
LEVEL = 3  # of zlib: 3 % more than its default of 6, in half the time


def pack(array: npt.NDArray[Any]) -> str:
    """A one-dimensional array of numbers or strings as one string, in the smallest kind that represents it exactly."""
    if array.dtype.kind == "U":
        return _text("text", json.dumps(array.tolist(), ensure_ascii=False).encode("utf-8", "surrogatepass"))
    kind = next(k for k in KINDS if _fits(k, array))
    return _text(kind, array.astype(f"<{kind}").tobytes())


def unpack(text: str, most: int | None = None) -> npt.NDArray[Any]:
    """The array that ``pack`` wrote: int64, float64 or unicode.

    Integral values are returned as int64, even from a float array; the caller converts them.

    Args:
        text: from ``pack``.
        most: maximal number of entries, if known.

    Raises:
        BadInput: no such kind, damaged, or more numbers than ``most``.
    """
    kind, colon, data = text.partition(":")
    if not colon or kind not in (*KINDS, "text"):
        raise BadInput(
            f"'{text[:20]}' is not a packed array", fix="write the report again with vsebench eval FILE -o A.json"
        )
    try:
        limit = 0 if most is None or kind == "text" else most * np.dtype(kind).itemsize
        stream = zlib.decompressobj()
        raw = stream.decompress(base64.b64decode(data, validate=True), limit and limit + 1)
        if limit and len(raw) > limit:
            raise ValueError(f"more than {most:,} numbers")
        if not stream.eof:
            raise ValueError("cut short")
        if kind == "text":
            words = json.loads(raw)
            if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
                raise ValueError("not a list of strings")
            return text_array(words, "ids")
        array = np.frombuffer(raw, f"<{kind}")
    except BadInput:
        raise
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise BadInput(f"a packed array is damaged ({error})", fix="copy the report again") from None
    return array.astype(np.float64 if kind[0] == "f" else np.int64)


def numbers(text: str, name: str, size: int, *, below: int | None = None, fewer: bool = False) -> npt.NDArray[Any]:
    """The finite numbers of a packed array.

    Args:
        text: from ``pack``.
        name: of the array, for messages.
        size: how many there are; with ``fewer`` at most so many.
        below: they are integers from 0 that are smaller.

    Raises:
        BadInput: damaged, another number of them, or one that is out of range.
    """
    try:
        array = unpack(text, size)
    except BadInput as error:
        raise BadInput(f"{name}: {error.what}", fix=error.fix) from None
    fix = "write the report again with vsebench eval FILE -o A.json"
    few = len(array) > size or (len(array) < size and not fewer)
    if few or array.dtype.kind not in ("if" if below is None else "i") or not np.isfinite(array).all():
        kinds = "finite numbers" if below is None else "integers"
        raise BadInput(f"{name} has {len(array):,} entries where {size:,} {kinds} are needed", fix=fix)
    if below is not None and len(array) and not 0 <= array.min() <= array.max() < below:
        raise BadInput(f"{name} has integers that are not from 0 to {below - 1:,}", fix=fix)
    return array


def _fits(kind: str, array: npt.NDArray[Any]) -> bool:
    """Whether ``array`` is the same after a conversion to ``kind`` and back."""
    if kind == "f8" or not len(array):
        return True
    floats = array.dtype.kind == "f"
    if kind[0] == "f" and not floats:
        return False
    if kind[0] != "f":
        limits = np.iinfo(kind)
        if not (limits.min <= array.min() and array.max() <= limits.max):
            return False
        # a float beyond 2^53 or a negative zero does not come back from an integer
        if floats and (kind == "i8" or np.signbit(array[array == 0]).any()):
            return False
    with np.errstate(all="ignore"):
        return bool((array.astype(kind) == array).all())


def _text(kind: str, raw: bytes) -> str:
    return f"{kind}:{base64.b64encode(zlib.compress(raw, LEVEL)).decode('ascii')}"
