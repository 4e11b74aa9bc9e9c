"""Choices between captions: shares, ties, means, intervals and differences, against loops that share no code."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests import choice_files as files
from tests.commands import cli, document, printed, refused
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError, VsebenchError
from vsebench.results.render import Result
from vsebench.sets.choices.layouts import LAYOUTS, load


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))


def shares(result: Result, measure: str = "accuracy", part: str = "") -> dict[tuple[str, str], Any]:
    return {(s.category, s.system): s for s in every(result) if (s.measure, s.part) == (measure, part)}


def every(result: Result) -> list[SimpleNamespace]:
    return [SimpleNamespace(**row) for row in result.records()]


def one_of(result: Result, *words: str) -> SimpleNamespace:
    """The first share with these words."""
    return next(s for s in every(result) if {*words} <= {s.part, s.measure, s.category, s.system})


def shapes_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {item.id: (len(item.images), len(item.captions)) for item in load(folder).items}


# The layouts


def test_the_layouts_are_read_as_published(tmp_path: Path) -> None:
    found = load(files.sugarcrepe(tmp_path / "s"))
    first = ("add_obj:0", ("000000000001.jpg",), ("A cat.", "A cat and a dog."), 0, "add_obj", "000000000001.jpg")
    item = found.items[0]
    assert (item.id, item.images, item.captions, item.right, item.category, item.group) == first
    assert [item.id for item in found.items] == ["add_obj:0", "add_obj:1", "swap_obj:0", "swap_obj:7", "swap_obj:8"]
    assert [item.order_blind for item in found.items] == [True, True, False, True, False]
    split = found.split
    assert split.rows.ids.tolist() == [f"{n:012d}.jpg" for n in (1, 2, 3)]
    assert split.columns.ids.tolist()[:3] == ["add_obj:0#0", "add_obj:0#1", "add_obj:1#0"]
    assert split.image_of.tolist() == [0, 0, 1, 1, 0, 0, 2, 2, 1, 1] and split.columns.texts[1] == "A cat and a dog."
    one = load(tmp_path / "s" / "swap_obj.json")
    assert one.name == "sugarcrepe" and len(one.items) == 3

    found = load(files.valse(tmp_path / "v"))
    ids = ["existence:existence_1", "existence:existence_2", "plurals:existence_1"]
    assert [item.id for item in found.items] == ids
    assert found.notes[0].startswith("9 of the 11 files of valse are not here (actant-swap, action-replacement, ")
    assert "1 item is left out: fewer than two of three annotators" in found.notes[1]

    found = load(files.aro(tmp_path / "a"))
    item = next(item for item in found.items if item.part == "visual_genome_relation")
    assert item.images == (item.id,) == ("visual_genome_relation-0",) and item.group == "0.jpg"
    assert item.captions[item.right] == "the dog is on 0" and item.right == 1  # wrong first, as in the authors' scores
    outside = {("visual_genome_relation", "next to"), ("visual_genome_attribution", "open_old")}
    assert found.outside == outside

    found = load(files.winoground(tmp_path / "w"))
    assert found.shape == (5, 2, 2) and [item.category for item in found.items][1:3] == ["Relation", "Object"]
    assert found.split.image_of.tolist() == list(range(10)) and found.split.rows.ids[3] == "ex_1_img_1"


def test_a_set_by_name_is_in_the_cache(tmp_path: Path, refuses: Refuses) -> None:
    refuses(VsebenchError, load, "sugarcrepe")
    files.sugarcrepe(tmp_path / "cache" / "choices" / "sugarcrepe")
    assert len(load("sugarcrepe").items) == 5
    for name in ("sugarcrep", "nosuch"):
        refuses(VsebenchError, load, name)


def test_files_of_another_layout_are_left_out_with_a_note(tmp_path: Path) -> None:
    files.sugarcrepe(tmp_path / "s")
    files.write(tmp_path / "s" / "zzz.json", [{"other": 1}])
    assert load(tmp_path / "s").notes[0] == "zzz.json is left out: it has another layout"
    for name in LAYOUTS["sugarcrepe"].files:
        assert (name in load(tmp_path / "s").notes[1]) != (tmp_path / "s" / f"{name}.json").exists()


OWN = [
    {"id": "one", "image": 7, "captions": ["a", "b", "c"], "right": 2, "category": "many"},
    {"image": "x.jpg", "captions": ["a", "b"]},
    {"image": "y.jpg", "captions": ["a b", "b a"], "category": "many", "group": "x.jpg"},
]


@pytest.mark.parametrize("form", ["list", "lines", "object", "memory"])
def test_a_set_of_ones_own(tmp_path: Path, form: str) -> None:
    scores = {"one": [[0.1, 0.2, 0.3]], "1": [[0.1, 0.1]], "2": [[0.2, 0.3]]}
    if form == "lines":
        path = tmp_path / "own.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in OWN))
    else:
        keyed = {str(record.get("id", n)): record for n, record in enumerate(OWN)}
        path = files.write(tmp_path / "own.json", keyed if form == "object" else OWN)
    table = files.write_csv(tmp_path / "scores.csv", scores)
    result = vb.choice(table, set=OWN if form == "memory" else path, ci=0)
    found = {c: (s.value, s.ties, s.n, s.images, s.chance, s.order_blind) for (c, _), s in shares(result).items()}
    assert found["many"] == (0.5, 0, 2, 2, pytest.approx(5 / 12), 0.5)
    assert found["all"] == (0.0, 1, 1, 1, 0.5, 1.0)
    assert found["mean of categories"][:2] == (0.25, None)
    assert found["all items"] == (pytest.approx(1 / 3), 1, 3, 2, pytest.approx(8 / 18), pytest.approx(2 / 3))
    assert result.settings["name"] == "own"


# Shares


@pytest.mark.parametrize("seed", range(3))
def test_shares_against_loops(tmp_path: Path, seed: int) -> None:
    """ARO, whose two parts have their own tables, and whose means leave categories out."""
    folder = files.aro(tmp_path / "a")
    scores = files.drawn(shapes_of(folder), seed)
    result = vb.choice(files.write_csv(tmp_path / "m.csv", scores), set=folder, resamples=50)
    right = files.accuracy(scores, dict.fromkeys(scores, 1))
    of: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for part in ("relation", "attribution"):
        records = json.loads((folder / f"visual_genome_{part}.json").read_text())
        for n, record in enumerate(records):
            category = record.get("relation_name") or "_".join(record["attributes"])
            of[part, category].append(right[f"visual_genome_{part}-{n}"])
    for (part, category), found in of.items():
        share = shares(result, part=f"visual_genome_{part}")[category, "m"]
        assert share.value == pytest.approx(sum(r for r, _ in found) / len(found), abs=1e-12)
        assert share.ties == sum(tie for _, tie in found) and share.n == len(found)
        assert share.averaged == (category not in ("next to", "open_old"))
    relation = [np.mean([r for r, _ in of["relation", name]]) for name in ("on", "below")]
    mean = shares(result, part="visual_genome_relation")["mean of categories", "m"]
    assert mean.value == pytest.approx(np.mean(relation), abs=1e-12) and mean.n == 5
    # One category is left of the attributes: the mean of one would say the same again.
    assert ("mean of categories", "m") not in shares(result, part="visual_genome_attribution")
    assert "next to (not in the mean)" in str(result)


small = st.integers(0, 2).map(float)


@given(st.lists(st.tuples(small, small, small, small), min_size=5, max_size=5))
def test_text_image_and_group_score(rows: list[tuple[float, ...]]) -> None:
    items = [{"image": [f"{n}a", f"{n}b"], "captions": ["x y", "y x"]} for n in range(5)]
    result = vb.choice({"m": [list(row) for row in rows]}, set=items, ci=0)
    expected = files.pair_scores({str(n): [list(row[:2]), list(row[2:])] for n, row in enumerate(rows)})
    for measure in ("text", "image", "group"):
        share = shares(result, measure)["all items", "m"]
        assert share.value == pytest.approx(np.mean([found[measure] for found in expected.values()]))
        assert share.chance == (1 / 6 if measure == "group" else 1 / 4) and share.order_blind == 0
        nudged = [[row[0] + 0.1, row[1], row[2], row[3] + 0.1] for row in rows]  # every tie of a right pair is won
        won = files.pair_scores({str(n): [row[:2], row[2:]] for n, row in enumerate(nudged)})
        gained = sum(found[measure] for found in won.values()) - sum(found[measure] for found in expected.values())
        assert share.ties == gained


def test_chance_of_pairs_is_that_of_random_scores() -> None:
    scores = np.random.default_rng(0).standard_normal((40_000, 2, 2))
    items = [{"image": [f"{n}a", f"{n}b"], "captions": ["x", "y"]} for n in range(40_000)]
    result = vb.choice({"m": scores}, set=items, ci=0)
    assert all(abs(s.value - s.chance) < 0.01 for s in every(result)) and len(every(result)) == 6


def test_intervals_and_paired_differences_are_those_of_resampled_images(tmp_path: Path) -> None:
    """Resamples of the images by numpy; the two systems and their difference have the same."""
    rng = np.random.default_rng(0)
    image = rng.integers(0, 60, 300)
    items = [{"image": f"{i}.jpg", "captions": ["a", "b"], "category": "xy"[n % 2]} for n, i in enumerate(image)]
    scores = {name: rng.standard_normal((300, 2)) + np.array([shift, 0]) for name, shift in (("A", 0.4), ("B", 0.7))}
    result = vb.choice(scores, set=items, resamples=4000)
    right = {name: (x[:, 0] > x[:, 1]).astype(float) for name, x in scores.items()}
    category = np.arange(300) % 2
    draws = np.random.default_rng(1).integers(0, 60, (4000, 60))
    weights = np.stack([np.bincount(draw, minlength=60)[image] for draw in draws])

    def ends(value: Any, inside: np.ndarray) -> list[float]:
        return np.quantile((weights[:, inside] @ value[inside]) / weights[:, inside].sum(1), [0.025, 0.975]).tolist()

    everything = np.ones(300, bool)
    for system, value in (("A", right["A"]), ("B", right["B"]), ("B − A", right["B"] - right["A"])):
        for label, inside in (("x", category == 0), ("all items", everything)):
            share = one_of(result, label, system)
            assert share.value == pytest.approx(value[inside].mean(), abs=1e-12)
            assert (share.low, share.high) == pytest.approx(ends(value, inside), abs=0.012)
    again = vb.choice(scores, set=items, resamples=4000, threads=1)
    assert again.records() == result.records()
    assert one_of(result, "all items", "B − A").ties is None and "+" in str(result)


def test_one_image_has_no_interval() -> None:
    items = [{"image": "a", "captions": ["a", "b"]}] * 1 + [{"image": "b", "captions": ["a", "b"], "category": "c"}]
    found = shares(vb.choice({"m": [[1, 0], [0, 1]]}, set=items))
    assert found["c", "m"].low is None and (found["all items", "m"].low, found["all items", "m"].high) == (0.0, 1.0)
    assert found["mean of categories", "m"].low is None


# Inputs


def test_one_system_in_memory_and_arguments_of_another_type(refuses: Refuses) -> None:
    items = [{"image": "a", "captions": ["a", "b"]}]
    for scores in ([[1.0, 0.0]], np.array([[1.0, 0.0]]), ([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])):
        assert vb.choice(scores, set=items).systems == ("A",)
    for systems, chosen in (([[1.0, 0.0]], 3), ([], items), ([[1.0, 0.0]], [1]), (None, items)):
        refuses(VsebenchError, vb.choice, systems, set=chosen)


def vectors(split: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((len(ids), 8)).astype(np.float32) for ids in (split.rows.ids, split.columns.ids))


def cosines(folder: Path, images: np.ndarray, captions: np.ndarray) -> files.Scores:
    """Scores of every item by a loop over the records of the files, in the order of the files."""
    found: files.Scores = {}
    names: dict[str, int] = {}
    at = 0
    for path in sorted(folder.glob("*.json")):
        for key, record in json.loads(path.read_text()).items():
            image = images[names.setdefault(record["filename"], len(names))].astype(float)
            both = captions[at : at + 2].astype(float)
            lengths = np.linalg.norm(both, axis=1) * np.linalg.norm(image)
            found[f"{path.stem}:{key}"] = [(both @ image / lengths).tolist()]
            at += 2
    return found


def test_embeddings_in_any_order_and_spelling_give_the_same_as_scores(tmp_path: Path) -> None:
    folder = files.sugarcrepe(tmp_path / "s")
    split = load(folder).split
    images, captions = vectors(split)
    by_hand = cosines(folder, images, captions)
    table = files.write_csv(tmp_path / "by-hand.csv", by_hand)
    p, q = np.random.default_rng(1).permutation(len(images)), np.random.default_rng(2).permutation(len(captions))
    np.savez(
        tmp_path / "ids.npz", image_embeddings=images[p], text_embeddings=captions[q],
        image_ids=[int(x[:12]) for x in split.rows.ids[p]], text_ids=split.columns.ids[q],
    )  # fmt: skip
    np.savez(tmp_path / "odd.npz", pictures=images, words=captions)
    np.save(tmp_path / "i.npy", images)
    np.save(tmp_path / "t.npy", captions)
    np.save(tmp_path / "s.npy", np.array([row for [row] in by_hand.values()]))
    files.write(tmp_path / "s.json", {k: v[0] for k, v in by_hand.items()})
    stored = [tmp_path / x for x in ("ids.npz", "i.npy", "t.npy")]
    given = [table, *stored, f"S={tmp_path}/s.npy", f"J={tmp_path}/s.json"]
    found = vb.choice(list(map(str, given)), set=folder, ci=0)
    assert found.systems == ("by-hand", "ids", "i", "S", "J")
    assert len({tuple(s.value for s in every(found) if s.system == name) for name in found.systems}) == 1
    assert "|score:scores,cosine|ties:wrong" in found.settings["signature"]
    keyed = vb.choice(tmp_path / "odd.npz", set=folder, image_key="pictures", text_key="words", ci=0)
    assert one_of(keyed, "all items").value == one_of(found, "all items").value
    memory = {"a": (images, captions), "e": (vb.Embeddings("image", split.rows.ids[p], images[p]), captions)}
    found = vb.choice(memory, set=folder, ci=0)
    assert (
        one_of(found, "all items", "a").value
        == one_of(found, "all items", "e").value
        == one_of(keyed, "all items").value
    )


def test_two_images_by_vectors_and_by_scores(tmp_path: Path) -> None:
    folder = files.winoground(tmp_path / "w")
    split = load(folder).split
    images, captions = vectors(split)
    by_hand = {
        str(n): (images[2 * n : 2 * n + 2].astype(float) @ captions[2 * n : 2 * n + 2].T).tolist() for n in range(5)
    }
    table = files.write_csv(tmp_path / "s.csv", by_hand)
    nested = files.write(tmp_path / "n.json", by_hand)
    result = vb.choice({"v": (images, captions), "t": table, "n": nested}, set=folder, similarity="dot", ci=0)
    expected = files.pair_scores(by_hand)
    for measure in ("text", "image", "group"):
        for system in ("v", "t", "n"):
            share = shares(result, measure)["all items", system]
            assert share.value == pytest.approx(np.mean([e[measure] for e in expected.values()]))
    assert "winoground · group score" in str(result)


def test_ties_and_items_that_cannot_be_right_are_warned_of(recwarn: Any) -> None:
    items = [{"image": "a", "captions": ["x y", "x y"]}, {"image": "b", "captions": ["x", "y"]}]
    result = vb.choice({"m": [[1, 1], [1, 0]]}, set=items, ci=0)
    assert one_of(result, "all items").ties == 1
    assert "1 item has the right caption twice, which is always a tie (first: 0)" in result.warnings
    assert any("m: 1 of 2 choices are ties, which count as wrong" in str(w.message) for w in recwarn)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_half_precision_is_named_for_its_own_ties_only(dtype: Any) -> None:
    items = [{"image": "a", "captions": ["x", "y"]}, {"image": "b", "captions": ["x", "y", "z"]}]
    scores = np.array([[0.3, 0.3, 0.0], [0.7, 0.1, 0.2]], dtype)
    (said,) = vb.choice({"m": scores}, set=items, ci=0).warnings
    few = "; the scores have half precision, which makes ties frequent"
    assert said == f"m: 1 of 2 choices are ties, which count as wrong{few if dtype == np.float16 else ''}"


def test_files_without_ids_have_the_order_of_the_set(tmp_path: Path, pinned: Any) -> None:
    """As ``eval`` says it; arrays in memory have that order by definition."""
    folder = files.sugarcrepe(tmp_path / "s")
    split = load(folder).split
    images, captions = vectors(split)
    np.savez(tmp_path / "none.npz", image_embeddings=images, text_embeddings=captions)
    np.savez(tmp_path / "one.npz", image_embeddings=images, text_embeddings=captions, image_ids=split.rows.ids)
    np.save(tmp_path / "i.npy", images)
    np.save(tmp_path / "t.npy", captions)
    np.save(tmp_path / "s.npy", np.random.default_rng(0).random((5, 2)))
    named = np.array([item.id for item in load(folder).items])
    np.savez(tmp_path / "ids.npz", scores=np.load(tmp_path / "s.npy"), ids=named)
    given = [str(tmp_path / name) for name in ("none.npz", "one.npz", "i.npy", "t.npy", "s.npy", "ids.npz")]
    result = vb.choice(given, set=folder, baseline=tmp_path / "s.npy", ci=0)
    notes = [note for note in result.notes if "rows are assumed" in note]
    pinned("\n".join(notes))
    assert [note.partition(":")[0] for note in notes] == ["none", "none", "one", "i", "i", "s", "text only"]
    memory = vb.choice({"m": (images, captions), "n": np.load(tmp_path / "s.npy")}, set=folder, ci=0)
    assert not any("rows are assumed" in note for note in memory.notes)


def test_vectors_of_items_that_the_set_does_not_have_are_not_used(
    tmp_path: Path, pinned: Any, refuses: Refuses
) -> None:
    """The embeddings of all files of a set, for one of them."""
    folder = files.sugarcrepe(tmp_path / "s")
    split = load(folder).split
    images, captions = vectors(split)
    np.savez(
        tmp_path / "m.npz", image_embeddings=images, text_embeddings=captions, image_ids=split.rows.ids,
        text_ids=split.columns.ids, image_of_text=split.image_of,
    )  # fmt: skip
    found = vb.choice(tmp_path / "m.npz", set=folder / "add_obj.json", ci=0)
    complete = vb.choice(tmp_path / "m.npz", set=folder, ci=0)
    assert one_of(found, "add_obj").value == one_of(complete, "add_obj").value and one_of(found, "add_obj").n == 2
    pinned("\n".join(found.notes))
    np.savez(tmp_path / "n.npz", image_embeddings=images, text_embeddings=captions, image_ids=["x", "y", "z"])
    refuses(BadInput, vb.choice, tmp_path / "n.npz", set=folder, ci=0)


def of_images(n: int, kind: str) -> tuple[list[Any], np.ndarray]:
    """Items with one or two images, and scores of which the right ones are higher for two items in three."""
    rng = np.random.default_rng(0)
    if kind == "two images":
        items: list[Any] = [{"image": [f"{k}a", f"{k}b"], "captions": ["x y", "y x"]} for k in range(n)]
        return items, rng.standard_normal((n, 2, 2)) + 0.6 * np.eye(2)
    items = [{"image": str(k // 2), "captions": ["a", "b", "c"][: 2 + k % 2], "right": 1} for k in range(2 * n)]
    return items, rng.standard_normal((2 * n, 3)) + np.array([0, 0.6, 0])


@pytest.mark.parametrize("kind", ["one image", "two images"])
def test_scores_at_or_below_chance_are_warned_of(kind: str, pinned: Any) -> None:
    items, scores = of_images(300, kind)
    rng = np.random.default_rng(1)
    random, equal = rng.standard_normal(scores.shape), np.full(scores.shape, 0.3)
    systems = {"good": scores, "distances": -scores, "rows": random, "equal": equal}
    result = vb.choice(systems, set=items, ci=0)
    pinned("\n".join(result.warnings))
    found = [text.split(": ")[:2] for text in result.warnings if "chance" in text]
    assert found == [
        ["distances", "below chance"],
        ["rows", "no better than chance"],
        ["equal", "no better than chance"],
    ]
    few = vb.choice({"m": -scores[:40]}, set=items[:40], ci=0)  # too few to tell
    assert not any("chance" in text for text in few.warnings)


@pytest.mark.slow
def test_random_scores_are_seldom_above_chance() -> None:
    items, scores = of_images(100, "one image")
    rng = np.random.default_rng(2)
    found = [vb.choice({"m": rng.standard_normal(scores.shape)}, set=items, ci=0).warnings for _ in range(300)]
    assert sum(not warnings for warnings in found) <= 10  # 1 % by the level of the test


def item(image: Any = "a", captions: Any = ("a", "b"), **more: Any) -> dict[str, Any]:
    return {"image": image, "captions": list(captions), **more}


BAD: dict[str, tuple[Any, Any]] = {
    "no item": ([], None),
    "one caption": ([item(captions="a")], None),
    "right": ([item(right=2)], None),
    "three images": ([item(["a", "b", "c"])], None),
    "numbers": ([item(captions=["a", 2])], None),
    "images of another type": ([item([["a"]])], None),
    "no category": ([item(category=None)], None),
    "no image": ([{"captions": ["a", "b"]}], None),
    "row of its own": ([item(category="all items")], None),
    "same id": ([item(id=1), item(id="1")], None),
    "mixed": ([item(), item(["a", "b"])], None),
    "shape": (OWN, [[1, 2, 3]]),
    "missing score": (OWN, [[1, 2, 3], [1, np.nan, 3], [1, 2, 3]]),
}


@pytest.mark.parametrize("case", BAD)
def test_items_and_arrays_that_are_refused(case: str, refuses: Refuses) -> None:
    items, scores = BAD[case]
    refuses((BadInput, UsageError), vb.choice, {"m": [[1.0, 0.0]] if scores is None else scores}, set=items)
    if case == "no item":
        refuses(UsageError, vb.choice, [[1.0, 0.0]], set=[item()], similarity="euclid")
        refuses(UsageError, vb.choice, {"text only": [[1, 0]]}, set=[item()])


@pytest.mark.parametrize(
    "text", ["null", "3", "[1]", "{}", "[]", '{"a": 1}', "[" * 5000, '[{"image": "a", "captions": {}}]', "not JSON"]
)
def test_files_that_are_no_set(tmp_path: Path, text: str, refuses: Refuses) -> None:
    (tmp_path / "set.json").write_text(text)
    refuses(BadInput, load, tmp_path / "set.json")


@pytest.mark.parametrize("case", ["baseline of pairs", "two names", "no layout", "vectors of another set"])
def test_calls_that_are_refused(tmp_path: Path, case: str, pinned: Any) -> None:
    folder, pairs = files.sugarcrepe(tmp_path / "s"), files.winoground(tmp_path / "w")
    scores, vectors = tmp_path / "s.npy", tmp_path / "v.npz"
    np.save(scores, np.zeros((5, 2)))
    np.savez(vectors, images=np.ones((4, 3)), texts=np.ones((10, 3)))
    args: tuple[Any, ...] = {
        "baseline of pairs": (scores, "--set", pairs, "--baseline", "length"),
        "two names": (f"A={scores}", f"A={vectors}", "--set", folder),
        "no layout": (scores, "--set", files.write(tmp_path / "o.json", [{"text": "a"}])),
        "vectors of another set": (vectors, "--set", folder),
    }[case]
    done = cli("choice", *args, code=None)
    assert done.code in (2, 3)
    pinned(done.err)


def test_the_command(tmp_path: Path) -> None:
    folder = files.sugarcrepe(tmp_path / "s")
    np.save(tmp_path / "s.npy", np.arange(10.0).reshape(5, 2)[::-1])
    args = (tmp_path / "s.npy", "--set", folder, "--baseline", "length", "--top", 1)
    found = document("choice", *args)
    result = vb.choice(tmp_path / "s.npy", set=folder, baseline="length", top=1)
    assert found == result.to_dict() and found["schema"] == "vsebench/choices/2"
    text = printed("choice", *args)
    assert "1 category is not shown (--top)" in text and "text only" in text and "Ties: s 0, text only 3 of 5" in text
    one = folder / "add_obj.json"
    assert "add_obj.json" in refused("choice", args[0], "--set", one, "--output", one)
    cli("choice", *args, "--output", tmp_path / "out.csv")
    head = "part,measure,category,n,order_blind,system,value,low,high,ties,images"
    assert (tmp_path / "out.csv").read_text().startswith(head)


# Real files


def bag(caption: str) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(re.findall(r"[a-z0-9']+", caption.lower())).items()))


def test_sugarcrepe_as_published(real_data: Path, tmp_path: Path) -> None:
    """Sizes of the paper, the captions that differ in order alone, and what the number of words alone can tell."""
    folder = real_data / "sugarcrepe"
    records = {p.stem: json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))}
    rng = np.random.default_rng(0)
    scores = {
        f"{name}:{key}": [np.round(rng.standard_normal(2) + np.array([0.5, 0]), 1).tolist()]
        for name, of in records.items()
        for key in of
    }
    result = vb.choice(files.write_csv(tmp_path / "m.csv", scores), set=folder, baseline="length", resamples=20)
    found = shares(result)
    assert {name: found[name, "m"].n for name in records} == {
        "add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406, "swap_att": 666,
        "swap_obj": 245,
    }  # fmt: skip
    right = files.accuracy(scores, dict.fromkeys(scores, 0))
    means = []
    for name, of in records.items():
        own = [right[f"{name}:{key}"] for key in of]
        means.append(sum(r for r, _ in own) / len(own))
        assert found[name, "m"].value == pytest.approx(means[-1], abs=1e-12)
        assert found[name, "m"].ties == sum(tie for _, tie in own)
        same = sum(bag(r["caption"]) == bag(r["negative_caption"]) for r in of.values())
        assert found[name, "m"].order_blind == pytest.approx(1 - same / len(of))
        words = [[len(re.findall(r"[\w']+", r[c])) for c in ("caption", "negative_caption")] for r in of.values()]
        assert found[name, "text only"].value == pytest.approx(sum(a < b for a, b in words) / len(of))
    assert found["mean of categories", "m"].value == pytest.approx(sum(means) / 7, abs=1e-12) and result.notes == (
        "text only: the shorter caption is right",
    )
    assert one_of(result, "all items", "m").value == pytest.approx(sum(r for r, _ in right.values()) / 7511, abs=1e-12)
    # 572 of 7,511, as counted in RAIVNLab/sugar-crepe#10: 164 of swap_obj and 408 of swap_att
    assert one_of(result, "all items", "m").order_blind == pytest.approx(1 - 572 / 7511)
    assert (found["swap_obj", "m"].images, found["all items", "m"].images) == (224, 1560)


def test_valse_as_published(real_data: Path) -> None:
    result = vb.choice({"m": np.tile([1.0, 0.0], (1908, 1))}, set=real_data / "valse", ci=0)
    found = {category: share.n for (category, _), share in shares(result).items()}
    sizes = {"counting-hard": 868, "existence": 505, "relations": 535}
    assert found == {**sizes, "mean of categories": 1908, "all items": 1908} and one_of(result, "all items").value == 1
    absent, out = result.notes
    assert absent.startswith("8 of the 11 files of valse are not here (") and "relations" not in absent
    assert "240 items are left out" in out


def test_every_layout_is_tried_and_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "choice.md").read_text(encoding="utf-8")
    made = {name for name in LAYOUTS if hasattr(files, name)}
    assert made | {"own"} == set(LAYOUTS) and all(f"`{name}`" in page for name in made)
