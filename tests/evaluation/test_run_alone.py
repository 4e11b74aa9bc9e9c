"""Retrieved lists and judgements without a data set: the values of pytrec_eval, directions, and what is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.results.report import Report

METRICS = "mine:R@1,mine:R@5,mine:Recall@5,mine:Recall@10,mine:R-P,mine:mAP,mine:mAP@5,mine:MRR,mine:nDCG@10"
THEIRS = {
    "mine:R@1": "success_1", "mine:R@5": "success_5", "mine:Recall@5": "recall_5", "mine:Recall@10": "recall_10",
    "mine:R-P": "Rprec", "mine:mAP": "map", "mine:mAP@5": "map_cut_5", "mine:MRR": "recip_rank",
    "mine:nDCG@10": "ndcg_cut_10",
}  # fmt: skip
Run = dict[str, dict[str, float]]


def world(seed: int = 0, queries: int = 30, length: int = 12) -> tuple[Run, dict[str, dict[str, int]]]:
    """A run with scores, and judgements of the same queries, some of items that no list has."""
    rng = np.random.default_rng(seed)
    run, judged = Run(), dict[str, dict[str, int]]()
    for n in range(queries):
        items = rng.permutation(60)[: rng.integers(length, 30)]
        scores = np.sort(rng.random(len(items)).astype(np.float32))[::-1]
        run[f"q{n}"] = {f"d{i}": float(s) for i, s in zip(items, scores, strict=True)}
        judged[f"q{n}"] = {f"d{i}": int(rng.integers(0, 3)) for i in rng.permutation(80)[:9]}
        judged[f"q{n}"][f"d{items[rng.integers(0, 12)]}"] = 2
    return run, judged


def evaluate(run: Any, judged: Any, metrics: str = METRICS, **more: Any) -> Report:
    return vb.evaluate(run=run, judgements={"mine": judged}, metrics=metrics, ci=0, short_lists="miss", **more)


def values(report: Report) -> dict[str, tuple[float, int]]:
    return {str(r.metric): (r.value, r.n) for r in report.results}


def trec(path: Path, run: Mapping[str, Mapping[str, float]]) -> Path:
    rows = ((q, i, rank, s) for q, items in run.items() for rank, (i, s) in enumerate(items.items(), 1))
    path.write_text("".join(f"{q} Q0 {i} {rank} {s!r} x\n" for q, i, rank, s in rows))
    return path


def qrels(path: Path, judged: Mapping[str, Mapping[str, int]]) -> Path:
    path.write_text("".join(f"{q} 0 {i} {g}\n" for q, items in judged.items() for i, g in items.items()))
    return path


def pytrec(run: Any, judged: Any) -> dict[str, float]:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    measures = {"success.1,5", "recall.5,10", "Rprec", "map", "map_cut.5", "recip_rank", "ndcg_cut.10"}
    each = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    return {ours: float(np.mean([row[name] for row in each.values()])) for ours, name in THEIRS.items()}


FORMS: dict[str, Callable[[Path, Run, Any], tuple[Any, Any]]] = {
    "files of TREC": lambda folder, run, judged: (trec(folder / "run", run), qrels(folder / "qrels", judged)),
    "a mapping": lambda folder, run, judged: ({"t2i": run}, judged),
    "pairs": lambda folder, run, judged: (
        {"t2i": [(q, i, s) for q, items in run.items() for i, s in items.items()]},
        [(q, i, g) for q, items in judged.items() for i, g in items.items()],
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("numbers", [False, True])
def test_values_are_those_of_pytrec_eval(form: str, numbers: bool, tmp_path: Path) -> None:
    """Ids are words, or numbers that images and captions share."""
    run, judged = world()
    expected = pytrec(run, judged)
    if numbers:
        run, judged = ({q[1:]: {i[1:]: x for i, x in items.items()} for q, items in of.items()} for of in (run, judged))  # type: ignore[assignment]
    report = evaluate(*FORMS[form](tmp_path, run, judged))
    found = {name: value for name, (value, _) in values(report).items()}
    assert found == {name: pytest.approx(value, abs=1e-7) for name, value in expected.items()}
    way = "query2corpus" if form == "files of TREC" else "t2i"
    assert {r.direction for r in report.results} == {way} and {r.n for r in report.results} == {30}


@pytest.mark.parametrize("queries", [1, 2])
def test_one_and_two_queries(queries: int, tmp_path: Path) -> None:
    run, judged = world(1, queries)
    found = {
        name: value for name, (value, _) in values(evaluate(*FORMS["files of TREC"](tmp_path, run, judged))).items()
    }
    assert found == {name: pytest.approx(value, abs=1e-7) for name, value in pytrec(run, judged).items()}
    one = evaluate({"t2i": {"q": ["a"]}}, {"q": ["a"]}, "mine:R@1,mine:mAP,mine:nDCG@10")
    assert {value for value, _ in values(one).values()} == {1.0}


def test_queries_without_a_list_are_said_and_follow_short_lists(refuses: Refuses) -> None:
    run, judged = world()
    given = {"t2i": {q: items for q, items in run.items() if q not in ("q0", "q7")}}
    binary = METRICS.removesuffix(",mine:nDCG@10")
    report = evaluate(given, judged, binary)
    assert "mine, t2i: 2 of 30 judged queries have no list (first: q0)" in report.notes
    expected = pytrec({**run, "q0": {"other": 1.0}, "q7": {"other": 1.0}}, judged)
    for name, (value, n) in values(report).items():
        assert (value, n) == (pytest.approx(expected[name], abs=1e-7), 30)
    for metric in ("mine:R@1", "mine:mAP"):
        refuses(BadInput, vb.evaluate, run=given, judgements={"mine": judged}, metrics=metric, ci=0)
    some = {q: items for q, items in judged.items() if q != "q3"}
    report = evaluate({"t2i": run}, some, METRICS)
    assert {name: value for name, (value, _) in values(report).items()} == {
        name: pytest.approx(value, abs=1e-7) for name, value in pytrec(run, some).items()
    }
    said = "mine, t2i: 1 of 30 lists belong to queries without judgements and are left out of every metric (first: q3)"
    assert said in report.notes


def test_directions(tmp_path: Path, refuses: Refuses) -> None:
    """Of the run, else of the judgements, else queries and a corpus."""
    run, judged = world()
    turned: dict[str, dict[str, int]] = {}
    for query, items in judged.items():
        for item, grade in items.items():
            turned.setdefault(item, {})[query] = grade
    path, binary = trec(tmp_path / "run", run), METRICS.removesuffix(",mine:nDCG@10")
    wanted = values(evaluate({"t2i": path}, judged, binary))
    for given, of, direction in (
        (path, judged, "query2corpus"),
        (f"query2corpus={path}", judged, "query2corpus"),
        ({"query2corpus": run}, {"query2corpus": judged}, "query2corpus"),
        (path, f"mine=query2corpus:{qrels(tmp_path / 'qrels', judged)}", "query2corpus"),
        (path, {"t2i": judged}, "t2i"),
        (path, {"i2t": judged}, "i2t"),
        (path, {"i2t": turned}, "t2i"),
        (path, {"t2i": turned}, "i2t"),
        ({"i2t": path}, judged, "i2t"),
        ({"i2t": path}, turned, "i2t"),
    ):
        named = of if isinstance(of, str) else {"mine": of}
        report = vb.evaluate(run=given, judgements=named, metrics=binary, ci=0, short_lists="miss")
        assert {r.direction for r in report.results} == {direction}
        assert values(report) == wanted
    assert report.items is not None and report.items.rows.name == "image"
    refuses(BadInput, evaluate, path, turned, binary)


def test_both_directions(tmp_path: Path, refuses: Refuses) -> None:
    run, judged = world()
    back: Run = {}
    for query, items in run.items():
        for item, score in items.items():
            back.setdefault(item, {})[query] = score
    one, other = trec(tmp_path / "a", run), trec(tmp_path / "b", back)
    report = evaluate({"t2i": one, "i2t": other}, judged, "mine:Recall@5")
    assert values(evaluate([f"t2i={one}", other], judged, "mine:Recall@5")) == values(report)
    assert {r.direction for r in report.results} == {"i2t", "t2i"}
    assert report["mine:Recall@5", "t2i"].value == evaluate({"t2i": one}, judged, "mine:Recall@5").results[0].value
    refuses(BadInput, evaluate, [one, other], judged)


def test_one_set_of_predictions_of_several(tmp_path: Path) -> None:
    run, judged = world()
    path = tmp_path / "Task_predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": {}, "en": {"test": run}, "de": {"test": {"q1": {"d1": 1.0}}}}))
    assert values(evaluate(f"{path}:en", judged)) == values(evaluate({"t2i": run}, judged))
    words = ["--judgements", f"mine={qrels(tmp_path / 'qrels', judged)}", "--ci", "0", "--json", "--metrics", METRICS]
    found = cli("eval", "--run", f"query2corpus={path}:en:test", "--short-lists", "miss", *words).json
    assert {r["metric"]: (r["value"], r["n"]) for r in found["results"]} == values(evaluate({"t2i": run}, judged))
    assert path.name in json.dumps(found["provenance"]["inputs"])


def test_ids_in_two_spellings_are_one(tmp_path: Path) -> None:
    run, judged = world()
    numbers = {q: {f"{int(i[1:]):06}.jpg": s for i, s in items.items()} for q, items in run.items()}
    plain = {q: {i[1:]: g for i, g in items.items()} for q, items in judged.items()}
    assert values(evaluate({"t2i": numbers}, plain)) == values(evaluate({"t2i": run}, judged))
    endings = {q: {f"{i}.jpg": s for i, s in items.items()} for q, items in run.items()}
    report = evaluate({"t2i": endings}, judged)
    assert values(report) == values(evaluate({"t2i": run}, judged))
    assert any("matched without" in sentence for sentence in report.notes)
    odd = {q: {**items, "none": 0} for q, items in plain.items()}
    assert values(evaluate({"t2i": numbers}, odd)) == values(evaluate({"t2i": run}, judged))


def test_the_command_and_its_notes(tmp_path: Path, pinned: Pinned) -> None:
    run, judged = world()
    ended = {q: {**items, "-1": -9.0} for q, items in run.items()}
    path, of = trec(tmp_path / "run.txt", ended), qrels(tmp_path / "qrels.txt", judged)
    words = ["--judgements", f"mine={of}", "--ci", "0", "--short-lists", "miss"]
    done = cli("eval", "--run", str(path), *words, "--metrics", METRICS, "--json", "--notes")
    found = {r["metric"]: (r["value"], r["n"]) for r in done.json["results"]}
    assert found == values(evaluate({"t2i": run}, judged))
    pinned(done.err)
    plain = cli("eval", "--run", str(path), *words)
    assert "Recall@10" in plain.out
    named = cli("eval", "--run", str(path), *words, "--split", "custom")
    assert named.out == plain.out
    pinned(cli("eval", "--run", str(path), "--metrics", "R@1", code=3).err)


def test_runs_are_fused() -> None:
    """Of runs with other items too; the values are those of the run that reciprocal ranks make."""
    (first, judged), (second, _) = world(), world(7)
    fused: dict[str, list[str]] = {}
    for query in judged:
        scores: dict[str, Fraction] = {}
        for items in (first[query], second[query]):
            for rank, item in enumerate(items, 1):
                scores[item] = scores.get(item, Fraction(0)) + Fraction(1, 60 + rank)
        fused[query] = sorted(scores, key=lambda item, of=scores: (-of[item], item))  # type: ignore[misc]
    report = evaluate({"t2i": first}, judged, "mine:Recall@10,mine:nDCG@10", fuse=[{"t2i": second}])
    expected = evaluate({"t2i": fused}, judged, "mine:Recall@10,mine:nDCG@10")
    assert values(report) == values(expected)


def test_what_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    run, _ = world()
    for given in (np.ones((3, 4)), {"labels": ([1], [1])}):
        refuses(UsageError, evaluate, {"t2i": run}, given)
    refuses(BadInput, evaluate, {"t2i": run}, {"a": ["b"]})
    refuses(UsageError, vb.evaluate, run={"t2i": run}, split="custom", metrics="R@1")


def test_metrics_without_a_view_are_of_the_judgements_that_are_given(tmp_path: Path) -> None:
    run, judged = world()
    plain, named = (
        evaluate({"t2i": run}, judged, names) for names in ("R@1,nDCG@10,ncs", "mine:R@1,mine:nDCG@10,mine:ncs")
    )
    assert values(plain) == values(named)
    assert len(evaluate({"t2i": run}, judged, "hubness").results)  # it reads no judgements


def test_of_two_sets_of_judgements_none_is_the_default(refuses: Refuses) -> None:
    run, judged = world()
    refuses(UsageError, vb.evaluate, run={"t2i": run}, judgements={"one": judged, "two": judged}, metrics="mAP", ci=0)


@pytest.mark.parametrize("form", [{"t2i": "rank:{}"}, {"rank:t2i": "{}"}, "rank:{}", "t2i=rank:{}", "rank:t2i={}"])
def test_the_rank_column_orders_a_run_wherever_it_is_asked_for(form: Any, tmp_path: Path) -> None:
    run, judged = world()
    worst = {q: {i: -s for i, s in items.items()} for q, items in run.items()}
    path = trec(tmp_path / "run.txt", worst)
    given = {k: v.format(path) for k, v in form.items()} if isinstance(form, dict) else form.format(path)
    assert values(evaluate(given, judged)) == values(evaluate({"t2i": run}, judged))


def test_a_level_that_few_queries_reach_is_warned_of_and_one_that_none_reaches_refused(refuses: Refuses) -> None:
    run = {f"q{n}": {f"d{k}": 1.0 / (1 + k) for k in range(5)} for n in range(4)}
    judged = {"q0": {"d0": 3}, **{f"q{n}": {"d1": 1} for n in (1, 2, 3)}}
    with pytest.warns(vb.VsebenchWarning):
        report = evaluate({"t2i": run}, judged, "mine:R@1", level=3)
    assert values(report) == {"mine:R@1": (1.0, 1)}
    refuses(BadInput, evaluate, {"t2i": run}, judged, "mine:R@1", level=4)
    with pytest.warns(vb.VsebenchWarning):
        assert evaluate({"t2i": run}, judged, "mine:R@1", level=3.0)  # what the fix says


def test_average_precision_needs_every_relevant_item(refuses: Refuses) -> None:
    run, judged = {"t2i": {"q": {"a": 3.0, "b": 2.0}}}, {"q": {"b": 1, "c": 1}}
    found = {"run": run, "judgements": {"mine": judged}, "metrics": "mine:mAP", "ci": 0}
    refuses(BadInput, vb.evaluate, **found)
    assert vb.evaluate(**found, short_lists="miss")["mine:mAP", "t2i"].value == 0.25
    run["t2i"]["q"]["c"] = 1.0
    assert vb.evaluate(**found)["mine:mAP", "t2i"].value == pytest.approx((1 / 2 + 2 / 3) / 2)
