"""Losses against the worked values of the specification, and against loops over triples written from the formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import train_reference.losses as losses
from vsebench.errors import UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

SCORES = [[0.6, 0.55, 0.1, 0.4], [0.35, 0.5, 0.45, 0.2], [0.3, 0.65, 0.7, 0.25], [0.58, 0.05, 0.15, 0.52]]
LADDER = [[1.0, 0.7, 0.3, 0.58], [0.7, 1.0, 0.65, 0.2], [0.3, 0.65, 1.0, 0.55], [0.58, 0.2, 0.55, 1.0]]
CIDER = [[3.2, 0.4, 1.1, 0.2], [0.5, 2.8, 0.9, 1.7], [1.3, 0.8, 3.5, 0.1], [0.3, 2.0, 0.2, 2.6]]
SENTENCE = [[1.0, 0.71, 0.33, 0.57], [0.71, 1.0, 0.64, 0.18], [0.33, 0.64, 1.0, -0.12], [0.57, 0.18, -0.12, 1.0]]
L3 = {"margins": (0.2, 0.01, 0.01), "thresholds": (0.63, 0.56), "betas": (1.0, 0.25, 0.125)}
# captions 1, 2, 1 and 3 (its own: a negative scores higher), images 3, 0, 1, 0
SECOND_HARDEST = (
    (2.8 / 3 + 0.55 - 0.6) + (1.9 / 3 + 0.45 - 0.5) + (2.7 / 3 + 0.65 - 0.7) + 0.0
    + (3.0 / 3 + 0.58 - 0.6) + (2.3 / 3 + 0.55 - 0.5) + (2.7 / 3 + 0.45 - 0.7) + (2.3 / 3 + 0.4 - 0.52)
)  # fmt: skip
SAM_CODE = {"triplet": False, "pairing": "code", "clamp_max": 1.0}
OFFICIAL = {"positives": "upper+gt", "negative_floor": True}


def value(name: str, degree=None, scores=SCORES, positive=None, **settings) -> float:
    """A loss on float64 input; ``positive`` is the identity by default."""
    entry = losses.get_loss(name)
    s = torch.tensor(scores, dtype=torch.float64)
    positive = torch.eye(len(s), dtype=torch.bool) if positive is None else torch.tensor(positive)
    if entry.needs_degree:
        settings["degree"] = torch.tensor(degree, dtype=torch.float64)
    return entry.function(s, positive, **settings).item()


@pytest.mark.parametrize(
    ("name", "degree", "settings", "expected"),
    [
        ("ladder", LADDER, {}, 1.38),
        ("ladder", LADDER, {"sampling": "sum"}, 1.68),
        ("ladder", LADDER, OFFICIAL, 1.3975),
        ("ladder", LADDER, {**OFFICIAL, "cumulative": True}, 1.46),
        ("ladder", LADDER, {"margins": (0.2,), "thresholds": (), "betas": (1.0,)}, 1.32),  # mh
        ("ladder", LADDER, {"margins": (0.2,), "thresholds": (), "betas": (1.0,), "sampling": "sum"}, 1.62),  # sh
        ("sam", CIDER, {"triplet": False}, 6.203333333333334),
        ("sam", CIDER, {"triplet": False, "pairing": "printed"}, 6.203333333333334),
        ("sam", CIDER, {"triplet": False, "clamp_max": 1.0}, 6.203333333333334),
        ("sam", CIDER, {"triplet": False, "tau": 5.0}, 3.59),
        ("sam", CIDER, {"triplet": False, "tau": 10.0}, 1.63),
        ("sam", CIDER, {}, 6.203333333333334 + 1.32),
        ("sam", CIDER, {"weight": 5.0}, 5 * 6.203333333333334 + 1.32),
        ("sam", CIDER, {"triplet": False, "sampler": "soft"}, 1.4833333333333334),
        ("sam", CIDER, {"triplet": False, "sampler": "soft", "clamp_max": 1.0}, 1.35),
        ("sam", CIDER, {"triplet": False, "sampler": "soft", "tau": 5.0}, 0.35),
        ("sam", CIDER, {"triplet": False, "sampler": "second_hardest"}, SECOND_HARDEST),
        ("sam", CIDER, {**SAM_CODE, "sampler": "second_hardest"}, 5.330000047683716),  # "soft" of the authors' code
        ("sam", CIDER, {**SAM_CODE, "sampler": "second_softest"}, 4.356666677594184),  # "hard"
        ("triplet_sn", None, {}, 1.3202919324960636),
        ("triplet_sn", None, {"gamma": 10.0}, 1.46185),
        ("triplet_sn", None, {"gamma": 10_000.0}, 1.32),
        ("kendall", SENTENCE, {}, 0.89),
        ("kendall", SENTENCE, {"margin": 0.2}, 3.9),
        ("kendall", SENTENCE, {"alpha": 0.2}, 0.46),
        ("kendall_sw", SENTENCE, {}, 0.83),
        ("kendall_sw", SENTENCE, {"start": 0}, 0.57),
        ("kendall_sw_hs", SENTENCE, {}, 0.04333333333333332),
        ("kendall_sw_hs", SENTENCE, {"start": 0}, 0.03166666666666666),
        ("bcls", SENTENCE, {}, 1.3636252658293968),
    ],
)
def test_worked_value(name, degree, settings, expected):
    assert value(name, degree, **settings) == pytest.approx(expected, abs=1e-5 if expected == 1.46185 else 1e-6)


def anchor_first(points: list[list[float]], label: list[float]):
    """Negative squared distances of the first point to all others, and their labels."""
    x = torch.tensor(points, dtype=torch.float64)
    return -((x[0] - x[1:]) ** 2).sum(dim=1), torch.tensor(label, dtype=torch.float64)


POINTS = [[0.0, 0.0], [0.6, 0.1], [0.3, 0.4], [1.1, -0.5], [-0.2, 0.9]]
LABEL = [0.5, 0.8, 1.3, 2.9]


def by_loops(name: str, s: np.ndarray, r: np.ndarray, same: np.ndarray, **o: float) -> float:
    """The formulas with loops over anchors, candidates and windows, of both directions."""
    total, n = 0.0, len(s)
    for x, y, spared in ((s, r, same), (s.T, r.T, same.T)):
        for a in range(n):
            near, label = -(2 - 2 * x[a]), 1 - y[a]
            pairs = [(i, j) for i, j in itertools.permutations(range(n), 2) if label[i] < label[j]]
            if name == "dense_triplet":
                costs = [max(0.0, o["margin"] - near[i] + near[j]) for i, j in pairs]
            elif name == "log_ratio":
                u = np.log(np.sqrt(-near) + 1e-6) - np.log(label + 1e-6)
                costs = [(u[i] - u[j]) ** 2 for i, j in pairs]
            elif name == "nearest_triplet":
                limit = sorted(y[a], reverse=True)[min(o["neighbours"], n) - 1]
                upper = [i for i in range(n) if y[a, i] >= limit]
                lower = [j for j in range(n) if y[a, j] < limit and not spared[a, j] and j != a]
                costs = [max(0.0, o["margin"] - near[i] + near[j]) for i in upper for j in lower]
            elif name == "kendall":
                chosen = itertools.permutations(range(n), 2)
                total += sum(
                    max(0.0, x[a, k] - x[a, j] + o["margin"]) for j, k in chosen if y[a, j] > y[a, k] + o["alpha"]
                )
                continue
            elif name in ("sh", "mh"):
                costs = [max(0.0, o["margin"] - x[a, a] + x[a, j]) for j in range(n) if j != a and not spared[a, j]]
                total += math.fsum(costs) if name == "sh" else max(costs, default=0.0)
                continue
            elif name in ("kendall_sw", "kendall_sw_hs"):
                margin = o.get("margin", 0.0)
                for m in range(1, 19):
                    low = -1 + 0.1 * m
                    above = [x[a, j] for j in range(n) if y[a, j] >= low + 0.2 - 1e-6]
                    below = [x[a, k] for k in range(n) if y[a, k] < low and not spared[a, k] and k != a]
                    if name == "kendall_sw":
                        total += sum(max(0.0, margin + k - j) for j in above for k in below)
                    elif above and below:
                        total += max(0.0, margin + max(below) - min(above)) / 18
                continue
            else:  # ladder with two levels, all pairs
                below = [x[a, k] for k in range(n) if k != a and not spared[a, k]]
                total += sum(max(0.0, 0.2 - x[a, a] + k) for k in below)
                upper = [x[a, j] for j in range(n) if j != a and y[a, j] >= 0.3]
                lower = [x[a, k] for k in range(n) if k != a and y[a, k] < 0.3 and not spared[a, k]]
                total += 0.25 * sum(max(0.0, 0.01 - j + k) for j in upper for k in lower)
                continue
            total += float(np.mean(costs)) if costs else 0.0
    return total


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("dense_triplet", {"margin": 0.03}),
        ("log_ratio", {}),
        ("nearest_triplet", {"margin": 0.2, "neighbours": 3}),
        ("kendall", {"alpha": 0.0, "margin": 0.0}),
        ("kendall", {"alpha": 0.2, "margin": 0.1}),
        ("kendall_sw", {}),
        ("kendall_sw", {"margin": 0.05}),
        ("kendall_sw_hs", {}),
        ("kendall_sw_hs", {"margin": 0.2}),
        *((name, {"margin": margin}) for name in ("sh", "mh") for margin in (0.0, 0.05, 0.2, 1.0)),
        ("ladder", {"sampling": "sum", "thresholds": (0.3,)}),
    ],
)
def test_equals_loops(name, settings):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        scores = rng.integers(-6, 7, (n, n)) / 8  # ties abound
        degree = rng.integers(-8, 9, (n, n)) / 8.5
        if name in ("log_ratio", "dense_triplet", "nearest_triplet"):
            degree = np.minimum(degree, 0.9)
        image = rng.integers(0, n, n)
        same = image[:, None] == image[None, :]
        expected = by_loops(name, scores, degree, same, **settings)
        assert value(name, degree.tolist(), scores.tolist(), same.tolist(), **settings) == pytest.approx(
            expected, abs=1e-9
        )


def test_distances_of_one_anchor():
    """The published values are of one anchor; here of its row alone."""
    near, label = anchor_first(POINTS, LABEL)
    from train_reference.losses.batch import ordered_hinges
    from train_reference.losses.label_distance import _slope

    def of_row(squared: bool, ties: str) -> float:
        d = -near if squared else (-near).sqrt()
        u = ((d + 1e-6).log() - (label + 1e-6).log())[None]
        return float((_slope(u, label[None], ties) * u).sum())

    assert of_row(True, "drop") == pytest.approx(0.8699739627188263, abs=1e-5)
    assert of_row(True, "keep") == pytest.approx(0.8699739627188263, abs=1e-5)
    assert of_row(False, "drop") == pytest.approx(0.6803931178403794, abs=2e-5)
    dense = ordered_hinges(near[None], 1 - label[None], 0.0, 0.03, True)
    assert dense.item() == pytest.approx(0.13166666666666668, abs=1e-9)


def test_log_ratio_with_equal_points_and_labels_is_finite():
    near, label = anchor_first([[0.0, 0.0], [0.0, 0.0], [0.6, 0.1]], [0.5, 0.8])
    scores, degree = torch.zeros(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64)
    scores[0], degree[0] = near, 1 - label
    scores.requires_grad_()
    total = losses.get_loss("log_ratio").function(
        scores, torch.eye(2, dtype=torch.bool), degree=degree, similarity="euclidean"
    )
    total.backward()
    assert math.isfinite(total.item())
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("sampler", ["second_hardest", "second_softest"])
def test_sam_is_computed_as_in_the_authors_code(sampler):
    """The arithmetic of their matrices: a vector of margins is added to the rows of a matrix of costs."""
    rng, column = np.random.default_rng(5), 1 if sampler == "second_softest" else -2
    for size in (2, 3, 8, 17):
        scores, degree = rng.standard_normal((size, size)), rng.uniform(0, 10, (size, size))
        rows, own = np.arange(size), degree.diagonal()
        cost_s, cost_im = scores - scores.diagonal()[:, None], scores - scores.diagonal()[None, :]
        index_s, index_im = np.argsort(cost_s)[:, column], np.argsort(cost_im)[:, column]
        margin_s = np.minimum((own - degree[rows, index_im]) / 3.0, 1.0)
        margin_im = np.minimum((own - degree[rows, index_s]) / 3.0, 1.0)
        cost_s, cost_im = np.maximum(cost_s + margin_s, 0), np.maximum(cost_im + margin_im, 0)
        expected = cost_s[rows, index_s].sum() + cost_im[rows, index_im].sum()
        found = value("sam", degree.tolist(), scores.tolist(), **SAM_CODE, sampler=sampler)
        assert found == pytest.approx(expected, abs=1e-12)


def test_sam_samples_the_first_of_equal_scores():
    """The third caption and the third image are as near as the second ones, and cost less."""
    scores = [[0.5, 0.4, 0.4], [0.4, 0.5, 0.0], [0.4, 0.0, 0.5]]
    degree = [[3.0, 0.0, 2.7], [0.0, 3.0, 3.0], [2.7, 3.0, 3.0]]
    first, other = [0, 1, 2], [0, 2, 1]
    found = [
        value("sam", np.array(degree)[np.ix_(o, o)].tolist(), np.array(scores)[np.ix_(o, o)].tolist(), triplet=False)
        for o in (first, other)
    ]
    assert found[0] > found[1]


def test_random_negatives_of_sam_are_never_spared_ones():
    torch.manual_seed(0)
    scores = torch.zeros(4, 4, dtype=torch.float64)
    scores[0, 1] = scores[1, 0] = 100.0  # would cost much
    positive = torch.eye(4, dtype=torch.bool)
    positive[0, 1] = positive[1, 0] = True
    degree = torch.eye(4, dtype=torch.float64)
    for _ in range(50):
        found = losses.get_loss("sam").function(scores, positive, degree=degree, sampler="random", triplet=False)
        assert found.item() == pytest.approx(8 / 3)


def test_a_text_like_that_of_the_pair_is_no_negative_of_bcls():
    scores = [[0.5, 0.9, 0.1], [0.2, 0.5, 0.1], [0.0, 0.1, 0.5]]
    degree = [[1.0, 0.9999999, 0.1], [0.9999999, 1.0, 0.1], [0.1, 0.1, 1.0]]
    spared = [[True, True, False], [True, True, False], [False, False, True]]
    for margin in (0.0, 0.2):
        order = value("kendall_sw_hs", degree, scores, margin=margin)
        expected = value("triplet_sn", scores=scores, positive=spared) + order
        assert value("bcls", degree, scores, order_margin=margin) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ladder", {"margins": (0.2,)}),
        ("ladder", {**L3, "thresholds": (0.5, 0.6)}),
        ("ladder", {"sampling": "all"}),
        ("sam", {"sampler": "hardest"}),
        ("kendall_sw_hs", {"beta": 0.0}),
        ("log_ratio", {"similarity": "dot"}),
        ("log_ratio", {"ties": "some"}),
    ],
)
def test_impossible_settings(name, settings, refuses):
    refuses(UsageError, value, name, SENTENCE, **settings)


def test_degrees_that_do_not_fit(refuses):
    sam = losses.get_loss("sam").function
    refuses(UsageError, sam, torch.zeros(2, 2), torch.eye(2, dtype=torch.bool), degree=torch.zeros(3, 3))
    refuses(UsageError, sam, torch.zeros(2, 2), torch.eye(2, dtype=torch.bool), degree=torch.full((2, 2), math.nan))
