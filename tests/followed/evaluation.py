"""Fixes of evaluations in Python: arrays, scores, lists, stages and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.evaluation.test_top_scored import of_top
from tests.followed.case import I2T, MAJOR, OWNER, T2I, UNIT, By, Call, Followed, S, X, Y, after, hostile, save, write
from vsebench.errors import BadInput

R1: dict[str, Any] = {"metrics": "R@1", "ci": 0}
LIKE = "(trust=True|--trust) evaluates it anyway"
IDS = [f"im{n:02}" for n in range(60)]
NAMED: dict[str, Any] = {"image_ids": IDS, "text_ids": [f"c{n}" for n in range(300)]}
NAMED_OWNERS = np.array(IDS)[OWNER]
OWNED = {**NAMED, "image_id_of_text": NAMED_OWNERS}
RUN = {"t2i": {f"q{q}": {f"d{(q + k) % 9}": 1.0 - k / 10 for k in range(4)} for q in range(9)}}
JUDGED = {f"q{q}": {f"d{(q + q % 2) % 9}": 1} for q in range(9)}  # the first item for five of nine, else the second
CAPTIONS = [f"a photo of thing {n % 7} beside thing {n // 5}" for n in range(300)]


def ev(*given: Any, **options: Any) -> Call:
    """Evaluate the good vectors, or what is given."""
    inputs = given or (() if {"scores", "run"} & set(options) else (X, Y))
    return lambda: vb.evaluate(*inputs, **{**R1, **options})


def judged(**options: Any) -> Call:
    """Evaluate a run with judgements."""
    return ev(**{"run": RUN, "judgements": {"mine": JUDGED}, "metrics": "mine:R@1", **options})


RIGHT_RUN = 5 / 9
HALF = float((S[:30, :150].argmax(axis=1) // 5 == np.arange(30)).mean())
SPLIT = vb.TestSet.captioned("custom", np.arange(60), np.arange(300), OWNER)
IN_FOLDS = vb.TestSet.captioned("mine", np.arange(60), np.arange(300), OWNER, fold=np.arange(60) // 30, in_folds=True)
SCORED = "".join(f"{q} Q0 {d} {k} {9 - k} x\n" for q, of in RUN["t2i"].items() for k, d in enumerate(of, 1))
BACK = "".join(f"d{d} Q0 q{q} {q + 1} {9 - q} x\n" for d in range(9) for q in range(9))
TREC = "".join(f"{q} Q0 {d} {k} {k / 9} x\n" for q, of in RUN["t2i"].items() for k, d in enumerate(of, 1))


def accumulated(n: int, **options: Any) -> vb.Report:
    """The first ``n`` captions in batches, by their rows."""
    validation = vb.Accumulator(**{**R1, **options})
    validation.update(X[np.arange(n) // options.get("captions_per_image", 5)], Y[:n], np.arange(n))
    return validation.compute()


def apart(images: Any, split: vb.TestSet | None) -> vb.Report:
    """Images and captions with their ids."""
    validation = vb.Accumulator(split, **R1)
    validation.update(images, Y, image_ids=np.arange(60) if len(images) == 60 else OWNER, text_ids=np.arange(300))
    return validation.compute()


UNEVEN = S + np.linspace(-0.5, 0.5, 60)[:, None] + np.linspace(-0.5, 0.5, 300)
BOTH = np.maximum(of_top(UNEVEN, "i2t", -100), of_top(UNEVEN, "t2i", -100))
FOUR = np.flatnonzero(np.arange(300) % 5 < 4)
FOUR_I2T = float((S[:, FOUR].argmax(1) // 4 == np.arange(60)).mean())
EIGHT = [x[:, :8] / np.linalg.norm(x[:, :8], axis=1, keepdims=True) for x in (X, Y[::5])]
EIGHT_I2T = float(((EIGHT[0] @ EIGHT[1].T).argmax(1) == np.arange(60)).mean())
SHIFTED = S - 0.7 * S.max()
M_FILE = "eval m.npz --json --ci 0 --metrics R@1"
LANGUAGES = write(
    "c.csv",
    "image_id,caption_id,caption,lang\n"
    + "".join(f"im{n // 5:02},c{n},a {n},{'de' if n < 150 else 'en'}\n" for n in range(300)),
)
A_FILE = after(save("e.npz"), "eval e.npz --json --metrics R@1 --ci 0")


def index_of(kind: str, vectors: Any, given: Any = "t2i=i.faiss", **options: Any) -> Call:
    """Evaluate the good vectors, of unit length, with a saved index."""

    def call() -> vb.Report:
        faiss = pytest.importorskip("faiss", reason="faiss is not installed (extra: cpu)")
        index = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        index.train(vectors)
        index.add(vectors)
        faiss.write_index(index, "i.faiss")
        return vb.evaluate(*UNIT, **{**R1, **options}, index=given)

    return call


FOLLOWED: list[Followed | By] = [
    # What is read in a wrong order, or not complete.
    Followed(
        rf"^give image_ids and text_ids \(or image_of_text\), so that rows are matched by id; {LIKE}$",
        hostile("texts image by image within captions"),
        (save("m.npz", image_embeddings=X, text_embeddings=Y[MAJOR], image_of_text=OWNER[MAJOR]), M_FILE, I2T),
        (save("m.npz", text_embeddings=Y[MAJOR], image_of_text=OWNER[MAJOR]), M_FILE, I2T),
        (hostile("texts in that order, trusted"), None),
    ),
    Followed(
        rf"^give image_ids and text_ids \(or image_id_of_text\), so that .*; "
        rf"{LIKE}$",
        ev(X, Y[MAJOR]),
        (ev(X, Y[MAJOR], image_id_of_text=OWNER[MAJOR]), I2T),
        (ev(X, Y[MAJOR], **{k: np.array(v)[MAJOR] if len(v) == 300 else v for k, v in OWNED.items()}), I2T),
        (ev(X, Y[MAJOR], trust=True), None),
    ),
    Followed(
        rf"^give similarities \(larger means more similar\): negate the scores, .*; {LIKE}$",
        ev(scores=-S),
        (ev(scores=S), I2T),
        (ev(scores=-S, trust=True), None),
    ),
    Followed(
        rf"^save every id with the row of its item: ids and rows are in different orders; {LIKE}$",
        ev(X, Y, **OWNED | {"text_ids": OWNED["text_ids"][::-1], "image_id_of_text": OWNED["image_id_of_text"][::-1]}),
        (ev(X, Y, **OWNED), I2T),
        (ev(X, Y[::-1], **OWNED, trust=True), None),
    ),
    Followed(
        rf"^check that images and texts are rows of the same items, .*; {LIKE}$",
        ev(X, np.random.default_rng(1).permutation(Y)),
        (ev(X, Y), I2T),
        (ev(X, np.random.default_rng(1).permutation(Y), trust=True), None),
    ),
    Followed(
        rf"^direction='i2t' reads it correctly, or rerank='i2t=FILE' after embeddings; "
        rf"t2i needs scores for the images of every text; {LIKE}$",
        ev(scores=of_top(S, "i2t", -100)),
        (ev(scores=of_top(S, "i2t", -100), direction="i2t"), I2T),
        (write("s.npy", of_top(S, "i2t", -100)), ev(X, Y, rerank="i2t=s.npy", rerank_depth=10), I2T),
        (ev(scores=S), I2T),
        (ev(scores=of_top(S, "i2t", -100), trust=True), I2T),
    ),
    Followed(
        rf"^direction='t2i' reads it correctly, or rerank='t2i=FILE' after embeddings; "
        rf"i2t needs scores for the texts of every image; {LIKE}$",
        ev(scores=of_top(S, "t2i", -100)),
        (ev(scores=of_top(S, "t2i", -100), direction="t2i"), T2I),
        (write("s.npy", of_top(S, "t2i", -100)), ev(X, Y, rerank="t2i=s.npy", rerank_depth=10), I2T),
    ),
    Followed(
        rf"^save a number below every score instead of 0; then direction='i2t' reads it correctly, or .*; {LIKE}$",
        ev(scores=of_top(SHIFTED, "i2t", 0.0)),
        (ev(scores=of_top(SHIFTED, "i2t", -9.0), direction="i2t"), I2T),
        (write("s.npy", of_top(SHIFTED, "i2t", -9.0)), ev(X, Y, rerank="i2t=s.npy", rerank_depth=10), I2T),
    ),
    Followed(
        rf"^give complete scores, the pairs that were scored .*, or the retrieved lists of each direction .*; {LIKE}$",
        ev(scores=BOTH),
        (ev(scores=S), I2T),
    ),
    # Queries and a corpus.
    By(
        r"^gather the scores of all processes .*; or say which items are not candidates: .*exclude=FILE$",
        "test_a_query_and_an_item_that_are_never_candidates_need_no_scores",
    ),
    By(
        r"^evaluate both with the same settings; force=True compares them anyway$",
        "test_vectors_and_a_run_are_compared",
    ),
    By(r"^evaluate both on one test set; vb\.compare", "test_what_has_no_mean_is_refused"),
    By(r"^evaluate it with metrics='MedR', or take one", "test_what_has_no_mean_is_refused"),
    By(
        r"^add runs of another system, or compare these under names without '@'; ",
        "test_a_name_with_seeds_is_one_system",
    ),
    By(r"^put the run after the system: A@1:x=FILE$", "test_names_that_hide_what_is_compared_are_refused"),
    By(r"^leave out mean=True, which needs several test", "test_names_that_hide_what_is_compared_are_refused"),
    By(r"^give other names, or number the runs of a system: ", "test_names_that_hide_what_is_compared_are_refused"),
    By(r"^start the scheduler again; the same command with --resume ", "test_a_run_that_ends_early_and_is_continued"),
    By(r"^leave out baseline, or tests=False$", "test_names_are_texts_and_a_baseline_needs_tests"),
    By(r"^evaluate both on one test set; vsebench compare --mean compares", "test_saved_reports_are_shown_again"),
    By(r"^give it a seed \(ours@SEED=FILE\) or another name", "test_a_name_with_seeds_is_one_system"),
    By(
        r"^slice by a column of file=FILE with their number$",
        "test_slices_of_queries_are_of_the_metrics_that_they_have",
    ),
    By(
        r"^write the column names in the first line: query, item and rank; trust=True evaluates it anyway$",
        "test_distances_in_a_run_are_refused_with_the_option_that_mends_it",
    ),
    # Candidates, and items that nobody judged.
    Followed(
        r"^give the pairs: exclude=FILE$",
        ev(X, Y, **NAMED, image_id_of_text=NAMED_OWNERS, exclude="self"),
        (ev(X, Y, **NAMED, image_id_of_text=NAMED_OWNERS, exclude={"im00": ["c299"]}), I2T),
    ),
    Followed(
        r"^leave it out, or give judgements='NAME=FILE' with grades of 0$",
        ev(X, Y, captions_per_image=5, metrics="Judged@3"),
        (ev(X, Y, captions_per_image=5, metrics="R@1"), I2T),
        (judged(judgements={"mine": {q: {**of, "d8": 0} for q, of in JUDGED.items()}}, metrics="mine:Judged@4"), None),
    ),
    # One row an item.
    Followed(
        r"^save array.T, one row per item, if they are; otherwise give image_(id_)?of_text$",
        ev(X[:, :8].T, Y[::5, :8].T, captions_per_image=1),
        (ev(X[:, :8], Y[::5, :8], captions_per_image=1), EIGHT_I2T),
        (ev(X[:4], Y[:20:5], image_id_of_text=np.arange(4)), None),
    ),
    Followed(
        r"^save array.T, one row per item, if they are; otherwise give vectors of the joint space of the model",
        ev(X.T, Y.T),
        (ev(X, Y), I2T),
    ),
    Followed(r"^save array.T, one row per item$", ev(X.T, Y.T, **OWNED), (ev(X, Y, **OWNED), I2T)),
    Followed(
        r"^leave out the rows or columns of captions that do not exist, and give image_(id_)?of_text for the others, "
        r"or",
        ev(X, np.where(np.isin(np.arange(300) % 5, 4)[:, None], 0, Y)),
        (ev(X, Y[FOUR], image_id_of_text=OWNER[FOUR]), FOUR_I2T),
    ),
    Followed(
        r"^leave out the rows or columns of captions that do not exist, and give image_id_of_text for the others(;|$)",
        ev(scores=np.where(np.isin(np.arange(300) % 5, 4), -100, S)),
        (ev(scores=S[:, FOUR], image_id_of_text=OWNER[FOUR]), FOUR_I2T),
    ),
    Followed(
        r"^give image_ids, the same id for all rows of an image, or every image and every text once, with image_",
        ev(X[OWNER] * (1 + 1e-6 * np.arange(300)[:, None] % 5), Y, captions_per_image=1),
        (ev(X[OWNER] * (1 + 1e-6 * np.arange(300)[:, None] % 5), Y, image_ids=np.array(IDS)[OWNER]), I2T),
        (ev(X, Y, image_id_of_text=OWNER), I2T),
    ),
    # The image of every text.
    Followed(
        r"^give image_id_of_text \(the image (row|id) of every text\)( \(|$|, or give captions_per_image=)",
        ev(X, Y[:240]),
        (ev(X, Y[:240], image_id_of_text=np.arange(240) // 4, trust=True), None),
        (ev(X, Y[FOUR], captions_per_image=4), FOUR_I2T),
        (ev(X, Y[FOUR], image_id_of_text=np.arange(240) // 4), FOUR_I2T),
    ),
    Followed(
        r"^count image rows from 0, or give image_ids as well$",
        ev(image_id_of_text=OWNER + 1),
        (ev(image_id_of_text=OWNER), I2T),
        (ev(image_id_of_text=OWNER + 1, image_ids=np.arange(60) + 1), I2T),
    ),
    Followed(
        r"^give image_of_text \(the image (id|row) of every text\)"
        r"( \(|$|, or give (--captions-per-image |captions_per_))",
        hostile("four texts an image"),
        (hostile("four texts an image", "--captions-per-image", "4", "--trust"), None),
        (save("m.npz", image_embeddings=X, text_embeddings=Y[:240], image_of_text=np.arange(240) // 5), M_FILE, None),
    ),
    Followed(
        r"^give image_id_of_text \(the image id of every text\), a file of captions with these ids "
        r"\(captions=FILE\), or build their data set \(`vsebench data list`\)"
        r"(, or, if the text rows follow the image rows in order, captions_per_image=5)?$",
        ev(**NAMED),
        (ev(**OWNED), I2T),
        (
            write(
                "c.jsonl",
                "".join(
                    f'{{"image_id": "{IDS[n // 5]}", "caption_id": "c{n}", "caption": "a {n}"}}\n' for n in range(300)
                ),
            ),
            ev(**NAMED, captions="c.jsonl"),
            I2T,
        ),
        (ev(image_ids=IDS, captions_per_image=5), I2T),
    ),
    # Options that do not fit together, in Python.
    Followed(r"^give metrics='R@1,eccv' or all$", ev(metrics=[]), (ev(), I2T)),
    Followed(
        r"^write it to a file and give the path \(a split: its name\), or leave out engine='dask'$",
        ev(engine="dask"),
        (ev(), I2T),
    ),
    Followed(
        r"^give it with gains=FILE\.npy$",
        ev(metrics="matrix:NCS@3"),
        (write("g.npy", np.eye(60).repeat(5, 1)), ev(metrics="matrix:NCS@3", gains="g.npy"), None),
    ),
    Followed(
        r"^(known|did you mean).*, or give your own judgements: judgements='nope=FILE'$",
        ev(metrics="nope:NCS@3"),
        (
            write("q.csv", "image_id,caption_id,grade\nim00,c0,1\n"),
            ev(metrics="nope:R@1", judgements="nope=q.csv", **OWNED),
            None,
        ),
    ),
    Followed(
        r"^give file=FILE$",
        lambda: vb.slice([vb.evaluate(X, Y, ci=0)], "column"),
        (
            write("a.csv", "caption_id,column\n" + "".join(f"{n},{n % 2}\n" for n in range(300))),
            lambda: vb.slice([vb.evaluate(X, Y, ci=0)], "column", file="a.csv", resamples=40),
            None,
        ),
    ),
    Followed(
        r"^give one dense array, such as torch.cat\(batches\) or np.concatenate\(batches\)$",
        ev([X[:30], X[30:31]], Y),
        (ev(np.concatenate([X[:30], X[30:]]), Y), I2T),
    ),
    Followed(
        r"^give a file of embeddings, or scores=FILE, or run=FILE$",
        lambda: vb.evaluate(**R1),
        (save("e.npz"), ev("e.npz"), I2T),
        (write("s.npy", S), ev(scores="s.npy"), I2T),
    ),
    Followed(
        r"^add direction='(i2t|t2i)'$",
        (write("b.npy", S[:7]), ev(scores=S, normalise="qb:b.npy")),
        (ev(scores=S, normalise="qb:b.npy", direction="t2i"), BadInput),
        (ev(scores=S, normalise="qb:b.npy", direction="i2t"), None),
    ),
    Followed(
        r"^give run=\['i2t=FILE', 't2i=FILE'\]$",
        (write("r.txt", SCORED), write("q.txt", BACK), judged(run=["r.txt", "q.txt"])),
        (judged(run=["i2t=q.txt", "t2i=r.txt"], direction="t2i"), RIGHT_RUN),
    ),
    Followed(
        r"^give split=NAME of `vsebench data list`, or judgements='NAME=FILE'|^give split='coco-5k, coco-1k, f30k",
        ev(run=RUN, split="custom"),
        (judged(), RIGHT_RUN),
    ),
    Followed(
        r"^give captions_per_image=N or pass split; a loader with drop_last=True drops items$",
        lambda: accumulated(7),
        (lambda: accumulated(7, captions_per_image=7), 1.0),
    ),
    Followed(
        r"^update with every batch; a loader with drop_last=True, and a shard of a distributed one, leave items out$",
        lambda: accumulated(290, split=SPLIT),
        (lambda: accumulated(300, split=SPLIT), I2T),
    ),
    Followed(
        r"^repeat the images for their captions, or pass the split: Accumulator\(split=\.\.\.\)$",
        lambda: apart(X, split=None),
        (lambda: apart(X[OWNER], split=None), I2T),
        (lambda: apart(X, split=SPLIT), I2T),
    ),
    Followed(
        r"^give ks=\(1, 5, 10\)$",
        lambda: vb.metric("Q@{k}", formula="", cite=())(lambda ranks, k: ranks),
        (lambda: vb.metric("Q@{k}", formula="", cite=(), ks=(1, 5, 10))(lambda ranks, k: ranks), None),
    ),
    Followed(
        r"^add rerank_depth=128, the items of a query to re-rank$",
        ev(rerank={"i2t": -S}),
        (ev(rerank={"i2t": S}, rerank_depth=128), I2T),
    ),
    Followed(
        r"^give them with captions=FILE \(.txt with one caption per line, or .jsonl\)$",
        ev(metrics="cider:NCS@3"),
        (write("c.txt", "\n".join(CAPTIONS)), ev(metrics="cider:NCS@3", captions="c.txt"), None),
    ),
    Followed(
        r"^give one file, or mine=i2t:FILE and mine=t2i:FILE$",
        judged(judgements=["mine=q.txt", "mine=r.txt"]),
        (write("q.txt", TREC.replace("0.", "1 ")), judged(judgements=["mine=t2i:q.txt"]), BadInput),
    ),
    Followed(
        r"^give image_ids and text_ids, with images as rows \(scores.T\)$",
        ev(scores={"t2i": S[:, ::5].T}, direction="t2i"),
        (
            ev(scores={"t2i": S[:, ::5]}, direction="t2i", image_ids=IDS, text_ids=IDS),
            float((S[:, ::5].argmax(0) == np.arange(60)).mean()),
        ),
    ),
    Followed(
        r"^give every image and every text once, with image_id_of_text$",
        ev(scores=np.repeat(S, 5, 0)),
        (ev(scores=S, image_id_of_text=OWNER), I2T),
    ),
    Followed(
        r"^give image_of_text \(the image (id|row) of every text\), a file of captions with these ids "
        r"\(captions=FILE\)",
        (save("e.npz", image_of_text=None), ev("e.npz")),
        (save("e.npz"), ev("e.npz"), I2T),
    ),
    Followed(
        r"^save a separate id for every image, such as its file name; pass ids of classes as judgements: "
        r"judgements='NAME=labels:FILE'$",
        ev(image_ids=[n // 2 for n in range(60)]),
        (ev(image_ids=IDS, captions_per_image=5), I2T),
    ),
    Followed(
        r"^save every text once and evaluate judgements, the pairs of image and text ids: judgements='NAME=PAIRS.csv'$",
        ev(X, np.repeat(Y[::5][:20], 3, 0), captions_per_image=1),
        (
            write("p.csv", "image_id,caption_id\n" + "".join(f"im{n:02},c{n // 3}\n" for n in range(60))),
            ev(
                X,
                Y[::5][:20],
                image_ids=IDS,
                text_ids=[f"c{n}" for n in range(20)],
                judgements="p=p.csv",
                metrics="p:R@1",
            ),
            None,
        ),
    ),
    Followed(
        r"^give image_ids and text_ids so that rows can be matched, or split='custom'$",
        (save("e.npz", image_ids=None, text_ids=None, image_of_text=OWNER[::-1].copy()), ev("e.npz", split=SPLIT)),
        (save("e.npz", image_ids=np.arange(60), text_ids=np.arange(300)), ev("e.npz", split=SPLIT), I2T),
    ),
    Followed(
        r"^give one row for every image of the split, or ids \(image_ids\) to match by",
        (save("e.npz", image_embeddings=X[:59], text_embeddings=Y), ev("e.npz", split=SPLIT)),
        (ev(split=SPLIT), I2T),
    ),
    # Graded metrics.
    Followed(
        r"^use CS or Kendall, which take any gains, or count negative gains as zero: gains='GAINS:negative=zero'$",
        (write("g.npy", S), ev(gains="g.npy", metrics="matrix:nDCG@5")),
        (ev(gains="g.npy", metrics="matrix:CS@5"), None),
        (ev(gains="g.npy:negative=zero", metrics="matrix:nDCG@5"), None),
    ),
    Followed(
        r"^leave it out, or use ties='index'$",
        (write("g.npy", abs(S)), ev(gains="g.npy", metrics="matrix:CS@5", ties="expected")),
        (ev(gains="g.npy", metrics="matrix:CS@5", ties="index"), None),
    ),
    By(
        r"^give files with image_ids and text_ids .*; of two score matrices direction='i2t' reads one$",
        "test_rows_without_ids_beside_scores_of_two_orders",
    ),
    Followed(
        r"^leave it out, or give a set without folds \(split='coco-5k' instead of coco-1k\)$",
        ev(scores=S, split=IN_FOLDS, normalise="csls:k=5", trust=True),
        (ev(scores=S, split=IN_FOLDS, trust=True), None),
        (ev(scores=S, split=SPLIT, normalise="csls:k=5", trust=True), None),
    ),
    Followed(
        r"^use split='coco-5k'$",
        ev(split="custom", metrics="cxc-intra"),
        (ev(split="coco-5k", metrics="cxc-intra"), BadInput),
    ),
    By(r"^give them with captions=FILE$", "test_a_new_kind_is_one_entry"),
    Followed(
        r"^write coarse:CHEAP:above=NUMBER:COSTLY, such as coarse:bow:glove.txt:above=0.8:sentence:",
        ev(gains="coarse:bow", metrics="coarse:NCS@3"),
        (
            ev(
                gains="coarse:bow:glove.txt:above=0.8:sentence:all-MiniLM-L6-v2",
                metrics="coarse:NCS@3",
                captions=CAPTIONS,
            ),
            BadInput,
        ),
    ),
    Followed(
        r"^write \[key=value,\.\.\.\] with every key once$",
        lambda: vb.parse("CS[tau]@5"),
        (lambda: vb.parse("Kendall[tau=b]"), None),
    ),
    Followed(r"^leave out \[m=1\]$", lambda: vb.parse("gt:MedR[m=1]"), (lambda: vb.parse("gt:MedR"), None)),
    By(r"^use similarity='dot', or save it again$", "test_a_vector_of_length_zero"),
    By(r"^add engine='dask', or leave out ", "test_a_run_that_ends_early_and_is_continued"),
    By(r"^add --save-run, or leave out --depth$", "test_without_any_value_there_is_an_error_and_no_file"),
    Followed(
        r"^give captions=FILE with a column 'lang', or only='FILE:lang=de'$",
        ev(only="lang=de", captions_per_image=5),
        (LANGUAGES, ev(only="lang=de", captions="c.csv", **OWNED), HALF),
    ),
    Followed(
        r"^write COLUMN=VALUE, such as lang=de, or FILE:COLUMN=VALUE$",
        ev(only="lang"),
        (LANGUAGES, ev(only="c.csv:lang=de", **OWNED), HALF),
    ),
    By(r"^evaluate with metrics='R@1,R@5,R@10,Recall@10,gt:nDCG@10'$", "test_what_mteb_lacks_is_refused"),
    By(
        r"^(start workers \(dask worker ADDRESS\)|start it again|do not change the cache during an evaluation|"
        r"read the log of that worker; .*); "
        r"(the same command with )?(resume=True|--resume) continues",
        "test_a_run_that_ends_early_and_is_continued",
    ),
    Followed(
        r"^write csls:k=10, dsl:beta=100 or qb:beta=20, a bank after the name: qb:BANK\.npz:beta=20$",
        ev(normalise="dsl:beta=0"),
        (ev(normalise="csls:k=10"), None),
        (ev(normalise="dsl:beta=100"), None),
    ),
    Followed(
        r"^give a word of up to 41 lower-case letters, digits, - and _, as in qrels=FILE$",
        judged(judgements={"a b": JUDGED}),
        (judged(judgements={"qrels": JUDGED}, metrics="qrels:R@1"), RIGHT_RUN),
    ),
    Followed(
        r"^give another name, as in qrels=FILE$",
        judged(judgements={"cider": JUDGED}),
        (judged(judgements={"qrels": JUDGED}, metrics="qrels:R@1"), RIGHT_RUN),
    ),
    Followed(
        r"^leave out gain=exp: mine:nDCG@[25]$",
        judged(judgements={"mine": {"q0": {"d0": 2.5}}}, metrics="mine:nDCG[gain=exp]@2", short_lists="miss"),
        (judged(judgements={"mine": {"q0": {"d0": 2.5}}}, metrics="mine:nDCG@2", short_lists="miss"), 1.0),
    ),
    # Retrieved lists.
    Followed(
        r"^store longer lists, leave these metrics out, or count missing items as not found with "
        r"(short_lists='miss'|--short-lists miss)( \(not for median and mean ranks\))?$",
        judged(metrics="mine:R@1,mine:R@10"),
        (judged(metrics="mine:R@10,mine:R@1", short_lists="miss"), 1.0),
        (judged(), RIGHT_RUN),
    ),
    Followed(
        r"^give every query a list, leave these metrics out, or count missing items .* short_lists='miss'",
        judged(run={"t2i": {k: v for k, v in RUN["t2i"].items() if k != "q0"}}),
        (judged(run={"t2i": {k: v for k, v in RUN["t2i"].items() if k != "q0"}}, short_lists="miss"), 4 / 9),
    ),
    Followed(
        r"^give split=NAME, or judgements as pairs of ids$",
        judged(judgements={"mine": np.ones((3, 4))}),
        (judged(), RIGHT_RUN),
    ),
    Followed(r"^give level=", judged(level=9.0), (judged(level=1.0), RIGHT_RUN)),
    By(r"^give lists for (i2t|t2i) too, or (direction='i2t'|--direction i2t)$", "test_one_direction"),
    By(r"^leave them out or give the right --split$", "test_the_split_is_that_of_the_ids_or_named"),
    By(
        r"^give (its scores for t2i too, or measure only i2t:|scores for t2i too, or) direction='i2t'$",
        "test_a_direction_without_scores_is_named_and_the_fix_measures_the_other",
    ),
    Followed(
        rf"^run='rank:FILE' takes the order of the rank column \(or write negated distances\); {LIKE}$",
        (write("r.txt", TREC), judged(run="r.txt")),
        (judged(run="rank:r.txt"), RIGHT_RUN),
    ),
    Followed(
        r"^give index='t2i=\w+.faiss' for an index of images, i2t=",
        index_of("Flat", UNIT[0], "i.faiss"),
        (index_of("Flat", UNIT[0]), T2I),
    ),
    Followed(
        r"^give integers above 0, each name once, as in FILE:nprobe=16,k=1000$",
        index_of("Flat", UNIT[0], "t2i=i.faiss:k=0"),
        (index_of("Flat", UNIT[0], "t2i=i.faiss:k=1000"), T2I),
    ),
    Followed(
        r"^leave it out, or give one of this kind of index, such as nprobe=16 \(IVF\)",
        index_of("IVF4,Flat", UNIT[0], "t2i=i.faiss:probes=4"),
        (index_of("IVF4,Flat", UNIT[0], "t2i=i.faiss:nprobe=4"), T2I),
        (index_of("Flat", UNIT[0]), T2I),
    ),
    Followed(
        r"^search more \(index='\w+=i.faiss:\w+=\d+,k=\d+'\), leave these metrics out, or count missing items",
        index_of("IVF2,Flat", UNIT[0], "t2i=i.faiss:k=1", metrics="R@1,R@2"),
        (index_of("IVF2,Flat", UNIT[0], "t2i=i.faiss:nprobe=4,k=10", metrics="R@1,R@2"), T2I),
        (index_of("Flat", UNIT[0], "t2i=i.faiss:k=1"), T2I),
        (index_of("Flat", UNIT[0], "t2i=i.faiss:k=1", metrics="R@1,R@2", short_lists="miss"), T2I),
    ),
    Followed(
        r"^build the index from these vectors, in their order, or evaluate the vectors that it was built from; trust=",
        index_of("Flat", UNIT[0][::-1].copy()),
        (index_of("Flat", UNIT[0]), T2I),
        (index_of("Flat", UNIT[0][::-1].copy(), trust=True), T2I),  # all of them are listed
    ),
]
