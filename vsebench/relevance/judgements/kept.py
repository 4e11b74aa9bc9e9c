"""Judgements of one's own that are kept with a split, in the cache: every evaluation on the split knows them."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import signature
from ...data.atomic import write_atomically
from ...data.cache import cache_dir, file_stem
from ...errors import BadInput, UsageError
from ...options import spell
from ...types import DIRECTIONS, Split
from .declare import Judgements, Placed
from .own import Own, check_level, judgements

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
FORMAT = 1
FOLDER = "judgements"  # of the cache, with a folder a split


def check_name(name: str, taken: Sequence[str]) -> None:
    """Refuse a name that a metric cannot have in front, or that stands for something else; raises UsageError."""
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name[:60]}' cannot name judgements", fix="use lower-case letters, digits, - and _")
    if name in taken:
        raise UsageError(f"'{name}' names something else already", fix="give the judgements another name")


def kept_names(split: str) -> list[str]:
    """The sets of judgements that are kept for a split, sorted."""
    try:
        found = sorted((cache_dir() / FOLDER / file_stem(split)).iterdir())
    except OSError:
        return []
    return [path.stem for path in found if path.suffix == ".npz" and NAME.fullmatch(path.stem)]


def every_kept_name() -> set[str]:
    """The names of all sets that are kept, of any split."""
    return {path.stem for path in (cache_dir() / FOLDER).glob("*/*.npz") if NAME.fullmatch(path.stem)}


def keep(name: str, own: Own, level: float, split: Split, where: str, *, force: bool = False) -> Path:
    """Write judgements of a split to the cache, from where every evaluation on that split reads them.

    Raises:
        UsageError: judgements of this name are kept, and ``force`` is not set.
        BadInput: as ``check_level``.
        DiskError: the cache cannot be written.
    """
    path = _path(split.name, name)
    if path.exists() and not force:
        fix = f"add {spell('force', True)}, or give another name"
        raise UsageError(f"judgements '{name}' of split '{split.name}' are kept already", where=path, fix=fix)
    check_level(name, own, level, where)
    arrays: dict[str, Any] = {f"{d}_{key}": x for d, one in own.placed.items() for key, x in one._asdict().items()}
    with write_atomically(path, parents=True) as stream:
        np.savez_compressed(
            stream, format=FORMAT, level=level, split=signature.fingerprint(split), where=where,
            notes=np.array(own.notes, np.str_), **arrays,
        )  # fmt: skip
    return path


def kept(name: str, split: Split) -> Judgements:
    """Judgements that ``keep`` wrote.

    Raises:
        BadInput: the file is damaged, or is of another split with this name.
    """
    path = _path(split.name, name)
    again = f"vsebench data judgements {split.name} {name}"
    fix = f"keep them again ({again} --from FILE --force), or remove them ({again} --remove)"
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if int(file["format"]) != FORMAT:
                raise BadInput(f"written in format {int(file['format'])}, not {FORMAT}", where=path, fix=fix)
            placed = {d: Placed(*(file[f"{d}_{key}"] for key in Placed._fields)) for d in DIRECTIONS}
            level, of, where = float(file["level"]), str(file["split"]), str(file["where"])
            notes = tuple(map(str, file["notes"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput("the kept judgements are damaged", where=path, fix=fix) from error
    if of != signature.fingerprint(split):
        raise BadInput(f"the judgements are of other items than those of '{split.name}' here", where=path, fix=fix)
    return replace(judgements(name, Own(placed, notes), level, where), splits=(split.name,))


def readable(name: str, split: Split) -> Judgements:
    """As ``kept``; a damaged file is an error only where the judgements are used."""
    try:
        return kept(name, split)
    except BadInput as damaged:
        error = damaged

    def refuse(*_: object) -> Any:
        raise error

    return Judgements(
        name=name, title=name, heading=name, meaning="", rule="", judged_by=error.what, cite="", reference="",
        load=refuse, identity=lambda split: None, grades=refuse,
    )  # fmt: skip


def forget(name: str, split: str) -> Path:
    """Remove judgements that are kept, and return their file; raises UsageError when there are none."""
    path = _path(split, name)
    if not path.exists():
        known = ", ".join(kept_names(split)) or "none"
        raise UsageError(f"no judgements '{name}' are kept for split '{split}'", fix=f"kept are: {known}")
    path.unlink()
    return path


def _path(split: str, name: str) -> Path:
    if not NAME.fullmatch(name) or Path(split).name != split:
        raise UsageError(f"'{name[:60]}' cannot name judgements", fix="use lower-case letters, digits, - and _")
    return cache_dir() / FOLDER / file_stem(split) / f"{name}.npz"
