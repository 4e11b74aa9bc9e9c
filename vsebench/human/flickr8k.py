"""Flickr8k: captions, and ratings of captions of other images by experts and a crowd.

Source: Hodosh, Young and Hockenmaier, Framing Image Description as a Ranking Task, JAIR 47, 2013.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import frozen
from ..errors import BadInput, count_of
from ..options import spell
from ..types import Float, Int
from .judgements import bad, find, number, rows

FILES = ("Flickr8k.token.txt", "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt")


def fetch() -> str:
    """How to get the files."""
    return (
        "run: curl -LO https://github.com/jbrownlee/Datasets/releases/download/Flickr8k/Flickr8k_text.zip, "
        f"then unzip Flickr8k_text.zip -d Flickr8k_text, and add {spell('human_data', 'Flickr8k_text')}"
    )


@dataclass(frozen=True, eq=False)
class Rated:
    """Rated pairs, in the order of the file.

    Attributes:
        image: (pair,) int64 indices of images.
        caption: (pair,) int64 indices of captions.
        scores: (pair, judge) float64: three experts from 1 to 4, or one column with the crowd's share of yes.
        where: the file.
    """

    image: Int
    caption: Int
    scores: Float
    where: Path


@dataclass(frozen=True, eq=False)
class Flickr8k:
    """Captions and ratings.

    Attributes:
        images: (image,) file names without their ending.
        captions: (caption,) strings.
        image_of: (caption,) int64 index of the image a caption was written for.
        expert: 5,822 pairs, three experts each.
        crowd: 47,830 pairs with the share of yes.
    """

    images: tuple[str, ...]
    captions: tuple[str, ...]
    image_of: Int
    expert: Rated
    crowd: Rated


def read_flickr8k(folder: str | os.PathLike[str] | None = None) -> Flickr8k:
    """Everything from ``Flickr8k.token.txt``, ``ExpertAnnotations.txt`` and ``CrowdFlowerAnnotations.txt``.

    Args:
        folder: with the three files (plain or ``.gz``), see ``judgements.find``.

    Raises:
        MissingPackage: a file is absent; the message has the command to get it.
        BadInput: a line that cannot be read, or that rates an item without a caption (named).
        UsageError: ``folder`` is not a folder.
    """
    token, expert, crowd = find(FILES, folder, fetch())
    images: dict[str, int] = {}
    captions: dict[str, int] = {}
    strings: list[str] = []
    image_of: list[int] = []
    for line, cells in rows(token, "\t"):
        if len(cells) != 2 or "#" not in cells[0]:
            raise bad(token, line, "expected an id such as 1000268201_693b08cb0e.jpg#0, a tab and a caption")
        key = _caption(cells[0])
        if key in captions:
            raise bad(token, line, f"caption id '{cells[0][:60]}' occurs twice")
        captions[key] = len(strings)
        strings.append(cells[1].strip())
        image_of.append(images.setdefault(_image(cells[0]), len(images)))
    if not strings:
        raise BadInput("has no captions", where=token, fix="download the file again")
    rated = (_rated(path, images, captions) for path in (expert, crowd))
    return Flickr8k(tuple(images), tuple(strings), frozen(image_of, np.int64), *rated)


def _rated(path: Path, images: dict[str, int], captions: dict[str, int]) -> Rated:
    expert = "Expert" in path.name
    image, caption, scores = [], [], []
    for line, cells in rows(path, "\t"):
        if len(cells) != 5:
            raise bad(path, line, f"{count_of(len(cells), 'column')}, expected 5")
        for cell, known, key in ((cells[0], images, _image(cells[0])), (cells[1], captions, _caption(cells[1]))):
            if key not in known:
                raise bad(path, line, f"'{cell[:60]}' has no caption in {FILES[0]}")
        image.append(images[_image(cells[0])])
        caption.append(captions[_caption(cells[1])])
        if expert:
            scores.append([number(cell, 1, 4, "the judgement of an expert", path, line) for cell in cells[2:]])
        else:
            scores.append([_share(cells, path, line)])
    if not scores:
        raise BadInput("has no ratings", where=path, fix="download the file again")
    return Rated(np.array(image), np.array(caption), np.array(scores), path)


def _share(cells: list[str], path: Path, line: int) -> float:
    share = number(cells[2], 0, 1, "the share of yes", path, line)
    yes, no = (number(cell, 0, 1e6, "the number of answers", path, line) for cell in cells[3:])
    if yes + no == 0 or abs(share - yes / (yes + no)) > 1e-5:
        raise bad(path, line, f"{cells[2]} is not the share of {yes:g} yes among {yes + no:g} answers")
    return share


def _image(cell: str) -> str:
    # one image of the caption file has an additional ending: 2258277193_586949ec62.jpg.1
    return cell.partition("#")[0].strip().partition(".")[0]


def _caption(cell: str) -> str:
    return f"{_image(cell)}#{cell.partition('#')[2].strip()}"
