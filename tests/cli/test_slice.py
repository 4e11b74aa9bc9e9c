"""``vsebench slice``: bins, their values and intervals, and where the attributes come from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench
from tests import oracle_stats as oracle
from tests import reports
from tests.commands import cli, refused
from tests.messages import Pinned, Refuses
from vsebench.analysis.attributes import Attribute
from vsebench.analysis.bins import masks
from vsebench.errors import BadInput, UsageError
from vsebench.files import columns
from vsebench.files.records import records
from vsebench.log import Log
from vsebench.types import TestSet

OWNER = reports.split().image_of.tolist()
IMAGE_IDS = reports.split().rows.ids.tolist()
CAPTION_IDS = reports.split().columns.ids.tolist()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return reports.files(tmp_path_factory.mktemp("two"), good=0.5, bad=2.0)


def sliced(path: Any, by: str, **options: Any) -> list[SimpleNamespace]:
    """One a metric and direction: its slices, and the values and queries of its last rows."""
    found: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in vsebench.slice(path, by, **{"resamples": 40, **options}).records():  # type: ignore[arg-type]
        found.setdefault((row["metric"], row["direction"]), {}).setdefault(row["slice"], []).append(row)
    out = []
    for (metric, direction), rows in found.items():
        every, outside = rows.pop("all queries"), rows.pop("in no slice", [{"n": 0}])
        of_bins = [
            SimpleNamespace(
                label=name, n=of[0]["n"], images=of[0]["images"], values=tuple(r["value"] for r in of),
                intervals=tuple(None if r["low"] is None else (r["low"], r["high"]) for r in of),
            )
            for name, of in rows.items()
        ]  # fmt: skip
        values = tuple(r["value"] for r in every)
        more = {"by": every[0]["by"], "n": every[0]["n"], "outside": outside[0]["n"], "values": values}
        out.append(SimpleNamespace(metric=metric, direction=direction, bins=of_bins, **more))
    return out


def bins(path: Any, by: str, **options: Any) -> list[tuple[str, int]]:
    """The slices of the only breakdown: (label, queries)."""
    (found,) = sliced(path, by, **{"direction": "i2t", **options})
    return [(b.label, b.n) for b in found.bins]


def table(folder: Path, file: str = "t.csv", **columns: Any) -> str:
    path = folder / file
    pd.DataFrame(columns).to_csv(path, index=False, sep="\t" if ".tsv" in file else ",")
    return str(path)


def test_values_and_intervals_are_those_of_the_queries_in_a_bin(two: list[str], tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random(len(CAPTION_IDS)).round(3)
    file = table(tmp_path, caption_id=CAPTION_IDS[::-1], score=numbers[::-1])
    (got,) = sliced(two, "column", file=file, direction="t2i", bins="0,0.3,0.6,1")
    assert [b.label for b in got.bins] == ["0 to below 0.3", "0.3 to below 0.6", "0.6 to 1"]
    assert (got.n, got.outside, got.by) == (len(CAPTION_IDS), 0, "score") and sum(b.n for b in got.bins) == got.n
    for s, path in enumerate(two):
        values = vsebench.load(path)["R@1", "t2i"].per_query
        assert values is not None
        for b, (low, high) in zip(got.bins, [(0, 0.3), (0.3, 0.6), (0.6, 1.01)], strict=True):
            inside = (numbers >= low) & (numbers < high)
            owner = np.array(OWNER)[inside].tolist()
            assert b.values[s] == pytest.approx(values[inside].mean())
            assert (b.n, b.images) == (inside.sum(), len(set(owner)))
            again = [
                oracle.value(values[inside].tolist(), owner, oracle.drawn(0, r, [reports.IMAGES])) for r in range(40)
            ]
            assert b.intervals[s] == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=1e-9)


def test_the_command_prints_the_same(two: list[str], tmp_path: Path) -> None:
    """Options arrive; rows of records are those of the object."""
    file = table(tmp_path, image_id=IMAGE_IDS, kind=["a", "b"] * 12, other=range(24))
    more = ["--metrics", "R@1,MedR", "--direction", "i2t", "--json"]
    got = cli("slice", *two, "--by", "column", "--file", file, "--column", "kind", *more).json
    wanted = vsebench.slice(two, "column", file=file, column="kind", metrics="R@1,MedR", direction="i2t")
    assert got["schema"] == "vsebench/slices/2"
    rows = got["tables"]["slices"]
    assert rows == wanted.records() and {row["by"] for row in rows} == {"kind"}
    assert len(rows) == 2 * 3 * 2
    text = cli("slice", *two, "--by", "positives", "--metrics", "R@1,MedR").words
    assert "custom · R@1 (text→image) by positives (gt)" in text and "custom · MedR ↓ (image→text)" in text
    assert "all queries" in text and "In brackets: 95 % bootstrap interval over images" in text


def test_whole_numbers_and_quantiles(two: list[str], tmp_path: Path) -> None:
    few = table(tmp_path, image_id=IMAGE_IDS, people=[i % 4 for i in range(24)])
    for direction, n in (("i2t", 6), ("t2i", 18)):
        assert bins(two[0], "column", file=few, direction=direction) == [(str(k), n) for k in range(4)]
    many = table(tmp_path, "m.csv", image_id=IMAGE_IDS, area=np.arange(24) * 10)
    got = bins(two[0], "column", file=many, bins=3)
    low, high = (int(x) for x in got[0][0].split(" to "))
    assert sum(n for _, n in got) == 24 and len(got) == 3
    assert low == 0 and got[0][1] == sum(low <= a <= high for a in range(0, 240, 10))
    (edges,) = sliced(two[0], "column", file=many, direction="i2t", bins="50,100,200")
    assert [(b.label, b.n) for b in edges.bins] == [("50 to 99", 5), ("100 to 200", 11)] and edges.outside == 8
    same = table(tmp_path, "s.csv", image_id=IMAGE_IDS, constant=[0.5] * 24)
    assert [n for _, n in bins(two[0], "column", file=same)] == [24]


@pytest.mark.parametrize("start, step", [(1_700_000_000.5, 1000.25), (0.5, 1e-5), (1e300, 1e285), (-3.0, 2**-49)])
@pytest.mark.parametrize("edges", [False, True])
def test_labels_of_bins_have_as_many_digits_as_keep_them_apart(start: float, step: float, edges: bool) -> None:
    """Time stamps and narrow edges."""
    numbers = start + np.arange(24) * step
    found, outside = masks(Attribute("t", "image", numbers), numbers[::6].tolist() if edges else 4)
    assert [int(mask.sum()) for mask in found.values()] == ([6, 6, 7] if edges else [6, 6, 6, 6])
    assert int(outside.sum()) == (5 if edges else 0)


def test_captions_numbers_become_the_mean_of_an_image(two: list[str], tmp_path: Path) -> None:
    file = table(tmp_path, caption_id=CAPTION_IDS, score=[i % 3 for i in range(72)])
    (got,) = sliced(two[0], "column", file=file, direction="i2t")
    assert got.by == "mean score" and [b.n for b in got.bins] == [24]


def test_labels_of_a_table_are_read_as_written(two: list[str], tmp_path: Path) -> None:
    words = ["NA", "None", "null", "nan", "01", "1", "1.0", "True"]
    for file in ("t.csv", "t.tsv"):
        (got,) = sliced(two[0], "category", file=table(tmp_path, file, image_id=IMAGE_IDS, label=words * 3),
                        direction="i2t")  # fmt: skip
        assert {b.label: b.n for b in got.bins} == dict.fromkeys(words, 3) and got.outside == 0
    path = table(tmp_path, image_id=IMAGE_IDS, label=["01", "02", "10"] * 8)
    assert [label for label, _ in bins(two[0], "category", file=path)] == ["01", "02", "10"]
    path = table(tmp_path, image_id=IMAGE_IDS, people=["1", "NA", "", "2.5e1"] * 6)
    (got,) = sliced(two[0], "column", file=path, direction="i2t")
    assert [(b.label, b.n) for b in got.bins] == [("1", 6), ("25", 6)] and got.outside == 12


@pytest.mark.parametrize("spelling", ["{}", "{:012d}", "{}.0", "COCO_val2014_{:012d}.jpg"])
def test_a_table_may_spell_ids_in_another_way(spelling: str, two: list[str], tmp_path: Path) -> None:
    file = table(tmp_path, image_id=[spelling.format(i) for i in IMAGE_IDS], x=[0, 1] * 12)
    assert bins(two[0], "column", file=file) == [("0", 12), ("1", 12)]


def test_categories(two: list[str], tmp_path: Path) -> None:
    labels = [["cat", "dog"], ["cat"], [], ["dog", "dog"]] * 6
    lines = "\n".join(json.dumps({"image_id": i, "labels": v, "x": 1}) for i, v in zip(IMAGE_IDS, labels, strict=True))
    path = tmp_path / "labels.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    texts = table(tmp_path, "t.tsv", image_id=IMAGE_IDS, category=["; ".join(v) or None for v in labels])
    for file in (str(path), texts):
        i2t, t2i = sliced(two[0], "category", file=file)
        assert [(b.label, b.n, b.images) for b in i2t.bins] == [("cat", 12, 12), ("dog", 12, 12)]
        assert [(b.label, b.n, b.images) for b in t2i.bins] == [("cat", 36, 12), ("dog", 36, 12)]
        assert (i2t.outside, t2i.outside) == (6, 18)
    assert [label for label, _ in bins(two[0], "column", file=texts)] == ["cat", "cat; dog", "dog; dog"]
    text = cli("slice", two[0], "--by", "category", "--file", texts, "--direction", "i2t", "--top", "1").out
    assert "1 further slice is not shown (--top)." in text and "in no slice" in text


def test_parquet(two: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'vsebench[formats]')")
    pd.DataFrame({"id": IMAGE_IDS, "kind": ["a", "b"] * 12}).to_parquet(tmp_path / "t.parquet")
    assert bins(two[0], "column", file=tmp_path / "t.parquet") == [("a", 12), ("b", 12)]


def test_positives_and_medians(two: list[str]) -> None:
    (got,) = sliced(two[0], "positives", direction="i2t", metrics="MedR")
    (only,) = got.bins
    assert (only.label, only.n, only.values, only.intervals) == ("3", 24, got.values, (None,))
    for s in sliced(two[0], "positives", metrics="1k:MeanR,1k:MedR"):
        assert s.bins[0].values == pytest.approx(s.values)


def test_caption_length(scenes_split: TestSet) -> None:
    """The captions of a split that is known by name."""
    done = reports.report(0.5, world=scenes_split, metrics="R@1", trust=True)
    (got,) = sliced(done, "length", direction="t2i", bins="0,9,12,99")
    words = [len(t.split()) for t in scenes_split.columns.texts or ()]
    assert [b.n for b in got.bins] == [sum(a <= w < b for w in words) for a, b in ((0, 9), (9, 12), (12, 100))]
    assert got.by == "words in the caption"


def test_captions_of_a_custom_split(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    words = np.random.default_rng(1).integers(3, 9, len(CAPTION_IDS))
    records = [
        {"caption_id": c, "image_id": IMAGE_IDS[o], "caption": "word  " * w}
        for c, o, w in zip(CAPTION_IDS, OWNER, words.tolist(), strict=True)
    ]
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in reversed(records)))
    i2t, t2i = sliced(two, "length", captions=path, bins="3,5,9")
    assert [(b.label, b.n) for b in t2i.bins] == [("3 to 4", (words < 5).sum()), ("5 to 9", (words >= 5).sum())]
    assert i2t.by == "mean words in the caption" and t2i.outside == 0
    path.write_text("\n".join(json.dumps(r) for r in records[:-2]))
    pinned(refused("slice", two[0], "--by", "length", "--captions", path, code=3))
    assert "none.jsonl" in refused("slice", two[0], "--by", "length", "--captions", tmp_path / "none.jsonl", code=3)


def test_captions_one_a_line(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    rows = TestSet.captioned("custom", np.arange(24), np.arange(72), reports.split().image_of)
    path = reports.write(tmp_path / "rows.json", reports.report(0.5, world=rows, metrics="R@1"))
    texts = tmp_path / "captions.txt"
    texts.write_text("\n".join("word " * (1 + i % 3) for i in range(72)) + "\n")
    # a report has the row of every caption, by which lines are matched; those of earlier versions do not
    for given in (path, two[0]):
        assert bins(given, "length", captions=texts, direction="t2i") == [("1", 24), ("2", 24), ("3", 24)]
    document = json.loads(Path(two[0]).read_text())
    assert document["per_query"].pop("caption_rows")
    (tmp_path / "old.json").write_text(json.dumps(document))
    pinned(refused("slice", tmp_path / "old.json", "--by", "length", "--captions", texts, code=3))
    texts.write_text("one\n")
    pinned(refused("slice", path, "--by", "length", "--captions", texts, code=3))


def inside_a_modality(path: str) -> str:
    """Adds image-image and text-text retrieval to a report, as ``cxc-intra`` has it."""
    data = json.loads(Path(path).read_text())
    for old, new in (("i2t", "i2i"), ("t2i", "t2t")):
        for rows in (data["results"], data["per_query"]["columns"]):
            (found,) = [r for r in rows if (r["metric"], r["direction"]) == ("R@1", old)]
            rows.append({**found, "metric": "cxc:R@1", "direction": new})
    other = Path(path).with_name("intra.json")
    other.write_text(json.dumps(data))
    return str(other)


def test_metrics_that_the_attribute_does_not_apply_to_are_left_out(
    two: list[str], tmp_path: Path, pinned: Pinned
) -> None:
    path, both = inside_a_modality(two[0]), ["--metrics", "R@1,cxc:R@1"]
    done = cli("slice", path, "--by", "positives", *both, "--json")
    pinned(done.err)
    rows = done.json["tables"]["slices"]
    assert {(r["metric"], r["direction"]) for r in rows} == {("R@1", "i2t"), ("R@1", "t2i")}
    assert len(done.json["warnings"]) == 2
    pinned(refused("slice", path, "--by", "positives", *both, "--direction", "i2i"))
    # a number of the images applies to all
    numbers = table(tmp_path, id=IMAGE_IDS, x=range(24))
    assert len(sliced(path, "column", metrics="R@1,cxc:R@1", file=numbers)) == 4
    labels = table(tmp_path, caption_id=CAPTION_IDS, kind=["long", "short"] * 36)
    done = cli("slice", path, "--by", "column", "--file", labels, *both, "--json")
    pinned(done.err)
    assert {r["direction"] for r in done.json["tables"]["slices"]} == {"t2i", "t2t"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("whole", [True, False])
def test_missing_and_infinite_numbers(two: list[str], tmp_path: Path, whole: bool, pinned: Pinned) -> None:
    numbers = [*(i if whole else i / 8 for i in range(19)), np.nan, np.nan, np.inf, np.inf, -np.inf]
    lines = tmp_path / "x.jsonl"
    lines.write_text("\n".join(json.dumps({"image_id": i, "x": x}) for i, x in zip(IMAGE_IDS, numbers, strict=True)))
    for file in (str(lines), table(tmp_path, image_id=IMAGE_IDS, x=numbers)):
        i2t, t2i = sliced(two[0], "column", file=file, bins=3)
        assert [(b.label, b.n) for b in i2t.bins][::4] == [("-inf", 1), ("inf", 2)] and len(i2t.bins) == 5
        assert sum(b.n for b in i2t.bins) == 22 and (i2t.outside, t2i.outside) == (2, 6)
        assert not whole or all(b.label.replace(" to ", "").isdecimal() for b in i2t.bins[1:4])
        (edges,) = sliced(two[0], "column", file=file, bins="0,1,inf", direction="i2t")
        assert edges.bins[1].label == "1 to inf" and edges.outside == 3
    few = table(tmp_path, "f.csv", image_id=IMAGE_IDS, x=[1, 2, np.inf] * 8)
    assert bins(two[0], "column", file=few) == [("1", 8), ("2", 8), ("inf", 8)]
    opposite = table(tmp_path, "o.csv", caption_id=CAPTION_IDS, x=[np.inf, -np.inf, 0] * 24)
    pinned(refused("slice", two[0], "--by", "column", "--file", opposite, "--direction", "i2t"))


REFUSED = {
    "mood": 2, "column": 2, "positives --file x.csv": 2, "positives --bins 3,1": 2, "positives --bins many": 2,
    "positives --bins nan,nan": 2, "positives --metrics RSum": 2, "positives --direction up": 2,
    "positives --bins 50,60 --direction i2t": 2, "length": 2, "positives --captions x.jsonl": 2,
    "column --file none.csv": 3,
}  # fmt: skip
TABLES: dict[str, tuple[dict[str, Any], int]] = {
    "no ids": ({"name": [1], "x": [2]}, 3),
    "no image": ({"id": [1], "x": [2]}, 3),
    "an id twice": ({"id": [100, 100], "x": [2, 3]}, 3),
    "a missing id": ({"id": [100, None], "x": [2, 3]}, 3),
    "images and captions": ({"id": [100, 1100], "x": [2, 3]}, 3),
    "two columns": ({"id": [100], "x": [2], "y": [3]}, 2),
    "labels of captions": ({"caption_id": [1100], "x": ["long"]}, 2),
    "unknown column": ({"id": IMAGE_IDS, "colour": ["red"] * 24}, 2),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(two: list[str], words: str, pinned: Pinned) -> None:
    pinned(refused("slice", two[0], "--by", *words.split(), code=REFUSED[words]))


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_are_refused(two: list[str], tmp_path: Path, case: str, pinned: Pinned) -> None:
    file = table(tmp_path, **TABLES[case][0])
    more = ["--column", "color"] if case == "unknown column" else ["--direction", "i2t"]
    pinned(refused("slice", two[0], "--by", "column", "--file", file, *more, code=TABLES[case][1]))


PADDED = [f"{i:02}" for i in range(1, 25)]


@pytest.mark.parametrize(
    ("ids", "written", "how"),
    [
        (range(1, 25), PADDED, ""),  # 10 to 24 are equal as text
        (PADDED, range(1, 25), ""),
        (range(1, 25), [f"{i}.0" for i in range(1, 25)], ""),
        ([f"v{i}.1" for i in range(24)], [f"V/v{i}.1.jpg" for i in range(24)], "without folders and file endings"),
    ],
)
def test_ids_of_a_column_are_those_of_every_reader(tmp_path: Path, log: Log, ids: Any, written: Any, how: str) -> None:
    """One rule of ids: integers where one side has integers, another spelling only if none are equal."""
    split = TestSet.captioned("custom", np.array(ids), np.arange(100, 172), np.repeat(np.arange(24), 3))
    (tmp_path / "t.csv").write_text("image_id,n\n" + "".join(f"{i},{n}\n" for n, i in enumerate(written)))
    assert columns.of_items(tmp_path / "t.csv", "n", split) == ("n", "image", list(range(24)))
    assert log.notes == ([f"t.csv: image ids are matched {how}"] if how else [])


@pytest.mark.parametrize("text", ["{", "[1]\n", '{"id": 1}\n{'])
def test_json_that_is_no_table_is_refused(tmp_path: Path, text: str, refuses: Refuses) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    refuses(BadInput, records, path, "columns")


def numbers(*values: float) -> Attribute:
    return Attribute("x", "image", np.array(values, np.float64), integer=True)


def test_labels_of_integers_have_no_separators_and_no_negative_zero() -> None:
    assert list(masks(numbers(2000, -0.0, 1999), None)[0]) == ["0", "1999", "2000"]
    assert list(masks(numbers(*range(1990, 2010)), 2)[0]) == ["1990 to 1999", "2000 to 2009"]
    assert list(masks(numbers(1e300, 2e300, 3), [-0.0, 1e300, 2e300])[0]) == ["0 to below 1e+300", "1e+300 to 2e+300"]


def test_bins_of_labels_are_refused(two: list[str], tmp_path: Path, refuses: Refuses) -> None:
    days = [f"2024-01-{1 + i % 4:02}" for i in range(len(IMAGE_IDS))]
    options = {"by": "column", "file": table(tmp_path, image_id=IMAGE_IDS, day=days), "direction": "i2t"}
    refuses(UsageError, vsebench.slice, two, bins=4, **options)
    assert [label for label, _ in bins(two, **options)] == sorted(set(days))


def test_a_label_like_the_name_of_a_row_is_quoted(two: list[str], tmp_path: Path) -> None:
    labels = ["all queries" if i % 2 else "other" for i in range(len(IMAGE_IDS))]
    file = table(tmp_path, image_id=IMAGE_IDS, kind=labels)
    frame = vsebench.slice(two, "column", file=file, direction="i2t").to_frame()
    assert list(dict.fromkeys(frame["slice"])) == ["'all queries'", "other", "all queries"]
