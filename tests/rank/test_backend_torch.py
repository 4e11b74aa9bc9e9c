"""The torch back-end gives the bits of the reference, on the processor and on a GPU where there is one."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests import worlds
from tests.devices import DEVICES, GRADED, same_observations
from tests.gates import gate
from tests.graded_worlds import same_values, vector_world
from tests.hard_vectors import hard_vectors
from tests.messages import Refuses
from tests.reports import same_reports
from vsebench import environment
from vsebench.cli import doctor
from vsebench.errors import DeviceFault, DeviceMemory, UsageError
from vsebench.graded import engine as graded
from vsebench.rank import backends
from vsebench.rank import order as ordering
from vsebench.rank.count import Targets, observe
from vsebench.rank.scorers import Dot, Matrix, Scorer, System
from vsebench.types import Candidates, Int, Tops

torch = pytest.importorskip("torch", reason="torch is not installed")
from vsebench.numeric.torch_support import device_faults  # noqa: E402
from vsebench.rank.torch_backend import order, scan, settings, vectors  # noqa: E402


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    """Every test runs on the processor, with the code of a GPU, and on a GPU where there is one."""
    return settings.device_of(request.param)


def scorers(world: worlds.World) -> Iterator[Scorer]:
    """Inner products, cosines of vectors that are not of unit length, and matrices of both dtypes."""
    scores = world.scores[0]
    yield world.system.forward
    yield Dot(world.images, world.captions, cosine=True)
    yield Matrix(scores)
    yield Matrix(scores.astype(np.float16), np.arange(len(scores))[::-1].copy(), None)


@pytest.mark.parametrize("reach", [1, 3, 40])
@pytest.mark.parametrize("shape", [None, (9, 70), (64, 640)])
def test_ranks_and_lists_of_ties(reach: int, shape: tuple[int, int] | None, device: Any) -> None:
    world = worlds.tied_world(40, 700, 3, reach, seed=reach)
    for scorer, depth in zip(scorers(world), ((1, 200), (200, 10), (10, 1), (700, 40)), strict=True):
        same_observations(scorer, world.targets, device, depth=depth, tile_shape=shape)


def test_all_scores_equal(device: Any) -> None:
    judged = worlds.relevance({3: [5, 250], 7: [0]}), worlds.relevance({9: [4], 200: [0, 12]})
    rows, columns = ([Targets("x", r)] for r in judged)
    ones = Dot(np.ones((13, 8), np.float32), np.ones((300, 8), np.float32))
    for scorer in (ones, Matrix(np.zeros((13, 300)))):
        same_observations(scorer, (rows, columns), device, depth=(7, 3))


@pytest.mark.parametrize("ordered", ["ascending", "descending"])
def test_lists_of_galleries_in_order(ordered: str, device: Any) -> None:
    line = np.arange(5000.0) * (1 if ordered == "ascending" else -1)
    same_observations(Matrix(line[None, :]), ([], []), device, depth=(7, 0), tile_shape=(1, 640))
    same_observations(Matrix(line[:, None]), ([], []), device, depth=(0, 7), tile_shape=(640, 1))


def test_folds_and_excluded_items(device: Any) -> None:
    rng = np.random.default_rng(3)
    images, captions = rng.integers(-2, 3, (60, 5)), rng.integers(-2, 3, (300, 5))
    images[:, 0], captions[:, 0] = 1, 1
    scorer = Dot(images.astype(np.float32), captions.astype(np.float32))
    folds = rng.permutation(np.arange(60) % 4), np.sort(np.arange(300) % 4), np.sort(np.arange(60) % 4)

    def inside(fold: tuple[Int, Int], step: int) -> worlds.Relevance:
        chosen = np.equal.outer(*fold) & (np.arange(len(fold[1])) % step == 0)
        return worlds.relevance({q: np.flatnonzero(row) for q, row in enumerate(chosen)})

    excluded = worlds.stored({i: [2 * i + 1, 299] for i in range(0, 60, 2)}, (60, 300))
    rows = [
        Targets("fold", inside(folds[:2], 11), Candidates(fold=folds[:2])),
        Targets("all", inside(folds[:2], 11)),
        Targets("without", worlds.relevance({i: [2 * i] for i in range(60)}), Candidates(excluded=excluded)),
    ]
    columns = [Targets("fold", inside(folds[1:], 3), Candidates(fold=folds[1:]))]
    for shape in (None, (17, 130)):
        same_observations(scorer, (rows, columns), device, tile_shape=shape)


def blocks(scorer: Scorer, queries: Int, k: int, gallery: Int | None) -> Tops:
    """The reference, a query at a time."""
    parts = [ordering.order(scorer, queries[i : i + 1], k, gallery) for i in range(len(queries))]
    return Tops.of(np.concatenate([p.items for p in parts]), np.concatenate([p.tied for p in parts]), parts[0].gallery)


def same_orders(scorer: Scorer, device: Any) -> None:
    """Orders of all and of some queries and items, at depths on both sides of ``MAX_SORTED_DEPTH``."""
    for own in System(scorer).both:
        n, m = own.shape
        for queries, gallery in ((np.arange(n), None), (np.arange(1, n, 3), np.arange(0, m, 2))):
            width = m if gallery is None else len(gallery)
            for k in sorted({1, 10, min(70, width), width}):
                want = blocks(own, queries, k, gallery)
                found = order.order_of(device, own, queries, k, gallery)
                assert found.items.dtype == np.int32 and np.array_equal(found.items, want.items), (own.shape, k)
                assert np.array_equal(found.tied, want.tied), (own.shape, k)


def test_orders_of_ties(device: Any) -> None:
    for reach in (1, 40):
        for scorer in scorers(worlds.tied_world(40, 300, 3, reach, seed=reach)):
            same_orders(scorer, device)


@pytest.mark.parametrize("dim", gate([16, 1024], 16))
def test_hard_vectors(dim: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("cpu", "cuda"):
        monkeypatch.setitem(settings.TILE_SCORES, kind, 1000)  # several blocks, vectors converted in pieces
    for name, images, captions, exact in hard_vectors(dim, np.random.default_rng(dim)):
        for scorer, scores in zip(System(Dot(images, captions)).both, (exact, exact.T), strict=True):
            best = np.argsort(-scores, axis=1, kind="stable")
            for k in (1, 10, 71):
                found = order.order_of(device, scorer, np.arange(len(best)), k, None)
                assert np.array_equal(found.items, best[:, :k]), (name, scorer.shape, k)
        targets = [Targets("x", worlds.relevance({i: [i, 0] for i in range(len(images))}))]
        for cosine in (False, True):
            scorer = Dot(images, captions, cosine)
            same_observations(scorer, (targets, []), device, depth=(5, 5), tile_shape=(9, 70))


@pytest.mark.parametrize("cosine", [False, True, None])
@pytest.mark.parametrize("pieces", [False, True])
def test_graded_metrics(device: Any, cosine: bool | None, pieces: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a task orders 16 queries together and measures them a few at a time."""
    if pieces:
        monkeypatch.setattr(graded, "block_scores", lambda _: 1000)
    system, world = vector_world(bool(cosine))
    system = System(Matrix(world.scores)) if cosine is None else system
    same_values(system, world, GRADED, block=16, order=ordering.Order(partial(order.order_of, device)))


def test_threads_of_the_user_are_restored(device: Any) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        world = worlds.tied_world(20, 60, 3, 2, seed=1)
        observe(world.system, world.targets, threads=2, scan=partial(scan.scan, device))
        order.order_of(device, world.system.forward, np.arange(5), 3, None)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# What a user may have set, by the setting of all devices and by those of torch 2.9 and later; None: nothing.
PRECISIONS = (
    None,
    "torch.set_float32_matmul_precision('medium')",
    "b.cuda.matmul.allow_tf32 = True",
    "b.fp32_precision = 'tf32'",
    "b.cuda.matmul.fp32_precision = 'tf32'",
    "b.mkldnn.matmul.fp32_precision = 'bf16'",
    "b.cudnn.conv.fp32_precision = 'ieee'",
    "b.cudnn.fp32_precision = 'tf32'; b.mkldnn.fp32_precision = 'bf16'",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",  # a variable
)
IN_A_PROCESS = """
import sys, torch
from vsebench.rank.torch_backend import settings
b, device = torch.backends, torch.device(sys.argv[2])
exec(sys.argv[1] if not sys.argv[1].isidentifier() else "")
def state():
    each = (b, b.cudnn, b.mkldnn, b.cuda.matmul, b.cudnn.conv, b.mkldnn.matmul, b.mkldnn.conv)
    found = [m.fp32_precision for m in each] if new else []
    try:
        return [*found, torch.get_float32_matmul_precision()]
    except RuntimeError:
        return found
new = hasattr(b.cuda.matmul, "fp32_precision")
before = state()
with torch.autocast(device.type, dtype=torch.bfloat16), settings.exact(device), settings.exact(device):
    x = torch.full((64, 64), 1 + 2.0**-20, device=device)
    assert torch.mm(x, torch.eye(64, device=device)).eq(x).all()
    if new:
        assert b.cuda.matmul.fp32_precision == b.mkldnn.matmul.fp32_precision == "ieee", state()
    else:
        assert state() == ["highest"]
assert state() == before and settings.fault(device) is None, (before, state())
from vsebench.pretrained.device import float32  # of encoders
with float32(None):
    assert not new or b.cuda.matmul.fp32_precision == b.cudnn.conv.fp32_precision == "ieee", state()
assert state() == before, (before, state())
if new and "matmul" not in sys.argv[1]:  # what holds for all operations still holds for products
    b.cudnn.fp32_precision = b.mkldnn.fp32_precision = "none"
    b.fp32_precision = "tf32"
    assert b.cuda.matmul.fp32_precision == b.mkldnn.matmul.fp32_precision == "tf32", state()
"""


@pytest.mark.parametrize("setting", gate(PRECISIONS, None, PRECISIONS[3]))
def test_products_are_not_of_reduced_precision(setting: str | None, device: Any) -> None:
    """In a process of its own: torch cannot forget which of its settings were used."""
    if setting and "fp32_precision" in setting and not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("this torch has no such setting")
    variables = {setting: "1"} if setting and setting.isidentifier() else {}
    program = [sys.executable, "-c", IN_A_PROCESS, setting or "", str(device)]
    subprocess.run(program, check=True, timeout=200, env={**os.environ, **variables})


def of_tf32(x: Any) -> Any:
    """Numbers with the 10 bits of a mantissa that TF32 has."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


@pytest.fixture(params=[torch.float32, torch.float64])
def reduced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Products of a dtype have a lower precision: those of TF32, or of float32 where float64 is asked for."""
    made, dtype = torch.mm, request.param

    def mm(x: Any, y: Any, **options: Any) -> Any:
        if x.dtype != dtype:
            return made(x, y, **options)
        if dtype == torch.float32:
            return made(of_tf32(x), of_tf32(y), **options)
        return made(x.float(), y.float(), **options).double()

    monkeypatch.setattr(torch, "mm", mm)
    return dtype


def test_reduced_precision_is_found_before_a_device_is_used(
    reduced: Any, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    cpu, kind = torch.device("cpu"), str(reduced).removeprefix("torch.")
    failed = settings.fault.__wrapped__(cpu)
    assert failed is not None
    assert re.fullmatch(rf"products of {kind} have [\d.e+]+ times the error that they can have in {kind}", failed.what)
    monkeypatch.setattr(settings, "fault", settings.fault.__wrapped__)
    refuses(UsageError, backends.ranker, "torch:cpu")


@pytest.mark.parametrize("dim", [64, 256])
def test_reduced_precision_is_found_where_it_changes_ranks(
    dim: int, reduced: Any, device: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the products that are tried before: wherever the canonical score is known, the other is within its bound."""
    images = rng.normal(size=(60, dim)).astype(np.float32)
    captions = (np.repeat(images, 50, axis=0) + 3 * rng.normal(size=(3000, dim))).astype(np.float32)
    scorer, ours = Dot(images, captions, cosine=True), partial(scan.scan, device)
    if reduced == torch.float64:
        with pytest.raises(DeviceFault, match=str(device)):
            order.order_of(device, scorer, np.arange(60), 300, None)
        return
    requests = [Targets("x", worlds.relevance({i: list(range(50 * i, 50 * i + 50)) for i in range(60)}))]
    by, system = ordering.Order(partial(order.order_of, device)), System(scorer)
    for own, depth in ((requests, (0, 0)), ([], (5, 0)), ([], (0, 9))):
        with pytest.raises(DeviceFault, match=str(device)):
            observe(system, (own, []), scan=ours, depth=depth, order=by)
    with pytest.raises(DeviceFault, match=str(device)):
        order.order_of(device, scorer, np.arange(60), 10, None)
    monkeypatch.setattr(vectors.Resident, "compare", lambda *_: None)  # what would have been reported
    found, want = (observe(system, (requests, []), scan=s)[0].ranks["x"].rank for s in (ours, None))
    assert not np.array_equal(found, want)


@pytest.mark.parametrize("name", settings.LOWERED)
def test_variables_that_lower_the_precision_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is computed: torch cannot switch them off, and a product of another size may hide them."""
    gpu, fault = torch.device("cuda", 0), settings.fault.__wrapped__
    monkeypatch.setattr(torch, "mm", lambda *_: 1 / 0)
    for value in ("1", "true"):
        monkeypatch.setenv(name, value)
        assert fault(gpu) == (f"{name}={value} lowers the precision of products", f"unset {name}")
    for value in ("", "0"):
        monkeypatch.setenv(name, value)
        assert "lowers" not in fault(gpu).what
    monkeypatch.setenv(name, "1")
    assert "lowers" not in fault(torch.device("cpu")).what
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    monkeypatch.setattr(settings, "device_of", lambda _: gpu)
    monkeypatch.setattr(settings, "fault", fault)
    wanted = f"torch fails on the GPU: {name}=1 lowers the precision of products; unset {name}"
    assert backends.chosen("auto") == ("numpy", wanted)


def failing_at_first(made: Callable[..., Any], attempts: int, error: Exception) -> tuple[list[Any], Callable[..., Any]]:
    """The arguments of the calls, and a function that raises an error in the first ones, then does what is made."""
    calls = list[Any]()

    def call(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) <= attempts:
            raise error
        return made(*arguments)

    return calls, call


WANTS = (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when ..."))


@pytest.mark.parametrize("error", WANTS)
@pytest.mark.parametrize("attempts", [1, 2])
def test_too_little_memory(attempts: int, error: Exception, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    world = worlds.tied_world(40, 300, 3, 2, seed=1)
    scorer, targets = world.system.forward, world.targets
    queries, cpu = np.arange(40), torch.device("cpu")
    calls, tiles = failing_at_first(scan.corners, attempts, error)
    monkeypatch.setattr(scan, "corners", tiles)
    orders, one = failing_at_first(order._of_block, attempts, error)
    monkeypatch.setattr(order, "_of_block", one)
    if attempts == 1:
        same_observations(scorer, targets, cpu)
        found = order.order_of(cpu, scorer, queries, 20, None)
        assert np.array_equal(found.items, ordering.order(scorer, queries, 20, None).items)
    else:
        refuses(DeviceMemory, observe, world.system, targets, scan=partial(scan.scan, cpu))
        refuses(DeviceMemory, order.order_of, cpu, scorer, queries, 20, None)
    assert [height for _, _, height, _ in calls] == [40, 5]
    assert [len(arguments[2]) for arguments in orders] == [40, *[5] * (8 if attempts == 1 else 1)]


def test_other_errors_are_no_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Dot(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32))
    calls, one = failing_at_first(order._of_block, 1, RuntimeError("CUDA error: device-side assert triggered"))
    monkeypatch.setattr(order, "_of_block", one)
    with pytest.raises(RuntimeError, match="device-side assert"):
        order.order_of(torch.device("cpu"), scorer, np.arange(3), 2, None)
    assert len(calls) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(refuses: Refuses) -> None:
    refuses(UsageError, vb.evaluate, np.eye(3), np.eye(3), captions_per_image=1, backend="torch:cuda")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Torch finds two GPUs that work; nothing can be computed on them."""
    monkeypatch.setattr(environment, "DRIVERS", (tmp_path,))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(settings, "fault", lambda _: None)
    yield


def test_auto_takes_torch_where_it_finds_a_gpu(
    two_gpus: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refuses: Refuses
) -> None:
    assert backends.chosen("auto") == ("torch:cuda:0", "torch finds a GPU")
    assert backends.chosen("torch:cuda:1") == ("torch:cuda:1", "requested")
    refuses(UsageError, backends.chosen, "torch:cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert backends.chosen("auto") == ("numpy", "torch finds no GPU")
    monkeypatch.setattr(environment, "DRIVERS", (tmp_path / "absent",))
    assert backends.chosen("auto") == ("numpy", "no NVIDIA driver found")


@pytest.mark.parametrize("name", ["/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu"])
def test_drivers_of_linux_of_wsl_and_of_a_jetson(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == name)
    assert environment.has_driver()


def test_auto_leaves_a_gpu_that_does_not_work(
    two_gpus: None, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    def old(*_: Any, **__: Any) -> Any:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nmore")

    monkeypatch.undo()
    assert settings.fault.__wrapped__(torch.device("cpu")) is None
    monkeypatch.setattr(torch, "mm", old)
    failed = settings.fault.__wrapped__(torch.device("cpu"))
    assert failed.what == "CUDA error: no kernel image is available for execution on the device"
    monkeypatch.setattr(environment, "DRIVERS", (Path(__file__),))
    monkeypatch.setattr(settings, "device_of", lambda _: torch.device("cuda", 0))
    monkeypatch.setattr(settings, "fault", lambda _: failed)
    assert backends.chosen("auto") == ("numpy", f"torch fails on the GPU: {failed.what}; {failed.fix}")
    report = vb.evaluate(np.eye(3), np.eye(3), captions_per_image=1, metrics="R@1", ci=0, trust=True)
    assert report.provenance is not None and report.provenance["backend"] == "numpy"
    refuses(UsageError, backends.ranker, "torch:cuda")


def test_auto_and_doctor_with_a_torch_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('broken\\nmore')")
    for name in [name for name in sys.modules if name == "torch" or name.startswith("vsebench.rank.torch_backend")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(environment, "DRIVERS", (Path("/"),))
    assert backends.chosen("auto") == ("numpy", "there is an NVIDIA driver, but torch cannot be imported: broken")
    (torch_of,) = doctor.examine("back-end torch")
    assert torch_of.state == "fault" and torch_of.detail.startswith("fails: broken")


WANT = DeviceMemory("the device cuda:0 has too little free memory", fix="use --backend numpy")


@pytest.mark.parametrize(("error", "note"), [
    (WANT, "numpy ranked, because the device cuda:0 has too little free memory"),
    (torch.OutOfMemoryError("CUDA error: x\ny"), "numpy ranked, because torch failed on the GPU: CUDA error: x"),
])  # fmt: skip
def test_numpy_ranks_where_the_gpu_of_auto_fails(
    error: Exception, note: str, two_gpus: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(scan, "scan", fails)
    options: dict[str, Any] = {"captions_per_image": 1, "metrics": "R@1", "ci": 0, "trust": True}
    report = vb.evaluate(np.eye(3), np.eye(3), **options)
    assert note in report.notes and report.provenance is not None and report.provenance["backend"] == "numpy"
    same_reports(report, vb.evaluate(np.eye(3), np.eye(3), backend="numpy", **options))
    for name in ("torch", "torch:cuda:1"):
        with pytest.raises(type(error)) as caught:
            vb.evaluate(np.eye(3), np.eye(3), backend=name, **options)
        assert getattr(caught.value, "exit_code", 3) == 3
    for error in (ZeroDivisionError("1 / 0"), RuntimeError("of a callback"), RecursionError("too deep")):
        with pytest.raises(type(error)) as caught:
            vb.evaluate(np.eye(3), np.eye(3), **options)
        assert caught.value is error


@pytest.mark.parametrize(
    ("error", "device", "fault"),
    [
        (RuntimeError("CUDA error: an illegal memory access\nmore"), "cuda:0", True),
        (RuntimeError("of numpy"), "cpu", False),
        (RecursionError("too deep"), "cuda:0", False),
        (torch.OutOfMemoryError("CUDA out of memory"), "cuda:0", False),  # less at a time is tried
    ],
)
def test_errors_in_the_code_of_a_device(error: Exception, device: str, fault: bool) -> None:
    with pytest.raises(Exception, match=str(error).splitlines()[0]) as caught, device_faults(device):
        raise error
    assert isinstance(caught.value, DeviceFault) if fault else caught.value is error


def test_evaluate_names_the_device() -> None:
    options: dict[str, Any] = {"captions_per_image": 1, "metrics": "binary", "ci": 0, "trust": True, "lists": 2}
    want = vb.evaluate(np.eye(4), np.eye(4)[::-1], **options)
    found = vb.evaluate(np.eye(4), np.eye(4)[::-1], backend="torch:cpu", **options)
    assert found.provenance is not None and found.provenance["backend"] == "torch:cpu"
    same_reports(found, want)


@pytest.mark.nightly
@pytest.mark.real_data
def test_report_of_coco_5k(real_data: Path, device: Any) -> None:
    """Vectors of images made from object labels, thousands of them equal to another one."""
    with np.load(real_data / "proxy" / "coco5k_label_proxy.npz") as file:
        images = file["images"]
    with np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz") as file:
        vector = images, file["captions"]
    options: dict[str, Any] = {"split": "coco-5k", "trust": True, "ci": 0, "lists": 10}
    options["metrics"] = "binary,cider:CS@100,cider:nDCG@10"
    want = vb.evaluate(*vector, backend="numpy", **options)
    found = vb.evaluate(*vector, backend=f"torch:{device}", **options)
    same_reports(found, want)


@pytest.mark.parametrize("ties", ["index", "expected"])
def test_queries_with_many_relevant_items_have_the_ranks_of_numpy(ties: str) -> None:
    rng = np.random.default_rng(6)
    images, texts = (rng.integers(-2, 3, (n, 6)).astype(np.float32) for n in (40, 300))
    labels = rng.integers(0, 2, 40), rng.integers(0, 2, 300)  # some 150 relevant texts an image
    ids = {"image_ids": np.arange(40), "text_ids": np.arange(300), "image_id_of_text": np.arange(300) % 40}
    given = {**ids, "judgements": {"c": {"labels": labels}}, "ties": ties}
    found = [
        vb.evaluate(images, texts, metrics="c:mAP,c:MRR,c:R-P,R@5", ci=0, trust=True, backend=name, **given)
        for name in ("numpy", "torch:cpu")
    ]
    same_reports(*found)


def test_vectors_are_released_with_their_arrays() -> None:
    held = []
    for seed in range(3):
        x, y = (np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32) for n in (3, 15))
        vb.evaluate(x, y, metrics="R@1", ci=0, backend="torch:cpu", trust=True)
        held += [weakref.ref(x), weakref.ref(y)]
        del x, y
    gc.collect()
    assert not any(one() is not None for one in held)
