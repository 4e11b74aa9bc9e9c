"""Parse captions in chunks that are stored one by one, and isolate the captions that the parser fails on.

When a worker process fails, its chunk is tried once more by a new worker; after a second failure it is halved until a
single caption is left. Every new worker parses a simple sentence first: if that fails, the parser does not work at all,
and the build ends with the output of Java.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from ....data import store
from ....errors import BadInput, MissingPackage, VsebenchError, count_of
from ....numeric import parallel
from ....options import spell
from ....text import java as java_runtime
from .. import cache
from ..file import Known, checked, synset_ids
from ..tuples import Tuples, unique
from .process import COMMAND, Worker, WorkerFailed

CHUNK = 100  # captions; one or two seconds of work, which is all that is repeated after a kill
TIME_LIMIT = (180.0, 2.0)  # seconds for a chunk, and for each caption of it; 0.03 is usual
PROBE = "a man is riding a brown horse"
PROBE_TUPLES = (("man", "horse", "ride"), ("horse", "brown"), ("horse",), ("man",))


class ParserUnusable(VsebenchError):
    """Java or the parser does not work at all on this machine; exit code 4, the message has the output of Java."""

    exit_code = MissingPackage.exit_code


@dataclass(frozen=True)
class Built:
    """The result of a build.

    Attributes:
        captions: number of distinct captions.
        before: how many of them were in the cache before, those that the parser fails on included.
        parsed: how many this build parsed.
        shared: how many another build parsed in the meantime.
        broken: the captions that the parser fails on, and the reasons.
        seconds: duration.
        java: version of Java, empty when it was not needed.
    """

    captions: int
    before: int
    parsed: int
    shared: int
    broken: Mapping[str, str]
    seconds: float
    java: str


def build(
    texts: Iterable[str],
    *,
    java: str | None = None,
    heap: str | None = None,
    threads: int | None = None,
    retry: bool = False,
    progress: Callable[[int, int], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    command: tuple[str, ...] | None = None,
    chunk: int = CHUNK,
    time_limit: tuple[float, float] = TIME_LIMIT,
) -> Built:
    """Parse the captions that are not in the cache. A build that is interrupted continues when it is started again.

    Args:
        texts: captions.
        java: a Java folder or program (see ``text.java.find_java``).
        heap: memory of Java, such as ``3G``; depends on the free memory when None.
        threads: number of captions that are parsed at the same time.
        retry: whether captions that the parser failed on before are parsed again.
        progress: called with (captions done, captions in all).
        note: called with lines of information.
        command: another worker program, for tests; needs no Java.
        chunk: captions a chunk.
        time_limit: seconds for a chunk, and for each of its captions in addition.

    Raises:
        MissingPackage: Java, JPype, pycocoevalcap or CoreNLP is missing; the message has the command to install it.
        ParserUnusable: the parser fails on a simple sentence.
        UsageError: a wrong Java or size.
        DiskError: the cache cannot be written.
        BadInput: a damaged jar.
    """
    started = monotonic()
    wanted = unique(texts)
    cached = _stored(wanted, note)
    done = set(cached.texts).difference(cached.broken if retry else ())
    missing = [text for text in wanted if text not in done]
    before = len(wanted) - len(missing)
    empty = [text for text in missing if not text]
    if empty:
        cache.add(Tuples(("",), ((),), {}))
        missing = [text for text in missing if text]
    run = _Run(missing, progress, note, chunk, time_limit)
    if missing:
        threads = threads or parallel.default_threads()
        run.settings = _settings(java, heap, threads, note) if command is None else {}
        run.command = command or COMMAND
        run.parse_all()
    cache.compact()
    failed = cache.stored(wanted).broken
    broken = {text: failed[text] for text in wanted if text in failed}
    return Built(len(wanted), before, run.parsed + len(empty), run.shared, broken, monotonic() - started, run.java)


class _Run:
    """The state of one build: the remaining captions, the worker, the packs written."""

    def __init__(
        self, missing: list[str], progress: Callable[[int, int], None] | None, note: Callable[[str], None], chunk: int,
        time_limit: tuple[float, float],
    ) -> None:  # fmt: skip
        self.remaining = dict.fromkeys(missing)
        self.total, self.parsed, self.shared, self.java = len(missing), 0, 0, ""
        self.progress, self.note, self.time_limit = progress, note, time_limit
        self.settings: dict[str, Any] = {}
        self.command: tuple[str, ...] = COMMAND
        self.worker: Worker | None = None
        self.known_packs = {entry.path for entry in cache.pack_files()}
        self.own_packs: set[Path] = set()
        self.touched = monotonic()
        self.chunks = deque(([*missing[s : s + chunk]], False) for s in range(0, len(missing), chunk))
        random.Random().shuffle(self.chunks)  # several builds at a time parse different chunks; the tuples are the same

    def parse_all(self) -> None:
        """Parse all remaining captions, chunk by chunk."""
        self._done(())
        try:
            while self.chunks:
                captions, retried = self.chunks.popleft()
                self._skip_parsed_elsewhere()
                captions = [text for text in captions if text in self.remaining]
                if not captions:
                    continue
                try:
                    self._store(captions, self._parse(captions))
                except WorkerFailed as failure:
                    self._recover(captions, retried, failure)
        finally:
            if self.worker is not None:
                self.worker.close()

    def _parse(self, captions: list[str]) -> Tuples:
        if self.worker is None:
            self.worker = self._start()
        return self._parse_with(self.worker, captions)

    def _parse_with(self, worker: Worker, captions: list[str]) -> Tuples:
        answer = worker.parse(captions, self.time_limit[0] + self.time_limit[1] * len(captions))
        known: Known = {}
        try:
            found = tuple(() if "broken" in r else checked(r.get("tuples"), "worker", known) for r in answer["results"])
            synsets = {str(word): synset_ids(ids, "worker") for word, ids in answer["synsets"].items()}
        except (BadInput, KeyError, TypeError, AttributeError) as error:
            worker.close()
            raise WorkerFailed(f"an invalid answer: {error}") from error
        results = zip(captions, answer["results"], strict=True)
        return Tuples(tuple(captions), found, synsets, {t: str(r["broken"]) for t, r in results if "broken" in r})

    def _start(self) -> Worker:
        try:
            worker = Worker(self.settings, self.command)
            self.java = worker.java
            found = self._parse_with(worker, [PROBE])
        except WorkerFailed as failure:
            raise _unusable(failure, self.settings) from failure
        if found.tuples != (PROBE_TUPLES,):
            worker.close()
            result = found.broken.get(PROBE, found.tuples[0])
            raise _unusable(WorkerFailed(f"'{PROBE}' gives {result}, expected {PROBE_TUPLES}"), self.settings)
        return worker

    def _recover(self, captions: list[str], retried: bool, failure: WorkerFailed) -> None:
        """Put the captions of a failed chunk back, all or in halves; a single caption is stored as broken."""
        self.worker = None
        why = f"{failure}" if str(failure) != "Java ran out of memory" else f"{failure} (more: {spell('java_heap')})"
        if not retried:
            self.note(
                f"the parser ended early ({why}); {count_of(len(captions), 'caption is', 'captions are')} tried again"
            )
            self.chunks.appendleft((captions, True))
        elif len(captions) > 1:
            middle = len(captions) // 2
            self.chunks.extendleft(((captions[middle:], middle > 1), (captions[:middle], middle > 1)))
        else:
            self._store(captions, Tuples(tuple(captions), ((),), {}, {captions[0]: why}))

    def _store(self, captions: list[str], found: Tuples) -> None:
        for text, why in found.broken.items():
            self.note(f"the parser fails on '{text}': {why}")
        path = cache.add(found)
        self.own_packs.add(path)
        if monotonic() - self.touched > store.IN_USE / 20:  # the cache may remove packs that seem unused
            self.touched = monotonic()
            for earlier in self.own_packs:
                store.touch(earlier)
        self.parsed += len(captions)
        self._done(captions)

    def _skip_parsed_elsewhere(self) -> None:
        """Remove the captions that another build has stored in the meantime."""
        for entry in cache.pack_files():
            if entry.path in self.known_packs or entry.path in self.own_packs:
                continue
            self.known_packs.add(entry.path)
            try:
                content = cache.read_pack(entry.path)
            except (FileNotFoundError, BadInput):
                continue
            parsed = [text for text in content.texts if text in self.remaining]
            self.shared += len(parsed)
            self._done(parsed)

    def _done(self, captions: Iterable[str]) -> None:
        for text in captions:
            self.remaining.pop(text, None)
        if self.progress is not None:
            self.progress(self.total - len(self.remaining), self.total)


def _settings(java: str | None, heap: str | None, threads: int, note: Callable[[str], None]) -> dict[str, Any]:
    """What the worker needs to start Java."""
    from importlib.util import find_spec

    from . import install

    if find_spec("jpype") is None:
        raise MissingPackage("package 'jpype1' is not installed; it calls the SPICE parser", fix=install.INSTALL)
    found = java_runtime.find_java(java)
    size = java_runtime.choose_heap(heap, threads)
    jars = install.class_path(note)
    note(f"Java {found.version} ({found.home}), {size / (1 << 30):.1f} GiB of memory, {threads} threads")
    return {"library": str(found.library), "classpath": jars, "heap": size, "threads": threads, "major": found.major}


def _unusable(failure: WorkerFailed, settings: Mapping[str, Any]) -> ParserUnusable:
    old = settings.get("major", java_runtime.NEWEST) < 11
    old = old or "UnsupportedClassVersionError" in f"{failure} {failure.log}"
    fix = f"give Java more memory ({spell('java_heap', '4G')}) or another Java ({spell('java', 'PATH')})"
    if old:
        fix = f"use a newer Java ({spell('java', 'PATH')}), or for Java 8: pip install 'jpype1<1.6'"
    log = f"; its output:\n{failure.log}" if failure.log else ""
    what = f"the SPICE parser does not work here: {failure}{log}"
    return ParserUnusable(what, where=settings.get("library"), fix=fix)


def _stored(wanted: list[str], note: Callable[[str], None]) -> Tuples:
    """The captions in the cache; damaged packs are removed and noted, as their captions can be parsed again."""
    try:
        return cache.stored(wanted)
    except BadInput:
        pass
    for entry in cache.pack_files():
        try:
            cache.read_pack(entry.path)
        except FileNotFoundError:
            continue
        except BadInput as error:
            store.remove(entry.path)
            note(f"{entry.path}: {error.what}; removed, its captions are parsed again")
    return cache.stored(wanted)
