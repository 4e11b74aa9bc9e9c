"""Label distances: values by their definitions, and labels that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests import oracle_unimodal as oracle
from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.unimodal.distances import LabelDistance, euclidean, precomputed
from vsebench.unimodal.masks import miou
from vsebench.unimodal.queries import select


def table(labels: LabelDistance, n: int, keep: bool = True, queries: npt.ArrayLike | None = None) -> np.ndarray:
    """(query, gallery) distances; the ideal distances of every query are checked."""
    chosen = select(n, None if queries is None else np.asarray(queries), keep)
    items = np.broadcast_to(np.arange(len(chosen.gallery)), (len(chosen.queries), len(chosen.gallery)))
    labels.check(n)
    depth = chosen.depth
    rows = np.empty(items.shape)
    for g in range(len(chosen.gallery)):
        rows[:, [g]] = labels.measure(chosen, slice(0, len(items)), items[:, [g]])[0]
    _, ideal = labels.measure(chosen, slice(0, len(items)), items[:, :depth].copy())
    owns = chosen.queries if chosen.kept else np.full(len(rows), -1)
    for row, own, best in zip(rows, owns.tolist(), ideal, strict=True):
        assert best.tolist() == sorted(d for g, d in enumerate(row.tolist()) if g != own)[:depth]
    return rows


def test_euclidean_is_not_squared() -> None:
    poses = np.array([[[0, 0], [0, 0]], [[3, 0], [0, 4]], [[0, 0], [0, 1]]])  # (item, joint, 2)
    assert table(euclidean(poses), 3).tolist() == [[0, 5, 1], [5, 0, 18**0.5], [1, 18**0.5, 0]]


@given(arrays(np.float32, st.tuples(st.integers(2, 9), st.integers(1, 300)), elements=st.floats(-9, 9, width=32)))
def test_euclidean_by_definition(labels: npt.NDArray[np.float32]) -> None:
    rows = labels.astype(np.float64).tolist()
    want = [[oracle.squared(a, b) ** 0.5 for b in rows] for a in rows]
    np.testing.assert_allclose(table(euclidean(labels), len(labels)), want, rtol=1e-13, atol=0)


def test_more_items_than_a_strip(rng: np.random.Generator) -> None:
    labels = rng.standard_normal((600, 3))
    lists = np.tile(np.arange(599), (2, 1))
    got = euclidean(labels).measure(select(600), slice(3, 5), lists)[0]
    np.testing.assert_allclose(got, np.linalg.norm(labels[3:5, None] - labels[None, :599], axis=2), rtol=1e-13)


def test_euclidean_refuses(refuses: Refuses) -> None:
    refuses(BadInput, euclidean, [[0, 0, 0], [0, 0, np.nan]], "y.npy")
    refuses(BadInput, euclidean, [[np.inf]])
    refuses(BadInput, euclidean, [[1e200]])
    refuses(BadInput, euclidean([[1.0], [2.0]]).check, 3)


def test_fingerprints_depend_on_the_numbers() -> None:
    a, b = euclidean([[1.0], [2.0]]).name, euclidean([[1.0], [2.5]]).name
    assert a != b and a.startswith("euclidean#") and len(a) == len("euclidean#") + 8
    assert a == euclidean(np.array([[1], [2]], np.int32)).name  # the same numbers in another dtype


SQUARE = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], float)


def test_precomputed_shapes() -> None:
    assert np.array_equal(table(precomputed(SQUARE), 4), SQUARE)
    # queries 2 and 0 against the others, from (item, item), (query, item) and (query, gallery)
    want = [[4, 6], [1, 3]]
    assert table(precomputed(SQUARE), 4, False, [2, 0]).tolist() == want
    assert table(precomputed(SQUARE[[2, 0]]), 4, False, [2, 0]).tolist() == want
    assert table(precomputed(SQUARE[[2, 0]][:, [1, 3]]), 4, False, [2, 0]).tolist() == want
    assert table(precomputed(SQUARE[[2, 0]]), 4, True, [2, 0]).tolist() == SQUARE[[2, 0]].tolist()


def test_precomputed_distances_are_not_changed() -> None:
    matrix = SQUARE.copy()
    matrix.flags.writeable = False
    table(precomputed(matrix), 4)


def test_precomputed_refuses(refuses: Refuses) -> None:
    for value in (np.nan, np.inf, -0.5):
        matrix = SQUARE.copy()
        matrix[1, 2] = value
        refuses(BadInput, precomputed, matrix, "d.npy")
    refuses(BadInput, precomputed, np.zeros(4))
    refuses(BadInput, table, precomputed(SQUARE), 5, False, [0, 1])
    refuses(BadInput, precomputed, 1.0 - SQUARE / 10)


def test_precomputed_warns() -> None:
    assert precomputed(SQUARE).warnings == ()
    asymmetric = SQUARE.copy()
    asymmetric[3, 1] = 7
    (warning,) = precomputed(asymmetric).warnings
    assert warning == "distances are not symmetric: [1, 3] is 5 and [3, 1] is 7; the row is the query"
    diagonal = SQUARE.copy()
    diagonal[2, 2] = 0.25
    assert precomputed(diagonal).warnings == ("1 item is not at distance 0 from themselves (item 2: 0.25)",)
    # rounding errors of a symmetric float32 matrix give no warning
    assert precomputed((SQUARE / 3).astype(np.float32) + np.float32(1e-7) * np.tri(4, dtype=np.float32)).warnings == ()


def test_worked_masks() -> None:
    a, b = [[0, 0], [1, 1]], [[0, 1], [1, 1]]
    # class 0: 1 of 2 pixels; class 1: 2 of 3
    assert table(miou([a, b]), 2)[0, 1] == pytest.approx(1 - (1 / 2 + 2 / 3) / 2)
    # a class that is in one of the masks only counts with an IoU of 0
    assert table(miou([[[0, 0]], [[0, 5]]]), 2)[0, 1] == pytest.approx(1 - (1 / 2 + 0) / 2)
    # pixels that have no label in one of the masks do not count
    assert table(miou([[[0, -1, 1]], [[0, 1, 1]]]), 2)[0, 1] == 0
    assert table(miou([[[0, 255, 1]], [[1, 1, 255]]], ignore=255), 2)[0, 1] == 1


@given(st.integers(1, 5), st.integers(1, 70), st.data())
def test_masks_by_definition(n: int, pixels: int, data: st.DataObject) -> None:
    values = st.integers(-1, 3)
    masks = data.draw(arrays(np.int16, (n + 1, 1, pixels), elements=values))
    masks[:, 0, 0] = 2  # one pixel is labelled in all masks
    flat = masks.reshape(n + 1, -1).tolist()
    for ignore in (None, 3):
        want = [[oracle.mask_distance(a, b, () if ignore is None else (ignore,)) for b in flat] for a in flat]
        np.testing.assert_allclose(table(miou(masks, ignore), n + 1), want, rtol=0, atol=1e-12)


def test_maps_of_classes(rng: np.random.Generator) -> None:
    masks = rng.integers(0, 4, (6, 9, 11))
    maps = np.stack([masks == c for c in range(5)], axis=1)  # class 4 never occurs
    assert np.array_equal(table(miou(maps), 6), table(miou(masks), 6))
    assert np.array_equal(table(miou(maps.astype(np.uint8)), 6), table(miou(masks.astype(np.uint8)), 6))


def test_masks_refuse(refuses: Refuses) -> None:
    refuses(BadInput, miou, np.zeros((2, 2), np.int64))
    refuses(BadInput, miou, np.zeros((2, 2, 2)))
    refuses(BadInput, miou, [[[0]], [[-1]]], where="m.npy")
    refuses(BadInput, miou, np.zeros((2, 3, 4, 4), bool))
    refuses(BadInput, miou, np.array([[[[1]]], [[[2]]]]))
    refuses(BadInput, table, miou([[[0, -1]], [[-1, 0]]]), 2)


WORDS = {"dog": (1, 0), "cat": (0.8, 0.2), "runs": (0, 1), "sleeps": (0.1, 0.9), "tree": (-1, 0.5)}
TEXTS = (("dog runs", "cat runs"), ("cat sleeps",), ("tree", "dog tree"), ("dog runs", "unheard of"), ("tree sleeps",))


def word_files(folder: Path) -> tuple[Path, Path]:
    """Captions of five images, and vectors of their words."""
    vectors, captions = folder / "words.txt", folder / "captions.jsonl"
    vectors.write_text("".join(f"{w} {x} {y}\n" for w, (x, y) in WORDS.items()), encoding="utf-8")
    rows = [(10 + i, 10 * i + j, text) for i, group in enumerate(TEXTS) for j, text in enumerate(group)]
    captions.write_text(
        "".join(f'{{"image_id": {i}, "caption_id": {c}, "caption": "{t}"}}\n' for i, c, t in rows), encoding="utf-8"
    )
    return captions, vectors


def transport(a: str, b: str) -> float:
    """Word mover's distance of captions of one or two words: the better of both ways to pair the words."""
    p, q = ([WORDS[w] for w in text.split() if w in WORDS] for text in (a, b))
    p, q = p * (2 // len(p)), q * (2 // len(q))
    cost = [[oracle.squared(x, y) ** 0.5 for y in q] for x in p]
    return min(cost[0][0] + cost[1][1], cost[0][1] + cost[1][0]) / 2


def set_distance(a: tuple[str, ...], b: tuple[str, ...]) -> float:
    """Equation 13: the sum of minima in both directions; captions without a word vector are left out."""
    x, y = ([t for t in group if any(w in WORDS for w in t.split())] for group in (a, b))
    there = sum(min(transport(s, t) for t in y) for s in x)
    return there + sum(min(transport(s, t) for s in x) for t in y)


def test_caption_sets_by_definition(tmp_path: Path, refuses: Refuses) -> None:
    pytest.importorskip("ot", reason="POT is not installed (pip install 'vsebench[wmd]')")
    from vsebench.unimodal.wmd import read_caption_sets

    captions, vectors = word_files(tmp_path)
    labels = read_caption_sets(captions, f"{vectors}:tokens=whitespace", None)
    want = [[set_distance(a, b) for b in TEXTS] for a in TEXTS]
    np.testing.assert_allclose(table(labels, 5), want, atol=1e-6)
    # by id, in another order and fewer of them
    picked = read_caption_sets(captions, f"{vectors}:tokens=whitespace", np.array([14, 10, 12]))
    np.testing.assert_allclose(table(picked, 3), np.array(want)[np.ix_([4, 0, 2], [4, 0, 2])], atol=1e-6)
    assert labels.name.startswith("wmd,vectors=words.txt#") and ",tokens=whitespace#" in labels.name
    assert labels.name != picked.name
    refuses(BadInput, read_caption_sets, captions, str(vectors), np.array([10, 99]))
    captions.write_text(captions.read_text(encoding="utf-8").replace("cat sleeps", "unheard"), encoding="utf-8")
    refuses(BadInput, read_caption_sets, captions, f"{vectors}:tokens=whitespace", None)
