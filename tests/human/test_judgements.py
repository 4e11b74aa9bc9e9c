"""Files of human judgements: what is read, and one clear error for each way they can be wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests import human_files as files
from tests.messages import Refuses
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.human.cxc import read_cxc
from vsebench.human.flickr8k import read_flickr8k
from vsebench.human.judgements import find

SITS = [
    (files.caption(7), files.image(1), 4.97, "c2i_original"),
    (files.caption(8), files.image(2), 0.5, "c2i_intrasim"),
]


def test_cxc_columns(tmp_path: Path) -> None:
    files.cxc(tmp_path, "sits", SITS)
    read = read_cxc("sits", tmp_path)
    assert read.first.tolist() == [7, 8] and read.second.tolist() == [1, 2]
    assert read.score.tolist() == [4.97, 0.5] and read.same_image.tolist() == [True, False]
    files.cxc(tmp_path, "sts", [(files.caption(7), files.caption(8), 2, "c2c_cocaption")])
    assert read_cxc("sts", tmp_path).same_image.tolist() == [True]
    files.cxc(tmp_path, "sis", [(files.image(3), files.image(575_916), 2, "i2i_csim")])
    assert read_cxc("sis", tmp_path).second.tolist() == [575_916]


def test_gzip_subfolders_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files.cxc(tmp_path / "cxc", "sits", SITS)
    (tmp_path / "cxc" / "sits_test.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    monkeypatch.setenv("VSEBENCH_HUMAN_DATA", str(tmp_path))
    assert read_cxc("sits").where.name == "sits_test.csv.gz"
    monkeypatch.delenv("VSEBENCH_HUMAN_DATA")
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cxc").rename(tmp_path / "cache" / "human")
    assert len(read_cxc("sits").score) == 2


def test_absent_files_end_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("VSEBENCH_HUMAN_DATA", raising=False)
    refuses(MissingPackage, read_cxc, "sts")
    files.flickr8k(tmp_path / "f")
    (tmp_path / "f" / "ExpertAnnotations.txt").unlink()
    refuses(MissingPackage, read_flickr8k, tmp_path / "f")
    refuses(UsageError, find, ["x"], tmp_path / "absent", "run: x")
    monkeypatch.setenv("VSEBENCH_HUMAN_DATA", str(tmp_path / "absent"))
    refuses(UsageError, find, ["x"], None, "run: x")


@pytest.mark.parametrize(
    "line",
    [
        "COCO_val2014:sentid:7,COCO_val2014_000000000001.jpg,4.9",
        "7,COCO_val2014_000000000001.jpg,5.1,c2i_original",
        "7,COCO_val2014_000000000001.jpg,nan,c2i_original",
        "x,COCO_val2014_000000000001.jpg,5,c2i_original",
        "7,dog.jpg,5,c2i_original",
        "7,COCO_val2014_000000000001.jpg,5,random",
    ],
)
def test_a_bad_line_of_cxc(tmp_path: Path, line: str, refuses: Refuses) -> None:
    path = files.cxc(tmp_path, "sits", SITS[:1])
    path.write_text(path.read_text() + line + "\n")
    error = refuses(BadInput, read_cxc, "sits", tmp_path)
    assert error.where == str(path)


def test_another_file(tmp_path: Path, refuses: Refuses) -> None:
    files.cxc(tmp_path, "sts", []).rename(tmp_path / "sits_test.csv")
    refuses(BadInput, read_cxc, "sits", tmp_path)
    files.cxc(tmp_path, "sits", [])
    refuses(BadInput, read_cxc, "sits", tmp_path)
    (tmp_path / "sits_test.csv").write_bytes(b"\x1f\x8b\x08garbage")
    refuses(BadInput, read_cxc, "sits", tmp_path)


def test_flickr8k(tmp_path: Path) -> None:
    read = read_flickr8k(files.flickr8k(tmp_path))
    assert read.images == ("a", "b", "c") and read.image_of.tolist() == [0, 0, 1, 1, 2, 2]
    assert read.captions[4] == "A child climbs a tree ."
    assert read.expert.image.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert read.expert.caption.tolist() == [2, 5, 4, 3, 0, 1, 3]
    assert read.expert.scores.shape == (7, 3) and read.expert.scores[5].tolist() == [2, 3, 2]
    assert np.allclose(read.crowd.scores[:, 0], [1, 0, 1 / 3, 0, 1, 0.25])


@pytest.mark.parametrize(
    "changed",
    [
        {"token": "a.jpg#0 no tab\n"},
        {"token": files.TOKEN + "a.jpg#1\tAgain .\n"},
        {"expert": "a.jpg\tb.jpg#0\t1\t1\n"},
        {"expert": "a.jpg\tb.jpg#0\t1\t1\t5\n"},
        {"expert": "z.jpg\tb.jpg#0\t1\t1\t4\n"},
        {"expert": "a.jpg\tb.jpg#9\t1\t1\t4\n"},
        {"crowd": "a.jpg\tb.jpg#0\t0.9\t1\t2\n"},
        {"crowd": "a.jpg\tb.jpg#0\t0\t0\t0\n"},
    ],
)
def test_a_bad_line_of_flickr8k(tmp_path: Path, changed: dict[str, str], refuses: Refuses) -> None:
    refuses(BadInput, read_flickr8k, files.flickr8k(tmp_path, **changed))


@pytest.mark.real_data
def test_the_published_counts(real_data: Path) -> None:
    counts = {}
    for task in ("sits", "sts", "sis"):
        read = read_cxc(task, real_data)  # type: ignore[arg-type]
        counts[task] = (len(read.score), int(read.same_image.sum()))
    assert counts == {"sits": (44_833, 25_000), "sts": (44_045, 25_000), "sis": (46_719, 0)}
    flickr = read_flickr8k(real_data)
    assert (len(flickr.images), len(flickr.captions)) == (8_092, 40_460)
    assert (flickr.expert.scores.shape, flickr.crowd.scores.shape) == ((5_822, 3), (47_830, 1))
