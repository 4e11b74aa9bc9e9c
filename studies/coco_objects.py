"""COCO val2014 images as the objects that people have marked in them: a folder of features to train on, on a CPU.

    python -m studies.coco_objects instances_val2014.json dataset_coco.json coco-objects
    vsebench train-reference --data coco-objects --set data.first=0.25

An image is a vector over the categories in alphabetical order. Of COCO's ``instances_val2014.json`` it has log2(1 +
number of objects) of every category, then the root of the share of the image that the largest one covers. Of a table
with lines ``image id <TAB> names, separated by commas`` it has 1 for the categories that are named. An image without an
object is a row of zeros.

The captions are those of the installed packages (``pip install 'vsebench[text]'``), five an image. The test part is
``coco-5k``; dev is Karpathy's val, which no package holds: ``dataset_coco.json``, or image ids, one a line; train is
``restval``, all other images of val2014.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench import load_split
from vsebench.errors import install
from vsebench.files.textfile import read_text, text_lines
from vsebench.sets import stored

CAPTIONS = 5  # of an image
Objects = tuple[dict[int, int], npt.NDArray[np.float32]]  # row by image id; vectors, of which the last one is 0


def read_objects(path: str) -> Objects:
    """The objects of a file, plain or gzip."""
    text = read_text(path)
    return _of_instances(json.loads(text)) if text.startswith("{") else _of_table(text)


def _of_instances(document: dict[str, Any]) -> Objects:
    names = {kind["name"]: kind["id"] for kind in document["categories"]}
    column = {names[name]: k for k, name in enumerate(sorted(names))}
    size = {image["id"]: image["height"] * image["width"] for image in document["images"]}
    row_of = {image: row for row, image in enumerate(size)}
    count = np.zeros((len(row_of) + 1, len(column)), np.float32)
    largest = np.zeros_like(count)
    for note in document["annotations"]:
        at = row_of[note["image_id"]], column[note["category_id"]]
        count[at] += 1
        largest[at] = max(largest[at], note["area"] / size[note["image_id"]])
    return row_of, np.concatenate([np.log2(1 + count), np.sqrt(np.clip(largest, 0, 1))], axis=1)


def _of_table(text: str) -> Objects:
    lines = [line.partition("\t") for line in text_lines(text)]
    found = {int(image): {name.strip() for name in names.split(",")} - {""} for image, _, names in lines}
    categories = sorted(set[str]().union(*found.values()))
    vectors = [[name in names for name in categories] for names in (*found.values(), set())]
    return {image: row for row, image in enumerate(found)}, np.array(vectors, np.float32)


def read_val(path: str) -> list[int]:
    """The image ids of Karpathy's val."""
    text = read_text(path)
    if not text.startswith("{"):
        return list(map(int, text.split()))
    return [image["cocoid"] for image in json.loads(text)["images"] if image["split"] == "val"]


def read_captions() -> dict[int, dict[int, str]]:
    """The captions of val2014 by image and caption id, both ascending, from the installed package."""
    jar = stored.package_file(stored.CAPTIONS_PACKAGE, stored.JAR)
    if jar is None:
        raise SystemExit(f"the captions are not installed: {install('text')}")
    with zipfile.ZipFile(jar) as archive:
        notes = json.loads(archive.read(stored.CAPTIONS_IN_JAR))["annotations"]
    found: dict[int, dict[int, str]] = {}
    for note in sorted(notes, key=lambda note: (note["image_id"], note["id"])):
        found.setdefault(note["image_id"], {})[note["id"]] = note["caption"].replace("\n", " ")  # a line
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("objects", help="instances_val2014.json, or a table of image ids and names")
    parser.add_argument("val", help="dataset_coco.json, or image ids, one a line")
    parser.add_argument("folder", type=Path, help="that is written")
    given = parser.parse_args(arguments)
    row_of, vectors = read_objects(given.objects)
    val, captions, test = read_val(given.val), read_captions(), load_split("coco-5k")
    tested = test.rows.ids.tolist()
    if set(val) - set(captions) or set(val) & set(tested) or 2 * len(captions.keys() & row_of) < len(captions):
        raise SystemExit("val has images that are not of val2014 or are tested, or half of val2014 has no objects")
    of_test = dict(zip(tested, test.columns.ids.reshape(-1, CAPTIONS).tolist(), strict=True))
    others = set(captions) - {*val, *tested}
    parts = {"train": sorted(others), "dev": val, "testall": tested}
    given.folder.mkdir(parents=True)
    for part, images in parts.items():
        ids = [(i, c) for i in images for c in of_test.get(i, list(captions[i])[:CAPTIONS])]
        np.save(given.folder / f"{part}_ims.npy", vectors[[row_of.get(i, -1) for i in images]])
        for name, lines in (("caps.txt", [captions[i][c] for i, c in ids]), ("ids.tsv", [f"{i}\t{c}" for i, c in ids])):
            (given.folder / f"{part}_{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
