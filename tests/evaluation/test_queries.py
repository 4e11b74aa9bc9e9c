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
from vsebench.options import direction_named
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
    words += ["--ids", f"query={first}", "--ids", f"corpus={second}", "--ci", "0", "--json"]
    found = cli(*words).json
    assert {r["metric"][5:]: r["value"] for r in found["results"]} == pytest.approx(expected(), abs=1e-12)
    assert len(found["provenance"]["inputs"]) == 5
    assert cli(*words, "--engine", "dask", "--workers", "1").json["results"] == found["results"]


def test_queries_that_are_not_judged_and_items_that_are_not_there(folder: Path) -> None:
    more = vb.evaluate(
        np.concatenate([QUERIES, QUERIES[:3]]), CORPUS[:-1], query_ids=[*QUERY_IDS, "x", "y", "z"],
        corpus_ids=CORPUS_IDS[:-1], judgements=str(folder / "test.tsv"), metrics="test:Recall@90", ci=0,
    )  # fmt: skip
    assert "test: 3 of 83 queries are not judged and are left out of every metric" in more.notes and not more.warnings
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
    words = ["eval", folder / "qc.npz", "--judgements", folder / "test.tsv"]
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


@pytest.mark.parametrize(
    ("direction", "name"),
    [
        ("t2i", "t2v t2a text->image text-to-video TEXT2IMAGE text→img captions->images t2i"),
        ("i2t", "v2t a2t image->text audio-to-text images2captions"),
        (WAY, "query2corpus q2c query->corpus queries-to-documents query2doc"),
    ],
)
def test_directions_have_their_usual_names(direction: str, name: str):
    assert {direction_named(one) for one in name.split()} == {direction}


def test_a_direction_by_another_name_is_the_same_direction(folder: Path, pinned: Refuses):
    world = {"scores": np.eye(4) + 0.1 * RNG.random((4, 4)), "captions_per_image": 1, "ci": 0, "trust": True}
    one, other = (vb.evaluate(**world, metrics="R@1", direction=d) for d in ("t2i", "text->video"))
    assert one.to_frame().equals(other.to_frame())
    assert one["R@1", "t2v"] is one["R@1", "t2i"]
    given = {"judgements": f"mine={folder / 'test.tsv'}", "ci": 0}
    assert {r.direction for r in vb.evaluate(folder / "qc.npz", **given, direction="query->corpus").results} == {WAY}
    with pytest.raises(UsageError) as caught:
        vb.evaluate(**world, direction="query2corpus")
    pinned(caught.value)


def test_judged_at_k_is_the_share_of_the_top_that_was_judged(pinned: Refuses):
    """Grades of 0 count, as in ir_measures."""
    run = {"query2corpus": {q: dict(zip(CORPUS_IDS, RNG.random(ITEMS).tolist(), strict=True)) for q in QUERY_IDS}}
    rows = {q: RNG.choice(CORPUS_IDS, 15, replace=False).tolist() for q in QUERY_IDS[:60]}
    grades = {q: {item: int(RNG.integers(0, 3)) for item in items} | {items[0]: 1} for q, items in rows.items()}
    report = vb.evaluate(run=run, judgements={"j": grades}, metrics="j:Judged@7,j:P@7", ci=0, trust=True)
    lists = run["query2corpus"]
    top = {q: sorted(lists[q], key=lambda item, q=q: -lists[q][item])[:7] for q in grades}
    for name, least in {"j:Judged@7": 0, "j:P@7": 1}.items():
        expected = np.mean([[grades[q].get(item, -1) >= least for item in top[q]] for q in grades])
        assert report[name, WAY].value == pytest.approx(expected, abs=1e-12)
    every = vb.evaluate(run=run, judgements={"j": grades}, metrics="all", ci=0, trust=True)
    assert "j:Judged@10" in {str(r.metric) for r in every.results}
    with pytest.raises(UsageError) as caught:
        vb.evaluate(np.eye(5), np.eye(5), captions_per_image=1, metrics="Judged@3", trust=True)
    pinned(caught.value)


def said(report: Report) -> str:
    return "\n".join((*report.notes, *report.warnings))


def test_what_is_said_of_relevant_items_is_said_of_ndcg_alone(pinned: Refuses) -> None:
    """Its relevant items are those of gain above 0, whatever the level."""
    given: dict[str, Any] = {"metrics": "test:nDCG@10", "ci": 0, "trust": True, "level": 2}
    given |= {"judgements": {"test": {f"q{i}": {f"d{i + 1}": 1 + i % 2, f"d{i + 2}": 0} for i in range(30)}}}
    ids = {"query_ids": [f"q{i}" for i in range(30)], "corpus_ids": [f"d{i}" for i in range(30)]}
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((30, 30))
    report = vb.evaluate(scores=scores, **ids, **given)  # an item that is not there
    pinned(said(report))
    both = vb.evaluate(scores=scores, **ids, **given | {"metrics": "test:nDCG@10,R@1", "level": 1})
    assert both.warnings == report.warnings and both.notes[-1] == report.notes[-1]
    limits = {"candidates": {f"q{i}": [f"d{i}", f"d{i + i % 2}"] for i in range(30)}, "exclude": {"q3": ["d4"]}}
    pinned(said(vb.evaluate(scores=scores, **ids, **limits, **given)))
    pinned(said(vb.evaluate(scores=np.ones((30, 30)), **ids, **given)))
    own = {"query_ids": ids["corpus_ids"], "corpus_ids": ids["corpus_ids"]}
    judged = {f"d{i}": {f"d{(i + 1) % 30}": 2} for i in range(30)}
    pinned(said(vb.evaluate(scores=scores + 9 * np.eye(30), **own, **given | {"judgements": {"test": judged}})))


def test_ties_of_a_run_are_noted(pinned: Refuses) -> None:
    """Of 40 items with equal scores the relevant one is first in half of the lists."""
    run = {f"q{i}": {f"d{j}": 1.0 for j in range(40)} for i in range(30)}
    judged = {"test": {f"q{i}": {f"d{39 * (i % 2)}": 1} for i in range(30)}}
    for metric in ("R@1", "nDCG@10"):
        report = vb.evaluate(run={"t2i": run}, judgements=judged, metrics=f"test:{metric}", ci=0, trust=True)
        assert report.results[0].value == 0.5
        pinned(report.warnings)


def test_queries_without_a_relevant_item_are_left_out_of_ranks(pinned: Refuses) -> None:
    judged = {"test": {f"q{i}": {f"d{i if i < 27 else 99}": 1} for i in range(30)}}
    ids = {"query_ids": [f"q{i}" for i in range(30)], "corpus_ids": [f"d{i}" for i in range(30)]}
    report = vb.evaluate(scores=np.eye(30), **ids, judgements=judged, metrics="test:MedR,test:MeanR,test:R@1", ci=0)
    assert [(r.value, r.n) for r in report.results] == [(1, 27), (1, 27), (0.9, 30)]
    pinned(report.warnings)


def test_two_systems_share_the_metric_of_the_only_judgements(folder: Path):
    reports = [vb.evaluate(folder / "qc.npz", judgements=str(folder / "test.tsv"), metrics="nDCG@10") for _ in range(2)]
    assert [row["metric"] for row in vb.compare(reports, metrics="nDCG@10").records()] == ["test:nDCG@10"]


def test_judgements_have_the_name_of_their_file_without_its_ending(tmp_path: Path) -> None:
    file = qrels(tmp_path / "my.qrels.v2.tsv")
    report = vb.evaluate(QUERIES, CORPUS, query_ids=QUERY_IDS, corpus_ids=CORPUS_IDS, judgements=file, ci=0)
    assert {r.metric.view for r in report.results} == {"my-qrels-v2"}


def test_lists_by_query_alone_are_a_run(tmp_path: Path) -> None:
    judged = {"judgements": qrels(tmp_path / "test.tsv"), "metrics": "test:MRR", "ci": 0}
    order = np.argsort(-(QUERIES @ CORPUS.T), axis=1, kind="stable")
    lists = {q: {CORPUS_IDS[d]: float(-k) for k, d in enumerate(row)} for q, row in zip(QUERY_IDS, order, strict=True)}
    (tmp_path / "run.json").write_text(json.dumps(lists))
    report, want = vb.evaluate(run=lists, **judged), vb.evaluate(run=tmp_path / "run.json", **judged)
    assert report.signature == want.signature and report.results[0].value == want.results[0].value
    rank = 1 + (np.take_along_axis(GRADES, order, axis=1) > 0).argmax(axis=1)
    assert report["test:MRR", WAY].value == pytest.approx((1 / rank).mean())
    assert (
        vb.evaluate(run={q: list(items) for q, items in lists.items()}, **judged).results[0].value
        == want.results[0].value
    )


def test_slices_of_queries_are_of_the_metrics_that_they_have(tmp_path: Path, refuses: Refuses) -> None:
    ids = {"query_ids": QUERY_IDS, "corpus_ids": CORPUS_IDS}
    report = vb.evaluate(
        QUERIES, CORPUS, **ids, judgements=qrels(tmp_path / "test.tsv"), metrics="test:nDCG@5,test:P@3", ci=0
    )
    (tmp_path / "half.csv").write_text("query_id,half\n" + "".join(f"{q},{k % 2}\n" for k, q in enumerate(QUERY_IDS)))
    found = vb.slice(report, "column", file=tmp_path / "half.csv", ci=0)
    assert [table.fields["metric"] for table in found.tables[:-1]] == ["test:nDCG@5", "test:P@3"]
    assert {row["direction"] for row in found.records()} == {WAY}
    per_query = dict(zip(report["test:P@3", WAY].queries, report["test:P@3", WAY].per_query, strict=True))
    half = [np.mean([per_query[q] for q in QUERY_IDS[k::2]]) for k in (0, 1)]
    rows = [row["value"] for row in found.records() if row["metric"] == "test:P@3"]
    assert rows[:2] == pytest.approx(half)
    refuses(UsageError, vb.slice, report, "positives")


def test_rows_without_ids_are_queries_and_a_corpus_where_the_judgements_say_so(
    tmp_path: Path, refuses: Refuses
) -> None:
    rows = {"query_ids": range(N), "corpus_ids": range(ITEMS)}
    file = qrels(tmp_path / "test.tsv", *rows.values())
    lines = [f"{q} 0 {d} {GRADES[q, d]:g}\n" for q, d in np.argwhere(GRADES)]
    (tmp_path / "test.txt").write_text("".join(lines))
    np.save(tmp_path / "q.npy", QUERIES)
    np.save(tmp_path / "d.npy", CORPUS)
    np.save(tmp_path / "grades.npy", GRADES)
    plain, matrix, ci = str(tmp_path / "test.txt"), str(tmp_path / "grades.npy"), {"ci": 0}
    files, products = (tmp_path / "q.npy", tmp_path / "d.npy"), {"scores": QUERIES @ CORPUS.T}
    want = vb.evaluate(QUERIES, CORPUS, judgements=file, **rows, **ci)
    for report in (
        vb.evaluate(*files, judgements=file, **ci),
        vb.evaluate(QUERIES, CORPUS, judgements=f"test=query2corpus:{plain}", **ci),
        vb.evaluate(QUERIES, CORPUS, judgements=plain, direction=WAY, **ci),
        vb.evaluate(QUERIES, CORPUS, judgements=f"test=query2corpus:{matrix}", **ci),
        vb.evaluate(**products, judgements=file, **ci),
        vb.evaluate(**products, judgements={"test": {WAY: {q: {d: GRADES[q, d] for d in np.flatnonzero(GRADES[q])}
            for q in range(N)}}}, **ci),
    ):  # fmt: skip
        assert values(report) == pytest.approx(expected(), abs=1e-6)
        assert report.signature.replace("|score:scores", "|score:dot") == want.signature
    square = vb.evaluate(scores=(QUERIES @ CORPUS.T)[:, :N], judgements=file, **ci)
    assert {r.direction for r in square.results} == {WAY}
    assert {r.direction for r in vb.evaluate(QUERIES, CORPUS, judgements=plain, **ci).results} == {"i2t", "t2i"}
    np.savez(tmp_path / "named.npz", image_embeddings=QUERIES, text_embeddings=CORPUS)
    for judged in (plain, matrix):
        refuses((BadInput, UsageError), vb.evaluate, tmp_path / "named.npz", judgements=f"j=query2corpus:{judged}")
