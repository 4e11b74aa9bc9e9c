"""Retrieved lists that cannot be evaluated, of the items of COCO 5K."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.hostile.good import Case, raw

COCO = ("eccv_caption",)


@cache
def ids() -> tuple[list[int], list[int]]:
    """Image and caption ids of COCO 5K."""
    from vsebench.sets import catalogue as splits

    split = splits.load_split("coco-5k")
    return split.rows.ids.tolist(), split.columns.ids.tolist()


def lists(direction: str, length: int = 30, queries: int | None = 40) -> dict[str, list[int]]:
    """A list for some queries (None: all), its own items on top."""
    images, captions = ids()
    if direction == "i2t":
        return {str(q): captions[5 * i :][:length] for i, q in enumerate(images[:queries])}
    return {str(q): images[i // 5 :][:length] for i, q in enumerate(captions[:queries])}


def run(folder: Path, content: Any, *more: str, head: str = "") -> list[str]:
    """Write lists as JSON (or text, or bytes) and return the command that evaluates them."""
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    path = raw(folder, "r.json", content.encode() if isinstance(content, str) else content)[1]
    return ["eval", "--run", head + path, *more]


def first(direction: str, change: Any, length: int = 30) -> dict[str, Any]:
    """Lists whose first one is changed."""
    out: dict[str, Any] = dict(lists(direction, length))
    query = next(iter(out))
    out[query] = change(out[query])
    return {direction: out}


def short(length: int) -> dict[str, Any]:
    return {"i2t": lists("i2t", length, None)}


def swapped() -> dict[str, Any]:
    """i2t called t2i and the other way round."""
    return {"t2i": lists("i2t"), "i2t": lists("t2i")}


def contradictory() -> str:
    """A TREC run of all images whose ranks are the reverse of its scores."""
    found = lists("i2t", 3, None).items()
    return "\n".join(f"{q} Q0 {x} {3 - at} {9 - at} vse" for q, items in found for at, x in enumerate(items))


CASES = [
    Case("run lists an item twice", lambda f: run(f, first("i2t", lambda x: [*x, x[0]])), needs=COCO),
    Case("run with an unknown item", lambda f: run(f, first("i2t", lambda x: [*x, 1])), needs=COCO),
    Case("run with an unknown query", lambda f: run(f, {"i2t": {**lists("i2t"), "1": [2]}}), needs=COCO),
    Case("run of unknown ids", lambda f: run(f, {"i2t": {"a": ["b"]}})),
    Case("run of unknown ids, split named", lambda f: run(f, {"i2t": {"a": ["b"]}}, "--split", "coco-5k"), needs=COCO),
    Case("run directions exchanged", lambda f: run(f, swapped()), needs=COCO),
    Case("run named the other way", lambda f: run(f, lists("i2t"), head="t2i="), needs=COCO),
    Case("run states another direction", lambda f: run(f, {"i2t": lists("i2t")}, head="t2i="), needs=COCO),
    Case("run too short for mAP@R", lambda f: run(f, short(4), "--metrics", "mAP@R"), needs=COCO),
    Case("run too short for R@10", lambda f: run(f, short(4), "--metrics", "R@1,R@10"), needs=COCO),
    Case(
        "run too short, counted",
        lambda f: run(f, short(5), *["--metrics", "Recall@9", "--short-lists", "miss"]),
        0,
        COCO,
    ),
    Case("run without the direction asked", lambda f: run(f, {"i2t": lists("i2t")}, "--direction", "t2i"), needs=COCO),
    Case("run as custom", lambda f: run(f, {"i2t": {"1": [2]}}, "--split", "custom"), code=2),
    Case("run with --ties", lambda f: run(f, {"i2t": {"1": [2]}}, "--ties", "optimistic"), code=2),
    Case("run with an empty list", lambda f: run(f, {"i2t": {"1": []}})),
    Case("run of no lists", lambda f: run(f, {})),
    Case("run of an array", lambda f: run(f, [1, 2])),
    Case("run with null", lambda f: run(f, {"i2t": {"1": [None]}})),
    Case("run with a float", lambda f: run(f, '{"i2t": {"1": [1.5]}}')),
    Case("run with a key too many", lambda f: run(f, {"i2t": {"1": [2]}, "notes": {}})),
    Case("JSON keys twice", lambda f: run(f, '{"i2t": {"1": [2], "1": [3]}}')),
    Case("JSON nested deeply", lambda f: run(f, "[" * 100_000)),
    Case("JSON cut", lambda f: run(f, '{"i2t": {"1": [2,')),
    Case("JSON with a huge number", lambda f: run(f, '{"i2t": {"1": [' + "9" * 10_000 + "]}}")),
    Case("JSON that is not UTF-8", lambda f: run(f, b'{"i2t": {"\xff": [1]}}')),
    Case("TREC of five columns", lambda f: run(f, "1 Q0 2 1 0.5\n")),
    Case("TREC score is no number", lambda f: run(f, "1 Q0 2 1 high vse\n")),
    Case("TREC score is NaN", lambda f: run(f, "1 Q0 2 1 nan vse\n")),
    Case("TREC rank is no number", lambda f: run(f, "1 Q0 2 first 0.5 vse\n")),
    Case("TREC item twice", lambda f: run(f, "1 Q0 2 1 0.5 vse\n1 Q0 2 2 0.4 vse\n")),
    Case("TREC of blank lines", lambda f: run(f, "\n \n")),
    Case("TREC with one endless line", lambda f: run(f, "1 " * 90_000)),
    Case("TREC ranks contradict scores", lambda f: run(f, contradictory(), "--metrics", "R@1", "--trust"), 0, COCO),
    Case("gzip cut", lambda f: run(f, gzip.compress(b"1 Q0 2 1 0.5 vse\n" * 99)[:-20])),
    Case("gzip bomb of one line", lambda f: run(f, gzip.compress(b"1" * 50_000_000, 1))),
    Case("embeddings given as a run", lambda f: run(f, b"\x93NUMPY\x01\x00")),
    Case("run file missing", lambda f: ["eval", "--run", f"i2t={f / 'none.json'}"]),
]
