"""A fake SPICE worker without Java: tuples by a rule, and captions that make it fail."""

from __future__ import annotations

import sys
from pathlib import Path

from vsebench.relevance.spice.file import Tuples, writing

# The tuples of a caption are its words in order, each an object. A word in capitals makes the worker fail.
SOURCE = """
import json, os, sys, time
folder, pause = sys.argv[1], float(sys.argv[2])
def once(word):
    path = os.path.join(folder, word)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
with open(os.path.join(folder, "pids"), "a") as pids:
    pids.write(f"{os.getpid()}\\n")
settings = json.loads(sys.stdin.readline())
if os.path.exists(os.path.join(folder, "fatal")):
    sys.stderr.write("WARNING: chatter\\ncannot open the library\\n")
    print(json.dumps({"fatal": "OSError: no such library"}), flush=True)
    sys.exit(0)
print("{}", flush=True)
for line in sys.stdin:
    results = []
    for caption in json.loads(line)["captions"]:
        time.sleep(pause)
        with open(os.path.join(folder, "requested"), "a") as requested:
            requested.write(caption + "\\n")
        words = caption.split()
        if "KILL" in words or ("KILLONCE" in words and once("KILLONCE")):
            os.kill(os.getpid(), 9)
        if "MEMORY" in words:
            sys.exit(3)
        if "BROKEN" in words:
            results.append({"broken": "NullPointerException: null"})
        elif caption == "a man is riding a brown horse":
            results.append({"tuples": [["man", "horse", "ride"], ["horse", "brown"], ["horse"], ["man"]]})
        else:
            results.append({"tuples": [[word] for word in words]})
    used = {word for r in results for t in r.get("tuples", ()) for word in t}
    print(json.dumps({"results": results, "synsets": {w: [len(w)] for w in used}}), flush=True)
"""


def fake_worker(folder: Path, pause: float = 0.0) -> tuple[str, ...]:
    """The command of a worker that logs to ``folder`` and waits ``pause`` seconds a caption."""
    program = folder / "fake_worker.py"
    program.write_text(SOURCE, encoding="utf-8")
    return (sys.executable, str(program), str(folder), str(pause))


def store_tuples(tuples: Tuples) -> None:
    """Append tuples to the cache."""
    with writing() as append:
        append(tuples)


def requested(folder: Path) -> list[str]:
    """Every caption that a worker was sent, without the probe."""
    path = folder / "requested"
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return [line for line in lines if line and line != "a man is riding a brown horse"]


def workers(folder: Path) -> list[int]:
    """The process ids of every worker that was started."""
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []
