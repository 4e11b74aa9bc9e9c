"""Bag-of-words gains: the cosine of mean word vectors of captions (continuous bag of words, GloVe, fastText).

A cheap stand-in for a sentence encoder, and the coarse half of coarse-to-fine relevance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import BadInput, UsageError
from ...text.tokenise import tokenise
from ...text.tokens import Tokens
from ...types import Float, Int, Split, Vectors
from ..gains import Progress, choice
from .aggregate import AGGREGATES, OWN, CaptionCosine, caption_cosine
from .word_vectors import read_word_vectors

TOKENS = ("ptb", "whitespace")
IDF = ("no", "yes")


@dataclass(frozen=True, eq=False)
class Bags:
    """The words of every caption that have a vector.

    Attributes:
        start: (caption + 1,) int64, where the words of each caption start in ``word``.
        word: (entry,) int64 rows of ``vectors``, ascending inside a caption.
        count: (entry,) float64, how often the caption holds the word.
        words: (word,) the words.
        vectors: (word, dim) float32.
        settings: for the signature.
        notes: what was found in reading.
    """

    start: Int
    word: Int
    count: Float
    words: tuple[str, ...]
    vectors: Vectors
    settings: Mapping[str, str]
    notes: tuple[str, ...]


def load(split: Split, argument: str | None, settings: Mapping[str, str], progress: Progress | None) -> CaptionCosine:
    """Gains from a file of word vectors.

    Args:
        split: with its captions.
        argument: a file of word vectors in GloVe or word2vec text form, plain or gzip.
        settings: ``tokens`` (ptb, whitespace); ``idf`` (no, yes): weight a word by log(images / images whose
            captions hold it); ``agg`` (max, mean, first); ``own`` (in, one, out).
        progress: told the share of the file that is read.

    Raises:
        UsageError: no file was named, or a wrong setting.
        BadInput: the file is not one of word vectors, or holds no word of the captions.
    """
    agg, own = choice(settings, "agg", AGGREGATES), choice(settings, "own", OWN)
    idf = choice(settings, "idf", IDF)
    bags = bags_of(split, argument, choice(settings, "tokens", TOKENS), "bow", progress)
    weight = idf_weights(bags, split) if idf == "yes" else np.ones(len(bags.words))
    notes = list(bags.notes)
    if idf == "yes" and not weight.any():
        notes.append("every word stands with every image: idf leaves all gains 0")
    return caption_cosine(
        "bow", split, weighted_sums(bags, weight), agg=agg, own=own,
        settings={**bags.settings, "idf": idf}, notes=tuple(notes),
    )  # fmt: skip


def bags_of(split: Split, argument: str | None, tokens: str, name: str, progress: Progress | None) -> Bags:
    """The captions of a split as bags of words with vectors.

    Args:
        split: with its captions.
        argument: the file of word vectors.
        tokens: how captions are cut into words: ``ptb`` or ``whitespace``, lower case both.
        name: of the gains, for messages.
        progress: told the share of the file that is read.

    Raises:
        UsageError: no file was named.
        BadInput: no captions, not a file of word vectors, or one that holds no word of the captions.
    """
    if argument is None:
        raise UsageError(
            f"{name} needs a file of word vectors", fix=f"give {name}:FILE, such as {name}:glove.6B.300d.txt"
        )
    if split.captions is None:
        raise BadInput(f"the captions of split '{split.name}' are not known", fix="load the split with its captions")
    path = Path(argument).expanduser()
    cut = tokenise(split.captions, tokens)
    found = read_word_vectors(path, cut.words, progress)
    if not found.words:
        raise BadInput(
            f"none of its {found.held:,} words stands in the captions of split '{split.name}'",
            where=path,
            fix="give vectors of the captions' language, of lower-case words",
        )
    place = {word: at for at, word in enumerate(found.words)}
    row_of = np.array([place.get(word, -1) for word in cut.words], np.int64)
    row = row_of[cut.word]
    caption = np.repeat(np.arange(len(cut)), cut.length)[row >= 0]
    entries, count = np.unique(caption * len(place) + row[row >= 0], return_counts=True)
    start = np.searchsorted(entries, np.arange(len(cut) + 1) * len(place))
    digest = hashlib.sha256("\n".join(found.words).encode("utf-8", "surrogatepass"))
    digest.update(found.vectors.tobytes())
    return Bags(
        start, entries % len(place), count.astype(np.float64), found.words, found.vectors,
        {"vectors": f"{path.name}#{digest.hexdigest()[:8]}", "tokens": tokens},
        (*cut.notes, *_said(cut, row_of, np.diff(start))),
    )  # fmt: skip


def idf_weights(bags: Bags, split: Split) -> Float:
    """(word,) log(images / images of whose captions at least one holds the word)."""
    owner = np.repeat(split.image_of, np.diff(bags.start))
    pairs = np.unique(bags.word * len(split.image_ids) + owner)
    images = np.bincount(pairs // len(split.image_ids), minlength=len(bags.words))
    return np.log(len(split.image_ids) / np.maximum(images, 1))


def weighted_sums(bags: Bags, weight: Float) -> Float:
    """(caption, dim) float64 sums of weighted word vectors; their cosines are those of the means."""
    from scipy.sparse import csr_array

    shape = (len(bags.start) - 1, len(bags.words))
    held = csr_array((bags.count * weight[bags.word], bags.word, bags.start), shape=shape)
    return np.asarray(held @ bags.vectors.astype(np.float64))


def _said(cut: Tokens, row_of: Int, sizes: Int) -> tuple[str, ...]:
    """What is left out: words without a vector, and captions of nothing else."""
    notes = []
    often = np.bincount(cut.word, minlength=len(cut.words))
    lost = [(-int(often[at]), cut.words[at]) for at in np.flatnonzero(row_of < 0).tolist()]
    if lost:
        share = -sum(n for n, _ in lost) / len(cut.word)
        most = ", ".join(f"'{word}'" for _, word in sorted(lost)[:3])
        notes.append(
            f"{len(lost):,} of {len(cut.words):,} distinct words ({share:.1%} of all) have no vector and are left out"
            f" (most frequent: {most})"
        )
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        notes.append(
            f"{len(empty):,} captions have no word with a vector (first: caption row {empty[0]}); their gains are 0"
        )
    return tuple(notes)
