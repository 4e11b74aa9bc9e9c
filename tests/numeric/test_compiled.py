"""The cache of machine code: where it is when nothing can be written, and damaged or unwritable files of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vsebench.cli import doctor
from vsebench.numeric import compiled

resource = pytest.importorskip("resource", reason="no limits here")

KERNELS = """
from vsebench.numeric import compiled as nb
@nb.njit(nogil=True)
def add(a, b):
    return a + b
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "my_kernels.py").write_text(KERNELS)
    return folder


def run(source: Path, most: int | None = None, **environment: str) -> tuple[int, list[str]]:
    """How many calls with two kinds of arguments were in the cache, and the notes; the sums are right.

    No file can be longer than ``most`` bytes, as on a full disk.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(compiled.numba.config, "CACHE_DIR", environment.get("NUMBA_CACHE_DIR", ""))
        patch.setattr(compiled, "notes", [])
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.syspath_prepend(str(source))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
        try:
            import my_kernels  # type: ignore[import-not-found]

            assert [my_kernels.add(1, 2), my_kernels.add(1.5, 2.0)] == [3, 3.5]
            return sum(my_kernels.add.stats.cache_hits.values()), compiled.notes
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            sys.modules.pop("my_kernels", None)


def test_the_cache_is_beside_the_source(source: Path) -> None:
    assert run(source) == (0, [])
    assert run(source) == (2, [])
    assert list((source / "__pycache__").glob("my_kernels.add-*.nbi"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the user's cache is elsewhere")
def test_where_nothing_can_be_written_kernels_are_compiled(tmp_path: Path, source: Path) -> None:
    (source / "__pycache__").write_text("a file where the folder should be")
    home = str(source / "__pycache__" / "home")
    for _ in range(2):
        assert run(source, HOME=home, XDG_CACHE_HOME=home) == (0, [compiled.NO_CACHE])


def test_a_folder_of_the_user_is_used_if_it_can_be_written(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    assert [run(source, NUMBA_CACHE_DIR=str(tmp_path / "file")) for _ in range(2)] == [(0, []), (2, [])]
    assert run(source, NUMBA_CACHE_DIR=str(tmp_path / "folder")) == (0, [])


def test_a_full_disk_costs_a_note_and_leaves_no_list_of_files_that_are_not_there(tmp_path: Path, source: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(source, 1000, **cache) == (0, [compiled.NO_CACHE])  # the list fits, the code does not
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert [run(source, **cache) for _ in range(2)] == [(0, []), (2, [])]


@pytest.mark.parametrize(("ending", "share"), [(".nbi", 0.5), (".nbc", 0.95), (".nbc", 0.0)])
def test_truncated_files_are_replaced(ending: str, share: float, tmp_path: Path, source: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(source, **cache)
    files = [p for p in (tmp_path / "cache").rglob(f"*{ending}") if p.is_file()]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert run(source, **cache)[1] == []
    assert run(source, **cache) == (2, [])


def test_doctor_says_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = doctor.examine("compiled code")
    assert (found.state, found.detail, found.fix) == ("ok", str(compiled.folder()), None)
    monkeypatch.setattr(compiled, "folder", lambda: None)
    (found,) = doctor.examine("compiled code")
    assert (found.state, found.fix) == ("fault", compiled.FIX)


# What the first evaluation compiles: every kernel once, for one kind of arguments. No file can be written.
COMPILE = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np
import vsebench as vb
rng = np.random.default_rng(0)
images, texts = rng.standard_normal((300, 40)), rng.standard_normal((1500, 40))
captions = [" ".join(rng.choice(["a", "red", "dog", "on", "grass", "near", "two", "cats"], 7)) for _ in texts]
options = {"captions_per_image": 5, "captions": captions, "trust": True, "backend": "numpy"}
report = vb.evaluate(images, texts, metrics="recall,cs,ncs,ndcg,sr,NCS@3", **options)
modules = [module for name, module in sys.modules.items() if name.startswith("vsebench") and name.endswith("kernels")]
found = {}
for module in modules:
    for name, f in vars(module).items():
        if hasattr(f, "signatures") and f.py_func.__module__ == module.__name__ and f.signatures:
            found[f"{module.__name__}.{name}"] = [str(s) for s in f.signatures]
print(json.dumps([found, report.notes]))
"""


@pytest.mark.slow
def test_every_kernel_is_compiled_once_also_on_a_full_disk(tmp_path: Path) -> None:
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=empty, capture_output=True, text=True, check=True)
    found, notes = json.loads(done.stdout)
    assert compiled.NO_CACHE in notes
    kernels = {
        "rank.kernels": ("pair_dots", "count", "transpose", "_row_span"),
        "numeric.sort_kernels": ("radix",),
        "metrics.tau_kernels": ("above",),
        "relevance.cider.kernels": ("image_rows", "caption_rows"),
    }
    assert {f"vsebench.{file}.{name}" for file, names in kernels.items() for name in names} <= found.keys()
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
