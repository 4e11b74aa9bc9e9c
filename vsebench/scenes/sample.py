"""Scenes drawn at random, image by image.

An image of train is the same in all data sets that differ in the number of images only, as long as it is in train. An
image of val or test also depends on the scenes before it: those of another part do not occur again.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from .settings import Part, Settings
from .world import BACKGROUNDS, COLOURS, MAX_NUMBER, RADIUS, SHAPES, SIDE, SIZES, TEXTURES, Box, Group, Scene

T = TypeVar("T")
_RANGE = 1 << 32
_COUNT = 256  # integers of one call of the hash function
_UNPACK = struct.Struct(f"<{_COUNT}I").unpack


class Draws:
    """A stream of random integers, determined by what it is for: ``Draws(seed, "caption", image, number)``.

    The bits are the output of SHAKE-128 (FIPS 202) of these parts. Streams of numpy may change between its versions,
    and one generator for all images would make every image depend on those before it.

    Args:
        parts: strings and integers, in this order.
    """

    def __init__(self, *parts: str | int) -> None:
        self._name = "/".join(map(str, parts))
        self._block = 0
        self._words: list[int] = []

    def _word(self) -> int:
        """The next 32 bits."""
        if not self._words:
            bits = hashlib.shake_128(f"{self._name}#{self._block}".encode()).digest(4 * _COUNT)
            self._words = list(_UNPACK(bits))
            self._block += 1
        return self._words.pop()

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1, each equally probable up to n / 2**32."""
        return self._word() * n // _RANGE

    def bytes(self, n: int) -> bytes:
        """The next ``n`` bytes, from a separate call of the hash function: 0.5 GB a second."""
        self._block += 1
        return hashlib.shake_128(f"{self._name}#{self._block - 1}".encode()).digest(n)

    def between(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """True with the probability ``share``, in [0, 1]."""
        return self._word() < share * _RANGE

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, each equally probable."""
        return items[self.below(len(items))]

    def weighted(self, weights: Sequence[int]) -> int:
        """An index, with the probability weights[index] / sum(weights)."""
        left = self.below(sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        raise ValueError("no weight is positive")

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a random order, a new list."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found


GAP = 8  # units of layout between the objects of a group
HALF = SIDE // 2
GROUPS = (8, 27, 35, 30)  # weights of 1, 2, 3 and 4 groups
NUMBERS = (60, 20, 10, 10)  # weights of 1 to 4 objects in a group
LARGE = 1
MOON = SHAPES.index("moon")
COVERING_SHARE = 0.25  # scenes of two or more groups with one group partly covering another
CENTRE_DISTANCE = 0.45  # between an object and one that it covers, relative to the diameter
ATTEMPTS = 10_000
MAX_MOVES = 20  # attempts to move the objects of a scene without changing relations

# How an image is divided for 1 to 4 groups: cells of (left, top, right, bottom).
_LEFT, _RIGHT = (0, 0, HALF, SIDE), (HALF, 0, SIDE, SIDE)
_TOP, _BOTTOM = (0, 0, SIDE, HALF), (0, HALF, SIDE, SIDE)
_Q = ((0, 0, HALF, HALF), (HALF, 0, SIDE, HALF), (0, HALF, HALF, SIDE), (HALF, HALF, SIDE, SIDE))
LAYOUTS: dict[int, tuple[tuple[Box, ...], ...]] = {
    1: (((0, 0, SIDE, SIDE),),),
    2: ((_LEFT, _RIGHT), (_LEFT, _RIGHT), (_TOP, _BOTTOM), (_TOP, _BOTTOM), (_Q[0], _Q[3]), (_Q[1], _Q[2])),
    3: (
        (_LEFT, _Q[1], _Q[3]), (_RIGHT, _Q[0], _Q[2]), (_TOP, _Q[2], _Q[3]), (_BOTTOM, _Q[0], _Q[1]),
        (_Q[0], _Q[1], _Q[2]), (_Q[0], _Q[1], _Q[3]), (_Q[0], _Q[2], _Q[3]), (_Q[1], _Q[2], _Q[3]),
    ),
    4: (_Q,),
}  # fmt: skip


def scenes(settings: Settings) -> Iterator[Scene]:
    """The scenes of a data set, in the order of its images.

    No scene graph occurs in two parts, unless ``settings.leaks``.

    Raises:
        RuntimeError: ``ATTEMPTS`` scenes in a row occur in another part (the number of possible ones is far larger).
    """
    weights = combination_weights(settings)
    seen: dict[bytes, Part] = {}  # digest of a scene graph -> the part that it occurs in
    base: Scene | None = None
    part: Part | None = None
    for image in range(settings.images):
        if settings.part_of(image) != part:
            part, base = settings.part_of(image), None
        for attempt in range(ATTEMPTS):
            draws = Draws(settings.seed, "scene", image, attempt)
            near = base is not None and draws.chance(settings.near)
            scene = changed(base, draws) if near and base is not None else draw(draws, weights)
            if settings.leaks or seen.setdefault(_digest(scene), part) == part:
                break
        else:
            raise RuntimeError(f"image {image}: no scene that is not in another part")
        if not near:
            base = scene
        yield scene


def _digest(scene: Scene) -> bytes:
    """The scene graph in 16 bytes: a million of them fit into memory."""
    return hashlib.blake2b(repr(scene.graph).encode(), digest_size=16).digest()


def combination_weights(settings: Settings) -> list[int]:
    """The weight of every combination of shape and colour (shape * number of colours + colour), by Zipf's law.

    Which combinations are frequent is drawn with the seed.
    """
    count = len(SHAPES) * len(COLOURS)
    # Rounded to integers, so that powers computed by different mathematical libraries make no difference.
    by_rank = [max(1, round(1_000_000 / (rank + 1) ** settings.tail)) for rank in range(count)]
    order = Draws(settings.seed, "combinations").shuffled(range(count))
    weights = [0] * count
    for rank, combination in enumerate(order):
        weights[combination] = by_rank[rank]
    return weights


def draw(draws: Draws, weights: list[int]) -> Scene:
    """One scene.

    Args:
        draws: the source of random integers.
        weights: of ``combination_weights``.
    """
    count = 1 + draws.weighted(GROUPS)
    covering = count > 1 and draws.chance(COVERING_SHARE)
    cells = draws.shuffled(draws.pick(LAYOUTS[count - 1 if covering else count]))
    groups: list[Group] = []
    left = list(weights)
    for k in range(count):
        alone = covering and k >= count - 2  # the last two share a cell
        combination = draws.weighted(_without_moons(left) if alone else left)
        left[combination] = 0
        number = 1 + draws.weighted(NUMBERS)
        size, texture = draws.below(len(SIZES)), draws.below(len(TEXTURES))
        group = Group(*divmod(combination, len(COLOURS)), size, texture, number)
        groups.append(replace(group, size=LARGE, number=1) if alone else _fitting(group, cells[k]))
    if covering:
        cells = [*cells[: count - 1], cells[count - 2]]
    background = draws.below(len(BACKGROUNDS))
    return Scene(background, tuple(groups), _centres(groups, cells, draws), tuple(cells))


def _without_moons(weights: list[int]) -> list[int]:
    """Weights for two objects, one partly covering the other.

    An arrow in the gap of a moon hides 0.3 % of it; without moons at least 9 % of the object behind is hidden.
    """
    return [0 if combination // len(COLOURS) == MOON else weight for combination, weight in enumerate(weights)]


def changed(base: Scene, draws: Draws) -> Scene:
    """The scene with an attribute or the number of one group changed, or the background; objects move a little.

    Relations stay as they are: if ``MAX_MOVES`` attempts to move the objects all change a relation, nothing moves.
    """
    while True:
        background, groups = _one_change(base, draws)
        for _ in range(MAX_MOVES):
            centres = _centres(list(groups), list(base.cells), draws)
            scene = Scene(background, groups, centres, base.cells)
            if scene.relations == base.relations:
                return scene
        # Objects of another size or number need other places: then another change is tried.
        if [(g.size, g.number) for g in groups] == [(g.size, g.number) for g in base.groups]:
            return Scene(background, groups, base.centres, base.cells)


def _one_change(base: Scene, draws: Draws) -> tuple[int, tuple[Group, ...]]:
    """The background and the groups, one thing different."""
    groups = list(base.groups)
    taken = {(g.shape, g.colour) for g in groups}
    while True:
        k = draws.below(len(groups))
        what = draws.pick(("shape", "colour", "size", "texture", "number", "background"))
        if what == "background":
            return (base.background + draws.between(1, len(BACKGROUNDS) - 1)) % len(BACKGROUNDS), base.groups
        count = {
            "shape": len(SHAPES), "colour": len(COLOURS), "size": len(SIZES), "texture": len(TEXTURES),
        }.get(what)  # fmt: skip
        new = draws.between(1, MAX_NUMBER) if count is None else draws.below(count)
        group = replace(groups[k], **{what: new})
        covers = sum(cell == base.cells[k] for cell in base.cells) > 1
        alone = group.size == LARGE and group.number == 1 and group.shape != MOON
        possible = group == _fitting(group, base.cells[k]) and (alone or not covers)
        moved = (group.shape, group.colour) != (groups[k].shape, groups[k].colour)
        if group != groups[k] and possible and not (moved and (group.shape, group.colour) in taken):
            groups[k] = group
            return base.background, tuple(groups)


def _fitting(group: Group, cell: Box) -> Group:
    """The group, with small objects where large ones would not fit into its cell."""
    columns, rows = _room(cell, group.size)
    return group if group.number <= columns * rows else replace(group, size=0)


def _room(cell: Box, size: int) -> tuple[int, int]:
    """How many columns and rows of objects a cell has room for."""
    step = 2 * RADIUS[size] + GAP
    return (cell[2] - cell[0] + GAP) // step, (cell[3] - cell[1] + GAP) // step


def _centres(groups: list[Group], cells: list[Box], draws: Draws) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Where the objects of every group lie: in rows, the rows at a random place in the cell."""
    found: list[tuple[tuple[int, int], ...]] = []
    for k, (group, cell) in enumerate(zip(groups, cells, strict=True)):
        if k and cells[k] == cells[k - 1]:
            found[k - 1 :] = _covering(cell, draws)
            continue
        columns = _columns(group, cell, draws)
        step = 2 * RADIUS[group.size] + GAP
        rows = -(-group.number // columns)
        width, height = columns * step - GAP, rows * step - GAP
        x = draws.between(cell[0], cell[2] - width) + RADIUS[group.size]
        y = draws.between(cell[1], cell[3] - height) + RADIUS[group.size]
        found.append(tuple((x + n % columns * step, y + n // columns * step) for n in range(group.number)))
    return tuple(found)


def _columns(group: Group, cell: Box, draws: Draws) -> int:
    columns, rows = _room(cell, group.size)
    return draws.pick([n for n in range(1, min(columns, group.number) + 1) if -(-group.number // n) <= rows])


def _covering(cell: Box, draws: Draws) -> list[tuple[tuple[int, int], ...]]:
    """The centres of two large objects; the second partly covers the first."""
    r = RADIUS[LARGE]
    apart = round(2 * r * CENTRE_DISTANCE)
    dx, dy = draws.pick(((apart, 0), (0, apart), (apart * 3 // 4, apart * 3 // 4), (apart * 3 // 4, -apart * 3 // 4)))
    x = draws.between(cell[0] + r + max(0, -dx), cell[2] - r - max(0, dx))
    y = draws.between(cell[1] + r + max(0, -dy), cell[3] - r - max(0, dy))
    pair: list[tuple[tuple[int, int], ...]] = [((x, y),), ((x + dx, y + dy),)]
    return pair if draws.chance(0.5) else pair[::-1]
