"""Losses of files of the user, suites of chosen losses, and numbers that are those of other code for x86."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import cli
from vsebench.errors import UsageError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: train)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: train)")

from studies import suites  # noqa: E402
from tests.training import OPTIONS, small  # noqa: E402
from train_reference import checkpoint, losses, train  # noqa: E402
from train_reference.losses import get_loss  # noqa: E402
from train_reference.own_file import fingerprint  # noqa: E402

OWN = """
def squared(scores, positive, *, margin=0.2, reduction="sum"):
    costs = (margin + scores - scores.diagonal()[:, None]).clamp(min=0).square().masked_fill(positive, 0)
    return costs.sum()

def graded(scores, positive, *, degree, reduction="sum"):
    return ((scores - degree) ** 2).sum()

def loose(scores, positive, margin):
    return scores.sum()

def of_rows(scores, positive, *, reduction="sum"):
    return scores.sum(dim=1)

def broken(scores, positive, *, reduction="sum"):
    return scores.no_such_method()

def constant(scores, positive, *, reduction="sum"):
    return scores.new_ones(())

def nothing(scores, positive, *, reduction="sum"):
    scores.sum()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with losses."""
    path = tmp_path / "my_loss.py"
    path.write_text(OWN)
    return path


def test_a_loss_of_a_file_is_trained_and_resumed(file, tmp_path, pinned):
    out, loss = tmp_path / "run", f"{file}:squared"
    own = [*OPTIONS, "--loss", loss, "--set", "loss.settings.margin=0.3", "--out", out]
    cli("train-reference", *own, "--epochs", "1")
    found = checkpoint.read(out).config.loss
    assert (found.name, found.settings, found.fingerprint) == (loss, {"margin": 0.3}, fingerprint(loss))
    assert json.loads((out / "run.json").read_text())["config"]["loss"]["fingerprint"] == fingerprint(loss)
    again = cli("train-reference", *own, "--epochs", "2", "--resume")
    pinned(again.err.splitlines()[0])
    file.write_text(OWN + "\n# changed\n")
    changed = cli("train-reference", *own, "--epochs", "3", "--resume", code=2)
    pinned(changed.err)
    cli("train-reference", *own[:-1], tmp_path / "other", "--epochs", "1")


def test_it_has_the_values_of_the_same_registered_loss(file, tmp_path):
    """``sh`` written again in a file gives its weights, bit by bit."""
    file.write_text("from train_reference.losses.hinge import sum_hinge as mine\n")
    for name in (f"{file}:mine", "sh"):
        options = [*OPTIONS, "--loss", name, "--set", "loss.settings.margin=0.05", "--epochs", "1"]
        cli("train-reference", *options, "--out", tmp_path / name[-4:])
    own, registered = (checkpoint.read(tmp_path / x).part("model.") for x in ("mine", "sh"))
    assert all(torch.equal(own[key], registered[key]) for key in registered)


@pytest.mark.parametrize(
    "name",
    ["{file}:sqared", "{file}", "no.py:f", "{file}:loose", "{file}:constant", "{file}:of_rows", "{file}:nothing"],
)
def test_faults_of_a_file_are_found_before_training(name, file, refuses):
    refuses(UsageError, lambda: train.prepare(small(loss={"name": name.format(file=file)})))


def test_a_traceback_of_a_function_of_a_file_is_shown_as_it_is(file, tmp_path):
    out = tmp_path / "run"
    done = cli("train-reference", *OPTIONS, "--loss", f"{file}:broken", "--out", out, code=2)
    assert "return scores.no_such_method()" in done.err and "AttributeError" in done.err and not out.exists()
    file.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        get_loss(f"{file.rename(file.with_name('other.py'))}:f")


def test_the_declaration_of_a_loss_of_a_file_counts(file, monkeypatch, refuses):
    """Its range of the degree; a name that is taken, and an unknown range, are faults of this file."""
    monkeypatch.setattr(losses, "LOSSES", dict(losses.LOSSES))
    declared = "from train_reference.losses import loss\n@loss('mine', cite='', degree='cosine')" + OWN
    file.write_text(declared)
    found = get_loss(f"{file}:squared")
    assert (found.name, found.degree, found.settings) == (f"{file}:squared", "cosine", {"margin": 0.2})
    for number, (old, new) in enumerate([("mine", "mh"), ("cosine", "cosin")]):
        other = file.with_name(f"other_{number}.py")
        other.write_text(declared.replace(f"'{old}'", f"'{new}'"))
        refuses(UsageError, get_loss, f"{other}:squared")


def test_a_file_imports_its_neighbour(file, refuses):
    file.with_name("neighbour_of_it.py").write_text(OWN)
    with_class = "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\n"
    file.write_text(f"from __future__ import annotations\nfrom neighbour_of_it import squared as f\n{with_class}")
    assert get_loss(f"{file}:f").settings == {"margin": 0.2}
    assert str(file.parent) not in sys.path
    (empty := file.with_name("empty.py")).write_text("\n")
    refuses(UsageError, get_loss, f"{empty}:f")


def test_a_suite_of_chosen_losses(file):
    chosen = ["vse++", "sam", own := f"{file}:graded"]
    small = suites.get_suite("small", chosen).runs
    assert {p.config.loss.name for p in small} == {"mh", "sam", own} and "sam-3%" in {p.variant for p in small}
    smoke = suites.get_suite("smoke", chosen).runs
    assert [p.variant for p in smoke] == ["untrained", "mh", "sam", "my_loss-graded"]
    assert smoke[-1].config.loss.fingerprint == fingerprint(own)


def test_only_the_chosen_losses_are_trained(file, tmp_path, monkeypatch):
    """The summary, which may be published, names the file without its folder."""
    table = (suites.TABLES / "smoke.toml").read_text()
    monkeypatch.setattr(suites, "TABLES", tmp_path)
    (tmp_path / "smoke.toml").write_text(table.replace("train.epochs=16", "train.epochs=1"))
    words = ["smoke", "--losses", f"sh, {file}:squared", "--out", str(tmp_path / "s")]
    assert suites.main(words) in (0, 1)  # one epoch may not be enough to learn
    text = (tmp_path / "s" / "suite.json").read_text()
    runs = json.loads(text)["runs"]
    assert list(runs) == [f"scenes-tiny/{name}-seed0" for name in ("untrained", "sh", "my_loss-squared")]
    assert runs["scenes-tiny/my_loss-squared-seed0"]["loss"] == "my_loss.py:squared" and str(tmp_path) not in text


@pytest.mark.parametrize("losses", ["mh,sma", "mh,,sam"])
def test_bad_names_of_losses(losses, tmp_path, capsys, pinned):
    assert suites.main(["small", "--losses", losses, "--out", str(tmp_path / "s")]) == 2
    assert not (tmp_path / "s").exists()
    pinned(capsys.readouterr().err)


PROCESSORS = {
    "SSE4": {"ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    "compatible": {"MKL_CBWR": "COMPATIBLE"},
}
WEIGHTS = """
import sys, torch
from pathlib import Path
from train_reference import checkpoint, config, train
changes = "data.name=scenes-40-size16 train.epochs=3 train.batch=20 train.threads=1 train.lr=0.01 model.dim=16"
changes += f" model.word_dim=16 loss.warmup=1 train.precision={sys.argv[2]}"
found = config.assign(config.read("scenes/ladder"), changes.split())
train.train(found, Path(sys.argv[1]), metrics="R@1,RSum")
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="the variables of torch's libraries on x86")
def test_numbers_are_those_of_other_code_for_x86(tmp_path):
    """In float64, weights differ by far less than what could change a ranking; see ``train.precision``."""
    import vsebench as vb

    for name, variables in ({"own": {}} | PROCESSORS).items():
        command = [sys.executable, "-c", WEIGHTS, str(tmp_path / name), "float64"]
        subprocess.run(command, check=True, env=os.environ | variables)
    own, report = checkpoint.read(tmp_path / "own").part("model."), vb.load(tmp_path / "own" / "result.json")
    for name in PROCESSORS:
        other = checkpoint.read(tmp_path / name).part("model.")
        assert max(float((other[key] - own[key]).abs().max()) for key in own) < 1e-10, name
        found = vb.load(tmp_path / name / "result.json")
        assert [r.value for r in found.results] == [r.value for r in report.results], name
