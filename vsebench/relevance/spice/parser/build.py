"""Parse captions in chunks that are stored one by one, and isolate the captions that the parser fails on.

When a worker process fails, its chunk is halved until a single caption is left, which is tried twice. Every new worker
parses a simple sentence first: if that fails, the parser does not work at all, and the build ends with the output of
Java.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from ....errors import MissingPackage, count_of
from ....numeric import parallel
from ....options import spell
from ....text import java as java_runtime
from .. import cache
from ..file import Tuples, unique
from .process import Worker, WorkerFailed

CHUNK = 100  # captions; one or two seconds of work, which is all that is repeated after a kill
PROBE = "a man is riding a brown horse"
PROBE_TUPLES = (("man", "horse", "ride"), ("horse", "brown"), ("horse",), ("man",))

Note = Callable[[str], object]


@dataclass(frozen=True)
class Built:
    """The result of a build."""

    captions: int  # distinct ones
    before: int  # how many of them were in the cache before, those that the parser fails on included
    parsed: int  # how many this build parsed
    broken: Mapping[str, str]  # captions that the parser fails on, and the reasons
    seconds: float
    java: str  # its version; empty when it was not needed


def build(
    texts: Iterable[str],
    *,
    java: str | None = None,
    heap: str | None = None,
    threads: int | None = None,
    retry: bool = False,
    progress: Callable[[int, int], None] | None = None,
    note: Note = lambda _: None,
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

    Raises:
        MissingPackage: Java, JPype, pycocoevalcap or CoreNLP is missing, and the message has the command to install it;
            or the parser fails on a simple sentence, and the message has the output of Java.
        UsageError: a wrong Java or size.
        DiskError: the cache cannot be written.
        BadInput: a damaged jar, or damaged tuples in the cache.
    """
    started = monotonic()
    wanted = unique(texts)
    settings: dict[str, Any] = {}
    with cache.writing(note) as append:
        cached = cache.stored()
        done = set(cached.texts).difference(cached.broken if retry else ())
        missing = [text for text in wanted if text not in done]
        if "" in missing:
            append(Tuples(("",), ((),), {}))
        parse = [text for text in missing if text]
        if parse:
            settings = _settings(java, heap, threads or parallel.default_threads(), note)
        count = 0
        with contextlib.closing(_parsed(parse, settings, note)) as parts:
            for found in parts:
                append(found)
                count += len(found.texts)
                if progress is not None:
                    progress(count, len(parse))
    failed = cache.stored().broken
    broken = {text: failed[text] for text in wanted if text in failed}
    before, version = len(wanted) - len(missing), settings.get("version", "")
    return Built(len(wanted), before, len(missing), broken, monotonic() - started, version)


def _parsed(captions: list[str], settings: dict[str, Any], note: Note) -> Generator[Tuples, None, None]:
    """The tuples of all captions, some at a time; those of a caption that the parser fails on twice are broken."""
    chunks = deque([captions[start : start + CHUNK] for start in range(0, len(captions), CHUNK)])
    worker: Worker | None = None
    tried = None  # a single caption that failed once
    try:
        while chunks:
            some = chunks.popleft()
            worker = worker or _start(settings)
            try:
                found = worker.parse(some)
            except WorkerFailed as failure:
                worker = None
                if some == tried:
                    found = Tuples(tuple(some), ((),), {}, {some[0]: str(failure)})
                else:
                    again = count_of(len(some), "caption is", "captions are")
                    note(f"the parser ended early ({failure}); {again} tried again")
                    middle = len(some) // 2
                    tried = some if len(some) == 1 else None
                    chunks.extendleft(filter(None, (some[middle:], some[:middle])))
                    continue
            for text, why in found.broken.items():
                note(f"the parser fails on '{text}': {why}")
            yield found
    finally:
        if worker is not None:
            worker.close()


def _start(settings: dict[str, Any]) -> Worker:
    """A worker that has parsed a simple sentence."""
    try:
        worker = Worker(settings)
        found = worker.parse([PROBE])
        if found.tuples != (PROBE_TUPLES,):
            worker.close()
            result = found.broken.get(PROBE, found.tuples[0])
            raise WorkerFailed(f"'{PROBE}' gives {result}, expected {PROBE_TUPLES}")
    except WorkerFailed as failure:
        fix = f"give Java more memory ({spell('java_heap', '4G')}) or another Java ({spell('java', 'PATH')})"
        old = settings.get("major", java_runtime.NEWEST) < 11
        if old or "UnsupportedClassVersionError" in f"{failure} {failure.log}":
            fix = f"use a newer Java ({spell('java', 'PATH')}), or for Java 8: pip install 'jpype1<1.6'"
        log = f"; its output:\n{failure.log}" if failure.log else ""
        what = f"the SPICE parser does not work here: {failure}{log}"
        raise MissingPackage(what, where=settings.get("library"), fix=fix) from failure
    return worker


def _settings(java: str | None, heap: str | None, threads: int, note: Note) -> dict[str, Any]:
    """What the worker needs to start Java."""
    from importlib.util import find_spec

    from . import install

    if find_spec("jpype") is None:
        raise MissingPackage("package 'jpype1' is not installed; it calls the SPICE parser", fix=install.INSTALL)
    found = java_runtime.find_java(java)
    size = java_runtime.choose_heap(heap, threads)
    jars = install.class_path(note)
    note(f"Java {found.version} ({found.home}), {size / (1 << 30):.1f} GiB of memory, {threads} threads")
    options = {"library": str(found.library), "classpath": jars, "heap": size, "threads": threads}
    return {**options, "major": found.major, "version": found.version}
