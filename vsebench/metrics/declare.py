"""Declaring a metric: facts on the function, and names that parse back.

A metric's name is ``[view:]Name[options][@k]``: ``R@1``, ``eccv:mAP@R``, ``cider:CS[tau=a]@100``. The view says whose
judgements: those of ``JUDGEMENTS`` call an item relevant or not (``gt``, the captions written for the image, when no
view is named), any other view says how much (``cider`` when a graded metric is named without one). Options that
have their default value are not written, the others in the order of the declaration. ``parse(str(m)) == m``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..errors import UsageError
from ..registry import Registry, closest, unknown
from ..relevance.judgements.table import JUDGEMENTS
from ..types import Float, Ranks

Depth = Literal["k", "R", "best", "all"]
Aggregate = Literal["mean", "floor-median", "sum"]

DEPTHS: dict[str, str] = {
    "k": "the top k of every ranking",
    "R": "as deep as the query has relevant items",
    "best": "the first relevant item of every query, however deep it is",
    "all": "the whole of every ranking",
}
DEFAULT_GAINS = "cider"


@dataclass(frozen=True)
class Option:
    """What may stand behind ``key=`` in the brackets of a name.

    Attributes:
        words: allowed values, the default first.
        number: whole numbers of at least 1 are allowed as well.
        formula: what it does, one line.
    """

    words: tuple[str, ...]
    formula: str
    number: bool = False

    def accepts(self, value: str) -> bool:
        """Whether the value may be given."""
        return value in self.words or (self.number and _is_count(value))


@dataclass(frozen=True, eq=False)
class Family:
    """A metric before its parameters are known.

    Attributes:
        template: name with ``{k}`` where the depth goes, e.g. ``R@{k}``.
        compute: per-query values from ``Ranks`` (and ``k``); None for a summary of other metrics.
        depth: how far down a ranking it looks.
        low, high: range of a value; ``high`` None means the size of the gallery.
        higher_is_better: direction of the metric.
        unit: ``fraction``, ``rank`` or ``distance``.
        ks: default ks.
        aliases: other templates.
        aggregate: how per-query values become one number.
        parts: names a summary adds up, over both directions.
        cite: citation keys.
        formula: one line.
        options: what the brackets of its name may hold.
        least_k: the smallest k that means anything.
        lowest_gain: gains below it are refused; None when any gain will do.
    """

    template: str
    compute: Callable[..., Float] | None
    depth: Depth
    low: float
    high: float | None
    higher_is_better: bool
    unit: Literal["fraction", "rank", "distance"]
    ks: tuple[int, ...]
    aliases: tuple[str, ...]
    aggregate: Aggregate
    parts: tuple[str, ...]
    cite: tuple[str, ...]
    formula: str
    options: Mapping[str, Option] = field(default_factory=dict)
    least_k: int = 1
    lowest_gain: float | None = None

    @property
    def takes_k(self) -> bool:
        """Whether the name has a k."""
        return "{k}" in self.template

    @property
    def doc(self) -> str:
        """The definition, as written at the function."""
        return (self.compute.__doc__ if self.compute else None) or ""


REGISTRY: Registry[Family] = Registry("metric")
GRADED: Registry[Family] = Registry("graded metric")  # the same word may mean another thing there: R@5


def registry_of(template: str, view: str) -> Registry[Family]:
    """Where a metric is declared: graded views have metrics of their own."""
    return GRADED if view not in JUDGEMENTS and template in GRADED else REGISTRY


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
    """A metric as a value: family, k, view and options. ``str`` gives the name, ``parse`` reads it.

    Attributes:
        template: of the family.
        k: the depth in the name.
        view: whose judgements.
        options: (key, value) of the options that are not at their default, in declared order.
    """

    template: str
    k: int | None = None
    view: str = "gt"
    options: tuple[tuple[str, str], ...] = ()
    family: Family = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        family = registry_of(self.template, self.view).get(self.template)
        given = dict(self.options)
        for key, value in self.options:
            if not family.options:
                raise UsageError(f"{_stem(family)} takes no options", fix=f"leave out [{key}={value}]")
            if key not in family.options:
                raise unknown(f"option of {_stem(family)}", key, family.options)
            if not family.options[key].accepts(value):
                allowed = [*family.options[key].words, *(["a whole number of at least 1"] * family.options[key].number)]
                raise UsageError(f"{_stem(family)}: {key} is '{value}'", fix=f"use {', '.join(allowed)}")
        kept = [
            (key, given[key])
            for key, known in family.options.items()
            if given.get(key, known.words[0]) != known.words[0]
        ]
        object.__setattr__(self, "options", tuple((key, _plain(value)) for key, value in kept))
        object.__setattr__(self, "family", family)

    @property
    def name(self) -> str:
        """The name without its view."""
        written = ",".join(f"{key}={value}" for key, value in self.options)
        stem, at, tail = self.template.partition("@")
        return stem + (f"[{written}]" if written else "") + at + tail.format(k=self.k)

    def __str__(self) -> str:
        return self.name if self.view == "gt" else f"{self.view}:{self.name}"

    def option(self, key: str) -> str:
        """The value of an option, given or default."""
        return dict(self.options).get(key, self.family.options[key].words[0])

    def per_query(self, ranks: Ranks) -> Float:
        """(judged,) float64 values; raises UsageError for a summary, which has none."""
        if self.family.compute is None:
            raise UsageError(f"{self} is a sum over metrics and has no value for a single query")
        arguments: dict[str, Any] = {"k": self.k} if self.family.takes_k else {}
        return np.asarray(self.family.compute(ranks, **arguments), np.float64)

    def parts(self) -> tuple[Metric, ...]:
        """The metrics a summary adds up, in its own view and with its own options."""
        named = (parse(f"{self.view}:{name}") for name in self.family.parts)
        return tuple(Metric(p.template, p.k, p.view, p.options + self.options) for p in named)


_NAME = re.compile(
    r"^(?:(?P<view>[A-Za-z0-9_-]+):)?(?P<stem>[^:@\s\[\]]+)(?:\[(?P<options>[^:@\s\[\]]*)\])?(?:@(?P<tail>[^:@\s\[\]]+))?$"
)


def parse(text: str) -> Metric:
    """The metric a name stands for.

    Raises:
        UsageError: no such metric (with close matches), an option it does not have or a value that the option
            does not take, or a k that is not a whole number, or too small.
    """
    match = _NAME.match(text.strip())
    if not match:
        raise UsageError(f"'{text}' is not a metric name", fix="write [view:]Name[@k], for example R@1 or eccv:mAP@R")
    stem, tail = match["stem"], match["tail"]
    options = _options(text, match["options"])
    for template in (stem if tail is None else f"{stem}@{tail}", stem + "@{k}"):
        graded = template in GRADED and (template not in REGISTRY or bool(options))
        view = match["view"] or (DEFAULT_GAINS if graded else "gt")
        known = registry_of(template, view)
        if template not in known or ("{k}" in template) != template.endswith("@{k}"):
            continue
        family = known.get(template)
        if not family.takes_k:
            return Metric(family.template, None, view, options)
        if tail is None:
            raise UsageError(f"'{text}' needs a k", fix=f"write {text}@{family.ks[-1]}")
        if re.fullmatch(r"[0-9]{19,}", tail):
            raise UsageError(
                f"k of '{text}' is beyond every gallery", fix=f"give a smaller k, as in {stem}@{family.ks[-1]}"
            )
        if not _is_count(tail) or int(tail) < family.least_k:
            least = family.least_k
            small = f", and the least k of {stem} is {least}" if _is_count(tail) else ""
            usual = family.ks[-1] if least == 1 else family.ks[0]
            raise UsageError(
                f"k of '{text}' is '{tail}'{small}",
                fix=f"give a whole number of at least {least}, as in {stem}@{usual}",
            )
        return Metric(family.template, int(tail), view, options)
    raise _no_such(text, match["view"], stem, tail)


def separate(text: str) -> list[str]:
    """The names of a comma-separated list; commas in brackets belong to a name."""
    words = re.findall(r"(?:\[[^\[\]]*\]|[^,])+", text)
    return [w.strip() for w in words if w.strip()]


def _no_such(text: str, view: str | None, stem: str, tail: str | None) -> UsageError:
    if view in JUDGEMENTS and (stem in GRADED or stem + "@{k}" in GRADED):
        rest = text.strip().partition(":")[2]
        return UsageError(
            f"'{view}' says who is relevant, and {stem} needs how much", fix=f"write {DEFAULT_GAINS}:{rest}"
        )
    prefix = f"{view}:" if view else ""
    meant = [f for known in (REGISTRY, GRADED) for f in known if _stem(f).lower() == stem.lower()]
    if meant:
        right = {prefix + f.template.format(k=tail if tail and _is_count(tail) else (f.ks or (10,))[-1]) for f in meant}
        return UsageError(f"unknown metric '{text}'", fix=f"did you mean {' or '.join(map(repr, sorted(right)))}?")
    binary = [prefix + known for known in known_names()]
    near = closest(text, binary + [prefix + known for known in known_names(GRADED)])
    if near:
        return unknown("metric", text, near)
    return UsageError(
        f"unknown metric '{text}'", fix=f"'vsebench metrics' lists them, from {binary[0]} to {known_names(GRADED)[-1]}"
    )


def _options(text: str, inside: str | None) -> tuple[tuple[str, str], ...]:
    if inside is None:
        return ()
    found: dict[str, str] = {}
    for part in inside.split(","):
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"'{part}' of '{text}' is not an option", fix="write [key=value,...] with every key once")
        if key in found:
            raise UsageError(
                f"'{text}' gives the option {key} twice: {key}={found[key]} and {part}", fix=f"give {key} once"
            )
        found[key] = value
    return tuple(found.items())


def _is_count(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,18}", text)) and int(text) >= 1


def _plain(value: str) -> str:
    return str(int(value)) if _is_count(value) else value


def _stem(family: Family) -> str:
    return family.template.partition("@")[0]


def known_names(known: Registry[Family] = REGISTRY) -> list[str]:
    """Every registered name, with its default ks filled in."""
    return [f.template.format(k=k) for f in known for k in (f.ks or (None,))]
