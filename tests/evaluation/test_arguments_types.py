"""Types and names of the arguments of the Python functions: errors name the argument, as Python writes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.messages import Pinned, Refuses
from vsebench.errors import BadInput, UsageError
from vsebench.options import typed

RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((20, 8)).astype(np.float32)
TEXTS = np.repeat(IMAGES, 5, axis=0) + RNG.standard_normal((100, 8)).astype(np.float32)
GAINS = np.clip(IMAGES @ TEXTS.T, 0, None).astype(np.float32)
CAPTIONS = [f"a photo of thing {i % 7} beside thing {i}" for i in range(100)]
COMMON: dict[str, Any] = {"split": "custom", "metrics": "R@1", "trust": True, "ci": 0}


def evaluated(**options: Any) -> vb.Report:
    return vb.evaluate(IMAGES, TEXTS, **{**COMMON, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"ci": "95"},
        {"ci": None},
        {"ci": True},
        {"metrics": 3},
        {"metrics": [3]},
        {"metrics": []},
        {"resamples": 100.5},
        {"seed": None},
        {"threads": "2"},
        {"threads": 0},
        {"trust": "no"},
        {"direction": ["i2t"]},
        {"ties": 3},
        {"split": 5},
        {"captions_per_image": "5"},
        {"captions_per_image": 0},
        {"progress": 3},
        {"captions": 3},
        {"captions": [1] * 100},
        {"gains": 3},
        {"gains": [GAINS, GAINS]},
        {"gains": ["cider", ["a"]]},
        {"gains": "cidr", "metrics": "ncs"},
        {"gains": ("cider", "cider:own=out"), "metrics": "ncs"},
        {"metrics": "matrix:NCS@3"},
        {"metrics": "gt:CS@3"},
        {"metrics": "nope:NCS@3"},
        {"metrics": "cider:R@1[m=2]"},
        {"metrcs": "R@1"},
        {"output": "A.json"},
        {"image_key": "x"},
        {"no_positive": "x"},
        {"depth": 3},
        {"depth": 0, "save_run": "run.json"},
    ],
)
def test_wrong_arguments_of_evaluate(options: dict[str, Any], refuses: Refuses) -> None:
    refuses(UsageError, evaluated, **options)


def test_arrays_in_memory_are_told_of_arguments_and_take_the_image_of_every_text_by_row(refuses: Refuses) -> None:
    owners = np.arange(80) // 4
    of_image = np.array([n for n in range(100) if n % 5 < 4])  # four texts an image
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (IMAGES, TEXTS[of_image])]
    want = float((owners[(unit[0] @ unit[1].T).argmax(axis=1)] == np.arange(20)).mean())
    ids = [f"im{n}" for n in range(20)]
    for given in ({}, {"image_ids": ids, "text_ids": np.arange(80)}, {"image_id_of_text": owners + 1}):
        refuses(vb.VsebenchError, vb.evaluate, IMAGES, TEXTS[of_image], metrics="R@1", ci=0, **given)
    refuses(
        vb.VsebenchError,
        vb.evaluate,
        IMAGES,
        TEXTS,
        image_ids=ids,
        text_ids=[f"c{n}" for n in range(100)],
        metrics="R@1",
        ci=0,
    )
    for given in ({"image_id_of_text": owners}, {"image_ids": ids, "image_id_of_text": np.array(ids)[owners]}):
        report = vb.evaluate(IMAGES, TEXTS[of_image], metrics="R@1", ci=0, **given)
        assert report["R@1", "i2t"].value == want


class Tensor:
    """An array with the methods of a torch tensor that cannot be converted, as a sparse one."""

    def detach(self) -> Tensor:
        raise RuntimeError("a layout without numpy\nand more lines")


@pytest.mark.parametrize(
    "call",
    [
        lambda: vb.evaluate(3, TEXTS),
        lambda: vb.evaluate([["a"]], TEXTS),
        lambda: vb.evaluate([[1.0], [1.0, 2.0]], TEXTS),
        lambda: vb.evaluate(Tensor(), TEXTS),
        lambda: vb.evaluate(scores=np.array([["a"]]), split="custom"),
        lambda: vb.evaluate(run={"i2t": 5}),
        lambda: vb.evaluate(run=[None]),
        lambda: vb.evaluate(IMAGES, TEXTS, "coco-5k"),
        lambda: vb.evaluate(),
        lambda: vb.compare(),
        lambda: vb.compare(3),
        lambda: vb.compare({"A": 3}),
        lambda: vb.agree([], top=-1),
        lambda: vb.agree([], most=0),
        lambda: vb.agree([], pair=3),
        lambda: vb.slice([], "length", top=0),
        lambda: vb.slice([], "length", bins=1.5),
        lambda: vb.slice([], "size"),
        lambda: vb.slice([], "column"),
        lambda: vb.correlate("cxc", gains=3),
        lambda: vb.correlate("cxc", seed=-1),
        lambda: vb.load(3),
        lambda: vb.load_split(3),
        lambda: vb.parse(3),
        lambda: vb.evaluate_unimodal(3, IMAGES),
        lambda: vb.evaluate_unimodal(IMAGES, None),
        lambda: vb.evaluate_unimodal(IMAGES, IMAGES, queries=True),
        lambda: vb.evaluate_unimodal(IMAGES, IMAGES, block=0),
        lambda: vb.Embeddings("audio", [0], [[1.0]]),
        lambda: vb.Embeddings("image", [0], [["a"]]),
        lambda: vb.TestSet.captioned("mine", 3, [0], [0]),
        lambda: vb.TestSet.captioned("mine", [0], [0], [0.5]),
        lambda: vb.TestSet.captioned("mine", [0], [0], [0], [1]),
        lambda: vb.metric("Q@{k}", formula="", cite=())(lambda ranks, k: ranks),
        lambda: vb.metric("all of it", formula="", cite=())(lambda ranks: ranks),
        lambda: vb.metric("Q", formula="", cite=(), options={"p": ("1", "2")})(lambda gains, p: gains),
        lambda: vb.metric_sum("Q", parts=(), formula="", cite=()),
        lambda: vb.metric_sum("Q", parts=("RSum",), formula="", cite=()),
        lambda: vb.evaluate(scores=np.full((2, 10), 2**53 + 1)),
        lambda: vb.evaluate(np.full((2, 3), -(2**60)), np.full((10, 3), 2**60)),
        lambda: vb.evaluate(scores=np.full((2, 10), 2**64 - 1, np.uint64)),
    ],
)
def test_wrong_arguments_of_the_other_functions(call: Callable[[], object], refuses: Refuses) -> None:
    refuses(UsageError, call)


def test_numbers_and_names_of_other_types_are_taken() -> None:
    assert vb.TestSet.captioned("mine", [0], [0], [0], "a dog").columns.texts == ("a dog",)
    given: list[dict[str, Any]] = [
        {"ci": np.float32(90), "resamples": 1e2, "seed": np.int64(3), "trust": np.bool_(True)},
        {"captions_per_image": 5.0, "metrics": (name for name in ("R@1",))},
        {"metrics": vb.parse("R@1")},
        {"metrics": np.array(["R@1"])},
    ]
    assert [len(evaluated(**options).results) for options in given] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("hint", "value", "found"),
    [
        (int | None, np.array(7), 7),
        (int, 1e3, 1000),
        (float, np.float16(0.5), 0.5),
        (bool, np.bool_(False), False),
        (int | str | Sequence[float], np.array([1, 2.5]), [1.0, 2.5]),
        (str | Sequence[str], (x for x in "ab"), ["a", "b"]),
        (Mapping[str, Sequence[int]], {"a": np.arange(2)}, {"a": [0, 1]}),
        (str | os.PathLike[str], Path("x"), Path("x")),
    ],
)
def test_values_are_as_those_of_python(hint: Any, value: Any, found: Any) -> None:
    taken = typed("x", value, hint)
    assert taken == found and type(taken) is type(found)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (float, True),
        (int | None, np.array([3])),
        (bool, 1),
        (Mapping[str, Sequence[int]], {"a": [0, 0.5]}),
        (int | str | Sequence[float], [1, {}]),
        (vb.Report | Sequence[vb.Report], [[]]),
    ],
)
def test_values_of_another_type(hint: Any, value: Any, refuses: Refuses) -> None:
    refuses(UsageError, typed, "x", value, hint)


def test_gains_are_a_file_an_array_or_a_list(tmp_path: Path, refuses: Refuses) -> None:
    np.save(tmp_path / "g.npy", GAINS)
    named = evaluated(gains=str(tmp_path / "g.npy"), metrics="matrix:NCS@5,matrix:CS@10")
    values = [r.value for r in named.results]
    assert 0 < values[0] < 1
    for gains in (tmp_path / "g.npy", GAINS, [GAINS], GAINS.tolist(), GAINS.T, GAINS.astype(np.float64)):
        report = evaluated(gains=gains, metrics="matrix:NCS@5,matrix:CS@10")
        assert [r.value for r in report.results] == values
    # The first kind is that of metrics without a view; the others need a view.
    report = evaluated(gains=[GAINS, "cider"], metrics="NCS@5,cider:NCS@5", captions=CAPTIONS)
    assert [str(r.metric) for r in report.results][::2] == ["matrix:NCS@5", "cider:NCS@5"]
    assert report["matrix:NCS@5", "i2t"].value == values[0]
    refuses(vb.VsebenchError, evaluated, gains=GAINS[:3, :3], metrics="matrix:NCS@5")
    refuses(vb.VsebenchError, evaluated, gains=np.full_like(GAINS, np.nan), metrics="matrix:NCS@5")
    relevant = evaluated(gains=GAINS > 1, metrics="matrix:NCS@5")
    assert relevant["matrix:NCS@5", "i2t"].value == evaluated(gains=(GAINS > 1) * 1.0, metrics="NCS@5").results[0].value


def test_captions_are_a_file_or_a_list(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "c.txt").write_text("".join(f"{c}\n" for c in CAPTIONS), encoding="utf-8")
    from_file = evaluated(captions=tmp_path / "c.txt", metrics="cider:NCS@5")
    for captions in (CAPTIONS, tuple(CAPTIONS), np.array(CAPTIONS)):
        report = evaluated(captions=captions, metrics="cider:NCS@5")
        assert report.signature == from_file.signature
        assert [r.value for r in report.results] == [r.value for r in from_file.results]
    refuses(vb.VsebenchError, evaluated, captions=CAPTIONS[:9], metrics="cider:NCS@5")
    # Their order is that of the text vectors, also where these have ids in another order than the split.
    owner = np.repeat(np.arange(20), 5)
    shuffled = RNG.permutation(100)
    texts = vb.Embeddings("caption", shuffled, TEXTS[shuffled])
    split = vb.TestSet.captioned("mine", np.arange(20), np.arange(100), owner)
    images, options = vb.Embeddings("image", np.arange(20), IMAGES), {"captions": CAPTIONS, "metrics": "cider:NCS@5"}
    by_id = vb.evaluate(images, texts, split=split, ci=0, **options)  # type: ignore[arg-type]
    assert by_id["cider:NCS@5", "i2t"].value == from_file["cider:NCS@5", "i2t"].value
    lengths = vb.slice(from_file, "length", metrics="cider:NCS@5", direction="t2i", captions=CAPTIONS, bins=2)
    assert lengths.to_frame().query("slice != 'all queries'").n.sum() == 100


TENSORS: dict[str, Callable[[Any, Any], Any]] = {
    "gradient": lambda torch, x: (x * 1).requires_grad_() * 1,
    "bfloat16": lambda torch, x: x.bfloat16(),
    "half": lambda torch, x: x.half(),
    "float8": lambda torch, x: x.to(torch.float8_e4m3fn),
    "parameter": lambda torch, x: torch.nn.Parameter(x),
    "negated": lambda torch, x: torch._neg_view(x),
}


@pytest.mark.parametrize("kind", [*TENSORS, "rows", "ids"])
def test_torch_tensors(kind: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    images, texts = torch.tensor(IMAGES), torch.tensor(TEXTS)
    given = TENSORS.get(kind, TENSORS["bfloat16"])(torch, images)
    options: dict[str, Any] = {"metrics": "R@1,MeanR", "ci": 0, "trust": True}
    options["split"] = vb.TestSet.captioned("mine", torch.arange(20), torch.arange(100), torch.arange(100) // 5)

    def values(*vectors: Any, **more: Any) -> list[float]:
        return [r.value for r in vb.evaluate(*vectors, **more, **options).results]

    wanted = values(given.detach().float().resolve_neg().numpy(), TEXTS)
    if kind == "rows":
        given = [row.requires_grad_() for row in given]
    elif kind == "ids":
        given = vb.Embeddings("image", torch.arange(20), given.requires_grad_())
        texts = vb.Embeddings("caption", torch.arange(100), texts)
    assert values(given, texts) == wanted
    if kind == "gradient":
        scores = (given @ texts.T).bfloat16()
        assert values(scores=scores) == values(scores=scores.detach().float().numpy())
        gains = evaluated(gains=torch.tensor(GAINS, requires_grad=True), metrics="matrix:NCS@5")
        assert gains.results[0].value == evaluated(gains=GAINS, metrics="matrix:NCS@5").results[0].value


def test_tensors_on_a_device() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    images, texts = (torch.tensor(x, device="cuda", requires_grad=True) for x in (IMAGES, TEXTS))
    found = vb.evaluate(images, texts, **COMMON).results
    assert [r.value for r in found] == [r.value for r in evaluated().results]


# Arguments of the Python functions: what is given in memory is matched by id, or refused with a fix.


UNIT = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
COPIES = np.repeat(UNIT, 5, axis=0)
SPLIT = vb.TestSet.captioned("mine", np.arange(20), np.arange(100), np.repeat(np.arange(20), 5))


def test_queries_of_one_modality(refuses: Refuses) -> None:
    mask = np.zeros(20, np.bool_)
    mask[[3, 7]] = True
    by_mask = vb.evaluate_unimodal(UNIT, UNIT, queries=mask, metrics="MLD@3", ci=0)
    by_index = vb.evaluate_unimodal(UNIT, UNIT, queries=[3, 7], metrics="MLD@3", ci=0)
    assert by_mask.signature == by_index.signature
    assert by_mask.results[0].value == by_index.results[0].value
    refuses(BadInput, vb.evaluate_unimodal, UNIT, UNIT, queries=[0.5, 1.2])
    refuses(UsageError, vb.evaluate_unimodal, UNIT, UNIT, block=-1)
    captions = vb.Embeddings("caption", np.arange(20), UNIT)
    assert vb.evaluate_unimodal(captions, UNIT, metrics="MLD@3", ci=0).results[0].direction == "t2t"


def test_a_report_prints_and_names_what_it_holds(pinned: Pinned) -> None:
    report = vb.evaluate(UNIT, COPIES, split=SPLIT, metrics="R@1", ci=0)
    assert repr(report) == str(report)
    with pytest.raises(KeyError) as caught:
        report["R@7", "i2t"]
    pinned(caught.value)


def test_the_view_of_folds_of_a_split_that_is_ranked_in_folds(refuses: Refuses) -> None:
    owners = np.repeat(np.arange(20), 2)
    split = vb.TestSet.captioned(
        "custom", np.arange(20), np.arange(40), owners, fold=np.arange(20) // 10, in_folds=True
    )
    vectors = np.eye(20, dtype=np.float32)
    caught = refuses(UsageError, vb.evaluate, vectors, vectors[owners], split=split, metrics="1k:R@1", ci=0, trust=True)
    assert caught.fix == "write R@1"
