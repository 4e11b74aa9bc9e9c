"""``vsebench.forecast`` and ``vsebench eval --dry-run``: the plan of an evaluation by workers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import vsebench as vb
from tests.evaluation.engines import SETTINGS, N
from tests.messages import Pinned
from vsebench.cli import app
from vsebench.errors import UsageError, VsebenchError
from vsebench.evaluation import cuts, dask_work, shard_files
from vsebench.report.forecast import duration


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and six shards a pass."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cuts, "SCORES", N * 2 * N // 6)
    return tmp_path / "cache"


def given(folder: Path, **more: Any) -> dict[str, Any]:
    return {**SETTINGS, "images": folder / "e.npz", "gains": str(folder / "gains.npy"), **more}


@pytest.mark.parametrize("where", ["here", "workers"])
def test_what_the_evaluation_takes(
    where: str, folder: Path, cluster: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards, and the bytes of what the scan returns, are those of the evaluation itself."""
    scheduler = {"scheduler": cluster.scheduler_address}
    found = vb.forecast(**given(folder), **(scheduler if where == "workers" else {"workers": 1}))
    assert not list(cache.glob("shards/*/*")), "nothing is written"
    written: dict[str, int] = {}
    write = shard_files.write

    def counted(path: Path, arrays: Any) -> None:
        written[path.stem] = sum(a.nbytes for a in arrays.values())
        write(path, arrays)

    monkeypatch.setattr(shard_files, "write", counted)
    vb.evaluate(**given(folder), engine="dask", **scheduler)
    assert sum(p.shards for p in found.passes) == len(written)
    assert [p.what for p in found.passes] == [
        "ranks and lists, both directions",
        "graded metrics, i2t",
        "graded metrics, t2i",
    ]
    assert [p.scores for p in found.passes] == [N * 2 * N] * 3
    assert found.passes[0].bytes == sum(n for name, n in written.items() if name.startswith("scan"))
    assert found.workers == (2 if where == "workers" else 1)
    assert found.hours == pytest.approx(sum(p.seconds for p in found.passes) / found.workers / 3600) and found.hours > 0
    one = replace(found, workers=10**6)
    assert one.hours == pytest.approx(sum(p.seconds / p.pieces for p in found.passes) / 3600)
    assert found.read == sum((folder / name).stat().st_size for name in ("e.npz", "gains.npy"))


def test_lists_and_pieces_are_counted(
    folder: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dask_work, "SMALL", 0)
    monkeypatch.setattr(cuts, "SCORES", 2700)
    monkeypatch.setattr(dask_work, "SECONDS", 1e-9)
    more = {"metrics": "R@1", "save_run": tmp_path / "top.trec", "depth": 20}
    (scan,) = vb.forecast(**given(folder, **more)).passes
    sides = [(s.rows, s.columns) for s in cuts.pieces(cuts.Shard("scan", "i2t", 0, (0, N), (0, 2 * N)))]
    entries = sum((b - a) * min(20, d - c) + (d - c) * min(20, b - a) for (a, b), (c, d) in sides)
    counts = sum(2 * (b - a) for (a, b), _ in sides) + sum(d - c for _, (c, d) in sides)
    assert scan.bytes == 16 * entries + 12 * counts
    assert scan.shards == len(sides) == 6 and scan.pieces == 6
    monkeypatch.setattr(cuts, "SCORES", 5400)
    monkeypatch.setattr(dask_work, "piece_scores", lambda *_: 900)
    (scan,) = vb.forecast(**given(folder, **more)).passes
    assert scan.pieces > scan.shards == 3


def test_the_command(folder: Path, cache: Path) -> None:
    words = [
        "eval",
        str(folder / "e.npz"),
        "--captions-per-image",
        "2",
        "--trust",
        "--metrics",
        "R@1",
        "--engine",
        "dask",
    ]
    done = CliRunner().invoke(app, [*words, "--dry-run"], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    for word in ("ranks and lists, both directions", "shards", "pieces", "16,200", "2 workers", "of input"):
        assert word in done.stdout
    found = json.loads(CliRunner().invoke(app, [*words, "--dry-run", "--json"]).stdout)
    assert found["schema"] == "vsebench/forecast/1" and found["passes"][0]["scores"] == N * 2 * N
    assert not cache.exists() or not list(cache.glob("shards/*/*"))


@pytest.mark.parametrize(
    "words",
    [
        ["--dry-run"],
        ["b.npz", "--engine", "dask", "--dry-run"],
        ["--engine", "dask", "--dry-run", "--per-query", "q.csv"],
    ],
    ids=["no engine", "two systems", "values of queries"],
)
def test_plans_that_are_refused(
    words: list[str], folder: Path, pinned: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    np.savez("b.npz", **np.load("e.npz"))
    done = CliRunner().invoke(
        app, ["eval", "e.npz", "--captions-per-image", "2", "--trust", "--metrics", "R@1", *words]
    )
    assert done.exit_code == 2
    pinned(done.stderr)


def test_arguments(folder: Path) -> None:
    with pytest.raises(UsageError, match="metrik"):
        vb.forecast(folder / "e.npz", metrik="R@1")
    with pytest.raises(VsebenchError, match="in memory"):
        vb.forecast(np.eye(3), np.eye(3), captions_per_image=1)
    with pytest.raises(UsageError, match="retrieved lists") as caught:
        vb.forecast(run="x.trec")
    assert "plan" in caught.value.what
    with pytest.raises(UsageError, match="of all shards"):
        vb.forecast(folder / "e.npz", resume=True)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "below 1 s"), (45.4, "45 s"), (119.9, "120 s"), (600, "10 min"), (7200, "2.0 h"), (3.6e6, "1,000.0 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
