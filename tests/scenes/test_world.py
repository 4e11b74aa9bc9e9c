"""Scenes drawn at random, what holds in them, and their rows of integers."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_scenes as oracle
from tests.scene_worlds import small_facts, small_scenes
from vsebench.scenes import folder
from vsebench.scenes.content import KINDS
from vsebench.scenes.facts import UNSAID, Facts, Mention, matched
from vsebench.scenes.sample import Draws, changed, combination_weights, draw, scenes
from vsebench.scenes.settings import PARTS, Settings, parse
from vsebench.scenes.wording import captions
from vsebench.scenes.world import ABOVE, FRONT, LEFT, RADIUS, SHAPES, SIDE, Group, Scene

SEEDS = st.integers(0, 2**31 - 1)
WEIGHTS = combination_weights(Settings())


def drawn(seed: int) -> Scene:
    """A scene, or one that was made from it by up to five changes."""
    scene = draw(Draws(seed), WEIGHTS)
    for n in range(seed % 6):
        scene = changed(scene, Draws(seed, n))
    return scene


def meet(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@given(SEEDS)
def test_groups_lie_in_their_cells_and_overlap_only_where_one_covers_another(seed: int) -> None:
    scene = drawn(seed)
    count = len(scene.groups)
    assert 1 <= count <= 4 and len(scene.centres) == len(scene.cells) == count
    assert len({(g.shape, g.colour) for g in scene.groups}) == count
    for g, group in enumerate(scene.groups):
        left, top, right, bottom = scene.cells[g]
        assert 0 <= left < right <= SIDE and 0 <= top < bottom <= SIDE
        assert 1 <= group.number == len(scene.centres[g]) <= 4
        boxes = scene.boxes(g)
        r = RADIUS[group.size]
        assert boxes == [(x - r, y - r, x + r, y + r) for x, y in scene.centres[g]]
        assert all(left <= b[0] and top <= b[1] and b[2] <= right and b[3] <= bottom for b in boxes)
        assert not any(meet(a, b) for a, b in itertools.combinations(boxes, 2))
    shared = 0
    for a, b in itertools.combinations(range(count), 2):
        pairs = [(p, q) for p in scene.boxes(a) for q in scene.boxes(b)]
        if scene.cells[a] == scene.cells[b]:
            shared += 1
            ((p, q),) = pairs  # single objects
            assert meet(p, q) and max(abs(p[0] - q[0]), abs(p[1] - q[1])) > RADIUS[1] / 2  # enough of both is visible
            assert scene.groups[a].size == scene.groups[b].size == 1
            assert "moon" not in {SHAPES[scene.groups[g].shape] for g in (a, b)}  # in its gap hardly any is hidden
        else:
            assert not meet(scene.cells[a], scene.cells[b]) and not any(meet(p, q) for p, q in pairs)
    assert shared <= 1


@given(small_scenes() | SEEDS.map(drawn))
def test_relations(scene: Scene) -> None:
    groups = range(len(scene.groups))
    for r, a, b in itertools.product((LEFT, ABOVE, FRONT), groups, groups):
        assert ((r, a, b) in scene.relations) == (a != b and oracle.related(scene, r, a, b))
        assert not {(r, a, b), (r, b, a)} <= scene.relations
    for a, b in itertools.combinations(groups, 2):  # every two groups are related, and covering excludes the others
        kinds = {r for r, g, h in scene.relations if {g, h} == {a, b}}
        assert kinds == {FRONT} or (kinds and kinds <= {LEFT, ABOVE})
    assert scene.facts == 5 * len(scene.groups) + 1 + len(scene.relations)


def test_relations_follow_where_objects_are() -> None:
    """By hand: two large circles from 20 to 100 and from 108 to 188 from the left, and a small square."""
    circles, square = Group(0, 0, 1, 0, 2), Group(1, 4, 0, 1, 1)
    top, bottom = (0, 0, 256, 128), (0, 128, 256, 256)
    for x, y, related in (
        (206, 200, {(ABOVE, 0, 1), (LEFT, 0, 1)}),  # the square is from 188 on
        (205, 200, {(ABOVE, 0, 1)}),
        (104, 200, {(ABOVE, 0, 1)}),
        (18, 146, {(ABOVE, 0, 1)}),
    ):
        scene = Scene(0, (circles, square), (((60, 60), (148, 60)), ((x, y),)), (top, bottom))
        assert scene.relations == related, (x, y)
        assert scene.extent(0) == (20, 20, 188, 100) and scene.extent(1) == (x - 18, y - 18, x + 18, y + 18)


@given(SEEDS, st.data())
def test_the_graph_of_a_scene_does_not_depend_on_the_order_of_its_groups(seed: int, data: st.DataObject) -> None:
    scene = drawn(seed)
    order = data.draw(st.permutations(range(len(scene.groups))))
    pairs = itertools.combinations(range(len(order)), 2)
    for a, b in pairs:  # of two that share a cell, the later one covers the other
        if scene.cells[a] == scene.cells[b] and order.index(a) > order.index(b):
            i, j = order.index(a), order.index(b)
            order[i], order[j] = b, a
    moved = Scene(
        scene.background,
        tuple(scene.groups[g] for g in order),
        tuple(scene.centres[g] for g in order),
        tuple(scene.cells[g] for g in order),
    )
    assert moved.graph == scene.graph and moved.facts == scene.facts
    assert replace(scene, background=(scene.background + 1) % 4).graph != scene.graph
    more = replace(scene.groups[0], number=scene.groups[0].number % 4 + 1)
    assert replace(scene, groups=(more, *scene.groups[1:])).graph != scene.graph


def differences(one: Scene, other: Scene) -> int:
    """In how many attributes, numbers and backgrounds two scenes differ; many when their groups do not correspond."""
    if one.cells != other.cells or one.relations != other.relations:
        return 99
    pairs = zip(one.groups, other.groups, strict=True)
    fields = ("shape", "colour", "size", "texture", "number")
    return sum(getattr(a, f) != getattr(b, f) for a, b in pairs for f in fields) + (one.background != other.background)


@given(SEEDS)
def test_a_near_duplicate_differs_in_one_attribute_number_or_background(seed: int) -> None:
    base = drawn(seed)
    other = changed(base, Draws(seed, "change"))
    assert differences(base, other) == 1 and base.graph != other.graph


def test_objects_stay_where_any_other_place_would_change_relations() -> None:
    """Two large objects at the left of their cells, each left of a small one below it: few places keep that."""
    cells = ((0, 0, 128, 128), (128, 0, 256, 128), (0, 128, 128, 256), (128, 128, 256, 256))
    groups = tuple(Group(k, k, size, 0, 1) for k, size in enumerate((1, 1, 0, 0)))
    base = Scene(0, groups, (((40, 64),), ((168, 64),), ((110, 210),), ((238, 160),)), cells)
    assert {(LEFT, 0, 2), (LEFT, 1, 3), (ABOVE, 3, 2)} <= base.relations
    stay = 0
    for seed in range(100):
        other = changed(base, Draws(seed, "stays"))
        assert differences(base, other) == 1
        if [(g.size, g.number) for g in other.groups] == [(g.size, g.number) for g in groups]:
            stay += other.centres == base.centres
    assert stay > 80


def test_every_attribute_is_changed() -> None:
    base = drawn(3)
    found: Counter[str] = Counter()
    for seed in range(600):
        other = changed(base, Draws(seed, "change"))
        pairs = list(zip(base.groups, other.groups, strict=True))
        found.update(f for f in Group.__dataclass_fields__ if any(getattr(a, f) != getattr(b, f) for a, b in pairs))
        found["background"] += base.background != other.background
    assert set(found) == {"shape", "colour", "size", "texture", "number", "background"} and min(found.values()) > 30


@pytest.mark.parametrize("name", ["scenes-400", "scenes-400-near0.9", "scenes-400-seed9-tail5"])
def test_no_scene_graph_is_in_two_parts(name: str) -> None:
    settings = parse(name)
    graphs: dict[str, set[object]] = {part: set() for part in PARTS}
    for image, scene in enumerate(scenes(settings)):
        graphs[settings.part_of(image)].add(scene.graph)
    for a, b in itertools.combinations(PARTS, 2):
        assert not graphs[a] & graphs[b]


def test_scene_graphs_leak_where_that_is_asked_for() -> None:
    """A steep tail draws the most frequent combinations again and again."""
    graphs: dict[str, set[object]] = {part: set() for part in PARTS}
    settings = parse("scenes-4000-tail5-leaks")
    for image, scene in enumerate(scenes(settings)):
        graphs[settings.part_of(image)].add(scene.graph)
    assert graphs["train"] & graphs["test"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_the_share_of_near_duplicates(share: float) -> None:
    """Those that differ from an earlier scene of the same cells and relations; by chance that is rare."""
    settings = Settings(2000, near=share)
    found, base = 0, None
    for scene in itertools.islice(scenes(settings), settings.sizes["train"]):
        near = base is not None and differences(base, scene) == 1
        found += near
        base = base if near else scene
    count = settings.sizes["train"]
    assert abs(found - share * count) <= 4 * (count * share * (1 - share)) ** 0.5 + 2


def test_images_of_train_do_not_depend_on_the_number_of_images() -> None:
    few, many = Settings(200), Settings(1000)
    train = few.sizes["train"]
    a, b = (list(itertools.islice(scenes(s), train)) for s in (few, many))
    assert a == b
    assert [captions(s, n, few) for n, s in enumerate(a)] == [captions(s, n, many) for n, s in enumerate(b)]


def test_seeds_give_other_scenes() -> None:
    first = [next(iter(scenes(Settings(10, seed=seed)))) for seed in range(20)]
    assert len({scene.graph for scene in first}) == 20


@pytest.mark.parametrize("tail", [0.0, 0.5, 1.0, 2.0])
def test_combinations_of_shape_and_colour_follow_the_law_of_zipf(tail: float) -> None:
    weights = combination_weights(Settings(tail=tail, seed=4))
    expected = [max(1, round(1e6 / (rank + 1) ** tail)) for rank in range(90)]
    assert sorted(weights, reverse=True) == expected
    other = combination_weights(Settings(tail=tail, seed=5))
    assert sorted(other) == sorted(weights) and (tail == 0 or other != weights)
    # The first group of a scene unless one covers the other; of the others, no combination occurs again.
    drawn = [draw(Draws("zipf", n), weights) for n in range(4000)]
    first = [scene.groups[0] for scene in drawn if scene.cells.count(scene.cells[0]) == 1]
    count = len(first)
    found = Counter(group.shape * 9 + group.colour for group in first)
    p = np.array(weights) / sum(weights)
    observed = np.array([found[k] for k in range(90)])
    # Pooled where fewer than five are expected. Standardised chi-square: about normal.
    large = p * count >= 5
    o = [*observed[large], observed[~large].sum()]
    e = [*(p * count)[large], (p * count)[~large].sum()]
    chi2 = sum((a - b) ** 2 / b for a, b in zip(o, e, strict=True) if b > 0)
    degrees = int(large.sum()) - (not (~large).any())
    assert abs(chi2 - degrees) <= 4 * (2 * degrees) ** 0.5, chi2


@given(st.integers(0, 10**6), st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any))
def test_draws(seed: int, weights: list[int]) -> None:
    draws = Draws(seed, "test")
    for _ in range(50):
        assert 0 <= draws.below(7) < 7 and 3 <= draws.between(3, 5) <= 5
        assert weights[draws.weighted(weights)] > 0
        assert draws.chance(1.0) and not draws.chance(0.0)
        assert draws.pick("abc") in "abc"
        assert sorted(draws.shuffled(range(6))) == list(range(6))
    assert [Draws(seed, "a").below(10**9) for _ in range(2)] == [Draws(f"{seed}/a").below(10**9)] * 2


def test_draws_are_those_of_the_hash_function() -> None:
    """FIPS 202, from the end of blocks of 1024 bytes."""
    import hashlib

    draws = Draws(3, "caption", 17)
    words = []
    for block in range(3):
        bits = hashlib.shake_128(f"3/caption/17#{block}".encode()).digest(1024)
        words += [int.from_bytes(bits[i : i + 4], "little") for i in range(1020, -1, -4)]
    assert [draws.below(2**32) for _ in range(700)] == words[:700]


# --- facts that hold ---


@given(small_scenes(), small_facts())
def test_a_true_fact_is_one_more_that_holds_and_a_false_one_is_not(scene: Scene, facts: Facts) -> None:
    facts = replace(facts, background=UNSAID)
    before = matched(facts, scene)
    false = replace(facts, background=(scene.background + 1) % 4)
    assert matched(false, scene) == before
    true = replace(facts, background=scene.background)
    assert matched(true, scene) == before + 1


@given(small_scenes(), small_facts())
def test_what_says_less_is_true_where_more_is(scene: Scene, facts: Facts) -> None:
    if matched(facts, scene) < facts.count:
        return
    for less in (replace(facts, relations=facts.relations[1:]), replace(facts, background=UNSAID)):
        assert matched(less, scene) == less.count


@given(SEEDS)
def test_all_of_a_complete_description_holds(seed: int) -> None:
    scene = drawn(seed)
    every = Facts(tuple(Mention(*group.attributes, group.number) for group in scene.groups), (), scene.background)
    assert matched(every, scene) == every.count == scene.facts - len(scene.relations)
    assert matched(Facts(), scene) == 0


# --- rows ---


def decoded(row: folder.Codes) -> Facts:
    """The facts of a row of ``encode_facts``."""
    codes = row.tolist()
    mentions = (codes[folder.FACTS_FIRST + 5 * n :][:5] for n in range(codes[folder.FACTS_MENTIONS]))
    relations = (codes[folder.FACTS_RELATIONS + 3 * n :][:3] for n in range(codes[folder.FACTS_RELATED]))
    background = codes[folder.FACTS_BACKGROUND]
    return Facts(tuple(Mention(*m) for m in mentions), tuple((r, a, b) for r, a, b in relations), background)


def test_rows_of_captions_are_read_back() -> None:
    for kind in KINDS:
        facts = Facts((Mention(1, 2, 0, 3, 99), Mention(), Mention(9, 8, 1, 0, 9)), ((2, 1, 0), (0, 1, 2)), 3)
        row = folder.encode_facts(facts, kind)
        assert row.dtype == np.int8 and row.shape == (folder.FACTS_WIDTH,)
        assert decoded(row) == facts
        assert KINDS[row[folder.FACTS_KIND]] == kind and row[folder.FACTS_COUNT] == facts.count


@given(small_facts())
def test_rows_of_any_facts_are_read_back(facts: Facts) -> None:
    assert decoded(folder.encode_facts(facts, "true")) == facts


@given(SEEDS)
def test_rows_of_scenes(seed: int) -> None:
    scene = drawn(seed)
    row = folder.encode_scene(scene)
    assert row.dtype == np.int8 and row.shape == (folder.SCENE_WIDTH,)
    count, groups, rest = int(row[0]), row[1:21].reshape(4, 5).tolist(), row[21:].tolist()
    assert count == len(scene.groups) and rest[0] == scene.background and rest[-1] == scene.facts
    for n in range(4):
        group = scene.groups[n] if n < count else None
        expected = [UNSAID] * 5
        if group:
            expected = [group.shape, group.colour, group.size, group.texture, group.number]
        assert groups[n] == expected
    bits = np.array(rest[1:-1]).reshape(3, 4)
    assert {(r, a, b) for r in range(3) for b in range(4) for a in range(4) if bits[r, b] >> a & 1} == scene.relations
