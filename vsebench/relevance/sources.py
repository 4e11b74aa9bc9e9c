"""The one table of relevance: sources of judgements and of gains, their specifications, and loading them.

A specification (``cider:own=out``, ``sentence:MODEL``, ``gains.npy``, or the view of a metric such as ``eccv``) names a
source. Add one with ``register``; the declarations of those that come with vsebench are in ``declared``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import BadInput, UsageError, unknown
from ..files.regular import expanded
from ..log import about, note
from ..options import spell
from ..types import DIRECTIONS, Both, Direction, Relevance, TestSet
from .gains import Gains, Grades, Spec, as_gains

LABELS = "labels"  # the view of gains made from labels of the items, see ``vsebench.unimodal``
# Test set (with its captions, if the source needs them), argument, and the value of every setting.
Loader = Callable[[TestSet, "str | None", Mapping[str, str]], Gains]
JUDGED, GAIN = -np.inf, float(np.finfo(np.float32).tiny)  # levels: all judged items, and those that are a gain
FILE = "FILE"  # among the values of a setting: any file


@dataclass(frozen=True)
class Source:
    """One source of relevance: judgements, if it has ``grades``, or gains of every pair, if it has ``load``.

    Attributes:
        name: the view in the names of metrics, as ``eccv`` in ``eccv:mAP@R`` and ``cider`` in ``cider:NCS@10``.
        title: the full name, printed above results.
        meaning: one line: what a gain measures, or which candidates are positives and which are ranked.
        rule: when a candidate is a positive, or the formula of a gain.
        load: ``load(test, argument, settings)`` gives the gains.
        grades: ``grades(test)`` gives the judged pairs of image queries and of caption queries; raises UsageError
            for a split that was not judged, MissingPackage when the judgements are not installed, BadInput when their
            files are damaged.
        cite: citation key of ``docs/metrics.md``.
        needs: what has to be installed, built or given.
        identity: ``identity(test)`` gives, for the signature, the origin of judgements and eight hexadecimal digits of
            the SHA-256 of their files; None when nothing but the split matters, or nothing is installed.
        splits: names of the splits that were judged, or patterns such as ``scenes-*``; empty for every split.
        folds: whether only the items of the query's fold are candidates, as in COCO 1K; needs a split with folds.
        notes: decisions made when judgements were read.
        low, high: range of a gain; None if there is no bound.
        settings: key -> allowed values, the default first, ``FILE`` for any; see ``docs/relevance.md``.
        argument: what may follow the name after a colon: ``FILE: what it holds``; empty when nothing may.
        endings: of file names; a specification that begins with such a file is of this source, the file its argument.
        nested: whether the argument consists of other specifications, each with settings.
        captions: whether the captions of the split are ``needed``, may be ``used``, or are ``unused``.
        lists_judged: whether the grades have the judged items that are not relevant, too.
        from_distance: whether gains are 1 / (1 + d) of a distance d, so that mean label distance is defined.
    """

    name: str
    title: str
    meaning: str
    rule: str
    load: Loader | None = None
    grades: Callable[[TestSet], Both[Grades]] | None = None
    cite: str = ""
    needs: str = ""
    identity: Callable[[TestSet], str | None] = lambda test: None
    splits: tuple[str, ...] = ()
    folds: bool = False
    notes: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    argument: str = ""
    endings: tuple[str, ...] = ()
    nested: bool = False
    captions: Literal["needed", "used", "unused"] = "needed"
    lists_judged: bool = False
    from_distance: bool = False

    @property
    def compares_captions(self) -> bool:
        """Whether any caption is compared with any others, so that a caption can stand for an image."""
        return self.captions != "unused" and not self.nested

    @property
    def form(self) -> str:
        """How it is written for ``--gains``, as in ``sentence:NAME``."""
        if self.endings:
            return f"FILE{self.endings[0]}"
        return f"{self.name}:{self.argument.partition(': ')[0]}" if self.argument else self.name

    def covers(self, test: TestSet) -> bool:
        """Whether its judgements are of a split: of its name, and with folds where these are ranked."""
        named = not self.splits or any(fnmatchcase(test.name, pattern) for pattern in self.splits)
        return named and (not self.folds or (test.folds is not None and not test.in_folds))

    def value(self, settings: Mapping[str, str], key: str) -> str:
        """The value of a setting, its default when it is not among ``settings``.

        Raises:
            UsageError: a value that the setting does not take.
        """
        allowed = self.settings[key]
        value = settings.get(key, allowed[0])
        if value not in allowed and FILE not in allowed:
            raise UsageError(f"{self.name}: {key} is '{value}'", fix=f"use {', '.join(allowed)}")
        return value

    def positives(self, test: TestSet, level: float | None = None) -> Both[Relevance]:
        """The positives of the images of a split, and of its captions; raises as ``grades``.

        Args:
            test: the split.
            level: the smallest grade of a positive, if not the default of the judgements: ``JUDGED`` or ``GAIN``.
        """
        assert self.grades is not None  # they are judgements
        images, captions = (one if level is None else replace(one, level=level) for one in self.grades(test))
        return images.positives, captions.positives

    def gains(self, test: TestSet, spec: Spec) -> Gains:
        """The gains of a split by this source; raises as ``load_gains``."""
        if self.grades is not None:
            return as_gains(self.name, self.grades(test))
        assert self.load is not None  # it is one of the two
        settings = {key: self.value(spec.settings, key) for key in self.settings}
        if self.captions == "needed" and test.columns.texts is None:
            what = f"{self.name} needs the captions of split '{test.name}', but they are not known"
            raise BadInput(what, fix=f"give them with {spell('captions', 'FILE')}")
        gains = self.load(test, spec.argument, settings)
        captions, (row, column) = np.bincount(test.owners, minlength=len(test.rows)), test.sides
        if self.compares_captions and (captions == 0).any():
            note(f"{row.have(int((captions == 0).sum()))} no {column.plural}, and gain 0 with every {column.name}")
            if gains.no_query is None:  # such an image is a candidate alone
                gains = replace(gains, no_queries=(captions == 0, gains.no_queries[1]))
        if self.compares_captions and settings.get("own") == "out" and (captions == 1).any():
            note(f"{row.have(int((captions == 1).sum()))} only one {column.name}, and gain 0 with it (own=out)")
        return gains.without_negative() if settings.get("negative") == "zero" else gains


SOURCES: dict[str, Source] = {}


def register(*sources: Source) -> None:
    """Add sources to the table; their names are known from then on.

    Raises:
        UsageError: a name that another source has.
    """
    for source in sources:
        if SOURCES.setdefault(source.name, source) is not source:
            raise UsageError(f"there is a source of relevance '{source.name}' already", fix="give it another name")


def judgements() -> dict[str, Source]:
    """The sources of judgements, ``gt`` first."""
    return {name: source for name, source in SOURCES.items() if source.grades is not None}


def kinds_of_gains() -> dict[str, Source]:
    """The sources of gains of every pair."""
    return {name: source for name, source in SOURCES.items() if source.grades is None}


def named_sources() -> list[str]:
    """The sources of gains that are specified by name, not by a file."""
    return [name for name, source in kinds_of_gains().items() if not source.endings]


def judgements_of(split: TestSet) -> dict[str, Source]:
    """The judgements that apply to a split, installed or not, ``gt`` first."""
    return {name: source for name, source in judgements().items() if source.covers(split)}


def is_gains(view: str) -> bool:
    """Whether a view in the name of a metric is of gains; every other one is of judgements."""
    return view == LABELS or (view in SOURCES and SOURCES[view].grades is None)


def in_folds(view: str) -> bool:
    """Whether only the items of the query's fold are candidates in a view."""
    return view in SOURCES and SOURCES[view].folds


def heading(view: str) -> str:
    """The title of a view in results: the title of judgements, or the name of gains with their settings."""
    return SOURCES[view].title if view in SOURCES and not is_gains(view) else view


def _takes_file(key: str) -> bool:
    return any(FILE in source.settings.get(key, ()) for source in SOURCES.values())


def load(name: str, split: TestSet, direction: Direction) -> Relevance:
    """The positives of one source of judgements over the items of a split.

    Args:
        name: of ``judgements()``.
        split: the items.
        direction: ``i2t`` or ``t2i``.

    Raises:
        UsageError: an unknown name or direction, or a split that was not judged.
        MissingPackage: the package with the judgements is not installed.
        BadInput: its files are damaged, or the split lacks judged queries.
    """
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction '{direction}'", fix="give i2t or t2i")
    if name not in (known := judgements()):
        only = f"judgements given with {spell('judgements')} are not stored"
        raise unknown("judgements", name, known).also(only)
    return known[name].positives(split)[DIRECTIONS.index(direction)]


def source_of(head: str) -> Source | None:
    """The gains that the first part of a specification names: a source, or a file of gains; else None."""
    for source in kinds_of_gains().values():
        if head.endswith(source.endings) if source.endings else head == source.name:
            return source
    return None


def parse_spec(text: str) -> Spec:
    """The gains that a specification ``NAME[:ARGUMENT][:key=value...]`` or ``FILE[:key=value...]`` names.

    Raises:
        UsageError: an unknown source (close matches are named), an argument or a setting that it does not have, a
            value that the setting does not take, or a setting given twice.
    """
    head, *parts = text.strip().split(":")
    source = source_of(head)
    if source is None:
        raise unknown("graded relevance", head, named_sources())
    words = [head] if source.endings else []
    if source.nested:  # its settings stand first, or at the end; the others belong to the combined sources
        if parts and parts[-1].startswith("negative="):
            parts = [parts[-1], *parts[:-1]]
        end = next((at for at, part in enumerate(parts) if part.partition("=")[0] not in source.settings), len(parts))
        words, parts = parts[end:], parts[:end]
    settings: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in source.settings:
            if source.endings or (equals and "/" not in key and "." not in key):
                if not source.settings:
                    raise UsageError(f"{head} has no settings, so none called '{key}'", fix=f"write only {head}")
                raise unknown(f"setting of {source.name}", key, source.settings)
            words.append(part)
            continue
        source.value({key: value}, key)
        if key in settings:
            raise UsageError(f"{source.name}: {key} is given twice: {settings[key]} and {value}", fix="give it once")
        settings[key] = value
    argument = ":".join(words) or None
    if argument is not None and not source.argument and not source.endings:
        fix = f"settings are {', '.join(source.settings)}" if source.settings else f"write only {head}"
        raise UsageError(f"{head} takes no '{argument}'", fix=fix)
    return Spec(source.name, argument, settings)


def located(spec: Spec) -> tuple[Spec, list[Path]]:
    """A specification with absolute paths of its files, and these files, as they are named.

    They come from its argument, its settings, and the specifications that it combines.
    """
    found: list[Path] = []

    def word(text: str) -> str:
        key, _, value = text.partition("=")
        start, name = (f"{key}=", value) if _takes_file(key) else ("", text)
        path = expanded(name)
        if name in SOURCES or not path.is_file():
            return text
        found.append(path)
        return f"{start}{path.absolute()}"

    nested = spec.kind in SOURCES and SOURCES[spec.kind].nested
    words = [] if spec.argument is None else spec.argument.split(":") if nested else [spec.argument]
    argument = ":".join(map(word, words)) or None
    settings = {key: word(f"{key}={value}").partition("=")[2] for key, value in spec.settings.items()}
    return replace(spec, argument=argument, settings=settings), found


def load_gains(text: str | Spec, test: TestSet) -> Gains:
    """The gains of a test set.

    Args:
        text: a specification: ``cider``, ``spice``, ``sentence:NAME``, ``bow:FILE``, ``wmd:FILE``, ``gains.npy``.
        test: with its captions, unless the source can do without.

    Raises:
        UsageError: an unknown source or setting.
        BadInput: the split has no captions, or a file is damaged.
        MissingPackage: something has to be installed or built first; the message has the command.
    """
    spec = parse_spec(text) if isinstance(text, str) else text
    with about(spec.kind):
        return SOURCES[spec.kind].gains(test, spec)
