"""A hostile input, and the good one that most are made from: 60 images, five captions each, near their images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

IMAGES, TIMES, DIM = 60, 5, 16
TEXTS = IMAGES * TIMES

Array = npt.NDArray[Any]
Make = Callable[[Path], Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A malformed or hostile input.

    Attributes:
        name: what is wrong with it.
        make: writes it into an empty folder and returns the command line.
        code: the documented exit code; what is said stands in ``messages.json`` of the test.
        needs: packages without which it cannot be made or read.
    """

    name: str
    make: Make
    code: int = 3
    needs: tuple[str, ...] = ()


def vectors(images: int = IMAGES, times: int = TIMES, dim: int = DIM, noise: float = 0.5) -> tuple[Array, Array]:
    """(image, dim) and (text, dim) float32; texts follow their images, five by five."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((images, dim))
    y = np.repeat(x, times, axis=0) + noise * rng.standard_normal((images * times, dim))
    return x.astype(np.float32), y.astype(np.float32)


def arrays(**change: Any) -> dict[str, Any]:
    """The arrays of a good .npz; a changed array replaces the one of its name, None leaves it out."""
    x, y = vectors()
    full: dict[str, Any] = {
        "image_embeddings": x,
        "text_embeddings": y,
        "image_ids": np.arange(IMAGES) + 1000,
        "text_ids": np.arange(TEXTS) + 5000,
        "image_of_text": np.arange(TEXTS) // TIMES,
    }
    full.update(change)
    return {name: value for name, value in full.items() if value is not None}


def npz(folder: Path, name: str = "e.npz", /, **change: Any) -> list[str]:
    """Write an .npz with changed arrays and return the command that evaluates it."""
    path = folder / name
    with path.open("wb") as stream:
        np.savez(stream, **arrays(**change))
    return ["eval", str(path)]


def bare(folder: Path, images: Array, texts: Array, **more: Any) -> list[str]:
    """As ``npz``, with nothing but vectors (and ``more``)."""
    plain = {"image_ids": None, "text_ids": None, "image_of_text": None, **more}
    return npz(folder, image_embeddings=images, text_embeddings=texts, **plain)


def spoiled(side: str, row: int, value: Any, column: int | slice = 3) -> dict[str, Array]:
    """``{array name: vectors}`` with one entry (or row) replaced."""
    name = f"{side}_embeddings"
    array = arrays()[name].copy()
    array[row, column] = value
    return {name: array}


def pair(folder: Path, images: Array, texts: Array) -> list[str]:
    """Write two .npy files and return the command that evaluates them."""
    np.save(folder / "images.npy", images)
    np.save(folder / "texts.npy", texts)
    return ["eval", str(folder / "images.npy"), "--texts", str(folder / "texts.npy")]


def scores(folder: Path, matrix: Array, *more: str) -> list[str]:
    """Write a score matrix and return the command that evaluates it."""
    np.save(folder / "scores.npy", matrix)
    return ["eval", "--scores", str(folder / "scores.npy"), *more]


def good_scores() -> Array:
    """(60, 300) float32 scores."""
    x, y = vectors()
    return x @ y.T


def raw(folder: Path, name: str, data: bytes) -> list[str]:
    """Write bytes and return the command that evaluates them."""
    (folder / name).write_bytes(data)
    return ["eval", str(folder / name)]
