"""Several systems in one table, and image and text vectors in two files."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vsebench
from tests.commands import cli, refused
from tests.messages import Pinned, Refuses
from tests.notes import with_notes
from vsebench.errors import BadInput, UsageError
from vsebench.files import read
from vsebench.files.members import opened
from vsebench.files.read import group, holds_both
from vsebench.results.table import Column, Table, Text
from vsebench.results.terminal import text

read_embeddings = partial(with_notes, read.read_embeddings)

N, EACH = 20, 5
RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((N, 8)).astype(np.float32)
NOISE = np.random.default_rng(1).standard_normal((N * EACH, 8)).astype(np.float32)
PAPER = [*((f"R@{k}", way) for way in ("i2t", "t2i") for k in (1, 5, 10)), ("RSum", "")]


def texts(share: float) -> np.ndarray:
    return np.repeat(IMAGES, EACH, axis=0) + share * NOISE


def system(path: Path, share: float, **more: Any) -> Path:
    np.savez(path, images=IMAGES, texts=texts(share), **more)
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [system(tmp_path / "good.npz", 0.5), system(tmp_path / "bad.npz", 2.0)]


def test_systems_are_rows_and_the_recalls_of_papers_are_columns(two: list[Path]) -> None:
    header, *rows = csv.reader(io.StringIO(cli("eval", *two, "--format", "csv").out))
    assert header == ["system", "metric", "direction", "value", "low", "high"]
    expected = []
    for path in two:
        alone = vsebench.evaluate(path)
        for name, way in PAPER:
            found = alone[name, way or None]
            expected.append([path.stem, name, way, found.value, *found.interval])
    assert [[*row[:3], *map(float, row[3:])] for row in rows] == expected
    screen = cli("eval", *two).out.splitlines()
    assert screen[0] == "custom · ground truth" and screen[2].split() == ["image→text", "text→image"]
    assert screen[3].split() == ["system", "R@1", "R@5", "R@10", "R@1", "R@5", "R@10", "RSum"]
    assert [line.split()[0] for line in screen[5:7]] == ["good", "bad"]


def test_groups_leave_room_for_asides_and_their_own_width() -> None:
    groups = {"x": "left", "y": "left", "z": "a wide group"}
    columns = (Column("s", words=True), *(Column(name, group=group) for name, group in groups.items()))
    drawn = Table("", "t", columns, (("a", Text("1", None, "[0, 2]"), "2", "3"),))
    page = vsebench.results.latex.latex([drawn])
    assert r" & \multicolumn{3}{c}{left} & \multicolumn{1}{c}{a wide group} \\" in page
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-5}" in page
    assert "<th colspan='3'>left</th><th colspan='1'>a wide group</th>" in vsebench.results.html.fragment([drawn])
    assert "a wide group" in text([drawn]).splitlines()[2]


def test_views_have_tables_of_their_own() -> None:
    judged = {"mine": {"i2t": {n: [EACH * n] for n in range(N)}, "t2i": {EACH * n: [n] for n in range(N)}}}
    ids = {"image_ids": np.arange(N), "text_ids": np.arange(N * EACH), "captions_per_image": EACH}
    options = {**ids, "judgements": judged, "metrics": "R@1,mine:mAP@R,mine:R@1", "ci": 0}
    reports = {name: vsebench.evaluate(IMAGES, texts(share), **options) for name, share in (("a", 0.1), ("b", 2.0))}
    tables = vsebench.compare(reports, tests=False).tables
    assert [(table.title, tuple(column.heading for column in table.columns)) for table in tables] == [
        ("custom · ground truth", ("system", "R@1", "R@1")),
        ("custom · mine", ("system", "mAP@R", "R@1", "mAP@R", "R@1")),
    ]
    assert not tables[0].notes and tables[1].notes


def test_the_document_is_what_compare_reads(two: list[Path], tmp_path: Path, refuses: Refuses) -> None:
    out, third = tmp_path / "both.json", tmp_path / "c.json"
    cli("eval", f"A={two[0]}", two[1], "-o", out)
    reports = {"A": vsebench.evaluate(two[0]), "bad": vsebench.evaluate(two[1])}
    assert vsebench.compare(out).to_dict() == vsebench.compare(reports).to_dict()
    one, other = (vsebench.compare(given, tests=False).to_frame() for given in (out, reports))
    assert one.equals(other)
    reports["bad"].save(third)
    assert vsebench.compare([out, third]).systems == ("A", "bad", "c")
    printed = cli("eval", *two, "--json").json
    assert printed["schema"] == "vsebench/joint/2"
    assert {r["system"] for r in printed["tables"]["values"]} == {"good", "bad"}
    assert [s["report"]["schema"] for s in printed["systems"]] == ["vsebench/report/1"] * 2
    refuses(BadInput, vsebench.load, out)
    refuses(UsageError, vsebench.compare, [f"x={out}"])
    document = json.loads(out.read_text())
    document["systems"][1]["report"]["results"][0]["value"] /= 2  # its per-query values say otherwise
    (tmp_path / "changed.json").write_text(json.dumps(document))
    refuses(BadInput, vsebench.compare, tmp_path / "changed.json")
    document["systems"][1]["name"] = "A"
    (tmp_path / "changed.json").write_text(json.dumps(document))
    refuses(BadInput, vsebench.compare, tmp_path / "changed.json")
    out.write_text(out.read_text().replace('"split": "custom"', '"split": 3', 1))
    refuses(BadInput, vsebench.compare, out)


def test_per_query_values_of_several_systems_have_their_names(two: list[Path], tmp_path: Path) -> None:
    cli("eval", *two, "--metrics", "R@1", "--per-query", tmp_path / "q.csv")
    table = pd.read_csv(tmp_path / "q.csv")
    assert list(table) == ["system", "metric", "direction", "query", "value"]
    means = table.groupby(["system", "direction"]).value.mean()
    for path in two:
        assert means[path.stem, "t2i"] == pytest.approx(vsebench.evaluate(path, ci=0)["R@1", "t2i"].value)


def test_systems_that_differ_are_refused_before_the_next_is_evaluated(
    two: list[Path], tmp_path: Path, pinned: Pinned
) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, images=IMAGES[:10], texts=texts(1.0)[:50])
    third = tmp_path / "nan.npz"
    np.savez(third, images=np.full_like(IMAGES, np.nan), texts=texts(1.0))
    pinned(refused("eval", two[0], other, third))


def test_options_of_one_system(two: list[Path], tmp_path: Path, pinned: Pinned) -> None:
    for more in (["--save-run", tmp_path / "r.json"], ["--texts", two[0]], ["--scores", two[0]]):
        pinned(refused("eval", *two, *more))
    pinned(refused("eval", f"x={two[0]}", f"x={two[1]}"))
    cli("eval", f"x-1={two[0]}", f"x-2={two[1]}")
    (tmp_path / "sub").mkdir()
    same = system(tmp_path / "sub" / "good.npz", 1.0)
    _, *rows = cli("eval", two[0], same, "--format", "csv", "--ci", "0").out.splitlines()
    assert {line.split(",")[0] for line in rows} == {f"{tmp_path.name}/good", "sub/good"}


@pytest.mark.parametrize("command", ["compare", "slice --by positives", "agree"])
def test_vectors_in_place_of_reports_are_named(two: list[Path], tmp_path: Path, command: str, pinned: Pinned) -> None:
    pinned(refused(*command.split(), *two, code=3))
    np.save(tmp_path / "s.npy", IMAGES)
    pinned(cli("compare", tmp_path / "s.npy", code=None).err)
    vsebench.evaluate(two[0], ci=0).save(tmp_path / "r.json")
    pinned(cli("compare", tmp_path / "r.json", code=None).err)
    pinned(cli("eval", tmp_path / "r.json", code=None).err)


# --- two files ---------------------------------------------------------------------------------------------


def saved(kind: str, path: Path, vectors: np.ndarray, side: str) -> Path:
    """The vectors of a side in a file of a kind: ``stated`` and the tables have the image of every text."""
    path = path.with_suffix({"tensor": ".pt", "dict": ".pth", "stated": ".parquet"}.get(kind, f".{kind}"))
    if kind == "npy":
        np.save(path, vectors)
    elif kind == "npz":
        np.savez(path, feats=vectors, ids=np.arange(len(vectors)))
    elif kind in ("tensor", "dict"):
        torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'vsebench[train]')")
        tensor = torch.tensor(vectors)
        torch.save(tensor if kind == "tensor" else {f"{'img' if side == 'image' else 'cap'}_embs": tensor}, path)
    elif kind == "safetensors":
        numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
        numpy.save_file({"embeddings": vectors}, path)
    else:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'vsebench[formats]')")
        ids = [f"{'i' if side == 'image' else 'c'}{n:03}" for n in range(len(vectors))]
        frame = pd.DataFrame({"id": ids, "embedding": list(vectors)})
        if side == "text":
            frame["image_id"] = [f"i{n // EACH:03}" for n in range(len(vectors))]
        if kind == "stated":
            frame["modality"] = side
        frame = frame.sample(frac=1, random_state=4)
        frame.to_feather(path, compression="uncompressed") if kind == "arrow" else frame.to_parquet(path)
    return path


KINDS = ["npy", "npz", "tensor", "dict", "safetensors", "parquet", "stated", "arrow"]


@pytest.mark.parametrize(("first", "second"), [*((kind, kind) for kind in KINDS), ("npy", "dict")])
def test_two_files_of_one_side_each_are_one_system(tmp_path: Path, first: str, second: str) -> None:
    a, b = saved(first, tmp_path / "img", IMAGES, "image"), saved(second, tmp_path / "txt", texts(1.0), "text")
    assert not holds_both(opened(a)) and not holds_both(opened(b))
    more = [] if first in ("parquet", "stated", "arrow") else ["--captions-per-image", EACH]
    found = cli("eval", a, b, "--json", "--ci", "0", "--quiet", *more).json["results"]
    expected = vsebench.evaluate(IMAGES, texts(1.0), ci=0)
    values = {(r["metric"], r["direction"]): r["value"] for r in found}
    assert values == {(str(r.metric), r.direction): r.value for r in expected.results}


def test_what_two_files_say_beside_the_vectors(tmp_path: Path) -> None:
    order = np.random.default_rng(2).permutation(N * EACH)
    np.savez(tmp_path / "i.npz", x=IMAGES, image_ids=np.arange(N) + 70)
    np.savez(
        tmp_path / "t.npz", x=texts(0.1)[order], text_ids=order + 900, image_ids=order // EACH + 70,
        captions=np.array([f"caption {n}" for n in order]),
    )  # fmt: skip
    raw = read_embeddings(tmp_path / "i.npz", texts=tmp_path / "t.npz")
    assert raw.format == "npz pair" and raw.sources == (tmp_path / "i.npz", tmp_path / "t.npz") and raw.notes == ()
    assert raw.image_of_text.tolist() == (order // EACH + 70).tolist() and raw.holds == "ids"
    report = vsebench.evaluate(tmp_path / "i.npz", tmp_path / "t.npz", metrics="R@1,NCS@5", ci=0)
    assert report["R@1", "t2i"].value == 1.0 and report["cider:NCS@5", "t2i"].n == N * EACH


def test_keys_name_the_arrays_of_two_files(tmp_path: Path, refuses: Refuses) -> None:
    np.savez(tmp_path / "i.npz", a=IMAGES, b=IMAGES[:, ::-1])
    np.savez(tmp_path / "t.npz", a=texts(0.1), b=texts(0.1)[:, ::-1])
    keys = {"image_key": "b", "text_key": "b"}
    raw = read_embeddings(tmp_path / "i.npz", texts=tmp_path / "t.npz", **keys)
    assert np.array_equal(raw.images, IMAGES[:, ::-1]) and "ignored arrays: a (20, 8) float32" in raw.notes
    refuses(UsageError, read_embeddings, tmp_path / "i.npz", texts=tmp_path / "t.npz")


def test_files_are_grouped_by_what_they_hold(two: list[Path], tmp_path: Path, refuses: Refuses) -> None:
    image, text_file = saved("npy", tmp_path / "i", IMAGES, "image"), saved("npy", tmp_path / "t", texts(1.0), "text")
    files = [(None, two[0]), ("P", image), (None, text_file), (None, two[1])]
    assert group(files) == [(None, two[0], None), ("P", image, text_file), (None, two[1], None)]
    header = cli("eval", two[0], f"P={image}", text_file, "--format", "csv", "--ci", "0").out.splitlines()
    assert list(dict.fromkeys(line.split(",")[0] for line in header)) == ["system", "good", "P"]
    for wrong in ([image], [image, two[0]], [two[0], image], [image, ("Q", text_file)]):
        refuses(BadInput, group, [w if isinstance(w, tuple) else (None, w) for w in wrong])


def test_exchanged_files_are_named_where_names_say_so(tmp_path: Path, refuses: Refuses) -> None:
    np.savez(tmp_path / "i.npz", image_embeddings=IMAGES)
    np.savez(tmp_path / "t.npz", text_embeddings=texts(1.0))
    refuses(BadInput, read_embeddings, tmp_path / "t.npz", texts=tmp_path / "i.npz")
    a, b = saved("stated", tmp_path / "i", IMAGES, "image"), saved("stated", tmp_path / "t", texts(1.0), "text")
    refuses(BadInput, read_embeddings, b, texts=a)
    refuses(BadInput, read_embeddings, tmp_path / "i.npz")


def test_a_table_without_tests_has_the_values_of_the_reports() -> None:
    """CS has no value for a query with equal scores: tests are over shared queries, values are of each report."""
    gains = np.round(RNG.random((N, N * EACH)), 1)
    scores = (IMAGES @ texts(0.3).T, np.round(IMAGES @ texts(0.3).T / 6))
    options: dict[str, Any] = {"gains": gains, "metrics": "CS@2", "captions_per_image": EACH, "trust": True, "ci": 0}
    one, other = (vsebench.evaluate(scores=each, **options) for each in scores)
    assert one.results[0].undefined != other.results[0].undefined
    shown = vsebench.compare({"a": one, "b": other}, tests=False, intervals=True)
    frame = shown.to_frame().set_index(["system", "direction"]).value
    assert not any("compared on" in text for text in shown.warnings)
    for name, report in (("a", one), ("b", other)):
        assert all(frame[name, way] == report["CS@2", way].value for way in ("i2t", "t2i"))
    assert any("compared on" in text for text in vsebench.compare({"a": one, "b": other}, metrics="all").warnings)
