"""The data types: frozen, validated on construction, without algorithms.

Axes: ``image``, ``caption``, ``query``, ``gallery``, ``judged`` (queries that have
relevant items), ``pair`` (a query and one of its relevant items), ``k``, ``dim``, ``block``.
Ranks are 1-based and called rank; indices are 0-based and called index or items; values are fractions.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from .errors import BadInput, UsageError, count_of, shown
from .memory import text_array
from .testset import Ids as Ids
from .testset import Int as Int
from .testset import Side as Side
from .testset import TestSet as TestSet
from .testset import Which as Which

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")
Both = tuple[T, T]  # of the rows of a test set as queries, and of its columns as queries
Direction = Literal["i2t", "t2i", "i2i", "t2t"]
Modality = Literal["image", "caption"]
Float = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]
PathLike = str | os.PathLike[str]
# Of specifications, files and matrices (image, caption); a string holds several specifications, separated by commas.
GainsLike = str | os.PathLike[str] | npt.ArrayLike | Sequence[str | os.PathLike[str] | npt.ArrayLike] | None
JudgementsLike = Mapping[str, Any] | str | Sequence[str] | None
Unit = Literal["fraction", "rank", "distance", "number"]  # of values of metrics
ReportProgress = Callable[[int, int], None]  # called with (done, in all)

BOTH: Both[Which] = (0, 1)
DIRECTIONS: tuple[Direction, ...] = ("i2t", "t2i")  # cross-modal; i2i and t2t are intra-modal


def sides_of(directions: Sequence[Direction]) -> tuple[Which, ...]:
    """The sides whose items are the queries of some directions."""
    return tuple(side for side in BOTH if DIRECTIONS[side] in directions)


# The direction whose queries are the gallery of a direction.
QUERIES_OF: dict[Direction, Direction] = {"i2t": "t2i", "t2i": "i2t", "i2i": "i2i", "t2t": "t2t"}
# The modality of the queries and that of the gallery.
SIDES: dict[Direction, tuple[Modality, Modality]] = {"i2t": ("image", "caption"), "t2i": ("caption", "image")}
EXACT = 1 << 53  # float64 has every integer up to it
SAFE_LENGTH = (1e-15, 1e15)  # products of float32 vectors outside this range over- or underflow


def is_path(x: object) -> TypeGuard[PathLike]:
    """Whether an argument is a path, not an array."""
    return isinstance(x, str) or hasattr(x, "__fspath__")


def as_array(x: Any, name: str = "the array") -> npt.NDArray[Any]:
    """An array, a list of rows or a torch tensor, wherever it is, as a numpy array.

    Tensors are taken without their gradient; what numpy has no type for (bfloat16, float8) becomes float32, exactly.

    Raises:
        UsageError: it is no array, or a masked array with masked entries, named ``name``.
    """
    if np.ma.is_masked(x):
        masked = count_of(int(np.ma.getmaskarray(x).sum()), "masked entry", "masked entries")
        raise UsageError(f"{name} has {masked}", fix="leave these rows out, or fill them: array.filled(...)")
    try:
        if hasattr(x, "detach"):
            x = x.detach().resolve_conj().resolve_neg().cpu()
            if x.is_floating_point() and str(x.dtype).startswith(("torch.bfloat", "torch.float8")):
                x = x.float()
            return np.asarray(x.numpy())
        if isinstance(x, (list, tuple)) and any(hasattr(row, "detach") for row in x):
            x = [as_array(row, name) for row in x]
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"{name} cannot be read as an array ({str(error).strip().splitlines()[0][:120]})"
        fix = "give one dense array, such as torch.cat(batches) or np.concatenate(batches)"
        raise UsageError(what, fix=fix) from None


def numbers(x: Any, name: str, most: int | None = EXACT) -> npt.NDArray[Any]:
    """An argument as an array of numbers, see ``as_array``.

    Raises:
        UsageError: naming the argument: it is something else, or has integers larger than ``most``, which float64
            numbers would round.
    """
    array = as_array(x, name)
    if array.ndim == 0 or array.dtype.kind not in "fiub":
        what = f"{name} is {shown(x if array.ndim == 0 else array)}"
        what += f", {array.dtype}" if array.ndim else ""
        raise UsageError(what, fix="give an array of numbers, one row an item")
    if most is not None and array.dtype.kind in "iu" and array.size:
        largest = max(int(array.max()), -int(array.min()))
        if largest > most:
            what = f"{name} has integers as large as {largest}, and beyond 2^53 float64 rounds them"
            raise UsageError(what, fix="subtract a constant from them or scale them, and give them as float64")
    return array


def frozen(array: npt.ArrayLike, dtype: Any = None) -> npt.NDArray[Any]:
    """A read-only view (or converted copy) of ``array``, which itself stays writable."""
    out = np.asarray(as_array(array), dtype=dtype).view()
    out.flags.writeable = False
    return out


def stripped(ids: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
    """Strings of any shape without the white space around them, as ids are compared everywhere."""
    texts = ids.ravel().tolist()
    bare = [text.strip() for text in texts]
    return ids if bare == texts else np.array(bare, np.str_).reshape(ids.shape)


def composed(text: str) -> str:
    """A text in Unicode NFC, the one form in which texts are compared: an accent is part of its letter.

    macOS and some keyboards write NFD, a letter and its accents.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def id_rows(ids: Any, what: str) -> Ids:
    """Ids or indices as a read-only array, integers or strings; raises UsageError naming ``what``."""
    array = as_array(ids, what)
    if array.dtype.kind == "O" and all(isinstance(x, str) for x in array.flat):
        array = text_array(array.ravel().tolist(), what).reshape(array.shape)  # of a table
    if array.dtype.kind == "U":
        array = stripped(array)
    if array.ndim != 1 or (array.dtype.kind not in "iuU" and array.size):
        found = f"{array.dtype} of shape {array.shape}" if array.ndim else f"{ids!r}"
        raise UsageError(f"{what} is {found[:80]}", fix="give integers or strings, one an item")
    return frozen(array)


def _owners(image_of: Int, n_image: int, n_caption: int) -> Int:
    """(caption,) int64 the image of every caption, checked; raises BadInput, UsageError."""
    image_of = id_rows(image_of, "image_of")
    if image_of.dtype.kind == "U":
        raise UsageError("image_of holds strings", fix="give the index of every caption's image, from 0")
    image_of = frozen(image_of, np.int64)
    if len(image_of) != n_caption:
        entries = count_of(len(image_of), "entry", "entries")
        what = f"image_of_text has {entries} for {count_of(n_caption, 'caption')}"
        raise BadInput(what, fix="give one image row for every caption")
    if image_of.min() < 0 or image_of.max() >= n_image:
        bad = int(np.flatnonzero((image_of < 0) | (image_of >= n_image))[0])
        what = f"image_of_text[{bad}] = {image_of[bad]} is not an image row ({n_image} images)"
        raise BadInput(what, fix="count image rows from 0")
    return image_of


def _check_unique(ids: Ids, what: str) -> None:
    unique, count = np.unique(ids, return_counts=True)
    if len(unique) != len(ids):
        first = f"first: {unique[count > 1][0]}, {count[count > 1][0]} times"
        text = f"{count_of(int((count > 1).sum()), f'{what} id occurs', f'{what} ids occur')} more than once ({first})"
        raise BadInput(text, fix=f"give every {what} one row and one id")


@dataclass(frozen=True, eq=False)
class Split:
    """The images and captions of a test set, and the image of every caption.

    Attributes:
        name: ``coco-5k``, ``coco-1k``, ``f30k`` or ``custom``.
        image_ids: (image,) int64 or unicode, unique, in the split's canonical order.
        caption_ids: (caption,) int64 or unicode, unique, in canonical order.
        image_of: (caption,) int64, index of the image a caption was written for; None where captions belong to no
            image of their own, so that judgements alone say what is relevant.
        captions: (caption,) strings in Unicode NFC, or None when they are not loaded or not known.
        fold: (image,) int64, non-decreasing fold number, or None. COCO 1K is five folds of COCO 5K.
        places: (image,) and (caption,) int64: of a custom split, the row of every item in the user's file; None when
            that is its index. Other files without ids have this order; the user does not see that of the split.
        in_folds: every query is ranked within its fold, as in COCO 1K.
        ordered: whether the order of rows without ids is known, see ``sets.placing``; items may come in batches.

    Raises:
        BadInput: ids repeat, lengths differ, the image of a caption does not exist, or folds are not contiguous.
    """

    name: str
    image_ids: Ids
    caption_ids: Ids
    image_of: Int | None
    captions: tuple[str, ...] | None = None
    fold: Int | None = None
    places: tuple[Int | None, Int | None] = (None, None)
    in_folds: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        for name in ("image_ids", "caption_ids"):
            object.__setattr__(self, name, id_rows(getattr(self, name), name))
        _check_unique(self.image_ids, "image")
        _check_unique(self.caption_ids, "caption")
        n_image, n_caption = len(self.image_ids), len(self.caption_ids)
        if n_image == 0 or n_caption == 0:
            what = f"split '{self.name}' is empty: {n_image} images, {n_caption} captions"
            raise BadInput(what, fix="give at least one image and one caption")
        if self.image_of is not None:
            object.__setattr__(self, "image_of", _owners(self.image_of, n_image, n_caption))
        if self.captions is not None:
            strings = (self.captions,) if isinstance(self.captions, (str, int)) else tuple(self.captions)
            if not all(isinstance(x, str) for x in strings):
                odd = next(x for x in strings if not isinstance(x, str))
                raise UsageError(f"captions holds {odd!r:.60} ({type(odd).__name__})", fix="give a list of strings")
            object.__setattr__(self, "captions", tuple(map(composed, strings)))
        if self.captions is not None and len(self.captions) != n_caption:
            raise BadInput(f"{count_of(len(self.captions), 'caption string')} for {count_of(n_caption, 'caption')}")
        if self.fold is not None:
            object.__setattr__(self, "fold", frozen(self.fold, np.int64))
            if len(self.fold) != n_image or (np.diff(self.fold) < 0).any():
                raise BadInput(f"the folds of split '{self.name}' are not contiguous runs of images")

    @cached_property
    def test_set(self) -> TestSet:
        """The images as rows and the captions as columns."""
        (rows, columns), (first, second) = SIDES["i2t"], self.places
        sides = Side(rows, self.image_ids, None, first), Side(columns, self.caption_ids, self.captions, second)
        folds = None if self.fold is None or self.image_of is None else (self.fold, self.fold[self.image_of])
        return TestSet(self.name, *sides, self.image_of, folds, self.in_folds, ordered=self.ordered)

    @property
    def owners(self) -> Int:
        """(caption,) int64, ``image_of``; raises UsageError where captions have no image of their own."""
        return self.test_set.owners

    def ids(self, modality: Modality) -> Ids:
        """The ids of one modality, (item,)."""
        return self.image_ids if modality == "image" else self.caption_ids


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
        if getattr(self.ids, "ndim", 1) == 2 and getattr(self.vectors, "ndim", 1) == 1:  # vectors first
            ids, vectors = self.vectors, self.ids
            object.__setattr__(self, "ids", ids)
            object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "ids", id_rows(self.ids, "ids"))
        vectors = as_array(self.vectors, f"{self.modality} vectors")
        if vectors.dtype.kind not in "fiub":
            raise UsageError(f"{self.modality} vectors are {vectors.dtype}", fix="give numbers")
        object.__setattr__(self, "vectors", frozen(np.require(vectors, np.float32, ["C", "A"])))
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.ids):
            raise BadInput(f"{self.modality} vectors of shape {self.vectors.shape} for {count_of(len(self.ids), 'id')}")

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])


NONE: Int = frozen(np.zeros(0, np.int64))


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
    without: Int = field(default_factory=lambda: NONE)

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
        excluded: (query, gallery) sparse, all items but those stored, of any value; stored positives are none.
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
    """The relevant items of queries with ties, those of equal score together, best scores first in every query.

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


UNRANKED = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Tops:
    """The first items of some queries, best first: an order of scores, the lists of an index or of a file.

    Attributes:
        start: (query + 1,) int64; the entries of the i-th query are ``start[i]:start[i + 1]``.
        entries: (entry,) int32 or int64 indices, or positions, of the gallery.
        ties: (entry,) bool, whether an entry has exactly the score of the one before it; None where that is not known.
        gallery: size of the gallery.
        scored: (entry,) float64 canonical scores, or what makes those of some lists: they take longer than deep lists,
            and are mostly not read. None where only an order is known.
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
        entries = np.concatenate([NONE, *lists])
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
        """(query, k) float64 canonical scores of lists of one length."""
        found = self.scored(self) if callable(self.scored) else self.scored
        assert found is not None
        return found.reshape(len(self.start) - 1, -1)

    def cut(self, k: int | None) -> Tops:
        """The first k of every list; all without a number."""
        if k is None or (self.depth <= k).all():
            return self
        place = np.arange(len(self.entries)) - np.repeat(self.start[:-1], self.depth)
        return self._of(np.concatenate([[0], np.cumsum(np.minimum(self.depth, k))]), place < k, self.first)

    def rows(self, some: slice) -> Tops:
        """The lists of consecutive queries."""
        start = self.start[some.start : some.stop + 1]
        return self._of(start - start[0], slice(start[0], start[-1]), self.first + some.start)

    def keep(self, kept: Bool) -> Tops:
        """Some of the entries, (entry,); they remain tied where those between them are removed."""
        row, ties = self.row[kept], None
        if self.ties is not None:
            ties = np.zeros(len(row), np.bool_)
            ties[1:] = (np.diff(np.cumsum(~self.ties)[kept]) == 0) & (np.diff(row) == 0)
        return replace(self._of(np.searchsorted(row, np.arange(len(self.start))), kept, self.first), ties=ties)

    def _of(self, start: Int, some: Bool | slice, first: int) -> Tops:
        """The lists of some of the entries."""
        scored = self.scored if self.scored is None or callable(self.scored) else self.scored[some]
        return Tops(
            start, self.entries[some], None if self.ties is None else self.ties[some], self.gallery, scored, first
        )


@dataclass(frozen=True, eq=False)
class Observation:
    """Ranks and top lists of the queries of one side.

    Attributes:
        ranks: by view name (``gt``, ``1k``, ``eccv``, ``cxc``).
        top: the top of every ranking, None if it was not requested.
    """

    ranks: dict[str, Ranks]
    top: Tops | None = None
