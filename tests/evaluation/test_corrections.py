"""Corrected scores and hubness: values are those of matrices that numpy makes from the published formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import vsebench as vb
from tests import worlds
from tests.messages import Refuses
from vsebench.errors import BadInput, UsageError, VsebenchError
from vsebench.metrics import hubness
from vsebench.rank import corrected
from vsebench.rank.order import top_lists
from vsebench.rank.scorers import Dot, Matrix
from vsebench.types import Direction

Array = npt.NDArray[Any]
METRICS = "R@1,R@5,MRR,mAP,matrix:NCS@3,matrix:CS@20"
BOTH: tuple[Direction, ...] = ("i2t", "t2i")

# The first four items of queries of the test below, by the arithmetic of the code that Bogolin et al. published
# (dynamic_inverted_softmax.py of ioanacroi/qb-norm), with beta 20 and the first 1 or 2 items of the bank.
PUBLISHED = {
    1: [
        [9, 0, 5, 8], [9, 1, 5, 10], [8, 0, 2, 11], [0, 8, 11, 4], [1, 2, 3, 5], [8, 5, 0, 4], [2, 1, 8, 3],
        [1, 3, 2, 5], [2, 8, 1, 5], [2, 8, 11, 3], [9, 11, 10, 1], [9, 5, 1, 10], [4, 5, 0, 7], [1, 3, 2, 11],
        [1, 2, 5, 3], [1, 2, 3, 11], [5, 8, 4, 0], [11, 2, 1, 3], [0, 4, 8, 6], [5, 10, 6, 7], [5, 9, 1, 4],
        [1, 2, 3, 11], [0, 4, 6, 8], [11, 0, 6, 7], [2, 8, 1, 11], [6, 10, 7, 0], [5, 4, 7, 6], [8, 2, 1, 5],
        [8, 0, 2, 5], [5, 10, 6, 1],
    ],
    2: [
        [9, 0, 5, 8], [9, 1, 5, 10], [8, 0, 2, 11], [0, 8, 11, 4], [1, 2, 3, 5], [8, 5, 0, 4], [2, 1, 8, 3],
        [1, 3, 5, 2], [2, 8, 1, 5], [2, 8, 11, 3], [9, 11, 10, 1], [9, 5, 1, 10], [4, 5, 0, 7], [1, 3, 2, 5],
        [1, 2, 5, 3], [1, 2, 3, 11], [5, 8, 4, 0], [11, 2, 1, 3], [0, 4, 8, 6], [5, 10, 6, 7], [5, 9, 1, 4],
        [1, 2, 3, 11], [0, 4, 6, 8], [11, 0, 6, 7], [2, 8, 1, 11], [6, 10, 7, 9], [5, 4, 7, 6], [8, 2, 1, 5],
        [8, 0, 2, 5], [5, 10, 6, 1],
    ],
}  # fmt: skip


def unit(x: Array) -> Array:
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def world() -> dict[str, Array]:
    """Unit vectors of 60 images with two captions each, and of a bank, around a common direction."""
    model, bank = worlds.world(seed=3, dim=6, common=1), worlds.world(90, seed=4, dim=6, common=1)
    sides = {"images": model.images, "texts": model.texts, "bank_images": bank.images, "bank_texts": bank.texts}
    gains = np.random.default_rng(3).random((60, 120)).astype(np.float32)
    return {**{name: unit(x) for name, x in sides.items()}, "gains": gains}


def evaluate(world: dict[str, Array], metrics: str = "R@1", **how: Any) -> vb.Report:
    return vb.evaluate(world["images"], world["texts"], captions_per_image=2, metrics=metrics, **how)


def by_formula(scores: Array, rule: str | None, bank: Array | None = None) -> Array:
    """(query, gallery) scores, corrected from those of a bank of queries or from themselves."""
    if rule is None:
        return scores
    bank = scores if bank is None else bank
    name, *parts = rule.split(":")
    values = {key: float(value) for key, _, value in (part.partition("=") for part in parts)}
    if name == "csls":
        return scores - np.sort(bank, axis=0)[::-1][: int(values["k"])].mean(axis=0) / 2
    beta = values["beta"]
    log = np.log(np.exp(beta * bank).sum(axis=0))
    if name == "dsl":
        return np.asarray(scores * np.exp(beta * scores - log))
    first = set(np.argsort(-bank, axis=1, kind="stable")[:, : int(values.get("k", 1))].ravel().tolist())
    active = np.isin(scores.argmax(axis=1), list(first))
    return np.asarray(scores - active[:, None] * log / beta)


@pytest.mark.parametrize("as_matrix", [False, True], ids=["vectors", "matrix"])
@pytest.mark.parametrize("text", ["csls:k=4", "qb:beta=20", "qb:beta=9:k=2", "qb:beta=60", "dsl:beta=30"])
def test_values_are_those_of_the_formula(world: dict[str, Array], text: str, as_matrix: bool, tmp_path: Path):
    """Those of the test set itself are in ``test_stages``."""
    same = {"metrics": METRICS, "gains": world["gains"], "ci": 0, "captions_per_image": 2}
    for direction in BOTH:
        own, other = ("images", "texts") if direction == "i2t" else ("texts", "images")
        scores = world[own].astype(np.float64) @ world[other].T.astype(np.float64)
        bank = world[f"bank_{own}"].astype(np.float64) @ world[other].T.astype(np.float64)
        expected = by_formula(scores, text, bank)
        upright = expected if direction == "i2t" else expected.T
        wanted = vb.evaluate(scores=upright, direction=direction, **same)
        given: dict[str, Any] = {"images": world["images"], "texts": world["texts"]}
        file = tmp_path / "bank.npz"
        if as_matrix:
            given = {"scores": scores if direction == "i2t" else scores.T}
            file = tmp_path / "bank.npy"
            np.save(file, bank if direction == "i2t" else bank.T)
        else:
            np.savez(file, image_embeddings=world["bank_images"], text_embeddings=world["bank_texts"])
        rule, _, rest = text.partition(":")
        found = vb.evaluate(**given, normalise=f"{rule}:{file}:{rest}", direction=direction, **same)
        for a, b in zip(wanted.results, found.results, strict=True):
            assert str(a.metric) == str(b.metric)
            np.testing.assert_allclose(a.per_query, b.per_query, atol=1e-12, err_msg=f"{a.metric} {direction}")
        assert "transductive" not in found.signature and f"normalise:{rule}," in found.signature


@pytest.mark.parametrize("k", [1, 2])
def test_lists_are_those_of_the_published_code_of_qb_norm(k: int):
    rng = np.random.default_rng(7)
    gallery, queries, bank = (unit(rng.standard_normal((n, 4))) for n in (12, 30, 20))
    scorer = corrected.qb(Dot(queries, gallery), Dot(bank, gallery), beta=20, k=k)
    assert top_lists(scorer, 4, threads=2).items.tolist() == PUBLISHED[k]


@given(st.integers(1, 4), st.integers(2, 9), st.integers(2, 9), st.floats(0.5, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_sums_of_exponentials_do_not_depend_on_blocks(dim: int, n: int, m: int, beta: float, seed: int):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-3, 4, (size, dim)) + 0.5 for size in (n, m))
    scores = x @ y.T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsebench.rank.sums.BLOCK_SCORES", 7)
        for scorer in (Dot(x.astype(np.float32), y.astype(np.float32)), Matrix(scores)):
            for bank, axis in ((scorer, 0), (scorer.T, 1)):
                expected = scipy.special.logsumexp(beta * scores, axis=axis)
                np.testing.assert_allclose(corrected.log_sums(bank, beta), expected, rtol=1e-12, atol=1e-12)


def test_equal_items_keep_the_order_of_the_index(world: dict[str, Array]):
    """Copies of an item have equal corrected scores to the bit, so they are ranked by index."""
    texts = np.repeat(world["texts"][:30], 2, axis=0)  # 1 equals 0, 3 equals 2, ...
    images = world["images"][:30]
    for rule, settings_of in (("csls", {"k": 3}), ("qb", {"beta": 20, "k": 1}), ("dsl", {"beta": 100})):
        scorer = Dot(images, texts)
        new = getattr(corrected, rule)(scorer, scorer, **settings_of)
        place = np.argsort(top_lists(new, 60, threads=2).items, axis=1)
        assert (place[:, 1::2] == place[:, ::2] + 1).all(), rule


def test_dual_softmax_of_large_scores_is_ranked_by_its_logarithm():
    """exp(-700) and exp(700) are near the ends of the range of floats."""
    rng = np.random.default_rng(5)
    scores = np.round(rng.uniform(-100, 100, (30, 60)), 3).astype(np.float32).astype(np.float64)
    new = corrected.dsl(Matrix(scores), Matrix(scores), beta=100)
    log = np.log(np.abs(scores)) + 100 * scores - scipy.special.logsumexp(100 * scores, axis=0)
    wanted = np.lexsort((np.where(scores > 0, -log, log), -np.sign(scores)), axis=1)
    np.testing.assert_array_equal(top_lists(new, 60, threads=2).items, wanted)


@pytest.mark.parametrize("kind", ["unit", "float16", "times 3", "scores"])
def test_the_test_set_in_another_form_is_a_transductive_bank(world: dict[str, Array], kind: str, tmp_path: Path):
    images, texts = world["images"] * np.float32(1.7), world["texts"]
    given: dict[str, Any] = {"images": images, "texts": texts}
    bank = tmp_path / "bank.npz"
    if kind == "scores":
        given = {"scores": images @ texts.T}
        bank = tmp_path / "bank.npy"
        np.save(bank, given["scores"].astype(np.float64))
    else:
        change = {"unit": unit, "float16": lambda x: x.astype(np.float16), "times 3": lambda x: 3 * x}[kind]
        np.savez(bank, image_embeddings=change(images), text_embeddings=change(texts))
    report = vb.evaluate(**given, captions_per_image=2, metrics="R@1", ci=0, direction="t2i", normalise=f"qb:{bank}")
    assert ",transductive" in report.signature and any("are test queries" in note for note in report.notes)


def test_a_bank_of_scores_is_matched_by_ids(world: dict[str, Array], tmp_path: Path):
    ids = worlds.world().ids
    bank = world["images"] @ world["bank_texts"].T
    np.savez(tmp_path / "S.npz", scores=world["images"] @ world["texts"].T, **ids)  # type: ignore[arg-type]
    order = np.random.default_rng(0).permutation(60)
    np.save(tmp_path / "plain.npy", bank)
    np.savez(tmp_path / "ids.npz", scores=bank[order], image_ids=np.array(ids["image_ids"])[order])
    same: dict[str, Any] = {"scores": tmp_path / "S.npz", "metrics": "mAP", "ci": 0, "direction": "t2i"}
    values = [vb.evaluate(normalise=f"qb:{tmp_path / name}", **same).per_query() for name in ("plain.npy", "ids.npz")]
    np.testing.assert_array_equal(*(found.value for found in values))


def test_a_bank_of_test_queries_is_transductive(world: dict[str, Array], tmp_path: Path):
    texts = np.concatenate([world["bank_texts"], world["texts"][:3]])
    np.savez(tmp_path / "bank.npz", image_embeddings=world["bank_images"], text_embeddings=texts)
    report = evaluate(world, ci=0, direction="t2i", normalise=f"qb:{tmp_path}/bank.npz")
    assert "bank.npz: 3 queries of the bank are test queries" in report.notes
    assert report.signature.split("normalise:")[1].split("|")[0].endswith(",transductive")


def test_tables_and_comparisons_say_that_scores_are_corrected(world: dict[str, Array]):
    plain, changed = (evaluate(world, "R@1,hubness", normalise=how) for how in (None, "csls:k=4"))
    assert "custom · csls, transductive · ground truth" in str(changed)
    assert "csls, transductive" in changed.to_latex() and "csls, transductive" in changed.to_html()
    assert "transductive" not in str(plain)
    compared = vb.compare(plain, changed, permutations=100)
    joint = vb.compare(plain, changed, tests=False)
    for result in (compared, joint):
        assert "the score corrections differ: B csls,k=4,transductive, A none" in result.warnings
    assert "Skewness@10" not in set(compared.to_frame().metric)
    assert "B (csls, transductive)" in str(joint)
    assert "custom · csls, transductive" in str(vb.compare(changed, changed, tests=False))
    assert "Skewness@10" in set(joint.to_frame().metric)


def test_hubness_is_that_of_scipy(world: dict[str, Array]):
    report = evaluate(world, "hubness,Hubs@3", ci=0)
    scores = world["images"].astype(np.float64) @ world["texts"].T.astype(np.float64)
    for direction, rows in (("i2t", scores), ("t2i", scores.T)):
        for k in (3, 10):
            count = np.bincount(np.argsort(-rows, axis=1, kind="stable")[:, :k].ravel(), minlength=rows.shape[1])
            assert report[f"Hubs@{k}", direction].value == sum(sorted(count)[-10:]) / count.sum()
        assert report["Skewness@10", direction].value == pytest.approx(scipy.stats.skew(count))
        assert report["Anti-hubs@10", direction].value == (count == 0).mean()
    first = f"{np.argsort(-count, kind='stable')[0]} ({count.max()})"
    said = "images in the top 10 of the most queries (of 120): " + first
    assert any(note.startswith(said) for note in report.notes)
    assert hubness.skewness(np.full(9, 4)) == 0
    assert hubness.anti_hubs(np.array([0, 3, 0, 1])) == 0.5


def test_hubness_of_lists_and_after_a_second_stage(world: dict[str, Array]):
    scores = world["images"].astype(np.float64) @ world["texts"].T.astype(np.float64)
    other = np.random.default_rng(1).random(scores.shape)
    final = scores.copy()
    for q, row in enumerate(scores):
        top = np.argsort(-row, kind="stable")[:20]
        final[q, top] = 10 + other[q, top]
    same = {"metrics": "hubness", "ci": 0, "captions_per_image": 2, "direction": "i2t"}
    again = vb.evaluate(scores=scores, rerank={"i2t": other}, rerank_depth=20, **same)
    wanted = vb.evaluate(scores=final, **same)
    assert [r.value for r in again.results] == [r.value for r in wanted.results]


REFUSED: tuple[str, ...] = (
    "softmax", "qb:beta=x", "qb:beta=-1", "csls:k=1.5", "csls:beta=3", "csls:10", "qb:betta=3", "qb:beta=1e-310",
    "qb::beta=3", "qb:nowhere.npz",
)  # fmt: skip


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_refused(how: str, world: dict[str, Array], refuses: Refuses):
    refuses(VsebenchError, evaluate, world, normalise=how)


def test_banks_that_do_not_fit(world: dict[str, Array], tmp_path: Path, refuses: Refuses):
    np.savez(tmp_path / "wide.npz", image_embeddings=np.eye(4, 9), text_embeddings=np.eye(8, 9) + 1)
    refuses(BadInput, evaluate, world, normalise=f"qb:{tmp_path}/wide.npz")
    np.save(tmp_path / "scores.npy", np.zeros((60, 300)))
    refuses(BadInput, evaluate, world, normalise=f"qb:{tmp_path}/scores.npy")
    scores = world["images"] @ world["texts"].T
    np.save(tmp_path / "bank.npy", scores[:7])
    given: dict[str, Any] = {"scores": scores, "normalise": f"qb:{tmp_path}/bank.npy", "captions_per_image": 2}
    for direction, error in (("both", UsageError), ("t2i", BadInput)):
        refuses(error, vb.evaluate, **given, metrics="R@1", direction=direction)


def test_the_fix_for_a_square_bank_keeps_the_correction_and_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores, bank = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    Path("sub").mkdir()
    np.save("sub/B.npy", bank)
    of: dict[str, Any] = {"scores": scores, "captions_per_image": 1, "direction": "i2t", "metrics": "MeanR", "ci": 0}
    with pytest.raises(BadInput) as caught:
        vb.evaluate(**of, normalise="csls:sub/B.npy:k=3")
    found = vb.evaluate(**of, normalise=str(caught.value.fix).split("'")[1])
    corrected = scores - np.sort(bank, axis=0)[-3:].mean(axis=0) / 2
    assert found["MeanR", "i2t"].value == (corrected > np.diag(corrected)[:, None]).sum(axis=1).mean() + 1
