"""The table of the kinds of gains, specifications such as ``cider:tokens=whitespace``, and loading gains.

Add a kind by declaring it and naming the declaration in ``GAINS``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import BadInput, UsageError
from ...options import spell
from ...registry import unknown
from ...types import Split
from ..gains import Gains, Progress, Spec
from .declarations import BOW, CIDER, COARSE, HOLDS, MATCH, MATRIX, SENTENCE, SPICE, WMD
from .declare import GainsKind

GAINS: dict[str, GainsKind] = {
    kind.name: kind for kind in (CIDER, SPICE, SENTENCE, BOW, WMD, HOLDS, MATCH, COARSE, MATRIX)
}
LABELS = "labels"  # the view of gains made from labels of the items, see ``vsebench.unimodal``
NAMED = [kind.name for kind in GAINS.values() if not kind.endings]  # specified by name, not by a file


def is_gains(view: str) -> bool:
    """Whether a view in the name of a metric is a kind of gains; every other one is a set of judgements."""
    return view in GAINS or view == LABELS


def kind_of(head: str) -> GainsKind | None:
    """The kind that the first part of a specification names: the name of a kind, or a file of gains; else None."""
    for kind in GAINS.values():
        if head.endswith(kind.endings) if kind.endings else head == kind.name:
            return kind
    return None


def parse_spec(text: str) -> Spec:
    """The gains that a specification ``KIND[:ARGUMENT][:key=value...]`` or ``FILE[:key=value...]`` names.

    Raises:
        UsageError: an unknown kind (close matches are named), an argument or a setting that the kind does not have, a
            value that the setting does not take, or a setting given twice.
    """
    head, *parts = text.strip().split(":")
    kind = kind_of(head)
    if kind is None:
        raise unknown("graded relevance", head, NAMED)
    words = [head] if kind.endings else []
    if kind.nested:
        parts, nested = _own_settings(kind, parts)
        words += nested
    settings: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in kind.settings:
            if kind.endings or (equals and "/" not in key and "." not in key):
                if not kind.settings:
                    raise UsageError(f"{head} has no settings, so none called '{key}'", fix=f"write {head} alone")
                raise unknown(f"setting of {kind.name}", key, kind.settings)
            words.append(part)
            continue
        kind.value({key: value}, key)
        if key in settings:
            raise UsageError(f"{kind.name}: {key} is given twice: {settings[key]} and {value}", fix="give it once")
        settings[key] = value
    argument = ":".join(words) or None
    if argument is not None and not kind.argument and not kind.endings:
        fix = f"settings are {', '.join(kind.settings)}" if kind.settings else f"write {head} alone"
        raise UsageError(f"{head} takes no '{argument}'", fix=fix)
    return Spec(kind.name, argument, settings)


def _own_settings(kind: GainsKind, parts: list[str]) -> tuple[list[str], list[str]]:
    """The settings of a nested kind itself, and the rest: the parts of the specifications that it combines."""
    if parts and parts[-1].startswith("negative="):  # at the end it is a setting of ``coarse``
        parts = [parts[-1], *parts[:-1]]
    end = next((at for at, part in enumerate(parts) if part.partition("=")[0] not in kind.settings), len(parts))
    return parts[:end], parts[end:]


def load_gains(text: str | Spec, split: Split, progress: Progress | None = None) -> Gains:
    """The gains of a split.

    Args:
        text: a specification: ``cider``, ``spice``, ``sentence:NAME``, ``bow:FILE``, ``wmd:FILE``, ``gains.npy``.
        split: with its captions, unless the kind can do without.
        progress: called with the fraction of the preparation that is done.

    Raises:
        UsageError: an unknown kind or setting.
        BadInput: the split has no captions, or a file is damaged.
        MissingPackage: something has to be installed or built first; the message has the command.
    """
    spec = parse_spec(text) if isinstance(text, str) else text
    kind = GAINS[spec.kind]
    settings = {key: kind.value(spec.settings, key) for key in kind.settings}
    if kind.needs_captions and split.captions is None:
        what = f"{kind.name} needs the captions of split '{split.name}', which are not known"
        raise BadInput(what, fix=f"give them with {spell('captions', 'FILE')}")
    gains = kind.loader()(split, spec.argument, settings, progress)
    without = np.bincount(split.owners, minlength=len(split.image_ids)) == 0
    if kind.compares_captions and without.any():  # an image without a caption is a candidate alone
        gains = replace(gains, no_query={"i2t": without, **gains.no_query})
    return gains.without_negative() if settings.get("negative") == "zero" else gains
