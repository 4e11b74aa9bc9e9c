"""The work in shards: every score is in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.engines import N
from tests.evaluation.test_engine import job_of
from vsebench.evaluation import cuts


def test_shards_cover_every_score_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most, scores in ((128, 500), (4, 500), (128, 10**9), (7, 3)):
        monkeypatch.setattr(cuts, "MOST", {"scan": most, "graded": most})
        monkeypatch.setattr(cuts, "SCORES", scores)
        _, found = job_of(folder)
        assert len({s.name for s in found}) == len(found)
        for kind, direction, n, m in (
            ("scan", "i2t", N, 2 * N),
            ("graded", "i2t", N, 2 * N),
            ("graded", "t2i", 2 * N, N),
        ):
            own = [s for s in found if (s.kind, s.direction) == (kind, direction)]
            assert (scored([s.rows + s.columns for s in own], n, m) == 1).all()
            assert all(s.columns == (0, m) for s in own if kind == "graded")
            wanted = max(1, min(most, n, -(-n * m // scores)))
            assert wanted <= len(own) <= wanted + (len({s.rows for s in own}) if kind == "scan" else 0)


def scored(ranges: Sequence[tuple[int, ...]], n: int, m: int) -> Any:
    """(n, m) in how many of some ranges of rows and columns an entry is."""
    found = np.zeros((n, m), int)
    for r0, r1, c0, c1 in ranges:
        assert r0 < r1 and c0 < c1
        found[r0:r1, c0:c1] += 1
    return found


def test_blocks_of_a_large_scan_are_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "SCORES", 1 << 24)
    whole = cuts.Shard("scan", "i2t", 0, (0, 10_000_000), (0, 10_000_000))
    blocks = cuts._shards(whole)
    assert len(blocks) == cuts.MOST["scan"] and {b.rows[1] - b.rows[0] for b in blocks} == {625_000}
    wide = cuts._shards(cuts.Shard("scan", "i2t", 0, (0, 5_000), (0, 25_000)))
    assert [b.columns for b in wide] == [(3125 * i, 3125 * (i + 1)) for i in range(8)]
