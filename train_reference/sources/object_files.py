"""Files of the objects in images: COCO's ``instances_val2014.json``, or a table of image ids and category names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vsebench.data.textfile import field, parse_json, read_text, shown, text_lines
from vsebench.errors import BadInput
from vsebench.types import Ids

LONGEST = 18  # digits of an image id
LARGEST = 1e18  # pixels


@dataclass(frozen=True, eq=False)
class Objects:
    """What is in images.

    Attributes:
        where: the file.
        categories: (category,) names in alphabetical order.
        row_of: row of ``array`` by image id; images without an object may be absent.
        array: (image, width) float32; width is the number of categories (presence, 0 or 1), or twice that.
    """

    where: str
    categories: tuple[str, ...]
    row_of: dict[int, int]
    array: npt.NDArray[np.float32]

    def vectors(self, image_ids: Ids) -> npt.NDArray[np.float32]:
        """(image, width) float32 vectors of images; 0 for one without an object."""
        rows = np.fromiter((self.row_of.get(i, -1) for i in image_ids.tolist()), np.int64, len(image_ids))
        found = self.array[rows]
        found[rows < 0] = 0
        return found

    def check(self, image_ids: Ids) -> None:
        """Raise BadInput when fewer than half of some images are in the file: it is then one of other images."""
        there = sum(i in self.row_of for i in image_ids.tolist())
        if 2 * there < len(image_ids):
            what = f"has objects of {there:,} of the {len(image_ids):,} images of COCO val2014"
            raise BadInput(what, where=self.where, fix="give instances_val2014.json, or a table made from it")


def read_objects(path: str) -> Objects:
    """The objects of a file, plain or gzip.

    ``instances_val2014.json`` gives two numbers a category: log2(1 + number of objects), and the root of the share of
    the image that the largest one covers, in [0, 1]. A table has lines ``image id <TAB> names separated by commas``
    and gives one number, 1 for the categories that are named.

    Raises:
        BadInput: the file is missing, damaged or of another kind.
    """
    path = str(Path(path).expanduser())
    text = read_text(path)
    if text.lstrip()[:1] == "{":
        return _of_instances(parse_json(text, path), path)
    return _of_table(text, path)


def _of_table(text: str, where: str) -> Objects:
    found: dict[int, list[str]] = {}
    for n, line in enumerate(text_lines(text), start=1):
        number, tab, names = line.partition("\t")
        digits = number.strip()
        if not tab or not digits.isdecimal() or len(digits) > LONGEST:
            what = f"line {n} is no image id, tab and names: {line!r:.60}"
            raise BadInput(what, where=where, fix="give instances_val2014.json, or a table such as: 42<TAB>dog,person")
        if int(digits) in found:
            raise BadInput(f"line {n} has image {int(digits)} again", where=where, fix="give every image one line")
        found[int(digits)] = [name.strip() for name in names.split(",") if name.strip()]
    categories = tuple(sorted({name for names in found.values() for name in names}))
    if not categories:
        raise BadInput("no line names an object", where=where, fix="give a table such as: 42<TAB>dog,person")
    column = {name: k for k, name in enumerate(categories)}
    array = np.zeros((len(found), len(categories)), np.float32)
    for row, listed in enumerate(found.values()):
        array[row, [column[name] for name in listed]] = 1
    return Objects(where, categories, {image: row for row, image in enumerate(found)}, array)


def _of_instances(document: dict[str, Any], where: str) -> Objects:
    notes = field(document, "annotations", list, where)
    if notes and isinstance(notes[0], dict) and "caption" in notes[0]:
        raise BadInput("these are captions, not objects", where=where, fix="give instances_val2014.json")
    kinds = {
        field(c, "id", int, where): field(c, "name", str, where) for c in field(document, "categories", list, where)
    }
    categories = tuple(sorted(kinds.values()))
    column = {number: categories.index(name) for number, name in kinds.items()}
    size, row_of = [], {}
    for n, image in enumerate(field(document, "images", list, where)):
        at = f"{where}: images[{n}]"
        row_of[field(image, "id", int, at)] = n
        size.append(field(image, "height", int, at) * field(image, "width", int, at))
    count = np.zeros((len(size), len(categories)), np.float32)
    largest = np.zeros_like(count)
    for n, note in enumerate(notes):
        at = f"{where}: annotations[{n}]"
        image, kind = field(note, "image_id", int, at), field(note, "category_id", int, at)
        if image not in row_of or kind not in column:
            what = f"image {image} or category {kind} is not declared in this file"
            raise BadInput(what, where=at, fix="copy or download the file again")
        area = field(note, "area", (int, float), at)
        if not 0 <= area <= LARGEST:
            raise BadInput(f"area is {shown(area)}", where=at, fix="give the number of pixels of the object")
        row, k = row_of[image], column[kind]
        count[row, k] += 1
        largest[row, k] = max(largest[row, k], area / max(size[row], 1))
    array = np.concatenate([np.log2(1 + count), np.sqrt(np.clip(largest, 0, 1))], axis=1)
    return Objects(where, categories, row_of, array)
