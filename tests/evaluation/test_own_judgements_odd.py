"""Judgements of one's own in odd forms: mixed sources, labels, ids, levels and names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.evaluation.test_own_judgements import as_qrels, evaluate, grades, matrix_of, values
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError


def test_each_direction_has_its_own_matrix(files: Path, tmp_path: Path):
    one, other = matrix_of(grades(1)), matrix_of(grades(2))
    np.save(tmp_path / "one.npy", one)
    np.save(tmp_path / "other.npy", other)
    both = evaluate(files, {"i2t": tmp_path / "one.npy", "t2i": other}, "mine:R-P")
    named = vb.evaluate(
        files / "A.npz", metrics="mine:R-P", ci=0,
        judgements=[f"mine=i2t:{tmp_path / 'one.npy'}", f"mine=t2i:{tmp_path / 'other.npy'}"],
    )  # fmt: skip
    assert values(both) == values(named)
    assert both["mine:R-P", "i2t"].value == evaluate(files, one, "mine:R-P")["mine:R-P", "i2t"].value
    assert both["mine:R-P", "t2i"].value == evaluate(files, other, "mine:R-P")["mine:R-P", "t2i"].value
    mixed = evaluate(files, {"i2t": as_qrels(tmp_path, grades(2)), "t2i": one}, "mine:R-P")
    assert mixed["mine:R-P", "t2i"].value == evaluate(files, one, "mine:R-P")["mine:R-P", "t2i"].value
    alone = evaluate(files, {"i2t": one}, "mine:R-P")
    assert "mine: t2i is the transpose of i2t" in alone.notes


def test_items_without_a_label_are_no_queries_and_no_positives(files: Path, refuses: Refuses):
    some = [n % 3 if n < 9 else None for n in range(20)]
    of_captions = [str(n // 2 % 3) if n < 18 else float("nan") for n in range(40)]
    report = evaluate(files, {"labels": (some, of_captions)}, "mine:mAP,mine:R-P")
    assert (report["mine:mAP", "i2t"].n, report["mine:mAP", "t2i"].n) == (9, 18)
    assert any(
        "11 of 20 images and 22 of 40 captions have no label: they are left out" in note for note in report.notes
    )
    classes = np.arange(20) % 4
    plain = evaluate(files, {"labels": (classes, np.repeat(classes, 2))}, "mine:mAP")
    for images, captions in (
        (classes[:, None], np.repeat(classes, 2)[:, None]),
        (classes.astype(float), np.repeat(classes, 2).tolist()),
        ([str(c) for c in classes], np.repeat(classes, 2).astype(float)),
    ):
        assert values(evaluate(files, {"labels": (images, captions)}, "mine:mAP")) == values(plain)
    for odd in (np.eye(20)[:, :3].tolist(), np.zeros((20, 2, 2)), 7, np.full((20, 3), 2)):
        refuses(UsageError, evaluate, files, {"labels": (odd, of_captions)}, "mine:mAP")


def test_one_note_counts_the_queries_without_a_positive(files: Path):
    matrix = matrix_of(grades(1))
    positive = matrix >= 1
    own = {"i2t": {f"im{n:02}": {f"im{c // 2:02}#{c % 2}": int(positive[n, c]) for c in range(40)} for n in range(20)}}

    def said(given: Any, metrics: str = "mine:R@1,mine:mAP") -> list[str]:
        found = [note for note in evaluate(files, given, metrics).notes if "positive:" in note or "no entry" in note]
        assert len(found) <= 1
        return found

    positive[3:5] = matrix[3:5] = False
    rows, columns = (int((~positive.any(axis)).sum()) for axis in (1, 0))
    for query in ("im03", "im04"):
        own["i2t"][query] = dict.fromkeys(own["i2t"][query], 0)
    counted = " and ".join(
        f"{k} of {n} {{0}}{side}s" for k, n, side in ((rows, 20, "image"), (columns, 40, "caption")) if k
    )
    judged, of_matrix = f"mine: {counted.format('judged ')} have no ", f"mine: {counted.format('')} have no "
    means = "they are left out of every metric, or count as a miss with no_positive='miss'"
    assert said(own) == [f"{judged}positive: {means}"]
    means = "they are left out of every metric, even with no_positive='miss'"
    assert said(positive.astype(float)) == [f"{of_matrix}entry: {means}"]
    assert said(np.ones((20, 40))) == []


def test_a_table_with_two_columns_of_numbers_is_refused(files: Path, tmp_path: Path, refuses: Refuses):
    path = tmp_path / "pairs.csv"
    rows = [f"{q},{i},0.5,{g}" for q, items in grades().items() for i, g in items.items()]
    path.write_text("\n".join(["image_id,caption_id,score,grade", *rows]))
    refuses(BadInput, evaluate, files, path, "mine:R@1")


def saved(path: Path, text_ids: Any, image_ids: Any) -> Path:
    """Twelve images and their captions, which are equal."""
    x = np.random.default_rng(3).standard_normal((12, 4)).astype(np.float32)
    ids = {"image_ids": image_ids, "text_ids": text_ids, "image_of_text": image_ids}
    np.savez(path, image_embeddings=x, text_embeddings=x, **ids)
    return path


def test_large_and_odd_ids(tmp_path: Path):
    images, captions = np.arange(12) + 100, 10**18 + 3 * np.arange(12)
    file = saved(tmp_path / "A.npz", captions, images)
    (tmp_path / "q.csv").write_text(
        "query,item\n" + "".join(f"{i},{c}\n" for i, c in zip(images, captions, strict=True))
    )
    lines = [f"{i} 0 {c} 1\n" for i, c in zip(images, captions, strict=True)]
    (tmp_path / "q.txt").write_text("".join(lines) + f"abc 0 {captions[0]} 1\n")
    given: dict[str, Any] = {"metrics": "mine:R@1", "ci": 0, "trust": True}
    for name in ("q.csv", "q.txt"):
        report = vb.evaluate(file, judgements={"mine": tmp_path / name}, **given)
        assert [r.value for r in report.results] == [1.0, 1.0]
        assert not any("not in the gallery" in note for note in report.notes) or name == "q.txt"
    (tmp_path / "twice.txt").write_text(f"100 0 {captions[0]} 2\n0100 0 {captions[0]} 0\n")
    with pytest.raises(BadInput):
        vb.evaluate(file, judgements={"mine": tmp_path / "twice.txt"}, **given)


def test_pooled_judgements_have_many_items_without_a_query(files: Path):
    """Three images judged against all captions: most captions are the positive of none of them."""
    judged = {f"im{n:02}": {f"im{c // 2:02}#{c % 2}": int(c // 2 == n) for c in range(40)} for n in range(3)}
    report = evaluate(files, judged, "mine:R@1,mine:R-P")
    assert report["mine:R@1", "i2t"].n == 3 and report["mine:R@1", "t2i"].n == 6
    assert report["mine:R-P", "t2i"].undefined == 34


def test_a_fractional_level_of_a_matrix(files: Path):
    matrix = np.kron(np.eye(20), np.full((1, 2), 0.7))
    assert evaluate(files, matrix, "mine:R@1", level=0.7)["mine:R@1", "i2t"].n == 20


@pytest.mark.parametrize("given", [np.ones((20, 40)), 5, (x for x in ("mine=a",)), {1: {"im00": ["im00#0"]}}])
def test_judgements_without_a_name(given: Any, files: Path):
    with pytest.raises(UsageError, match="judgements"):
        vb.evaluate(files / "A.npz", judgements=given, metrics="R@1", ci=0)


@pytest.mark.parametrize("name", ["score", "ties", "split", "vsebench", "rerank", "paper"])
def test_keys_of_the_signature_are_no_names(name: str, files: Path, refuses: Refuses):
    refuses(UsageError, vb.evaluate, files / "A.npz", judgements={name: grades()}, metrics="R@1")


def test_a_level_needs_judgements(files: Path, refuses: Refuses):
    refuses(UsageError, vb.evaluate, files / "A.npz", level=2, metrics="R@1")
    refuses(UsageError, evaluate, files, grades(), level=float("nan"))


@pytest.mark.parametrize(
    ("words", "headings", "separator"),
    [
        (("True", "False"), "image_id,caption_id,grade", ","), (("true", "false"), "image,caption,relevant", "\t"),
        (("1", "0"), "image,text,judgement", ";"), (("True", "False"), "image,text,judgement", "\t"),
        (("true", "false"), "image_id,caption_id,grade", ";"),
    ],
)  # fmt: skip
def test_truth_values_and_short_headings(
    files: Path, tmp_path: Path, words: tuple[str, str], headings: str, separator: str
):
    judged = {q: {i: int(g == 2) for i, g in items.items()} for q, items in grades().items()}
    rows = [(q, i, words[not g]) for q, items in judged.items() for i, g in items.items()]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join([headings.replace(",", separator), *(separator.join(row) for row in rows)]))
    one, other = evaluate(files, path, "mine:R-P,mine:mAP"), evaluate(files, judged, "mine:R-P,mine:mAP")
    assert values(one) == values(other) and one.signature == other.signature


def test_a_truth_value_is_no_score_and_no_word_is_a_grade(files: Path, tmp_path: Path, refuses: Refuses):
    path = tmp_path / "pairs.csv"
    path.write_text("image_id,caption_id,grade\nim00,im00#0,True\nim01,im01#0,maybe\n")
    refuses(BadInput, evaluate, files, path, "mine:R@1")
    path.write_text("image_id,caption_id,score\nim00,im00#0,True\n")
    refuses(BadInput, vb.evaluate, files / "A.npz", rerank=[f"i2t={path}"], metrics="R@1", ci=0, trust=True)


def test_truth_values_of_parquet(files: Path, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    arrow = pytest.importorskip("pyarrow")
    rows = [(q, i, g == 2) for q, items in grades().items() for i, g in items.items()]
    columns = dict(zip(("image_id", "caption_id", "relevant"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(arrow.table(columns), tmp_path / "pairs.parquet")
    judged = {q: {i: int(g == 2) for i, g in items.items()} for q, items in grades().items()}
    found = evaluate(files, tmp_path / "pairs.parquet", "mine:R-P")
    assert values(found) == values(evaluate(files, judged, "mine:R-P"))


@pytest.mark.parametrize("odd", ["none", "nan", "9999", "total"])
@pytest.mark.parametrize("place", [0, 3, -1])
@pytest.mark.parametrize("side", ["query", "item"])
def test_one_odd_id_has_no_influence_on_the_others(tmp_path: Path, odd: str, place: int, side: str):
    """Ids are numbers in the vectors, and spelled as numbers, as text and as file names in the judgements."""
    file = saved(tmp_path / "A.npz", 100 + np.arange(12), np.arange(12))
    for spell in (str, "{:06}.jpg".format, "val/{}".format):
        judged = [(spell(n), [spell(100 + n)]) for n in range(12)]
        plain = dict(judged)
        if side == "query":
            judged.insert(place % 12, (odd, [spell(100)]))
        else:
            judged[place][1].append(odd)
        given: dict[str, Any] = {"metrics": "mine:R@1,mine:R-P", "ci": 0, "trust": True}
        found = [vb.evaluate(file, judgements={"mine": one}, **given) for one in (plain, dict(judged))]
        assert [report["mine:R@1", "i2t"].value for report in found] == [1.0, 1.0]
        said = " ".join(found[1].notes)
        assert "not in the gallery" in said if side == "item" else f"(first: {odd})" in said


@pytest.mark.parametrize("shape", [(60, 60), (60, 12), (12, 60)])
def test_with_judgements_rows_without_ids_are_items_as_they_stand(shape: tuple[int, int]) -> None:
    """Equal rows stay two items, and neither 5 to 1 nor 1 to 5 rows say what belongs to what."""
    rng = np.random.default_rng(4)
    rows, columns = shape
    first = rng.standard_normal((rows, 16)).astype(np.float32)
    first[7] = first[2]
    item = rng.integers(0, rows, columns)
    second = (first[item] + 0.6 * rng.standard_normal((columns, 16))).astype(np.float32)
    a, b = (x / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True) for x in (first, second))
    found = np.argmax(np.round(b @ a.T, 9), axis=1)
    given = {"mine": {"t2i": {str(query): [str(own)] for query, own in enumerate(item)}}}
    report = vb.evaluate(first, second, judgements=given, metrics="mine:R@1", direction="t2i", ci=0)
    assert report["mine:R@1", "t2i"].value == pytest.approx((found == item).mean())


def test_with_judgements_some_text_ids_may_look_like_numbered_names() -> None:
    rng = np.random.default_rng(5)
    names = [f"doc{i}" for i in range(20)]
    queries = [f"doc{i}#1" for i in range(5, 25)]
    given = {"mine": {"t2i": {query: [name] for query, name in zip(queries, names, strict=True)}}}
    options = {"image_ids": names, "text_ids": queries, "judgements": given, "metrics": "mine:R@1", "ci": 0}
    assert vb.evaluate(scores=np.eye(20) + 0.1 * rng.random((20, 20)), **options)["mine:R@1", "t2i"].value == 1


def test_the_rows_of_a_square_matrix_of_t2i_are_stated(tmp_path: Path, refuses: Refuses) -> None:
    rng = np.random.default_rng(6)
    scores, relevant = rng.standard_normal((30, 30)), np.eye(30)[rng.permutation(30)]
    scores += 2 * relevant
    np.save(tmp_path / "m.npy", relevant.T.astype(np.float32))
    hits = relevant[np.argmax(scores, axis=0), np.arange(30)]
    options: dict[str, Any] = {"scores": scores, "metrics": "mine:R@1", "direction": "t2i", "ci": 0}
    for given in (f"mine=t2i:{tmp_path}/m.npy", {"mine": {"t2i": relevant.T}}):
        refuses(BadInput, vb.evaluate, judgements=given, **options)
    for given in (
        f"mine=t2i:{tmp_path}/m.npy:rows=captions",
        f"mine={tmp_path}/m.npy:rows=captions",
        {"mine": relevant},
    ):
        assert vb.evaluate(judgements=given, **options)["mine:R@1", "t2i"].value == hits.mean()
    # Of a file of scores nothing else shows that it is turned if judgements alone say what is relevant.
    np.save(tmp_path / "s.npy", scores.T)
    options["judgements"] = {"mine": relevant}
    refuses(BadInput, vb.evaluate, **options | {"scores": tmp_path / "s.npy"})
    turned = vb.evaluate(**options | {"scores": f"{tmp_path}/s.npy:rows=texts"})
    assert turned["mine:R@1", "t2i"].value == hits.mean()


def test_a_part_of_queries_and_documents(tmp_path: Path) -> None:
    """Without an image of every caption, all documents are the gallery of some queries."""
    rng = np.random.default_rng(7)
    scores, relevant = rng.standard_normal((30, 12)), rng.random((30, 12)) < 0.1
    relevant[rng.integers(0, 30, 12), np.arange(12)] = True
    scores += 2 * relevant
    names = [f"x{i}" for i in range(30)]
    given = {"mine": {"t2i": {names[q]: [names[i] for i in np.flatnonzero(relevant[:, q])] for q in range(12)}}}
    (tmp_path / "q.csv").write_text("caption_id,group\n" + "".join(f"x{q},{q % 2}\n" for q in range(12)))
    (tmp_path / "d.csv").write_text("image_id,group\n" + "".join(f"x{i},{i % 2}\n" for i in range(30)))
    options: dict[str, Any] = {"image_ids": names, "text_ids": names[:12], "judgements": given, "metrics": "mine:R@1"}
    for file, rows, columns in (("q", slice(None), slice(1, None, 2)), ("d", slice(1, None, 2), slice(None))):
        report = vb.evaluate(scores=scores, only=f"{tmp_path / file}.csv:group=1", ci=0, **options)
        s, r = scores[rows, columns], relevant[rows, columns]
        has = r.any(axis=0)
        hits = r[np.argmax(s, axis=0), np.arange(s.shape[1])][has]
        assert report["mine:R@1", "t2i"].value == pytest.approx(hits.mean())
        if file == "d":
            whole = vb.evaluate(scores=scores, ci=0, **options)
            by = {"by": "column", "file": tmp_path / "d.csv", "metrics": "mine:R@1"}
            with pytest.raises(UsageError):  # the fix names the direction of the documents
                vb.slice(whole, direction="t2i", **by)
            assert vb.slice(whole, direction="i2t", **by)
