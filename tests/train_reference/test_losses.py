"""The losses: published values, gradients, and what every loss must keep to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.devices import needs_gpu
from tests.messages import Refuses
from vsebench.errors import UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

import train_reference.losses as losses  # noqa: E402
from train_reference import config  # noqa: E402
from train_reference.data import Loader  # noqa: E402

# A batch of four pairs. The values below were computed on it by the authors' code of VSE++ (ContrastiveLoss)
# and of the ladder loss (PairwiseRankingLoss), margin 0.2.
SCORES = [[0.6, 0.55, 0.1, 0.4], [0.35, 0.5, 0.45, 0.2], [0.3, 0.65, 0.7, 0.25], [0.58, 0.05, 0.15, 0.52]]
OFFICIAL = {"sh": 1.62, "mh": 1.32}
SAME_IMAGE = [0, 0, 1, 2]  # the first two pairs share their image
MH_SAME_IMAGE = {"unmasked": 1.32, "masked": 1.17}

NAMES = losses.loss_names()


def batch(b: int, seed: int = 0, requires_grad: bool = False):
    """Random float64 scores (b, b), the identity as positives, and a degree for losses that want one."""
    rng = np.random.default_rng(seed)
    scores = torch.tensor(rng.normal(0, 0.3, (b, b)), dtype=torch.float64, requires_grad=requires_grad)
    degree = rng.uniform(-1, 1, (b, b))
    np.fill_diagonal(degree, 1)
    return scores, torch.eye(b, dtype=torch.bool), torch.tensor((degree + degree.T) / 2)


def call(name: str, scores, positive, degree, **settings):
    """Call a loss by name; hand over ``degree`` when it asks for it."""
    entry = losses.get_loss(name)
    if entry.needs_degree:
        settings["degree"] = degree
    return entry.function(scores, positive, **settings)


@pytest.mark.parametrize("name", ["sh", "mh"])
def test_value_of_the_official_code(name):
    scores, positive = torch.tensor(SCORES, dtype=torch.float64), torch.eye(4, dtype=torch.bool)
    loss = losses.get_loss(name).function
    assert loss(scores, positive).item() == pytest.approx(OFFICIAL[name], abs=1e-12)
    assert loss(scores, positive, reduction="mean").item() == pytest.approx(OFFICIAL[name] / 4, abs=1e-12)


def test_other_captions_of_the_image_can_be_spared():
    scores, image = torch.tensor(SCORES, dtype=torch.float64), torch.tensor(SAME_IMAGE)
    mh = losses.get_loss("mh").function
    same = image[:, None] == image[None, :]
    assert mh(scores, torch.eye(4, dtype=torch.bool)).item() == pytest.approx(MH_SAME_IMAGE["unmasked"])
    assert mh(scores, same).item() == pytest.approx(MH_SAME_IMAGE["masked"])


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name):
    scores, positive, degree = batch(5, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: call(name, s, positive, degree), (scores,))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", [pytest.param("cuda", marks=needs_gpu)])
def test_values_and_gradients_of_a_gpu_are_those_of_the_processor(name, device):
    """With deterministic algorithms alone, as in training."""
    torch.use_deterministic_algorithms(True)
    try:
        for seed, b in ((0, 6), (1, 64), (2, 128)):
            found = []
            for where in ("cpu", device):
                scores, positive, degree = batch(b, seed)
                scores = scores.to(where).requires_grad_()
                value = call(name, scores, positive.to(where), degree.to(where))
                value.backward()
                found.append((value.item(), scores.grad.cpu()))
            assert found[1][0] == pytest.approx(found[0][0], rel=1e-12, abs=1e-12)
            assert torch.allclose(found[1][1], found[0][1], rtol=1e-10, atol=1e-12)
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_the_batch_does_not_matter(name):
    scores, positive, degree = batch(6)
    p = torch.randperm(6, generator=torch.Generator().manual_seed(1))
    moved = call(name, scores[p][:, p], positive[p][:, p], degree[p][:, p])
    assert moved.item() == pytest.approx(call(name, scores, positive, degree).item(), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_images_and_captions_are_treated_alike(name):
    scores, positive, degree = batch(6)
    swapped = call(name, scores.T, positive.T, degree.T)
    assert swapped.item() == pytest.approx(call(name, scores, positive, degree).item(), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_pair_costs_nothing(name):
    scores, positive, degree = batch(1, requires_grad=True)
    value = call(name, scores, positive, degree)
    value.backward()
    assert value.item() == 0
    assert scores.grad.item() == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_negatives_costs_nothing_and_inputs_stay(name):
    scores, positive, degree = batch(4)
    before = scores.clone()
    value = call(name, scores, torch.ones_like(positive), degree)
    assert math.isfinite(value.item())
    assert torch.equal(scores, before)
    if not losses.get_loss(name).needs_degree:  # a graded loss orders the positives among themselves
        assert value.item() == pytest.approx(0, abs=1e-12)


def test_hardest_negatives_that_tie_share_the_gradient():
    scores = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    losses.get_loss("mh").function(scores, torch.eye(3, dtype=torch.bool)).backward()
    expected = torch.full((3, 3), 1.0, dtype=torch.float64).fill_diagonal_(-2.0)
    assert torch.equal(scores.grad, expected)


def test_half_precision_scores_are_summed_in_single():
    scores, positive, _ = batch(64)
    half = scores.to(torch.bfloat16)
    value = losses.get_loss("sh").function(half, positive)
    assert value.dtype == torch.float32
    exact = losses.get_loss("sh").function(half.double(), positive)
    assert value.item() == pytest.approx(exact.item(), rel=1e-5)


@pytest.mark.parametrize("name", ["log_ratio", "kendall_sw_hs"])
def test_single_precision_is_sorted_as_double(name):
    """Numpy sorts float32 numbers, torch float64 ones; degrees tie."""
    scores, positive, degree = batch(40)
    degree = (degree * 8).round() / 8
    found = []
    for dtype in (torch.float64, torch.float32):
        s = scores.to(dtype, copy=True).requires_grad_()
        value = call(name, s, positive, degree.to(dtype))
        value.backward()
        found.append((value.item(), s.grad.numpy()))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    assert np.abs(found[1][1] - found[0][1]).max() <= 1e-4 * np.abs(found[0][1]).max()


def test_names_aliases_and_facts(refuses: Refuses):
    mh = losses.get_loss("mh")
    assert losses.get_loss("max_hinge") is mh
    assert losses.get_loss("vse++") is mh
    assert mh.settings == {"margin": 0.2}
    assert not mh.needs_degree
    assert {"sh", "mh"} <= set(losses.loss_names())
    refuses(UsageError, losses.get_loss, "max_hing")
    for name in NAMES:
        assert losses.get_loss(name).cite, f"loss {name} has no source"


@pytest.mark.parametrize(("scores", "positive"), [((2, 3), (2, 3)), ((0, 0), (0, 0)), ((4,), (4,)), ((2, 2), (3, 3))])
def test_misshapen_batches_are_refused(scores, positive, refuses):
    sh = losses.get_loss("sh").function
    refuses(UsageError, sh, torch.zeros(scores), torch.zeros(positive, dtype=torch.bool))


def test_wrong_dtypes_and_reductions_are_refused(refuses: Refuses):
    sh, identity = losses.get_loss("sh").function, torch.eye(2)
    refuses(UsageError, sh, torch.zeros(2, 2, dtype=torch.int64), identity.bool())
    refuses(UsageError, sh, torch.zeros(2, 2), identity)
    refuses(UsageError, sh, torch.zeros(2, 2), identity.bool(), reduction="none")


def test_a_function_that_is_no_loss_is_refused(refuses: Refuses):
    register = losses.loss("x", cite="nowhere")
    refuses(UsageError, register, lambda sims: sims)
    refuses(UsageError, register, lambda scores, positive, margin, reduction="sum": scores)
    refuses(UsageError, register, lambda scores, positive, *, margin=0.2: scores)


@pytest.mark.parametrize(
    ("name", "least", "most", "fits"),
    [
        ("bcls", 0, 10, False), ("bcls", -1, 1, True), ("log_ratio", 0, 10, False), ("log_ratio", -50, 1, True),
        ("sam", 0, 1, False), ("sam", 0, 10, True), ("sam", -1, 3, False), ("mh", 0, 99, True),
    ],
)  # fmt: skip
def test_a_degree_of_another_range_is_refused(name, least, most, fits, refuses) -> None:
    loader, degree = Loader(None, None, config.from_dict({"loss": {"name": name}})), np.array([[least, most]])
    if fits:
        loader.check(degree)
    else:
        refuses(UsageError, loader.check, degree)
