"""The overview of the site, and the page that says how to read it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from ..errors import count_of
from .benchmarks import described
from .html import items, link, outside, page, table, text
from .pages import file_of
from .schema import LEVELS
from .store import Board
from .tables import DIRECTIONS, Table, counted, heading


def index_page(board: Board, tables: Sequence[Table], verdicts: str) -> str:
    """The overview: test sets, papers, suites, and how to add an entry."""
    names = list(dict.fromkeys(t.group.benchmark for t in tables))
    rows = []
    for name in names:
        own = [t for t in tables if t.group.benchmark == name]
        counts = counted(own)
        known = described(name)
        title = link(file_of(name), text(known.title), kind="strong")
        rows.append(
            (f'{title}<span class="setting">{text(known.about)}</span>', *(str(n or "-") for n in counts), _best(own))
        )
    headings = ("Test set", *LEVELS, "best published")
    measured = sum(e.level != "published" for e in board.entries)
    numbers = sum(len(e.values) for e in board.entries)
    entries = count_of(len(board.entries), "entry", "entries")
    found = count_of(measured, "entry is", "entries are")
    body = (
        "<h1>Leaderboards of image-text retrieval</h1>\n"
        f'<p class="lead">{entries} with {count_of(numbers, "number")}, each with the place it comes from: '
        "what papers print, what the values of every query give when they are computed again, and what the reference "
        "trainer reproduces. Numbers that were not measured alike are never ranked together.</p>\n"
        f"{table('Test sets', headings, rows, words=(0, 4))}"
        + (f"<p>{found} measured; the others are printed in papers.</p>\n" if measured else
           '<p>All entries so far are printed in papers. '
           f'{link("about.html#submit", "Submit one that is measured")}.</p>\n')
        + verdicts + _papers(board)
        + '<h2>Data</h2>\n<p>All numbers: <a href="leaderboard.csv">leaderboard.csv</a>, '
        '<a href="leaderboard.json">leaderboard.json</a>.</p>\n'
    )  # fmt: skip
    return page("vsebench leaderboards", body, here="index.html")


def _best(tables: Sequence[Table]) -> str:
    """The best number of the leading column of the first published table, and its model."""
    for one in tables:
        printed = [row for row in one.rows if not row.submitted]
        if one.group.level == "published" and printed:
            row = printed[0]
            number = row.numbers[one.group.columns.index(one.by)]
            side = DIRECTIONS[one.by[1]]
            metric = heading(one.by, one.group) + (f" {side}" if side else "")
            return f'<b>{text(number.text)}</b> {text(metric)} <span class="setting">{outside(row.name)}</span>'
    return "-"


def _number(table: str) -> tuple[int, str]:
    """The place of a table in its paper: of "4" and "IV" the fourth; what is no number comes last."""
    roman = re.fullmatch("(X*)(IX|IV|V?)(I{0,3})", table)
    if roman:
        return 10 * len(roman[1]) + {"": 0, "IV": 4, "V": 5, "IX": 9}[roman[2]] + len(roman[3]), table
    return int(table) if table.isdecimal() else sys.maxsize, table


def _papers(board: Board) -> str:
    rows = []
    for key, paper in board.papers.items():
        own = [e for e in board.entries if e.paper == key]
        tables = ", ".join(sorted({e.table.removeprefix("Table ") for e in own}, key=_number))
        cite = f"{text(paper.authors)}. {link(paper.url, text(paper.title))}. {text(paper.venue)}."
        cite += "".join(f'<span class="setting">{text(note)}</span>' for note in paper.notes)
        rows.append((text(paper.name), cite, tables, str(sum(len(e.values) for e in own))))
    if not rows:
        return ""
    heads = ("Name", "Paper", "Tables", "Numbers")
    return f"<h2>Papers</h2>\n{table('Papers whose tables are here', heads, rows, words=(0, 1, 2))}"


def about_page() -> str:
    """How to read the tables, and how to submit."""
    levels = items((level, text(words)) for level, words in LEVELS.items())
    body = f"""<h1>How to read the tables</h1>
<h2>Levels</h2>
{levels}
<h2>Marks</h2>
<ul>
<li><b>Bold</b> is the best number of a column, <u>underlined</u> the second. A dagger † marks a number that its own row
contradicts, such as a sum that is not that of its parts; it is neither best nor second.</li>
<li>Below a number: its 95 % interval, over images for recomputed entries, over seeds for reproduced
ones.</li>
<li>Entries share a rank when they cannot be told apart: the rank of an entry is one more than the number of entries
that are better beyond chance. Ranks need not be in the order of the numbers: a row whose number is less certain can
have a better rank than a row above it. Published numbers have no intervals, and so no ranks.</li>
<li>Fractions are printed times 100, ranks as ranks; ↓ marks metrics where lower is better.</li>
</ul>
<h2>What is never mixed</h2>
<p>A signature says how a number was measured: test set, judgements, rules for ties, version. Entries whose signatures
differ in a field that can move a digit are in tables of their own. Published numbers have no signature; they have
tables of their own too, and each says which paper and table it is from. A submitted entry also stands beside the
published rows of its test set, marked as submitted: it has no rank there, and is neither best nor second.</p>
<h2 id="submit">Submit an entry</h2>
<pre><code>vsebench eval embeddings.npz -o RESULT.json
vsebench leaderboard add RESULT.json --name "My model" --url https://...
vsebench leaderboard validate
vsebench leaderboard build</code></pre>
<p>The entry has the values of every query, and every number is computed again from them. Open a change with the two
files in <code>leaderboards/entries/</code> and the site.</p>
"""
    return page("How to read - vsebench leaderboards", body, here="about.html")
