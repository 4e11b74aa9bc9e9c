"""The back-end faiss: the values, ties, intervals and lists of the reference, and no GPU where there is none."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import vsebench as vb
from tests.graded_worlds import same_values, vector_world
from tests.messages import Pinned
from tests.reports import same_reports
from tests.worlds import canonical
from vsebench import environment
from vsebench.cli import doctor
from vsebench.errors import BadInput
from vsebench.rank import backends
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, System
from vsebench.results.report import Report
from vsebench.types import Relevance

faiss = pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")

from vsebench.rank import faiss_index  # noqa: E402
from vsebench.rank.faiss_index import Indexes  # noqa: E402

METRICS = "R@1,R@5,R@10,Recall@5,R-P,mAP@R,RSum"


def small(kind: str, seed: int = 3, images: int = 70, dim: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of images and of five captions each, with as many ties as the kind has."""
    rng = np.random.default_rng(seed)
    if kind == "equal":
        return np.ones((images, dim), np.float32), np.ones((images * 5, dim), np.float32)
    if kind == "integers":
        x, y = (rng.integers(-2, 3, (n, dim)).astype(np.float32) for n in (images, images * 5))
        x[:, 0], y[:, 0] = 3, 3  # none of them is zero
        return x, y
    x = rng.standard_normal((images, dim)).astype(np.float32)
    y = (np.repeat(x, 5, axis=0) + rng.standard_normal((images * 5, dim))).astype(np.float32)
    if kind == "near":  # every score of a query is closer to the next than the error bound
        x[:], y[:] = 1, 1
        x[:, 0] += 1e-7 * np.arange(1, images + 1)
        y[:, 0] += 1e-7 * (np.arange(images * 5) % 7)
        y[:, 1] += 2e-7 * (1 + np.arange(images * 5) % 5)
    if kind == "copies":
        x[1::3], y[5:200:4] = x[0], y[0]
    return x, y


def both(*data: Any, **options: Any) -> tuple[Report, Report]:
    """The reports of faiss and of numpy."""
    found, wanted = (vb.evaluate(*data, trust=True, backend=name, **options) for name in ("faiss", "numpy"))
    same_reports(found, wanted)
    return found, wanted


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("kind", ["normal", "integers", "equal", "near", "copies"])
def test_metrics_of_the_top_are_those_of_the_reference(kind: str, similarity: str) -> None:
    found, wanted = both(*small(kind), metrics=METRICS, similarity=similarity, ci=95, resamples=50, lists=7)
    assert not any("numpy ranked" in note for note in found.notes)
    assert found.provenance is not None and found.provenance["backend"] == "faiss"
    rest = [n.replace("at least ", "") for n in (*found.notes, *found.warnings)]
    assert kind != "equal" or rest == [*wanted.notes, *wanted.warnings]


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic", "expected"])
@pytest.mark.parametrize("kind", ["integers", "equal", "copies"])
def test_tie_rules(kind: str, ties: str) -> None:
    found, _ = both(*small(kind), metrics="R@1,R@5,Recall@10", ties=ties, ci=0)
    assert any("complete rankings" in note for note in found.notes) == (ties == "expected")


@pytest.mark.parametrize("kind", ["integers", "equal", "copies"])
def test_ranks_by_definition(kind: str) -> None:
    """Against ranks that are counted in the exact scores of small integers."""
    x, y = small(kind)
    y = np.round(y).astype(np.float32)
    x = np.round(x).astype(np.float32)
    scores = x.astype(np.int64) @ y.astype(np.int64).T
    relevant = np.arange(len(y)) // 5
    relevance = Relevance("gt", np.arange(len(y)), np.arange(len(y) + 1), relevant, np.zeros(len(y)))
    order = backends.ranker("faiss").lists
    targets = [Targets("gt", relevance)]
    found = observe(System(Dot(x, y)), ([], targets), needed=(0, 9), threads=2, order=order)[1].ranks["gt"]
    better = (scores > scores[relevant, np.arange(len(y))]).sum(0)
    equal = scores == scores[relevant, np.arange(len(y))]
    lower = (equal & (np.arange(len(x))[:, None] < relevant)).sum(0)
    rank = 1 + better + lower
    assert np.array_equal(found.rank <= 9, rank <= 9)
    assert np.array_equal(found.rank[rank <= 9], rank[rank <= 9])
    assert found.extremes is not None
    for extreme, other in zip(found.extremes, (better + 1, better + equal.sum(0)), strict=True):
        assert np.array_equal(np.minimum(extreme, 10), np.minimum(other, 10))


@pytest.mark.parametrize("kind", ["normal", "integers", "near", "copies", "equal"])
@pytest.mark.parametrize("most", [2048, 40, 20])
def test_lists_that_are_too_short_to_be_certified(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer lists of the index, then all scores, until every candidate of the k best is there."""
    monkeypatch.setattr(faiss_index, "MOST_ITEMS", most)
    x, y = small(kind)
    scorer = Dot(x, y)
    index = faiss_index.FlatIndex(scorer)
    queries = np.arange(3, 50, 2)
    found = faiss_index.certified(index, queries, 11)
    assert isinstance(found.scored, np.ndarray) and found.ties is not None
    for i, query in enumerate(queries):
        entries = slice(found.start[i], found.start[i + 1])
        exact = scorer.pairs(np.full(len(y), query), np.arange(len(y)), 1)
        order = np.lexsort((np.arange(len(y)), -exact))
        wanted = order[exact[order] >= exact[order[10]]]
        assert np.array_equal(found.entries[entries], wanted)
        assert np.array_equal(found.scored[entries], exact[wanted])
        assert found.ties[entries].tolist() == [False, *(np.diff(exact[wanted]) == 0)]


def test_near_ties_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []
    search = faiss_index.FlatIndex.search

    def spy(self: Any, queries: Any, k: int) -> Any:
        widths.append(k)
        return search(self, queries, k)

    monkeypatch.setattr(faiss_index.FlatIndex, "search", spy)
    x, y = small("near")
    faiss_index.certified(faiss_index.FlatIndex(Dot(x, y)), np.arange(len(x)), 10)
    assert widths == [26, 52, 104, 208, 350]
    widths.clear()
    x, y = small("normal")
    faiss_index.certified(faiss_index.FlatIndex(Dot(x, y)), np.arange(len(x)), 10)
    assert widths == [26]


@pytest.mark.parametrize("fault", ["rounded", "missing", "nan"])
def test_an_index_that_breaks_its_bound_is_not_used(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a device that rounds products to ten bits, or that lists too little."""
    search = faiss_index.FlatIndex.search

    def coarse(self: Any, queries: Any, k: int) -> Any:
        scores, items = search(self, queries, k)
        if fault == "rounded":
            return np.round(scores, 2), items
        scores[::2, 3], items[::2, 3] = (np.nan if fault == "nan" else scores[::2, 3]), -1
        return scores, items

    x, y = small("normal")
    index = faiss_index.FlatIndex(Dot(y, x))
    wanted = faiss_index.certified(index, np.arange(len(y)), 4).cut(4)
    monkeypatch.setattr(faiss_index.FlatIndex, "search", coarse)
    found = faiss_index.certified(index, np.arange(len(y)), 4).cut(4)
    assert np.array_equal(found.items, wanted.items)


NAMES = ("cider:CS@30", "cider:CS[captions=all]@100", "cider:NCS@5", "cider:SR[m=4]@3", "cider:NCS[gt=out]@10")


@pytest.mark.parametrize("cosine", [False, True])
def test_graded_metrics(cosine: bool) -> None:
    same_values(*vector_world(cosine), NAMES, block=16, order=ordering.Order(Indexes().order_of))


@pytest.mark.parametrize("kind", ["normal", "integers", "near", "copies"])
@pytest.mark.parametrize("queries", [np.arange(4, 60), np.array([4, 9, 10, 33])])
def test_orders_by_definition(kind: str, queries: np.ndarray) -> None:
    """Those of the index, and those of the reference that back-ends are compared with."""
    given = Dot(*small(kind), cosine=True)
    for scorer, gallery in ((given, None), (given, np.arange(0, 350, 5)), (given.T, None)):
        items = np.arange(scorer.shape[1]) if gallery is None else gallery
        exact = canonical(scorer)[queries][:, items]
        order = np.argsort(-exact, axis=1, kind="stable")[:, :20]
        tied = np.diff(np.take_along_axis(exact, order, axis=1), axis=1) == 0
        for order_of in (Indexes().order_of, ordering.order):
            found = order_of(scorer, queries, 20, gallery)
            assert np.array_equal(found.items, order) and np.array_equal(found.tied[:, 1:], tied)


def test_graded_metrics_of_an_evaluation(tmp_path: Path) -> None:
    x, y = small("copies")
    gains = np.random.default_rng(1).integers(0, 4, (len(x), len(y))) / 4
    np.save(tmp_path / "gains.npy", gains.astype(np.float32))
    options: dict[str, Any] = {"gains": str(tmp_path / "gains.npy"), "resamples": 50}
    found, _ = both(x, y, metrics="matrix:NCS@5,matrix:CS@20,R@1", **options)
    assert not any("numpy ranked" in note for note in found.notes)
    found, _ = both(x, y, metrics="matrix:NCS@5,matrix:Kendall,R@1", **options)
    note = (
        "numpy ranked what a FAISS index does not list, or not as fast (matrix:Kendall: complete rankings), "
        "and in the same pass the other graded metrics"
    )
    assert note in found.notes


@pytest.mark.parametrize(
    ("metrics", "options", "note"),
    [
        ("R@1,MedR,MeanR", {}, "(MedR, MeanR: complete rankings), and in the same pass the other metrics of binary"),
        ("MRR,MedR", {}, "what a FAISS index does not list, or not as fast (MRR, MedR: complete rankings)"),
        ("R@1,R@30", {}, "(R@30: more than the first 24 items), and in the same pass"),
        ("R@1", {"depth": 30}, "(lists of 30: more than the first 24 items), and in the same pass"),
        ("R@1,Recall@3", {"ties": "expected"}, "not as fast (R@1, Recall@3: complete rankings)"),
    ],
)
def test_what_is_not_listed_is_ranked_by_numpy(
    metrics: str, options: dict[str, Any], note: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(faiss_index, "MOST_ITEMS", 40)
    if "depth" in options:
        options = {**options, "save_run": tmp_path / "run.json"}
    found, wanted = both(*small("copies"), metrics=metrics, ci=0, **options)
    assert any(note in n for n in found.notes), found.notes
    assert [n for n in found.notes if note not in n] == list(wanted.notes)


def test_folds_are_ranked_by_numpy() -> None:
    x, y = small("normal", images=60)
    split = vb.TestSet.captioned("custom", np.arange(60), np.arange(300), np.arange(300) // 5, fold=np.arange(60) // 12)
    found, _ = both(x, y, split=split, metrics="R@1,1k:R@5", ci=0)
    assert any("(1k:R@5: the items of a fold)" in note for note in found.notes)


@pytest.mark.parametrize("given", ["scores", "run"])
def test_scores_and_lists_are_no_vectors(given: str, tmp_path: Path) -> None:
    x, y = small("normal")
    run_file = tmp_path / "run.json"
    vb.evaluate(x, y, metrics="R@1", save_run=run_file, ci=0)
    data: Any = {"scores": x @ y.T} if given == "scores" else {"run": run_file}
    split = vb.TestSet.captioned("custom", np.arange(70), np.arange(350), np.arange(350) // 5)
    found, wanted = both(metrics="R@1", ci=0, split=split, **data)
    what = "scores are given" if given == "scores" else "retrieved lists are given"
    assert found.notes == (*wanted.notes, f"{what}, and a FAISS index searches vectors: it was not used")


@pytest.mark.parametrize("name", ["run.json", "run.trec"])
def test_saved_lists(name: str, tmp_path: Path) -> None:
    data = small("copies")
    for backend in ("faiss", "numpy"):
        (tmp_path / backend).mkdir()
        vb.evaluate(*data, metrics="R@1", save_run=tmp_path / backend / name, depth=33, ci=0, backend=backend)
    files = sorted((tmp_path / "numpy").iterdir())
    assert files and all(f.read_bytes() == (tmp_path / "faiss" / f.name).read_bytes() for f in files)


def test_no_gpu_is_touched_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: Any) -> Any:
        raise AssertionError("a GPU was touched")

    for name in ("GpuIndexFlatIP", "StandardGpuResources", "index_cpu_to_gpu", "index_cpu_to_all_gpus", "knn_gpu"):
        monkeypatch.setattr(faiss, name, touched, raising=False)
    data = small("normal")
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    both(*data, metrics="R@1", ci=0)
    monkeypatch.setattr(faiss, "get_num_gpus", touched)  # ends the process in older versions, without a driver
    monkeypatch.setattr(environment, "DRIVERS", (Path("/no/driver"),))
    both(*data, metrics="R@1", ci=0)


class FakeResources:
    """The memory that an index on a GPU reserves."""

    made: ClassVar[list[FakeResources]] = []
    temporary = 1536 << 20

    def __init__(self) -> None:
        FakeResources.made.append(self)

    def setTempMemory(self, nbytes: int) -> None:  # noqa: N802
        self.temporary = nbytes


class FakeGpuIndex:
    """An index that lists like one on a GPU, and fails like one."""

    searches = 0
    fails = False
    busy: ClassVar[set[FakeResources]] = set()
    alive: ClassVar[weakref.WeakSet[FakeGpuIndex]] = weakref.WeakSet()
    most = 0  # at the same time

    def __init__(self, resources: FakeResources, dim: int, config: Any) -> None:
        assert isinstance(resources, FakeResources) and config.device == 0
        self.resources, self.index = resources, faiss.IndexFlatIP(dim)
        FakeGpuIndex.alive.add(self)
        FakeGpuIndex.most = max(FakeGpuIndex.most, len(FakeGpuIndex.alive))

    def add(self, vectors: Any) -> None:
        self.index.add(np.array(vectors))

    def search(self, vectors: Any, k: int) -> Any:
        assert k <= 2048
        FakeGpuIndex.searches += 1
        if FakeGpuIndex.fails:
            raise RuntimeError("Error in a file\nOut of memory")
        assert not FakeGpuIndex.busy, "two threads use the memory of one GPU"
        FakeGpuIndex.busy.add(self.resources)
        try:
            return self.index.search(vectors, k)
        finally:
            FakeGpuIndex.busy.clear()


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAISS finds a GPU, whose indexes are those of the processor."""
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "StandardGpuResources", FakeResources, raising=False)
    monkeypatch.setattr(faiss, "GpuIndexFlatIP", FakeGpuIndex, raising=False)
    monkeypatch.setattr(faiss, "GpuIndexFlatConfig", SimpleNamespace, raising=False)
    monkeypatch.setattr(faiss_index, "fault", lambda _: None)
    monkeypatch.setattr(FakeResources, "made", [])
    monkeypatch.setattr(FakeGpuIndex, "alive", weakref.WeakSet())
    monkeypatch.setattr(FakeGpuIndex, "most", 0)


def test_index_of_a_gpu(fake_gpu: None, monkeypatch: pytest.MonkeyPatch, pinned: Pinned) -> None:
    both(*small("copies"), metrics=METRICS, ci=0, similarity="cosine", threads=2)
    assert FakeGpuIndex.searches
    assert [made.temporary for made in FakeResources.made] == [256 << 20]
    monkeypatch.setattr(FakeGpuIndex, "fails", True)
    with pytest.raises(BadInput) as caught:
        vb.evaluate(*small("normal"), metrics="R@1", ci=0, backend="faiss")
    pinned(caught.value)
    assert caught.value.fix is not None and "backend='numpy'" in caught.value.fix
    assert vb.evaluate(*small("normal"), metrics="R@1", ci=0, backend="numpy").results


# An index on the processor in the place of one on a GPU, in the child process that tries it.
STAND_IN = """
import faiss, os, types, numpy as np
class Index(faiss.IndexFlatIP):
    def __init__(self, resources, dim, config): super().__init__(dim)
    def search(self, x, k):
        {0}
        return super().search(x, k)
faiss.GpuIndexFlatIP, faiss.GpuIndexFlatConfig, faiss.StandardGpuResources = Index, types.SimpleNamespace, object
"""
TF32 = "x = ((x.view(np.uint32) + 0x1000) & 0xffffe000).view(np.float32)"  # about: 10 bits of the mantissa
FAULTS = {
    "pass": None,
    TF32: "its products are less precise than float32 (an error of 8.8e-05)",
    "raise RuntimeError('no kernel image is available')": "RuntimeError: no kernel image is available",
    "os.write(2, b'Faiss assertion failed'); os.abort()": "it ended the process by SIGABRT: Faiss assertion failed",
}


@pytest.mark.parametrize("what", FAULTS, ids=["none", "tf32", "error", "abort"])
def test_an_index_on_a_gpu_is_tried_in_a_process(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_index, "TRIAL", STAND_IN.format(what) + faiss_index.TRIAL)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(faiss_index, "fault", faiss_index.fault.__wrapped__)
    assert faiss_index.fault(0) == FAULTS[what]
    assert faiss_index.gpus(driver=True) == (2 if FAULTS[what] is None else 0)
    found = doctor._faiss()
    where = f"the processor, as FAISS fails on the GPU: {FAULTS[what]}" if FAULTS[what] else "GPU 1 of 2"
    assert (found.state, found.detail) == ("ok", f"{faiss.__version__}, {where}")
    if FAULTS[what]:  # the index is that of the processor, and the report says why
        report, _ = both(*small("normal"), metrics="R@1", ci=0)
        assert report.provenance is not None and report.provenance["device"].startswith(where)


@pytest.mark.gpu
def test_an_index_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    if not faiss_index.gpus(environment.has_driver()):
        pytest.skip(f"FAISS uses no GPU: {faiss_index.described()}")
    for kind in ("normal", "integers", "equal", "near", "copies"):
        both(*small(kind), metrics=METRICS, ci=0)
    for name in ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"):  # refused, or of no effect on an index
        monkeypatch.setenv(name, "1")
        assert faiss_index.fault.__wrapped__(0) is None or "less precise" in str(faiss_index.fault.__wrapped__(0))


def test_indexes_of_a_gpu_share_its_memory_and_old_ones_are_dropped(
    fake_gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "KEPT", 3)
    x, y = small("normal")
    scorer, indexes, queries = Dot(x, y), Indexes(driver=True), np.arange(len(x))
    for fold in range(7):
        gallery = np.arange(50 * fold, 50 * fold + 50)
        for part in (None, gallery):  # the complete gallery is used all the time
            found = indexes.order_of(scorer, queries, 5, part)
            assert np.array_equal(found.items, ordering.order(scorer, queries, 5, part).items)
    gc.collect()
    assert len(FakeGpuIndex.alive) == 3 and FakeGpuIndex.most == 3
    assert sum(index.index.ntotal == len(y) for index in FakeGpuIndex.alive) == 1
    assert [made.temporary for made in FakeResources.made] == [256 << 20]


def test_threads_of_openmp_are_as_before() -> None:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        vb.evaluate(*small("normal"), metrics="R@1", ci=0, backend="faiss", threads=1)
        assert faiss.omp_get_max_threads() == 2
    finally:
        faiss.omp_set_num_threads(before)


def test_depths_of_lists() -> None:
    assert faiss_index.deepest(2048, gpu=True) == 2048 and faiss_index.deepest(2049, gpu=True) == 2032
    assert faiss_index.deepest(90, gpu=False) == 90 and faiss_index.deepest(2049, gpu=False) == 100
    x, y = small("normal", images=5)
    assert len(both(x, y, metrics="R@100", ci=0)[0].results) == 2  # k beyond the gallery


def test_version_is_in_the_provenance() -> None:
    report = vb.evaluate(*small("normal"), metrics="R@1", ci=0, backend="faiss")
    assert report.provenance is not None
    assert any(name.startswith("faiss") for name in json.loads(json.dumps(report.provenance["packages"])))


@pytest.mark.nightly
@pytest.mark.real_data
def test_coco_5k(real_data: Path) -> None:
    pytest.importorskip("eccv_caption", reason="eccv-caption is not installed (extra: text)")
    path = real_data / "proxy" / "coco5k_minilm_proxy.npz"
    found, wanted = both(path, metrics="R@1,R@5,R@10,RSum,eccv,cxc", lists=10, resamples=50)
    assert not any("numpy ranked" in note for note in found.notes)
    assert found["R@1", "i2t"].value == wanted["R@1", "i2t"].value > 0.8
    found, _ = both(path, metrics=None, resamples=50)
    assert any("(MedR, MeanR: complete rankings; 1k:R@1, 1k:R@5, 1k:R@10 and 2 more" in note for note in found.notes)
