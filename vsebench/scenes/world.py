"""What a scene consists of: groups of equal objects on a background, and the relations of groups.

A scene has 1 to 4 groups. A group is 1 to 4 objects of one shape, colour, size and texture, placed together. No two
groups of a scene have both the same shape and the same colour. Attributes are codes: indices in the tuples below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

SHAPES = ("circle", "square", "triangle", "diamond", "star", "cross", "ring", "heart", "moon", "arrow")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
SIZES = ("small", "large")
TEXTURES = ("plain", "striped", "dotted", "checked")
BACKGROUNDS = ("grey", "beige", "brown", "teal")
# "a is right of b" is the fact "b is left of a"; likewise below and behind.
RELATIONS = ("left of", "above", "in front of")
LEFT, ABOVE, FRONT = range(3)
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "shape": SHAPES, "colour": COLOURS, "size": SIZES, "texture": TEXTURES,
}  # fmt: skip

MAX_GROUPS = 4
MAX_NUMBER = 4  # objects in a group
SIDE = 256  # the side of an image in units of layout
RADIUS = (18, 40)  # of a small and of a large object, in these units

Box = tuple[int, int, int, int]  # left, top, right, bottom in units of layout; y grows downwards


@dataclass(frozen=True)
class Group:
    """Objects of one kind: codes of their attributes, and how many there are (1 to 4)."""

    shape: int
    colour: int
    size: int
    texture: int
    number: int

    @property
    def attributes(self) -> tuple[int, int, int, int]:
        """Shape, colour, size and texture."""
        return self.shape, self.colour, self.size, self.texture


@dataclass(frozen=True)
class Scene:
    """What one image shows.

    Attributes:
        background: code of its colour.
        groups: later ones partly cover earlier ones if they overlap.
        centres: for every group, the centre (x, y) of each of its objects, in units of layout.
        cells: for every group, the part of the image that it lies in. Two groups have the same cell when one partly
            covers the other, and cells that do not overlap otherwise. Relations other than ``in front of`` follow
            where objects are, not the cells.
    """

    background: int
    groups: tuple[Group, ...]
    centres: tuple[tuple[tuple[int, int], ...], ...]
    cells: tuple[Box, ...]

    def boxes(self, group: int) -> list[Box]:
        """The bounding square of every object of a group."""
        r = RADIUS[self.groups[group].size]
        return [(x - r, y - r, x + r, y + r) for x, y in self.centres[group]]

    @cached_property
    def relations(self) -> frozenset[tuple[int, int, int]]:
        """(relation, a, b) for every relation that holds: group a is left of, above or in front of group b.

        A group is left of another when all of its objects end, from the left, before all of the other begin; likewise
        above. Groups that overlap are related by ``in front of`` only: which one is higher is a matter of opinion.
        """
        extents = [self.extent(g) for g in range(len(self.groups))]
        found = set()
        for a, (_, _, right, bottom) in enumerate(extents):
            for b, (left, top, _, _) in enumerate(extents):
                if right <= left:
                    found.add((LEFT, a, b))
                if bottom <= top:
                    found.add((ABOVE, a, b))
                if a > b and self.cells[a] == self.cells[b]:
                    found.add((FRONT, a, b))
        return frozenset(found)

    def extent(self, group: int) -> Box:
        """The smallest rectangle around all objects of a group."""
        left, top, right, bottom = zip(*self.boxes(group), strict=True)
        return min(left), min(top), max(right), max(bottom)

    @property
    def facts(self) -> int:
        """How many facts hold: five for every group (attributes and number), the background, and relations."""
        return 5 * len(self.groups) + 1 + len(self.relations)

    @property
    def graph(self) -> tuple[object, ...]:
        """The scene graph in a canonical form: equal for scenes that differ only in where exactly objects lie."""
        order = sorted(range(len(self.groups)), key=lambda g: self.groups[g].attributes)
        place = {g: n for n, g in enumerate(order)}
        groups = tuple((*self.groups[g].attributes, self.groups[g].number) for g in order)
        return self.background, groups, tuple(sorted((r, place[a], place[b]) for r, a, b in self.relations))
