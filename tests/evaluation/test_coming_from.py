"""The page for users of other tools: every pair of names in its tables is computed with both, and every difference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vsebench as vb
from benchmarks import peers
from benchmarks.library import OFFICIAL
from tests import worlds
from tests.gates import gate
from vsebench.results.report import Report
from vsebench.types import DIRECTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
IMAGES, EACH = 60, 5
KS = (1, 3, 5, 10, 20, 100, 1000)  # of MTEB
Array = npt.NDArray[Any]


def rows(heading: str, column: int = 0) -> Iterator[tuple[str, str, list[str]]]:
    """(their name, our name, all cells) of the last table of a section; two names of a cell are two rows."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    assert len(found) >= 4, heading
    ours = lines[0].strip("| ").split(" | ").index("vsebench")
    for cells in found:
        for name in re.findall(r"`([^`]+)`", cells[column]):
            yield name, cells[ours].strip("`"), cells


@pytest.fixture(scope="module")
def world() -> tuple[Array, Array]:
    made = worlds.world(IMAGES, EACH, 1.6, seed=11, dim=12)
    return made.images, made.texts


@pytest.fixture(scope="module")
def scores(world: tuple[Array, Array]) -> Array:
    return world[0].astype(float) @ world[1].astype(float).T


SAME = np.arange(IMAGES)[:, None] == np.arange(IMAGES * EACH) // EACH


def ours(world: tuple[Array, Array], *metrics: str, **more: Any) -> Report:
    return vb.evaluate(
        *world, captions_per_image=EACH, metrics=",".join(metrics), similarity="dot", ci=0, trust=True, **more
    )


def check(world: tuple[Array, Array], pairs: list[tuple[str, str]], theirs: dict[str, Any], tolerance: float) -> None:
    """Every pair of names, where ``theirs`` has (i2t, t2i) values by name."""
    report = ours(world, *dict.fromkeys(name for _, name in pairs))
    for their, our in pairs:
        got = [report[our, d].value for d in DIRECTIONS]
        assert got == pytest.approx(list(theirs[their]), abs=tolerance), (their, our)
    assert len({value for both in theirs.values() for value in both}) > 3


def dictionaries(scores: Array, direction: str) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    matrix, same = (scores, SAME) if direction == "i2t" else (scores.T, SAME.T)
    run = {f"q{q:03}": {f"d{i:03}": s for i, s in enumerate(row)} for q, row in enumerate(matrix.tolist())}
    return {f"q{q:03}": {f"d{i:03}": 1 for i in np.flatnonzero(row)} for q, row in enumerate(same)}, run


def topk_recall(scores: Array, same: Array, k: int) -> float:
    """As ``recall_at_k`` of CLIP_benchmark, of which it takes what is above 0: (query, item) scores and positives."""
    top = np.argsort(-scores, axis=1)[:, :k]
    found = np.take_along_axis(same, top, axis=1).sum(axis=1) / same.sum(axis=1)
    return float((found > 0).mean())


def test_clip_benchmark(world: tuple[Array, Array], scores: Array):
    report = ours(world, "R@1", "R@5")
    pairs = list(rows("CLIP_benchmark"))
    assert {name.partition("@")[0] for name, _, _ in pairs} == {"text_retrieval_recall", "image_retrieval_recall"}
    for name, metric, cells in pairs:
        direction = cells[2]
        assert direction == ("i2t" if name.startswith("text_") else "t2i")
        matrix, same = (scores, SAME) if direction == "i2t" else (scores.T, SAME.T)
        value = topk_recall(matrix, same, int(name.partition("@")[2]))
        assert report[metric, direction].value == pytest.approx(value, abs=1e-12)


def test_mteb(world: tuple[Array, Array], scores: Array):
    """Its values are means of those of pytrec_eval, rounded to five decimals; its reciprocal rank is a loop."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    cuts = ",".join(map(str, KS))
    names = {"ndcg_cut": "ndcg_at", "map_cut": "map_at", "recall": "recall_at", "success": "hit_rate_at"}
    both: dict[str, list[float]] = {}
    for direction in DIRECTIONS:
        qrels, run = dictionaries(scores, direction)
        found = pytrec_eval.RelevanceEvaluator(qrels, {f"{name}.{cuts}" for name in names}).evaluate(run)
        values = {
            f"{mteb}_{k}": round(float(np.mean([one[f"{name}_{k}"] for one in found.values()])), 5)
            for name, mteb in names.items()
            for k in KS
        }
        values["accuracy"] = values["recall_at_1"]
        for k in KS:
            lists = {
                q: sorted(row, key=lambda item, row=row: (row[item], item), reverse=True)[:k] for q, row in run.items()
            }
            first = [next((r for r, item in enumerate(lists[q], 1) if item in qrels[q]), 0) for q in lists]
            values[f"mrr_at_{k}"] = float(np.mean([1 / r if r else 0 for r in first]))
        for name, value in values.items():
            both.setdefault(name, []).append(value)
    check(world, [(name, metric) for name, metric, _ in rows("MTEB and MIEB")], both, 5.1e-6)
    assert both["recall_at_1"][0] <= 0.2 < both["hit_rate_at_1"][0]
    assert both["recall_at_1"][1] == both["hit_rate_at_1"][1]  # one relevant image
    assert both["mrr_at_1"][0] < both["mrr_at_1000"][0]


def test_sentence_transformers(world: tuple[Array, Array], scores: Array):
    """Its evaluator is given the best items of every query, as its search finds them."""
    found = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation", reason="it is not installed")
    pairs, both = [(name, metric) for name, metric, _ in rows("sentence-transformers")], dict[str, list[float]]()
    for direction in DIRECTIONS:
        qrels, run = dictionaries(scores, direction)
        queries, corpus = ({name: "" for name in names} for names in (run, next(iter(run.values()))))
        evaluator = found.InformationRetrievalEvaluator(queries, corpus, {q: set(items) for q, items in qrels.items()})
        lists = [[{"corpus_id": item, "score": score} for item, score in run[q].items()] for q in evaluator.queries_ids]
        values = evaluator.compute_metrics(lists)
        for name, _ in pairs:
            kind, _, k = name.partition("@")
            both.setdefault(name, []).append(values[f"{kind}@k"][int(k)])
    check(world, pairs, both, 1e-12)


def torchmetrics_value(name: str, scores: Array, same: Array) -> float:
    retrieval = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")
    torch = pytest.importorskip("torch")
    kind, arguments = re.fullmatch(r"(\w+)\((?:top_k=(\d+))?\)", name).groups()  # type: ignore[union-attr]
    metric = getattr(retrieval, kind)(**({"top_k": int(arguments)} if arguments else {}))
    indexes = torch.arange(len(scores)).repeat_interleave(scores.shape[1])
    metric.update(torch.from_numpy(scores.copy()).ravel(), torch.from_numpy(same.copy()).ravel(), indexes)
    return float(metric.compute())


def test_torchmetrics(world: tuple[Array, Array], scores: Array):
    above = scores - scores.min() + 2
    pairs = [(name, metric) for name, metric, _ in rows("torchmetrics")]
    both = {n: [torchmetrics_value(n, above, SAME), torchmetrics_value(n, above.T, SAME.T)] for n, _ in pairs}
    check(world, pairs, both, 1e-6)


def test_torchmetrics_takes_relevant_candidates_with_scores_below_0_for_irrelevant():
    scores, same = np.array([[-0.1, -0.2, -0.3]]), np.array([[True, False, False]])
    wrong = ("RetrievalRecall(top_k=1)", "RetrievalMAP()", "RetrievalMRR()")
    assert [torchmetrics_value(name, scores, same) for name in wrong] == [0, 0, 0]
    assert [torchmetrics_value(name, scores + 1, same) for name in wrong] == [1, 1, 1]
    right = ("RetrievalHitRate(top_k=1)", "RetrievalRPrecision()")
    assert [torchmetrics_value(name, scores, same) for name in right] == [1, 1]
    found = vb.evaluate(
        scores=np.full((3, 3), -0.3) + 0.2 * np.eye(3), captions_per_image=1, metrics="Recall@1,MRR", ci=0, trust=True
    )
    assert [found[name, "i2t"].value for name in ("Recall@1", "MRR")] == [1, 1]


def test_torchmetrics_counts_queries_without_a_relevant_item_as_0(world: tuple[Array, Array], scores: Array):
    judged = SAME.copy()
    judged[:20] = False
    value = torchmetrics_value("RetrievalHitRate(top_k=5)", scores, judged)
    ids = {"image_ids": np.arange(IMAGES), "text_ids": np.arange(IMAGES * EACH)}
    grades = {q: {5 * q + n: int(judged[q, 5 * q]) for n in range(EACH)} for q in range(IMAGES)}
    skipped, missed = (
        vb.evaluate(
            *world, **ids, captions_per_image=EACH, judgements={"mine": {"i2t": grades}}, metrics="mine:R@5",
            similarity="dot", direction="i2t", no_positive=rule, ci=0, trust=True,
        )["mine:R@5", "i2t"].value
        for rule in ("skip", "miss")
    )  # fmt: skip
    assert missed == pytest.approx(value, abs=1e-6)
    assert skipped == pytest.approx(value * 60 / 40, abs=1e-6)


def test_torchmetrics_gives_tied_candidates_the_mean_of_their_gains():
    scores, same = np.array([[1.0, 1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 0.5, 1.0]]), np.eye(3, dtype=bool)
    expected = vb.evaluate(scores=scores, captions_per_image=1, metrics="gt:nDCG@1", ties="expected", ci=0, trust=True)
    index = vb.evaluate(scores=scores, captions_per_image=1, metrics="gt:nDCG@1", ci=0, trust=True)
    value = torchmetrics_value("RetrievalNormalizedDCG(top_k=1)", scores, same)
    assert expected["gt:nDCG@1", "i2t"].value == pytest.approx(value) == pytest.approx(1 / 2)
    assert index["gt:nDCG@1", "i2t"].value == pytest.approx(2 / 3)


Values = Callable[[Any, list[str], Any, Any], dict[str, float]]


def by_pytrec_eval(package: Any, names: list[str], qrels: Any, run: Any) -> dict[str, float]:
    found = package.RelevanceEvaluator(qrels, {re.sub(r"_(\d+)$", r".\1", name) for name in names}).evaluate(run)
    return {name: float(np.mean([one[name] for one in found.values()])) for name in names}


def by_ranx(package: Any, names: list[str], qrels: Any, run: Any) -> dict[str, float]:
    return dict(package.evaluate(package.Qrels(qrels), package.Run(run), names))


def by_ir_measures(package: Any, names: list[str], qrels: Any, run: Any) -> dict[str, float]:
    measures = {name: package.parse_measure(name) for name in names}
    found = package.calc_aggregate(list(measures.values()), qrels, run)
    return {name: found[measure] for name, measure in measures.items()}


LIBRARIES: list[tuple[str, int, Values, float]] = [  # of the columns of one table
    ("pytrec_eval", 0, by_pytrec_eval, 1e-9), ("ranx", 1, by_ranx, 1e-6), ("ir_measures", 2, by_ir_measures, 1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("library", "column", "values", "tolerance"), gate(LIBRARIES, LIBRARIES[0], LIBRARIES[2]))
def test_libraries_of_trec_eval(
    library: str, column: int, values: Values, tolerance: float, world: tuple[Array, Array], scores: Array
):
    package = pytest.importorskip(library, reason=f"{library} is not installed")
    pairs = [(name, metric) for name, metric, _ in rows("trec_eval, ranx, ir_measures", column)]
    each = [values(package, [name for name, _ in pairs], *dictionaries(scores, d)) for d in DIRECTIONS]
    check(world, pairs, {name: [found[name] for found in each] for name, _ in pairs}, tolerance)


def test_vsepp_and_scan(world: tuple[Array, Array], scores: Array, tmp_path: Path):
    """The arithmetic of their ``i2t`` and ``t2i`` is that of ``benchmarks/peers.py``."""
    code = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "medr": "MedR", "meanr": "MeanR", "rsum": "RSum"}
    assert {name: metric for name, metric, _ in rows("VSE++, SCAN and their descendants")} == code
    np.save(tmp_path / "img_embs.npy", np.repeat(world[0], EACH, axis=0))
    np.save(tmp_path / "cap_embs.npy", world[1])
    np.save(tmp_path / "sims.npy", scores)
    metrics = "R@1,R@5,R@10,MedR,MeanR,RSum"
    vsepp = vb.evaluate(tmp_path / "img_embs.npy", tmp_path / "cap_embs.npy", similarity="dot", metrics=metrics, ci=0)
    scan = vb.evaluate(scores=tmp_path / "sims.npy", metrics=metrics, ci=0)
    sides, queries = peers.vsepp_inputs(*world), np.arange(IMAGES)
    loops = peers.vsepp_i2t(*sides, queries), peers.vsepp_t2i(*sides, queries)
    for report, ranks in ((vsepp, loops), (scan, peers.scan_ranks(scores))):
        theirs = peers.summary(*ranks)
        for metric in code.values():
            for direction in DIRECTIONS:
                if metric != "RSum":
                    value = report[metric, direction].value
                    assert value == pytest.approx(theirs[f"{metric} {direction}"], abs=1e-12)
        recalls = [theirs[f"R@{k} {d}"] for k in (1, 5, 10) for d in DIRECTIONS]
        assert report["RSum"].value == pytest.approx(sum(recalls), abs=1e-12)


def test_the_reversed_sort_is_between_the_rules_for_ties():
    rng = np.random.default_rng(0)
    scores = np.round(rng.standard_normal((IMAGES, IMAGES * EACH)) + 1.5 * SAME)
    i2t = np.array(
        [min(np.argsort(np.argsort(r, kind="stable")[::-1])[5 * n : 5 * n + 5]) for n, r in enumerate(scores)]
    )
    best, index, worst = (
        vb.evaluate(scores=scores, metrics="R@1", ties=rule, ci=0)["R@1", "i2t"].value
        for rule in ("optimistic", "index", "pessimistic")
    )
    theirs = (i2t < 1).mean()
    assert worst < theirs < best and theirs != index


def test_eccv_caption_names():
    assert {name: metric for name, metric, _ in rows("eccv_caption")}.items() <= OFFICIAL.items()
