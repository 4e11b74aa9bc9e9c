"""Writing the top of every ranking to files that ``--run`` reads back."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..files.atomic import write_atomically
from ..types import DIRECTIONS, ONE_WAY, Direction, Observation, TestSet, Tops

TREC = (".trec", ".run", ".txt")


def files(path: Path, directions: Sequence[Direction] = (*DIRECTIONS, ONE_WAY)) -> dict[str, Path]:
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
    found = {split.way(d) or d: o.top.cut(depth) for d, o in observed.items() if o.top is not None}
    both = split.rows.ids, split.columns.ids
    sides = {"i2t": both, "t2i": both[::-1], ONE_WAY: both}
    targets = files(path, tuple(found))
    if "" in targets:
        document = {}
        for direction, top in found.items():
            queries, items = sides[direction]
            rows = _split(items[top.entries], top)
            document[direction] = {str(q): row for q, row in zip(queries.tolist(), rows, strict=True)}
        with _text(targets[""]) as stream:
            json.dump(document, stream)
        return
    for direction, top in found.items():
        queries, items = sides[direction]
        order = np.repeat(top.start[:-1], top.depth) - np.arange(len(top.entries)) - 1.0  # ranks a re-ranked top so
        values = items[top.entries], order if top.scored is None else top.scores.ravel()
        rows, scores = (_split(x, top) for x in values)
        with _text(targets[direction]) as stream:
            _write_lines(stream, queries.tolist(), rows, scores, targets[direction])


def _split(values: npt.NDArray[Any], top: Tops) -> Iterator[list[Any]]:
    """The values of every list, of (entry,) values."""
    return (values[a:b].tolist() for a, b in itertools.pairwise(top.start.tolist()))


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
    for query, found, query_scores in zip(queries, items, scores, strict=True):
        for name in (query, *found):
            if name not in known:
                known[name] = _word(name, where)
        head = known[query]
        stream.writelines(
            f"{head} Q0 {known[item]} {rank} {score!r} vsebench\n"
            for rank, (item, score) in enumerate(zip(found, query_scores, strict=True), 1)
        )


def _word(name: int | str, where: Path) -> str:
    text = str(name)
    if text.split() != [text]:
        what = f"the id {text!r} has white space or is empty, and columns of a TREC run are separated by white space"
        raise UsageError(what, where=where, fix="end the name in .json")
    return text
