"""Changes of valid inputs, as Hypothesis strategies: of bytes, of lines and cells, of JSON, of files in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.fuzz import contract, odd
from tests.fuzz.targets import Target

Draw = Callable[[st.SearchStrategy[Any]], Any]
NUMBERS = (0, 1, -1, 2, 127, 255, *(n for bits in (15, 16, 31, 32, 63, 64) for n in ((1 << bits) - 1, 1 << bits)))
WORDS = (
    "", " ", "0", "-1", "007", "1e999", "nan", "-inf", "1_0", "٣", "1" * 40, "1" * 5000, "a" * 300, "\u2028", "\0",
    "\ufeff",
    "\ud800", "💃", "../x", "image_id", "i2t", "val", "test", "true", "null", "[", '"', "'", "#", ":", "=", "\t", "\r",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, 1 << 63, -(1 << 70), "", "x", "1", "\ud800",
    "\0",
    [], [[]], {}, {"": 0}, ["a", 1], [None], "1" * 300,
)  # fmt: skip
KEYS = ("", "id", "image_id", "caption", "images", "split", "i2t", "schema", "values", "x")


@st.composite
def changed(draw: Draw, target: Target, seeds: Sequence[bytes]) -> bytes:
    """A valid input after one change or several."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 3))):
        data = draw(_one_change(target, data, seeds))
    return data


def _one_change(target: Target, data: bytes, seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    if target.content == "bundle" and contract.unpack(data):
        return in_folder(data)
    others = [in_bytes(data, seeds)]
    if target.content in ("text", "json", "name"):
        others.append(in_lines(data))
    if target.content == "json" and _parsed(data) is not None:
        others += [in_json(data)] * 2
    if target.name in odd.FILES:
        others += [odd.FILES[target.name]()] * 2
    return st.one_of(others)


@st.composite
def in_bytes(draw: Draw, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Bytes that are cut, turned, overwritten, removed, repeated, or joined with those of another input."""
    start = draw(st.integers(0, max(len(data) - 1, 0)))
    stop = min(len(data), start + draw(st.integers(1, 64)))
    kind = draw(st.sampled_from(("cut", "bit", "number", "remove", "repeat", "insert", "join")))
    if kind == "cut":
        return data[:start]
    if kind == "bit" and data:
        return data[:start] + bytes([data[start] ^ (1 << draw(st.integers(0, 7)))]) + data[start + 1 :]
    if kind == "number":
        size = draw(st.sampled_from((1, 2, 4, 8)))
        number = draw(st.sampled_from(NUMBERS)) % (1 << 8 * size)
        return data[:start] + number.to_bytes(size, draw(st.sampled_from(("little", "big")))) + data[start + size :]
    if kind == "remove":
        return data[:start] + data[stop:]
    if kind == "repeat":
        return data[:stop] + data[start:stop] * draw(st.sampled_from((1, 2, 50))) + data[stop:]
    if kind == "join" and others:
        other = draw(st.sampled_from(others))
        return data[:start] + other[draw(st.integers(0, max(len(other) - 1, 0))) :]
    return data[:start] + draw(st.binary(min_size=1, max_size=16)) + data[start:]


@st.composite
def in_lines(draw: Draw, data: bytes) -> bytes:
    """Text of which a line or a cell is replaced, repeated, removed or moved."""
    text = data.decode("utf-8", "surrogateescape")
    mark = draw(st.sampled_from(("\n", "\t", ",", " ", ":", "@", "=", "[", "-")))
    cells = text.split(mark)
    at = draw(st.integers(0, len(cells) - 1))
    kind = draw(st.sampled_from(("replace", "replace", "extend", "repeat", "remove", "exchange")))
    if kind == "replace":
        cells[at] = draw(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)))
    elif kind == "extend":
        cells[at] += draw(st.sampled_from(WORDS))
    elif kind == "repeat":
        cells[at:at] = [cells[at]] * draw(st.sampled_from((1, 3)))
    elif kind == "remove":
        del cells[at]
    else:
        other = draw(st.integers(0, len(cells) - 1))
        cells[at], cells[other] = cells[other], cells[at]
    return mark.join(cells).encode("utf-8", "surrogateescape" if "\ud800" not in mark.join(cells) else "surrogatepass")


@st.composite
def in_json(draw: Draw, data: bytes) -> bytes:
    """JSON, or JSON lines, of which a value is replaced, removed, repeated or called by another name."""
    documents = list(_parsed(data) or [])
    place = draw(st.integers(0, len(documents) - 1))
    documents[place] = draw(_value_changed(documents[place]))
    text = "\n".join(json.dumps(document, ensure_ascii=draw(st.booleans())) for document in documents)
    if draw(st.integers(0, 9)) == 0:
        text = text.replace("[", "[" * 3000, 1)
    return text.encode("utf-8", "surrogatepass")


@st.composite
def _value_changed(draw: Draw, value: Any) -> Any:
    """A document with one change, at any depth."""
    inside = isinstance(value, (dict, list)) and value and draw(st.integers(0, 5)) > 0
    if not inside:
        return draw(st.sampled_from(VALUES))
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    kind = draw(st.sampled_from(("deeper", "deeper", "deeper", "remove", "again", "rename")))
    if isinstance(value, dict):
        rest = {k: v for k, v in value.items() if k != key}
        if kind == "remove":
            return rest
        if kind in ("again", "rename"):
            return {**(value if kind == "again" else rest), draw(st.sampled_from(KEYS)): value[key]}
        return {**value, key: draw(_value_changed(value[key]))}
    if kind == "remove":
        return value[:key] + value[key + 1 :]
    if kind == "again":
        return value[: key + 1] + value[key:]
    return [*value[:key], draw(_value_changed(value[key])), *value[key + 1 :]]


def _parsed(data: bytes) -> list[Any] | None:
    """The documents of a JSON file, or of JSON lines; None for anything else."""
    for parts in ([data], data.splitlines()):
        try:
            return [json.loads(part) for part in parts if part.strip()] or None
        except (ValueError, RecursionError):
            continue
    return None


@st.composite
def in_folder(draw: Draw, data: bytes) -> bytes:
    """Files of which one is changed, left out, exchanged with another or called by another name."""
    files = contract.unpack(data)
    name = draw(st.sampled_from(sorted(files)))
    kind = draw(st.sampled_from(("change", "change", "change", "remove", "exchange", "rename")))
    if kind == "remove":
        del files[name]
    elif kind == "exchange":
        other = draw(st.sampled_from(sorted(files)))
        files[name], files[other] = files[other], files[name]
    elif kind == "rename":
        files[name.replace("0", "1").replace("embeddings", "ids").replace("train", "dev") + "x"] = files.pop(name)
    else:
        own = [in_bytes(files[name], list(files.values())), in_lines(files[name])]
        if _parsed(files[name]) is not None:
            own += [in_json(files[name])] * 2
        if name.endswith(".npy"):
            own += [odd.npy_files()] * 2
        files[name] = draw(st.one_of(own))
    return contract.pack(files)
