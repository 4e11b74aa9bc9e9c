"""Text from outside (ids, labels, names of files, systems and splits) is literal and without control characters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import human_files, reports
from tests.browser import Page
from tests.commands import cli
from tests.hostile import good
from vsebench.analysis.agree import agree
from vsebench.analysis.compare import compare
from vsebench.analysis.slices import slice
from vsebench.cli.results import write_per_query
from vsebench.errors import count_of, printable
from vsebench.human.correlation import COEFFICIENTS, Row, coefficient, study
from vsebench.results.packed import pack, unpack
from vsebench.results.render import Result
from vsebench.results.report import Report
from vsebench.types import TestSet

# Terminal escapes (of two kinds), bell, carriage return, newline, a line separator, a change of writing direction, a
# lone surrogate, and the markup of rich, HTML, LaTeX and Markdown.
CONTROL = "\x1b[31m\x9b2J\x07\r\n\u2028\u202e\udc80\x00"
MARKUP = "[red]<b>&amp;%$#{~^\\|`*_:smile:</script>"
EVIL = f"x{CONTROL}{MARKUP}y"
FILE = "x\x1b[31m\x9b2J\x07\r\n\u2028\u202e[red]:smile:<b>|`*$y"  # what a name of a file can have


def shown_in(text: str) -> set[str]:
    """The characters of a text that are neither letters, signs, spaces of any script nor newlines."""
    return {c for c in text if not c.isprintable() and c not in "\n\u200c\u200d" and unicodedata.category(c) != "Zs"}


@given(st.text())
def test_printable_text_is_one_line_and_stays_as_it_is(text: str) -> None:
    once = printable(text)
    assert not shown_in(once) and "\n" not in once
    assert printable(once) == once
    if not shown_in(text) and "\n" not in text:
        assert once == text


def test_escapes_are_readable_and_scripts_stay() -> None:
    assert printable("a\x1b[1m\nb\udcff") == "a\\x1b[1m\\nb\\udcff"
    assert printable("a\u200eb\u2066c") == r"a\u200eb\u2066c"
    joined = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    for text in ("é 写 [x] 😀 עברית हिन्दी", "10\u202f000\u00a0m\u3000写", *joined):
        assert printable(text) == text


@pytest.fixture(scope="module")
def three() -> list[Report]:
    """Reports with such ids, of a split with such a name."""
    world = reports.split()
    ids = [np.array([f"{i}{EVIL}" for i in side]) for side in (world.rows.ids, world.columns.ids)]
    split = TestSet.captioned("custom", *ids, world.image_of)
    found = []
    for seed, noise in enumerate((0.3, 0.9, 3.0)):
        done = reports.report(noise, seed, split, metrics="R@1,MedR,RSum")
        signature = f"{done.signature}|model:{EVIL.replace('|', '')}"
        found.append(replace(done, split=EVIL, signature=signature, warnings=(EVIL,)))
    return found


@pytest.fixture(scope="module")
def results(three: list[Report], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("evil")
    named = {f"{k}{EVIL}": report for k, report in enumerate(three)}
    table = folder / "labels.jsonl"
    records = [{"image_id": str(i), EVIL: f"{k % 2}{EVIL}"} for k, i in enumerate(three[0].items.rows.ids)]  # type: ignore[union-attr]
    table.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    row = Row(EVIL, EVIL, EVIL, 6, 6, "c", dict.fromkeys(COEFFICIENTS, coefficient(0.5, (0.1, 0.9))))
    return {
        "report": three[0],
        "comparison": compare(named, permutations=100, resamples=20),
        "agreement": agree(named, resamples=20, top=3),
        "slices": slice(named, "column", file=table, column=EVIL, resamples=20),
        "study": study("flickr8k", [row], {}, (EVIL,), 95, "images", 0),
    }


RENDERERS: dict[str, Callable[[Result], str]] = {
    "text": str,
    "html": lambda result: result.to_html(),
    "notebook": lambda result: result._repr_html_(),
    "latex": lambda result: result.to_latex(),
    "markdown": lambda result: result.to_markdown(),
    "csv": lambda result: result.to_csv(),
}


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", ["report", "comparison", "agreement", "slices", "study"])
def test_no_renderer_lets_anything_through(name: str, renderer: str, results: dict[str, Result]) -> None:
    text = RENDERERS[renderer](results[name])
    assert shown_in(text) == set() and text.encode("utf-8")
    # a CSV of these has rows of metrics alone
    assert "x1b" in text or (renderer == "csv" and name in ("report", "agreement")), "the name is shown"
    if renderer == "html":
        page = Page(text)
        assert "script" not in [tag for tag, _ in page.tags]
        assert "[red]<b>&amp;%$#{~^" in page.words.replace("\n", "")
    if renderer == "text":
        assert "[red]" in re.sub(r"\s", "", text) and ":smile:" in re.sub(r"\s", "", text)
    if renderer == "markdown":  # every sign of markup in a name is behind a backslash, but in a code span
        for line in text.split("\n"):
            assert "`" in line or "[red]" not in line
            assert line.startswith("`") or not re.search(r"(?<!\\)[$~&]", line)
    if renderer == "latex" and name != "report":
        latex = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
        assert r"\textbackslash{}x1b[31m" in latex and not re.search(r"(?<!\\)[%#]", latex)
        assert r"\textasciitilde{}\textasciicircum{}" in latex


def test_the_figure_has_no_markup_either(results: dict[str, Result], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    text = "".join(file.read_text(encoding="utf-8") for file in results["study"].figures(tmp_path))
    assert shown_in(text) <= {"\t"} and "x1b" in text and not re.search(r"<b>|smile:</script>", text)


def run(*args: object) -> str:
    """The output of a command, which has no control characters; JSON is parsed."""
    done = cli(*args, code=None)
    assert shown_in(done.out + done.err) == set(), args
    assert "unexpected" not in done.err, done.err
    return done.err + done.out


@pytest.fixture(scope="module")
def folder(three: list[Report], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports, tables, vectors, captions and retrieved lists with such names and contents."""
    folder = tmp_path_factory.mktemp("files") / f"folder {FILE}"
    folder.mkdir()
    for k, report in enumerate(three):
        document = report.document()
        document["split"] = document["split"].replace("\udc80", "")
        document["warnings"] = []
        text = json.dumps(document).replace("\\udc80", "")
        (folder / f"{k}{FILE}.json").write_text(text, encoding="utf-8")
    ids = [str(i) for i in three[0].items.rows.ids]  # type: ignore[union-attr]
    records = [json.dumps({"image_id": i, FILE: f"{k % 2}{FILE}"}) for k, i in enumerate(ids)]
    (folder / f"{FILE}.jsonl").write_text("\n".join(records), encoding="utf-8")
    names = np.array([f"{i}{FILE}" for i in range(60)])
    good.npz(folder, f"{FILE}.npz", image_ids=names, **{FILE: np.zeros(3)})
    (folder / f"{FILE}.txt").write_text("a dog\n" * 300, encoding="utf-8")
    (folder / f"{FILE}.run").write_text("\x1b[31mq\x07 Q0 \x9b[red] 1 0.5 x\n", encoding="utf-8")
    return folder


def choices(folder: Path) -> Path:
    """A set of choices whose name, ids and category are hostile, and scores for it."""
    np.save(folder / "c.npy", np.eye(2))
    items = [{"id": f"{n}{FILE}", "image": FILE, "captions": [FILE, "b"], "category": FILE} for n in range(2)]
    path = folder / f"c{FILE}.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


STYLES = {"compare": "terminal", "agree": "html", "slice": "latex", "choice": "markdown", "correlate": "json"}


@pytest.mark.parametrize("command", STYLES)
def test_no_analysis_lets_anything_through(command: str, folder: Path) -> None:
    """Every format of every object is above; here what the command adds."""
    style = STYLES[command]
    files = [folder / f"{k}{FILE}.json" for k in range(3)]
    args: tuple[object, ...] = {
        "compare": (*files,),
        "agree": (*files, "--top", 3),
        "slice": (files[0], "--by", "column", "--file", folder / f"{FILE}.jsonl", "--column", FILE),
        "choice": (f"{FILE}={folder / 'c.npy'}", "--set", choices(folder)),
        "correlate": ("flickr8k", "--gains", "binary", "--human-data", human_files.flickr8k(folder / "human")),
    }[command]
    output = run(command, *args, "--format", style)
    assert "error: " not in output
    if command != "correlate":
        plain = {"latex": r"[red]:smile:\textless{}b", "html": "[red]:smile:&lt;b&gt;", "markdown": r"\[red\]:smile:"}
        assert plain.get(style, "[red]") in output.replace("\n", "").replace(" ", "")
    if style == "json":
        assert json.loads(output[output.index("{\n") :])["schema"].startswith("vsebench/")


COMMANDS = """
eval FILE.npz --metrics R@1
eval FILE.npz --metrics R@1 --json
eval FILE.npz --metrics FILE
eval FILE.npz --split FILE
eval FILE.npz --gains FILE
eval FILE.npz --key image=FILE
eval FILE.npz -o FILE/x.json
eval FILE.npy
eval FILE.npz --captions FILE.txt --metrics cider:NCS@1
eval FILE.npz --captions FILE.jsonl --metrics cider:NCS@1
eval --run FILE.run
inspect FILE.npz
inspect FILE.npz --json
metrics FILE
data build FILE
data verify FILE
data build f30k --from FILE.jsonl
cache
cache FILE --clear
spice --from FILE.jsonl
spice -o FILE.gz
unimodal FILE.npz --labels FILE.txt
correlate cxc --gains FILE
correlate flickr8k --human-data FILE
demo --out FILE.npz
doctor
"""


def test_no_other_command_lets_anything_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSEBENCH_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)
    for command in COMMANDS.strip().splitlines():
        run(*(word.replace("FILE", FILE) for word in command.split()))
    for args in (("eval", f"{FILE}.npz", FILE), (FILE,), ("eval", f"--{FILE}")):  # click cleans in its own way
        done = cli(*args, code=None)
        assert shown_in(done.out + done.err) <= {"\u2028", "\u202e"}
    assert "[red]:smile:<b>|`*$y.npz" in run("inspect", folder / f"{FILE}.npz")
    absent = run("compare", folder / f"{FILE}.json", folder / f"0{FILE}.json").replace("\n", " ")
    assert "[red]:smile:<b>|`*$y.json: no such file" in absent


def test_ids_and_names_in_no_encoding_are_written(three: list[Report], tmp_path: Path) -> None:
    """Lone surrogates, as in the name of a file in no encoding, in every file that can be written."""
    for ending in ("json", "tex", "md", "html"):
        three[0].save(tmp_path / f"a.{ending}")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert shown_in(text) == set() and json.loads(text)["split"] == EVIL, "JSON loses nothing"
    for ending in ("csv", "parquet"):
        write_per_query(three[0].per_query(), tmp_path / f"q.{ending}")
    assert "\\udc80" in (tmp_path / "q.csv").read_text(encoding="utf-8")
    items = three[0].items
    assert items is not None and unpack(pack(items.rows.ids)).tolist() == items.rows.ids.tolist()


def test_what_is_counted_is_singular_or_plural() -> None:
    assert [count_of(n, "fault") for n in (0, 1, 2000)] == ["0 faults", "1 fault", "2,000 faults"]
    assert [count_of(n, "entry", "entries") for n in (1, 3)] == ["1 entry", "3 entries"]
    assert count_of(1, "caption has", "captions have") == "1 caption has"
