"""Names and facts of the graded metrics, read from the table of metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graded_worlds import large_world, measured, spec_of
from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.metrics import Metric, families, metric, parse
from vsebench.metrics.declare import known_names, separate
from vsebench.metrics.values import values
from vsebench.types import BOTH

GRADED = families(graded=True)
SINGLE = [m for m in map(parse, (f"cider:{n}" for n in known_names(graded=True))) if m.family.compute is not None]
SUMS = [m for m in map(parse, (f"cider:{n}" for n in known_names(graded=True))) if m.family.compute is None]
CHOICES = [
    Metric(m.template, m.k, "cider", ((key, word),))
    for m in SINGLE
    for key, option in m.family.options.items()
    for word in (*option.words, *(["3"] * option.number))
    if key != "on"
]


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    """Any graded metric with any options."""
    family = draw(st.sampled_from(GRADED))
    k = draw(st.integers(family.least_k, 10**6)) if family.takes_k else None
    options = []
    for key, option in family.options.items():
        words: list[Any] = list(option.words)
        if option.number:
            words.append(str(draw(st.integers(1, 99))))
        if draw(st.booleans()):
            options.append((key, draw(st.sampled_from(words))))
    view = draw(st.sampled_from(["cider", "spice", "sentence", "matrix", "wmd"]))
    return Metric(family.template, k, view, tuple(draw(st.permutations(options))))


@given(metrics())
def test_any_name_parses_back(m: Metric) -> None:
    assert parse(str(m)) == m and str(parse(str(m))) == str(m) and hash(parse(str(m))) == hash(m)
    assert separate(f"R@1,{m}, gt:MedR") == ["R@1", str(m), "gt:MedR"]


def test_parts_of_a_sum_have_its_options() -> None:
    assert [str(p) for p in parse("Nsum").parts()] == ["cider:NCS@1", "cider:NCS@5", "cider:NCS@10"]
    parts = [f"spice:NCS[gt=out,on=folds]@{k}" for k in (1, 5, 10)]
    assert [str(p) for p in parse("spice:NsumN[on=folds]").parts()] == parts


def test_a_graded_name_in_a_graded_view_is_the_graded_metric() -> None:
    assert parse("cider:R@5").family is not parse("R@5").family
    assert parse("eccv:R@5").family is parse("R@5").family
    assert parse("cider:RSum").family is parse("RSum").family  # there is no graded one; the view is refused later


@pytest.mark.parametrize(
    "text",
    [
        "CS@1", "CS@x", "gt:CS@100", "eccv:Kendall", "CS", "CS[tau=d]@5", "CS[tua=a]@5", "SR[m=0]@5", "CS[tau]@5",
        "CS[]@5", "C[m=1,m=1]@5", "CS[tau=a,tau=b]@10", "gt:MedR[m=1]", "C@5[m=1]",
    ],
)  # fmt: skip
def test_what_is_refused(text: str, refuses: Refuses) -> None:
    refuses(UsageError, parse, text)


@pytest.mark.parametrize("m", SINGLE + CHOICES, ids=str)
def test_range_and_oracle(m: Metric) -> None:
    world = large_world(14, 3, seed=3, lowest=1)
    world.gains /= 2  # at most 1, and exact in float32
    if "gain=exp" in str(m):
        world.gains = np.ceil(4 * world.gains)
    found = measured(world, str(m))
    for side in BOTH:
        value = found[m, side].values
        known = value[~np.isnan(value)]
        assert len(known) and (known >= m.family.low).all() and (known <= (m.family.high or np.inf)).all()
        assert value.tolist() == pytest.approx(list(world.values(spec_of(m), side).values()), rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("m", [m for m in SINGLE if m.template != "MLD@{k}"], ids=str)
def test_the_best_possible_ranking(m: Metric) -> None:
    world = large_world(14, 3, seed=5)
    world.gains[:] = np.random.default_rng(5).permutation(world.gains.size).reshape(world.gains.shape) + 1
    world.scores[:] = world.gains
    for found in measured(world, str(m)).values():
        want = min(m.k or 1, 5) / 5 if m.template == "SR@{k}" else 1.0
        assert found.values.tolist() == pytest.approx([want] * len(found.values), rel=1e-12)


@pytest.mark.usefixtures("new_metrics")
def test_declarations_that_are_refused(refuses: Refuses) -> None:
    def unknown(gains: Any, colour: Any) -> Any:
        return gains

    refuses(UsageError, metric("Colour@{k}", formula="x", cite=("x",)), unknown)
    assert families(graded=True) == GRADED


@pytest.mark.parametrize("m", SUMS, ids=str)
def test_a_sum_has_no_value_for_a_query(m: Metric, refuses: Refuses) -> None:
    refuses(UsageError, values, [m], None)  # type: ignore[arg-type]
