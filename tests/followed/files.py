"""Fixes of files of vectors, scores, ids and captions, read in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.followed.case import I2T, By, Call, Followed, S, X, Y, fix_of, refusal, save, write
from tests.followed.evaluation import ev
from vsebench.errors import BadInput
from vsebench.files.captions import from_file
from vsebench.files.read import read_embeddings, read_scores

PICKLED = "my vectors/it's.npy"


def objects(rows: np.ndarray) -> np.ndarray:
    """(row,) objects, each a row."""
    found = np.empty(len(rows), object)
    found[:] = list(rows)
    return found


def pickled() -> None:
    """Images as objects, in a folder with a space in its name, and texts."""
    Path("my vectors").mkdir()
    np.save(PICKLED, objects(X))
    np.save("y.npy", Y)


def typed(call: Call, **given: Any) -> dict[str, Any]:
    """Run the line of Python in the fix of a refused call, with these variables; returns them all."""
    names = {"np": np, **given}
    line = re.search(r"(np\.save\(.*|\w+ = np\..*?(?=: objects))", fix_of(refusal(call)))
    exec(line[0], names)  # type: ignore[index]
    return names


def stacked(name: str) -> None:
    """Do with the images of a file what its fix says, and save it again."""
    arrays = dict(np.load(name, allow_pickle=True))
    made = typed(ev(name), **arrays)
    np.savez(name, **{**arrays, "image_embeddings": made["image_embeddings"]})


ROWS = np.arange(len(X))
NAMED = "".join(f"q{row} {row} 1\n" for row in ROWS)
JUDGED = "".join(f"{row} {row} 1\n" for row in range(len(X)))


def queries(rows: np.ndarray, **more: Any) -> Call:
    """Save queries, and their corpus unless other arrays are given."""
    return lambda: np.savez("q.npz", query_embeddings=rows, **(more or {"corpus_embeddings": X}))


def folder(*splits: str, judged: int = len(X)) -> Call:
    """Write a test set of as many queries as items, each query with its own item, some of them judged."""

    def make() -> None:
        Path("f/qrels").mkdir(parents=True, exist_ok=True)
        for name, start in (("queries", "q"), ("corpus", "d")):
            Path(f"f/{name}.jsonl").write_text("".join(json.dumps({"_id": f"{start}{row}"}) + "\n" for row in ROWS))
        rows = "".join(f"q{row}\td{row}\t1\n" for row in ROWS[:judged])
        for split in splits or ("test",):
            Path(f"f/qrels/{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")

    return make


NAMES = {start: np.array([f"{start}{row}" for row in ROWS]) for start in "qd"}
WITH_IDS: dict[str, Any] = {"query_ids": NAMES["q"], "corpus_ids": NAMES["d"]}
TOP = write("I.npy", np.stack([ROWS, (ROWS + 1) % len(X)], axis=1))
IDS = (write("q.json", NAMES["q"].tolist()), write("d.json", NAMES["d"].tolist()))

FOLLOWED: list[Followed | By] = [
    # Folders of a test set, and the rows that an index found.
    Followed(
        r"^choose one: split='.*:\w+'$",
        (folder("dev", "train"), queries(X), ev("q.npz", split="f")),
        (ev("q.npz", split="f:dev"), 1.0),
    ),
    Followed(
        r"^give a row for every line of (queries|corpus)\.jsonl, or (query|corpus)_ids=FILE with the ids of the rows$",
        (folder(judged=40), queries(X[:50], corpus_embeddings=X), ev("q.npz", split="f")),
        (queries(X), ev("q.npz", split="f"), 1.0),
        (
            *IDS,
            write("x.npy", X[:50]),
            write("y.npy", X),
            write("ids.npy", NAMES["q"][:50]),
            ev("x.npy", "y.npy", split="f", query_ids="ids.npy"),
            1.0,
        ),
    ),
    Followed(
        r"^encode the complete (corpus|queries) of the folder, or give judgements='.*' without split$",
        (
            folder(),
            queries(X, corpus_embeddings=X[1:], query_ids=NAMES["q"], corpus_ids=NAMES["d"][1:]),
            ev("q.npz", split="f"),
        ),
        (ev("q.npz", judgements="f/qrels/test.tsv"), None),
        (queries(X, corpus_embeddings=X, **WITH_IDS), ev("q.npz", split="f"), 1.0),
    ),
    Followed(
        r"^give the ids of the rows: query_ids=FILE and corpus_ids=FILE",
        (folder(), TOP, ev(run="I.npy", judgements="f/qrels/test.tsv", metrics="R@1")),
        (
            *IDS,
            ev(run="I.npy", judgements="f/qrels/test.tsv", query_ids="q.json", corpus_ids="d.json", metrics="R@1"),
            1.0,
        ),
    ),
    Followed(
        r"^give run='i2t=FILE' or run='t2i=FILE'$",
        (
            folder(),
            TOP,
            *IDS,
            ev(run="I.npy", judgements="f/qrels/test.tsv", image_ids="q.json", text_ids="d.json", metrics="R@1"),
        ),
        (ev(run="i2t=I.npy", judgements="f/qrels/test.tsv", image_ids="q.json", text_ids="d.json", metrics="R@1"), 1.0),
        (ev(run="t2i=I.npy", judgements="f/qrels/test.tsv", text_ids="q.json", image_ids="d.json", metrics="R@1"), 1.0),
    ),
    Followed(
        r"^save what search\(\) returns: np\.savez\('run\.npz', I=I, D=D\); vectors are given without run$",
        (folder(), write("x.npy", X), ev(run="x.npy", split="f", metrics="R@1")),
        (
            TOP,
            lambda: np.savez("run.npz", I=np.load("I.npy"), D=np.tile([1.0, 0.5], (len(X), 1))),
            ev(run="run.npz", split="f", metrics="R@1"),
            1.0,
        ),
        (folder(), write("x.npy", X), ev("x.npy", "x.npy", split="f"), 1.0),
    ),
    # Queries and a corpus, whose rows are judged.
    Followed(
        r"^give judgements=FILE \(qrels",
        (write("q.txt", JUDGED), queries(X), ev("q.npz")),
        (ev("q.npz", judgements="q.txt"), 1.0),
    ),
    Followed(
        r"^name them with image_key=KEY, or save queries as query_embeddings and their corpus as corpus_embeddings$",
        (write("q.txt", JUDGED), queries(X, x=X), ev("q.npz", judgements="q.txt")),
        (queries(X), ev("q.npz", judgements="q.txt"), 1.0),
        (ev("q.npz", judgements="i2t:q.txt", image_key="x"), BadInput),
    ),
    Followed(
        r"^save the ids with the vectors, or give query_ids=FILE and corpus_ids=FILE: without them ids are rows",
        (write("q.txt", NAMED), queries(X, corpus_embeddings=X, corpus_ids=ROWS), ev("q.npz", judgements="q.txt")),
        (
            write("ids.txt", "\n".join(f"q{row}" for row in ROWS)),
            ev("q.npz", judgements="q.txt", query_ids="ids.txt"),
            1.0,
        ),
    ),
    Followed(
        r"^give query_ids and corpus_ids, so that rows are matched by id; trust=True evaluates it anyway$",
        (write("q.txt", JUDGED), queries(X[::-1]), ev("q.npz", judgements="q.txt")),
        (
            queries(X[::-1], corpus_embeddings=X, query_ids=ROWS[::-1], corpus_ids=ROWS),
            ev("q.npz", judgements="q.txt"),
            1.0,
        ),
        (queries(X[::-1]), ev("q.npz", judgements="q.txt", trust=True), None),
    ),
    # Objects of Python: the fix is a line that is run as it stands.
    By(r"^if you trust the file, save its arrays: d = .*", "test_the_advice_for_objects_of_python_is_followed"),
    By(r"^save ids as integers or as strings of numpy:", "test_the_advice_for_objects_of_python_is_followed"),
    By(r"^if you trust it, save only its tensors: d = torch\.load\(FILE, weights_only=False\)", "test_torch"),
    By(r"^if you trust it, save only its weights: torch\.save\(", "test_checkpoints_of_training"),
    Followed(
        r"^save it as image_embeddings = np\.stack\(image_embeddings\)\.astype\('float32'\): objects are pickles",
        (save("e.npz", image_embeddings=objects(X), text_embeddings=Y), ev("e.npz")),
        (lambda: stacked("e.npz"), ev("e.npz"), I2T),
    ),
    Followed(
        r"^if you trust the file: np\.save\('NEW\.npy', np\.array\(np\.load\(.*, allow_pickle=True\)\.tolist\(\)\)\)",
        (pickled, ev(PICKLED, "y.npy")),
        (lambda: typed(ev(PICKLED, "y.npy")), ev("NEW.npy", "y.npy"), I2T),
    ),
    # Names of arrays.
    Followed(
        r"^(choose the arrays with|name them with) image_key=KEY and text_key=KEY"
        r"(, or give the file of the text vectors after|$)",
        (save("e.npz", images=X, img=X, texts=Y), lambda: read_embeddings("e.npz")),
        (ev("e.npz", image_key="img", text_key="texts"), I2T),
        (write("x.npy", X), write("y.npy", Y), ev("x.npy", "y.npy"), I2T),
    ),
    Followed(
        r"^name them with text_key=KEY, or give the file of the text vectors after the file of the image vectors$",
        (save("e.npz", images=X, b=Y[:7, :3], c=Y), ev("e.npz")),
        (ev("e.npz", text_key="c"), I2T),
        (write("x.npy", X), write("y.npy", Y), ev("x.npy", "y.npy"), I2T),
    ),
    By(r"^add the column modality, image or text, or name them", "test_tables"),
    Followed(
        r"^(choose one|give the name of the array) with scores_key=KEY$",
        (save("s.npz", scores=S, sims=S[::-1]), lambda: read_scores("s.npz")),
        (ev(scores="s.npz", scores_key="scores"), I2T),
    ),
    Followed(
        r"^leave out scores if the file holds embeddings, or pass the name of the scores with scores_key=KEY$",
        (save("e.npz"), ev(scores="e.npz")),
        (ev("e.npz"), I2T),
        (save("s.npz", scores=S, images=X, texts=Y), ev(scores="s.npz", scores_key="scores"), I2T),
    ),
    Followed(
        r"^save it with np\.save, one row per image and one column per text; retrieved lists are given with run$",
        (write("s.json", [[1, 2]]), ev(scores="s.json")),
        (write("s.npy", S), ev(scores="s.npy"), I2T),
    ),
    # Captions and their images.
    By(r"^choose one with part='.*', or all$", "test_captions_have_the_part_of_their_video"),
    Followed(
        r"^give the images of a caption as judgements of your vectors: judgements='NAME=FILE'$",
        (
            write("c.jsonl", json.dumps({"text_id": 1, "text": "a dog", "image_ids": [1, 2]}) + "\n"),
            lambda: from_file("c.jsonl"),
        ),
        (
            write("q.csv", "image_id,caption_id,grade\n1000,5000,1\n1001,5000,1\n"),
            save("e.npz"),
            ev("e.npz", judgements="q=q.csv", metrics="q:R@1", direction="t2i"),
            1.0,
        ),
    ),
    By(r"^give a folder with every image once .*, or the names of the files in captions=", "test_the_file_of_an_id"),
    By(
        r"^give a folder with every image once .*, or the names of the files in --captions FILE",
        "test_a_table_with_ids_and_names_of_files",
    ),
]
