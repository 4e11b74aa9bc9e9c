"""Score matrices of a re-ranker, which are one constant beyond the top of the rankings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.evaluation import top_scored
from vsebench.types import Direction

IMAGES, DEPTH = 60, 12


@pytest.fixture
def scores(rng: np.random.Generator) -> np.ndarray:
    """(image, text) cosines of a useful model."""
    images = rng.standard_normal((IMAGES, 16))
    texts = np.repeat(images, 5, axis=0) + 1.5 * rng.standard_normal((5 * IMAGES, 16))
    images, texts = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, texts))
    return np.asarray(images @ texts.T, np.float32)


def of_top(scores: np.ndarray, direction: Direction, value: float) -> np.ndarray:
    """The scores of the DEPTH best candidates of every query, and a constant elsewhere."""
    axis = 1 if direction == "i2t" else 0
    top = np.take(np.argsort(-scores, axis=axis), np.arange(DEPTH), axis=axis)
    out = np.full_like(scores, value)
    np.put_along_axis(out, top, np.take_along_axis(scores, top, axis), axis)
    return out


def evaluate(scores: np.ndarray, **options: Any) -> vsebench.Report:
    return vsebench.evaluate(scores=scores, metrics="R@1,R@10", ci=0, **options)


@pytest.mark.parametrize("value", [-1e4, -100.0, -1.0])
@pytest.mark.parametrize("scored,other", [("i2t", "t2i"), ("t2i", "i2t")])
def test_the_other_direction_is_refused(
    scores: np.ndarray, value: float, scored: Direction, other: Direction, refuses: Refuses
) -> None:
    matrix = of_top(scores, scored, value)
    for direction in ("both", other):
        caught = refuses(BadInput, evaluate, matrix, direction=direction)
        assert re.search(f"(--direction |direction=.){scored}", caught.fix)
    right, complete = evaluate(matrix, direction=scored), evaluate(scores, direction=scored)
    assert right["R@10", scored].value == complete["R@10", scored].value > 0.5
    assert not right.warnings


def uneven_top(scores: np.ndarray) -> np.ndarray:
    """The top of both directions, where rows and columns have levels of their own."""
    uneven = scores + np.linspace(-0.5, 0.5, IMAGES)[:, None] + np.linspace(-0.5, 0.5, 5 * IMAGES)
    return np.maximum(of_top(uneven, "i2t", -100), of_top(uneven, "t2i", -100))


def blocks(scores: np.ndarray, value: float) -> np.ndarray:
    """Each of four processes has scored its own images with its own texts: candidates of the others are missing."""
    owner = np.arange(5 * IMAGES) // 75
    return np.where(np.arange(IMAGES)[:, None] // 15 == owner, scores, np.float32(value))


WRONG: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[str, ...]]] = {
    # logits of both signs, as those of a matching head
    "not the lowest": (lambda s: of_top(s - 0.7 * s.max(), "i2t", 0.0), ("i2t", "t2i", "both")),
    "most candidates": (lambda s: np.where(s < np.sort(s, axis=1)[:, [100]], -100, s), ("both",)),
    "both directions": (uneven_top, ("both",)),
    **{f"blocks of {value}": (lambda s, value=value: blocks(s, value), ("both", "i2t", "t2i"))
       for value in (-100.0, 0.0, -np.inf)},
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_matrices_of_which_a_part_was_not_scored(case: str, scores: np.ndarray, refuses: Refuses) -> None:
    change, directions = WRONG[case]
    for direction in directions:
        error = refuses(BadInput, evaluate, change(scores), direction=direction)
        assert "blocks" not in case or "direction" not in error.fix


def test_infinite_scores(scores: np.ndarray, refuses: Refuses) -> None:
    """They are ranked last: the other scores of the direction that has them decide, and the other is refused."""
    refuses(BadInput, evaluate, of_top(scores, "i2t", -np.inf))
    as_read = evaluate(of_top(scores, "i2t", -np.inf), direction="i2t")
    assert as_read["R@1", "i2t"].value == evaluate(scores, direction="i2t")["R@1", "i2t"].value
    assert any("are -inf: these pairs are ranked last" in note for note in as_read.notes)


def test_trusted_with_a_warning(scores: np.ndarray) -> None:
    report = evaluate(of_top(scores, "i2t", -100), trust=True)
    assert any("% of the scores are -100" in w for w in report.warnings)


def test_what_is_no_constant_of_a_re_ranker(rng: np.random.Generator, scores: np.ndarray) -> None:
    words = (rng.random((IMAGES, 200)) < 0.02).astype(np.float32)
    counts = words @ (rng.random((200, 300)) < 0.02)  # most pairs share no word
    assert (counts == 0).mean() > top_scored.WARN_SHARE
    for matrix in (scores, counts, np.repeat(np.eye(IMAGES), 5, axis=1), np.zeros((IMAGES, 300))):
        found = top_scored.constant(matrix)
        assert found is None or (found.lowest and set(found.scored) in (set(), {"i2t", "t2i"}) and not found.apart)
    assert any("% of the scores are 0" in w for w in evaluate(counts, trust=True).warnings)
    assert not any("of the scores" in w for w in evaluate(scores).warnings)
    small = np.full((6, 30), -100.0)
    small[:, :3] = rng.random((6, 3))
    assert evaluate(small, trust=True).results  # too small to tell


@pytest.mark.parametrize("option", ["fuse", "rerank"])
def test_a_partly_computed_matrix_beside_the_first(scores: np.ndarray, option: str, refuses: Refuses) -> None:
    share = scores.copy()
    share[IMAGES // 2 :] = 0
    given: dict[str, Any] = {"fuse": [share]} if option == "fuse" else {"rerank": {"i2t": share}, "rerank_depth": 10}
    refuses(BadInput, evaluate, scores, **given)
