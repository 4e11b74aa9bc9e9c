"""Small files of word vectors, splits with captions of their words, and what holds for gains of every kind."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from vsebench.errors import UsageError
from vsebench.numeric.parallel import one_blas_thread
from vsebench.relevance.gains import Gains
from vsebench.relevance.matrix import of_matrix
from vsebench.types import DIRECTIONS, TestSet, Vectors

TABLE = {"cat": [1.0, 0.0, 0.5], "dog": [0.5, 1.0, 0.0], "the": [0.25, 0.25, 0.25], "sat": [-1.0, 2.0, 0.0]}


def lines_of(table: dict[str, list[float]]) -> list[str]:
    """The lines of a file of word vectors."""
    return [" ".join([word, *map(repr, values)]) for word, values in table.items()]


def saved(path: Path, lines: list[str], end: str = "\n") -> Path:
    """Lines in a file, compressed when its name ends in .gz."""
    text = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def split_of(captions: list[str], image_of: list[int], images: int | None = None) -> TestSet:
    """A split of captions with the image of each; the last images may have none."""
    ids = np.arange(max(image_of) + 1 if images is None else images)
    return TestSet.captioned("custom", ids, np.arange(len(captions)), np.array(image_of), tuple(captions))


def matrix_gains(values: np.ndarray) -> Gains:
    """(image, caption) gains of a split of that shape."""
    images, captions = values.shape
    return of_matrix(split_of([""] * captions, [0] * captions, images), values)


def whole(gains: Gains, block: int = 3) -> Vectors:
    """(image, caption) gains, after the checks of what holds for every kind.

    Rows of both directions, in one piece and in blocks, and pairs have the same bits; those that do not exist are
    refused.
    """
    with one_blas_thread():
        found = gains.rows(0, gains.shape[0])
        assert found.dtype == np.float32 and found.shape == gains.shape
        for direction in DIRECTIONS:
            table = found if direction == "i2t" else found.T
            own, (n, m) = (gains if direction == "i2t" else gains.T), table.shape
            assert own.shape == table.shape
            pieces = [own.rows(a, min(a + block, n)) for a in range(0, n, block)]
            assert np.concatenate(pieces).tobytes() == own.rows(0, n).tobytes() == table.tobytes()
            assert own.rows(n, n).shape == (0, m)
            query, items = np.arange(n)[::-1], np.random.default_rng(0).integers(0, m, (n, min(m, 9)))
            pairs = own.at(query, items)
            assert pairs.dtype == np.float32 and pairs.tobytes() == table[query[:, None], items].tobytes()
            assert own.at(query[:0], np.empty((0, 5), np.int64)).shape == (0, 5)
            for start, stop in ((-1, 1), (0, n + 1), (n, 0)):
                with pytest.raises(UsageError, match=rf" {start}:{stop} .* {n} "):
                    own.rows(start, stop)
            for number, item in ((0, m), (0, -1), (n, 0), (-1, 0)):
                with pytest.raises(UsageError, match=rf" {number or item} .* {n if number else m}"):
                    own.at(np.array([number]), np.array([[item]]))
            with pytest.raises(UsageError, match=r"\(1, 1\).*\(2,\)"):
                own.at(np.array([0, 0]), np.array([[0]]))
    return found
