"""Write the pages that are made from the registries; with --check, only say whether they are current.

python -m docs.generate [--check]
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = ("<!-- table made by python -m docs.generate -->\n\n", "\n<!-- end of table -->\n")
MARK = "% Made by `python -m docs.generate` from the registries. Edit the code, not this page.\n\n"


def metrics_page() -> str:
    """Every metric: formula, range, direction, depth, definition, source; views and suites."""
    from vsebench.metrics import families
    from vsebench.metrics.suites import ALL, SUITES
    from vsebench.relevance import JUDGEMENTS

    out = ["# Metrics\n\n"]
    out.append(
        "A name is `[view:]Name[@k]`, for example `R@1`, `eccv:mAP@R`, `1k:RSum`. Values are fractions between 0 and 1 "
        "(ranks are ranks); the terminal prints fractions times 100. `vsebench metrics NAME` shows the same facts.\n\n"
    )
    for family in families(graded=False):
        out += _metric(family)
    out.append(
        "## Graded metrics\n\nThey read gains, how relevant an item is, and stand behind the kind of gains: "
        "`cider:NCS@10`, `spice:CS@100`. Without one it is the first of `--gains`, and CIDEr-D when none is given. "
        "Options stand in brackets, `cider:CS[tau=a]@100`; the first value is the default.\n\n"
    )
    for family in families(graded=True):
        out += _metric(family)
    out.append("## Views\n\nPut in front of a name: the judgements, and the candidates.\n\n")
    out += [f"- `{name}`: {meaning}\n" for name, meaning in ((j.name, j.meaning) for j in JUDGEMENTS.values())]
    out.append("- any kind of gains: see [relevance](relevance.md)\n")
    out.append("\n## Suites\n\nThe words of `--metrics` besides names; `vsebench metrics SUITE` explains one.\n\n")
    for suite in SUITES.values():
        out.append(f"- `{suite.name}`: {', '.join(f'`{m}`' for m in suite.metrics)}: {suite.meaning}\n")
    out += [f"- `{name}`: {meaning}\n" for name, meaning in ALL.items()]
    return "".join(out)


def _metric(family: Any) -> list[str]:
    """The section of one metric."""
    from vsebench.metrics.declare import DEPTHS

    out = []
    name = family.template.replace("{k}", "k")
    bound = "no bound" if family.unit == "distance" else "size of the gallery"
    high = bound if family.high is None else f"{family.high:g}"
    out.append(f"## {name}\n\n`{family.formula}`\n\n")
    facts = [
        ("also written", ", ".join(f"`{a.replace('{k}', 'k')}`" for a in family.aliases)),
        ("range", f"{family.low:g} to {high}"),
        ("better", "higher" if family.higher_is_better else "lower"),
        ("depth", DEPTHS[family.depth]),
        ("usual k", ", ".join(map(str, family.ks))),
        ("source", ", ".join(f"[{key}](references.md)" for key in family.cite)),
    ]
    out += [f"- {key}: {value}\n" for key, value in facts if value]
    if family.doc:
        out.append("\n" + inspect.cleandoc(family.doc).replace("``", "`") + "\n")
    out += ["\n"] if family.options else []
    for key, option in family.options.items():
        values = [*option.words, *(["a whole number"] if option.number else [])]
        out.append(f"- option `{key}` = {', '.join(f'`{v}`' for v in values)}: {option.formula}\n")
    out.append("\n")
    return out


def relevance_page() -> str:
    """Every judgement and every graded relevance: rule or formula, range, settings, source."""
    from vsebench.relevance import JUDGEMENTS
    from vsebench.relevance.kinds import GAINS

    out = ["# Relevance\n\nWhich candidates are relevant to a query (judgements), and how much (gains).\n\n"]
    out.append("## Judgements\n\n")
    for d in JUDGEMENTS.values():
        out.append(f"### {d.name}: {d.title}\n\n")
        where = ", ".join(f"`{s}`" for s in d.splits) or ("splits with folds" if d.folds else "every split")
        facts = [("relevant", d.rule), ("judged by", d.judged_by), ("where", where), ("source", d.reference)]
        out += [f"- {key}: {value}\n" for key, value in facts]
        out.append("\n")
    out.append(
        "## Graded relevance\n\nA number (gain) for every image and caption of a split. Specified as "
        "`KIND[:ARGUMENT][:key=value...]`, for example `cider:tokens=whitespace` or `sentence:all-MiniLM-L6-v2`; gains "
        "in a `.npy` or `.npz` file are specified by its path, as in `gains.npy:rows=images` (rows are images or "
        "captions), and their metrics are named `matrix:CS@10`. Rows and columns are matched by the ids in the file; "
        "without ids they are in the order of a declared split, or for a custom split in the order of the vectors, as "
        "are caption vectors without ids (`sentence:FILE`). Metrics that add gains up (NCS, nDCG) refuse negative "
        "gains: with `:negative=zero` these count as zero, for every metric. Gains are float32 numbers: others are "
        "rounded. "
        "The settings are part of the signature of a report. The first value of a setting is its default.\n\n"
    )
    for g in GAINS.values():
        low, high = ("no bound" if x is None else f"{x:g}" for x in (g.low, g.high))
        out.append(f"### {g.name}: {g.title}\n\n`{g.formula}`\n\n")
        settings = "; ".join(
            f"`{k}`: {', '.join(v)}{' or a file' if k in g.open_settings else ''}" for k, v in g.settings.items()
        )
        facts = [
            ("range", f"{low} to {high}"),
            ("argument", g.argument),
            ("settings", settings),
            ("needs", g.needs),
            ("source", g.reference),
        ]
        out += [f"- {key}: {value}\n" for key, value in facts if value]
        out.append("\n")
    return "".join(out)


def cli_page() -> str:
    """Every command with its options, and the exit codes."""
    import typer

    from vsebench.cli import app
    from vsebench.errors import EXIT_CODES

    out = ["# Command line\n\n"]
    out.append(
        "The result goes to stdout, everything else to stderr. `--json`, `--quiet` and `--no-progress` may stand "
    )
    out.append("before or behind the command.\n\n")
    for path, command in _commands("vsebench", typer.main.get_command(app)):
        out.append(f"## {path}\n\n{(command.help or '').strip()}\n\n")
        for p in command.params:
            shown = f"`{p.name.upper()}`" if p.param_type_name == "argument" else ", ".join(f"`{o}`" for o in p.opts)
            words = getattr(p, "help", None) or ""
            default = "" if p.default in (None, False) or callable(p.default) else f" (default `{p.default}`)"
            out.append(f"- {shown}: {words}{default}\n")
        out.append("\n")
    out.append("## Exit codes\n\n")
    out += [f"- {code}: {words}\n" for code, words in EXIT_CODES.items()]
    return "".join(out)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
    else:
        for name, child in children.items():
            yield from _commands(f"{path} {name}", child)


def formats_table() -> str:
    """The table of input files: every format of embeddings and of retrieved lists."""
    from vsebench.data.formats.table import FORMATS, LIST_FORMATS

    rows = [
        (f"`{kind.suffix}`" if kind.suffix else kind.words, kind.holds, f"`{kind.extra}`" if kind.extra else "-")
        for kind in FORMATS.values()
        if kind.holds
    ]
    scores = "a score matrix, one row an image, one column a text (cross-attention models)"
    rows.append(("`--scores FILE`", scores, "-"))
    rows += [("`--run FILE`", f"retrieved lists: {kind.holds}", "-") for kind in LIST_FORMATS]
    lines = ["| input | what it holds | needs |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def formats_page() -> str:
    """docs/formats.md, written by hand but for the table of formats."""
    before, _, rest = (HERE / "formats.md").read_text(encoding="utf-8").partition(TABLE[0])
    return before + TABLE[0] + formats_table() + TABLE[1] + rest.partition(TABLE[1])[2]


def api_page() -> str:
    """Every public name with its signature and its documentation."""
    import vsebench

    out = ["# Python API\n\n"]
    out.append(
        "`import vsebench as vb`. Functions have the names and defaults of the commands' options; results print as "
        "the terminal table, render in notebooks and have `to_frame`, `to_latex`, `to_markdown`, `to_html` and "
        "`to_json`.\n\n"
    )
    for name in vsebench.__all__[1:]:
        member = getattr(vsebench, name)
        parameters = [
            p.name if p.default is p.empty else f"{p.name}={p.default!r}" if p.name != "_" else ""
            for p in inspect.signature(member).parameters.values()
        ]
        out.append(f"## {name}\n\n")
        if not inspect.isclass(member):
            out.append(f"`{name}({', '.join(parameters)})`\n\n")
        out.append(f"```text\n{inspect.cleandoc(member.__doc__ or '')}\n```\n\n")
    return "".join(out)


PAGES: dict[str, Callable[[], str]] = {
    "metrics.md": metrics_page,
    "relevance.md": relevance_page,
    "cli.md": cli_page,
    "api.md": api_page,
}


def main() -> int:
    """Write or check all pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page would change")
    check = parser.parse_args().check
    stale = 0
    pages = {name: MARK + make() for name, make in PAGES.items()} | {"formats.md": formats_page()}
    for name, new in pages.items():
        page = HERE / name
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if old == new:
            continue
        stale += 1
        if check:
            sys.stdout.writelines(
                difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"docs/{name}", "made now")
            )
        else:
            page.write_text(new, encoding="utf-8")
            print(f"wrote docs/{name}")
    if check and stale:
        print(f"{stale} page(s) out of date: run python -m docs.generate")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
