"""Types and names of the arguments of the Python functions: errors name the argument, as Python writes it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import vsebench as vb
from vsebench import arguments
from vsebench.cli import app
from vsebench.errors import UsageError

RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((20, 8)).astype(np.float32)
TEXTS = np.repeat(IMAGES, 5, axis=0) + RNG.standard_normal((100, 8)).astype(np.float32)
GAINS = np.clip(IMAGES @ TEXTS.T, 0, None).astype(np.float32)
CAPTIONS = [f"a photo of thing {i % 7} beside thing {i}" for i in range(100)]
COMMON: dict[str, Any] = {"split": "custom", "metrics": "R@1", "trust": True, "ci": 0}


def evaluated(**options: Any) -> vb.Report:
    return vb.evaluate(IMAGES, TEXTS, **{**COMMON, **options})


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci": "95"}, "ci is '95' (str)\n  fix: give a number"),
        ({"ci": None}, "ci is None\n  fix: give a number"),
        ({"ci": True}, "ci is True (bool)\n  fix: give a number"),
        ({"metrics": 3}, "metrics is 3 (int)\n  fix: give a string, a Metric or a list"),
        ({"metrics": [3]}, "metrics[0] is 3 (int)\n  fix: give a string or a Metric"),
        ({"metrics": []}, "no metric is given\n  fix: give metrics='R@1,eccv' or all"),
        ({"resamples": 100.5}, "resamples is 100.5 (float)\n  fix: give an integer"),
        ({"seed": None}, "seed is None\n  fix: give an integer"),
        ({"threads": "2"}, "threads is '2' (str)\n  fix: give an integer"),
        ({"threads": 0}, "threads is 0\n  fix: give an integer of at least 1"),
        ({"trust": "no"}, "trust is 'no' (str)\n  fix: give True or False"),
        ({"direction": ["i2t"]}, "direction is ['i2t'] (list)\n  fix: give a string"),
        ({"ties": 3}, "ties is 3 (int)\n  fix: give a string"),
        ({"split": 5}, "split is 5 (int)\n  fix: give a Split or a string"),
        ({"captions_per_image": "5"}, "captions_per_image is '5' (str)\n  fix: give an integer"),
        ({"progress": 3}, "progress is 3 (int)\n  fix: give a function"),
        ({"captions": 3}, "captions is 3 (int)\n  fix: give a string, a path or a list"),
        ({"captions": [1] * 100}, "captions[0] is 1 (int)\n  fix: give a string"),
        ({"gains": 3}, "gains is 3 (int)\n  fix: give a string such as 'cider', a path, a matrix of gains, or a list"),
        ({"gains": [GAINS, GAINS]}, "gains names matrix twice"),
        ({"gains": ["cider", ["a"]]}, "gains is ['a'] (list)"),
        ({"metrcs": "R@1"}, "evaluate has no argument 'metrcs'\n  fix: did you mean metrics"),
        ({"output": "A.json"}, "evaluate has no argument 'output'\n  fix: save what is returned: .save(FILE)"),
        ({"image_key": "x"}, "image_key has no meaning for an array in memory\n  fix: leave it out"),
        ({"no_positive": "x"}, "no_positive is 'x'\n  fix: use skip or miss"),
        ({"depth": 3}, "depth=3 has no meaning without save_run\n  fix: add save_run=FILE, or leave it out"),
    ],
)
def test_wrong_arguments_of_evaluate(options: dict[str, Any], message: str) -> None:
    assert refused(lambda: evaluated(**options)).startswith(message)


class Tensor:
    """An array with the methods of a torch tensor that cannot be converted, as a sparse one."""

    def detach(self) -> Tensor:
        raise RuntimeError("a layout without numpy\nand more lines")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vb.evaluate(3, TEXTS), "images is 3 (int)\n  fix: give an array of numbers"),
        (lambda: vb.evaluate([["a"]], TEXTS), "images is a ndarray of shape (1, 1), <U1"),
        (lambda: vb.evaluate([[1.0], [1.0, 2.0]], TEXTS), "images cannot be read as an array"),
        (lambda: vb.evaluate(Tensor(), TEXTS), "images cannot be read as an array (a layout without numpy)"),
        (lambda: vb.evaluate(scores=np.array([["a"]]), split="custom"), "scores is a ndarray of shape (1, 1), <U1"),
        (lambda: vb.evaluate(run={"i2t": [[1, 2]]}), "run['i2t'] is [[1, 2]] (list)\n  fix: give a string or a path"),
        (lambda: vb.evaluate(run=[None]), "run[0] is None\n  fix: give a string or a path"),
        (lambda: vb.evaluate(IMAGES, TEXTS, "coco-5k"), "evaluate: too many positional arguments"),
        (lambda: vb.evaluate(), "nothing to evaluate\n  fix: give embeddings (vsebench eval FILE), or scores=FILE"),
        (lambda: vb.compare(), "compare: missing a required argument: 'reports'"),
        (lambda: vb.compare(3), "reports is 3 (int)\n  fix: give a string, a path, a Report, a list or a mapping"),
        (lambda: vb.compare({"A": 3}), "reports['A'] is 3 (int)\n  fix: give a string, a path or a Report"),
        (lambda: vb.agree([], top=-1), "top is -1\n  fix: give an integer of at least 1"),
        (lambda: vb.agree([], most=0), "most is 0\n  fix: give an integer of at least 1"),
        (lambda: vb.agree([], pair=3), "pair is 3 (int)\n  fix: give a string, a Metric or a list"),
        (lambda: vb.slice([], "length", top=0), "top is 0\n  fix: give an integer of at least 1"),
        (lambda: vb.slice([], "length", bins=1.5), "bins is 1.5 (float)\n  fix: give an integer, a string or a list"),
        (lambda: vb.slice([], "size"), "by is 'size'\n  fix: use length, positives, category or column"),
        (lambda: vb.slice([], "column"), "by='column' needs a file\n  fix: give file=FILE"),
        (lambda: vb.correlate("cxc", gains=3), "gains is 3 (int)\n  fix: give a string or a list"),
        (lambda: vb.correlate("cxc", threads=0), "threads is 0\n  fix: give an integer of at least 1"),
        (lambda: vb.load(3), "path is 3 (int)\n  fix: give a string or a path"),
        (lambda: vb.load_split(3), "name is 3 (int)\n  fix: give a string"),
        (lambda: vb.parse(3), "the name of a metric is 3 (int)\n  fix: give a string such as R@1"),
        (lambda: vb.evaluate_unimodal(3, IMAGES), "vectors is 3 (int)"),
        (lambda: vb.evaluate_unimodal(IMAGES, None), "labels is None"),
        (lambda: vb.evaluate_unimodal(IMAGES, IMAGES, queries=True), "queries is True (bool)"),
        (lambda: vb.evaluate_unimodal(IMAGES, IMAGES, block=0), "block is 0\n  fix: give an integer of at least 1"),
        (lambda: vb.Embeddings("audio", [0], [[1.0]]), "modality is 'audio'\n  fix: use image or text"),
        (lambda: vb.Embeddings("image", [0], [["a"]]), "image vectors are <U1"),
        (lambda: vb.Split("mine", 3, [0], [0]), "image_ids is 3\n  fix: give integers or strings, one an item"),
        (lambda: vb.Split("mine", [0], [0], [0.5]), "image_of is float64 of shape (1,)"),
        (lambda: vb.Split("mine", [0], [0], [0], "a dog"), ""),
        (lambda: vb.Split("mine", [0], [0], [0], [1]), "captions holds 1 (int)\n  fix: give a list of strings"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_the_other_functions(call: Callable[[], object], message: str) -> None:
    if message:
        assert refused(call).startswith(message)
    else:
        assert call().captions == ("a dog",)  # type: ignore[attr-defined]


def test_numbers_and_names_of_other_types_are_taken() -> None:
    given: list[dict[str, Any]] = [
        {"ci": np.float32(90), "resamples": 1e2, "seed": np.int64(3), "trust": np.bool_(True)},
        {"captions_per_image": 5.0, "metrics": (name for name in ("R@1",))},
        {"metrics": vb.parse("R@1")},
        {"metrics": np.array(["R@1"])},
    ]
    assert [len(evaluated(**options).results) for options in given] == [2, 2, 2, 2]


def test_gains_are_a_file_an_array_or_a_list(tmp_path: Path) -> None:
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
    with pytest.raises(vb.VsebenchError, match=r"gains of shape \(3, 3\) for 20 images and 100 captions"):
        evaluated(gains=GAINS[:3, :3], metrics="matrix:NCS@5")
    with pytest.raises(vb.VsebenchError, match="gains: image row 0 holds nan in column 0"):
        evaluated(gains=np.full_like(GAINS, np.nan), metrics="matrix:NCS@5")
    relevant = evaluated(gains=GAINS > 1, metrics="matrix:NCS@5")
    assert relevant["matrix:NCS@5", "i2t"].value == evaluated(gains=(GAINS > 1) * 1.0, metrics="NCS@5").results[0].value


def test_captions_are_a_file_or_a_list(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("".join(f"{c}\n" for c in CAPTIONS), encoding="utf-8")
    from_file = evaluated(captions=tmp_path / "c.txt", metrics="cider:NCS@5")
    for captions in (CAPTIONS, tuple(CAPTIONS), np.array(CAPTIONS)):
        report = evaluated(captions=captions, metrics="cider:NCS@5")
        assert report.signature == from_file.signature
        assert [r.value for r in report.results] == [r.value for r in from_file.results]
    with pytest.raises(vb.VsebenchError, match="captions has 9 strings for the 100 captions of split 'custom'"):
        evaluated(captions=CAPTIONS[:9], metrics="cider:NCS@5")
    # Their order is that of the text vectors, also where these have ids in another order than the split.
    owner = np.repeat(np.arange(20), 5)
    shuffled = RNG.permutation(100)
    texts = vb.Embeddings("caption", shuffled, TEXTS[shuffled])
    split = vb.Split("mine", np.arange(20), np.arange(100), owner)
    images, options = vb.Embeddings("image", np.arange(20), IMAGES), {"captions": CAPTIONS, "metrics": "cider:NCS@5"}
    by_id = vb.evaluate(images, texts, split=split, ci=0, **options)  # type: ignore[arg-type]
    assert by_id["cider:NCS@5", "i2t"].value == from_file["cider:NCS@5", "i2t"].value
    lengths = vb.slice(from_file, "length", metrics="cider:NCS@5", direction="t2i", captions=CAPTIONS, bins=2)
    assert sum(lengths.to_frame()["n"]) == 100


@pytest.mark.parametrize("kind", ["gradient", "bfloat16", "half", "parameter", "float8", "rows", "negated", "ids"])
def test_torch_tensors(kind: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    images, texts = torch.tensor(IMAGES), torch.tensor(TEXTS)
    expected_of = images
    if kind == "gradient":
        given: Any = (images * 1).requires_grad_() * 1
    elif kind in ("bfloat16", "half", "float8"):
        given = images.to({"half": torch.float16, "float8": torch.float8_e4m3fn}.get(kind, torch.bfloat16))
        expected_of = given.float()
    elif kind == "parameter":
        given = torch.nn.Parameter(images)
    elif kind == "rows":
        given = [row.requires_grad_() for row in images]
    elif kind == "negated":
        given, expected_of = torch._neg_view(images), -images
    else:
        given = vb.Embeddings("image", torch.arange(20), images.bfloat16().requires_grad_())
        expected_of = images.bfloat16().float()
        texts = vb.Embeddings("caption", torch.arange(100), texts)
    split = vb.Split("mine", torch.arange(20), torch.arange(100), torch.arange(100) // 5)
    options: dict[str, Any] = {"metrics": "R@1,MeanR", "ci": 0, "split": split, "trust": True}
    report = vb.evaluate(given, texts, **options)
    expected = vb.evaluate(expected_of.numpy(), TEXTS, **options)
    assert [r.value for r in report.results] == [r.value for r in expected.results]
    if kind == "gradient":
        scores = (given @ texts.T).bfloat16()
        ranked = vb.evaluate(scores=scores, **options).results
        assert [r.value for r in ranked] == [
            r.value for r in vb.evaluate(scores=scores.detach().float().numpy(), **options).results
        ]
        gains = evaluated(gains=torch.tensor(GAINS, requires_grad=True), metrics="matrix:NCS@5")
        assert gains.results[0].value == evaluated(gains=GAINS, metrics="matrix:NCS@5").results[0].value


def test_tensors_on_a_device() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    images, texts = (torch.tensor(x, device="cuda", requires_grad=True) for x in (IMAGES, TEXTS))
    found = vb.evaluate(images, texts, **COMMON).results
    assert [r.value for r in found] == [r.value for r in evaluated().results]


def test_arrays_do_not_import_torch() -> None:
    code = (
        "import sys, numpy as np, vsebench as vb\n"
        "x = np.eye(3)\n"
        "vb.evaluate(x.tolist(), x, captions_per_image=1, metrics='R@1', gains=x, trust=True, ci=0)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


COMMANDS = {
    "eval": "evaluate", "unimodal": "evaluate_unimodal", "compare": "compare", "agree": "agree", "slice": "slice",
    "correlate": "correlate",
}  # fmt: skip
POSITIONAL = {
    "files": {"evaluate": "images"},
    "file": {"evaluate_unimodal": "vectors"},
}  # called by what they hold in Python
ONLY_PYTHON = {"more", "image_ids", "text_ids", "image_id_of_text", "progress", "bar", "block"}


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_have_the_names_of_the_options(command: str) -> None:
    name = COMMANDS[command]
    root: Any = typer.main.get_command(app)
    options = {p.opts[0].lstrip("-").replace("-", "_") for p in root.commands[command].params}
    options = {POSITIONAL.get(o, {}).get(name, o) for o in options}
    known = set(inspect.signature(getattr(vb, name)).parameters) - ONLY_PYTHON
    options -= set(arguments.OF_THE_RESULT) - known
    assert known == options - {"help_all"}


def test_the_command_line_names_options(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    np.savez(tmp_path / "e.npz", image_embeddings=IMAGES, text_embeddings=TEXTS)
    done = CliRunner().invoke(app, ["eval", str(tmp_path / "e.npz"), "--direction", "img2txt"])
    assert done.exit_code == 2
    assert "--direction is 'img2txt'" in done.stderr
