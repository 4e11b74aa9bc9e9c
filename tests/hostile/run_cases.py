"""Retrieved lists that cannot be evaluated, of the items of COCO 5K."""

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
    from vsebench.data.splits import catalogue as splits

    split = splits.load_split("coco-5k")
    return split.image_ids.tolist(), split.caption_ids.tolist()


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


def swapped() -> dict[str, Any]:
    """i2t called t2i and the other way round."""
    return {"t2i": lists("i2t"), "i2t": lists("t2i")}


def contradictory() -> str:
    """A TREC run of all images whose ranks are the reverse of its scores."""
    found = lists("i2t", 3, None).items()
    return "\n".join(f"{q} Q0 {x} {3 - at} {9 - at} vse" for q, items in found for at, x in enumerate(items))


CASES = [
    Case(
        "run lists an item twice",
        lambda f: run(f, first("i2t", lambda x: [*x, x[0]])),
        3,
        "r.json: i2t: query '391895' lists item '770337' twice, at ranks 1 and 31",
        COCO,
    ),
    Case(
        "run with an unknown item",
        lambda f: run(f, first("i2t", lambda x: [*x, 1])),
        3,
        "r.json: i2t: 1 of the 40 lists holds items that are not in split 'coco-5k' (first: item 1",
        COCO,
    ),
    Case(
        "run with an unknown query",
        lambda f: run(f, {"i2t": {**lists("i2t"), "1": [2]}}),
        3,
        "r.json: i2t: 1 of the 41 query ids is not in split 'coco-5k' (first: 1)",
        COCO,
    ),
    Case(
        "run of unknown ids",
        lambda f: run(f, {"i2t": {"a": ["b"]}}),
        3,
        "r.json: query ids such as 'a' belong to no declared split that is installed (coco-5k,",
    ),
    Case(
        "run of unknown ids, split named",
        lambda f: run(f, {"i2t": {"a": ["b"]}}, "--split", "coco-5k"),
        3,
        "r.json: i2t: 1 of the 1 query ids is not in split 'coco-5k' (first: a)",
        COCO,
    ),
    Case(
        "run directions exchanged",
        lambda f: run(f, swapped()),
        3,
        "r.json: the lists called i2t look swapped: their queries and items are those of the other",
        COCO,
    ),
    Case(
        "run named the other way",
        lambda f: run(f, lists("i2t"), head="t2i="),
        3,
        "r.json: the lists called t2i look swapped: their queries and items are those of the other",
        COCO,
    ),
    Case(
        "run states another direction",
        lambda f: run(f, {"i2t": lists("i2t")}, head="t2i="),
        3,
        "r.json: states that it holds i2t, but was given as t2i",
        COCO,
    ),
    Case(
        "run too short for mAP@R",
        lambda f: run(f, {"i2t": lists("i2t", 4, None)}, "--metrics", "mAP@R"),
        3,
        "r.json: the lists are too short for mAP@R (i2t): for mAP@R (i2t) query 391895 has 4",
        COCO,
    ),
    Case(
        "run too short for R@10",
        lambda f: run(f, {"i2t": lists("i2t", 4, None)}, "--metrics", "R@1,R@10"),
        3,
        "r.json: the lists are too short for R@10 (i2t): for R@10 (i2t) query 391895 has 4 usable",
        COCO,
    ),
    Case(
        "run too short, counted",
        lambda f: run(f, {"i2t": lists("i2t", 5, None)}, "--metrics", "Recall@9", "--short-lists", "miss"),
        0,
        "warning: lists are too short for Recall@9 (i2t); items that are not in them count as not",
        COCO,
    ),
    Case(
        "run without the direction asked",
        lambda f: run(f, {"i2t": lists("i2t")}, "--direction", "t2i"),
        3,
        "r.json: no list for t2i",
        COCO,
    ),
    Case(
        "run as custom",
        lambda f: run(f, {"i2t": {"1": [2]}}, "--split", "custom"),
        2,
        "retrieved lists do not have the image of every caption, so they",
    ),
    Case(
        "run with --ties",
        lambda f: run(f, {"i2t": {"1": [2]}}, "--ties", "mean-rank"),
        2,
        "retrieved lists have an order and no scores",
    ),
    Case("run with an empty list", lambda f: run(f, {"i2t": {"1": []}}), 3, "r.json: i2t: query '1' has an empty list"),
    Case("run of no lists", lambda f: run(f, {}), 3, "r.json: holds no lists"),
    Case("run of an array", lambda f: run(f, [1, 2]), 3, "r.json: is a JSON list, not an object"),
    Case(
        "run with null",
        lambda f: run(f, {"i2t": {"1": [None]}}),
        3,
        "r.json: i2t: query '1', rank 1: None is not an id",
    ),
    Case(
        "run with a float",
        lambda f: run(f, '{"i2t": {"1": [1.5]}}'),
        3,
        "r.json: i2t: query '1', rank 1: 1.5 is not an id",
    ),
    Case(
        "run with a key too many",
        lambda f: run(f, {"i2t": {"1": [2]}, "notes": {}}),
        3,
        "r.json: has the key 'notes' beside i2t and t2i",
    ),
    Case(
        "JSON keys twice",
        lambda f: run(f, '{"i2t": {"1": [2], "1": [3]}}'),
        3,
        "r.json: has the key '1' twice in one object",
    ),
    Case("JSON nested deeply", lambda f: run(f, "[" * 100_000), 3, "r.json: is not valid JSON"),
    Case("JSON cut", lambda f: run(f, '{"i2t": {"1": [2,'), 3, "r.json: is not valid JSON"),
    Case(
        "JSON with a huge number",
        lambda f: run(f, '{"i2t": {"1": [' + "9" * 10_000 + "]}}"),
        3,
        "r.json: is not valid JSON",
    ),
    Case(
        "JSON that is not UTF-8",
        lambda f: run(f, b'{"i2t": {"\xff": [1]}}'),
        3,
        "r.json: is in no format that vsebench reads (it starts with b'{\"i2t\": ')",
    ),
    Case(
        "TREC of five columns",
        lambda f: run(f, "1 Q0 2 1 0.5\n"),
        3,
        "r.json: line 1 has 5 columns, expected 6: '1 Q0 2 1 0.5'",
    ),
    Case(
        "TREC score is no number",
        lambda f: run(f, "1 Q0 2 1 high vse\n"),
        3,
        "r.json: line 1: score 'high' is not a finite number",
    ),
    Case(
        "TREC score is NaN",
        lambda f: run(f, "1 Q0 2 1 nan vse\n"),
        3,
        "r.json: line 1: score 'nan' is not a finite number",
    ),
    Case(
        "TREC rank is no number",
        lambda f: run(f, "1 Q0 2 first 0.5 vse\n"),
        3,
        "r.json: line 1: rank 'first' is not an integer",
    ),
    Case(
        "TREC item twice",
        lambda f: run(f, "1 Q0 2 1 0.5 vse\n1 Q0 2 2 0.4 vse\n"),
        3,
        "r.json: query '1' lists item '2' twice, in lines 1 and 2",
    ),
    Case("TREC of blank lines", lambda f: run(f, "\n \n"), 3, "r.json: holds no lines"),
    Case(
        "TREC with one endless line",
        lambda f: run(f, "1 " * 90_000),
        3,
        "r.json: line 1 is longer than 65,536 characters",
    ),
    Case(
        "TREC ranks contradict scores",
        lambda f: run(f, contradictory(), "--metrics", "R@1", "--trust"),
        0,
        "lists are ordered by score, then rank: the ranks of query '391895' contradict its scores",
        COCO,
    ),
    Case(
        "gzip cut", lambda f: run(f, gzip.compress(b"1 Q0 2 1 0.5 vse\n" * 99)[:-20]), 3, "r.json: is not readable text"
    ),
    Case(
        "gzip bomb of one line",
        lambda f: run(f, gzip.compress(b"1" * 50_000_000, 1)),
        3,
        "r.json: line 1 is longer than 65,536 characters",
    ),
    Case(
        "gzip bomb of JSON",
        lambda f: run(f, gzip.compress(b'{"i2t":' + b" " * 20_000_000, 1)),
        3,
        "r.json: is longer than 1,000,000 characters",
        (),
        ("vsebench.data.formats.eccv_json.memory_limit", lambda: 16_000_000),
    ),
    Case(
        "embeddings given as a run",
        lambda f: run(f, b"\x93NUMPY\x01\x00"),
        3,
        "r.json: is a single .npy array, not retrieved lists",
    ),
    Case("run file missing", lambda f: ["eval", "--run", f"i2t={f / 'none.json'}"], 3, "none.json: no such file"),
]
