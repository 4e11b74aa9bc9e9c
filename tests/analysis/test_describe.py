"""``vsebench data describe``: the numbers against counts by hand and by brute force."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import oracle_scenes as oracle
from tests.commands import cli, document, refused
from tests.messages import Pinned
from vsebench.analysis import true_pairs
from vsebench.analysis.true_pairs import spread
from vsebench.scenes.content import KINDS
from vsebench.scenes.sample import scenes
from vsebench.scenes.settings import PARTS, parse
from vsebench.scenes.wording import captions

NAME = "scenes-100-seed3-size16-near0.3-wrong0.3-generic0.1"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache with the scenes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        vsebench.build_scenes(NAME)
        yield


# --- numbers ---


def described(part: str) -> dict[str, Any]:
    """The values of a part by their name, from its scenes and captions, by loops; and what is true of which."""
    settings = parse(NAME)
    shown, found = [], []
    for image, scene in enumerate(scenes(settings)):
        if settings.part_of(image) == part:
            shown.append(scene)
            found += [(len(shown) - 1, caption) for caption in captions(scene, image, settings)]
    words = [tuple(re.findall(r"\w+", caption.text.lower())) for _, caption in found]
    lengths = sorted(len(w) for w in words)
    facts = [oracle.stated(c.content.facts) for _, c in found]
    true = [[n for n, scene in enumerate(shown) if oracle.entails(c.content.facts, scene)] for _, c in found]
    own = [n in true[c] for c, (n, _) in enumerate(found)]
    kinds = Counter(c.content.kind for _, c in found)
    of_own = [len(t) for t, mine in zip(true, own, strict=True) if mine]
    values = {
        "images": len(shown),
        "captions": len(found),
        "captions an image": 5,
        "words a caption, mean [5 %, 95 %]": statistics.mean(lengths),
        "different words": len({w for caption in words for w in caption}),
        "repeated captions": sum(n for n in Counter(words).values() if n > 1) / len(words),
        "facts a caption, mean [5 %, 95 %]": statistics.mean(n for n in facts if n),
        **{f"{kind} captions": kinds[kind] / len(found) for kind in KINDS},
        "false negatives": 1 - sum(own) / sum(map(len, true)),
        "captions true of several images": sum(n > 1 for n in of_own) / len(of_own),
        "images a caption is true of, mean [5 %, 95 %]": statistics.mean(of_own),
        "images a caption is true of, median": sorted(of_own)[(len(of_own) - 1) // 2],
        "true captions an image, beyond its own": (sum(map(len, true)) - sum(own)) / len(shown),
    }
    return {"values": values, "p5": lengths[-(-len(lengths) * 5 // 100) - 1], "true": true}


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    return {part: described(part) for part in PARTS}


def check(rows: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    found = {row["fact"]: row for row in rows}
    assert {name: row["value"] for name, row in found.items()} == pytest.approx(expected["values"])
    assert found["words a caption, mean [5 %, 95 %]"]["low"] == expected["p5"]
    assert all(found[name]["value"] > 0 for name in ("false negatives", "captions true of several images"))


def test_every_number_of_scenes_is_that_of_counting(expected: dict[str, dict[str, Any]]) -> None:
    found = document("data", "describe", NAME)
    assert (found["schema"], found["name"]) == ("vsebench/description/2", NAME)
    facts = found["tables"]["facts"]
    assert list(dict.fromkeys(row["part"] for row in facts)) == list(PARTS)
    for part in PARTS:
        check([row for row in facts if row["part"] == part], expected[part])
    split = vsebench.describe(f"{NAME}-val")
    assert {row["part"] for row in split.records()} == {f"{NAME}-val"}
    check(split.records(), expected["val"])


def test_of_many_pairs_some_captions_are_counted(
    expected: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(true_pairs, "MOST_PAIRS", 25 * 125 // 3 + 1)
    monkeypatch.setattr(true_pairs, "_BLOCK", 300)  # several blocks
    seen: list[tuple[int, int]] = []
    description = vsebench.describe(f"{NAME}-test", progress=lambda done, of: seen.append((done, of)))
    found = {row["fact"]: row["value"] for row in description.records()}
    settings = parse(NAME)
    chosen = [(c // 5, t) for c, t in enumerate(expected["test"]["true"])][::3]
    own = sum(image in t for image, t in chosen)
    every = sum(len(t) for _, t in chosen)
    assert found["false negatives"] == pytest.approx(1 - own / every)
    assert found["true captions an image, beyond its own"] == pytest.approx(3 * (every - own) / settings.sizes["test"])
    assert sorted(seen)[-1] == (len(chosen), len(chosen))
    assert "for one caption in 3" in str(description)


def test_spreads() -> None:
    values = np.array([3, 1, 2, 2, 9], np.int8)
    assert asdict(spread(values)) == {"mean": 3.4, "p5": 1, "median": 2, "p95": 9}
    assert asdict(spread(values[:0])) == dict.fromkeys(("mean", "p5", "median", "p95"), 0)


# --- other data ---


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A data set of one's own, with captions that no output must trust."""
    texts = [
        ["A dog runs.", "a dog runs", "<script>alert(1)</script> & 'quotes' \"double\""],
        ["A red circle.", "evil \x1b[31m \u202e text"],
    ]
    lines = [
        {"image_id": f"<b>{image}</b>", "caption_id": f"{image}-{n}", "caption": text}
        for image, of in enumerate(texts) for n, text in enumerate(of)
    ]  # fmt: skip
    file = tmp_path / "captions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    cli("data", "build", "mine", "--from", file, "--replace")
    return "mine"


def test_a_data_set_of_ones_own(own: str) -> None:
    tables = document("data", "describe", own)["tables"]
    facts = {row["fact"]: row for row in tables["facts"]}
    assert len(facts) == 6 and (facts["images"]["value"], facts["captions"]["value"]) == (2, 5)
    assert (facts["captions an image"]["low"], facts["captions an image"]["high"]) == (2, 3)
    assert facts["repeated captions"]["value"] == 2 / 5  # two have the words of another one
    assert [row["word"] for row in tables["words"]][:2] == ["a", "dog"] and tables["words"][0]["n"] == 3
    table = cli("data", "describe", own).out
    assert "2 to 3" in table and "false negatives" not in table and "\x1b" not in table


@pytest.mark.parametrize("name", ["nothing", "scenes-50", "scenes-50-test", "scenes-50-colour3"])
def test_what_cannot_be_described(name: str, pinned: Pinned) -> None:
    pinned(refused("data", "describe", name, code=4 if name in ("scenes-50", "scenes-50-test") else 2))


# --- formats ---


@pytest.mark.parametrize("ending", ["md", "tex", "csv", "json", "html"])
def test_every_format_is_written(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"d.{ending}"
    assert cli("data", "describe", NAME, "-o", file).out == cli("data", "describe", NAME).out
    text = file.read_text()
    if ending == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["part"] for row in rows][:3] == ["train", "val", "test"]
        wrong = next(row for row in rows if row["fact"] == "wrong captions")
        assert float(wrong["value"]) == pytest.approx(0.3, abs=0.1)
    else:
        assert "false" in text
