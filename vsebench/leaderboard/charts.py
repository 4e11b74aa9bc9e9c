"""Charts as inline SVG with classes, so that the style sheet gives them the colours of light and dark pages.

They are written here and not by a plotting package: the bytes then depend on the numbers only, not on a version or on
the fonts of a machine, and ``build --check`` can compare them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .html import attribute, text

AXIS, RIGHT, LINE, TOP = 520, 24, 22, 12  # pixels: length of the axis, room behind it, height of a row, room above
CHARACTER = 7.2  # widest average width of a character of a label


@dataclass(frozen=True)
class Mark:
    """One row of a chart.

    Attributes:
        label: on the left.
        points: (class, value) of its dots; the line between the first and the last is drawn.
        interval: its ends, or None.
        link: page of the label, or the empty text.
    """

    label: str
    points: tuple[tuple[str, float], ...]
    interval: tuple[float, float] | None = None
    link: str = ""


def dots(title: str, axis: str, marks: Sequence[Mark], *, limit: float | None = None) -> str:
    """A chart of dots on one axis, a row a mark.

    Args:
        title: what it shows, for readers who do not see it.
        axis: words below the axis.
        marks: from top to bottom, at least one.
        limit: a vertical line, or None.
    """
    every = [v for m in marks for _, v in m.points] + [v for m in marks if m.interval for v in m.interval]
    ticks = nice([*every, *([] if limit is None else [limit])])
    low, high = ticks[0], ticks[-1]
    left = 24 + math.ceil(CHARACTER * max(len(m.label) for m in marks))
    width = left + AXIS + RIGHT

    def at(value: float) -> str:
        return _short(left + (value - low) / (high - low) * AXIS)

    height = TOP + LINE * len(marks) + 40
    bottom = TOP + LINE * len(marks)
    out = [
        f'<svg class="chart" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{attribute(title)}">\n<title>{text(title)}</title>\n'
    ]
    for tick in ticks:
        out.append(f'<line class="grid" x1="{at(tick)}" x2="{at(tick)}" y1="{TOP - 8}" y2="{bottom}"/>')
        out.append(f'<text class="tick" x="{at(tick)}" y="{bottom + 16}" text-anchor="middle">{_short(tick)}</text>\n')
    if limit is not None:
        out.append(f'<line class="limit" x1="{at(limit)}" x2="{at(limit)}" y1="{TOP - 8}" y2="{bottom}"/>\n')
    for row, mark in enumerate(marks):
        out.append(_row(mark, left - 12, TOP + LINE * row + LINE // 2, at))
    middle = _short(left + AXIS / 2)
    out.append(f'<text class="axis" x="{middle}" y="{height - 6}" text-anchor="middle">{text(axis)}</text>\n</svg>\n')
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{attribute(title)}">\n{"".join(out)}</div>\n'


def _row(mark: Mark, x: int, y: int, at: Callable[[float], str]) -> str:
    label = f'<text class="label" x="{x}" y="{y + 4}" text-anchor="end">{text(mark.label)}</text>'
    out = f'<a href="{attribute(mark.link)}">{label}</a>' if mark.link else label
    ends = mark.interval or (min(v for _, v in mark.points), max(v for _, v in mark.points))
    if ends[0] != ends[1]:
        kind = "interval" if mark.interval else "between"
        out += f'<line class="{kind}" x1="{at(ends[0])}" x2="{at(ends[1])}" y1="{y}" y2="{y}"/>'
    for kind, value in mark.points:
        out += f'<circle class="{kind}" cx="{at(value)}" cy="{y}" r="4.5"/>'
    return out + "\n"


def nice(values: Sequence[float], most: int = 8) -> list[float]:
    """Round numbers that span the values, at most ``most`` steps of 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * m for m in (1, 2, 5, 10, 20) if (high - low) / (power * m) <= most - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _short(number: float) -> str:
    """A number with at most two decimals and without zeros at its end."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if number else "0"
