"""A folder of leaderboards: entries of all levels, citations and suites, and what is wrong with files and numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import BadInput, VsebenchError
from ..files.regular import read_bytes
from ..metrics import parse
from ..options import spell
from ..results import document
from ..results.schema import faults_of
from . import published, submitted, suites
from .benchmarks import page_of
from .facts import facts
from .schema import Entry, Paper, Papers, StatedClaim, StatedClaims

PAPERS, CLAIMS, PUBLISHED, ENTRIES, SUITES = "papers.json", "claims.json", "published", "entries", "suites"
FIX = {
    PAPERS: "correct the file",
    CLAIMS: "correct the file",
    PUBLISHED: "correct the file; numbers are texts, as printed",
    ENTRIES: "make the entry again: vsebench leaderboard add RESULT.json",
    SUITES: "copy suite.json from the folder of the suite again",
}
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file.

    Attributes:
        file: its name below the folder of the leaderboards.
        what: the field and the value.
        fix: what to do.
    """

    file: str
    what: str
    fix: str


@dataclass(frozen=True)
class Board:
    """The content of a folder.

    Attributes:
        folder: of the leaderboards.
        entries: of all levels; ids are unique.
        papers: citations by key.
        suites: summaries by the name of their file.
        claims: of the papers, with the numbers they rest on.
        files: id -> file of the entry, below the folder.
        faults: what is wrong; entries with faults are left out.
    """

    folder: Path
    entries: tuple[Entry, ...]
    papers: dict[str, Paper] = field(default_factory=dict)
    suites: dict[str, suites.Suite] = field(default_factory=dict)
    claims: tuple[StatedClaim, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def read(folder: Path) -> Board:
    """Read all entries of a folder; files that are wrong become faults.

    Raises:
        BadInput: there is no such folder, or it holds no leaderboards.
    """
    if not folder.is_dir():
        raise BadInput("is no folder", where=folder, fix=f"name the folder of the leaderboards with {spell('folder')}")
    if not any((folder / name).exists() for name in (PAPERS, PUBLISHED, ENTRIES, SUITES)):
        what = f"holds no leaderboards: none of {PAPERS}, {PUBLISHED}, {ENTRIES} and {SUITES} is there"
        raise BadInput(what, where=folder, fix=f"name the folder of the leaderboards with {spell('folder')}")
    faults: list[Fault] = []
    papers = dict[str, Paper]()
    if (folder / PAPERS).exists():
        found = _load(folder, PAPERS, Papers, faults)
        papers = {} if found is None else found.papers
    pairs: list[tuple[str, Entry]] = []
    known: dict[str, suites.Suite] = {}
    for part, (model, entries_of) in KINDS.items():
        for path in json_files(folder / part):
            name = f"{part}/{path.name}"
            document = _load(folder, name, model, faults)
            if isinstance(document, suites.Suite):
                known[path.stem] = document
            if document is not None:
                with _noting(name, faults):
                    pairs += [(name, entry) for entry in entries_of(document, path)]
    kept: dict[str, tuple[str, Entry]] = {}
    for name, entry in pairs:
        if entry.id in kept:
            what = f"id: '{entry.id}' is also in {kept[entry.id][0]}"
            faults.append(Fault(name, what, "give every entry a name of its own"))
        elif entry.paper and entry.paper not in papers:
            faults.append(Fault(name, f"paper: '{entry.paper}' is not in {PAPERS}", f"add it to {PAPERS}"))
        else:
            kept[entry.id] = name, entry
    faults += _idle_notes(papers, [entry for _, entry in kept.values()])
    claims = _claims(folder, papers, kept, faults)
    files = {id: name for id, (name, _) in kept.items()}
    return Board(folder, tuple(entry for _, entry in kept.values()), papers, known, claims, files, tuple(faults))


def read_sound(folder: Path) -> Board:
    """A folder without faults; raises BadInput with the first one."""
    board = read(folder)
    refuse(board.faults, folder)
    return board


def refuse(faults: Sequence[Fault], folder: Path, fix: str = "") -> None:
    """Raise BadInput with the first of some faults; ``fix`` is added to what to do."""
    if faults:
        first = faults[0]
        raise BadInput(f"{first.file}: {first.what}", where=folder, fix=first.fix + fix)


def _claims(
    folder: Path, papers: Container[str], entries: Container[str], faults: list[Fault]
) -> tuple[StatedClaim, ...]:
    """The claims of ``claims.json``; their papers and entries exist."""
    found = _load(folder, CLAIMS, StatedClaims, faults) if (folder / CLAIMS).exists() else None
    claims = () if found is None else found.claims
    for claim in claims:
        if claim.paper not in papers:
            faults.append(Fault(CLAIMS, f"{claim.claim}: paper '{claim.paper}' is not in {PAPERS}", FIX[CLAIMS]))
        for id in claim.entries:
            if id not in entries:
                faults.append(Fault(CLAIMS, f"{claim.claim}: there is no entry '{id}'", "name an entry by its id"))
    return claims


def _idle_notes(papers: dict[str, Paper], entries: Sequence[Entry]) -> list[Fault]:
    """Notes of papers that stand on no page, as no number of the paper is of their test sets and kinds."""
    numbers = {(e.paper, page_of(e.benchmark, v.metric), facts(v.metric).family) for e in entries for v in e.values}
    return [
        Fault(
            PAPERS,
            f"{key}: the note '{note.says[:60]}' is of no number of the paper",
            "correct its benchmarks and kinds",
        )
        for key, paper in papers.items()
        for note in paper.notes
        if not any(own == key and note.is_of(benchmark, kind) for own, benchmark, kind in numbers)
    ]


def json_files(folder: Path) -> list[Path]:
    """The entry files of a folder in the order of their names, without per-query files."""
    return sorted(p for p in folder.glob("*.json") if not p.name.endswith(submitted.PER_QUERY))


def _load(folder: Path, name: str, model: type[M], faults: list[Fault]) -> M | None:
    with _noting(name, faults):
        data = read_bytes(folder / name, _fix(name))
        _refuse_twice(data)
        return model.model_validate_json(data)
    return None


def _fix(name: str) -> str:
    return FIX[name.partition("/")[0]]


@contextmanager
def _noting(name: str, faults: list[Fault]) -> Iterator[None]:
    """What is wrong with a file becomes a fault."""
    try:
        yield
    except ValidationError as error:
        faults += [Fault(name, what, _fix(name)) for what in faults_of(error)]
    except VsebenchError as error:
        faults.append(Fault(name, error.what, error.fix or _fix(name)))
    except (ValueError, RecursionError) as error:
        faults.append(Fault(name, f"is no JSON: {error}", _fix(name)))


def _refuse_twice(data: bytes) -> None:
    """Refuse a JSON object that has a name twice, of which readers would keep one."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is there twice")
        return found

    json.loads(data, object_pairs_hook=once)


def _submitted(entry: Entry, path: Path) -> list[Entry]:
    """The entry of a file in ``entries``; raises BadInput where it does not belong there."""
    if path.name != f"{entry.id}.json":
        raise BadInput(f"id: '{entry.id}' is not the name of the file", fix=f"rename it to {entry.id}.json")
    if entry.level != "recomputed":  # its numbers would be those of nothing that is kept here
        part = PUBLISHED if entry.level == "published" else SUITES
        raise BadInput(f"level: '{entry.level}' is that of files in {part}")
    return [entry]


# The files of entries by their folder: what a file holds, and its entries.
KINDS: dict[str, tuple[type[BaseModel], Callable[[Any, Path], list[Entry]]]] = {
    PUBLISHED: (published.PrintedTable, lambda table, path: published.entries_of(table)),
    ENTRIES: (Entry, _submitted),
    SUITES: (suites.Suite, lambda suite, path: suites.entries_of(suite)),
}


def check(folder: Path, only: str | None = None) -> tuple[Board, list[Fault]]:
    """Read a folder and check everything in it.

    Args:
        folder: of the leaderboards.
        only: the id of one entry whose per-query values are checked; None for all. Files are read all the same.

    Returns:
        The board, and all faults of its files and numbers.

    Raises:
        BadInput: no such folder.
    """
    board = read(folder)
    faults = list(board.faults)
    for entry in board.entries:
        if only is None or entry.id == only:
            faults += of_entry(board, entry)
    faults += _left_over(board)
    return board, faults


def of_entry(board: Board, entry: Entry) -> list[Fault]:
    """What the per-query file of an entry does not reproduce; nothing for other levels."""
    if entry.per_query is None:
        return []
    name = f"{ENTRIES}/{entry.per_query.name}"
    try:
        data = read_bytes(board.folder / name, "add the file that belongs to the entry")
    except BadInput as error:
        return [Fault(name, error.what, error.fix or FIX[ENTRIES])]
    faults = []
    if submitted.sha256(data) != entry.per_query.sha256:
        what = f"its sha256 is {submitted.sha256(data)[:12]}..., and the entry says {entry.per_query.sha256[:12]}..."
        faults.append(Fault(name, what, FIX[ENTRIES]))
    try:
        report = document.read(board.folder / name, parse)
        return faults + [
            Fault(board.files[entry.id], what, FIX[ENTRIES]) for what in submitted.differences(entry, report)
        ]
    except VsebenchError as error:
        return [*faults, Fault(name, error.what, error.fix or FIX[ENTRIES])]


def _left_over(board: Board) -> list[Fault]:
    """Per-query files that belong to no entry."""
    used = {entry.per_query.name for entry in board.entries if entry.per_query is not None}
    broken = {fault.file for fault in board.faults}
    found = []
    for path in sorted((board.folder / ENTRIES).glob(f"*{submitted.PER_QUERY}")):
        owner = f"{ENTRIES}/{path.name.removesuffix(submitted.PER_QUERY)}.json"
        if path.name not in used and owner not in broken:
            found.append(Fault(f"{ENTRIES}/{path.name}", "belongs to no entry", "delete it, or add its entry"))
    return found
