"""What is evaluated: vectors, a score matrix or retrieved lists, aligned with a split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import id_rows, is_path, numbers
from ..errors import BadInput, UsageError, count_of
from ..files import read as files
from ..files.ids import MBEIR_BASES, as_ids, match
from ..files.pairs import LISTS, Pairs, fits
from ..files.raw import Array, Raw
from ..files.read_pairs import Order, read_pairs
from ..log import note, warn
from ..options import ARRAYS as IN_MEMORY
from ..options import spell
from ..rank.scorers import Dot, Matrix, Scorer, System, choose
from ..rank.ties import BY_INDEX, DOCID
from ..rank.tops import sizes
from ..relevance.custom import pairs_of
from ..relevance.gains import Spec
from ..sets.catalogue import load_split
from ..sets.folders import with_ids
from ..sets.items import UnknownItems, align_embeddings, align_lists, align_scores, split_of
from ..sets.owners import Rows, in_one_order, with_places
from ..signature import ENCODER
from ..types import (
    DIRECTIONS,
    EVERYTHING,
    NO_INDICES,
    ONE_WAY,
    QUERIES,
    QUERIES_OF,
    SIDES,
    Both,
    Candidates,
    Direction,
    Embeddings,
    Float,
    Ids,
    Int,
    Modality,
    Side,
    TestSet,
    Tops,
    Which,
)
from . import top_scored
from .options import Options
from .request import IDS, Given, Request

ARRAYS = Path(IN_MEMORY)


class SecondScores(NamedTuple):
    """Scores of a second stage for the top of the rankings of a direction."""

    scores: Callable[[Int, Int], Float]  # (pair,) float64 scores of (pair,) queries and items, NaN for none
    each: Int  # (query,) int64, how many items a query has scores for
    depth: int = 0  # how many items a query are re-ranked, at most
    reach: int = 0  # how many of the first stage are read; scores of another precision may lie below the top
    where: str = ""  # the file, for messages


class Indexed(NamedTuple):
    """What a saved index lists of the vectors of a direction."""

    lists: Tops  # in canonical order
    scores: Float  # (entry,) exact scores
    places: Int  # (entry,) place in the list of the index, from 0
    scorer: Dot  # the vectors
    kind: str  # as of ``faiss.index_factory``, with the parameters of the search
    depth: int  # number of items requested
    file: Path
    more: str  # the option for longer lists


@dataclass(frozen=True, eq=False)
class Input:
    """What is evaluated: scores or retrieved lists of the items of a split.

    Attributes:
        split: the items.
        system: the scores, images as rows and captions as columns; None for retrieved lists.
        scored: the directions that have scores; a matrix may be of one alone.
        lists: by direction the retrieved list of every query; None for scores.
        vectors: image and caption vectors in the order of the split, if there are any.
        where: the file, for messages.
        score: what the order comes from, for the signature: ``dot``, ``cosine``, ``scores`` or ``run``.
        rows: (image,) and (caption,) row of every item in the file, None when the file has the order of the split.
        sources: the files that were read.
        complete: the split that ``split`` is a part of, else None.
        second: by direction the scores of a second stage, for the top of the rankings.
        index: by direction the saved index that made the lists.
        stages: what was done with the vectors and scores, by field of the signature: ``encoder``, ``fuse``, ...
        without_ids: the sides with rows but no ids.
        candidates: of the rows and of the columns as queries; retrieved lists have no other items.
        judged: judgements already read (the items were taken from them), else None.
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
    index: Mapping[Direction, Indexed] = field(default_factory=dict)
    stages: Mapping[str, str] = field(default_factory=dict)
    without_ids: tuple[Modality, ...] = ()
    judged: Mapping[str, Sequence[Pairs]] | None = None
    scored: tuple[Direction, ...] = DIRECTIONS
    candidates: Both[Candidates] = (EVERYTHING, EVERYTHING)

    @property
    def of_vectors(self) -> bool:
        """Whether scores are inner products of vectors."""
        return self.system is not None and all(isinstance(scorer, Dot) for scorer in self.system.both)

    def most_of_query(self, side: Which) -> int:
        """How many candidates the query with the most has, of a side."""
        among, gallery = self.candidates[side], self.split.shape[1 - side]
        return gallery if among.everything else int(sizes(among, np.arange(self.split.shape[side]), gallery).max())

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
    """The given vectors, scores or retrieved lists, aligned with their split.

    Raises:
        BadInput: unreadable, misshapen or unmatched data.
        UsageError: an unknown split, or options that belong to another kind of input.
        MissingPackage: a format or a split needs a package that is not installed.
    """
    if request.run is not None:
        data = lists(request.run, request, request.split)
    elif request.scores is None:
        data = of_vectors(raw_vectors(request), request, request.split)
    elif request.similarity != "auto":
        raise UsageError(f"{spell('similarity')} does not apply to a score matrix", fix="leave it out")
    else:
        data = scores(request.scores, request, request.split)
    return data if request.folder is None else replace(data, split=request.folder.with_texts(data.split))


def raw_vectors(given: Options) -> Raw:
    """Vectors of a file, of two files, or in memory, not yet matched to a split; raises as ``read``."""
    images, texts = given.images, given.texts
    if is_path(images) != (is_path(images) if texts is None else is_path(texts)):
        raise UsageError("images and texts are not both files or both arrays", fix="give two files or two arrays")
    if is_path(images):
        second = Path(texts) if is_path(texts) else None
        raw = files.read_embeddings(Path(images), texts=second, image_key=given.image_key, text_key=given.text_key)
        return _with_ids(raw, given)
    if texts is None:
        raise UsageError("image vectors need text vectors", fix="give both arrays")
    arrays = (
        rows.vectors if isinstance(rows, Embeddings) else numbers(rows, name)
        for name, rows in (("images", images), ("texts", texts))
    )
    return in_memory(given, *arrays)


def of_vectors(raw: Raw, request: Request, split: TestSet | str | None) -> Input:
    """Vectors matched to the split that is given, or that their ids tell, and their scores; raises as ``read``."""
    found, vectors = align_embeddings(
        raw, split, request.captions_per_image, request.captions_file, bool(request.judgements)
    )
    scorer, decision = choose(*vectors, request.similarity)
    note(decision, weight="decision" if request.similarity == "auto" and scorer.name == "cosine" else "detail")
    return Input(
        with_places(found.split, found.rows), System(scorer), raw.where, scorer.name,
        vectors=vectors, rows=found.rows, sources=raw.sources, stages={ENCODER: raw.encoder} if raw.encoder else {},
        without_ids=_without_ids(raw, request), scored=DIRECTIONS[: 2 - found.split.one_way],
    )  # fmt: skip


def scores(given: Sequence[Given], request: Request, split: TestSet | str | None, fused: bool = False) -> Input:
    """A score matrix, one row an image and one column a caption; or one of each direction, of models that score queries
    of images and of captions in different ways. ``fused`` ones have no ids of arguments. Raises as ``read``.
    """
    read: dict[Direction | None, Input] = {}
    for one in given:
        served = [d for d in request.directions if one.direction in (None, d)]
        read[one.direction] = of_scores(raw_scores(one, request, fused), one, request, split, served)
        split = read[one.direction].split
    if None in read:
        return read[None]
    # Rows without ids are in the order of the measured scores, if that is one order.
    measured = [read[d] for d in request.directions if d in read] or [*read.values()]
    first, every = measured[0], dict.fromkeys([measured[0], *read.values()])
    system = System.of(*(read[d].scorer(d) if d in read else None for d in DIRECTIONS))
    return replace(
        first, split=in_one_order([data.split for data in measured]), system=system,
        scored=tuple(d for d in read if d is not None),
        without_ids=tuple(dict.fromkeys(side for data in read.values() for side in data.without_ids)),
        sources=tuple(path for data in every for path in data.sources),
    )  # fmt: skip


def raw_scores(given: Given, request: Request, fused: bool = False) -> Raw:
    """Scores of a file or in memory, one row an image, not yet matched to a split; raises as ``read``."""
    if is_path(given.value):
        raw = _with_ids(files.read_scores(Path(given.value), key=request.scores_key), None if fused else request)
    else:
        raw = in_memory(None if fused else request, numbers(given.value, "scores"))
    return replace(raw, arrays=(raw.values.T,)) if given.how == "texts" else raw


def of_scores(
    raw: Raw, given: Given, request: Request, split: TestSet | str | None, served: Sequence[Direction] = DIRECTIONS
) -> Input:  # fmt: skip
    """Scores matched to the split that is given, or that their ids tell; raises as ``read``."""
    found, matrix = align_scores(
        raw, split, request.captions_per_image, request.captions_file, judged=bool(request.judgements),
        direction=given.direction, stated=bool(given.how), typed=is_path(given.value),
        limited=bool(request.candidates or request.exclude),
    )  # fmt: skip
    if not request.candidates:  # other pairs may hold anything
        served = [d for d in served if d == DIRECTIONS[0] or not found.split.one_way]
        top_scored.check(matrix, served, raw.where, request.trust)
    return Input(
        with_places(found.split, found.rows), System(Matrix(matrix, *found.rows)), raw.where, "scores",
        rows=found.rows, sources=raw.sources, without_ids=_without_ids(raw, request),
        scored=DIRECTIONS[: 2 - found.split.one_way],
    )  # fmt: skip


def _without_ids(raw: Raw, request: Request) -> tuple[Modality, ...]:
    """The sides that are identified by their order; with captions_per_image both."""
    if request.captions_per_image is not None and raw.image_of_text is None:
        return SIDES["i2t"]
    return tuple(side for side, ids in zip(SIDES["i2t"], (raw.image_ids, raw.text_ids), strict=True) if ids is None)


def lists(given: Sequence[Given], request: Request, split: TestSet | str | None) -> Input:
    """Retrieved lists of files or in memory, by direction, given or in the file."""
    if request.kept is not None or request.ties not in BY_INDEX or request.similarity != "auto":
        what = "retrieved lists have an order but no scores"
        raise UsageError(what, fix=f"leave out {spell('ties')}, {spell('similarity')} and {spell('save_run')}")
    runs = _runs(given, request)
    if (doubted := next((pairs for pairs in runs if pairs.doubt), None)) and not request.trust:
        by_rank = f"{spell('run', 'rank:FILE')} takes the order of the rank column (or write negated distances)"
        by_name = "write the column names in the first line: query, item and rank"
        fix = f"{by_name if doubted.rank is None else by_rank}; {spell('trust', True)} evaluates it anyway"
        raise BadInput(doubted.doubt, where=doubted.where, fix=fix)
    split, runs, judged = _split_of(runs, request, split)
    found, tops = align_lists(runs, split)
    note(*(sentence for pairs in runs for sentence in pairs.notes))
    warn(*(f"{Path(pairs.where).name}: {pairs.doubt}" for pairs in runs if pairs.doubt))
    sources = tuple(Path(x) if is_path(x) else Path(_name(direction)) for direction, x, *_ in given)
    sources += tuple(Path(of) for name in IDS if is_path(of := getattr(request, name)))
    return Input(found, None, sources[0], lists=tops, sources=sources, judged=judged)


def _name(direction: Direction | None) -> str:
    """Retrieved lists in memory, for messages."""
    return f"<run {direction}>" if direction else "<run>"


def _runs(named: Sequence[Given], request: Request) -> list[Pairs]:
    runs: list[Pairs] = []
    for direction, lists, how, part in named:
        order: Order = "rank" if how else "docid-desc" if request.ties == DOCID else "score"
        runs += read_pairs(lists, direction, LISTS, where=_name(direction), order=order, both=None, part=part)
    return [_of_rows(pairs, request) for pairs in runs]


def _of_rows(pairs: Pairs, request: Request) -> Pairs:
    """A run; rows get ids: the given ids, the ids of a split in its order, or row numbers.

    Raises UsageError or BadInput.
    """
    given, turned = [name for name in IDS if getattr(request, name) is not None], pairs.direction == "t2i"
    if pairs.format != "rows":
        if given:
            raise UsageError(f"{spell(given[0])} does not apply to a run with ids", fix="leave it out")
        return pairs
    if request.ties == DOCID:
        what = f"{spell('ties', DOCID)} does not apply to lists of row numbers, because an index ordered them"
        raise UsageError(what, where=pairs.where, fix="leave it out, or give a run with ids and scores")
    test = load_split(request.split) if isinstance(request.split, str) and request.split != "custom" else request.split
    if pairs.direction is None and ({*given} & {*IDS[:2]} or (isinstance(test, TestSet) and not test.one_way)):
        what = "it is not clear whether its rows are lists for images or for texts"
        raise BadInput(what, where=pairs.where, fix=f"give {spell('run', 'i2t=FILE')} or {spell('run', 't2i=FILE')}")
    counts, folder = (len(pairs.queries), int(pairs.items.max(initial=-1)) + 1), request.folder
    found: list[Ids] = []
    for k, (side, role) in enumerate(zip(QUERIES, ("queries", "corpus"), strict=True)):
        named = next((name for name in given if name in (IDS[turned != k], f"{side}_ids")), "")
        ids = _ids(getattr(request, named), named) if named else None
        if ids is None and folder is not None:
            ids = folder.rows("queries", counts[0], Path(pairs.where)) if not k else folder.items(role)[0]
        elif ids is None and isinstance(test, TestSet):
            ids = test.sides[turned != k].ids
        found.append(np.arange(counts[k]) if ids is None else ids)
        different = len(np.unique(found[k]))
        if len(found[k]) != different or (different < counts[k] if k else different != counts[k]):
            what = f"has {f'item {counts[1] - 1:,}' if k else f'{counts[0]:,} rows'}, counted from 0"
            what += f", for {len(found[k]):,} {side} ids ({different:,} different ones)"
            raise BadInput(what, where=pairs.where, fix=f"give the {side} ids of this search, one per row")
    numbered = not given and folder is None and not isinstance(test, TestSet)
    form = "rows" if numbered else "rows with ids"
    return replace(pairs, queries=found[0], items=found[1][pairs.items], format=form)


def _split_of(
    runs: list[Pairs], request: Request, split: TestSet | str | None
) -> tuple[TestSet | str, list[Pairs], Judged | None]:
    """The split of retrieved lists; without a split, the test set made from the given judgements."""
    chosen = request.judgements
    if split is not None and (split != "custom" or not chosen):
        return split, runs, None
    if request.folder is not None:  # queries without a list or judgements are none
        test, query_ids = request.folder.test, [request.folder.judged, *(pairs.queries for pairs in runs)]
        some = np.any([match(test.rows.ids, ids)[0] >= 0 for ids in query_ids], axis=0)
        return replace(test, rows=test.rows.take(np.flatnonzero(some))), runs, None
    of_queries = any(pairs.direction == ONE_WAY or pairs.format == "rows" for pairs in runs)
    if of_queries and not chosen:
        what = "the lists have queries and a corpus, but no judgements say which items are relevant"
        fix = f"give {spell('judgements', 'FILE')} (qrels: query, item, grade)"
        raise UnknownItems(what, where=runs[0].where, fix=fix)
    if split is None and not of_queries:
        try:
            split = split_of(runs)
            if not chosen or all(max(fits(pairs, d, split) for d in DIRECTIONS) >= 0.5 for pairs in runs):
                return split, runs, None
        except UnknownItems:
            if not chosen:
                raise
    fused = [pairs for other in request.fuse for pairs in _runs(other, request)]
    return items_of(runs, chosen, fused)


def in_memory(given: Options | None, *arrays: Array, where: Path = ARRAYS) -> Raw:
    """Arrays with their row ids, from arguments or ``Embeddings``; None for no ids.

    Numbers given as text are numbers, as in files: they match and tie in the same way. Without image ids the images of
    texts are rows.

    Raises:
        UsageError: ids passed with ``Embeddings``, which already have ids.
    """
    vectors = (None, None) if given is None else (given.images, given.texts)
    images, texts = (_ids(x.ids, "ids") if isinstance(x, Embeddings) else None for x in vectors)
    owners = None if given is None else _ids(given.image_id_of_text, "image_id_of_text")
    raw = _with_ids(Raw(arrays, images, texts, owners, sources=(where,)), given)
    return replace(raw, holds="rows" if raw.image_ids is None else "ids")


def _ids(given: Any, name: str) -> Ids | None:
    """Ids in memory or of a file, None for None."""
    if is_path(given):
        return files.read_ids(given)
    return None if given is None else as_ids(id_rows(given, name), name, ARRAYS)


def _with_ids(raw: Raw, given: Options | None) -> Raw:
    """The rows with the ids passed with them: of images and texts, or of queries and a corpus.

    Raises UsageError or BadInput.
    """
    named = {name: value for name in IDS if (value := getattr(given, name, None)) is not None}
    of_queries = any(name in IDS[2:] for name in named)
    if of_queries and (other := next((name for name in IDS[:2] if name in named), None)):
        what = f"{spell(other)} is for images and texts, but ids of queries and a corpus are given"
        raise UsageError(what, fix="leave it out")
    found: dict[str, Any] = {"sides": QUERIES} if of_queries else {}
    for name, value in named.items():
        field = IDS[IDS.index(name) % 2]
        if getattr(raw, field) is not None:
            raise UsageError(f"{spell(name)} is given, but the rows have ids", fix="leave it out")
        found[field] = _ids(value, name)
    raw = replace(raw, **found, sources=(*raw.sources, *(Path(value) for value in named.values() if is_path(value))))
    if not isinstance(given, Request):
        return raw
    if given.folder is not None:
        return with_ids(raw, given.folder)
    if named or raw.sides == QUERIES or not _of_corpus(raw, given):
        return raw
    note("rows are queries and items of a corpus; their ids are the row numbers, from 0", weight="decision")
    return replace(raw, sides=QUERIES)


def _of_corpus(raw: Raw, given: Request) -> bool:
    """Whether rows without ids and names are queries and a corpus, by the options or the judgements."""
    known = (raw.image_ids, raw.text_ids, raw.image_of_text, given.captions_per_image, given.captions)
    two = len(raw.arrays) == 1 or given.image_key is not None or raw.format.endswith(("arrays", "pair"))
    if not two or any(x is not None for x in known) or given.split not in (None, "custom"):
        return False
    specs = [spec for parts in given.judgements.values() for spec in parts]
    if ONE_WAY in (given.direction, *(spec.holds for spec in specs)):
        return True
    every = [pairs for spec in specs for pairs in pairs_of(spec) or ()]
    return any(x.direction in (None, ONE_WAY) and (x.direction or x.of_corpus) for x in every)


Judged = dict[str, list[Pairs]]


def items_of(
    runs: Sequence[Pairs], chosen: Mapping[str, Sequence[Spec]], fused: Sequence[Pairs] = ()
) -> tuple[TestSet, list[Pairs], Judged]:
    """The queries and the gallery of retrieved lists and of judgements of them, and both in stated directions.

    Captions get no image. If nothing says which side is images, they are queries and a corpus. Lists that
    are ``fused`` with them are of the same gallery.

    Raises:
        UsageError: a matrix or labels, which do not have the ids of queries.
        BadInput: judgements of other queries, or several runs without a direction.
    """
    judged: Judged = {}
    for name, spec in ((name, spec) for name, found in chosen.items() for spec in found):
        if (read := pairs_of(spec)) is None:
            what = f"{spec.what} are a matrix or labels, but lists without a data set have no order of items"
            raise UsageError(what, fix=f"give {spell('split', 'NAME')}, or judgements as pairs of ids")
        judged.setdefault(name, []).extend(read)
    every = [pairs for found in judged.values() for pairs in found]
    stated = {pairs.direction for pairs in (*runs, *every)}
    of_queries = ONE_WAY in stated or stated == {None}
    runs = [replace(runs[0], direction="i2t")] if of_queries and len(runs) == 1 else _stated(runs, every)
    judged = {name: [_like(pairs, runs, of_queries) for pairs in found] for name, found in judged.items()}
    every = [*runs, *(pairs for found in judged.values() for pairs in found)]
    others = [replace(x, direction=None if of_queries else x.direction) for x in fused]
    others = [replace(x, direction=x.direction or runs[0].direction) for x in others]
    ids, every = _together([*every, *others])
    one = iter(every)
    runs = [next(one) for _ in runs]
    judged = {name: [next(one) for _ in found] for name, found in judged.items()}
    row, column = QUERIES if of_queries else SIDES["i2t"]
    split = TestSet("custom", Side(row, ids["image"]), Side(column, ids["caption"]))
    note(f"no data set is given: queries and gallery come from the lists and the judgements ({split.counts})")
    for run in runs:
        for name, found in judged.items():
            _note_absent(run, f"{name}, {split.way(run.direction)}", [x for x in found if x.direction == run.direction])
    return split, runs, judged


def _stated(runs: Sequence[Pairs], judged: Sequence[Pairs]) -> list[Pairs]:
    """Lists with their directions: stated, the other one of two, or the direction of judgements."""
    unknown = [pairs for pairs in runs if pairs.direction is None]
    if not unknown:
        return list(runs)
    known = [pairs.direction for pairs in runs if pairs.direction is not None]
    if len(unknown) > 1:
        fix = f"give {spell('run', ['i2t=FILE', 't2i=FILE'])}"
        raise BadInput("it is not clear which of the runs has images as queries", where=unknown[0].where, fix=fix)
    stated = [pairs for pairs in judged if pairs.direction is not None]
    if known:
        direction = QUERIES_OF[known[0]]
    else:
        first = max(stated, key=lambda pairs: max(_shared(pairs, unknown[0])))
        same, other = _shared(first, unknown[0])
        assert first.direction is not None
        direction = first.direction if same >= other else QUERIES_OF[first.direction]
    return [replace(pairs, direction=pairs.direction or direction) for pairs in runs]


def _like(pairs: Pairs, runs: Sequence[Pairs], of_queries: bool) -> Pairs:
    """Judgements in the direction in which they have the queries and items of a run; ``of_queries`` have one.

    Raises BadInput.
    """
    found: dict[Direction | None, float] = dict.fromkeys(DIRECTIONS, 0.0)
    for run in runs:
        same, other = _shared(pairs, run)
        found[run.direction] += same
        found[QUERIES_OF[run.direction or "t2i"]] += other
    stated = None if of_queries else pairs.direction
    direction = stated or max(DIRECTIONS, key=lambda d: (found[d], d == runs[0].direction))
    if of_queries and direction != runs[0].direction:
        what = "queries and items look swapped: its queries are items of the run, and its items are queries"
        raise BadInput(what, where=pairs.where, fix="swap the columns of the judgements, or of the run")
    if not found[direction]:
        first = f"first: {pairs.queries[0]} in the judgements, {runs[0].queries[0]} in the run"
        what = f"shares no query and no item with the run ({first})"
        ids = f"ids of the rows: {spell('query_ids', 'FILE')} and {spell('corpus_ids', 'FILE')}"
        fix = f"give the {ids if runs[0].format == 'rows' else 'judgements of this run, with the same ids'}"
        raise BadInput(what, where=pairs.where, fix=fix)
    return replace(pairs, direction=direction)


def _shared(pairs: Pairs, run: Pairs) -> tuple[float, float]:
    """How much of the queries and items of pairs a run has as such, and how much of them the other way round."""

    def share(ids: Ids, known: Ids, base: int = 0) -> float:
        return float((match(ids, known, base)[0] >= 0).mean()) if len(ids) and len(known) else 0.0

    bases = (0, 0) if run.format == "rows" else MBEIR_BASES
    same = share(pairs.queries, run.queries, bases[0]) + share(pairs.items, run.items, bases[1])
    return same, share(pairs.queries, run.items) + share(pairs.items, run.queries)


def _together(every: Sequence[Pairs]) -> tuple[dict[Modality, Ids], list[Pairs]]:
    """The ids of each side of all pairs, ascending, and the pairs with every id in the spelling that occurs first."""
    known: dict[Modality, Ids] = {}
    out = []
    for pairs in every:
        assert pairs.direction is not None  # they are stated
        spelled: dict[str, Any] = {}
        bases = (0, 0) if any(one.format == "rows" for one in every) else MBEIR_BASES
        for name, side, base in zip(("queries", "items"), SIDES[pairs.direction], bases, strict=True):
            ids, before = getattr(pairs, name), known.get(side, NO_INDICES)
            at, how = match(ids, before, base)
            note(f"{side} ids of {Path(pairs.where).name} are matched {how}" if how else "", weight="detail")
            if len(before) and before.dtype.kind != ids.dtype.kind:
                ids, before = ids.astype(np.str_), before.astype(np.str_)
            spelled[name] = np.where(at >= 0, before[at], ids) if len(before) else ids
            known[side] = np.concatenate([before, ids[at < 0]]) if len(before) else ids
        out.append(replace(pairs, **spelled))
    return {side: np.unique(as_ids(ids, f"{side} ids", every[0].where)) for side, ids in known.items()}, out


def _note_absent(run: Pairs, name: str, judged: Sequence[Pairs]) -> None:
    """Note judged queries without a list, and lists of queries that are not judged."""
    for pairs in judged:
        queries = pairs.queries[pairs.given]
        lost = queries[match(queries, run.queries)[0] < 0]
        if len(lost):
            what = f"{len(lost):,} of {len(queries):,} judged queries have no list (first: {lost[0]})"
            note(f"{name}: {what}")
        idle = run.queries[match(run.queries, queries)[0] < 0]
        if len(idle):
            what = f"{len(idle):,} of {count_of(len(run.queries), 'list')} belong to queries without judgements"
            note(f"{name}: {what} and are left out of every metric (first: {idle[0]})")
