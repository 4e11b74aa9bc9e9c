"""Published models: loading one from the files of this machine or from Hugging Face, with an answer in seconds."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ..errors import BadInput, MissingPackage, VsebenchError, first_line, printable
from ..log import warn
from .weights import Weights, compared

WAIT_SECONDS = 5.0  # seconds
_OF_WEIGHTS = re.compile(r"weight|checkpoint|initiali[sz]|state.?dict|gelu", re.I)
Model = TypeVar("Model")


def loaded(load: Callable[[bool], Model], what: str, fix: str, *, local: bool) -> tuple[Model, Weights]:
    """A model, first from the files that are here, then from the network; and how its weights fit.

    What the libraries say of weights is a warning, see also ``weights.compared``. Without a network they try to fetch
    every file several times, which takes minutes; it is tried here once.

    Args:
        load: loads it; with True from the files of this machine alone.
        what: names the model in messages, as in ``model 'NAME'``.
        fix: of the error.
        local: whether the model is a folder or a file.

    Raises:
        BadInput: no network, no such model, or damaged files.
        MissingPackage: the model needs a package that is not installed.
    """
    for from_here in (True, False):
        try:
            with _heard(what), compared(what) as weights:
                return load(from_here), weights
        except VsebenchError:
            raise
        except ImportError as error:
            missing = f"{what} cannot be loaded ({first_line(error)})"
            raise MissingPackage(missing, fix="install the missing package with pip") from error
        except Exception as error:  # the libraries raise errors of many classes about files, names and networks
            lines = str(error).strip().splitlines() or [type(error).__name__]
            why: str | None = " ".join(line.strip() for line in lines[: 1 + lines[0].endswith(":")])[:200]
            if from_here and not local:
                why = unreachable()
                why = why and f"it is not among the downloaded models, and {why}"
            if why is None:
                continue
            raise BadInput(f"{what} cannot be loaded ({why})", fix=fix) from error
    raise AssertionError("a model is loaded, or the second attempt has raised")


def unreachable() -> str | None:
    """Why the host of published models cannot be reached, found out within ``WAIT_SECONDS``; None if it can."""
    import urllib.error
    import urllib.request

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return "HF_HUB_OFFLINE forbids downloading it"
    host = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def probe() -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(host, method="HEAD"), timeout=WAIT_SECONDS):
                answers.put(None)
        except urllib.error.HTTPError:
            answers.put(None)  # an answer
        except (OSError, ValueError) as error:
            answers.put(f"{host} cannot be reached: {getattr(error, 'reason', error)}")

    # A thread, as the timeout does not hold for looking up the name of the host.
    threading.Thread(target=probe, daemon=True).start()
    try:
        return answers.get(timeout=WAIT_SECONDS)
    except queue.Empty:
        return f"{host} does not answer"


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """Let the libraries of Hugging Face read the files of this machine alone."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


class _Heard(logging.Handler):
    """What libraries log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; the report of transformers on names of weights is that of ``weights.compared``."""
        if "LOAD REPORT" not in (said := record.getMessage()):
            self.messages.append(said)


@contextlib.contextmanager
def _heard(what: str) -> Iterator[None]:
    """No progress bars and no log of the libraries; what they say of weights is a warning."""
    heard = _Heard()
    loggers = [logging.getLogger(name) for name in (None, "transformers", "sentence_transformers")]
    handlers = [logger.handlers for logger in loggers]
    try:
        for logger in loggers:
            logger.handlers = [heard]
        with _without_bars(), warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield
    finally:
        for logger, before in zip(loggers, handlers, strict=True):
            logger.handlers = before
    messages = [*heard.messages, *(str(w.message) for w in raised if w.category is UserWarning)]
    warn(*(f"{what}: {printable(' '.join(text.split())[:300])}" for text in messages if _OF_WEIGHTS.search(text)))


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    try:
        from transformers.utils import logging as bars
    except ImportError:
        yield
        return
    enabled = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            bars.enable_progress_bar()


def revision(repository: str) -> str:
    """Eight digits of the revision of a published model that was downloaded before, else ``unknown``.

    Args:
        repository: ``OWNER/NAME``.
    """
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    try:
        found = hub / f"models--{repository.replace('/', '--')}" / "refs" / "main"
        return found.read_text(encoding="ascii").strip()[:8]
    except (OSError, ValueError):
        return "unknown"
