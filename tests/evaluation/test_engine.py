"""``--engine dask``: the values of one process; workers that are killed; a killed run that is continued; its errors."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.evaluation.engines import SETTINGS, N
from tests.messages import Pinned, Refuses
from tests.reports import same_reports
from vsebench.errors import (
    BadInput,
    DeviceFault,
    DiskError,
    LowMemory,
    MissingPackage,
    UsageError,
    VsebenchError,
    WorkersLost,
)
from vsebench.evaluation import engines, inputs
from vsebench.evaluation.plan import make_plan
from vsebench.evaluation.request import Request, request
from vsebench.files import store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cache")]  # clusters are started


def lines(path: Path) -> list[str]:
    return [p.read_text() for d in ("i2t", "t2i") for p in [path.with_name(f"{path.stem}.{d}.trec")]]


@pytest.mark.parametrize("kind", ["vectors", "expected", "faiss"])
def test_the_values_of_one_process(kind: str, folder: Path, cluster: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {**SETTINGS, "gains": str(folder / "gains.npy")}
    given["images"] = folder / "e.npz"
    given |= {"ties": "expected", "metrics": "all", "direction": "t2i"} if kind == "expected" else {}
    if kind == "faiss":
        pytest.importorskip("faiss", reason="faiss is not installed")
        given["backend"] = "faiss"
    more = {"save_run": tmp_path / "one.trec", "depth": 40, "lists": 3} if kind == "vectors" else {}
    seen: list[tuple[int, int]] = []
    local = vb.evaluate(**given, **more)
    more |= {"save_run": tmp_path / "two.trec"} if more else {}
    found = vb.evaluate(
        **given, **more, engine="dask", scheduler=cluster.scheduler_address, progress=lambda *x: seen.append(x)
    )
    same_reports(local, found)
    assert found.provenance is not None and found.provenance["engine"] == "dask"
    assert [done for done, _ in seen[: seen[0][1]]] == list(range(1, seen[0][1] + 1))
    data, asked = planned({**given, **more})
    assert seen[0][1] == len(engines.shards_of(make_plan(data, asked), data)) >= (7 if kind == "expected" else 18)
    if more:
        assert lines(tmp_path / "one.trec") == lines(tmp_path / "two.trec")
        assert local.document()["lists"] == found.document()["lists"]


def planned(given: dict[str, Any]) -> tuple[inputs.Input, Request]:
    asked = request(**given)
    return inputs.read(asked), asked


def test_workers_that_are_killed(folder: Path, cluster: Any) -> None:
    given: dict[str, Any] = {**SETTINGS, "gains": str(folder / "gains.npy"), "images": folder / "e.npz"}
    killed: list[int] = []

    def progress(done: int, total: int) -> None:
        if done == 2 and not killed:
            for worker in cluster.workers.values():
                os.kill(worker.pid, signal.SIGKILL)
                killed.append(worker.pid)

    found = vb.evaluate(**given, engine="dask", scheduler=cluster.scheduler_address, progress=progress)
    assert len(killed) == 2 and not {worker.pid for worker in cluster.workers.values()} & {*killed}
    same_reports(vb.evaluate(**given), found)


def command(folder: Path, hook: str, *more: str) -> subprocess.CompletedProcess[str]:
    """``vsebench eval --engine dask`` in processes of a terminal's group; ``hook`` is run after three shards."""
    code = f"""
        import os, psutil, sys
        from vsebench.cli import main
        from vsebench.evaluation import engines
        write, written = engines.write, []

        def then(path, arrays):
            write(path, arrays)
            written.append(path)
            if len(written) == 3:
                {hook}

        engines.SHARD_SCORES, engines.write = {engines.SHARD_SCORES}, then
        main()
    """
    words = ["eval", str(folder / "e.npz"), "--captions-per-image", "2", "--trust", "--ci", "0", "--metrics", "R@1"]
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *words, "--engine", "dask", *more],
        capture_output=True, text=True, timeout=200, check=False, start_new_session=True,
    )  # fmt: skip


@contextmanager
def scheduler_and_worker(folder: Path) -> Iterator[tuple[str, int]]:
    """The address and the number of a process with a scheduler, which has one worker."""
    told = folder / "scheduler.json"
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    start += ["--no-dashboard", "--scheduler-file", str(told)]
    with (folder / "log").open("w") as log, subprocess.Popen(start, stdout=log, stderr=log) as scheduler:
        try:
            until = time.monotonic() + 60
            while not told.exists() and time.monotonic() < until:
                time.sleep(0.1)
            address = json.loads(told.read_text())["address"]
            work = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--no-nanny"]
            with subprocess.Popen([*work, "--nthreads", "1"], stdout=log, stderr=log) as worker:
                try:
                    yield address, scheduler.pid
                finally:
                    worker.kill()
        finally:
            scheduler.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("how", "code"), [("killed", -signal.SIGKILL), ("interrupted", 130), ("no scheduler", 5)])
def test_a_run_that_ends_early_and_is_continued(
    how: str, code: int, folder: Path, cluster: Any, cache: Path, tmp_path: Path, pinned: Pinned
) -> None:
    children = "print(*(p.pid for p in psutil.Process().children(recursive=True)), flush=True); "
    hooks = {"killed": f"{children}os.kill(os.getpid(), 9)", "interrupted": "os.killpg(os.getpgrp(), 2)"}
    with ExitStack() as stack:
        if how == "no scheduler":
            address, number = stack.enter_context(scheduler_and_worker(tmp_path))
            done = command(folder, f"os.kill({number}, 9)", "--scheduler", address)
        else:
            done = command(folder, hooks[how], "--workers", "1")
    assert done.returncode == code, done.stderr
    if how == "killed":
        assert wait_for_end([int(pid) for pid in done.stdout.split()]), "workers end with the process that started them"
    else:
        assert done.stdout == ""
        pinned(done.stderr)
    files = sorted(cache.glob("shards/*/count-*"))
    assert len(files) >= 3
    broken = bytearray(files[0].read_bytes())
    broken[-100] ^= 1
    files[0].write_bytes(broken)  # a damaged file is computed again
    files[1].write_bytes(files[1].read_bytes()[:-7])
    given: dict[str, Any] = {"images": folder / "e.npz", "captions_per_image": 2, "trust": True, "ci": 0}
    seen: list[tuple[int, int]] = []
    again = {"engine": "dask", "scheduler": cluster.scheduler_address, "resume": True}
    found = vb.evaluate(**given, metrics="R@1", **again, progress=lambda *x: seen.append(x))
    finished, total = len(files) - 2, seen[0][1]
    assert seen[0][0] == finished + 1
    assert f"resume=True: {finished} of {total} shards were already finished" in found.notes
    same_reports(vb.evaluate(**given, metrics="R@1"), found)
    assert not list(cache.glob("shards/*/*"))


def wait_for_end(pids: list[int]) -> bool:
    import psutil

    assert pids
    until = time.monotonic() + 60
    while time.monotonic() < until:
        alive = [p for p in pids if psutil.pid_exists(p) and psutil.Process(p).status() != psutil.STATUS_ZOMBIE]
        if not alive:
            return True
        time.sleep(0.2)
    return False


def test_the_command_starts_workers_of_its_own(folder: Path, cluster: Any) -> None:
    words = ["eval", folder / "e.npz", "--metrics", "recall", "--json", "--captions-per-image", 2, "--ci", 0, "--trust"]
    found = [cli(*words, *more).json for more in ([], ["--engine", "dask", "--workers", 1])]
    assert found[0]["results"] == found[1]["results"] and found[0]["per_query"] == found[1]["per_query"]
    assert [f["provenance"]["engine"] for f in found] == ["local", "dask"]


def job_of(folder: Path, **more: Any) -> tuple[engines.Job, list[engines.Shard]]:
    given: dict[str, Any] = {**SETTINGS, "gains": str(folder / "gains.npy"), **more}
    data, asked = planned({**given, "images": folder / "e.npz"})
    plan = make_plan(data, asked)
    return engines.make_job(data, plan), engines.shards_of(plan, data)


def error_of(job: engines.Job, shard: engines.Shard) -> VsebenchError:
    """The error of a process that has not read the files before."""
    engines._kept.clear()
    with pytest.raises(VsebenchError) as caught:
        engines.computed(job, shard)
    return caught.value


def test_a_job_is_computed_only_from_the_same_files(folder: Path, tmp_path: Path, pinned: Pinned) -> None:
    for name in ("e.npz", "gains.npy"):
        shutil.copy2(folder / name, tmp_path / name)
    job, pieces = job_of(tmp_path)
    _, first = engines.computed(job, pieces[0])
    os.utime(tmp_path / "e.npz")  # another time, the same content: a copy on another machine
    _, again = engines.computed(job, pieces[0])
    assert [a.tobytes() for a in first] == [a.tobytes() for a in again]
    assert job_of(tmp_path)[0].key == job.key
    np.save(tmp_path / "gains.npy", np.load(tmp_path / "gains.npy")[::-1])
    os.utime(tmp_path / "gains.npy", (1, 1))
    error = error_of(job, pieces[0])
    assert isinstance(error, BadInput) and error.where == str(tmp_path / "gains.npy")
    pinned(error)
    assert job_of(tmp_path)[0].key != job.key
    (tmp_path / "gains.npy").unlink()
    pinned(error_of(job, pieces[0]))


def test_a_job_is_computed_only_with_the_same_plan(folder: Path, pinned: Pinned) -> None:
    job, pieces = job_of(folder)
    other = engines.replace(job, key="0" * 64)
    pinned(error_of(other, pieces[0]))


def test_the_files_of_a_job_are_all_that_the_workers_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also files of gains inside other gains, values of settings, and folders with files; whatever the folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("w.txt", "c.jsonl", "q.txt", "bow", "table/0.parquet", "table/part/1.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("content")
    gains = ["coarse:bow:w.txt:idf=yes:above=0.5:cider:df=c.jsonl", "wmd:w.txt"]
    asked = request(images=folder / "e.npz", fuse=["table"], gains=gains, judgements={"mine": "q.txt"}, engine="dask")
    assert [spec.argument for spec in asked.specs] == [
        f"bow:{tmp_path}/w.txt:idf=yes:above=0.5:cider:df={tmp_path}/c.jsonl", f"{tmp_path}/w.txt", f"{tmp_path}/q.txt"
    ]  # fmt: skip
    named = ["table", "w.txt", "c.jsonl", "w.txt", "q.txt"]
    assert asked.files == [folder / "e.npz", *(tmp_path / name for name in named)]
    found = {path.name for path in engines.hashed(asked.files)}
    assert found == {"e.npz", "0.parquet", "1.npy", "w.txt", "c.jsonl", "q.txt"}


def test_the_input_is_read_once_in_a_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, found = job_of(folder)
    read: list[engines.Job] = []
    prepare = engines.prepare
    monkeypatch.setattr(engines, "prepare", lambda job: read.append(job) or prepare(job))
    monkeypatch.setattr(engines, "_kept", {})
    for shard in found[:3]:
        engines.computed(pickle.loads(pickle.dumps(job)), shard)
    assert len(read) == 1
    engines.computed(engines.replace(job, request=engines.replace(job.request, threads=3)), found[0])
    assert len(read) == 2


def test_the_key_of_an_evaluation(folder: Path) -> None:
    key = job_of(folder)[0].key
    assert key == job_of(folder, threads=1)[0].key, "what changes no value does not matter"
    for more in (
        {"metrics": "R@1"},
        {"direction": "i2t"},
        {"save_run": "top.json"},
        {"similarity": "dot"},
        {"ties": "expected"},
    ):
        given = {"metrics": "R@1", **more} if "ties" in more else more
        assert job_of(folder, **given)[0].key != key


def is_finished(folder: Path) -> bool:
    return store.read_arrays(folder / SHARD.name) is not None


def test_files_of_shards(cache: Path, pinned: Pinned, refuses: Refuses) -> None:
    arrays = [np.arange(5), np.zeros((2, 0)), np.array([np.nan, -0.0])]
    with engines.opened("ab" * 32, resume=False) as at:
        assert not is_finished(at)
        engines.write(at / SHARD.name, arrays)
        found = engines.read(at / SHARD.name)
        assert [(a.dtype, a.shape, a.tobytes()) for a in found] == [(a.dtype, a.shape, a.tobytes()) for a in arrays]
        (file,) = at.iterdir()
        stored = file.read_bytes()
        for damaged in (b"", stored[:40], stored[:-1], stored[:90] + b"\x55" + stored[91:]):
            file.write_bytes(damaged)
            assert not is_finished(at)
        refuses(DiskError, engines.read, at / SHARD.name)
        with pytest.raises(DiskError) as caught, engines.opened("ab" * 32, resume=True):
            pass
        pinned(caught.value)
    assert not at.exists()


def test_shards_are_kept_after_an_error_and_removed_without_resume(cache: Path) -> None:
    for resume, expected in ((False, False), (True, True), (False, False)):
        with pytest.raises(BadInput), engines.opened("cd" * 32, resume) as at:
            assert is_finished(at) == expected
            engines.write(at / SHARD.name, [np.arange(3)])
            raise BadInput("something")
        assert is_finished(at)


ADDRESSES = (
    "", " ", "127.0.0.1", "nonsense://x:1", "http://127.0.0.1:87", "tcp://a", "inproc://1/2/3", "tcp://a:b",
    "t\u00fcp://x:1", "tcp://a:1/\x1b",
)  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"engine": "ray"},
        {"resume": True},
        {"workers": 2},
        {"scheduler": "tcp://a:1"},
        {"engine": "dask", "workers": 2, "scheduler": "tcp://a:1"},
        {"engine": "dask", "workers": 0},
        {"engine": "dask", "workers": 99_999_999},
        *({"engine": "dask", "scheduler": address} for address in ADDRESSES),
        {"engine": "dask", "images": np.eye(3), "texts": np.eye(3)},
        {"engine": "dask", "gains": np.eye(3)},
        {"engine": "dask", "captions": ["a", "b"]},
        {"engine": "dask", "split": vb.TestSet.captioned("custom", np.arange(2), np.arange(2), np.arange(2))},
    ],
)
def test_options_that_are_refused(given: dict[str, Any], folder: Path, refuses: Refuses) -> None:
    refuses(UsageError, vb.evaluate, **{"images": folder / "e.npz", **given})


def test_retrieved_lists_need_no_engine(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("".join(f"{i} Q0 {c} {r} {9 - r} x\n" for i in range(3) for r, c in enumerate((i, (i + 1) % 3))))
    ids = np.arange(3)
    found = vb.evaluate(
        run={"i2t": path},
        split=vb.TestSet.captioned("custom", ids, ids, ids),
        metrics="R@1",
        trust=True,
        ci=0,
        engine="dask",
    )
    assert found["R@1", "i2t"].value == 1
    assert any("engine='dask': retrieved lists have no scores" in note for note in found.notes)


def test_dask_that_is_not_installed(folder: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    refuses(MissingPackage, vb.evaluate, folder / "e.npz", engine="dask", **{**SETTINGS, "metrics": "R@1"})


def test_no_scheduler_answers(folder: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 1.0)
    words = ["eval", str(folder / "e.npz"), "--captions-per-image", "2", "--metrics", "R@1", "--trust"]
    words += ["--engine", "dask", "--scheduler"]
    worker = next(iter(cluster.scheduler_info["workers"]))
    with answering(b"") as silent, answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http:
        for address in ("tcp://127.0.0.1:9", "127.0.0.1:9", "tls://127.0.0.1:9", silent, http):
            said = cli(*words, address, code=5).err
            assert f"'{address}'" in said and "dask scheduler" in said and "Traceback" not in said
    pinned(cli(*words, worker, code=5).err.replace(worker, "WORKER"))


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """The address of a server that is no scheduler: it says this to everyone, or nothing."""
    with socket.socket() as server, ExitStack() as connections:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection = connections.enter_context(server.accept()[0])
                    connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_workers_that_do_not_fit_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(engines, "WORKER_BYTES", 1 << 40)
    with pytest.raises(BadInput, match=r" 3,072\.0 GiB ") as caught:
        vb.evaluate(folder / "e.npz", engine="dask", workers=3, **{**SETTINGS, "metrics": "R@1"})
    pinned(caught.value.fix)


def test_workers_without_vsebench_or_with_another_version(cluster: Any, pinned: Pinned) -> None:
    from distributed import Client

    def say(version: str | None) -> None:
        from distributed import versions

        versions._version_cached = lambda name: version if name == "vsebench" else "1"

    def forget() -> None:
        import importlib

        from distributed import versions

        importlib.reload(versions)

    def said(caught: Any) -> str:
        return re.sub(r"tcp://[\d.:]+", "WORKER", str(caught.value)).replace(vb.__version__, "VERSION")

    with Client(cluster, set_as_default=False) as client:
        client.run(say, "0.0.1")
        with pytest.raises(WorkersLost) as caught:
            engines._check_workers(client)
        pinned(said(caught))
        client.run(say, None)
        with pytest.raises(WorkersLost) as caught:
            engines._check_workers(client)
        pinned(said(caught))
        client.run(forget)
        engines._check_workers(client)


def test_a_scheduler_without_workers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, pinned: Pinned
) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(engines, "WORKER_WAIT_SECONDS", 1.0)
    empty = distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50)
    with empty, pytest.raises(WorkersLost) as caught:
        given = {**SETTINGS, "metrics": "R@1", "scheduler": empty.scheduler_address}
        vb.evaluate(folder / "e.npz", engine="dask", **given)
    pinned(caught.value)


def test_tasks_that_fail_in_every_attempt(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker ends, or the input is wrong; where it fails see ``test_engine_stages``."""
    asked = request(engine="dask", scheduler=cluster.scheduler_address)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    job: Any = SimpleNamespace(command=False)

    def error_of(reason: Callable[..., Any]) -> VsebenchError:
        monkeypatch.setattr(engines, "attempt", reason)
        with pytest.raises(VsebenchError) as caught:
            engines.compute(job, [SHARD], tmp_path, asked)
        return caught.value

    def end(shard: Any, job: Any) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    def refuse(shard: Any, job: Any) -> VsebenchError:
        from vsebench.errors import BadInput

        return BadInput("bad", where="f.npz", fix="mend it")

    ended = error_of(end)
    assert isinstance(ended, WorkersLost) and "give it more memory" in str(ended.fix)
    assert ended.what.startswith("shard count-0-0-0-9 failed in every attempt: KilledWorker: Attempted to run")
    wrong = error_of(refuse)
    assert isinstance(wrong, BadInput) and (wrong.what, wrong.where, wrong.fix) == ("bad", "f.npz", "mend it")


SHARD = engines.Shard("count", 0, 0, (0, 9))


# ``--engine dask``: memory of the workers.


def test_own_workers_are_not_ended_for_mapped_files() -> None:
    """The limit of a worker of Dask counts pages of mapped files, which are no memory that is taken."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    with engines._client(request(engine="dask", workers=1)) as client:
        client.wait_for_workers(1, timeout=60)
        assert [w["memory_limit"] for w in client.scheduler_info()["workers"].values()] == [0]


@pytest.mark.parametrize("error", [LowMemory("needs 2 GiB"), DeviceFault("wrong products"), RuntimeError("CUDA error")])
def test_what_another_worker_may_compute(error: Exception, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    with pytest.raises(WorkersLost) as caught:
        attempted(error, monkeypatch)
    pinned(re.sub(r"worker \w \(.*?\)", "worker N (HOST)", str(caught.value)))
    wrong = attempted(BadInput("not a number", where="f.npz", fix="mend it"), monkeypatch)
    assert isinstance(wrong, BadInput) and (wrong.where, wrong.fix) == ("f.npz", "mend it")
    assert re.fullmatch(r"on worker w \(.*\): not a number", wrong.what)


def attempted(error: Exception, monkeypatch: pytest.MonkeyPatch) -> Any:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(name="w"))

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(engines, "computed", fail)
    job: Any = SimpleNamespace(command=False)
    return engines.attempt(SHARD, job)


def test_shards_cover_every_row_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most, scores in ((128, 500), (4, 500), (128, 10**9), (7, 3)):
        monkeypatch.setattr(engines, "MAX_SHARDS", {"count": most, "graded": most})
        monkeypatch.setattr(engines, "SHARD_SCORES", scores)
        _, found = job_of(folder)
        assert len({s.name for s in found}) == len(found)
        for kind, side, n, m in (("count", 0, N, 2 * N), ("graded", 0, N, 2 * N), ("graded", 1, 2 * N, N)):
            rows = [s.rows for s in found if (s.kind, s.side) == (kind, side)]
            assert [row for first, end in rows for row in range(first, end)] == list(range(n))
            assert len(rows) == max(1, min(most, n, -(-n * m // scores)))


def test_shards_of_a_large_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SHARD_SCORES", 1 << 24)
    large = engines.cut("count", 0, 0, (10_000_000, 10_000_000))
    assert len(large) == engines.MAX_SHARDS["count"] and {s.rows[1] - s.rows[0] for s in large} == {78_125}
    coco = engines.cut("count", 0, 0, (5_000, 25_000))
    assert [s.rows for s in coco] == [(625 * i, 625 * (i + 1)) for i in range(8)]
