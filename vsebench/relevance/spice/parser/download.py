"""Fetching one large file: it goes on where it stopped, shows how far it is, and appears only when complete."""

from __future__ import annotations

import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ....errors import MissingPackage, UsageError

STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
ATTEMPTS = 5  # connections that end early before giving up
EVERY = 10.0  # seconds between lines of progress


def download(address: str, path: Path, note: Callable[[str], None], pause: float = 1.0) -> None:
    """Fetch a file over HTTP; what has arrived stays beside ``path`` and is gone on with next time.

    Args:
        address: where it is.
        path: where it goes; it appears when it is complete.
        note: told how far it is, every ten seconds.
        pause: seconds before the second attempt; later ones wait twice as long each.

    Raises:
        MissingPackage: the server cannot be reached or has no such file.
    """
    part = path.with_name(path.name + ".part")
    failures, why = 0, "no answer"
    while failures < ATTEMPTS:
        before = part.stat().st_size if part.exists() else 0
        try:
            if _continue(address, part, before, note):
                part.replace(path)
                return
            why = "the connection ended early"
        except urllib.error.HTTPError as error:
            if error.code == 416 and before:  # nothing behind what is here: all of it, or of another file
                if error.headers.get("Content-Range", "").rpartition("/")[2] == str(before):
                    part.replace(path)
                    return
                part.unlink()
            elif error.code < 500:
                raise MissingPackage(f"{address} answers {error.code} {error.reason}") from error
            why = f"the server answers {error.code}"
        except (OSError, http.client.HTTPException) as error:
            why = str(getattr(error, "reason", error)) or type(error).__name__
        grown = part.exists() and part.stat().st_size > before
        failures = 0 if grown else failures + 1
        if 0 < failures < ATTEMPTS:
            time.sleep(pause * 2.0**failures)
    raise MissingPackage(f"{address} cannot be fetched: {why}")


def room_for(folder: Path, size: int) -> None:
    """Refuse a folder on a disk with less than ``size`` bytes free.

    Raises:
        UsageError: naming both.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        raise UsageError(
            f"{free / 1e9:.1f} GB are free, {size / 1e9:.1f} GB are needed",
            where=folder,
            fix="free some space, or set VSEBENCH_CACHE to a folder on another disk",
        )


def _continue(address: str, part: Path, start: int, note: Callable[[str], None]) -> bool:
    """Append what is missing to ``part``; whether it is complete now."""
    request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        resumed = answer.status == 206
        start = start if resumed else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        name, begun, said = part.name.removesuffix(".part"), time.monotonic(), 0.0
        done = start
        with part.open("ab" if resumed else "wb") as stream:
            while block := answer.read(1 << 18):
                stream.write(block)
                done += len(block)
                if time.monotonic() - said >= EVERY:
                    said = time.monotonic()
                    note(_line(name, done, total, (done - start) / max(said - begun, 1e-3)))
            stream.flush()
            os.fsync(stream.fileno())
    return total is None or done >= total


def _line(name: str, done: int, total: int | None, rate: float) -> str:
    if total is None:
        return f"fetching {name}: {done / 1e6:.0f} MB"
    left = (total - done) / max(rate, 1.0)
    return f"fetching {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB, {left / 60:.0f} min left"
