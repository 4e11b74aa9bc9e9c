"""Encoding with pretrained models: vectors as by the libraries, the right files, interrupted calls that go on.

The models are tiny, with random weights, in local folders; no test uses the network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import choice_files, clip_models
from tests.commands import cli, document
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.files import store
from vsebench.pretrained import encode as encoding
from vsebench.pretrained import names, parts

torch = pytest.importorskip("torch", reason="torch is not installed (extra: clip)")
pytest.importorskip("PIL", reason="Pillow is not installed (extra: clip)")

FILES = ["a.png", "b.png", "sub/c.png", "d.jpg", "e.png"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own, an empty folder to work in, and no network."""

    def refuse(*_: object) -> None:
        raise AssertionError("a test tried the network")

    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture(scope="module")
def open_clip_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("open_clip", reason="open_clip_torch is not installed (extra: clip)")
    return clip_models.open_clip_folder(tmp_path_factory.mktemp("models") / "tiny-clip")


@pytest.fixture(scope="module")
def sentence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: clip)")
    return clip_models.sentence_folder(tmp_path_factory.mktemp("models") / "tiny-sentence")


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, Path]:
    """A folder of five images and the captions of each, two an image."""
    return clip_models.photos(tmp_path / "photos", FILES), clip_models.captions_csv(tmp_path / "captions.csv", FILES)


def pixels(folder: Path) -> list[Any]:
    from PIL import Image

    return [Image.open(folder / name).convert("RGB") for name in FILES]


def strings(path: Path) -> list[str]:
    return [line.partition(",")[2] for line in path.read_text().splitlines()[1:]]


def unit(rows: list[Any]) -> np.ndarray:
    found = np.stack([np.asarray(row, np.float64) for row in rows])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@torch.no_grad()
def test_open_clip_against_a_loop_over_its_own_functions(open_clip_model, data):
    import open_clip

    found = vsebench.encode(open_clip_model, *data, batch=2)
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{open_clip_model}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{open_clip_model}")
    model.eval()
    images = unit([model.encode_image(preprocess(image)[None])[0] for image in pixels(data[0])])
    captions = unit([model.encode_text(tokenizer([string]))[0] for string in strings(data[1])])
    assert found.images.vectors.dtype == np.float32
    assert np.abs(found.images.vectors - images).max() < 1e-6
    assert np.abs(found.captions.vectors - captions).max() < 1e-6
    assert np.ptp(images, axis=0).max() > 0.1 and np.ptp(captions, axis=0).max() > 0.1  # the images do differ
    assert found.split.rows.ids.tolist() == FILES
    assert found.split.columns.ids.tolist() == [f"{name}#{n}" for name in FILES for n in (0, 1)]
    assert found.split.image_of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@torch.no_grad()
def test_sentence_transformers_against_transformers(sentence_model, data):
    from transformers import CLIPModel, CLIPProcessor

    source = sentence_model.with_name(f"{sentence_model.name}-source")
    model, processor = CLIPModel.from_pretrained(source).eval(), CLIPProcessor.from_pretrained(source)

    def vector(output: Any) -> Any:
        return getattr(output, "pooler_output", output)[0]

    images = unit([
        vector(model.get_image_features(**processor.image_processor([image], return_tensors="pt")))
        for image in pixels(data[0])
    ])  # fmt: skip
    tokens = [
        processor.tokenizer([s], return_tensors="pt", truncation=True, max_length=clip_models.CONTEXT)
        for s in strings(data[1])
    ]
    captions = unit([vector(model.get_text_features(**t)) for t in tokens])
    for folder in (sentence_model, source):  # as sentence-transformers saves it, and as transformers does
        found = vsebench.encode(folder, *data, batch=3)
        assert np.abs(found.images.vectors - images).max() < 1e-5
        assert np.abs(found.captions.vectors - captions).max() < 1e-5
        assert found.about["model"] == f"sentence-transformers:{folder.name}"
        assert found.about["preprocess"]["crop_size"] == {"height": 32, "width": 32}


def test_the_file_is_evaluated_by_its_ids(open_clip_model, data):
    found = document("encode", open_clip_model, "--images", data[0], "--captions", data[1], "-o", "emb.npz")
    assert (found["images"], found["captions"], found["split"]) == (5, 10, "custom")
    about = found["encoder"]
    assert about["model"] == "open_clip:tiny-clip" and about["normalised"] is True and about["precision"] == "float32"
    assert about["preprocess"]["mean"] == clip_models.PREPROCESS["mean"] and about["context"] == clip_models.CONTEXT
    assert about["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert str(open_clip_model.parent) not in json.dumps(about)  # no folders of this machine
    with np.load("emb.npz") as file:
        stored = {name: file[name] for name in file.files}
    assert json.loads(str(stored["encoder"])) == about
    assert np.abs(np.linalg.norm(stored["text_embeddings"], axis=1) - 1).max() < 1e-6
    order = np.random.default_rng(0).permutation(10)  # rows in any order are the same file
    by_row = ("text_embeddings", "text_ids", "image_index", "captions")
    np.savez("mixed.npz", **{name: array[order] if name in by_row else array for name, array in stored.items()})
    want, mixed = (vsebench.evaluate(f"{name}.npz", metrics="R@1,NCS@1", trust=True, ci=0) for name in ("emb", "mixed"))
    assert want.notes[0] == f"encoded by open_clip:tiny-clip (weights {about['weights_sha256']}, {about['library']})"
    assert not any("ignored" in note for note in want.notes)
    assert [(r.metric, r.direction, r.value) for r in mixed.results] == [
        (r.metric, r.direction, r.value) for r in want.results
    ]
    assert "encoded by open_clip:tiny-clip" in cli("inspect", "emb.npz").out


def test_the_weights_identify_the_model(open_clip_model, data, tmp_path):
    import open_clip

    other = clip_models.open_clip_folder(tmp_path / "other", seed=1)
    identities = {vsebench.encode(m, *data).about["weights_sha256"] for m in (open_clip_model, other, open_clip_model)}
    assert len(identities) == 2
    # The same weights from a file, by the name of an architecture.
    open_clip.add_model_config(tmp_path / "tiny-named.json")
    (tmp_path / "tiny-named.json").write_text(json.dumps(clip_models.OPEN_CLIP))
    open_clip.add_model_config(tmp_path / "tiny-named.json")
    named = vsebench.encode(f"open_clip:tiny-named/{other / 'open_clip_model.safetensors'}", *data)
    assert named.about["weights_sha256"] in identities
    assert named.about["model"] == "open_clip:tiny-named/open_clip_model.safetensors"


class Stop(Exception):
    """An interrupt."""


def stop_after(count: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        assert total == 15
        if done >= count:
            raise Stop

    return progress


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the image files that are read; a part is one batch."""
    seen: list[str] = []
    original = encoding.read_image

    def noted(path: Path) -> Any:
        seen.append(path.name)
        return original(path)

    monkeypatch.setattr(encoding, "read_image", noted)
    monkeypatch.setattr(parts, "BATCHES_PER_PART", 1)
    return seen


@pytest.mark.parametrize(
    ("library", "count"),
    [("open_clip_model", 2), ("open_clip_model", 5), ("open_clip_model", 9), ("sentence_model", 9)],
)
def test_an_interrupted_call_goes_on(request, library, count, data, read):
    model = request.getfixturevalue(library)
    want = vsebench.encode(model, *data, batch=2)
    assert not store.entries(parts.KIND) and sorted(read) == sorted(Path(f).name for f in FILES)
    with pytest.raises(Stop):
        vsebench.encode(model, *data, batch=2, progress=stop_after(count))
    assert store.entries(parts.KIND) or count == 2  # stopped within the first part
    read.clear()
    found = vsebench.encode(model, *data, batch=2)
    assert np.array_equal(found.images.vectors, want.images.vectors)
    assert np.array_equal(found.captions.vectors, want.captions.vectors)
    if count > 5:
        assert not read  # all images were done
    assert not store.entries(parts.KIND)


def test_parts_of_other_files_models_or_settings_are_not_used(open_clip_model, data, read, tmp_path):
    def interrupt() -> None:
        with pytest.raises(Stop):
            vsebench.encode(open_clip_model, *data, batch=2, progress=stop_after(15))
        read.clear()

    interrupt()
    found = vsebench.encode(open_clip_model, *data, batch=2)
    assert read == [] and found.notes[-1].endswith("vectors are from an interrupted call")

    interrupt()
    clip_models.photos(data[0], ["a.png"], seed=5)  # another image under the same name
    os.utime(data[0] / "a.png", (1, 1))
    changed = vsebench.encode(open_clip_model, *data, batch=2)
    assert sorted(read) == ["a.png", "b.png"]  # its part alone
    assert not np.array_equal(changed.images.vectors[0], found.images.vectors[0])
    assert np.array_equal(changed.images.vectors[2:], found.images.vectors[2:])

    for model, options in (
        (clip_models.open_clip_folder(tmp_path / "new", seed=3), {}),
        (open_clip_model, {"batch": 3}),
    ):
        store.clear(parts.KIND)
        interrupt()
        vsebench.encode(model, *data, **{"batch": 2, **options})
        assert len(read) == 5


def test_damaged_parts_are_not_used(open_clip_model, data, read):
    want = vsebench.encode(open_clip_model, *data, batch=2)
    with pytest.raises(Stop):
        vsebench.encode(open_clip_model, *data, batch=2, progress=stop_after(15))
    for entry in store.entries(parts.KIND):
        entry.path.write_bytes(entry.path.read_bytes()[:-1] + b"\x00")
    assert np.array_equal(vsebench.encode(open_clip_model, *data, batch=2).images.vectors, want.images.vectors)


def test_a_file_that_cannot_be_written_loses_no_vectors(open_clip_model, data, read, monkeypatch, pinned):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    words = ("--images", data[0], "--captions", data[1], "-o", "emb.npz", "--batch", 2)
    pinned(cli("encode", open_clip_model, *words, code=6).err)
    monkeypatch.undo()


def test_captions_that_are_cut_are_counted(open_clip_model, sentence_model, tmp_path):
    folder = clip_models.photos(tmp_path / "two", ["a.png"])
    short, exact = "dog", " ".join(["dog"] * (clip_models.CONTEXT - 2))  # with the marks of start and end
    rows = [short, exact, f"{exact} dog", f"{exact} dog dog"]
    table = tmp_path / "long.csv"
    table.write_text("image,caption\n" + "".join(f"a.png,{row}\n" for row in rows))
    for model in (open_clip_model, sentence_model):
        found = vsebench.encode(model, folder, table)
        (note,) = [n for n in found.notes if "tokens" in n]
        assert note == f"2 of 4 captions are longer than {clip_models.CONTEXT} tokens and truncated", model
        assert np.abs(found.captions.vectors[2] - found.captions.vectors[3]).max() < 1e-6
        assert np.abs(found.captions.vectors[0] - found.captions.vectors[1]).max() > 1e-3


def test_captions_that_are_cut_by_a_tokenizer_of_transformers(open_clip_model, sentence_model, tmp_path):
    """In the folder of a model of open_clip; its padding is the token of the end."""
    folder = clip_models.open_clip_folder(tmp_path / "words", hf_tokenizer_name="its own")
    source = sentence_model.with_name(f"{sentence_model.name}-source")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    full = " ".join(["dog"] * (clip_models.CONTEXT - 2))
    table = tmp_path / "long.csv"
    table.write_text(f"image,caption\na.png,dog\na.png,{full}\na.png,{full} dog\n")
    found = vsebench.encode(folder, clip_models.photos(tmp_path / "one", ["a.png"]), table)
    assert found.notes == (f"1 of 3 captions is longer than {clip_models.CONTEXT} tokens and truncated",)
    assert re.fullmatch(r"CLIPTokenizer#[0-9a-f]{8}", found.about["tokenizer"])
    assert vsebench.encode(sentence_model, tmp_path / "one", table).about["tokenizer"] == found.about["tokenizer"]


def test_coco_annotations_and_karpathy_files(open_clip_model, tmp_path):
    folder = clip_models.photos(tmp_path / "photos", ["one.png", "two.png", "three.png"])
    images = [{"id": 11, "file_name": "two.png"}, {"id": 10, "file_name": "one.png"}]
    notes = [{"id": 5, "image_id": 10, "caption": "first"}, {"id": 4, "image_id": 11, "caption": "second"}]
    (tmp_path / "coco.json").write_text(json.dumps({"images": images, "annotations": notes}))
    found = vsebench.encode(open_clip_model, folder, tmp_path / "coco.json")
    assert found.split.rows.ids.tolist() == [10, 11] and found.split.columns.ids.tolist() == [5, 4]
    assert found.notes[0] == "images of the folder without a caption are left out: 1"

    def entry(name: str, part: str) -> dict[str, Any]:
        sentences = [{"raw": f"caption {n}", "sentid": n} for n in range(5)]
        return {"filename": name, "split": part, "imgid": 0, "sentences": sentences}

    document = {"images": [entry("one.png", "train"), entry("two.png", "test"), entry("three.png", "val")]}
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    test = vsebench.encode(open_clip_model, folder, tmp_path / "dataset.json")
    val = vsebench.encode(open_clip_model, folder, tmp_path / "dataset.json", part="val")
    assert test.split.rows.ids.tolist() == ["two.png"] and val.split.rows.ids.tolist() == ["three.png"]
    assert np.abs(test.images.vectors[0] - found.images.vectors[1]).max() < 1e-6  # both are two.png


def test_a_table_with_ids_and_names_of_files(open_clip_model, data, tmp_path):
    (tmp_path / "ids.tsv").write_text("image_id\tfile_name\tcaption\n901\tb.png\tx\n900\tsub/c.png\ty\n")
    found = vsebench.encode(open_clip_model, data[0], tmp_path / "ids.tsv")
    every = vsebench.encode(open_clip_model, *data)
    assert found.split.rows.ids.tolist() == [901, 900]
    assert np.abs(found.images.vectors - every.images.vectors[1:3]).max() < 1e-6


def test_a_declared_split(open_clip_model, data):
    cli("data", "build", "my-photos", "--from", data[1])
    said = cli("encode", open_clip_model, "--images", data[0], "--split", "my-photos").out
    assert "tiny-clip-my-photos.npz: 5 images and 10 captions of my-photos" in said
    with np.load("tiny-clip-my-photos.npz") as file:
        assert "captions" not in file.files
    assert vsebench.evaluate("tiny-clip-my-photos.npz", metrics="R@1", trust=True, ci=0).split == "my-photos"
    lines = Path("lines.txt")
    lines.write_text("".join(f"{s}\n" for s in reversed(strings(data[1]))))
    other = vsebench.encode(open_clip_model, data[0], lines, split="my-photos")
    assert other.split.columns.texts == tuple(reversed(strings(data[1])))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ([], 2),
        (["--images", "photos"], 2),
        (["--images", "photos", "--captions", "c.csv", "--data", "x"], 2),
        (["--images", "photos", "--captions", "c.csv", "--split", "s", "--part", "val"], 2),
        (["--images", "photos", "--captions", "c.txt"], 2),
        (["--images", "photos", "--captions", "none.csv"], 3),
        (["--images", "photos", "--split", "coco-6k"], 2),
        (["--images", "none", "--captions", "c.csv"], 3),
        (["--images", "empty", "--captions", "c.csv"], 3),
        (["--images", "photos", "--captions", "c.csv", "--device", "mps"], 2),
        (["--images", "photos", "--captions", "more.csv"], 3),
        (["--images", "broken", "--captions", "c.csv"], 3),
        (["--images", "photos", "--captions", "c.csv", "-o", "none/emb.npz"], 2),
    ],
)
def test_what_does_not_work_is_named(open_clip_model, more, code, pinned):
    clip_models.photos(Path("photos"), ["a.png", "b.png"])
    clip_models.captions_csv(Path("c.csv"), ["a.png"])
    clip_models.captions_csv(Path("more.csv"), ["a.png", "z.png"])
    Path("c.txt").write_text("a dog\n")
    Path("empty").mkdir()
    Path("broken").mkdir()
    Path("broken/a.png").write_bytes(Path("photos/a.png").read_bytes()[:60])
    pinned(cli("encode", open_clip_model, *more, code=code).err)
    assert not list(Path().glob("*.npz"))


def test_options_of_pretrained_models_do_not_go_with_checkpoints(pinned: Pinned, refuses: Refuses):
    Path("run").mkdir()
    for words in (("nowhere", "--images", "photos"), ("run", "--split", "coco-5k")):
        pinned(cli("encode", *words, code=2).err)
    refuses(UsageError, vsebench.encode, "run", "photos", "captions.csv")


@pytest.mark.parametrize("module", ["open_clip", "PIL", "torch"])
def test_a_package_that_is_missing(module, monkeypatch, data, refuses):
    monkeypatch.setitem(sys.modules, module, None)
    caught = refuses(MissingPackage, vsebench.encode, "open_clip:ViT-B-32/laion2b_s34b_b79k", *data)
    assert caught.exit_code == 4


@pytest.mark.parametrize("model", ["ViT-B32/laion2b_s34b_b79k", "ViT-B-32/laion2b", "ViT-B-32/openai"])
def test_names_that_open_clip_does_not_have(open_clip_model, data, model, refuses):
    refuses(UsageError, vsebench.encode, f"open_clip:{model}", *data)


def test_published_models_are_not_fetched_offline(
    open_clip_model, sentence_model, data, monkeypatch, tmp_path, refuses
):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for model in ("open_clip:ViT-B-32/laion2b_s34b_b79k", "sentence-transformers:no-such-clip-model"):
        refuses(BadInput, vsebench.encode, model, *data)


def test_models_that_were_downloaded_before_need_no_network(
    open_clip_model, sentence_model, data, tmp_path, monkeypatch
):
    """In the cache of Hugging Face."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HF_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "hub"))
    revision = "0123456789abcdef0123456789abcdef01234567"
    for text, repository, folder in (
        ("open_clip:hf-hub:me/tiny", "me/tiny", open_clip_model),
        ("sentence-transformers:clip-tiny", "sentence-transformers/clip-tiny", sentence_model),
    ):
        cached = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
        shutil.copytree(folder, cached / "snapshots" / revision)
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text(revision)
        found, again = (vsebench.encode(model, *data) for model in (text, folder))
        assert found.about["revision"] == f"{repository}@01234567"
        assert np.array_equal(found.images.vectors, again.images.vectors)


def test_damaged_models_and_models_of_captions_alone(open_clip_model, sentence_model, data, tmp_path, pinned, refuses):
    broken = clip_models.open_clip_folder(tmp_path / "broken")
    weights = broken / "open_clip_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    refuses(BadInput, vsebench.encode, broken, *data)
    weights.unlink()
    with pytest.raises(BadInput) as caught:  # never with random weights
        vsebench.encode(broken, *data)
    pinned(caught.value)

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    SentenceTransformer(modules=[BoW(["dog", "cat"])]).save(str(tmp_path / "words"))
    refuses(BadInput, vsebench.encode, tmp_path / "words", *data)


def test_weights_that_are_not_finite(open_clip_model, data, tmp_path, refuses):
    from safetensors.torch import load_file, save_file

    folder = clip_models.open_clip_folder(tmp_path / "nan")
    tensors = load_file(folder / "open_clip_model.safetensors")
    tensors["visual.proj"][0, 0] = float("nan")
    save_file(tensors, folder / "open_clip_model.safetensors")
    refuses(BadInput, vsebench.encode, folder, *data)


def test_threads_and_gradients_are_as_before(open_clip_model, data):
    before = torch.get_num_threads(), torch.is_inference_mode_enabled()
    one = vsebench.encode(open_clip_model, *data, threads=1)
    assert (torch.get_num_threads(), torch.is_inference_mode_enabled()) == before
    assert np.abs(one.images.vectors - vsebench.encode(open_clip_model, *data).images.vectors).max() < 1e-6


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("open_clip:ViT-B-32/openai", names.Named("open_clip", "ViT-B-32", "openai")),
        ("open-clip:ViT-B-32/a/b.pt", names.Named("open_clip", "ViT-B-32", "a/b.pt")),
        ("open_clip:hf-hub:me/clip", names.Named("open_clip", "hf-hub:me/clip")),
        ("sentence-transformers:clip-ViT-B-32", names.Named("sentence-transformers", "clip-ViT-B-32")),
        ("sentence_transformers:me/clip", names.Named("sentence-transformers", "me/clip")),
        ("C:\\runs\\a.safetensors", None),
        ("runs/sam", None),
    ],
)
def test_names_of_models(text, named):
    assert names.find(text) == named


def test_names_that_name_no_model(refuses):
    Path("empty").mkdir()
    for text in ("open_clip:", "open_clip:ViT-B-32"):
        refuses(UsageError, names.find, text)
    for text in ("open_clip:./nowhere", "open_clip:empty", "sentence-transformers:empty"):
        refuses(BadInput, names.find, text)


@pytest.mark.parametrize(
    "encoder",
    ["{", "[1]", '{"model": 1}', "[" * 100_000, "{}" + " " * (1 << 20), b"bytes", np.array(["a", "b"]), np.float32(1)],
    ids=["no-json", "list", "incomplete", "deep", "large", "bytes", "array", "number"],
)
def test_an_array_of_that_name_from_elsewhere_is_harmless(encoder, rng):
    sides = {"images": rng.standard_normal((60, 8)), "texts": rng.standard_normal((300, 8))}
    np.savez("other.npz", **sides, encoder=np.asarray(encoder))
    found = vsebench.evaluate("other.npz", metrics="R@1", trust=True, ci=0)
    assert not any("encoded by" in note for note in found.notes)


def test_the_text_of_a_model_is_shown_as_text(rng, pinned):
    about = {"model": "a\x1b[31m\nb", "weights_sha256": "<script>", "library": "x" * 5000}
    sides = {"images": rng.standard_normal((60, 8)), "texts": rng.standard_normal((300, 8))}
    np.savez("other.npz", **sides, encoder=np.array(json.dumps(about)))
    said = cli("eval", "other.npz", "--metrics", "R@1", "--trust", "--ci", 0).err
    assert "x" * 300 not in said
    pinned(said)


@pytest.mark.gpu
def test_on_a_gpu(open_clip_model, data):
    if not torch.cuda.is_available():
        print("torch finds no GPU")
        pytest.skip("torch finds no GPU")
    cpu, gpu = (vsebench.encode(open_clip_model, *data, device=device) for device in ("cpu", "cuda"))
    assert gpu.about["device"] == f"cuda, {torch.cuda.get_device_name()}"
    assert np.abs(cpu.images.vectors - gpu.images.vectors).max() < 1e-5
    assert np.abs(cpu.captions.vectors - gpu.captions.vectors).max() < 1e-5


def test_a_set_of_choices_is_encoded_and_measured(open_clip_model, tmp_path, refuses):
    files = [f"00000000000{n}.jpg" for n in (1, 2, 3)]
    folder = choice_files.sugarcrepe(tmp_path / "set")
    photos = clip_models.photos(tmp_path / "val2017", files)
    found = document("encode", open_clip_model, "--images", photos, "--split", folder)
    assert (found["images"], found["captions"], found["split"]) == (3, 10, "sugarcrepe")
    assert found["file"] == "tiny-clip-set.npz"
    with np.load("tiny-clip-set.npz") as stored:
        assert (
            stored["text_ids"][:2].tolist() == ["add_obj:0#0", "add_obj:0#1"] and stored["image_ids"].tolist() == files
        )
        dots = (stored["image_embeddings"] @ stored["text_embeddings"].T).astype(float)
    image = [0, 1, 0, 2, 1]  # of the five items
    right = [dots[i, 2 * n] > dots[i, 2 * n + 1] for n, i in enumerate(image)]
    result = vsebench.choice("tiny-clip-set.npz", set=folder, ci=0)
    values = result.to_frame().set_index("category")["value"]
    assert values["all items"] == pytest.approx(np.mean(right))
    assert any("encoded by open_clip:tiny-clip" in note for note in result.notes)
    refuses(UsageError, vsebench.encode, open_clip_model, photos, split="sugarcrep")


def test_the_ten_lines_of_the_page(
    open_clip_model: Path, data: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run with another model and set, and give the report of the command."""
    import open_clip
    from PIL import Image

    images, captions = data
    page = (Path(__file__).parents[2] / "docs" / "encoding.md").read_text(encoding="utf-8")
    code = page.partition("## COCO 5K with open_clip")[2].partition("```python\n")[2].partition("```")[0]
    assert "metrics" in code and len(code.strip().splitlines()) <= 12
    vsebench.encode(f"open_clip:{open_clip_model}", images, captions, output="made.npz")
    wanted = vsebench.evaluate("made.npz", metrics="recall", ci=0, trust=True)
    split = vsebench.types.TestSet.captioned(
        "custom", np.arange(5), np.arange(10), np.repeat(np.arange(5), 2), tuple(strings(captions))
    )
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{open_clip_model}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{open_clip_model}")
    monkeypatch.setattr(vsebench, "load_split", lambda name, captions: split)
    monkeypatch.setattr(open_clip, "create_model_and_transforms", lambda *_, **__: (model, None, transform))
    monkeypatch.setattr(open_clip, "get_tokenizer", lambda _: tokenizer)
    opened = Image.open
    monkeypatch.setattr(Image, "open", lambda path: opened(images / FILES[int(str(path)[-16:-4])]))
    names: dict[str, Any] = {}
    exec(code.replace('metrics="recall,eccv,ncs"', 'metrics="recall", ci=0, trust=True'), names)
    found = names["report"]
    assert [(str(r.metric), r.direction, r.value) for r in found.results] == [
        (str(r.metric), r.direction, r.value) for r in wanted.results
    ]
