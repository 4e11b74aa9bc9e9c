"""Help that fits a terminal, and errors of the command line that say the next step."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pytest

from docs.generate import commands
from tests import human_files
from tests.commands import cli, refused
from tests.messages import Pinned
from vsebench.errors import MISSING_PACKAGE, USAGE, MissingPackage

NARROW = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


@pytest.fixture
def embeddings(tmp_path: Path) -> str:
    path = tmp_path / "e.npz"
    np.savez(path, image_embeddings=np.eye(3), text_embeddings=np.repeat(np.eye(3), 5, axis=0))
    return str(path)


# Help


def options() -> set[str]:
    return {o for p in dict(commands())["vsebench eval"].params for o in p.opts if o.startswith("--")}


def test_the_help_of_eval_fits_a_terminal() -> None:
    result = cli("eval", "--help", env=NARROW)
    lines = result.out.splitlines()
    assert result.code == 0 and len(lines) <= 61 and max(map(len, lines)) <= 80
    titles = [line.rstrip(":") for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert titles[:3] == ["Input", "What is measured", "Relevance"] and "Result" in titles
    assert result.out.count("Example: vsebench eval") == 1 and "--help-all" in result.out
    for usual in ("--metrics", "--split", "--gains", "--output", "--scores", "--run", "--ci"):
        assert f" {usual} " in result.out
    assert "--seed" not in result.out
    short = cli("eval", "-h", env=NARROW)
    assert short.out == result.out


def test_all_options_are_in_the_complete_help_and_in_the_docs() -> None:
    text = cli("eval", "--help-all", env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).out
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert len(options()) > 30
    assert [o for o in options() if o not in text] == []
    assert [o for o in options() if f"`{o}`" not in page.split("## vsebench unimodal")[0]] == []


# Errors of the command line


WRONG = """
eval {e} -m R@1
compare A.json -m R@1
eval {e} --metrcs R@1
eval {e} -k 3
-m vsebench
eval {e} --ci x
correlate
evaluate {e}
zzz
help
download
data download
data get f30k
spice download
metrics recal@1
eval {e} --metrics recal@1
eval {e} --threads 0
eval {e} --threads 1000000000000000000000
eval {e} --captions-per-image five
eval {e} --print_progress
eval {e} --trsut
eval {e} --key image
eval {e} --key picture=x
eval {e} --metrics recal
compare A.json --metircs R@1
inspect {e} b.npz
data verify
"""


@pytest.mark.parametrize("args", WRONG.strip().splitlines())
def test_a_wrong_command_line_says_the_next_step(embeddings: str, args: str, pinned: Pinned) -> None:
    pinned(refused(*args.replace("{e}", embeddings).split()))


def test_names_that_are_separated_by_spaces(embeddings: str, pinned: Pinned) -> None:
    pinned(refused("eval", embeddings, "--metrics", "R@1", "R@5", "recall"))
    one, both = (cli("metrics", *names).out for names in (["R@5"], ["R@1", "R@5,ncs"]))
    assert one.strip() in both and both.count("\n formula") == 2 and "suite" in both
    # the name of a variable of the shell that is not set; Path takes it for the folder of the process
    pinned(refused("eval", "", code=3))


def test_groups_without_a_command_print_their_help() -> None:
    for args in ([], ["data"]):
        done = cli(*args, code=USAGE)
        assert "Usage: vsebench" in done.out + done.err and "error" not in done.err


# Files that are not what they seem


def test_pickled_files_say_how_to_save_them(tmp_path: Path, pinned: Pinned) -> None:
    np.save(tmp_path / "d.npy", np.array({"images": 1}, dtype=object), allow_pickle=True)
    np.save(tmp_path / "o.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    for words in ("eval d.npy", "eval --scores d.npy", "inspect d.npy", "unimodal d.npy --labels d.npy", "eval o.npy"):
        pinned(refused(*(tmp_path / w if ".npy" in w else w for w in words.split()), code=3))


def test_objects_in_torch_files_are_named(tmp_path: Path, pinned: Pinned) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.save({"images": torch.eye(3), "texts": torch.eye(3), "opt": argparse.Namespace(lr=1)}, tmp_path / "e.pt")
    said = refused("eval", tmp_path / "e.pt", code=3)
    assert "\x1b" not in said and "x1b" not in said
    pinned(said)


# What correlate needs


@pytest.fixture
def without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("VSEBENCH_HUMAN_DATA", raising=False)


@pytest.mark.usefixtures("without_data")
def test_correlate_names_everything_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Pinned
) -> None:
    def absent(name: str, captions: bool = False) -> None:
        raise MissingPackage("'coco-5k' is not installed", fix="pip install 'vsebench[text]'")

    monkeypatch.setattr("vsebench.human.study.catalogue.load_split", absent)
    pinned(refused("correlate", "cxc", "--gains", "spice,binary", code=MISSING_PACKAGE))
    human_files.cxc(tmp_path, "sits", [])
    pinned(refused("correlate", "cxc", "--tasks", "sits", "--human-data", tmp_path, code=MISSING_PACKAGE))


@pytest.mark.usefixtures("without_data")
def test_correlate_names_captions_that_are_not_parsed(coco: object, pinned: Pinned) -> None:
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap is not installed")
    pinned(refused("correlate", "cxc", "--tasks", "sts", "--gains", "spice", code=MISSING_PACKAGE))


UNKNOWN_HOME = ["eval {}", "eval --scores i2t={}", "inspect {}", "page {}", "data build x --from {}"]


@pytest.mark.parametrize("words", UNKNOWN_HOME)
def test_the_home_of_an_unknown_user_is_no_folder(words: str) -> None:
    assert "~no-such-user/x.npz" in cli(*words.format("~no-such-user/x.npz").split(), code=3).err
