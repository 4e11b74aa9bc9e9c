"""Files in the published layouts of sets of choices, with invented content, and what is right by plain loops."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

Scores = dict[str, list[list[float]]]  # by item: a list of scores of the captions for every image


def sugarcrepe(folder: Path) -> Path:
    """Two categories, one image in both; a caption whose words are those of the right one."""
    write(folder / "add_obj.json", {
        "0": {"filename": "000000000001.jpg", "caption": "A cat.", "negative_caption": "A cat and a dog."},
        "1": {"filename": "000000000002.jpg", "caption": "Two men.", "negative_caption": "Two men on a boat."},
    })  # fmt: skip
    write(folder / "swap_obj.json", {
        "0": {"filename": "000000000001.jpg", "caption": "A cat on a dog.", "negative_caption": "a dog on a cat"},
        "7": {"filename": "000000000003.jpg", "caption": "Men on boats.", "negative_caption": "Boats under men."},
        "8": {"filename": "000000000002.jpg", "caption": "Red and blue.", "negative_caption": "Blue and red!"},
    })  # fmt: skip
    return folder


def valse(folder: Path) -> Path:
    """Items with three, two and one votes for the caption, one file compressed."""

    def item(number: int, votes: int) -> dict[str, Any]:
        record = {"image_file": f"v7w_{number}.jpg", "caption": f"There are {number}.", "foil": "There are none."}
        return {**record, "dataset": "visual7w", "mturk": {"foil": 0, "caption": votes, "other": 3 - votes}}

    write(folder / "existence.json", {"existence_1": item(1, 3), "existence_2": item(2, 2), "existence_3": item(3, 1)})
    folder.joinpath("plurals.json.gz").write_bytes(gzip.compress(json.dumps({"existence_1": item(1, 3)}).encode()))
    return folder


def aro(folder: Path) -> Path:
    """Relations, of which one is symmetric, and pairs of attributes, of which one has 25 items."""

    def item(number: int, **more: Any) -> dict[str, Any]:
        box = {f"bbox_{side}": 10 for side in "xywh"}
        captions = {"true_caption": f"the dog is on {number}", "false_caption": f"{number} is on the dog"}
        return {"image_id": number, "image_path": f"{number % 9}.jpg", **captions, **box, **more}

    relations = ["on", "on", "below", "next to", "next to", "below", "on"]
    write(folder / "visual_genome_relation.json", [item(n, relation_name=r) for n, r in enumerate(relations)])
    pairs = [["white", "black"]] * 25 + [["open", "old"]] * 24
    write(folder / "visual_genome_attribution.json", [item(n, attributes=a) for n, a in enumerate(pairs)])
    return folder


def winoground(folder: Path) -> Path:
    """JSON lines with two images and two captions each."""
    rows = []
    for n, tag in enumerate(["Object", "Relation", "Object", "Both", "Relation"]):
        images = {f"image_{k}": f"ex_{n}_img_{k}" for k in (0, 1)}
        captions = {"caption_0": f"{n} before grass", "caption_1": f"grass before {n}"}
        rows.append(json.dumps({"id": n, **images, **captions, "tag": "x", "collapsed_tag": tag}))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "examples.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def write(path: Path, document: Any) -> Path:
    """A JSON file, in a folder that may not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_csv(path: Path, scores: Scores) -> Path:
    """Scores by item as a table, rows backwards."""
    flat = {name: [score for row in rows for score in row] for name, rows in scores.items()}
    width = max(map(len, flat.values()))
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", *(f"score_{k}" for k in range(width))])
        for name, own in reversed(flat.items()):
            writer.writerow([name, *own, *[""] * (width - len(own))])
    return path


def drawn(shapes: dict[str, tuple[int, int]], seed: int, step: float = 0.25) -> Scores:
    """Random scores (images, captions) of every item, with many ties."""
    rng = np.random.default_rng(seed)
    return {name: (np.round(rng.standard_normal(shape) / step) * step).tolist() for name, shape in shapes.items()}


def accuracy(scores: Scores, right: dict[str, int]) -> dict[str, tuple[bool, bool]]:
    """By item of one image: whether it is right, and whether a tie of the best decides it."""
    out = {}
    for name, wanted in right.items():
        own = scores[name][0]
        others = [score for k, score in enumerate(own) if k != wanted]
        out[name] = all(own[wanted] > score for score in others), own[wanted] == max(others)
    return out


def pair_scores(scores: Scores) -> dict[str, dict[str, bool]]:
    """Text, image and group score of items of two images, as the Winoground paper defines them."""
    out = {}
    for name, ((c0_i0, c1_i0), (c0_i1, c1_i1)) in scores.items():
        text = c0_i0 > c1_i0 and c1_i1 > c0_i1
        image = c0_i0 > c0_i1 and c1_i1 > c1_i0
        out[name] = {"text": text, "image": image, "group": text and image}
    return out
