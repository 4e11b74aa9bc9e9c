"""The page of claims: what papers say, the numbers they print, and what the reference trainer gives."""

from __future__ import annotations

from .charts import Mark, dots
from .facts import facts
from .html import aligned, items, link, outside, page, table, text
from .pages import file_of
from .schema import Entry, StatedClaim
from .store import Board
from .suites import Claim, Part, Suite
from .tables import DIRECTIONS, text_of

OPEN = "not regenerated yet"
UNJUDGED = "cannot be judged"
KINDS = {"holds here": "holds", "does not hold here": "fails", "undecided": "open"}
INTRODUCTION = """<h1>Do the claims of the papers hold here?</h1>
<p class="lead">Each loss is trained by <code>vsebench train-reference --suite small</code>: the same model, batches and
number of epochs, and the same seeds. Data and models are far smaller than those of the papers, so a claim that does not
hold here may hold there.</p>
<ul>
<li><span class="verdict holds">holds here</span> the 95 % intervals of all differences are above their limits.</li>
<li><span class="verdict fails">does not hold here</span>
at least one is below, at a level corrected for their number.</li>
<li><span class="verdict open">undecided</span> neither.</li>
</ul>
<p>Differences are means of both directions, times 100; intervals are over seeds and test images.</p>
"""


def claims_page(board: Board) -> str:
    """Every claim with its published numbers, and its verdict of every suite; also where no suite is stored."""
    known = {entry.id: entry for entry in board.entries}
    out = [INTRODUCTION, _summary(board)]
    stated = {claim.claim for claim in board.claims}
    for claim in board.claims:
        out.append(
            f'<section id="{text(claim.claim)}">\n<h2>{text(claim.says)}</h2>\n{_published(claim, board, known)}'
        )
        found = [(s, c) for s in board.suites.values() for c in s.claims if c.claim == claim.claim]
        out += [_regenerated(suite, one) for suite, one in found]
        lost = [one for suite in board.suites.values() for one in suite.left_out if one.claim == claim.claim]
        out += [f"<p>{_verdict(UNJUDGED)} on {text(one.data)}: {outside(one.because)}.</p>\n" for one in lost]
        if not found and not lost:
            out.append(f'<p><span class="verdict none">{OPEN}</span> No complete suite is stored for this claim.</p>\n')
        out.append("</section>\n")
    for suite in board.suites.values():
        for one in suite.claims:
            if one.claim not in stated:
                head = f"<h2>{outside(one.says)}</h2>\n<p>{outside(one.paper)}</p>\n"
                out.append(f"<section>\n{head}{_regenerated(suite, one)}</section>\n")
    return page("Claims - vsebench leaderboards", "".join(out), here="claims.html")


def verdicts(board: Board) -> str:
    """The claims with their verdicts, for the overview; the empty text without claims."""
    return f"<h2>Claims of the papers</h2>\n{_summary(board)}" if board.claims else ""


def _summary(board: Board) -> str:
    rows = []
    for claim in board.claims:
        paper = board.papers.get(claim.paper)
        found = [(c.verdict, c.data) for s in board.suites.values() for c in s.claims if c.claim == claim.claim]
        found += [(UNJUDGED, one.data) for s in board.suites.values() for one in s.left_out if one.claim == claim.claim]
        words = ", ".join(f'{_verdict(verdict)} <span class="dim">{text(data)}</span>' for verdict, data in found)
        named = "" if paper is None else f'{text(paper.name)} <span class="dim">{text(paper.venue)}</span>'
        rows.append((link(f"claims.html#{claim.claim}", text(claim.says)), named, words or _verdict(OPEN)))
    return table("Claims and verdicts", ("Claim", "Paper", "Verdict"), rows, words=(0, 1, 2)) if rows else ""


def _verdict(words: str) -> str:
    return f'<span class="verdict {KINDS.get(words, "none")}">{text(words)}</span>'


def _published(claim: StatedClaim, board: Board, known: dict[str, Entry]) -> str:
    paper = board.papers.get(claim.paper)
    cite = "" if paper is None else f"{text(paper.authors)}. {link(paper.url, text(paper.title))}. {text(paper.venue)}."
    out = f"<p>{cite}</p>\n<p>{text(claim.where)}.</p>\n"
    entries = [known[id] for id in claim.entries if id in known]
    if not entries:
        return out
    heads = ["Model", "Test set"]
    columns = []
    for metric, direction in claim.metrics:
        side = f" {DIRECTIONS[direction]}" if direction else ""
        heads.append(facts(metric).heading + side)
        values = [entry.value_of(metric, direction) for entry in entries]
        columns.append(aligned(["-" if v is None else text_of(v) for v in values]))
    rows = []
    for i, entry in enumerate(entries):
        setting = f'<span class="setting">{outside(entry.model.setting)}</span>' if entry.model.setting else ""
        name = link(f"entries/{entry.id}.html", outside(entry.model.name)) + setting
        where = link(file_of(entry.benchmark), text(entry.benchmark))
        rows.append((name, where, *(text(column[i]) for column in columns)))
    return out + table("Published numbers", heads, rows, words=(0, 1))


def _regenerated(suite: Suite, claim: Claim) -> str:
    rows = []
    numbers = aligned([points(p.difference) for p in claim.parts])
    for part, number in zip(claim.parts, numbers, strict=True):
        ends = "-" if part.low is None or part.high is None else f"[{points(part.low)}, {points(part.high)}]"
        seeds = ", ".join(points(seed) for seed in part.seeds)
        words = outside(part.says), f"<code>{text(part.metric)}</code>", _verdict(part.verdict)
        rows.append((*words, *map(text, (number, ends, points(part.above), seeds))))
    heads = ("Difference", "Metric", "Verdict", "Value", "95 % interval", "Limit", "Seeds")
    made = (
        f"{text(suite.suite)}, begun {text(suite.started[:10])}, vsebench {text(suite.versions.get('vsebench', '-'))}"
    )
    head = items((("verdict", _verdict(claim.verdict)), ("data", text(claim.data)), ("suite", made)))
    return head + table(f"Regenerated on {claim.data}", heads, rows, words=(0, 1, 2)) + _chart(claim)


def _chart(claim: Claim) -> str:
    """A chart for every metric and limit: their differences share no scale."""
    out = ""
    for metric, above in dict.fromkeys((p.metric, p.above) for p in claim.parts):
        own = [p for p in claim.parts if (p.metric, p.above) == (metric, above)]
        marks = [_mark(p) for p in own]
        title = f"Differences in {metric} on {claim.data}"
        out += f"<figure>{dots(title, f'difference in {metric}, times 100', marks, limit=100 * above)}</figure>\n"
    return out


def _mark(part: Part) -> Mark:
    ends = None if part.low is None or part.high is None else (100 * part.low, 100 * part.high)
    return Mark(part.says[:38], ((KINDS.get(part.verdict, "none"), 100 * part.difference),), ends)


def points(value: float) -> str:
    """A difference of fractions times 100 with its sign."""
    words = f"{100 * value:+.2f}"
    return "0.00" if words in ("+0.00", "-0.00") else words
