"""SPICE of every caption with every image, from tuples in the cache; needs no Java.

tp of a caption and an image is (C @ M)[caption, image], of C (caption, distinct tuple) and M (distinct tuple, image
with a matching tuple), and F follows from three integers. float32 is exact for integers up to 2^24.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import count_of
from ...log import note
from ...types import Int, TestSet, Vectors
from ..gains import Gains, Replaced, Values, captions_of, offsets
from .encode import Encoded, Graphs, Int32, build, encode, ones, similar_concepts
from .file import Tuples, load_tuples, normal, origin

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK_CAPTIONS = 4096  # captions processed at a time when an image is merged without them, to limit memory
COMPARED_PAIRS = 1 << 22  # pairs of tuples compared at a time
BLOCK_PAIRS = 1 << 22  # pairs with F values in memory when single pairs are computed


@dataclass(frozen=True, eq=False)
class Postings(Values):
    """Matching tuples and sizes of graphs, from which F of every caption and image is counted.

    Attributes:
        tuples: (caption, distinct tuple) float32, how often the caption's graph has the tuple.
        matches: (distinct tuple, image) float32, 1 if the graph of the image's captions has a matching tuple.
        caption_size: (caption,) float32, number of tuples in the caption's graph.
        image_size: (image,) float32, number of tuples in the graph of all captions of the image.
    """

    tuples: csr_array
    matches: csr_array
    caption_size: Vectors
    image_size: Vectors

    def rows(self, start: int, stop: int) -> Vectors:
        """(image, caption) float32 F of some images, with a caption among the references of its image."""
        return self._f(True, slice(start, stop))

    def columns(self, start: int, stop: int) -> Vectors:
        """(caption, image) float32 F of some captions, as in ``rows``."""
        return self._f(False, slice(start, stop))

    def pairs(self, rows: Int, columns: Int) -> Vectors:
        """(pair,) float32 F, as in ``rows``; the pairs of an image, or of a caption, are computed together."""
        (images, image), (captions, caption) = (np.unique(x, return_inverse=True) for x in (rows, columns))
        by_image = len(images) * len(self.caption_size) <= len(captions) * len(self.image_size)
        some, row, item = (images, image, columns) if by_image else (captions, caption, rows)
        out = np.empty(len(rows), np.float32)
        step = max(1, BLOCK_PAIRS // max(1, len(self.caption_size if by_image else self.image_size)))
        for start in range(0, len(some), step):
            here = np.flatnonzero((row >= start) & (row < start + step))
            out[here] = self._f(by_image, some[start : start + step])[row[here] - start, item[here]]
        return out

    def _f(self, by_image: bool, queries: Any) -> Vectors:
        """(query, gallery) float32 2 tp / (|candidate| + |reference|) of some queries, 0 if nothing matches."""
        tuples, matches = self._of_images if by_image else (self.tuples, self.matches)
        sizes = self.image_size, self.caption_size
        size, gallery = sizes if by_image else sizes[::-1]
        found = tuples[queries] @ matches
        found.data *= 2
        found.data /= np.repeat(size[queries], np.diff(found.indptr)) + gallery[found.indices]
        return np.asarray(found.toarray())

    @cached_property
    def _of_images(self) -> tuple[csr_array, csr_array]:
        return self.matches.T.tocsr(), self.tuples.T.tocsr()


def load(test: TestSet, argument: None, settings: Mapping[str, str]) -> Gains:
    """F of the scene-graph tuples of a caption and of all captions of an image, from 0 to 1.

    SPICE(c, S) = 2 tp / (|c| + |S|), tp the number of tuples of c's graph that match a tuple of the graph of S:
    equal size, and every element shares a word or a WordNet synset; 0 when nothing matches. Values are the exact ratio
    rounded to float32. Source: Anderson et al., ECCV 2016; open details follow the tool SPICE 1.0.

    Args, see ``sources.Loader``:
        settings: ``text``: ``original``, or ``ptb`` for captions that are tokenised before they are parsed, as on the
            COCO evaluation server; ``own``: ``in``, or ``out`` to compare a caption with the other captions of its own
            image.

    Raises:
        MissingPackage: captions are not parsed yet; the message has the command.
        BadInput: stored tuples are damaged.
    """
    form = settings["text"]
    tuples = load_tuples(parsed_texts(test, form), origin(test), form)
    return gains(test, tuples, text=form, own=settings["own"])


def parsed_texts(test: TestSet, form: str) -> list[str]:
    """(caption,) the strings that are parsed: captions (``original``), or their PTB tokens with spaces (``ptb``)."""
    texts: list[str] = list(test.columns.texts or ())
    if form == "ptb":
        from ...text.ptb import tokenise

        texts = [" ".join(tokens) for tokens in tokenise(texts, "ptb").lists()]
    return [normal(text) for text in texts]


def gains(test: TestSet, tuples: Tuples, *, text: str = "original", own: str = "in") -> Gains:
    """SPICE over a split, from the tuples of all its captions, with the settings ``text`` and ``own`` of ``load``."""
    texts = parsed_texts(test, text)
    text_of = np.fromiter((tuples.row[caption] for caption in texts), np.int64, len(texts))
    encoded, n_text = encode(tuples.tuples, tuples.synsets), len(tuples.texts)
    image_ptr, by_image = captions_of(test.owners, len(test.rows))
    member_ptr = np.concatenate([np.arange(n_text), n_text + image_ptr])
    graphs = build(encoded, member_ptr, np.concatenate([np.arange(n_text), text_of[by_image]]))
    of_text, matches = matched(encoded, graphs, n_text)
    size = np.diff(graphs.ptr).astype(np.float32)
    found = Postings(of_text[text_of], matches, size[:n_text][text_of], size[n_text:])
    values: Values = found
    if own == "out":
        of_image = np.split(by_image, image_ptr[1:-1])
        others = [of_image[i][of_image[i] != c] for c, i in enumerate(test.owners.tolist())]
        values = Replaced(found, test.owners, _own_image_f(encoded, text_of, others))
    if broken := len(tuples.broken):
        note(f"{count_of(broken, 'caption')} could not be parsed, and gain 0 with every {test.rows.name}")
    if (empty := int((found.caption_size == 0).sum()) - broken) > 0:
        note(f"{count_of(empty, 'caption')} without a tuple, and gain 0 with every {test.rows.name}")
    settings = {"text": text, "own": own, "tuples": _digest(encoded)}
    return Gains("spice", settings, test.shape, values, lowest=0.0)


def matched(encoded: Encoded, graphs: Graphs, n: int) -> tuple[csr_array, csr_array]:
    """The tuples of graphs ``:n``, and the graphs ``n:`` that have a matching tuple.

    Returns:
        (graph, distinct tuple) float32 counts, and (distinct tuple, graph) float32, 1 for a match.
    """
    n_concept, cut = graphs.concepts.shape[0], graphs.ptr[n]
    left, left_of = distinct(graphs.tuples[:cut], n_concept)
    right, right_of = distinct(graphs.tuples[cut:], n_concept)
    has = ones(right_of, graphs.ptr[n:] - cut, len(right))
    matches = match(left, right, similar_concepts(encoded, graphs)) @ has.T.tocsr()
    matches.data.fill(1)
    return ones(left_of, graphs.ptr[: n + 1], len(left)), matches


def distinct(tuples: Int32, n_concept: int) -> tuple[Int32, Int]:
    """Distinct rows of (tuple, 3), and (tuple,) the index of every row among them; for fewer than 2^21 concepts."""
    key = (tuples.astype(np.int64) + 1) @ np.array([(n_concept + 1) ** 2, n_concept + 1, 1])
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return tuples[first], inverse.reshape(-1)


def match(left: Int32, right: Int32, similar: csr_array) -> csr_array:
    """(left, right) float32, 1 if a tuple of (left, 3) matches one of (right, 3): equal size, all elements similar.

    The candidates for a tuple are those that are similar in its rarest element, so that few are compared.
    """
    from scipy.sparse import csr_array

    found = [np.empty((2, 0), np.int64)]
    for size in (1, 2, 3):
        ours, theirs = (np.flatnonzero((tuples >= 0).sum(1) == size) for tuples in (left, right))
        count = [np.bincount(right[theirs, p], minlength=similar.shape[0]) for p in range(size)]
        cost = np.stack([(similar @ count[p])[left[ours, p]] for p in range(size)])
        rarest = cost.argmin(axis=0)
        for p in range(size):
            has = ones(right[theirs, p], np.arange(len(theirs) + 1), similar.shape[0]).T.tocsr()
            steps = 1 + int(cost[p, rarest == p].sum()) // COMPARED_PAIRS
            for part in np.array_split(ours[rarest == p], steps):
                pair = (similar[left[part, p]] @ has).tocoo()
                u, v = part[pair.row], theirs[pair.col]
                for q in {*range(size)} - {p}:
                    if len(u):  # without an index scipy gives a matrix
                        same = np.flatnonzero(similar[left[u, q], right[v, q]])
                        u, v = u[same], v[same]
                found.append(np.stack([u, v]))
    u, v = np.concatenate(found, axis=1)
    return csr_array((np.ones(len(u), np.float32), (u, v)), shape=(len(left), len(right)))


def _own_image_f(encoded: Encoded, text_of: Int, others: list[Int]) -> Vectors:
    """(caption,) float32 F of every caption with the other captions of its image."""
    f = np.zeros(len(text_of), np.float32)
    for start in range(0, len(f), CHUNK_CAPTIONS):
        some = np.arange(start, min(start + CHUNK_CAPTIONS, len(f)))
        n, lists = len(some), others[start : start + CHUNK_CAPTIONS]
        member_ptr = np.concatenate([np.arange(n), n + offsets(np.array([len(members) for members in lists]))])
        graphs = build(encoded, member_ptr, text_of[np.concatenate([some, *lists])])
        tuples, matches = matched(encoded, graphs, n)
        found = tuples.multiply(matches.T.tocsr()).sum(axis=1)  # tp of every caption and the other captions
        size = np.diff(graphs.ptr)
        both = np.maximum(size[:n] + size[n:], 1)  # two empty graphs have F 0
        f[some] = 2 * found / both.astype(np.float32)
    return f


def _digest(encoded: Encoded) -> str:
    """Eight hexadecimal digits of the SHA-256 of the tuples and synsets."""
    digest = hashlib.sha256(b"vsebench/spice-graphs/1")
    digest.update("\0".join(encoded.words).encode("utf-8", "surrogatepass"))
    synsets = encoded.synsets.indptr.astype(np.int64), encoded.synsets.indices.astype(np.int32)
    for array in (encoded.text_ptr, encoded.tuples, *synsets):
        digest.update(array.tobytes())
    return digest.hexdigest()[:8]
