"""The data types: frozen, validated on construction, without algorithms.

Axes: ``image``, ``caption``, ``query``, ``gallery``, ``judged`` (queries that have
relevant items), ``pair`` (a query and one of its relevant items), ``k``, ``dim``, ``block``.
Ranks are 1-based and called rank; indices are 0-based and called index or items; values are fractions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .arrays import Ids as Ids
from .arrays import Int as Int
from .arrays import PathLike as PathLike
from .arrays import as_array, composed, frozen, id_rows
from .errors import BadInput, UsageError, count_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")
Both = tuple[T, T]  # of the rows of a test set as queries, and of its columns as queries
Direction = Literal["i2t", "t2i", "i2i", "t2t", "query2corpus"]
Modality = Literal["image", "caption"]
Which = Literal[0, 1]  # of the sides of a test set: the rows, the columns
Float = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]
# Specifications, files and matrices (image, caption); a string may hold several, separated by commas.
GainsLike = str | os.PathLike[str] | npt.ArrayLike | Sequence[str | os.PathLike[str] | npt.ArrayLike] | None
JudgementsLike = Mapping[str, Any] | str | Sequence[str] | None
Unit = Literal["fraction", "rank", "distance", "number"]  # of values of metrics
ReportProgress = Callable[[int, int], None]  # called with (done, in all)

BOTH: Both[Which] = (0, 1)
DIRECTIONS: tuple[Direction, ...] = ("i2t", "t2i")  # cross-modal; i2i and t2t are intra-modal
QUERIES = ("query", "corpus")  # names of the sides if only one direction is ranked
ONE_WAY: Direction = "query2corpus"  # and what reports call it: i2t, the rows as queries


def sides_of(directions: Sequence[Direction]) -> tuple[Which, ...]:
    """The sides that are the queries of some directions."""
    return tuple(side for side in BOTH if DIRECTIONS[side] in directions)


# The opposite direction: its queries are the gallery.
QUERIES_OF: dict[Direction, Direction] = {"i2t": "t2i", "t2i": "i2t", "i2i": "i2i", "t2t": "t2t", ONE_WAY: "t2i"}
# The modality of the queries and of the gallery.
SIDES: dict[Direction, tuple[Modality, Modality]] = {"i2t": ("image", "caption"), "t2i": ("caption", "image")}
SAFE_LENGTH = (1e-15, 1e15)  # products of float32 vectors outside this range over- or underflow
UNRANKED = np.iinfo(np.int64).max
NO_INDICES: Int = frozen(np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Side:
    """The items of one side of a test set.

    Attributes:
        name: what an item is, as in messages: ``image``, ``caption``, ``query``; ``corpus`` has items.
        ids: (item,) int64 or unicode, unique, in the order of the test set.
        texts: (item,) strings in Unicode NFC, or None when they are not loaded or not known.
        places: (item,) int64, the row of every item in the user's file; None when that is its index. Other files
            without ids have this order; the user does not see the order of the test set.
        numbered: the items had no ids, and these are the numbers of their rows.

    Raises:
        BadInput: no items, ids that repeat, another number of texts.
        UsageError: ids other than integers or strings, texts other than strings.
    """

    name: str
    ids: Ids
    texts: tuple[str, ...] | None = None
    places: Int | None = None
    numbered: bool = False

    def __post_init__(self) -> None:
        ids = id_rows(self.ids, f"{self.name}_ids")
        object.__setattr__(self, "ids", ids)
        if not len(ids):
            raise BadInput(f"there are no {self.plural}", fix=f"give at least one {self.name}")
        unique, count = np.unique(ids, return_counts=True)
        if len(unique) != len(ids):
            first = f"first: {unique[count > 1][0]}, {count[count > 1][0]} times"
            occurs = count_of(int((count > 1).sum()), f"{self.name} id occurs", f"{self.name} ids occur")
            raise BadInput(f"{occurs} more than once ({first})", fix=f"give every {self.name} one row and one id")
        if self.texts is None:
            return
        strings = (self.texts,) if isinstance(self.texts, (str, int)) else tuple(self.texts)
        if not all(isinstance(x, str) for x in strings):
            odd = next(x for x in strings if not isinstance(x, str))
            raise UsageError(f"the texts hold {odd!r:.60} ({type(odd).__name__})", fix="give a list of strings")
        object.__setattr__(self, "texts", tuple(map(composed, strings)))
        if len(strings) != len(ids):
            raise BadInput(f"{count_of(len(strings), f'{self.name} string')} for {count_of(len(ids), self.name)}")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def plural(self) -> str:
        """What several items are."""
        name = f"{self.name} item" if self.name == QUERIES[1] else self.name
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    def take(self, items: Int) -> Side:
        """Some of the items; their rows are renumbered in the order of the user's file."""
        texts = None if self.texts is None else tuple(self.texts[item] for item in items.tolist())
        places = None if self.places is None else np.argsort(np.argsort(self.places[items])).astype(np.int64)
        return replace(self, ids=self.ids[items], texts=texts, places=places)

    def have(self, n: int) -> str:
        """The number of some items with a verb: ``1 image has``, ``2 images have``."""
        return count_of(n, f"{self.name} has", f"{self.plural} have")


@dataclass(frozen=True, eq=False)
class TestSet:
    """The rows and columns of an evaluation, without judgements and gains.

    >>> import vsebench as vb
    >>> vb.TestSet.captioned("mine", ["a.jpg", "b.jpg"], [0, 1, 2], [0, 0, 1]).shape
    (2, 3)

    Attributes:
        name: ``coco-5k``, ``custom``.
        rows, columns: the sides.
        image_of: (column,) int64, the row that a column was written for; None if columns belong to no row, so
            that judgements alone say what is relevant.
        folds: (row,) and (column,) int64, the folds of both, or None. COCO 1K is five folds of COCO 5K.
        in_folds: every query is ranked within its fold.
        ordered: whether the order of rows without ids is known, see ``sets.owners``; items may come in batches.

    Raises:
        BadInput, UsageError: the row of a column does not exist, or there is not one for every column.
    """

    __test__ = False  # pytest collects no class of this name

    name: str
    rows: Side
    columns: Side
    image_of: Int | None = None
    folds: tuple[Int, Int] | None = None
    in_folds: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        if not all(isinstance(side, Side) for side in self.sides):
            what, fix = "rows and columns of a TestSet are each a Side", "Side('image', ids), or TestSet.captioned(...)"
            raise UsageError(what, fix=f"give {fix}")
        if self.image_of is None:
            return
        image_of = id_rows(self.image_of, "image_of")
        if image_of.dtype.kind == "U":
            what = f"give the index of the {self.rows.name} of every {self.columns.name}, from 0"
            raise UsageError("image_of holds strings", fix=what)
        image_of, (rows, columns) = frozen(image_of, np.int64), self.shape
        if len(image_of) != columns:
            entries = count_of(len(image_of), "entry", "entries")
            what = f"image_of_text has {entries} for {count_of(columns, self.columns.name)}"
            raise BadInput(what, fix=f"give one {self.rows.name} row for every {self.columns.name}")
        if image_of.min() < 0 or image_of.max() >= rows:
            bad = int(np.flatnonzero((image_of < 0) | (image_of >= rows))[0])
            what = f"image_of_text[{bad}] = {image_of[bad]} is not an {self.rows.name} row ({rows} {self.rows.plural})"
            raise BadInput(what, fix=f"count {self.rows.name} rows from 0")
        object.__setattr__(self, "image_of", image_of)

    @classmethod
    def captioned(
        cls, name: str, image_ids: Any, caption_ids: Any, image_of: Any = None,
        captions: Any = None, fold: Any = None, in_folds: bool = False,
    ) -> TestSet:  # fmt: skip
        """Images and their captions.

        Args:
            name: of the test set.
            image_ids, caption_ids: (image,) and (caption,) integers or strings, unique.
            image_of: (caption,) index of the image of every caption; None: see the attribute.
            captions: (caption,) strings.
            fold: (image,) non-decreasing number of the fold of every image.
            in_folds: see the attribute.

        Raises:
            BadInput, UsageError: as the sides and the test set; folds that are not contiguous.
        """
        (row, column), texts = SIDES["i2t"], captions
        found = cls(name, Side(row, image_ids), Side(column, caption_ids, texts), image_of, in_folds=in_folds)
        if fold is None:
            return found
        first = frozen(fold, np.int64)
        if len(first) != len(found.rows) or (np.diff(first) < 0).any():
            raise BadInput(f"the folds of split '{name}' are not contiguous runs of images")
        return replace(found, folds=(first, first[found.owners]))

    @property
    def sides(self) -> tuple[Side, Side]:
        """The rows and the columns."""
        return self.rows, self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self.rows), len(self.columns)

    @property
    def counts(self) -> str:
        """The same in words."""
        return " and ".join(f"{len(side):,} {side.plural}" for side in self.sides)

    def side(self, name: str) -> Side:
        """The side with a name; ``image`` means the rows of any test set, and ``caption`` its columns."""
        return self.rows if name in (self.rows.name, SIDES["i2t"][0]) else self.columns

    @property
    def one_way(self) -> bool:
        """Whether it has queries and a corpus: the rows alone are queries."""
        return self.rows.name == QUERIES[0]

    def way(self, direction: Direction | None) -> Direction | None:
        """A direction as reports and messages have it."""
        return ONE_WAY if self.one_way and direction == "i2t" else direction

    @property
    def row_folds(self) -> Int | None:
        """(row,) int64 fold of every row, or None."""
        return None if self.folds is None else self.folds[0]

    @property
    def owners(self) -> Int:
        """(column,) int64, ``image_of``; raises UsageError if it is None."""
        if self.image_of is None:
            row, column = (side.name for side in self.sides)
            what = f"the {row} that a {column} was written for is not known in split '{self.name}'"
            more = "" if self.one_way else ", or give image_of_text (the image row or image id of every text)"
            raise UsageError(what, fix=f"measure judgements, as in NAME:R@1{more}")
        return self.image_of

    def with_texts(self, texts: Sequence[str] | None) -> TestSet:
        """The same with the texts of the columns."""
        return replace(self, columns=replace(self.columns, texts=None if texts is None else tuple(texts)))

    @cached_property
    def units(self) -> tuple[Int, Int]:
        """(row,) and (column,) int64 units of resampling: a row with its columns, else every item is its own."""
        rows, columns = self.shape
        images = np.arange(rows, rows + columns) if self.image_of is None else self.image_of
        return np.arange(rows), images


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The vectors of one modality with the ids of their items.

    >>> import numpy as np, vsebench as vb
    >>> vb.Embeddings("image", ["a.jpg", "b.jpg"], np.eye(2)).dim
    2

    Attributes:
        modality: ``image`` or ``caption``; ``text`` is taken as ``caption``.
        ids: (item,) int64 or unicode. Ids and vectors may be given in either order.
        vectors: (item, dim) float32, finite, C-contiguous and aligned.
    """

    modality: Modality
    ids: Ids
    vectors: Vectors

    def __post_init__(self) -> None:
        if str(self.modality) == "text":
            object.__setattr__(self, "modality", "caption")
        if self.modality not in ("image", "caption"):
            raise UsageError(f"modality is '{self.modality}'", fix="use image or text")
        ids, vectors = self.ids, self.vectors
        if getattr(ids, "ndim", 1) == 2 and getattr(vectors, "ndim", 1) == 1:
            ids, vectors = vectors, ids  # vectors first
        object.__setattr__(self, "ids", id_rows(ids, "ids"))
        vectors = as_array(vectors, f"{self.modality} vectors")
        if vectors.dtype.kind not in "fiub":
            raise UsageError(f"{self.modality} vectors are {vectors.dtype}", fix="give numbers")
        object.__setattr__(self, "vectors", frozen(np.require(vectors, np.float32, ["C", "A"])))
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.ids):
            raise BadInput(f"{self.modality} vectors of shape {self.vectors.shape} for {count_of(len(self.ids), 'id')}")

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])


@dataclass(frozen=True, eq=False)
class Relevance:
    """The relevant items of every judged query, as compressed rows.

    Queries without a relevant item are absent; those that the judgements cover are in ``without``.

    Attributes:
        name: ``gt``, ``eccv``, ``cxc``.
        queries: (judged,) int64, strictly ascending query indices.
        indptr: (judged + 1,) int64, row pointers.
        items: (pair,) int64 gallery indices, strictly ascending inside a query.
        missing: (judged,) int64, positives that are not in the gallery, or not allowed (``Candidates``). They cannot be
            retrieved but count in ``size`` (two ECCV Caption positives are not among the 25,000 captions).
        without: (miss,) int64, strictly ascending, queries that the judgements cover and that have no positive.
    """

    name: str
    queries: Int
    indptr: Int
    items: Int
    missing: Int
    without: Int = field(default_factory=lambda: NO_INDICES)

    def __post_init__(self) -> None:
        for name in ("queries", "indptr", "items", "missing", "without"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        n = len(self.queries)
        if len(self.indptr) != n + 1 or len(self.missing) != n or self.indptr[-1] != len(self.items):
            raise BadInput(f"relevance '{self.name}' has inconsistent lengths")
        if n and (np.diff(self.queries) <= 0).any():
            raise BadInput(f"relevance '{self.name}' lists a query twice or out of order")
        if (self.size <= 0).any() or np.isin(self.without, self.queries).any():
            raise BadInput(f"relevance '{self.name}' lists a query without positives")
        inside = np.ones(max(len(self.items) - 1, 0), bool)
        starts = self.indptr[1:-1]
        inside[starts[(starts > 0) & (starts < len(self.items))] - 1] = False
        if (np.diff(self.items)[inside] <= 0).any():
            raise BadInput(f"relevance '{self.name}' lists an item twice or out of order")

    @property
    def skipped(self) -> int:
        """Number of queries that the judgements cover and that have no positive."""
        return len(self.without)

    @cached_property
    def found(self) -> Int:
        """(judged,) int64, positives that are in the gallery."""
        return np.diff(self.indptr)

    @cached_property
    def size(self) -> Int:
        """(judged,) int64, R: the number of positives, retrievable or not."""
        return self.found + self.missing

    @cached_property
    def query_of(self) -> Int:
        """(pair,) int64, position in ``queries`` of every pair."""
        return np.repeat(np.arange(len(self.queries)), self.found)

    @property
    def unreachable(self) -> int:
        """Number of positives that cannot be retrieved."""
        return int(self.missing.sum())


@dataclass(frozen=True, eq=False)
class Candidates:
    """Which items of the gallery may be returned for a query; without a field all of them.

    Attributes:
        fold: (query,) and (gallery,) int64, non-decreasing; only items of the fold of the query (COCO 1K).
        excluded: (query, gallery) sparse, all items but the stored ones, of any value; stored positives do not count.
        allowed: (query, gallery) sparse, only the items stored, of any value; other positives cannot be retrieved.
    """

    fold: tuple[Int, Int] | None = None
    excluded: csr_array | None = None
    allowed: csr_array | None = None

    def __post_init__(self) -> None:
        for name in ("excluded", "allowed"):
            if (given := getattr(self, name)) is not None:
                stored = given.tocsr(copy=True)
                stored.data = np.ones(len(stored.data), np.bool_)
                stored.sum_duplicates()  # and in ascending order
                object.__setattr__(self, name, stored)

    @property
    def everything(self) -> bool:
        """Whether all items may be returned for every query."""
        return self.fold is None and self.excluded is None and self.allowed is None

    def take(self, rows: Int | slice, columns: Int | slice) -> Candidates:
        """The candidates of some queries among some items, by their places in these."""
        stored = (None if x is None else x[rows][:, columns] for x in (self.excluded, self.allowed))
        return Candidates(None if self.fold is None else (self.fold[0][rows], self.fold[1][columns]), *stored)


EVERYTHING = Candidates()


@dataclass(frozen=True, eq=False)
class TieGroups:
    """The relevant items of queries with ties, grouped by equal score, best scores first in every query.

    Attributes:
        query: (group,) int64, position of the query in ``Relevance.queries``.
        size: (group,) int64, R: the number of positives of the query, retrievable or not.
        above: (group,) int64, candidates with a higher score.
        tied: (group,) int64, candidates with this score.
        relevant: (group,) int64, how many of these are relevant; at least 1.
        found: (group,) int64, relevant candidates with a higher score.
    """

    query: Int
    size: Int
    above: Int
    tied: Int
    relevant: Int
    found: Int

    @property
    def first(self) -> Bool:
        """(group,) whether the query has no relevant item with a higher score."""
        return np.equal(self.found, 0)


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of the relevant items.

    Attributes:
        relevance: the pairs.
        rank: (pair,) int64 1-based rank among the candidates; ``UNRANKED`` for a pair that is not in a retrieved list.
        tied: (pair,) bool, another candidate has exactly the same score.
        depth: (judged,) int64, known length of the ranking of a query; None when it is complete.
        fold: (judged,) int64 fold of the query, or None. Values are averaged per fold, then over folds.
        extremes: (pair,) ranks under the optimistic and the pessimistic tie rule, or None without ties.
        groups: the ties of the queries that have some, for metrics that are means over the orders of tied items
            (ties="expected"); None under other rules, or without ties.
    """

    relevance: Relevance
    rank: Int
    tied: Bool
    depth: Int | None = None
    fold: Int | None = None
    extremes: tuple[Int, Int] | None = None
    groups: TieGroups | None = None

    def best(self) -> Int:
        """(judged,) rank of the first relevant item; ``UNRANKED`` when none is known."""
        return self._best

    @cached_property
    def _best(self) -> Int:
        out = np.full(len(self.relevance.queries), UNRANKED)
        np.minimum.at(out, self.relevance.query_of, self.rank)
        out.flags.writeable = False
        return out

    def within(self, k: int | Int) -> Int:
        """(judged,) int64 number of relevant items with rank <= k; ``k`` may differ by query, (judged,)."""
        limit = np.broadcast_to(np.asarray(k), (len(self.relevance.queries),))
        hit = self.rank <= limit[self.relevance.query_of]
        return np.bincount(self.relevance.query_of[hit], minlength=len(limit)).astype(np.int64)

    def ordered(self) -> tuple[Int, Int]:
        """(pair,) ranks ascending inside each query, and (pair,) their 1-based number among the positives."""
        return self._ordered

    @cached_property
    def _ordered(self) -> tuple[Int, Int]:
        query = self.relevance.query_of
        place = np.arange(len(query)) - self.relevance.indptr[:-1][query] + 1
        return frozen(self.rank[np.lexsort((self.rank, query))]), frozen(place)

    @cached_property
    def under_extremes(self) -> tuple[Ranks, Ranks] | None:
        """The same ranks under the optimistic and the pessimistic tie rule, or None without ties."""
        if self.extremes is None:
            return None
        optimistic, pessimistic = (Ranks(self.relevance, r, self.tied, fold=self.fold) for r in self.extremes)
        return optimistic, pessimistic


@dataclass(frozen=True, eq=False)
class Tops:
    """The first items of some queries, best first: an order of scores, the lists of an index or of a file.

    Attributes:
        start: (query + 1,) int64; the entries of the i-th query are ``start[i]:start[i + 1]``.
        entries: (entry,) int32 or int64 indices, or positions, of the gallery.
        ties: (entry,) bool, whether an entry has exactly the score of the one before it; None if that is not known.
        gallery: size of the gallery.
        scored: (entry,) float64 canonical scores, or what makes those of some lists: they take longer than deep lists,
            and are mostly not read. None if only an order is known.
        first: index of the first query, where the others follow it.
    """

    start: Int
    entries: npt.NDArray[Any]
    ties: Bool | None
    gallery: int
    scored: Float | Callable[[Tops], Float] | None = None
    first: int = 0

    @classmethod
    def of(
        cls, items: npt.NDArray[Any], tied: Bool | None, gallery: int,
        scored: Float | Callable[[Tops], Float] | None = None, first: int = 0,
    ) -> Tops:  # fmt: skip
        """Lists of one length, (query, k)."""
        start = np.arange(len(items) + 1) * items.shape[1]
        flat = scored.ravel() if isinstance(scored, np.ndarray) else scored
        return cls(start, items.ravel(), None if tied is None else tied.ravel(), gallery, flat, first)

    @classmethod
    def ragged(cls, lists: Sequence[Int], gallery: int, ties: Sequence[Bool] | None = None) -> Tops:
        """Lists of any lengths, one a query."""
        entries = np.concatenate([NO_INDICES, *lists])
        tied = None if ties is None else np.concatenate([np.zeros(0, np.bool_), *ties])
        return cls(np.cumsum([0, *map(len, lists)]), entries, tied, gallery)

    @classmethod
    def joined(cls, parts: Sequence[Tops], scored: Callable[[Tops], Float] | None = None) -> Tops:
        """The lists of queries that follow each other, with the scores of the parts, or ``scored`` without these."""
        start = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(part.depth for part in parts)]))
        entries, ties = (np.concatenate([getattr(part, name) for part in parts]) for name in ("entries", "ties"))
        known = [part.scored for part in parts if isinstance(part.scored, np.ndarray)]
        return cls(start, entries, ties, parts[0].gallery, np.concatenate(known) if known else scored, parts[0].first)

    def of_query(self, query: int) -> npt.NDArray[Any]:
        """The entries of one query, by its index."""
        return self.entries[self.start[query - self.first] : self.start[query - self.first + 1]]

    @property
    def depth(self) -> Int:
        """(query,) int64 lengths of the lists."""
        return np.diff(self.start)

    @property
    def row(self) -> Int:
        """(entry,) int64, which of the queries an entry belongs to, from 0."""
        return np.repeat(np.arange(len(self.start) - 1), self.depth)

    @property
    def items(self) -> npt.NDArray[Any]:
        """(query, k) entries of lists of one length."""
        return self.entries.reshape(len(self.start) - 1, -1)

    @property
    def tied(self) -> Bool:
        """(query, k) ties of lists of one length."""
        assert self.ties is not None
        return self.ties.reshape(len(self.start) - 1, -1)

    @cached_property
    def scores(self) -> Float:
        """(query, k) float64 canonical scores of lists of one length, (entry,) of others."""
        found = self.scored(self) if callable(self.scored) else self.scored
        assert found is not None
        return found.reshape(len(self.start) - 1, -1) if (self.depth == self.depth[:1]).all() else found

    def cut(self, k: int | None) -> Tops:
        """The first k of every list; all without a number."""
        if k is None or (self.depth <= k).all():
            return self
        place = np.arange(len(self.entries)) - np.repeat(self.start[:-1], self.depth)
        return self._take(np.concatenate([[0], np.cumsum(np.minimum(self.depth, k))]), place < k, self.first)

    def rows(self, some: slice) -> Tops:
        """The lists of consecutive queries."""
        start = self.start[some.start : some.stop + 1]
        return self._take(start - start[0], slice(start[0], start[-1]), self.first + some.start)

    def keep(self, kept: Bool) -> Tops:
        """Some of the entries, (entry,); they remain tied where those between them are removed."""
        row, ties = self.row[kept], None
        if self.ties is not None:
            ties = np.zeros(len(row), np.bool_)
            ties[1:] = (np.diff(np.cumsum(~self.ties)[kept]) == 0) & (np.diff(row) == 0)
        return replace(self._take(np.searchsorted(row, np.arange(len(self.start))), kept, self.first), ties=ties)

    def _take(self, start: Int, some: Bool | slice, first: int) -> Tops:
        """The lists of some of the entries."""
        scored = self.scored if self.scored is None or callable(self.scored) else self.scored[some]
        ties = None if self.ties is None else self.ties[some]
        return Tops(start, self.entries[some], ties, self.gallery, scored, first)


@dataclass(frozen=True, eq=False)
class Observation:
    """Ranks and top lists of the queries of one side.

    Attributes:
        ranks: by view name (``gt``, ``1k``, ``eccv``, ``cxc``).
        top: the top of every ranking, None if it was not requested.
    """

    ranks: dict[str, Ranks]
    top: Tops | None = None
