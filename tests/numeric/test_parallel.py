"""Work in threads that starts work in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import product

import pytest

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
