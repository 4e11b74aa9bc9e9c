"""Weights that do not fit their model, and vectors that depend on their batch: the right vectors, or a refusal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import clip_models
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.files import weights
from vsebench.log import Log
from vsebench.pretrained import sentence

torch = pytest.importorskip("torch", reason="torch is not installed (extra: clip)")
pytest.importorskip("PIL", reason="Pillow is not installed (extra: clip)")
pytest.importorskip("open_clip", reason="open_clip_torch is not installed (extra: clip)")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: clip)")

FILES = ["a.png", "b.png", "c.png"]
Tensors = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clip_models.transformers_folder(tmp_path_factory.mktemp("models") / "clip")


@pytest.fixture(scope="module")
def open_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clip_models.open_clip_folder(tmp_path_factory.mktemp("models") / "open")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return clip_models.photos(tmp_path / "photos", FILES), clip_models.captions_csv(tmp_path / "captions.csv", FILES)


def changed(model: Path, folder: Path, change: Callable[[Tensors], Any], name: str = "") -> Path:
    """A copy of the folder of a model with other weights, perhaps in a file of another name, as torch writes it."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(model, folder)
    (file,) = folder.glob("*.safetensors")
    made = change(load_file(file))
    if name:
        file.unlink()
        torch.save(made, folder / name)
    else:
        save_file({key: tensor.contiguous() for key, tensor in made.items()}, file, metadata={"format": "pt"})
    return folder


def prefixed(*prefixes: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {"".join(prefixes) + key: tensor for key, tensor in tensors.items()}


def same(found: vsebench.pretrained.encode.Encoded, model: Path, data: tuple[Path, Path]) -> bool:
    want = vsebench.encode(model, *data)
    return np.array_equal(found.images.vectors, want.images.vectors) and np.array_equal(
        found.captions.vectors, want.captions.vectors
    )


@pytest.mark.parametrize(
    ("kind", "prefixes"),
    [
        ("transformers", ("module.",)), ("torch", ("_orig_mod.",)), ("sharded", ("module.", "_orig_mod.")),
        ("open_clip", ("module.",)), ("open_clip", ("_orig_mod.",)), ("open_clip", ("module.", "_orig_mod.")),
    ],
)  # fmt: skip
def test_a_prefix_of_all_names_is_dropped(kind, prefixes, folder, open_clip, data, tmp_path, pinned: Pinned):
    plain = open_clip if kind == "open_clip" else folder
    made = changed(plain, tmp_path / "made", prefixed(*prefixes), "pytorch_model.bin" if kind == "torch" else "")
    if kind == "sharded":
        from safetensors.torch import load_file, save_file

        tensors = load_file(made / "model.safetensors")
        (made / "model.safetensors").unlink()
        names = {key: f"model-{1 + n % 2:05}-of-00002.safetensors" for n, key in enumerate(tensors)}
        for file in set(names.values()):
            part = {key: tensor for key, tensor in tensors.items() if names[key] == file}
            save_file(part, made / file, metadata={"format": "pt"})
        index = {"metadata": {}, "weight_map": names}
        (made / "model.safetensors.index.json").write_text(json.dumps(index))
    found = vsebench.encode(made, *data)
    assert same(found, plain, data) and not found.warnings
    pinned(found.notes[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda t: {**t, "text_model.embeddings.position_ids": torch.arange(12)[None]},  # a buffer of older versions
        lambda t: {key: tensor for key, tensor in t.items() if key != "logit_scale"},  # no vector depends on it
    ],
    ids=["position_ids", "logit_scale"],
)
def test_weights_that_no_vector_depends_on(change, folder, data, tmp_path):
    found = vsebench.encode(changed(folder, tmp_path / "made", change), *data)
    assert same(found, folder, data) and not found.warnings


def test_weights_that_are_not_used_are_a_warning(folder, open_clip, data, tmp_path, pinned: Pinned):
    for at, model in enumerate((folder, open_clip)):
        made = changed(model, tmp_path / f"made{at}", lambda t: {**t, "head.weight": torch.zeros(2)})
        with pytest.warns(vsebench.VsebenchWarning) as raised:
            found = vsebench.encode(made, *data)
        assert same(found, model, data) and [str(w.message) for w in raised] == [*found.warnings]
        pinned(found.warnings)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: {k: x for k, x in t.items() if "vis" not in k},
        lambda t: {k: x for k, x in t.items() if k in ("logit_scale", "text_projection") or "vis" in k},
        lambda t: {f"module.{k}" if "vis" in k else k: x for k, x in t.items()},
        lambda t: {f"module.{k}" if "vis" not in k else k: x for k, x in t.items()},
        lambda t: {f"model.{k}": x for k, x in t.items()},
        lambda t: {k: x for n, (k, x) in enumerate(sorted(t.items())) if n != 20},
        lambda t: {k: x[..., :8] if k in ("visual.proj", "visual_projection.weight") else x for k, x in t.items()},
    ],
    ids=["no-images", "no-texts", "part-images", "part-texts", "unknown-prefix", "one", "shape"],
)
@pytest.mark.parametrize("kind", ["transformers", "open_clip"])
def test_weights_that_are_missing_or_of_other_shapes_are_refused(
    kind, change, folder, open_clip, data, tmp_path, refuses: Refuses
):
    made = changed(folder if kind == "transformers" else open_clip, tmp_path / "made", change)
    refuses(BadInput, vsebench.encode, made, *data)


@pytest.mark.parametrize(
    "checkpoint",
    [
        lambda t: {"state_dict": t, "epoch": 3, "best": np.float64(512.3), "step": np.int64(7)},
        lambda t: {"model_state_dict": prefixed("module.")(t), "optimizer_state_dict": {"state": {}}},
        lambda t: {"model": prefixed("_orig_mod.")(t), "epoch": 3},
        lambda t: {"model": {"state_dict": t}, "rsum": np.float32(1)},
    ],
)
def test_checkpoints_of_training(checkpoint, open_clip, data, tmp_path, pinned: Pinned):
    found = vsebench.encode(changed(open_clip, tmp_path / "made", checkpoint, "open_clip_pytorch_model.bin"), *data)
    assert same(found, open_clip, data)
    pinned(found.notes)


class Runs:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("ran"),)


@pytest.mark.parametrize("beside", [{"config": Path("a")}, {"config": Runs()}, {}], ids=["object", "code", "empty"])
def test_a_checkpoint_that_cannot_be_read_safely(beside, open_clip, data, tmp_path, monkeypatch, pinned: Pinned):
    monkeypatch.chdir(tmp_path)
    made = changed(open_clip, tmp_path / "made", lambda t: beside and {"state_dict": t, **beside}, "model.pth")
    with pytest.raises(BadInput) as caught:
        vsebench.encode(made, *data)
    assert not Path("ran").exists()
    pinned(caught.value)


def test_adapters_and_weights_without_their_model(data, tmp_path, monkeypatch, refuses: Refuses):
    monkeypatch.chdir(tmp_path)
    Path("adapter").mkdir()
    Path("adapter/adapter_config.json").write_text("{}")
    Path("weights.pt").touch()
    for model in ("adapter", "sentence-transformers:adapter", "weights.pt"):
        refuses((BadInput, UsageError), vsebench.encode, model, *data)


@torch.no_grad()
def test_captions_of_siglip_are_filled_up_to_one_length(data, tmp_path, monkeypatch, refuses: Refuses):
    folder, model, tokenizer = clip_models.siglip_folder(tmp_path / "siglip")
    data[1].write_text("image,caption\n" + "".join(f"{name},{'a dog ' * n}\n" for n, name in enumerate(FILES, 1)))
    for batch in (1, 2, 64):
        found = vsebench.encode(folder, *data, batch=batch)
        tokens = tokenizer(list(found.split.columns.texts), padding="max_length", return_tensors="pt")
        vectors = model.get_text_features(**tokens)
        vectors = torch.nn.functional.normalize(getattr(vectors, "pooler_output", vectors), dim=-1).numpy()
        assert np.abs(found.captions.vectors - vectors).max() < 1e-5
    refuses(UsageError, vsebench.encode, folder, *data, context_length=8)
    monkeypatch.setattr(sentence, "FIXED_LENGTH", ())  # as a model that nobody knows
    for precision in ("fp32", "bf16", "fp16"):
        for batch in (1, 64):
            with pytest.raises(BadInput) as caught:
                vsebench.encode(folder, *data, batch=batch, precision=precision)
            assert "if other items are in its batch" in caught.value.what


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_models_whose_vectors_do_not_depend_on_their_batch(precision, folder, open_clip, data):
    for model in (folder, open_clip):
        one, all_ = (vsebench.encode(model, *data, batch=batch, precision=precision) for batch in (1, 64))
        assert np.abs(one.captions.vectors - all_.captions.vectors).max() < weights.MAX_DISTANCE[precision]


def test_gains_of_a_sentence_encoder_whose_weights_do_not_fit(tmp_path, monkeypatch, log: Log, refuses: Refuses):
    """A pooling layer that the mean of the tokens does not read may be missing."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "##a", "##o", "##g", "##t"]
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}
    torch.manual_seed(0)
    (plain := tmp_path / "bert").mkdir()
    (plain / "vocab.txt").write_text("\n".join(words) + "\n")
    BertModel(BertConfig(vocab_size=len(words), hidden_size=16, **sizes)).save_pretrained(plain)
    BertTokenizerFast(vocab_file=str(plain / "vocab.txt")).save_pretrained(plain)
    split = vsebench.TestSet.captioned(
        "custom", np.arange(2), np.arange(4), np.array([0, 0, 1, 1]), ("a dog", "a cat", "a", "cab")
    )

    def gains(model: Path) -> Any:
        images = np.eye(2, dtype=np.float32)
        report = vsebench.evaluate(
            images, images[split.owners], split=split, gains=f"sentence:{model}", metrics="NCS@1", trust=True, ci=0
        )
        return report["sentence:NCS@1", "i2t"].per_query

    want = gains(plain)
    without = changed(plain, tmp_path / "mean", lambda t: {k: x for k, x in t.items() if "pooler" not in k})
    assert np.array_equal(gains(without), want)
    broken = changed(plain, tmp_path / "broken", lambda t: {k: x for k, x in t.items() if "attention" not in k})
    refuses(BadInput, gains, broken)
