"""The folder of the finished shards of an evaluation: one file a shard, complete or not there at all."""

from __future__ import annotations

import contextlib
import io
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DiskError
from ..files import store
from ..files.atomic import make_folder, write_atomically
from ..files.cache import cache_dir
from ..files.lock import locked
from ..options import spell
from .cuts import Shard

Arrays = dict[str, npt.NDArray[Any]]
KEPT = 30  # days that the shards of a run are kept which was ended and is not continued


@contextlib.contextmanager
def opened(key: str, resume: bool) -> Iterator[Path]:
    """The folder of an evaluation, in the user's cache; removed when the block ends without an error.

    Folders of other evaluations that have not changed for ``KEPT`` days are removed.

    Args:
        key: of the evaluation, hexadecimal digits.
        resume: keep the shards that are there already, of a run that was ended; otherwise they are removed first.

    Raises:
        DiskError: the cache cannot be written, or another process has the same evaluation in work.
    """
    folder = cache_dir() / "shards" / key[:32]
    make_folder(folder.parent)
    with locked(folder.with_suffix(".lock"), "the same evaluation is in work"):
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        for other in folder.parent.iterdir():
            with contextlib.suppress(OSError):  # another process has removed it
                if other != folder and time.time() - other.stat().st_mtime > KEPT * 86_400:
                    shutil.rmtree(other, ignore_errors=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, shard: Shard, arrays: Arrays) -> None:
    """Write the arrays of a shard.

    Raises:
        DiskError: the cache cannot be written, or no space is left.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    with write_atomically(folder / f"{shard.name}.npz", parents=True) as stream:
        store.write_sealed(stream, buffer.getvalue())


def is_finished(folder: Path, shard: Shard) -> bool:
    """Whether there is the file of a shard, as it was written."""
    return store.read_sealed(folder / f"{shard.name}.npz") is not None


def read(folder: Path, shard: Shard) -> Arrays:
    """The arrays of a shard that is finished.

    Raises:
        DiskError: its file has been changed or removed since.
    """
    path = folder / f"{shard.name}.npz"
    content = store.read_sealed(path)
    if content is None:
        fix = f"leave the cache alone while an evaluation runs; {spell('resume', True)} continues with the other shards"
        raise DiskError("was changed or removed before it was read back", where=path, fix=fix)
    with np.load(content, allow_pickle=False) as arrays:
        return dict(arrays)
