"""Files of captions are read by their content, whatever their names, separators and headings."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from tests.worlds import world
from vsebench.errors import BadInput, UsageError
from vsebench.files.captions import all_of_file, from_file, lines_of
from vsebench.sets.match import with_captions
from vsebench.types import TestSet

IMAGES, TIMES = 12, 5
NAMES = [f"{100 + i}_{i}.jpg" for i in range(IMAGES)]
SAYS = [[f'a dog, number {i}, is "seen" from side {k}' for k in range(TIMES)] for i in range(IMAGES)]
FLAT = [(name, k, text) for name, texts in zip(NAMES, SAYS, strict=True) for k, text in enumerate(texts)]
TEXTS = tuple(text for *_, text in FLAT)


def table(rows: list[list[Any]], separator: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def lines(form: str) -> str:
    return "".join(form.format(name=name, stem=name[:-4], k=k, text=text) + "\n" for name, k, text in FLAT)


WITH_IDS: dict[str, str] = {
    "marked": lines("{name}#{k}\t{text}"),
    "marked twice": lines("{stem}#zhm#{k}\t{text}"),
    "headless tabs": lines("{name}\t{text}"),
    "headless bars": lines("{name}| {k}| {text}"),
    "headless quoted": table([[name, text] for name, _, text in FLAT], ","),
    "headless commas": lines("{name},{text}"),
    "ids of words": lines("clip{stem}\t{text}"),
    "heading": table([["image", "caption"], *([name, text] for name, _, text in FLAT)], ","),
    "heading, not quoted": "image,caption\n" + lines("{name},{text}"),
    "heading of semicolons": table([["image", "caption"], *([name, text] for name, _, text in FLAT)], ";"),
    "bars with quotes": "image_name| comment_number| comment\n" + lines("{name}| {k}| {text}"),
    "wide": table([["file_name", *(f"caption_{k + 1}" for k in range(TIMES))],
                   *([name, *texts] for name, texts in zip(NAMES, SAYS, strict=True))], ","),
    "ids alone": "caption_id\tcaption\n" + lines("{stem}#enc#{k}\t{text}"),
    "lists of Python": table([["image", "captions"], *([n, str(t)] for n, t in zip(NAMES, SAYS, strict=True))], ","),
    "lists of JSON": table([["raw", "filename"], *([json.dumps(t), n] for n, t in zip(NAMES, SAYS, strict=True))], ","),
    "karpathy": json.dumps({"images": [{"filename": n, "split": "test", "sentences": [{"raw": x} for x in t]}
                                       for n, t in zip(NAMES, SAYS, strict=True)]}),
    "array": json.dumps([{"image": n, "caption": t} for n, t in zip(NAMES, SAYS, strict=True)]),
    "array of pairs": json.dumps([{"image": n, "image_id": f"coco_{n}", "caption": t} for n, _, t in FLAT]),
    "results": json.dumps([{"image_id": n, "caption": t} for n, _, t in FLAT]),
    "by image": json.dumps(dict(zip(NAMES, SAYS, strict=True))),
    "classes": "".join(json.dumps({"id": i // 3, "file_path": n, "captions": t}) + "\n"
                       for i, (n, t) in enumerate(zip(NAMES, SAYS, strict=True))),
    "videos": json.dumps({"info": {}, "videos": [{"video_id": n, "split": "test"} for n in NAMES],
                          "sentences": [{"video_id": n, "sen_id": i, "caption": t}
                                        for i, (n, _, t) in enumerate(FLAT)]}),
    "enCap": json.dumps([{"videoID": n, "enCap": t, "chCap": ["x"]} for n, t in zip(NAMES, SAYS, strict=True)]),
    "descriptions": "".join(json.dumps({"example_id": f"test_{i}", "image_file": n, "description": t}) + "\n"
                            for i, (n, _, t) in enumerate(FLAT)),
    "ids of examples": json.dumps([{"example_id": n, "descriptions": t} for n, t in zip(NAMES, SAYS, strict=True)]),
    "annotations": json.dumps({"images": [{"id": n} for n in NAMES],
                               "annotations": [{"id": f"{n}#{k}", "image_id": n, "caption": t} for n, k, t in FLAT]}),
    "one image each": "".join(json.dumps({"text_id": i, "text": t, "image_ids": [n]}) + "\n"
                              for i, (n, _, t) in enumerate(FLAT)),
}  # fmt: skip


@pytest.mark.parametrize("ending", [".txt", ".csv", ".token", ".json", ""])
@pytest.mark.parametrize("form", WITH_IDS)
def test_forms_with_ids_under_any_name(form: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"c{ending}"
    path.write_text(WITH_IDS[form], encoding="utf-8")
    rows = all_of_file(path)
    assert rows.captions == TEXTS and lines_of(path) is None
    images, image_of = rows.images()
    assert len(images) == IMAGES and image_of.tolist() == [i for i in range(IMAGES) for _ in range(TIMES)]
    if form not in ("marked twice", "ids alone", "ids of words"):
        assert images.tolist() == NAMES


PLAIN: dict[str, str] = {
    "plain": "\n".join(TEXTS),
    "numbered from 0": "\n".join(f"{i}\t{text}" for i, text in enumerate(TEXTS)),
    "numbered, a comma": "\n".join(f"{i},{text}" for i, text in enumerate(TEXTS)),
    "numbered, a point": "\n".join(f"{i}. {text}" for i, text in enumerate(TEXTS, 1)),
    "numbered, a space": "\n".join(f"{i} {text}" for i, text in enumerate(TEXTS)),
    "strings": json.dumps(TEXTS, indent=1),
    "a column": "caption\n" + "\n".join(TEXTS),
    "a column of quotes": table([["text"], *([text] for text in TEXTS)], ","),
    "numbered from 1": "\n".join(f"{i}\t{text}" for i, text in enumerate(TEXTS, 1)) + "\n",
}


@pytest.mark.parametrize("ending", [".txt", ".csv", ".json"])
@pytest.mark.parametrize("form", PLAIN)
def test_one_caption_a_line_under_any_name(form: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"c{ending}"
    path.write_text(PLAIN[form], encoding="utf-8")
    assert lines_of(path) == TEXTS
    for count in (1, 2):
        path.write_text("\n".join(TEXTS[:count]), encoding="utf-8")
        assert lines_of(path) == TEXTS[:count]
        path.write_text("".join(f"{name}\t{text}\n" for name, _, text in FLAT[:count]), encoding="utf-8")
        assert from_file(path).captions == TEXTS[:count]


@pytest.mark.parametrize(
    "text",
    [
        "a dog\tand a tab\na cat\n",
        "dog, a small one\ncat, on a sofa\n",
        "a.jpg is no caption\nneither is b.jpg here\n",
        "the dog of a.jpg sat\nthe cat of b.jpg slept\n",
        "7\tup\n9\tlives\nplain\n",
        "{a brace\n[a bracket\n",
        "image, caption and text are words\nof a caption\n",
    ],
)
def test_a_plain_file_with_tabs_and_commas_stays_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "c").write_text(text)
    assert lines_of(tmp_path / "c") == tuple(text.splitlines())


@pytest.mark.parametrize("head", ["{n}.jpg#0\t", "{n}.jpg\t"])
def test_names_of_files_that_count_are_no_numbers_of_lines(head: str, tmp_path: Path) -> None:
    """0.jpg, 1.jpg, ... in order."""
    (tmp_path / "c.txt").write_text("".join(f"{head.format(n=n)}a cat and {n} dogs\n" for n in range(12)))
    rows = all_of_file(tmp_path / "c.txt")
    assert rows.image_id.tolist() == [f"{n}.jpg" for n in range(12)] and lines_of(tmp_path / "c.txt") is None
    assert rows.captions is not None and rows.captions[3] == "a cat and 3 dogs"


@pytest.mark.parametrize(
    "form",
    ["{name} {text}", "{name}: {text}", "{name} -> {text}", "{name}#{k} {text}", "{text}\t{name}#{k}", "{text},{name}",
     "{text} {name}", "{k},{name},{text}"],
)  # fmt: skip
def test_ids_in_other_places_are_refused(form: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "c.txt").write_text(lines(form), encoding="utf-8")
    refuses(BadInput, all_of_file, tmp_path / "c.txt")


@pytest.mark.parametrize("image", ["image_id", "id"])
def test_ids_of_classes_are_refused(image: str, tmp_path: Path, refuses: Refuses) -> None:
    found = [{image: int(n[0]), "file_name": n, "caption": t} for n, _, t in FLAT]
    (tmp_path / "c.json").write_text(json.dumps(found))
    refuses(BadInput, all_of_file, tmp_path / "c.json")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(all_of_file, "".join(f"{7 * i}\t{t}\n" for i, t in enumerate(TEXTS)), id="any numbers"),
        pytest.param(all_of_file, '{"text_id": 1, "text": "a dog", "image_ids": [1, 2]}\n', id="several images"),
        (lines_of, "<!DOCTYPE html>\n<p>"),
        (lines_of, "\n <HTML><body>"),
        (lines_of, '<?xml version="1.0"?>'),
    ],
)
def test_what_is_no_file_of_captions(read: Any, text: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "captions.txt").write_text(text, encoding="utf-8")
    refuses(BadInput, read, tmp_path / "captions.txt")


def test_captions_have_the_part_of_their_video(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "v.json"
    videos = [{"video_id": n, "split": "test" if i % 2 else "train"} for i, n in enumerate(NAMES)]
    said = [{"video_id": n, "sen_id": i, "caption": t} for i, (n, _, t) in enumerate(FLAT)]
    path.write_text(json.dumps({"videos": videos, "sentences": said}), encoding="utf-8")
    assert all_of_file(path, "test").images()[0].tolist() == NAMES[1::2]
    refuses(UsageError, all_of_file, path)


def test_captions_are_matched_without_the_folders_of_their_images(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("image,caption\n" + "".join(f'val/{n},"{t.replace(chr(34), "")}"\n' for n, _, t in FLAT))
    ids = np.array([f"{n}#{k}" for n, k, _ in FLAT])
    split = TestSet.captioned("custom", np.array(NAMES), ids, np.repeat(np.arange(IMAGES), TIMES))
    assert with_captions(split, path).columns.texts == tuple(text.replace('"', "") for text in TEXTS)


@pytest.mark.parametrize("form", ["marked", "wide", "karpathy", "plain", "numbered from 1"])
def test_captions_of_vectors_without_ids_are_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    made, path = world(IMAGES, TIMES), tmp_path / "c.txt"
    path.write_text({**WITH_IDS, **PLAIN}[form], encoding="utf-8")
    found, right = (
        vb.evaluate(**made.vectors, captions=captions, metrics="cider:NCS@5", ci=0) for captions in (path, TEXTS)
    )
    assert [r.value for r in found.results] == [r.value for r in right.results]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_table_of_parquet_or_arrow_is_a_file_of_captions(ending: str, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "image": [name for name, *_ in FLAT], "caption_id": list(range(len(FLAT))), "caption": list(TEXTS),
        "thumbnail": [b"\xff\xd8" for _ in FLAT],
    }  # fmt: skip
    table, path = pyarrow.table(columns), tmp_path / f"captions.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path)
    else:
        with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    rows = from_file(path)
    assert rows.captions == TEXTS and rows.image_id.tolist() == [name for name, *_ in FLAT]
    order = np.random.default_rng(0).permutation(len(FLAT))
    split = TestSet.captioned("custom", np.array(NAMES), order, np.array([n // TIMES for n in order.tolist()]))
    assert with_captions(split, path).columns.texts == tuple(TEXTS[n] for n in order)


@pytest.mark.parametrize("first", ["< 3 dogs", "<person> in a park", "<a> & <b>"])
def test_a_caption_may_begin_with_a_bracket(first: str, tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text(f"{first}\na cat\n")
    assert lines_of(tmp_path / "captions.txt") == (first, "a cat")
