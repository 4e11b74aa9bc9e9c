"""Retrieved lists that cannot be measured. They speak of COCO items, so the ids come from the declared split."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.hostile.case import Case
from tests.hostile.good import raw

COCO = ("eccv_caption",)


@cache
def ids() -> tuple[list[int], list[int]]:
    """Image and caption ids of COCO 5K."""
    from vsebench.data import splits

    split = splits.load("coco-5k")
    return split.image_ids.tolist(), split.caption_ids.tolist()


def lists(direction: str, length: int = 30) -> dict[str, list[int]]:
    """A list for every query, its own items on top."""
    images, captions = ids()
    own = 1 if direction == "i2t" else 5
    queries, items = (images, captions) if direction == "i2t" else (captions, images)
    wide = items + items
    times = len(items) / len(queries)
    return {str(q): wide[(at := int(i * times) if own == 1 else i // own) : at + length] for i, q in enumerate(queries)}


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


def swapped() -> dict[str, Any]:
    """i2t called t2i and the other way round."""
    return {"t2i": lists("i2t"), "i2t": lists("t2i")}


def trec(length: int = 30, score: str = "0.5") -> str:
    """A TREC run of image queries."""
    lines = (
        f"{q} Q0 {item} {rank} {score if score != '0.5' else length - rank} vse"
        for q, items in list(lists("i2t", length).items())[:100]
        for rank, item in enumerate(items)
    )
    return "\n".join(lines)


CASES = [
    Case("run lists an item twice", lambda f: run(f, first("i2t", lambda x: [*x, x[0]])), 3, "?", COCO),
    Case("run with an unknown item", lambda f: run(f, first("i2t", lambda x: [*x, 1])), 3, "?", COCO),
    Case("run with an unknown query", lambda f: run(f, {"i2t": {**lists("i2t"), "1": [2]}}), 3, "?", COCO),
    Case("run of strangers", lambda f: run(f, {"i2t": {"a": ["b"]}}), 3, "?"),
    Case("run of strangers, split named", lambda f: run(f, {"i2t": {"a": ["b"]}}, "--split", "coco-5k"), 3, "?", COCO),
    Case("run directions exchanged", lambda f: run(f, swapped()), 3, "?", COCO),
    Case("run named the other way", lambda f: run(f, lists("i2t"), head="t2i="), 3, "?", COCO),
    Case("run says another direction", lambda f: run(f, {"i2t": lists("i2t")}, head="t2i="), 3, "?", COCO),
    Case("run too short for mAP@R", lambda f: run(f, {"i2t": lists("i2t", 4)}, "--metrics", "mAP@R"), 3, "?", COCO),
    Case("run too short for R@10", lambda f: run(f, {"i2t": lists("i2t", 4)}, "--metrics", "R@1,R@10"), 3, "?", COCO),
    Case("run too short, counted", lambda f: run(f, {"i2t": lists("i2t", 4)}, "--metrics", "mAP@R", "--short-lists", "miss"), 0, "?", COCO),
    Case("run without the direction asked", lambda f: run(f, {"i2t": lists("i2t")}, "--direction", "t2i"), 3, "?", COCO),
    Case("run as custom", lambda f: run(f, {"i2t": {"1": [2]}}, "--split", "custom"), 2, "?"),
    Case("run with --ties", lambda f: run(f, {"i2t": {"1": [2]}}, "--ties", "mean"), 2, "?"),
    Case("run with an empty list", lambda f: run(f, {"i2t": {"1": []}}), 3, "?"),
    Case("run of no lists", lambda f: run(f, {}), 3, "?"),
    Case("run of an array", lambda f: run(f, [1, 2]), 3, "?"),
    Case("run with null", lambda f: run(f, {"i2t": {"1": [None]}}), 3, "?"),
    Case("run with a float", lambda f: run(f, '{"i2t": {"1": [1.5]}}'), 3, "?"),
    Case("run with a key too many", lambda f: run(f, {"i2t": {"1": [2]}, "notes": {}}), 3, "?"),
    Case("JSON keys twice", lambda f: run(f, '{"i2t": {"1": [2], "1": [3]}}'), 3, "?"),
    Case("JSON nested deeply", lambda f: run(f, "[" * 100_000), 3, "?"),
    Case("JSON cut", lambda f: run(f, '{"i2t": {"1": [2,'), 3, "?"),
    Case("JSON with a huge number", lambda f: run(f, '{"i2t": {"1": [' + "9" * 10_000 + "]}}"), 3, "?"),
    Case("JSON that is not UTF-8", lambda f: run(f, b'{"i2t": {"\xff": [1]}}'), 3, "?"),
    Case("TREC of five columns", lambda f: run(f, "1 Q0 2 1 0.5\n"), 3, "?"),
    Case("TREC score is no number", lambda f: run(f, "1 Q0 2 1 high vse\n"), 3, "?"),
    Case("TREC score is NaN", lambda f: run(f, "1 Q0 2 1 nan vse\n"), 3, "?"),
    Case("TREC rank is no number", lambda f: run(f, "1 Q0 2 first 0.5 vse\n"), 3, "?"),
    Case("TREC item twice", lambda f: run(f, "1 Q0 2 1 0.5 vse\n1 Q0 2 2 0.4 vse\n"), 3, "?"),
    Case("TREC of blank lines", lambda f: run(f, "\n \n"), 3, "?"),
    Case("TREC with one endless line", lambda f: run(f, "1 " * 90_000), 3, "?"),
    Case("TREC ranks contradict scores", lambda f: run(f, trec(score="0.25").replace("0.25", "1", 5), "--metrics", "R@1"), 0, "?", COCO),
    Case("gzip cut", lambda f: run(f, gzip.compress(b"1 Q0 2 1 0.5 vse\n" * 99)[:-20]), 3, "?"),
    Case("gzip bomb of one line", lambda f: run(f, gzip.compress(b"1" * 50_000_000, 1)), 3, "?"),
    Case("gzip bomb of JSON", lambda f: run(f, gzip.compress(b'{"i2t":' + b" " * 20_000_000, 1)), 3, "?", (), ("vsebench.data.runs.memory_limit", lambda: 16_000_000)),
    Case("embeddings given as a run", lambda f: run(f, b"\x93NUMPY\x01\x00"), 3, "?"),
    Case("run file missing", lambda f: ["eval", "--run", f"i2t={f / 'none.json'}"], 3, "?"),
]
