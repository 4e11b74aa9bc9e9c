"""What is done with an input: every reader that may be given a file of its kind, each under ``contract.reads``."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import vsebench
from leaderboards import entries as boards
from tests.embedding_files import IMAGE_IDS, OWNER, TEXT_IDS
from tests.fuzz import contract
from tests.fuzz.contract import Broken, accepts, reads
from vsebench import metrics, relevance, signature
from vsebench.analysis import attributes, systems
from vsebench.files.captions import from_file, with_image_files
from vsebench.files.pairs import EXCEPT, JUDGED, LISTS, ONLY, SCORED, place
from vsebench.files.read import read_captions, read_embeddings, read_scores
from vsebench.files.read_pairs import read_pairs
from vsebench.files.regular import run_folder as find
from vsebench.human.cxc import TASKS, read_cxc
from vsebench.human.flickr8k import read_flickr8k
from vsebench.metrics.suites import expand
from vsebench.relevance.cider.cider import corpus_df, grams
from vsebench.relevance.coarse import read_argument
from vsebench.relevance.embedding import sentence
from vsebench.relevance.embedding.bow import read_word_vectors
from vsebench.relevance.gains import Spec
from vsebench.relevance.spice import file as spice_file
from vsebench.scenes import settings as scenes
from vsebench.sets import items
from vsebench.sets import published as sets
from vsebench.sets.match import with_captions
from vsebench.sets.stored import store
from vsebench.text.ptb import tokenise
from vsebench.types import Ids, TestSet
from vsebench.unimodal import files as unimodal
from vsebench.unimodal.labels import label_distance_of, read_labels
from vsebench.unimodal.queries import read_queries
from vsebench.unimodal.wmd import read_caption_sets

SPLIT = TestSet.captioned("custom", IMAGE_IDS, TEXT_IDS, OWNER)
MASKS = np.arange(16).reshape(4, 2, 2)
LONGEST_NAME = 2000  # characters; a command line has no longer ones


def _file(data: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def file_of(name: str, read: Callable[..., Any], *arguments: Any) -> Callable[[bytes, Path], None]:
    return lambda data, folder: reads(read, _file(data, folder, name), *arguments)


def folder_of(read: Callable[..., Any]) -> Callable[[bytes, Path], None]:
    return lambda data, folder: reads(read, contract.write(data, folder / "files"))


word_vectors = file_of("v.txt", read_word_vectors, ["a", "dog", "new york"])
spice = file_of("s.jsonl", spice_file.unpack)
run_folder, flickr8k = folder_of(find), folder_of(read_flickr8k)


def arrays(data: bytes, folder: Path, name: str = "e.npz") -> None:
    """A file of named arrays, or of one: embeddings, scores, captions, gains, labels."""
    path = _file(data, folder, name)
    reads(_embeddings, path)
    reads(lambda p: items.align_scores(read_scores(p), None), path)
    reads(read_captions, path)
    reads(lambda p: relevance.load_gains(Spec("matrix", str(p), {}), SPLIT), path)
    reads(sentence.read_vectors, path, SPLIT)
    reads(read_labels, path, None, IMAGE_IDS)
    reads(unimodal.read_vectors, path, "image")


def one_array(data: bytes, folder: Path) -> None:
    """An .npy file: the same, and a list of queries."""
    arrays(data, folder, "e.npy")
    reads(_pair, folder / "e.npy")
    reads(_queries, folder / "e.npy")
    reads(_queries, folder / "e.npy", IMAGE_IDS)


def members(data: bytes, folder: Path, name: str) -> None:
    """The members of an archive, so that changes do not end at its checksums."""
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        for member, content in contract.unpack(data).items():
            archive.writestr(zipfile.ZipInfo(member), content)
    arrays(packed.getvalue(), folder, name)


def table(data: bytes, folder: Path) -> None:
    """A parquet or arrow table: embeddings of both modalities or of one, captions, and labels to slice by."""
    arrays(data, folder, "e.parquet")
    reads(_pair, folder / "e.parquet")
    reads(_column, folder / "e.parquet")


def hdf5(data: bytes, folder: Path) -> None:
    """An HDF5 file, which is read by another process: embeddings and labels."""
    path = _file(data, folder, "e.h5")
    reads(_embeddings, path)
    reads(read_labels, path, None, IMAGE_IDS)


def clip_retrieval(data: bytes, folder: Path) -> None:
    place = contract.write(data, folder / "shards")
    reads(_embeddings, place)
    reads(_embeddings, place, SPLIT)


def _embeddings(path: Path, split: TestSet | None = None) -> None:
    items.align_embeddings(read_embeddings(path), split)


def _pair(path: Path) -> None:
    items.align_embeddings(read_embeddings(path, texts=path), None)


def _queries(path: Path, ids: Ids | None = None) -> None:
    read_queries(str(path), len(IMAGE_IDS), ids)


def _column(path: Path) -> None:
    attributes.from_file(path, None, SPLIT, several=True)


def queries(data: bytes, folder: Path) -> None:
    reads(_queries, _file(data, folder, "q.txt"))
    reads(_queries, folder / "q.txt", IMAGE_IDS)


def columns(data: bytes, folder: Path) -> None:
    """A table to slice by, under the endings that its reader distinguishes."""
    for name in ("t.csv", "t.tsv", "t.jsonl"):
        reads(_column, _file(data, folder, name))


def runs(data: bytes, folder: Path) -> None:
    """Pairs: retrieved lists, by score and by rank, judgements, and scores of a second stage."""
    path = _file(data, folder, "run.txt")
    reads(lambda p: items.align_lists(read_pairs(p, None, LISTS), SPLIT), path)
    reads(lambda p: read_pairs(p, "t2i", LISTS, order="rank"), path)
    for kind in (JUDGED, SCORED, ONLY, EXCEPT):
        reads(lambda p, of=kind: [place(pairs, SPLIT) for pairs in read_pairs(p, None, of)], path)


def rows(data: bytes, folder: Path) -> None:
    """Rows that an index found."""
    reads(lambda p: read_pairs(p, None, LISTS), _file(data, folder, "run.npz"))


def captions(data: bytes, folder: Path) -> None:
    """A file of captions: of a split, and of a data set of one's own."""
    for name in ("c.json", "c.txt"):
        reads(lambda p: with_captions(SPLIT, p), _file(data, folder, name))
    path = folder / "c.json"
    reads(with_image_files, path)
    reads(from_file, path)
    (folder / "v.txt").write_text("a 1 0\ndog 0 1\n", encoding="utf-8")
    reads(read_caption_sets, path, str(folder / "v.txt"), IMAGE_IDS)


def published_sets(data: bytes, folder: Path) -> None:
    """The files of every published test set, of any number of images."""
    place = contract.write(data, folder / "files")
    with mock.patch.object(sets, "_check"):
        for found in sets.SETS.values():
            languages = found.languages[:2] or ("",)
            for split, rows in reads(lambda p, of=found, to=languages: list(sets.rows_of(of, to, p)), place) or ():
                store(folder / f"{split.name}.npz", rows)


def frequencies(data: bytes, folder: Path) -> None:
    """Captions in which document frequencies are counted."""
    reads(corpus_df, _file(data, folder, "f.json"), "ptb", grams(tokenise(["a dog"], "ptb")))


def saved_report(data: bytes, folder: Path) -> None:
    """A report; what is read can be printed."""
    path = _file(data, folder, "A.json")
    report = reads(vsebench.load, path)
    if report is not None:
        reads(lambda p: (str(report), report.to_markdown(), report.to_latex(), report.to_json()), path)
    reads(lambda p: systems.load_systems([p]), path)


def leaderboard(data: bytes, folder: Path) -> None:
    """A folder of leaderboards: what is wrong with a file is a fault that names it and a fix, never an error."""
    found = reads(partial(boards.read, recompute=True), contract.write(data, folder / "boards"))
    for fault in () if found is None else found.faults:
        if not re.match(r"[^:]+: .+\n  fix: .", fault):
            raise Broken(f"a fault names no file, or not what to do: {fault}")


def precomputed(data: bytes, folder: Path) -> None:
    """A folder of precomputed features to train on."""
    from train_reference.config import Config, Data
    from train_reference.sources import precomp

    reads(lambda p: precomp(Config(Data(name=str(p)))), contract.write(data, folder / "features"))


def karpathy(data: bytes, folder: Path) -> None:
    """A Karpathy file to train on, beside its images."""
    from PIL import Image

    from train_reference.config import Config, Data
    from train_reference.sources import image_files

    place = folder / "val"
    place.mkdir()
    for image in IMAGE_IDS.tolist():
        Image.new("RGB", (1, 1)).save(place / f"{image}.jpg")
    path = _file(data, folder, "k.json")
    # The error for a missing image names the folder of images, which is the one of the file here.
    reads(lambda p: image_files(Config(Data(name=str(path), images=str(p)))), folder)


def configuration(data: bytes, folder: Path) -> None:
    """A configuration of the trainer; what is read can be stored and read again."""
    from train_reference.config import from_dict, read

    found = reads(read, _file(data, folder, "c.toml"))
    if found is not None and (again := from_dict(found.to_dict())) != found and repr(again) != repr(found):
        raise Broken("the configuration reads back as another one")


def checkpoint(data: bytes, folder: Path) -> None:
    from train_reference.checkpoint import read

    reads(read, _file(data, folder, "best.safetensors"))


def cxc(data: bytes, folder: Path) -> None:
    place = contract.write(data, folder / "human")
    for task in TASKS:
        reads(lambda p, t=task: read_cxc(t, p), place)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")[:LONGEST_NAME]


def metric_name(data: bytes, folder: Path) -> None:
    """The name of a metric, which parses back, or a list of names and suites."""
    text, views, gains = _text(data), ("gt", "eccv", "cxc"), ("cider", "spice")
    for metric in [accepts(metrics.parse, text), *(accepts(lambda t: expand(t, views, gains), text) or ())]:
        if metric is not None and metrics.parse(str(metric)) != metric:
            raise Broken(f"'{metric}' parses back as {metrics.parse(str(metric))!r}")


def gains_specification(data: bytes, folder: Path) -> None:
    """The specification of gains, and those that it combines."""
    spec = accepts(relevance.parse_spec, _text(data))
    if spec is not None and spec.kind == "coarse" and (parts := accepts(read_argument, spec.argument)) is not None:
        accepts(relevance.parse_spec, parts[0])
        accepts(relevance.parse_spec, parts[2])


def other_name(data: bytes, folder: Path) -> None:
    """Names of scenes and signatures, which read back, and of label distances and queries."""
    text = _text(data)
    settings = accepts(lambda t: scenes.parse((scenes.of_split(t) or (t,))[0]), text)
    if settings is not None and scenes.parse(settings.name) != settings:
        raise Broken(f"'{settings.name}' reads back as {scenes.parse(settings.name)}")
    fields = accepts(signature.read, text)
    if fields is not None and signature.read(signature.write(fields)) != fields:
        raise Broken(f"the signature reads back as {signature.read(signature.write(fields))}")
    accepts(lambda t: label_distance_of(MASKS, t), text)
    if "/" not in text:
        accepts(lambda t: read_queries(t, 4, None), text)


def assignment(data: bytes, folder: Path) -> None:
    """Assignments of a configuration, one a line."""
    from train_reference.config import Config, assign

    accepts(lambda t: assign(Config(), t.split("\n")), _text(data))
