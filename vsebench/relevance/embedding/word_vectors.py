"""Reading word vectors in text format, a word and its numbers a line: GloVe, and word2vec or fastText with a header.

Files have up to millions of words; only the vectors of the requested words are kept, but every line is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...arrays import composed
from ...errors import BadInput, count_of
from ...files.formats import expect, sniff
from ...files.regular import WEB_PAGE, reading, unpacked
from ...types import Vectors
from ..gains import Progress

LONGEST = 1 << 20  # bytes of a line; the widest vectors in use need some 40,000
TEXT_FORM = "give GloVe or word2vec vectors in text form, plain or gzip: a word and its numbers on every line"
_REPORT = 1 << 14  # lines between two calls of progress


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The vectors of the requested words that a file has."""

    words: tuple[str, ...]  # ascending
    vectors: Vectors  # (word, dim) float32, finite
    total: int  # number of words in the file


def read_word_vectors(path: Path, wanted: Iterable[str], progress: Progress | None = None) -> WordVectors:
    """Vectors of words from a text file, plain or gzip.

    The first line may be a header with the numbers of words and dimensions (word2vec, fastText). Fields are separated
    by one space or tab; a word may contain spaces, as some of GloVe do.

    Args:
        path: the file.
        wanted: the requested words, compared exactly, or in Unicode NFC where the file has no equal one.
        progress: called with the fraction of the file that is read.

    Raises:
        BadInput: not such a file, a malformed line (its number is named), a number that is not finite, a requested word
            that occurs twice, or another number of words than the header declares.
    """
    needed = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    inexact = {word: key for key, word in needed.items() if not key.isascii()}
    _expect_text(path)
    found: dict[bytes, tuple[int, list[float]]] = {}
    others: dict[bytes, tuple[int, list[float]]] = {}  # in another Unicode form
    dim, total, header, sep = 0, 0, None, b" "
    for number, line in _lines(path, progress):
        if number == 1:
            sep = b"\t" if b"\t" in line and b" " not in line else b" "
            header = _header(line, sep)
            if header is not None:
                dim = header[1]
                continue
        if dim == 0:
            dim = line.count(sep)
            if dim == 0:
                raise BadInput(f"line {number} has no numbers: {_shown(line)}", where=path, fix=TEXT_FORM)
        total += 1
        word = line[: line.find(sep)]
        if line.count(sep) != dim:
            word = _spaced_word(path, number, line, sep, dim)
        if word in needed:
            if word in found:
                what = f"'{needed[word]}' is on line {found[word][0]} and again on line {number}"
                raise BadInput(what, where=path, fix="remove one of the two lines")
            found[word] = (number, _numbers(path, number, line[len(word) + 1 :], sep))
        elif inexact and not word.isascii() and (nfc := composed(word.decode("utf-8", "surrogateescape"))) in inexact:
            others.setdefault(inexact[nfc], (number, _numbers(path, number, line[len(word) + 1 :], sep)))
    found = {**others, **found}
    if total == 0:
        raise BadInput("has no word vectors", where=path, fix=TEXT_FORM)
    if header is not None and header[0] != total:
        what = f"the first line declares {header[0]:,} words, and {total:,} follow"
        raise BadInput(what, where=path, fix="copy or download the file again")
    words = sorted(needed[word] for word in found)
    vectors = np.array([found[w.encode("utf-8", "surrogatepass")][1] for w in words], np.float64)
    if (np.abs(vectors) > np.finfo(np.float32).max).any():
        row = int(np.flatnonzero((np.abs(vectors) > np.finfo(np.float32).max).any(axis=1))[0])
        raise BadInput(f"the vector of '{words[row]}' exceeds float32", where=path, fix="scale the vectors")
    return WordVectors(tuple(words), vectors.astype(np.float32).reshape(len(words), dim), total)


def _expect_text(path: Path) -> None:
    if not path.is_file():
        kind = sniff(path)
        expect(path, kind, kind.name == "text", "a text file of word vectors", TEXT_FORM)
    with path.open("rb") as stream:
        head = stream.read(64)
    if not head.strip():
        raise BadInput("the file is empty", where=path, fix=TEXT_FORM)
    if head.startswith(b"PK"):
        raise BadInput("this is a zip archive", where=path, fix="unpack it and give the text file inside")
    if head.lower().startswith((*WEB_PAGE, b"version https://git-lfs")):
        raise BadInput("this is a web page, not the file of vectors", where=path, fix="download the file itself")


def _lines(path: Path, progress: Progress | None) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line without its end); empty lines at the end of the file are left out."""
    with reading(path, fix="copy or download it again"), path.open("rb") as raw:
        size = max(path.stat().st_size, 1)
        first_empty = 0
        for number, line in enumerate(iter(partial(unpacked(raw).readline, LONGEST), b""), 1):
            if len(line) == LONGEST:
                raise BadInput(f"line {number} is longer than {LONGEST:,} bytes", where=path, fix=TEXT_FORM)
            if b"\0" in line:
                raise BadInput(f"line {number} is binary, not text", where=path, fix=TEXT_FORM)
            if progress is not None and number % _REPORT == 0:
                progress(min(raw.tell() / size, 1.0))
            line = line.rstrip(b" \t\r\n")
            if not line:
                first_empty = first_empty or number
                continue
            if first_empty:
                raise BadInput(f"line {first_empty} is empty", where=path, fix="remove the line")
            yield number, line


def _header(line: bytes, sep: bytes) -> tuple[int, int] | None:
    """(words, dimensions) if a first line is a header: two integers only."""
    fields = line.split(sep)
    if len(fields) == 2 and all(f.isdigit() and len(f) < 12 for f in fields) and int(fields[1]) > 0:
        return int(fields[0]), int(fields[1])
    return None


def _spaced_word(path: Path, number: int, line: bytes, sep: bytes, dim: int) -> bytes:
    """The word of a line with more than ``dim`` + 1 fields: a word with spaces; a further number is refused."""
    if line.count(sep) > dim:
        word = line.rsplit(sep, dim)[0]
        try:
            float(word.rsplit(sep, 1)[-1])
        except ValueError:
            return word
    what = f"line {number} has {count_of(line.count(sep), 'number')}, expected {dim}: {_shown(line)}"
    raise BadInput(what, where=path, fix=TEXT_FORM)


def _numbers(path: Path, number: int, text: bytes, sep: bytes) -> list[float]:
    try:
        values = [float(field) for field in text.split(sep)]
    except ValueError as error:
        raise BadInput(f"line {number} has a field that is not a number ({error})", where=path, fix=TEXT_FORM) from None
    if not all(map(math.isfinite, values)):
        raise BadInput(f"line {number} has a number that is not finite", where=path, fix="remove the line")
    return values


def _shown(line: bytes) -> str:
    text = line[:40].decode("utf-8", "replace")
    return f"'{text}{'...' if len(line) > 40 else ''}'"
