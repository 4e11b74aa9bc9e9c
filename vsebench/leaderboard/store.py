"""A folder of leaderboards: entries of all levels, citations and suites, and what is wrong with files and numbers."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import BadInput, VsebenchError
from ..files.regular import read_bytes
from ..metrics import parse
from ..options import spell
from ..results.document import report_of
from ..results.schema import faults_of
from . import published, submitted, suites
from .benchmarks import page_of
from .facts import facts
from .schema import ENTRIES, Entry, EntryDocument, Paper, Papers, StatedClaim, StatedClaims

PAPERS, CLAIMS, PUBLISHED, SUITES = "papers.json", "claims.json", "published", "suites"
FIX = {
    PAPERS: "correct the file",
    CLAIMS: "correct the file",
    PUBLISHED: "correct the file; numbers are texts, as printed",
    ENTRIES: "make the entry again: vsebench leaderboard add RESULT.json",
    SUITES: "copy suite.json from the folder of the suite again",
}
# What their files hold.
KINDS: dict[str, type[BaseModel]] = {
    PUBLISHED: published.PrintedTable, ENTRIES: EntryDocument, SUITES: suites.Suite,
}  # fmt: skip
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


def read(folder: Path, again: bool | str = False) -> Board:
    """Read all entries of a folder; files that are wrong become faults.

    Args:
        folder: of the leaderboards.
        again: whether intervals of submitted entries are computed again, as values are; or the id of the only one.

    Raises:
        BadInput: there is no such folder, or it holds no leaderboards.
    """
    if not folder.is_dir():
        raise BadInput("is no folder", where=folder, fix=f"name the folder of the leaderboards with {spell('folder')}")
    if not any((folder / name).exists() for name in (PAPERS, *KINDS)):
        what = f"holds no leaderboards: none of {PAPERS}, {PUBLISHED}, {ENTRIES} and {SUITES} is there"
        raise BadInput(what, where=folder, fix=f"name the folder of the leaderboards with {spell('folder')}")
    faults: list[Fault] = []
    found = _load(folder, PAPERS, Papers, faults) if (folder / PAPERS).exists() else None
    papers = {} if found is None else found.papers
    known: dict[str, suites.Suite] = {}
    kept: dict[str, tuple[str, Entry]] = {}
    for part, model in KINDS.items():
        for path in sorted((folder / part).glob("*.json")):
            name = f"{part}/{path.name}"
            file = _load(folder, name, model, faults)
            if isinstance(file, suites.Suite):
                known[path.stem] = file
            with _noting(name, faults):
                for entry in _entries_of(file, path, again, faults):
                    _keep(name, entry, kept, papers, faults)
    entries = tuple(entry for _, entry in kept.values())
    faults += _idle_notes(papers, entries)
    claims = _claims(folder, papers, kept, faults)
    files = {id: name for id, (name, _) in kept.items()}
    return Board(folder, entries, papers, known, claims, files, tuple(faults))


def read_sound(folder: Path) -> Board:
    """A folder without faults; raises BadInput with the first one."""
    board = read(folder)
    if board.faults:
        first = board.faults[0]
        raise BadInput(f"{first.file}: {first.what}", where=folder, fix=first.fix)
    return board


def _entries_of(file: BaseModel | None, path: Path, again: bool | str, faults: list[Fault]) -> list[Entry]:
    """The entries of a file that could be read; raises BadInput or UsageError."""
    if isinstance(file, published.PrintedTable):
        return published.entries_of(file)
    if isinstance(file, suites.Suite):
        return suites.entries_of(file)
    if not isinstance(file, EntryDocument):
        return []
    report = report_of(file, parse)
    entry = submitted.entry_of(report, file.model, path.stem)
    if again in (True, entry.id):
        name = f"{path.parent.name}/{path.name}"
        faults += [Fault(name, what, FIX[ENTRIES]) for what in submitted.wrong_intervals(report)]
    return [entry]


def _measured(entry: Entry) -> Any:
    """The model and test set of an entry, and its numbers."""
    return entry.benchmark, entry.model.name, [(key, v.value, v.interval) for key, v in entry.values.items()]


def _keep(
    name: str, entry: Entry, kept: dict[str, tuple[str, Entry]], papers: Container[str], faults: list[Fault]
) -> None:
    """Add an entry of a file to ``kept``, unless it has the id of another one or an unknown paper.

    Of runs that several suites have, the last suite's entry is kept.
    """
    if entry.id in kept:
        what = f"id: '{entry.id}' is also in {kept[entry.id][0]}"
        faults.append(Fault(name, what, "give every entry a name of its own"))
    elif entry.paper and entry.paper not in papers:
        faults.append(Fault(name, f"paper: '{entry.paper}' is not in {PAPERS}", f"add it to {PAPERS}"))
    else:
        for id, (_, other) in list(kept.items()) if entry.level == "reproduced" else ():
            if other.level == entry.level and _measured(other) == _measured(entry):
                del kept[id]
        kept[entry.id] = name, entry


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
    numbers = {(e.paper, page_of(e.benchmark, m), facts(m).family) for e in entries for m, _ in e.values}
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
