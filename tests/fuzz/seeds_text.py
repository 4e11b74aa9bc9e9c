"""Valid text files and names, made here: what changed inputs begin with."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import vsebench
from leaderboards.entries import COLUMNS
from tests import human_files, leaderboard_worlds, reports
from tests.embedding_files import IMAGE_IDS, OWNER, TEXT_IDS
from tests.fuzz import contract
from tests.fuzz.seeds_arrays import CAPTIONS, npy


def lines(rows: Iterable[object]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lists() -> dict[str, dict[str, list[int]]]:
    i2t = {str(image): [int(t) for t in TEXT_IDS[::-1]] for image in IMAGE_IDS}
    return {"i2t": i2t, "t2i": {str(text): IMAGE_IDS.tolist() for text in TEXT_IDS}}


def trec_runs() -> list[bytes]:
    """Runs of one direction, with ties, with ranks that contradict the scores, and compressed."""
    plain, odd = (
        lines(
            f"{query} Q0 {item} {rank} {score - rank} tag"
            for query, items in _lists()[side].items()
            for rank, item in enumerate(items, first)
        )
        for side, first, score in (("i2t", 1, 10.0), ("t2i", 0, 1e300))
    )
    tied = plain.replace(b" 9.0 ", b" 8.0 ").replace(b" 1 8.0", b" 7 8.0")
    return [plain, odd, tied, gzip.compress(plain, mtime=0)]


def eccv_lists() -> list[bytes]:
    """Lists of both directions, of one that is not stated, and with scores and ties."""
    scored = {query: {item: -rank // 2 for rank, item in enumerate(items)} for query, items in _lists()["i2t"].items()}
    return [as_json(_lists()), as_json(_lists()["t2i"]), as_json({"i2t": scored})]


def tables_of_pairs() -> list[bytes]:
    """A row a pair: qrels, tables with grades, truth values and ranks, and JSON lines."""
    rows = [(q, i, rank) for q, items in _lists()["i2t"].items() for rank, i in enumerate(items, 1)]
    return [
        lines(f"{q} 0 {i} {rank % 2}" for q, i, rank in rows),
        lines(["image_id,caption_id,grade", *(f"{q},{i},{rank}" for q, i, rank in rows)]),
        lines(["image,caption,relevant", *(f"{q},{i},{rank == 1}" for q, i, rank in rows)]),
        lines(["query\titem\tscore\trank", *(f"{q}\t{i}\t{9 - rank}\t{rank}" for q, i, rank in rows)]),
        lines(json.dumps({"query": q, "item": i, "score": 9 - rank}) for q, i, rank in rows),
    ]


def captions() -> list[bytes]:
    """One file of every kind that holds captions."""
    triples = list(zip(TEXT_IDS.tolist(), IMAGE_IDS[OWNER].tolist(), CAPTIONS.tolist(), strict=True))
    records = [{"id": text, "image_id": image, "caption": caption} for text, image, caption in triples]
    table = [f"{text},{image},{caption}" for text, image, caption in triples]
    images = [
        {
            "cocoid": image, "filename": f"{image}.jpg", "filepath": "val", "split": part,
            "sentids": [2 * n, 2 * n + 1],
            "sentences": [{"raw": c, "sentid": 10 * n + j} for j, c in enumerate(CAPTIONS[:5].tolist())],
        }
        for n, (image, part) in enumerate(zip(IMAGE_IDS.tolist(), ("train", "restval", "val", "test"), strict=True))
    ]  # fmt: skip
    named = [{key: value for key, value in image.items() if key not in ("cocoid", "sentids")} for image in images]
    return [
        lines(map(json.dumps, records)), lines(["caption_id,image_id,caption", *table]), lines(CAPTIONS),
        lines(["image_name| comment_number| comment", *(f"{i}.jpg| {n}| {c}" for n, (_, i, c) in enumerate(triples))]),
        as_json({"images": images}), as_json({"images": named, "dataset": "flickr30k"}),
        as_json({"annotations": records, "images": [{"id": int(IMAGE_IDS[0]), "file_name": "a.jpg"}]}),
        gzip.compress(lines(map(json.dumps, records)), mtime=0),
    ]  # fmt: skip


def published_sets() -> list[bytes]:
    """A small folder of every layout of published test sets."""
    finer = {"Flickr30K_FG_ann.json": as_json({"a": ["one", "two"], "b": ["three"]})}
    clips = {
        "videos": [{"video_id": "v1", "split": "test"}, {"video_id": "v2", "split": "train"}],
        "sentences": [{"sen_id": n, "video_id": f"v{1 + n % 2}", "caption": f"a {n}"} for n in range(4)],
    }
    ports = [{"filename": "a.tif", "split": "test", "sentences": [{"raw": "a"}, {"raw": "b"}]}]
    table = ["file_name,caption_1,caption_2,caption_3,caption_4,caption_5", 'x.wav,a,b,c,d,"e, f"', "y.wav,1,2,3,4,5"]
    several = {"image/key": "0a", "ar": {"caption": ["a", "b"]}, "bn": {"caption": []}}
    folders: list[dict[str, bytes]] = [
        {"test_en.jsonl": lines([json.dumps({"sentences": ["a dog"], "id": 1, "img_path": "1.jpg"})])},
        {"captions.jsonl": lines(map(json.dumps, (several, {**several, "image/key": "0b", "bn": several["ar"]})))},
        {"test_image_names.txt": lines(["a.jpg", "b.jpg"]), "test_1kcaptions_en.txt": lines(["a", "b"])},
        {**finer, "Flickr30K_FG_img_filenames.txt": lines(["b.jpg", "a.jpg", "c.jpg"])},
        {**finer, "Flickr30K_FG_img_filenames.npy": npy(np.array(["a.jpg", "b.jpg"]))},
        {"caption/2.txt": b"a street", "caption/10.txt": lines(["a house", "more"])},
        {"MSRVTT_JSFUSION_test.csv": lines(["key,vid_key,video_id,sentence", "ret0,msr7,video7,a man"])},
        {
            "AllVideoDescriptions.txt": lines(["# text", "", "x_1_2 a cat", "y_1_2 a dog"]),
            "test_list.txt": lines(["y_1_2"]),
        },
        {"clotho_captions_evaluation.csv": lines(table)},
        {"test_videodatainfo.json": as_json(clips)},
        {"test_data.json": as_json([{"video": "v", "description": "a"}, {"video": "v", "description": "b"}])},
        {"dataset_rsicd.json": as_json({"images": ports})},
        {
            "splits.json": as_json({"train": ["a.json"], "test": []}),
            "annotations/a.json": as_json({"image": "a.jpg", "short_caption": "a", "extra_caption": "b"}),
        },
        {"test.csv": lines(["audiocap_id,youtube_id,start_time,caption", "7,-x,30,a bell", "8,-x,30,a horn"])},
    ]
    return [contract.pack(files) for files in folders]


def karpathy_files() -> list[bytes]:
    return captions()[4:6]


def columns() -> list[bytes]:
    """Tables to slice by: comma and tab separated, and JSON lines."""
    rows = list(zip(IMAGE_IDS.tolist(), ("a", "b", "a;b", ""), (1, 2.5, "nan", -3), strict=True))
    records = [json.dumps({"image_id": i, "category": c, "n": n}) for i, c, n in rows]
    separated = [lines([f"image_id{s}category{s}n", *(f"{i}{s}{c}{s}{n}" for i, c, n in rows)]) for s in ",\t"]
    return [*separated, lines(records), gzip.compress(lines(records), mtime=0)]


def queries() -> list[bytes]:
    return [b"0\n2\n3\n", lines(IMAGE_IDS)]


def word_vectors() -> list[bytes]:
    rows = ["a 1 0.5 -2", "dog 1e-3 2 3", "new york 3 2 1", "sea -1 -1 -1"]
    return [lines(rows), lines(["4 3", *rows]), lines(row.replace(" ", "\t") for row in rows[:2])]


def spice_tuples() -> list[bytes]:
    from vsebench.relevance.spice import file
    from vsebench.relevance.spice.file import Tuples

    parsed = ((("dog",), ("dog", "brown"), ("dog", "grass", "run on")), ())
    synsets = {"dog": frozenset((3, 1)), "brown": frozenset((2,)), "grass": frozenset[int](), "run on": frozenset((7,))}
    found = Tuples(("a brown dog runs on grass", "sea"), parsed, synsets, {"sea": "no parse"})
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("tuples.jsonl", "tuples.jsonl.gz")]
        for path in paths:
            file.export_tuples(path, found)
        return [path.read_bytes() for path in paths]


@functools.cache
def saved_reports() -> list[bytes]:
    """Reports with and without per-query values, and a table of two."""
    done = reports.report(0.5, world=reports.split(6), metrics="R@1,MedR,RSum", resamples=20, lists=2)
    joint = vsebench.compare({"A": done, "B": done}, tests=False)
    return [document.encode() for document in (done.to_json(), done.to_json(False), joint.to_json())]


@functools.cache
def leaderboards() -> list[bytes]:
    """A folder with citations, a printed table, claims, a suite and an entry."""
    done = {**json.loads(leaderboard_worlds.report(images=6, metrics="R@1").to_json()), "model": {"name": "Mine"}}
    claim = {"claim": "c", "paper": "doe2020thing", "says": "s", "where": "w", "entries": ["doe2020thing-table-1-01"]}
    table = "\n".join(",".join(line) for line in [COLUMNS, *(r.values() for r in leaderboard_worlds.records())])
    head = {
        "papers.json": as_json(leaderboard_worlds.PAPERS), "claims.json": as_json([claim]),
        "test_sets.json": as_json({"coco-5k": {"title": "COCO 5K"}}),
        "published/doe2020thing.csv": table.encode(),
    }  # fmt: skip
    suite = {"suites/small.json": as_json(leaderboard_worlds.suite(seeds=(0, 1)))}
    return [
        contract.pack(head),
        contract.pack({**head, "entries/mine.json": as_json(done)}),
        contract.pack({**head, **suite}),
    ]


def _files_of(folder: Path) -> bytes:
    return contract.pack({path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def flickr8k() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [_files_of(human_files.flickr8k(Path(folder)))]


def cxc() -> list[bytes]:
    image, caption = human_files.image, human_files.caption
    with tempfile.TemporaryDirectory() as folder:
        human_files.cxc(Path(folder), "sits", [(caption(1), image(2), 4.5, "c2i_original")])
        human_files.cxc(Path(folder), "sts", [(caption(1), caption(3), 0, "c2c_isim")])
        human_files.cxc(Path(folder), "sis", [(image(2), image(9), 2.25, "i2i_csim")])
        return [_files_of(Path(folder))]


def configurations() -> list[bytes]:
    """Those that are part of the trainer, and one with every key."""
    from train_reference.config import FOLDER, Config

    def written(value: Any) -> str:
        return json.dumps(value) if not isinstance(value, dict) else "{ tau = 3.0, sampler = 'hard' }"

    full = [
        f"[{name}]\n" + "".join(f"{key} = {written(value)}\n" for key, value in dataclasses.asdict(part).items())
        for name, part in vars(Config()).items()
    ]
    return ["\n".join(full).encode(), *(path.read_bytes() for path in sorted(FOLDER.rglob("*.toml"))[:3])]


def run_folders() -> list[bytes]:
    """What the trainer writes beside its embeddings."""
    about = {
        "schema": "vsebench/run/1", "kind": "embeddings", "file": "e.npz", "similarity": "cosine", "split": "coco-5k",
    }  # fmt: skip
    return [contract.pack({"run.json": as_json(about), "e.npz": b"x"})]


def metric_names() -> list[bytes]:
    """Names of metrics and suites, with views and options."""
    from vsebench.metrics import families
    from vsebench.metrics.declare import known_names
    from vsebench.metrics.suites import ALL, SUITES

    options = [
        f.template.replace(f.stem, f"{f.stem}[{key}={word}]").format(k=10)
        for f in families() for key, option in f.options.items() for word in option.words
    ]  # fmt: skip
    names = [*known_names(), *ALL, *SUITES, *options, "cider:CS[tau=a,gt=out]@100", "eccv:mAP@R", "spice:ncs,R@1"]
    return [name.encode() for name in dict.fromkeys(names)]


def gains_specifications() -> list[bytes]:
    from vsebench.relevance.sources import kinds_of_gains

    kinds = kinds_of_gains().values()
    given = [(k, f"{key}={value}") for k in kinds for key, values in k.settings.items() for value in values]
    names = [*(k.name for k in kinds if not k.endings), *(f"{'g.npy' if k.endings else k.name}:{s}" for k, s in given)]
    names += ["sentence:all-MiniLM-L6-v2:own=one", "bow:glove.txt", "g.npy:rows=captions", "cider:df=t.jsonl"]
    names += ["coarse:bow:glove.txt:idf=yes:above=0.8:sentence:all-MiniLM-L6-v2:own=one"]
    return [name.encode() for name in names]


def other_names() -> list[bytes]:
    """Names of scenes, signatures, label distances and queries."""
    return [
        b"scenes-tiny", b"scenes-10k", b"scenes-2500-seed3-size32-near0.2-leaks", b"scenes-10k-test",
        b"euclidean", b"miou", b"miou:ignore=-1", b"3",
        b"vsebench:0.1.0|split:coco-5k#3f2a9c01|score:dot|order:f64|ties:index|empty:skip",
    ]  # fmt: skip


def assignments() -> list[bytes]:
    return [b"train.lr=0.001", b"loss.settings.tau=3", b"model.text=gru", b"loss.settings={tau=[1, 2]}\ntrain.seed=1"]
