"""Warnings on inputs that give silent zeros, masked arrays, and blanks around ids."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vsebench.text.tokens import of_captions

import vsebench
from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.types import Embeddings

ENGLISH = [f"a {a} is {b} near the {c}" for a in ("man", "dog") for b in ("running", "eating") for c in ("tree", "sea")]
CHINESE = ["一个戴着橙色线帽的白人", "两只狗在草地上奔跑", "一个女人在厨房里做饭", "街上有很多汽车", "海边的日落"] * 2
GERMAN = ["Der Mann trägt eine Mütze", "Zwei Hunde laufen über die Straße", "Ein Mädchen läuft für die Schule"] * 4


def evaluate(captions: list[str], **options: Any) -> vsebench.Report:
    n = len(captions)
    vectors = np.random.default_rng(0).standard_normal((n, 8))
    noisy = vectors + np.random.default_rng(1).standard_normal((n, 8))
    options = {"metrics": "cider:NCS@3,cider:CS@3", "captions_per_image": 1, "ci": 0, "trust": True} | options
    return vsebench.evaluate(vectors, noisy, captions=captions, **options)


@pytest.mark.parametrize(
    "captions,said",
    [
        (CHINESE, "cider: 100% of the letters of the captions are of a script without spaces between words, and the"),
        (GERMAN, "cider: 9% of the letters of the captions are not English (such as 'ü'), and the tokeniser"),
        (["a dog"] * 9 + ["a cat", "two men"], "cider: 9 of 11 captions that were examined are the string 'a dog'"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_captions_whose_words_mean_little(captions: list[str], said: str) -> None:
    report = evaluate(captions)
    assert len([w for w in report.warnings if said in w]) == 1, report.warnings


def test_english_captions_give_no_warning() -> None:
    assert of_captions(ENGLISH * 3) == of_captions([]) == of_captions(["a dog"] * 5) == []
    assert not [w for w in evaluate(ENGLISH).warnings if "captions" in w]


def test_captions_with_spaces_between_words() -> None:
    segmented = ["一个 男人 骑 着 自行车", "两只 狗 在 草地 上 奔跑"] * 6
    assert [("without spaces" in found, "not English" in found) for found in of_captions(segmented)] == [(False, True)]


def test_captions_of_eight_languages(real_data: Path) -> None:
    found = {}
    for language in ("en", "de", "es", "id", "ja", "ru", "tr", "zh"):
        with gzip.open(real_data / "xflickrco" / f"test_{language}.jsonl.gz", "rt", encoding="utf-8") as stream:
            found[language] = of_captions([json.loads(line)["sentences"][0] for line in stream])
    assert [k for k, v in found.items() if v and "without spaces" in v[0]] == ["ja", "zh"]
    assert [k for k, v in found.items() if v and "not English" in v[0]] == ["de", "es", "ru", "tr"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gains_that_are_all_zero() -> None:
    said = "no pair has a gain above 0, and all values are 0; check what the gains are made from"
    report = evaluate(ENGLISH, gains=np.zeros((8, 8)), metrics="matrix:NCS@3,matrix:nDCG@3")
    assert f"matrix: {said}" in report.warnings
    assert report["matrix:NCS@3", "i2t"].value == 0
    some = np.zeros((8, 8))
    some[0, -1] = 0.5  # a gain that no ranking reaches is no reason to warn
    assert not [w for w in evaluate(ENGLISH, gains=some, metrics="matrix:SR@1").warnings if said in w]


def test_masked_entries_are_refused(refuses: Refuses) -> None:
    images = np.random.default_rng(0).standard_normal((4, 3))
    texts, mask = np.repeat(images, 5, axis=0), np.zeros((4, 3), bool)
    report = vsebench.evaluate(np.ma.masked_array(images, mask), texts, metrics="R@1", ci=0)
    assert report["R@1", "i2t"].value == 1
    mask[1, 2] = mask[3, 0] = True
    masked = np.ma.masked_array(images, mask)
    for call in (
        lambda: vsebench.evaluate(masked, texts), lambda: vsebench.evaluate(texts[::5], masked),
        lambda: vsebench.evaluate(scores=masked), lambda: vsebench.evaluate(images, texts, gains=masked, metrics="ncs"),
        lambda: vsebench.evaluate_unimodal(images, masked), lambda: Embeddings("image", np.arange(4), masked),
    ):  # fmt: skip
        refuses(UsageError, call)


@pytest.mark.parametrize("blank", [" {}", "{} ", "\t{}"])
def test_blanks_around_ids(tmp_path: Path, blank: str) -> None:
    images = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    texts = np.repeat(images, 2, axis=0)
    names = [f"img{i}" for i in range(6)]
    plain = {"image_ids": np.array(names), "text_ids": np.array([f"{n}#{k}" for n in names for k in (0, 1)])}
    spaced = {key: np.array([blank.format(x) for x in ids]) for key, ids in plain.items()}
    for name, ids in (("plain", plain), ("spaced", spaced)):
        np.savez(tmp_path / f"{name}.npz", images=images, texts=texts, image_of_text=np.repeat(np.arange(6), 2), **ids)
        queries = [blank.format(n) if name == "spaced" else n for n in names]
        lists = {query: [str(text)] for query, text in zip(queries, ids["text_ids"][::2], strict=True)}
        (tmp_path / f"{name}.json").write_text(json.dumps({"i2t": lists}))
    reports = [vsebench.evaluate(tmp_path / f"{n}.npz", metrics="R@1", ci=0, trust=True) for n in ("plain", "spaced")]
    assert reports[0].signature == reports[1].signature
    assert reports[0].items.image_ids.tolist() == reports[1].items.image_ids.tolist() == names
    split = reports[1].items
    for name in ("plain", "spaced"):
        listed = vsebench.evaluate(run={"i2t": tmp_path / f"{name}.json"}, split=split, metrics="R@1", ci=0, trust=True)
        assert listed["R@1", "i2t"].value == 1
    assert Embeddings("image", spaced["image_ids"], images).ids.tolist() == names
