"""Files that are written to, cut short, replaced or removed while they are evaluated."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from vsebench.data.formats.npy import npy_member
from vsebench.data.unchanged import unchanged
from vsebench.errors import BadInput
from vsebench.evaluation import run as evaluation
from vsebench.unimodal import evaluate as unimodal

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 16)).astype(np.float32)
Y = (np.repeat(X, 5, axis=0) + RNG.standard_normal((300, 16))).astype(np.float32)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def overwrite(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(-64, os.SEEK_END)
        stream.write(b"\1" * 64)


def replace(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def remove(path: Path) -> None:
    path.unlink()


CHANGES = {cut: "written to", overwrite: "written to", replace: "replaced", remove: "removed"}
Inputs = dict[str, Any]


def inputs(folder: Path) -> dict[str, tuple[Inputs, str]]:
    """Arguments of an evaluation, and the file of them that changes."""
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    np.savez(folder / "e.npz", images=X, texts=Y)
    np.save(folder / "s.npy", X @ Y.T)
    np.save(folder / "g.npy", np.abs(X @ Y.T))
    (folder / "c.txt").write_text("\n".join(f"a dog {i}" for i in range(300)), encoding="utf-8")
    for name, part in (("img_emb", np.repeat(X, 5, axis=0)), ("text_emb", Y)):
        (folder / "shards" / name).mkdir(parents=True)
        np.save(folder / "shards" / name / f"{name}_0.npy", part)
    pair: Inputs = {"images": folder / "x.npy", "texts": folder / "y.npy", "metrics": "R@1"}
    return {
        "texts": (pair, "y.npy"),
        "npz": ({"images": folder / "e.npz", "metrics": "R@1"}, "e.npz"),
        "scores": ({"scores": folder / "s.npy", "metrics": "R@1"}, "s.npy"),
        "gains": ({**pair, "gains": str(folder / "g.npy"), "metrics": "matrix:NCS@5"}, "g.npy"),
        "captions": ({**pair, "captions": folder / "c.txt", "metrics": "cider:NCS@5"}, "c.txt"),
        "folder": ({"images": folder / "shards", "metrics": "R@1"}, "shards/text_emb/text_emb_0.npy"),
    }


@pytest.mark.parametrize("kind", ["texts", "npz", "scores", "gains", "captions", "folder"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_that_changes_while_it_is_ranked_is_an_error(
    kind: str, change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, name = inputs(tmp_path)[kind]
    work = evaluation.run_evaluation

    def meanwhile(*given: Any) -> Any:
        change(tmp_path / name)
        return work(*given)

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "run_evaluation", meanwhile)
        with pytest.raises(BadInput, match=f"was {CHANGES[change]} while it was evaluated") as caught:
            vsebench.evaluate(**arguments, save_run=tmp_path / "run.json", ci=0)
    assert caught.value.where == str(tmp_path / name) and not (tmp_path / "run.json").exists()
    arguments, _ = inputs_again(tmp_path)[kind]
    assert vsebench.evaluate(**arguments, ci=0).provenance["inputs"], "without a change it is evaluated"


def inputs_again(folder: Path) -> dict[str, tuple[Inputs, str]]:
    (folder / "again").mkdir()
    return inputs(folder / "again")


def test_the_change_is_named_where_it_makes_the_work_fail(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    words = r"was written to while it was evaluated \(3,968 bytes, then 1,322\)"
    with pytest.raises(BadInput, match=words), unchanged([tmp_path / "x.npy", tmp_path / "absent"]):
        cut(tmp_path / "x.npy")
        raise ValueError("numbers that make no sense")
    with pytest.raises(ValueError, match="no sense"), unchanged([tmp_path / "x.npy"]):
        raise ValueError("numbers that make no sense")


@pytest.mark.parametrize("name", ["absent.npz", "x" * 5000, "a\0b"])
def test_what_is_not_there_is_left_to_the_reader(name: str, tmp_path: Path) -> None:
    with unchanged([tmp_path / name, tmp_path / "absent" / name]):
        pass


def test_labels_and_vectors_that_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "labels.npy", X[:, :3])
    work = unimodal.list_values

    def meanwhile(*given: Any) -> Any:
        overwrite(tmp_path / "labels.npy")
        return work(*given)

    monkeypatch.setattr(unimodal, "list_values", meanwhile)
    with pytest.raises(BadInput, match="was written to while it was evaluated") as caught:
        vsebench.evaluate_unimodal(tmp_path / "x.npy", tmp_path / "labels.npy", ci=0)
    assert caught.value.where == str(tmp_path / "labels.npy")


def test_an_array_in_memory_survives_what_happens_to_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    array = npy_member(tmp_path / "x.npy").load()
    os.truncate(tmp_path / "x.npy", 0)
    assert np.array_equal(array, X) and not array.flags.writeable


def test_a_file_that_is_cut_before_it_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    member = npy_member(tmp_path / "x.npy")
    cut(tmp_path / "x.npy")
    with pytest.raises(BadInput, match="ends before its data does") as caught:
        member.load()
    assert caught.value.where == str(tmp_path / "x.npy")
