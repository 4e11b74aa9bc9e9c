"""Candidates of a query: the values of numpy, the forms of files, the same bits everywhere, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Refuses
from vsebench.analysis.slices import slice as sliced
from vsebench.errors import BadInput, UsageError
from vsebench.results.report import Report
from vsebench.types import ONE_WAY

N, ITEMS, DIM = 60, 90, 12
RNG = np.random.default_rng(3)
CORPUS = RNG.integers(-40, 41, (ITEMS, DIM)).astype(np.float32) / 32  # whose products are exact
OWN = RNG.integers(0, ITEMS, N)
QUERIES = CORPUS[OWN] + RNG.integers(-40, 41, (N, DIM)).astype(np.float32) / 32
QUERIES[5], CORPUS[7] = QUERIES[4], CORPUS[8]  # ties
SCORES = QUERIES.astype(np.float64) @ CORPUS.T.astype(np.float64)
GRADES = np.zeros((N, ITEMS))
GRADES[np.arange(N).repeat(2), RNG.integers(0, ITEMS, 2 * N)] = 1
GRADES[np.arange(N), OWN] = 2
IN = RNG.random((N, ITEMS)) < 0.3
IN[np.arange(N), OWN] = RNG.random(N) < 0.9  # a tenth of the targets are no candidates
OUT = RNG.random((N, ITEMS)) < 0.05
Q_IDS, D_IDS = [f"q{i}" for i in RNG.permutation(N)], [f"d{i}" for i in RNG.permutation(ITEMS)]
ALL: dict[str, Any] = {
    "query_ids": Q_IDS, "corpus_ids": D_IDS, "ci": 0, "trust": True,
    "metrics": "test:R@1,test:R@5,test:MedR,test:mAP,test:nDCG@5,test:Recall@10,test:R-P",
}  # fmt: skip


def pairs(mask: Any) -> dict[str, list[str]]:
    return {Q_IDS[q]: [D_IDS[d] for d in np.flatnonzero(row)] for q, row in enumerate(mask)}


JUDGED = {"test": {Q_IDS[q]: {D_IDS[d]: GRADES[q, d] for d in np.flatnonzero(GRADES[q])} for q in range(N)}}
ALL["judgements"] = JUDGED


def expected(allowed: Any = None, excluded: Any = None) -> dict[str, float]:
    """Sorting of the candidates alone: excluded items are not relevant, others that are missing are not found."""
    rows: dict[str, list[float]] = {name.partition(":")[2]: [] for name in ALL["metrics"].split(",")}
    for q in range(N):
        grades = GRADES[q] * (1 if excluded is None else ~excluded[q])
        kept = np.ones(ITEMS, bool) if allowed is None else allowed[q].copy()
        kept &= True if excluded is None else ~excluded[q]
        positives = int((grades > 0).sum())
        if not positives or not kept.any():
            continue
        order = [d for d in sorted(range(ITEMS), key=lambda d: (-SCORES[q, d], D_IDS[d])) if kept[d]]
        gains = grades[order]
        hit = gains > 0
        best = np.sort(grades)[::-1]  # with relevant items that are no candidates
        weights = 1 / np.log2(np.arange(2, 7))
        ideal = float((best[:5] * weights).sum())
        places = np.flatnonzero(hit) + 1
        rows["R@1"].append(float(hit[:1].any()))
        rows["R@5"].append(float(hit[:5].any()))
        rows["MedR"] += [float(places[0])] if len(places) else []
        rows["mAP"].append(float(sum((i + 1) / place for i, place in enumerate(places))) / positives)
        if (GRADES[q] > 0).any():
            rows["nDCG@5"].append(float((gains[:5] * weights[: len(gains[:5])]).sum()) / ideal if ideal else 0.0)
        rows["Recall@10"].append(float(hit[:10].sum()) / positives)
        rows["R-P"].append(float(hit[:positives].sum()) / positives)
    return {name: float(np.floor(np.median(v)) if name == "MedR" else np.mean(v)) for name, v in rows.items()}


def values(report: Report) -> dict[str, float]:
    return {r.metric.name: r.value for r in report.results}


@pytest.mark.parametrize("kind", ["candidates", "exclude", "both"])
def test_values_of_numpy_for_vectors_scores_and_runs(kind: str) -> None:
    given: dict[str, Any] = {}
    given |= {} if kind == "exclude" else {"candidates": pairs(IN)}
    given |= {} if kind == "candidates" else {"exclude": pairs(OUT)}
    want = expected(None if kind == "exclude" else IN, None if kind == "candidates" else OUT)
    vectors = vb.evaluate(QUERIES, CORPUS, similarity="dot", **ALL, **given)
    assert values(vectors) == pytest.approx(want, abs=1e-12)
    assert values(vb.evaluate(scores=SCORES, **ALL, **given)) == pytest.approx(want, abs=1e-12)
    by_id = sorted(range(ITEMS), key=D_IDS.__getitem__)
    run = {Q_IDS[q]: {D_IDS[d]: SCORES[q, d] for d in by_id} for q in range(N)}
    of_run = {name: ALL[name] for name in ("judgements", "metrics", "ci", "trust")}
    listed = vb.evaluate(run={"i2t": run}, **of_run, **given)
    assert values(listed) == pytest.approx(want, abs=1e-12)
    if kind != "exclude":
        assert any("no relevant item among their candidates" in w for w in vectors.warnings)


def test_shards_and_backends_give_the_same_bits(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", query_embeddings=QUERIES, corpus_embeddings=CORPUS, query_ids=Q_IDS, corpus_ids=D_IDS)
    files = {}
    for name, content in {"in": pairs(IN), "out": pairs(OUT), "test": JUDGED["test"]}.items():
        files[name] = tmp_path / f"{name}.json"
        files[name].write_text(json.dumps(content))
    given = {"judgements": f"test={files['test']}", "metrics": ALL["metrics"], "ci": 0, "trust": True, "lists": 8}
    some, out = {"candidates": files["in"]}, {"exclude": files["out"]}
    for limits in (some, out, some | out):
        one = vb.evaluate(tmp_path / "x.npz", similarity="dot", **given, **limits)
        others = [vb.evaluate(tmp_path / "x.npz", similarity="dot", engine="dask", workers=1, **given, **limits)]
        for backend in ("faiss", "torch:cpu"):
            pytest.importorskip(backend.partition(":")[0])
            others.append(vb.evaluate(tmp_path / "x.npz", similarity="dot", backend=backend, **given, **limits))
        for other in others:
            assert values(other) == values(one) and other.signature == one.signature
            assert np.array_equal(other.lists[0].items, one.lists[0].items)
        kept: dict[str, Any] = {"save_run": tmp_path / "top.json", "depth": 90}
        saved = vb.evaluate(tmp_path / "x.npz", similarity="dot", **kept, **given, **limits)
        again = vb.evaluate(run=json.loads((tmp_path / "top.json").read_text()), **{**given, "lists": None}, **limits)
        assert values(saved) == values(again) == values(one)


CIRR = {"r": 0.9, "m2": 0.8, "o": 0.7, "m1": 0.5, "m3": 0.3, "m4": 0.2, "m5": 0.1}
ANNOTATED = [
    {"pairid": 12063, "reference": "r", "target_hard": "m1", "caption": "is red", "target_soft": {"m1": 1.0},
     "img_set": {"id": 36, "members": ["r", "m1", "m2", "m3", "m4", "m5"]}},
]  # fmt: skip


def test_the_three_readings_of_cirr(tmp_path: Path) -> None:
    """Rank 4 with the reference, 3 without it, 2 among the images of its set; the signatures differ."""
    (tmp_path / "cap.rc2.val.json").write_text(json.dumps(ANNOTATED))
    (tmp_path / "split.rc2.val.json").write_text(json.dumps({name: f"./dev/{name}.png" for name in CIRR}))
    cap, gallery = tmp_path / "cap.rc2.val.json", tmp_path / "split.rc2.val.json"
    given: dict[str, Any] = {
        "scores": np.array([list(CIRR.values())]), "query_ids": [12063], "corpus_ids": list(CIRR), "ci": 0,
        "judgements": {"cirr": {"12063": ["m1"]}}, "metrics": "cirr:MedR",
    }  # fmt: skip
    every = [{}, {"exclude": cap}, {"candidates": cap, "exclude": cap}]
    reports = [vb.evaluate(**given, **limits) for limits in every]
    assert [r["cirr:MedR", ONE_WAY].value for r in reports] == [4, 3, 2]
    assert len({r.signature for r in reports}) == 3
    assert [str(r).splitlines()[0] for r in reports] == [
        "cirr", "without excluded items · cirr", "among candidates · without excluded items · cirr",
    ]  # fmt: skip
    assert vb.evaluate(**given, candidates=gallery).signature == reports[0].signature
    for other in reports[1:]:
        with pytest.raises(UsageError, match="candidates"):
            vb.compare(reports[0], other)


def written(form: str, path: Path) -> Path:
    """Candidates of ``IN`` in a file."""
    lists = pairs(IN)
    flat = [(q, d) for q, items in lists.items() for d in items]
    if form == "tsv":
        path.write_text("query-id\tcorpus-id\n" + "".join(f"{q}\t{d}\n" for q, d in flat))
    elif form == "csv twice":
        path.write_text("query_id,item_id,score\n" + "".join(f"{q},{d},0.5\n" for q, d in [*flat, flat[0]]))
    elif form == "two columns":
        path.write_text("".join(f"{q} {d}\n" for q, d in flat))
    elif form == "qrels":
        path.write_text("".join(f"{q} 0 {d} {k % 2}\n" for k, (q, d) in enumerate(flat)))
    elif form == "run":
        path.write_text("".join(f"{q} Q0 {d} 1 0.5 x\n" for q, d in flat))
    elif form == "json":
        path.write_text(json.dumps(lists))
    elif form == "mteb run":
        path.write_text(json.dumps({"default": {"test": {q: dict.fromkeys(own, 0.5) for q, own in lists.items()}}}))
    elif form == "top_ranked":
        path.write_text("".join(json.dumps({"query-id": q, "corpus-ids": own}) + "\n" for q, own in lists.items()))
    elif form == "mmeb":
        rows = ({"cand_names": own, "label_name": own[0], "rel_scores": None} for own in lists.values())
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "parquet":
        import pandas as pd

        pd.DataFrame({"query-id": list(lists), "corpus-ids": list(lists.values())}).to_parquet(path)
    return path


FORMS = ["tsv", "csv twice", "two columns", "qrels", "run", "json", "mteb run", "top_ranked", "mmeb", "parquet"]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_candidates(form: str, tmp_path: Path) -> None:
    wanted = vb.evaluate(scores=SCORES, **ALL, candidates=pairs(IN))
    report = vb.evaluate(scores=SCORES, **ALL, candidates=written(form, tmp_path / "c.x"))
    assert values(report) == values(wanted) and report.signature == wanted.signature


@pytest.mark.parametrize("form", ["json", "ids", "column", "files", "captions", "pool"])
def test_a_gallery_is_of_every_query(form: str, tmp_path: Path) -> None:
    """FashionIQ's list of a split, its references and targets, CIRR's files by name, and M-BEIR's pool."""
    some = np.arange(ITEMS) % 3 > 0
    ids, path = [D_IDS[d] for d in np.flatnonzero(some)], tmp_path / "split.dress.val.json"
    content = {
        "json": lambda: json.dumps(ids),
        "ids": lambda: "\n".join(ids),
        "column": lambda: "item_id\n" + "\n".join(ids),
        "files": lambda: json.dumps({name: f"./{name}.png" for name in ids}),
        "captions": lambda: json.dumps(
            [{"target": ids[k - 1], "candidate": ids[k], "captions": ["is red", "is long"]} for k in range(len(ids))]
        ),
        "pool": lambda: "".join(json.dumps({"did": name, "txt": None, "modality": "image"}) + "\n" for name in ids),
    }[form]()
    path.write_text(content)
    report = vb.evaluate(scores=SCORES, **ALL, candidates=path)
    assert values(report) == pytest.approx(expected(np.broadcast_to(some, (N, ITEMS))), abs=1e-12)


def test_references_by_row_and_by_query(tmp_path: Path) -> None:
    """FashionIQ's ``candidate`` is of the query in the row of its record, a mapping has one item of a query."""
    first = [(q, (OWN[q] + 1) % ITEMS) for q in range(N)]
    out = np.zeros((N, ITEMS), bool)
    out[tuple(zip(*first, strict=True))] = True
    path = tmp_path / "cap.dress.val.json"
    path.write_text(json.dumps([{"target": D_IDS[0], "candidate": D_IDS[d], "captions": ["a"]} for _, d in first]))
    for given in (path, {Q_IDS[q]: D_IDS[d] for q, d in first}):
        report = vb.evaluate(scores=SCORES, **ALL, exclude=given)
        assert values(report) == pytest.approx(expected(None, out), abs=1e-12)


def test_the_item_with_the_id_of_the_query() -> None:
    ids = [D_IDS[d] for d in RNG.permutation(ITEMS)[:N]]
    out = np.array([[d == q for d in D_IDS] for q in ids])
    judged = {"test": {ids[q]: JUDGED["test"][Q_IDS[q]] for q in range(N)}}
    given = {**ALL, "query_ids": ids, "judgements": judged}
    report = vb.evaluate(scores=SCORES, **given, exclude="self")
    assert values(report) == pytest.approx(expected(None, out), abs=1e-12)
    assert "|candidates:self|" in report.signature and "without the query itself" in str(report).splitlines()[0]
    same = vb.evaluate(scores=SCORES, **given, exclude={q: [q] for q in ids})
    assert values(same) == values(report)


def test_queries_whose_relevant_items_are_all_excluded_count_in_no_metric() -> None:
    """And those whose relevant items are no candidates, or not in the gallery, have the value 0."""
    judged = {"test": {"a": ["x"], "b": ["y"], "c": ["gone"]}}
    given: dict[str, Any] = {
        "scores": np.array([[3, 2, 1], [1, 3, 2], [1, 2, 3]]), "query_ids": ["a", "b", "c"], "ci": 0,
        "corpus_ids": ["x", "y", "z"], "judgements": judged, "metrics": "test:R@1,test:nDCG@3,test:mAP",
    }  # fmt: skip
    for limits, value, n in (
        ({}, 2 / 3, 3),
        ({"exclude": {"a": ["x"]}}, 0.5, 2),
        ({"candidates": {"a": "z", "b": "y"}}, 0.5, 2),
    ):
        limits = {name: {q: list(items) for q, items in of.items()} for name, of in limits.items()}
        report = vb.evaluate(**given, **limits)
        assert {(r.value, r.n) for r in report.results} == {(value, n)}, limits
        assert any("no relevant item" in w for w in report.warnings)


def test_images_and_texts_have_a_direction(tmp_path: Path) -> None:
    """Without one the ids say which side the queries are; the other direction has all items."""
    images = RNG.standard_normal((20, 6)).astype(np.float32)
    texts = np.repeat(images, 2, axis=0) + RNG.standard_normal((40, 6)).astype(np.float32)
    of: dict[str, Any] = {
        "image_ids": [f"i{k}" for k in range(20)], "text_ids": [f"t{k}" for k in range(40)], "ci": 0,
        "image_id_of_text": [f"i{k // 2}" for k in range(40)], "metrics": "R@1,RSum",
    }  # fmt: skip
    own = {f"t{k}": [f"i{k // 2}", f"i{(k // 2 + 1) % 20}"] for k in range(40)}
    scores = images.astype(np.float64) @ texts.T.astype(np.float64)
    report, plain = vb.evaluate(scores=scores, **of, candidates=own), vb.evaluate(scores=scores, **of)
    k = np.arange(40)
    assert report["R@1", "t2i"].value == np.mean(scores[k // 2, k] > scores[(k // 2 + 1) % 20, k])
    assert report["R@1", "i2t"].value == plain["R@1", "i2t"].value
    assert report["RSum"].value > plain["RSum"].value
    path = tmp_path / "own.json"
    path.write_text(json.dumps(own))
    for given in ({"t2i": path}, f"t2i={path}", {"t2i": own}):
        assert vb.evaluate(scores=scores, **of, candidates=given).signature == report.signature


def test_queries_without_candidates_count_in_no_metric() -> None:
    some = {q: items for q, items in pairs(IN).items() if q in Q_IDS[:40]}
    report = vb.evaluate(scores=SCORES, **ALL, candidates=some)
    assert {r.n for r in report.results if r.metric.name != "MedR"} == {40}
    assert any("20 of 60 queries have no candidates" in w for w in report.warnings)
    shown = np.where((np.arange(N) < 40)[:, None], IN, False)
    assert values(report) == pytest.approx(expected(shown), abs=1e-12)


@pytest.mark.parametrize("fill", [-np.inf, -1e9, -1e4, -100, np.finfo(np.float16).min])
def test_numbers_that_stand_for_excluded_pairs(fill: float) -> None:
    filled = np.where(OUT, fill, SCORES / 10).astype(np.float32)
    said = [note for note in vb.evaluate(scores=filled, **ALL).notes if "ranked last" in note]
    assert len(said) == 1 and said[0].startswith(f"{OUT.sum()} scores are {np.float32(fill):g}")
    report = vb.evaluate(scores=filled, **ALL, exclude=pairs(OUT))
    assert np.isinf(fill) or not any("ranked last" in note for note in report.notes)


@pytest.mark.parametrize("fill", [-np.inf, -1e9])
def test_a_query_and_an_item_that_are_never_candidates_need_no_scores(fill: float, refuses: Refuses) -> None:
    allowed, scores = IN.copy(), SCORES.copy()
    allowed[5], allowed[:, 7] = False, False
    scores[5], scores[:, 7] = fill, fill
    refuses(BadInput, vb.evaluate, scores=scores, **ALL)
    assert values(vb.evaluate(scores=scores, candidates=pairs(allowed), **ALL)) == pytest.approx(expected(allowed))
    scores[5] = 0.0  # which is no score of an excluded pair
    refuses(BadInput, vb.evaluate, scores=scores, candidates=pairs(allowed), **ALL)


def test_clipped_and_sparse_scores_are_no_sentinels() -> None:
    sparse, bounded = np.where(SCORES > 2, SCORES, 0), SCORES.clip(-1, 1)
    for scores in (SCORES.clip(min=0), sparse, bounded, np.sign(SCORES), -np.exp(-SCORES)):
        assert not any("ranked last" in note for note in vb.evaluate(scores=scores, **ALL).notes)


@pytest.mark.parametrize(
    "limits",
    [
        {"candidates": {"x": ["y"]}}, {"candidates": {}}, {"candidates": 5}, {"exclude": {Q_IDS[0]: ["nowhere"]}},
        {"candidates": ["a.json", "b.json"]}, {"exclude": "self", "query_ids": None, "corpus_ids": None},
        {"candidates": {"t2i": pairs(IN)}}, {"exclude": pairs(GRADES)}, {"candidates": {q: [] for q in Q_IDS}},
        {"candidates": pairs(IN), "normalise": "csls:k=5"}, {"exclude": "self", "rerank": {"i2t": SCORES}},
    ],
)  # fmt: skip
def test_refused(limits: dict[str, Any], pinned: Refuses) -> None:
    with pytest.raises((BadInput, UsageError)) as caught:
        vb.evaluate(scores=SCORES, **{**ALL, **limits})
    pinned(caught.value)


def test_refused_files(tmp_path: Path, pinned: Refuses) -> None:
    path = tmp_path / "mbeir_test.jsonl"
    for rows in (
        [{"qid": "9:1", "query_txt": "a", "pos_cand_list": ["9:7"], "neg_cand_list": ["9:8"]}],
        [{"cand_names": ["d1"], "label_name": "d1"}],
        [{"query_id": Q_IDS[0], "note": "d1"}],
    ):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(BadInput) as caught:
            vb.evaluate(scores=SCORES, **ALL, candidates=path)
        pinned(str(caught.value).replace(str(tmp_path), "."))


def test_slices_by_query_id(tmp_path: Path) -> None:
    report = vb.evaluate(scores=SCORES, **ALL)
    path = tmp_path / "groups.csv"
    path.write_text("query_id,group\n" + "".join(f"{q},{'ab'[k % 2]}\n" for k, q in enumerate(Q_IDS)))
    found = sliced(report, "column", file=path, metrics="test:R@1", ci=0).to_frame()
    own = report["test:R@1", ONE_WAY]
    assert own.per_query is not None and own.queries is not None
    in_b = np.array([Q_IDS.index(q) % 2 for q in own.queries]) > 0
    assert found["value"].tolist()[:2] == [own.per_query[~in_b].mean(), own.per_query[in_b].mean()]


def test_one_item_of_every_query_is_no_gallery() -> None:
    one = {q: D_IDS[n] for n, q in enumerate(Q_IDS)}
    only = {q: [d] for q, d in one.items()}
    for option in ("candidates", "exclude"):
        found, same = (vb.evaluate(scores=SCORES, **ALL, **{option: given}) for given in (one, only))
        assert values(found) == values(same)
