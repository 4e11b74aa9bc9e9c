"""Reports that carry their per-query values: packed exactly, read back whole, damage named."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import vsebench
from tests import reports
from tests.messages import Refuses
from vsebench.analysis import systems
from vsebench.errors import BadInput, UsageError
from vsebench.files.ids import places
from vsebench.results.packed import pack, unpack

NUMBERS = hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False, allow_infinity=False))
WHOLE = hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**62), 2**62))


@given(NUMBERS | WHOLE | hnp.arrays(np.float64, 5, elements=st.integers(-3, 70_000)))
def test_numbers_come_back_bit_for_bit(array: np.ndarray) -> None:
    again = unpack(pack(array)).astype(array.dtype)
    assert again.tobytes() == array.tobytes()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=8))
def test_texts_come_back(words: list[str]) -> None:
    array = np.array(words, np.str_) if words else np.empty(0, np.str_)
    assert unpack(pack(array)).tolist() == array.tolist()


def test_the_format_is_what_the_documentation_says() -> None:
    kind, _, data = pack(np.array([0.0, 1.0, 1.0])).partition(":")
    assert (kind, zlib.decompress(base64.b64decode(data))) == ("u1", b"\x00\x01\x01")
    kind, _, data = pack(np.array([300, 2])).partition(":")
    assert (kind, np.frombuffer(zlib.decompress(base64.b64decode(data)), "<u2").tolist()) == ("u2", [300, 2])
    kinds = [pack(np.array(x)).partition(":")[0] for x in ([0.5], [0.1], [-1], [2.0**40], [-0.0], ["a"])]
    assert kinds == ["f4", "f8", "i4", "f4", "f4", "text"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "u9:AAAA",
        "u1:%%",
        "u1:" + base64.b64encode(b"plain").decode(),
        pack(np.arange(1000))[:-8],
        "f8:" + base64.b64encode(zlib.compress(b"1234567")).decode(),
        "text:" + base64.b64encode(zlib.compress(b'{"a": 1}')).decode(),
        "text:" + base64.b64encode(zlib.compress(b"[" * 100_000)).decode(),
    ],
)
def test_damaged_arrays_are_refused(text: str, refuses: Refuses) -> None:
    refuses(BadInput, unpack, text)


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30)))
def test_places(ids: list[int], wanted: list[int]) -> None:
    got = places(np.array(ids, np.int64), np.array(wanted, np.int64)).tolist()
    assert got == [ids.index(w) if w in ids else -1 for w in wanted]
    texts = places(np.array(ids, np.int64), np.array(wanted, np.int64).astype(np.str_)).tolist()
    assert texts == got


def test_a_report_comes_back_whole(tmp_path: Path) -> None:
    done = reports.report(1.0, metrics="RSum,MedR,1k:MeanR,mAP@R")
    path = Path(reports.write(tmp_path / "r.json", done))
    again = systems.load(path)
    assert again.to_json() == path.read_text(encoding="utf-8") == done.to_json()
    reports.same_reports(again, done)
    for old, new in zip((*done.results, *done.parts), (*again.results, *again.parts), strict=True):
        assert (old.unit, old.higher_is_better) == (new.unit, new.higher_is_better)
        assert (old.per_query is None) == (new.per_query is None)
    assert [str(r.metric) for r in again.parts] == ["R@1", "R@1", "R@5", "R@5", "R@10", "R@10"]
    assert again.items is not None and again.items.row_folds.tolist() == reports.split().row_folds.tolist()
    assert again.intervals == done.intervals


def test_ids_may_be_texts(tmp_path: Path) -> None:
    world = reports.split()
    named = type(world).captioned("custom", world.rows.ids.astype(str), world.columns.ids.astype(str), world.image_of)
    again = systems.load(Path(reports.write(tmp_path / "r.json", reports.report(1.0, world=named))))
    assert again.items.columns.ids.tolist() == named.columns.ids.tolist()


def test_a_report_without_per_query_values(tmp_path: Path, refuses: Refuses) -> None:
    done = reports.report(1.0, metrics="RSum")
    data = json.loads(done.to_json(per_query=False))
    assert "per_query" not in data and "parts" not in data
    path = tmp_path / "r.json"
    for text in (done.to_json(per_query=False), json.dumps({k: v for k, v in data.items() if k != "intervals"})):
        path.write_text(text, encoding="utf-8")
        assert systems.load(path).items is None
        refuses(BadInput, systems.load_systems, [str(path)])
    path.write_text(done.to_json(), encoding="utf-8")
    assert systems.load_systems([str(path)])


def check_refused(path: Path, data: dict[str, Any], refuses: Refuses) -> None:
    """The message about a document in this file names the file."""
    path.write_text(json.dumps(data), encoding="utf-8")
    error = refuses(BadInput, systems.load, path)
    assert error.where == str(path)


def column(data: dict[str, Any], place: int = 0) -> dict[str, Any]:
    return data["per_query"]["columns"][place]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: column(d).update(values=pack(np.zeros(3))),
        lambda d: column(d).update(values="u1:"),
        lambda d: column(d).update(values=pack(np.array(["a"] * 24))),
        lambda d: column(d).update(queries=pack(np.zeros(24))),
        lambda d: column(d).update(queries=pack(np.arange(24) + 1)),
        lambda d: column(d).update(queries=pack(np.full(24, 0.5))),
        lambda d: column(d).update(metric="R@2"),
        lambda d: d["per_query"]["columns"].append(column(d)),
        lambda d: d["per_query"].update(images=pack(np.zeros(24))),
        lambda d: d["per_query"].update(image_of=pack(np.full(72, 99))),
        lambda d: d["results"][0].update(metric="R@one"),
        lambda d: d["intervals"].update(level=400.0),
        lambda d: d.update(signature="vsebench:0.1.0|:skip"),
        lambda d: d["provenance"].update(backend=float("nan")),
    ],
)
def test_damage_is_named_with_the_file(tmp_path: Path, change: Any, refuses: Refuses) -> None:
    data = json.loads(reports.report(1.0, metrics="R@1,R@5").to_json())
    change(data)
    check_refused(tmp_path / "r.json", data, refuses)


def entry(data: dict[str, Any], metric: str, direction: str | None, section: str = "results") -> dict[str, Any]:
    (found,) = [r for r in data[section] if (r["metric"], r["direction"]) == (metric, direction)]
    return found


def flip(data: dict[str, Any], metric: str, direction: str) -> None:
    (found,) = [c for c in data["per_query"]["columns"] if (c["metric"], c["direction"]) == (metric, direction)]
    values = unpack(found["values"])
    values[3] = 1 - values[3]
    found["values"] = pack(values)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: entry(d, "R@1", "i2t").update(value=0.99),
        lambda d: flip(d, "R@1", "t2i"),
        lambda d: flip(d, "1k:R@1", "t2i"),
        lambda d: entry(d, "MedR", "t2i").update(value=2.5),
        lambda d: entry(d, "RSum", None).update(value=5.5),
        lambda d: d["parts"].remove(entry(d, "R@5", "t2i", "parts")),
        lambda d: d["results"].append(entry(d, "R@1", "i2t")),
        lambda d: d["parts"].append(entry(d, "R@1", "i2t")),
        lambda d: entry(d, "R@1", "i2t").update(value=1e308),
        lambda d: entry(d, "RSum", None).update(value=1e308),
        lambda d: entry(d, "MedR", "i2t").update(value=0.0),
        lambda d: entry(d, "MedR", "t2i").update(value=25.0),
        lambda d: entry(d, "R@1", "t2i").update(interval=[0.2, 1.5]),
        lambda d: entry(d, "R@1", "t2i").update(interval=[0.5, 0.2]),
        lambda d: entry(d, "R@1", "t2i").update(n=10),
        lambda d: column(d).update(values=pack(np.full(24, 1e308))),
        lambda d: d["per_query"].update(captions=pack(np.arange(72) + 5)),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(tmp_path: Path, change: Any, refuses: Refuses) -> None:
    data = json.loads(reports.report(1.0, metrics="R@1,RSum,MedR,1k:R@1").to_json())
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    systems.load(path)
    change(data)
    check_refused(path, data, refuses)


def test_values_without_per_query_values_are_checked_by_their_range(tmp_path: Path, refuses: Refuses) -> None:
    data = json.loads(reports.report(1.0, metrics="R@1,RSum,MedR").to_json(per_query=False))
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert systems.load(path).items is None
    entry(data, "R@1", "i2t")["value"] = 1e308
    path.write_text(json.dumps(data), encoding="utf-8")
    refuses(BadInput, systems.load, path)


@pytest.mark.parametrize(("ties", "no_positive"), [("index", "skip"), ("expected", "miss"), ("optimistic", "skip")])
def test_reports_of_all_rules_agree_with_themselves(tmp_path: Path, ties: str, no_positive: str) -> None:
    judged = {"mine": {"i2t": {100 + n: {1100 + n: n % 2} for n in range(24)}}}  # half of them have no positive
    rules = {"ties": ties, "no_positive": no_positive, "ci": 0}
    done = reports.report(2.0, metrics="R@1,1k:R@1,mine:R@5,RSum", judgements=judged, **rules)
    done.save(tmp_path / "r.json")
    assert systems.load(tmp_path / "r.json").to_json() == done.to_json()


def test_graded_reports_agree_with_themselves(tmp_path: Path) -> None:
    np.save(tmp_path / "gains.npy", np.random.default_rng(0).random((24, 72)))
    names = [f"matrix:{name}" for name in ("NCS[on=folds]@5", "CS[on=block]@10", "Nsum", "R[gt=out]@1", "nDCG@3")]
    done = reports.report(1.0, metrics=[*names, "R@1", "1k:MedR"], gains=str(tmp_path / "gains.npy"))
    done.save(tmp_path / "r.json")
    assert systems.load(tmp_path / "r.json").to_json() == done.to_json()


def test_systems_and_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    done = reports.report(1.0, metrics="R@1")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        reports.write(tmp_path / folder / "r.json", done)
    reports.write(tmp_path / "x=y.json", done)
    texts = [str(tmp_path / "a" / "r.json"), str(tmp_path / "b" / "r.json"), f"vse={tmp_path / 'a' / 'r.json'}"]
    assert [s.name for s in systems.load_systems(texts)] == ["a/r", "b/r", "vse"]
    assert [s.name for s in systems.load_systems([str(tmp_path / "x=y.json")])] == ["x=y"]
    for again in ([texts[0], texts[0]], ["x=a/r.json", "x=b/r.json"]):
        monkeypatch.chdir(tmp_path)
        refuses(UsageError, systems.load_systems, again)
    assert [s.name for s in systems.load_systems({"x-1": "a/r.json", "x-2": "b/r.json"})] == ["x-1", "x-2"]
    vsebench.compare({"x": done, "y": done}, tests=False).save(tmp_path / "joint.json")
    refuses(UsageError, systems.load_systems, ["joint.json", "x=a/r.json"])
    assert [s.name for s in systems.load_systems(["joint.json", "x-2=a/r.json"])] == ["x", "y", "x-2"]
    refuses(UsageError, systems.load_systems, ["joint.json", "joint.json"])
    refuses(UsageError, systems.load_systems, texts[:1], needed=2)
