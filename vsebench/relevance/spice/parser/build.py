"""Parse captions once: in chunks that are kept as they end, around captions that break the parser.

A worker that is lost may have met a bad caption or a bad moment. Its chunk is tried once more by a new worker;
lost again, it is cut in halves until one caption stands alone. Every new worker parses a harmless sentence first:
when it cannot, no caption is to blame and the build ends with what Java said.
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
from ....errors import BadInput, MissingPackage, VsebenchError
from ....numeric import parallel
from ....text import java as spice_java
from .. import tuples as spice_tuples
from ..file import Known, checked, synset_ids
from ..tuples import Tuples
from .process import COMMAND, Lost, Worker

CHUNK = 100  # captions; a second or two of work, the most that a kill costs
PATIENCE = (180.0, 2.0)  # seconds for a chunk, and for each caption of it; 0.03 is usual
HARMLESS = "a man is riding a brown horse"
HARMLESS_TUPLES = (("man", "horse", "ride"), ("horse", "brown"), ("horse",), ("man",))


class ParserUnusable(VsebenchError):
    """Java or the parser does not work at all here; exit code 4, the message holds what Java said."""

    exit_code = MissingPackage.exit_code


@dataclass(frozen=True)
class Built:
    """What a build did.

    Attributes:
        captions: unique captions asked for.
        before: how many were there already, broken ones included.
        parsed: how many this build has parsed.
        shared: how many another builder has parsed meanwhile.
        broken: the captions that the parser fails on, and why, found before or now.
        seconds: how long it took.
        java: version of Java, empty when none was needed.
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
    patience: tuple[float, float] = PATIENCE,
) -> Built:
    """Parse the captions that the cache does not hold; stopped at any moment, it goes on where it was.

    Args:
        texts: captions.
        java: a Java folder or program (see ``spice_java.find_java``).
        heap: memory of Java, such as ``3G``; from the free memory when None.
        threads: how many captions are parsed at once.
        retry: try captions again that the parser failed on earlier.
        progress: told how many captions are done, of how many.
        note: told what happens, a line at a time.
        command: a worker program in place of the real one, which then needs no Java.
        chunk: captions a chunk.
        patience: seconds that a chunk may take, and each caption of it more.

    Raises:
        MissingPackage: Java, JPype, pycocoevalcap or CoreNLP are missing; the message says how to get them.
        ParserUnusable: the parser does not even parse a harmless sentence.
        UsageError: a wrong Java or size; the cache cannot be written.
        BadInput: a damaged jar.
    """
    begun = monotonic()
    wanted = spice_tuples.unique(texts)
    there = _stored(wanted, note)
    known = set(there.texts).difference(there.broken if retry else ())
    missing = [text for text in wanted if text not in known]
    before = len(wanted) - len(missing)
    empty = [text for text in missing if not text]
    if empty:
        spice_tuples.add(Tuples(("",), ((),), {}))
        missing = [text for text in missing if text]
    run = _Run(missing, progress, note, chunk, patience)
    if missing:
        threads = threads or parallel.default_threads()
        run.settings = _settings(java, heap, threads, note) if command is None else {}
        run.command = command or COMMAND
        run.work()
    spice_tuples.compact()
    broken = spice_tuples.stored(wanted).broken
    now = {text: broken[text] for text in wanted if text in broken}
    return Built(len(wanted), before, run.parsed + len(empty), run.shared, now, monotonic() - begun, run.java)


class _Run:
    """The state of one build: what is left, the worker, the files written."""

    def __init__(
        self,
        missing: list[str],
        progress: Callable[[int, int], None] | None,
        note: Callable[[str], None],
        chunk: int,
        patience: tuple[float, float],
    ) -> None:
        self.left = dict.fromkeys(missing)
        self.total, self.parsed, self.shared, self.java = len(missing), 0, 0, ""
        self.progress, self.note, self.patience = progress, note, patience
        self.settings: dict[str, Any] = {}
        self.command: tuple[str, ...] = COMMAND
        self.worker: Worker | None = None
        self.seen = {entry.path for entry in spice_tuples.pack_files()}
        self.own: set[Path] = set()
        self.touched = monotonic()
        self.chunks = deque(([*missing[s : s + chunk]], False) for s in range(0, len(missing), chunk))
        random.Random().shuffle(self.chunks)  # builders side by side take different chunks; the tuples are the same

    def work(self) -> None:
        """Everything, chunk by chunk."""
        self._done(())
        try:
            while self.chunks:
                captions, again = self.chunks.popleft()
                self._leave_to_others()
                captions = [text for text in captions if text in self.left]
                if not captions:
                    continue
                try:
                    self._keep(captions, self._ask(captions))
                except Lost as lost:
                    self._recover(captions, again, lost)
        finally:
            if self.worker is not None:
                self.worker.close()

    def _ask(self, captions: list[str]) -> Tuples:
        if self.worker is None:
            self.worker = self._start()
        return self._exchange(self.worker, captions)

    def _exchange(self, worker: Worker, captions: list[str]) -> Tuples:
        answer = worker.ask(captions, self.patience[0] + self.patience[1] * len(captions))
        known: Known = {}
        try:
            found = tuple(() if "broken" in r else checked(r.get("tuples"), "worker", known) for r in answer["results"])
            synsets = {str(word): synset_ids(ids, "worker") for word, ids in answer["synsets"].items()}
        except (BadInput, KeyError, TypeError, AttributeError) as error:
            worker.close()
            raise Lost(f"an answer that makes no sense: {error}") from error
        results = zip(captions, answer["results"], strict=True)
        return Tuples(tuple(captions), found, synsets, {t: str(r["broken"]) for t, r in results if "broken" in r})

    def _start(self) -> Worker:
        try:
            worker = Worker(self.settings, self.command)
            self.java = worker.java
            found = self._exchange(worker, [HARMLESS])
        except Lost as lost:
            raise _unusable(lost, self.settings) from lost
        if found.tuples != (HARMLESS_TUPLES,):
            worker.close()
            said = found.broken.get(HARMLESS, found.tuples[0])
            raise _unusable(Lost(f"'{HARMLESS}' gives {said}, expected {HARMLESS_TUPLES}"), self.settings)
        return worker

    def _recover(self, captions: list[str], again: bool, lost: Lost) -> None:
        self.worker = None
        why = f"{lost}" if str(lost) != "Java ran out of memory" else f"{lost} (more: --java-heap)"
        if not again:
            self.note(f"the parser was lost ({why}); {len(captions)} captions are tried again")
            self.chunks.appendleft((captions, True))
        elif len(captions) > 1:
            middle = len(captions) // 2
            self.chunks.extendleft(((captions[middle:], middle > 1), (captions[:middle], middle > 1)))
        else:
            self._keep(captions, Tuples(tuple(captions), ((),), {}, {captions[0]: why}))

    def _keep(self, captions: list[str], found: Tuples) -> None:
        for text, why in found.broken.items():
            self.note(f"the parser fails on '{text}': {why}")
        path = spice_tuples.add(found)
        self.own.add(path)
        if monotonic() - self.touched > store.IN_USE / 20:  # in use until the build ends
            self.touched = monotonic()
            for earlier in self.own:
                store.touch(earlier)
        self.parsed += len(captions)
        self._done(captions)

    def _leave_to_others(self) -> None:
        """Strike off what another builder has stored meanwhile."""
        for entry in spice_tuples.pack_files():
            if entry.path in self.seen or entry.path in self.own:
                continue
            self.seen.add(entry.path)
            try:
                content = spice_tuples.read_pack(entry.path)
            except (FileNotFoundError, BadInput):
                continue
            theirs = [text for text in content.texts if text in self.left]
            self.shared += len(theirs)
            self._done(theirs)

    def _done(self, captions: Iterable[str]) -> None:
        for text in captions:
            self.left.pop(text, None)
        if self.progress is not None:
            self.progress(self.total - len(self.left), self.total)


def _settings(java: str | None, heap: str | None, threads: int, note: Callable[[str], None]) -> dict[str, Any]:
    from importlib.util import find_spec

    from . import install as spice_install

    if find_spec("jpype") is None:
        raise MissingPackage("package 'jpype1' is not installed; it calls the SPICE parser", fix=spice_install.INSTALL)
    found = spice_java.find_java(java)
    size = spice_java.choose_heap(heap, threads)
    jars = spice_install.class_path(note)
    note(f"Java {found.version} ({found.home}), {size / (1 << 30):.1f} GiB of memory, {threads} threads")
    return {"library": str(found.library), "classpath": jars, "heap": size, "threads": threads, "major": found.major}


def _unusable(lost: Lost, settings: Mapping[str, Any]) -> ParserUnusable:
    old = settings.get("major", spice_java.NEWEST) < 11 or "UnsupportedClassVersionError" in f"{lost} {lost.log}"
    fix = "give Java more memory (--java-heap 4G) or another Java (--java PATH)"
    if old:
        fix = "use a newer Java (--java PATH), or for Java 8: pip install 'jpype1<1.6'"
    said = f"; it said:\n{lost.log}" if lost.log else ""
    return ParserUnusable(f"the SPICE parser does not work here: {lost}{said}", where=settings.get("library"), fix=fix)


def _stored(wanted: list[str], note: Callable[[str], None]) -> Tuples:
    """What the cache holds of the captions; damaged files are removed and named, they can be made again."""
    try:
        return spice_tuples.stored(wanted)
    except BadInput:
        pass
    for entry in spice_tuples.pack_files():
        try:
            spice_tuples.read_pack(entry.path)
        except FileNotFoundError:
            continue
        except BadInput as error:
            store.remove(entry.path)
            note(f"{entry.path}: {error.what}; removed, its captions are parsed again")
    return spice_tuples.stored(wanted)
