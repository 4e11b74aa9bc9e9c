"""The torch format: a dictionary of tensors, read as weights only, which cannot run code."""

from __future__ import annotations

import codecs
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingPackage
from ..memory import require, text_array
from .raw import Member, dtype_name
from .regular import SAVE_NPY, reading

LEGACY_START = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # of the format before torch 1.6, a plain pickle
_OLDEST_TORCH = (2, 6)  # before it, weights_only could be circumvented (CVE-2025-32434)
_OBJECT = re.compile(r"GLOBAL ([\w.]+)")
_REFUSED = "is refused by torch.load(weights_only=True): damaged, or not only tensors"
_TRUSTED = (
    "if you trust it, save only its tensors: d = torch.load(FILE, weights_only=False); "
    "torch.save({'image_embeddings': d[...], 'text_embeddings': d[...]}, NEW)"
)
_SAVE = "save plain tensors: torch.save({'image_embeddings': ..., 'text_embeddings': ...}, FILE)"


def torch_members(path: Path) -> list[Member]:
    """The tensors of a torch file: a dict of them (one level nested at most) or a single one, ``tensor``.

    In the dict, lists of integers, of strings or of lists of these count as arrays, for ids, and so do lists of
    vectors; a list of tensors is one nested level. bfloat16 is loaded as float32.

    Raises:
        MissingPackage: torch is older than 2.6.
        BadInput: the file is damaged, holds code or anything else than tensors.
    """
    import torch

    loaded = unpickled(path, _TRUSTED, _SAVE)
    if isinstance(loaded, torch.Tensor):
        return [_member("tensor", loaded, path)]
    if not isinstance(loaded, dict):
        raise BadInput(f"holds a {type(loaded).__name__}, not a dict of tensors", where=path, fix=_SAVE)
    return [member for name, value in _flat(loaded) if (member := _value(name, value, path)) is not None]


def unpickled(path: Path, trusted: str, fix: str) -> Any:
    """What a torch file holds: tensors, arrays and numbers of numpy, strings, and lists and dicts of these.

    Args:
        path: the file.
        trusted: the advice for a file with other Python objects.
        fix: the advice for one that is damaged.

    Raises:
        MissingPackage: torch is older than 2.6.
        BadInput: the file is damaged, or holds anything else.
    """
    import torch

    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < _OLDEST_TORCH:
        what = f"torch {torch.__version__} cannot read files safely; 2.6 is needed"
        raise MissingPackage(what, where=path, fix="pip install -U torch")
    require(path.stat().st_size, path, SAVE_NPY)
    with reading(path, _REFUSED, fix=fix):
        try:
            with torch.serialization.safe_globals(_of_numpy()):
                return torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:  # its text advises to run the code in the file
            found = _OBJECT.search(str(error))
            what = f"holds a Python object ({found[1]}), and reading it could run code" if found else _REFUSED
            raise BadInput(what, where=path, fix=trusted if found else fix) from None


def _of_numpy() -> list[Any]:
    """What makes numbers and arrays of numpy, and no other object; torch does not allow them by itself."""
    makers = {"scalar": np.float64(0).__reduce__()[0], "_reconstruct": np.zeros(1).__reduce__()[0]}
    names = [(made, f"numpy.{core}.multiarray.{name}") for name, made in makers.items() for core in ("core", "_core")]
    kinds = {type(np.dtype(kind)) for kind in "?bBhHiIlLqQefdSUO"}
    return [*names, (codecs.encode, "_codecs.encode"), np.ndarray, np.dtype, *kinds]


def _flat(loaded: dict[Any, Any]) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in loaded.items():
        if isinstance(value, (list, tuple)) and value and all(hasattr(item, "shape") for item in value):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            out.extend((f"{key}/{inner}", item) for inner, item in value.items())
        else:
            out.append((str(key), value))
    return out


def _value(name: str, value: Any, path: Path) -> Member | None:
    import torch

    if isinstance(value, torch.Tensor):
        return _member(name, value, path)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value:
        nested = all(isinstance(item, (list, tuple)) for item in value)
        items = [item for part in value for item in part] if nested else value
        kinds = {type(item) for item in items}
        try:
            if kinds == {str}:
                value = text_array(items, name, path)
            elif kinds == {int} or (kinds == {float} and nested):
                value = np.array(items if kinds == {int} else value)
        except (OverflowError, ValueError):  # lists of different lengths are not vectors
            return None
    if not isinstance(value, np.ndarray):
        return None
    return Member(name, value.shape, dtype_name(value.dtype), 0, lambda: value)


def _member(name: str, tensor: Any, path: Path) -> Member:
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
    shape = tuple(tensor.shape)
    if not plain:
        where = tensor.layout if tensor.layout != torch.strided else tensor.device.type
        return Member(name, shape, f"{where} {dtype}", 0, lambda: np.empty(0))
    size = tensor.numel() * tensor.element_size()
    stored = tensor.untyped_storage().nbytes()  # an expanded tensor repeats a small storage
    half = dtype == "bfloat16"

    def load() -> Any:
        with reading(path, f"tensor '{name}' of {dtype} cannot be read", fix=_SAVE):
            detached = tensor.detach().resolve_neg().resolve_conj()
            return (detached.float() if half else detached).numpy()

    return Member(name, shape, dtype, size * 2 if half else size if size > stored else 0, load)
