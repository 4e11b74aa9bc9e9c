"""Building tuples with a worker that is killed and fails on captions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.spice_fake import fake_worker, requested, store_tuples, workers
from vsebench.errors import BadInput, DiskError, MissingPackage
from vsebench.files import store
from vsebench.relevance.spice import build as spice_build
from vsebench.relevance.spice import file as tuple_cache
from vsebench.relevance.spice.build import Built
from vsebench.relevance.spice.file import Tuples, normal

ROOT = Path(__file__).resolve().parents[2]
CAPTIONS = [f"caption number {name}" for name in ("one", "two", "three", "four", "five", "six", "seven", "eight",
            "nine", "ten", "eleven")]  # fmt: skip


@pytest.fixture(autouse=True)
def log(tmp_path, cache):
    """The folder for the logs of the workers."""
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


@contextmanager
def faked(log: Path, chunk: int = 3, pause: float = 0.0) -> Iterator[None]:
    """The fake worker, three captions a chunk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spice_build, "COMMAND", fake_worker(log, pause))
        patch.setattr(spice_build, "CHUNK_CAPTIONS", chunk)
        patch.setattr(spice_build, "_settings", lambda *_: {})
        yield


def build(log: Path, captions: list[str], *, chunk: int = 3, **options: Any) -> Built:
    with faked(log, chunk):
        return spice_build.build(captions, **options)


def tuples_of(caption: str) -> tuple[tuple[str, ...], ...]:
    """The tuples of a caption by the fake worker."""
    return tuple((word,) for word in caption.split())


def check(captions: list[str], broken: set[str] = frozenset()) -> None:
    """The cache has the tuples of the fake worker."""
    loaded = tuple_cache.load_tuples(captions)
    assert loaded.broken.keys() == broken
    for caption in captions:
        expected = () if caption in broken else tuples_of(caption)
        assert loaded.tuples[loaded.row[normal(caption)]] == expected
    assert loaded.synsets.keys() == {w for c in captions if c not in broken for w in c.split()}
    assert all(ids == {len(word)} for word, ids in loaded.synsets.items())


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"


def test_every_distinct_caption_is_parsed_once(log):
    progress: list[tuple[int, int]] = []
    captions = [*CAPTIONS, "  caption   number\none ", CAPTIONS[3], ""]
    done = build(log, captions, progress=lambda n, total: progress.append((n, total)))
    assert (done.captions, done.before, done.parsed) == (12, 0, 12)
    assert done.broken == {}
    assert sorted(requested(log)) == sorted(CAPTIONS)
    check(captions)
    assert progress[-1] == (11, 11)
    assert [n for n, _ in progress] == sorted(n for n, _ in progress)
    assert all(ended(pid) for pid in workers(log))


def test_only_missing_captions_are_parsed(log):
    build(log, CAPTIONS[:6])
    done = build(log, CAPTIONS)
    assert (done.before, done.parsed) == (6, 5)
    done = build(log, CAPTIONS)
    assert (done.captions, done.before, done.parsed) == (11, 11, 0)
    assert sorted(requested(log)) == sorted(CAPTIONS) and len(workers(log)) == 2


@pytest.mark.parametrize("word", ["KILL", "MEMORY"])
def test_a_caption_that_ends_the_worker_is_found(log, word):
    bad = f"caption with {word} inside"
    noted: list[str] = []
    done = build(log, [*CAPTIONS[:5], bad, *CAPTIONS[5:]], note=noted.append)
    assert done.broken.keys() == {bad}
    reason = {"KILL": "killed by signal 9", "MEMORY": "Java ran out of memory (more: java_heap)"}[word]
    assert reason in done.broken[bad]
    assert any(bad in line for line in noted)
    check([*CAPTIONS, bad], {bad})
    assert all(ended(pid) for pid in workers(log))


def test_several_failures(log):
    bad = {"KILL one", "MEMORY two", "KILL three", "BROKEN four"}
    done = build(log, [*CAPTIONS[:4], *sorted(bad), *CAPTIONS[4:]], chunk=100)
    assert done.broken.keys() == bad
    check([*CAPTIONS, *bad], bad)


def test_after_a_single_kill_no_caption_is_broken(log):
    captions = [*CAPTIONS, "caption with KILLONCE inside"]
    noted: list[str] = []
    done = build(log, captions, note=noted.append)
    assert done.broken == {}
    assert any("killed by signal 9" in line and "tried again" in line for line in noted)
    assert len(workers(log)) == 2
    check(captions)


def test_broken_captions_are_tried_again(log):
    store_tuples(Tuples((CAPTIONS[0],), ((),), {}, {CAPTIONS[0]: "an unlucky day"}))
    captions = [*CAPTIONS, "caption with BROKEN inside"]
    for before in (0, 11):
        done = build(log, captions)
        assert (done.before, done.parsed) == (before, 12 - before)
        assert done.broken == {"caption with BROKEN inside": "NullPointerException: null"}
    check(captions, {captions[-1]})


def test_a_java_that_does_not_work_ends_the_build(log, refuses):
    (log / "fatal").touch()
    refuses(MissingPackage, build, log, CAPTIONS)
    assert tuple_cache.stored().texts == ()
    (log / "fatal").unlink()
    build(log, CAPTIONS)
    check(CAPTIONS)


def test_after_an_interrupt_the_finished_chunks_are_stored(log):
    def interrupt(done: int, total: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(log, CAPTIONS, progress=interrupt)
    assert all(ended(pid) for pid in workers(log))
    before = len(tuple_cache.stored().texts)
    assert 6 <= before < 11
    assert build(log, CAPTIONS).before == before


def test_a_killed_build_is_continued(log):
    code = (
        f"from vsebench.relevance.spice import build as b\n"
        f"b.COMMAND, b.CHUNK_CAPTIONS, b._settings = {fake_worker(log, 0.1)!r}, 1, lambda *_: {{}}\n"
        f"b.build({CAPTIONS!r})"
    )
    first = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    limit = time.monotonic() + 30
    while len(tuple_cache.stored().texts) < 3 and time.monotonic() < limit:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = len(tuple_cache.stored().texts)
    assert before >= 3
    done = build(log, CAPTIONS)
    assert (done.before, done.parsed) == (before, 11 - before)
    check(CAPTIONS)
    while not all(ended(pid) for pid in workers(log)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert all(ended(pid) for pid in workers(log))


def test_of_two_builds_at_a_time_one_waits_for_the_other(log):
    with faked(log, chunk=1, pause=0.02), ThreadPoolExecutor(2) as threads:
        done = list(threads.map(spice_build.build, [CAPTIONS] * 2))
    assert sorted((one.before, one.parsed) for one in done) == [(0, 11), (11, 0)]
    assert sorted(requested(log)) == sorted(CAPTIONS)
    check(CAPTIONS)


def test_a_line_that_a_killed_build_has_not_finished_is_parsed_again(log):
    build(log, CAPTIONS[:6])
    (entry,) = store.entries("spice")
    entry.path.write_bytes(entry.path.read_bytes()[:-5])
    assert len(tuple_cache.stored().texts) == 5
    assert build(log, CAPTIONS).before == 5
    check(CAPTIONS)


def test_a_damaged_file_names_the_command(log, refuses):
    build(log, CAPTIONS)
    (entry,) = store.entries("spice")
    entry.path.write_bytes(entry.path.read_bytes().replace(b'"tuples"', b'"tup\xffes"', 1))
    for use in (lambda: tuple_cache.load_tuples(CAPTIONS), lambda: build(log, CAPTIONS)):
        refuses(BadInput, use)


def test_a_cache_that_is_cleared_ends_a_build_that_writes_into_it(log, refuses):
    refuses(DiskError, build, log, CAPTIONS, progress=lambda done, total: store.clear("spice"))
    build(log, CAPTIONS)
    check(CAPTIONS)


def test_a_cache_that_cannot_be_written_ends_the_build(log, tmp_path, monkeypatch, refuses):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "file"))
    refuses(DiskError, build, log, CAPTIONS)


def test_tuples_of_other_tools_are_ignored(log, monkeypatch):
    build(log, CAPTIONS)
    monkeypatch.setattr(tuple_cache, "TOOLS", "SPICE 2.0")
    assert tuple_cache.stored().texts == ()
    assert len(store.entries("spice")) > 0
