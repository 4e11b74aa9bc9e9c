"""Judgements of one's own: reading them, their grades among the items of a split, and the source that they become."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import numbers, shown
from ..errors import BadInput, UsageError
from ..files.ids import places
from ..files.pairs import Pairs, place
from ..files.read_pairs import read_pairs
from ..files.sniff import sniff
from ..log import logged, warn
from ..options import spell
from ..types import DIRECTIONS, QUERIES_OF, SIDES, Bool, Direction, Float, Int, Split
from .gains import Gains, Spec, shape_of
from .grades import Grades, of_pairs
from .labels import in_memory, of_labels, read_labels
from .matrix import of_array, of_file
from .sources import LABELS, Source

FORMS = "give a path, a mapping of queries to items, pairs of ids, a matrix, or {'labels': (..., ...)}"
BLOCK = 1 << 22  # entries of a matrix read at a time
Both = dict[Direction, Grades]


def read(spec: Spec, split: Split) -> list[Grades]:
    """The judgements of a file or a value: pairs, a matrix, or labels, of one direction or both.

    Args:
        spec: the name of the judgements, and a path or a value in memory; ``holds`` is a direction or ``labels``.
        split: the items.

    Raises:
        UsageError: a value that is none of these.
        BadInput, MissingPackage: they cannot be read, or are not of this split.
    """
    pairs = pairs_of(spec)
    if pairs is not None:
        return [of_read(spec.kind, one, split) for one in pairs]
    if spec.holds == LABELS:
        labels = in_memory(spec.values, spec.what) if spec.path is None else read_labels(spec.path)
        both = both_ways(spec.kind, *of_labels(labels, split), "label")
        return list(both.values())
    with logged() as log:
        gains = of_file(split, spec.path) if spec.path else of_array(split, numbers(spec.values, spec.what))
    both = of_matrix(spec.kind, gains, [note for note in log.notes if "float64" not in note])
    return [grades for direction, grades in both.items() if spec.holds in ("", direction)]


def pairs_of(spec: Spec) -> list[Pairs] | None:
    """The pairs of a file or a value, not yet placed; None for a matrix and for labels; raises as ``read``."""
    path = spec.path
    if spec.holds == LABELS or (hasattr(spec.values, "__array__") if path is None else sniff(path).matrix):
        return None
    if path is None and not isinstance(spec.values, (Mapping, list, tuple)):
        raise UsageError(f"{spec.what} are {shown(spec.values)}", fix=FORMS)
    stated: Any = spec.holds or None
    return read_pairs(path or spec.values, stated, where=spec.what)


def of_read(name: str, pairs: Pairs, split: Split) -> Grades:
    """The grades of pairs as they were read; raises as ``vsebench.files.pairs.place``."""
    placed = place(pairs, split)
    direction = placed.direction
    assert direction is not None  # it is placed
    shape = shape_of(split, direction)
    found = of_pairs(name, direction, shape, placed.query, placed.item, placed.grade, placed.given)
    return replace(found, notes=placed.notes)


def of_matrix(name: str, gains: Gains, notes: Sequence[str]) -> Both:
    """The entries other than 0 of a matrix; images and captions without any are no judged queries."""
    from scipy.sparse import csr_array, vstack

    images, captions = gains.shape
    step = max(1, BLOCK // captions)
    rows = [csr_array(gains.rows("i2t", i, min(i + step, images)), dtype=np.float64) for i in range(0, images, step)]
    return both_ways(name, vstack(rows, format="csr"), None, notes, "entry")


def both_ways(name: str, grades: Any, judged: tuple[Bool, Bool] | None, notes: Sequence[str], what: str) -> Both:
    """The (image, caption) grades in both directions; items without a grade are no queries, which a note says.

    Args:
        name: of the judgements.
        grades: csr_array, float64.
        judged: (image,) and (caption,) whether an item is a judged query; None for those that have a grade.
        notes: what else was decided.
        what: an item that is not judged lacks.
    """
    from scipy.sparse import csr_array

    grades.sort_indices()
    one = Grades(name, "i2t", grades, csr_array((grades.shape[0], 1)), np.diff(grades.indptr) > 0)
    both: Both = {"i2t": one, "t2i": one.turned()}
    if judged is not None:
        both = {d: replace(both[d], judged=queries) for d, queries in zip(DIRECTIONS, judged, strict=True)}
    meaning = (
        f"have no {what}: they are no queries, and count in no metric, with {spell('no_positive', 'miss')} as well"
    )
    counts = {d: (int((~g.judged).sum()), len(g.judged)) for d, g in both.items()}
    notes = (*notes, *_counted(counts, "", meaning))
    return {d: replace(g, notes=notes) for d, g in both.items()}


def complete(found: Sequence[Grades], level: float, where: str) -> Both:
    """The grades of several files by direction; a direction that none has is the transpose of the other.

    Raises:
        BadInput: two have one direction; the level leaves a direction without a positive.
    """
    both: Both = {}
    for one in found:
        if one.direction in both:
            raise BadInput(f"judgements of {one.direction} are given twice", where=where, fix="give each once")
        both[one.direction] = replace(one, level=level)
    if len(both) == 1:
        ((direction, one),) = both.items()
        other = QUERIES_OF[direction]
        both[other] = replace(one.turned(), transposed=True, notes=(f"{other} is the transpose of {direction}",))
    _check_level(both, where)
    return both


def within(both: Both, complete: Split, part: Split) -> Both:
    """The judgements of a split among the items of a part of it."""
    index = {side: places(complete.ids(side), part.ids(side)) for side in SIDES["i2t"]}
    return {direction: one.part(*(index[side] for side in SIDES[direction])) for direction, one in both.items()}


def _check_level(both: Both, where: str) -> None:
    """Refuse a level that leaves a direction without a positive, and warn if most judged queries have none.

    A transpose may have any number: most of its queries were not judged.
    """
    for direction, one in both.items():
        queries, judged = len(one.positives.queries), int(one.judged.sum())
        if queries and (one.transposed or 2 * queries >= judged):
            continue
        grade = np.concatenate([one.inside.data, one.outside.data])
        grades = f"grades are {grade.min():g} to {grade.max():g}" if len(grade) else "no pair is judged"
        what = (
            f"'{one.name}' ({direction}): {queries:,} of {judged:,} judged queries have a positive, "
            f"a candidate with a grade of at least {one.level:g}; {grades}"
        )
        if not queries:
            fix = f"give {spell('level', float(grade.max()))}" if len(grade) else "give judgements with grades"
            raise BadInput(what, where=where, fix=fix)
        warn(f"{what}; the others count in no metric, or as a miss with {spell('no_positive', 'miss')}")


def source(both: Both) -> Source:
    """The judgements of both directions as a source, which is valid for their split alone."""
    name, level = both["i2t"].name, both["i2t"].level
    notes = dict.fromkeys(note for one in both.values() for note in one.notes)
    both = {direction: both[direction] for direction in DIRECTIONS}
    meaning = f"have no positive: they count in no metric, or as a miss with {spell('no_positive', 'miss')}"
    without = {d: (one.positives.skipped, int(one.judged.sum())) for d, one in both.items()}
    identity = _identity(both)
    return Source(
        name=name,
        title=name,
        meaning=f"judgements of one's own, of grade {level:g} or more; the complete gallery is ranked",
        rule=f"a grade of at least {level:g}",
        grades=lambda split, direction: both[direction],
        identity=lambda split: identity,
        notes=(*notes, *_counted(without, "judged ", meaning)),
    )


def _identity(both: Both) -> str:
    """``own#`` and eight digits of the SHA-256 of the level and the judged pairs, by query, item and grade."""
    digest = hashlib.sha256(f"{both['i2t'].level:g}".encode())
    for one in both.values():
        (query, item, grade), lost = _triples(one.inside), one.outside
        if lost.nnz:
            outside = _triples(lost)[0], np.full(lost.nnz, -1), lost.data
            query, item, grade = map(np.concatenate, zip((query, item, grade), outside, strict=True))
            order = np.lexsort((grade, item, query))
            query, item, grade = query[order], item[order], grade[order]
        for array, kind in ((query, "<i8"), (item, "<i8"), (grade, "<f4"), (np.flatnonzero(one.judged), "<i8")):
            digest.update(np.ascontiguousarray(array, kind).data)
    return f"own#{digest.hexdigest()[:8]}"


def _triples(matrix: Any) -> tuple[Int, Int, Float]:
    """(entry,) queries, items and grades."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices, matrix.data


def _counted(counts: Mapping[Direction, tuple[int, int]], word: str, meaning: str) -> list[str]:
    """One note on queries of both directions, of each (how many, of how many); none where there are none."""
    parts = [f"{k:,} of {n:,} {word}{SIDES[d][0]}s" for d, (k, n) in counts.items() if k]
    return [f"{' and '.join(parts)} {meaning}"] if parts else []
