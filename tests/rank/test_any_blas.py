"""Orders, lists and ranks are exact whatever the rounding errors of the BLAS: vectors that make them large."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.gates import gate
from tests.hard_vectors import hard_vectors, outliers
from vsebench.rank import order as ordering
from vsebench.rank.scorers import Dot

# A name of OpenBLAS, which selects other kernels of it, and the feature of the processor that these need.
KERNELS = {"": "", "Prescott": "pni", "Haswell": "avx2", "SkylakeX": "avx512f"}


@pytest.mark.parametrize("kernels", gate(KERNELS, "Prescott"))
def test_hard_vectors(kernels: str) -> None:
    found = Path("/proc/cpuinfo")
    if kernels and not (found.is_file() and KERNELS[kernels] in found.read_text().split()):
        pytest.skip(f"no processor for the {kernels} kernels")
    done = subprocess.run(
        [sys.executable, "-m", "tests.hard_vectors"],
        env=os.environ | {"OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["done"]


@pytest.mark.parametrize("dim", [3, 100, 1024])
def test_errors_stay_within_the_bounds(dim: int, rng: np.random.Generator) -> None:
    for name, images, captions, exact in (*hard_vectors(dim, rng), *outliers(dim)):
        scorer = Dot(images, captions)
        for k in (1, len(captions)):
            queries = np.arange(len(images))
            tile, bound = ordering.float64_rows(scorer, "i2t", queries, None)
            if k == 1:
                bound = ordering.float32_bound(scorer, "i2t", queries)
                tile = scorer.block(slice(None), slice(None))
            error = tile.astype(np.float64) - exact
            if k > 1:  # a number is subtracted from all scores of a query
                error = tile - (exact - exact[:, :1]) - tile[:, :1].astype(np.float64)
            allowed = bound.rate * (np.abs(tile) + np.abs(tile[:, :1]) * (k > 1)) + (1 + (k > 1)) * bound.base[:, None]
            assert (np.abs(error) <= allowed).all(), (name, k)
