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
from tests.hostile.damage import X, Y, npy, two_files
from tests.hostile.good import Case, Make

BOM = b"\xef\xbb\xbf"
HUGE = b"".join(b'{"image_id": %d, "n": %d}\n' % (100 + i, 10**400) for i in range(24))


def header(text: bytes) -> bytes:
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
def document() -> bytes:
    """A report of R@1 and RSum with per-query values, as JSON."""
    return reports.report(0.5, metrics="R@1,RSum", resamples=20).to_json().encode()


def made(command: str, **files: bytes | Callable[[], bytes]) -> Make:
    """Write files, whose names end after ``_``; words of the command that name one get its folder."""
    contents = {name.replace("_", "."): data for name, data in files.items()}

    def make(folder: Path) -> list[str]:
        for name, data in contents.items():
            (folder / name).write_bytes(data() if callable(data) else data)
        return [str(folder / word) if word in contents else word for word in command.split()]

    return make


def report(change: Callable[[dict[str, Any]], object]) -> Make:
    """Compare a changed report with a good one."""

    def changed() -> bytes:
        data = json.loads(document())
        change(data)
        return json.dumps(data).encode()

    return made("compare a.json b.json", a_json=changed, b_json=document)


def table(data: bytes) -> Make:
    """Slice by the column n of JSON lines with these bytes."""
    command = "slice a.json --by column --column n --file t.jsonl"
    return made(command, a_json=document, t_jsonl=data)


def captions(data: bytes) -> Make:
    words = made("--captions c.jsonl --metrics NCS@3", c_jsonl=data)
    return lambda folder: [*good.npz(folder), *words(folder)]


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
    Case("column beyond float64", table(HUGE)),
    Case("nested lines", table(b'{"image_id": 100, "n": ' + b"[" * 100_000)),
    Case("a table of nothing but a byte order mark", table(BOM)),
    Case("parsed captions of nothing but a byte order mark", made("spice --from s.jsonl", s_jsonl=BOM)),
    Case("captions of nothing but a byte order mark", captions(BOM + b"\n \n")),
]  # fmt: skip
