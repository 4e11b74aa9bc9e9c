"""The work in shards.

A shard of the scan is a block of images and captions (``rank.count.Block``), a shard of lists a range of queries, and a
shard of graded metrics a range of queries of rankings that share their gains (``graded.engine.part``). Shards
depend on the sizes of the input alone, so that a run can be continued on other machines.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DiskError
from ..files import store
from ..files.atomic import locked, make_folder, write_atomically
from ..files.regular import cache_dir
from ..graded.engine import checked
from ..graded.rankings import Together, together
from ..options import spell
from ..rank.count import Block
from ..rank.scorers import Range
from ..rank.ties import EXPECTED
from ..types import Side, sides_of
from .inputs import Input
from .plan import Plan

SCORES = 1 << 24  # scores of a shard at least; COCO 5K has 8 a pass
MOST = {"scan": 256, "lists": 4096, "graded": 4096}  # shards; what a scan returns grows with their square root


class Shard(NamedTuple):
    """A piece of the work.

    Attributes:
        kind: ``scan``, of a block of queries and items, or ``lists`` and ``graded``, of a range of queries.
        side: of the queries; 0 for a scan that serves both.
        number: of the rankings of the side that share their gains; 0 for others.
        rows: the queries.
        columns: the items of a scan; of other shards all candidates.
    """

    kind: Literal["scan", "lists", "graded"]
    side: Side
    number: int
    rows: Range
    columns: Range

    @property
    def name(self) -> str:
        """Of its file."""
        return "-".join(map(str, (self.kind, self.side, self.number, *self.rows, *self.columns)))

    @property
    def block(self) -> Block:
        """The queries and items of a scan."""
        return Block(self.rows, self.columns)

    @property
    def scores(self) -> int:
        """How many scores it has."""
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])


def shards_of(plan: Plan, data: Input) -> list[Shard]:
    """The shards of an evaluation."""
    found: list[Shard] = []
    images, captions = (0, len(plan.split.image_ids)), (0, len(plan.split.caption_ids))
    blocks = Block(images, captions), Block(captions, images)
    assert data.system is not None
    scanned = (0,) if data.system.own is None else sides_of(plan.directions)
    for side in scanned if any(plan.targets) else ():
        found += _shards(Shard("scan", side, 0, *blocks[side]))
    for side in sides_of(plan.directions) if plan.depth else ():
        found += _shards(Shard("lists", side, 0, *blocks[side]))
    for side, rankings in rankings_of(plan).items():
        for number, shared in enumerate(rankings):
            queries, gallery = (0, len(shared[0].queries)), (0, len(shared[0].gallery))
            found += _shards(Shard("graded", side, number, queries, gallery))
    return found


def rankings_of(plan: Plan) -> dict[Side, list[Together]]:
    """The rankings of graded metrics that share their gains, by side, always in the same order."""
    if not plan.graded:
        return {}
    expected, influence = plan.request.ties == EXPECTED, plan.request.resampling is not None
    return {
        side: together(checked(plan.split, plan.graded, plan.gains, [side], expected, influence))
        for side in sides_of(plan.directions)
    }


def _shards(whole: Shard) -> list[Shard]:
    """All of a pass in shards; blocks of a scan are near-squares, where fewest counts are repeated."""
    parts = max(1, min(MOST[whole.kind], -(-whole.scores // SCORES)))
    if whole.kind != "scan":
        return [whole._replace(rows=rows) for rows in _cut(whole.rows, parts)]
    n = whole.rows[1] - whole.rows[0]
    height = min(n, parts, max(1, round(n / math.sqrt(max(1, whole.scores) / parts))))
    sides = _cut(whole.rows, height), _cut(whole.columns, -(-parts // height))
    return [whole._replace(rows=rows, columns=columns) for rows, columns in itertools.product(*sides)]


def _cut(whole: Range, parts: int) -> list[Range]:
    first, n = whole[0], whole[1] - whole[0]
    parts = max(1, min(n, parts))
    return [(first + n * i // parts, first + n * (i + 1) // parts) for i in range(parts)]


Arrays = dict[str, npt.NDArray[Any]]
KEPT = 30  # days that the shards of a run are kept which was ended and is not continued


@contextlib.contextmanager
def opened(key: str, resume: bool) -> Iterator[Path]:
    """The folder of an evaluation, in the user's cache; removed when the block ends without an error.

    Folders of other evaluations that have not changed for ``KEPT`` days are removed.

    Args:
        key: of the evaluation, hexadecimal digits.
        resume: keep the shards that are there already, of a run that was ended; otherwise they are removed first.

    Raises:
        DiskError: the cache cannot be written, or another process has the same evaluation in work.
    """
    folder = cache_dir() / "shards" / key[:32]
    make_folder(folder.parent)
    with locked(folder.with_suffix(".lock"), "the same evaluation is in work"):
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        for other in folder.parent.iterdir():
            with contextlib.suppress(OSError):  # another process has removed it
                if other != folder and time.time() - other.stat().st_mtime > KEPT * 86_400:
                    shutil.rmtree(other, ignore_errors=True)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, shard: Shard, arrays: Arrays) -> None:
    """Write the arrays of a shard.

    Raises:
        DiskError: the cache cannot be written, or no space is left.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    with write_atomically(folder / f"{shard.name}.npz", parents=True) as stream:
        store.write_sealed(stream, buffer.getvalue())


def is_finished(folder: Path, shard: Shard) -> bool:
    """Whether there is the file of a shard, as it was written."""
    return store.read_sealed(folder / f"{shard.name}.npz") is not None


def read(folder: Path, shard: Shard) -> Arrays:
    """The arrays of a shard that is finished.

    Raises:
        DiskError: its file has been changed or removed since.
    """
    path = folder / f"{shard.name}.npz"
    content = store.read_sealed(path)
    if content is None:
        fix = f"leave the cache alone while an evaluation runs; {spell('resume', True)} continues with the other shards"
        raise DiskError("was changed or removed before it was read back", where=path, fix=fix)
    with np.load(content, allow_pickle=False) as arrays:
        return dict(arrays)
