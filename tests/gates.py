"""Which tests a gate runs: values of a parameter, what another run has not passed, what compares stored messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import NAME as MESSAGES


def gate(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """Values of a parameter, of which the gate tries the chosen ones and ``make nightly`` all."""
    others = pytest.mark.nightly
    return [v if v in chosen else pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=others) for v in values]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the tests."""
    parser.addoption("--update-messages", action="store_true", help="store the messages of the tests that run")
    parser.addoption("--messages-only", action="store_true", help="run only the tests that compare stored messages")
    parser.addoption("--passed-to", type=Path, metavar="FILE", help="write the names of the tests that passed")
    parser.addoption("--except-passed", type=Path, metavar="FILE", help="leave out the tests that such a file names")


class Passed:
    """Writes the names of the tests that passed, also where other processes run them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(f"{name!r}\n" for name in self.names), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Note which tests pass, where that is asked for; only the process that starts the others does."""
    file = config.getoption("--passed-to")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Passed(file))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without stored messages are not read where only messages are compared."""
    compared = config.getoption("--messages-only") and not config.getoption("--update-messages")
    if not compared or not collection_path.name.startswith("test_"):
        return None
    stored = collection_path.with_name(MESSAGES)
    return True if not stored.is_file() or f'"{collection_path.name}::' not in stored.read_text("utf-8") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options leave out."""
    file = config.getoption("--except-passed")
    passed = set() if file is None else set(file.read_text(encoding="utf-8").splitlines())
    messages = config.getoption("--messages-only")
    kept = [
        item
        for item in items
        if repr(item.nodeid) not in passed and (not messages or "pinned" in getattr(item, "fixturenames", ()))
    ]
    if len(kept) < len(items):
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept
