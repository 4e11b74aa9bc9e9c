"""Inputs that a search with random changes has found: each once ended as an unexpected failure."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests import reports
from tests.hostile import good
from tests.hostile.case import Case, Make
from tests.hostile.damage import X, Y, npy, two_files

BOM = b"\xef\xbb\xbf"


def header(text: bytes) -> bytes:
    """An .npy with this header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + Y.tobytes()


def beyond_unicode(n: int) -> Any:
    """(n,) strings of which one has a character that Unicode does not have."""
    ids = np.array([f"id{i:04d}" for i in range(n)])
    ids.view(np.uint32).reshape(n, -1)[7, 2] = 0x110000
    return ids


def signalling() -> Any:
    """Image vectors with a NaN whose conversion is an invalid operation."""
    vectors = X.copy()
    vectors.view(np.uint32)[7, 3] = 0x7F800001
    return vectors


def queries(folder: Path) -> list[str]:
    """Queries of one modality whose ids are no strings."""
    np.save(folder / "i.npy", X)
    np.save(folder / "q.npy", beyond_unicode(9))
    return ["unimodal", str(folder / "i.npy"), "--labels", str(folder / "i.npy"), "--queries", str(folder / "q.npy")]


@functools.cache
def document() -> str:
    """A report of R@1 and RSum with per-query values, as JSON."""
    return reports.report(0.5, metrics="R@1,RSum", resamples=20).to_json()


def report(change: Callable[[dict[str, Any]], object], *command: str) -> Make:
    """Compare a changed report with a good one."""

    def make(folder: Path) -> list[str]:
        changed = json.loads(document())
        change(changed)
        (folder / "a.json").write_text(json.dumps(changed), encoding="utf-8")
        (folder / "b.json").write_text(document(), encoding="utf-8")
        return ["compare", str(folder / "a.json"), str(folder / "b.json"), "--permutations", "20", "--resamples", "20"]

    return make


def table(*values: Any) -> Make:
    """Slice by a column of JSON lines with these values."""

    def make(folder: Path) -> list[str]:
        (folder / "a.json").write_text(document(), encoding="utf-8")
        rows = [json.dumps({"image_id": 100 + i, "n": value}) for i, value in enumerate(values)]
        (folder / "t.jsonl").write_text("\n".join(rows), encoding="utf-8")
        return by_column(folder, "t.jsonl")

    return make


def by_column(folder: Path, name: str) -> list[str]:
    """Slice a report by the column n of a file."""
    args = ["slice", str(folder / "a.json"), "--by", "column", "--column", "n", "--file", str(folder / name)]
    return [*args, "--resamples", "20"]


def file_table(name: str, data: bytes) -> Make:
    """Slice by a column of a file with these bytes."""

    def make(folder: Path) -> list[str]:
        (folder / "a.json").write_text(document(), encoding="utf-8")
        (folder / name).write_bytes(data)
        return by_column(folder, name)

    return make


def spice(data: bytes) -> Make:
    """Import a file of parsed captions."""

    def make(folder: Path) -> list[str]:
        (folder / "s.jsonl").write_bytes(data)
        return ["spice", "import", str(folder / "s.jsonl")]

    return make


def captions(data: bytes) -> Make:
    """Evaluate with a file of captions."""

    def make(folder: Path) -> list[str]:
        (folder / "c.jsonl").write_bytes(data)
        return [*good.npz(folder), "--captions", str(folder / "c.jsonl"), "--metrics", "NCS@3"]

    return make


CASES = [
    *(
        Case(f"npy header {text[-12:]!r}", lambda f, t=text: two_files(f, header(t)))
        for text in (
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (300, 16), (\n",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (300, 16)}'''\n",
            b"\t\n  {\n x",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (30\x00, 16), }\n",
        )
    ),
    Case("image ids beyond Unicode", lambda f: good.npz(f, image_ids=beyond_unicode(60))),
    Case("queries beyond Unicode", queries),
    Case("a signalling NaN", lambda f: good.npz(f, image_embeddings=signalling())),
    Case("texts of one modality twice", lambda f: two_files(f, npy(Y) * 2)),
    Case("notes are a number", report(lambda d: d["provenance"].update(notes=1.5))),
    Case("notes are an object", report(lambda d: d["provenance"].update(notes={"a": 1}))),
    Case("notes have a number", report(lambda d: d["provenance"].update(notes=["a", 1]))),
    Case("column beyond float64", table(*[10**400] * 24)),
    Case("nested lines", file_table("t.jsonl", b'{"image_id": 100, "n": ' + b"[" * 100_000)),
    Case("a table of nothing but a byte order mark", file_table("t.jsonl", BOM)),
    Case("parsed captions of nothing but a byte order mark", spice(BOM)),
    Case("captions of nothing but a byte order mark", captions(BOM + b"\n \n")),
]  # fmt: skip
