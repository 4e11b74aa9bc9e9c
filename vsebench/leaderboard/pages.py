"""The pages of the site: overview, one a test set, and how to read them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import count_of
from .benchmarks import described
from .charts import Mark, dots
from .facts import facts
from .groups import Column
from .html import aligned, attribute, link, outside, page, text
from .published import slug
from .schema import LEVELS
from .tables import DIRECTIONS, Number, Row, Table, heading, shortened, spans

FILTERED = 8  # rows of a page beyond which they can be filtered
FILTER = (
    '<p class="filter" hidden><label>Filter <input type="search" placeholder="model, paper, setting" '
    'aria-label="Filter the rows of all tables"></label> <span role="status"></span></p>\n'
)
CHARTED = 24  # rows of a chart
SECTIONS = {
    "recomputed": "Recomputed here from the values of every query",
    "reproduced": "Reproduced by the reference trainer",
    "published": "Published in papers",
}
BADGES = {
    level: f'<span class="badge {level}" title="{attribute(words)}">{level}</span>' for level, words in LEVELS.items()
}


def file_of(benchmark: str) -> str:
    """The page of a test set."""
    return f"{slug(benchmark) or 'other'}.html"


def benchmark_page(name: str, tables: Sequence[Table]) -> str:
    """All tables of a test set, published ones first, with one filter for all."""
    known = described(name)
    out = [f'<h1>{text(known.title)}</h1>\n<p class="lead">{text(known.about)}</p>\n']
    out.append(_contents(tables))
    if sum(len(one.rows) for one in tables) > FILTERED:
        out.append(FILTER)
    level = ""
    for number, one in enumerate(tables, start=1):
        if one.group.level != level:
            level = one.group.level
            about = f"<p>{BADGES[one.group.level]} {text(LEVELS[one.group.level])}.</p>\n"
            out.append(f'<h2 id="{level}">{text(SECTIONS[level])}</h2>\n{about}')
            out += [leaderboard(one, f"t{number}"), _chart(one)]
        else:
            out.append(leaderboard(one, f"t{number}"))
    return page(f"{known.title} - vsebench leaderboards", "".join(out), here=file_of(name), scripts=True)


def _contents(tables: Sequence[Table]) -> str:
    if len(tables) < 2:
        return ""
    links = "".join(
        f'<li><a href="#t{n}">{text(t.heading)}</a> <span class="dim">{t.group.level}, '
        f"{count_of(len(t.rows), 'row')}</span></li>\n"
        for n, t in enumerate(tables, start=1)
    )
    return f'<nav aria-label="Tables of this page" class="contents"><ul>\n{links}</ul></nav>\n'


def leaderboard(found: Table, ident: str) -> str:
    """One table that can be sorted and filtered, complete without scripts."""
    group = found.group
    above = '<th scope="col" rowspan="2" class="rank">Rank</th>' if found.ranked else ""
    above += '<th scope="col" rowspan="2" class="name">Model</th><th scope="col" rowspan="2">Source</th>'
    named = [(words, n) for words, n in spans(group)]
    above += "".join(f'<th scope="colgroup" colspan="{n}" class="side">{text(words)}</th>' for words, n in named)
    below = "".join(f'<th scope="col" class="n">{text(heading(c, group))}</th>' for c in group.columns)
    texts = [aligned([row.numbers[i].text for row in found.rows]) for i in range(len(group.columns))]
    starts, at = set(), 0
    for _, n in named:
        starts.add(at)
        at += n
    lines = []
    for r, row in enumerate(found.rows):
        cells = "".join(_cell(row.numbers[i], texts[i][r], i in starts) for i in range(len(group.columns)))
        rank = (
            f'<td class="rank" data-order="{row.rank or len(found.rows) + 1}">{row.rank or "-"}</td>'
            if found.ranked
            else ""
        )
        lines.append(f'<tr>{rank}{_name(row)}<td class="source">{text(row.source)}</td>{cells}</tr>\n')
    notes = "".join(f"<li>{text(note)}</li>\n" for note in found.notes)
    return (
        f'<section class="table" id="{ident}">\n<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{attribute(found.heading)}">\n<table class="board">\n<caption>{text(found.heading)}</caption>\n'
        f"<thead>\n<tr>{above}</tr>\n<tr>{below}</tr>\n</thead>\n<tbody>\n{''.join(lines)}</tbody>\n</table>\n</div>\n"
        f'<ul class="notes">\n{notes}</ul>\n</section>\n'
    )


def _name(row: Row) -> str:
    setting = f'<span class="setting">{outside(row.setting)}</span>' if row.setting else ""
    address = f"entries/{row.entries[0].id}.html"
    mark = ' <span class="badge recomputed">submitted</span>' if row.submitted else ""
    return f'<th scope="row" class="name">{link(address, outside(row.name))}{mark}{setting}</th>'


def _cell(number: Number, shown: str, first: bool) -> str:
    kind = "n first" if first else "n"
    if number.order is None:
        return f'<td class="{kind} none" data-order="">{text(shown)}</td>'
    digits, filling = text(number.text), shown.removeprefix(number.text)
    words = f"<b>{digits}</b>" if number.best == 1 else f"<u>{digits}</u>" if number.best == 2 else digits
    words += filling
    words += f'<abbr title="{attribute(number.doubt)}">†</abbr>' if number.doubt else ""
    words += f'<span class="ci">{text(number.ends)}</span>' if number.ends else ""
    return f'<td class="{kind}" data-order="{number.order!r}">{words}</td>'


def _chart(found: Table) -> str:
    """The first table of a level as dots: both directions of its first metric, the best rows."""
    group = found.group
    metric = next((m for m, d in group.columns if d is not None), group.columns[0][0])
    columns: list[Column] = [c for c in group.columns if c[0] == metric]
    scale = 100.0 if facts(metric).scale == "percent" else 1.0
    marks = []
    for row in found.rows[:CHARTED]:
        if row.submitted:
            continue
        values = [(side, row.entries[0].value_of(name, side)) for name, side in columns]
        points = tuple((side or "sum", scale * v.value) for side, v in values if v is not None)
        only = values[0][1] if len(columns) == 1 else None
        ends = None if only is None or only.interval is None else (scale * only.interval[0], scale * only.interval[1])
        if points:
            label = shortened(f"{row.name}, {row.setting}" if row.setting else row.name, 38)
            marks.append(Mark(label, points, ends, f"entries/{row.entries[0].id}.html"))
    if len(marks) < 2:
        return ""
    name = heading(columns[0], group)
    few = f", first {len(marks)} of {len(found.rows)} rows" if len(found.rows) > len(marks) else ""
    keys = " ".join(
        f'<span class="key {side or "sum"}">{text(DIRECTIONS[side] or "sum")}</span>' for _, side in columns
    )
    ranked = "intervals are drawn as lines" if marks[0].interval else ""
    words = f"{name}{few}{'; ' + ranked if ranked else ''}"
    chart = dots(f"{name} of {group.level} entries", name, marks)
    return f"<figure><figcaption>{text(words)} {keys}</figcaption>\n{chart}</figure>\n"
