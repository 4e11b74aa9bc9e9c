"""Small files of word vectors, and splits with captions of their words."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from vsebench.types import Split

TABLE = {"cat": [1.0, 0.0, 0.5], "dog": [0.5, 1.0, 0.0], "the": [0.25, 0.25, 0.25], "sat": [-1.0, 2.0, 0.0]}


def lines_of(table: dict[str, list[float]]) -> list[str]:
    """The lines of a file of word vectors."""
    return [" ".join([word, *map(repr, values)]) for word, values in table.items()]


def saved(path: Path, lines: list[str], end: str = "\n") -> Path:
    """Lines in a file, compressed when its name ends in .gz."""
    text = "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def split_of(captions: list[str], image_of: list[int]) -> Split:
    """A split of captions with the image of each."""
    return Split("custom", np.arange(max(image_of) + 1), np.arange(len(captions)), np.array(image_of), tuple(captions))
