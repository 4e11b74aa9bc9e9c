"""Queries, a corpus and judgements: the values of numpy, the forms of files, the one direction, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.relevance import judgements
from vsebench.results.report import Report
from vsebench.types import ONE_WAY, Side

N, ITEMS, DIM = 80, 100, 16
RNG = np.random.default_rng(0)
CORPUS = RNG.standard_normal((ITEMS, DIM)).astype(np.float32)
CORPUS /= np.linalg.norm(CORPUS, axis=1, keepdims=True)
OWN = RNG.integers(0, ITEMS, N)
QUERIES = CORPUS[OWN] + (0.25 * RNG.standard_normal((N, DIM))).astype(np.float32)
QUERIES /= np.linalg.norm(QUERIES, axis=1, keepdims=True)
GRADES = np.zeros((N, ITEMS))
GRADES[np.arange(N), OWN] = 2
GRADES[np.arange(N).repeat(3), RNG.integers(0, ITEMS, 3 * N)] = 1
QUERY_IDS, CORPUS_IDS = [f"q{i}" for i in RNG.permutation(N)], [f"d{i}" for i in RNG.permutation(ITEMS)]
WAY = ONE_WAY


def expected() -> dict[str, float]:
    """The means over the queries, by numpy."""
    order = np.argsort(-(QUERIES.astype(np.float64) @ CORPUS.T.astype(np.float64)), axis=1)
    grades = np.take_along_axis(GRADES, order, axis=1)
    hit, places = grades > 0, np.arange(1, ITEMS + 1)
    discount = 1 / np.log2(places + 1)
    best = -np.sort(-GRADES, axis=1)
    precision = hit.cumsum(axis=1) / places
    return {
        "nDCG@10": float(((grades * discount)[:, :10].sum(1) / (best * discount)[:, :10].sum(1)).mean()),
        "Recall@10": float((hit[:, :10].sum(1) / hit.sum(1)).mean()),
        "R@1": float(hit[:, 0].mean()),
        "mAP": float(((precision * hit).sum(1) / hit.sum(1)).mean()),
    }


def qrels(path: Path, query_ids: Any = QUERY_IDS, corpus_ids: Any = CORPUS_IDS) -> str:
    rows = [f"{query_ids[q]}\t{corpus_ids[d]}\t{GRADES[q, d]:g}\n" for q, d in np.argwhere(GRADES)]
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return str(path)


def saved(path: Path, names: tuple[str, str, str, str], **more: Any) -> Path:
    q, c, q_ids, c_ids = names
    np.savez(path, **{q: QUERIES, c: CORPUS, q_ids: QUERY_IDS, c_ids: CORPUS_IDS, **more})
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("queries")
    saved(made / "qc.npz", ("query_embeddings", "corpus_embeddings", "query_ids", "corpus_ids"))
    qrels(made / "test.tsv")
    return made


def values(report: Report) -> dict[str, float]:
    assert {r.direction for r in report.results} == {WAY}
    return {r.metric.name: r.value for r in report.results}


NAMES = {
    "texts beside": ("query_embeddings", "corpus_embeddings", "query_ids", "corpus_ids"),
    "documents": ("queries", "documents", "query_ids", "doc_ids"),
    "features": ("query_feats", "gallery_feats", "query_ids", "gallery_ids"),
    "passages": ("query_emb", "passage_embs", "qids", "passage_ids"),
    "singular": ("query", "corpus", "query_ids", "corpus_ids"),
}


@pytest.mark.parametrize("form", NAMES)
def test_values_are_those_of_numpy(form: str, tmp_path: Path) -> None:
    more = {"texts": np.array(["a", "b"])} if form == "texts beside" else {}
    file = saved(tmp_path / "x.npz", NAMES[form], **more)
    report = vb.evaluate(file, judgements=qrels(tmp_path / "test.tsv"), ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12)
    assert list(report) == [(f"test:{name}", WAY) for name in expected()]
    assert report["R@1", WAY].n == N and "query→corpus" in str(report) and "image" not in str(report)


def test_two_files_and_ids_that_both_sides_have(tmp_path: Path) -> None:
    np.savez(tmp_path / "q.npz", query_embeddings=QUERIES, ids=np.arange(N))
    np.savez(tmp_path / "c.npz", corpus_embeddings=CORPUS, ids=np.arange(ITEMS))
    judged = qrels(tmp_path / "test.tsv", range(N), range(ITEMS))
    report = vb.evaluate(tmp_path / "q.npz", tmp_path / "c.npz", judgements=judged, ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12)


def ids_as(form: str, path: Path, ids: list[str]) -> Any:
    """Ids in a file of some form, or in memory."""
    if form == "npy":
        np.save(path.with_suffix(".npy"), np.array(ids))
    else:
        path.write_text(json.dumps(ids) if form == "json" else "\n".join(ids) + "\n")
    return {"npy": path.with_suffix(".npy"), "list": ids}.get(form, path)


@pytest.mark.parametrize("form", ["npy", "json", "txt", "list"])
def test_ids_beside_vectors(form: str, folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", QUERIES)
    np.save(tmp_path / "c.npy", CORPUS)
    first, second = ids_as(form, tmp_path / "q_ids", QUERY_IDS), ids_as(form, tmp_path / "c_ids", CORPUS_IDS)
    judged: dict[str, Any] = {"judgements": str(folder / "test.tsv"), "ci": 0}
    for given in ((tmp_path / "q.npy", tmp_path / "c.npy"), (QUERIES, CORPUS)):
        report = vb.evaluate(*given, query_ids=first, corpus_ids=second, **judged)
        assert values(report) == pytest.approx(expected(), abs=1e-12)
    scored = vb.evaluate(scores=QUERIES @ CORPUS.T, query_ids=first, corpus_ids=second, **judged)
    assert values(scored) == pytest.approx(expected(), abs=1e-6)
    both = vb.evaluate(tmp_path / "q.npy", tmp_path / "c.npy", image_ids=first, text_ids=second, **judged)
    assert both["R@1", "i2t"].value == expected()["R@1"] and ("test:R@1", "t2i") in both


def test_ids_of_the_command(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", QUERIES)
    np.save(tmp_path / "c.npy", CORPUS)
    first, second = ids_as("txt", tmp_path / "q_ids", QUERY_IDS), ids_as("npy", tmp_path / "c_ids", CORPUS_IDS)
    words = ["eval", tmp_path / "q.npy", tmp_path / "c.npy", "--judgements", folder / "test.tsv"]
    words += ["--query-ids", first, "--corpus-ids", second, "--ci", "0", "--json"]
    found = cli(*words).json
    assert {r["metric"][5:]: r["value"] for r in found["results"]} == pytest.approx(expected(), abs=1e-12)
    assert len(found["provenance"]["inputs"]) == 5
    assert cli(*words, "--engine", "dask", "--workers", "1").json["results"] == found["results"]


def test_queries_that_are_not_judged_and_items_that_are_not_there(folder: Path) -> None:
    more = vb.evaluate(
        np.concatenate([QUERIES, QUERIES[:3]]), CORPUS[:-1], query_ids=[*QUERY_IDS, "x", "y", "z"],
        corpus_ids=CORPUS_IDS[:-1], judgements=str(folder / "test.tsv"), metrics="test:Recall@90", ci=0,
    )  # fmt: skip
    assert "test: 3 of 83 queries are not judged, and count in no metric" in more.notes and not more.warnings
    order = np.argsort(-(QUERIES @ CORPUS[:-1].T), axis=1)[:, :90]
    found = (np.take_along_axis(GRADES, order, axis=1) > 0).sum(1) / (GRADES > 0).sum(1)
    assert values(more)["Recall@90"] == pytest.approx(found.mean(), abs=1e-12)


def test_a_test_set_of_queries(folder: Path) -> None:
    """Rows without ids are in the order of the test set, which asks in one direction."""
    asked = vb.TestSet("mine", Side("query", np.array(QUERY_IDS)), Side("corpus", np.array(CORPUS_IDS)))
    report = vb.evaluate(QUERIES, CORPUS, split=asked, judgements=str(folder / "test.tsv"), ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12)


def test_text_queries_of_images_are_texts(folder: Path, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz", query_embeddings=QUERIES, image_embeddings=CORPUS, corpus_embeddings=CORPUS,
        text_ids=QUERY_IDS, image_ids=CORPUS_IDS,
    )  # fmt: skip
    report = vb.evaluate(tmp_path / "x.npz", judgements=str(folder / "test.tsv"), ci=0, metrics="test:R@1")
    assert report["R@1", "t2i"].value == expected()["R@1"]


def test_stored_reports_are_read_compared_and_sliced(folder: Path, tmp_path: Path) -> None:
    words = ["eval", folder / "qc.npz", "--judgements", folder / "test.tsv", "--resamples", "50"]
    cli(*words, "-o", tmp_path / "a.json")
    cli(*words, "--direction", "both", "--similarity", "dot", "-o", tmp_path / "b.json")
    found = json.loads((tmp_path / "a.json").read_text())
    kept = [*found["results"], *found["per_query"]["columns"], *found["lists"]]
    assert {one["direction"] for one in kept} == {WAY}
    report = vb.load(tmp_path / "a.json")
    assert report.items is not None and report.items.rows.name == "query" and report.items.shape == (N, ITEMS)
    assert json.loads(report.to_json()) == found
    compared = cli("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert "query→corpus" in compared.out and "over queries" in compared.words
    cli("page", tmp_path / "a.json", "-o", tmp_path / "a.html")
    kinds = tmp_path / "kinds.csv"
    kinds.write_text("image_id,kind\n" + "".join(f"{q},{'ab'[i % 2]}\n" for i, q in enumerate(QUERY_IDS)))
    sliced = cli("slice", tmp_path / "a.json", "--by", "column", "--file", kinds, "--metrics", "test:R@1")
    assert "query→corpus" in sliced.out


def test_inspect_reads_what_eval_reads(folder: Path) -> None:
    found = cli("inspect", folder / "qc.npz", "--json").json
    assert [one["name"] for one in found["arrays"]] == ["queries", "corpus", "query_ids", "corpus_ids"]


def test_what_is_refused(folder: Path, tmp_path: Path, refuses: Refuses) -> None:
    judged: dict[str, Any] = {"judgements": str(folder / "test.tsv")}
    refuses(BadInput, vb.evaluate, folder / "qc.npz")
    refuses(UsageError, vb.evaluate, folder / "qc.npz", direction="t2i", **judged)
    refuses(UsageError, vb.evaluate, folder / "qc.npz", split="coco-5k", **judged)
    refuses(UsageError, vb.evaluate, folder / "qc.npz", captions_per_image=5, **judged)
    refuses(BadInput, vb.evaluate, folder / "qc.npz", judgements=f"x=t2i:{folder / 'test.tsv'}")
    for side, ids in (("query_ids", QUERY_IDS), ("corpus_ids", CORPUS_IDS)):
        file = saved(tmp_path / "x.npz", NAMES["texts beside"], **{side: [*ids[:-1], ids[0]]})
        refuses(BadInput, vb.evaluate, file, **judged)
    np.savez(tmp_path / "n.npz", query_embeddings=QUERIES, corpus_embeddings=CORPUS)
    refuses(BadInput, vb.evaluate, tmp_path / "n.npz", **judged)
    refuses(UsageError, vb.evaluate, folder / "qc.npz", query_ids=QUERY_IDS, **judged)
    refuses(UsageError, vb.evaluate, tmp_path / "n.npz", query_ids=QUERY_IDS, text_ids=CORPUS_IDS, **judged)
    refuses(BadInput, vb.evaluate, tmp_path / "n.npz", query_ids=QUERY_IDS, corpus_ids=CORPUS_IDS[1:], **judged)
    (tmp_path / "ids.json").write_text('{"q1": 1}')
    refuses(BadInput, vb.evaluate, tmp_path / "n.npz", query_ids=tmp_path / "ids.json", **judged)
    np.savez(tmp_path / "q.npz", query_embeddings=QUERIES, query_ids=QUERY_IDS)
    refuses(BadInput, vb.evaluate, tmp_path / "q.npz", **judged)
    shuffled = saved(tmp_path / "s.npz", NAMES["texts beside"], corpus_ids=CORPUS_IDS[::-1])
    refuses(BadInput, vb.evaluate, shuffled, **judged)
    ids: dict[str, Any] = {"query_ids": QUERY_IDS, "corpus_ids": CORPUS_IDS}
    scores = QUERIES @ CORPUS.T
    refuses(BadInput, vb.evaluate, scores=scores.T, **ids, **judged)
    refuses(UsageError, vb.evaluate, scores={"i2t": scores, "t2i": scores}, **ids, **judged)
    refuses(UsageError, vb.evaluate, folder / "qc.npz", rerank={"t2i": scores}, rerank_depth=5, **judged)
    refuses(BadInput, vb.evaluate, CORPUS, QUERIES, query_ids=CORPUS_IDS, corpus_ids=QUERY_IDS, **judged)
    refuses(BadInput, vb.evaluate, QUERIES, np.stack([CORPUS] * 2, 1), **ids, **judged)
    np.savez(tmp_path / "r.npz", query_embeddings=QUERIES[::-1], corpus_embeddings=CORPUS)
    refuses(BadInput, vb.evaluate, tmp_path / "r.npz", judgements=qrels(tmp_path / "r.tsv", range(N), range(ITEMS)))


@pytest.mark.parametrize("view", ["eccv", "cxc"])
def test_coco_as_queries_and_a_corpus_has_the_digits_of_its_judgements(view: str, tmp_path: Path) -> None:
    """Two ways to one number: the judgements of a known set, and the same pairs as qrels."""
    pytest.importorskip("eccv_caption", reason="the judgements of COCO 5K are not installed")
    split = vb.load_split("coco-5k")
    rng = np.random.default_rng(1)
    images = rng.standard_normal((5000, DIM)).astype(np.float32)
    texts = images[split.owners] + 0.8 * rng.standard_normal((25000, DIM)).astype(np.float32)
    metrics = [f"{view}:{name}" for name in ("R@1", "R-P", "mAP@R")]
    want = vb.evaluate(images, texts, split=split, metrics=metrics, ci=0, trust=True)
    judged = judgements()[view].positives(split)
    for positives, direction, (queries, corpus), sides in (
        (judged[0], "i2t", (images, texts), split.sides),
        (judged[1], "t2i", (texts, images), split.sides[::-1]),
    ):
        ids = [side.ids for side in sides]
        np.savez(
            tmp_path / "e.npz", query_embeddings=queries, corpus_embeddings=corpus, query_ids=ids[0], corpus_ids=ids[1]
        )
        pairs = zip(ids[0][positives.queries[positives.query_of]], ids[1][positives.items], strict=True)
        (tmp_path / "q.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t1\n" for q, d in pairs))
        named = [name.replace(view, "q") for name in metrics]
        found = vb.evaluate(tmp_path / "e.npz", judgements=tmp_path / "q.tsv", metrics=named, ci=0, trust=True)
        for name, own in zip(metrics, named, strict=True):
            # Two positives of ECCV Caption are not among the captions, and count in the first alone.
            missing = 2e-4 * bool(positives.missing.any())
            assert found[own, WAY].value == pytest.approx(want[name, direction].value, abs=1e-15 + missing), name


def test_all_metrics_are_those_of_the_judgements(tmp_path: Path, refuses: Refuses) -> None:
    names = ("query_embeddings", "corpus_embeddings", "query_ids", "corpus_ids")
    given = {"images": saved(tmp_path / "e.npz", names), "judgements": f"mine={qrels(tmp_path / 'q.tsv')}", "ci": 0}
    found = vb.evaluate(**given, metrics="all")
    assert {r.metric.view for r in found.results} == {"mine"} and len(found.results) > 9
    assert any("graded relevance left out" in note for note in found.notes)
    for metric in ("gt:R@1", "mine:RSum"):
        refuses(UsageError, vb.evaluate, **given, metrics=metric)
