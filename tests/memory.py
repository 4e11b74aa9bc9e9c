"""How much memory a call works with."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak(call: Callable[[], object]) -> float:
    """MiB that Python and numpy held at most during a call, beyond what they held before it."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
