"""Starting, using and ending the worker process that runs the SPICE parser."""

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

from ....errors import count_of

COMMAND = (sys.executable, "-m", "vsebench.relevance.spice.parser.worker")
START_LIMIT = 300.0  # seconds for loading the models; an idle machine needs 4 to 8


class WorkerFailed(Exception):
    """The worker ended or does not answer.

    Args:
        why: how it ended.
        log: the end of its output.
    """

    def __init__(self, why: str, log: str = "") -> None:
        super().__init__(why)
        self.log = log


class Worker:
    """One worker process.

    Args:
        settings: what the worker needs to start Java (see ``worker.start_java``).
        command: the program; tests use another.
        start_limit: seconds until it has to be ready.

    Raises:
        WorkerFailed: it did not become ready.
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
                cwd=self._folder.name,  # for crash files of Java; empty, so that no file shadows a module
                env=_environment(),
                start_new_session=True,  # an interrupt from the keyboard is handled by the parent only
            )
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            answer = self._exchange({**settings, "log": str(self._log.with_name("java"))}, start_limit)
            if "ready" not in answer:
                raise WorkerFailed(str(answer.get("fatal", answer)), self._log_tail())
        except BaseException:
            self.close()
            raise
        self.java = str(answer["ready"])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def parse(self, captions: list[str], limit: float) -> dict[str, Any]:
        """The worker's answer for a list of captions (see ``worker``).

        Raises:
            WorkerFailed: it ended, gave an invalid answer, or took more than ``limit`` seconds; it is ended then.
        """
        try:
            answer = self._exchange({"captions": captions}, limit)
            if len(answer["results"]) != len(captions):
                raise WorkerFailed(
                    f"{count_of(len(answer['results']), 'answer')} for {count_of(len(captions), 'caption')}",
                    self._log_tail(),
                )
        except (KeyError, TypeError) as error:
            self.close()
            raise WorkerFailed(f"an answer without {error}", self._log_tail()) from error
        except BaseException:
            self.close()
            raise
        return answer

    def close(self) -> None:
        """End the process, if it is still running."""
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
            raise WorkerFailed(f"no answer within {limit:.0f} s", self._log_tail()) from None
        except OSError:
            line = None
        if line is None:
            raise WorkerFailed(_exit_reason(self._process.wait()), self._log_tail())
        try:
            answer = json.loads(line)
        except ValueError:
            raise WorkerFailed(f"an answer that is not JSON: {line[:80]!r}", self._log_tail()) from None
        if not isinstance(answer, dict):
            raise WorkerFailed(f"an answer that is not an object: {line[:80]!r}", self._log_tail())
        return answer

    def _log_tail(self) -> str:
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        lines = [line[:200] for line in lines if " INFO " not in line and not line.startswith("WARNING:")]
        return "\n".join(lines)[-800:]


def _environment() -> dict[str, str]:
    """The environment of the worker, in which it imports the same vsebench as this process."""
    home = str(Path(__file__).resolve().parents[4])
    added = [] if home == sysconfig.get_paths()["purelib"] else [home]
    path = os.pathsep.join(filter(None, (*added, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path} if path else dict(os.environ)


def _read_lines(stream: IO[bytes] | None, answers: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream or ():
            if line.endswith(b"\n"):
                answers.put(line)
    answers.put(None)


def _exit_reason(status: int) -> str:
    if status < 0:
        return f"killed by signal {-status}"
    return "Java ran out of memory" if status == 3 else f"ended with status {status}"
