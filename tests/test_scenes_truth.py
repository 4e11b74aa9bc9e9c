"""Truth of all pairs of scenes and captions: the kernel, the definition, and an oracle that shares no code."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_scenes as oracle
from tests.scene_worlds import encoded, renamed, small_facts, small_scenes, world
from vsebench.relevance.scenes.truth import Truth
from vsebench.scenes import facts as definition
from vsebench.scenes.facts import Facts, Mention
from vsebench.scenes.world import COLOURS, SHAPES, Scene
from vsebench.types import DIRECTIONS

STRIP = 256


def kernel(scene: Scene, facts: Facts) -> int:
    """Matched facts of one pair, by the rows of both directions and the pair itself."""
    truth = Truth(*encoded([scene], [facts]))
    a, b = (int(truth.matched_rows(direction, 0, 1)[0, 0]) for direction in DIRECTIONS)
    pair = float(truth.pairs(np.array([0]), np.array([0]))[0])
    assert a == b and pair == np.float32(2 * a / (facts.count + scene.facts))
    return a


@given(small_scenes(), small_facts())
def test_the_kernel_is_the_definition_and_the_oracle(scene: Scene, facts: Facts) -> None:
    assert kernel(scene, facts) == definition.matched(facts, scene) == oracle.matched(facts, scene)
    assert definition.entails(facts, scene) == oracle.entails(facts, scene)


def test_every_pair_of_a_world_is_that_of_the_definition_and_of_the_oracle() -> None:
    shown, stated, scenes, facts = world()
    some = range(0, len(stated), 4)
    truth = Truth(scenes, facts).rows("i2t", 0, len(shown))
    for i, scene in enumerate(shown):
        assert truth[i, :: some.step].tolist() == [np.float32(definition.truth(stated[c], scene)) for c in some]
    for c in some[::10]:
        assert truth[:, c].tolist() == [np.float32(float(oracle.truth(stated[c], scene))) for scene in shown]


@given(st.data())
def test_random_facts_about_random_scenes_in_bulk(data: st.DataObject) -> None:
    shown = data.draw(st.lists(small_scenes(), min_size=1, max_size=12))
    stated = data.draw(st.lists(small_facts(), min_size=1, max_size=12))
    found = Truth(*encoded(shown, stated)).matched_rows("t2i", 0, len(stated))
    assert found.tolist() == [[oracle.matched(facts, scene) for scene in shown] for facts in stated]


@pytest.mark.parametrize("block", [1, 7, STRIP - 1, STRIP, STRIP + 1])
def test_blocks_directions_and_pairs_have_the_same_bits(block: int) -> None:
    _, _, scenes, facts = world()
    scenes = np.tile(scenes, (5, 1))[: 2 * STRIP + 3]  # more than two strips
    facts = facts[:300]
    truth = Truth(scenes, facts)
    every = truth.rows("i2t", 0, len(scenes))
    assert every.dtype == np.float32 and every.shape == (len(scenes), len(facts)) and every.flags.c_contiguous
    for direction, n in (("i2t", len(scenes)), ("t2i", len(facts))):
        edges = [*range(0, n, block), n]
        rows = [truth.rows(direction, a, b) for a, b in itertools.pairwise(edges)]  # type: ignore[arg-type]
        assert np.array_equal(np.concatenate(rows), every if direction == "i2t" else every.T)
    image, caption = np.divmod(np.random.default_rng(0).permutation(every.size)[:2000], len(facts))
    assert np.array_equal(truth.pairs(image, caption), every[image, caption])


@given(small_scenes(), small_facts(), st.permutations(range(len(SHAPES))), st.permutations(range(len(COLOURS))))
def test_other_names_of_shapes_and_colours_change_nothing(
    scene: Scene, facts: Facts, shapes: list[int], colours: list[int]
) -> None:
    other = renamed(scene, facts, shapes, colours)
    assert kernel(*other) == kernel(scene, facts)
    assert other[0].facts == scene.facts and other[1].count == facts.count


@given(small_scenes(), small_facts(), st.data())
def test_the_order_of_groups_and_of_mentions_changes_nothing(scene: Scene, facts: Facts, data: st.DataObject) -> None:
    # Which group covers another is their order; a group that covers none may come at any place.
    covering = len(set(scene.cells)) < len(scene.cells)
    order = data.draw(st.permutations(range(len(scene.groups))))
    if covering:
        last = len(order) - 1
        a, b = order.index(last - 1), order.index(last)
        order[min(a, b)], order[max(a, b)] = last - 1, last
    moved = replace(
        scene,
        groups=tuple(scene.groups[g] for g in order),
        cells=tuple(scene.cells[g] for g in order),
        centres=tuple(scene.centres[g] for g in order),
    )
    assert kernel(moved, facts) == kernel(scene, facts)
    said = data.draw(st.permutations(range(len(facts.mentions))))
    relations = tuple((r, said.index(a), said.index(b)) for r, a, b in facts.relations)
    other = replace(facts, mentions=tuple(facts.mentions[m] for m in said), relations=relations)
    assert kernel(scene, other) == kernel(scene, facts)


def test_values_by_hand() -> None:
    from vsebench.scenes.world import Group

    left, right = (0, 0, 128, 256), (128, 0, 256, 256)
    circle, square = (
        Group(0, 0, 1, 0, 2),
        Group(1, 4, 0, 1, 1),
    )  # two large plain red circles, a small striped blue square
    scene = Scene(0, (circle, square), (((0, 0), (0, 0)), ((0, 0),)), (left, right))
    red_circles = Mention(shape=0, colour=0, number=2)
    blue_square = Mention(shape=1, colour=4)
    # 11 facts of the scene: 5 a group, the background; and the circles are left of the square
    assert scene.facts == 12
    cases = [
        (Facts((red_circles,)), 3),
        (Facts((red_circles, blue_square), ((0, 0, 1),)), 6),
        (Facts((red_circles, blue_square), ((0, 1, 0),)), 5),  # the square is not left of the circles
        (Facts((replace(red_circles, number=3),)), 2),
        (Facts((replace(red_circles, colour=4),)), 2),  # two circles, not blue; or the square, which is blue
        (Facts((red_circles, red_circles)), 3),  # two mentions mean different groups
        (Facts((), (), 0), 1),
        (Facts(), 0),
    ]
    for facts, held in cases:
        assert kernel(scene, facts) == held
