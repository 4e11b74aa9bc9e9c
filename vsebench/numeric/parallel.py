"""Threads: their number, work distributed over them, and a BLAS limited to one thread.

Work in a thread has the context variables of the thread that starts it.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

from ..errors import UsageError

MAX_THREADS = 1024
Item = TypeVar("Item")
Made = TypeVar("Made")
Progress = Callable[[int, int], None]
_IN_POOL = contextvars.ContextVar("in a thread of a pool that is kept", default=False)


def default_threads() -> int:
    """``VSEBENCH_NUM_THREADS``, else the cores this process may use.

    Raises:
        UsageError: the variable is not an integer from 1 to 1024.
    """
    given = os.environ.get("VSEBENCH_NUM_THREADS", "")
    if given:
        if not given.isdecimal() or len(given) > 6 or not 1 <= int(given) <= MAX_THREADS:
            fix = f"set it to an integer from 1 to {MAX_THREADS}"
            raise UsageError(f"VSEBENCH_NUM_THREADS is '{given[:40]}'", fix=fix)
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[int, int, int], None], n: int, threads: int) -> None:
    """Run ``work(start, stop, part)`` over ``range(n)`` cut into one contiguous part a thread.

    Inside work of this function or of ``each`` the calling thread does all parts: the threads of the pool may all be
    waiting for parts that would never begin.
    """
    threads = max(1, min(threads, n))
    edges = [n * t // threads for t in range(threads + 1)]
    if threads == 1 or _IN_POOL.get():
        for part in range(threads):
            work(edges[part], edges[part + 1], part)
        return
    pool = _pool(threads, os.getpid())
    for done in [submit(pool, _inside, work, edges[t], edges[t + 1], t) for t in range(threads)]:
        done.result()


@functools.lru_cache(maxsize=4)
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    # Kept between tiles; one a process, because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="vsebench")


def each(work: Callable[[Item], Made], items: Sequence[Item]) -> list[Made]:
    """``work`` of every item, in their order, computed in threads; for work that mostly releases the interpreter.

    Inside work of this function or of ``spread`` in the calling thread, see there.
    """
    threads = default_threads()
    if min(threads, len(items)) < 2 or _IN_POOL.get():
        return [work(i) for i in items]
    pool = _pool(threads, os.getpid())
    waiting = [submit(pool, _inside, work, i) for i in items]
    try:
        return [made.result() for made in waiting]
    finally:
        for made in waiting:  # where one has failed, those that have not begun
            made.cancel()


def _inside(work: Callable[..., Made], *arguments: Any) -> Made:
    _IN_POOL.set(True)  # in the copy of the context that this call has
    return work(*arguments)


def submit(pool: ThreadPoolExecutor, work: Callable[..., Made], *arguments: Any) -> Future[Made]:
    """Begin work in a thread of a pool, with a copy of the context for every call: one thread at a time enters it."""
    return pool.submit(contextvars.copy_context().run, work, *arguments)


def in_threads(work: Callable[[int], None], threads: int, stop: threading.Event) -> None:
    """Run ``work(part)`` in every thread, with a BLAS of one thread; ``stop`` is set when one fails or is interrupted.

    For work that takes its pieces from a queue and checks ``stop`` before every piece.
    """

    def guarded(part: int) -> None:
        try:
            work(part)
        except BaseException:
            stop.set()  # the other threads end after their current piece
            raise

    with one_blas_thread():
        if threads == 1:
            guarded(0)
            return
        with ThreadPoolExecutor(threads) as pool:
            try:
                for result in [submit(pool, guarded, part) for part in range(threads)]:
                    result.result()
            finally:
                stop.set()


def in_turn(
    items: Sequence[Item], worker: Callable[[int], Callable[[Item], None]], threads: int, progress: Progress | None
) -> None:
    """Work on every item once, in threads that take the next one whenever they have finished one (``in_threads``).

    Args:
        items: in the order in which they are begun.
        worker: called in every thread with its number from 0; gives what that thread calls with its items.
        threads: number of threads, at most one an item.
        progress: called with (items done, items in all), by one thread at a time.
    """
    waiting, lock, stop, done = iter(range(len(items))), threading.Lock(), threading.Event(), 0

    def take(part: int) -> None:
        nonlocal done
        work = worker(part)
        while not stop.is_set():
            with lock:
                i = next(waiting, None)
            if i is None:
                return
            work(items[i])
            with lock:
                done += 1
                if progress:
                    progress(done, len(items))

    if items:
        in_threads(take, min(threads, len(items)), stop)


def one_blas_thread() -> contextlib.AbstractContextManager[object]:
    """A context in which matrix products and decompositions of this process use the calling thread only."""
    import threadpoolctl

    return cast("contextlib.AbstractContextManager[object]", threadpoolctl.threadpool_limits(1, "blas"))


VARIABLE = "OPENBLAS_CORETYPE"
# Kernels that numpy's OpenBLAS may have chosen, and those to name: old versions know no later than SkylakeX.
KERNELS = {"Haswell": "Haswell", "Zen": "Zen"} | dict.fromkeys(("SkylakeX", "Cooperlake", "SapphireRapids"), "SkylakeX")


def numpy_kernels() -> str | None:
    """The kernels of numpy's OpenBLAS, by a name that old versions know too; None for another BLAS or processor."""
    import numpy as np
    import threadpoolctl

    beside = str(Path(np.__file__).resolve().parent)  # its libraries are in this folder or in numpy.libs
    for library in threadpoolctl.threadpool_info():
        if library["internal_api"] == "openblas" and str(Path(library["filepath"]).resolve()).startswith(beside):
            return KERNELS.get(library["architecture"])
    return None


@contextlib.contextmanager
def kernels_of_numpy() -> Iterator[None]:
    """An OpenBLAS that is loaded inside uses the kernels of numpy's, unless the user has named others."""
    kernels = None if VARIABLE in os.environ else numpy_kernels()
    if kernels is None:
        yield
        return
    os.environ[VARIABLE] = kernels
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
