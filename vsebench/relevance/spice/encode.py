"""SPICE in integers: tuples as word numbers, merged scene graphs, and similar concepts.

Words are numbered once; merging is compiled. Nothing depends on the order of a hash, so that the same tuples give the
same arrays on every machine. *Ragged lists* are a pair of arrays: row r is ``items[ptr[r]:ptr[r + 1]]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...numeric.parallel import default_threads, spread
from ...types import Int
from ..gains import offsets

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Tuples of distinct captions ("texts") in integers.

    Attributes:
        words: the word of every number.
        text_ptr: (text + 1,) int64, where the tuples of each text start.
        tuples: (tuple, 3) int32 word numbers, padded with -1: (object), (object, attribute) or
            (source, target, relation).
        synsets: (word, synset) float32, 1 for every synset of a word.
    """

    words: list[str]
    text_ptr: Int
    tuples: Int32
    synsets: csr_array


@dataclass(frozen=True, eq=False)
class Graphs:
    """Merged graphs as lists of tuples of concepts; a concept is a set of words.

    Attributes:
        ptr: (graph + 1,) int64, where the tuples of each graph start.
        tuples: (tuple, 3) int32 concepts, padded with -1, in the order of ``Encoded.tuples``.
        concepts: (concept, word) float32, 1 for every word of a concept.
    """

    ptr: Int
    tuples: Int32
    concepts: csr_array


def encode(tuples: Sequence[Sequence[Sequence[str]]], synsets: Mapping[str, frozenset[int]]) -> Encoded:
    """Number the words of tuples and look up their synsets.

    Args:
        tuples: of every text, tuples of one, two or three words, in the order of the parser.
        synsets: of every word; of a relation without its leading "be ".
    """
    flat = list(chain.from_iterable(tuples))
    sizes = np.fromiter(map(len, flat), np.int64, len(flat))
    strings = list(chain.from_iterable(flat))
    number = {word: i for i, word in enumerate(dict.fromkeys(strings))}
    ids = np.fromiter(map(number.__getitem__, strings), np.int32, len(strings))
    first = np.cumsum(sizes) - sizes
    rows = np.full((len(flat), 3), -1, np.int32)
    for p in range(3):
        rows[sizes > p, p] = ids[first[sizes > p] + p]
    cut = {i: number.setdefault(w[3:], len(number)) for w, i in list(number.items()) if w.startswith("be ")}
    plain = np.arange(len(number), dtype=np.int32)
    plain[list(cut)] = list(cut.values())
    relation = sizes == 3
    rows[relation, 2] = plain[rows[relation, 2]]
    used = np.zeros(len(number), bool)
    used[rows[rows >= 0]] = True
    words = list(number)
    lists = [sorted(synsets[word]) if known else [] for word, known in zip(words, used.tolist(), strict=True)]
    ptr = offsets(np.fromiter(map(len, lists), np.int64, len(lists)))
    ids, inverse = np.unique(np.fromiter(chain.from_iterable(lists), np.int64, int(ptr[-1])), return_inverse=True)
    table = ones(inverse.reshape(-1), ptr, len(ids))  # the synsets are renumbered from 0
    return Encoded(words, offsets(np.fromiter(map(len, tuples), np.int64, len(tuples))), rows, table)


def build(encoded: Encoded, member_ptr: Int, member: Int) -> Graphs:
    """One merged graph for each list of texts.

    Tuples are added in the order of the texts, which SPICE depends on: a word joins the node of exactly this word, else
    the most similar node (1 if the node contains the word, else the share of common synsets, above 0), else it is a new
    node. An attribute joins an equal, else the first similar attribute of its node; a relation likewise between its two
    nodes. Words are similar if they are equal or share a synset.

    Args:
        encoded: the tuples of all texts.
        member_ptr, member: (graph + 1,) and (n,) int64 ragged lists, the texts of each graph; a text may be in several.
    """
    from .kernels import build_graphs

    width = (encoded.tuples >= 0).sum(1)
    per_text = np.diff(np.concatenate([[0], np.cumsum(width)])[encoded.text_ptr])
    summed = np.concatenate([[0], np.cumsum(per_text[member])])
    base = summed[member_ptr]
    n_place, n_graph = int(base[-1]), len(member_ptr) - 1
    word, head_of = np.full(n_place, -1, np.int32), np.full(n_place, -1, np.int32)
    out = np.full((n_place, 3), -1, np.int32)
    n_slot, n_out = np.zeros(n_graph, np.int64), np.zeros(n_graph, np.int64)

    def work(start: int, stop: int, _part: int) -> None:
        build_graphs(
            start, stop, member_ptr, member, encoded.text_ptr, encoded.tuples, encoded.synsets.indptr,
            encoded.synsets.indices, encoded.synsets.shape[1], base, word, head_of, out, n_slot, n_out,
        )  # fmt: skip

    spread(work, n_graph, default_threads())
    concept, concepts = _name_concepts(word, head_of, len(encoded.words))
    inside = np.arange(n_place) - np.repeat(base[:-1], np.diff(base)) < np.repeat(n_out, np.diff(base))
    heads = out[inside]
    tuples = np.where(heads >= 0, concept[heads], np.int32(-1))
    return Graphs(offsets(n_out), tuples, concepts)


def _name_concepts(word: Int32, head_of: Int32, n_word: int) -> tuple[Int32, csr_array]:
    """Number the concepts: a concept of one word has the number of the word, larger sets the numbers that follow.

    Args:
        word: (place,) int32 word in every place, -1 for none.
        head_of: (place,) int32 place of the first word of its concept.

    Returns:
        (place,) int32 concept of every first word, and (concept, word) float32 the words of every concept.
    """
    size = np.bincount(head_of[head_of >= 0], minlength=len(head_of))
    concept = word.copy()
    several = np.flatnonzero((head_of >= 0) & (size[head_of] > 1))
    several = several[np.lexsort((word[several], head_of[several]))]
    letters = np.ascontiguousarray(word[several])
    heads, starts = np.unique(head_of[several], return_index=True)
    edges = (4 * np.append(starts, len(several))).tolist()
    text = letters.tobytes()
    number: dict[bytes, int] = {}
    concept[heads] = [number.setdefault(text[a:b], n_word + len(number)) for a, b in pairwise(edges)]
    lengths = np.concatenate([np.ones(n_word, np.int64), np.fromiter((len(k) // 4 for k in number), np.int64)])
    words = np.concatenate([np.arange(n_word, dtype=np.int32), np.frombuffer(b"".join(number), np.int32)])
    return concept, ones(words, offsets(lengths), n_word)


def similar_concepts(encoded: Encoded, graphs: Graphs) -> csr_array:
    """(concept, concept) float32, 1 if two concepts share a word or a synset; with itself too."""
    from scipy.sparse import eye_array, hstack

    of_word = hstack([eye_array(len(encoded.words), dtype=np.float32), encoded.synsets], format="csr")
    features = graphs.concepts @ of_word
    similar = features @ features.T.tocsr()
    similar.data.fill(1)
    similar.sort_indices()  # for look-ups
    return similar


def ones(items: npt.NDArray[Any], ptr: Int, width: int) -> csr_array:
    """Ragged lists of numbers below ``width`` as a (row, width) float32 matrix with a 1 for every item."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(items), np.float32), items, ptr), shape=(len(ptr) - 1, width))
