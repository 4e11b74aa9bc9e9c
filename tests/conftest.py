"""Fixtures that several test files share."""

from __future__ import annotations

import json
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests import browser as browsers
from tests.gates import (  # noqa: F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_ignore_collect,
)  # fmt: skip
from tests.messages import Messages
from vsebench import errors
from vsebench.cli import terminal
from vsebench.log import Log, logged
from vsebench.types import TestSet

# A shell starts background jobs with interrupts ignored, which the commands under test would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

terminal.PROGRESS_SECONDS = 3600.0  # a slow machine adds no lines of progress to the output that tests compare

HERE = Path(__file__).resolve().parent

# Kernels are compiled on first use, so no single example has a deadline.
_COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("quick", max_examples=20, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=120, derandomize=True, **_COMMON)
settings.register_profile("search", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session", autouse=True)
def _installed_by_name() -> Iterator[None]:
    """Stored messages name the package, wherever this installation came from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "_source", lambda: "'vsebench[{extra}]'")
        yield


@pytest.fixture
def log() -> Iterator[Log]:
    """What the test notes and warns of."""
    with logged() as found:
        yield found


@pytest.fixture(scope="session")
def messages(request: pytest.FixtureRequest) -> Iterator[Messages]:
    """The stored messages; those that were said are written at the end where that is asked for."""
    found = Messages(request.config.getoption("--update-messages"))
    yield found
    if found.update:
        found.write()


@pytest.fixture
def pinned(
    request: pytest.FixtureRequest, messages: Messages, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[object], None]:
    """``pinned(error)``: its text is that of ``messages.json`` beside the test, without the folders of this machine.

    A temporary folder is ``{}``, and files of installed packages begin with the package.
    """
    name = f"{request.path.name}::{request.node.name}"
    temporary = re.compile(rf"{re.escape(str(tmp_path_factory.getbasetemp()))}/[\w-]+(/?)")

    def check(said: object) -> None:
        text = str(said).replace(f"{Path(pytest.__file__).parents[1]}/", "")
        messages.check(request.path.parent, name, temporary.sub(lambda m: "" if m[1] else "{}", text))

    return check


@pytest.fixture
def refuses(pinned: Callable[[object], None]) -> Callable[..., Any]:
    """``refuses(BadInput, function, *arguments)``: the error that the function raises; its text is pinned."""

    def check(kind: type[Exception], function: Callable[..., object], *args: Any, **options: Any) -> Any:
        with pytest.raises(kind) as caught:
            function(*args, **options)
        pinned(caught.value)
        return caught.value

    return check


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of this test alone: a folder that does not exist yet."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of test data that the variable VSEBENCH_TEST_DATA names; skips without it."""
    named = os.environ.get("VSEBENCH_TEST_DATA")
    if not named or not Path(named).is_dir():
        reason = f"no test data: VSEBENCH_TEST_DATA is {f'{named}, which is no folder' if named else 'not set'}"
        print(reason)
        pytest.skip(reason)
    return Path(named).resolve()


@pytest.fixture(scope="session")
def coco() -> TestSet:
    """The COCO 5K test split, ids only; skips without the package that carries them."""
    if find_spec("eccv_caption") is None:
        pytest.skip("eccv_caption is not installed (pip install 'vsebench[text]')")
    import vsebench

    return vsebench.load_split("coco-5k")


@pytest.fixture(scope="session")
def eccv_package() -> Any:
    """The eccv_caption package, imported without its warnings; skips when it is not installed."""
    if find_spec("eccv_caption") is None:
        pytest.skip("eccv_caption is not installed (pip install 'vsebench[text]')")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import eccv_caption
    return eccv_caption


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    """``golden("case")``: inputs and expected values that other code or a definition has produced."""
    cases: dict[str, dict[str, Any]] = {}
    for path in sorted((HERE / "golden").glob("*.json")):
        cases.update(json.loads(path.read_text(encoding="utf-8"))["cases"])

    def case(name: str) -> dict[str, Any]:
        return cases[name]

    return case


@pytest.fixture
def new_metrics() -> Iterator[None]:
    """Metrics that a test declares are removed from the table of metrics after it."""
    from vsebench.metrics import declare

    before = list(declare._FAMILIES)
    try:
        yield
    finally:
        declare._FAMILIES[:] = before


SCENES = "scenes-90-seed4-size16-near0.3-wrong0.1-generic0.1"  # 45 images of train, 22 each of val and test


@pytest.fixture(scope="session")
def built_scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the scenes ``SCENES`` are built."""
    from vsebench.scenes.build import build
    from vsebench.scenes.settings import parse

    cache = tmp_path_factory.mktemp("scenes")
    before = os.environ.get("VSEBENCH_CACHE")
    os.environ["VSEBENCH_CACHE"] = str(cache)
    try:
        build(parse(SCENES))
    finally:
        os.environ.pop("VSEBENCH_CACHE") if before is None else os.environ.update(VSEBENCH_CACHE=before)
    return cache


@pytest.fixture
def scenes_split(built_scenes: Path, monkeypatch: pytest.MonkeyPatch) -> TestSet:
    """The test split of ``SCENES``, with its captions; the cache is the one that they are built in."""
    import vsebench

    monkeypatch.setenv("VSEBENCH_CACHE", str(built_scenes))
    return vsebench.load_split(f"{SCENES}-test", captions=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[browsers.Browser]:
    """A headless Chromium that opens files; where there is none the test is skipped, in CI it fails."""
    reason = browsers.missing()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with browsers.started() as started:
        yield started


@pytest.fixture
def rng() -> np.random.Generator:
    """Seeded random numbers."""
    return np.random.default_rng(20)
