"""``--engine dask`` with fused, corrected and re-ranked scores, and with workers on which every shard fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.evaluation.engines import SETTINGS, N
from tests.messages import Pinned
from tests.reports import same_reports
from vsebench.errors import WorkersLost

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cache")]  # clusters are started


STAGES: dict[str, dict[str, Any]] = {
    "scores of each direction": {"scores": {"i2t": "scores.npy", "t2i": "other.npy"}},
    "fused vectors": {"images": "e.npz", "fuse": ["f.npz"], "weights": "0.7,0.3"},
    "fused, one by direction": {"images": "e.npz", "fuse": {"i2t": "scores.npy", "t2i": "other.npy"}},
    "csls": {"images": "e.npz", "normalise": "csls:k=5"},
    "qb of a bank": {"images": "e.npz", "normalise": "qb:f.npz:beta=3"},
    "dual softmax": {"scores": "scores.npy", "normalise": "dsl:beta=0.5"},
    "re-ranked": {"images": "e.npz", "rerank": ["i2t=second.npy", "t2i=second.npy"], "rerank_depth": 7},
    "one direction re-ranked": {"images": "e.npz", "rerank": {"t2i": "second.npy"}, "combine": "add:0.3",
                                "rerank_depth": 20, "direction": "t2i"},
    "a part": {"images": "e.npz", "only": "halves.csv:half=a", "gains": "cider", "metrics": "R@1,MedR,cider:NCS@5",
               "captions": "halves.csv"},
    "judgements": {"images": "e.npz", "judgements": "mine=qrels.txt", "metrics": "mine:R-P,mine:nDCG@5"},
    "gains of nested files": {"images": "e.npz", "captions": "halves.csv", "metrics": "coarse:CS@5,coarse:nDCG@5",
                              "gains": "coarse:bow:words.txt:above=0.5:cider:df=corpus.jsonl"},
    "a setting that is a file": {"images": "e.npz", "captions": "halves.csv", "metrics": "cider:CS@5",
                                 "gains": "cider:df=corpus.jsonl"},
    "all at once": {"scores": {"i2t": "scores.npy", "t2i": "other.npy"}, "fuse": "e.npz", "normalise": "csls:k=3",
                    "rerank": {"i2t": "second.npy"}, "rerank_depth": 5},
}  # fmt: skip


@pytest.mark.parametrize("kind", STAGES)
def test_the_stages_of_one_process(kind: str, folder: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    np.save(folder / "other.npy", rng.integers(0, 30, (N, 2 * N)).astype(np.float32))
    np.save(folder / "second.npy", rng.integers(0, 12, (N, 2 * N)).astype(np.float32))
    second = np.load(folder / "e.npz")
    np.savez(folder / "f.npz", **{key: second[key] + rng.integers(0, 2, second[key].shape) + 0.5 for key in second})
    words = ("a man", "a dog runs", "a red car", "two men and a dog", "the red dog")
    rows = [f"{i},{i // 2},{words[i % 5]} {words[i % 3]},{'ab'[i % 4 > 1]}" for i in range(2 * N)]
    (folder / "halves.csv").write_text("\n".join(["caption_id,image_id,caption,half", *rows]))
    (folder / "words.txt").write_text("a 1 2 0\nman 3 0 1\ndog 0 -1 2\nred 1 1 1\ncar -2 0 1\nruns 0 0.5 3\n")
    corpus = [{"image_id": i % 7, "caption": f"{words[i % 5]} and {words[i % 4]}"} for i in range(20)]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in corpus))
    judged = [f"{i} 0 {(2 * i + k) % (2 * N)} {k}\n" for i in range(N) for k in range(3)]
    (folder / "qrels.txt").write_text("".join(judged))
    monkeypatch.chdir(folder)  # the workers have another folder
    given = {**SETTINGS, "gains": "gains.npy", **STAGES[kind]}
    local = vb.evaluate(**given)
    found = vb.evaluate(**given, engine="dask", scheduler=cluster.scheduler_address)
    same_reports(local, found)


def raises(times: int, log: Path) -> Any:
    """A plugin of Dask: the first shards of every worker fail."""
    from distributed import WorkerPlugin

    class Raises(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            from vsebench.evaluation import engines as of_worker

            name, compute = str(worker.name), of_worker.computed

            def failing(*args: Any) -> Any:
                with log.open("a+") as file:
                    file.seek(0)
                    if file.read().split().count(name) >= times:
                        return compute(*args)
                    file.write(f"{name}\n")
                raise RuntimeError("CUDA error: an illegal memory access")

            of_worker.computed = failing

    return Raises()


def test_workers_on_which_shards_fail(folder: Path, tmp_path: Path, pinned: Pinned) -> None:
    """Dask tries again; where all attempts fail, the error says on which worker the last one did, and why."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    given: dict[str, Any] = {**SETTINGS, "gains": str(folder / "gains.npy"), "images": folder / "e.npz"}
    for times in (1, 1000):
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, memory_limit=0
        ) as cluster:
            with distributed.Client(cluster, set_as_default=False) as client:
                client.register_plugin(raises(times, tmp_path / str(times)))
            elsewhere = {**given, "engine": "dask", "scheduler": cluster.scheduler_address}
            if times == 1:
                same_reports(vb.evaluate(**given), vb.evaluate(**elsewhere))
                continue
            with pytest.raises(WorkersLost) as caught:
                vb.evaluate(**elsewhere)
            pinned(re.sub(r"shard \S+|worker \w \(.*?\)", "X", str(caught.value)))
            assert "resume=True" in str(caught.value.fix)
