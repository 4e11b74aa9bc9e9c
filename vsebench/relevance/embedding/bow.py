"""Bag-of-words gains: cosine of the mean word vectors of captions (continuous bag of words, GloVe, fastText).

A cheap approximation of a sentence encoder, and the cheap half of coarse-to-fine gains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import BadInput, UsageError, count_of
from ...files.regular import expanded
from ...log import note
from ...numeric import elementary
from ...text.ptb import tokenise
from ...text.tokens import Tokens
from ...types import Float, Int, TestSet, Vectors
from ..gains import Gains, Progress
from .aggregate import caption_cosine
from .word_vectors import read_word_vectors


@dataclass(frozen=True, eq=False)
class Bags:
    """The words of every caption that have a vector.

    Attributes:
        start: (caption + 1,) int64, where the entries of each caption start.
        word: (entry,) int64 rows of ``vectors``, ascending within a caption.
        count: (entry,) float64, number of occurrences of the word in the caption.
        words: (word,) the words.
        vectors: (word, dim) float32.
        settings: for the signature.
    """

    start: Int
    word: Int
    count: Float
    words: tuple[str, ...]
    vectors: Vectors
    settings: Mapping[str, str]


def load(test: TestSet, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> Gains:
    """Gains from a file of word vectors.

    Args, see ``sources.Loader``:
        argument: a file of word vectors in GloVe or word2vec text format, plain or gzip.
        settings: ``tokens`` (ptb, whitespace); ``idf`` (no, yes): weight a word by log(images / images whose
            captions contain it); ``agg`` (max, mean, first); ``own`` (in, one, out).

    Raises:
        UsageError: no file is named.
        BadInput: the file has no word vectors, or none of the words of the captions.
    """
    idf = settings["idf"]
    bags = bags_of(test, argument, settings["tokens"], "bow", progress)
    weight = idf_weights(bags, test) if idf == "yes" else np.ones(len(bags.words))
    if idf == "yes" and not weight.any():
        note("every word occurs in the captions of every image: with idf all gains are 0")
    return caption_cosine(
        "bow", test, weighted_sums(bags, weight), agg=settings["agg"], own=settings["own"],
        settings={**bags.settings, "idf": idf},
    )  # fmt: skip


def bags_of(test: TestSet, argument: str | None, tokens: str, name: str, progress: Progress | None) -> Bags:
    """The captions of a split as bags of words with vectors.

    Args:
        split, argument, progress: see ``load``.
        tokens: the tokeniser, ``ptb`` or ``whitespace``; both give lower-case words.
        name: of the gains, for errors.

    Raises:
        UsageError: no file is named.
        BadInput: no word vectors in the file, or none of the words of the captions.
    """
    if argument is None:
        what = f"{name} needs a file of word vectors"
        raise UsageError(what, fix=f"give {name}:FILE, such as {name}:glove.6B.300d.txt")
    path = expanded(argument)
    tokenised = tokenise(test.columns.texts or (), tokens)
    found = read_word_vectors(path, tokenised.words, progress)
    if not found.words:
        what = f"none of its {found.total:,} words occurs in the captions of split '{test.name}'"
        raise BadInput(what, where=path, fix="give vectors of the captions' language, of lower-case words")
    row_by_word = {word: row for row, word in enumerate(found.words)}
    row_of = np.array([row_by_word.get(word, -1) for word in tokenised.words], np.int64)
    row = row_of[tokenised.word]
    caption = np.repeat(np.arange(len(tokenised)), tokenised.length)[row >= 0]
    n_word = len(row_by_word)
    entries, count = np.unique(caption * n_word + row[row >= 0], return_counts=True)
    start = np.searchsorted(entries, np.arange(len(tokenised) + 1) * n_word)
    digest = hashlib.sha256("\n".join(found.words).encode("utf-8", "surrogatepass"))
    digest.update(found.vectors.tobytes())
    note(*tokenised.notes)
    _note_left_out(tokenised, row_of, np.diff(start))
    settings = {"vectors": f"{path.name}#{digest.hexdigest()[:8]}", "tokens": tokens}
    return Bags(start, entries % n_word, count.astype(np.float64), found.words, found.vectors, settings)


def idf_weights(bags: Bags, test: TestSet) -> Float:
    """(word,) log(images / images with a caption that contains the word)."""
    image_of = np.repeat(test.owners, np.diff(bags.start))
    pairs = np.unique(bags.word * len(test.rows) + image_of)
    images = np.bincount(pairs // len(test.rows), minlength=len(bags.words))
    return elementary.log(len(test.rows) / np.maximum(images, 1))


def weighted_sums(bags: Bags, weight: Float) -> Float:
    """(caption, dim) float64 sums of weighted word vectors; their cosines are those of the means."""
    from scipy.sparse import csr_array

    shape = (len(bags.start) - 1, len(bags.words))
    counts = csr_array((bags.count * weight[bags.word], bags.word, bags.start), shape=shape)
    return np.asarray(counts @ bags.vectors.astype(np.float64))


def _note_left_out(tokenised: Tokens, row_of: Int, sizes: Int) -> None:
    """Note words without a vector, and captions without any other word."""
    frequency = np.bincount(tokenised.word, minlength=len(tokenised.words))
    without = [(-int(frequency[at]), tokenised.words[at]) for at in np.flatnonzero(row_of < 0).tolist()]
    if without:
        share = -sum(n for n, _ in without) / len(tokenised.word)
        examples = ", ".join(f"'{word}'" for _, word in sorted(without)[:3])
        note(
            f"{len(without):,} of {len(tokenised.words):,} distinct words ({share:.1%} of all) have no vector and are "
            f"left out (most frequent: {examples})"
        )
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        counted = count_of(len(empty), "caption has", "captions have")
        note(f"{counted} no word with a vector, and gain 0 (first: caption row {empty[0]})")
