"""From results to a report: sums, intervals, the signature, warnings and provenance."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..errors import BadInput, count_of
from ..files.regular import sha256_of
from ..log import note, said, warn
from ..metrics import Metric
from ..metrics.suites import INTRA
from ..options import spell
from ..rank.ties import EXPECTED
from ..relevance.gains import Gains
from ..relevance.sources import SOURCES, in_folds, is_gains, load
from ..results.lists import NOTHING, Lists
from ..results.model import Result, printed
from ..results.report import Report
from ..signature import captions_fingerprint, fingerprint, write
from ..types import DIRECTIONS, SIDES, Bool, Direction, Int, Observation, TestSet, Tops, Vectors
from . import intervals
from .inputs import Input
from .intervals import Key
from .plan import Plan

if TYPE_CHECKING:
    from ..results.report import Report


PACKAGES = ("numpy", "scipy", "numba", "eccv-caption", "pycocoevalcap")


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def attach(
    report: Report, started: datetime.datetime, threads: int | None, sources: Sequence[Path], backend: str = "numpy",
    engine: str = "local", settings: Mapping[str, Any] | None = None,
) -> Report:  # fmt: skip
    """The report with its provenance: files that were read, the back-end that ranked them, where, and the options.

    Args:
        report: what is in its provenance already, ``of_workers``, takes the place of the back-end of this process.
        started, threads, sources, backend, engine, settings: of the evaluation.
    """
    from ..numeric import compiled
    from ..numeric.parallel import default_threads
    from ..rank import backends

    ranked, packages = dict(report.provenance), [*PACKAGES]
    if not ranked:
        used = backends.chosen(backend)[0]
        ranked = {"backend": used, **backends.about_device(used)}
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
        "engine": engine,
        "settings": dict(settings or {}),
        "inputs": [describe(p) for p in sources if p.is_file()],
    }
    return dataclasses.replace(report, notes=(*report.notes, *compiled.notes()), provenance=provenance)


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
    return dataclasses.replace(report, provenance={"command": command_line(), **report.provenance})


def command_line() -> list[str]:
    """The command as typed, without the folder of the program."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Installed versions; absent packages are left out."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(path: Path) -> dict[str, Any]:
    """Name, size and sha256 of an input file."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def report(
    plan: Plan,
    data: Input,
    observed: dict[Direction, Observation],
    single: Mapping[Key, Result],
    ratings: str | None,
) -> Report:
    """The report of an evaluation, with what was said so far.

    Args:
        plan: what was measured.
        data: what was evaluated.
        observed: ranks of the relevant items, by direction.
        single: all results but the sums.
        ratings: identity of the ratings of the metrics inside the modalities, or None.

    Raises:
        BadInput: no metric has a value.
    """
    results, members = _with_sums(plan, single)
    if plan.request.resampling is not None:
        results = intervals.add(results, members, plan.split, plan.request.resampling, plan.request.threads)
    requested: dict[Key, None] = {}
    for m in plan.metrics:
        requested.update(dict.fromkeys((m, d) for d in ([None] if m.family.compute is None else plan.directions)))
    requested |= dict.fromkeys(key for key in results if key[1] in ("i2i", "t2t"))
    shown = [results[key] for key in requested if key in results]
    if plan.metrics and not shown:
        what = f"nothing was measured: {'; '.join(said().warnings)}"
        raise BadInput(what, fix="check the gains and what they are made from")
    ties(observed, results)
    unreachable(observed)
    clipped(plan.metrics, plan.split)
    note(*intervals.of_queries_alone(results.values()))
    if plan.request.resampling is not None:
        note(*intervals.without(results))
    log = said()
    return Report(
        plan.split.name,
        signature(plan, data, ratings),
        tuple(shown),
        tuple(log.warnings),
        tuple(log.notes),
        intervals=plan.request.resampling,
        parts=tuple(result for key, result in results.items() if key not in requested),
        items=replace(
            plan.split,
            rows=replace(plan.split.rows, places=None),
            columns=replace(plan.split.columns, texts=None, places=_caption_rows(plan.split, data)),
        ),
    )


def _caption_rows(split: TestSet, data: Input) -> Int | None:
    """(caption,) int64 text row of every caption of a custom split with ids, by which a text file is read again."""
    numbered = split.columns.ids.dtype.kind == "i" and np.array_equal(
        split.columns.ids, np.arange(len(split.columns.ids))
    )
    if split.name != "custom" or numbered:
        return None
    return np.arange(len(split.columns.ids)) if data.rows[1] is None else np.asarray(data.rows[1])


def _with_sums(plan: Plan, single: Mapping[Key, Result]) -> tuple[dict[Key, Result], dict[Key, list[Key]]]:
    """The results with the sums that have all their parts, and the parts of every sum."""
    results = dict(single)
    members: dict[Key, list[Key]] = {}
    for m in (m for m in plan.metrics if m.family.compute is None):
        parts: list[Key] = [(p, d) for p in m.parts() for d in plan.directions]
        if all(key in results for key in parts):
            members[m, None] = parts
            results[m, None] = _sum(m, [results[key] for key in parts], len(plan.directions))
    return results, members


def _sum(m: Metric, parts: Sequence[Result], directions: int) -> Result:
    ties = None
    if any(p.ties for p in parts):
        both = [p.ties or (p.value, p.value) for p in parts]
        ties = (sum(x for x, _ in both), sum(y for _, y in both))
    first = parts[:directions]  # one metric in all directions: its queries are those of the others
    n, undefined = sum(p.n for p in first), sum(p.undefined for p in first)
    return Result(m, None, sum(p.value for p in parts), n, undefined, ties=ties)


def signature(plan: Plan, data: Input, ratings: str | None) -> str:
    """The line that identifies the values: everything that can move a digit."""
    # Metrics that read gains have two tie rules only, and do not depend on queries without positives.
    binary = ratings is not None or not all(m.graded for m in plan.metrics)
    judged = {v: j.identity(plan.split) for v, j in plan.judgements.items() if any(m.view == v for m in plan.metrics)}
    fields = {
        "vsebench": __version__,
        "split": f"{plan.split.name}#{fingerprint(plan.split)}",
        **{view: identity for view, identity in judged.items() if identity is not None},
        "score": data.score,
        **data.stages,
        "order": "f64",
        "ties": plan.request.ties if binary or plan.request.ties == EXPECTED else "index",
        "empty": plan.request.no_positive if binary else "skip",
        **({} if data.lists is None else {"short": plan.request.short_lists}),
        **_gains_identities(plan.gains, plan.split),
        **({} if ratings is None else {INTRA: ratings}),
    }
    return write(fields)


def _gains_identities(gains: Mapping[str, Gains], split: TestSet) -> dict[str, str]:
    """View -> every setting of its gains that can move a digit, and the captions they are made from."""
    # A file is identified by its content: copies may have other names.
    of_kinds = {view: g for view, g in gains.items() if is_gains(view)}  # others are judgements
    fields = {view: ",".join(f"{k}={v}" for k, v in g.settings.items() if k != "file") for view, g in of_kinds.items()}
    if split.columns.texts is not None and any(SOURCES[view].captions != "unused" for view in of_kinds):
        fields["captions"] = captions_fingerprint(split.columns.texts)
    return fields


TIE_SHARE = 0.001  # above this share of tied relevant items there is a line on them
TIES_MATTER = {"rank": 0.05, "fraction": 0.01}  # and a warning where they move a rank by this share, a fraction by this


def ties(observed: dict[Direction, Observation], results: dict[Key, Result]) -> None:
    """One line a direction whose printed values depend on ties: how many relevant items tie, and the range of each
    view's most affected metric.

    It is a warning where ties decide values (collapsed, rounded or identical vectors), and a note where they hardly do
    (a few captions are duplicates).
    """
    for direction, observation in observed.items():
        shares = {view: float(ranks.tied.mean()) for view, ranks in observation.ranks.items() if len(ranks.tied)}
        if max(shares.values(), default=0.0) <= TIE_SHARE:
            continue
        # COCO 1K repeats the ties of COCO 5K; they are reported once.
        shown = [v for v in shares if not in_folds(v)] or list(shares)
        ranges = {v: words for v in shown if (words := _range(v, direction, results))}
        if not ranges:
            continue
        counted: list[str] = []
        for view in ranges:
            # Ties at the end of rankings are unknown.
            least = "" if observation.ranks[view].depth is None else "at least "
            counted.append(f"{least}{shares[view]:.1%}{' of the relevant items' * (not counted)} ({view})")
        text = f"{direction}: {', '.join(counted)} tie exactly with another candidate"
        collapsed = max(shares[view] for view in ranges) > 0.99
        text += " (collapsed scores)" * collapsed
        matter = collapsed or any(_matters(m) for v in shares for m in _moved(v, direction, results))
        (warn if matter else note)(f"{text}; by tie rule ({spell('ties')}) {', '.join(ranges.values())}")


Moved = tuple[float, float, Result]  # the smallest and the largest value under any tie rule


def _moved(view: str, direction: Direction, results: dict[Key, Result]) -> list[Moved]:
    return [
        (*r.ties, r) for (_, d), r in results.items() if d == direction and r.ties is not None and r.metric.view == view
    ]


def _matters(moved: Moved) -> bool:
    low, high, result = moved
    if result.unit == "rank":
        return abs(high - low) > TIES_MATTER["rank"] * result.value
    return abs(high - low) > TIES_MATTER["fraction"]


def _range(view: str, direction: Direction, results: dict[Key, Result]) -> str:
    """The metric whose printed value depends most on ties, and its range; of ranks only where no fraction does."""
    moved = sorted(_moved(view, direction, results), key=lambda m: (m[2].unit == "rank", -abs(m[0] - m[1])))
    for low, high, result in moved:
        ends = [printed(x, result.unit) for x in sorted((low, high))]
        if ends[0] != ends[1]:
            return f"{result.metric} is {ends[0]} to {ends[1]}"
    return ""


def unreachable(observed: dict[Direction, Observation]) -> None:
    """Note judgements with positives outside the gallery."""
    for direction, observation in observed.items():
        for view, ranks in observation.ranks.items():
            if lost := ranks.relevance.unreachable:
                note(
                    f"{view} {direction}: {lost} positives are not in the gallery and count as not found",
                    weight="detail",
                )


def clipped(metrics: Sequence[Metric], split: TestSet) -> None:
    """Warn of binary metrics whose k is larger than a gallery."""
    smallest = min(len(split.rows.ids), len(split.columns.ids))
    deep = [str(m) for m in metrics if (m.k or 0) > smallest and not m.graded]
    if deep:
        warn(f"{', '.join(deep)}: k is larger than a gallery of {smallest:,}; everything counts as retrieved")


BLOCK = 2048  # queries whose gains are computed together


def kept_lists(plan: Plan, observed: Mapping[Direction, Observation]) -> tuple[Lists, ...]:
    """The first ``plan.lists`` items of every ranking, none where this is 0.

    Images without a caption are no queries, and their lists are empty, unless judgements have positives of them. Gains
    are those of the first kind that a metric reads.
    """
    # Without an own image of a caption there is no gain of the ground truth to compare with.
    view = None if plan.split.image_of is None else next(iter(plan.gains), None)
    found = []
    for direction in (d for d in DIRECTIONS if d in plan.directions):
        items, scores = _top(observed[direction].top, plan.lists)
        if (absent := _no_queries(plan, direction)).any():
            items = np.where(absent[:, None], NOTHING, items)
            scores = None if scores is None else np.where(absent[:, None], np.float32(0), scores)
        gains = truth = None
        if view is not None:
            own = plan.gains[view] if direction == "i2t" else plan.gains[view].T
            gains, truth = _gains(own, items), _truth(own, direction, plan.split)
        found.append(Lists(direction, items, scores, view, gains, truth))
    return tuple(found)


def _no_queries(plan: Plan, direction: Direction) -> Bool:
    """(query,) the images without a caption that no judgements have positives of."""
    own, n = plan.split.image_of, len(plan.split.side(SIDES[direction][0]).ids)
    absent = np.ones(n, np.bool_)
    with_text = np.arange(n) if direction == "t2i" or own is None else own
    for queries in (with_text, *(t.relevance.queries for t in plan.targets[DIRECTIONS.index(direction)])):
        absent[queries] = False
    return absent


def _top(top: Tops | None, depth: int) -> tuple[Int, Vectors | None]:
    """(query, k) items and scores of the first ``depth`` items of rankings or retrieved lists."""
    assert top is not None  # plan.depth is at least plan.lists
    top, most = top.cut(depth), np.finfo(np.float32).max
    items = np.full((len(top.depth), min(depth, top.gallery)), NOTHING, np.int64)
    items[top.row, np.arange(len(top.entries)) - np.repeat(top.start[:-1], top.depth)] = top.entries
    # a re-ranked top and retrieved lists have an order alone
    return items, None if top.scored is None else top.scores.clip(-most, most).astype(np.float32)


def _gains(gains: Gains, items: Int) -> Vectors:
    """(query, k) gains of the items, 0 where there is none."""
    out = np.zeros(items.shape, np.float32)
    for start in range(0, len(items), BLOCK):
        part = items[start : start + BLOCK]
        out[start : start + BLOCK] = gains.at(np.arange(start, start + len(part)), part.clip(min=0))
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
