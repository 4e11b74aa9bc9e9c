"""Writing the top of every ranking to files that ``--run`` reads back."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from ..errors import UsageError
from ..files.atomic import write_atomically
from ..types import DIRECTIONS, Direction, Observation, TestSet

TREC = (".trec", ".run", ".txt")


def files(path: Path, directions: Sequence[Direction] = DIRECTIONS) -> dict[str, Path]:
    """Direction -> the file to write: one for both (under ``""``), or one a direction for TREC runs.

    A TREC run has one direction, so its file gets it in front of its ending: ``top.i2t.trec``. JSON has both.
    """
    name, packed = path.name.removesuffix(".gz"), ".gz" * path.name.endswith(".gz")
    ending = Path(name).suffix
    if ending.lower() not in TREC:
        return {"": path}
    return {d: path.with_name(f"{name.removesuffix(ending)}.{d}{ending}{packed}") for d in directions}


def write(path: Path, split: TestSet, observed: Mapping[Direction, Observation], depth: int | None = None) -> None:
    """The top of every ranking as JSON (direction -> query id -> item ids, best first) or as TREC runs with scores.

    Re-ranked lists have minus the rank as their scores.

    Args:
        path: decides the format by its ending, see ``files``; with ``.gz`` behind it the content is compressed.
        split: the ids.
        observed: by direction, with the top of the rankings; directions without it are left out.
        depth: items of a ranking to write; None for all that there are.

    Raises:
        UsageError: a TREC run of ids with white space, or the file cannot be written.
    """
    found = {d: o.top.cut(depth) for d, o in observed.items() if o.top is not None}
    sides = {"i2t": (split.rows.ids, split.columns.ids), "t2i": (split.columns.ids, split.rows.ids)}
    targets = files(path, tuple(found))
    if "" in targets:
        document = {}
        for direction, top in found.items():
            queries, items = sides[direction]
            rows = items[top.items].tolist()
            document[direction] = {str(q): row for q, row in zip(queries.tolist(), rows, strict=True)}
        with _text(targets[""]) as stream:
            json.dump(document, stream)
        return
    for direction, top in found.items():
        queries, items = sides[direction]
        rows = (items[row].tolist() for row in top.items)
        order = np.broadcast_to(-1.0 - np.arange(top.items.shape[1]), top.items.shape)  # ranks a re-ranked top so
        scores = (row.tolist() for row in (order if top.scored is None else top.scores))
        with _text(targets[direction]) as stream:
            _write_lines(stream, queries.tolist(), rows, scores, targets[direction])


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    if not path.name.endswith(".gz"):
        with write_atomically(path, "w") as stream:
            yield stream
        return
    with (
        write_atomically(path) as raw,
        gzip.GzipFile("", "wb", 3, fileobj=raw, mtime=0) as packed,  # the same bytes whenever it is written
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        yield text


def _write_lines(
    stream: IO[str], queries: Sequence[int | str], items: Iterable[Sequence[int | str]],
    scores: Iterable[Sequence[float]], where: Path,
) -> None:  # fmt: skip
    """Write ids of queries and of their items as a TREC run, which reads back in the same order with the same ties."""
    known: dict[int | str, str] = {}  # a caption is retrieved by many images
    for query, found, own in zip(queries, items, scores, strict=True):
        for name in (query, *found):
            if name not in known:
                known[name] = _word(name, where)
        head = known[query]
        stream.writelines(
            f"{head} Q0 {known[item]} {rank} {score!r} vsebench\n"
            for rank, (item, score) in enumerate(zip(found, own, strict=True), 1)
        )


def _word(name: int | str, where: Path) -> str:
    text = str(name)
    if text.split() != [text]:
        what = f"the id {text!r} has white space or is empty, and columns of a TREC run are separated by white space"
        raise UsageError(what, where=where, fix="end the name in .json")
    return text
