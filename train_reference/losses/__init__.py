"""The table of losses. A loss is one function, registered with ``@loss``.

A loss is ``f(scores, positive, *, hyper-parameters, reduction="sum")`` on a batch of ``b`` aligned pairs:

- ``scores`` (b, b) float: row = image, column = caption, the diagonal holds the pairs of the batch.
- ``positive`` (b, b) bool: True where caption j must not be a negative of image i. The diagonal never is one. With the
  identity other captions of an image are negatives, as in most papers.
- ``degree`` (b, b) float, only if the function has this parameter: how relevant caption j is to image i.
- ``reduction``: "sum" over the pairs of the batch, as published learning rates assume, or "mean" over them.

It returns a scalar tensor, keeps no state, and is 0 with zero gradient for a batch of one pair. Misshapen input, an
unknown choice and settings that do not fit together raise UsageError. A docstring says what differs.

A loss of another file has the name ``FILE.py:function``, and needs no decorator.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from vsebench.errors import MissingPackage, UsageError
from vsebench.registry import Registry, unknown

from ..own_file import file_of, function_of

F = TypeVar("F", bound=Callable[..., Any])

_LOSSES: Registry[Loss] = Registry("loss")
# What a loss may declare of the degree that it takes: name -> the range; ``label``: 1 - a label distance.
DEGREES = {"cosine": (-1.0, 1.0), "cider": (0.0, 10.0), "label": (-math.inf, 1.0)}


@dataclass(frozen=True)
class Loss:
    """A registered loss: its function, and what its signature declares.

    Attributes:
        name: canonical name, as in a configuration file.
        aka: other names.
        cite: source of the formula.
        function: ``f(scores, positive, *, ...) -> scalar tensor``.
        needs_degree: the function also takes ``degree``.
        settings: hyper-parameters and their defaults, as named in the paper.
        degree: a name of ``DEGREES``, the range of the degree that it expects; None for any.
        learnable: the hyper-parameters that may be trained with the model (``loss.learned``).
    """

    name: str
    aka: tuple[str, ...]
    cite: str
    function: Callable[..., Any]
    needs_degree: bool
    settings: dict[str, Any]
    degree: str | None = None
    learnable: tuple[str, ...] = ()


def loss(
    name: str, *, cite: str, aka: Iterable[str] = (), degree: str | None = None, learnable: Iterable[str] = ()
) -> Callable[[F], F]:
    """Decorator: register a function as the loss ``name``; the function itself is returned unchanged.

    ``degree`` is a name of ``DEGREES``, the range of the degree that it expects; ``learnable`` are the hyper-parameters
    that may be trained.

    Raises:
        UsageError: the name is taken, the range is unknown, or the signature is not that of a loss.
    """
    if degree is not None and degree not in DEGREES:
        raise unknown("range of a degree", degree, DEGREES)

    def register(function: F) -> F:
        needs_degree, settings = _declaration(name, function, function.__module__)
        entry = Loss(name, tuple(aka), cite, function, needs_degree, settings, degree, tuple(learnable))
        _LOSSES.add(name, entry, aliases=tuple(aka))
        return function

    return register


def _declaration(name: str, function: Callable[..., Any], where: str) -> tuple[bool, dict[str, Any]]:
    """Whether a function takes ``degree``, and its hyper-parameters, from its signature."""
    parameters = inspect.signature(function).parameters
    if list(parameters)[:2] != ["scores", "positive"]:
        what = f"loss '{name}' takes ({', '.join(parameters)})"
        fix = "let it take scores and positive first, and everything else by keyword"
        raise UsageError(what, where=where, fix=fix)
    rest = {key: p for key, p in list(parameters.items())[2:] if key != "degree"}
    loose = [key for key, p in rest.items() if p.kind is not p.KEYWORD_ONLY or p.default is p.empty]
    if loose or rest.pop("reduction", None) is None:
        fault = f"'{loose[0]}' without a default or name" if loose else "no 'reduction'"
        raise UsageError(
            f"loss '{name}' has {fault}",
            where=where,
            fix="give reduction and every hyper-parameter as a keyword with a default, after a bare *",
        )
    return "degree" in parameters, {key: p.default for key, p in rest.items()}


@cache
def _load() -> None:
    """Import every module of this folder once: a new file is registered without an entry in a list."""
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        raise MissingPackage("the losses need torch", fix="pip install 'vsebench[train]'") from missing
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def get_loss(name: str) -> Loss:
    """The loss under a name or alias, or of a file of the user: ``FILE.py:function``.

    Raises:
        UsageError: no such loss; close matches are suggested. A file that cannot be imported, or has no such loss.
        MissingPackage: torch is not installed.
    """
    _load()
    return _LOSSES.get(name) if file_of(name) is None else _of_file(name)


def _of_file(name: str) -> Loss:
    """The function of a file as a loss, as declared if it is; its name in a configuration is the one given."""
    found = function_of(name)
    declared = next((entry for entry in map(_LOSSES.get, _LOSSES.names()) if entry.function is found), None)
    if declared:
        return replace(declared, name=name)
    needs_degree, settings = _declaration(name.rpartition(":")[2], found, name)
    learnable = tuple(key for key, value in settings.items() if isinstance(value, float))
    return Loss(name, (), str(file_of(name)), found, needs_degree, settings, learnable=learnable)


def loss_names() -> list[str]:
    """Canonical names of all losses. Raises MissingPackage when torch is not installed."""
    _load()
    return _LOSSES.names()
