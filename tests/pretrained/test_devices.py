"""Several devices: each encodes parts in turn, and the file has the bytes of one; which GPUs a name means."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import vsebench
from tests import clip_models
from vsebench.errors import UsageError
from vsebench.files import store

torch = pytest.importorskip("torch", reason="torch is not installed (extra: clip)")
pytest.importorskip("open_clip", reason="open_clip is not installed (extra: clip)")

from vsebench.pretrained import device as devices  # noqa: E402
from vsebench.pretrained import encode as encoding  # noqa: E402
from vsebench.pretrained import parts  # noqa: E402

FILES = [f"{n}.png" for n in range(9)]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model, images with captions, and a cache of its own; a part is one batch."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(parts, "BATCHES_PER_PART", 1)
    monkeypatch.chdir(tmp_path)
    clip_models.photos(Path("photos"), FILES)
    clip_models.captions_csv(Path("c.csv"), FILES)
    return clip_models.open_clip_folder(tmp_path / "tiny-clip")


def two(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """Two devices, both the processor; how many items each of their models encodes a call."""
    encoded: dict[int, list[int]] = {}
    monkeypatch.setattr(encoding, "devices_of", lambda name: ["cpu", "cpu"])
    monkeypatch.setattr(encoding, "check_vectors", lambda *given: None)  # by the first one alone
    load, both, waiting = encoding.load_open_clip, threading.Barrier(2, timeout=60), [True, True]

    def loaded(*arguments: Any) -> Any:
        found, number = load(*arguments), len(encoded)
        encoded[number] = []

        def noted(encode: Any) -> Any:
            def call(inputs: list[Any]) -> Any:
                assert torch.is_inference_mode_enabled()
                encoded[number].append(len(inputs))
                if waiting[number]:  # the first time: neither does all of the work
                    waiting[number] = False
                    both.wait()
                return encode(inputs)

            return call

        return replace(found, images=noted(found.images), captions=noted(found.captions))

    monkeypatch.setattr(encoding, "load_open_clip", loaded)
    return encoded


def test_the_file_of_one_device(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = vsebench.encode(model, "photos", "c.csv", batch=2, device="cpu", output="one.npz")
    encoded, seen = two(monkeypatch), list[tuple[int, int]]()
    vsebench.encode(model, "photos", "c.csv", batch=2, output="two.npz", progress=lambda *x: seen.append(x))
    assert Path("one.npz").read_bytes() == Path("two.npz").read_bytes()
    assert len(encoded) == 2 and all(encoded.values())
    total = len(FILES) + len(one.captions.ids)
    assert sum(map(sum, encoded.values())) == total
    assert [done for done, _ in seen] == sorted({done for done, _ in seen}) and seen[-1] == (total, total)
    assert not store.entries(parts.KIND)


def test_an_interrupted_call_goes_on_with_another_number_of_devices(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vsebench.encode(model, "photos", "c.csv", batch=2, device="cpu", output="one.npz")

    def stop(done: int, total: int) -> None:
        if done > 12:
            raise KeyboardInterrupt

    encoded = two(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        vsebench.encode(model, "photos", "c.csv", batch=2, progress=stop)
    kept = store.entries(parts.KIND)
    assert kept and all(encoded.values())
    monkeypatch.undo()
    monkeypatch.setenv("VSEBENCH_CACHE", str(model.parent / "cache"))
    monkeypatch.setattr(parts, "BATCHES_PER_PART", 1)
    monkeypatch.chdir(model.parent)
    found = vsebench.encode(model, "photos", "c.csv", batch=2, device="cpu", output="again.npz")
    assert found.notes[-1].endswith("vectors are from an interrupted call")
    assert Path("one.npz").read_bytes() == Path("again.npz").read_bytes()


def gpus(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(kinds))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(kinds))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: kinds[number(device)])


def number(device: int | str) -> int:
    return device if isinstance(device, int) else torch.device(device).index or 0


def test_the_devices_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, "H100", "H100", "A10")
    found = {name: devices.devices_of(name) for name in ("auto", "cpu", "cuda", "1", "1,0")}
    assert found == {
        "auto": ["cuda"], "cpu": ["cpu"], "cuda": ["cuda"], "1": ["cuda:1"], "1,0": ["cuda:1", "cuda:0"],
    }  # fmt: skip
    assert devices.facts("cuda:0") == devices.facts("cuda:1") == {"device": "cuda, H100"}
    gpus(monkeypatch, "H100", "H100")
    assert devices.devices_of("all") == ["cuda:0", "cuda:1"]


@pytest.mark.parametrize(
    ("name", "kinds", "said"),
    [
        ("all", (), "device is 'all', and torch finds no GPU here"),
        ("0", (), "device is '0', and torch finds no GPU here"),
        ("0,2", ("a", "a"), "device is '0,2', and torch finds 2 GPUs here"),
        ("1,1", ("a", "a"), "device is '1,1'"),
        ("all", ("a", "b"), "device is 'all', and these are of different kinds: a, b"),
        ("cuda:1", ("a", "a"), "device is 'cuda:1'"),
        ("", ("a",), "device is ''"),
    ],
)
def test_devices_that_are_refused(name: str, kinds: tuple[str, ...], said: str, monkeypatch: Any) -> None:
    gpus(monkeypatch, *kinds)
    with pytest.raises(UsageError) as caught:
        devices.devices_of(name)
    assert caught.value.what == said and caught.value.fix
