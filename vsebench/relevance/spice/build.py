"""Parse captions with the official SPICE parser (Java), in chunks that are stored one by one.

``worker`` is the process that runs Java. If it fails, the captions of its chunk are parsed one by one; a caption that
fails again is marked as broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from ...errors import BadInput, MissingPackage, install
from ...files.regular import expanded
from ...numeric import parallel
from ...options import spell
from ...sets.stored import package_file
from ...text import java as java_runtime
from . import file
from .file import Tuples, unique

COMMAND = (sys.executable, str(Path(__file__).with_name("worker.py")))
CHUNK_CAPTIONS = 100  # one or two seconds of work, all that is repeated after a kill
VARIABLE = "VSEBENCH_SPICE_JARS"
CODE, MODELS = "stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar"
FETCH = "from pycocoevalcap.spice.get_stanford_models import get_stanford_models as get; get()"
STANFORD = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"

Note = Callable[[str], object]


@dataclass(frozen=True)
class Built:
    """The result of a build."""

    captions: int  # distinct ones
    before: int  # how many of them were in the cache before
    parsed: int  # how many this build parsed
    broken: Mapping[str, str]  # captions that the parser fails on, and the reasons
    seconds: float


def build(
    texts: Iterable[str],
    *,
    java: str | None = None,
    heap: str | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    note: Note = lambda _: None,
) -> Built:
    """Parse the captions that are not in the cache, and those that the parser failed on before.

    A build that is interrupted continues when it is started again.

    Args:
        texts: captions.
        java: a Java folder or program (see ``text.java.find_java``).
        heap: memory of Java, such as ``3G``; depends on the free memory when None.
        threads: number of captions that are parsed at the same time.
        progress: called with (captions done, captions in all).
        note: called with lines of information.

    Raises:
        MissingPackage: Java, JPype, pycocoevalcap or CoreNLP is missing, and the message has the command to install it;
            or the parser fails on a simple sentence, and the message has the output of Java.
        UsageError: a wrong Java or size.
        DiskError: the cache cannot be written.
        BadInput: ``VSEBENCH_SPICE_JARS`` without jars, or damaged tuples in the cache.
    """
    started = monotonic()
    wanted = unique(texts)
    with file.writing(note) as append:
        cached = file.stored()
        done = set(cached.texts).difference(cached.broken)
        missing = [text for text in wanted if text not in done]
        if "" in missing:
            append(Tuples(("",), ((),), {}))
        parse = [text for text in missing if text]
        settings = _settings(java, heap, threads or parallel.default_threads(), note) if parse else {}
        count = 0
        broken: dict[str, str] = {}
        with contextlib.closing(_parsed(parse, settings, note)) as parts:
            for found in parts:
                append(found)
                broken |= found.broken
                count += len(found.texts)
                if progress is not None:
                    progress(count, len(parse))
    return Built(len(wanted), len(wanted) - len(missing), len(missing), broken, monotonic() - started)


def _parsed(captions: list[str], settings: dict[str, Any], note: Note) -> Generator[Tuples, None, None]:
    """The tuples of all captions, some at a time."""
    chunks = deque([captions[start : start + CHUNK_CAPTIONS] for start in range(0, len(captions), CHUNK_CAPTIONS)])
    worker: Worker | None = None
    try:
        while chunks:
            some = chunks.popleft()
            worker = worker or _start(settings)
            try:
                found = worker.parse(some)
            except WorkerFailed as failure:
                worker = None
                if len(some) > 1:
                    note(f"the parser ended early ({failure.why}); {len(some)} captions are tried again one by one")
                    chunks.extendleft([caption] for caption in reversed(some))
                    continue
                found = Tuples(tuple(some), ((),), {}, {some[0]: failure.why})
            for text, why in found.broken.items():
                note(f"the parser fails on '{text}': {why}")
            yield found
    finally:
        if worker is not None:
            worker.close()


def _start(settings: dict[str, Any]) -> Worker:
    try:
        return Worker(settings)
    except WorkerFailed as failure:
        fix = f"use a newer Java ({java_runtime.VARIABLE}=PATH), or give it more memory ({spell('java_heap', '4G')})"
        log = f"; its output:\n{failure.log}" if failure.log else ""
        what = f"the SPICE parser does not work here: {failure.why}{log}"
        raise MissingPackage(what, where=settings.get("library"), fix=fix) from failure


class WorkerFailed(Exception):
    """The worker has ended: how, and the end of its output."""

    def __init__(self, why: str, log: str) -> None:
        super().__init__(why)
        self.why, self.log = why, log


class Worker:
    """One worker process, which has ended when a call raises WorkerFailed.

    Args:
        settings: what the worker needs to start Java (see ``worker.start_java``).
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            start_new_session=True,  # an interrupt from the keyboard is handled by the parent only
        )
        self._ask(settings)

    def parse(self, captions: list[str]) -> Tuples:
        """The tuples of captions; if the parser fails on a caption, its tuples are marked as broken."""
        answer = self._ask({"captions": captions})
        results = answer["results"]
        found = tuple(tuple(map(tuple, result.get("tuples", ()))) for result in results)
        broken = {text: r["broken"] for text, r in zip(captions, results, strict=True) if "broken" in r}
        return Tuples(tuple(captions), found, {w: frozenset(ids) for w, ids in answer["synsets"].items()}, broken)

    def close(self) -> None:
        """End the process, if it is still running."""
        self._process.kill()
        with contextlib.suppress(OSError), self._process:  # closes its pipes, with any request left in them
            pass
        self._log.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None  # PIPE
        line = ""
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith("\n") else {"fatal": self._end()}
        if "fatal" in answer:
            self._log.seek(0)
            lines = [line.strip()[:200] for line in self._log.read().decode(errors="replace").split("\n")]
            log = "\n".join(x for x in lines if x and " INFO " not in x and not x.startswith("WARNING:"))[-800:]
            self.close()
            raise WorkerFailed(answer["fatal"], log)
        return answer

    def _end(self) -> str:
        """How the process ended."""
        status = self._process.wait()
        if status == 3:
            return f"Java ran out of memory (more: {spell('java_heap')})"
        return f"killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _settings(java: str | None, heap: str | None, threads: int, note: Note) -> dict[str, Any]:
    """What the worker needs to start Java."""
    from importlib.util import find_spec

    if find_spec("jpype") is None:
        raise MissingPackage("package 'jpype1' is not installed; it calls the SPICE parser", fix=install("spice"))
    found = java_runtime.find_java(java)
    size = java_runtime.choose_heap(heap, threads)
    jars = class_path()
    note(f"Java {found.version} ({found.home}), {size / (1 << 30):.1f} GiB of memory, {threads} threads")
    return {"library": str(found.library), "classpath": jars, "heap": size, "threads": threads}


def class_path() -> list[str]:
    """The jars for Java: SPICE 1.0 and METEOR 1.5 of pycocoevalcap, and CoreNLP 3.6.0.

    CoreNLP is in a folder of ``VSEBENCH_SPICE_JARS``, else in the folder of pycocoevalcap or of the local Maven
    repository.

    Raises:
        MissingPackage: pycocoevalcap or CoreNLP is not installed.
        BadInput: ``VSEBENCH_SPICE_JARS`` is set, and none of its folders has both jars of CoreNLP.
    """
    spice = package_file("pycocoevalcap", "spice/spice-1.0.jar")
    if spice is None:
        raise MissingPackage("package 'pycocoevalcap' is not installed; it has SPICE and METEOR", fix=install("spice"))
    given, lib = os.environ.get(VARIABLE, ""), spice.parent / "lib"
    places = [expanded(part) for part in given.split(os.pathsep) if part]
    places = places or [lib, Path.home() / ".m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0"]
    folder = next((folder for folder in places if all((folder / name).is_file() for name in (CODE, MODELS))), None)
    if folder is None and given:
        what = f"{VARIABLE} is '{given}', which does not have both {CODE} and {MODELS}"
        raise BadInput(what, fix=f"unset it, or put both jars of {STANFORD} there")
    if folder is None:
        what = "CoreNLP 3.6.0, which parses the captions, is not installed"
        fix = f'run: python -c "{FETCH}"  (385 MB); without a network unpack both jars of {STANFORD} into {lib}'
        raise MissingPackage(what, fix=fix)
    others = [path for path in sorted(lib.glob("*.jar")) if path.name not in (CODE, MODELS)]
    return [str(path) for path in (spice, *others, folder / CODE, folder / MODELS)]
