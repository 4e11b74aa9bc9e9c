"""The page of one or several reports: tables, charts and the retrieval explorer in one file that needs no other."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import charts, html
from .charts import Panel
from .model import ARROWS
from .table import Table, visible

UNDEFINED = -32768  # of 16 bits


@dataclass(frozen=True)
class Part:
    """A section of a page.

    Attributes:
        name: of its anchor.
        title: its heading.
        panels: its charts.
        tables: below the charts.
        folded: further tables by heading, which the reader opens.
        notes: missing sections, and how to get them.
    """

    name: str
    title: str
    panels: Sequence[Panel] = ()
    tables: Sequence[Table] = ()
    folded: tuple[tuple[str, Sequence[Table]], ...] = ()
    notes: tuple[str, ...] = ()


def page(
    title: str,
    systems: Sequence[str],
    parts: Sequence[Part],
    shown: dict[str, Any] | None,
    left_out: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """The page: scripts, style, charts and data are inside it, and it opens from disk.

    Args:
        title: its heading.
        systems: names.
        parts: the sections; the queries are behind the first.
        shown: what its script reads of single queries, or None.
        left_out: notes on data of single queries that are missing.
        warnings: what may be wrong.

    Raises:
        MissingPackage: jinja2 is not installed.
    """
    template = html.environment().get_template("page.html")  # first: raises if jinja2 is missing
    from markupsafe import Markup  # a dependency of jinja2

    lacking = charts.missing()
    usable, searched = [], ["ids"]
    if shown is not None:
        usable = [i for i in range(len(systems)) if any(way["rankings"][i] for way in shown["ways"].values())]
        texts = zip(shown["names"], (shown["rowTexts"], shown["texts"]), strict=True)
        searched = [*(side["plural"] for side, known in texts if known is not None), "ids"]
    made: str = template.render(
        title=title, systems=systems, parts=parts, shown=shown, left_out=left_out, warnings=warnings,
        colours=charts.COLOURS, usable=usable, searched=" and ".join(searched),
        arrows={way: words.replace("→", " → ") for way, words in ARROWS.items()},
        lacking=None if lacking is None else f"{lacking}".replace("\n", "; "),
        drawn=lambda panel: Markup(charts.svg(panel, systems)),
        style=Markup(html.TABLES), tables=lambda some: Markup(html.tables(visible(some))),
        data=lambda found: Markup(script_json(found)),
    )  # fmt: skip
    return made


def script_json(document: Any) -> str:
    """JSON without the characters that end a script, begin a comment or a tag, or end a line of JavaScript.

    Arrays are base64 of little-endian integers; floats are rounded to as many decimals as 16 bits allow.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_packed)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")


def _packed(value: object) -> Any:
    """An array, or bytes of a picture, as plain values."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    assert isinstance(value, np.ndarray)
    return _rounded(value) if value.dtype.kind == "f" else _integers(value)


def _integers(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Integers from 0 in 16 or 32 bits."""
    kind = "u2" if not values.size or int(values.max()) < 2**16 else "u4"
    return {"kind": kind, "data": _packed(values.astype(f"<{kind}").tobytes())}


def _rounded(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Numbers times a power of ten in 16 bits, or in 32 if they are large; NaN is the least 16-bit number."""
    known = ~np.isnan(values)
    most = float(np.abs(values[known]).max(initial=0))
    digits = 4 if not most else min(6, math.floor(math.log10(32_000 / most)))
    kind = "i2" if digits >= 0 else "i4"
    digits = max(digits, 0)
    scaled = np.where(known, np.rint(np.where(known, values, 0).astype(np.float64) * 10.0**digits), UNDEFINED)
    limit = np.iinfo(np.int32)
    data = scaled.clip(limit.min, limit.max).astype(f"<{kind}").tobytes()
    return {"kind": kind, "digits": digits, "data": _packed(data)}
