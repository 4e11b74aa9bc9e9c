"""The files that the cases of ``tools.same_digits`` read, made of the test data: the same for both checkouts."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def unit(x: Any) -> Any:
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def save(to: Path, name: str, *array: Any, **arrays: Any) -> None:
    """Write ``name.npy`` of one array, ``name.npz`` of several by name, or the lines of a text."""
    if arrays:
        np.savez(to / f"{name}.npz", **arrays)
    elif isinstance(array[0], np.ndarray):
        np.save(to / f"{name}.npy", array[0])
    else:
        (to / name).write_text("".join(f"{line}\n" for line in array[0]), encoding="utf-8")


def make_real(data: Path, to: Path) -> None:
    """COCO 5K and Flickr30K: systems of different quality, one with many ties; scores, lists, labels; word vectors."""
    rng, write = np.random.default_rng(1), partial(save, to)
    held, seen = (np.load(data / f"proxy/coco5k_{name}_proxy.npz") for name in ("minilm", "label"))
    x, y, objects, prompts = (v.astype(np.float32) for v in (
        held["images"], held["captions"], seen["images"], seen["images_zeroshot"]))  # fmt: skip
    ids, of_texts = held["image_ids"], held["caption_ids"]
    noise, longer = rng.standard_normal(x.shape, np.float32), rng.uniform(0.5, 2, (len(y), 1)).astype(np.float32)
    turn = rng.standard_normal((x.shape[1], 7), np.float32)
    few = [np.pad(np.rint(2 * v @ turn), ((0, 0), (0, 1)), constant_values=1) for v in (x, y)]
    rows, columns = rng.permutation(len(x)), rng.permutation(len(y))
    systems = {"a": (unit(x + 0.05 * noise), y), "b": ((x + 0.08 * noise) * longer[: len(x)], y * longer),
               "c": (objects, y), "d": (prompts, y), "ties": few}  # fmt: skip
    for name, (images, texts) in systems.items():
        write(name, image_embeddings=images[rows], text_embeddings=texts[columns], image_ids=ids[rows],
              text_ids=of_texts[columns])  # fmt: skip
    scores = np.round(objects @ y.T + 0.05 * x @ y.T, 3)
    write("ce", scores=scores, image_ids=ids, text_ids=of_texts)
    write("images", unit(x + 0.06 * noise))
    write("texts", y)
    write("categories", objects=np.load(data / "coco5k/label_matrix.npy"), image_ids=ids)
    lists = ("i2t", ids, of_texts, scores, 30), ("t2i", of_texts, ids, scores.T, 10)
    for way, queries, items, matrix, depth in lists:
        top = np.argsort(-matrix, axis=1, kind="stable")[:, :depth]  # scores of two decimals: many are equal
        ranked = list(zip(queries, matrix, top, strict=True))
        lines = (f"{q} Q0 {items[i]} {k} {row[i]:.2f} x" for q, row, at in ranked for k, i in enumerate(at, 1))
        write(f"{way}.trec", lines)
    table = [f"{i},{'' if k % 50 == 0 else k % 997 / 8},{'abc'[k % 3]}" for k, i in enumerate(ids)]
    write("column.csv", ["image_id,size,kind", *table])
    y = np.load(data / "minilm/f30k_test_captions.f16.npy").astype(np.float32)[::-1]
    records = [json.loads(line) for line in (data / "f30k/test.jsonl").read_text("utf-8").splitlines()[::-1]]
    for name, part in (("f30k", 0.05), ("f30k-rough", 0.08)):
        x = unit(y.reshape(1000, 5, -1).mean(axis=1)) + part * rng.standard_normal((1000, y.shape[1]), np.float32)
        write(name, image_embeddings=x, text_embeddings=y, image_ids=[r["image"] for r in records[::5]],
              text_ids=[f"{r['image']}#{r['caption_index']}" for r in records])  # fmt: skip
    words = sorted(set(re.findall(r"[a-z]+", (data / "coco5k/captions.jsonl").read_text("utf-8").lower())))
    write("words.txt", (f"{w} {' '.join(f'{v:.4f}' for v in rng.standard_normal(12))}" for w in words))


def make_small(data: Path, to: Path) -> None:
    """200 images with one to five captions and ids, the same without ids; gains, judgements, labels, masks, choices."""
    from scipy.io import loadmat

    rng, write = np.random.default_rng(3), partial(save, to)
    records = [json.loads(line) for line in (data / "coco5k/captions.jsonl").read_text("utf-8").splitlines()[:1000]]
    held = np.load(data / "proxy/coco5k_minilm_proxy.npz")
    x, y = (v @ rng.standard_normal((384, 24)) for v in (held["images"][:200], held["captions"][:1000]))
    y = y + np.repeat(x, 5, axis=0) + rng.standard_normal(y.shape)
    gains = x @ y.T / 100 + rng.standard_normal((200, 1000))
    kept = rng.permutation(np.flatnonzero((rng.random(1000) < 0.7) | (np.arange(1000) % 5 == 0)))
    ids, of = {"image_ids": np.arange(200) * 7 + 3, "text_ids": kept + 50_000}, kept // 5 * 7 + 3
    own = [{"caption_id": int(k) + 50_000, "image_id": int(k) // 5 * 7 + 3, "caption": records[k]["caption"]}
           for k in kept]  # fmt: skip
    for name, held in (("small", own), ("tiny", records[:250]), ("plain", records)):
        write(f"{name}.jsonl", map(json.dumps, held))
        write(f"{name}.txt", (" ".join(r["caption"].split()) for r in held))
    for name, power in (("small", 1), ("other", 3)):
        write(name, image_embeddings=x**power, text_embeddings=y[kept] ** power, **ids, image_of_text=of)
    write("plain", images=x, captions=y)
    write("tiny", images=x[:50], captions=y[:250])
    write("gains", gains)
    write("sentence", unit(y + rng.standard_normal(y.shape)))
    write("gains", gains=gains[:, kept].T, **ids)
    write("scores", scores=np.round(x @ y[kept].T), **ids, image_of_text=of)
    write("second", scores=np.round(x @ y[kept].T + 9 * gains[:, kept], 1), **ids)
    write("bank", image_embeddings=x[::2] + 0.5, text_embeddings=y[::3] - 0.5)
    rated = ((i, c, gains[i, c]) for i, c in zip(*np.nonzero(gains > 1.5), strict=True) if c in kept)
    write("own.csv", ["image_id,caption_id,grade", *(f"{i * 7 + 3},{c + 50_000},{g:.0f}" for i, c, g in rated)])
    items = (
        {"id": f"{k}", "image": f"{k // 2}", "captions": ["a", "bb"], "category": "xyz"[k % 3]} for k in range(300)
    )
    write("choice.json", [json.dumps(list(items))])
    for name in ("one.csv", "two.csv"):
        rows = (f"{k},{a:.1f},{b:.1f}" for k, (a, b) in enumerate(rng.random((300, 2)) + np.array([0.3, 0])))
        write(name, ["id,score_0,score_1", *rows])
    held = loadmat(data / "wikipedia/raw_features.mat")
    images, topics, number = held["I_te"], held["T_te"], np.arange(693) + 1000
    turn = np.linalg.lstsq(held["I_tr"], held["T_tr"], rcond=None)[0]
    write("wikipedia", image_embeddings=images @ turn, text_embeddings=topics)
    write("items", image_embeddings=images, text_embeddings=np.sqrt(topics), image_ids=number)
    write("items", images[:120])
    write("topics", labels=topics[::-1], image_ids=number[::-1])
    write("topics", topics)
    write("distances", np.abs(topics[:120, None] - topics[:120]).sum(axis=2))
    write("masks", rng.integers(-1, 8, (120, 9, 9)))
