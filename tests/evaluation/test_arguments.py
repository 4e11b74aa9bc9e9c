"""Arguments of the Python functions: what is given in memory is matched by id, or refused with a fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError

IMAGES = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
TEXTS = np.repeat(IMAGES, 5, axis=0)
SPLIT = vb.Split("mine", np.arange(20), np.arange(100), np.repeat(np.arange(20), 5))


def test_ids_select_an_installed_split(coco: vb.Split) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((len(coco.image_ids), 8)).astype(np.float32)
    order, shuffled = rng.permutation(len(coco.image_ids)), rng.permutation(len(coco.caption_ids))
    images = vb.Embeddings("image", coco.image_ids[order], vectors[order])
    texts = vb.Embeddings("caption", coco.caption_ids[shuffled], vectors[coco.image_of[shuffled]])
    report = vb.evaluate(images, texts, metrics="R@1", ci=0, trust=True)
    assert report.split == "coco-5k"
    assert report["R@1", "i2t"].value == 1.0


def test_metrics_may_be_values_and_captions_an_array() -> None:
    captions = np.array([f"a photo of thing {i}" for i in range(100)])
    split = vb.Split("mine", SPLIT.image_ids, SPLIT.caption_ids, SPLIT.image_of, captions)  # type: ignore[arg-type]
    metrics = [vb.parse("R@1"), "cider:NCS@5"]
    report = vb.evaluate(IMAGES, TEXTS, split=split, metrics=metrics, ci=0)  # type: ignore[arg-type]
    assert [str(result.metric) for result in report.results if result.direction == "i2t"] == ["R@1", "cider:NCS@5"]


def test_an_input_is_never_written_over(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "vectors.npz"
    np.savez(path, image_embeddings=IMAGES, text_embeddings=TEXTS)
    before = path.read_bytes()
    refuses(UsageError, vb.evaluate, path, split="custom", metrics="R@1", ci=0, save_run=path)
    assert path.read_bytes() == before


def test_queries_of_one_modality(refuses: Refuses) -> None:
    mask = np.zeros(20, np.bool_)
    mask[[3, 7]] = True
    by_mask = vb.evaluate_unimodal(IMAGES, IMAGES, queries=mask, metrics="MLD@3", ci=0)
    by_index = vb.evaluate_unimodal(IMAGES, IMAGES, queries=[3, 7], metrics="MLD@3", ci=0)
    assert by_mask.signature == by_index.signature
    assert by_mask.results[0].value == by_index.results[0].value
    refuses(BadInput, vb.evaluate_unimodal, IMAGES, IMAGES, queries=[0.5, 1.2])
    refuses(UsageError, vb.evaluate_unimodal, IMAGES, IMAGES, block=-1)
    captions = vb.Embeddings("caption", np.arange(20), IMAGES)
    assert vb.evaluate_unimodal(captions, IMAGES, metrics="MLD@3", ci=0).results[0].direction == "t2t"


def test_a_report_prints_and_names_what_it_holds(pinned: Pinned) -> None:
    report = vb.evaluate(IMAGES, TEXTS, split=SPLIT, metrics="R@1", ci=0)
    assert repr(report) == str(report)
    with pytest.raises(KeyError) as caught:
        report["R@7", "i2t"]
    pinned(caught.value)


def test_the_view_of_folds_of_a_split_that_is_ranked_in_folds(refuses: Refuses) -> None:
    owners = np.repeat(np.arange(20), 2)
    split = vb.Split("custom", np.arange(20), np.arange(40), owners, fold=np.arange(20) // 10, in_folds=True)
    vectors = np.eye(20, dtype=np.float32)
    caught = refuses(UsageError, vb.evaluate, vectors, vectors[owners], split=split, metrics="1k:R@1", ci=0, trust=True)
    assert caught.fix == "write R@1"
