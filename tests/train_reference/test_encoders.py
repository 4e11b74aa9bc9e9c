"""Encoders of files of the user, features that are computed once, and hyper-parameters of a loss that are trained."""

from __future__ import annotations

import numpy as np
import pytest

from tests.commands import cli
from vsebench.errors import BadInput, UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.train_reference.test_sources import TINY, karpathy  # noqa: E402
from tests.training import OPTIONS, silent, small  # noqa: E402
from train_reference import checkpoint, config, encode, train  # noqa: E402
from train_reference.data import PARTS  # noqa: E402
from train_reference.encoders import ENCODERS, Encoder, encoder  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.sources import open_data  # noqa: E402

OWN = """
import torch
from torch import nn
from train_reference.encoders import encoder

class Largest(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.layer = nn.Linear(width, dim)

    def forward(self, images, mask):
        return self.layer(images).masked_fill(~mask[:, :, None], -9).amax(dim=1)

def of_regions(width, dim):
    return Largest(width, dim)

@encoder("last word", of="captions")
class LastWord(nn.Module):
    def __init__(self, word_dim, dim):
        super().__init__()
        self.layer = nn.Linear(word_dim, dim)

    def forward(self, vectors, lengths):
        return self.layer(vectors[torch.arange(len(vectors)), lengths - 1])
"""


def test_encoders_of_a_file_are_trained_and_encode(tmp_path, pinned, refuses):
    file, out = tmp_path / "my_encoder.py", tmp_path / "run"
    file.write_text(OWN)
    own = [*OPTIONS, "--encoder", f"{file}:of_regions", "--set", f"model.text={file}:LastWord", "--out", out]
    cli("train-reference", *own, "--epochs", "1")
    found = checkpoint.read(out)
    assert {"images.network.layer.weight", "captions.network.layer.weight"} <= set(found.part("model."))
    assert len(found.config.model.fingerprint.split()) == 2
    assert config.configured(None, encoder=f"{file}:LastWord").model.text == f"{file}:LastWord"
    cli("encode", out, "-o", tmp_path / "a.npz")
    file.write_text(OWN + "\n# changed\n")
    changed = cli("train-reference", *own, "--epochs", "2", "--resume", code=2)
    pinned(changed.err)
    refuses(UsageError, encoder, "x", of="sounds")
    refuses(UsageError, encoder, "x", of="vectors", pretrained=True)


BATCH = """
from torch import nn
class Batch(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.layer = nn.Linear(width, dim)
    def forward(self, items, rest):  # a mean over what fills up a batch, too
        return self.layer(items).tanh().mean(dim=1)
def regions(width, dim): return Batch(width, dim)
def padding(word_dim, dim): return Batch(word_dim, dim)
"""


BATCH = """
from torch import nn
class Batch(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.layer = nn.Linear(width, dim)
    def forward(self, items, rest):  # a mean over what fills up a batch, too
        return self.layer(items).tanh().mean(dim=1)
def regions(width, dim): return Batch(width, dim)
def padding(word_dim, dim): return Batch(word_dim, dim)
"""


@pytest.mark.parametrize("model", ["image:regions", "text:padding"])
def test_an_encoder_of_a_file_whose_embeddings_depend_on_their_batch(model, tmp_path, pinned):
    (file := tmp_path / "own.py").write_text(BATCH)
    side, _, function = model.partition(":")
    with pytest.raises(BadInput) as caught:
        train.prepare(small(model={side: f"{file}:{function}"}))
    pinned(caught.value)


def test_layers_of_an_encoder_of_a_file_may_take_their_width_from_the_data(tmp_path):
    (file := tmp_path / "own.py").write_text(
        "from torch import nn\nclass Lazy(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.layer = nn.LazyLinear(dim)\n    def forward(self, images, mask):\n"
        "        return self.layer(images).masked_fill(~mask[:, :, None], -9).amax(dim=1)\n"
    )
    run = train.prepare(small(model={"image": f"{file}:Lazy"}, train={"precision": "bf16"}))
    assert run.model.images.network.layer.weight.shape[0] == 8
    assert train.step(run, next(iter(run.loader(0))), 0)[0] > 0, "mixed precision gives bfloat16"


def test_features_of_a_network_that_is_not_trained_are_computed_once(tmp_path, monkeypatch):
    """Scores are those of the network itself, which the checkpoint holds; no weights are downloaded to encode."""
    seen, built = [], []

    class Counted(torch.nn.Module):
        def __init__(self, pretrained: bool) -> None:
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 3, 1)
            built.append(pretrained)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(len(images))
            return torch.nn.functional.adaptive_avg_pool2d(self.layer(images), 2).flatten(1)

    frozen = Encoder("frozen", ("pixels",), Counted, 12, pretrained=True, resize=20, side=16)
    monkeypatch.setitem(ENCODERS, "frozen", frozen)
    data = {"name": str(karpathy(tmp_path)), "images": str(tmp_path / "photos")}
    c = config.assign(config.from_dict({"data": data, "model": {"image": "frozen", "crop": "ten"}}), TINY)
    report = train.train(c, tmp_path / "run", say=silent)
    assert sum(seen) == 10 * 32
    run, rows = train.prepare(c), np.arange(8)
    with torch.no_grad():
        direct = run.model.images(**open_data(c)["val"].images.take(rows))
        assert torch.allclose(run.model.images(**run.parts["val"].images.take(rows)), direct, atol=1e-6)
    found, _ = encode.encode(tmp_path / "run", device="cpu")
    assert found["images"].vectors.shape == (8, 4) and report["R@1", "i2t"].value >= 0
    assert built[0] and not built[-1]
    mixed = train.prepare(config.assign(c, ["model.crop=random"])).parts
    assert [mixed[name].images.take(rows)["images"].ndim for name in PARTS] == [4, 2, 2]


@pytest.mark.parametrize(("name", "learned"), [("info_nce", ["scale"]), ("siglip", ["scale", "bias"])])
def test_the_temperature_is_trained_with_the_model(name, learned, tmp_path):
    """It begins at the value of the setting, is stored with the weights, and a resumed run has the same bits."""

    def settings(epochs: int) -> config.Config:
        return small(loss={"name": name, "learned": learned, "settings": {"scale": 5.0}}, train={"epochs": epochs})

    run = train.prepare(settings(2))
    begun = {key: value.item() for key, value in run.model.hyper_parameters().items()}
    assert begun == pytest.approx({"scale": 5.0, "bias": -10.0} if name == "siglip" else {"scale": 5.0}, rel=1e-6)
    train.train(settings(2), tmp_path / "whole", say=silent)
    for epochs in (1, 2):
        train.train(settings(epochs), tmp_path / "parts", resume=True, say=silent)
    whole, parts = (checkpoint.read(tmp_path / x / checkpoint.LAST).part("model.") for x in ("whole", "parts"))
    assert all(torch.equal(whole[key], parts[key]) for key in whole)
    assert float(whole["learned.scale"].exp()) != pytest.approx(5.0, abs=1e-4)
    assert encode.encode(tmp_path / "whole", device="cpu")[0]["images"].vectors.shape == (10, 8)
    with torch.no_grad():
        run.model.learned["scale"].fill_(9.0)
    assert run.model.hyper_parameters()["scale"] > 100, "with its gradient"
    train.step(run, next(iter(run.loader(0))), 0)
    assert run.model.hyper_parameters()["scale"].item() == pytest.approx(100)


def test_another_loss_says_which_settings_of_the_first_it_keeps(tmp_path, pinned):
    """A note names the settings that another loss keeps; without such settings there is no note."""
    said, file = [], tmp_path / "c.toml"
    file.write_text(
        '[loss]\nname = "sam"\nwarmup = 2\nrelevance = "match"\nmask_same_image = false\nsettings = {tau = 3.0}\n'
    )
    found = config.configured("mh", file, say=said.append).loss
    assert (found.name, found.warmup, found.settings) == ("mh", 2, {}) and len(said) == 1
    pinned(said[0])
    config.configured("sam", file, say=said.append)
    config.configured("mh", say=said.append)
    file.write_text('[loss]\nname = "sam"\n[train]\nepochs = 3\n')
    config.configured("mh", file, say=said.append)
    assert len(said) == 1


ROWS = [np.array(rows) for rows in ([0, 50, 99], [0], [50], [99])]


@pytest.mark.parametrize("text", ["gru", "bigru", "mean"])
def test_embeddings_do_not_depend_on_their_batch(text):
    """Of every encoder of captions, and of regions."""
    run = train.prepare(small(model={"text": text}))
    run.model.eval()
    with torch.no_grad():
        (x, y), *alone = (run.model(*map(run.loader.make(rows).get, ("rows", "columns"))) for rows in ROWS)
    assert torch.allclose(x, torch.cat([one for one, _ in alone]), atol=1e-6)
    assert torch.allclose(y, torch.cat([one for _, one in alone]), atol=1e-6)


def test_a_hyper_parameter_without_a_number_is_not_trained(tmp_path, refuses):
    (tmp_path / "c.toml").write_text('[loss]\nname = "info_nce"\nlearned = ["scale"]\n')
    other = config.configured("sh", tmp_path / "c.toml").loss
    assert (other.name, other.learned) == ("sh", []), "those of the other loss"
    refuses(UsageError, train.prepare, small(loss={"name": "info_nce", "learned": ["scale"], "settings": {"scale": 0}}))
    refuses(UsageError, train.prepare, small(loss={"learned": ["margin"]}))
    own = tmp_path / "my_loss.py"
    own.write_text("def f(scores, positive, *, a=1.0, b=2, reduction='sum'):\n    return (a * scores).sum()\n")
    assert get_loss(f"{own}:f").learnable == ("a",)


torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")


from train_reference.config import Model  # noqa: E402
from train_reference.model import order_scores, scores  # noqa: E402

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
