"""The table of losses. A loss is one function, registered with ``@loss``.

A loss is ``f(scores, positive, *, hyper-parameters, reduction="sum")`` on a batch of ``b`` aligned pairs:

- ``scores`` (b, b) float: row = image, column = caption, the diagonal holds the pairs of the batch.
- ``positive`` (b, b) bool: True if caption j must not be a negative of image i. The diagonal never is one. With the
  identity other captions of an image are negatives, as in most papers.
- ``degree`` (b, b) float, only if the function has this parameter: how relevant caption j is to image i.
- ``reduction``: "sum" over the pairs of the batch, as published learning rates assume, or "mean" over them.

It returns a scalar tensor, keeps no state, and is 0 with zero gradient for a batch of one pair. Misshapen input, an
unknown choice and settings that do not fit together raise UsageError. A docstring says what differs.
A loss of another file has the name ``FILE.py:function``, and needs no decorator.
"""

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from vsebench.errors import UsageError, unknown

from ..own_file import file_of, function_of

# What a loss may declare of the degree that it takes: name -> the range; ``label``: 1 - a label distance.
DEGREES = {"cosine": (-1.0, 1.0), "cider": (0.0, 10.0), "label": (-math.inf, 1.0)}


@dataclass(frozen=True)
class Loss:
    """A registered loss: its function, and what its signature declares."""

    name: str  # canonical name, as in a configuration file
    aka: tuple[str, ...]  # other names
    cite: str  # source of the formula
    function: Callable[..., Any]  # f(scores, positive, *, ...) -> scalar tensor
    needs_degree: bool  # the function also takes ``degree``
    settings: dict[str, Any]  # hyper-parameters and their defaults, as named in the paper
    degree: str | None = None  # a name of ``DEGREES``, the range of the degree that it expects; None for any
    learnable: tuple[str, ...] = ()  # hyper-parameters that may be trained with the model (``loss.learned``)


LOSSES: dict[str, Loss] = {}  # by name and alias


def loss(
    name: str, *, cite: str, aka: Iterable[str] = (), degree: str | None = None, learnable: Iterable[str] = (),
) -> Callable[[Any], Any]:  # fmt: skip
    """Decorator: register a function, unchanged, as the loss ``name``; arguments as for ``Loss``.

    Raises UsageError if the name is taken, the range is unknown, or the signature is not that of a loss.
    """
    if degree is not None and degree not in DEGREES:
        raise unknown("range of a degree", degree, DEGREES)

    def register(function: Any) -> Any:
        needs_degree, settings = declaration(name, function)
        entry = Loss(name, tuple(aka), cite, function, needs_degree, settings, degree, tuple(learnable))
        for key in (name, *entry.aka):
            if key in LOSSES:
                raise UsageError(f"loss '{key}' is registered twice", fix="give it another name")
            LOSSES[key] = entry
        return function

    return register


def declaration(name: str, function: Callable[..., Any]) -> tuple[bool, dict[str, Any]]:
    """Whether a function takes ``degree``, and its hyper-parameters, from its signature; raises UsageError."""
    parameters = inspect.signature(function).parameters
    rest = {key: p for key, p in list(parameters.items())[2:] if key != "degree"}
    loose = any(p.kind is not p.KEYWORD_ONLY or p.default is p.empty for p in rest.values())
    if list(parameters)[:2] != ["scores", "positive"] or loose or rest.pop("reduction", None) is None:
        fix = "make it take (scores, positive, *, ...), reduction and hyper-parameters with a default"
        raise UsageError(f"loss '{name}' takes ({', '.join(parameters)})", fix=fix)
    return "degree" in parameters, {key: p.default for key, p in rest.items()}


@cache
def load() -> None:
    """Import every module of this folder once: a new file is registered without an entry in a list."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def get_loss(name: str) -> Loss:
    """The loss under a name or alias, or of a file of the user: ``FILE.py:function``; raises UsageError."""
    load()
    if file_of(name) is None:
        if name not in LOSSES:
            raise unknown("loss", name, LOSSES)
        return LOSSES[name]
    found = function_of(name)
    declared = next((entry for entry in LOSSES.values() if entry.function is found), None)
    if declared:
        return replace(declared, name=name)
    needs_degree, settings = declaration(name, found)
    learnable = tuple(key for key, value in settings.items() if isinstance(value, float))
    return Loss(name, (), str(file_of(name)), found, needs_degree, settings, learnable=learnable)


def loss_names() -> list[str]:
    """Canonical names of all losses."""
    load()
    return [name for name, entry in LOSSES.items() if entry.name == name]
