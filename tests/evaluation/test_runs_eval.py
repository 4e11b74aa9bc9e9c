"""Evaluating retrieved lists: files, directions, short lists, and matching their ids to a split."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.files.pairs import LISTS, Pairs
from vsebench.files.read_pairs import read_pairs
from vsebench.sets.items import align_lists
from vsebench.types import DIRECTIONS, Direction, TestSet

Lists = Mapping[Any, Any]
SPLIT = TestSet.captioned("toy", np.arange(60) + 500, np.arange(300) + 7000, np.arange(300) // 5)


def i2t(length: int = 12, queries: int | None = None, split: TestSet = SPLIT) -> dict[int, list[int]]:
    """The list of every image: its own captions and the next ones."""
    captions = np.concatenate([split.columns.ids, split.columns.ids]).tolist()
    return {q: captions[5 * i : 5 * i + length] for i, q in enumerate(split.rows.ids[:queries].tolist())}


def t2i(length: int = 12, late: int = 0) -> dict[int, list[int]]:
    """The list of every caption, with its own image behind ``late`` others."""
    images = np.concatenate([SPLIT.rows.ids, SPLIT.rows.ids]).tolist()
    return {
        q: [*images[i + 1 : i + 1 + late], images[i], *images[i + 1 + late : i + length]]
        for q, i in zip(SPLIT.columns.ids.tolist(), SPLIT.image_of.tolist(), strict=True)
    }


def evaluate(run: Any, metrics: str | None = None, **options: Any) -> vsebench.Report:
    return vsebench.evaluate(run=run, **{"split": SPLIT, "metrics": metrics, "ci": 0, **options})


def write(path: Path, lists: Lists) -> Path:
    path.write_text(json.dumps(lists))
    return path


def trec(path: Path, lists: Mapping[int, list[int]]) -> Path:
    path.write_text("".join(f"{q} Q0 {x} {r} {-r} vse\n" for q, items in lists.items() for r, x in enumerate(items, 1)))
    return path


def values(report: vsebench.Report) -> dict[tuple[str, str | None], float]:
    return {(str(r.metric), r.direction): r.value for r in report.results}


def run(raw: Lists, split: TestSet | str | None = SPLIT) -> Any:
    """Lists in memory, aligned with a split."""
    found: list[Pairs] = []
    for direction, lists in raw.items():
        stated: Any = direction if direction in DIRECTIONS else None
        found += read_pairs(lists, stated, LISTS, where="r.json")
    return align_lists(found, split)


def test_both_directions_from_json(tmp_path: Path) -> None:
    report = evaluate(write(tmp_path / "r.json", {"i2t": i2t(), "t2i": t2i(late=2)}), "R@1,R@5,mAP@R,MRR,RSum")
    assert "|score:run|" in report.signature
    found = values(report)
    assert found["R@1", "i2t"] == found["mAP@R", "i2t"] == found["MRR", "i2t"] == 1.0
    assert (found["R@1", "t2i"], found["R@5", "t2i"]) == (0.0, 1.0)
    assert found["MRR", "t2i"] == pytest.approx(1 / 3, abs=1e-12)
    assert found["RSum", None] == 5.0


def test_trec_gzip_and_two_files_agree(tmp_path: Path) -> None:
    first, second = i2t(2), t2i(2, late=1)
    options = {"metrics": "R@1,R@2", "trust": True}  # lists that seem reversed
    one_file = evaluate(write(tmp_path / "r.json", {"i2t": first, "t2i": second}), **options)
    paths = [trec(tmp_path / "a.trec", first), tmp_path / "b.json.gz"]
    paths[1].write_bytes(gzip.compress(json.dumps(second).encode(), 1))
    for files in (paths, dict(zip(("i2t", "t2i"), paths, strict=True)), [f"i2t={paths[0]}", paths[1]]):
        report = evaluate(files, **options)
        assert values(report) == values(one_file) and report.signature == one_file.signature


def test_one_direction(tmp_path: Path, refuses: Refuses) -> None:
    file = write(tmp_path / "r.json", i2t())
    assert set(values(evaluate([file], "R@1"))) == {("R@1", "i2t")}
    refuses(BadInput, evaluate, [file], "R@1", direction="t2i")
    refuses(UsageError, evaluate, [file], "RSum")


def test_the_split_is_that_of_the_ids_or_named(coco: TestSet, tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(60, split=coco)})
    assert evaluate(file, "R@1", split=None).split == "coco-5k"
    report = evaluate(file, "R@1,R@5", split="coco-1k")
    assert report.split == "coco-1k" and set(values(report).values()) == {1.0}


JUDGED = {"judgements": {"mine": {"i2t": {q: items[:5] for q, items in i2t().items()}}}}


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ("mAP@R", "mAP@R i2t"),
        ("R-P", "R-P i2t"),
        ("R@10", "R@10 i2t"),
        ("Recall@5,R@1", "Recall@5 i2t"),
        ("mine:mAP@R", "mine:mAP@R i2t"),
        ("mine:R@1,R@4,R@6,R@7", "R@6 i2t, R@7 i2t"),
    ],
)
def test_short_lists_are_refused_with_the_metrics(metrics: str, named: str, tmp_path: Path, refuses: Refuses) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(4)})
    options = JUDGED if "mine" in metrics else {}
    caught = refuses(BadInput, evaluate, [file], metrics, **options)
    assert "short_lists='miss'" in (caught.fix or "")
    counted = evaluate([file], metrics, short_lists="miss", **options)
    assert any(w.startswith(f"lists are too short for {named}") for w in counted.warnings)


def test_items_that_are_not_listed_count_as_missed(tmp_path: Path, refuses: Refuses) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(3)})
    found = values(evaluate([file], "Recall@5,mAP@R", short_lists="miss"))
    assert found == {("Recall@5", "i2t"): pytest.approx(0.6), ("mAP@R", "i2t"): pytest.approx(0.6)}
    without_positives = write(tmp_path / "l.json", {"t2i": {q: x[1:] for q, x in t2i(3).items()}})
    refuses(BadInput, evaluate, [without_positives], "MedR", short_lists="miss", trust=True)


@pytest.mark.parametrize(
    "option", [{"ties": "optimistic"}, {"similarity": "dot"}, {"depth": 5, "save_run": "top.json"}]
)
def test_lists_have_no_scores(option: dict[str, Any], tmp_path: Path, refuses: Refuses) -> None:
    refuses(UsageError, vsebench.evaluate, run=[tmp_path / "none"], **option)


# Matching


def test_the_ids_give_the_directions() -> None:
    _, found = run({"?0": t2i(), "?1": i2t()})
    assert set(found) == {"i2t", "t2i"}
    assert found["i2t"].of_query(3).tolist() == list(range(15, 27))
    assert found["t2i"].of_query(7)[0] == 1 and found["t2i"].entries.dtype == np.int64


GOOD = i2t(queries=10)
WRONG: dict[str, tuple[Lists, TestSet | str | None]] = {
    "exchanged i2t": ({"i2t": t2i()}, SPLIT),
    "exchanged t2i": ({"t2i": i2t()}, SPLIT),
    "unknown queries": ({"i2t": {**GOOD, 1: [2], 3: [4]}}, SPLIT),
    "unknown items": ({"i2t": {q: [*items, -5] for q, items in GOOD.items()}}, SPLIT),
    "foreign ids": ({"i2t": {"a": ["b"], "c": ["d"]}}, None),
    "ids of no side": ({"?0": {500: [1], 2: [3], 4: [5]}}, SPLIT),
    "one direction twice": ({"i2t": i2t(), "?1": i2t()}, SPLIT),
}


@pytest.mark.parametrize("case", WRONG)
def test_lists_that_do_not_match_are_refused(case: str, refuses: Refuses) -> None:
    caught = refuses(BadInput, run, *WRONG[case])
    assert caught.where == "r.json" and caught.fix


def test_custom_is_no_split_for_lists(refuses: Refuses) -> None:
    refuses(UsageError, run, {"i2t": {1: [2]}}, "custom")


# Lists that are too short, and lists that are written


def test_a_truncated_run_says_how_many_lists_are_missing(tmp_path: Path, refuses: Refuses) -> None:
    lists = i2t(10)
    file = write(tmp_path / "r.json", {"i2t": {q: lists[q] for q in list(lists)[1:2]}})
    refuses(BadInput, evaluate, [file], "R@1,R@5")
    refuses(BadInput, evaluate, [file], "NCS@5")
    some = {501: lists[501], 507: lists[507]}
    judged = {"mine": {"i2t": {q: items[:5] for q, items in some.items()}}}
    found = evaluate([write(tmp_path / "e.json", {"i2t": some})], "mine:R@1", judgements=judged)
    assert (found["mine:R@1", "i2t"].value, found["mine:R@1", "i2t"].n) == (1.0, 2)


def test_distances_in_a_run_are_refused_with_the_option_that_mends_it(tmp_path: Path, refuses: Refuses) -> None:
    lists = t2i(5)
    path = tmp_path / "d.trec"
    path.write_text("".join(f"{q} Q0 {x} {r} {r / 9} v\n" for q, xs in lists.items() for r, x in enumerate(xs, 1)))
    caught = refuses(BadInput, evaluate, {"t2i": path}, "R@1")
    assert caught.where == str(path)
    mended, want = evaluate({"rank:t2i": path}, "R@1"), evaluate(trec(tmp_path / "s.trec", lists), "R@1")
    assert values(mended) == values(want) == {("R@1", "t2i"): 1.0} and mended.signature == want.signature
    trusted = evaluate({"t2i": path}, "R@1", trust=True)
    path.with_suffix(".txt").write_text("".join(f"{q} {x} {r}\n" for q, xs in lists.items() for r, x in enumerate(xs)))
    refuses(BadInput, evaluate, {"t2i": path.with_suffix(".txt")}, "R@1")
    assert values(trusted) == {("R@1", "t2i"): 0.0}
    assert any("d.trec: the scores of 300 of 300 queries are smallest at rank 1" in w for w in trusted.warnings)


def test_metrics_that_nobody_named_are_left_out_where_lists_are_too_short(tmp_path: Path, refuses: Refuses) -> None:
    missed = {q: items[1:] if n == 0 else items for n, (q, items) in enumerate(t2i().items())}
    file = write(tmp_path / "r.json", {"t2i": missed})
    report = evaluate(file, "recall,R@10")
    assert [str(r.metric) for r in report.results if r.direction == "t2i"] == ["R@1", "R@5", "R@10"]
    assert report.notes[-1] == (
        "left out, because the lists are too short: MedR, MeanR "
        "(for MedR t2i query 7000 has 11 usable items and 60 are needed)"
    )
    counted = evaluate(file, "recall", short_lists="miss")
    assert counted.notes == report.notes and values(counted) == values(report)
    refuses(BadInput, evaluate, file, "MedR,recall")


def test_without_metrics_lists_are_measured_as_deep_as_they_go(tmp_path: Path) -> None:
    found = values(evaluate(write(tmp_path / "r.json", {"i2t": i2t(), "t2i": t2i(late=1)})))
    assert (found["R@1", "i2t"], found["R@10", "t2i"], found["RSum", None]) == (1.0, 1.0, 5.0)
    assert ("MedR", "i2t") in found  # every query found its own item
    report = evaluate(write(tmp_path / "r.json", {"i2t": i2t(7), "t2i": t2i(7)}))
    names = ("R@1", "R@5", "MedR", "MeanR")
    assert list(values(report)) == [(name, direction) for name in names for direction in DIRECTIONS]
    (note,) = [n for n in report.notes if n.startswith("left out, because the lists are too short: R@10, RSum")]
    assert note.endswith("(for R@10 i2t query 500 has 7 usable items and 10 are needed)")


def test_deep_graded_metrics_are_left_out_before_gains_are_loaded(tmp_path: Path, refuses: Refuses) -> None:
    split, *_ = world()
    own = {d: [np.roll(ids.tolist(), -i)[:12].tolist() for i in range(len(queries))] for d, queries, ids in (
        ("i2t", split.rows.ids, split.columns.ids), ("t2i", split.columns.ids, split.rows.ids),
    )}  # fmt: skip
    document = {
        d: dict(zip(q.tolist(), own[d], strict=True)) for d, q in (("i2t", split.rows.ids), ("t2i", split.columns.ids))
    }
    file = write(tmp_path / "r.json", document)
    np.save(tmp_path / "g.npy", np.ones((30, 90), np.float32))
    options = {"run": file, "split": split, "gains": str(tmp_path / "g.npy"), "ci": 0}
    report = vsebench.evaluate(metrics="matrix:NCS@5,graded", **options)
    named = {str(r.metric) for r in report.results}
    assert {"matrix:NCS@5", "matrix:nDCG@10"} <= named and not {"matrix:CS@100", "matrix:Kendall"} & named
    assert any("too short: matrix:CS@100, matrix:CS@200" in note for note in report.notes)
    (tmp_path / "g.npy").unlink()
    for metrics in ("matrix:CS@100", "matrix:cs"):  # refused before the absent file of gains is missed
        refuses(BadInput, vsebench.evaluate, metrics=metrics, **options)


def world(ids: str = "int") -> tuple[TestSet, np.ndarray, np.ndarray]:
    """A split whose captions tie often: small integers, and every third caption repeats the one before."""
    rng = np.random.default_rng(3)
    images, texts = (rng.integers(-2, 3, (n, 3)).astype(np.float32) for n in (30, 90))
    images[:, 0] = texts[:, 0] = 1  # no vector is zero
    texts[2::3] = texts[1::3]
    names = [np.arange(30) + 500, np.arange(90) + 7000]
    image_ids, caption_ids = names if ids == "int" else [np.array([f"{ids}{n}" for n in own]) for own in names]
    return TestSet.captioned("toy", image_ids, caption_ids, np.arange(90) // 3), images, texts


@pytest.mark.parametrize("ids", ["int", "photo"])
@pytest.mark.parametrize("name", ["top.trec", "top.run.gz", "top.txt"])
def test_trec_runs_are_read_back_to_the_same_values(tmp_path: Path, name: str, ids: str) -> None:
    split, images, texts = world(ids)
    np.save(tmp_path / "g.npy", np.random.default_rng(0).integers(0, 3, (30, 90)).astype(np.float32))
    metrics = "R@1,R@10,MedR,mAP@R,RSum,matrix:NCS@5,matrix:CS@10,matrix:Kendall"
    options = {"split": split, "gains": str(tmp_path / "g.npy"), "metrics": metrics, "ci": 0}
    whole = {"similarity": "dot", "trust": True, "save_run": tmp_path / name, "depth": 90}
    made = vsebench.evaluate(images, texts, **options, **whole)
    run_files = {d: tmp_path / name.replace("top", f"top.{d}", 1) for d in ("i2t", "t2i")}
    assert sorted(tmp_path.glob("top*")) == sorted(run_files.values())
    read = vsebench.evaluate(run=run_files, **options)
    assert values(read) == values(made)
    for r in made.results:  # a query at a time: Kendall and CS see the same ties
        if r.per_query is not None:
            assert read[r.metric, r.direction].per_query.tolist() == r.per_query.tolist()


def test_a_line_of_a_trec_run_has_the_exact_score(tmp_path: Path) -> None:
    split, images, texts = world()
    options = {"split": split, "metrics": "R@1", "ci": 0, "trust": True, "similarity": "dot"}
    vsebench.evaluate(images, texts, save_run=tmp_path / "t.trec", depth=1, direction="t2i", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["t.t2i.trec"]
    best = images.astype(np.float64) @ texts.astype(np.float64).T
    rows = [line.split() for line in (tmp_path / "t.t2i.trec").read_text().splitlines()]
    expected = [(7000 + c, 500 + int(best[:, c].argmax()), float(best[:, c].max())) for c in range(90)]
    assert [(int(q), int(i), float(s)) for q, _, i, _, s, _ in rows] == expected
    assert {(zero, rank, tag) for _, zero, _, rank, _, tag in rows} == {("Q0", "1", "vsebench")}


def test_ids_with_white_space_are_no_columns(tmp_path: Path, refuses: Refuses) -> None:
    split, images, texts = world("a b")
    options = {"split": split, "metrics": "R@1", "ci": 0, "trust": True}
    refuses(UsageError, vsebench.evaluate, images, texts, save_run=tmp_path / "top.trec", **options)
    assert not list(tmp_path.iterdir())
    vsebench.evaluate(images, texts, save_run=tmp_path / "top.json", **options)


def test_a_run_is_never_written_over_an_input(tmp_path: Path, refuses: Refuses) -> None:
    split, images, texts = world()
    np.savez(tmp_path / "e.i2t.run", images=images, texts=texts)
    (tmp_path / "e.i2t.run.npz").rename(tmp_path / "e.i2t.run")
    refuses(
        UsageError, vsebench.evaluate, tmp_path / "e.i2t.run", split=split, metrics="R@1", save_run=tmp_path / "e.run"
    )


@pytest.mark.parametrize("odd", ["nan", "none", "9999"])
@pytest.mark.parametrize("place", [0, 44, -1])
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
@pytest.mark.parametrize("form", ["json", "trec", "memory"])
def test_one_odd_entry_is_named_with_its_query(
    direction: Direction, form: str, place: int, odd: str, tmp_path: Path, refuses: Refuses
) -> None:
    split, *_ = world()
    queries, items = (split.rows.ids, split.columns.ids)[:: 1 if direction == "i2t" else -1]
    lists = {str(q): [str(i) for i in np.roll(items, n)[:5]] for n, q in enumerate(queries.tolist())}
    at = list(lists)[place % len(lists)]

    def given(of: Mapping[str, list[str]]) -> Any:
        found = {"json": lambda: write(tmp_path / "r.json", of), "trec": lambda: trec(tmp_path / "r.txt", of)}  # type: ignore[arg-type]
        return {direction: found[form]() if form in found else of}

    plain = vsebench.evaluate(run=given(lists), split=split, metrics="R@1", ci=0, trust=True)
    assert plain["R@1", direction].n == len(queries)
    refuses(
        BadInput,
        vsebench.evaluate,
        run=given({**lists, at: [*lists[at], odd]}),
        split=split,
        metrics="R@1",
        ci=0,
        trust=True,
    )
    refuses(
        BadInput, vsebench.evaluate, run=given({**lists, odd: lists[at]}), split=split, metrics="R@1", ci=0, trust=True
    )
    if form != "trec":
        ended = vsebench.evaluate(
            run=given({**lists, at: [*lists[at], "-1"]}), split=split, metrics="R@1", ci=0, trust=True
        )
        assert ended["R@1", direction].value == plain["R@1", direction].value
        assert any(f"1 of {len(lists)} lists end with -1" in note for note in ended.notes)


def test_ids_are_found_in_any_spelling_and_once(tmp_path: Path, pinned: Pinned) -> None:
    split = TestSet.captioned("toy", np.arange(4), np.arange(100, 104), np.arange(4))
    lists = {f"{n:03}.jpg": [f"0{100 + n}", f"0{100 + (n + 1) % 4}"] for n in range(4)}
    assert vsebench.evaluate(run={"i2t": lists}, split=split, metrics="R@1", ci=0)["R@1", "i2t"].value == 1.0
    for other in ({**lists, "001": ["0100"], "1": ["0100"]}, {**lists, "001.jpg": ["101", "0101"]}):
        with pytest.raises(BadInput) as caught:  # two ids stay two
            vsebench.evaluate(run={"i2t": other}, split=split, metrics="R@1", ci=0)
        pinned(caught.value)


def test_minus_1_may_be_an_id_of_the_split(refuses: Refuses) -> None:
    split = TestSet.captioned("toy", np.array([-1, 7]), np.array([3, 4]), np.arange(2))
    refuses(BadInput, vsebench.evaluate, run={"t2i": {3: [7, -1], 4: [7]}}, split=split, metrics="R@1", ci=0)
