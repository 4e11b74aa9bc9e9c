"""The cache of machine code: where it is when nothing can be written, and damaged or unwritable files of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from vsebench.cli import doctor
from vsebench.numeric import compiled

resource = pytest.importorskip("resource", reason="no limits here")

KERNELS = """
from vsebench.numeric import compiled as nb
@nb.njit(nogil=True, cache=True)
def add(a, b):
    return a + b
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "my_kernels.py").write_text(KERNELS)
    return folder


def run(source: Path, most: int | None = None, **environment: str) -> tuple[int, list[str], Path | None]:
    """How many calls with two kinds of arguments were in the cache, the notes, and the folder; the sums are right.

    No file can be longer than ``most`` bytes, as on a full disk.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(compiled._config, "CACHE_DIR", environment.get("NUMBA_CACHE_DIR", ""))
        patch.setattr(compiled, "_notes", {})
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.syspath_prepend(str(source))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
        try:
            import my_kernels  # type: ignore[import-not-found]

            assert [my_kernels.add(1, 2), my_kernels.add(1.5, 2.0)] == [3, 3.5]
            return sum(my_kernels.add.stats.cache_hits.values()), compiled.notes(), compiled.folder()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            sys.modules.pop("my_kernels", None)


def test_the_cache_is_beside_the_source(source: Path) -> None:
    assert run(source)[:2] == (0, [])
    assert run(source)[:2] == (2, [])
    assert list((source / "__pycache__").glob("my_kernels.add-*.nbi"))


def nowhere(tmp_path: Path, source: Path) -> dict[str, str]:
    """An environment in which neither the folder of the source nor the home can be written."""
    (source / "__pycache__").write_text("a file where the folder should be")
    (tmp_path / "temporary").mkdir()
    home = str(tmp_path / "source" / "__pycache__" / "home")
    return {"HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": str(tmp_path / "temporary")}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the user's cache is elsewhere")
def test_where_nothing_can_be_written_a_private_temporary_folder_is_used(tmp_path: Path, source: Path) -> None:
    environment = nowhere(tmp_path, source)
    folder = tmp_path / "temporary" / f"vsebench-compiled-{os.getuid()}"
    words = (
        f"compiled code is kept in {folder}, no other cache can be written (set NUMBA_CACHE_DIR to a folder of yours)"
    )
    assert run(source, **environment)[:2] == (0, [words])
    assert run(source, **environment)[:2] == (2, [words])
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # others could have put machine code there
    hits, notes, _ = run(source, **environment)
    assert hits == 0 and notes == [
        "compiled code is not kept, so that every run compiles again: no folder can be written "
        "(set NUMBA_CACHE_DIR to a folder of yours)"
    ]


def test_a_folder_that_the_user_names_and_that_cannot_be_written_is_named(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    named = str(tmp_path / "file")
    words = (
        f"NUMBA_CACHE_DIR is {named}, which cannot be written; compiled code is kept elsewhere "
        "(set NUMBA_CACHE_DIR to a folder of yours)"
    )
    assert run(source, NUMBA_CACHE_DIR=named)[:2] == (0, [words])
    assert run(source, NUMBA_CACHE_DIR=named)[:2] == (2, [words])
    assert run(source, NUMBA_CACHE_DIR=str(tmp_path / "folder"))[:2] == (0, [])


def test_a_full_disk_costs_a_note_and_leaves_no_list_of_files_that_are_not_there(tmp_path: Path, source: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    hits, notes, _ = run(source, 1000, **cache)  # the list fits, the code does not
    assert hits == 0 and len(notes) == 1
    assert notes[0].startswith("compiled code is not kept, so that every run compiles again: ")
    assert "File too large" in notes[0] and notes[0].endswith("(set NUMBA_CACHE_DIR to a folder of yours)")
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert run(source, **cache)[:2] == (0, [])
    assert run(source, **cache)[:2] == (2, [])


@pytest.mark.parametrize(("ending", "share"), [(".nbi", 0.5), (".nbc", 0.95), (".nbc", 0.0)])
def test_truncated_files_are_replaced(ending: str, share: float, tmp_path: Path, source: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    _, _, where = run(source, **cache)
    files = [p for p in (tmp_path / "cache").rglob(f"*{ending}") if p.is_file()]
    assert where is not None and files and compiled.damaged(where) == []
    for path in files:
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert compiled.damaged(where) == sorted(files)
    assert run(source, **cache)[1] == []
    assert compiled.damaged(where) == []
    assert run(source, **cache)[:2] == (2, [])


def test_a_damaged_file_that_cannot_be_removed_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_notes", {})
    monkeypatch.setattr(compiled, "_removed", lambda path: False)
    monkeypatch.syspath_prepend(str(source))
    import my_kernels

    index = compiled._index(my_kernels.add._cache)
    index.parent.mkdir(exist_ok=True)
    index.write_bytes(b"\x80\x04")
    assert my_kernels.add(1, 2) == 3
    assert f"compiled code is damaged and compiled again in every run; delete {index}" in compiled.notes()
    del sys.modules["my_kernels"]


def test_doctor_says_the_same(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctor._compiled()
    assert (found.name, found.state, found.fix) == ("compiled code", "ok", None), found
    folder = tmp_path / "cache" / "numeric_1"
    folder.mkdir(parents=True)
    monkeypatch.setattr(compiled, "folder", lambda: folder)
    (folder / "kernels.add-1.py311.1.nbc").write_bytes(b"\x80\x04cut")
    found = doctor._compiled()
    assert found.state == "fault" and str(folder / "kernels.add-1.py311.1.nbc") in found.detail
    assert found.fix == f"delete the files in {folder}"
    monkeypatch.setattr(compiled, "folder", lambda: None)
    found = doctor._compiled()
    assert (found.state, found.fix) == ("fault", "set NUMBA_CACHE_DIR to a folder of yours")


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
    assert any(note.startswith("compiled code is not kept") and "NUMBA_CACHE_DIR" in note for note in notes)
    kernels = {
        "rank.kernels": ("pair_dots", "count", "transpose", "_row_span"),
        "numeric.sort_kernels": ("radix",),
        "metrics.tau_kernels": ("above",),
        "relevance.cider.kernels": ("image_rows", "caption_rows"),
    }
    assert {f"vsebench.{file}.{name}" for file, names in kernels.items() for name in names} <= found.keys()
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
