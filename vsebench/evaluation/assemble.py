"""From results to a report: sums, intervals, the signature, warnings and provenance."""

from __future__ import annotations

import datetime
import importlib.metadata
import math
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import __version__
from ..errors import BadInput, count_of
from ..files.ids import places
from ..files.regular import sha256_of
from ..log import collected, note, warn
from ..metrics import Metric
from ..metrics.suites import INTRA
from ..options import spell
from ..rank.ties import DOCID, EXPECTED
from ..relevance.gains import Gains
from ..relevance.sources import SOURCES, in_folds, is_gains, load
from ..results import table
from ..results.model import NOTHING, SIDE, Lists, Measurement, Resampling, printed, units_of
from ..results.report import Report
from ..signature import captions_fingerprint, fingerprint, write
from ..stats import bootstrap
from ..stats.columns import Column, Population, prepare
from ..types import DIRECTIONS, SIDES, Bool, Direction, Float, Int, Observation, TestSet, Tops, Vectors, sides_of
from .inputs import Input
from .plan import Plan

if TYPE_CHECKING:
    from ..results.report import Report


Key = tuple[Metric, Direction | None]
RESAMPLE_PRECISION = 1e-10  # precision of the resamples


def key_of(result: Measurement) -> Key:
    """The metric and direction of a result that ``evaluate`` or ``analysis.systems.load`` made."""
    return cast(Metric, result.metric), result.direction


def label(key: Key) -> str:
    """A metric and direction as in a message: ``R@1 i2t``."""
    return table.label(*key)


def is_median(metric: Metric) -> bool:
    """Whether a metric is a median, which is not resampled: it has no interval and no test."""
    return metric.family.aggregate == "floor-median"


def population(split: TestSet) -> Population:
    """The images of a split, the unit of every resample; and the captions, if they have no image."""
    return Population(len(split.rows.ids) + (len(split.columns.ids) if split.image_of is None else 0), split.row_folds)


def column(result: Measurement, split: TestSet) -> Column:
    """The per-query values of a result with the image of every query.

    Args:
        result: with per-query values.
        split: the items it is about.

    Raises:
        BadInput: the result has no per-query values, or names queries that the split does not have.
    """
    if result.per_query is None or result.queries is None or result.direction is None:
        raise BadInput(f"{result.metric} has no per-query values", fix="leave it out")
    side = SIDE[result.direction]
    at = places(split.side(side).ids, result.queries)
    if len(at) and at.min() < 0:
        raise BadInput(f"{result.metric} lists {side}s that are not in split '{split.name}'")
    metric = key_of(result)[0]
    return Column(
        result.per_query,
        split.units[side == "caption"][at],
        folded=split.row_folds is not None
        and (in_folds(metric.view) or split.in_folds or dict(metric.options).get("on") in ("folds", "block")),
        median=is_median(metric),
        influence=result.influence,
    )


def add(
    results: Mapping[Key, Measurement],
    members: Mapping[Key, Sequence[Key]],
    split: TestSet,
    how: Resampling,
    threads: int | None = None,
    grid: float = RESAMPLE_PRECISION,
) -> dict[Key, Measurement]:
    """All results with their intervals, from one set of resamples.

    A median has none, nor has a result with queries of fewer than two images, or with unknown queries.

    Args:
        results: elementary results and sums.
        members: for every sum the results it adds up.
        split: its images are resampled.
        how: level, number, seed and method.
        threads: never changes a result.
        grid: an end this close to the value, relative to it, is set to the value.
    """
    base = [key for key, r in results.items() if r.per_query is not None and len(r.per_query) == r.n]
    place = {key: i for i, key in enumerate(base)}
    sums = [key for key in members if all(part in place for part in members[key])]
    columns = [column(results[key], split) for key in base]
    ready = prepare(columns, population(split), [{place[part]: key[0].weight for part in members[key]} for key in sums])
    samples = bootstrap.resample(ready, how.resamples, how.seed, threads)
    level = how.level / 100
    ends = bootstrap.bca(ready, samples, level) if how.method == "bca" else bootstrap.percentile(samples, level)
    alone = [len(c.image) < 2 or c.image.min() == c.image.max() for c in columns]
    lonely = [*alone, *(any(alone[place[part]] for part in members[key]) for key in sums)]
    out = dict(results)
    for key, pair, single in zip(chain(base, sums), ends, lonely, strict=True):
        # resamples are made on a grid; an end that is the value but for the grid is the value
        known = results[key].value
        # an influence is a slope, which can lead out of the range of the metric
        pair = np.clip(pair, key[0].family.low, key[0].family.high)
        pair = np.where(np.abs(pair - known) <= grid * max(1.0, abs(known)), known, pair)
        out[key] = replace(results[key], interval=None if single else interval(pair))
    return out


def without(results: Mapping[Key, Measurement]) -> list[str]:
    """One note or none on results with per-query values, but for medians, that have no interval."""
    missing = [key for key, r in results.items() if r.per_query is not None and r.interval is None]
    names = [label(key) for key in missing if not is_median(key[0])]
    return [f"no interval for {some_names(names)}: the queries belong to fewer than two images"] if names else []


def of_queries_alone(results: Iterable[Measurement]) -> list[str]:
    """A note if the intervals of graded metrics leave out the influence of the images as candidates, else nothing."""
    found = [r for r in results if r.interval is not None and r.influence is None and reads_gains(r)]
    return [queries_alone((str(r.metric) for r in found), units=units_of(found))] if found else []


def reads_gains(result: Measurement) -> bool:
    """Whether a result with per-query values is of a graded metric."""
    return result.per_query is not None and key_of(result)[0].graded


def queries_alone(names: Iterable[str], what: str = "intervals", units: str = "images") -> str:
    """The note that ``what`` of some metrics leave out the influence of the images as candidates."""
    return (
        f"{what} of {some_names(names)} account for the choice of queries only: other test "
        f"{'items' if units == 'queries' else units} would also change the candidates, so they may be too optimistic"
    )


def some_names(names: Iterable[str]) -> str:
    """The names of a few metrics, or the first three of many and the number of the others."""
    every = list(dict.fromkeys(names))
    return ", ".join(every) if len(every) < 5 else f"{', '.join(every[:3])} and {len(every) - 3} more metrics"


def interval(ends: Float) -> tuple[float, float] | None:
    """Two ends as plain numbers; None for NaN."""
    low, high = float(ends[0]), float(ends[1])
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


PACKAGES = ("numpy", "scipy", "numba", "eccv-caption", "pycocoevalcap")


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def attach(
    report: Report, started: datetime.datetime, threads: int | None, sources: Sequence[Path], backend: str = "numpy",
    settings: Mapping[str, Any] | None = None,
) -> Report:  # fmt: skip
    """The report with its provenance: the files read, the back-end and device, and the options.

    What is there already, ``of_workers``, takes the place of the back-end of this process.
    """
    from ..numeric import compiled
    from ..numeric.parallel import default_threads
    from ..rank import backends

    ranked, packages = dict(report.provenance), [*PACKAGES]
    if "backend" not in ranked:
        used = backends.chosen(backend)[0]
        ranked |= {"backend": used, **backends.about_device(used)}
        packages += backends.BACKENDS[used.partition(":")[0]].packages
    provenance = {
        "vsebench": __version__,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((now() - started).total_seconds(), 3),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": versions(tuple(packages)),
        "threads": threads or default_threads(),
        **ranked,
        "engine": "dask" if "workers" in ranked else "local",
        "settings": dict(settings or {}),
        "inputs": [{"file": p.name, "bytes": p.stat().st_size, "sha256": sha256_of(p)} for p in sources if p.is_file()],
    }
    return replace(report, notes=(*report.notes, *compiled.notes), provenance=provenance)


def of_workers(requested: str, used: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """For the provenance: the back-ends that other processes ranked with, and how many of them with each device.

    Args:
        requested: the name that the user gave, for results that were computed before.
        used: of every worker, its back-end and its device in words.
    """
    counted = sorted(Counter(used).items())
    named = ", ".join(dict.fromkeys(backend for (backend, _), _ in counted))
    workers = [
        {"workers": number, "backend": backend, **({"device": device} if device else {})}
        for (backend, device), number in counted
    ]
    return {"backend": named or requested, "workers": workers}


def ranked_by(facts: Mapping[str, Any]) -> str:
    """``of_workers`` in a sentence; empty for another provenance, which anyone may have written."""
    workers = facts.get("workers")
    parts = []
    for one in workers if isinstance(workers, list) else []:
        if isinstance(one, dict) and isinstance(number := one.get("workers"), int):
            device = f" ({one['device']})" if one.get("device") else ""
            parts.append(f"{one.get('backend')} on {count_of(number, 'worker')}{device}")
    return "; ".join(parts)


def with_command(report: Report) -> Report:
    """The report with the command line in its provenance, for reports of the command line."""
    command = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []  # without the folder of the program
    return replace(report, provenance={"command": command, **report.provenance})


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Installed versions; absent packages are left out."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def report(
    plan: Plan,
    data: Input,
    observed: dict[Direction, Observation],
    single: Mapping[Key, Measurement],
    ratings: str | None,
) -> Report:
    """The report of an evaluation, with the notes and warnings so far.

    Args:
        plan, data, observed: what was measured, and the ranks of the relevant items.
        single: all results but the sums.
        ratings: identity of the ratings of the metrics inside the modalities, or None.

    Raises:
        BadInput: no metric has a value.
    """
    results, members = _with_sums(plan, single)
    if plan.request.resampling is not None:
        results = add(results, members, plan.split, plan.request.resampling, plan.request.threads)
    requested: dict[Key, None] = {}
    for m in plan.metrics:
        requested.update(dict.fromkeys((m, d) for d in ([None] if m.family.compute is None else plan.directions)))
    requested |= dict.fromkeys(key for key in results if key[1] in ("i2i", "t2t"))
    if plan.metrics and not requested.keys() & results.keys():
        what = f"nothing was measured: {'; '.join(collected().warnings)}"
        raise BadInput(what, fix="check the gains and what they are made from")
    ties(observed, results, plan.split, data.lists is not None)
    limits = [among.allowed is not None for among in data.candidates]
    where = {d: "candidates" if limits[DIRECTIONS.index(d)] else "in the gallery" for d in DIRECTIONS}
    for d, view, ranks in ((d, view, ranks) for d, o in observed.items() for view, ranks in o.ranks.items()):
        if view in plan.judgements and (lost := ranks.relevance.unreachable):
            one, many = f"positive is not {where[d]} and counts", f"positives are not {where[d]} and count"
            counted = f"{count_of(lost, one, many)} as not found"
            note(f"judgements '{view}' ({plan.split.way(d)}): {counted}", weight="detail")
    smallest = min(data.most_of_query(side) for side in sides_of(plan.directions))
    if deep := [str(m) for m in plan.metrics if (m.k or 0) > smallest and not m.graded]:
        warn(f"{', '.join(deep)}: k exceeds the gallery of {smallest:,}; all items count as retrieved")

    def found(keys: Iterable[Key]) -> tuple[Measurement, ...]:
        return tuple(replace(results[key], direction=plan.split.way(key[1])) for key in keys if key in results)

    note(*of_queries_alone(found(results)))
    if plan.request.resampling is not None:
        note(*without(results))
    log, rows = collected(), None
    if plan.split.name == "custom" and not plan.split.columns.numbered:  # by which a file of texts is read again
        rows = np.arange(len(plan.split.columns.ids)) if data.rows[1] is None else np.asarray(data.rows[1])
    return Report(
        plan.split.name,
        signature(plan, data, ratings),
        found(requested),
        warnings=tuple(log.warnings),
        notes=tuple(log.notes),
        intervals=plan.request.resampling,
        parts=found(key for key in results if key not in requested),
        items=replace(
            plan.split,
            rows=replace(plan.split.rows, places=None),
            columns=replace(plan.split.columns, texts=None, places=rows),
        ),
    )


def _with_sums(plan: Plan, single: Mapping[Key, Measurement]) -> tuple[dict[Key, Measurement], dict[Key, list[Key]]]:
    """The results with the sums that have all their parts, and the parts of every sum."""
    results = dict(single)
    members: dict[Key, list[Key]] = {}
    for m in (m for m in plan.metrics if m.family.compute is None):
        parts: list[Key] = [(p, d) for p in m.parts() for d in plan.directions]
        if all(key in results for key in parts):
            measured = [results[key] for key in parts]
            ends = [r.ties or (r.value, r.value) for r in measured]
            low, high = (m.weight * sum(end[side] for end in ends) for side in (0, 1))
            first = measured[
                : len(plan.directions)
            ]  # one metric in all directions: its queries are those of the others
            members[m, None], n, undefined = parts, sum(r.n for r in first), sum(r.undefined for r in first)
            results[m, None] = Measurement(
                m, None, m.weight * sum(r.value for r in measured), n, undefined,
                ties=(low, high) if any(r.ties for r in measured) else None,
            )  # fmt: skip
    return results, members


def signature(plan: Plan, data: Input, ratings: str | None) -> str:
    """The line that identifies the values: everything that can move a digit."""
    # Metrics that read gains have two tie rules only, and do not depend on queries without positives.
    binary = ratings is not None or not all(m.graded for m in plan.metrics)
    of_kinds = {view: g for view, g in plan.gains.items() if is_gains(view)}  # others are judgements
    texts = plan.split.columns.texts if any(SOURCES[view].captions != "unused" for view in of_kinds) else None
    judged = {v: j.identity(plan.split) for v, j in plan.judgements.items() if any(m.view == v for m in plan.metrics)}
    fields = {
        "vsebench": __version__,
        "split": f"{plan.split.name}#{fingerprint(plan.split)}",
        **{view: identity for view, identity in judged.items() if identity is not None},
        "score": data.score,
        **data.stages,
        "order": "f64",
        "ties": plan.request.ties if binary or plan.request.ties in (EXPECTED, DOCID) else "index",
        "empty": plan.request.no_positive if binary else "skip",
        **({} if data.lists is None else {"short": plan.request.short_lists}),
        # A file is identified by its content: copies may have other names.
        **{view: ",".join(f"{k}={v}" for k, v in g.settings.items() if k != "file") for view, g in of_kinds.items()},
        **({} if texts is None else {"captions": captions_fingerprint(texts)}),
        **({} if ratings is None else {INTRA: ratings}),
    }
    return write(fields)


TIE_SHARE = 0.001  # above this share of tied relevant items there is a line on them
TIES_MATTER = {"rank": 0.05, "fraction": 0.01}  # warn if ties move a rank by this share, or a fraction by this


def ties(
    observed: dict[Direction, Observation], results: dict[Key, Measurement], split: TestSet, listed: bool = False
) -> None:
    """A line for every direction with printed values that depend on ties: how many relevant items tie, and the range of
    the most affected metric of each view. Metrics that read gains have no range, only a name.

    It is a warning where ties decide values (collapsed, rounded or identical vectors), and a note if they hardly do
    (a few captions are duplicates). In retrieved lists (``listed``) the order of the list decides.
    """
    for direction, observation in observed.items():
        shares = {view: float(ranks.tied.mean()) for view, ranks in observation.ranks.items() if len(ranks.tied)}
        if max(shares.values(), default=0.0) <= TIE_SHARE:
            continue
        # COCO 1K repeats the ties of COCO 5K; they are reported once.
        visible = [v for v in shares if not in_folds(v)] or list(shares)
        by_view = {v: [m for m, d in results if d == direction and m.view == v] for v in visible}
        unknown = {v: str(each[0]) for v, each in by_view.items() if each and all(m.graded for m in each)}
        ranges = {v: words for v in visible if (words := unknown.get(v) or _range(v, direction, results))}
        if not ranges:
            continue
        counted: list[str] = []
        for view in ranges:
            # Ties at the end of rankings are unknown.
            least = "" if observation.ranks[view].depth is None else "at least "
            counted.append(f"{least}{shares[view]:.1%}{' of the relevant items' * (not counted)} ({view})")
        text = f"{split.way(direction)}: {', '.join(counted)} tie exactly with another candidate"
        collapsed = max(shares[view] for view in ranges) > 0.99
        text += " (collapsed scores)" * collapsed
        matter = collapsed or any(_matters(m) for v in shares for m in _moved(v, direction, results))
        matter |= any(shares[v] > TIES_MATTER["rank"] for v in unknown)
        rule = "and keep the order of the list; in another order" if listed else f"; depending on {spell('ties')}"
        changed = [f"{words} may change" if v in unknown else words for v, words in ranges.items()]
        (warn if matter else note)(f"{text}{' ' * listed}{rule} {', '.join(changed)}")


Moved = tuple[float, float, Measurement]  # the smallest and the largest value under any tie rule


def _moved(view: str, direction: Direction, results: dict[Key, Measurement]) -> list[Moved]:
    return [
        (*r.ties, r) for (_, d), r in results.items() if d == direction and r.ties is not None and r.metric.view == view
    ]


def _matters(moved: Moved) -> bool:
    low, high, result = moved
    if result.unit == "rank":
        return abs(high - low) > TIES_MATTER["rank"] * result.value
    return abs(high - low) > TIES_MATTER["fraction"]


def _range(view: str, direction: Direction, results: dict[Key, Measurement]) -> str:
    """The metric with the widest printed range of values due to ties, fractions before ranks; and this range."""
    moved = sorted(_moved(view, direction, results), key=lambda m: (m[2].unit == "rank", -abs(m[0] - m[1])))
    for low, high, result in moved:
        ends = [printed(x, result.unit) for x in sorted((low, high))]
        if ends[0] != ends[1]:
            return f"{result.metric} is {ends[0]} to {ends[1]}"
    return ""


BLOCK_QUERIES = 2048  # queries with gains in memory


def kept_lists(plan: Plan, observed: Mapping[Direction, Observation]) -> tuple[Lists, ...]:
    """The first ``plan.lists`` items of every ranking, none if this is 0.

    Images without a caption are not queries, and their lists are empty, unless judgements have positives of them. The
    gains are of the first kind that a metric reads.
    """
    # If captions belong to no image, the ground truth has no gain to compare with.
    view = None if plan.split.image_of is None else next(iter(plan.gains), None)
    found = []
    for direction in (d for d in DIRECTIONS if d in plan.directions):
        items, scores = _top(observed[direction].top, plan.lists)
        if (absent := _no_queries(plan, direction)).any():
            items = np.where(absent[:, None], NOTHING, items)
            scores = None if scores is None else np.where(absent[:, None], np.float32(0), scores)
        gains = truth = None
        if view is not None:
            used = plan.gains[view] if direction == "i2t" else plan.gains[view].T
            gains, truth = _gains(used, items), _truth(used, direction, plan.split)
        found.append(Lists(plan.split.way(direction) or direction, items, scores, view, gains, truth))
    return tuple(found)


def _no_queries(plan: Plan, direction: Direction) -> Bool:
    """(query,) the images without a caption that no judgements have positives of."""
    owners, n = plan.split.image_of, len(plan.split.side(SIDES[direction][0]).ids)
    absent = np.ones(n, np.bool_)
    with_text = np.arange(n) if direction == "t2i" or owners is None else owners
    for queries in (with_text, *(t.relevance.queries for t in plan.targets[DIRECTIONS.index(direction)])):
        absent[queries] = False
    return absent


def _top(top: Tops | None, depth: int) -> tuple[Int, Vectors | None]:
    """(query, k) items and scores of the first ``depth`` items of rankings or retrieved lists."""
    assert top is not None  # plan.depth is at least plan.lists
    top, most = top.cut(depth), np.finfo(np.float32).max
    items = np.full((len(top.depth), min(depth, top.gallery)), NOTHING, np.int64)
    place = top.row, np.arange(len(top.entries)) - np.repeat(top.start[:-1], top.depth)
    items[place] = top.entries
    if top.scored is None:  # a re-ranked top and retrieved lists have an order alone
        return items, None
    scores = np.zeros(items.shape, np.float32)
    scores[place] = top.scores.ravel().clip(-most, most)
    return items, scores


def _gains(gains: Gains, items: Int) -> Vectors:
    """(query, k) gains of the items, 0 if there is none."""
    out = np.zeros(items.shape, np.float32)
    for start in range(0, len(items), BLOCK_QUERIES):
        part = items[start : start + BLOCK_QUERIES]
        out[start : start + BLOCK_QUERIES] = gains.at(np.arange(start, start + len(part)), part.clip(min=0))
    out[items == NOTHING] = 0
    return out


def _truth(gains: Gains, direction: Direction, split: TestSet) -> Vectors:
    """(query,) largest gain of a ground-truth item, 0 for a query without one."""
    judged = load("gt", split, direction)
    out = np.zeros(gains.shape[0], np.float32)
    for place in range(int(judged.found.max(initial=0))):  # the first ground-truth item of all queries, the second, ...
        has = np.flatnonzero(judged.found > place)
        query, item = judged.queries[has], judged.items[judged.indptr[has] + place]
        found = gains.at(query, item[:, None])[:, 0]
        out[query] = found if not place else np.maximum(out[query], found)
    return out
