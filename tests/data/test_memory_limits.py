"""Small files that would take gigabytes are refused before the memory is taken."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.memory import peak
from tests.worlds import relevance
from vsebench import Split, evaluate, load, memory
from vsebench.analysis import attributes
from vsebench.data.captions import with_captions
from vsebench.data.read import read_embeddings
from vsebench.data.runs import read_runs
from vsebench.data.splits.sources import from_file
from vsebench.data.textfile import read_text
from vsebench.errors import BadInput
from vsebench.memory import Growth, require, text_array
from vsebench.rank.observe import Request, observe
from vsebench.rank.scorers import Dot
from vsebench.report.packed import pack
from vsebench.unimodal.queries import read_queries

IDS = [f"i{n}" for n in range(20_000)]
LONG = ["x" * 100_000 if n == 7 else name for n, name in enumerate(IDS)]  # 7.5 GiB as texts of one width
MIB = 1 << 20


def refused(call: Any, *parts: str, mib: float = 120) -> None:
    """``call`` fails with all of these words and without taking much memory."""
    caught: list[str] = []

    def attempt() -> None:
        with pytest.raises(BadInput) as error:
            call()
        caught.append(str(error.value))

    assert peak(attempt) < mib
    assert all(part in caught[0] for part in parts), caught[0]


def test_what_is_needed_and_what_is_free_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 3 * MIB // 2)
    require(MIB)
    with pytest.raises(BadInput, match=r"needs some 3\.0 GiB of memory, and 1\.5 MiB are free"):
        require(3 << 30)
    growth = Growth("f", 1000, factor=10)
    growth.add(1000)
    with pytest.raises(BadInput, match=r"f: needs more than 1\.9 MiB of memory, and 1\.5 MiB are free"):
        growth.add(199_000)
    (tmp_path / "captions.txt").write_text("a dog\n" * 40_000)
    with pytest.raises(BadInput, match=r"needs some 2\.3 MiB of memory, and 1\.5 MiB are free"):
        read_text(tmp_path / "captions.txt")
    (tmp_path / "captions.txt.gz").write_bytes(gzip.compress(b"a dog\n" * 40_000))
    with pytest.raises(BadInput, match=r"needs more than .* MiB of memory, and 1\.5 MiB are free"):
        read_text(tmp_path / "captions.txt.gz")
    (tmp_path / "report.json").write_text("{" + " " * 200_000)
    with pytest.raises(BadInput, match=r"needs some 1\.9 MiB of memory, and 1\.5 MiB are free"):
        load(tmp_path / "report.json")


def test_sizes_are_readable() -> None:
    assert [memory.size(n) for n in (0, 1023, 1024, 3 * MIB // 2, 5 << 30)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "1.5 MiB", "5.0 GiB",
    ]  # fmt: skip


def test_texts_of_one_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_array(["a", "bcd"], "ids").tolist() == ["a", "bcd"] and text_array([], "ids").tolist() == []
    assert text_array(["x" * 5000, "y"], "ids").dtype.itemsize == 20_000  # few and long is no harm
    refused(lambda: text_array(LONG, "ids"), "ids[7] has 100,000 characters", "all 20,000 need 7.5 GiB")
    monkeypatch.setattr(memory, "free_memory", lambda: 30 * MIB)
    refused(lambda: text_array(["x" * 500] * 20_000, "ids"), "needs some 38.1 MiB of memory, and 30.0 MiB are free")


def test_one_long_id_among_short_ones(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    long = "has 100,000 characters, and with it all 20,000 need 7.5 GiB"
    rows = {"id": [*LONG, *IDS], "modality": ["image"] * 20_000 + ["text"] * 20_000, "embedding": [[1.0]] * 40_000}
    for ids in (LONG, [name.encode() for name in LONG]):
        pq.write_table(pa.table(rows | {"id": [*ids, *ids]}), tmp_path / "e.parquet", compression="zstd")
        refused(lambda: read_embeddings(tmp_path / "e.parquet"), "e.parquet: id[7]", long)
    shards = tmp_path / "shards"
    for side in ("img_emb", "text_emb", "metadata"):
        (shards / side).mkdir(parents=True)
    for side in ("img_emb", "text_emb"):
        np.save(shards / side / f"{side}_0.npy", np.ones((20_000, 1), np.float32))
    pq.write_table(pa.table({"image_id": LONG}), shards / "metadata" / "metadata_0.parquet")
    refused(lambda: read_embeddings(shards), "metadata_0.parquet: image_id[7]", long)


@pytest.mark.parametrize("name", ["c.jsonl", "c.csv", "q.txt", "l.jsonl", "l.csv"])
def test_one_long_id_among_short_ones_in_text(name: str, tmp_path: Path) -> None:
    path, split = tmp_path / name, Split("custom", np.arange(2), np.arange(2), np.arange(2))
    kind = "caption_id" if name[0] == "c" else "image_id"
    rows = [{kind: x, "image_id": x, "caption": "a dog", "label": "a"} for x in LONG]
    if name == "q.txt":
        path.write_text("\n".join(LONG))
    elif name.endswith(".jsonl"):
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path.write_text("\n".join(",".join(part) for part in [list(rows[0]), *(list(r.values()) for r in rows)]))
    read = {"c": lambda: from_file(path), "q": lambda: read_queries(str(path), 20_000, np.array(IDS))}
    call = read.get(name[0], lambda: attributes.from_file(path, None, split, several=False))
    refused(call, name, "has 100,000 characters, and with it all 20,000 need 7.5 GiB", mib=150)


def test_gzip_files_that_unpack_to_far_more(tmp_path: Path) -> None:
    line = json.dumps({"caption_id": 1, "image_id": 2, "caption": "a"}).encode() + b"\n"
    bomb = "and unpacks to more than 16.0 MiB: damaged, or a zip bomb"
    path = tmp_path / "captions.jsonl.gz"
    path.write_bytes(gzip.compress(line * 500_000))
    refused(lambda: from_file(path), "captions.jsonl.gz: takes ", bomb)
    path = tmp_path / "captions.txt.gz"
    path.write_bytes(gzip.compress(bytes(24 * MIB)))
    refused(lambda: read_text(path), "captions.txt.gz: takes ", bomb)
    path = tmp_path / "run.trec.gz"
    path.write_bytes(gzip.compress(b"1 Q0 2 1 0.5 vse\n" + (b" " * 60_000 + b"\n") * 400))
    refused(lambda: read_runs([path]), "run.trec.gz: takes ", bomb)
    split = Split("custom", np.arange(2), np.arange(2), np.arange(2))
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(b"image_id,label\n" + b"1," * 12_000_000))
    refused(lambda: attributes.from_file(path, None, split, several=False), "labels.csv.gz: takes ", bomb, mib=400)


def test_tables_of_repeated_texts(tmp_path: Path) -> None:
    """A text that a table holds once and that every row repeats."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"image_id": ["x" * 4000] * 60_000, "label": ["a"] * 60_000}), tmp_path / "l.parquet")
    split = Split("custom", np.arange(2), np.arange(2), np.arange(2))
    refused(
        lambda: attributes.from_file(tmp_path / "l.parquet", None, split, several=False),
        "l.parquet: takes ",
        "zip bomb",
        mib=300,
    )


def packed(kind: str, raw: bytes) -> str:
    """An array as ``report.packed`` writes it."""
    return f"{kind}:{base64.b64encode(zlib.compress(raw, 9)).decode()}"


def test_reports_whose_arrays_unpack_to_far_more(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 8)), rng.standard_normal((20, 8))
    path = tmp_path / "r.json"
    evaluate(x, y, captions_per_image=5, metrics="R@1,MedR", trust=True, ci=0).save(path)
    good, zeros = json.loads(path.read_text()), packed("u1", bytes(64 * MIB))
    short = [f'"{name}"' for name in IDS]
    long = packed("text", f"[{','.join([*short, *short])},{json.dumps(LONG[7])}]".encode())

    def changed(name: str, text: str, *parts: str) -> None:
        document = json.loads(json.dumps(good))
        section = document["per_query"]
        (section["columns"][0] if name in section["columns"][0] else section)[name] = text
        path.write_text(json.dumps(document))
        refused(lambda: load(path), *parts)

    changed("values", zeros, "r.json: ", "R@1 (i2t): a packed array is damaged (more than 4 bytes for 4 numbers)")
    changed("queries", zeros, "R@1 (i2t): a packed array is damaged (more than 4 bytes for 4 numbers)")
    changed("fold", zeros, "fold: a packed array is damaged (more than 4 bytes for 4 numbers)")
    changed("image_of", zeros, "image_of: a packed array is damaged (more than 20 bytes for 20 numbers)")
    changed("images", zeros, "a packed array is damaged (more than 17,", " bytes)")
    changed("captions", long, "ids[40000] has 100,000 characters, and with it all 40,001 need 14.9 GiB")
    path.write_text(json.dumps(good))
    assert load(path)["R@1", "i2t"].n == 4


def test_captions_take_memory_by_their_size(tmp_path: Path) -> None:
    path = tmp_path / "captions.txt"
    path.write_text("a dog\na cat\n")
    split = Split("custom", np.arange(2), np.arange(2), np.arange(2))
    assert peak(lambda: with_captions(split, path)) < 2
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert peak(lambda: read_text(path)) < 4


def test_arrays_of_a_report_that_repeat_are_read() -> None:
    """Arrays that shrink to less than a hundredth are usual: all queries have the same value."""
    from vsebench.report.packed import unpack

    values = np.zeros(1_000_000)
    assert len(unpack(pack(values), len(values))) == len(values)


def test_counting_takes_little_memory_a_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    scorer = Dot(rng.standard_normal((20, 4), np.float32), rng.standard_normal((n, 4), np.float32))
    requests = [
        Request("x", relevance("t2i", {c: [c % 20] for c in range(n)})),
        Request("x", relevance("i2t", {i: range(i, 1200, 20) for i in range(20)})),
    ]
    observe(scorer, requests, threads=2, tile_shape=(20, 1000))  # compiled
    used = peak(lambda: observe(scorer, requests, threads=2, tile_shape=(20, 1000)))
    assert used * MIB / n < 300
    # Many relevant items of a query are ordered, in memory of a fixed size beside that of the pairs.
    many = [requests[0], Request("x", relevance("i2t", {i: range(i, n, 20) for i in range(20)}))]
    with monkeypatch.context() as patched:
        patched.setattr("vsebench.rank.dense.TOGETHER", n)  # the scores of one query in a thread
        used = peak(lambda: observe(scorer, many, threads=2, tile_shape=(20, 1000)))
    assert used * MIB / n < 300
    monkeypatch.setattr(memory, "free_memory", lambda: 50 * MIB)
    refused(lambda: observe(scorer, requests, threads=2), "needs some 76.0 MiB of memory, and 50.0 MiB are free")
