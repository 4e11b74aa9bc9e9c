"""The store of computed results: complete files, named by a hash of their inputs."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsebench.errors import DiskError, UsageError
from vsebench.files import store

pytestmark = pytest.mark.usefixtures("cache")


def put(key: str, size: int = 10, age: float = 0.0, kind: str = "kind") -> Path:
    """An entry of ``size`` bytes, written ``age`` seconds ago."""
    path = store.put(kind, key, lambda stream: stream.write(b"x" * size))
    os.utime(path, (time.time() - age,) * 2)
    return path


def keys(kind: str | None = None) -> list[str]:
    """The keys, oldest first."""
    return [entry.key for entry in store.entries(kind)]


def test_an_entry_comes_back(cache):
    path = put("a", age=5000)
    assert path == cache / "relevance" / "kind" / "a"
    put("b", age=100)
    assert keys() == ["a", "b"]
    found = store.get("kind", "a")
    assert found == path
    assert found.read_bytes() == b"x" * 10


def test_what_is_not_there_is_none_and_makes_no_folder(cache):
    assert store.get("kind", "a") is None
    assert store.entries() == []
    assert store.clear() == []
    assert not cache.exists()


def test_nothing_is_stored_when_the_writer_fails():
    def fail(stream):
        stream.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.put("kind", "a", fail)
    assert store.get("kind", "a") is None
    assert list((store.root() / "kind").iterdir()) == []


def test_clear_one_kind_or_all():
    put("a", kind="one"), put("b", kind="two"), put("c", kind="two")
    assert [entry.key for entry in store.clear("two")] == ["b", "c"]
    assert keys() == ["a"]
    assert not (store.root() / "two").exists()
    (store.root() / "one" / ".b.1234.tmp").write_bytes(b"half")
    store.clear()
    assert not (store.root() / "one").exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", ".hidden", "a" * 200])
def test_names_cannot_leave_the_store(name, refuses):
    refuses(UsageError, store.get, "kind", name)
    refuses(UsageError, store.get, name, "key")


def test_a_cache_that_cannot_be_written_is_named(cache, refuses):
    cache.write_text("a file where a folder should be")
    refuses(DiskError, put, "a")


@given(st.lists(st.text(max_size=4), min_size=1, max_size=4), st.lists(st.text(max_size=4), min_size=1, max_size=4))
def test_fingerprints_differ_exactly_when_the_parts_do(one, two):
    assert (store.fingerprint(*one) == store.fingerprint(*two)) == (one == two)
    assert (store.fingerprint(one) == store.fingerprint(two)) == (one == two)


def test_fingerprints_tell_kinds_apart_but_not_the_order_of_settings():
    assert store.fingerprint({"a": 1, "b": "x"}) == store.fingerprint({"b": "x", "a": 1})
    assert len({store.fingerprint(part) for part in ("1", 1, b"1", ["1"], {"1": 1})}) == 5
    assert store.fingerprint("tuples") == store.fingerprint("tuples")


def test_two_that_write_at_once_leave_complete_files():
    def work(_):
        for i in range(40):
            store.put("kind", f"k{i}", lambda stream, i=i: stream.write(bytes([i]) * 5000))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, range(2)))
    assert sorted(keys()) == sorted(f"k{i}" for i in range(40))
    for i in range(40):
        assert (store.root() / "kind" / f"k{i}").read_bytes() == bytes([i]) * 5000


def test_an_array_comes_back_unless_a_bit_of_its_file_has_changed():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert store.keep_array("kind", "a", array) is None
    found = store.get_array("kind", "a")
    assert found is not None and found.dtype == np.float32 and np.array_equal(found, array)
    path = store.get("kind", "a")
    assert path is not None and store.get_array("kind", "b") is None
    content = path.read_bytes()
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        found = store.get_array("kind", "a")  # bits such as those of dates change nothing
        assert found is None or np.array_equal(found, array)
    for size in (0, 10, 32, len(content) // 2):
        path.write_bytes(content[:size])
        assert store.get_array("kind", "a") is None
    path.write_bytes(content)
    assert np.array_equal(store.get_array("kind", "a"), array)
