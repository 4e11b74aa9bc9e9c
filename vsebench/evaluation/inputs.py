"""What is evaluated: vectors, a score matrix or retrieved lists, aligned with a split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ..arrays import id_rows, is_path, numbers
from ..errors import BadInput, UsageError
from ..files import read as files
from ..files.ids import as_ids
from ..files.pairs import LISTS, Pairs, fits
from ..files.raw import Array, Raw
from ..files.read_pairs import read_pairs
from ..log import note, warn
from ..options import ARRAYS as IN_MEMORY
from ..options import spell
from ..rank.scorers import Dot, Matrix, Scorer, System, choose
from ..sets.items import UnknownItems, align_embeddings, align_lists, align_scores, split_of
from ..sets.owners import Rows, in_one_order, with_places
from ..signature import ENCODER
from ..types import DIRECTIONS, SIDES, Direction, Embeddings, Float, Ids, Int, Modality, TestSet, Tops
from . import run_alone, top_scored
from .options import Options
from .request import Request, Run
from .request import runs as runs_of

ARRAYS = Path(IN_MEMORY)


class SecondScores(NamedTuple):
    """Scores of a second stage for the top of the rankings of a direction."""

    of: Callable[[Int, Int], Float]  # (pair,) float64 scores of (pair,) queries and items, NaN for none
    each: Int  # (query,) int64, how many items a query has scores for
    depth: int = 0  # how many items a query are re-ranked, at most
    reach: int = 0  # how many of the first stage are read: those of another precision are behind the top as well
    where: str = ""  # the file, for messages


@dataclass(frozen=True, eq=False)
class Input:
    """What is evaluated: scores or retrieved lists of the items of a split.

    Attributes:
        split: the items.
        system: the scores, images as rows and captions as columns; None for retrieved lists.
        scored: the directions that have scores; a matrix may be of one alone.
        lists: by direction the retrieved list of every query; None for scores.
        vectors: image and caption vectors in the order of the split, where there are any.
        where: the file, for messages.
        score: what the order comes from, for the signature: ``dot``, ``cosine``, ``scores`` or ``run``.
        rows: (image,) and (caption,) row of every item in the file, None when the file has the order of the split.
        sources: the files that were read.
        complete: the split of which ``split`` is a part, if it is one.
        second: by direction the scores of a second stage, for the top of the rankings.
        stages: what was done with the vectors and scores, by field of the signature: ``encoder``, ``fuse``, ...
        without_ids: the sides whose rows have no ids.
        judged: judgements that have been read, where they have told the items; None for those that have not.
    """

    split: TestSet
    system: System | None
    where: Path
    score: str = "run"
    lists: Mapping[Direction, Tops] | None = None
    vectors: tuple[Embeddings, Embeddings] | None = None
    rows: Rows = (None, None)
    sources: tuple[Path, ...] = field(default=())
    complete: TestSet | None = None
    second: Mapping[Direction, SecondScores] = field(default_factory=dict)
    stages: Mapping[str, str] = field(default_factory=dict)
    without_ids: tuple[Modality, ...] = ()
    judged: Mapping[str, Sequence[Pairs]] | None = None
    scored: tuple[Direction, ...] = DIRECTIONS

    @property
    def of_vectors(self) -> bool:
        """Whether scores are inner products of vectors."""
        return self.system is not None and all(isinstance(scorer, Dot) for scorer in self.system.both)

    def scorer(self, direction: Direction) -> Scorer:
        """The scores of a direction, queries as rows; not for retrieved lists."""
        assert self.system is not None
        return self.system.both[DIRECTIONS.index(direction)]

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that can be measured."""
        known = self.scored if self.lists is None else self.lists
        return tuple(d for d in DIRECTIONS if d in known)


def read(request: Request) -> Input:
    """The vectors, the scores or the retrieved lists that are given, aligned with their split.

    Raises:
        BadInput: unreadable, misshapen or unmatched data.
        UsageError: an unknown split, or options that belong to another kind of input.
        MissingPackage: a format or a split needs a package that is not installed.
    """
    if request.scores is not None:
        return _scores(request, request.directions)
    return of_vectors(raw_vectors(request), request) if request.run is None else _lists(request)


def raw_vectors(given: Options) -> Raw:
    """Vectors of a file, of two files, or in memory, not yet matched to a split; raises as ``read``."""
    images, texts = given.images, given.texts
    if is_path(images) != (is_path(images) if texts is None else is_path(texts)):
        raise UsageError("images and texts are not both files or both arrays", fix="give two files or two arrays")
    if is_path(images):
        second = Path(texts) if is_path(texts) else None
        return files.read_embeddings(Path(images), texts=second, image_key=given.image_key, text_key=given.text_key)
    if texts is None:
        raise UsageError("image vectors need text vectors", fix="give both arrays")
    arrays = (
        rows.vectors if isinstance(rows, Embeddings) else numbers(rows, name)
        for name, rows in (("images", images), ("texts", texts))
    )
    return in_memory(given, *arrays)


def of_vectors(raw: Raw, request: Request) -> Input:
    """Vectors matched to the split that is given, or that their ids tell, and their scores; raises as ``read``."""
    found, vectors = align_embeddings(
        raw, request.split, request.captions_per_image, request.captions_file, bool(request.judgements)
    )
    scorer, decision = choose(*vectors, request.similarity)
    note(decision, weight="decision" if request.similarity == "auto" and scorer.name == "cosine" else "detail")
    return Input(
        with_places(found.split, found.rows), System(scorer), raw.where, scorer.name,
        vectors=vectors, rows=found.rows, sources=raw.sources, stages={ENCODER: raw.encoder} if raw.encoder else {},
        without_ids=_without_ids(raw, request),
    )  # fmt: skip


def _scores(request: Request, served: Sequence[Direction], direction: Direction | None = None) -> Input:
    """A score matrix of a file or in memory, one row an image and one column a caption; or one of each direction.

    Args:
        request: as for ``read``.
        served, direction: as for ``of_scores``.
    """
    if request.similarity != "auto":
        raise UsageError(f"{spell('similarity')} has no meaning for a score matrix", fix="leave it out")
    if isinstance(request.scores, Mapping):
        return _of_each(request)
    return of_scores(raw_scores(request), request, served, direction)


def raw_scores(given: Options) -> Raw:
    """Scores of a file or in memory, not yet matched to a split; raises as ``read``."""
    if is_path(given.scores):
        return files.read_scores(Path(given.scores), key=given.scores_key)
    return in_memory(given, numbers(given.scores, "scores"))


def of_scores(
    raw: Raw, request: Request, served: Sequence[Direction] = DIRECTIONS, direction: Direction | None = None
) -> Input:  # fmt: skip
    """Scores matched to the split that is given, or that their ids tell; raises as ``read``."""
    if request.score_rows.get(direction) == "texts":
        raw = replace(raw, arrays=(raw.values.T,))
    found, scores = align_scores(
        raw, request.split, request.captions_per_image, request.captions_file, judged=bool(request.judgements),
        direction=direction, stated=direction in request.score_rows, typed=is_path(request.scores),
    )  # fmt: skip
    top_scored.check(scores, served, raw.where, request.trust)
    return Input(
        with_places(found.split, found.rows), System(Matrix(scores, *found.rows)), raw.where, "scores",
        rows=found.rows, sources=raw.sources,
        without_ids=_without_ids(raw, request),
    )  # fmt: skip


def _without_ids(raw: Raw, request: Request) -> tuple[Modality, ...]:
    """The sides whose order says which items they are; with a number of captions an image it is both."""
    if request.captions_per_image is not None and raw.image_of_text is None:
        return SIDES["i2t"]
    return tuple(side for side, ids in zip(SIDES["i2t"], (raw.image_ids, raw.text_ids), strict=True) if ids is None)


def _of_each(request: Request) -> Input:
    """Scores of each direction, of models that score queries of images and of captions in different ways."""
    read: dict[Direction, Input] = {}
    split = request.split
    for direction, scores in request.scores.items():
        served = [direction] if direction in request.directions else []
        read[direction] = _scores(replace(request, scores=scores, split=split), served, direction)
        split = read[direction].split
    # What has no ids is in the order of the scores that are measured; there is none where these differ.
    measured = [read[d] for d in request.directions if d in read] or [*read.values()]
    first, every = measured[0], dict.fromkeys([measured[0], *read.values()])
    system = System.of(*(read[d].scorer(d) if d in read else None for d in DIRECTIONS))
    return replace(
        first, split=in_one_order([one.split for one in measured]), system=system, scored=tuple(read),
        without_ids=tuple(dict.fromkeys(side for one in read.values() for side in one.without_ids)),
        sources=tuple(path for one in every for path in one.sources),
    )  # fmt: skip


def _lists(request: Request) -> Input:
    """Retrieved lists of files or in memory, by direction, given or in the file."""
    if request.kept is not None or request.ties != "index" or request.similarity != "auto":
        what = "retrieved lists have an order and no scores"
        raise UsageError(what, fix=f"leave out {spell('ties')}, {spell('similarity')} and {spell('save_run')}")
    runs = _runs(request.run)
    if (doubted := next((pairs for pairs in runs if pairs.doubt), None)) and not request.trust:
        by_rank = f"{spell('run', 'rank:FILE')} takes the order of the rank column (or write negated distances)"
        fix = f"{by_rank}; {spell('trust', True)} ranks it as read"
        raise BadInput(doubted.doubt, where=doubted.where, fix=fix)
    split, alone = _split_of(runs, request)
    if alone is not None:
        runs = alone.runs
    found, lists = align_lists(runs, split)
    note(*(sentence for pairs in runs for sentence in pairs.notes))
    warn(*(f"{Path(pairs.where).name}: {pairs.doubt}" for pairs in runs if pairs.doubt))
    sources = tuple(Path(x) if is_path(x) else Path(f"<run {direction}>") for direction, x, _ in request.run)
    judged = alone.judged if alone else None
    return Input(found, None, sources[0], lists=lists, sources=sources, judged=judged)


def _runs(named: Sequence[Run]) -> list[Pairs]:
    runs: list[Pairs] = []
    for direction, lists, order in named:
        runs += read_pairs(lists, direction, LISTS, where=f"<run {direction}>", order=order, both=None)
    return runs


def _split_of(runs: Sequence[Pairs], request: Request) -> tuple[TestSet | str, run_alone.Alone | None]:
    """The split of retrieved lists; where they are of none, what the judgements that are given make of them."""
    chosen = request.judgements
    if request.split is not None and (request.split != "custom" or not chosen):
        return request.split, None
    if request.split is None:
        try:
            split = split_of(runs)
            if not chosen or all(max(fits(pairs, d, split) for d in DIRECTIONS) >= 0.5 for pairs in runs):
                return split, None
        except UnknownItems:
            if not chosen:
                raise
    fused = [pairs for other in request.fuse for pairs in _runs(runs_of(other) or ())]
    alone = run_alone.items_of(runs, chosen, fused)
    return alone.split, alone


def in_memory(given: Options, *arrays: Array, where: Path = ARRAYS) -> Raw:
    """Arrays with the ids of their rows, which are arguments or those of ``Embeddings``.

    Numbers that are given as text are numbers, as in files: they match and tie alike. Without image ids the images of
    texts are rows.

    Raises:
        UsageError: ids beside ``Embeddings``, which have ids.
    """
    found: list[Ids | None] = []
    for name, rows in (("image_ids", given.images), ("text_ids", given.texts), ("image_id_of_text", None)):
        ids = getattr(given, name)
        if isinstance(rows, Embeddings):
            if ids is not None:
                raise UsageError(f"{name} beside Embeddings, which have ids", fix="leave it out")
            ids = rows.ids
        found.append(None if ids is None else as_ids(id_rows(ids, name), name, ARRAYS))
    images, texts, owners = found
    return Raw(arrays, images, texts, owners, sources=(where,), holds="rows" if images is None else "ids")
