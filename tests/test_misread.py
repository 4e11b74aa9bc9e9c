"""Files whose rows are in another order than they are read are refused; bad models are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench
from vsebench.errors import BadInput
from vsebench.evaluation.misread import Reading, suspect
from vsebench.rank.scorers import Dot, Matrix
from vsebench.types import Int, Split

Array = npt.NDArray[np.float32]
SIZES = [50, 60, 120, 300, 1500]


def split(n: int, times: int = 5) -> Split:
    """Captions follow their images."""
    return Split("custom", np.arange(n), np.arange(n * times), np.arange(n * times) // times)


def model(n: int, times: int = 5, noise: float = 0.6, seed: int = 1) -> tuple[Array, Array]:
    """Vectors of a good model: captions are their images plus noise."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 16))
    y = np.repeat(x, times, axis=0) + noise * rng.standard_normal((n * times, 16))
    return x.astype(np.float32), y.astype(np.float32)


def major(texts: Array, times: int = 5) -> Array:
    """First text of every image, then the second of every image, ..."""
    n = len(texts) // times
    return texts.reshape(n, times, -1).swapaxes(0, 1).reshape(len(texts), -1)


def better_reading(
    x: Array, y: Array, times: int = 5, rows: tuple[Int | None, Int | None] = (None, None)
) -> Reading | None:
    """The better reading of vectors, or None."""
    return suspect(Dot(x, y, cosine=True), split(len(x), times), rows)[1]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(6))
def test_random_vectors_are_a_bad_model(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, 8)).astype(np.float32), rng.standard_normal((5 * n, 8)).astype(np.float32)
    images, texts = rng.permutation(n), rng.permutation(5 * n)
    assert better_reading(x, y) is None
    assert better_reading(x, y, rows=(images, texts)) is None


@pytest.mark.parametrize("n", SIZES)
def test_collapsed_vectors_are_a_bad_model(n: int) -> None:
    x, y = model(n)
    one = np.ones_like(y)
    assert better_reading(x, one) is None
    assert better_reading(np.ones_like(x), y) is None
    assert better_reading(np.ones_like(x), one, rows=(np.arange(n)[::-1], np.arange(5 * n)[::-1])) is None
    half = y.copy()
    half[: len(y) // 2] = half[0]
    assert better_reading(x, half) is None


@pytest.mark.parametrize("n", SIZES)
def test_a_wrong_sign_is_a_bad_model(n: int) -> None:
    x, y = model(n)
    assert better_reading(x, -y) is None
    assert better_reading(x, -y, rows=(np.random.default_rng(0).permutation(n), None)) is None


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0])
def test_a_correct_file_passes(n: int, noise: float) -> None:
    x, y = model(n, noise=noise)
    as_read, better = suspect(Dot(x, y, cosine=True), split(n), (None, None))
    assert better is None and as_read.recall > 10 / n


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("times", [2, 5])
def test_caption_major_texts_are_found(n: int, times: int) -> None:
    x, y = model(n, times)
    better = better_reading(x, major(y, times), times)
    assert better is not None and better.recall > 0.9
    assert (
        better.words == f"with the texts stored as {times} runs of {n:,} (first text of every image, then second, ...)"
    )


@pytest.mark.parametrize("n", SIZES)
def test_shuffled_ids_are_found(n: int) -> None:
    x, y = model(n)
    rows = np.random.default_rng(2).permutation(n)  # of the ids; the vectors are in order
    better = better_reading(x[rows], y, rows=(rows, None))
    assert better is not None and better.recall > 0.9
    assert better.words in ("with the rows of the file in order and its ids ignored", "with 5 texts an image in order")


def test_shuffled_text_ids_are_found() -> None:
    x, y = model(200)
    columns = np.random.default_rng(2).permutation(1000)
    better = better_reading(x, y[columns], rows=(None, columns))
    assert better is not None and better.words == "with the rows of the file in order and its ids ignored"


def test_small_splits_are_not_checked() -> None:
    x, y = model(49)
    assert better_reading(x, major(y)) is None
    assert better_reading(*model(1)) is None


def test_score_matrices_are_checked_too() -> None:
    x, y = model(100)
    scores = x @ y.T
    assert suspect(Matrix(scores), split(100), (None, None))[1] is None
    assert suspect(Matrix(x @ major(y).T), split(100), (None, None))[1] is not None


def write(folder: Path, **arrays: Any) -> Path:
    """A file of embeddings."""
    np.savez(folder / "e.npz", **arrays)
    return folder / "e.npz"


def test_the_error_names_both_readings_and_trust_makes_it_a_warning(tmp_path: Path) -> None:
    x, y = model(100)
    file = write(tmp_path, images=x, texts=major(y))
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(file)
    assert caught.value.where == str(file) and "--trust" in (caught.value.fix or "")
    assert caught.value.what.startswith("recall collapses: sampled text-to-image R@10 is ")
    assert "with the texts stored as 5 runs of 100" in caught.value.what
    report = vsebench.evaluate(file, trust=True)
    assert caught.value.what in report.warnings
    assert report["R@1", "t2i"].value < 0.1


def test_a_file_with_wrong_ids(tmp_path: Path) -> None:
    x, y = model(100)
    wrong = np.random.default_rng(4).permutation(100)
    arrays: dict[str, Any] = {"images": x, "texts": y, "image_ids": wrong, "image_index": np.arange(500) // 5}
    assert vsebench.evaluate(write(tmp_path, **arrays))["R@1", "t2i"].value > 0.5, "rows are given, ids do not matter"
    named = np.array([f"n{i:03}" for i in range(100)])
    arrays = {"images": x, "texts": y, "image_ids": named[wrong], "image_of_text": named[np.arange(500) // 5]}
    with pytest.raises(BadInput, match=r"in order and its ids ignored|texts an image in order"):
        vsebench.evaluate(write(tmp_path, **arrays))


def test_arrays_in_memory_are_checked_too() -> None:
    x, y = model(100)
    with pytest.raises(BadInput, match="recall collapses"):
        vsebench.evaluate(x, major(y))
    assert any("recall collapses" in w for w in vsebench.evaluate(x, major(y), trust=True).warnings)
