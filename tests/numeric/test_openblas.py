"""The kernels that the OpenBLAS of another package is told to use."""

from __future__ import annotations

import os
from typing import Any

import pytest
import threadpoolctl

from vsebench.numeric import openblas


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
