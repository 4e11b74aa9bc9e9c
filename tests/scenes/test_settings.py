"""The settings of a data set of scenes are its name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.messages import Refuses
from vsebench.errors import UsageError
from vsebench.scenes import settings
from vsebench.scenes.settings import PARTS, Settings, parse

NAMES = {
    "scenes-tiny": Settings(200),
    "scenes-200": Settings(200),
    "scenes-10k": Settings(),
    "scenes-10000": Settings(),
    "scenes-2500": Settings(2500),
    "scenes-1000k": Settings(1_000_000),
    "scenes-10k-seed3-size32": Settings(seed=3, size=32),
    "scenes-10k-size32-seed3": Settings(seed=3, size=32),
    "scenes-10k-seed0": Settings(),
    "scenes-10k-near0": Settings(near=0),
    "scenes-10k-near.5-tail1-wrong0-generic0.30-noise0-miss0-leaks":
        Settings(near=0.5, tail=1.0, wrong=0.0, generic=0.3, noise=0, miss=0, leaks=True),
}  # fmt: skip
ERRORS = """
scenes scenes- scene-10k scenes-0 scenes-10m scenes-10k- scenes-10k-seed-3 scenes-10k-near1e-3 scenes-10k-SEED3
scenes-5 scenes-2000k scenes-10k-seed2147483648 scenes-10k-size8 scenes-10k-near0.95 scenes-10k-wrong0.5-generic0.5
scenes-10k-tail6 scenes-10k-test scenes-10k-seed3-seed4 scenes-10k-images5 scenes-10k-seed3.5 scenes-10k-near1.2.3
scenes-10k-size scenes-10k-leaks1
"""

IMAGES = st.integers(10, 1_000_000) | st.sampled_from([200, 1000, 10_000])
ALL = st.builds(
    Settings, images=IMAGES, seed=st.integers(0, 2**31 - 1), size=st.integers(16, 512), near=st.floats(0, 0.9),
    tail=st.floats(0, 5), wrong=st.floats(0, 0.45), generic=st.floats(0, 0.45), noise=st.floats(0, 5),
    miss=st.floats(0, 0.9), leaks=st.booleans(),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert parse(name) == NAMES[name]


@given(ALL)
@example(Settings(near=1e-7, noise=1e-300, tail=0.1 + 0.2))
def test_the_name_of_settings_is_read_as_these_settings(asked: Settings) -> None:
    assert parse(asked.name) == asked
    assert parse(asked.name).name == asked.name
    assert settings.is_name(asked.name)


@pytest.mark.parametrize("name", ERRORS.split())
def test_errors(name: str, refuses: Refuses) -> None:
    refuses(UsageError, parse, name)


@pytest.mark.parametrize("field", [f.name for f in fields(Settings) if f.name != "leaks"])
@pytest.mark.parametrize("value", [-1, -0.001, float("nan"), float("inf"), 10**10])
def test_values_out_of_range(field: str, value: Any, refuses: Refuses) -> None:
    refuses(UsageError, Settings, **{field: value})


@given(st.integers(10, 1_000_000))
def test_parts(images: int) -> None:
    asked = Settings(images)
    sizes = asked.sizes
    assert list(sizes) == ["train", "val", "test"] and sum(sizes.values()) == images
    assert sizes["val"] == sizes["test"] <= 5000 and sizes["train"] >= images / 2
    assert sizes["val"] >= min(50, images // 4)
    starts = [asked.start(part) for part in PARTS]
    assert starts == [0, sizes["train"], sizes["train"] + sizes["val"]]
    for part, start in zip(PARTS, starts, strict=True):
        assert asked.part_of(start) == asked.part_of(start + sizes[part] - 1) == part


def test_parts_of_the_usual_sizes() -> None:
    sizes = {n: tuple(Settings(n).sizes.values()) for n in (10, 200, 1000, 10_000, 100_000)}
    assert sizes[10] == (6, 2, 2) and sizes[200] == (100, 50, 50) and sizes[1000] == (800, 100, 100)
    assert sizes[10_000] == (8000, 1000, 1000) and sizes[100_000] == (90_000, 5000, 5000)


def test_names_of_splits() -> None:
    assert settings.split_name("scenes-tiny", "test") == "scenes-tiny-test"
    assert settings.of_split("scenes-tiny-test") == ("scenes-tiny", "test")
    assert settings.of_split("scenes-10k-seed3-val") == ("scenes-10k-seed3", "val")
    for other in ("scenes-tiny", "scenes-test", "coco-5k-test", "scenes-tiny-", "test", ""):
        assert settings.of_split(other) is None, other
