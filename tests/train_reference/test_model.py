"""The encoders of the reference trainer: against torch's own modules, and loops."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")

from torch import nn  # noqa: E402

from train_reference.config import Model  # noqa: E402
from train_reference.encoders import last_states  # noqa: E402
from train_reference.model import order_scores, scores  # noqa: E402


@pytest.mark.parametrize("two", [False, True])
def test_states_and_gradients_equal_those_of_packed_sequences(two):
    torch.manual_seed(0)
    gru = nn.GRU(5, 7, batch_first=True, bidirectional=two).double()
    lengths = torch.tensor([3, 9, 1, 9, 4])
    vectors = torch.randn(5, 11, 5, dtype=torch.float64, requires_grad=True)
    packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    expected = gru(packed)[1]
    weight = torch.randn_like(expected)
    inputs = [vectors, *gru.parameters()]
    of_torch = torch.autograd.grad((expected * weight).sum(), inputs)
    found = last_states(gru, vectors, lengths)
    of_loop = torch.autograd.grad((found * weight).sum(), inputs)
    assert torch.allclose(found, expected, atol=1e-12)
    for one, other in zip(of_loop, of_torch, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


IMAGES = [[0.5, 0.1, 0.7, 0.2], [0.3, 0.6, 0.1, 0.9], [0.4, 0.4, 0.4, 0.4]]
CAPTIONS = [[0.4, 0.3, 0.6, 0.1], [0.5, 0.5, 0.3, 0.7], [0.1, 0.9, 0.2, 0.5]]


@pytest.mark.parametrize(("squared", "mh", "sh"), [(False, 0.6713713165985792, 0.8996107889223177), (True, 0.58, 0.78)])
def test_order_similarity_of_the_specification(squared, mh, sh):
    from train_reference.losses import get_loss

    images, captions = (torch.tensor(x, dtype=torch.float64) for x in (IMAGES, CAPTIONS))
    s = order_scores(images, captions, squared=squared)
    if not squared:
        assert s[0].tolist() == pytest.approx([-0.2, -0.6403124237432849, -0.8544003745317532])
    for name, expected in (("mh", mh), ("sh", sh)):
        value = get_loss(name).function(s, torch.eye(3, dtype=torch.bool), margin=0.05)
        assert value.item() == pytest.approx(expected)


def test_order_similarity_without_a_violation_has_gradient_zero():
    captions = torch.tensor([[1.0, 0.0, 0.0]], requires_grad=True)
    order_scores(torch.ones(1, 3), captions).sum().backward()
    assert captions.grad.tolist() == [[0.0, 0.0, 0.0]]


def test_euclidean_scores_are_negative_squared_distances():
    x, y = torch.randn(4, 3, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)
    expected = -(x[:, None] - y[None]).square().sum(dim=2)
    assert torch.allclose(scores(x, y, Model(similarity="euclidean")), expected)
