"""``vsebench compare``: what it finds, how it says it, what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests import commands, reports
from tests import oracle_stats as oracle
from tests.messages import Pinned
from tests.pages import Page
from vsebench.cli import app
from vsebench.results.format import signed
from vsebench.results.grid import Cell, Grid
from vsebench.results.html import page
from vsebench.results.latex import latex
from vsebench.results.markdown import markdown

FEW = ["--permutations", "1000", "--resamples", "50"]


def invoke(*args: str) -> Result:
    return commands.invoke("compare", *args, *FEW)


def found(*args: object) -> dict[str, Any]:
    document = commands.document("compare", *args, *FEW)
    return {**document, "metrics": metrics_of(document)}


def metrics_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """A metric and direction with the values of the systems and its tests."""
    metrics: dict[Any, dict[str, Any]] = {}
    for row in document["tables"]["values"]:
        key = row["metric"], row["direction"]
        metrics.setdefault(key, {"metric": key[0], "direction": key[1], "values": {}, "tests": []})
        metrics[key]["values"][row["system"]] = row["value"]
    for row in document["tables"]["tests"]:
        ends = None if row["low"] is None else [row["low"], row["high"]]
        metrics[row["metric"], row["direction"]]["tests"].append({**row, "interval": ends})
    return [{**one, "tested": any(t["p"] is not None for t in one["tests"])} for one in metrics.values()]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A good model, a worse one and a bad one."""
    return reports.files(tmp_path_factory.mktemp("three"), good=0.3, worse=0.9, bad=3.0)


def test_the_document(three: list[str]) -> None:
    document = found(*three, "--metrics", "R@1,MeanR,RSum")
    assert list(document)[:8] == [
        "schema", "split", "systems", "signatures", "baseline", "rules", "notes", "warnings",
    ]  # fmt: skip
    assert document["schema"] == "vsebench/comparison/2" and document["baseline"] is None
    assert document["systems"] == ["good", "worse", "bad"]
    assert document["rules"] == {
        "permutations": 1000, "correction": "holm", "alpha": 0.05, "level": 95.0, "resamples": 50, "seed": 0,
    }  # fmt: skip
    assert [(m["metric"], m["direction"]) for m in document["metrics"]] == [
        ("R@1", "i2t"), ("R@1", "t2i"), ("MeanR", "i2t"), ("MeanR", "t2i"), ("RSum", None),
    ]  # fmt: skip
    for metric in document["metrics"]:
        assert [(t["first"], t["second"]) for t in metric["tests"]] == [
            ("good", "worse"), ("good", "bad"), ("worse", "bad"),
        ]  # fmt: skip
        for test in metric["tests"]:
            values = [metric["values"][test[s]] for s in ("first", "second")]
            assert test["difference"] == pytest.approx(values[1] - values[0], abs=1e-9)
            assert test["interval"][0] <= test["difference"] <= test["interval"][1]
            assert test["p"] <= test["corrected"] <= 1
            assert test["winner"] in (None, test["first"]), "less noise is never worse here"
            assert test["n"] == {"i2t": 24, "t2i": 72, None: 24}[metric["direction"]]
            assert test["wins"] + test["ties"] + test["losses"] == test["n"]
            assert test["superiority"] == pytest.approx((test["wins"] + test["ties"] / 2) / test["n"])
    assert document["metrics"][1]["tests"][1]["winner"] == "good"


def test_against_loops(tmp_path: Path) -> None:
    world = reports.split(6)
    done = [reports.report(n, s, world, metrics="R@1,MeanR,RSum") for s, n in enumerate((0.4, 1.2))]
    paths = [reports.write(tmp_path / f"{i}.json", r) for i, r in enumerate(done)]
    document = found(*paths, "--metrics", "all", "--correction", "none")
    for metric in document["metrics"]:
        (test,) = metric["tests"]
        key = (metric["metric"], metric["direction"])
        assert test["exact"] and test["corrected"] == test["p"]
        if key[1] is None:
            continue
        a, b = (r[key].per_query.tolist() for r in done)
        image = list(range(6)) if key[1] == "i2t" else world.image_of.tolist()
        assert test["p"] == pytest.approx(oracle.swap_p(a, b, image))
        better = 1 if key[0] == "R@1" else -1
        assert test["wins"] == sum(better * (y - x) > 0 for x, y in zip(a, b, strict=True))


def test_two_systems_show_their_tests(three: list[str]) -> None:
    text = invoke(*three[:2], "--metrics", "R@1,MeanR").stdout
    assert "good (a)" in text and "worse (b)" in text and "worse against good" in text
    assert re.search(r"R@1 +text→image +\d+\.\d\d[* ]( b)? +\d+\.\d\d[* ]", text)
    assert "MeanR ↓" in text and "wins:losses" in text
    assert "Holm-corrected p ≤ 0.05 of 4 two-sided" in " ".join(text.split())
    assert "wins:losses" not in invoke(*three, "--metrics", "R@1").stdout
    against = invoke(*three, "--metrics", "R@1", "--baseline", "bad").stdout
    assert against.count("wins:losses") == 2


def test_a_baseline(three: list[str]) -> None:
    document = found(*three, "--baseline", "worse", "--metrics", "R@1")
    assert document["baseline"] == "worse"
    assert [(t["first"], t["second"]) for t in document["metrics"][1]["tests"]] == [("worse", "good"), ("worse", "bad")]
    text = invoke(*three, "--baseline", "worse", "--metrics", "R@1").stdout
    assert "worse (baseline)" in text
    assert re.search(r"text→image +\d+\.\d\d\*( \+)? +\d+\.\d\d_ +\d+\.\d\d -", text)


def test_seed_and_threads(three: list[str]) -> None:
    first = found(*three, "--threads", "1")
    assert first == found(*three, "--threads", "3")
    other = found(*three, "--seed", "1")
    assert other["rules"]["seed"] == 1 and other["metrics"] != first["metrics"]


def test_correction_is_over_the_whole_table(three: list[str]) -> None:
    for correction in ("holm", "bh"):
        document = found(*three, "--metrics", "R@1,R@5", "--correction", correction)
        tests = [t for m in document["metrics"] for t in m["tests"]]
        smallest = min(t["p"] for t in tests)
        assert min(t["corrected"] for t in tests if t["p"] == smallest) <= smallest * len(tests)
        assert len(tests) == 12


def test_headline_metrics_are_tested_and_the_others_described(tmp_path: Path) -> None:
    four = reports.files(tmp_path, a=0.1, b=0.5, c=1.0, d=3.0)
    done = CliRunner().invoke(app, ["compare", *four, "--json", "--resamples", "50"])
    assert done.exit_code == 0 and "warning" not in done.stderr
    document = {"metrics": metrics_of(json.loads(done.stdout))}
    tested = [m["metric"] for m in document["metrics"] if m["tested"]]
    assert list(dict.fromkeys(tested)) == ["R@1", "R@5", "R@10", "RSum", "1k:R@1", "1k:RSum"]
    assert len(document["metrics"]) > 2 * len(tested)
    for metric in document["metrics"]:
        for test in metric["tests"]:
            assert (test["p"] is None) == (test["corrected"] is None) == (not metric["tested"])
            assert metric["tested"] or (test["winner"] is None and not test["exact"])
            low, high = test["interval"] or (test["difference"],) * 2
            assert low <= test["difference"] <= high
            assert (test["interval"] is None) == metric["metric"].endswith("MedR")
            assert test["wins"] + test["ties"] + test["losses"] == test["n"] >= test["differing"] // 3
    # what papers would say at once is said: the best system is better than the worst in every headline sum
    sums = [m["tests"] for m in document["metrics"] if m["metric"] in ("RSum", "1k:RSum")]
    assert [next(t["winner"] for t in s if t["second"] == "d" and t["first"] == "a") for s in sums] == ["a", "a"]
    text = CliRunner().invoke(app, ["compare", *four[:2], "--resamples", "50"]).stdout
    assert "further metrics, not tested" in text and re.search(r"MRR +t2i .* — ", text)
    named = found(*four, "--metrics", "MeanR,R@1")
    assert all(m["tested"] and all(t["p"] is not None for t in m["tests"]) for m in named["metrics"])


def test_medians_are_described_without_a_test(three: list[str], pinned: Pinned) -> None:
    done = CliRunner().invoke(app, ["compare", *three[:2], "--metrics", "MedR", "--json", "--resamples", "50"])
    assert done.exit_code == 0
    pinned(done.stderr)
    for metric in metrics_of(json.loads(done.stdout)):
        (test,) = metric["tests"]
        first, second = metric["values"].values()
        assert (test["p"], test["corrected"], test["interval"], test["winner"]) == (None,) * 4
        assert test["difference"] == second - first and test["wins"] + test["ties"] + test["losses"] == test["n"]


def test_reports_without_headline_metrics_are_tested(tmp_path: Path) -> None:
    two = [reports.write(tmp_path / f"{n}.json", reports.report(n, metrics="MeanR,1k:R@1,1k:R@5")) for n in (0.3, 2.0)]
    assert {(m["metric"], m["tested"]) for m in found(*two)["metrics"]} == {
        ("MeanR", True), ("1k:R@1", True), ("1k:R@5", False),
    }  # fmt: skip


def test_the_number_of_permutations_follows_from_the_number_of_tests(three: list[str], pinned: Pinned) -> None:
    def permutations(*args: str) -> int:
        done = CliRunner().invoke(app, ["compare", *three, "--resamples", "10", "--json", *args])
        assert done.exit_code == 0 and "significant" not in done.stderr
        return json.loads(done.stdout)["rules"]["permutations"]  # type: ignore[no-any-return]

    assert permutations("--metrics", "R@1") == permutations("--correction", "none", "--alpha", "0.01") == 10_000
    assert permutations("--metrics", "R@1,R@5", "--alpha", "0.002") == 30_000  # 4 x 12 / 0.002 are needed
    for more in ((), ("--correction", "bh")):
        (few,) = found(*three, "--metrics", "R@1,R@5", "--alpha", "0.002", *more)["warnings"]
        pinned(few)


def test_too_few_images_for_any_test(tmp_path: Path, pinned: Pinned) -> None:
    world = reports.split(4)
    two = [
        reports.write(tmp_path / f"{n}.json", reports.report(n, world=world, metrics="RSum,R@1")) for n in (0.1, 9.0)
    ]
    (warning,) = found(*two)["warnings"]
    pinned(warning)
    assert found(two[0], f"again={two[0]}")["warnings"] == []


def test_one_run_of_each_system_is_noted(three: list[str], pinned: Pinned) -> None:
    """Tests are over images: that another seed gives another model is not in them."""
    pinned(found(*three[:2], "--metrics", "R@1")["notes"][0])
    assert found(*three[:2], "--metrics", "MedR")["notes"][:1] != found(*three[:2], "--metrics", "R@1")["notes"][:1]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["{good}"], 2),
        (["{good}", "{bad}", "--metrics", "R@3"], 2),
        (["{good}", "{bad}", "--metrics", "R@I"], 2),
        (["{good}", "{bad}", "--baseline", "goood"], 2),
        (["{good}", "{bad}", "--format", "pdf"], 2),
        (["{good}", "{bad}", "--correction", "tukey"], 2),
        (["{good}", "{bad}", "--alpha", "5"], 2),
        (["{good}", "{bad}", "--alpha", "1"], 2),
        (["{good}", "{bad}", "--alpha", "0"], 2),
        (["{good}", "{bad}", "-o", "{folder}"], 2),
        (["{good}", "{folder}/none.json"], 3),
    ],
)
def test_what_is_refused(three: list[str], args: list[str], code: int, pinned: Pinned) -> None:
    words = {"good": three[0], "bad": three[2], "folder": str(Path(three[0]).parent)}
    result = invoke(*[a.format(**words) for a in args])
    assert result.exit_code == code
    assert result.stdout == ""
    pinned(result.stderr.replace(words["folder"], "folder"))


@pytest.mark.parametrize(
    "command",
    [
        "eval x.npz", "unimodal x.npy --labels y.npy", "compare {a} {b}", "agree {a} {b} {c}", "slice {a} --by length",
        "correlate cxc",
    ],
)  # fmt: skip
def test_a_level_is_a_percentage_everywhere(three: list[str], tmp_path: Path, command: str, pinned: Pinned) -> None:
    for name in ("x.npy", "y.npy", "x.npz"):
        np.save(tmp_path / name, np.eye(3)) if name != "x.npz" else np.savez(tmp_path / name, images=np.eye(3))
    words = command.format(**dict(zip("abc", three, strict=True))).split()
    words = [str(tmp_path / w) if w.startswith(("x.", "y.")) else w for w in words]
    result = CliRunner().invoke(app, [*words, "--ci", "0.95"])
    assert (result.exit_code, result.stdout) == (2, "")
    pinned(result.stderr)


def test_systems_that_were_not_measured_alike(three: list[str], tmp_path: Path, pinned: Pinned) -> None:
    other = reports.write(tmp_path / "other.json", reports.report(0.3, metrics="R@1,MeanR", ties="mean-rank"))
    result = invoke(three[0], other)
    assert result.exit_code == 2
    pinned(result.stderr)
    forced = invoke(three[0], other, "--force")
    assert forced.exit_code == 0
    pinned(forced.stderr)
    assert "R@5 i2t" in forced.stderr
    # how a system scores is its own affair
    dot = reports.write(tmp_path / "dot.json", reports.report(0.3, metrics="R@1", similarity="dot"))
    assert invoke(three[0], dot, "--metrics", "R@1").exit_code == 0


def test_other_splits_are_compared_only_by_force(three: list[str], tmp_path: Path, pinned: Pinned) -> None:
    part = reports.write(
        tmp_path / "part.json", reports.report(0.9, world=reports.split(30, offset=110), metrics="R@1")
    )
    refused = invoke(three[0], part)
    assert refused.exit_code == 2
    pinned(refused.stderr)
    forced = found(three[0], part, "--force")
    # images 110 to 123 and captions 1110 to 1171 are in both
    assert [m["tests"][0]["n"] for m in forced["metrics"]] == [14, 62]
    result = invoke(three[0], part, "--force")
    pinned(result.stderr)
    strangers = reports.write(
        tmp_path / "far.json", reports.report(0.9, world=reports.split(9, offset=9000), metrics="R@1")
    )
    nothing = invoke(three[0], strangers, "--force")
    assert nothing.exit_code == 3
    pinned(nothing.stderr)


def test_formats(three: list[str], tmp_path: Path) -> None:
    args = [f"<b>&={three[0]}", f"a_b$%={three[2]}", "--metrics", "R@1,MedR"]
    tex = invoke(*args, "--format", "latex").stdout
    assert r"\begin{tabular}{lrrrr}" in tex and r"a\_b\$\% (b)" in tex and r"\textless{}b\textgreater{}\& (a)" in tex
    assert r"system & R@1 & MedR $\downarrow$ & R@1 & MedR $\downarrow$ \\" in tex
    assert re.search(r"\(a\) & \\textbf\{\d+\.\d\d\}\\textsuperscript\{b\} & ", tex)
    assert tex.count(r"\begin{tabular}") == tex.count(r"\bottomrule") == 1
    assert all(line.isascii() for line in tex.splitlines() if not line.startswith("%"))
    out = tmp_path / "page.html"
    printed = invoke(*args, "--format", "html", "-o", str(out)).stdout
    assert printed == out.read_text(encoding="utf-8")
    tags = Page(out.read_text(encoding="utf-8"))
    assert tags.open == [] and "<b>& (a)" in tags.words
    names = {tag for tag, _ in tags.tags}
    assert not names & {"script", "link", "img", "iframe"} and "table" in names
    assert not any({"src", "href"} & attributes.keys() for _, attributes in tags.tags)
    text = invoke(*args, "--format", "markdown").stdout
    rows = [line for line in text.splitlines() if line.startswith("| R@1")]
    assert len({line.replace(r"\|", "").count("|") for line in rows[:2]}) == 1
    assert re.search(r"\| R@1 \| text→image \| \*\*\d+\.\d\d\*\*<sup>b</sup> \|", text)
    data = tmp_path / "c.json"
    invoke(*args, "-o", str(data))
    assert data.read_text(encoding="utf-8") == invoke(*args, "--json").stdout


def test_cells_that_could_break_a_table() -> None:
    grid = Grid(
        "a|b <i>\n",
        ("x", "[y]"),
        (True, False),
        ((Cell("[0] \\ {z}", "2"), Cell("1", aside="[0, 1]", best=True)),),
        ("n_1 %",),
    )
    assert "{}[0] \\textbackslash{} \\{z\\}\\textsuperscript{2} & \\textbf{1} & [0, 1] \\\\" in latex([grid])
    assert "| \\[0\\] \\\\ {z}<sup>2</sup> | **1** \\[0, 1\\] |" in markdown([grid])
    assert "<h2>a|b &lt;i&gt;\\n</h2>" in page("t", [grid]) and (
        "<td class='n'><b>1</b></td><td class='beside'><span class='aside'>[0, 1]</span></td>" in page("t", [grid])
    )
    empty = Grid("", (), (), (), ("only words",))
    assert (
        latex([empty]).endswith("% only words\n")
        and "<table" not in page("t", [empty])
        and "|" not in markdown([empty])
    )


def test_numbers_line_up() -> None:
    rows = (
        (Cell("*a_%&#|x-1"), Cell("-1.20", "-", best=True), Cell("-0.5", aside="[-1, -0.2]"), Cell("3", "ab")),
        (Cell("b"), Cell("12.00"), Cell("0"), Cell("1e-05")),
    )
    grid = Grid("", ("x", "y", "z", "w"), (True, False, False, False), rows)
    tex = latex([grid]).splitlines()
    assert tex[1] == r"\begin{tabular}{lrr@{ }lr}"
    assert tex[3] == r"x & y & \multicolumn{2}{c}{z} & w \\"
    assert tex[5] == (
        r"{}*a\_\%\&\#\textbar{}x-1 & \textbf{$-$1.20}\textsuperscript{$-$} & "
        r"$-$0.5 & [$-$1, $-$0.2] & 3\textsuperscript{ab} \\"
    )
    # a number without a mark leaves the room of one
    raised = r"\hphantom{\textsuperscript{%s}}"
    assert tex[6] == rf"b & 12.00{raised % '$-$'} & 0 &  & 1e$-$05{raised % 'ab'} \\"
    assert all(line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}") for line in tex)
    html = page("t", [grid])
    assert "<th class='n' colspan='2'>z</th>" in html
    # a number without a mark leaves the room of one
    assert "<b>-1.20</b><sup style='width:1ch'>-</sup>" in html and "12.00<sup style='width:1ch'></sup>" in html
    cells = [line.count("<td") for line in html.splitlines() if line.startswith("<tr><td")]
    assert cells == [5, 5]


def test_differences_as_printed() -> None:
    assert [signed(v, "fraction") for v in (0.0123, -0.0123, 0.0, -1e-9)] == ["+1.23", "-1.23", "0.00", "0.00"]
    assert [signed(v, "rank") for v in (2.0, -2.5, 0.0, 1234.0)] == ["+2", "-2.5", "0", "+1,234"]


def test_sums_of_one_report_need_their_parts(three: list[str], tmp_path: Path, pinned: Pinned) -> None:
    data = json.loads(Path(three[0]).read_text())
    data["results"] = [r for r in data["results"] if r["metric"] != "R@5"]
    data["per_query"]["columns"] = [c for c in data["per_query"]["columns"] if c["metric"] != "R@5"]
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps(data))
    result = invoke(str(cut), three[1], "--metrics", "RSum")
    assert result.exit_code == 3
    pinned(result.stderr)


def test_names_and_families(three: list[str], tmp_path: Path) -> None:
    def names(files: list[str], words: str) -> list[str]:
        return list(dict.fromkeys(m["metric"] for m in found(*files, "--metrics", words)["metrics"]))

    assert names(three, "recall") == ["R@1", "R@5", "R@10", "MedR", "MeanR", "RSum"]
    assert names(three, "1k:MRR,gt:R@1") == ["1k:MRR", "R@1"]
    assert len(names(three, "all")) > 20
    # graded names without a view mean the gains that the reports have
    graded = []
    for name, text in (("x", three[0]), ("y", three[1])):
        text = Path(text).read_text().replace('"R-P"', '"spice:NCS@10"').replace('"Recall@10"', '"spice:CS@100"')
        (tmp_path / f"{name}.json").write_text(text)
        graded.append(str(tmp_path / f"{name}.json"))
    assert names(graded, "NCS@10") == ["spice:NCS@10"] == names(graded, "ncs")
    refused = invoke(*graded, "--metrics", "cider:ncs")
    assert refused.exit_code == 2 and "cider" in refused.stderr
