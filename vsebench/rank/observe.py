"""What an evaluation reads of scores: ranks of the relevant items (``count``), and tops of rankings (``order``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from ..numeric.parallel import Progress, default_threads
from ..types import DIRECTIONS, Direction, Observation, Ranks, Tops
from .count import Key, Scan, Targets, count, scan_tiles, tiles
from .order import REFERENCE, Lists, Order, top_lists
from .scorers import Dot, Scorer

Depths = Mapping[Direction, int]


def observe(
    scorer: Scorer,
    targets: Sequence[Targets],
    *,
    ties: str = "index",
    depth: Depths | None = None,
    threads: int | None = None,
    tile_shape: tuple[int, int] | None = None,
    progress: Progress | None = None,
    scan: Scan | None = None,
    order: Order | None = None,
) -> dict[Direction, Observation]:
    """Rank every relevant pair, and list the top of every query.

    Args:
        scorer, targets, ties, threads, tile_shape, progress, scan: as for ``count``.
        depth: per direction, how many items to list for every query; clipped to the gallery. Lists are always in
            canonical order.
        order: of another back-end.

    Returns:
        One observation per direction of the targets and of ``depth``.

    Raises:
        UsageError, BadInput: as ``count`` and ``order.top_lists``.
    """
    threads = threads or default_threads()
    passed: dict[Direction, Lists] = {}
    if isinstance(scorer, Dot) and targets and scan in (None, scan_tiles) and order is None:
        # lists from the tiles that are counted
        size = dict(zip(DIRECTIONS, tile_shape or tiles(scorer.shape, 4, threads), strict=True))
        passed = {d: Lists(scorer, d, k, size[d]) for d, k in (depth or {}).items() if Lists.fit(scorer, d, k)}
        scan = functools.partial(scan_tiles, lists=passed.values())
    ranks = count(
        scorer, targets, ties=ties, threads=threads, tile_shape=tile_shape, progress=progress, scan=scan,
        dense=order or REFERENCE,
    )  # fmt: skip
    lists = {d: one.finish(threads) for d, one in passed.items() if one.complete}
    for d, k in (depth or {}).items():
        if d not in lists:
            lists[d] = top_lists(scorer, d, k, threads=threads, by=order, progress=None if targets else progress)
    return observations(ranks, lists)


def observations(ranks: Mapping[Key, Ranks], lists: Mapping[Direction, Tops]) -> dict[Direction, Observation]:
    """Ranks and lists by direction."""
    asked = {*lists, *(direction for _, direction in ranks)}
    return {
        d: Observation(d, {view: r for (view, side), r in ranks.items() if side == d}, lists.get(d))
        for d in DIRECTIONS
        if d in asked
    }
