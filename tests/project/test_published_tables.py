"""The page of commands of published tables: every retrieval table has one, and every command runs."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.commands import cli
from tests.gates import gate

PAGE = Path(__file__).parents[2] / "docs" / "my-number-differs.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("\n## Commands of published tables\n")[2].partition("\n## ")[0]
LINES = [line for line in SECTION.splitlines() if line.startswith("|") and "`vsebench" in line]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES]
COMMANDS = [shlex.split(row[-1].strip("`")) for row in ROWS]


def option(command: list[str], name: str) -> str:
    """The value of an option of a command, the empty text without it."""
    return command[command.index(name) + 1] if name in command else ""


@pytest.mark.real_data
def test_every_published_table_of_retrieval_has_a_command(real_data: Path):
    """Of each paper, in the order of the page."""
    papers: dict[str, set[str]] = {}
    paper = ""
    for row in ROWS:
        paper = row[0] or paper
        for first, last in re.findall(r"(\d+|[IVX]+)(?: to (\d+))?", row[1]):
            papers.setdefault(paper, set()).update(map(str, range(int(first), int(last) + 1)) if last else [first])
    file = real_data.parent / "spec" / "published_results.csv"
    if not file.is_file():
        pytest.skip(f"no table of published results: {file.name}")
    name = {"VSE++": "Faghri", "Ladder": "Zhou", "Is an": "Biten", "BCLS": "Li"}
    with file.open(encoding="utf-8") as stream:
        published = {(row["paper"], row["table"].removeprefix("Table ")) for row in csv.DictReader(stream)}
    for title, table in published:
        if title.startswith("Deep Metric"):
            continue  # its table is of captioning
        author = next(a for start, a in name.items() if title.startswith(start))
        tables = next(t for p, t in papers.items() if p.startswith(author))
        assert table in tables, (title, table)


@pytest.fixture(scope="module")
def with_spice(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache with the SPICE tuples of COCO 5K."""
    folder = real_data / "spice"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        tuples, synsets = folder / "coco5k.tuples.jsonl.gz", folder / "synsets.tsv.gz"
        cli("spice", "--from", tuples, "--synsets", synsets, "--split", "coco-5k")
        yield


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    "command",
    gate(COMMANDS, COMMANDS[0], COMMANDS[9], COMMANDS[14]),
    ids=[f"{n}-{c[1]}" for n, c in enumerate(COMMANDS)],
)
@pytest.mark.usefixtures("with_spice")
def test_a_command_of_the_page_runs(command: list[str], real_data: Path, tmp_path: Path):
    """On COCO 5K; a sentence encoder is replaced by vectors of the captions, as its weights are 90 MB."""
    if command[1] == "unimodal":
        pytest.skip("figure 3 of Kim et al. needs word vectors and embeddings of images alone")
    pytest.importorskip("eccv_caption", reason="eccv_caption is not installed (pip install 'vsebench[text]')")
    words = [str(real_data / "proxy" / "coco5k_minilm_proxy.npz") if word == "FILE" else word for word in command[1:]]
    if words[0] == "eval":
        words += ["--split", "coco-5k", "--ci", "0"]
    else:
        words += ["--human-data", str(real_data / "cxc"), "--ci", "0"]
    if "sentence" in option(words, "--gains"):
        with np.load(real_data / "proxy" / "coco5k_minilm_proxy.npz") as arrays:
            np.save(tmp_path / "vectors.npy", arrays["captions"].astype(np.float32))
        words = [re.sub(r"^sentence", f"sentence:{tmp_path / 'vectors.npy'}", word) for word in words]
    assert cli(*words, "--json").json
