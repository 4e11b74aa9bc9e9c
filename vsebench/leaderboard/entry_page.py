"""The page of an entry: its numbers, where they come from, and how to get them again."""

from __future__ import annotations

from .benchmarks import described, page_of
from .groups import Column, ordered
from .html import aligned, attribute, items, link, outside, page, table, text
from .pages import BADGES, file_of
from .published import contradictions
from .schema import LEVELS, Entry, Paper, Value
from .store import Board
from .tables import DIRECTIONS, interval_of, is_sum, text_of


def entry_page(entry: Entry, board: Board) -> str:
    """The page of one entry."""
    model, where = entry.model, described(entry.benchmark)
    paper = board.papers.get(entry.paper)
    out = [f'<p class="crumb"><a href="../{file_of(entry.benchmark)}">{text(where.title)}</a></p>\n']
    out.append(f"<h1>{outside(model.name)}</h1>\n")
    out.append(f'<p class="lead">{BADGES[entry.level]} {outside(model.setting)}</p>\n')
    out += [
        f'<p class="doubt">† {text(value_heading(name))}: {text(words)}.</p>\n'
        for name, words in contradictions(entry).items()
    ]
    out.append(_numbers(entry))
    out.append("<h2>Where the numbers come from</h2>\n")
    out.append(items([*_origin(entry, board, paper), *((key, text(value)) for key, value in entry.facts.items())]))
    notes = [*entry.notes, *(paper.notes if paper else ())]
    if notes:
        out.append(f"<h2>Notes</h2>\n<ul>\n{''.join(f'<li>{outside(note)}</li>{chr(10)}' for note in notes)}</ul>\n")
    out.append(_again(entry, board))
    return page(f"{model.name[:80]} - vsebench leaderboards", "".join(out), here=f"entries/{entry.id}.html")


def _numbers(entry: Entry) -> str:
    """A row a metric, its directions side by side, and the remarks on single numbers below."""
    values: dict[Column, Value] = {(v.metric, v.direction): v for v in entry.values}
    columns = ordered(values)
    sides = [side for side in ("i2t", "t2i", "i2i", "t2t", "mean", None) if any(d == side for _, d in columns)]
    metrics = list(dict.fromkeys(metric for metric, _ in columns))
    doubts, remarks = contradictions(entry), list[str]()
    rows = []
    shown = {key: text_of(v) for key, v in values.items()}
    for side in sides:
        own = [key for key in shown if key[1] == side]
        for key, words in zip(own, aligned([shown[key] for key in own]), strict=True):
            shown[key] = words
    for metric in metrics:
        cells = []
        for side in sides:
            value = values.get((metric, side))
            cells.append("" if value is None else _cell(value, shown[metric, side], doubts, remarks))
        page_name = page_of(entry.benchmark, metric)
        label = text(value_heading(metric))
        rows.append((link(f"../{file_of(page_name)}", label), *cells))
    heads = ("Metric", *(DIRECTIONS[side] or ("sum" if is_sum(columns) else "value") for side in sides))
    below = "".join(f"<li>{words}</li>\n" for words in remarks)
    return table("Numbers", heads, rows) + (f'<ol class="notes">\n{below}</ol>\n' if below else "")


def value_heading(metric: str) -> str:
    """A metric with its view, without that of papers."""
    return metric.removeprefix("paper:")


def _cell(value: Value, words: str, doubts: dict[str, str], remarks: list[str]) -> str:
    out = text(words)
    if value.name in doubts:
        out += f'<abbr title="{attribute(doubts[value.name])}">†</abbr>'
    if value.note:
        side = f" ({DIRECTIONS[value.direction]})" if value.direction else ""
        remark = f"{text(value_heading(value.metric))}{text(side)}: {outside(value.note)}"
        remarks.append(remark)
        out += f"<sup>{len(remarks)}</sup>"
    ends = interval_of(value)
    return out + (f'<span class="ci">{text(ends)}</span>' if ends else "")


def _origin(entry: Entry, board: Board, paper: Paper | None) -> list[tuple[str, str]]:
    found = [("level", f"{text(entry.level)}: {text(LEVELS[entry.level])}")]
    if paper is not None:
        cite = f"{text(paper.authors)}. {link(paper.url, text(paper.title))}. {text(paper.venue)}."
        row = f"row {text(entry.row)}" if entry.row else f"row “{outside(entry.model.name)}”"
        found += [("paper", cite), ("place", f"{text(entry.table)}, {row}")]
    found.append(("description", outside(entry.model.description)))
    found.append(("link", link(entry.model.url, text(entry.model.url)) if entry.model.url else ""))
    found.append(("signature", f"<code>{text(entry.signature)}</code>" if entry.signature else ""))
    found.append(("file", f"<code>leaderboards/{text(board.files.get(entry.id, ''))}</code>"))
    if entry.per_query is not None:
        name, digest = text(entry.per_query.name), text(entry.per_query.sha256)
        found.append(("per-query values", f"<code>leaderboards/entries/{name}</code>, sha256 <code>{digest}</code>"))
    return found


def _again(entry: Entry, board: Board) -> str:
    if entry.level == "published":
        return (
            "<h2>How to reproduce</h2>\n<p>The paper is the only source. To have measured numbers next to these, "
            'evaluate embeddings of the model and <a href="../about.html#submit">submit them</a>.</p>\n'
        )
    commands = list(entry.reproduce)
    if entry.level == "recomputed":
        commands.append(f"vsebench leaderboard validate {entry.id}")
    lines = "\n".join(text(line) for line in commands)
    return f"<h2>How to reproduce</h2>\n<pre><code>{lines}</code></pre>\n"
