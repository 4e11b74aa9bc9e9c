"""CxC image-image and text-text retrieval: the relevant items, their ranks, and the counts of the published code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests import human_files
from tests import oracle_unimodal as oracle
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.evaluation import intra
from vsebench.evaluation.binary import measure
from vsebench.metrics import parse
from vsebench.metrics.suites import INTRA, SUITES
from vsebench.results.model import Measurement
from vsebench.types import Embeddings, Modality, TestSet


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


# Four images with 2, 1, 3 and 1 captions, which are not sorted by image.
SPLIT = TestSet.captioned("custom", np.array([10, 20, 30, 40]), np.arange(100, 107), np.array([0, 2, 1, 0, 2, 2, 3]))


def results(
    vectors: npt.NDArray[np.float32],
    modality: Modality,
    ratings: Rated,
    metrics: tuple[str, ...] = SUITES[INTRA].metrics,
    no_positive: str = "skip",
    **options: str,
) -> list[Measurement]:
    """One result a metric, from the vectors of the items of ``SPLIT``; the direction is that of ``measure``."""
    embeddings = Embeddings(modality, SPLIT.side(modality).ids, vectors)
    ranks = intra.ranked(SPLIT, embeddings, ratings, **options)  # type: ignore[arg-type]
    direction = "i2t" if modality == "image" else "t2i"
    return [measure(parse(m), ranks, SPLIT, direction, no_positive) for m in metrics]


def positives(modality: Modality, ratings: Rated) -> dict[int, set[int]]:
    """Query -> relevant items."""
    relevance = intra.positives(SPLIT, modality, ratings)
    out: dict[int, set[int]] = {q: set() for q in relevance.queries.tolist()}
    for q, item in zip(relevance.queries[relevance.query_of].tolist(), relevance.items.tolist(), strict=True):
        out[q].add(item)
    return out


def test_images_rated_at_least_two_and_a_half() -> None:
    ratings = rated("sis", (10, 20, 2.5), (10, 30, 2.4), (40, 20, 4.0), (30, 30, 5.0))
    assert positives("image", ratings) == {0: {1}, 1: {0, 3}, 3: {1}}
    relevance = intra.positives(SPLIT, "image", ratings)
    assert relevance.skipped == 1 and relevance.name == "cxc"


def test_either_order_of_a_pair_suffices() -> None:
    for a, b in ((1.0, 3.0), (3.0, 1.0)):
        assert positives("image", rated("sis", (10, 20, a), (20, 10, b))) == {0: {1}, 1: {0}}


def test_captions_of_one_image_are_relevant_whatever_their_rating() -> None:
    same_image = {0: {3}, 3: {0}, 1: {4, 5}, 4: {1, 5}, 5: {1, 4}}
    assert positives("caption", rated("sts", (100, 103, 0.5), (102, 106, 2.9))) == same_image
    assert positives("caption", rated("sts", (102, 106, 3.0), (100, 101, 3.5))) == {
        **same_image, 0: {1, 3}, 1: {0, 4, 5}, 2: {6}, 6: {2}
    }  # fmt: skip


@pytest.mark.parametrize("modality", ["image", "caption"])
@given(data=st.data())
def test_ranks_by_definition(modality: Modality, data: st.DataObject) -> None:
    ids = SPLIT.side(modality).ids.tolist()
    pair = st.tuples(st.sampled_from(ids), st.sampled_from(ids), st.sampled_from([1.0, 2.5, 3.0]))
    ratings = rated(intra.TASK[modality], *data.draw(st.lists(pair, min_size=1, max_size=8)))
    number = st.integers(-2, 2).filter(bool)
    rows = data.draw(st.lists(st.lists(number, min_size=2, max_size=2), min_size=len(ids), max_size=len(ids)))
    relevant = positives(modality, ratings)
    if not relevant:
        return
    best = oracle.first_relevant(rows, relevant)
    found = {str(r.metric): r for r in results(np.array(rows, np.float32), modality, ratings, similarity="dot")}
    for k in (1, 5, 10):
        result = found[f"cxc:R@{k}"]
        assert result.per_query is not None and result.queries is not None
        assert result.per_query.tolist() == [float(best[q] <= k) for q in sorted(best)]
        assert result.queries.tolist() == [ids[q] for q in sorted(best)]
        assert (result.n, result.undefined) == (len(best), len(ids) - len(best))
    assert found["cxc:MeanR"].value == pytest.approx(np.mean(list(best.values())))


def test_a_report_of_both_modalities(tmp_path: Path) -> None:
    coco = TestSet.captioned("coco-5k", SPLIT.rows.ids, SPLIT.columns.ids, SPLIT.image_of)
    ratings = {"image": rated("sis", (10, 20, 3), (30, 40, 3)), "caption": rated("sts", (102, 106, 3.0))}
    for rating, name, method in (
        (ratings["image"], human_files.image, "i2i_csim"), (ratings["caption"], human_files.caption, "c2c_isim"),
    ):  # fmt: skip
        table = zip(rating.first.tolist(), rating.second.tolist(), rating.score.tolist(), strict=True)
        human_files.cxc(tmp_path, rating.task, [(name(a), name(b), score, method) for a, b, score in table])
    rng = np.random.default_rng(0)
    vectors = {m: rng.standard_normal((n, 3)).astype(np.float32) for m, n in (("image", 4), ("caption", 7))}
    report = vsebench.evaluate(
        vectors["image"], vectors["caption"], split=coco, metrics=INTRA, similarity="dot", human_data=tmp_path, ci=0
    )
    expected = [(m, d) for d in ("i2i", "t2t") for m in SUITES[INTRA].metrics]
    assert [(str(r.metric), r.direction) for r in report.results] == expected
    for modality, direction in (("image", "i2i"), ("caption", "t2t")):
        for want in results(vectors[modality], modality, ratings[modality], similarity="dot"):  # type: ignore[arg-type]
            found = report[want.metric, direction]  # type: ignore[index]
            assert (found.value, found.n, found.undefined) == (want.value, want.n, want.undefined)
            assert np.array_equal(found.per_query, want.per_query)  # type: ignore[arg-type]
            assert np.array_equal(found.queries, want.queries)  # type: ignore[arg-type]
    identities = "+".join(intra.identity(rating) for rating in ratings.values())
    assert report.signature.endswith(f"|{INTRA}:{identities}")


def test_a_query_is_not_its_own_candidate() -> None:
    # If it were, every query would be ranked first in its own list, and R@1 would be 0.
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], np.float32)
    found = results(vectors, "image", rated("sis", (10, 20, 3), (30, 40, 3)))
    assert [r.value for r in found] == [1.0, 1.0, 1.0, 1.0, 1.0]


def test_queries_without_positives_can_count_as_misses() -> None:
    vectors = np.eye(4, dtype=np.float32) + np.float32(0.1)
    ratings = rated("sis", (10, 20, 3))
    (skip,) = results(vectors, "image", ratings, ("cxc:R@10",))
    (miss,) = results(vectors, "image", ratings, ("cxc:R@10",), no_positive="miss")
    assert (skip.value, skip.n, skip.undefined) == (1.0, 2, 2)
    assert (miss.value, miss.n, miss.undefined) == (0.5, 4, 0)


def test_ratings_of_other_items_are_refused(refuses: Refuses) -> None:
    vectors = np.eye(4, dtype=np.float32)
    refuses(BadInput, results, vectors, "image", rated("sis", (10, 99, 3)))
    refuses(BadInput, results, vectors, "image", rated("sis", (10, 20, 1)))
    refuses(BadInput, results, vectors[:3], "image", rated("sis", (10, 20, 3)))


def test_other_splits_are_refused(refuses: Refuses) -> None:
    refuses(UsageError, vsebench.evaluate, np.eye(4), np.eye(7, 4) + 0.1, split=SPLIT, metrics=INTRA)


def test_the_identity_depends_on_the_ratings() -> None:
    one = intra.identity(rated("sis", (10, 20, 3)))
    assert one.startswith("sis#") and len(one) == 12
    assert one != intra.identity(rated("sis", (10, 20, 2.9)))


@pytest.mark.real_data
@pytest.mark.slow
def test_the_published_judgements(real_data: Path, coco: TestSet) -> None:
    from vsebench.human.cxc import read_cxc

    stored = np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz")
    sis, sts = (read_cxc(task, real_data / "cxc") for task in ("sis", "sts"))  # type: ignore[arg-type]
    images, captions = (intra.positives(coco, m, j) for m, j in (("image", sis), ("caption", sts)))  # type: ignore[arg-type]
    # 20,246 pairs of images in both orders; every caption has others of its image
    assert (len(images.queries), images.skipped, len(images.items)) == (4_791, 209, 2 * 20_246)
    assert (len(captions.queries), captions.skipped) == (25_000, 0)
    vectors = [stored[side].astype(np.float32) for side in ("images", "captions")]
    report = vsebench.evaluate(*vectors, split=coco, metrics=INTRA, human_data=real_data / "cxc", ci=0)
    found, of_captions = report["cxc:R@10", "i2i"], report["cxc:R@10", "t2t"]
    assert report.signature.endswith(f"|{INTRA}:{intra.identity(sis)}+{intra.identity(sts)}")
    assert of_captions.n == 25_000 and 0.6 < of_captions.value < 0.7
    exact = stored["images"].astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    scores = exact @ exact.T
    np.fill_diagonal(scores, -np.inf)
    hits = []
    for i, q in enumerate(images.queries.tolist()):
        relevant = images.items[images.indptr[i] : images.indptr[i + 1]]
        hits.append(int((scores[q] > scores[q, relevant].max()).sum()) < 10)
    assert found.value == pytest.approx(np.mean(hits), abs=1e-12)
