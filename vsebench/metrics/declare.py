"""Declaring a metric: facts on the function, and names that parse back.

A metric's name is ``[view:]Name[@k]``: ``R@1``, ``eccv:mAP@R``, ``1k:RSum``. The view says which judgements
and which candidates; without one it is ``gt``, the captions written for the image. ``parse(str(m)) == m``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..errors import UsageError
from ..registry import Registry, unknown
from ..types import Float, Ranks

Depth = Literal["k", "R", "best"]
Aggregate = Literal["mean", "floor-median", "sum"]

DEPTHS: dict[str, str] = {
    "k": "the top k of every ranking",
    "R": "as deep as the query has relevant items",
    "best": "the first relevant item of every query, however deep it is",
}


@dataclass(frozen=True, eq=False)
class Family:
    """A metric before its parameters are known.

    Attributes:
        template: name with ``{k}`` where the depth goes, e.g. ``R@{k}``.
        compute: per-query values from ``Ranks`` (and ``k``); None for a summary of other metrics.
        depth: how far down a ranking it looks.
        low, high: range of a value; ``high`` None means the size of the gallery.
        higher_is_better: direction of the metric.
        unit: ``fraction`` or ``rank``.
        ks: default ks.
        aliases: other templates.
        aggregate: how per-query values become one number.
        parts: names a summary adds up, over both directions.
        cite: citation keys.
        formula: one line.
    """

    template: str
    compute: Callable[..., Float] | None
    depth: Depth
    low: float
    high: float | None
    higher_is_better: bool
    unit: Literal["fraction", "rank"]
    ks: tuple[int, ...]
    aliases: tuple[str, ...]
    aggregate: Aggregate
    parts: tuple[str, ...]
    cite: tuple[str, ...]
    formula: str

    @property
    def takes_k(self) -> bool:
        """Whether the name has a k."""
        return "{k}" in self.template

    @property
    def doc(self) -> str:
        """The definition, as written at the function."""
        return (self.compute.__doc__ if self.compute else None) or ""


REGISTRY: Registry[Family] = Registry("metric")


def metric(
    template: str,
    *,
    depth: Depth,
    formula: str,
    cite: tuple[str, ...],
    low: float = 0.0,
    high: float | None = 1.0,
    higher_is_better: bool = True,
    unit: Literal["fraction", "rank"] = "fraction",
    ks: tuple[int, ...] = (),
    aliases: tuple[str, ...] = (),
    aggregate: Aggregate = "mean",
) -> Callable[[Callable[..., Float]], Callable[..., Float]]:
    """Register a function of ``Ranks`` (and ``k`` if the template has one) that returns per-query values (judged,).

    Raises:
        UsageError: the name is taken.
    """

    def register(compute: Callable[..., Float]) -> Callable[..., Float]:
        family = Family(
            template,
            compute,
            depth,
            low,
            high,
            higher_is_better,
            unit,
            ks,
            aliases,
            aggregate,
            (),
            cite,
            formula,
        )
        REGISTRY.add(template, family, aliases)
        return compute

    return register


def summary(template: str, *, parts: tuple[str, ...], formula: str, cite: tuple[str, ...]) -> None:
    """Register a sum of other metrics over both directions."""
    high = 2.0 * len(parts)
    REGISTRY.add(
        template,
        Family(template, None, "k", 0.0, high, True, "fraction", (), (), "sum", parts, cite, formula),
    )


@dataclass(frozen=True)
class Metric:
    """A metric as a value: family, k and view. ``str`` gives the name, ``parse`` reads it."""

    template: str
    k: int | None = None
    view: str = "gt"
    family: Family = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", REGISTRY.get(self.template))

    @property
    def name(self) -> str:
        """The name without its view."""
        return self.template.format(k=self.k)

    def __str__(self) -> str:
        return self.name if self.view == "gt" else f"{self.view}:{self.name}"

    def per_query(self, ranks: Ranks) -> Float:
        """(judged,) float64 values; raises UsageError for a summary, which has none."""
        if self.family.compute is None:
            raise UsageError(f"{self} is a sum over metrics and has no value for a single query")
        arguments: dict[str, Any] = {"k": self.k} if self.family.takes_k else {}
        return np.asarray(self.family.compute(ranks, **arguments), np.float64)

    def parts(self) -> tuple[Metric, ...]:
        """The metrics a summary adds up, in its own view."""
        return tuple(parse(f"{self.view}:{name}") for name in self.family.parts)


_NAME = re.compile(r"^(?:(?P<view>[A-Za-z0-9_-]+):)?(?P<name>[^:@\s]+(?:@[^:@\s]+)?)$")


def parse(text: str) -> Metric:
    """The metric a name stands for.

    Raises:
        UsageError: no such metric (with close matches), or a k that is not a whole number of at least 1.
    """
    match = _NAME.match(text.strip())
    if not match:
        raise UsageError(f"'{text}' is not a metric name", fix="write [view:]Name[@k], for example R@1 or eccv:mAP@R")
    view, name = match["view"] or "gt", match["name"]
    if name in REGISTRY and "{k}" not in name:
        return Metric(REGISTRY.get(name).template, None, view)
    stem, at, tail = name.partition("@")
    template = stem + "@{k}"
    if at and template in REGISTRY:
        if not re.fullmatch(r"[0-9]{1,18}", tail) or int(tail) < 1:
            raise UsageError(f"k of '{text}' is '{tail}'", fix=f"give a whole number of at least 1, as in {stem}@10")
        return Metric(REGISTRY.get(template).template, int(tail), view)
    if not at and template in REGISTRY:
        raise UsageError(f"'{text}' needs a k", fix=f"write {text}@10")
    prefix = f"{match['view']}:" if match["view"] else ""
    raise unknown("metric", text, [prefix + known for known in known_names()])


def known_names() -> list[str]:
    """Every registered name, with its default ks filled in."""
    return [f.template.format(k=k) for f in REGISTRY for k in (f.ks or (None,))]
