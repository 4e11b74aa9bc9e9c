"""What the measured systems say about the metrics.

The true order of two systems is that of their corruptions (``Corruption.better_than``), which no relevance enters. Tau
is (pairs in the true order - pairs in the opposite order) / pairs that have a true order; ties of a metric are neither.
Intervals are from bootstrap samples of the images, the same for all systems. Resamples swap systems that are close, so
that their taus are below the value, and percentiles of them can leave it out: only their standard deviation is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from studies.validity.measure import Measured
from studies.validity.systems import FAMILIES, MIXED, System
from vsebench.types import Bool, Float, Int

Z_LEVEL = 1.959964  # normal quantile of a two-sided test at 5 %
TINY = 1e-12  # in place of a standard error of 0
Z = Z_LEVEL + 0.841621  # and of a power of 80 %
ALL = "all"
EVEN = "even"  # the families that lose knowledge of all content equally
EVEN_FAMILIES = ("noise", "removed", "popularity", "hubness")
PLAIN = "plain"  # systems without the cue of the pairs and without the bias to vague captions
JUDGED_BY = "holds of ten"  # the quality that systems are judged by where one is needed
EQUAL = 0.005  # systems whose quality differs by less are equally good
Record = dict[str, Any]
Pairs = Int  # (2, pair) indices of systems; if the order matters, the first of a pair is truly better


def members(systems: tuple[System, ...]) -> dict[str, Bool]:
    """By family, and for the mixed systems: (system,) who belongs to it. The base belongs to every family."""
    family = np.array([s.family for s in systems])
    found = {name: (family == name) | (family == "base") for name in FAMILIES if name in family}
    return found | ({MIXED: family == MIXED} if MIXED in family else {})


def true_pairs(systems: tuple[System, ...]) -> dict[str, Pairs]:
    """By family, of mixed systems and of all: the pairs whose true order is known.

    Pairs of one strength have no order. Mixed systems are compared with those of any family.
    """
    corruptions = [s.corruption for s in systems]
    every = np.array([(a, b) for a, x in enumerate(corruptions) for b, y in enumerate(corruptions) if x.better_than(y)])
    better, worse = every = every.T
    groups = {}
    for name, inside in members(systems).items():
        chosen = inside[better] & inside[worse]
        if name == MIXED:
            chosen = (inside[better] | inside[worse]) & np.array([s.family != "base" for s in systems])[better]
        groups[name] = every[:, chosen]
    groups = {name: pairs for name, pairs in groups.items() if pairs.size}
    return {**groups, EVEN: np.hstack([groups[f] for f in EVEN_FAMILIES]), ALL: every}


def neighbours(systems: tuple[System, ...]) -> dict[str, Pairs]:
    """By family: systems of one seed whose strengths are next to each other; level 0 is the base."""
    place = {(s.family, s.level, s.seed): n for n, s in enumerate(systems)}
    groups = {}
    for family in FAMILIES:
        inside = [(n, s) for n, s in enumerate(systems) if s.family == family]
        before = [place[family if s.level > 1 else "base", s.level - 1, s.seed] for _, s in inside]
        if inside:
            groups[family] = np.array([before, [n for n, _ in inside]])
    return {**groups, EVEN: np.hstack([groups[f] for f in EVEN_FAMILIES])}


def all_pairs(systems: int) -> Pairs:
    """All pairs of so many systems, in no order of quality."""
    return np.stack(np.triu_indices(systems, 1))


def recovered(measured: Measured) -> Record:
    """``{metric: {direction: {family: [tau, low, high, tau on few images]}}}``; of qualities tau alone."""
    groups = true_pairs(measured.systems)
    out: Record = {}
    for k, (metric, direction) in enumerate(measured.keys):
        for name, pairs in groups.items():
            value, sample, small = (
                _signs(v[..., k], pairs).mean(axis=-1) for v in (measured.values, measured.samples, measured.small)
            )
            found = [*tau_interval(value, sample), float(small.mean())]
            out.setdefault(metric, {}).setdefault(direction, {})[name] = found
    for quality, values in measured.quality.items():
        taus = {name: [float(_signs(values, pairs).mean())] for name, pairs in groups.items()}
        out[f"quality: {quality}"] = {"both": taus}
    return out


def _signs(values: npt.NDArray[Any], pairs: Pairs) -> npt.NDArray[np.int8]:
    """(..., pair) 1 where the better system has the larger of (..., system) values, -1 where it has the smaller."""
    first, second = (values[..., at] for at in pairs)
    return np.asarray((first > second).astype(np.int8) - (first < second))


def tau_interval(value: float, samples: Float) -> list[float]:
    """A tau with its 95 % interval, which has it inside: normal on the scale of the arcsine.

    A tau is 2 p - 1 of the share p of the pairs in the true order; the arcsine has nearly the same variance for every
    share, and an end at -1 and 1.
    """
    middle, half = np.arcsin(value), Z_LEVEL * np.arcsin(np.clip(samples, -1, 1)).std()
    low, high = np.sin(np.clip([middle - half, middle + half], -np.pi / 2, np.pi / 2))
    return [float(x) for x in (value, min(low, value), max(high, value))]


def sizes_needed(measured: Measured) -> Record:
    """How many images tell neighbours apart, by metric (the mean of both directions) and family or ``even``.

    ``images``: how many a paired test at 5 % needs for a power of 80 %, from the median over the pairs of neighbours of
    the difference in standard errors, with the normal interval of that median; None if no number suffices, as the
    metric has them in the opposite order or equal. ``right``, ``wrong``: share of the pairs that all images tell apart,
    in the true and in the opposite order.
    """
    groups, out = neighbours(measured.systems), dict[str, Any]()
    for metric, k in measured.both.items():
        for name, (better, worse) in groups.items():
            value = measured.values[better, k] - measured.values[worse, k]
            samples = measured.samples[:, better, k].astype(np.float64) - measured.samples[:, worse, k]
            error = samples.std(axis=0)
            apart = np.maximum(error, TINY)
            middle, half = np.median(value / apart), Z_LEVEL * np.median(samples / apart, axis=1).std()
            needed = images_needed(np.array([middle, middle + half, middle - half]), np.ones(3), measured.images)
            clear = {"right": value > Z_LEVEL * error, "wrong": value < -Z_LEVEL * error}
            record = {"images": [float(n) if np.isfinite(n) else None for n in needed]}
            out.setdefault(metric, {})[name] = record | {key: float(found.mean()) for key, found in clear.items()}
    return out


def images_needed(difference: Float, error: Float, images: int) -> Float:
    """The images of a test set on which a paired test at 5 % finds a difference in 80 of 100 test sets.

    ``difference`` is positive in the true order (else infinity is returned), ``error`` its standard error with so many
    ``images``; it falls with the square root of their number.
    """
    with np.errstate(divide="ignore"):
        needed = images * (Z * error / np.where(difference > 0, difference, np.nan)) ** 2
    return np.asarray(np.where(np.isnan(needed), np.inf, needed))


def agreement_with_quality(measured: Measured) -> Record:
    """``{metric: {quality: {group: [tau, low, high]}}}``: tau-a over all pairs of systems of a group.

    Groups are ``all``, ``plain`` and those of ``members``; pairs of one strength, which have no true order, count too.
    """
    systems = measured.systems
    first, second = pairs = all_pairs(len(systems))
    plain = np.array([not (s.corruption.pair or s.corruption.vague) for s in systems])
    groups = {ALL: np.ones(len(systems), bool), PLAIN: plain, **members(systems)}
    where = {name: np.flatnonzero(inside[first] & inside[second]) for name, inside in groups.items()}
    order = {name: _signs(values, pairs).astype(np.float32) for name, values in measured.quality.items()}
    out: Record = {}
    for metric, k in measured.both.items():
        value, sample = _signs(measured.values[:, k], pairs), _signs(measured.samples[..., k], pairs)
        for name, at in where.items():
            chosen = sample[:, at].astype(np.float32)
            for quality, sign in order.items():
                found = tau_interval((value[at] * sign[at]).mean(), chosen @ sign[at] / len(at))
                out.setdefault(metric, {}).setdefault(quality, {})[name] = found
    return out


def agreement_of(measured: Measured, *metrics: str) -> Record:
    """How two metrics order all pairs of systems: ``tau`` with its interval.

    ``clear``: share of the pairs that both tell apart (at 5 %); ``opposite``: of the clear ones in opposite orders.
    """
    a, b = pairs = all_pairs(len(measured.systems))
    value, samples, clear = np.int8(1), np.int8(1), np.ones(len(a), bool)
    for k in (measured.both[name] for name in metrics):
        value = value * _signs(measured.values[:, k], pairs)
        samples = samples * _signs(measured.samples[..., k], pairs)
        error = (measured.samples[:, a, k] - measured.samples[:, b, k]).std(axis=0)
        clear &= np.abs(measured.values[a, k] - measured.values[b, k]) > Z_LEVEL * error
    shares = {"clear": float(clear.mean()), "opposite": float((clear & (value < 0)).mean())}
    return {"tau": tau_interval(value.mean(), samples.mean(axis=1)), **shares, "pairs": len(a)}


def of_equal_quality(measured: Measured, metrics: Sequence[str]) -> Record:
    """How far a metric separates ``pairs`` of systems that are equally good: ``JUDGED_BY`` differs by less than EQUAL.

    By metric the median, 95th percentile and maximum of the differences, and the deviation over all systems.
    """
    quality = measured.quality[JUDGED_BY]
    a, b = all_pairs(len(quality))
    equal = np.abs(quality[a] - quality[b]) < EQUAL
    a, b = a[equal], b[equal]
    out: Record = {"pairs": len(a)}
    for name in metrics:
        values = measured.values[:, measured.both[name]]
        found = np.quantile(np.abs(values[a] - values[b]), [0.5, 0.95, 1.0]) if len(a) else np.full(3, np.nan)
        out[f"{name} both"] = {"apart": found.tolist(), "deviation": float(values.std())}
    return out
