"""Score matrices are read or memory-mapped, and refused when it is not clear which array they are."""

from __future__ import annotations

import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Pinned
from tests.notes import with_notes
from vsebench.errors import BadInput
from vsebench.files import read

read_scores = partial(with_notes, read.read_scores)

SCORES = np.random.default_rng(0).standard_normal((4, 20)).astype(np.float32)
IDS = np.arange(4)


def refused(path: Path, **kwargs: Any) -> str:
    with pytest.raises(BadInput) as caught:
        read_scores(path, **kwargs)
    message = str(caught.value)
    assert "fix: " in message and str(path) in message
    return message


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_npy(tmp_path: Path, order: Any, dtype: str) -> None:
    np.save(tmp_path / "s.npy", np.asarray(SCORES, dtype, order=order))
    raw = read_scores(str(tmp_path / "s.npy"))
    assert raw.format == "npy" and raw.sources == (tmp_path / "s.npy",) and raw.notes == ()
    assert isinstance(raw.values.base, np.memmap) and raw.values.dtype == dtype
    assert np.array_equal(raw.values, SCORES.astype(dtype))
    assert raw.image_ids is None and raw.text_ids is None and raw.image_of_text is None


@pytest.mark.parametrize("name", ["scores", "sims", "Sim", "similarity", "similarities", "matrix"])
def test_npz_by_name(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "s.npz", **{name: SCORES, "image_ids": IDS, "txt2img": np.repeat(IDS, 5), "other": SCORES})
    raw = read_scores(tmp_path / "s.npz")
    assert raw.format == "npz" and np.array_equal(raw.values, SCORES)
    assert raw.image_ids is not None and raw.image_ids.tolist() == [0, 1, 2, 3]
    assert raw.image_of_text is not None and len(raw.image_of_text) == 20
    assert raw.notes == ("ignored arrays: other (4, 20) float32",)


def test_the_only_matrix(tmp_path: Path, pinned: Pinned) -> None:
    np.savez(tmp_path / "s.npz", SCORES, caption_ids=np.arange(20)[:, None])
    raw = read_scores(tmp_path / "s.npz")
    assert raw.notes == ("scores are read from 'arr_0', the only two-dimensional array",)
    assert raw.text_ids is not None and raw.text_ids.shape == (20,)
    np.savez(tmp_path / "t.npz", a=SCORES, b=SCORES)
    pinned(refused(tmp_path / "t.npz"))
    assert np.array_equal(read_scores(tmp_path / "t.npz", key="b").values, SCORES)
    pinned(refused(tmp_path / "t.npz", key="c"))


def test_matrices_that_are_refused(tmp_path: Path, pinned: Pinned) -> None:
    for names in (("images", "texts"), ("images",), ("scores", "sims")):
        np.savez(tmp_path / "e.npz", **dict.fromkeys(names, SCORES))
        pinned(refused(tmp_path / "e.npz"))
    pinned(refused(tmp_path))


def test_a_stored_member_behind_an_odd_offset(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", SCORES)
    for extra in range(4):
        with zipfile.ZipFile(tmp_path / "s.npz", "w") as archive:
            archive.writestr("pad.txt", "x" * extra)
            archive.write(tmp_path / "scores.npy", "scores.npy")
        scores = read_scores(tmp_path / "s.npz").values
        assert np.array_equal(scores @ np.ones(20), SCORES @ np.ones(20))


def test_other_formats(tmp_path: Path) -> None:
    h5py, torch = pytest.importorskip("h5py"), pytest.importorskip("torch")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file["run/sims"], file["run/img_ids"] = SCORES, IDS
    assert read_scores(tmp_path / "s.h5").image_ids is not None
    pytest.importorskip("safetensors.numpy").save_file({"scores": SCORES}, tmp_path / "s.safetensors")
    torch.save(torch.from_numpy(SCORES), tmp_path / "s.pt")
    for ending, name in (("h5", "hdf5"), ("safetensors", "safetensors"), ("pt", "torch")):
        raw = read_scores(tmp_path / f"s.{ending}")
        assert raw.format == name and np.array_equal(raw.values, SCORES)
    assert raw.notes == ("scores are read from 'tensor', the only two-dimensional array",)
