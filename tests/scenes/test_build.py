"""Scenes are built: the bytes of every file, an interruption at any moment, and two builds at once."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench
from tests.commands import cli
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, DiskError, MissingPackage, UsageError
from vsebench.files.atomic import hidden_of
from vsebench.scenes import build as building
from vsebench.scenes import folder
from vsebench.scenes.build import build, build_scenes, settings_of_name
from vsebench.scenes.folder import HEADER_BYTES, header
from vsebench.scenes.settings import PARTS, Settings, parse
from vsebench.scenes.store import open_scenes
from vsebench.sets import catalogue, stored

SMALL = "scenes-10-seed1-size16"
PARTIAL = "scenes-45-size16"
ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("cache")


@contextmanager
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of its own, for a fixture of the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of ``PARTIAL`` and of its splits, built without interruption."""
    with elsewhere(tmp_path_factory):
        build(parse(PARTIAL))
        return contents(PARTIAL)


def contents(name: str) -> dict[str, str]:
    """The SHA-256 of every file of a data set, and of the content of its splits."""
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.folder_of(name).iterdir())}
    for part in PARTS:
        split = vsebench.load_split(f"{name}-{part}", captions=True)
        found[part] = repr((split.rows.ids.tolist(), split.columns.ids.tolist(), split.columns.texts))
    return found


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def partial() -> Path:
    """The folder in which ``PARTIAL`` is built."""
    return hidden_of(folder.folder_of(PARTIAL))[0]


def no_data_set(name: str) -> bool:
    """Whether nothing looks like a finished data set."""
    with pytest.raises(MissingPackage, match=re.escape(name)):
        open_scenes(name)
    for part in PARTS:
        with pytest.raises(MissingPackage) as caught:
            vsebench.load_split(f"{name}-{part}")
        assert caught.value.fix == f"run: vsebench data build {name}"
    return {s.available for s in catalogue.status() if s.name.startswith(f"{name}-")} <= {"absent"}


# --- the files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [SMALL, "scenes-tiny"])
def test_the_bytes_of_every_file(name: str, golden: Callable[[str], dict[str, Any]]) -> None:
    """Values that earlier builds have given: the same on every machine and version of Python and numpy."""
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in build(parse(name)).iterdir()}
    assert found == golden(name)


def test_files_agree_with_one_another() -> None:
    scenes = build_scenes(SMALL)
    regions = int(scenes.region_start[-1])
    assert scenes.images.shape == (10, 16, 16, 3) and scenes.images.dtype == np.uint8
    assert (len(scenes.scenes), len(scenes.facts)) == (10, 50)
    assert len(scenes.regions) == len(scenes.boxes) == regions and scenes.regions.dtype == np.float32
    assert scenes.region_start.dtype == np.int64 and (np.diff(scenes.region_start) >= 2).all()
    told, said = lines(scenes.folder / "scenes.jsonl"), lines(scenes.folder / "captions.jsonl")
    assert [t["id"] for t in told] == [f"{SMALL}-{n:06d}" for n in range(10)]
    assert [s["caption_id"] for s in said] == [f"{SMALL}-{n:06d}-{c}" for n in range(10) for c in range(5)]
    assert [s["image_id"] for s in said] == [t["id"] for t in told for _ in range(5)]
    assert [t["part"] for t in told] == ["train"] * 6 + ["val"] * 2 + ["test"] * 2
    objects = [sum(group["number"] for group in t["groups"]) for t in told]
    assert (np.diff(scenes.region_start) <= np.array(objects) + 1).all()  # and the image itself
    assert all(len(group["boxes"]) == group["number"] for t in told for group in t["groups"])
    about = json.loads((scenes.folder / "about.json").read_text(encoding="utf-8"))
    assert about["numbers"]["captions"] == 50 and about["numbers"]["regions"] == regions
    kinds = [s["kind"] for s in said]
    assert {k: about["numbers"][f"{k} captions"] for k in set(kinds)} == {k: kinds.count(k) for k in set(kinds)}
    for file, facts in about["files"].items():
        content = (scenes.folder / file).read_bytes()
        assert (facts["bytes"], facts["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_lines_say_what_arrays_hold() -> None:
    """Columns of the arrays, by the documentation of ``encode``, against the words of the lines."""
    scenes = build_scenes("scenes-60-size16")
    shapes = ("circle", "square", "triangle", "diamond", "star", "cross", "ring", "heart", "moon", "arrow")
    backgrounds = ("grey", "beige", "brown", "teal")
    for row, told in zip(scenes.scenes.tolist(), lines(scenes.folder / "scenes.jsonl"), strict=True):
        assert row[0] == len(told["groups"]) and backgrounds[row[21]] == told["background"]
        for n, group in enumerate(told["groups"]):
            assert (shapes[row[1 + 5 * n]], row[5 + 5 * n]) == (group["shape"], group["number"])
            for left, top, right, bottom in group["boxes"]:
                assert 0 <= left < right <= 16 and 0 <= top < bottom <= 16 and right - left == bottom - top
        assert row[-1] == 5 * len(told["groups"]) + 1 + len(told["relations"])
    for row, said in zip(scenes.facts.tolist(), lines(scenes.folder / "captions.jsonl"), strict=True):
        facts = said["facts"]
        assert row[0] == len(facts["mentions"])
        stated = sum(map(len, facts["mentions"])) + len(facts.get("relations", [])) + ("background" in facts)
        assert row[-2] == stated and ("true", "wrong", "generic")[row[-1]] == said["kind"]
        assert (stated == 0) == (said["kind"] == "generic")


@pytest.mark.parametrize(("descr", "shape"), [("|u1", (1_000_000, 512, 512, 3)), ("<f4", (0, 29)), ("<i8", (11,))])
def test_headers_are_those_of_numpy(descr: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    written = header(descr, shape)
    assert len(written) == HEADER_BYTES
    with (tmp_path / "x.npy").open("w+b") as stream:
        stream.write(written)
        stream.seek(0)
        assert np.lib.format.read_magic(stream) == (1, 0)
        assert np.lib.format.read_array_header_1_0(stream) == (shape, False, np.dtype(descr))
        assert stream.tell() == HEADER_BYTES


# --- interruption ------------------------------------------------------------------------------------------


def finished(name: str, whole: Any) -> bool:
    """Whether the data set, and nothing else, is there after another build."""
    build(parse(name))
    return contents(name) == whole and [p.name for p in folder.root().iterdir()] == [name]


@pytest.mark.parametrize("function", ["add_image", "header", "_write_about", "store"])
def test_an_interrupted_build_leaves_nothing(function: str, monkeypatch: pytest.MonkeyPatch, whole: Any) -> None:
    """While images are drawn, before the headers are written, before about.json is, before splits are stored."""
    original, calls = getattr(building, function), 0

    def interrupted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2 or function == "_write_about":
            raise KeyboardInterrupt
        return original(*args)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(building, function, interrupted)
        build(parse(PARTIAL))
    if function == "store":
        assert vsebench.load_split(f"{PARTIAL}-train") is not None
        with pytest.raises(MissingPackage):
            vsebench.load_split(f"{PARTIAL}-val")
    else:
        assert no_data_set(PARTIAL) and list(folder.root().iterdir()) == []
    assert finished(PARTIAL, whole)


def test_killed_while_an_older_one_is_replaced(monkeypatch: pytest.MonkeyPatch, whole: Any) -> None:
    build(parse(PARTIAL))
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self == partial():
            raise SystemExit
        return rename(self, target)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Path, "rename", killed)
        build(parse(PARTIAL), replace=True)
    assert no_data_set(PARTIAL) and finished(PARTIAL, whole)


SLOW = """
import os, sys, time
from vsebench.scenes import build
from vsebench.scenes.settings import parse
def slow(*args, add=build.add_image):
    time.sleep(0.01)
    return add(*args)
build.add_image = slow
print("started", flush=True)
build.build(parse(sys.argv[1]))
"""


def test_kill_9(whole: Any) -> None:
    for seconds in (0.05, 0.1, 0.2, 0.3):
        process = subprocess.Popen([sys.executable, "-c", SLOW, PARTIAL], stdout=subprocess.PIPE, cwd=ROOT)
        assert process.stdout is not None and process.stdout.readline() == b"started\n"
        time.sleep(seconds)
        process.kill()
        process.communicate()
        assert folder.folder_of(PARTIAL).exists() or no_data_set(PARTIAL)
    assert finished(PARTIAL, whole)


def test_two_builds_at_once(whole: Any, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    add, begun, go = building.add_image, threading.Event(), threading.Event()

    def waits(*args: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            begun.set(), go.wait(20)
        return add(*args)

    monkeypatch.setattr(building, "add_image", waits)
    with ThreadPoolExecutor(1) as other:
        done = other.submit(build, parse(PARTIAL))
        assert begun.wait(20)
        try:
            refuses(DiskError, build, parse(PARTIAL))
            refuses(DiskError, catalogue.remove, PARTIAL)
            build(parse(SMALL))  # another data set is not concerned
        finally:
            go.set()
        done.result()
    assert contents(PARTIAL) == whole


# --- the disk ----------------------------------------------------------------------------------------------


def test_too_little_space(monkeypatch: pytest.MonkeyPatch, cache: Path, refuses: Refuses) -> None:
    """It is known before the build; the estimate is enough."""
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10 << 20}))
    assert "VSEBENCH_CACHE" in str(refuses(DiskError, build, parse("scenes-10k")).fix)
    assert no_data_set("scenes-10k")
    build(parse(SMALL))
    asked: list[float] = []
    monkeypatch.setattr(building, "size", lambda nbytes: asked.append(nbytes) or "")
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 0}))
    with pytest.raises(DiskError):
        build(parse("scenes-tiny"))
    monkeypatch.undo()
    os.environ["VSEBENCH_CACHE"] = str(cache)
    taken = sum(p.stat().st_size for p in build(parse("scenes-tiny")).iterdir())
    taken += sum(stored.stored_path(f"scenes-tiny-{part}").stat().st_size for part in PARTS)
    assert taken < asked[0] < 1.6 * taken


def test_a_full_disk(cache: Path, pinned: Pinned, refuses: Refuses) -> None:
    """Files may take so many bytes only: an exit code, and nothing is left on the disk. Then the cache is a file."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        pinned(cli("data", "build", PARTIAL, code=6).err)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert no_data_set(PARTIAL) and list(folder.root().iterdir()) == []
    shutil.rmtree(cache)
    cache.write_text("x")
    refuses(DiskError, build, parse(SMALL))


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write anywhere")
def test_a_cache_without_permission(cache: Path) -> None:
    cache.mkdir(mode=0o500)
    with pytest.raises(DiskError, match=re.escape(str(cache))):
        build(parse(SMALL))


def test_share_of_missed_objects() -> None:
    """The shares of scenes and captions are those of their functions and of ``data describe``."""
    scenes = build_scenes("scenes-200-size16-miss0.5")
    told = lines(scenes.folder / "scenes.jsonl")
    objects = [sum(group["number"] for group in t["groups"]) for t in told]
    found = np.diff(scenes.region_start) - 1  # the last one is the image
    many = [n for n, count in enumerate(objects) if count > 5]  # of which at least one is hardly ever kept by force
    trials = sum(objects[n] for n in many)
    missed = trials - sum(int(found[n]) for n in many)
    assert abs(missed - trials * 0.5) <= 4 * math.sqrt(trials * 0.25)


# --- names, opening, damage --------------------------------------------------------------------------------


def test_names_and_settings(refuses: Refuses) -> None:
    assert settings_of_name("scenes", {}) == Settings() == parse("scenes-10k")
    assert settings_of_name("scenes", {"images": 2500, "seed": 3, "size": 32}).name == "scenes-2500-seed3-size32"
    assert settings_of_name("scenes-200", {}).name == settings_of_name("scenes-tiny-val", {}).name == "scenes-tiny"
    assert build_scenes("scenes", images=10, seed=1, size=16).name == SMALL
    refuses(UsageError, build_scenes, near=1e-300)
    refuses(UsageError, build_scenes, "scenes-tiny", seed=3)
    refuses(UsageError, build_scenes, "other")


def test_a_name_with_every_setting() -> None:
    name = "scenes-12-seed2147483647-size17-near0.123456-tail0.654321-wrong0.111111-generic0.111111-noise0.987654"
    name += "-miss0.123456-leaks"
    scenes = build_scenes(name)
    assert scenes.name == name and vsebench.load_split(f"{name}-test").rows.ids[0] == f"{name}-000009"
    assert f"{name}-test" in catalogue.names()


def test_rows_of_ids(refuses: Refuses) -> None:
    scenes = build_scenes("scenes-60-size16")
    split = vsebench.load_split("scenes-60-size16-val")
    images = scenes.part("val")
    assert scenes.image_rows(split.rows.ids).tolist() == list(range(images.start, images.stop)) == list(range(30, 45))
    assert scenes.caption_rows(split.columns.ids[::-1]).tolist() == list(range(150, 225))[::-1]
    assert scenes.image_rows(["scenes-60-size16-000007", "scenes-60-size16-000003"]).tolist() == [7, 3]
    assert scenes.caption_rows(["scenes-60-size16-000003-4"]).tolist() == [19]
    assert open_scenes("scenes-60-size16-val").name == "scenes-60-size16"
    wrong = ["scenes-60-000001", "scenes-60-size16-000060", "scenes-60-size16-1", "scenes-60-size16-00001-0", "", "7"]
    for text in [*wrong, "scenes-60-size16-000001-2"]:
        refuses(BadInput, scenes.image_rows, np.array([text]))
    for text in [*wrong, "scenes-60-size16-000001", "scenes-60-size16-000001-5", "scenes-60-size16-000001-02"]:
        refuses(BadInput, scenes.caption_rows, np.array([text]))
    refuses(UsageError, scenes.part, "tset")


def test_what_is_built_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(parse(SMALL))
    before = {p: p.stat().st_mtime_ns for p in [*first.iterdir(), *stored.stored_path("x").parent.iterdir()]}
    monkeypatch.setattr(building, "locked", None)  # nothing is written, also not a lock: the cache may be read-only
    assert build(parse(SMALL)) == first
    assert {p: p.stat().st_mtime_ns for p in before} == before


CALLS: list[Callable[[], Any]] = [
    lambda: open_scenes(SMALL), lambda: vsebench.load_split(f"{SMALL}-test"), lambda: build(parse(SMALL)),
]  # fmt: skip


def test_damaged_files(refuses: Refuses) -> None:
    build(parse(SMALL))
    path = folder.folder_of(SMALL) / "scenes.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert {refuses(BadInput, call).where for call in CALLS} == {str(path)}
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # found only where the content is read
    assert [c.name for c in catalogue.verify(SMALL) if not c.ok] == ["scenes.npy"]
    path.write_bytes(b"\x00" * len(content))
    refuses(BadInput, open_scenes, SMALL)
    path.unlink()
    refuses(BadInput, open_scenes, SMALL)
    (folder.folder_of(SMALL) / "about.json").unlink()
    refuses(BadInput, open_scenes, SMALL)
    build(parse(SMALL), replace=True)
    assert all(check.ok for check in catalogue.verify(SMALL))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"generator": 1}', '{"schema": "vsebench/scenes/1", "files": 3}'])
def test_a_damaged_description(text: str, refuses: Refuses) -> None:
    (build(parse(SMALL)) / "about.json").write_text(text)
    refuses(BadInput, open_scenes, SMALL)


def test_another_version_of_the_generator(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    build(parse(SMALL))
    for module in (building, folder):
        monkeypatch.setattr(module, "GENERATOR_VERSION", 3)
    for call in CALLS:
        refuses(BadInput, call)
    assert {s.available for s in catalogue.status() if s.name.startswith(SMALL)} == {"damaged"}
    build(parse(SMALL), replace=True)
    assert open_scenes(SMALL).name == SMALL and vsebench.load_split(f"{SMALL}-test") is not None


def test_a_damaged_split_is_stored_again(refuses: Refuses) -> None:
    build(parse(SMALL))
    path = stored.stored_path(f"{SMALL}-val")
    path.write_bytes(path.read_bytes()[:100])
    refuses(BadInput, vsebench.load_split, f"{SMALL}-val")
    build(parse(SMALL))
    assert len(vsebench.load_split(f"{SMALL}-val", captions=True).columns.texts or ()) == 10
