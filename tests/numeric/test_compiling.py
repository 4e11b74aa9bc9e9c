"""What the first evaluation compiles: every kernel once, for one kind of arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPILE = """
import json
import sys
import numpy as np
import vsebench as vb
rng = np.random.default_rng(0)
images, texts = rng.standard_normal((300, 40)), rng.standard_normal((1500, 40))
captions = [" ".join(rng.choice(["a", "red", "dog", "on", "grass", "near", "two", "cats"], 7)) for _ in texts]
options = {"captions_per_image": 5, "captions": captions, "trust": True, "backend": "numpy"}
vb.evaluate(images, texts, metrics="recall,cs,ncs,ndcg,sr,NCS@3", **options)
modules = [module for name, module in sys.modules.items() if name.startswith("vsebench") and name.endswith("kernels")]
found = {}
for module in modules:
    for name, f in vars(module).items():
        if hasattr(f, "signatures") and f.py_func.__module__ == module.__name__ and f.signatures:
            found[f"{module.__name__}.{name}"] = [str(s) for s in f.signatures]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_every_kernel_is_compiled_once(tmp_path: Path) -> None:
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=empty, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    kernels = {
        "rank.kernels": ("pair_dots", "count_rows", "count_columns", "_compare_rows"),
        "numeric.sort_kernels": ("radix",),
        "metrics.tau_kernels": ("above",),
        "relevance.cider.kernels": ("image_rows", "caption_rows"),
    }
    assert {f"vsebench.{file}.{name}" for file, names in kernels.items() for name in names} <= found.keys()
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
