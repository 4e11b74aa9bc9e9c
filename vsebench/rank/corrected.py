"""Corrections of hubness: the scores of items that are near to many queries are lowered.

- ``csls``: cross-domain similarity local scaling (Conneau et al., 2018): from a score one half of the mean score of
  the item with its k nearest queries is taken. The other half of the published rule, the mean of the query with its k
  nearest items, does not change the order of the items.
- ``qb``: querybank normalisation with the dynamic inverted softmax (Bogolin et al., 2022): from a score
  ``log(sum_b exp(beta s(b, g))) / beta`` over the queries b of the bank is taken, for queries whose first item is the
  first item of a query of the bank; the others keep their order.
- ``dsl``: dual softmax (Cheng et al., 2021): a score times ``exp(beta s(q, g)) / sum_b exp(beta s(b, g))``.

Each reads the scores of a bank of queries with the gallery. If the test queries are the bank, a correction is
transductive: the ranking of a query depends on the other test queries.

The first two are offsets of the items, so vectors stay vectors (``sums``); the third is a matrix in memory.

Each function takes the scores of the queries (rows) with the gallery (columns), the scores of the bank's queries with
the same gallery, and its settings; the defaults are from the released code of the papers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import UsageError, printable
from ..files.regular import expanded
from ..memory import require
from ..numeric.parallel import default_threads
from ..options import spell
from ..types import Float, Tops
from .order import top_lists
from .scorers import Matrix, Scorer
from .sums import blocks, weighted_sum

NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)
MIN_SETTING = 1e-6  # of settings; one over it is the most
DIGITS = 12  # decimals of logarithms, and of offsets of scores up to 1: further ones depend on the machine
OFFSET_TOLERANCE = 1e-12  # offsets of scores up to 1 that are closer belong to copies of an item, which tie


def csls(scorer: Scorer, bank: Scorer, threads: int | None = None, *, k: int = 10) -> Scorer:
    """``s(q, g) - r(g) / 2``, where ``r`` is the mean of the k largest scores of an item with the bank."""
    top = top_lists(bank.T, k, threads=threads or default_threads())
    return _lowered(scorer, np.ones(scorer.shape[0]), top.scores.mean(axis=1) / 2)


def qb(scorer: Scorer, bank: Scorer, threads: int | None = None, *, beta: float = 20, k: int = 1) -> Scorer:
    """``s(q, g) - a(q) log(sum_b exp(beta s(b, g))) / beta``: the dynamic inverted softmax, as an order.

    ``a`` is 1 if the first item of a query is among the first k of a query of the bank, else 0.
    """
    threads = threads or default_threads()
    found, first = top_lists(bank, k, threads=threads), top_lists(scorer, 1, threads=threads)
    active = np.isin(first.entries, found.entries)
    return _lowered(scorer, active, log_sums(bank, beta) / beta)


def _lowered(scorer: Scorer, queries: npt.ArrayLike, gallery: Float) -> Scorer:
    """Scores minus the product of a factor of the query, (query,), and one of the item, (gallery,)."""
    return weighted_sum([scorer], [1.0], [(queries, -machine_independent(gallery, scorer.magnitude))])


def machine_independent(values: Float, size: float) -> Float:
    """(item,) offsets, rounded so that they do not depend on the machine.

    They have ``DIGITS`` decimals for scores up to ``size`` 1, and proportional decimals for other sizes: if scores are
    multiplied by a power of two, offsets are too.
    """
    size = max(size, float(np.abs(values).max(initial=0)))
    scale = 2.0 ** np.round(np.log2(size)) if size else 1.0
    values = values / scale
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.maximum.accumulate(
        np.where(np.diff(ordered, prepend=-np.inf) > OFFSET_TOLERANCE, np.arange(len(values)), 0)
    )
    out = np.empty(len(values))
    out[order] = np.round(ordered[first], DIGITS)
    return out * scale


def dsl(scorer: Scorer, bank: Scorer, threads: int | None = None, *, beta: float = 100) -> Scorer:
    """``s(q, g) exp(beta s(q, g)) / sum_b exp(beta s(b, g))`` as an order; ``with_scores`` gives the scores.

    Its logarithm is mapped to numbers in the same order, as the numbers themselves are below or above all floats where
    beta times a score is in the hundreds. Logarithms have ``DIGITS`` decimals, which all processors agree on.

    Raises:
        BadInput: the matrix does not fit into memory.
    """
    require(8 * scorer.shape[0] * scorer.shape[1])
    out, prior = np.empty(scorer.shape), machine_independent(log_sums(bank, beta) / beta, scorer.magnitude) * beta
    for start, block in blocks(scorer):
        with np.errstate(divide="ignore"):
            log = np.round(np.log(np.abs(block)), DIGITS) + (beta * block - prior)
        size = np.where(log < 0, 1 / (1 - np.minimum(log, 0)), 1 + log)
        out[start : start + len(block)] = np.sign(block) * size
    return Matrix(out, mapped_logarithms=True)


def with_scores(scorer: Scorer, found: Tops) -> Tops:
    """Lists with the scores of a correction, if the scorer ranks by other numbers."""
    if not (isinstance(scorer, Matrix) and scorer.mapped_logarithms):
        return found
    size = np.abs(found.scores)
    with np.errstate(divide="ignore", over="ignore"):
        value = np.exp(np.where(size < 1, 1 - 1 / size, size - 1))
    mantissa, exponent = np.frexp(value)  # to 40 bits: behind them the exponential depends on the processor
    value = np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40)
    return replace(found, scored=(np.sign(found.scores) * value).ravel())


def log_sums(bank: Scorer, beta: float) -> Float:
    """(gallery,) float64 ``log sum_b exp(beta s(b, g))`` over the queries of a bank."""
    largest, total = np.full(bank.shape[1], -np.inf), np.zeros(bank.shape[1])
    for _, block in blocks(bank):
        block *= beta
        above = np.maximum(largest, block.max(axis=0))
        total = total * np.exp(largest - above) + np.exp(block - above).sum(axis=0)
        largest = above
    return largest + np.log(total)


RULES: Mapping[str, Any] = {rule.__name__: rule for rule in (csls, dsl, qb)}
GRAMMAR = "write csls:k=10, dsl:beta=100 or qb:beta=20, a bank after the name: qb:BANK.npz:beta=20"


class Correction(NamedTuple):
    """How scores are corrected."""

    rule: str  # of ``RULES``
    settings: Mapping[str, float]  # ``k``, ``beta``
    bank: Path | None  # the file of other queries; None for the test queries themselves
    rows: str | None  # of a bank of scores: ``images`` or ``texts``; None if its shape or ids tell


def parse(text: str) -> Correction:
    """The correction of ``RULE[:BANK][:SETTING=NUMBER...]``; raises UsageError for another form."""
    rule, *parts = text.split(":")
    refused = UsageError(f"{spell('normalise')} is '{printable(text[:80])}'", fix=GRAMMAR)
    if rule not in RULES or "" in parts:
        raise refused
    settings: dict[str, float] = dict(RULES[rule].__kwdefaults__)
    rows, named = None, list[str]()
    for part in parts:
        key, _, value = part.partition("=")
        if part in ("rows=images", "rows=texts"):
            rows = value
        elif key not in ("k", "beta"):
            named.append(part)
        else:
            number = float(value) if NUMBER.fullmatch(value) else 0.0
            if key not in settings or not MIN_SETTING <= number <= 1 / MIN_SETTING or (key == "k" and number % 1):
                raise refused
            settings[key] = int(number) if key == "k" else number
    bank = expanded(":".join(named)) if named else None
    # an unknown setting, or a number without its name, and no file
    odd = bank is not None and not bank.exists() and any("=" in x or x.replace(".", "").isdigit() for x in named)
    if odd or (bank is None and rows is not None):
        raise refused
    return Correction(rule, settings, bank, rows)
