"""Downloading one large file: resumed after an interruption, with progress, renamed when complete."""

from __future__ import annotations

import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ....errors import DiskError, MissingPackage

STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
ATTEMPTS = 5  # connections without progress before it fails
EVERY = 10.0  # seconds between lines of progress


def download(address: str, path: Path, note: Callable[[str], None], pause: float = 1.0) -> None:
    """Download a file over HTTP. A partial file is kept next to ``path`` and continued by the next call.

    Args:
        address: the URL.
        path: the file, which exists once it is complete.
        note: called with a line of progress every ten seconds.
        pause: seconds before the second attempt, doubled for every further one.

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
            if error.code == 416 and before:  # the partial file is complete, or of another file
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


def check_free_space(folder: Path, size: int) -> None:
    """Check the free space of a folder.

    Raises:
        DiskError: less than ``size`` bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        what = f"{free / 1e9:.1f} GB are free, {size / 1e9:.1f} GB are needed"
        raise DiskError(what, where=folder, fix="free some space, or set VSEBENCH_CACHE to a folder on another disk")


def _continue(address: str, part: Path, start: int, note: Callable[[str], None]) -> bool:
    """Append the rest of the file to ``part``; returns whether it is complete."""
    request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        resumed = answer.status == 206
        start = start if resumed else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        name, started, noted = part.name.removesuffix(".part"), time.monotonic(), 0.0
        done = start
        with part.open("ab" if resumed else "wb") as stream:
            while block := answer.read(1 << 18):
                stream.write(block)
                done += len(block)
                if time.monotonic() - noted >= EVERY:
                    noted = time.monotonic()
                    note(_line(name, done, total, (done - start) / max(noted - started, 1e-3)))
            stream.flush()
            os.fsync(stream.fileno())
    return total is None or done >= total


def _line(name: str, done: int, total: int | None, rate: float) -> str:
    if total is None:
        return f"fetching {name}: {done / 1e6:.0f} MB"
    left = (total - done) / max(rate, 1.0)
    return f"fetching {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB, {left / 60:.0f} min left"
