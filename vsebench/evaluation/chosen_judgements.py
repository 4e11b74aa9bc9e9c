"""Judgements of one's own that an evaluation is given: which are meant, and reading them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..arguments import numbers, shown
from ..errors import UsageError
from ..files.columns import missing, text_of
from ..files.pairs import Pairs, place
from ..files.read_pairs import read_pairs
from ..files.sniff import sniff
from ..metrics.suites import ALL, SUITES
from ..options import spell
from ..relevance.judgements import own
from ..relevance.judgements.declare import Judgements
from ..relevance.judgements.labels import Labels, of_labels, read_labels
from ..relevance.judgements.own import Both
from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS, LABELS
from ..relevance.matrix import of_array, of_file
from ..signature import STAGES
from ..types import DIRECTIONS, Direction, Split, is_path

LABELLED = "labels"  # in front of a file of class labels
GRAMMAR = "write NAME=FILE, NAME=i2t:FILE, NAME=t2i:FILE or NAME=labels:FILE"
FORMS = "give a path, a mapping of queries to items, pairs of ids, a matrix, or {'labels': (..., ...)}"
# The keys of a signature are no names of judgements.
SIGNED = ("vsebench", "split", "score", *STAGES, "order", "ties", "empty", "short", "gains", "captions", "paper")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
TAKEN = (*JUDGEMENTS, *GAINS, LABELS, *SUITES, *ALL, *SIGNED)


@dataclass(frozen=True)
class Source:
    """Where judgements are: a file, or a value in memory; and what it is said to hold."""

    holds: Direction | Literal["labels"] | None
    value: Any

    @property
    def path(self) -> Path | None:
        """The file; None in memory."""
        return self.value if isinstance(self.value, Path) else None


def choose(given: Any) -> dict[str, list[Source]]:
    """The judgements that are given, by name.

    Args:
        given: ``NAME=FILE``, ``NAME=i2t:FILE``, ``NAME=labels:FILE``, a list of these, or a mapping from names to a
            file, ``{query id: item ids}``, ``{query id: {item id: grade}}``, a list of (image id, caption id[, grade]),
            a matrix (image, caption), one of each under ``i2t`` and ``t2i``, or ``{"labels": (of the images, of the
            captions)}``; None and empty ones for none.

    Raises:
        UsageError: another form, a name that cannot be one, or a direction that is given twice.
    """
    found: dict[str, list[Source]] = {}
    if isinstance(given, Mapping):
        for name, value in given.items():
            if not isinstance(name, str):
                raise UsageError(f"{spell('judgements')} has the name {shown(name)}", fix="give names that are words")
            _check_name(name)
            found[name] = _sources(value)
        return found
    if given is not None and not isinstance(given, (str, list, tuple)):
        raise UsageError(f"{spell('judgements')} is {shown(given)}", fix="give {NAME: JUDGEMENTS} or 'NAME=FILE'")
    for text in [given] if isinstance(given, str) else given or ():
        name, equals, file = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not equals or not name.strip() or not file.strip():
            raise UsageError(f"{spell('judgements')} is {shown(text)}", fix=GRAMMAR)
        _check_name(name.strip())
        found.setdefault(name.strip(), []).extend(_sources(file.strip()))
    for name, sources in found.items():
        if len(sources) > 1 and sorted(str(s.holds) for s in sources) != sorted(DIRECTIONS):
            what = f"{spell('judgements')} gives '{name}' {len(sources)} times"
            raise UsageError(what, fix=f"give one file, or {name}=i2t:FILE and {name}=t2i:FILE")
    return found


def _check_name(name: str) -> None:
    """Refuse a name that a metric cannot have in front, or that stands for something else; raises UsageError."""
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name[:60]}' cannot name judgements", fix="use lower-case letters, digits, - and _")
    if name in TAKEN:
        raise UsageError(f"'{name}' names something else already", fix="give the judgements another name")


def _sources(value: Any) -> list[Source]:
    """The sources of one set of judgements."""
    if is_path(value):
        head, colon, tail = str(value).partition(":")
        if colon and head in (*DIRECTIONS, LABELLED):
            return [Source(head, Path(tail).expanduser())]  # type: ignore[arg-type]
        return [Source(None, Path(value).expanduser())]
    if isinstance(value, Mapping) and set(value) == {LABELLED}:
        return [Source("labels", value[LABELLED])]
    if isinstance(value, Mapping) and value and set(value) <= set(DIRECTIONS):
        return [Source(d, Path(x).expanduser() if is_path(x) else x) for d, x in value.items()]
    return [Source(None, value)]


def files(given: Any) -> list[Path]:
    """The files of the judgements that are given."""
    return [path for sources in choose(given).values() for s in sources if (path := s.path) is not None]


def load(
    given: Any, level: float, split: Split, complete: Split | None = None,
    pairs: Mapping[str, Sequence[Pairs]] | None = None,
) -> dict[str, Judgements]:  # fmt: skip
    """The judgements that are given, over the items of a split.

    Args:
        given: see ``choose``.
        level: the smallest grade of a positive.
        split: what is evaluated.
        complete: the split of which ``split`` is a part, if it is one: what the judgements are of.
        pairs: those that have been read, by name.

    Raises:
        UsageError: see ``choose``; a split of which only folds are ranked; a level without judgements.
        BadInput, MissingPackage: the judgements cannot be read, or are not of this split.
    """
    chosen = choose(given)
    if not math.isfinite(level) or (level != 1 and not chosen):
        what = f"{spell('level', level)} has no meaning" + ("" if chosen else f" without {spell('judgements')}")
        raise UsageError(what, fix="give the smallest grade of a positive" if chosen else "leave it out")
    if chosen:
        refuse_folds(split)
    found = {}
    for name, sources in chosen.items():
        where = _where(sources)
        known = None if pairs is None else [place(one, split) for one in pairs[name]]
        read = own.complete(known, where) if known else read_sources(sources, f"judgements '{name}'", complete or split)
        own.check_level(name, read, level, where)
        read = read if complete is None else own.within(read, complete, split)
        found[name] = own.judgements(name, read, level)
    return found


def refuse_folds(split: Split) -> None:
    """Refuse a split of which only folds are ranked; raises UsageError."""
    if split.in_folds:
        what = f"split '{split.name}' ranks folds, and judgements of one's own are of complete galleries"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")


def read_sources(sources: Sequence[Source], where: str, split: Split) -> Both:
    """What the sources of one set judge, in both directions; raises as ``load``."""
    return own.complete([part for source in sources for part in _read(source, where, split)], where)


def _read(source: Source, where: str, split: Split) -> list[Pairs]:
    value: Any = source.value
    if source.holds == LABELLED:
        labels = read_labels(value) if isinstance(value, Path) else _labels(value, where)
        return list(of_labels(labels, split).values())
    stated: Any = source.holds
    directions = DIRECTIONS if stated is None else (stated,)
    if isinstance(value, Path) and sniff(value).matrix:
        return list(own.of_matrix(of_file(split, value), split, directions).values())
    if hasattr(value, "__array__"):
        return list(own.of_matrix(of_array(split, numbers(value, where)), split, directions).values())
    return [place(pairs, split) for pairs in pairs_of(source, where) or ()]


def pairs_of(source: Source, where: str) -> list[Pairs] | None:
    """The pairs of a file or a value, not yet placed; None for a matrix and for labels; raises as ``load``."""
    array = isinstance(source.value, Path) and source.holds != LABELLED and sniff(source.value).matrix
    if source.holds == LABELLED or array or hasattr(source.value, "__array__"):
        return None
    if not isinstance(source.value, (Path, Mapping, list, tuple)):
        raise UsageError(f"{where} are {shown(source.value)}", fix=FORMS)
    stated: Any = source.holds
    return read_pairs(source.value, stated, where=where)


def _where(sources: Sequence[Source]) -> str:
    return " and ".join(s.path.name for s in sources if s.path is not None) or "memory"


def _labels(value: Any, where: str) -> Labels:
    """Labels in memory, in the order of the split: a word or a number an item, or several, or (item, class) of 0, 1."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UsageError(f"{where}: labels are {shown(value)}", fix="give those of the images and of the captions")
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
            what = f"{where}: labels are {shown(array)}"
            raise UsageError(what, fix="give a label an item, or (item, class) of 0 and 1")
        labels = array.ravel().tolist()
    if not isinstance(labels, (list, tuple)):
        raise UsageError(f"{where}: labels are {shown(labels)}", fix="give a label an item")
    rows = [list(row) if isinstance(row, (list, tuple, set, frozenset)) else [row] for row in labels]
    if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and all(x in (0, 1) for row in rows for x in row):
        what = f"{where}: labels are rows of 0 and 1, which may be columns of classes, or the classes 0 and 1"
        raise UsageError(what, fix="give columns of classes as an array, and classes as words")
    return [[word for x in row if not missing(x) and (word := text_of(x))] for row in rows]
