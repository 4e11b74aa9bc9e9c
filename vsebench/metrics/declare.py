"""Declaring a metric: the facts are data on a function, and the metric's name parses back.

A metric reads one of four observations. If its function takes ``ranks``, it reads where the relevant items landed
(``types.Ranks``). If it takes ``judged``, it reads where the judged items landed, whatever their grade. If it
takes fields of ``GradedRanking``, it reads how relevant the retrieved items are. If it takes ``occurrences``, it
reads how many queries have every item among their first k, and no relevance. All are declared by ``metric``, sums of
metrics by ``metric_sum``, and all of them are in one table.

A name is ``[view:]Name[options][@k]``: ``R@1``, ``eccv:mAP@R``, ``cider:CS[tau=a]@100``. The view is a kind of gains
(``cider`` for a graded metric without one), or else the name of a set of judgements (``gt`` if none is
written), declared or the user's. Judgements are gains for metrics normalised by the ideal gains: ``eccv:nDCG@10``.
Options at their default value are not written, the others in the order of their declaration. ``parse(str(m)) == m``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import UsageError, closest, format_value, unknown
from ..options import spell
from ..relevance.sources import is_gains
from ..types import Float, Int, Ranks, Unit
from .graded_ranking import GradedRanking

Depth = Literal["k", "R", "best", "all"]
Aggregate = Literal["mean", "floor-median", "sum"]
Group = Literal["recall", "rank", "precision", "hubness"]
Compute = Callable[..., Float | float]

DEPTHS: dict[str, str] = {
    "k": "the top k of every ranking",
    "R": "as deep as the query has relevant items",
    "best": "the first relevant item of every query, however deep it is",
    "all": "every ranking to its end",
}
DEFAULT_GAINS = "cider"
JUDGED = " judged"  # behind a view: its judged items, whatever their grade
HUBNESS = "hubness"  # the view of metrics that read no relevance
OBSERVED = tuple(f.name for f in fields(GradedRanking))


class UnknownMetric(UsageError):
    """An unknown name of a metric; ``sure``: the fix has the right name."""

    def __init__(self, what: str, *, fix: str, sure: bool = False):
        super().__init__(what, fix=fix)
        self.sure = sure


def without_mean() -> str:
    """The fix for a metric without a known mean over the orders of tied items."""
    return f"leave it out, or use {spell('ties', 'index')}"


@dataclass(frozen=True)
class Option:
    """The values allowed for an option ``key=`` in the brackets of a name.

    Attributes:
        words: allowed values, the default first.
        formula: one line.
        number: integers of at least 1 are allowed as well.
    """

    words: tuple[str, ...]
    formula: str
    number: bool = False

    def accepts(self, value: str) -> bool:
        """Whether the value is allowed."""
        return value in self.words or (self.number and _is_count(value))


# Options of every graded metric: which items are candidates. The functions of the metrics do not see them.
WITHOUT_GROUND_TRUTH = Option(("in", "out"), "out: a query's own captions (or image) are neither candidates nor ideals")
CAPTIONS = {"all": "all captions of an image take part", "first": "only the first caption of every image takes part"}
FOLDS = Option(
    ("split", "folds", "block"),
    "folds: only items of the query's fold are candidates, mean over the folds; block: only the first fold (COCO 1K)",
)


@dataclass(frozen=True, eq=False)
class Family:
    """A metric before its parameters are known.

    Attributes:
        template: name with ``{k}`` in place of the depth, e.g. ``R@{k}``.
        compute: per-query values; None for a sum of other metrics.
        graded: the metric reads gains, not binary judgements.
        depth: how deep in a ranking the metric reads.
        low, high: range of a value; ``high`` None means the size of the gallery (ranks) or no bound (distances).
        higher_is_better: direction of the metric.
        unit: ``fraction``, ``rank``, ``distance`` or ``number``.
        group: metrics of one group share a table in a leaderboard; all graded metrics share one table.
        ks: default ks.
        aliases: other templates.
        aggregate: how per-query values become one number.
        parts: names that a sum adds up, over both directions.
        cite: keys of the references in ``docs/metrics.md``.
        formula: one line.
        options: what the brackets of its name may hold.
        least_k: the smallest k that means anything.
        lowest_gain: gains below it are refused; None when any gain is allowed.
        expected: its mean over the orders of tied items. A function of binary judgements is in ``metrics.expected``. Of
            gains: ``means`` if the value is linear in what it reads of the retrieved items, ``same`` if it does not
            depend on the order of tied items, or a function of the ties of the pseudo-positives. None if it has no
            closed form.
        first: the metric, of the same options, that it is by definition at k = 1; empty for none.
        alone: the one that it is by definition where every query has one positive.
    """

    template: str
    compute: Compute | None
    graded: bool
    formula: str
    cite: tuple[str, ...]
    depth: Depth = "k"
    low: float = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    unit: Unit = "fraction"
    group: Group = "precision"
    ks: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    aggregate: Aggregate = "mean"
    parts: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    least_k: int = 1
    lowest_gain: float | None = None
    expected: Compute | Literal["means", "same"] | None = None
    first: str = ""
    alone: str = ""

    @property
    def takes_k(self) -> bool:
        """Whether the name has a k."""
        return "{k}" in self.template

    @property
    def stem(self) -> str:
        """The name without its depth: ``R`` of ``R@{k}``."""
        return self.template.partition("@")[0]

    @property
    def doc(self) -> str:
        """The definition, as written at the function; for a sum, its terms."""
        if self.compute is None:
            added = " + ".join(self.parts)
            what = "sum" if (self.high or 0) > 1 else "mean"
            return f"The {what} of {added} over image-to-text and text-to-image; single queries have no value of it."
        return self.compute.__doc__ or ""

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters of ``compute``."""
        return frozenset() if self.compute is None else frozenset(inspect.signature(self.compute).parameters)

    @property
    def of_lists(self) -> bool:
        """Whether the metric reads how often items are listed, and no relevance."""
        return "occurrences" in self.parameters

    @property
    def of_judged(self) -> bool:
        """Whether the metric reads where the judged items landed, whatever their grade."""
        return "judged" in self.parameters

    @cached_property
    def needs(self) -> frozenset[str]:
        """The fields of ``GradedRanking`` that the metric reads; none for metrics of binary judgements."""
        return self.parameters & frozenset(OBSERVED) if self.graded else frozenset()

    @property
    def normalised(self) -> bool:
        """Whether a graded metric compares with the ideal gains, so that gain 0 of pairs nobody judged is enough."""
        return all(parse(part).family.normalised for part in self.parts) if self.parts else "ideal" in self.needs


_FAMILIES: list[Family] = []


def families(graded: bool | None = None) -> list[Family]:
    """The declared metrics in the order of their declaration: all, graded ones, or binary ones."""
    return [f for f in _FAMILIES if graded is None or (f.graded == graded and not f.of_lists)]


def _families_named(template: str) -> tuple[Family | None, Family | None]:
    """The metric of a template or an alias for binary judgements, and that for gains.

    Other capitals are accepted if they fit one metric only.
    """
    same_spelling = [
        (name, f) for f in _FAMILIES for name in (f.template, *f.aliases) if name.lower() == template.lower()
    ]
    exact = [(name, f) for name, f in same_spelling if name == template]
    found = exact or (same_spelling if len({name for name, _ in same_spelling}) == 1 else [])
    binary, graded = (next((f for _, f in found if f.graded == reads), None) for reads in (False, True))
    return binary, graded


def _family(template: str, view: str) -> Family | None:
    """The metric of a template for a view: of gains the graded one, if there is one; of judgements the binary one."""
    binary, graded = _families_named(template)
    return (graded or binary) if is_gains(view) else (binary or graded)


def _declare(family: Family) -> None:
    named = f"metric '{family.template}'"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9()-]*(@(\{k\}|[A-Za-z]+))?", family.template):
        raise UsageError(f"{named} is not a valid name", fix="write letters and digits, as in Found@{k}")
    if family.takes_k and not family.ks:
        raise UsageError(f"{named} has no default ks", fix="give ks=(1, 5, 10)")
    for key, option in family.options.items():
        if not isinstance(option, Option):
            raise UsageError(f"{named}: option '{key}' is {option!r}", fix="give an Option")
    taken = {name for f in families() if f.graded == family.graded for name in (f.template, *f.aliases)}
    if not taken.isdisjoint((family.template, *family.aliases)):
        raise UsageError(f"{named} is registered twice", fix="give it another name")
    _FAMILIES.append(family)


def metric(
    template: str,
    *,
    formula: str,
    cite: tuple[str, ...] = (),
    options: Mapping[str, Option] | None = None,
    captions: str = "all",
    **facts: Any,
) -> Callable[[Compute], Compute]:
    """Declare a metric. The parameters of the function are what the metric reads.

    A function of ``ranks``, its own options (and ``k`` if the template has one) returns values (judged,). A function of
    ``occurrences``, (gallery,) int64, returns the value. A function of
    fields of ``GradedRanking``, ``ks`` and its own options returns values (query, ks) for all ks, NaN if the
    metric is not defined. Graded metrics also take the options ``gt``, ``captions`` and ``on``, which select the
    queries and candidates.

    >>> from vsebench import metric, parse
    >>> @metric("Found@{k}", formula="number of relevant items with rank <= k", high=None, ks=(5,))
    ... def found(ranks, k):
    ...     return ranks.within(k)
    >>> parse("gt:Found@5").family.formula
    'number of relevant items with rank <= k'

    Args:
        template: name with ``{k}`` in place of the depth.
        formula: one line.
        cite: keys of the references in ``docs/metrics.md``.
        options: its options, by key.
        captions: default of the option ``captions``: ``all`` or ``first``.
        **facts: further fields of ``Family``: depth, low, high, higher_is_better, unit, group, ks, aliases,
            aggregate, least_k, lowest_gain, expected, first, alone.

    Raises:
        UsageError: the name is taken, or a parameter of the function is neither observed nor an option.
    """

    def declare(compute: Compute) -> Compute:
        parameters = tuple(inspect.signature(compute).parameters)
        declared = dict(options or {})
        if read := [name for name in ("ranks", "judged", "occurrences") if name in parameters]:
            _refuse_unknown(template, parameters, (read[0], "k", *declared) if read[0] != "occurrences" else read)
            _declare(Family(template, compute, False, formula, cite, options=declared, **facts))
            return compute
        _refuse_unknown(template, parameters, ("ranks", *OBSERVED, "ks", *declared))
        others = tuple(c for c in CAPTIONS if c != captions)
        which = Option((captions, *others), f"first: {CAPTIONS['first']}")
        candidates = {"gt": WITHOUT_GROUND_TRUTH, "captions": which, "on": FOLDS}
        _declare(Family(template, compute, True, formula, cite, options={**declared, **candidates}, **facts))
        return compute

    return declare


def _refuse_unknown(template: str, parameters: tuple[str, ...], allowed: Sequence[str]) -> None:
    for name in parameters:
        if name not in allowed:
            raise UsageError(f"metric '{template}' takes '{name}'", fix=f"take some of {', '.join(allowed)}")


def metric_sum(
    template: str, *, parts: tuple[str, ...], formula: str, cite: tuple[str, ...] = (), aliases: tuple[str, ...] = (),
    mean: bool = False,
) -> None:  # fmt: skip
    """Declare a sum of other metrics over both directions; it is graded if its parts are.

    >>> from vsebench import metric_sum, parse
    >>> metric_sum("R1Sum", parts=("R@1",), formula="R@1 in both directions", cite=())
    >>> [str(part) for part in parse("eccv:R1Sum").parts()]
    ['eccv:R@1']

    Args:
        template: the name, without a view.
        parts: names of the metrics that are added up, means over queries.
        formula, cite, aliases: as of ``metric``.
        mean: divide the sum by the number of terms.

    Raises:
        UsageError: no parts, or one that is not a mean over queries.
    """
    if not parts:
        raise UsageError(f"metric '{template}' has no parts", fix="list the metrics to add up")
    added = [parse(part) for part in parts]
    for part in added:
        if part.family.aggregate != "mean":
            raise UsageError(f"metric '{template}' adds up '{part}'", fix="add up metrics that are means over queries")
    graded = added[0].graded
    options = {"captions": Option(tuple(CAPTIONS), "as of its parts"), "on": FOLDS} if graded else {}
    _declare(
        Family(
            template, None, graded, formula, cite, high=1.0 if mean else 2.0 * len(parts),
            group=added[0].family.group, aliases=aliases, aggregate="sum", parts=parts, options=options,
        )
    )  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """A metric as a value: family, k, view and options. ``str`` gives the name, ``parse`` reads it.

    Attributes:
        template: of the family.
        k: the depth in the name.
        view: set of judgements or kind of gains.
        options: (key, value) of the options that are not at their default, in declared order.
    """

    template: str
    k: int | None = None
    view: str = "gt"
    options: tuple[tuple[str, str], ...] = ()
    family: Family = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        family, has_gains = _family(self.template, self.view), is_gains(self.view)
        if family is None:
            raise unknown("metric", self.template, known_names())
        name = self.template.format(k=self.k)
        if (self.view == HUBNESS) != family.of_lists:
            what = f"{family.stem} reads {'no' if family.of_lists else 'the'} relevance of items"
            raise UsageError(what, fix=f"write {name}")
        if has_gains and not family.graded and family.compute is not None:
            what = f"'{self.view}' are gains, but {family.stem} needs binary judgements"
            raise UsageError(what, fix=f"write {name} or eccv:{name}")
        if family.graded and not has_gains and not family.normalised:
            what = f"'{self.view}' are binary judgements, but {family.stem} needs gains"
            raise UsageError(what, fix=f"write {DEFAULT_GAINS}:{name}")
        given = dict(self.options)
        for key, value in self.options:
            if not family.options:
                raise UsageError(f"{family.stem} takes no options", fix=f"leave out [{key}={value}]")
            if key not in family.options:
                raise unknown(f"option of {family.stem}", key, family.options)
            if not family.options[key].accepts(value):
                allowed = [*family.options[key].words, *(["an integer of at least 1"] * family.options[key].number)]
                raise UsageError(f"{family.stem}: {key} is '{value}'", fix=f"use {', '.join(allowed)}")
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
        alone = self.family.of_lists or (self.view == "gt" and not self.graded)
        return self.name if alone else f"{self.view}:{self.name}"

    @property
    def graded(self) -> bool:
        """Whether the metric reads gains, not binary judgements; a sum reads what its view has."""
        return self.family.graded or is_gains(self.view)

    @property
    def ranked(self) -> str:
        """What it reads the ranks of: the relevant items of its view, or those that are judged."""
        return f"{self.view}{JUDGED}" if self.family.of_judged else self.view

    @property
    def unit(self) -> Unit:
        """``fraction``, ``rank``, ``distance`` or ``number``."""
        return self.family.unit

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric."""
        return self.family.higher_is_better

    def option(self, key: str) -> str:
        """The value of an option, given or default."""
        return dict(self.options).get(key, self.family.options[key].words[0])

    def per_query(self, ranks: Ranks) -> Float:
        """(judged,) float64 values; means over the orders of tied items where ``ranks`` has ``groups``.

        Raises:
            UsageError: a sum or a graded metric, which have none of ranks, or a metric without such a mean.
        """
        if self.family.compute is None or self.graded or self.family.of_lists:
            raise UsageError(f"{self} cannot be computed per query from ranks of relevant items")
        arguments: dict[str, Any] = {key: self.option(key) for key in self.family.options}
        arguments |= {"k": self.k} if self.family.takes_k else {}
        values = np.array(self.family.compute(ranks, **arguments), np.float64)
        if (ties := ranks.groups) is not None:
            if not callable(self.family.expected):
                raise UsageError(f"{self} has no mean over the orders of tied items in closed form", fix=without_mean())
            each = self.family.expected(ties, **arguments)
            values[ties.query] = np.bincount(ties.query, weights=each, minlength=len(values))[ties.query]
        return values

    def of_gallery(self, occurrences: Int) -> float:
        """The value of a metric of hubness, from how many queries have every item among their first k, (gallery,)."""
        assert self.family.of_lists and self.family.compute is not None
        return float(self.family.compute(occurrences))

    @property
    def has_expectation(self) -> bool:
        """Whether its mean over the orders of tied items has a closed form (all parts of a sum have one)."""
        if parts := self.parts():
            return all(part.has_expectation for part in parts)
        return self.family.expected is not None

    def same_as(self, one_positive: bool) -> Metric | None:
        """The metric that equals this one by definition, or None; ``one_positive``: every query has one."""
        name = self.family.first if self.k == 1 else ""
        name = name or (self.family.alone if one_positive and not self.graded else "")
        if not name:
            return None
        found = parse(f"{self.view}:{name.format(k=self.k)}")
        return Metric(
            found.template, found.k, found.view, tuple(o for o in self.options if o[0] in found.family.options)
        )

    @property
    def weight(self) -> float:
        """The weight of every part of a sum, in each direction: 1, or one over their number in a mean."""
        return (self.family.high or 0) / (2 * len(self.family.parts)) if self.family.parts else 1.0

    def parts(self) -> tuple[Metric, ...]:
        """The metrics that a sum adds up, with its view and options; empty if it is not a sum."""
        named = (parse(f"{self.view}:{name}") for name in self.family.parts)
        return tuple(Metric(p.template, p.k, p.view, p.options + self.options) for p in named)


_NAME = re.compile(
    r"^(?:(?P<view>[A-Za-z0-9_-]+):)?(?P<stem>[^:@\s\[\]]+)(?:\[(?P<options>[^:@\s\[\]]*)\])?(?:@(?P<tail>[^:@\s\[\]]+))?$"
)
# Names of MTEB (ndcg_at_10) and of trec_eval (P.10, P_10), which are of judgements.
_OF_PEERS = re.compile(r"(?P<stem>.+?)(?:_at_|[._])(?P<k>[0-9]+)")
PEERS = {
    "ndcg": "nDCG", "ndcg_cut": "nDCG", "ndcg_burges": "nDCG[gain=exp]", "map": "mAP", "map_cut": "mAP", "mrr": "MRR",
    "p": "P", "precision": "P", "recall": "Recall", "r_cap": "Recall[over=min]", "success": "R", "hit_rate": "R",
}  # fmt: skip


def parse(text: str) -> Metric:
    """The metric of a name.

    >>> from vsebench import parse
    >>> m = parse("eccv:mAP@R")
    >>> m.view, m.name, m.higher_is_better, str(parse("NCS[gt=out]@10"))
    ('eccv', 'mAP@R', True, 'cider:NCS[gt=out]@10')

    Raises:
        UsageError: no such metric (with close matches), an option it does not have or a value that the option
            does not take, or a k that is not an integer, or too small.
    """
    if not isinstance(text, str):
        raise UsageError(f"the name of a metric is {format_value(text)}", fix="give a string such as R@1")
    match = _NAME.match(text.strip())
    if not match:
        fix = "write [view:]Name[@k], for example R@1 or eccv:mAP@R"
        parts = re.split(r"[\s;]+", text.strip(" ;"))
        if len(parts) > 1 and all(map(_NAME.match, parts)):
            fix = f"separate names by commas: {','.join(parts)}"
        raise UnknownMetric(f"'{text}' is not a metric name", fix=fix)
    stem, tail, given = match["stem"], match["tail"], match["view"]
    if (peer := _OF_PEERS.fullmatch(stem)) and peer["stem"].lower() in PEERS and tail is None and not match["options"]:
        return parse(f"{given or 'gt'}:{PEERS[peer['stem'].lower()]}@{peer['k']}")
    options = _options(text, match["options"])
    for template in (stem if tail is None else f"{stem}@{tail}", stem + "@{k}"):
        binary, graded = _families_named(template)
        of_gains = graded and (not binary or (options and not binary.options))
        default = DEFAULT_GAINS if of_gains else HUBNESS if binary and binary.of_lists else "gt"
        view = given.lower() if given else default
        family = _family(template, view)
        if family is not None:
            return Metric(family.template, _depth(text, family, tail) if family.takes_k else None, view, options)
    raise _no_such(text, given, stem, tail)


def _depth(text: str, family: Family, tail: str | None) -> int:
    """The k of a name."""
    least, usual = family.least_k, family.stem + f"@{family.ks[-1 if family.least_k == 1 else 0]}"
    if tail is None:
        raise UsageError(f"'{text}' needs a k", fix=f"write {text}@{family.ks[-1]}")
    if _is_count(tail) and int(tail) >= least:
        return int(tail)
    if re.fullmatch(r"[0-9]{19,}", tail):
        raise UsageError(f"k of '{text}' is larger than any gallery", fix=f"give a smaller k, as in {usual}")
    small = f", but {family.stem} needs k ≥ {least}" if _is_count(tail) else ""
    raise UsageError(f"k of '{text}' is '{tail}'{small}", fix=f"give an integer of at least {least}, as in {usual}")


def separate(text: str) -> list[str]:
    """The names of a comma-separated list; commas in brackets are part of a name."""
    words = re.findall(r"(?:\[[^\[\]]*\]|[^,])+", text)
    return [w.strip() for w in words if w.strip()]


def known_names(graded: bool | None = None) -> list[str]:
    """Every declared name, with its default ks filled in."""
    return [f.template.format(k=k) for f in families(graded) for k in (f.ks or (None,))]


def _no_such(text: str, view: str | None, stem: str, tail: str | None) -> UnknownMetric:
    prefix = f"{view}:" if view else ""
    known = [prefix + name for name in known_names()]
    number = tail if tail and _is_count(tail) else None
    meant = {f.template.format(k=number or (f.ks or (10,))[-1]) for f in families() if f.stem.lower() == stem.lower()}
    if stem.lower() in PEERS:
        meant = {f"{PEERS[stem.lower()]}@{number or 10}"}
    near = sorted(prefix + name for name in meant) or closest(text, known)
    fix = f"did you mean {' or '.join(map(repr, near))}?"
    listed = f"'vsebench metrics' lists them, from {known[0]} to {known[-1]}"
    return UnknownMetric(f"unknown metric '{text}'", fix=fix if near else listed, sure=bool(meant))


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
