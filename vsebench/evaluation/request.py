"""The arguments of an evaluation, parsed once into a ``Request``. No later code parses an option.

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
from typing import Any, NamedTuple

from ..arrays import is_path, numbers
from ..errors import UsageError, format_value, printable
from ..files.regular import expanded, inside, run_folder
from ..metrics.declare import HUBNESS
from ..metrics.suites import ALL, INTRA, SUITES, expand, words
from ..options import check_alone, direction_named, settings, spell
from ..rank import corrected
from ..relevance.gains import Spec
from ..relevance.sources import LABELS, SOURCES, is_gains, located, parse_spec, source_of
from ..results.model import Resampling
from ..sets import catalogue
from ..sets.folders import Folder, folder_of
from ..sets.published import SETS
from ..signature import STAGES
from ..types import DIRECTIONS, ONE_WAY, Direction, TestSet
from .options import SAVED_RUN_DEPTH, Options

SELF_ID = "self"  # in ``exclude``: the item with the id of the query
BY_RANK = "rank:"  # prefix of a run: order items by the rank column
MIN_RELATIVE_WEIGHT = 1e-6  # weight of a system, relative to the largest
PART_GRAMMAR = "write COLUMN=VALUE, such as lang=de, or FILE:COLUMN=VALUE"
_PARAMETERS = re.compile(r"(.+?):(\w+=[^:/\\]*)")  # a file of an index, and what its search takes
IDS = ("image_ids", "text_ids", "query_ids", "corpus_ids")  # options
GRAMMAR = "write NAME=FILE, NAME=i2t:FILE, NAME=t2i:FILE or NAME=labels:FILE"
# The keys of a signature are no names of judgements.
SIGNATURE_KEYS = (
    "vsebench",
    "split",
    "score",
    *STAGES,
    "order",
    "ties",
    "empty",
    "short",
    "gains",
    "captions",
    "paper",
)
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


class Given(NamedTuple):
    """A file or an object that is given, of a system that is ranked."""

    direction: Direction | None  # of the queries; None if it is not given, and for scores of both in one matrix
    value: Any  # a file, an array, or lists in memory
    how: str = ""  # ``images`` or ``texts``: its rows, if stated; ``rank``: the rank column orders a run; ``self``
    part: tuple[str, ...] = ()  # the test set of a run in a file of several


class Part(NamedTuple):
    """The items of ``--only``, which are evaluated as a separate gallery."""

    said: str  # in the words of the user
    file: Path | None  # with the column; None for the file of the captions
    column: str  # its name
    values: frozenset[str]  # of these items


@dataclass(frozen=True, kw_only=True, eq=False)
class Request(Options):
    """A parsed evaluation: input, metrics and settings, every option in one form.

    ``scores``, ``run``, ``rerank``, ``candidates`` and ``exclude`` are lists of ``Given``, ``index`` is a list of
    ``Index``, and ``fuse`` is a list of lists of ``Given``; the folder of a training run is its file.
    """

    split: TestSet | str | None  # folders are in ``folder``
    gains: Mapping[str, Spec]  # by view; metrics without a view use the first
    judgements: Mapping[str, Sequence[Spec]]  # of the user by name, and the parts of each: one, or one a direction
    weights: tuple[float, ...]  # type: ignore[assignment]  # of the systems that are fused, the first one first
    names: tuple[str, ...] | None  # of metrics and suites without ``cxc-intra``; None for the headline suites
    intra: bool  # whether metrics inside the modalities are requested
    directions: tuple[Direction, ...]  # to measure
    resampling: Resampling | None  # how intervals are made; None for none
    part: Part | None  # of the items; None for all
    correction: corrected.Correction | None  # of the scores
    weight: float | None  # of the second scores that are added to the first; None if they replace them
    kept: int | None  # items a query that ``save_run`` writes; None without it
    folder: Folder | None  # with the queries, corpus and judgements, in place of ``split``
    settings: Mapping[str, Any]  # options with other values than the default, in words, for the report

    def __post_init__(self) -> None:
        """Nothing: the options are checked."""

    @property
    def captions_file(self) -> Path | None:
        """The file of captions, None without one."""
        return expanded(self.captions) if is_path(self.captions) else None

    @property
    def specs(self) -> Iterator[Spec]:
        """The requested gains and judgements."""
        yield from self.gains.values()
        for parts in self.judgements.values():
            yield from parts

    @property
    def beside(self) -> list[Path]:
        """Further files that are read: captions, and the sources of gains."""
        named = [self.captions_file, self.part and self.part.file]
        named += [path for spec in self.specs for path in located(spec)[1]]
        named += [self.correction.bank] if self.correction else []
        named += [path for role in ("queries", "corpus") for path in self.folder.tables[role]] if self.folder else []
        named += [Path(one.value) for one in (*self.candidates, *self.exclude) if is_path(one.value)]
        return [path for path in named if path is not None and path.is_file()]

    @property
    def files(self) -> list[Path]:
        """All files and folders of embeddings, scores and other stages, and the further files."""
        several = (self.scores or [], self.rerank, *self.fuse)
        named = (getattr(self, name) for name in ("images", "texts", *IDS))
        given = (*named, *(one.value for system in several for one in system))
        return [*(Path(x) for x in given if is_path(x)), *(x.file for x in self.index), *self.beside]


def request(**given: Any) -> Request:
    """What the arguments of ``vsebench.evaluate``, or some of them, ask for.

    Raises:
        UsageError: a value that is not allowed, unknown names, another form, or options that do not fit together.
        BadInput: as ``run_folder``.
        MissingPackage: the back-end is not installed.
    """
    options = _of_run_folder(Options(**given))
    if (folder := folder_of(options.split)) is not None:
        options = dataclasses.replace(options, split=None)
    judged = {folder.view: [Spec(folder.view, str(folder.judgements), {})]} if folder else {}
    if folder is not None and folder.view in _judgements(options.judgements):
        what = f"{spell('judgements')} and the folder both have judgements called {folder.view}"
        raise UsageError(what, fix=f"use another name: {spell('judgements', 'NAME=FILE')}")
    values = {
        **vars(options), "run": _runs(options.run),
        "scores": None if options.scores is None else _scores(options.scores),
        "fuse": _systems(options.fuse, options.run is not None), "rerank": _of_each("rerank", options.rerank),
        "index": _indexes(options.index), "candidates": _candidates("candidates", options.candidates),
        "exclude": _candidates("exclude", options.exclude),
        "gains": _gains(options.gains), "judgements": judged | _judgements(options.judgements), "folder": folder,
    }  # fmt: skip
    check_alone(options, values)
    measured = None if options.metrics is None else words(options.metrics)
    names = None if measured is None else tuple(w for w in measured if w.lower() != INTRA)
    drawn = options.resamples, options.seed, options.interval
    found = Request(
        **values | {"weights": _weights(options.weights, len(values["fuse"]) + 1)},
        names=names,
        intra=names is not None and len(names) < len(measured or ()),
        directions=tuple(d for d in DIRECTIONS if options.direction in ("both", d, *[ONE_WAY] * (d == "i2t"))),
        resampling=Resampling(options.ci, *drawn) if options.ci else None,
        part=_part(options.only),
        correction=None if options.normalise is None else corrected.parse(options.normalise),
        weight=_weight(options.combine),
        kept=None if options.save_run is None else options.depth or SAVED_RUN_DEPTH,
        settings=settings(options),
    )
    _check(found)
    return found if options.engine == "local" or found.run is not None else _portable(found)


def _portable(request: Request) -> Request:
    """The request as other processes read it, with absolute paths; raises UsageError for data in memory."""
    names = ("images", "texts", "scores", "fuse", "rerank", "gains", "judgements", "candidates", "exclude", "captions")
    named = {name: _absolute(name, getattr(request, name)) for name in (*names, *IDS)}
    if not isinstance(request.split, str):
        _absolute("split", request.split)
    part, correction = request.part, request.correction
    return dataclasses.replace(
        request, **named, part=part and part._replace(file=_absolute("only", part.file)),
        correction=correction and correction._replace(bank=_absolute("normalise", correction.bank)),
    )  # fmt: skip


def _absolute(name: str, given: Any) -> Any:
    """A path, or the paths in a list or a mapping, made absolute; raises UsageError for anything else."""
    if isinstance(given, Given):
        return given._replace(value=_absolute(name, given.value))
    if isinstance(given, Mapping):
        return {key: _absolute(name, x) for key, x in given.items()}
    if isinstance(given, (list, tuple)) and name != "captions":  # a list of these is in memory
        return [_absolute(name, x) for x in given]
    if isinstance(given, Spec) and given.values is None:
        return located(given)[0]
    if given is not None and not is_path(given):
        fix = f"write it to a file and give the path (a split: its name), or leave out {spell('engine', 'dask')}"
        raise UsageError(f"{spell('engine', 'dask')} reads files, but {name} is in memory", fix=fix)
    return None if given is None else expanded(given).absolute()


def listed(given: Any) -> list[Any]:
    """What an option gives once or several times: a path or an array, or a list of them; none for None."""
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _systems(given: Any, run: bool) -> list[list[Given]]:
    """The systems that are fused; ``i2t=FILE`` and ``t2i=FILE`` are one."""
    sides = [x for x in listed(given) if is_path(x) and _parts("fuse", x)[0].direction is not None]
    alone = [x for x in listed(given) if not any(x is side for side in sides)]
    found = [(_runs(x) or []) if run else _scores(x) for x in alone]
    return [*found, _of_each("run" if run else "fuse", sides)] if sides else found


def _parts(name: str, given: Any) -> list[Given]:
    """What an option gives once or several times, or by direction; raises UsageError.

    Args:
        name: of the option, for messages.
        given: ``i2t=FILE``, a file, an array, a list of these, or a mapping from directions to files, arrays or lists.
    """
    found: list[Given] = []
    mapped = isinstance(given, Mapping)
    for head, value in given.items() if mapped else [(None, x) for x in listed(given)]:
        direction, how = head, ""
        if name == "run":
            how = "rank" * any(is_path(x) and str(x).startswith(BY_RANK) for x in (head, value))
            direction, value = _bare(head), _bare(value)
        known = (*DIRECTIONS, *[ONE_WAY] * (name == "run"))
        if not mapped and is_path(value) and "=" in (text := str(value)):
            before, _, behind = text.partition("=")
            if (named := direction_named(before)) in known:
                direction, value = named, behind
        direction = direction_named(direction)
        if name == "run" and is_path(value) and str(value).startswith(BY_RANK):
            how, value = "rank", _bare(value)
        elif name != "run" and is_path(value):
            path, behind, stated = str(value).rpartition(":rows=")
            if behind and stated in ("images", "texts"):
                how, value = stated, path
        if (mapped and direction not in known) or (is_path(value) and not str(value).strip()):
            raise _refused(name, given)
        part: tuple[str, ...] = ()
        if name == "run" and is_path(value):
            value, part = inside(value)
        found.append(Given(direction, expanded(value) if is_path(value) else value, how, part))
    return found


def _of_each(name: str, given: Any) -> list[Given]:
    """The files or arrays that an option gives by direction; raises UsageError for a missing or repeated direction."""
    found = _parts(name, given)
    if len({one.direction for one in found} - {None}) < len(found):
        raise _refused(name, given)
    return found


def _candidates(name: str, given: Any) -> list[Given]:
    """The files or mappings of items by query, of a direction or of that which their ids tell; raises UsageError."""
    if isinstance(given, Mapping) and not (given and set(given) <= set(DIRECTIONS)):
        return [Given(None, given)]
    itself = [x for x in listed(given) if name == "exclude" and isinstance(x, str) and x == SELF_ID]
    found = _parts(name, given if isinstance(given, Mapping) else [x for x in listed(given) if x not in itself])
    if len(found) > 1 and len({one.direction for one in found} - {None}) < len(found):
        raise _refused(name, given)
    return [Given(None, None, SELF_ID) for _ in itself[:1]] + found


def _refused(name: str, given: Any) -> UsageError:
    in_words = not isinstance(given, Mapping) and all(map(is_path, listed(given)))
    fix = "give i2t=FILE, t2i=FILE, or both" if in_words else "give {'i2t': ..., 't2i': ...}"
    only = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
    return UsageError(f"{spell(name)} is {format_value(only)}", fix=fix)


def _scores(given: Any) -> list[Given]:
    """The given scores: a file, an array, or a mapping from directions to them; raises UsageError."""
    if not isinstance(given, Mapping) and not (listed(given) and all(map(is_path, listed(given)))):
        return [Given(None, given)]
    found = _parts("scores", given)
    if not found or any(isinstance(one.value, Mapping) for one in found):
        raise UsageError(f"{spell('scores')} is {format_value(given)}", fix="give {'i2t': MATRIX, 't2i': MATRIX}")
    return found if len(found) == 1 else _of_each("scores", given)


def _runs(given: Any) -> list[Given] | None:
    """Every run that is given; None for None; raises UsageError."""
    of_queries = isinstance(given, Mapping) and not any(is_path(lists) for lists in given.values())
    if of_queries and not any(direction_named(_bare(key)) in (*DIRECTIONS, ONE_WAY) for key in given):
        return [Given(None, given)] if given else None
    found = _parts("run", given)
    for direction, run, *_ in found:
        if not isinstance(given, Mapping) and not is_path(run):
            what = f"{spell('run')} is {format_value(given)}"
            raise UsageError(
                what,
                fix="give a file or several, or {'i2t': ..., 't2i': ...} of files or mappings, or {query id: item ids}",
            )
        if not is_path(run) and not isinstance(run, (Mapping, list, tuple)):
            what = f"{spell('run')} of {direction} is {format_value(run)}"
            raise UsageError(what, fix="give a file, or {query id: item ids}, or {query id: {item id: score}}")
    return found or None


class Index(NamedTuple):
    """A saved index that is given."""

    direction: Direction  # of the queries
    file: Path
    parameters: str  # of the search, such as nprobe=16; empty: as saved
    k: int | None  # how many items it lists; None for what the metrics read


def _indexes(given: Any) -> list[Index]:
    """Every saved index that is given, one a direction; raises UsageError for another form."""
    found: list[Index] = []
    for direction, value, *_ in _parts("index", given):
        if not is_path(value):
            what = f"{spell('index')} is {format_value(value)}"
            raise UsageError(what, fix="give a file: faiss.write_index(index, 'images.faiss')")
        if direction is None:
            fix = f"give {spell('index', f't2i={value}')} for an index of images, i2t={value} for one of texts"
            raise UsageError(f"{spell('index')} has no direction", fix=fix)
        stated = _PARAMETERS.fullmatch(str(value))
        path, words = stated.groups() if stated else (str(value), "")
        numbers = [re.fullmatch(r"(\w+)=([1-9][0-9]{0,8})", word) for word in words.split(",") if words]
        named = {one[1]: one[2] for one in numbers if one}
        if len(named) < len(numbers):
            what = f"{spell('index')} has the search settings '{words}'"
            raise UsageError(what, fix="give integers above 0, each name once, as in FILE:nprobe=16,k=1000")
        k = named.pop("k", None)
        parameters = ",".join(f"{name}={number}" for name, number in named.items())
        found.append(Index(direction, Path(path), parameters, None if k is None else int(k)))
    if len({one.direction for one in found}) < len(found):
        raise _refused("index", given)
    return found


def _bare(text: Any) -> Any:
    return str(text).removeprefix(BY_RANK) if is_path(text) else text


def _of_run_folder(options: Options) -> Options:
    """Fill in the file, the similarity and the split of a training run from its folder; explicit options win."""
    if not is_path(options.images) or options.texts is not None or options.scores is not None:
        return options
    found = run_folder(expanded(options.images))
    if found is None:
        return options
    changed: dict[str, Any] = {"images": None, "scores": found.file} if found.scores else {"images": found.file}
    if options.split is None and found.split in catalogue.names():
        changed["split"] = found.split
    if not found.scores and options.similarity == "auto" and found.similarity is not None:
        changed["similarity"] = found.similarity
    return dataclasses.replace(options, **changed)


def check_input(given: Request) -> None:
    """Refuse more than one input, and arguments that belong to another kind of input; raises UsageError."""
    inputs = [x for x in (given.images, given.scores, given.run) if x is not None]
    if len(inputs) != 1:
        several = f"embeddings, {spell('scores')} and {spell('run')} exclude each other"
        what = "nothing to evaluate" if not inputs else several
        fix = f"give a file of embeddings, or {spell('scores', 'FILE')}, or {spell('run', 'FILE')}"
        raise UsageError(what, fix=fix)
    scores = given.scores and (given.scores[0].value if given.scores[0].direction is None else given.scores)
    needed = {"texts": given.images, "image_key": given.images, "text_key": given.images, "scores_key": scores}
    for name, beside in needed.items():
        if getattr(given, name) is not None and (beside is None or (name != "texts" and not is_path(beside))):
            what = "an input without such a file" if beside is None else "an array in memory"
            raise UsageError(f"{spell(name)} does not apply to {what}", fix="leave it out")
    files = [one.value for one in given.scores] if given.scores else inputs[:1]
    for name in (*IDS, "image_id_of_text"):
        of_file = name not in IDS and (given.run is not None or any(map(is_path, files)))
        if getattr(given, name) is not None and of_file:
            raise UsageError(f"{spell(name)} does not apply to a file", fix="save the ids in the file")


def refuse_gains(word: str) -> None:
    """Refuse a kind of gains in the place of a metric; raises UsageError."""
    if is_gains(word) and word not in SUITES:
        raise UsageError(
            f"'{word}' is a kind of gains, not a metric", fix=f"give a metric of these gains, such as {word}:ncs"
        )


def _check(request: Request) -> None:
    """Refuse values that do not fit together, and a misspelt metric, kind of gains or split; raises UsageError."""
    if not math.isfinite(request.level):
        raise UsageError(
            f"{spell('level', request.level)} is not a finite number", fix="give the smallest grade of a positive"
        )
    for option, named in (("rerank", request.rerank), ("index", request.index)):
        if idle := [one.direction for one in named if one.direction not in (None, *request.directions)]:
            what = f"{spell(option)} gives {idle[0]}, but only {request.directions[0]} is measured"
            raise UsageError(what, fix=f"leave out {idle[0]}, or {spell('direction')}")
    for word in request.names or ():
        refuse_gains(word)
    custom_views = list(request.judgements)
    known = [*SOURCES, *custom_views, HUBNESS]
    explicit = request.names or (request.names is not None and not request.intra)
    for metric in expand(request.names or (), ["gt", *custom_views], tuple(request.gains)) if explicit else ():
        if metric.view not in known:
            near = difflib.get_close_matches(metric.view, known)
            meant = f"did you mean {' or '.join(map(repr, near))}" if near else f"known: {', '.join(known)}"
            fix = f"{meant}, or give your own judgements: {spell('judgements', f'{metric.view}=FILE')}"
            raise UsageError(f"unknown view '{metric.view}'", fix=fix)
    split = request.split
    if isinstance(split, str) and split != "custom":
        # Of a set in several languages the ids of the file say which.
        catalogue.declared(catalogue.splits_of(split)[0] if split in SETS else split)


def _finite(text: str) -> tuple[float, ...]:
    """The finite numbers that a text has, separated by commas; none if it has something else."""
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
    """The weights of so many systems; raises UsageError for another number of weights, or weights not above 0."""
    if text is None:
        return (1.0,) * systems
    weights, what = _finite(text), f"{spell('weights')} is '{printable(text[:60])}'"
    if len(weights) != systems or min(weights) <= 0:
        raise UsageError(f"{what} for {systems} systems", fix="give a number above 0 for each, as in 0.7,0.3")
    if min(weights) < MIN_RELATIVE_WEIGHT * max(weights):
        raise UsageError(f"{what}: one weight is almost 0", fix="leave that system out")
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
            raise UsageError(f"{spell('gains')} has {spec.kind} twice{both}", fix="evaluate once for each")
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
        raise UsageError(f"gains is {format_value(given)}", fix=fix)
    return Spec("matrix", None, {}, numbers(given, "gains"))


def _judgements(given: Any) -> dict[str, list[Spec]]:
    """Judgements of the user by name, in all forms of ``vsebench.evaluate``; None and empty ones for none.

    Raises UsageError.
    """
    if given is not None and not is_path(given) and not isinstance(given, (list, tuple, Mapping)):
        raise UsageError(
            f"{spell('judgements')} is {format_value(given)}", fix="give {NAME: JUDGEMENTS} or 'NAME=FILE'"
        )
    found: dict[str, list[Spec]] = {}
    for name, value in given.items() if isinstance(given, Mapping) else map(_name_and_file, listed(given)):
        if not isinstance(name, str):
            raise UsageError(
                f"{spell('judgements')} has the name {format_value(name)}", fix="give names that are words"
            )
        if not NAME.fullmatch(name):
            fix = "give a word of up to 41 lower-case letters, digits, - and _, as in qrels=FILE"
            raise UsageError(f"'{name[:60]}' is not a valid name of judgements", fix=fix)
        if name in (*SOURCES, LABELS, *SUITES, *ALL, *SIGNATURE_KEYS):
            raise UsageError(f"the name '{name}' is already used", fix="give another name, as in qrels=FILE")
        found.setdefault(name, []).extend(_specs(name, value))
    for name, parts in found.items():
        if len(parts) > 1 and sorted(part.holds for part in parts) != sorted(DIRECTIONS):
            what = f"{spell('judgements')} gives '{name}' {len(parts)} times"
            raise UsageError(what, fix=f"give one file, or {name}=i2t:FILE and {name}=t2i:FILE")
    return found


def _name_and_file(text: Any) -> tuple[str, str]:
    """The name and the file of ``NAME=FILE``; a ``FILE`` alone has its name without the ending."""
    name, equals, file = str(text).partition("=") if is_path(text) else ("", "", "")
    if not re.fullmatch(r"\s*[\w -]*", name) or not equals:  # a path before the first = belongs to the file
        file = str(text) if is_path(text) else ""
        name = re.sub(r"[^a-z0-9_-]+", "-", Path(file.rpartition(":")[2].removesuffix(".gz")).stem.lower()).strip("-_")
    if not name.strip() or not file.strip():
        raise UsageError(f"{spell('judgements')} is {format_value(text)}", fix=GRAMMAR)
    return name.strip(), file.strip()


def _specs(name: str, value: Any) -> list[Spec]:
    """What one set of judgements consists of."""
    parts = [("", value)]
    if is_path(value):
        head, colon, tail = str(value).partition(":")
        head = direction_named(head)
        parts = [(head, tail)] if colon and head in (*DIRECTIONS, ONE_WAY, LABELS) else parts
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
