"""Custom judgements: reading them, placing their grades among the items of a split, and the source made from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import numbers
from ..errors import BadInput, UsageError, count_of, format_value
from ..files.formats import sniff
from ..files.ids import as_ids, id_array, match, places
from ..files.kinds import KINDS
from ..files.pairs import Pairs, place
from ..files.read_pairs import read_pairs
from ..files.records import missing, records, text_of
from ..log import logged, warn
from ..options import spell
from ..sets import owners
from ..signature import ascending
from ..types import BOTH, DIRECTIONS, ONE_WAY, SIDES, Bool, Both, Ids, Modality, TestSet, Which
from .gains import Grades, Spec, of_pairs
from .matrix import of_matrix
from .sources import LABELS, Source

if TYPE_CHECKING:
    from scipy.sparse import csr_array


FORMS = "give a path, a mapping of queries to items, pairs of ids, a matrix, or {'labels': (..., ...)}"
BLOCK_ENTRIES = 1 << 22  # matrix entries read at a time
OfSide = tuple[Which, Grades]


def read(spec: Spec, test: TestSet) -> list[OfSide]:
    """The judgements of a file or a value: pairs, a matrix, or labels, of the queries of one side or both.

    Args:
        spec: the name of the judgements, and a path or a value in memory; ``holds`` is a direction or ``labels``,
            ``rows`` says what the rows of a matrix are.
        test: the items.

    Raises:
        UsageError: any other value.
        BadInput, MissingPackage: they cannot be read, or are not of this split.
    """
    pairs = pairs_of(spec)
    if pairs is not None:
        return [of_read(spec.kind, one, test) for one in pairs]
    if spec.holds == LABELS:
        labels = in_memory(spec.values, spec.what) if spec.path is None else read_labels(spec.path)
        return list(zip(BOTH, both_ways(spec.kind, *of_labels(labels, test), "label", test), strict=True))
    if spec.holds == ONE_WAY and not test.one_way:
        what = f"{spec.what} are declared as queries and a corpus, but the data has {test.counts}"
        raise UsageError(what, fix=f"leave out {ONE_WAY}")
    from scipy.sparse import csr_array, vstack

    prefix = f"{spec.kind}={spec.holds}:{spec.path}:rows="
    turned = f"write {prefix}captions or {prefix}images"
    if not spec.path:
        turned = "give {NAME: MATRIX}, its rows as images, or a mapping of queries to items"
    with logged() as log:
        values = spec.path or numbers(spec.values, spec.what)
        gains = of_matrix(test, values, spec.settings.get("rows", "auto"), turned * (spec.holds == DIRECTIONS[1]))
    step = max(1, BLOCK_ENTRIES // gains.shape[1])
    rows = [gains.rows(i, min(i + step, len(test.rows))) for i in range(0, len(test.rows), step)]
    notes = [note for note in log.notes if log.weights[note] != "detail"]
    grades = vstack([csr_array(some, dtype=np.float64) for some in rows], format="csr")
    both = both_ways(spec.kind, grades, None, notes, "entry", test)
    return [(side, both[side]) for side in BOTH if spec.holds in ("", ONE_WAY, DIRECTIONS[side])]


def pairs_of(spec: Spec) -> list[Pairs] | None:
    """The pairs of a file or a value, not yet placed; None for a matrix and for labels; raises as ``read``."""
    path = spec.path
    if spec.holds == LABELS or (hasattr(spec.values, "__array__") if path is None else sniff(path).matrix):
        return None
    if path is None and not isinstance(spec.values, (Mapping, list, tuple)):
        raise UsageError(f"{spec.what} are {format_value(spec.values)}", fix=FORMS)
    stated: Any = spec.holds or None
    return read_pairs(path or spec.values, stated, where=spec.what)


def of_read(name: str, pairs: Pairs, test: TestSet) -> OfSide:
    """The grades of pairs as they were read; raises as ``vsebench.files.pairs.place``."""
    placed = place(pairs, test)
    side: Which = 0 if placed.direction == DIRECTIONS[0] else 1
    shape = len(placed.queries), len(placed.items)
    found = of_pairs(name, shape, placed.query, placed.item, placed.grade, placed.given, placed.where)
    return side, replace(found, notes=placed.notes)


def both_ways(
    name: str, grades: Any, judged: Both[Bool] | None, notes: Sequence[str], what: str, test: TestSet
) -> Both[Grades]:
    """The (row, column) grades of both sides as queries; items without one are not queries, and a note counts them.

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
    meaning = f"have no {what}: they are left out of every metric, even with {spell('no_positive', 'miss')}"
    sides = (rows, columns)[: 2 - test.one_way]
    notes = (*notes, *_counted([(int((~g.judged).sum()), len(g.judged)) for g in sides], "", meaning, test))
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
            some = len(grade) > 0 and grade.max() > 0
            fix = f"give {spell('level', float(grade.max()))}" if some else "give judgements with grades above 0"
            raise BadInput(what, where=where, fix=fix)
        warn(f"{what}; the others are left out of every metric, or count as a miss with {spell('no_positive', 'miss')}")


def source(both: Both[Grades], test: TestSet) -> Source:
    """The judgements of both sides as a source, which is valid for their test set alone."""
    name, level = both[0].name, both[0].level
    sides = both[: 2 - test.one_way]
    notes = dict.fromkeys(note for one in sides for note in one.notes)
    if test.one_way and (idle := int((~both[0].judged).sum())):
        notes[f"{idle:,} of {len(test.rows):,} queries are not judged and are left out of every metric"] = None
    meaning = (
        f"have no positive: they are left out of every metric, or count as a miss with {spell('no_positive', 'miss')}"
    )
    without = [(one.positives.skipped, int(one.judged.sum())) for one in sides]
    identity = _identity(both, test)
    return Source(
        name=name,
        title=name,
        meaning=f"custom judgements, grade {level:g} or more; the complete gallery is ranked",
        rule=f"a grade of at least {level:g}",
        grades=lambda test: both,
        identity=lambda test: identity,
        lists_judged=any((x.data < level).any() for one in sides for x in (one.inside, one.outside)),
        notes=(*notes, *_counted(without, "judged ", meaning, test)),
    )


def _identity(both: Both[Grades], test: TestSet) -> str:
    """``own#`` and eight digits of the SHA-256 of the level and the judged pairs, by query, item and grade."""
    digest, places = hashlib.sha256(f"{both[0].level:g}".encode()), [np.argsort(at) for at in ascending(test)]
    for one, (of_query, of_item) in zip(both, (places, places[::-1]), strict=True):
        inside, outside = one.inside.tocoo(), one.outside.tocoo()
        query, grade = of_query[np.append(inside.row, outside.row)], np.append(inside.data, outside.data)
        item = np.append(of_item[inside.col], np.full(outside.nnz, -1))
        order = np.lexsort((grade, item, query))
        pairs = (query[order], "<i8"), (item[order], "<i8"), (grade[order], "<f4")
        for array, kind in (*pairs, (np.sort(of_query[one.judged]), "<i8")):
            digest.update(np.ascontiguousarray(array, kind).data)
    return f"own#{digest.hexdigest()[:8]}"


def _counted(counts: Sequence[tuple[int, int]], word: str, meaning: str, test: TestSet) -> list[str]:
    """One note on rows and columns as queries, of each (how many, of how many); none if there are none."""
    parts = [f"{k:,} of {n:,} {word}{side.plural}" for side, (k, n) in zip(test.sides, counts, strict=False) if k]
    return [f"{' and '.join(parts)} {meaning}"] if parts else []


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels of the images and captions: (item,) ids, None for the order of the split, and labels of each."""

    ids: Mapping[Modality, Ids | None]
    labels: Mapping[Modality, Sequence[Sequence[str]]]
    where: str


def read_labels(path: Path) -> Labels:
    """Class labels of images and captions of records; an item may have several, in several rows or separated by bars.

    A row has the label of an image, of a caption, or of both if it has both ids.

    Raises:
        BadInput: unreadable, no column of labels or several, or not both of image and caption ids.
        MissingPackage: parquet without pyarrow.
    """
    table, kind = records(path, "labels"), KINDS["labels"]
    columns = [name for name in table if str(name).lower() in kind.fields["label"]]
    named = kind.find(table)
    if len(columns) != 1 or not {*SIDES["i2t"]} <= named.keys():
        what = f"has columns {', '.join(map(str, table)) or '(none)'}"
        raise BadInput(what, where=path, fix=kind.fix)
    found: dict[Modality, dict[str, dict[str, None]]] = {side: {} for side in SIDES["i2t"]}
    for side in SIDES["i2t"]:
        for item, label in zip(table[named[side]], table[columns[0]], strict=True):
            if not missing(item) and not missing(label):
                several = label if isinstance(label, list) else text_of(label).split("|")
                words = (text_of(word) for word in several)
                found[side].setdefault(text_of(item), {}).update((word, None) for word in words if word)
    ids = {side: as_ids(id_array(list(labels), "ids", path), f"{side}_id", path) for side, labels in found.items()}
    return Labels(ids, {side: [list(words) for words in labels.values()] for side, labels in found.items()}, str(path))


def in_memory(value: Any, where: str) -> Labels:
    """Labels in memory, in the order of the split: a word or a number an item, or several, or (item, class) of 0, 1."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UsageError(
            f"{where}: labels are {format_value(value)}", fix="give the labels of the images and of the captions"
        )
    images, captions = (_classes(labels, where) for labels in value)
    return Labels({"image": None, "caption": None}, {"image": images, "caption": captions}, where)


def _classes(labels: Any, where: str) -> list[list[str]]:
    """The classes of every item as words, none of an item without a label."""
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    if hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim == 2 and array.shape[1] > 1 and np.isin(array, (0, 1)).all():
            return [[str(c) for c in np.flatnonzero(row)] for row in array]
        if array.ndim != 1 and array.shape[1:] != (1,):
            what = f"{where}: labels are {format_value(array)}"
            raise UsageError(what, fix="give one label per item, or (item, class) of 0 and 1")
        labels = array.ravel().tolist()
    if not isinstance(labels, (list, tuple)):
        raise UsageError(f"{where}: labels are {format_value(labels)}", fix="give one label per item")
    rows = [list(row) if isinstance(row, (list, tuple, set, frozenset)) else [row] for row in labels]
    if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and all(x in (0, 1) for row in rows for x in row):
        what = f"{where}: labels are rows of 0 and 1: either columns of classes, or the classes 0 and 1"
        raise UsageError(what, fix="give columns of classes as an array, and classes as words")
    return [[word for x in row if not missing(x) and (word := text_of(x))] for row in rows]


def of_labels(labels: Labels, test: TestSet) -> tuple[csr_array, tuple[Bool, Bool], Sequence[str]]:
    """(image, caption) 1 if the two share a class; the images and captions that have a label; and notes.

    Items without a label are neither queries nor positives.

    Raises:
        BadInput: labels for another number of items, or for none of the split.
    """
    from scipy.sparse import csr_array

    classes: dict[str, int] = {}
    tables = []
    for side in SIDES["i2t"]:
        found = [
            (i, classes.setdefault(word, len(classes)))
            for i, words in zip(*_placed(labels, side, test), strict=True)
            for word in words
            if i >= 0
        ]
        tables.append(np.array(found, np.int64).reshape(-1, 2).T)
    image, caption = (
        csr_array((np.ones(len(row), np.int32), (row, column)), shape=(n, max(len(classes), 1)))
        for n, (row, column) in zip(test.shape, tables, strict=True)
    )
    shared = (image @ caption.T).astype(np.float64)
    shared.data[:] = 1
    unnamed: list[Modality] = [side for side in SIDES["i2t"] if labels.ids[side] is None]
    labelled = np.diff(image.indptr) > 0, np.diff(caption.indptr) > 0
    return shared, labelled, tuple(filter(None, [owners.order_note("labels", unnamed, test)]))


def _placed(labels: Labels, side: Modality, test: TestSet) -> tuple[list[int], Sequence[Sequence[str]]]:
    """The index of every labelled item of one side, -1 of one that the split does not have, and the labels of each."""
    known, ids, labels_of_side = test.side(side).ids, labels.ids[side], labels.labels[side]
    if ids is None:
        if len(labels_of_side) != len(known):
            what = f"labels of {count_of(len(labels_of_side), side)} for {len(known):,} {side}s of split '{test.name}'"
            raise BadInput(what, where=labels.where, fix=f"give one label per {side}, in the order of the rows")
        row = owners.order(test, side)
        return list(range(len(known))), labels_of_side if row is None else [labels_of_side[i] for i in row.tolist()]
    at, _ = match(ids, known)
    if not (at >= 0).any():
        what = f"none of its {side} ids is in split '{test.name}' (first: {ids[0]})"
        raise BadInput(what, where=labels.where, fix=f"use ids such as {known[0]}")
    return at.tolist(), labels_of_side
