"""The gains of an evaluation: which kinds are meant, loading them, and the metrics that they allow."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..arguments import numbers, shown
from ..errors import BadInput, MissingPackage, UsageError
from ..files.sniff import sniff
from ..graded.rankings import pseudo_positives
from ..metrics.declare import DEFAULT_GAINS, Metric
from ..metrics.suites import words
from ..metrics.values import without_negative
from ..options import spell
from ..relevance.gains import Gains, Progress, Spec
from ..relevance.judgements.as_gains import gains_of
from ..relevance.judgements.declare import Judgements
from ..relevance.kinds import GAINS, kind_of, load_gains, parse_spec
from ..relevance.matrix import of_array
from ..relevance.spice.tuples import NotParsed
from ..sets import placing
from ..sets.captions import Captions, check_file, is_file, with_captions, without_ids
from ..types import Direction, Split


def choose(given: Any) -> dict[str, Spec]:
    """The requested kinds of gains, by view; the first is that of metrics whose name has no view.

    Args:
        given: specifications separated by commas, a path, a matrix (image, caption), or a list of any of these; None
            and an empty list for none.

    Raises:
        UsageError: an unknown kind or setting, two of one kind, or a value of another type.
    """
    if isinstance(given, str):
        listed: list[Any] = words(given)
    elif given is None or (isinstance(given, (list, tuple)) and not _is_matrix(given)):
        listed = [x for x in given or () if not (isinstance(x, str) and not x.strip())]
    else:
        listed = [given]
    chosen: dict[str, Spec] = {}
    for spec in map(_spec, listed):
        if spec.kind in chosen:
            both = f" ({chosen[spec.kind].argument} and {spec.argument})" if spec.argument else ""
            raise UsageError(f"{spell('gains')} names {spec.kind} twice{both}", fix="evaluate once for each")
        chosen[spec.kind] = spec
    return chosen


def _is_matrix(given: Sequence[Any]) -> bool:
    """Whether a list is a matrix: a list of rows of numbers."""
    first = given[0] if len(given) else None
    return isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1


def _spec(given: Any) -> Spec:
    if isinstance(given, Spec):
        return given
    if isinstance(given, str):
        return parse_spec(given)
    if hasattr(given, "__fspath__"):
        kind = kind_of(str(given))
        return Spec(kind.name, str(given), {}) if kind is not None and kind.endings else parse_spec(str(given))
    if not hasattr(given, "__array__") and not (isinstance(given, (list, tuple)) and _is_matrix(given)):
        fix = "give a string such as 'cider', a path, a matrix of gains, or a list of these"
        raise UsageError(f"gains is {shown(given)}", fix=fix)
    return Spec("matrix", None, {}, numbers(given, "gains"))


def suits(metric: Metric, gains: Mapping[str, Spec | None]) -> bool:
    """Whether a graded metric is defined with the gains of its view, by what is known before they are loaded.

    Mean label distance needs gains made from a distance, and ratios of gains need gains that cannot be negative.
    """
    kind = GAINS.get(metric.view)
    if kind is None:  # judgements
        return True
    if metric.unit == "distance":
        return kind.from_distance
    spec = gains.get(metric.view)
    if spec is not None and spec.settings.get("negative") == "zero":
        return True
    lowest = metric.family.lowest_gain
    return lowest is None or kind.finds_lowest or (kind.low is not None and kind.low >= lowest)


def _why_not(metric: Metric, gains: Gains) -> tuple[str, str] | None:
    """Why a metric (no sum) cannot be measured with its gains and what to do about it, None if it can."""
    lowest, least = gains.lowest, metric.family.lowest_gain
    if lowest is not None and least is not None and lowest < least:
        why = f"gains of '{metric.view}' go down to {lowest:.4g}, and it takes none below {least:g}"
        return why, without_negative()
    if gains.of_judgements and pseudo_positives(metric):
        fix = (
            f"give them with {spell('judgements')} under a NAME, and write NAME:R@{metric.k} or NAME:Recall@{metric.k}"
        )
        return f"gains of '{metric.view}' are 0 and 1, which are judgements", fix
    every_pair = metric.family.depth == "all" or {"ideal", "pseudo_positive"} & metric.family.needs
    if not gains.rows_affordable and every_pair:
        return f"it reads every pair, which '{metric.view}' would take hours for", "use CS@k, which reads the top k"
    return None


def leave_out(
    metrics: Sequence[Metric], named: Sequence[Metric], gains: Mapping[str, Gains], chosen: Mapping[str, Spec]
) -> tuple[list[Metric], list[str]]:
    """The metrics that the gains allow, and notes about the others and about gains that no metric reads.

    Raises:
        BadInput: a metric that is requested by name cannot be measured.
    """
    kept: list[Metric] = []
    lost: dict[str, list[str]] = {}
    for m in metrics:
        parts = m.parts() or (m,)
        why = next((w for p in parts if (w := _why_not(p, gains[m.view]))), None) if m.graded else None
        if why is None:
            kept.append(m)
        elif m in named:
            spec = chosen.get(m.view)
            where = spec.argument if spec and GAINS[m.view].endings else None
            raise BadInput(f"{m}: {why[0]}", where=where, fix=why[1])
        else:
            lost.setdefault(why[0], []).append(str(m))
    notes = [f"{', '.join(names)} left out: {why}" for why, names in lost.items()]
    idle = [view for view in chosen if view not in {m.view for m in metrics}]
    for path in (chosen[k].argument for k in idle if GAINS[k].endings):
        if path is not None:
            sniff(Path(path).expanduser())  # a wrong path is an error even where it is not read
    if idle:
        notes.append(
            f"{spell('gains', ', '.join(idle))}: no metric uses it; write the view in front, as in {idle[0]}:cs"
        )
    return kept, notes


def load(
    metrics: Sequence[Metric],
    chosen: Mapping[str, Spec],
    judgements: Mapping[str, Judgements],
    split: Split,
    captions: Captions | None,
    progress: Progress | None = None,
) -> tuple[Split, dict[str, Gains], list[str]]:
    """The split with its captions, the gains of every graded metric by view, and notes.

    Args:
        metrics: what will be measured.
        chosen: from ``choose``; a kind that is not in it is loaded with its defaults.
        judgements: those of the split, which are gains of the metrics in their view.
        split: with or without captions.
        captions: a file of captions, a list of them, or None.
        progress: called with the share of the preparation that is done.

    Raises:
        BadInput, UsageError, MissingPackage: captions or gains are missing, with the command that installs them.
    """
    kinds = list(dict.fromkeys(m.view for m in metrics if m.graded))
    if not kinds:
        if captions is None:
            return split, {}, []
        if is_file(captions):
            check_file(Path(captions))  # a wrong path is an error even where it is not read
        return split, {}, [f"{spell('captions')}: no metric uses them"]
    why: UsageError | MissingPackage | None = None
    source = _source(split, captions)
    try:
        split = with_captions(split, captions)
    except (UsageError, MissingPackage) as error:
        why = error
    found: dict[str, Gains] = {}
    notes: list[str] = []
    if captions is not None and why is None and without_ids(captions):
        notes += placing.notes("captions", ["caption"], split)
    for kind in kinds:
        if kind in judgements:
            found[kind] = gains_of(judgements[kind], split)
            continue
        if GAINS[kind].endings and kind not in chosen:
            raise UsageError(
                f"the view '{kind}' needs a file of gains", fix=f"give it with {spell('gains', 'FILE.npy')}"
            )
        try:
            spec = chosen.get(kind) or Spec(kind, None, {})
            found[kind] = load_gains(spec, split, progress) if spec.values is None else of_array(split, spec.values)
        except NotParsed as error:
            if source is None:
                raise
            raise error.about(source) from None
        except BadInput:
            # Why there are no captions is more useful than that they are missing.
            if why is not None and split.captions is None and GAINS[kind].needs_captions:
                raise why from None
            raise
        notes += [note if note.startswith(f"{kind}: ") else f"{kind}: {note}" for note in found[kind].notes]
    if DEFAULT_GAINS in found and not chosen:
        settings = ", ".join(f"{k} {v}" for k, v in found[DEFAULT_GAINS].settings.items())
        notes.insert(0, f"graded relevance is CIDEr-D ({settings}); {spell('gains')} chooses another")
    return split, found, notes


def _source(split: Split, captions: Captions | None) -> str | None:
    """The option of a command that the captions come from, when this is not the split by its name."""
    if captions is not None:
        return f"--captions {shlex.quote(str(captions)) if is_file(captions) else 'FILE'}"
    if split.name == "custom" and split.captions is None:
        return "--split coco-5k"  # the only captions that can be found by the ids of a custom split
    return None


def unknown_ties(metrics: Sequence[Metric], directions: Sequence[Direction]) -> list[str]:
    """A note for metrics that read ties, where retrieved lists of some directions have no scores."""
    named = [str(m) for m in metrics if "tied" in m.family.needs]
    if not named or not directions:
        return []
    return [
        f"{', '.join(named)}: the lists of {' and '.join(directions)} have no scores, so no two items are tied; values "
        "from embeddings, scores or a TREC run differ where scores are equal"
    ]
