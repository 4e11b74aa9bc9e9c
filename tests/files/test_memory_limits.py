"""Small files that would take gigabytes are refused before the memory is taken."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tests.memory import peak
from tests.worlds import relevance
from vsebench import TestSet, evaluate, load, memory
from vsebench.errors import BadInput
from vsebench.files import textfile
from vsebench.files.captions import from_file
from vsebench.files.pairs import JUDGED, LISTS
from vsebench.files.read_pairs import read_pairs
from vsebench.files.textfile import read_text
from vsebench.memory import require, text_array
from vsebench.rank.count import Targets, count
from vsebench.rank.scorers import Dot, System
from vsebench.results.packed import pack, unpack
from vsebench.sets.match import with_captions

MIB = 1 << 20


def test_what_is_needed_and_what_is_free_are_said(monkeypatch, tmp_path, refuses):
    monkeypatch.setattr(memory, "free_memory", lambda: 3 * MIB // 2)
    require(MIB)
    refuses(BadInput, require, 3 << 30)
    (tmp_path / "captions.txt").write_text("a dog\n" * 40_000)
    refuses(BadInput, read_text, tmp_path / "captions.txt")
    (tmp_path / "report.json").write_text("{" + " " * 200_000)
    refuses(BadInput, load, tmp_path / "report.json")


def test_sizes_are_readable():
    assert [memory.size(n) for n in (0, 1023, 1024, 3 * MIB // 2, 5 << 30)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "1.5 MiB", "5.0 GiB",
    ]  # fmt: skip


def test_texts_of_one_width(monkeypatch, refuses):
    assert text_array(["a", "bcd"], "ids").tolist() == ["a", "bcd"] and text_array([], "ids").tolist() == []
    monkeypatch.setattr(memory, "free_memory", lambda: 30 * MIB)
    assert peak(lambda: refuses(BadInput, text_array, ["x" * 500] * 20_000, "ids")) < 120


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{i // 100} Q0 {i} {i % 100} {i % 100 / 100} t\n" for i in range(20_000)),
        "".join(f"{i // 100} {i}\n" for i in range(20_000)),
        json.dumps({str(q): list(range(100 * q, 100 * q + 100)) for q in range(200)}),
        "".join(f"{i // 5}.jpg#{i % 5}\ta man rides a horse on the beach {i}\n" for i in range(20_000)),
    ],
    ids=["run", "qrels", "lists", "captions"],
)
def test_records_take_no_more_memory_than_is_asked_for(text, monkeypatch, tmp_path):
    asked, path = [], tmp_path / "records.txt"
    path.write_text(text)
    monkeypatch.setattr(textfile, "require", lambda needed, _: asked.append(needed))
    read = (
        (lambda: from_file(path))
        if ".jpg" in text
        else lambda: read_pairs(path, None, LISTS if "Q0" in text else JUDGED)
    )
    read()  # packages are loaded
    assert peak(read) * MIB < max(asked)


def test_an_array_of_a_report_that_is_longer_than_its_queries(tmp_path, refuses):
    rng = np.random.default_rng(0)
    path = tmp_path / "r.json"
    x, y = rng.standard_normal((4, 8)), rng.standard_normal((20, 8))
    evaluate(x, y, captions_per_image=5, metrics="R@1,MedR", trust=True, ci=0).save(path)
    document = json.loads(path.read_text())
    document["per_query"]["columns"][0]["values"] = pack(np.zeros(1000))
    path.write_text(json.dumps(document))
    assert peak(lambda: refuses(BadInput, load, path)) < 120
    assert len(unpack(pack(np.zeros(1_000_000)), 1_000_000)) == 1_000_000  # shrunk a lot, and as long as it says


def test_captions_take_memory_by_their_size(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("a dog\na cat\n")
    split = TestSet.captioned("custom", np.arange(2), np.arange(2), np.arange(2))
    assert peak(lambda: with_captions(split, path)) < 2
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert peak(lambda: read_text(path)) < 4


def test_counting_takes_little_memory_a_caption(monkeypatch, refuses):
    rng = np.random.default_rng(0)
    n = 100_000
    system = System(Dot(rng.standard_normal((20, 4), np.float32), rng.standard_normal((n, 4), np.float32)))
    few, many = ([Targets("x", relevance({i: range(i, most, 20) for i in range(20)}))] for most in (1200, n))
    columns = [Targets("x", relevance({c: [c % 20] for c in range(n)}))]
    count(system, (few, columns), threads=2, tile_shape=(20, 1000))  # compiled
    used = peak(lambda: count(system, (few, columns), threads=2, tile_shape=(20, 1000)))
    assert used * MIB / n < 300
    # Many relevant items of a query are ordered, in memory of a fixed size beside that of the pairs.
    with monkeypatch.context() as patched:
        patched.setattr("vsebench.rank.order.BLOCK_SCORES", n)  # the scores of one query in a thread
        used = peak(lambda: count(system, (many, columns), threads=2, tile_shape=(20, 1000)))
    assert used * MIB / n < 300
    # All pairs of equal vectors are compared in float64, some at a time.
    ones = System(Dot(np.ones((20, 4), np.float32), np.ones((n, 4), np.float32)))
    one = [Targets("x", relevance({i: [i] for i in range(20)}))]
    assert peak(lambda: count(ones, (one, columns), threads=2, tile_shape=(20, 1000))) * MIB / n < 300
    monkeypatch.setattr(memory, "free_memory", lambda: 50 * MIB)
    assert peak(lambda: refuses(BadInput, count, system, (few, columns), threads=2)) < 120
