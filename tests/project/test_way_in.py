"""The page "From embeddings to a number" of CONTRIBUTING.md is what an evaluation does.

A small evaluation runs under a profiler: every function of the page is called first from the one that it stands below,
in the order of the page, and the other files of the core that have a part in it are those that the page names.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import vsebench as vb

ROOT = Path(vb.__file__).parent
PAGE = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
WAYS: dict[str, str] = dict(re.findall(r"(?ms)^```text way=(\S+)\n(.*?)^```$", PAGE))
BESIDE = set(re.findall(r"`(\w+/\w+\.py)`", PAGE.partition("Other files:")[2].partition("\n\n")[0]))
CORE = ("evaluation", "rank", "graded")  # packages of which every file is on the page
MOST = 15  # files of a way


class Step(NamedTuple):
    """A function on the page: its file, its name, and the one that it stands below."""

    file: str
    name: str
    parent: tuple[str, str] | None


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    above: list[tuple[int, tuple[str, str]]] = []
    for indent, file, name in re.findall(r"(?m)^( *)([\w/]+\.py): (\w+)", text):
        above = [one for one in above if one[0] < len(indent)]
        found.append(Step(file, name, above[-1][1] if above else None))
        above.append((len(indent), (file, name)))
    return found


def place(code: CodeType) -> tuple[str, str] | None:
    """The file of a function in vsebench, and its name; None for others."""
    path = Path(code.co_filename)
    return (path.relative_to(ROOT).as_posix(), code.co_name) if path.is_relative_to(ROOT) else None


def callers(frame: FrameType | None) -> Iterator[tuple[str, str] | None]:
    while frame is not None:
        yield place(frame.f_code)
        frame = frame.f_back


def run(metric: str, listed: set[tuple[str, str]]) -> tuple[list[Step], set[str]]:
    """The first call of every listed function, with the nearest listed one that it is called from; and all files."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((60, 8))
    texts = np.repeat(images, 5, axis=0) + rng.standard_normal((300, 8)) / 2
    captions = [" ".join(rng.choice(["a", "cat", "dog", "on", "the", "red", "mat"], 6)) for _ in range(300)]
    found: dict[tuple[str, str], Step] = {}
    files: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        here = place(frame.f_code) if event == "call" else None
        if here is not None:
            files.add(here[0])
            if here in listed and here not in found:
                found[here] = Step(*here, next((c for c in callers(frame.f_back) if c in listed), None))

    def evaluate() -> None:
        vb.evaluate(images, texts, captions=captions, metrics=metric, gains="cider", ci=0, threads=1)

    evaluate()  # modules are imported and kernels compiled
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        evaluate()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(found.values()), files


def test_the_page_has_both_ways() -> None:
    assert set(WAYS) == {"R@1", "cider:NCS@10"}
    text = "a/b.py: f   what\n    a/c.py: g   x\n    a/d.py: h\n        a/e.py: i\na/f.py: j\n"
    f, h = ("a/b.py", "f"), ("a/d.py", "h")
    wanted = [Step(*f, None), Step("a/c.py", "g", f), Step(*h, f), Step("a/e.py", "i", h), Step("a/f.py", "j", None)]
    assert steps(text) == wanted


@pytest.mark.parametrize("metric", WAYS)
def test_an_evaluation_goes_the_way_of_the_page(metric: str) -> None:
    way = steps(WAYS[metric])
    called, files = run(metric, {(s.file, s.name) for s in way})
    assert called == way
    named = {s.file for s in way}
    assert len(named) <= MOST
    # No file is returned to that was left, but for the one page of the evaluation.
    order = [s.file for s in way if s.file != way[0].file]
    assert len([a for a, b in zip(order, [None, *order], strict=False) if a != b]) == len(set(order))
    others = {file for file in files if file.partition("/")[0] in CORE} - named
    assert others <= BESIDE | {s.file for text in WAYS.values() for s in steps(text)}


def test_files_beside_the_ways_have_a_part() -> None:
    seen = set().union(*(run(metric, set())[1] for metric in WAYS))
    # a profiler does not see compiled functions in every version of Python
    assert seen >= {file for file in BESIDE if not file.endswith("kernels.py")}
