"""``vsebench slice``: bins, their values and intervals, and where the attributes come from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import vsebench
from tests import commands, reports
from tests import oracle_stats as oracle
from tests.messages import Pinned
from vsebench.analysis import systems
from vsebench.analysis.attributes import Attribute
from vsebench.analysis.bins import masks
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.files import columns
from vsebench.log import Log
from vsebench.sets import catalogue as splits
from vsebench.types import Split

OWNER = reports.split().image_of.tolist()
IMAGE_IDS = reports.split().image_ids.tolist()
CAPTION_IDS = reports.split().caption_ids.tolist()


def invoke(*args: str) -> Result:
    return commands.invoke("slice", *args, "--resamples", 40)


def found(*args: object) -> list[dict[str, Any]]:
    """The slices of every metric and direction, with the values and intervals of the systems by name."""
    got = commands.document("slice", *args, "--resamples", 40)
    assert got["schema"] == "vsebench/slices/2"
    return slices_of(got)


def slices_of(got: dict[str, Any]) -> list[dict[str, Any]]:
    tables: dict[Any, dict[str, Any]] = {}
    for row in got["tables"]["slices"]:
        key = row["metric"], row["direction"]
        one = tables.setdefault(key, {"metric": key[0], "direction": key[1], "by": row["by"], "outside": 0, "bins": {}})
        if row["slice"] == "all queries":
            one["n"] = row["n"]
            one.setdefault("values", {})[row["system"]] = row["value"]
        elif row["slice"] == "in no slice":
            one["outside"] = row["n"]
        else:
            empty = {"label": row["slice"], "n": row["n"], "images": row["images"], "values": {}, "intervals": {}}
            of = one["bins"].setdefault(row["slice"], empty)
            of["values"][row["system"]] = row["value"]
            of["intervals"][row["system"]] = None if row["low"] is None else [row["low"], row["high"]]
    return [{**one, "bins": list(one["bins"].values())} for one in tables.values()]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return reports.files(tmp_path_factory.mktemp("two"), good=0.5, bad=2.0)


def table(folder: Path, file: str = "t.csv", **columns: Any) -> str:
    path = folder / file
    pd.DataFrame(columns).to_csv(path, index=False, sep="\t" if ".tsv" in file else ",")
    return str(path)


def test_values_and_intervals_are_those_of_the_queries_in_a_bin(two: list[str], tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random(len(CAPTION_IDS)).round(3)
    file = table(tmp_path, caption_id=CAPTION_IDS[::-1], score=numbers[::-1])
    (got,) = found(*two, "--by", "column", "--file", file, "--direction", "t2i", "--bins", "0,0.3,0.6,1")
    assert [b["label"] for b in got["bins"]] == ["0 to below 0.3", "0.3 to below 0.6", "0.6 to 1"]
    assert got["n"] == len(CAPTION_IDS) and got["outside"] == 0 and got["by"] == "score"
    assert sum(b["n"] for b in got["bins"]) == got["n"]
    for name, report in ((s.name, s.report) for s in systems.load_systems(two)):
        values = report["R@1", "t2i"].per_query
        for b, (low, high) in zip(got["bins"], [(0, 0.3), (0.3, 0.6), (0.6, 1.01)], strict=True):
            inside = (numbers >= low) & (numbers < high)
            assert b["values"][name] == pytest.approx(values[inside].mean()) and b["n"] == inside.sum()
            owner = np.array(OWNER)[inside].tolist()
            assert b["images"] == len(set(owner))
            again = [
                oracle.value(values[inside].tolist(), owner, oracle.drawn(0, r, [reports.IMAGES])) for r in range(40)
            ]
            assert b["intervals"][name] == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=1e-9)


def test_whole_numbers_and_quantiles(two: list[str], tmp_path: Path) -> None:
    few = table(tmp_path, image_id=IMAGE_IDS, people=[i % 4 for i in range(24)])
    for direction, n in (("i2t", 6), ("t2i", 18)):
        (got,) = found(two[0], "--by", "column", "--file", few, "--direction", direction)
        assert [(b["label"], b["n"]) for b in got["bins"]] == [(str(k), n) for k in range(4)]
    many = table(tmp_path, "m.csv", image_id=IMAGE_IDS, area=np.arange(24) * 10)
    (got,) = found(two[0], "--by", "column", "--file", many, "--direction", "i2t", "--bins", "3")
    assert sum(b["n"] for b in got["bins"]) == 24 and len(got["bins"]) == 3
    low, high = (int(x) for x in got["bins"][0]["label"].split(" to "))
    assert low == 0 and got["bins"][0]["n"] == sum(low <= a <= high for a in range(0, 240, 10))
    (edges,) = found(two[0], "--by", "column", "--file", many, "--direction", "i2t", "--bins", "50,100,200")
    assert [(b["label"], b["n"]) for b in edges["bins"]] == [("50 to 99", 5), ("100 to 200", 11)]
    assert edges["outside"] == 8
    same = table(tmp_path, "s.csv", image_id=IMAGE_IDS, constant=[0.5] * 24)
    (one,) = found(two[0], "--by", "column", "--file", same, "--direction", "i2t")
    assert [b["n"] for b in one["bins"]] == [24]


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
    (got,) = found(two[0], "--by", "column", "--file", file, "--direction", "i2t")
    assert got["by"] == "mean score" and [b["n"] for b in got["bins"]] == [24]


def test_labels_of_a_table_are_read_as_written(two: list[str], tmp_path: Path) -> None:
    words = ["NA", "None", "null", "nan", "01", "1", "1.0", "True"]
    for file, wanted in (("t.csv", words), ("t.tsv", words)):
        path = table(tmp_path, file, image_id=IMAGE_IDS, label=words * 3)
        (got,) = found(two[0], "--by", "category", "--file", path, "--direction", "i2t")
        assert {b["label"]: b["n"] for b in got["bins"]} == dict.fromkeys(wanted, 3) and got["outside"] == 0
    path = table(tmp_path, image_id=IMAGE_IDS, label=["01", "02", "10"] * 8)
    (got,) = found(two[0], "--by", "category", "--file", path, "--direction", "i2t")
    assert [b["label"] for b in got["bins"]] == ["01", "02", "10"]
    path = table(tmp_path, image_id=IMAGE_IDS, people=["1", "NA", "", "2.5e1"] * 6)
    (got,) = found(two[0], "--by", "column", "--file", path, "--direction", "i2t")
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("1", 6), ("25", 6)] and got["outside"] == 12


@pytest.mark.parametrize("spelling", ["{}", "{:012d}", "{}.0", "COCO_val2014_{:012d}.jpg"])
def test_a_table_may_spell_ids_in_another_way(spelling: str, two: list[str], tmp_path: Path) -> None:
    names = [spelling.format(i) for i in IMAGE_IDS]
    (got,) = found(
        two[0], "--by", "column", "--file", table(tmp_path, image_id=names, x=[0, 1] * 12), "--direction", "i2t"
    )
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("0", 12), ("1", 12)]


def test_categories(two: list[str], tmp_path: Path) -> None:
    labels = [["cat", "dog"], ["cat"], [], ["dog", "dog"]] * 6
    lines = "\n".join(json.dumps({"image_id": i, "labels": v, "x": 1}) for i, v in zip(IMAGE_IDS, labels, strict=True))
    path = tmp_path / "labels.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    texts = table(tmp_path, "t.tsv", image_id=IMAGE_IDS, category=["; ".join(v) or None for v in labels])
    for file in (str(path), texts):
        i2t, t2i = found(two[0], "--by", "category", "--file", file)
        assert [(b["label"], b["n"], b["images"]) for b in i2t["bins"]] == [("cat", 12, 12), ("dog", 12, 12)]
        assert (i2t["outside"], t2i["outside"]) == (6, 18)
        assert [(b["label"], b["n"], b["images"]) for b in t2i["bins"]] == [("cat", 36, 12), ("dog", 36, 12)]
    whole = found(two[0], "--by", "column", "--file", texts, "--direction", "i2t")[0]
    assert [b["label"] for b in whole["bins"]] == ["cat", "cat; dog", "dog; dog"]
    text = invoke(two[0], "--by", "category", "--file", texts, "--direction", "i2t", "--top", "1").stdout
    assert "1 further slice is not shown (--top)." in text and "in no slice" in text


def test_parquet(two: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'vsebench[formats]')")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"id": IMAGE_IDS, "kind": ["a", "b"] * 12}).to_parquet(path)
    (got,) = found(two[0], "--by", "column", "--file", str(path), "--direction", "i2t")
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("a", 12), ("b", 12)]


def test_positives_and_medians(two: list[str]) -> None:
    (got,) = found(two[0], "--by", "positives", "--direction", "i2t", "--metrics", "MedR")
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("3", 24)]
    assert got["bins"][0]["values"] == got["values"] and got["bins"][0]["intervals"] == {"good": None}
    folds = found(two[0], "--by", "positives", "--metrics", "1k:MeanR,1k:MedR")
    assert all(s["bins"][0]["values"]["good"] == pytest.approx(s["values"]["good"]) for s in folds)


def test_caption_length(coco: Split, tmp_path: Path) -> None:
    try:
        texts = splits.load_split("coco-5k", captions=True).captions
    except MissingPackage:
        pytest.skip("the COCO captions are not installed (pip install 'vsebench[text]')")
    images = np.random.default_rng(0).standard_normal((5000, 4))
    done = vsebench.evaluate(images, images[coco.image_of], split=coco, metrics="R@1", resamples=10, trust=True)
    path = reports.write(tmp_path / "c.json", done)
    (got,) = found(path, "--by", "length", "--direction", "t2i", "--bins", "0,9,12,99")
    words = [len(t.split()) for t in texts]
    want = [sum(a <= w < b for w in words) for a, b in ((0, 9), (9, 12), (12, 100))]
    assert [b["n"] for b in got["bins"]] == want and got["by"] == "words in the caption"


def test_captions_of_a_custom_split(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    words = np.random.default_rng(1).integers(3, 9, len(CAPTION_IDS))
    records = [
        {"caption_id": c, "image_id": IMAGE_IDS[o], "caption": "word  " * w}
        for c, o, w in zip(CAPTION_IDS, OWNER, words.tolist(), strict=True)
    ]
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in reversed(records)))
    i2t, t2i = found(*two, "--by", "length", "--captions", str(path), "--bins", "3,5,9")
    assert [(b["label"], b["n"]) for b in t2i["bins"]] == [
        ("3 to 4", (words < 5).sum()),
        ("5 to 9", (words >= 5).sum()),
    ]
    assert i2t["by"] == "mean words in the caption" and t2i["outside"] == 0
    path.write_text("\n".join(json.dumps(r) for r in records[:-2]))
    result = invoke(two[0], "--by", "length", "--captions", str(path))
    assert result.exit_code == 3
    pinned(result.stderr)
    missing = invoke(two[0], "--by", "length", "--captions", str(tmp_path / "none.jsonl"))
    assert missing.exit_code == 3 and "none.jsonl" in missing.stderr


def test_captions_one_a_line(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    world = reports.split()
    rows = Split("custom", np.arange(24), np.arange(72), world.image_of)
    path = reports.write(tmp_path / "rows.json", reports.report(0.5, world=rows, metrics="R@1"))
    texts = tmp_path / "captions.txt"
    texts.write_text("\n".join("word " * (1 + i % 3) for i in range(72)) + "\n")
    (got,) = found(path, "--by", "length", "--captions", str(texts), "--direction", "t2i")
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("1", 24), ("2", 24), ("3", 24)]
    # a report has the row of every caption, by which lines are matched; those of earlier versions do not
    (by_id,) = found(two[0], "--by", "length", "--captions", str(texts), "--direction", "t2i")
    assert [(b["label"], b["n"]) for b in by_id["bins"]] == [("1", 24), ("2", 24), ("3", 24)]
    document = json.loads(Path(two[0]).read_text())
    assert document["per_query"].pop("caption_rows")
    (tmp_path / "old.json").write_text(json.dumps(document))
    result = invoke(str(tmp_path / "old.json"), "--by", "length", "--captions", str(texts))
    assert result.exit_code == 3
    pinned(result.stderr)
    texts.write_text("one\n")
    short = invoke(path, "--by", "length", "--captions", str(texts))
    assert short.exit_code == 3
    pinned(short.stderr)


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
    path = inside_a_modality(two[0])
    args = [path, "--by", "positives", "--metrics", "R@1,cxc:R@1"]
    result = invoke(*args, "--json")
    assert result.exit_code == 0
    pinned(result.stderr)
    document = json.loads(result.stdout)
    assert [(s["metric"], s["direction"]) for s in slices_of(document)] == [("R@1", "i2t"), ("R@1", "t2i")]
    assert len(document["warnings"]) == 2
    alone = invoke(*args, "--direction", "i2i")
    assert alone.exit_code == 2
    pinned(alone.stderr)
    # a number of the images applies to all
    assert len(found(path, *args[3:], "--by", "column", "--file", table(tmp_path, id=IMAGE_IDS, x=range(24)))) == 4
    labels = table(tmp_path, caption_id=CAPTION_IDS, kind=["long", "short"] * 36)
    result = invoke(*args[:1], "--by", "column", "--file", labels, "--metrics", "R@1,cxc:R@1", "--json")
    pinned(result.stderr)
    assert [s["direction"] for s in slices_of(json.loads(result.stdout))] == ["t2i", "t2t"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("whole", [True, False])
def test_missing_and_infinite_numbers(two: list[str], tmp_path: Path, whole: bool, pinned: Pinned) -> None:
    numbers = [*(i if whole else i / 8 for i in range(19)), np.nan, np.nan, np.inf, np.inf, -np.inf]
    lines = tmp_path / "x.jsonl"
    lines.write_text("\n".join(json.dumps({"image_id": i, "x": x}) for i, x in zip(IMAGE_IDS, numbers, strict=True)))
    for file in (str(lines), table(tmp_path, image_id=IMAGE_IDS, x=numbers)):
        args = [two[0], "--by", "column", "--file", file]
        i2t, t2i = found(*args, "--bins", "3")
        assert [b["label"] for b in i2t["bins"]][::4] == ["-inf", "inf"] and len(i2t["bins"]) == 5
        assert [b["n"] for b in i2t["bins"]][::4] == [1, 2] and sum(b["n"] for b in i2t["bins"]) == 22
        assert (i2t["outside"], t2i["outside"]) == (2, 6)
        if whole:
            assert all(label.replace(" to ", "").isdecimal() for label in [b["label"] for b in i2t["bins"]][1:4])
        (edges,) = found(*args, "--bins", "0,1,inf", "--direction", "i2t")
        assert edges["bins"][1]["label"] == "1 to inf" and edges["outside"] == 3
    few = table(tmp_path, "f.csv", image_id=IMAGE_IDS, x=[1, 2, np.inf] * 8)
    (got,) = found(two[0], "--by", "column", "--file", few, "--direction", "i2t")
    assert [(b["label"], b["n"]) for b in got["bins"]] == [("1", 8), ("2", 8), ("inf", 8)]
    opposite = table(tmp_path, "o.csv", caption_id=CAPTION_IDS, x=[np.inf, -np.inf, 0] * 24)
    nothing = invoke(two[0], "--by", "column", "--file", opposite, "--direction", "i2t")
    assert nothing.exit_code == 2
    pinned(nothing.stderr)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--by", "mood"], 2),
        (["--by", "column"], 2),
        (["--by", "positives", "--file", "x.csv"], 2),
        (["--by", "positives", "--bins", "3,1"], 2),
        (["--by", "positives", "--bins", "many"], 2),
        (["--by", "positives", "--bins", "nan,nan"], 2),
        (["--by", "positives", "--metrics", "RSum"], 2),
        (["--by", "positives", "--direction", "up"], 2),
        (["--by", "positives", "--bins", "50,60", "--direction", "i2t"], 2),
        (["--by", "length"], 2),
        (["--by", "positives", "--captions", "x.jsonl"], 2),
        (["--by", "column", "--file", "none.csv"], 3),
    ],
)
def test_what_is_refused(two: list[str], args: list[str], code: int, pinned: Pinned) -> None:
    result = invoke(two[0], *args)
    assert result.exit_code == code, result.stderr
    pinned(result.stderr)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"name": [1], "x": [2]}, 3),
        ({"id": [1], "x": [2]}, 3),
        ({"id": [100, 100], "x": [2, 3]}, 3),
        ({"id": [100, None], "x": [2, 3]}, 3),
        ({"id": [100, 1100], "x": [2, 3]}, 3),
        ({"id": [100], "x": [2], "y": [3]}, 2),
        ({"caption_id": [1100], "x": ["long"]}, 2),
    ],
)
def test_tables_that_are_refused(
    two: list[str], tmp_path: Path, columns: dict[str, Any], code: int, pinned: Pinned
) -> None:
    result = invoke(two[0], "--by", "column", "--file", table(tmp_path, **columns), "--direction", "i2t")
    assert result.exit_code == code, result.stderr
    pinned(result.stderr)


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
    split = Split("custom", np.array(ids), np.arange(100, 172), np.repeat(np.arange(24), 3))
    (tmp_path / "t.csv").write_text("image_id,n\n" + "".join(f"{i},{n}\n" for n, i in enumerate(written)))
    assert columns.of_items(tmp_path / "t.csv", "n", split) == ("n", "image", list(range(24)))
    assert log.notes == ([f"t.csv: image ids are matched {how}"] if how else [])


def test_a_part_by_ids_with_zeros(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, odd = rng.standard_normal((24, 8)), np.arange(1, 25) % 2 == 1
    y = x + 0.8 * rng.standard_normal((24, 8))
    (tmp_path / "t.csv").write_text("image_id,odd\n" + "".join(f"{i:02},{i % 2}\n" for i in range(1, 25)))
    ids = {"image_ids": np.arange(1, 25), "text_ids": np.arange(101, 125), "image_id_of_text": np.arange(1, 25)}
    part = vsebench.evaluate(x, y, **ids, only=f"{tmp_path}/t.csv:odd=1", metrics="R@1", similarity="dot", ci=0)
    scores = x[odd] @ y[odd].T
    assert part["R@1", "i2t"].n == 12 and part["R@1", "i2t"].value == (scores.argmax(1) == np.arange(12)).mean()


def test_an_unknown_column(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    file = table(tmp_path, id=IMAGE_IDS, colour=["red"] * 24)
    result = invoke(two[0], "--by", "column", "--file", file, "--column", "color")
    assert result.exit_code == 2
    pinned(result.stderr)


@pytest.mark.parametrize("text", ["{", "[1]\n", '{"id": 1}\n{'])
def test_json_that_is_no_table_is_refused(tmp_path: Path, text: str, pinned: Pinned) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        columns.read_table(path)
    pinned(caught.value)


def test_the_screen(two: list[str]) -> None:
    text = " ".join(invoke(*two, "--by", "positives", "--metrics", "R@1,MedR").stdout.split())
    assert "custom · R@1 (text→image) by positives (gt)" in text and "custom · MedR ↓ (image→text)" in text
    assert "all queries" in text and "In brackets: 95 % bootstrap interval over images" in text


def test_an_id_in_two_of_many_rows_is_found_at_once(monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    """The search for the repeated id compares every id once, where it compared every two of them."""

    class Counted(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

        def strip(self, chars: str | None = None) -> str:
            return self

    values = [Counted(i) for i in range(2000)] + [Counted(1999)]
    monkeypatch.setattr(columns, "str", lambda v: v, raising=False)
    with pytest.raises(BadInput) as caught:
        columns._ids(values, Path("t.csv"))
    pinned(caught.value)
    assert Counted.compared < 100


def numbers(*values: float) -> Attribute:
    return Attribute("x", "image", np.array(values, np.float64), integer=True)


def test_labels_of_integers_have_no_separators_and_no_negative_zero() -> None:
    assert list(masks(numbers(2000, -0.0, 1999), None)[0]) == ["0", "1999", "2000"]
    assert list(masks(numbers(*range(1990, 2010)), 2)[0]) == ["1990 to 1999", "2000 to 2009"]
    assert list(masks(numbers(1e300, 2e300, 3), [-0.0, 1e300, 2e300])[0]) == ["0 to below 1e+300", "1e+300 to 2e+300"]


def test_bins_of_labels_are_refused(two: list[str], tmp_path: Path, pinned: Pinned) -> None:
    days = [f"2024-01-{1 + i % 4:02}" for i in range(len(IMAGE_IDS))]
    options = {"by": "column", "file": table(tmp_path, image_id=IMAGE_IDS, day=days), "direction": "i2t"}
    with pytest.raises(UsageError) as caught:
        vsebench.slice(two, bins=4, **options)
    pinned(caught.value)
    assert [b.label for b in vsebench.slice(two, **options).breakdowns[0].bins] == sorted(set(days))


def test_a_label_like_the_name_of_a_row_is_quoted(two: list[str], tmp_path: Path) -> None:
    labels = ["all queries" if i % 2 else "other" for i in range(len(IMAGE_IDS))]
    file = table(tmp_path, image_id=IMAGE_IDS, kind=labels)
    frame = vsebench.slice(two, "column", file=file, direction="i2t").to_frame()
    assert list(dict.fromkeys(frame["slice"])) == ["'all queries'", "other", "all queries"]
