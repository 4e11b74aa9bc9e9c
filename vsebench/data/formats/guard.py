"""Limits on memory, and exceptions of format libraries turned into errors that name the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadInput, VsebenchError
from ...memory import RATIO, free_memory, size
from .raw import Member

BOMB_BYTES = 256 * 2**20  # smaller arrays are never taken for a zip bomb


@contextmanager
def reading(
    where: Path, what: str, *errors: type[BaseException], fix: str = "write or download the file again"
) -> Iterator[None]:
    """Turn MemoryError, and ``errors`` of a library, which mean ``what``, into a BadInput that names the file."""
    try:
        yield
    except VsebenchError:
        raise
    except MemoryError:
        raise BadInput(
            "does not fit into memory", where=where, fix="save float32 or float16 .npy files, which are memory-mapped"
        ) from None
    except errors as error:
        lines = str(error).strip().splitlines()
        detail = f" ({lines[0][:200]})" if lines else ""
        raise BadInput(f"{what}{detail}", where=where, fix=fix) from error


def check_size(members: Iterable[Member], where: Path, limit: int | None = None) -> None:
    """Refuse arrays that do not fit into memory, or that decompress to far more than they take in the file.

    Raises:
        BadInput: together they need more than ``limit`` bytes (default: ``free_memory()``), or one of more
            than 256 MiB takes less than 1/200 of that in the file.
    """
    total = 0
    for member in members:
        total += member.nbytes
        if member.nbytes > BOMB_BYTES and member.nbytes > RATIO * max(member.stored, 1):
            raise BadInput(
                f"array '{member.name}' takes {member.stored:,} bytes in the file and would expand to"
                f" {member.nbytes:,} bytes; this looks like a zip bomb",
                where=where,
                fix="save the array again from its origin, uncompressed",
            )
    limit = free_memory() if limit is None else limit
    if total > limit:
        what = f"the arrays need {size(total)} of memory, and {size(limit)} are free"
        raise BadInput(what, where=where, fix="save float32 or float16 .npy files, which are memory-mapped")
