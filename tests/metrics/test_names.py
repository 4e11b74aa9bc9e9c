"""The grammar of metric names, ``[view:]Name[@k]``, and the messages for names and options that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests.messages import Refuses
from vsebench.errors import USAGE, UsageError
from vsebench.evaluation.plan import choose_metrics
from vsebench.metrics import Metric, families, parse
from vsebench.metrics.suites import SUITES, default_words, expand, members
from vsebench.relevance import judgements, judgements_of
from vsebench.types import DIRECTIONS, TestSet

BINARY = [f.template for f in families(graded=False)]


@given(st.sampled_from(BINARY), st.sampled_from(sorted(judgements())), st.integers(1, 10**18 - 1))
def test_any_name_parses_back(template: str, view: str, k: int) -> None:
    m = Metric(template, k if "{k}" in template else None, view)
    assert parse(str(m)) == m
    assert hash(parse(str(m))) == hash(m)


@given(st.text(max_size=12) | st.text("RMecallAPSum-@:015. {}k", max_size=9))
def test_any_other_text_is_refused_with_a_fix(text: str) -> None:
    try:
        m = parse(text)
    except UsageError as error:
        assert error.fix
    else:
        assert parse(str(m)) == m


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("R@1", "R@1"), ("gt:R@1", "R@1"), ("RV@5", "R@5"), ("eccv:RV@5", "eccv:R@5"), (" R-P ", "R-P"),
        ("R@007", "R@7"), ("cxc:mAP@R", "cxc:mAP@R"), ("1k:RSum", "1k:RSum"), ("R@5", "R@5"),
        # capitals
        ("rsum", "RSum"), ("R-p", "R-P"), ("r@1", "R@1"), ("map@r", "mAP@R"), ("ECCV:map@R", "eccv:mAP@R"),
        ("ncs@10", "cider:NCS@10"), ("spice:ndcg[gt=out]@5", "spice:nDCG[gt=out]@5"), ("nsum(n)", "cider:NsumN"),
        # graded
        ("CS@100", "cider:CS@100"), ("spice:CS[tau=a]@100", "spice:CS[tau=a]@100"), ("cider:R@5", "cider:R@5"),
        ("cider:CS[tau=b,gt=in]@100", "cider:CS@100"), ("SR[unit=image,m=03]@5", "cider:SR[m=3,unit=image]@5"),
        ("R[m=3]@5", "cider:R[m=3]@5"), ("Kendall", "cider:Kendall"), ("cider:Nsum(N)", "cider:NsumN"),
        ("Nsum[on=block]", "cider:Nsum[on=block]"),
        # of other packages
        ("hit_rate@1", "R@1"), ("Success@5", "R@5"), ("recip_rank", "MRR"), ("map_cut.10", "mAP@10"), ("P_5", "P@5"),
        ("ndcg_at_10", "gt:nDCG@10"), ("mine:ndcg_cut_5", "mine:nDCG@5"), ("r_cap_at_5", "Recall[over=min]@5"),
        ("ndcg_burges.3", "gt:nDCG[gain=exp]@3"), ("mrr_at_10", "MRR@10"), ("Rprec", "R-P"),
        ("recall_100", "Recall@100"), ("hit_rate_at_5", "R@5"), ("precision_at_3", "P@3"),
    ],
)  # fmt: skip
def test_other_ways_to_write_a_name(text: str, name: str) -> None:
    assert str(parse(text)) == name


def test_the_parts_of_a_name() -> None:
    m = parse("eccv:Recall@5")
    assert (m.template, m.k, m.view, m.name) == ("Recall@{k}", 5, "eccv", "Recall@5")
    assert parse("1k:RSum").parts() == (parse("1k:R@1"), parse("1k:R@5"), parse("1k:R@10"))
    assert parse("R@1") != parse("Recall@1")


REFUSED = (
    *(f"R@{k}" for k in ("0", "00", "-1", "1.5", "1e3", "k", "{k}", "١", "+1", "1_0", "1" * 19)),
    "", " ", "R@", "@1", "a:b:c", "R @1", "R@1@2", ":R@1", "eccv:",  # no names at all
    "rsun", "recal@5", "med", "bleu",  # close matches, and none
    "R", "Recall", "RV", "eccv:R",  # without a k
    "cider:R-P", "cider:MedR", "cider:mAP@R", "spice:MRR",  # a metric of positives in a view of gains
)  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_names_that_are_refused(text: str, refuses: Refuses) -> None:
    assert refuses(UsageError, parse, text).exit_code == USAGE


def test_suites_in_a_view() -> None:
    assert members("CS") == ("cider:CS@100", "cider:CS@200", "cider:CS@1000")
    assert members("spice:sr") == ("spice:SR@1", "spice:SR@5", "spice:SR@10")
    assert members("ncs", "wmd") == tuple(f"wmd:{name}" for name in SUITES["ncs"].metrics)
    assert members("ECCV") == SUITES["eccv"].metrics
    assert members("eccv:recall") == tuple(f"eccv:{name}" for name in SUITES["recall"].metrics)
    assert members("eccv:cxc") is None and members("all") is None
    assert [str(m) for m in expand("mine", ["gt", "mine"])] == ["mine:R@1", "mine:R-P", "mine:mAP@R"]
    assert all(name == suite.name and suite.meaning and suite.metrics for name, suite in SUITES.items())


def test_lists_of_names() -> None:
    views = ["gt", "eccv"]
    assert [str(m) for m in expand("R@1, eccv ,R@1,", views)] == ["R@1", *SUITES["eccv"].metrics]
    assert expand(["R@1", "RECALL"], views)[:2] == [parse("R@1"), parse("R@5")]
    metrics = expand("all", views)
    assert {m.view for m in metrics} == {"gt", "eccv"}
    assert {m.template for m in metrics} == set(BINARY) - {"mR"}
    assert len(metrics) == len(set(metrics))
    assert default_words(["gt", "1k", "eccv"]) == ["recall", "1k", "eccv"]


@pytest.mark.parametrize("words", ["", " , ", "ecv", "R@1,eccv:cs", "R@1,R@0"])
def test_lists_that_are_refused(words: str, refuses: Refuses) -> None:
    refuses(UsageError, expand, words, ["gt"])


@pytest.mark.parametrize("word", ["eccv", "cxc:R@5", "1k"])
def test_views_that_a_split_does_not_have(word: str, refuses: Refuses) -> None:
    refuses(UsageError, vsebench.evaluate, np.eye(3), np.eye(3), captions_per_image=1, metrics=word)


def test_a_sum_needs_both_directions(refuses: Refuses) -> None:
    split = TestSet.captioned("custom", np.arange(3), np.arange(3), np.arange(3))
    refuses(UsageError, choose_metrics, "RSum", split=split, directions=["i2t"], judgements=judgements_of(split))
    alone = choose_metrics("recall", split=split, directions=["i2t"], judgements=judgements_of(split))
    assert "RSum" not in [str(m) for m in alone]
    both = choose_metrics("RSum,R@1", split=split, directions=DIRECTIONS, judgements=judgements_of(split))
    assert [str(m) for m in both] == ["RSum", "R@1"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("similarity", "euclid"), ("no_positive", "drop"), ("short_lists", "no"), ("ties", "meen"),
        ("direction", "i2i"), ("direction", ""),
    ],
)  # fmt: skip
def test_options_that_are_refused(option: str, value: object, refuses: Refuses) -> None:
    refuses(UsageError, vsebench.evaluate, np.eye(3), np.eye(3), captions_per_image=1, **{option: value})  # type: ignore[arg-type]
