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
from ..files.atomic import write_atomically
from ..files.cache import cache_dir
from ..files.lock import locked
from ..options import spell

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
    with contextlib.ExitStack() as stack:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder.with_suffix(".lock"), "the same evaluation is in work"))
            if not resume:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            _remove_old(folder)
        except OSError as error:
            fix = "set VSEBENCH_CACHE to a folder with write permission and free space"
            raise DiskError(f"cannot be written: {error.strerror or error}", where=folder, fix=fix) from error
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def _remove_old(own: Path) -> None:
    """Remove folders of other evaluations that were ended and not continued within ``KEPT`` days."""
    for folder in own.parent.iterdir():
        with contextlib.suppress(OSError, DiskError):  # in work, removed by another process, or of another user
            if folder != own and folder.is_dir() and time.time() - folder.stat().st_mtime > KEPT * 86_400:
                with locked(folder.with_suffix(".lock"), "the evaluation is in work"):
                    shutil.rmtree(folder, ignore_errors=True)


def write(path: Path, arrays: Arrays) -> None:
    """Write the arrays of a shard.

    Raises:
        DiskError: no space is left.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    with write_atomically(path) as stream:
        store.write_sealed(stream, buffer.getvalue(), _name(path))


def _name(path: Path) -> str:
    """Of a shard and its evaluation: the file of another one is not read."""
    return f"{path.parent.name}/{path.name}\n"


def read(path: Path) -> Arrays | None:
    """The arrays of a shard; None where it is not finished or its file is not as it was written."""
    content = store.read_sealed(path, _name(path))
    if content is None:
        return None
    with np.load(content, allow_pickle=False) as arrays:
        return dict(arrays)


def read_again(path: Path) -> Arrays:
    """The arrays of a shard that was finished a moment ago.

    Raises:
        DiskError: its file has been changed or removed since.
    """
    arrays = read(path)
    if arrays is None:
        fix = f"leave the cache alone while an evaluation runs; {spell('resume', True)} continues with the other shards"
        raise DiskError("was changed or removed before it was read back", where=path, fix=fix)
    return arrays
