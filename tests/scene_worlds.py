"""Small scenes and what captions state about them, with so few attributes that many facts hold by accident."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from vsebench.scenes.facts import AT_LEAST_TWO, UNSAID, Facts, Mention
from vsebench.scenes.folder import Codes, encode_facts, encode_scene
from vsebench.scenes.sample import LAYOUTS, scenes
from vsebench.scenes.settings import parse
from vsebench.scenes.wording import captions
from vsebench.scenes.world import COLOURS, SHAPES, Box, Group, Scene


@functools.cache
def world(name: str = "scenes-120-seed5-near0.3") -> tuple[list[Scene], list[Facts], Codes, Codes]:
    """The scenes of a data set and what their captions state, as objects and as rows of integers."""
    settings = parse(name)
    shown = list(scenes(settings))
    written = [caption.content for image, scene in enumerate(shown) for caption in captions(scene, image, settings)]
    rows = np.array([encode_scene(scene) for scene in shown])
    return shown, [c.facts for c in written], rows, np.array([encode_facts(c.facts, c.kind) for c in written])


def encoded(shown: list[Scene], stated: list[Facts]) -> tuple[Codes, Codes]:
    """(image, SCENE_WIDTH) and (caption, FACTS_WIDTH) int8."""
    rows: npt.NDArray[np.int8] = np.array([encode_scene(scene) for scene in shown])
    return rows, np.array([encode_facts(facts, "true") for facts in stated])


@st.composite
def small_scenes(draw: st.DrawFn) -> Scene:
    """A scene of 1 to 4 groups, attributes 0 or 1; groups may be equal, and one may cover another.

    Objects are anywhere in their cells. The first objects of two groups that share a cell have the same centre.
    """
    count = draw(st.integers(1, 4))
    cells: list[Box] = list(draw(st.sampled_from(LAYOUTS[count])))
    if count > 1 and draw(st.booleans()):
        cells[-1] = cells[-2]
    code = st.integers(0, 1)
    groups = [draw(st.builds(Group, code, code, code, code, st.integers(1, 4))) for _ in cells]
    centres = []
    for group, (left, top, right, bottom) in zip(groups, cells, strict=True):
        r = (18, 40)[group.size]
        place = st.tuples(st.integers(left + r, right - r), st.integers(top + r, bottom - r))
        centres.append(draw(st.lists(place, min_size=group.number, max_size=group.number)))
    if len(set(cells)) < count:
        centres[-1][0] = centres[-2][0]
    return Scene(draw(code), tuple(groups), tuple(map(tuple, centres)), tuple(cells))


@st.composite
def small_facts(draw: st.DrawFn, values: int = 2) -> Facts:
    """0 to 4 mentions of attributes below ``values``, up to two relations, perhaps the background."""
    code = st.one_of(st.just(UNSAID), st.integers(0, values - 1))
    number = st.sampled_from([UNSAID, UNSAID, AT_LEAST_TWO, 1, 2, 3, 4, 5])
    mentions = draw(st.lists(st.builds(Mention, code, code, code, code, number), max_size=4))
    relations = []
    if len(mentions) > 1:
        pairs = st.permutations(range(len(mentions)))
        relation = st.builds(lambda r, order: (r, order[0], order[1]), st.integers(0, 2), pairs)
        relations = draw(st.lists(relation, max_size=2))
    return Facts(tuple(mentions), tuple(relations), draw(code))


def renamed(scene: Scene, facts: Facts, shapes: list[int], colours: list[int]) -> tuple[Scene, Facts]:
    """Both with other shapes and colours: ``shapes[code]`` for every code."""
    from dataclasses import replace

    assert sorted(shapes) == list(range(len(SHAPES))) and sorted(colours) == list(range(len(COLOURS)))
    groups = tuple(replace(g, shape=shapes[g.shape], colour=colours[g.colour]) for g in scene.groups)
    mentions = tuple(
        replace(
            m,
            shape=m.shape if m.shape == UNSAID else shapes[m.shape],
            colour=m.colour if m.colour == UNSAID else colours[m.colour],
        )
        for m in facts.mentions
    )
    return replace(scene, groups=groups), replace(facts, mentions=mentions)
