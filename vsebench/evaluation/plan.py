"""What an evaluation measures, decided once before anything is ranked.

``make_plan`` reads the options and the input; ranking, measuring, the signature and the report read the plan.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .. import relevance
from ..data.splits import catalogue
from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..graded.rankings import plan as rankings_of
from ..metrics import Metric
from ..metrics.declare import DEFAULT_GAINS, without_mean
from ..metrics.suites import ALL, INTRA, SUITES, default_words, expand, members, words
from ..options import spell
from ..rank.observe import Request
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains, Spec
from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS
from ..report.model import Resampling
from ..types import AllItems, Candidates, Direction, SameFold, Split
from . import chosen_gains as gains_of
from .inputs import Input
from .options import Options
from .short_lists import graded_too_short, leave_out

LEAVE_OUT = "leave it out, or evaluate the embeddings"


@dataclass(frozen=True, eq=False)
class Plan:
    """What is measured.

    Attributes:
        split: the items, with their captions where gains need them.
        metrics: in the requested order, sums included.
        named: those requested by their own names, with the parts of sums; the others (of suites and ``all``, or none
            requested) are left out where retrieved lists are too short for them.
        directions: what is ranked.
        requests: for every view of binary judgements and direction the relevant items and the candidates.
        gains: by view, for every graded metric.
        intra: metrics of image-image and text-text retrieval.
        depth: how many items of every ranking are kept, None for none.
        lists: how many of them the report keeps.
        ties: tie rule of the ranks.
        no_positive: ``skip`` or ``miss`` for queries that the judgements cover and that have no positive.
        short_lists: ``refuse`` or ``miss`` for metrics that read deeper than the retrieved lists.
        resampling: how intervals are made, None for none.
        notes: what was decided.
    """

    split: Split
    metrics: tuple[Metric, ...]
    named: frozenset[Metric]
    directions: tuple[Direction, ...]
    requests: tuple[Request, ...]
    gains: Mapping[str, Gains]
    intra: tuple[Metric, ...]
    depth: int | None
    lists: int
    ties: str
    no_positive: str
    short_lists: str
    resampling: Resampling | None
    notes: tuple[str, ...]

    @functools.cached_property
    def single(self) -> tuple[Metric, ...]:
        """The metrics with sums replaced by their parts, without repeats."""
        return tuple(dict.fromkeys(part for m in self.metrics for part in (m.parts() or (m,))))

    @property
    def binary(self) -> tuple[Metric, ...]:
        """Those of binary judgements."""
        return tuple(m for m in self.single if not m.graded)

    @property
    def graded(self) -> tuple[Metric, ...]:
        """Those that read gains."""
        return tuple(m for m in self.single if m.graded)


def _no_expectation() -> str:
    return f"no closed form of the mean over the orders of tied items ({spell('ties', 'expected')})"


def make_plan(data: Input, options: Options) -> Plan:
    """Decide what is measured.

    Raises:
        UsageError: unknown metrics or gains; a view that the split does not have; a sum that lacks a direction.
        BadInput: gains that a metric requested by name does not allow; lists of other directions.
        MissingPackage: captions or gains are missing, with the command that installs them.
    """
    directions = tuple(d for d in options.directions if d in data.directions)
    if not directions:
        raise BadInput(
            f"no list for {', '.join(options.directions)}", where=data.where, fix="give a run of that direction"
        )
    intra, names = _intra(options, data)
    chosen = gains_of.choose(options.gains)
    named = _by_name(names, data.split, directions, chosen)
    metrics, split, gains, notes = _metrics_and_gains(data, options, names, named, chosen, directions)
    if options.ties == EXPECTED:
        metrics, lost = _with_expectation(metrics, named)
        inside, within = _with_expectation(intra, ())
        intra = tuple(inside)
        gains = {view: g for view, g in gains.items() if any(m.view == view for m in metrics)}
        notes += [f"{', '.join(dict.fromkeys([*lost, *within]))} left out: {_no_expectation()}"] * bool(lost or within)
    judged = functools.cache(lambda name, direction: relevance.load(name, split, direction))
    requests = [
        Request(view, judged(JUDGEMENTS[view].positives, d), _candidates(view, split, d))
        for view in dict.fromkeys(m.view for m in metrics if not m.graded)
        for d in directions
    ]
    _refuse_misses(metrics, requests, options.no_positive)
    graded = [m for m in metrics if m.graded]
    rankings_of(graded, split, directions)  # folds that are missing are an error before anything is ranked
    if options.metrics is None and (absent := absent_judgements(split)):
        notes.append(f"{', '.join(absent)} left out: the judgements are not installed (pip install 'vsebench[text]')")
    if graded and options.ties not in ("index", EXPECTED):
        notes.append(f"{spell('ties')} is about binary judgements: graded metrics take ties in the order of the index")
    if graded and data.lists is not None:
        notes += gains_of.unknown_ties(graded, [d for d in directions if d not in data.lists.tied])
    return Plan(
        split, tuple(metrics), named, directions, tuple(requests), gains, intra,
        max(options.kept or 0, options.lists) or None, options.lists, options.ties, options.no_positive,
        options.short_lists, options.resampling, (*data.notes, *notes),
    )  # fmt: skip


def check_names(options: Options, split: Split | str | None) -> None:
    """Find a misspelt metric, kind of gains or split before a large file is read; raises UsageError."""
    chosen = gains_of.choose(options.gains)
    rest = None if options.metrics is None else [w for w in words(options.metrics) if w.lower() != INTRA]
    if rest or (rest is not None and not words(options.metrics)):
        expand(rest, ["gt"], tuple(chosen), list(GAINS))
    if isinstance(split, str) and split != "custom":
        catalogue.declared(split)


def views(split: Split) -> list[str]:
    """The sets of binary judgements that a split has, headline first."""
    own, has_folds = relevance.names(split), split.fold is not None and not split.in_folds
    return [name for name, judged in JUDGEMENTS.items() if name in own or (judged.folds and has_folds)]


def absent_judgements(split: Split) -> list[str]:
    """Sets of judgements of the split that are not installed."""
    installed = relevance.identities(split)
    return [v for v in relevance.names(split) if JUDGEMENTS[v].splits and v not in installed]


def choose_metrics(
    names: str | Sequence[str] | None,
    split: Split,
    directions: Sequence[Direction],
    gains: Mapping[str, Spec | None] | None = None,
) -> list[Metric]:
    """The requested metrics; without words the headline suites whose judgements are installed.

    A sum over both directions is left out of suites and ``all`` when one direction is measured.

    Args:
        names: metrics, suites, ``all``; None for the headline suites.
        split: decides which judgements exist.
        directions: what is ranked.
        gains: kinds of gains of ``all``, the default first, and their specification if there is one.

    Raises:
        UsageError: an unknown name; a view the split does not have; a sum by name that lacks a direction.
    """
    available = views(split)
    if names is None:
        absent = absent_judgements(split)
        names = default_words([v for v in available if v not in absent])
    suits = functools.partial(gains_of.suits, gains=gains or {})
    metrics = expand(names, available, tuple(gains or ()), list(GAINS), suits)
    for m in metrics:
        if not m.graded and m.view not in available and not (JUDGEMENTS[m.view].folds and split.in_folds):
            what = f"{m}: split '{split.name}' has no view '{m.view}' (it has {', '.join(available)})"
            patterns = [name for name in JUDGEMENTS[m.view].splits if "*" in name]
            where = f"splits named {', '.join(patterns)}" if patterns else "all of coco-5k"
            raise UsageError(what, fix=f"leave it out; {m.view} is defined on {where}")
    if len(directions) == 2:
        return metrics
    named = [w for w in words(names) if w.lower() not in ALL and members(w) is None]
    sums = [m for w in named for m in expand(w, available, tuple(gains or ()), list(GAINS)) if m.family.compute is None]
    if sums:
        what = f"{sums[0]} is a sum over both directions, and only {directions[0]} is ranked"
        raise UsageError(what, fix="leave it out, or rank both directions")
    return [m for m in metrics if m.family.compute is not None]


def _intra(options: Options, data: Input) -> tuple[tuple[Metric, ...], list[str] | None]:
    """The metrics of retrieval inside the modalities, and the words that ask for others."""
    names = None if options.metrics is None else words(options.metrics)
    rest = None if names is None else [w for w in names if w.lower() != INTRA]
    if rest == names:
        return (), rest
    if data.vectors is None:
        what = "a score matrix does" if data.lists is None else "these lists do"
        raise UsageError(f"{INTRA} ranks images by images, which {what} not hold", fix=LEAVE_OUT)
    return tuple(expand(SUITES[INTRA].metrics, ["cxc"])), rest


def _with_expectation(metrics: Sequence[Metric], named: Collection[Metric]) -> tuple[list[Metric], list[str]]:
    """The metrics whose mean over the orders of tied items is known, and the names of the others.

    Raises:
        UsageError: another metric is requested by name, or there is no other.
    """
    lost = [m for m in metrics if not m.has_expectation]
    refused = [m for m in lost if m in named] or (lost if len(lost) == len(metrics) else [])
    if refused:
        raise UsageError(f"{', '.join(map(str, refused))}: {_no_expectation()}", fix=without_mean())
    return [m for m in metrics if m.has_expectation], list(map(str, lost))


def _by_name(
    names: list[str] | None, split: Split, directions: Sequence[Direction], chosen: Mapping[str, Spec]
) -> frozenset[Metric]:
    """The metrics that are requested by their own names, not in a suite or ``all``, with the parts of sums."""
    alone = [w for w in names or () if w.lower() not in ALL and members(w) is None]
    found = choose_metrics(alone, split, directions, {**chosen} or {DEFAULT_GAINS: None}) if alone else []
    return frozenset(part for m in found for part in (m.parts() or (m,)))


def _metrics_and_gains(
    data: Input, options: Options, names: list[str] | None, of_names: frozenset[Metric], chosen: Mapping[str, Spec],
    directions: Sequence[Direction],
) -> tuple[list[Metric], Split, dict[str, Gains], list[str]]:  # fmt: skip
    """The metrics that can be measured, the split (with captions where gains need them), the gains, and notes."""
    split = data.split
    if names == []:
        return [], split, {}, []  # only metrics inside the modalities
    kinds: Mapping[str, Spec | None] = {**chosen} or {DEFAULT_GAINS: None}
    metrics = choose_metrics(names, split, directions, kinds)
    short: list[str] = []
    if data.lists is not None:  # before gains are loaded, which may take long
        graded = [m for m in metrics if m.graded]
        refused = graded_too_short(graded, split, data.lists, directions)
        metrics, short = leave_out(metrics, refused, of_names, data.where, options.short_lists)
    try:
        split, gains, notes = gains_of.load(metrics, chosen, split, options.captions, data.rows)
    except (UsageError, MissingPackage) as error:
        binary = [m for m in metrics if not m.graded]
        # `all` measures what there is; whoever names a graded metric, gains or captions gets the error.
        if chosen or options.captions is not None or binary != choose_metrics(names, split, directions):
            raise
        return binary, split, {}, [*short, f"graded relevance left out: {error.what} ({error.fix})"]
    by_name = [w for w in names or () if w.lower() not in ALL]
    named = choose_metrics(by_name or None, split, directions, kinds) if gains or chosen else []
    metrics, left_out = gains_of.leave_out(metrics, named, gains, chosen)
    used = {m.view for m in metrics}
    return metrics, split, {view: g for view, g in gains.items() if view in used}, [*short, *notes, *left_out]


def _candidates(view: str, split: Split, direction: Direction) -> Candidates:
    if not (JUDGEMENTS[view].folds or split.in_folds):
        return AllItems()
    if split.fold is None or split.caption_fold is None:
        raise UsageError(
            f"split '{split.name}' has no folds, which view '{view}' needs", fix=f"use {spell('split', 'coco-5k')}"
        )
    sides = (split.fold, split.caption_fold)
    return SameFold(*(sides if direction == "i2t" else sides[::-1]))


def _refuse_misses(metrics: Sequence[Metric], requests: Sequence[Request], no_positive: str) -> None:
    """Refuse metrics of ranks where queries without positives count as a miss, which has no rank."""
    judged = {(r.view, r.relevance.direction): r.relevance for r in requests}
    single = dict.fromkeys(part for m in metrics for part in (m.parts() or (m,)))
    for m in single if no_positive == "miss" else ():
        for (view, direction), found in judged.items() if m.unit == "rank" else ():
            lost = int((found.found == 0).sum())  # none of the positives is in the gallery
            if view == m.view and found.skipped + lost and lost < len(found.found):
                without = count_of(found.skipped + lost, "query", "queries")
                what = f"{m} ({direction}) has no value for {without} without positives"
                raise UsageError(what, fix=f"leave out {spell('no_positive', 'miss')}, or the metric")
