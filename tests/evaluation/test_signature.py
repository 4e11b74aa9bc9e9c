"""The signature has a field for everything that can change a digit, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests.messages import Refuses
from vsebench import signature
from vsebench.errors import UsageError
from vsebench.types import Side, TestSet

SPLIT = TestSet.captioned("custom", np.array([10, 20]), np.arange(1, 5), np.array([0, 0, 1, 1]))
KEY = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1)
VALUE = st.text(st.characters(exclude_characters="|", codec="utf-8"))


@given(st.dictionaries(KEY, VALUE, min_size=1))
def test_what_is_written_is_read_back(fields: dict[str, str]) -> None:
    assert signature.read(signature.write(fields)) == fields
    assert list(signature.read(signature.write(fields))) == list(fields)


@pytest.mark.parametrize(("key", "value"), [("a|b", "x"), ("a:b", "x"), ("a", "x|y")])
def test_separators_are_refused(key: str, value: str, refuses: Refuses) -> None:
    refuses(UsageError, signature.write, {key: value})


@pytest.mark.parametrize("text", ["", "split", "a:1|b", ":x", "a:1||b:2"])
def test_other_texts_are_no_signature(text: str, refuses: Refuses) -> None:
    refuses(UsageError, signature.read, text)


def test_the_fingerprint_is_that_of_ids_and_their_images() -> None:
    same = [
        replace(SPLIT, name="other"),
        SPLIT.with_texts(("a", "b", "c", "d")),
        replace(SPLIT, rows=Side("image", np.array([10, 20], np.int32))),
        replace(SPLIT, columns=Side("caption", np.array([1, 2, 4, 3]))),  # in another order
    ]
    other = [
        replace(SPLIT, rows=Side("image", np.array([20, 10]))),
        replace(SPLIT, rows=Side("image", np.array([10, 21]))),
        replace(SPLIT, image_of=np.array([0, 1, 0, 1])),
        replace(SPLIT, folds=(np.array([0, 1]), np.array([0, 1])[SPLIT.image_of])),
    ]
    first = signature.fingerprint(SPLIT)
    assert len(first) == 8 and int(first, 16) >= 0
    assert {signature.fingerprint(s) for s in same} == {first}
    assert len({first, *(signature.fingerprint(s) for s in other)}) == 5


def test_the_fingerprint_is_the_same_on_every_machine() -> None:
    # Computed by other code: sha256 of one id a line, a zero byte, ..., and the images as little-endian int64.
    assert signature.fingerprint(SPLIT) == "194ff152"
    words = TestSet.captioned("custom", np.array(["a", "ü"]), np.array(["x", "y"]), np.arange(2))
    assert signature.fingerprint(words) == "3c631daa"


def fields(**options: object) -> dict[str, str]:
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    y = np.array([[1.0, 0.5], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return signature.read(vsebench.evaluate(x, y, split=SPLIT, **options).signature)


def test_the_fields() -> None:
    assert fields() == {
        "vsebench": vsebench.__version__,
        "split": f"custom#{signature.fingerprint(SPLIT)}",
        "score": "cosine",
        "order": "f64",
        "ties": "index",
        "empty": "skip",
    }


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ({"similarity": "dot"}, "score", "dot"),
        ({"ties": "optimistic"}, "ties", "optimistic"),
        ({"no_positive": "miss"}, "empty", "miss"),
    ],
)
def test_rules_are_fields(options: dict[str, object], field: str, value: str) -> None:
    default, changed = fields(), fields(**options)
    assert changed[field] == value != default[field]
    assert {**changed, field: default[field]} == default


@pytest.mark.parametrize(
    "options",
    [{"threads": 3}, {"save_run": "top.json", "depth": 2}, {"metrics": "R@2"}, {"direction": "t2i"}, {"trust": True}],
    ids=lambda options: "+".join(options),
)
def test_what_changes_no_digit_is_no_field(
    options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fields(**options) == fields()


def test_judgements_are_named_only_when_used() -> None:
    judged = {"one": {"i2t": {10: [1]}}, "two": {"i2t": {20: [3]}}}
    assert not {"one", "two"} & set(fields(judgements=judged, metrics="R@1", direction="i2t"))
    used = fields(judgements=judged, metrics="R@1,one:R@1", direction="i2t")
    assert "two" not in used and used["one"].startswith("own#")
