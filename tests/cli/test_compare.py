"""``vsebench compare``: what it finds, how it says it, what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vsebench
from tests import oracle_stats as oracle
from tests import reports
from tests.commands import cli, refused
from tests.messages import Pinned
from vsebench.analysis.compare import show
from vsebench.results.html import page
from vsebench.results.latex import latex
from vsebench.results.markdown import markdown
from vsebench.results.model import signed
from vsebench.results.render import Result
from vsebench.results.table import Column, Entry, Table, Text, Value


def compared(systems: Any, **options: Any) -> Result:
    return vsebench.compare(systems, **{"permutations": 1000, "resamples": 50, **options})  # type: ignore[arg-type]


def keys(found: Result) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((row["metric"], row["direction"]) for row in found.records("values")))


def differences(found: Result) -> list[Any]:
    """The tests with their fields as attributes, those of a metric together."""
    order, rows = keys(found), [SimpleNamespace(**row) for row in found.records()]
    return sorted(rows, key=lambda row: order.index((row.metric, row.direction)))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A good model, a worse one and a bad one."""
    return reports.files(tmp_path_factory.mktemp("three"), good=0.3, worse=0.9, bad=3.0)


def test_values_and_tests(three: list[str]) -> None:
    found = compared(three, metrics="R@1,MeanR,RSum")
    assert keys(found) == [("R@1", "i2t"), ("MeanR", "i2t"), ("R@1", "t2i"), ("MeanR", "t2i"), ("RSum", None)]
    pairs = (("good", "worse"), ("good", "bad"), ("worse", "bad"))
    assert [(t.metric, t.direction, t.first, t.second) for t in differences(found)] == [
        (*key, *pair) for key in keys(found) for pair in pairs
    ]
    values = {(row["system"], row["metric"], row["direction"]): row["value"] for row in found.records("values")}
    for test in differences(found):
        first, second = (values[system, test.metric, test.direction] for system in (test.first, test.second))
        assert (test.first_value, test.second_value) == (first, second)
        assert test.difference == pytest.approx(second - first, abs=1e-9) and test.low <= test.difference <= test.high
        assert test.p <= test.corrected <= 1
        assert test.winner in (None, test.first), "less noise is never worse here"
        assert test.n == {"i2t": 24, "t2i": 72, None: 24}[test.direction]
        assert test.wins + test.ties + test.losses == test.n
        assert test.superiority == pytest.approx((test.wins + test.ties / 2) / test.n)
    assert differences(found)[4].winner == "good"


def test_the_document(three: list[str]) -> None:
    args = [*three, "--metrics", "R@1,RSum", "--correction", "bh", "--alpha", "0.01", "--ci", 90]
    done = cli("compare", *args, "--baseline", "worse", "--json").json
    assert list(done)[:8] == [
        "schema", "split", "systems", "signatures", "baseline", "rules", "notes", "warnings",
    ]  # fmt: skip
    assert done["schema"] == "vsebench/comparison/2" and done["systems"] == ["good", "worse", "bad"]
    assert done["rules"] == {
        "permutations": 10000, "correction": "bh", "alpha": 0.01, "level": 90.0, "resamples": 1000, "seed": 0,
    }  # fmt: skip
    options = {"metrics": "R@1,RSum", "correction": "bh", "alpha": 0.01, "ci": 90, "baseline": "worse"}
    assert done == vsebench.compare(three, **options).to_dict()  # type: ignore[arg-type]


def test_against_loops() -> None:
    world = reports.split(6)
    done = [reports.report(n, s, world, metrics="R@1,MeanR,RSum") for s, n in enumerate((0.4, 1.2))]
    found = compared(done, metrics="all", correction="none")
    assert "exact" in str(found)
    for test in differences(found):
        assert test.exact and test.corrected == test.p
        if test.direction is not None:
            a, b = (r[test.metric, test.direction].per_query.tolist() for r in done)  # type: ignore[union-attr]
            image = list(range(6)) if test.direction == "i2t" else world.image_of.tolist()
            assert test.p == pytest.approx(oracle.swap_p(a, b, image))
            better = 1 if test.metric == "R@1" else -1
            assert test.wins == sum(better * (y - x) > 0 for x, y in zip(a, b, strict=True))


def test_a_baseline(three: list[str]) -> None:
    found = compared(three, baseline="worse", metrics="R@1")
    assert found.settings["baseline"] == "worse"
    assert [(t.first, t.second) for t in differences(found)] == [("worse", "good"), ("worse", "bad")] * 2
    two = compared(three[:2], baseline="worse", metrics="R@1")  # the values are below the names
    worse, good = (vsebench.load(three[at])["R@1", "i2t"].value for at in (1, 0))
    assert re.search(rf"R@1 +image→text +{100 * worse:.2f} +{100 * good:.2f} ", str(two))
    assert "worse (baseline)" in str(found)
    assert re.search(r"good +\d+\.\d\d\^( \+)? +\d+\.\d\d\^", str(found)) and re.search(
        r"bad .*\d\.\d\d +-", str(found)
    )


def test_seed_and_threads(three: list[str]) -> None:
    first, other = compared(three, threads=1), compared(three, seed=1)
    assert first.to_json() == compared(three, threads=3).to_json()
    assert other.settings["rules"]["seed"] == 1 and other.records() != first.records()


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_correction_is_over_the_whole_table(three: list[str], correction: str) -> None:
    frame = compared(three, metrics="R@1,R@5", correction=correction).to_frame()
    assert len(frame) == 12 and frame.corrected.min() <= frame.p.min() * 12


def test_headline_metrics_are_tested_and_the_others_described(tmp_path: Path) -> None:
    four = reports.files(tmp_path, a=0.1, b=0.5, c=1.0, d=3.0)
    found = vsebench.compare(four, resamples=50)
    tested = dict.fromkeys((t.metric, t.direction) for t in differences(found) if t.p is not None)
    assert not found.warnings and len(keys(found)) > 2 * len(tested)
    assert list(dict.fromkeys(name for name, _ in tested)) == ["R@1", "R@5", "R@10", "RSum", "1k:R@1", "1k:RSum"]
    for test in differences(found):
        own = (test.metric, test.direction) in tested
        assert (test.p is None) == (test.corrected is None) == (not own)
        assert own or (test.winner is None and not test.exact)
        assert (test.low is None) == test.metric.endswith("MedR")
        assert test.low is None or test.low <= test.difference <= test.high
        assert test.wins + test.ties + test.losses == test.n >= test.differing // 3
        # the best system is better than the worst in every headline sum
        if test.metric in ("RSum", "1k:RSum") and (test.first, test.second) == ("a", "d"):
            assert test.winner == "a"
    assert "further metrics are neither tested nor in this table" in " ".join(cli("compare", *four[:3]).out.split())
    text = cli("compare", *four[:2]).out
    assert re.search(r"MRR +text→image .* — ", text)
    assert len(re.findall(r"\n R@1 ", text)) == 2  # one table
    assert all(t.p is not None for t in differences(compared(four, metrics="MeanR,R@1")))


def test_medians_are_described_without_a_test(three: list[str], pinned: Pinned) -> None:
    done = cli("compare", *three[:2], "--metrics", "MedR", "--json")
    pinned(done.err)
    for test, value in zip(done.json["tables"]["tests"], done.json["tables"]["values"][1::2], strict=True):
        assert [test[key] for key in ("p", "corrected", "low", "winner")] == [None] * 4
        assert value["value"] == test["second_value"] == test["first_value"] + test["difference"]
        assert test["wins"] + test["ties"] + test["losses"] == test["n"]


def test_reports_without_headline_metrics_are_tested() -> None:
    two = [reports.report(n, metrics="MeanR,1k:R@1,1k:R@5") for n in (0.3, 2.0)]
    tested = {(t.metric, t.p is not None) for t in differences(compared(two))}
    assert tested == {("MeanR", True), ("1k:R@1", True), ("1k:R@5", False)}


def test_the_number_of_permutations_follows_from_the_number_of_tests(three: list[str], pinned: Pinned) -> None:
    for options, wanted in (
        ({"metrics": "R@1"}, 10_000),
        ({"correction": "none", "alpha": 0.01}, 10_000),
        ({"metrics": "R@1,R@5", "alpha": 0.002}, 30_000),  # 4 x 12 / 0.002 are needed
    ):
        found = compared(three, resamples=10, permutations=None, **options)
        assert found.settings["rules"]["permutations"] == wanted and not any("significant" in w for w in found.warnings)
    for correction in ("holm", "bh"):
        (few,) = compared(three, metrics="R@1,R@5", alpha=0.002, correction=correction).warnings
        pinned(few)


def test_too_few_images_for_any_test(pinned: Pinned) -> None:
    two = [reports.report(n, world=reports.split(4), metrics="RSum,R@1") for n in (0.1, 9.0)]
    (warning,) = compared(two).warnings
    pinned(warning)
    assert not compared([two[0], reports.report(0.1, world=reports.split(4), metrics="RSum,R@1")]).warnings


def test_one_run_of_each_system_is_noted(three: list[str], pinned: Pinned) -> None:
    """Tests are over images: that another seed gives another model is not in them."""
    note = compared(three[:2], metrics="R@1").notes[0]
    pinned(note)
    assert compared(three[:2], metrics="MedR").notes[:1] != (note,)


@pytest.mark.parametrize(
    "words",
    [
        "{good}", "{good} {bad} --metrics R@3", "{good} {bad} --metrics R@I", "{good} {bad} --baseline goood",
        "{good} {bad} --format pdf", "{good} {bad} --correction tukey", "{good} {bad} --alpha 5",
        "{good} {bad} --alpha 1", "{good} {bad} --alpha 0", "{good} {bad} -o {folder}", "{good} {folder}/none.json",
    ],
)  # fmt: skip
def test_what_is_refused(three: list[str], words: str, pinned: Pinned) -> None:
    names = {"good": three[0], "bad": three[2], "folder": str(Path(three[0]).parent)}
    code = 3 if "none.json" in words else 2
    pinned(refused("compare", *words.format(**names).split(), code=code).replace(names["folder"], "folder"))


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
    pinned(refused(*words, "--ci", "0.95"))


def test_systems_that_were_not_measured_alike(three: list[str], tmp_path: Path, pinned: Pinned) -> None:
    other = reports.write(tmp_path / "other.json", reports.report(0.3, metrics="R@1,MeanR", ties="optimistic"))
    pinned(refused("compare", three[0], other))
    forced = cli("compare", three[0], other, "--force")
    pinned(forced.err)
    assert "R@5 i2t" in forced.err
    # how a system scores is its own affair
    assert compared([vsebench.load(three[0]), reports.report(0.3, metrics="R@1", similarity="dot")], metrics="R@1")


def test_other_splits_are_compared_only_by_force(three: list[str], tmp_path: Path, pinned: Pinned) -> None:
    def part(images: int, offset: int) -> str:
        done = reports.report(0.9, world=reports.split(images, offset), metrics="R@1")
        return reports.write(tmp_path / f"part{images}.json", done)

    pinned(refused("compare", three[0], part(30, 110)))
    # images 110 to 123 and captions 1110 to 1171 are in both
    assert [t.n for t in differences(compared([three[0], part(30, 110)], force=True))] == [14, 62]
    pinned(cli("compare", three[0], part(30, 110), "--force").err)
    pinned(refused("compare", three[0], part(9, 9000), "--force", code=3))


def test_cells_that_could_break_a_table() -> None:
    rows = ((Text("[0] \\ {z}", None), Value(0.01, interval=(0, 0.01), mark="2", bold=True)),)
    table = Table("", "a|b <i>\n", (Column("x", words=True), Column("[y]")), rows, notes=("n_1 %",))
    shown = "{}[0] \\textbackslash{} \\{z\\} & \\textbf{1.00}\\textsuperscript{2} & [0.00, 1.00] \\\\"
    assert shown in latex([table])
    assert "| \\[0\\] \\\\ {z} | **1.00**<sup>2</sup> \\[0.00, 1.00\\] |" in markdown([table])
    html = page("t", [table])
    assert "<h2>a|b &lt;i&gt;\\n</h2>" in html
    assert "<td class='n'><b>1.00</b><sup style='width:1ch'>2</sup></td><td class='beside'>" in html
    empty = Table(notes=("only words",))
    assert latex([empty]).endswith("% only words\n")
    assert "<table" not in page("t", [empty]) and "|" not in markdown([empty])


def test_numbers_line_up() -> None:
    rows: tuple[tuple[Entry, ...], ...] = (
        (
            "*a_%&#|x-1",
            Value(-0.012, mark="-", bold=True),
            Value(-0.5, "tau", (-1, -0.2)),
            Value(3, "count", mark="ab"),
        ),
        ("b", Value(0.12), Value(0, "tau"), Value(1e-5, "probability")),
    )
    table = Table(columns=(Column("x", words=True), *map(Column, "yzw")), rows=rows)
    tex = latex([table]).splitlines()
    assert tex[1] == r"\begin{tabular}{lrr@{ }lr}"
    assert tex[3] == r"x & y & \multicolumn{2}{c}{z} & w \\"
    assert tex[5] == (
        r"{}*a\_\%\&\#\textbar{}x-1 & \textbf{$-$1.20}\textsuperscript{$-$} & "
        r"$-$0.50 & [$-$1.00, $-$0.20] & 3\textsuperscript{ab} \\"
    )
    # a number without a mark leaves the room of one
    raised = r"\hphantom{\textsuperscript{%s}}"
    assert tex[6] == rf"b & 12.00{raised % '$-$'} & 0.00 &  & 1e$-$05{raised % 'ab'} \\"
    assert all(line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}") for line in tex)
    html = page("t", [table])
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
    (tmp_path / "cut.json").write_text(json.dumps(data))
    pinned(refused("compare", tmp_path / "cut.json", three[1], "--metrics", "RSum", code=3))


def test_names_and_families(three: list[str], tmp_path: Path) -> None:
    def names(files: list[str], words: str) -> list[str]:
        return list(dict.fromkeys(metric for metric, _ in keys(compared(files, metrics=words))))

    assert names(three, "recall") == ["R@1", "R@5", "R@10", "MedR", "MeanR", "RSum"]
    assert names(three, "1k:MRR,gt:R@1") == ["1k:MRR", "R@1"]
    assert len(names(three, "all")) > 20
    # graded names without a view mean the gains that the reports have
    graded = []
    for name, file in (("x", three[0]), ("y", three[1])):
        text = Path(file).read_text().replace('"R-P"', '"spice:NCS@10"').replace('"Recall@10"', '"spice:CS@100"')
        (tmp_path / f"{name}.json").write_text(text)
        graded.append(str(tmp_path / f"{name}.json"))
    assert names(graded, "NCS@10") == ["spice:NCS@10"] == names(graded, "ncs")
    assert "cider" in refused("compare", *graded, "--metrics", "cider:ncs")


def test_saved_reports_are_shown_again(tmp_path: Path, pinned: Pinned) -> None:
    files = reports.files(tmp_path, a=0.1, b=0.5)
    one, both = vsebench.load(files[0]), vsebench.compare(files, tests=False, metrics="all")
    assert cli("show", files[0], "--format", "markdown").out.strip() == one.to_markdown().strip()
    assert cli("show", files[0], "--metrics", "R@1", "--format", "csv").out.count("\n") == 3
    shown = cli("show", *files, "-o", tmp_path / "a.tex", "--format", "latex").out
    table = both.to_latex().partition("\\end{tabular}")[0]
    assert shown.startswith(table) and (tmp_path / "a.tex").read_text().startswith(table)
    ranks = [row for row in show(files).records() if row["metric"] == "MedR"]
    assert {(row["system"], row["value"]) for row in ranks if row["direction"] == "t2i"} == {
        (name, vsebench.load(file)["MedR", "t2i"].value) for name, file in zip("ab", files, strict=True)
    }
    other = reports.write(tmp_path / "other.json", reports.report(0.5, world=reports.split(30, 110), metrics="R@1"))
    for command in ("show", "page"):  # fixes that the command has
        pinned(refused(command, *files, other))


def test_legends_say_what_stands_in_the_table(tmp_path: Path) -> None:
    files = reports.files(tmp_path, a=0.1, b=0.5)
    text = " ".join(str(compared(files, metrics="R@1,MedR", ci=99, intervals=True)).split())
    assert "In brackets: 95 % BCa bootstrap interval over images" in text and "with 99 % bootstrap" in text
    assert "80 % power" in text and "— exact" not in text
    every: list[dict[str, Any]] = [{}, {"tests": False}]
    for more in every:
        other = reports.report(0.3, ci=90)
        mixed = vsebench.compare({"a": vsebench.load(files[0]), "b": other}, metrics="R@1", intervals=True, **more)
        assert "or used other settings" in " ".join(mixed.notes) and "BCa" not in str(mixed)
    assert "before correction" not in str(compared(files, metrics="R@1", correction="none"))
    medians = str(compared(files, metrics="MedR"))
    assert "tests over" not in medians and "Detectable" not in medians and "with its" not in medians
    assert "system minus baseline" in str(compared(files, metrics="R@1", baseline="b"))
    sets = {f"{name}:{n}": vsebench.load(file) for name, file in zip("ab", files, strict=True) for n in "x"}
    text = " ".join(str(vsebench.compare(sets, mean=True, metrics="R@1", ci=50, intervals=True)).split())
    assert "50 % bootstrap interval of the mean, images drawn" in text and "single sets: 95 % BCa" in text
    runs = {"a": vsebench.load(files[0]), "b@0": other, "b@1": reports.report(0.4)}
    assert "Welch" not in str(vsebench.compare(runs, metrics="R@1"))


def test_names_are_texts_and_a_baseline_needs_tests(tmp_path: Path, pinned: Pinned) -> None:
    files = reports.files(tmp_path, a=0.1, b=0.5)
    assert vsebench.compare(dict(enumerate(files)), metrics="R@1").systems == ("0", "1")  # type: ignore[arg-type]
    with pytest.raises(vsebench.VsebenchError) as caught:
        vsebench.compare(files, tests=False, baseline="a")
    pinned(caught.value)
    with pytest.raises(vsebench.VsebenchError, match="alpha"):
        vsebench.compare(files, tests=False, alpha=0.01)
