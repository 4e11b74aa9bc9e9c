"""The page of a description: its table, histograms, words and example images, without scripts or other files."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterator, Sequence
from html import escape

from ..errors import printable
from ..scenes import wording
from ..scenes.world import BACKGROUNDS, COLOURS
from .description_parts import Example, ExampleCaption, Histogram, Part
from .grid import Grid
from .html import fragment

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #4a78b5; --wrong: #b3261e; --dim: #6b6b6b; }
@media (prefers-color-scheme: dark) { :root { --bar: #7ba7e0; --wrong: #ff8a80; --dim: #a5a5a5; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-size: .9rem; } svg { width: 100%; height: auto; display: block; }
svg rect { fill: var(--bar); } svg text { fill: currentColor; font: 11px system-ui, sans-serif; }
svg line { stroke: currentColor; opacity: .4; } svg line.grid { opacity: .12; }
.vsebench td.n { min-width: 0 !important; }
.words { columns: 11rem; padding: 0; list-style: none; font-variant-numeric: tabular-nums; }
.words span { color: var(--dim); }
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.5rem; }
.example { border-top: 1px solid var(--line); padding-top: .75rem; overflow-wrap: anywhere; }
.example img { width: 12rem; height: 12rem; image-rendering: pixelated; display: block; }
.example h3 { font-size: .85rem; font-weight: normal; color: var(--dim); margin: 0 0 .5rem; }
.example ul { padding-left: 1.1rem; margin: .6rem 0 0; } .example li { margin: .2rem 0; }
.others { color: var(--dim); } .others ul { margin-top: 0; }
mark { background: none; color: inherit; border-bottom: 2px solid; }
.shape { border-color: #4a78b5; } .colour { border-color: #d95f8c; } .size { border-color: #8a6fc0; }
.texture { border-color: #2e9c84; } .number { border-color: #d08300; } .relation { border-color: #7d8a2e; }
.background { border-color: #8a8a8a; }
.kind { font-size: .8rem; border: 1px solid; border-radius: .3rem; padding: 0 .3rem; color: var(--dim); }
.kind.wrong { color: var(--wrong); }
"""
FACTS = ("shape", "colour", "size", "texture", "number", "relation", "background")
_WIDTH, _HEIGHT, _TOP, _BOTTOM, _LEFT = 360, 210, 28, 40, 44
_SHOWN = 40  # words


def page(title: str, grids: Sequence[Grid], parts: Sequence[Part], examples: Sequence[Example]) -> str:
    """A complete document; every text is escaped.

    Args:
        title: of the page.
        grids: the tables.
        parts: of the data set; histograms and words are those of the last one.
        examples: of the last part.
    """
    last = parts[-1]
    of = f" of {escape(printable(last.name))}" if len(parts) > 1 else ""
    figures = "\n".join(_figure(histogram) for histogram in last.histograms if histogram.counts)
    frequent = (f"<li>{escape(printable(word))} <span>{count:,}</span></li>" for word, count in last.frequent[:_SHOWN])
    marks = ", ".join(f"<mark class='{kind}'>{kind}</mark>" for kind in FACTS)
    legend = f"<p>Words that state a fact are marked: {marks}.</p>\n" if last.scenes is not None else ""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"{fragment(grids)}\n"
        f"<h2>Captions{of}</h2>\n<div class='figures'>\n{figures}\n</div>\n"
        f"<h2>Most frequent words{of}</h2>\n<ul class='words'>{''.join(frequent)}</ul>\n"
        f"<h2>Images{of} with their captions</h2>\n{legend}"
        "<div class='examples'>\n" + "\n".join(map(_example, examples)) + "\n</div>\n</body></html>\n"
    )


def _figure(histogram: Histogram) -> str:
    """A bar chart with its axes: captions on the left, as many values below as there is room for."""
    step = (_WIDTH - _LEFT) / len(histogram.counts)
    room = _HEIGHT - _TOP - _BOTTOM
    base = _TOP + room
    ticks = _ticks(max(histogram.counts))
    most = ticks[-1]
    every = max(1, -(-len(histogram.labels) * max(map(len, histogram.labels)) * 8 // (_WIDTH - _LEFT)))
    shapes = [f"<text x='0' y='{_TOP - 16}'>captions</text>"]
    for tick in ticks:
        at = base - room * tick / most
        shapes.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH}' y1='{at:.1f}' y2='{at:.1f}'/>")
        shapes.append(f"<text x='{_LEFT - 5}' y='{at + 4:.1f}' text-anchor='end'>{tick:,}</text>")
    for n, (label, count) in enumerate(zip(histogram.labels, histogram.counts, strict=True)):
        height = room * count / most
        x, y = _LEFT + n * step, base - height
        words = f"{label}: {count:,}"
        shapes.append(
            f"<rect x='{x + step * 0.08:.1f}' y='{y:.1f}' width='{step * 0.84:.1f}' height='{height:.1f}'>"
            f"<title>{escape(words)}</title></rect>"
        )
        if n % every == 0:
            middle = f"x='{x + step / 2:.1f}' text-anchor='middle'"
            shapes.append(f"<text {middle} y='{base + 15}'>{escape(label)}</text>")
    title = escape(histogram.title)
    shapes.append(f"<text x='{(_LEFT + _WIDTH) // 2}' y='{_HEIGHT - 5}' text-anchor='middle'>{title}</text>")
    highest = max(histogram.counts)
    text = f"{histogram.title}: {sum(histogram.counts):,} captions, at most {highest:,} in a bar"
    return (
        f"<figure><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{escape(text, quote=True)}'>"
        f"{''.join(shapes)}<line x1='{_LEFT}' x2='{_WIDTH}' y1='{base}' y2='{base}'/></svg>"
        f"<figcaption>at most {highest:,} captions in a bar</figcaption></figure>"
    )


def _ticks(most: int) -> list[int]:
    """Round numbers from 0 to at least ``most``, at most five steps of 1, 2 or 5 times a power of ten."""
    power = 10 ** max(0, len(str(most)) - 2)
    step = next(power * m for m in (1, 2, 5, 10, 20, 50) if most <= 5 * power * m)
    return list(range(0, most + step, step))


def _example(example: Example) -> str:
    image = ""
    if example.png is not None:
        data = base64.b64encode(example.png).decode()
        image = f"<img alt='the image' src='data:image/png;base64,{data}'>"
    own = "".join(f"<li>{_caption(caption)}</li>" for caption in example.captions)
    others = ""
    if example.others:
        items = "".join(f"<li>{_marked(text)}</li>" for text in example.others)
        others = f"<div class='others'><p>Written for other images, and true of this one:</p><ul>{items}</ul></div>"
    heading = f"<h3>{escape(printable(example.image_id))}</h3>"
    return f"<section class='example'>{heading}{image}<ul>{own}</ul>{others}</section>"


def _caption(caption: ExampleCaption) -> str:
    if caption.kind is None:
        return escape(printable(caption.text))
    text = _marked(caption.text)
    if caption.kind == "true":
        return text
    why = f": {' or '.join(caption.false)}" if caption.false else ""
    return f"{text} <span class='kind {escape(caption.kind)}'>{escape(caption.kind + why)}</span>"


def _marked(text: str) -> str:
    """A caption of a scene with the words that state facts marked."""
    if text.lower().rstrip(" .") in wording.GENERIC:
        return escape(printable(text))
    pieces = ((escape(words), kind) for words, kind in _split(text))
    return "".join(f"<mark class='{kind}'>{words}</mark>" if kind else words for words, kind in pieces)


def _split(text: str) -> Iterator[tuple[str, str | None]]:
    """The pieces of a caption: (words, the kind of fact that they state, or None)."""
    at = 0
    for match in _pattern().finditer(text := printable(text)):
        yield text[at : match.start()], None
        yield match[0], match.lastgroup
        at = match.end()
    yield text[at:], None


@functools.cache
def _pattern() -> re.Pattern[str]:
    """One group a kind of fact, with all its words."""
    colours = [word for name in COLOURS for word in wording.COLOUR_WORDS.get(name, (name,))]
    grounds = [word for name in BACKGROUNDS for word in wording.BACKGROUND_WORDS.get(name, (name,))]
    words: dict[str, list[str]] = {
        "relation": [w for table in (wording.AHEAD, wording.BACK) for choices in table.values() for w in choices],
        "background": [f"{word} background" for word in grounds] + [f"background is {word}" for word in grounds],
        "shape": [w for choices in wording.NOUNS.values() for pair in choices for w in pair],
        "colour": colours,
        "size": [w for choices in wording.SIZE_WORDS.values() for w in choices],
        "texture": [w for t in (wording.TEXTURE_WORDS, wording.TEXTURE_PHRASES) for c in t.values() for w in c],
        "number": [*wording.NUMBER_WORDS, *filter(None, wording.PLURALS), *wording.SINGLES, "a pair of", r"\d+"],
    }
    groups = []
    for kind, found in words.items():
        longest_first = sorted(set(found), key=lambda word: (-len(word), word))
        groups.append(f"(?P<{kind}>{'|'.join(longest_first)})")
    return re.compile(rf"\b(?:{'|'.join(groups)})\b", re.IGNORECASE)
