"""What an evaluation measures, decided once before anything is ranked.

``make_plan`` reads the options and the input; ranking, measuring, the signature and the report read the plan.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import BadInput, MissingPackage, UsageError, count_of
from ..graded.rankings import plan as rankings_of
from ..log import note, warn
from ..metrics import Metric
from ..metrics.declare import DEFAULT_GAINS, HUBNESS, without_mean
from ..metrics.suites import ALL, INTRA, SUITES, default_words, expand, members, words
from ..options import spell
from ..rank.observe import Request
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains, Spec
from ..relevance.sources import SOURCES, Source, in_folds, is_gains, judgements_of
from ..sets import catalogue
from ..sets.published import SETS, warning_of
from ..types import AllItems, Candidates, Direction, SameFold, Split
from .chosen import leave_out as allowed
from .chosen import load_gains_of, load_judgements, note_unknown_ties, suits
from .inputs import Input
from .options import Options
from .short_lists import graded_too_short, leave_out

Choose = Callable[..., list[Metric]]  # ``choose_metrics`` of an evaluation
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
        judgements: the sets of binary judgements that the split has, by view.
        requests: for every view of binary judgements and direction the relevant items and the candidates.
        gains: by view, for every graded metric.
        intra: metrics of image-image and text-text retrieval.
        depth: how many items of every ranking are kept, None for none.
        options: tie rule, missing items, intervals, and how it is computed.
        stages: what was done with the scores before or after ranking, by field of the signature: ``fuse``,
            ``normalise``, ``rerank``.
    """

    split: Split
    metrics: tuple[Metric, ...]
    named: frozenset[Metric]
    directions: tuple[Direction, ...]
    judgements: Mapping[str, Source]
    requests: tuple[Request, ...]
    gains: Mapping[str, Gains]
    intra: tuple[Metric, ...]
    depth: int | None
    options: Options
    stages: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def single(self) -> tuple[Metric, ...]:
        """The metrics with sums replaced by their parts, without repeats."""
        return tuple(dict.fromkeys(part for m in self.metrics for part in (m.parts() or (m,))))

    @property
    def binary(self) -> tuple[Metric, ...]:
        """Those of binary judgements."""
        return tuple(m for m in self.single if _of_ranks(m))

    @property
    def graded(self) -> tuple[Metric, ...]:
        """Those that read gains."""
        return tuple(m for m in self.single if m.graded)

    @property
    def of_lists(self) -> tuple[Metric, ...]:
        """Those of hubness."""
        return tuple(m for m in self.single if m.family.of_lists)


def _of_ranks(metric: Metric) -> bool:
    return not metric.graded and not metric.family.of_lists


def _directions(data: Input, options: Options) -> tuple[Direction, ...]:
    return tuple(d for d in options.directions if d in data.directions)


def _no_expectation() -> str:
    return f"no closed form of the mean over the orders of tied items ({spell('ties', 'expected')})"


def make_plan(data: Input, options: Options) -> Plan:
    """Decide what is measured.

    Raises:
        UsageError: unknown metrics or gains; a view that the split does not have; a sum that lacks a direction.
        BadInput: gains that a metric requested by name does not allow; lists of other directions.
        MissingPackage: captions or gains are missing, with the command that installs them.
    """
    warn(warning_of(data.split.name))
    directions = _directions(data, options)
    if not directions:
        what = f"no list for {', '.join(options.directions)}"
        raise BadInput(what, where=data.where, fix="give a run of that direction")
    intra, names = _intra(options, data)
    chosen = options.chosen.gains
    given = load_judgements(options.chosen.judgements, options.level, data.split, data.complete, data.judged)
    known = {} if data.split.image_of is None else judgements_of(data.split)
    judgements = {**known, **given}
    if data.second or options.normalise:  # both are of complete galleries
        judgements = {view: judged for view, judged in judgements.items() if not judged.folds}
    choose = functools.partial(
        choose_metrics, split=data.split, directions=directions, judgements=judgements, own=list(given)
    )
    named = _by_name(names, choose, chosen)
    metrics, split, gains = _metrics_and_gains(data, options, names, named, chosen, judgements, choose)
    for name in dict.fromkeys(m.view for m in metrics if m.view in judgements):
        note(*(f"{name}: {sentence}" for sentence in judgements[name].notes))
    if idle := [name for name in given if not any(m.view == name for m in metrics)]:
        note(f"{spell('judgements', ', '.join(idle))}: no metric uses it; write the name in front, as in {idle[0]}:R@1")
    if options.ties == EXPECTED:
        metrics, lost = _with_expectation(metrics, named)
        inside, within = _with_expectation(intra, ())
        intra = tuple(inside)
        gains = {view: g for view, g in gains.items() if any(m.view == view for m in metrics)}
        if lost or within:
            note(f"{', '.join(dict.fromkeys([*lost, *within]))} left out: {_no_expectation()}")
    requests = [
        Request(view, judgements[view].positives(split, d), _candidates(view, split, d))
        for view in dict.fromkeys(m.view for m in metrics if _of_ranks(m))
        for d in directions
    ]
    _refuse_misses(metrics, requests, options.no_positive)
    graded = [m for m in metrics if m.graded]
    rankings_of(graded, split, directions)  # folds that are missing are an error before anything is ranked
    if options.metrics is None and (absent := _absent(judgements, split)):
        note(f"{', '.join(absent)} left out: the judgements are not installed (pip install 'vsebench[text]')")
    if graded and options.ties not in ("index", EXPECTED):
        note(f"{spell('ties')} is about binary judgements: graded metrics take ties in the order of the index")
    if graded and data.lists is not None:
        note_unknown_ties(graded, [d for d in directions if d not in data.lists.tied])
    depth = max(
        options.kept or 0,
        options.lists,
        *(m.k or 0 for m in metrics if m.family.of_lists),
        *(second.reach for second in data.second.values()),
    )
    return Plan(
        split, tuple(metrics), named, directions, judgements, tuple(requests), gains, intra, depth or None, options,
        data.stages,
    )  # fmt: skip


def refuse_gains(word: str) -> None:
    """Refuse a kind of gains in the place of a metric; raises UsageError."""
    if is_gains(word) and word not in SUITES:
        raise UsageError(f"'{word}' is a kind of gains, not a metric", fix=f"name a metric of them, such as {word}:ncs")


def check_names(options: Options, split: Split | str | None) -> None:
    """Find a misspelt metric, kind of gains or split before a large file is read; raises UsageError."""
    rest = None if options.metrics is None else [w for w in words(options.metrics) if w.lower() != INTRA]
    for word in rest or ():
        refuse_gains(word)
    if rest or (rest is not None and not words(options.metrics)):
        own = list(options.chosen.judgements)
        known = [*SOURCES, *own, HUBNESS]
        for metric in expand(rest, ["gt", *own], tuple(options.chosen.gains)):
            if metric.view not in known:
                near = difflib.get_close_matches(metric.view, known)
                meant = f"did you mean {' or '.join(map(repr, near))}" if near else f"known: {', '.join(known)}"
                fix = f"{meant}, or give judgements of yours: {spell('judgements', f'{metric.view}=FILE')}"
                raise UsageError(f"unknown view '{metric.view}'", fix=fix)
    if isinstance(split, str) and split != "custom":
        # Of a set in several languages the ids of the file say which.
        catalogue.declared(catalogue.splits_of(split)[0] if split in SETS else split)


def _absent(judgements: Mapping[str, Source], split: Split) -> list[str]:
    """Sets of judgements of the split that are not installed."""
    return [view for view, judged in judgements.items() if judged.splits and judged.identity(split) is None]


def choose_metrics(
    names: str | Sequence[str] | None,
    gains: Mapping[str, Spec | None] | None = None,
    *,
    split: Split,
    directions: Sequence[Direction],
    judgements: Mapping[str, Source],
    own: Sequence[str] = (),
) -> list[Metric]:
    """The requested metrics; without words the headline suites whose judgements are installed.

    A sum over both directions is left out of suites and ``all`` when one direction is measured.

    Args:
        names: metrics, suites, ``all``; None for the headline suites.
        gains: kinds of gains of ``all``, the default first, and their specification if there is one.
        split: what is evaluated.
        directions: what is ranked.
        judgements: those of the split.
        own: names of those that are given, which are measured when no metric is named.

    Raises:
        UsageError: an unknown name; a view the split does not have; a sum by name that lacks a direction.
    """
    available = list(judgements)
    if names is None:
        absent = _absent(judgements, split)
        names = default_words([v for v in available if v not in absent], own)
    fits = functools.partial(suits, gains=gains or {})
    metrics = expand(names, available, tuple(gains or ()), suits=fits)
    for m in metrics:
        _refuse_view(m, split, judgements)
    if len(directions) == 2:
        return metrics
    named = [w for w in words(names) if w.lower() not in ALL and members(w) is None]
    sums = [m for w in named for m in expand(w, available, tuple(gains or ())) if m.family.compute is None]
    if sums:
        what = f"{sums[0]} is a sum over both directions, and only {directions[0]} is ranked"
        raise UsageError(what, fix="leave it out, or rank both directions")
    return [m for m in metrics if m.family.compute is not None]


def _refuse_view(metric: Metric, split: Split, judgements: Mapping[str, Source]) -> None:
    """Refuse judgements that the split does not have, and graded metrics of judgements inside folds."""
    view = metric.view
    if split.image_of is None and view in ("gt", "1k") and not metric.family.of_lists:
        _ = split.owners  # raises
    if metric.family.of_lists and split.in_folds:
        raise UsageError(f"{metric} is of complete galleries, and {split.name} ranks folds", fix="leave it out")
    if is_gains(view) or metric.family.of_lists:
        return
    if metric.graded and in_folds(view):
        name = metric.name.replace("@", "[on=folds]@")
        raise UsageError(f"{metric} reads gains, which have no view '{view}'", fix=f"write gt:{name}")
    if view in judgements or (in_folds(view) and split.in_folds):
        return
    what = f"{metric}: split '{split.name}' has no view '{view}' (it has {', '.join(judgements)})"
    patterns = SOURCES[view].splits if view in SOURCES else ()
    where = ", ".join(f"splits named {p}" if "*" in p else f"all of {p}" for p in patterns) or "all of coco-5k"
    fix = (
        f"leave it out; {view} is defined on {where}"
        if view in SOURCES
        else f"give {spell('judgements', f'{view}=FILE')}"
    )
    raise UsageError(what, fix=fix)


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


def _by_name(names: list[str] | None, choose: Choose, chosen: Mapping[str, Spec]) -> frozenset[Metric]:
    """The metrics that are requested by their own names, not in a suite or ``all``, with the parts of sums."""
    alone = [w for w in names or () if w.lower() not in ALL and members(w) is None]
    found = choose(alone, {**chosen} or {DEFAULT_GAINS: None}) if alone else []
    return frozenset(part for m in found for part in (m.parts() or (m,)))


def _metrics_and_gains(
    data: Input, options: Options, names: list[str] | None, of_names: frozenset[Metric], chosen: Mapping[str, Spec],
    judgements: Mapping[str, Source], choose: Choose,
) -> tuple[list[Metric], Split, dict[str, Gains]]:  # fmt: skip
    """The metrics that can be measured, the split (with captions where gains need them), and the gains."""
    split = data.split
    if names == []:
        return [], split, {}  # only metrics inside the modalities
    kinds: Mapping[str, Spec | None] = {**chosen} or {DEFAULT_GAINS: None}
    metrics = choose(names, kinds)
    if data.lists is not None:  # before gains are loaded, which may take long
        graded = [m for m in metrics if m.graded]
        refused = graded_too_short(graded, split, data.lists, _directions(data, options))
        metrics = leave_out(metrics, refused, of_names, data.where, options.short_lists)
    try:
        split, gains = load_gains_of(metrics, chosen, judgements, split, options.captions)
    except (UsageError, MissingPackage) as error:
        binary = [m for m in metrics if not m.graded]
        # `all` measures what there is; whoever names a graded metric, gains or captions gets the error.
        if chosen or options.captions is not None or binary != choose(names):
            raise
        note(f"graded relevance left out: {error.what} ({error.fix})")
        return binary, split, {}
    by_name = [w for w in names or () if w.lower() not in ALL]
    named = choose(by_name or None, kinds) if gains or chosen else []
    metrics = allowed(metrics, named, gains, chosen)
    used = {m.view for m in metrics}
    return metrics, split, {view: g for view, g in gains.items() if view in used}


def _candidates(view: str, split: Split, direction: Direction) -> Candidates:
    if not (in_folds(view) or split.in_folds):
        return AllItems()
    if split.fold is None or split.caption_fold is None:
        what = f"split '{split.name}' has no folds, which view '{view}' needs"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")
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
