"""Shards in pieces: blocks of a scan that are computed by several workers, and combined by one."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.evaluation.engines import SETTINGS, N
from tests.evaluation.test_engine import job_of, lines
from tests.reports import same_reports
from vsebench.errors import UsageError, WorkersLost
from vsebench.evaluation import cuts, dask_work, shards


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, so that no shards are found that another test has left."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three shards a pass, of some six pieces each, which are combined on workers."""
    monkeypatch.setattr(cuts, "SCORES", N * 2 * N // 3)
    monkeypatch.setattr(dask_work, "piece_scores", lambda *_: N * 2 * N // 18)


@pytest.mark.parametrize("kind", ["vectors", "scores", "expected"])
def test_pieces_that_are_combined_on_workers(
    kind: str, folder: Path, cluster: Any, tmp_path: Path, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {**SETTINGS, "gains": str(folder / "gains.npy")}
    given |= {"scores": folder / "scores.npy"} if kind == "scores" else {"images": folder / "e.npz"}
    given |= {"ties": "expected", "metrics": "recall"} if kind == "expected" else {}
    got: list[int] = []
    outcome = dask_work._outcome
    monkeypatch.setattr(dask_work, "_outcome", lambda *x, fetched: got.append(not fetched) or outcome(*x, fetched))
    local = vb.evaluate(**given, save_run=tmp_path / "one.trec", depth=40)
    elsewhere = {"engine": "dask", "scheduler": cluster.scheduler_address}
    found = vb.evaluate(**given, **elsewhere, save_run=tmp_path / "two.trec", depth=40)
    same_reports(local, found)
    assert lines(tmp_path / "one.trec") == lines(tmp_path / "two.trec")
    assert sum(got) >= 18, "arrays of pieces do not come here"


def test_workers_that_are_killed_with_the_arrays_of_pieces(
    folder: Path, cluster: Any, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {**SETTINGS, "metrics": "recall", "images": folder / "e.npz"}
    killed: list[int] = []
    submit = dask_work.Task.submit

    def kill_first(self: dask_work.Task, *args: Any) -> Any:
        if self.piece is None and not killed:  # all pieces of a shard are finished, and are to be combined
            for worker in cluster.workers.values():
                os.kill(worker.pid, signal.SIGKILL)
                killed.append(worker.pid)
        return submit(self, *args)

    monkeypatch.setattr(dask_work.Task, "submit", kill_first)
    found = vb.evaluate(**given, engine="dask", scheduler=cluster.scheduler_address)
    assert len(killed) == 2
    same_reports(vb.evaluate(**given), found)


def test_pieces_take_about_a_minute_and_are_enough_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    side = 10**6
    whole = cuts.Shard("scan", "i2t", 0, (0, side), (0, side))
    monkeypatch.setattr(cuts, "SCORES", 1 << 24)
    assert dask_work.piece_scores([whole], 2, lambda _: 1e9) == 6 * 10**10
    assert dask_work.piece_scores([whole], 100, lambda _: 1e9) == side**2 // 400
    assert dask_work.piece_scores([whole], 2, lambda _: None) == dask_work.UNKNOWN
    assert dask_work.piece_scores([whole], 2, lambda _: 1.0) == cuts.SCORES
    for small in (cuts.Shard("scan", "i2t", 0, (0, 5000), (0, 25_000)), whole._replace(kind="graded")):
        assert dask_work.piece_scores([small], 2, lambda _: 1 / 0) is None


def test_the_speed_of_a_worker(folder: Path, cluster: Any) -> None:
    from distributed import Client

    job, found = job_of(folder)
    with Client(cluster, set_as_default=False) as client:
        assert (dask_work._speed(client, job, found[0]) or 0) > 100
        other = shards.replace(job, version="0")
        assert dask_work._speed(client, other, found[0]) is None
        with pytest.raises(UsageError, match="has vsebench"):
            dask_work.sampled(client, other, found[0])
        with pytest.raises(WorkersLost, match="could not compute a piece: AttributeError"):
            dask_work.sampled(client, "no job", found[0])  # type: ignore[arg-type]


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
            small = [piece.rows + piece.columns for s in own for piece in cuts.pieces(s, 40)]
            assert (scored(small, n, m) == 1).all() and len(small) > len(own)


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
    blocks = cuts.pieces(whole)
    assert len(blocks) == cuts.MOST["scan"] and {b.rows[1] - b.rows[0] for b in blocks} == {1_250_000}
    wide = cuts.pieces(cuts.Shard("scan", "i2t", 0, (0, 5_000), (0, 25_000)))
    assert [b.columns for b in wide] == [(3125 * i, 3125 * (i + 1)) for i in range(8)]
