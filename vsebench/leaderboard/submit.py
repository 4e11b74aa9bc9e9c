"""A new entry from a saved report."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from ..analysis.systems import System, load, shared_keys
from ..errors import BadInput, UsageError
from ..evaluation.intervals import key_of, reads_gains, some_names
from ..evaluation.options import Options
from ..evaluation.request import resampling
from ..files.atomic import write_atomically
from ..metrics import Metric
from ..metrics.suites import SUITES, Names
from ..options import spell
from ..results.report import Report
from ..results.schema import faults_of
from . import submitted
from .benchmarks import slug
from .schema import ID, LONGEST_ID, PER_QUERY_ENDING, Entry, File, Model
from .store import ENTRIES, read


def add(
    result: str | os.PathLike[str],
    name: str,
    *,
    setting: str = "",
    image_input: str = "",
    url: str = "",
    description: str = "",
    notes: Sequence[str] = (),
    reproduce: Sequence[str] = (),
    metrics: Names | None = None,
    id: str | None = None,
    folder: str | os.PathLike[str] = "leaderboards",
    replace_old: bool = False,
) -> Entry:
    """Write the entry of a saved report and its per-query file.

    Args:
        result: a report with per-query values, as ``vsebench eval FILE -o RESULT.json`` writes.
        name: of the model.
        setting: what distinguishes it from others of this name.
        image_input: what it reads of an image, such as pixels, region features or object annotations.
        url: of its code or paper.
        description: free text.
        notes: sentences that are shown with the entry.
        reproduce: commands that give the numbers again; by default the one that is stored in the report.
        metrics: names and suites to keep, as a list or separated by commas; None for all of the report, or for those
            of suites where all would take too much room.
        id: of the entry and its page; by default made of name, setting and test set.
        folder: of the leaderboards.
        replace_old: replace an entry of this id.

    Returns:
        The entry, whose notes say what was left out or computed; it is in ``entries/ID.json``, its per-query values in
        ``entries/ID.per-query.json``.

    Raises:
        BadInput: no report, damaged, its values contradict each other, it has no per-query values, or graded metrics
            without intervals.
        UsageError: an id, name or link that no entry may have; an entry of this id is there, a metric is not in the
            report, or the per-query file is too large.
        DiskError: a file cannot be written.
    """
    folder, path = Path(folder), Path(result)
    model = _model(name=name, setting=setting, image_input=image_input, url=url, description=description)
    _check_id(id)
    read(folder)
    report = _chosen(load(path), metrics, path)
    if report.items is None or all(r.per_query is None for r in (*report.results, *report.parts)):
        fix = f"make it again: vsebench eval FILE -o {path.name} (without --no-per-query)"
        raise BadInput("has no per-query values, from which the numbers are computed again", where=path, fix=fix)
    chosen = id or slug(f"{name[:60]} {setting[:40]} {report.split}"[:99]) or "entry"
    target, beside = folder / ENTRIES / f"{chosen}.json", folder / ENTRIES / f"{chosen}{submitted.PER_QUERY}"
    if (target.exists() or beside.exists()) and not replace_old:
        raise UsageError(
            f"the entry '{chosen}' is there already",
            where=target,
            fix=f"add {spell('replace', True)}, or choose {spell('id')}",
        )
    for file in (target, beside):
        if file.exists() and file.samefile(path):
            raise UsageError(
                "would be replaced, and is the input of this command", where=file, fix=f"choose {spell('id')}"
            )
        if file.is_symlink():
            what = f"is a link (to {file.readlink()}), and entries are not written through links"
            raise UsageError(what, where=file, fix=f"remove the link, or choose {spell('id')}")
    report, told = _with_intervals(report, path)
    report, data, left_out = _kept(report, path, all_of_it=metrics is None)
    told += left_out
    facts = {"added on": datetime.datetime.now(datetime.timezone.utc).date().isoformat()}
    try:
        entry = submitted.entry_of(
            report, chosen, model, File(name=beside.name, sha256=submitted.sha256(data)), facts,
            notes=(*notes, *told), reproduce=tuple(reproduce) or _command(report),
        )  # fmt: skip
    except ValidationError as error:
        raise BadInput(faults_of(error)[0], where=path, fix="correct the report") from None
    if wrong := submitted.differences(entry, report):
        raise BadInput(wrong[0], where=path, fix="evaluate again")
    with write_atomically(beside, parents=True) as stream:
        stream.write(data)
    with write_atomically(target, "w") as stream:
        stream.write(submitted.text_of(entry))
    return entry


def _model(**fields: str) -> Model:
    """What is evaluated; raises UsageError for a value that no entry may have."""
    try:
        return Model(**fields)
    except ValidationError as error:
        option, _, what = faults_of(error)[0].partition(": ")
        option = option.replace("_", "-")
        raise UsageError(f"--{option}: {what}", fix=f"correct --{option}") from None


def _check_id(id: str | None) -> None:
    """Refuse an id that cannot be the name of a file and a page; raises UsageError."""
    if id and (len(id) > LONGEST_ID or not re.fullmatch(ID, id) or id.endswith(PER_QUERY_ENDING)):
        fix = f"write small letters, digits, '.', '_' and '-', at most {LONGEST_ID}, as in vsepp-coco-5k"
        fix += f", without the ending '{PER_QUERY_ENDING}'" if id.endswith(PER_QUERY_ENDING) else ""
        raise UsageError(f"{spell('id')} is '{id:.110}'", fix=fix)


def _chosen(report: Report, metrics: Names | None, path: Path) -> Report:
    """The report with some of its metrics, those of hubness left out; what their sums need stays among its parts."""
    report = replace(report, results=tuple(r for r in report.results if not key_of(r)[0].family.of_lists))
    if metrics is None or report.items is None:
        return report
    keys = set(shared_keys([System(path.stem, str(path), report, report.items)], metrics)[0])
    kept = tuple(r for r in report.results if key_of(r) in keys)
    needed = {part for metric, _ in keys for part in metric.parts()} - {metric for metric, _ in keys}
    parts = tuple(r for r in (*report.parts, *report.results) if key_of(r)[0] in needed)
    return replace(report, results=kept, parts=parts)


def _with_intervals(report: Report, path: Path) -> tuple[Report, tuple[str, ...]]:
    """The report with the intervals of all numbers, made here where it was evaluated without, and notes about them.

    Raises:
        BadInput: it was evaluated without and has graded metrics. What the images add to these as candidates was not
            computed, and intervals of the queries alone would be narrower than those of other entries.
    """
    if report.intervals is not None:
        return report, ()
    results = (*report.results, *report.parts)
    if graded := [str(r.metric) for r in results if reads_gains(r) and r.influence is None]:
        what = f"has no intervals, and those of {some_names(graded)} cannot be computed from the values of the queries"
        fix = f"evaluate with {spell('ci', 95)}, or choose binary {spell('metrics')}, such as R@1,R@5,R@10,RSum"
        raise BadInput(what, where=path, fix=fix)
    how = resampling(Options())  # as eval makes them when nothing else is asked for
    ends = submitted.intervals(report, how)
    results = tuple(replace(r, interval=ends.get((str(r.metric), r.direction))) for r in report.results)
    told = "The report has no intervals; they were computed when the entry was added."
    return replace(report, results=results, intervals=how), (told,)


def _kept(report: Report, path: Path, all_of_it: bool) -> tuple[Report, bytes, tuple[str, ...]]:
    """What an entry has of a report, its per-query file, and notes.

    Where all is too large it has the metrics of suites, else their headlines.

    Raises:
        UsageError: the per-query file is too large, also with these alone, or the metrics were chosen.
    """
    data = submitted.per_query_text(report).encode("utf-8", "surrogatepass")
    if len(data) <= submitted.LARGEST:
        return report, data, ()
    size = f"the per-query values take {len(data) / 1e6:.1f} MB, and at most {submitted.LARGEST / 1e6:.1f} are kept"
    every = list(dict.fromkeys(key_of(r)[0] for r in report.results)) if all_of_it else []
    for headlines in (False, True):
        chosen = [metric for metric in every if _of_suite(metric, headlines)]
        if not 0 < len(chosen) < len(every):
            continue
        fewer = _chosen(report, chosen, path)
        data = submitted.per_query_text(fewer).encode("utf-8", "surrogatepass")
        if len(data) <= submitted.LARGEST:
            dropped = ", ".join(str(metric) for metric in every if metric not in chosen)
            return fewer, data, (f"{size[0].upper()}{size[1:]}: left out are {dropped}.",)
    raise UsageError(size, where=path, fix=f"choose fewer metrics with {spell('metrics')}, such as R@1,R@5,R@10,RSum")


def _of_suite(metric: Metric, headline: bool) -> bool:
    """Whether a metric is one of the suites of ``--metrics``, or one of their headlines, with any gains."""
    name = metric.name if metric.graded else str(metric)
    suites = [suite for suite in SUITES.values() if suite.graded == metric.graded]
    return any(name in (suite.headline if headline else suite.metrics) for suite in suites)


def _command(report: Report) -> tuple[str, ...]:
    """The command that made the report, with names of files instead of paths."""
    command = report.provenance.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ()
    return (" ".join(Path(word).name if "/" in word and "=" not in word else word for word in command),)
