"""What is checked before a command begins: the environment that other packages would end the process over."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

from ..environment import THREADS
from ..errors import DiskError, UsageError, VsebenchError

# numba, the BLAS of numpy and that of scipy reserve memory when they are loaded, and end the process without it.
_LOADED = "import vsebench.cli, numpy, scipy.linalg, scipy.special, pandas, numba; a = numpy.ones((256, 256)); a @ a"

PATIENCE = 40  # seconds in which another process must have loaded them
ENOUGH = 8 << 30  # bytes of address space from which on it is not tried whether they load


class ClosedStdout(io.StringIO):
    """What is printed when the process was started without stdout (``>&-``, a service)."""

    needed = True  # whether the result is nowhere else

    def check(self) -> None:
        """Raise DiskError where a result was printed and is in no file."""
        if self.needed and self.getvalue():
            raise DiskError(
                "the result was not printed: stdout is closed",
                fix="send it to a file (> FILE), or name one with --output",
            )


def check_environment() -> None:
    """Refuse an environment in which numpy or numba cannot be loaded.

    Where the memory of the process is limited to less than ``ENOUGH``, another process tries it first: every command
    then starts Python and loads these packages twice, which takes one or two seconds more.

    Raises:
        UsageError: a number of threads that is none.
        VsebenchError: the memory of the process is limited to less than these packages take.
    """
    for name in THREADS:
        given = os.environ.get(name)
        # OMP_NUM_THREADS may be a list, one number a level of nested parallelism.
        words = [] if given is None else given.split(",") if name == "OMP_NUM_THREADS" else [given]
        if not all(word.strip().isdecimal() and len(word) < 7 and int(word) > 0 for word in words):
            fix = f"set it to an integer of 1 or more, or remove it: unset {name}"
            raise UsageError(f"the environment variable {name} is '{(given or '')[:40]}'", fix=fix)
    limit = _limit()
    if limit is not None and limit < ENOUGH and not _can_load():
        what = f"this process may have {limit >> 20:,} MiB of memory (ulimit -v), too little for numpy and numba"
        fix = "raise the limit (ulimit -v unlimited), or use fewer threads (OPENBLAS_NUM_THREADS=1)"
        raise VsebenchError(what, fix=fix)


def _limit() -> int | None:
    """Bytes of address space that this process may have; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _can_load() -> bool:
    """Whether another process can load the packages: without memory they end it, and no error can be caught."""
    quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    try:
        loaded = subprocess.run([sys.executable, "-c", _LOADED], check=False, timeout=PATIENCE, **quiet)
    except (OSError, subprocess.TimeoutExpired):  # a BLAS that gets no memory for its threads may wait for ever
        return False
    return loaded.returncode == 0
