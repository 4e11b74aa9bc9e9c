"""Judgements of one's own: the forms in which they are given, and the values of other packages for the same qrels."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench as vb
from tests.commands import cli, document
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError, VsebenchError
from vsebench.results.report import Report

METRICS = (
    "mine:R@1,mine:R@5,mine:Recall@5,mine:R-P,mine:mAP@R,mine:mAP,mine:mAP@5,mine:MRR,mine:MedR,mine:nDCG@10,mine:NCS@5"
)
Grades = dict[str, dict[str, int]]
Form = Callable[[Path, Grades], Any]


def grades(seed: int = 1) -> Grades:
    """image -> caption -> grade 0 to 2, of 15 of the images; every one has a positive."""
    draw = random.Random(seed)
    found: Grades = {}
    for n in range(15):
        own = {f"im{c // 2:02}#{c % 2}": draw.choice((0, 1, 2)) for c in draw.sample(range(40), 6)}
        found[f"im{n:02}"] = own | {f"im{n:02}#0": 2}
    return found


def evaluate(files: Path, given: Any, metrics: str = METRICS, **more: Any) -> Report:
    return vb.evaluate(files / "A.npz", judgements={"mine": given}, metrics=metrics, **{"ci": 0, **more})


def values(report: Report) -> dict[tuple[str, str], tuple[float, int]]:
    return {(str(r.metric), str(r.direction)): (r.value, r.n) for r in report.results}


def pairs(judged: Grades) -> list[tuple[str, str, int]]:
    return [(q, i, g) for q, items in judged.items() for i, g in items.items()]


def written(name: str, lines: Callable[[Grades], Iterable[str]], head: str = "") -> Form:
    def write(folder: Path, judged: Grades) -> Path:
        (folder / name).write_text(head + "".join(f"{line}\n" for line in lines(judged)))
        return folder / name

    return write


def each(name: str, form: str, head: str = "") -> Form:
    return written(name, lambda judged: (form.format(q=q, i=i, g=g) for q, i, g in pairs(judged)), head)


def by_caption(judged: Grades) -> dict[str, list[str]]:
    return {caption: [q for q, items in judged.items() if caption in items] for _, caption, _ in pairs(judged)}


as_qrels = each("qrels.txt", "{q} 0 {i} {g}")
FORMS: dict[str, Form] = {
    "qrels": as_qrels,
    "three columns": each("three.txt", "{q}\t{i}\t{g}"),
    "JSON": written("qrels.json", lambda judged: [json.dumps(judged)]),
    "csv": each("pairs.csv", "{g},{i},{q}", "grade,caption_id,image_id\n"),
    "BEIR": each("beir.tsv", "{q}\t{i}\t{g}", "query-id\tcorpus-id\tscore\n"),
    "JSON lines": each("pairs.jsonl", '{{"image_id": "{q}", "caption_id": "{i}", "grade": {g}}}'),
    "pairs": lambda folder, judged: pairs(judged),
}
LISTED: dict[str, Form] = {  # every listed item is a positive
    "lists": written("lists.jsonl", lambda judged: (
        json.dumps({"query_id": q, "query_text": "a", "item_ids": list(items)}) for q, items in judged.items())),
    "lists of images": written("texts.jsonl", lambda judged: (
        json.dumps({"text_id": t, "text": "a", "image_ids": i}) for t, i in by_caption(judged).items())),
    "cells": written("cells.tsv", lambda judged: (f"{q}\t{json.dumps(list(items))}" for q, items in judged.items()),
                     "image_id\tcaption_ids\n"),
    "two columns": each("two.txt", "{q}\t{i}"),
}  # fmt: skip


@pytest.mark.parametrize("form", LISTED)
def test_every_listed_item_is_a_positive(form: str, files: Path, tmp_path: Path):
    judged = {query: dict.fromkeys(items, 1) for query, items in grades().items()}
    one, other = (evaluate(files, given, "mine:R@1,mine:mAP") for given in (judged, LISTED[form](tmp_path, judged)))
    assert values(one) == values(other)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_values_and_the_fingerprint_of_a_mapping(form: str, files: Path, tmp_path: Path):
    judged = grades()
    one, other = evaluate(files, judged), evaluate(files, FORMS[form](tmp_path, judged))
    assert values(one) == values(other) and len(values(one)) == 22
    assert one.signature == other.signature and "mine:own#" in one.signature


def matrix_of(judged: Grades) -> npt.NDArray[Any]:
    matrix = np.zeros((20, 40))
    for query, items in judged.items():
        for item, grade in items.items():
            matrix[int(query[2:]), 2 * int(item[2:4]) + int(item[-1])] = grade
    return matrix


def test_a_matrix_in_memory_and_in_a_file(files: Path, tmp_path: Path):
    """Every item of a matrix is a judged query: those without a positive are counted, and have no value."""
    judged = grades() | {f"im{n:02}": {f"im{n:02}#1": 1} for n in range(15, 20)}
    matrix = matrix_of(judged)
    np.save(tmp_path / "m.npy", matrix.T)
    found = values(evaluate(files, matrix))
    assert found == values(evaluate(files, tmp_path / "m.npy"))
    assert found == values(evaluate(files, judged))


def test_a_matrix_of_0_and_1_is_judgements_not_gains(files: Path, refuses: Refuses):
    matrix = np.kron(np.eye(20), np.ones((1, 2)))
    report = evaluate(files, matrix, "gt:R@1,mine:R@1,mine:mAP@R,gt:mAP@R,mine:nDCG@5,gt:nDCG@5")
    for name in ("R@1", "mAP@R", "nDCG@5"):
        for direction in ("i2t", "t2i"):
            gt = f"gt:{name}" if name == "nDCG@5" else name
            assert report[f"mine:{name}", direction].value == report[gt, direction].value
    as_gains = vb.evaluate(files / "A.npz", gains=matrix, metrics="matrix:nDCG@5", ci=0)
    assert as_gains["matrix:nDCG@5", "i2t"].value == report["mine:nDCG@5", "i2t"].value
    for name in ("R@1", "SR@5"):
        refuses(BadInput, vb.evaluate, files / "A.npz", gains=matrix, metrics=f"matrix:{name}", ci=0)
    every = vb.evaluate(files / "A.npz", gains=matrix, metrics="graded", ci=0)
    assert any("SR@1" in note and "left out" in note for note in every.notes)


def test_the_other_direction_is_the_transpose_unless_given(files: Path):
    judged = grades()
    turned: Grades = {}
    for query, items in judged.items():
        for item, grade in items.items():
            turned.setdefault(item, {})[query] = grade
    one = evaluate(files, judged)
    assert "mine: t2i is the transpose of i2t" in one.notes
    # of items judged with grade 0 alone the transpose knows as well
    assert values(one) == values(evaluate(files, {"i2t": judged, "t2i": turned}))
    assert values(one) == values(evaluate(files, turned))


def test_the_level_decides_what_is_a_positive(files: Path):
    judged = grades()
    strict = {q: {i: g for i, g in items.items() if g == 2} for q, items in judged.items()}
    assert values(evaluate(files, judged, "mine:R-P,mine:mAP", level=2)) == values(
        evaluate(files, strict, "mine:R-P,mine:mAP")
    )


def run_of(files: Path) -> dict[str, dict[str, float]]:
    """image -> caption -> cosine, of all pairs."""
    with np.load(files / "A.npz") as arrays:
        x, y = (
            a / np.linalg.norm(a, axis=1, keepdims=True)
            for a in (arrays["image_embeddings"], arrays["text_embeddings"])
        )
        images, captions = arrays["image_ids"].tolist(), arrays["text_ids"].tolist()
    scores = x.astype(np.float64) @ y.T.astype(np.float64)
    return {i: dict(zip(captions, row, strict=True)) for i, row in zip(images, scores.tolist(), strict=True)}


def test_values_are_those_of_pytrec_eval(files: Path):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    judged = grades()
    judged["im00"]["somewhere else"] = 1  # counts as not found, also in the ideal gains of nDCG
    report = evaluate(files, judged, f"{METRICS},mine:mAP[over=found]@5")
    run = {query: row for query, row in run_of(files).items() if query in judged}
    measures = {"success.1,5", "recall.5", "Rprec", "map", "map_cut.5", "recip_rank", "ndcg_cut.10"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    names = {"R@1": "success_1", "R@5": "success_5", "Recall@5": "recall_5", "R-P": "Rprec", "mAP": "map",
             "mAP@5": "map_cut_5", "MRR": "recip_rank"}  # fmt: skip
    for ours, name in names.items():
        expected = np.mean([theirs[q][name] for q in judged])
        assert report[f"mine:{ours}", "i2t"].value == pytest.approx(expected, abs=1e-12), ours
    found = report["mine:nDCG@10", "i2t"].per_query
    assert found == pytest.approx([theirs[q]["ndcg_cut_10"] for q in sorted(judged)], abs=1e-6)
    assert "judgements 'mine' (i2t): 1 positive is not in the gallery and counts as not found" in report.notes
    top = [
        [judged[q].get(i, 0) > 0 for i in sorted(row, key=row.__getitem__, reverse=True)[:5]] for q, row in run.items()
    ]
    of_found = [np.mean([sum(hits[:k]) / k for k in range(1, 6) if hits[k - 1]] or [0]) for hits in top]
    assert report["mine:mAP[over=found]@5", "i2t"].value == pytest.approx(np.mean(of_found))  # as torchmetrics divides


def test_class_labels(files: Path, tmp_path: Path):
    classes, metrics = np.arange(20) % 4, "mine:mAP,mine:R-P"
    of_captions = np.repeat(classes, 2)
    report = evaluate(files, {"labels": (classes, of_captions)}, metrics)
    one_hot = {"labels": (np.eye(4, dtype=int)[classes], [[int(c)] for c in of_captions])}
    for same in ((classes[:, None] == of_captions).astype(float), one_hot):
        assert values(report) == values(evaluate(files, same, metrics))
    rows = [f"im{n // 2:02},im{n // 2:02}#{n % 2},{of_captions[n]}\n" for n in range(40)]
    (tmp_path / "labels.csv").write_text("image_id,caption_id,label\n" + "".join(rows))
    found = document(
        "eval", files / "A.npz", "--judgements", f"mine=labels:{tmp_path}/labels.csv", "--metrics", metrics, "--ci", 0
    )
    assert {(r["metric"], r["direction"]): (r["value"], r["n"]) for r in found["results"]} == values(report)


def test_a_part_of_the_split_has_the_judgements_of_the_part(files: Path, tmp_path: Path):
    table, metrics = tmp_path / "half.csv", "mine:R-P,mine:nDCG@5"
    table.write_text("image_id,half\n" + "".join(f"im{n:02},{'a' if n < 10 else 'b'}\n" for n in range(20)))
    part = evaluate(files, grades(), metrics, only=f"{table}:half=a")
    inside = {
        q: {i: g for i, g in items.items() if int(i[2:4]) < 10} for q, items in grades().items() if int(q[2:]) < 10
    }
    assert part["mine:R-P", "i2t"].n == 10
    with np.load(files / "A.npz") as a:
        x, y = a["image_embeddings"][:10], a["text_embeddings"][:20]
        ids = {"image_ids": a["image_ids"][:10], "text_ids": a["text_ids"][:20]}
    ids["image_id_of_text"] = np.repeat(ids["image_ids"], 2)
    assert values(part) == values(vb.evaluate(x, y, judgements={"mine": inside}, metrics=metrics, ci=0, **ids))


def test_intervals_compare_slices_and_the_page(files: Path, tmp_path: Path, refuses: Refuses):
    with np.load(files / "A.npz") as arrays:
        kept, rng = dict(arrays), np.random.default_rng(7)
    reports = []
    for noise in (0.0, 0.5):
        texts = kept["text_embeddings"] + np.float32(noise) * rng.standard_normal((40, 6)).astype(np.float32)
        np.savez(tmp_path / "A.npz", **{**kept, "text_embeddings": texts})
        report = evaluate(tmp_path, grades(), "R@1,mine:R-P,mine:nDCG@10,mine:recall", ci=95, resamples=100)
        assert all((r.interval is None) == str(r.metric).endswith("MedR") for r in report.results)
        report.save(tmp_path / "A.json")
        reports.append(vb.load(tmp_path / "A.json"))
    again = reports[0]
    assert again["mine:R-P", "i2t"].value > 0 and "mine" in str(again)
    assert [str(r.metric) for r in again.results if r.direction is None] == ["mine:RSum"]
    assert "mine:R-P" in vb.compare(reports).to_json()
    refuses(UsageError, vb.slice, again, by="positives", metrics="mine:R-P")
    with pytest.raises(VsebenchError, match="mine"):
        vb.compare([again, evaluate(files, grades(2), "mine:R-P")], metrics="mine:R-P")


def test_processes_read_judgements_of_files_alone(files: Path, refuses: Refuses):
    refuses(UsageError, evaluate, files, grades(), engine="dask")


REFUSED = {
    "unknown ids": {"nobody": ["nothing"], "no one": ["nowhere"]},
    "most queries unknown": {"i2t": {f"x{n}": ["im00#0"] for n in range(9)} | {"im00": ["im00#0"]}},
    "most items unknown": {"i2t": {"im00": ["im00#0", "a", "b"]}},
    "the wrong direction": {"t2i": {"im00": ["im00#0"]}},
    "a pair twice": [("im00", "im00#0"), ("im00", "im00#0")],
    "no positive": {"im00": {"im00#0": 0}, "im01": {"im01#0": 0}, "im02": {"im02#0": 0}},
    "a grade that is no number": {"im00": {"im00#0": "much"}},
    "nothing": {},
    "a number": 5,
    "another key": {"i2t": {"im00": ["im00#0"]}, "x": {}},
    "a query with a number": {"im00": 3},
    "a triple of four": [("im00", "im00#0", 1, 2)],
    "labels of too few": {"labels": ([1], [1])},
    "labels of one side": {"labels": [1, 2, 3]},
    "a matrix of another shape": np.ones((3, 4)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, files: Path, pinned: Pinned):
    with pytest.raises(VsebenchError) as refused:
        evaluate(files, REFUSED[case], "mine:R@1")
    assert refused.value.fix
    pinned(refused.value)


def test_a_file_without_a_name_has_that_of_the_file(files: Path, tmp_path: Path):
    path = as_qrels(tmp_path, grades()).rename(tmp_path / "Qrels v2.txt")
    named = values(vb.evaluate(files / "A.npz", judgements={"qrels-v2": path}, metrics="qrels-v2:R@1", ci=0))
    for given in (path, str(path), [f"i2t:{path}"]):
        assert values(vb.evaluate(files / "A.npz", judgements=given, metrics="qrels-v2:R@1", ci=0)) == named


@pytest.mark.parametrize("text", ["=qrels.txt", *(f"{name}=qrels.txt" for name in ("gt", "cider", "recall", "a b")),
                                  "mine=absent.txt"])  # fmt: skip
def test_what_the_command_refuses(text: str, files: Path, pinned: Pinned):
    done = cli("eval", files / "A.npz", "--judgements", text, code=None)
    assert done.code in (2, 3) and "fix:" in done.err
    pinned(done.err)


def test_names_that_no_evaluation_knows(files: Path, tmp_path: Path, pinned: Pinned, refuses: Refuses):
    given = ["--judgements", f"mine={as_qrels(tmp_path, grades())}"]
    for words, code in ((["--metrics", "mine:R@1"], 2), (given * 2, 2), ([*given, "--metrics", "R@1", "--ci", "0"], 0)):
        pinned(cli("eval", files / "A.npz", *words, code=code).err)
    for metric in ("mine:CS@5", "mine:SR@5", "mine:MLD@5"):
        refuses(UsageError, evaluate, files, grades(), metric)


def test_queries_that_the_split_does_not_have_are_left_out(files: Path):
    judged = grades()
    report = evaluate(files, judged | {"im99": {"im01#0": 1}})
    assert values(report)["mine:R-P", "i2t"] == values(evaluate(files, judged))["mine:R-P", "i2t"]
    assert "mine: i2t: of 16 judged queries 1 is not in the split" in " ".join(report.notes) or any(
        "im99" in n for n in report.notes
    )


def test_linear_and_exponential_gains() -> None:
    """Grades a 3, b 2, c 1 and d 0 in the order b a d c, as of pytrec_eval and of ndcg_burges in ranx."""
    report = vb.evaluate(
        run={"t2i": {"q": {"b": 4.0, "a": 3.0, "d": 2.0, "c": 1.0}}}, judgements={"x": {"q": dict(a=3, b=2, c=1, d=0)}},
        metrics="x:nDCG@10,x:nDCG[gain=exp]@10", ci=0,
    )  # fmt: skip
    assert [r.value for r in report.results] == pytest.approx([0.9079364505194771, 0.8354477690556398], abs=1e-15)


def test_exponential_gains_are_of_whole_grades(files: Path, refuses: Callable[..., Any]) -> None:
    graded = {"im00": {"im00#0": 2.5}}
    refuses(BadInput, evaluate, files, graded, "mine:nDCG[gain=exp]@5")
