"""Where stages meet: systems, sums, corrections and second stages in random worlds, by an oracle in plain numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import vsebench as vb
from tests.evaluation.test_corrections import by_formula
from tests.messages import Refuses
from tests.worlds import canonical, world
from vsebench.errors import BadInput, UsageError
from vsebench.rank import corrected
from vsebench.rank.scorers import Dot, Matrix
from vsebench.rank.sums import weighted_sum

Array = npt.NDArray[Any]
WEIGHTS = ("1,1", "0.7,0.3", "0.05,0.05", "4,2")
RULES = (None, "csls:k=4", "qb:beta=20", "qb:beta=20:k=2", "dsl:beta=20")
METRICS = "R@1,R@5,MeanR,MRR,mAP"


def reranked(scores: Array, second: Array, depth: int, weight: float | None) -> Array:
    """(query, gallery) minus the final place of every item."""
    out = np.empty(scores.shape)
    for query, (row, other) in enumerate(zip(scores, second, strict=True)):
        order = np.argsort(-row, kind="stable")
        top = order[:depth]
        new = other[top] if weight is None else row[top] + weight * other[top]
        out[query, [*top[np.argsort(-new, kind="stable")], *order[depth:]]] = -np.arange(len(row))
    return out


def measured(scores: Array, relevant: Array, missed: Array) -> dict[str, float]:
    """Values of (query, gallery) scores; queries without a positive are left out, but for those that are missed."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(relevant, order, axis=1)
    rows: dict[str, list[float]] = {name: [] for name in METRICS.split(",")}
    for query, hit in enumerate(hits):
        places = np.flatnonzero(hit) + 1
        if not len(places):
            if missed[query]:
                for name in rows:
                    rows[name].append(0.0)
            continue
        precision = np.arange(1, len(places) + 1) / places
        found = (float(places[0] <= 1), float(places[0] <= 5), float(places[0]), 1 / places[0], precision.mean())
        for name, value in zip(rows, found, strict=True):
            rows[name].append(float(value))
    return {name: float(np.mean(values)) for name, values in rows.items()}


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_values_are_those_of_numpy(data: st.DataObject):
    """Ids in any order or none, one system or two, vectors or matrices, any correction, second stage and judgements."""
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, each = draw(st.integers(6, 14)), draw(st.integers(1, 2))
    m = n * each
    owner = np.arange(m) // each
    systems = [world(n, each, seed=int(rng.integers(1 << 30)), dim=6, common=0.7) for _ in range(2)]
    of = [system.cosines for system in systems]
    options: dict[str, Any] = {"ci": 0, "trust": True}
    if each == 1 or draw(st.booleans()):  # a square matrix of t2i needs ids
        names = np.array([f"i{k:02}" for k in rng.permutation(n)])
        options |= {"image_ids": names, "text_ids": [f"{names[i]}#{k % each}" for k, i in enumerate(owner)]}
    else:
        options["captions_per_image"] = each
    kind = draw(st.sampled_from(["vectors", "matrix"]))
    options |= systems[0].vectors if kind == "vectors" else {"scores": of[0]}
    scores, weights = of[0], draw(st.sampled_from([None, *WEIGHTS]))
    if weights is not None:
        w = [float(x) for x in weights.split(",")]
        scores = w[0] * of[0] + w[1] * of[1]
        options |= {"fuse": [of[1]], "weights": weights}
    rule = draw(st.sampled_from(RULES))
    if rule is not None:
        options["normalise"] = rule
    second, combine = rng.standard_normal((n, m)), draw(st.sampled_from([None, "replace", "add", "add:0.5"]))
    weight = {None: None, "replace": None, "add": 1.0, "add:0.5": 0.5}[combine]
    if combine is not None:
        depth = draw(st.integers(1, 5))
        options |= {"rerank": {"i2t": second, "t2i": second}, "rerank_depth": depth, "combine": combine}
    relevant, prefix = owner == np.arange(n)[:, None], ""
    if draw(st.booleans()):
        relevant, prefix = rng.random((n, m)) < 0.3, "j:"
        relevant[np.arange(n), np.arange(n) * each] = True
        options["judgements"] = {"j": relevant.astype(float)}
    names = [prefix + name for name in METRICS.split(",")]
    report = vb.evaluate(metrics=",".join(names), **options)
    for direction in ("i2t", "t2i"):
        turn = (lambda x: x) if direction == "i2t" else (lambda x: x.T)
        final = by_formula(turn(scores), rule)
        if rule is not None and rule.startswith("qb"):  # the highest score of several items ends at 0, but for rounding
            assume(np.diff(np.sort(final, axis=1)).min() > 1e-12)
        if combine is not None:
            final = reranked(final, turn(second), depth, weight)
        wanted = measured(final, turn(relevant), np.zeros(len(final), bool))
        found = {name: report[prefix + name, direction].value for name in wanted}
        assert found == pytest.approx(wanted, abs=1e-9), (direction, options.keys())


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of two systems whose vectors are not of unit length, and the float64 matrices of their cosines."""
    folder = tmp_path_factory.mktemp("stages")
    models = {name: world(40, dim=7, seed=seed, common=0.8) for seed, name in enumerate("AB", 3)}
    for name, model in models.items():
        model.save(folder / f"{name}.npz")
    return {"folder": folder, "ids": models["A"].ids, **{name: model.cosines for name, model in models.items()}}


@pytest.mark.parametrize(("weights", "rule"), [*zip(WEIGHTS, RULES, strict=False), ("2,3", RULES[-1])])
def test_scores_of_lists_and_runs_are_those_of_the_sum(weights: str, rule: str | None, two: dict[str, Any]):
    folder = two["folder"]
    w = [float(x) for x in weights.split(",")]
    scores = by_formula(w[0] * two["A"] + w[1] * two["B"], rule)
    run = folder / "top.trec"
    report = vb.evaluate(
        folder / "A.npz", fuse=folder / "B.npz", weights=weights, normalise=rule, metrics="R@1", ci=0, direction="i2t",
        lists=5, save_run=run, depth=5,
    )  # fmt: skip
    corrected_by = "" if rule is None else f"normalise:{rule.partition(':')[0]},"
    assert f"|fuse:sum,{weights}|{corrected_by}" in report.signature
    best = np.sort(scores, axis=1)[:, ::-1][:, :5]
    (lists,) = report.lists
    np.testing.assert_allclose(lists.scores, best, rtol=1e-6, atol=1e-11)
    lines = [line.split() for line in (folder / "top.i2t.trec").read_text().splitlines()]
    np.testing.assert_allclose(np.array([float(line[4]) for line in lines]).reshape(-1, 5), best, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rule", RULES)
def test_vectors_and_their_float64_matrix_have_the_same_scores(rule: str | None, two: dict[str, Any]):
    """Sums of vectors are those of canonical scores: 14 digits, where float32 has 7."""
    one = np.load(two["folder"] / "A.npz"), np.load(two["folder"] / "B.npz")
    dots = [Dot(x["image_embeddings"], x["text_embeddings"], cosine=True) for x in one]
    summed = weighted_sum(dots, [0.7, 0.3])
    assert isinstance(summed, Dot)
    wanted = 0.7 * two["A"] + 0.3 * two["B"]
    np.testing.assert_allclose(canonical(summed), wanted, atol=4e-15)
    if rule is not None and not rule.startswith("dsl"):
        how = corrected.parse(rule)
        new = corrected.RULES[how.rule](dots[0], dots[0], **how.settings)
        np.testing.assert_allclose(canonical(new), by_formula(two["A"], rule), atol=1e-12)


def test_equal_vectors_have_equal_sums_with_a_matrix(monkeypatch: pytest.MonkeyPatch):
    """Whatever a product of a BLAS is: here its digits depend on the place in the block."""
    rng = np.random.default_rng(6)
    images, texts = (rng.standard_normal((n, 5)).astype(np.float32) for n in (6, 9))
    images[4], texts[[5, 8]] = images[1], texts[0]
    exact = Dot.tile

    def rough(self: Dot, *given: Any, **how: Any) -> Array:
        found = exact(self, *given, **how)
        return np.asarray(found * (1 + 1e-15 * rng.integers(-2, 3, found.shape)))

    monkeypatch.setattr(Dot, "tile", rough)
    monkeypatch.setattr("vsebench.rank.sums.BLOCK_SCORES", 18)
    summed = weighted_sum([Dot(images, texts), Matrix(np.ones((6, 9)))], [0.7, 0.3])
    assert isinstance(summed, Matrix)
    np.testing.assert_array_equal(summed.scores[4], summed.scores[1])
    np.testing.assert_array_equal(summed.scores[:, [5, 8]], summed.scores[:, [0, 0]])
    np.testing.assert_allclose(summed.scores, 0.7 * (images.astype(float) @ texts.T) + 0.3, atol=1e-6)


def test_offsets_of_copies_are_equal_and_others_keep_their_digits():
    values = np.array([0.3, 0.5, 0.3 + 4e-17 * 3, 0.30000000001, -1.0, 0.3 - 1.1e-16])
    found = corrected.machine_independent(values, 1.0)
    assert found[0] == found[2] == found[5]
    np.testing.assert_allclose(found, values, atol=1e-12)
    for power in (-900, -33, 40, 900):  # offsets follow the scale of the scores
        assert np.array_equal(corrected.machine_independent(values * 2.0**power, 2.0**power), found * 2.0**power)


@pytest.mark.parametrize("factor", [1e-13, 2.0**-33, 2.0**500])
@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_csls_does_not_depend_on_the_scale_of_scores(factor: float, direction: Any) -> None:
    scores = np.random.default_rng(5).standard_normal((8, 16)) + np.kron(np.eye(8), np.ones((1, 2)))
    of = {"captions_per_image": 2, "ci": 0, "trust": True, "metrics": "R@1,MeanR", "normalise": "csls:k=2"}
    one, other = (vb.evaluate(scores=x, direction=direction, **of) for x in (scores, scores * factor))
    assert [r.value for r in one.results] == [r.value for r in other.results]


OUT_OF_RANGE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # what is refused, and the same in range
    "weights": ({"fuse": [1.0], "weights": "1e308,1e308"}, {"fuse": [1.0], "weights": "1,1"}),
    "vectors": ({"vectors": "1e308,1e308"}, {"vectors": "1,1"}),
    "long vectors": ({"vectors": "1e20,1e20"}, {"vectors": "1,1"}),
    "short vectors": ({"vectors": "1e-20,1e-20"}, {"vectors": "1,1"}),
    "combine": ({"rerank": {"i2t": 1.0}, "combine": "add:1e308"}, {"rerank": {"i2t": 1.0}, "combine": "add:1"}),
    **{rule: ({"factor": 2.0**1012, "normalise": rule}, {"factor": 2.0**-10, "normalise": rule})
       for rule in ("qb:beta=100", "dsl:beta=100")},
}  # fmt: skip


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_a_step_whose_scores_are_out_of_range_is_refused_by_its_name(
    case: str, tmp_path: Path, refuses: Refuses
) -> None:
    rng = np.random.default_rng(5)
    scores = 1e3 * (rng.standard_normal((8, 16)) + np.kron(np.eye(8), np.ones((1, 2))))
    x, y = (rng.standard_normal((n, 4)).astype("f4") for n in (8, 16))
    np.savez(tmp_path / "v.npz", image_embeddings=x, text_embeddings=y)
    of: dict[str, Any] = {"captions_per_image": 2, "ci": 0, "trust": True, "metrics": "MeanR", "direction": "i2t"}

    def given(options: dict[str, Any]) -> dict[str, Any]:
        if "vectors" in options:
            return {"images": x, "texts": y, "fuse": [tmp_path / "v.npz"], "weights": options["vectors"], **of}
        found = {"scores": scores * options.get("factor", 1.0), **options, **of}
        found.pop("factor", None)
        found |= {"fuse": [scores]} if "fuse" in options else {}
        return found | ({"rerank": {"i2t": scores}, "rerank_depth": 4} if "rerank" in options else {})

    refused, right = map(given, OUT_OF_RANGE[case])
    refuses(BadInput, vb.evaluate, **refused)
    assert vb.evaluate(**right).results


def test_a_pair_of_score_minus_infinity_is_last_or_the_stage_is_refused(refuses: Refuses) -> None:
    ids: dict[str, Any] = {"image_ids": list("abcd"), "text_ids": [f"{x}#0" for x in "abcd"]}
    of: dict[str, Any] = {**ids, "metrics": "R@1,MeanR", "ci": 0, "trust": True, "direction": "i2t"}
    masked, other = np.eye(4) * 0.9, np.eye(4) * 20.0
    masked[0, 1], other[0, 1] = -np.inf, 100.0
    for first, second in ((masked, other), (other, masked)):
        fused = vb.evaluate(scores=first, fuse=[second], **of)
        assert fused.per_query().value.tolist() == [1.0] * 8
    for stage in ({"rerank": {"i2t": other}, "rerank_depth": 4}, {"normalise": "csls:k=1"}, {"normalise": "dsl"}):
        refuses(BadInput, vb.evaluate, scores=masked, **stage, **of)


def test_rows_without_ids_beside_scores_of_two_orders(tmp_path: Path, refuses: Refuses) -> None:
    """They are refused. With ids, which the fix asks for, or beside the scores of one direction values are right."""
    rng, n, m = np.random.default_rng(3), 12, 24
    owner, ids = np.repeat(np.arange(n), 2), (np.arange(n) + 100, np.arange(m) + 500)
    first, second, fused = (rng.integers(0, 9, (n, m)).astype(float) for _ in range(3))
    orders = {name: (rng.permutation(n), rng.permutation(m)) for name in ("i2t", "t2i", "fused")}
    for (name, (rows, columns)), scores in zip(orders.items(), (first, second, fused), strict=True):
        np.savez(
            tmp_path / f"{name}.npz", scores=scores[np.ix_(rows, columns)], image_ids=ids[0][rows],
            text_ids=ids[1][columns], image_id_of_text=ids[0][owner[columns]],
        )  # fmt: skip
    own = owner == np.arange(n)[:, None]
    right = {d: np.take_along_axis(o, s.argmax(axis=1)[:, None], axis=1).mean()
             for d, o, s in (("i2t", own, first + fused), ("t2i", own.T, (second + fused).T))}  # fmt: skip
    given: dict[str, Any] = {"metrics": "R@1", "ci": 0, "trust": True}
    given["scores"] = {d: tmp_path / f"{d}.npz" for d in right}
    arrays = {d: fused[np.ix_(*orders[d])] for d in right}
    refuses(BadInput, vb.evaluate, **given, fuse=[arrays["i2t"]])
    refuses(BadInput, vb.evaluate, **given, rerank={"t2i": arrays["t2i"]}, rerank_depth=3)
    found = vb.evaluate(**given, fuse=tmp_path / "fused.npz")
    assert {d: found["R@1", d].value for d in right} == pytest.approx(right)
    for d, array in arrays.items():
        assert vb.evaluate(**given, fuse=[array], direction=d)["R@1", d].value == pytest.approx(right[d])


STEPS: dict[str, dict[str, Any]] = {
    "normalise": {"normalise": "csls:k=1"},
    "rerank": {"rerank": {"i2t": np.eye(4)}, "rerank_depth": 2},
    "only": {"only": "part.csv:part=a"},
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_are_refused_of_lists_folds_and_parts(step: str, refuses: Refuses) -> None:
    ids = np.arange(4)
    folds = vb.TestSet.captioned("mine", ids, ids, ids, fold=np.array([0, 0, 1, 1]), in_folds=True)
    lists = {"run": {"i2t": {q: [q] for q in range(4)}}, "split": vb.TestSet.captioned("mine", ids, ids, ids)}
    of: dict[str, Any] = {"metrics": "R@1", "ci": 0, "trust": True, "direction": "i2t", **STEPS[step]}
    for kind in (lists, {"scores": np.eye(4), "split": folds}):
        refuses(UsageError, vb.evaluate, **kind, **of)
    if step == "rerank":
        refuses(UsageError, vb.evaluate, scores=np.eye(4), captions_per_image=1, **STEPS["only"], **of)


def test_a_square_matrix_of_texts_by_images_is_asked_for_its_rows(tmp_path: Path, refuses: Refuses) -> None:
    scores = np.random.default_rng(0).standard_normal((9, 9)) + np.eye(9)
    np.save(tmp_path / "s.npy", scores)
    for value in (scores, tmp_path / "s.npy"):
        refuses(BadInput, vb.evaluate, scores={"t2i": value}, captions_per_image=1, metrics="R@1", ci=0)
    ids: dict[str, Any] = {"image_ids": np.arange(9), "text_ids": np.arange(9), "image_id_of_text": np.arange(9)}
    found = vb.evaluate(scores={"t2i": scores.T}, **ids, metrics="R@1", direction="t2i", ci=0)  # the fix, followed
    assert found["R@1", "t2i"].value == (scores.argmax(axis=1) == np.arange(9)).mean()


def test_misses_are_queries_of_value_0():
    """90 of 100 images are judged, 30 of them have no positive: the mean of the rows is the value."""
    n, rng = 100, np.random.default_rng(0)
    ids = [f"q{k}" for k in range(n)]
    named = {"image_ids": ids, "text_ids": [f"c{k}" for k in range(n)], "image_id_of_text": ids}
    judged = {f"q{k}": {f"c{k}": 1} if k < 60 else {f"c{(k + 1) % n}": 0} for k in range(90)}
    same: dict[str, Any] = {"judgements": {"mine": judged}, "metrics": "mine:R@5", "no_positive": "miss", "trust": True}
    reports, wanted = [], []
    for signal in (2.0, 1.0):
        scores = rng.standard_normal((n, n)) + signal * np.eye(n)
        wanted.append(measured(scores, np.diag(np.arange(n) < 60), np.arange(n) < 90)["R@5"])
        reports.append(vb.evaluate(scores=scores, direction="i2t", **named, **same))
        found = reports[-1]["mine:R@5", "i2t"]
        assert found.value == pytest.approx(wanted[-1]) and found.n == len(found.per_query) == 90
        assert found.per_query.mean() == pytest.approx(found.value) and found.interval is not None
        assert sorted(found.queries.tolist()) == sorted(judged)
    assert vb.compare(*reports).to_frame().difference[0] == pytest.approx(wanted[1] - wanted[0])


def test_a_value_without_an_interval_is_noted():
    ids = [f"q{k}" for k in range(12)]
    named = {"image_ids": ids, "text_ids": [f"c{k}" for k in range(12)], "image_id_of_text": ids}
    judged = {"mine": {"i2t": {"q0": ["c0"], "q1": []}}}
    given: dict[str, Any] = {"judgements": judged, "metrics": "mine:R@1", "trust": True, "direction": "i2t"}
    report = vb.evaluate(scores=np.eye(12), **named, **given)
    assert report["mine:R@1", "i2t"].interval is None
    assert "no interval for mine:R@1 i2t: the queries belong to fewer than two images" in report.notes


def tables(rows: list[tuple[str, str, float]]) -> dict[str, str]:
    """Tables of scores of pairs (image, caption, score) with other names, orders and separators of columns."""
    return {
        "comma": "image_id,caption_id,score\n" + "".join(f"{i},{c},{s}\n" for i, c, s in rows),
        "another order": "score,caption_id,image_id\n" + "".join(f"{s},{c},{i}\n" for i, c, s in rows),
        "tab": "caption_id\timage_id\tscore\n" + "".join(f"{c}\t{i}\t{s}\n" for i, c, s in rows),
        "another name": "image,text_id,itm\n" + "".join(f"{i},{c},{s}\n" for i, c, s in rows),
        "JSON lines": "".join(json.dumps({"image_id": i, "caption_id": c, "score": s}) + "\n" for i, c, s in rows),
        "label": "image_id,caption_id,label,score\n" + "".join(f"{i},{c},{int(i == c[:4])},{s}\n" for i, c, s in rows),
    }


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_tables_of_scores_are_read_in_both_directions(direction: str, two: dict[str, Any], tmp_path: Path):
    """What the message for other tables proposes is read."""
    rng, scores = np.random.default_rng(8), two["A"] if direction == "i2t" else two["A"].T
    second = rng.standard_normal(scores.shape).round(4)
    top = np.argsort(-scores, axis=1)[:, :6]
    images, captions = two["ids"]["image_ids"], two["ids"]["text_ids"]
    pairs = [(q, int(k)) for q, items in enumerate(top) for k in items]
    rows = [
        (images[q], captions[k], second[q, k]) if direction == "i2t" else (images[k], captions[q], second[q, k])
        for q, k in pairs
    ]
    own, other = (0, 1) if direction == "i2t" else (1, 0)
    files = tables(rows)
    files["queries and items"] = "query_id,item_id,score\n" + "".join(f"{r[own]},{r[other]},{r[2]}\n" for r in rows)
    files["lines"] = "".join(f"{r[own]} {r[other]} {r[2]}\n" for r in rows)
    files["run"] = "".join(f"{r[own]} Q0 {r[other]} 1 {r[2]} tag\n" for r in rows)
    nested: dict[str, dict[str, float]] = {}
    for r in rows:
        nested.setdefault(r[own], {})[r[other]] = r[2]
    files["JSON"] = json.dumps(nested)
    given: dict[str, Any] = {"metrics": "R@1,MRR", "ci": 0, "direction": direction}
    matrix = second if direction == "i2t" else second.T
    wanted = vb.evaluate(two["folder"] / "A.npz", rerank={direction: matrix}, rerank_depth=6, **given)
    for name, text in files.items():
        path = tmp_path / f"second.{ {'lines': 'txt', 'run': 'run', 'JSON': 'json'}.get(name, 'csv') }"
        path.write_text(text)
        found = vb.evaluate(two["folder"] / "A.npz", rerank={direction: path}, **given)
        assert [r.value for r in found.results] == [r.value for r in wanted.results], name
    assert not any("the column 'score'" in note for note in found.notes)


GRADED = ("grade", "rating", "gain", "value", "match", "similarity", "agg_score", "is_relevant", "relevance_score")


def judged_by(table: str, folder: Path, **options: Any) -> vb.Report:
    (folder / "judged.csv").write_text(table)
    ids, captions = [f"i{k}" for k in range(8)], [f"c{k}" for k in range(8)]
    return vb.evaluate(
        scores=np.random.default_rng(2).standard_normal((8, 8)), image_ids=ids, text_ids=captions, image_id_of_text=ids,
        judgements=f"j={folder / 'judged.csv'}", metrics="j:R@1,j:MRR", ci=0, trust=True, direction="i2t", **options,
    )  # fmt: skip


def table(names: str, *values: Any) -> str:
    """Sixteen pairs and the values of further columns, which repeat."""
    rows = [(f"i{k}", f"c{(k + d) % 8}", *map(str, values[(k + d) % len(values)])) for k in range(8) for d in (0, 1)]
    return f"image_id,caption_id{names}\n" + "".join(",".join(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", GRADED)
def test_a_column_of_grades_has_any_usual_name(name: str, tmp_path: Path):
    wanted, found = (judged_by(table(f",{x}", (5,), (1,)), tmp_path, level=4) for x in ("grade", name))
    assert [r.value for r in found.results] == [r.value for r in wanted.results]


@pytest.mark.parametrize(
    ("names", "values"),
    [
        ("first,second", ((5, 1), (1, 2))),
        ("fits", (("yes",), ("no",))),
        ("fits,confidence", (("yes", 0.9), ("no", 0.8))),
        ("rank", (("3",),)),
    ],
)
def test_other_columns_are_refused_by_name(names: str, values: tuple[Any, ...], tmp_path: Path, refuses: Refuses):
    refuses(BadInput, judged_by, table(f",{names}", *values), tmp_path)


def test_columns_that_are_known_as_other_things_are_left_alone(tmp_path: Path):
    pairs = table("", ())
    head, *rows = pairs.splitlines()
    numbered = f",{head}\n" + "".join(f"{n},{line}\n" for n, line in enumerate(rows))
    wanted = judged_by(pairs, tmp_path)
    for text in (table(",caption,annotator", ("a dog", "ann")), table(",split", (3,)), numbered):
        assert [r.value for r in judged_by(text, tmp_path).results] == [r.value for r in wanted.results]


def test_rows_are_stated_for_each_file_by_itself(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    first, other = (rng.standard_normal((40, 40)) + 2 * np.eye(40) for _ in range(2))
    for name, scores in (("first", first), ("other", other)):
        np.save(tmp_path / f"{name}.npy", scores)
        np.save(tmp_path / f"{name}_turned.npy", scores.T)
    turned, straight = f"{tmp_path}/first_turned.npy:rows=texts", tmp_path / "other.npy"
    fused = [straight, f"{straight}:rows=images", f"{tmp_path}/other_turned.npy:rows=texts"]
    fused += [f"t2i={file}" for file in fused[1:]]
    own, options = (
        np.arange(40),
        {"captions_per_image": 1, "metrics": "R@1", "direction": "t2i", "ci": 0, "trust": True},
    )
    want = ((first + other).argmax(axis=0) == own).mean()
    for one in fused:
        assert vb.evaluate(scores=turned, fuse=one, **options)["R@1", "t2i"].value == want
    top = np.argsort(-first, axis=0)[:5]
    want = (top[np.take_along_axis(other, top, axis=0).argmax(axis=0), own] == own).mean()
    for one in fused[3:]:
        report = vb.evaluate(scores=turned, rerank=one, rerank_depth=5, **options)
        assert report["R@1", "t2i"].value == want
