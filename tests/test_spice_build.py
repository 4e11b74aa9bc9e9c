"""Building tuples with a worker that is killed, hangs, lies and meets captions it cannot parse."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spice_fake import asked, fake_worker, workers
from vsebench.data import store
from vsebench.errors import MissingPackage, UsageError
from vsebench.relevance.spice import tuples as spice_tuples
from vsebench.relevance.spice.parser import build as spice_parse
from vsebench.relevance.spice.parser.build import Built, ParserUnusable

ROOT = Path(__file__).resolve().parent.parent
CAPTIONS = [f"caption number {name}" for name in ("one", "two", "three", "four", "five", "six", "seven", "eight",
            "nine", "ten", "eleven")]  # fmt: skip


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and the folder where the workers keep their notes."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def build(notes: Path, captions: list[str], **options: Any) -> Built:
    """A build by the stand-in, three captions a chunk."""
    options = {"chunk": 3, "patience": (5.0, 0.0), **options}
    return spice_parse.build(captions, command=fake_worker(notes), **options)


def tuples_of(caption: str) -> tuple[tuple[str, ...], ...]:
    """What the stand-in makes of a caption."""
    return tuple((word,) for word in caption.split())


def check(captions: list[str], broken: set[str] = frozenset()) -> None:
    """Everything is stored as the stand-in has it."""
    loaded = spice_tuples.load_tuples(captions)
    assert loaded.broken.keys() == broken
    for caption in captions:
        expected = () if caption in broken else tuples_of(caption)
        assert loaded.tuples[loaded.row[spice_tuples.normal(caption)]] == expected
    assert loaded.synsets.keys() == {w for c in captions if c not in broken for w in c.split()}
    assert all(ids == {len(word)} for word, ids in loaded.synsets.items())


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"


def test_every_unique_caption_is_parsed_once(notes):
    progress: list[tuple[int, int]] = []
    captions = [*CAPTIONS, "  caption   number\none ", CAPTIONS[3], ""]
    done = build(notes, captions, progress=lambda n, total: progress.append((n, total)))
    assert (done.captions, done.before, done.parsed, done.shared, done.java) == (12, 0, 12, 0, "99.fake")
    assert done.broken == {}
    assert sorted(asked(notes)) == sorted(CAPTIONS)
    check(captions)
    assert progress[-1] == (11, 11)
    assert [n for n, _ in progress] == sorted(n for n, _ in progress)
    assert all(gone(pid) for pid in workers(notes))


def test_a_second_build_asks_nobody(notes):
    build(notes, CAPTIONS)
    done = build(notes, CAPTIONS)
    assert (done.captions, done.before, done.parsed, done.java) == (11, 11, 0, "")
    assert len(workers(notes)) == 1


def test_only_what_is_missing_is_parsed(notes):
    build(notes, CAPTIONS[:6])
    done = build(notes, CAPTIONS)
    assert (done.before, done.parsed) == (6, 5)
    assert sorted(asked(notes)) == sorted(CAPTIONS)


@pytest.mark.parametrize("word", ["KILL", "MEMORY", "NONSENSE", "SHORT", "CHAOS"])
def test_a_caption_that_ends_the_worker_is_found(notes, word):
    bad = f"caption with {word} inside"
    said: list[str] = []
    done = build(notes, [*CAPTIONS[:5], bad, *CAPTIONS[5:]], note=said.append)
    assert done.broken.keys() == {bad}
    reason = {
        "KILL": "killed by signal 9",
        "MEMORY": "Java ran out of memory (more: --java-heap)",
        "NONSENSE": "an answer that is no JSON",
        "SHORT": "0 answers for 1 captions",
        "CHAOS": "an answer that makes no sense",
    }[word]
    assert reason in done.broken[bad]
    assert any(bad in line for line in said)
    check([*CAPTIONS, bad], {bad})
    assert all(gone(pid) for pid in workers(notes))


def test_a_caption_that_hangs_is_found(notes):
    bad = "caption with HANG inside"
    done = build(notes, [*CAPTIONS[:2], bad], patience=(1.0, 0.0))
    assert done.broken == {bad: "no answer within 1 s"}
    check([*CAPTIONS[:2], bad], {bad})


def test_several_bad_captions_of_several_kinds(notes):
    bad = {"KILL one", "MEMORY two", "KILL three", "BROKEN four"}
    done = build(notes, [*CAPTIONS[:4], *sorted(bad), *CAPTIONS[4:]], chunk=100)
    assert done.broken.keys() == bad
    check([*CAPTIONS, *bad], bad)


def test_a_kill_at_a_bad_moment_is_no_fault_of_the_captions(notes):
    captions = [*CAPTIONS, "caption with KILLONCE inside"]
    said: list[str] = []
    done = build(notes, captions, note=said.append)
    assert done.broken == {}
    assert any("killed by signal 9" in line and "tried again" in line for line in said)
    assert len(workers(notes)) == 2
    check(captions)


def test_broken_captions_are_tried_again_only_when_asked(notes):
    captions = [*CAPTIONS, "caption with BROKEN inside"]
    assert build(notes, captions).parsed == 12
    assert build(notes, captions).parsed == 0
    done = build(notes, captions, retry=True)
    assert (done.before, done.parsed) == (11, 1)
    assert done.broken == {"caption with BROKEN inside": "NullPointerException: null"}


def test_a_retry_that_succeeds_replaces_the_failure(notes):
    spice_tuples.add(spice_tuples.Tuples((CAPTIONS[0],), ((),), {}, {CAPTIONS[0]: "an unlucky day"}))
    assert build(notes, CAPTIONS[:1]).broken == {CAPTIONS[0]: "an unlucky day"}
    assert build(notes, CAPTIONS[:1], retry=True).broken == {}
    check(CAPTIONS[:1])


def test_no_caption_is_blamed_for_a_java_that_does_not_work(notes):
    (notes / "fatal").touch()
    with pytest.raises(ParserUnusable, match=r"does not work here: OSError: no such library(?s:.)*machine is on fire"):
        build(notes, CAPTIONS)
    assert ParserUnusable.exit_code == MissingPackage.exit_code
    assert spice_tuples.stored().texts == ()
    (notes / "fatal").unlink()
    build(notes, CAPTIONS)
    check(CAPTIONS)


def test_a_worker_that_gives_other_tuples_is_not_used(notes, monkeypatch):
    monkeypatch.setattr(spice_parse, "HARMLESS_TUPLES", (("horse",),))
    with pytest.raises(ParserUnusable, match="'a man is riding a brown horse' gives"):
        build(notes, CAPTIONS)


def test_a_program_that_is_no_worker_is_named(notes):
    with pytest.raises(ParserUnusable, match="ended with status 7"):
        spice_parse.build(CAPTIONS, command=(sys.executable, "-c", "raise SystemExit(7)"))


def test_an_interrupt_ends_the_worker_and_keeps_the_chunks(notes):
    def interrupt(done: int, total: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(notes, CAPTIONS, progress=interrupt)
    assert all(gone(pid) for pid in workers(notes))
    there = len(spice_tuples.stored().texts)
    assert 6 <= there < 11
    assert build(notes, CAPTIONS).before == there


def builder(notes: Path, pause: float) -> subprocess.Popen[bytes]:
    """Another process that builds the same captions, one a chunk."""
    code = (
        f"from vsebench.relevance.spice.parser import build as p\n"
        f"d = p.build({CAPTIONS!r}, command={fake_worker(notes, pause)!r}, chunk=1)\nprint(d.parsed, d.shared)"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)


def test_a_build_killed_without_warning_goes_on_where_it_was(notes):
    first = builder(notes, 0.1)
    limit = time.monotonic() + 30
    while len(spice_tuples.pack_files()) < 3 and time.monotonic() < limit:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    there = len(spice_tuples.stored().texts)
    assert there >= 3
    done = build(notes, CAPTIONS)
    assert (done.before, done.parsed) == (there, 11 - there)
    check(CAPTIONS)
    while not all(gone(pid) for pid in workers(notes)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert all(gone(pid) for pid in workers(notes))


def test_two_builders_share_the_work(notes):
    running = [builder(notes, 0.05) for _ in range(2)]
    counts = [tuple(map(int, process.communicate()[0].split())) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    check(CAPTIONS)
    assert all(parsed + shared <= 11 for parsed, shared in counts)  # less for the one that came second
    assert 11 <= sum(parsed for parsed, _ in counts) == len(asked(notes)) < 22


def test_a_damaged_file_is_removed_and_its_captions_parsed_again(notes):
    build(notes, CAPTIONS)
    path = spice_tuples.pack_files()[0].path
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="the stored tuples are damaged"):
        spice_tuples.load_tuples(CAPTIONS)
    said: list[str] = []
    build(notes, CAPTIONS, note=said.append)
    assert any(str(path) in line and "parsed again" in line for line in said)
    check(CAPTIONS)


def test_the_files_of_a_build_are_merged(notes):
    many = [f"{one} {two}" for one in "abcdef" for two in "ghijkl"]
    build(notes, many, chunk=2)
    assert len(spice_tuples.pack_files()) == 1
    check(many)


def test_a_cache_that_cannot_be_written_ends_the_build(notes, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="cannot be written"):
        build(notes, CAPTIONS)
    assert all(gone(pid) for pid in workers(notes))


def test_tuples_of_other_tools_are_not_taken_for_ours(notes, monkeypatch):
    build(notes, CAPTIONS)
    monkeypatch.setattr(spice_tuples, "TOOLS", "SPICE 2.0")
    assert spice_tuples.stored().texts == ()
    assert len(store.entries("spice")) > 0
