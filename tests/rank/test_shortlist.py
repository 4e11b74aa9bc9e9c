"""One product for both directions: scores kept from tiles give the orders and values of complete rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.graded_worlds import FakeGains, large_world
from tests.worlds import tied_world
from vsebench.graded import shared_product
from vsebench.graded.engine import Found, run
from vsebench.graded.rankings import plan, share_scores
from vsebench.graded.tasks import restrict
from vsebench.metrics import parse
from vsebench.rank import full_order, shortlist, shortlist_kernels
from vsebench.rank.scorers import Dot, Matrix, Scorer
from vsebench.rank.shortlist import Shortlist
from vsebench.types import Int, Vectors

NAMES = (
    "CS@5", "CS[captions=all]@40", "CS[captions=all,gt=out]@12", "NCS@3", "SR[m=20,gt=out]@8", "nDCG[captions=first]@9",
    "SR[m=2,unit=image]@3", "CS[on=folds]@7", "NCS[on=block]@2",
)  # fmt: skip


def scorer(n: int, m: int, seed: int = 0, cosine: bool = False) -> Dot:
    """Vectors of which many scores tie exactly or nearly."""
    world = tied_world(n, m, 6, 40, seed=seed)
    return Dot(world.images, world.captions, cosine)


def kept(dot: Dot, k: int, captions: Int, width: int = 70, spoil: float = 0.0) -> Shortlist:
    """The kept scores of all captions, in tiles in any order; ``spoil`` moves them by that part of the bound."""
    found = Shortlist(dot, k, captions, -(-dot.shape[1] // width))
    for start in reversed(range(0, dot.shape[1], width)):
        stop = min(start + width, dot.shape[1])
        found.add(scores(dot, k, start, stop, spoil), start)
    assert found.finish()
    return found


def scores(dot: Dot, k: int, start: int, stop: int, spoil: float = 0.0) -> Vectors:
    """(image, caption) scores of captions ``start:stop``, as they are computed for the depth."""
    tile = full_order.columns_of(dot, start, stop, np.empty((dot.shape[0], stop - start), np.float32))
    captions = np.arange(start, stop)
    if k > full_order.SHALLOW:
        full_order.refine(dot, "t2i", tile.T, start, captions, full_order.float32_bound(dot, "t2i", captions))
        return tile
    bound = full_order.float32_bound(dot, "i2t", np.arange(dot.shape[0])).base[:, None]
    return tile + (spoil * bound * np.random.default_rng(start).choice([-1, 1], tile.shape)).astype(np.float32)


def check(found: Shortlist, dot: Dot, k: int, captions: Int) -> None:
    """The orders of all images are those of a stable sort of canonical scores."""
    n = dot.shape[0]
    scores = dot.pairs(np.repeat(np.arange(n), len(captions)), np.tile(captions, n), 1).reshape(n, -1)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(scores, want, 1)
    for start, stop in ((0, n // 2), (n // 2, n)):
        order = found.order(start, stop)
        assert order.items.tolist() == want[start:stop].tolist()
        assert order.tied[:, 1:].tolist() == (best[start:stop, 1:] == best[start:stop, :-1]).tolist()
        assert not order.tied[:, 0].any()


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("k", [1, 4, 60, 150])
def test_the_k_best_of_every_image(k: int, cosine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SAMPLE", 150), ("PIECE", 40)):  # the last piece is incomplete, and so is the last part
        monkeypatch.setattr(shortlist, name, value)
    monkeypatch.setattr(full_order, "PART", 2000)
    dot = scorer(40, 700, cosine=cosine)
    every, some = np.arange(700), np.sort(np.random.default_rng(2).choice(700, 300, replace=False))
    for captions in (every, some, every[100:500]):
        for spoil in (0.0, 0.9):
            check(kept(dot, k, captions, spoil=spoil), dot, k, captions)


def test_images_with_too_few_kept_scores_get_complete_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "MARGIN", -6.0)
    dot = scorer(40, 700, seed=3)
    found = kept(dot, 60, np.arange(700))
    assert len(found.complete) > 10
    check(found, dot, 60, np.arange(700))


@pytest.mark.parametrize("k", [30, 90])
def test_many_near_ties_are_scored_again(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are nearly equal: the order is made from float64 products of the images."""
    rng = np.random.default_rng(5)
    x, y = ((0.05 + 1e-6 * rng.standard_normal((n, 64))).astype(np.float32) for n in (30, 400))
    dot = Dot(x, y)
    again: list[int] = []

    def float64_order(scorer: Dot, direction: Any, queries: Int, *rest: Any) -> Any:
        again.extend(queries.tolist())
        return made(scorer, direction, queries, *rest)

    made = full_order.float64_order
    monkeypatch.setattr(full_order, "float64_order", float64_order)
    check(kept(dot, k, np.arange(400)), dot, k, np.arange(400))
    assert again == list(range(30))


def test_a_list_that_is_too_large_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """All captions tie, so all scores reach the limits; values come from complete rows, and memory stays small."""
    monkeypatch.setattr(shortlist, "SPARE", 0)
    world = large_world(150, 5, seed=11)
    images = np.random.default_rng(0).integers(1, 9, (world.scores.shape[0], 4)).astype(np.float32)
    dot = Dot(images, np.ones((world.scores.shape[1], 4), np.float32))
    found = Shortlist(dot, 5, np.arange(dot.shape[1]), 1)
    found.add(full_order.columns_of(dot, 0, dot.shape[1], np.empty(dot.shape, np.float32)), 0)
    assert found.too_large and not found.pieces and not found.finish()
    steps: list[tuple[int, int]] = []
    metrics, gains = [parse("CS[captions=all]@5"), parse("NCS@2")], {"cider": FakeGains(world.gains)}
    shared = run(dot, world.split, metrics, gains, progress=lambda *step: steps.append(step), block=100)
    assert steps[-1][0] == steps[-1][1] and [done for done, _ in steps] == list(range(1, len(steps) + 1))
    monkeypatch.setattr(shared_product, "MOST_BYTES", 0)
    _same(shared, run(dot, world.split, metrics, gains))


@pytest.mark.parametrize("captions", [1, 2, 4])
def test_small_galleries_keep_all_scores(captions: int) -> None:
    rng = np.random.default_rng(captions)
    dot = Dot(rng.integers(1, 4, (3, 3)).astype(np.float32), rng.integers(1, 4, (captions, 3)).astype(np.float32))
    found = kept(dot, 1, np.arange(captions))
    assert np.isneginf(found.limit).all() and not found.complete
    check(found, dot, 1, np.arange(captions))


def test_columns_are_transposed_rows() -> None:
    dot = scorer(37, 90, cosine=True)
    tile = full_order.columns_of(dot, 20, 71, np.empty((37, 51), np.float32))
    rows, _ = full_order.rows_of(dot, "t2i", 20, 71, 5, np.empty(37 * 51, np.float32))
    assert pytest.approx(rows, abs=1e-6) == tile.T


@pytest.mark.parametrize(
    ("low", "mean"), [(0.3, 0.4), (1e-4, 0.0), (0.0, 0.0), (-0.2, -0.3), (-np.inf, 0.0), (0.999, 0.9)]
)
@pytest.mark.parametrize("length", [1.0, 1e-12, 3e9])
def test_kept_scores_are_within_the_stated_loss(low: float, mean: float, length: float) -> None:
    rng = np.random.default_rng(1)
    images = np.eye(3, dtype=np.float32)
    limit = np.full(3, low * length, np.float32)
    dot = Dot(images, np.eye(3, dtype=np.float32) * np.float32(length))
    least, shift = shortlist._shifts(dot, limit)
    origin = (least - shift).view(np.int32)
    tile = np.clip(rng.normal(mean, 0.3, (3, 256)), -1, 1).astype(np.float32) * np.float32(length)
    tile[:, :4] = np.float32(length) * np.array([1, -1, 0, 0.5], np.float32)
    start, out = np.empty(4, np.int64), np.empty(3 * 256 + 1, np.uint32)
    some, code = np.empty(256, np.float32), np.empty(256, np.uint32)
    bits = some.view(np.int32)
    shortlist_kernels.keep(tile, 0, 256, least, shift, origin, some, bits, code, start, out)
    items, scores, count = np.empty((3, 256), np.int32), np.empty((3, 256), np.float32), np.zeros(3, np.int64)
    patterns = scores.view(np.int32)
    shortlist_kernels.append(start, out, 1000, shift, origin, np.arange(3), items, scores, patterns, count)
    over = np.zeros(3, np.int64)
    shortlist_kernels.count_over(start, out, shift, origin, least, some, bits, over)
    for row in range(3):
        want = np.flatnonzero(tile[row] >= limit[row])
        assert items[row, : count[row]].tolist() == (want + 1000).tolist()
        exact, rounded = tile[row, want].astype(np.float64), scores[row, : count[row]].astype(np.float64)
        assert (np.abs(rounded - exact) <= shortlist.LOSS * (np.abs(exact) + abs(float(shift[row])))).all()
        assert over[row] == (scores[row, : count[row]] >= least[row]).sum()


@pytest.mark.parametrize("cosine", [False, True])
def test_a_shared_product_changes_nothing(monkeypatch: pytest.MonkeyPatch, cosine: bool) -> None:
    world = large_world(120, 5, seed=5)
    dot = scorer(world.scores.shape[0], world.scores.shape[1], seed=6, cosine=cosine)
    metrics, gains = [parse(name) for name in NAMES], {"cider": FakeGains(world.gains)}
    found = products(dot, metrics, world.split)
    assert len(found[0].lists) == 2  # all captions, and the first of every image
    assert len(found) > 1  # folds
    shared = run(dot, world.split, metrics, gains)
    for block, threads in ((7, 1), (100, 3)):
        _same(shared, run(dot, world.split, metrics, gains, block=block, threads=threads))
    monkeypatch.setattr(shared_product, "MOST_BYTES", 0)
    _same(shared, run(dot, world.split, metrics, gains))


def products(source: Scorer, metrics: Any, split: Any, directions: Any = ("i2t", "t2i"), size: int = 1 << 20) -> Any:
    scorers = {s: restrict(source, s.first) for s in share_scores(plan(metrics, split, directions))}
    return shared_product.shared_products(scorers, 2, size)


@pytest.mark.parametrize("names", [("CS[captions=all]@200", "Kendall"), ("CS[captions=all]@100",)])
def test_rankings_that_do_not_share_a_product(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics that read most captions, score matrices, one direction alone, narrow tiles, lists beyond the memory."""
    world = large_world(120, 5, seed=7)
    dot = scorer(world.scores.shape[0], world.scores.shape[1], seed=8)
    metrics = [parse(name) for name in names]

    def count(source: Any, *options: Any) -> int:
        return len(products(source, metrics, world.split, *options))

    assert count(dot) == int(len(names) == 1)
    assert count(Matrix(world.scores)) == count(dot, ("i2t",)) == count(dot, ("t2i",)) == 0
    assert count(dot, ("i2t", "t2i"), 100) == 0
    monkeypatch.setattr(shared_product, "MOST_BYTES", 1000)
    assert count(dot) == 0


def _same(a: Found, b: Found) -> None:
    assert a.keys() == b.keys()
    for key, values in a.items():
        assert np.array_equal(values.values, b[key].values, equal_nan=True), key
        assert values.queries.index.tolist() == b[key].queries.index.tolist()
