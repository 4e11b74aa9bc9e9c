"""``njit`` of numba whose cache of machine code can fail without failing the command.

numba ends with an error when no cache folder can be written, when the disk is full, or when a file of the cache is
damaged. Here the function is compiled again instead. The folder is numba's choice (``NUMBA_CACHE_DIR``, the folder of
the source, the user's cache) where that can be written, else one in the folder for temporary files that only this user
can use: what is in it is executed. ``notes`` says what did not work.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event

from . import compiling

VARIABLE = "NUMBA_CACHE_DIR"
FIX = f"set {VARIABLE} to a folder of yours"
INSTALLED = Path(__file__).resolve().parent.parent  # the folder of vsebench

_config: Any = numba.config
_notes: dict[str, None] = {}


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with these options and, where possible, a cache.

    No function has a wrapper for calls from C, and those whose name begins with an underscore can only be called by
    compiled ones: they have none for calls from Python either. The wrappers take a tenth of the time of compiling.
    """
    options.pop("cache", None)

    def decorate(function: Callable[..., Any]) -> Any:
        inner = function.__name__.startswith("_")
        wrappers = {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
        dispatcher = numba.njit(**{**options, **wrappers})(function)
        dispatcher._cache = _cache(function)
        return dispatcher

    return decorate


def notes() -> list[str]:
    """What did not work so far, one sentence each."""
    return list(_notes)


class _Listener(event.Listener):
    """Counts what numba compiles, which is nothing where all of it is in the cache."""

    def on_start(self, _event: Any) -> None:
        compiling.start()

    def on_end(self, _event: Any) -> None:
        compiling.end()


event.register("numba:compile", _Listener())


class TolerantCache(caching.FunctionCache):
    """A cache that is not used where it cannot be read or written."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, None when it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises anything
            index = _index(self)
            if isinstance(error, OSError):
                _notes[f"compiled code cannot be read ({error.strerror}) and is compiled again: {index}"] = None
            elif not _removed(index):
                _notes[f"compiled code is damaged and compiled again in every run; delete {index}"] = None
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, or a damaged index that cannot be removed
            # The index may name a file by now that could not be written, and that has the code of an older source.
            _removed(_index(self))
            _notes[
                f"compiled code is not kept, so that every run compiles again: {self.cache_path}:"
                f" {getattr(error, 'strerror', None) or error} ({FIX})"
            ] = None


def _cache(function: Callable[..., Any]) -> Any:
    try:
        cache = TolerantCache(function)
        wanted = os.environ.get(VARIABLE)
        if wanted and not Path(cache.cache_path).is_relative_to(wanted):
            _notes[f"{VARIABLE} is {wanted}, which cannot be written; compiled code is kept elsewhere ({FIX})"] = None
        return cache
    except (RuntimeError, OSError):  # no folder that numba knows of can be written
        pass
    before = _config.CACHE_DIR
    try:
        _config.CACHE_DIR = str(_private_folder())
        cache = TolerantCache(function)
        _notes[f"compiled code is kept in {_config.CACHE_DIR}, no other cache can be written ({FIX})"] = None
        return cache
    except (RuntimeError, OSError):
        what = "compiled code is not kept, so that every run compiles again: no folder can be written"
        _notes[f"{what} ({FIX})"] = None
        return caching.NullCache()
    finally:
        _config.CACHE_DIR = before


def _private_folder() -> Path:
    """A folder for temporary files that this user made and nobody else can write; raises OSError."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"vsebench-compiled-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if hasattr(os, "getuid") and (state.st_uid != user or state.st_mode & 0o077 or not folder.is_dir()):
        raise PermissionError(f"{folder} is not private")
    return folder


def _index(cache: Any) -> Path:
    """The file that lists what is compiled of a function."""
    return Path(cache._cache_path, f"{cache._impl.filename_base}.nbi")


def _removed(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def folder() -> Path | None:
    """Where compiled code is kept, None where it is not kept."""

    def probe() -> None:
        pass

    path = _cache(probe).cache_path
    return None if path is None else Path(path)


def damaged(where: Path) -> list[Path]:
    """The files of compiled code that cannot be read; ``where`` is from ``folder``, of any function of vsebench."""
    if where.name == "__pycache__":
        folders = [path.parent / "__pycache__" for path in INSTALLED.rglob("*kernels.py")]
    else:  # one folder for every folder of sources, beside each other
        folders = [path for path in where.parent.iterdir() if path.is_dir()]
    files = (path for one in dict.fromkeys(folders) for path in one.glob("*kernels.*.nb[ic]"))
    return [path for path in sorted(files) if not _readable(path)]


def _readable(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            first = pickle.load(stream)
            if path.suffix == ".nbi" and first == numba.__version__:  # a version is followed by its list
                pickle.load(stream)
    except (ImportError, AttributeError):  # whole, of an earlier source
        return True
    except Exception:  # a damaged pickle raises anything
        return False
    return True
