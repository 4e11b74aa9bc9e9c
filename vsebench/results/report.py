"""Report: the results of one evaluation with their signature; its JSON is what ``vsebench.analysis`` reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ..types import Direction, Split
from . import lists, per_query, table, values
from .charts import Panel, curves
from .grid import Grid
from .lists import Lists
from .model import MetricName, Resampling, Result, plain
from .render import Drawn, json_text, record

SCHEMA = "vsebench/report/1"


@dataclass(frozen=True, eq=False, repr=False)
class Report(Drawn):
    """All results of one evaluation.

    ``print(report)`` shows the tables, as does a notebook; ``report["R@1", "i2t"]`` is one result.

    Attributes:
        split: name of the test set.
        signature: the one-line identity of the numbers.
        results: in the order of the metrics that were requested.
        warnings: what may be wrong.
        notes: what was decided.
        provenance: files, versions, machine and time.
        intervals: how intervals were made, or None without them.
        parts: results that a sum adds up and that were not requested by name.
        items: the images and captions whose queries have per-query values (without captions as strings), or None.
        lists: the top of the rankings, one a direction, where they were kept.

    Example:
        >>> import numpy as np
        >>> import vsebench
        >>> images = np.random.default_rng(0).standard_normal((20, 8))
        >>> captions = np.repeat(images, 5, axis=0)
        >>> report = vsebench.evaluate(images, captions, captions_per_image=5, metrics="R@1,MedR")
        >>> report["R@1", "i2t"].value
        1.0
        >>> report.to_frame()[["metric", "direction", "value"]].to_string(index=False).splitlines()[1].split()
        ['R@1', 'i2t', '1.0']
        >>> print(report.to_markdown().splitlines()[4])
        | R@1 | 100.00 \\[100.00, 100.00\\] | 100.00 \\[100.00, 100.00\\] | 20 / 100 |
    """

    heading: ClassVar = "Evaluation on {split}"
    split: str
    signature: str
    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    intervals: Resampling | None = None
    parts: tuple[Result, ...] = field(default=(), repr=False)
    items: Split | None = field(default=None, repr=False)
    lists: tuple[Lists, ...] = field(default=(), repr=False)

    def __getitem__(self, key: tuple[str | MetricName, Direction | None] | str | MetricName) -> Result:
        """``report["R@1", "i2t"]``, or ``report["RSum"]`` for a sum; raises KeyError when it was not measured.

        A name without a view (``NCS@10``) is also found where one view alone has it (``cider:NCS@10``).
        """
        metric, direction = (*key, None, None)[:2] if isinstance(key, tuple) else (key, None)
        own = [r for r in self.results if r.direction == direction]
        wanted, found = str(metric).lower(), list[Result]()
        for names in ([str(r.metric) for r in own], [r.metric.name for r in own]):
            found = [r for r, name in zip(own, names, strict=True) if name.lower() == wanted]
            if len(found) == 1:
                return found[0]
            if found:
                views = " and ".join(str(r.metric) for r in found)
                raise KeyError(f"{metric} was measured in several views: {views}")
        ways = [
            r.direction
            for r in self.results
            if r.direction and wanted in (str(r.metric).lower(), r.metric.name.lower())
        ]
        if direction is None and ways:
            raise KeyError(f"{metric} was measured in directions: give one, report['{metric}', '{ways[0]}']")
        measured = ", ".join(f"{r.metric} {r.direction or ''}".strip() for r in self.results)
        raise KeyError(f"{metric} {direction or ''}".strip() + f" was not measured; measured are {measured}")

    def grids(self) -> list[Grid]:
        """One table for each set of judgements or gains; how to read them and the signature below the last."""
        return table.grids(self.split, self.results, self.intervals, self.signature)

    def records(self) -> list[dict[str, Any]]:
        """One a result: metric, direction (None for a sum), value, low, high, n, undefined, unit."""
        names = ("metric", "direction", "value", "interval", "n", "undefined", "unit")
        return [record(plain(r, *names)) for r in self.results]

    def panels(self) -> list[Panel]:
        """Curves over k of the metrics that were measured for several, a panel a metric and direction."""
        points = {(r.metric, r.direction): [(r.value, r.interval)] for r in self.results}
        return curves(points)

    def per_query(self) -> Any:
        """A ``pandas.DataFrame`` of metric, direction, query and value, without queries that a metric leaves out."""
        return per_query.frame(self.results)

    def to_dict(self, prefix: str = "") -> dict[str, Any]:
        """One float a result, under keys such as ``i2t_R@1`` and ``RSum``; fractions are fractions.

        Args:
            prefix: in front of every key, such as ``val/``: what ``wandb.log`` and ``SummaryWriter.add_scalar`` take.
        """
        return {prefix + "_".join(filter(None, (r.direction, str(r.metric)))): float(r.value) for r in self.results}

    def document(self, per_query: bool = True) -> dict[str, Any]:
        """The document of schema ``vsebench/report/1`` as plain values: what ``to_json`` writes and ``load`` reads.

        Args:
            per_query: also ``parts``, the packed per-query values, which ``vsebench.analysis`` needs, and ``lists``.
        """
        document: dict[str, Any] = {
            "schema": SCHEMA,
            **plain(self, "split", "signature"),
            "provenance": {**self.provenance, "notes": list(self.notes)},
            "warnings": list(self.warnings),
            "intervals": None if self.intervals is None else asdict(self.intervals),
            "results": [r.to_dict() for r in self.results],
        }
        if per_query and self.items is not None:
            document["parts"] = [r.to_dict() for r in self.parts]
            document["per_query"] = values.write(self.items, (*self.results, *self.parts))
            document |= {"lists": lists.write(self.lists)} if self.lists else {}
        return document

    def to_json(self, per_query: bool = True) -> str:
        """The document as indented JSON text, checked against its schema; ``per_query`` as in ``document``."""
        from .schema import ReportDocument

        document = self.document(per_query)
        ReportDocument.model_validate(document)
        return json_text(document)
