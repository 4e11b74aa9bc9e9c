"""Bag-of-words gains: cosine of the mean word vectors of captions (continuous bag of words, GloVe, fastText).

A cheap approximation of a sentence encoder, and the cheap half of coarse-to-fine gains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...arrays import composed
from ...errors import BadInput, UsageError, count_of
from ...files.regular import check_file, expanded, reading, unpacked
from ...log import note
from ...numeric import elementary
from ...text.ptb import tokenise
from ...text.tokens import Tokens
from ...types import Float, Int, TestSet, Vectors
from ..gains import Gains
from .aggregate import caption_cosine


@dataclass(frozen=True, eq=False)
class Bags:
    """The words of every caption that have a vector.

    Attributes:
        start: (caption + 1,) int64, where the entries of each caption start.
        word: (entry,) int64 rows of ``vectors``, ascending within a caption.
        count: (entry,) float64, number of occurrences of the word in the caption.
        vectors: (word, dim) float32.
        settings: for the signature.
    """

    start: Int
    word: Int
    count: Float
    vectors: Vectors
    settings: Mapping[str, str]


def load(test: TestSet, argument: str | None, settings: Mapping[str, str]) -> Gains:
    """Gains from a file of word vectors.

    Args, see ``sources.Loader``:
        argument: a file of word vectors in GloVe or word2vec text format, plain or gzip.
        settings: ``tokens`` (ptb, whitespace); ``idf`` (no, yes): weight a word by log(images / images whose
            captions contain it); ``agg`` (max, mean, first); ``own`` (in, one, out).

    Raises:
        UsageError: no file is named.
        BadInput: the file has no word vectors, or none of the words of the captions.
    """
    from scipy.sparse import csr_array

    bags, n = bags_of(test, argument, settings["tokens"], "bow"), len(test.rows)
    weight = np.ones(len(bags.vectors))
    if settings["idf"] == "yes":
        pairs = np.unique(bags.word * n + np.repeat(test.owners, np.diff(bags.start)))
        weight = elementary.log(n / np.maximum(np.bincount(pairs // n, minlength=len(weight)), 1))
        if not weight.any():
            note("every word occurs in the captions of every image: with idf all gains are 0")
    shape = (len(bags.start) - 1, len(weight))
    counts = csr_array((bags.count * weight[bags.word], bags.word, bags.start), shape=shape)
    vectors = np.asarray(counts @ bags.vectors.astype(np.float64))  # sums have the same cosines as means
    settings_of_bags = {**bags.settings, "idf": settings["idf"]}
    return caption_cosine("bow", test, vectors, agg=settings["agg"], own=settings["own"], settings=settings_of_bags)


def bags_of(test: TestSet, argument: str | None, tokens: str, name: str) -> Bags:
    """The captions of a split as bags of words with vectors.

    Args:
        test: with its captions.
        argument: a file of word vectors.
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
    words, vectors = read_word_vectors(path, tokenised.words)
    row_by_word = {word: row for row, word in enumerate(words)}
    row_of = np.array([row_by_word.get(word, -1) for word in tokenised.words], np.int64)
    row = row_of[tokenised.word]
    caption = np.repeat(np.arange(len(tokenised)), tokenised.length)[row >= 0]
    n_word = len(row_by_word)
    entries, count = np.unique(caption * n_word + row[row >= 0], return_counts=True)
    start = np.searchsorted(entries, np.arange(len(tokenised) + 1) * n_word)
    digest = hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass"))
    digest.update(vectors.tobytes())
    note(*tokenised.notes)
    _note_left_out(tokenised, row_of, np.diff(start))
    settings = {"vectors": f"{path.name}#{digest.hexdigest()[:8]}", "tokens": tokens}
    return Bags(start, entries % n_word, count.astype(np.float64), vectors, settings)


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


MAX_LINE_BYTES = 1 << 20  # bytes of a line; the widest vectors in use need some 40,000
TEXT_FORM = "give GloVe or word2vec vectors in text form, plain or gzip: a word and its numbers on every line"


def read_word_vectors(path: Path, wanted: Iterable[str]) -> tuple[tuple[str, ...], Vectors]:
    """Vectors of words from a text file, plain or gzip.

    The first line may be a header with the numbers of words and dimensions (word2vec, fastText). Fields are separated
    by one space or tab; a word may contain spaces, as some of GloVe do.

    Args:
        path: the file.
        wanted: the requested words, compared exactly, or in Unicode NFC if the file has no equal one.

    Returns:
        The requested words that the file has, ascending, and their (word, dim) float32 vectors.

    Raises:
        BadInput: not such a file, a malformed line (its number is named), a vector that is not finite, a requested word
            that occurs twice, or another number of words than the header declares.
    """
    needed = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    inexact = {word for key, word in needed.items() if not key.isascii()}
    found: dict[str, tuple[int, bytes]] = {}  # word -> number of its line, and the fields
    others: dict[str, tuple[int, bytes]] = {}  # in another Unicode form
    dim, total, declared, sep = 0, 0, None, b" "
    check_file(path, TEXT_FORM)
    with reading(path, fix="copy or download it again"), path.open("rb") as raw:
        for number, line in enumerate(iter(partial(unpacked(raw).readline, MAX_LINE_BYTES), b""), 1):
            line = line.rstrip(b" \t\r\n")
            if number == 1:
                sep = b"\t" if b"\t" in line and b" " not in line else b" "
                dim, header = line.count(sep), line.split(sep)
                if len(header) == 2 and all(part.isdigit() and len(part) < 12 for part in header):
                    declared, dim = map(int, header)
                    continue
            if not line:
                continue
            total += 1
            fields = line.count(sep)
            word = line[: line.find(sep)] if fields == dim else line.rsplit(sep, dim)[0]
            if not dim or fields < dim or (fields > dim and _numbers(word.rsplit(sep, 1)[-1:])):
                start = f"'{line[:40].decode('utf-8', 'replace')}{'...' if len(line) > 40 else ''}'"
                what = f"line {number} has {count_of(fields, 'number')}, expected {dim or 'more'}: {start}"
                raise BadInput(what, where=path, fix=TEXT_FORM)
            if (name := needed.get(word)) is not None:
                if name in found:
                    what = f"'{name}' is on line {found[name][0]} and again on line {number}"
                    raise BadInput(what, where=path, fix="remove one of the two lines")
                found[name] = number, line[len(word) + 1 :]
            elif inexact and not word.isascii():
                name = composed(word.decode("utf-8", "surrogateescape"))
                if name in inexact:
                    others.setdefault(name, (number, line[len(word) + 1 :]))
    if declared not in (None, total):
        what = f"the first line declares {declared:,} words, and {total:,} follow"
        raise BadInput(what, where=path, fix="copy or download the file again")
    found = {**others, **found}
    if not found:
        what = f"none of its {total:,} words occurs in the captions"
        raise BadInput(what, where=path, fix="give vectors of the captions' language, of lower-case words")
    vectors = np.empty((len(found), dim))
    for row, name in enumerate(words := sorted(found)):
        number, text = found[name]
        values = _numbers(text.split(sep))
        if values is None or not np.abs(values).max() <= np.finfo(np.float32).max:
            what = f"line {number} has a field that is not a number, or is not finite in float32"
            raise BadInput(what, where=path, fix=TEXT_FORM)
        vectors[row] = values
    return tuple(words), vectors.astype(np.float32)


def _numbers(fields: list[bytes]) -> list[float] | None:
    """The fields as numbers; None if one is not a number."""
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None
