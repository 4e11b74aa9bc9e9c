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
    assert any("numpy ranked" in note for note in found.notes) == (ties == "expected")


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
@pytest.mark.parametrize("spare", [16, 0])
def test_lists_have_all_that_tie_with_the_last_item(kind: str, spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the index proves, and those of the exact engine."""
    monkeypatch.setattr(faiss_index, "SPARE_ITEMS", spare)
    x, y = small(kind)
    scorer, queries = Dot(x, y), np.arange(3, 50, 2)
    found = Indexes().order(scorer, queries, 11, ties=True)
    assert isinstance(found.scored, np.ndarray) and found.ties is not None
    for i, query in enumerate(queries):
        entries = slice(found.start[i], found.start[i + 1])
        exact = scorer.pairs(np.full(len(y), query), np.arange(len(y)), 1)
        order = np.lexsort((np.arange(len(y)), -exact))
        wanted = order[exact[order] >= exact[order[10]]]
        assert np.array_equal(found.entries[entries], wanted)
        assert np.array_equal(found.scored[entries], exact[wanted])
        assert found.ties[entries].tolist() == [False, *(np.diff(exact[wanted]) == 0)]


def proven(kind: str, monkeypatch: pytest.MonkeyPatch, k: int = 10) -> int:
    """How many of 70 queries the exact engine did not order."""
    asked = [0]
    exactly = faiss_index._with_ties

    def spy(scorer: Any, queries: Any, some: Any, k: int) -> Any:
        asked[0] += len(some)
        return exactly(scorer, queries, some, k)

    with monkeypatch.context() as patch:
        patch.setattr(faiss_index, "_with_ties", spy)
        x, y = small(kind)
        Indexes().order(Dot(x, y), np.arange(len(x)), k)
    return len(x) - asked[0]


def test_what_an_index_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proven("normal", monkeypatch) == 70 and proven("near", monkeypatch) == proven("equal", monkeypatch) == 0
    monkeypatch.setattr(faiss_index, "SPARE_ITEMS", 0)  # the last item is the k-th
    assert proven("normal", monkeypatch) == 0


FAULTY_LISTS = ("rounded", "missing", "nan", "twice", "outside", "half")


@pytest.mark.parametrize("fault", FAULTY_LISTS)
def test_an_index_that_breaks_its_bound_proves_nothing(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a device that rounds products to ten bits, of distances, or of a search that fails."""
    search = Indexes.search

    def broken(self: Any, scorer: Any, queries: Any, k: int) -> Any:
        scores, items = search(self, scorer, queries, k)
        if fault == "rounded":
            return np.round(scores, 2), items
        if fault == "half":
            return scores.astype(np.float16).astype(np.float32), items
        if fault == "twice":
            scores[:, 2], items[:, 2] = scores[:, 1], items[:, 1]
        else:
            scores[:, 3] = np.nan if fault == "nan" else scores[:, 3]
            items[:, 3] = scorer.shape[1] if fault == "outside" else -1
        return scores, items

    x, y = small("normal")
    queries = np.arange(len(y))
    wanted = ordering.order(Dot(y, x), queries, 4)
    monkeypatch.setattr(Indexes, "search", broken)
    assert proven("normal", monkeypatch, k=4) == 0
    assert np.array_equal(Indexes().order(Dot(y, x), queries, 4).items, wanted.items)


NAMES = ("cider:CS@30", "cider:CS[captions=all]@100", "cider:NCS@5", "cider:SR[m=4]@3", "cider:NCS[gt=out]@10")


@pytest.mark.parametrize("cosine", [False, True])
def test_graded_metrics(cosine: bool) -> None:
    same_values(*vector_world(cosine), NAMES, block=16, order=ordering.Order(Indexes().order))


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
        for order_of in (Indexes().order, ordering.order):
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
    assert "numpy ranked deep graded metrics: a FAISS index lists only the first 100 items" in found.notes


BINARY = "numpy ranked metrics of binary judgements: a FAISS index lists only the first 24 items"


@pytest.mark.parametrize(
    ("metrics", "options"),
    [
        ("R@1,MedR,MeanR", {}),
        ("MRR,MedR", {}),
        ("R@1,R@30", {}),
        ("R@1", {"depth": 30}),
        ("R@1,Recall@3", {"ties": "expected"}),
    ],
)
def test_deep_metrics_are_ranked_by_numpy(
    metrics: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(faiss_index, "GPU_MAX_ITEMS", 40)
    if "depth" in options:
        options = {**options, "save_run": tmp_path / "run.json"}
    found, wanted = both(*small("copies"), metrics=metrics, ci=0, **options)
    assert sorted(found.notes) == sorted([*wanted.notes, BINARY])


def test_folds_are_ranked_by_numpy() -> None:
    x, y = small("normal", images=60)
    split = vb.TestSet.captioned("custom", np.arange(60), np.arange(300), np.arange(300) // 5, fold=np.arange(60) // 12)
    found, _ = both(x, y, split=split, metrics="R@1,1k:R@5", ci=0)
    assert BINARY.replace("24", "100") in found.notes


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
    monkeypatch.setattr(faiss_index, "TRIAL_CODE", STAND_IN.format(what) + faiss_index.TRIAL_CODE)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(faiss_index, "fault", faiss_index.fault.__wrapped__)
    assert faiss_index.fault(0) == FAULTS[what]
    assert faiss_index.device()[0] == (1 if FAULTS[what] is None else None)
    (found,) = doctor.examine("faiss")
    where = f"the processor, as FAISS fails on the GPU: {FAULTS[what]}" if FAULTS[what] else "GPU 1 of 2"
    assert (found.state, found.detail) == ("ok", f"{faiss.__version__}, {where}")
    if FAULTS[what]:  # the index is that of the processor, and the report says why
        report, _ = both(*small("normal"), metrics="R@1", ci=0)
        assert report.provenance is not None and report.provenance["device"].startswith(where)


@pytest.mark.gpu
def test_an_index_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, where = faiss_index.device()
    if gpu is None:
        pytest.skip(f"FAISS searches with {where}")
    for kind in ("normal", "integers", "equal", "near", "copies"):
        both(*small(kind), metrics=METRICS, ci=0)
    for name in ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"):  # refused, or of no effect on an index
        monkeypatch.setenv(name, "1")
        assert faiss_index.fault.__wrapped__(0) is None or "less precise" in str(faiss_index.fault.__wrapped__(0))


def test_indexes_of_a_gpu_share_its_memory_and_old_ones_are_dropped(
    fake_gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "MAX_INDEXES", 3)
    x, y = small("normal")
    scorer, indexes, queries = Dot(x, y), Indexes(), np.arange(len(x))
    for fold in range(7):
        part = scorer.take(slice(None), np.arange(50 * fold, 50 * fold + 50))
        for one in (scorer, part):  # the complete gallery is used all the time
            found = indexes.order(one, queries, 5)
            assert np.array_equal(found.items, ordering.order(one, queries, 5).items)
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


def test_depths_of_lists(fake_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [Indexes().deepest(n) for n in (2048, 2049)] == [2048, 2032]
    monkeypatch.setattr(environment, "DRIVERS", ())
    assert [Indexes().deepest(n) for n in (90, 2049)] == [90, 100]
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
    assert any("numpy ranked metrics of binary judgements" in note for note in found.notes)
