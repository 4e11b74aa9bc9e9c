"""From per-query values to a report: names, intervals, warnings and the signature."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import __version__, signature
from ..metrics import parse
from ..report.model import Report, Resampling, Result
from ..types import Float, Ids, Split
from .distances import LabelDistance
from .plan import DIRECTION, STEMS, VIEW, Options
from .queries import Selection


def list_lengths(options: Options, chosen: Selection) -> list[int]:
    """The list lengths that are asked for, clipped to what a query can retrieve, ascending."""
    return sorted({min(k, chosen.depth) for _, k in options.asked()})


def make_report(
    values: tuple[Float, Float],
    labels: LabelDistance,
    chosen: Selection,
    names: Ids,
    options: Options,
    notes: Sequence[str],
) -> Report:
    """The report of an evaluation.

    Args:
        values: (query, length) nDCG and (query, length) mean label distances, one column a length of ``list_lengths``.
        labels: what the lists were judged by.
        chosen: who asked and who competed.
        names: (item,) ids, or row numbers.
        options: what was asked.
        notes: decisions to be told.
    """
    lengths, by_stem = list_lengths(options, chosen), dict(zip(STEMS, values, strict=True))
    results, deep = [], []
    for stem, k in options.asked():
        column = np.ascontiguousarray(by_stem[stem][:, lengths.index(min(k, chosen.depth))])
        results.append(
            Result(
                parse(f"{VIEW}:{stem}@{k}"),
                DIRECTION[options.modality],
                float(column.mean()),
                len(column),
                queries=names[chosen.queries],
                per_query=column,
            )
        )
        deep += [f"{stem}@{k}"] if k > chosen.depth else []
    warnings = list(labels.warnings)
    if deep:
        clipped = f"k is larger than the {chosen.depth:,} items that a query can retrieve; all of them count"
        warnings.append(f"{', '.join(deep)}: {clipped}")
    told = f"{len(chosen.queries):,} queries, {len(chosen.gallery):,} items in the gallery"
    told += "; a query never competes in its own list" if chosen.kept else "; no query is among them"
    fields = {
        "vsebench": __version__,
        "split": f"custom#{_fingerprint(names, chosen)}",
        "labels": labels.name,
        "score": options.similarity,
        "order": "f64",
        "ties": "index",
        "queries": "kept" if chosen.kept else "apart",
    }
    return Report(
        "custom",
        signature.write(fields),
        _with_intervals(results, options.resampling, options.threads),
        tuple(warnings),
        (*notes, *labels.notes, told),
        intervals=options.resampling,
        # One text an item stands for the side that is not there.
        asked=Split("custom", names, names, np.arange(len(names))),
    )


def _with_intervals(results: list[Result], how: Resampling | None, threads: int | None) -> tuple[Result, ...]:
    """The results with bootstrap intervals over queries: each is an item of its own."""
    n = results[0].n
    if how is None or n < 2:
        return tuple(results)
    from ..stats import bootstrap
    from ..stats.columns import Column, Population, prepare

    ready = prepare([Column(r.per_query, np.arange(n)) for r in results if r.per_query is not None], Population(n))
    samples = bootstrap.resample(ready, how.resamples, how.seed, threads)
    if how.method == "bca":
        values = np.array([r.value for r in results])
        ends = bootstrap.bca(samples, values, bootstrap.jackknife(ready, threads), how.level / 100)
    else:
        ends = bootstrap.percentile(samples, how.level / 100)
    return tuple(replace(r, interval=(float(low), float(high))) for r, (low, high) in zip(results, ends, strict=True))


def _fingerprint(ids: Ids, chosen: Selection) -> str:
    """Eight hexadecimal digits of the items and of who asks."""
    digest = hashlib.sha256("\n".join(map(str, ids.tolist())).encode())
    for index in (chosen.queries, chosen.gallery):
        digest.update(np.ascontiguousarray(index, "<i8").tobytes())
    return digest.hexdigest()[:8]
