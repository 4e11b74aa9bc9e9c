"""Judgements of one's own: reading them, their grades among the items of a split, and the source that they become."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import numbers
from ..errors import BadInput, UsageError, shown
from ..files.formats import sniff
from ..files.ids import places
from ..files.pairs import Pairs, place
from ..files.read_pairs import read_pairs
from ..log import logged, warn
from ..options import spell
from ..types import BOTH, DIRECTIONS, Bool, Both, Float, Int, TestSet, Which
from .gains import Gains, Grades, Spec, of_pairs
from .labels import in_memory, of_labels, read_labels
from .matrix import of_array, of_file
from .sources import LABELS, Source

FORMS = "give a path, a mapping of queries to items, pairs of ids, a matrix, or {'labels': (..., ...)}"
BLOCK = 1 << 22  # entries of a matrix read at a time
OfSide = tuple[Which, Grades]


def read(spec: Spec, test: TestSet) -> list[OfSide]:
    """The judgements of a file or a value: pairs, a matrix, or labels, of the queries of one side or both.

    Args:
        spec: the name of the judgements, and a path or a value in memory; ``holds`` is a direction or ``labels``,
            ``rows`` says what the rows of a matrix are.
        test: the items.

    Raises:
        UsageError: a value that is none of these.
        BadInput, MissingPackage: they cannot be read, or are not of this split.
    """
    pairs = pairs_of(spec)
    if pairs is not None:
        return [of_read(spec.kind, one, test) for one in pairs]
    if spec.holds == LABELS:
        labels = in_memory(spec.values, spec.what) if spec.path is None else read_labels(spec.path)
        return list(zip(BOTH, both_ways(spec.kind, *of_labels(labels, test), "label", test), strict=True))
    turned = ""
    if spec.holds == DIRECTIONS[1]:
        of = f"{spec.kind}={spec.holds}:{spec.path}:rows="
        turned = (
            f"write {of}captions or {of}images"
            if spec.path
            else "give {NAME: MATRIX}, its rows as images, or a mapping of queries to items"
        )
    with logged() as log:
        if spec.path:
            gains = of_file(test, spec.path, spec.settings.get("rows", "auto"), turned)
        else:
            gains = of_array(test, numbers(spec.values, spec.what), turned)
    both = of_matrix(spec.kind, gains, [note for note in log.notes if log.weights[note] != "detail"], test)
    return [(side, both[side]) for side in BOTH if spec.holds in ("", DIRECTIONS[side])]


def pairs_of(spec: Spec) -> list[Pairs] | None:
    """The pairs of a file or a value, not yet placed; None for a matrix and for labels; raises as ``read``."""
    path = spec.path
    if spec.holds == LABELS or (hasattr(spec.values, "__array__") if path is None else sniff(path).matrix):
        return None
    if path is None and not isinstance(spec.values, (Mapping, list, tuple)):
        raise UsageError(f"{spec.what} are {shown(spec.values)}", fix=FORMS)
    stated: Any = spec.holds or None
    return read_pairs(path or spec.values, stated, where=spec.what)


def of_read(name: str, pairs: Pairs, test: TestSet) -> OfSide:
    """The grades of pairs as they were read; raises as ``vsebench.files.pairs.place``."""
    placed = place(pairs, test)
    side: Which = 0 if placed.direction == DIRECTIONS[0] else 1
    shape = len(placed.queries), len(placed.items)
    found = of_pairs(name, shape, placed.query, placed.item, placed.grade, placed.given, placed.where)
    return side, replace(found, notes=placed.notes)


def of_matrix(name: str, gains: Gains, notes: Sequence[str], test: TestSet) -> Both[Grades]:
    """The entries other than 0 of a matrix; rows and columns without any are no judged queries."""
    from scipy.sparse import csr_array, vstack

    n, columns = gains.shape
    step = max(1, BLOCK // columns)
    rows = [csr_array(gains.rows(i, min(i + step, n)), dtype=np.float64) for i in range(0, n, step)]
    return both_ways(name, vstack(rows, format="csr"), None, notes, "entry", test)


def both_ways(
    name: str, grades: Any, judged: Both[Bool] | None, notes: Sequence[str], what: str, test: TestSet
) -> Both[Grades]:
    """The (row, column) grades of both sides as queries; items without one are no queries, which a note says.

    Args:
        name: of the judgements.
        grades: csr_array, float64.
        judged: (row,) and (column,) whether an item is a judged query; None for those that have a grade.
        notes: what else was decided.
        what: an item that is not judged lacks.
        test: the items.
    """
    from scipy.sparse import csr_array

    grades.sort_indices()
    rows = Grades(name, grades, csr_array((grades.shape[0], 1)), np.diff(grades.indptr) > 0)
    columns = rows.turned()
    if judged is not None:
        rows, columns = replace(rows, judged=judged[0]), replace(columns, judged=judged[1])
    meaning = (
        f"have no {what}: they are no queries, and count in no metric, with {spell('no_positive', 'miss')} as well"
    )
    notes = (*notes, *_counted([(int((~g.judged).sum()), len(g.judged)) for g in (rows, columns)], "", meaning, test))
    return replace(rows, notes=notes), replace(columns, notes=notes)


def complete(found: Sequence[OfSide], level: float, where: str) -> Both[Grades]:
    """The grades of several files by the side of the queries; a side that none has is the transpose of the other.

    Raises:
        BadInput: two have one side; the level leaves a side without a positive.
    """
    of: dict[int, Grades] = {}
    for side, one in found:
        if side in of:
            raise BadInput(f"judgements of {DIRECTIONS[side]} are given twice", where=where, fix="give each once")
        of[side] = replace(one, level=level)
    if len(of) == 1:
        ((given, one),) = of.items()
        notes = (f"{DIRECTIONS[1 - given]} is the transpose of {DIRECTIONS[given]}",)
        of[1 - given] = replace(one.turned(), transposed=True, notes=notes)
    both = of[0], of[1]
    _check_level(both, where)
    return both


def within(both: Both[Grades], complete: TestSet, part: TestSet) -> Both[Grades]:
    """The judgements of a split among the items of a part of it."""
    rows, columns = (places(x.ids, y.ids) for x, y in zip(complete.sides, part.sides, strict=True))
    return both[0].part(rows, columns), both[1].part(columns, rows)


def _check_level(both: Both[Grades], where: str) -> None:
    """Refuse a level that leaves a side without a positive, and warn if most judged queries have none.

    A transpose may have any number, as most of its queries were not judged, and is checked last.
    """
    for direction, one in sorted(zip(DIRECTIONS, both, strict=True), key=lambda of: of[1].transposed):
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


def source(both: Both[Grades], test: TestSet) -> Source:
    """The judgements of both sides as a source, which is valid for their test set alone."""
    name, level = both[0].name, both[0].level
    notes = dict.fromkeys(note for one in both for note in one.notes)
    meaning = f"have no positive: they count in no metric, or as a miss with {spell('no_positive', 'miss')}"
    without = [(one.positives.skipped, int(one.judged.sum())) for one in both]
    identity = _identity(both)
    return Source(
        name=name,
        title=name,
        meaning=f"judgements of one's own, of grade {level:g} or more; the complete gallery is ranked",
        rule=f"a grade of at least {level:g}",
        grades=lambda test: both,
        identity=lambda test: identity,
        notes=(*notes, *_counted(without, "judged ", meaning, test)),
    )


def _identity(both: Both[Grades]) -> str:
    """``own#`` and eight digits of the SHA-256 of the level and the judged pairs, by query, item and grade."""
    digest = hashlib.sha256(f"{both[0].level:g}".encode())
    for one in both:
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


def _counted(counts: Sequence[tuple[int, int]], word: str, meaning: str, test: TestSet) -> list[str]:
    """One note on rows and columns as queries, of each (how many, of how many); none where there are none."""
    parts = [f"{k:,} of {n:,} {word}{side.plural}" for side, (k, n) in zip(test.sides, counts, strict=True) if k]
    return [f"{' and '.join(parts)} {meaning}"] if parts else []
