"""What changed between two folders of leaderboards, such as those of two versions of the evaluator."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import BadInput, MissingPackage, UsageError
from ..report.grid import Cell, Grid, cells, text_only
from ..report.render import Rendered
from .facts import facts
from .groups import version
from .schema import Value
from .store import CLAIMS, ENTRIES, PAPERS, PUBLISHED, SUITES, Board, read_sound
from .tables import DIRECTIONS, shown

SCHEMA = "vsebench/leaderboard-diff/1"
PARTS = (PAPERS, CLAIMS, PUBLISHED, ENTRIES, SUITES)


@dataclass(frozen=True)
class Moved:
    """One number that changed, appeared or disappeared.

    Attributes:
        id: of the entry, or the name of a run.
        metric, direction: of the number.
        old, new: fractions as fractions; None where it is not there.
    """

    id: str
    metric: str
    direction: str | None
    old: float | None
    new: float | None

    @property
    def name(self) -> str:
        """Metric and direction, as ``Value.name``."""
        return f"{self.metric} ({self.direction})" if self.direction else self.metric

    @property
    def delta(self) -> float | None:
        """New minus old, None where one of them is not there."""
        return None if self.old is None or self.new is None else self.new - self.old


@dataclass(frozen=True, repr=False)
class Difference(Rendered):
    """The changes of a folder against another state of it.

    Attributes:
        against: the other state, as it was named.
        added, removed: ids of entries.
        measured: (id, old, new) of entries whose signature changed; versions where only these differ.
        moved: numbers of entries that both have.
        verdicts: (claim, data, old, new) of claims.
    """

    heading: ClassVar = "Changes against {against}"
    against: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    measured: tuple[tuple[str, str, str], ...]
    moved: tuple[Moved, ...]
    verdicts: tuple[tuple[str, str, str, str], ...]

    @property
    def empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.measured or self.moved or self.verdicts)

    def grids(self) -> list[Grid]:
        """One table for each kind of change; a sentence where nothing changed."""
        if self.empty:
            return [text_only(f"Nothing changed against {self.against}.")]
        found = []
        if self.moved:
            rows = tuple(_row(m) for m in self.moved)
            found.append(Grid("Numbers", ("entry", "metric", "direction", "old", "new", "delta"), 3, rows))
        came = [("added", i) for i in self.added] + [("removed", i) for i in self.removed]
        for title, headings, lines in (
            ("Entries", ("change", "entry"), came),
            ("Measured in another way", ("entry", "old", "new"), self.measured),
            ("Verdicts", ("claim", "data", "old", "new"), self.verdicts),
        ):
            if lines:
                found.append(Grid(title, headings, len(headings), tuple(cells(*line) for line in lines)))
        return found

    def records(self) -> list[dict[str, Any]]:
        """One a number: entry, metric, direction, old, new and delta; fractions as fractions."""
        return [{**asdict(m), "delta": m.delta} for m in self.moved]

    def to_dict(self) -> dict[str, Any]:
        """The document of schema ``vsebench/leaderboard-diff/1``."""
        return {
            "schema": SCHEMA, "against": self.against, "added": list(self.added), "removed": list(self.removed),
            "moved": self.records(),
            "measured": [{"id": i, "old": old, "new": new} for i, old, new in self.measured],
            "verdicts": [{"claim": c, "data": d, "old": old, "new": new} for c, d, old, new in self.verdicts],
        }  # fmt: skip


def _row(moved: Moved) -> tuple[Cell, ...]:
    numbers = ["-" if n is None else shown(n, moved.metric) for n in (moved.old, moved.new)]
    delta = "-"
    if moved.delta is not None:
        scale = 100 if facts(moved.metric).scale == "percent" else 1
        delta = f"{scale * moved.delta:+.4g}"
    return cells(moved.id, moved.metric, DIRECTIONS[moved.direction], *numbers, delta)


def compare(new: Board, old: Board, against: str) -> Difference:
    """The changes from ``old`` to ``new``; ``against`` names the old one."""
    before, after = ({e.id: e for e in board.entries} for board in (old, new))
    both = [id for id in after if id in before]
    moved = [m for id in both for m in changed(id, before[id].values, after[id].values)]
    measured = []
    for id in both:
        one, other = before[id].signature, after[id].signature
        if one != other:
            versions = version(before[id]), version(after[id])
            only = one.replace(f"vsebench:{versions[0]}", "", 1) == other.replace(f"vsebench:{versions[1]}", "", 1)
            measured.append((id, *((f"vsebench {v}" for v in versions) if only else (one or "-", other or "-"))))
    was, now = _verdicts(old), _verdicts(new)
    verdicts = [
        (*key, was.get(key, "-"), now.get(key, "-"))
        for key in dict.fromkeys([*was, *now])
        if was.get(key) != now.get(key)
    ]
    return Difference(
        against, tuple(i for i in after if i not in before), tuple(i for i in before if i not in after),
        tuple(measured), tuple(moved), tuple(verdicts),
    )  # fmt: skip


def changed(id: str, old: Iterable[Value], new: Iterable[Value], close: float = 0.0) -> Iterator[Moved]:
    """The numbers of an entry or a run that differ by more than ``close``, or that only one side has."""
    before, after = ({(v.metric, v.direction): v.value for v in values} for values in (old, new))
    for key in dict.fromkeys([*before, *after]):
        was, now = before.get(key), after.get(key)
        if was is None or now is None or abs(was - now) > close:
            yield Moved(id, *key, was, now)


def _verdicts(board: Board) -> dict[tuple[str, str], str]:
    return {(c.claim, c.data): c.verdict for suite in board.suites.values() for c in suite.claims}


def against(folder: Path, other: str) -> Difference:
    """The changes of a folder against another folder, or against its state in a commit of git.

    Args:
        folder: of the leaderboards.
        other: a folder, or a commit, branch or tag of the repository that ``folder`` is in.

    Raises:
        BadInput: a folder with files that are wrong, or that holds no leaderboards.
        UsageError: neither a folder nor a commit.
        MissingPackage: a commit, without git.
    """
    new = read_sound(folder)
    if Path(other).is_dir():
        return compare(new, read_sound(Path(other)), other)
    with _commit(folder, other) as place:
        return compare(new, read_sound(place), other)


@contextmanager
def _commit(folder: Path, name: str) -> Iterator[Path]:
    """The folder as it is in a commit, in a temporary place, without the site."""
    try:
        _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        listed = _git(folder, "ls-tree", "--name-only", "--end-of-options", name, *(f"./{part}" for part in PARTS))
        data = _git(folder, "archive", "--format=tar", name, *listed.decode().split("\n")[:-1]) if listed else b""
    except FileNotFoundError:
        raise MissingPackage("git is needed to read a commit", fix="install git, or name a folder") from None
    except subprocess.CalledProcessError:
        what = f"'{name}' is neither a folder nor a commit of the repository of '{folder}'"
        raise UsageError(what, fix="name a folder, a branch, a tag or a commit") from None
    if not data:
        raise BadInput(f"'{name}' has no leaderboards there", where=folder, fix="name another commit")
    with tempfile.TemporaryDirectory() as place:
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(place, filter="data")
        except tarfile.TarError as error:  # a link that leads out of the folder
            raise BadInput(
                f"'{name}' has a file that cannot be read: {error}", where=folder, fix="name another commit"
            ) from None
        yield Path(place)


def _git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    return done.stdout
