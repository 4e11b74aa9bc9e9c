"""What a GPU needs: block sizes, little memory, several processes, variables of the environment.

Marked ``gpu`` is what needs one; the same bodies run on the processor where they mean something there.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests import worlds
from tests.devices import DEVICES, GRADED, NO_GPU, same_observations
from tests.graded_worlds import same_values, vector_world
from vsebench import environment
from vsebench.environment import local_rank
from vsebench.rank import backends
from vsebench.rank import order as ordering
from vsebench.rank.scorers import Dot

torch = pytest.importorskip("torch", reason="torch is not installed")
from vsebench.rank.torch_backend import order, scan, settings  # noqa: E402

GPU = settings.TILE_SCORES["cuda"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A GPU where there is one, and the processor with the sizes of one."""
    monkeypatch.setitem(settings.TILE_SCORES, "cpu", GPU)
    return settings.device_of(request.param)


def test_default_tiles_of_a_device(device: Any) -> None:
    world = worlds.tied_world(300, 1700, 4, 3, seed=5)
    for cosine in (False, True):
        same_observations(Dot(world.images, world.captions, cosine), world.targets, device, depth=(9, 200))
    order_of = ordering.Order(partial(order.order_of, device), order.together)
    same_values(*vector_world(), GRADED, order=order_of)


@pytest.mark.parametrize(("shape", "tile"), [
    ((5000, 25_000), (5000, 13_421)), ((31_000, 155_000), (8192, 8192)), ((10**7, 10**6), (8192, 8192)),
    ((100, 50), (100, 50)), ((10**6, 40), (10**6, 67)),
])  # fmt: skip
def test_tiles_of_a_device_have_its_scores(shape: tuple[int, int], tile: tuple[int, int]) -> None:
    found = scan._tile_shape(shape, GPU)
    assert found == (tile[0], min(tile[1], shape[1])) and found[0] * found[1] <= GPU


def test_tasks_of_a_device() -> None:
    """2^24 scores, up to 2^26 of a large gallery."""
    found = {n: order.together(n, 10) for n in (1, 5000, 25_000, 10**6, 10**7, 10**9)}
    assert found == {1: 1 << 24, 5000: 3355, 25_000: 671, 10**6: 64, 10**7: 6, 10**9: 1}


def test_the_device_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert str(settings.device_of(None)) == "cuda:0"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 2)
    assert [str(settings.device_of(name)) for name in (None, "cuda", "cuda:1", "cuda:0")] == [
        "cuda:2", "cuda:2", "cuda:1", "cuda:0",
    ]  # fmt: skip
    for rank, own in (("3", 3), ("5", 1), ("", 2), ("x", 2), ("-1", 2)):
        monkeypatch.setenv("LOCAL_RANK", rank)
        assert settings.device_of("cuda").index == own, rank
    assert local_rank() is None


def test_the_provenance_names_the_gpu_and_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC version: 13.2.0\n"
    )
    monkeypatch.setattr(environment, "DRIVERS", (tmp_path / "version",))
    monkeypatch.setattr(settings, "device_of", lambda name: torch.device(name))
    gpu = SimpleNamespace(name="NVIDIA H200", total_memory=141 << 30, major=9, minor=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: gpu)
    about = f"NVIDIA H200, 141 GiB, compute capability 9.0, CUDA {torch.version.cuda}, driver 570.86.15"
    assert backends.about_device("torch:cuda:1") == {"device": about}
    assert backends.about_device("torch:cpu") == backends.about_device("numpy") == {}
    monkeypatch.setattr(environment, "DRIVERS", (tmp_path / "absent",))
    assert backends.about_device("faiss") == {}
    assert backends.about_device("torch:cuda")["device"].endswith("driver of unknown version")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_takes_the_gpu_of_its_rank(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", str(rank))
    made = worlds.world(200, 5, dim=64)
    options: dict[str, Any] = {**made.vectors, "captions_per_image": 5, "metrics": "binary", "ci": 0, "trust": True}
    found, wanted = (vb.evaluate(backend=name, **options) for name in ("torch:cuda", "numpy"))
    assert [r.value for r in found.results] == [r.value for r in wanted.results]
    assert found.provenance is not None
    assert found.provenance["backend"] == f"torch:cuda:{rank % torch.cuda.device_count()}"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)
def test_a_gpu_with_little_memory() -> None:
    """A part of it, which is enough for tiles of an eighth or for none: the digits of numpy, or one clear error."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4000, 256))
    y = np.repeat(x, 5, axis=0) + 9 * rng.standard_normal((20_000, 256))
    options: dict[str, Any] = {"captions_per_image": 5, "metrics": "R@1,MedR", "ci": 0, "trust": True}
    want = vb.evaluate(x, y, backend="numpy", **options)
    try:
        for share in (0.5, 0.01, 0.002, 0.0002):
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(share)
            try:
                found = vb.evaluate(x, y, backend="torch:cuda", **options)
            except vb.VsebenchError as error:
                assert "too little free memory" in str(error), share
            else:
                assert [r.value for r in found.results] == [r.value for r in want.results], share
            assert vb.evaluate(x, y, **options).results[0].value == want.results[0].value  # auto goes on with numpy
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
