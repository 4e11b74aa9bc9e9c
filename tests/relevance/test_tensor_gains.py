"""Kendall's tau and rows of gains as tensor code: the integers and bits of the compiled kernels."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench as vb
from tests.graded_worlds import FakeGains, same_values, vector_world
from tests.relevance.test_cider import load, split_of
from tests.relevance.test_spice_gains import worlds
from vsebench.errors import DeviceMemory
from vsebench.metrics import tau
from vsebench.metrics.gain_order import gain_order
from vsebench.relevance.cider import features as cider_features
from vsebench.relevance.spice import spice as spice
from vsebench.types import DIRECTIONS, Direction

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from vsebench.graded.engine import on_device  # noqa: E402
from vsebench.metrics import torch_tau  # noqa: E402
from vsebench.relevance import torch_lists  # noqa: E402

on_gpu = pytest.param(
    "cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
)
DEVICES = pytest.mark.parametrize("device", ["cpu", on_gpu])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Many small tensors: threads of torch would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def same_counts(tied: Any, gains: Any, count: Any, ks: list[int], device: str) -> None:
    """The counts of the kernel and those of the tensor code."""
    order = gain_order(gains, count)
    assert np.array_equal(
        torch_tau.pair_counts(order, tied, count, ks, device), tau.pair_counts(order, tied, count, ks)
    )


@DEVICES
@pytest.mark.parametrize("n", [1, 2, 3, 64, 1000, 9000])
@pytest.mark.parametrize("kinds", [1, 3, 10**6])
@pytest.mark.parametrize("ties", [0.0, 0.1, 0.98, 1.0])
def test_pairs_of_tau(n: int, kinds: int, ties: float, device: str, rng: np.random.Generator) -> None:
    gains = rng.integers(0, kinds, (5, n)).astype(np.float32)
    gains[1] *= rng.random(n) < 0.3  # mostly zeros
    gains[2] = -np.arange(n)
    tied = rng.random((5, n)) < ties
    tied[:, 0] = tied[3] = False
    count = np.array([n, n, n, max(1, n // 2), n])
    same_counts(tied, gains, count, [n, 1, n // 2 + 1, n + 5, n // 3 + 1], device)


def test_pairs_of_tau_in_pieces_and_of_nothing(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setitem(torch_tau.PIECE, "cpu", 40)
    gains, count = rng.integers(0, 5, (7, 20)).astype(np.float32), np.full(7, 20)
    tied = (rng.random((7, 20)) < 0.2) & (np.arange(20) > 0)
    same_counts(tied, gains, count, [3, 20], "cpu")
    same_counts(np.zeros((7, 20), bool), gains, count, [], "cpu")
    same_counts(np.zeros((0, 20), bool), gains[:0], count[:0], [5], "cpu")


def test_too_little_memory_for_pairs_of_tau(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    made, sizes = torch_tau._counts, list[int]()

    def counts(order: Any, tied: Any, *arguments: Any) -> Any:
        sizes.append(len(tied))
        if len(sizes) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return made(order, tied, *arguments)

    monkeypatch.setattr(torch_tau, "_counts", counts)
    gains = rng.integers(0, 5, (16, 20)).astype(np.float32)
    tied = (rng.random((16, 20)) < 0.2) & (np.arange(20) > 0)
    same_counts(tied, gains, np.full(16, 20), [3, 20], "cpu")
    assert sizes == [16, *[2] * 8]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_smaller_and_equal_numbers_above(numbers: list[int]) -> None:
    less, same = torch_tau.smaller_above(torch.tensor([numbers, numbers[::-1]]))
    for row, own in enumerate((numbers, numbers[::-1])):
        assert less[row].tolist() == [sum(x < v for x in own[:i]) for i, v in enumerate(own)]
        assert same[row].tolist() == [sum(x == v for x in own[:i]) for i, v in enumerate(own)]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e9, 1e9))))
def test_sums_in_order(terms: list[tuple[int, float]]) -> None:
    want = np.array([0.1, 0.2, 0.3, 0.4])
    total = torch.tensor(want)
    for key, value in terms:
        want[key] += value
    keys = torch.tensor([k for k, _ in terms], dtype=torch.int64)
    torch_lists.add_in_order(total, keys, torch.tensor([v for _, v in terms], dtype=torch.float64))
    assert total.numpy().tobytes() == want.tobytes()


def same_rows(ours: Any, reference: Any, blocks: dict[Direction, list[tuple[int, int]]]) -> None:
    """Rows of some queries of both directions have the same bits."""
    for direction, ranges in blocks.items():
        for start, stop in ranges:
            found, want = ours.rows(direction, start, stop), reference.rows(direction, start, stop)
            assert found.dtype == want.dtype and found.tobytes() == want.tobytes(), (direction, start, stop)


@DEVICES
@pytest.mark.parametrize("frequent", [0.0, 0.3, 1.1])
@pytest.mark.parametrize("settings", [{}, {"own": "out"}, {"variant": "plain"}])
def test_rows_of_cider(frequent: float, settings: dict[str, str], device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cider_features, "FREQUENT", frequent)
    monkeypatch.setattr(torch_lists, "TILE", 400)
    rng = np.random.default_rng(7)
    weight = np.arange(1, 41) ** -1.2
    words = [f"w{i}" for i in range(40)]
    references = [
        [" ".join(rng.choice(words, rng.integers(0, 14), p=weight / weight.sum())) for _ in range(rng.integers(1, 6))]
        for _ in range(30)
    ]
    gains = load(split_of(references), {"tokens": "whitespace", **settings})
    n_image, n_caption = gains.shape
    blocks: dict[Direction, list[tuple[int, int]]] = {
        "i2t": [(0, n_image), (3, 4), (11, 20)], "t2i": [(0, n_caption), (n_caption - 1, n_caption), (5, 31)],
    }  # fmt: skip
    same_rows(on_device(gains, device), gains, blocks)


@given(worlds(), st.sampled_from(["in", "out"]))
def test_rows_of_spice(world: Any, own: str) -> None:
    split, tuples, _ = world
    made = spice.gains(split, tuples, own=own)
    images, captions = made.shape
    for device in ("cpu", *["cuda"] * torch.cuda.is_available()):
        same_rows(on_device(made, device), made, {"i2t": [(0, images), (0, 1)], "t2i": [(0, captions)]})


@pytest.mark.parametrize("attempts", [0, 1, 2])
def test_tiles_are_made_once_and_smaller_where_memory_is_short(attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks from tiles of 16 queries, in order as tasks take them; then of several threads."""
    monkeypatch.setattr(torch_lists, "TILE", 16 * 30 + 5)
    values, made = np.random.default_rng(1).random((50, 30)).astype(np.float32), list[tuple[int, int]]()

    def compute(direction: Direction, first: int, last: int) -> Any:
        made.append((first, last))
        if len(made) <= attempts:
            raise torch.OutOfMemoryError("CUDA out of memory")
        assert direction == "i2t"
        return torch.tensor(values[first:last])

    tiles = torch_lists.Tiles("cpu", compute, values.shape)
    if attempts == 2:
        with pytest.raises(DeviceMemory, match="too little free memory"):
            tiles.rows("i2t", 0, 3)
        assert made == [(0, 16), (0, 2)]
        return
    blocks = [(a, min(a + 3, 50)) for a in range(0, 50, 3)]
    assert np.concatenate([tiles.rows("i2t", *block) for block in blocks]).tobytes() == values.tobytes()
    pieces = [(a, a + 2) for a in range(0, 16, 2)] * attempts
    assert made == [(0, 16), *pieces, (16, 32), (32, 48), (48, 50)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda block: tiles.rows("i2t", *block), blocks))
    assert np.concatenate(found).tobytes() == values.tobytes()


def test_operations_on_a_device_do_not_grow_with_the_blocks() -> None:
    """A launch takes microseconds whatever its size: five blocks of a tile are no more work than one."""

    class Count(TorchDispatchMode):
        operations = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.operations += 1
            return function(*args, **(kwargs or {}))

    rng = np.random.default_rng(3)
    references = [[" ".join(f"w{w}" for w in rng.integers(0, 9, n)) for n in range(1, 12)] for _ in range(30)]
    gains = load(split_of(references), {"tokens": "whitespace"})
    for direction in DIRECTIONS:
        with Count() as one:
            on_device(gains, "cpu").rows(direction, 0, 6)
        ours = on_device(gains, "cpu")
        with Count() as five:
            for start in range(0, 30, 6):
                ours.rows(direction, start, start + 6)
        assert 0 < five.operations == one.operations < 900


@DEVICES
def test_other_gains_are_left_alone(device: str) -> None:
    gains = FakeGains(np.zeros((2, 3)))
    assert on_device(gains, device) is gains


@DEVICES
def test_values_of_graded_metrics(device: str) -> None:
    names = ("cider:CS@30", "cider:CS[captions=all,tau=c]@100", "cider:Kendall[gt=out]", "cider:NCS@5")
    same_values(*vector_world(), names, device=device)


@pytest.mark.real_data
@DEVICES
def test_rows_of_coco_5k(real_data: Path, device: str) -> None:
    gains = load(vb.load_split("coco-5k", captions=True), {})
    blocks: dict[Direction, list[tuple[int, int]]] = {"i2t": [(2000, 2010)], "t2i": [(9000, 9060)]}
    same_rows(on_device(gains, device), gains, blocks)
