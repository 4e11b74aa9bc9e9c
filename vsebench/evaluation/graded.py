"""Graded relevance in an evaluation: which gains are meant, loading them, and from their values to results."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..data.captions import with_captions
from ..data.formats.sniff import sniff
from ..errors import BadInput, MissingPackage, UsageError
from ..graded.plan import extended
from ..graded.run import Found, GradedValues
from ..metrics.declare import DEFAULT_GAINS, Metric
from ..metrics.graded import needs
from ..relevance.gains import Gains, Progress, Spec
from ..relevance.judgements.table import JUDGEMENTS
from ..relevance.kinds import GAINS, load_gains, parse_spec
from ..relevance.spice.tuples import NotParsed
from ..report.model import Result
from ..types import Direction, Ids, Int, Split

FIX = "use CS or Kendall, which take any gains, or count negative gains as zero: --gains GAINS:negative=zero"
KNOWN = tuple(GAINS)  # every view of graded relevance


@dataclass(frozen=True, eq=False)
class Measured:
    """The values of graded metrics, and the gains they were measured with by view."""

    found: Found
    gains: Mapping[str, Gains]
    split: Split


def choose(texts: Sequence[str]) -> dict[str, Spec]:
    """The gains asked for, by view; the first is that of metrics whose name has no view.

    Raises:
        UsageError: an unknown relevance or setting, or two of one kind.
    """
    chosen: dict[str, Spec] = {}
    for text in texts:
        spec = parse_spec(text)
        if spec.kind in chosen:
            both = f" ({chosen[spec.kind].argument} and {spec.argument})" if spec.argument else ""
            raise UsageError(f"--gains names {spec.kind} twice{both}", fix="evaluate once for each")
        chosen[spec.kind] = spec
    return chosen


def is_graded(metric: Metric) -> bool:
    """Whether a metric asks how much an item is relevant."""
    return metric.view not in JUDGEMENTS


def suits(metric: Metric, gains: Mapping[str, Spec | None]) -> bool:
    """Whether a graded metric means anything with the gains of its view, by what is known before they are loaded.

    Mean label distance needs gains made from a distance, and ratios of gains need gains that cannot be negative.
    """
    family, kind = metric.family, GAINS.get(metric.view)
    if family.unit == "distance":
        return kind is not None and kind.from_distance
    spec = gains.get(metric.view)
    if spec is not None and spec.settings.get("negative") == "zero":
        return True
    if family.lowest_gain is None or kind is None or kind.finds_lowest:
        return True
    return kind.low is not None and kind.low >= family.lowest_gain


def unsuited(metric: Metric, gains: Gains) -> str | None:
    """Why a metric of a single view cannot be measured with gains that are there, None if it can."""
    lowest, least = gains.lowest, metric.family.lowest_gain
    if lowest is not None and least is not None and lowest < least:
        return f"gains of '{metric.view}' go down to {lowest:.4g}, and it takes none below {least:g}"
    if not gains.rows_affordable and (metric.family.depth == "all" or {"ideal", "members"} & needs(metric)):
        return f"it looks at every pair, which '{metric.view}' would take hours for"
    return None


def settle(
    metrics: Sequence[Metric], named: Sequence[Metric], gains: Mapping[str, Gains], chosen: Mapping[str, Spec]
) -> tuple[list[Metric], list[str]]:
    """The metrics that the gains allow, and what should be said of the others and of gains that no metric uses.

    Raises:
        BadInput: a metric that was asked for by its name cannot be measured.
    """
    kept: list[Metric] = []
    lost: dict[str, list[str]] = {}
    for m in metrics:
        parts = m.parts() or (m,)
        why = None if not is_graded(m) else next((w for p in parts if (w := unsuited(p, gains[m.view]))), None)
        if why is None:
            kept.append(m)
        elif m in named:
            spec = chosen.get(m.view)
            raise BadInput(f"{m}: {why}", where=spec.argument if spec and m.view == "matrix" else None, fix=FIX)
        else:
            lost.setdefault(why, []).append(str(m))
    notes = [f"{', '.join(names)} left out: {why}" for why, names in lost.items()]
    idle = [view for view in chosen if view not in {m.view for m in metrics}]
    if "matrix" in idle:
        sniff(Path(chosen["matrix"].argument or "").expanduser())  # a wrong path is told even where it has no effect
    if idle:
        notes.append(f"--gains {', '.join(idle)}: no metric uses it; write the view in front, as in {idle[0]}:cs")
    return kept, notes


def load(
    metrics: Sequence[Metric],
    chosen: Mapping[str, Spec],
    split: Split,
    captions: Path | None,
    rows: tuple[Int | None, Int | None] = (None, None),
    progress: Progress | None = None,
) -> tuple[Split, dict[str, Gains], list[str]]:
    """The split with its captions, the gains of every graded view of some metrics, and what should be said.

    Args:
        metrics: what will be measured.
        chosen: from ``choose``; a view that is not in it is loaded with its defaults.
        split: with or without captions.
        captions: a file of captions, or None.
        rows: (image,) and (caption,) row of every item in the file of vectors, None when it is its index.
        progress: told the share of the preparation that is done.

    Raises:
        BadInput, UsageError, MissingPackage: captions or gains cannot be had; the message says how to get them.
    """
    views = list(dict.fromkeys(m.view for m in metrics if is_graded(m)))
    if not views:
        return split, {}, []
    why: UsageError | MissingPackage | None = None
    source = None  # where the captions come from, when this is not the split by its name
    if captions is not None:
        source = f"--captions {shlex.quote(str(captions))}"
    elif split.name == "custom" and split.captions is None:
        source = "--split coco-5k"  # the only captions that are known to a custom split, by their ids
    try:
        split = with_captions(split, captions, rows[1])
    except (UsageError, MissingPackage) as error:
        why = error
    if split.name == "custom":
        # Ranks of rows: of images that a file repeats for every caption other files have one row.
        image, caption = (None if r is None else np.argsort(np.argsort(r)) for r in rows)
        split = replace(split, places=(image, caption))
    held: dict[str, Gains] = {}
    notes = []
    for view in views:
        if view == "matrix" and view not in chosen:
            raise UsageError("the view 'matrix' needs a file of gains", fix="give it with --gains FILE.npy")
        try:
            held[view] = load_gains(chosen.get(view) or Spec(view, None, {}), split, progress)
        except NotParsed as error:
            if source is None:
                raise
            raise error.about(source) from None
        except BadInput:
            # Without captions the reason why there are none says more than that they are missing.
            if why is not None and split.captions is None and GAINS[view].needs_captions:
                raise why from None
            raise
        notes += [note if note.startswith(f"{view}: ") else f"{view}: {note}" for note in held[view].notes]
    if DEFAULT_GAINS in held and not chosen:
        settings = ", ".join(f"{k} {v}" for k, v in held[DEFAULT_GAINS].settings.items())
        notes.insert(0, f"graded relevance is CIDEr-D ({settings}); --gains chooses another")
    return split, held, notes


def results(found: Found, split: Split) -> tuple[dict[tuple[str, Direction | None], Result], list[str]]:
    """Results with per-query values, and warnings about metrics without a value and galleries smaller than k."""
    out: dict[tuple[str, Direction | None], Result] = {}
    lost: list[str] = []
    cut: dict[int, list[str]] = {}
    names: dict[tuple[Direction, int], Ids] = {}  # of the queries: the same array for many metrics
    for (metric, direction), got in found.items():
        if got.undefined == len(got.values):
            lost.append(f"{metric} ({direction})")
            continue
        out[str(metric), direction] = _result(metric, direction, got, split, names)
        if max(metric.k or 0, extended(metric)) > got.gallery:
            cut.setdefault(got.gallery, []).append(f"{metric} ({direction})")
    warnings = [
        f"{', '.join(names)}: {_asked(names)} larger than a gallery of {size:,}; the whole gallery is looked at"
        for size, names in cut.items()
    ]
    if lost:
        warnings.append(f"{', '.join(lost)}: undefined for every query, left out")
    return out, warnings


def _asked(names: Sequence[str]) -> str:
    return "k, or the extended ground truth, is" if any("[" in name for name in names) else "k is"


def _result(
    metric: Metric, direction: Direction, got: GradedValues, split: Split, names: dict[tuple[Direction, int], Ids]
) -> Result:
    known = ~np.isnan(got.values)
    key = direction, id(got.queries)
    if key not in names:
        names[key] = split.ids("image" if direction == "i2t" else "caption")[got.queries]
    return Result(
        str(metric),
        direction,
        got.mean,
        int(known.sum()),
        got.undefined,
        None,
        metric.family.unit,
        metric.family.higher_is_better,
        names[key] if known.all() else names[key][known],
        got.values if known.all() else got.values[known],
    )


def unknown_ties(metrics: Sequence[Metric], directions: Sequence[Direction]) -> list[str]:
    """What should be said when lists come without scores in some directions: ties are no ties then."""
    named = [str(m) for m in metrics if "tied" in needs(m)]
    if not named or not directions:
        return []
    return [
        f"{', '.join(named)}: the lists of {' and '.join(directions)} have no scores, so no two items are tied; values "
        "from embeddings, scores or a TREC run differ where scores are equal"
    ]


def identities(measured: Measured) -> dict[str, str]:
    """For a signature: view -> every setting that can move a digit, and which captions they are of."""
    # A file goes by its content: a colleague's copy may have another name.
    fields = {
        view: ",".join(f"{k}={v}" for k, v in held.settings.items() if k != "file")
        for view, held in measured.gains.items()
    }
    texts = measured.split.captions
    if texts is not None and set(fields) - {"matrix"}:
        fields["captions"] = "#" + hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return fields
