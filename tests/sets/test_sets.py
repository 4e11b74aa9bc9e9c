"""Published test sets that are built by name, from real files where they are at hand, else in their layout."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import vsebench
from tests import published_files
from tests.commands import cli, document
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, MissingPackage, UsageError, VsebenchError
from vsebench.files.caption_rows import texts_sha256
from vsebench.sets import catalogue, stored
from vsebench.sets import published as sets

pytestmark = pytest.mark.usefixtures("cache")
CLOTHO = "clotho_captions_evaluation.csv"

# Files in the published layout

COUNTS = {  # images, captions; the first caption id, its image and the caption; captions of the last image
    "xm3600:sw": (3600, 5400, "sw:0000000000000000#0", "0000000000000000", "sw 0 0", 2),
    "xtd10:jp": (1000, 1000, "jp:COCO_val2014_000000000000.jpg#0", "COCO_val2014_000000000000.jpg", "jp 0", 1),
    "urban1k": (1000, 1000, "1.jpg#0", "1.jpg", "a street 1, with a house.", 1),
    "msrvtt-1k": (1000, 1000, "ret0", "video9000", "a man, number 0", 1),
    "msvd": (670, 1407, "-4ws_30_35#0", "-4ws_30_35", "a cat 0 plays", 2),
    "clotho": (1045, 5225, "Rain 0.wav#0", "Rain 0.wav", "rain, number 0 0", 5),
    "audiocaps": (975, 4875, 100_000, "y-0", "a bell 0", 5),
    "msrvtt-full": (2990, 59_800, 19, "video10", "a man 10", 20),
    "didemo": (1004, 1004, "v_0.mp4#0", "v_0.mp4", "d0 d1004", 1),
    "vatex": (4, 40, "y0_0_10#0", "y0_0_10", "e0 0", 10),
    "docci": (5000, 5000, "test_5.jpg#0", "test_5.jpg", "d5", 1),
    "dci": (7805, 7805, "sa_100.jpg#0", "sa_100.jpg", "a town\nin sa_100.json", 1),
    "sharegpt4v-1k": (1000, 1000, "coco/0.jpg#0", "coco/0.jpg", "a dog 0", 1),
    "rsicd": (1093, 5465, "port_0.tif#0", "port_0.tif", "a port 0 0 .", 5),
    "rsitmd": (452, 2260, "port_0.tif#0", "port_0.tif", "a port 0 0 .", 5),
    "cuhk-pedes": (3074, 6156, "cam/0.png#0", "cam/0.png", "he 0 0", 2),
    "multi30k:cs": (1000, 1000, "cs:1000.jpg#0", "1000.jpg", "cs 0", 1),
}


def test_every_set_is_tried_with_real_files_or_with_files_in_its_layout() -> None:
    made = {name.partition(":")[0] for name in published_files.MAKE}
    real = {name: found.splits for name, found in sets.SETS.items() if found.sha256}
    assert made | real.keys() == set(sets.SETS) and not made & real.keys()
    assert published_files.MAKE.keys() == COUNTS.keys()
    assert sets.TEXTS_SHA256.keys() == {"f30k"}.union(*real.values())


@pytest.mark.parametrize("name", COUNTS)
def test_a_set_is_built_from_files_in_its_published_layout(name: str, tmp_path: Path, refuses: Refuses) -> None:
    published_files.MAKE[name](tmp_path / "files")
    built = document("data", "build", name, "--from", tmp_path / "files")
    assert built["split"] == name and Path(built["file"]) == stored.stored_path(name)
    split = vsebench.load_split(name, captions=True)
    images, captions, first, image, words, last = COUNTS[name]
    assert (split.name, len(split.rows.ids), len(split.columns.ids)) == (name, images, captions)
    assert (split.columns.ids[0], split.rows.ids[split.image_of[0]], split.columns.texts[0]) == (first, image, words)
    assert int((split.image_of == images - 1).sum()) == last
    assert not [check for check in catalogue.verify(name) if not check.ok]
    found = catalogue.declared(name)
    of = sets.SETS[name.partition(":")[0]]
    assert (found.cite, found.licence, found.order) == (of.cite, of.licence, "file")
    listed = {line["name"]: line for line in document("data", "list")["splits"]}
    assert listed[name]["available"] == "cached" and (of.name not in listed or of.languages or name == of.name)
    document("data", "remove", name)
    refuses(MissingPackage, vsebench.load_split, name)


def test_other_folders_and_names_of_published_files(tmp_path: Path) -> None:
    """Images of Urban1k are in the order of their numbers; a table may be packed and have another name of a column."""
    published_files.urban1k(tmp_path)
    for source in (tmp_path, tmp_path / "Urban1k", tmp_path / "Urban1k" / "caption"):
        catalogue.build("urban1k", source, replace=True)
        assert vsebench.load_split("urban1k").rows.ids.tolist() == [f"{i}.jpg" for i in range(1, 1001)]
    published_files.msrvtt(tmp_path)
    text = (tmp_path / "MSRVTT_JSFUSION_test.csv").read_text(encoding="utf-8").replace(",sentence\n", ",sentences\n")
    (tmp_path / "mine.csv.gz").write_bytes(gzip.compress(text.encode()))
    catalogue.build("msrvtt-1k", tmp_path / "mine.csv.gz")
    assert len(vsebench.load_split("msrvtt-1k").columns.ids) == 1000


def test_languages_are_splits_and_their_name_alone_stands_for_all_that_the_folder_has(tmp_path, refuses):
    published_files.xtd10(tmp_path / "files")
    built = document("data", "build", "xtd10", "--from", tmp_path / "files")
    assert built["splits"] == ["xtd10:de", "xtd10:it", "xtd10:jp"] == catalogue.splits_of("xtd10")
    german, italian = (vsebench.load_split(f"xtd10:{language}") for language in ("de", "it"))
    assert german.rows.ids.tolist() == italian.rows.ids.tolist()
    assert not set(german.columns.ids.tolist()) & set(italian.columns.ids.tolist())
    absent = next(line for line in document("data", "list")["splits"] if line["name"] == "xtd10")
    assert absent["available"] == "absent" and "8 languages" in absent["files"]
    checks = document("data", "verify", "xtd10")["checks"]
    assert len([line for line in checks if line["check"].startswith("xtd10:de")]) == 6
    refuses(UsageError, vsebench.load_split, "xtd10")
    refuses(UsageError, catalogue.build, "xtd10", tmp_path / "files")
    document("data", "remove", "xtd10")
    assert not list(stored.stored_path("any").parent.iterdir())


def test_a_set_with_known_training_images_warns_when_it_is_built_and_in_every_report(tmp_path, pinned):
    published_files.xtd10(tmp_path / "files")
    pinned(cli("data", "build", "xtd10:it", "--from", tmp_path / "files").err)
    vectors = np.random.default_rng(0).standard_normal((1000, 4)).astype(np.float32)
    with pytest.warns(vsebench.VsebenchWarning):
        report = vsebench.evaluate(vectors, vectors, split="xtd10:it", metrics="R@1", ci=0)
    assert report["R@1", "i2t"].value == 1.0 and sets.SETS["xtd10"].warning in report.warnings


# Wrong files


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("xtd10:jp", lambda folder: (folder / "XTD10" / "test_image_names.txt").unlink()),
        ("xtd10:it", lambda folder: published_files.write(folder / "XTD10" / "test_1kcaptions_it.txt", ["one"])),
        ("xtd10:ko", lambda folder: None),
        ("urban1k", lambda folder: (folder / "Urban1k" / "caption" / "7.txt").unlink()),
        ("msrvtt-1k", lambda folder: published_files.table(folder / "MSRVTT_JSFUSION_test.csv", ["a", "b"], [])),
        ("clotho", lambda folder: published_files.table(folder / CLOTHO, ["file_name", "caption_1"], [])),
        ("audiocaps", lambda folder: published_files.write(folder / "dataset" / "test.csv", ['{"caption": "a"}'])),
        ("msvd", lambda folder: published_files.write(folder / "test_list.txt", ["nobody_1_2"])),
        ("xm3600:sw", lambda folder: published_files.write(folder / "captions.jsonl", ['{"image/key": "1"}'])),
    ],
)  # fmt: skip
def test_wrong_files_say_what_the_published_ones_look_like(name, spoil, tmp_path, refuses):
    of = name.partition(":")[0]
    next(make for key, make in published_files.MAKE.items() if key.partition(":")[0] == of)(tmp_path)
    spoil(tmp_path)
    assert str(tmp_path) in str(refuses(BadInput, catalogue.build, name, tmp_path))
    assert name not in catalogue.names()


@pytest.mark.parametrize(
    "arguments",
    [
        ("msvd",),
        ("xtd10:xx", "--from", "x"),
        ("clotho:de", "--from", "x"),
        ("clotho", "--from", "x"),
        ("clotho", "--from", "x", "--part", "test"),
        ("xtd10", "--from", "one.txt"),
        ("xtd10", "--from", "."),
        ("xtd10:de", "--from", "a/test_1kcaptions_fr.txt"),
        ("coco-fg", "--from", "Flickr30K_FG_ann.json"),
        ("xtd-10", "--from", "a"),
        ("sugarcrepe", "--from", "a"),
    ],
)
def test_wrong_commands_say_the_next_step(arguments, tmp_path, monkeypatch, pinned):
    monkeypatch.chdir(tmp_path)
    published_files.write(tmp_path / "one.txt", ["a"])
    published_files.write(tmp_path / "test_image_names.txt", ["a.jpg"])
    for folder in ("a", "b"):
        published_files.write(tmp_path / folder / "test_1kcaptions_de.txt", ["a"])
    for name in ("test_image_names.txt", "test_1kcaptions_fr.txt"):
        published_files.write(tmp_path / "a" / name, ["a"])
    published_files.write(tmp_path / "Flickr30K_FG_ann.json", ['{"1": ["a"]}'])
    published_files.write(tmp_path / "MSCOCO_FG_ann.json", ['{"2": ["a"]}'])
    published_files.write(tmp_path / "MSCOCO_FG_img_filenames.txt", ["2.jpg"])
    done = cli("data", "build", *arguments, code=None)
    assert done.code in (2, 3) and not done.out
    pinned(done.err)


def test_a_set_that_is_not_built_is_said_where_it_is_used(tmp_path: Path, pinned: Pinned) -> None:
    np.savez(tmp_path / "e.npz", images=np.eye(3), texts=np.eye(3))
    for split, code in (("audiocaps", 4), ("xm3600:de", 4), ("xtd10", 4), ("audiocap", 2)):
        pinned(cli("eval", tmp_path / "e.npz", "--split", split, code=code).err)


# Real files


@pytest.mark.slow
def test_the_real_files_are_the_declared_sets(real_data: Path, coco: vsebench.TestSet) -> None:
    for name, folder in (("f30k-fg", "fine_grained"), ("coco-fg", "fine_grained"), ("xflickrco", "xflickrco")):
        catalogue.build(name, real_data / folder)
        found = sets.SETS[name]
        for split in found.splits:
            items = vsebench.load_split(split, captions=True)
            assert (len(items.rows.ids), len(items.columns.ids)) == (found.images, found.captions)
            assert found.images - len(np.unique(items.image_of)) == found.others
        assert not [check for check in catalogue.verify(name) if not check.ok]
    catalogue.build("f30k", real_data / "f30k")
    plain, finer = vsebench.load_split("f30k"), vsebench.load_split("f30k-fg", captions=True)
    assert finer.rows.ids[:1000].tolist() == plain.rows.ids.tolist()
    assert (
        finer.columns.ids.tolist() == plain.columns.ids.tolist() and finer.image_of.tolist() == plain.image_of.tolist()
    )
    larger = vsebench.load_split("coco-fg")  # in the order of the test set
    assert [int(Path(name).stem.rpartition("_")[2]) for name in larger.rows.ids[:5000]] == coco.rows.ids.tolist()
    assert larger.image_of.tolist() == coco.image_of.tolist()
    raw = json.loads(gzip.decompress((real_data / "fine_grained" / "Flickr30K_FG_ann.json.gz").read_bytes()))
    assert finer.columns.texts is not None and list(finer.columns.texts[:5]) == raw["1007129816"]


def test_another_order_and_the_array_of_names_of_the_authors(real_data: Path, tmp_path: Path, refuses: Refuses) -> None:
    source = real_data / "fine_grained"
    names = gzip.decompress((source / "Flickr30K_FG_img_filenames.txt.gz").read_bytes()).decode().split()
    shutil.copy(source / "Flickr30K_FG_ann.json.gz", tmp_path)
    np.save(tmp_path / "Flickr30K_FG_img_filenames.npy", np.array(names))
    catalogue.build("f30k-fg", tmp_path)
    assert vsebench.load_split("f30k-fg").rows.ids.tolist() == names
    np.save(tmp_path / "Flickr30K_FG_img_filenames.npy", np.array(names[::-1]))
    refuses(BadInput, catalogue.build, "f30k-fg", tmp_path, replace=True)
    np.save(tmp_path / "Flickr30K_FG_img_filenames.npy", np.array(names[:-1]))
    refuses(BadInput, catalogue.build, "f30k-fg", tmp_path, replace=True)
    np.save(tmp_path / "Flickr30K_FG_img_filenames.npy", np.array(names, object), allow_pickle=True)
    refuses(BadInput, catalogue.build, "f30k-fg", tmp_path, replace=True)
    assert vsebench.load_split("f30k-fg").rows.ids.tolist() == names  # a failed build leaves the split as it is


def test_a_file_of_a_language_is_recognised_by_its_ids(real_data: Path, tmp_path: Path) -> None:
    catalogue.build("xflickrco", real_data / "xflickrco")
    split = vsebench.load_split("xflickrco:ja")
    rng = np.random.default_rng(0)
    images = rng.standard_normal((2000, 8)).astype(np.float32)
    order = rng.permutation(2000)
    np.savez(
        tmp_path / "e.npz", image_embeddings=images, text_embeddings=images[split.image_of][order],
        image_ids=split.rows.ids, text_ids=split.columns.ids[order],
    )  # fmt: skip
    report = vsebench.evaluate(tmp_path / "e.npz", metrics="R@1", ci=0)
    assert report.split == "xflickrco:ja" and report["R@1", "i2t"].value == 1.0


def test_other_captions_are_a_warning_when_a_set_is_built_and_a_fail_of_verify(real_data, tmp_path, pinned):
    """Captions in the order of others, empty ones, and those of another language, all under the right ids."""
    lines = gzip.decompress((real_data / "xflickrco" / "test_ja.jsonl.gz").read_bytes()).decode().splitlines()
    records = [json.loads(line) for line in lines]
    words = [record["sentences"] for record in records]
    english = gzip.decompress((real_data / "xflickrco" / "test_en.jsonl.gz").read_bytes()).decode().splitlines()
    of_others = [json.loads(line)["sentences"] for line in english]
    for spoilt in ([*words[1:], words[0]], [""] * 1500 + words[1500:], of_others):
        made = (json.dumps({**r, "sentences": own}) for r, own in zip(records, spoilt, strict=True))
        published_files.write(tmp_path / "test_ja.jsonl", made)
        pinned(cli("data", "build", "xflickrco:ja", "--from", tmp_path / "test_ja.jsonl", "--replace").err)
        done = cli("data", "verify", "xflickrco:ja", code=1)
        assert done.out.count("FAIL") == 1 == done.out.count("FAIL  texts")
    edition = (json.dumps({**r, "sentences": [f" {own[0].upper()} !"]}) for r, own in zip(records, words, strict=True))
    published_files.write(tmp_path / "test_ja.jsonl", edition)
    assert "captions" not in cli("data", "build", "xflickrco:ja", "--from", tmp_path, "--replace").err
    cli("data", "verify", "xflickrco:ja")


def test_the_tokens_of_karpathy_have_the_fingerprint_of_the_captions(real_data: Path) -> None:
    """Editions of Flickr30K differ in marks and in how these are written, as in ``A&amp;M`` and ``A&M``."""
    lines = [json.loads(line) for line in (real_data / "f30k" / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    for field in ("caption", "caption_tok"):
        assert texts_sha256([line[field] for line in lines]) == sets.TEXTS_SHA256["f30k"]
    assert texts_sha256([line["caption"] for line in reversed(lines)]) != sets.TEXTS_SHA256["f30k"]


def test_empty_captions_are_said_of_any_data_set(tmp_path: Path, pinned: Pinned) -> None:
    lines = [{"image": "b.jpg", "captions": ["b", " "]}]
    path = published_files.write(tmp_path / "mine.jsonl", map(json.dumps, lines))
    pinned(cli("data", "build", "mine", "--from", path).err)
    published_files.clotho(tmp_path)
    text = (tmp_path / CLOTHO).read_text(encoding="utf-8").replace("rain, number 0 0", "")
    (tmp_path / CLOTHO).write_text(text, encoding="utf-8")
    pinned(cli("data", "build", "clotho", "--from", tmp_path).err)
    for name in ("mine", "clotho"):
        cli("data", "verify", name, code=1)


@pytest.mark.slow
def test_a_declared_or_published_set_is_taken_before_one_of_ones_own_with_its_ids(real_data, tmp_path, pinned):
    for name, folder in (("f30k", "f30k"), ("coco-fg", "fine_grained")):
        catalogue.build(name, real_data / folder)
        split = vsebench.load_split(name, captions=True)
        of = [[] for _ in split.rows.ids]
        for image, caption in zip(split.image_of.tolist(), split.columns.texts, strict=True):
            of[image].append(f"another {caption}")
        records = ({"image": i, "captions": own} for i, own in zip(split.rows.ids.tolist(), of, strict=True))
        catalogue.build("a-copy", published_files.write(tmp_path / "own.jsonl", map(json.dumps, records)), replace=True)
        vectors = np.ones((len(split.rows.ids), 1)), np.ones((len(split.columns.ids), 1))
        np.savez(
            tmp_path / "e.npz", images=vectors[0], texts=vectors[1], image_ids=split.rows.ids,
            text_ids=split.columns.ids,
        )  # fmt: skip
        done = cli("inspect", tmp_path / "e.npz")
        assert f"would be evaluated as {name}:" in done.out
        pinned(next(line for line in done.out.splitlines() if "a-copy" in line))
        assert "would be evaluated as a-copy:" in cli("inspect", tmp_path / "e.npz", "--split", "a-copy").out


@pytest.mark.slow
def test_texts_of_a_larger_gallery_without_its_other_images_are_refused(real_data, tmp_path, pinned):
    catalogue.build("coco-fg", real_data / "fine_grained")
    split = vsebench.load_split("coco-fg")
    np.savez(
        tmp_path / "e.npz", images=np.ones((5000, 1)), texts=np.ones((25_000, 1)), image_ids=split.rows.ids[:5000],
        text_ids=split.columns.ids,
    )  # fmt: skip
    pinned(cli("eval", tmp_path / "e.npz", "--trust", code=3).err)
    assert "as custom" in cli("inspect", tmp_path / "e.npz", "--split", "custom").out


def test_what_is_said_of_a_set_in_several_languages(tmp_path: Path, pinned: Pinned) -> None:
    """Not built: what to do, of the language that is meant; built in part: which, and how files name them."""
    for arguments in (("remove", "xtd10"), ("verify", "xtd10"), ("describe", "xflickrco:en")):
        pinned(cli("data", *arguments, code=4).err)
    published_files.xtd10(tmp_path / "files")
    built = cli("data", "build", "xtd10", "--from", tmp_path / "files").out
    pinned(built.splitlines()[1])
    pinned(cli("data", "describe", "xtd10", code=2).err)
    lines = cli("data", "verify", "xtd10").out.splitlines()
    pinned("\n".join(line for line in lines if "de: captions per image" in line))


# Data sets of one's own with images that have no caption


def test_an_image_with_an_empty_list_of_captions_is_a_candidate(tmp_path: Path) -> None:
    lines = [
        {"image": "b.jpg", "captions": ["b", "bb"]},
        {"image": "c.jpg", "captions": []},
        {"image": "a.jpg", "captions": ["a"]},
    ]
    path = published_files.write(tmp_path / "mine.jsonl", map(json.dumps, lines))
    catalogue.build("mine", path)
    split = vsebench.load_split("mine", captions=True)
    assert split.rows.ids.tolist() == ["b.jpg", "a.jpg", "c.jpg"] and split.image_of.tolist() == [0, 0, 1]
    assert catalogue.declared("mine").images == 3 and not [check for check in catalogue.verify("mine") if not check.ok]
    with pytest.raises(VsebenchError):
        vsebench.evaluate(np.eye(2), np.eye(3)[:, :2], split="mine")


def test_stored_splits_without_the_list_of_such_images_are_still_read(tmp_path: Path) -> None:
    path = published_files.write(tmp_path / "mine.jsonl", [json.dumps({"image": "b.jpg", "captions": ["b"]})])
    built = catalogue.build("mine", path)
    with np.load(built) as archive:
        kept = {name: archive[name] for name in archive.files if name != "others"}
    np.savez_compressed(built, **kept)
    assert vsebench.load_split("mine").rows.ids.tolist() == ["b.jpg"]
