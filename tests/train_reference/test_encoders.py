"""Encoders of files of the user, features that are computed once, and hyper-parameters of a loss that are trained."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.commands import cli
from vsebench.errors import BadInput, UsageError
from vsebench.files import store

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from tests.train_reference.test_sources import TINY, karpathy  # noqa: E402
from tests.training import OPTIONS, silent, small  # noqa: E402
from train_reference import checkpoint, config, encode, train  # noqa: E402
from train_reference.data import PARTS, vocabulary_of  # noqa: E402
from train_reference.encoders import encoder, encoder_names, get_encoder  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.model import build  # noqa: E402
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

def needs_depth(depth):
    return nn.Identity()
"""


def test_encoders_of_a_file_are_trained_and_encode(tmp_path, pinned, refuses):
    file, out = tmp_path / "my_encoder.py", tmp_path / "run"
    file.write_text(OWN)
    own = [*OPTIONS, "--encoder", f"{file}:of_regions", "--set", f"model.text={file}:LastWord", "--out", out]
    cli("train-reference", *own, "--epochs", "1")
    found = checkpoint.read(out)
    assert {"images.network.layer.weight", "captions.network.layer.weight"} <= set(found.weights)
    assert len(found.config.model.fingerprint.split()) == 2
    assert config.configured(None, encoder=f"{file}:LastWord").model.text == f"{file}:LastWord"
    cli("encode", out, "-o", tmp_path / "a.npz")
    file.write_text(OWN + "\n# changed\n")
    changed = cli("train-reference", *own, "--epochs", "2", "--resume", code=2)
    pinned(changed.err)
    refuses(UsageError, train.prepare, small(model={"image": f"{file}:needs_depth"}))
    refuses(UsageError, encoder, "x", of="sounds")
    refuses(UsageError, encoder, "x", of="vectors", pretrained=True)


FAULTY = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, dim, call=None):
        super().__init__()
        self.layer, self.dim, self.call = nn.Linear(3, 3), dim, call
    def forward(self, images, mask):
        return self.call(torch.rand(len(images), self.dim))
def draws(dim): return Net(dim, torch.zeros_like)
def makes(dim): return 1 / 0
def nothing(): return None
def widths(dim): return Net(dim, lambda x: nn.Linear(dim + 1, 3)(x))
def two(dim): return Net(dim, lambda x: (x, x))
def half(dim): return Net(dim, lambda x: x.half())
def narrow(dim): return Net(dim - 1, lambda x: x)
def linear(width, dim): return nn.Linear(width, dim)
def flat(dim): return nn.Sequential(nn.Flatten(), nn.Linear(5, dim))
def large(dim):
    def call(x): raise MemoryError
    return Net(dim, call)
def words(word_dim, dim): return nn.Linear(word_dim, dim)
class Batch(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.layer = nn.Linear(width, dim)
    def forward(self, items, rest):  # a mean over what fills up a batch, too
        return self.layer(items).tanh().mean(dim=1)
def regions(width, dim): return Batch(width, dim)
def padding(word_dim, dim): return Batch(word_dim, dim)
def later(dim):
    def call(x):
        if len(x) == 10: raise ValueError("no")
        return torch.zeros_like(x)
    return Net(dim, call)
"""


def test_a_fault_of_an_encoder_of_a_file_names_what_its_network_takes_and_returns(tmp_path, monkeypatch, refuses):
    """Of the function itself, of two items before anything is computed, and of a later batch."""
    (file := tmp_path / "own.py").write_text(FAULTY)
    for function in ["makes", "nothing", "widths", "two", "half", "narrow", "later", "linear"]:
        refuses(
            UsageError, train.train, small(model={"image": f"{file}:{function}"}), tmp_path / "run", say=train.no_say
        )
    refuses(UsageError, train.train, small(model={"text": f"{file}:words"}), tmp_path / "run", say=train.no_say)
    assert not any((tmp_path / "run").glob("*.*"))
    pixels = {"data": {"features": "pixels"}, "model": {"image": f"{file}:flat"}}
    refuses(UsageError, train.prepare, small(**pixels))
    with pytest.raises(MemoryError):
        train.prepare(small(model={"image": f"{file}:large"}))
    own = small(model={"image": f"{file}:draws"})
    train.prepare(own)
    state = torch.get_rng_state()
    monkeypatch.setattr(train, "check_encoders", lambda *given: None)
    train.prepare(own)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("model", ["image:regions", "text:padding"])
def test_an_encoder_of_a_file_whose_embeddings_depend_on_their_batch(model, tmp_path, pinned):
    (file := tmp_path / "own.py").write_text(FAULTY)
    side, _, function = model.partition(":")
    with pytest.raises(BadInput) as caught:
        train.prepare(small(model={side: f"{file}:{function}"}))
    pinned(re.sub(r"distance [^)]*", "distance D", str(caught.value)))


@pytest.mark.parametrize("text", encoder_names("captions"))
def test_embeddings_do_not_depend_on_their_batch(text):
    """Of every encoder of captions, and of regions."""
    settings = small(model={"text": text})
    parts = open_data(settings)
    words = vocabulary_of(parts["train"].captions, 2)
    torch.manual_seed(0)
    model = build(settings, parts["train"].images.kind, parts["train"].images.width, len(words.words))
    train.check_encoders(settings, model, parts["train"], words)


def test_layers_of_an_encoder_of_a_file_may_take_their_width_from_the_data(tmp_path):
    (file := tmp_path / "own.py").write_text(
        "from torch import nn\nclass Lazy(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.layer = nn.LazyLinear(dim)\n    def forward(self, images, mask):\n"
        "        return self.layer(images).masked_fill(~mask[:, :, None], -9).amax(dim=1)\n"
    )
    run = train.prepare(small(model={"image": f"{file}:Lazy"}, train={"precision": "bf16"}))
    assert run.model.images.network.layer.weight.shape[0] == 8
    assert train.step(run, next(iter(run.loader(0))), 0) > 0, "mixed precision gives bfloat16"


def test_features_of_a_network_that_is_not_trained_are_computed_once(tmp_path, monkeypatch):
    """An interrupted computation goes on; scores are those of the network itself, which the checkpoint holds."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encode, "FEW", 1)
    (tmp_path / "frozen.py").write_text(
        "from torch import nn\nfrom train_reference.encoders import encoder\n"
        "@encoder('frozen', of='pixels', width=12, pretrained=True, resize=20, side=16)\n"
        "def frozen():\n    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())\n"
    )
    seen: list[int] = []
    built: list[bool] = []

    class Counted(torch.nn.Module):
        def __init__(self, pretrained: bool) -> None:
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 3, 1)
            built.append(pretrained)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(len(images))
            if len(seen) == 11:
                raise KeyboardInterrupt
            return torch.nn.functional.adaptive_avg_pool2d(self.layer(images), 2).flatten(1)

    name = f"{tmp_path / 'frozen.py'}:frozen"
    assert get_encoder(name).name == name
    object.__setattr__(get_encoder("frozen"), "make", Counted)
    data = {"name": str(karpathy(tmp_path)), "images": str(tmp_path / "photos")}
    c = config.assign(config.from_dict({"data": data, "model": {"image": "frozen", "crop": "ten"}}), TINY)
    with pytest.raises(KeyboardInterrupt):
        train.prepare(c)
    run = train.prepare(c)
    assert sum(seen) == 10 * (11 + 24), "the part that was interrupted is computed again, and no other"
    again = train.prepare(c)
    assert sum(seen) == 10 * (11 + 24)
    rows = np.arange(8)
    stored = again.parts["val"].images.take(rows)["images"]
    assert torch.equal(stored, run.parts["val"].images.take(rows)["images"])
    with torch.no_grad():
        direct = run.model.images(**open_data(c)["val"].images.take(rows))
        assert torch.allclose(run.model.images(stored), direct, atol=1e-6)
    computed, report = sum(seen), train.train(c, tmp_path / "run", say=silent)
    found, _ = encode.encode(tmp_path / "run", device="cpu")
    assert found["images"].vectors.shape == (8, 4) and report["R@1", "i2t"].value >= 0
    assert sum(seen) == computed, "vsebench encode takes those features"
    assert built[0] and not built[-1], "the checkpoint has the weights: none are downloaded to encode"
    assert {entry.kind for entry in store.entries()} == {"features"}, "parts are removed"
    mixed = train.prepare(config.assign(c, ["model.crop=random"])).parts
    assert [mixed[name].images.take(rows)["images"].ndim for name in PARTS] == [4, 2, 2]


def test_features_are_those_of_the_network_that_computes_them(tmp_path, monkeypatch):
    """Two files with the same weights and another pooling."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    found = []
    for pooling in ("Avg", "Max"):
        (tmp_path / f"{pooling}.py").write_text(
            "from torch import nn\nfrom train_reference.encoders import encoder\n"
            f"@encoder('{pooling}', of='pixels', width=12, pretrained=True)\n"
            f"def made():\n    return nn.Sequential(nn.Adaptive{pooling}Pool2d(2), nn.Flatten())\n"
        )
        model = {"image": f"{tmp_path / pooling}.py:made"}
        run = train.prepare(small(data={"features": "pixels"}, model=model))
        found.append(run.parts["val"].images.take(np.arange(3))["images"])
    assert not torch.equal(*found)


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
    whole, parts = (checkpoint.read(tmp_path / x / checkpoint.LAST).weights for x in ("whole", "parts"))
    assert all(torch.equal(whole[key], parts[key]) for key in whole)
    assert float(whole["learned.scale"].exp()) != pytest.approx(5.0, abs=1e-4)
    assert encode.encode(tmp_path / "whole", device="cpu")[0]["images"].vectors.shape == (10, 8)
    with torch.no_grad():
        run.model.learned["scale"].fill_(9.0)
    assert run.model.hyper_parameters()["scale"] > 100, "with its gradient"
    train.step(run, next(iter(run.loader(0))), 0)
    assert run.model.hyper_parameters()["scale"].item() == pytest.approx(100)


def test_another_loss_says_which_settings_of_the_first_it_keeps(tmp_path, log, pinned):
    """A note names the settings that another loss keeps; without such settings there is no note."""
    file = tmp_path / "c.toml"
    file.write_text(
        '[loss]\nname = "sam"\nwarmup = 2\nrelevance = "match"\nmask_same_image = false\nsettings = {tau = 3.0}\n'
    )
    found = config.configured("mh", file).loss
    assert (found.name, found.warmup, found.settings) == ("mh", 2, {}) and len(log.notes) == 1
    pinned(log.notes[0])
    config.configured("sam", file)
    config.configured("mh")
    file.write_text('[loss]\nname = "sam"\n[train]\nepochs = 3\n')
    config.configured("mh", file)
    assert len(log.notes) == 1


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
