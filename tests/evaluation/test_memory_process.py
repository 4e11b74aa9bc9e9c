"""``--memory``: what the process of the command itself takes, as the system counts it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import vsebench as vb
from vsebench import memory

BUDGETS = {"numpy": 420, "faiss": 520, "torch:cpu": 900}  # MiB; the modules themselves take some 150, 200 and 400


def taken(pid: int) -> int:
    """MiB of memory of a process without pages of files; 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(kb) for kb in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", text, re.M)) >> 10


@pytest.mark.slow
@pytest.mark.parametrize("backend", list(BUDGETS))
def test_the_process_stays_below_its_budget(tmp_path: Path, backend: str) -> None:
    if not memory.used_memory():
        pytest.skip("the memory of a process is known on Linux")
    pytest.importorskip(backend.partition(":")[0])
    rng = np.random.default_rng(0)
    times = 30 if backend == "numpy" else 10
    images = rng.standard_normal((2_000, 1_280), dtype=np.float32)
    texts = np.repeat(images, times, axis=0)
    for part in np.array_split(texts, 20):  # 293 MiB for numpy
        part += 7 * rng.standard_normal(part.shape, dtype=np.float32)
    for name, array in (("i.npy", images), ("t.npy", texts)):
        array /= np.linalg.norm(array, axis=1, keepdims=True)
        np.save(tmp_path / name, array)
    command = [
        sys.executable,
        "-m",
        "vsebench",
        "eval",
        "i.npy",
        "t.npy",
        "--backend",
        backend,
        "--metrics",
        "R@1,R@10",
    ]
    command += [
        "--captions-per-image",
        str(times),
        "--ci",
        "0",
        "--quiet",
        "--json",
        "--memory",
        f"{BUDGETS[backend]}M",
    ]
    most = 0
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=err)
        while process.poll() is None:
            most = max(most, taken(process.pid))
            time.sleep(0.002)
    assert process.returncode == 0, (tmp_path / "err").read_text()
    assert 100 < most < BUDGETS[backend]
    expected = vb.evaluate(images, texts, captions_per_image=times, metrics="R@1,R@10", ci=0)
    found = json.loads((tmp_path / "out").read_text())["results"]
    assert [r["value"] for r in found] == [r.value for r in expected.results] and min(r["value"] for r in found) < 1
