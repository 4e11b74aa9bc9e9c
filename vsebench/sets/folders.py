"""Folders of queries, a corpus and judgements, as BEIR and the data sets of MTEB and ViDoRe are downloaded.

A table of each, by the name of its file or of a folder around it::

    corpus.jsonl        corpus/test-00000-of-00001.parquet      data/corpus-00000-of-00001.parquet
    queries.jsonl       queries/test-00000-of-00001.parquet     data/queries-00000-of-00001.parquet
    qrels/test.tsv      qrels/test-00000-of-00001.parquet       data/test-00000-of-00001.parquet

A folder may have several subsets, such as languages (``de-corpus/...``, ``de/corpus.jsonl``), and several splits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import is_path
from ..errors import BadInput, count_of
from ..files.arrow_tables import SHARD, complete
from ..files.ids import as_ids, id_array, match
from ..files.kinds import KINDS
from ..files.raw import Raw, format_id
from ..files.read_pairs import read_pairs
from ..files.records import missing, of_file, spot, text_of
from ..files.regular import inside, is_folder, remembered
from ..log import note
from ..options import spell
from ..types import QUERIES, Ids, Side, TestSet
from . import catalogue
from .published import SETS
from .stored import DECLARED

Texts = tuple[str, ...] | None
Key = tuple[str, str]  # subset and split, empty for none
_ROLES = {name: name for name in ("queries", "corpus", "qrels")} | {"query": "queries", "default": "qrels"}
_ROLE = re.compile(rf"(?:(.+)[-_])?({'|'.join(_ROLES)})", re.I)
_TABLE = re.compile(r"(.+?)\.(?:jsonl?|tsv|csv|txt|parquet|arrow)(?:\.gz)?", re.I)
_DEPTH = 4  # folders inside each other
LAYOUT = "corpus.jsonl, queries.jsonl and qrels/test.tsv, or a table of each in folders of these names"


@dataclass(frozen=True)
class Folder:
    """One test set of a folder: the files of its ``queries``, ``corpus`` and ``qrels``."""

    where: Path
    key: Key
    tables: Mapping[str, tuple[Path, ...]]

    @property
    def view(self) -> str:
        """What its judgements are called: the split, or else the subset."""
        return re.sub(r"[^a-z0-9_-]+", "-", (self.key[1] or self.key[0] or "qrels").lower()).strip("-_")

    @property
    def judgements(self) -> Path:
        """The file of the judgements, or the folder of its shards."""
        first, *others = self.tables["qrels"]
        return first.parent if others else first

    def rows(self, role: str, n: int, where: Path) -> Ids:
        """The ids of ``n`` rows of queries or of the corpus, in the order of their file.

        They are all queries, or the judged ones if the judgements have them in the same order.

        Raises:
            BadInput: another number of rows.
        """
        ids, file = self.items(role)[0], self.name(role)
        if n == len(ids):
            return ids
        side = "query" if role == "queries" else role
        what = f"{n:,} {side} rows, but {file} has {len(ids):,}"
        if role == "queries":
            judged = self.judged
            some = ids[match(ids, judged)[0] >= 0]
            if n == len(some) == len(judged) and bool((match(some, judged)[0] == range(n)).all()):
                note(f"query rows are read as the {n:,} judged queries of {file}, in its order")
                return some
            what += f"; {len(some):,} of them are judged in {self.name('qrels')}"
            what += " in another order" * (n == len(some))
        fix = f"give a row for every line of {file}, or {spell(f'{side}_ids', 'FILE')} with the ids of the rows"
        raise BadInput(what, where=where, fix=fix)

    @property
    def test(self) -> TestSet:
        """All its queries and items, ascending by id."""
        found = [(name, self.items(role)[0]) for name, role in zip(QUERIES, ("queries", "corpus"), strict=True)]
        rows, columns = (Side(name, np.sort(ids), places=np.argsort(ids)) for name, ids in found)
        return TestSet("custom", rows, columns)

    @property
    def judged(self) -> Ids:
        """The ids of the judged queries, in the order of the judgements."""
        return read_pairs(self.judgements, None)[0].queries

    def items(self, role: str) -> tuple[Ids, Texts]:
        """The ids of the queries or of the corpus, and their texts, if all have one, in the order of the file."""
        return _items(self.tables[role][0], *self.tables[role][1:])

    def name(self, role: str) -> str:
        """The file of a table, for messages."""
        return str(self.tables[role][0].relative_to(self.where))

    def with_texts(self, split: TestSet) -> TestSet:
        """A test set of its queries and items with their texts."""
        sides: list[Side] = []
        for side, role in zip(split.sides, ("queries", "corpus"), strict=True):
            ids, texts = self.items(role)
            at, _ = match(side.ids, ids)
            sides.append(side if texts is None else replace(side, texts=tuple(texts[k] for k in at.tolist())))
        return replace(split, rows=sides[0], columns=sides[1])


@remembered
def _items(path: Path, *shards: Path) -> tuple[Ids, Texts]:
    """The ids and texts of a table of queries or of a corpus; raises BadInput."""
    kind, found, texts = KINDS["items"], list[str](), list[str]()
    for shard in (path, *shards):
        table = of_file(shard, kind)
        named = kind.find(table)
        if "id" not in named:
            what = f"has columns {', '.join(map(str, table)) or '(none)'}"
            raise BadInput(what, where=shard, fix="call the column of ids _id or id")
        cells = table[named["id"]].tolist()
        if any(map(missing, cells)):
            bad = next(row for row, cell in enumerate(cells) if missing(cell))
            raise BadInput("a row has no id", where=spot(table, bad), fix="give every row an id")
        found += map(text_of, cells)
        parts = [table[named[name]].tolist() for name in ("title", "text") if name in named]
        texts += (" ".join(str(x) for x in row if not missing(x)) for row in zip(*parts, strict=True))
    ids = as_ids(id_array(found, "ids", str(path)), "ids", path)
    return ids, tuple(texts) if len(texts) == len(ids) and all(texts) else None


def is_test_set(path: Path) -> bool:
    """Whether a folder has queries, a corpus and judgements."""
    return path.is_dir() and all(_tables(path).values())


def folder_of(split: Any) -> Folder | None:
    """The test set that ``FOLDER``, ``FOLDER:SUBSET``, ``FOLDER:SPLIT`` or ``FOLDER:SUBSET:SPLIT`` names.

    None for the name of a test set. Without a split it is ``test``, or else the only one.

    Raises:
        BadInput: the folder lacks a table, or has several test sets.
    """
    name = os.fspath(split).partition(":")[0] if is_path(split) else "custom"
    if name in (*DECLARED, *SETS, *catalogue.RESERVED) or name in catalogue.names():
        return None
    path, words = inside(split)
    if os.sep in os.fspath(split) and not is_folder(path):
        raise BadInput("is a file, not a folder with a test set", where=path, fix=f"give a folder with {LAYOUT}")
    return _chosen(path.absolute(), words) if path.is_dir() else None


def _key_text(key: Key) -> str:
    return ":".join(filter(None, key))


def _chosen(folder: Path, wanted: tuple[str, ...]) -> Folder:
    tables = _tables(folder)
    if lacking := [role for role in ("corpus", "queries", "qrels") if not tables[role]]:
        what = f"is a folder without {' and '.join(lacking)}"
        raise BadInput(what, where=folder, fix=f"give a folder with {LAYOUT}")
    fits = [key for key in tables["qrels"] if set(wanted) <= set(key)]
    exact = [key for key in fits if {*filter(None, key)} == {*wanted}]
    fits = exact if len(exact) == 1 else fits
    several = len({subset for subset, _ in fits}) > 1
    if not several and len(fits) > 1:
        fits = [key for key in fits if key[1] == "test"]
    if len(fits) != 1:
        names = [_key_text(key) or "one without a name" for key in sorted(tables["qrels"])]
        what = f"has {count_of(len(names), 'test set')}: {', '.join(names)[:300]}"
        what += f", and {':'.join(wanted)} is none of them" if wanted and not fits else ""
        chosen = f"{folder}:{_key_text(next(iter(fits or sorted(tables['qrels']))))}".rstrip(":")
        raise BadInput(what, where=folder, fix=f"choose one: {spell('split', chosen)}")
    return Folder(folder, fits[0], {role: _table(folder, role, tables[role], fits[0]) for role in tables})


def _table(folder: Path, role: str, tables: Mapping[Key, tuple[Path, ...]], key: Key) -> tuple[Path, ...]:
    """The files of a table for a subset and a split: files of the subset, else files that all subsets share.

    Raises BadInput.
    """
    same_folder = {k: v for k, v in tables.items() if k[0] == key[0]} or {k: v for k, v in tables.items() if not k[0]}
    if found := same_folder.get(key) or (next(iter(same_folder.values())) if len(same_folder) == 1 else None):
        shards = all(SHARD.fullmatch(path.name) and path.parent == found[0].parent for path in found)
        beside = [
            paths[0]
            for paths in same_folder.values()
            if paths is not found and role != "qrels" and (key[0], "") in same_folder
        ]
        two = [*found[: 1 if shards else 2], *beside][:2]
        if len(two) > 1:
            what = f"has two tables of the {role}: {' and '.join(str(path.relative_to(folder)) for path in two)}"
            raise BadInput(what, where=folder, fix="move one of them out of the folder")
        return tuple(complete(list(found), found[0].parent))
    names = ", ".join(str(paths[0].relative_to(folder)) for paths in (same_folder or tables).values())
    what = f"has no {role} of only {_key_text(key)}: {names[:300]}"
    raise BadInput(what, where=folder, fix=f"give a folder with {LAYOUT}")


def _tables(folder: Path) -> dict[str, dict[Key, tuple[Path, ...]]]:
    """The files of a folder by what they hold, and by subset and split."""
    found: dict[str, dict[Key, list[Path]]] = {role: {} for role in ("queries", "corpus", "qrels")}
    for path in sorted(Path(at, name) for at, _, names in _walk(folder) for name in names):
        if not (named := _TABLE.fullmatch(path.name)) or path.name.startswith("."):
            continue
        shard = SHARD.fullmatch(path.name)
        *around, stem = (*path.relative_to(folder).parts[:-1], shard["table"].rstrip("-_") if shard else named[1])
        parts = [part for part in around if part != "data"] + [stem]
        roles = [_ROLE.fullmatch(part) for part in parts]
        at = max((k for k, role in enumerate(roles) if role), default=-1)
        if at < 0 and "data" not in around[-1:]:
            continue
        role = roles[at] if at >= 0 else None
        inside = [part for part, by_key in zip(parts[:-1], roles, strict=False) if not by_key]
        subset, split = "/".join(filter(None, [*inside, role and role[1]])), "" if at == len(parts) - 1 else stem
        by_key = _ROLES[role[2].lower()] if role else "qrels"
        found[by_key].setdefault((subset, split), []).append(path)
    return {role: {key: tuple(paths) for key, paths in by_key.items()} for role, by_key in found.items()}


def _walk(folder: Path) -> Any:
    for at, below, names in os.walk(folder):
        deep = len(Path(at).relative_to(folder).parts) >= _DEPTH
        below[:] = [] if deep else [name for name in below if not name.startswith(".")]
        yield at, below, names


def with_ids(raw: Raw, folder: Folder) -> Raw:
    """Vectors or scores of queries and a corpus with the ids of a folder.

    The rows must have the judged queries (more queries of the folder are allowed) and the complete corpus.
    Rows without ids are in the order of the files, see ``Folder.rows``.

    Raises:
        BadInput: other numbers of rows, or other ids.
    """
    judged, found = folder.judged, dict[str, Any]()
    for side, role, field, n in zip(
        QUERIES, ("queries", "corpus"), ("image_ids", "text_ids"), (raw.n_image, raw.n_text), strict=True
    ):
        known, file = folder.items(role)[0], folder.name(role)
        needed, present = judged if role == "queries" else known, getattr(raw, field)
        if present is not None:
            lost, unknown = needed[match(needed, present)[0] < 0], present[match(present, known)[0] < 0]
            words = "judged query ids" if role == "queries" else "corpus ids"
            parts = [f"{len(lost):,} of {len(needed):,} {words} of {folder.where.name} have no row"] * bool(len(lost))
            parts += [f"{len(unknown):,} of {len(present):,} {side} ids are not in {file}"] * bool(len(unknown))
            if parts:
                what = f"{' and '.join(parts)} (first: {format_id([*lost, *unknown][0])})"
                fix = f"encode the complete {role} of the folder, or give {spell('judgements', str(folder.judgements))}"
                raise BadInput(what, where=raw.where, fix=f"{fix} without {spell('split')}")
            continue
        found[field] = folder.rows(role, n, raw.where)
    note(f"no ids: rows are assumed to be in the order of {folder.where.name}" if found else "", weight="detail")
    return replace(raw, **found, sides=QUERIES)
