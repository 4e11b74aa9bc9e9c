"""Engines: which processes compute the scores and the values of an evaluation.

``local`` is this process, with threads. ``dask`` computes shards in the processes of a Dask cluster (``dask_engine``),
keeps every finished one in a file (``shard_files``) and joins them here (``shards``). No engine changes a value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..graded.engine import Fill
from ..log import note
from ..numeric.parallel import default_threads
from ..options import spell
from ..rank import backends
from ..rank.count import Targets, count
from ..rank.observe import Depths, observations, observe
from ..rank.order import Order
from ..rank.scorers import Scorer
from ..types import Direction, Observation
from . import cuts, dask_engine, depths, provenance, shard_files, shards
from .inputs import System
from .plan import Plan


@dataclass(frozen=True)
class Engine:
    """What an evaluation gets its ranks and values from.

    Attributes:
        observe: ranks of relevant items and top lists, as ``rank.observe``.
        order: orders of galleries for graded metrics, see ``rank.backends``.
        fill: writes values of graded metrics that are computed elsewhere, see ``graded.engine``; or None.
        facts: for the provenance: what other processes ranked with.
    """

    observe: Callable[..., dict[Direction, Observation]]
    order: Order | None
    fill: Fill | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def start(data: System, plan: Plan) -> Iterator[Engine]:
    """The engine of the request; what other processes compute is finished when the block begins.

    Args:
        data, plan: of the evaluation.

    Raises:
        MissingPackage, WorkersLost, BadInput, DiskError: as ``dask_engine.compute`` and ``shard_files.opened``.
    """
    request = plan.request
    if request.engine == "local" or data.scorer is None:
        chosen = backends.ranker(request.backend)
        ranker, needed = depths.route(plan, data, chosen)
        # what lists only the top of rankings does not make lists of any depth
        ranked = functools.partial(observe, scan=ranker.scan, order=None if chosen.listed else ranker.order)
        if ranker.listed:
            ranked = functools.partial(ranker.listed.observe, needed=needed)
        if request.engine != "local":
            dask = spell("engine", "dask")
            note(f"{dask}: retrieved lists have no scores to compute, and were evaluated in one process")
        yield Engine(ranked, ranker.order)
        return
    dask_engine.check_installed()
    job, pieces = shards.make_job(data, plan), cuts.shards_of(plan, data)
    with shard_files.opened(job.key, request.resume) as folder:
        kept, used = dask_engine.compute(job, pieces, folder, request)
        read = functools.partial(shard_files.read, folder)
        if request.resume:
            note(f"{spell('resume', True)}: {kept} of {len(pieces)} shards were finished before")
        note(*(sentence for one in used for sentence in one.notes))

        def joined(
            scorer: Scorer, targets: Sequence[Targets], *, ties: str, depth: Depths, threads: int | None, progress: Any
        ) -> dict[Direction, Observation]:
            first = next(served[0] for one, served in data.passes(plan.directions) if one is scorer)
            ranks = count(
                scorer, targets, ties=ties, threads=threads, scan=shards.scan_of(pieces, read, first), order=None
            )
            lists = {d: shards.lists_of(pieces, read, scorer, d, threads or default_threads()) for d in depth}
            return observations(ranks, lists)

        facts = provenance.of_workers(request.backend, [(one.backend, one.device) for one in used])
        yield Engine(joined, None, shards.fill_of(pieces, read), facts)
