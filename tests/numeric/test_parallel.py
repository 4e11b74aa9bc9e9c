"""Work in threads that starts work in threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import threadpoolctl

from vsebench.numeric import parallel
from vsebench.numeric.parallel import each, in_turn, spread

TIMES = 8  # pieces, more than there are threads
SECONDS = 60.0  # far more than the work takes


def by_spread(work: Callable[[], None]) -> None:
    spread(lambda start, stop, _: [work() for _ in range(start, stop)] and None, TIMES, 2)


def by_each(work: Callable[[], None]) -> None:
    each(lambda _: work(), range(TIMES))


def by_turns(work: Callable[[], None]) -> None:
    in_turn(range(TIMES), lambda _: lambda _: work(), 2, None)


@pytest.mark.parametrize("ways", list(product([by_spread, by_each, by_turns], repeat=3)))
def test_threads_never_wait(ways: tuple[Callable[..., None], ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three levels of work in threads end, and every piece is done once."""
    monkeypatch.setenv("VSEBENCH_NUM_THREADS", "2")
    lock, done = threading.Lock(), []

    def piece() -> None:
        with lock:
            done.append(1)

    outer, middle, inner = ways
    thread = threading.Thread(target=lambda: outer(lambda: middle(lambda: inner(piece))), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive() and len(done) == TIMES**3


def test_an_unknown_blas_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    library: dict[str, Any] = {"internal_api": "mkl", "filepath": "/libmkl.so"}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [library])
    monkeypatch.delenv(parallel.VARIABLE, raising=False)
    with parallel.kernels_of_numpy():
        assert parallel.VARIABLE not in os.environ


def test_a_new_processor_is_named_by_kernels_that_old_versions_know(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    path = os.path.realpath(np.__file__).replace("__init__.py", "libopenblas.so")
    library = {"internal_api": "openblas", "filepath": path, "architecture": "SapphireRapids"}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [library])
    assert parallel.numpy_kernels() == "SkylakeX"
