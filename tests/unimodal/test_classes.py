"""Labels that are classes: refused where they could be numbers, and measured as one-hot vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import cli, refused
from tests.messages import Pinned, Refuses
from vsebench import evaluate_unimodal
from vsebench.errors import BadInput, UsageError

N, CLASSES = 90, 7


@pytest.fixture
def world(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Vectors near the centre of their class, and the classes."""
    code = rng.integers(0, CLASSES, N)
    return rng.standard_normal((CLASSES, 12))[code] + rng.standard_normal((N, 12)), code


def values(vectors: Any, labels: Any, **options: Any) -> list[float]:
    """nDCG and mean label distance."""
    report = evaluate_unimodal(vectors, labels, metrics="nDCG@10,MLD@10", ci=0, **options)
    return [result.value for result in report.results]


@pytest.mark.parametrize("spelled", [str, np.int64, np.uint8, np.float32, "column", bytes])
def test_classes_are_one_hot_vectors(world: tuple[np.ndarray, np.ndarray], spelled: Any) -> None:
    vectors, code = world
    labels = code[:, None] if spelled == "column" else code.astype(spelled)
    want = values(vectors, np.eye(CLASSES)[code])
    assert values(vectors, labels, labels_are="classes") == pytest.approx(want, abs=1e-12)
    as_numbers = values(vectors, code.astype(float), labels_are="numbers")
    assert as_numbers == values(vectors, np.stack([code, 0 * code], 1).astype(float)) != pytest.approx(want, abs=0.01)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_integers_that_repeat_are_refused(world: tuple[np.ndarray, np.ndarray], dtype: Any, refuses: Refuses) -> None:
    refuses(UsageError, values, world[0], world[1].astype(dtype))
    for few in (np.arange(N), np.arange(N) // 2 + 0.5, np.arange(2 * N).reshape(N, 2)):
        assert len(values(world[0], few)) == 2  # distinct numbers, fractions and vectors need no option


def test_strings_are_classes(world: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    vectors, code = world
    want = values(vectors, code, labels_are="classes")
    named = np.array([f"class {c}" for c in code])
    assert values(vectors, named) == values(vectors, list(named)) == values(vectors, named.astype(object)) == want
    np.save(tmp_path / "v.npy", vectors.astype(np.float32))
    for name, labels in (("words", named), ("digits", code.astype(str))):
        np.save(tmp_path / f"{name}.npy", labels)
        assert values(tmp_path / "v.npy", tmp_path / f"{name}.npy") == want
    np.savez(tmp_path / "l.npz", labels=named[::-1], ids=np.arange(N)[::-1])
    assert values(tmp_path / "v.npy", tmp_path / "l.npz") != want  # rows without ids on one side


def test_the_command_asks_what_labels_are(world: tuple[np.ndarray, np.ndarray], tmp_path: Path, pinned: Pinned) -> None:
    np.save(tmp_path / "v.npy", world[0].astype(np.float32))
    np.save(tmp_path / "c.npy", world[1])
    arguments = ["unimodal", tmp_path / "v.npy", "--labels", tmp_path / "c.npy", "--metrics", "nDCG@10"]
    pinned(refused(*arguments))
    done = cli(*arguments, "--labels-are", "classes", "--ci", "0")
    pinned(done.err)
    assert "classes#" in done.out


def test_missing_classes_and_strings_as_numbers(world: tuple[np.ndarray, np.ndarray], refuses: Refuses) -> None:
    vectors, code = world
    refuses(UsageError, values, vectors, code, labels_are="colours")
    refuses(UsageError, values, vectors, code, labels_are="classes", label_distance="euclidean")
    refuses(BadInput, values, vectors, np.stack([code, code], 1), labels_are="classes")
    lost = code.astype(float)
    lost[[3, 7]] = np.nan
    refuses(BadInput, values, vectors, lost, labels_are="classes")
    refuses(BadInput, values, vectors, np.where(code == code[0], "", code.astype(str)))
    refuses(UsageError, values, vectors, code.astype(str), labels_are="numbers")
    assert values(vectors, code.astype(str), labels_are="classes") == values(vectors, code, labels_are="classes")
