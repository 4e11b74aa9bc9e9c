"""Sources of training data: what is read from their files, and the messages about files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vsebench
from vsebench.errors import BadInput, UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")


from tests.commands import cli, refused  # noqa: E402
from tests.training import OPTIONS, silent  # noqa: E402
from train_reference import config, model, train  # noqa: E402
from train_reference.data import ImageFiles, Images  # noqa: E402
from train_reference.encoders import get_encoder  # noqa: E402
from train_reference.sources import open_data  # noqa: E402


def of(**data: object) -> config.Config:
    return config.from_dict({"data": data})


WORDS = ("red", "blue", "green", "black")


def precomp(folder: Path, *, repeat: int = 1, shape: tuple[int, ...] = (8,), images: int = 12) -> Path:
    """A folder like those of SCAN: five captions an image, whose colour is also in its features."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in ("train", "dev", "test"):
        features = rng.standard_normal((images, *shape)).astype(np.float32)
        np.save(folder / f"{part}_ims.npy", np.repeat(features, repeat, axis=0))
        captions = [f"a {WORDS[n % 4]} dog number {k}" for n in range(images) for k in range(5)]
        (folder / f"{part}_caps.txt").write_text("\n".join(captions) + "\n")
    return folder


TINY = ["model.dim=4", "model.word_dim=4", "data.word_count=2", "train.epochs=1", "train.batch=10", "train.threads=1"]


@pytest.mark.parametrize("repeat", [1, 5])
@pytest.mark.parametrize("shape", [(8,), (3, 8)])
def test_folders_of_features(repeat, shape, tmp_path):
    folder = precomp(tmp_path / "f30k_precomp", repeat=repeat, shape=shape)
    c = config.assign(of(name=str(folder)), TINY)
    parts = open_data(c)
    for part, stem in (("train", "train"), ("val", "dev"), ("test", "test")):
        images, split = parts[part].images, parts[part].split
        assert (len(images), images.width, images.kind) == (12, 8, "vectors" if len(shape) == 1 else "regions")
        assert split.image_of.tolist() == [n for n in range(12) for _ in range(5)]
        assert split.columns.texts[5] == "a blue dog number 0" and split.name == f"f30k_precomp-{part}"
        stored = np.load(folder / f"{stem}_ims.npy")[::repeat]
        assert np.array_equal(images.take(np.array([7, 0]))["images"].numpy(), stored[[7, 0]])
        assert isinstance(images.array, np.memmap)
    report = train.train(c, tmp_path / "run", say=silent)
    assert report["R@10", "i2t"].value > 0


NUMBERS = {"2": [2] * 9, "3": [3] * 4, "20": [20] * 6, "unequal": [1, 4, 2, 7, 3, 3, 5], "two images": [2, 2]}


def repeated(folder: Path, numbers: list[int], shape: tuple[int, ...] = (6,), shuffled: bool = False) -> Path:
    """A folder of features with a row for each caption; images have these numbers of captions."""
    folder.mkdir()
    rng = np.random.default_rng(3)
    image_of = np.repeat(np.arange(len(numbers)), numbers)
    if shuffled:
        image_of = rng.permutation(image_of)
    for part in ("train", "dev", "test"):
        np.save(folder / f"{part}_ims.npy", rng.standard_normal((len(numbers), *shape)).astype(np.float32)[image_of])
        lines = "".join(f"a dog of image {i}\n" for i in image_of)
        (folder / f"{part}_caps.txt").write_text(lines)
    return folder


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(6,), (3, 40)])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_that_are_equal_are_one_image_as_in_an_evaluation(tmp_path, name, shape, shuffled):
    if shuffled and name == "two images":
        pytest.skip("four rows in any order are too few")
    folder = repeated(tmp_path / "f", NUMBERS[name], shape, shuffled)
    part = open_data(of(name=str(folder)))["test"]
    array = np.load(folder / "test_ims.npy")
    captions = [f"a dog of image {n}" for n in range(len(NUMBERS[name]))]
    assert len(part.images) == len(captions) and sorted({*part.captions}) == sorted(captions)
    shown = part.images.take(part.split.image_of)["images"].numpy()
    assert np.array_equal(shown, array), "a caption has the vectors of its row"
    flat = array.reshape(len(array), -1)[:, : min(6, len(array) - 1)]
    texts = np.random.default_rng(5).standard_normal(flat.shape)
    report = vsebench.evaluate(flat, texts, metrics="R@1", ci=0, trust=True)
    assert len(report["R@1", "i2t"].per_query) == len(captions), "by the same rule"


def test_rows_of_one_image_by_ids(tmp_path, refuses):
    """Images have different numbers of captions, and one row, or one for each caption."""
    numbers = NUMBERS["unequal"]
    folder = repeated(tmp_path / "f", numbers)
    image_of = np.repeat(np.arange(len(numbers)), numbers)
    for part in ("train", "dev", "test"):
        (folder / f"{part}_ids.tsv").write_text("\n".join(f"v{i}\tc{n}" for n, i in enumerate(image_of)))
    array = np.load(folder / "test_ims.npy")
    for rows in (array, array[np.unique(image_of, return_index=True)[1]]):
        np.save(folder / "test_ims.npy", rows)
        part = open_data(of(name=str(folder)))["test"]
        assert part.split.rows.ids.tolist() == [f"v{n}" for n in range(len(numbers))]
        assert np.array_equal(part.images.take(image_of)["images"].numpy(), array)
    odd = array.copy()
    odd[2] += 1
    for wrong in (odd, array[:-1]):
        np.save(folder / "test_ims.npy", wrong)
        refuses(BadInput, open_data, of(name=str(folder)))


@pytest.mark.parametrize("ids", [False, True])
def test_a_file_of_vectors_with_a_row_for_each_caption(tmp_path, ids, refuses):
    numbers = [3, 1, 2] * 8
    image_of = np.repeat(np.arange(24), numbers)
    rows = np.random.default_rng(0).random((24, 50)).astype(np.float32)[image_of]
    given = {"image_ids": np.array([f"v{i}.mp4" for i in image_of])} if ids else {}
    np.savez(tmp_path / "f.npz", image_embeddings=rows, **given)
    lines = "".join(f"v{i}.mp4,a dog of {i}\n" for i in image_of)
    (tmp_path / "c.csv").write_text(f"image,caption\n{lines}")
    settings = of(name=str(tmp_path / "f.npz"), captions=str(tmp_path / "c.csv"))
    for part in open_data(settings).values():
        of_image = np.array([int(text.rpartition(" ")[2]) for text in part.captions])
        first = np.unique(image_of, return_index=True)[1]
        assert np.array_equal(part.images.take(part.split.owners)["images"].numpy(), rows[first[of_image]])
    np.savez(tmp_path / "f.npz", image_embeddings=rows + (np.arange(len(rows)) == 2)[:, None], **given)
    refuses(BadInput, open_data, settings)


def test_ids_of_a_folder_of_features(tmp_path, refuses):
    """Ids of a declared split make the test part that split, in its order."""
    folder = precomp(tmp_path / "f")
    rows = [f"{100 - image}\tc#{n}" for n, image in enumerate(np.arange(12).repeat(5))]
    (folder / "test_ids.tsv").write_text("\n".join(rows))
    split = open_data(of(name=str(folder)))["test"].split
    assert split.name == "f-test" and split.rows.ids.tolist() == [str(n) for n in range(100, 88, -1)]
    assert split.columns.ids[7] == "c#7" and split.image_of.tolist() == np.arange(12).repeat(5).tolist()
    for wrong in (rows[:-1], [row.partition("\t")[0] for row in rows], [*rows[:4], *rows[5:], rows[4]]):
        (folder / "test_ids.tsv").write_text("\n".join(wrong))
        refuses(BadInput, open_data, of(name=str(folder)))
    coco = vsebench.load_split("coco-5k")
    order = np.random.default_rng(0).permutation(len(coco.columns.ids))
    lines = [f"{coco.rows.ids[coco.owners[n]]}\t{coco.columns.ids[n]}\n" for n in order]
    (folder / "test_ids.tsv").write_text("".join(lines))
    (folder / "test_caps.txt").write_text("".join(f"text {n}\n" for n in order))
    np.save(folder / "test_ims.npy", np.repeat(coco.owners[order][:, None], 8, axis=1).astype(np.float32))
    test = open_data(of(name=str(folder)))["test"]
    assert test.split.name == "coco-5k" and test.captions[17] == "text 17"
    assert test.images.take(np.arange(5000))["images"][:, 0].tolist() == list(range(5000))


def test_one_caption_an_image_is_no_repetition(tmp_path):
    folder = precomp(tmp_path / "f", images=60)
    for part in ("train", "dev", "test"):
        (folder / f"{part}_caps.txt").write_text("\n".join(f"dog {n}" for n in range(60)))
    assert {(len(p.images), len(p.captions)) for p in open_data(of(name=str(folder))).values()} == {(60, 60)}


def test_the_complete_test_part_of_coco_is_taken(tmp_path):
    folder = precomp(tmp_path / "f")
    np.save(folder / "testall_ims.npy", np.zeros((20, 8), np.float32))
    (folder / "testall_caps.txt").write_text("a dog\n" * 100)
    assert len(open_data(of(name=str(folder)))["test"].images) == 20


def test_folders_of_features_that_are_wrong(tmp_path, refuses):
    def wrong(file: Path) -> None:
        caught = refuses(BadInput, open_data, of(name=str(folder)))
        assert str(caught.where) == str(file) and caught.fix

    folder = precomp(tmp_path / "count")
    captions = folder / "dev_caps.txt"
    captions.write_text(captions.read_text() + "one more\n")
    wrong(captions)
    captions.unlink()
    wrong(captions)

    folder = precomp(tmp_path / "nan", shape=(3, 8))
    array = np.load(folder / "test_ims.npy")
    array[7, 1, 2] = np.nan
    np.save(folder / "test_ims.npy", array)
    images = open_data(of(name=str(folder)))["test"].images
    assert images.take(np.arange(7))["images"].shape == (7, 3, 8), "a batch without it is read"
    assert refuses(BadInput, images.take, np.array([3, 7])).where == str(folder / "test_ims.npy")
    sets = Images(array.reshape(-1, 8), "regions", None, np.array([0, 18, 20]), np.array([5, 20, 24]))  # of other sizes
    assert np.isnan(array.reshape(-1, 8)[22, 2])
    refuses(BadInput, sets.take, np.array([0, 2]))

    folder = precomp(tmp_path / "mixed", repeat=5)
    array = np.load(folder / "train_ims.npy")
    array[12, 0] += 1
    np.save(folder / "train_ims.npy", array)
    wrong(folder / "train_ims.npy")
    np.save(folder / "train_ims.npy", array[:, 0])
    wrong(folder / "train_ims.npy")
    (folder / "train_ims.npy").write_bytes((folder / "train_ims.npy").read_bytes()[:-8])
    wrong(folder / "train_ims.npy")


@pytest.mark.parametrize("parts", [False, True])
def test_a_file_of_vectors_with_captions_is_trained_on_from_the_command_line(parts, tmp_path, cache, refuses):
    """Drawn images, encoded by a network with fixed weights; the captions in another order, with ids as text."""
    drawn = open_data(of(name="scenes-40-size16", features="pixels"))["train"]
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.Flatten())
    with torch.no_grad():
        x = network(drawn.images.take(np.arange(len(drawn.images)))["images"]).numpy()
    ids = drawn.split.rows.ids
    backwards = np.arange(len(ids))[::-1]
    np.savez(tmp_path / "features.npz", image_embeddings=x[backwards], image_ids=ids[backwards])
    lines = [
        {"image_id": str(ids[i]), "caption": caption}
        for i, caption in zip(drawn.split.owners, drawn.captions, strict=True)
    ]
    if parts:
        lines = [{**line, "split": ("train", "train", "dev", "test")[n // 5 % 4]} for n, line in enumerate(lines)]
    file = tmp_path / "c.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    named = {"name": str(tmp_path / "features.npz"), "captions": str(file)}
    opened = open_data(of(**named))
    count = len(ids)
    sizes = (count // 2, count // 4, count // 4) if parts else (count - 2 * round(count / 10), *[round(count / 10)] * 2)
    assert tuple(len(opened[part].images) for part in ("train", "val", "test")) == sizes
    for part in opened.values():
        rows = [ids.tolist().index(image) for image in part.split.rows.ids.tolist()]
        assert np.array_equal(part.images.take(np.arange(len(rows)))["images"].numpy(), x[rows])
    options = ["--epochs", "2", "--batch", "10", "--set", "data.word_count=2", "--out", tmp_path / "run"]
    cli("train-reference", "--loss", "sam", "--data", named["name"], "--captions", file, *options)
    cli("eval", tmp_path / "run", "--trust", "--json")

    np.save(tmp_path / "sets.npy", np.stack([x, -x], axis=1))  # without ids: in the order of the captions
    sets = open_data(of(name=str(tmp_path / "sets.npy"), captions=str(file)))["test"]
    place = ids.tolist().index(sets.split.rows.ids[0])
    assert np.array_equal(sets.images.take(np.array([0]))["images"][0, 1].numpy(), -x[place])
    for name, captions in (
        (named["name"], ""),
        (str(tmp_path / "few.npy"), str(file)),
        (str(tmp_path / "few.npz"), str(file)),
    ):
        np.save(tmp_path / "few.npy", x[:5])
        np.savez(tmp_path / "few.npz", image_embeddings=x[:5], image_ids=ids[:5])
        refuses((UsageError, BadInput), open_data, of(name=name, captions=captions))
    if parts:
        file.write_text("".join(json.dumps(line) + "\n" for line in lines if line["split"] != "dev"))
        refuses(BadInput, open_data, of(**named))


def karpathy(folder: Path, images: int = 32) -> Path:
    """A folder of images of four colours, and a Karpathy file whose captions name the colour."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    (folder / "photos" / "val2014").mkdir(parents=True)
    entries = []
    for n in range(images):
        colour = [(200, 0, 0), (0, 0, 200), (0, 200, 0), (0, 0, 0)][n % 4]
        image.new("RGB", (90 + n, 100), colour).save(folder / "photos" / "val2014" / f"{n}.png")
        raw = [{"raw": f"a {WORDS[n % 4]} dog number {k}", "sentid": 10 * n + k} for k in range(6)]
        part = ("train", "restval", "val", "test")[4 * n // images]
        entries.append({"split": part, "cocoid": n, "filepath": "val2014", "filename": f"{n}.png", "sentences": raw})
    (folder / "dataset_coco.json").write_text(json.dumps({"images": entries}))
    return folder / "dataset_coco.json"


@pytest.mark.parametrize("crop", ["center", "ten", "random"])
def test_image_files(crop, tmp_path):
    file = karpathy(tmp_path)
    c = config.assign(
        of(name=str(file), images=str(tmp_path / "photos")), [*TINY, "model.image=cnn", f"model.crop={crop}"]
    )
    parts = open_data(c)
    assert {k: (p.split.rows.ids.tolist(), len(p.captions)) for k, p in parts.items()} == {
        "train": (list(range(16)), 80), "val": (list(range(16, 24)), 40), "test": (list(range(24, 32)), 40)
    }  # fmt: skip
    first = parts["train"].images.take(np.array([1, 0]))["images"]
    assert first.shape == ((2, 10, 3, 64, 64) if crop == "ten" else (2, 3, 64, 64))
    # all crops of a blue image are blue: (0 - mean) / std of red, (200 / 255 - mean) / std of blue
    blue = first[0].movedim(-3, -1)
    assert np.allclose(blue.numpy(), [-0.485 / 0.229, -0.456 / 0.224, (200 / 255 - 0.406) / 0.225], atol=1e-5)
    report = train.train(c, tmp_path / "run", say=silent)
    assert report["R@10", "i2t"].value > 0
    # a folder without the subfolder of the file is found as well
    flat = open_data(config.override(c, {"data.images": str(tmp_path / "photos" / "val2014")}))
    assert len(flat["test"].images) == 8
    assert len(open_data(config.override(c, {"data.restval": False}))["train"].images) == 8


def test_random_crops_are_the_same_for_the_same_batch_only(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    rng = np.random.default_rng(0)
    for n in range(2):
        image.fromarray(rng.integers(0, 255, (80, 80, 3), np.uint8)).save(tmp_path / f"{n}.png")
    files = ImageFiles((tmp_path / "0.png", tmp_path / "1.png"), "random", 73, 64)
    one, again, other = (files[np.array(rows)] for rows in ([0, 1], [0, 1], [0, 0]))
    assert np.array_equal(one, again) and not np.array_equal(one[0], other[0])


def test_image_files_that_are_wrong(tmp_path, refuses):
    file, photos = karpathy(tmp_path), tmp_path / "photos"
    refuses(UsageError, open_data, of(name=str(file)))
    refuses(BadInput, open_data, of(name=str(file), images=str(tmp_path / "nowhere")))
    (photos / "val2014" / "5.png").write_bytes(b"no image")
    c = config.assign(of(name=str(file), images=str(photos)), [*TINY, "model.image=cnn"])
    refuses(BadInput, open_data(c)["train"].images.take, np.array([5]))
    (photos / "val2014" / "7.png").unlink()
    (photos / "val2014" / "30.png").unlink()
    refuses(BadInput, open_data, c)
    (tmp_path / "other.json").write_text('{"a": 1}')
    refuses(BadInput, open_data, of(name=str(tmp_path / "other.json"), images=str(photos)))


def test_image_files_with_captions_as_json_lines(tmp_path):
    karpathy(tmp_path)
    lines = [{"image": f"{n}.png", "caption": f"a dog number {k}"} for n in range(32) for k in range(2)]
    file = tmp_path / "captions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    parts = open_data(of(name=str(file), images=str(tmp_path / "photos")))
    assert {name: (len(part.images), len(part.captions)) for name, part in parts.items()} == {
        "train": (26, 52), "val": (3, 6), "test": (3, 6)
    }  # fmt: skip


def test_a_home_in_the_paths_of_a_configuration(tmp_path, monkeypatch):
    karpathy(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    parts = open_data(of(name="~/dataset_coco.json", images="~/photos"))
    assert len(parts["test"].captions) == 40


def test_the_mean_of_crops_is_the_mean_of_their_features():
    images = torch.randn(3, 4, 3, 2, 2)
    for name in ("cnn", "resnet152"):
        encoder = model.ImageEncoder(config.Model(image="cnn", dim=5), "pixels", 3)
        encoder.entry = get_encoder(name)
        encoder.network = network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5))
        each = torch.stack([network(images[:, k]) for k in range(4)]).mean(dim=0)
        expected = each / each.norm(dim=1, keepdim=True) if name == "resnet152" else each
        assert torch.allclose(encoder.features(images), expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["vgg19", "resnet152"])
def test_networks_of_torchvision(network, tmp_path):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    c = of(name=str(karpathy(tmp_path)), images=str(tmp_path / "photos"))
    c = config.assign(c, [*TINY, f"model.image={network}", "model.pretrained=false"])
    both = model.build(c, "pixels", 3, 10)
    batch = open_data(c)["test"].images.take(np.arange(2))
    assert both.images(batch["images"]).shape == (2, 4)


@pytest.mark.parametrize("size", [(300, 257), (260, 401), (256, 256), (90, 61)])
def test_crops_are_those_of_torchvision(size, tmp_path):
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra: scenes)")
    pixels = np.random.default_rng(0).integers(0, 255, (*size, 3), np.uint8)
    image.fromarray(pixels).save(tmp_path / "x.png")
    normal = [transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    centre = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), *normal])
    ten = transforms.Compose([transforms.Resize(256), transforms.TenCrop(224)])
    shown = image.fromarray(pixels)
    found, crops = (torch.from_numpy(ImageFiles((tmp_path / "x.png",), c)[np.array([0])][0]) for c in ("center", "ten"))
    assert torch.allclose(found, centre(shown), atol=1e-6)
    expected = torch.stack([transforms.Compose(normal)(crop) for crop in ten(shown)])
    assert torch.allclose(crops, expected, atol=1e-6)


def test_other_vectors_or_captions_under_the_same_names_are_not_resumed(tmp_path, cache):
    rng, ids = np.random.default_rng(0), np.arange(40)
    lines = [{"image_id": int(i), "caption": f"a thing of kind {i % 4} and {i % 5}"} for i in ids]
    file, vectors = tmp_path / "c.jsonl", tmp_path / "f.npz"
    given = [
        "--data",
        vectors,
        "--captions",
        file,
        "--batch",
        "8",
        "--set",
        "data.word_count=1",
        "--out",
        tmp_path / "r",
    ]

    def trains(epochs: int, x, captions) -> str:
        np.savez(vectors, image_embeddings=x, image_ids=ids)
        file.write_text("".join(json.dumps(line) + "\n" for line in captions))
        return cli("train-reference", *given, "--epochs", epochs, "--resume", code=None).err

    x = rng.standard_normal((40, 6))
    assert "best epoch" in trains(1, x, lines)
    assert "was trained on other data" in trains(2, x + 1, lines)
    moved = [{**line, "caption": other["caption"]} for line, other in zip(lines, lines[1:] + lines[:1], strict=True)]
    assert "was trained on other data" in trains(2, x, moved)
    assert "resumed after epoch 1" in trains(2, x, lines)  # 4 images of a test part with a caption each, of 128 numbers


def test_an_image_has_one_part_and_all_captions_have_one(tmp_path, refuses):
    lines = [{"image_id": i // 2, "caption": "a b", "split": ("train", "val", "test")[i // 2 % 3]} for i in range(24)]
    file = tmp_path / "c.jsonl"
    np.save(tmp_path / "x.npy", np.eye(12))
    named = of(name=str(tmp_path / "x.npy"), captions=str(file))
    for n, change in ((1, {"split": "test"}), (5, {"split": None})):
        changed = [{**line, **change} if i == n else line for i, line in enumerate(lines)]
        file.write_text("".join(json.dumps(line) + "\n" for line in changed))
        refuses(BadInput, open_data, named)


def test_images_without_a_caption_are_in_one_part(tmp_path):
    lines = [{"image_id": i, "captions": ["a b"] if i % 2 else []} for i in range(40)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    np.save(tmp_path / "x.npy", np.eye(40))
    parts = open_data(of(name=str(tmp_path / "x.npy"), captions=str(tmp_path / "c.jsonl"))).values()
    ids = [image for part in parts for image in part.split.rows.ids.tolist()]
    assert sorted(ids) == list(range(40))


def test_vectors_without_ids_are_in_the_order_of_a_karpathy_file(tmp_path):
    images = [
        {"filename": f"{i}.jpg", "split": part, "sentences": [{"raw": f"thing {i} {j}"} for j in range(5)]}
        for i, part in enumerate(["test", "train", "val", "train", "test", "val"])
    ]
    (tmp_path / "k.json").write_text(json.dumps({"images": images}))
    np.save(tmp_path / "x.npy", np.eye(6, dtype=np.float32))
    parts = open_data(of(name=str(tmp_path / "x.npy"), captions=str(tmp_path / "k.json")))
    for part, own in (("train", [1, 3]), ("val", [2, 5]), ("test", [0, 4])):
        assert parts[part].images.take(np.arange(2))["images"].argmax(dim=1).tolist() == own


def test_images_too_few_for_three_parts(tmp_path, refuses):
    np.save(tmp_path / "x.npy", np.eye(2, 4))
    (file := tmp_path / "c.jsonl").write_text('{"image_id": 1, "caption": "a b"}\n{"image_id": 2, "caption": "c"}\n')
    refuses(BadInput, open_data, of(name=str(tmp_path / "x.npy"), captions=str(file)))


def test_settings_that_the_data_do_not_take(tmp_path, pinned, refuses):
    np.save(tmp_path / "x.npy", np.eye(12))
    (tmp_path / "c.jsonl").write_text("".join(f'{{"image_id": {i}, "caption": "a b"}}\n' for i in range(12)))
    named = {"name": str(tmp_path / "x.npy"), "captions": str(tmp_path / "c.jsonl")}
    alone = config.override(of(**named), {"loss.relevance": "labels", "loss.name": "log_ratio", "model.text": "none"})
    refuses(UsageError, open_data, alone)
    for value in ({}, {"captions": "", "key": "x"}):
        refuses(UsageError, open_data, of(**{**named, **value, "name": "scenes-tiny"}))
    refuses(UsageError, open_data, of(**named, key="x"))
    np.savez(tmp_path / "x.npz", one=np.eye(12), two=2 * np.eye(12))
    two = {**named, "name": str(tmp_path / "x.npz")}
    assert open_data(of(**two, key="two"))["train"].images.take(np.arange(2))["images"].max() == 2
    refuses(BadInput, open_data, of(**two))
    out, other = tmp_path / "run", tmp_path / "other.npz"
    cli(
        "train-reference",
        *OPTIONS,
        "--data",
        two["name"],
        "--captions",
        named["captions"],
        "--key",
        "two",
        "--epochs",
        "0",
        "--out",
        out,
    )
    np.savez(other, three=np.eye(12), four=np.eye(12))
    pinned(cli("encode", out, "--data", other, "-o", tmp_path / "o.npz", code=None).err)
    for data in (("--data", named["name"]), ("--data", other, "--key", "four"), ()):
        cli("encode", out, *data, "-o", tmp_path / "o.npz")
    pinned(refused("encode", out, "--images", "a", "--images", "b"))
    refuses(BadInput, open_data, of(**{**named, "name": str(tmp_path / "y.npy")}))
    refuses(UsageError, config.read, "vsepp,,f30k")
