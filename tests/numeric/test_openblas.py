"""The kernels that the OpenBLAS of another package is told to use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
import threadpoolctl

from vsebench.numeric import openblas

NUMPY = [i for i in threadpoolctl.threadpool_info() if "numpy" in i["filepath"] and i["internal_api"] == "openblas"]
PROGRAM = """
import json, os, threadpoolctl
from vsebench.rank.faiss_index import package
package()
found = {i["filepath"]: i["architecture"] for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"}
print(json.dumps({"found": found, "after": os.environ.get("OPENBLAS_CORETYPE")}))
"""

AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from vsebench.rank.faiss_index import package
ready = Barrier(8)
def first(_):
    ready.wait()
    return package().IndexFlatIP.__name__
with ThreadPoolExecutor(8) as pool:
    print(*pool.map(first, range(8)), sep="\\n")
"""


def _kernels(**environment: str) -> tuple[str, str, str | None]:
    """The kernels of the BLAS of numpy and of faiss in a fresh process, and the variable afterwards."""
    given = {k: v for k, v in os.environ.items() if k != openblas.VARIABLE} | environment
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=given, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)
    numpy, faiss = ([k for path, k in read["found"].items() if name in path] for name in ("numpy", "faiss"))
    if not faiss:
        pytest.skip("faiss has no OpenBLAS of its own")
    return numpy[0], faiss[0], read["after"]


@pytest.mark.skipif(not NUMPY, reason="numpy has no OpenBLAS of its own")
def test_faiss_gets_the_kernels_of_numpy() -> None:
    pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")
    ours, kernels, after = _kernels()
    assert after is None
    if ours in openblas.KERNELS:
        assert kernels == openblas.KERNELS[ours]


@pytest.mark.skipif(not NUMPY, reason="numpy has no OpenBLAS of its own")
def test_what_the_user_has_named_stays() -> None:
    pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")
    if NUMPY[0]["architecture"] not in openblas.KERNELS:
        pytest.skip("no x86 processor with SSE")
    assert _kernels(OPENBLAS_CORETYPE="Prescott")[1:] == ("Prescott", "Prescott")


def test_threads_that_import_faiss_at_once() -> None:
    pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["IndexFlatIP"] * 8


def test_an_unknown_blas_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    library: dict[str, Any] = {"internal_api": "mkl", "filepath": "/libmkl.so"}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [library])
    monkeypatch.delenv(openblas.VARIABLE, raising=False)
    with openblas.kernels_of_numpy():
        assert openblas.VARIABLE not in os.environ


def test_a_new_processor_is_named_by_kernels_that_old_versions_know(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    path = os.path.realpath(np.__file__).replace("__init__.py", "libopenblas.so")
    library = {"internal_api": "openblas", "filepath": path, "architecture": "SapphireRapids"}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [library])
    assert openblas.numpy_kernels() == "SkylakeX"
