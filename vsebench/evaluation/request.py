"""What is asked for: the arguments of an evaluation, read once. Nothing behind a ``Request`` parses an option.

::

    arguments -> Options (declared, each value checked) -> Request (one form of every input; rules as values)
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import is_path, numbers
from ..errors import UsageError, printable, shown
from ..files.regular import expanded, run_folder
from ..metrics.declare import HUBNESS
from ..metrics.suites import ALL, INTRA, SUITES, expand, words
from ..options import check_alone, settings, spell
from ..rank import corrected
from ..relevance.gains import Spec
from ..relevance.sources import LABELS, SOURCES, is_gains, located, parse_spec, source_of
from ..results.model import Resampling
from ..sets import catalogue
from ..sets.published import SETS
from ..signature import STAGES
from ..types import DIRECTIONS, Direction
from .options import DEPTH, Options

if TYPE_CHECKING:
    from ..files.read_pairs import Order

BY_RANK = "rank:"  # before a run: the rank column orders its items
LEAST_WEIGHT = 1e-6  # of a system, relative to the largest
PART_GRAMMAR = "write COLUMN=VALUE, such as lang=de, or FILE:COLUMN=VALUE"
GRAMMAR = "write NAME=FILE, NAME=i2t:FILE, NAME=t2i:FILE or NAME=labels:FILE"
# The keys of a signature are no names of judgements.
SIGNED = ("vsebench", "split", "score", *STAGES, "order", "ties", "empty", "short", "gains", "captions", "paper")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


class Part(NamedTuple):
    """The items that are evaluated as a gallery of their own."""

    said: str  # in the words of the user
    file: Path | None  # with the column; None for that of the captions
    column: str  # its name
    values: frozenset[str]  # of these items


@dataclass(frozen=True, kw_only=True, eq=False)
class Request(Options):
    """What is evaluated, what is measured, and how: options in one form, and what was read of them.

    ``scores`` and ``rerank`` of both directions are mappings, ``run`` is a list of ``Run``, ``fuse`` is a list of
    systems; the folder of a training run is its file.
    """

    gains: Mapping[str, Spec]  # by view; the first is that of metrics whose name has no view
    judgements: Mapping[str, Sequence[Spec]]  # of the user by name, and the parts of each: one, or one a direction
    weights: tuple[float, ...]  # type: ignore[assignment]  # of the systems that are fused, the first one first
    names: tuple[str, ...] | None  # of metrics and suites without ``cxc-intra``; None for the headline suites
    intra: bool  # whether the metrics inside the modalities are asked for
    directions: tuple[Direction, ...]  # to measure
    resampling: Resampling | None  # how intervals are made; None for none
    part: Part | None  # of the items; None for all
    correction: corrected.Correction | None  # of the scores
    score_rows: Mapping[Direction | None, str]  # whether rows of score matrices are ``images`` or ``texts``, if stated
    weight: float | None  # of the second scores that are added to the first; None where they replace them
    kept: int | None  # items a query that ``save_run`` writes; None without it
    settings: Mapping[str, Any]  # options whose value is not the default, in words, for the report

    def __post_init__(self) -> None:
        """Nothing: the options are checked."""

    @property
    def captions_file(self) -> Path | None:
        """The file of captions, None without one."""
        return expanded(self.captions) if is_path(self.captions) else None

    @property
    def specs(self) -> Iterator[Spec]:
        """The gains and judgements that are asked for."""
        yield from self.gains.values()
        for parts in self.judgements.values():
            yield from parts

    @property
    def beside(self) -> list[Path]:
        """Files that are read beside the input: captions, and what gains are made from."""
        named = [self.captions_file, self.part and self.part.file]
        named += [path for spec in self.specs for path in located(spec)[1]]
        named += [self.correction.bank] if self.correction else []
        return [path for path in named if path is not None and path.is_file()]

    @property
    def files(self) -> list[Path]:
        """The files and folders that are named, of embeddings, scores and other stages, and those beside them."""
        given = (self.images, self.texts, self.scores, self.rerank, *self.fuse)
        systems = [x for one in given for x in (one.values() if isinstance(one, Mapping) else listed(one))]
        return [*(Path(x) for x in systems if is_path(x)), *self.beside]


def request(**given: Any) -> Request:
    """What the arguments of ``vsebench.evaluate``, or some of them, ask for.

    Raises:
        UsageError: a value that is not allowed, unknown names, another form, or options that do not fit together.
        BadInput: as ``run_folder``.
        MissingPackage: the back-end is not installed.
    """
    asked = _of_run_folder(Options(**given))
    values = {
        **vars(asked), "run": runs(asked.run), "fuse": _systems(asked.fuse),
        "rerank": _of_each("rerank", asked.rerank), "gains": _gains(asked.gains),
        "judgements": _judgements(asked.judgements),
    }  # fmt: skip
    values["scores"], values["score_rows"] = matrices(asked.scores)
    check_alone(asked, values)
    measured = None if asked.metrics is None else words(asked.metrics)
    names = None if measured is None else tuple(w for w in measured if w.lower() != INTRA)
    drawn = asked.resamples, asked.seed, asked.interval
    found = Request(
        **values | {"weights": _weights(asked.weights, len(values["fuse"]) + 1)},
        names=names,
        intra=names is not None and len(names) < len(measured or ()),
        directions=DIRECTIONS if asked.direction == "both" else (asked.direction,),
        resampling=Resampling(asked.ci, *drawn) if asked.ci else None,
        part=_part(asked.only),
        correction=None if asked.normalise is None else corrected.parse(asked.normalise),
        weight=_weight(asked.combine),
        kept=None if asked.save_run is None else asked.depth or DEPTH,
        settings=settings(asked),
    )
    _check(found)
    return found


def listed(given: Any) -> list[Any]:
    """What an option gives once or several times: a path or an array, or a list of them; none for None."""
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _systems(given: Any) -> list[Any]:
    """The systems that are fused; ``i2t=FILE`` and ``t2i=FILE`` are one."""
    fused = [(parts("fuse", x)[0][0] if is_path(x) else None, x) for x in listed(given)]
    sides = [x for direction, x in fused if direction is not None]
    return [x for direction, x in fused if direction is None] + ([_of_each("fuse", sides)] if sides else [])


def parts(name: str, given: Any) -> list[tuple[Direction | None, Any]]:
    """The direction of every part of an option, where it is given, and the part.

    Args:
        name: of the option, for messages.
        given: ``i2t=FILE``, a file, an array, a list of these, or a mapping from directions to files, arrays or lists.

    Raises:
        UsageError: an unknown direction, or one without a part.
    """
    found: list[tuple[Direction | None, Any]] = []
    mapped = isinstance(given, Mapping)
    for direction, value in given.items() if mapped else [(None, x) for x in listed(given)]:
        if not mapped and is_path(value) and (sides := str(value).partition("="))[0] in DIRECTIONS and sides[1]:
            direction, _, value = sides
        if (mapped and direction not in DIRECTIONS) or (is_path(value) and not str(value).strip()):
            raise _refused(name, given)
        found.append((direction, expanded(value) if is_path(value) else value))
    return found


def _of_each(name: str, given: Any) -> dict[Direction, Any]:
    """The files or arrays that an option gives by direction; raises UsageError where a direction is not given once."""
    found = parts(name, given)
    named = {direction: value for direction, value in found if direction is not None}
    if len(named) < len(found):
        raise _refused(name, given)
    return named


def _refused(name: str, given: Any) -> UsageError:
    in_words = not isinstance(given, Mapping) and all(map(is_path, listed(given)))
    fix = "give i2t=FILE, t2i=FILE, or both" if in_words else "give {'i2t': ..., 't2i': ...}"
    only = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
    return UsageError(f"{spell(name)} is {shown(only)}", fix=fix)


def matrices(given: Any) -> tuple[Any, dict[Direction | None, str]]:
    """A file or an array of scores, or a mapping from directions to them; and what ``:rows=`` behind a file says.

    Raises:
        UsageError: another form.
    """
    named = isinstance(given, Mapping)
    if not named and not (listed(given) and all(map(is_path, listed(given)))):
        return given, {}
    found = parts("scores", given)
    if not found or any(isinstance(x, Mapping) for _, x in found):
        raise UsageError(f"{spell('scores')} is {shown(given)}", fix="give {'i2t': MATRIX, 't2i': MATRIX}")
    rows: dict[Direction | None, str] = {}
    for at, (direction, value) in enumerate(found):
        path, behind, stated = str(value).rpartition(":rows=") if is_path(value) else ("", "", "")
        if behind and stated in ("images", "texts"):
            found[at], rows[direction] = (direction, Path(path)), stated
    if len(found) == 1 and not named and found[0][0] is None:
        return found[0][1], rows
    if len(dict(found)) < len(found) or None in dict(found):
        raise _refused("scores", given)
    return dict(found), rows


class Run(NamedTuple):
    """Retrieved lists that are given."""

    direction: Direction | None  # of the queries, None where it is not given
    lists: Any  # a file, or lists in memory
    order: Order  # of the items of TREC runs: the largest score first, or the rank column (``rank:`` in front)


def runs(given: Any) -> list[Run] | None:
    """Every run that is given; None for None.

    Raises:
        UsageError: another form.
    """
    found: list[Run] = []
    for head, part in given.items() if isinstance(given, Mapping) else [(None, x) for x in listed(given)]:
        for direction, run in parts("run", [_bare(part)] if head is None else {_bare(head): part}):
            by_rank = any(is_path(x) and str(x).startswith(BY_RANK) for x in (head, part, run))
            lists = expanded(_bare(run)) if is_path(run) else run
            found.append(Run(direction, lists, "rank" if by_rank else "score"))
    for direction, run, _ in found:
        if not isinstance(given, Mapping) and not is_path(run):
            what = f"{spell('run')} is {shown(given)}"
            raise UsageError(what, fix="give a file or several, or {'i2t': ..., 't2i': ...} of files or mappings")
        if not is_path(run) and not isinstance(run, (Mapping, list, tuple)):
            what = f"{spell('run')} of {direction} is {shown(run)}"
            raise UsageError(what, fix="give a file, or {query id: item ids}, or {query id: {item id: score}}")
    return found or None


def _bare(text: Any) -> Any:
    return str(text).removeprefix(BY_RANK) if is_path(text) else text


def _of_run_folder(asked: Options) -> Options:
    """Of the folder of a training run its file, its similarity and its split; those that are named are kept."""
    if not is_path(asked.images) or asked.texts is not None or asked.scores is not None:
        return asked
    found = run_folder(expanded(asked.images))
    if found is None:
        return asked
    changed: dict[str, Any] = {"images": None, "scores": found.file} if found.scores else {"images": found.file}
    if asked.split is None and found.split in catalogue.names():
        changed["split"] = found.split
    if not found.scores and asked.similarity == "auto" and found.similarity is not None:
        changed["similarity"] = found.similarity
    return dataclasses.replace(asked, **changed)


def check_input(given: Options) -> None:
    """Refuse more than one input, and arguments that belong to another kind of input; raises UsageError."""
    inputs = [x for x in (given.images, given.scores, given.run) if x is not None]
    if len(inputs) != 1:
        several = f"more than one of embeddings, {spell('scores')} and {spell('run')}"
        what = "nothing to evaluate" if not inputs else several
        fix = f"give a file of embeddings, or {spell('scores', 'FILE')}, or {spell('run', 'FILE')}"
        raise UsageError(what, fix=fix)
    needed = {"texts": given.images, "image_key": given.images, "text_key": given.images, "scores_key": given.scores}
    for name, beside in needed.items():
        if getattr(given, name) is not None and (beside is None or (name != "texts" and not is_path(beside))):
            what = "here" if beside is None else "for an array in memory"
            raise UsageError(f"{spell(name)} has no meaning {what}", fix="leave it out")
    files = inputs[0].values() if isinstance(inputs[0], Mapping) else inputs[:1]
    for name in ("image_ids", "text_ids", "image_id_of_text"):
        if getattr(given, name) is not None and (given.run is not None or any(map(is_path, files))):
            raise UsageError(f"{name} has no meaning for a file", fix="save the ids in the file")


def refuse_gains(word: str) -> None:
    """Refuse a kind of gains in the place of a metric; raises UsageError."""
    if is_gains(word) and word not in SUITES:
        raise UsageError(f"'{word}' is a kind of gains, not a metric", fix=f"name a metric of them, such as {word}:ncs")


def _check(request: Request) -> None:
    """Refuse values that do not fit together, and a misspelt metric, kind of gains or split; raises UsageError."""
    if not math.isfinite(request.level):
        raise UsageError(f"{spell('level', request.level)} has no meaning", fix="give the smallest grade of a positive")
    if idle := [direction for direction in request.rerank if direction not in request.directions]:
        what = f"{spell('rerank')} gives {idle[0]}, and {request.directions[0]} alone is measured"
        raise UsageError(what, fix=f"leave out {idle[0]}, or {spell('direction')}")
    for word in request.names or ():
        refuse_gains(word)
    own = list(request.judgements)
    known = [*SOURCES, *own, HUBNESS]
    asked = request.names or (request.names is not None and not request.intra)
    for metric in expand(request.names or (), ["gt", *own], tuple(request.gains)) if asked else ():
        if metric.view not in known:
            near = difflib.get_close_matches(metric.view, known)
            meant = f"did you mean {' or '.join(map(repr, near))}" if near else f"known: {', '.join(known)}"
            fix = f"{meant}, or give judgements of yours: {spell('judgements', f'{metric.view}=FILE')}"
            raise UsageError(f"unknown view '{metric.view}'", fix=fix)
    split = request.split
    if isinstance(split, str) and split != "custom":
        # Of a set in several languages the ids of the file say which.
        catalogue.declared(catalogue.splits_of(split)[0] if split in SETS else split)


def _finite(text: str) -> tuple[float, ...]:
    """The finite numbers that a text has, separated by commas; none where it has something else."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        return ()
    return found if all(map(math.isfinite, found)) else ()


def _weight(combine: str) -> float | None:
    word, colon, number = combine.partition(":")
    found = _finite(number) if colon else (1.0,)
    if word == "replace" and not colon:
        return None
    if word != "add" or len(found) != 1:
        raise UsageError(f"{spell('combine')} is '{printable(combine[:60])}'", fix="use replace, add or add:0.5")
    return found[0]


def _weights(text: str | None, systems: int) -> tuple[float, ...]:
    """The weights of so many systems; raises UsageError where they are not as many, or not above 0."""
    if text is None:
        return (1.0,) * systems
    weights, what = _finite(text), f"{spell('weights')} is '{printable(text[:60])}'"
    if len(weights) != systems or min(weights) <= 0:
        raise UsageError(f"{what} for {systems} systems", fix="give a number above 0 for each, as in 0.7,0.3")
    if min(weights) < LEAST_WEIGHT * max(weights):
        raise UsageError(f"{what}: one is next to nothing", fix="leave that system out")
    return weights


def _part(only: str | None) -> Part | None:
    if only is None:
        return None
    head, equals, tail = only.partition("=")
    wanted = frozenset(value.strip() for value in tail.split(",") if value.strip())
    file, _, column = head.rpartition(":")
    if not equals or not wanted or not column.strip():
        raise UsageError(f"{spell('only')} is '{only}'", fix=PART_GRAMMAR)
    return Part(only, expanded(file) if file else None, column.strip(), wanted)


def _gains(given: Any) -> dict[str, Spec]:
    """Kinds of gains by view; raises UsageError for an unknown kind or setting, two of one kind, or another form."""
    several = isinstance(given, (list, tuple)) and not _is_matrix(given)
    specs = words(given) if isinstance(given, str) else given if several else [] if given is None else [given]
    chosen: dict[str, Spec] = {}
    for spec in (_spec(x) for x in specs if not isinstance(x, str) or x.strip()):
        if spec.kind in chosen:
            both = f" ({chosen[spec.kind].argument} and {spec.argument})" if spec.argument else ""
            raise UsageError(f"{spell('gains')} names {spec.kind} twice{both}", fix="evaluate once for each")
        chosen[spec.kind] = spec
    return chosen


def _is_matrix(given: Sequence[Any]) -> bool:
    """Whether a list is a matrix: a list of rows of numbers."""
    first = given[0] if len(given) else None
    return isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1


def _spec(given: Any) -> Spec:
    if isinstance(given, (str, Spec)):
        return parse_spec(given) if isinstance(given, str) else given
    if hasattr(given, "__fspath__"):
        kind = source_of(str(given))
        return Spec(kind.name, str(given), {}) if kind is not None and kind.endings else parse_spec(str(given))
    if not hasattr(given, "__array__") and not (isinstance(given, (list, tuple)) and _is_matrix(given)):
        fix = "give a string such as 'cider', a path, a matrix of gains, or a list of these"
        raise UsageError(f"gains is {shown(given)}", fix=fix)
    return Spec("matrix", None, {}, numbers(given, "gains"))


def _judgements(given: Any) -> dict[str, list[Spec]]:
    """Judgements of the user by name, in all forms of ``vsebench.evaluate``; None and empty ones for none.

    Raises:
        UsageError: a name that judgements cannot have, a direction of them that is given twice, or another form.
    """
    if given is not None and not isinstance(given, (str, list, tuple, Mapping)):
        raise UsageError(f"{spell('judgements')} is {shown(given)}", fix="give {NAME: JUDGEMENTS} or 'NAME=FILE'")
    found: dict[str, list[Spec]] = {}
    for name, value in given.items() if isinstance(given, Mapping) else map(_named, listed(given)):
        if not isinstance(name, str):
            raise UsageError(f"{spell('judgements')} has the name {shown(name)}", fix="give names that are words")
        if not NAME.fullmatch(name):
            raise UsageError(f"'{name[:60]}' cannot name judgements", fix="use lower-case letters, digits, - and _")
        if name in (*SOURCES, LABELS, *SUITES, *ALL, *SIGNED):
            raise UsageError(f"'{name}' names something else already", fix="give the judgements another name")
        found.setdefault(name, []).extend(_specs(name, value))
    for name, parts in found.items():
        if len(parts) > 1 and sorted(part.holds for part in parts) != sorted(DIRECTIONS):
            what = f"{spell('judgements')} gives '{name}' {len(parts)} times"
            raise UsageError(what, fix=f"give one file, or {name}=i2t:FILE and {name}=t2i:FILE")
    return found


def _named(text: Any) -> tuple[str, str]:
    """The name and the file of ``NAME=FILE``."""
    name, equals, file = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals or not name.strip() or not file.strip():
        raise UsageError(f"{spell('judgements')} is {shown(text)}", fix=GRAMMAR)
    return name.strip(), file.strip()


def _specs(name: str, value: Any) -> list[Spec]:
    """What one set of judgements consists of."""
    parts = [("", value)]
    if is_path(value):
        head, colon, tail = str(value).partition(":")
        parts = [(head, tail)] if colon and head in (*DIRECTIONS, LABELS) else parts
    elif isinstance(value, Mapping) and value and (set(value) == {LABELS} or set(value) <= set(DIRECTIONS)):
        parts = list(value.items())
    found = []
    for head, x in parts:
        settings = {"holds": head} if head else {}
        if is_path(x):
            path, behind, rows = str(x).rpartition(":rows=")
            stated = bool(behind) and rows in ("images", "captions")
            found.append(Spec(name, path if stated else str(x), {**settings, **({"rows": rows} if stated else {})}))
        else:
            found.append(Spec(name, None, settings, x))
    return found
