"""HDF5 files are read by a process that can be ended: damaged files, endless loops, crashes and interrupts."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vsebench.data.formats import hdf5_child, hdf5_file
from vsebench.data.formats.hdf5_file import hdf5_members
from vsebench.errors import BadInput

h5py = pytest.importorskip("h5py")

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((50, 8)).astype(np.float32)
ARRAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (VECTORS, {}),
    "big endian": (VECTORS.astype(">f8"), {}),
    "half": (VECTORS.astype(np.float16), {}),
    "gzip": (VECTORS, {"chunks": (7, 3), "compression": "gzip", "shuffle": True, "fletcher32": True}),
    "chunked": (VECTORS, {"chunks": (7, 8)}),
    "empty": (np.empty((0, 8), np.float32), {}),
    "integers": (np.arange(50), {}),
    "bytes": (np.array([f"id {i}".encode() for i in range(50)]), {}),
    "strings": (np.array([f"é{i}" for i in range(50)], dtype=h5py.string_dtype()), {}),
    "scalar": (np.float32(3), {}),
    "truth": (np.arange(50) % 2 == 0, {}),
}


MAPPED = ("plain", "big endian", "half", "integers", "truth", "scalar")


@pytest.mark.parametrize("how", [{}, {"libver": "latest"}, {"userblock_size": 1024}], ids=str)
def test_every_kind_of_array_is_that_of_h5py(how: dict[str, Any], tmp_path: Path, mapped: bool) -> None:
    with h5py.File(tmp_path / "a.h5", "w", **how) as file:
        for name, (array, options) in ARRAYS.items():
            file.create_dataset(f"group/{name}", data=array, **options)
    members = {member.base: member for member in hdf5_members(tmp_path / "a.h5")}
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(members) == set(ARRAYS)
        for name, member in members.items():
            node = file[f"group/{name}"]
            want = node.asstr()[...].astype(str) if name in ("strings", "bytes") else node[...]
            found = member.load()
            assert np.array_equal(found, want) and found.dtype == want.dtype and found.shape == member.shape, name
            assert isinstance(found, np.memmap) == (mapped and name in MAPPED), name
            assert member.stored == node.id.get_storage_size()


def test_large_arrays_come_in_blocks_of_complete_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        node = file.create_dataset("a", data=VECTORS, chunks=(7, 3))
        monkeypatch.setattr(hdf5_child, "BLOCK", 500)  # fifteen rows
        blocks = list(hdf5_child._blocks(node))
    assert [len(block) for block in blocks] == [14, 14, 14, 8]
    assert np.array_equal(np.concatenate(blocks), VECTORS)


def child(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run another program in place of the reader."""
    monkeypatch.setattr(hdf5_file, "_START", program.replace("{", "{{").replace("}", "}}"))


DESCRIBED = (
    'import sys; print(\'{"members": [{"name": "a", "shape": [2], "dtype": "float32", "nbytes": 8, "stored": 8,'
    ' "outside": false, "offset": null, "format": "<f4"}]}\', flush=True); sys.stdin.readline();'
)
ENDLESS = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n" + ENDLESS


@pytest.mark.skipif(sys.platform == "win32", reason="no limits here")
def test_a_loop_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, LIMITED)
    with pytest.raises(BadInput, match=r"a\.h5: is a truncated or damaged HDF5 file \(.* did not come to an end\)"):
        hdf5_members(tmp_path / "a.h5")
    child(monkeypatch, DESCRIBED + LIMITED.replace("\n", ";", 1))
    (member,) = hdf5_members(tmp_path / "a.h5")
    with pytest.raises(BadInput, match=r"data set 'a' cannot be read \(the HDF5 library did not come to an end\)"):
        member.load()


def test_where_the_system_has_no_limit_the_reader_is_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, ENDLESS)
    monkeypatch.setattr(hdf5_file, "SECONDS", 0.2)
    with pytest.raises(BadInput, match="is a truncated or damaged HDF5 file"):
        hdf5_members(tmp_path / "a.h5")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits here")
def test_the_reader_limits_its_own_computing(tmp_path: Path) -> None:
    code = "from vsebench.data.formats import hdf5_child as c\nc._allow(1)\nwhile True: pass"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGXCPU


def says(*lines: str, end: str = "") -> str:
    """A program that writes these lines, and ``end`` without a newline."""
    return f"import sys; sys.stdout.write({''.join(line + chr(10) for line in lines) + end!r})"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import os; os.abort()", "the HDF5 library crashed"),
        (says(end='{"members": ['), "the HDF5 library crashed"),
        (says('{"error": "bad superblock\\nand more"}'), r"HDF5 file \(bad superblock\)"),
        (
            DESCRIBED + says('{"shape": [2], "dtype": "<f4"}', end="1234"),
            "'a' cannot be read .the HDF5 library crashed",
        ),
        (DESCRIBED + says('{"shape": [3]}', '["a", "b"]'), "'a' cannot be read .cannot reshape"),
        (DESCRIBED + "import os; os.abort()", "'a' cannot be read .the HDF5 library crashed"),
    ],
)
def test_a_reader_that_fails_is_an_error_of_the_file(
    program: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child(monkeypatch, program)
    with pytest.raises(BadInput, match=why):
        [member.load() for member in hdf5_members(tmp_path / "a.h5")]


def test_no_reader_outlives_its_arrays(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=VECTORS, compression="gzip")
    members = hdf5_members(tmp_path / "a.h5")
    process = members[0].load.__closure__[0].cell_contents.process  # type: ignore[attr-defined]
    assert process.poll() is None
    del members
    gc.collect()
    assert process.poll() is not None


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_reads_a_damaged_file_heeds_signals(number: int, tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    code = (
        "import sys\nfrom vsebench.data.formats import hdf5_file\n"
        f"hdf5_file._START = {ENDLESS!r}\n"
        "from vsebench.cli import main\nprint('ready', flush=True)\nmain()\n"
    )
    args = [sys.executable, "-c", code, "eval", str(tmp_path / "a.h5")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as running:
        assert running.stdout is not None and running.stdout.readline() == b"ready\n"
        timer = threading.Timer(2.0, lambda: running.send_signal(number))
        timer.start()
        started = time.monotonic()
        running.communicate(timeout=60)
        assert time.monotonic() - started < 40
    assert running.returncode == (130 if number == signal.SIGINT else 128 + number)


def test_damaged_files_end_with_an_error_or_an_array(tmp_path: Path) -> None:
    """Bytes changed at random in small files of both layouts."""
    rng = np.random.default_rng(1)
    for how in ({}, {"libver": "latest"}):
        with h5py.File(tmp_path / "a.h5", "w", **how) as file:
            file.create_dataset("a", data=VECTORS[:4], chunks=(2, 8), compression="gzip")
            file["ids"] = [f"id {i}" for i in range(4)]
        good = (tmp_path / "a.h5").read_bytes()
        for _ in range(5):
            data = bytearray(good)
            for at in rng.integers(0, len(data), 20):
                data[at] = rng.integers(256)
            (tmp_path / "b.h5").write_bytes(bytes(data))
            try:
                for member in hdf5_members(tmp_path / "b.h5"):
                    member.load()
            except BadInput as error:
                assert "b.h5" in str(error) and "fix: " in str(error)
