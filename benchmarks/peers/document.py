"""The stored table of the peers, ``docs/benchmarks.json``, and the page that is made of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vsebench.files.atomic import write_atomically

from ..harness import ROOT, Usage
from .table import PEERS

STORED = ROOT / "docs" / "benchmarks.json"
PACKAGES = ("vsebench", "scipy", "numba", "torch")  # beside those of the peers
EXTRAPOLATED = "measured on a part of the queries and extrapolated: the cost of every query is the same"
COLUMNS = (
    "peer", "what it computes", "from", "time", "vsebench, the same", "times slower: wall, CPU", "goal",
    "MiB over the inputs: peer, vsebench",
)  # fmt: skip
INTRODUCTION = """# Benchmarks: other implementations

Other implementations of the same metrics get the same inputs as vsebench. Their values are compared with ours before
any time counts. In a checkout `python -m benchmarks.peers` makes this table for your machine (`vsebench[text]`, and
`pip install --group peers`, which needs pip 25.1); `--check` only compares values. `benchmarks/README.md`
describes the other benchmarks.
"""
METHOD = """
F is the time of the float32 matrix product of the same vectors alone, measured around every run of vsebench. The median
of three runs counts, for peers that take more than a minute the only run; vsebench is warm, and the compilation of
kernels of both is not counted. Loops in Python use one core, matrix products use all. The BLAS in the package of FAISS
may not know the processor and is then up to four times slower, so it gets the kernels of numpy's BLAS
(`OPENBLAS_CORETYPE`). Memory is the peak beyond the inputs and the imported modules; it is not given where a part was
measured.

Goals are for wall time on two idle cores, and are judged by the wall time that was measured. On a busy machine that is
uncertain. In two complete runs with a load of 7 to 15, ratios of wall time differed by up to a factor of two. Those of
CPU time differed by less than a third in all rows but one (torchmetrics hit rate, 1.7 times). CPU time does not count
that vsebench uses all cores and loops in Python use one.
"""
VALUES = """## Are the values the same?

Differences are absolute below 1 and relative above. Where a peer rounds scores to float32, a few queries have near-ties
in another order; retrieved items that differ have scores that differ by no more than the tolerance. `--check` compares
the same on 300 images, where a recall that differs by one query is refused.
"""
MEMORY = "MiB: peak beyond the inputs and the imported modules; compiled kernels count"


@dataclass(frozen=True)
class Measured:
    """The numbers of one row.

    Attributes:
        name: of the peer.
        package: its distribution, empty for loops.
        version: of the package.
        seconds, cpu: wall and CPU time of the peer for all queries.
        mib: its peak memory over the inputs, None where a part was measured.
        our_seconds, our_cpu, our_mib: of the library computing the same.
        floor, floor_cpu: F, the float32 product of the same vectors, around the runs of the library.
        measured: fraction of the queries that the peer measured, 0 to 1.
        numbers: how many values were compared.
        largest: largest difference of two.
        differences: those above the tolerance, in words.
    """

    name: str
    package: str
    version: str
    seconds: float
    cpu: float
    mib: float | None
    our_seconds: float
    our_cpu: float
    our_mib: float | None
    floor: float
    floor_cpu: float
    measured: float
    numbers: int
    largest: float
    differences: tuple[str, ...] = ()

    @property
    def peer(self) -> Usage:
        """Cost of the peer."""
        return Usage(self.seconds, self.cpu, added_mib=self.mib)

    @property
    def library(self) -> Usage:
        """Cost of the library, with F."""
        return Usage(
            self.our_seconds, self.our_cpu, self.floor, self.floor_cpu, self.our_seconds / self.floor, self.our_mib
        )


@dataclass
class Record:
    """One run: where, with what, of which size, the rows, and what is missing.

    Attributes:
        machine: as ``harness.machine``.
        versions: of the packages.
        images: size of the test set; five captions an image.
        dim: of the vectors.
        quick: the size is small.
        rows: one a peer.
        left_out: peer -> reason.
    """

    machine: dict[str, Any]
    versions: dict[str, str]
    images: int
    dim: int
    quick: bool
    rows: list[Measured] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def versions() -> dict[str, str]:
    """The versions of the packages that matter, where they are installed."""
    out = {}
    for name in (*PACKAGES, *sorted({p.package for p in PEERS.values() if p.package} - {*PACKAGES})):
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    if commit := _commit():
        out["vsebench"] += f" (commit {commit})"
    return out


def _commit() -> str:
    """The commit of this checkout, empty outside of one."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def text(record: Record) -> str:
    """The record as JSON."""
    return json.dumps(asdict(record), indent=1) + "\n"


def read(stored: str) -> Record:
    """The record of ``text``."""
    fields = json.loads(stored)
    rows = [Measured(**{**row, "differences": tuple(row["differences"])}) for row in fields.pop("rows")]
    return Record(**fields, rows=rows)


def write(record: Record) -> None:
    """Store the record and its page."""
    from docs.generate import MARK

    for path, content in ((STORED, text(record)), (STORED.with_suffix(".md"), MARK + page(record))):
        with write_atomically(path, "w") as stream:
            stream.write(content)


def stored_page() -> str:
    """The page of the stored record."""
    return page(read(STORED.read_text(encoding="utf-8")))


def page(record: Record) -> str:
    """The page of a record."""
    return "".join(_page(record))


def _page(record: Record) -> Iterator[str]:
    size = f"{record.images:,} images, {5 * record.images:,} captions and vectors of {record.dim:,} numbers"
    yield f"{INTRODUCTION}\nHere: {size}, on {_machine(record.machine)}.\n\n"
    yield from _lines(COLUMNS, (_cells(r) for r in record.rows))
    yield f"\n(E): {EXTRAPOLATED}. Left out: {_left_out(record)}.\n{METHOD}\n{VALUES}\n"
    compared = ((r.name, f"{r.numbers:,}", _off(r), f"{PEERS[r.name].tolerance:.0e}") for r in record.rows)
    yield from _lines(("peer", "numbers compared", "largest difference", "tolerance"), compared)
    yield "\n## Definitions that differ\n\n"
    yield from (f"- **{p.name}**: {p.difference}\n" for p in PEERS.values())
    names = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    yield f"\n## Versions\n\nPython {record.machine['python']}, numpy {record.machine['numpy']}, {names}.\n"


def _lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    for cells in (heading, ["---"] * len(heading), *rows):
        yield f"| {' | '.join(cells)} |\n"


def _machine(machine: dict[str, Any]) -> str:
    load = machine["load"] or 0.0
    busy = f". Other work ran at the same time (load {load:g} at the start): times are longer than on an idle machine"
    return f"{machine['cores']} cores of {machine['cpu']}, {machine['blas']}{busy if load > machine['cores'] else ''}"


def _cells(r: Measured) -> tuple[str, ...]:
    """The row of a peer."""
    peer, wall = PEERS[r.name], r.seconds / r.our_seconds
    memory = "-" if r.mib is None or r.our_mib is None else f"{r.mib:,.0f}, {r.our_mib:,.0f}"
    if peer.memory_goal and r.mib is not None and r.our_mib:
        memory += f" (goal {_goal(r.mib / r.our_mib, peer.memory_goal)})"
    return (
        f"{r.name}{' (E)' if r.measured < 1 else ''}",
        peer.computes,
        peer.start,
        _seconds(r.seconds),
        f"{_seconds(r.our_seconds)} ({r.library.ratio:.2f} F)",
        f"{_times(wall)}, {_times(r.cpu / r.our_cpu)}",
        _goal(wall, peer.goal),
        memory,
    )


def _goal(reached: float, goal: float | None) -> str:
    return "-" if goal is None else f"{goal:,g}: {'met' if reached >= goal else '**not met**'}"


def _left_out(record: Record) -> str:
    return "; ".join(f"{name} ({reason})" for name, reason in record.left_out.items()) or "none"


def _seconds(x: float) -> str:
    return f"{x / 3600:,.1f} h" if x >= 7200 else f"{x:,.0f} s" if x >= 20 else f"{x:.2f} s"


def _times(x: float) -> str:
    return f"{x:,.0f}" if x >= 20 else f"{x:.2f}" if x < 2 else f"{x:.1f}"


def _off(r: Measured) -> str:
    """The largest difference, and what it is of."""
    off = "0" if r.largest == 0 else f"{r.largest:.0e}"
    return f"{off} (of scores)" if r.name.startswith("faiss") else off
