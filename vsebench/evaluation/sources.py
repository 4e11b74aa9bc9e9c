"""The sources of relevance of an evaluation: loading them, and the metrics that they allow."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import BadInput, MissingPackage, UsageError
from ..files.pairs import Pairs
from ..files.regular import expanded
from ..files.sniff import sniff
from ..graded.rankings import pseudo_positives
from ..log import about, note
from ..metrics.declare import DEFAULT_GAINS, Metric
from ..metrics.values import without_negative
from ..options import spell
from ..relevance import own
from ..relevance.gains import Gains, Spec
from ..relevance.matrix import of_array
from ..relevance.sources import SOURCES, Source, load_gains
from ..relevance.spice.file import NotParsed
from ..sets import placing
from ..sets.captions import Captions, check_file, is_file, with_captions, without_ids
from ..types import Direction, Split


def load_judgements(
    chosen: Mapping[str, Sequence[Spec]], level: float, split: Split, complete: Split | None = None,
    pairs: Mapping[str, Sequence[Pairs]] | None = None,
) -> dict[str, Source]:  # fmt: skip
    """The judgements of the user, over the items of a split.

    Args:
        chosen: the parts of each by name.
        level: the smallest grade of a positive.
        split: what is evaluated.
        complete: the split of which ``split`` is a part, if it is one: what the judgements are of.
        pairs: those that have been read, by name.

    Raises:
        UsageError: a split of which only folds are ranked; another form.
        BadInput, MissingPackage: the judgements cannot be read, or are not of this split.
    """
    if chosen and split.in_folds:
        what = f"split '{split.name}' ranks folds, and judgements of one's own are of complete galleries"
        raise UsageError(what, fix=f"use {spell('split', 'coco-5k')}")
    found = {}
    for name, specs in chosen.items():
        where = " and ".join(spec.path.name for spec in specs if spec.path is not None) or "memory"
        if known := (pairs or {}).get(name):
            read = [own.of_read(name, one, split) for one in known]
        else:
            read = [one for spec in specs for one in own.read(spec, complete or split)]
        both = own.complete(read, level, where)
        both = both if complete is None else own.within(both, complete, split)
        found[name] = own.source(both)
    return found


def suits(metric: Metric, gains: Mapping[str, Spec | None]) -> bool:
    """Whether a graded metric is defined with the gains of its view, by what is known before they are loaded.

    Mean label distance needs gains made from a distance, and ratios of gains need gains that cannot be negative.
    """
    kind = SOURCES.get(metric.view)
    if kind is None or kind.grades is not None:  # judgements
        return True
    if metric.unit == "distance":
        return kind.from_distance
    spec = gains.get(metric.view)
    if spec is not None and spec.settings.get("negative") == "zero":
        return True
    lowest = metric.family.lowest_gain
    return lowest is None or bool(kind.endings) or (kind.low is not None and kind.low >= lowest)


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
) -> list[Metric]:
    """The metrics that the gains allow; notes are about the others and about gains that no metric reads.

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
            where = spec.argument if spec and SOURCES[m.view].endings else None
            raise BadInput(f"{m}: {why[0]}", where=where, fix=why[1])
        else:
            lost.setdefault(why[0], []).append(str(m))
    note(*(f"{', '.join(names)} left out: {why}" for why, names in lost.items()), weight="result")
    idle = [view for view in chosen if view not in {m.view for m in metrics}]
    for path in (chosen[k].argument for k in idle if SOURCES[k].endings):
        if path is not None:
            sniff(expanded(path))  # a wrong path is an error even where it is not read
    if idle:
        note(f"{spell('gains', ', '.join(idle))}: no metric uses it; write the view in front, as in {idle[0]}:cs")
    return kept


def load_gains_of(
    metrics: Sequence[Metric],
    chosen: Mapping[str, Spec],
    judgements: Mapping[str, Source],
    split: Split,
    captions: Captions | None,
) -> tuple[Split, dict[str, Gains]]:
    """The split with its captions, and the gains of every graded metric by view.

    Args:
        metrics: what will be measured.
        chosen: by view; a kind that is not in it is loaded with its defaults.
        judgements: those of the split, which are gains of the metrics in their view.
        split: with or without captions.
        captions: a file of captions, a list of them, or None.

    Raises:
        BadInput, UsageError, MissingPackage: captions or gains are missing, with the command that installs them.
    """
    kinds = list(dict.fromkeys(m.view for m in metrics if m.graded))
    if not kinds:
        if captions is None:
            return split, {}
        if is_file(captions):
            check_file(Path(captions))  # a wrong path is an error even where it is not read
        note(f"{spell('captions')}: no metric uses them")
        return split, {}
    why: UsageError | MissingPackage | None = None
    source = _option(split, captions)
    try:
        split = with_captions(split, captions)
    except (UsageError, MissingPackage) as error:
        why = error
    found: dict[str, Gains] = {}
    if captions is not None and why is None and without_ids(captions):
        note(placing.order_note("captions", ["caption"], split))
    for kind in kinds:
        if kind in judgements:
            found[kind] = judgements[kind].gains(split, Spec(kind, None, {}))
            continue
        if SOURCES[kind].endings and kind not in chosen:
            what = f"the view '{kind}' needs a file of gains"
            raise UsageError(what, fix=f"give it with {spell('gains', 'FILE.npy')}")
        try:
            spec = chosen.get(kind) or Spec(kind, None, {})
            if spec.values is None:
                found[kind] = load_gains(spec, split)
            else:
                with about(kind):
                    found[kind] = of_array(split, spec.values)
        except NotParsed as error:
            if source is None:
                raise
            raise error.about(source) from None
        except BadInput:
            # Why there are no captions is more useful than that they are missing.
            if why is not None and split.captions is None and SOURCES[kind].captions == "needed":
                raise why from None
            raise
        if kind == DEFAULT_GAINS and not chosen:
            settings = ", ".join(f"{k} {v}" for k, v in found[kind].settings.items())
            note(f"graded relevance is CIDEr-D ({settings}); {spell('gains')} chooses another")
    return split, found


def _option(split: Split, captions: Captions | None) -> str | None:
    """The option of a command that the captions come from, when this is not the split by its name."""
    if captions is not None:
        return f"--captions {shlex.quote(str(captions)) if is_file(captions) else 'FILE'}"
    if split.name == "custom" and split.captions is None:
        return "--split coco-5k"  # the only captions that can be found by the ids of a custom split
    return None


def note_unknown_ties(metrics: Sequence[Metric], directions: Sequence[Direction]) -> None:
    """Note metrics that read ties, where retrieved lists of some directions have no scores."""
    named = [str(m) for m in metrics if "tied" in m.family.needs]
    if named and directions:
        note(
            f"{', '.join(named)}: the lists of {' and '.join(directions)} have no scores, so no two items are tied; "
            "values from embeddings, scores or a TREC run differ where scores are equal"
        )
