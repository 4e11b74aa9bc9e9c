"""``python -m tools.nightly``: every test, with long searches; ``tests/nightly.txt`` says when, of what, its outcome.

Arguments are those of pytest. Fails where a test fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "nightly.txt"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    """Run the tests, and write the file; returns the exit code of pytest."""
    commit = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    changed = " with changes" if _git("status", "--porcelain") else ""
    started = datetime.now(timezone.utc)
    last = ""
    command = [sys.executable, "-m", "pytest", *arguments]
    environment = {"HYPOTHESIS_PROFILE": "nightly", **os.environ}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            print(line, end="", flush=True)
            last = line.strip(" =\n") or last
    outcome = re.sub(r" \([\d:]+\)$", "", last)
    FILE.write_text(
        f"run: {started:%Y-%m-%d %H:%M} UTC\ncommit: {commit}{changed}\noutcome: {outcome}\n", encoding="utf-8"
    )
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
