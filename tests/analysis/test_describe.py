"""``vsebench data describe``: the numbers against counts by hand and by brute force, and the page."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import os
import re
import statistics
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import vsebench
from tests import oracle_scenes as oracle
from vsebench.analysis import true_pairs
from vsebench.analysis.examples import png
from vsebench.cli import app
from vsebench.report.description_parts import bars, spread
from vsebench.scenes.alike import near_duplicates
from vsebench.scenes.content import KINDS
from vsebench.scenes.draws import Draws
from vsebench.scenes.encode import encode_scene
from vsebench.scenes.sample import changed, combination_weights, draw, scenes
from vsebench.scenes.settings import PARTS, Settings, parse
from vsebench.scenes.wording import captions
from vsebench.scenes.world import Group, Scene

NAME = "scenes-100-seed3-size16-near0.3-wrong0.3-generic0.1"


def invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, args)])


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with the scenes."""
    before, path = os.environ.get("VSEBENCH_CACHE"), tmp_path_factory.mktemp("cache")
    os.environ["VSEBENCH_CACHE"] = str(path)
    vsebench.build_scenes(NAME)
    yield path
    os.environ.pop("VSEBENCH_CACHE") if before is None else os.environ.update(VSEBENCH_CACHE=before)


# --- numbers ---


def alike(a: Scene, b: Scene) -> bool:
    """Whether some order of the groups of b gives a with at most one difference of values and none of relations."""
    if len(a.groups) != len(b.groups):
        return False
    fields = ("shape", "colour", "size", "texture", "number")
    n = len(a.groups)
    for order in itertools.permutations(range(n)):
        different = a.background != b.background
        different += sum(getattr(a.groups[g], f) != getattr(b.groups[order[g]], f) for g in range(n) for f in fields)
        relations = itertools.product(range(3), range(n), range(n))
        if different <= 1 and all(
            oracle.related(a, r, g, h) == oracle.related(b, r, order[g], order[h]) for r, g, h in relations if g != h
        ):
            return True
    return False


def described(part: str) -> dict[str, Any]:
    """The numbers of a part, from its scenes and captions, by loops."""
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
    near = [any(alike(a, b) for m, b in enumerate(shown) if m != n) for n, a in enumerate(shown)]
    return {
        "images": len(shown),
        "captions": len(found),
        "words": {"mean": statistics.mean(lengths), "p5": lengths[-(-len(lengths) * 5 // 100) - 1]},
        "vocabulary": len({w for caption in words for w in caption}),
        "repeated": sum(n for n in Counter(words).values() if n > 1) / len(words),
        "kinds": {kind: kinds[kind] / len(found) for kind in KINDS},
        "facts": statistics.mean(n for n in facts if n),
        "near_duplicates": statistics.mean(near),
        "false_negatives": 1 - sum(own) / sum(map(len, true)),
        "ambiguous": sum(n > 1 for n in of_own) / len(of_own),
        "images_a_caption": {"mean": statistics.mean(of_own), "median": sorted(of_own)[(len(of_own) - 1) // 2]},
        "captions_an_image": (sum(map(len, true)) - sum(own)) / len(shown),
        "true": true,
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    return {part: described(part) for part in PARTS}


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    scene = found["scenes"]
    for name in ("images", "captions", "vocabulary"):
        assert found[name] == expected[name], name
    assert found["captions_per_image"] == [5, 5] and scene["step"] == 1
    assert found["words"]["p5"] == expected["words"]["p5"]
    assert found["words"]["mean"] == pytest.approx(expected["words"]["mean"])
    assert found["repeated"] == pytest.approx(expected["repeated"])
    assert scene["facts"]["mean"] == pytest.approx(expected["facts"])
    assert scene["kinds"] == pytest.approx(expected["kinds"])
    assert scene["images_a_caption"]["median"] == expected["images_a_caption"]["median"]
    assert scene["images_a_caption"]["mean"] == pytest.approx(expected["images_a_caption"]["mean"])
    for name in ("near_duplicates", "false_negatives", "ambiguous", "captions_an_image"):
        assert scene[name] == pytest.approx(expected[name]), name
        assert expected[name] > 0


def test_every_number_of_scenes_is_that_of_counting(expected: dict[str, dict[str, Any]]) -> None:
    result = invoke("describe", NAME, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["schema"], document["name"]) == ("vsebench/description/1", NAME)
    assert [part["part"] for part in document["parts"]] == ["train", "val", "test"]
    for part in document["parts"]:
        check(part, expected[part["part"]])


def test_a_split_of_scenes_is_described_as_the_part(expected: dict[str, dict[str, Any]]) -> None:
    (part,) = vsebench.describe(f"{NAME}-val").parts
    assert part.name == f"{NAME}-val"
    check(part.to_dict(), expected["val"])


def test_of_many_pairs_some_captions_are_counted(
    expected: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(true_pairs, "MOST_PAIRS", 25 * 125 // 3 + 1)
    monkeypatch.setattr(true_pairs, "_BLOCK", 300)  # several blocks
    seen: list[tuple[int, int]] = []
    description = vsebench.describe(f"{NAME}-test", progress=lambda done, of: seen.append((done, of)))
    found = description.parts[0].scenes
    assert found is not None and found.step == 3
    settings = parse(NAME)
    chosen = [(c // 5, t) for c, t in enumerate(expected["test"]["true"])][::3]
    own = sum(image in t for image, t in chosen)
    every = sum(len(t) for _, t in chosen)
    assert found.false_negatives == pytest.approx(1 - own / every)
    assert found.captions_an_image == pytest.approx(3 * (every - own) / settings.sizes["test"])
    assert sorted(seen)[-1] == (len(chosen), len(chosen))
    assert "for one caption in 3" in str(description)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_near_duplicates_are_those_of_all_pairs(seed: int, count: int) -> None:
    draws, weights = Draws(seed), combination_weights(Settings(tail=3))
    shown = [draw(draws, weights)]
    for _ in range(count):
        scene = changed(draws.pick(shown), draws) if draws.chance(0.5) else draw(draws, weights)
        if draws.chance(0.3):
            scene = changed(scene, draws)
        order = draws.shuffled(range(len(scene.groups)))
        if len(set(scene.cells)) == len(order):  # the order of groups has no meaning unless one covers another
            scene = replace(
                scene,
                groups=tuple(scene.groups[g] for g in order),
                centres=tuple(scene.centres[g] for g in order),
                cells=tuple(scene.cells[g] for g in order),
            )
        shown.append(scene)
    expected = [any(alike(a, b) for m, b in enumerate(shown) if m != n) for n, a in enumerate(shown)]
    assert near_duplicates(np.array([encode_scene(scene) for scene in shown])).tolist() == expected


def test_near_duplicates_by_hand() -> None:
    left, right = (0, 0, 128, 256), (128, 0, 256, 256)
    # The circle, from 24 to 104 in both directions, is left of the square, from 174 to 210 and 46 to 82.
    at_left, at_right = ((64, 64),), ((192, 64),)
    circle, square = Group(0, 0, 1, 0, 1), Group(1, 4, 0, 1, 1)
    base = Scene(0, (circle, square), (at_left, at_right), (left, right))
    exchanged = replace(base, centres=(at_right, at_left), cells=(right, left))
    for other, expected in (
        (base, True),
        (replace(base, background=1), True),
        (replace(base, groups=(replace(circle, number=2), square)), True),
        (replace(base, groups=(circle, replace(square, shape=5))), True),
        (replace(base, groups=(replace(circle, number=2), square), background=1), False),
        (replace(base, groups=(replace(circle, number=2, size=0), square)), False),
        (replace(base, centres=(at_left, ((192, 121),))), True),
        (replace(base, centres=(at_left, ((192, 122),))), False),  # the circle is above the square, too
        (exchanged, False),  # the circle is right of the square
        (replace(base, groups=(square, circle)), False),
        (replace(exchanged, groups=(square, circle)), True),
    ):
        assert near_duplicates(np.array([encode_scene(base), encode_scene(other)])).tolist() == [expected] * 2


def test_spreads_and_bars() -> None:
    values = np.array([3, 1, 2, 2, 9], np.int8)
    assert asdict(spread(values)) == {"mean": 3.4, "p5": 1, "median": 2, "p95": 9}
    found = bars("x", np.repeat([1, 2, 4, 100], [5, 3, 990, 2]))
    assert found.labels == ("1", "2", "3", "4+") and found.counts == (5, 3, 0, 992)
    assert bars("x", np.array([7, 7])).labels == ("7",) and bars("x", np.array([], int)).counts == ()


# --- other data ---


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A data set of one's own, with captions that a page must not trust."""
    texts = [
        ["A dog runs.", "a dog runs", "<script>alert(1)</script> & 'quotes' \"double\""],
        ["A red circle.", "evil \x1b[31m \u202e text"],
    ]
    lines = [
        {"image_id": f"<b>{image}</b>", "caption_id": f"{image}-{n}", "caption": text}
        for image, of in enumerate(texts)
        for n, text in enumerate(of)
    ]
    file = tmp_path / "captions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert invoke("build", "mine", "--from", file, "--force").exit_code == 0
    return "mine"


def test_a_data_set_of_ones_own(own: str) -> None:
    (part,) = json.loads(invoke("describe", own, "--json").stdout)["parts"]
    assert "scenes" not in part
    assert (part["images"], part["captions"], part["captions_per_image"]) == (2, 5, [2, 3])
    assert part["repeated"] == 2 / 5  # of the captions, two have the words of another one
    assert part["frequent"]["a"] == 3 and list(part["frequent"])[:2] == ["a", "dog"]
    table = invoke("describe", own).stdout
    assert "2 to 3" in table and "false negatives" not in table and "\x1b" not in table


def test_coco(coco: vsebench.Split) -> None:
    description = vsebench.describe("coco-5k")
    (part,) = description.parts
    assert (part.images, part.captions, part.scenes) == (5000, 25_000, None)
    assert len(description.examples) == 12 and all(example.png is None for example in description.examples)
    assert "<img" not in description.to_html()


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("nothing", 2, "unknown split 'nothing'"),
        ("scenes-50", 4, "vsebench data build scenes-50"),
        ("scenes-50-test", 4, "vsebench data build scenes-50"),
        ("scenes-50-colour3", 2, "there is no setting 'colour'"),
    ],
)
def test_what_cannot_be_described(name: str, code: int, words: str) -> None:
    result = invoke("describe", name)
    assert result.exit_code == code and words in " ".join(result.stderr.split()) and not result.stdout


# --- formats ---


@pytest.mark.parametrize("ending", ["md", "tex", "csv", "json", "html"])
def test_every_format_is_written(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"d.{ending}"
    result = invoke("describe", NAME, "-o", file)
    assert result.exit_code == 0 and result.stdout == invoke("describe", NAME).stdout, result.stderr
    text = file.read_text()
    if ending == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["part"] for row in rows] == ["train", "val", "test"]
        assert float(rows[0]["wrong"]) == pytest.approx(0.3, abs=0.1)
        assert {"words_mean", "facts_p95", "false_negatives", "near_duplicates", "most_captions"} <= set(rows[0])
    else:
        assert "near" in text


class Page(HTMLParser):
    """Checks that elements are closed, and collects what is of interest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.images: list[str] = []
        self.text = ""
        self.kinds = 0  # labels of captions that are wrong or generic
        self.marks: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        values = {name: value or "" for name, value in attributes}
        if tag == "img":
            self.images.append(values["src"])
        assert not {"href", "onload", "onclick", "srcset"} & set(values)
        self.kinds += values.get("class", "").startswith("kind ")
        if tag == "mark":
            self.marks.append((values["class"], ""))
        if tag not in ("meta", "img", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] == "mark":
            self.marks[-1] = (self.marks[-1][0], data)


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert not set(page.tags) & {"script", "link", "iframe", "object", "base"}
    assert "http" not in text and "url(" not in text and "@import" not in text
    return page


def pixels(data: bytes) -> np.ndarray:
    """The pixels of a PNG file of 8-bit RGB without filters or interlacing."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        chunks[kind] = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + chunks[kind]) == int.from_bytes(data[at + 8 + length : at + 12 + length], "big")
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"] and chunks[b"IHDR"][8:] == bytes([8, 2, 0, 0, 0])
    width, height = (int.from_bytes(chunks[b"IHDR"][n : n + 4], "big") for n in (0, 4))
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


def test_pictures() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    assert np.array_equal(pixels(png(image)), image)
    assert np.array_equal(pixels(png(image[:, ::-1])), image[:, ::-1])
    image_module = pytest.importorskip("PIL.Image")
    assert np.array_equal(np.asarray(image_module.open(io.BytesIO(png(image)))), image)


def test_the_page_of_scenes() -> None:
    description = vsebench.describe(NAME)
    page = parsed(description.to_html())
    stored, split = vsebench.open_scenes(NAME), vsebench.load_split(f"{NAME}-test", captions=True)
    assert len(description.examples) == len(page.images) == 12
    shown = [pixels(base64.b64decode(src.removeprefix("data:image/png;base64,"))) for src in page.images]
    for example, picture in zip(description.examples, shown, strict=True):
        assert np.array_equal(picture, stored.images[int(example.image_id.rpartition("-")[2])])
        texts = [split.captions[c] for c in range(125) if str(split.caption_ids[c]).startswith(f"{example.image_id}-")]
        assert [caption.text for caption in example.captions] == texts
        assert all(text in page.text for text in (*texts, *example.others))
    kinds = Counter(caption.kind for example in description.examples for caption in example.captions)
    assert set(kinds) == set(KINDS)
    assert page.kinds == kinds["wrong"] + kinds["generic"] and page.tags["svg"] == 3
    assert {kind for kind, _ in page.marks} == {
        "shape", "colour", "size", "texture", "number", "relation", "background",
    }  # fmt: skip


def test_examples_show_what_is_true_and_what_makes_captions_wrong() -> None:
    settings = parse(NAME)
    shown = list(scenes(settings))
    by_text = {c.text: c.content.facts for n, s in enumerate(shown) for c in captions(s, n, settings)}
    wrong = 0
    for example in vsebench.describe(NAME).examples:
        scene = shown[int(example.image_id.rpartition("-")[2])]
        for text in example.others:
            assert oracle.entails(by_text[text], scene)
        assert len(set(example.others)) == len(example.others) <= 2
        for caption in example.captions:
            assert oracle.entails(by_text[caption.text], scene) == (caption.kind == "true")
            assert bool(caption.false) == (caption.kind == "wrong")
            wrong += caption.kind == "wrong"
    assert wrong >= 3


def test_marked_words_are_those_that_state_facts() -> None:
    from vsebench.report.description_page import _marked

    text = "Two small striped red arrow signs are to the left of a plus sign with dots on a gray background. There are"
    page = Page()
    page.feed(_marked(text))
    assert page.text == text
    assert page.marks == [
        ("number", "Two"), ("size", "small"), ("texture", "striped"), ("colour", "red"), ("shape", "arrow signs"),
        ("relation", "to the left of"), ("shape", "plus sign"), ("texture", "with dots"),
        ("background", "gray background"),
    ]  # fmt: skip
    assert _marked("A picture of something colorful .") == "A picture of something colorful ."
    assert _marked("<b>red</b>") == "&lt;b&gt;<mark class='colour'>red</mark>&lt;/b&gt;"


def test_the_page_of_other_data_is_escaped(own: str) -> None:
    page = parsed(vsebench.describe(own).to_html())
    assert "<script>alert(1)</script> & 'quotes' \"double\"" in page.text and "<b>0</b>" in page.text
    assert "evil \\x1b[31m \\u202e text" in page.text and page.images == [] and page.marks == []
    assert "fact" not in page.text


def test_the_page_is_titled_once_and_its_charts_have_axes() -> None:
    text = vsebench.describe(NAME).to_html()
    assert text.count(f">{NAME}<") == 2  # the title of the window, and that of the page
    chart = text.split("<svg")[1].split("</svg>")[0]
    assert ">captions</text>" in chart and ">words a caption</text>" in chart
    ticks = [int(t) for t in re.findall(r"text-anchor='end'>([\d,]+)</text>", chart.replace(",", ""))]
    assert ticks[0] == 0 and len(ticks) > 2 and len({b - a for a, b in itertools.pairwise(ticks)}) == 1


def test_the_page_fits_a_phone(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    vsebench.describe(NAME).save(path)
    with browser.open(path, width=390) as shown:
        cell = "document.querySelector('.vsebench tbody tr').lastElementChild.previousElementSibling"
        assert shown.evaluate(f"{cell}.getBoundingClientRect().right") <= 390
