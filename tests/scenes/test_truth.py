"""Which facts hold, of all pairs of scenes and captions: the kernel, the definition, and an oracle that shares no code.

Then what is made of it: gains, judgements, and every command that reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests import oracle_scenes as oracle
from tests.commands import document, printed, refused
from tests.conftest import SCENES
from tests.messages import Pinned, Refuses
from tests.scene_worlds import encoded, renamed, small_facts, small_scenes, world
from tests.word_world import whole
from vsebench import relevance
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.log import Log
from vsebench.relevance import load_gains, parse_spec
from vsebench.scenes.facts import Facts, Mention, matched
from vsebench.scenes.shares import Share, holds, match
from vsebench.scenes.truth import Truth
from vsebench.scenes.world import COLOURS, SHAPES, Group, Scene
from vsebench.types import DIRECTIONS, Direction, TestSet

STRIP = 128


def kernel(scene: Scene, facts: Facts) -> int:
    """Matched facts of one pair, by the rows of both directions and the pair itself."""
    truth = Truth(*encoded([scene], [facts]))
    a, first = int(truth.matched((0, 1), (0, 1))[0, 0]), np.array([0])
    pair, share = (float(gains(truth).pairs(first, first)[0]) for gains in (match, holds))
    assert pair == np.float32(2 * a / (facts.count + scene.facts))
    assert share == np.float32(a / max(facts.count, 1)) and (share == 1) == oracle.entails(facts, scene)
    return a


@given(small_scenes(), small_facts())
def test_the_kernel_is_the_definition_and_the_oracle(scene: Scene, facts: Facts) -> None:
    assert kernel(scene, facts) == matched(facts, scene) == oracle.matched(facts, scene)


def test_every_pair_of_a_world_is_that_of_the_definition_and_of_the_oracle() -> None:
    shown, stated, scenes, facts = world()
    some = range(0, len(stated), 4)
    found = match(Truth(scenes, facts)).rows(0, len(shown))
    for i, scene in enumerate(shown):
        defined = [2 * matched(stated[c], scene) / (stated[c].count + scene.facts) for c in some]
        assert found[i, :: some.step].tolist() == [np.float32(value) for value in defined]
    for c in some[::10]:
        assert found[:, c].tolist() == [np.float32(float(oracle.match(stated[c], scene))) for scene in shown]


@given(st.data())
def test_random_facts_about_random_scenes_in_bulk(data: st.DataObject) -> None:
    shown = data.draw(st.lists(small_scenes(), min_size=1, max_size=12))
    stated = data.draw(st.lists(small_facts(), min_size=1, max_size=12))
    found = Truth(*encoded(shown, stated)).matched((0, len(shown)), (0, len(stated)))
    assert found.tolist() == [[oracle.matched(facts, scene) for scene in shown] for facts in stated]


@pytest.mark.parametrize("gains", [match, holds])
@pytest.mark.parametrize("block", [1, 7, STRIP - 1, STRIP, STRIP + 1])
def test_blocks_directions_and_pairs_have_the_same_bits(block: int, gains: Callable[[Truth], Share]) -> None:
    _, _, scenes, facts = world()
    scenes = np.tile(scenes, (5, 1))[: 2 * STRIP + 3]  # more than two strips
    facts = facts[:300]
    share = gains(Truth(scenes, facts))
    every = share.rows(0, len(scenes))
    assert every.dtype == np.float32 and every.shape == (len(scenes), len(facts)) and every.flags.c_contiguous
    for made, want in ((share.rows, every), (share.columns, every.T)):
        rows = [made(a, b) for a, b in itertools.pairwise([*range(0, len(want), block), len(want)])]
        assert np.array_equal(np.concatenate(rows), want)
    image, caption = np.divmod(np.random.default_rng(0).permutation(every.size)[:2000], len(facts))
    assert np.array_equal(share.pairs(image, caption), every[image, caption])


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
    circle, square = Group(0, 0, 1, 0, 2), Group(1, 4, 0, 1, 1)  # two large plain red circles, a small striped square
    # The circles are from 20 to 188 from the top, the square from 86 to 122: neither is above the other.
    cells = (0, 0, 128, 256), (128, 0, 256, 256)
    scene = Scene(0, (circle, square), (((44, 60), (44, 148)), ((192, 104),)), cells)
    red_circles, blue_square = Mention(shape=0, colour=0, number=2), Mention(shape=1, colour=4)
    assert scene.facts == 12  # 5 a group, the background; and the circles are left of the square
    for facts, held in (
        (Facts((red_circles,)), 3),
        (Facts((red_circles, blue_square), ((0, 0, 1),)), 6),
        (Facts((red_circles, blue_square), ((0, 1, 0),)), 5),  # the square is not left of the circles
        (Facts((replace(red_circles, number=3),)), 2),
        (Facts((replace(red_circles, colour=4),)), 2),  # two circles, not blue; or the square, which is blue
        (Facts((red_circles, red_circles)), 3),  # two mentions mean different groups
        (Facts((), (), 0), 1),
        (Facts(), 0),
    ):
        assert kernel(scene, facts) == held


def items_of_test() -> tuple[list[Scene], list[Facts]]:
    """The scenes of the test split of ``SCENES``, and what its captions state, made anew."""
    shown, stated, _, _ = world(SCENES)
    return shown[-22:], stated[-110:]


def test_gains_are_of_the_items_of_the_split(scenes_split: TestSet, log: Log) -> None:
    shown, stated = items_of_test()
    expected = np.float32([[float(oracle.match(facts, scene)) for facts in stated] for scene in shown])
    gains = load_gains("match", scenes_split)
    assert gains.shape == expected.shape and gains.lowest == 0 and gains.rows_affordable
    assert np.array_equal(whole(gains), expected)
    nothing = sum(oracle.stated(facts) == 0 for facts in stated)
    assert nothing and log.notes == [f"match: {nothing} captions state no fact: no value as a query"]
    share = load_gains("holds", scenes_split)
    counts = np.array([oracle.stated(facts) for facts in stated])
    held = np.array([[oracle.matched(facts, scene) for facts in stated] for scene in shown])
    assert np.array_equal(whole(share), np.float32(held / np.maximum(counts, 1)))
    # Other items, in another order and without strings: the same values.
    order = np.random.default_rng(1).permutation(110)[:60]
    part = TestSet.captioned(
        scenes_split.name, scenes_split.rows.ids, scenes_split.columns.ids[order], scenes_split.image_of[order]
    )
    assert np.array_equal(load_gains("match", part).rows(0, 22), expected[:, order])
    assert dict(load_gains("match", part).settings) != dict(gains.settings)


@pytest.mark.parametrize("name", ["match", "holds"])
def test_captions_that_state_nothing_have_no_value_as_queries(scenes_split: TestSet, name: str) -> None:
    """Values, intervals and influences of the others are those of a split without them."""
    stating = np.array([oracle.stated(facts) > 0 for facts in items_of_test()[1]])
    s, n, m = scenes_split, len(scenes_split.rows.ids), len(scenes_split.columns.ids)
    assert s.columns.texts is not None
    scores = np.random.default_rng(0).standard_normal((n, m)).astype(np.float32)
    metrics = [f"{name}:{m}" for m in ("NCS@3", "NCS[gt=out]@3", "nDCG@5", "SR@5", "R@5", "Kendall", "CS@10")]
    strings = [words for words, kept in zip(s.columns.texts, stating, strict=True) if kept]
    others = TestSet.captioned(s.name, s.rows.ids, s.columns.ids[stating], s.image_of[stating], strings)
    every, expected = (
        vsebench.evaluate(scores=table, split=split, gains=name, metrics=metrics, trust=True)
        for table, split in ((scores, s), (scores[:, stating], others))
    )
    for metric in metrics:
        assert every[metric, "i2t"].n == n
        found, same = every[metric, "t2i"], expected[metric, "t2i"]
        assert found.queries is not None and np.isin(found.queries, others.columns.ids).all()
        if metric.endswith(":CS@10"):  # of one caption an image, which is another one there
            continue
        assert found.undefined == same.undefined + m - stating.sum()
        assert (found.value, found.interval, found.n) == (same.value, same.interval, same.n)
        assert np.array_equal(found.influence, same.influence)


def test_gains_of_other_splits_are_refused(
    scenes_split: TestSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    def split(name: str, images: Any) -> TestSet:
        return TestSet.captioned(name, images, scenes_split.columns.ids, scenes_split.image_of)

    refuses(UsageError, load_gains, "match", split("custom", scenes_split.rows.ids))
    refuses(UsageError, relevance.load, "entails", split("custom", scenes_split.rows.ids), "i2t")
    ids = scenes_split.rows.ids.copy()
    ids[0] = "nobody"
    refuses(BadInput, load_gains, "match", split(scenes_split.name, ids))
    for text in ("match:x", "match:own=out"):
        refuses(UsageError, parse_spec, text)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    refuses(MissingPackage, load_gains, "match", split(scenes_split.name, scenes_split.rows.ids))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_entails_is_every_pair_that_is_true(scenes_split: TestSet, direction: Direction) -> None:
    shown, stated = items_of_test()
    true = np.array([[oracle.entails(facts, scene) for facts in stated] for scene in shown])
    rows = true if direction == "i2t" else true.T
    found = relevance.load("entails", scenes_split, direction)
    positives = dict(zip(found.queries.tolist(), np.split(found.items, found.indptr[1:-1]), strict=True))
    assert {q: items.tolist() for q, items in positives.items()} == {
        q: np.flatnonzero(row).tolist() for q, row in enumerate(rows) if row.any()
    }
    assert found.skipped == sum(not row.any() for row in rows) and not found.unreachable
    if direction == "t2i":
        assert found.skipped > sum(oracle.stated(facts) == 0 for facts in stated)  # and captions that are wrong
        assert len(found.items) > len(stated)  # captions written for other images are true, too


def test_entails_has_a_fingerprint_and_only_scenes_have_it(
    scenes_split: TestSet, tmp_path: Path, pinned: Pinned
) -> None:
    assert list(relevance.judgements_of(scenes_split)) == ["gt", "entails"]
    found = relevance.SOURCES["entails"].identity(scenes_split)
    assert found is not None and found.startswith("scenes#") and len(found) == len("scenes#") + 8
    custom = TestSet.captioned("custom", scenes_split.rows.ids, scenes_split.columns.ids, scenes_split.image_of)
    assert list(relevance.judgements_of(custom)) == ["gt"] and relevance.SOURCES["entails"].identity(custom) is None
    np.savez(tmp_path / "own.npz", images=np.eye(3), texts=np.eye(3))
    for words in ("--metrics entails:R@1", "--gains match --metrics NCS@1"):
        pinned(refused("eval", tmp_path / "own.npz", "--captions-per-image", 1, *words.split()))


def vectors(split: TestSet, path: Path, noise: float, seed: int = 0) -> Path:
    """Embeddings whose inner products are ``match`` and noise."""
    random = np.random.default_rng(seed)
    captions = np.eye(len(split.columns.ids))
    images = load_gains("match", split).rows(0, len(split.rows.ids))
    images = images + noise * random.standard_normal(images.shape)
    np.savez(path, images=images, texts=captions, image_ids=split.rows.ids, caption_ids=split.columns.ids)
    return path


def test_a_perfect_model_has_the_largest_values(scenes_split: TestSet, tmp_path: Path) -> None:
    file = vectors(scenes_split, tmp_path / "perfect.npz", 0)
    options: dict[str, Any] = {"gains": "match", "metrics": "match:NCS@10,match:CS@100", "similarity": "dot"}
    report = vsebench.evaluate(file, split=scenes_split.name, **options)
    assert report["match:NCS@10", "i2t"].value == report["match:CS@100", "i2t"].value == 1
    per_query = report["match:NCS@10", "t2i"].per_query
    stating = sum(oracle.stated(facts) > 0 for facts in items_of_test()[1])  # the others are no queries
    assert per_query is not None and per_query.tolist() == [1.0] * stating
    assert "match:scenes=" in report.signature and "captions" not in report.signature


def test_every_command_reads_gains_and_judgements_of_scenes(scenes_split: TestSet, tmp_path: Path) -> None:
    files = [vectors(scenes_split, tmp_path / f"{noise}.npz", noise) for noise in (0.1, 0.5, 0.9)]
    common = ("--split", scenes_split.name, "--similarity", "dot")
    everything = document("eval", files[0], *common, "--gains", "match", "--metrics", "all", "--ci", 0)
    measured = {row["metric"] for row in everything["results"]}
    graded = {f"match:{m}" for m in ("NCS@10", "nDCG@10", "CS@100", "Kendall")}
    assert graded | {"entails:R@1", "entails:mAP@R", "entails:R-P", "R@1"} <= measured
    assert not any(metric.startswith("match:MLD") for metric in measured)
    assert "Entailment" in printed("eval", files[0], *common, "--metrics", "entails,match:ncs,cider:NCS@10")
    assert "Entailment" not in printed("eval", files[0], *common)
    saved = [tmp_path / f"{n}.json" for n in range(3)]
    for file, path in zip(files, saved, strict=True):
        printed("eval", file, *common, "--metrics", "entails:mAP@R,match:NCS@10,R@1", "-o", path)
    assert {"entails:mAP@R", "match:NCS@10"} <= {*vsebench.compare(saved[:2]).to_frame().metric}
    assert "mean words in the caption" in printed("slice", saved[0], "--by", "length")
    assert "NCS@10" in printed("agree", *saved)
