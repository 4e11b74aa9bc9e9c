"""The same digits on every processor: child processes simulate other ones.

OpenBLAS, numpy and the C library each choose their code by the features of the processor, and each can be told to
choose another. Numbers that are rounded in another order, or by another logarithm, then differ in their last bits.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings
from decimal import Decimal, getcontext, localcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gates import gate
from tests.processor_digits import every_kind
from vsebench.numeric import elementary, openblas
from vsebench.relevance.sources import kinds_of_gains

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__  # type: ignore[import-not-found]

BEYOND_BASELINE = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
OLD_LIBC = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"
PROCESSORS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(
        name for name in BEYOND_BASELINE.split() if name.startswith("AVX512"))},
    "Prescott": {
        "OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": BEYOND_BASELINE, "GLIBC_TUNABLES": OLD_LIBC,
    },
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    # compiles every kernel again, for a processor without AVX
    "x86-64": {"OPENBLAS_CORETYPE": "Prescott", "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""},
}  # fmt: skip
NEEDS = {"Haswell": "avx2", "Prescott": "pni", "SkylakeX": "avx512f", "x86-64": "pni"}


@cache
def digits(processor: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """What ``tests.processor_digits`` prints on a processor; on this one by default."""
    given = {k: v for k, v in os.environ.items() if k != openblas.VARIABLE}
    given |= {k: v for k, v in PROCESSORS.get(processor, {}).items() if v or k.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.processor_digits"], env=given, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded, found = json.loads(done.stdout)
    return loaded, found


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("processor", gate(PROCESSORS, "Prescott"))
def test_every_kind_of_gains_and_complete_evaluations(processor: str) -> None:
    pytest.importorskip("ot", reason="POT is not installed (extra: wmd)")
    known = Path("/proc/cpuinfo")
    if not known.is_file() or NEEDS[processor] not in known.read_text().split():
        pytest.skip("the features of this processor are not known, or it has another instruction set")
    (loaded, here), (loaded_there, there) = digits(), digits(processor)
    assert [kind for kind in here if there[kind] != here[kind]] == [] and here["hard vectors"] == "[]"
    if loaded:  # the BLAS of faiss takes the kernels of numpy's, but where the user has named some
        assert loaded["torch is first"] and loaded["variable"] is None
        kernels, named = loaded["kernels"], PROCESSORS[processor]["OPENBLAS_CORETYPE"]
        assert kernels.get("faiss") in (None, openblas.KERNELS.get(kernels.get("numpy"), kernels["faiss"]))
        assert loaded_there["variable"] == named == loaded_there["kernels"].get("faiss", named)


def test_every_kind_is_among_them(tmp_path: Path) -> None:
    pytest.importorskip("ot", reason="POT is not installed (extra: wmd)")
    assert {gains.name for _, gains in every_kind(tmp_path, np.random.default_rng(7))} == set(kinds_of_gains())


@pytest.mark.parametrize("name", ["log", "log2", "exp"])
def test_functions_are_rounded_correctly(name: str) -> None:
    # Farther than 1e-3 of a unit in the last place from a tie, so that 50 digits decide.
    given = [*range(1, 2000), 24_999, 0.1, 1 / 3, 1e-300, 1e300]
    numbers = [float(x) if name != "exp" else -float(x) / 72 for x in given if name != "exp" or x < 2000]
    with localcontext() as context:
        context.prec = 50
        exact = {
            "log": lambda x: Decimal(x).ln(), "log2": lambda x: Decimal(x).ln() / Decimal(2).ln(),
            "exp": lambda x: Decimal(x).exp(),
        }[name]  # fmt: skip
        want = [float(exact(x)) for x in numbers]
    assert getattr(elementary, name)(numbers).tolist() == want


def test_arguments_beyond_float64() -> None:
    assert elementary.exp([-745.2, -1e6, -np.inf]).tolist() == [0, 0, 0]
    assert elementary.exp(-745.0) == math.exp(-745) > 0
    assert elementary.log2([2.0**-1022, 1, 8, 2.0**1000]).tolist() == [-1022, 0, 3, 1000]
    assert elementary.log(np.ones((2, 3))).shape == (2, 3) and elementary.log(np.empty((0, 2))).shape == (0, 2)
    assert getcontext().prec == 28  # the digits of the caller stay


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_functions_are_those_of_the_library_up_to_rounding(numbers: list[float]) -> None:
    assert elementary.log(numbers) == pytest.approx(np.log(numbers), rel=1e-15, abs=1e-15)
    assert elementary.log2(numbers) == pytest.approx(np.log2(numbers), rel=1e-15, abs=1e-15)
