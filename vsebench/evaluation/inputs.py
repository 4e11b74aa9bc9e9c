"""What is evaluated: vectors, a score matrix or retrieved lists, aligned with a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..arguments import numbers, shown
from ..errors import BadInput, UsageError
from ..files import read as files
from ..files import run_folder
from ..files.ids import as_ids
from ..files.pairs import LISTS, Pairs, fits
from ..files.raw import Raw
from ..files.read_pairs import Order, read_pairs
from ..log import note, warn
from ..options import spell
from ..rank.scorers import Matrix, Scorer, choose
from ..sets import catalogue
from ..sets.align import AlignedLists, UnknownItems, align_embeddings, align_lists, align_scores, split_of
from ..sets.items import last_of_all
from ..sets.placing import SIDES, Rows, with_places
from ..signature import ENCODER
from ..types import DIRECTIONS, Direction, Embeddings, Ids, Modality, PathLike, Split, id_rows, is_path
from . import run_alone, top_scored
from .options import Given, Options
from .second_scores import SecondScores

ARRAYS = Path("<arrays>")


@dataclass(frozen=True, eq=False)
class Input:
    """Scores or retrieved lists of the items of a split.

    Attributes:
        split: the items.
        scorers: by direction the scores of all images with all captions, mostly the same; none for retrieved lists.
        lists: retrieved lists; None for scores.
        vectors: image and caption vectors in the order of the split, where there are any.
        where: the file, for messages.
        rows: (image,) and (caption,) row of every item in the file, None when the file has the order of the split.
        sources: the files that were read.
        complete: the split of which ``split`` is a part, if it is one.
        second: by direction the scores of a second stage, for the top of the rankings.
        stages: what was done with the vectors and scores, by field of the signature: ``encoder``, ``fuse``.
        without_ids: the sides whose rows have no ids.
        orders: by direction ``places`` of the split, where the scores of the directions have rows in other orders.
        judged: judgements that have been read, where they have told the items; None for those that have not.
    """

    split: Split
    scorers: Mapping[Direction, Scorer]
    where: Path
    lists: AlignedLists | None = None
    vectors: tuple[Embeddings, Embeddings] | None = None
    rows: Rows = (None, None)
    sources: tuple[Path, ...] = field(default=())
    complete: Split | None = None
    second: Mapping[Direction, SecondScores] = field(default_factory=dict)
    stages: Mapping[str, str] = field(default_factory=dict)
    without_ids: tuple[Modality, ...] = ()
    orders: Mapping[Direction, Rows] = field(default_factory=dict)
    judged: Mapping[str, Sequence[Pairs]] | None = None

    def split_of(self, direction: Direction) -> Split:
        """The items, with the order in which the scores of a direction have them."""
        return replace(self.split, places=self.orders[direction]) if self.orders else self.split

    @property
    def scorer(self) -> Scorer | None:
        """The scores of the first direction, which are mostly those of both; None for retrieved lists."""
        return next(iter(self.scorers.values()), None)

    def passes(self, directions: Sequence[Direction]) -> list[tuple[Scorer, tuple[Direction, ...]]]:
        """Every scorer of some directions, with those that it serves."""
        groups: dict[int, list[Direction]] = {}
        for direction in directions:
            groups.setdefault(id(self.scorers[direction]), []).append(direction)
        return [(self.scorers[served[0]], tuple(served)) for served in groups.values()]

    @property
    def score(self) -> str:
        """What the order comes from, for the signature: ``dot``, ``cosine``, ``scores`` or ``run``."""
        return "run" if self.scorer is None else self.scorer.name

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that can be measured."""
        known = self.scorers if self.lists is None else self.lists.lists
        return tuple(d for d in DIRECTIONS if d in known)


def read(given: Given, options: Options) -> Input:
    """The vectors, the scores or the retrieved lists that are given, aligned with their split.

    Raises:
        BadInput: unreadable, misshapen or unmatched data.
        UsageError: an unknown split, or options that belong to another kind of input.
        MissingPackage: a format or a split needs a package that is not installed.
    """
    if given.scores is not None:
        return _scores(given, options)
    return of_vectors(raw_vectors(given), given, options) if given.run is None else _lists(given, options)


def raw_vectors(given: Given) -> Raw:
    """Vectors of a file, of two files, or in memory, not yet matched to a split; raises as ``read``."""
    images, texts = given.images, given.texts
    if is_path(images) != (is_path(images) if texts is None else is_path(texts)):
        raise UsageError("images and texts are not both files or both arrays", fix="give two files or two arrays")
    if is_path(images):
        second = Path(texts) if is_path(texts) else None
        return files.read_embeddings(Path(images), texts=second, image_key=given.image_key, text_key=given.text_key)
    if texts is None:
        raise UsageError("image vectors need text vectors", fix="give both arrays")
    of_images, of_texts, owners = _ids(given)
    sides = []
    for name, rows, ids in (("image", images, of_images), ("text", texts, of_texts)):
        if not isinstance(rows, Embeddings):
            sides.append((numbers(rows, f"{name}s"), ids))
        elif ids is None:
            sides.append((rows.vectors, as_ids(rows.ids, f"{name} ids", ARRAYS)))
        else:
            raise UsageError(f"{name}_ids beside Embeddings, which have ids", fix="leave it out")
    (x, x_ids), (y, y_ids) = sides
    return Raw((x, y), x_ids, y_ids, owners, sources=(ARRAYS,), holds="ids")


def of_vectors(raw: Raw, given: Given, options: Options) -> Input:
    """Vectors matched to the split that is given, or that their ids tell, and their scores; raises as ``read``."""
    judged = bool(options.judgements)
    found, vectors = align_embeddings(raw, given.split, options.captions_per_image, captions_file(options), judged)
    scorer, decision = choose(*vectors, options.similarity)
    note(decision)
    return Input(
        with_places(found.split, found.rows), dict.fromkeys(DIRECTIONS, scorer), raw.where, None,
        vectors, found.rows, raw.sources, stages={ENCODER: raw.encoder} if raw.encoder else {},
        without_ids=_without_ids(raw, options),
    )  # fmt: skip


def _scores(given: Given, options: Options, served: Sequence[Direction] | None = None) -> Input:
    """A score matrix of a file or in memory, one row an image and one column a caption; or one of each direction.

    Args:
        given, options: as for ``read``.
        served: the directions that the matrix is of; None for those that are measured.
    """
    served = options.directions if served is None else served
    if options.similarity != "auto":
        raise UsageError(f"{spell('similarity')} has no meaning for a score matrix", fix="leave it out")
    if isinstance(given.scores, Mapping):
        return _of_each(given, options)
    if is_path(given.scores):
        raw = files.read_scores(Path(given.scores), key=given.scores_key)
    else:
        raw = Raw((numbers(given.scores, "scores"),), *_ids(given), sources=(ARRAYS,), holds="ids")
    judged = bool(options.judgements)
    found, scores = align_scores(raw, given.split, options.captions_per_image, captions_file(options), judged=judged)
    top_scored.check(scores, served, raw.where, options.trust)
    scorers = dict.fromkeys(DIRECTIONS, Matrix(last_of_all(scores, raw.where), *found.rows))
    return Input(
        with_places(found.split, found.rows), scorers, raw.where, rows=found.rows, sources=raw.sources,
        without_ids=_without_ids(raw, options),
    )  # fmt: skip


def _without_ids(raw: Raw, options: Options) -> tuple[Modality, ...]:
    """The sides whose order says which items they are; with a number of captions an image it is both."""
    if options.captions_per_image is not None and raw.image_of_text is None:
        return SIDES
    return tuple(side for side, ids in zip(SIDES, (raw.image_ids, raw.text_ids), strict=True) if ids is None)


def _of_each(given: Given, options: Options) -> Input:
    """Scores of each direction, of models that score queries of images and of captions in different ways."""
    read: dict[Direction, Input] = {}
    split = given.split
    for direction, scores in given.scores.items():
        measured = [direction] if direction in options.directions else []
        read[direction] = _scores(replace(given, scores=scores, split=split), options, measured)
        split = read[direction].split
    # Of one direction alone, its rows are those that are evaluated.
    first = read.get(options.directions[0]) or next(iter(read.values()))
    others = [one for one in read.values() if one is not first]
    orders = {d: one.split.places for d, one in read.items()}
    same = all(_same(places, first.split.places) for places in orders.values())
    return replace(
        first, scorers={d: one.scorers[d] for d, one in read.items()}, orders={} if same else orders,
        without_ids=tuple(dict.fromkeys(side for one in read.values() for side in one.without_ids)),
        sources=(*first.sources, *(path for one in others for path in one.sources)),
    )  # fmt: skip


def _same(one: Rows, other: Rows) -> bool:
    """Whether two orders of images and captions are the same."""
    pairs = zip(one, other, strict=True)
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def _lists(given: Given, options: Options) -> Input:
    """Retrieved lists of files or in memory, by direction, given or in the file."""
    if options.save_run is not None or options.ties != "index" or options.similarity != "auto":
        what = "retrieved lists have an order and no scores"
        raise UsageError(what, fix=f"leave out {spell('ties')}, {spell('similarity')} and {spell('save_run')}")
    named = runs_of(given.run)
    runs = _runs(named, options)
    if (doubted := next((pairs for pairs in runs if pairs.doubt), None)) and not options.trust:
        by_rank = f"{spell('run_order', 'rank')} takes the order of the rank column (or write negated distances)"
        fix = f"{by_rank}; {spell('trust', True)} ranks it as read"
        raise BadInput(doubted.doubt, where=doubted.where, fix=fix)
    split, alone = _split_of(runs, given, options)
    if alone is not None:
        runs = alone.runs
    lists = align_lists(runs, split)
    note(*(sentence for pairs in runs for sentence in pairs.notes))
    warn(*(f"{Path(pairs.where).name}: {pairs.doubt}" for pairs in runs if pairs.doubt))
    sources = tuple(Path(run) if is_path(run) else Path(f"<run {direction}>") for direction, run in named)
    judged = alone.judged if alone else None
    return Input(lists.split, {}, sources[0], lists, sources=sources, judged=judged)


def _runs(named: Sequence[tuple[Direction | None, Any]], options: Options) -> list[Pairs]:
    runs: list[Pairs] = []
    for direction, run in named:
        order, where = cast("Order", options.run_order), f"<run {direction}>"
        runs += read_pairs(run, direction, LISTS, where=where, order=order, both=None)
    return runs


def _split_of(runs: Sequence[Pairs], given: Given, options: Options) -> tuple[Split | str, run_alone.Alone | None]:
    """The split of retrieved lists; where they are of none, what the judgements that are given make of them."""
    chosen = options.chosen.judgements
    if given.split is not None and (given.split != "custom" or not chosen):
        return given.split, None
    if given.split is None:
        try:
            split = split_of(runs)
            if not chosen or all(max(fits(pairs, d, split) for d in DIRECTIONS) >= 0.5 for pairs in runs):
                return split, None
        except UnknownItems:
            if not chosen:
                raise
    fused = [pairs for other in given.fuse or () for pairs in _runs(runs_of(other), options)]
    alone = run_alone.items_of(runs, chosen, fused)
    return alone.split, alone


def _ids(given: Given) -> tuple[Ids | None, Ids | None, Ids | None]:
    """The ids of the rows of arrays in memory: of images and texts, and the id of the image of every text.

    Numbers that are given as text are numbers, as in files: they match and tie alike.
    """
    names = ("image_ids", "text_ids", "image_id_of_text")
    given_ids = [None if (x := getattr(given, name)) is None else id_rows(x, name) for name in names]
    images, texts, owners = (None if x is None else as_ids(x, n, ARRAYS) for x, n in zip(given_ids, names, strict=True))
    return images, texts, owners


def of_directions(given: Any, name: str = "rerank") -> dict[Direction, Any]:
    """The files or arrays that an option gives by direction.

    Args:
        given: ``i2t=FILE``, a list of these, or a mapping from directions to files or arrays; None for none.
        name: of the option, for messages.

    Raises:
        UsageError: another form, or a direction that is given twice.
    """
    if given is not None and not isinstance(given, (str, list, tuple, Mapping)):
        raise UsageError(f"{spell(name)} is {shown(given)}", fix="give {'i2t': ..., 't2i': ...}")
    listed = [given] if isinstance(given, str) else given or ()
    named = given.items() if isinstance(given, Mapping) else [str(text).partition("=")[::2] for text in listed]
    found: dict[Direction, Any] = {}
    for direction, value in named:
        if direction not in DIRECTIONS or direction in found or (isinstance(value, str) and not value.strip()):
            fix = "give {'i2t': ..., 't2i': ...}" if isinstance(given, Mapping) else "give i2t=FILE, t2i=FILE, or both"
            what = f"{spell(name)} is {shown(given if isinstance(given, Mapping) or len(listed) > 1 else listed[0])}"
            raise UsageError(what, fix=fix)
        found[direction] = Path(value).expanduser() if is_path(value) else value
    return found


def _scores_given(given: Any) -> Any:
    """A file or an array of scores, or a mapping from directions to them; from words such as ``i2t=FILE`` too."""
    if isinstance(given, Mapping):
        found = of_directions(given, "scores")
        if not found or any(isinstance(x, Mapping) for x in found.values()):
            raise UsageError(f"{spell('scores')} is {shown(given)}", fix="give {'i2t': MATRIX, 't2i': MATRIX}")
        return found
    words = listed(given)
    if not words or not all(map(is_path, words)):
        return given
    return words[0] if len(words) == 1 and run_path(words[0])[0] is None else of_directions(words, "scores")


def listed(given: Any) -> list[Any]:
    """What an option gives once or several times: a path or an array, or a list of them; none for None."""
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def run_path(text: PathLike) -> tuple[Direction | None, Path]:
    """The direction and the path of ``i2t=FILE``, ``t2i=FILE`` or ``FILE``."""
    head, equals, tail = str(text).partition("=")
    direction = next((d for d in DIRECTIONS if equals and d == head), None)
    return (direction, Path(tail)) if direction else (None, Path(text))


def normal(given: Given, options: Options) -> tuple[Given, Options]:
    """What is given, in one form: what is given by direction as mappings, other systems as a list; of the folder of a
    training run its file, its similarity and its split.

    A similarity and a split that the user names are kept.

    Raises:
        BadInput: as ``run_folder.find``.
        UsageError: as ``of_directions``.
    """
    fused = listed(given.fuse)
    if sides := [x for x in fused if is_path(x) and run_path(x)[0]]:  # i2t=FILE and t2i=FILE are one system
        fused = [*(x for x in fused if not is_path(x) or x not in sides), of_directions(sides, "fuse")]
    given = replace(given, scores=_scores_given(given.scores), rerank=of_directions(given.rerank), fuse=fused)
    if not is_path(given.images) or given.texts is not None or given.scores is not None:
        return given, options
    found = run_folder.find(Path(given.images).expanduser())
    if found is None:
        return given, options
    if given.split is None and found.split in catalogue.names():
        given = replace(given, split=found.split)
    if found.scores:
        return replace(given, images=None, scores=found.file), options
    if options.similarity == "auto" and found.similarity is not None:
        options = replace(options, similarity=found.similarity)
    return replace(given, images=found.file), options


def runs_of(given: Any) -> list[tuple[Direction | None, Any]]:
    """The direction of every run, where it is given, and the run: a file, or lists in memory.

    Raises:
        UsageError: another form.
    """
    if isinstance(given, Mapping):
        found = of_directions(given, "run")
        for direction, run in found.items():
            if not is_path(run) and not isinstance(run, (Mapping, list, tuple)):
                what = f"{spell('run')} of {direction} is {shown(run)}"
                raise UsageError(what, fix="give a file, or {query id: item ids}, or {query id: {item id: score}}")
        return list(found.items())
    if not all(map(is_path, words := listed(given))):
        what = f"{spell('run')} is {shown(given)}"
        raise UsageError(what, fix="give a file or several, or {'i2t': ..., 't2i': ...} of files or mappings")
    return [run_path(word) for word in words]


def paths_of(given: Given, options: Options) -> list[Path]:
    """The files and folders that the arguments of an evaluation name, before any is read."""
    named = [] if given.run is None else [Path(run) for _, run in runs_of(given.run) if is_path(run)]
    systems = (given.images, given.texts, given.scores, given.rerank, *listed(given.fuse))
    return [*named, *(Path(x) for system in systems for x in leaves(system) if is_path(x)), *beside(options)]


def leaves(given: Any) -> list[Any]:
    """The files and arrays of an argument: itself, those of a mapping or of a list, none of None."""
    return list(given.values()) if isinstance(given, Mapping) else listed(given)


def captions_file(options: Options) -> Path | None:
    """The file of captions, None without one."""
    return Path(options.captions).expanduser() if is_path(options.captions) else None


def beside(options: Options) -> list[Path]:
    """Files that were read beside the input: captions, and what gains were made from."""
    named = [captions_file(options), options.part[0], *(spec.argument for spec in options.chosen.specs)]
    named += [options.correction.bank] if options.correction else []
    return [path for path in (Path(x).expanduser() for x in named if x is not None) if path.is_file()]


def check(given: Given, options: Options) -> None:
    """Refuse more than one input, and arguments that belong to another kind of input; raises UsageError."""
    inputs = [x for x in (given.images, given.scores, given.run) if x is not None]
    if len(inputs) != 1:
        several = f"more than one of embeddings, {spell('scores')} and {spell('run')}"
        what = "nothing to evaluate" if not inputs else several
        raise UsageError(
            what, fix=f"give a file of embeddings, or {spell('scores', 'FILE')}, or {spell('run', 'FILE')}"
        )
    for name, needed in (
        ("texts", given.images),
        ("scores_key", given.scores),
        ("image_key", given.images),
        ("text_key", given.images),
    ):
        if getattr(given, name) is not None and (needed is None or (name.endswith("_key") and not is_path(needed))):
            what = "here" if needed is None else "for an array in memory"
            raise UsageError(f"{spell(name)} has no meaning {what}", fix="leave it out")
    if options.run_order != "score" and given.run is None:
        raise UsageError(f"{spell('run_order')} has no meaning here", fix="leave it out")
    given_files = inputs[0].values() if isinstance(inputs[0], Mapping) else inputs[:1]
    for name in ("image_ids", "text_ids", "image_id_of_text"):
        if getattr(given, name) is not None and (given.run is not None or any(map(is_path, given_files))):
            raise UsageError(f"{name} has no meaning for a file", fix="save the ids in the file")
