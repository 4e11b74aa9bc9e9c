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
from vsebench.data.align import align_lists
from vsebench.data.formats.raw import RawLists
from vsebench.errors import BadInput, UsageError
from vsebench.types import Direction, Split

Lists = Mapping[Any, Any]


def i2t(coco: Split, length: int = 12, queries: int | None = None) -> dict[int, list[int]]:
    """The list of every image: its own captions and the next ones."""
    captions = np.concatenate([coco.caption_ids, coco.caption_ids]).tolist()
    return {q: captions[5 * i : 5 * i + length] for i, q in enumerate(coco.image_ids[:queries].tolist())}


def t2i(coco: Split, length: int = 12, late: int = 0) -> dict[int, list[int]]:
    """The list of every caption, with its own image behind ``late`` others."""
    images = np.concatenate([coco.image_ids, coco.image_ids]).tolist()
    return {
        q: [*images[i + 1 : i + 1 + late], images[i], *images[i + 1 + late : i + length]]
        for q, i in zip(coco.caption_ids.tolist(), coco.image_of.tolist(), strict=True)
    }


def write(path: Path, lists: Lists) -> Path:
    """Lists as JSON."""
    path.write_text(json.dumps(lists))
    return path


def trec(path: Path, lists: Mapping[int, list[int]]) -> Path:
    """Lists as a TREC run."""
    path.write_text("".join(f"{q} Q0 {x} {r} {-r} vse\n" for q, items in lists.items() for r, x in enumerate(items, 1)))
    return path


def values(report: vsebench.Report) -> dict[tuple[str, str | None], float]:
    """(metric, direction) -> value."""
    return {(str(r.metric), r.direction): r.value for r in report.results}


def run(raw: Lists, split: str | None = None) -> Any:
    """Lists in memory, aligned with a split."""
    return align_lists(RawLists(dict(raw), "eccv-json", (Path("r.json"),)), split)


def refused(raw: Lists, split: str | None = None) -> BadInput:
    """The error, which names the file and a fix."""
    with pytest.raises(BadInput) as caught:
        run(raw, split)
    assert caught.value.where == "r.json" and caught.value.fix
    return caught.value


def test_both_directions_from_json(coco: Split, tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(coco), "t2i": t2i(coco, late=2)})
    report = vsebench.evaluate(run=[file], metrics="R@1,R@5,mAP@R,MRR,RSum")
    assert report.split == "coco-5k" and "|score:run|" in report.signature
    found = values(report)
    assert found["R@1", "i2t"] == found["mAP@R", "i2t"] == found["MRR", "i2t"] == 1.0
    assert (found["R@1", "t2i"], found["R@5", "t2i"]) == (0.0, 1.0)
    assert found["MRR", "t2i"] == pytest.approx(1 / 3, abs=1e-12)
    assert found["RSum", None] == 5.0


def test_trec_gzip_and_two_files_agree(coco: Split, tmp_path: Path) -> None:
    first, second = i2t(coco, 2), t2i(coco, 2, late=1)
    file = write(tmp_path / "r.json", {"i2t": first, "t2i": second})
    one_file = vsebench.evaluate(run=file, metrics="R@1,R@2")
    paths = [trec(tmp_path / "a.trec", first), tmp_path / "b.json.gz"]
    paths[1].write_bytes(gzip.compress(json.dumps(second).encode(), 1))
    for files in (paths, dict(zip(("i2t", "t2i"), paths, strict=True)), [f"i2t={paths[0]}", paths[1]]):
        report = vsebench.evaluate(run=files, metrics="R@1,R@2")
        assert values(report) == values(one_file) and report.signature == one_file.signature


def test_one_direction(coco: Split, tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", i2t(coco))
    assert set(values(vsebench.evaluate(run=[file], metrics="R@1"))) == {("R@1", "i2t")}
    with pytest.raises(BadInput, match="no list for t2i"):
        vsebench.evaluate(run=[file], metrics="R@1", direction="t2i")
    with pytest.raises(UsageError, match="RSum is a sum over both directions"):
        vsebench.evaluate(run=[file], metrics="RSum")


def test_the_split_may_be_named(coco: Split, tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(coco, 60)})
    report = vsebench.evaluate(run=[file], split="coco-1k", metrics="R@1,R@5")
    assert report.split == "coco-1k" and set(values(report).values()) == {1.0}


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ("mAP@R", "mAP@R (i2t)"),
        ("R-P", "R-P (i2t)"),
        ("R@10", "R@10 (i2t)"),
        ("Recall@5,R@1", "Recall@5 (i2t)"),
        ("eccv:mAP@R", "eccv:mAP@R (i2t)"),
        ("eccv:R@1,R@4,R@6,R@7", "R@6 (i2t), R@7 (i2t)"),
    ],
)
def test_short_lists_are_refused_with_the_metrics(coco: Split, tmp_path: Path, metrics: str, named: str) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(coco, 4)})
    with pytest.raises(BadInput) as caught:
        vsebench.evaluate(run=[file], metrics=metrics)
    assert caught.value.what.startswith(f"the lists are too short for {named}: for ")
    assert "usable items and" in caught.value.what and "--short-lists miss" in (caught.value.fix or "")
    counted = vsebench.evaluate(run=[file], metrics=metrics, short_lists="miss")
    assert any(w.startswith(f"lists are too short for {named}") for w in counted.warnings)


def test_items_that_are_not_listed_count_as_missed(coco: Split, tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", {"i2t": i2t(coco, 3)})
    found = values(vsebench.evaluate(run=[file], metrics="Recall@5,mAP@R", short_lists="miss"))
    assert found == {("Recall@5", "i2t"): pytest.approx(0.6), ("mAP@R", "i2t"): pytest.approx(0.6)}
    without_positives = write(tmp_path / "l.json", {"t2i": {q: x[1:] for q, x in t2i(coco, 3).items()}})
    with pytest.raises(BadInput, match="too short for MedR"):
        vsebench.evaluate(run=[without_positives], metrics="MedR", short_lists="miss")


@pytest.mark.parametrize("option", [{"ties": "mean"}, {"similarity": "dot"}, {"depth": 5, "save_run": "top.json"}])
def test_lists_have_no_scores(option: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="retrieved lists have an order and no scores"):
        vsebench.evaluate(run=[tmp_path / "none"], **option)


# Matching


def test_the_ids_give_the_directions(coco: Split) -> None:
    found = run({"?0": t2i(coco), "?1": i2t(coco)})
    assert set(found.lists) == {"i2t", "t2i"}
    assert found.lists["i2t"][3].tolist() == list(range(15, 27))
    assert found.lists["t2i"][7][0] == 1 and found.lists["t2i"][7].dtype == np.int64


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_exchanged_directions_are_refused(coco: Split, direction: Direction) -> None:
    other = t2i(coco) if direction == "i2t" else i2t(coco)
    message = f"the lists called {direction} look swapped: their queries and items are those of the other direction"
    assert refused({direction: other}).what == message


def test_unknown_ids_are_counted_and_the_first_is_named(coco: Split) -> None:
    good = i2t(coco, queries=10)
    first = next(iter(good))
    unknown_queries = {**good, 1: [2], 3: [4]}
    assert refused({"i2t": unknown_queries}).what == "i2t: 2 of the 12 query ids are not in split 'coco-5k' (first: 1)"
    unknown_items = {q: [*items, -5] for q, items in good.items()}
    expected = f"i2t: 10 of the 10 lists hold items that are not in split 'coco-5k' (first: item -5 of query {first})"
    assert refused({"i2t": unknown_items}).what == expected


def test_foreign_ids_and_ambiguous_directions(coco: Split) -> None:
    assert refused({"i2t": {"a": ["b"], "c": ["d"]}}).what.startswith(
        "query ids such as 'a' belong to no declared split"
    )
    unclear = refused({"?0": {int(coco.image_ids[0]): [1], 2: [3], 4: [5]}}, "coco-5k").what
    assert unclear.startswith(
        "it is not clear whether the lists are image-to-text or text-to-image: 0% of the ids fit i2t"
    )
    assert refused({"i2t": i2t(coco), "?1": i2t(coco)}).what == "two runs hold i2t"


def test_custom_is_no_split_for_lists() -> None:
    with pytest.raises(UsageError, match="they need a declared split"):
        run({"i2t": {1: [2]}}, "custom")
