"""Report: the results of one evaluation with their signature; its JSON is what ``vsebench.analysis`` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import signature
from ..errors import BadInput, printable
from ..options import direction_named, of_command
from ..relevance.sources import LABELS, heading
from ..types import ONE_WAY, Direction, TestSet
from .charts import Panel, curves
from .model import ARROWS, UNITS, Lists, Measurement, MetricName, Resampling, interval_words, units_of
from .render import Result, json_text
from .table import Column, Entry, Table, Value, arrow, label, named, sentences, way

CROSS_MODAL: tuple[Direction, ...] = ("i2t", "t2i", ONE_WAY)
LIMITS = {"only": "among candidates", "without": "without excluded items", "self": "without the query itself"}
INTRA_MODAL: tuple[Direction, ...] = ("i2i", "t2t")


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """All results of one evaluation.

    ``print(report)`` shows the tables, as does a notebook; ``report["R@1", "i2t"]`` is one result. A report is also a
    mapping from keys to results, as in ``dict(report)``, ``list(report)`` and ``"RSum" in report``: a key is the name
    of a metric and its direction, ``("R@1", "i2t")``, or ``("RSum", None)`` for a sum.

    Attributes:
        split: name of the test set.
        signature: the one-line identity of the numbers.
        results: in the order of the metrics that were requested.
        warnings: what may be wrong.
        notes: what was decided.
        provenance: files, versions, machine and time.
        intervals: how intervals were made, or None without them.
        parts: results that a sum adds up and that were not requested by name.
        items: the test set of the per-query values (without the text of captions), or None.
        lists: the top of the rankings, one per direction, if they were kept.

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

    kind: str = field(default="report", init=False)
    title: str = field(default="", init=False)
    main: str = field(default="results", init=False)
    tables: Sequence[Table] = field(init=False)
    panels: Sequence[Panel] = field(init=False)
    systems: tuple[str, ...] = field(default=(), init=False)
    page: None = field(default=None, init=False)
    split: str
    signature: str
    results: tuple[Measurement, ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    intervals: Resampling | None = None
    parts: tuple[Measurement, ...] = field(default=(), repr=False)
    items: TestSet | None = field(default=None, repr=False)
    lists: tuple[Lists, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(f"Evaluation on {self.split}"))
        object.__setattr__(self, "systems", (self.split,))

    def __getattr__(self, name: str) -> Any:
        """``tables`` and ``panels``, made when they are first read: a loop over epochs reads values alone."""
        if name not in ("tables", "panels"):
            raise AttributeError(f"a report has no {name}")
        found = self._tables() if name == "tables" else curves({(r.metric, r.direction): [r] for r in self.results})
        object.__setattr__(self, name, found)
        return found

    def __getitem__(self, key: tuple[str | MetricName, Direction | None] | str | MetricName) -> Measurement:
        """``report["R@1", "i2t"]``, or ``report["RSum"]`` for a sum; raises KeyError when it was not measured.

        A name without a view (``NCS@10``) is also found where one view alone has it (``cider:NCS@10``). The keys of
        ``to_dict`` are read as well: ``report["R@1 i2t"]``.
        """
        if isinstance(key, str) and key.rpartition(" ")[2] in ARROWS:
            key = key.rpartition(" ")[::2]  # type: ignore[assignment]
        metric, direction = (*key, None, None)[:2] if isinstance(key, tuple) else (key, None)
        direction = direction_named(direction)
        own = [r for r in self.results if r.direction == direction]
        wanted, found = str(metric).lower(), list[Measurement]()
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
            raise KeyError(f"{metric} was measured in several directions: give one, report['{metric}', '{ways[0]}']")
        measured = ", ".join(f"{r.metric} {r.direction or ''}".strip() for r in self.results)
        raise KeyError(f"{metric} {direction or ''}".strip() + f" was not measured; the report has {measured}")

    def __contains__(self, key: object) -> bool:
        """Whether ``report[key]`` is a result."""
        try:
            self[key]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[tuple[str, Direction | None]]:
        """The keys of the results, in the order of the metrics that were requested."""
        return iter([(str(r.metric), r.direction) for r in self.results])

    keys = __iter__

    def _tables(self) -> list[Table]:
        """One table for each view and kind of retrieval; how to read them and the signature below the last.

        A record is a result: metric, direction (None for a sum), value, low, high, n, undefined, unit.
        """
        if not self.results:
            words = "There are no results: no requested metric is defined."
            return [sentences(words, literal=self.signature)]
        groups: dict[tuple[str, tuple[Direction, ...]], list[Measurement]] = {}
        for result in self.results:
            directions = INTRA_MODAL if result.direction in INTRA_MODAL else CROSS_MODAL
            groups.setdefault((result.metric.view, directions), []).append(result)
        found = []
        for (view, directions), group in groups.items():
            if view == LABELS:  # a row a list length
                found += [_by_length(group), replace(_by_metric("", directions, group), shown=False)]
                continue
            above = (self.split,) if view == "gt" and directions == CROSS_MODAL else ()
            title = " · ".join((*above, *(() if found else corrected(self.signature)), heading(view)))
            found.append(_by_metric(title, directions, group))
        by_labels = all(view == LABELS for view, _ in groups)
        words = (
            "nDCG is printed as a percentage, label distances as they are (↓ lower is better)." if by_labels else UNITS
        )
        if self.intervals is not None and any(r.interval for r in self.results):
            units = "queries" if by_labels else units_of(self.results)
            words += f" {interval_words(self.intervals, units)}."
        return [*found, *_of_indexes(self.provenance.get("index")), sentences(words, literal=self.signature)]

    def per_query(self) -> Any:
        """A ``pandas.DataFrame`` of metric, direction, query and value, one row a query of a metric.

        ``query`` is the id: int64 when all of them are integers, else text. Sums have no per-query values. Queries that
        a metric leaves out have no row.
        """
        import pandas as pd

        found = [(r, r.queries, r.per_query) for r in self.results if r.queries is not None and r.per_query is not None]
        lengths = [len(values) for _, _, values in found]
        # Images and captions share the column: their ids are numbers in it only if both are.
        kind: type = np.int64 if all(queries.dtype.kind == "i" for _, queries, _ in found) else np.str_
        ids = np.concatenate([np.empty(0, kind), *(queries.astype(kind) for _, queries, _ in found)])
        if kind is np.str_ and any("\ud800" <= c <= "\udfff" for c in "".join(np.unique(ids).tolist())):
            # halves of a surrogate pair, as in the name of a file in no encoding, which no table can have
            ids = np.array([name.encode("utf-8", "backslashreplace").decode() for name in ids.tolist()])

        def column(names: list[str]) -> Any:
            kinds = list(dict.fromkeys(names))
            return pd.Categorical.from_codes(np.repeat([kinds.index(x) for x in names], lengths).astype(int), kinds)

        return pd.DataFrame({
            "metric": column([str(r.metric) for r, _, _ in found]),
            "direction": column([str(r.direction) for r, _, _ in found]),
            "query": ids,
            "value": np.concatenate([np.empty(0), *(values for _, _, values in found)]),
        })  # fmt: skip

    def to_dict(self, prefix: str = "") -> dict[str, Any]:
        """One float a result, under keys such as ``R@1 i2t`` and ``RSum``; fractions are fractions.

        Args:
            prefix: in front of every key, such as ``val/``: what ``wandb.log`` and ``SummaryWriter.add_scalar`` take.
        """
        return {prefix + label(r.metric, r.direction): float(r.value) for r in self.results}

    def document(self, per_query: bool = True) -> dict[str, Any]:
        """The document of schema ``vsebench/report/1`` as plain values: what ``to_json`` writes and ``load``
        reads.

        Args:
            per_query: also ``parts``, the packed per-query values, which ``vsebench.analysis`` needs, and ``lists``.
        """
        from .document import write

        return write(vars(self), per_query)

    def to_json(self, per_query: bool = True) -> str:
        """The document as indented JSON text; ``per_query`` as in ``document``."""
        return json_text(self.document(per_query))


def read(path: Path, parse: Callable[[str], MetricName]) -> Report:
    """The report in a file, see ``document.read``; raises BadInput also for a table of several."""
    found = read_all(path, parse)
    if found[0][0] is None:
        return found[0][1]
    names = ", ".join(str(name) for name, _ in found)
    spoken = len({report.split for _, report in found}) > 1
    fix = "give it to vsebench compare"
    if spoken:
        reads = "vsebench show and vsebench export read" if of_command() else "vb.compare(FILE, tests=False) reads"
        fix = f"give the report of one language; {reads} the table"
    what = f"holds the reports of {len(found)} {'languages' if spoken else 'systems'}: {names}"
    raise BadInput(what, where=path, fix=fix)


def read_all(path: Path, parse: Callable[[str], MetricName]) -> list[tuple[str | None, Report]]:
    """The report in a file (without a name), or the reports of a table with the names of their systems."""
    from . import document

    return [(name, Report(**fields)) for name, fields in document.read(path, parse)]


def corrected(line: str) -> list[str]:
    """Texts about the candidates and the scores of a report, from its signature: ``csls, transductive``."""
    fields = signature.read(line)
    rule, limits = fields.get(signature.CORRECTED, ""), fields.get(signature.CANDIDATES, "").split(",")
    words = rule.split(",")
    found = [LIMITS[word] for word in (limit.partition("#")[0] for limit in limits) if word in LIMITS]
    return [*found, *([", ".join([words[0], *(w for w in words if w == "transductive")])] if rule else [])]


def _by_metric(title: str, directions: tuple[Direction, ...], results: Sequence[Measurement]) -> Table:
    """One row a metric, its directions side by side."""
    rows: dict[str, dict[Direction | None, Measurement]] = {}
    for result in results:
        rows.setdefault(str(result.metric), {})[result.direction] = result
    shown = [d for d in (*directions, None) if any(d in row for row in rows.values())]
    lines: list[tuple[Entry, ...]] = []
    for row in rows.values():
        queries = " / ".join(f"{row[d].n:,}" for d in directions if d in row)
        metric = next(iter(row.values())).metric
        lines.append((named(metric, view=False), *(_value(row.get(d)) for d in shown), queries))
    columns = (Column(way(d).shown, fields={"direction": d}) for d in shown)
    return Table("results", title, (Column("metric", words=True), *columns, Column("queries", "")), tuple(lines))


def _of_indexes(facts: Any) -> list[Table]:
    """A row a saved index, with the share of the exact lists that it lists; none of facts of another form."""
    found = facts.items() if isinstance(facts, dict) else ()
    known = {d: one.get("recall") for d, one in found if d in ARROWS and isinstance(one, dict)}
    rows = {d: shares for d, shares in known.items() if isinstance(shares, dict) and all(map(str.isdecimal, shares))}
    depths = sorted({k for shares in rows.values() for k in shares}, key=int)
    columns = (Column("index", words=True), *(Column(f"recall@{k}", fields={"k": int(k)}) for k in depths))
    shares = [(way(d).shown, *(Value(own[k]) if k in own else "" for k in depths)) for d, own in rows.items()]
    title = "index against exact lists"
    return [Table("", title, columns, tuple(shares))] if shares else []


def _by_length(results: Sequence[Measurement]) -> Table:
    """One row a list length k, its metrics side by side."""
    rows: dict[int | None, dict[str, Measurement]] = {}
    for result in results:
        rows.setdefault(result.metric.k, {})[result.metric.template] = result
    shown = {name: result for row in rows.values() for name, result in row.items()}
    headings = [
        ("mean label distance@k" if r.unit == "distance" else r.metric.template.format(k="k"))
        + arrow(r.higher_is_better)
        for r in shown.values()
    ]
    lines = []
    for k, row in rows.items():
        queries = next(iter(row.values())).n
        lines.append((str(k), *(_value(row.get(name)) for name in shown), f"{queries:,}"))
    columns = (Column("k"), *map(Column, headings), Column("queries"))
    return Table("", "judged by labels", columns, tuple(lines))


def _value(result: Measurement | None) -> Entry:
    if result is None:
        return ""
    facts = {"n": result.n, "undefined": result.undefined, "unit": result.unit}
    return Value(result.value, result.unit, result.interval, facts=facts)
