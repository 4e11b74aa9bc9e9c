"""The device of a process: workers of one machine take different ones, also after one of them has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from vsebench.rank import own_device

WORKER = """
import sys
from vsebench.rank import own_device
own_device.begin_worker()
print(own_device.own_device(int(sys.argv[1])), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and no device that is chosen already."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("LOCAL_RANK", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(own_device, "_is_worker", None)


def begun(stack: ExitStack, count: int, **variables: str) -> tuple[subprocess.Popen[str], int]:
    """A worker that has taken one of so many devices, and which."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **variables},
    )  # fmt: skip
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked")
def test_workers_of_a_machine_take_different_devices(tmp_path: Path) -> None:
    with ExitStack() as stack:
        workers = [begun(stack, 3) for _ in range(4)]
        assert [number for _, number in workers] == [0, 1, 2, 0]
        # Another order of devices is another worker of dask-cuda: its own is the first.
        assert begun(stack, 3, CUDA_VISIBLE_DEVICES="1,2,0")[1] == 0
        assert begun(stack, 3, LOCAL_RANK="5")[1] == 2
        workers[1][0].send_signal(signal.SIGKILL)
        workers[1][0].wait()
        assert begun(stack, 3)[1] == 1, "the device of the one that has ended"
        workers[0][0].communicate("")
        assert begun(stack, 3)[1] == 0
    assert list((tmp_path / "cache" / "workers").iterdir()), "of those that were killed"


def test_a_process_that_is_no_worker_or_has_one_device_takes_no_place(tmp_path: Path, monkeypatch: Any) -> None:
    assert own_device.own_device(4) is None
    monkeypatch.setattr(own_device, "_is_worker", True)
    assert (own_device.own_device(0), own_device.own_device(1)) == (None, None)
    assert not (tmp_path / "cache").exists()
    (tmp_path / "cache").write_text("")  # a cache that cannot be written
    own_device._place.cache_clear()
    assert own_device.own_device(4) == 0
    own_device._place.cache_clear()
    monkeypatch.setenv("LOCAL_RANK", "6")
    assert (own_device.own_device(4), own_device.own_device(0)) == (2, None)


def test_a_current_device_that_the_user_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from vsebench.rank.torch_backend import settings

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 2)
    own_device.begin_worker()
    assert settings.device_of("cuda").index == 2
    monkeypatch.setattr(own_device, "_is_worker", None)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    own_device.begin_worker()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)  # by vsebench, with the first shard
    monkeypatch.setattr(own_device, "_place", lambda *_: 3)
    assert settings.device_of("cuda").index == 3 and settings.device_of("cuda:1").index == 1
