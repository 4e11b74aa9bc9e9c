"""A fix that is followed: the call that is refused, what the fix says as a call, and what comes of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import invoke
from tests.hostile import (
    command_cases,
    container_cases,
    good,
    id_cases,
    run_cases,
    vector_cases,
)
from vsebench.errors import EXIT_CODES, VsebenchError

X, Y = good.vectors()
OWNER = np.arange(good.TEXTS) // good.TIMES
UNIT = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (X, Y)]
S = UNIT[0] @ UNIT[1].T
MAJOR = np.arange(good.TEXTS).reshape(-1, good.TIMES).T.ravel()  # the first text of every image, then the second, ...
I2T = float((S.argmax(axis=1) // good.TIMES == np.arange(good.IMAGES)).mean())  # R@1 of all these
T2I = float((S.argmax(axis=0) == OWNER).mean())

Call = str | Callable[[], Any]  # words of a command line, or a function; both in a folder of their own
Outcome = float | str | type[VsebenchError] | None  # the first value, a part of what is printed, another error; success
_TABLES = (vector_cases, id_cases, container_cases, run_cases, command_cases)
_HOSTILE = {case.name: case for table in _TABLES for case in table.CASES}


class Refused(Exception):
    """What a command said of its error; ``code`` is its exit code."""

    def __init__(self, said: str, code: int) -> None:
        self.code = code
        super().__init__(said)


class Followed:
    """An entry of the table.

    Args:
        fix: a regular expression that is found in the fix, and in every stored one that the entry covers.
        refused: the call that is refused with it, or several of which the last one is.
        steps: calls that do what the fix says and what comes of the last one, for each way of the fix.
    """

    def __init__(self, fix: str, refused: Call | tuple[Call, ...], *steps: tuple[Call | Outcome, ...]) -> None:
        self.fix, self.refused = fix, after(*refused) if isinstance(refused, tuple) else refused
        self.steps: list[tuple[Call, Outcome]] = [(after(*calls), outcome) for *calls, outcome in steps]

    def follow(self) -> None:
        """Do what the fix says, in this folder; raises AssertionError where it changes nothing."""
        said = refusal(self.refused)
        assert re.search(self.fix, fix_of(said)), f"the fix is another one: {said}"
        assert self.steps, "nothing follows the fix"
        for call, outcome in self.steps:
            if isinstance(outcome, type):
                other = refusal(call, outcome)
                assert other != said, f"the fix leads to the same message: {said}"
                continue
            result = run(call)
            if isinstance(outcome, str):
                assert re.search(outcome, str(result)), result
            elif outcome is not None:
                assert value(result) == pytest.approx(outcome, abs=1e-9), result


@dataclass(frozen=True)
class By:
    """An entry whose fix a test follows that exists; ``test`` is its name, of which there is one."""

    fix: str
    test: str


def hostile(name: str, *more: str) -> Callable[[], Any]:
    """The command of an input of ``tests/hostile`` by name, made in this folder, with more words."""
    return lambda: run(shlex.join([*_HOSTILE[name].make(Path.cwd()), *more]))


def after(*calls: Call) -> Callable[[], Any]:
    """Several calls; the last one counts."""
    return lambda: [run(call) for call in calls][-1]


def save(name: str, **arrays: Any) -> Callable[[], None]:
    """Write an .npz of these arrays, or of the good ones with these changes where no vectors or scores are given."""
    whole = arrays if {"image_embeddings", "images", "scores"} & set(arrays) else good.arrays(**arrays)
    return lambda: np.savez(name, **whole)


def write(name: str, content: Any) -> Callable[[], None]:
    """Write an array as .npy, a text, or what becomes JSON."""

    def make() -> None:
        if name.endswith(".npy"):
            np.save(name, content)
        else:
            Path(name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    return make


def run(call: Call) -> Any:
    """What a function returns, or a command prints; raises ``Refused`` for a command that fails."""
    if not isinstance(call, str):
        return call()
    done = invoke(*shlex.split(call))
    if done.exit_code:
        assert done.exit_code in EXIT_CODES and "error: " in done.stderr, done.stderr or repr(done.exception)
        raise Refused(done.stderr[done.stderr.rindex("error: ") :], done.exit_code)
    return done.stdout


def refusal(call: Call, kind: type[VsebenchError] = VsebenchError) -> str:
    """What an error says, of this class; of a command, with the exit code of the class."""
    with pytest.raises((kind, Refused)) as caught:
        run(call)
    if isinstance(caught.value, Refused) and kind is not VsebenchError:
        assert caught.value.code == kind.exit_code, caught.value
    return str(caught.value)


def fix_of(said: str) -> str:
    """The fix of a message; empty without one."""
    return said.rpartition("\n  fix: ")[2].strip() if "\n  fix: " in said else ""


def value(result: Any) -> float:
    """The first value of a report, or of one that a command has printed with ``--json``."""
    if isinstance(result, str):
        return float(json.loads(result)["results"][0]["value"])
    return float(result) if isinstance(result, (int, float)) else float(result.results[0].value)
