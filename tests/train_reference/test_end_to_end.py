"""From drawn images to a row of a board, by the commands that a user types."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from leaderboards.__main__ import main as leaderboard
from tests import clip_models
from tests.commands import cli
from vsebench import load

pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("open_clip", reason="open_clip_torch is not installed (extra: clip)")
drawing = pytest.importorskip("PIL.ImageDraw", reason="Pillow is not installed (extra: scenes)")

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 60, 230), "yellow": (230, 220, 40)}
PLACES = {"left": 0, "middle": 10, "right": 20}
SHAPES = ("square", "circle")


def draw(folder: Path) -> list[dict[str, str]]:
    """120 images, of every colour, shape and place five times; the lines of their captions, with parts."""
    from PIL import Image

    folder.mkdir()
    rng, lines = np.random.default_rng(0), []
    kinds = [(c, s, p) for c in COLOURS for s in SHAPES for p in PLACES]
    for number, (colour, shape, place) in enumerate(kinds * 5):
        image = Image.fromarray(rng.integers(0, 50, (32, 32, 3), np.uint8))
        x, y = PLACES[place] + int(rng.integers(3)), int(rng.integers(4, 18))
        pen = drawing.Draw(image)
        (pen.rectangle if shape == "square" else pen.ellipse)((x, y, x + 9, y + 9), fill=COLOURS[colour])
        image.save(folder / f"{number:03}.png")
        part = ("train", "train", "train", "val", "test")[number // len(kinds)]
        for words in (f"a {colour} {shape} on the {place}", f"on the {place} is a {shape} of {colour}"):
            lines.append({"image_id": f"{number:03}.png", "caption": words, "split": part})
    return lines


@pytest.mark.slow
def test_from_drawn_images_to_a_row_of_a_board(tmp_path: Path) -> None:
    """The features are those of a small CLIP model with random weights, which a projection learns to read."""
    model = clip_models.open_clip_folder(tmp_path / "tiny-clip")
    captions = tmp_path / "captions.jsonl"
    captions.write_text("".join(json.dumps(line) + "\n" for line in draw(tmp_path / "images")))
    boards = tmp_path / "leaderboards"
    shutil.copytree(Path(__file__).parents[2] / "leaderboards", boards, ignore=shutil.ignore_patterns("suites"))

    features, out, report = tmp_path / "features.npz", tmp_path / "run", tmp_path / "A.json"
    cli("encode", model, "--images", tmp_path / "images", "--captions", captions, "--part", "all", "-o", features)
    options = [
        "--epochs",
        "20",
        "--batch",
        "24",
        "--lr",
        "0.01",
        "--set",
        "data.word_count=1",
        "--set",
        "train.decay_every=0",
    ]
    cli("train-reference", "--config", "scenes/sam", "--data", features, "--captions", captions, *options, "--out", out)
    cli("eval", out, "--trust", "-o", report)
    site = tmp_path / "site"
    for words in (
        ["add", report, "--name", "Drawn", "--image-input", "pixels"],
        ["validate"],
        ["build", "--out", site],
    ):
        assert leaderboard([*map(str, words), "--folder", str(boards)]) == 0
    found = load(report)
    assert found["RSum"].value > 1.5 * 2 * sum((1 / 24, 5 / 24, 10 / 24))  # of chance, with 24 images
    pages = [page for page in site.rglob("*.html") if "Drawn" in page.read_text(encoding="utf-8")]
    assert any(f"{100 * found['R@10', 'i2t'].value:.2f}" in page.read_text(encoding="utf-8") for page in pages)
