"""Which kernels the OpenBLAS of another package uses.

Packages bring an OpenBLAS of their own, which chooses its kernels when it is loaded. An old one does not know a new
processor and takes those of the oldest: the products of ``faiss-cpu`` 1.15 then take four times as long. Numpy's is
newer, so the kernels that it has chosen are named to the other one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "OPENBLAS_CORETYPE"
# Kernels that numpy's OpenBLAS may have chosen, and those to name: old versions know no later than SkylakeX.
KERNELS = {"Haswell": "Haswell", "Zen": "Zen"} | dict.fromkeys(("SkylakeX", "Cooperlake", "SapphireRapids"), "SkylakeX")


def numpy_kernels() -> str | None:
    """The kernels of numpy's OpenBLAS, by a name that old versions know too; None for another BLAS or processor."""
    import numpy as np
    import threadpoolctl

    beside = str(Path(np.__file__).resolve().parent)  # its libraries are in this folder or in numpy.libs
    for library in threadpoolctl.threadpool_info():
        if library["internal_api"] == "openblas" and str(Path(library["filepath"]).resolve()).startswith(beside):
            return KERNELS.get(library["architecture"])
    return None


@contextlib.contextmanager
def kernels_of_numpy() -> Iterator[None]:
    """An OpenBLAS that is loaded inside uses the kernels of numpy's, unless the user has named others."""
    kernels = None if VARIABLE in os.environ else numpy_kernels()
    if kernels is None:
        yield
        return
    os.environ[VARIABLE] = kernels
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
