"""Files of scores of choices: which item, image and caption a number is of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests import choice_files as files
from tests.commands import refused
from tests.messages import Refuses
from vsebench.errors import BadInput


def shares(result: Any, measure: str) -> dict[str, float]:
    return {row["category"]: row["value"] for row in result.records() if row["measure"] == measure}


PAIR_NAMES = (
    "c{c}_i{i}", "i{i}_t{c}", "caption_{c}_image_{i}", "image{i}_caption{c}", "clip_c{c}_i{i}", "c{c}i{i}",
    "s_c{c}_i{i}", "ViT-B32 C{c}I{i}", "score(img_{i}, cap_{c})", "imageTextScoreImage{i}Text{c}",
)  # fmt: skip


def pair_table(path: Path, names: dict[tuple[int, int], str], scores: np.ndarray) -> Path:
    """A table with a column for every pair (image, caption), in any order; scores are (item, image, caption)."""
    rows = [{"id": n, **{name: float(x[pair]) for pair, name in names.items()}} for n, x in enumerate(scores)]
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        lines = [",".join(map(str, row.values())) for row in rows]
        path.write_text("\n".join([",".join(f'"{name}"' for name in rows[0]), *lines]))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path.write_text(json.dumps({str(row.pop("id")): row for row in rows} if path.stem == "object" else rows))
    return path


@pytest.mark.parametrize("file", ["a.csv", "a.jsonl", "a.json", "object.json", "a.parquet"])
@pytest.mark.parametrize("first", [0, 1])
def test_names_of_columns_state_image_and_caption(tmp_path: Path, file: str, first: int) -> None:
    """Whichever letter is first, from 0 or from 1, in any order of columns; no note on an order is needed."""
    folder, scores = files.winoground(tmp_path / "w"), np.random.default_rng(0).standard_normal((5, 2, 2))
    expected = files.pair_scores({str(n): x.tolist() for n, x in enumerate(scores)})
    pairs = [(1, 0), (0, 0), (0, 1), (1, 1)]
    for form in PAIR_NAMES:
        names = {(i, c): form.format(i=i + first, c=c + first) for i, c in pairs}
        result = vb.choice(pair_table(tmp_path / file, names, scores), set=folder, ci=0)
        for measure in ("text", "image", "group"):
            value = np.mean([found[measure] for found in expected.values()])
            assert shares(result, measure)["all items"] == pytest.approx(value), form
        assert result.notes == (), form


@pytest.mark.parametrize("form", ["{c}{i}", "t2i_{c}_{i}", "c{c}_{i}", "caption_{c}", "score_c_i_{c}{i}", "c{c}_i7{i}"])
def test_names_that_do_not_state_image_and_caption_are_refused(tmp_path: Path, form: str, refuses: Refuses) -> None:
    names = {(i, c): form.format(i=i, c=c) for i in (0, 1) for c in (0, 1)}
    refuses(
        BadInput,
        vb.choice,
        pair_table(tmp_path / "s.csv", names, np.zeros((5, 2, 2))),
        set=files.winoground(tmp_path / "w"),
    )


def test_the_order_of_scores_without_names_is_noted(tmp_path: Path, pinned: Any) -> None:
    folder, scores = files.winoground(tmp_path / "w"), np.random.default_rng(0).standard_normal((5, 2, 2))
    names = {(i, c): f"score_{2 * i + c}" for i in (0, 1) for c in (0, 1)}
    np.save(tmp_path / "n.npy", scores.reshape(5, 4))
    lists = files.write(tmp_path / "l.json", {str(n): x for n, x in enumerate(scores.tolist())})
    for source in (scores, pair_table(tmp_path / "s.csv", names, scores), tmp_path / "n.npy", lists):
        result = vb.choice({"m": source}, set=folder, ci=0)
        pinned(result.notes[-1])
        assert shares(result, "text")["all items"] == np.mean(
            [found["text"] for found in files.pair_scores({str(n): x.tolist() for n, x in enumerate(scores)}).values()]
        )


NAMES = ("add_obj:0", "add_obj:1", "swap_obj:0", "swap_obj:7", "swap_obj:8")
FILES = {
    "columns": ("s.csv", "id,value\n1,2\n"),
    "twice": ("s.csv", "id,score_0,score_1\nadd_obj:0,1,2\nadd_obj:0,1,2\n"),
    "absent": ("s.csv", "id,score_0,score_1\nadd_obj:0,1,2\n"),
    "no number": ("s.json", json.dumps({name: [1, "x"] for name in NAMES})),
    "too few": ("s.json", json.dumps({name: [1] for name in NAMES})),
    "too many": ("s.json", json.dumps({name: [1, 2, 3] for name in NAMES})),
    "other columns": ("s.csv", "id,score_right,score_wrong\n" + "".join(f"{name},1,2\n" for name in NAMES)),
    "a gap": ("s.csv", "id,score_0,score_1,score_2\n" + "".join(f"{name},,1,2\n" for name in NAMES)),
}


def test_scores_belong_to_captions_and_items_by_their_names(tmp_path: Path, refuses: Refuses) -> None:
    """Columns by their number, rows by their id, also of an array with ids beside it."""
    folder, rng = files.sugarcrepe(tmp_path / "s"), np.random.default_rng(0)
    scores = rng.standard_normal((5, 2))
    right = vb.choice({"m": scores}, set=folder, ci=0).records()
    rows = zip(NAMES, scores.tolist(), strict=True)
    (tmp_path / "m.csv").write_text("score_1,id,score_0\n" + "".join(f"{b},{n},{a}\n" for n, (a, b) in rows))
    assert vb.choice(tmp_path / "m.csv", set=folder, ci=0).records() == right
    np.savez(tmp_path / "m.npz", scores=scores[::-1], ids=NAMES[::-1])
    assert vb.choice(tmp_path / "m.npz", set=folder, ci=0).records() == right
    np.savez(tmp_path / "m.npz", scores=scores, ids=["add_obj:0", *NAMES[:4]])
    refuses(BadInput, vb.choice, tmp_path / "m.npz", set=folder)


@pytest.mark.parametrize("case", FILES)
def test_files_of_scores_that_are_refused(tmp_path: Path, case: str, pinned: Any) -> None:
    name, text = FILES[case]
    (tmp_path / name).write_text(text)
    pinned(refused("choice", tmp_path / name, "--set", files.sugarcrepe(tmp_path / "s"), code=3))
