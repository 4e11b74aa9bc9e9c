"""Starting, using and ending the worker process that runs the SPICE parser."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from ....options import spell
from ..file import Tuples

COMMAND = (sys.executable, str(Path(__file__).with_name("worker.py")))
LIMIT = 300.0  # seconds for an answer; loading the models takes 4 to 8, a chunk 3


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
    """One worker process; it has ended when a call raises.

    Args:
        settings: what the worker needs to start Java (see ``worker.start_java``).

    Raises:
        WorkerFailed: it did not become ready.
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
        """The tuples of captions.

        Raises:
            WorkerFailed: it ended, or took more than ``LIMIT`` seconds.
        """
        answer = self._ask({"captions": captions})
        results = answer["results"]
        found = tuple(tuple(map(tuple, result.get("tuples", ()))) for result in results)
        broken = {text: r["broken"] for text, r in zip(captions, results, strict=True) if "broken" in r}
        return Tuples(tuple(captions), found, {w: frozenset(ids) for w, ids in answer["synsets"].items()}, broken)

    def close(self) -> None:
        """End the process, if it is still running."""
        self._process.kill()
        with contextlib.suppress(OSError), self._process:  # closes its pipes, where a request may be left
            pass
        self._log.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(LIMIT, end)
        timer.daemon = True
        timer.start()
        try:
            assert self._process.stdin is not None and self._process.stdout is not None  # PIPE
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        answer: dict[str, Any] = json.loads(line) if line.endswith("\n") else {"fatal": self._end(late.is_set())}
        if "fatal" in answer:
            log = self._log_tail()
            self.close()
            raise WorkerFailed(answer["fatal"], log)
        return answer

    def _end(self, late: bool) -> str:
        """How the process ended."""
        status = self._process.wait()
        if late:
            return f"no answer within {LIMIT:.0f} s"
        if status == 3:
            return f"Java ran out of memory (more: {spell('java_heap')})"
        return f"killed by signal {-status}" if status < 0 else f"ended with status {status}"

    def _log_tail(self) -> str:
        self._log.seek(0)
        lines = [line.strip()[:200] for line in self._log.read().decode(errors="replace").split("\n")]
        return "\n".join(x for x in lines if x and " INFO " not in x and not x.startswith("WARNING:"))[-800:]
