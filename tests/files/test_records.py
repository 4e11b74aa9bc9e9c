"""One reader of records: every form gives the same captions, columns, labels and judgements, and is read once."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench as vb
from tests.messages import Refuses
from tests.worlds import world
from vsebench.errors import BadInput
from vsebench.files import kinds
from vsebench.files.captions import from_file, lines_of
from vsebench.files.columns import of_items
from vsebench.files.read_pairs import read_pairs
from vsebench.files.records import records
from vsebench.log import logged
from vsebench.relevance.custom import read_labels
from vsebench.types import TestSet

IMAGES, TIMES = 12, 5
ROWS = [
    {"caption_id": f"{7 * n:04}", "image_id": f"{n // TIMES:03}", "caption": f"<person {n}> says NA, twice",
     "lang": "NA" if n % 2 else "de", "label": f"0{n // TIMES % 3}", "grade": str(n % 3)}
    for n in range(IMAGES * TIMES)
]  # fmt: skip
NAMES = list(ROWS[0])
SPLIT = TestSet.captioned(
    "custom", np.array([f"{i:03}" for i in range(IMAGES)]), np.array([row["caption_id"] for row in ROWS]),
    np.repeat(np.arange(IMAGES), TIMES),
)  # fmt: skip


def table(rows: list[dict[str, str]], mark: str) -> str:
    cells = [NAMES, *([f'"{cell}"' if mark in cell else cell for cell in row.values()] for row in rows)]
    return "".join(mark.join(row) + "\n" for row in cells)


def parquet(folder: Path, name: str = "t.parquet", rows: list[dict[str, str]] = ROWS) -> Path:
    pytest.importorskip("pyarrow")
    pd.DataFrame(rows).to_parquet(folder / name)
    return folder / name


def arrow(folder: Path) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    made = pyarrow.Table.from_pylist(ROWS)
    with pyarrow.OSFile(str(folder / "t.arrow"), "wb") as sink, pyarrow.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return folder / "t.arrow"


def shards(folder: Path, form: str) -> Path:
    for k in range(3):
        name, rows = f"part-{k:05}-of-00003.{form}", ROWS[20 * k : 20 * k + 20]
        if form == "parquet":
            parquet(folder, name, rows)
        else:
            (folder / name).write_text(table(rows, ","))
    return folder


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "t").write_text(content, encoding=encoding)
        return folder / "t"

    return write


COLUMNS = {name: [row[name] for row in ROWS] for name in NAMES}
FORMS: dict[str, Callable[[Path], Path]] = {
    "csv": text(table(ROWS, ",")),
    "tsv": text(table(ROWS, "\t")),
    "semicolons, BOM": text(table(ROWS, ";"), "utf-8-sig"),
    "JSON lines": text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "JSON array": text(json.dumps(ROWS, indent=1)),
    "JSON columns": text(json.dumps(COLUMNS)),
    "JSON columns by row": text(json.dumps({name: dict(enumerate(cells)) for name, cells in COLUMNS.items()})),
    "JSON under a key": text(json.dumps({"info": {"year": 2014}, "data": ROWS})),
    "parquet": parquet,
    "arrow": arrow,
    "shards of csv": lambda folder: shards(folder, "csv"),
    "shards of parquet": lambda folder: shards(folder, "parquet"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_records(form: str, packed: bool, tmp_path: Path) -> None:
    path = FORMS[form](tmp_path)
    if packed:
        if path.is_dir() or path.suffix:
            pytest.skip("gzip is for text")
        path.write_bytes(gzip.compress(path.read_bytes()))
    rows = from_file(path)
    assert rows.captions == tuple(COLUMNS["caption"]) and lines_of(path) is None
    assert rows.caption_id.tolist() == COLUMNS["caption_id"] and rows.image_id.tolist() == COLUMNS["image_id"]
    assert of_items(path, "lang", SPLIT) == ("lang", "caption", COLUMNS["lang"])
    labels = read_labels(path)
    assert labels.labels["caption"] == [[label] for label in COLUMNS["label"]] and labels.ids["caption"] is not None
    assert [len(found.queries) for found in judged(path)] == [IMAGES]


def judged(path: Path) -> Any:
    """The pairs of the ids and the grades alone."""
    found = records(path, "judgements")[["image_id", "caption_id", "grade"]]
    return read_pairs(found.to_dict("records"), None)


def test_a_folder_with_shards_of_other_columns_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    (shards(tmp_path, "csv") / "part-00001-of-00003.csv").write_text("image,caption\na,b\n")
    refuses(BadInput, from_file, tmp_path)
    (tmp_path / "part-00001-of-00003.csv").unlink()
    refuses(BadInput, from_file, tmp_path)


def test_one_shard_alone_is_warned_of(tmp_path: Path) -> None:
    with logged() as log:
        assert len(from_file(shards(tmp_path, "csv") / "part-00001-of-00003.csv").caption_id) == 20
    assert [warning for warning in log.warnings if "one of 3 shards" in warning]


@pytest.mark.parametrize("odd", ["#NAME?", "7.90012E+17"])
def test_ids_that_a_spreadsheet_destroyed_are_named_by_their_line(odd: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "t.csv").write_text(table(ROWS, ",").replace("0014", odd))
    refuses(BadInput, from_file, tmp_path / "t.csv")
    refuses(BadInput, of_items, tmp_path / "t.csv", "lang", SPLIT)
    (tmp_path / "q.txt").write_text(f"a 0 b 1\na 0 {odd} 1\n")
    refuses(BadInput, read_pairs, tmp_path / "q.txt", None)


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_two_columns_of_one_name_are_refused(form: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "t").write_text(("image,caption,caption\na,b,c\n").replace(",", "," if form == "csv" else "\t"))
    refuses(BadInput, from_file, tmp_path / "t")


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "t").write_text('{"a.jpg": ["one"], "b.jpg": ["two"], "a.jpg": ["three"]}')
    refuses(BadInput, from_file, tmp_path / "t")


def test_an_empty_line_is_a_caption_in_the_order_of_the_rows(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a dog\n\na cat\n")
    assert lines_of(tmp_path / "t") == ("a dog", "", "a cat")


def test_a_layout_is_a_function_and_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def storied(document: Any) -> kinds.Rows | None:
        if isinstance(document, dict) and "stories" in document:
            return [{"image_id": one["photo"], "caption": one["text"]} for one in document["stories"]]
        return None

    known = kinds.KINDS["captions"]
    more = replace(known, documents=(*known.documents, storied))
    monkeypatch.setitem(kinds.KINDS, "captions", more)
    stories = [{"photo": row["image_id"], "text": row["caption"]} for row in ROWS]
    (tmp_path / "v.json").write_text(json.dumps({"stories": stories, "albums": [{"id": 1}]}))
    assert from_file(tmp_path / "v.json").captions == tuple(COLUMNS["caption"])


OPENED: list[str] | None = None


def heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and OPENED is not None and isinstance(arguments[0], (str, Path)):
        OPENED.append(Path(arguments[0]).name)


sys.addaudithook(heard)


@contextmanager
def opened() -> Iterator[list[str]]:
    """The names of the files that are opened inside."""
    global OPENED
    OPENED = found = []
    try:
        yield found
    finally:
        OPENED = None


@pytest.mark.parametrize("form", ["csv", "JSON lines"])
def test_a_file_is_recognised_once_read_once_and_hashed_once(form: str, tmp_path: Path) -> None:
    """Captions give the image of every text, what is compared, and a column to choose by."""
    made, path = world(IMAGES, TIMES), FORMS[form](tmp_path)
    ids = {"image_ids": SPLIT.rows.ids, "text_ids": SPLIT.columns.ids}
    np.savez(tmp_path / "e.npz", image_embeddings=made.images, text_embeddings=made.texts, **ids)
    qrels = tmp_path / "q.txt"
    qrels.write_text("".join(f"{row['image_id']} 0 {row['caption_id']} 1\n" for row in ROWS))
    with opened() as names:
        vb.evaluate(
            tmp_path / "e.npz", captions=path, only="lang=de", judgements=f"mine={qrels}", metrics="mine:R@1,NCS@5",
            ci=0, trust=True,
        )  # fmt: skip
    assert {name: count for name, count in Counter(names).items() if name in ("t", "q.txt")} == {"t": 3, "q.txt": 3}
