"""The parent's end of the SPICE worker: start it, ask it, notice when it is lost."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

COMMAND = (sys.executable, "-m", "vsebench.relevance.spice.parser.worker")
START_LIMIT = 300.0  # seconds until the models are loaded; a quiet machine needs 4 to 8


class Lost(Exception):
    """The worker has gone or does not answer; the text says how it ended, ``log`` what it said last."""

    def __init__(self, why: str, log: str = "") -> None:
        super().__init__(why)
        self.log = log


class Worker:
    """One worker process.

    Args:
        settings: what the worker needs to start Java (see ``spice_worker.start_java``).
        command: the program; tests put another in its place.
        start_limit: seconds it may take until it is ready.

    Raises:
        Lost: it did not become ready; the reason is in the text.
    """

    def __init__(
        self, settings: dict[str, Any], command: tuple[str, ...] = COMMAND, start_limit: float = START_LIMIT
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="vsebench-spice-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder.name,  # Java leaves its crash files there, and nothing there shadows a module
                env=_environment(),
                start_new_session=True,  # an interrupt from the keyboard is the parent's to handle
            )
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            answer = self._exchange({**settings, "log": str(self._log.with_name("java"))}, start_limit)
            if "ready" not in answer:
                raise Lost(str(answer.get("fatal", answer)), self._last_words())
        except BaseException:
            self.close()
            raise
        self.java = str(answer["ready"])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, captions: list[str], limit: float) -> dict[str, Any]:
        """The worker's answer for a list of captions.

        Raises:
            Lost: it ended, or took more than ``limit`` seconds; it is gone afterwards.
        """
        try:
            answer = self._exchange({"captions": captions}, limit)
            if len(answer["results"]) != len(captions):
                raise Lost(f"{len(answer['results'])} answers for {len(captions)} captions", self._last_words())
        except (KeyError, TypeError) as error:
            self.close()
            raise Lost(f"an answer without {error}", self._last_words()) from error
        except BaseException:
            self.close()
            raise
        return answer

    def close(self) -> None:
        """End the process; nothing happens when it has ended."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._folder.cleanup()

    def _exchange(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        stream = self._process.stdin
        try:
            if stream is not None:
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()
            line = self._answers.get(timeout=limit)
        except queue.Empty:
            raise Lost(f"no answer within {limit:.0f} s", self._last_words()) from None
        except OSError:
            line = None
        if line is None:
            raise Lost(_ending(self._process.wait()), self._last_words())
        try:
            answer = json.loads(line)
        except ValueError:
            raise Lost(f"an answer that is no JSON: {line[:80]!r}", self._last_words()) from None
        if not isinstance(answer, dict):
            raise Lost(f"an answer that is no object: {line[:80]!r}", self._last_words())
        return answer

    def _last_words(self) -> str:
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return "\n".join(line[:200] for line in lines if " INFO " not in line and not line.startswith("WARNING:"))[
            -800:
        ]


def _environment() -> dict[str, str]:
    """The environment of the worker, which imports the same vsebench as this process."""
    home = str(Path(__file__).resolve().parents[2])
    known = [] if home == sysconfig.get_paths()["purelib"] else [home]
    path = os.pathsep.join(filter(None, (*known, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path} if path else dict(os.environ)


def _listen(stream: IO[bytes] | None, answers: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream or ():
            if line.endswith(b"\n"):
                answers.put(line)
    answers.put(None)


def _ending(status: int) -> str:
    if status < 0:
        return f"killed by signal {-status}"
    return "Java ran out of memory" if status == 3 else f"ended with status {status}"
