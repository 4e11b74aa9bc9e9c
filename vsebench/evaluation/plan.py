"""What an evaluation measures, decided once before anything is ranked.

``make_plan`` reads the options and the input; ranking, measuring, the signature and the report read the plan.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import BadInput, MissingPackage, UsageError, count_of, install
from ..files.captions import lines_of
from ..files.formats import sniff
from ..files.pairs import Pairs
from ..files.regular import expanded
from ..graded.rankings import Ranking, pseudo_positives
from ..graded.rankings import plan as plan_rankings
from ..log import about, note, warn
from ..metrics.declare import DEFAULT_GAINS, Metric, without_mean
from ..metrics.suites import ALL, INTRA, SUITES, default_words, expand, members, words
from ..metrics.values import without_negative
from ..options import spell
from ..rank.count import Targets, take_queries
from ..rank.ties import BY_INDEX, EXPECTED
from ..relevance import custom
from ..relevance.gains import Gains, Spec
from ..relevance.matrix import of_matrix
from ..relevance.sources import GAIN, JUDGED, SOURCES, Source, in_folds, is_gains, judgements_of, load_gains
from ..relevance.spice.file import origin
from ..sets import owners
from ..sets.match import Captions, is_file, with_captions
from ..types import (
    BOTH,
    DIRECTIONS,
    ONE_WAY,
    Both,
    Candidates,
    Direction,
    Observation,
    Relevance,
    TestSet,
    Which,
    sides_of,
)
from .inputs import Input
from .request import Request
from .short_lists import graded_too_short, known_depth, long_enough, note_unknown_ties, observe, too_short

BY_NAME, BY_SUITE, BY_ALL = range(3)  # how a metric was requested
MAX_PAGE_ITEMS = 200_000  # images and captions of which lists are kept: their page holds all captions
LEAVE_OUT = "leave it out, or evaluate the embeddings"


@dataclass(frozen=True, eq=False)
class Plan:
    """What is measured.

    Attributes:
        split: the items, with their captions where gains need them.
        metrics: in the requested order, sums included.
        directions: what is ranked.
        judgements: the sets of binary judgements that the split has, by view.
        targets: for every view of judgements the relevant items and the candidates of images, and of captions; where
            it only provides the gains of these items.
        gains: by view, for every graded metric.
        rankings: of the graded metrics: queries, galleries and what is measured of them.
        intra: metrics of image-image and text-text retrieval.
        depth: how many items of every ranking are kept, None for none.
        listed: the ranks in retrieved lists, which decide what can be measured; empty for scores.
        lists: items a query that the report keeps, with scores and gains, for its page.
        request: tie rule, missing items and intervals.
    """

    split: TestSet
    metrics: tuple[Metric, ...]
    directions: tuple[Direction, ...]
    judgements: Mapping[str, Source]
    targets: Both[tuple[Targets, ...]]
    gains: Mapping[str, Gains]
    rankings: tuple[Ranking, ...]
    intra: tuple[Metric, ...]
    depth: int | None
    listed: Mapping[Direction, Observation]
    lists: int
    request: Request

    @functools.cached_property
    def single(self) -> tuple[Metric, ...]:
        """The metrics with sums replaced by their parts, without repeats."""
        return _single(self.metrics)

    @property
    def binary(self) -> tuple[Metric, ...]:
        """Those of binary judgements."""
        return tuple(m for m in self.single if _of_ranks(m))

    @property
    def graded(self) -> tuple[Metric, ...]:
        """Those that read gains."""
        return tuple(m for m in self.single if m.graded)

    @property
    def depths(self) -> Both[int]:
        """How many items are listed of every ranking of images, and of captions; 0 for none."""
        rows, columns = ((self.depth or 0) * (d in self.directions) for d in DIRECTIONS)
        return rows, columns

    @property
    def of_lists(self) -> tuple[Metric, ...]:
        """Those of hubness."""
        return tuple(m for m in self.single if m.family.of_lists)


def _single(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    return tuple(dict.fromkeys(part for m in metrics for part in (m.parts() or (m,))))


def _of_ranks(metric: Metric) -> bool:
    return not metric.graded and not metric.family.of_lists


def target_of(metric: Metric) -> str:
    """The targets that a metric reads; for a graded metric, its relevant items."""
    return metric.view if metric.graded else metric.ranked


def make_plan(data: Input, request: Request) -> Plan:
    """Choose the metrics, positives, gains and candidates of an evaluation.

    Raises:
        UsageError: unknown metrics or gains; a view that the split does not have; a sum that lacks a direction.
        BadInput: gains that a metric requested by name does not allow; lists of other directions.
        MissingPackage: captions or gains are missing, with the command that installs them.
    """
    directions = _directions(request, data)
    lists = _lists(request, data.split)
    intra = _intra(request, data)
    judgements, custom_views = _judgements(data, request)
    requested: dict[Metric, int] = {}
    if request.names != ():  # else only metrics inside the modalities
        requested = choose_metrics(
            _in_given_view(request, data.split, custom_views), request.gains or {DEFAULT_GAINS: None},
            split=data.split, directions=directions, judgements=judgements, custom_views=custom_views,
        )  # fmt: skip
    if data.split.image_of is None and not request.gains:
        of_captions = [m for m, how in requested.items() if how == BY_ALL and m.view == DEFAULT_GAINS]
        note("graded relevance left out: it compares the captions of images" * bool(of_captions), weight="result")
        requested = {m: how for m, how in requested.items() if m not in of_captions}
    named = frozenset(_single(m for m, how in requested.items() if how == BY_NAME))
    metrics: Sequence[Metric] = list(requested)
    if request.ties == EXPECTED:
        metrics, intra = leave_out(metrics, named, _no_expectation), tuple(leave_out(intra, (), _no_expectation))
    targets, graded = _targets(metrics, judgements, data, directions), [m for m in metrics if m.graded]
    expected, resampled = request.ties == EXPECTED, request.resampling is not None
    given = (sides_of(directions), expected, resampled, data.candidates)
    rankings = plan_rankings(graded, data.split, *given) if graded else []
    listed: dict[Direction, Observation] = {}
    if data.lists is not None:  # before gains are loaded, which may take long
        listed = observe(data.lists, targets, directions)
        short = graded_too_short(rankings, data.lists) + too_short(_single(metrics), listed, data.split)
        metrics = long_enough(metrics, short, named, data.where, request.short_lists, data.index)
    metrics, split, gains = _with_gains(metrics, requested, data, request, judgements)
    for name in dict.fromkeys(m.view for m in metrics if m.view in judgements):
        note(*(f"{name}: {sentence}" for sentence in judgements[name].notes))
    if idle := [name for name in custom_views if not any(m.view == name for m in metrics)]:
        note(f"{spell('judgements', ', '.join(idle))}: no metric uses it; write the name in front, as in {idle[0]}:R@1")
    views, graded = {target_of(m) for m in _single(metrics)}, [m for m in metrics if m.graded]
    rows, columns = (tuple(t for t in targets_of_side if t.view in views) for targets_of_side in targets)
    _refuse_misses(metrics, (rows, columns), request.no_positive)
    kept = frozenset(_single(graded))
    each = ((r, tuple(m for m in r.metrics if m in kept)) for r in rankings)
    rankings = [replace(r, metrics=measured) for r, measured in each if measured]
    if data.lists is not None:  # an influence needs the next candidates of every list
        deep = [bool((known_depth(r, data.lists) >= r.depth).all()) for r in rankings]
        rankings = [replace(r, influence=r.influence and known) for r, known in zip(rankings, deep, strict=True)]
    if request.names is None and (absent := _absent(judgements, split)):
        how = f"the judgements are not installed ({install('text')})"
        note(f"{', '.join(absent)} left out: {how}", weight="result")
    if graded and request.ties not in (*BY_INDEX, EXPECTED):
        note(f"{spell('ties')} applies to binary judgements only: graded metrics order ties by index")
    if graded and data.lists is not None:
        note_unknown_ties(graded, [d for d in directions if data.lists[d].ties is None])
    depth = max(
        request.kept or 0,
        lists,
        *(m.k or 0 for m in metrics if m.family.of_lists),
        *(second.reach for second in data.second.values()),
    )
    return Plan(
        split, tuple(metrics), directions, judgements, (rows, columns), gains, tuple(rankings),
        intra, depth or None, listed, lists, request,
    )  # fmt: skip


def _directions(request: Request, data: Input) -> tuple[Direction, ...]:
    """The directions to rank; raises UsageError or BadInput if none of the requested ones is possible."""
    if request.direction == ONE_WAY and not data.split.one_way:
        what = f"{spell('direction', ONE_WAY)} does not apply to images and texts"
        raise UsageError(what, where=data.where, fix="give i2t or t2i, or leave it out")
    directions = tuple(d for d in request.directions if d in data.directions)
    if not directions:
        kind, known, wanted = "scores" if data.lists is None else "lists", data.directions[0], request.directions[0]
        if data.split.one_way:
            what = f"{spell('direction', wanted)} does not apply to queries and a corpus: queries are the rows"
            raise UsageError(what, where=data.where, fix="leave it out")
        what = f"{wanted} cannot be measured: only {kind} for {known} are given"
        raise BadInput(what, where=data.where, fix=f"give {kind} for {wanted} too, or {spell('direction', known)}")
    return directions


def _lists(request: Request, split: TestSet) -> int:
    """Number of items kept per query; 0 (and a note) if no page would show them."""
    size = len(split.rows.ids) + len(split.columns.ids)
    if not request.lists or not (split.in_folds or size > MAX_PAGE_ITEMS):
        return request.lists or 0
    counted = f"{size:,} {'items' if split.one_way else 'images and captions'}"
    why = "ranks its folds" if split.in_folds else f"has {counted}, more than {MAX_PAGE_ITEMS:,}"
    note(f"per-query lists are not kept: {split.name} {why}")
    return 0


def _in_given_view(request: Request, split: TestSet, custom_views: Sequence[str]) -> tuple[str, ...] | None:
    """The requested metrics; a metric that has no view and no ground truth gets the custom judgements as its view.

    Without a view, binary metrics need the image of every caption, and graded ones gains or captions to compute them.
    """
    if request.names is None or not custom_views:
        return request.names
    texts = split.columns.texts is not None and not split.one_way
    computable = request.gains or request.captions is not None or texts or split.name != "custom"
    known = {"gt": split.image_of is not None, DEFAULT_GAINS: bool(computable)}
    found = []
    for word in request.names:
        views = {m.view for m in expand([word], ["gt", *custom_views], (DEFAULT_GAINS,))}
        plain = ":" not in word and word.lower() not in (*ALL, *custom_views) and len(views) == 1
        without = plain and not known.get(views.pop(), True)
        if without and len(custom_views) > 1:
            named = " or ".join(f"{view}:{word}" for view in custom_views)
            raise UsageError(f"{word} does not name its judgements, and several are given", fix=f"write {named}")
        found.append(f"{custom_views[0]}:{word}" if without else word)
    return tuple(found)


def _judgements(data: Input, request: Request) -> tuple[dict[str, Source], list[str]]:
    """All judgements by name (of the split and custom ones), and the names of the custom ones."""
    given = load_judgements(request.judgements, request.level, data.split, data.complete, data.judged)
    known = {} if data.split.image_of is None else judgements_of(data.split)
    complete = bool(data.second or request.correction or request.candidates or request.exclude)  # not of folds
    found = {view: judged for view, judged in {**known, **given}.items() if not (complete and judged.folds)}
    return found, list(given)


def _absent(judgements: Mapping[str, Source], split: TestSet) -> list[str]:
    """Judgements of the split that are not installed."""
    return [view for view, judged in judgements.items() if judged.splits and judged.identity(split) is None]


def choose_metrics(
    names: str | Sequence[str] | None,
    gains: Mapping[str, Spec | None] | None = None,
    *,
    split: TestSet,
    directions: Sequence[Direction],
    judgements: Mapping[str, Source],
    custom_views: Sequence[str] = (),
) -> dict[Metric, int]:
    """The requested metrics, and how each was requested: ``BY_NAME``, ``BY_SUITE`` or ``BY_ALL``.

    Without names: the headline suites with installed judgements. Suites and ``all`` leave out sums over both
    directions if one direction is measured.

    Args:
        names: metrics, suites, ``all``; None for the headline suites.
        gains: kinds of gains of ``all``, the default first, and their specification if there is one.
        split: what is evaluated.
        directions: what is ranked.
        judgements: those of the split.
        custom_views: names of custom judgements, measured if no metric is requested.

    Raises:
        UsageError: an unknown name; a view the split does not have; a sum by name that lacks a direction.
    """
    available, kinds = list(judgements), tuple(gains or ())
    requested = words(names)
    if names is None:
        absent = _absent(judgements, split)
        requested = default_words([v for v in available if v not in absent], custom_views, split.image_of is None)
    found: dict[Metric, int] = {}
    for word in requested or [""]:
        how = BY_ALL if names is None or word.lower() in ALL else BY_SUITE if members(word) else BY_NAME
        for m in expand(word, available, kinds, suits=functools.partial(suits, gains=gains or {})):
            found[m] = min(how, found.get(m, how))
    silent = {v for v in judgements if not judgements[v].lists_judged}
    found = {m: how for m, how in found.items() if how < BY_ALL or not (m.family.of_judged and m.view in silent)}
    for m in found:
        _refuse_view(m, split, judgements)
    if len(directions) == 2:
        return found
    if sums := [m for m, how in found.items() if how == BY_NAME and m.family.compute is None]:
        what = f"{sums[0]} is a sum over both directions, but only {split.way(directions[0])} is ranked"
        raise UsageError(what, fix="leave it out" + ", or rank both directions" * (not split.one_way))
    return {m: how for m, how in found.items() if m.family.compute is not None}


def _refuse_view(metric: Metric, split: TestSet, judgements: Mapping[str, Source]) -> None:
    """Refuse judgements that the split does not have, and graded metrics of judgements inside folds."""
    view = metric.view
    if split.image_of is None and view in ("gt", "1k") and not metric.family.of_lists:
        _ = split.owners  # raises
    if metric.family.of_lists and split.in_folds:
        raise UsageError(f"{metric} needs the complete gallery, but {split.name} ranks folds", fix="leave it out")
    if is_gains(view) or metric.family.of_lists:
        return
    if metric.graded and in_folds(view):
        name = metric.name.replace("@", "[on=folds]@")
        raise UsageError(f"{metric} needs gains, but '{view}' is a view of judgements", fix=f"write gt:{name}")
    if view in judgements:
        if metric.family.of_judged and not judgements[view].lists_judged:
            what = f"{metric}: '{view}' lists no items that were judged not relevant"
            raise UsageError(what, fix=f"leave it out, or give {spell('judgements', 'NAME=FILE')} with grades of 0")
        return
    if in_folds(view) and split.in_folds:
        raise UsageError(f"{metric}: {split.name} always ranks its folds", fix=f"write {metric.name}")
    what = f"{metric}: split '{split.name}' has no view '{view}' (it has {', '.join(judgements)})"
    patterns = SOURCES[view].splits if view in SOURCES else ()
    where = ", ".join(f"splits named {p}" if "*" in p else f"all of {p}" for p in patterns) or "all of coco-5k"
    fix = (
        f"leave it out; {view} is defined on {where}"
        if view in SOURCES
        else f"give {spell('judgements', f'{view}=FILE')}"
    )
    raise UsageError(what, fix=fix)


def _intra(request: Request, data: Input) -> tuple[Metric, ...]:
    """The metrics of retrieval inside the modalities."""
    if not request.intra:
        return ()
    if data.vectors is None:
        what = "a score matrix does" if data.lists is None else "these lists do"
        raise UsageError(f"{INTRA} ranks images by images, which {what} not hold", fix=LEAVE_OUT)
    return tuple(expand(SUITES[INTRA].metrics, ["cxc"]))


def _with_gains(
    metrics: Sequence[Metric],
    requested: Mapping[Metric, int],
    data: Input,
    request: Request,
    judgements: Mapping[str, Source],
) -> tuple[list[Metric], TestSet, dict[str, Gains]]:
    """The metrics that the gains allow, the split (with captions if gains need them), and the gains."""
    captions = None if data.complete else request.captions  # those of a part are with its split
    try:
        split, gains = load_gains_of(metrics, request.gains, judgements, data.split, captions)
    except (UsageError, MissingPackage) as error:
        # `all` measures what is available; an explicit graded metric, gains or captions raise the error.
        by_name = any(m.graded and how < BY_ALL for m, how in requested.items())
        if by_name or request.gains or captions is not None or "graded" in map(str.lower, request.names or ()):
            raise
        note(f"graded relevance left out: {error.what} ({error.fix})", weight="result")
        return [m for m in metrics if not m.graded], data.split, {}
    gains = {view: g.among(data.candidates) if view in judgements else g for view, g in gains.items()}
    named = [m for m, how in requested.items() if how < BY_ALL]
    metrics = leave_out(metrics, named, functools.partial(_no_value, gains, request.gains))
    idle = [view for view in request.gains if view not in {m.view for m in metrics}]
    for path in (request.gains[k].argument for k in idle if SOURCES[k].endings):
        if path is not None:
            sniff(expanded(path))  # a wrong path is an error even if it is not read
    if idle:
        note(f"{spell('gains', ', '.join(idle))}: no metric uses it; write the view in front, as in {idle[0]}:cs")
    return metrics, split, {view: g for view, g in gains.items() if view in {m.view for m in metrics}}


def _targets(
    metrics: Sequence[Metric], judgements: Mapping[str, Source], data: Input, directions: Sequence[Direction]
) -> Both[tuple[Targets, ...]]:
    """The relevant items and the candidates of every view of binary judgements, of images and of captions."""
    single = [m for m in metrics if m.view in judgements and not m.family.of_lists]
    levels: dict[str, float | None] = {target_of(m): GAIN for m in single if m.graded}
    levels |= {m.ranked: JUDGED if m.family.of_judged else None for m in single if not m.graded}
    views = {target_of(m): m.view for m in single}
    items = {name: judgements[views[name]].positives(data.split, level) for name, level in levels.items()}
    rows, columns = (
        tuple(
            _target(name, both[side], _candidates(views[name], data, side), data.split.way(DIRECTIONS[side]), single)
            for name, both in items.items()
        )
        if DIRECTIONS[side] in directions
        else ()
        for side in BOTH
    )
    return rows, columns


def _target(
    view: str, relevance: Relevance, among: Candidates, way: Direction | None, metrics: Sequence[Metric]
) -> Targets:  # fmt: skip
    """The relevant items of the queries that have candidates; warns of queries that cannot find any of these."""
    if among.allowed is not None:
        some = np.diff(among.allowed.indptr) > 0
        relevant = take_queries(relevance, some[relevance.queries])
        relevance = replace(relevant, without=relevance.without[some[relevance.without]])
    found = Targets(view, relevance, among)
    if not len(found.relevance.queries) and not replace(among, fold=None).everything:
        what = f"judgements '{view}' ({way}): no query has candidates and a relevant item that is not excluded"
        raise BadInput(what, fix=f"check the ids in {spell('candidates')} and {spell('exclude')}")
    if lost := int((found.relevance.found == 0).sum()):
        scope = f"of {len(relevance.queries):,} queries"
        counted = count_of(lost, f"{scope} has", f"{scope} have")
        where = "in the gallery" if among.allowed is None else "among their candidates"
        ranks = " and ".join(str(m) for m in metrics if m.unit == "rank" and m.ranked == view)
        but = f"; {ranks} leave {'it' if lost == 1 else 'them'} out" if ranks else ""
        as_lost = f"and count{'s' * (lost == 1)} as not found{but}"
        warn(f"judgements '{view}' ({way}): {counted} no relevant item {where} {as_lost}")
    if out := int(relevance.size.sum() - found.relevance.size.sum()):
        counted = count_of(out, "relevant item is", "relevant items are")
        note(f"judgements '{view}' ({way}): {counted} excluded and left out of every metric")
    return found


def _candidates(view: str, data: Input, side: Which) -> Candidates:
    split = data.split
    if not (in_folds(view) or split.in_folds):
        return data.candidates[side]
    if (folds := split.folds) is None:
        what = f"split '{split.name}' has no folds, which view '{view}' needs"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")
    return Candidates(fold=folds[::-1] if side else folds)


def _refuse_misses(metrics: Sequence[Metric], targets: Both[Sequence[Targets]], no_positive: str) -> None:
    """Refuse metrics of ranks if queries without positives count as misses, which have no rank."""
    judged = {(t.view, d): t.relevance for d, each in zip(DIRECTIONS, targets, strict=True) for t in each}
    for m in _single(metrics) if no_positive == "miss" else ():
        for (view, direction), found in judged.items() if m.unit == "rank" else ():
            lost = int((found.found == 0).sum())  # none of the positives is in the gallery
            if view == m.ranked and found.skipped + lost and lost < len(found.found):
                without = count_of(found.skipped + lost, "query", "queries")
                what = f"{m} {direction} has no value for {without} without positives"
                raise UsageError(what, fix=f"leave out {spell('no_positive', 'miss')}, or the metric")


def load_judgements(
    chosen: Mapping[str, Sequence[Spec]], level: float, split: TestSet, complete: TestSet | None = None,
    pairs: Mapping[str, Sequence[Pairs]] | None = None,
) -> dict[str, Source]:  # fmt: skip
    """The judgements of the user, over the items of a split.

    Args:
        chosen: the parts of each by name.
        level: the smallest grade of a positive.
        split: what is evaluated.
        complete: the split that ``split`` is a part of, else None; the judgements are for it.
        pairs: those that have been read, by name.

    Raises:
        UsageError: a split that is ranked in folds; another form.
        BadInput, MissingPackage: the judgements cannot be read, or are not of this split.
    """
    if chosen and split.in_folds:
        what = f"split '{split.name}' ranks folds, but custom judgements need the complete gallery"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")
    found, test = {}, split
    for name, specs in chosen.items():
        where = " and ".join(spec.path.name for spec in specs if spec.path is not None) or "memory"
        if known := (pairs or {}).get(name):
            read = [custom.of_read(name, one, test) for one in known]
        else:
            read = [one for spec in specs for one in custom.read(spec, (complete or split))]
        both = custom.complete(read, level, where)
        both = both if complete is None else custom.within(both, complete, test)
        found[name] = custom.source(both, test)
    return found


def suits(metric: Metric, gains: Mapping[str, Spec | None]) -> bool:
    """Whether a graded metric is defined with the gains of its view, as far as known before they are loaded.

    Mean label distance needs gains made from a distance, and ratios of gains need gains that cannot be negative.
    """
    kind = SOURCES.get(metric.view)
    if kind is None or kind.grades is not None:  # judgements
        return True
    if metric.unit == "distance":
        return kind.from_distance
    spec = gains.get(metric.view)
    if spec is not None and spec.settings.get("negative") == "zero":
        return True
    lowest = metric.family.lowest_gain
    return lowest is None or bool(kind.endings) or (kind.low is not None and kind.low >= lowest)


def _no_value(gains: Mapping[str, Gains], chosen: Mapping[str, Spec], metric: Metric) -> BadInput | None:
    """Why a metric cannot be measured with its gains and what to do about it, None if it can."""
    for m in (metric.parts() or (metric,)) if metric.graded else ():
        used, least, spec = gains[m.view], m.family.lowest_gain, chosen.get(m.view)
        where = spec.argument if spec and SOURCES[m.view].endings else None
        if used.lowest is not None and least is not None and used.lowest < least:
            why = f"gains of '{m.view}' go down to {used.lowest:.4g}, but the metric takes none below {least:g}"
            return BadInput(why, where=where, fix=without_negative())
        if used.of_judgements and pseudo_positives(m):
            fix = f"give them with {spell('judgements')} under a NAME, and write NAME:R@{m.k} or NAME:Recall@{m.k}"
            return BadInput(f"gains of '{m.view}' are only 0 and 1: these are binary judgements", where=where, fix=fix)
        if not used.rows_affordable and (m.family.depth == "all" or {"ideal", "pseudo_positive"} & m.family.needs):
            why = f"it reads every pair, and '{m.view}' needs hours for all pairs"
            return BadInput(why, where=where, fix="use CS@k, which reads the top k")
    return None


def _no_expectation(metric: Metric) -> UsageError | None:
    """Why a metric has no mean over the orders of tied items, None if it has one."""
    what = f"no closed form of the mean over the orders of tied items ({spell('ties', 'expected')})"
    return None if metric.has_expectation else UsageError(what, fix=without_mean())


def leave_out(
    metrics: Sequence[Metric], named: Collection[Metric], refused: Callable[[Metric], BadInput | UsageError | None]
) -> list[Metric]:
    """The metrics that can be measured; notes say why the others are not.

    Raises:
        BadInput, UsageError: of a metric that is requested by name, or of the first if none is left.
    """
    lost = {m: error for m in metrics if (error := refused(m)) is not None}
    names: dict[str, list[str]] = {}
    for m, error in lost.items():
        if m in named or len(lost) == len(metrics):
            error.what = f"{m}: {error.what}"
            raise error
        names.setdefault(error.what, []).append(str(m))
    note(*(f"{', '.join(each)} left out: {why}" for why, each in names.items()), weight="result")
    return [m for m in metrics if m not in lost]


def load_gains_of(
    metrics: Sequence[Metric],
    chosen: Mapping[str, Spec],
    judgements: Mapping[str, Source],
    split: TestSet,
    captions: Captions | None,
) -> tuple[TestSet, dict[str, Gains]]:
    """The split with its captions, and the gains of every graded metric by view.

    Args:
        metrics: what will be measured.
        chosen: by view; a kind that is not in it is loaded with its defaults.
        judgements: of the split; they are the gains of metrics in their view.
        split: with or without captions.
        captions: a file of captions, a list of them, or None.

    Raises:
        BadInput, UsageError, MissingPackage: captions or gains are missing, with the command that installs them.
    """
    kinds = list(dict.fromkeys(m.view for m in metrics if m.graded))
    if not kinds:
        if captions is not None and is_file(captions):
            sniff(Path(captions))  # a wrong path is an error even if it is not read
        note("" if captions is None else f"{spell('captions')}: no metric uses them")
        return split, {}
    why: UsageError | MissingPackage | None = None
    source = "--split coco-5k" if split.name == "custom" and split.columns.texts is None else None  # found by its ids
    if captions is not None:
        source = f"--captions {shlex.quote(str(captions)) if is_file(captions) else 'FILE'}"
    try:
        split = with_captions(split, captions)
    except (UsageError, MissingPackage) as error:
        why = error
    found: dict[str, Gains] = {}
    if captions is not None and why is None and (not is_file(captions) or lines_of(captions) is not None):
        note(owners.order_note("captions", ["caption"], split))
    for kind in kinds:
        if kind in judgements:
            found[kind] = judgements[kind].gains(split, Spec(kind, None, {}))
            continue
        if SOURCES[kind].endings and kind not in chosen:
            what = f"the view '{kind}' needs a file of gains"
            raise UsageError(what, fix=f"give it with {spell('gains', 'FILE.npy')}")
        if why is not None and split.columns.texts is None and SOURCES[kind].captions == "needed":
            raise why
        spec = chosen.get(kind) or Spec(kind, None, {})
        try:
            with about(kind) if spec.values is not None else nullcontext():
                found[kind] = load_gains(spec, split) if spec.values is None else of_matrix(split, spec.values)
        except MissingPackage as error:  # the option that the captions come from is part of the advice
            if source is None or error.fix is None or origin(split) not in error.fix:
                raise
            raise MissingPackage(error.what, fix=error.fix.replace(origin(split), source)) from None
        if kind == DEFAULT_GAINS and not chosen:
            settings = ", ".join(f"{k} {v}" for k, v in found[kind].settings.items())
            note(f"graded relevance is CIDEr-D ({settings}); {spell('gains')} chooses another")
    return split, found
