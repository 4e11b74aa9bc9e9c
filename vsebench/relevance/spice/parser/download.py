"""Downloading one large file: with progress, renamed when complete."""

from __future__ import annotations

import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ....data.atomic import write_atomically
from ....errors import DiskError, MissingPackage

STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
ATTEMPTS = 5  # connections before it fails
EVERY = 10.0  # seconds between lines of progress


def download(address: str, path: Path, note: Callable[[str], None], pause: float = 1.0) -> None:
    """Download a file over HTTP; a connection that ends early is tried again from the beginning.

    Args:
        address: the URL.
        path: the file, which exists once it is complete.
        note: called with a line of progress every ten seconds.
        pause: seconds before the second attempt, doubled for every further one.

    Raises:
        MissingPackage: the server cannot be reached or has no such file.
        DiskError: no space is left.
    """
    why = "no answer"
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause * 2.0**attempt)
        try:
            with urllib.request.urlopen(address, timeout=60) as answer, write_atomically(path) as stream:
                done, total, noted = 0, int(answer.headers.get("Content-Length") or 0), time.monotonic()
                while block := answer.read(1 << 18):
                    stream.write(block)
                    done += len(block)
                    if time.monotonic() - noted >= EVERY:
                        noted = time.monotonic()
                        note(f"fetching {path.name}: {done / 1e6:.0f}{f' of {total / 1e6:.0f}' if total else ''} MB")
                if done < total:
                    raise http.client.HTTPException("the connection ended early")
            return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise MissingPackage(f"{address} answers {error.code} {error.reason}") from error
            why = f"the server answers {error.code}"
        except (OSError, http.client.HTTPException) as error:
            why = str(getattr(error, "reason", error)) or type(error).__name__
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
