"""What the first ranking compiles: every kernel once, for one kind of arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPILE = """
import json
import numpy as np
import vsebench as vb
from vsebench.rank import kernels
rng = np.random.default_rng(0)
images, texts = rng.standard_normal((300, 40)), rng.standard_normal((1500, 40))
vb.evaluate(images, texts, captions_per_image=5, metrics="recall", trust=True, ci=0, backend="numpy")
found = {name: len(f.signatures) for name, f in vars(kernels).items() if hasattr(f, "signatures")}
print(json.dumps({name: n for name, n in found.items() if n}))
"""


@pytest.mark.slow
def test_every_kernel_is_compiled_once(tmp_path: Path) -> None:
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=empty, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {"pair_dots", "count_rows", "count_columns", "_compare_rows"} <= found.keys()
    assert set(found.values()) == {1}, found
