"""The folder in which vsebench stores what it has built."""

from __future__ import annotations

import os
from pathlib import Path

from .regular import expanded

CACHE_VARIABLE = "VSEBENCH_CACHE"


def file_stem(split: str) -> str:
    """The name of a split as that of a file: the ``:`` before a language is none that Windows allows."""
    return split.replace(":", "+")


def split_of(stem: str) -> str:
    """The split of ``file_stem``."""
    return stem.replace("+", ":")


def cache_dir() -> Path:
    """The folder named by the environment variable ``VSEBENCH_CACHE``, else the user's cache folder.

    The folder is not made here, but when something is written into it.
    """
    named = os.environ.get(CACHE_VARIABLE, "").strip()
    if named:
        return expanded(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("vsebench"))
