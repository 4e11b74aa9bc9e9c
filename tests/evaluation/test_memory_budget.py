"""``--memory``: what does not fit is mapped or copied to a temporary file, in parts, and no digit changes."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.gates import gate
from tests.memory import peak, resident
from vsebench import memory
from vsebench.data.formats import spool
from vsebench.data.read import read_embeddings
from vsebench.errors import BadInput, DiskError, UsageError
from vsebench.numeric import parallel
from vsebench.rank import observe as observing
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot, Matrix

RNG = np.random.default_rng(7)
IMAGES = RNG.standard_normal((60, 48)).astype(np.float32)
TEXTS = (np.repeat(IMAGES, 5, axis=0) + RNG.standard_normal((300, 48))).astype(np.float32)


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No array is small enough to be held in memory."""
    monkeypatch.setattr(spool, "SHARE", 1 << 62)
    yield


def values(report: vb.Report) -> dict[str, list[float]]:
    """The values of every query."""
    return {str(r.metric) + r.direction: r.per_query.tolist() for r in report.results if r.per_query is not None}


def save(path: Path, how: str) -> Path:
    """The vectors in a file that cannot be mapped as it is, or can."""
    arrays: dict[str, Any] = {"image_embeddings": IMAGES, "text_embeddings": TEXTS}
    if how == "float16":
        arrays = {name: x.astype(np.float16) for name, x in arrays.items()}
    if how == "fortran":
        arrays = {name: np.asfortranarray(x) for name, x in arrays.items()}
    if how == "big-endian":
        arrays = {name: x.astype(">f4") for name, x in arrays.items()}
    (np.savez_compressed if how in ("compressed", "fortran") else np.savez)(path, **arrays)
    return path


@pytest.mark.parametrize("how", ["compressed", "stored", "float16", "fortran", "big-endian"])
def test_every_way_of_storing_gives_the_same_values(tmp_path: Path, how: str, nothing_fits: None) -> None:
    path = save(tmp_path / "e.npz", how)
    found = vb.evaluate(path, metrics="R@1,R@5,MedR", ci=0, captions_per_image=5, memory="8G")
    images, texts = (x.astype(np.float16 if how == "float16" else np.float32) for x in (IMAGES, TEXTS))
    expected = vb.evaluate(images, texts, metrics="R@1,R@5,MedR", ci=0, captions_per_image=5)
    assert values(found) == values(expected)
    assert any("to a temporary file of" in note for note in found.notes), found.notes


def test_aligned_file_is_mapped_without_a_copy(tmp_path: Path, nothing_fits: None) -> None:
    for name, array in (("i.npy", IMAGES), ("t.npy", TEXTS)):
        np.save(tmp_path / name, array)
    with spool.notes() as said:
        raw = read_embeddings(tmp_path / "i.npy", texts=tmp_path / "t.npy")
    assert isinstance(raw.images, np.memmap) and isinstance(raw.texts, np.memmap) and not said


def test_without_a_note_where_everything_fits(tmp_path: Path) -> None:
    found = vb.evaluate(save(tmp_path / "e.npz", "compressed"), metrics="R@1", ci=0, captions_per_image=5)
    assert not any("temporary" in note for note in found.notes)


def test_truncated_compressed_member(tmp_path: Path, nothing_fits: None) -> None:
    path = save(tmp_path / "e.npz", "compressed")
    content = bytearray(path.read_bytes())
    content[2000] ^= 255
    path.write_bytes(bytes(content))
    with pytest.raises(BadInput, match="is damaged"):
        vb.evaluate(path, metrics="R@1", captions_per_image=5)


def test_full_disk(tmp_path: Path, nothing_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DiskError, match=r"a temporary file of .* cannot be written: No space left") as caught:
        vb.evaluate(save(tmp_path / "e.npz", "compressed"), metrics="R@1", captions_per_image=5)
    assert "TMPDIR" in str(caught.value.fix)


def test_a_temporary_file_is_not_in_memory(nothing_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (Path("/dev/shm").is_dir() and spool.in_memory("/dev/shm") and not spool.in_memory("/var/tmp")):
        pytest.skip("needs a folder in memory, and one on disk")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/dev/shm")
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    with spool.notes() as said:
        spool.room((5, 3), np.float32, "x")
        monkeypatch.setenv("TMPDIR", "/dev/shm")  # the user knows better
        spool.room((5, 3), np.float32, "x")
    assert said[0].endswith(" in /var/tmp") and said[1].endswith(" in /dev/shm")


@pytest.mark.parametrize("size", ["many", "2X", "", "-1G"])
def test_no_size(size: str) -> None:
    with pytest.raises(UsageError, match="memory is '"):
        vb.evaluate(IMAGES, TEXTS, memory=size)


def test_budget_below_what_is_taken() -> None:
    with pytest.raises(UsageError, match="the process has taken") as caught:
        vb.evaluate(IMAGES, TEXTS, memory="1M")
    assert "give at least" in str(caught.value.fix)


def test_the_limit_is_what_is_left_of_the_budget() -> None:
    used = memory.used_memory()
    if not used:
        pytest.skip("the memory of a process is known on Linux")
    with memory.budget(used + (200 << 20)):
        assert 0 < memory.memory_limit() <= 200 << 20 and memory.is_limited()
        with pytest.raises(BadInput, match=r"are left of the budget \(memory\)"):
            memory.require(300 << 20)
    assert not memory.is_limited()


def test_threads_have_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_NUM_THREADS", "3")
    found: list[tuple[bool, int]] = []
    meet = threading.Barrier(3)  # so that every item is worked on by a thread of its own

    def ask(*_: int) -> None:
        meet.wait(10)
        found.append((threading.current_thread() is threading.main_thread(), memory.memory_limit()))

    nbytes = memory.used_memory() + (200 << 20)
    parallel.each(ask, range(3))  # the threads of the pool are there before the budget is
    with memory.budget(nbytes):
        found.clear()
        parallel.spread(ask, 3, 3)
        parallel.each(ask, range(3))
        parallel.in_threads(ask, 3, threading.Event())
    assert len(found) == 9 and not any(main for main, _ in found)
    assert all(limit <= nbytes for _, limit in found), found
    parallel.each(ask, range(3))
    assert not any(limit <= nbytes for _, limit in found[9:]), "the budget ends with its block"


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("kind", ["vectors", "matrix", "mapped matrix"])
def test_lists_in_parts(direction: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    images, texts = (rng.integers(-2, 3, (n, 6)).astype(np.float32) for n in (37, 90))
    scorer: Any = Dot(images, texts)
    if kind != "vectors":
        order = (rng.permutation(37), rng.permutation(90)) if kind == "mapped matrix" else (None, None)
        scorer = Matrix(images @ texts.T, *order)
    expected = observe(scorer, [], depth={direction: 7})[direction].top
    monkeypatch.setattr(observing, "SHARE", memory.memory_limit() // (5 * observing.buffer_bytes(7, 90, 4)))
    parts = observing._parts(scorer, direction, 7)
    found = observe(scorer, [], depth={direction: 7})[direction].top
    assert len(parts) > 5 and expected is not None and found is not None
    assert (found.items == expected.items).all() and (found.scores == expected.scores).all()


def test_converted_in_pieces_takes_little_memory(nothing_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "PIECE", 1 << 16)
    array, rows = np.arange(4 << 20, dtype=np.float64).reshape(-1, 16), np.arange(1 << 18)[::-1].copy()
    assert peak(lambda: spool.converted(array, np.float32, rows, "x")) < 1
    assert (spool.converted(array, np.float32, rows, "x") == array[::-1].astype(np.float32)).all()


def test_pages_of_mapped_files_are_released(
    tmp_path: Path, nothing_fits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not memory.used_memory():
        pytest.skip("the memory of a process is known on Linux")
    rng = np.random.default_rng(0)
    for name, n in (("i.npy", 2_000), ("t.npy", 40_000)):
        np.save(tmp_path / name, rng.standard_normal((n, 256), dtype=np.float32))
    raw = read_embeddings(tmp_path / "i.npy", texts=tmp_path / "t.npy")

    before = resident()
    assert raw.texts.sum() and resident() - before > 30
    memory.release(raw.images, raw.texts[5:], IMAGES)
    assert resident() - before < 10


def test_a_budget_changes_no_value(tmp_path: Path, nothing_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("vsebench.rank.exact", "vsebench.memory"):
        monkeypatch.setattr(f"{module}.RELEASED", 1 << 12)
    for name, array in (("i.npy", IMAGES), ("t.npy", TEXTS)):
        np.save(tmp_path / name, array)
    found = vb.evaluate(
        tmp_path / "i.npy", tmp_path / "t.npy", metrics="R@1,MedR", ci=0, captions_per_image=5, memory="8G"
    )
    assert values(found) == values(vb.evaluate(IMAGES, TEXTS, metrics="R@1,MedR", ci=0, captions_per_image=5))


@pytest.mark.parametrize("similarity", gate(["dot", "cosine"], "dot"))
@pytest.mark.parametrize("backend", gate(["numpy", "torch:cpu", "faiss"], "numpy"))
def test_resident_pages_of_mapped_files_stay_few(
    tmp_path: Path, backend: str, similarity: str, nothing_fits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not memory.used_memory():
        pytest.skip("the memory of a process is known on Linux")
    pytest.importorskip(backend.partition(":")[0])
    rng = np.random.default_rng(0)
    images = rng.standard_normal((1_100, 512), dtype=np.float32)
    for name, array in (("i.npy", images), ("t.npy", np.repeat(images, 30, axis=0))):  # 2 and 64 MiB
        array += rng.random(array.shape, np.float32)
        np.save(tmp_path / name, array / np.linalg.norm(array, axis=1, keepdims=True))
    found: list[int] = []

    def growth(size: str | None) -> tuple[int, dict[str, list[float]]]:
        """By how much the resident pages grow while it is ranked, and the values."""
        vb.evaluate(IMAGES, TEXTS, metrics="R@1", ci=0, captions_per_image=5, backend=backend)  # imports
        found[:] = [resident()]
        ranking, end = threading.Event(), threading.Event()

        def look() -> None:
            ranking.wait()
            while not end.is_set():
                found.append(resident())

        looking = threading.Thread(target=look)
        looking.start()
        report = vb.evaluate(
            tmp_path / "i.npy", tmp_path / "t.npy", metrics="R@1,R@10", ci=0, captions_per_image=30, memory=size,
            backend=backend, similarity=similarity, progress=lambda *_: ranking.set(),
        )  # fmt: skip
        end.set()
        ranking.set()
        looking.join()
        return max(found) - found[0], values(report)

    most, expected = growth(None)
    assert most > 40
    for module in ("vsebench.rank.exact", "vsebench.memory", "vsebench.rank.faiss_index"):
        monkeypatch.setattr(f"{module}.RELEASED", 4 << 20)
    most, under = growth("16G")
    assert most < 20 and under == expected
