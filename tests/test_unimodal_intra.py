"""CxC retrieval inside one modality: who is relevant, the ranks, and what the published evaluation counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracle_unimodal as oracle
from vsebench.errors import BadInput, UsageError
from vsebench.evaluation import intra
from vsebench.types import Modality, Split


@dataclass(frozen=True, eq=False)
class Rated:
    """Rated pairs."""

    task: str
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    where: Path = Path("ratings.csv")


def rated(task: str, *pairs: tuple[int, int, float]) -> Rated:
    """From (first, second, rating)."""
    table = np.array(pairs, float).reshape(-1, 3)
    return Rated(task, table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])


# Four images with 2, 1, 3 and 1 captions, in no order.
SPLIT = Split("custom", np.array([10, 20, 30, 40]), np.arange(100, 107), np.array([0, 2, 1, 0, 2, 2, 3]))


def lists(modality: Modality, judgements: Rated) -> dict[int, set[int]]:
    """Query -> relevant items."""
    relevance = intra.positives(SPLIT, modality, judgements)
    out: dict[int, set[int]] = {q: set() for q in relevance.queries.tolist()}
    for q, item in zip(relevance.queries[relevance.owner].tolist(), relevance.items.tolist(), strict=True):
        out[q].add(item)
    return out


def test_images_rated_at_least_two_and_a_half() -> None:
    ratings = rated("sis", (10, 20, 2.5), (10, 30, 2.4), (40, 20, 4.0), (30, 30, 5.0))
    assert lists("image", ratings) == {0: {1}, 1: {0, 3}, 3: {1}}
    relevance = intra.positives(SPLIT, "image", ratings)
    assert relevance.skipped == 1 and relevance.name == "cxc"
    assert intra.positives(SPLIT, "image", ratings, threshold=2.4).skipped == 0


def test_either_order_of_a_pair_suffices() -> None:
    for a, b in ((1.0, 3.0), (3.0, 1.0)):
        assert lists("image", rated("sis", (10, 20, a), (20, 10, b))) == {0: {1}, 1: {0}}


def test_captions_of_one_image_are_relevant_whatever_their_rating() -> None:
    siblings = {0: {3}, 3: {0}, 1: {4, 5}, 4: {1, 5}, 5: {1, 4}}
    assert lists("caption", rated("sts", (100, 103, 0.5), (102, 106, 2.9))) == siblings
    assert lists("caption", rated("sts", (102, 106, 3.0), (100, 101, 3.5))) == {
        **siblings, 0: {1, 3}, 1: {0, 4, 5}, 2: {6}, 6: {2}
    }  # fmt: skip


@pytest.mark.parametrize("modality", ["image", "caption"])
@given(data=st.data())
def test_ranks_by_definition(modality: Modality, data: st.DataObject) -> None:
    ids = SPLIT.ids(modality).tolist()
    pair = st.tuples(st.sampled_from(ids), st.sampled_from(ids), st.sampled_from([1.0, 2.5, 3.0]))
    ratings = rated(intra.TASK[modality], *data.draw(st.lists(pair, min_size=1, max_size=8)))
    number = st.integers(-2, 2).filter(bool)
    rows = data.draw(st.lists(st.lists(number, min_size=2, max_size=2), min_size=len(ids), max_size=len(ids)))
    liked = lists(modality, ratings)
    if not liked:
        return
    best = oracle.first_relevant(rows, liked)
    results = intra.evaluate(SPLIT, np.array(rows, np.float32), modality, ratings, similarity="dot")
    found = {str(r.metric): r for r in results}
    assert {r.direction for r in results} == {"i2i" if modality == "image" else "t2t"}
    for k in (1, 5, 10):
        result = found[f"cxc:R@{k}"]
        assert result.per_query is not None and result.queries is not None
        assert result.per_query.tolist() == [float(best[q] <= k) for q in sorted(best)]
        assert result.queries.tolist() == [ids[q] for q in sorted(best)]
        assert (result.n, result.undefined) == (len(best), len(ids) - len(best))
    assert found["cxc:MeanR"].value == pytest.approx(np.mean(list(best.values())))


def test_a_query_does_not_compete_with_itself() -> None:
    # Without the exclusion every query would find itself first, and R@1 would be 0.
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], np.float32)
    results = intra.evaluate(SPLIT, vectors, "image", rated("sis", (10, 20, 3), (30, 40, 3)))
    assert [r.value for r in results] == [1.0, 1.0, 1.0, 1.0, 1.0]


def test_queries_without_positives_can_count_as_misses() -> None:
    vectors = np.eye(4, dtype=np.float32) + np.float32(0.1)
    ratings = rated("sis", (10, 20, 3))
    (skip,) = intra.evaluate(SPLIT, vectors, "image", ratings, metrics=["R@10"])
    (miss,) = intra.evaluate(SPLIT, vectors, "image", ratings, metrics=["R@10"], no_positive="miss")
    assert (skip.value, skip.n, skip.undefined) == (1.0, 2, 2)
    assert (miss.value, miss.n, miss.undefined) == (0.5, 4, 0)


def test_ratings_of_something_else() -> None:
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(UsageError, match="sts does not rate images\n  fix: give the ratings sis"):
        intra.evaluate(SPLIT, vectors, "image", rated("sts", (100, 101, 3)))
    with pytest.raises(BadInput, match=r"ratings\.csv: 1 rated images are not in split 'custom' \(first: 99\)"):
        intra.evaluate(SPLIT, vectors, "image", rated("sis", (10, 99, 3)))
    with pytest.raises(BadInput, match=r"cxc:R@1 \(i2t\): no query has a relevant item|no query has a relevant item"):
        intra.evaluate(SPLIT, vectors, "image", rated("sis", (10, 20, 1)))
    with pytest.raises(BadInput, match=r"image vectors of shape \(3, 4\) for 4 ids"):
        intra.evaluate(SPLIT, vectors[:3], "image", rated("sis", (10, 20, 3)))


def test_both_modalities_need_coco() -> None:
    with pytest.raises(
        UsageError, match="CxC rates items of COCO 5K, not of split 'custom'\n  fix: use --split coco-5k"
    ):
        intra.evaluate_both(SPLIT, np.eye(4, dtype=np.float32), np.eye(7, dtype=np.float32))


def test_identity_follows_the_ratings() -> None:
    one = intra.identity(rated("sis", (10, 20, 3)))
    assert one.startswith("sis#") and len(one) == 12
    assert one != intra.identity(rated("sis", (10, 20, 2.9)))


@pytest.mark.real_data
@pytest.mark.slow
def test_the_published_judgements(real_data: Path, coco: Split) -> None:
    from vsebench.human.cxc import read_cxc

    stored = np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz")
    sis, sts = (read_cxc(task, real_data / "cxc") for task in ("sis", "sts"))  # type: ignore[arg-type]
    images, captions = (intra.positives(coco, m, j) for m, j in (("image", sis), ("caption", sts)))  # type: ignore[arg-type]
    # 20,246 pairs of images in both orders; every caption has siblings
    assert (len(images.queries), images.skipped, len(images.items)) == (4_791, 209, 2 * 20_246)
    assert (len(captions.queries), captions.skipped) == (25_000, 0)
    vectors = [stored[side].astype(np.float32) for side in ("images", "captions")]
    (found, texts), said = intra.evaluate_both(coco, vectors[0], vectors[1], real_data / "cxc", metrics=["R@10"])
    assert said == f"{intra.identity(sis)}+{intra.identity(sts)}"
    assert (texts.direction, texts.n) == ("t2t", 25_000) and 0.6 < texts.value < 0.7
    exact = stored["images"].astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    scores = exact @ exact.T
    np.fill_diagonal(scores, -np.inf)
    hits = []
    for i, q in enumerate(images.queries.tolist()):
        liked = images.items[images.indptr[i] : images.indptr[i + 1]]
        hits.append(int((scores[q] > scores[q, liked].max()).sum()) < 10)
    assert found.value == pytest.approx(np.mean(hits), abs=1e-12)
