"""Arguments as arrays: numbers, ids and texts in the one form in which they are compared."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from .errors import UsageError, count_of, format_value
from .memory import text_array

Ids = npt.NDArray[Any]  # int64 or unicode, (item,)
Int = npt.NDArray[np.int64]
PathLike = str | os.PathLike[str]
EXACT = 1 << 53  # float64 has every integer up to it


def is_path(x: object) -> TypeGuard[PathLike]:
    """Whether an argument is a path, not an array."""
    return isinstance(x, str) or hasattr(x, "__fspath__")


def as_array(x: Any, name: str = "the array") -> npt.NDArray[Any]:
    """An array, a list of rows or a torch tensor, wherever it is, as a numpy array.

    Tensors are taken without their gradient; what numpy has no type for (bfloat16, float8) becomes float32, exactly.

    Raises:
        UsageError: not an array, or a masked array with masked entries; called ``name``.
    """
    if np.ma.is_masked(x):
        masked = count_of(int(np.ma.getmaskarray(x).sum()), "masked entry", "masked entries")
        raise UsageError(f"{name} has {masked}", fix="leave these rows out, or fill them: array.filled(...)")
    try:
        if hasattr(x, "detach"):
            x = x.detach().resolve_conj().resolve_neg().cpu()
            if x.is_floating_point() and str(x.dtype).startswith(("torch.bfloat", "torch.float8")):
                x = x.float()
            return np.asarray(x.numpy())
        if isinstance(x, (list, tuple)) and any(hasattr(row, "detach") for row in x):
            x = [as_array(row, name) for row in x]
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"{name} cannot be read as an array ({str(error).strip().splitlines()[0][:120]})"
        fix = "give one dense array, such as torch.cat(batches) or np.concatenate(batches)"
        raise UsageError(what, fix=fix) from None


def numbers(x: Any, name: str, most: int | None = EXACT) -> npt.NDArray[Any]:
    """An argument as an array of numbers, see ``as_array``.

    Raises:
        UsageError: naming the argument: it is something else, or has integers larger than ``most``, which float64
            numbers would round.
    """
    array = as_array(x, name)
    if array.ndim == 0 or array.dtype.kind not in "fiub":
        what = f"{name} is {format_value(x if array.ndim == 0 else array)}"
        what += f", {array.dtype}" if array.ndim else ""
        raise UsageError(what, fix="give an array of numbers, one row per item")
    if most is not None and array.dtype.kind in "iu" and array.size:
        largest = max(int(array.max()), -int(array.min()))
        if largest > most:
            what = f"{name} has integers as large as {largest}; float64 rounds integers above 2^53"
            raise UsageError(what, fix="subtract a constant from them or scale them, and give them as float64")
    return array


def frozen(array: npt.ArrayLike, dtype: Any = None) -> npt.NDArray[Any]:
    """A read-only view (or converted copy) of ``array``, which itself stays writable."""
    out = np.asarray(as_array(array), dtype=dtype).view()
    out.flags.writeable = False
    return out


def stripped(ids: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
    """Strings of any shape without the white space around them, as ids are compared everywhere."""
    texts = ids.ravel().tolist()
    bare = [text.strip() for text in texts]
    return ids if bare == texts else np.array(bare, np.str_).reshape(ids.shape)


def composed(text: str) -> str:
    """A text in Unicode NFC, the one form in which texts are compared: an accent is part of its letter.

    macOS and some keyboards write NFD, a letter and its accents.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def id_rows(ids: Any, what: str) -> Ids:
    """Ids or indices as a read-only array, integers or strings; raises UsageError naming ``what``."""
    array = as_array(ids, what)
    if array.dtype.kind == "O" and all(isinstance(x, str) for x in array.flat):
        array = text_array(array.ravel().tolist(), what).reshape(array.shape)  # of a table
    if array.dtype.kind == "U":
        array = stripped(array)
    if array.ndim != 1 or (array.dtype.kind not in "iuU" and array.size):
        found = f"{array.dtype} of shape {array.shape}" if array.ndim else f"{ids!r}"
        raise UsageError(f"{what} is {found[:80]}", fix="give integers or strings, one per item")
    return frozen(array)


def descending(ids: Iterable[Any]) -> Int:
    """(item,) int64, the indices of items in the descending order of the bytes of their ids: 9 before 10."""
    names = [str(name).encode("utf-8", "surrogatepass") for name in ids]
    return np.array(sorted(range(len(names)), key=names.__getitem__, reverse=True), np.int64)


def to_float32(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scores rounded to float32; raises UsageError for finite ones that float32 does not hold."""
    with np.errstate(over="ignore"):
        found = scores.astype(np.float32)
    if np.isinf(found).sum() > np.isinf(scores).sum():
        what = f"a score is larger than float32 holds: {np.nanmax(np.abs(scores[np.isfinite(scores)])):.3g}"
        raise UsageError(what, fix="scale the scores, or use the tie rule index")
    return found
