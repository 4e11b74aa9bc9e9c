"""Folders of queries, a corpus and judgements as BEIR, MTEB and ViDoRe publish them: values of numpy, and refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.evaluation.test_queries import (
    CORPUS,
    CORPUS_IDS,
    GRADES,
    ITEMS,
    QUERIES,
    QUERY_IDS,
    RNG,
    WAY,
    N,
    expected,
    qrels,
    values,
)  # fmt: skip
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.evaluation import inputs
from vsebench.evaluation.request import request


def beir(folder: Path, query_ids: Sequence[Any] = QUERY_IDS, corpus_ids: Sequence[Any] = CORPUS_IDS) -> Path:
    """A folder of BEIR with two queries more, which nobody judged."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rows = [{"_id": d, "title": f"t{k}", "text": f"item {k}"} for k, d in enumerate(corpus_ids)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [{"_id": q, "text": f"query {k}", "metadata": {}} for k, q in enumerate([*query_ids, "x1", "x2"])]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    qrels(folder / "qrels" / "test.tsv", query_ids, corpus_ids)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = beir(tmp_path_factory.mktemp("beir") / "mine")
    np.save(made.parent / "q.npy", np.concatenate([QUERIES, QUERIES[:2]]))
    np.save(made.parent / "judged.npy", QUERIES)
    np.save(made.parent / "d.npy", CORPUS)
    return made


def test_rows_in_the_order_of_a_folder_of_beir(folder: Path) -> None:
    q, d = folder.parent / "q.npy", folder.parent / "d.npy"
    report = vb.evaluate(q, d, split=str(folder), ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12) and report["test:R@1", WAY].n == N
    assert any(note == "test: 2 of 82 queries are not judged and are left out of every metric" for note in report.notes)
    items = inputs.read(request(images=q, texts=d, split=folder)).split
    assert items.rows.texts and items.columns.texts
    assert dict(zip(items.columns.ids, items.columns.texts, strict=True))[CORPUS_IDS[3]] == "t3 item 3"
    same = vb.evaluate(q, d, query_ids=[*QUERY_IDS, "x1", "x2"], corpus_ids=CORPUS_IDS, ci=0,
        judgements=str(folder / "qrels" / "test.tsv"))  # fmt: skip
    assert same.signature == report.signature
    judged = vb.evaluate(folder.parent / "judged.npy", d, split=f"{folder}:test", ci=0)
    assert values(judged) == values(report) and judged.items is not None and len(judged.items.rows) == N
    assert values(vb.evaluate(scores=QUERIES @ CORPUS.T, split=folder, ci=0)) == pytest.approx(expected(), abs=1e-6)
    words = ["eval", q, d, "--split", folder, "--ci", "0", "--json"]
    found = cli(*words).json
    assert {r["metric"][5:]: r["value"] for r in found["results"]} == pytest.approx(expected(), abs=1e-12)
    assert len(found["provenance"]["inputs"]) == 5
    assert cli(*words, "--engine", "dask", "--workers", "1").json["results"] == found["results"]


@pytest.mark.parametrize("name", ["top.json", "top.trec"])
def test_saved_rankings_are_read_back(name: str, folder: Path, tmp_path: Path) -> None:
    done = cli("eval", folder.parent / "q.npy", folder.parent / "d.npy", "--split", folder, "--ci", "0",
        "--metrics", "R@1", "--save-run", tmp_path / name)  # fmt: skip
    written = tmp_path / ("top.query2corpus.trec" if name.endswith("trec") else name)
    given = f"query2corpus={written}" if name.endswith("trec") else str(written)
    assert name.endswith("json") or f"--run {given}" in done.err
    judged = str(folder / "qrels" / "test.tsv")
    for more in ({"split": folder}, {"judgements": judged}):
        assert values(vb.evaluate(run=given, **more, ci=0)) == pytest.approx(expected(), abs=1e-12)  # type: ignore[arg-type]


def test_vectors_with_ids_are_matched_to_a_folder(folder: Path, tmp_path: Path) -> None:
    order, items = np.random.default_rng(5).permutation(N), np.random.default_rng(6).permutation(ITEMS)
    np.savez(
        tmp_path / "x.npz", query_embeddings=QUERIES[order], corpus_embeddings=CORPUS[items],
        query_ids=np.array(QUERY_IDS)[order], corpus_ids=np.array(CORPUS_IDS)[items],
    )  # fmt: skip
    assert values(vb.evaluate(tmp_path / "x.npz", split=folder, ci=0)) == pytest.approx(expected(), abs=1e-12)


def test_what_does_not_fit_a_folder_is_refused(folder: Path, tmp_path: Path, refuses: Refuses) -> None:
    given: dict[str, Any] = {"split": folder, "ci": 0}
    refuses(BadInput, vb.evaluate, QUERIES[:-1], CORPUS, **given)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS[:-1], **given)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS[:-1], corpus_ids=CORPUS_IDS[:-1], **given)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, query_ids=[*QUERY_IDS[1:], "other"], **given)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=f"{folder}:dev", ci=0)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=tmp_path, ci=0)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=f"{folder.parent}/min", ci=0)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=folder.parent / "q.npy", ci=0)
    refuses(BadInput, vb.evaluate, run={"query2corpus": {QUERY_IDS[0]: ["none"]}}, **given)
    other = beir(tmp_path / "other")
    lines = (other / "qrels" / "test.tsv").read_text().splitlines()
    (other / "qrels" / "test.tsv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=other, ci=0)  # judged queries have two orders
    (other / "corpus.jsonl").write_text('{"_id": null, "text": "x"}\n{"_id": "d1", "text": "x"}\n')
    refuses(BadInput, vb.evaluate, np.concatenate([QUERIES, QUERIES[:2]]), CORPUS, split=other, ci=0)
    (other / "corpus.jsonl").write_text('{"key": 1, "text": "x"}\n')
    refuses(BadInput, vb.evaluate, np.concatenate([QUERIES, QUERIES[:2]]), CORPUS, split=other, ci=0)


def test_a_split_of_several_is_chosen(folder: Path, tmp_path: Path, refuses: Refuses) -> None:
    other = beir(tmp_path / "other")
    (other / "qrels" / "dev.tsv").write_text(f"query-id\tcorpus-id\tscore\nx1\t{CORPUS_IDS[0]}\t1\n")
    rows = np.concatenate([QUERIES, QUERIES[:2]])
    assert values(vb.evaluate(rows, CORPUS, split=other, ci=0)) == pytest.approx(expected(), abs=1e-12)
    found = vb.evaluate(rows, CORPUS, split=f"{other}:dev", metrics="dev:MRR", ci=0, trust=True)
    rank = 1 + int((QUERIES[0] @ CORPUS.T > QUERIES[0] @ CORPUS[0]).sum())
    assert found["dev:MRR", WAY].value == pytest.approx(1 / rank) and found["dev:MRR", WAY].n == 1
    refuses(UsageError, vb.Accumulator, split=other)
    (other / "qrels" / "test.tsv").rename(other / "qrels" / "train.tsv")
    refuses(BadInput, vb.evaluate, rows, CORPUS, split=other, ci=0)


def parquet(path: Path, **columns: Any) -> None:
    """A table as data sets are published on a hub."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    named = {name.replace("_id", "-id") if name != "_id" else name: values for name, values in columns.items()}
    pa.parquet.write_table(pa.table(named), path)


# By the form of a download: the files of the corpus (in two shards), of the queries and of the judgements.
PUBLISHED = {
    "folders": ("corpus/test-{}.parquet", "queries/test-{}.parquet", "qrels/test-{}.parquet"),
    "old folders": ("corpus/corpus-{}.parquet", "queries/queries-{}.parquet", "data/test-{}.parquet"),
    "data": ("data/corpus-{}.parquet", "data/query-{}.parquet", "data/default-{}.parquet"),
    "of a subset": ("en-corpus/test-{}.parquet", "en-queries/test-{}.parquet", "en-qrels/test-{}.parquet"),
}


@pytest.mark.parametrize("form", PUBLISHED)
def test_tables_of_a_hub_have_integer_ids_and_images(form: str, tmp_path: Path) -> None:
    """Integers in the tables are the digits of text ids in the judgements, and beside the vectors."""
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    corpus, queries, judged = (str(tmp_path / name) for name in PUBLISHED[form])
    items, asked = np.random.default_rng(7).permutation(ITEMS), np.random.default_rng(8).permutation(N) + 40
    for part, some in enumerate(np.array_split(items, 2)):
        images = [{"bytes": b"no image", "path": None} for _ in some]
        parquet(Path(corpus.format(f"0000{part}-of-00002")), corpus_id=some, image=images)
    parquet(Path(queries.format("00000-of-00001")), _id=asked.astype(str), text=["?"] * N, language=["en"] * N)
    pairs = np.argwhere(GRADES)
    grades = GRADES[pairs[:, 0], pairs[:, 1]].astype(int)
    rows = {"query_id": asked[pairs[:, 0]].astype(str), "corpus_id": items[pairs[:, 1]], "score": grades}
    parquet(Path(judged.format("00000-of-00001")), **rows)
    report = vb.evaluate(QUERIES, CORPUS, split=tmp_path, ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12) and not report.warnings
    order = np.argsort(items)
    report = vb.evaluate(QUERIES, CORPUS[order], corpus_ids=items[order].astype(str), split=tmp_path, ci=0)
    assert values(report) == pytest.approx(expected(), abs=1e-12)


def test_a_missing_shard_and_a_second_table_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    other = beir(tmp_path / "other")
    given: dict[str, Any] = {"split": other, "ci": 0}
    for part in range(2):
        parquet(other / "corpus" / f"test-{part:05}-of-00003-0123456789abcdef.parquet", _id=CORPUS_IDS[part::3])
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, **given)
    (other / "corpus.jsonl").unlink()
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, **given)
    parquet(other / "corpus" / "test-00002-of-00003-0123456789abcdef.parquet", _id=CORPUS_IDS[2::3])
    rows = np.concatenate([CORPUS[part::3] for part in range(3)])
    assert values(vb.evaluate(QUERIES, rows, **given)) == pytest.approx(expected(), abs=1e-12)


def test_a_subset_is_chosen_by_its_name(tmp_path: Path, refuses: Refuses) -> None:
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    pairs = np.stack([np.arange(N), (QUERIES @ CORPUS.T).argmax(axis=1)], axis=1)
    for subset, ids in {"en": pairs, "de": pairs[::-1]}.items():
        parquet(tmp_path / f"{subset}-qrels.parquet", query_id=pairs[:, 0], corpus_id=ids[:, 1], score=[1] * N)
    parquet(tmp_path / "corpus.parquet", id=np.arange(ITEMS), text=["x"] * ITEMS)
    parquet(tmp_path / "queries.parquet", id=np.arange(N), text=["x"] * N)
    best = (QUERIES @ CORPUS.T).argmax(axis=1)
    for subset, ids in {"en": pairs, "de": pairs[::-1]}.items():
        found = vb.evaluate(QUERIES, CORPUS, split=f"{tmp_path}:{subset}", metrics="R@1", ci=0, trust=True)
        assert found[f"{subset}:R@1", WAY].value == (best == ids[:, 1]).mean()
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=tmp_path, ci=0)
    refuses(BadInput, vb.evaluate, QUERIES, CORPUS, split=f"{tmp_path}:fr", ci=0)


DEPTH = 30
SCORES = QUERIES @ CORPUS.T
ROWS = np.argsort(-SCORES, axis=1, kind="stable")[:, :DEPTH]
DISTANCES = np.take_along_axis(2 - 2 * SCORES, ROWS, axis=1)
WITH_ENDS = np.where(np.arange(DEPTH) < RNG.integers(20, DEPTH + 1, N)[:, None], ROWS, -1)


def rows_of(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays) if path.suffix == ".npz" else np.save(path, arrays["I"])
    return path


@pytest.mark.parametrize("form", ["rows", "products", "distances", "with ends", "int32"])
def test_rows_that_an_index_found(form: str, folder: Path, tmp_path: Path) -> None:
    """Rows are those of the corpus: by ids beside them, by a folder, or as the ids of the judgements."""
    file = rows_of(tmp_path / ("I.npy" if form == "rows" else "run.npz"), **{
        "rows": {"I": ROWS}, "products": {"D": -DISTANCES, "I": ROWS}, "distances": {"D": DISTANCES, "I": ROWS},
        "with ends": {"I": WITH_ENDS, "D": np.where(WITH_ENDS < 0, np.float32(3.4e38), DISTANCES)},
        "int32": {"labels": ROWS.astype(np.int32), "distances": DISTANCES},
    }[form])  # fmt: skip
    want = {name: value for name, value in expected().items() if name != "mAP"}
    judged: dict[str, Any] = {
        "judgements": str(folder / "qrels" / "test.tsv"),
        "ci": 0,
        "metrics": [f"test:{m}" for m in want],
    }
    report = vb.evaluate(run=file, query_ids=QUERY_IDS, corpus_ids=CORPUS_IDS, **judged)
    assert values(report) == pytest.approx(want, abs=1e-12)
    assert any("end with -1" in note for note in report.notes) == (form == "with ends")
    report = vb.evaluate(run=file, split=folder, metrics=list(want), ci=0)
    assert values(report) == pytest.approx(want, abs=1e-12)
    numbered = {**judged, "judgements": qrels(tmp_path / "test.tsv", range(N), range(ITEMS))}
    assert values(vb.evaluate(run=file, **numbered)) == pytest.approx(want, abs=1e-12)
    pairs = vb.TestSet.captioned("mine", CORPUS_IDS, QUERY_IDS)
    report = vb.evaluate(run=f"t2i={file}", split=pairs, **judged)
    assert report["test:R@1", "t2i"].value == want["R@1"]
    report = vb.evaluate(run=f"t2i={file}", text_ids=QUERY_IDS, image_ids=CORPUS_IDS, **judged)
    assert report["test:R@1", "t2i"].value == want["R@1"]


def test_equal_scores_of_an_index_are_in_the_order_of_its_rows(tmp_path: Path) -> None:
    file = rows_of(tmp_path / "run.npz", I=np.array([[2, 0, 1]]), D=np.array([[1.0, 0.5, 0.5]]))
    found = vb.evaluate(run=file, judgements={"q": {0: [1]}}, metrics="q:MRR", ci=0)
    assert found["q:MRR", WAY].value == 1 / 3


def test_rows_of_no_index_are_refused(folder: Path, tmp_path: Path, refuses: Refuses) -> None:
    given: dict[str, Any] = {"judgements": str(folder / "qrels" / "test.tsv"), "corpus_ids": CORPUS_IDS, "ci": 0}
    ids: dict[str, Any] = {**given, "query_ids": QUERY_IDS}
    for row in ([3, -1, 5], [3, -2, -2], [3, 5, 3], [3, 5, ITEMS]):
        file = rows_of(tmp_path / "I.npy", I=np.concatenate([ROWS[:-1, :3], [row]]))
        refuses(BadInput, vb.evaluate, run=file, **ids)
    file = rows_of(tmp_path / "I.npy", I=ROWS)
    refuses(BadInput, vb.evaluate, run=file, **{**ids, "query_ids": QUERY_IDS[1:]})
    refuses(BadInput, vb.evaluate, run=file, **{**ids, "corpus_ids": [CORPUS_IDS[0], *CORPUS_IDS[:-1]]})
    refuses(BadInput, vb.evaluate, run=file, image_ids=QUERY_IDS, text_ids=CORPUS_IDS, judgements=given["judgements"])
    refuses(BadInput, vb.evaluate, run=rows_of(tmp_path / "I.npz", D=DISTANCES), **ids)
    mixed = np.where(np.arange(N)[:, None] % 2, DISTANCES, -DISTANCES)
    refuses(BadInput, vb.evaluate, run=rows_of(tmp_path / "I.npz", I=ROWS, D=mixed), **ids)
    refuses(BadInput, vb.evaluate, run=rows_of(tmp_path / "I.npz", ids=np.arange(N)[:, None], x=QUERIES), **ids)
    (tmp_path / "run.txt").write_text(f"{QUERY_IDS[0]} Q0 {CORPUS_IDS[0]} 1 0.5 x\n")
    refuses(UsageError, vb.evaluate, run=tmp_path / "run.txt", **ids)


@pytest.mark.parametrize("of", [9, 0])
def test_ids_of_m_beir_are_saved_as_numbers(of: int, tmp_path: Path, refuses: Refuses) -> None:
    """As published: SET:NUMBER in the judgements, SET * 500,000 + NUMBER and SET * 10,000,000 + NUMBER in npy."""
    asked, items = np.random.default_rng(9).permutation(4 * N)[:N] + 1, np.arange(ITEMS)[::-1] + 1
    for name, rows, ids in (("q", QUERIES, of * 500_000 + asked), ("pool", CORPUS, of * 10_000_000 + items)):
        np.save(tmp_path / f"mbeir_{name}_embed.npy", rows)
        np.save(tmp_path / f"mbeir_{name}_ids.npy", ids.astype(np.int64))
    pairs = [f"{of}:{asked[q]} 0 {of}:{items[d]} {GRADES[q, d]:g} 0\n" for q, d in np.argwhere(GRADES)]
    (tmp_path / "qrels.txt").write_text("".join(pairs))
    files = [tmp_path / f"mbeir_{name}.npy" for name in ("q_embed", "pool_embed", "q_ids", "pool_ids")]
    ids: dict[str, Any] = {"query_ids": files[2], "corpus_ids": files[3]}
    given: dict[str, Any] = {"judgements": f"m={tmp_path / 'qrels.txt'}", "ci": 0}
    refuses(BadInput, vb.evaluate, *files[:2], **given)
    own = vb.evaluate(*files[:2], **ids, **given)  # a query and an item may have one id
    assert not any("the id of an item" in note for note in own.notes)
    assert values(vb.evaluate(*files[:2], **ids, **given)) == pytest.approx(expected(), abs=1e-12)
    run = rows_of(tmp_path / "I.npy", I=np.argsort(-SCORES, axis=1, kind="stable"))
    assert values(vb.evaluate(run=run, **ids, **given)) == pytest.approx(expected(), abs=1e-12)
    refuses(BadInput, vb.evaluate, *files[:2], **given)  # numbers of rows are no ids of M-BEIR
    refuses(BadInput, vb.evaluate, run=run, **given)
    np.save(files[2], asked + 7 * 500_000)
    refuses(BadInput, vb.evaluate, *files[:2], **ids, **given)


def test_inspect_says_what_the_files_of_a_test_set_are(folder: Path, tmp_path: Path) -> None:
    q, d, judged = folder.parent / "q.npy", folder.parent / "d.npy", folder / "qrels" / "test.tsv"
    pairs = f"({N} queries, {len(np.unique(np.argwhere(GRADES)[:, 1]))} items, {np.count_nonzero(GRADES)} pairs)"
    counts = {"split": "custom", "queries": N + 2, "corpus": ITEMS}

    def said(*words: Any) -> dict[str, Any]:
        found = cli("inspect", *words, "--json").json
        assert found["fault"] is None, found
        return found

    found = said(folder)
    assert [one["name"] for one in found["arrays"]] == ["query_ids", "corpus_ids", "judgements"]
    assert found["notes"] == [f"judgements {pairs}: use --split FOLDER"]
    assert found["matched"] | counts == found["matched"]
    idle = f"test: 2 of {N + 2} queries are not judged and are left out of every metric"
    assert idle in found["matched"]["notes"]
    assert "would be evaluated as custom: 82 queries" in cli("inspect", folder).out
    rows = (line.split("\t") for line in judged.read_text().splitlines()[1:])
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows))
    for words in ((q, "--texts", d, "--split", folder), (tmp_path / "qrels.txt", "--split", folder)):
        found = said(*words)
        assert found["matched"] | counts == found["matched"]
    np.save(tmp_path / "ids.npy", [*QUERY_IDS, "x1", "x2"])
    (tmp_path / "ids.txt").write_text("\n".join(CORPUS_IDS))
    ids = ("--ids", f"query={tmp_path}/ids.npy", "--ids", f"corpus={tmp_path}/ids.txt", "--judgements", judged)
    found = said(q, "--texts", d, *ids)
    assert found["matched"] | counts == found["matched"] and idle in found["matched"]["notes"]
    run = rows_of(tmp_path / "run.npz", I=np.concatenate([ROWS, ROWS[:2]]))
    for words in (ids, ("--split", folder)):
        found = said(run, *words)
        sizes = f"82 queries, {len(np.unique(ROWS))} items, {82 * DEPTH:,} pairs"
        assert found["notes"] == [f"retrieved lists ({sizes}): use --run"]
        assert found["matched"]["queries"] == N + 2
    assert said(run)["matched"] is None
    predictions = {"en": {"test": {QUERY_IDS[0]: {CORPUS_IDS[0]: 1.0}}, "dev": {QUERY_IDS[0]: {}}}}
    (tmp_path / "p.json").write_text(json.dumps(predictions | {"de": predictions["en"]}))
    assert "1 queries, 1 items, 1 pairs" in said(f"{tmp_path / 'p.json'}:en:test")["notes"][-2]
    assert cli("inspect", tmp_path / "p.json", "--json", code=3).json["fault"]


def test_what_is_odd_about_a_test_set_is_noted(folder: Path, tmp_path: Path) -> None:
    """Queries that are items, equal vectors and equal texts; a query that finds itself, unless that is right."""
    rng = np.random.default_rng(12)
    items = rng.standard_normal((40, 8)).astype(np.float32)
    ids, judged = [f"x{k}" for k in range(40)], {f"x{k}": [f"x{(k + 1) % 40}"] for k in range(40)}
    near = items + 0.1 * rng.standard_normal(items.shape).astype(np.float32)
    given: dict[str, Any] = {"query_ids": ids, "corpus_ids": ids, "ci": 0, "trust": True}
    report = vb.evaluate(near, items, judgements={"j": judged}, **given)
    first = int(((near / np.linalg.norm(near, axis=1)[:, None]) @ (items / np.linalg.norm(items, axis=1)[:, None]).T)
        .argmax(axis=1).__eq__(np.arange(40)).sum())  # fmt: skip
    assert first > 30
    said = f"the item with the id of the query is first for {first / 40:.0%} of the queries but is not relevant"
    assert any(said in one for one in report.warnings) and not any("vector of another" in one for one in report.notes)
    run = {i: [i, *(j for j in ids if j != i)] for i in ids}
    report = vb.evaluate(run={"query2corpus": run}, judgements={"j": judged}, ci=0, trust=True)
    assert any("is first for 100% of the queries" in one for one in report.warnings)
    right = vb.evaluate(near, items, judgements={"j": {i: [i] for i in ids}}, **given)
    apart = vb.evaluate(-near[:, ::-1], items, judgements={"j": judged}, **given)
    assert not any("id of" in one for one in (*right.warnings, *right.notes, *apart.warnings))
    assert "40 of 40 queries have the id of an item" in apart.notes
    again = np.concatenate([items, items[:2]])
    more = vb.evaluate(near, again, judgements={"j": judged}, **given | {"corpus_ids": [*ids, "y1", "y2"]})
    assert "4 of 42 corpus items have the same vector as another one and tie with it" in more.notes
    other = beir(tmp_path / "other")
    (other / "queries.jsonl").write_text((other / "queries.jsonl").read_text().replace('query 3"', 'query 4"'))
    noted = f"1 of {N + 2} queries repeat the text of another query"
    assert noted in vb.evaluate(np.concatenate([QUERIES, QUERIES[:2]]), CORPUS, split=other, ci=0).notes
