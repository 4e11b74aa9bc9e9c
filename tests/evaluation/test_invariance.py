"""Tiles, threads, the order of rows, scale and the type of stored scores change no digit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests.worlds import World, per_query_columns, tied_world, worlds
from vsebench.rank.count import Targets
from vsebench.rank.observe import observe
from vsebench.rank.scorers import Dot, Matrix, Scorer
from vsebench.rank.ties import TIES
from vsebench.results.report import Report
from vsebench.types import Embeddings, Observation, Split


def flat(observed: dict[Any, Observation]) -> dict[str, list[Any]]:
    """All fields of observations, as lists."""
    out: dict[str, list[Any]] = {}
    for d, o in observed.items():
        for name, r in o.ranks.items():
            out[f"{d} {name}"] = [
                r.rank.tolist(),
                r.tied.tolist(),
                [] if r.extremes is None else [e.tolist() for e in r.extremes],
            ]
        if o.top is not None:
            out[f"{d} top"] = [o.top.items.tolist(), o.top.scores.tolist()]
    return out


def ranked(scorer: Scorer, requests: list[Targets], scores: bool = True, **options: Any) -> dict[str, list[Any]]:
    """Ranks of the requests and the top ten in both directions, with or without their scores."""
    observed = flat(observe(scorer, requests, depth={"i2t": 10, "t2i": 10}, **options))
    assert {"i2t top", "t2i top"} <= set(observed)
    return observed if scores else {k: v[:1] if k.endswith(" top") else v for k, v in observed.items()}


@given(worlds(), st.integers(1, 8), st.integers(1, 11), st.integers(1, 3), st.sampled_from(sorted(TIES)))
def test_any_tile_of_a_small_world(world: World, height: int, width: int, threads: int, ties: str) -> None:
    scorer = Dot(world.images, world.captions)
    requests = [Targets("x", r) for r in world.judged.values()]
    default = ranked(scorer, requests, ties=ties, threads=1)
    assert ranked(scorer, requests, ties=ties, tile_shape=(height, width), threads=threads) == default


@given(worlds(), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_powers_of_two_change_nothing(world: World, a: int, b: int, cosine: bool) -> None:
    requests = [Targets("x", r) for r in world.judged.values()]
    plain = ranked(Dot(world.images, world.captions, cosine), requests, scores=cosine)
    scaled = Dot(np.ldexp(world.images, a), np.ldexp(world.captions, b), cosine)
    assert ranked(scaled, requests, scores=cosine) == plain


@given(worlds())
def test_an_increasing_transform_changes_nothing(world: World) -> None:
    scores = world.scores("i2t")
    requests = [Targets("x", r) for r in world.judged.values()]
    plain = ranked(Matrix(scores), requests, scores=False)
    for other in (scores**3 - 5, np.exp(scores / 4), 1e-300 * scores, scores * 2.0**900):
        assert ranked(Matrix(other), requests, scores=False) == plain


def stored(scores: npt.NDArray[np.float64], dtype: str, folder: Path, mapped: bool) -> npt.NDArray[Any]:
    """The scores in another dtype, maybe memory-mapped; small integers fit all of them."""
    array = scores.astype(dtype)
    assert (array == scores).all()
    if not mapped:
        return array
    path = folder / f"{dtype}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]


def test_inputs_are_not_changed() -> None:
    world = tied_world(20, 300, 3, 1, seed=4)
    x, y = world.images.copy(), world.captions.copy()
    for cosine in (False, True):
        ranked(Dot(world.images, world.captions, cosine), [Targets("x", r) for r in world.judged.values()])
    assert (world.images == x).all() and (world.captions == y).all()
    assert world.images.flags.writeable


# Reports: files and ids


def document(report: Report) -> str:
    """The report as JSON, without time and files, and without the row of every caption in the file."""
    return replace(report, provenance={}, items=replace(report.items, places=(None, None))).to_json()


def saved(
    path: Path, world: World, image_of: npt.NDArray[np.int64], rng: np.random.Generator | None, **change: Any
) -> Path:
    """An .npz with ids; ``rng`` shuffles its rows."""
    n, m = len(world.images), len(world.captions)
    rows = np.arange(n) if rng is None else rng.permutation(n)
    cols = np.arange(m) if rng is None else rng.permutation(m)
    fields = {
        "image_embeddings": world.images[rows],
        "text_embeddings": world.captions[cols],
        "image_ids": rows * 10 + 5,
        "text_ids": cols + 7000,
        "image_of_text": image_of[cols] * 10 + 5,
    }
    np.savez(path, **{**fields, **change})
    return path


@pytest.mark.parametrize("ties", sorted(TIES))
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_order_of_rows_in_a_file(tmp_path: Path, ties: str, similarity: str) -> None:
    world = tied_world(40, 120, 3, 1, seed=6)  # many exact ties
    image_of = np.random.default_rng(1).permutation(np.arange(120) % 40)
    options: dict[str, Any] = {"metrics": "all", "ties": ties, "similarity": similarity, "trust": True}
    in_order = vsebench.evaluate(saved(tmp_path / "a.npz", world, image_of, None), **options)
    for seed in range(3):
        path = saved(tmp_path / f"b{seed}.npz", world, image_of, np.random.default_rng(seed))
        shuffled = vsebench.evaluate(path, **options)
        assert document(shuffled) == document(in_order)
        assert per_query_columns(shuffled) == per_query_columns(in_order)


def directory_order(folder: Path, owner_key: str) -> list[Path]:
    """Files of 60 images with ids 0..59, and 300 texts: the first in order of ids, the others of a directory."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((60, 16)).astype(np.float32)
    y = (np.repeat(x, 5, axis=0) + rng.standard_normal((300, 16))).astype(np.float32)
    image, text = rng.permutation(60), rng.permutation(300)
    found = [folder / "order.npz", folder / "named.npz", folder / "table.parquet"]
    for path, i, t in ((found[0], np.arange(60), np.arange(300)), (found[1], image, text)):
        ids = {"image_ids": i, "text_ids": t + 1000, owner_key: t // 5}
        np.savez(path, image_embeddings=x[i], text_embeddings=y[t], **ids)  # type: ignore[arg-type]
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "id": [*image.tolist(), *(text + 1000).tolist()],
        "modality": ["image"] * 60 + ["text"] * 300,
        "embedding": [*x[image].tolist(), *y[text].tolist()],
        "image_id": [None] * 60 + (text // 5).tolist(),
    }
    pq.write_table(pa.table(columns), found[2])
    shards = folder / "shards"
    for name, part in (
        ("img_emb", np.repeat(x[image], 5, axis=0)),
        ("text_emb", y[(image[:, None] * 5 + range(5)).ravel()]),
    ):
        (shards / name).mkdir(parents=True)
        np.save(shards / name / f"{name}_0.npy", part)
    (shards / "metadata").mkdir()
    texts = (image[:, None] * 5 + np.arange(5)).ravel()
    pq.write_table(
        pa.table({"image_id": texts // 5, "caption_id": texts + 1000}), shards / "metadata" / "metadata_0.parquet"
    )
    return [*found, shards]


def test_ids_that_look_like_rows_are_ids(tmp_path: Path) -> None:
    in_order, *others = directory_order(tmp_path, "image_id_of_text")
    want = vsebench.evaluate(in_order, metrics="all", trust=True)
    assert want["R@1", "t2i"].value > 0.5
    for path in others:
        found = vsebench.evaluate(path, metrics="all")
        assert [r.to_dict() for r in found.results] == [r.to_dict() for r in want.results]
        assert per_query_columns(found) == per_query_columns(want)


def test_embeddings_with_ids_are_matched_to_a_split_by_id() -> None:
    world = tied_world(20, 100, 8, 3, seed=1)
    split = Split("custom", np.arange(20) + 7, np.arange(100) + 3, np.arange(100) // 5)
    i, c = np.random.default_rng(1).permutation(20), np.random.default_rng(2).permutation(100)
    images = Embeddings("image", split.image_ids[i], world.images[i])
    captions = Embeddings("caption", split.caption_ids[c], world.captions[c])
    in_order = vsebench.evaluate(world.images, world.captions, split=split, metrics="all")
    matched = vsebench.evaluate(images, captions, split=split, metrics="all")
    assert per_query_columns(matched) == per_query_columns(in_order)
