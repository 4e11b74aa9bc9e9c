"""The documentation is complete, and its links, names and examples are right.

That generated pages are current, and that examples print what pages show, is checked by ``make docs-check``.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import json
import re
import shlex
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import vsebench
from docs import examples, generate
from tests import clip_models, human_files
from vsebench.environment import OTHER_VARIABLES, VSEBENCH_VARIABLES
from vsebench.errors import EXIT_CODES
from vsebench.metrics import declare, families, parse
from vsebench.metrics.declare import separate
from vsebench.metrics.suites import ALL, members
from vsebench.relevance import judgements
from vsebench.relevance.sources import kinds_of_gains, parse_spec

ROOT = Path(__file__).parents[2]
PAGES = sorted(p for folder in ("", "studies") for p in (ROOT / "docs" / folder).glob("*.md"))
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


def test_every_metric_view_and_exit_code_is_documented():
    metrics = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    for family in families():
        assert f"## {family.template.replace('{k}', 'k')}\n" in metrics
        assert family.formula in metrics
    for view in judgements():
        assert f"- `{view}`:" in metrics
    cli = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for code, words in EXIT_CODES.items():
        assert f"- {code}: {words}" in cli


def test_an_example_shows_output_only_where_the_page_does_and_fails_loudly():
    page = "```console\n$ vsebench --version\n...\n$ vsebench --version\n$ pip --version\nas it is\n```\n"
    shown = f"$ vsebench --version\nvsebench {vsebench.__version__}\n$ vsebench --version\n"
    assert examples.rerun(page) == f"```console\n{shown}$ pip --version\nas it is\n```\n"
    assert examples.rerun("```python\nprint(2 + 2)  # 5\n```\n") == "```python\nprint(2 + 2)  # 4\n```\n"
    with pytest.raises(RuntimeError, match=r"none\.npz .* 3"):
        examples.rerun("```console\n$ vsebench eval none.npz\n```\n")


def test_the_values_that_a_page_explains_are_those_of_its_output():
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    output = "".join(re.findall(r"```console\n(.*?)```", page, re.S))
    explained = re.findall(r"`(\d[\d.]* \[[^]`]*\])`", page)
    assert explained and all(value in output for value in explained)
    fields = [field.partition(":")[0] for field in re.search(r"^vsebench:.*$", output, re.M)[0].split("|")]
    table = page[page.index("## The signature") : page.index("## Notes and warnings")]
    assert set(fields) <= set(re.findall(r"`(\w+)`", table))


def test_the_api_page_has_every_public_name_once():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(class|exception|function):: (\w+)$", page, re.M)
    assert sorted(name for _, name in listed) == sorted(vsebench.__all__[1:])
    for kind, name in listed:
        member = getattr(vsebench, name)
        assert (kind == "function") == inspect.isfunction(member), name


@pytest.mark.parametrize("name", vsebench.__all__[1:])
def test_every_argument_and_method_of_the_api_is_documented(name):
    """What autodoc shows: each argument of a function in a list of the docstring, and each public method with words."""
    member = getattr(vsebench, name)
    if not inspect.isclass(member):
        text = inspect.cleandoc(member.__doc__)
        explained = re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*): ", text, re.M)
        explained = {word.lstrip("*") for line in explained for word in line.split(", ")}
        taken = set(inspect.signature(member).parameters) - {"_"}
        assert taken <= explained or ("Args" not in text and len(taken) <= 1), taken - explained
        return
    assert member.__doc__
    for method, value in vars(member).items():
        if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert value.__doc__, f"{name}.{method}"


def test_every_setting_of_gains_and_every_value_is_explained():
    page = (ROOT / "docs" / "relevance.md").read_text(encoding="utf-8")
    for kind in kinds_of_gains().values():
        assert kind.meaning in page
        for key, values in kind.settings.items():
            assert f"### {key}\n" in page
            assert all(f"- `{key}={value}`" in page for value in values)


def test_every_page_is_in_the_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {p.relative_to(ROOT / "docs").with_suffix("").as_posix() for p in PAGES} - {"index"}
    listed = re.findall(r"^([a-z/_-]+)$", "".join(re.findall(r"```{toctree}.*?```", index, re.S)), re.M)
    assert sorted(listed) == sorted(pages)
    assert pages <= set(re.findall(r"\]\(([a-z/_-]+)\.md\)", index))


def test_every_environment_variable_is_documented():
    listed = {v.name for v in (*VSEBENCH_VARIABLES, *OTHER_VARIABLES)}
    sources = [p for p in (ROOT / "vsebench").rglob("*.py") if p.name != "environment.py"]
    pattern = r"\b(?:VSEBENCH|NUMBA|HF)_[A-Z_]*[A-Z]\b|environ(?:\.get\(|\[)\"([A-Z_]+)\""
    found = {m[1] or m[0] for p in sources for m in re.finditer(pattern, p.read_text(encoding="utf-8"))}
    assert found - {"PYTHONPATH"} <= listed
    assert {v.name for v in VSEBENCH_VARIABLES} <= found


def test_every_citation_key_has_a_reference():
    listed = set(re.findall(r"^- `(\w+)`:", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), re.M))
    used = {key for family in families() for key in family.cite} | {d.cite for d in judgements().values()}
    assert used <= listed
    assert all(family.cite for family in families())


@pytest.mark.parametrize("page", PROSE, ids=lambda p: p.name)
def test_commands_in_the_prose_use_options_that_exist(page):
    known = {path: command for path, command in generate.commands()}
    for line in re.findall(r"(?:^\$ |`)(vsebench [a-z][^`\n]*)", page.read_text(encoding="utf-8"), re.M):
        words = shlex.split(line)
        path = " ".join(words[:3]) if " ".join(words[:3]) in known else " ".join(words[:2])
        assert path in known, line
        options = {o for p in known[path].params for o in p.opts} | {"--help"}
        assert {w.partition("=")[0] for w in words if w.startswith("--")} <= options, line


@pytest.mark.parametrize("page", PROSE, ids=lambda p: p.name)
def test_commands_in_the_prose_name_metrics_and_gains_that_exist(page):
    text = page.read_text(encoding="utf-8")
    own = set(re.findall(r"--judgements (\w+)", text))  # judgements that the page names
    for line in re.findall(r"(?:^\$ |`)(vsebench [a-z][^`\n]*)", text, re.M):
        words = shlex.split(line)
        for option, value in pairwise(words):
            if option == "--metrics":
                assert all(w in (*ALL, *own) or members(w) or parse(w) for w in separate(value)), line
            if option == "--gains" and words[1] == "eval":
                assert all(parse_spec(w) for w in value.split(",")), line


@pytest.mark.parametrize(
    # The example of encoding.md needs weights; tests/pretrained runs it with those of a tiny model.
    "page",
    [p for p in PROSE if p.name not in ("CONTRIBUTING.md", "encoding.md", *examples.PAGES)],
    ids=lambda p: p.name,
)
def test_python_examples_run(page, tmp_path, monkeypatch):
    """The examples of a page, in order; where a comment behind ``print`` shows a value, it is the printed one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(declare, "_FAMILIES", list(declare._FAMILIES))
    code = "".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
    if "import torch" in code:
        pytest.importorskip("torch", reason="torch is not installed (extra: torch)")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page.name, "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert not expected or out.getvalue().split() == expected
    assert expected or page.name != "README.md"


def test_links_lead_somewhere():
    for page in PROSE:
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in _anchors(linked), f"{page.name}: {target}#{anchor}"


def _anchors(page):
    """The anchors of the headings of a page, as GitHub and MyST make them: the second of a name ends in -1."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    found = Counter(re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings)
    return {name if n == 0 else f"{name}-{n}" for name, count in found.items() for n in range(count)}


LONGEST = 40  # words of a sentence


def _sentences(text):
    """The sentences of a page without code blocks, tables and headings; a list item ends one, inline code is a word."""
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.S | re.M)
    text = re.sub(r"^ *(?:\||#|:::|%|<!--).*$", "\n", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "X", text))
    for block in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", text):
        yield from re.split(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z\d(\[*]|vsebench)", " ".join(block.split()))


@pytest.mark.parametrize("page", PROSE, ids=lambda p: p.name)
def test_sentences_are_short(page):
    found = _sentences(page.read_text(encoding="utf-8"))
    assert [sentence for sentence in found if len(sentence.split()) > LONGEST] == []


def test_pages_are_few_and_short():
    """Without what is generated, and without examples and their output."""
    pages = [page for page in PAGES if page.parent.name == "docs" and page.name != "cli.md"]
    assert len(pages) < 24 and len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90
    parts = re.compile(r"<!-- table generated.*?<!-- end of table -->|^```.*?^```", re.S | re.M)
    words = {page.name: len(parts.sub("", page.read_text(encoding="utf-8")).split()) for page in pages}
    assert {name: n for name, n in words.items() if n > 1500} == {}


def _has_example(member):
    return inspect.isfunction(member) or (inspect.isclass(member) and ">>>" in (member.__doc__ or ""))


@pytest.mark.parametrize("name", [n for n in vsebench.__all__ if _has_example(getattr(vsebench, n))])
def test_every_function_of_the_api_has_an_example_that_runs(name, tmp_path, monkeypatch):
    if name == "load_split":
        pytest.importorskip("eccv_caption", reason="eccv_caption is not installed (pip install 'vsebench[text]')")
    monkeypatch.chdir(tmp_path)
    if name in ("encode", "encode_all"):
        pytest.importorskip("open_clip", reason="open_clip_torch is not installed (extra: clip)")
        clip_models.open_clip_folder(tmp_path / "tiny-clip")
        clip_models.photos(tmp_path / "photos", ["a.png", "b.png", "c.png"])
        clip_models.captions_csv(tmp_path / "captions.csv", ["a.png", "b.png", "c.png"])
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(declare, "_FAMILIES", list(declare._FAMILIES))
    function = getattr(vsebench, name)
    names = {**vars(inspect.getmodule(function)), "folder": human_files.flickr8k(tmp_path / "human")}
    example = doctest.DocTestParser().get_doctest(function.__doc__, names, name, None, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert example.examples and said == [], "".join(said)


def test_the_coverage_was_measured_on_enough_test_sets() -> None:
    stored = json.loads((ROOT / "docs" / "coverage.json").read_text(encoding="utf-8"))
    assert stored["sets"] == {"200": 1000, "1000": 400}
    for rows in stored["rows"].values():
        of_means = {name: row for name, row in rows.items() if not name.startswith("Me")}  # not MeanR and MedR
        assert all(0.92 <= row["coverage"] <= 0.99 for row in of_means.values())
        assert all(0.02 <= row["level"] <= 0.07 for row in of_means.values())
