"""The table of the kinds of gains, and a new kind: one entry of the table."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import numpy as np
import pytest

import vsebench
from tests.messages import Refuses
from tests.spice_fake import store_tuples
from tests.word_world import matrix_gains, split_of, whole
from vsebench.errors import BadInput, UsageError
from vsebench.metrics import parse
from vsebench.relevance.sources import (
    SOURCES,
    Source,
    judgements,
    kinds_of_gains,
    load_gains,
    named_sources,
    parse_spec,
    register,
    source_of,
)  # fmt: skip
from vsebench.relevance.spice.file import Tuples


def lengths(test, argument, settings):
    """1 / (1 + |l_j - mean l_m|) of the lengths of captions."""
    length = np.array([len(c.split() if settings["unit"] == "words" else c) for c in test.columns.texts], float)
    mean = np.bincount(test.image_of, length) / np.bincount(test.image_of)
    values = 1 / (1 + np.abs(mean[:, None] - length))
    return replace(matrix_gains(values), name="lengths", settings={"unit": settings["unit"]})


def test_a_new_kind_is_one_entry(monkeypatch, refuses):
    units = {"unit": ("words", "letters")}
    kind = Source(name="lengths", title="Length", meaning="", rule="", settings=units, needs="captions", load=lengths)
    monkeypatch.setitem(SOURCES, "lengths", kind)
    split = split_of(["a dog", "a big dog", "cats"], [0, 0, 1])
    assert whole(load_gains("lengths", split)).tolist() == np.float32([[2 / 3, 2 / 3, 0.4], [0.5, 1 / 3, 1]]).tolist()
    assert dict(load_gains("lengths:unit=letters", split).settings) == {"unit": "letters"}
    refuses(UsageError, parse_spec, "lengths:unit=lines")
    refuses(UsageError, parse_spec, "lengths:x")
    refuses(
        BadInput,
        load_gains,
        "lengths",
        vsebench.TestSet.captioned("custom", split.rows.ids, split.columns.ids, split.image_of),
    )
    assert str(parse("lengths:NCS@5")) == "lengths:NCS@5"


def test_the_table_is_consistent(refuses: Refuses) -> None:
    for name, kind in kinds_of_gains().items():
        assert kind.name == name
        assert all((kind.title, kind.rule, kind.needs)) and (kind.cite or kind.endings)
        assert all(len(values) > 1 for values in kind.settings.values())
        assert kind.low is None or kind.high is None or kind.low < kind.high
        assert source_of("gains.npy" if kind.endings else name) is kind
    assert {*named_sources(), "matrix"} == set(kinds_of_gains()) and {*judgements(), *kinds_of_gains()} == set(SOURCES)
    refuses(UsageError, register, replace(SOURCES["cxc"], name="gt"))
    assert source_of("nothing") is source_of("matrix") is None


WORDS = {"cô": [1.0, 0.5], "gái": [0.5, 1.0], "chạy": [2.0, 0.25], "bóng": [0.25, 2.0], "đỏ": [1.0, 3.0]}
SPOKEN = ("cô gái chạy", "gái chạy bóng đỏ", "bóng đỏ", "cô gái bóng", "đỏ chạy cô", "bóng chạy")
OWNERS = [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "spec",
    ["cider", "cider:own=out", "cider:tokens=whitespace", "bow:FILE", "bow:FILE:tokens=whitespace", "wmd:FILE", "spice",
     "spice:text=ptb", "coarse:bow:FILE:above=0.9:cider"],
)  # fmt: skip
def test_captions_in_two_unicode_forms_have_the_gains_of_one(spec, tmp_path, monkeypatch):
    """Words are compared in NFC, whichever form captions and word vectors are written in; caches do not mix them."""
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    for form in ("NFC", "NFD"):
        lines = [f"{unicodedata.normalize(form, word)} {a} {b}" for word, (a, b) in WORDS.items()]
        (tmp_path / f"{form}.txt").write_text("\n".join(lines), encoding="utf-8")
    found = []
    for forms in (("NFC", "NFC"), ("NFC", "NFD"), ("NFD", "NFD")):
        captions = [unicodedata.normalize(forms[n % 2], text) for n, text in enumerate(SPOKEN)]
        if spec.startswith("spice"):
            synsets = {word: frozenset({n}) for n, word in enumerate(WORDS)}
            store_tuples(Tuples(SPOKEN, tuple(tuple((w,) for w in text.split()) for text in SPOKEN), synsets))
        file = str(tmp_path / f"{forms[0]}.txt")
        found.append(whole(load_gains(spec.replace("FILE", file), split_of(captions, OWNERS))))
    assert found[0].any() and all(np.array_equal(found[0], other) for other in found[1:])


def test_a_caption_in_another_unicode_form_is_the_same_caption():
    """CIDEr-D by hand: the other caption of image 0 has the same words, and no others have them."""
    two = [unicodedata.normalize(form, text) for text in ("cô gái", "bóng đỏ") for form in ("NFC", "NFD")]
    gains = whole(load_gains("cider:own=out", split_of(two, [0, 0, 1, 1])))
    # n-grams of 1 and 2 words have cosine 1, of 3 and 4 there are none: 10 / 4 * 2
    assert np.allclose(gains, [[5, 5, 0, 0], [0, 0, 5, 5]])
