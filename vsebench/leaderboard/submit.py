"""A new entry from a saved report."""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
import shlex
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..analysis.systems import System, load, shared_keys
from ..errors import BadInput, UsageError, count_of
from ..evaluation.intervals import key_of
from ..files.atomic import write_atomically
from ..metrics import Metric
from ..metrics.suites import SUITES, Names
from ..options import spell
from ..results.report import Report
from ..results.schema import faults_of
from .benchmarks import slug
from .schema import ENTRIES, ID, LONGEST_ID, Entry, Model
from .store import read
from .submitted import entry_of, line, text_of

LARGEST = 4 << 20  # bytes of an entry
RESULT = 200  # bytes of one number
KEPT = ("vsebench", "started", "python", "packages")  # of the provenance of a report


def add(
    result: str | os.PathLike[str],
    name: str,
    *,
    metrics: Names | None = None,
    id: str | None = None,
    folder: str | os.PathLike[str] = "leaderboards",
    replace: bool = False,
    **about: Any,
) -> Entry:
    """Write the entry of a saved report.

    Args:
        result: a report with per-query values, as ``vsebench eval FILE -o RESULT.json`` writes.
        name: of the model.
        metrics: names and suites to keep, as a list or separated by commas; None for all of the report, or for as many
            as there is room for, those of suites first.
        id: of the entry and its page; by default made of name, setting and test set.
        folder: of the leaderboards.
        replace: replace an entry of this id.
        about: further fields of ``schema.Model``; ``reproduce`` is by default the command that the report has.

    Returns:
        The entry, whose notes say how many metrics were left out; it is in ``entries/ID.json``.

    Raises:
        BadInput: no report, damaged, its values contradict each other, or it has no per-query values or intervals.
        UsageError: an id, name or link that no entry may have; an entry of this id is there, a metric is not in the
            report, or the entry is too large.
        DiskError: a file cannot be written.
    """
    folder, path = Path(folder), Path(result)
    model = _model(name=name, **about)
    if id and (len(id) > LONGEST_ID or not re.fullmatch(ID, id)):
        fix = f"write small letters, digits, '.', '_' and '-', at most {LONGEST_ID}, as in vsepp-coco-5k"
        raise UsageError(f"{spell('id')} is '{id:.110}'", fix=fix)
    read(folder)
    report = _chosen(load(path), metrics, path)
    if report.items is None or all(r.per_query is None for r in (*report.results, *report.parts)):
        fix = f"make it again: vsebench eval FILE -o {shlex.quote(str(path))} (without --no-per-query)"
        raise BadInput("has no per-query values, from which the numbers are computed again", where=path, fix=fix)
    if report.intervals is None:
        raise BadInput("has no intervals", where=path, fix=f"evaluate with {spell('ci', 95)}")
    chosen = id or slug(f"{name[:60]} {model.setting[:40]} {report.split}"[:99]) or "entry"
    target = folder / ENTRIES / f"{chosen}.json"
    _check_target(target, path, replace)
    model = model.model_copy(update={"reproduce": model.reproduce or _command(report)})
    now = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    kept = {key: value for key, value in report.provenance.items() if key in KEPT} | {"added": now}
    report = dataclasses.replace(report, provenance=kept, notes=())
    if metrics is None:
        report, model = _fitting(report, model, path)
    text = text_of(report, model)
    if len(text) > LARGEST:
        what = f"the entry takes {len(text) / 1e6:.1f} MB, and at most {LARGEST / 1e6:.1f} are kept"
        raise UsageError(what, where=path, fix=f"choose fewer {spell('metrics')}, such as R@1,R@5,R@10,RSum")
    try:
        entry = entry_of(report, model, chosen)
    except BadInput as error:
        raise BadInput(error.what, where=path, fix=error.fix) from None
    with write_atomically(target, parents=True) as stream:
        stream.write(text)
    return entry


def _model(**fields: Any) -> Model:
    """What was evaluated; raises UsageError for a value that no entry may have."""
    try:
        return Model(**fields)
    except ValidationError as error:
        option, _, what = faults_of(error)[0].partition(": ")
        raise UsageError(f"{spell(option)}: {what}", fix=f"correct {spell(option)}") from None


def _check_target(target: Path, path: Path, replace: bool) -> None:
    """Refuse to replace an entry unasked, the input, or what a link leads to; raises UsageError."""
    if target.is_symlink():
        what = f"is a link (to {target.readlink()}), and entries are not written through links"
        raise UsageError(what, where=target, fix=f"remove the link, or choose {spell('id')}")
    if target.exists() and target.samefile(path):
        what = "would be replaced, and is the input of this command"
        raise UsageError(what, where=target, fix=f"choose {spell('id')}")
    if target.exists() and not replace:
        what = f"the entry '{target.stem}' is there already"
        raise UsageError(what, where=target, fix=f"add {spell('replace', True)}, or choose {spell('id')}")


def _chosen(report: Report, metrics: Names | None, path: Path) -> Report:
    """The report with some of its metrics, those of hubness left out; what their sums need stays among its parts."""
    report = dataclasses.replace(report, results=tuple(r for r in report.results if not key_of(r)[0].family.of_lists))
    if metrics is None or report.items is None:
        return report
    keys = set(shared_keys([System(path.stem, str(path), report, report.items)], metrics)[0])
    kept = tuple(r for r in report.results if key_of(r) in keys)
    needed = {part for metric, _ in keys for part in metric.parts()} - {metric for metric, _ in keys}
    parts = tuple(r for r in (*report.parts, *report.results) if key_of(r)[0] in needed)
    return dataclasses.replace(report, results=kept, parts=parts)


def _fitting(report: Report, model: Model, path: Path) -> tuple[Report, Model]:
    """The report with as many of its metrics as there is room for, those of suites first; a note says how many are not.

    The columns of a sum are those of its parts, which are kept once.
    """
    sizes: dict[str, int] = {}
    for column in report.document()["per_query"]["columns"]:
        sizes[column["metric"]] = sizes.get(column["metric"], 0) + len(line(column)) + 2
    room = LARGEST - len(text_of(dataclasses.replace(report, results=(), parts=()), model)) - RESULT
    every = list(dict.fromkeys(key_of(r)[0] for r in report.results))
    suites = [name for suite in SUITES.values() for name in suite.metrics]
    listed = {metric: metric.name if metric.graded else str(metric) for metric in every}
    kept, there = list[Metric](), set[str]()
    for metric in sorted(every, key=lambda m: suites.index(listed[m]) if listed[m] in suites else len(suites)):
        own = {str(part) for part in metric.parts() or (metric,)} - there
        needed = sum(sizes.get(name, 0) for name in own) + RESULT * (2 + 2 * len(own))
        if needed <= room:
            room -= needed
            there |= own
            kept.append(metric)
    if not 0 < len(kept) < len(every):
        return report, model
    number = count_of(len(every) - len(kept), "metric is", "metrics are")
    note = f"An entry takes at most {LARGEST / 1e6:.1f} MB: {number} left out."
    chosen = _chosen(report, [metric for metric in every if metric in kept], path)
    return chosen, model.model_copy(update={"notes": (*model.notes, note)})


def _command(report: Report) -> tuple[str, ...]:
    """The command that made the report, with names of files instead of paths."""
    command = report.provenance.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ()
    return (" ".join(Path(word).name if "/" in word and "=" not in word else word for word in command),)
