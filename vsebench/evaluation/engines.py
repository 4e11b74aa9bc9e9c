"""Engines: which processes compute the scores and the values of an evaluation.

``local`` is this process, with threads. ``dask`` computes shards in the processes of a Dask cluster (``dask_engine``),
keeps every finished one in a file (``cuts``) and joins them here (``shards``). No engine changes a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..graded.engine import Fill
from ..log import note
from ..options import spell
from ..rank import backends
from ..rank.observe import observe
from ..rank.order import Order
from ..rank.scorers import System
from ..types import DIRECTIONS, Direction, Observation
from . import cuts, dask_engine, depths, provenance, shards
from .inputs import Input
from .plan import Plan


@dataclass(frozen=True)
class Engine:
    """What an evaluation gets its ranks and values from.

    Attributes:
        observe: ranks of relevant items and top lists of the directions that are measured, see ``rank.observe``.
        order: orders of galleries for graded metrics, see ``rank.backends``.
        fill: writes values of graded metrics that are computed elsewhere, see ``graded.engine``; or None.
        facts: for the provenance: what other processes ranked with.
    """

    observe: Callable[[System], dict[Direction, Observation]]
    order: Order | None
    fill: Fill | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def start(data: Input, plan: Plan) -> Iterator[Engine]:
    """The engine of the plan; what other processes compute is finished when the block begins.

    Args:
        data, plan: of the evaluation.

    Raises:
        MissingPackage, WorkersLost, BadInput, DiskError: as ``dask_engine.compute`` and ``cuts.opened``.
    """
    request = plan.request
    if plan.engine == "local":
        ranker, needed = backends.ranker(plan.backend), None
        if ranker.lists is not None and ranker.lists.deepest is not None:
            ranker, needed = depths.route(plan, data, ranker)

        def here(system: System) -> dict[Direction, Observation]:
            found = observe(
                system, plan.targets, ties=request.ties, threads=request.threads, depth=plan.depths,
                progress=request.progress, scan=ranker.scan, order=ranker.lists, needed=needed,
            )  # fmt: skip
            return {d: one for d, one in zip(DIRECTIONS, found, strict=True) if d in plan.directions}

        yield Engine(here, ranker.order)
        return
    dask_engine.check_installed()
    job, pieces = shards.make_job(data, plan), cuts.shards_of(plan, data)
    with cuts.opened(job.key, request.resume) as folder:
        kept, used = dask_engine.compute(job, pieces, folder, request)
        read = partial(cuts.read, folder)
        if request.resume:
            note(f"{spell('resume', True)}: {kept} of {len(pieces)} shards were finished before", weight="detail")
        note(*(sentence for one in used for sentence in one.notes), weight="detail")
        facts = provenance.of_workers(plan.backend, [(one.backend, one.device) for one in used])
        yield Engine(partial(shards.observe, plan, pieces, read), None, shards.fill_of(pieces, read), facts)
