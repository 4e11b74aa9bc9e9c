"""An item: captions of one image, one of them right, or two images with a caption each; and sets of items."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np

from ... import __version__, signature
from ...errors import BadInput, count_of
from ...memory import text_array
from ...types import Bool, Float, Int, TestSet


def words(caption: str) -> list[str]:
    """The words of a caption in lower case, without punctuation."""
    return re.findall(r"[\w']+", caption.lower())


@dataclass(frozen=True)
class Item:
    """One item.

    Attributes:
        id: unique in its set. Caption number k of an item has the id ``<id>#<k>``.
        images: the ids of one image, or of two.
        captions: two or more of one image; or two, caption k for image k.
        right: the number of the right caption, from 0.
        category: what a table has a row for.
        group: unit of resampling, as items of one image are not independent.
        part: of a set that is published as several, each with its own table.
    """

    id: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    right: int
    category: str
    group: str
    part: str = ""

    @property
    def order_blind(self) -> bool:
        """Whether a score that ignores the order of words can be right: no other caption has the same words."""
        bags = [sorted(words(caption)) for caption in self.captions]
        return bags.count(bags[self.right]) == 1


@dataclass(frozen=True, eq=False)
class ChoiceSet:
    """Items of one kind, either with one image each or with two.

    Attributes:
        name: of the published set, or of the file.
        items: in the order of the files.
        outside: part and category of those that the published mean of categories leaves out.
        notes: decisions made in reading, one sentence each.

    Raises:
        BadInput: no item, two of one id, or items with one image beside items with two.
    """

    name: str
    items: tuple[Item, ...]
    outside: frozenset[tuple[str, str]] = frozenset()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.items:
            raise BadInput(f"set '{self.name}' has no item", fix="give a file that has items")
        again, count = Counter(item.id for item in self.items).most_common(1)[0]
        if count > 1:
            what = f"{count:,} items of '{self.name}' have the id '{again}'"
            raise BadInput(what, fix="give every item its own id")
        if len({len(item.images) for item in self.items}) > 1:
            raise BadInput(f"'{self.name}' has items with one image and items with two", fix="make two sets of them")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Items, images of an item (1 or 2), most captions of an item."""
        return len(self.items), len(self.items[0].images), max(len(item.captions) for item in self.items)

    @property
    def warnings(self) -> tuple[str, ...]:
        """On items that no system can get right."""
        same = [item.id for item in self.items if item.captions.count(item.captions[item.right]) > 1]
        counted = count_of(len(same), "item has", "items have")
        return (f"{counted} the right caption twice, which is always a tie (first: {same[0]})",) if same else ()

    @cached_property
    def exists(self) -> Bool:
        """(item, caption) bool: whether an item has a caption of this number."""
        return np.arange(self.shape[2]) < np.array([len(item.captions) for item in self.items])[:, None]

    @cached_property
    def images(self) -> tuple[list[str], Int]:
        """The images, in the order of their first items, and (item, image) their rows."""
        row: dict[str, int] = {}
        rows = np.array([[row.setdefault(image, len(row)) for image in item.images] for item in self.items])
        return list(row), rows

    @cached_property
    def split(self) -> TestSet:
        """The images, and all captions, item by item."""
        images, rows = self.images
        owners = np.broadcast_to(rows, self.exists.shape)[self.exists]
        ids = [f"{item.id}#{k}" for item in self.items for k in range(len(item.captions))]
        captions = tuple(caption for item in self.items for caption in item.captions)
        return TestSet.captioned(
            self.name, text_array(images, "image ids"), text_array(ids, "caption ids"), owners, captions
        )

    def of_captions(self, values: Sequence[float] | Float) -> Float:
        """(item, caption) float64: a value for each caption of ``split``, NaN if an item has fewer captions."""
        out = np.full(self.exists.shape, np.nan)
        out[self.exists] = values
        return out

    def signature(self, how: str) -> str:
        """One line that identifies the items, the scores and the rule for ties."""
        digest = signature.captions_fingerprint([json.dumps(astuple(item)) for item in self.items])
        name = self.name.replace("|", "-")  # of a file
        fields = {"vsebench": __version__, "set": f"{name}{digest}", "score": how, "ties": "wrong"}
        return signature.write(fields)
