"""Tasks of graded relevance of all pairs; rows of gains are computed and not kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from vsebench.types import DIRECTIONS, Direction

from .inputs import Array, Inputs
from .task import F, Outcome, Task, Work

ROWS, BYTES = 512, 10 << 20  # of a block
DEPTH = 100


def all_rows(
    rows: Callable[[Direction, int, int], Array], given: Inputs, direction: Direction, use: Callable[[Array], Any] = len
) -> None:
    """Call ``use`` on all gains of one direction, in blocks of rows on all threads."""
    from vsebench.numeric.parallel import default_threads, spread

    n, gallery = (len(side) for side in given.sides(direction))
    height = max(1, min(ROWS, BYTES // (4 * gallery)))

    def work(start: int, stop: int, _part: int) -> None:
        for first in range(start, stop, height):
            use(rows(direction, first, min(first + height, stop)))

    spread(work, n, default_threads())


def _load(given: Inputs, view: str = "cider") -> Any:
    from vsebench.relevance import load_gains

    return load_gains(view, given.captions)


def tokens(given: Inputs) -> Work:
    """Penn Treebank tokens."""
    from vsebench.text.tokenise import tokenise

    texts = given.captions.captions or ()
    return lambda: tokenise(texts, "ptb")


def features(given: Inputs) -> Work:
    """Features of CIDEr-D from caption strings."""
    given.captions  # noqa: B018 (in memory before the time is measured)
    return lambda: _load(given)


def rows(given: Inputs, view: str, direction: Direction) -> Work:
    """All rows of gains that are loaded."""
    gains = _load(given, view)
    gains.rows(direction, 0, 1)
    return lambda: all_rows(gains.rows, given, direction)


def from_captions(given: Inputs, direction: Direction) -> Work:
    """All rows of CIDEr-D from caption strings; the row of the middle query is a value."""
    from vsebench.relevance import load_gains

    load_gains("cider", Inputs(4).captions).rows("t2i", 0, 1)  # kernels are loaded before the memory is measured
    split, middle = given.captions, len(given.sides(direction)[0]) // 2

    def work() -> Outcome:
        gains = load_gains("cider", split)
        all_rows(gains.rows, given, direction)
        return Outcome({f"CIDEr-D of {middle} {direction}": gains.rows(direction, middle, middle + 1)[0]})

    return work


def ideal(given: Inputs) -> Work:
    """The largest gains of every query, rows of CIDEr-D in memory."""
    from vsebench.rank.order import largest

    values = _load(given).rows("i2t", 0, given.images)
    both = {"i2t": values, "t2i": np.ascontiguousarray(values.T)}

    def work() -> None:
        for direction in DIRECTIONS:
            all_rows(lambda d, a, b: both[d][a:b], given, direction, lambda block: largest(block, DEPTH))

    return work


CIDER, SPICE = partial(rows, view="cider"), partial(rows, view="spice")
TASKS = (
    Task("tokens", "Penn Treebank tokens", tokens),
    Task("features", "CIDEr-D: captions to features", features),
    Task("rows t2i", "CIDEr-D: all rows t2i, from features", partial(CIDER, direction="t2i")),
    Task("rows i2t", "CIDEr-D: all rows i2t, from features", partial(CIDER, direction="i2t")),
    *(
        Task(f"captions {d}", f"CIDEr-D: all rows {d}, from captions", partial(from_captions, direction=d), F,
             "<= 1.3 F, <= 200 MiB")
        for d in ("t2i", "i2t")
    ),
    Task("ideal", f"ideal top-{DEPTH} of both directions, rows in memory", ideal, F, "<= 1 F"),
    *(
        Task(f"spice {d}", f"SPICE: all rows {d}, from stored graphs", partial(SPICE, direction=d), F, "<= 0.25 F")
        for d in ("t2i", "i2t")
    ),
)  # fmt: skip
